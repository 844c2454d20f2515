"""Cycles of one call of a register tile: what chooses among the members of a family.

    cycles = call + steps * max(fma, load, stream of B, latency) + accumulators * (begin + finish)

The numbers are those of the weaker of today's cores for each width, so that a tile that is good by them is
good on the others too: of Zen 4 (AMD, Software Optimization Guide for Zen 4, 57647). Measured there over all
tiles of `gemm-f32` with `benchmarks/register_tiles.py`: mean error 2 % with AVX-512, 6 % with AVX2.
"""

from __future__ import annotations

from math import prod

from inarch.backends.c.microkernels._register_tile import Contraction
from inarch.meaning import Apply, Expression
from inarch.microkernel import Instance

_FMA_LATENCY = 4
"""Cycles until an accumulator can be used again: each is, once a step."""
_L2_BYTES = 32
"""A cycle, from L2: where B comes from, as a panel of it is as large as L1."""
_CALL = 30
"""Pointers, loop counters, and the first loads of a call."""
_NOMINAL = 64
"""A size that is not known."""
_SCALAR_FUNCTION = 20
"""Cycles a vector of exp, log, tanh, erf or sqrt, and the way through the buffer."""
_HEAVY = frozenset({"exp", "log", "tanh", "erf", "sqrt"})


def cycles(instance: Instance, contraction: Contraction) -> float:
    """The cost of a call with the sizes that are known (`Instance.sizes`)."""
    sizes = {**instance.sizes, **instance.params}
    steps = prod(sizes.get(contraction.sizes[name], _NOMINAL) for name in contraction.steps)
    rows = prod(sizes[contraction.sizes[name]] for name in contraction.rows)
    vectors = sizes["NV"]
    accumulators = rows * vectors
    # Zen 4: one FMA and one load of 512 bits a cycle, two of each of the narrower, broadcasts included.
    width = 1 if sizes["VL"] == 16 else 2
    load = rows / 2 + vectors / width
    stream = vectors * sizes["VL"] * 4 / _L2_BYTES
    step = max(accumulators / width, load, stream, _FMA_LATENCY)
    begin = 0 if instance.init == "zero" else 1
    finish = 1 + (0 if instance.finish is None else _finish(instance.finish))
    return _CALL + steps * step + accumulators * (begin + finish)


def _finish(expression: Expression) -> int:
    """Cycles a vector of an epilogue: one for each operand and function."""
    if not isinstance(expression, Apply):
        return 1
    own = _SCALAR_FUNCTION if expression.function in _HEAVY else 1
    return own + sum(_finish(argument) for argument in expression.arguments)
