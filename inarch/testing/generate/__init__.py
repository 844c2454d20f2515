"""Random programs at all levels, for those who write passes, ops and backends.

>>> from inarch.testing.generate import inputs, programs
>>> program = next(programs("graph", seed=1))
>>> program.functions()
['main', 'other1']
>>> arrays = inputs(program, seed=2)

`graph_programs()`, `loop_programs()` and `kernel_programs()` are strategies of hypothesis whose failures
shrink. What is generated verifies, round-trips in text, and is well-defined: it reads nothing that was
not written, and no result depends on an order that is free. `python -m inarch.testing.generate` measures
what they reach, and compares compiled programs with their definition.
"""

from __future__ import annotations

from inarch.testing.generate.inputs import inputs, random_array, specials
from inarch.testing.generate.program import LEVELS, GeneratedProgram
from inarch.testing.generate.public import (
    graph_programs,
    kernel_programs,
    loop_programs,
    programs,
    remake,
)
from inarch.testing.generate.shrink import shrink

__all__ = [
    "LEVELS",
    "GeneratedProgram",
    "graph_programs",
    "inputs",
    "kernel_programs",
    "loop_programs",
    "programs",
    "random_array",
    "remake",
    "shrink",
    "specials",
]
