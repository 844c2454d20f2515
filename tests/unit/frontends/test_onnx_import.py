"""What an imported model looks like: names, locations, constants, bound dimensions, functions."""

# A bare pathlike in the stubs of onnx:
# pyright: reportUnknownMemberType=false, reportPrivateUsage=false
from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from inarch.core.errors import InarchError, UsageError
from inarch.core.plugins import load_file
from inarch.dialects import new_context
from inarch.driver.extensions import kinds
from inarch.frontends import FRONTENDS, Sizes, read_model
from inarch.frontends.onnx import import_onnx
from inarch.frontends.onnx.ops import FAMILIES, converters
from inarch.ir.context import store_of
from inarch.ir.location import location_text
from inarch.ir.text import print_module
from inarch.ir.verify import verify_module
from inarch.testing import execute

Array = np.ndarray[Any, Any]


def parse(nodes: str, inputs: str, outputs: str, opset: int = 17) -> onnx.ModelProto:
    text = (
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => ({outputs}) {{ {nodes} }}'
    )
    return onnx.parser.parse_model(text)


def import_text(model: onnx.ModelProto, **options: Any) -> str:
    module = import_onnx(model, new_context(), Sizes(**options))
    verify_module(module)
    return print_module(module)


def evaluate(model: onnx.ModelProto | Path, *inputs: Array, **options: Any) -> list[Array]:
    context = new_context()
    module = import_onnx(model, context, Sizes(**options))
    verify_module(module)
    return execute(module, inputs, context)


def names(module: ModuleOp, which: str) -> list[str]:
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    attributes = getattr(function, which)
    return [cast("StringAttr", entry.data["inarch.name"]).data for entry in attributes.data]


def ops(text: str) -> list[str]:
    """The names of the `graph` ops in `text`, in order, without `graph.`."""
    words = (word for line in text.splitlines() for word in line.split())
    return [word.removeprefix("graph.") for word in words if word.startswith("graph.")]


# ------------------------------------------------------------------------------------ names


def test_names_are_kept() -> None:
    model = parse("y = Neg(x)", "float[2] x", "float[2] y")
    model.graph.node[0].name = "model/lay\u00e9r:0"
    model.graph.node[0].input[0] = model.graph.input[0].name = "in.put:0"
    model.graph.node[0].output[0] = model.graph.output[0].name = "\u00e9t\u00e9"
    module = import_onnx(model, new_context())
    assert names(module, "arg_attrs") == ["in.put:0"]
    assert names(module, "res_attrs") == ["\u00e9t\u00e9"]
    neg = next(op for op in module.walk() if op.name == "graph.neg")
    assert location_text(neg) == "model/lay\u00e9r:0"
    verify_module(module)


@pytest.mark.parametrize(
    ("stem", "prefix"), [("resnet-50.v1", "resnet_50_v1"), ("3d", "m3d"), ("\u00e9\u00e9", "model")]
)
def test_the_file_names_the_module(tmp_path: Path, stem: str, prefix: str) -> None:
    path = tmp_path / f"{stem}.onnx"
    onnx.save(parse("y = Neg(x)", "float[2] x", "float[2] y"), str(path))
    module = read_model(path, new_context())
    assert module.attributes["inarch.name"] == StringAttr(prefix)


def test_the_graph_names_a_module_without_a_file() -> None:
    model = parse("y = Neg(x)", "float[2] x", "float[2] y")
    for source in (model, model.SerializeToString()):
        assert read_model(source, new_context()).attributes["inarch.name"] == StringAttr("g")


def test_outputs_that_are_inputs_constants_or_twice_the_same() -> None:
    model = parse(
        "y = Neg(x)", "float[2] x", "float[2] y, float[2] x, float[2] w, float[2] y, float[2] x"
    )
    weight = np.array([3, 4], "float32")
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    x = np.array([1, 2], "float32")
    for found, expected in zip(evaluate(model, x), (-x, x, weight, -x, x), strict=True):
        np.testing.assert_array_equal(found, expected)
    module = import_onnx(model, new_context())
    assert names(module, "res_attrs") == ["y", "x", "w", "y.1", "x.1"]


def test_declared_output_shapes_are_not_believed() -> None:
    model = parse("y = Neg(x)", "float[2,3] x", "float[7] y")
    assert "-> (tensor<2x3xf32>" in import_text(model)


# ------------------------------------------------------------------------------------ constants


def test_shape_computations_disappear() -> None:
    nodes = (
        "s = Shape(x) i = Constant<value=int64 {0}>() n = Gather(s, i) z = Constant<value=int64[1] {0}>()"
        "m = Unsqueeze(n, z) r = Constant<value=int64[1] {-1}>() t = Concat<axis=0>(m, r) y = Reshape(x, t)"
    )
    text = import_text(parse(nodes, "float[2,3,4] x", "float[2,12] y"))
    assert ops(text) == ["reshape"]


def test_one_initializer_is_one_constant_and_dead_things_are_left_out() -> None:
    model = parse(
        "a = Add(x, w) d = Add(x, v) y = Mul(a, w)", "float[32] x, float[4] u", "float[32] y"
    )
    for name in ("w", "v"):
        model.graph.initializer.append(numpy_helper.from_array(np.ones(32, "float32"), name))
    context = new_context()
    module = import_onnx(model, context)
    text = print_module(module)
    assert ops(text) == ["constant", "add", "mul"]
    assert names(module, "arg_attrs") == ["x", "u"]
    assert store_of(context).keys() == ["w"]


def test_initializers_that_are_inputs_are_constants() -> None:
    model = parse("y = Add(x, w)", "float[2] x, float[2] w", "float[2] y")
    model.graph.initializer.append(numpy_helper.from_array(np.array([3, 4], "float32"), "w"))
    (found,) = evaluate(model, np.array([1, 2], "float32"))
    np.testing.assert_array_equal(found, [4, 6])


@pytest.mark.every_case(reason="each dtype is read by lines of its own")
@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
    ],
)
def test_every_dtype_of_initializers(dtype: str, *, raw: bool) -> None:
    values = np.array([0, 1, 100], dtype)
    kind = helper.np_dtype_to_tensor_dtype(values.dtype)
    weight = (
        numpy_helper.from_array(values, "w") if raw else helper.make_tensor("w", kind, [3], values)
    )
    model = parse("y = Identity(w)", "float[2] x", "float[3] y")
    model.graph.initializer.append(weight)
    (found,) = evaluate(model, np.zeros(2, "float32"))
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)


def test_large_weights_are_read_from_the_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weights = {
        f"w{i}": rng.standard_normal((n, 3)).astype("float32")
        for i, n in enumerate((1, 400, 7, 900))
    }
    model = parse(
        "a = MatMul(w1, x) b = MatMul(w3, x) y = Concat<axis=0>(a, w0, b, w2)",
        "float[3,3] x",
        "float[1308,3] y",
    )
    model.graph.initializer.extend(numpy_helper.from_array(w, name) for name, w in weights.items())
    path = tmp_path / "model.onnx"
    onnx.save(model, str(path))
    x = rng.standard_normal((3, 3)).astype("float32")
    expected = np.concatenate([weights["w1"] @ x, weights["w0"], weights["w3"] @ x, weights["w2"]])
    for source in (path, path.read_bytes(), model):
        (found,) = evaluate(source, x)  # pyright: ignore[reportArgumentType]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("linked", [False, True])
def test_external_data(tmp_path: Path, *, linked: bool) -> None:
    weights = [np.arange(n, dtype="float32") for n in (64, 5)]
    model = parse("a = Add(x, w0) y = Concat<axis=0>(a, w1)", "float[64] x", "float[69] y")
    model.graph.initializer.extend(
        numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)
    )
    path = tmp_path / "model.onnx"
    onnx.save(model, str(path), save_as_external_data=True, location="w.bin", size_threshold=0)
    if linked:  # as caches of models do: both files are links into one folder of blobs
        blobs, links = tmp_path / "blobs", tmp_path / "links"
        blobs.mkdir()
        links.mkdir()
        for name in ("model.onnx", "w.bin"):
            (tmp_path / name).rename(blobs / name)
            (links / name).symlink_to(blobs / name)
        path = links / "model.onnx"
    (found,) = evaluate(path, np.ones(64, "float32"))
    np.testing.assert_array_equal(found, np.concatenate([weights[0] + 1, weights[1]]))


# ------------------------------------------------------------------------------------ dimensions


def test_bound_dimensions() -> None:
    model = parse("y = Neg(x)", "float[batch,?,3] x", "float[batch,?,3] y")
    text = import_text(model, dims={"batch": 2, "x.1": 5})
    assert "inarch.sizes = {main = {batch = 2 : i64, x.1 = 5 : i64}}" in text
    assert "-> (tensor<2x5x3xf32>" in text
    assert import_text(model, shapes={"x": [2, 5, 3]}) == text
    assert import_text(model, shapes={"x": [2, 5, 3]}, dims={"batch": 2}) == text


def test_sizes_below_1_are_symbolic() -> None:
    model = parse("y = Neg(x)", "float[2,2] x", "float[2,2] y")
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 0
    assert "tensor<4x0xf32>" in import_text(model, dims={"x.0": 4, "x.1": 0})


# ------------------------------------------------------------------------------------ functions


def with_function(body: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "local" : 1]> '
        "g (float[2] x) => (float[2] y) { y = local.outer(x) }"
        f'<domain: "local", opset_import: ["" : 17, "local" : 1]> {body}'
    )


def test_functions_of_the_model_are_inlined() -> None:
    model = with_function(
        "outer (a) => (b) { c = local.scale<by=3.0>(a) d = local.scale<by=2.0>(a) b = Sub(c, d) }"
        '<domain: "local", opset_import: ["" : 17]>'
        "scale<by>(a) => (b) { f = Constant<value_float: float = @by>() b = Mul(a, f) }"
    )
    (found,) = evaluate(model, np.array([1, 2], "float32"))
    np.testing.assert_allclose(found, [1, 2])
    module = import_onnx(model, new_context())
    assert [location_text(op) for op in module.walk() if op.name == "graph.mul"] == [
        "y/c/b",
        "y/d/b",
    ]


IF = """outer (a) => (b) {
  zero = Constant<value_int: int = 0>()
  first = Gather(a, zero)
  is_more = Greater(first, zero_f)
  b = If(is_more) <then_branch = t () => (float[2] p) { THEN },
                   else_branch = e () => (float[2] q) { q = Neg(a) }>
}"""


def test_a_subgraph_sees_the_attributes_and_the_calls_of_its_function() -> None:
    """And the names of the function, not those of the model: each branch has nodes of the same names."""
    head = IF.replace("Greater(first, zero_f)", "Greater(first, half) ").replace(
        "zero = ", "half = Constant<value_float: float = 0.5>() zero = "
    )
    scaled = head.replace("THEN", "f = Constant<value_float: float = @by>() p = Mul(a, f)")
    model = with_function(
        "outer (a) => (b) { b = local.scale<by=3.0>(a) }"
        f'<domain: "local", opset_import: ["" : 17]> {scaled.replace("outer (a)", "scale<by>(a)")}'
    )
    for x, expected in (([1, 2], [3, 6]), ([0, 2], [0, -2])):
        (found,) = evaluate(model, np.array(x, "float32"))
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(
        InarchError, match="expected functions that do not call themselves, found outer"
    ):
        import_onnx(with_function(head.replace("THEN", "p = local.outer(a)")), new_context())


def test_what_decides_is_looked_for_once_of_each_value() -> None:
    """A sum of a value with itself, 60 times over: 2**60 ways to the input."""
    sums = " ".join(f"s{at + 1} = Add(s{at}, s{at})" for at in range(60))
    model = parse(f"{sums} y = Reshape(x, s60)", "float[2,3] x, int64[2] s0", "float[n,m] y")
    with pytest.raises(InarchError) as caught:
        import_onnx(model, new_context())
    assert "--value s0=..." in caught.value.message


def test_functions_that_call_themselves() -> None:
    """Each on its own, or over others."""
    head = '<domain: "local", opset_import: ["" : 17, "local" : 1]>'
    by_itself = "outer (a) => (b) { b = local.outer(a) }"
    inner = f"{head} inner (a) => (b) {{ b = local.outer(a) }}"
    over_another = f"outer (a) => (b) {{ b = local.inner(a) }} {inner}"
    for body in (by_itself, over_another):
        with pytest.raises(
            Exception, match="expected functions that do not call themselves, found outer"
        ):
            import_onnx(with_function(body), new_context())


def chain(depth: int) -> onnx.ModelProto:
    """Functions that call one another, the last of which is Neg."""
    calls = [f"local.f{at + 1}" for at in range(depth - 1)] + ["Neg"]
    head = '<domain: "local", opset_import: ["" : 17, "local" : 1]>'
    rest = " ".join(
        f"{head} f{at} (a) => (b) {{ b = {call}(a) }}" for at, call in enumerate(calls) if at
    )
    return with_function(f"outer (a) => (b) {{ b = {calls[0]}(a) }} {rest}")


def test_functions_within_functions_to_any_depth() -> None:
    """Until Python's stack ends, which is said where the outermost is called."""
    x = np.array([1, -2], "float32")
    np.testing.assert_array_equal(evaluate(chain(60), x)[0], -x)
    with pytest.raises(InarchError) as caught:
        import_onnx(chain(1000), new_context())
    assert caught.value.line() == (
        "<model>: node 'y' (outer): error: expected functions and subgraphs within each other as deep as "
        "Python calls functions (sys.setrecursionlimit), found deeper ones"
    )


def test_an_operator_of_onnx_is_meant_where_a_function_has_its_name() -> None:
    """As onnxruntime and ONNX's reference have it; a name that this opset has not is the function's."""
    x = np.array([1, -2], "float32")
    for op, expected in {"Relu": np.maximum(x, 0), "Gelu": -x}.items():
        model = onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {{ y = {op}(x) }}'
            f'<domain: "", opset_import: ["" : 17]> {op} (a) => (b) {{ b = Neg(a) }}'
        )
        np.testing.assert_array_equal(evaluate(model, x)[0], expected)


# ------------------------------------------------------------------------------------ extension


def test_this_frontend_is_found_by_its_folder() -> None:
    assert set(FRONTENDS) >= {"onnx", "mlir"}
    assert FRONTENDS["onnx"].suffixes == (".onnx",)


def test_two_converters_of_one_operator(tmp_path: Path) -> None:
    path = tmp_path / "zzz.py"
    path.write_text("CONVERTERS = {'Gemm': None}\n")
    with FAMILIES.scope():
        load_file(path, kinds())
        with pytest.raises(
            UsageError, match="operator 'Gemm' is converted twice: by 'matmul' and by 'zzz'"
        ):
            converters()
    assert "Gemm" in converters()


def test_converters_of_a_loaded_file_are_there_as_long_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("CONVERTERS = {'com.example.Mine': None}\n")
    before = converters()
    with FAMILIES.scope():
        load_file(path, kinds())
        assert set(converters()) - set(before) == {"com.example.Mine"}
    assert set(converters()) == set(before)


def test_onnx_is_not_imported_at_start_up() -> None:
    import subprocess
    import sys

    code = "import sys, inarch.frontends, inarch.frontends.onnx; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_mlir_text(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(
        "func.func @main(%x: tensor<20xf32>) -> tensor<20xf32> {\n"
        "  %w = graph.constant dense_resource<w> : tensor<20xf32>\n"
        "  %y = graph.add %x, %w : tensor<20xf32>, tensor<20xf32> -> tensor<20xf32>\n"
        "  func.return %y : tensor<20xf32>\n}\n"
    )
    weight = np.arange(20, dtype="float32")
    np.savez(tmp_path / "model.npz", w=weight)
    context = new_context()
    (found,) = execute(read_model(path, context), [np.ones(20, "float32")], context)
    np.testing.assert_array_equal(found, weight + 1)
    with pytest.raises(
        UsageError, match=r"model.mlir has static shapes: there is no 'batch' to bind$"
    ):
        read_model(path, new_context(), Sizes({"batch": 1}))


def test_optional_inputs_that_are_left_out() -> None:
    model = parse("y = Clip(x, , h)", "float[3] x, float h", "float[3] y")
    (found,) = evaluate(model, np.array([-1, 0, 9], "float32"), np.array(2, "float32"))
    np.testing.assert_array_equal(found, [-1, 0, 2])


def test_empty_optional_outputs() -> None:
    model = parse("y, m = Dropout(x)", "float[3] x", "float[3] y, bool[3] m")
    found = evaluate(model, np.array([1, 2, 3], "float32"))
    np.testing.assert_array_equal(found[1], [True] * 3)
