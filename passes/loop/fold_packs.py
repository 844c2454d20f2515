"""Packs constants at compile time: `kernel.pack` of a `loop.constant` is another constant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import AffineMapAttr, DenseResourceAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue

from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.pack import PackOp, packed
from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.loop.nest import NestOp
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.edit import erase, insert_before
from inarch.ir.passes import OptionalPass
from inarch.ir.payload.constants import ConstantAttr, constant_array, constant_type, later_constant


@dataclass(frozen=True)
class FoldPacksPass(OptionalPass):
    """Replaces each `kernel.pack` of a constant, into a buffer that nothing else writes, by what it packs.

    The same packing of the same constant, also under another shape (`loop.reshape`), is done once.
    Constants without users disappear. The bytes of the others are packed whenever they are read, which is
    when they are written: not kept in memory, they cost nothing but that.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = store_of(ctx)
        done: dict[tuple[ConstantAttr, Attribute, AffineMapAttr, Attribute], ConstantAttr] = {}
        users = Counter(c.value for c in op.walk() if isinstance(c, ConstantOp))
        kernels = {each.sym_name.data: each for each in op.body.ops if isinstance(each, DefOp)}
        for pack in [p for p in op.walk() if isinstance(p, PackOp)]:
            views, source = _source(pack.src)
            alloc = pack.dst.owner
            if not isinstance(source, ConstantOp) or not isinstance(alloc, AllocOp):
                continue
            if not _is_only_writer(pack, alloc.buffer, kernels):
                continue
            value = source.value
            key = (value, pack.src.type, pack.map, alloc.buffer.type)
            if key not in done:
                shape = buffer_shape(pack.dst)
                array = constant_array(value, store).reshape(buffer_shape(pack.src))
                make = partial(packed, pack.map.data, shape, array)
                kind = TensorType(constant_type(value).element_type, shape)
                made = array, (pack.src.type, pack.map, alloc.buffer.type)
                done[key] = later_constant(make, kind, store, f"{_name(value)}_packed", made)
            _replace(pack, alloc, done[key])
            for view in views:
                if not view.result.uses:
                    erase(view)
            if not source.buffer.uses:
                erase(source)
                users[value] -= 1
            if users[value] == 0:
                _drop(store, value)


def _source(buffer: SSAValue) -> tuple[list[ReshapeOp], object]:
    """What makes the memory of `buffer`, and the views of it that lead there, outermost first."""
    views: list[ReshapeOp] = []
    while isinstance(owner := buffer.owner, ReshapeOp):
        views.append(owner)
        buffer = owner.source
    return views, owner


def _is_only_writer(pack: PackOp, buffer: SSAValue, kernels: Mapping[str, DefOp]) -> bool:
    """Whether every other use of the buffer, or of a view of it, only reads: constants are never written."""
    for use in buffer.uses:
        user = use.operation
        match user:
            case ReshapeOp() | memref.SubviewOp():
                reads = _is_only_writer(pack, user.results[0], kernels)
            case NestOp():
                reads = use.index < len(user.ins)
            case PackOp():
                reads = user is pack or user.dst is not buffer
            case CallOp():
                arguments = kernels[user.callee.root_reference.data].arguments
                reads = arguments.data[use.index].access.data == "read"
            case memref.LoadOp():
                reads = True
            case _:  # a store, or a function that may do anything
                reads = False
        if not reads:
            return False
    return True


def _name(value: ConstantAttr) -> str:
    return value.resource_handle.data if isinstance(value, DenseResourceAttr) else "constant"


def _replace(pack: PackOp, alloc: AllocOp, value: ConstantAttr) -> None:
    constant = ConstantOp(value, alloc.buffer.type)
    constant.location = pack.location
    insert_before(alloc, constant)
    erase(pack)
    packed: SSAValue = constant.buffer
    alloc.buffer.replace_all_uses_with(packed)
    erase(alloc)


def _drop(store: ConstantStore, value: ConstantAttr) -> None:
    if isinstance(value, DenseResourceAttr):
        store.drop(value.resource_handle.data)
