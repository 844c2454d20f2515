"""Giving ops to a backend, or keeping them from one, by hand: selectors and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from inarch.core.errors import UsageError
from inarch.ir.location import location_text, parts_of
from inarch.offload.instance import Instances
from inarch.passes.partition.common import (
    GIVE,
    KEEP,
    error_at,
    is_claimable,
    keep_names,
    tensor_blocks,
    text_of,
)

Selection = tuple[str, str]
"""`(selector, backend)`: the selector is an op's name (`conv`, `graph.conv`, `graph.reduce_*`), or a
glob that the op's location matches (`layer1/*`, `model.mlir:12:*`). For keep, `*` is every backend."""


@dataclass(frozen=True)
class ByHand:
    """What is decided by hand, by op."""

    given: dict[Operation, str]
    kept: dict[Operation, frozenset[str]]
    """The backends that must not have the op; `*` is every one."""

    def refusal(self, op: Operation, backend: str) -> str | None:
        """Why `backend` may not have `op`, or None."""
        given = self.given.get(op)
        if given is not None and given != backend:
            return f"given to backend {given} by hand"
        kept = self.kept.get(op, frozenset())
        return f"kept from backend {backend} by hand" if {backend, "*"} & kept else None


def parse_selection(text: str, what: str = "BACKEND") -> Selection:
    """`conv=a` as `("conv", "a")`. Raises UsageError."""
    selector, equals, name = text.rpartition("=")
    if not equals or not selector or not name:
        raise UsageError(f"expected OP-OR-GLOB={what}, found '{text}'")
    return selector, name


def mark_by_hand(
    instances: Instances,
    module: ModuleOp,
    give: Sequence[Selection],
    keep: Sequence[Selection],
) -> None:
    """Writes selections into the program as attributes. Raises for one that selects no op."""
    for selector, backend in give:
        instances.named(backend)
        for op in _selected(module, selector, backend, "give"):
            before = text_of(op, GIVE)
            if before is not None and before != backend:
                raise error_at(
                    op,
                    f"'{op.name}' is given to backend '{before}' and to backend '{backend}'; "
                    "give it to one",
                )
            op.attributes[GIVE] = StringAttr(backend)
    for selector, backend in keep:
        if backend != "*":
            instances.named(backend)
        for op in _selected(module, selector, backend, "keep"):
            names = dict.fromkeys((*keep_names(op), backend))
            op.attributes[KEEP] = ArrayAttr([StringAttr(name) for name in names])


def _selected(module: ModuleOp, selector: str, backend: str, option: str) -> Sequence[Operation]:
    found = [
        op
        for _, block in tensor_blocks(module)
        for op in block.ops
        if is_claimable(op) and selects(selector, op)
    ]
    if not found:
        raise UsageError(
            f"{option} '{selector}={backend}' selects no op; expected the name of an op (conv) or a "
            "glob on where ops come from (layer1/*)"
        )
    return found


def selects(selector: str, op: Operation) -> bool:
    """Whether it is the op's name, or a glob that one of its places matches."""
    names = [op.name, op.name.removeprefix("graph."), *parts_of(location_text(op) or "")]
    return any(fnmatchcase(name, selector) for name in names if name)


def read_by_hand(module: ModuleOp) -> ByHand:
    """What the attributes say. Raises at an op that is given to a backend and kept from it."""
    given: dict[Operation, str] = {}
    kept: dict[Operation, frozenset[str]] = {}
    for _, block in tensor_blocks(module):
        for op in block.ops:
            names = frozenset(keep_names(op))
            owner = text_of(op, GIVE)
            if owner is not None and not is_claimable(op):
                raise error_at(
                    op,
                    f"'{op.name}' cannot be given to backend '{owner}': no backend "
                    "takes constants, calls and returns",
                )
            if owner is not None and {owner, "*"} & names:
                raise error_at(
                    op, f"'{op.name}' is given to backend '{owner}' and kept from it; do one"
                )
            if owner is not None:
                given[op] = owner
            if names:
                kept[op] = names
    return ByHand(given, kept)
