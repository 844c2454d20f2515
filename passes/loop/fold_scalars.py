"""A constant of one element becomes a number in the bodies of the nests that read it.

    y[i] = x[i] * three[0]     -->     y[i] = x[i] * 3.0
    y[j] = x[at three[0], j]   -->     y[j] = x[3, j]

So the C compiler sees it, a nest needs no buffer for it, and a microkernel that means the number matches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.ir import Region
from xdsl.ir.affine import AffineExpr

from inarch.dialects.loop.access import ReadAttr, WriteAttr, typed
from inarch.dialects.loop.buffer import ConstantOp, root
from inarch.dialects.loop.indirect import index_operands, picked, picks_of, renamed
from inarch.dialects.loop.keep import free_nests
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.scalar import Number
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.edit import erase, replace_op
from inarch.ir.index.affine import indirect_map
from inarch.ir.passes import OptionalPass
from inarch.ir.payload.constants import constant_array
from inarch.ir.report.walk import ops_within


@dataclass(frozen=True)
class FoldScalarsPass(OptionalPass):
    """Replaces what nests read of `loop.constant`s of one element by `arith.constant`s in their regions.

    Constants that nothing reads any more disappear. A nest that reads nothing else stays as it is.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = store_of(ctx)
        for nest in free_nests(op):
            _fold(nest, store)
        for constant in [each for each in ops_within(op) if isinstance(each, ConstantOp)]:
            if not constant.buffer.uses:
                erase(constant)


def _fold(nest: NestOp, store: ConstantStore) -> None:
    kept_whole = index_operands(nest.writes)  # outside, a known index would name no element
    numbers = {
        position: number
        for position in range(len(nest.ins))
        if position not in kept_whole and (number := _number(nest, position, store)) is not None
    }
    if not numbers or len(numbers) == len(nest.ins):
        return
    kept = [position for position in range(len(nest.ins)) if position not in numbers]
    places = {old: new for new, old in enumerate(kept)}
    folded = NestOp(
        list(nest.iterators),
        [nest.ins[position] for position in kept],
        [_read(nest, position, places, numbers) for position in kept],
        list(nest.outs),
        [WriteAttr(_renamed(each.map, places), each.init, each.clip) for each in nest.writes],
        _without(nest, nest.body, numbers),
        _without(nest, nest.finish, numbers) if nest.finish is not None else None,
    )
    folded.attributes |= nest.attributes
    folded.location = nest.location
    replace_op(nest, folded)


def _renamed(index: AffineMapAttr, places: Mapping[int, int]) -> AffineMapAttr:
    return AffineMapAttr(renamed(index.data, places)) if index.data.num_symbols else index


def _read(
    nest: NestOp, position: int, places: Mapping[int, int], numbers: Mapping[int, Number]
) -> ReadAttr:
    """How an operand is read when the others are at `places`, or `numbers`: as an index, that is a place."""
    read = nest.reads.data[position]
    index = read.map.data
    if not read.is_indirect:
        return read
    exprs = list(index.results)
    for axis, named in picks_of(index).items():
        if named in numbers:
            place = picked(int(numbers[named]), buffer_shape(nest.ins[position])[axis])
            exprs[axis] = AffineExpr.constant(place)
    rest = indirect_map(index.num_dims, exprs)
    return ReadAttr(AffineMapAttr(renamed(rest, places)), read.pad)


def _number(nest: NestOp, position: int, store: ConstantStore) -> Number | None:
    """What an operand holds, if that is one known number."""
    owner = root(nest.ins[position]).owner
    is_padded = nest.reads.data[position].is_padded
    if not isinstance(owner, ConstantOp) or is_padded or math.prod(buffer_shape(owner.buffer)) != 1:
        return None
    array = constant_array(owner.value, store)
    if array.dtype.kind not in "fiu" or math.isnan(array.item()):  # of NaN, text keeps no payload
        return None
    return array.item()


def _without(nest: NestOp, region: Region, numbers: Mapping[int, Number]) -> Region:
    """A copy of a region in which the elements at the positions of `numbers` are those."""
    copy = region.clone()
    block = copy.block
    for position in sorted(numbers, reverse=True):
        argument = block.args[position]
        if argument.first_use is not None:
            number = typed(numbers[position], memref_of(nest.ins[position]).element_type)
            constant = arith.ConstantOp(number)  # pyright: ignore[reportArgumentType] - a typed number
            first = block.first_op
            assert first is not None
            block.insert_op_before(constant, first)
            argument.replace_all_uses_with(constant.result)
        block.erase_arg(argument)
    return copy
