"""Loaded programs: calls, refusals, threads, replaced files, imports, and the C header."""

from __future__ import annotations

import array
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.artifact import Artifact, write_artifact
from inarch.artifact.manifest import Port, Signature
from inarch.core.dtypes import DTYPES
from inarch.core.errors import ArgumentError, EnvironmentFault, InarchError, UsageError
from inarch.machine import target
from inarch.machine.toolchain import find_compiler
from inarch.runtime import registry
from inarch.runtime.computed import counted, shown
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS, Loader
from inarch.runtime.module import Module, load
from inarch.runtime.tensor import Array
from inarch.runtime.threads import threads_here

MakeProgram = Callable[..., Path]

ROOT = Path(__file__).parents[3]
X = np.arange(6, dtype=np.float32).reshape(2, 3)
BIAS = np.array([1, 2, 3], np.float32)


@pytest.fixture
def module(make_program: MakeProgram, tmp_path: Path, calls: str) -> Module:
    """A library of C that checks nothing of its arguments' memory, called both ways."""
    assert calls
    return load(make_program(tmp_path / "tiny.inarch", members={"source.c": b"int x;\n"}))


def message(call: Callable[[], object], kind: type[InarchError] = ArgumentError) -> str:
    """The one line of the error that `call` must raise."""
    with pytest.raises(InarchError) as caught:
        call()
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
    return caught.value.line().removeprefix("error: ")


# Calls


def test_by_position_and_by_name(module: Module) -> None:
    expected = X + X + BIAS
    np.testing.assert_array_equal(module(X, X), expected)
    np.testing.assert_array_equal(module["main"](X, **{"y/0": X}), expected)
    np.testing.assert_array_equal(module(**{"y/0": X, "x": X}), expected)
    assert list(module.run({"y/0": X, "x": X})) == ["sum"]
    np.testing.assert_array_equal(module.run({"x": X, "y/0": X})["sum"], expected)


def test_several_outputs_scalars_and_empty_arrays(module: Module) -> None:
    low, high = module["range"](np.array([3, -1, 7, 0]))
    assert (low.shape, low.dtype, int(low), int(high)) == ((), np.int64, -1, 7)
    nothing: Array = module["nothing"](np.zeros((0, 2), np.uint8))
    assert isinstance(nothing, np.ndarray)  # pyright: ignore[reportUnnecessaryIsInstance]
    assert (nothing.shape, nothing.dtype) == ((0,), np.bool_)


def test_outputs_of_the_caller(module: Module) -> None:
    out = np.empty((2, 3), np.float32)
    assert module(X, X, out=out) is out
    np.testing.assert_array_equal(out, X + X + BIAS)
    low, high = np.empty((), np.int64), np.empty((), np.int64)
    result = module["range"](np.arange(4), out=(low, high))
    assert isinstance(result, tuple)
    assert result[0] is low
    assert (int(low), int(high)) == (0, 3)


def test_anything_with_memory_is_an_array(module: Module) -> None:
    class Tensor:
        """As PyTorch's: only the DLPack protocol."""

        def __dlpack__(self, **options: Any) -> Any:
            return X.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    view = memoryview(X.tobytes()).cast("B").cast("f", (2, 3))
    expected = X + X + BIAS
    np.testing.assert_array_equal(module(Tensor(), view), expected)
    result = module["range"](array.array("q", [5, 2, 9, 4]))
    assert [int(value) for value in result] == [2, 9]


def test_a_read_only_input_is_fine(module: Module) -> None:
    fixed = X.copy()
    fixed.flags.writeable = False
    np.testing.assert_array_equal(module(fixed, fixed), X + X + BIAS)


def test_what_a_module_says(module: Module) -> None:
    assert (module.type_key, module.name, module.imports) == ("shared-library", "tiny", ())
    assert str(module["main"]) == "main(x: f32[2, 3], y/0: f32[2, 3]) -> (sum: f32[2, 3])"
    assert module.signature.inputs[0] == Port("x", DTYPES["f32"], (2, 3))
    assert module.get_source() == module.get_source("c") == "int x;\n"
    assert message(lambda: module["mian"], UsageError) == (
        "no function 'mian' in module 'tiny'; did you mean 'main'? "
        "Known: binds, broken, main, nothing, range, through"
    )
    assert message(lambda: module.get_source("llvm"), UsageError) == (
        "no source format 'llvm' in module 'tiny'. Known: c"
    )


# Refusals: one clear line each, and no silent copy


@pytest.mark.every_case(reason="a message each, of both ways of calls")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            X.astype(np.float64),
            "main: argument 'x': expected f32[2, 3], found f64[2, 3]; "
            "convert it with x.astype(np.float32)",
        ),
        (
            X.astype(np.float16),
            "main: argument 'x': expected f32[2, 3], found f16[2, 3]; "
            "convert it with x.astype(np.float32)",
        ),
        (
            X.T.copy(),
            "main: argument 'x': expected f32[2, 3], found f32[3, 2]; where its axes are in another order: "
            "np.ascontiguousarray(x.transpose(1, 0))",
        ),
        (
            X[:1],
            "main: argument 'x': expected f32[2, 3], found f32[1, 3]; pass an array of that shape",
        ),
        (
            np.asfortranarray(X),
            "main: argument 'x': expected f32[2, 3] in row-major order, found strides (4, 8); "
            "use np.ascontiguousarray(x)",
        ),
        (
            X.astype(">f4"),
            "main: argument 'x': expected f32[2, 3], found the other byte order; "
            "convert it with x.astype(np.float32)",
        ),
        (
            np.frombuffer(bytes(25), np.uint8)[1:].view(np.float32).reshape(2, 3),
            "main: argument 'x': expected f32[2, 3], found an address that is not aligned; "
            "use x.copy()",
        ),
        (
            np.ma.masked_less(X, 2),
            "main: argument 'x': expected f32[2, 3], found a masked array; use x.filled(value)",
        ),
        (
            1.5,
            "main: argument 'x': expected f32[2, 3], found a float; "
            "use np.array(x, dtype=np.float32)",
        ),
        (
            [[1, 2, 3], [4, 5, 6]],
            "main: argument 'x': expected f32[2, 3], found a list; "
            "use np.array(x, dtype=np.float32)",
        ),
        (
            None,
            "main: argument 'x': expected f32[2, 3], found a NoneType; "
            "use np.array(x, dtype=np.float32)",
        ),
    ],
)
def test_an_input_that_does_not_fit(module: Module, given: object, expected: str) -> None:
    assert message(lambda: module(given, X)) == expected


def test_a_tensor_that_keeps_its_memory(module: Module) -> None:
    class OnDevice:
        def __dlpack__(self, **_options: object) -> object:
            raise BufferError("data is on a GPU")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    assert message(lambda: module(OnDevice(), X)) == (
        "main: argument 'x': a OnDevice that does not give its memory: data is on a GPU; "
        "pass a detached array in CPU memory"
    )


def test_arguments_that_are_too_few_or_unknown(module: Module) -> None:
    inputs = "(x: f32[2, 3], y/0: f32[2, 3])"
    assert message(lambda: module(X)) == f"main: expected 2 arguments {inputs}, found 1"
    assert message(lambda: module(X, X, X, X)) == f"main: expected 2 arguments {inputs}, found 4"
    assert message(lambda: module(x=X)) == "main: input 'y/0' is missing; inputs: x, y/0"
    assert message(lambda: module.run({})) == f"main: expected 2 arguments {inputs}, found 0"
    assert message(lambda: module(X, y0=X)) == (
        "main: no input 'y0'; did you mean 'y/0'? Inputs: x, y/0"
    )
    assert message(lambda: module(X, x=X)) == (
        "main: input 'x' is given twice, by position and by name"
    )


def test_an_output_that_does_not_fit(module: Module) -> None:
    out = np.empty((2, 3), np.float32)
    fixed = out.copy()
    fixed.flags.writeable = False
    one = np.empty((), np.int64)
    numbers = np.arange(4)
    assert message(lambda: module(X, X, out=out.astype(np.float64))) == (
        "main: output 'sum': expected f32[2, 3], found f64[2, 3]; "
        "pass a row-major float32 array of shape (2, 3)"
    )
    assert message(lambda: module(X, X, out=fixed)) == (
        "main: output 'sum': expected an array that can be written, found a read-only one"
    )
    assert message(lambda: module(X, out, out=out)) == (
        "main: output 'sum': expected memory of its own, found that of input 'y/0'"
    )
    assert message(lambda: module["range"](numbers, out=(one, one))) == (
        "range: output 'high': expected memory of its own, found that of output 'low'"
    )
    assert message(lambda: module["range"](numbers, out=numbers[0:1].reshape(()))) == (
        "range: expected 2 arrays in out (low: i64[], high: i64[]), found 1"
    )
    assert message(lambda: module["range"](numbers, out=(one, one, one))) == (
        "range: expected 2 arrays in out (low: i64[], high: i64[]), found 3"
    )
    assert message(lambda: module["range"](numbers, out=(one, numbers[1:2].reshape(())))) == (
        "range: output 'high': expected memory of its own, found that of input 'x'"
    )
    inputs: Any = [numbers]
    assert message(lambda: module["range"].run(inputs)) == (
        "range: run expected a dict of inputs by name (x: i64[4]), found a list"
    )


def test_memory_that_an_output_shares_in_part(module: Module) -> None:
    """Any of it with an input is refused, the next byte is not; nor is an address that is not aligned."""
    memory = np.zeros(18, np.float32)
    odd = np.zeros(25, np.uint8)[1:].view(np.float32).reshape(2, 3)
    out = memory[6:12].reshape(2, 3)
    for shift in (-6, -5, -1, 0, 1, 5, 6):
        given = memory[6 + shift :][:6].reshape(2, 3)
        for name, both in (("x", (given, X)), ("y/0", (X, given))):
            if abs(shift) == 6:
                assert module(*both, out=out) is out
                continue
            assert message(lambda both=both: module(*both, out=out)) == (
                f"main: output 'sum': expected memory of its own, found that of input '{name}'"
            )
    assert message(lambda: module(X, odd, out=out)) == (
        "main: argument 'y/0': expected f32[2, 3], found an address that is not aligned; use x.copy()"
    )
    assert message(lambda: module(X, X, out=odd)) == (
        "main: output 'sum': expected f32[2, 3], found an address that is not aligned; "
        "pass a row-major float32 array of shape (2, 3)"
    )


def test_the_message_of_the_library(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that fails is not tried once more in Python."""
    found = message(module["broken"], InarchError)
    assert found == "broken: expected better, found worse"
    through, x = module["through"], np.zeros(4, np.float32)
    expected = "through: import 0 is not filled"
    assert message(lambda: through(x, x.copy()), InarchError) == expected
    monkeypatch.delattr(Function, "_general")
    assert message(lambda: through(x, x.copy()), InarchError) == expected


# Threads, processes, files


def test_eight_threads(module: Module) -> None:
    start = threading.Barrier(8)

    def work(seed: int) -> int:
        own = np.full((2, 3), seed, np.float32)
        start.wait()
        for _ in range(200):
            np.testing.assert_array_equal(module(own, X), own + X + BIAS)
            with pytest.raises(InarchError, match="expected better"):
                module["broken"]()
        return seed

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(work, range(8))) == list(range(8))


def test_a_replaced_file_is_the_new_program(make_program: MakeProgram, tmp_path: Path) -> None:
    path = tmp_path / "model.inarch"
    old = load(make_program(path))
    new = load(make_program(path, shift=10.0))
    heavier = load(make_program(path, shift=10.0, bias=(100, 200, 300)))
    for module, bias in ((old, BIAS), (new, BIAS + 10), (heavier, BIAS * 100 + 10)):
        np.testing.assert_array_equal(module(X, X), X + X + bias)


def test_a_file_is_bound_once(make_program: MakeProgram, tmp_path: Path) -> None:
    bias = (5.0, 6.0, 7.0)
    first = load(make_program(tmp_path / "a.inarch", bias=bias))
    with ThreadPoolExecutor(8) as pool:
        others = list(pool.map(load, [tmp_path / "a.inarch"] * 8))
    counts = [module.get_function("binds").run({})["count"] for module in (first, *others)]
    assert [int(count) for count in counts] == [1] * 9


def test_saved_and_read_back(module: Module, tmp_path: Path) -> None:
    module.save(tmp_path / "copy.inarch")
    data = module.save_to_bytes()
    assert data == (tmp_path / "copy.inarch").read_bytes()
    (tmp_path / "tiny.inarch").unlink()
    for again in (load(tmp_path / "copy.inarch"), Module.load_from_bytes(data, verify=True)):
        np.testing.assert_array_equal(again(X, X), X + X + BIAS)
    found = message(lambda: Module.load_from_bytes(b"garbage"), InarchError)
    assert (
        found
        == "<bytes>: error: expected an Inarch artifact, found a file that starts with b'garb'"
    )


def test_damaged_weights_are_found(make_program: MakeProgram, tmp_path: Path) -> None:
    path = make_program(tmp_path / "a.inarch", bias=(8.0, 8.0, 9.0))
    data = bytearray(path.read_bytes())
    data[data.index(np.array([8, 8, 9], np.float32).tobytes())] ^= 1
    path.write_bytes(data)
    found = (
        "expected the bytes that were written, found others: a damaged file; copy it again, "
        "or compile the model again"
    )
    assert message(lambda: load(path), InarchError) == f"{path}: error: {found}"
    assert message(lambda: Module.load_from_bytes(bytes(data)), InarchError) == (
        f"<bytes>: error: {found}"
    )
    result = np.asarray(load(path, check=False)(X, X))
    np.testing.assert_array_equal(result[:, 1:], (X + X + [8, 8, 9])[:, 1:])
    assert message(lambda: load(path, check=False, verify=True), InarchError) == (
        f"{path}: error: expected the weights of the manifest, found others: a damaged file"
    )


_LOAD_LOOP = """
import sys
import numpy as np
from inarch.runtime.module import load
from inarch.runtime.tensor import Array
from inarch.runtime.threads import threads_here
x = np.zeros((2, 3), np.float32)
seen = set()
print("ready", flush=True)
for _ in range(200):
    result = load(sys.argv[1], verify=True)(x, x)
    assert (result == result[0, 0]).all(), result
    seen.add(float(result[0, 0]))
assert seen <= {1.0, 2.0}, seen
"""


@pytest.mark.slow
def test_loading_while_another_process_writes(make_program: MakeProgram, tmp_path: Path) -> None:
    path = make_program(tmp_path / "a.inarch", bias=(1, 1, 1))
    command = [sys.executable, "-W", "error", "-c", _LOAD_LOOP, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"ready\n"
        while reader.poll() is None:
            make_program(path, bias=(2, 2, 2))
            make_program(path, bias=(1, 1, 1))
    assert reader.returncode == 0


def test_nothing_is_left_behind(
    make_program: MakeProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    load(make_program(tmp_path / "a.inarch", bias=(4, 4, 4)))
    assert list(scratch.iterdir()) == []


# What this machine or this library cannot do


def test_a_cpu_that_lacks_a_feature(
    make_program: MakeProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = target.Processor("x86-64", target.parse("x86-64-v3").features)
    monkeypatch.setattr(target, "this_processor", lambda: processor)
    path = make_program(tmp_path / "a.inarch", target="x86-64-v4", features=["avx2", "avx512f"])
    assert message(lambda: load(path), EnvironmentFault) == (
        f"{path}: error: needs avx512f, which this CPU lacks; recompile with --target x86-64-v3"
    )
    path = make_program(tmp_path / "b.inarch", target="aarch64", features=["neon"])
    assert message(lambda: load(path), EnvironmentFault) == (
        f"{path}: error: needs aarch64, which this CPU lacks; recompile with --target x86-64-v3"
    )


def test_a_library_of_another_abi(make_program: MakeProgram, tmp_path: Path) -> None:
    """B6: of the library itself, in a file whose manifest says nothing of it."""
    path = make_program(tmp_path / "a.inarch", abi=7)
    assert message(lambda: load(path), InarchError) == (
        f"{path}: error: expected a library of ABI version 3, found 7; compile the model again"
    )


def test_a_library_with_other_weights(make_program: MakeProgram, tmp_path: Path) -> None:
    """Fewer than it was compiled with, or others: zip, manifest and checksum agree with each other."""
    good = make_program(tmp_path / "a.inarch")
    with Artifact.open(good) as artifact:
        library, manifest = bytes(artifact.library), artifact.manifest.data
        own = artifact.manifest.weights.sha256
    path = tmp_path / "b.inarch"
    for weights in (bytes(8), b"", bytes(12), bytes(16)):
        write_artifact(path, library, manifest, [(0, weights)], len(weights))
        found = sha256(weights).hexdigest()
        assert message(lambda: load(path, verify=True), InarchError) == (
            f"{path}: error: expected weights of SHA-256 {own[:16]}..., with which the library was "
            f"compiled, found {found[:16]}... in the manifest; compile the model again"
        )


def test_a_library_without_its_symbols(make_program: MakeProgram, tmp_path: Path) -> None:
    functions: dict[str, dict[str, list[object]]] = {"other": {"inputs": [], "outputs": []}}
    path = make_program(tmp_path / "a.inarch", functions=functions)
    assert message(lambda: load(path), InarchError) == (
        f"{path}: error: expected the symbol 'tiny_other' in the library, found none"
    )


def test_a_library_that_cannot_be_opened(tmp_path: Path) -> None:
    from inarch.artifact import write_artifact

    manifest: dict[str, Any] = {
        "name": "m",
        "prefix": "m",
        "target": "generic",
        "features": [],
        "functions": {},
        "imports": [],
        "loaders": ["shared-library"],
    }
    path = tmp_path / "a.inarch"
    write_artifact(path, b"no ELF file", manifest, [], 0)
    found = message(lambda: load(path), EnvironmentFault)
    assert found.startswith(f"{path}: error: cannot be opened: ")
    assert "invalid ELF header" in found or "too short" in found


@pytest.mark.parametrize("formats", [["punch-cards"], ["shared-library", "punch-cards"]])
def test_an_unknown_format(make_program: MakeProgram, tmp_path: Path, formats: list[str]) -> None:
    path = make_program(tmp_path / "a.inarch", loaders=formats)
    known = ", ".join(sorted(LOADERS))
    assert message(lambda: load(path), InarchError) == (
        f"{path}: error: expected formats of the loaders {known}, found 'punch-cards'"
    )


# Imports


@pytest.fixture
def importer(make_program: MakeProgram, tmp_path: Path) -> Path:
    """A program whose `through` calls the import `twice`."""
    return make_program(tmp_path / "importer.inarch", imports=["twice"])


Y = np.array([1, 2, 3, 4], np.float32)


def twice(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
    np.multiply(x, 2, out=y)


@pytest.fixture
def registered() -> Iterator[None]:
    registry.register("twice", twice)
    yield
    registry.REGISTRY.unregister("twice")


def test_an_import_by_callable(importer: Path) -> None:
    module = load(importer, imports={"twice": twice})
    np.testing.assert_array_equal(module["through"](Y), Y * 2)


def test_each_set_of_imports_is_its_own_program(importer: Path) -> None:
    def thrice(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
        y[:] = x * 3

    first = load(importer, imports={"twice": twice})
    second = load(importer, imports={"twice": thrice})
    again = load(importer, imports={"twice": twice})
    for module, factor in ((first, 2), (second, 3), (again, 2)):
        np.testing.assert_array_equal(module["through"](Y), Y * factor)


def test_an_import_by_function_of_another_module(importer: Path) -> None:
    first = load(importer, imports={"twice": twice})
    second = load(importer, imports={"twice": first["through"]})
    np.testing.assert_array_equal(second["through"](Y), Y * 2)


@pytest.mark.usefixtures("registered")
def test_an_import_by_registry(importer: Path) -> None:
    np.testing.assert_array_equal(load(importer)["through"](Y), Y * 2)


def test_an_unfilled_slot(importer: Path) -> None:
    assert message(lambda: load(importer), InarchError) == (
        f"{importer}: error: imports 'twice', which nothing provides; give it with "
        "load(..., imports={'twice': function}) or inarch.runtime.registry.register"
    )


def test_an_import_that_nobody_asked_for(importer: Path) -> None:
    found = message(lambda: load(importer, imports={"twice": twice, "twcie": twice}), UsageError)
    assert found == f"no import 'twcie' in '{importer}'; did you mean 'twice'? Known: twice"


def test_an_import_that_raises(importer: Path) -> None:
    answers: list[BaseException | None] = [ValueError("boom"), None, KeyboardInterrupt()]

    def moody(_x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
        y[:] = 7
        if (answer := answers.pop(0)) is not None:
            raise answer

    module = load(importer, imports={"twice": moody})
    with pytest.raises(InarchError) as caught:
        module["through"](Y)
    assert str(caught.value) == "through: import 'twice' failed: ValueError: boom"
    assert isinstance(caught.value.__cause__, ValueError)
    np.testing.assert_array_equal(module["through"](Y), np.full(4, 7, np.float32))
    with pytest.raises(KeyboardInterrupt):
        module["through"](Y)
    assert message(module["broken"], InarchError).startswith("broken: expected better")


@pytest.fixture
def typed(make_program: MakeProgram, tmp_path: Path) -> Path:
    """As `importer`, with a signature of the import."""
    port = {"name": "x", "dtype": "f32", "shape": [4]}
    slot = {"name": "twice", "inputs": [port], "outputs": [{**port, "name": "y"}]}
    return make_program(tmp_path / "typed.inarch", imports=[slot])


def test_an_import_with_a_signature_cannot_write_its_inputs(typed: Path) -> None:
    """Nor make them writeable: neither the array, nor a view of it, nor what it is a view of."""

    def rude(x: np.ndarray[Any, Any], _y: np.ndarray[Any, Any]) -> None:
        x[:] = 0

    def ruder(x: np.ndarray[Any, Any], _y: np.ndarray[Any, Any]) -> None:
        for one in (x, x[1:], x.view(np.int32), x.base, x.reshape(2, 2)):
            assert isinstance(one, np.ndarray)
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True"):
                one.flags.writeable = True
        x.flags.writeable = True

    given = Y.copy()
    module = load(typed, imports={"twice": rude})
    assert message(lambda: module["through"](given), InarchError) == (
        "through: import 'twice' failed: ValueError: assignment destination is read-only"
    )
    module = load(typed, imports={"twice": ruder})
    assert message(lambda: module["through"](given), InarchError) == (
        "through: import 'twice' failed: ValueError: cannot set WRITEABLE flag to True of this array"
    )
    np.testing.assert_array_equal(given, Y)


def test_without_a_signature_the_operands_that_are_read_cannot_be_written(
    make_program: MakeProgram, tmp_path: Path
) -> None:
    path = make_program(tmp_path / "a.inarch", imports=[{"name": "twice", "reads": 1}])

    def rude(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
        y[:] = 1
        x.flags.writeable = True

    module = load(path, imports={"twice": rude})
    assert message(lambda: module["through"](Y), InarchError) == (
        "through: import 'twice' failed: ValueError: cannot set WRITEABLE flag to True of this array"
    )


def test_an_import_that_writes_nothing_is_an_error(typed: Path) -> None:
    """And not what the memory held before; what is partly written is NaN where it is not."""

    def half(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
        y[:2] = x[:2]

    def rest(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
        y[1:] = x[1:]

    def constant(_x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
        y.view(np.uint32)[...] = 0xFFFFFFFF

    def nothing(_x: np.ndarray[Any, Any], _y: np.ndarray[Any, Any]) -> None:
        return

    module = load(typed, imports={"twice": nothing})
    assert message(lambda: module["through"](Y), InarchError) == (
        "through: import 'twice' failed: output 0 was never written; write it in place, as out[:] = ..."
    )
    result = np.asarray(load(typed, imports={"twice": half})["through"](Y))
    np.testing.assert_array_equal(result, [1, 2, np.nan, np.nan])
    result = np.asarray(load(typed, imports={"twice": rest})["through"](Y))
    np.testing.assert_array_equal(result, [np.nan, 2, 3, 4])
    result = np.asarray(load(typed, imports={"twice": constant})["through"](Y))
    assert (result.view(np.uint32) == 0xFFFFFFFF).all()


def test_imports_in_threads(importer: Path) -> None:
    def picky(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
        if x[0] % 2:
            raise ValueError(str(int(x[0])))
        y[:] = x

    module = load(importer, imports={"twice": picky})

    def work(number: int) -> None:
        own = np.full(4, number, np.float32)
        for _ in range(50):
            if number % 2:
                with pytest.raises(InarchError, match=f"ValueError: {number}$"):
                    module["through"](own)
            else:
                np.testing.assert_array_equal(module["through"](own), own)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_a_limit_of_threads_holds_while_a_function_runs() -> None:
    """That of the call, else that of the function."""
    port, runs = Port("x", DTYPES["f32"], (2,)), list[int]()
    signature = Signature((port,), (replace(port, name="y"),))
    function = Function("main", signature, lambda _: runs.append(threads_here()))
    x = np.zeros(2, np.float32)
    for each in (function, function.with_threads(3), function.with_threads(3).alone()):
        each(x)
        each(x, threads=1)
    assert runs == [0, 1, 3, 1, 3, 1]


def test_results_of_computed_size_are_parts_or_copies() -> None:
    """An output that says a size of another is not given to callers; copies are of parts alone."""
    x, y = np.arange(20).reshape(4, 5), np.arange(3)
    arrays = (np.array(2), x, y, np.array(4))
    sizes = ((), ((0, 0), (1, 3)), (), ())
    assert shown(sizes) == [1, 2]
    for is_copy in (False, True):
        part, whole = counted(sizes, arrays, copy=is_copy)
        np.testing.assert_array_equal(part, x[:2, :4])
        assert np.shares_memory(part, x) == (not is_copy)
        assert whole is y
    for count in (5, -1):
        with pytest.raises(
            InarchError, match=f"output 1: expected a size of at most 4, found {count}"
        ):
            counted(sizes, (np.array(count), *arrays[1:]))


def test_the_registry() -> None:
    table = registry.Registry()
    assert table.register("f", twice) is twice
    table.register("f", twice)
    assert dict(table) == {"f": twice}
    assert message(lambda: table.register("f", print), UsageError) == (
        "function 'f' is registered already; pass override=True"
    )
    table.register("f", print, override=True)
    assert table.lookup("f") is print
    table.unregister("f")
    table.unregister("f")
    assert message(lambda: table.lookup("f"), UsageError) == (
        "no registered function 'f'. Known: none"
    )


# Other formats


def _times(source: str, name: str) -> Module:
    """A toy format: the text is a factor."""
    port = Port("x", DTYPES["f32"], (4,))

    def invoke(arrays: Any) -> None:
        np.multiply(arrays[0], float(source), out=arrays[1])

    signature = Signature((port,), (Port("y", DTYPES["f32"], (4,)),))
    functions = {"twice": Function("twice", signature, invoke)}
    return Module("times", name, functions, content=source.encode())


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loader `times`, as a plugin would add it."""
    import types

    plugin = types.ModuleType("inarch_test_times")
    plugin.__dict__["LOADER"] = Loader("times", create=_times)
    monkeypatch.setitem(sys.modules, plugin.__name__, plugin)
    monkeypatch.setattr(LOADERS, "_loaded", {})
    LOADERS.add(plugin, "times", Path("times.py"))


@pytest.mark.usefixtures("times")
def test_a_format_of_ones_own(make_program: MakeProgram, tmp_path: Path) -> None:
    path = tmp_path / "factor.txt"
    path.write_text("3")
    module = load(path, format="times")
    np.testing.assert_array_equal(module["twice"](Y), Y * 3)
    again = Module.load_from_bytes(module.save_to_bytes(), format="times")
    np.testing.assert_array_equal(again["twice"](Y), Y * 3)
    assert message(lambda: load(tmp_path / "no.txt", format="times"), EnvironmentFault) == (
        f"{tmp_path}/no.txt: error: cannot be read: No such file or directory"
    )
    assert message(lambda: load(path, format="shared-library"), UsageError) == (
        "loader 'shared-library' makes no module of bytes"
    )
    path.write_bytes(b"\xff")
    assert message(lambda: load(path, format="times"), InarchError).startswith(
        f"{path}: error: expected UTF-8 text: "
    )
    artifact = make_program(tmp_path / "a.inarch", loaders=["times"])
    assert message(lambda: load(artifact), UsageError) == (
        "loader 'times' makes no module of an artifact"
    )


@pytest.mark.usefixtures("times", "registered")
def test_a_submodule_fills_an_import(make_program: MakeProgram, tmp_path: Path) -> None:
    """Before the registry, where there is another one of its name."""
    path = make_program(
        tmp_path / "a.inarch",
        imports=["twice"],
        loaders=["shared-library", "times"],
        members={"modules/1": b"5"},
    )
    module = load(path)
    np.testing.assert_array_equal(module["through"](Y), Y * 5)
    assert [part.type_key for part in module.imports] == ["times"]
    given = load(path, imports={"twice": twice})  # before what the program brought along
    np.testing.assert_array_equal(given["through"](Y), Y * 2)


@pytest.mark.parametrize("name", sorted(LOADERS))
def test_a_loader_is_named_like_its_file(name: str) -> None:
    assert LOADERS[name].type_key == name


# The header, and what is imported

_HEADER_CHECK = """
#include "inarch.h"
#include <stddef.h>
#ifdef __cplusplus
#define CHECK(x) static_assert(x, #x)
#else
#define CHECK(x) _Static_assert(x, #x)
#endif
CHECK(sizeof(DLTensor) == 48 && sizeof(DLDataType) == 4 && sizeof(inarch_import) == 16);
CHECK(sizeof(inarch_pool) == 16 && offsetof(inarch_pool, self) == 8);
CHECK(offsetof(DLTensor, shape) == 24 && offsetof(DLTensor, byte_offset) == 40);
CHECK(INARCH_ABI_VERSION == 3);
"""


@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_header_compiles_and_agrees_with_dlpack(tmp_path: Path, language: str) -> None:
    """B7: numbers of the header are those of Python."""
    compiler = find_compiler()
    source = _HEADER_CHECK
    for dtype in DTYPES.values():
        source += f"CHECK(INARCH_{dtype.name.upper()} == {dtype.dlpack << 8 | dtype.bits});\n"
    path = tmp_path / "check.c"
    path.write_text(source)
    standard = "-std=c11" if language == "c" else "-std=c++11"
    include = f"-I{resources.files('inarch.runtime') / 'include'}"
    flags = ["-Wall", "-Wextra", "-Werror", "-pedantic", standard, include, "-fsyntax-only"]
    command = [*compiler.command, *flags, "-x", language, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_python_side_has_the_headers_structs() -> None:
    from inarch.runtime.abi import ffi

    assert (ffi().sizeof("DLTensor"), ffi().sizeof("inarch_import")) == (48, 16)
    assert ffi().offsetof("DLTensor", "strides") == 32


def test_running_needs_no_compiler() -> None:
    """A program runs without xDSL and onnx, and importing the front door costs next to nothing."""
    code = """
import sys
import inarch
assert not {"numpy", "xdsl", "onnx", "cffi"} & set(sys.modules), "import inarch"
import inarch.runtime
import inarch.runtime.module
import inarch.runtime.loaders.shared_library
import inarch.machine.toolchain
print(sorted({"numpy", "xdsl", "onnx", "cffi"} & set(sys.modules)))
"""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_no_text_of_this_folder_names_the_compiler() -> None:
    for path in (ROOT / "runtime").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) (xdsl|onnx)", path.read_text(), re.MULTILINE), path
    assert inarch.load is load
