"""What public bug reports of compilers were about, on inputs of our own: right, or refused by a line."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import inarch
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.frontends import Sizes
from inarch.frontends.onnx import import_onnx
from inarch.testing import execute
from inarch.tools.cli import run

Array = np.ndarray[Any, Any]


def f32(values: Any) -> Array:
    return np.array(values, np.float32)


def parse(nodes: str, inputs: str, outputs: str, opset: int = 17) -> onnx.ModelProto:
    head = f'<ir_version: 10, opset_import: ["" : {opset}, "d" : 1]>'
    return onnx.parser.parse_model(f"{head} g ({inputs}) => ({outputs}) {{ {nodes} }}")


def evaluate(model: onnx.ModelProto, *inputs: Array, **sizes: Any) -> list[Array]:
    context = new_context()
    return execute(import_onnx(model, context, Sizes(**sizes)), inputs, context)


def message(model: onnx.ModelProto, **sizes: Any) -> str:
    with pytest.raises(InarchError) as caught:
        import_onnx(model, new_context(), Sizes(**sizes))
    return caught.value.line()


# ------------------------------------------------------------------------------------ functions


def function(overload: str, op: str, name: str = "Act") -> onnx.FunctionProto:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    node = helper.make_node(op, ["a"], ["b"], domain="d" if op == "Act" else "")
    made = helper.make_function("d", name, ["a"], ["b"], [node], opsets)
    made.overload = overload
    return made


def calling(*overloads: str, functions: list[onnx.FunctionProto]) -> onnx.ModelProto:
    """`Act` of each overload, one behind the other."""
    model = parse("y = Relu(x)", "float[3] x", "float[3] y")
    del model.graph.node[:]
    names = ["x", *(f"t{at}" for at in range(len(overloads) - 1)), "y"]
    for at, overload in enumerate(overloads):
        node = helper.make_node("Act", [names[at]], [names[at + 1]], domain="d")
        node.overload = overload
        model.graph.node.append(node)
    model.functions.extend(functions)
    return model


@pytest.mark.parametrize("order", [1, -1])
def test_functions_are_told_apart_by_their_overloads(order: int) -> None:
    functions = [function("relu", "Relu"), function("neg", "Neg"), function("", "Abs")][::order]
    x = f32([-1, 0.5, 2])
    for overloads, expected in {
        ("relu",): np.maximum(x, 0),
        ("neg",): -x,
        ("",): np.abs(x),
        ("neg", "relu"): np.maximum(-x, 0),
    }.items():
        model = calling(*overloads, functions=functions)
        np.testing.assert_array_equal(evaluate(model, x)[0], expected)


def test_an_overload_of_an_operator_of_onnx_is_the_models() -> None:
    """Without one the operator is meant, as in onnxruntime."""
    x = f32([-1, 0.5, 2])
    for overload, expected in (("neg", -x), ("", np.maximum(x, 0))):
        relu = function(overload, "Neg", "Relu")
        relu.domain = ""
        model = parse("y = Relu(x)", "float[3] x", "float[3] y")
        model.graph.node[0].overload = overload
        model.functions.append(relu)
        np.testing.assert_array_equal(evaluate(model, x)[0], expected)


def test_a_function_of_a_name_that_onnx_has_given_up_or_of_a_domain_that_is_not_imported() -> None:
    """Upsample is none of opset 17's operators any more: the model's function is meant."""
    x = f32([-1, 0.5, 2])
    for name, domain in (("Upsample", ""), ("Relu", "e")):
        given = function("", "Neg", name)
        given.domain = domain
        model = parse(f"y = {name}(x)", "float[3] x", "float[3] y")
        model.graph.node[0].domain = domain
        model.functions.append(given)
        assert domain == "" or domain not in {each.domain for each in model.opset_import}
        np.testing.assert_array_equal(evaluate(model, x)[0], -x)


def test_an_overload_within_a_function() -> None:
    outer = function("", "Act", "Outer")
    outer.node[0].overload = "neg"
    model = calling("", functions=[outer, function("relu", "Relu"), function("neg", "Neg")])
    model.graph.node[0].op_type = "Outer"
    np.testing.assert_array_equal(evaluate(model, f32([1, -2, 3]))[0], [-1, 2, -3])


def test_overloads_that_are_not_there() -> None:
    both = [function("relu", "Relu"), function("neg", "Neg")]
    where = (
        "<model>: node 'y' (Act): error: expected an overload of 'd.Act' that the model defines "
    )
    assert message(calling("x", functions=both)) == f"{where}('neg', 'relu'), found overload 'x'"
    assert message(calling("", functions=both)) == f"{where}('neg', 'relu'), found no overload"
    assert message(calling("x", functions=[])) == f"{where}(none), found overload 'x'"
    twice = [function("neg", "Relu"), function("neg", "Neg")]
    assert message(calling("neg", functions=twice)) == (
        "<model>: error: expected functions of different names, found 'd.Act', overload 'neg' twice"
    )


# ------------------------------------------------------------------------------------ whole numbers


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        ("int64", 2**53 + 1),
        ("int64", -(2**53) - 1),
        ("int64", 2**62 + 1),
        ("int64", 2**63 - 1),
        ("int64", -(2**63)),
        ("uint64", 2**64 - 1),
        ("uint64", 2**53 + 1),
        ("int32", -(2**31)),
    ],
)
def test_whole_numbers_go_through_no_float(dtype: str, number: int) -> None:
    """Pad and both limits of Clip, of a number that f64 has not."""
    limit = numpy_helper.from_array(np.array(number, dtype), "c")
    x = np.array([1, number, 0], dtype)
    for node, expected in {
        "y = Pad(x, p, c)": np.pad(x, 1, constant_values=number),
        "y = Clip(x, c)": np.maximum(x, np.array(number, dtype)),
        "y = Clip(x, , c)": np.minimum(x, np.array(number, dtype)),
    }.items():
        model = parse(node, f"{dtype}[3] x", f"{dtype}[{len(expected)}] y")
        model.graph.initializer.extend(
            [limit, numpy_helper.from_array(np.array([1, 1], np.int64), "p")]
        )
        (found,) = (inarch.compile(model)(x),)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_a_range_of_large_numbers() -> None:
    model = parse("y = Range(a, b, c)", "", "int64[3] y")
    for name, value in {"a": 2**53 + 1, "b": 2**53 + 6, "c": 2}.items():
        model.graph.initializer.append(numpy_helper.from_array(np.array(value, np.int64), name))
    np.testing.assert_array_equal(
        evaluate(model)[0], np.array(2**53 + 1, np.int64) + np.array([0, 2, 4], np.int64)
    )


# ------------------------------------------------------------------------------------ Resize

COORDINATES = (
    "asymmetric",
    "half_pixel",
    "pytorch_half_pixel",
    "align_corners",
    "half_pixel_symmetric",
)
ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round_prefer_floor": lambda at: math.ceil(at - Fraction(1, 2)),
    "round_prefer_ceil": lambda at: math.floor(at + Fraction(1, 2)),
}


def source(k: int, size: int, result: int, mode: str) -> Fraction:
    """Where element `k` of `result` is among `size`: ONNX's equations, in fractions."""
    if mode == "align_corners":
        return Fraction(k * (size - 1), result - 1) if result > 1 else Fraction(0)
    if mode == "asymmetric":
        return Fraction(k * size, result)
    if mode == "pytorch_half_pixel" and result == 1:
        return Fraction(0)
    return Fraction((2 * k + 1) * size, 2 * result) - Fraction(1, 2)


@pytest.mark.parametrize("mode", COORDINATES)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_nearest_by_sizes_is_exact(mode: str, rounding: str) -> None:
    """Sizes some of which differ in f64, 14 to 18 by asymmetric and floor for one."""
    for size, result in ((14, 18), (56, 36), (40, 88), (9, 24), (25, 35), (7, 5), (3, 1), (1, 4)):
        node = (
            f'y = Resize<mode="nearest", coordinate_transformation_mode="{mode}", '
            f'nearest_mode="{rounding}">(x, , , s)'
        )
        model = parse(node, f"int32[1,{size}] x", f"int32[1,{result}] y", 19)
        model.graph.initializer.append(
            numpy_helper.from_array(np.array([1, result], np.int64), "s")
        )
        (found,) = evaluate(model, np.arange(size, dtype=np.int32).reshape(1, size))
        taken = [ROUNDINGS[rounding](source(k, size, result, mode)) for k in range(result)]
        np.testing.assert_array_equal(found[0], np.clip(taken, 0, size - 1), f"{size} to {result}")


@pytest.mark.parametrize(
    ("size", "scale", "expected"),
    [
        (4, 0.6, [0, 2]),
        (9, 0.3, [0, 4]),
        (5, 0.6, [0, 2, 4]),
        (4, 0.5, [0, 2]),
        (2, 1.5, [0, 0, 1]),
    ],
)
def test_opset_10_takes_the_next_one_where_an_axis_shrinks(
    size: int, scale: float, expected: list[int]
) -> None:
    model = parse('y = Resize<mode="nearest">(x, s)', f"float[{size}] x", "float[n] y", 10)
    model.graph.initializer.append(numpy_helper.from_array(f32([scale]), "s"))
    (found,) = evaluate(model, np.arange(size, dtype=np.float32))
    np.testing.assert_array_equal(found, expected)


# ------------------------------------------------------------------------------------ names


NAMES = (
    "_0", "/0", ".0", ":12", "-1", "%0", "_0_1", "INT64_MAX", "UINT8_MAX", "INARCH_C", "INARCH_PUBLIC",
    "INARCH_POOL", "SIZE_MAX", "BUFSIZ", "stdout", "inarch", "inarch_pool", "DLTensor", "bit_FMA",
)  # fmt: skip


def test_any_name_of_an_input() -> None:
    """Names that are nothing without their digits, macros of headers, and our own: all in one program."""
    names = list(NAMES)
    x = f32([-1, 2])
    nodes = [helper.make_node("Sum", names, ["y"])]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in (*names, "y")]
    graph = helper.make_graph(nodes, "inarch", infos[:-1], infos[-1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    module = inarch.compile(model)
    np.testing.assert_array_equal(module.run(dict.fromkeys(names, x))["y"], x * len(names))


def test_our_own_prefix() -> None:
    model = parse("y = Relu(x)", "float[2] x", "float[2] y")
    with pytest.raises(
        InarchError, match=r"^expected a name that does not begin with inarch, found 'inarch_x'$"
    ):
        inarch.compile(model, name="inarch_x")


# ------------------------------------------------------------------------------------ control


@pytest.mark.parametrize("iterations", [5, 50_000])
def test_a_loop_whose_condition_is_from_outside(iterations: int) -> None:
    nodes = (
        "y = Loop<body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) "
        "{ d = Identity(go) t = Add(s, one) }>(n, yes, x)"
    )
    model = parse(nodes, "float[2] x, bool go", "float[2] y")
    for name, value in {
        "n": np.array(iterations, np.int64),
        "yes": np.array(True),
        "one": f32(1),
    }.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    module, x = inarch.compile(model), f32([0, 1])
    np.testing.assert_array_equal(module(x, np.array(False)), x + 1)
    np.testing.assert_array_equal(module(x, np.array(True)), x + iterations)


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_outputs_of_no_iterations_are_empty(iterations: int) -> None:
    nodes = (
        "y, z = Loop<body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t, float[1,2] o) "
        "{ d = Identity(c) t = Add(s, s) o = Unsqueeze(t, k) }>(n, , x) "
        "u, v = Scan<num_scan_inputs=1, body = c (float[2] s, float[2] e) => (float[2] t, float[2] o) "
        "{ t = Add(s, e) o = Neg(t) }>(x, q)"
    )
    model = parse(
        nodes,
        f"float[2] x, float[{iterations},2] q",
        f"float[2] y, float[{iterations},1,2] z, float[2] u, float[{iterations},2] v",
    )
    for name, value in {"n": np.array(iterations, np.int64), "k": np.array([0], np.int64)}.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    x, q = f32([1, 2]), np.ones((iterations, 2), np.float32)
    y, z, u, v = evaluate(model, x, q, shapes={"q": q.shape})
    np.testing.assert_array_equal(y, x * 2**iterations)
    np.testing.assert_array_equal(
        z, [[x * 2 ** (t + 1)] for t in range(iterations)] or np.empty((0, 1, 2))
    )
    np.testing.assert_array_equal(u, x + iterations)
    np.testing.assert_array_equal(v, [-(x + t + 1) for t in range(iterations)] or np.empty((0, 2)))


# ------------------------------------------------------------------------------------ the rest


def with_defaults() -> onnx.ModelProto:
    """Of which w and k are inputs, too."""
    model = parse(
        "t = Mul(x, w) y, i = TopK(t, k)", "float[2] x, float[2] w, int64[1] k", "float[1] y"
    )
    model.graph.initializer.append(numpy_helper.from_array(f32([2, 3]), "w"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([2]), "k"))
    return model


def test_a_default_that_the_caller_overrides(tmp_path: Path) -> None:
    """They are listed, as `get_overridable_initializers()` of ONNX Runtime does."""
    model, x = with_defaults(), f32([1, 1])
    module = inarch.compile(model)
    np.testing.assert_array_equal(module(x), [3, 2])
    module.save(tmp_path / "m.inarch")
    for each in (module, inarch.load(tmp_path / "m.inarch", threads=1)):
        assert [str(port) for port in each.inputs] == ["x: f32[2]"]
        assert [str(port) for port in each.defaults] == ["w: f32[2]", "k: i64[1]"]
    given = inarch.compile(model, values={"w": f32([5, 7])})
    np.testing.assert_array_equal(given(x), [7, 5])
    assert [port.name for port in given.defaults] == ["k"]
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    open_one = inarch.compile(model)
    assert [str(port) for port in open_one.defaults] == ["w: f32[2]", "k: i64[1]"]
    for each in (module, inarch.load(tmp_path / "m.inarch", threads=1), open_one):
        with pytest.raises(InarchError) as told:
            each(x=x, w=f32([5, 7]))
        assert str(told.value) == (
            "main: expected no array for 'w', whose own value is compiled in; inarch.compile(model, "
            "values={'w': array}) takes another one"
        )
    model.ir_version = 3  # in which weights had to be inputs
    assert inarch.compile(model).defaults == ()
    with pytest.raises(
        InarchError, match=r"^no input 'ww' in values; did you mean 'w'\? Known: k, w, x$"
    ):
        inarch.compile(model, values={"ww": f32([5, 7])})


def test_defaults_are_listed_by_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(with_defaults(), "m.onnx")
    text = "w: f32[2], k: i64[1], compiled in; --value NAME=FILE.npy compiles another value"
    listed = {"w": {"dtype": "f32", "shape": [2]}, "k": {"dtype": "i64", "shape": [1]}}
    found = json.loads(run(["compile", "m.onnx", "-o", "m.inarch", "--json"]).out)
    assert found["defaults"] == listed
    assert f"\ndefaults   {text}\n" in run(["inspect", "m.inarch"]).out
    assert json.loads(run(["inspect", "m.inarch", "--json"]).out)["source"]["defaults"] == listed
    assert f"\ndefaults: {text}\n" in run(["explain", "m.onnx"]).out
    assert json.loads(run(["explain", "m.onnx", "--json"]).out)["defaults"] == listed
    assert "defaults" not in run(["explain", "m.onnx", "--value", "w=1,2", "--value", "k=1"]).out
    np.savez("in.npz", x=f32([1, 1]), w=f32([1, 1]))
    assert run(["run", "m.inarch", "--input", "in.npz"]).err == (
        "error: --input: the value of 'w' is compiled in; give another one when the model is compiled, "
        "--value w=FILE.npy\n"
    )


@pytest.mark.parametrize("dtype", ["float", "double"])
def test_powers_of_one_half(dtype: str) -> None:
    kind = {"float": np.float32, "double": np.float64}[dtype]
    model = parse("y = Pow(x, e)", f"{dtype}[64] x", f"{dtype}[64] y")
    model.graph.initializer.append(numpy_helper.from_array(np.array(0.5, kind), "e"))
    x = np.tile(np.array([-np.inf, -0.0, 0.0, 4, -1, np.inf, np.nan, 1e-40], kind), 8)
    with np.errstate(invalid="ignore"):
        expected = np.power(
            x, np.full(64, 0.5, kind)
        )  # of one number it takes the square root, too
    found = inarch.compile(model)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert not np.signbit(found[1])


def test_graphs_in_any_order() -> None:
    x = f32([-1, 2])
    nodes = "y = Relu(b) b = Neg(a) a = Abs(x)"
    np.testing.assert_array_equal(
        evaluate(parse(nodes, "float[2] x", "float[2] y"), x)[0], np.maximum(-np.abs(x), 0)
    )
    nodes = (
        "y = If (c) <then_branch = t () => (float[2] p) { p = Neg(q) q = Abs(a) }, "
        "else_branch = e () => (float[2] r) { r = Identity(a) }> a = Sin(x) c = Not(d)"
    )
    model = parse(nodes, "float[2] x, bool d", "float[2] y")
    (found,) = evaluate(model, x, np.array(False))
    np.testing.assert_allclose(found, -np.abs(np.sin(x)), rtol=1e-6)


def test_clip_by_a_limit_that_is_a_list_of_one() -> None:
    model = parse("y = Clip(x, low)", "float x, float[1] low", "float y")
    (found,) = evaluate(model, f32(1), f32([2]))
    assert found.shape == ()
    assert found == 2


def test_lengths_beyond_the_steps() -> None:
    node = "y = LSTM<hidden_size=2>(x, w, r, , n)"
    model = parse(node, "float[3,1,2] x, float[1,8,2] w, float[1,8,2] r", "float[3,1,1,2] y")
    model.graph.initializer.append(numpy_helper.from_array(np.array([4], np.int32), "n"))
    assert message(model) == (
        "<model>: node 'y' (LSTM): error: expected sequence_lens from 0 to 3, found [4]"
    )


# ------------------------------------------------------------------------------------ others


def test_a_condition_of_one_element_has_any_shape() -> None:
    nodes = (
        "y = If (c) <then_branch = t () => (float[2] a) { a = Neg(x) }, "
        "else_branch = e () => (float[2] b) { b = Abs(x) }>"
    )
    (found,) = evaluate(
        parse(nodes, "float[2] x, bool[1,1] c", "float[2] y"), f32([1, -2]), np.array([[True]])
    )
    np.testing.assert_array_equal(found, [-1, 2])


# ------------------------------------------------------------------------------------ slices


@pytest.mark.parametrize(
    ("start", "end", "step", "expected"),
    [
        (-4, -(2**31), -1, [5]),
        (-(2**63), -(2**63), -2, [5]),
        (-4, 2**31 - 1, -1, []),
        (-4, 0, -1, []),
        (-4, 2, 1, [5, 6]),
    ],
)
def test_slice_begins_in_the_array(start: int, end: int, step: int, expected: list[int]) -> None:
    """Starts are clamped to [0, size - 1] where the step is negative (onnx, Slice-13)."""
    nodes = (
        f"s = Constant<value_ints=[{start}]>() e = Constant<value_ints=[{end}]>() "
        f"a = Constant<value_ints=[0]>() t = Constant<value_ints=[{step}]>() y = Slice(x, s, e, a, t)"
    )
    (found,) = evaluate(parse(nodes, "float[3] x", "float[k] y"), f32([5, 6, 7]))
    assert found.tolist() == expected
