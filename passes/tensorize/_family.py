"""A kernel of the table as the pass uses it: its pattern, its members for a target, their instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from inarch.meaning import Expression
from inarch.microkernel import Init, Instance, Microkernel, demands, instantiate, members
from inarch.passes.tensorize._operands import Demands
from inarch.passes.tensorize._pattern import Pattern, pattern_of
from inarch.passes.tensorize._tiles import Params
from inarch.target import Target

_Key = tuple[tuple[int, ...], Init, Expression | None, tuple[tuple[str, str], ...]]


@dataclass
class Family:
    """The kernel `pattern.name` on `target`; instances and demands are made once."""

    pattern: Pattern
    target: Target
    members: list[dict[str, int]]
    _keys: frozenset[tuple[int, ...]] = frozenset()
    _instances: dict[_Key, Instance] = field(default_factory=dict[_Key, Instance])
    _demands: dict[tuple[int, ...], Demands] = field(default_factory=dict[tuple[int, ...], Demands])
    _cycles: dict[object, float | None] = field(default_factory=dict[object, float | None])
    _ranked: dict[object, list[dict[str, int]]] = field(
        default_factory=dict[object, list[dict[str, int]]]
    )

    def __post_init__(self) -> None:
        self._keys = frozenset(self._key(member) for member in self.members)

    @classmethod
    def of(cls, name: str, kernel: Microkernel, target: Target) -> Family:
        """The family. Raises InarchError for a kernel that is unsound or of no known form."""
        return cls(pattern_of(name, kernel), target, members(kernel, target))

    def is_member(self, params: Params) -> bool:
        """Whether the family has these parameters on the target."""
        return self._key(params) in self._keys

    def instance(
        self,
        params: Params,
        init: Init = "accumulate",
        finish: Expression | None = None,
        extras: Mapping[str, str] | None = None,
    ) -> Instance:
        """The member with `params` and variants."""
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
            )
        return self._instances[key]

    def demands(self, params: Params) -> Demands:
        """The strides that the member relies on."""
        key = self._key(params)
        if key not in self._demands:
            self._demands[key] = demands(self._plain(params))
        return self._demands[key]

    def cycles(self, params: Params, init: Init, sizes: Mapping[str, int]) -> float | None:
        """Of one call of the member with these sizes; None where the kernel does not say."""
        cost = self.pattern.kernel.cost
        if cost is None or isinstance(cost, int | float):
            return cost
        key = (self._key(params), init, tuple(sizes.items()))
        if key not in self._cycles:
            one = self.instance(params, init) if self._has(init) else self._plain(params)
            self._cycles[key] = cost(replace(one, sizes=dict(sizes)))
        return self._cycles[key]

    def by_efficiency(self, sizes: Mapping[str, int]) -> list[dict[str, int]]:
        """The members, those first that take the fewest cycles a point; with these sizes given."""
        key = tuple(sizes.items())
        if key not in self._ranked:
            self._ranked[key] = sorted(
                self.members, key=lambda one: self._cycles_a_point(one, sizes)
            )
        return self._ranked[key]

    def _cycles_a_point(self, params: Params, sizes: Mapping[str, int]) -> float:
        points = 1
        for iterator in self.pattern.iterators:
            size = iterator.size
            points *= params[size] if isinstance(size, str) and size in params else 1
        cycles = self.cycles(params, "accumulate", sizes)
        return (1.0 if cycles is None else cycles) / points

    def _plain(self, params: Params) -> Instance:
        return self.instance(params, "accumulate")

    def _has(self, init: Init) -> bool:
        return init in self.pattern.kernel.inits

    def _key(self, params: Params) -> tuple[int, ...]:
        return tuple(params[name] for name in self.pattern.kernel.params)
