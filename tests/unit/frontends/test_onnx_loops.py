"""Loops of ONNX whose number of iterations is computed, against onnxruntime and onnx's evaluator."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import onnx
import onnx.reference
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
import pytest

import inarch
from effort import effort
from inarch.dialects import new_context
from inarch.dialects.graph.regions.repeat import WhileOp
from inarch.frontends.onnx import import_onnx
from inarch.testing import execute

INPUTS = "int64 m, bool c, float[3] x, float[3] z"
GROW = "body = b (int64 i, bool k, float[3] s) => (bool d, float[3] t) { t = Add(s, x) d = Identity(k) }"
PARITY = (
    "f = Constant<value=int64 {2}>() g = Mod(i, f) o = Cast<to=9>(g) t = If (o) <"
    "then_branch = p () => (float[3] a) { a = Sub(s, x) }, "
    "else_branch = q () => (float[3] e) { e = Add(s, z) }> "
)

CASES = {
    # name: nodes that make y, and w
    "trip count": f"y = Loop<{GROW}>(m, , z) w = Neg(y)",
    "first condition": f"n = Constant<value=int64 {{3}}>() y = Loop<{GROW}>(n, c, z) w = Neg(y)",
    "both, of one dimension": "q = Constant<value_ints=[1]>() n = Reshape(m, q) e = Reshape(c, q) "
    f"y = Loop<{GROW.replace('bool ', 'bool[1] ')}>(n, e, z) w = Neg(y)",
    "early exit": "y, w = Loop<body = b (int64 i, bool k, float[3] s, float[3] r) => "
    "(bool d, float[3] t, float[3] u) { t = Add(s, x) u = Mul(t, r) h = ReduceSum<keepdims=0>(t) "
    "l = Constant<value_float=2.0>() d = Less(h, l) }>(m, c, z, x)",
    "exit of a trip count that is 2**60": f"n = Constant<value=int64 {{{1 << 60}}}>() y = Loop<"
    "body = b (int64 i, bool k, float[3] s) => (bool d, float[3] t) "
    "{ t = Add(s, x) d = Less(i, m) }>(n, c, z) w = Neg(y)",
    "no trip count": "y = Loop<body = b (int64 i, bool k, float[3] s) => (bool d, float[3] t) "
    "{ t = Add(s, x) d = Less(i, m) }>(, , z) w = Neg(y)",
    "states that change places": "y, w, v = Loop<"
    "body = b (int64 i, bool k, float[3] p, float[3] q, float[3] r) => "
    "(bool d, float[3] s, float[3] t, float[3] u) "
    "{ s = Identity(q) t = Identity(r) u = Identity(p) d = Identity(k) }>(m, , x, z, x)",
    "states that change places and are computed": "y, w = Loop<body = b (int64 i, bool k, float[3] p, "
    "float[3] q) => (bool d, float[3] s, float[3] t) "
    "{ s = Sub(q, p) t = Identity(p) d = Identity(k) }>(m, , x, z)",
    "a state twice": "y, w = Loop<body = b (int64 i, bool k, float[3] p, float[3] q) => "
    "(bool d, float[3] s, float[3] s) { s = Add(p, q) d = Identity(k) }>(m, c, x, z)",
    "states that stay": "y, w = Loop<body = b (int64 i, bool k, float[3] p, float[3] q) => "
    "(bool d, float[3] p, float[3] t) { t = Add(p, q) d = Identity(k) }>(m, c, x, z)",
    "the number as a state": "n = Constant<value=int64 {7}>() v, e = Loop<"
    "body = b (int64 i, bool k, int64 j, bool l) => (bool d, int64 o, bool e) "
    "{ d = Less(i, m) o = Identity(i) e = Identity(d) }>(n, c, n, c) y = Cast<to=1>(v) w = Cast<to=1>(e)",
    "a loop in a loop": "y, w = Loop<body = b (int64 i, bool k, float[3] p, float[3] q) => "
    "(bool d, float[3] s, float[3] t) { s = Loop<"
    "body = e (int64 j, bool l, float[3] u) => (bool n, float[3] v) "
    "{ v = Add(u, q) n = Less(j, i) }>(m, k, p) t = Sub(q, s) d = Identity(k) }>(m, c, x, z)",
    "an if in a loop": "y = Loop<body = b (int64 i, bool k, float[3] s) => (bool d, float[3] t) "
    f"{{ {PARITY} d = Identity(k) }}>(m, , z) w = Neg(y)",
    "a loop in an if": f"y = If (c) <then_branch = t () => (float[3] a) {{ a = Loop<{GROW}>(m, , z) }}, "
    "else_branch = e () => (float[3] b) { b = Neg(x) }> w = Neg(y)",
    "an if around a loop in a loop": "y = Loop<"
    f"body = b (int64 i, bool k, float[3] p) => (bool d, float[3] q) "
    f"{{ q = If (c) <then_branch = t () => (float[3] a) {{ a = Loop<{GROW.replace('(int64 i', '(int64 j')}>"
    "(i, , p) }, else_branch = e () => (float[3] b) { b = Neg(p) }> d = Identity(k) }>(m, , z) w = Neg(y)",
    "a loop in a scan": "n = Constant<value_ints=[3, 1]>() r = Reshape(x, n) e = Constant<value_ints=[0]>() "
    "o = ReduceSum<keepdims=0>(z) y, v = Scan<num_scan_inputs=1, body = g (float a, float[1] p) => "
    "(float b, float[1] q) { f = Constant<value_ints=[1]>() q = Loop<body = h (int64 i, bool k, float[1] s) "
    "=> (bool d, float[1] t) { t = Add(s, p) d = Identity(k) }>(m, , p) b = ReduceSum<keepdims=0>(q) }>"
    "(o, r) w = Neg(v)",
    "dead outputs of each iteration": "y, e, o = Loop<body = b (int64 i, bool k, float[3] s) => "
    "(bool d, float[3] t, int64 j, float[3] u) { t = Add(s, x) u = Neg(t) j = Identity(i) "
    "h = ReduceSum<keepdims=0>(t) l = Constant<value_float=2.0>() d = Less(h, l) }>(m, c, z) w = Neg(y)",
    "a most that is known": "n = Constant<value=int64 {5}>() y, o = Loop<"
    "body = b (int64 i, bool k, float[3] s) => (bool d, float[3] t, float[3] u) "
    "{ t = Add(s, x) u = Neg(t) d = Less(i, m) }>(n, c, z) w = Neg(y)",
    "iterations in a state with room": "n = Constant<value=int64 {5}>() r = Constant<value_ints=[5, 3]>() "
    "f = Constant<value_float=0.0>() q = Expand(f, r) v, y = Loop<body = b (int64 i, bool k, float[3] s, "
    "float[5, 3] p) => (bool d, float[3] t, float[5, 3] o) { t = Add(s, x) a = Constant<value_ints=[1, 1]>() "
    "j = Reshape(i, a) e = Constant<value_ints=[1, 3]>() u = Reshape(t, e) o = ScatterND(p, j, u) "
    "d = Less(i, m) }>(n, c, z, q) w = Neg(v)",
    "iterations that are known, and many": "n = Constant<value=int64 {2000}>() y = Loop<"
    "body = b (int64 i, bool k, float[3] s) => (bool d, float[3] t) "
    "{ t = Add(s, x) l = Constant<value=int64 {1500}>() d = Less(i, l) }>(n, , z) w = Neg(y)",
}  # fmt: skip


def parse(nodes: str) -> onnx.ModelProto:
    """A model whose results have any shapes."""
    text = f'<ir_version: 8, opset_import: ["" : 16]> g ({INPUTS}) => (float[] y, float[] w) {{ {nodes} }}'
    model = onnx.parser.parse_model(text)
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


def oracle_of(name: str, model: onnx.ModelProto) -> Callable[[dict[str, Any]], list[list[Any]]]:
    """What gives the results by onnxruntime, and by onnx's evaluator where it says what ONNX says."""
    session: Any = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    oracles = [session.run]
    # A condition that is left out, onnx's evaluator takes for false; outputs of no iterations it does not
    # make.
    if ", ," not in CASES[name] and ", o = Loop" not in CASES[name]:
        evaluator: Any = onnx.reference.ReferenceEvaluator(model)
        oracles.append(evaluator.run)
    return lambda inputs: [oracle(None, inputs) for oracle in oracles]


def feeds() -> Iterator[dict[str, Any]]:
    """Each number of iterations, of which one is none, and both conditions."""
    x, z = np.array([1, -2, 3], np.float32), np.array([0.5, 4, -8], np.float32)
    for iterations, condition in itertools.product((0, 1, 2, 3, 6, -3), (True, False)):
        yield {"m": np.array(iterations), "c": np.array(condition), "x": x, "z": z}


def check(found: Iterable[Any], wanted: list[list[Any]], inputs: dict[str, Any]) -> None:
    found, said = list(found), f"{inputs['m']} {inputs['c']}"
    for results in wanted:
        for value, right in zip(found, results, strict=True):
            np.testing.assert_allclose(value, np.asarray(right), rtol=1e-6, err_msg=said)


@pytest.mark.every_case(reason="each is a form of its own")
@pytest.mark.parametrize("name", CASES)
def test_loops(name: str) -> None:
    """By definition."""
    model = parse(CASES[name])
    context = new_context()
    module = import_onnx(model, context)
    ops = [*module.walk()]
    assert len(ops) < 40, "copies of iterations"
    whiles = [op for op in ops if isinstance(op, WhileOp)]
    assert len(whiles) == (2 if name == "a loop in a loop" or "around" in name else 1)
    wanted = oracle_of(name, model)
    for inputs in feeds():
        check(execute(module, list(inputs.values()), context), wanted(inputs), inputs)


@pytest.mark.sampled(effort(3, 20), reason="a program each; all of them by definition")
@pytest.mark.parametrize("name", CASES)
def test_compiled_loops(name: str) -> None:
    model = parse(CASES[name])
    compiled, wanted = inarch.compile(model), oracle_of(name, model)
    for inputs in feeds():
        check(compiled(*inputs.values()), wanted(inputs), inputs)
