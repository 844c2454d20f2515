"""Maximal regions: neighbours of one backend merge unless that would make a cycle through others.

Every op starts as a region of its own. The quotient graph (a node a region) is kept acyclic: merging
a -> b makes a cycle exactly when another path leads from a to b. A topological order of the quotient is
kept (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006), so
that only regions between a and b are searched. Merging goes on until no pair is left, so the result
is maximal; a smaller cut does not follow from it, which is why the order of merging is the program's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation

from inarch.dialects.graph.constant import ConstantOp
from inarch.passes.partition._common import BACKEND, text_of


@dataclass(frozen=True)
class RegionOfOps:
    """Ops of one backend, in program order, that become one function."""

    backend: str
    ops: tuple[Operation, ...]


def merged_regions(block: Block) -> list[RegionOfOps]:
    """The maximal convex regions of the annotated ops of `block`, in the order they can be called."""
    ops = [op for op in block.ops if not isinstance(op, ConstantOp)]
    owners = [text_of(op, BACKEND) for op in ops]
    number = {op: index for index, op in enumerate(ops)}
    inputs = [_producers(op, number) for op in ops]
    quotient = _Quotient(inputs)
    edges = [
        (producer, user)
        for user, producers in enumerate(inputs)
        for producer in producers
        if owners[user] is not None and owners[producer] == owners[user]
    ]
    merged = True
    while merged:
        merged = False
        for producer, user in edges:
            merged |= quotient.merge(producer, user)
    members: dict[int, list[Operation]] = {}
    for index, op in enumerate(ops):
        if owners[index] is not None:
            members.setdefault(quotient.find(index), []).append(op)
    order = sorted(members, key=quotient.place.__getitem__)
    return [RegionOfOps(owners[root] or "", tuple(members[root])) for root in order]


def _producers(op: Operation, number: dict[Operation, int]) -> list[int]:
    found = dict.fromkeys(
        number[operand.owner]
        for operand in op.operands
        if isinstance(operand.owner, Operation) and operand.owner in number
    )
    return list(found)


class _Quotient:
    """The graph of regions, each named by one of its ops, with a place in a topological order."""

    def __init__(self, inputs: Sequence[Sequence[int]]) -> None:
        count = len(inputs)
        self.place = list(range(count))
        self._parent = list(range(count))
        self._before = [set(producers) for producers in inputs]
        self._after: list[set[int]] = [set() for _ in range(count)]
        for user, producers in enumerate(inputs):
            for producer in producers:
                self._after[producer].add(user)

    def find(self, node: int) -> int:
        """The region that has the op `node`."""
        while self._parent[node] != node:
            self._parent[node] = self._parent[self._parent[node]]
            node = self._parent[node]
        return node

    def merge(self, producer: int, user: int) -> bool:
        """Merges the regions of an edge, unless they are one or it would make a cycle."""
        a, b = self.find(producer), self.find(user)
        if a == b:
            return False
        later = self._search(self._after, a, b, self.place[b])
        if later is None:
            return False
        self._order(a, b, later)
        self._join(a, b)
        return True

    def _search(
        self, edges: Sequence[set[int]], start: int, goal: int, limit: int
    ) -> set[int] | None:
        """What follows `start` (not by its edge to `goal`) before place `limit`; None for `goal`."""
        todo = [n for n in edges[start] if n != goal and self.place[n] < limit]
        found = set(todo)
        while todo:
            for node in edges[todo.pop()]:
                if node == goal:
                    return None
                if node not in found and self.place[node] < limit:
                    found.add(node)
                    todo.append(node)
        return found

    def _order(self, a: int, b: int, later: set[int]) -> None:
        """Gives a and b one place: after what b needs, before `later`, what needs a."""
        if not later:
            self.place[a] = self.place[b]
            return
        earlier = self._needed(b, self.place[a])
        earlier.discard(a)
        if earlier:
            pool = sorted(self.place[n] for n in (a, b, *earlier, *later))
            for place, node in zip(pool, sorted(earlier, key=self._at), strict=False):
                self.place[node] = place
            self.place[a] = pool[len(earlier)]
            last = pool[len(pool) - len(later) :]
            for place, node in zip(last, sorted(later, key=self._at), strict=True):
                self.place[node] = place

    def _at(self, node: int) -> int:
        return self.place[node]

    def _needed(self, b: int, limit: int) -> set[int]:
        """What b needs, after place `limit`."""
        found: set[int] = set()
        todo = [b]
        while todo:
            for node in self._before[todo.pop()]:
                if node not in found and self.place[node] > limit:
                    found.add(node)
                    todo.append(node)
        return found

    def _join(self, a: int, b: int) -> None:
        """Lets one be part of the other, the smaller set of neighbours into the larger."""
        place = self.place[a]
        if len(self._before[a]) + len(self._after[a]) < len(self._before[b]) + len(self._after[b]):
            a, b = b, a
        self.place[a] = place
        self._parent[b] = a
        for ahead, back in ((self._after, self._before), (self._before, self._after)):
            for node in ahead[b]:
                back[node].discard(b)
                if node != a:
                    back[node].add(a)
                    ahead[a].add(node)
            ahead[a].discard(b)
            ahead[b] = set()
