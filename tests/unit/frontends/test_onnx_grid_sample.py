"""GridSample in every mode, padding and alignment against ONNX's reference evaluator and onnxruntime.

Cubic at the border is by our own formula: ONNX's reference clamps points, onnxruntime and PyTorch neighbours.
"""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.testing import execute

Array = np.ndarray[Any, Any]

SETTINGS = list(
    product(("nearest", "linear", "cubic"), ("zeros", "border", "reflection"), (False, True))
)
SIZES = ((5,), (4, 5), (1, 3), (2, 3, 4))


def grid_sample(
    x: Array, grid: Array, mode: str, padding: str, *, corners: bool
) -> onnx.ModelProto:
    node = helper.make_node(
        "GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding, align_corners=corners
    )
    infos = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape)
        for name, array in (("x", x), ("g", grid))
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph([node], "g", infos, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def evaluate(model: onnx.ModelProto, x: Array, grid: Array) -> Array:
    context = new_context()
    (found,) = execute(import_onnx(model, context), [x, grid], context)
    return np.asarray(found)


def positions(sizes: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Points of two batches: inside, in the outer halves of elements, at edges, and far outside."""
    count = 2
    inside = rng.uniform(-1, 1, (2, count, len(sizes)))
    beyond = rng.uniform(-3.5, 3.5, (2, count, len(sizes)))
    edges = np.array([1 - 0.5 / size for size in sizes[::-1]])
    outer = rng.choice([-1, 1], inside.shape) * rng.uniform(edges, 1, inside.shape)
    special = rng.choice([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], inside.shape)
    points = np.concatenate([inside, beyond, outer, special], 1).astype(np.float32)
    return points.reshape(2, *(1,) * (len(sizes) - 1), 4 * count, len(sizes))


def cubic_at_the_border(x: Array, grid: Array, *, corners: bool) -> Array:
    """Keys' kernel over four neighbours in each dimension, each clamped, in float64."""

    def kernel(distance: Array) -> Array:
        d, a = np.abs(distance), -0.75
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        return np.where(d <= 1, near, a * (((d - 5) * d + 8) * d - 4) * (d < 2))

    total = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for offsets in product((-1, 0, 1, 2), repeat=x.ndim - 2):
        index: list[Array] = []
        weight = np.ones(grid.shape[:-1])
        for d, (offset, size) in enumerate(zip(offsets, x.shape[2:], strict=True)):
            along = grid[..., -1 - d].astype(np.float64) + 1
            at = along / 2 * (size - 1) if corners else (along * size - 1) / 2
            weight *= kernel(at - np.floor(at) - offset)
            index.append(np.clip(np.floor(at) + offset, 0, size - 1).astype(int))
        for batch in range(len(x)):
            picked = x[batch][:, *(part[batch] for part in index)]
            total[batch] += picked * weight[batch]
    return total


@pytest.mark.sampled(36, reason="each mode twice")
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize(("mode", "padding", "corners"), SETTINGS)
def test_as_the_reference(mode: str, padding: str, corners: bool, sizes: tuple[int, ...]) -> None:
    if padding == "reflection" and corners and 1 in sizes:
        return  # the reference divides by the distance of the borders, which is 0
    rng = np.random.default_rng(len(sizes))
    x = rng.standard_normal((2, 1, *sizes)).astype(np.float32)
    grid = positions(sizes, rng)
    model = grid_sample(x, grid, mode, padding, corners=corners)
    reference: Any = ReferenceEvaluator(model)
    expected: Any
    if is_ours := mode == "cubic" and padding == "border":
        expected = cubic_at_the_border(x, grid, corners=corners)
    else:
        (expected,) = reference.run(None, {"x": x, "g": grid})
    found = evaluate(model, x, grid)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5, err_msg=str(sizes))
    if len(sizes) == 1 or (mode == "cubic" and len(sizes) == 3):
        return  # onnxruntime has none
    session: Any = onnxruntime.InferenceSession(model.SerializeToString())
    theirs: Any
    (theirs,) = session.run(None, {"x": x, "g": grid})
    near: Any = np.abs(grid) < 1  # beyond it, they pad all coordinates where one is outside
    mask = np.broadcast_to(near.all(-1)[:, None] | is_ours, found.shape)
    np.testing.assert_allclose(found[mask], theirs[mask], rtol=0, atol=2e-5)


def test_wide_data_at_narrow_points() -> None:
    """ONNX lets them differ: positions are of the grid's dtype, results of the data's."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 2, 4, 5))
    grid = rng.uniform(-1, 1, (1, 2, 3, 2)).astype(np.float32)
    model = grid_sample(x, grid, "linear", "zeros", corners=True)
    narrow = evaluate(model, x.astype(np.float32), grid)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    found = evaluate(model, x, grid)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, narrow, rtol=1e-5, atol=1e-5)


def test_zeros_beyond_the_border_are_zeros_beside_infinity() -> None:
    """An outermost element is not multiplied by 0: infinity would become NaN."""
    x = np.array([[[[np.inf, 1.0], [2.0, 3.0]]]], np.float32)
    grid = np.array([[[[-3.0, 0.5], [-3.0, -3.0], [0.5, 3.0]]]], np.float32)
    for mode in ("nearest", "linear"):
        model = grid_sample(x, grid, mode, "zeros", corners=False)
        np.testing.assert_array_equal(evaluate(model, x, grid), np.zeros((1, 1, 1, 3)))


def test_one_element_is_reflected_onto_itself() -> None:
    x = np.array([[[7.0]]], np.float32)
    grid = np.array([[[-2.0], [0.0], [0.7]]], np.float32)
    for mode, corners in product(("nearest", "linear", "cubic"), (False, True)):
        model = grid_sample(x, grid, mode, "reflection", corners=corners)
        np.testing.assert_allclose(evaluate(model, x, grid), [[[7.0] * 3]], rtol=1e-6)
