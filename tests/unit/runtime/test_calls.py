"""Calls from Python: compiled and by cffi, bound, pickled, with frameworks; the C function behind one."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from effort import effort
from inarch.core.errors import InarchError, UnsupportedError, UsageError
from inarch.runtime.abi import ffi
from inarch.runtime.calls.compiled import build
from inarch.runtime.graph_executor import GraphModule
from inarch.runtime.module import load

MakeProgram = Callable[..., Path]


def test_the_c_function_behind_a_function(make_program: MakeProgram, tmp_path: Path) -> None:
    """What bridges call: it lives as long as the entry, and its message is found by C alone."""
    module = load(make_program(tmp_path / "tiny.inarch"))
    low_high, broken = module["range"].c_entry, module["broken"].c_entry
    assert low_high is not None
    assert broken is not None
    assert module["range"].address == low_high.address
    assert module.with_threads(1)["range"].address == low_high.address
    del module
    gc.collect()
    made: Any = ffi()
    values, low, high = np.array([3, -1, 7, 0]), np.empty((), np.int64), np.empty((), np.int64)
    tensors, shape = made.new("DLTensor[3]"), made.new("int64_t[]", [4])
    for tensor, array in zip(tensors, (values, low, high), strict=True):
        tensor.data = made.from_buffer(array)
        tensor.device.device_type, tensor.ndim, tensor.shape = 1, array.ndim, shape
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = 0, 64, 1
    call = made.cast("int32_t(*)(DLTensor *, int32_t)", low_high.address)
    assert call(tensors, 3) == 0
    assert (int(low), int(high)) == (-1, 7)
    assert made.cast("int32_t(*)(DLTensor *, int32_t)", broken.address)(tensors, 0) == 1
    message = ctypes.CFUNCTYPE(ctypes.c_char_p)(broken.last_error)()
    assert message == b"expected better, found worse"


def test_a_function_that_calls_python_has_no_address(
    make_program: MakeProgram, tmp_path: Path
) -> None:
    path = make_program(tmp_path / "tiny.inarch", imports=["twice"])

    def twice(x: Any, y: Any) -> None:
        np.multiply(x, 2, out=y)

    module = load(path, imports={"twice": twice})
    assert module["through"].c_entry is None
    with pytest.raises(UnsupportedError) as error:
        _ = module["through"].address
    assert str(error.value) == (
        "through: expected a function of C alone, found one that runs in Python, or calls it; "
        "fill its imports with C (inarch.runtime.native.NativeFunction), or call it from Python"
    )


MODEL = """\
func.func @main(%x: tensor<2x2xf32> {inarch.name = "x"}, %s: tensor<f32> {inarch.name = "s"})
    -> (tensor<2x2xf32> {inarch.name = "y"}) {
  %0 = graph.mul %x, %s : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}
"""
WAYS = ("compiled", "cffi")
X = np.arange(4, dtype=np.float32).reshape(2, 2)

SCRIPT = """
import sys, pickle, numpy as np, inarch
from inarch.runtime import calls
module = inarch.load(sys.argv[1])
x = np.arange(4, dtype=np.float32).reshape(2, 2)
way = calls.prepare()
assert way == sys.argv[2], way
fixed = x.copy(); fixed.flags.writeable = False
unaligned = np.frombuffer(bytes(17), np.uint8)[1:].view(np.float32).reshape(2, 2)
out = np.empty((2, 2), np.float32)
bad = [(x,), (x, 1.0, out, out), (x.astype("f8"), 1.0), (x, 1e300), (x, True), (x, np.float64(1)), (x, "1"),
       (x.T, 1.0), (x[:1], 1.0), (x.astype(">f4"), 1.0), (unaligned, 1.0), (np.ma.masked_less(x, 2), 1.0),
       ([[1, 2], [3, 4]], 1.0), (x, 1.0, fixed), (x, 1.0, x), (x, 1.0, out.T), (x, 1.0, [1]), (None, 1.0),
       (x, 10**400), (x, 1.0, out.astype("f8"))]
for _ in range(2):  # the second time with the plan, or the short way, made
    np.testing.assert_array_equal(module(x, 2.0, out), x * 2)
    for args in bad:
        try:
            module(*args)
        except inarch.ArgumentError as error:
            print(error)
        else:
            print("taken", args)
for scalar in (2, 2.0, np.float32(2), np.array(2, np.float32)):
    assert module(x, scalar, out) is out
    np.testing.assert_array_equal(out, x * 2)
    assert module(x=x, s=scalar).ctypes.data % 64 == 0
    np.testing.assert_array_equal(module(x, scalar), x * 2)
function = module["main"]
assert bool(function._plan) == (way == "compiled")
assert (function._quick is not None) == (way == "cffi")
call = module.bind(x=x, s=3.0, out=out)
assert call() is out and call.outputs is out
before = x.copy(); x[:] = 1
np.testing.assert_array_equal(call(), np.full((2, 2), 3))
try:
    call(1)
except (inarch.ArgumentError, TypeError):
    pass
np.testing.assert_array_equal(pickle.loads(pickle.dumps(function))(x, 2.0), x * 2)
import gc, os
def pages():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
count = int(sys.argv[3]) if way == "compiled" else 20_000
for _ in range(count // 20): call(); function(x, 2.0, out); function(x, 2.0)
start = pages()
for _ in range(count): call()
for _ in range(count // 20): function(x, 2.0, out); function(x, 2.0)
assert pages() - start <= 1 << 20, pages() - start
if os.fork() == 0:
    np.testing.assert_array_equal(module(x, 2.0, out), x * 2)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
"""


@pytest.fixture(name="model", scope="module")
def fixture_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scaled")
    (folder / "scaled.mlir").write_text(MODEL)
    inarch.compile(folder / "scaled.mlir").save(folder / "scaled.inarch")
    return folder / "scaled.inarch"


def test_both_ways_take_and_refuse_the_same(model: Path) -> None:
    """B2, B10: scalars in the declared order, outputs behind the inputs; nothing grows in many calls."""
    said: list[str] = []
    count = str(effort(100_000, 1_000_000))
    for way in WAYS:
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", SCRIPT, str(model), way, count],
            env={**os.environ, "INARCH_CALLS": way},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        said.append(run.stdout)
    assert said[0] == said[1]
    lines = said[0].splitlines()
    assert len(lines) == 40
    assert lines[:20] == lines[20:]
    assert not any(line.startswith("taken") for line in lines)
    assert lines[3] == (
        "main: argument 's': expected f32[], found 1e+300, which is too large for it; "
        "pass a number that it holds"
    )
    assert lines[14] == "main: output 'y': expected memory of its own, found that of input 'x'"


def test_the_first_call_is_as_the_others(model: Path, tmp_path: Path) -> None:
    """Where a model is compiled compiled calls are made beside it, for this process and those that come."""
    code = (
        "import sys, numpy as np, inarch\n"
        "from inarch.runtime.calls.compiled import COMPILED\n"
        "module = (inarch.load if sys.argv[1].endswith('inarch') else inarch.compile)(sys.argv[1])\n"
        "module(np.ones((2, 2), np.float32), 1.0)\n"
        "print(COMPILED.is_settled and COMPILED.extension() is not None)"
    )
    environment = {**os.environ, "INARCH_CACHE_DIR": str(tmp_path), "INARCH_CALLS": ""}
    for source, there in ((model, "False"), (model.with_suffix(".mlir"), "True"), (model, "True")):
        command = [sys.executable, "-c", code, str(source)]
        printed = subprocess.check_output(command, env=environment, text=True)
        assert printed.strip() == there


def test_the_headers_of_python_say_the_same() -> None:
    """What `calls.c` declares of the stable ABI is what Python.h has: it compiles with either."""
    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").exists():
        pytest.skip("no Python.h")
    for flags in (("-DINARCH_PYTHON_H", f"-I{include}"), ()):
        content = build("-Wall", "-Wextra", "-Werror", *flags)
        assert content.startswith((b"\x7fELF", b"\xcf\xfa"))


def test_a_compiler_that_is_missing_is_a_warning_where_it_was_asked_for(model: Path) -> None:
    code = (
        "import sys, warnings, numpy as np, inarch\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    module = inarch.load(sys.argv[1])\n"
        "    for _ in range(3): module(np.ones((2, 2), np.float32), 1.0)\n"
        "print(*(each.message for each in seen))"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "INARCH_CACHE_DIR": cache, "CC": "no-such-compiler"}
        for asked, expected in (
            (
                "compiled",
                "calls take cffi, they cannot be compiled: $CC is 'no-such-compiler', which is not a C "
                "compiler that can be run; unset or correct it\n",
            ),
            ("", "\n"),
        ):
            printed = subprocess.check_output(
                [sys.executable, "-c", code, str(model)],
                env={**environment, "INARCH_CALLS": asked},
                text=True,
            )
            assert printed == expected


def test_what_is_pickled(model: Path, tmp_path: Path) -> None:
    """By path and hash where the file is still that file, else by content; other files are refused."""
    copy = tmp_path / "copy.inarch"
    copy.write_bytes(model.read_bytes())
    module = inarch.load(copy)
    by_path = pickle.dumps(module)
    assert len(by_path) < 1000
    np.testing.assert_array_equal(pickle.loads(by_path)(X, 2.0), X * 2)
    copy.unlink()
    by_content = pickle.dumps(module["main"].with_threads(1))
    assert len(by_content) > 1000
    np.testing.assert_array_equal(pickle.loads(by_content)(X, 2.0), X * 2)
    (tmp_path / "other.mlir").write_text(MODEL.replace("mul", "add"))
    inarch.compile(tmp_path / "other.mlir").save(copy)
    with pytest.raises(InarchError) as error:
        pickle.loads(by_path)
    assert str(error.value).startswith(
        f"{copy}: expected the artifact that was pickled, {module.origin.identity[:16]}..., found "
    )


def test_an_import_that_cannot_be_pickled(make_program: MakeProgram, tmp_path: Path) -> None:
    path = make_program(tmp_path / "tiny.inarch", imports=["twice"])
    module = load(path, imports={"twice": lambda *_: None})
    with pytest.raises(
        InarchError, match=r"^module 'tiny' cannot be pickled: its import 'twice': "
    ):
        pickle.dumps(module)


def test_the_names_of_tvm(model: Path) -> None:
    graph = GraphModule(inarch.load(model))
    graph.set_input("x", X)
    graph.set_input(1, 2.0)
    graph.run()
    assert (graph.get_num_inputs(), graph.get_num_outputs()) == (2, 1)
    first = graph.get_output(0)
    np.testing.assert_array_equal(first, X * 2)
    graph.run(s=np.float32(3))
    np.testing.assert_array_equal(graph.get_output(0, np.empty_like(X)), X * 3)
    assert graph.get_output(0) is first
    with pytest.raises(UsageError) as error:
        graph.set_input("z", X)
    assert str(error.value) == "no input 'z' in 'main'. Known: s, x"
    with pytest.raises(UsageError) as error:
        graph.get_output(1)
    assert str(error.value) == "expected an output from 0 to 0, found 1"
