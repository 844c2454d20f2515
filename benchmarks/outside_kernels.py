"""A ResNet-50 convolution and a BERT product by kernels from outside, in % of the FMA peak of the same run.

    python benchmarks/outside_kernels.py [--layer l1.c2 --layer attention.linear] [--rounds 20]

Each kernel is demanded by name, so that it does what it matches: examples/microkernels/gemm_tile.c; OpenBLAS
by symbol; a library under development (gemm_library.c beside it, with one row of C in registers, then
rebuilt with eight after the model was compiled); the same library through the function registry. Against
them what Inarch compiles without them. GFLOP/s of the call from Python, minima over interleaved rounds of
CPU time of one thread. docs/microkernels.md has the results.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("INARCH_NUM_THREADS", "1")

import numpy as np

import inarch
from inarch.benchmark.harness import Harness
from inarch.benchmark.layers import Gemm, Layer, select
from inarch.benchmark.subject.arrays import arrays_of
from inarch.benchmark.subject.program import program_of
from inarch.core.errors import InarchError
from inarch.core.plugins import load_file
from inarch.core.scratch import scratch
from inarch.dialects import new_context
from inarch.driver.compiler import build
from inarch.machine.target import native
from inarch.machine.toolchain import compile_library
from inarch.microkernel.table import MICROKERNELS
from inarch.runtime.module import Imports
from inarch.runtime.native import NativeFunction

EXAMPLES = Path(__file__).parents[1] / "examples" / "microkernels"
OWN = "Inarch without them"
_LIBRARY_KERNEL = """
from inarch.microkernel import Microkernel

MICROKERNEL = Microkernel(
    computes="for m in M, n in N, k in K: C[m, n] += A[m, k] * B[k, n]",
    dtypes={{"A": "f32", "B": "f32", "C": "f32"}},
    layout={{"A": ("*", 1), "B": ("*", 1), "C": ("*", 1)}},
    {code},
)
"""
_SYMBOL = '''symbol="gemm_library",
    declare="void gemm_library(const float *, const float *, float *, int64_t, int64_t, int64_t, "
    "int64_t, int64_t, int64_t);",
    call="gemm_library({{A}}, {{B}}, {{C}}, {{A.strides[0]}}, {{B.strides[0]}}, {{C.strides[0]}}, "
    "{{M}}, {{N}}, {{K}})",
    library="{library}"'''


@dataclass
class Row:
    """A way to compute a layer, and the least time that a call took."""

    title: str
    module: inarch.Module
    nanoseconds: float = field(default=float("inf"))


@dataclass(frozen=True)
class Kernel:
    """A kernel from a file. `rebuild`: its library is built anew once the model has been compiled."""

    title: str
    file: Path
    imports: Imports = field(default_factory=dict[str, NativeFunction])
    rebuild: Path | None = None

    @property
    def name(self) -> str:
        return self.file.stem.replace("_", "-")


def build_library(path: Path, rows: int) -> Path:
    """gemm_library.c, with `rows` of C in registers."""
    include = Path(inarch.__file__).parent / "runtime" / "include"
    source = (EXAMPLES / "gemm_library.c").read_text()
    flags = [f"-I{include}", f"-DMR={rows}"]
    compile_library({"gemm_library.c": source}, path, target=native(), flags=flags)
    return path


def kernels_of(folder: Path) -> list[Kernel]:
    """The kernels from outside; what they need is built in `folder`."""
    found = [Kernel("(a) a C file, `gemm_tile.c`", EXAMPLES / "gemm_tile.c")]
    if importlib.util.find_spec("scipy_openblas32") is not None:
        found.append(Kernel("(b) OpenBLAS by symbol", EXAMPLES / "sgemm_openblas.py"))
    libraries = {name: folder / f"lib{name}.so" for name in ("first", "second", "slot")}
    for name, library in libraries.items():
        build_library(library, rows=8 if name == "slot" else 1)
        code = 'registered="gemm-tensors"'
        if name != "slot":
            code = _SYMBOL.format(library=library)
        (folder / f"{name}_build.py").write_text(_LIBRARY_KERNEL.format(code=code))
    slot = NativeFunction.open(libraries["slot"], "gemm_tensors")
    return [
        *found,
        Kernel("(c) a library, first build", folder / "first_build.py"),
        Kernel(
            "(c) rebuilt, the model not", folder / "second_build.py", rebuild=libraries["second"]
        ),
        Kernel("(d) through the registry", folder / "slot_build.py", {"gemm-tensors": slot}),
    ]


def compiled(
    layer: Layer, names: Sequence[str], path: Path, kernel: Kernel | None
) -> inarch.Module:
    """The layer by the kernels of `names`; a library that changed is one warning, and used."""
    context = new_context()
    module = program_of(layer, arrays_of(layer), context)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build(module, path, context=context, microkernels=names)
        if kernel is not None and kernel.rebuild is not None:
            build_library(kernel.rebuild, rows=8)
        loaded = inarch.load(path, imports=kernel.imports if kernel else None)
    changed = [one for one in caught if "changed since" in str(one.message)]
    if len(changed) != (kernel is not None and kernel.rebuild is not None):
        raise InarchError(f"expected one warning for each library that changed: {caught}")
    return loaded


def rows_of(layer: Layer, folder: Path) -> list[Row]:
    """The layer in every way."""
    rows = [Row(OWN, compiled(layer, [], folder / "own.inarch", None))]
    for kernel in kernels_of(folder):
        with MICROKERNELS.scope():
            load_file(kernel.file, {"microkernels": MICROKERNELS})
            path = folder / f"{kernel.name}.inarch"
            rows.append(Row(kernel.title, compiled(layer, [kernel.name], path, kernel)))
    return rows


def measure(layer: Layer, rows: Sequence[Row], harness: Harness, rounds: int) -> float:
    """Calls each, interleaved. Returns the peak in GFLOP/s; raises InarchError for a wrong result."""
    arrays = arrays_of(layer)
    batch = isinstance(layer, Gemm) and layer.batch
    inputs = [arrays.x, arrays.w] if batch else [arrays.x]
    y = np.zeros(layer.output_shape, np.float32)
    wanted = np.asarray(rows[0].module(*inputs))
    for row in rows:
        row.module(*inputs, out=y)
        if not np.abs(y - wanted).max() <= 1e-4 * np.abs(wanted).max():
            raise InarchError(f"{layer.name}: {row.title} differs from {rows[0].title}")
    peak = 0.0
    for _ in range(rounds):
        peak = max(peak, harness.peak_gflops())
        for row in rows:
            for _ in range(2):
                start = time.thread_time_ns()
                row.module(*inputs, out=y)
                row.nanoseconds = min(row.nanoseconds, time.thread_time_ns() - start)
    return peak


def report(layer: Layer, rows: Sequence[Row], peak: float) -> str:
    """A table in Markdown."""
    lines = [
        f"`{layer.name}` ({layer.shape}), peak {peak:.0f} GFLOP/s",
        "",
        "| kernel | us a call | GFLOP/s | % of the peak |",
        "|---|---:|---:|---:|",
    ]
    for row in rows:
        speed = layer.flops / row.nanoseconds
        lines.append(
            f"| {row.title} | {row.nanoseconds / 1e3:.0f} | {speed:.1f} | {100 * speed / peak:.0f} |"
        )
    return "\n".join(lines) + "\n"


def results(layers: Sequence[Layer], rounds: int) -> Mapping[str, tuple[list[Row], float]]:
    """Layer -> its rows and the peak measured between them; prints the tables."""
    harness = Harness(native())
    found: dict[str, tuple[list[Row], float]] = {}
    with ExitStack() as stack:
        for layer in layers:
            folder = stack.enter_context(scratch("inarch-outside-kernels-"))
            rows = rows_of(layer, folder)
            peak = measure(layer, rows, harness, rounds)
            print(report(layer, rows, peak))
            found[layer.name] = rows, peak
    return found


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--layer", action="append", default=[], help="of `inarch bench layers`")
    options.add_argument("--shape", action="append", default=[], help="64x56x56->64k3s1")
    options.add_argument("--rounds", type=int, default=20)
    arguments = options.parse_args(sys.argv[1:] if argv is None else argv)
    names = arguments.layer
    if not names and not arguments.shape:
        names = ["l1.c2", "attention.linear"]
    try:
        chosen = select([], names, arguments.shape)
        results([layer for _, layer in chosen], arguments.rounds)
    except InarchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
