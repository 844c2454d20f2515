"""Compiled models read nothing outside their buffers: calls on memory that ends, or begins, with a page.

gcc 12 reads behind the last element of some strided reads, if it may: `backends/c/plan/gaps.py`.
"""

# ruff: noqa: E501 - a program reads better with its lines unbroken

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from effort import SOAK, effort
from inarch.backends.c import CProgram, emit, weights_image
from inarch.backends.c.text import identifier
from inarch.dialects import new_context
from inarch.driver.compiler import import_model, lower
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.machine.target import parse
from inarch.machine.toolchain import compile_library
from inarch.passes import PASSES
from targets import here

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mmap's flags are those of Linux")

Array = np.ndarray[Any, Any]
Case = tuple[list[onnx.NodeProto], Mapping[str, tuple[int, ...]], dict[str, Array]]

TARGETS = here("x86-64", "x86-64-v3", "x86-64-v4") or ["native"]
"""Those that this machine can run: each has registers of another length."""

RNG = np.random.default_rng(0)
CHILD = Path(__file__).with_name("guarded_calls.py")


def node(op: str, inputs: str, output: str = "y", **attributes: Any) -> onnx.NodeProto:
    """A node of ONNX; `inputs` are names with spaces between."""
    return helper.make_node(op, inputs.split(), [output], **attributes)


def strided_points(step: int, features: int, points: int) -> Case:
    """y[q, o] = x[q * step] * w[o], where x ends with the last point that is read."""
    nodes = [
        node("Conv", "x w", "t", strides=[step]),
        node("Transpose", "t", perm=[0, 2, 1]),
    ]
    weights = RNG.standard_normal((features, 1, 1), np.float32)
    return nodes, {"x": (1, 1, step * (points - 1) + 1)}, {"w": weights}


def strided_rows(step: int, columns: int, rows: int) -> Case:
    """y[i, j] = x[i * step] + w[j]: a slice with steps, broadcast."""
    bounds = {"a": 0, "b": step * rows, "axis": 0, "by": step}
    nodes = [node("Slice", "x a b axis by", "t"), node("Add", "t w")]
    inputs = {"x": (step * (rows - 1) + 1, 1), "w": (columns,)}
    return nodes, inputs, {name: np.array([value]) for name, value in bounds.items()}


def down(op: str, kernel: int, step: int, size: int, **attributes: Any) -> Case:
    """A pool without padding, whose last window ends with x."""
    width = step * (size - 1) + kernel
    shape = {"x": (1, 3, width, width)}
    return (
        [node(op, "x", kernel_shape=[kernel, kernel], strides=[step, step], **attributes)],
        shape,
        {},
    )


def convolution(kernel: int, step: int, size: int, channels: int, features: int) -> Case:
    """A convolution without padding, whose last window ends with x."""
    width = step * (size - 1) + kernel
    weights = RNG.standard_normal((features, channels, kernel, kernel), np.float32)
    nodes = [node("Conv", "x w", strides=[step, step])]
    return nodes, {"x": (1, channels, width, width)}, {"w": weights}


def windows(kernel: int, step: int, rows: int, columns: int, channels: int) -> Case:
    """A depthwise convolution without padding, with weights that come at run time and end with the last tap."""
    shape = (1, channels, *(step * (size - 1) + kernel for size in (rows, columns)))
    nodes = [node("Conv", "x w", strides=[step, step], group=channels)]
    return nodes, {"x": shape, "w": (channels, 1, kernel, kernel)}, {}


CASES: dict[str, Case] = {
    **{
        f"points every {step}, {features} features, {points}": strided_points(step, features, points)
        for step, features, points in (
            (2, 4, 5), (2, 8, 5), (2, 16, 9), (3, 4, 8), (4, 8, 5), (4, 8, 8), (4, 16, 9), (6, 8, 9),
        )
    },
    **{
        f"rows every {step}, {columns} columns": strided_rows(step, columns, 5)
        for step in (2, 4)
        for columns in (4, 8, 16)
    },
    "max pool": down("MaxPool", 2, 2, 9),
    "max pool of 1 every 3": down("MaxPool", 1, 3, 5),
    "average pool": down("AveragePool", 3, 2, 8),
    "1x1 convolution every 2": convolution(1, 2, 5, 3, 8),
    "1x1 convolution every 4": convolution(1, 4, 8, 1, 16),
    "3x3 convolution every 2": convolution(3, 2, 7, 3, 8),
    "3x3 convolution of many channels": convolution(3, 1, 8, 16, 16),
    **{
        f"{kernel}x{kernel} windows every {step}, {rows}x{columns}": windows(kernel, step, rows, columns, 5)
        for kernel, step, rows, columns in ((3, 1, 3, 3), (2, 1, 4, 6), (3, 2, 3, 5), (5, 1, 2, 10))
    },
    "transpose": ([node("Transpose", "x", perm=[1, 0])], {"x": (9, 4)}, {}),
    "columns": ([node("Transpose", "x", "t", perm=[1, 0]), node("MatMul", "t z")],
                {"x": (9, 5), "z": (9, 8)}, {}),
    "matmul": ([node("MatMul", "x z")], {"x": (5, 17), "z": (17, 33)}, {}),
    "softmax": ([node("Softmax", "x", axis=1)], {"x": (3, 5, 7)}, {}),
}  # fmt: skip


def program_of(cases: Mapping[str, Case], target: str) -> tuple[CProgram, bytes]:
    """Cases in C, each a public function, and their weights."""
    context = new_context()
    merged: ModuleOp | None = None
    for number, (nodes, inputs, constants) in enumerate(cases.values()):
        graph = helper.make_graph(
            nodes,
            "cases",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(array, name) for name, array in constants.items()],
        )
        opset = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8)
        module = import_model(model, context, target=target, name="cases")
        (function,) = module.body.ops
        assert isinstance(function, FuncOp)
        function.sym_name = StringAttr(f"case{number}")
        if merged is None:
            merged = module
        else:
            function.detach()
            merged.body.block.add_op(function)
    assert merged is not None, "there are cases"
    lower(context, merged, "kernel")
    return emit(context, merged), bytes(weights_image(context, merged))


def calls_of(program: CProgram, image: bytes, library: Path) -> list[dict[str, Any]]:
    """What `guarded_calls.py` needs to call each function."""
    return [
        {
            "library": str(library),
            "symbol": identifier(f"{program.prefix}_{function.name}_run"),
            "buffers": [
                (math.prod(p.shape) * p.dtype.nbytes, p.dtype.nbytes) for p in function.ports
            ],
            "weights": image.hex(),
            "workspace": function.workspace_bytes,
        }
        for function in program.functions
    ]


def statuses(calls: list[dict[str, Any]]) -> list[list[int]]:
    """How the processes of each call ended."""
    run = subprocess.run(
        [sys.executable, str(CHILD)],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


CHOSEN = dict(list(CASES.items())[:: effort(6, 1)])
"""In the gate a sixth of the cases, which are in the order of their kinds."""


@pytest.mark.sampled(1, reason="whole programs take 5 s; make soak has each target")
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_read_outside_of_buffers(target: str, tmp_path: Path) -> None:
    """As it is compiled here, and as one file; the gate only as it is here."""
    forms = ("units", "all") if SOAK else ("units",)
    program, image = program_of(CHOSEN, target)
    calls: list[dict[str, Any]] = []
    for form in forms:
        units, flags = (
            (program.units, program.unit_flags)
            if form == "units"
            else ({"all.c": program.text}, {})
        )
        library = tmp_path / f"{form}.so"
        compile_library(units, library, target=parse(target), unit_flags=flags)
        calls += calls_of(program, image, library)
    found = dict(zip(product(forms, CHOSEN), statuses(calls), strict=True))
    assert {case: ends for case, ends in found.items() if ends != [0, 0]} == {}


SOURCE = (
    "void points(const float *restrict X, const float *restrict W, float *restrict Y, "
    "int64_t X_0, int64_t W_0, int64_t Y_0, int64_t Y_1) { "
    "for (int q = 0; q < 5; q++) for (int o = 0; o < 8; o++) "
    "Y[q * 8 + o] = X[q * 2 * X_0] * W[o]; }"
)
KERNEL = """
module attributes {inarch.name = "kernel"} {
kernel.def @points computes "for q in 5, o in 8: Y[q, o] = X[q * 2] * W[o]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>, #kernel.operand<W : f32 read rank 1 align 4>,
    #kernel.operand<Y : f32 write rank 2 align 4>] needs [] source "SOURCE"
func.func private @call(%x: memref<N1xf32>, %w: memref<8xf32>, %y: memref<5x8xf32>) {
  kernel.call @points(%x[0] strides [N2], %w[0] strides [1], %y[0] strides [8, 1]) sizes []
      : memref<N1xf32>, memref<8xf32>, memref<5x8xf32>
  func.return
}
func.func @main(%x: memref<N1xf32>, %w: memref<8xf32>, %y: memref<5x8xf32> {inarch.result}) {
  loop.call @call(%x, %w, %y) : memref<N1xf32>, memref<8xf32>, memref<5x8xf32>
  func.return
}
}
"""


@pytest.mark.sampled(effort(1, 4), reason="each stride and each target")
@pytest.mark.parametrize("stride", [2, 1, 3])
@pytest.mark.parametrize("target", TARGETS)
def test_kernels_with_plain_loops_read_nothing_outside(
    target: str, stride: int, tmp_path: Path
) -> None:
    context = new_context()
    text = (
        KERNEL.replace("SOURCE", SOURCE)
        .replace("N1", str(8 * stride + 1))
        .replace("N2", str(stride))
    )
    program = emit(context, parse_module(context, text))
    compile_library({"all.c": program.text}, tmp_path / "all.so", target=parse(target))
    assert statuses(calls_of(program, b"", tmp_path / "all.so")) == [[0, 0]]


READS_BEHIND = """
#include <stdint.h>
__attribute__((visibility("default"))) int32_t model_main_run(void *const *b, const void *w, void *s)
{
    const volatile float *x = (const float *)b[0];
    (void)w, (void)s;
    return x[OFFSET] != 0;
}
"""


@pytest.mark.parametrize(("offset", "expected"), [(4, [0, 0]), (5, [11, 0]), (-1, [0, 11])])
def test_the_check_sees_one_element_too_many(
    offset: int, expected: list[int], tmp_path: Path
) -> None:
    source = READS_BEHIND.replace("OFFSET", str(offset))
    compile_library({"model.c": source}, tmp_path / "a.so", target=parse("generic"))
    call = {"library": str(tmp_path / "a.so"), "symbol": "model_main_run", "buffers": [(20, 4)]}
    assert statuses([{**call, "weights": "", "workspace": 0}]) == [expected]


@pytest.mark.parametrize(
    ("case", "expected"),
    [("points every 2, 8 features, 5", True), ("max pool", False), ("transpose", False)],
)
def test_only_nests_with_steps_lose_vectorised_loops(case: str, *, expected: bool) -> None:
    program, _ = program_of({case: CASES[case]}, "x86-64-v3")
    assert ("\nINARCH_NO_LOOP_VECTORS\n" in program.text) == expected


def sums(
    iterators: str, ins: str, outs: str, finish: str = "", arity: int = 2, outputs: int = 1
) -> str:
    """A nest that adds the product of its first two elements (or its first) to every output."""
    elements = ", ".join(
        [*(f"%e{i}: f32" for i in range(arity)), *(f"%o{i}: f32" for i in range(outputs))]
    )
    product = "%p = arith.mulf %e0, %e1 : f32" if arity > 1 else "%p = arith.addf %e0, %e0 : f32"
    adds = " ".join(f"%s{i} = arith.addf %o{i}, %p : f32" for i in range(outputs))
    yields = ", ".join(f"%s{i}" for i in range(outputs)) + " : " + ", ".join(["f32"] * outputs)
    tail = f" finish {{\n  ^bb0({elements}):\n    {finish}\n    loop.yield %f : f32\n  }}"
    return f"""  loop.nest ({iterators}) ins({ins}) outs({outs}) {{
  ^bb0({elements}):
    {product}
    {adds}
    loop.yield {yields}
  }}{tail if finish else ""}
"""


ROWS = "%x[m, k] : memref<3x2xf32>, %w[k, no * 4 + ni] : memref<2x8xf32>"
TILED = "m = 3, no = 2, k = 2 reduction, ni = 4 vector"
NESTS: dict[str, tuple[str, dict[str, str]]] = {
    "a clipped tile that adds to what is there": (
        sums(TILED, ROWS, "%y[m, no * 4 + ni] clip : memref<3x6xf32>"),
        {"x": "3x2", "w": "2x8", "y": "3x6"},
    ),
    "a clipped tile that begins at 0": (
        sums(TILED, ROWS, "%y[m, no * 4 + ni] init 0.0 clip : memref<3x6xf32>"),
        {"x": "3x2", "w": "2x8", "y": "3x6"},
    ),
    "two outputs, one of them clipped": (
        sums(
            TILED,
            ROWS,
            "%y[m, no * 4 + ni] init 0.0 clip : memref<3x6xf32>, "
            "%z[m, no * 4 + ni] init 0.0 : memref<3x8xf32>",
            outputs=2,
        ),
        {"x": "3x2", "w": "2x8", "y": "3x6", "z": "3x8"},
    ),
    "two outputs, the other one clipped, in columns": (
        sums(
            "no = 2, k = 2 reduction, m = 3 unroll, ni = 4 vector",
            ROWS,
            "%z[m, no * 4 + ni] : memref<3x8xf32>, %y[no * 4 + ni, m] clip : memref<6x3xf32>",
            outputs=2,
        ),
        {"x": "3x2", "w": "2x8", "z": "3x8", "y": "6x3"},
    ),
    "clipped rows of a scalar nest": (
        sums("m = 4, n = 8", "%x[m, n] : memref<4x8xf32>", "%y[m + 1, n] clip : memref<4x8xf32>", arity=1),
        {"x": "4x8", "y": "4x8"},
    ),
    "a row below the last one": (
        sums("m = 4, n = 8", "%x[m + 1, n] pad 0.0 : memref<4x8xf32>", "%y[m, n] : memref<4x8xf32>", arity=1),
        {"x": "4x8", "y": "4x8"},
    ),
    "a row above the first one, and a column behind": (
        sums("m = 4, n = 8", "%x[m - 1, n + 1] pad 2.0 : memref<4x8xf32>", "%y[m, n] : memref<4x8xf32>", arity=1),
        {"x": "4x8", "y": "4x8"},
    ),
    "a padded window of a tile in an array": (
        sums(
            "m = 4, k = 3 reduction, n = 8",
            "%x[m + k - 1, n] pad 0.0 : memref<4x8xf32>",
            "%y[m, n] init 0.0 : memref<4x8xf32>",
            arity=1,
        ),
        {"x": "4x8", "y": "4x8"},
    ),
    "a finish whose read is padded": (
        sums(
            "m = 3, no = 2, k = 2 reduction, ni = 4 vector",
            f"{ROWS}, %b[no * 4 + ni] pad 0.0 : memref<6xf32>",
            "%y[m, no * 4 + ni] init 0.0 clip : memref<3x6xf32>",
            finish="%f = arith.addf %o0, %e2 : f32",
            arity=3,
        ),
        {"x": "3x2", "w": "2x8", "b": "6", "y": "3x6"},
    ),
    "a finish that reads every fourth element": (
        sums(
            "q = 5, r = 40 reduction, o = 16",
            "%x[r] : memref<40xf32>, %w[r, o] : memref<40x16xf32>, %b[q * 4] : memref<17xf32>",
            "%y[q, o] init 0.0 : memref<5x16xf32>",
            finish="%f = arith.mulf %o0, %e2 : f32",
            arity=3,
        ),
        {"x": "40", "w": "40x16", "b": "17", "y": "5x16"},
    ),
}  # fmt: skip


NESTS["a tile in registers of every fourth element"] = (
    sums(
        "q = 5, k = 2 reduction, o = 16 vector",
        "%x[q * 4 + k] : memref<18xf32>, %w[k, o] : memref<2x16xf32>",
        "%y[q, o] init 0.0 : memref<5x16xf32>",
    ),
    {"x": "18", "w": "2x16", "y": "5x16"},
)


def nest_program(name: str, target: str) -> CProgram:
    """One nest with its buffers, which are all arguments."""
    nest, buffers = NESTS[name]
    arguments = ", ".join(
        f"%{each}: memref<{shape}xf32>{' {inarch.result}' if each in 'yz' else ''}"
        for each, shape in buffers.items()
    )
    text = (
        f'builtin.module attributes {{inarch.name = "nest", inarch.target = "{target}"}} {{\n'
        f"func.func @main({arguments}) {{\n{nest}  func.return\n}}\n}}"
    )
    context = new_context()
    module = parse_module(context, text)
    verify_module(module)
    for step in ("outline-nests", "plan-memory"):
        PASSES[step]().apply(context, module)
    return emit(context, module)


@pytest.mark.parametrize("target", TARGETS[-1:])
def test_nests_that_clip_and_pad_touch_nothing_outside(target: str, tmp_path: Path) -> None:
    """Guards are asked wherever a whole register, a joined loop or a second output could leave a buffer."""
    calls: list[dict[str, Any]] = []
    chosen = list(NESTS)[:: effort(4, 1)]  # each is a second of the compiler
    for number, name in enumerate(chosen):
        program = nest_program(name, target)
        library = tmp_path / f"{number}.so"
        compile_library({"all.c": program.text}, library, target=parse(target))
        calls += calls_of(program, b"", library)
    found = dict(zip(chosen, statuses(calls), strict=True))
    assert {name: ends for name, ends in found.items() if ends != [0, 0]} == {}


@pytest.mark.parametrize(
    "name",
    ["a finish that reads every fourth element", "a tile in registers of every fourth element"],
)
def test_steps_in_a_finish_and_around_registers_count_as_the_steps_they_are(name: str) -> None:
    """A sum's loop may be too long to vanish, but the loops that store the tile are not."""
    program = nest_program(name, "x86-64-v3")
    assert "\nINARCH_NO_LOOP_VECTORS\n" in program.text
