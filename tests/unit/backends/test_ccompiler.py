"""Backend `ccompiler`: its C, compiled by every compiler there is, run, and run under sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import inarch
from compilers import command_of
from inarch.backends.c.offloaded import INCLUDE
from inarch.backends.ccompiler import emit_function, emit_module
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.dialects.graph.constant import ConstantOp
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_attribute
from inarch.ir.text import parse_module
from inarch.machine.compilers import find_compiler
from inarch.testing import execute, expected_of, random_inputs

Array = np.ndarray[Any, Any]

COMPILERS = {
    "gcc": ("gcc", "-std=c11"),
    "clang": ("clang", "-std=c11"),
    "g++": ("g++", "-x", "c++", "-std=c++17"),
}

TUTORIAL = """
func.func @main(%a: tensor<10x10xf32>, %b: tensor<10x10xf32>, %c: tensor<10x10xf32>,
                %d: tensor<10x10xf32>) -> tensor<10x10xf32> {
  %0 = graph.add %a, %b : tensor<10x10xf32>, tensor<10x10xf32> -> tensor<10x10xf32>
  %1 = graph.sub %0, %c : tensor<10x10xf32>, tensor<10x10xf32> -> tensor<10x10xf32>
  %2 = graph.mul %1, %d : tensor<10x10xf32>, tensor<10x10xf32> -> tensor<10x10xf32>
  func.return %2 : tensor<10x10xf32>
}
"""

SEVERAL = """
func.func @main(%a: tensor<3x5x{t}>, %b: tensor<3x5x{t}>, %unused: tensor<{t}>)
    -> (tensor<3x5x{t}>, tensor<3x5x{t}>, tensor<3x5x{t}>, tensor<3x5x{t}>, tensor<2x{t}>) {{
  %k = graph.constant dense<[3, 7]> : tensor<2x{t}>
  %0 = graph.add %a, %b : tensor<3x5x{t}>, tensor<3x5x{t}> -> tensor<3x5x{t}>
  %1 = graph.mul %0, %0 : tensor<3x5x{t}>, tensor<3x5x{t}> -> tensor<3x5x{t}>
  %2 = graph.sub %1, %a : tensor<3x5x{t}>, tensor<3x5x{t}> -> tensor<3x5x{t}>
  %3 = graph.mul %2, %0 : tensor<3x5x{t}>, tensor<3x5x{t}> -> tensor<3x5x{t}>
  func.return %3, %0, %3, %b, %k
      : tensor<3x5x{t}>, tensor<3x5x{t}>, tensor<3x5x{t}>, tensor<3x5x{t}>, tensor<2x{t}>
}}
"""
"""Two results that are used, one twice; an input and a constant as results; an unused input."""

DTYPES = ("f32", "f64", "i8", "ui8", "i32", "ui32", "i64", "ui64")


def _parse(text: str) -> tuple[Context, ModuleOp]:
    context = new_context()
    return context, parse_module(context, text, "test.mlir")


def _several(dtype: str) -> str:
    text = SEVERAL.format(t=dtype)
    return text.replace("[3, 7]", "[3.0, 7.0]") if dtype.startswith("f") else text


def _as_backend(text: str) -> str:
    """The program, with a function of the backend in the place of its own."""
    context, module = _parse(text)
    (function,) = (op for op in module.body.ops if isinstance(op, FuncOp))
    types = ", ".join(map(str, function.function_type.inputs))
    results = ", ".join(map(str, function.function_type.outputs))
    names = [f"%{chr(97 + i)}" for i in range(len(function.function_type.inputs))]
    values = ", ".join(f"%r{i}" for i in range(len(function.function_type.outputs)))
    parameters = ", ".join(
        f"{name}: {kind}" for name, kind in zip(names, function.function_type.inputs, strict=True)
    )
    del context
    marked = text.replace("func.func @main", "func.func private @ccompiler_0")
    head, arrow, body = marked.partition(" {\n")
    marked = f'{head} attributes {{compiler = "ccompiler"}}{arrow}{body}'
    return (
        f"func.func @main({parameters}) -> ({results}) {{\n"
        f"  {values} = graph.call @ccompiler_0({', '.join(names)}) : {types} -> {results}\n"
        f"  func.return {values} : {results}\n}}\n{marked}"
    )


def _compiled(text: str, tmp_path: Path) -> inarch.Module:
    path = tmp_path / "model.mlir"
    path.write_text(_as_backend(text))
    return inarch.compile(path)


def _wide(text: str) -> list[Array]:
    """Inputs over the whole range of their integers, so that results wrap."""
    context, module = _parse(text)
    del context
    generator = np.random.default_rng(7)
    inputs: list[Array] = []
    for array in random_inputs(module, 3, function="main"):
        if array.dtype.kind == "f":
            inputs.append(array)
        else:
            data = generator.bytes(array.nbytes)
            inputs.append(np.frombuffer(data, array.dtype).reshape(array.shape))
    return inputs


def _outputs(found: Array | tuple[Array, ...]) -> Sequence[Array]:
    return found if isinstance(found, tuple) else (found,)


# ---------------------------------------------------------------------------------- results


def test_the_tutorial_runs(tmp_path: Path) -> None:
    """T2: ((in0 + in1) - in2) * in3, in the model's library; T16."""
    module = _compiled(TUTORIAL, tmp_path)
    inputs = random_inputs(_parse(TUTORIAL)[1])
    a, b, c, d = inputs
    np.testing.assert_array_equal(module(*inputs), ((a + b) - c) * d)
    assert module.imports == ()
    assert "CSOURCE_BINARY_OP_2D(ccompiler_0_0, +, 10, 10, float);" in module.get_source()


@pytest.mark.sampled(2, reason="dtypes are alike")
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_wraps_and_has_several_outputs(dtype: str, tmp_path: Path) -> None:
    """T3, T5, T7."""
    text = _several(dtype)
    inputs = _wide(text)
    found = _outputs(_compiled(text, tmp_path)(*inputs))
    for array, wanted in zip(found, expected_of(*_parse(text), inputs), strict=True):
        assert wanted.accepts(array).all(), "but for a product and a sum that clang makes one of"


@pytest.mark.sampled(4, reason="none, the least, an empty one, the largest")
@pytest.mark.parametrize("shape", ["", "1x", "0x", "7x", "3x0x", "2x3x4x", "2x1x3x1x2x"])
def test_every_rank(shape: str, tmp_path: Path) -> None:
    """T1: the macro is chosen by the rank; the numbers do not depend on it."""
    kind = f"tensor<{shape}f32>"
    text = f"""
func.func @main(%a: {kind}, %b: {kind}) -> {kind} {{
  %0 = graph.add %a, %b : {kind}, {kind} -> {kind}
  %1 = graph.mul %0, %b : {kind}, {kind} -> {kind}
  func.return %1 : {kind}
}}
"""
    inputs = random_inputs(_parse(text)[1])
    (found,) = _outputs(_compiled(text, tmp_path)(*inputs))
    np.testing.assert_array_equal(found, execute(text, inputs)[0])


def test_constants_keep_order_names_and_bits() -> None:
    """T7: large ones by their handle's name; infinities, the sign of zero and subnormals."""
    context = new_context()
    text = """
func.func @main(%a: tensor<24xf64>) -> (tensor<24xf64>, tensor<24xf64>) {
  %0 = graph.constant dense<0.0> : tensor<24xf64>
  %1 = graph.constant dense<1.0> : tensor<24xf64>
  %2 = graph.add %a, %0 : tensor<24xf64>, tensor<24xf64> -> tensor<24xf64>
  %3 = graph.add %a, %1 : tensor<24xf64>, tensor<24xf64> -> tensor<24xf64>
  func.return %2, %3 : tensor<24xf64>, tensor<24xf64>
}
"""
    module = parse_module(context, text)
    values = np.random.default_rng(0).standard_normal(24)
    values[:5] = np.inf, -np.inf, -0.0, 5e-324, np.nan
    first, second = (op for op in module.walk() if isinstance(op, ConstantOp))
    first.value = constant_attribute(values, store_of(context), "layer1/weight")
    second.value = constant_attribute(values * 2, store_of(context), "layer2/weight")
    emitted = emit_module(context, module)
    one = emitted.index(
        "/* constant 0: layer1_weight */\nstatic const double ccompiler_0_const_0[24] = {"
    )
    two = emitted.index(
        "/* constant 1: layer2_weight */\nstatic const double ccompiler_0_const_1[24] = {"
    )
    numbers = [x.strip() for x in emitted[one:two].partition("{")[2].partition("}")[0].split(",")]
    assert numbers[:5] == ["INFINITY", "-INFINITY", "-0.0e+00", "5.0e-324", "NAN"]
    assert [float(x) for x in numbers[5:]] == values[5:].tolist()


# ---------------------------------------------------------------------------------- the text


def test_one_function_or_a_module() -> None:
    """T6."""
    context, module = _parse(TUTORIAL + TUTORIAL.replace("@main", "@other"))
    both = emit_module(context, module)
    first, second = (op for op in module.body.ops if isinstance(op, FuncOp))
    head, _, body = emit_function(context, first).partition("\n/* @main")
    other = emit_function(context, second, "ccompiler_1").removeprefix(head)
    assert both == f"{head}\n/* @main{body}{other}"
    assert "int32_t gcc_1(void *self" in emit_module(context, module, "gcc")


def test_what_it_has_no_c_for_is_refused_at_its_place() -> None:
    """T4."""
    text = "func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
    text += "  %0 = graph.exp %a : tensor<2xf32> -> tensor<2xf32>\n"
    text += "  func.return %0 : tensor<2xf32>\n}\n"
    context, module = _parse(text)
    with pytest.raises(InarchError) as caught:
        emit_module(context, module)
    assert caught.value.line() == (
        "test.mlir:2:3: error: backend 'ccompiler' has no C for 'graph.exp': takes add, sub, mul"
    )


ALL = "\n".join(
    [TUTORIAL, *(_several(dtype).replace("@main", f"@several_{dtype}") for dtype in DTYPES)]
)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_compiler_warns(compiler: str, tmp_path: Path) -> None:
    _, *language = COMPILERS[compiler]
    command = [command_of(compiler), *language]
    context, module = _parse(ALL)
    path = tmp_path / "code.c"
    path.write_text(emit_module(context, module))
    flags = ("-O2", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-c")
    out = ("-o", str(tmp_path / "code.o"))
    done = subprocess.run(
        [*command, *flags, str(path), *out], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


MAIN = r"""
#include <stdio.h>

static int64_t left = INT64_MAX, in_use;

static void *count_malloc(size_t size)
{
    if (left-- <= 0) {
        return NULL;
    }
    in_use++;
    return malloc(size);
}

static void count_free(void *pointer)
{
    in_use -= pointer != NULL;
    free(pointer);
}

#define malloc count_malloc
#define free count_free
@CODE@
int main(void)
{
    static int32_t a[15], b[15], c[1], out[5][15];
    int64_t shape[2] = {3, 5}, two[1] = {2};
    DLTensor args[8];
    void *data[] = {a, b, c, out[0], out[1], out[2], out[3], out[4]};
    for (int i = 0; i < 15; i++) {
        a[i] = INT32_MAX - i;
        b[i] = 3 * i;
    }
    for (int i = 0; i < 8; i++) {
        DLTensor one = {data[i], {1, 0}, i == 2 ? 0 : i == 7 ? 1 : 2, {0, 32, 1},
                        i == 7 ? two : shape, NULL, 0};
        args[i] = one;
    }
    for (left = 0; left < 2; left++) {
        int64_t before = left;
        int32_t status = ccompiler_0(NULL, args, 8);
        printf("%d of 2: %d, %d in use\n", (int)before, (int)status, (int)in_use);
        left = before;
    }
    left = 100;
    int32_t last = ccompiler_0(NULL, args, 8);
    printf("status %d, %d in use, %d\n", (int)last, (int)in_use, (int)out[1][1]);
    printf("arguments: %d\n", (int)ccompiler_0(NULL, args, 7));
    return 0;
}
"""


def test_memory_is_freed_on_every_path_under_sanitizers(tmp_path: Path) -> None:
    """T3: a failed malloc is an error code; nothing leaks; no undefined behaviour where it wraps."""
    compiler = find_compiler().command
    context, module = _parse(_several("i32"))
    code = emit_module(context, module)
    head, mark, rest = code.partition("#ifdef __cplusplus")
    path = tmp_path / "code.c"
    path.write_text(head + MAIN.replace("@CODE@", mark + rest))
    program = tmp_path / "program"
    flags = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    built = subprocess.run(
        [*compiler, *flags, f"-I{INCLUDE}", str(path), "-o", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "cannot find" in built.stderr:
        pytest.skip("no sanitizer runtime")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == (
        "0 of 2: 1, 0 in use\n"
        "1 of 2: 1, 0 in use\n"
        f"status 0, 0 in use, {np.int64(2**31 - 2 + 3).astype(np.int32)}\n"
        "arguments: 2\n"
    )


def _random_function(name: str, kind: str, generator: np.random.Generator) -> tuple[str, int]:
    """A private function of three arguments with random ops and results, and how many results."""
    values = ["%a", "%b", "%c"]
    lines: list[str] = []
    for number in range(int(generator.integers(1, 9))):
        op = generator.choice(["add", "sub", "mul"])
        first, second = generator.choice(values, 2)
        lines.append(f"  %{number} = graph.{op} {first}, {second} : {kind}, {kind} -> {kind}")
        values.append(f"%{number}")
    results = [str(value) for value in generator.choice(values, int(generator.integers(1, 4)))]
    types = ", ".join([kind] * len(results))
    lines.append(f"  func.return {', '.join(results)} : {types}")
    body = "\n".join(lines)
    head = f"func.func private @{name}(%a: {kind}, %b: {kind}, %c: {kind}) -> ({types})"
    return f'{head} attributes {{compiler = "ccompiler"}} {{\n{body}\n}}\n', len(results)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_functions(seed: int, tmp_path: Path) -> None:
    """T2, T3, T5: topological order, values used often, results that are arguments or twice."""
    generator = np.random.default_rng(seed)
    kind = f"tensor<{generator.choice(['', '5x', '3x4x', '2x3x2x'])}{generator.choice(DTYPES)}>"
    parts = [_random_function(f"ccompiler_{i}", kind, generator) for i in range(8)]
    calls: list[str] = []
    results: list[str] = []
    for number, (_, count) in enumerate(parts):
        names = [f"%r{number}_{i}" for i in range(count)]
        types = ", ".join([kind] * count)
        calls.append(
            f"  {', '.join(names)} = graph.call @ccompiler_{number}(%a, %b, %c) : "
            f"{kind}, {kind}, {kind} -> {types}\n"
        )
        results += names
    types = ", ".join([kind] * len(results))
    text = f"func.func @main(%a: {kind}, %b: {kind}, %c: {kind}) -> ({types}) {{\n{''.join(calls)}"
    text += (
        f"  func.return {', '.join(results)} : {types}\n}}\n{''.join(part for part, _ in parts)}"
    )
    path = tmp_path / "random.mlir"
    path.write_text(text)
    inputs = _wide(text)
    found = _outputs(inarch.compile(path)(*inputs))
    with np.errstate(all="ignore"):
        wanted = execute(text, inputs)
    for array, reference in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(array, reference)
