"""A generated program: its text, the bytes of its larger constants, and where it came from."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp, StringAttr

from inarch.core.errors import InarchError, UsageError
from inarch.definitions.functions import public_functions
from inarch.dialects import new_context
from inarch.ir.context import store_of
from inarch.ir.text import parse_module, print_module
from inarch.passes.lower.algorithm import ATTRIBUTE, DIRECT, algorithms_of
from inarch.testing.generate.choices import Record

LEVELS = ("graph", "loop", "kernel")
"""What programs are generated at."""

_CONSTANT = re.compile(r"^// CONSTANT (\S+) (\S+)$", re.MULTILINE)
"""A comment with the name and the bytes (zlib, base64) of a constant that is not in the text."""


@dataclass(frozen=True)
class GeneratedProgram:
    """A program that verifies, and the decisions that make it again."""

    level: str
    text: str
    constants: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """By handle: the bytes of constants that are not in the text."""
    record: Record = ()
    """The decisions of its generator (`remake`)."""
    seed: int | None = None
    index: int = 0
    """Its place among `programs(level, seed, count)`."""

    def __str__(self) -> str:
        return self.text

    def parse(self, context: Context | None = None) -> tuple[Context, ModuleOp]:
        """A new module, and the context that holds its constants (`context`, where it is given)."""
        found = context if context is not None else new_context()
        store = store_of(found)
        for key, data in self.constants.items():
            store.set(key, data)
        return found, parse_module(found, self.text, self.name)

    @property
    def name(self) -> str:
        """`graph-1-17`: the level, the seed, the place in its sequence."""
        return f"{self.level}-{'x' if self.seed is None else self.seed}-{self.index}"

    def as_stated(self) -> GeneratedProgram:
        """Each op by the algorithm that it states, of whose elements the definitions know the bounds.

        Another algorithm's are its own: Winograd's has NaN where an infinity enters, and an element's error
        comes of its neighbours too.
        """
        module = self.parse()[1]
        found = [op for op in module.walk() if any(algorithms_of(op))]
        for op in found:
            op.attributes[ATTRIBUTE] = StringAttr(DIRECT)
        return replace(self, text=print_module(module)) if found else self

    def functions(self) -> list[str]:
        """The public functions."""
        return list(public_functions(self.parse()[1]))

    def save(self, path: Path) -> None:
        """Writes `path` (.mlir), and beside it the side file (.npz) that has the larger constants.

        Also where the text does not parse: such a program is what somebody wants to see.
        """
        from inarch.frontends.mlir import write_side_file
        from inarch.ir.payload.files import write_atomically

        write_atomically(path, self.text.encode())
        write_side_file(path.with_suffix(".npz"), self.constants)

    def in_one_file(self) -> str:
        """The text, before it its larger constants as comments: what `read_program` reads."""
        lines = [
            f"// CONSTANT {name} {b64encode(zlib.compress(data, 9)).decode()}\n"
            for name, data in sorted(self.constants.items())
        ]
        return "".join(lines) + self.text


def read_program(path: Path, index: int = 0) -> GeneratedProgram:
    """A program that `save` or `in_one_file` wrote; its inputs are those of `index`.

    Raises UsageError where it cannot be read, InarchError where a side file is none.
    """
    from inarch.core.npz import array_bytes, read_arrays
    from inarch.ir.payload.files import read_text

    text, side = read_text(path), path.with_suffix(".npz")
    constants: dict[str, bytes] = {}
    if side.is_file() and isinstance(arrays := read_arrays(side), dict):
        constants |= {name: bytes(array_bytes(array)) for name, array in arrays.items()}
    for name, data in _CONSTANT.findall(text):
        try:
            constants[name] = zlib.decompress(b64decode(data, validate=True))
        except (ValueError, zlib.error) as error:
            raise UsageError(
                f"{path}: expected the bytes of constant {name} (zlib, base64), found other text"
            ) from error
    level = path.name.partition("-")[0]
    program = GeneratedProgram(
        level if level in LEVELS else LEVELS[0], text, constants, index=index
    )
    try:
        return replace(program, text=print_module(program.parse()[1]))  # without comments
    except InarchError:
        return program  # who checks it says what is wrong


def program_of(
    level: str, context: Context, module: ModuleOp, record: Record = ()
) -> GeneratedProgram:
    """The program of a module that was made in `context`."""
    store = store_of(context)
    keys = {
        value.resource_handle.data
        for op in module.walk()
        for value in op.properties.values()
        if isinstance(value, DenseResourceAttr)
    }
    constants = {key: bytes(store.get(key)) for key in sorted(keys)}
    return GeneratedProgram(level, print_module(module), constants, record)
