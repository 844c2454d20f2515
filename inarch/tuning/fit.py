"""Fits a machine to records: how far the costs are from what was measured, in calls and around them.

A record has the cycles that the cost model says, in calls of kernels (C) and around them (A: memory, loops),
and what was measured (T, in cycles). Two factors are looked for so that

    a C + b A = T

in all of them, by the least sum of absolute relative errors: medians, which one strange op does not move.
The machine then has its ports and latencies of arithmetic divided by `a`, memory and branches by `b`.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from inarch.core.errors import UsageError
from inarch.core.lazy import np
from inarch.driver.keep.records import Record
from inarch.machine.find import MEASURED, cpu_name, find_machine
from inarch.machine.machine import Cache, Machine, Memory, Ports

LEAST = 6
"""Ops that are needed: two factors, of measurements that err."""
_ROUNDS = 50
_TINY = 1e-3
_Level = TypeVar("_Level", Memory, Cache)
"""Of a relative error: what is smaller weighs no more."""
_SHARE = 0.05
"""Of all cycles: of a part that is smaller nothing can be said."""


@dataclass(frozen=True)
class Fit:
    """A machine, and how well its costs say what was measured."""

    machine: Machine
    count: int
    """Ops of models that were measured."""
    calls: float
    """How many times longer calls take than the costs of the machine before said."""
    around: float
    """The same of what is around them."""
    before: float
    """Median of the relative errors of the costs, and below with the factors."""
    after: float

    @property
    def text(self) -> str:
        """One line."""
        return (
            f"of {self.count} ops: calls take {self.calls:.2f} of what costs said, what is around them "
            f"{self.around:.2f}; the median error was {100 * self.before:.0f} %, and is "
            f"{100 * self.after:.0f} %"
        )


def fit(records: Sequence[Record], base: Machine | None = None) -> Fit:
    """The machine of this computer by records; `base`: the one to begin with, instead of the records' own.

    Raises UsageError where too few are of this CPU, or they are of several machines.
    """
    cpu = cpu_name()
    every = {(one.cpu, one.where, one.seconds): one for one in records if one.calls > 0}
    own = [one for one in every.values() if one.cpu == cpu]
    if len(own) < LEAST:
        raise UsageError(
            f"--fit: expected records of at least {LEAST} ops on this CPU ('{cpu}'), found {len(own)} "
            f"(of {len(every)}); make them with `inarch tune`"
        )
    names = sorted({one.machine for one in own})
    if len(names) > 1:
        raise UsageError(f"--fit: expected records of one machine, found {', '.join(names)}")
    machine = base or find_machine(names[0])
    terms = np.array([[one.calls, one.around] for one in own])
    measured = np.array([1e9 * one.ghz * one.seconds for one in own])
    factors = _factors(terms / measured[:, None])
    errors = [
        statistics.median(abs(float(error)) for error in terms @ them / measured - 1)
        for them in (np.ones(2), factors)
    ]
    calls, around = map(float, factors)
    return Fit(_scaled(machine, calls, around), len(own), calls, around, errors[0], errors[1])


def _factors(terms: np.ndarray) -> np.ndarray:
    """Least absolute errors of `terms @ factors = 1`, by least squares with other weights each round."""
    shares = terms.mean(axis=0) / terms.mean(axis=0).sum()
    used = shares > _SHARE
    factors = np.ones(2)
    weights = np.ones(len(terms))
    for _ in range(_ROUNDS):
        left = 1 - terms[:, ~used] @ factors[~used]
        rows = terms[:, used] * weights[:, None]
        found = np.linalg.lstsq(rows, left * weights, rcond=None)[0]
        factors[used] = np.maximum(found, 0.1)
        weights = 1 / np.sqrt(np.maximum(np.abs(terms @ factors - 1), _TINY))
    return factors


def _scaled(machine: Machine, calls: float, around: float) -> Machine:
    """The machine on which costs are so many times larger."""

    def ports(own: Ports) -> Ports:
        return Ports(tuple((nbytes, round(count / calls, 3)) for nbytes, count in own.by_bytes))

    def level(own: _Level) -> _Level:
        latency = round(own.latency * around, 1)
        return replace(own, latency=latency, bandwidth=round(own.bandwidth / around, 2))

    tlb = machine.tlb
    return replace(
        machine,
        name=f"{MEASURED}-fit",
        cpus="",
        fma_latency=round(machine.fma_latency * calls, 2),
        fma=ports(machine.fma),
        loads=ports(machine.loads),
        stores=ports(machine.stores),
        branch_miss=round(machine.branch_miss * around, 1),
        call=round(machine.call * around, 1),
        l2=level(machine.l2),
        l3=level(machine.l3) if machine.l3 is not None else None,
        dram=level(machine.dram),
        tlb=replace(tlb, refill=round(tlb.refill * around, 1), walk=round(tlb.walk * around, 1)),
    )
