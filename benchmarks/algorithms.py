"""Layers of 3x3 windows: the time of the algorithm that is chosen, beside each that the numerics allow."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import inarch
from inarch.core.scratch import scratch
from inarch.dialects import new_context
from inarch.driver.compiler import import_model, lower
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.passes.lower.algorithm import POLICIES
from inarch.passes.lower.weighed import Algorithms

RESNET50 = ("64x64x56x56", "128x128x28x28", "256x256x14x14", "512x512x7x7")
VGG16 = (
    "64x64x224x224", "64x128x112x112", "128x128x112x112", "128x256x56x56", "256x256x56x56", "256x512x28x28",
    "512x512x28x28", "512x512x14x14",
)  # fmt: skip
EXAMPLE = """
example:
  taskset -c 1 python benchmarks/algorithms.py 64x64x56x56 512x512x14x14
  taskset -c 1 python benchmarks/algorithms.py --numerics fast --draw 40 --seed 5 --part 1/8 --json
"""
_COLD = np.zeros(16 << 20, np.float32)
"""Read before each call, so that weights come from memory."""
_LEAST_ROUNDS, _MOST_ROUNDS, _SECONDS = 6, 25, 2.0


@dataclass(frozen=True)
class Measured:
    """A layer: microseconds of a call, the least, by algorithm; `chosen` is what the compiler took."""

    layer: str
    microseconds: dict[str, float]

    @property
    def ratio(self) -> float:
        """Of the chosen one's time, in the least."""
        return self.microseconds["chosen"] / min(self.microseconds.values())


def drawn(count: int, seed: int) -> list[str]:
    """Layers of 32 to 512 channels and rows of 5 to 128, of 25 million to 1.5 billion multiply-adds."""
    rng = np.random.default_rng(seed)
    found: list[str] = []
    while len(found) < count:
        channels, outputs = (int(2 ** rng.uniform(5, 9)) // 8 * 8 for _ in range(2))
        rows = int(2 ** rng.uniform(2.5, 7))
        if 25e6 < channels * outputs * rows * rows * 9 / 2 < 1.5e9:
            columns = int(rows * rng.uniform(0.7, 1.4))
            found.append(f"{channels}x{outputs}x{rows}x{columns}")
    return found


def _program(layer: str, folder: Path) -> tuple[Path, Any]:
    """The layer with a bias and a ReLU behind a 1x1 convolution; and an image."""
    channels, outputs, *image = map(int, layer.split("x"))
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((outputs, channels, 3, 3)) * math.sqrt(2 / 9 / channels),
        "b": rng.standard_normal(outputs),
        "w0": rng.standard_normal((channels, channels, 1, 1)) / math.sqrt(channels),
    }
    x, y = (f"tensor<1x{count}x{image[0]}x{image[1]}xf32>" for count in (channels, outputs))
    w, b, w0 = (f"tensor<{'x'.join(map(str, each.shape))}xf32>" for each in weights.values())
    path = folder / "layer.mlir"
    path.write_text(f"""func.func @main(%x: {x}) -> {y} {{
  %w = graph.constant dense_resource<w> : {w}
  %b = graph.constant dense_resource<b> : {b}
  %w0 = graph.constant dense_resource<w0> : {w0}
  %0 = graph.conv %x, %w0 strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 :
    {x}, {w0} -> {x} loc("first")
  %1 = graph.conv %0, %w bias %b strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 :
    {x}, {w}, {b} -> {y} loc("layer")
  %2 = graph.relu %1 : {y} -> {y}
  func.return %2 : {y}
}}
""")
    np.savez(path.with_suffix(".npz"), **{name: one.astype("f4") for name, one in weights.items()})  # pyright: ignore[reportArgumentType]
    return path, rng.standard_normal((1, channels, *image), np.float32)


def measured(layer: str, folder: Path, target: str, numerics: str) -> Measured:
    """Compiled by choice and by each name that the numerics allow; calls are interleaved."""
    path, x = _program(layer, folder)
    settings: Any = {"target": target, "numerics": numerics, "threads": 1}
    calls: dict[str, Callable[..., object]] = {"chosen": inarch.compile(path, **settings)}
    for name in _allowed(path, settings):
        calls[name] = inarch.compile(path, **settings, algorithms=[f"layer={name}"])
    for call in calls.values():
        call(x)
    least = dict.fromkeys(calls, math.inf)
    begin, rounds = time.monotonic(), 0
    while rounds < _LEAST_ROUNDS or (rounds < _MOST_ROUNDS and time.monotonic() - begin < _SECONDS):
        rounds += 1
        for name, call in calls.items():
            _COLD.sum()
            start = time.perf_counter()
            call(x)
            least[name] = min(least[name], 1e6 * (time.perf_counter() - start))
    return Measured(layer, {name: round(each, 1) for name, each in least.items()})


def _allowed(path: Path, settings: Any) -> list[str]:
    """The algorithms that apply to the layer and that the numerics allow, direct among them."""
    options, context = Options.of(None, settings), new_context()
    module = import_model(path, context, options)
    lower(context, module, "loop", pipeline=options.passes())
    report, most = facts_of(context).get(Algorithms), POLICIES.index(options.numerics)
    weighed = dict(report.found)["layer"] if report is not None else []
    return [one.name for one in weighed if one.numerics in POLICIES[: most + 1]]


def _part(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    return int(number), int(count)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add(
        "layers",
        nargs="*",
        metavar="CxKxHxW",
        help="channels, outputs, height, width; default: ResNet-50, VGG-16",
    )
    add("--draw", type=int, default=0, metavar="N", help="N drawn layers instead")
    add("--seed", type=int, default=5, help="of what is drawn (5)")
    add("--part", type=_part, default=(1, 1), metavar="P/N", help="part P of N parts of the layers")
    add("--numerics", default="bounded", choices=("strict", "bounded", "fast"), help="(bounded)")
    add("--target", default="x86-64-v3", help="(x86-64-v3)")
    add("--within", type=float, default=1.05, help="a layer above it is measured once more (1.05)")
    add("--json", action="store_true", help="one line of JSON a layer")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a line a layer: the least times in microseconds, and the chosen one's by the least."""
    given = _parsed(arguments)
    layers = drawn(given.draw, given.seed) if given.draw else given.layers or [*RESNET50, *VGG16]
    number, count = given.part
    with scratch("inarch-algorithms-") as folder:
        for layer in layers[number - 1 :: count]:
            found = measured(layer, folder, given.target, given.numerics)
            if found.ratio > given.within:
                again = measured(layer, folder, given.target, given.numerics)
                found = min(found, again, key=lambda one: one.ratio)
            if given.json:
                print(json.dumps({**vars(found), "ratio": round(found.ratio, 3)}), flush=True)
            else:
                times = "  ".join(f"{name} {each:.0f}" for name, each in found.microseconds.items())
                print(f"{layer:18} {times}  chosen / least {found.ratio:.3f}", flush=True)


if __name__ == "__main__":
    main()
