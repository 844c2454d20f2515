"""`fallback="host"`: a device that is missing or fails costs a warning, no result; what `emit` hands back."""

from __future__ import annotations

import subprocess
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.core.errors import InarchError, UsageError
from inarch.driver.compiler import build
from inarch.driver.extensions import load_files
from inarch.machine.compilers import find_compiler
from inarch.offload.backend import BACKENDS, Backend, Emission, EmitRequest
from inarch.offload.hand_back import EmitError, HandBackError
from inarch.runtime.c import INCLUDE, LIBS, sources, tool_sources
from inarch.runtime.loaders import LOADERS
from inarch.tools.cli import run

ROOT = Path(__file__).parents[3]
from engine import MODEL, Engine, installed, reference  # noqa: E402 - a helper of the tests of verify

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(2, 6)
Say = Callable[..., Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fallback") / "model.mlir"
    path.write_text(MODEL)
    return path


@pytest.fixture(scope="module")
def artifact(model: Path) -> Path:
    """Of four regions of the engine, each with a host version."""
    with installed():
        build(model, model.with_suffix(".inarch"), backends=["npu"], fallback="host")
    return model.with_suffix(".inarch")


@pytest.fixture
def engine() -> Iterator[Engine]:
    with installed() as one:
        yield one


def unplugged(*_: object) -> None:
    raise OSError("no device")


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def told(work: Callable[[], object]) -> list[str]:
    """The warnings of it."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    return [str(one.message) for one in found]


def is_right(module: Any) -> None:
    np.testing.assert_allclose(module(X), reference(X), rtol=1e-5)


def test_unplugged_between_calls_and_plugged_in_again(artifact: Path, engine: Engine) -> None:
    """Each call is right, also of several threads; one warning in all."""
    module = inarch.load(artifact)
    assert list(module.functions) == ["main"]
    assert told(lambda: is_right(module)) == []
    engine.around = unplugged
    assert told(lambda: [is_right(module) for _ in range(3)]) == [
        f"{artifact}: backend 'npu' fails on 'npu_0': OSError: no device; the host runs its part"
    ]
    calls = iter(range(10**6))

    def flaky(_symbol: str, arrays: list[Any], rightly: Callable[[], None]) -> None:
        if next(calls) % 3 == 0:
            arrays[-1][...] = np.nan  # half done
            raise OSError("no device")
        rightly()

    engine.around = flaky
    faults: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                is_right(module)
        except BaseException as error:  # noqa: BLE001 - it is what the test looks for
            faults.append(error)

    def threads() -> None:
        every = [threading.Thread(target=work) for _ in range(4)]
        for one in every:
            one.start()
        for one in every:
            one.join()

    assert told(threads) == []
    assert faults == []
    assert next(calls) > 200
    engine.around = None
    assert told(lambda: is_right(module)) == []
    engine.around = interrupted
    with pytest.raises(KeyboardInterrupt):
        inarch.load(artifact)(X)


def test_missing_at_load(artifact: Path) -> None:
    """No loader, a loader that raises, one of other symbols: a warning each, and then C alone runs."""
    with installed() as engine:
        engine.opens = unplugged
        modules: list[Any] = []
        assert told(lambda: modules.append(inarch.load(artifact))) == [
            f"{artifact}: backend 'npu' (format npu) is missing: OSError: no device; the host runs its part"
        ]
        assert told(lambda: is_right(modules[0])) == []
        assert modules[0]["main"].address
    assert told(lambda: is_right(inarch.load(artifact))) == [
        f"{artifact}: backend 'npu' (format npu) is missing: no loader 'npu'. Known: "
        f"{', '.join(sorted(LOADERS))}; the host runs its part"
    ]
    outcome = run(["run", str(artifact), "--check", str(artifact.with_suffix(".mlir"))])
    assert outcome.code == 0
    assert outcome.err.count("warning") == 1


def test_without_it_the_error_names_region_nodes_and_backend(model: Path, engine: Engine) -> None:
    """One line; and at load, too."""
    module = inarch.compile(model, backends=["npu"])

    def tanh_fails(symbol: str, _: object, rightly: Callable[[], None]) -> None:
        rightly() if symbol != "npu_1" else unplugged()

    engine.around = tanh_fails
    with pytest.raises(InarchError) as caught:
        module(X)
    assert str(caught.value) == (
        "main: import 'npu_1' failed: OSError: no device (backend 'npu', from 'model.mlir:4:3', "
        "'model.mlir:5:3', 'model.mlir:6:3')"
    )
    with pytest.raises(UsageError, match=r"^fallback: expected 'host', found 'gpu'$"):
        inarch.compile(model, backends=["npu"], fallback="gpu")


STEPS = """func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}, %w: tensor<2x3xf32> {inarch.name = "w"})
    -> (tensor<2x3xf32> {inarch.name = "y"}) {
  %0 = graph.div %x, %w : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.exp %0 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
"""


def test_a_loader_in_c_from_python_and_from_c(tmp_path: Path) -> None:
    """That divides by zero, and that is not there: by `libinarch`, with a line on standard error."""
    example = ROOT / "examples" / "loader"
    path, loader = tmp_path / "m.inarch", tmp_path / "inarch-loader-steps.so"
    (tmp_path / "m.mlir").write_text(STEPS)
    command = [*find_compiler().command, "-O1", "-shared", "-fPIC", f"-I{INCLUDE}"]
    subprocess.run([*command, str(example / "steps.c"), "-o", str(loader)], check=True)
    with BACKENDS.scope(), LOADERS.scope():
        load_files([example / "steps.py"])
        build(tmp_path / "m.mlir", path, backends=["steps"], fallback="host")
    x, w = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    module = inarch.load(path)
    assert module["main"].address
    assert told(lambda: np.testing.assert_allclose(module(x, x), np.exp(x), rtol=1e-6)) == []
    assert told(lambda: np.testing.assert_array_equal(module(x, w), np.exp(np.inf))) == [
        f"{path}: backend 'steps' fails on 'steps_0': import 'steps_0' failed: steps_0: element 0 is divided "
        "by zero (backend 'steps', from 'm.mlir:3:3'); the host runs its part"
    ]
    tool = str(tmp_path / "inarch-run")
    files = [str(file) for file in (*sources(), *tool_sources())]
    command = [*find_compiler().command, "-std=c11", "-O0", f"-I{INCLUDE}"]
    subprocess.run([*command, *files, *LIBS, "-o", tool], check=True)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "w.npy", w)
    words = ["--input", f"x={tmp_path / 'x.npy'}", "--input", f"w={tmp_path / 'w.npy'}"]
    for is_there, said in {
        True: "m: warning: import 'steps_0' failed: steps_0: element 0 is divided by zero (backend 'steps', "
        "from 'm.mlir:3:3'); the host runs it\n",
        False: f"warning: {path}: error: expected a loader in C of the format 'steps', found no "
        "'inarch-loader-steps.so' beside the artifact or in INARCH_LIBRARY_PATH, and none that is given; run "
        "it from Python, or compile the model without that backend; the host runs its parts\n",
    }.items():
        if not is_there:
            loader.unlink()
        done = subprocess.run(
            [tool, str(path), *words, "--output-dir", str(tmp_path / "out"), "-q"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, said)
        np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), np.exp(np.inf))


FLAKY = """#include "inarch.h"
int32_t {name}(void *self, DLTensor *args, int32_t n) {{
    const float *x = args[0].data;
    float *y = args[n - 1].data;
    (void)self;
    for (int i = 0; i < 12; i++) y[i] = x[i] < 0 ? 0 : x[i];
    return x[0] > 1 ? 5 : 0;
}}
"""


def test_c_of_a_backend_and_what_is_handed_back(tmp_path: Path) -> None:
    """Linked C that returns a code; `emit` that hands back one function of three, all, or fails on one."""
    path = tmp_path / "m.mlir"
    kind = "tensor<2x6xf32>"
    path.write_text(
        f'func.func @main(%x: {kind} {{inarch.name = "x"}}) -> ({kind} {{inarch.name = "y"}}) {{\n'
        f"  %a = graph.relu %x : {kind} -> {kind}\n  %b = graph.floor %a : {kind} -> {kind}\n"
        f"  %c = graph.relu %b : {kind} -> {kind}\n  %d = graph.exp %c : {kind} -> {kind}\n"
        f"  %e = graph.relu %d : {kind} -> {kind}\n  func.return %e : {kind}\n}}\n"
    )
    refusals: list[Callable[[EmitRequest], None]] = []

    def emit(request: EmitRequest) -> Emission:
        for refuse in refusals:
            refuse(request)
        texts = [FLAKY.format(name=name) for name in request.names()]
        return Emission("c", request.names(), text="".join(texts))

    def second(kind: Callable[[Any, str], Exception]) -> Callable[[EmitRequest], None]:
        def refuse(request: EmitRequest) -> None:
            for function in request.functions:
                if function.sym_name.data == "flaky_1":
                    raise kind(function, "it has 5 KiB")

        return refuse

    backend = Backend("flaky", "relu", emit, ops=("relu",))
    expected = np.exp(np.floor(np.maximum(X, 0)))
    high = np.abs(X) + 2
    with BACKENDS.scope():
        BACKENDS.register(backend)
        module = inarch.compile(path, backends=["flaky"], fallback="host")
        np.testing.assert_allclose(module(X), expected, rtol=1e-6)
        (said,) = told(
            lambda: np.testing.assert_allclose(module(high), np.exp(np.floor(high)), rtol=1e-6)
        )
        assert said.endswith(
            "backend 'flaky' fails on 'flaky_0': import 'flaky_0' failed with code 5 (backend 'flaky', from "
            "'m.mlir:2:3'); the host runs its part"
        )
        refusals.append(second(HandBackError))
        place = f"from '{path}:4:3'"
        modules: list[Any] = []
        assert told(lambda: modules.append(inarch.compile(path, backends=["flaky"]))) == [
            f"backend 'flaky' hands back @flaky_1 ({place}): it has 5 KiB; the host has it"
        ]
        np.testing.assert_allclose(modules[0](X), expected, rtol=1e-6)
        lines = run(["explain", str(path), "--backend", "flaky", "--emit"]).out.splitlines()
        assert [line.split()[2] for line in lines[1:6]] == [
            "flaky",
            "host",
            "host",
            "host",
            "flaky",
        ]
        assert lines[3].endswith("flaky: emit hands it back: it has 5 KiB")
        assert lines[7] == "flaky: 2 of 5 ops, 2 regions"
        refusals[:] = [second(EmitError)]
        with pytest.raises(InarchError) as caught:
            inarch.compile(path, backends=["flaky"])
        origin = BACKENDS.origin("flaky").source
        assert (
            str(caught.value) == f"backend 'flaky' [{origin}] on @flaky_1 ({place}): it has 5 KiB"
        )
        refusals[:] = [second(lambda _, text: KeyError(text))]
        with pytest.raises(InarchError) as caught:
            inarch.compile(path, backends=["flaky"])
        assert str(caught.value).startswith(
            f"backend 'flaky' [{origin}] on @flaky_1 ({place}): emit raises"
        )
        refusals[:] = [unplugged]
        with pytest.raises(InarchError) as caught:
            inarch.compile(path, backends=["flaky"])
        assert str(caught.value).startswith(
            f"backend 'flaky' [{origin}] on @flaky_0 (from '{path}:2:3') and 2 more functions: emit raises "
            "OSError: no device"
        )
        refusals[:] = [lambda _: (_ for _ in ()).throw(HandBackError("other", ""))]
        with pytest.raises(InarchError) as caught:
            inarch.compile(path, backends=["flaky"])
        assert str(caught.value) == (
            f"backend 'flaky' [{origin}] hands back 'other', which it was not asked for; its functions: "
            "flaky_0, flaky_1, flaky_2"
        )


def test_all_is_handed_back(model: Path) -> None:
    """The host has all, and says so for each; with `require_offload` it is an error."""

    def refuse(_: EmitRequest) -> Emission:
        raise HandBackError(None, "it is Sunday")

    with BACKENDS.scope():
        BACKENDS.register(Backend("none", "nothing", refuse, ops=("tanh", "exp")))
        modules: list[Any] = []
        found = told(lambda: modules.append(inarch.compile(model, backends=["none"])))
        assert found == [
            f"backend 'none' hands back @none_{n} (from '{model}:{line}:3'): it is Sunday; the host "
            "has it"
            for n, line in enumerate((2, 5))
        ]
        is_right(modules[0])
        with pytest.raises(InarchError) as caught:
            inarch.compile(model, backends=["none"], require_offload=True)
        assert str(caught.value) == (
            "backend 'none' was asked for and hands everything back: it is Sunday; give it "
            "something that it takes, or do not require it"
        )
