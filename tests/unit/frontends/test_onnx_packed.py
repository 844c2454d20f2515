"""Weights of 2, 4 and 8 bits that stay packed: against NumPy, which dequantizes, then multiplies in f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import inarch
from inarch.core.errors import InarchError
from inarch.core.lazy import Array
from inarch.dialects.graph.packed import packed_words, unpacked_words

MICROSOFT = "com.microsoft"


def packed(q: Array, bits: int) -> Array:
    """Integers of a few bits, the first in the lowest bits of each byte; the last byte is filled up."""
    per = 8 // bits
    rest = [(0, 0)] * (q.ndim - 1) + [(0, -q.shape[-1] % per)]
    whole = np.pad(q, rest).reshape(*q.shape[:-1], -1, per)
    shifts = np.arange(per, dtype=np.uint8) * np.uint8(bits)
    return np.bitwise_or.reduce(whole << shifts, axis=-1, dtype=np.uint8)


def model(
    nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], constants: dict[str, Any]
) -> onnx.ModelProto:
    """Of inputs and outputs (dtype, shape) by name, and constants: arrays, or tensors."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()],
        [helper.make_tensor_value_info(name, *kind) for name, kind in outputs.items()],
        [
            value if isinstance(value, TensorProto) else numpy_helper.from_array(value, name)
            for name, value in constants.items()
        ],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def nbits(
    shape: tuple[int, ...], constants: dict[str, Any], inputs: list[str], **attributes: Any
) -> onnx.ModelProto:
    """`y = MatMulNBits(x, ...)`."""
    known: dict[str, Any] = {"K": shape[-1], "N": 20, "bits": 4, "block_size": 32, **attributes}
    node = helper.make_node("MatMulNBits", ["x", *inputs], ["y"], domain=MICROSOFT, **known)
    return model([node], {"x": (1, shape)}, {"y": (1, (*shape[:-1], known["N"]))}, constants)


def close(found: Array, x: Array, weights: Array) -> None:
    """As near to the product as rounding of f32 allows."""
    exact = x.astype(np.float64) @ weights.T
    bound = np.abs(x).astype(np.float64) @ np.abs(weights).T
    assert found.dtype == np.float32
    assert (np.abs(found - exact) <= 2.0**-24 * (x.shape[-1] + 8) * bound + 1e-30).all()


CASES = [
    # rows, N, K, bits, block, zero points, target
    ((1, 128), 64, 4, 32, "", "native"),
    ((1, 256), 33, 4, 32, "packed", "native"),
    ((7, 64), 20, 4, 16, "packed", "native"),
    ((2, 3, 512), 48, 4, 256, "float", "native"),
    ((5, 64), 70, 2, 16, "packed", "native"),
    ((1, 160), 16, 2, 32, "", "native"),
    ((3, 64), 32, 8, 64, "packed", "native"),
    ((1, 96), 9, 8, 32, "float", "native"),
    ((13, 96), 40, 4, 32, "packed", "generic"),
    ((1, 96), 24, 2, 32, "float", "x86-64-v3"),
    ((4, 96), 24, 8, 16, "", "x86-64-v3"),
]


@pytest.mark.parametrize(("shape", "rows", "bits", "block", "zeros", "target"), CASES)
def test_products_by_packed_weights(
    shape: tuple[int, ...], rows: int, bits: int, block: int, zeros: str, target: str
) -> None:
    random = np.random.default_rng(bits * block + rows)
    columns = shape[-1]
    blocks = columns // block
    q = random.integers(0, 1 << bits, (rows, columns), dtype=np.uint8)
    scale = random.normal(size=(rows, blocks)).astype(np.float32)
    bias = random.normal(size=rows).astype(np.float32)
    middle = np.full((rows, blocks), 1 << (bits - 1), np.float32)
    zero = random.integers(0, 1 << bits, (rows, blocks), dtype=np.uint8)
    constants = {"w": packed(q, bits).reshape(rows, blocks, -1), "s": scale, "b": bias}
    names = ["w", "s", *([] if not zeros else ["z"])]
    if zeros == "packed":
        constants["z"], middle = packed(zero, bits), zero.astype(np.float32)
    if zeros == "float":
        constants["z"] = middle = random.normal(size=(rows, blocks)).astype(np.float32)
    inputs = [*names, *([""] * (4 - len(names))), "b"] if rows % 2 == 0 else names
    proto = nbits(shape, constants, inputs, N=rows, bits=bits, block_size=block, accuracy_level=4)
    x = random.normal(size=shape).astype(np.float32)
    found = inarch.compile(proto, target=target)(x)
    wide = q.reshape(rows, blocks, block).astype(np.float64)
    weights = ((wide - middle[..., None]) * scale[..., None]).reshape(rows, columns)
    if "b" in inputs:  # as one column more, with a factor of 1
        x = np.concatenate([x, np.ones_like(x[..., :1])], axis=-1)
        weights = np.concatenate([weights, bias[:, None]], axis=1)
    close(found, x, weights)


def test_a_block_is_scaled_word_by_word_where_its_scale_is_infinite() -> None:
    """The sum of the block is finite: scaled as a whole it would be an infinity."""
    q = np.full((32, 64), 9, np.uint8)
    q[3, :8], q[3, 8:16] = 15, 1
    scale = np.ones((32, 2), np.float32)
    scale[3, 0] = np.inf
    proto = nbits((1, 64), {"w": packed(q, 4).reshape(32, 2, 16), "s": scale}, ["w", "s"], N=32)
    found = inarch.compile(proto)(np.ones((1, 64), np.float32))
    assert np.isnan(found[0, 3])
    np.testing.assert_array_equal(np.delete(found[0], 3), 64)


def test_words_hold_what_they_were_given() -> None:
    random = np.random.default_rng(0)
    for bits in (2, 4, 8):
        q = random.integers(0, 1 << bits, (3, 64), dtype=np.uint8)
        words = packed_words(q, bits)
        assert words.dtype == np.int32
        assert words.shape == (3, 2 * bits)
        np.testing.assert_array_equal(unpacked_words(words, bits), q)


def test_the_artifact_has_the_weights_packed() -> None:
    random = np.random.default_rng(0)
    w = random.integers(0, 256, (512, 16, 16), dtype=np.uint8)
    scale = random.normal(size=(512, 16)).astype(np.float32)
    module = inarch.compile(nbits((1, 512), {"w": w, "s": scale}, ["w", "s"], N=512))
    assert w.nbytes + scale.nbytes <= len(module.content) < 2 * (w.nbytes + scale.nbytes)


def int4(name: str, q: Array, *, signed: bool) -> TensorProto:
    """A tensor of int4 or uint4."""
    data = packed(np.ravel(q).astype(np.uint8) & 15, 4).tobytes()
    kind = TensorProto.INT4 if signed else TensorProto.UINT4
    return TensorProto(name=name, data_type=kind, dims=q.shape, raw_data=data)


@pytest.mark.parametrize(("axis", "signed"), [(0, True), (1, False), (0, False), (1, True)])
def test_a_dequantized_matrix_stays_packed(axis: int, *, signed: bool) -> None:
    random = np.random.default_rng(axis)
    least = -8 if signed else 0
    shape = (512, 256) if axis == 0 else (256, 512)
    by_block = tuple(size // 32 if at == axis else size for at, size in enumerate(shape))
    q = random.integers(least, least + 16, shape)
    zero = random.integers(least, least + 16, by_block)
    scale = random.normal(size=by_block).astype(np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["w"], axis=axis, block_size=32),
        *([helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0])] if axis else []),
        helper.make_node("MatMul", ["x", "t" if axis else "w"], ["y"]),
    ]
    constants = {
        "q": int4("q", q, signed=signed),
        "z": int4("z", zero, signed=signed),
        "s": scale,
    }
    proto = model(nodes, {"x": (1, (2, 3, 512))}, {"y": (1, (2, 3, 256))}, constants)
    x = random.normal(size=(2, 3, 512)).astype(np.float32)
    module = inarch.compile(proto)
    repeated = [np.repeat(each.astype(np.float64), 32, axis) for each in (zero, scale)]
    weights = (q - repeated[0]) * repeated[1]
    close(module(x), x, weights if axis else weights.T)
    assert len(module.content) < q.size * 4 / 2  # half of what the floats alone would take


def test_rows_of_a_packed_table() -> None:
    random = np.random.default_rng(0)
    scale = random.normal(size=(10, 4)).astype(np.float32)
    zero = random.integers(0, 16, (10, 4), dtype=np.uint8)
    q = random.integers(0, 16, (10, 64), dtype=np.uint8)
    index = np.array([[3, 0, 9], [-1, 5, 5]])
    bits: dict[str, Any] = {"bits": 4}
    none: dict[str, Any] = {}
    for data, zeros, given, known in (
        (packed(q, 4), packed(zero, 4), zero, bits),
        (packed(q, 4), None, np.full((10, 4), 8), bits),
        (int4("d", q, signed=False), int4("z", zero, signed=False), zero, none),
        (int4("d", q.astype(int) - 8, signed=True), None, np.full((10, 4), 8), none),
        (int4("d", q, signed=False), None, np.zeros((10, 4)), none),
    ):
        names = ["d", "i", "s", *([] if zeros is None else ["z"])]
        node = helper.make_node(
            "GatherBlockQuantized", names, ["y"], domain=MICROSOFT, block_size=16, **known
        )
        constants = {"d": data, "s": scale, **({} if zeros is None else {"z": zeros})}
        proto = model([node], {"i": (7, (2, 3))}, {"y": (1, (2, 3, 64))}, constants)
        table = (q.reshape(10, 4, 16) - given[..., None].astype(np.float32)) * scale[..., None]
        found = inarch.compile(proto)(index)
        np.testing.assert_array_equal(found, table.astype(np.float32).reshape(10, 64)[index])


@pytest.mark.parametrize("signed", [True, False])
def test_numbers_of_four_bits_saturate(*, signed: bool) -> None:
    zero = int4("z", np.array(3), signed=signed)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], domain=MICROSOFT),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], domain=MICROSOFT),
    ]
    constants = {"s": np.array(0.5, np.float32), "z": zero}
    proto = model(nodes, {"x": (1, (9,))}, {"y": (1, (9,))}, constants)
    x = np.array([-100, -5, -0.75, -0.25, 0, 0.25, 0.75, 2, 100], np.float32)
    least = -8 if signed else 0
    q = np.clip(np.rint(x / 0.5) + 3, least, least + 15)
    np.testing.assert_array_equal(inarch.compile(proto)(x), (q - 3) * np.float32(0.5))


def test_an_odd_number_of_packed_integers() -> None:
    q = np.array([-8, 7, 3])
    nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["y"])]
    constants = {"q": int4("q", q, signed=True), "s": np.array(2, np.float32)}
    proto = model(nodes, {}, {"y": (1, (3,))}, constants)
    np.testing.assert_array_equal(inarch.compile(proto)(), q.astype(np.float32) * 2)
    proto.graph.initializer[0].raw_data = b"\x78"
    with pytest.raises(InarchError) as caught:
        inarch.compile(proto)
    assert str(caught.value) == "<model>: tensor 'q': expected 2 bytes of data, found 1"
    proto.graph.initializer[0].ClearField("raw_data")
    proto.graph.initializer[0].int32_data.extend([0x78])
    with pytest.raises(InarchError) as caught:
        inarch.compile(proto)
    assert str(caught.value) == (
        "<model>: tensor 'q': expected 2 bytes of data, one a number, found 1"
    )


W = np.zeros((20, 4, 16), np.uint8)
S = np.ones((20, 4), np.float32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": 112}, "expected N and K above 0, K a multiple of block_size = 32; found N = 20 and K = 112"),
        ({"bits": 3}, "expected bits = 2, 4 or 8, found 3"),
        ({"block_size": 48}, "expected block_size, a power of two from 16 on, found 48"),
        ({"block_size": 8}, "expected block_size, a power of two from 16 on, found 8"),
        ({"accuracy_level": 5}, "expected accuracy_level 0 to 4, found 5"),
        ({"K": 64}, "expected A with K = 64 columns, found shape (1, 128)"),
        ({"w": W[:, :3]}, "expected B of uint8 of shape (20, 4, 16), found uint8 of (20, 3, 16)"),
        ({"s": S[:, :3]}, "expected scales of floats of shape (20, 4), found f32 of (20, 3)"),
        ({"z": W[:, :, 0]}, "expected zero points of uint8 of shape (20, 2), found uint8 of (20, 4)"),
        ({"z": S[:5]}, "expected zero points of floats of shape (20, 4), found f32 of (5, 4)"),
        ({"b": S[0]}, "expected a bias of shape (20,), found (4,)"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(change: dict[str, Any], message: str) -> None:
    arrays = {
        "w": W,
        "s": S,
        **{name: each for name, each in change.items() if len(name) == 1 and name != "K"},
    }
    attributes = {name: each for name, each in change.items() if name not in arrays}
    inputs = ["w", "s", "z" if "z" in arrays else "", "", "b" if "b" in arrays else ""]
    while not inputs[-1]:
        inputs.pop()
    with pytest.raises(InarchError) as caught:
        inarch.compile(nbits((1, 128), arrays, inputs, **attributes))
    assert str(caught.value) == f"<model>: node 'y' (MatMulNBits): {message}"
