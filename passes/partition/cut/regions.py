"""Maximal regions: neighbours of one backend merge unless that would make a cycle through others.

Every op starts as a region of its own. The quotient graph (a node a region) is kept acyclic: merging
a -> b makes a cycle exactly when another path leads from a to b. A topological order of the quotient is
kept (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006), so
that only regions between a and b are searched.

One round over the edges, in program order, is enough for maximal regions: a path that blocks an edge has
an op of someone else on it (its own edges came earlier, so what could merge has), and always will.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, OpResult

from inarch.dialects.graph.constant import ConstantOp
from inarch.passes.partition.common import BACKEND, text_of


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
    return [
        RegionOfOps(owners[members[0]] or "", tuple(ops[index] for index in members))
        for members in grouped(inputs, owners)
    ]


def grouped(inputs: Sequence[Sequence[int]], owners: Sequence[str | None]) -> list[list[int]]:
    """Regions of the graph in which node i needs `inputs[i]`, all below i, and has `owners[i]`."""
    quotient = _Quotient(inputs)
    for user, producers in enumerate(inputs):
        for producer in producers:
            if owners[user] is not None and owners[producer] == owners[user]:
                quotient.merge(producer, user)
    members: dict[int, list[int]] = {}
    for node, owner in enumerate(owners):
        if owner is not None:
            members.setdefault(quotient.find(node), []).append(node)
    return [members[root] for root in sorted(members, key=quotient.place.__getitem__)]


def _producers(op: Operation, number: dict[Operation, int]) -> list[int]:
    found = dict.fromkeys(
        number[operand.op]
        for operand in op.operands
        if isinstance(operand, OpResult) and operand.op in number
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

    def merge(self, producer: int, user: int) -> None:
        """Merges the regions of an edge, unless they are one or it would make a cycle."""
        a, b = self.find(producer), self.find(user)
        if a == b:
            return
        later = self._between(a, b)
        if later is not None:
            self._order(a, b, later)
            self._join(a, b)

    def _between(self, a: int, b: int) -> set[int] | None:
        """What needs a (not by the edge to b) and has a place before b's; None if b is among it."""
        limit = self.place[b]
        todo = [n for n in self._after[a] if n != b and self.place[n] < limit]
        found = set(todo)
        while todo:
            for node in self._after[todo.pop()]:
                if node == b:
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
