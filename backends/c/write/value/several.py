"""Our own functions of f32 on several vectors at once (`TOGETHER`), which a CPU overlaps.

A CPU that looks some hundred instructions ahead sees few of these functions, each of which waits for itself:
the statements of all vectors stand side by side (exp on Zen 3: 8.5 cycles a vector become 7.2). And one test
of all vectors saves operations in each: exp takes 14 instead of 19 where no argument is above 71 (softmax,
sums of exponentials), with the same bits.
"""

from __future__ import annotations

import re
from functools import cache

from inarch.backends.c.write.value.elementary import (
    FUNCTIONS,
    OURS,
    TOGETHER,
    exp_rest,
    spelled,
    vector_name,
    vector_texts,
    vector_types,
)

_FAST = {
    "exp": """
/* e^x of x <= 71: one factor 2^n suffices, as the polynomial is of 2^-25 e^r. Exponent n + 152 is 0 from
   -105.3 down, where the result is 0; that of -151 to 102 is one of normal numbers. NaN stays. */
    const F bounded = inarch_atleast_S(-105.3f, x);
    const F shifted = inarch_fma_S(bounded, ALL(1.44269504f), ALL(12583064.0f)); /* n + 152 in the low bits */
"""
    + exp_rest("12583064.0f", "bounded", scale="2.98023224e-8f")
    + """    return p * inarch_floats_S((I)((U)inarch_ints_S(shifted) << 23));
"""
}
"""Function -> its statements where no lane is above the number in `_ABOVE`."""

_ABOVE = {"exp": "0x428e0000"}
"""71.0f. As integers positive floats are in order, NaN is above or negative, and hides no other lane."""

_X86 = {
    8: ("__AVX2__", "__builtin_ia32_pmaxsd256", "__builtin_ia32_movmskps256"),
    4: ("__SSE4_1__", "__builtin_ia32_pmaxsd128", "__builtin_ia32_movmskps"),
}
"""Lanes -> what must be defined, the larger of integers, which gcc does not find, the signs of all lanes."""


def several_name(function: str, lanes: int) -> str:
    """The same of `TOGETHER` vectors at once: `inarch_exp_v8f32_x4(x0, &out0, ...)` sets out0 to x0's."""
    return f"{vector_name(function, lanes)}_x{TOGETHER}"


@cache
def several_texts(lanes: int) -> dict[str, str]:
    """Name -> C of the functions of several vectors, and of what they call, callees first."""
    functions = {several_name(function, lanes): _helper(function, lanes) for function in OURS}
    return {f"inarch_types_v{lanes}f32": vector_types(lanes), **vector_texts(lanes), **functions}


def _helper(function: str, lanes: int) -> str:
    """The C of `several_name`: the statements of `vector_name`, each for all vectors before the next one."""
    name = several_name(function, lanes)
    text = FUNCTIONS[f"inarch_{function}_S"].partition("{\n")[2].rpartition("}")[0]
    inline = "static inline __attribute__((always_inline))"
    plain = _function(inline, name, lanes, _together(text, lanes))
    if function not in _FAST or lanes not in _X86:
        return plain
    defined, larger, signs = _X86[lanes]
    rest = f"{name}_rest"
    arguments = ", ".join(f"x{at}, out{at}" for at in range(TOGETHER))
    integers = f"inarch_v{lanes}i32"
    test = [f"    {integers} most = ({integers})x0, is_more;"]
    for at in range(1, TOGETHER):
        test += [
            "#if defined(__clang__)",
            f"    is_more = most > ({integers})x{at};",
            f"    most = (is_more & most) | (~is_more & ({integers})x{at});",
            "#else",
            f"    most = ({integers}){larger}(most, ({integers})x{at});",
            "#endif",
        ]
    test += [
        f"    is_more = most > {_ABOVE[function]};",
        f"    if (__builtin_expect({signs}((inarch_v{lanes}f32)is_more), 0)) {{",
        f"        {rest}({arguments});",
        "        return;",
        "    }",
    ]
    slow = "static __attribute__((noinline, cold))"
    fast = "\n".join([*test, _together(_FAST[function], lanes)])
    return (
        f"#if defined({defined})\n"
        f"{_function(slow, rest, lanes, _together(text, lanes))}{_function(inline, name, lanes, fast)}"
        f"#else\n{plain}#endif\n"
    )


def _function(kind: str, name: str, lanes: int, body: str) -> str:
    vector = f"inarch_v{lanes}f32"
    parameters = ", ".join(f"{vector} x{at}, {vector} *out{at}" for at in range(TOGETHER))
    return f"{kind} void {name}({parameters})\n{{\n{body}}}\n"


def _together(text: str, lanes: int) -> str:
    """Statements on x, of which the last returns, as those on x0, x1, ... that set *out0, *out1, ..."""
    text = re.sub(r"/\*.*?\*/", "", spelled(text, lanes), flags=re.DOTALL)
    local = "|".join({"x", *re.findall(rf"inarch_v{lanes}\w+ (\w+) =", text)})
    lines = [
        re.sub(r"^return ", f"*out{at} = ", re.sub(rf"\b({local})\b", rf"\g<1>{at}", each))
        for each in map(str.strip, text.split(";"))
        if each
        for at in range(TOGETHER)
    ]
    return "".join(f"    {line};\n" for line in lines)
