"""The interface of onnxruntime over Inarch, against onnxruntime itself."""

# Onnx and onnxruntime are untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownLambdaType=false, reportUnknownParameterType=false
# ruff: noqa: B023 - each lambda runs at once
from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as theirs
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model

import inarch.compat.onnxruntime as ours
from inarch.compat.onnxruntime import errors
from inarch.compat.onnxruntime.devices import HOST
from inarch.testing.onnx_graphs.drawing import Refused
from inarch.testing.onnx_graphs.nodes import graph
from inarch.testing.onnxruntime_calls.__main__ import check
from inarch.testing.onnxruntime_calls.compare import outcome_of
from inarch.testing.onnxruntime_calls.steps import State, said_of

CPU = "CPUExecutionProvider"
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
info = helper.make_tensor_value_info
node = helper.make_node

pytestmark = pytest.mark.filterwarnings("ignore:input 'w':inarch.core.errors.InarchWarning")

theirs.set_default_logger_severity(4)
STATE: Any = getattr(theirs, "capi").onnxruntime_pybind11_state  # noqa: B009 - which has no types


def model(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    initializers: Sequence[Any] = (),
    *,
    opset: int = 17,
    ir: int = 8,
    **said: Any,
) -> bytes:
    made = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(made, opset_imports=imports, ir_version=ir, **said).SerializeToString()


def relu(x: Sequence[Any] | None, y: Sequence[Any] | None, kind: int = FLOAT) -> bytes:
    return model([node("Relu", ["x"], ["y"])], [info("x", kind, x)], [info("y", kind, y)])


def opened(data: bytes | str | Path) -> tuple[Any, Any]:
    """A session of ours, and one of theirs."""
    mine, real = (
        library.InferenceSession(data, providers=["CPUExecutionProvider"])
        for library in (ours, theirs)
    )
    return mine, real


def told(run: Callable[[], object]) -> tuple[str, str]:
    """The class of the exception and the first line of its text."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of any class
        run()
    return type(caught.value).__name__, str(caught.value).splitlines()[0]


W = numpy_helper.from_array(np.full(3, 2, np.float32), "w")
ADD = [node("Add", ["x", "w"], ["y"])]
X3, Y3, W3 = (info(name, FLOAT, [3]) for name in "xyw")

MODELS = {
    "static": relu([2, 3], [2, 3]),
    "open": relu([2, "n"], [2, "n"]),
    "anonymous": relu([2, None], ["a", "b"]),
    "known better": relu([2, 3], ["a", "b"]),
    "no shape of the output": relu([2, "n"], None),
    "no rank": relu(None, None),
    "scalar": relu([], []),
    "sizes below 1": relu([0, -1], [0, -1]),
    "double": relu([1], [1], TensorProto.DOUBLE),
    "int32": relu([1], [1], TensorProto.INT32),
    "int64": model([node("Neg", ["x"], ["y"])], [info("x", INT64, [1])], [info("y", INT64, ["n"])]),
    "bool": model(
        [node("Not", ["x"], ["y"])],
        [info("x", TensorProto.BOOL, [1])],
        [info("y", TensorProto.BOOL, None)],
    ),
    "uint8": model(
        [node("Cast", ["x"], ["y"], to=TensorProto.UINT8)],
        [info("x", TensorProto.UINT16, [1])],
        [info("y", TensorProto.UINT8, None)],
    ),
    "initializer": model(ADD, [X3], [Y3], [W]),
    "overridable": model(ADD, [X3, W3], [Y3], [W]),
    "not overridable": model(ADD, [X3, W3], [Y3], [W], ir=3),
    "two outputs": model(
        [node("Split", ["x"], ["y", "z"], axis=1)],
        [info("x", FLOAT, [2, 4])],
        [info("z", FLOAT, None), info("y", FLOAT, None)],
        opset=11,
    ),
    "computed": model(
        [node("NonZero", ["x"], ["y"])], [info("x", FLOAT, [4])], [info("y", INT64, None)]
    ),
    "said": model(
        ADD,
        [X3],
        [Y3],
        [W],
        producer_name="P",
        domain="D",
        model_version=7,
        doc_string="of the model",
    ),
}


@pytest.mark.every_case(reason="each is another kind of declaration")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_says_the_same(name: str) -> None:
    mine, real = opened(MODELS[name])
    for ask in ("get_inputs", "get_outputs", "get_overridable_initializers"):
        found, expected = (
            [(arg.name, arg.type, arg.shape) for arg in getattr(one, ask)()] for one in (mine, real)
        )
        assert found == expected, ask
    assert [str(arg) for arg in mine.get_inputs()] == [str(arg) for arg in real.get_inputs()]
    for field in vars(mine.get_modelmeta()):
        assert getattr(mine.get_modelmeta(), field) == getattr(real.get_modelmeta(), field), field


def test_runs_as_onnxruntime() -> None:
    """Random graphs, at once and from the cache, with outputs in another order."""
    tried = 0
    for seed in range(40, 60):
        try:
            case = graph(seed)
        except Refused:
            continue
        try:
            mine, real = opened(case.model.SerializeToString())
        except STATE.NotImplemented:
            continue
        names = [arg.name for arg in real.get_outputs()][::-1]
        for asked in (None, names, [*names, names[0]]):
            found, expected = (one.run(asked, case.inputs) for one in (mine, real))
            assert len(found) == len(expected)
            for name, one, other in zip(asked or names[::-1], found, expected, strict=True):
                assert (one.dtype, one.shape) == (other.dtype, other.shape)
                np.testing.assert_allclose(one, case.expected[name], 1e-4, 1e-5)
        tried += 1
        if tried == 3:
            return


def test_inputs_of_all_kinds() -> None:
    mine, real = opened(MODELS["open"])
    array = np.arange(-6, 6, dtype=np.float32).reshape(2, 6)
    given: list[Any] = [
        array,
        array[:, ::2],
        array.reshape(6, 2).T,
        np.asfortranarray(array),
        [[1, -2], [3, 4]],
        array[:, :0],
        ours.OrtValue.ortvalue_from_numpy(array),
    ]
    for value in given:
        other = theirs.OrtValue.ortvalue_from_numpy(array) if value is given[-1] else value
        found, expected = mine.run(None, {"x": value})[0], real.run(None, {"x": other})[0]
        np.testing.assert_array_equal(found, expected, strict=True)
    swapped = array.astype(">f4")  # whose bytes onnxruntime takes as they are
    np.testing.assert_array_equal(mine.run(["y"], {"x": swapped})[0], np.maximum(array, 0))
    options = ours.RunOptions()
    options.add_run_config_entry("a", "b")
    np.testing.assert_array_equal(mine.run([], {"x": array}, options)[0], np.maximum(array, 0))


def test_inputs_that_decide_shapes() -> None:
    """Values are compiled for; the next session knows which, and is right for others."""
    data = model(
        [node("Reshape", ["x", "s"], ["y"])],
        [info("x", FLOAT, [6]), info("s", INT64, [2])],
        [info("y", FLOAT, ["a", "b"])],
    )
    x = np.arange(6, dtype=np.float32)
    for session in opened(data), opened(data):
        for shape in (2, 3), (3, 2), (2, 3), (6, 1):
            for one in session:
                assert one.run(None, {"x": x, "s": np.array(shape)})[0].shape == shape


def test_overridable_initializers() -> None:
    for one in opened(MODELS["overridable"]):
        x, w = np.ones(3, np.float32), np.array([1, 2, 3], np.float32)
        assert one.run(None, {"x": x})[0].tolist() == [3, 3, 3]
        for _ in range(2):
            assert one.run(None, {"x": x, "w": w})[0].tolist() == [2, 3, 4]
            w += 0
        assert one.run(["y"], {"x": x, "w": w + 1})[0].tolist() == [3, 4, 5]
        assert one.run(["y"], {"x": x})[0].tolist() == [3, 3, 3]


def test_scalars_may_have_a_shape() -> None:
    """As there: also bound, and in a run after one without."""
    data = model(
        [node("Add", ["x", "s"], ["y"])],
        [info("x", FLOAT, [3]), info("s", FLOAT, [])],
        [info("y", FLOAT, [3])],
    )
    x = np.arange(3, dtype=np.float32)
    for s in np.array(1), np.array([1]), np.array(2), np.array([[1], [2]]), [3.0]:
        value = s if isinstance(s, list) else s.astype(np.float32)
        mine, real = (one.run(None, {"x": x, "s": value}) for one in opened(data))
        np.testing.assert_array_equal(mine[0], real[0], strict=True)
    for session in opened(data):
        bound = session.io_binding()
        bound.bind_cpu_input("x", x)
        bound.bind_cpu_input("s", np.ones(1, np.float32))
        bound.bind_output("y")
        session.run_with_iobinding(bound)
        assert bound.copy_outputs_to_cpu()[0].tolist() == [1, 2, 3]


X23 = np.ones((2, 3), np.float32)
WRONG_RUNS: dict[str, tuple[str, Any, Any]] = {
    "a missing input": ("open", None, {}),
    "an unknown input": ("open", None, {"x": X23, "z": X23}),
    "an unknown output": ("open", ["q"], {"x": X23}),
    "an unknown output beside one": ("open", ["y", "q"], {"x": X23}),
    "another dtype": ("open", None, {"x": X23.astype(np.float64)}),
    "another rank": ("open", None, {"x": X23[0]}),
    "another size": ("open", None, {"x": X23.T.copy()}),
    "other sizes": ("static", None, {"x": np.ones((3, 4), np.float32)}),
    "a list of another size": ("static", None, {"x": [[1, 2]]}),
    "a ragged list": ("static", None, {"x": [[1, 2], [3]]}),
    "a number": ("static", None, {"x": 3.0}),
    "a number of NumPy": ("scalar", None, {"x": np.float32(3)}),
    "a tuple": ("static", None, {"x": (1, 2)}),
    "text": ("static", None, {"x": "1"}),
    "nothing": ("static", None, {"x": None}),
    "a constant": ("initializer", None, {"x": X23[0], "w": X23[0]}),
    "a list for a default": ("overridable", None, {"x": X23[0], "w": [1.0, 2.0, 3.0]}),
    "a default of another size": ("overridable", None, {"x": X23[0], "w": X23[0, :2]}),
    "no list of outputs": ("static", "yy", {"x": X23}),
}


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("what", WRONG_RUNS)
def test_wrong_runs_are_told_as_there(what: str) -> None:
    name, outputs, feed = WRONG_RUNS[what]
    (mine, text), (real, expected) = (
        told(lambda one=one: one.run(outputs, feed)) for one in opened(MODELS[name])
    )
    assert mine == real
    if what not in {"nothing", "no list of outputs", "a ragged list"}:  # there it tells of C++
        assert text == expected


X2, Y2 = info("x", FLOAT, [2]), info("y", FLOAT, None)
WRONG_MODELS: dict[str, Any] = {
    "text": b"hello world, not a model",
    "no bytes": b"",
    "a number": 5,
    "no file": "nothing.onnx",
    "a folder": ".",
    "an unknown operator": model([node("Foo", ["x"], ["y"])], [X2], [Y2]),
    "an unknown domain": model([node("Foo", ["x"], ["y"], domain="d")], [X2], [Y2]),
    "an unknown attribute": model([node("Relu", ["x"], ["y"], foo=1)], [X2], [Y2]),
    "an opset to come": model([node("Relu", ["x"], ["y"])], [X2], [Y2], opset=99),
    "a format to come": model([node("Relu", ["x"], ["y"])], [X2], [Y2], ir=99),
    "no such value": model([node("Relu", ["q"], ["y"])], [X2], [Y2]),
    "no such output": model([node("Relu", ["x"], ["y"])], [X2], [info("z", FLOAT, None)]),
    "two of a name": model([node("Relu", ["x"], ["y"])] * 2, [X2], [Y2]),
    "a circle": model([node("Relu", ["y"], ["z"]), node("Relu", ["z"], ["y"])], [X2], [Y2]),
    "shapes": model(
        [node("MatMul", ["x", "w"], ["y"])],
        [info("x", FLOAT, [2, 2]), info("w", FLOAT, [3, 2])],
        [Y2],
    ),
    "dtypes": model(ADD, [X2, info("w", TensorProto.DOUBLE, [2])], [Y2]),
}


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("what", WRONG_MODELS)
def test_wrong_models_are_told_as_there(what: str) -> None:
    found = WRONG_MODELS[what]
    (mine, text), (real, expected) = (
        told(lambda one=one: one.InferenceSession(found, providers=["CPUExecutionProvider"]))
        for one in (ours, theirs)
    )
    assert mine == real
    assert (
        text.partition("INVALID_PROTOBUF")[0].split(" : ")[:3]
        == expected.partition("INVALID_PROTOBUF")[0].split(" : ")[:3]
    )


def test_what_inarch_does_not_do_names_the_model(tmp_path: Path) -> None:
    file = tmp_path / "half.onnx"
    file.write_bytes(relu([2], None, TensorProto.FLOAT8E8M0))
    assert told(lambda: ours.InferenceSession(file)) == (
        "NotImplemented",
        f"[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : {file}: unsupported: dtype float8e8m0; give its row by "
        "--load f8E8M0FNU.py (docs/extending.md) ('x')",
    )
    sequence = model(
        [node("SequenceConstruct", ["x"], ["s"]), node("SequenceLength", ["s"], ["y"])],
        [info("x", FLOAT, ["n"])],
        [info("y", INT64, [])],
    )
    kind, text = told(lambda: ours.InferenceSession(sequence))
    assert kind == "NotImplemented"
    assert text.startswith(
        "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : <model>: unsupported: Sequence"
    )


def test_a_model_of_two_files_and_a_file_that_goes(tmp_path: Path) -> None:
    path = tmp_path / "big.onnx"
    weights = numpy_helper.from_array(np.arange(600, dtype=np.float32).reshape(2, 300), "w")
    proto = helper.make_model(
        helper.make_graph(
            [node("MatMul", ["x", "w"], ["y"])],
            "g",
            [info("x", FLOAT, ["n", 2])],
            [info("y", FLOAT, None)],
            [weights],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    save_model(proto, str(path), save_as_external_data=True, location="w.bin", size_threshold=0)
    mine, real = opened(str(path))
    np.testing.assert_array_equal(*(one.run(None, {"x": X23[:, :2]})[0] for one in (mine, real)))
    file = tmp_path / "here.onnx"
    file.write_bytes(MODELS["open"])
    session = ours.InferenceSession(file)
    file.unlink()
    assert session.run(None, {"x": X23})[0].shape == (2, 3)


def test_bound_memory() -> None:
    data = model(
        [node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["z"])],
        [info("x", FLOAT, [2, "n"])],
        [info("y", FLOAT, None), info("z", FLOAT, None)],
    )
    for session, library in zip(opened(data), (ours, theirs), strict=True):
        x, y = np.full((2, 3), -1, np.float32), np.empty((2, 3), np.float32)
        z = library.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
        binding = session.io_binding()
        assert told(lambda: binding.bind_cpu_input("q", x))[0] == "RuntimeError"
        assert told(lambda: session.run_with_iobinding(binding))[0] == "RuntimeError"
        binding.bind_output("y", "cpu", 0, np.float32, [2, 3], y.ctypes.data)
        assert told(lambda: session.run_with_iobinding(binding))[0] == "RuntimeError"
        binding.bind_cpu_input("x", x)
        session.run_with_iobinding(binding)
        assert y.tolist() == [[0] * 3] * 2
        binding.bind_ortvalue_output("z", z)
        for number in (2, 3):
            x[:] = number  # the memory is read at each run
            session.run_with_iobinding(binding)
            assert (y[1, 2], z.numpy()[1, 2]) == (number, -number)
        assert [each.shape() for each in binding.get_outputs()] == [[2, 3]] * 2
        five = np.full((2, 1), 5, np.float32)
        binding.bind_input("x", "cpu", 0, np.float32, five.shape, five.ctypes.data)
        assert told(lambda: session.run_with_iobinding(binding))[0] == "RuntimeError"
        binding.clear_binding_outputs()
        binding.bind_output("z")
        session.run_with_iobinding(binding)
        assert binding.copy_outputs_to_cpu()[0].tolist() == [[-5], [-5]]
        other = library.InferenceSession(data, providers=["CPUExecutionProvider"])
        assert told(lambda: other.run_with_iobinding(binding))[0] == "ValueError"


def test_values() -> None:
    """Of arrays, whose memory they share."""
    session = opened(MODELS["open"])
    for library, one in zip((ours, theirs), session, strict=True):
        array = np.ones((2, 3), np.float32)
        value = library.OrtValue.ortvalue_from_numpy(array)
        assert (value.shape(), value.data_type(), value.device_name()) == (
            [2, 3],
            "tensor(float)",
            "cpu",
        )
        assert (value.element_type(), value.tensor_size_in_bytes()) == (1, 24)
        assert (value.is_tensor(), value.has_value(), value.is_sparse_tensor()) == (
            True,
            True,
            False,
        )
        value.update_inplace(np.full((2, 3), 4, np.float32))
        assert array[0, 0] == np.asarray(value)[0, 0] == 4
        assert told(lambda: value.update_inplace(array[0]))[0] == "RuntimeError"
        assert (
            told(lambda: library.OrtValue.ortvalue_from_numpy(np.array(["a"])))[0] == "RuntimeError"
        )
        assert told(lambda: library.OrtValue.ortvalue_from_numpy(array, "cuda"))[0] == (
            "RuntimeError"
        )
        assert library.OrtValue.ortvalue_from_shape_and_type([2], 7).data_type() == "tensor(int64)"
        (found,) = one.run_with_ort_values(None, {"x": value})
        assert found.numpy().tolist() == array.tolist()


def test_options() -> None:
    for library in (ours, theirs):
        options = library.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = library.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.execution_mode = library.ExecutionMode.ORT_SEQUENTIAL
        options.add_session_config_entry("a.b", "1")
        assert options.get_session_config_entry("a.b") == "1"
        assert told(lambda: options.get_session_config_entry("c"))[0] == "RuntimeError"
        assert told(lambda: setattr(options, "foo", 1))[0] == "AttributeError"
        assert told(lambda: setattr(options, "intra_op_num_threads", "a"))[0] == "TypeError"
        assert told(lambda: setattr(options, "graph_optimization_level", 1))[0] == "TypeError"
        options.add_free_dimension_override_by_name("n", 5)
        session: Any = library.InferenceSession(MODELS["open"], options, ["CPUExecutionProvider"])
        assert session.get_session_options().intra_op_num_threads == 1
        assert session.get_inputs()[0].shape == [2, 5]
        assert session.run(None, {"x": np.ones((2, 5), np.float32)})[0].shape == (2, 5)
        stop = library.RunOptions()
        stop.terminate = True
        assert told(lambda: session.run(None, {"x": X23}, stop))[0] in {"Fail", "InvalidArgument"}
    plain = {name for name in dir(theirs.SessionOptions()) if name[0] != "_"}
    usual = ours.SessionOptions()
    for name in plain & set(vars(usual)):
        found, expected = (getattr(one, name) for one in (usual, theirs.SessionOptions()))
        assert getattr(found, "name", found) == getattr(expected, "name", expected), name


def test_what_there_is_not_is_named() -> None:
    session: Any = ours.InferenceSession(MODELS["static"], providers=["CPUExecutionProvider"])
    lines = [
        told(lambda: session.run_async(None, {"x": X23}, None, None)),
        told(lambda: setattr(ours.SessionOptions(), "enable_profiling", True)),
        told(lambda: ours.SesionOptions),
        told(lambda: session.ran),
        told(lambda: ours.InferenceSession("model.ort")),
    ]
    assert lines == [
        (
            "NotImplemented",
            "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : InferenceSession.run_async: Inarch's onnxruntime "
            "does not have it; run it in a thread of yours: run() lets others run meanwhile",
        ),
        (
            "NotImplemented",
            "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : SessionOptions.enable_profiling: Inarch's "
            "onnxruntime does not have it; inarch bench MODEL measures it",
        ),
        (
            "AttributeError",
            "module 'onnxruntime' has no attribute 'SesionOptions': Inarch's does not have it; "
            "did you mean 'SessionOptions'? docs/onnxruntime.md lists what there is",
        ),
        ("AttributeError", "'InferenceSession' object has no attribute 'ran'"),
        (
            "NoSuchFile",
            "[ONNXRuntimeError] : 3 : NO_SUCHFILE : Load model from model.ort failed:Load model model.ort "
            "failed. File doesn't exist",
        ),
    ]
    with pytest.warns(UserWarning, match="Specified provider 'CUDAExecutionProvider' is not in"):
        other = ours.InferenceSession(
            MODELS["static"], providers=[("CUDAExecutionProvider", {"device_id": 0})]
        )
    assert other.get_providers() == ["CPUExecutionProvider"]
    assert other.get_provider_options() == {"CPUExecutionProvider": {}}


PROVIDERS: list[Any] = [
    None, [], CPU, [CPU, CPU], ["Nope", CPU], ["CUDA"], [3], 3, [("CUDAExecutionProvider", {"a": 1})],
    ["NvTensorRTRTXExecutionProvider"],
]  # fmt: skip


def test_providers_are_taken_and_refused_as_there(capfd: pytest.CaptureFixture[str]) -> None:
    """By a new session, with and without a fallback, and by an existing one."""
    found: list[list[str]] = []
    for library, session in zip((ours, theirs), opened(MODELS["static"]), strict=True):
        make = partial(library.InferenceSession, MODELS["static"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ways = [
                way
                for asked in PROVIDERS
                for way in (
                    partial(make, providers=asked, enable_fallback=False),
                    partial(session.set_providers, asked),
                )
            ]
            ways.append(partial(make, providers=["Nope"]))
            found.append(
                [outcome_of(lambda _, way=way: way(), State(library)).error for way in ways]
            )
    assert found[0] == found[1]
    assert "Falling back" in capfd.readouterr().out  # where that library prints, Inarch warns


def test_names_of_memory_and_providers_of_options() -> None:
    """Enumerations have the numbers of that library; what describes memory is taken and kept as there."""
    names = [name for name in dir(ours) if hasattr(getattr(ours, name), "__members__")]
    assert len(names) > 8
    for name in names:
        mine, real = (getattr(one, name).__members__ for one in (ours, theirs))
        assert {key: int(value) for key, value in mine.items()} == {
            key: int(value) for key, value in real.items()
        }, name
    cpu = "CPUExecutionProvider"
    asked: list[tuple[str, Any]] = [(cpu, {"a": "b"}), (cpu, {"a": 3}), ("Nope", {})]
    asked += [("CUDAExecutionProvider", {})]
    arenas: list[Any] = [{}, {"max_mem": 3}, {"nothing": 3}, 5, "text"]
    found: list[Any] = []
    for library in (ours, theirs):
        said: list[Any] = []
        for given in asked:
            options = library.SessionOptions()
            said.append(outcome_of(lambda _: options.add_provider(*given), State(library)).error)
            said.append(options.has_providers())
        usual = (library.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, library.OrtMemType.DEFAULT)
        places: list[tuple[Any, ...]] = [("Cpu", *usual), ("Nope", *usual), ("Cpu", 1, 0, 0)]
        for place in places:
            made = outcome_of(lambda _: library.OrtMemoryInfo(*place), State(library))
            said.append(
                made.error or (made.value.name, str(made.value.mem_type), made.value.device_id)
            )
        for given in arenas:
            made = outcome_of(lambda _: library.OrtArenaCfg(given), State(library))
            said.append(made.error or (made.value.max_mem, made.value.arena_extend_strategy))
        session = library.InferenceSession(MODELS["static"], providers=[CPU])
        said += [session.end_profiling(), session.get_profiling_start_time_ns()]
        said += [session.get_tuning_results(), session.set_ep_dynamic_options({"a": "b"})]
        said += [[one.name for one in session.get_input_memory_infos()]]
        found.append(said)
    assert found[0] == found[1]


class Kept(ours.InferenceSession):
    """A session that can be pickled, as packages make them."""

    def __init__(self, model_path: str, **settings: Any) -> None:
        super().__init__(model_path, **settings)
        self.model_path = model_path

    def __getstate__(self) -> dict[str, Any]:
        return {"model_path": self.model_path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["model_path"])


def test_programs_derive_sessions_and_read_what_no_page_has(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(MODELS["overridable"])
    session = pickle.loads(pickle.dumps(Kept(str(path), sess_options=ours.SessionOptions())))
    assert session.run(None, {"x": X23[0]})[0].tolist() == [3, 3, 3]
    for source in str(path), path, MODELS["overridable"]:
        mine, real = opened(source)
        for name in "_model_path", "_model_meta", "_providers", "_provider_options":
            found, expected = (getattr(one, name) for one in (mine, real))
            assert said_of(found) == said_of(expected), name
        for name in "_inputs_meta", "_outputs_meta", "_overridable_initializers":
            found, expected = ([str(arg) for arg in getattr(one, name)] for one in (mine, real))
            assert found == expected, name
        assert mine._sess_options is mine.get_session_options()


def test_the_names_are_those_of_the_version_that_is_pinned() -> None:
    """Each public name of ours is one of theirs, with the same version; exceptions, too."""
    assert ours.__version__ == theirs.__version__
    assert {name for name in ours.__all__ if not hasattr(theirs, name)} == {"install"}
    named = {name for name, one in vars(errors).items() if isinstance(one, type)}
    kinds = {name for name in named if issubclass(getattr(errors, name), Exception)}
    assert {name for name in kinds if not hasattr(STATE, name)} == {
        "ArgumentError",
        "EnvironmentFault",
        "InarchError",
        "UnsupportedError",
    }


def test_random_calls_are_told_as_there(tmp_path: Path) -> None:
    """Sessions, options, runs, bindings and values, right and wrong ones: `make soak PART=onnx` has more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [line for seed in (3, 4) for line in check(seed, tmp_path, 100)] == []


PAGE = Path(__file__).parents[3] / "docs" / "onnxruntime.md"
SHOWN: dict[str, Any] = {
    "NodeArg": ours.NodeArg("x", "tensor(float)", []),
    "OrtArenaCfg": ours.OrtArenaCfg({}),
    "OrtMemoryInfo": HOST,
    "RunOptions": ours.RunOptions(),
    "SessionOptions": ours.SessionOptions(),
}
"""Of classes whose instances have what the class has there."""


def _public(owner: Any) -> set[str]:
    """Classes and functions of that library itself."""
    names = {name for name in dir(owner) if not name.startswith("_")}
    return {
        name
        for name in names
        if callable(one := getattr(owner, name))
        and str(getattr(one, "__module__", "")).startswith("onnxruntime")
    }


def _lacks(mine: Any, names: Iterable[str]) -> set[str]:
    refused = {*getattr(mine, "_REFUSED", ())}
    return {
        name
        for name in names
        if name in refused or not hasattr(mine, name) or isinstance(getattr(mine, name), partial)
    }


def test_each_public_name_is_there_or_on_the_page() -> None:
    """Of the package, of the two modules where packages look for classes, and of the classes."""
    lacking = {"onnxruntime": _lacks(ours, _public(theirs))}
    for module in "onnxruntime_pybind11_state", "onnxruntime_inference_collection":
        mine, real = (import_module(f"{one.__name__}.capi.{module}") for one in (ours, theirs))
        names = _public(real) - lacking["onnxruntime"]
        lacking[f"onnxruntime.capi.{module}"] = _lacks(mine, names)
    for name in _public(theirs) - lacking["onnxruntime"]:
        kind = getattr(theirs, name)
        if isinstance(kind, type):
            mine = SHOWN.get(name, getattr(ours, name))
            mine = next(iter(mine)) if isinstance(mine, type) and issubclass(mine, Enum) else mine
            lacking[name] = _lacks(mine, [one for one in dir(kind) if not one.startswith("_")])
    table = PAGE.read_text().partition("## Not supported")[2]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    said = {owner.strip(" `"): {*re.findall(r"`(\w+)`", names)} for owner, names in rows}
    assert {owner: names for owner, names in lacking.items() if names} == said
    with pytest.raises(errors.NotImplemented, match=r"InferenceSession.run_with_ortvaluevector: "):
        getattr(ours.InferenceSession(MODELS["static"]), "run_with_ortvaluevector")()  # noqa: B009


def two_heads(width: int) -> bytes:
    """y and n: of one product; z and v: of two more after it."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(
            rng.standard_normal((width, width)).astype(np.float32) / width, f"w{n}"
        )
        for n in range(3)
    ]
    return model(
        [
            node("MatMul", ["x", "w0"], ["a"]),
            node("MatMul", ["a", "w1"], ["b"]),
            node("MatMul", ["b", "w2"], ["z"]),
            node("Relu", ["a"], ["y"]),
            node("Identity", ["z"], ["v"]),
            node("Neg", ["a"], ["n"]),
        ],
        [info("x", FLOAT, [4, width])],
        [info(name, FLOAT, None) for name in ("y", "z", "v", "n")],
        weights,
    )


def test_only_the_outputs_that_are_asked_for_are_computed() -> None:
    data = two_heads(24)
    mine, real = opened(data)
    feed = {"x": np.random.default_rng(1).standard_normal((4, 24)).astype(np.float32)}
    sizes: dict[tuple[str, ...], int] = {}
    for names in (("y",), ("v", "z"), ("z", "v", "z"), ("n", "y")):
        for _ in range(2):
            for found, expected in zip(
                mine.run(list(names), feed), real.run(list(names), feed), strict=True
            ):
                np.testing.assert_allclose(found, expected, 1e-5, 1e-6)
        way = mine._ways[names]
        sizes[names] = len(way._program._model.source)
    whole = len(mine._model.source)
    assert sizes["y",] < whole - 2 * 4 * 24 * 24  # without two of the three weights
    assert sizes["v", "z"] == sizes["z", "v", "z"] == whole  # which would save nothing
    assert list(mine._subsets) == [frozenset("y"), frozenset("ny")]


def test_outputs_of_which_a_branch_reads_a_value_from_outside() -> None:
    """What is left out is what nothing reads, also from within a graph of a node."""
    branch = [
        helper.make_graph([node(op, ["a"], ["r"])], op, [], [info("r", FLOAT, None)])
        for op in ("Relu", "Neg")
    ]
    data = model(
        [
            node("Abs", ["x"], ["a"]),
            node("MatMul", ["x", "x"], ["z"]),
            node("If", ["c"], ["y"], then_branch=branch[0], else_branch=branch[1]),
        ],
        [info("x", FLOAT, [2, 2]), info("c", TensorProto.BOOL, [])],
        [info("y", FLOAT, None), info("z", FLOAT, None)],
    )
    feed = {"x": np.array([[-1, 2], [3, -4]], np.float32), "c": np.array(False)}
    for asked in ["y"], ["z"]:
        found, expected = (one.run(asked, feed)[0] for one in opened(data))
        np.testing.assert_array_equal(found, expected)
