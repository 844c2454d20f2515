"""Damaged models raise an InarchError or are read: nothing else escapes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from inarch._xdsl import verify_module
from inarch.dialects import new_context
from inarch.errors import InarchError
from inarch.frontends.onnx import import_onnx

TEXT = """
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[n,3,8,8] x, float[4] s) => (float[1,6] y) {
  c = Conv<pads=[1,1,1,1], strides=[2,2]>(x, w)
  r = Clip(c, , hi)
  p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r)
  b = BatchNormalization(p, s, s, s, s)
  t = Transpose<perm=[0,2,3,1]>(b)
  k = Constant<value=int64[1] {-1}>()
  h = Shape(t)
  z = Constant<value=int64 {0}>()
  n0 = Gather(h, z)
  n1 = Unsqueeze(n0, zero)
  q = Concat<axis=0>(n1, k)
  f = Reshape(t, q)
  m = Gemm<transB=1, alpha=0.5>(f, v)
  e = local.scale<by=2.0>(m)
  y = Softmax<axis=-1>(e)
}
<domain: "local", opset_import: ["" : 17]>
scale<by>(a) => (b) { f = Constant<value_float: float = @by>() b = Mul(a, f) }
"""


def model_bytes() -> bytes:
    rng = np.random.default_rng(0)
    model = onnx.parser.parse_model(TEXT)
    weights = {
        "w": rng.standard_normal((4, 3, 3, 3)).astype("float32"),
        "v": rng.standard_normal((6, 16)).astype("float32"),
        "hi": np.array(6, "float32"),
        "zero": np.array([0], "int64"),
    }
    model.graph.initializer.extend(numpy_helper.from_array(w, name) for name, w in weights.items())
    return model.SerializeToString()


DATA = model_bytes()


def read(data: bytes) -> str:
    """How the import of `data` ends: `read`, or the error's line."""
    try:
        verify_module(import_onnx(data, new_context(), dims={"n": 1}))
    except InarchError as error:
        line = error.line()
        assert "\n" not in line
        return line
    return "read"


def mutated(rng: np.random.Generator) -> bytes:
    data = bytearray(DATA)
    kind = rng.integers(0, 4)
    where = int(rng.integers(0, len(data)))
    if kind == 0:
        return bytes(data[:where])
    if kind == 1:
        del data[where : where + int(rng.integers(1, 9))]
    elif kind == 2:
        data[where:where] = bytes(rng.integers(0, 256, rng.integers(1, 9), dtype=np.uint8))
    else:
        for position in rng.integers(0, len(data), rng.integers(1, 4)):
            data[position] ^= 1 << int(rng.integers(0, 8))
    return bytes(data)


def test_the_model_itself_is_read() -> None:
    assert read(DATA) == "read"


def test_some_damage() -> None:
    rng = np.random.default_rng(0)
    ends = [read(mutated(rng)) for _ in range(300)]
    assert ends.count("read") < 200  # weights, names and documentation may be damaged unseen


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1, 21))
def test_much_damage(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(1000):
        read(mutated(rng))


@pytest.mark.fuzz
def test_every_truncation_and_every_flipped_byte() -> None:
    for position in range(len(DATA)):
        read(DATA[:position])
        read(DATA[:position] + bytes([DATA[position] ^ 0xFF]) + DATA[position + 1 :])
