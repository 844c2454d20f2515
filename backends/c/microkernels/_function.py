"""The C function around a microkernel's body: inlined, with pointers that do not alias, and vector types."""

from __future__ import annotations

import re
from collections.abc import Sequence

from inarch.backends.c.microkernels._epilogue import finish_helpers
from inarch.backends.c.write.value.fused import fused_name, fused_text
from inarch.core.dtypes import DTYPES
from inarch.microkernel import Instance, prototype

_REGISTERS = """\
#if defined(__AVX512F__)
#define INARCH_KEEP(x) __asm__("" : "+v"(x))
#define INARCH_USE(x) __asm__("" : : "v"(x))
#elif defined(__x86_64__)
#define INARCH_KEEP(x) __asm__("" : "+x"(x))
#define INARCH_USE(x) __asm__("" : : "x"(x))
#elif defined(__aarch64__)
#define INARCH_KEEP(x) __asm__("" : "+w"(x))
#define INARCH_USE(x) __asm__("" : : "w"(x))
#else
#define INARCH_KEEP(x) (void)(x)
#define INARCH_USE(x) (void)(x)
#endif
"""
"""No instructions. KEEP: x is in a register and no copy of memory from here on. Gcc 12 else gives a vector
that it has loaded for several products to each of them as a memory operand, and loads bind (1 x 7 pixels of
3x3: 73 % of the FMA peak instead of 100 %). USE: x is still needed here. Gcc 12 else lets the last product of
x overwrite it (`vfmadd213ps`) and moves accumulators through memory to make up for it."""


def _types(lanes: int) -> dict[str, str]:
    size = f"vector_size({lanes * 4})"
    return {
        "vec": f"typedef float vec __attribute__(({size}, may_alias));",
        "mem": f"typedef float mem __attribute__(({size}, aligned(4), may_alias));",
        "ints": f"typedef int32_t ints __attribute__(({size}, may_alias));",
    }


AHEAD = (("const float *__restrict ", "later"), ("int64_t ", "turns"))
"""Parameters of the function with `_ahead` behind its name (`Microkernel.ahead`)."""


def multiply_add(register: str, a: str, b: str, lanes: int) -> str:
    """The statement that adds the product of two vectors to one, with one rounding."""
    return f"{register} = {fused_name(lanes, DTYPES['f32'])}({a}, {b}, {register});"


def function_text(instance: Instance, lanes: int, body: Sequence[str]) -> str:
    """C of the instance with `body`, lines of one level of indentation.

    The body of a kernel with `ahead` knows `later` and `turns`, which is 0 where nothing is to be prefetched.

    They may use `multiply_add`, the types `vec`, `mem` (the same at any float's address) and `ints`, each of
    `lanes` elements, and of a vector `INARCH_KEEP(x)` after its load, `INARCH_USE(x)` after its last use.

    Always inlined: addresses are sums of strides, which become displacements where they are constants.
    What a kernel writes overlaps no other operand (C7 of `kernel.call`), so pointers are `__restrict`:
    weights that do not change between calls stay in registers.
    """
    head = prototype(instance).replace(" *", " *__restrict ")
    named = set(re.findall(r"\w+", "\n".join(body)))
    parameters = re.findall(r"(\w+)(?=[,)])", head)
    attributes, plain = "static inline __attribute__((always_inline)) ", ""
    if instance.kernel.ahead is not None:
        call = ", ".join([*parameters, "0", "0"])
        plain = f"{attributes}{head}\n{{\n    {instance.symbol}_ahead({call});\n}}\n"
        more = ", ".join(kind + name for kind, name in AHEAD)
        head = f"{head.replace(instance.symbol, f'{instance.symbol}_ahead', 1)[:-1]}, {more})"
    lines = [
        f"{attributes}{head}",
        "{",
        *(f"    {line}" for name, line in _types(lanes).items() if name in named),
        *(f"    (void){name};" for name in parameters if name not in named),
        *body,
        "}",
    ]
    helpers = _REGISTERS + fused_text(lanes, DTYPES["f32"]) + finish_helpers(instance, lanes)
    return helpers + "\n".join(lines) + "\n" + plain
