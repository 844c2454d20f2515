"""Replaces compositions (softmax, layer norm, gelu, batch norm) by the simpler ops they stand for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc

from inarch.dialects.graph.op import CompositeOp
from inarch.ir.edit import erase
from inarch.ir.passes import Pass


@dataclass(frozen=True)
class DecomposeCompositesPass(Pass):
    """Replaces each composite by `CompositeOp.decompose()`, until none is left.

    Until then patterns can see the named op; from here on the loop passes fuse the pieces again.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        decompose_all(nested for nested in op.walk() if isinstance(nested, CompositeOp))


def decompose_all(composites: Iterable[CompositeOp]) -> None:
    """Replaces `composites`, and those that they are made of, by the ops they stand for, where they were."""
    todo = list(composites)
    while todo:
        composite = todo.pop()
        parent = composite.parent
        assert parent is not None
        parts = composite.decompose()
        for part in parts:
            if isinstance(part.location, UnknownLoc):
                part.location = composite.location
            parent.insert_op_before(part, composite)
        (result,) = composite.results
        result.replace_all_uses_with(parts[-1].results[0])
        erase(composite)
        todo += [part for part in parts if isinstance(part, CompositeOp)]
