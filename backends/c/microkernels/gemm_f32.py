"""Matrix multiplication of f32 with a packed B, and batch-reduce GEMM: r steps between blocks of A and B.

A plain GEMM has R = 1. K is split into R blocks where A is blocked (`[K/16][M][16]`), or where its rows
lie apart.
"""

from __future__ import annotations

from inarch.backends.c.microkernels._cycles import cycles
from inarch.backends.c.microkernels._epilogue import EPILOGUE
from inarch.backends.c.microkernels._register_tile import Contraction, register_tile
from inarch.microkernel import Instance, Microkernel

_GEMM = Contraction(
    a=("m", "r", "k"),
    b=("r", "k", "v", "l"),
    c=("m", "v", "l"),
    sizes={"m": "MR", "v": "NV", "l": "VL", "r": "R", "k": "K"},
    neighbour="m",
    is_often_whole=True,
)


def _generate(instance: Instance) -> str:
    return register_tile(instance, _GEMM)


def _cost(instance: Instance) -> float:
    return cycles(instance, _GEMM)


MICROKERNEL = Microkernel(
    computes="for m in MR, v in NV, l in VL, r in R, k in K: C[m, v, l] += A[m, r, k] * B[r, k, v, l]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"MR": range(1, 29), "NV": range(1, 5), "VL": (4, 8, 16)},
    where=("VL * 4 <= VECTOR_BYTES", "MR * NV + NV + 1 < VECTOR_REGISTERS"),
    layout={"B": ("*", "NV * VL", "VL", 1), "C": ("*", "*", 1)},
    inits=("zero", "accumulate"),
    epilogue=EPILOGUE,
    ahead="B",
    contract=False,
    generate=_generate,
    cost=_cost,
    doc=__doc__ or "",
)
