"""Instructions of compilation and runs: the working tree against the committed counts, or a revision.

    python benchmarks/instructions.py                        # against benchmarks/instructions.json
    python benchmarks/instructions.py HEAD~3 [--models lenet,bert_base] [--json]
    python benchmarks/instructions.py --write                # these are the counts from now on

Counts do not depend on what else the computer does. `compile` is our Python, from its start until the C is
there, with an empty cache; `run` is one call in C: what `inarch-run` takes for one more. All is for one
target, by one thread, and by `perf stat` where the kernel counts for users, else by valgrind's cachegrind,
which takes 20 times as long. Counts belong to compiler, Python and packages: where others are installed, the
commit of the file is counted here, too. What changes by more than 2 % is named; growth is exit code 1.
"""

# The models' neighbours are found when it runs:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "models"))

import bert_base
import lenet
import mobilenetv2
import networks
import resnet50
from checkout import ROOT, checkout

from inarch.core.scratch import scratch
from inarch.machine.compilers import find_compiler

TARGET = "x86-64-v3"
"""valgrind has no AVX-512."""
MOST = 1.02
"""Largest ratio to the instructions before that is not reported. Repeats differ by 0.001."""
KEPT = ROOT / "benchmarks" / "instructions.json"
PACKAGES = ("numpy", "onnx", "xdsl")

NETWORKS: dict[str, Callable[[], Any]] = {
    "lenet": lenet.build,
    "mobilenetv2": partial(
        mobilenetv2.build, image=64, stages=((1, 16, 1, 1), (6, 24, 2, 2), (6, 96, 1, 2))
    ),
    "resnet50": partial(resnet50.build, image=64, width=32, blocks=(1, 1, 1, 1)),
    "bert_base": partial(
        bert_base.build, sequence=32, layers=1, hidden=256, heads=4, inner=512, vocabulary=64
    ),
    "squeezed": networks.squeezed,
}
"""Small: each operation of the large ones, few of each."""

Counts = dict[str, dict[str, int]]
"""Of each network: of "compile" and "run"."""


@dataclass(frozen=True)
class Counter:
    """A program that counts the instructions of another one, without those of its children."""

    name: str
    words: tuple[str, ...]
    """The program's words follow; `{out}` is a file for the count."""
    said: str
    """The pattern of the count in that file."""

    def count(self, command: Sequence[str], folder: Path, given: Mapping[str, str]) -> int:
        """The instructions of `command`.

        Raises SystemExit where it fails, or nothing was counted.
        """
        out = folder / "counted"
        words = [word.replace("{out}", str(out)) for word in self.words]
        _run([*words, *command], folder, given)
        found = re.search(self.said, out.read_text(), re.MULTILINE)
        if found is None:
            raise SystemExit(f"error: {self.name} counted nothing: {out.read_text().strip()}")
        return int(found[1].replace(",", ""))


PERF = Counter(
    "perf",
    ("perf", "stat", "--no-inherit", "-x", ",", "-e", "instructions:u", "-o", "{out}", "--"),
    r"^(\d+),[^,]*,instructions",
)
VALGRIND = Counter(
    "valgrind",
    ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
     "--log-file={out}"),
    r"I +refs: +([\d,]+)$",
)  # fmt: skip


def find_counter() -> Counter:
    """Find perf where it counts here, else valgrind.

    Raises SystemExit where there is neither.
    """
    if shutil.which("perf"):
        with scratch("inarch-counted-") as name:
            try:
                PERF.count(["true"], name, {})
            except SystemExit:
                pass
            else:
                return PERF
    if shutil.which("valgrind"):
        return VALGRIND
    raise SystemExit("error: expected perf, and a kernel that counts for users, or valgrind")


def _run(command: Sequence[str], folder: Path, given: Mapping[str, str]) -> None:
    """Raises SystemExit with the end of what it said where it fails."""
    environment = {**os.environ, **given}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # parsing sources again is not counted
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise SystemExit(f"error: {' '.join(command)} left with {done.returncode}: {said}")


def count(root: Path, models: Sequence[str], counter: Counter) -> Counts:
    """The instructions of each network by the checkout at `root`."""
    found: Counts = {}
    with scratch("inarch-counted-") as folder:
        given = {
            "PYTHONPATH": str(root),
            "PYTHONHASHSEED": "0",
            "INARCH_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "INARCH_CACHE_DIR": str(folder / "cache"),
        }
        inarch = [sys.executable, "-m", "inarch"]
        _run([*inarch, "config", "--install", str(folder)], folder, given)
        for model in models:
            print(f"{model}: {counter.name} counts {root.name}", file=sys.stderr, flush=True)
            path = folder / f"{model}.onnx"
            path.write_bytes(NETWORKS[model]().SerializeToString())
            made = [*inarch, "compile", path.name, "--target", TARGET, "--no-measure"]
            to_c = [*made, "--emit", "c", "-o", f"{model}.c"]
            _run(to_c, folder, given)  # parses our files, which is not counted
            first = given | {"INARCH_CACHE_DIR": str(folder / f"cache of {model}")}
            _run([*made, "-q", "-o", f"{model}.inarch"], folder, given)
            calls = ["bin/inarch-run", f"{model}.inarch", "--seed", "1", "-q", "--repeat"]
            two, three = (counter.count([*calls, n], folder, given) for n in "12")
            found[model] = {"compile": counter.count(to_c, folder, first), "run": three - two}
    return found


def tools(counter: Counter) -> dict[str, str]:
    """All that counts depend on beside the repository."""
    compiler = find_compiler().command[0]
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    return {
        "counter": counter.name,
        "compiler": said.stdout.splitlines()[0],
        "python": platform.python_version(),
        "libc": "-".join(platform.libc_ver()),
        **{package: version(package) for package in PACKAGES},
    }


def reference(revision: str | None, models: Sequence[str], counter: Counter) -> Counts:
    """The counts to compare with."""
    if revision is None:
        kept = json.loads(KEPT.read_text())
        here = tools(counter)
        if kept["with"] == here:
            return {model: kept["counts"][model] for model in models}
        other = [
            f"{name} {kept['with'].get(name)}"
            for name in here
            if kept["with"].get(name) != here[name]
        ]
        print(f"{KEPT.name} is of {', '.join(other)}: its commit is counted here", file=sys.stderr)
        words = ["git", "-C", str(ROOT), "log", "-1", "--format=%H", "--", str(KEPT)]
        revision = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    with checkout(revision) as old:
        return count(old, models, counter)


def _write(models: Sequence[str], counter: Counter) -> int:
    """Counts of other networks stay where they are of the same programs."""
    here = tools(counter)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    counts: Counts = kept["counts"] if kept.get("with") == here else {}
    if missing := {*NETWORKS} - {*models, *counts}:
        raise SystemExit(f"error: --write: expected also {', '.join(sorted(missing))}")
    counts |= count(ROOT, models, counter)
    KEPT.write_text(json.dumps({"with": here, "counts": counts}, indent=1) + "\n")
    return 0


def changed(before: Counts, after: Counts) -> dict[str, float]:
    """By network and what: the instructions now by those before."""
    return {
        f"{model} {what}": new / before[model][what]
        for model, counts in after.items()
        for what, new in counts.items()
    }


def _print(before: Counts, after: Counts, ratios: Mapping[str, float]) -> None:
    print(f"{'':20} {'before':>15} {'after':>15}  ratio")
    for name, ratio in ratios.items():
        model, what = name.split()
        print(f"{name:20} {before[model][what]:15,} {after[model][what]:15,} {ratio:6.3f}")
    for name, ratio in ratios.items():
        if not 1 / MOST <= ratio <= MOST:
            print(f"{name}: {abs(ratio - 1):.1%} {'more' if ratio > 1 else 'fewer'} instructions")


def main() -> int:
    """Counts, prints, and says by the exit code whether something takes more than it may."""
    about, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", nargs="?", help="a revision of this repository")
    parser.add_argument("--models", default=",".join(NETWORKS), help=", ".join(NETWORKS))
    parser.add_argument("--write", action="store_true", help=f"write {KEPT.name}")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    models = given.models.split(",")
    if unknown := [model for model in models if model not in NETWORKS]:
        parser.error(f"--models: expected some of {', '.join(NETWORKS)}, found '{unknown[0]}'")
    counter = find_counter()
    if given.write:
        return _write(models, counter)
    before = reference(given.before, models, counter)
    after = count(ROOT, models, counter)
    ratios = changed(before, after)
    if given.json:
        print(
            json.dumps({"counter": counter.name, "counts": after, "ratios": ratios, "most": MOST})
        )
    else:
        _print(before, after, ratios)
    return int(any(ratio > MOST for ratio in ratios.values()))


if __name__ == "__main__":
    raise SystemExit(main())
