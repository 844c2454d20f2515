"""Whether a change has made models slower: a revision against the working tree, in one run.

    python benchmarks/before_after.py 09f59bd [--models resnet50,mobilenetv2] [--runs 5] [--json]
    python benchmarks/before_after.py 09f59bd --models benchmarks/reductions/softmax_bert.mlir

Each side compiles and runs in a process of its own, from a checkout of its own, on one thread. The two take
turns: a round is a call of each (of what is short, as many as take 2 ms), and its figure is CPU time of the
calling thread. A run is the median of before over the median of after; the figure of a model is the
median of its runs, and 1 means: as fast as before, less: slower.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from checkout import ROOT, checkout

from inarch.core.scratch import scratch

MODELS = ("resnet50", "mobilenetv2", "bert_base")
LEAST = 0.98
"""Of the speed before: what a change may cost."""

SERVER = """
import sys, time
import numpy as np
import inarch
assert inarch.__file__.startswith(sys.argv[1]), inarch.__file__
main = inarch.compile(sys.argv[2])["main"]
rng = np.random.default_rng(0)
inputs = []
for spec in main.signature.inputs:
    kind = np.dtype(spec.dtype.numpy)
    draw = rng.standard_normal(spec.shape) if kind.kind == "f" else rng.integers(0, 2, spec.shape)
    inputs.append(draw.astype(kind))
for _ in range(3):
    start = time.thread_time()
    main(*inputs)
count = max(1, int(2e-3 / (time.thread_time() - start)))
print("ready", flush=True)
for _ in sys.stdin:
    start = time.thread_time()
    for _ in range(count):
        main(*inputs)
    print((time.thread_time() - start) / count, flush=True)
"""
"""Compiles a model, then answers each line with the seconds of a call."""


class Side:
    """A process that runs a model as the checkout at `root` compiles it."""

    def __init__(self, root: Path, model: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(root), str(model)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=model.parent,
            env={**os.environ, "PYTHONPATH": str(root), "INARCH_NUM_THREADS": "1"},
        )

    def wait(self) -> None:
        """Until the model is compiled."""
        self._answer()

    def call(self) -> float:
        """Seconds of one call."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise SystemExit(f"error: a side ended with {self._process.wait()}; see above")
        return line

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()


def run(before: Path, after: Path, model: Path, rounds: int) -> float:
    """The median of before over that of after, in `rounds` calls of each, interleaved."""
    times: dict[Path, list[float]] = {before: [], after: []}
    with Side(before, model) as old, Side(after, model) as new:
        old.wait()
        new.wait()
        for turn in range(rounds):
            pair = [(before, old), (after, new)]
            for root, side in pair if turn % 2 else reversed(pair):
                times[root].append(side.call())
    return statistics.median(times[before]) / statistics.median(times[after])


def _maker(model: str) -> Path:
    return ROOT / "benchmarks" / "models" / f"{model}.py"


def main() -> int:
    """Measures, prints, and says by the exit code whether something has become slower."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", help="a revision of this repository")
    parser.add_argument(
        "--models", default=",".join(MODELS), help="as benchmarks/models has them, or files"
    )
    parser.add_argument("--rounds", type=int, default=20, help="calls of each side in a run")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    for model in arguments.models.split(","):
        if not Path(model).is_file() and not _maker(model).is_file():
            names = ", ".join(MODELS)
            parser.error(
                f"--models: expected a file or a model of benchmarks/models ({names}, ...), "
                f"found '{model}'"
            )
    found: dict[str, list[float]] = {}
    with (
        scratch("inarch-models-") as name,
        checkout(arguments.before) as old,
    ):
        for model in arguments.models.split(","):
            path = Path(model).resolve()
            if not path.is_file():
                path = name / f"{model}.onnx"
                subprocess.run([sys.executable, str(_maker(model)), str(path)], check=True)
            for number in range(arguments.runs):
                print(f"{model}: run {number + 1} of {arguments.runs}", file=sys.stderr)
                ratio = run(old, ROOT, path, arguments.rounds)
                found.setdefault(model, []).append(ratio)
    medians = {model: statistics.median(ratios) for model, ratios in found.items()}
    if arguments.json:
        print(json.dumps({"before": arguments.before, "runs": found, "medians": medians}))
    else:
        wide = max(len(model) for model in ("model", *found))
        print(f"{'model':{wide}}  {'median':>7}  runs (time before / time after)")
        for model, ratios in found.items():
            print(f"{model:{wide}}  {medians[model]:7.3f}  {' '.join(f'{r:.3f}' for r in ratios)}")
    return int(any(median < LEAST for median in medians.values()))


if __name__ == "__main__":
    raise SystemExit(main())
