"""A fixture for tests of limits."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest


@pytest.fixture(name="measured")
def fixture_measured() -> Any:
    """A test that uses this allocates little: files are refused before anything is built."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300 << 20, f"{peak >> 20} MiB"
