"""`inarch.definitions.ops`: every op has one, and each does what the C backend is to do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType, IntegerType, f32, f64
from xdsl.ir import Attribute, Block, Operation

from inarch.backends.c.write.value.expressions import expression
from inarch.core.errors import UnsupportedError
from inarch.definitions.frame import definition_of
from inarch.dialects import DIALECTS

_TYPES: tuple[Attribute, ...] = (
    f32,
    f64,
    IntegerType(1),
    IntegerType(8),
    IntegerType(32),
    IndexType(),
)


def ops_of_the_dialects() -> list[type[Operation]]:
    return [kind for name in DIALECTS for kind in DIALECTS[name].operations]


@pytest.mark.parametrize("kind", ops_of_the_dialects(), ids=lambda kind: kind.name)
def test_every_op_of_a_registered_dialect_has_a_definition(kind: type[Operation]) -> None:
    assert definition_of(kind) is not None, f"'{kind.name}' has no definition"


def made(kind: type[Operation]) -> Iterator[Operation]:
    """The op on one to three operands of each type, with a result of each type."""
    for operand in _TYPES:
        for count in (1, 2, 3):
            block = Block(arg_types=[operand] * count)
            for result in _TYPES:
                op = kind.create(operands=block.args, result_types=[result])
                if kind in (arith.CmpiOp, arith.CmpfOp):
                    op = kind(block.args[0], block.args[-1], 1)  # pyright: ignore[reportCallIssue]
                yield op


def emits(op: Operation) -> bool:
    try:
        expression(op, ["a", "b", "c"][: len(op.operands)], lambda name: name)
    except UnsupportedError:
        return False
    except (IndexError, ValueError, KeyError, TypeError, AttributeError):  # not such operands
        return False
    return True


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for each in (arith.Arith, math.Math)
        for kind in each.operations
        if kind is arith.ConstantOp or any(map(emits, made(kind)))
    ],
    ids=lambda kind: kind.name,
)
def test_every_scalar_op_that_the_c_backend_emits_has_a_definition(kind: type[Operation]) -> None:
    assert definition_of(kind) is not None, f"'{kind.name}' has no definition"
