"""Matrix times vector in f32, the matrix as it is: dot products of NR rows, whose k lie side by side.

For matrices that are not known at compile time, which packing would read twice, and for numbers of
outputs that no vector divides. Lanes are partial sums over k, added up at the end: another order of
the additions than `gemv-f32` has. Memory binds.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from inarch.backends.c.microkernels._epilogue import address, stride
from inarch.backends.c.microkernels._function import function_text, keep, multiply_add
from inarch.backends.c.write.value.blocks import (
    BLOCK_OF_PRODUCTS,
    LongSum,
    flushed,
)
from inarch.core.dtypes import DTYPES
from inarch.meaning import normal
from inarch.microkernel import Instance, Microkernel

_CHAINS = 2
"""Sums of each row that are added up at the end, whatever the member: see `gemv-f32`."""
_TOGETHER = 4
"""Rows whose lanes are added up in one vector."""
_NOMINAL = 256
"""Of K, for the cost of an instance that does not know it."""


def _generate(instance: Instance) -> str:
    rows, lanes = instance.params["NR"], instance.target.vector_bytes // 4
    sums = [LongSum(f"c_0_{n}", f"h_{n}", f"l_{n}", DTYPES["f32"], "vec") for n in range(rows)]
    together = [f"c_0_{n} += c_{c}_{n};" for c in range(1, _CHAINS) for n in range(rows)]
    again = [f"c_{c}_{n} = (vec){{0}};" for c in range(1, _CHAINS) for n in range(rows)]
    block = _CHAINS * lanes * BLOCK_OF_PRODUCTS
    lines = [f"vec c_{c}_{n} = {{0}};" for c, n in product(range(_CHAINS), range(rows))]
    lines += [
        # Bounds of their own, as gcc else finds that k + lanes could overflow where K is a large constant.
        f"const int64_t rounds = K - K % {_CHAINS * lanes}, whole = K - K % {lanes};",
        "int64_t k = 0;",
        *(line for each in sums for line in each.declare()),
        *(f"float lost_{n} = -0.0f;" for n in range(rows)),
        "while (k < rounds) {",
        f"const int64_t stop = rounds - k > {block} ? k + {block} : rounds;",
        "#pragma GCC unroll 4",
        f"for (; k < stop; k += {_CHAINS * lanes}) {{",
        *(
            f"    {line}"
            for c in range(_CHAINS)
            for line in _step(c, f"k + {c * lanes}", rows, lanes)
        ),
        "}",
        "if (stop < rounds) {",
        *(f"    {line}" for line in [*together, *again, *flushed(sums)]),
        "}",
        "}",
        "k = rounds;",
        f"for (; k < whole; k += {lanes}) {{",
        *(f"    {line}" for line in _step(0, "k", rows, lanes)),
        "}",
        # What is left over: the last vector of each row, without the products that are summed already.
        f"if (k < K && K >= {lanes}) {{",
        f"    const ints lane = {{{', '.join(map(str, range(lanes)))}}};",
        f"    const ints left = lane >= (int32_t)({lanes} - K % {lanes});",
        *(f"    {line}" for line in _step(0, f"K - {lanes}", rows, lanes, "left")),
        "    k = K;",
        "}",
        f"if (rounds > {block}) {{",
        *(f"    {line}" for line in [*together, *again, *flushed(sums)]),
        *(f"    {each.part} = {each.total};" for each in sums),
        f"    for (int lane = 0; lane < {lanes}; lane++) {{",
        *(f"        lost_{n} += l_{n}[lane];" for n in range(rows)),
        "    }",
        "}",
        "typedef float quad __attribute__((vector_size(16)));",
    ]
    if rows >= _TOGETHER:
        kind = f"vector_size({_TOGETHER * 4}), aligned(4), may_alias"
        lines.append(f"typedef float four __attribute__(({kind}));")
    for first in range(0, rows, _TOGETHER):
        lines += _end(instance, range(first, min(first + _TOGETHER, rows)), lanes)
    return function_text(instance, lanes, [f"    {line}" for line in lines])


def _step(chain: int, place: str, rows: int, lanes: int, mask: str = "") -> list[str]:
    """One vector of k for every row."""
    kept = f" {keep('x', lanes)}" if rows > 1 else ""
    terms = [f"*(const mem *)(B + {n} * B_0 + {place})" for n in range(rows)]
    sums = [multiply_add(f"c_{chain}_{n}", "x", term, lanes) for n, term in enumerate(terms)]
    if mask:  # of the product: one that is infinite is not to be multiplied by 0
        sums = [
            f"c_{chain}_{n} += (vec)((ints)(x * {term}) & {mask});" for n, term in enumerate(terms)
        ]
    return [f"{{ vec x = *(const mem *)(A + {place});{kept}", *(f"  {each}" for each in sums), "}"]


def _end(instance: Instance, rows: range, lanes: int) -> list[str]:
    """The sums of up to four rows, side by side in one vector, and their way into C.

    Lanes are added by halves, (q[0] + q[2]) + (q[1] + q[3]) in the end, whatever the number of rows.
    """
    lines: list[str] = []
    quads = [_quad(row, lanes, lines) for row in rows]
    first, count = rows[0], len(rows)
    a, b, c, d = (quads[min(at, count - 1)] for at in range(_TOGETHER))
    sums = f"s_{first}"
    pairs = ((a, b), (c, d)) if count > 2 else ((a, b),) * 2
    for at, (x, y) in enumerate(pairs):
        text = _shuffled(x, y, (0, 1, 4, 5)), _shuffled(x, y, (2, 3, 6, 7))
        lines.append(f"const quad p_{first}_{at} = {text[0]} + {text[1]};")
    x, y = f"p_{first}_0", f"p_{first}_1"
    text = _shuffled(x, y, (0, 2, 4, 6)), _shuffled(x, y, (1, 3, 5, 7))
    lines.append(f"quad {sums} = {text[0]} + {text[1]};")
    products = " ".join(
        f"{sums}[{at}] += A[k] * B[{row} * B_0 + k];" for at, row in enumerate(rows)
    )
    lines.append(f"for (int64_t t = k; t < K; t++) {{ {products.replace('k]', 't]')} }}")
    lines += [f"{sums}[{at}] += lost_{row};" for at, row in enumerate(rows)]
    written = normal(instance.meaning).target
    sign = "+=" if instance.init == "accumulate" else "="
    places = [address(written, {"n": row}) for row in rows]
    single = [f"*({place}) {sign} {sums}[{at}];" for at, place in enumerate(places)]
    if count < _TOGETHER:
        return [*lines, *single]
    return [
        *lines,
        f"if ({stride(written.operand, 0)} == 1)",
        f"    *(four *)({places[0]}) {sign} {sums};",
        f"else {{ {' '.join(single)} }}",
    ]


def _quad(row: int, lanes: int, lines: list[str]) -> str:
    """An expression of the sum of a row's chains, its lanes added by halves until four are left."""
    name = f"c_0_{row}"
    lines.append(f"{name} = {' + '.join(f'c_{c}_{row}' for c in range(_CHAINS))};")
    while lanes > _TOGETHER:
        lanes //= 2
        low = _shuffled(name, name, range(lanes))
        high = _shuffled(name, name, range(lanes, 2 * lanes))
        half = f"h_{lanes}_{row}"
        kind = f"float {half} __attribute__((vector_size({lanes * 4})))"
        lines.append(f"const {kind} = {low} + {high};")
        name = half
    return name


def _shuffled(left: str, right: str, lanes: Iterable[int]) -> str:
    return f"__builtin_shufflevector({left}, {right}, {', '.join(map(str, lanes))})"


def _cost(instance: Instance) -> float:
    """Cycles of a call whose operands are in L1: a load for each vector of A and of the rows of B.

    That it begins in a third of the usual time, and takes half a latency for the sum of a row's lanes, is
    measured.
    """
    machine, rows = instance.machine, instance.params["NR"]
    nbytes = instance.target.vector_bytes
    steps = instance.sizes.get("K", _NOMINAL) * 4 / nbytes
    cycles = max((rows + 1) * machine.loads.cycles(nbytes), machine.fma_latency / _CHAINS)
    return machine.begin / 3 + machine.fma_latency / 2 * rows + steps * cycles


MICROKERNEL = Microkernel(
    computes="for n in NR, k in K: C[n] += A[k] * B[n, k]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"NR": range(1, 9)},
    where=("NR <= 4 + VECTOR_BYTES // 16",),
    layout={"A": (1,), "B": ("*", 1)},
    contract=False,
    adds_in_blocks=True,
    generate=_generate,
    inits=("accumulate", "zero"),
    cost=_cost,
    doc="Matrix times vector without packing, bound by memory.",
)
