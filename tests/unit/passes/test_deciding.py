"""Backends decide of their regions, and costs: random programs against brute force and NumPy; lies."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

import inarch
from effort import SOAK
from inarch.backends import BACKENDS, Backend
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.ir.report.facts import facts_of
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.machine.estimate import Work
from inarch.offload.pattern import any_, constant, named, op
from inarch.offload.region import Decision, Merge, Region, Shrink, Split, Veto
from inarch.passes.partition.cut.regions import merged_regions
from inarch.passes.partition.decide.draft import HostEstimate
from inarch.passes.partitioning import PartitionReport, partition_for
from inarch.testing import execute

EMIT = BACKENDS["examplejson"].emit
MEANING: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "relu": partial(np.maximum, 0),
    "neg": np.negative,
    "tanh": np.tanh,
}
BINARY = ("add", "sub")


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    with BACKENDS.scope():
        yield


def backend(name: str, **fields: Any) -> Backend:
    fields.setdefault("ops", ("add", "relu", "neg"))
    made = Backend(name, "for tests", EMIT, **fields)
    BACKENDS.register(made)
    return made


@dataclass(frozen=True)
class Program:
    text: str
    inputs: list[Any]
    outputs: list[Any]


def program(seed: int, count: int = 18) -> Program:
    """Random ops on vectors, each used by somebody, and what NumPy makes of them."""
    random, numbers = Random(seed), np.random.default_rng(seed)
    values = {f"%x{n}": numbers.standard_normal(6).astype(np.float32) for n in range(2)}
    inputs, unused = list(values.values()), set(values)
    lines: list[str] = []
    for index in range(count):
        name = random.choice(list(MEANING))
        near = [*values][-5:] if random.random() < 0.7 else [*values]
        operands = random.choices(near, k=2 if name in BINARY else 1)
        kinds = ", ".join(["tensor<6xf32>"] * len(operands))
        lines.append(f"  %{index} = graph.{name} {', '.join(operands)} : {kinds} -> tensor<6xf32>")
        values[f"%{index}"] = MEANING[name](*(values[each] for each in operands))
        unused = (unused - set(operands)) | {f"%{index}"}
    last = sorted(name for name in unused if not name.startswith("%x"))
    kinds = ", ".join(["tensor<6xf32>"] * len(last))
    body = "\n".join([*lines, f"  func.return {', '.join(last)} : {kinds}"])
    head = f"func.func @main(%x0: tensor<6xf32>, %x1: tensor<6xf32>) -> ({kinds})"
    return Program(f"{head} {{\n{body}\n}}\n", inputs, [values[name] for name in last])


# ---------------------------------------------------------------------------------- brute force


def users(each: Operation) -> set[Operation]:
    return {use.operation for result in each.results for use in result.uses}


def has_cycle(block: Block, units: Sequence[Sequence[Operation]]) -> bool:
    """Warshall on the graph in which each unit is one node."""
    unit: dict[Operation, object] = {each: each for each in block.ops}
    for number, ops in enumerate(units):
        unit.update(dict.fromkeys(ops, number))
    nodes = list(dict.fromkeys(unit.values()))
    after: dict[object, set[object]] = {node: set() for node in nodes}
    for each in block.ops:
        after[unit[each]] |= {unit[user] for user in users(each)} - {unit[each]}
    for middle, start in itertools.product(nodes, nodes):
        if middle in after[start]:
            after[start] |= after[middle]
    return any(node in after[node] for node in nodes)


@dataclass
class Iteration:
    """What the deciders of one program share: its regions as they are now, of all backends."""

    units: list[list[Operation]] = field(default_factory=list[list[Operation]])
    asked: list[object] = field(default_factory=list[object])

    def begin(self, decider: object, block: Block) -> None:
        """Regions are formed anew before the first one is asked (again)."""
        if not self.asked or decider in self.asked:
            self.asked.clear()
            self.units = [list(each.ops) for each in merged_regions(block)]
        self.asked.append(decider)


@dataclass(eq=False)
class Decider:
    """Decides at random; whether that is legal it finds by brute force, over the regions of both backends."""

    random: Random
    is_legal: bool
    """Whether it only decides what is."""
    iteration: Iteration
    made: list[str] = field(default_factory=list[str])
    broke: str = ""
    """What it did that is not legal."""

    def __call__(self, regions: Sequence[Region]) -> Iterator[Decision]:
        whole = list(regions)
        if whole:
            parent = whole[0].ops[0].parent_block()
            assert parent is not None
            self.iteration.begin(self, parent)
        while whole and self.random.random() < 0.7:
            region = whole.pop(self.random.randrange(len(whole)))
            decision, units = self._choose(region, whole)
            if decision is None:
                continue
            block = region.ops[0].parent_block()
            assert block is not None
            gone = set(region.ops) | {op for unit in units for op in unit}
            rest = [ops for ops in self.iteration.units if not gone & {*ops}]
            if has_cycle(block, [*rest, *units]):
                if self.is_legal:
                    whole.append(region)
                    continue
                self.broke = type(decision).__name__
            else:
                self.iteration.units = [*rest, *units]
            if isinstance(decision, Merge):
                whole = [one for one in whole if one not in decision.regions]
            self.made.append(type(decision).__name__)
            yield decision
            assert not self.broke, "it was carried out"

    def _choose(
        self, region: Region, whole: Sequence[Region]
    ) -> tuple[Decision | None, list[list[Operation]]]:
        ops, kind = list(region.ops), self.random.choice("vsskm")
        some = [op for op in ops if self.random.random() < 0.5]
        rest = [op for op in ops if op not in some]
        if kind == "v":
            return Veto(region, "no"), []
        if kind == "m" and whole:
            other = self.random.choice(whole)
            both = {*ops, *other.ops}
            block = ops[0].parent_block()
            assert block is not None
            every = [op for op in block.ops if op in both]
            return Merge([region, other], "one call"), [every]
        if not some or not rest:
            return None, []
        if kind == "k":
            return Shrink(region, some, "too large"), [some]
        self.random.shuffle(rest)
        return Split(region, [some, rest], "in two"), [some, rest]


def takes(seconds: float) -> Callable[[Region], float]:
    return lambda _: seconds


def coefficients(random: Random) -> Callable[[Region], float] | None:
    a, b, c = random.random(), random.random(), random.random()
    if random.random() < 0.25:
        return None
    return lambda region: 1e-6 * (3 * a + b * len(region.ops) + c * region.bytes_in / 24)


def partitioned(
    text: str, *names: str, context: Context | None = None, **options: Any
) -> tuple[Context, ModuleOp, PartitionReport]:
    """With a host that takes 1 us for each op."""
    context = context or new_context()
    module = parse_module(context, text)

    def estimate(work: Work, *_: object) -> float:
        return 1e-6 * work.points / 6

    facts_of(context).put(HostEstimate(estimate))
    return context, module, partition_for(context, module, *names, **options)


def test_random_decisions_and_costs_leave_a_legal_program_that_computes_the_same() -> None:
    """And an illegal one is refused, exactly where brute force finds a cycle."""
    chosen = range(70) if SOAK else [*range(20), 60]  # 60: a Shrink that is not legal
    deciders = [each for seed in chosen for each in decide_at_random(seed)]
    assert {name for each in deciders for name in each.made} == {"Veto", "Shrink", "Split", "Merge"}
    assert {each.broke for each in deciders} == {"", "Shrink", "Split", "Merge"}


def decide_at_random(seed: int) -> list[Decider]:
    random = Random(seed)
    made = program(seed)
    shared = Iteration()
    deciders = [Decider(Random(seed + 100 + n), seed % 4 > 0, shared) for n in range(2)]
    pattern = named("pair", op("relu", op("add", any_(), any_())))
    lists = [("add", "relu", "neg"), ("add", "sub", "tanh", "relu")]
    for name, decider, ops in zip(("one", "two"), deciders, lists, strict=True):
        patterns = (pattern,) if random.random() < 0.5 else ()
        backend(
            name, ops=ops, patterns=patterns, cost=coefficients(random),
            decide=decider if random.random() < 0.8 else None,
        )  # fmt: skip
    kept = random.choice(["relu", "add", ""]) if "graph.relu" in made.text else ""
    keep = [(kept, "two")] if f"graph.{kept} " in made.text else []
    context = new_context()
    try:
        _, module, report = partitioned(made.text, "one", "two", context=context, keep=keep)
    except InarchError as error:
        said, broke = str(error), "".join(one.broke for one in deciders)
    else:
        assert not any(one.broke for one in deciders)
        check(made, context, module, report)
        assert not any(each.op == f"graph.{kept}" for each in report.owned_by("two"))
        return deciders
    assert f"decide: {broke}: expected what no path leaves and enters again, found " in said
    return deciders


def check(made: Program, context: Context, module: ModuleOp, report: PartitionReport) -> None:
    verify_module(module)
    for found, expected in zip(execute(module, made.inputs, context), made.outputs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    for one in report.traffic:
        assert one.host_seconds is not None
        assert one.seconds is None or one.seconds <= one.host_seconds
    for entry in report.ops:
        assert set(entry.reasons) == {"one", "two"} - {entry.owner}


CROSSING = """func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = graph.relu %x : tensor<6xf32> -> tensor<6xf32>
  %1 = graph.tanh %0 : tensor<6xf32> -> tensor<6xf32>
  %2 = graph.neg %1 : tensor<6xf32> -> tensor<6xf32>
  %3 = graph.relu %y : tensor<6xf32> -> tensor<6xf32>
  %4 = graph.tanh %3 : tensor<6xf32> -> tensor<6xf32>
  %5 = graph.neg %4 : tensor<6xf32> -> tensor<6xf32>
  func.return %2, %5 : tensor<6xf32>, tensor<6xf32>
}
"""


def test_regions_that_would_wait_for_each_other_are_refused() -> None:
    """No path of ops leads from either back to it, but each would be one call."""

    def decide(regions: Sequence[Region]) -> Iterator[Decision]:
        first, second, third, fourth = regions  # in the order of the program
        yield Merge([first, fourth], "a call less")
        yield Merge([second, third], "a call less")

    backend("npu", decide=decide)
    with pytest.raises(InarchError) as caught:
        _compiled(CROSSING, "npu")
    assert caught.value.message == (
        f"backend 'npu' [an object of {__name__}]: decide: Merge: expected what no path leaves and enters "
        "again, found a region that graph.tanh (model.mlir:6:3) needs and is needed by"
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_decided_at_random_compiles_to_what_numpy_does(seed: int) -> None:
    made = program(seed, 24)
    for name in ("one", "two"):
        decider = Decider(Random(seed), True, Iteration())
        ops = ("add", "relu", "neg") if name == "one" else ("sub", "tanh", "add")
        backend(name, ops=ops, decide=decider, cost=takes(1e-9))
    context = new_context()
    module = inarch.compile(
        parse_module(context, made.text), backends=["one", "two"], context=context
    )
    for found, expected in zip(module(*made.inputs), made.outputs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------------------------- costs


CHAIN = """func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = graph.relu %x : tensor<6xf32> -> tensor<6xf32>
  %1 = graph.neg %0 : tensor<6xf32> -> tensor<6xf32>
  %2 = graph.tanh %1 : tensor<6xf32> -> tensor<6xf32>
  %3 = graph.relu %2 : tensor<6xf32> -> tensor<6xf32>
  func.return %3 : tensor<6xf32>
}
"""


def owners(report: PartitionReport) -> str:
    return " ".join(entry.owner for entry in report.ops)


def test_a_region_that_loses_goes_to_the_next_one_or_to_the_host() -> None:
    """Whoever states no cost keeps what it takes; a region as fast as the host stays."""
    backend("far", cost=takes(1.5e-6))
    *_, report = partitioned(CHAIN, "far")
    assert owners(report) == "far far host host"
    assert report.ops[3].reasons["far"] == (
        "its region takes 1.5 us here, 1 us on the host (estimated)"
    )
    (region,) = report.traffic
    assert (region.seconds, region.host_seconds, region.source) == (1.5e-6, 2e-6, "estimated")
    (decided,) = report.decided
    assert (decided.owner, decided.what, decided.ops, decided.reason) == (
        "far",
        "cost",
        1,
        report.ops[3].reasons["far"],
    )
    backend("free")
    *_, report = partitioned(CHAIN, "far", "free")
    assert owners(report) == "far far host free"
    *_, report = partitioned(CHAIN, "far", "free", keep=[("relu", "free")])
    assert owners(report) == "far far host host"
    assert report.ops[3].reasons["free"] == "kept from backend free by hand"
    backend("far", cost=takes(2e-6))
    assert owners(partitioned(CHAIN, "far")[2]) == "far far host host"
    assert owners(partitioned(CHAIN, "far", give=[("relu", "far")])[2]) == "far far host far"


def test_what_comes_back_out_of_a_match_is_kept_from_whom_it_was() -> None:
    """A pattern's ops are offered one by one, with what a person has said of each."""
    pair = named("pair", op("neg", op("relu", any_())))
    backend("far", ops=(), patterns=(pair,), cost=takes(float("inf")))
    backend("free")
    *_, report = partitioned(CHAIN, "far", "free", keep=[("neg", "free")])
    assert owners(report) == "free host host free"
    assert report.ops[1].reasons["free"] == "kept from backend free by hand"


def test_among_backends_with_costs_the_faster_one_gets_a_region() -> None:
    """Also where it takes a part of it only; who comes first and is as fast keeps it."""
    backend("slow", cost=takes(0.9e-6))
    backend("fast", cost=takes(0.5e-6), ops=("relu",))
    *_, report = partitioned(CHAIN, "slow", "fast")
    # of the first region it takes the relu alone: 0.5 us, and 1 us of the host for the neg
    assert owners(report) == "slow slow host fast"
    assert report.ops[3].reasons["slow"] == (
        "backend fast does its region in 0.5 us: 0.9 us here, 1 us on the host (estimated)"
    )
    assert report.ops[0].reasons["fast"] == "already taken by backend slow"
    backend("fast", cost=takes(0.9e-6), ops=("relu",))
    assert owners(partitioned(CHAIN, "slow", "fast")[2]) == "slow slow host slow"
    backend("third")
    backend("fast", cost=takes(0.5e-6), ops=("relu",))
    *_, report = partitioned(CHAIN, "slow", "third", "fast")
    assert owners(report) == "slow slow host fast"
    assert report.ops[3].reasons["third"] == "backend fast was found to be faster"


def test_the_host_estimates_by_its_machine() -> None:
    """A product is counted in multiply-adds, and takes at least what the machine's ports allow."""
    seen: list[Region] = []

    def cost(region: Region) -> float:
        seen.append(region)
        return 0.0

    backend("mm", ops=("matmul",), cost=cost)
    text = (
        "func.func @main(%x: tensor<64x128xf32>, %w: tensor<128x32xf32>) -> tensor<64x32xf32> {\n"
        "  %0 = graph.matmul %x, %w : tensor<64x128xf32>, tensor<128x32xf32> -> tensor<64x32xf32>\n"
        "  func.return %0 : tensor<64x32xf32>\n}\n"
    )
    context = new_context()
    (one,) = partition_for(context, parse_module(context, text), "mm").traffic
    assert one.multiply_adds == seen[0].multiply_adds == 64 * 128 * 32
    assert seen[0].work == Work(64 * 128 * 32, 0, 4 * (64 * 128 + 128 * 32 + 64 * 32), 4)
    assert (one.bytes_in, one.bytes_out) == (seen[0].bytes_in, seen[0].bytes_out)
    # generic: 2 vectors of 4 numbers a cycle, 3 GHz
    assert one.host_seconds == pytest.approx((64 * 128 * 32 / 8 + 8) / 3e9)


def test_the_host_estimates_the_code_that_it_would_run() -> None:
    """Quantized layers are f32 there, weights too, whether a pattern or single ops have them."""
    seen: list[Region] = []

    def cost(region: Region) -> float:
        seen.append(region)
        return 0.0

    inner = op("matmul", *(op("dequantize", one, constant()) for one in (any_(), constant())))
    unit = named("unit", op("quantize", inner, constant()))
    backend("unit", patterns=(unit,), cost=cost)
    backend("each", ops=("dequantize", "matmul", "quantize"), cost=cost)
    text = (
        "func.func @main(%x: tensor<64x128xi8>) -> tensor<64x32xi8> {\n"
        "  %w = graph.constant dense<1> : tensor<128x32xi8>\n"
        "  %s = graph.constant dense<0.5> : tensor<f32>\n"
        "  %0 = graph.dequantize %x scale %s : tensor<64x128xi8>, tensor<f32> -> tensor<64x128xf32>\n"
        "  %1 = graph.dequantize %w scale %s : tensor<128x32xi8>, tensor<f32> -> tensor<128x32xf32>\n"
        "  %2 = graph.matmul %0, %1 : tensor<64x128xf32>, tensor<128x32xf32> -> tensor<64x32xf32>\n"
        "  %3 = graph.quantize %2 scale %s to i8 : tensor<64x32xf32>, tensor<f32> -> tensor<64x32xi8>\n"
        "  func.return %3 : tensor<64x32xi8>\n}\n"
    )
    for name in ("unit", "each"):
        context = new_context()
        (one,) = partition_for(context, parse_module(context, text), name).traffic
        work = seen.pop().work
        assert (work.multiply_adds, work.element_bytes) == (64 * 128 * 32, 4)
        least = 64 * 128 + 4 * 128 * 32 + 64 * 32
        assert least < work.nbytes < least + 100
        assert one.host_seconds is not None
        assert one.host_seconds > 64 * 128 * 32 / 8 / 3e9


# ---------------------------------------------------------------------------------- lies


DIAMOND = """func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = graph.relu %x : tensor<6xf32> -> tensor<6xf32>
  %1 = graph.neg %0 : tensor<6xf32> -> tensor<6xf32>
  %2 = graph.add %0, %1 : tensor<6xf32>, tensor<6xf32> -> tensor<6xf32>
  %3 = graph.tanh %2 : tensor<6xf32> -> tensor<6xf32>
  %4 = graph.relu %3 : tensor<6xf32> -> tensor<6xf32>
  %5 = graph.sub %y, %y : tensor<6xf32>, tensor<6xf32> -> tensor<6xf32>
  func.return %4, %5 : tensor<6xf32>, tensor<6xf32>
}
"""
NONE: Any = None
AWAY: list[Region] = []
"""Regions that another backend has shown."""


def fails(_: Sequence[Region]) -> list[Decision]:
    raise KeyError("x")


Lie = Callable[[Any], Any]

LIES: dict[str, tuple[Lie, str]] = {
    "split": (
        lambda r: [Split(r[0], [[r[0].ops[0], r[0].ops[2]], [r[0].ops[1]]], "so")],
        "Split: expected what no path leaves and enters again, found part 0 that graph.neg (model.mlir:3:3) "
        "needs and is needed by",
    ),
    "incomplete": (
        lambda r: [Split(r[0], [r[0].ops[:1], r[0].ops[1:2]], "so")],
        "Split: expected parts that have all ops of the region, found none with graph.add (model.mlir:4:3); "
        "to drop it, write Shrink",
    ),
    "twice": (
        lambda r: [Split(r[0], [r[0].ops, r[0].ops[1:2]], "so")],
        "Split: expected each op once, found graph.neg (model.mlir:3:3) again",
    ),
    "empty": (
        lambda r: [Split(r[0], [r[0].ops, []], "so")],
        "Split: expected ops in parts, found none",
    ),
    "shrunk": (
        lambda r: [Shrink(r[0], [r[0].ops[0], r[0].ops[2]], "so")],
        "Shrink: expected what no path leaves and enters again, found a region that graph.neg "
        "(model.mlir:3:3) needs and is needed by",
    ),
    "whole": (
        lambda r: [Shrink(r[0], r[0].ops, "so")],
        "Shrink: expected some of the region's ops, found all of them",
    ),
    "foreign op": (
        lambda r: [Shrink(r[0], r[1].ops, "so")],
        "Shrink: expected ops of the region, found graph.relu (model.mlir:6:3)",
    ),
    "no op": (
        lambda r: [Shrink(r[0], [NONE], "so")],
        "Shrink: expected ops of the region, found NoneType",
    ),
    "merge": (
        lambda r: [Merge(r, "so")],
        "Merge: expected what no path leaves and enters again, found a region that graph.tanh "
        "(model.mlir:5:3) needs and is needed by",
    ),
    "one": (
        lambda r: [Merge([r[0], r[0]], "so")],
        "Merge: expected two regions or more, found 1",
    ),
    "two backends": (
        lambda r: [Merge([r[0], AWAY[0]], "so")],
        "Merge: expected regions of backend 'liar', found one of backend 'other'",
    ),
    "again": (
        lambda r: [Veto(r[0], "so"), Veto(r[0], "so")],
        "Veto: expected a region of this call of decide that no decision has replaced, found another one",
    ),
    "no reason": (lambda r: [Veto(r[0], " ")], "Veto: expected a reason in one line, found ' '"),
    "no text": (lambda r: [Veto(r[0], NONE)], "Veto: expected a reason in one line, found None"),
    "no region": (lambda r: [Veto(r[0].ops, "so")], "Veto: expected a Region, found tuple"),
    "no decision": (lambda _: ["veto"], "expected Veto, Shrink, Split or Merge, found str"),
}  # fmt: skip


def test_a_decision_that_is_none_is_refused() -> None:
    def remember(regions: Sequence[Region]) -> None:
        AWAY.extend(regions)

    backend("other", ops=("sub",), decide=remember)
    for decide, message in LIES.values():
        AWAY.clear()
        backend("liar", decide=decide)
        with pytest.raises(InarchError) as caught:
            _compiled(DIAMOND, "other", "liar")
        label = f"backend 'liar' [an object of {__name__}]: decide"
        assert caught.value.message == f"{label}: {message}"
        places = ("model.mlir:2:3", "model.mlir:6:3", "model.mlir:7:3", "model.mlir:3:3")
        assert caught.value.where in places


def _compiled(text: str, *names: str, **options: Any) -> PartitionReport:
    context = new_context()
    module = parse_module(context, text, "model.mlir")
    return partition_for(context, module, *names, **options)


COSTS: list[tuple[Lie, str]] = [
    (lambda _: float("nan"), "nan"),
    (lambda _: -1e-9, "-1e-09"),
    (lambda _: None, "None"),
    (lambda _: True, "True"),
    (lambda _: "1us", "'1us'"),
]


def test_a_cost_that_is_none_is_refused() -> None:
    for cost, found in COSTS:
        backend("liar", cost=cost)
        with pytest.raises(InarchError) as caught:
            _compiled(CHAIN, "liar")
        assert str(caught.value) == (
            f"model.mlir:2:3: backend 'liar' [an object of {__name__}]: cost: expected seconds of a call, "
            f"a number from 0 on (inf: never), found {found}"
        )


def test_what_the_code_of_a_backend_raises_is_its_own() -> None:
    def soon(regions: Sequence[Region]) -> Iterator[Decision]:
        yield Veto(regions[0], "no")
        raise KeyError("later")

    wrong: list[tuple[dict[str, Lie], str]] = [
        ({"decide": fails}, "decide raises KeyError: 'x' (test_deciding.py:"),
        ({"decide": soon}, "decide raises KeyError: 'later' (test_deciding.py:"),
        (
            {"cost": lambda _: 1 / 0},  # pyrefly: ignore[division-by-zero] - on purpose
            "cost raises ZeroDivisionError: division by zero (test_deciding.py:",
        ),
    ]
    for fields, text in wrong:
        backend("liar", **fields)
        with pytest.raises(InarchError) as caught:
            _compiled(CHAIN, "liar")
        assert caught.value.message.startswith(f"backend 'liar' [an object of {__name__}]: {text}")


# ---------------------------------------------------------------------------------- by hand


def test_by_hand_wins_over_decisions() -> None:
    """A region with an op that was given is not vetoed, nor shrunk by it; the report says so."""

    def decide(regions: Sequence[Region]) -> Iterator[Decision]:
        first, second = regions
        yield Shrink(first, first.ops[1:], "starts at a neg")
        yield Veto(second, "too small")

    backend("npu", decide=decide)
    report = _compiled(CHAIN, "npu")
    assert owners(report) == "host npu host host"
    assert report.ops[0].reasons["npu"] == "shrunk: starts at a neg"
    assert report.ops[3].reasons["npu"] == "vetoed: too small"
    assert [(one.what, one.ops) for one in report.decided] == [("shrink", 1), ("veto", 1)]
    assert report.traffic[0].reason == "shrunk: starts at a neg"
    report = _compiled(CHAIN, "npu", give=[("relu", "npu")])
    assert owners(report) == "npu npu host npu"
    assert [one.reason for one in report.traffic] == [
        "not shrunk, graph.relu (model.mlir:2:3) is given by hand: starts at a neg",
        "not vetoed, graph.relu (model.mlir:5:3) is given by hand: too small",
    ]


def test_a_backend_whose_regions_all_went_back_is_idle() -> None:
    backend("npu", cost=takes(float("inf")))
    text = CHAIN.replace("graph.tanh", "graph.neg")
    context = new_context()
    module = parse_module(context, text)
    with pytest.raises(InarchError) as caught:
        inarch.compile(module, backends=["npu"], require_offload=True, context=context)
    each = r"its region takes no end here, \S+ us on the host \(estimated\)"
    assert re.fullmatch(
        rf"backend 'npu' was asked for and got nothing: relu \(2 times\): {each}; neg \(2 times\): {each}; "
        "give it something that it takes, or do not require it",
        caught.value.message,
    )
