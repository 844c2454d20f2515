"""What passes made of a copy of a program: which of its ops changed, and what stands for them now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FusedLoc, LocationAttr, UnknownLoc
from xdsl.ir import IRNode, Operation, OpResult, SSAValue

from inarch.dialects.graph.constant import ConstantOp


@dataclass(frozen=True)
class Change:
    """Ops of the program that were changed together, and ops of the copy that came of it."""

    originals: frozenset[Operation]
    made: frozenset[Operation]
    """New ops, changed ones, and those that read something else now."""


def changes(
    pairs: Sequence[tuple[Operation, Operation]], values: Mapping[SSAValue, SSAValue]
) -> list[Change]:
    """The least sets of ops that were changed together.

    `pairs` are the ops of the program with their copies, in the copy still or not; `values` the copies of
    arguments. New ops belong to the ops at whose location they are; one
    without a location to those next to it. A constant belongs to no one.
    """
    return _Diff(dict(pairs), values).groups()


class _Diff:
    def __init__(
        self, copies: Mapping[Operation, Operation], values: Mapping[SSAValue, SSAValue]
    ) -> None:
        self._copies = copies
        self._values = dict(values)
        self._kept = {
            op: copy for op, copy in copies.items() if _is_there(copy) and _is_same(op, copy)
        }
        for op, copy in self._kept.items():
            self._values.update(zip(op.results, copy.results, strict=True))
        self._parent: dict[Operation, Operation] = {}
        self._made: set[Operation] = set()
        self._placed: set[Operation] = set()
        self._answered: set[Operation] = set()
        """Changed ops with new ones at their place."""

    def groups(self) -> list[Change]:
        """By union-find over changed ops and what was made."""
        known = set(self._kept.values())
        blocks = {copy.parent for copy in known if copy.parent is not None}
        new = {op for block in blocks for op in block.ops if op not in known}
        self._made = {op for op in new if not isinstance(op, ConstantOp)}
        changed = [op for op in self._copies if op not in self._kept]
        for op in [*changed, *self._made]:
            self._find(op)
        self._join_by_place(changed)
        self._join_by_use(changed)
        found: dict[Operation, list[Operation]] = {}
        for op in self._parent:
            found.setdefault(self._find(op), []).append(op)
        return [
            Change(
                frozenset(op for op in ops if op in self._copies),
                frozenset(op for op in ops if op not in self._copies),
            )
            for ops in found.values()
            if any(op in self._copies and not isinstance(op, ConstantOp) for op in ops)
        ]

    def _join_by_place(self, changed: Iterable[Operation]) -> None:
        by_place: dict[LocationAttr, Operation] = {}
        for op in changed:
            for place in _places(op):
                if place in by_place:
                    self._join(op, by_place[place])
                by_place[place] = op
        for op in self._made:
            for original in [by_place[place] for place in _places(op) if place in by_place]:
                self._join(op, original)
                self._placed.add(op)
                self._answered.add(original)

    def _join_by_use(self, changed: Sequence[Operation]) -> None:
        """Ops without a place join their neighbours; who reads another value than before joins both."""
        for op in self._made:
            for maker in {value.op for value in op.operands if isinstance(value, OpResult)}:
                loose = op not in self._placed or maker not in self._placed
                if maker in self._made and loose:
                    self._join(op, maker)
        for op, copy in self._kept.items():
            for before, now in zip(op.operands, copy.operands, strict=True):
                if self._values.get(before) is now:
                    continue
                # Who is to be as it was so that `before` is read again: its maker, or else the reader.
                original = before.op if isinstance(before, OpResult) else op
                maker = now.owner
                if not isinstance(maker, Operation) or maker not in self._made:
                    self._join(original, copy)
                elif maker not in self._placed or original not in self._answered:
                    self._join(original, maker)
        gone = set(changed)
        for op in changed:
            alone = all(self._find(each) != self._find(op) for each in self._made)
            for user in {use.operation for result in op.results for use in result.uses}:
                if alone and user in gone and not isinstance(op, ConstantOp):
                    self._join(op, user)

    def _find(self, op: Operation) -> Operation:
        root = self._parent.setdefault(op, op)
        while root is not self._parent[root]:
            self._parent[root] = self._parent[self._parent[root]]
            root = self._parent[root]
        return root

    def _join(self, a: Operation, b: Operation) -> None:
        self._parent[self._find(a)] = self._find(b)


def _is_there(op: Operation) -> bool:
    return op.parent is not None


def _is_same(op: Operation, copy: Operation) -> bool:
    """Whether a copy is as it was made, but for what it reads."""
    return (
        type(op) is type(copy)
        and op.properties == copy.properties
        and op.attributes == copy.attributes
        and [r.type for r in op.results] == [r.type for r in copy.results]
        and len(op.operands) == len(copy.operands)
        and len(op.regions) == len(copy.regions)
        and all(
            a.is_structurally_equivalent(b, _context(op, copy))
            for a, b in zip(op.regions, copy.regions, strict=True)
        )
    )


def _context(op: Operation, copy: Operation) -> dict[IRNode | SSAValue, IRNode | SSAValue]:
    return dict(zip(op.operands, copy.operands, strict=True))


def _places(op: Operation) -> list[LocationAttr]:
    """Where an op comes from: the places of a fused location one by one."""
    found = op.location
    each = found.locations.data if isinstance(found, FusedLoc) else [found]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - an ArrayAttr
    return [place for place in each if not isinstance(place, UnknownLoc)]  # pyright: ignore[reportUnknownVariableType]
