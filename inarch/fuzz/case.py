"""One case: which input it is, and how its reading ends, under a limit of time."""

from __future__ import annotations

import re
import signal
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

from inarch.core.errors import InarchError, InternalError
from inarch.fuzz import LINE, SECONDS, Parser
from inarch.fuzz.mutate import mutated


class HangError(BaseException):
    """The case took all its time; no `except Exception` holds it."""


@dataclass(frozen=True)
class Finding:
    """What must not happen: its kind, where it is the same, and all that is known."""

    kind: str
    """`traceback`, `memory`, `hang`, `message` or `crash`."""
    place: str
    """Findings of one kind and one place are one fault."""
    detail: str


def make_case(name: str, parser: Parser, seeds: Sequence[bytes], seed: int, case: int) -> bytes:
    """The input of a case, which depends on nothing else."""
    rng = Random(f"{name} {seed} {case}")
    data = rng.choice(seeds)
    if parser.mutate is not None:
        return parser.mutate(data, seeds, rng)
    return mutated(data, seeds, parser.words, rng)


def run_case(parser: Parser, data: bytes) -> Finding | bool:
    """Whether `data` was read (else it was refused), or what is wrong."""
    try:
        with _limited():
            parser.check(data)
    except InarchError as error:
        return _refusal(error, located=parser.located) or False
    except (Exception, HangError) as error:  # noqa: BLE001 - whatever it is, it is the finding
        return _escape(error)
    return True


@contextmanager
def _limited() -> Generator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise HangError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _refusal(error: InarchError, *, located: bool) -> Finding | None:
    """What is wrong with a refusal: one line, a place, no lack of memory behind it."""
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:  # what is raised again may be its own cause
        if isinstance(cause, MemoryError):
            return _escape(cause)
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    line = error.line()
    if isinstance(error, InternalError):
        return _escape(error)
    if located and not error.where:
        return Finding("message", re.sub(r"\d+|'[^']*'", "_", line)[:120], f"no place: {line}")
    if "\n" in line or len(line) > LINE:
        return Finding("message", _place(error), f"{len(line)} characters: {line[:300]}")
    return None


def _escape(error: BaseException) -> Finding:
    kind = "memory" if isinstance(error, MemoryError) else "traceback"
    kind = "hang" if isinstance(error, HangError) else kind
    text = "".join(traceback.format_exception(error, chain=False))
    place = _place(error) if kind != "traceback" else f"{type(error).__name__} at {_place(error)}"
    return Finding(
        kind, place, text if len(text) < 20_000 else text[:4000] + "\n...\n" + text[-4000:]
    )


def _place(error: BaseException) -> str:
    """The last line of ours that the error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "site-packages" not in f.filename and "testing" not in f.filename]
    if not ours:
        return "?"
    last = ours[-1]
    return f"{'/'.join(Path(last.filename).parts[-3:])}:{last.lineno}"
