"""Kernels of a contraction of narrow numbers whose output tile of i32 or f32 lives in vector registers.

    C[rows, v, l] += i32(A[rows, steps, j]) * i32(B[steps, v, l, j])    j in 4 bytes, or 2 of 16 bits

A step takes neighbours of A and of B at once: 32 bits of A in all lanes, and a vector of B that has 32 bits
for each lane. With VNNI that is one `vpdpbusd` of bytes: four products, exact, are added to a lane. Of 16
bits `vpmaddwd` makes two products and adds them up, which `vpaddd` adds to a lane. Sums wrap, as those of i32
do. (`vpmaddubsw` adds two products of bytes in 16 bits, and saturates there.) So every kernel of integers has
the same sums, bit for bit. Of bf16 `vdpbf16ps` adds two products to a lane of f32; to it denormals are 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod

from inarch.backends.c.microkernels._epilogue import (
    EPILOGUE,
    Accumulator,
    Tile,
    address,
    begin_lines,
    finish_lines,
    stride,
)
from inarch.backends.c.microkernels._function import function_text
from inarch.core.dtypes import DTYPES
from inarch.meaning import Apply, Element, Expression, Number, Term
from inarch.microkernel import Instance, Microkernel

_EPILOGUE = ("add",)
"""A bias, in the units of the sums."""

_A = ("p", "q", "c", "r", "s", "i", "j")
_C = Element("C", tuple((Term((), name),) for name in ("p", "q", "v", "l")))
_SIZES = {"p": "P", "q": "Q", "v": "NV"}
_STEPS = {"c": "CB", "r": "R", "s": "S", "i": "CI"}
"""The reductions, outermost first, but that of the four of a step."""
_NOMINAL = 16
"""A size that is not known."""


@dataclass(frozen=True)
class Multiply:
    """How a step multiplies 32 bits of A by those of a lane of B, and adds the products up."""

    a: str
    b: str
    """Dtypes of the same width."""
    instruction: str
    adds: bool
    """Whether it adds them to the accumulator, too."""
    total: str = "i32"
    """The dtype of the sum."""

    @property
    def terms(self) -> int:
        """Products of a lane."""
        return 4 // DTYPES[self.a].nbytes


def dot_kernel(
    multiply: Multiply, *, lanes: tuple[int, ...], needs: tuple[str, ...], doc: str | None
) -> Microkernel:
    """A convolution of channels in blocks; a product of matrices is one with `P = CB = R = S = 1`."""
    terms, total = multiply.terms, multiply.total
    # A vector of 32 bits of A, those of B, and of what is not added by itself the products.
    registers = "P * Q * NV + NV + 1" if multiply.adds else "P * Q * NV + NV + 2"
    return Microkernel(
        computes="for p in P, q in Q, v in NV, l in VL, c in CB, r in R, s in S, i in CI, "
        f"j in {terms}: "
        f"C[p, q, v, l] += {total}(A[p, q, c, r, s, i, j]) * {total}(B[c, r, s, i, v, l, j])",
        dtypes={"A": multiply.a, "B": multiply.b, "C": total},
        params={"P": range(1, 15), "Q": range(1, 29), "NV": range(1, 5), "VL": lanes},
        where=("VL * 4 <= VECTOR_BYTES", f"{registers} <= VECTOR_REGISTERS"),
        # B is packed; of A the terms of a step are neighbours, wherever they are.
        layout={
            "A": ("*", "*", "*", "*", "*", "*", 1),
            "B": ("*", "*", "*", f"NV * VL * {terms}", f"VL * {terms}", terms, 1),
            "C": ("*", "*", "*", 1),
        },
        needs=needs,
        inits=("zero", "accumulate"),
        epilogue=_EPILOGUE if total == "i32" else EPILOGUE,
        contract=False,
        flushes=total == "f32",
        generate=partial(_generate, multiply),
        cost=partial(_cost, multiply),
        doc=doc or "",
    )


def _generate(multiply: Multiply, instance: Instance) -> str:
    params = instance.params
    tile = [
        Accumulator(f"c{number}", dict(zip("pqv", point, strict=True)))
        for number, point in enumerate(
            product(range(params["P"]), range(params["Q"]), range(params["NV"]))
        )
    ]
    step = _step(multiply, instance, tile)
    if multiply.total == "f32":
        written = Tile(tile, {name: params[_SIZES[name]] for name in "pqv"}, params["VL"], "l", _C)
        begin = begin_lines(written, instance.init)
        end = finish_lines(instance, written, is_full=True)
        return function_text(instance, params["VL"], [*begin, *_loops(multiply, step), *end])
    places = [address(_C, each.values) for each in tile]
    first = "{0}" if instance.init == "zero" else "(uints)*(const intsmem *)({})"
    begin = [
        f"    uints {each.register} = {first.replace('({})', f'({place})')};"
        for each, place in zip(tile, places, strict=True)
    ]
    end = list[str]()
    for each, place in zip(tile, places, strict=True):
        finished = _finished(instance, instance.finish, each, end)
        end.append(f"    *(intsmem *)({place}) = (ints)({finished});")
    return function_text(instance, params["VL"], [*begin, *_loops(multiply, step), *end])


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


def _loops(multiply: Multiply, step: list[str]) -> list[str]:
    """The loops over the reductions around the statements of a step, which know `x` and `y`."""
    lines: list[str] = []
    a, b = "A", "B"
    kinds = DTYPES[multiply.a].c, DTYPES[multiply.b].c
    for depth, (name, size) in enumerate(_STEPS.items()):
        pad = "    " * (depth + 1)
        by_a, by_b = stride("A", _A.index(name)), stride("B", depth)
        lines += [
            f"{pad}for (int64_t {name} = 0; {name} < {size}; {name}++) {{",
            f"{pad}    const {kinds[0]} *a_{name} = {a} + {name} * {by_a};",
            f"{pad}    const {kinds[1]} *b_{name} = {b} + {name} * {by_b};",
        ]
        a, b = f"a_{name}", f"b_{name}"
    pad = "    " * (len(_STEPS) + 1)
    lines += [f"{pad}const {kinds[0]} *x = {a};", f"{pad}const {kinds[1]} *y = {b};"]
    # As in `_register_tile.py`: neighbours of a step are read again in another one, and not kept.
    lines += [f'{pad}__asm__("" : "+r"(x), "+r"(y));', *(pad + line for line in step)]
    lines += ["    " * depth + "}" for depth in range(len(_STEPS), 0, -1)]
    return lines


def _step(multiply: Multiply, instance: Instance, tile: list[Accumulator]) -> list[str]:
    """The multiplications of a step: a vector of B might stand in memory, but serves several rows.

    Sums are assembly, too: gcc 12 puts those of several steps in another order, and all of them on the stack.
    """
    vectors = instance.params["NV"]
    kind = "v" if "avx512vl" in instance.target.features else "x"
    lines = [
        f"const ints b{v} = *(const intsmem *)(y + {v} * {stride('B', 4)});" for v in range(vectors)
    ]
    for row in range(0, len(tile), vectors):
        lines.append(f"{{ const ints e = {_word(tile[row])} - (ints){{0}};")
        for v, each in enumerate(tile[row : row + vectors]):
            c, read = each.register, f'"{kind}"(e), "{kind}"(b{v})'
            if multiply.adds:
                lines.append(
                    f'  __asm__("{multiply.instruction} %2, %1, %0" : "+{kind}"({c}) : {read});'
                )
                continue
            text = f"{multiply.instruction} %3, %2, %1\\n\\tvpaddd %1, %0, %0"
            lines.append(
                f'  {{ uints t; __asm__("{text}" : "+{kind}"({c}), "=&{kind}"(t) : {read}); }}'
            )
        lines.append("}")
    return lines


def _word(each: Accumulator) -> str:
    """32 bits of A of a row."""
    values = {name: at for name, at in each.values.items() if name != "v"}
    _, plus, rest = address(_element("A", _A), values).partition(" + ")
    return f"*(const word *)(x{plus}{rest})"


def _element(operand: str, iterators: tuple[str, ...]) -> Element:
    return Element(operand, tuple((Term((), name),) for name in iterators))


def _cost(multiply: Multiply, instance: Instance) -> float:
    """The cost of a call: its steps at the pace of what binds them, then the tile's way to memory.

    A multiplication begins as often as a multiply-add of f32; an addition that is one of its own has twice
    as many ports as these.
    """
    machine, params = instance.machine, instance.params
    sizes = {**instance.sizes, **params}
    steps = prod(sizes.get(name, _NOMINAL) for name in _STEPS.values())
    rows, vectors, nbytes = params["P"] * params["Q"], params["NV"], params["VL"] * 4
    accumulators, pace = rows * vectors, machine.fma.cycles(nbytes)
    load = rows * machine.loads.cycles(4) + vectors * machine.loads.cycles(nbytes)
    stream = vectors * nbytes / machine.l2.bandwidth
    latency = machine.fma_latency if multiply.adds else 1
    begin = 0 if instance.init == "zero" else 1
    step = max(accumulators * pace, load, stream, latency)
    return machine.begin + steps * step + accumulators * (begin + 1)
