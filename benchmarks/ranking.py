"""How good the choice of kernels is, on shapes that nothing was fitted to: what is chosen, and its rivals.

    python benchmarks/ranking.py [--seed 1] [--count 204] [--rivals 14] [--rounds 12] [--json FILE]
    python benchmarks/ranking.py --set resnet50

For each shape, the way that `tensorize` takes and others are compiled into one library and measured in turn,
on warm data, packing at run time included; minima of CPU time. The others are the best ways of every
kernel by its cost, other tiles and other orders of loops of the chosen one, and no kernel at all. A shape's
*regret* is the time of the chosen way divided by that of the fastest one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from inarch.benchmark.harness import Harness, aligned
from inarch.benchmark.layers import LAYER_SETS, Conv, Layer
from inarch.benchmark.measure import calls_of
from inarch.benchmark.shapes import Convolution, Product, Shape, arrays_of, draw, program_of
from inarch.benchmark.subject.blocked import BEFORE, lower_blocked
from inarch.core.lazy import np
from inarch.dialects import new_context
from inarch.dialects.loop.keep import KEEP
from inarch.dialects.loop.nest import NestOp
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.machine.target import Target, native
from inarch.machine.target import parse as parse_target
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize import tensorize as pass_
from inarch.passes.tensorize.unify.linear import LinearNest, linear_nest
from inarch.passes.tensorize.weigh.candidates import Candidate, again
from inarch.passes.tensorize.weigh.family import Family
from inarch.passes.tensorize.weigh.search import candidates, sweep

WITHIN, NEVER, SHARE = 1.05, 1.25, 0.9
"""A choice is good up to the first regret; it must never reach the second; and so many must be good."""
PLAIN = "no kernel"
"""The name of the rival that leaves the nest to the C compiler."""
PLAIN_POINTS = 1 << 22
"""Nests of more points are not worth trying without a kernel: it would take most of the time."""
LARGE = (
    Product(2048, 2048, 2048, is_given=True),
    Product(1024, 1024, 1024, transposed="b", is_given=True),
)
"""Beside the drawn ones: products of two run-time matrices that no cache holds."""


@dataclass(frozen=True)
class Result:
    """A shape: nanoseconds of each way; the chosen one is the first."""

    shape: str
    ways: tuple[str, ...]
    costs: tuple[float, ...]
    """Cycles by the model; infinite of what it does not weigh."""
    nanoseconds: tuple[float, ...]
    flops: int

    @property
    def regret(self) -> float:
        """Chosen by fastest: 1 when the fastest was chosen."""
        return self.nanoseconds[0] / min(self.nanoseconds)

    def __str__(self) -> str:
        best = self.nanoseconds.index(min(self.nanoseconds))
        speed = self.flops / self.nanoseconds[0]
        line = f"{self.regret:6.3f}  {self.nanoseconds[0] / 1e3:9.1f} us {speed:6.1f} GF/s  {self.shape}: {self.ways[0]}"
        return line + (
            f"; {self.nanoseconds[best] / 1e3:.1f} us by {self.ways[best]}" if best else ""
        )


class Rivals:
    """A pass in the place of `tensorize`: `@main` by the chosen way, `@way1`, `@way2`, ... by the others."""

    def __init__(self, target: Target, most: int) -> None:
        self._target, self._most = target, most
        self.names: list[str] = []
        self.costs: list[float] = []
        self._others: list[Candidate | None] = []

    def __call__(self, module: ModuleOp) -> None:
        main = next(
            op for op in module.body.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"
        )
        subject = _subject(main)
        self._find(linear_nest(subject))
        for number, other in enumerate(self._others, 1):
            twin = main.clone()
            twin.sym_name = StringAttr(f"way{number}")
            if other is None:
                _subject(twin).attributes[KEEP] = UnitAttr()
            module.body.block.add_op(twin)
        pass_.tensorize(module, None, pick=self._pick)

    def _find(self, nest: LinearNest) -> None:
        """All ways by all kernels, those that the model likes first, few of each."""
        found: list[list[Candidate]] = []
        for name in MICROKERNELS:
            family = Family.of(name, MICROKERNELS[name], self._target)
            ways = candidates(nest, family)
            if isinstance(ways, list):
                found.append([*ways, *sweep(nest, family, ways[0], self._most)])
        found.sort(key=lambda ways: ways[0].cost)
        # In turn, so that each kernel has its best, and the best kernels most.
        weighed = [
            (position + 3 * rank, one)
            for rank, ways in enumerate(found)
            for position, one in enumerate(ways)
        ]
        weighed.sort(key=lambda pair: pair[0])
        known: set[str] = set()
        self._others = []
        for _, one in weighed:
            name = _name(nest, one)
            if name not in known and len(self._others) < self._most:
                known.add(name)
                self._others.append(one)
        if math.prod(axis.size for axis in nest.axes) <= PLAIN_POINTS:
            self._others.append(None)
        self.names = [PLAIN, *(PLAIN if one is None else _name(nest, one) for one in self._others)]
        self.costs = [math.inf, *(math.inf if one is None else one.cost for one in self._others)]

    def _pick(self, nest: LinearNest, chosen: Candidate) -> Candidate:
        function: Operation | None = nest.nest
        while not isinstance(function, FuncOp):
            assert function is not None
            function = function.parent_op()
        if _subject(function) is not nest.nest:
            return chosen
        name = function.sym_name.data
        if name == "main":
            self.names[0], self.costs[0] = _name(nest, chosen), chosen.cost
            return chosen
        other = self._others[int(name.removeprefix("way")) - 1]
        assert other is not None, "a nest without a kernel is kept"
        here = again(other, nest)
        assert here is not None, "the functions are equal"
        return here


def _subject(function: FuncOp) -> NestOp:
    """The reduction of most points."""
    nests = [op for op in function.walk() if isinstance(op, NestOp) and op.has_reduction]
    return max(nests, key=lambda op: math.prod(op.sizes))


def _name(nest: LinearNest, one: Candidate) -> str:
    sizes = "x".join(str(v) for name, v in one.params.items() if name not in ("VL", "R", "S"))
    loops = [nest.axes[axis].name for axis in one.order]
    taken = [
        f"{'+'.join(names)}={axis.name}"
        for axis, names in zip(nest.axes, one.matched.assignment.taken, strict=True)
        if names
    ]
    return f"{one.family.pattern.name} {sizes} ({', '.join(loops)}; {' '.join(taken)})"


def measure(shape: Shape, harness: Harness, most: int, rounds: int) -> Result:
    """The shape by each way, in turn."""
    rivals = Rivals(harness.target, most)
    made, library = _compiled(shape, harness, rivals)
    given = [np.ascontiguousarray(array) for array in arrays_of(shape)][: 1 + shape.is_given]
    weights = aligned(np.frombuffer(made.weights, np.uint8))
    workspace = aligned(np.zeros(made.program.workspace_bytes, np.uint8))
    buffers = [aligned(np.zeros(port.shape, np.float32)) for port in made.entries["main"].ports]
    if BEFORE in made.symbols:
        ports = made.entries[BEFORE].ports
        assert given[0].shape == ports[0].shape
        outside = [aligned(given[0]), buffers[0]]
        harness.call_once(
            getattr(library, made.symbols[BEFORE]),
            harness.pointers(outside),
            harness.pointer(weights),
            harness.pointer(workspace),
        )
    for buffer, array in zip(buffers, given, strict=False):
        if buffer.shape == array.shape:
            buffer[...] = array
    pointers = harness.pointers(buffers), harness.pointer(weights), harness.pointer(workspace)
    names = ["main", *(f"way{n}" for n in range(1, len(rivals.names)))]
    entries = [getattr(library, made.symbols[name]) for name in names]
    results: list[Any] = []
    for entry in entries:  # a wrong way has no time
        harness.call_once(entry, *pointers)
        results.append(buffers[-1].copy())
        buffers[-1][...] = np.nan
    for name, result in zip(rivals.names, results, strict=True):
        scale = float(np.abs(results[0]).max())
        assert np.allclose(result, results[0], rtol=0, atol=1e-4 * scale), (
            f"{shape}: {name} differs"
        )
    counts = [calls_of(harness.call_ns(entry, *pointers, 1)) for entry in entries]
    best = [math.inf] * len(entries)
    for turn in range(rounds):
        # What is far from the best is not measured to its last digit.
        limit = 1.5 * min(best) if turn >= 2 else math.inf
        for step in range(len(entries)):
            at = (step + turn) % len(entries)  # nobody always comes first
            if best[at] <= limit:
                best[at] = min(best[at], harness.call_ns(entries[at], *pointers, counts[at]))
    fastest: dict[str, tuple[float, float]] = {}
    for name, cost, time in zip(
        rivals.names, rivals.costs, best, strict=True
    ):  # equal code, equal time
        fastest[name] = cost, min(time, fastest.get(name, (0.0, math.inf))[1])
    costs, times = zip(*fastest.values(), strict=True)
    return Result(str(shape), tuple(fastest), costs, times, shape.flops)


def _compiled(shape: Shape, harness: Harness, rivals: Rivals) -> tuple[Any, Any]:
    context = new_context()
    wish = Options(host=harness.host.name, target=str(harness.target), machine=harness.machine)
    module = import_model(program_of(shape, context), context, wish)
    lower_blocked(context, module, rivals, harness.host.lower)
    return harness.native(context, module)


def of_layer(layer: Layer) -> Shape:
    """The shape of a layer of a set."""
    if isinstance(layer, Conv):
        window = (layer.window, layer.window)
        return Convolution(
            layer.channels,
            layer.height,
            layer.width,
            layer.outputs,
            window,
            layer.stride,
            groups=layer.groups,
        )
    return Product(layer.m, layer.n, layer.k, max(1, layer.batch), is_given=bool(layer.batch))


def summary(results: Sequence[Result]) -> str:
    """`within 5 % of the best on 190 of 206 (92.2 %); worst 1.18; geometric mean 1.012`."""
    regrets = [result.regret for result in results]
    good = sum(regret <= WITHIN for regret in regrets)
    return (
        f"within {100 * WITHIN - 100:.0f} % of the best on {good} of {len(results)} ({100 * good / len(results):.1f} %); "
        f"beyond {NEVER}: {sum(regret > NEVER for regret in regrets)}; worst {max(regrets):.3f}; "
        f"geometric mean {statistics.geometric_mean(regrets):.3f}"
    )


def results_of(shapes: Sequence[Shape], given: argparse.Namespace) -> Iterator[Result]:
    """Measured one after the other."""
    target = parse_target(given.target) if given.target else native()
    harness = Harness(target)
    for shape in shapes:
        yield measure(shape, harness, given.rivals, given.rounds)


def main() -> int:
    """Measures and prints; 1 where the choice is not as good as it is to be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="which shapes are drawn (default 1)")
    parser.add_argument("--count", type=int, default=204, help="how many (default 204)")
    parser.add_argument("--set", action="append", default=[], help="the layers of a set instead")
    parser.add_argument("--only", default="", help="shapes whose text has this in it")
    parser.add_argument(
        "--rivals", type=int, default=14, help="other ways of each shape (default 14)"
    )
    parser.add_argument(
        "--rounds", type=int, default=12, help="of which the fastest counts (default 12)"
    )
    parser.add_argument("--target", help="default: this computer")
    parser.add_argument("--json", type=Path, help="write the results there")
    given = parser.parse_args()
    layers = [of_layer(layer) for name in given.set for layer in LAYER_SETS[name].layers]
    shapes: list[Shape] = layers or [*LARGE, *draw(given.seed, given.count)]
    shapes = [shape for shape in shapes if given.only in str(shape)]
    results: list[Result] = []
    for result in results_of(shapes, given):
        results.append(result)
        print(f"{len(results):3}/{len(shapes)} {result}", flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps([asdict(one) for one in results], indent=1))
    print(f"{summary(results)} (seed {given.seed}, load average {os.getloadavg()[0]:.1f})")
    regrets = [result.regret for result in results]
    good = sum(regret <= WITHIN for regret in regrets) >= SHARE * len(regrets)
    return 0 if good and max(regrets) <= NEVER else 1


if __name__ == "__main__":
    sys.exit(main())
