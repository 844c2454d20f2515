"""Weights of f16 and bf16 are kept: their kernels, C on lanes that converts, and what becomes of models."""

from __future__ import annotations

import ctypes
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import inarch
from inarch.backends.c.write.value.math import helpers_text
from inarch.core.dtypes import DTYPES
from inarch.machine.target import Target, native, parse
from inarch.machine.toolchain import compile_library
from inarch.microkernel import members
from inarch.microkernel.table import MICROKERNELS
from inarch.verification import verify_family

KERNELS = ["gemm-f32-f16", "gemm-f32-bf16", "conv-f32-f16", "conv-f32-bf16"]


def _here(name: str) -> Target:
    target = native()
    if missing := set(MICROKERNELS[name].needs) - target.features:
        pytest.skip(f"this CPU lacks {', '.join(missing)}")
    return target


@pytest.mark.parametrize("name", KERNELS)
def test_members_do_what_they_say(name: str) -> None:
    target, kernel = _here(name), MICROKERNELS[name]
    found = members(kernel, target)
    for verdict in verify_family(kernel, name, target, params=found[len(found) // 3], quick=True):
        assert verdict.ok, verdict


@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_lanes_convert_as_numpy(name: str, lanes: int, target: str, tmp_path: Path) -> None:
    """All numbers of 16 bits widened, and f32 that lie between them narrowed: ties, denormals, infinities."""
    chosen = parse(target)
    if chosen.missing_here():
        pytest.skip(f"this CPU is no {target}")
    widen, narrow = (f"INARCH_{way}_V{lanes}{name.upper()}" for way in ("WIDEN", "NARROW"))
    size = lanes * 2
    loads = {
        "widen": (widen, "uint16_t", size, "float", size * 2),
        "narrow": (narrow, "float", size * 2, "uint16_t", size),
    }
    text = '#include <stdint.h>\n#define EXPORT __attribute__((visibility("default")))\n'
    text += helpers_text([widen, narrow])
    for title, (call, given, first, result, second) in loads.items():
        text += (
            f"typedef {given} {title}_a __attribute__((vector_size({first}), aligned(1), may_alias));\n"
            f"typedef {result} {title}_b __attribute__((vector_size({second}), aligned(1), may_alias));\n"
            f"EXPORT void {title}(const {given} *x, {result} *y, int64_t count);\n"
            f"void {title}(const {given} *x, {result} *y, int64_t count)\n{{\n"
            f"    for (int64_t i = 0; i < count; i += {lanes}) {{\n"
            f"        *({title}_b *)(y + i) = ({title}_b){call}(*(const {title}_a *)(x + i));\n    }}\n}}\n"
        )
    library = compile_library({"lanes.c": text}, tmp_path / "lanes.so", target=chosen)
    entry = ctypes.CDLL(str(library or tmp_path / "lanes.so"))

    def run(title: str, x: np.ndarray, dtype: type) -> np.ndarray:
        y = np.zeros(x.shape, dtype)
        getattr(entry, title)(
            x.ctypes.data_as(ctypes.c_void_p),
            y.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_int64(x.size),
        )
        return y

    stored = np.dtype(DTYPES[name].numpy)
    bits = np.arange(1 << 16, dtype=np.uint16)
    wide = bits.view(stored).astype(np.float32)
    np.testing.assert_array_equal(run("widen", bits, np.float32), wide)
    near = np.concatenate([(wide.view(np.int32) + step).view(np.float32) for step in (-1, 0, 1)])
    with np.errstate(all="ignore"):
        half = ((wide.astype(np.float64) + np.roll(wide, -1)) / 2).astype(np.float32)
    x = np.concatenate([near, half])
    with np.errstate(all="ignore"):
        wanted = x.astype(stored)
    found = run("narrow", x, np.uint16).view(stored)
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))


def _model(path: Path, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """conv, relu, product: weights of more than 1 MiB as f32."""
    rng = np.random.default_rng(3)
    w = (rng.standard_normal((128, 264, 3, 3)) / 48).astype(dtype)
    v = (rng.standard_normal((70, 128 * 49)) / 80).astype(dtype)
    kind = {
        "float16": TensorProto.FLOAT16,
        "bfloat16": TensorProto.BFLOAT16,
        "float32": TensorProto.FLOAT,
    }
    own = kind[dtype]
    held = [
        helper.make_tensor(name, own, each.shape, each.tobytes(), raw=True)
        for name, each in (("w", w), ("v", v))
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[0, 0, 0, 0]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("Gemm", ["f", "v"], ["y"], transB=1),
    ]
    given = [helper.make_tensor_value_info("x", own, [2, 264, 9, 9])]
    result = [helper.make_tensor_value_info("y", own, [2, 70])]
    graph = helper.make_graph(nodes, "narrow", given, result, held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)]), path)
    return w, v


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_models_keep_their_weights(dtype: str, tmp_path: Path) -> None:
    _here("gemm-f32-f16")
    path, wide = tmp_path / "model.onnx", tmp_path / "wide.onnx"
    w, v = _model(path, dtype)
    _model(wide, "float32")
    module = inarch.compile(path, numerics="strict")  # Winograd's weights are larger
    module.save(tmp_path / "narrow.inarch")
    inarch.compile(wide, numerics="strict").save(tmp_path / "wide.inarch")
    small, large = ((tmp_path / f"{name}.inarch").stat().st_size for name in ("narrow", "wide"))
    assert small < 0.6 * large
    stored = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.random.default_rng(0).standard_normal((2, 264, 9, 9)).astype(stored)
    numbers = [each.astype(np.float64) for each in (x, w, v)]
    windows = np.lib.stride_tricks.sliding_window_view(numbers[0], (3, 3), (2, 3))
    c = np.einsum("ncyxab,ocab->noyx", windows, numbers[1]).astype(np.float32).astype(stored)
    r = np.maximum(c.astype(np.float64), 0).reshape(2, -1)
    wanted = r @ numbers[2].T
    found = np.asarray(module(x)).astype(np.float64)
    # The sum of the rounding of each convolved number, and of the result.
    unit = float(ml_dtypes.finfo(stored).eps)
    bound = unit * (np.abs(r) @ np.abs(numbers[2].T) / 8 + np.abs(wanted))
    assert np.all(np.abs(found - wanted) <= bound), np.max(np.abs(found - wanted) / bound)
