"""Results of computed size: NonZero, Compress, Unique and NonMaxSuppression, and what passes them on."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import inarch
from inarch.artifact.manifest import parse
from inarch.core.errors import InarchError, UnsupportedError
from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.tools.cli import run

Array = np.ndarray[Any, Any]


def model(nodes: str, inputs: str, outputs: str) -> onnx.ModelProto:
    text = f'<ir_version: 8, opset_import: ["" : 17]> m ({inputs}) => ({outputs}) {{ {nodes} }}'
    return onnx.parser.parse_model(text)


def agree(made: onnx.ModelProto, module: inarch.Module, inputs: dict[str, Array]) -> None:
    """Called in each way, it gives what the evaluator of ONNX does."""
    wanted: list[Array] = ReferenceEvaluator(made).run(None, inputs)  # pyright: ignore[reportAssignmentType]
    found: Any = module(**inputs)
    several = cast("tuple[Array, ...]", found if isinstance(found, tuple) else (found,))
    for results in (several, module.run(inputs).values()):
        for one, other in zip(results, wanted, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            assert one.flags.c_contiguous
            np.testing.assert_array_equal(one, other)


SPARSE = "float[3,4] x"
MANY = "int64[a,n] y"
CASES: dict[str, tuple[str, str, str]] = {
    "non-zero": ("y = NonZero(x)", SPARSE, MANY),
    "non-zero of bools": ("b = Greater(x, x) c = Not(b) y = NonZero(c)", SPARSE, MANY),
    "compress": ("y = Compress(x, c)", f"{SPARSE}, bool[9] c", "float[n] y"),
    "compress along an axis": (
        "y = Compress<axis=-1>(x, c)",
        f"{SPARSE}, bool[3] c",
        "float[3,n] y",
    ),
    "unique": ("y, f, i, k = Unique(x)", SPARSE, "float[n] y, int64[n] f, int64[m] i, int64[n] k"),
    "unique columns": (
        "y, f, i, k = Unique<axis=1>(x)",
        SPARSE,
        "float[3,n] y, int64[n] f, int64[m] i, int64[n] k",
    ),
    "transposed": ("z = NonZero(x) y = Transpose(z)", SPARSE, "int64[n,a] y"),
    "the elements at the places": (
        "z = NonZero(x) t = Transpose(z) y = GatherND(x, t)",
        SPARSE,
        "float[n] y",
    ),
    "rows at the places": (
        "r = ReduceMax<axes=[1], keepdims=0>(x) z = NonZero(r) one = Constant<value_ints=[0]>() "
        "s = Squeeze(z, one) y = Gather(x, s)",
        SPARSE,
        "float[n,4] y",
    ),
    "elementwise": (
        "z = NonZero(x) f = Cast<to=1>(z) two = Constant<value_floats=[2.0]>() m = Mul(f, two) "
        "a = Add(m, f) y = Neg(a)",
        SPARSE,
        "float[a,n] y",
    ),
    "elementwise of several": (
        "z = NonZero(x) f = Cast<to=1>(z) s = Sum(f, f, f) y = Mean(s, f)",
        SPARSE,
        "float[a,n] y",
    ),
    "beside a scalar": (
        "y = NonZero(x) s = ReduceSum<keepdims=0>(x)",
        SPARSE,
        "int64[a,n] y, float s",
    ),
    "like another dtype": ("z = NonZero(x) y = CastLike(z, x)", SPARSE, "float[a,n] y"),
    "a row of them, twice": (
        "z = NonZero(x) zero = Constant<value_ints=[0]>() one = Constant<value_ints=[1]>() "
        "r = Slice(z, zero, one, zero) u = Unsqueeze(r, zero) y = Concat<axis=1>(u, u)",
        SPARSE,
        "int64[1,2,n] y",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_as_onnx_says(name: str) -> None:
    """For several numbers of what counts, none and all among them, by one module."""
    made = model(*CASES[name])
    module, rng = inarch.compile(made), np.random.default_rng(3)
    for most in (0, 1, 3, 3):
        inputs: dict[str, Array] = {"x": rng.integers(-most, most + 1, (3, 4)).astype(np.float32)}
        if (mask := next((i for i in made.graph.input if i.name == "c"), None)) is not None:
            size = mask.type.tensor_type.shape.dim[0].dim_value
            inputs["c"] = rng.integers(0, 2, size).astype(bool) if most else np.ones(size, bool)
        agree(made, module, inputs)
    agree(
        made,
        module,
        {k: v | True if v.dtype == bool else np.ones_like(v) for k, v in inputs.items()},
    )


def test_unique_as_they_come() -> None:
    """The evaluator cannot do it (onnx 1.23): by NumPy."""
    outputs = "float[n] y, int64[n] f, int64[m] i, int64[n] k"
    module = inarch.compile(model("y, f, i, k = Unique<sorted=0>(x)", SPARSE, outputs))
    for seed in range(5):
        x = np.random.default_rng(seed).integers(-2, 4, (3, 4)).astype(np.float32)
        y, first, inverse, counts = np.unique(
            x.reshape(-1), return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)
        wanted = [y[order], first[order], np.argsort(order)[inverse], counts[order]]
        for one, other in zip(module(x), wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_nothing_is_there() -> None:
    made = model("y = NonZero(x)", "float[0,4] x", MANY)
    agree(made, inarch.compile(made), {"x": np.zeros((0, 4), np.float32)})


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_non_max_suppression(center: int, seed: int) -> None:
    """Boxes that overlap, flipped ones and equal scores among them; several numbers of what is selected."""
    made = model(
        f"most = Constant<value_ints=[4]>() y = NonMaxSuppression<center_point_box={center}>"
        "(boxes, scores, most, iou, least)",
        "float[2,7,4] boxes, float[2,3,7] scores, float[1] iou, float[1] least",
        "int64[n,3] y",
    )
    module, rng = inarch.compile(made), np.random.default_rng(seed)
    boxes = rng.random((2, 7, 4), np.float32)
    scores = (rng.integers(0, 9, (2, 3, 7)) / 8).astype(np.float32)
    for iou, least in ((0.3, 0.2), (0.0, 0.5), (0.9, 2.0), (0.6, 0.0)):
        limits = {"iou": np.array([iou], np.float32), "least": np.array([least], np.float32)}
        agree(made, module, {"boxes": boxes, "scores": scores, **limits})


def test_a_score_that_is_nan_ends_no_other_class() -> None:
    made = model(
        "most = Constant<value_ints=[3]>() y = NonMaxSuppression(boxes, scores, most)",
        "float[1,3,4] boxes, float[1,2,3] scores",
        "int64[n,3] y",
    )
    boxes = np.arange(12, dtype=np.float32).reshape(1, 3, 4)
    scores = np.array([[[np.nan, 1, 2], [3, 1, 2]]], np.float32)
    wanted = [[0, 0, 2], [0, 0, 1], [0, 1, 0], [0, 1, 2], [0, 1, 1]]
    np.testing.assert_array_equal(inarch.compile(made)(boxes, scores), wanted)


def test_unique_has_one_nan() -> None:
    outputs = "float[n] y, int64[n] f, int64[m] i, int64[n] k"
    made = model("y, f, i, k = Unique(x)", SPARSE, outputs)
    x = np.array([[np.nan, 1, 0, np.nan], [1, -np.inf, np.nan, 2], [0, 0, 3, np.inf]], np.float32)
    agree(made, inarch.compile(made), {"x": x})


def test_no_box_is_asked_for() -> None:
    made = model(
        "y = NonMaxSuppression(boxes, scores)",
        "float[1,3,4] boxes, float[1,1,3] scores",
        "int64[n,3] y",
    )
    module = inarch.compile(made)
    assert module(np.ones((1, 3, 4), np.float32), np.ones((1, 1, 3), np.float32)).shape == (0, 3)


def test_interface(tmp_path: Path) -> None:
    """`out` has room for the most; artifacts, commands and modules of open sizes give what counts as well."""
    made = model("y = NonZero(x) z = Neg(x)", "float[4] x", "int64[1,n] y, float[4] z")
    module = inarch.compile(made)
    assert str(module.outputs) == "(<y: i64[1, <=4]>, <z: f32[4]>)"
    assert [port.name for port in module.signature.outputs] == ["y", "z", "y.size1"]
    x = np.array([0, 1, 0, 2], np.float32)
    room, other = np.full((1, 4), 9), np.empty(4, np.float32)
    for results in (module(x, room, other), module(x, out=(room, other))):
        np.testing.assert_array_equal(results[0], [[1, 3]])
        assert np.shares_memory(results[0], room)
        np.testing.assert_array_equal(other, -x)
    with pytest.raises(
        UnsupportedError,
        match=r"^main: output 'y': expected an output of a known size to bind, found y: i64\[1, <=4\]; call "
        "the function$",
    ):
        module.bind(x)
    with pytest.raises(
        inarch.ArgumentError, match=r"^main: expected 2 arrays in out \(y: i64\[1, <=4\], z"
    ):
        module(x, out=room)
    module.save(tmp_path / "m.inarch")
    np.testing.assert_array_equal(inarch.load(tmp_path / "m.inarch")(x)[0], [[1, 3]])
    np.testing.assert_array_equal(module.with_threads(2)(x)[0], [[1, 3]])
    onnx.save(made, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", x)
    said = run(
        [
            "run",
            f"{tmp_path}/m.inarch",
            "--input",
            f"x={tmp_path}/x.npy",
            "--check",
            f"{tmp_path}/m.onnx",
        ]
    )
    assert (said.code, said.err) == (0, "")
    assert "y: int64[1, 2] [1, 3]" in said.out
    opened = model("y = NonZero(x)", "float[s] x", MANY)
    module = inarch.compile(opened)
    for size in (3, 5):
        agree(opened, module, {"x": np.arange(size, dtype=np.float32)})


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ("s = Shape(z) y = Cast<to=7>(s)", "Shape: an input of computed size ('s')"),
        (
            "k = ReduceMax(x) v = NonZero(k) y = Squeeze(v)",
            "Squeeze: an axis of computed size that may be squeezed ('y')",
        ),
        ("y = ReduceSum(z)", "ReduceSum: an input of computed size ('y')"),
        ("y = Gather<axis=1>(z, i)", "Gather: indices along an axis of computed size ('y')"),
        ("v = NonZero(i) y = Add(z, v)", "Add: inputs of several computed sizes ('y')"),
        ("y = Add(z, w)", "Add: inputs of which one has a computed size ('y')"),
        ("y = Concat<axis=1>(z, z)", "Concat: inputs of several computed sizes ('y')"),
        (
            "t = Constant<value_int=2>() y = If(b) <then_branch = one () => (int64[a,n] p) "
            "{ p = Neg(z) }, else_branch = two () => (int64[a,n] q) { q = Abs(z) }>",
            "If: a value of computed size from a body ('y')",
        ),
    ],
)
def test_what_needs_the_size_is_refused(nodes: str, why: str) -> None:
    made = model(f"z = NonZero(x) {nodes}", "float[3,4] x, int64[2] i, int64[2,12] w, bool b", MANY)
    with pytest.raises(UnsupportedError) as caught:
        import_onnx(made, new_context())
    assert caught.value.message == f"unsupported: {why}"


def test_a_manifest_of_wrong_sizes(tmp_path: Path) -> None:
    inarch.compile(model("y = NonZero(x)", "float[4] x", MANY)).save(tmp_path / "m.inarch")
    from inarch.artifact import Artifact

    with Artifact.open(tmp_path / "m.inarch") as artifact:
        text = json.dumps(artifact.manifest.data)
    for wrong in ("[[2, 1]]", "[[1, 2]]", "[[1, 0]]"):
        data = json.loads(text.replace("[[1, 1]]", wrong))
        with pytest.raises(
            InarchError, match="expected axes, each with an output that is an i64 of shape"
        ):
            parse(data, "m")
    with pytest.raises(InarchError, match=r"computed\[0\]: expected 2 values, found \[1\]"):
        parse(json.loads(text.replace("[[1, 1]]", "[[1]]")), "m")
