"""quantize and dequantize: what they give by hand, and that their decompositions give the same, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import inarch
from effort import SOAK, effort
from inarch.core.dtypes import DTYPES, from_numpy
from inarch.dialects import new_context
from inarch.dialects.graph.composites.quantize import QUANTIZED, DequantizeOp, QuantizeOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_array, constant_attribute
from inarch.ir.types import mlir_type, tensor
from inarch.passes import PASSES
from inarch.testing import execute

Array = np.ndarray[Any, Any]


def values(*arrays: Array) -> list[Any]:
    types = [tensor(mlir_type(from_numpy(a.dtype.name)), a.shape) for a in arrays]
    return list(Block(arg_types=types).args)


def quantized(x: Array, scale: Array, zero: Array, axis: int, dtype: str) -> Array:
    """One element at a time, in Python's own numbers, each step rounded to f32 as the equation says."""
    out = np.zeros(x.shape, DTYPES[dtype].numpy)
    limits = np.iinfo(out.dtype)
    for at in np.ndindex(*x.shape):
        s, z = (float(v[at[axis]] if v.ndim else v) for v in (scale, zero))
        with np.errstate(all="ignore"):
            step = np.float32(np.float32(x[at]) / np.float32(s))
        if np.isnan(step):
            continue
        if np.isinf(step):
            out[at] = limits.max if step > 0 else limits.min
            continue
        whole = float(np.float32(np.float32(round(float(step))) + np.float32(z)))
        out[at] = int(min(max(whole, limits.min), limits.max))
    return out


def dequantized(q: Array, scale: Array, zero: Array, axis: int) -> Array:
    """As `quantized`."""
    out = np.zeros(q.shape, scale.dtype)
    for at in np.ndindex(*q.shape):
        s, z = (v[at[axis]] if v.ndim else v[()] for v in (scale, zero))
        wide = (int(q[at]) - int(z) + 2**31) % 2**32 - 2**31
        if scale.dtype == np.float32:
            out[at] = np.float32(wide) * s
        else:
            out[at] = (wide * int(s) + 2**31) % 2**32 - 2**31
    return out


@pytest.mark.sampled(effort(2, 8), reason="each is a program of a dozen nests")
@pytest.mark.parametrize("dtype", QUANTIZED)
def test_reference_and_compiled_code_are_the_equation(dtype: str) -> None:
    """R: of random tensors, scales and zero points of one number and of an axis; ties, infinities and NaN."""
    generator = np.random.default_rng(QUANTIZED.index(dtype))
    limits = np.iinfo(DTYPES[dtype].numpy)
    shape = (3, 4, 2)
    module, block = program()
    ops: list[Any] = []
    inputs: list[Array] = []
    results: list[Array] = []
    for iteration in range(6) if SOAK else (0, 3, 4):
        axis, is_vector = iteration % 3, iteration % 2 == 0
        size = (shape[axis],) if is_vector else ()
        spread = 3.0 if iteration < 2 else float(limits.max) * 0.7
        x = (generator.standard_normal(shape) * spread).astype(np.float32)
        x.flat[:5] = [np.nan, np.inf, -np.inf, 0.5, -2.5]
        scale = np.asarray(generator.choice([0.5, 1.0, 0.37, 2.0], size), np.float32)
        zero = np.asarray(generator.integers(limits.min, limits.max, ()), limits.dtype)
        if iteration == 4:
            zero = np.asarray(generator.integers(0, 4, size), limits.dtype)
        sign = -1 if iteration in (2, 4) else 1
        properties: dict[str, Any] = (
            {"axis": axis if sign > 0 else axis - 3} if is_vector or zero.ndim else {}
        )
        to = mlir_type(dtype)
        op = QuantizeOp.make(*values(x, scale, zero), to=to, **properties)
        expected = quantized(x, scale, zero, axis, dtype)
        np.testing.assert_array_equal(op.reference(x, scale, zero), expected)
        wide = scale if iteration % 2 else np.asarray(scale * 8, np.int32)
        back = DequantizeOp.make(*values(expected, wide, zero), **properties)
        again = dequantized(expected, wide, zero, axis)
        np.testing.assert_array_equal(back.reference(expected, wide, zero), again)
        args = [block.insert_arg(v.type, len(block.args)) for v in values(x, scale, wide, zero)]
        ops += [QuantizeOp.make(args[0], args[1], args[3], to=to, **properties)]
        ops += [DequantizeOp.make(ops[-1], args[2], args[3], **properties)]
        inputs += [x, scale, wide, zero]
        results += [expected, again]
    finish(module, block, *ops)
    found = inarch.compile(module)(*inputs)
    for one, expected in zip(found, results, strict=True):
        np.testing.assert_array_equal(one, expected)


def program(*arrays: Array) -> tuple[ModuleOp, Block]:
    """A function of arguments like `arrays`, without a body as yet."""
    types = [tensor(mlir_type(from_numpy(a.dtype.name)), a.shape) for a in arrays]
    block = Block(arg_types=types)
    return ModuleOp([]), block


def finish(module: ModuleOp, block: Block, *ops: Any) -> None:
    """Ends the function `main`, which returns the results of `ops`."""
    results = [op.results[0] for op in ops]
    block.add_ops([*(op for op in ops if op.parent is None), ReturnOp(*results)])
    types = [arg.type for arg in block.args], [value.type for value in results]
    module.body.block.add_op(FuncOp("main", types, Region(block)))


def test_without_a_zero_point_it_is_0() -> None:
    x = np.array([-3.5, 1.5, 1000], np.float32)
    scale = np.array(1, np.float32)
    op = QuantizeOp.make(*values(x, scale), to=mlir_type("ui8"))
    np.testing.assert_array_equal(op.reference(x, scale), np.array([0, 2, 255], np.uint8))
    q = np.array([-128, 127], np.int8)
    back = DequantizeOp.make(*values(q, scale))
    np.testing.assert_array_equal(back.reference(q, scale), np.array([-128, 127], np.float32))


def test_weights_are_one_constant_again_when_nobody_took_them() -> None:
    """What the host gets is the product with one constant: no arithmetic on weights is left."""
    context = new_context()
    store = store_of(context)
    q = np.arange(-60, 60, dtype=np.int8).reshape(12, 10)
    scale, zero = np.linspace(0.1, 1, 10, dtype=np.float32), np.arange(10, dtype=np.int8)
    x = np.eye(12, dtype=np.float32)
    module, block = program(x)
    constants = [
        ConstantOp.make(value=constant_attribute(a, store, n))
        for n, a in (("q", q), ("s", scale), ("z", zero))
    ]
    w = DequantizeOp.make(*constants, axis=-1)
    product = MatmulOp.make(block.args[0], w)
    block.add_ops([*constants, w])
    finish(module, block, product)
    kept = module.clone()
    for name in ("fold-constants", "simplify-graph", "fold-batch-norm"):
        PASSES[name]().apply(context, kept)
    assert any(isinstance(op, DequantizeOp) for op in kept.walk())
    PASSES["decompose-quantized"]().apply(context, module)
    names = [op.name for op in module.walk() if op.name.startswith("graph.")]
    assert names == ["graph.constant", "graph.matmul"]
    (found,) = execute(module, [x], context)
    np.testing.assert_array_equal(found, (q.astype(np.int32) - zero).astype(np.float32) * scale)
    (weights,) = (op for op in module.walk() if isinstance(op, ConstantOp))
    assert constant_array(weights.value, store).dtype == np.float32
