"""T20: loops that are split and parallel compute what the whole loop does."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from inarch.testing import execute, execute_compiled

SPLIT = Path(__file__).parents[2] / "lit" / "dialects" / "loop" / "split.mlir"


def test_the_guarded_split_adds_every_element_once() -> None:
    """T20: 100 elements in blocks of 64: the guard keeps the second block inside."""
    a = np.arange(100, dtype=np.float32)
    b = np.linspace(-1, 1, 100, dtype=np.float32)
    for run in (execute, execute_compiled):
        (c,) = run(SPLIT.read_text(), [a, b])
        np.testing.assert_array_equal(c, a + b)
