"""What the bodies of ops have in common: blocks of graph ops that see their arguments only."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, SSAValue

from inarch.core.errors import UnsupportedError
from inarch.dialects.graph.composite import CompositeRegionOp, YieldOp
from inarch.dialects.graph.op import GraphOp
from inarch.ir.require import require


def yielded(block: Block) -> Sequence[SSAValue]:
    """What a body makes."""
    last = block.last_op
    return [] if last is None else list(last.operands)


def check_arguments(block: Block, wanted: Sequence[Attribute], label: str) -> None:
    """Constraint `label`: the arguments have these types."""
    found = [argument.type for argument in block.args]
    require(
        list(wanted) == found,
        label,
        f"expected body arguments ({types_text(wanted)}), found ({types_text(found)})",
    )


def check_ops(block: Block, label: str) -> None:
    """Constraint `label`: graph ops, then `graph.yield`."""
    *ops, last = block.ops or [None]
    named = last.name if last is not None else "nothing"
    ends = isinstance(last, YieldOp)
    require(ends, label, f"expected a body that ends in graph.yield, found {named}")
    for op in ops:
        plain = isinstance(op, GraphOp) and not isinstance(op, CompositeRegionOp)
        require(plain, label, f"expected graph ops in the body, found {op.name if op else op}")


def check_values(block: Block, label: str, remedy: str) -> None:
    """Constraint `label`: no value is from outside."""
    known: set[SSAValue] = set(block.args)
    for op in block.ops:
        for value in op.operands:
            require(
                value in known,
                label,
                "expected a body that uses its arguments, found {} from outside in {}; {}",
                value.type,
                op.name,
                remedy,
            )
        known.update(op.results)


def no_reference(op: GraphOp, operands: Sequence[object]) -> UnsupportedError:
    """The error of `reference` of an op with bodies: the definitions run their ops, by its `run`."""
    whose = "body" if len(op.regions) == 1 else "bodies"
    return UnsupportedError(
        f"'{op.name}' of {len(operands)} operands has no reference; evaluate its {whose}"
    )


def types_text(kinds: Sequence[object]) -> str:
    """`tensor<4xf32>, tensor<f32>`."""
    return ", ".join(map(str, kinds))
