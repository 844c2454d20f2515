"""OpenVINO: its CPU plugin for latency in f32; kernels by its performance counters."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from inarch.benchmark.layers import Layer
from inarch.benchmark.peers import Kernel, Peer, Prepared
from inarch.benchmark.peers._onnx_model import inputs_of, model_of
from inarch.benchmark.subject.arrays import Arrays
from inarch.core.lazy import Array

_SETTINGS = {
    "PERFORMANCE_HINT": "LATENCY",
    "NUM_STREAMS": 1,
    "INFERENCE_PRECISION_HINT": "f32",
    "ENABLE_CPU_PINNING": False,  # the core that it would take may be busy
}
_COLD_RUNS = 2
_OTHERS = ("Reorder", "Input", "Output", "Parameter", "Result", "Const", "Constant", "Transpose")


class _Request(Prepared):
    def __init__(self, model: bytes | str, inputs: Mapping[str, Array], threads: int = 1) -> None:
        self._threads = threads
        openvino: Any = import_module("openvino")
        self._core = openvino.Core()
        self._model = self._core.read_model(model)
        if self._model.is_dynamic():
            self._model.reshape({name: list(array.shape) for name, array in inputs.items()})
        self._tensors = {
            name: openvino.Tensor(array, shared_memory=True) for name, array in inputs.items()
        }
        self._request = self._open({})
        self.run()

    def _open(self, more: dict[str, Any]) -> Any:
        compiled = self._core.compile_model(
            self._model, "CPU", {**_SETTINGS, "INFERENCE_NUM_THREADS": self._threads, **more}
        )
        request = compiled.create_infer_request()
        for name, tensor in self._tensors.items():
            request.set_tensor(name, tensor)
        return request

    def run(self) -> None:
        self._request.infer()

    def output(self) -> Array:
        return self._request.get_output_tensor(0).data.copy()

    def kernel(self, count: int) -> Kernel | None:
        # The counters are averages since the model was compiled, in whole microseconds: what two
        # cold runs took in all is taken away from what all took. They are wall time, so that a short
        # measurement is less often interrupted.
        count = max(1, count // 3)
        request = self._open({"PERF_COUNT": True})
        for _ in range(_COLD_RUNS):
            request.infer()
        cold, _ = _counters(request)
        for _ in range(count):
            request.infer()
        every, names = _counters(request)
        nanoseconds = (every * (count + _COLD_RUNS) - cold * _COLD_RUNS) / count
        return Kernel(nanoseconds, "+".join(names)) if names else None


def _counters(request: Any) -> tuple[float, list[str]]:
    """The average nanoseconds of a run's operators without conversions, and what they are called."""
    total, names = 0.0, list[str]()
    for node in request.get_profiling_info():
        if node.node_type in _OTHERS or not str(node.status).endswith("EXECUTED"):
            continue
        total += 1e9 * node.real_time.total_seconds()
        names.append(node.exec_type)
    return total, names


def _of_layer(layer: Layer, arrays: Arrays) -> Prepared:
    return _Request(model_of(layer, arrays), inputs_of(layer, arrays))


def _of_model(path: Path, inputs: Mapping[str, Array], threads: int) -> Prepared:
    return _Request(str(path), inputs, threads)


PEER = Peer(
    "openvino",
    "1 thread, 1 stream, latency hint, f32",
    _of_layer,
    _of_model,
    ("onnx",),
)
