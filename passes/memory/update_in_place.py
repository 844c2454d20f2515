"""Elementwise nests write where they read: one buffer in place of two that would take turns in the caches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp, NoneAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.loop.access import ReadAttr
from inarch.dialects.loop.buffer import AllocOp, root
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.indirect import index_operands, renamed
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.repeat import WhileOp
from inarch.ir.edit import erase, replace_op
from inarch.ir.functions import entry_blocks
from inarch.ir.passes import OptionalPass
from inarch.ir.report.analyses import analyses_of
from inarch.ir.types import dtype_of
from inarch.passes.loop.nests.edge import is_elementwise, written_dimensions
from inarch.passes.loop.nests.operands import end, inline
from inarch.passes.loop.nests.uses import BufferUses


@dataclass(frozen=True)
class UpdateInPlacePass(OptionalPass):
    """`b[i] = f(a[i])`, after which nobody needs `a`, becomes `a[i] = f(a[i])`, and `b` is `a`.

    For nests without a reduction that write each element of a buffer once, of the same type as one that
    they read at the same index only. `a` is an allocation; `b` is one as well, or a result of the function,
    which nothing used before: then `a` was the result all along. In the body of a loop both are its own.
    A copy goes away altogether: what is written to it at indices that are read is written in place.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {each.sym_name.data: each for each in op.ops if isinstance(each, DefOp)}
        for function, block in entry_blocks(op):
            for loop in [each for each in block.walk() if isinstance(each, ForOp | WhileOp)]:
                _update_all(loop.body.block, BufferUses.of_block(loop.body.block), kernels)
            _update_all(block, analyses_of(ctx).get(BufferUses, function), kernels)


def _update_all(block: Block, uses: BufferUses, kernels: Mapping[str, DefOp]) -> None:
    """The nests of a function, or of a loop's body, whose own buffers nobody sees in another iteration."""
    lives = _Lives(uses, kernels)
    for nest in [each for each in block.ops if isinstance(each, NestOp)]:
        _update(nest, block, lives)


@dataclass
class _Span:
    """The first and the last place at which a buffer, or a view of it, is used."""

    first: int
    last: int


class _Lives:
    """Where the buffers of a block are used, as their `root`s, while some become one."""

    def __init__(self, uses: BufferUses, kernels: Mapping[str, DefOp]) -> None:
        self._spans = {buffer: _Span(at[0], at[-1]) for buffer, at in uses.used.items()}
        self.place: dict[Operation, int] = dict(uses.places)
        self.aligned: set[SSAValue] = set()
        """Those that a kernel wants aligned: allocations are, what a caller gives need not be."""
        for op in uses.places:
            for inner in op.walk():
                if isinstance(inner, CallOp):
                    self.aligned.update(map(root, _aligned(inner, kernels)))

    def ends(self, buffer: SSAValue, place: int) -> bool:
        """Whether nobody uses a buffer after `place`."""
        return self._spans[buffer].last <= place

    def begins(self, buffer: SSAValue, place: int) -> bool:
        """Whether nobody uses a buffer before `place`."""
        return self._spans[buffer].first >= place

    def merge(self, gone: SSAValue, kept: SSAValue) -> None:
        """What used `gone` uses `kept` from here on."""
        other = self._spans.pop(gone)
        span = self._spans[kept]
        if gone in self.aligned:
            self.aligned.add(kept)
        span.first, span.last = min(span.first, other.first), max(span.last, other.last)


def _aligned(call: CallOp, kernels: Mapping[str, DefOp]) -> list[SSAValue]:
    """The buffers that a kernel relies on to be aligned to more than an element."""
    kernel = kernels[call.callee.root_reference.data]
    pairs = zip(kernel.arguments, call.arguments, strict=True)
    return [buffer for given, buffer in pairs if given.align.data > dtype_of(given.dtype).nbytes]


def _update(nest: NestOp, block: Block, lives: _Lives) -> None:
    if is_kept(nest) or not is_elementwise(nest) or written_dimensions(nest) is None:
        return
    written, here = nest.outs[0], lives.place[nest]
    begins = isinstance(nest.writes.data[0].init, NoneAttr)
    if not begins or not _is_ours(written, block) or not lives.begins(written, here):
        return
    indices = index_operands(nest.reads.data)
    for position, read in enumerate(nest.ins):
        if not isinstance(read.owner, AllocOp) or read.owner.parent is not block:
            continue
        if position in indices:  # an accumulator is no index
            continue
        at_index = nest.reads.data[position]
        same = at_index.map == nest.writes.data[0].map and not at_index.is_padded
        once = sum(root(value) in (read, written) for value in nest.ins) == 1
        given = isinstance(written, BlockArgument) and read in lives.aligned
        if (
            same
            and once
            and not given
            and lives.ends(read, here)
            and memref_of(read) == memref_of(written)
        ):
            made = _rewritten(nest, position)
            lives.place[made] = here
            _merge(read, written, lives)
            if made.yielded(made.body)[0] is made.accumulators(made.body)[0]:  # it was a copy
                erase(made)
            return


def _is_ours(value: SSAValue, block: Block) -> bool:
    """Whether it can be another buffer: an allocation of the block, or a result that the caller gives."""
    if isinstance(value, BlockArgument):
        return value.block is block
    return isinstance(value.owner, AllocOp) and value.owner.parent is block


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
    places = {old: new for new, old in enumerate(kept)}
    reads = [nest.reads.data[at] for at in kept]
    made = NestOp(
        nest.iterators.data,
        [nest.ins[at] for at in kept],
        [ReadAttr(AffineMapAttr(renamed(read.map.data, places)), read.pad) for read in reads],
        nest.outs,
        nest.writes.data,
        Region(end(block, inline(nest.body.block, values, block))),
    )
    made.attributes |= nest.attributes
    made.location = nest.location
    replace_op(nest, made)
    return made


def _merge(read: SSAValue, written: SSAValue, lives: _Lives) -> None:
    """One buffer for both: the argument, or the allocation that is there first."""
    gone, kept = (read, written) if isinstance(written, BlockArgument) else (written, read)
    owner = gone.owner
    assert isinstance(owner, AllocOp)
    lives.merge(gone, kept)
    gone.replace_all_uses_with(kept)
    erase(owner)
