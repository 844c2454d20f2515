"""Which functions of a module are entry points, and how errors name a place in them."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation

from inarch.core.errors import InarchError
from inarch.ir.location import location_text

BODY = "inarch.body"
"""On a private function: the body of a loop that calls it, to be compiled as a function of the program."""

LAYER = "inarch.layer"
"""On a private function: a layer that the program repeats, compiled once until `inline-layers`."""

WEIGHT = "inarch.weight"
"""On an argument of a layer: each call gives it a constant, which is laid out at compile time."""

ITERATIONS = "inarch.iterations"
"""On an argument of a body: for how many iterations it is the same buffer, and holds the same."""

INDICES = "inarch.indices"
"""Of an input: the least and the most that its elements may be, which a call checks (`array<i64: -9, 8>`).

Where each is an index of one of several dimensions in turn, of each (`array<i64: -9, 8, -4, 3>`: of pairs).
"""


def functions(module: ModuleOp) -> list[FuncOp]:
    """Every function directly in `module`, in program order."""
    return [op for op in module.body.ops if isinstance(op, FuncOp)]


def is_public(function: FuncOp) -> bool:
    """Whether callers outside the module can see `function`."""
    return function.sym_visibility is None or function.sym_visibility.data == "public"


def is_private(function: FuncOp) -> bool:
    """Whether the function is one of the module's own."""
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def is_layer(function: FuncOp) -> bool:
    """Whether it is called for each of several layers (`LAYER`)."""
    return LAYER in function.attributes


def entry_blocks(module: ModuleOp) -> list[tuple[FuncOp, Block]]:
    """The public functions, and the bodies of loops and layers (`BODY`, `LAYER`), with their one block each.

    Raises InarchError for a public function without a body or with control flow between blocks.
    """
    found: list[tuple[FuncOp, Block]] = []
    for function in functions(module):
        if not is_public(function) and function.attributes.keys().isdisjoint((BODY, LAYER)):
            continue
        blocks = list(function.body.blocks)
        if len(blocks) != 1:
            raise error_at(
                function,
                f"expected public function @{function.sym_name.data} to have one block, "
                f"found {len(blocks)}; make an import private",
            )
        found.append((function, blocks[0]))
    return found


def argument_attributes(function: FuncOp, position: int) -> Mapping[str, Attribute]:
    """The attributes of one argument of a function."""
    every = function.arg_attrs
    return {} if every is None else every.data[position].data


def index_ranges(function: FuncOp, position: int) -> list[tuple[int, int]]:
    """The least and the most that elements of an argument may be, in turn (`INDICES`); empty: anything."""
    found = argument_attributes(function, position).get(INDICES)
    if not isinstance(found, DenseArrayBase):
        return []
    bounds = [int(bound) for bound in found.get_values()]
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def error_at(op: Operation, message: str) -> InarchError:
    """The error `message` at the location of `op`."""
    return InarchError(message, where=location_text(op))
