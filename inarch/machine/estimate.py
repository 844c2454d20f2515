"""How long some work takes a machine at least: what its ports and its memory allow, in seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from inarch.machine.machine import Machine
from inarch.machine.target import Target


@dataclass(frozen=True)
class Work:
    """What is to be done, counted from shapes."""

    multiply_adds: int
    points: int
    """Elements that other ops make: a sum, a maximum, a copy."""
    nbytes: int
    """Read and written, each value once."""
    element_bytes: int = 4
    """Of what is computed with; lanes of a vector are of it."""


Estimate = Callable[[Work, Target, Machine, int], float]
"""`(work, target, machine, threads)` -> seconds: what a host says of itself (`Host.estimate`)."""


def least_seconds(work: Work, target: Target, machine: Machine, threads: int = 1) -> float:
    """The seconds in which `machine` can do it by the instructions of `target`, on so many of its cores.

    The longer of arithmetic (a vector of multiply-adds or of stores at a time, at the pace of their ports)
    and of memory (the first level that holds all bytes, at its bandwidth), and the call: a bound that good
    code comes near, in the manner of a roofline (Williams, Waterman and Patterson, 2009).

    >>> from inarch.machine.target import parse
    >>> generic = parse("generic")
    >>> work = Work(multiply_adds=6_000_000_000, points=0, nbytes=0)
    >>> round(least_seconds(work, generic, generic.machine), 3)
    0.25
    >>> round(least_seconds(work, generic, generic.machine, threads=4), 3)
    0.063
    """
    width = target.vector_bytes
    lanes = max(1, width // work.element_bytes)
    cores = max(1, min(threads, machine.cores))
    vectors = work.multiply_adds * machine.fma.cycles(width) + work.points * machine.stores.cycles(
        width
    )
    arithmetic = vectors / lanes / cores
    levels = [cache for cache in (machine.l1, machine.l2, machine.l3) if cache is not None]
    fitting = (cache.bandwidth for cache in levels if work.nbytes <= cache.bytes)
    memory = work.nbytes / next(fitting, machine.dram.bandwidth)
    fork = machine.fork * (cores - 1)
    return (max(arithmetic, memory) + machine.call + fork) / (machine.ghz * 1e9)
