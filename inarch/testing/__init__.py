"""For authors of passes, ops and backends: run a pass, and prove that it keeps the meaning.

>>> text = '''
... func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
...   %b = graph.add %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
...   func.return %b : tensor<2xf32>
... }'''
>>> check_semantics(text, pipeline="canonicalize,cse")
>>> round_trip(text)
>>> from inarch.core.lazy import np
>>> execute(text, [np.array([1, 2], "float32")])
[array([2., 4.], dtype=float32)]

Programs of any level run by the definitions of their ops (`inarch.definitions.ops`), in NumPy;
what a host makes of them is what is tested, with `execute_compiled` and `check_compiled`. docs/testing.md
says more.

`inarch.testing.lit_format` is the test format of lit suites.
"""

from __future__ import annotations

from inarch.definitions.execute import execute, random_inputs
from inarch.definitions.expected import Expected, expected_of
from inarch.testing.check import check_compiled, check_semantics, round_trip, run_pass
from inarch.testing.compiled import execute_compiled

__all__ = [
    "Expected",
    "check_compiled",
    "check_semantics",
    "execute",
    "execute_compiled",
    "expected_of",
    "random_inputs",
    "round_trip",
    "run_pass",
]
