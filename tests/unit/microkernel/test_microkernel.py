"""Families of microkernels: what is sound, which members there are, and the C of each (K2, K12)."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inarch.core.errors import InarchError
from inarch.dialects.kernel.instances import definition_of
from inarch.machine.target import parse as parse_target
from inarch.machine.toolchain import compile_library
from inarch.meaning import Expression, parse, text
from inarch.microkernel import (
    Instance,
    Microkernel,
    check,
    demands,
    instance_source,
    instantiate,
    members,
    prototype,
)
from meanings import evaluate

GENERIC = parse_target("generic")
V3 = parse_target("x86-64-v3")

GEMM = Microkernel(
    computes="for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"MR": range(1, 9), "NR": (8, 16)},
    layout={"A": ("*", 1), "B": ("NR", 1), "C": ("*", 1)},
    inits=("accumulate", "zero"),
    c=r"""
static void gemm_row(const float *A, const float *B, float *C, int64_t K) {
    for (int n = 0; n < NR; n++) {
        float sum = ZERO_INIT ? 0 : C[n];
        for (int64_t k = 0; k < K; k++) sum += A[k] * B[k * NR + n];
        C[n] = sum;
    }
}
void gemm(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0,
          int64_t B_1, int64_t C_0, int64_t C_1, int64_t K) {
    (void)A_1; (void)B_0; (void)B_1; (void)C_1;
    for (int m = 0; m < MR; m++) gemm_row(A + m * A_0, B, C + m * C_0, K);
}
""",
)


def finish(expression: str) -> Expression:
    """An expression of `C[m, n]` and others."""
    return parse(f"for m in 1, n in 1: C[m, n] = {expression}").statements[0].value


def run(instance: Instance, folder: Path, *arguments: Any) -> None:
    """Compiles the instance alone and calls it; arrays go as pointers, integers as int64_t."""
    source = f"#include <stdint.h>\n{prototype(instance)};\n{instance_source(instance)}"
    public = f'__attribute__((visibility("default"))) {prototype(instance)};\n'
    path = folder / f"{instance.symbol}.so"
    compile_library({"kernel.c": source.replace("\n", "\n" + public, 1)}, path, target=GENERIC)
    function = ctypes.CDLL(str(path))[instance.symbol]
    function.restype = None
    function(
        *(
            ctypes.c_int64(each) if isinstance(each, int) else ctypes.c_void_p(each.ctypes.data)
            for each in arguments
        )
    )


def message(call: Callable[[], object]) -> str:
    with pytest.raises(InarchError) as raised:
        call()
    return raised.value.line()


def _empty(instance: Instance) -> str:
    return f"void {instance.symbol}() {{}}"


def _parameter_m(instance: Instance) -> str:
    return f"{instance.params['M']}"


def _number(_: Instance) -> int:
    return 1


# ------------------------------------------------------------------------------------ members


def test_a_family_has_the_members_that_its_constraints_allow() -> None:
    """K2: several tile variants of one meaning stand side by side."""
    assert len(members(GEMM, GENERIC)) == 16
    fits = replace(GEMM, where=("MR * NR * 4 <= 8 * VECTOR_BYTES", "MR != 3"))
    assert members(fits, GENERIC) == [
        {"MR": 1, "NR": 8},
        {"MR": 1, "NR": 16},
        {"MR": 2, "NR": 8},
        {"MR": 2, "NR": 16},
        {"MR": 4, "NR": 8},
    ]
    assert {"MR": 8, "NR": 8} in members(fits, V3)
    assert members(replace(GEMM, needs=("avx2",)), GENERIC) == []
    assert len(members(replace(GEMM, needs=("avx2",)), V3)) == 16


def test_an_instance_is_one_c_function() -> None:
    instance = instantiate(GEMM, "my-gemm", {"MR": 4, "NR": 16}, target=GENERIC)
    assert instance.symbol == "my_gemm_MR4_NR16"
    assert text(instance.meaning) == "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]"
    assert prototype(instance) == (
        "void my_gemm_MR4_NR16(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, "
        "int64_t B_0, int64_t B_1, int64_t C_0, int64_t C_1, int64_t K)"
    )
    assert demands(instance) == {"A": (None, 1), "B": (16, 1), "C": (None, 1)}


def test_variants_are_written_out_in_the_meaning() -> None:
    kernel = replace(GEMM, c=None, generate=_empty, epilogue=("add", "relu"))
    zero = instantiate(kernel, "gemm", {"MR": 4, "NR": 8}, target=GENERIC, init="zero")
    assert zero.symbol == "gemm_MR4_NR8_zero"
    assert text(zero.meaning) == (
        "for m in 4, n in 8: C[m, n] = 0; for k in K: C[m, n] += A[m, k] * B[k, n]"
    )
    biased = instantiate(
        kernel,
        "gemm",
        {"MR": 4, "NR": 8},
        target=GENERIC,
        finish=finish("relu(C[m, n] + E0[n])"),
        extras={"E0": "f32"},
    )
    assert text(biased.meaning) == (
        "for m in 4, n in 8: for k in K: C[m, n] += A[m, k] * B[k, n]; "
        "C[m, n] = relu(C[m, n] + E0[n])"
    )
    assert "float *C, const float *E0, int64_t A_0" in prototype(biased)
    assert prototype(biased).endswith("int64_t C_1, int64_t E0_0, int64_t K)")
    other = instantiate(
        kernel, "gemm", {"MR": 4, "NR": 8}, target=GENERIC, finish=finish("relu(C[m, n])")
    )
    assert len({zero.symbol, biased.symbol, other.symbol}) == 3


def test_strides_may_be_demanded_as_formulas() -> None:
    kernel = replace(GEMM, layout={"A": ("K", "*"), "B": ("2 * NR", 1), "C": ("NR * K", "1")})
    instance = instantiate(kernel, "gemm", {"MR": 4, "NR": 8}, target=GENERIC)
    assert demands(instance) == {"A": ("K", None), "B": (16, 1), "C": ("8 * K", 1)}


# ------------------------------------------------------------------------------------ the code runs


@pytest.mark.parametrize("init", ["accumulate", "zero"])
def test_a_c_template_computes_its_meaning(init: Any, tmp_path: Path) -> None:
    """K2, one C file; the helper function is renamed with the kernel."""
    instance = instantiate(GEMM, "gemm", {"MR": 3, "NR": 8}, target=GENERIC, init=init)
    assert "gemm_MR3_NR8" in instance_source(instance)
    random = np.random.default_rng(3)
    a, b, c = (random.standard_normal(s).astype(np.float32) for s in ((3, 5), (5, 8), (3, 8)))
    wanted = evaluate(instance.meaning, {"A": a, "B": b, "C": c}, {"K": 5})
    run(instance, tmp_path, a, b, c, 5, 1, 8, 1, 8, 1, 5)
    np.testing.assert_allclose(c, wanted, rtol=1e-5, atol=1e-6)


def test_a_generator_writes_its_finish(tmp_path: Path) -> None:
    def generate(instance: Instance) -> str:
        loops = f"for (int i = 0; i < {instance.params['N']}; i++)"
        return f"{prototype(instance)} {{ {loops} C[i * C_0] = -A[i * A_0] * E0[i * E0_0]; }}"

    kernel = Microkernel(
        computes="for i in N: C[i] = A[i]",
        dtypes={"A": "f32", "C": "f32"},
        params={"N": (4, 7)},
        epilogue=("neg", "mul"),
        generate=generate,
    )
    value = parse("for i in 1: C[i] = -C[i] * E0[i]").statements[0].value
    instance = instantiate(
        kernel, "scale", {"N": 7}, target=GENERIC, finish=value, extras={"E0": "f32"}
    )
    a, e, c = np.arange(14, dtype=np.float32), np.full(7, 2, np.float32), np.zeros(7, np.float32)
    wanted = evaluate(instance.meaning, {"A": a[::2], "C": c, "E0": e})
    run(instance, tmp_path, a, c, e, 2, 1, 1)
    np.testing.assert_array_equal(c, wanted)


X86_ASM = r"""
    # C[i] += 3 * A[i], in the System V calling convention: rdi = A, rsi = C
    .globl triple
    .type triple, @function
triple:
    mov $N, %r9d            // one element an iteration
.Lnext:
    mov (%rdi), %eax
    lea (%rax,%rax,2), %eax
    add %eax, (%rsi)
    lea (%rdi,%rdx,4), %rdi /* strides */
    lea (%rsi,%rcx,4), %rsi
    dec %r9d
    jnz .Lnext
    ret
"""


@pytest.mark.cpu("x86-64")
def test_an_assembly_source_computes_its_meaning(tmp_path: Path) -> None:
    """K2, assembly: two members in one unit do not clash."""
    kernel = Microkernel(
        computes="for i in N: C[i] += A[i] * 3",
        dtypes={"A": "i32", "C": "i32"},
        params={"N": (4, 9)},
        asm=X86_ASM,
        symbol="triple",
    )
    instances = [instantiate(kernel, "triple", {"N": n}, target=GENERIC) for n in (4, 9)]
    for instance in instances:
        a, c = np.arange(18, dtype=np.int32), np.arange(9, dtype=np.int32)
        n = instance.params["N"]
        wanted = evaluate(instance.meaning, {"A": a[::2], "C": c})
        assert (wanted[:n] == (np.arange(9) * 7)[:n]).all()
        run(instance, tmp_path, a, c, 2, 1)
        np.testing.assert_array_equal(c, wanted)
    both = "#include <stdint.h>\n" + "\n".join(map(instance_source, instances))
    units = {"a.c": both, "b.c": both.replace("triple_N", "other_N")}
    compile_library(units, tmp_path / "both.so", target=GENERIC)


def test_a_library_function_of_our_prototype_is_called() -> None:
    kernel = replace(GEMM, c=None, params={}, inits=("accumulate",), layout={}, symbol="gemm")
    instance = instantiate(kernel, "gemm", {}, target=GENERIC)
    assert instance.symbol == "gemm_call"
    assert "    gemm(A, B, C, A_0, A_1, B_0, B_1, C_0, C_1, MR, NR, K);" in instance_source(
        instance
    )
    assert definition_of(instance).function == "gemm"


def test_a_library_function_is_called_in_its_own_way(tmp_path: Path) -> None:
    """K12: the kernel says how it is declared and called."""
    kernel = Microkernel(
        computes="for i in N, k in K: C[i, k] = A[i, k]",
        dtypes={"A": "f32", "C": "f32"},
        params={"N": (2, 3)},
        symbol="memcpy",
        declare="#include <string.h>",
        call="for (int64_t i = 0; i < {N}; i++) "
        "memcpy({C} + i * {C.strides[0]}, {A} + i * {A.strides[0]}, {K} * sizeof(float));",
    )
    instance = instantiate(kernel, "copy", {"N": 3}, target=GENERIC)
    a, c = np.arange(30, dtype=np.float32).reshape(3, 10), np.zeros((3, 8), np.float32)
    wanted = evaluate(instance.meaning, {"A": a, "C": c}, {"K": 7})
    run(instance, tmp_path, a, c, 10, 1, 8, 1, 7)
    np.testing.assert_array_equal(c, wanted)
    definition = definition_of(instance)
    definition.verify()
    assert definition.call is not None
    assert definition.call.data == (
        "for (int64_t i = 0; i < 3; i++) "
        "memcpy({C} + i * {C.strides[0]}, {A} + i * {A.strides[0]}, {K} * sizeof(float));"
    )


def test_the_definition_of_an_instance_holds_its_source() -> None:
    kernel = replace(GEMM, needs=("fma", "avx2"), align={"B": 32})
    definition = definition_of(instantiate(kernel, "gemm", {"MR": 4, "NR": 8}, target=V3))
    definition.verify()
    assert definition.function == "gemm_MR4_NR8"
    assert [need.data for need in definition.needs] == ["avx2", "fma"]
    assert [each.align.data for each in definition.arguments] == [4, 32, 4]
    assert [each.access.data for each in definition.arguments] == ["read", "read", "update"]


# ------------------------------------------------------------------------------------ what is wrong

COPY = Microkernel(
    computes="for i in N: C[i] = A[i]",
    dtypes={"A": "f32", "C": "f32"},
    params={"N": (4, 8)},
    c="void copy() {}",
)


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"computes": "for i in N C[i] = 0"}, "computes:1:12: error: expected ':', found 'C'"),
        ({"dtypes": {"A": "f32"}}, "error: expected dtypes of operands C, A, found A"),
        ({"dtypes": {"A": "f32", "C": "f23"}}, "error: no dtype 'f23' in operand C; did you mean 'f32'?"),
        ({"dtypes": {"A": "f32", "C": "ui8"}},
         "error: expected a float or a signed integer for operand C, which is written, found ui8"),
        ({"dtypes": {"A": "i8", "C": "i32"}},
         "error: expected a value of i32 for C, found A[i] of i8; cast it: i32(...)"),
        ({"params": {"M": (1,)}}, "error: expected parameters among N, found M"),
        ({"params": {"N": ()}}, "error: expected integers of 1 or more for N, found ()"),
        ({"params": {"N": (0, 1)}}, "error: expected integers of 1 or more for N, found (0, 1)"),
        ({"params": {"N": 4}}, "error: expected integers of 1 or more for N, found 4"),
        ({"where": ("N < M",)},
         "error: where 'N < M': no name 'M'. Known: N, VECTOR_BYTES, VECTOR_REGISTERS"),
        ({"where": ("N <",)}, "error: expected a formula, found 'N <' (invalid syntax)"),
        ({"layout": {"B": (1,)}}, "error: layout: no operand 'B'. Known: A, C"),
        ({"layout": {"A": (1, 1)}}, "error: expected 1 strides of operand A in layout, found 2"),
        ({"layout": {"A": ("X",)}}, "error: layout 'X': no name 'X'. Known: N"),
        ({"align": {"A": 24}}, "error: expected an alignment of a power of two, found 24"),
        ({"align": {"B": 8}}, "error: align: no operand 'B'. Known: A, C"),
        ({"needs": ("avx3",)}, "error: needs: no feature 'avx3'; did you mean 'avx'?"),
        ({"inits": ("zero",)}, "error: expected init 'zero' of a meaning that is one '+=' only"),
        ({"inits": ("one",)}, "error: expected inits of 'accumulate' and 'zero', found ('one',)"),
        ({"epilogue": ("relu",)}, "error: expected an epilogue with generate only, which writes it"),
        ({"epilogue": ("rleu",)}, "error: epilogue: no function 'rleu'; did you mean 'relu'?"),
        ({"c": None}, "error: expected an implementation: c, asm, generate, symbol, or registered"),
        ({"asm": "x"}, "error: expected one implementation, found c and asm"),
        ({"library": "libx.so"}, "error: expected library without c: for a library's symbol"),
        ({"link": "static"}, "error: expected link 'reference' or 'embed', found 'static'"),
        ({"symbol": "a b"}, "error: expected a C name as symbol, found 'a b'"),
        ({"computes": "for i in int: C[i] = A[i]", "params": {}},
         "error: expected names that C does not use, found int"),
        ({"computes": "for i in A_0: C[i] = A[i]", "params": {}},
         "error: A_0 is the name of a stride in C; expected another"),
    ],
)  # fmt: skip
def test_a_family_that_is_not_sound_is_one_located_message(
    changes: dict[str, Any], expected: str
) -> None:
    found = message(lambda: check(replace(COPY, **changes), "copy"))
    assert found.startswith(f"microkernel 'copy': {expected}")
    assert found == f"microkernel 'copy': {expected}" or "did you mean" in expected


@pytest.mark.parametrize(
    ("changes", "arguments", "expected"),
    [
        ({}, {"params": {"MR": 9, "NR": 8}}, "expected MR in 1..8, found 9"),
        ({}, {"params": {"MR": 8, "NR": 12}}, "expected NR in 8, 16, found 12"),
        ({}, {"params": {"MR": 8}}, "expected NR in 8, 16, found none"),
        ({}, {"params": {"MR": 8, "NR": 8, "KR": 1}}, "no parameter 'KR'. Known: MR, NR"),
        ({"where": ("MR * NR <= VECTOR_BYTES",)}, {"params": {"MR": 8, "NR": 8}},
         "expected MR * NR <= VECTOR_BYTES, found MR = 8, NR = 8, VECTOR_BYTES = 16"),
        ({"needs": ("avx512f", "fma")}, {"target": V3},
         "expected a target with avx512f, found 'x86-64-v3'"),
        ({"inits": ("accumulate",)}, {"init": "zero"}, "expected init accumulate, found zero"),
        ({}, {"finish": finish("relu(C[m, n])")}, "expected an epilogue of nothing, found relu"),
        ({}, {"extras": {"E0": "f32"}}, "expected a finish that reads E0, found none"),
        ({}, {"finish": finish("E1[m]")}, "expected a finish of C[m, n] and of extra operands at "
         "parallel iterators, found E1[m]"),
        ({}, {"finish": finish("E0[n]"), "extras": {"E0": "i8"}},
         "expected a finish of f32, found E0[n] of i8"),
        ({}, {"finish": finish("C[m, n]"), "extras": {"A": "f32"}},
         "operand A is of the kernel already; expected another name"),
    ],
)  # fmt: skip
def test_a_member_that_there_is_not_is_one_located_message(
    changes: dict[str, Any], arguments: dict[str, Any], expected: str
) -> None:
    """Parameters out of range, features that the target lacks, variants that there are not."""
    wanted: dict[str, Any] = {"params": {"MR": 8, "NR": 8}, "target": GENERIC, **arguments}
    found = message(lambda: instantiate(replace(GEMM, **changes), "gemm", **wanted))
    assert found == f"microkernel 'gemm': error: {expected}"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"c": "void other() {}"}, "error: expected the function copy in c; give its name as symbol"),
        ({"c": None, "asm": "#define X\ncopy: ret"},
         "error: asm is not preprocessed: expected .macro, .set or .if, found '#define'"),
        ({"c": None, "generate": _parameter_m}, "error: generate fails: KeyError: 'M'"),
        ({"c": None, "generate": _number},
         "error: expected generate to return C that defines copy_N4"),
        ({"c": None, "symbol": "f", "call": "f({X})"}, "call: error: no argument 'X'. Known: A, "
         "A.strides[0], C, C.strides[0], N, ZERO_INIT"),
    ],
)  # fmt: skip
def test_code_that_cannot_be_written_is_one_located_message(
    changes: dict[str, Any], expected: str
) -> None:
    instance = instantiate(replace(COPY, **changes), "copy", {"N": 4}, target=GENERIC)
    found = message(lambda: instance_source(instance))
    assert found == f"microkernel 'copy': {expected}"


@pytest.mark.parametrize(
    "constraint",
    [
        "__import__('os')",
        "N.real",
        "N[0]",
        "[N for N in ()]",
        "N ** 9",
        "1.5",
        "'a'",
        "N if N else N",
    ],
)
def test_constraints_are_arithmetic_only(constraint: str) -> None:
    kernel = replace(COPY, where=(constraint,))
    with pytest.raises(InarchError):
        instantiate(kernel, "copy", {"N": 4}, target=GENERIC)


@pytest.mark.parametrize(
    ("constraint", "holds"),
    [
        ("N % 8 == 4 and not N > 4", True),
        ("1 < N <= 4 or N // 0", True),
        ("-N + 5 == 1", True),
        ("N != 4", False),
        ("2 * (N - 1) >= 7", False),
    ],
)
def test_constraints_are_evaluated(constraint: str, holds: bool) -> None:
    kernel = replace(COPY, params={"N": (4,)}, where=(constraint,))
    assert bool(members(kernel, GENERIC)) is holds


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"params": {"MR": range(1, 10**9), "NR": (8, 16)}},
            "expected at most 100000 choices of params, found 1999999998; list fewer values",
        ),
        ({"cost": float("nan")}, "expected a cost of 0 or more cycles, found nan"),
        (
            {"where": ("9 ** 9 ** 9 > 0",)},
            "where '9 ** 9 ** 9 > 0': expected arithmetic of integers, found '9 ** 9 ** 9'",
        ),
    ],
)
def test_hostile_declarations_are_refused_at_once(change: dict[str, Any], message: str) -> None:
    family = Microkernel(
        "for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]",
        {"A": "f32", "B": "f32", "C": "f32"},
        {"MR": (1, 2), "NR": (8,)},
        c="hostile",
    )
    with pytest.raises(InarchError) as raised:
        check(replace(family, **change), "hostile")
    assert str(raised.value) == f"microkernel 'hostile': {message}"


def test_a_generator_that_exits_is_an_error() -> None:
    family = Microkernel(
        "for n in N: Y[n] = A[n]", {"A": "f32", "Y": "f32"}, generate=lambda _: sys.exit(3)
    )
    with pytest.raises(InarchError, match="generate fails: SystemExit: 3"):
        instance_source(instantiate(family, "leaves", {}, target=GENERIC))
