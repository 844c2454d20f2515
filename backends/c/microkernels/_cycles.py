"""Cycles of one call of a register tile: what chooses among the members of a family.

    cycles = call + steps * largest of (fma, load, stream of B, latency) + accumulators * (begin + finish)

The numbers are the machine's (`Instance.machine`). A bound that is nearly as large as the largest adds to it:
a norm with a high exponent stands for the maximum. Mean error on Zen 4 (`benchmarks/register_tiles.py`) over
tiles of `gemm-f32` with eight accumulators or more: 1.4 % with AVX2, 10 % with AVX-512, where tiles of few
rows and vectors of half the width take up to twice what it says.
"""

from __future__ import annotations

from math import prod

from inarch.backends.c.microkernels._register_tile import Contraction
from inarch.core.dtypes import DTYPES
from inarch.machine.work import body_cycles
from inarch.meaning import applied
from inarch.microkernel import Instance

F32_BYTES = 4
_NOMINAL = 64
"""A size that is not known."""
_EXPONENT = 14
"""Fitted to tiles with AVX2: 4 x 2 takes 4.3 cycles a step, not 4, and 13 x 1 7.26, not 7."""


def cycles(instance: Instance, contraction: Contraction) -> float:
    """The cost of a call with the sizes that are known (`Instance.sizes`)."""
    machine, sizes = instance.machine, {**instance.sizes, **instance.params}
    steps = prod(sizes.get(contraction.sizes[name], _NOMINAL) for name in contraction.steps)
    rows = prod(sizes[contraction.sizes[name]] for name in contraction.rows)
    vectors = sizes["NV"]
    accumulators = rows * vectors
    nbytes = sizes["VL"] * F32_BYTES
    stored = DTYPES[instance.kernel.dtypes["B"]]
    load = rows * machine.loads.cycles(F32_BYTES) + vectors * machine.loads.cycles(nbytes)
    # A panel of B is as large as the first-level cache: it comes from the second one.
    stream = vectors * sizes["VL"] * stored.nbytes / machine.l2.bandwidth
    # Each accumulator is added to once a step.
    ports = accumulators * machine.fma.cycles(nbytes), load, stream, machine.fma_latency
    step = sum(each**_EXPONENT for each in ports) ** (1 / _EXPONENT)
    begin = 0 if instance.init == "zero" else 1
    finish = 1.0
    if instance.finish is not None:
        # What it reads is prefetched, and loads have slots to spare.
        finish += body_cycles(applied(instance.finish), nbytes, machine)
    return machine.begin + steps * step + accumulators * (begin + finish)
