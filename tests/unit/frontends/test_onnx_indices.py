"""Ids: inputs and constants outside of what they are of are errors; computed ones touch nothing outside."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import inarch
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.ir.functions import functions, index_ranges
from inarch.testing import execute, random_inputs
from inarch.testing.sanitize import caller, report, sanitized

Array = np.ndarray[Any, Any]


def parse(nodes: str, inputs: str, outputs: str, opset: int = 18) -> onnx.ModelProto:
    """Shapes of outputs are left to the importer."""
    head = f'<ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1, "ai.onnx.ml" : 3]>'
    model = onnx.parser.parse_model(f"{head} g ({inputs}) => ({outputs}) {{ {nodes} }}")
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


def given(model: onnx.ModelProto, **arrays: Any) -> onnx.ModelProto:
    """The model with these initializers."""
    for name, array in arrays.items():
        model.graph.initializer.append(numpy_helper.from_array(np.array(array), name))
    return model


def test_indices_outside_are_errors_of_the_call() -> None:
    """ONNX's Gather: from -s to s - 1, of the least table that takes the input; at every door."""
    nodes = (
        "y = Gather(w, ids) k32 = Reshape(k, one) z = Gather<axis=1>(v, k32) "
        "u = Gather<axis=1>(v, k) s = Neg(ids)"
    )
    outputs = "float[4,3] y, float[3,2] z, float[3,2] u, int64[4] s"
    model = parse(nodes, "int64[4] ids, int32[2] k", outputs)
    for name, value in {
        "w": np.arange(30, dtype=np.float32).reshape(10, 3),
        "v": np.arange(15, dtype=np.float32).reshape(3, 5),
        "one": np.array([2], np.int64),
    }.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    module = inarch.compile(model)
    good, k = np.array([0, 9, -1, -10]), np.array([4, -5], np.int32)
    for _ in range(3):  # by Python, then compiled
        np.testing.assert_array_equal(module(good, k)[0][:, 0], [0, 27, 27, 0])
    bound = module.bind(good, k)
    for ids, ks, message in (
        (
            [0, 1, 10, 2],
            k,
            "argument 0 (ids): expected indices from -10 to 9, found 10 at element 2",
        ),
        (
            [0, -11, 1, 2],
            k,
            "argument 0 (ids): expected indices from -10 to 9, found -11 at element 1",
        ),
        (good, [0, 5], "argument 1 (k): expected indices from -5 to 4, found 5 at element 1"),
        (
            good,
            [-(2**31), 0],
            "argument 1 (k): expected indices from -5 to 4, found -2147483648 at element 0",
        ),
    ):
        given = np.array(ids), np.array(ks, np.int32)
        with pytest.raises(InarchError) as caught:
            module(*given)
        assert str(caught.value) == f"main: {message}"
        with pytest.raises(InarchError) as caught:
            module.bind(*given)()
        assert str(caught.value) == f"main: {message}"
    good[0] = 99  # bound memory is looked at in each call
    with pytest.raises(InarchError, match="found 99 at element 0"):
        bound()
    np.testing.assert_array_equal(module(np.array([1, 2, 3, 4]), k)[3], [-1, -2, -3, -4])


def test_indices_of_all_that_gathers_and_scatters_are_checked() -> None:
    """By dimension, where a row of indices names a place in several; of all uses the least."""
    nodes = (
        "a = GatherElements<axis=1>(x, e) b = ScatterElements<axis=1>(x, t, u) c = GatherND(x, n) "
        "d = ScatterND(x, m, w) f = Gather(w, m) g = GatherND<batch_dims=1>(x, o)"
    )
    inputs = (
        "float[3,5] x, int64[2,4] e, int32[3,1] t, int64[2,2] n, int64[2,2] m, int64[3,1] o, "
        "float[3,1] u, float[2] w"
    )
    outputs = ", ".join(f"float[] {name}" for name in "abcdfg")
    model = parse(nodes.replace("(x, t, u)", "(x, t64, u)"), inputs, outputs)
    model.graph.node.insert(0, helper.make_node("Cast", ["t"], ["t64"], to=TensorProto.INT64))
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    module = inarch.compile(model)
    rng = np.random.default_rng(0)
    shapes = {"x": (3, 5), "u": (3, 1), "w": (2,)}
    good: dict[str, Array] = {
        "x": rng.random((3, 5), np.float32),
        "e": np.array([[0, 4, -5, -1]] * 2),
        "t": np.array([[4], [0], [-5]], np.int32),
        "n": np.array([[2, 4], [-3, -5]]),
        "m": np.array([[1, 1], [-2, -2]]),
        "o": np.array([[4], [-5], [0]]),
        **{name: rng.random(shapes[name], np.float32) for name in "uw"},
    }
    names = list(good)
    found = module(*good.values())
    np.testing.assert_array_equal(found[2], [good["x"][2, 4], good["x"][0, 0]])
    for name, place, value, least, most in (
        ("e", 5, 5, -5, 4),
        ("t", 1, -6, -5, 4),
        ("n", 2, 3, -3, 2),
        ("n", 3, -6, -5, 4),
        ("m", 3, 2, -2, 1),
        ("o", 2, 7, -5, 4),
    ):
        bad = {key: array.copy() for key, array in good.items()}
        bad[name].flat[place] = value
        with pytest.raises(InarchError) as caught:
            module(*bad.values())
        assert str(caught.value) == (
            f"main: argument {names.index(name)} ({name}): expected indices from {least} to {most}, "
            f"found {value} at element {place}"
        )


# ------------------------------------------------------------------------------------ constants

X = "float[4,3] x"
ROWS = "float[1,2,8] x, float[4,4] c, float[4,4] s"
BAD = {
    "Gather": (X, "y = Gather<axis=1>(x, i)", [[0, 2], [-3, 3]], "-3 to 2, found 3 at element 3"),
    "GatherElements": (X, "y = GatherElements(x, i)", [[0, 3, -5]], "-4 to 3, found -5 at element 2"),
    "GatherND": (X, "y = GatherND(x, i)", [[3, 2], [3, 3]], "-3 to 2, found 3 at element 3"),
    "ScatterElements": (
        f"{X}, float[1,3] u", "y = ScatterElements(x, i, u)", [[0, 4, 0]], "-4 to 3, found 4 at element 1"),
    "ScatterND": (
        f"{X}, float[1,3] u", "y = ScatterND(x, i, u)", [[-(2**63)]],
        f"-4 to 3, found {-(2**63)} at element 0"),
    "ReverseSequence": (X, "y = ReverseSequence(x, i)", [4, 0, 5], "0 to 4, found 5 at element 2"),
    "MaxUnpool": (
        "float[1,1,1,2] x", "y = MaxUnpool<kernel_shape=[2,2],strides=[2,2]>(x, i)", [[[[0, -1]]]],
        "0 to 7, found -1 at element 1"),
    "RoiAlign": (
        "float[2,1,4,4] x, float[1,4] u", "y = RoiAlign<sampling_ratio=1>(x, u, i)", [2],
        "0 to 1, found 2 at element 0"),
    "ArrayFeatureExtractor": (
        X, "y = ai.onnx.ml.ArrayFeatureExtractor(x, i)", [2, -1], "0 to 2, found -1 at element 1"),
    "RotaryEmbedding": (
        ROWS, "y = com.microsoft.RotaryEmbedding(x, i, c, s)", [[0, 4]], "0 to 3, found 4 at element 1"),
    "offset of RotaryEmbedding": (
        ROWS, "y = com.microsoft.RotaryEmbedding(x, i, c, s)", [3], "0 to 2, found 3 at element 0"),
    "NegativeLogLikelihoodLoss": (
        "float[2,3] x", "y = NegativeLogLikelihoodLoss(x, i)", [2, 3], "-3 to 2, found 3 at element 1"),
}  # fmt: skip
"""Inputs, the node, constant indices, and what is said of them."""


@pytest.mark.every_case(reason="each operator that takes indices; nothing is compiled")
@pytest.mark.parametrize("name", BAD)
def test_constants_outside_are_errors_of_the_model(name: str) -> None:
    """Where onnxruntime has an error in the first call."""
    inputs, node, indices, said = BAD[name]
    with pytest.raises(InarchError) as caught:
        import_onnx(given(parse(node, inputs, "float[] y"), i=indices), new_context())
    line = caught.value.line()
    assert line.startswith("<model>: node 'y")
    assert line.endswith(f"expected indices from {said} of a constant; correct it in the model")


def test_a_constant_is_found_behind_what_moves_it() -> None:
    """Of more elements than the importer evaluates."""
    node = "j = Cast<to=7>(i) k = Transpose(j) l = Concat<axis=0>(k, m) y = Gather(x, l)"
    indices = np.zeros((2, 3000), np.int32)
    indices[1, 7] = 4
    model = parse(node, f"{X}, int64[1,2] m", "float[] y")
    with pytest.raises(InarchError, match="found 4 at element 3007 of a constant"):
        import_onnx(given(model, i=indices), new_context())


def test_what_may_never_run_is_not_refused() -> None:
    """As onnxruntime, which looks at indices when a node runs."""
    nodes = (
        "y = If (c) <then_branch = t () => (float[2,3] a) { a = Gather(x, i) }, "
        "else_branch = e () => (float[2,3] b) { d = GatherElements(x, j) b = Neg(d) }>"
    )
    model = given(parse(nodes, f"{X}, bool c, int64[2,3] j", "float[] y"), i=[0, 9])
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    feeds: Mapping[str, Array] = {"x": x, "c": np.array(True), "j": np.full((2, 3), 99)}
    (found,) = inarch.compile(model).run(feeds).values()
    np.testing.assert_array_equal(found, x[[0, 3]])


# ------------------------------------------------------------------------------------ computed

FAR = [0, 3, -4, 4, -5, 10**6, -(10**6), 2**31, -(2**31) - 1, 2**62, 2**63 - 1, -(2**63)]
"""Inside first, of a size of 4."""


def computed() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Operators whose indices the model computes: `Mod` and `Cast` keep `FAR` what it is."""
    nodes = (
        "z = Add(i, o) r = Reshape(z, rows) p = Reshape(z, pairs) q = Reshape(z, places) "
        "a = Gather(x, z) b = GatherElements(x, r) c = GatherND(x, p) d = ScatterElements(x, r, u) "
        'e = ScatterND<reduction="add">(x, p, v) f = MaxUnpool<kernel_shape=[2,2],strides=[2,2]>(w, q) '
        "g = RoiAlign<sampling_ratio=1>(m, n, z) h = ReverseSequence(t, z) "
        "j = Cast<to=6>(z) k = Gather<axis=1>(x, j) l = ai.onnx.ml.ArrayFeatureExtractor(x, z)"
    )
    count = len(FAR)
    inputs = (
        f"int64[{count}] i, int64 o, {X}, float[4,3] u, float[6] v, float[1,1,3,4] w, "
        f"float[4,1,2,2] m, float[{count},4] n, float[3,{count}] t"
    )
    model = parse(nodes, inputs, ", ".join(f"float[] {name}" for name in "abcdefghkl"))
    given(model, rows=[4, 3], pairs=[6, 2], places=[1, 1, 3, 4])
    rng = np.random.default_rng(0)
    shapes = {"x": (4, 3), "u": (4, 3), "v": (6,), "w": (1, 1, 3, 4), "m": (4, 1, 2, 2)}
    shapes |= {"n": (count, 4), "t": (3, count)}
    floats = {name: rng.random(shape, np.float32) for name, shape in shapes.items()}
    return model, {"i": np.array(FAR), "o": np.array(0), **floats}


def test_computed_ones_outside_read_the_nearest_and_update_none() -> None:
    """ONNX leaves it undefined. Compiled, what definitions say; those inside are right."""
    model, feeds = computed()
    context = new_context()
    defined = execute(import_onnx(model, context), list(feeds.values()), context)
    found = inarch.compile(model).run(feeds)
    for array, wanted in zip(found.values(), defined, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-6, strict=True)
    x = feeds["x"]
    np.testing.assert_array_equal(found["a"], x[[0, 3, 0, 3, 0, 3, 0, 3, 0, 3, 3, 0]])
    np.testing.assert_array_equal(found["l"], x[:, [0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 2, 0]])


def test_computed_ones_touch_nothing_outside_of_a_buffer(tmp_path: Path) -> None:
    """By the sanitizers; nor is anything computed that C leaves undefined."""
    try:
        executable = caller(tmp_path)
    except EnvironmentFault as error:
        pytest.skip(error.line())
    model, feeds = computed()
    context = new_context()
    made = sanitized(context, import_onnx(model, context), tmp_path / "ids.so", "native")
    assert report(executable, made, "main", list(feeds.values())) == ""


def test_inputs_are_found_behind_what_moves_them() -> None:
    """And lengths of sequences, which onnxruntime checks, too; of an input of two uses what both allow."""
    nodes = (
        "j = Transpose(i) k = Concat<axis=0>(j, m) a = Gather(x, k) b = Gather<axis=1>(x, m) "
        "c = GRU<hidden_size=2>(s, w, r, , n) d = GatherND(x, m) e = Slice(h, zero, one) f = Gather(x, e) "
        "p = Cast<to=6>(o) g = Gather(x, p)"
    )
    inputs = (
        f"{X}, int64[2] o, int64[2,3] i, int64[1,2] m, float[3,1,2] s, float[1,6,2] w, float[1,6,2] r, "
        "int32[1] n, int64[9] h"
    )
    model = parse(nodes, inputs, ", ".join(f"float[] {name}" for name in "abcdfg"))
    given(model, zero=[0], one=[1])
    main = functions(import_onnx(model, new_context()))[0]
    found = {each.name_hint: index_ranges(main, each.index) for each in main.body.block.args}
    assert {name: ranges for name, ranges in found.items() if ranges} == {
        "i": [(-4, 3)],
        "m": [(-3, 2)],
        "n": [(0, 3)],
        "o": [(-4, 3)],
    }


def test_random_inputs_are_inside() -> None:
    """Else `inarch verify` would refuse its own."""
    nodes = "a = ScatterND(x, n, u) b = ReverseSequence(x, r) c = GatherElements(x, e)"
    inputs = f"{X}, int64[40,2] n, float[40] u, int64[3] r, int64[40,3] e"
    model = parse(nodes, inputs, "float[] a, float[] b, float[] c")
    for seed in range(3):
        inarch.compile(model)(*random_inputs(import_onnx(model, new_context()), seed))
