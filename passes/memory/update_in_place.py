"""Elementwise nests write where they read: one buffer in place of two that would take turns in the caches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, NoneAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from inarch.dialects.loop.buffer import AllocOp, ReshapeOp, root
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.functions import entry_blocks
from inarch.passes.loop.edge import is_elementwise, written_dimensions
from inarch.passes.loop.inline import end, inline

Places = Mapping[Operation, int]


@dataclass(frozen=True)
class UpdateInPlacePass(ModulePass):
    """`b[i] = f(a[i])`, after which nobody needs `a`, becomes `a[i] = f(a[i])`, and `b` is `a`.

    For nests without a reduction that write each element of a buffer once, of the same type as one that
    they read at the same index only. `a` is an allocation; `b` is one as well, or a result of the function,
    which nothing used before: then `a` was the result all along.
    """

    name = "update-in-place"
    is_optional: ClassVar = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for _, block in entry_blocks(op):
            places = {inner: place for place, inner in enumerate(block.ops)}
            for nest in [each for each in block.ops if isinstance(each, NestOp)]:
                _update(nest, block, places)


PASS = UpdateInPlacePass


def _update(nest: NestOp, block: Block, places: dict[Operation, int]) -> None:
    if is_kept(nest) or not is_elementwise(nest) or written_dimensions(nest) is None:
        return
    written = nest.outs[0]
    if not isinstance(nest.writes.data[0].init, NoneAttr):
        return
    here = places[nest]
    if not _is_ours(written) or any(place < here for place in _used(written, block, places, nest)):
        return
    for position, read in enumerate(nest.ins):
        if not isinstance(read.owner, AllocOp) or read.owner.parent is not block:
            continue
        at_index = nest.reads.data[position]
        same = at_index.map == nest.writes.data[0].map and isinstance(at_index.pad, NoneAttr)
        once = sum(root(value) in (read, written) for value in nest.ins) == 1
        last = all(place < here for place in _used(read, block, places, nest))
        if same and once and last and memref_of(read) == memref_of(written):
            places[_rewritten(nest, position)] = here
            _merge(read, written)
            return


def _is_ours(value: SSAValue) -> bool:
    """Whether it can be another buffer: an allocation, or a result that the caller gives."""
    return isinstance(value.owner, AllocOp) or isinstance(value, BlockArgument)


def _used(value: SSAValue, block: Block, places: Places, but: Operation) -> list[int]:
    """The places at which a buffer, or a view of it, is used by others."""
    found: list[int] = []
    for use in value.uses:
        user = use.operation
        if user is but:
            continue
        top = user
        while top.parent is not block and (parent := top.parent_op()) is not None:
            top = parent
        found.append(places.get(top, -1))
        if isinstance(user, ReshapeOp | memref.SubviewOp):
            found += _used(user.results[0], block, places, but)
    return found


def _rewritten(nest: NestOp, position: int) -> NestOp:
    """The nest with what it writes in the place of the read, whose element is the accumulator."""
    kept = [at for at in range(len(nest.ins)) if at != position]
    block = Block(
        arg_types=[*(nest.body.block.args[at].type for at in kept), nest.body.block.args[-1].type]
    )
    values: list[SSAValue] = [block.args[-1]] * (len(nest.ins) + 1)
    for argument, at in zip(block.args, kept, strict=False):
        values[at] = argument
    for argument, at in zip(block.args, [*kept, position], strict=True):
        argument.name_hint = nest.body.block.args[at].name_hint
    made = NestOp(
        nest.iterators.data,
        [nest.ins[at] for at in kept],
        [nest.reads.data[at] for at in kept],
        nest.outs,
        nest.writes.data,
        Region(end(block, inline(nest.body.block, values, block))),
    )
    made.attributes |= nest.attributes
    made.location = nest.location
    parent = nest.parent
    assert parent is not None
    parent.insert_op_before(made, nest)
    nest.detach()
    nest.erase()
    return made


def _merge(read: SSAValue, written: SSAValue) -> None:
    """One buffer for both: the argument, or the allocation that is there first."""
    gone, kept = (read, written) if isinstance(written, BlockArgument) else (written, read)
    owner = gone.owner
    gone.replace_all_uses_with(kept)
    assert isinstance(owner, AllocOp)
    owner.detach()
    owner.erase()
