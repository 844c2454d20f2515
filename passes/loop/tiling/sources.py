"""What products of a group read of a transposed copy, they read of what it is a copy of.

    T[h, k, n] = K[h, n, k]                           for each h, block of m:
    for each h, block of m: S = Q[h, m, k] T[h, k, n]     -->     S = Q[h, m, k] K[h, n, k]

Who runs the product packs what it wants in another order: of one h, in the loop over them.
"""

from __future__ import annotations

from xdsl.ir import Operation

from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase, insert_before
from inarch.ir.index.linear import linear_map
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.nests.copied import is_copy, is_transposed
from inarch.passes.loop.nests.edge import Edge, find_edge
from inarch.passes.loop.nests.fusion import inline_producer
from inarch.passes.loop.nests.uses import BufferUses
from inarch.passes.loop.tiling.group import Group


def read_sources(group: Group, uses: BufferUses) -> Group:
    """The group with products that read what transposed copies read, which are gone.

    Of copies that nobody else reads, and whose source is not written behind them. `uses`: of the block, as
    it was before any of its groups became loops.
    """
    written = {out for nest in group.nests for out in nest.outs}
    nests = list(group.nests)
    last = uses.places[nests[-1]]
    for position, product in enumerate(group.nests):
        contraction = match_contraction(product)
        if contraction is None:
            continue
        for buffer in (product.ins[contraction.a], product.ins[contraction.b]):
            nest = nests[position]
            edge = None if buffer in written else find_edge(buffer, nest)
            if edge is not None and _is_turned(edge.producer) and _reaches(edge, uses, last):
                nests[position] = _read_source(edge) or nest
    return Group.of(nests, group.classes)


def _is_turned(nest: NestOp) -> bool:
    if not is_copy(nest) or not is_transposed(nest):
        return False
    # A part of an iterator is then a part of the source, which begins where the class says.
    index = linear_map(nest.read_map(0))
    return all(form.lone_iterator is not None or form.is_constant for form in index)


def _reaches(edge: Edge, uses: BufferUses, last: int) -> bool:
    place = uses.places.get(edge.producer)
    return place is not None and uses.may_move(edge.producer, place, last)


def _read_source(edge: Edge) -> NestOp | None:
    """The product in its place, with the copy and its buffer gone; None where it would read too much."""
    found = inline_producer(edge, again=True)
    if found is None:
        return None
    insert_before(edge.consumer, found)
    alloc = edge.buffer.owner
    assert isinstance(alloc, Operation), "find_edge has seen to it"
    erase(edge.consumer, edge.producer, alloc)
    return found
