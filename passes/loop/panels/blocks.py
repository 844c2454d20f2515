"""Packs of blocks of panels, each before the calls that read it, in place of a pack of all panels."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.builder import Builder
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.ir.edit import erase
from inarch.ir.index.linear import Linear, affine_map, linear_map
from inarch.ir.types import memref
from inarch.passes.loop.panels.find import Panels, panels_of
from inarch.passes.loop.panels.write import in_loops, run_by_panels


def pack_blocks(pack: PackOp, symbols: Mapping[str, Operation], size: int) -> list[PackOp]:
    """Replaces a pack and its calls by a loop over blocks of `size` panels, and the remaining panels.

    Returns the packs of a block and of the remaining panels; `pack` itself where panels are not independent.
    `size` is at least 2, and less than the number of panels.
    """
    panels = panels_of(pack, symbols)
    if panels is None:
        return [pack]
    blocks, left = divmod(panels.count, size)
    packs = [_written(panels, 0, blocks, size)]
    if left:
        packs.append(_written(panels, blocks * size, 1, left))
    assert isinstance(pack.dst.owner, AllocOp)
    erase(*panels.calls, pack, pack.dst.owner)
    if blocks > 1:
        outer = panels_of(packs[0], symbols)
        assert outer is not None, "blocks of panels are as independent as panels"
        body = run_by_panels(outer).body.block
        packs[0] = next(op for op in body.ops if isinstance(op, PackOp))
    return packs


def _written(panels: Panels, begin: int, blocks: int, size: int) -> PackOp:
    """The pack and the calls of `blocks` times `size` panels from `begin` on, at their `place`."""
    pack = panels.pack
    builder = Builder(InsertPoint.before(panels.place))
    shape = (size, *buffer_shape(pack.dst)[1:])
    if blocks > 1:
        shape = (blocks, *shape)
    forms = [_block(form, begin, blocks, size) for form in linear_map(pack.map.data)]
    alloc = AllocOp(memref(memref_of(pack.dst).element_type, shape))
    alloc.buffer.name_hint = pack.dst.name_hint
    made = PackOp(pack.src, AffineMapAttr(affine_map(forms, len(shape))), alloc.buffer)
    for op in (alloc, made):
        op.location = pack.location
        builder.insert(op)
    for call in panels.calls:
        builder.insert(_call(call, pack, made, begin, blocks, size))
    return made


def _call(call: CallOp, pack: PackOp, made: PackOp, begin: int, blocks: int, size: int) -> CallOp:
    """The call of these panels, which `made` packs from its element 0 on."""
    panel, *rest = call.iterators
    iterators = [panel.of_size(size), *rest]
    if blocks > 1:
        iterators.insert(0, IteratorAttr.get(outer_name(call, 0), blocks))
    forms: list[Linear] = []
    for at, value in enumerate(call.arguments):
        by, start = call.offset_of(at)
        first = 0 if value is pack.dst else begin
        forms.append(_block(Linear(tuple(by), start), first, blocks, size))
    arguments = [made.dst if value is pack.dst else value for value in call.arguments]
    return in_loops(call, iterators, forms, arguments)


def _block(form: Linear, begin: int, blocks: int, size: int) -> Linear:
    """The form where the first iterator n is `begin + size * no + n`; without no where it is one block."""
    by = form.coefficients[0]
    outer = (size * by,) if blocks > 1 else ()
    return Linear((*outer, *form.coefficients), form.constant + begin * by)


def outer_name(call: CallOp, loop: int) -> str:
    """A free name for the loop over blocks of a loop."""
    name = f"{call.names[loop]}o"
    while name in call.names:
        name += "o"
    return name
