"""What `parallelize` found, as a fact: which loops threads share, and which ops are one thread's, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Sharing:
    """One op."""

    location: str | None
    """Where it came from: the node's name in a model, `file:line:column` in text."""
    work_us: float
    """Microseconds of one thread, at least, on the machine."""
    loop: str | None
    """The iterator whose iterations are shared; None: one thread does it all."""
    iterations: int
    """Of that loop, or 1."""
    why: str
    """Why it is one thread's, or empty."""

    def text(self) -> str:
        """`threads share the 56 iterations of oh, 12 us of work at least`."""
        work = f"{self.work_us:.3g} us of work at least"
        if self.loop is None:
            return f"one thread: {self.why}, {work}"
        return f"threads share the {self.iterations} iterations of {self.loop}, {work}"

    def to_json(self) -> dict[str, Any]:
        """As `json.dumps` takes it."""
        return {
            "where": self.location,
            "work_us": self.work_us,
            "loop": self.loop,
            "iterations": self.iterations,
            "why": self.why,
        }


@dataclass
class SharingReport:
    """Every op that `parallelize` looked at, in the program's order."""

    ops: tuple[Sharing, ...]

    @property
    def total_us(self) -> float:
        """Microseconds of all."""
        return sum(one.work_us for one in self.ops)

    def least_us(self, threads: int) -> float:
        """Microseconds that so many threads take at least: of each op, the one with the most iterations."""
        return sum(one.work_us * -(-one.iterations // threads) / one.iterations for one in self.ops)
