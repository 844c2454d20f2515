"""Single layers in rows and in blocks: which layout is chosen, and what each was predicted to take.

    python benchmarks/layouts.py [--target x86-64-v3] [--seed 1] [--count 40] [--only depthwise] [--nests]

Convolutions, depthwise and grouped ones among them, and pooling of drawn sizes, windows, strides and
dilations are compiled row-major, with channels in blocks (relayouts included), as `choose-layout` says, and
row-major without any kernel. They are measured interleaved, on warm data; the least counts. A line has the
*regret*, the time in the chosen layout divided by that in the better one, and for each way the time, and what
was predicted divided by it. The last lines have the worst of each. Measure on a quiet machine.
"""

from __future__ import annotations

import argparse
import math
import statistics
from dataclasses import dataclass
from random import Random
from typing import Any

from inarch.benchmark.harness import Harness, aligned
from inarch.benchmark.measure import calls_of
from inarch.core.lazy import np
from inarch.dialects import new_context
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.ir.text import parse_module
from inarch.machine.target import parse as parse_target
from inarch.microkernel.table import MICROKERNELS, TEMPLATES
from inarch.passes.graph.choose_layout import ChooseLayoutPass
from inarch.passes.tensorize.report import KernelReport
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import run_pipeline

KINDS = ("depthwise", "grouped", "max_pool", "avg_pool", "conv")
WAYS = ("rows", "blocks", "plain", "chosen")
ROUNDS = 7
MOST_POINTS = 60e6
"""Of the nest of a drawn layer: some 10 ms of a core without a kernel."""


@dataclass(frozen=True)
class Windows:
    """A layer of one image: `grouped 96x40x40->96 3x3 stride 2 groups 8`; `is_valid`: without padding."""

    kind: str
    channels: int
    height: int
    width: int
    outputs: int
    window: int
    stride: int
    dilation: int
    groups: int
    is_valid: bool

    def __str__(self) -> str:
        """Its kind and its numbers."""
        text = f"{self.kind} {self.channels}x{self.height}x{self.width}->{self.outputs}"
        text += f" {self.window}x{self.window} stride {self.stride}"
        text += f" dilation {self.dilation}" if self.dilation > 1 else ""
        text += f" groups {self.groups}" if self.kind == "grouped" else ""
        return text + (" valid" if self.is_valid else "")

    @property
    def points(self) -> int:
        """Of the nest."""
        return math.prod((self.outputs, *self._sizes, self.window**2, self.channels // self.groups))

    @property
    def _pad(self) -> int:
        return 0 if self.is_valid else self.dilation * (self.window // 2)

    @property
    def _sizes(self) -> list[int]:
        reach = 2 * self._pad - self.dilation * (self.window - 1) - 1
        return [(size + reach) // self.stride + 1 for size in (self.height, self.width)]

    def program(self) -> str:
        """The layer as text."""
        x = f"tensor<1x{self.channels}x{self.height}x{self.width}xf32>"
        y = f"tensor<1x{self.outputs}x{'x'.join(map(str, self._sizes))}xf32>"
        how = f"strides = {[self.stride] * 2} pads = {[self._pad] * 4}"
        how += f" dilations = {[self.dilation] * 2}"
        sizes = (self.outputs, self.channels // self.groups, self.window, self.window)
        w = f"tensor<{'x'.join(map(str, sizes))}xf32>"
        op = f"graph.{self.kind} %x window = {[self.window] * 2} {how} : {x} -> {y}"
        if "pool" not in self.kind:
            op = f"graph.conv %x, %w {how} groups = {self.groups} : {x}, {w} -> {y}"
        return (
            f"func.func @main(%x: {x}) -> {y} {{\n  %w = graph.constant dense<0.5> : {w}\n"
            f"  %0 = {op}\n  func.return %0 : {y}\n}}"
        )


def draw(seed: int, count: int) -> list[Windows]:
    """`count` layers that cycle through the kinds; fewer are the first of more."""
    random, found = Random(seed), list[Windows]()

    def size(least: int, most: int) -> int:
        return round(math.exp(random.uniform(math.log(least), math.log(most))))

    while len(found) < count:
        kind = KINDS[len(found) % len(KINDS)]
        channels, side = size(8, 400), size(8, 120)
        groups = {"conv": 1, "grouped": random.choice((2, 4, 8))}.get(kind, channels)
        channels = groups * max(1, channels // groups)
        outputs = channels * (random.choice((1, 2)) if kind == "conv" else 1)
        layer = Windows(
            kind,
            channels,
            side,
            round(side * random.uniform(0.7, 1.4)),
            groups * random.choice((1, 4, 8, 12)) if kind == "grouped" else outputs,
            random.choice((2, 3, 3) if "pool" in kind else (1, 3, 3, 5)),
            random.choice((1, 1, 2)),
            random.choice((1, 1, 1, 2)),
            groups,
            random.random() < 0.5,
        )
        if layer.points <= MOST_POINTS:
            found.append(layer)
    return found


class Way:
    """A layer, compiled in one of the ways."""

    def __init__(self, layer: Windows, harness: Harness, way: str) -> None:
        self._harness = harness
        context = new_context()
        without = [*MICROKERNELS, *TEMPLATES] if way == "plain" else []
        wish = Options(
            target=str(harness.target), machine=harness.machine, threads=1, without=without
        )
        module = import_model(parse_module(context, layer.program()), context, wish)
        passes = default_pipeline().closed()
        if way == "blocks":
            passes = passes.replace(ChooseLayoutPass.name, ChooseLayoutPass(always=True))
        elif way != "chosen":
            passes = passes.without(ChooseLayoutPass.name)
        run_pipeline(context, module, harness.host.lower(passes), [])
        report = facts_of(context).get(KernelReport)
        assert report is not None, "the pipeline tensorizes"
        self.report = report
        made, library = harness.native(context, module)
        self._entry: Any = getattr(library, made.symbols["main"])
        weights = aligned(np.frombuffer(made.weights, np.uint8))
        workspace = aligned(np.zeros(made.program.workspace_bytes, np.uint8))
        ports = made.entries["main"].ports
        buffers = [aligned(np.ones(port.shape, np.float32)) for port in ports]
        self._held = weights, workspace, buffers
        pointer = harness.pointer
        self._arguments = harness.pointers(buffers), pointer(weights), pointer(workspace)
        self._count = calls_of(self._nanoseconds(1))
        self.best = math.inf
        """Nanoseconds of a call, the least so far."""

    @property
    def ratio(self) -> float:
        """What was predicted by what is measured."""
        cycles = sum(nest.cycles for nest in self.report.nests)
        return cycles / self._harness.machine.ghz / self.best

    def _nanoseconds(self, count: int) -> float:
        return self._harness.call_ns(self._entry, *self._arguments, count)

    def measure(self) -> None:
        """Once more."""
        self.best = min(self.best, self._nanoseconds(self._count))


def measured(layer: Windows, harness: Harness) -> dict[str, Way]:
    """The layer in all ways."""
    ways = {name: Way(layer, harness, name) for name in WAYS}
    for _ in range(ROUNDS):
        for way in ways.values():
            way.measure()
    return ways


def _nests(ways: dict[str, Way]) -> str:
    """What each nest was predicted to take, in cycles, and who does it."""
    return "\n".join(
        f"        {name} {nest.cycles:9.0f} {nest.taken.kernel if nest.taken else 'no kernel'}: "
        f"{nest.iterators}: {nest.computes}"
        for name in WAYS[:-1]
        for nest in ways[name].report.nests
    )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="which layers are drawn (default 1)")
    parser.add_argument("--count", type=int, default=40, help="how many (default 40)")
    parser.add_argument("--target", default="x86-64-v3", help="(default x86-64-v3)")
    parser.add_argument("--only", default="", help="layers whose text has this in it")
    parser.add_argument("--nests", action="store_true", help="with the nests of each way")
    given = parser.parse_args()
    harness = Harness(parse_target(given.target))
    regrets: list[float] = []
    ratios: dict[str, list[float]] = {name: [] for name in WAYS}
    for layer in draw(given.seed, given.count):
        if given.only not in str(layer):
            continue
        ways = measured(layer, harness)
        regrets.append(ways["chosen"].best / min(ways["rows"].best, ways["blocks"].best))
        for name, way in ways.items():
            ratios[name].append(way.ratio)
        told = ", ".join(
            f"{n} {way.best / 1e3:.1f} us ({way.ratio:.2f})" for n, way in ways.items()
        )
        print(f"{regrets[-1]:6.3f}  {layer}: {told}", flush=True)
        if given.nests:
            print(_nests(ways))
    if not regrets:
        parser.error(f"--only: expected a part of a layer's text, found '{given.only}'")
    mean = statistics.geometric_mean(regrets)
    print(f"regret: worst {max(regrets):.3f}, geometric mean {mean:.3f}")
    for name, found in ratios.items():
        mean = math.exp(statistics.mean(abs(math.log(one)) for one in found))
        print(
            f"predicted / measured, {name}: {min(found):.2f} to {max(found):.2f}, off by {mean:.2f}"
        )


if __name__ == "__main__":
    main()
