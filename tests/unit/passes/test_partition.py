"""Partitioning through its one call: by hand, limits, required passes, constants, and the report."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from inarch.core.errors import InarchError, InternalError, UsageError
from inarch.dialects import new_context
from inarch.ir.context import store_of
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.offload.backend import BACKENDS, Backend, Emission, EmitRequest
from inarch.offload.pattern import any_, constant, named, op
from inarch.passes.partitioning import (
    PartitionReport,
    check_partition,
    check_registered,
    explain,
    parse_selection,
    partition_for,
)
from inarch.testing import check_semantics, execute

KIND = "tensor<4xf32>"

CHAIN = f"""
func.func @main(%x: {KIND}) -> {KIND} {{
  %a = graph.neg %x : {KIND} -> {KIND} loc("layer1/neg")
  %b = graph.abs %a : {KIND} -> {KIND} loc("layer1/abs")
  %c = graph.neg %b : {KIND} -> {KIND} loc("layer2/neg")
  %d = graph.tanh %c : {KIND} -> {KIND} loc("layer2/tanh")
  %e = graph.neg %d : {KIND} -> {KIND} loc("layer3/neg")
  func.return %e : {KIND}
}}
"""


def _emit(request: EmitRequest) -> Emission:
    return Emission("c", request.names())


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    with BACKENDS.scope():
        yield


def register(name: str, **fields: Any) -> None:
    module = ModuleType(f"partition_backend_{name}")
    module.__dict__["BACKEND"] = Backend(name, "", _emit, **fields)
    sys.modules[module.__name__] = module
    BACKENDS.add(module, name, Path(__file__))


def split(text: str, *backends: str, **options: Any) -> tuple[PartitionReport, ModuleOp]:
    """Partitions; the program still computes the same."""
    context = new_context()
    before, module = parse_module(context, text), parse_module(context, text)
    report = partition_for(context, module, *backends, **options)
    verify_module(module)
    check_semantics(before, module, ctx=context)
    return report, module


def owners(report: PartitionReport) -> str:
    return " ".join(o.owner for o in report.ops)


def functions(module: ModuleOp) -> dict[str, FuncOp]:
    return {f.sym_name.data: f for f in module.body.ops if isinstance(f, FuncOp)}


# ------------------------------------------------------------------------------------ who gets what


def test_all_ops_claimed_leave_one_call() -> None:
    register("a", ops=("neg", "abs", "tanh"))
    report, module = split(CHAIN, "a")
    assert owners(report) == "a a a a a"
    assert [o.name for o in functions(module)["main"].body.block.ops] == [
        "graph.call",
        "func.return",
    ]


def test_none_claimed_leaves_the_program_as_it_was() -> None:
    register("a", ops=("conv",))
    report, module = split(CHAIN, "a")
    assert report.idle() == ("a",)
    assert print_module(module) == print_module(parse_module(new_context(), CHAIN))


def test_several_backends_in_the_order_given() -> None:
    register("a", ops=("neg", "abs"))
    register("b", ops=("abs", "tanh"))
    assert owners(split(CHAIN, "a", "b")[0]) == "a a a b a"
    assert owners(split(CHAIN, "b", "a")[0]) == "a b a b a"


def test_a_backend_that_was_asked_in_an_earlier_call_keeps_what_it_has() -> None:
    register("a", ops=("abs",))
    register("b", ops=("neg", "abs"))
    context = new_context()
    module = parse_module(context, CHAIN)
    partition_for(context, module, "a")
    partition_for(context, module, "b")
    assert list(functions(module)) == ["main", "b_0", "b_1", "b_2", "a_0"]


def test_symbols_are_c_identifiers_and_take_a_prefix() -> None:
    register("my-dsp", ops=("abs",))
    assert list(functions(split(CHAIN, "my-dsp")[1])) == ["main", "my_dsp_0"]
    assert list(functions(split(CHAIN, "my-dsp", symbol_prefix="gcc")[1])) == ["main", "gcc_0"]
    with pytest.raises(UsageError) as raised:
        split(CHAIN, "my-dsp", symbol_prefix="my-dsp")
    assert str(raised.value) == "expected a symbol prefix that is a C identifier, found 'my-dsp'"


def test_a_function_has_the_place_of_its_first_op() -> None:
    register("a", ops=("neg", "abs"))
    text = print_module(split(CHAIN, "a")[1], locations=True)
    assert 'graph.call @a_0(%x) : tensor<4xf32> -> tensor<4xf32> loc("layer1/neg")' in text


# ------------------------------------------------------------------------------------ limits


def test_regions_that_are_too_small_go_back_to_the_host_with_the_reason() -> None:
    register("a", ops=("neg", "abs"), min_ops=2)
    report, _ = split(CHAIN, "a")
    assert owners(report) == "a a a host host"
    assert report.ops[-1].reasons == {"a": "its region has 1 op, fewer than min_ops = 2"}


def test_at_most_so_many_regions_the_largest_first() -> None:
    register("a", ops=("neg", "abs"), max_regions=1)
    report, _ = split(CHAIN.replace("graph.abs", "graph.tanh"), "a")
    assert owners(report) == "a host host host host"
    expected = "its region, of 1 op, is not among the largest: max_regions = 1"
    assert report.ops[2].reasons == report.ops[4].reasons == {"a": expected}


# ------------------------------------------------------------------------------------ by hand


def test_giving_and_keeping_by_name_and_by_place() -> None:
    register("a", ops=("neg", "abs"))
    register("b", ops=("neg", "tanh"))
    report, _ = split(CHAIN, "a", "b", give=[("layer3/*", "b")], keep=[("graph.abs", "a")])
    assert owners(report) == "a host a b b"
    assert report.ops[1].reasons["a"] == "kept from backend a by hand"
    assert report.ops[4].reasons["a"] == "given to backend b by hand"
    report, _ = split(CHAIN, "a", "b", keep=[("neg", "*"), ("layer2/tanh", "*")])
    assert owners(report) == "host a host host host"
    assert report.ops[0].reasons["b"] == "kept from backend b by hand"
    assert report.ops[3].reasons["b"] == "kept from backend b by hand"


def test_a_given_op_goes_to_a_backend_that_was_not_asked_and_is_under_no_limit() -> None:
    register("a", ops=("neg", "abs"), min_ops=3, max_regions=0)
    report, _ = split(CHAIN, give=[("layer1/abs", "a")])
    assert owners(report) == "host a host host host"


def test_a_given_op_brings_the_others_of_its_pattern() -> None:
    register("a", ops=("neg", "abs"))
    register("b", patterns=(named("p", op("abs", op("neg", any_()))),))
    report, module = split(CHAIN, "a", "b", give=[("abs", "b")])
    assert owners(report) == "b b a host a"
    assert [o.pattern for o in report.ops] == ["p", "p", None, None, None]
    assert "partition." not in print_module(module)


@pytest.mark.parametrize(
    ("options", "error", "expected"),
    [
        (
            {"give": [("tanh", "a")]},
            InarchError,
            "layer2/tanh: 'graph.tanh' is given to backend 'a', which cannot take it: "
            "no pattern or op list has graph.tanh",
        ),
        (
            {"give": [("neg", "a"), ("layer1/*", "cblas")]},
            InarchError,
            "layer1/neg: 'graph.neg' is given to backend 'a' and to backend 'cblas'; give it to one",
        ),
        (
            {"give": [("neg", "a")], "keep": [("layer2/*", "a")]},
            InarchError,
            "layer2/neg: 'graph.neg' is given to backend 'a' and kept from it; do one",
        ),
        (
            {"keep": [("layr1/*", "a")]},
            UsageError,
            "keep 'layr1/*=a' selects no op; expected the name of an op (conv) or a glob on where "
            "ops come from (layer1/*)",
        ),
    ],
)
def test_what_cannot_be_done_by_hand_is_an_error(
    options: dict[str, Any], error: type[InarchError], expected: str
) -> None:
    register("a", ops=("neg",))
    with pytest.raises(error) as raised:
        split(CHAIN, "a", **options)
    assert str(raised.value) == expected


def test_a_selection_in_text() -> None:
    assert parse_selection("a=b/*=toy") == ("a=b/*", "toy")
    for text in ("conv", "=toy", "conv="):
        with pytest.raises(UsageError) as raised:
            parse_selection(text)
        assert str(raised.value) == f"expected OP-OR-GLOB=BACKEND, found '{text}'"


# ------------------------------------------------------------------------------------ names


def test_a_backend_that_nobody_registered_is_an_error_before_anything_else() -> None:
    register("dsp", ops=("neg",))
    known = ", ".join(sorted(BACKENDS))
    how = "add one as backends/<name>.py or with --load FILE.py"
    expected = f"no backend 'dps'; did you mean 'dsp'? Known: {known}; {how}"
    with pytest.raises(UsageError) as raised:
        split(CHAIN, "dps")
    assert str(raised.value) == expected
    module = parse_module(new_context(), CHAIN)
    (main,) = module.body.ops
    assert isinstance(main, FuncOp)
    first = main.body.block.first_op
    assert first is not None
    first.attributes["partition.backend"] = StringAttr("dps")
    with pytest.raises(InarchError) as found:
        check_registered(module)
    assert str(found.value) == f"layer1/neg: {expected}"


def test_an_invariant_that_does_not_hold_is_our_bug() -> None:
    register("a", ops=("neg",))
    module = parse_module(new_context(), CHAIN)
    (main,) = module.body.ops
    assert isinstance(main, FuncOp)
    returned = main.body.block.last_op
    assert returned is not None
    returned.attributes["partition.backend"] = StringAttr("a")
    with pytest.raises(InternalError, match=r"I1: 'func.return': expected an owner on claimable"):
        check_partition(module)


# ------------------------------------------------------------------------------------ the rest

NORM = """
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = graph.constant dense_resource<w> : tensor<2x2x3x3xf32>
  %s = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %v = graph.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1
    : tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x4x4xf32> loc("conv0")
  %1 = graph.batch_norm %0, %s, %v, %s, %v epsilon = 0.1
    : tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<1x2x4x4xf32>
    loc("norm0")
  func.return %1 : tensor<1x2x4x4xf32>
}
"""


def test_required_passes_run_first_and_explaining_changes_nothing() -> None:
    """Folding drops the weights that it replaces: not those of the program that is only explained."""
    biased = op("conv", any_(), constant(), constant())
    register("a", patterns=(named("biased", biased),), requires=("fold-batch-norm",))
    context = new_context()
    module = parse_module(context, NORM)
    weights = np.arange(36, dtype=np.float32)
    store_of(context).set("w", weights.tobytes())
    before = print_module(module)
    image = np.ones((1, 2, 4, 4), np.float32)
    expected = execute(module, [image], context)
    report = explain(context, module, ["a"])
    assert [(o.op, o.owner, o.pattern) for o in report.ops] == [("graph.conv", "a", "biased")]
    assert print_module(module) == before
    assert store_of(context).keys() == ["w"]
    assert partition_for(context, module, "a") == report
    for left, right in zip(expected, execute(module, [image], context), strict=True):
        np.testing.assert_allclose(right, left, rtol=1e-5)


def test_the_report_as_data_and_as_text() -> None:
    register("a", ops=("neg", "abs"))
    register("b", ops=("conv",))
    report, _ = split(CHAIN, "a", "b")
    assert report.regions("a") == ("a_0", "a_1")
    assert report.idle() == ("b",)
    again = json.loads(json.dumps(report.to_json()))
    assert again["backends"] == ["a", "b"]
    assert again["ops"][3] == {
        "op": "graph.tanh",
        "value": "%d",
        "location": "layer2/tanh",
        "function": "main",
        "owner": "host",
        "pattern": None,
        "region": None,
        "reasons": {
            "a": "no pattern or op list has graph.tanh",
            "b": "no pattern or op list has graph.tanh",
        },
    }
    assert str(report).splitlines()[:2] == [
        "%a = graph.neg at layer1/neg: a @a_0",
        "    not b: already taken by backend a",
    ]
