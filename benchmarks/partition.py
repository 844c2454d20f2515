"""How long partitioning takes: a 5,000-op graph, 100 patterns, two backends.

    python benchmarks/partition.py [--ops 5000] [--patterns 100] [--seed 0]

The graph is a random DAG of binary and unary ops; patterns are chains of two to four ops with
alternatives, optional and commutative parts, whose roots are spread over all ops. Prints the CPU time of
each pass, of the report, and of everything. The aim: under one second.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import types
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from inarch.dialects import new_context
from inarch.dialects.graph.elementwise.arithmetic import AddOp, MaximumOp, MulOp, SubOp
from inarch.dialects.graph.elementwise.unary import AbsOp, ExpOp, NegOp, ReluOp, SigmoidOp, TanhOp
from inarch.ir.location import named_location
from inarch.offload.backend import BACKENDS, Backend, Emission, EmitRequest
from inarch.offload.pattern import NamedPattern, Pattern, any_, named, op, optional
from inarch.passes.partition.annotate import annotate
from inarch.passes.partition.merge_composites import merge_composites
from inarch.passes.partition.merge_regions import merge_regions
from inarch.passes.partition.partition import partition
from inarch.passes.partition.report import Recorder

BINARY = (AddOp, SubOp, MulOp, MaximumOp)
UNARY = (NegOp, AbsOp, ReluOp, ExpOp, TanhOp, SigmoidOp)
NAMES = [kind.name for kind in (*BINARY, *UNARY)]


def make_graph(count: int, seed: int) -> ModuleOp:
    """A function of `count` ops, each on recent values, now and then on an old one."""
    draw = random.Random(seed)
    kind = TensorType(f32, [4])
    function = FuncOp("main", ([kind, kind], [kind]))
    values: list[SSAValue] = list(function.body.block.args)
    for index in range(count):
        ops = draw.choice((BINARY, UNARY, UNARY))
        made: Operation = draw.choice(ops).make(
            *(_pick(values, draw) for _ in range(2 if ops is BINARY else 1)),
            location=named_location(f"node{index}"),
        )
        function.body.block.add_op(made)
        values.append(made.results[0])
    function.body.block.add_op(ReturnOp(values[-1]))
    return ModuleOp([function])


def _pick(values: list[SSAValue], draw: random.Random) -> SSAValue:
    unused = [value for value in values[-12:] if not value.uses]
    if unused and draw.random() < 0.8:
        return unused[0]
    return draw.choice(values[-100:] if draw.random() < 0.9 else values)


def make_patterns(count: int, seed: int) -> tuple[NamedPattern, ...]:
    """Patterns of two to four ops; every tenth has a chain of alternatives and optional parts."""
    draw = random.Random(seed)

    def step(inner: Pattern) -> Pattern:
        name = draw.choice(NAMES)
        is_binary = NAMES.index(name) < len(BINARY)
        return op(name, inner, any_(), commutative=True) if is_binary else op(name, inner)

    patterns: list[NamedPattern] = []
    for index in range(count):
        pattern = step(any_())
        for _ in range(draw.choice((1, 2, 3))):
            pattern = step(pattern | step(any_())) if index % 10 == 0 else step(pattern)
        if index % 10 == 5:
            pattern = optional(pattern, lambda inner: op("relu", inner))
        patterns.append(named(f"p{index}", pattern))
    return tuple(patterns)


def _emit(request: EmitRequest) -> Emission:
    return Emission("c", request.names())


def register(backend: Backend) -> None:
    """Makes a backend known for this run."""
    module = types.ModuleType(backend.name)
    module.__dict__["BACKEND"] = backend
    sys.modules[backend.name] = module
    BACKENDS.add(module, backend.name, Path(__file__))


def main() -> None:
    parser = argparse.ArgumentParser(description="How long partitioning takes.")
    parser.add_argument("--ops", type=int, default=5_000)
    parser.add_argument("--patterns", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    patterns = make_patterns(options.patterns, options.seed)
    half = len(patterns) // 2
    register(Backend("bench_a", "", _emit, ops=("neg", "abs", "mul"), patterns=patterns[:half]))
    register(Backend("bench_b", "", _emit, ops=("exp", "add"), patterns=patterns[half:]))
    context, module = new_context(), make_graph(options.ops, options.seed)
    recorder = Recorder()
    total = 0.0
    stages = {
        "annotate": lambda: annotate(context, module, ("bench_a", "bench_b"), recorder=recorder),
        "merge-composites": lambda: merge_composites(context, module),
        "merge-regions": lambda: merge_regions(context, module, recorder),
        "partition": lambda: partition(context, module),
    }
    for name, run in stages.items():
        start = time.process_time()
        run()
        total += (spent := time.process_time() - start)
        print(f"{name:<18}{spent:8.3f} s")
    start = time.process_time()
    report = recorder.finish()
    total += (spent := time.process_time() - start)
    print(f"{'report':<18}{spent:8.3f} s")
    print(f"{'all':<18}{total:8.3f} s")
    for backend in report.backends:
        count, regions = len(report.owned_by(backend)), len(report.regions(backend))
        print(f"{backend}: {count} ops in {regions} functions")


if __name__ == "__main__":
    main()
