"""Elementwise nests join the nest that makes what they read, or that reads what they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase, insert_before
from inarch.ir.functions import entry_blocks
from inarch.ir.location import location_text
from inarch.ir.passes import OptionalPass
from inarch.ir.report.analyses import analyses_of
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.passes.loop.nests.edge import Edge, find_edge
from inarch.passes.loop.nests.fusion import append_to_finish, inline_producer
from inarch.passes.loop.nests.parts import find_parts
from inarch.passes.loop.nests.pieces import append_to_pieces, find_pieces
from inarch.passes.loop.nests.uses import BufferUses
from inarch.passes.tuned import choose


@dataclass(frozen=True)
class FuseNestsPass(OptionalPass):
    """Fuses a producer P into its one consumer C through a buffer B that nothing else uses.

    Either P is elementwise, and C computes it where it reads B, unless that would compute it at more
    points than P does (it may, where P only widens integers to those that C sums up). Or C is elementwise,
    its points are the elements of B, and P computes C in its `finish`: bias, activation, residual; but a
    reduction or a scan must not come to write across the vectors in which it is computed. So do several P
    that write B in parts (the phases of a transposed convolution): each computes C for its part. A nest that
    reads indices joins elementwise ones only, where it reads rows by them, and computes no index. The fused
    nest stands where C stood. That moves P down, past ops that neither read B nor write what P reads. A nest
    keeps to at most 16 buffers and 128 scalar ops.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        def joins(edge: Edge) -> bool:
            nests = [edge.producer, edge.consumer]
            return choose(ctx, op, self.name, nests, "joined", ["apart"]) == "joined"

        for function, _ in entry_blocks(op):
            _fuse(analyses_of(ctx).get(BufferUses, function), remarks_of(ctx), joins)


def _fuse(uses: BufferUses, remarks: Remarks, joins: Callable[[Edge], bool]) -> None:
    """In program order, each nest takes in its producers until none fits.

    Producers stand before their consumers, so that they are fused as far as they can be by then. `uses` stay
    what they are: a fused nest writes what its consumer wrote, in its place.
    """
    position = {op: place for op, place in uses.places.items() if isinstance(op, NestOp)}
    for nest in list(position):
        current: NestOp | None = nest
        while current is not None:
            fused = _fuse_once(current, position, uses, remarks, joins)
            if fused is not None:
                position[fused] = position[current]
            current = fused


def _fuse_once(
    consumer: NestOp,
    position: dict[NestOp, int],
    uses: BufferUses,
    remarks: Remarks,
    joins: Callable[[Edge], bool],
) -> NestOp | None:
    """Fuses one producer into `consumer`; the nest that takes their place, or None."""
    edges = _edges(consumer, position, uses, find_edge)
    sums = any(edge.producer.carries for edge in edges)
    for fuse in (inline_producer, append_to_finish):
        for edge in edges:
            if sums and is_indirect(edge.producer):
                continue  # the consumer could not become the end of the sum, of which kernels do both
            name = location_text(edge.producer) or "a nest"
            fused = fuse(edge, joins)
            if fused is not None:
                is_last = fuse is append_to_finish
                how = (
                    f"computed at the end of {name}"
                    if is_last
                    else f"computes {name} where it reads it"
                )
                remarks.done(edge.consumer, how)
                _replace([edge], [fused])
                return fused
    for edge in _edges(consumer, position, uses, find_pieces):
        fused = append_to_pieces(edge, joins)
        if fused is not None:
            name = location_text(edge.producer) or "a nest"
            pieces = len(fused.outs)
            remarks.done(consumer, f"computed at the end of {name}, pieces: {pieces}")
            _replace([edge], [fused])
            return fused
    _fuse_with_parts(consumer, position, uses, remarks)
    return None


def _edges(
    consumer: NestOp,
    position: dict[NestOp, int],
    uses: BufferUses,
    find: Callable[[SSAValue, NestOp], Edge | None],
) -> list[Edge]:
    """The edges to a nest whose producers may move to it; the latest producer first.

    In a residual block it is the producer without other consumers.
    """
    edges = [
        edge
        for buffer in dict.fromkeys(consumer.ins)
        if (edge := find(buffer, consumer)) is not None
        and edge.producer in position
        and uses.may_move(edge.producer, position[edge.producer], position[consumer])
    ]
    return sorted(edges, key=lambda edge: -position[edge.producer])


def _fuse_with_parts(
    consumer: NestOp, position: dict[NestOp, int], uses: BufferUses, remarks: Remarks
) -> None:
    """Lets the nests that together make an operand of `consumer` compute it, where they can."""
    for buffer in dict.fromkeys(consumer.ins):
        edges = find_parts(buffer, consumer)
        place = position[consumer]
        if not edges or not all(
            edge.producer in position
            and uses.may_move(edge.producer, position[edge.producer], place)
            for edge in edges
        ):
            continue
        edges.sort(key=lambda edge: position[edge.producer])
        fused = _appended(edges)
        if fused is None:
            continue
        name = location_text(edges[0].producer) or "nests"
        remarks.done(consumer, f"computed at the end of {name}, parts: {len(edges)}")
        position |= dict.fromkeys(fused, place)
        _replace(edges, fused)
        return


def _appended(edges: Sequence[Edge]) -> list[NestOp] | None:
    """Every producer with the consumer in its `finish`; None where that is not possible for one."""
    fused: list[NestOp] = []
    for edge in edges:
        nest = append_to_finish(edge)
        if nest is None:
            for other in fused:
                other.erase()  # it has never been in a block, and would count as a user of its operands
            return None
        fused.append(nest)
    return fused


def _replace(edges: Sequence[Edge], fused: Sequence[NestOp]) -> None:
    """Puts `fused` in the place of the one consumer, and erases what they replace."""
    edge = edges[0]
    insert_before(edge.consumer, *fused)
    erase(edge.consumer, *(each.producer for each in edges))
    alloc = edge.buffer.owner
    if isinstance(alloc, AllocOp):
        erase(alloc)
