"""Every wrong argument at every door: one line, in the door's own exception, and the next call is right.

A door that is not in the environment skips, and says so: `make bridges` runs this file in each of them.
"""

# Frameworks are untyped where they are not installed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.core.errors import ArgumentError
from inarch.runtime.calls.bound import plan_of, quick_call
from inarch.runtime.calls.compiled import build, load
from inarch.runtime.function import Function
from inarch.runtime.graph_executor import GraphModule
from tests.unit.runtime.test_costs import check_calls

MODEL = """
func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}, %s: tensor<f32> {inarch.name = "s"})
    -> (tensor<2x3xf32> {inarch.name = "y"}) {
  %0 = graph.mul %x, %s : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""
Values = list[Any]


class Foreign:
    """What has DLPack alone, as the tensors of a framework; `where` is its device."""

    def __init__(self, array: Any, where: tuple[int, int] = (1, 0), freed: str = "") -> None:
        self.array, self.where, self.freed = array, where, freed

    def __dlpack__(self, **_: object) -> object:
        if self.freed:
            raise RuntimeError(self.freed)
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.where


def unaligned(array: Any) -> Any:
    memory = np.zeros(array.nbytes + 1, np.uint8)
    found = memory[1:].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def fixed(array: Any) -> Any:
    array.flags.writeable = False
    return array


FAULTS: dict[str, Callable[[Any, Any, Any], Values]] = {
    "dtype": lambda x, s, y: [x.astype(np.int32), s, y],
    "rank": lambda x, s, y: [x.reshape(6), s, y],
    "shape": lambda x, s, y: [x[:1].copy(), s, y],
    "stride": lambda x, s, y: [np.asfortranarray(x), s, y],
    "alignment": lambda x, s, y: [unaligned(x), s, y],
    "device": lambda x, s, y: [Foreign(x, (2, 0)), s, y],
    "NULL": lambda _, s, y: [None, s, y],
    "overlap": lambda x, s, _: [x, s, x],
    "read-only": lambda x, s, y: [x, s, fixed(y)],
    "freed": lambda x, s, y: [Foreign(x, freed="the tensor was freed"), s, y],
    "count": lambda x, s, y: [x, s, y, y],
    "number": lambda x, _, y: [x, "2", y],
    "output": lambda x, s, y: [x, s, y.astype(np.float64)],
}


@dataclass(frozen=True)
class Door:
    """A way in: what calls it with `x, s, y`, and what it raises."""

    call: Callable[..., object]
    raises: tuple[type[BaseException], ...] = (ArgumentError,)


@pytest.fixture(name="module", scope="module")
def fixture_module(tmp_path_factory: pytest.TempPathFactory) -> inarch.Module:
    path = tmp_path_factory.mktemp("doors") / "model.mlir"
    path.write_text(MODEL)
    return inarch.compile(path)


def compiled(module: inarch.Module, _: Path) -> Door:
    """The hot path; not installed, so that the process stays as it is."""
    extension, function = load(build()), module["main"].with_threads(1)
    assert function.c_entry is not None
    function._plan = plan_of(extension, "main", module.signature, function.c_entry, 1)  # pyright: ignore[reportPrivateUsage]
    method = extension.method(Function)
    return Door(lambda *args: method(function, *args))


def no_compiler(module: inarch.Module, _: Path) -> Door:
    function = module["main"]
    assert function.c_entry is not None
    quick = quick_call("main", module.signature, function.c_entry)
    assert quick is not None

    def call(*args: object) -> None:
        if not quick(args):
            function._general(*args)  # pyright: ignore[reportPrivateUsage]
            raise AssertionError("expected the quick way to take what is right")

    return Door(call)


def of_dlpack(module: inarch.Module, _: Path) -> Door:
    """The same arrays from somewhere else."""

    def call(*args: Any) -> object:
        given = (Foreign(each) if isinstance(each, np.ndarray) else each for each in args[:2])
        return module(*given, *args[2:])

    return Door(call)


def bound(module: inarch.Module, _: Path) -> Door:
    return Door(lambda *args: module.bind(*args)())


def graph_module(module: inarch.Module, _: Path) -> Door:
    graph = GraphModule(module)

    def call(x: object, s: object, y: object) -> None:
        graph.set_input("x", x)
        graph.set_input("s", s)
        graph.run()
        graph.get_output(0, y)

    return Door(call)


def compute(_module: inarch.Module, _: Path) -> Door:
    text = "for i in M, j in N: y[i, j] = x[i, j] * s"
    return Door(inarch.compute(text, sizes={"M": 2, "N": 3}, dtypes="f32"))


def tvm_ffi(module: inarch.Module, folder: Path) -> Door:
    tvm: Any = pytest.importorskip(
        "tvm_ffi", reason="apache-tvm-ffi is not installed: make bridges"
    )
    module.save(folder / "model.so")
    loaded = tvm.load_module(str(folder / "model.so"))
    return Door(loaded.main, (TypeError, ValueError, BufferError, RuntimeError))


def torch(module: inarch.Module, _: Path, name: str = "door") -> Door:
    package: Any = pytest.importorskip("torch", reason="PyTorch is not installed: make bridges")
    from inarch.bridges.torch import to_torch_func

    function = to_torch_func(module, name)

    def tensor(value: object) -> object:
        if not isinstance(value, Foreign):
            return package.from_numpy(value) if isinstance(value, np.ndarray) else value
        found = package.tensor(value.array)
        if value.where != (1, 0):
            return found.to("meta")
        found.untyped_storage().resize_(0)
        return found

    def call(*args: object) -> None:
        *inputs, output = map(tensor, args)
        function(*inputs, out=output)

    return Door(call, (RuntimeError,))


def jax(module: inarch.Module, _: Path) -> Door:
    package: Any = pytest.importorskip("jax", reason="JAX is not installed: make bridges")
    from inarch.bridges.jax import to_jax_func

    function = to_jax_func(module)

    def array(value: object) -> object:
        if isinstance(value, Foreign):
            found = package.numpy.asarray(value.array)
            found.delete()
            return found
        return package.numpy.asarray(value) if isinstance(value, np.ndarray) else value

    def call(*args: object) -> None:
        result = function(*map(array, args[:-1]))
        np.copyto(args[-1], np.asarray(result.block_until_ready()))  # pyright: ignore[reportArgumentType]

    return Door(call, (ArgumentError, RuntimeError))


def mxnet(module: inarch.Module, _: Path) -> Door:
    mx: Any = pytest.importorskip("mxnet", reason="MXNet is not installed: make bridges")
    from inarch.bridges.mxnet import to_mxnet_func

    function = to_mxnet_func(module)

    def array(value: object) -> Any:
        return mx.nd.array(value, dtype=value.dtype) if isinstance(value, np.ndarray) else value

    def call(*args: Any) -> None:
        same = args[0] is args[-1]
        given = [*map(array, args)]
        if same:
            given[-1] = given[0]
        function(*given)
        given[-1].wait_to_read()
        np.copyto(args[-1], given[-1].asnumpy())

    return Door(call, (ArgumentError, mx.base.MXNetError))


X = "main: argument 'x': expected f32[2, 3]"
Y = "main: output 'y': expected"
OF_PYTHON = {
    "dtype": f"{X}, found i32[2, 3]; convert it with x.astype(np.float32)",
    "rank": f"{X}, found f32[6]; x.reshape((2, 3)) fits",
    "shape": f"{X}, found f32[1, 3]; pass an array of that shape",
    "stride": f"{X} in row-major order, found strides (4, 8); use np.ascontiguousarray(x)",
    "alignment": f"{X}, found an address that is not aligned; use x.copy()",
    "device": "main: argument 'x': expected memory of the CPU, found a Foreign on device (2, 0); "
    "pass a copy in CPU memory",
    "NULL": f"{X}, found a NoneType; use np.array(x, dtype=np.float32)",
    "overlap": f"{Y} memory of its own, found that of input 'x'",
    "read-only": f"{Y} an array that can be written, found a read-only one",
    "freed": "main: argument 'x': a Foreign that does not give its memory: the tensor was freed; "
    "pass a detached array in CPU memory",
    "count": "main: expected 2 arguments (x: f32[2, 3], s: f32[]), found 4",
    "number": "main: argument 's': expected f32[], found a str; use np.array(x, dtype=np.float32)",
    "output": f"{Y} f32[2, 3], found f64[2, 3]; pass a row-major float32 array of shape (2, 3)",
}
AS_ASKED = "out: expected an array like the one asked for:"
OF_C = {
    "dtype": "main: argument 0 (x): expected f32[2, 3], found i32[2, 3]",
    "rank": "main: argument 0 (x): expected f32[2, 3], found f32[6]",
    "shape": "main: argument 0 (x): expected f32[2, 3], found f32[1, 3]",
    "stride": "main: argument 0 (x): expected a row-major array, found other strides",
    "alignment": "main: argument 0 (x): expected an address that is a multiple of 4, found one that is not",
    "overlap": "main: argument 2 (y) overlaps argument 0 (x); an output needs memory of its own",
    "output": "main: argument 2 (y): expected f32[2, 3], found f64[2, 3]",
}
MESSAGES: dict[str, tuple[Callable[[inarch.Module, Path], Door], dict[str, str]]] = {
    "compiled": (compiled, OF_PYTHON),
    "no-compiler": (no_compiler, OF_PYTHON),
    "dlpack": (of_dlpack, OF_PYTHON),
    "bound": (bound, OF_PYTHON),
    "graph-module": (  # which copies: nothing overlaps
        graph_module,
        {fault: OF_PYTHON[fault] for fault in OF_PYTHON if fault not in ("overlap", "count")}
        | {
            "read-only": f"{AS_ASKED} assignment destination is read-only",
            "output": f"{AS_ASKED} Cannot cast array data from dtype('float32') to dtype('float64') "
            "according to the rule 'no'",
        },
    ),
    "compute": (  # an input may be the output of the same elements
        compute,
        {fault: OF_PYTHON[fault].replace("main", "compute") for fault in ("stride", "alignment")}
        | {
            fault: OF_PYTHON[fault].replace("main", "compute")
            for fault in ("device", "read-only", "freed")
        }
        | {
            "dtype": "compute: argument 'x': expected f32, as dtypes says, found i32",
            "rank": "compute: argument 'x': expected rank 2 (x[i, j]), found shape (6,)",
            "shape": "compute: argument 'x': expected 2 in dimension 0 (M, as of sizes), found shape (1, 3)",
            "NULL": "compute: argument 'x': expected an array of rank 2, found a NoneType",
            "count": "compute: expected 2 arguments (x, s), or 3 with the outputs (x, s, y), found 4",
            "number": "compute: argument 's': expected an array of rank 0, found a str",
            "output": "compute: argument 'y': expected f32, as dtypes says, found f64",
        },
    ),
    "tvm-ffi": (
        tvm_ffi,
        OF_C
        | {
            "NULL": "main: argument 0 (x): expected f32[2, 3], found None",
            "read-only": "Cannot export readonly array since signalling readonly is unsupported by DLPack "
            "(supported by newer DLPack version).",  # NumPy's, which TVM FFI hands on
            "freed": "the tensor was freed",
            "count": "main: expected 3 arguments, inputs and then outputs, found 4",
            "number": "main: argument 1 (s): expected f32[], found what is no tensor",
        },
    ),
    "torch": (  # whose tensors can always be written
        torch,
        OF_C
        | {
            "device": "main: argument 1 (s): expected a tensor on meta, as argument 0, found one on cpu",
            "NULL": "door: argument 0 (x): expected a strided tensor, found none",
            "freed": "main: argument 0 (x): expected data, found a null pointer",
            "count": "inarch::door() expected at most 3 argument(s) but received 4 argument(s). "
            "Declaration: inarch::door.out(Tensor x, Tensor s, *, Tensor(a!) out) -> ()",
            "number": "inarch::door() Expected a value of type 'Tensor' for argument 's' but instead found "
            "type 'str'.",
        },
    ),
    "jax": (  # which makes the outputs, and row-major copies of what it is given
        jax,
        {
            "dtype": f"{X} (float32), found int32[2, 3]",
            "rank": f"{X} (float32), found float32[6]",
            "shape": f"{X} (float32), found float32[1, 3]",
            "NULL": f"{X}, found a NoneType; use jnp.asarray(x)",
            "freed": "Array has been deleted with shape=float32[2,3].",
            "count": "main: expected 2 arguments (x: f32[2, 3], s: f32[]), found 3",
            "number": "main: argument 's': expected f32[], found a str; use jnp.asarray(x)",
        },
    ),
    "mxnet": (  # whose arrays are row-major, aligned and writable
        mxnet,
        {
            "dtype": f"{X}, found i32[2, 3]",
            "rank": f"{X}, found f32[6]",
            "shape": f"{X}, found f32[1, 3]",
            "output": "main: argument 'y': expected f32[2, 3], found f64[2, 3]",
            "overlap": f"inarch: {OF_C['overlap']}",  # seen where it is waited for
            "device": "main: argument 'x': expected an NDArray or a number, found a Foreign",
            "NULL": "main: argument 'x': expected an NDArray or a number, found a NoneType",
            "count": "main: expected 3 arguments (x, s, y), found 4",
            "number": "main: argument 's': expected an NDArray or a number, found a str",
        },
    ),
}


@pytest.mark.every_case(reason="each is a door of its own")
@pytest.mark.parametrize("name", MESSAGES)
def test_every_wrong_argument_at_every_door(
    module: inarch.Module, tmp_path: Path, name: str
) -> None:
    """B4, B10: what is wrong is said in one line, nothing is written, and the next call is right."""
    make, messages = MESSAGES[name]
    door = make(module, tmp_path)
    # What the quick way without a compiler, and PyTorch, have no numbers for.
    s: Any = np.array(2, np.float32) if name in ("torch", "no-compiler") else 2.0
    for fault, message in messages.items():
        x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), np.float32)
        with pytest.raises(door.raises) as raised:
            door.call(*FAULTS[fault](x, s, y))
        assert str(raised.value).splitlines()[0] == message, fault
        np.testing.assert_array_equal(y, np.zeros((2, 3)), err_msg=fault)
        np.testing.assert_array_equal(x, np.arange(6).reshape(2, 3), err_msg=fault)
        y = np.zeros((2, 3), np.float32)
        door.call(x, s, y)
        np.testing.assert_array_equal(y, x * 2, err_msg=fault)


def test_the_faults_are_the_same_everywhere() -> None:
    """No door leaves one out but for the reason that stands beside it."""
    for name, (_, messages) in MESSAGES.items():
        left_out = set(FAULTS) - set(messages)
        assert left_out <= {
            "graph-module": {"overlap", "count"},
            "compute": {"overlap"},
            "tvm-ffi": {"device"},  # what NumPy gives is on the CPU, whatever it says
            "torch": {"read-only"},
            "jax": {"stride", "alignment", "device", "overlap", "read-only", "output"},
            "mxnet": {"stride", "alignment", "read-only", "freed"},
        }.get(name, set()), name


@pytest.mark.slow
def test_what_a_call_costs_at_the_doors_of_this_environment() -> None:
    """B10: every row of benchmarks/calls.py that is here, beside its bar or its floor."""
    check_calls(7)
