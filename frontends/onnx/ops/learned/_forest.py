"""Trees as arrays, and the walk through all of them at once.

A step is a gather of each row's node in each tree, so what is compiled does not depend on how many nodes
there are: a scan of as many steps as the deepest tree has levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Node
from inarch.frontends.onnx.regions.scan import scan

MODES: dict[str, str] = {
    "BRANCH_LEQ": "less_equal",
    "BRANCH_LT": "less",
    "BRANCH_GTE": "greater_equal",
    "BRANCH_GT": "greater",
    "BRANCH_EQ": "equal",
    "BRANCH_NEQ": "not_equal",
}
"""How a feature is compared with the value of its node, in the order of their numbers."""

MEMBER = len(MODES)
"""The number of BRANCH_MEMBER: whether a feature is one of the values of its node."""


@dataclass(frozen=True)
class Forest:
    """All trees. The first nodes are branches, the rest are leaves, which lead to themselves."""

    features: Array
    """[branches], i32: which feature a branch looks at"""
    values: Array
    """[branches], f32 or f64: what it compares that with"""
    modes: Array
    """[branches], i32: how, the position in MODES, or MEMBER"""
    missing: Array
    """[branches], bool: whether a NaN makes the comparison true"""
    children: Array
    """[branches, 2], i32: the nodes that follow when it is false, and when it is true"""
    leaves: int
    roots: Array
    """[trees], i32"""
    sets: Array | None = None
    """[branches, most], of the dtype of the values: those of BRANCH_MEMBER, and NaN behind them"""

    def depth(self) -> int:
        """The most branches from a root to a leaf. Raises InarchError where branches are no trees."""
        count = len(self.features)
        depth, visited = 0, 0
        level = np.unique(self.roots[self.roots < count])
        while len(level):
            depth, visited = depth + 1, visited + len(level)
            if visited > count:
                raise InarchError("expected trees, found a node that is below two, or below itself")
            level = np.unique(self.children[level])
            level = level[level < count]
        return depth

    def padded(self, array: Array, fill: float) -> Array:
        """Numbers of branches, with `fill` for the leaves."""
        more = np.full((self.leaves, *array.shape[1:]), fill, array.dtype)
        return np.concatenate([array, more])


def walk(node: Node, x: SSAValue, forest: Forest) -> SSAValue:
    """Which leaf each row reaches in each tree, [rows, trees], i32, counted from 0.

    x: [rows, features] of the dtype of the forest's values.
    """
    rows, width = shape_of(x)
    branches, trees, depth = len(forest.features), len(forest.roots), forest.depth()
    if branches and not 0 <= int(forest.features.min()) <= int(forest.features.max()) < width:
        wrong = forest.features[(forest.features < 0) | (forest.features >= width)]
        raise InarchError(f"expected features of {width}, found feature {int(wrong[0])}")
    node.room(rows, trees, itemsize=4)
    here = node.broadcast(node.constant(forest.roots.reshape(1, trees)), (rows, trees))
    first = node.constant(np.array(branches, np.int32))
    if depth == 0:
        return node.graph.sub(here, first)
    tables = _tables(node, forest)
    flat = node.reshape(x, (rows * width,))
    begins = node.constant((np.arange(rows) * width).astype(np.int32).reshape(rows, 1))

    def iteration(states: Sequence[SSAValue], _: Sequence[SSAValue]) -> list[SSAValue]:
        at = states[0]
        feature = node.graph.gather(tables["features"], at, axis=0)
        value = node.graph.gather(flat, node.graph.add(feature, begins), axis=0)
        holds = _holds(node, forest, tables, at, value)
        two = node.constant(np.array(2, np.int32))
        pair = node.graph.add(node.graph.mul(at, two), node.cast(holds, "i32"))
        return [node.graph.gather(tables["children"], pair, axis=0)]

    found = scan(node, depth, [here], [], iteration, ([], []))
    assert found is not None, "an iteration is not converted but built"
    return node.graph.sub(found[0], first)


def _tables(node: Node, forest: Forest) -> dict[str, SSAValue]:
    """The arrays of all nodes; leaves look at feature 0 and stay."""
    branches = len(forest.features)
    stay = np.repeat(np.arange(branches, branches + forest.leaves, dtype=np.int32), 2)
    arrays = {
        "features": forest.padded(forest.features, 0),
        "values": forest.padded(forest.values, 0),
        "children": np.concatenate([forest.children.reshape(-1), stay]),
    }
    if len(np.unique(forest.modes)) > 1:
        arrays["modes"] = forest.padded(forest.modes, 0)
    if forest.missing.any():
        arrays["missing"] = forest.padded(forest.missing, 0)
    if forest.sets is not None:
        arrays["sets"] = forest.padded(forest.sets, np.nan)
    return {name: node.constant(array) for name, array in arrays.items()}


def _holds(
    node: Node, forest: Forest, tables: dict[str, SSAValue], at: SSAValue, value: SSAValue
) -> SSAValue:
    """Whether the comparison of each node is true."""
    first, *others = [int(mode) for mode in np.unique(forest.modes)]
    holds = _compared(node, tables, at, value, first)
    for other in others:
        mode = node.graph.gather(tables["modes"], at, axis=0)
        chosen = node.graph.equal(mode, node.constant(np.array(other, np.int32)))
        holds = node.graph.select(chosen, _compared(node, tables, at, value, other), holds)
    if "missing" in tables:
        is_nan = node.graph.not_equal(value, value)
        goes = node.graph.gather(tables["missing"], at, axis=0)
        holds = node.graph.logical_or(holds, node.graph.logical_and(is_nan, goes))
    return holds


def _compared(
    node: Node, tables: dict[str, SSAValue], at: SSAValue, value: SSAValue, mode: int
) -> SSAValue:
    """The comparison of one mode, with the numbers of each node."""
    if mode != MEMBER:
        limit = node.graph.gather(tables["values"], at, axis=0)
        return node.emit(list(MODES.values())[mode], value, limit)
    members = node.graph.gather(tables["sets"], at, axis=0)
    equal = node.graph.equal(node.reshape(value, (*shape_of(value), 1)), members)
    any_of = node.graph.reduce_max(node.cast(equal, "ui8"), axes=[2], keepdims=False)
    return node.cast(any_of, "i1")
