"""Single operators against onnxruntime and OpenVINO: a model of each, measured as `inarch bench MODEL` does.

    python benchmarks/operators.py products attention [--threads 2] [--rounds 10] [--only 1024] [--json]
    python benchmarks/operators.py rows --before 09f59bd [--only argmax]

Sets: `products` of two run-time matrices, of which OpenBLAS is a peer, too; `attention` (both products,
scale, softmax) of one image's heads, and with constant `masks`; `transposed` convolutions of stride 2 with
constant weights; `topk` of rows; `rows`: softmax, layer norm, argmax, cumulative sums; `recurrent`: LSTM
and GRU. Least times are compared: `ratio` is the better peer's by ours, above 1 ours is the faster. `GF/s`
are of the operations of the definition, without those with inserted zeros or of hidden keys.
`--before REV`: against that revision of ours, on one thread, as `before_after.py` does (medians).
`--least R`: the exit code is 1 if a ratio is less.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from before_after import run
from checkout import ROOT, checkout
from openblas import OpenBLAS
from operator_sets import SETS, Operator

from inarch.backends.cblas.library import find_library
from inarch.benchmark.model import measure_model
from inarch.core.scratch import scratch
from inarch.driver.options import Options

PEERS = ("onnxruntime", "openvino")
NAMES = ("inarch", *PEERS, "openblas")


def measure(operator: Operator, folder: Path, threads: int, rounds: int) -> dict[str, Any]:
    """The least microseconds of each; a peer that cannot, or whose result is another one, has none."""
    path = folder / "operator.onnx"
    operator.save(path)
    blas = None
    if operator.product is not None and find_library() is not None:
        blas = OpenBLAS(*operator.product, threads)

    def turn(text: str, *_: int) -> None:  # before each round, and before some steps of compiling
        if blas is not None and text.startswith("round "):
            blas.turn()

    measured = measure_model(
        path, Options(), peers=PEERS, threads=[threads], rounds=rounds, progress=turn
    )
    (found,) = measured.runs
    least = {
        name: peer.call.min / 1e3
        for name, peer in found.peers.items()
        if peer.call.values and not peer.error
    }
    if blas is not None:
        blas.end()
        least["openblas"] = min(blas.times) / 1e3
    ours = found.call.min / 1e3
    return {
        "operator": operator.name,
        "us": {"inarch": ours, **least},
        "errors": {name: peer.error for name, peer in found.peers.items() if peer.error},
        "gflops": operator.operations / ours / 1e3,
        "ratio": min(least.values()) / ours if least else None,
    }


def compare(operator: Operator, folder: Path, before: Path, rounds: int) -> dict[str, Any]:
    """How many times as fast the working tree is as the checkout at `before`."""
    path = folder / "operator.onnx"
    operator.save(path)
    return {"operator": operator.name, "ratio": run(before, ROOT, path, rounds)}


def _row(row: Mapping[str, Any]) -> str:
    if "us" not in row:
        return f"{row['operator']:<28}{row['ratio']:>8.2f}"
    times = "".join(f"{row['us'].get(name, math.nan):>12.0f}" for name in NAMES)
    ratio = math.nan if row["ratio"] is None else row["ratio"]
    errors = "".join(f"  {name}: {error}" for name, error in row["errors"].items())
    return f"{row['operator']:<28}{times}{row['gflops']:>8.0f}{ratio:>7.2f}{errors}"


def _measured(given: argparse.Namespace, folder: Path, before: Path | None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name in given.sets:
        if not given.json:
            heads = "".join(f"{who:>12}" for who in NAMES) + f"{'GF/s':>8}{'ratio':>7}"
            title = f"{name}, us" if before is None else f"{name}, before / after"
            print(f"{title:<28}{heads if before is None else ''}")
        for operator in SETS[name]():
            if given.only not in operator.name:
                continue
            if before is None:
                rows.append(measure(operator, folder, given.threads, given.rounds))
            else:
                rows.append(compare(operator, folder, before, given.rounds))
            if not given.json:
                print(_row(rows[-1]), flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", choices=list(SETS), metavar="SET", help=", ".join(SETS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--before", metavar="REV", help="a revision to compare with")
    parser.add_argument("--least", type=float, default=0.0, metavar="R", help="of each ratio")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.before and given.threads != 1:
        parser.error("--before: expected one thread, as both sides are measured by CPU time")
    with ExitStack() as stack:
        folder = stack.enter_context(scratch("inarch-operators-"))
        before = stack.enter_context(checkout(given.before)) if given.before else None
        rows = _measured(given, folder, before)
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    if given.json:
        print(json.dumps(rows, indent=1))
    elif ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"least ratio {min(ratios):.2f}, geometric mean {mean:.2f}")
    return int(min(ratios, default=math.inf) < given.least)


if __name__ == "__main__":
    sys.exit(main())
