"""The depthwise kernel against its meaning: tiles, windows, strides, inits, epilogues, each target here.

K2: tiles of one meaning stand side by side. K4: any strides and offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from effort import effort
from inarch.machine.target import Target
from inarch.machine.target import parse as parse_target
from inarch.meaning import Expression
from inarch.meaning import parse as parse_meaning
from inarch.microkernel import Instance, instantiate, members
from inarch.microkernel.table import MICROKERNELS

Compile = Callable[[Sequence[Instance]], Sequence[Any]]

NAME = "depthwise-f32"
KERNEL = MICROKERNELS[NAME]
TARGETS = [
    name
    for name in ("generic", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64")
    if not parse_target(name).missing_here()
]

FINISHES: Mapping[str, Mapping[str, str]] = {
    "C[p, q, l] + E0[l]": {"E0": "f32"},
    "relu(C[p, q, l] + E0[l])": {"E0": "f32"},
    "min(max(C[p, q, l] + E0[l], 0), 6)": {"E0": "f32"},
    "max(C[p, q, l] + E0[l], 0) + E1[p, q, l]": {"E0": "f32", "E1": "f32"},
    "min(6, max(0, C[p, q, l])) * E0[]": {"E0": "f32"},
}


def finish_of(text: str) -> Expression:
    meaning = parse_meaning(f"for p in 1, q in 1, l in 1: C[p, q, l] = {text}")
    return meaning.statements[0].value


def instance_of(target: Target, number: int = 0, text: str = "", **params: int) -> Instance:
    """A member by P, Q, R and SH; odd numbers accumulate."""
    lanes = target.vector_bytes // 4
    every = {**params, "VL": lanes, "S": params["R"], "SW": params["SH"]}
    return instantiate(
        KERNEL,
        NAME,
        {name: every[name] for name in KERNEL.params},
        target=target,
        init="accumulate" if number % 2 else "zero",
        finish=finish_of(text) if text else None,
        extras=FINISHES[text] if text else None,
    )


@pytest.mark.sampled(1, reason="whole families; make soak has each length")
@pytest.mark.parametrize("name", TARGETS)
def test_members_compute_their_meaning(name: str, kernel_calls: Compile) -> None:
    """K4: every window and stride with the least, the largest and some other tile that fits."""
    target = parse_target(name)
    found = members(KERNEL, target)
    instances: list[Instance] = []
    for window, stride in sorted({(one["R"], one["SH"]) for one in found}):
        tiles = [(one["P"], one["Q"]) for one in found if (one["R"], one["SH"]) == (window, stride)]
        largest = max(tiles, key=lambda tile: tile[0] * tile[1])
        for p, q in dict.fromkeys([largest, tiles[0], tiles[-1]][: effort(2, 3)]):
            number = len(instances)
            instances.append(instance_of(target, number, P=p, Q=q, R=window, SH=stride))
    for number, call in enumerate(kernel_calls(instances)):
        call.compare({}, number, exact=True)
        call.compare({}, number, exact=False)


@pytest.mark.sampled(1, reason="whole families; make soak has each length")
@pytest.mark.parametrize("name", TARGETS)
def test_epilogues(name: str, kernel_calls: Compile) -> None:
    """Both inits, weights in registers and by row; NaN passes max, min and relu, as all numerics here."""
    target = parse_target(name)
    instances = [
        instance_of(target, number, text, P=2, Q=3, R=window, SH=1)
        for text in FINISHES
        for number, window in ((0, 3), (1, 5), (1, 3))[: effort(2, 3)]
    ]
    for number, call in enumerate(kernel_calls(instances)):
        call.compare({}, number, exact=True)
        call.compare({}, number, exact=False)
        call.compare({}, number, exact=True, nan=True)


@pytest.mark.parametrize("name", ["generic", "x86-64-v3", "x86-64-v4", "aarch64"])
def test_every_remainder_has_a_member(name: str) -> None:
    """An image of any size is tiled exactly: beside each tile stand all smaller ones."""
    found = members(KERNEL, parse_target(name))
    tiles = {(one["R"], one["SH"], one["P"], one["Q"]) for one in found}
    assert {(one["R"], one["SH"]) for one in found} == {(r, s) for r in (3, 5, 7) for s in (1, 2)}
    for window, stride, p, q in tiles:
        smaller = {(window, stride, i, j) for i in range(1, p + 1) for j in range(1, q + 1)}
        assert smaller <= tiles, (window, stride, p, q)


def test_cost_prefers_reuse() -> None:
    """For an output, larger tiles cost less, and accumulating costs no less than beginning at zero."""
    target = parse_target("x86-64-v4")

    def cost(number: int, p: int, q: int, stride: int = 1) -> float:
        assert callable(KERNEL.cost)
        instance = instance_of(target, number, P=p, Q=q, R=3, SH=stride)
        return KERNEL.cost(instance) / (p * q)

    assert cost(0, 1, 1) > cost(0, 1, 4) > cost(0, 2, 7) > 9
    assert cost(0, 2, 7, stride=2) > cost(0, 2, 7)
    assert cost(1, 1, 4) >= cost(0, 1, 4)
