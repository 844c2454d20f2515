"""Reductions read what a copy is a copy of, and the copy goes away, where that costs less.

    T[k, n] = B[n, k]
    C[m, n] += A[m, k] T[k, n]        -->        C[m, n] += A[m, k] B[n, k]

Its kernel reads the source as it lies, or packs it: then it is read and written once, in place of twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation

from inarch.dialects.loop.buffer import AllocOp, root
from inarch.dialects.loop.keep import free_nests
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase, insert_before
from inarch.ir.functions import BODY
from inarch.ir.location import location_text
from inarch.ir.passes import OptionalPass
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.passes.loop.nests.copied import is_copy
from inarch.passes.loop.nests.edge import Edge, edges_from
from inarch.passes.loop.nests.fusion import inline_producer
from inarch.passes.loop.nests.unmoved import unmoved
from inarch.passes.loop.nests.uses import written_roots
from inarch.passes.tensorize.choose import Prices


@dataclass(frozen=True)
class ReadSourcesPass(OptionalPass):
    """Lets the reductions that read a copy read its source, where kernels then do all of them for less.

    A copy is a permutation, a slice or a broadcast of a buffer. All that reads it stands after it in its
    block, and nothing between writes its source; a loop around it writes that, or `hoist-invariants` has the
    copy before the loop. What is compared are the cycles of the copy and of all reductions, each with the
    kernel that it will get. `always`: also where it costs more.
    """

    always: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        prices, remarks = Prices.of(ctx, op), remarks_of(ctx)
        for nest in free_nests(op):
            edges = edges_from(nest) if is_copy(nest) and 0 not in nest.sizes else []
            if not edges or not all(edge.consumer.has_reduction for edge in edges):
                continue
            if _may_move(edges) and not _is_hoisted(nest):
                _read_source(edges, prices, remarks, always=self.always)


def _is_hoisted(copy: NestOp) -> bool:
    """Whether the copy may be made once for all iterations of a loop: none writes what it reads."""
    source = root(copy.ins[0])
    function = source.owner.parent_op() if isinstance(source, BlockArgument) else None
    is_of_body = isinstance(function, FuncOp) and BODY in function.attributes
    return is_of_body or bool(unmoved(copy, source))


def _may_move(edges: Sequence[Edge]) -> bool:
    """Whether all that reads a copy follows it in its block before something writes the copy's source."""
    copy = edges[0].producer
    left: set[Operation] = {edge.consumer for edge in edges}
    source = root(copy.ins[0])
    following = copy.next_op
    while following is not None:
        left.discard(following)
        if not left:
            return True
        if source in written_roots(following):
            return False
        following = following.next_op
    return False


def _read_source(edges: Sequence[Edge], prices: Prices, remarks: Remarks, *, always: bool) -> None:
    copy, alloc = edges[0].producer, edges[0].buffer.owner
    assert isinstance(alloc, AllocOp), "an edge is through one"
    made: list[NestOp] = []
    for edge in edges:
        nest = inline_producer(edge, again=True)
        if nest is not None:  # in its place: what loops around it leave is packed once
            insert_before(edge.consumer, nest)
            made.append(nest)
    readers = [edge.consumer for edge in edges]
    pays = always or _pays(copy, readers, made, prices, remarks)
    gone: Sequence[Operation] = made
    if pays and len(made) == len(edges):
        for reader in readers:
            remarks.done(reader, f"reads the source of the copy at {location_text(copy) or '?'}")
        gone = (*readers, copy, alloc)
    erase(*gone)


def _pays(
    copy: NestOp,
    readers: Sequence[NestOp],
    made: Sequence[NestOp],
    prices: Prices,
    remarks: Remarks,
) -> bool:
    """Whether kernels do all of `made`, at no more than the copy and its readers cost."""
    if not all(map(prices.is_by_kernel, made)):
        return False
    whole, least = prices.price([copy, *readers]), prices.price(made)
    if whole < least:
        costs = f"{least.cycles:.0f} cycles, not {whole.cycles:.0f}"
        for reader in readers:
            remarks.missed(reader, f"the source of a copy would take {costs}")
    return not whole < least
