"""TreeEnsembleClassifier and TreeEnsembleRegressor: sums over the leaves that rows reach.

Where the standard leaves the results of two classes open, they are those of onnxruntime's
`core/providers/cpu/ml/tree_ensemble_aggregator.h`; where it has none that make sense, they are refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.learned._forest import MODES, Forest, walk
from inarch.frontends.onnx.ops.learned._scores import (
    above,
    finished,
    labels_of,
    picked,
    transform_of,
    transformed,
    two_columns,
)
from inarch.frontends.onnx.ops.learned._votes import AGGREGATES, Votes, seen, tally
from inarch.frontends.report import NotSupportedError

_FIELDS = ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids")
"""Attributes `nodes_...` that all have a number a node."""


def _classifier(node: Node) -> Sequence[SSAValue]:
    """Labels [rows], i64, and scores [rows, classes], f32; one score a row of one class."""
    labels = labels_of(node, "classlabels_int64s")
    x, dtype = _input(node)
    forest, votes = _read(node, "class", len(labels), dtype)
    transform, base = transform_of(node), _numbers(node, "base_values", dtype)
    at = walk(node, x, forest)
    if len(labels) > 2:
        return _many(node, votes, at, labels, base, transform)
    return _binary(node, votes, at, labels, base, transform)


def _many(
    node: Node, votes: Votes, at: SSAValue, labels: list[int], base: Array, transform: str
) -> Sequence[SSAValue]:
    """The label is that of the largest score, and of those that got a weight where there is no base."""
    scores = tally(node, votes, at)
    if len(base) not in (0, len(labels)):
        raise InarchError(f"expected {len(labels)} base_values, found {len(base)}")
    compared = scores = _plus(node, scores, base)
    got = seen(node, votes, at) if not len(base) else None
    if got is not None:
        compared = node.graph.select(got, scores, float("-inf"))
    largest = node.graph.argmax(compared, axis=1, keepdims=False)
    found = picked(node, np.array(labels, np.int64), largest)
    return [found, transformed(node, node.cast(scores, "f32"), transform)]


def _binary(
    node: Node, votes: Votes, at: SSAValue, labels: list[int], base: Array, transform: str
) -> Sequence[SSAValue]:
    """One class, or two; the trees of two classes mostly have weights for one of them alone."""
    used = sorted({int(target) for target in votes.targets})
    if len(used) == 2:
        return _both(node, votes, at, base, transform)
    only = used[0]
    one = Votes(votes.leaves, np.zeros_like(votes.targets), votes.weights, votes.trees, 1)
    scores = tally(node, one, at)
    if len(base) > 1 or (len(base) and only == 1):
        raise NotSupportedError(
            f"{len(base)} base_values of {len(labels)} classes with weights for class {only} alone"
        )
    scores = _plus(node, scores, base)
    positive = bool((votes.weights >= 0).all())
    single = node.cast(scores, "f32")
    if len(labels) == 1:
        if labels != [1] and 0 not in node.unused:
            raise NotSupportedError(f"one class, of label {labels[0]}; expected label 1")
        done = transformed(node, single, transform) if transform == "PROBIT" else single
        return [above(node, scores, 0, (0, 1)), done]
    label = above(node, scores, 0.5 if positive else 0, (labels[0], labels[1]))
    if only == 0:
        return [label, two_columns(node, single, transform, complement=positive)]
    pair = node.graph.concat(node.broadcast(node.like(0, single), shape_of(single)), single, axis=1)
    return [label, transformed(node, pair, transform)]


def _both(
    node: Node, votes: Votes, at: SSAValue, base: Array, transform: str
) -> Sequence[SSAValue]:
    """Scores of two classes that both have weights; the label is refused.

    Onnxruntime says 1 where the second score is above 0, whatever the labels; the standard says the label
    of the larger score.
    """
    if 0 not in node.unused:
        raise NotSupportedError(
            "the label of two classes that both have weights; take it from the scores, with ArgMax"
        )
    if len(base) or not votes.always().all():
        what = "base_values" if len(base) else "leaves without a weight"
        raise NotSupportedError(f"{what} of two classes that both have weights")
    scores = transformed(node, node.cast(tally(node, votes, at), "f32"), transform)
    return [scores, scores]


def _regressor(node: Node) -> SSAValue:
    """[rows, targets], f32."""
    count = node.int("n_targets", 0)
    if count < 1:
        raise InarchError(f"expected n_targets >= 1, found {count}")
    aggregate = node.choice("aggregate_function", AGGREGATES, "SUM")
    x, dtype = _input(node)
    forest, votes = _read(node, "target", count, dtype)
    base = _numbers(node, "base_values", dtype)
    if len(base) not in (0, count):
        raise InarchError(f"expected {count} base_values, found {len(base)}")
    scores = _plus(node, tally(node, votes, walk(node, x, forest), aggregate), base)
    return finished(node, node.cast(scores, "f32"), transform_of(node))


def _plus(node: Node, scores: SSAValue, base: Array) -> SSAValue:
    if not base.any():
        return scores
    return node.graph.add(scores, node.constant(base.reshape(1, -1)))


def _input(node: Node) -> tuple[SSAValue, str]:
    """The rows, and the dtype in which they are compared: f64 for f64, else f32."""
    if len(node.shape()) != 2:
        raise InarchError(f"expected an input of rank 2, rows of features, found {node.shape()}")
    dtype = "f64" if node.dtype().name == "f64" else "f32"
    return node.cast(node.x(), dtype), dtype


def _numbers(node: Node, name: str, dtype: str) -> Array:
    """A list of floats, or the tensor `name_as_tensor`, which is of f64."""
    numpy = "float64" if dtype == "f64" else "float32"
    attribute = node.attribute(f"{name}_as_tensor")
    if attribute is None:
        return np.array(node.floats(name), numpy)
    if node.has_attribute(name):
        raise InarchError(f"expected {name} or {name}_as_tensor, found both")
    array = node.tensor(attribute).reshape(-1)
    if array.dtype != numpy:
        raise NotSupportedError(f"{name}_as_tensor of {array.dtype.name} for an input of {dtype}")
    return array


def _read(node: Node, what: str, count: int, dtype: str) -> tuple[Forest, Votes]:
    """The attributes `nodes_...` and, for `what`, `class_...` or `target_...`."""
    lists = {name: np.array(node.ints(f"nodes_{name}"), np.int64) for name in _FIELDS}
    modes, size = node.texts("nodes_modes"), len(lists["nodeids"])
    values = _numbers(node, "nodes_values", dtype)
    missing = node.ints("nodes_missing_value_tracks_true") or [0] * size
    sizes = {f"nodes_{name}": len(array) for name, array in lists.items()} | {
        "nodes_modes": len(modes),
        "nodes_values": len(values),
        "nodes_missing_value_tracks_true": len(missing),
    }
    _same_sizes(sizes, "node")
    is_leaf, kinds = _kinds(modes)
    tree, keys = _keys(lists["treeids"], lists["nodeids"])
    number = np.where(is_leaf, np.cumsum(is_leaf) - 1, np.cumsum(~is_leaf) - 1)
    branches = int((~is_leaf).sum())
    number = np.where(is_leaf, number + branches, number).astype(np.int32)
    inner = ~is_leaf
    children = [
        number[keys.find(tree[inner], lists[name][inner], f"nodes_{name}")]
        for name in ("falsenodeids", "truenodeids")
    ]
    roots = np.flatnonzero(np.diff(tree, prepend=-1))
    forest = Forest(
        lists["featureids"][inner].astype(np.int32),
        values[inner],
        kinds[inner],
        np.array(missing)[inner] == 1,
        np.stack(children, axis=1),
        int(is_leaf.sum()),
        number[roots],
    )
    return forest, _votes(node, what, count, dtype, keys, number, branches, tree[is_leaf])


def _same_sizes(sizes: dict[str, int], of: str) -> None:
    (first, size), *rest = sizes.items()
    for name, found in rest:
        if found != size or not size:
            raise InarchError(
                f"expected a number for each {of} in {first} and {name}, found {size} and {found}"
            )


def _kinds(modes: Sequence[str]) -> tuple[Array, Array]:
    """Which nodes are leaves, and the positions in MODES of the others."""
    numbers = {name: index for index, name in enumerate(MODES)} | {"LEAF": -1}
    if unknown := sorted(set(modes) - numbers.keys()):
        raise InarchError(f"expected nodes_modes among {', '.join(numbers)}, found '{unknown[0]}'")
    kinds = np.array([numbers[mode] for mode in modes], np.int32)
    return kinds < 0, kinds


class _Keys:
    """Where each node is, by its tree and its id."""

    def __init__(self, trees: Array, ids: Array) -> None:
        self.low, self.span = int(ids.min()), int(ids.max()) - int(ids.min()) + 1
        keys = trees * self.span + (ids - self.low)
        self.order = np.argsort(keys, kind="stable")
        self.sorted = keys[self.order]
        if len(self.sorted) > 1 and (np.diff(self.sorted) == 0).any():
            raise InarchError("expected different nodes_nodeids in a tree, found one twice")

    def find(self, trees: Array, ids: Array, what: str) -> Array:
        """The positions of nodes. Raises InarchError where a tree has none of that id."""
        keys = trees * self.span + (ids - self.low)
        places = np.minimum(np.searchsorted(self.sorted, keys), len(self.sorted) - 1)
        inside = (ids >= self.low) & (ids < self.low + self.span)
        wrong = ids[~inside | (self.sorted[places] != keys)]
        if len(wrong):
            raise InarchError(f"expected {what} of nodes of the tree, found {int(wrong[0])}")
        return self.order[places]


def _keys(treeids: Array, nodeids: Array) -> tuple[Array, _Keys]:
    """The trees counted from 0 as they come, of each node; and where nodes are."""
    if int(nodeids.max()) - int(nodeids.min()) >= 1 << 40:
        raise InarchError(f"expected nodes_nodeids of less than 2**40, found {int(nodeids.max())}")
    begins = np.diff(treeids, prepend=treeids[0] - 1) != 0
    if len(np.unique(treeids)) != int(begins.sum()):
        raise InarchError("expected the nodes of each tree side by side, found a tree in two parts")
    tree = np.cumsum(begins) - 1
    return tree, _Keys(tree, nodeids)


def _votes(
    node: Node,
    what: str,
    count: int,
    dtype: str,
    keys: _Keys,
    number: Array,
    branches: int,
    trees: Array,
) -> Votes:
    """The weights of leaves; those of branches, which old converters wrote, mean nothing."""
    treeids, nodeids, targets = (
        np.array(node.ints(f"{what}_{name}"), np.int64) for name in ("treeids", "nodeids", "ids")
    )
    weights = _numbers(node, f"{what}_weights", dtype)
    sizes = {"nodeids": nodeids, "treeids": treeids, "ids": targets, "weights": weights}
    _same_sizes({f"{what}_{name}": len(array) for name, array in sizes.items()}, "weight")
    known = np.array(node.ints("nodes_treeids"), np.int64)
    names = known[np.flatnonzero(np.diff(known, prepend=known[0] - 1))]
    order = np.argsort(names, kind="stable")
    places = np.minimum(np.searchsorted(names[order], treeids), len(names) - 1)
    wrong = treeids[names[order][places] != treeids]
    if len(wrong):
        raise InarchError(f"expected {what}_treeids of trees, found {int(wrong[0])}")
    at = number[keys.find(order[places], nodeids, f"{what}_nodeids")].astype(np.int64) - branches
    leaves = at >= 0
    votes = Votes(at[leaves], targets[leaves], weights[leaves], trees, count)
    votes.check()
    return votes


CONVERTERS: dict[str, Converter] = {
    "ai.onnx.ml.TreeEnsembleClassifier": _classifier,
    "ai.onnx.ml.TreeEnsembleRegressor": _regressor,
}
