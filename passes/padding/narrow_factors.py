"""Gives constants of integers a byte an element, for kernels of such integers.

    for m, n, k: y[m, n] += i32(x[m, k]) * w[k, n]            w: i32, all within -128 ... 127
    -->
    for m, n, k: y[m, n] += i32(x[m, k]) * i32(w[k, n])       w: i8

Weights of quantized models are constants of a byte that `fold-constants` has made wide, less their zero
point: wide ones are faster for code that is made for a nest. A kernel of somebody's own reads bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.ir import Block

from inarch.core.lazy import Array, np
from inarch.dialects.loop.buffer import ConstantOp
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.edit import erase
from inarch.ir.passes import OptionalPass
from inarch.ir.payload.constants import constant_array, constant_attribute
from inarch.ir.report.remarks import remarks_of
from inarch.ir.types import dtype_of, memref
from inarch.passes.padding.ways import free_nests
from inarch.passes.tensorize.choose import Prices

if TYPE_CHECKING:
    from xdsl.dialects.builtin import IntegerType

_BYTES = (("int8", arith.ExtSIOp), ("uint8", arith.ExtUIOp))


@dataclass(frozen=True)
class NarrowFactorsPass(OptionalPass):
    """Makes constants narrow that nests read as wide integers, where kernels of others do the nests then.

    Only what such a kernel does then changes, one that is demanded or was loaded, and only where it takes
    less than before, or more of the work is done by a kernel that is demanded. `always`: every such constant.
    """

    always: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        prices = Prices.of(ctx, op)
        if not prices.chooser.guests and not self.always:
            return
        for nest in free_nests(op):
            if not is_indirect(nest):
                _narrow(nest, None if self.always else prices, ctx)


def _narrow(nest: NestOp, prices: Prices | None, ctx: Context) -> None:
    store, parent = store_of(ctx), nest.parent
    assert parent is not None, "it is in a function"
    for at, array in _wide(nest, store):
        for place, (dtype, _) in enumerate(_BYTES):
            limits = np.iinfo(dtype)
            if not limits.min <= array.min() <= array.max() <= limits.max:
                continue
            copy, constant = _with_bytes(nest, at, array, place, store)
            is_better = prices is None or (
                prices.price([copy]) < prices.price([nest]) and prices.is_by_guests([copy])
            )
            if not is_better:
                _drop(copy, constant, store)
                continue
            remarks_of(ctx).done(nest, f"{constant.buffer.name_hint or 'a constant'} in bytes")
            parent.insert_ops_before([constant, copy], nest)
            wide = nest.ins[at].owner
            erase(nest)
            if isinstance(wide, ConstantOp) and not wide.buffer.uses:
                erase(wide)
            return


def _wide(nest: NestOp, store: ConstantStore) -> Iterator[tuple[int, Array]]:
    """Which operands are constants of wide integers, read as they are, and what is in them."""
    for at, (value, read) in enumerate(zip(nest.ins, nest.reads.data, strict=True)):
        dtype, owner = dtype_of(memref_of(value).element_type), value.owner
        is_wide = not dtype.is_float and dtype.nbytes > 1
        if is_wide and isinstance(owner, ConstantOp) and not read.is_padded:
            yield at, constant_array(owner.value, store)


def _with_bytes(
    nest: NestOp, at: int, array: Array, place: int, store: ConstantStore
) -> tuple[NestOp, ConstantOp]:
    """A nest that reads the constant in bytes; both are in no block yet."""
    dtype, extend = _BYTES[place]
    wide = nest.ins[at]
    name = wide.name_hint or "constant"
    constant = ConstantOp(
        constant_attribute(array.astype(dtype), store, name), memref(i8, array.shape)
    )
    constant.buffer.name_hint = wide.name_hint
    copy = nest.clone()
    copy.location = nest.location
    copy.operands[at] = constant.buffer
    for region in copy.regions:
        _extend(region.block, at, extend)
    return copy, constant


def _extend(block: Block, at: int, extend: type[arith.ExtSIOp | arith.ExtUIOp]) -> None:
    """The argument is a byte; what was computed of it is computed of it as wide as it was."""
    old = block.args[at]
    narrow = block.insert_arg(i8, at)
    narrow.name_hint = old.name_hint
    if old.uses:
        wide = extend(narrow, cast("IntegerType", old.type))
        first = block.first_op
        assert first is not None, "it ends in a yield"
        block.insert_op_before(wide, first)
        old.replace_all_uses_with(wide.results[0])
    block.erase_arg(old)


def _drop(nest: NestOp, constant: ConstantOp, store: ConstantStore) -> None:
    nest.erase()
    key = getattr(constant.value, "resource_handle", None)
    if key is not None:
        store.drop(key.data)
    constant.erase()
