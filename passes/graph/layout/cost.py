"""Where blocked channels pay: connected ops gain what windows save, less what their relayouts take.

Ops with windows are lowered alone in each layout, by all algorithms that may be taken there, and so are
relayouts; the cheaper layout is taken.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Block, Operation, SSAValue, Use

from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.layout import LayoutAttr, with_layout
from inarch.dialects.graph.op import shape_of, tensor_dtype, tensor_of
from inarch.dialects.graph.relayout import RelayoutOp
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.conv_transpose import ConvTransposeOp
from inarch.dialects.graph.windows.pool import PoolOp
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.passes.graph.layout.roles import Role, elements
from inarch.passes.lower.op_prices import OpPrices, key_of_op

_PRICED = (ConvOp, ConvTransposeOp, PoolOp)
"""What is computed otherwise in another layout; the others visit the same elements in either."""


@dataclass(frozen=True)
class LayoutPrices:
    """What ops take in either layout, where those of `found` may have channels in blocks."""

    prices: OpPrices
    target: Target
    machine: Machine
    found: Mapping[Operation, Role]
    layout: Callable[[SSAValue], LayoutAttr]
    """That of a value which is blocked."""

    def worthwhile(
        self, decide: Callable[[Sequence[Operation], bool], bool]
    ) -> dict[Operation, Role]:
        """The roles of the ops in those connected regions that save more than their relayouts cost.

        `decide` may say otherwise, of the ops of a region and whether that is so.
        """
        regions: defaultdict[Operation, dict[Operation, Role]] = defaultdict(dict)
        root = _connect(self.found)
        for op, role in self.found.items():
            regions[_root(op, root)][op] = role
        return {
            op: role
            for region in regions.values()
            if decide(list(region), self._pays(region))
            for op, role in region.items()
        }

    def _pays(self, region: Mapping[Operation, Role]) -> bool:
        """Whether the ops take less in blocks, with relayouts into the region and out of it.

        Row-major windows are priced, those that take most first, until what is left cannot change that, even
        if all its multiply-adds were at their best. The kernels of blocks mostly are near that.
        """
        alike: defaultdict[object, list[Operation]] = defaultdict(list)
        for op in region:
            if isinstance(op, _PRICED):
                alike[key_of_op(op), self._types(op, region[op])].append(op)
        left: list[tuple[float, float, int, Operation]] = []
        for ops in alike.values():
            blocked = self._cycles_in_blocks(ops[0], region[ops[0]])
            if math.isinf(blocked):
                return False
            left.append((len(ops) * blocked, self._least(ops[0]), len(ops), ops[0]))
        left.sort(key=lambda one: one[0])
        saved = -sum(self.prices.cycles(self._relayout(*one)) for one in self._changed(region))
        while left and saved + sum(count * least - own for own, least, count, _ in left) <= 0:
            own, _, count, op = left.pop()
            saved += count * self.prices.cycles(op) - own
        return bool(left) or saved > 0

    @staticmethod
    def _relayout(before: Attribute, after: LayoutAttr | None) -> Operation:
        return RelayoutOp.to(Block(arg_types=[before]).args[0], after)

    def _least(self, op: Operation) -> float:
        """Cycles that no layout goes below."""
        if not isinstance(op, ConvOp):
            return 0.0
        width = self.target.vector_bytes
        terms, lanes = math.prod(shape_of(op.w)[1:]), width // tensor_dtype(op.out).nbytes
        return elements(op.out) * terms / lanes * self.machine.fma.cycles(width)

    def _cycles_in_blocks(self, op: Operation, role: Role) -> float:
        """Of a copy of the op on blocked values, in no program."""
        types, results = self._types(op, role)
        operands = [
            Block(arg_types=[kind]).args[0] if at in role.operands else value
            for at, (value, kind) in enumerate(zip(op.operands, types, strict=True))
        ]
        copy = type(op).create(
            operands=operands,
            result_types=results,
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        copy.location = op.location
        cycles = self.prices.cycles(copy)
        copy.drop_all_references()
        return cycles

    def _types(self, op: Operation, role: Role) -> tuple[tuple[Attribute, ...], ...]:
        """Of operands and results."""
        operands = [
            self._type(v) if i in role.operands else v.type for i, v in enumerate(op.operands)
        ]
        return tuple(operands), tuple(self._type(v) if role.result else v.type for v in op.results)

    def _type(self, value: SSAValue) -> Attribute:
        return with_layout(tensor_of(value), self.layout(value))

    def _changed(
        self, region: Mapping[Operation, Role]
    ) -> Iterator[tuple[Attribute, LayoutAttr | None]]:
        """The types of values that are needed in the other layout, and which one that is."""
        into: dict[SSAValue, None] = {}
        for op, role in region.items():
            for position in role.operands:
                value = op.operands[position]
                if not _made_blocked(value, region) and not isinstance(value.owner, ConstantOp):
                    into[value] = None
            for result in op.results if role.result else ():
                if any(not _takes_blocked(use, region) for use in result.uses):
                    yield self._type(result), None
        for value in into:
            yield value.type, self.layout(value)


def _connect(found: Mapping[Operation, Role]) -> dict[Operation, Operation]:
    """A forest: ops with one root pass blocked values among each other."""
    root = {op: op for op in found}
    for op, role in found.items():
        for position in role.operands:
            owner = op.operands[position].owner
            if isinstance(owner, Operation) and owner in found and found[owner].result:
                root[_root(op, root)] = _root(owner, root)
    return root


def _root(op: Operation, root: dict[Operation, Operation]) -> Operation:
    while root[op] is not op:
        root[op] = root[root[op]]
        op = root[op]
    return op


def _made_blocked(value: SSAValue, region: Mapping[Operation, Role]) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and owner in region and region[owner].result


def _takes_blocked(use: Use, region: Mapping[Operation, Role]) -> bool:
    return use.operation in region and use.index in region[use.operation].operands
