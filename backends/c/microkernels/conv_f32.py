"""Direct convolution of f32: a tile of P x Q pixels by NV vectors of output channels.

Channels of the input are in blocks of CI (`[c][y][x][i]`), those of the output in blocks of VL. Stride and
dilation are strides of A: `p` steps by stride rows, `r` by dilation rows. R and S are free, so tiles at a
border can leave out the taps that only see padding. There is no im2col, and C is written once.
"""

from __future__ import annotations

from inarch.backends.c.microkernels._cycles import cycles
from inarch.backends.c.microkernels._epilogue import EPILOGUE
from inarch.backends.c.microkernels._register_tile import Contraction, register_tile
from inarch.microkernel import Instance, Microkernel

_CONV = Contraction(
    a=("p", "q", "c", "r", "s", "i"),
    b=("c", "r", "s", "i", "v", "l"),
    c=("p", "q", "v", "l"),
    sizes={"p": "P", "q": "Q", "v": "NV", "l": "VL", "c": "CB", "r": "R", "s": "S", "i": "CI"},
    neighbour="q",
)


def _generate(instance: Instance) -> str:
    return register_tile(instance, _CONV)


def _cost(instance: Instance) -> float:
    return cycles(instance, _CONV)


MICROKERNEL = Microkernel(
    computes=(
        "for p in P, q in Q, v in NV, l in VL, c in CB, r in R, s in S, i in CI: "
        "C[p, q, v, l] += A[p, q, c, r, s, i] * B[c, r, s, i, v, l]"
    ),
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"P": range(1, 15), "Q": range(1, 29), "NV": range(1, 5), "VL": (4, 8, 16)},
    where=("VL * 4 <= VECTOR_BYTES", "P * Q * NV + NV + 1 < VECTOR_REGISTERS"),
    layout={"B": ("*", "*", "*", "NV * VL", "VL", 1), "C": ("*", "*", "*", 1)},
    inits=("zero", "accumulate"),
    epilogue=EPILOGUE,
    ahead="B",
    contract=False,
    generate=_generate,
    cost=_cost,
    doc=__doc__ or "",
)
