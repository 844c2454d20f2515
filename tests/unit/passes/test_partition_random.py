"""Partitioning of random programs for random backends, against a brute-force statement of what must hold."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from effort import effort
from inarch.core.lazy import Array
from inarch.dialects import new_context
from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.arithmetic import AddOp, MaximumOp, MulOp, SubOp
from inarch.dialects.graph.elementwise.unary import AbsOp, NegOp, ReluOp, TanhOp
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_attribute
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.offload.backend import BACKENDS, Backend, Emission, EmitRequest
from inarch.offload.pattern import NamedPattern, any_, constant, named, op, optional
from inarch.passes.partition.annotate import annotate
from inarch.passes.partition.cut.regions import grouped
from inarch.passes.partition.merge_composites import merge_composites
from inarch.passes.partition.merge_regions import merge_regions
from inarch.passes.partition.partition import partition
from inarch.passes.partitioning import explain, partition_for
from inarch.testing import execute, generate

BINARY = (AddOp, SubOp, MulOp, MaximumOp)
UNARY = (NegOp, AbsOp, ReluOp, TanhOp)
NAMES = [kind.name for kind in (*BINARY, *UNARY)]
SIZE = 20  # constants of more than 16 elements are handles into the store


def _diamond() -> NamedPattern:
    x = op("neg", any_())
    return named("diamond", op("add", op("abs", x), x, commutative=True))


def _pair() -> NamedPattern:
    x = op("abs", any_())
    return named("pair", op("neg", x), others=(op("relu", x),))


def _kept() -> NamedPattern:
    x = op("add", any_(), any_())
    return named("kept", op("relu", x) | op("tanh", x), others=(x,))


def _crossed() -> NamedPattern:
    """Two ops of one value, which others may lie between."""
    x = any_()
    return named("crossed", op("mul", x, any_()), others=(op("max*", any_(), x),))


SEVERAL = (_pair(), _kept(), _crossed())
"""Of several roots."""

PATTERNS = (
    *SEVERAL,
    named("before_tanh", op("tanh", op("*"))),
    named("add_relu", optional(op("add", any_(), any_()), lambda x: op("relu", x))),
    named("scale", op("mul", any_(), constant(), commutative=True)),
    named("chain", op("tanh", op("neg", any_()) | op("abs", op("neg", any_())))),
    named("square", op("mul", *[any_("x")] * 2)),
    named("tree", op("maximum", op("sub", any_(), any_()), op("sub", any_(), any_()))),
    _diamond(),
)


def _emit(request: EmitRequest) -> Emission:
    return Emission("c", request.names())


@dataclass(frozen=True)
class Node:
    """An op: its kind, and operands by number (arguments and constants are the first)."""

    kind: type[Operation]
    operands: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    constants: int
    nodes: tuple[Node, ...]
    returned: tuple[int, ...]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Random DAGs, dead ops and values returned twice included."""
    constants = draw(st.integers(0, 2))
    count = draw(st.integers(1, 14))
    nodes: list[Node] = []
    for index in range(count):
        kind = draw(st.sampled_from((*BINARY, *UNARY)))
        known = 2 + constants + index
        far = st.integers(0, known - 1)
        near = st.integers(max(0, known - 3), known - 1)
        arity = 2 if kind in BINARY else 1
        nodes.append(Node(kind, tuple(draw(near | far) for _ in range(arity))))
    returned = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3))
    return Program(constants, tuple(nodes), tuple(2 + constants + n for n in returned))


@st.composite
def backends(draw: st.DrawFn, name: str) -> Backend:
    return Backend(
        name,
        "random",
        _emit,
        ops=tuple(draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))),
        patterns=tuple(draw(st.lists(st.sampled_from(PATTERNS), unique_by=id, max_size=4))),
        bind_constants=draw(st.booleans()),
        min_ops=draw(st.sampled_from((1, 1, 1, 2, 3))),
        max_regions=draw(st.sampled_from((None, None, None, 1, 2))),
    )


def make(program: Program) -> tuple[Context, ModuleOp]:
    context = new_context()
    store = store_of(context)
    kind = TensorType(f32, [SIZE])
    function = FuncOp("main", ([kind] * 2, [kind] * len(program.returned)))
    values: list[SSAValue] = list(function.body.block.args)
    block = function.body.block
    for index in range(program.constants):
        array = np.linspace(-1, 1 + index, SIZE, dtype=np.float32)
        block.add_op(made := ConstantOp.make(value=constant_attribute(array, store, f"k{index}")))
        values.append(made.out)
    for node in program.nodes:
        new = node.kind.make(*(values[n] for n in node.operands))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - a GraphOp
        block.add_op(new)  # pyright: ignore[reportUnknownArgumentType]
        values.append(new.results[0])  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    block.add_op(ReturnOp(*(values[n] for n in program.returned)))
    module = ModuleOp([function])
    verify_module(module)
    return context, module


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    with BACKENDS.scope():
        yield


def register(*found: Backend) -> None:
    for backend in found:
        module = ModuleType(f"random_backend_{backend.name}")
        module.__dict__["BACKEND"] = backend
        sys.modules[module.__name__] = module
        BACKENDS.add(module, backend.name, Path(__file__))


# ------------------------------------------------------------------------------------ brute force


def text(operation: Operation, name: str) -> str | None:
    found = operation.attributes.get(f"partition.{name}")
    return None if found is None else str(found)


def users(operation: Operation) -> set[Operation]:
    return {use.operation for result in operation.results for use in result.uses}


def reachable(edges: dict[object, set[object]]) -> dict[object, set[object]]:
    """All nodes that a path of one edge or more leads to; Warshall."""
    closure = {node: set(after) for node, after in edges.items()}
    for middle, start in itertools.product(edges, edges):
        if middle in closure[start]:
            closure[start] |= closure[middle]
    return closure


def quotient(block: Block, unit: dict[Operation, object]) -> dict[object, set[object]]:
    edges: dict[object, set[object]] = {unit[o]: set() for o in block.ops}
    for o in block.ops:
        edges[unit[o]] |= {unit[user] for user in users(o)} - {unit[o]}
    return edges


def has_cycle(edges: dict[object, set[object]]) -> bool:
    return any(node in after for node, after in reachable(edges).items())


def check_annotated(block: Block) -> None:
    matches: dict[str, list[Operation]] = {}
    assert not has_cycle(quotient(block, {o: text(o, "match") or o for o in block.ops}))
    for o in block.ops:
        owner, match = text(o, "backend"), text(o, "match")
        assert owner is None or not isinstance(o, ConstantOp | ReturnOp)
        assert (text(o, "pattern") is None) == (match is None)
        assert match is None or owner is not None
        if match is not None:
            matches.setdefault(match, []).append(o)
    for ops in matches.values():
        assert len({(text(o, "backend"), text(o, "pattern")) for o in ops}) == 1
        if text(ops[0], "pattern") in {f'"{named.name}"' for named in SEVERAL}:
            continue
        *interior, _root = ops
        assert all(users(o) <= set(ops) for o in interior), "an interior value has users outside"


def check_single_ops_are_taken(block: Block, asked: tuple[Backend, ...]) -> None:
    """An op in a backend's list that anything needs has some owner."""
    listed = {name for backend in asked for name in backend.op_names()}
    for o in block.ops:
        assert text(o, "backend") is not None or o.name not in listed or not users(o)


def check_regions(block: Block, *, maximal: bool) -> None:
    unit: dict[Operation, object] = {o: text(o, "region") or o for o in block.ops}
    edges = quotient(block, unit)
    assert not has_cycle(edges)
    regions: dict[object, list[Operation]] = {}
    for o in block.ops:
        if text(o, "region") is not None:
            regions.setdefault(unit[o], []).append(o)
    closure = reachable({o: set(users(o)) for o in block.ops})
    for ops in regions.values():
        assert len({text(o, "backend") for o in ops}) == 1
        for outside in set(block.ops) - set(ops):
            entered = any(o in closure[outside] for o in ops)
            left = any(outside in closure[o] for o in ops)
            assert not (entered and left), "not convex"
    if maximal:
        for a, b in itertools.combinations(regions, 2):
            same = text(regions[a][0], "backend") == text(regions[b][0], "backend")
            if same and (b in edges[a] or a in edges[b]):
                joined = {o: (a if u == b else u) for o, u in unit.items()}
                assert has_cycle(quotient(block, joined)), "two regions could be one"


def leaves(block: Block) -> Iterator[Operation]:
    for o in block.ops:
        if isinstance(o, CompositeRegionOp):
            yield from leaves(o.body.block)
        elif o.name not in {"graph.yield", "func.return", "graph.constant", "graph.call"}:
            yield o


def census(module: ModuleOp) -> Counter[str]:
    functions = [o for o in module.body.ops if isinstance(o, FuncOp)]
    return Counter(o.name for f in functions for o in leaves(f.body.block))


def check_functions(module: ModuleOp, asked: tuple[Backend, ...]) -> None:
    by_name = {backend.name: backend for backend in asked}
    called: list[str] = []
    for function in module.body.ops:
        assert isinstance(function, FuncOp)
        compiler = function.attributes.get("compiler")
        called += [
            o.callee.string_value() for o in function.body.block.ops if isinstance(o, CallOp)
        ]
        for o in function.body.block.ops:
            assert not any(name.startswith("partition.") for name in o.attributes)
        if compiler is None:
            assert function.sym_name.data == "main"
            assert not any(isinstance(o, CompositeRegionOp) for o in function.body.block.ops)
            continue
        backend = by_name[str(compiler).strip('"')]
        assert len(function.function_type.outputs) > 0
        for o in function.body.block.ops:
            if isinstance(o, CompositeRegionOp):
                patterns = [p.name for p in backend.patterns]
                assert o.backend == backend.name
                assert o.pattern in patterns
            elif isinstance(o, ConstantOp):
                assert backend.bind_constants
            elif not isinstance(o, ReturnOp):
                assert o.name in backend.op_names()
        assert len(list(leaves(function.body.block))) >= backend.min_ops
    made = [o.sym_name.data for o in module.body.ops if isinstance(o, FuncOp)]
    assert sorted(called) == sorted(set(made) - {"main"})
    for backend in asked:
        count = sum(name.startswith(f"{backend.name}_") for name in made)
        assert backend.max_regions is None or count <= backend.max_regions


# ------------------------------------------------------------------------------------ the test


@settings(max_examples=effort(8, 20), deadline=None)
@given(programs(), backends("one"), backends("two"))
def test_every_stage_keeps_the_invariants_and_the_numbers(
    program: Program, one: Backend, two: Backend
) -> None:
    check_every_stage(*make(program), vectors(), one, two)


@pytest.mark.fuzz
@settings(max_examples=280, deadline=None)
@given(programs(), backends("one"), backends("two"))
def test_every_stage_at_length(program: Program, one: Backend, two: Backend) -> None:
    check_every_stage(*make(program), vectors(), one, two)


@pytest.mark.fuzz
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(generate.graph_programs(favour=3 * NAMES), backends("one"), backends("two"))
def test_every_stage_of_programs_of_all_ops(
    program: generate.GeneratedProgram, one: Backend, two: Backend
) -> None:
    """Of any shapes and dtypes, with ops of several results and of regions of their own between."""
    context, module = program.parse()
    assume(len(list(module.body.ops)) == 1)
    with np.errstate(all="ignore"):
        check_every_stage(context, module, generate.inputs(module), one, two)


def vectors() -> list[Array]:
    """What the programs of this file take."""
    generator = np.random.default_rng(0)
    return [generator.standard_normal(SIZE).astype(np.float32) for _ in range(2)]


def check_every_stage(
    context: Context, module: ModuleOp, inputs: Sequence[Array], one: Backend, two: Backend
) -> None:
    register(one, two)
    before, counted = execute(module, inputs, context), census(module)

    def still_the_same() -> Block:
        verify_module(module)
        printed = print_module(module)
        again = parse_module(context, printed)
        assert print_module(again) == printed
        for expected, found in zip(before, execute(module, inputs, context), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert census(module) == counted
        main = module.body.block.first_op
        assert isinstance(main, FuncOp)
        return main.body.block

    annotate(context, module, ("one", "two"))
    block = still_the_same()
    check_annotated(block)
    check_single_ops_are_taken(block, (one, two))
    merge_composites(context, module)
    block = still_the_same()
    assert not any(text(o, "match") for o in block.ops)
    merge_regions(context, module)
    limited = any(b.min_ops > 1 or b.max_regions is not None for b in (one, two))
    check_regions(still_the_same(), maximal=not limited)
    partition(context, module)
    still_the_same()
    check_functions(module, (one, two))


@pytest.mark.parametrize("seed", range(150))
def test_regions_of_larger_graphs_are_acyclic_and_maximal(seed: int) -> None:
    draw = Random(seed)
    count = draw.randint(5, 24)
    inputs = [draw.sample(range(n), min(n, draw.choice((0, 1, 2, 2, 4)))) for n in range(count)]
    owners = [draw.choice(("one", "one", "two", None)) for _ in range(count)]
    regions = grouped(inputs, owners)
    unit = {node: f"region {index}" for index, nodes in enumerate(regions) for node in nodes}
    assert sorted(unit) == [node for node in range(count) if owners[node] is not None]
    assert all(len({owners[node] for node in nodes}) == 1 for nodes in regions)

    def edges(names: dict[int, str]) -> dict[object, set[object]]:
        found: dict[object, set[object]] = {names.get(n, n): set() for n in range(count)}
        for user, producers in enumerate(inputs):
            for producer in producers:
                if names.get(producer, producer) != names.get(user, user):
                    found[names.get(producer, producer)].add(names.get(user, user))
        return found

    assert not has_cycle(edges(unit))
    for user, producers in enumerate(inputs):
        for producer in producers:
            same = owners[user] is not None and owners[user] == owners[producer]
            if same and unit[user] != unit[producer]:
                joined = {n: unit[user] if u == unit[producer] else u for n, u in unit.items()}
                assert has_cycle(edges(joined)), "two regions could be one"


@settings(max_examples=20, deadline=None)
@given(programs(), backends("one"), backends("two"))
def test_every_op_has_an_owner_and_a_reason_for_each_other_backend(
    program: Program, one: Backend, two: Backend
) -> None:
    register(one, two)
    context, module = make(program)
    printed = print_module(module)
    keys = store_of(context).keys()
    dry = explain(context, module, ("one", "two"))
    assert print_module(module) == printed
    assert store_of(context).keys() == keys
    report = partition_for(context, module, "one", "two")
    assert dry == report
    assert len(report.ops) == len(program.nodes)
    for entry in report.ops:
        assert set(entry.reasons) == {"one", "two"} - {entry.owner}
        assert all(entry.reasons.values())
        assert (entry.region is None) == (entry.owner == "host")
    for backend in (one, two):
        functions = [
            f
            for f in module.body.ops
            if isinstance(f, FuncOp) and str(f.attributes.get("compiler")) == f'"{backend.name}"'
        ]
        held = sum(len(list(leaves(f.body.block))) for f in functions)
        assert len(report.owned_by(backend.name)) == held
        assert set(report.regions(backend.name)) == {f.sym_name.data for f in functions}
