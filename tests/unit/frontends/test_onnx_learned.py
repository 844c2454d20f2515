"""Linear models, features and labels of ai.onnx.ml against onnxruntime, and what is refused."""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.frontends.onnx.ops import converters
from inarch.ir.verify import verify_module
from inarch.testing import execute

Array = np.ndarray[Any, Any]

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")

Case = tuple[str, list[Array], dict[str, Any]]


def rows(*shape: int, dtype: str = "float32", seed: int = 0) -> Array:
    """Whole numbers near 0: some are 0, and some are equal."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def floats(count: int, seed: int = 1) -> list[float]:
    return [float(v) for v in np.random.default_rng(seed).standard_normal(count).astype("float32")]


def holed(array: Array, value: float = np.nan) -> Array:
    array[np.random.default_rng(5).random(array.shape) < 0.4] = value
    return array


CASES: dict[str, Case] = {
    **{
        f"Scaler of {dtype}": ("Scaler", [rows(5, 3, dtype=dtype)], {"offset": o, "scale": s})
        for dtype, o, s in (
            ("float32", floats(3), floats(3, 2)),
            ("float64", [0.5], [1.5]),
            ("int64", floats(3), floats(3, 2)),
            ("int32", [0.25], [-2.0]),
        )
    },
    **{
        f"Normalizer {norm} of {dtype}": (
            "Normalizer",
            [holed(rows(6, 2, dtype=dtype), 0)],
            {"norm": norm},
        )
        for norm in ("MAX", "L1", "L2")
        for dtype in ("float32", "int64")
    },
    "Normalizer of a row": ("Normalizer", [rows(4, dtype="float64")], {}),
    "Binarizer": ("Binarizer", [rows(4, 3)], {"threshold": 1.0}),
    "Imputer of NaN": (
        "Imputer",
        [holed(rows(4, 3))],
        {"imputed_value_floats": floats(3), "replaced_value_float": float("nan")},
    ),
    "Imputer of integers": (
        "Imputer",
        [rows(4, 3, dtype="int64")],
        {"imputed_value_int64s": [7], "replaced_value_int64": -1},
    ),
    "FeatureVectorizer": (
        "FeatureVectorizer",
        [rows(4, 3, dtype="int64"), rows(4, 1, dtype="int64"), rows(4, 2, dtype="int64")],
        {"inputdimensions": [3, 1, 2]},
    ),
    "ArrayFeatureExtractor": (
        "ArrayFeatureExtractor",
        [rows(2, 3, 4), np.array([[3, 0, 3]])],
        {},
    ),
    "ArrayFeatureExtractor of a row": (
        "ArrayFeatureExtractor",
        [rows(4, dtype="int32"), np.array([1, 2])],
        {},
    ),
    "OneHotEncoder": ("OneHotEncoder", [rows(2, 5)], {"cats_int64s": [2, -1, 9]}),
    "OneHotEncoder of integers": (
        "OneHotEncoder",
        [rows(5, dtype="int64")],
        {"cats_int64s": [2, -1, 0, 1]},
    ),
    **{
        f"LinearRegressor, {targets}, {transform}": (
            "LinearRegressor",
            [0.1 * rows(5, 3)],
            {
                "targets": targets,
                "coefficients": [abs(v) / 4 for v in floats(3 * targets)],
                "intercepts": [0.4] * targets,
                "post_transform": transform,
            },
        )
        for transform in TRANSFORMS
        for targets in (1, 4)
    },
    "LinearRegressor without intercepts": (
        "LinearRegressor",
        [rows(3)],
        {"coefficients": floats(3), "targets": 1},
    ),
    **{
        f"LinearClassifier, {sets} of {labels}, {transform}": (
            "LinearClassifier",
            [0.1 * rows(7, 3)],
            {
                "classlabels_ints": labels,
                "coefficients": [v / 4 for v in floats(3 * sets)],
                "intercepts": [0.02] * sets if transform != "PROBIT" else [0.5] * sets,
                "post_transform": transform,
            },
        )
        for transform in TRANSFORMS
        for sets, labels in ((1, [5, 7]), (2, [5, 7]), (4, [5, 7, 3, 1]))
        if transform != "PROBIT" or sets > 1
    },
    "LinearClassifier of integers": (
        "LinearClassifier",
        [rows(7, 3, dtype="int64")],
        {"classlabels_ints": [5, 7, 3], "coefficients": floats(9), "intercepts": floats(3)},
    ),
    **{
        f"SVMRegressor, {kind}": (
            "SVMRegressor",
            [0.3 * rows(6, 3)],
            {
                "kernel_type": kind,
                "kernel_params": [0.4, 0.3, 3.0],
                "n_supports": 4,
                "support_vectors": floats(12),
                "coefficients": floats(4, 2),
                "rho": [0.25],
            },
        )
        for kind in ("LINEAR", "POLY", "RBF", "SIGMOID")
    },
    "SVMRegressor of one class": (
        "SVMRegressor",
        [rows(6, 3)],
        {
            "kernel_type": "RBF",
            "kernel_params": [0.4, 0.0, 0.0],
            "n_supports": 2,
            "support_vectors": floats(6),
            "coefficients": floats(2, 2),
            "rho": [-0.1],
            "one_class": 1,
        },
    ),
    "SVMRegressor without vectors": (
        "SVMRegressor",
        [rows(6, 3)],
        {"coefficients": floats(3), "rho": [0.5], "n_supports": 0, "kernel_params": [0.0] * 3},
    ),
    **{
        f"SVMClassifier of {len(counts)}, {kind}, {transform}": (
            "SVMClassifier",
            [0.3 * rows(9, 3)],
            {
                "classlabels_ints": [4, 7, 5, 2][: len(counts)],
                "vectors_per_class": counts,
                "kernel_type": kind,
                "kernel_params": [0.4, 0.3, 2.0],
                "support_vectors": floats(3 * sum(counts)),
                "coefficients": floats((len(counts) - 1) * sum(counts), 2),
                "rho": floats(len(counts) * (len(counts) - 1) // 2, 3),
                "post_transform": transform,
            },
        )
        for counts, kind, transform in (
            ([2, 3], "RBF", "NONE"),
            ([2, 1], "LINEAR", "LOGISTIC"),
            ([2, 1], "LINEAR", "SOFTMAX"),
            ([2, 1, 3], "POLY", "NONE"),
            ([2, 1, 3, 2], "SIGMOID", "SOFTMAX"),
        )
    },
    "LabelEncoder": (
        "LabelEncoder",
        [rows(4, 5, dtype="int64")],
        {"keys_int64s": [3, -2, 0, 1, 9], "values_int64s": [1, 2, 3, 4, 5], "default_int64": -7},
    ),
    "LabelEncoder of one": (
        "LabelEncoder",
        [rows(9, dtype="int64")],
        {"keys_int64s": [1], "values_floats": [0.5]},
    ),
    "LabelEncoder of floats": (
        "LabelEncoder",
        [holed(rows(4, 5))],
        {"keys_floats": [1.0, float("nan"), -3.0], "values_int64s": [4, 5, 6]},
    ),
    "LabelEncoder of tensors": (
        "LabelEncoder",
        [rows(4, 5, dtype="float64")],
        {
            "keys_tensor": numpy_helper.from_array(np.arange(-2.0, 2.0), "k"),
            "values_tensor": numpy_helper.from_array(np.arange(4.0) / 8, "v"),
            "default_tensor": numpy_helper.from_array(np.array([0.75]), "d"),
        },
    ),
}


def model(
    op: str, inputs: list[Array], attributes: dict[str, Any], version: int = 4
) -> onnx.ModelProto:
    names = [f"x{at}" for at in range(len(inputs))]
    outputs = ["label", "y"] if op.endswith("Classifier") else ["y"]
    node = helper.make_node(op, names, outputs, domain="ai.onnx.ml", **attributes)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, inputs, strict=True)
    ]
    kind = TensorProto.FLOAT
    if op in ("Binarizer", "Imputer", "ArrayFeatureExtractor"):
        kind = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
    if op == "LabelEncoder":
        kind = TensorProto.INT64 if "values_int64s" in attributes else TensorProto.FLOAT
        kind = TensorProto.DOUBLE if "values_tensor" in attributes else kind
    results = [
        helper.make_tensor_value_info(n, TensorProto.INT64 if n == "label" else kind, None)
        for n in outputs
    ]
    graph = helper.make_graph([node], "g", infos, results)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def evaluate(found: onnx.ModelProto, inputs: list[Array]) -> list[Array]:
    context = new_context()
    module = import_onnx(found, context)
    verify_module(module)
    return execute(module, inputs, context)


@pytest.mark.every_case(reason="each is a converter, an attribute or a convention of its own")
@pytest.mark.parametrize("name", CASES)
def test_as_onnxruntime(name: str) -> None:
    op, inputs, attributes = CASES[name]
    found = model(op, inputs, attributes)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session: Any = onnxruntime.InferenceSession(
        found.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    wanted = session.run(None, {f"x{at}": array for at, array in enumerate(inputs)})
    for a, b in zip(evaluate(found, inputs), wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_every_converter_has_a_case() -> None:
    ours = {name for name in converters() if name.startswith("ai.onnx.ml.")}
    tested = {f"ai.onnx.ml.{op}" for op, _, _ in CASES.values()} | {"ai.onnx.ml.ZipMap"}
    assert {name for name in ours - tested if ".TreeEnsemble" not in name} == set()


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_integers_that_onnxruntime_has_not(dtype: str) -> None:
    x = rows(4, 3, dtype=dtype)
    (found,) = evaluate(model("Binarizer", [x], {"threshold": -0.5}), [x])
    np.testing.assert_array_equal(found, (x > -0.5).astype(dtype))
    given = {"imputed_value_int64s": [7, 8, 9], "replaced_value_int64": 2}
    (found,) = evaluate(model("Imputer", [x], given), [x])
    np.testing.assert_array_equal(found, np.where(x == 2, np.array([7, 8, 9], dtype), x))
    (found,) = evaluate(model("OneHotEncoder", [x], {"cats_int64s": [1, 2]}), [x])
    np.testing.assert_array_equal(found, x[..., None] == np.array([1, 2]))


X = rows(4, 3)
WHOLE = rows(4, 3, dtype="int64")
PLAIN = {"classlabels_ints": [1, 2], "coefficients": floats(3)}

WRONG: dict[str, tuple[Case, str]] = {
    "features": (
        ("Scaler", [X], {"offset": [1.0, 2.0]}),
        "expected one number, or one of each feature, in offset, found 2 for an input of shape (4, 3)",
    ),
    "norm": (("Normalizer", [X], {"norm": "L3"}), "expected norm MAX, L1 or L2, found 'L3'"),
    "imputed": (
        ("Imputer", [X], {"imputed_value_int64s": [1]}),
        "expected imputed_value_floats for an input of f32, found none",
    ),
    "width": (
        ("FeatureVectorizer", [X], {"inputdimensions": [2]}),
        "expected inputdimensions [3] as the inputs have, found [2]",
    ),
    "coefficients": (
        ("LinearRegressor", [X], {"coefficients": [1.0, 2.0]}),
        "expected 3 coefficients and at most one intercept of each of 1 targets, found 2 and 0",
    ),
    "labels": (
        ("LinearClassifier", [X], PLAIN | {"classlabels_ints": [1], "coefficients": floats(6)}),
        "expected 2 class labels, found 1",
    ),
    "label": (
        ("LinearClassifier", [X], PLAIN | {"classlabels_ints": [1]}),
        "expected 2 class labels, found 1",
    ),
    "categories": (
        ("OneHotEncoder", [X], {"cats_int64s": [1, 1]}),
        "expected different cats_int64s, found [1, 1]",
    ),
    "keys": (
        ("LabelEncoder", [WHOLE], {"keys_int64s": [1, 1], "values_floats": [1.0, 2.0]}),
        "expected different keys, found one twice",
    ),
    "dtype of keys": (
        ("LabelEncoder", [X], {"keys_int64s": [1], "values_floats": [1.0]}),
        "expected keys of float32, found int64",
    ),
    "vectors": (
        ("SVMRegressor", [X], {"n_supports": 2, "coefficients": [1.0, 2.0], "rho": [0.5]}),
        "expected 2 support_vectors of 3 features, found 0 numbers",
    ),
    "lists": (
        ("LabelEncoder", [WHOLE], {"keys_int64s": [1]}),
        "expected one list of values, found none",
    ),
}


def line(case: Case) -> str:
    with pytest.raises(InarchError) as caught:
        import_onnx(model(*case), new_context())
    return caught.value.line()


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    case, wanted = WRONG[name]
    output = "label" if case[0].endswith("Classifier") else "y"
    assert line(case) == f"<model>: node '{output}' ({case[0]}): error: {wanted}"


REFUSED: dict[str, tuple[Case, str]] = {
    "maps": (
        ("ZipMap", [X], {"classlabels_int64s": [0, 1, 2]}),
        "maps; take the scores that it maps, or export without it: zipmap=False",
    ),
    "probabilities": (
        ("SVMClassifier", [X], {"classlabels_ints": [1, 2], "prob_a": [0.5], "prob_b": [0.5]}),
        "probabilities of pairs, prob_a and prob_b",
    ),
    "no vectors": (
        ("SVMClassifier", [X], PLAIN),
        "a classifier without support vectors; expected LinearClassifier",
    ),
    "strings": (
        ("LinearClassifier", [X], {"coefficients": floats(3), "classlabels_strings": ["a", "b"]}),
        "class labels that are strings; give the classes numbers, classlabels 0, 1, ..., "
        "and look the strings up outside the model",
    ),
    "probit": (
        ("LinearClassifier", [X], PLAIN | {"post_transform": "PROBIT"}),
        "post_transform PROBIT of two classes with one score",
    ),
    "zeros": (
        ("OneHotEncoder", [X], {"cats_int64s": [1], "zeros": 0}),
        "zeros = 0, an error at run time; expected zeros = 1",
    ),
    "categories": (
        ("OneHotEncoder", [X], {"cats_strings": ["a"]}),
        "categories that are strings; number them outside the model",
    ),
    "labels": (
        ("LabelEncoder", [WHOLE], {"keys_int64s": [1], "values_strings": ["a"]}),
        "labels that are strings; number them outside the model",
    ),
}


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    case, wanted = REFUSED[name]
    output = "label" if case[0].endswith("Classifier") else "y"
    assert line(case) == f"<model>: error: unsupported: {case[0]}: {wanted} ('{output}')"
