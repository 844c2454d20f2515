"""What a few bytes of a stranger's file ask for is refused before it is built, each with one line."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from xdsl.utils.exceptions import VerifyException

from inarch.core.errors import InarchError, UsageError, unknown
from inarch.core.limits import NODES, number_text
from inarch.dialects import new_context
from inarch.dialects.graph.elementwise.unary import ReluOp
from inarch.dialects.graph.op import as_attribute
from inarch.dialects.graph.windows import Window
from inarch.frontends import Sizes
from inarch.frontends.onnx import import_onnx
from inarch.frontends.onnx.tensors import Folders, tensor_array
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.pipeline.text import parse_pipeline
from inarch.testing.hostile import MANY, many
from inarch.tools import cli

ELEMENTS = (
    "expected at most 268435456 bytes of computed constants, found {}; where you trust the model, "
    "$INARCH_MAX_CONSTANT_BYTES raises the limit"
)
COUNT = (
    "expected at most 50000 nodes, found {}; where you trust the model, "
    "$INARCH_MAX_NODES raises the limit"
)


@pytest.mark.parametrize("kind", ["Concat", "Sum", "Split", "If"])
def test_what_a_node_means_is_counted(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is imported: the line names the node that exceeds the limit; a smaller model compiles."""
    monkeypatch.setenv("INARCH_MAX_OPS", "50")
    path = tmp_path / "m.onnx"
    path.write_bytes(many(kind, 60).SerializeToString())
    done = cli.run(["compile", str(path), "--emit=loop"])
    assert done.code == 1
    assert re.fullmatch(
        rf"{re.escape(str(path))}: node '(many|y(/then_branch/y|/else_branch/y)+)' \(\w+\): error: "
        r"expected at most 50 operations, found (51|59); where you trust the model, "
        r"\$INARCH_MAX_OPS raises the limit\n",
        done.err,
    )
    monkeypatch.setenv("INARCH_MAX_OPS", "400")
    assert cli.run(["compile", str(path), "--emit=loop"]).code == 0


RUNS: dict[str, dict[str, Any]] = {
    "MaxPool": {"kernel_shape": [100, 100], "pads": [50] * 4},  # a padded copy
    "AveragePool": {"kernel_shape": [100, 100], "pads": [50] * 4},
    "Pad": {},  # a result
}


@pytest.mark.parametrize("command", ["compile", "verify"])
@pytest.mark.parametrize("kind", RUNS)
def test_memory_of_a_call_is_counted_before_it_is_taken(
    kind: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the definitions take in `verify`, too; each in a line that names the node and the size."""
    pads = numpy_helper.from_array(np.array([0, 0, 50, 50, 0, 0, 50, 50]), "p")
    inputs = ["x", "p"] if kind == "Pad" else ["x"]
    graph = helper.make_graph(
        [Node(kind, inputs, ["y"], **RUNS[kind])],
        "g",
        [Info("x", 1, [1, 1, 10, 10])],
        [Info("y", 1, None)],
        [pads],
    )
    path = tmp_path / "m.onnx"
    imports = [helper.make_opsetid("", 17)]
    path.write_bytes(
        helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()
    )
    monkeypatch.setenv("INARCH_MAX_RUN_BYTES", "40000")
    made = ["--emit=c", "-o", str(tmp_path / "m.c")] if command == "compile" else []
    done = cli.run([command, str(path), *made])
    assert done.code == 1
    found = re.fullmatch(
        r"y: error: expected at most 40000 bytes of memory at run time, found (\d+); where you trust the "
        r"model, \$INARCH_MAX_RUN_BYTES raises the limit\n",
        done.err,
    )
    assert found is not None, done.err
    assert 4 * 110**2 <= int(found[1]) < 60_000


def test_no_memory_is_a_line_and_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NumPy gets none for a definition: exit code 3, and the op."""
    path = tmp_path / "m.mlir"
    kind = "tensor<4xf32>"
    path.write_text(
        f"func.func @main(%x: {kind}) -> {kind} {{\n  %y = graph.relu %x : {kind} -> {kind}\n"
        f"  func.return %y : {kind}\n}}"
    )

    def none_left(*_: object) -> None:
        raise MemoryError("Unable to allocate 9 GiB")

    monkeypatch.setattr(ReluOp, "reference", none_left)
    done = cli.run(["verify", str(path)])
    assert (done.code, done.err) == (
        3,
        f"{path}:2:3: error: expected memory for the definition of 'graph.relu': Unable to allocate 9 GiB\n",
    )
    monkeypatch.setattr("inarch.diagnosis.verify.random_inputs", none_left)
    done = cli.run(["verify", str(path)])
    assert (done.code, done.err) == (3, "error: expected more memory: Unable to allocate 9 GiB\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", MANY)
def test_time_follows_what_a_model_means(kind: str, tmp_path: Path) -> None:
    """CPU time of four times as many operations is no more than five times as long."""
    path = tmp_path / "m.onnx"
    found: list[float] = []
    for count in (2, 300, 1200):  # the first one imports modules
        path.write_bytes(many(kind, count).SerializeToString())
        start = time.process_time()
        done = cli.run(["compile", str(path), "--emit=kernel", "-o", str(tmp_path / "m.mlir")])
        found.append(time.process_time() - start)
        assert done.code == 0, done.err
    _, some, more = found
    assert more < 5 * some, f"{kind}: {some:.2f} s for 300, {more:.2f} s for 1200"


def text_error(text: str) -> str:
    with pytest.raises(InarchError) as caught:
        verify_module(parse_module(new_context(), text, "m.mlir"))
    return caught.value.line()


DEEP = (
    "expected at most 100 levels of nesting, found 101; where you trust the model, "
    "$INARCH_MAX_DEPTH raises the limit"
)

TEXTS = {
    "the width of an array's integers": (
        "func.func @f() attributes {q = array<i30000000000: 1>} {\n  func.return\n}",
        "m.mlir:1:38: error: expected an integer type of at most 64 bits, found 'i30000000000'",
    ),
    "the width of a constant": (
        "func.func @f() attributes {q = 1 : i4294967296} {\n  func.return\n}",
        "m.mlir:1:36: error: expected an integer type of at most 64 bits, found 'i4294967296'",
    ),
    "a width that is a number of 5000 digits": (
        f"func.func @f(%a: ui{'9' * 5000}) {{ func.return }}",
        f"m.mlir:1:18: error: expected an integer type of at most 64 bits, found 'ui{'9' * 35}...'",
    ),
    "a hexadecimal number of 5000 digits": (
        f"func.func @f() attributes {{q = 0x{'F' * 5000} : i64}} {{ func.return }}",
        f"m.mlir:1:32: error: expected an integer of at most 64 bits, found '0x{'F' * 35}...'",
    ),
    "a size of 5000 digits": (
        f"func.func @f(%a: tensor<{'9' * 5000}xf32>) {{ func.return }}",
        f"m.mlir:1:25: error: expected an integer of at most 64 bits, found '{'9' * 37}...'",
    ),
    "a splat of 80 GB": (
        "func.func @f() {\n  %0 = graph.constant dense<1.0> : tensor<99999x99999xf32>\n  func.return\n}",
        "m.mlir:3:3: error: " + ELEMENTS.format(79998400008),
    ),
    "three splats that are too large together": (
        "func.func @f() {\n  %0 = graph.constant dense<> : tensor<0xf32>\n"
        "  %1 = graph.constant dense<1.0> : tensor<1000xf32>\n"
        "  %2 = graph.constant dense<1.0> : tensor<33554000xf32>\n  func.return\n}",
        "m.mlir:5:3: error: " + ELEMENTS.format(268440000),
    ),
    "brackets in brackets": (
        f"func.func @f() attributes {{q = {'[' * 5000}{']' * 5000}}} {{ func.return }}",
        f"m.mlir:1:131: error: {DEEP}",
    ),
    "types in types": (
        f"func.func @f(%a: {'tuple<' * 5000}f32{'>' * 5000}) {{ func.return }}",
        f"m.mlir:1:617: error: {DEEP}",
    ),
    "terms of an affine expression": (
        f"func.func @f() attributes {{q = affine_map<(d0) -> ({'d0 + ' * 5000}d0)>}} {{ func.return }}",
        f"m.mlir:1:43: error: {DEEP}",
    ),
    "a value of a region that is used before it": (
        'func.func @call(%1: tensor<4xf32>) {\n  %0 = graph.composite "toy.f"(%x) : (tensor<4xf32>) -> '
        "tensor<4xf32> {\n  ^bb0(%y: tensor<4xf32>):\n    %x = graph.call @call(%y) : tensor<4xf32> -> "
        "tensor<4xf32>\n    graph.yield %1 : tensor<4xf32>\n  }\n  func.return\n}",
        "m.mlir:2:32: error: value %x is used but not defined here; one of a region is not known outside",
    ),
    "pads that no window needs": (
        "func.func @f(%x: tensor<1x1x10xf32>) -> tensor<1x1x9xf32> {\n  %0 = graph.avg_pool %x window = [3] "
        "strides = [1] pads = [4294967296, 0] dilations = [1] : tensor<1x1x10xf32> -> tensor<1x1x9xf32>\n"
        "  func.return %0 : tensor<1x1x9xf32>\n}",
        "m.mlir:2:3: error: 'graph.avg_pool' C3: expected pads below 2**31, found [4294967296, 0]",
    ),
}


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("what", TEXTS)
def test_a_few_bytes_of_mlir_build_nothing_large(what: str) -> None:
    text, line = TEXTS[what]
    assert text_error(text) == line


def test_one_more_than_64_bits_and_numbers_of_pages_are_no_numbers() -> None:
    for number, kind in (("18446744073709551616", "i64"), (f"1.{'0' * 2000}", "f64")):
        text = f"func.func @f() attributes {{q = {number} : {kind}}} {{ func.return }}"
        assert text_error(text).startswith("m.mlir:1:32: error: expected a")


def test_brackets_that_close_nothing_pay_for_none() -> None:
    assert text_error(")" * 200 + "(" * 150) == f"m.mlir:1:301: error: {DEEP}"


def test_splats_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is below the limit; an element is one of eight bytes to the parser."""
    monkeypatch.setenv("INARCH_MAX_CONSTANT_BYTES", "8000")
    splat = "dense<1.0> : tensor<600xf32>"
    text = f"func.func @f() attributes {{q = {splat}, r = {splat}}} {{ func.return }}"
    assert "expected at most 8000 bytes of computed constants, found 9600;" in text_error(text)


def test_what_is_at_the_limit_is_read() -> None:
    """Exact: 64 bits, 100 brackets, 1 MiB of a splat."""
    texts = [
        "func.func @f() attributes {q = 18446744073709551615 : ui64} { func.return }",
        f"func.func @f() attributes {{q = {'[' * 99}{']' * 99}}} {{ func.return }}",
        "func.func @f() attributes {q = 0x00000000000000000000000000000000000000001 : i64} { func.return }",
        "func.func @f() attributes {q = dense<1.0> : tensor<131072xf64>} { func.return }",
        'func.func @f() attributes {q = "((((((((((", i65 = 1 : i64} { func.return }  // '
        + "[" * 200,
    ]
    for text in texts:
        verify_module(parse_module(new_context(), text, "m.mlir"))


Info = helper.make_tensor_value_info


def model_error(
    nodes: Sequence[onnx.NodeProto],
    shape: Sequence[int],
    constants: dict[str, Any] | None = None,
    *,
    functions: Sequence[onnx.FunctionProto] = (),
    dtype: int = 1,
) -> str:
    """How the import of these nodes from `x` to `y` ends."""
    weights = [numpy_helper.from_array(np.array(v), k) for k, v in (constants or {}).items()]
    graph = helper.make_graph(
        nodes, "g", [Info("x", dtype, shape)], [Info("y", dtype, None)], weights
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("l", 1)]
    model = helper.make_model(graph, functions=functions, opset_imports=imports, ir_version=8)
    try:
        import_onnx(model.SerializeToString(), new_context())
    except InarchError as error:
        return error.line()
    return "read"


Node = helper.make_node
RANGE = {"a": 0, "b": 10**10, "c": 1}
F32_RANGE = {key: np.float32(value) for key, value in (("a", 0), ("b", 1e30), ("c", 1))}

MODELS: dict[str, tuple[list[onnx.NodeProto], list[int], dict[str, Any], int, str]] = {
    "Resize, linear": (
        [Node("Resize", ["x", "", "s"], ["y"], mode="linear")],
        [1, 1, 4, 4],
        {"s": np.array([1, 1, 1e9, 1], "f")},
        1,
        "node 'y' (Resize): error: " + ELEMENTS.format("6399999..."),
    ),
    "Resize, nearest": (
        [Node("Resize", ["x", "", "s"], ["y"])],
        [1, 1, 4, 4],
        {"s": np.array([1, 1, 1e9, 1], "f")},
        1,
        "node 'y' (Resize): error: " + ELEMENTS.format("3199999..."),
    ),
    "OneHot": (
        [Node("Cast", ["x"], ["i"], to=7), Node("OneHot", ["i", "d", "v"], ["y"])],
        [4],
        {"d": 10**10, "v": np.array([0, 1], "f")},
        1,
        "node 'y' (OneHot): error: " + ELEMENTS.format("79999999..."),
    ),
    "Range": (
        [Node("Range", ["a", "b", "c"], ["r"]), Node("Add", ["x", "r"], ["y"])],
        [1],
        RANGE,
        7,
        "node 'r' (Range): error: " + ELEMENTS.format("7999999..."),
    ),
    "Range of floats": (
        [Node("Range", ["a", "b", "c"], ["r"]), Node("Add", ["x", "r"], ["y"])],
        [1],
        F32_RANGE,
        1,
        "node 'r' (Range): error: " + ELEMENTS.format("more than 2**102"),
    ),
    "Range without an end": (
        [Node("Range", ["a", "b", "b"], ["r"]), Node("Add", ["x", "r"], ["y"])],
        [1],
        {"a": np.float32(1), "b": np.float32(0)},
        1,
        "node 'r' (Range): error: expected a range that ends, found 1.0 to 0.0 by 0.0",
    ),
    "Pad, by reflection": (
        [Node("Pad", ["x", "s"], ["y"], mode="reflect")],
        [4],
        {"s": [10**12, 0]},
        1,
        "node 'y' (Pad): error: " + ELEMENTS.format("7999999999..."),
    ),
    "Trilu": (
        [Node("Trilu", ["x"], ["y"])],
        [10**5, 10**5],
        {},
        1,
        "node 'y' (Trilu): error: " + ELEMENTS.format("9999999..."),
    ),
    "EyeLike": (
        [Node("EyeLike", ["x"], ["e"]), Node("Add", ["x", "e"], ["y"])],
        [10**5, 10**5],
        {},
        1,
        "node 'e' (EyeLike): error: " + ELEMENTS.format("39999999..."),
    ),
    "Hardmax": (
        [Node("Hardmax", ["x"], ["y"], axis=0)],
        [10**11, 1],
        {},
        1,
        "node 'y' (Hardmax): error: " + ELEMENTS.format("7999999..."),
    ),
    "Expand": (
        [Node("Expand", ["x", "s"], ["y"])],
        [1],
        {"s": [10**12]},
        1,
        "node 'y' (Expand): error: expected tensors of less than 1 TiB, found one of shape (1000000000000,)",
    ),
    "AveragePool, pads": (
        [Node("AveragePool", ["x"], ["y"], kernel_shape=[3], strides=[1], pads=[1 << 32, 0])],
        [1, 1, 10],
        {},
        1,
        "node 'y' (AveragePool): error: expected pads below 2**31, found [4294967296, 0]",
    ),
    "MaxPool, windows over the edges": (
        [Node("MaxPool", ["x"], ["y"], kernel_shape=[1 << 30], pads=[(1 << 30) - 1, 1 << 29])],
        [1, 1, 100],
        {},
        1,
        "node 'y' (MaxPool): error: expected at most 1048576 windows over the edges, found 536871012 in "
        "spatial dimension 0",
    ),
    "Split": (
        [Node("Split", ["x"], ["y", *(f"y{i}" for i in range(60_000))], axis=0)],
        [60_001],
        {},
        1,
        "node 'y' (Split): error: " + COUNT.format(60_002),
    ),
}


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("what", MODELS)
def test_a_few_bytes_of_a_model_build_nothing_large(what: str) -> None:
    """The digits of a size depend on the model's own, which is taken off: they are cut here."""
    nodes, shape, constants, dtype, line = MODELS[what]
    found = model_error(nodes, shape, constants, dtype=dtype)
    before, cut, behind = line.partition("...")
    assert found.startswith(f"<model>: {before}")
    assert found.endswith(behind if cut else "")


def test_functions_that_double_thirty_times() -> None:
    """Depth is bounded, and so is number: 2**30 calls stand in a few hundred bytes."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("l", 1)]
    functions = [
        helper.make_function("l", "f0", ["a"], ["b"], [Node("Relu", ["a"], ["b"])], imports)
    ]
    for i in range(1, 31):
        calls = [Node(f"f{i - 1}", ["a"], [f"t{k}"], domain="l") for k in (0, 1)]
        nodes = [*calls, Node("Add", ["t0", "t1"], ["b"])]
        functions.append(helper.make_function("l", f"f{i}", ["a"], ["b"], nodes, imports))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INARCH_MAX_NODES", "200")
        found = model_error([Node("f30", ["x"], ["y"], domain="l")], [4], functions=functions)
    assert found.startswith("<model>: node 'y/t0/t0/t0/")
    assert found.endswith(COUNT.replace("50000", "200").format(201))


def loop(condition: onnx.NodeProto) -> list[onnx.NodeProto]:
    inputs = [Info("i", 7, []), Info("c", 9, []), Info("s", 1, [4])]
    outputs = [Info("co", 9, []), Info("so", 1, [4])]
    body = helper.make_graph([condition, Node("Add", ["s", "s"], ["so"])], "b", inputs, outputs)
    return [Node("Loop", ["m", "", "x"], ["y"], body=body)]


def test_a_loop_that_goes_on_is_refused_before_its_first_iteration() -> None:
    """10**9 iterations whose condition is the one before: known at once; each iteration counts nodes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INARCH_MAX_NODES", "1")  # which the first node of an iteration would exceed
        found = model_error(loop(Node("Identity", ["c"], ["co"])), [4], {"m": 10**9})
    assert found == "<model>: error: unsupported: Loop: a loop of more than 20000 nodes ('y')"


def test_a_loop_that_ends_early_is_read() -> None:
    """Its condition is of the iteration's number: it may end long before the trip count."""
    assert model_error(loop(Node("Less", ["i", "k"], ["co"])), [4], {"m": 10**9, "k": 3}) == "read"


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("size", [-1, -2])
def test_sizes_of_a_tensor_are_not_negative(size: int) -> None:
    tensor = onnx.TensorProto(name="w", dims=[size], data_type=1, raw_data=b"")
    with pytest.raises(InarchError, match=rf"expected sizes >= 0, found \[{size}\]$"):
        tensor_array(tensor, None, Folders(), "m.onnx")


def test_a_tensor_has_as_much_data_as_its_shape_says() -> None:
    raw = onnx.TensorProto(name="w", dims=[2], data_type=1, raw_data=bytes(12))
    numbers = onnx.TensorProto(name="w", dims=[2], data_type=1, float_data=[1, 2, 3])
    for tensor, message in (
        (raw, "8 bytes of data, found 12"),
        (numbers, "2 numbers of data, found 3"),
    ):
        with pytest.raises(InarchError, match=rf"expected {message}$"):
            tensor_array(tensor, None, Folders(), "m.onnx")


def test_constants_that_a_model_implies_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of about 4000 bytes, each below the limit."""
    monkeypatch.setenv("INARCH_MAX_CONSTANT_BYTES", "9000")
    nodes = [helper.make_node("ConstantOfShape", ["s"], [name]) for name in "abc"]
    nodes += [helper.make_node("Sum", ["x", "a", "b", "c"], ["y"])]
    error = model_error(nodes, [1000], {"s": np.array([1000])})
    assert (
        "node 'c' (ConstantOfShape): error: expected at most 9000 bytes of computed constants"
        in error
    )


def test_names_that_functions_repeat_are_cut() -> None:
    """A name of 1 MB in a call of 2**8 nodes was 256 MB of locations."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("l", 1)]
    functions = [
        helper.make_function("l", "f0", ["a"], ["b"], [Node("Relu", ["a"], ["b"])], imports)
    ]
    for i in range(1, 9):
        calls = [Node(f"f{i - 1}", ["a"], [f"t{k}"], domain="l") for k in (0, 1)]
        nodes = [*calls, Node("Add", ["t0", "t1"], ["b"])]
        functions.append(helper.make_function("l", f"f{i}", ["a"], ["b"], nodes, imports))
    call = Node("f8", ["x"], ["y"], domain="l", name="n" * 1_000_000)
    assert model_error([call], [4], functions=functions) == "read"


def test_shrink_of_integers_has_limits_that_are_no_integers_of_the_dtype() -> None:
    """lambd = 2 on u8: -2 is no u8, and nothing is below it. As onnxruntime has it."""
    import inarch

    graph = helper.make_graph(
        [Node("Shrink", ["x"], ["y"], lambd=2.0, bias=1.0)],
        "g",
        [Info("x", 2, [5])],
        [Info("y", 2, [5])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4)
    found = inarch.compile(model)(np.array([0, 1, 2, 3, 200], np.uint8))
    assert found.tolist() == [0, 0, 0, 2, 199]


def test_taps_are_counted_in_closed_form_as_they_are_one_by_one() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2):
        size, begin, end = (int(n) for n in rng.integers(0, 9, 3))
        taps, stride, dilation = (int(n) for n in rng.integers(1, 6, 3))
        window = Window((taps,), (stride,), (begin, end), (dilation,))
        if size + begin + end < window.extents[0]:
            continue
        (count,) = window.outputs((size,), ceil=bool(rng.integers(2)))
        starts = [o * stride - begin for o in range(count)]
        offsets = range(0, window.extents[0], dilation)
        for low, high in ((0, size), (-begin, size + end)):
            wanted = [sum(low <= start + k < high for k in offsets) for start in starts]
            assert window.taps_inside(0, np.arange(count), low, high).tolist() == wanted
        over = [o for o, s in enumerate(starts) if s < 0 or s + window.extents[0] > size]
        assert sorted(n for part in window.over_edges(0, size, count) for n in part) == over


def test_a_limit_is_raised_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InarchError):
        NODES.check(50_001)
    monkeypatch.setenv("INARCH_MAX_NODES", "50001")
    NODES.check(50_001)
    for text in ("many", "٣٣", "9" * 19, ""):
        monkeypatch.setenv("INARCH_MAX_NODES", text)
        with pytest.raises(UsageError) as caught:
            NODES.check(1)
        assert str(caught.value) == (
            f"expected $INARCH_MAX_NODES to be a whole number below 10**18, found '{text}'"
        )


def test_a_number_of_many_digits_is_said_as_a_power_of_two() -> None:
    with pytest.raises(InarchError, match=r"found more than 2\*\*81; where"):
        NODES.check(3 << 80)
    assert number_text((1 << 64) - 1) == "18446744073709551615"


def test_digits_of_a_pipeline() -> None:
    with pytest.raises(UsageError) as caught:
        parse_pipeline("cse{a=" + "9" * 5000 + "}")
    assert str(caught.value) == f"pipeline 'cse{{a={'9' * 34}...': expected shorter numbers"


def test_messages_are_short_however_long_names_are() -> None:
    line = unknown("pass", "x" * 100_000, ["cse"]).line()
    assert len(line) < 400
    assert line.endswith("Known: cse")
    error = InarchError("y" * 100_000 + " the end", where="x" * 100_000)
    assert len(error.line()) < 2600
    assert error.line().endswith("the end")


@pytest.mark.parametrize("value", ["n=²", "n=٣", "n=" + "9" * 5000])
def test_digits_of_other_scripts_and_thousands_of_them_are_no_size(value: str) -> None:
    """`str.isdigit` is true of them; `int` raises."""
    outcome = cli.run(["compile", "m.onnx", "--dim", value])
    assert outcome.code == 2
    assert outcome.err.startswith(
        "error: --dim: expected NAME=VALUE with a whole number, found 'n="
    )


def test_a_graph_with_a_name_of_300_characters_compiles() -> None:
    """The name is that of a file of C on the way."""
    import inarch

    graph = helper.make_graph(
        [Node("Relu", ["x"], ["y"])], "g" * 300, [Info("x", 1, [4])], [Info("y", 1, [4])]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    found: Any = inarch.compile(model.SerializeToString())(np.ones(4, np.float32))
    assert found.tolist() == [1, 1, 1, 1]
    outcome = cli.run(["compile", "m.onnx", "--name", "n" * 101])
    assert outcome.code != 70


@pytest.mark.parametrize("shape", [(1 << 62, 1 << 62), (0, 1 << 62)])
def test_an_input_that_no_machine_holds(shape: tuple[int, ...]) -> None:
    """Products of its sizes are no 64-bit numbers, which what is computed from shapes relies on."""
    name = helper.make_opsetid("", 17)
    info = onnx.helper.make_tensor_value_info("x", 1, shape)
    graph = helper.make_graph([Node("Size", ["x"], ["y"])], "g", [info], [Info("y", 7, [])])
    model = helper.make_model(graph, opset_imports=[name], ir_version=8)
    sizes = Sizes(shapes={"x": shape} if 0 in shape else {})
    with pytest.raises(InarchError) as caught:
        import_onnx(model.SerializeToString(), new_context(), sizes)
    assert caught.value.line() == (
        f"<model>: input 'x': error: expected tensors of less than 1 TiB, found one of shape {shape}"
    )


def test_sizes_of_an_op_that_are_no_64_bit_numbers() -> None:
    nodes = [Node("Reshape", ["x", "s"], ["y"])]
    found = model_error(nodes, [1], {"s": [(1 << 62), -1, (1 << 62)]})
    assert found == (
        "<model>: node 'y' (Reshape): error: expected a shape for 1 elements, "
        "found [4611686018427387904, -1, 4611686018427387904]"
    )
    with pytest.raises(VerifyException) as caught:
        as_attribute([1 << 65])
    assert str(caught.value) == "expected integers of at most 64 bits, found larger ones"
