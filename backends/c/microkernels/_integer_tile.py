"""The C of a contraction of bytes whose output tile of i32 lives in vector registers.

    C[rows, v, l] += i32(A[rows, steps, j]) * i32(B[steps, v, l, j])    j in 4, A unsigned, B signed

A step takes four neighbours of A and of B at once: 32 bits of A in all lanes, and a vector of B that has four
bytes for each lane. With VNNI that is one `vpdpbusd`: four products, exact, are added to a lane; the sum
wraps, as i32 does. Without it the bytes are widened to 16 bits in two halves, even and odd ones, and
`vpmaddwd` adds two products, which cannot overflow: 2 * 255 * 128 < 2**31. (`vpmaddubsw` adds two products
in 16 bits, and saturates there.) All of it is exact: every kernel here has the same sums, bit for bit.
"""

from __future__ import annotations

from itertools import product
from math import prod

from inarch.backends.c.microkernels._epilogue import Accumulator, address, stride
from inarch.backends.c.microkernels._function import function_text
from inarch.meaning import Apply, Element, Expression, Number, Term
from inarch.microkernel import Instance

COMPUTES = (
    "for p in P, q in Q, v in NV, l in VL, c in CB, r in R, s in S, i in CI, j in 4: "
    "C[p, q, v, l] += i32(A[p, q, c, r, s, i, j]) * i32(B[c, r, s, i, v, l, j])"
)
"""A convolution of channels in blocks; a product of matrices is one with `P = CB = R = S = 1`."""

DTYPES = {"A": "ui8", "B": "i8", "C": "i32"}
LAYOUT = {
    "A": ("*", "*", "*", "*", "*", "*", 1),
    "B": ("*", "*", "*", "NV * VL * 4", "VL * 4", 4, 1),
    "C": ("*", "*", "*", 1),
}
"""B is packed; of A the four of a step are neighbours, wherever they are."""

EPILOGUE = ("add",)
"""A bias, in the units of the sums."""

_A = ("p", "q", "c", "r", "s", "i", "j")
_C = ("p", "q", "v", "l")
_STEPS = {"c": "CB", "r": "R", "s": "S", "i": "CI"}
"""The reductions, outermost first, but that of the four of a step."""
_NOMINAL = 16
"""A size that is not known."""


def integer_tile(instance: Instance, *, has_dot: bool) -> str:
    """The C of an instance; `has_dot`: by `vpdpbusd`."""
    params = instance.params
    tile = [
        Accumulator(f"c{number}", dict(zip("pqv", point, strict=True)))
        for number, point in enumerate(
            product(range(params["P"]), range(params["Q"]), range(params["NV"]))
        )
    ]
    places = [address(_element("C", _C), each.values) for each in tile]
    first = "{0}" if instance.init == "zero" else "(uints)*(const intsmem *)({})"
    begin = [
        f"    uints {each.register} = {first.replace('({})', f'({place})')};"
        for each, place in zip(tile, places, strict=True)
    ]
    end: list[str] = []
    for each, place in zip(tile, places, strict=True):
        finished = _finished(instance, instance.finish, each, end)
        end.append(f"    *(intsmem *)({place}) = (ints)({finished});")
    step = _dots(instance, tile) if has_dot else _pairs(instance, tile)
    return function_text(instance, params["VL"], [*begin, *_loops(step), *end])


def _finished(
    instance: Instance, finish: Expression | None, each: Accumulator, lines: list[str]
) -> str:
    """What is stored of an accumulator: it, and what the epilogue adds; unsigned, so that it wraps."""
    match finish:
        case Apply(arguments=(a, b)):
            return " + ".join(_finished(instance, part, each, lines) for part in (a, b))
        case Number(value=value):
            return f"(uint32_t){int(value)}"
        case Element(operand=operand) if operand != "C":
            place = address(finish, each.values)
            along = [
                stride(operand, dimension)
                for dimension, index in enumerate(finish.indices)
                if any(term.iterator == "l" for term in index)
            ]
            if not along:
                return f"(uint32_t)*({place})"
            name, lanes = f"{operand}_{each.register}", instance.params["VL"]
            # Strides are constants where the function is inlined: one branch is left.
            lines += [
                f"    ints {name} = {{0}};",
                f"    if ({along[0]} == 1) {{",
                f"        {name} = *(const intsmem *)({place});",
                "    } else {",
                f"        for (int64_t lane = 0; lane < {lanes}; lane++) {{",
                f"            {name}[lane] = ({place})[lane * {along[0]}];",
                "        }",
                "    }",
            ]
            return f"(uints){name}"
        case _:
            return each.register


def _loops(step: list[str]) -> list[str]:
    """The loops over the reductions around the statements of a step, which know `x` and `y`."""
    lines: list[str] = []
    a, b = "A", "B"
    for depth, (name, size) in enumerate(_STEPS.items()):
        pad = "    " * (depth + 1)
        by_a, by_b = stride("A", _A.index(name)), stride("B", depth)
        lines += [
            f"{pad}for (int64_t {name} = 0; {name} < {size}; {name}++) {{",
            f"{pad}    const uint8_t *a_{name} = {a} + {name} * {by_a};",
            f"{pad}    const int8_t *b_{name} = {b} + {name} * {by_b};",
        ]
        a, b = f"a_{name}", f"b_{name}"
    pad = "    " * (len(_STEPS) + 1)
    lines += [f"{pad}const uint8_t *x = {a};", f"{pad}const int8_t *y = {b};"]
    # As in `_register_tile.py`: neighbours of a step are read again in another one, and not kept.
    lines += [f'{pad}__asm__("" : "+r"(x), "+r"(y));', *(pad + line for line in step)]
    lines += ["    " * depth + "}" for depth in range(len(_STEPS), 0, -1)]
    return lines


def _dots(instance: Instance, tile: list[Accumulator]) -> list[str]:
    """A step by VNNI: a byte of B may stand in memory, but all vectors of B serve several rows."""
    vectors, prefix = instance.params["NV"], ""
    if "avx512vnni" not in instance.target.features:
        prefix = "%{vex%} "
    kind = "v" if not prefix else "x"
    lines = _vectors(instance)
    for row in range(0, len(tile), vectors):
        lines.append(f"{{ const ints e = {_word(tile[row])} - (ints){{0}};")
        lines += [
            f'  __asm__("{prefix}vpdpbusd %2, %1, %0" : "+{kind}"({each.register})'
            f' : "{kind}"(e), "{kind}"(b{v}));'
            for v, each in enumerate(tile[row : row + vectors])
        ]
        lines.append("}")
    return lines


def _pairs(instance: Instance, tile: list[Accumulator]) -> list[str]:
    """A step by `vpmaddwd`: of each four bytes the even ones, then the odd ones, as pairs of 16 bits."""
    vectors, lines = instance.params["NV"], _vectors(instance)
    for v in range(vectors):
        lines += [
            f"const shorts o{v} = (shorts)b{v} >> 8;",
            f"const shorts n{v} = (shorts)((ushorts)b{v} << 8) >> 8;",
        ]
    for row in range(0, len(tile), vectors):
        # Opaque, or gcc 12 masks the number and broadcasts it twice: two more instructions a row.
        lines += [
            f"{{ uints e = (uints)({_word(tile[row])} - (ints){{0}});",
            '  __asm__("" : "+x"(e));',
        ]
        for half, part in (("e & 0x00ff00ffu", "n"), ("(uints)((ushorts)e >> 8)", "o")):
            lines.append(f"  {{ const uints half = {half}; uints t;")
            for v, each in enumerate(tile[row : row + vectors]):
                lines += [
                    f'    __asm__("vpmaddwd %2, %1, %0" : "=x"(t) : "x"(half), "x"({part}{v}));',
                    f"    {each.register} += t;",
                ]
            lines.append("  }")
        lines.append("}")
    return lines


def _vectors(instance: Instance) -> list[str]:
    """The step's vectors of B."""
    return [
        f"const ints b{v} = *(const intsmem *)(y + {v} * {stride('B', 4)});"
        for v in range(instance.params["NV"])
    ]


def _word(each: Accumulator) -> str:
    """The four bytes of A of a row."""
    values = {name: at for name, at in each.values.items() if name != "v"}
    _, plus, rest = address(_element("A", _A), values).partition(" + ")
    return f"*(const word *)(x{plus}{rest})"


def _element(operand: str, iterators: tuple[str, ...]) -> Element:
    return Element(operand, tuple((Term((), name),) for name in iterators))


def cycles(instance: Instance, *, has_dot: bool) -> float:
    """The cost of a call: its steps at the pace of what binds them, then the tile's way to memory.

    A `vpdpbusd` begins as often as a multiply-add, as `vpmaddwd` does, of which there are two for each
    vector and step; these need as many additions, and bytes are taken apart: two instructions for a row,
    three for a vector of B, on twice as many ports.
    """
    machine, params = instance.machine, instance.params
    sizes = {**instance.sizes, **params}
    steps = prod(sizes.get(name, _NOMINAL) for name in _STEPS.values())
    rows, vectors, nbytes = params["P"] * params["Q"], params["NV"], params["VL"] * 4
    accumulators, pace = rows * vectors, machine.fma.cycles(nbytes)
    load = rows * machine.loads.cycles(4) + vectors * machine.loads.cycles(nbytes)
    stream = vectors * nbytes / machine.l2.bandwidth
    if has_dot:
        busy, latency = accumulators * pace, machine.fma_latency
    else:
        busy = max(2 * accumulators * pace, (4 * accumulators + 2 * rows + 3 * vectors) * pace / 2)
        latency = 2
    begin = 0 if instance.init == "zero" else 1
    step = max(busy, load, stream, latency)
    return machine.begin + steps * step + accumulators * (begin + 1)
