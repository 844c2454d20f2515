"""If, Loop and Scan against onnxruntime, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
import pytest
from xdsl.dialects import scf

import inarch
from inarch.core.errors import InarchError, UnsupportedError
from inarch.dialects import new_context
from inarch.dialects.graph.regions.scan import ScanOp
from inarch.dialects.loop.control import CallOp
from inarch.frontends.onnx import import_onnx
from inarch.frontends.onnx.regions import loop as _loop
from inarch.ir.verify import verify_module
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import run_pipeline
from inarch.testing import execute

Array = np.ndarray[Any, Any]

BRANCHES = (
    "<then_branch = t () => (float[3] a) { a = Neg(x) }, "
    "else_branch = e () => (float[3] b) { s = Constant<value=float {2.0}>() b = Mul(x, s) }>"
)
TURN = (
    "body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t, float[3] o) "
    "{ f = Cast<to=1>(i) g = Add(x, f) t = Add(s, g) o = Neg(t) d = Identity(c) }"
)
STEP = (
    "body = b (float[2] s, float[2] e) => (float[2] t, float[2] o) { t = Add(s, e) o = Mul(t, t) }"
)

CASES = {
    # name: inputs, nodes that make y
    "If at run time": ("float[3] x, bool c", f"y = If (c) {BRANCHES}"),
    "If of a known condition": (
        "float[3] x",
        f"n = Size(x) m = Constant<value=int64 {{3}}>() c = Less(n, m) y = If (c) {BRANCHES}",
    ),
    "If whose other branch does not fit": (
        "float[3] x",
        "n = Size(x) c = Cast<to=9>(n) y = If (c) <then_branch = t () => (float[3] a) { a = Neg(x) }, "
        "else_branch = e () => (float b) { q = Constant<value_ints=[7]>() b = Reshape(x, q) }>",
    ),
    "Loop": (
        "float[3] x, float[3] z",
        f"m = Constant<value=int64 {{4}}>() w, y = Loop<{TURN}>(m, , z)",
    ),
    "Loop, its last state": (
        "float[3] x, float[3] z",
        "m = Constant<value=int64 {4}>() k = Constant<value_int=1>() c = Cast<to=9>(k) "
        f"y, w = Loop<{TURN}>(m, c, z)",
    ),
    "Loop that does not count": (
        "float[3] x",
        "m = Constant<value=int64 {4}>() w, y = Loop<"
        "body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t, float[3] o) "
        "{ d = Identity(c) t = Tanh(s) o = Add(t, x) }>(m, , x)",
    ),
    "Loop whose iterations take other slices": (
        "float[3] x",
        "m = Constant<value=int64 {3}>() w, y = Loop<"
        "body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t, float[1] o) "
        "{ d = Identity(c) n = Constant<value_ints=[1]>() k = Reshape(i, n) l = Add(k, n) "
        "o = Slice(s, k, l) t = Add(s, o) }>(m, , x)",
    ),
    "Loop that computes a shape": (
        "float[3] x",
        "m = Constant<value=int64 {3}>() z = Constant<value_ints=[1]>() s = Loop<"
        "body = b (int64 i, bool c, int64[1] s) => (bool d, int64[1] t) "
        "{ d = Identity(c) t = Add(s, s) }>(m, , z) k = Constant<value_ints=[3]>() "
        "n = Concat<axis=0>(s, k) y = Expand(x, n)",
    ),
    "Loop that ends at once": (
        "float[3] x",
        "m = Constant<value=int64 {3}>() y = Loop<"
        "body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t) "
        "{ k = Constant<value_int=0>() d = Cast<to=9>(k) t = Add(s, x) }>(m, , x)",
    ),
    "Loop until a condition": (
        "float[3] x",
        "m = Constant<value=int64 {9}>() y = Loop<"
        "body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t) "
        "{ h = Constant<value=int64 {2}>() d = Less(i, h) t = Add(s, x) }>(m, , x)",
    ),
    "Loop of no iterations": (
        "float[3] x",
        "m = Constant<value=int64 {0}>() z = Loop<"
        "body = b (int64 i, bool c, float[3] s) => (bool c, float[3] t) "
        "{ t = Add(s, x) }>(m, , x) y = Neg(z)",
    ),
    "Scan": ("float[2] z, float[4,2] x", f"w, y = Scan<num_scan_inputs=1, {STEP}>(z, x)"),
    "Scan whose constant is used behind it, too": (
        "float[2] z, float[4,2] x",
        "k = Constant<value_float=3.0>() v, w = Scan<num_scan_inputs=1, "
        "body = b (float[2] s, float[2] e) => (float[2] t, float[2] o) "
        "{ f = Mul(e, k) t = Add(s, f) o = Sub(t, z) }>(z, x) y = Mul(w, k)",
    ),
    "Scan in a scan": (
        "float[2] z, float[4,3,2] x",
        "w, y = Scan<num_scan_inputs=1, body = b (float[2] s, float[3,2] e) => (float[2] t, float[3,2] o) "
        "{ t, o = Scan<num_scan_inputs=1, body = c (float[2] p, float[2] q) => (float[2] u, float[2] v) "
        "{ u = Add(p, q) v = Mul(u, z) }>(s, e) }>(z, x)",
    ),
    "If in a scan": (
        "float[3] x, bool c, float[4,3] e",
        f"w, y = Scan<num_scan_inputs=1, body = r (float[3] p, float[3] q) => (float[3] t, float[3] o) "
        f"{{ o = If (c) {BRANCHES} t = Add(p, o) }}>(x, e)",
    ),
    "If whose branches are values": (
        "float[3] x, float[3] z, bool c",
        "y = If (c) <then_branch = t () => (float[3] a) { a = Identity(x) }, "
        "else_branch = e () => (float[3] b) { b = Identity(z) }>",
    ),
    "Scan, its last state": (
        "float[2] z, float[4,2] x",
        f"y, w = Scan<num_scan_inputs=1, {STEP}>(z, x)",
    ),
    "Scan along other axes, backwards": (
        "float[2] z, float[2,4] x",
        "w, y = Scan<num_scan_inputs=1, scan_input_axes=[-1], scan_input_directions=[1], "
        f"scan_output_axes=[1], scan_output_directions=[1], {STEP}>(z, x)",
    ),
}


def parse(inputs: str, nodes: str) -> onnx.ModelProto:
    text = f'<ir_version: 8, opset_import: ["" : 16]> g ({inputs}) => (float[] y) {{ {nodes} }}'
    model = onnx.parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


@pytest.mark.every_case(reason="each is a form of its own")
@pytest.mark.parametrize("condition", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_as_onnxruntime(name: str, condition: bool) -> None:
    model = parse(*CASES[name])
    rng = np.random.default_rng(0)
    inputs: dict[str, Any] = {}
    for info in model.graph.input:
        shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        is_bool = info.name == "c"
        inputs[info.name] = (
            np.array(condition) if is_bool else rng.standard_normal(shape).astype("float32")
        )
    session: Any = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (expected,) = session.run(None, inputs)
    context = new_context()
    module = import_onnx(model, context)
    verify_module(module)
    (found,) = execute(module, list(inputs.values()), context)
    np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-6)


def test_a_loop_is_one_whatever_its_iterations() -> None:
    """Compiled, with the number of the iteration, which counts in 64 bits."""
    nodes = f"m = Constant<value=int64 {{5000}}>() w, y = Loop<{TURN}>(m, , z)"
    model = parse("float[3] x, float[3] z", nodes)
    (loop,) = [op for op in import_onnx(model, new_context()).walk() if isinstance(op, ScanOp)]
    assert loop.count == 5000
    x, z = np.zeros(3, np.float32), np.ones(3, np.float32)
    found = inarch.compile(model)(x, z)
    sums = 1 + np.cumsum(np.arange(5000, dtype=np.float32), dtype=np.float32)
    np.testing.assert_array_equal(found, -np.repeat(sums[:, None], 3, axis=1))


def test_scan_of_no_rows() -> None:
    """The states stay; onnxruntime refuses it."""
    model = parse(
        "float[2] z, float[4,2] x",
        "n = Constant<value_ints=[0]>() s = Slice(x, n, n) w = Scan<num_scan_inputs=1, "
        "body = b (float[2] s, float[2] e) => (float[2] t) { t = Add(s, e) }>(z, s) y = Neg(w)",
    )
    context = new_context()
    z, x = np.ones(2, np.float32), np.ones((4, 2), np.float32)
    (found,) = execute(import_onnx(model, context), [z, x], context)
    np.testing.assert_array_equal(found, -z)


@pytest.mark.parametrize("condition", [False, True])
def test_one_branch_runs(condition: bool) -> None:
    """Compiled, a branch is a branch of C: its work is called in it, that of the other one in the other."""
    model = parse("float[3] x, bool c", f"y = If (c) {BRANCHES}")
    x = np.array([1, 2, 3], np.float32)
    found = inarch.compile(model)(x, np.array(condition))
    np.testing.assert_array_equal(found, -x if condition else 2 * x)
    context = new_context()
    module = import_onnx(model, context)
    run_pipeline(context, module, default_pipeline(), [])
    (branch,) = [op for op in module.walk() if isinstance(op, scf.IfOp)]
    calls = [[op for op in region.walk() if isinstance(op, CallOp)] for region in branch.regions]
    assert [len(each) for each in calls] == [1, 1]
    assert len([op for op in module.walk() if isinstance(op, CallOp)]) == 2


@pytest.mark.parametrize(
    ("inputs", "nodes", "message"),
    [
        (
            "float[2] z, float[4,2] x",
            "w, y = Scan<num_scan_inputs=1, body = b (float[2] s, float[2] e) => (float[4] t, float[2] o) "
            "{ t = Concat<axis=0>(s, e) o = Neg(e) }>(z, x)",
            "<model>: unsupported: Scan: a state of tensor<2xf32> that becomes tensor<4xf32> ('w')",
        ),
        (
            "float[3] x, bool c",
            "y = If (c) <then_branch = t () => (float[3] a) { a = Neg(x) }, "
            "else_branch = e () => (float[1,3] b) { q = Constant<value_ints=[1,3]>() b = Reshape(x, q) }>",
            "<model>: unsupported: If: a condition between tensor<3xf32> and tensor<1x3xf32> ('y'); "
            "where it is always the same, give it to the compiler: --value c=...",
        ),
        (
            "float[3] x, int64 m",
            f"w, y = Loop<{TURN}>(m, , x)",
            "<model>: unsupported: Loop: an output of each iteration, whose number is computed at run time "
            "(carry a state with room for all iterations, and write to it with ScatterND where the "
            "iteration's number says) ('w'); where it is always the same, give it to the "
            "compiler: --value m=...",
        ),
        (
            "float[3] x, float[3] z",
            "m = Constant<value=int64 {9000}>() w, y = Loop<"
            "body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t, float[3] o) "
            "{ t = Add(s, z) q = ReduceMax<keepdims=0>(t) k = Constant<value_float=9.0>() d = Less(q, k) "
            "o = Neg(t) }>(m, , x)",
            "<model>: unsupported: Loop: an output of each iteration, whose number is computed at run time "
            "(carry a state with room for 9000 iterations, and write to it with ScatterND where the "
            "iteration's number says) ('w')",
        ),
        (
            "float[3] x, int64 m",
            "y = Loop<body = b (int64 i, bool c, float[3] s) => (bool d, float[6] t) "
            "{ t = Concat<axis=0>(s, s) d = Identity(c) }>(m, , x)",
            "<model>: unsupported: Loop: a state of tensor<3xf32> that becomes tensor<6xf32> ('y')",
        ),
        (
            "float[3] x",
            "m = Constant<value=int64 {9000}>() y = Loop<body = b (int64 i, bool c, float[3] s) => "
            "(bool d, float[6] t) { t = Concat<axis=0>(s, s) k = Constant<value_float=9.0>() "
            "q = ReduceMax<keepdims=0>(t) d = Less(q, k) }>(m, , x)",
            "<model>: unsupported: Loop: a state of tensor<3xf32> that becomes tensor<6xf32> ('y')",
        ),
        (
            "float[3] x",
            "m = Constant<value=int64 {9000}>() y = Loop<body = b (int64 i, bool c, float[3] s) => "
            "(bool d, float[6] t) { t = Concat<axis=0>(s, s) d = Identity(c) }>(m, , x)",
            "<model>: unsupported: Loop: a loop of more than 60 nodes ('y')",
        ),
        (
            "float[3] x",
            "y = Loop<body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t) "
            "{ t = Multinomial(s) d = Identity(c) }>(, , x)",
            "<model>: unsupported: Multinomial ('y/0/t'); 'inarch list onnx-operators' has those that are "
            "there, "
            "docs/extending.md how one is added",
        ),
    ],
)
def test_unsupported(
    inputs: str, nodes: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_loop, "MAX_NODES", 60)
    with pytest.raises(UnsupportedError) as error:
        import_onnx(parse(inputs, nodes), new_context())
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("inputs", "nodes", "message"),
    [
        (
            "float[2] z, float[4,2] x",
            f"w, y = Scan<num_scan_inputs=3, {STEP}>(z, x)",
            "<model>: node 'w' (Scan): expected num_scan_inputs from 1 to 2, found 3",
        ),
        (
            "float[2] z, float[4,2] x",
            f"y = Scan<num_scan_inputs=1, {STEP}>(z, x)",
            "<model>: node 'y' (Scan): expected 1 outputs of the body, found 2",
        ),
        (
            "float[3] x",
            f"m = Constant<value=int64 {{{1 << 60}}}>() y, w = Loop<{TURN}>(m, , x)",
            "<model>: node 'y' (Loop): expected a trip count of at most 2147483647, "
            "found 1152921504606846976",
        ),
        (
            "float[3] x",
            "y = Loop<body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t) "
            "{ t = Neg(s) d = Identity(c) }>(, , x)",
            "<model>: node 'y' (Loop): expected a loop that ends, found no trip count and a condition that "
            "always holds; give it one of them",
        ),
        (
            "float[3] x, int64[2] m",
            "y = Loop<body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t) "
            "{ t = Neg(s) d = Identity(c) }>(m, , x)",
            "<model>: node 'y' (Loop): expected a trip count of one element, found shape (2,)",
        ),
        (
            "float[3] x, bool[2] c",
            f"y = If (c) {BRANCHES}",
            "<model>: node 'y' (If): expected a condition of one element, found shape (2,)",
        ),
        (
            "float[3] x, bool c",
            "y = If (c) <then_branch = t () => (float[3] a) { a = Neg(q) }, "
            "else_branch = e () => (float[3] b) { b = Neg(x) }>",
            "<model>: node 'y/then_branch/a' (Neg): expected 'q' to be computed earlier, "
            "found no input, initializer or node of that name",
        ),
    ],
)
def test_bad(inputs: str, nodes: str, message: str) -> None:
    with pytest.raises(InarchError) as error:
        import_onnx(parse(inputs, nodes), new_context())
    assert str(error.value) == message
