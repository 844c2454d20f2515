"""Chooses layouts: convolutions and what is around them work on channels in blocks of a vector.

For a target whose vectors hold VL f32, `#graph.layout<block = [0, VL, 0, 0], halo = []>`: a vector of
channels at each pixel. `layout/roles.py` says which ops can work so, `layout/cost.py` where it pays,
`layout/halo.py` who wants zeros around the image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from inarch.core.dtypes import DTYPES
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.layout import LayoutAttr, layout_of, with_layout
from inarch.dialects.graph.op import shape_of, tensor_dtype, tensor_of
from inarch.dialects.graph.relayout import RelayoutOp
from inarch.ir.passes import OptionalPass
from inarch.ir.target import machine_of, target_of
from inarch.passes.graph._asked import layouts_asked
from inarch.passes.graph.layout.cost import LayoutPrices
from inarch.passes.graph.layout.guests import Guests
from inarch.passes.graph.layout.halo import halo_for
from inarch.passes.graph.layout.roles import Role, roles
from inarch.passes.lower.op_prices import OpPrices
from inarch.passes.tuned import choose

BLOCKS, ROWS = "channels in blocks", "row-major"


@dataclass(frozen=True)
class ChooseLayoutPass(OptionalPass):
    """Gives convolutions, and what follows them, channels in blocks of the target's vector.

    Where a consumer's windows run over the edges, the tensor has a halo of zeros around the image.
    A `graph.relayout` stands where a value is needed otherwise than it is made: once a value, none
    for constants (they are read as they are), none back and forth. Arguments and results of
    functions stay row-major, and so do convolutions that a kernel that is demanded, or of others, does
    better so. An op whose algorithm a user names has the layout that this asks for. Connected ops are
    changed together or not at all, by what that costs. With `always`, none
    of that counts. Nothing changes for the target `generic`, of whose vectors nothing is known. This is
    the last pass on `graph`: others need not know of layouts.
    """

    always: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        if target.architecture == "generic":
            return
        lanes = target.vector_bytes // DTYPES["f32"].nbytes
        guests = Guests(ctx, op, ChooseLayoutPass(always=True))
        prices = OpPrices.of(ctx, op)
        has_guests = not self.always and guests.are_there
        asked = layouts_asked(op)
        blocked = {each for each, layout in asked.items() if layout == "blocks"}

        def is_left(each: Operation) -> bool:
            if each in asked:
                return asked[each] == "blocks"
            return not has_guests or guests.leaves(each)

        def pays(ops: Sequence[Operation], saves: bool) -> bool:
            return not blocked.isdisjoint(ops) or self._blocks(ctx, op, ops, saves)

        for function in op.body.ops:
            if isinstance(function, FuncOp) and not _is_foreign(function):
                for block in function.body.blocks:
                    found = roles(block, lanes, is_left, blocked)
                    chosen = found
                    if found and not self.always:
                        blocks = partial(layout_for, chosen=found, lanes=lanes)
                        chosen = LayoutPrices(
                            prices, target, machine_of(op), found, blocks
                        ).worthwhile(pays)
                    _Layouts(chosen, lanes).apply(block)

    def _blocks(self, ctx: Context, module: ModuleOp, ops: Sequence[Operation], pays: bool) -> bool:
        """Whether connected ops get blocks, which is usual where it `pays`."""
        usual, other = (BLOCKS, ROWS) if pays else (ROWS, BLOCKS)
        return choose(ctx, module, self.name, ops, usual, [other], _around(ops)) == BLOCKS


def _around(ops: Sequence[Operation]) -> list[Operation]:
    """Who makes what they read, and reads what they make."""
    makers = [value.owner for op in ops for value in op.operands]
    users = [use.operation for op in ops for value in op.results for use in value.uses]
    found = [one for one in (*makers, *users) if isinstance(one, Operation)]
    return [one for one in found if not isinstance(one, ConstantOp)]


def _is_foreign(function: FuncOp) -> bool:
    """Whether a backend compiles it, or it has no body: its tensors are row-major."""
    return function.is_declaration or "compiler" in function.attributes


def layout_for(value: SSAValue, chosen: Mapping[Operation, Role], lanes: int) -> LayoutAttr:
    """Channels in blocks, and the halo that those of `chosen` want which read them."""
    channels, is_narrow = shape_of(value)[1], tensor_dtype(value).nbytes < DTYPES["f32"].nbytes
    # Few channels of narrow integers are read by sums alone: all that follows has whole blocks (`roles`).
    block = channels if is_narrow and 2 * channels <= lanes else lanes
    blocks = [block if axis == 1 else 0 for axis in range(len(shape_of(value)))]
    return LayoutAttr.get(blocks, halo_for(value, chosen))


@dataclass
class _Layouts:
    """Rewrites a block, given the role of each op that works in blocks."""

    chosen: dict[Operation, Role]
    lanes: int
    versions: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """A value in the other layout than it was made in: the relayout's result."""

    def apply(self, block: Block) -> None:
        """In program order: operands first, then the results' types."""
        if not self.chosen:
            return
        for op in list(block.ops):
            role = self.chosen.get(op)
            blocked = role.operands if role is not None else frozenset[int]()
            for position, operand in enumerate(op.operands):
                if (layout_of(operand) is not None) != (position in blocked):
                    op.operands[position] = self._other(operand)
            if role is not None and role.result:
                (result,) = op.results
                kind = with_layout(tensor_of(result), self._layout(result))
                Rewriter.replace_value_with_new_type(result, kind)

    def _layout(self, value: SSAValue) -> LayoutAttr:
        return layout_for(value, self.chosen, self.lanes)

    def _other(self, value: SSAValue) -> SSAValue:
        """`value` in the other layout: blocked if it is row-major; made once, right behind it."""
        if value not in self.versions:
            owner = value.owner
            op = RelayoutOp.to(value, None if layout_of(value) else self._layout(value))
            if isinstance(value, BlockArgument):
                first = value.block.first_op
                assert first is not None, "a function ends in a return"
                op.location = first.location
                value.block.insert_op_before(op, first)
            else:
                assert isinstance(owner, Operation)
                op.location = owner.location
                parent = owner.parent
                assert parent is not None
                parent.insert_op_after(op, owner)
            op.out.name_hint = value.name_hint
            self.versions[value] = op.out
        return self.versions[value]
