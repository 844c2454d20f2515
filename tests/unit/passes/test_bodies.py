"""Scans, whiles and branches: random bodies at every level."""

from __future__ import annotations

import pytest

from inarch.machine.target import native
from inarch.testing.generate.check.check import check_programs
from inarch.testing.generate.choices import Seeded
from inarch.testing.generate.graph.programs import graph_program
from inarch.testing.generate.program import GeneratedProgram


def program(kind: str, seed: int) -> GeneratedProgram:
    """A program of which most ops are scans, whiles, or branches."""
    return graph_program(Seeded(f"{kind} {seed}"), favour=[f"graph.{kind}"] * 8)


@pytest.mark.parametrize("kind", ["scan", "if", "while"])
@pytest.mark.parametrize("target", ["generic", "native"])
def test_bodies_keep_their_meaning(target: str, kind: str) -> None:
    name = str(native()) if target == "native" else target
    found = check_programs([program(kind, seed) for seed in range(8)], [name])
    assert not found, "\n".join(f"{one.index}: {one.message}" for one in found)
