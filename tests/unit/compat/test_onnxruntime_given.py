"""Values and files that session options have for a model, against onnxruntime."""

# Onnx and onnxruntime are untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownLambdaType=false, reportUnknownParameterType=false
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as theirs
import pytest
from onnx import TensorProto, helper, numpy_helper

import inarch.compat.onnxruntime as ours
from inarch.compat.onnxruntime.options import FOLDER
from inarch.testing.onnxruntime_calls.compare import difference, outcome_of
from inarch.testing.onnxruntime_calls.steps import State

theirs.set_default_logger_severity(4)
W = np.arange(4, dtype=np.float32)
OTHER = np.full(4, 7, np.float32)


def model(location: str = "", **entries: str) -> bytes:
    """x + w, whose data is in a file."""
    w = numpy_helper.from_array(W, "w")
    if location:
        w = TensorProto(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
        for key, value in {"location": location, **entries}.items():
            w.external_data.add(key=key, value=value)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [w])
    imports = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("external")
    (folder / "within").mkdir()
    for name, array in {"w.bin": W, "within/w.bin": W[::-1], "short.bin": W[:2]}.items():
        (folder / name).write_bytes(array.tobytes())
    (folder / "m.onnx").write_bytes(model("w.bin"))
    return folder


def values(array: Any = OTHER, name: str = "w") -> Callable[[Any, Any, list[Any]], None]:
    """Gives a value for an initializer."""

    def give(options: Any, make: Any, kept: list[Any]) -> None:
        kept.append(make(array))
        options.add_initializer(name, kept[-1])

    return give


def external(names: Any = ("w",), arrays: Any = (OTHER,)) -> Callable[[Any, Any, list[Any]], None]:
    """Gives values for initializers with external data."""

    def give(options: Any, make: Any, kept: list[Any]) -> None:
        kept.append([make(array) for array in arrays])
        options.add_external_initializers(list(names), kept[-1])

    return give


def files(*given: Any) -> Callable[[Any, Any, list[Any]], None]:
    """Gives files in memory."""
    names, buffers, lengths = given or (["w.bin"], [OTHER.tobytes()], [16])
    return lambda options, _make, _kept: options.add_external_initializers_from_files_in_memory(
        names, buffers, lengths
    )


def twice(give: Any) -> Callable[[Any, Any, list[Any]], None]:
    """Gives it, and once more."""
    return lambda *given: (give(*given), give(*given))[1]


BYTES = OTHER.tobytes()
CASES: dict[str, tuple[bytes | str, Any, str]] = {
    "bytes": (model("w.bin"), None, "Fail"),
    "bytes and a folder": (model("w.bin"), "", ""),
    "a place within": (model("within/w.bin"), "", ""),
    "a part of a file": (model("w.bin", offset="0", length="16"), "", ""),
    "no such folder": (model("w.bin"), "nothing", "Fail"),
    "no such file": (model("nothing.bin"), "", "Fail"),
    "a short file": (model("short.bin"), "", "Fail"),
    "an offset too far": (model("w.bin", offset="8"), "", "Fail"),
    "outside of the folder": (model("../w.bin"), "within", "Fail"),
    "a value": (model(), values(), ""),
    "a value of no initializer": (model(), values(name="q"), ""),
    "a value of an input": (model(), values(name="x"), ""),
    "a value of another shape": (model(), values(OTHER[:3]), "Fail"),
    "a value twice": (model(), twice(values()), "RuntimeError"),
    "an external value": (model("w.bin"), external(), ""),
    "an external value of no initializer": (model("w.bin"), external(["q"]), "Fail"),
    "an external value of an inner one": (model(), external(), "Fail"),
    "another shape": (model("w.bin"), external(arrays=[OTHER[:3]]), "Fail"),
    "another type": (model("w.bin"), external(arrays=[OTHER.astype(np.float64)]), "Fail"),
    "too few values": (model("w.bin"), external(["w", "q"]), "RuntimeError"),
    "external values twice": (model("w.bin"), twice(external()), "RuntimeError"),
    "a file": (model("w.bin"), files(), ""),
    "a file in place of one": ("m.onnx", files(), ""),
    "a part of a buffer": (model("w.bin", offset="16", length="16"), files(["w.bin"], [BYTES * 2], [32]), ""),
    "a buffer of numbers": (model("w.bin"), files(["w.bin"], [OTHER], [16]), ""),
    "a short buffer": (model("w.bin"), files(["w.bin"], [BYTES], [8]), "Fail"),
    "another file": (model("w.bin"), files(["q.bin"], [BYTES], [16]), "Fail"),
    "a file twice": (model("w.bin"), files(["w.bin"] * 2, [BYTES] * 2, [16] * 2), "RuntimeError"),
    "too few lengths": (model("w.bin"), files(["w.bin", "q"], [BYTES], [16]), "RuntimeError"),
    "text for bytes": (model("w.bin"), files(["w.bin"], ["a" * 16], [16]), "TypeError"),
}  # fmt: skip


@pytest.mark.sampled(14, reason="each is a way of its own to be right or wrong")
@pytest.mark.parametrize("name", CASES)
def test_what_options_give_counts_as_there(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`give`: the folder of external data, or what calls the options."""
    data, give, kind = CASES[name]
    monkeypatch.chdir(tmp_path)
    kept: list[Any] = []  # onnxruntime reads the values where they are

    def run(at: State, library: Any) -> Any:
        options = library.SessionOptions()
        if isinstance(give, str):
            options.add_session_config_entry(FOLDER, str(folder / give))
        elif give is not None:
            give(options, library.OrtValue.ortvalue_from_numpy, kept)
        source = str(folder / data) if isinstance(data, str) else data
        at.session = library.InferenceSession(source, options, ["CPUExecutionProvider"])
        return at.session.run(None, {"x": np.ones(4, np.float32)})

    mine, real = (
        outcome_of(partial(run, library=library), State(library)) for library in (ours, theirs)
    )
    assert difference(mine, real) == ""
    assert real.error == kind
