"""The backend cblas: its products against the references, and artifacts that carry it."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

import inarch
from inarch import runtime
from inarch.backends import BACKENDS, EmitRequest
from inarch.backends.cblas import library as _library
from inarch.core.errors import EnvironmentFault, UnsupportedError
from inarch.dialects import new_context
from inarch.driver.compiler import build
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.machine.target import native
from inarch.machine.toolchain import compile_library
from inarch.runtime.module import load
from inarch.testing import execute

Array = np.ndarray[Any, Any]

INCLUDE = Path(runtime.__file__).parent / "include"
STRICT = (f"-I{INCLUDE}", "-Wall", "-Wextra", "-Werror", "-pedantic")

needs_openblas = pytest.mark.skipif(
    _library.find_library() is None, reason="needs the package scipy-openblas32"
)


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def _tensor(array: Array) -> _DLTensor:
    """`array` at a byte offset, which the code has to add."""
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    bits = array.dtype.itemsize * 8
    base = array.ctypes.data - 16
    return _DLTensor(base, (1, 0), array.ndim, 2, bits, 1, shape, None, 16)


def emitted(text: str) -> str:
    """The C for all functions of `text`."""
    context = new_context()
    module = parse_module(context, text)
    verify_module(module)
    functions = tuple(cast("FuncOp", op) for op in module.body.ops)
    emit = BACKENDS["cblas"].emit
    assert emit is not None
    emission = emit(EmitRequest(functions=functions, context=context, target="x86-64-v3"))
    assert emission.format == "c"
    assert emission.symbols == tuple(f.sym_name.data for f in functions)
    assert emission.libraries == (_library.library(),)
    return emission.text


def compiled(texts: Sequence[str], folder: Path) -> list[Call]:
    """The functions of `texts`, each of which defines @cblas_0: compiled together, without warnings."""
    renamed = (text.replace("@cblas_0", f"@cblas_{i}") for i, text in enumerate(texts))
    source = emitted("\n".join(renamed)).replace("int32_t cblas_", EXPORT + "int32_t cblas_")
    library = folder / "cblas.so"
    openblas = [str(_library.library())]
    compile_library({"cblas.c": source}, library, target=native(), flags=STRICT, libraries=openblas)
    functions = ctypes.CDLL(str(library))
    return [_call(functions[f"cblas_{i}"], text) for i, text in enumerate(texts)]


def _call(function: Any, text: str) -> Call:
    def call(inputs: Sequence[Array]) -> list[tuple[Array, Array]]:
        expected = execute(text.replace("func private @cblas_0", "func @main"), inputs)
        outputs = [np.full_like(value, np.nan) for value in expected]
        arrays = [*inputs, *outputs]
        tensors = (_DLTensor * len(arrays))(*map(_tensor, arrays))
        assert function(None, tensors, len(arrays) + 1) != 0
        assert function(None, tensors, len(arrays)) == 0
        return list(zip(outputs, expected, strict=True))

    return call


Call = Callable[[Sequence[Array]], list[tuple[Array, Array]]]
"""Gives outputs, each with what the references say."""

EXPORT = '__attribute__((visibility("default"))) '


def type_of(shape: Sequence[int], dtype: str = "f32") -> str:
    return f"tensor<{'x'.join([*map(str, shape), dtype])}>"


def random(shape: Sequence[int], dtype: str = "f32", seed: int = 0) -> Array:
    values = np.random.default_rng(seed).standard_normal(tuple(shape))
    return values.astype({"f32": "float32", "f64": "float64"}[dtype])


def inputs_of(text: str) -> list[Array]:
    (function,) = parse_module(new_context(), text).body.ops
    assert isinstance(function, FuncOp)
    types = [cast("Any", value.type) for value in function.body.block.args]
    return [
        random(kind.get_shape(), str(kind.element_type), seed) for seed, kind in enumerate(types)
    ]


def check(texts: Sequence[str], folder: Path) -> None:
    for text, call in zip(texts, compiled(texts, folder), strict=True):
        for found, expected in call(inputs_of(text)):
            tolerance = 2e-5 if found.dtype == np.float32 else 1e-13
            np.testing.assert_allclose(
                found, expected, rtol=tolerance, atol=tolerance * 16, err_msg=text
            )


def composite(
    pattern: str, shapes: Sequence[Sequence[int]], body: str, out: Sequence[int], dtype: str = "f32"
) -> str:
    """A function with one composite, whose body takes %a0, %a1 ... and yields %out."""
    types = [type_of(shape, dtype) for shape in shapes]
    arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(types))
    outside = ", ".join(f"%x{i}: {kind}" for i, kind in enumerate(types))
    names = ", ".join(f"%x{i}" for i in range(len(types)))
    result = type_of(out, dtype)
    return f"""
    func.func private @cblas_0({outside}) -> {result} attributes {{compiler = "cblas"}} {{
      %0 = graph.composite "cblas.{pattern}"({names}) : ({", ".join(types)}) -> {result} {{
      ^bb0({arguments}):
        {body}
        graph.yield %out : {result}
      }}
      func.return %0 : {result}
    }}
    """


def matmul_text(
    x: Sequence[int], y: Sequence[int], dtype: str = "f32", addend: Sequence[int] | None = None
) -> str:
    batch = np.broadcast_shapes(tuple(x[:-2]), tuple(y[:-2]))
    out = (*batch, x[-2], y[-1])
    product = (
        f"graph.matmul %a0, %a1 : {type_of(x, dtype)}, {type_of(y, dtype)} -> {type_of(out, dtype)}"
    )
    if addend is None:
        return composite("matmul", [x, y], f"%out = {product}", out, dtype)
    body = f"""%p = {product}
        %s = graph.add %a2, %p : {type_of(addend, dtype)}, {type_of(out, dtype)} -> {type_of(out, dtype)}
        %out = graph.relu %s : {type_of(out, dtype)} -> {type_of(out, dtype)}"""
    return composite("matmul_add", [x, y, addend], body, out, dtype)


MATMULS = [
    ((3, 5), (5, 4)),
    ((1, 7), (7, 1)),
    ((1, 7), (7, 5)),
    ((6, 7), (7, 1)),
    ((2, 6, 7), (2, 7, 1)),
    ((2, 1, 7), (2, 7, 3)),
    ((1, 0), (0, 4)),
    ((33, 65), (65, 17)),
    ((2, 3, 5), (5, 4)),
    ((2, 1, 5), (5, 4)),
    ((2, 3, 5), (2, 5, 4)),
    ((3, 5), (2, 5, 4)),
    ((2, 1, 3, 5), (3, 5, 4)),
    ((2, 3, 4, 5), (2, 3, 5, 6)),
    ((2, 3, 4, 5), (2, 1, 5, 6)),
    ((1, 1, 4, 5), (1, 5, 6)),
    ((3, 0), (0, 4)),
    ((0, 3), (3, 4)),
    ((3, 4), (4, 0)),
    ((0, 3, 4), (4, 2)),
]


ADDENDS = [
    ((3, 5), (5, 4), (4,)),
    ((3, 5), (5, 4), ()),
    ((3, 5), (5, 4), (3, 1)),
    ((3, 5), (5, 4), (3, 4)),
    ((3, 0), (0, 4), (4,)),
    ((2, 3, 5), (5, 4), (4,)),
    ((2, 3, 5), (5, 4), (2, 1, 1)),
    ((2, 3, 5), (5, 4), (3, 1)),
    ((2, 3, 4, 5), (2, 3, 5, 6), (3, 1, 6)),
]


@needs_openblas
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_matmul_is_the_reference(dtype: str, tmp_path: Path) -> None:
    check([matmul_text(x, y, dtype) for x, y in MATMULS], tmp_path)


@needs_openblas
@pytest.mark.parametrize("dtype", ["f32", pytest.param("f64", marks=pytest.mark.slow)])
def test_an_addend_and_relu_are_part_of_the_product(dtype: str, tmp_path: Path) -> None:
    check([matmul_text(x, y, dtype, addend) for x, y, addend in ADDENDS], tmp_path)


def _transposed(x: Sequence[int], perm: Sequence[int], y: Sequence[int], side: str) -> str:
    moved = [x[axis] for axis in perm]
    left, right = ("%t", "%a1") if side == "left" else ("%a1", "%t")
    shapes = (moved, y) if side == "left" else (y, moved)
    out = (*moved[:-2], shapes[0][-2], shapes[1][-1])
    body = f"""%t = graph.transpose %a0 perm = {list(perm)} : {type_of(x)} -> {type_of(moved)}
        %out = graph.matmul {left}, {right} : {type_of(shapes[0])}, {type_of(shapes[1])} -> {type_of(out)}"""
    return composite("matmul_transposed", [x, y], body, out)


TRANSPOSES = [
    ((5, 3), (1, 0), (5, 4), "left"),
    ((4, 5), (1, 0), (3, 5), "right"),
    ((1, 5), (1, 0), (1, 4), "left"),
    ((5, 1), (1, 0), (5, 4), "left"),
    ((5, 3), (1, 0), (5, 1), "left"),
    ((1, 5), (1, 0), (3, 5), "right"),
    ((4, 5), (1, 0), (1, 5), "right"),
    ((2, 5, 3, 1), (0, 2, 3, 1), (2, 3, 5, 4), "left"),
    ((2, 7, 3, 5), (0, 2, 1, 3), (2, 3, 5, 1), "left"),
    ((2, 7, 3, 5), (0, 2, 1, 3), (2, 3, 1, 7), "right"),
    ((7, 1, 3, 5), (1, 2, 0, 3), (1, 3, 1, 7), "right"),
    ((2, 5, 3), (0, 2, 1), (2, 5, 4), "left"),
    ((2, 7, 3, 5), (0, 2, 1, 3), (2, 3, 5, 4), "left"),
    ((2, 7, 3, 5), (0, 2, 3, 1), (2, 3, 4, 5), "right"),
    ((2, 1, 3, 5), (0, 2, 3, 1), (2, 3, 1, 4), "left"),
    ((2, 3, 5), (1, 0, 2), (5, 4), "left"),
    ((3, 4, 4), (0, 2, 1), (4, 5), "left"),  # each step as of one tall matrix
]


@needs_openblas
def test_a_transposed_operand_is_read_where_it_stands(tmp_path: Path) -> None:
    check([_transposed(*case) for case in TRANSPOSES], tmp_path)


@needs_openblas
def test_a_transposed_operand_may_be_added_too(tmp_path: Path) -> None:
    square, cube = (3, 3), (2, 3, 3)
    body = """%t = graph.transpose %a1 perm = {perm} : {kind} -> {kind}
        %m = graph.matmul %a0, %t : {kind}, {kind} -> {kind}
        %out = graph.add {sum} : {kind}, {kind} -> {kind}"""
    check(
        [
            composite(
                "matmul_add",
                [shape, shape],
                body.format(perm=perm, sum=sum_, kind=type_of(shape)),
                shape,
            )
            for shape, perm in [(square, [1, 0]), (cube, [0, 2, 1])]
            for sum_ in ["%m, %t", "%t, %m"]
        ],
        tmp_path,
    )


def conv_text(
    x: Sequence[int],
    outputs: int,
    *,
    dtype: str = "f32",
    bias: bool = True,
    addend: Sequence[int] | None = None,
) -> str:
    rank = len(x) - 2
    w, out = (outputs, x[1], *[1] * rank), (x[0], outputs, *x[2:])
    shapes: list[Sequence[int]] = [x, w, *([(outputs,)] if bias else [])]
    types = ", ".join(type_of(shape, dtype) for shape in shapes)
    kind = type_of(out, dtype)
    body = f"""%out = graph.conv %a0, %a1{" bias %a2" if bias else ""} strides = {[1] * rank}
        pads = {[0] * 2 * rank} dilations = {[2] * rank} groups = 1 : {types} -> {kind}"""
    if addend is not None:
        added = f"%a{len(shapes)}"
        shapes.append(addend)
        body = (
            body.replace("%out", "%c")
            + f"""
        %s = graph.add %c, {added} : {kind}, {type_of(addend, dtype)} -> {kind}
        %out = graph.relu %s : {kind} -> {kind}"""
        )
    return composite("conv_add", shapes, body, out, dtype)


IMAGES = [
    (1, 3, 5, 7),
    (2, 3, 5, 7),
    (3, 4, 9),
    (2, 3, 2, 3, 4),
    (5, 8, 1, 1),
    (1, 8, 1, 1),
    (1, 3, 2, 3),
]
EMPTY = [(0, 3, 5, 7), (2, 0, 5, 7)]


@needs_openblas
@pytest.mark.parametrize("dtype", ["f32", pytest.param("f64", marks=pytest.mark.slow)])
def test_a_1x1_convolution_is_a_product(dtype: str, tmp_path: Path) -> None:
    cases = [(x, bias) for x in (*IMAGES, *EMPTY) for bias in (True, False)]
    check([conv_text(x, 6, dtype=dtype, bias=bias) for x, bias in cases], tmp_path)


RESIDUALS = [
    ((2, 3, 5, 7), (2, 6, 5, 7)),
    ((2, 3, 5, 7), (6, 1, 1)),
    ((2, 3, 5, 7), (2, 1, 1, 1)),
    ((2, 3, 5, 7), (5, 7)),
    ((2, 3, 1, 7), (2, 6, 1, 1)),
    ((2, 3, 1, 7), (7,)),
    ((4, 3, 1, 1), (4, 6, 1, 1)),
    ((4, 3, 1, 1), (6, 1, 1)),
]


@needs_openblas
def test_a_convolution_with_what_is_added_to_it(tmp_path: Path) -> None:
    cases = [(x, addend, bias) for x, addend in RESIDUALS for bias in (True, False)]
    check([conv_text(x, 6, bias=bias, addend=addend) for x, addend, bias in cases], tmp_path)


RESNET50 = [
    (64, 56, 64),
    (64, 56, 256),
    (256, 56, 64),
    (256, 56, 128),
    (128, 28, 512),
    (512, 28, 128),
    (512, 28, 256),
    (256, 14, 1024),
    (1024, 14, 256),
    (1024, 14, 512),
    (512, 7, 2048),
    (2048, 7, 512),
]
"""Input channels, height and width, output channels of its 1x1 convolutions of stride 1."""


@pytest.mark.slow
@needs_openblas
def test_the_1x1_layers_of_resnet50(tmp_path: Path) -> None:
    texts = [conv_text((1, inputs, size, size), outputs) for inputs, size, outputs in RESNET50]
    for text, call in zip(texts, compiled(texts, tmp_path), strict=True):
        ((found, expected),) = call(inputs_of(text))
        np.testing.assert_allclose(found, expected, rtol=5e-5, atol=5e-4)


@needs_openblas
def test_relu_keeps_nan(tmp_path: Path) -> None:
    text = matmul_text((2, 3), (3, 2), addend=(2,))
    inputs = [random((2, 3)), random((3, 2)), np.array([np.nan, -np.inf], np.float32)]
    (call,) = compiled([text], tmp_path)
    ((found, _),) = call(inputs)
    assert np.isnan(found[:, 0]).all()
    assert (found[:, 1] == 0).all()


SEVERAL = """
func.func private @cblas_0(%x: tensor<3x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<4x4xf32>, tensor<3x4xf32>) {
  %0 = graph.matmul %x, %w : tensor<3x4xf32>, tensor<4x4xf32> -> tensor<3x4xf32>
  %1 = graph.matmul %0, %w : tensor<3x4xf32>, tensor<4x4xf32> -> tensor<3x4xf32>
  %2 = graph.matmul %1, %w : tensor<3x4xf32>, tensor<4x4xf32> -> tensor<3x4xf32>
  %3 = graph.matmul %2, %w : tensor<3x4xf32>, tensor<4x4xf32> -> tensor<3x4xf32>
  func.return %3, %1, %w, %1 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<4x4xf32>, tensor<3x4xf32>
}
"""


@needs_openblas
def test_a_function_of_several_products_and_results(tmp_path: Path) -> None:
    assert "aligned_alloc(64, 128)" in emitted(SEVERAL)
    check([SEVERAL], tmp_path)


@needs_openblas
def test_what_is_no_product_is_refused_where_it_is() -> None:
    text = """
    func.func private @cblas_0(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = graph.exp %x : tensor<3xf32> -> tensor<3xf32>
      func.return %0 : tensor<3xf32>
    }
    """
    with pytest.raises(UnsupportedError) as error:
        emitted(text)
    assert str(error.value) == (
        "<text>:3:7: backend 'cblas' expected a match of one of its patterns, found 'graph.exp' in it"
    )


def test_without_the_package_the_backend_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_library, "_MODULE", "no_such_package_of_openblas")
    assert BACKENDS["cblas"].status() == "run `pip install scipy-openblas32`"
    emit = BACKENDS["cblas"].emit
    assert emit is not None
    with pytest.raises(EnvironmentFault) as error:
        emit(EmitRequest(functions=(), context=new_context(), target="generic"))
    assert str(error.value) == (
        "backend 'cblas' needs OpenBLAS from the package scipy-openblas32, which is not installed; "
        "run `pip install scipy-openblas32`"
    )
    assert error.value.exit_code == 3


def refusal(line: str, arguments: str = "") -> str | None:
    """What `accepts` says of the last op in `line`."""
    context = new_context()
    module = parse_module(context, f"func.func @main({arguments}) {{\n{line}\nfunc.return\n}}")
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    *_, op, _ = function.body.block.ops
    accepts: Any = BACKENDS["cblas"].accepts  # which takes one parameter
    return accepts(op)


def _conv(  # one that is taken, but for what is given
    *,
    x: str = "1x4x8x8",
    w: str = "6x4x1x1",
    out: str = "1x6x8x8",
    dtype: str = "f32",
    **given: Any,
) -> str | None:
    values = {"strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1], "groups": 1, **given}
    text = " ".join(f"{name} = {value}" for name, value in values.items())
    kinds = f"tensor<{x}x{dtype}>, tensor<{w}x{dtype}>"
    return refusal(
        f"%0 = graph.conv %x, %w {text} : {kinds} -> tensor<{out}x{dtype}>",
        f"%x: tensor<{x}x{dtype}>, %w: tensor<{w}x{dtype}>",
    )


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, None),
        ({"dtype": "i32"}, "dtype is i32; takes f32 and f64"),
        ({"strides": [2, 2], "out": "1x6x4x4"}, "strides is [2, 2]; takes [1, 1]"),
        ({"pads": [0, 1, 0, 1], "out": "1x6x8x10"}, "pads is [0, 1, 0, 1]; takes [0, 0, 0, 0]"),
        ({"w": "6x2x1x1", "groups": 2}, "groups is 2; takes 1"),
        ({"w": "6x4x3x1", "out": "1x6x6x8"}, "kernel is [3, 1]; takes [1, 1]"),
        (
            {"x": "1x4x65536x65536", "out": "1x6x65536x65536"},
            "size 4294967296 does not fit 32 bits",
        ),
    ],
)
def test_convolutions_that_are_refused(given: dict[str, Any], reason: str | None) -> None:
    assert _conv(**given) == reason


def test_transposes_that_are_refused() -> None:
    argument = "%x: tensor<2x3x4xf32>"
    taken = "%0 = graph.transpose %x perm = [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>"
    refused = "%0 = graph.transpose %x perm = [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>"
    assert refusal(taken, argument) is None
    assert refusal(refused, argument) == (
        "perm is [2, 0, 1], which leaves neither of the last two dimensions contiguous"
    )


def test_importing_the_backend_imports_nothing_heavy() -> None:
    script = (
        "import sys, inarch.backends.cblas\n"
        "heavy = {'numpy', 'scipy_openblas32', 'onnx', 'cffi'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


MODEL = """
module attributes {inarch.name = "NAME"} {
func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}) -> (tensor<2x4xf32> {inarch.name = "y"}) {
  %w = graph.constant dense<SCALE> : tensor<3x4xf32>
  %0 = graph.matmul %x, %w : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  %1 = graph.exp %0 : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}
}
"""


def artifact(folder: Path, name: str = "net", scale: float = 0.5) -> Path:
    """The artifact of a small model whose product is OpenBLAS's."""
    context = new_context()
    module = parse_module(context, MODEL.replace("NAME", name).replace("SCALE", str(scale)))
    path = folder / f"{name}.inarch"
    built = build(module, path, context=context, backends=["cblas"], require_offload=True)
    assert built.offloaded == {"cblas": ("cblas_0",)}
    return path


CLEAN = """
import ctypes, sys
import numpy as np
from inarch.runtime.module import load

x = np.arange(6, dtype=np.float32).reshape(2, 3)
for scale, path in zip((0.5, 0.25), sys.argv[1:], strict=True):
    found = load(path, verify=True)(x)
    np.testing.assert_allclose(found, np.exp(scale * np.repeat(x.sum(1)[:, None], 4, 1)), rtol=1e-5)
assert not hasattr(ctypes.CDLL(None), "scipy_cblas_sgemm"), "its symbols are everybody's"
assert "inarch.backends" not in sys.modules
"""


@needs_openblas
def test_artifacts_run_elsewhere_two_at_a_time_without_leaking_symbols(tmp_path: Path) -> None:
    paths = [str(artifact(tmp_path)), str(artifact(tmp_path, "other", 0.25))]
    command = [sys.executable, "-c", CLEAN, *paths]
    done = subprocess.run(command, env={}, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_openblas
def test_a_library_that_is_gone_is_an_error_at_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "scipy_openblas32"
    library = package / "lib" / "libscipy_openblas.so"
    library.parent.mkdir(parents=True)
    library.symlink_to(_library.library())
    monkeypatch.setattr(_library, "find_library", lambda: library)
    path = artifact(tmp_path)
    load(path)
    library.unlink()
    with pytest.raises(EnvironmentFault) as error:
        load(path)
    assert str(error.value) == (
        f"{path}: backend 'cblas' calls '{library}', which does not exist, nor does '{library.name}' "
        "beside the artifact or in INARCH_LIBRARY_PATH; install scipy-openblas32, or recompile where it is"
    )


@needs_openblas
def test_weights_stay_with_the_model(tmp_path: Path) -> None:
    """They are arguments of the offloaded functions: nothing of them is in the C."""
    module = load(artifact(tmp_path))
    assert "dense" not in module.get_source("cblas")
    assert "const float *in1 = data_of(&args[1]); /* [3, 4] */" in module.get_source("cblas")


ATTENTION = """
func.func @main(%x: tensor<2x5x3x4xf32> {inarch.name = "x"}, %y: tensor<2x5x3x4xf32> {inarch.name = "y"},
    %b: tensor<5xf32> {inarch.name = "b"}, %i: tensor<2x5x3x3xf32> {inarch.name = "i"},
    %w: tensor<6x5x1x1xf32> {inarch.name = "w"}, %r: tensor<6x1x1xf32> {inarch.name = "r"})
    -> (tensor<2x3x5x5xf32> {inarch.name = "scores"}, tensor<2x6x3x3xf32> {inarch.name = "image"}) {
  %q = graph.transpose %x perm = [0, 2, 1, 3] : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %k = graph.transpose %y perm = [0, 2, 3, 1] : tensor<2x5x3x4xf32> -> tensor<2x3x4x5xf32>
  %m = graph.matmul %q, %k : tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32> -> tensor<2x3x5x5xf32>
  %s = graph.add %b, %m : tensor<5xf32>, tensor<2x3x5x5xf32> -> tensor<2x3x5x5xf32>
  %c = graph.conv %i, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1
    : tensor<2x5x3x3xf32>, tensor<6x5x1x1xf32> -> tensor<2x6x3x3xf32>
  %d = graph.add %c, %r : tensor<2x6x3x3xf32>, tensor<6x1x1xf32> -> tensor<2x6x3x3xf32>
  %e = graph.relu %d : tensor<2x6x3x3xf32> -> tensor<2x6x3x3xf32>
  func.return %s, %e : tensor<2x3x5x5xf32>, tensor<2x6x3x3xf32>
}
"""


@needs_openblas
def test_whole_matches_are_found_in_a_program() -> None:
    context = new_context()
    module = inarch.compile(parse_module(context, ATTENTION), context=context, backends=["cblas"])
    source = module.get_source("cblas")
    assert "/* transpose, transpose, matmul, add (" in source
    assert "/* conv, add, relu (" in source
    assert "scratch" not in source
    inputs = inputs_of(ATTENTION)
    for found, expected in zip(module(*inputs), execute(ATTENTION, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@needs_openblas
@pytest.mark.parametrize("body", ["%m, %m", "%m, %b"])
def test_sums_that_are_not_part_of_the_product_are_right_all_the_same(body: str) -> None:
    """The product added to itself, and one that is broadcast to what it is added to."""
    shape = "tensor<3x1xf32>" if body == "%m, %m" else "tensor<3x4xf32>"
    text = f"""
    func.func @main(%x: tensor<3x2xf32>, %y: tensor<2x1xf32>, %b: {shape}) -> {shape} {{
      %m = graph.matmul %x, %y : tensor<3x2xf32>, tensor<2x1xf32> -> tensor<3x1xf32>
      %s = graph.add {body} : tensor<3x1xf32>, {shape} -> {shape}
      func.return %s : {shape}
    }}
    """
    context = new_context()
    module = inarch.compile(parse_module(context, text), context=context, backends=["cblas"])
    assert "add" not in module.get_source("cblas")
    inputs = inputs_of(text)
    (expected,) = execute(text, inputs)
    np.testing.assert_allclose(module(*inputs), expected, rtol=1e-6)


@needs_openblas
def test_calls_at_the_same_time_do_not_meet() -> None:
    """What lies between two products belongs to the call."""
    text = SEVERAL.replace("private @cblas_0", "@main")
    context = new_context()
    module = inarch.compile(parse_module(context, text), context=context, backends=["cblas"])
    weights = random((4, 4), seed=1)

    def one(seed: int) -> bool:
        inputs = [random((3, 4), seed=seed), weights]
        expected = execute(text, inputs)
        return all(
            np.allclose(found, value, rtol=1e-4, atol=1e-4)
            for _ in range(50)
            for found, value in zip(module(*inputs), expected, strict=True)
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(8)))
