"""Measures, and writes `networks.md`, `choices.md` and `layers.md` of `docs/tables`: `make performance`.

    python benchmarks/performance.py [networks] [choices] [layers] [--rounds 10]

`networks`: whole models for each x86-64 target that this computer can run, one and two threads, interleaved
with the peers that are installed. `choices`: the regret of `tensorize`, on layers of networks and on shapes
that nothing was fitted to (`ranking.py`). `layers`: what `inarch bench layers` writes. Without names all of
them. Nothing else should run meanwhile; it takes a quarter of an hour. (Single operators: `operators.py`.)
"""

from __future__ import annotations

import argparse
import importlib
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "models"))
sys.path.insert(0, str(Path(__file__).parent))

import ranking

from inarch.benchmark.harness import Harness
from inarch.benchmark.layers import LAYER_SETS
from inarch.benchmark.machine import describe
from inarch.benchmark.model import measure_model
from inarch.benchmark.peers import PEERS
from inarch.benchmark.report import BEGIN, END
from inarch.benchmark.shapes import draw
from inarch.core.cache import replacing
from inarch.core.scratch import scratch
from inarch.driver.options import Options
from inarch.machine.target import native, parse

HERE = Path(__file__).parent
TABLES = HERE.parent / "docs" / "tables"
GENERATORS: Any = importlib.import_module("networks")
NETWORKS = ("mlp", "lenet", "mobilenetv2", "resnet50", "bert_base")
TARGETS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
THREADS = (1, 2)
SHAPES = 24
"""Drawn ones, beside the layers of ResNet-50 and of BERT."""

HEADS = {
    "networks": """# Whole networks

Written by `python benchmarks/performance.py networks`; [performance.md](../performance.md) has the method.
Least milliseconds of a call from Python, batch 1, f32 (BERT-base with 128 tokens). `x`, after each time of
a peer, is that time divided by Inarch's: above 1 Inarch is faster. Peers use all that the CPU has, whatever
the target is.
""",
    "choices": """# Kernel choices

Written by `python benchmarks/performance.py choices`; [performance.md](../performance.md) has the method.
For each shape, the mapping that `tensorize` takes is measured with ten alternatives, on warm data. The
regret is its time divided by that of the fastest. The shapes are the layers of ResNet-50 and BERT-base, and
drawn ones that no cost was fitted to.
""",
    "layers": """# Layers

Written by `python benchmarks/performance.py layers`; [performance.md](../performance.md) has the method.
Times are milliseconds; `n` is how often the network has the layer. The pictures show kernels: Inarch's by
executed operations, those of peers by nominal ones, so that a kernel which leaves out taps on padding may
be above the peak. Runs differ by 1 to 2 % in a mean, by more in a single layer.
""",
}
"""How the page of each part begins."""


def _targets() -> list[str]:
    return [name for name in TARGETS if not parse(name).missing_here()] or [str(native())]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _table(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Markdown; the first row is the head, columns but the first `left` are numbers."""
    head, *rest = rows
    lines = ["---" if at < left else "---:" for at in range(len(head))]
    return [f"| {' | '.join(row)} |" for row in (head, lines, *rest)]


def of_networks(rounds: int) -> list[str]:
    """A row for each network, target and number of threads."""
    readers = [name for name in PEERS if PEERS[name].prepare_model and not PEERS[name].missing()]
    found: list[list[str]] = []
    versions: list[str] = []
    with scratch("inarch-networks-") as folder:
        for name in NETWORKS:
            path = folder / f"{name}.onnx"
            path.write_bytes(GENERATORS.WHOLE[name]().SerializeToString())
            _say(name)
            results = measure_model(
                path,
                Options(),
                targets=_targets(),
                threads=THREADS,
                peers=readers,
                rounds=rounds,
            )
            found += [[name, *row] for row in results.rows()]
            infos = results.runs[0].infos
            versions = [f"{peer} {infos[peer].version}" for peer in results.measured]
    head = ["network", "target", "threads", "ms"]
    for peer in versions:
        head += [peer, "x"]
    return _table([head, *found], 2)


def of_choices(rounds: int) -> list[str]:
    """Regrets: the time of the chosen way by that of the fastest of its rivals."""
    layers = [
        ranking.of_layer(one) for name in ("resnet50", "bert") for one in LAYER_SETS[name].layers
    ]
    rows = [["target", "shapes", "within 5 %", "worst", "geometric mean", "worst choice"]]
    for target in _targets():
        if target == "x86-64-v2":
            continue
        harness = Harness(parse(target))
        results: list[ranking.Result] = []
        for shape in [*layers, *draw(1, SHAPES)]:
            results.append(ranking.measure(shape, harness, 10, rounds))
            _say(f"{target} {results[-1]}")
        regrets = [one.regret for one in results]
        good = sum(one <= ranking.WITHIN for one in regrets)
        mean = math.exp(sum(map(math.log, regrets)) / len(regrets))
        worst = max(results, key=lambda one: one.regret)
        cells = [str(len(results)), str(good), f"{max(regrets):.2f}", f"{mean:.3f}"]
        rows.append([target, *cells, f"{worst.shape}: {worst.ways[0].partition(' (')[0]}"])
    return _table(rows, 1)


def of_layers(rounds: int) -> None:
    """By the command that the page then names."""
    sets = ["resnet50", "mobilenetv2", "bert", "gemm"]
    page = TABLES / "layers.md"
    with replacing(page) as file:
        file.write(f"{HEADS['layers']}\n{BEGIN}\n{END}\n".encode())
    files = ["--picture", "docs/tables/roofline.svg", "--markdown", "docs/tables/layers.md"]
    command = ["inarch", "bench", "layers", *sets, "--rounds", str(rounds), *files]
    subprocess.run([sys.executable, "-m", *command], check=True, cwd=HERE.parent)


PARTS: dict[str, Callable[[int], list[str]]] = {
    "networks": of_networks,
    "choices": of_choices,
}


def _write(part: str, lines: Sequence[str], rounds: int) -> None:
    """The whole page, with the computer that it was measured on."""
    machine = describe(native())
    title = f"{machine['cpu']} ({machine['caches']}), {machine['compiler']}, {rounds} rounds, interleaved:"
    with replacing(TABLES / f"{part}.md") as file:
        file.write("\n".join([HEADS[part], title, "", *lines, ""]).encode())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="what is made anew (all)")
    parser.add_argument("--rounds", type=int, default=10, help="the fastest counts (default 10)")
    given = parser.parse_args()
    known = [*PARTS, "layers"]
    for name in given.parts:
        if name not in known:
            parser.error(f"expected parts of {', '.join(known)}, found '{name}'")
    for name in given.parts or known:
        _say(f"== {name}")
        if name == "layers":
            of_layers(given.rounds)
        else:
            _write(name, PARTS[name](given.rounds), given.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
