"""A kernel of the table as the pass uses it: its pattern, its members for a target, their instances."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from inarch.core.errors import InarchError
from inarch.core.once import cached_property
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.meaning import Expression
from inarch.microkernel import Init, Instance, Microkernel, demands, instantiate, members
from inarch.microkernel.estimate import estimated_cycles
from inarch.passes.tensorize.report import Basis
from inarch.passes.tensorize.unify.pattern import KernelPattern, pattern_of
from inarch.passes.tensorize.weigh.cost import Costs
from inarch.passes.tensorize.weigh.operands import Demands
from inarch.passes.tensorize.weigh.tiles import Params

NOMINAL_SIZE = 16
"""Of the sizes that a call gives, when members are compared without a nest."""

LARGE_SIZE = 64
"""Of those sizes, when the cost of beginning and ending a call should not count."""

MOST_KEPT = 20_000
"""Costs of calls that a family remembers, of the sizes of all programs, before it begins anew."""

_T = TypeVar("_T")
_Key = tuple[tuple[int, ...], Init, Expression | None, tuple[tuple[str, str], ...]]
_Sizes = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class _Measured:
    """A call that was run."""

    cycles: float
    least: float
    """What its meaning lets one expect."""

    def expected(self, least: float) -> float:
        """Of a call of which the meaning says `least`: so many times as much, or so much more: the lesser.

        What looks good by that is measured itself.
        """
        return min(least * self.cycles / self.least, least + self.cycles - self.least)


FLUSHES = "denormals are 0 to it, which --precision bf16 or f16 allows"
"""Why a kernel is not used."""


@dataclass
class Family:
    """The kernel `pattern.name` for `target` on `machine`; instances and demands are made once."""

    pattern: KernelPattern
    target: Target
    machine: Machine
    members: list[dict[str, int]]
    is_optional: bool = False
    """A cost that fails is then no error: calls cost infinitely much, and `failure` says why."""
    failure: str | None = None
    only: str = ""
    """What was asked for, where that is not all members."""
    _keys: frozenset[tuple[int, ...]] = frozenset()
    _instances: dict[_Key, Instance] = field(default_factory=dict[_Key, Instance])
    _demands: dict[tuple[int, ...], Demands] = field(default_factory=dict[tuple[int, ...], Demands])
    _cycles: dict[object, float] = field(default_factory=dict[object, float])
    _measured: dict[tuple[int, ...], dict[_Sizes, _Measured]] = field(
        default_factory=dict[tuple[int, ...], "dict[_Sizes, _Measured]"]
    )
    """Member -> sizes of the call -> what it took: of kernels that state no cost."""
    _allowed: dict[str, dict[tuple[int, ...], tuple[int, ...]]] = field(
        default_factory=dict[str, dict[tuple[int, ...], tuple[int, ...]]]
    )

    _fitting: dict[object, list[dict[str, int]]] = field(
        default_factory=dict[object, list[dict[str, int]]]
    )

    def __post_init__(self) -> None:
        self._keys = frozenset(self._key(member) for member in self.members)

    @classmethod
    def of(
        cls,
        name: str,
        kernel: Microkernel,
        target: Target,
        machine: Machine | None = None,
        *,
        is_optional: bool = False,
    ) -> Family:
        """The family, on `machine` or the target's own; the same one for programs that come later.

        Raises InarchError for a kernel that is unsound or of no known form.
        """
        machine = machine or target.machine
        key = (f"family {name} {is_optional}", target, machine)
        known = kernel.derived.get(key)
        if known is not None and known.is_good_for_others:
            return known
        pattern, own = pattern_of(name, kernel), members(kernel, target)
        found = kernel.derived[key] = cls(pattern, target, machine, own, is_optional)
        return found

    def having(self, members: Sequence[dict[str, int]], only: str) -> Family:
        """The same with these members alone; `only` is what they are called."""
        return replace(self, members=[*members], only=only, _cycles={}, _fitting={}, _allowed={})

    @property
    def is_good_for_others(self) -> bool:
        """Whether later programs take it: its cost has not failed, and it does not remember too much."""
        return self.failure is None and len(self._cycles) < MOST_KEPT

    @property
    def is_stated(self) -> bool:
        """Whether the kernel says what a call costs."""
        return self.pattern.kernel.cost is not None

    @cached_property
    def costs(self) -> Costs:
        """What things cost on the machine."""
        return Costs(self.machine)

    def is_member(self, params: Params) -> bool:
        """Whether the family has these parameters on the target."""
        return self._key(params) in self._keys

    def instance(
        self,
        params: Params,
        init: Init | None = None,
        finish: Expression | None = None,
        extras: Mapping[str, str] | None = None,
    ) -> Instance:
        """The member with `params` and variants; without an init, the first one that there is."""
        init = init or self.pattern.kernel.inits[0]
        own = {name: params[name] for name in self.pattern.kernel.params}
        key = (self._key(params), init, finish, tuple((extras or {}).items()))
        if key not in self._instances:
            self._instances[key] = instantiate(
                self.pattern.kernel,
                self.pattern.name,
                own,
                target=self.target,
                init=init,
                finish=finish,
                extras=extras,
                machine=self.machine,
            )
        return self._instances[key]

    def demands(self, params: Params) -> Demands:
        """The strides that the member relies on."""
        key = self._key(params)
        if key not in self._demands:
            self._demands[key] = demands(self.instance(params))
        return self._demands[key]

    def cycles(self, params: Params, init: Init, sizes: Mapping[str, int]) -> float:
        """Of one call of the member with these sizes.

        Of a kernel that states no cost, what was measured, or else the estimate of its meaning, times what
        the calls that were measured took of theirs.

        Raises InarchError where the kernel's own function fails, unless the kernel is optional.
        """
        cost = self.pattern.kernel.cost
        if isinstance(cost, int | float):
            return cost
        if self.failure is not None:
            return math.inf
        key = (self._key(params), init, tuple(sizes.items()))
        if key not in self._cycles:
            if cost is None:
                self._cycles[key] = self._expected(params, sizes)
                return self._cycles[key]
            try:
                self._cycles[key] = _called(cost, self._draft(params, init, sizes))
            except InarchError as error:
                if not self.is_optional:
                    raise
                self.failure = str(error)
                return math.inf
        return self._cycles[key]

    def basis(self, params: Params, sizes: Mapping[str, int]) -> Basis:
        """How `cycles` is known."""
        if self.pattern.kernel.cost is not None:
            return "stated"
        known = self._measured.get(self._key(params), {})
        return "measured" if tuple(sizes.items()) in known else "estimated"

    def estimate(self, params: Params, sizes: Mapping[str, int]) -> float:
        """The least that a call takes by the kernel's meaning."""
        kernel, known = self.pattern.kernel, {**sizes, **params}
        return estimated_cycles(kernel, self.pattern.normal, known, self.target, self.machine)

    def learn(self, params: Params, sizes: Mapping[str, int], cycles: float) -> None:
        """A call took so many cycles: what its likes take is expected anew."""
        found = _Measured(cycles, self.estimate(params, sizes))
        self._measured.setdefault(self._key(params), {})[tuple(sizes.items())] = found
        self._cycles.clear()
        self._fitting.clear()
        for name in _DERIVED:
            self.__dict__.pop(name, None)
        derived = self.pattern.kernel.derived
        for key in [key for key in derived if key[0].partition(" ")[0] in _DERIVED]:
            del derived[key]

    def _expected(self, params: Params, sizes: Mapping[str, int]) -> float:
        own = self._measured.get(self._key(params), {})
        if (exact := own.get(tuple(sizes.items()))) is not None:
            return exact.cycles
        least = self.estimate(params, sizes)
        if own:
            return own[min(own, key=lambda known: _distance(dict(known), sizes))].expected(least)
        # The best that the kernel has shown, so that a better member is tried.
        every = (each for known in self._measured.values() for each in known.values())
        return least * min((each.cycles / each.least for each in every), default=1.0)

    def _draft(self, params: Params, init: Init, sizes: Mapping[str, int]) -> Instance:
        """The member as `cost` sees it: `instantiate` does too much to be called for every member."""
        own = {name: params[name] for name in self.pattern.kernel.params}
        return replace(self._template, params=own, sizes=dict(sizes), init=init)

    @cached_property
    def _template(self) -> Instance:
        return self.instance(self.members[0])

    def allowed(self, parameter: str, params: Params) -> Sequence[int]:
        """The values that `parameter` can have beside the other `params`, the largest first."""
        if parameter not in self._allowed:
            found: dict[tuple[int, ...], list[int]] = {}
            for member in self.members:
                found.setdefault(self._others(parameter, member), []).append(member[parameter])
            self._allowed[parameter] = {
                key: tuple(sorted(values, reverse=True)) for key, values in found.items()
            }
        return self._allowed[parameter].get(self._others(parameter, params), ())

    def _others(self, parameter: str, params: Params) -> tuple[int, ...]:
        return tuple(params[name] for name in self.pattern.kernel.params if name != parameter)

    @cached_property
    def by_efficiency(self) -> list[dict[str, int]]:
        """The members, those first that take the fewest cycles a point of a nest of middling size."""
        sizes = dict.fromkeys(self.pattern.free, NOMINAL_SIZE)
        return self._derived(
            "by_efficiency",
            lambda: sorted(self.members, key=lambda one: self._cycles_a_point(one, sizes)),
        )

    def smallest(self, size: int | str) -> int:
        """The least value of a size; 1 of one that the call gives."""
        return size if isinstance(size, int) else self._smallest.get(size, 1)

    @cached_property
    def _smallest(self) -> dict[str, int]:
        names = self.pattern.kernel.params
        return {name: min(member[name] for member in self.members) for name in names}

    def fitting(self, possible: Mapping[str, frozenset[int]]) -> Sequence[dict[str, int]]:
        """Those of `by_efficiency` whose parameters have possible values."""
        key = tuple(possible.items())
        if key not in self._fitting:
            found = self.by_efficiency
            for name, values in key:
                found = [one for one in found if one[name] in values]
            self._fitting[key] = found
        return self._fitting[key]

    @cached_property
    def best_cycles_a_point(self) -> float:
        """Of the most efficient member, in a nest with long reductions: no nest is done faster."""
        sizes = dict.fromkeys(self.pattern.free, LARGE_SIZE)
        return self._derived(
            "best_cycles_a_point",
            lambda: min(self._cycles_a_point(one, sizes) for one in self.members),
        )

    def _derived(self, name: str, make: Callable[[], _T]) -> _T:
        """What `make` finds, once for all programs; again where the kernel's cost has failed."""
        known = self.pattern.kernel.derived
        key = (f"{name} {self.only}", self.target, self.machine)
        if key in known:
            return known[key]
        found = make()
        if self.failure is None:
            known[key] = found
        return found

    def _cycles_a_point(self, params: Params, sizes: Mapping[str, int]) -> float:
        points = 1
        for iterator in self.pattern.iterators:
            size = iterator.size
            points *= _size(size, {**sizes, **params})
        return self.cycles(params, "accumulate", sizes) / points

    def _key(self, params: Params) -> tuple[int, ...]:
        return tuple([params[name] for name in self.pattern.kernel.params])


_DERIVED = ("by_efficiency", "best_cycles_a_point")
"""What follows from the cycles of all members."""


def _distance(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Between the sizes of two calls: how many times one is the other, of all sizes."""
    return sum(abs(math.log(size / other[name])) for name, size in one.items())


def _size(size: int | str, known: Mapping[str, int]) -> int:
    return size if isinstance(size, int) else known[size]


def _called(cost: Callable[[Instance], float], member: Instance) -> float:
    """What a kernel's `cost` says. Raises InarchError where it fails, or is no number of cycles."""
    where = f"microkernel '{member.name}'"
    try:
        found = float(cost(member))
    except (InarchError, KeyboardInterrupt):
        raise
    except (Exception, SystemExit) as error:  # a kernel's author writes anything
        raise InarchError(f"cost fails: {type(error).__name__}: {error}", where=where) from error
    if not 0 <= found < math.inf:
        raise InarchError(f"expected a cost of 0 or more cycles, found {found}", where=where)
    return found
