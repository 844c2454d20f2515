"""What is cheaper to compute again than to keep: small elementwise nests that several nests read."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase, insert_before
from inarch.ir.functions import entry_blocks
from inarch.ir.passes import OptionalPass
from inarch.ir.report.analyses import analyses_of
from inarch.passes.loop.nests.edge import edges_from, is_elementwise
from inarch.passes.loop.nests.fusion import inline_producer
from inarch.passes.loop.nests.uses import BufferUses

MAX_OPS = 2
"""Of a producer's body: beside reading a row of a buffer they cost nothing."""
MAX_READERS = 4
"""Each computes it again."""
_CHEAP = (
    arith.AddfOp,
    arith.SubfOp,
    arith.MulfOp,
    arith.NegfOp,
    arith.AddiOp,
    arith.SubiOp,
    arith.MuliOp,
)


@dataclass(frozen=True)
class RematerializePass(OptionalPass):
    """A producer of one or two additions or products goes into every nest that reads it, and is gone.

    Only where nobody reads more than before (of what it reads, at most one operand is as large as what it
    writes), where each reader can take it in without computing it at more points, and where what it
    reads is not written in between. `x - mean` of a layer norm, for the variance and for the result.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function, block in entry_blocks(op):
            _rematerialize_block(block, analyses_of(ctx).get(BufferUses, function))


def _rematerialize_block(block: Block, uses: BufferUses) -> None:
    """`uses` stay what they are: a reader's new form writes what it wrote, in its place."""
    position = {op: place for op, place in uses.places.items() if isinstance(op, NestOp)}
    for nest in list(position):
        if nest.parent is block:
            _rematerialize(nest, position, uses)


def _rematerialize(producer: NestOp, position: dict[NestOp, int], uses: BufferUses) -> None:
    if not _is_cheap(producer):
        return
    edges = edges_from(producer)
    if not 1 < len(edges) <= MAX_READERS:
        return
    fused: list[NestOp] = []
    for edge in edges:
        last = position.get(edge.consumer, -1)  # one inside of a loop has no place
        moves = uses.may_move(producer, position[producer], last)
        nest = inline_producer(edge) if moves else None
        if nest is None:
            return
        fused.append(nest)
    for edge, nest in zip(edges, fused, strict=True):
        insert_before(edge.consumer, nest)
        position[nest] = position[edge.consumer]
        erase(edge.consumer)
    alloc = producer.outs[0].owner
    assert isinstance(alloc, AllocOp), "an edge is through one"
    erase(producer, alloc)


def _is_cheap(nest: NestOp) -> bool:
    if not is_elementwise(nest):
        return False
    if is_indirect(nest):  # rows that are anywhere are read once
        return False
    ops = list(nest.body.block.ops)[:-1]
    moving = {position for position, size in enumerate(nest.sizes) if size > 1}
    whole = sum(moving <= set(read.map.data.used_dims()) for read in nest.reads)
    return len(ops) <= MAX_OPS and all(isinstance(op, _CHEAP) for op in ops) and whole <= 1
