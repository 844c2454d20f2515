"""torch: the fastest of eager calls and oneDNN with packed weights; kernels by oneDNN's log."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from inarch.benchmark.layers import Conv, Gemm, Layer
from inarch.benchmark.peers import Kernel, Peer, Prepared
from inarch.benchmark.subject.arrays import Arrays
from inarch.core.lazy import Array

_PRIMITIVES = ("convolution", "matmul", "inner_product")
_TRIALS = 5

_Call = Callable[[], Any]


class _Eager(Prepared):
    def __init__(self, layer: Layer, arrays: Arrays) -> None:
        self._torch: Any = import_module("torch")
        self._torch.set_num_threads(1)
        self._torch.set_grad_enabled(False)
        x, w = (self._torch.from_numpy(array) for array in (arrays.x, arrays.w))
        bias = None if arrays.bias is None else self._torch.from_numpy(arrays.bias)
        if isinstance(layer, Conv):
            self._calls = self._convolutions(layer, x, w, bias)
        else:
            self._calls = self._products(layer, x, w, bias)
        self.variant = self._fastest()
        self._result: Any = self._calls[self.variant]()

    def _convolutions(self, layer: Conv, x: Any, w: Any, bias: Any) -> dict[str, _Call]:
        functional, ops = self._torch.nn.functional, self._torch.ops.mkldnn
        strides, pads, ones = [layer.stride] * 2, [layer.pad] * 2, [1, 1]
        attribute, scalars = {
            "none": ("none", []),
            "relu": ("relu", []),
            "relu6": ("hardtanh", [0.0, 6.0]),
        }[layer.activation]

        def eager(x: Any, w: Any) -> Any:
            y = functional.conv2d(x, w, bias, strides, pads, ones, layer.groups)
            if layer.activation == "relu":
                return y.relu_()
            return y.clamp_(0, 6) if layer.activation == "relu6" else y

        def fused(x: Any, packed: Any) -> Any:
            return ops._convolution_pointwise(  # noqa: SLF001 - what torch.compile calls
                x, packed, bias, pads, strides, ones, layer.groups, attribute, scalars, ""
            )

        last = self._torch.channels_last
        x_last = x.contiguous(memory_format=last)
        w_last = w.contiguous(memory_format=last)
        shape = list(x.shape)
        packed = ops._reorder_convolution_weight(  # noqa: SLF001
            w, pads, strides, ones, layer.groups, shape
        )
        return {
            "eager NCHW": lambda: eager(x, w),
            "eager channels_last": lambda: eager(x_last, w_last),
            "fused packed NCHW": lambda: fused(x, packed),
            "fused packed channels_last": lambda: fused(x_last, packed),
        }

    def _products(self, layer: Gemm, x: Any, w: Any, bias: Any) -> dict[str, _Call]:
        functional, ops = self._torch.nn.functional, self._torch.ops.mkldnn
        if layer.batch:
            return {"bmm": lambda: self._torch.bmm(x, w)}
        transposed = w.t().contiguous()
        packed = ops._reorder_linear_weight(  # noqa: SLF001
            transposed, layer.m
        )
        return {
            "linear": lambda: functional.linear(x, transposed, bias),
            "packed linear": lambda: ops._linear_pointwise(  # noqa: SLF001
                x, packed, bias, "none", [], ""
            ),
        }

    def _fastest(self) -> str:
        """The variant of the smallest time of a few, taken in turn."""
        best = dict.fromkeys(self._calls, float("inf"))
        for _ in range(_TRIALS):
            for name, call in self._calls.items():
                start = time.process_time_ns()
                call()
                best[name] = min(best[name], time.process_time_ns() - start)
        return min(best, key=lambda name: best[name])

    def run(self) -> None:
        self._result = self._calls[self.variant]()

    def output(self) -> Array:
        return self._result.contiguous().numpy()

    def kernel(self, count: int) -> Kernel | None:
        mkldnn = self._torch.backends.mkldnn
        flush = ctypes.CDLL(None).fflush
        log = Path("/proc/self/fd/1")  # the worker made it a file
        start = log.stat().st_size
        with mkldnn.verbose(mkldnn.VERBOSE_ON):
            for call in self._calls.values():
                for _ in range(count + 1):
                    call()
        flush(None)
        with log.open() as file:
            file.seek(start)
            return fastest_primitive(file.read())


def fastest_primitive(log: str) -> Kernel | None:
    """Of a log of oneDNN: `onednn_verbose,v1,primitive,exec,cpu,convolution,brgconv:avx512_core,...,0.1`.

    The last field is milliseconds. Reorders are other primitives.
    """
    best: Kernel | None = None
    for line in log.splitlines():
        fields = line.split(",")
        if "exec" not in fields or fields[0] != "onednn_verbose":
            continue
        kind, implementation = fields[fields.index("exec") + 2 :][:2]
        if kind not in _PRIMITIVES:
            continue
        nanoseconds = 1e6 * float(fields[-1])
        if best is None or nanoseconds < best.nanoseconds:
            best = Kernel(nanoseconds, implementation)
    return best


PEER = Peer(
    "torch", "1 thread; fastest of eager and oneDNN with packed weights, both layouts", _Eager
)
