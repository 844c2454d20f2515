"""Runs the text of the backend `squarer`; imports nothing of the compiler."""

from __future__ import annotations

from collections.abc import Sequence

from inarch.artifact.manifest import Port, Signature
from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.runtime.function import Function
from inarch.runtime.loaders import Loader
from inarch.runtime.module import Module
from inarch.runtime.tensor import Array


def _function(line: str, where: str) -> Function:
    try:
        symbol, sizes, times = line.split()
        shape, count = tuple(int(size) for size in sizes.split("x")), int(times)
    except ValueError:
        raise InarchError(f"expected SYMBOL SHAPE COUNT, found '{line}'", where=where) from None

    def invoke(arrays: Sequence[Array]) -> None:
        values = arrays[0]
        for _ in range(count):
            values = np.square(values)
        arrays[1][...] = values

    f32 = DTYPES["f32"]
    signature = Signature((Port("x", f32, shape),), (Port("y", f32, shape),))
    return Function(symbol, signature, invoke)


def _create(text: str, name: str) -> Module:
    functions = [_function(line, name) for line in text.splitlines()]
    named = {function.name: function for function in functions}
    return Module("squarer", name, named, sources={"squarer": lambda: text}, content=text.encode())


LOADER = Loader("squarer", create=_create)
