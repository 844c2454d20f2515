"""`keep-integers`: drawn products of quantized tensors give the bits of their integer arithmetic, everywhere.

The oracle is what docs/abi.md says, in NumPy: `inarch.testing.onnx_graphs.quantized`.
"""

from __future__ import annotations

import numpy as np
import pytest

import inarch
from effort import seeds
from inarch.machine.target import parse as parse_target
from inarch.testing.onnx_graphs.across import Tally, check_across
from inarch.testing.onnx_graphs.quantized import network, operators


def _targets() -> list[str]:
    """A target without a kernel of bytes, and those with one that run here."""
    names = ("generic", "x86-64-v3", "x86-64-v4", "x86-64-v4+avx512vnni")
    return [name for name in names if not parse_target(name).missing_here()]


@pytest.mark.parametrize("target", _targets())
@pytest.mark.parametrize("seed", seeds(4, 200))
def test_the_bits_of_integer_arithmetic(seed: int, target: str) -> None:
    case = operators(seed)
    for threads in (1, 2):
        found = inarch.compile(case.model, target=target, threads=threads).run(case.inputs)
        for name, wanted in case.expected.items():
            np.testing.assert_array_equal(found[name], wanted, err_msg=f"{name} on {target}")


def test_networks_have_the_same_bits_everywhere() -> None:
    """Layers between quantizations, in all forms: of all values and of few, by one thread and by three."""
    tally = Tally()
    cases = [network(seed) for seed in seeds(3, 60)]
    assert [one.message for one in check_across(cases, _targets(), ("-O1",), tally)] == []
    assert tally.sure > 2 * len(cases)
