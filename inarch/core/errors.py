"""Errors a user of the compiler can meet.

Every error raised on purpose is an `InarchError`: one line that says what was expected, what was
found, where, and what to do. The command line prints it after `error: ` and leaves with the class's
`exit_code`; anything else that escapes is a bug of ours and leaves with 70.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import ClassVar

from inarch.core.outside.printable import printable, shortened, with_short_names


class InarchError(Exception):
    """A bad program: what was compiled, loaded or called is wrong.

    `where` is a location in text (`file:line:col`) or in a model (`model.onnx: node 'conv0'`).
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, where: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.more: Sequence[InarchError] = ()
        """What else is wrong with the same program, where all of it was looked at."""
        self.after = ""
        """The pass after which the program was found to be wrong."""

    def __str__(self) -> str:
        place = "" if self.where is None else f"{_short(self.where, _LONGEST_PLACE)}: "
        return printable(_short(f"{place}{self.message}", _LONGEST))

    def line(self) -> str:
        """The error as the command line prints it: `where: error: message`, on one line."""
        text = _one_line(self.message, 2000)
        if self.where is None:
            return f"error: {text}"
        return f"{_one_line(self.where, _LONGEST_PLACE)}: error: {text}"


_LONGEST = 20_000
"""Characters of a message: a stranger's list may have a million numbers."""


_LONGEST_PLACE = 500
"""Of a place: what was given for a path may be a text."""


def _one_line(text: str, most: int) -> str:
    return _short(printable(" ".join(text.split())), most)


def _short(text: str, most: int) -> str:
    """`text` without the middle of names, and of itself, where they are long: as a stranger likes."""
    return shortened(with_short_names(text), most)


class InarchWarning(UserWarning):
    """What a user should know of a sound program, at a place in it: `where: warning: message`."""

    def __init__(self, message: str, *, where: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where

    def __str__(self) -> str:
        place = "" if self.where is None else f"{self.where}: "
        return printable(_short(f"{place}{self.message}", _LONGEST))


class ArgumentError(InarchError, ValueError):
    """An array given to a compiled function does not fit its signature."""


class UnsupportedError(InarchError, NotImplementedError):
    """The program is valid, but asks for what Inarch does not do (yet)."""

    deciding: Sequence[str] = ()
    """Inputs on whose values alone it depends: with those values known, as shapes are, it may be possible."""


class UsageError(InarchError):
    """A command, an option or a name that does not exist or does not fit."""

    exit_code = 2


class EnvironmentFault(InarchError):
    """The machine lacks something: a compiler, a writable folder, a library, a CPU feature."""

    exit_code = 3


class PluginError(InarchError):
    """The code of a plugin raised what it may not raise; the message names it, its file and the line."""


class InternalError(InarchError):
    """An invariant of ours does not hold; the message names the reproducer."""

    exit_code = 70


def unknown(kind: str, name: str, known: Iterable[str], *, within: str = "") -> UsageError:
    """The error for a name that nothing has, with the nearest one and those there are; of many the nearest.

    >>> unknown("pass", "fold-rulu", ["fold-relu", "tile"]).message
    "no pass 'fold-rulu'; did you mean 'fold-relu'? Known: fold-relu, tile"
    >>> unknown("row", "x100", [f"x{row}" for row in range(60)]).message
    "no row 'x100'; did you mean 'x10'? Nearest of 60: x10, x1, x0, x51, x50, x41"
    """
    names = sorted(known)
    name = shortened(name)
    near = nearest(name, names)
    hint = f"; did you mean '{near}'?" if near is not None else "."
    place = f" in {within}" if within else ""
    return UsageError(f"no {kind} '{name}'{place}{hint} {_shown(name, names)}")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`; None where none is near."""
    from difflib import get_close_matches  # not before something is wrong

    return next(iter(get_close_matches(name, sorted(known), n=1)), None)


_OURS = ("inarch", "xdsl", "shtab")
"""Packages of which only the compiler's part may be missing."""


def has_compiler() -> bool:
    """Whether models can be compiled here: the wheel `inarch-runtime` leaves the compiler and xDSL out."""
    from importlib.util import find_spec

    try:
        return all(find_spec(name) is not None for name in ("inarch.driver", "xdsl"))
    except ImportError:  # of a finder that hides it
        return False


@contextmanager
def needing(message: str, kind: type[InarchError] = EnvironmentFault) -> Generator[None]:
    """Within, what is imported may be missing: then raises `kind` with this message."""
    try:
        yield
    except ImportError as error:
        raise kind(message) from error


def without_compiler(error: BaseException, what: str) -> EnvironmentFault | None:
    """The error to raise instead where `what` failed to import the compiler, and there is none."""
    if not isinstance(error, ModuleNotFoundError) or has_compiler():
        return None
    if (error.name or "").partition(".")[0] not in _OURS:
        return None
    return EnvironmentFault(
        f"{what} needs the compiler, which is not installed here; pip install inarch"
    )


_MOST_NAMES = 40
"""That a message lists: what is more hides the message."""


def _shown(name: str, names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return f"Known: {', '.join(names) or 'none'}"
    from difflib import get_close_matches

    shown = get_close_matches(name, names, n=6, cutoff=0.0)
    return f"Nearest of {len(names)}: {', '.join(shown)}"


def reason(error: BaseException) -> str:
    """The first line of what an exception says; its class where it says nothing."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
