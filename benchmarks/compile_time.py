"""What compiling costs us: CPU time of our Python, of a revision against the working tree, in one run.

    python benchmarks/compile_time.py 09f59bd [--models resnet50,bert_base] [--rounds 5] [--json]

Each side imports, lowers, verifies and emits C in a process of its own, from a checkout of its own: from the
start of Python until the C is there. What follows is not ours or not the program's size in
Python: the C compiler, and the copy of the weights into the file. Nor is the SHA-256 of the weights, which
some revisions take while they copy and others before they emit: it is shown beside, and in no ratio. The two
sides take turns; a figure is the least of all rounds. Verification is what of it passes in `verify_module`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from checkout import ROOT, checkout

from inarch.core.scratch import scratch

MODELS = ("resnet50", "bert_base")
MOST = 0.6
"""Of the time before: what compiling may take."""
MOST_VERIFYING = 0.1
"""Of the time after."""

PROBE = """
import gc, importlib, sys, time
from pathlib import Path

root, model = sys.argv[1:]
gc.set_threshold(100_000, 50, 100)  # as the commands
import inarch
assert inarch.__file__.startswith(root + "/"), inarch.__file__
is_flat = not Path(root, "inarch", "driver").is_dir()  # as revisions were before there were layers
verifier, builder, name, compiler = "inarch._xdsl", "inarch._assemble", "assemble", "inarch.compiler"
if not is_flat:
    verifier, builder, name = "inarch.ir.verify", "inarch.driver.host", "build"
    compiler = "inarch.driver.compiler"
verification = importlib.import_module(verifier)
spent = {}

def timed(module, name):
    done = getattr(module, name)

    def one(*arguments):
        start = time.process_time()
        try:
            return done(*arguments)
        finally:
            spent[name] = spent.get(name, 0.0) + time.process_time() - start

    setattr(module, name, one)

class Emitted(Exception):
    pass

def build(*arguments):
    raise Emitted

timed(verification, "verify_module")
host = importlib.import_module("inarch.backends.c")
if hasattr(host, "describe_weights"):
    timed(host, "describe_weights")
setattr(importlib.import_module(builder), name, build)
try:
    importlib.import_module(compiler).build(model, "out.inarch")
except Emitted:
    hashing = spent.get("describe_weights", 0.0)
    print(time.process_time() - hashing, spent["verify_module"], hashing)
"""
"""Compiles a model until C is emitted, and prints CPU seconds: of the process but for the hash of its
weights, of verification, and of that hash.
"""


def measure(root: Path, model: Path) -> tuple[float, float, float]:
    """CPU seconds with the checkout at `root`, of them those of verification, and beside them of the hash."""
    given = {**os.environ, "PYTHONPATH": str(root)}
    given.pop("PYTHONDONTWRITEBYTECODE", None)  # parsing sources again is not counted
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROBE, str(root), str(model)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=model.parent,
        env=given,
        check=True,
    )
    total, verification, hashing = map(float, done.stdout.split())
    return total, verification, hashing


def compare(before: Path, after: Path, model: Path, rounds: int) -> dict[str, float]:
    """The least of `rounds` of each side, interleaved; but for the first of each, which fills caches."""
    found: dict[Path, list[tuple[float, float, float]]] = {before: [], after: []}
    for turn in range(rounds + 1):
        for root in (before, after) if turn % 2 else (after, before):
            seconds = measure(root, model)
            if turn:
                found[root].append(seconds)
    old, new = min(found[before])[0], min(found[after])
    return {
        "before": old,
        "after": new[0],
        "ratio": new[0] / old,
        "verification": new[1] / new[0],
        "hash": new[2],
        "spread": max(found[after])[0] / new[0] - 1,
    }


def main() -> int:
    """Measures, prints, and says by the exit code whether compiling takes longer than it may."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", help="a revision of this repository")
    parser.add_argument("--models", default=",".join(MODELS), help="as benchmarks/models has them")
    parser.add_argument("--rounds", type=int, default=5, help="compilations by each side")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    with (
        scratch("inarch-models-") as name,
        checkout(arguments.before) as old,
    ):
        for model in arguments.models.split(","):
            path = name / f"{model}.onnx"
            maker = ROOT / "benchmarks" / "models" / f"{model}.py"
            subprocess.run([sys.executable, str(maker), str(path)], check=True)
            found[model] = compare(old, ROOT, path, arguments.rounds)
    if arguments.json:
        print(json.dumps(found))
    else:
        print(f"{'model':12}  {'before':>7}  {'after':>7}  ratio  verification  hash     noise")
        for model, one in found.items():
            print(
                f"{model:12}  {one['before']:5.2f} s  {one['after']:5.2f} s  {one['ratio']:5.3f}"
                f"  {one['verification']:11.1%}  {one['hash']:5.2f} s  {one['spread']:.1%}"
            )
    is_slow = any(
        one["ratio"] > MOST or one["verification"] > MOST_VERIFYING for one in found.values()
    )
    return int(is_slow)


if __name__ == "__main__":
    raise SystemExit(main())
