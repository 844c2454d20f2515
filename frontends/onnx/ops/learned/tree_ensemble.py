"""TreeEnsemble, of opset 5 of ai.onnx.ml: branches and leaves are apart, and each leaf has one weight."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.dialects.graph.op import tensor_dtype
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.ops.learned._forest import MEMBER, Forest, walk
from inarch.frontends.onnx.ops.learned._scores import TRANSFORMS, finished
from inarch.frontends.onnx.ops.learned._votes import AGGREGATES, Votes, tally
from inarch.frontends.report import NotSupportedError

_LISTS = ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")


def _tree_ensemble(node: Node) -> SSAValue:
    """[rows, targets], of the dtype of the input, f32 or f64."""
    count = node.int("n_targets", 1)
    aggregate = _choice(node, "aggregate_function", AGGREGATES, 1)
    transform = _choice(node, "post_transform", TRANSFORMS, 0)
    if len(node.shape()) != 2 or not node.dtype().is_float:
        raise InarchError(
            "expected an input of rank 2, rows of features, of a float dtype, "
            f"found {node.dtype().name} of shape {node.shape()}"
        )
    forest = _forest(node)
    votes = _votes(node, forest, count)
    scores = tally(node, votes, walk(node, node.x(), forest), aggregate)
    done = finished(node, node.cast(scores, "f32") if transform != "NONE" else scores, transform)
    return node.cast(done, tensor_dtype(node.x()).name)


def _choice(node: Node, name: str, choices: tuple[str, ...], default: int) -> str:
    found = node.int(name, default)
    if not 0 <= found < len(choices):
        raise InarchError(f"expected {name} from 0 to {len(choices) - 1}, found {found}")
    return choices[found]


def _tensor(node: Node, name: str) -> Array:
    """A tensor of an attribute as a list."""
    attribute = node.attribute(name)
    assert attribute is not None, "the schema asks for it"
    return node.tensor(attribute).reshape(-1)


def _forest(node: Node) -> Forest:
    lists = {name: np.array(node.ints(f"nodes_{name}"), np.int64) for name in _LISTS}
    splits, modes = _tensor(node, "nodes_splits"), _tensor(node, "nodes_modes").astype(np.int32)
    size = len(modes)
    missing = np.array(node.ints("nodes_missing_value_tracks_true", [0] * size), np.int64)
    named = lists | {"splits": splits, "missing_value_tracks_true": missing}
    for name, array in named.items():
        if len(array) != size:
            raise InarchError(
                f"expected a number for each node in nodes_modes and nodes_{name}, "
                f"found {size} and {len(array)}"
            )
    if splits.dtype != np.dtype(node.dtype().numpy):
        raise InarchError(
            f"expected nodes_splits of {node.dtype().numpy}, found {splits.dtype.name}"
        )
    if size and not 0 <= int(modes.min()) <= int(modes.max()) <= MEMBER:
        raise InarchError(f"expected nodes_modes from 0 to {MEMBER}, found {modes.tolist()}")
    sets = _sets(node, modes, splits)
    leaves = len(node.ints("leaf_targetids"))
    children = [
        _children(lists[f"{side}nodeids"], lists[f"{side}leafs"] != 0, leaves, side)
        for side in ("false", "true")
    ]
    roots = np.array(node.ints("tree_roots"), np.int64)
    _within(roots, size, "tree_roots", "nodes")
    return Forest(
        lists["featureids"].astype(np.int32),
        splits,
        modes,
        missing == 1,
        np.stack(children, axis=1).astype(np.int32),
        leaves,
        roots.astype(np.int32),
        sets,
    )


def _sets(node: Node, modes: Array, splits: Array) -> Array | None:
    """[branches, most]: the members of each BRANCH_MEMBER in turn, which NaNs part; None without any."""
    members = np.flatnonzero(modes == MEMBER)
    if not len(members):
        return None
    if not node.has_attribute("membership_values"):
        raise InarchError("expected membership_values of BRANCH_MEMBER, found none")
    values = _tensor(node, "membership_values").astype(splits.dtype)
    if len(values) and np.isnan(values[-1]):
        values = values[:-1]  # behind the last set may be a NaN, too
    parts = np.split(values, np.flatnonzero(np.isnan(values)))
    each = [part[~np.isnan(part)] for part in parts]
    if len(each) != len(members):
        raise InarchError(f"expected {len(members)} sets of membership_values, found {len(each)}")
    most = max(len(part) for part in each)
    node.room(len(modes), max(most, 1), itemsize=splits.itemsize)
    found = np.full((len(modes), max(most, 1)), np.nan, splits.dtype)
    for member, part in zip(members, each, strict=True):
        found[member, : len(part)] = part
    return found


def _children(ids: Array, is_leaf: Array, leaves: int, side: str) -> Array:
    _within(ids[is_leaf], leaves, f"nodes_{side}nodeids", "leaves")
    _within(ids[~is_leaf], len(ids), f"nodes_{side}nodeids", "nodes")
    return np.where(is_leaf, ids + len(ids), ids)


def _within(ids: Array, size: int, name: str, what: str) -> None:
    wrong = ids[(ids < 0) | (ids >= size)]
    if len(wrong):
        raise InarchError(f"expected {name} of {size} {what}, found {int(wrong[0])}")


def _votes(node: Node, forest: Forest, count: int) -> Votes:
    targets = np.array(node.ints("leaf_targetids"), np.int64)
    weights = _tensor(node, "leaf_weights")
    if len(weights) != len(targets) or not len(targets):
        raise InarchError(
            "expected a number for each leaf in leaf_targetids and leaf_weights, "
            f"found {len(targets)} and {len(weights)}"
        )
    if weights.dtype != np.dtype(node.dtype().numpy):
        raise InarchError(
            f"expected leaf_weights of {node.dtype().numpy}, found {weights.dtype.name}"
        )
    votes = Votes(np.arange(len(targets)), targets, weights, _owners(forest), count)
    votes.check()
    return votes


def _owners(forest: Forest) -> Array:
    """[leaves]: the tree that leads to each leaf; 0 for those that none leads to."""
    branches = len(forest.features)
    forest.depth()  # which sees to it that this ends
    owner = np.full(branches + forest.leaves, -1, np.int64)
    owner[forest.roots] = np.arange(len(forest.roots))
    level = forest.roots.astype(np.int64)
    while len(level):
        below = forest.children[level]
        tree = np.broadcast_to(owner[level][:, None], below.shape)
        clash = (owner[below] >= 0) & (owner[below] != tree)
        owner[below] = tree
        if clash.any() or (owner[below] != tree).any():
            raise NotSupportedError("a leaf that two trees share")
        level = np.unique(below[below < branches])
    return np.maximum(owner[branches:], 0)


CONVERTERS: dict[str, Converter] = {"ai.onnx.ml.TreeEnsemble": _tree_ensemble}
