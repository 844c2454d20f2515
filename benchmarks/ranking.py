"""How good the choice of kernels is, on shapes that nothing was fitted to: what is chosen, and its rivals.

    python benchmarks/ranking.py [--seed 1] [--count 204] [--rivals 14] [--rounds 12] [--json FILE]
    python benchmarks/ranking.py --set resnet50 [--only 3x3]

For each shape, the way that `tensorize` takes and others are compiled into one library, compared with NumPy,
and measured interleaved, on warm data, with packing at run time; minima of CPU time. Where the choice is not
good all is measured once more, in other memory. The others are the best ways of every kernel by its cost,
other tiles and other orders of loops of them, and no kernel at all. A shape's *regret* is the time
of the chosen way divided by that of the fastest one. Measure on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp

from inarch.benchmark.harness import Harness, aligned
from inarch.benchmark.layers import LAYER_SETS, Conv, Layer
from inarch.benchmark.measure import calls_of
from inarch.benchmark.shapes import (
    Convolution,
    Product,
    Shape,
    arrays_of,
    draw,
    program_of,
    result_of,
)
from inarch.benchmark.subject.blocked import BEFORE, lower_blocked
from inarch.core.errors import InarchError, unknown
from inarch.core.lazy import np
from inarch.core.rounding import WHOLE, relative
from inarch.dialects import new_context
from inarch.dialects.loop.keep import KEEP
from inarch.dialects.loop.nest import NestOp
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.machine.find import find_machine, this_machine
from inarch.machine.machine import Machine
from inarch.machine.target import Target, native
from inarch.machine.target import parse as parse_target
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize import tensorize as pass_
from inarch.passes.tensorize.unify.strided import StridedNest, strided_nest
from inarch.passes.tensorize.weigh.candidates import Candidate, again
from inarch.passes.tensorize.weigh.family import Family
from inarch.passes.tensorize.weigh.search import candidates, sweep

WITHIN, NEVER, SHARE = 1.05, 1.25, 0.9
"""A choice is good up to the first regret; it must never pass the second; and so many must be good."""
WARM = 8
"""Calls a figure is averaged over at least: a cache that takes what another drops fills up over several."""
PLAIN = "no kernel"
"""The name of the rival that leaves the nest to the C compiler."""
PLAIN_POINTS = 1 << 22
"""Nests of more points are not tried without a kernel: it would take most of the time."""
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
        first, least = self.nanoseconds[0], min(self.nanoseconds)
        best = self.ways[self.nanoseconds.index(least)]
        speed = f"{first / 1e3:9.1f} us {self.flops / first:6.1f} GF/s"
        faster = f"; {least / 1e3:.1f} us by {best}" if best != self.ways[0] else ""
        return f"{self.regret:6.3f}  {speed}  {self.shape}: {self.ways[0]}{faster}"


class Rivals:
    """A pass in the place of `tensorize`: `@main` by the chosen way, `@way1`, `@way2`, ... by the others."""

    def __init__(self, target: Target, machine: Machine, most: int) -> None:
        self._target, self._machine, self._most = target, machine, most
        self.names: list[str] = []
        self.costs: list[float] = []
        self._others: list[Candidate | None] = []
        self._subjects: dict[NestOp, int] = {}
        """The nest that differs from way to way -> which way: the others of a function are the chosen way."""

    def __call__(self, module: ModuleOp) -> None:
        functions = [op for op in module.body.ops if isinstance(op, FuncOp)]
        main = next(op for op in functions if op.sym_name.data == "main")
        subject = _subject(main)
        nest = strided_nest(subject)
        self._others = self._ways(nest)
        self._subjects = {subject: 0}
        self.names = [PLAIN, *(_name(nest, one) for one in self._others)]
        self.costs = [math.inf, *(math.inf if one is None else one.cost for one in self._others)]
        for number, other in enumerate(self._others, 1):
            twin = main.clone()
            twin.sym_name = StringAttr(f"way{number}")
            self._subjects[_subject(twin)] = number
            if other is None:
                _subject(twin).attributes[KEEP] = UnitAttr()
            module.body.block.add_op(twin)
        pass_.tensorize(module, None, pick=self._pick)

    def _ways(self, nest: StridedNest) -> list[Candidate | None]:
        """Of all kernels: each with its best ways, and the best kernels with most; then no kernel."""
        found: list[list[Candidate]] = []
        for name in MICROKERNELS:
            family = Family.of(name, MICROKERNELS[name], self._target, self._machine)
            ways = candidates(nest, family)
            if isinstance(ways, list):
                found.append([*ways, *sweep(nest, family, ways[0], self._most)])
        found.sort(key=lambda ways: ways[0].cost)
        ranked = [
            (at + 3 * rank, one) for rank, ways in enumerate(found) for at, one in enumerate(ways)
        ]
        ranked.sort(key=lambda pair: pair[0])
        different = {_name(nest, one): one for _, one in reversed(ranked)}
        others: list[Candidate | None] = [*[*reversed(different.values())][: self._most]]
        small = math.prod(axis.size for axis in nest.axes) <= PLAIN_POINTS
        return [*others, None] if small else others

    def _pick(self, nest: StridedNest, chosen: Candidate) -> Candidate:
        way = self._subjects.get(nest.nest)
        if way is None:
            return chosen
        if way == 0:
            self.names[0], self.costs[0] = _name(nest, chosen), chosen.cost
            return chosen
        other = self._others[way - 1]
        assert other is not None, "a nest without a kernel is kept"
        here = again(other, nest)
        assert here is not None, "the functions are equal"
        return here


def _subject(function: FuncOp) -> NestOp:
    """The reduction of most points."""
    nests = [op for op in function.walk() if isinstance(op, NestOp) and op.has_reduction]
    return max(nests, key=lambda op: math.prod(op.sizes))


def _name(nest: StridedNest, one: Candidate | None) -> str:
    """`gemm-f32 8x3 (n, m, k; m=m v+l=n k=k)`: the tile, the loops, which axis is which iterator."""
    if one is None:
        return PLAIN
    tile = "x".join(str(v) for name, v in one.params.items() if name not in ("VL", "R", "S"))
    loops = ", ".join(nest.axes[axis].name for axis in one.order)
    taken = zip(nest.axes, one.matched.assignment.taken, strict=True)
    axes = " ".join(f"{'+'.join(names)}={axis.name}" for axis, names in taken if names)
    return f"{one.family.pattern.name} {tile} ({loops}; {axes})"


class Subject:
    """A shape, compiled with its rivals, and what they are called with."""

    def __init__(self, shape: Shape, harness: Harness, most: int) -> None:
        self._harness = harness
        self.rivals = Rivals(harness.target, harness.machine, most)
        context = new_context()
        wish = Options(host=harness.host.name, target=str(harness.target), machine=harness.machine)
        module = import_model(program_of(shape, context), context, wish)
        lower_blocked(context, module, self.rivals, harness.host.lower)
        made, library = harness.native(context, module)
        given = arrays_of(shape)[: 1 + shape.is_given]
        self._weights = aligned(np.frombuffer(made.weights, np.uint8))
        self._workspace = aligned(np.zeros(made.program.workspace_bytes, np.uint8))
        ports = made.entries["main"].ports
        self.buffers = [aligned(np.zeros(port.shape, np.float32)) for port in ports]
        for buffer, array in zip(self.buffers, given, strict=False):
            if buffer.shape == array.shape:
                buffer[...] = array
        if BEFORE in made.symbols:
            entry, source = getattr(library, made.symbols[BEFORE]), aligned(given[0])
            harness.call_once(entry, *self._pointers([source, self.buffers[0]]))
        names = ["main", *(f"way{number}" for number in range(1, len(self.rivals.names)))]
        self.entries = [getattr(library, made.symbols[name]) for name in names]
        self._main = self._pointers(self.buffers)

    def _pointers(self, buffers: Sequence[Any]) -> tuple[Any, Any, Any]:
        pointer = self._harness.pointer
        return self._harness.pointers(buffers), pointer(self._weights), pointer(self._workspace)

    def nanoseconds(self, entry: Any, count: int) -> float:
        """Of a call of a way, on average."""
        return self._harness.call_ns(entry, *self._main, count)

    def check(self, shape: Shape) -> None:
        """Raises InarchError where a way's result is not NumPy's: a wrong way has no time."""
        output, expected = self.buffers[-1], result_of(shape)
        for name, entry in zip(self.rivals.names, self.entries, strict=True):
            output[...] = np.nan
            self._harness.call_once(entry, *self._main)
            found = _unblocked(output)[:, : expected.shape[1]] if output.ndim == 5 else output
            difference = relative(expected, found)
            if not difference <= WHOLE:
                raise InarchError(
                    f"{shape}: expected what NumPy makes, found {difference:.1e} of the "
                    f"maximum beside it by {name}"
                )


def _unblocked(array: Any) -> Any:
    """[N, C / V, H, W, V] as [N, C, H, W]."""
    n, outer, height, width, inner = array.shape
    return array.transpose(0, 1, 4, 2, 3).reshape(n, outer * inner, height, width)


def measure(shape: Shape, harness: Harness, most: int, rounds: int) -> Result:
    """The shape by each way, interleaved; a choice that is not good is measured again, in other memory.

    What is bound by caches depends on where in them its operands happen to lie: each way's time is its best.
    """
    result = _measured(shape, harness, most, rounds)
    if result.regret <= WITHIN:
        return result
    again = _measured(shape, harness, most, rounds)
    times = dict(zip(again.ways, again.nanoseconds, strict=True))
    pairs = zip(result.ways, result.nanoseconds, strict=True)
    best = tuple(min(time, times.get(way, math.inf)) for way, time in pairs)
    return replace(result, nanoseconds=best)


def _measured(shape: Shape, harness: Harness, most: int, rounds: int) -> Result:
    subject = Subject(shape, harness, most)
    subject.check(shape)
    entries, rivals = subject.entries, subject.rivals
    counts = [max(WARM, calls_of(subject.nanoseconds(entry, 1))) for entry in entries]
    best = [math.inf] * len(entries)
    for turn in range(rounds):
        # What is far from the best is not measured to its last digit.
        limit = 1.5 * min(best) if turn >= 2 else math.inf
        for step in range(len(entries)):
            at = (step + turn) % len(entries)  # nobody always comes first
            if best[at] <= limit:
                best[at] = min(best[at], subject.nanoseconds(entries[at], counts[at]))
    fastest: dict[str, tuple[float, float]] = {}
    for name, cost, time in zip(rivals.names, rivals.costs, best, strict=True):
        # Equal code takes equal time.
        known_cost, known = fastest.get(name, (cost, math.inf))
        fastest[name] = known_cost, min(time, known)
    costs, times = zip(*fastest.values(), strict=True)
    return Result(str(shape), tuple(fastest), costs, times, shape.flops)


def of_layer(layer: Layer) -> Shape:
    """The shape of a layer of a set."""
    if isinstance(layer, Conv):
        window = (layer.window, layer.window)
        sizes = layer.channels, layer.height, layer.width, layer.outputs
        return Convolution(*sizes, window, layer.stride, groups=layer.groups)
    batch = max(1, layer.batch)
    return Product(layer.m, layer.n, layer.k, batch, is_given=bool(layer.batch))


def summary(results: Sequence[Result]) -> str:
    """`within 5 % of the best on 190 of 206 (92.2 %); beyond 1.25: 0; worst 1.18; geometric mean 1.012`."""
    regrets = [result.regret for result in results]
    good, far = sum(one <= WITHIN for one in regrets), sum(one > NEVER for one in regrets)
    share = 100 * good / len(results)
    return (
        f"within {100 * WITHIN - 100:.0f} % of the best on {good} of {len(results)} ({share:.1f} %); "
        f"beyond {NEVER}: {far}; worst {max(regrets):.3f}; "
        f"geometric mean {statistics.geometric_mean(regrets):.3f}"
    )


def is_good(results: Sequence[Result]) -> bool:
    """Whether so many choices are good, and none is bad."""
    regrets = [result.regret for result in results]
    good = sum(regret <= WITHIN for regret in regrets)
    return good >= SHARE * len(regrets) and max(regrets) <= NEVER


def main() -> int:
    """Measures and prints; 1 where the choice is not as good as it is to be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="which shapes are drawn (default 1)")
    parser.add_argument("--count", type=int, default=204, help="how many (default 204)")
    parser.add_argument("--set", action="append", default=[], help="the layers of a set instead")
    parser.add_argument("--only", default="", help="shapes whose text has this in it")
    parser.add_argument("--rivals", type=int, default=14, help="others of each shape (default 14)")
    parser.add_argument("--rounds", type=int, default=12, help="the fastest counts (default 12)")
    parser.add_argument("--target", help="default: this computer")
    parser.add_argument("--machine", help="default: the target's; for this computer, what it is")
    parser.add_argument("--json", type=Path, help="write the results there")
    given = parser.parse_args()
    for name in given.set:
        if name not in LAYER_SETS:
            parser.error(str(unknown("layer set", name, LAYER_SETS)))
    layers = [of_layer(layer) for name in given.set for layer in LAYER_SETS[name].layers]
    shapes: list[Shape] = layers or [*LARGE, *draw(given.seed, given.count)]
    shapes = [shape for shape in shapes if given.only in str(shape)]
    if not shapes:
        parser.error(f"--only: expected a part of a shape's text, found '{given.only}'")
    target = parse_target(given.target) if given.target else native()
    own = this_machine() if given.target is None else None
    harness = Harness(target, machine=find_machine(given.machine) if given.machine else own)
    results: list[Result] = []
    for shape in shapes:
        results.append(measure(shape, harness, given.rivals, given.rounds))
        print(f"{len(results):3}/{len(shapes)} {results[-1]}", flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(one) for one in results], indent=1))
    load = f"load average {os.getloadavg()[0]:.1f}"
    print(f"{summary(results)} (seed {given.seed}, {harness.machine.name}, {load})")
    return 0 if is_good(results) else 1


if __name__ == "__main__":
    sys.exit(main())
