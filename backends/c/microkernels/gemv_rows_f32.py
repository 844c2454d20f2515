"""Matrix times vector in f32, the matrix as it is: dot products of NR rows, whose k lie side by side.

For matrices that are not known at compile time, which packing would read twice, and for numbers of
outputs that no vector divides. Lanes are partial sums over k, added up at the end: another order of
the additions than `gemv-f32` has. Memory binds.
"""

from __future__ import annotations

from itertools import product

from inarch.backends.c.microkernels._epilogue import address
from inarch.backends.c.microkernels._function import function_text
from inarch.meaning import normal
from inarch.microkernel import Instance, Microkernel

_CHAINS = 2
"""Sums of each row that are added up at the end, whatever the member: see `gemv-f32`."""
_NOMINAL = 256
"""Of K, for the cost of an instance that does not know it."""


def _generate(instance: Instance) -> str:
    rows, lanes = instance.params["NR"], instance.target.vector_bytes // 4
    written = normal(instance.meaning).target
    places = [address(written, {"n": n}) for n in range(rows)]
    lines = [f"vec c_{c}_{n} = {{0}};" for c, n in product(range(_CHAINS), range(rows))]
    lines += [
        # Bounds of their own, as gcc else finds that k + lanes could overflow where K is a large constant.
        f"const int64_t rounds = K - K % {_CHAINS * lanes}, whole = K - K % {lanes};",
        "int64_t k = 0;",
        f"for (; k < rounds; k += {_CHAINS * lanes}) {{",
        *(f"    {line}" for c in range(_CHAINS) for line in _step(c, c * lanes, rows)),
        "}",
        f"for (; k < whole; k += {lanes}) {{",
        *(f"    {line}" for line in _step(0, 0, rows)),
        "}",
    ]
    for n in range(rows):
        total = " + ".join(f"c_{c}_{n}" for c in range(_CHAINS))
        lines += [f"c_0_{n} = {total};", *_sum_lanes(n, lanes)]
    products = " ".join(f"s_{n} += A[k] * B[{n} * B_0 + k];" for n in range(rows))
    lines.append(f"for (; k < K; k++) {{ {products} }}")
    sign = "+=" if instance.init == "accumulate" else "="
    lines += [f"*({place}) {sign} s_{n};" for n, place in enumerate(places)]
    return function_text(instance, lanes, [f"    {line}" for line in lines if line])


def _step(chain: int, offset: int, rows: int) -> list[str]:
    """One vector of k for every row."""
    kept = " INARCH_KEEP(x);" if rows > 1 else ""
    at = f"k + {offset}"
    return [
        f"{{ vec x = *(const mem *)(A + {at});{kept}",
        *(f"  c_{chain}_{n} += x * *(const mem *)(B + {n} * B_0 + {at});" for n in range(rows)),
        "}",
    ]


def _sum_lanes(row: int, lanes: int) -> list[str]:
    """`s_<row>`, the sum of an accumulator's lanes: halves are added until four are left."""
    lines: list[str] = []
    name = f"c_0_{row}"
    while lanes > 4:
        lanes //= 2
        low = ", ".join(map(str, range(lanes)))
        high = ", ".join(map(str, range(lanes, 2 * lanes)))
        half = f"h_{lanes}_{row}"
        halves = [f"__builtin_shufflevector({name}, {name}, {each})" for each in (low, high)]
        kind = f"float {half} __attribute__((vector_size({lanes * 4})))"
        lines.append(f"const {kind} = {halves[0]} + {halves[1]};")
        name = half
    return [*lines, f"float s_{row} = ({name}[0] + {name}[2]) + ({name}[1] + {name}[3]);"]


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
    generate=_generate,
    inits=("accumulate", "zero"),
    cost=_cost,
    doc="Matrix times vector without packing, bound by memory.",
)
