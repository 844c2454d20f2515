"""Convolutions and products of u8 by s8, summed in i32: `vpdpbusd` of AVX512-VNNI, exact.

A tile of P x Q pixels by NV vectors of output channels. Channels (or K) are taken in fours, which lie next to
each other in A: in blocks, as `choose-layout` makes them, or in rows. Weights are packed at compile time.
"""

from __future__ import annotations

from inarch.backends.c.microkernels._integer_tile import (
    COMPUTES,
    DTYPES,
    EPILOGUE,
    LAYOUT,
    cycles,
    integer_tile,
)
from inarch.microkernel import Instance, Microkernel


def _generate(instance: Instance) -> str:
    return integer_tile(instance, has_dot=True)


def _cost(instance: Instance) -> float:
    return cycles(instance, has_dot=True)


MICROKERNEL = Microkernel(
    computes=COMPUTES,
    dtypes=DTYPES,
    params={"P": range(1, 15), "Q": range(1, 29), "NV": range(1, 5), "VL": (8, 16)},
    where=("VL * 4 <= VECTOR_BYTES", "P * Q * NV + NV + 1 < VECTOR_REGISTERS"),
    layout=LAYOUT,
    needs=("avx512vl", "avx512vnni"),
    inits=("zero", "accumulate"),
    epilogue=EPILOGUE,
    contract=False,
    generate=_generate,
    cost=_cost,
    doc=__doc__ or "",
)
