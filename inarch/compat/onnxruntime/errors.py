"""The exceptions of onnxruntime, by its names; what Inarch says is their text.

As there, each is an `Exception` and of no common class.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial

from inarch.core.errors import ArgumentError, EnvironmentFault, InarchError, UnsupportedError
from inarch.core.outside.printable import printable_name


class Fail(Exception):  # noqa: N818 - the names are that library's
    """What is not one of the others: a model that contradicts itself, a run that failed."""


class InvalidArgument(Exception):  # noqa: N818
    """An array, a name or a model that does not fit."""


class NoSuchFile(Exception):  # noqa: N818
    """There is no file of that name."""


class NoModel(Exception):  # noqa: N818
    """A session without a model."""


class EngineError(Exception):
    """An engine failed."""


class RuntimeException(Exception):  # noqa: N818
    """The machine lacks something: a compiler, a writable folder."""


class InvalidProtobuf(Exception):  # noqa: N818
    """A file, or bytes, that are no ONNX model."""


class ModelLoaded(Exception):  # noqa: N818
    """A session that has a model already."""


class NotImplemented(Exception):  # noqa: N818, A001
    """What Inarch does not do: an operator, a dtype, a part of the interface."""


class InvalidGraph(Exception):  # noqa: N818
    """An operator, or an attribute of one, that ONNX does not have."""


class EPFail(Exception):  # noqa: N818
    """A provider failed."""


class NotFound(Exception):  # noqa: N818
    """Raised by nothing here, as the others after it."""


class ModelLoadCanceled(Exception):  # noqa: N818
    """A session was not to be made any more."""


class ModelRequiresCompilation(Exception):  # noqa: N818
    """A provider wants a compiled model."""


class DeviceReset(Exception):  # noqa: N818
    """A device was lost."""


_NUMBERS: dict[type[Exception], tuple[int, str]] = {
    Fail: (1, "FAIL"),
    InvalidArgument: (2, "INVALID_ARGUMENT"),
    NoSuchFile: (3, "NO_SUCHFILE"),
    RuntimeException: (6, "RUNTIME_EXCEPTION"),
    InvalidProtobuf: (7, "INVALID_PROTOBUF"),
    NotImplemented: (9, "NOT_IMPLEMENTED"),
    InvalidGraph: (10, "INVALID_GRAPH"),
}
"""Of onnxruntime's `StatusCode`, with which each message begins."""


def is_of_onnxruntime(thing: object) -> bool:
    """Whether it is one of the classes above."""
    return isinstance(thing, type) and thing.__base__ is Exception and thing.__module__ == __name__


def error(kind: type[Exception], message: str, *lines: str) -> Exception:
    """The exception, whose text begins as that library's, in one line but for more `lines`.

    >>> str(error(InvalidArgument, "Invalid input name: z"))
    '[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid input name: z'
    """
    number, word = _NUMBERS[kind]
    said = [printable_name(line) for line in (message, *lines)]
    return kind("\n".join([f"[ONNXRuntimeError] : {number} : {word} : {said[0]}", *said[1:]]))


def unsupported(what: str, instead: str = "") -> Exception:
    """The refusal of a part of the interface, by name."""
    hint = f"; {instead}" if instead else ""
    return error(NotImplemented, f"{what}: Inarch's onnxruntime does not have it{hint}")


def refuse(kind: type, *names: str, **instead: str) -> None:
    """Gives a class methods that raise `unsupported`: `instead` has what to do, by name."""
    for name, hint in {**dict.fromkeys(names, ""), **instead}.items():
        setattr(kind, name, staticmethod(partial(_refused, f"{kind.__name__}.{name}", hint)))


def _refused(what: str, instead: str, *args: object, **kwargs: object) -> None:  # noqa: ARG001
    raise unsupported(what, instead)


@contextmanager
def translated(
    where: object = None, kind_of: Callable[[InarchError], type[Exception]] | None = None
) -> Generator[None]:
    """Within the block an error of Inarch is that library's of the same meaning, of the model `where`.

    `kind_of` has the classes of errors that are no other than an `InarchError`; else they are `Fail`.
    """
    try:
        yield
    except InarchError as found:
        kind = next(kind for ours, kind in _KINDS.items() if isinstance(found, ours))
        if kind is Fail and kind_of is not None:
            kind = kind_of(found)
        text = " ".join(str(found).splitlines())
        if where is not None and text.startswith(_IN_MEMORY):
            text = f"{where}{text.removeprefix(_IN_MEMORY)}"
        raise error(kind, text) from found


_KINDS: dict[type[InarchError], type[Exception]] = {
    UnsupportedError: NotImplemented,
    ArgumentError: InvalidArgument,
    EnvironmentFault: RuntimeException,
    InarchError: Fail,
}
"""The first one that an error is."""
_IN_MEMORY = "<model>"
"""What importing calls a model that it got as bytes, as sessions give it."""
