"""Which kernel does which nest, and why the others do not: data for `inarch explain` and for warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

Basis = Literal["stated", "estimated", "measured"]
"""How the cycles of a call are known: the kernel says, its meaning does, or it was run here."""


@dataclass(frozen=True)
class Choice:
    """A way to do a nest by a kernel."""

    kernel: str
    params: Mapping[str, int]
    cost: float
    """Cycles with everything around the calls."""
    around: float
    """Cycles that are not the calls' own: copies, panels loaded again, nests before and after."""
    calls: int
    """How often the kernel runs."""
    copies: tuple[str, ...]
    """The operands that are copied, and why: `B: stride 1 of dimension 0, 16 is demanded`."""
    iterators: str
    """Which iterator of the meaning takes which of the nest: `m <- oh, k <- ic`."""
    scattered: int = 0
    """How many operands do not lie in order along their last dimension: decides between equal costs."""
    idle: int = 0
    """How many of the kernel's iterators have one point, or share an axis: decides where that is equal."""
    packed: tuple[str, ...] = ()
    """The operands that are constants, so that their copies are made at compile time."""
    basis: Basis = "stated"
    """How the cycles of a call are known."""
    call: Mapping[Basis, float] = field(default_factory=dict[Basis, float])
    """Cycles of one of the calls that do most: what is stated, measured, estimated, as far as is known."""

    def __str__(self) -> str:
        said = ", ".join(f"{name} = {value}" for name, value in self.params.items())
        basis = "" if self.basis == "stated" else f" ({self.basis})"
        name = f"{self.kernel} ({said})" if said else self.kernel
        return f"{name}: {self.cost:.0f} cycles{basis}"


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
    progress: Mapping[str, int] = field(default_factory=dict[str, int])
    """How far the attempt of each of `misses` got, from 0 (the target) to 5 (it cannot be built)."""
    reduces: bool = False
    """Whether the nest has a reduction."""
    computes: str = ""
    """What it does at each point, `out = in0 * in1 + out`: what a meaning has to do to match."""
    by_hand: bool = False
    """Whether a schedule has said so (`use-kernel`): nothing else was tried."""
    iterations: int = 1
    """How often it runs in a call: likely trip counts of the loops around it and around its body's calls."""
    multiply_adds: int = 0
    """Products that it sums up in one iteration."""
    plain: float = 0.0
    """Cycles of one iteration without a kernel."""
    likeness: Mapping[str, float] = field(default_factory=dict[str, float])
    """How much the nest looks like what each of `misses` computes, from 0 to 4."""
    address: str = ""
    """The name of the nest for the target, as records have it."""
    is_tuned: bool = False
    """Whether what was taken was measured to be the best (`inarch tune`)."""

    @property
    def cycles(self) -> float:
        """Of all iterations in a call, with the kernel that was taken, or without one."""
        own = self.plain if self.taken is None else self.taken.cost
        return self.iterations * own

    def in_all(self, choice: Choice) -> Choice:
        """What a candidate, whose costs are of one iteration, takes in all iterations of a call."""
        iterations = self.iterations
        return replace(
            choice,
            cost=iterations * choice.cost,
            around=iterations * choice.around,
            calls=iterations * choice.calls,
        )

    @property
    def nearest(self) -> str | None:
        """The kernel without a candidate that got furthest."""
        return max(self.misses, key=lambda name: self.progress.get(name, 0), default=None)

    @property
    def is_work_of_kernels(self) -> bool:
        """Whether a kernel does it, or could be meant for it: it reduces, or some kernel's body is its own.

        Fills, copies and what is computed element by element is not.
        """
        return self.taken is not None or self.reduces or max(self.progress.values(), default=0) > 1

    @property
    def runner_up(self) -> Choice | None:
        """The next best after the one taken that is another kernel, or has other parameters."""
        first = self.taken
        if first is None:
            return None
        own = (first.kernel, dict(first.params))
        others = (one for one in self.candidates if (one.kernel, dict(one.params)) != own)
        return next(others, None)


@dataclass(frozen=True)
class KernelReport:
    """What `tensorize` did, nest by nest in program order."""

    kernels: tuple[str, ...]
    """Those that were tried."""
    nests: tuple[NestReport, ...]
    unusable: Mapping[str, str] = field(default_factory=dict[str, str])
    """Kernels that nothing can be matched with, in one located line each: broken ones among them."""
    demanded: tuple[str, ...] = ()
    """Those of `kernels` that were asked for by name, the first one preferred."""
    between: Mapping[str, str] = field(default_factory=dict[str, str])
    """Kernels that do nothing -> the passes that stand between; `inarch explain` works it out."""

    @property
    def cycles(self) -> float:
        """What a call takes by the costs: of all nests, in all iterations of the loops around them."""
        return sum(nest.cycles for nest in self.nests)

    def done_by_kernels(self) -> float:
        """The part of all multiply-adds of a call that kernels do; 1 where there are none."""
        every = sum(nest.iterations * nest.multiply_adds for nest in self.nests)
        own = sum(n.iterations * n.multiply_adds for n in self.nests if n.taken is not None)
        return own / every if every else 1.0

    @property
    def tuned(self) -> tuple[int, int]:
        """The nests whose kernel a record has, and those that are work of kernels."""
        every = [nest for nest in self.nests if nest.is_work_of_kernels]
        return sum(nest.is_tuned for nest in every), len(every)

    def taken_by(self, kernel: str) -> tuple[NestReport, ...]:
        """The nests that `kernel` does."""
        return tuple(n for n in self.nests if n.taken is not None and n.taken.kernel == kernel)

    def idle_reason(self, kernel: str) -> tuple[str | None, str]:
        """Why `kernel` does nothing, of the nest that it comes nearest to: its location, and the text."""
        offers = [
            (nest, nest.taken, choice)
            for nest in self.nests
            for choice in nest.candidates
            if choice.kernel == kernel and nest.taken is not None
        ]
        if offers:
            nest, taken, own = min(offers, key=lambda offer: offer[2].cost)
            is_asked = taken.kernel in self.demanded and kernel not in self.demanded
            verb = "is demanded, not" if is_asked else "is preferred to"
            return nest.location, f"{taken} {verb} {own}"
        if not (missed := self.missed_by(kernel)):
            return None, "there is no nest"
        nest = missed[0]
        return nest.location, f"of the nest ({nest.iterators}): {nest.misses[kernel]}"

    def missed_by(self, kernel: str) -> list[NestReport]:
        """The nests that it does not fit, those that look most like it first."""

        def nearness(one: NestReport) -> tuple[float, int]:
            return one.likeness.get(kernel, 0.0), one.progress.get(kernel, 0)

        missed = [nest for nest in self.nests if kernel in nest.misses]
        return sorted(missed, key=nearness, reverse=True)

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
