"""onnxruntime: its CPU provider on bound buffers; kernels by its profiler."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from inarch.benchmark.layers import Layer
from inarch.benchmark.peers import Kernel, Peer, Prepared
from inarch.benchmark.peers._onnx_model import inputs_of, model_of
from inarch.benchmark.subject.arrays import Arrays
from inarch.core.lazy import Array
from inarch.core.scratch import scratch

_CONVERSIONS = ("ReorderInput", "ReorderOutput", "Transpose")


class _Session(Prepared):
    def __init__(self, model: bytes | str, inputs: Mapping[str, Array], threads: int = 1) -> None:
        self._runtime: Any = import_module("onnxruntime")
        self._model = model
        self._inputs = inputs
        self._threads = threads
        self._session = self._open(self._options())
        self._binding = self._bind(self._session)
        self.run()

    def _options(self) -> Any:
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        options.graph_optimization_level = self._runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        return options

    def _open(self, options: Any) -> Any:
        providers = ["CPUExecutionProvider"]
        return self._runtime.InferenceSession(self._model, options, providers=providers)

    def _bind(self, session: Any) -> Any:
        binding = session.io_binding()
        for name, array in self._inputs.items():
            binding.bind_cpu_input(name, array)
        for output in session.get_outputs():
            binding.bind_output(output.name)
        return binding

    def run(self) -> None:
        self._session.run_with_iobinding(self._binding)

    def output(self) -> Array:
        return self._binding.copy_outputs_to_cpu()[0]

    def kernel(self, count: int) -> Kernel | None:
        with scratch("inarch-bench-") as folder:
            options = self._options()
            options.enable_profiling = True
            options.profile_file_prefix = str(folder / "profile")
            session = self._open(options)
            binding = self._bind(session)
            for _ in range(count + 1):
                session.run_with_iobinding(binding)
            events = json.loads(Path(session.end_profiling()).read_text())
        times: dict[str, list[float]] = {}
        names: dict[str, str] = {}
        for event in events:
            operator = event.get("args", {}).get("op_name")
            if not str(event.get("name", "")).endswith("_kernel_time") or operator in _CONVERSIONS:
                continue
            times.setdefault(event["name"], []).append(1e3 * event["dur"])
            names[event["name"]] = operator
        if not times:
            return None
        return Kernel(sum(map(min, times.values())), "+".join(names.values()))


def _of_layer(layer: Layer, arrays: Arrays) -> Prepared:
    return _Session(model_of(layer, arrays), inputs_of(layer, arrays))


def _of_model(path: Path, inputs: Mapping[str, Array], threads: int) -> Prepared:
    return _Session(str(path), inputs, threads)


PEER = Peer(
    "onnxruntime",
    "1 thread, all graph optimizations, bound buffers",
    _of_layer,
    _of_model,
    ("onnx",),
)
