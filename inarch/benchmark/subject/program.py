"""A layer as a program in `graph`, for the compiler as it compiles everything else."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from inarch.benchmark.layers import Conv, Layer
from inarch.benchmark.subject.arrays import Arrays
from inarch.core.lazy import Array
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.arithmetic import AddOp
from inarch.dialects.graph.elementwise.clip import ClipOp
from inarch.dialects.graph.elementwise.unary import ReluOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_attribute
from inarch.ir.types import mlir_type, tensor


def program_of(layer: Layer, arrays: Arrays, context: Context) -> ModuleOp:
    """A module whose `@main` is the layer: `x` (and `w`, of a batch of products) to `y`."""
    both = not isinstance(layer, Conv) and bool(layer.batch)
    shapes = [layer.input_shape, *([layer.weight_shape] if both else [])]
    block = Block(arg_types=[tensor(mlir_type("f32"), shape) for shape in shapes])
    builder = Builder(InsertPoint.at_end(block))
    store = store_of(context)

    def constant(array: Array, name: str) -> SSAValue:
        op = ConstantOp.make(value=constant_attribute(array, store, name))
        return builder.insert(op).results[0]

    x = block.args[0]
    w = block.args[1] if both else constant(arrays.w, "w")
    if isinstance(layer, Conv):
        assert arrays.bias is not None, "a convolution has one"
        pads, strides = [layer.pad] * 4, [layer.stride] * 2
        y = builder.insert(
            ConvOp.make(
                x,
                w,
                constant(arrays.bias, "bias"),
                pads=pads,
                strides=strides,
                groups=layer.groups,
            )
        ).results[0]
        if layer.activation == "relu":
            y = builder.insert(ReluOp.make(y)).results[0]
        elif layer.activation == "relu6":
            y = builder.insert(ClipOp.make(y, low=0.0, high=6.0)).results[0]
    else:
        y = builder.insert(MatmulOp.make(x, w)).results[0]
        if arrays.bias is not None:
            y = builder.insert(AddOp.make(y, constant(arrays.bias, "bias"))).results[0]
    builder.insert(ReturnOp(y))
    names = [_named("x"), _named("w")] if both else [_named("x")]
    main = FuncOp(
        "main",
        ([argument.type for argument in block.args], [y.type]),
        Region(block),
        arg_attrs=ArrayAttr(names),
        res_attrs=ArrayAttr([_named("y")]),
    )
    return ModuleOp([main], {"inarch.name": StringAttr("layer")})


def _named(name: str) -> DictionaryAttr:
    return DictionaryAttr({"inarch.name": StringAttr(name)})
