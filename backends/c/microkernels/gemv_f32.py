"""Vector times packed matrix in f32: NV vectors of outputs, one pass over B from its start to its end.

Each element of B is used once, so memory binds. What the code sees to is that nothing else does: there are
accumulators enough that additions do not wait for each other, and B is one sequential stream,
which hardware fetches ahead. (Asking for it in the code too made it slower: from L3 70 GB/s instead of 98.)
Two to four rows of A are a GEMM (`gemm-f32`), which reads B once for all.
"""

from __future__ import annotations

from inarch.backends.c.microkernels._epilogue import (
    EPILOGUE,
    Accumulator,
    Tile,
    begin_lines,
    finish_lines,
)
from inarch.backends.c.microkernels._function import function_text, multiply_add
from inarch.backends.c.write.value.blocks import (
    BLOCK_OF_PRODUCTS,
    LongSum,
    flushed,
)
from inarch.core.dtypes import DTYPES
from inarch.meaning import normal
from inarch.microkernel import Instance, Microkernel

_CHAINS = 2
"""Sums of each output that are added up at the end: of even and of odd k, whatever the member.

So a tile and what remains beside it add in one order, and outputs that are equal come out equal.
"""
_NOMINAL = 256
"""Of K, for the cost of an instance that does not know it."""


def _generate(instance: Instance) -> str:
    vectors, lanes = instance.params["NV"], instance.params["VL"]
    written = normal(instance.meaning).target
    tile = Tile(
        [Accumulator(f"c_0_{v}", {"v": v}) for v in range(vectors)],
        {"v": vectors},
        lanes,
        "l",
        written,
    )
    lines = [f"    vec c_{c}_{v} = {{0}};" for c in range(1, _CHAINS) for v in range(vectors)]
    lines += begin_lines(tile, instance.init)
    sums = [LongSum(f"c_0_{v}", f"h_{v}", f"l_{v}", DTYPES["f32"], "vec") for v in range(vectors)]
    together = [f"c_0_{v} += c_{c}_{v};" for c in range(1, _CHAINS) for v in range(vectors)]
    again = [f"c_{c}_{v} = (vec){{0}};" for c in range(1, _CHAINS) for v in range(vectors)]
    block = _CHAINS * BLOCK_OF_PRODUCTS
    lines += [
        *(f"    {line}" for each in sums for line in each.declare()),
        "    const float *b = B;",
        # A bound of its own, as gcc else finds that k + 2 could overflow where K is a large constant.
        f"    const int64_t whole = K - K % {_CHAINS};",
        "    int64_t k = 0;",
        "    while (k < whole) {",
        f"    const int64_t stop = whole - k > {block} ? k + {block} : whole;",
        f"    for (; k < stop; k += {_CHAINS}, b += {_CHAINS} * B_0) {{",
        *(line for step in range(_CHAINS) for line in _step(step, step, vectors, lanes)),
        "    }",
        "    if (stop < whole) {",
        *(f"        {line}" for line in [*together, *again, *flushed(sums)]),
        "    }",
        "    }",
        "    k = whole;",
        "    for (; k < K; k++, b += B_0) {",
        *_step(0, 0, vectors, lanes),
        "    }",
        *(f"    {line}" for line in together),
        f"    if (whole > {block}) {{",
        *(f"        {line}" for line in flushed(sums)),
        *(f"        {each.part} = {each.total} + {each.lost};" for each in sums),
        "    }",
    ]
    return function_text(instance, lanes, [*lines, *finish_lines(instance, tile)])


def _step(step: int, chain: int, vectors: int, lanes: int) -> list[str]:
    """C += A[k + step] * B[k + step, :, :], in the accumulators of a chain."""
    products = " ".join(
        multiply_add(f"c_{chain}_{v}", "a", f"*(const mem *)(b + {step} * B_0 + {v} * B_1)", lanes)
        for v in range(vectors)
    )
    return [f"        {{ const vec a = A[(k + {step}) * A_0] - (vec){{0}}; {products} }}"]


def _cost(instance: Instance) -> float:
    """Cycles of a call whose operands are in L1: to begin and end, and a load for each vector of B.

    Additions of one sum wait for each other, and those of the chains in the end too. The quarter of a load
    for an element of A is measured. What memory adds is the business of who places the operands.
    """
    machine, vectors = instance.machine, instance.params["NV"]
    load = machine.loads.cycles(instance.params["VL"] * 4)
    step = max((vectors + 0.25) * load, machine.fma_latency / _CHAINS)
    end = machine.fma_latency * vectors
    return machine.begin + end + instance.sizes.get("K", _NOMINAL) * step


MICROKERNEL = Microkernel(
    computes="for v in NV, l in VL, k in K: C[v, l] += A[k] * B[k, v, l]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"NV": range(1, 9), "VL": (4, 8, 16)},
    where=("VL * 4 <= VECTOR_BYTES", "NV <= 4 + VECTOR_BYTES // 16"),
    layout={"B": ("NV * VL", "VL", 1), "C": ("*", 1)},
    contract=False,
    adds_in_blocks=True,
    generate=_generate,
    epilogue=EPILOGUE,
    inits=("accumulate", "zero"),
    cost=_cost,
    doc="Vector times packed matrix, bound by memory.",
)
