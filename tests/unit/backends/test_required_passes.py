"""The passes that a backend requires change what it takes, and nothing else; what they do wrong is theirs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.arithmetic import AddOp, SubOp
from inarch.dialects.graph.elementwise.unary import NegOp, RoundOp
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_array, constant_attribute
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.offload.backend import BACKENDS, Backend, Emission, EmitRequest
from inarch.offload.pattern import any_, named, op
from inarch.passes import PASSES
from inarch.passes.partitioning import PartitionReport, explain, partition_for
from inarch.testing import execute

Array = np.ndarray[Any, Any]

KIND = "tensor<2x2xf32>"
LINEAR = f"""
func.func @main(%x: {KIND}, %w: {KIND}) -> {KIND} {{
  %a = graph.matmul %x, %w : {KIND}, {KIND} -> {KIND} loc("first")
  %b = graph.matmul %a, %w : {KIND}, {KIND} -> {KIND} loc("second")
  func.return %b : {KIND}
}}
"""


def _emit(request: EmitRequest) -> Emission:
    return Emission("c", request.names())


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    with BACKENDS.scope(), PASSES.scope():
        yield


def backend(name: str, **fields: Any) -> None:
    module = ModuleType(f"required_backend_{name}")
    module.__dict__["BACKEND"] = Backend(name, "", _emit, **fields)
    sys.modules[module.__name__] = module
    BACKENDS.add(module, name, Path(f"{name}.py"))


def required(name: str, body: Callable[[Context, ModuleOp], None]) -> None:
    """A pass that does `body`."""

    @dataclass(frozen=True)
    class Pass(ModulePass):
        def apply(self, ctx: Context, op: ModuleOp) -> None:
            body(ctx, op)

    Pass.name = name
    module = ModuleType(f"required_pass_{name}")
    module.__dict__["PASS"] = Pass
    sys.modules[module.__name__] = module
    PASSES.add(module, name, Path(f"{name}.py"))


def every(module: ModuleOp, name: str) -> list[Operation]:
    return [each for each in module.walk() if each.name == f"graph.{name}"]


def put_before(place: Operation, *ops: Operation, located: bool) -> None:
    parent = place.parent
    assert parent is not None
    for each in ops:
        if located:
            each.location = place.location
        parent.insert_op_before(each, place)


def exchange(old: Operation, new: Operation) -> None:
    old.results[0].replace_all_uses_with(new.results[0])
    old.detach()
    old.erase()


def spoil(_: Context, module: ModuleOp) -> None:
    """Nothing is rectified any more."""
    for relu in every(module, "relu"):
        relu.results[0].replace_all_uses_with(relu.operands[0])


def rounding(name: str, *, located: bool = True) -> Callable[[Context, ModuleOp], None]:
    """As a quantization: op `name` of rounded operands."""

    def body(_: Context, module: ModuleOp) -> None:
        for one in every(module, name):
            if "mark" in one.attributes:
                continue
            rounded = [RoundOp.make(value) for value in one.operands]
            new = type(one).make(*rounded)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - a graph op
            new.attributes["mark"] = StringAttr("rounded")  # pyright: ignore[reportUnknownMemberType]
            put_before(one, *rounded, new, located=located)  # pyright: ignore[reportUnknownArgumentType]
            exchange(one, new)  # pyright: ignore[reportUnknownArgumentType]

    return body


def at(place: str) -> Callable[[Operation], str | None]:
    """Takes what comes from `place`."""
    return lambda one: None if place in str(one.location) else f"not at {place}"


def split(text: str, *names: str) -> tuple[ModuleOp, PartitionReport, Context]:
    context = new_context()
    module = parse_module(context, text)
    before = print_module(module)
    expected = explain(context, module, names)
    assert print_module(module) == before
    report = partition_for(context, module, *names)
    verify_module(module)
    assert report == expected
    return module, report, context


def owners(report: PartitionReport) -> list[tuple[str, str]]:
    return [(each.op.removeprefix("graph."), each.owner) for each in report.ops]


def test_a_backend_that_takes_nothing_changes_nothing() -> None:
    """Its pass would have left out every relu."""
    required("spoil", spoil)
    backend("idle", ops=("relu",), accepts=at("nowhere"), requires=("spoil",))
    text = f"""
func.func @main(%x: {KIND}) -> {KIND} {{
  %0 = graph.relu %x : {KIND} -> {KIND}
  func.return %0 : {KIND}
}}
"""
    module, report, context = split(text, "idle")
    assert owners(report) == [("relu", "host")]
    assert report.idle() == ("idle",)
    x = np.array([[-1, 2], [3, -4]], np.float32)
    np.testing.assert_array_equal(execute(module, [x], context)[0], np.maximum(x, 0))


@pytest.mark.parametrize("taken", ["first", "second"])
@pytest.mark.parametrize("between", ["", "relu"])
def test_of_two_ops_the_one_that_it_takes_is_rewritten(taken: str, between: str) -> None:
    """The other one is as the model says, also where the two are neighbours."""
    required("rounding", rounding("matmul"))
    backend("a", ops=("matmul",), accepts=at(taken), requires=("rounding",))
    text = LINEAR
    if between:
        text = text.replace(
            "  %b = graph.matmul %a",
            f'  %r = graph.relu %a : {KIND} -> {KIND} loc("relu")\n  %b = graph.matmul %r',
        )
    module, report, context = split(text, "a")
    mine = ("matmul", "a")
    assert [each for each in owners(report) if each[0] == "matmul"] == (
        [mine, ("matmul", "host")] if taken == "first" else [("matmul", "host"), mine]
    )
    x, w = np.random.default_rng(1).standard_normal((2, 2, 2)).astype(np.float32) * 4

    def dense(left: Array, right: Array, name: str) -> Array:
        return np.matmul(*((np.round(left), np.round(right)) if name == taken else (left, right)))

    a = dense(x, w, "first")
    expected = dense(np.maximum(a, 0) if between else a, w, "second")
    np.testing.assert_allclose(execute(module, [x, w], context)[0], expected, rtol=1e-5)


def test_ops_without_a_place_stay_with_their_neighbours() -> None:
    """A pass that does not say where its ops come from: what is between two relus is one change."""
    required("rounding", rounding("matmul", located=False))
    backend("a", ops=("matmul",), requires=("rounding",))
    _, report, _ = split(LINEAR, "a")
    assert [owner for name, owner in owners(report) if name == "matmul"] == ["a", "a"]
    backend("b", ops=("tanh",), requires=("rounding",))
    module, report, _ = split(LINEAR, "b")
    assert owners(report) == [("matmul", "host"), ("matmul", "host")]
    assert print_module(module) == print_module(parse_module(new_context(), LINEAR))


def test_what_is_made_for_a_part_stays_with_the_host() -> None:
    """The roundings in front of what the backend takes are the host's."""
    required("rounding", rounding("matmul"))
    backend("a", ops=("matmul",), requires=("rounding",))
    _, report, _ = split(LINEAR, "a")
    assert owners(report).count(("round", "host")) == 4
    assert owners(report).count(("matmul", "a")) == 2


def test_a_region_that_goes_back_to_the_host_goes_back_as_it_was() -> None:
    """Too small for `min_ops`: what would be claimed is not taken."""
    required("rounding", rounding("matmul"))
    text = LINEAR.replace(
        "  func.return %b", f"  %c = graph.neg %x : {KIND} -> {KIND}\n  func.return %b"
    )
    backend("a", ops=("matmul",), accepts=at("second"), requires=("rounding",), min_ops=2)
    module, report, _ = split(text, "a")
    assert {owner for _, owner in owners(report)} == {"host"}
    assert print_module(module) == print_module(parse_module(new_context(), text))


def test_what_is_left_out_so_that_a_pattern_matches() -> None:
    """Two negations between ops of a pattern: gone where it matches, and there where it does not."""

    def cancel(_: Context, module: ModuleOp) -> None:
        for second in every(module, "neg"):
            first = second.operands[0].owner
            if isinstance(first, NegOp):
                second.results[0].replace_all_uses_with(first.x)
        for dead in [*every(module, "neg")[::-1]]:
            if not dead.results[0].uses:
                dead.detach()
                dead.erase()

    def chain(last: str, name: str, source: str) -> str:
        return f"""
  %{name}1 = graph.abs %{source} : {KIND} -> {KIND}
  %{name}2 = graph.neg %{name}1 : {KIND} -> {KIND}
  %{name}3 = graph.neg %{name}2 : {KIND} -> {KIND}
  %{name}4 = graph.{last} %{name}3 : {KIND} -> {KIND}"""

    required("cancel", cancel)
    pattern = named("abs_relu", op("relu", op("abs", any_())))
    backend("a", patterns=(pattern,), requires=("cancel",))
    text = f"""
func.func @main(%x: {KIND}) -> ({KIND}, {KIND}) {{{chain("relu", "p", "x")}{chain("tanh", "q", "x")}
  func.return %p4, %q4 : {KIND}, {KIND}
}}
"""
    _, report, _ = split(text, "a")
    host = [("abs", "host"), ("neg", "host"), ("neg", "host"), ("tanh", "host")]
    assert owners(report) == [("abs", "a"), ("relu", "a"), *host]


def test_each_backend_has_its_own_passes() -> None:
    """What b's pass does to ops that a takes is not done."""
    required("rounding", rounding("matmul"))
    backend("a", ops=("matmul",), accepts=at("first"))
    backend("b", ops=("matmul",), requires=("rounding",))
    _, report, _ = split(LINEAR, "a", "b")
    assert owners(report) == [
        ("matmul", "a"),
        ("round", "host"),
        ("round", "host"),
        ("matmul", "b"),
    ]


def test_constants_of_the_program_stay_and_those_of_trials_go() -> None:
    """A pass that puts new bytes in the store, and drops old ones, for two ops of which one is taken."""

    def double(ctx: Context, module: ModuleOp) -> None:
        store = store_of(ctx)
        for constant in [each for each in module.walk() if isinstance(each, ConstantOp)]:
            if "mark" in constant.attributes or (constant.out.first_use is None):
                continue
            user = constant.out.first_use.operation
            if not isinstance(user, AddOp):
                continue
            array = constant_array(constant.value, store)
            handle = constant.value.resource_handle.data  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
            store.drop(handle)  # pyright: ignore[reportUnknownArgumentType]
            value = constant_attribute(array * 2, store, handle)  # pyright: ignore[reportUnknownArgumentType]
            new = ConstantOp.make(value=value)
            new.attributes["mark"] = StringAttr("doubled")
            sub = SubOp.make(user.operands[0], new)
            put_before(user, new, sub, located=True)
            exchange(user, sub)
            constant.detach()
            constant.erase()

    required("double", double)
    backend("a", ops=("sub",), accepts=at("one"), requires=("double",))
    big = "tensor<5x5xf32>"
    text = f"""
func.func @main(%x: {big}) -> {big} {{
  %v = graph.constant dense_resource<v> : {big}
  %w = graph.constant dense_resource<w> : {big}
  %0 = graph.add %x, %v : {big}, {big} -> {big} loc("one")
  %1 = graph.add %0, %w : {big}, {big} -> {big} loc("two")
  func.return %1 : {big}
}}
"""
    context = new_context()
    module = parse_module(context, text)
    store = store_of(context)
    v, w = np.random.default_rng(2).standard_normal((2, 5, 5)).astype(np.float32)
    store.set("v", v.tobytes())
    store.set("w", w.tobytes())
    explain(context, module, ["a"])
    assert set(store.keys()) == {"v", "w"}
    partition_for(context, module, "a")
    assert store.get("w") == w.tobytes()
    assert len(store.keys()) == 2
    x = np.ones((5, 5), np.float32)
    np.testing.assert_allclose(execute(module, [x], context)[0], x - 2 * v + w, rtol=1e-6)


# ---------------------------------------------------------------------------------- errors


def boom(_: Context, __: ModuleOp) -> None:
    raise KeyError("boom")


def invalid(_: Context, module: ModuleOp) -> None:
    """A value that is used before it is made."""
    first, second = every(module, "matmul")
    first.operands[0] = second.results[0]


def renamed(_: Context, module: ModuleOp) -> None:
    next(iter(module.body.ops)).properties["sym_name"] = StringAttr("other")


def stubborn(_: Context, module: ModuleOp) -> None:
    """Changes calls, too, behind which ops are hidden."""
    function = next(iter(module.body.ops))
    last = function.regions[0].block.last_op
    assert last is not None
    last.operands[0] = function.regions[0].block.args[0]


ERRORS: list[tuple[Callable[[Context, ModuleOp], None], str]] = [
    (boom, "raises KeyError: 'boom'"),
    (
        invalid,
        "leaves an invalid program: first: 'graph.matmul' operand %b is used before it is defined",
    ),
    (renamed, "removes @main; it may change bodies only"),
]


@pytest.mark.parametrize(("body", "message"), ERRORS, ids=[body.__name__ for body, _ in ERRORS])
def test_what_a_required_pass_does_wrong(
    body: Callable[[Context, ModuleOp], None], message: str
) -> None:
    """One line with the pass, the backend, and their files."""
    required("bad", body)
    backend("a", ops=("matmul",), requires=("bad",))
    context = new_context()
    with pytest.raises(InarchError) as caught:
        partition_for(context, parse_module(context, LINEAR), "a")
    assert str(caught.value) == (
        f"pass 'bad' [bad.py], which backend 'a' [a.py] requires: {message}"
    )


def test_a_change_that_cannot_be_undone_is_an_error() -> None:
    required("stubborn", stubborn)
    backend("a", ops=("tanh",), requires=("stubborn",))
    context = new_context()
    module = parse_module(context, LINEAR)
    before = print_module(module)
    with pytest.raises(InarchError) as caught:
        partition_for(context, module, "a")
    assert caught.value.line() == (
        "second: error: 'graph.matmul' is changed by what backend 'a' requires ('stubborn'), though "
        "nothing of it is the backend's; a required pass must change the ops that it knows only"
    )
    assert print_module(module) == before


def test_bytes_that_are_changed_in_place_are_an_error() -> None:
    def overwrite(ctx: Context, _: ModuleOp) -> None:
        store_of(ctx).set("w", bytes(100))

    required("overwrite", overwrite)
    backend("a", ops=("add",), requires=("overwrite",))
    kind = "tensor<5x5xf32>"
    text = f"""
func.func @main(%x: {kind}) -> {kind} {{
  %w = graph.constant dense_resource<w> : {kind}
  %0 = graph.add %x, %w : {kind}, {kind} -> {kind}
  func.return %0 : {kind}
}}
"""
    context = new_context()
    module = parse_module(context, text)
    store_of(context).set("w", np.ones(25, np.float32).tobytes())
    with pytest.raises(InarchError) as caught:
        partition_for(context, module, "a")
    assert caught.value.message == (
        "pass 'overwrite' [overwrite.py], which backend 'a' [a.py] requires: changes the bytes of "
        "constant 'w'; it may put new ones in the store"
    )
