"""Ensembles of random trees against onnxruntime; what they become does not depend on their nodes."""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import inarch
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.ir.verify import verify_module
from inarch.testing import execute

Array = np.ndarray[Any, Any]
Attributes = dict[str, Any]

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def forest(
    seed: int, trees: int, depth: int, features: int, modes: list[str], *, nans: bool = False
) -> tuple[Attributes, list[tuple[int, int]]]:
    """Attributes of random trees, and their leaves; thresholds are whole numbers, so that some are met."""
    rng = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {
        f"nodes_{name}": []
        for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids")
    }
    columns |= {"nodes_falsenodeids": [], "nodes_missing_value_tracks_true": []}
    leaves: list[tuple[int, int]] = []

    def grow(tree: int, level: int, count: list[int]) -> int:
        here, count[0] = count[0], count[0] + 1
        is_leaf = level >= depth or (level > 0 and rng.random() < 0.25)
        row = len(columns["nodes_treeids"])
        for name, value in {
            "treeids": tree,
            "nodeids": here,
            "featureids": int(rng.integers(features)),
            "values": float(rng.integers(-2, 3)),
            "modes": "LEAF" if is_leaf else modes[rng.integers(len(modes))],
            "truenodeids": 0,
            "falsenodeids": 0,
            "missing_value_tracks_true": int(nans and rng.random() < 0.5),
        }.items():
            columns[f"nodes_{name}"].append(value)
        if is_leaf:
            leaves.append((tree, here))
            return here
        columns["nodes_truenodeids"][row] = grow(tree, level + 1, count)
        columns["nodes_falsenodeids"][row] = grow(tree, level + 1, count)
        return here

    for tree in range(trees):
        grow(tree, 0, [0])
    return columns, leaves


def votes(
    seed: int, leaves: list[tuple[int, int]], what: str, ids: list[int] | None, count: int = 1
) -> Attributes:
    """Weights: of the classes `ids` at each leaf; None: of class `tree % count`; [-1]: of some of all."""
    rng = np.random.default_rng(seed)
    rows = [
        (tree, leaf, target, float(rng.integers(-8, 9)) / 8)
        for tree, leaf in leaves
        for target in (
            [tree % count]
            if ids is None
            else sorted(set(rng.integers(count, size=2).tolist()))
            if ids == [-1]
            else ids
        )
    ]
    names = ("treeids", "nodeids", "ids", "weights")
    return {
        f"{what}_{n}": list(column)
        for n, column in zip(names, zip(*rows, strict=True), strict=True)
    }


def model(
    op: str, attributes: Attributes, rows: int, features: int, dtype: int = 1, version: int = 3
) -> onnx.ModelProto:
    outputs = ["label", "scores"] if op.endswith("Classifier") else ["scores"]
    node = helper.make_node(op, ["x"], outputs, domain="ai.onnx.ml", **attributes)
    infos = [helper.make_tensor_value_info("x", dtype, [rows, features])]
    results = [helper.make_tensor_value_info(n, 7 if n == "label" else 1, None) for n in outputs]
    graph = helper.make_graph([node], "g", infos, results)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def expected(found: onnx.ModelProto, x: Array) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session: Any = onnxruntime.InferenceSession(
        found.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x})


def evaluate(found: onnx.ModelProto, x: Array) -> list[Array]:
    context = new_context()
    module = import_onnx(found, context)
    verify_module(module)
    return execute(module, [x], context)


def check(found: onnx.ModelProto, x: Array) -> None:
    wanted = expected(found, x)
    for a, b in zip(evaluate(found, x), wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def inputs(seed: int, rows: int, features: int, dtype: str = "float32", nans: float = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, (rows, features)).astype(dtype)
    if nans:
        x[rng.random(x.shape) < nans] = np.nan
    return x


@pytest.mark.every_case(reason="each has a mode, an aggregate, a transform or a dtype of its own")
@pytest.mark.parametrize(
    ("mode", "aggregate", "transform", "targets", "dtype", "rows"),
    [
        ("BRANCH_LEQ", "SUM", "NONE", 1, "float32", 1),
        ("BRANCH_LT", "AVERAGE", "NONE", 1, "float64", 7),
        ("BRANCH_GTE", "MIN", "PROBIT", 1, "float32", 7),
        ("BRANCH_GT", "MAX", "SOFTMAX", 3, "float32", 60),
        ("BRANCH_EQ", "SUM", "LOGISTIC", 2, "float64", 7),
        ("BRANCH_NEQ", "AVERAGE", "SOFTMAX", 3, "float32", 7),
        ("", "MIN", "NONE", 2, "float32", 7),
        ("", "MAX", "LOGISTIC", 1, "float64", 1),
        ("", "SUM", "SOFTMAX_ZERO", 3, "float32", 7),
    ],
)
def test_regressor(
    mode: str, aggregate: str, transform: str, targets: int, dtype: str, rows: int
) -> None:
    """Weights of all targets at each leaf, of one a tree, and of some; with base values and without."""
    seed = len(mode) + rows
    ways: list[list[int] | None] = [list(range(targets)), None, [-1]]
    for way in ways[: 3 if targets > 1 else 1]:
        attributes, leaves = forest(seed, 6, 4, 5, [mode] if mode else MODES, nans=True)
        attributes |= votes(seed, leaves, "target", way, targets)
        attributes |= {"n_targets": targets, "aggregate_function": aggregate}
        attributes |= {"post_transform": transform}
        if way != [-1]:  # onnxruntime has 0 for a target without a weight, and not its base
            attributes["base_values"] = [0.25, -0.5, 0.125][:targets]
        if transform == "PROBIT":
            attributes["target_weights"] = [0.25 + abs(w) / 4 for w in attributes["target_weights"]]
        kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        x = inputs(seed, rows, 5, dtype, nans=0.2)
        check(model("TreeEnsembleRegressor", attributes, rows, 5, kind), x)


@pytest.mark.every_case(reason="each is a convention of its own")
@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
@pytest.mark.parametrize(
    ("labels", "ids", "positive", "base"),
    [
        ([3, 1, 4], [0, 1, 2], False, []),
        ([3, 1, 4, 7], None, False, [0.25, -0.5, 0.5, 0.125]),
        ([3, 1, 4, 7], [-1], False, []),
        ([5, 7], [0], True, []),
        ([5, 7], [0], False, [0.125]),
        ([5, 7], [1], True, []),
        ([5, 7], [1], False, []),
        ([1], [0], False, [0.125]),
    ],
)
def test_classifier(
    labels: list[int], ids: list[int] | None, positive: bool, base: list[float], transform: str
) -> None:
    if transform == "PROBIT" and ids == [0] and len(labels) == 2:
        pytest.skip("onnxruntime leaves the second score unwritten")
    attributes, leaves = forest(len(labels), 8, 3, 4, MODES[:2], nans=True)
    attributes |= votes(1, leaves, "class", ids, len(labels))
    if positive or transform == "PROBIT":
        attributes["class_weights"] = [abs(w) / 8 for w in attributes["class_weights"]]
    if transform == "PROBIT":
        base = [abs(b) / 4 for b in base]
    attributes |= {"classlabels_int64s": labels, "post_transform": transform}
    if base:
        attributes["base_values"] = base
    with np.errstate(all="ignore"):
        check(
            model("TreeEnsembleClassifier", attributes, 9, 4, version=1), inputs(3, 9, 4, nans=0.2)
        )


@pytest.mark.parametrize("dtype", ["int64", "int32", "float64"])
def test_classifier_of_other_dtypes(dtype: str) -> None:
    attributes, leaves = forest(4, 8, 3, 4, MODES[:2])
    attributes |= votes(1, leaves, "class", None, 4) | {"classlabels_int64s": [9, 8, 7, 6]}
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    check(model("TreeEnsembleClassifier", attributes, 9, 4, kind), inputs(3, 9, 4, dtype))


def test_base_values_of_a_target_without_a_weight() -> None:
    """As the standard has it; onnxruntime has 0."""
    change: Attributes = {"n_targets": 2, "base_values": [0.5, 0.25]}
    (found,) = evaluate(model("TreeEnsembleRegressor", STUMP | change, 1, 2), inputs(0, 1, 2))
    assert found[0, 1] == 0.25


def apart(seed: int, trees: int, features: int, dtype: str) -> Attributes:
    """The same kind of trees as TreeEnsemble has them."""
    columns, leaves = forest(seed, trees, 3, features, MODES, nans=True)
    rows = list(zip(columns["nodes_treeids"], columns["nodes_nodeids"], strict=True))
    place: dict[tuple[int, int], tuple[int, int]] = {}
    counts = [0, 0]
    for row, mode in zip(rows, columns["nodes_modes"], strict=True):
        is_leaf = int(mode == "LEAF")
        place[row], counts[is_leaf] = (counts[is_leaf], is_leaf), counts[is_leaf] + 1
    inner = [at for at, mode in enumerate(columns["nodes_modes"]) if mode != "LEAF"]
    found: Attributes = {}
    for side in ("true", "false"):
        ends = [place[rows[at][0], columns[f"nodes_{side}nodeids"][at]] for at in inner]
        found[f"nodes_{side}nodeids"] = [end[0] for end in ends]
        found[f"nodes_{side}leafs"] = [end[1] for end in ends]
    for name in ("featureids", "missing_value_tracks_true"):
        found[f"nodes_{name}"] = [columns[f"nodes_{name}"][at] for at in inner]
    rng, kind = np.random.default_rng(seed), helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    modes = [MODES.index(columns["nodes_modes"][at]) for at in inner]
    splits = [columns["nodes_values"][at] for at in inner]
    weights = [float(w) / 8 for w in rng.integers(-8, 9, len(leaves))]
    return found | {
        "nodes_modes": helper.make_tensor("m", onnx.TensorProto.UINT8, [len(modes)], modes),
        "nodes_splits": helper.make_tensor("s", kind, [len(splits)], splits),
        "leaf_weights": helper.make_tensor("w", kind, [len(weights)], weights),
        "leaf_targetids": [int(t) for t in rng.integers(3, size=len(leaves))],
        "tree_roots": [place[tree, 0][0] for tree in range(trees)],
        "n_targets": 3,
    }


@pytest.mark.parametrize(
    ("aggregate", "transform", "dtype"),
    [
        (1, 0, "float64"),
        (1, 1, "float32"),
        (1, 2, "float32"),
        (3, 3, "float32"),
        (0, 0, "float32"),
    ],
)
def test_tree_ensemble(aggregate: int, transform: int, dtype: str) -> None:
    attributes = apart(2, 5, 4, dtype)
    attributes |= {"aggregate_function": aggregate, "post_transform": transform}
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    found = model("TreeEnsemble", attributes, 9, 4, kind, version=5)
    found.graph.output[0].type.tensor_type.elem_type = kind
    x = inputs(3, 9, 4, dtype, nans=0.2)
    if transform not in (1, 2):
        check(found, x)
        return
    # Onnxruntime 1.32 takes 1 for LOGISTIC and 2 for SOFTMAX, which the standard has the other way round.
    plain = model("TreeEnsemble", attributes | {"post_transform": 0}, 9, 4, kind, version=5)
    (scores,) = expected(plain, x)
    powers = np.exp(scores)
    wanted = powers / powers.sum(axis=1, keepdims=True) if transform == 1 else powers / (powers + 1)
    np.testing.assert_allclose(evaluate(found, x)[0], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sizes", [(1, 1), (0, 2), (3, 1)])
def test_members_of_sets(sizes: tuple[int, int]) -> None:
    """Some nodes compare, the others look whether the feature is in a set of the one or other size."""
    attributes = apart(2, 2, 2, "float32")
    modes = np.arange(len(attributes["nodes_featureids"])) % 3
    sets = [
        [*np.random.default_rng(at).permutation(np.arange(-3.0, 4.0))[: sizes[at % 2]], np.nan]
        for at in np.flatnonzero(modes)
    ]
    kinds = np.where(modes > 0, 6, 1).astype(np.uint8)
    values = np.concatenate(sets).astype("float32")
    attributes["nodes_modes"] = onnx.numpy_helper.from_array(kinds, "m")
    attributes["membership_values"] = onnx.numpy_helper.from_array(values, "v")
    found = model("TreeEnsemble", attributes, 9, 2, version=5)
    x = inputs(3, 9, 2)
    wanted: Any = ReferenceEvaluator(found).run(None, {"x": x})
    np.testing.assert_allclose(evaluate(found, x)[0], wanted[0], atol=1e-6)


def test_sets_that_are_missing() -> None:
    attributes = apart(2, 3, 2, "float32")
    kinds = np.full(len(attributes["nodes_featureids"]), 6, np.uint8)
    attributes["nodes_modes"] = onnx.numpy_helper.from_array(kinds, "m")
    where = "<model>: node 'scores' (TreeEnsemble): error: expected"
    assert line(model("TreeEnsemble", attributes, 9, 2, version=5)) == (
        f"{where} membership_values of BRANCH_MEMBER, found none"
    )
    values = np.array([1, np.nan], "float32")
    attributes["membership_values"] = onnx.numpy_helper.from_array(values, "v")
    assert line(model("TreeEnsemble", attributes, 9, 2, version=5)) == (
        f"{where} {len(kinds)} sets of membership_values, found 1"
    )


def test_scores_of_two_classes_with_weights_of_both() -> None:
    attributes, leaves = forest(0, 8, 3, 4, MODES)
    attributes |= votes(1, leaves, "class", [0, 1])
    attributes |= {"classlabels_int64s": [0, 1], "post_transform": "SOFTMAX"}
    found = model("TreeEnsembleClassifier", attributes, 9, 4)
    x = inputs(3, 9, 4)
    del found.graph.output[0]
    check(found, x)


def test_numbers_in_double_precision() -> None:
    attributes, leaves = forest(0, 3, 3, 4, MODES)
    attributes |= votes(1, leaves, "target", [0])
    tensors = {name: attributes.pop(name) for name in ("nodes_values", "target_weights")}
    tensors["nodes_values"] = [0.1 * v for v in tensors["nodes_values"]]
    for name, values in tensors.items():
        attributes[f"{name}_as_tensor"] = helper.make_tensor(name, 11, [len(values)], values)
    attributes["n_targets"] = 1
    x = inputs(3, 9, 4, "float64") * 0.1
    check(model("TreeEnsembleRegressor", attributes, 9, 4, 11), x)


def test_compiled_code_is_as_large_for_any_number_of_nodes() -> None:
    sizes: list[int] = []
    for trees, depth in ((3, 4), (40, 7)):
        attributes, leaves = forest(5, trees, depth, 4, MODES, nans=True)
        attributes |= votes(1, leaves, "class", [0, 1, 2])
        attributes |= {"classlabels_int64s": [7, 8, 9], "post_transform": "SOFTMAX"}
        found = model("TreeEnsembleClassifier", attributes, 5, 4)
        x = inputs(3, 5, 4, nans=0.2)
        for a, b in zip(inarch.compile(found)(x), expected(found, x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        context = new_context()
        sizes.append(sum(1 for _ in import_onnx(found, context).walk()))
    assert sizes[0] == sizes[1]


def test_a_tree_that_is_a_leaf() -> None:
    attributes: Attributes = {
        **{f"nodes_{n}": [0] for n in ("treeids", "nodeids", "featureids")},
        **{f"nodes_{n}": [0] for n in ("truenodeids", "falsenodeids")},
        "nodes_values": [0.0],
        "nodes_modes": ["LEAF"],
        "n_targets": 1,
        **votes(1, [(0, 0)], "target", [0]),
    }
    check(model("TreeEnsembleRegressor", attributes, 3, 2), inputs(0, 3, 2))


STUMP: Attributes = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_values": [0.0, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LT", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [1.0, 2.0],
    "n_targets": 1,
}

WRONG: dict[str, tuple[Attributes, str]] = {
    "cycle": (
        {"nodes_modes": ["BRANCH_LT", "BRANCH_LT", "LEAF"], "nodes_falsenodeids": [2, 2, 0]}
        | {
            "target_treeids": [0],
            "target_nodeids": [2],
            "target_ids": [0],
            "target_weights": [1.0],
        },
        "expected trees, found a node that is below two, or below itself",
    ),
    "feature": (
        {"nodes_featureids": [2, 0, 0]},
        "expected features of 2, found feature 2",
    ),
    "mode": (
        {"nodes_modes": ["BRANCH_LE", "LEAF", "LEAF"]},
        "expected nodes_modes among BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, "
        "BRANCH_NEQ, LEAF, found 'BRANCH_LE'",
    ),
    "sizes": (
        {"nodes_values": [0.0]},
        "expected a number for each node in nodes_treeids and nodes_values, found 3 and 1",
    ),
    "child": (
        {"nodes_truenodeids": [3, 0, 0]},
        "expected nodes_truenodeids of nodes of the tree, found 3",
    ),
    "twice": (
        {"nodes_nodeids": [0, 1, 1]},
        "expected different nodes_nodeids in a tree, found one twice",
    ),
    "parts": (
        {"nodes_treeids": [0, 1, 0]},
        "expected the nodes of each tree side by side, found a tree in two parts",
    ),
    "tree of a weight": (
        {"target_treeids": [0, 4]},
        "expected target_treeids of trees, found 4",
    ),
    "leaf without a weight": (
        {"target_nodeids": [1, 0]},
        "expected a weight of each leaf, found a leaf without one",
    ),
    "two weights": (
        {"target_nodeids": [1, 1]},
        "expected one weight of a leaf for a target, found two",
    ),
    "target": ({"target_ids": [0, 1]}, "expected ids of 1 targets, found 1"),
    "base": ({"base_values": [1.0, 2.0]}, "expected 1 base_values, found 2"),
    "aggregate": (
        {"aggregate_function": "MEAN"},
        "expected aggregate_function AVERAGE, SUM, MIN or MAX, found 'MEAN'",
    ),
    "transform": (
        {"post_transform": "TANH"},
        "expected post_transform NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT, found 'TANH'",
    ),
}


def line(found: onnx.ModelProto) -> str:
    with pytest.raises(InarchError) as caught:
        import_onnx(found, new_context())
    return caught.value.line()


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("name", WRONG)
def test_wrong_trees(name: str) -> None:
    change, wanted = WRONG[name]
    found = model("TreeEnsembleRegressor", STUMP | change, 3, 2)
    assert line(found) == f"<model>: node 'scores' (TreeEnsembleRegressor): error: {wanted}"


REFUSED: dict[str, tuple[Attributes, str]] = {
    "strings": (
        {"classlabels_strings": ["no", "yes"]},
        "class labels that are strings; give the classes numbers, classlabels 0, 1, ..., "
        "and look the strings up outside the model",
    ),
    "both": (
        {"classlabels_int64s": [0, 1], "class_ids": [0, 1]},
        "the label of two classes that both have weights; take it from the scores, with ArgMax",
    ),
    "base": (
        {"classlabels_int64s": [0, 1], "base_values": [0.5, 0.5]},
        "2 base_values of 2 classes with weights for class 0 alone",
    ),
    "probit": (
        {"classlabels_int64s": [0, 1], "post_transform": "PROBIT"},
        "post_transform PROBIT of two classes with one score",
    ),
    "label": ({"classlabels_int64s": [2]}, "one class, of label 2; expected label 1"),
}


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    change, wanted = REFUSED[name]
    stump = {n.replace("target_", "class_"): v for n, v in STUMP.items() if n != "n_targets"}
    found = model("TreeEnsembleClassifier", stump | change, 3, 2)
    assert line(found) == (
        f"<model>: error: unsupported: TreeEnsembleClassifier: {wanted} ('label')"
    )
