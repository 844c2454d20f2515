"""The regions of a program while they are decided: at any time each is convex and has one owner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from inarch.ir.target import machine_of, target_of, threads_of
from inarch.machine.estimate import Estimate, Work, least_seconds
from inarch.offload.instance import Instances
from inarch.offload.region import Region
from inarch.passes.partition.common import GIVE, tensor_blocks
from inarch.passes.partition.cut.regions import merged_regions


@dataclass(frozen=True)
class HostEstimate:
    """A fact: how long the host takes for some work. Without one it is what the machine allows."""

    seconds: Estimate = least_seconds


@dataclass
class Draft:
    """The regions, in the order they can be called; `replace` is the only change."""

    module: ModuleOp
    instances: Instances
    estimate: Estimate = least_seconds
    regions: list[Region] = field(default_factory=list[Region])
    by_op: dict[Operation, Region] = field(default_factory=dict[Operation, Region])

    def __post_init__(self) -> None:
        """Forms the maximal regions of the annotated ops."""
        self._target = target_of(self.module)
        self._machine = machine_of(self.module)
        self._threads = max(1, threads_of(self.module))
        for _, block in tensor_blocks(self.module):
            for found in merged_regions(block):
                self._add(self.region(found.backend, found.ops), len(self.regions))

    def host_seconds(self, work: Work) -> float:
        """The host's estimate on the program's machine; one thread where the program does not say."""
        return self.estimate(work, self._target, self._machine, self._threads)

    def region(self, owner: str, ops: Sequence[Operation]) -> Region:
        """A region of `ops`, which are in program order."""
        backend = self.instances.asked(owner, ops[0]).backend
        is_given = any(GIVE in op.attributes for op in ops)
        return Region(owner, tuple(ops), is_given, backend.bind_constants, self.host_seconds)

    def of(self, owner: str) -> list[Region]:
        """The regions of one instance."""
        return [region for region in self.regions if region.owner == owner]

    def owners(self, preferred: Sequence[str] = ()) -> list[str]:
        """Who has regions, those that are preferred first."""
        found = dict.fromkeys(region.owner for region in self.regions)
        first = [name for name in preferred if name in found]
        return [*first, *(name for name in found if name not in first)]

    def replace(self, old: Sequence[Region], new: Sequence[Region]) -> None:
        """`new` stand for `old`; ops of `old` that are in none of `new` are nobody's.

        Where one of `new` is not convex, `between` says so.
        """
        place = min(map(self.regions.index, old))
        for region in old:
            self.regions.remove(region)
            for op in region.ops:
                del self.by_op[op]
        for offset, region in enumerate(new):
            self._add(region, place + offset)

    def _add(self, region: Region, place: int) -> None:
        self.regions.insert(place, region)
        self.by_op.update(dict.fromkeys(region.ops, region))

    def between(self, region: Region) -> Operation | None:
        """An op outside of `region` that needs it and that it needs, other regions taken whole; or None.

        Where there is none for each region, regions as single calls make no cycle.
        """
        inside = set(region.ops)
        start = {user: user for op in inside for user in _users(op) if user not in inside}
        todo = list(start)
        while todo:
            op = todo.pop()
            around = self.by_op.get(op)
            for member in around.ops if around is not None else (op,):
                for user in _users(member):
                    if user in inside:
                        return start[op]
                    if user not in start:
                        start[user] = start[op]
                        todo.append(user)
                start.setdefault(member, start[op])
        return None


def sorted_ops(block: Block, ops: Sequence[Operation]) -> list[Operation]:
    """`ops`, all of `block`, in program order."""
    wanted = set(ops)
    return [op for op in block.ops if op in wanted]


def _users(op: Operation) -> Iterator[Operation]:
    for result in op.results:
        for use in result.uses:
            yield use.operation
