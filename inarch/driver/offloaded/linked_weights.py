"""Weights of C that a backend emitted: constants of the host, which each call gets behind the inputs.

The host has them among its own weights then: mapped, aligned, equal ones once, in the folder of
`inarch export` as in an artifact, and new ones after `set_weights`.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.rewriter import Rewriter

from inarch.core.dtypes import from_numpy
from inarch.core.lazy import Array, np
from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.payload.constants import ConstantAttr, constant_attribute
from inarch.ir.types import mlir_type
from inarch.offload.backend import Emission

Shared = dict[tuple[object, ...], ConstantAttr]
"""What was stored, by dtype, shape and SHA-256."""


def weight_types(emission: Emission, symbol: str) -> list[TensorType[Attribute]]:
    """Of the weights that a function uses, in order."""
    arrays = [emission.arrays[name] for name in emission.used(symbol)]
    return [TensorType(mlir_type(from_numpy(each.dtype.name)), each.shape) for each in arrays]


def pass_weights(
    context: Context, module: ModuleOp, function: FuncOp, emission: Emission, shared: Shared
) -> None:
    """Has the declared `function` take the weights that it uses, and all its calls give them.

    `shared` has what was stored already, of any backend.
    """
    symbol = function.sym_name.data
    store = store_of(context)
    values = [
        _stored(emission.arrays[name], f"{symbol}_{name}", store, shared)
        for name in emission.used(symbol)
    ]
    widen(function, [value.type for value in values])
    for call in [op for op in module.walk() if isinstance(op, CallOp)]:
        if call.callee.string_value() != symbol:
            continue
        constants = [ConstantOp.make(value=value) for value in values]
        operands = [*call.arguments, *(each.out for each in constants)]
        more = CallOp(symbol, operands, [result.type for result in call.results])
        more.attributes |= call.attributes
        for one in (*constants, more):
            one.location = call.location
        Rewriter.replace_op(call, [*constants, more], more.results)


def _stored(array: Array, name: str, store: ConstantStore, shared: Shared) -> ConstantAttr:
    digest = sha256(array.reshape(-1).view(np.uint8).data).digest()
    key = (array.dtype.name, array.shape, digest)
    if key not in shared:
        shared[key] = constant_attribute(array, store, name)
    return shared[key]


def widen(function: FuncOp, kinds: Sequence[Attribute]) -> None:
    """Has `function` take arguments of these types, too; a body does not use them."""
    kind = function.function_type
    function.function_type = FunctionType.from_lists(
        [*kind.inputs.data, *kinds], list(kind.outputs.data)
    )
    if function.arg_attrs is not None:
        none = [DictionaryAttr({})] * len(kinds)
        function.arg_attrs = ArrayAttr([*function.arg_attrs.data, *none])
    for added in kinds if function.body.blocks else ():
        function.body.block.insert_arg(added, len(function.body.block.args))
