"""`inarch verify-kernel` proves itself: faults put into good kernels are found, and nothing is in good ones.

A fault is a text that replaces another one in a kernel's C. Each has the name of its class; a class may
be tried on several kernels. The issue asks for at least 24 classes, 95 % caught, and no false alarm.
"""

# ruff: noqa: E501 - tables with one fault a line read better than broken lines

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest

from effort import effort
from inarch.machine.target import Target, native, parse, this_processor
from inarch.microkernel import Instance, Microkernel, instantiate
from inarch.verification import Verdict, verify, verify_family

F32 = "f32"

GEMM = Microkernel(
    "for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]",
    {"A": F32, "B": F32, "C": F32},
    {"MR": range(1, 9), "NR": (4, 8)},
    layout={"B": ("*", 1)},
    inits=("accumulate", "zero"),
    c=r"""
#include <string.h>
static void gemm_step(float acc[MR][NR], const float *a, int64_t a_m, const float *b) {
    for (int m = 0; m < MR; m++)
        for (int n = 0; n < NR; n++)
            acc[m][n] += a[m * a_m] * b[n];
}
void gemm(const float *A, const float *B, float *C, int64_t a_m, int64_t a_k, int64_t b_k, int64_t b_n,
          int64_t c_m, int64_t c_n, int64_t K) {
    float acc[MR][NR];
    for (int m = 0; m < MR; m++)
        for (int n = 0; n < NR; n++)
            acc[m][n] = ZERO_INIT ? 0.0f : C[m * c_m + n * c_n];
    int64_t k = 0;
    for (; k + 4 <= K; k += 4) {
        gemm_step(acc, A + k * a_k, a_m, B + k * b_k);
        gemm_step(acc, A + (k + 1) * a_k, a_m, B + (k + 1) * b_k);
        gemm_step(acc, A + (k + 2) * a_k, a_m, B + (k + 2) * b_k);
        gemm_step(acc, A + (k + 3) * a_k, a_m, B + (k + 3) * b_k);
    }
    for (; k < K; k++)
        gemm_step(acc, A + k * a_k, a_m, B + k * b_k);
    for (int m = 0; m < MR; m++)
        for (int n = 0; n < NR; n++)
            C[m * c_m + n * c_n] = acc[m][n];
}
""",
)

GEMV = Microkernel(
    "for m in MR, k in K: Y[m] += A[m, k] * X[k]",
    {"A": F32, "X": F32, "Y": F32},
    {"MR": (1, 3, 4)},
    layout={"A": ("*", 1), "X": (1,)},
    c=r"""
typedef float gemv_vector __attribute__((vector_size(16), aligned(4), may_alias));
void gemv(const float *A, const float *X, float *Y, int64_t a_m, int64_t a_k, int64_t x_k, int64_t y_m,
          int64_t K) {
    for (int m = 0; m < MR; m++) {
        const float *row = A + m * a_m;
        gemv_vector sums = {0, 0, 0, 0};
        int64_t k = 0;
        for (; k + 4 <= K; k += 4)
            sums += *(const gemv_vector *)(row + k) * *(const gemv_vector *)(X + k);
        float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        for (; k < K; k++)
            sum += row[k] * X[k];
        Y[m * y_m] += sum;
    }
}
""",
)

CONV = Microkernel(
    "for q in QR, o in 8, r in R, s in S, c in CI: Y[q, o] += X[r, q * SW + s, c] * W[r, s, c, o]",
    {"X": F32, "W": F32, "Y": F32},
    # Steps of 2 are those of which gcc 12 makes reads behind the end, if it may (plan/gaps.py).
    {"QR": (1, 5), "SW": (1, 2)},
    layout={"W": ("*", "*", 8, 1), "Y": ("*", 1)},
    c=r"""
void conv(const float *X, const float *W, float *Y, int64_t x_h, int64_t x_w, int64_t x_c, int64_t w_r,
          int64_t w_s, int64_t w_c, int64_t w_o, int64_t y_q, int64_t y_o, int64_t R, int64_t S, int64_t CI) {
    float acc[QR][8];
    for (int q = 0; q < QR; q++)
        for (int o = 0; o < 8; o++)
            acc[q][o] = Y[q * y_q + o];
    for (int64_t r = 0; r < R; r++)
        for (int64_t s = 0; s < S; s++)
            for (int64_t c = 0; c < CI; c++)
                for (int q = 0; q < QR; q++)
                    for (int o = 0; o < 8; o++)
                        acc[q][o] += X[r * x_h + (q * SW + s) * x_w + c * x_c] * W[r * w_r + s * w_s + c * 8 + o];
    for (int q = 0; q < QR; q++)
        for (int o = 0; o < 8; o++)
            Y[q * y_q + o] = acc[q][o];
}
""",
)

DEPTHWISE = Microkernel(
    "for q in QR, c in 8: Y[q, c] = 0; for s in S: Y[q, c] += X[q + s, c] * W[s, c]",
    {"X": F32, "W": F32, "Y": F32},
    {"QR": (1, 4)},
    layout={"X": ("*", 1), "W": (8, 1), "Y": ("*", 1)},
    c=r"""
void depthwise(const float *X, const float *W, float *Y, int64_t x_w, int64_t x_c, int64_t w_s, int64_t w_c,
               int64_t y_q, int64_t y_c, int64_t S) {
    for (int q = 0; q < QR; q++) {
        float acc[8] = {0};
        for (int64_t s = 0; s < S; s++)
            for (int c = 0; c < 8; c++)
                acc[c] += X[(q + s) * x_w + c] * W[s * 8 + c];
        for (int c = 0; c < 8; c++)
            Y[q * y_q + c] = acc[c];
    }
}
""",
)

BIAS_RELU = Microkernel(
    "for m in MR, n in N: Y[m, n] = relu(A[m, n] * S[n] + B[n])",
    {"A": F32, "S": F32, "B": F32, "Y": F32},
    {"MR": (1, 2)},
    c=r"""
void bias_relu(const float *A, const float *S, const float *B, float *Y, int64_t a_m, int64_t a_n, int64_t s_n,
               int64_t b_n, int64_t y_m, int64_t y_n, int64_t N) {
    for (int m = 0; m < MR; m++)
        for (int64_t n = 0; n < N; n++) {
            float value = A[m * a_m + n * a_n] * S[n * s_n] + B[n * b_n];
            Y[m * y_m + n * y_n] = value < 0.0f ? 0.0f : value;
        }
}
""",
)

BYTES = Microkernel(
    "for m in MR, k in K: C[m] += i32(A[m, k]) * i32(B[k])",
    {"A": "i8", "B": "i8", "C": "i32"},
    {"MR": (2,)},
    c=r"""
void bytes(const int8_t *A, const int8_t *B, int32_t *C, int64_t a_m, int64_t a_k, int64_t b_k, int64_t c_m,
           int64_t K) {
    for (int m = 0; m < MR; m++) {
        int32_t sum = 0;
        for (int64_t k = 0; k < K; k++)
            sum += (int32_t)A[m * a_m + k * a_k] * (int32_t)B[k * b_k];
        C[m * c_m] += sum;
    }
}
""",
)

KERNELS = {
    "gemm": (GEMM, {"MR": 3, "NR": 4}),
    "gemv": (GEMV, {"MR": 3}),
    "conv": (CONV, {"QR": 5, "SW": 2}),
    "depthwise": (DEPTHWISE, {"QR": 4}),
    "bias-relu": (BIAS_RELU, {"MR": 2}),
    "bytes": (BYTES, {"MR": 2}),
}
"""Name -> the family, and the member that faults are put into."""


@dataclass(frozen=True)
class Change:
    """A text of a kernel's C, and what takes its place."""

    name: str
    """The class of the fault, or what is harmless about it."""
    kernel: str
    old: str
    new: str
    init: str = "accumulate"
    head: str = ""
    """Put before the source."""
    needs: str = ""
    """An architecture; on others this is left out."""
    faults: tuple[str, ...] = ()
    """What the verdict must call it; empty: anything."""

    @property
    def is_possible(self) -> bool:
        return self.needs in ("", this_processor().architecture)

    def instance(self, target: Target) -> Instance:
        family, params = KERNELS[self.kernel]
        source = family.c or ""
        assert source.count(self.old) == 1, f"{self.name}: {self.old!r}"
        changed = replace(family, c=self.head + source.replace(self.old, self.new))
        init = "zero" if self.init == "zero" else "accumulate"
        return instantiate(changed, self.kernel, params, target=target, init=init)


_START = "    int64_t k = 0;\n    for (; k + 4 <= K; k += 4) {\n        gemm_step"
"""Where the gemm has its tile and begins to compute."""
_STORE = "            C[m * c_m + n * c_n] = acc[m][n];"
_TAIL = "    for (; k < K; k++)\n        gemm_step(acc, A + k * a_k, a_m, B + k * b_k);\n"
_ACC = "acc[m][n] += a[m * a_m] * b[n];"
_X86 = "x86-64"


def _at_start(name: str, code: str, **more: object) -> Change:
    """A fault of the gemm: code that runs before it computes."""
    return Change(name, "gemm", _START, f"    {code}\n{_START}", **more)  # pyright: ignore[reportArgumentType]


def _at_store(name: str, code: str, **more: object) -> Change:
    """A fault of the gemm: code that runs after each store."""
    return Change(name, "gemm", _STORE, f"        {{{_STORE} {code} }}", **more)  # pyright: ignore[reportArgumentType]


_VALUE = ("wrong-value", "inaccurate", "unwritten")

FAULTS: tuple[Change, ...] = (
    # loops
    Change("m loop too short", "gemm", "for (int m = 0; m < MR; m++)\n        for (int n = 0; n < NR; n++)\n            acc[m][n] +=", "for (int m = 0; m < MR - 1; m++)\n        for (int n = 0; n < NR; n++)\n            acc[m][n] +=", faults=_VALUE),
    Change("m loop too short", "bias-relu", "m < MR", "m < MR - 1", faults=("unwritten",)),
    Change("m loop too long", "gemv", "m < MR", "m <= MR", faults=("read-outside", "write-outside")),
    Change("m loop too long", "bytes", "m < MR", "m < MR + 1"),
    Change("m loop begins at 1", "gemv", "int m = 0", "int m = 1", faults=_VALUE),
    Change("n loop too short", "bias-relu", "n < N", "n < N - 1"),
    Change("n loop too long", "bias-relu", "n < N", "n <= N"),
    Change("n loop too long", "depthwise", "for (int c = 0; c < 8; c++)\n            Y", "for (int c = 0; c < 9; c++)\n            Y"),
    Change("k loop too short", "gemm", "for (; k < K; k++)", "for (; k < K - 1; k++)", faults=_VALUE),
    Change("k loop too long", "gemm", "for (; k < K; k++)", "for (; k <= K; k++)"),
    Change("k loop too short", "bytes", "k < K", "k < K - 1", faults=_VALUE),
    Change("k loop too long", "bytes", "k < K", "k <= K"),
    Change("r loop too short", "conv", "r < R", "r < R - 1", faults=_VALUE),
    Change("s loop too short", "conv", "s < S", "s < S - 1", faults=_VALUE),
    Change("c loop too short", "conv", "c < CI", "c < CI - 1", faults=_VALUE),
    Change("s loop too long", "depthwise", "s < S", "s <= S"),
    Change("s loop begins at 1", "depthwise", "int64_t s = 0", "int64_t s = 1", faults=_VALUE),
    # init
    Change("init missing", "gemm", "acc[m][n] = ZERO_INIT ? 0.0f : C[m * c_m + n * c_n];", ";"),
    Change("init missing", "depthwise", "float acc[8] = {0};", "float acc[8];"),
    Change("init on zero, not on C", "gemm", "ZERO_INIT ? 0.0f", "1 ? 0.0f", faults=_VALUE),
    Change("init on C, not on zero", "gemm", "ZERO_INIT ? 0.0f", "0 ? 0.0f", init="zero", faults=_VALUE),
    Change("init twice", "gemm", _STORE, _STORE.replace("= acc", "+= acc"), faults=_VALUE),
    Change("init twice", "conv", "Y[q * y_q + o] = acc[q][o];", "Y[q * y_q + o] += acc[q][o];", faults=_VALUE),
    Change("+= instead of =", "depthwise", "Y[q * y_q + c] = acc[c];", "Y[q * y_q + c] += acc[c];", faults=_VALUE),
    Change("= instead of +=", "gemv", "Y[m * y_m] += sum;", "Y[m * y_m] = sum;", faults=_VALUE),
    Change("= instead of +=", "bytes", "C[m * c_m] += sum;", "C[m * c_m] = sum;", faults=_VALUE),
    # operands and strides
    Change("operands swapped", "gemm", _ACC, "acc[m][n] += b[m * a_m] * a[n];"),
    Change("operands swapped", "bias-relu", "S[n * s_n] + B[n * b_n]", "B[n * b_n] + S[n * s_n]", faults=_VALUE),
    Change("output transposed", "gemm", _STORE, _STORE.replace("m * c_m + n * c_n", "m * c_n + n * c_m")),
    Change("stride of A wrong", "gemm", _ACC, "acc[m][n] += a[m] * b[n];"),
    Change("stride of A wrong", "gemv", "A + m * a_m", "A + m * K"),
    Change("stride of B wrong", "gemm", "A + k * a_k, a_m, B + k * b_k);\n    for", "A + k * a_k, a_m, B + k * NR);\n    for"),
    Change("stride of C wrong", "gemm", _STORE, _STORE.replace("m * c_m", "m * NR")),
    Change("stride of X wrong", "conv", "r * x_h", "r * x_w"),
    Change("stride of X ignored", "conv", "+ c * x_c]", "+ c]"),
    Change("stride of W wrong", "conv", "s * w_s", "s * CI * 8"),
    Change("stride of Y wrong", "depthwise", "Y[q * y_q", "Y[q * 8"),
    Change("stride of X wrong", "depthwise", "* x_w", "* 8"),
    Change("stride of the bias ignored", "bias-relu", "B[n * b_n]", "B[n]"),
    Change("stride of bytes ignored", "bytes", "B[k * b_k]", "B[k]"),
    Change("step of the window ignored", "conv", "q * SW + s", "q + s"),
    Change("stride cut to 8 bits", "gemm", _ACC, "acc[m][n] += a[m * (int8_t)a_m] * b[n];"),
    # memory
    _at_start("read before an operand", "volatile float x = A[-1]; (void)x;", faults=("read-outside",)),
    _at_start("read after an operand", "volatile float x = B[(K - 1) * b_k + NR]; (void)x;", faults=("read-outside",)),
    Change("read after an operand", "gemv", "for (; k + 4 <= K; k += 4)", "for (; k < K; k += 4)"),
    _at_store("write before an operand", "C[-1] = 0.0f;", faults=("write-outside",)),
    _at_store("write after an operand", "C[(MR - 1) * c_m + (NR - 1) * c_n + 1] = 1.0f;", faults=("write-outside",)),
    _at_store("write to a gap", "if (c_n > 1) C[m * c_m + n * c_n + 1] = 1.0f;", faults=("write-outside",)),
    _at_store("writes its input", "*(float *)(A + m * a_m) = 0.0f;", faults=("writes-input",)),
    _at_store("writes its input", "*(volatile float *)B = *(volatile float *)B;", faults=("writes-input",)),
    Change("uninitialised local", "gemv", "float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);", "float sum; if (k) sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);"),
    Change("uninitialised local", "gemm", "int m = 0; m < MR; m++)\n        for (int n = 0; n < NR; n++)\n            acc[m][n] = ZERO", "int m = 1; m < MR; m++)\n        for (int n = 0; n < NR; n++)\n            acc[m][n] = ZERO"),
    _at_start("stack smashed", "volatile int big = MR * NR + 1; float *edge = &acc[0][0]; edge[big] = 1.0f;", faults=("memory-error", "undefined-behaviour")),
    _at_start("freed twice", "void *volatile p = malloc(64); free(p); free(p);", head="#include <stdlib.h>\n"),
    _at_start("used after it was freed", "float *volatile p = malloc(64); p[3] = 1; free(p); acc[0][0] += p[3] * 0.0f;", head="#include <stdlib.h>\n"),
    Change("reads the gaps", "bias-relu", "+ B[n * b_n];", "+ B[n * b_n] + 0 * B[n * b_n - (n > 0)];"),
    # state
    _at_start("hidden counter", "static int calls; if (++calls % 7 == 0) acc[0][0] += 1.0f;", faults=("hidden-state", "wrong-value")),
    Change("hidden accumulator", "depthwise", "float acc[8] = {0};", "static float acc[8];", faults=(*_VALUE, "hidden-state")),
    _at_start("hidden copy of an operand", "static float first; static int is_known; if (!is_known) { first = A[0]; is_known = 1; } acc[0][0] += first - A[0];", faults=(*_VALUE, "hidden-state")),
    _at_start("memory is not given back", "float *volatile row = malloc(40); row[0] = 1;", head="#include <stdlib.h>\n", faults=("leak",)),
    Change("memory is not given back", "gemv", "float sum = (", "if (K > 8) { char *volatile more = malloc(1 << 20); more[0] = 1; }\n        float sum = (", faults=("leak",), head="#include <stdlib.h>\n"),
    _at_start("hidden pointer", "static const float *last; if (last && K > 3) acc[0][0] += 0.0f * *last; last = A;"),
    # sizes
    Change("remainder ignored", "gemm", _TAIL, "", faults=_VALUE),
    Change("remainder ignored", "gemv", "for (; k < K; k++)", "for (; k < 0; k++)", faults=_VALUE),
    Change("remainder read as a block", "gemm", "k + 4 <= K", "k + 3 <= K"),
    _at_start("one size is wrong", "if (K == 17) acc[0][0] += 1.0f;", faults=_VALUE),
    _at_start("large sizes are wrong", "if (K > 32) acc[MR - 1][NR - 1] = 0.0f;", faults=_VALUE),
    # alignment
    Change("alignment assumed", "gemv", "aligned(4), ", ""),
    Change("pointer rounded down", "gemv", "A + m * a_m", "(const float *)((uintptr_t)(A + m * a_m) & ~(uintptr_t)15)"),
    # numbers
    Change("wrong order of the epilogue", "bias-relu", "float value = A[m * a_m + n * a_n] * S[n * s_n] + B[n * b_n];\n            Y[m * y_m + n * y_n] = value < 0.0f ? 0.0f : value;", "float value = A[m * a_m + n * a_n] * S[n * s_n];\n            Y[m * y_m + n * y_n] = (value < 0.0f ? 0.0f : value) + B[n * b_n];", faults=_VALUE),
    Change("wrong for negative values", "gemm", _ACC, "acc[m][n] += a[m * a_m] * __builtin_fabsf(b[n]);", faults=_VALUE),
    Change("relu left out", "bias-relu", "value < 0.0f ? 0.0f : value", "value", faults=_VALUE),
    Change("NaN becomes 0", "bias-relu", "value < 0.0f ? 0.0f : value", "value > 0.0f ? value : 0.0f", faults=_VALUE),
    Change("zeros are skipped", "gemm", _ACC, "if (b[n] != 0.0f) acc[m][n] += a[m * a_m] * b[n];", faults=_VALUE),
    Change("precision of bfloat16", "gemm", _ACC, "{ union { float f; uint32_t u; } x = {a[m * a_m]}; x.u &= 0xffff0000u; acc[m][n] += x.f * b[n]; }", faults=_VALUE),
    Change("precision of float16", "gemv", "sum += row[k] * X[k];", "{ union { float f; uint32_t u; } x = {row[k]}; x.u &= 0xffffe000u; sum += x.f * X[k]; }", faults=_VALUE),
    Change("saturated sums", "bytes", "sum += (int32_t)A[m * a_m + k * a_k] * (int32_t)B[k * b_k];", "sum += (int32_t)A[m * a_m + k * a_k] * (int32_t)B[k * b_k], sum = sum > 32767 ? 32767 : sum;", faults=_VALUE),
    Change("sign of a byte", "bytes", "(int32_t)A[", "(int32_t)(uint8_t)A[", faults=_VALUE),
    Change("sum of 16 bits", "bytes", "int32_t sum", "int16_t sum", faults=_VALUE),
    # long rows, far rows, large numbers
    _at_start("K above 256 left out", "if (K > 256) K = 256;", faults=_VALUE),
    _at_start("stack buffer of fixed length", "volatile float row[200]; for (int64_t i = 0; i < K; i++) row[i] = 0; (void)row[0];"),
    Change("stride of a byte", "gemv", "A + m * a_m", "A + m * (int8_t)a_m"),
    Change("output cut to 16 bits", "bytes", "C[m * c_m] += sum", "C[m * c_m] = (int16_t)C[m * c_m] + sum", faults=_VALUE),
    # the mode of the processor
    _at_start("denormals flushed, mode left on", "__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);", needs=_X86, faults=("float-mode",)),
    Change("denormals flushed, mode restored", "conv", "    for (int64_t r = 0; r < R; r++)", "    unsigned mode = __builtin_ia32_stmxcsr(); __builtin_ia32_ldmxcsr(mode | 0x8040);\n    volatile float one = 1.0f;\n    for (int q = 0; q < QR; q++) for (int o = 0; o < 8; o++) acc[q][o] *= one;\n    __builtin_ia32_ldmxcsr(mode);\n    for (int64_t r = 0; r < R; r++)", needs=_X86, faults=_VALUE),
    _at_start("rounding mode changed", "fesetround(FE_UPWARD);", head="#include <fenv.h>\n", faults=("float-mode",)),
    _at_start("exceptions unmasked", "__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x1000u);", needs=_X86, faults=("float-mode",)),
    _at_start("x87 precision changed", "unsigned short word = 0x27f; __asm__ volatile(\"fldcw %0\" : : \"m\"(word));", needs=_X86, faults=("float-mode",)),
    _at_start("MMX without emms", "__asm__ volatile(\"movd %%eax, %%mm0\" : : : \"memory\");", needs=_X86, faults=("float-mode",)),
    _at_start("register not restored", "__asm__ volatile(\"xor %%r15d, %%r15d\" : : : \"memory\");", needs=_X86),
    _at_start("direction flag left", "__asm__ volatile(\"std\" : : : \"memory\");", needs=_X86),
    # it does not return
    _at_start("endless loop", "for (volatile int i = 0; i >= 0; i &= 1) {}", faults=("timeout",)),
    _at_start("null pointer", "*(volatile int *)8 = 1;", faults=("crash", "undefined-behaviour")),
    _at_start("illegal instruction", "__builtin_trap();", faults=("illegal-instruction", "undefined-behaviour")),
    _at_start("division by zero", "volatile int zero = 0; acc[0][0] += 1 / zero;", faults=("crash", "undefined-behaviour")),
    _at_start("exit", "if (K == 5) exit(0);", head="#include <stdlib.h>\n", faults=("exit",)),
    _at_start("_exit", "_exit(0);", head="#include <unistd.h>\n", faults=("exit",)),
    _at_start("abort", "abort();", head="#include <stdlib.h>\n", faults=("abort",)),
    _at_start("killed", "raise(SIGKILL);", head="#include <signal.h>\n", faults=("crash",)),
    _at_start("stack overflow", "gemm_deep(1);", head="static int gemm_deep(int n) { volatile char space[4096]; space[n & 4095] = 1; return n == 0 ? 0 : gemm_deep(n + 1) + space[n & 4095]; }\n", faults=("stack-overflow", "undefined-behaviour")),
    _at_start("undefined behaviour", "volatile int big = 2147483647; volatile int more = big + (int)K; (void)more;", faults=("undefined-behaviour",)),
)  # fmt: skip

SHARED: tuple[Change, ...] = (
    Change("static buffer", "gemm", "float acc[MR][NR];", "static float acc[MR][NR];", faults=("shared-state",)),
    Change("static buffer", "conv", "float acc[QR][8];", "static float acc[QR][8];", faults=("shared-state",)),
    Change("static buffer", "bytes", "int32_t sum = 0;", "static volatile int32_t sum; sum = 0;", faults=("shared-state",)),
    Change("static buffer", "depthwise", "float acc[8] = {0};", "static volatile float acc[8]; for (int c = 0; c < 8; c++) acc[c] = 0;", faults=("shared-state",)),
    _at_start("static copy of an operand", "static float row[1 << 16]; for (int64_t i = 0; i < K; i++) row[i] = A[i * a_k]; for (int64_t i = 0; i < K; i++) if (row[i] != A[i * a_k] && A[i * a_k] == A[i * a_k]) acc[0][0] += 1.0f;", faults=("shared-state",)),
)  # fmt: skip
"""Faults that only several threads see, so that only a check that is not quick finds them."""

LONG: tuple[Change, ...] = (
    Change("size cut to 16 bits", "gemm", "for (; k < K; k++)", "for (; k < (int16_t)K; k++)", faults=_VALUE),
    Change("size cut to 16 bits", "gemv", "for (; k < K; k++)", "for (; k < (uint16_t)(2 * K) / 2; k++)", faults=_VALUE),
    Change("sum through a float", "bytes", "C[m * c_m] += sum;", "C[m * c_m] += (int32_t)(float)sum;", faults=_VALUE),
)  # fmt: skip
"""Faults of long calls, which are left out of a quick check."""


HARMLESS: tuple[Change, ...] = (
    _at_start("prints", "puts(\"hello\");", head="#include <stdio.h>\n"),
    _at_start("prints to the standard error", "fputs(\"hello\\n\", stderr);", head="#include <stdio.h>\n"),
    _at_start("allocates", "float *copy = malloc(64); memset(copy, 0, 64); acc[0][0] += copy[3]; free(copy);", head="#include <stdlib.h>\n"),
    Change("adds backwards", "bytes", "for (int64_t k = 0; k < K; k++)", "for (int64_t k = K - 1; k >= 0; k--)"),
    Change("fused", "gemm", _ACC, "acc[m][n] = __builtin_fmaf(a[m * a_m], b[n], acc[m][n]);"),
    Change("in double", "gemm", _ACC, "acc[m][n] = (float)(acc[m][n] + (double)a[m * a_m] * b[n]);"),
    Change("reads gaps without use", "bias-relu", "float value = A", "if (n) { volatile float gap = B[n * b_n - (b_n > 0)]; (void)gap; }\n            float value = A"),
    Change("another relu", "bias-relu", "value < 0.0f ? 0.0f : value", "!(value < 0.0f) ? value : 0.0f"),
    Change("sum of two parts", "gemv", "(sums[0] + sums[1]) + (sums[2] + sums[3])", "((sums[3] + sums[1]) + sums[0]) + sums[2]"),
    _at_start("denormals flushed for nothing, mode restored", "unsigned mode = __builtin_ia32_stmxcsr(); __builtin_ia32_ldmxcsr(mode | 0x8040); __builtin_ia32_ldmxcsr(mode);", needs=_X86),
    _at_start("a constant table", "static const float table[2] = {0.0f, 0.0f}; acc[0][0] += table[K & 1];"),
    _at_start("a buffer that is kept and grows", "static float *row; static int64_t length; if (length < K) { row = realloc(row, 4 * (size_t)K); length = K; } row[K - 1] = 0;", head="#include <stdlib.h>\n"),
    _at_start("a cache of what is the same", "static int is_ready; if (!is_ready) is_ready = 1;"),
)  # fmt: skip
"""Changes that keep the meaning: a check that refuses one gives a false alarm."""

TRIES = 10
"""In which two threads have to meet once."""

CAUGHT_AT_LEAST = 0.95
"""Of the faults, by the issue; false alarms: none."""

POSSIBLE = [change for change in FAULTS if change.is_possible]
FIRST = list({change.name: change for change in reversed(POSSIBLE)}.values())[::-1]
"""One fault of each class."""
SOME = FIRST[:: effort(32, 8)]
"""What each commit is tested with; `make slow` tries all."""


def _verdicts(changes: Sequence[Change], *, quick: bool) -> list[Verdict]:
    def check(change: Change) -> Verdict:
        return verify(change.instance(native()), quick=quick)

    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(check, changes))


def _table(changes: Sequence[Change], verdicts: Sequence[Verdict]) -> str:
    lines = [
        f"{change.name:42} {change.kernel:10} {verdict.fault or 'NOT FOUND'}"
        for change, verdict in zip(changes, verdicts, strict=True)
    ]
    return "\n".join(lines)


def _assert_caught(changes: Sequence[Change], *, quick: bool) -> None:
    verdicts = _verdicts(changes, quick=quick)
    caught = sum(not verdict.ok for verdict in verdicts)
    print(_table(changes, verdicts))
    print(f"{caught} of {len(changes)} faults caught, of {len({c.name for c in changes})} classes")
    assert [v.line() for v in verdicts if v.fault in ("does-not-compile", "bad-declaration")] == []
    assert caught >= CAUGHT_AT_LEAST * len(changes)
    wrong = [
        f"{change.name}: {verdict.line()}"
        for change, verdict in zip(changes, verdicts, strict=True)
        if change.faults and not verdict.ok and verdict.fault not in change.faults
    ]
    assert wrong == [], "caught, but called something else"


def _assert_no_alarm(verdicts: Sequence[Verdict]) -> None:
    print(f"{sum(not v.ok for v in verdicts)} false alarms in {len(verdicts)} good kernels")
    assert [verdict.line() for verdict in verdicts if not verdict.ok] == []


def test_there_are_enough_classes_of_faults() -> None:
    assert len({change.name for change in FAULTS}) >= 24


def test_faults_are_caught() -> None:
    _assert_caught(SOME, quick=True)


def test_shared_buffers_are_found() -> None:
    """Two threads that call the kernel at once get each other's numbers; each by itself is right.

    Whether they meet is up to the system: where it gives them iterations, another try has to see it. What they
    could meet in is seen each time.
    """
    volatile = SHARED[2]  # which no compiler keeps in registers
    seen: list[str] = []
    for _ in range(TRIES):
        verdict = verify(volatile.instance(native()))
        assert verdict.fault == "shared-state", verdict.line()
        seen.append(verdict.message)
        if verdict.message.startswith("called from two threads at once: C["):
            break
        assert verdict.message.startswith("it keeps 'sum' (4 bytes) between calls, "), seen
    else:
        raise AssertionError(f"not seen in {TRIES} tries")
    name, (family, params) = "gemm", KERNELS["gemm"]
    good = verify(instantiate(family, name, params, target=native()))
    assert good.ok, good.line()


@pytest.mark.slow
def test_calls_are_long_enough_for_a_counter_of_16_bits() -> None:
    chosen = LONG[1:]
    verdicts = [verify(change.instance(native())) for change in chosen]
    print(_table(chosen, verdicts))
    assert [verdict.fault in _VALUE for verdict in verdicts] == [True] * len(chosen)


def test_good_kernels_pass() -> None:
    made = [
        instantiate(family, name, params, target=native(), init=init)
        for name, (family, params) in KERNELS.items()
        for init in family.inits
    ][:: effort(3, 1)]
    _assert_no_alarm([verify(instance, quick=True) for instance in made])


@pytest.mark.slow
def test_harmless_changes_pass() -> None:
    _assert_no_alarm(_verdicts([c for c in HARMLESS if c.is_possible][::2], quick=True))


@pytest.mark.slow
@pytest.mark.parametrize("quick", [True, False])
def test_all_faults_are_caught(quick: bool) -> None:
    _assert_caught(POSSIBLE if quick else [*POSSIBLE, *SHARED, *LONG], quick=quick)


@pytest.mark.slow
@pytest.mark.sampled(
    1, reason="all members of all kernels take a minute; --cases all runs generic too"
)
@pytest.mark.parametrize("target", [native(), parse("generic")], ids=str)
def test_all_members_of_good_kernels_pass(target: Target) -> None:
    found: list[Verdict] = []
    for name, (family, _) in KERNELS.items():
        found += verify_family(family, name, target, every=True)
    _assert_no_alarm(found)


@pytest.mark.slow
def test_harmless_changes_pass_at_length() -> None:
    _assert_no_alarm(_verdicts([c for c in HARMLESS if c.is_possible], quick=False))
