"""The C function around a microkernel's body: inlined, with pointers that do not alias, and vector types."""

from __future__ import annotations

import re
from collections.abc import Sequence

from inarch.backends.c.write.scope import VectorType
from inarch.backends.c.write.value.fused import fused_name, fused_text
from inarch.backends.c.write.value.math import helpers_in, with_own_helpers
from inarch.backends.c.write.value.vectors import widened_name
from inarch.core.dtypes import DTYPES, DType
from inarch.microkernel import Instance, Microkernel, prototype

_HELD = {
    # lanes: what must be defined for such a vector to have a register, and what that is for the compiler
    16: (("__AVX512F__", "v"),),
    8: (("__AVX512F__", "v"), ("__AVX__", "x")),
    4: (("__AVX512F__", "v"), ("__SSE__", "x"), ("__aarch64__", "w")),
}


def keep(name: str, lanes: int) -> str:
    """The statement after the load of a vector: it is in a register, and no copy of memory from here on.

    No instruction. Gcc 12 else gives a vector that it has loaded for several products to each of them as a
    memory operand, and loads bind (1 x 7 pixels of 3x3: 73 % of the FMA peak instead of 100 %).
    """
    return f"INARCH_KEEP_V{lanes}F32({name});"


def use(name: str, lanes: int) -> str:
    """The statement after the last use of a vector: it is still needed here.

    No instruction. Gcc 12 else lets the last product overwrite it (`vfmadd213ps`) and moves accumulators
    through memory to make up for it.
    """
    return f"INARCH_USE_V{lanes}F32({name});"


def _registers(lanes: int) -> str:
    """C that defines `keep` and `use`; nothing is kept where no register is so wide."""
    text, word = "", "if"
    for defined, kind in _HELD[lanes]:
        kept, used = (f'__asm__("" : "+{kind}"(x))', f'__asm__("" : : "{kind}"(x))')
        text += f"#{word} defined({defined})\n{_definitions(lanes, kept, used)}"
        word = "elif"
    return f"{text}#else\n{_definitions(lanes, '(void)(x)', '(void)(x)')}#endif\n"


def _definitions(lanes: int, kept: str, used: str) -> str:
    names = ((keep("x", lanes), kept), (use("x", lanes), used))
    return "".join(f"#define {name.removesuffix(';')} {meaning}\n" for name, meaning in names)


def _types(lanes: int) -> dict[str, str]:
    size = f"vector_size({lanes * 4})"
    return {
        "vec": f"typedef float vec __attribute__(({size}, may_alias));",
        "mem": f"typedef float mem __attribute__(({size}, aligned(4), may_alias));",
        "ints": f"typedef int32_t ints __attribute__(({size}, may_alias));",
        "uints": f"typedef uint32_t uints __attribute__(({size}, may_alias));",
        "intsmem": f"typedef int32_t intsmem __attribute__(({size}, aligned(1), may_alias));",
        "shorts": f"typedef int16_t shorts __attribute__(({size}, may_alias));",
        "ushorts": f"typedef uint16_t ushorts __attribute__(({size}, may_alias));",
        "word": "typedef int32_t word __attribute__((aligned(1), may_alias));",
        **{
            name: text
            for dtype in DTYPES
            for name, text in VectorType(dtype, lanes).typedefs.items()
        },
    }


def ahead_of(kernel: Microkernel) -> tuple[tuple[str, str], ...]:
    """Parameters of the function whose name ends in `_ahead` (`Microkernel.ahead`)."""
    assert kernel.ahead is not None, "asked of kernels with such a function"
    read = DTYPES[kernel.dtypes[kernel.ahead]].c
    return ((f"const {read} *__restrict ", "later"), ("int64_t ", "iterations"))


def wide_text(pointer: str, stored: DType, lanes: int) -> str:
    """C that is the vector of f32 that begins at a pointer, of numbers that may be stored narrow."""
    if not stored.is_stored:
        return f"*(const mem *)({pointer})"
    kind = VectorType(stored.name, lanes)
    return f"{widened_name(lanes, stored)}(*(const {kind.memory} *)({pointer}))"


def multiply_add(register: str, a: str, b: str, lanes: int) -> str:
    """The statement that adds the product of two vectors to one, with one rounding."""
    return f"{register} = {fused_name(lanes, DTYPES['f32'])}({a}, {b}, {register});"


def function_text(instance: Instance, lanes: int, body: Sequence[str]) -> str:
    """C of the instance with `body`, lines of one level of indentation.

    The body of a kernel with `ahead` knows `later` and `iterations`, which is 0 where nothing is to be
    prefetched.

    They may use `multiply_add`, `keep`, `use`, and the types `vec`, `mem` (the same at any float's address)
    and `ints`, each of `lanes` elements.

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
        # A program may call the other one alone, of which clang warns.
        optional = attributes.replace("always_inline", "always_inline, unused")
        plain = f"{optional}{head}\n{{\n    {instance.symbol}_ahead({call});\n}}\n"
        more = ", ".join(kind + name for kind, name in ahead_of(instance.kernel))
        head = f"{head.replace(instance.symbol, f'{instance.symbol}_ahead', 1)[:-1]}, {more})"
    lines = [
        f"{attributes}{head}",
        "{",
        *(f"    {line}" for name, line in _types(lanes).items() if name in named),
        *(f"    (void){name};" for name in parameters if name not in named),
        *body,
        "}",
    ]
    text = "\n".join([*lines, ""])
    helpers = helpers_in(text) - {fused_name(lanes, DTYPES["f32"])}
    text = with_own_helpers(helpers, text, instance.symbol)
    return _registers(lanes) + fused_text(lanes, DTYPES["f32"]) + text + plain
