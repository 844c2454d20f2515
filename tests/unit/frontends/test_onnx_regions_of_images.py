"""DeformConv and MaxRoiPool against onnxruntime, and DeformConv without offsets against Conv."""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import inarch
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.testing import execute

Array = np.ndarray[Any, Any]
KINDS = {"float32": "float", "float64": "double"}


def model(node: str, arrays: dict[str, Array]) -> onnx.ModelProto:
    inputs = ", ".join(
        f"{KINDS[array.dtype.name]}{list(array.shape)} {name}" for name, array in arrays.items()
    )
    head = '<ir_version: 10, opset_import: ["" : 21]>'
    kind = KINDS[next(iter(arrays.values())).dtype.name]
    return onnx.parser.parse_model(f"{head} g ({inputs}) => ({kind}[] y) {{ y = {node} }}")


def theirs(node: str, arrays: dict[str, Array]) -> Array:
    """In f32: they have no other."""
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    proto = model(node, arrays)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, arrays)[0])


def ours(node: str, arrays: dict[str, Array]) -> Array:
    context = new_context()
    proto = model(node, arrays)
    (found,) = execute(import_onnx(proto, context), list(arrays.values()), context)
    return np.asarray(found)


CASES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], int]] = {
    "plain": ("", (1, 3, 5, 6), (2, 3, 2, 3), 1),
    "padded": ("strides=[2,1], pads=[1,0,2,1], dilations=[1,2]", (2, 3, 6, 5), (4, 3, 3, 2), 1),
    "groups": ("group=2, offset_group=2, pads=[1,1,1,1]", (2, 4, 4, 5), (6, 2, 3, 3), 2),
    "groups of offsets": ("offset_group=4", (1, 4, 4, 4), (2, 4, 2, 2), 4),
}


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_deformable_convolutions(name: str, kind: str) -> None:
    """T21: offsets of some elements, off the image too; with a bias and a mask, and without."""
    attributes, x, w, parts = CASES[name]
    rng = np.random.default_rng(len(name))
    plain = f"Conv<{attributes.replace(f'offset_group={parts}', '').strip(', ')}>"
    arrays = {"x": rng.standard_normal(x), "w": rng.standard_normal(w)}
    arrays = {key: array.astype(kind) for key, array in arrays.items()}
    conv = theirs(f"{plain}(x, w)".replace("<>", "").replace(", ,", ","), arrays)
    taps, points = w[2] * w[3], conv.shape[2:]
    arrays["o"] = np.zeros((x[0], parts * taps * 2, *points), kind)
    node = f"DeformConv<{attributes}>(x, w, o)".replace("<>", "")
    np.testing.assert_allclose(ours(node, arrays), conv, rtol=1e-4, atol=1e-4)
    arrays["o"] = (rng.standard_normal(arrays["o"].shape) * 2).astype(kind)
    np.testing.assert_allclose(ours(node, arrays), theirs(node, arrays), rtol=1e-4, atol=1e-4)
    arrays["b"] = rng.standard_normal(w[0]).astype(kind)
    arrays["m"] = rng.standard_normal((x[0], parts * taps, *points)).astype(kind)
    node = node.replace(", o)", ", o, b, m)")
    expected = theirs(node, arrays)
    np.testing.assert_allclose(ours(node, arrays), expected, rtol=1e-4, atol=1e-4)
    if name == "groups":
        found = inarch.compile(model(node, arrays))(*arrays.values())
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_deformable_convolution_in_space_and_along_a_line() -> None:
    """Onnxruntime has neither: whole offsets move an image as a slice does."""
    for rank in (1, 3):
        rng = np.random.default_rng(rank)
        image = rng.standard_normal((1, 2, *(6,) * rank)).astype(np.float32)
        weights = rng.standard_normal((3, 2, *(2,) * rank)).astype(np.float32)
        shape = (1, 2**rank * rank, *(4,) * rank)
        moved = image[(..., *(slice(1, None),) * rank)]
        conv = theirs("Conv(x, w)", {"x": moved, "w": weights})
        arrays = {"x": image, "w": weights, "o": np.ones((*shape[:2], *(5,) * rank), np.float32)}
        found = ours("DeformConv(x, w, o)", arrays)
        inner = found[(..., *(slice(0, 4),) * rank)]
        np.testing.assert_allclose(inner, conv, rtol=1e-4, atol=1e-4)


def test_regions_are_pooled() -> None:
    """T21: inside, over the edges, off the image, backwards, on halves; of several images."""
    rng = np.random.default_rng(0)
    spread = np.concatenate([rng.uniform(-6, 14, (12, 4)), rng.uniform(0, 7, (12, 4))])
    halves = np.round(rng.uniform(-4, 12, (12, 4))) + 0.5
    whole = np.array([[0, 0, 7, 5], [0, 0, 0, 0], [30, 30, 40, 40], [5, 4, 2, 1]])
    boxes = np.concatenate([spread, halves, whole])
    for images, scale, cells in ((3, 1.0, "2,3"), (1, 0.5, "1,4")):
        which = rng.integers(0, images, (len(boxes), 1))
        arrays = {
            "x": rng.standard_normal((images, 2, 6, 8)).astype(np.float32),
            "r": np.concatenate([which, boxes], 1).astype(np.float32),
        }
        node = f"MaxRoiPool<pooled_shape=[{cells}], spatial_scale={scale}>(x, r)"
        expected = theirs(node, arrays)
        assert (expected == 0).any()
        np.testing.assert_array_equal(ours(node, arrays), expected)
    found = inarch.compile(model(node, arrays))(*arrays.values())
    np.testing.assert_array_equal(found, expected)


def test_what_does_not_fit() -> None:
    x, w = np.zeros((1, 4, 3, 3), np.float32), np.zeros((2, 2, 2, 2), np.float32)
    arrays = {"x": x, "w": w, "o": np.zeros((1, 8, 3, 2), np.float32)}
    for node, given, words in (
        ("DeformConv(x, w, o)", arrays, "expected 2 channels for each of 1 groups"),
        ("DeformConv<group=2>(x, w, o)", arrays, r"expected offsets of shape \(1, 8, 2, 2\)"),
        ("DeformConv<group=2, strides=[0,1]>(x, w, o)", arrays, "expected strides and dilations >= 1"),
        ("MaxRoiPool<pooled_shape=[0,1]>(x, r)", {"x": x, "r": np.zeros((1, 5), np.float32)},
         "a pooled_shape of two sizes >= 1"),
    ):  # fmt: skip
        with pytest.raises(InarchError, match=words):
            import_onnx(model(node, given), new_context())
