"""Transposed convolutions against onnxruntime and OpenVINO: 3x3 and 4x4 of stride 2, one image.

    python benchmarks/transposed.py [--threads 1] [--rounds 20] [--only 4x4] [--json]

All in one process, in turn: a rest (the pools of others spin on for a while), a call that is not timed, then
timed ones; the least of each is compared. `ratio` is the better peer's time by ours: above 1 ours is the
faster. `GF/s` counts the products that are not with inserted zeros.
"""

# Onnx, onnxruntime and OpenVINO are untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

REST_S = 0.06
CALLS = 4
"""Timed calls of a turn."""
CHANNELS = ((64, 64), (128, 64), (128, 128), (256, 128), (256, 256))
SIZES = (16, 32, 64)


@dataclass(frozen=True)
class Layer:
    """`channels` x `size` x `size` to `filters` x `2 * size` x `2 * size`, by a square window."""

    window: int
    channels: int
    filters: int
    size: int

    @property
    def name(self) -> str:
        return (
            f"{self.window}x{self.window} {self.channels}->{self.filters} {self.size}x{self.size}"
        )

    @property
    def operations(self) -> int:
        return 2 * self.channels * self.filters * (self.window * self.size) ** 2

    def model(self) -> Any:
        """The layer alone, as ONNX: with constant weights and a bias."""
        import onnx
        from onnx import helper, numpy_helper

        rng = np.random.default_rng(0)
        weights = (self.channels, self.filters, self.window, self.window)
        scale = 1 / math.sqrt(self.channels * self.window)
        arrays = {
            "w": (rng.standard_normal(weights) * scale).astype(np.float32),
            "b": rng.standard_normal(self.filters).astype(np.float32),
        }
        node = helper.make_node(
            "ConvTranspose",
            ["x", "w", "b"],
            ["y"],
            strides=[2, 2],
            pads=[1, 1, 1, 1],
            output_padding=[4 - self.window] * 2,
        )
        shapes = {
            "x": [1, self.channels, self.size, self.size],
            "y": [1, self.filters, 2 * self.size, 2 * self.size],
        }
        values = {
            name: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
            for name, shape in shapes.items()
        }
        tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
        graph = helper.make_graph([node], "layer", [values["x"]], [values["y"]], tensors)
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8)


def layers() -> Iterator[Layer]:
    for window in (3, 4):
        for channels, filters in CHANNELS:
            for size in SIZES:
                yield Layer(window, channels, filters, size)


def contenders(model: Any, x: Any, threads: int, folder: Path) -> dict[str, Callable[[], Any]]:
    """By name: a call of the model that gives its result."""
    import onnx
    import onnxruntime

    import inarch

    path = folder / "layer.onnx"
    onnx.save(model, path)
    main = inarch.compile(path, threads=threads)["main"]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session: Any = onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )
    openvino: Any = import_module("openvino")
    hints = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
        "ENABLE_CPU_PINNING": False,
    }
    request = openvino.Core().compile_model(str(path), "CPU", hints).create_infer_request()
    request.set_input_tensor(openvino.Tensor(x, shared_memory=True))

    def by_openvino() -> Any:
        request.infer()
        return request.get_output_tensor(0).data

    return {
        "inarch": lambda: main(x),
        "onnxruntime": lambda: session.run(None, {"x": x})[0],
        "openvino": by_openvino,
    }


def measure(layer: Layer, threads: int, rounds: int, folder: Path) -> dict[str, Any]:
    """The least microseconds of each contender, who have to agree."""
    shape = (1, layer.channels, layer.size, layer.size)
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    calls = contenders(layer.model(), x, threads, folder)
    results = {name: np.array(call()) for name, call in calls.items()}
    for name, result in results.items():
        np.testing.assert_allclose(
            result.reshape(-1), results["onnxruntime"].reshape(-1), atol=1e-3, err_msg=name
        )
    least = dict.fromkeys(calls, math.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(REST_S if threads > 1 else 0)
            call()
            for _ in range(CALLS):
                start = time.perf_counter()
                call()
                least[name] = min(least[name], (time.perf_counter() - start) * 1e6)
    best = min(least["onnxruntime"], least["openvino"])
    return {
        "layer": layer.name,
        "us": least,
        "gflops": layer.operations / least["inarch"] / 1e3,
        "ratio": best / least["inarch"],
    }


def _print(row: Mapping[str, Any]) -> None:
    times = "".join(f"{row['us'][name]:>12.0f}" for name in ("inarch", "onnxruntime", "openvino"))
    print(f"{row['layer']:<22}{times}{row['gflops']:>8.0f}{row['ratio']:>7.2f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="layers whose name contains this")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not given.json:
        print(f"{'us':<22}{'inarch':>12}{'onnxruntime':>12}{'openvino':>12}{'GF/s':>8}{'ratio':>7}")
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for layer in layers():
            if given.only in layer.name:
                rows.append(measure(layer, given.threads, given.rounds, Path(folder)))
                if not given.json:
                    _print(rows[-1])
    if given.json:
        print(json.dumps(rows, indent=1))
        return 0
    ratios = [row["ratio"] for row in rows]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"least ratio {min(ratios):.2f}, geometric mean {mean:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
