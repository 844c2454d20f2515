"""Scans: random bodies at every level, and what their loops are made of."""

from __future__ import annotations

import pytest

from inarch.machine.target import native
from inarch.testing.generate.check.check import check_programs
from inarch.testing.generate.choices import Seeded
from inarch.testing.generate.graph.programs import graph_program
from inarch.testing.generate.program import GeneratedProgram


def scans(seed: int) -> GeneratedProgram:
    """A program of which many ops are scans."""
    return graph_program(Seeded(f"scans {seed}"), favour=["graph.scan"])


@pytest.mark.parametrize("target", ["generic", "native"])
def test_scans_keep_their_meaning(target: str) -> None:
    name = str(native()) if target == "native" else target
    found = check_programs([scans(seed) for seed in range(10)], [name])
    assert not found, "\n".join(f"{one.index}: {one.message}" for one in found)
