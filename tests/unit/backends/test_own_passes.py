"""A backend's own passes, before it is asked and on what it got: no trace is left of them elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

import inarch
from effort import seeds
from inarch.artifact.manifest import Port, Signature
from inarch.backends import BACKENDS, Backend, Emission, EmitRequest, Option
from inarch.core.dtypes import from_numpy
from inarch.core.errors import InarchError, UsageError
from inarch.dialects import new_context
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.arithmetic import AddOp, MulOp
from inarch.dialects.graph.elementwise.unary import NegOp, RoundOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import shape_of
from inarch.driver.offload import emit_offloaded
from inarch.ir.context import store_of
from inarch.ir.location import location_text
from inarch.ir.payload.constants import constant_array, constant_attribute
from inarch.ir.text import parse_module, print_module
from inarch.passes import PASSES
from inarch.passes.partitioning import partition_for
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS, Loader
from inarch.runtime.module import Module
from inarch.testing import execute

Array = np.ndarray[Any, Any]
KIND = "tensor<5x5xf32>"


class Seen:
    """What `emit` got, of each symbol: a module of that function alone, with its constants."""

    parts: dict[str, tuple[ModuleOp, Context]] = {}  # noqa: RUF012 - the test's own


def emit(request: EmitRequest) -> Emission:
    """A text of names; the loader runs what was kept here, by the definitions of the ops."""
    store = store_of(request.context)
    for function in request.functions:
        copy, context = function.clone(), new_context()
        for op in copy.walk():
            if isinstance(op, ConstantOp):
                array = np.array(constant_array(op.value, store))
                op.properties["value"] = constant_attribute(array, store_of(context), "kept")
        copy.properties.pop("sym_visibility")
        copy.attributes.pop("compiler")
        copy.properties["sym_name"] = StringAttr("main")
        Seen.parts[function.sym_name.data] = ModuleOp([copy]), context
    return Emission("seen", request.names(), text=" ".join(request.names()))


def create(text: str, name: str) -> Module:
    functions = {symbol: running(symbol) for symbol in text.split()}
    return Module("seen", name, functions, content=text.encode())


def running(symbol: str) -> Function:
    module, context = Seen.parts[symbol]
    (function,) = module.body.ops
    kind: Any = function.properties["function_type"]
    f32 = from_numpy("float32")
    inputs, outputs = (
        tuple(Port(f"{n}{i}", f32, tuple(t.get_shape())) for i, t in enumerate(types))
        for n, types in (("x", kind.inputs), ("y", kind.outputs))
    )

    def invoke(arrays: Any) -> None:
        found = execute(module, [np.array(a) for a in arrays[: len(inputs)]], context)
        for target, value in zip(arrays[len(inputs) :], found, strict=True):
            target[...] = value

    return Function(symbol, Signature(inputs, outputs), invoke)


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    with BACKENDS.scope(), PASSES.scope(), LOADERS.scope():
        register(LOADERS, "seen", "LOADER", Loader("seen", create=create))
        register(PASSES, "own-rounding", "PASS", RoundingPass)
        register(PASSES, "own-scaling", "PASS", ScalingPass)
        yield
    Seen.parts.clear()


def register(kinds: Any, name: str, constant: str, value: object) -> None:
    module = ModuleType(f"own_{name.replace('-', '_')}")
    module.__dict__[constant] = value
    sys.modules[module.__name__] = module
    kinds.add(module, name, Path(f"{name}.py"))


@dataclass(frozen=True)
class RoundingPass(ModulePass):
    """Products are of operands that are rounded to a multiple of `step`."""

    name = "own-rounding"
    step: float = 1.0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = store_of(ctx)
        for one in [each for each in op.walk() if isinstance(each, MatmulOp)]:
            if "mark" in one.attributes:
                continue
            step = number(self.step, store, one)
            inverse = number(1 / self.step, store, one)
            operands: list[Operation] = []
            for value in one.operands:
                scaled = MulOp.make(value, inverse)
                rounded = RoundOp.make(scaled)
                back = MulOp.make(rounded, step)
                operands += [scaled, rounded, back]
            new = MatmulOp.make(operands[2], operands[5])
            new.attributes["mark"] = StringAttr("rounded")
            replace(one, [step, inverse, *operands, new])


@dataclass(frozen=True)
class ScalingPass(ModulePass):
    """Negations multiply by a large constant of `by` instead; every add commutes."""

    name = "own-scaling"
    by: int = 1
    note: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in [each for each in op.walk() if isinstance(each, NegOp)]:
            array = np.full(shape_of(one.x), self.by, np.float32)
            constant = ConstantOp.make(value=constant_attribute(array, store_of(ctx), "by"))
            replace(one, [constant, MulOp.make(one.x, constant)])
        for one in [each for each in op.walk() if isinstance(each, AddOp)]:
            replace(one, [AddOp.make(one.b, one.a)])


def number(value: float, store: Any, like: Operation) -> ConstantOp:
    attribute = constant_attribute(np.array(value, np.float32), store, "step")
    return ConstantOp.make(value=attribute, location=like.location)


def replace(old: Operation, ops: list[Operation]) -> None:
    parent = old.parent
    assert parent is not None
    for each in ops:
        each.location = old.location
        parent.insert_op_before(each, old)
    old.results[0].replace_all_uses_with(ops[-1].results[0])
    old.detach()
    old.erase()


@dataclass
class Program:
    """A random program of products, negations, sums and rectifiers, with what NumPy makes of it."""

    seed: int
    lines: list[str] = field(default_factory=list[str])
    kinds: list[str] = field(default_factory=list[str])
    operands: list[tuple[int, ...]] = field(default_factory=list["tuple[int, ...]"])

    def __post_init__(self) -> None:
        random = Random(self.seed)
        for index in range(random.randint(3, 12)):
            kind = random.choice(("matmul", "matmul", "neg", "add", "relu"))
            count = 2 if kind in ("matmul", "add") else 1
            used = tuple(random.randrange(-3, index) for _ in range(count))
            if set(used) == {-3}:  # it would be a constant before anybody is asked
                used = (-1, -3)[:count]
            self.kinds.append(kind)
            self.operands.append(used)
            names, types = ", ".join(map(name_of, used)), ", ".join([KIND] * count)
            self.lines.append(
                f'  %v{index} = graph.{kind} {names} : {types} -> {KIND} loc("op{index}")'
            )
        self.results = [i for i in range(len(self.kinds)) if not any(i in u for u in self.operands)]

    def text(self) -> str:
        results = ", ".join(f"%v{i}" for i in self.results)
        types = ", ".join([KIND] * len(self.results))
        returned = f"({types})" if len(self.results) > 1 else types
        body = "\n".join(self.lines)
        return (
            f"func.func @main(%x: {KIND}, %y: {KIND}) -> {returned} {{\n"
            f"  %w = graph.constant dense_resource<w> : {KIND}\n{body}\n  func.return {results} : {types}\n}}"
        )

    def expected(self, inputs: list[Array], meaning: Callable[[int, str], Any]) -> list[Array]:
        values: dict[int, Array] = {-1: inputs[0], -2: inputs[1], -3: inputs[2]}
        for index, (kind, used) in enumerate(zip(self.kinds, self.operands, strict=True)):
            values[index] = meaning(index, kind)(*(values[i] for i in used))
        return [values[i] for i in self.results]


def name_of(index: int) -> str:
    return f"%v{index}" if index >= 0 else {-1: "%x", -2: "%y", -3: "%w"}[index]


def rectified(x: Array) -> Array:
    return np.maximum(x, 0)


def rounded_product(step: float, x: Array, y: Array) -> Array:
    return np.matmul(np.round(x / step) * step, np.round(y / step) * step)


def taking(places: set[str]) -> Callable[[Operation], str | None]:
    return lambda op: None if location_text(op) in places else "not mine"


PLAIN: Mapping[str, Any] = {
    "matmul": np.matmul,
    "neg": np.negative,
    "add": np.add,
    "relu": rectified,
}


@pytest.mark.filterwarnings("ignore:backend '.' was asked for and got nothing")
def test_random_programs_with_passes_of_two_backends() -> None:
    """One rounds what it takes before it is asked, one scales what it got; the rest is as it was."""
    took = {"a": 0, "b": 0}
    which = seeds(0, 10) or range(5, 8)  # in the gate those with most parts
    for seed in which:
        program, random = Program(seed), Random(seed + 1000)
        places = [f"op{i}" for i in range(len(program.kinds))]
        mine = {name: set(random.sample(places, len(places) // 2)) for name in ("a", "b")}

        a = Backend(
            "a", "", emit, ops=("matmul",), accepts=taking(mine["a"]),
            requires=("own-rounding{step=$step}",), options={"step": Option("float", 1.0)},
        )  # fmt: skip
        b = Backend(
            "b", "", emit, ops=("neg", "add"), accepts=taking(mine["b"]),
            passes=("own-scaling{by=$by note=$note}",),
            options={"by": Option("int", 3), "note": "two words"},
        )  # fmt: skip
        step, by = random.choice((0.5, 2.0)), random.choice((2, 7))
        context = new_context()
        module = parse_module(context, program.text())
        x, y, w = np.random.default_rng(seed).standard_normal((3, 5, 5)).astype(np.float32)
        store_of(context).set("w", w.tobytes())

        def meaning(index: int, kind: str, mine: Any = mine, step: Any = step, by: Any = by) -> Any:
            if kind == "matmul" and f"op{index}" in mine["a"]:
                return partial(rounded_product, step)
            if kind == "neg" and f"op{index}" in mine["b"]:
                return partial(np.multiply, by)
            return PLAIN[kind]

        Seen.parts.clear()
        compiled = inarch.compile(
            module, context=context, backends=[a.configure(step=step), b.configure(by=by)]
        )
        for name in took:
            took[name] += sum(symbol.startswith(f"{name}_") for symbol in Seen.parts)
        found = compiled(x, y)
        expected = program.expected([x, y, w], meaning)
        results: list[Array] = [found] if isinstance(found, np.ndarray) else list(found)
        for one, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4, err_msg=str(seed))
    assert min(took.values()) >= 8 * len(which) // 10, "each took a part in most programs"


ONE = f"""
func.func @main(%x: {KIND}) -> {KIND} {{
  %0 = graph.neg %x : {KIND} -> {KIND} loc("first")
  func.return %0 : {KIND}
}}
"""


def boom(_: Context, __: ModuleOp) -> None:
    raise KeyError("boom")


def signature(_: Context, module: ModuleOp) -> None:
    for op in list(module.body.ops):
        op.detach()
        op.erase()


def invalid(_: Context, module: ModuleOp) -> None:
    for op in module.walk():
        if isinstance(op, NegOp):
            op.operands[0] = op.results[0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (boom, "raises KeyError: 'boom'"),
        (signature, "removes @a_0; it may change bodies only"),
        (
            invalid,
            "leaves an invalid program: first: 'graph.neg' operand number 0 is used before it is defined",
        ),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_a_pass_on_functions_does_wrong(
    body: Callable[[Context, ModuleOp], None], message: str
) -> None:
    """One line with the pass, the backend, and their files; the program is as it was."""

    @dataclass(frozen=True)
    class Bad(ModulePass):
        name = "bad"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            body(ctx, op)

    register(PASSES, "bad", "PASS", Bad)
    backend = Backend("a", "", emit, ops=("neg",), passes=("bad",))
    register(BACKENDS, "a", "BACKEND", backend)
    context = new_context()
    module = parse_module(context, ONE)
    partition_for(context, module, "a")
    before = print_module(module)
    with pytest.raises(InarchError) as caught:
        emit_offloaded(context, module)
    assert caught.value.line() == (
        f"error: pass 'bad' [bad.py], which backend 'a' [a.py] has: {message}"
    )
    assert print_module(module) == before


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"passes": ("own-scalin",)},
            "backend 'a' has the pass: no pass 'own-scalin'; did you mean 'own-scaling'?",
        ),
        (
            {"requires": ("own-rounding{step=$stp}",)},
            "backend 'a' requires 'own-rounding{step=$stp}': no option 'stp' in backend 'a'; "
            "did you mean 'step'?",
        ),
        (
            {"passes": ("own-rounding step",)},
            "backend 'a' has the pass 'own-rounding step': expected PASS or PASS{OPTION=VALUE ...}",
        ),
    ],
)
def test_passes_that_are_none_are_refused_before_anything_runs(
    fields: dict[str, Any], message: str
) -> None:
    options = {"step": Option("float", 1.0)}
    register(BACKENDS, "a", "BACKEND", Backend("a", "", emit, ("neg",), options=options, **fields))
    context = new_context()
    with pytest.raises(UsageError) as caught:
        partition_for(context, parse_module(context, ONE), "a")
    assert caught.value.message.startswith(message)


def test_constants_of_the_copies_go_and_those_of_the_program_stay() -> None:
    """What a pass on functions puts into the store is for the emission alone."""
    backend = Backend("a", "", emit, ops=("neg",), passes=("own-scaling{by=5}",))
    register(BACKENDS, "a", "BACKEND", backend)
    context = new_context()
    module = parse_module(context, ONE)
    store_of(context).set("other", bytes(100))
    partition_for(context, module, "a")
    emit_offloaded(context, module)
    assert set(store_of(context).keys()) == {"other"}
    (part, own) = Seen.parts["a_0"]
    x = np.ones((5, 5), np.float32)
    np.testing.assert_array_equal(execute(part, [x], own)[0], x * 5)
