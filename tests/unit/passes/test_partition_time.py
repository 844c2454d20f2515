"""How long partitioning takes: 5,000 ops, 100 patterns, two backends."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "partition.py"
MOST_SECONDS = 3.0
"""Of CPU time, with room for a machine that has other work: 1.6 were measured on such a one."""


@pytest.mark.slow
def test_partitioning_5000_ops_by_100_patterns_for_two_backends() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK)], capture_output=True, text=True, check=True
    )
    found = re.search(r"^all +(\S+) s$", done.stdout, re.MULTILINE)
    assert found is not None
    assert float(found[1]) < MOST_SECONDS, done.stdout
