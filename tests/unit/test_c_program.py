"""Whole programs in C: warning-free everywhere, the checked entries, imports, weights, microkernels."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import inarch
from inarch._xdsl import parse_module, verify_module
from inarch.backends import BACKENDS
from inarch.backends.c import CProgram, emit, run_function, weights_image
from inarch.dialects import new_context
from inarch.errors import ArgumentError, InarchError, UnsupportedError, UsageError
from inarch.target import parse
from inarch.toolchain import compile_library

Array = np.ndarray[Any, Any]

SOURCE = """
void saxpy(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        Y[i * Y_0] += 2.0f * X[i * X_0];
    }
}
"""

PROGRAM = r"""
module attributes {inarch.name = "net", inarch.target = "x86-64-v3"} {
kernel.def @saxpy computes "for i in n: Y[i] += 2 * X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>,
    #kernel.operand<Y : f32 update rank 1 align 4>] needs [] source "SOURCE"
func.func private @outside(memref<2x4xf32>, memref<2x4xf32> {inarch.result})
func.func @main(%x: memref<2x4xf32> {inarch.name = "in\"put?"}, %u: memref<3xi8> {inarch.dtype = ui8},
    %flag: memref<i1>, %y: memref<2x4xf32> {inarch.name = "output", inarch.result}) {
  %t = loop.alloc at 0 : memref<2x4xf32>
  %w = loop.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
    at 64 : memref<2x4xf32>
  %p = loop.alloc at 64 : memref<2x2x4xf32>
  loop.call @for(%x, %w, %t) : memref<2x4xf32>, memref<2x4xf32>, memref<2x4xf32>
  loop.call @for(%t, %w, %t) : memref<2x4xf32>, memref<2x4xf32>, memref<2x4xf32>
  loop.call @outside(%t, %y) : memref<2x4xf32>, memref<2x4xf32>
  %r0 = memref.subview %w[0, 0] [1, 4] [1, 1] : memref<2x4xf32> to memref<4xf32, strided<[1]>>
  %r1 = memref.subview %y[1, 0] [1, 4] [1, 1]
    : memref<2x4xf32> to memref<4xf32, strided<[1], offset: 4>>
  kernel.call @saxpy(%r0[0] strides [1], %r1[0] strides [1]) sizes [4]
    : memref<4xf32, strided<[1]>>, memref<4xf32, strided<[1], offset: 4>>
  kernel.pack %x[c + a, b] to %p[a, c, b] : memref<2x4xf32>, memref<2x2x4xf32>
  %flat = loop.reshape %p : memref<2x2x4xf32> to memref<16xf32>
  %c0 = arith.constant 0 : index
  %b = memref.load %flag[] : memref<i1>
  loop.for %i = 0 to 4 step 2 unroll {
    %row = memref.subview %flat[%i] [4] [1] : memref<16xf32> to memref<4xf32, strided<[1], offset: ?>>
    %v = memref.load %row[%c0] : memref<4xf32, strided<[1], offset: ?>>
    %byte = memref.load %u[%c0] : memref<3xi8>
    %f = arith.uitofp %byte : i8 to f32
    %k = scf.if %b -> (f32) {
      %s = arith.addf %v, %f : f32
      scf.yield %s : f32
    } else {
      scf.yield %v : f32
    }
    memref.store %k, %y[%c0, %i] : memref<2x4xf32>
    loop.yield
  }
  func.return
}
func.func private @for(%new: memref<2x4xf32>, %int: memref<2x4xf32>, %exp: memref<2x4xf32>) {
  loop.nest (while = 2, class = 4) ins(%new[while, class] : memref<2x4xf32>,
      %int[while, class] : memref<2x4xf32>) outs(%exp[while, class] : memref<2x4xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %e = math.tanh %m : f32
    %q = math.sin %e : f32
    loop.yield %q : f32
  }
  func.return
}
func.func private @tile(%a: memref<4x8xi8>, %c: memref<4x8xi32>) {
  loop.nest (k = 2 reduction, m = 4 unroll, n = 8 vector) ins(%a[m, n] : memref<4x8xi8>)
      outs(%c[m, n] init 0 : memref<4x8xi32>) {
  ^bb0(%x: i8, %acc: i32):
    %w = arith.extsi %x : i8 to i32
    %s = arith.addi %acc, %w : i32
    %l = arith.maxsi %s, %w : i32
    loop.yield %l : i32
  }
  func.return
}
}
""".replace("SOURCE", SOURCE.replace("\n", "\\n"))
CHECKED = PROGRAM.replace("module attributes {", "module attributes {inarch.checked, ")


def _parse(text: str) -> tuple[Context, ModuleOp]:
    context = new_context()
    module = parse_module(context, text, "p.mlir")
    verify_module(module)
    return context, module


def _emit(text: str) -> CProgram:
    return emit(*_parse(text))


# ---------------------------------------------------------------------------------- compilers


@pytest.mark.parametrize("source", [PROGRAM, CHECKED], ids=["plain", "checked"])
@pytest.mark.parametrize("compiler", ["gcc", "clang-19", "clang", "g++"])
def test_programs_compile_without_a_warning(tmp_path: Path, compiler: str, source: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    program = _emit(source)
    for name, text in {**program.units, "all.c": program.text}.items():
        (tmp_path / name).write_text(text)
        mode = ["-x", "c++", "-fsyntax-only"] if compiler == "g++" else ["-std=c11", "-O2", "-c"]
        command = [compiler, *mode, "-Wall", "-Wextra", "-Werror", "-o", "/dev/null", name]
        subprocess.run(command, check=True, cwd=tmp_path)


def test_a_module_without_public_functions_compiles_alone(tmp_path: Path) -> None:
    program = _emit("func.func private @f(%a: memref<2xf32>) { func.return }")
    (tmp_path / "f.c").write_text(program.text)
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-c", "f.c"]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert program.functions == ()
    assert (
        '__attribute__((visibility("hidden"))) void model_f(const float *__restrict a)'
        in program.text
    )


MAIN = r"""
static int32_t twice(void *self, DLTensor *args, int32_t n)
{
    (void)self;
    for (int i = 0; i < 8; i++) {
        ((float *)args[1].data)[i] = 2 * ((const float *)args[0].data)[i];
    }
    return n - 2;
}

int main(void)
{
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0};
    uint8_t u[3] = {7, 8, 9}, flag = 1;
    int64_t shape[] = {2, 4}, three[] = {3};
    DLTensor args[] = {{x, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0},
                       {u, {1, 0}, 1, {1, 8, 1}, three, NULL, 0},
                       {&flag, {1, 0}, 0, {6, 8, 1}, NULL, NULL, 0},
                       {y, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0}};
    inarch_import import = {twice, NULL};
    if (net_main(args, 4) != 2 || net_bind(NULL, &import, 1) != 0) {
        return 1;
    }
    if (net_main(args, 4) != 0 || net_main(args, 4) != 0) {
        fprintf(stderr, "%s\n", net_last_error());
        return 2;
    }
    printf("%g %g\n", y[0], y[2]);
    return 0;
}
"""


@pytest.mark.parametrize("source", [PROGRAM, CHECKED], ids=["plain", "checked"])
def test_the_amalgamation_runs_alone_under_the_sanitizers(tmp_path: Path, source: str) -> None:
    (tmp_path / "a.c").write_text(_emit(source).text + MAIN)
    flags = ["-std=c11", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    built = subprocess.run(["gcc", *flags, "a.c", "-o", "a", "-lm"], cwd=tmp_path, check=False)
    if built.returncode != 0:
        pytest.skip("this gcc has no sanitizers")
    result = subprocess.run([str(tmp_path / "a")], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr, result.returncode) == ("8 10\n", "", 0)


@pytest.mark.parametrize("header_first", [True, False])
def test_the_header_goes_with_the_amalgamation(tmp_path: Path, header_first: bool) -> None:
    header = '#include "inarch.h"\n'
    use = "int version(void)\n{\n    return INARCH_ABI_VERSION;\n}\n"
    text = _emit(PROGRAM).text
    (tmp_path / "a.c").write_text((header + text if header_first else text + header) + use)
    include = Path(inarch.__file__).parent / "runtime" / "include"
    flags = ["-std=c11", "-Wall", "-Werror", f"-I{include}"]
    result = subprocess.run(
        ["gcc", *flags, "-c", "a.c"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (result.stderr, result.returncode) == ("", 0)


# ---------------------------------------------------------------------------------- the ABI


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_CODES = {"f": 2, "i": 0, "u": 1, "b": 6}


def _tensor(array: Array, *, shift: int = 0) -> _DLTensor:
    """A DLTensor of `array`, which must outlive it; `shift` bytes are added to its address."""
    sizes = (ctypes.c_int64 * array.ndim)(*array.shape)
    steps = (ctypes.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
    code = _CODES[array.dtype.kind]
    return _DLTensor(
        array.ctypes.data + shift, 1, 0, array.ndim, code, array.itemsize * 8, 1, sizes, steps, 0
    )


ADD = """
module attributes {inarch.name = "net"} {
func.func @main(%x: memref<2x3xf32> {inarch.name = "input"}, %y: memref<2x3xf32> {inarch.name = "output"}) {
  %t = loop.alloc at 0 : memref<2x3xf32>
  loop.call @k(%x, %t) : memref<2x3xf32>, memref<2x3xf32>
  loop.call @k(%t, %y) : memref<2x3xf32>, memref<2x3xf32>
  func.return
}
func.func private @k(%x: memref<2x3xf32>, %y: memref<2x3xf32>) {
  loop.nest (i = 2, j = 3) ins(%x[i, j] : memref<2x3xf32>) outs(%y[i, j] : memref<2x3xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %a : f32
    loop.yield %s : f32
  }
  func.return
}
}
"""


@pytest.fixture
def net(tmp_path: Path) -> ctypes.CDLL:
    path = tmp_path / "net.so"
    compile_library(_emit(ADD).units, path, target=parse("generic"))
    library = ctypes.CDLL(str(path))
    library.net_last_error.restype = ctypes.c_char_p
    assert library.net_abi_version() == 0
    assert library.net_bind(None, None, 0) == 0
    return library


def _call(library: ctypes.CDLL, *tensors: _DLTensor) -> tuple[int, str]:
    args = (_DLTensor * max(1, len(tensors)))(*tensors)
    status = library.net_main(args, ctypes.c_int32(len(tensors)))
    return status, library.net_last_error().decode()


def test_the_checked_entry_computes(net: ctypes.CDLL) -> None:
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), np.float32)
    for _ in range(3):
        assert _call(net, _tensor(x), _tensor(y))[0] == 0
    np.testing.assert_array_equal(y, 4 * x)


def test_the_checked_entry_names_what_does_not_fit(net: ctypes.CDLL) -> None:
    f32 = np.zeros((2, 3), np.float32)
    out = np.zeros((2, 3), np.float32)
    wide = np.zeros((2, 3), np.float64)
    column = np.zeros((3, 2), np.float32).T
    gpu = _tensor(f32)
    gpu.device_type = 2
    null = _tensor(f32)
    null.data = None
    start = "main: argument 0 (input): expected "
    cases = [
        ([_tensor(f32)], "main: expected 2 arguments (1 inputs, then 1 outputs), found 1"),
        ([_tensor(wide), _tensor(out)], f"{start}f32[2, 3], found f64[2, 3]"),
        ([_tensor(f32[:1]), _tensor(out)], f"{start}f32[2, 3], found f32[1, 3]"),
        ([_tensor(f32 > 0), _tensor(out)], f"{start}f32[2, 3], found i1[2, 3]"),
        ([_tensor(column), _tensor(out)], f"{start}a row-major array, found other strides"),
        ([gpu, _tensor(out)], f"{start}host memory, found device type 2"),
        ([null, _tensor(out)], f"{start}data, found a null pointer"),
        (
            [_tensor(f32, shift=1), _tensor(out)],
            f"{start}an address that is a multiple of 4, found one that is not",
        ),
        (
            [_tensor(f32), _tensor(f32)],
            "main: argument 1 (output) overlaps argument 0 (input); an output needs memory of its own",
        ),
    ]
    for tensors, message in cases:
        assert _call(net, *tensors) == (1, message)


STRIDED = """
module attributes {inarch.name = "net", inarch.checked} {
func.func private @f(VIEW, VIEW {inarch.result})
func.func @main(%x: memref<2x4xf32>, %y: memref<2x4xf32> {inarch.result}) {
  %a = memref.subview %x[0, 1] [2, 2] [1, 1] : memref<2x4xf32> to VIEW
  %b = memref.subview %y[0, 1] [2, 2] [1, 1] : memref<2x4xf32> to VIEW
  loop.call @f(%a, %b) : VIEW, VIEW
  func.return
}
}
""".replace("VIEW", "memref<2x2xf32, strided<[4, 1], offset: 1>>")


def test_checked_mode_touches_an_output_only(tmp_path: Path) -> None:
    """N6: of a part of an array the elements, not what is between them; the code is 4."""
    path = tmp_path / "net.so"
    compile_library(_emit(STRIDED).units, path, target=parse("generic"))
    library = ctypes.CDLL(str(path))
    library.net_last_error.restype = ctypes.c_char_p
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(_DLTensor), ctypes.c_int32
    )

    def write(_self: object, args: Any, _count: int) -> int:
        if written:
            ctypes.c_float.from_address(args[1].data + args[1].byte_offset).value = 1
        return 0

    function = kind(write)
    entry = (ctypes.c_void_p * 2)(ctypes.cast(function, ctypes.c_void_p), None)
    assert library.net_bind(None, entry, 1) == 0
    x, y = np.zeros((2, 4), np.float32), np.zeros((2, 4), np.float32)
    written = False
    assert _call(library, _tensor(x), _tensor(y)) == (4, "f: output 0 was never written")
    assert not x.any()
    assert not y[:, [0, 3]].any()
    written = True
    assert _call(library, _tensor(x), _tensor(y))[0] == 0
    nan = np.nan
    np.testing.assert_array_equal(y, [[0, 1, nan, 0], [0, nan, nan, 0]])


def test_the_manifest_lists_functions_and_imports() -> None:
    manifest = _emit(PROGRAM).manifest("x86-64-v3", ["avx2"])
    assert manifest["functions"]["main"] == {
        "inputs": [
            {"name": 'in"put?', "dtype": "f32", "shape": [2, 4]},
            {"name": "in1", "dtype": "ui8", "shape": [3]},
            {"name": "in2", "dtype": "i1", "shape": []},
        ],
        "outputs": [{"name": "output", "dtype": "f32", "shape": [2, 4]}],
        "workspace_bytes": 128,
    }
    assert [slot["name"] for slot in manifest["imports"]] == ["outside"]
    assert manifest["prefix"] == "net"


def test_weights_have_their_place() -> None:
    context, module = _parse(PROGRAM)
    image = weights_image(context, module)
    assert len(image) == 128
    np.testing.assert_array_equal(np.frombuffer(image, np.float32)[16:24], np.arange(1, 9))


# ---------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%t = loop.alloc : memref<2xf32>", "loop.alloc has no offset; run plan-memory first"),
        (
            "%c = arith.constant dense<1.0> : vector<2xf32>",
            "'arith.constant' has no C; rewrite it first",
        ),
        (
            "loop.call @k(%a) : memref<2xf32>",
            "'loop.call' of @k expects (memref<3xf32>), found (memref<2xf32>)",
        ),
    ],
)
def test_what_has_no_c_is_a_located_error(body: str, message: str) -> None:
    text = f"func.func @f(%a: memref<2xf32>) {{\n  {body}\n  func.return\n}}\n"
    context = new_context()
    module = parse_module(context, text + "func.func private @k(memref<3xf32>)", "p.mlir")
    with pytest.raises(InarchError) as caught:
        emit(context, module)
    assert caught.value.message == message
    assert caught.value.where == "p.mlir:2:3"


def test_private_functions_have_no_workspace() -> None:
    text = "func.func private @f() {\n  %t = loop.alloc at 0 : memref<2xf32>\n  func.return\n}"
    with pytest.raises(InarchError) as caught:
        _emit(text)
    expected = "expected loop.alloc in a public function only; pass the buffer as an argument"
    assert caught.value.line() == f"p.mlir:2:3: error: {expected}"


def test_functions_of_tensors_are_not_for_this_backend() -> None:
    with pytest.raises(UnsupportedError) as caught:
        _emit("func.func private @f(tensor<2xf32>) -> tensor<2xf32>")
    assert caught.value.message == (
        "@f: expected memref arguments and no results, found (tensor<2xf32>) -> tensor<2xf32>; "
        "run graph-to-loop first"
    )


def test_run_function_checks_its_arrays() -> None:
    context, module = _parse(ADD)
    with pytest.raises(ArgumentError) as caught:
        run_function(
            context, module, "main", [np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)]
        )
    assert (
        caught.value.message == "@main: array 1: expected f32[2, 3], row-major; found float32[3, 2]"
    )
    with pytest.raises(UsageError) as unknown:
        run_function(context, module, "mian", [])
    assert unknown.value.message == "no function 'mian'; did you mean 'main'? Known: k, main"


def test_run_function_runs_private_functions_and_keeps_the_module() -> None:
    context, module = _parse(ADD)
    before = str(module)
    x, y = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    run_function(context, module, "k", [x, y])
    np.testing.assert_array_equal(y, 2 * x)
    assert str(module) == before


def test_the_backend_is_found_by_its_name() -> None:
    emit_text = BACKENDS["c"].emit_text
    assert emit_text is not None
    assert emit_text(*_parse(ADD)) == _emit(ADD).text
