"""What products of a group read of a transposed copy, they read of what it is a copy of.

    T[h, k, n] = K[h, n, k]                           for each h, block of m:
    for each h, block of m: S = Q[h, m, k] T[h, k, n]     -->     S = Q[h, m, k] K[h, n, k]

Who runs the product packs what it wants in another order: of one h, in the loop over them.
"""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.linear import linear_map
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.nests.edge import Edge, find_edge, is_elementwise
from inarch.passes.loop.nests.fusion import inline_producer
from inarch.passes.loop.nests.transform import read_strides, strides_along
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
            if edge is not None and _is_turned_copy(edge.producer) and _reaches(edge, uses, last):
                nests[position] = _read_source(edge) or nest
    return Group.of(nests, group.classes)


def _is_turned_copy(nest: NestOp) -> bool:
    """Whether neighbours of what it writes are no neighbours of what it reads, with nothing computed."""
    if not is_elementwise(nest) or len(nest.ins) != 1:
        return False
    if nest.reads.data[0].is_padded or nest.reads.data[0].is_indirect:
        return False
    if nest.yielded(nest.body)[0] is not nest.body.block.args[0]:
        return False
    # A part of an iterator is then a part of the source, which begins where the class says.
    index = linear_map(nest.read_map(0))
    if not all(form.lone_iterator is not None or form.is_constant for form in index):
        return False
    writes = strides_along(nest, nest.outs[0], nest.write_map(0))
    pairs = zip(writes, read_strides(nest, 0), nest.sizes, strict=True)
    return any(write == 1 and read != 1 and size > 1 for write, read, size in pairs)


def _reaches(edge: Edge, uses: BufferUses, last: int) -> bool:
    place = uses.places.get(edge.producer)
    return place is not None and uses.may_move(edge.producer, place, last)


def _read_source(edge: Edge) -> NestOp | None:
    """The product in its place, with the copy and its buffer gone; None where it would read too much."""
    found = inline_producer(edge, again=True)
    if found is None:
        return None
    Builder(InsertPoint.before(edge.consumer)).insert(found)
    alloc = edge.buffer.owner
    assert isinstance(alloc, Operation), "find_edge has seen to it"
    for old in (edge.consumer, edge.producer, alloc):
        old.detach()
        old.erase()
    return found
