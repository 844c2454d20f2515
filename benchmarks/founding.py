"""ResNet-50's 23 distinct convolutions by a library's product of matrices, beside NumPy's own products.

    python benchmarks/founding.py [--load FILE --microkernel NAME] [--layer l2.c2] [--json FILE]

The kernel is demanded (examples/microkernels/sgemm_openblas.py by default: `pip install scipy-openblas32`).
NumPy multiplies weights by an image that is a matrix of the same sizes already: no copies. Both in one
process, interleaved, one thread; minima of CPU time, in milliseconds. The last line has sums and their ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("INARCH_NUM_THREADS", "1")

import numpy as np

import inarch
from inarch.benchmark.layers import LAYER_SETS, Conv
from inarch.benchmark.subject.arrays import arrays_of
from inarch.benchmark.subject.program import program_of
from inarch.core.errors import unknown
from inarch.core.plugins import load_file
from inarch.core.scratch import scratch
from inarch.dialects import new_context
from inarch.driver.compiler import build
from inarch.microkernel.table import MICROKERNELS

OPENBLAS = Path(__file__).parents[1] / "examples" / "microkernels" / "sgemm_openblas.py"
LEAST_TURNS = 5


def measured(layer: Conv, kernel: str, seconds: float) -> tuple[float, float]:
    """Seconds of the layer by the kernel, and of NumPy's product of its sizes."""
    arrays, context = arrays_of(layer), new_context()
    with scratch("inarch-founding-") as folder:
        path = folder / "layer.inarch"
        build(program_of(layer, arrays, context), path, context=context, microkernels=[kernel])
        module = inarch.load(path, threads=1)
    *_, height, width = layer.output_shape
    weights = arrays.w.reshape(layer.outputs, -1)
    image = np.random.default_rng(0).standard_normal((weights.shape[1], height * width), np.float32)
    output = np.empty((layer.outputs, height * width), np.float32)
    module(arrays.x)
    ours = theirs = float("inf")
    turns, end = 0, time.monotonic() + seconds
    while turns < LEAST_TURNS or time.monotonic() < end:
        start = time.thread_time()
        module(arrays.x)
        middle = time.thread_time()
        np.matmul(weights, image, out=output)
        ours, theirs = min(ours, middle - start), min(theirs, time.thread_time() - middle)
        turns += 1
    return ours, theirs


def main() -> int:
    """Prints a line a layer, and the sums."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--load", type=Path, default=OPENBLAS, help="the file of the kernel")
    parser.add_argument("--microkernel", help="its name (default: the file's)")
    parser.add_argument("--layer", action="append", default=[], help="only these (repeatable)")
    parser.add_argument("--seconds", type=float, default=0.8, help="that a layer is measured for")
    parser.add_argument("--json", type=Path, help="write the seconds to a file")
    arguments = parser.parse_args()
    load_file(arguments.load, {"microkernel": MICROKERNELS})
    kernel = arguments.microkernel or arguments.load.stem.replace("_", "-")
    layers = {one.name: one for one in LAYER_SETS["resnet50"].layers if isinstance(one, Conv)}
    for name in arguments.layer:
        if name not in layers:
            raise unknown("layer", name, layers)
    found: dict[str, tuple[float, float]] = {}
    for name in arguments.layer or layers:
        ours, theirs = found[name] = measured(layers[name], kernel, arguments.seconds)
        print(f"{name:10} {ours * 1e3:8.3f} {theirs * 1e3:8.3f} {ours / theirs:6.2f}", flush=True)
    ours, theirs = (sum(pair[at] for pair in found.values()) for at in (0, 1))
    print(f"{'sum':10} {ours * 1e3:8.3f} {theirs * 1e3:8.3f} {ours / theirs:6.3f}  by {kernel}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
