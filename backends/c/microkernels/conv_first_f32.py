"""The first convolution of a network: few input channels, plain NCHW input, output channels in vectors.

Elements of A are broadcast one by one, so neither are channels padded nor is the input laid out anew. The
window's S columns are unrolled, they are the innermost reduction.
"""

from __future__ import annotations

from inarch.backends.c.microkernels._cycles import cycles
from inarch.backends.c.microkernels._epilogue import EPILOGUE
from inarch.backends.c.microkernels._register_tile import Contraction, register_tile
from inarch.microkernel import Instance, Microkernel


def _contraction(instance: Instance) -> Contraction:
    return Contraction(
        a=("p", "q", "i", "r", "s"),
        b=("i", "r", "s", "v", "l"),
        c=("p", "q", "v", "l"),
        sizes={"p": "P", "q": "Q", "v": "NV", "l": "VL", "i": "CI", "r": "R", "s": "S"},
        unroll=instance.params["S"],
    )


def _generate(instance: Instance) -> str:
    return register_tile(instance, _contraction(instance))


def _cost(instance: Instance) -> float:
    return cycles(instance, _contraction(instance))


MICROKERNEL = Microkernel(
    computes=(
        "for p in P, q in Q, v in NV, l in VL, i in CI, r in R, s in S: "
        "C[p, q, v, l] += A[p, q, i, r, s] * B[i, r, s, v, l]"
    ),
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={
        "P": range(1, 9),
        "Q": range(1, 15),
        "NV": range(1, 5),
        "VL": (4, 8, 16),
        "S": (1, 2, 3, 4, 5, 7, 9, 11),
    },
    where=("VL * 4 == VECTOR_BYTES", "P * Q * NV + NV + 1 < VECTOR_REGISTERS"),
    layout={"B": ("*", "*", "NV * VL", "VL", 1), "C": ("*", "*", "*", 1)},
    inits=("zero", "accumulate"),
    epilogue=EPILOGUE,
    ahead="B",
    contract=False,
    generate=_generate,
    cost=_cost,
    doc=__doc__ or "",
)
