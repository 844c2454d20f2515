"""Cycles of one call of a register tile: what chooses among the members of a family.

    cycles = call + steps * max(fma, load, latency) + accumulators * (begin + finish)

The numbers are those of the weaker of today's cores for each width, so that a tile that is good by them is
good on the others too. Sources: Agner Fog, Instruction tables (2024): Zen 4, Zen 5, Ice Lake; AMD, Software
Optimization Guide for Zen 4 (57647), 2.9 and 2.11; uops.info.
"""

from __future__ import annotations

from math import prod

from inarch.backends.c.microkernels._register_tile import Contraction
from inarch.meaning import Apply, Expression
from inarch.microkernel import Instance

_FMA_LATENCY = 4
"""Cycles until an accumulator can be used again: each is, once a step."""
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
    # One 512-bit FMA and one 512-bit load a cycle (Zen 4), two of each of the narrower.
    width = 1 if sizes["VL"] == 16 else 2
    step = max(accumulators / width, (rows + vectors) / width, _FMA_LATENCY)
    begin = 0 if instance.init == "zero" else 1
    finish = 1 + (0 if instance.finish is None else _finish(instance.finish))
    return _CALL + steps * step + accumulators * (begin + finish)


def _finish(expression: Expression) -> int:
    """Cycles a vector of an epilogue: one for each operand and function."""
    if not isinstance(expression, Apply):
        return 1
    own = _SCALAR_FUNCTION if expression.function in _HEAVY else 1
    return own + sum(_finish(argument) for argument in expression.arguments)
