"""The sums of a reduction in a buffer of their own, in the order of its loops; another nest finishes them."""

from __future__ import annotations

from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from inarch.dialects._types import memref
from inarch.dialects.loop._base import memref_of
from inarch.dialects.loop.access import ReadAttr, WriteAttr, number_of, typed
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.nest import NestOp
from inarch.passes.loop._inline import end, inline


def with_own_sums(nest: NestOp) -> NestOp:
    """Replaces `out[at] = finish(ins, sum)` by `sums[p] = sum` and `out[at] = finish(ins, sums[p])`.

    `p` are the parallel iterators, in their order; the nest has one output. Returns the first of the two.
    """
    parallel = [at for at, iterator in enumerate(nest.iterators) if not iterator.is_reduction]
    shape = [nest.sizes[at] for at in parallel]
    element = memref_of(nest.outs[0]).element_type
    alloc = AllocOp(memref(element, shape))
    (init,) = (write.init for write in nest.writes)
    body = nest.body.clone()
    points = AffineMap(len(nest.iterators), 0, tuple(AffineExpr.dimension(at) for at in parallel))
    writes = [WriteAttr.get(points, typed(number_of(init), element))]
    used = [at for at, e in enumerate(body.block.args[: len(nest.ins)]) if e.first_use is not None]
    for at, argument in reversed(list(enumerate(body.block.args[: len(nest.ins)]))):
        if at not in used:
            body.block.erase_arg(argument)
    ins, reads = [nest.ins[at] for at in used], [nest.reads.data[at] for at in used]
    sums = NestOp(list(nest.iterators), ins, reads, [alloc.buffer], writes, body)
    parent = nest.parent
    assert parent is not None
    for op in (alloc, sums, _finishing(nest, alloc.buffer, parallel)):
        op.location = nest.location
        parent.insert_op_before(op, nest)
    nest.detach()
    nest.erase()
    return sums


def _finishing(nest: NestOp, sums: SSAValue, parallel: list[int]) -> NestOp:
    """`out[at] = finish(ins, sums[p])`."""
    count = len(parallel)
    place = {old: AffineExpr.dimension(new) for new, old in enumerate(parallel)}
    points = [place.get(at, AffineExpr.constant(0)) for at in range(len(nest.iterators))]
    used: list[int] = []
    if nest.finish is not None:
        arguments = nest.element_arguments(nest.finish)
        used = [at for at, argument in enumerate(arguments) if argument.first_use is not None]
    reads = [
        ReadAttr.get(
            nest.read_map(at).replace_dims_and_symbols(points, [], count, 0),
            typed(number_of(nest.reads.data[at].pad), memref_of(nest.ins[at]).element_type),
        )
        for at in used
    ]
    reads.append(ReadAttr.get(AffineMap.identity(count)))
    ins = [*(nest.ins[at] for at in used), sums]
    block = Block(arg_types=[memref_of(value).element_type for value in (*ins, nest.outs[0])])
    total: SSAValue = block.args[len(used)]
    if nest.finish is not None:
        known: dict[int, SSAValue] = {at: block.args[new] for new, at in enumerate(used)}
        elements = [known.get(at, total) for at in range(len(nest.ins))]
        (total,) = inline(nest.finish.block, [*elements, total], block)
    (write,) = nest.writes
    index = write.map.data.replace_dims_and_symbols(points, [], count, 0)
    return NestOp(
        [nest.iterators.data[at] for at in parallel],
        ins,
        reads,
        [nest.outs[0]],
        [WriteAttr.get(index, clip=write.clips)],
        Region(end(block, [total])),
    )
