"""Families of kernels as `tensorize` uses them: what is worked out once is that of the target."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from inarch.machine.target import parse
from inarch.microkernel import Instance, Microkernel
from inarch.passes.tensorize.weigh.family import Family


def summing(cost: Callable[[Instance], float]) -> Microkernel:
    """Two members, of 4 and 8 elements."""
    dtypes = {"A": "f32", "C": "f32"}
    meaning = "for m in N: C[m] += A[m]"
    return Microkernel(meaning, dtypes, params={"N": (4, 8)}, registered="sum", cost=cost)


def test_the_order_of_members_is_that_of_the_target_and_is_worked_out_once() -> None:
    asked: list[str] = []

    def cost(member: Instance) -> float:
        asked.append(member.target.name)
        is_fast = (member.params["N"] == 8) == (member.target.vector_bytes >= 32)
        return 1.0 if is_fast else 100.0

    kernel = summing(cost)
    for name, first in (("x86-64", 4), ("x86-64-v3", 8), ("x86-64", 4), ("x86-64-v3", 8)):
        assert Family.of("sum", kernel, parse(name)).by_efficiency[0] == {"N": first}, name
    assert sorted(asked) == ["x86-64"] * 2 + ["x86-64-v3"] * 2


def test_later_programs_take_the_same_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one kernel, target and machine, until it remembers much."""
    kernel, target = summing(lambda _: 1.0), parse("x86-64")
    family = Family.of("sum", kernel, target)
    assert Family.of("sum", kernel, target) is family
    assert Family.of("sum", kernel, parse("x86-64-v3")) is not family
    assert Family.of("sum", kernel, target, is_optional=True) is not family
    assert Family.of("sum", summing(lambda _: 1.0), target) is not family
    assert family.by_efficiency
    monkeypatch.setattr("inarch.passes.tensorize.weigh.family.MOST_KEPT", 1)
    assert Family.of("sum", kernel, target) is not family


def test_the_order_is_worked_out_again_where_a_cost_has_failed() -> None:
    answers = iter((1.0, float("nan"), 1.0, 1.0))
    kernel, target = summing(lambda _: next(answers)), parse("x86-64")
    failed = Family.of("sum", kernel, target, is_optional=True)
    assert failed.by_efficiency[0] == {"N": 4}
    assert failed.failure is not None
    again = Family.of("sum", kernel, target, is_optional=True)
    assert again.by_efficiency[0] == {"N": 8}
    assert again.failure is None
