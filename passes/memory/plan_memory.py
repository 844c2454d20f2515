"""Scratch buffers share one workspace by lifetime; constants get their place in the weights."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp

from inarch.core.lazy import np
from inarch.dialects.loop.buffer import WORKSPACE_ALIGNMENT_BYTES, ConstantOp
from inarch.dialects.loop.control import CallOp
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.functions import error_at, functions
from inarch.ir.passes import Pass
from inarch.ir.payload.constants import ConstantAttr, constant_array
from inarch.ir.payload.mapped import MappedFiles
from inarch.ir.payload.shared import Piece, SharedWeights
from inarch.ir.report.facts import facts_of
from inarch.ir.report.remarks import remarks_of
from inarch.ir.sizes import sizes_of
from inarch.passes.memory.arena import align
from inarch.passes.memory.first_reads import check_first_reads
from inarch.passes.memory.workspaces import Workspaces

WEIGHTS_BYTES = "inarch.weights_bytes"


@dataclass(frozen=True)
class PlanMemoryPass(Pass):
    """Gives every `loop.alloc` and `loop.constant` its byte offset, a multiple of 64.

    Public functions get `inarch.workspace_bytes`, and so do private ones with scratch of their own; the
    module gets `inarch.weights_bytes`. A buffer lives from the first op that uses it to the last, also
    through views of it, and where that is in a loop that it is outside of, as long as the loop runs; the
    inputs and outputs of one op live at the same time. A call of a function with a workspace gets a place
    for it in that of the caller, for each of the threads that may share its loop. Constants stand in program
    order, equal ones in one place; a pool of weights (`SharedWeights`), where there is one, gives the places.

    Raises InarchError for a `loop.call` that does not fit its callee, for functions with scratch that call
    each other in a circle, and at an op that reads scratch which nothing has written (`first_reads.py`).
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _check_calls(op)
        check_first_reads(op)
        Workspaces(op, remarks_of(ctx)).plan()
        shared = facts_of(ctx).get(SharedWeights)
        files = facts_of(ctx).get(MappedFiles)
        if shared is None or not _share_weights(op, store_of(ctx), shared, files):
            _plan_weights(op, store_of(ctx))


# ------------------------------------------------------------------------------------ checks


def _check_calls(module: ModuleOp) -> None:
    """Arity and types of every `loop.call`, with one table of callees for the module."""
    callees = {function.sym_name.data: function for function in functions(module)}
    for op in module.walk():
        if isinstance(op, CallOp):
            _check_call(op, callees)


def _check_call(call: CallOp, callees: Mapping[str, FuncOp]) -> None:
    name = call.callee.root_reference.data
    if name not in callees:
        known = ", ".join(f"@{known}" for known in sorted(callees)) or "none"
        raise error_at(call, f"loop.call refers to no function @{name}; known: {known}")
    wanted = callees[name].function_type
    if wanted.outputs.data:
        raise error_at(
            call, f"loop.call expects a function without results, found @{name} : {wanted}"
        )
    if len(wanted.inputs) != len(call.arguments):
        raise error_at(
            call,
            f"loop.call of @{name} expects {len(wanted.inputs)} arguments, "
            f"found {len(call.arguments)}",
        )
    for index, (expected, found) in enumerate(zip(wanted.inputs, call.arguments, strict=True)):
        if expected != found.type:
            raise error_at(
                call,
                f"loop.call of @{name} expects argument {index} of type {expected}, "
                f"found {found.type}",
            )


# ------------------------------------------------------------------------------------ weights


def _plan_weights(module: ModuleOp, store: ConstantStore) -> None:
    """Gives each constant its place; constants of one name share it.

    Where functions are one model for several sizes, which was read for each, those of equal bytes do, too.
    """
    offsets: dict[object, int] = {}
    is_read_again = len(sizes_of(module)) > 1
    digests: dict[object, object] = {}
    total = 0
    for op in module.walk():
        if not isinstance(op, ConstantOp):
            continue
        size = nbytes(memref_of(op.buffer))
        key = _content(op, size)
        if is_read_again and isinstance(op.value, DenseResourceAttr):
            if key not in digests:
                array = np.ascontiguousarray(constant_array(op.value, store))
                digests[key] = sha256(array.reshape(-1).view(np.uint8).data).digest(), size
            key = digests[key]
        if key not in offsets:
            offsets[key] = total
            total += align(size, WORKSPACE_ALIGNMENT_BYTES)
        op.offset = IntegerAttr(offsets[key], 64)
    module.attributes[WEIGHTS_BYTES] = IntegerAttr(total, 64)


def _share_weights(
    module: ModuleOp, store: ConstantStore, shared: SharedWeights, files: MappedFiles | None
) -> bool:
    """Gives each constant its place in a pool; False where there is none for them."""
    shared.places = None
    constants: dict[object, list[ConstantOp]] = {}
    for op in module.walk():
        if isinstance(op, ConstantOp):
            size = nbytes(memref_of(op.buffer))
            # One without elements is anywhere.
            constants.setdefault(_content(op, size) if size else None, []).append(op)
    empty = constants.pop(None, [])

    pieces = [
        Piece(
            nbytes(memref_of(first.buffer)),
            partial(_bytes, first.value, store),
            _origin(first.value, store, files),
        )
        for first, *_ in constants.values()
    ]
    places = shared.place(pieces, sum(piece.nbytes for piece in pieces)) if pieces else None
    if places is None:
        return False
    for op in empty:
        op.offset = IntegerAttr(0, 64)
    for offset, ops in zip(places.offsets, constants.values(), strict=True):
        for op in ops:
            op.offset = IntegerAttr(offset, 64)
    module.attributes[WEIGHTS_BYTES] = IntegerAttr(places.said.nbytes, 64)
    shared.places = places
    return True


def _bytes(value: ConstantAttr, store: ConstantStore) -> memoryview:
    array = np.ascontiguousarray(constant_array(value, store))
    return array.reshape(-1).view(np.uint8).data


def _origin(value: ConstantAttr, store: ConstantStore, files: MappedFiles | None) -> Hashable:
    """From which bytes of a file a constant is, and how it is made of them; None where it is of none."""
    if files is None or not isinstance(value, DenseResourceAttr):
        return None
    found = store.made_of(value.resource_handle.data)
    if found is None:
        return None
    data, how = found
    origin = files.origin(data)
    # A splat of one element has the handle's type to say how many there are.
    return (origin, how, value.type) if origin is not None else None


def _content(constant: ConstantOp, size: int) -> object:
    """Equal for two constants only if their bytes are equal; a handle's shape does not matter."""
    if isinstance(constant.value, DenseResourceAttr):
        return constant.value.resource_handle.data, size
    return constant.value
