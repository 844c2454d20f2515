"""Decides which kernel does a nest: the candidates of all kernels, weighed; what does not say is measured.

A kernel that states no cost is expected to take what its meaning says, times what its calls that were
measured took of that. Where such a way looks best it is measured, and all ways of that kernel are weighed
anew, until the best way is one of which the cost is known. Its rival, the best way of a kernel that states
its cost, is measured too: the machine's numbers may be off, and only cycles of one kind can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError
from inarch.core.once import cached_property
from inarch.microkernel import Instance, is_foreign
from inarch.microkernel.template import template_of
from inarch.passes.tensorize.keep.memo import Decision, excluded_of
from inarch.passes.tensorize.report import Basis, Choice
from inarch.passes.tensorize.unify.likeness import likeness
from inarch.passes.tensorize.unify.match import Miss
from inarch.passes.tensorize.unify.strided import StridedNest
from inarch.passes.tensorize.weigh.candidates import (
    Candidate,
    sizes_of,
)
from inarch.passes.tensorize.weigh.family import Family
from inarch.passes.tensorize.weigh.made import Maker
from inarch.passes.tensorize.weigh.nest import nest_cycles
from inarch.passes.tensorize.weigh.search import candidates

Usable = Callable[[Instance], str | None]
"""An instance -> None, or why it cannot be built."""

Meter = Callable[[Instance, Mapping[str, int]], float | str | None]
"""An instance, sizes of a call -> cycles that it takes on this computer, or a line: what is wrong with it.

None: it cannot be called here.
"""

MOST_MEASURED = 8
"""Calls that are measured for one nest: each is of what looks best by all that is known."""
LEAST = 2500.0
"""Cycles: what takes less is done by a kernel where there is one."""
LONG = 1 << 15
"""Terms of a sum from which on a chain of all of them loses digits that users see, more than models have."""
MOST_IN_A_CHAIN = 512
"""Of them: what is lost then is a hundred ulps at most."""
OUTSIDE = "the nest is inside a loop or a branch, functions of libraries are called outside of them"


@dataclass
class Deciding:
    """One nest, and who may do it."""

    nest: StridedNest
    maker: Maker
    demanded: Sequence[str]
    usable: Usable | None
    measure: Meter | None
    results: dict[str, list[Candidate] | Miss] = field(
        default_factory=dict[str, list[Candidate] | Miss]
    )
    """Kernel -> its ways."""
    is_measured: bool = False
    """Whether what looked best was measured."""
    guessed: set[str] = field(default_factory=set[str])
    """Kernels that cannot be called here: what they take stays estimated."""

    def decide(self, families: Sequence[Family]) -> Decision:
        """The best candidate that can be built; where there are none, of kernels made for the nest."""
        self._weigh(families)
        while True:
            refused = self._measured() if self.measure is not None else None
            found, misses = self._found()
            if refused is None and found:
                refused = self._refused(found[0])
            if refused is None:
                taken = found[0] if found else None
                return Decision(taken, tuple(map(choice_of, found)), misses)
            name, reason = refused
            if name in self.demanded:
                raise InarchError(reason)
            self.maker.refused.add(name)
            self.results[name] = Miss(reason, 5)

    def _weigh(self, families: Sequence[Family]) -> None:
        """Those that may be cheapest come first: what is far from them need not be looked into."""
        known = math.inf
        for family in sorted(
            families, key=lambda one: one.best_cycles_a_point if one.members else 0
        ):
            result = self._ways(family, known)
            if family.is_stated and isinstance(result, list):
                known = min(known, result[0].cost)
        order = [family.pattern.name for family in families]
        self.results = {name: self.results[name] for name in order}

    def _ways(self, family: Family, known: float) -> list[Candidate] | Miss:
        name = family.pattern.name
        found: list[Candidate] | Miss = Miss(OUTSIDE, 0)
        if name in excluded_of(self.nest):
            found = Miss("a schedule keeps it from the nest", 0)
        elif not (self.nest.is_in_loop and is_foreign(family.pattern.kernel)):
            most = known if family.is_stated and name not in self.demanded else math.inf
            found = candidates(self.nest, family, most)
        if isinstance(found, Miss):
            found = replace(found, likeness=likeness(self.nest, family.pattern))
        self.results[name] = found
        return found

    def _found(self) -> tuple[list[Candidate], dict[str, Miss]]:
        """All ways that are no worse than none, the best first; and kernels that have none, and why."""
        found: list[Candidate] = []
        misses: dict[str, Miss] = {}
        for name, result in self.results.items():
            if isinstance(result, Miss):
                misses[name] = result
            else:
                found += result
        found = [one for one in found if not self._is_left_out(one, misses)]
        # Ours are made to measure where there is no other, or none whose cost is sure.
        if not any(self._is_demanded(one) or one.family.is_stated for one in found):
            left_out = excluded_of(self.nest)
            made = self.maker.candidates(self.nest)
            made = [one for one in made if template_of(one.family.pattern.name) not in left_out]
            found += [one for one in made if not self._is_left_out(one, misses)]
        return sorted(found, key=self._preference), misses

    def _preference(self, one: Candidate) -> tuple[bool, tuple[int, float, int, int]]:
        """Where calls can be measured, what was not is not preferred."""
        is_known = self.is_measured or one.family.pattern.name in self.guessed
        is_guessed = self.measure is not None and one.basis == "estimated" and is_known
        return is_guessed and not self._is_demanded(one), preference(one, self.demanded)

    def _is_demanded(self, one: Candidate) -> bool:
        return one.family.pattern.name in self.demanded

    def _is_left_out(self, candidate: Candidate, misses: dict[str, Miss]) -> bool:
        """Whether it would be slower than none, or lose digits; noted in `misses`."""
        if self._is_demanded(candidate):
            return False
        chain = _chain(candidate)
        if chain > MOST_IN_A_CHAIN:
            reason = f"it would add up {chain} terms one after the other, others do it in blocks"
            misses.setdefault(candidate.family.pattern.name, Miss(reason, 5))
            return True
        return self._is_dear(candidate, misses)

    @cached_property
    def _plain(self) -> float:
        """Cycles of the nest without a kernel, or so few that nobody minds a kernel."""
        return max(LEAST, nest_cycles(self.nest.nest, self.maker.target, self.maker.machine))

    def _is_dear(self, candidate: Candidate, misses: dict[str, Miss]) -> bool:
        """Whether the nest is better off without a kernel; noted in `misses`."""
        if candidate.cost <= self._plain:
            return False
        name = candidate.family.pattern.name
        reason = f"it would take {candidate.cost:.0f} cycles, the nest as it is {self._plain:.0f}"
        misses.setdefault(name, Miss(reason, 5))
        return True

    def _measured(self) -> tuple[str, str] | None:
        """Measures what looks best until its cost is known; a kernel that fails so, and why."""
        self.is_measured = False
        for _ in range(MOST_MEASURED):
            found, _ = self._found()
            first = found[0] if found else None
            if first is None or first.basis != "estimated":
                break
            name = first.family.pattern.name
            if name in self.guessed:
                break
            cycles = self._cycles(first)
            if isinstance(cycles, str):
                return name, cycles
            if cycles is None:
                self.guessed.add(name)
                continue
            sizes = sizes_of(first.family, first.main)
            first.family.learn(first.main.params, sizes, cycles / self._pace(found))
            self._ways(first.family, math.inf)
        self.is_measured = True
        return None

    def _cycles(self, one: Candidate) -> float | str | None:
        assert self.measure is not None, "it is asked for where there is one"
        return self.measure(
            one.family.instance(one.main.params, one.init), sizes_of(one.family, one.main)
        )

    def _pace(self, found: Sequence[Candidate]) -> float:
        """Cycles of this computer in one of those that costs are stated in: by the best way that has one."""
        rival = next((one for one in found if one.basis == "stated"), None)
        cycles = self._cycles(rival) if rival is not None else ""
        if rival is None or not isinstance(cycles, float):
            return 1.0
        piece = rival.main
        return cycles / rival.family.cycles(piece.params, rival.init, sizes_of(rival.family, piece))

    def _refused(self, first: Candidate) -> tuple[str, str] | None:
        """A kernel that cannot be built, or is wrong, and why."""
        if self.usable is None:
            return None
        reason = self.usable(first.family.instance(first.params))
        return (first.family.pattern.name, reason) if reason is not None else None


def _chain(candidate: Candidate) -> int:
    """Terms of a long sum of floats that a kernel of ours adds one after the other; 0 of short sums."""
    kernel, axes = candidate.family.pattern.kernel, candidate.matched.nest.axes
    cuts = [cut for axis, cut in zip(axes, candidate.main.cuts, strict=True) if axis.is_reduction]
    calls, terms = (math.prod(each) for each in ([c.count for c in cuts], [c.block for c in cuts]))
    is_float = DTYPES[kernel.dtypes[candidate.family.pattern.output]].is_float
    if kernel.contract or not is_float or calls * terms <= LONG:
        return 0
    return calls if kernel.adds_in_blocks else calls * terms


def preference(candidate: Candidate, demanded: Sequence[str]) -> tuple[int, float, int, int]:
    """Demanded kernels first, then by cost."""
    name = candidate.family.pattern.name
    rank = demanded.index(name) if name in demanded else len(demanded)
    return rank, candidate.cost, candidate.scattered, candidate.idle


def choice_of(candidate: Candidate) -> Choice:
    """What the report says of a candidate."""
    pattern, nest = candidate.matched.pattern, candidate.matched.nest
    copies = {
        f"{name}: {operand.reason}": None
        for call in candidate.calls
        for name, operand in call.plan.operands.items()
        if operand.reason is not None
    }
    packed = {
        name: None
        for call in candidate.calls
        for name, operand in call.plan.operands.items()
        if name != pattern.output and operand.access.is_constant
    }
    taken = [
        f"{', '.join(names)} <- {axis.name}"
        for axis, names in zip(nest.axes, candidate.matched.assignment.taken, strict=True)
        if names
    ]
    return Choice(
        pattern.name,
        dict(candidate.params),
        candidate.cost,
        candidate.around,
        sum(math.prod(cut.count for cut in call.piece.cuts) for call in candidate.calls),
        tuple(copies),
        "; ".join(taken),
        candidate.scattered,
        candidate.idle,
        tuple(packed),
        candidate.basis,
        {basis: round(cycles, 1) for basis, cycles in _call(candidate).items()},
    )


def _call(candidate: Candidate) -> dict[Basis, float]:
    """What one of the calls that do most takes: by all that is known of it."""
    family, piece = candidate.family, candidate.main
    sizes = sizes_of(family, piece)
    basis = candidate.basis
    found: dict[Basis, float] = {basis: family.cycles(piece.params, candidate.init, sizes)}
    if basis == "measured":
        found["estimated"] = family.estimate(piece.params, sizes)
    return found
