"""Records of what was tuned: a text file, one nest a line, that compilations read (`--records`).

    {"inarch records": 1}
    {"address": "...", "cpu": "...", "compiler": "...", "kernel": "gemm-f32", "identity": "...", ...}

A record is of a nest on a target (`address`), of the CPU and the C compiler that it was measured with, and
of the code of its kernel (`identity`). Files merge: of two records of one nest the one that gains more stays.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from inarch.core.cache import replacing
from inarch.core.errors import EnvironmentFault, InarchError, InarchWarning, UsageError
from inarch.machine.compilers import Compiler, find_compiler
from inarch.machine.find import cpu_name
from inarch.passes.tuned import Tuned, TunedWay

VERSION = 1
_HEAD = "inarch records"


@dataclass(frozen=True)
class Record:
    """What was measured of one nest."""

    address: str
    """Of the nest and the target (`inarch.passes.tuned.address_of`)."""
    cpu: str
    compiler: str
    kernel: str
    identity: str
    """Of the kernel's code."""
    way: Mapping[str, Any]
    """Which member, which iterators, which order of loops."""
    seconds: float
    """Of the nest so, in its model."""
    untuned: float
    """The same as it is chosen without records, measured by turns with it."""
    trials: int
    """Ways that were measured."""
    target: str = ""
    model: str = ""
    where: str = ""
    """The op of the model, and below the nest, for people."""
    nest: str = ""
    machine: str = ""
    """Whose cycles the costs are: what the choice without records was made for."""
    ghz: float = 0.0
    """Of that machine."""
    calls: float = 0.0
    """Cycles that all nests of the op, done so, take by the costs: in their calls."""
    around: float = 0.0
    """And around them."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Records of one key replace each other."""
        return self.address, self.cpu, self.compiler

    @property
    def gain(self) -> float:
        """How many times faster than without it."""
        return self.untuned / self.seconds


def compiler_name(compiler: Compiler | None = None) -> str:
    """The C compiler, as records name it."""
    return (compiler or find_compiler()).version


def read_records(path: Path) -> list[Record]:
    """The records of a file. Raises UsageError, with the line, for a file that is none, or is damaged."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"cannot read records '{path}': {reason}") from error
    if not lines:
        raise UsageError(f"{path}:1: expected the head of a file of records, found an empty file")
    head = _object(path, 1, lines[0])
    version = head.get(_HEAD)
    if not isinstance(version, int):
        raise UsageError(f'{path}:1: expected {{"{_HEAD}": {VERSION}}}, found another file')
    if version > VERSION:
        raise UsageError(
            f"{path}:1: expected records of version {VERSION}, found {version}: "
            "they are of a later Inarch; use that one"
        )
    return [_record(path, number, line) for number, line in enumerate(lines[1:], 2)]


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UsageError(
            f"{path}:{number}: expected a record, found what is no JSON object: the file is cut off or "
            "damaged; delete the line"
        )
    return cast("dict[str, Any]", found)


_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "float": (int, float),
    "int": (int,),
    "Mapping[str, Any]": (dict,),
}


def _record(path: Path, number: int, line: str) -> Record:
    said, where = _object(path, number, line), f"{path}:{number}"
    fields = Record.__dataclass_fields__
    for name, field in fields.items():
        kinds = _KINDS[str(field.type)]
        if name in said and not isinstance(said[name], kinds):
            raise UsageError(
                f"{where}: {name}: expected {kinds[-1].__name__}, found {said[name]!r}"
            )
    try:
        found = Record(**{name: said[name] for name in fields if name in said})
    except TypeError:
        missing = next(name for name in fields if name not in said)
        raise UsageError(f"{where}: expected a field '{missing}', found none") from None
    for name in ("seconds", "untuned"):
        seconds = getattr(found, name)
        if not 0 < seconds < math.inf:
            raise UsageError(f"{where}: {name}: expected more than 0, found {seconds}")
    if found.way.get("kernel") != found.kernel:
        raise UsageError(f"{where}: way: expected one of kernel '{found.kernel}', found another")
    return found


def merged(*lists: Iterable[Record]) -> list[Record]:
    """The records of all, of one nest, CPU and compiler the one that gains most."""
    found: dict[tuple[str, str, str], Record] = {}
    for record in (each for one in lists for each in one):
        known = found.get(record.key)
        if known is None or record.gain > known.gain:
            found[record.key] = record
    return list(found.values())


def write_records(path: Path, records: Sequence[Record]) -> None:
    """Writes the file, whole or not at all."""
    with replacing(path) as file:
        lines = [{_HEAD: VERSION}, *map(asdict, records)]
        file.write("".join(f"{json.dumps(line)}\n" for line in lines).encode())


def add_records(path: Path, records: Sequence[Record]) -> list[Record]:
    """Adds records to a file, in which others may write meanwhile; gives what is in it then."""
    with _alone(path):
        known = read_records(path) if path.exists() else []
        every = merged(known, records)
        write_records(path, every)
    return every


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Nobody else adds to the file at `path`: it is replaced, so that another one is locked."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise EnvironmentFault(f"cannot write '{path}': {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def tuned_of(paths: Sequence[str | Path]) -> tuple[Tuned, list[InarchWarning]]:
    """What `tensorize` takes of files of records, and in a line each what it cannot: of other machines.

    Raises UsageError for a file that is damaged.
    """
    own = cpu_name(), compiler_or_none()
    every = merged(*(read_records(Path(path)) for path in paths))
    here = [one for one in every if (one.cpu, one.compiler) == own]
    source = ", ".join(map(str, paths))
    said: list[InarchWarning] = []
    for at, (name, mine) in enumerate((("cpu", own[0]), ("compiler", own[1]))):
        others = [one for one in every if getattr(one, name) != mine]
        if others and (at == 0 or len(others) < len(every)):
            text = (
                f"{len(others)} of {len(every)} records are of another {name} "
                f"('{getattr(others[0], name)}', here '{mine}') and not used"
            )
            said.append(InarchWarning(text, where=source))
    return Tuned({one.address: TunedWay(one.way, one.identity) for one in here}, source), said


def compiler_or_none() -> str:
    """The C compiler, as records name it; empty where there is none."""
    try:
        return compiler_name()
    except InarchError:  # the compilation will tell
        return ""
