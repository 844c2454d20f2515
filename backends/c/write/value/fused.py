"""A product and a sum with one rounding, `a * b + c`, where one is meant: sums of products, polynomials.

C is compiled with `-ffp-contract=off`: what two operators of a model compute is rounded twice, in every
fusion and on every CPU. Compilers contract nothing by themselves, so each place that wants it says so. A CPU
without such an instruction (x86-64-v2) rounds twice. gcc gets the instruction's builtin, as it has no
operator for it on vectors; clang is told to contract this one expression.
"""

from __future__ import annotations

from inarch.core.dtypes import DType

_X86 = {
    # bytes: (what must be defined, the call for f32 and f64)
    64: ("__AVX512F__", "__builtin_ia32_vfmadd{}512_mask(a, b, c, -1, 4)"),
    32: ("__FMA__", "__builtin_ia32_vfmadd{}256(a, b, c)"),
    16: ("__FMA__", "__builtin_ia32_vfmadd{}(a, b, c)"),
}


def fused_name(lanes: int, dtype: DType) -> str:
    """What it is called on so many lanes: `INARCH_FMA_V8F32(a, b, c)`."""
    return f"INARCH_FMA_V{lanes}{dtype.name.upper()}"


def fused_text(lanes: int, dtype: DType) -> str:
    """C that defines `fused_name` on vectors. Text that stands twice in a unit does no harm."""
    name = fused_name(lanes, dtype)
    function = (
        f"inarch_multiply_add_v{lanes}{dtype.name}"  # `elementary.py` has an inarch_fma_v8f32
    )
    kind = f"{function}_t"
    return (
        f"#ifndef {name}\n"
        f"#define {name} {function}\n"
        f"typedef {dtype.c} {kind} __attribute__((vector_size({lanes * dtype.nbytes})));\n"
        "static inline __attribute__((always_inline)) "
        f"{kind} {function}({kind} a, {kind} b, {kind} c)\n{{\n{fused_body(lanes, dtype, kind)}}}\n"
        "#endif\n"
    )


def scalar_text(dtype: DType) -> str:
    """The C of `inarch_fma_f32(a, b, c)`, of one number."""
    kind = dtype.c
    return (
        f"\nstatic inline {kind} inarch_fma_{dtype.name}({kind} a, {kind} b, {kind} c)\n"
        f"{{\n{fused_body(0, dtype, kind)}}}\n"
    )


def fused_body(lanes: int, dtype: DType, kind: str) -> str:
    """The body of a function that returns it of parameters a, b, c of type `kind`; 0 lanes: of one number."""
    one = f"__builtin_fma{'f' if dtype.bits == 32 else ''}"
    fast = f"__FP_FAST_FMA{'F' if dtype.bits == 32 else ''}"
    nbytes = lanes * dtype.nbytes
    ways: list[tuple[str, str]] = []
    if nbytes in _X86:
        defined, call = _X86[nbytes]
        ways.append((defined, call.format("ps" if dtype.bits == 32 else "pd")))
    if nbytes == 16:
        mode = f"v{lanes}{'sf' if dtype.bits == 32 else 'df'}"
        ways.append(("__aarch64__", f"__builtin_aarch64_fma{mode}(a, b, c)"))
    if lanes and nbytes not in (16, 32):  # of one number after the other where none is so wide
        each = ", ".join(f"{one}(a[{at}], b[{at}], c[{at}])" for at in range(lanes))
        ways.append((fast, f"({kind}){{{each}}}"))
    if not lanes:
        ways.append((fast, f"{one}(a, b, c)"))
    tests = "".join(f"#elif defined({test})\n    return {call};\n" for test, call in ways)
    return f"#if defined(__clang__)\n#pragma clang fp contract(fast)\n{tests}#endif\n    return a * b + c;\n"
