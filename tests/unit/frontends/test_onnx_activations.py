"""Activations keep their digits at every magnitude: compiled, against float64."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import inarch

Array = np.ndarray[Any, Any]
GAMMA, ALPHA = 1.05070102214813232421875, 1.67326319217681884765625


def softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def elu(x: Array) -> Array:
    return np.where(x < 0, np.expm1(x), x)


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "Softplus": softplus,
    "Mish": lambda x: x * np.tanh(softplus(x)),
    "Elu": elu,
    "Celu": elu,
    "Selu": lambda x: GAMMA * np.where(x < 0, ALPHA * np.expm1(x), x),
}


def points(kind: type[np.float32 | np.float64]) -> Array:
    """Of every magnitude from the smallest denormal number on, of both signs, and the ends."""
    limits = np.finfo(kind)
    low, high = np.log10(float(limits.smallest_subnormal)), np.log10(float(limits.max))
    sizes: Array = np.logspace(float(low) + 1, float(high) - 1, 400).astype(kind)
    near: Array = np.linspace(0, 90, 721).astype(kind)
    ends = np.array([0, limits.smallest_subnormal, limits.tiny, limits.max, np.inf], kind)
    every = np.concatenate([sizes, near, ends])
    return np.concatenate([every, -every, np.array([np.nan], kind)])


def ulps(found: Array, exact: Array, x: Array) -> Array:
    """The error in units of the spacing at the exact result; 0 where both are the same, of 0 with its sign.

    Mish multiplies x by what may be a denormal number, whose spacing counts then.
    """
    rounded = exact.astype(found.dtype)
    largest = np.finfo(found.dtype).max
    spacing = np.spacing(np.abs(np.clip(rounded, -largest, largest))).astype(np.float64)
    spacing = np.maximum(spacing, np.abs(x) * float(np.finfo(found.dtype).smallest_subnormal))
    error = np.abs(found.astype(np.float64) - exact) / spacing
    same = (found == rounded) & ((x != 0) | (np.signbit(found) == np.signbit(rounded)))
    same |= np.isnan(found) & np.isnan(rounded)
    error = np.where((x == 0) & ~same, np.inf, error)  # a zero of the other sign
    return np.where(same, 0.0, np.nan_to_num(error, nan=np.inf))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_activations_keep_their_digits_at_every_magnitude(
    kind: type[np.float32 | np.float64],
) -> None:
    """To 6 ulp; Softplus(-17) is 4.1e-8 and not 0, Elu(-1e-8) is -1e-8."""
    x = points(kind)
    name = "float" if kind is np.float32 else "double"
    outputs = ", ".join(f"{name}[{x.size}] y{at}" for at in range(len(FUNCTIONS)))
    nodes = "".join(f"y{at} = {op}(x) " for at, op in enumerate(FUNCTIONS))
    head = '<ir_version: 10, opset_import: ["" : 22]>'
    model = onnx.parser.parse_model(f"{head} g ({name}[{x.size}] x) => ({outputs}) {{ {nodes} }}")
    with np.errstate(all="ignore"):
        for found, (op, function) in zip(inarch.compile(model)(x), FUNCTIONS.items(), strict=True):
            error = ulps(np.asarray(found), function(x.astype(np.float64)), x)
            worst = int(np.argmax(error))
            assert error[worst] <= 6, f"{op}({x[worst]!r}) = {found[worst]!r}: {error[worst]} ulp"


ALL = (
    *FUNCTIONS, "Relu", "LeakyRelu", "Softsign", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "Swish",
    "Gelu", 'Gelu<approximate="tanh">', "ThresholdedRelu", "Shrink",
)  # fmt: skip


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_ends_of_activations(kind: type[np.float32 | np.float64]) -> None:
    """As ONNX's reference: zeros with their signs, infinities, and NaN where -inf meets a factor of 0.

    But Relu(-0), which is -0 here: x stays where it equals the bound.
    """
    limits = np.finfo(kind)
    x = np.array([0, limits.tiny, 1, limits.max, np.inf], kind)
    x = np.concatenate([x, -x, np.array([np.nan], kind)])
    name = f"{'float' if kind is np.float32 else 'double'}[{x.size}]"
    outputs = ", ".join(f"{name} y{at}" for at in range(len(ALL)))
    nodes = "".join(f"y{at} = {op}(x) " for at, op in enumerate(ALL))
    head = '<ir_version: 11, opset_import: ["" : 24]>'
    model = onnx.parser.parse_model(f"{head} g ({name} x) => ({outputs}) {{ {nodes} }}")
    with np.errstate(all="ignore"):
        expected: Any = ReferenceEvaluator(model).run(None, {"x": x})
        for given, wanted, op in zip(inarch.compile(model)(x), expected, ALL, strict=True):
            found: Array = np.asarray(given)
            np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=op)
            signed = np.where(x == 0, x, wanted) if op == "Relu" else wanted
            zeros = found == 0
            assert np.array_equal(np.signbit(found)[zeros], np.signbit(signed)[zeros]), op
