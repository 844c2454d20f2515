"""Verdicts on microkernels: what they say, bad declarations and libraries, the record, the command."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from effort import effort
from inarch.core.cache import Cache
from inarch.core.errors import EnvironmentFault, InarchError, UsageError
from inarch.core.lazy import Array, np
from inarch.machine import libraries as _kernel_library
from inarch.machine.libraries import defined_symbols, library_path, nearest
from inarch.machine.target import Target, native, parse, this_processor
from inarch.machine.toolchain import compile_library
from inarch.meaning import parse as parse_meaning
from inarch.microkernel import Instance, Microkernel, instantiate
from inarch.microkernel.table import MICROKERNELS
from inarch.runtime.registry import REGISTRY, register
from inarch.tools import cli
from inarch.verification import (
    Verdict,
    describe,
    instances,
    quick_check,
    record,
    verify,
    verify_family,
)
from inarch.verification.cases.expected import expected
from inarch.verification.run import script

C = r"""void scale(const float *A, float *Y, int64_t a_n, int64_t y_n, int64_t N) {
    for (int64_t n = 0; n < N; n++)
        Y[n * y_n] = A[n * a_n] * FACTOR;
}
"""

SCALE = Microkernel(
    "for n in N: Y[n] = A[n] * FACTOR_[0]".replace(" * FACTOR_[0]", " * 3"),
    {"A": "f32", "Y": "f32"},
    c=C.replace("FACTOR", "3.0f"),
)

DOT = Microkernel(
    "for m in MR, k in K: C[m] += A[m, k] * B[k]",
    {"A": "f32", "B": "f32", "C": "f32"},
    {"MR": (1, 2, 4)},
    c=r"""void dot(const float *A, const float *B, float *C, int64_t a_m, int64_t a_k, int64_t b_k,
         int64_t c_m, int64_t K) {
    for (int m = 0; m < MR; m++)
        for (int64_t k = 0; k < K; k++)
            C[m * c_m] += A[m * a_m + k * a_k] * B[k * b_k];
}
""",
)
LACKING = next(
    name for name in ("sve", "avx512fp16", "amx-bf16") if name not in this_processor().features
)


def _scale(source: str = "", **changes: object) -> Instance:
    kernel = replace(SCALE, **({"c": source} if source else {}), **changes)  # pyright: ignore[reportArgumentType]
    return instantiate(kernel, "scale", {}, target=native())


def _family(kernel: Microkernel, name: str = "scale", target: Target | None = None) -> Verdict:
    (verdict,) = verify_family(kernel, name, target or native(), quick=True)
    return verdict


# What a verdict says


def test_a_verdict_names_kernel_instance_shape_and_element() -> None:
    """K4: offsets and strides that are not contiguous are among the calls."""
    source = (DOT.c or "").replace("k < K", "k < K - (K == 3)")
    instance = instantiate(replace(DOT, c=source), "dot", {"MR": 2}, target=native())
    verdict = verify(instance, quick=True)
    assert (verdict.kernel, verdict.instance, verdict.ok) == ("dot", "MR=2", False)
    assert (verdict.fault, verdict.operand, verdict.element) == ("wrong-value", "C", (0,))
    assert verdict.expected is not None
    assert verdict.found is not None
    assert verdict.shape.startswith("K=3, strides A (")
    assert verdict.line().startswith("microkernel 'dot' (MR=2): wrong-value: C[0]: expected ")


def test_a_verdict_names_the_byte_that_was_read() -> None:
    verdict = verify(_scale(C.replace("FACTOR", "3.0f").replace("n < N", "n <= N")), quick=True)
    assert verdict.fault in ("read-outside", "write-outside")
    assert verdict.operand in ("A", "Y")
    assert verdict.byte == 4
    assert verdict.message in ("read byte 4 of A, which has 4", "wrote byte 4 of Y, which has 4")


def test_a_good_kernel_says_how_much_was_done() -> None:
    verdict = verify(_scale(), quick=True)
    assert verdict.ok
    assert verdict.calls > 50
    only = f" ({verdict.run} only)" if verdict.run else ""  # a compiler without sanitizers
    assert verdict.line() == (
        f"microkernel 'scale': ok, {verdict.calls} calls in {verdict.seconds:.2f} s{only}"
    )


def test_instances_are_described_by_parameters_and_variants() -> None:
    kernel = replace(DOT, inits=("accumulate", "zero"), epilogue=("relu", "add"), c=None)
    kernel = replace(kernel, generate=describe)
    texts = [
        describe(one) for one in instances(kernel, "dot", native(), params={"MR": 2}, every=True)
    ]
    assert texts == [
        "MR=2",
        "MR=2, init zero",
        "MR=2, finish relu(C[m])",
        "MR=2, init zero, finish relu(C[m])",
        "MR=2, finish C[m] + E0[m]",
        "MR=2, init zero, finish C[m] + E0[m]",
        "MR=2, finish relu(C[m] + E0[m])",
        "MR=2, init zero, finish relu(C[m] + E0[m])",
        "MR=2, finish relu(C[m] + E0[m])",
        "MR=2, init zero, finish relu(C[m] + E0[m])",
    ]


def test_of_a_large_family_the_first_the_last_and_some_between_are_checked() -> None:
    kernel = replace(DOT, params={"MR": tuple(range(1, 41))})
    found = [one.params["MR"] for one in instances(kernel, "dot", native())]
    assert (found[0], found[-1], len(set(found))) == (1, 40, 12)
    finishing = replace(kernel, c=None, generate=describe, epilogue=("relu",))
    finishes = [one.finish is not None for one in instances(finishing, "dot", native())]
    assert (len(finishes), sum(finishes)) == (24, 12)


def test_sizes_that_are_known_are_the_only_ones() -> None:
    """A kernel that is right for K = 7 alone passes as the instance of that size."""
    source = (DOT.c or "").replace("k < K", "k < 7")
    kernel = replace(DOT, c=source)
    free = instantiate(kernel, "dot", {"MR": 2}, target=native())
    fixed = instantiate(kernel, "dot", {"MR": 2}, target=native(), sizes={"K": 7})
    assert not verify(free, quick=True).ok
    assert verify(fixed, quick=True).line().startswith("microkernel 'dot' (MR=2, K=7): ok")


def test_strides_and_alignment_that_are_demanded_hold() -> None:
    """A demand is kept, also where everything else about the call varies."""
    source = C.replace("FACTOR", "3.0f").replace("a_n", "2").replace("int64_t 2", "int64_t a_n")
    assert verify(_scale(source), quick=True).fault in ("read-outside", "wrong-value")
    assert verify(_scale(source, layout={"A": (2,)}), quick=True).ok


def test_a_window_that_overlaps_is_explained() -> None:
    """A row that begins within the one before is what a BLAS refuses."""
    refuses = "    if (MR > 1 && K > 1 && a_m > 0 && a_m < K) K = 0;\n    for (int m = 0"
    source = (DOT.c or "").replace("    for (int m = 0", refuses)
    kernel = replace(DOT, c=source, layout={"A": ("*", 1)})
    verdict = verify(instantiate(kernel, "dot", {"MR": 4}, target=native()), quick=False)
    assert verdict.fault in ("wrong-value", "inaccurate")
    assert verdict.message.endswith(
        " share memory in this call, as those of windows do: "
        "a kernel that cannot take that demands the strides in `layout`, say '>= K' of rows of K elements"
    )
    apart = replace(kernel, layout={"A": (">= K", 1)})
    verdict = verify(instantiate(apart, "dot", {"MR": 4}, target=native()), quick=False)
    assert verdict.ok, verdict.line()


@pytest.mark.parametrize("how", [pytest.param("asm", marks=pytest.mark.cpu("x86-64")), "generate"])
def test_assembly_and_generated_code_are_checked(how: str) -> None:
    asm = """
# scale(A %rdi, Y %rsi, a_n %rdx, y_n %rcx, N %r8)
scale:
    movss (%rdi), %xmm0
    movaps %xmm0, %xmm1
    addss %xmm0, %xmm0
    addss %xmm1, %xmm0
    movss %xmm0, (%rsi)
    lea (%rdi,%rdx,4), %rdi
    lea (%rsi,%rcx,4), %rsi
    dec %r8
    jnz scale
    ret
"""

    def generate(instance: Instance) -> str:
        return C.replace("scale", instance.symbol).replace("FACTOR", "3.0f")

    good = replace(SCALE, c=None, **({"asm": asm} if how == "asm" else {"generate": generate}))  # pyright: ignore[reportArgumentType]
    verdict = _family(good)
    assert verdict.ok, verdict.line()
    if how == "asm":
        clobbers = replace(
            good,
            asm=asm.replace(
                "    movss (%rdi), %xmm0\n", "    movss (%rdi), %xmm0\n    mov %rdi, %rbx\n"
            ),
        )
        verdict = _family(clobbers)
        assert (verdict.fault, verdict.message) == ("registers", "did not restore rbx")


def test_f64_and_integers_are_checked() -> None:
    source = C.replace("float", "double").replace("FACTOR", "3")
    double = replace(SCALE, dtypes={"A": "f64", "Y": "f64"}, c=source)
    assert _family(double).ok
    assert not _family(replace(double, c=source.replace("A[n * a_n]", "(float)A[n * a_n]"))).ok
    whole = replace(SCALE, dtypes={"A": "i32", "Y": "i32"}, c=source.replace("double", "int32_t"))
    assert _family(whole).ok
    assert not _family(replace(whole, c=source.replace("double", "int32_t").replace("3", "4"))).ok


@pytest.mark.parametrize(
    ("computes", "dtype", "body", "wrong"),
    [
        (
            "for n in N: Y[n] += A[n]",
            "i64",
            "Y[n * y] += A[n * a];",
            "Y[n * y] += (int32_t)A[n * a];",
        ),
        (
            "for n in N: Y[n] max= A[n]",
            "i32",
            "if (A[n * a] > Y[n * y]) Y[n * y] = A[n * a];",
            "if ((float)A[n * a] > (float)Y[n * y]) Y[n * y] = (int16_t)A[n * a];",
        ),
    ],
)
def test_large_integers_are_tried(computes: str, dtype: str, body: str, wrong: str) -> None:
    """As large as nothing overflows: small ones hide conversions."""
    kind = {"i32": "int32_t", "i64": "int64_t"}[dtype]
    head = f"void kernel(const {kind} *A, {kind} *Y, int64_t a, int64_t y, int64_t N)"
    source = f"{head} {{ for (int64_t n = 0; n < N; n++) {{ BODY }} }}"

    def verdict(text: str) -> Verdict:
        code = source.replace("BODY", text)
        family = Microkernel(computes, {"A": dtype, "Y": dtype}, c=code)
        return verify(instantiate(family, "kernel", {}, target=native()), quick=True)

    assert verdict(body).ok
    assert verdict(wrong).fault == "wrong-value"


@pytest.mark.sampled(effort(1, 2), reason="a minimum and a maximum")
@pytest.mark.parametrize(
    ("computes", "accepted", "start"),
    [
        ("for m in 3, k in K: Y[m] max= A[m, k]", ">", "-FLT_MAX"),
        ("for m in 3, k in K: Y[m] min= A[m, k]", "<", "FLT_MAX"),
        ("for m in 3: Y[m] = -inf; for k in K: Y[m] max= A[m, k]", ">", "-FLT_MAX"),
        ("for m in 3, k in K: Y[m] max= A[m, k] - B[m]", ">", "-FLT_MAX"),
    ],
)
def test_rows_of_infinities_are_tried(computes: str, accepted: str, start: str) -> None:
    """The largest number is not where a maximum begins: the row, and Y before it, may all be -inf."""
    has_bias, is_set = "B[m]" in computes, "] = " in computes
    value = "A[m * a_m + k * a_k]" + " - B[m * b_m]" * has_bias
    old = "" if is_set else f"if (!(best {accepted} Y[m * y_m])) best = Y[m * y_m];"
    source = f"""#include <math.h>
#include <float.h>
void extreme(const float *A, {"const float *B, " * has_bias}float *Y, int64_t a_m, int64_t a_k,
             {"int64_t b_m, " * has_bias}int64_t y_m, int64_t K) {{
    for (int m = 0; m < 3; m++) {{
        float best = START;
        for (int64_t k = 0; k < K; k++) {{
            float value = {value};
            if (value {accepted} best || value != value) best = value;
            if (best != best) break;
        }}
        if (best == best) {{ {old} }}
        Y[m * y_m] = best;
    }}
}}"""
    dtypes = {"A": "f32", **({"B": "f32"} if has_bias else {}), "Y": "f32"}

    def verdict(begin: str) -> Verdict:
        family = Microkernel(computes, dtypes, c=source.replace("START", begin))
        return verify(instantiate(family, "extreme", {}, target=native()), quick=True)

    right = verdict("-INFINITY" if accepted == ">" else "INFINITY")
    assert right.ok, right.line()
    assert verdict(start).fault == "wrong-value"


@pytest.mark.slow
def test_a_factor_of_zero_does_not_hide_nan() -> None:
    """BLAS returns early for a factor of 0; the meaning does not."""
    text = "void kernel(const float *A, const float *X, float *Y, int64_t x, int64_t y, int64_t N) { BODY for (int64_t n = 0; n < N; n++) Y[n * y] += A[0] * X[n * x]; }"  # noqa: E501
    for body, is_right in (("", True), ("if (A[0] == 0) return;", False)):
        family = Microkernel(
            "for n in N: Y[n] += A[] * X[n]",
            {"A": "f32", "X": "f32", "Y": "f32"},
            c=text.replace("BODY", body),
        )
        assert verify(instantiate(family, "kernel", {}, target=native())).ok == is_right


def test_a_member_that_is_too_large_is_refused() -> None:
    family = Microkernel(
        "for m in 1000000000, n in 1000000000: Y[m, n] = A[m]", {"A": "f32", "Y": "f32"}, c="kernel"
    )
    verdict = verify(instantiate(family, "kernel", {}, target=native()))
    assert (verdict.fault, verdict.message) == (
        "bad-declaration",
        "expected a call of at most 16777216 points to check, found 1000000000000000000 in the "
        "smallest; give the member smaller sizes",
    )


def test_a_program_that_is_being_written_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread's process may hold the harness's file for a moment; a folder may forbid programs."""
    raised = [OSError(errno.ETXTBSY, "Text file busy")]
    real = subprocess.Popen

    def popen(*arguments: Any, **more: Any) -> Any:
        if raised:
            raise raised.pop()
        return real(*arguments, **more)

    monkeypatch.setattr(script.subprocess, "Popen", popen)
    with (tmp_path / "messages").open("wb") as file:
        assert script.start(["true"], file.fileno()).wait() == 0
        raised.append(OSError(errno.EACCES, "Permission denied"))
        with pytest.raises(EnvironmentFault) as caught:
            script.start(["/folder/program"], file.fileno())
    assert str(caught.value) == (
        "cannot run a program in '/folder': Permission denied; set TMPDIR to a folder that allows it"
    )


# How far off rounding may be


def test_the_bound_of_a_contraction_is_the_textbook_one() -> None:
    """c K eps sum |a| |b|, with c between 0.5 and 10."""
    random = np.random.default_rng(0)
    k = 50
    a, b = (random.standard_normal((3, k)).astype("float32") for _ in range(2))
    meaning = parse_meaning(f"for m in 3, k in {k}: C[m] += A[m, k] * B[m, k]", "test")
    arrays = {"A": a, "B": b, "C": np.zeros(3, "float32")}
    found = expected(meaning, arrays)
    eps = float(np.finfo("float32").eps)
    textbook = k * eps * np.sum(np.abs(a.astype("float64") * b), axis=1)
    assert np.all(np.isfinite(found.bound))
    assert np.all(found.bound > 0.5 * textbook)
    assert np.all(found.bound < 10 * textbook)


def test_whole_numbers_must_agree_exactly() -> None:
    meaning = parse_meaning("for m in 2, k in 9: C[m] += A[m, k]", "test")
    arrays = {"A": np.arange(18, dtype="float32").reshape(2, 9), "C": np.ones(2, "float32")}
    found = expected(meaning, arrays)
    assert found.bound.tolist() == [0, 0]
    assert found.value.tolist() == [37, 118]


@pytest.mark.parametrize(
    ("update", "is_judged"), [("log(A[m])", True), ("log(A[m] - A[m] * 1.5 + A[m] * 0.5)", False)]
)
def test_what_rounding_decides_is_not_judged(update: str, is_judged: bool) -> None:
    """The log of a number that is 0 but for rounding may be anything."""
    meaning = parse_meaning(f"for m in 1: C[m] = {update}", "test")
    arrays = {"A": np.full(1, 0.3, "float32"), "C": np.zeros(1, "float32")}
    assert np.isfinite(expected(meaning, arrays).bound).tolist() == [is_judged]


@pytest.mark.parametrize(
    ("value", "a", "bounds"),
    [
        ("max(A[m], 0.1)", [0.3, -0.7], [0, 0]),
        ("i8(A[m] * 3)", [0.4, 1 / 3], [0, 1]),
        ("log(A[m] * 3)", [-0.3, -7.7], [0, 0]),
        ("min(A[m] * A[m], 9)", [4097, 2], [0, 0]),
        ("A[m] * A[m] - 2", [4095, 4097], [0, 4.1]),
        ("relu(A[m] * 97 - 16777215)", [2, 172961], [0, 8]),
    ],
)
def test_what_no_order_and_no_rounding_changes_is_exact(
    value: str, a: list[float], bounds: list[float]
) -> None:
    """What is only chosen; an integer with no jump near; a NaN; whole numbers that 24 bits hold."""
    meaning = parse_meaning(f"for m in 2: C[m] = {value}", "test")
    dtype = "int8" if value.startswith("i8") else "float32"
    found = expected(meaning, {"A": np.array(a, "float32"), "C": np.zeros(2, dtype)})
    assert np.all(np.isfinite(found.bound))
    np.testing.assert_allclose(found.bound, bounds, rtol=0.2)


@pytest.mark.parametrize(
    ("function", "a"), [("exp", 2.0), ("log", 9.0), ("tanh", 0.7), ("sqrt", 3.0)]
)
@pytest.mark.parametrize("terms", [1, 1000])
def test_functions_of_any_library_are_right(function: str, a: float, terms: int) -> None:
    """8 ulps, of one number as of each in a sum: not of each times the length of the sum."""
    meaning = parse_meaning(f"for m in 1, k in {terms}: C[m] += {function}(A[k])", "test")
    arrays = {"A": np.full(terms, a, "float32"), "C": np.zeros(1, "float32")}
    found = expected(meaning, arrays)
    ulps = found.bound / (found.value * np.finfo("float32").eps)
    assert 8 <= ulps <= 8 + 1.1 * (terms + 1)


# Declarations that are wrong


def test_a_meaning_that_does_not_parse_is_a_located_line() -> None:
    verdict = _family(replace(SCALE, computes="for n in N: Y[n] = A[n"))
    assert verdict.fault == "bad-declaration"
    assert "computes" in verdict.message
    assert "\n" not in verdict.line()


def test_c_that_does_not_compile_is_located_in_its_own_text() -> None:
    verdict = _family(replace(SCALE, c=C.replace("FACTOR", "three")))
    assert verdict.fault == "does-not-compile"
    assert verdict.message.startswith("scale.c:3:")
    assert "three" in verdict.message


def test_features_that_the_cpu_lacks_are_no_fault_of_the_kernel() -> None:
    verdict = _family(replace(SCALE, needs=(LACKING,)))
    assert (verdict.fault, verdict.is_checked) == ("lacks-feature", False)
    assert verdict.message == (
        f"this CPU lacks {LACKING}, so the kernel cannot be checked here; "
        "run the check on a machine that has them"
    )


def test_a_target_that_this_machine_is_not_cannot_be_checked() -> None:
    other = "aarch64" if this_processor().architecture == "x86-64" else "x86-64-v2"
    verdict = _family(SCALE, target=parse(other))
    assert (verdict.fault, verdict.is_checked) == ("lacks-feature", False)


def test_an_output_whose_elements_meet_is_refused() -> None:
    kernel = Microkernel(
        "for m in 2, n in N: Y[m, n] = A[n]",
        {"A": "f32", "Y": "f32"},
        layout={"Y": (1, 1)},
        c="void twice(const float *A, float *Y, int64_t a, int64_t m, int64_t n, int64_t N) {}",
    )
    verdict = _family(kernel, "twice")
    assert (verdict.fault, verdict.message) == (
        "bad-declaration",
        "layout of Y: with strides (1, 1) elements of shape (2, 2) share memory; "
        "an operand that is written needs a place for each",
    )


def test_unknown_parameters_are_named() -> None:
    with pytest.raises(UsageError, match="no parameter 'MS' in microkernel 'dot'"):
        verify_family(DOT, "dot", native(), params={"MS": 1})
    with pytest.raises(UsageError) as caught:
        verify_family(DOT, "dot", native(), params={"MR": 3})
    assert str(caught.value) == (
        f"microkernel 'dot' has no member with MR=3 for target '{native()}'. Known: MR: 1, 2, 4"
    )


# Libraries


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared library with a good kernel, `vendor_scale`, and a bad one."""
    export = '__attribute__((visibility("default"))) '
    good = C.replace("FACTOR", "3.0f").replace("void scale", f"{export}void vendor_scale")
    bad = C.replace("FACTOR", "2.0f").replace("void scale", f"{export}void vendor_bad")
    path = tmp_path_factory.mktemp("library") / "libvendor.so"
    unit = f"#include <stdint.h>\n{good}\n{bad}"
    compile_library({"vendor.c": unit}, path, target=parse(native().level))
    return path


def _of_library(library: Path | str, symbol: str) -> Microkernel:
    return replace(SCALE, c=None, symbol=symbol, library=str(library))


def test_functions_of_libraries_are_checked(library: Path) -> None:
    good = _family(_of_library(library, "vendor_scale"))
    assert good.ok, good.line()
    bad = _family(_of_library(library, "vendor_bad"))
    assert (bad.fault, bad.run) == ("wrong-value", "guard pages")


def test_a_missing_symbol_names_the_library_and_the_nearest_one(library: Path) -> None:
    """K8."""
    verdict = _family(_of_library(library, "scale"))
    assert verdict.line() == (
        f"microkernel 'scale': missing-symbol: no symbol 'scale' in library '{library}'; "
        "it has 'vendor_scale': write symbol=\"vendor_scale\""
    )


def test_a_function_that_c_calls_and_nothing_defines_is_a_missing_symbol() -> None:
    """K8."""
    source = f"float elsewhere(float);\n{C.replace('FACTOR', 'elsewhere(3.0f)')}"
    assert _family(replace(SCALE, c=source)).message == (
        "no symbol 'elsewhere' in libm; "
        "correct the name, or add its library to `library` or `libraries`"
    )


def test_a_library_that_is_not_there_is_no_fault_of_the_kernel(tmp_path: Path) -> None:
    verdict = _family(_of_library(tmp_path / "none.so", "scale"))
    assert (verdict.fault, verdict.is_checked) == ("missing-library", False)
    assert verdict.message == (
        f"library '{tmp_path / 'none.so'}': no such file; build it, or correct `library`"
    )


def test_libraries_of_python_packages_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vendor_package" / "lib").mkdir(parents=True)
    wanted = tmp_path / "vendor_package" / "lib" / "libvendor-1.so"
    wanted.touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert library_path("python:vendor_package/lib/libvendor*.so") == wanted
    with pytest.raises(EnvironmentFault, match=r"has no file lib/other\.so; correct"):
        library_path("python:vendor_package/lib/other.so")
    with pytest.raises(EnvironmentFault, match="package 'vendor_none' is not installed"):
        library_path("python:vendor_none/lib/x.so")


def test_a_library_for_another_machine_is_refused(library: Path, tmp_path: Path) -> None:
    data = bytearray(library.read_bytes())
    is_x86 = this_processor().architecture == "x86-64"
    data[18:20] = (183 if is_x86 else 62).to_bytes(2, "little")
    other = tmp_path / "other.so"
    other.write_bytes(data)
    verdict = _family(_of_library(other, "vendor_scale"))
    there = "aarch64" if is_x86 else "x86-64"
    assert (verdict.fault, verdict.message) == (
        "wrong-architecture",
        f"library '{other}' is for {there}, and the target '{native()}' is {this_processor().architecture}; "
        "use a library that was built for it",
    )


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.so"
    text.write_text("not a library, but longer than a header")
    assert _family(_of_library(text, "scale")).message == (
        f"library '{text}': expected a shared library (ELF), found another file; "
        "build it with `cc -shared -fPIC`, or correct `library`"
    )


@pytest.mark.parametrize("length", [64, 200, 1000])
def test_a_library_that_was_cut_off_is_refused(library: Path, tmp_path: Path, length: int) -> None:
    cut = tmp_path / "cut.so"
    cut.write_bytes(library.read_bytes()[:length])
    with pytest.raises(InarchError, match="is cut short or damaged"):
        defined_symbols(cut)


def test_openblas_is_checked_and_its_other_name_is_found() -> None:
    """K8: asked for `cblas_sgemm`, the message names `scipy_cblas_sgemm`."""
    pytest.importorskip("scipy_openblas32")
    call = (
        "(101, 111, 111, {M}, {N}, {K}, 1.0f, {A}, {A.strides[0]}, "
        "{B}, {B.strides[0]}, 1.0f, {C}, {C.strides[0]})"
    )
    declare = (
        "(int, int, int, int, int, int, float, const float *, int, "
        "const float *, int, float, float *, int)"
    )
    kernel = Microkernel(
        "for m in M, n in N, k in K: C[m, n] += A[m, k] * B[k, n]",
        {"A": "f32", "B": "f32", "C": "f32"},
        layout={"A": (">= K", 1), "B": (">= N", 1), "C": (">= N", 1)},
        symbol="scipy_cblas_sgemm",
        library="python:scipy_openblas32/lib/libscipy_openblas*.so",
        call=f"scipy_cblas_sgemm{call}",
        declare=f"void scipy_cblas_sgemm{declare};",
    )
    good = _family(kernel, "blas")
    assert good.ok, good.line()
    verdict = _family(replace(kernel, symbol="cblas_sgemm"), "blas")
    assert verdict.fault == "missing-symbol"
    assert verdict.message.endswith(
        "it has 'scipy_cblas_sgemm': write symbol=\"scipy_cblas_sgemm\""
    )


@pytest.mark.parametrize(
    ("symbol", "known", "found"),
    [
        (
            "cblas_sgemm",
            ["scipy_cblas_sgemm", "scipy_cblas_sgemm64_", "sgemm"],
            "scipy_cblas_sgemm",
        ),
        ("gemm_f3", ["gemm_f32", "gemm_f64"], "gemm_f32"),
        ("gmem", ["gemm", "conv"], "gemm"),
        ("anything", ["conv"], None),
    ],
)
def test_the_nearest_symbol(symbol: str, known: list[str], found: str | None) -> None:
    assert nearest(symbol, known) == found


# Functions of the registry


def _right(a: Array, y: Array) -> None:
    np.multiply(a, 3, out=y)


def _wrong(a: Array, y: Array) -> None:
    np.multiply(a, 2, out=y)


def _overwrites(a: Array, y: Array) -> None:
    _right(a, y)
    a[:] = 0


def _raises(a: Array, y: Array) -> None:
    raise RuntimeError(f"no {a.dtype} for {y.dtype}")


def _idle(a: Array, y: Array) -> None:
    """Writes nothing."""


@pytest.mark.parametrize(
    ("function", "fault", "message"),
    [
        (_right, None, ""),
        (_wrong, "wrong-value", "Y[0]: expected "),
        (_overwrites, "crash", "raises ValueError: assignment destination is read-only"),
        (_raises, "crash", "raises RuntimeError: no float32 for float32"),
        (_idle, "unwritten", "Y[0] was not written; expected "),
    ],
)
def test_registered_functions_are_checked(
    function: Callable[..., object], fault: str | None, message: str
) -> None:
    """K5: the same kernel through the registry."""
    kernel = replace(SCALE, c=None, registered="test.scale")
    register("test.scale", function, override=True)
    try:
        verdict = _family(kernel)
    finally:
        REGISTRY.unregister("test.scale")
    assert verdict.fault == fault, verdict.line()
    assert verdict.run == "in this process"
    assert verdict.message.startswith(message)


def test_a_registered_function_that_is_not_there_is_named() -> None:
    verdict = _family(replace(SCALE, c=None, registered="test.none"))
    assert verdict.fault == "bad-declaration"
    assert verdict.message.startswith("no registered function 'test.none'")


# The record of quick checks


@contextmanager
def _counted(monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    made: list[str] = []

    def counting(instance: Instance, **more: object) -> Verdict:
        made.append(instance.name)
        return verify(instance, **more)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as patch:
        patch.setattr(record, "verify", counting)
        yield made


def test_a_quick_check_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Cache(tmp_path / "cache")
    with _counted(monkeypatch) as made:
        first = quick_check(_scale(), cache=kept)
        again = quick_check(_scale(), cache=kept)
        assert made == ["scale"]
        assert first.ok
        assert again == replace(first, calls=0, seconds=0.0)
        quick_check(_scale(C.replace("FACTOR", "3.1f")), cache=kept)
        quick_check(_scale(align={"A": 16}), cache=kept)
        assert len(made) == 3


def test_a_failure_is_recorded_with_its_element(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Cache(tmp_path / "cache")
    bad = _scale(C.replace("FACTOR", "2.0f"))
    with _counted(monkeypatch) as made:
        first, again = quick_check(bad, cache=kept), quick_check(bad, cache=kept)
    assert made == ["scale"]
    assert first.element == again.element == (0,)
    assert first.line() == again.line()


def test_a_library_that_was_rebuilt_is_checked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K7: what was verified was the library's content, not its path."""
    kept, path = Cache(tmp_path / "cache"), tmp_path / "libours.so"
    instance = instantiate(_of_library(path, "scale"), "scale", {}, target=native())
    with _counted(monkeypatch) as made:
        for factor, is_good in (("3.0f", True), ("2.0f", False), ("3.0f", True)):
            source = C.replace("void", '__attribute__((visibility("default"))) void')
            unit = f"#include <stdint.h>\n{source.replace('FACTOR', factor)}"
            compile_library({"ours.c": unit}, path, target=native())
            assert quick_check(instance, cache=kept).ok is is_good
    assert len(made) == 2


def test_what_lacks_here_is_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Cache(tmp_path / "cache")
    missing = instantiate(_of_library(tmp_path / "x.so", "scale"), "scale", {}, target=native())
    with _counted(monkeypatch) as made:
        assert quick_check(missing, cache=kept).fault == "missing-library"
        assert quick_check(missing, cache=kept).fault == "missing-library"
    assert len(made) == 2


# The command


@pytest.fixture
def kernel_file(tmp_path: Path) -> Path:
    path = tmp_path / "scale.py"
    path.write_text(
        "from inarch.microkernel import Microkernel\n"
        "MICROKERNEL = Microkernel(\n"
        "    'for r in R, n in N: Y[r, n] = A[r, n] * 3', {'A': 'f32', 'Y': 'f32'}, {'R': (1, 2)},\n"
        "    c='''void scale(const float *A, float *Y, int64_t a_r, int64_t a_n, int64_t y_r, int64_t y_n,"
        " int64_t N) {\n"
        "    for (int r = 0; r < R; r++)\n"
        "        for (int64_t n = 0; n < N; n++)\n"
        "            Y[r * y_r + n * y_n] = A[r * a_r + n * a_n] * 3;\n"
        "}''')\n"
    )
    return path


def test_the_command_checks_what_a_file_defines(kernel_file: Path) -> None:
    done = cli.run(["verify-kernel", "--load", str(kernel_file), "--quick"])
    assert (done.code, done.err) == (0, "")
    first, second, total = done.out.splitlines()
    assert first.startswith("microkernel 'scale' (R=1): ok, ")
    assert second.startswith("microkernel 'scale' (R=2): ok, ")
    assert total.startswith("2 of 2 instances pass (")


def test_a_file_named_like_a_kernel_of_ours_is_refused(kernel_file: Path) -> None:
    named = kernel_file.rename(kernel_file.with_name("gemm_f32.py"))
    named.write_text(named.read_text().replace("void scale(", "void gemm_f32("))
    done = cli.run(["verify-kernel", "--load", str(named), "--quick"])
    assert done.code == 2
    assert done.err == (
        "error: --load: microkernel 'gemm-f32' is defined twice: by "
        f"inarch.backends.c.microkernels.gemm_f32 and by {named}; rename the file\n"
    )


def test_the_command_fails_with_the_kernel(kernel_file: Path) -> None:
    kernel_file.write_text(kernel_file.read_text().replace("* 3;", "* 2;"))
    arguments = ["verify-kernel", "scale", "--load", str(kernel_file), "--quick", "--param", "R=2"]
    done = cli.run(arguments)
    assert done.code == 1
    assert done.out.startswith("microkernel 'scale' (R=2): wrong-value: Y[0, 0]: expected ")
    assert done.out.splitlines()[-1].startswith("0 of 1 instances pass, 1 fail (")
    done = cli.run([*arguments, "--json"])
    (verdict,) = json.loads(done.out)
    assert (done.code, verdict["fault"], verdict["element"]) == (1, "wrong-value", [0, 0])


def test_the_command_says_what_it_cannot_check(kernel_file: Path) -> None:
    text = kernel_file.read_text().replace("    c='''", f"    needs=('{LACKING}',), c='''")
    kernel_file.write_text(text)
    done = cli.run(["verify-kernel", "--load", str(kernel_file)])
    assert done.code == EnvironmentFault.exit_code
    assert "lacks-feature: this CPU lacks" in done.out
    assert done.out.endswith("0 of 1 instances pass, 1 cannot be checked here (0 calls)\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-kernel"], "error: no microkernel 'no-such-kernel'"),
        (
            [],
            "error: expected the name of a kernel, or --load FILE; see `inarch list microkernels`",
        ),
        (
            ["x", "--param", "MR"],
            "error: --param: expected NAME=VALUE with a whole number, found 'MR'",
        ),
    ],
)
def test_the_command_refuses_what_it_does_not_know(arguments: list[str], message: str) -> None:
    done = cli.run(["verify-kernel", *arguments])
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(message)


def test_a_file_may_stand_for_its_kernel(kernel_file: Path) -> None:
    done = cli.run(["verify-kernel", str(kernel_file), "--quick", "--param", "R=2"])
    assert done.code == 0, done.err
    assert done.out.endswith("1 of 1 instances pass (" + done.out.rpartition("(")[2])
    assert "scale" not in MICROKERNELS.loaded  # or the next compilation would look for its nests


def test_nothing_of_a_library_is_executed_to_look_at_it() -> None:
    """Only the child process opens it."""
    text = Path(_kernel_library.__file__).read_text()
    assert "ctypes" not in text
    assert "dlopen" not in text
