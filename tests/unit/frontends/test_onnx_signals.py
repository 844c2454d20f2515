"""What onnxruntime lacks, or has otherwise, of operators of signals: against NumPy, and onnx itself."""

# Onnx's functions have partly unknown types:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from tests.unit.frontends.test_onnx_ops import evaluate, inputs_of, parse


@pytest.mark.parametrize(
    ("bins", "length", "rate", "low", "high"), [(8, 16, 8192, 0, 4096), (40, 512, 16000, 20, 7600)]
)
def test_mel_weights(bins: int, length: int, rate: int, low: float, high: float) -> None:
    numbers = {"n": bins, "l": length, "r": rate}
    nodes = " ".join(f"{name} = Constant<value=int64 {{{v}}}>()" for name, v in numbers.items())
    nodes += f" a = Constant<value=float {{{low}}}>() b = Constant<value=float {{{high}}}>()"
    model = parse(17, "float[1] x", f"{nodes} w = MelWeightMatrix(n, l, r, a, b) y = Mul(w, x)")
    given = {"x": np.ones(1, np.float32)}
    wanted: Any = ReferenceEvaluator(model).run(None, given)
    np.testing.assert_allclose(evaluate(model, given)[0], wanted[0], atol=1e-6)


@pytest.mark.parametrize(("length", "given"), [(8, False), (7, True), (5, True), (12, True)])
def test_the_inverse_of_a_onesided_spectrum(length: int, given: bool) -> None:
    # onnxruntime has none.
    number = f"n = Constant<value=int64 {{{length}}}>()" if given else ""
    call = "y = DFT<inverse=1, onesided=1>(x, n)" if given else "y = DFT<inverse=1, onesided=1>(x)"
    model = parse(20, "float[3,5,2] x", f"{number} {call}")
    inputs = inputs_of(model)
    (found,) = evaluate(model, inputs)
    spectrum = inputs["x"][..., 0] + 1j * inputs["x"][..., 1]
    np.testing.assert_allclose(found[..., 0], np.fft.irfft(spectrum, length), atol=1e-6)
