"""Which kernel does which nest, and why the others do not: data for `inarch explain` and for warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Choice:
    """A way to do a nest by a kernel."""

    kernel: str
    params: Mapping[str, int]
    cost: float | None
    """Cycles with everything around the calls; None where the kernel does not state its own."""
    calls: int
    """How often the kernel runs."""
    copies: tuple[str, ...]
    """The operands that are copied, and why: `B: stride 1 of dimension 0, 16 is demanded`."""
    iterators: str
    """Which iterator of the meaning takes which of the nest: `m <- oh, k <- ic`."""

    def __str__(self) -> str:
        said = ", ".join(f"{name} = {value}" for name, value in self.params.items())
        cost = "unknown cost" if self.cost is None else f"{self.cost:.0f} cycles"
        return f"{self.kernel} ({said})" * bool(said) + self.kernel * (not said) + f": {cost}"


@dataclass(frozen=True)
class NestReport:
    """One nest of the program."""

    location: str | None
    """Where it came from: the node's name in a model, `file:line:column` in text."""
    function: str
    """The symbol of the function it is in."""
    iterators: str
    """`m = 4, n = 16, k = 8 reduction`."""
    taken: Choice | None
    """What was chosen; None: the plain path compiles the nest."""
    candidates: tuple[Choice, ...]
    """The cheapest first, the one taken among them."""
    misses: Mapping[str, str]
    """For each kernel without a candidate: the first difference."""


@dataclass(frozen=True)
class Report:
    """What `tensorize` did, nest by nest in program order."""

    kernels: tuple[str, ...]
    """Those that were tried."""
    nests: tuple[NestReport, ...]
    unusable: Mapping[str, str] = field(default_factory=dict[str, str])
    """Kernels that nothing can be matched with, in one located line each: broken ones among them."""

    def taken_by(self, kernel: str) -> tuple[NestReport, ...]:
        """The nests that `kernel` does."""
        return tuple(n for n in self.nests if n.taken is not None and n.taken.kernel == kernel)

    def to_json(self) -> dict[str, Any]:
        """The report as `json.dumps` takes it."""
        return asdict(self)

    def __str__(self) -> str:
        """One line a nest, one a candidate, one a miss."""
        lines = [f"no kernel {name}: {reason}" for name, reason in self.unusable.items()]
        for nest in self.nests:
            place = f" at {nest.location}" if nest.location else ""
            taken = str(nest.taken) if nest.taken is not None else "no kernel"
            lines.append(f"@{nest.function}{place} ({nest.iterators}): {taken}")
            lines += [f"    candidate {choice}" for choice in nest.candidates]
            lines += [f"    not {kernel}: {reason}" for kernel, reason in nest.misses.items()]
        return "\n".join(lines)
