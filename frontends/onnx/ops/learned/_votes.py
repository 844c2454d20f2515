"""What the leaves say of each target, and what all trees say together."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Node

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@dataclass(frozen=True)
class Votes:
    """A list of weights, each of a leaf for a target."""

    leaves: Array
    """[weights], counted from 0"""
    targets: Array
    """[weights]"""
    weights: Array
    """[weights], f32 or f64"""
    trees: Array
    """[leaves]: the tree that each leaf is in"""
    count: int
    """How many targets there are."""

    def check(self) -> None:
        """Raises InarchError for a target that is none, two weights of one thing, a leaf without any."""
        wrong = self.targets[(self.targets < 0) | (self.targets >= self.count)]
        if len(wrong):
            raise InarchError(f"expected ids of {self.count} targets, found {int(wrong[0])}")
        if len(np.unique(self.leaves * self.count + self.targets)) != len(self.leaves):
            raise InarchError("expected one weight of a leaf for a target, found two")
        if len(np.unique(self.leaves)) != len(self.trees):
            raise InarchError("expected a weight of each leaf, found a leaf without one")

    def always(self) -> Array:
        """[targets], bool: those that each row gets a weight for, as all leaves of some tree have one."""
        size = int(self.trees.max()) + 1
        of_tree = np.bincount(self.trees, minlength=size)
        found = np.zeros((size, self.count), np.int64)
        np.add.at(found, (self.trees[self.leaves], self.targets), 1)
        return ((found == of_tree[:, None]) & (of_tree > 0)[:, None]).any(axis=0)

    def table(self, fill: float) -> Array:
        """[leaves, targets]: the weights, and `fill` where there is none."""
        found = np.full((len(self.trees), self.count), fill, self.weights.dtype)
        found[self.leaves, self.targets] = self.weights
        return found

    def given(self) -> Array:
        """[leaves, targets], bool: where there is a weight."""
        found = np.zeros((len(self.trees), self.count), np.bool_)
        found[self.leaves, self.targets] = True
        return found


def seen(node: Node, votes: Votes, at: SSAValue) -> SSAValue | None:
    """Which targets each row got a weight for, [rows, targets], bool; None where that is all of them."""
    if votes.always().all():
        return None
    found = node.graph.gather(node.constant(votes.given().astype(np.uint8)), at, axis=0)
    return node.cast(node.graph.reduce_max(found, axes=[1], keepdims=False), "i1")


def tally(node: Node, votes: Votes, at: SSAValue, aggregate: str = "SUM") -> SSAValue:
    """What all trees say of each target, [rows, targets]; 0 of one that no leaf has a weight for.

    at: [rows, trees], the leaves that were reached.
    """
    node.room(len(votes.trees), votes.count, itemsize=votes.weights.itemsize)
    if aggregate in ("MIN", "MAX"):
        return _extreme(node, votes, at, aggregate)
    total = _sum(node, votes, at)
    trees = shape_of(at)[1]
    return total if aggregate == "SUM" else node.graph.div(total, trees)


def _sum(node: Node, votes: Votes, at: SSAValue) -> SSAValue:
    """The sum over the trees; of trees in order with as many for each target, each for one alone, shorter."""
    rows, trees = shape_of(at)
    owner = _owners(votes, trees)
    if owner is None:
        each = node.graph.gather(node.constant(votes.table(0)), at, axis=0)
        return node.graph.reduce_sum(each, axes=[1], keepdims=False)
    weights = np.zeros(len(votes.trees), votes.weights.dtype)
    weights[votes.leaves] = votes.weights
    order = np.argsort(owner, kind="stable")
    if not np.array_equal(order, np.arange(trees)):
        at = node.graph.gather(at, node.constant(order.astype(np.int64)), axis=1)
    each = node.graph.gather(node.constant(weights), at, axis=0)
    parted = node.reshape(each, (rows, votes.count, trees // votes.count))
    return node.graph.reduce_sum(parted, axes=[2], keepdims=False)


def _owners(votes: Votes, trees: int) -> Array | None:
    """The target of each tree, where each has one and each target as many; else None."""
    if len(votes.leaves) != len(votes.trees):
        return None
    owner = np.full(trees, -1, np.int64)
    owner[votes.trees[votes.leaves]] = votes.targets
    single = np.array_equal(owner[votes.trees[votes.leaves]], votes.targets) and owner.min() >= 0
    even = len(set(np.bincount(owner, minlength=votes.count).tolist())) == 1 if single else False
    return owner if even else None


def _extreme(node: Node, votes: Votes, at: SSAValue, aggregate: str) -> SSAValue:
    least = aggregate == "MIN"
    table = node.constant(votes.table(np.inf if least else -np.inf))
    each = node.graph.gather(table, at, axis=0)
    kind = "reduce_min" if least else "reduce_max"
    found = node.emit(kind, each, axes=[1], keepdims=False)
    got = seen(node, votes, at)
    return found if got is None else node.graph.select(got, found, 0)
