"""Choices of passes that records decide: each of them keeps what programs mean, and is told of (K11)."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from effort import seeds
from inarch.definitions.compare import compare
from inarch.definitions.expected import Expected, kept_constants
from inarch.definitions.functions import Array
from inarch.dialects import new_context
from inarch.driver.keep.records import Record, compiler_name, write_records
from inarch.ir.report.facts import facts_of
from inarch.ir.target import set_threads
from inarch.ir.text import parse_module, print_module
from inarch.machine.find import cpu_name
from inarch.passes.tuned import Tuned, TunedWay
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import run_pipeline
from inarch.testing import execute, expected_of, generate, random_inputs
from inarch.tools.cli import run

NETWORK = """func.func @main(%x: tensor<1x16x18x18xf32>) -> tensor<1x32x18x18xf32> {
  %w = graph.constant dense<0.01> : tensor<32x16x3x3xf32>
  %v = graph.constant dense<0.02> : tensor<32x32x1x1xf32>
  %b = graph.constant dense<0.5> : tensor<32xf32>
  %c = graph.conv %x, %w bias %b strides = [1, 1] pads = [1, 1, 1, 1]
    dilations = [1, 1] groups = 1 :
    tensor<1x16x18x18xf32>, tensor<32x16x3x3xf32>, tensor<32xf32> -> tensor<1x32x18x18xf32> loc("conv1")
  %r = graph.relu %c : tensor<1x32x18x18xf32> -> tensor<1x32x18x18xf32> loc("relu1")
  %d = graph.conv %r, %v bias %b strides = [1, 1] pads = [0, 0, 0, 0]
    dilations = [1, 1] groups = 1 :
    tensor<1x32x18x18xf32>, tensor<32x32x1x1xf32>, tensor<32xf32> -> tensor<1x32x18x18xf32> loc("conv2")
  %s = graph.tanh %d : tensor<1x32x18x18xf32> -> tensor<1x32x18x18xf32> loc("tanh")
  func.return %s : tensor<1x32x18x18xf32>
}
"""
CHAIN = """func.func @main(%x: tensor<1024x64xf32>) -> tensor<1024x16xf32> {
  %w = graph.constant dense<0.01> : tensor<64x512xf32>
  %v = graph.constant dense<0.02> : tensor<512x16xf32>
  %a = graph.matmul %x, %w : tensor<1024x64xf32>, tensor<64x512xf32> -> tensor<1024x512xf32>
  %e = graph.exp %a : tensor<1024x512xf32> -> tensor<1024x512xf32>
  %y = graph.matmul %e, %v : tensor<1024x512xf32>, tensor<512x16xf32> -> tensor<1024x16xf32>
  func.return %y : tensor<1024x16xf32>
}
"""
PASSES = ("choose-layout", "fuse-nests", "tile-and-fuse", "parallelize{threads=2}")


class Given:
    """A program, its inputs, and what it is to give."""

    def __init__(self, context: Context, module: ModuleOp, seed: int = 0) -> None:
        self.context, self.module = context, module
        self.module.attributes["inarch.target"] = StringAttr("x86-64-v3")
        set_threads(self.module, 2)
        self.inputs: list[Array] = random_inputs(self.module, seed)
        self.expected: list[Expected] = expected_of(self.context, self.module, self.inputs, "main")

    def lowered(self, tuned: Tuned) -> tuple[Context, ModuleOp]:
        """The program at the last level, as records say."""
        module = self.module.clone()
        facts_of(self.context).put(tuned)
        with kept_constants(self.context):
            run_pipeline(self.context, module, default_pipeline(), [])
            compare("main", self.expected, execute(module, self.inputs, self.context))
        return self.context, module


def of_text(text: str) -> Given:
    context = new_context()
    return Given(context, parse_module(context, text))


def programs(seed: int) -> list[Given]:
    """Two programs that have all kinds of choices, and some of whatever."""
    found = [of_text(NETWORK), of_text(CHAIN)]
    others = generate.programs("graph", seed, 3)
    found += [Given(*one.parse(), seed) for one in others if list(one.functions()) == ["main"]]
    return found


def test_other_choices_keep_what_programs_mean() -> None:
    """Some at random, then some of those that come up then, and so on; each pass chooses otherwise."""
    changed: Counter[str] = Counter()
    for seed in seeds(1, 20):
        rng = random.Random(f"choices {seed}")
        for given in programs(seed):
            ways: dict[str, TunedWay] = {}
            for _ in range(3):
                tuned = Tuned(dict(ways))
                given.lowered(tuned)
                assert not tuned.refused
                for point in tuned.points.values():
                    if point.address not in ways and rng.random() < 0.6:
                        ways[point.address] = point.way(rng.choice(point.others))
                        changed[point.by] += 1
    assert set(PASSES) <= changed.keys(), changed


def test_choices_of_records_are_taken_and_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `compile`, in remarks; one that there is not any more, in a warning."""
    monkeypatch.chdir(tmp_path)
    Path("net.mlir").write_text(NETWORK)
    tuned = Tuned({})
    _, plain = of_text(NETWORK).lowered(tuned)
    points = {by: [one for one in tuned.points.values() if one.by == by] for by in PASSES}
    (layout,), fused = points["choose-layout"], points["fuse-nests"]
    assert layout.usual == "channels in blocks"
    assert {"conv1", "relu1", "conv2", "tanh"} <= set(layout.places)
    assert [one.places for one in fused] == [("conv1", "relu1"), ("conv2", "tanh")]

    def records(*ways: tuple[str, TunedWay]) -> None:
        own = cpu_name(), compiler_name()
        every = [
            Record(at, *own, way.kernel, "", way.way, 1e-6, 2e-6, 1, "x86-64-v3", "net", "conv1")
            for at, way in ways
        ]
        write_records(Path("r.json"), every)

    rows = layout.way("row-major")
    records((layout.address, rows))
    _, other = of_text(NETWORK).lowered(Tuned({layout.address: rows}))
    assert print_module(other) != print_module(plain)
    command = ["compile", "net.mlir", "--target", "x86-64-v3", "--threads", "2"]
    command += ["--records", "r.json", "-o", "net.inarch"]
    code, out, err = run([*command, "--remarks=choose-layout"])
    assert (code, err) == (
        0,
        "conv1: remark: [choose-layout] row-major, as records say; without them channels in blocks\n",
    )
    assert ", choose-layout 1, 0 of 2 nests by records, " in out
    records((layout.address, layout.way("diagonal")))
    assert run(command)[2] == (
        "r.json: warning: 1 of its records is not used: pass 'choose-layout' has no choice 'diagonal' "
        "there; tune again\n"
    )
