"""Patterns: how they print, what they match and prefer, and what is said of the nearest miss."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from xdsl.ir import Operation

from inarch.core.errors import InarchError, UsageError
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.offload.backend import BACKENDS, Backend, Emission, EmitRequest
from inarch.offload.pattern import Match, Pattern, any_, constant, named, op, optional
from inarch.passes.partitioning import PartitionReport, explain

VECTOR = "tensor<4xf32>"


def _emit(request: EmitRequest) -> Emission:
    return Emission("c", request.names())


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    with BACKENDS.scope():
        yield


def register(name: str = "toy", **fields: Any) -> None:
    module = ModuleType(f"pattern_backend_{name}")
    module.__dict__["BACKEND"] = Backend(name, "", _emit, **fields)
    sys.modules[module.__name__] = module
    BACKENDS.add(module, name, Path(__file__))


def unary(result: str, name: str, x: str) -> str:
    return f'{result} = graph.{name} {x} : {VECTOR} -> {VECTOR} loc("{result[1:]}")'


def binary(result: str, name: str, x: str, y: str) -> str:
    return f'{result} = graph.{name} {x}, {y} : {VECTOR}, {VECTOR} -> {VECTOR} loc("{result[1:]}")'


def function(*lines: str, returned: str) -> str:
    results = ", ".join([VECTOR] * len(returned.split(",")))
    body = "\n".join(lines)
    return (
        f"func.func @main(%x: {VECTOR}, %y: {VECTOR}) -> ({results}) {{\n{body}\n"
        f"func.return {returned} : {results}\n}}"
    )


CONSTANT = f"%k = graph.constant dense<2.0> : {VECTOR}"


def run(text: str, *backends: str, **options: Any) -> PartitionReport:
    context = new_context()
    return explain(context, parse_module(context, text), backends or ("toy",), **options)


def owners(report: PartitionReport) -> str:
    """`relu:chain add:- ...`: each op with the pattern that has it, `+` for a single op."""
    return " ".join(
        f"{o.op.removeprefix('graph.')}:{o.pattern or ('-' if o.owner == 'host' else '+')}"
        for o in report.ops
    )


def reason(report: PartitionReport, value: str, backend: str = "toy") -> str:
    (found,) = [o for o in report.ops if o.value == value]
    return found.reasons[backend]


# ------------------------------------------------------------------------------------ printing


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (op("conv", any_(), constant(), strides=[1, 1]), "conv(any, constant, strides=(1, 1))"),
        (op("x.y", any_("data")), "x.y(data)"),
        (op("add", any_(), any_(), commutative=True), "add(any, any, commutative)"),
        (op("mul", *[any_("x")] * 2), "mul($1=x, $1)"),
        (op("neg", constant(where=lambda _: None)), "neg(constant where ...)"),
        (op("neg", where=lambda _: None), "neg() where ..."),
        (op("neg") | op("abs"), "(neg() | abs())"),
        (
            optional(op("add", any_(), any_()), lambda x: op("relu", x)),
            "(relu($1=add(any, any)) | $1)",
        ),
    ],
)
def test_a_pattern_prints_as_it_is_written(pattern: Pattern, text: str) -> None:
    assert str(pattern) == text
    assert str(named("p", pattern)) == f"p: {text}"


# ------------------------------------------------------------------------------------ matching


def test_a_value_used_twice_is_one_value() -> None:
    register(patterns=(named("square", op("mul", *[any_()] * 2)),))
    lines = (binary("%a", "mul", "%x", "%x"), binary("%b", "mul", "%x", "%y"))
    report = run(function(*lines, returned="%a, %b"))
    assert owners(report) == "mul:square mul:-"
    assert reason(report, "%b") == (
        "pattern square: operand 1 of graph.mul is %y, expected the same value as before, %x"
    )


def test_a_diamond_is_one_match() -> None:
    shared = op("neg", any_())
    register(patterns=(named("diamond", op("add", op("abs", shared), op("exp", shared))),))
    lines = (
        unary("%n", "neg", "%x"),
        unary("%a", "abs", "%n"),
        unary("%e", "exp", "%n"),
        binary("%s", "add", "%a", "%e"),
    )
    report = run(function(*lines, returned="%s"))
    assert owners(report) == "neg:diamond abs:diamond exp:diamond add:diamond"


def test_operands_of_a_commutative_op_are_exchanged_only_where_that_is_said() -> None:
    lines = (CONSTANT, binary("%a", "mul", "%k", "%x"))
    register("either", patterns=(named("p", op("mul", any_(), constant(), commutative=True)),))
    register("fixed", patterns=(named("p", op("mul", any_(), constant())),))
    assert owners(run(function(*lines, returned="%a"), "either")) == "mul:p"
    report = run(function(*lines, returned="%a"), "fixed")
    assert reason(report, "%a", "fixed") == "pattern p: operand 1 of graph.mul is not a constant"


def test_the_search_goes_back_over_alternatives() -> None:
    """The first choice fits the first operand, but then the second operand does not fit."""
    x = any_()
    pattern = op("add", op("neg", x) | op("neg", op("neg", x)), x)
    register(patterns=(named("p", pattern),))
    lines = (
        unary("%n", "neg", "%x"),
        unary("%m", "neg", "%n"),
        binary("%a", "add", "%m", "%x"),
    )
    assert owners(run(function(*lines, returned="%a"))) == "neg:p neg:p add:p"


def test_a_missing_trailing_operand_matches_anything() -> None:
    register(patterns=(named("p", op("add", op("neg", any_()))),))
    lines = (unary("%n", "neg", "%x"), binary("%a", "add", "%n", "%y"))
    assert owners(run(function(*lines, returned="%a"))) == "neg:p add:p"


def test_preference_patterns_in_order_then_single_ops() -> None:
    lines = (unary("%n", "neg", "%x"), unary("%a", "abs", "%n"), unary("%b", "abs", "%a"))
    two = named("two", op("abs", op("neg", any_())))
    one = named("one", op("abs", any_()))
    register("first", ops=("neg", "abs"), patterns=(two, one))
    register("second", ops=("neg", "abs"), patterns=(one, two))
    assert owners(run(function(*lines, returned="%b"), "first")) == "neg:two abs:two abs:one"
    assert owners(run(function(*lines, returned="%b"), "second")) == "neg:+ abs:one abs:one"


def test_of_one_pattern_the_later_root_is_preferred_so_optional_parts_are_taken() -> None:
    chain = op("neg", any_())
    for _ in range(3):
        chain = optional(chain, lambda inner: op("neg", inner))
    register(patterns=(named("chain", chain),))
    lines = [unary(f"%n{i + 1}", "neg", f"%n{i}" if i else "%x") for i in range(5)]
    context = new_context()
    report = explain(context, parse_module(context, function(*lines, returned="%n5")), ["toy"])
    assert owners(report) == " ".join(["neg:chain"] * 5)


def test_where_sees_the_match_and_refuses_with_a_reason() -> None:
    left = any_("left")
    seen: list[Match] = []

    def where(match: Match) -> str | None:
        seen.append(match)
        return None if match[left].name_hint == "x" else f"left is %{match[left].name_hint}"

    pattern = op("neg", op("add", left, any_()))
    register(patterns=(named("p", pattern, where),))
    lines = (
        binary("%a", "add", "%x", "%y"),
        unary("%b", "neg", "%a"),
        binary("%c", "add", "%y", "%x"),
        unary("%d", "neg", "%c"),
    )
    report = run(function(*lines, returned="%b, %d"))
    assert owners(report) == "add:p neg:p add:- neg:-"
    assert reason(report, "%d") == reason(report, "%c") == "pattern p: where: left is %y"
    assert seen[0][pattern] is seen[0].root.results[0]
    assert [o.name for o in seen[0].ops] == ["graph.add", "graph.neg"]
    assert seen[0].root.name == "graph.neg"
    assert seen[0].op("add") is seen[0].ops[0]
    assert [v.name_hint for v in seen[0].inputs] == ["y", "x"]
    with pytest.raises(KeyError, match=r"no graph.conv in the match"):
        seen[0].op("conv")


# ------------------------------------------------------------------------------------ reasons

CONV = """
func.func @main(%x: tensor<1x1x8x8xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<1x1x3x3xf32> {
  %0 = graph.conv %x, %w strides = [3, 3] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1
    : tensor<1x1x8x8xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x3x3xf32> loc("conv0")
  func.return %0 : tensor<1x1x3x3xf32>
}
"""


def _refuse(_: Operation) -> str:
    return "strides are [3, 3]; takes 1 or 2"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "no pattern or op list has graph.conv"),
        (
            {"patterns": [named("p", op("conv", any_(), constant()))]},
            "pattern p: operand 1 of graph.conv is not a constant",
        ),
        (
            {"patterns": [named("p", op("conv", strides=(1, 1)))]},
            "pattern p: graph.conv strides = [3, 3], expected [1, 1]",
        ),
        (
            {"patterns": [named("p", op("conv", groups=2))]},
            "pattern p: graph.conv groups = 1, expected 2",
        ),
        (
            {"patterns": [named("p", op("conv", stride=(1, 1)))]},
            "pattern p: graph.conv has no stride, expected [1, 1]; "
            "it has dilations, groups, pads, strides",
        ),
        (
            {"patterns": [named("p", op("conv", any_(), any_(), any_()))]},
            "pattern p: graph.conv has 2 operands, expected 3 or more",
        ),
        (
            {"patterns": [named("p", op("conv", where=_refuse))]},
            "pattern p: where: strides are [3, 3]; takes 1 or 2",
        ),
        (
            {"patterns": [named("p", op("conv"))], "accepts": _refuse},
            "pattern p: accepts: graph.conv (conv0): strides are [3, 3]; takes 1 or 2",
        ),
        ({"ops": ["conv"], "accepts": _refuse}, "accepts: strides are [3, 3]; takes 1 or 2"),
        (
            {"patterns": [named("p", op("relu", op("conv")))]},
            "pattern p has graph.conv only inside, and no match of it reaches this one",
        ),
        (
            {"patterns": [named("p", op("conv", op("neg"))), named("q", op("conv", groups=2))]},
            "pattern p: operand 0 of graph.conv is not graph.neg, but an argument of the function",
        ),
    ],
)
def test_the_nearest_pattern_and_the_first_constraint_that_failed(
    fields: dict[str, Any], expected: str
) -> None:
    given: dict[str, Any] = {k: tuple(v) if k != "accepts" else v for k, v in fields.items()}
    register(**given)
    assert reason(run(CONV), "%0") == expected


def test_an_interior_value_with_another_user() -> None:
    register(patterns=(named("p", op("relu", op("neg", any_()))),))
    lines = (
        unary("%n", "neg", "%x"),
        unary("%r", "relu", "%n"),
        unary("%t", "tanh", "%n"),
    )
    report = run(function(*lines, returned="%r, %t"))
    expected = "pattern p: interior value %n (n) has a user outside of the match: graph.tanh (t)"
    assert reason(report, "%r") == reason(report, "%n") == expected
    assert reason(report, "%t") == "no pattern or op list has graph.tanh"


def test_what_another_backend_has_and_what_nobody_needs() -> None:
    register("a", ops=("neg",))
    register("b", ops=("neg", "abs"), patterns=(named("p", op("relu", op("neg", any_()))),))
    lines = (
        unary("%n", "neg", "%x"),
        unary("%r", "relu", "%n"),
        unary("%dead", "abs", "%x"),
    )
    report = run(function(*lines, returned="%r"), "a", "b")
    assert reason(report, "%n", "b") == "already taken by backend a"
    assert reason(report, "%r", "b") == "pattern p: graph.neg (n) is already taken by backend a"
    assert reason(report, "%dead", "b") == "nothing uses its results"


# ------------------------------------------------------------------------------------ bad patterns


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"patterns": (named("p", op("cnv")),)},
            "no op 'graph.cnv' in pattern 'p' of backend 'toy'; did you mean 'graph.conv'?",
        ),
        ({"ops": ("cnv",)}, "no op 'graph.cnv' in the ops of backend 'toy'; did you mean"),
        (
            {"patterns": (named("p", optional(any_(), lambda x: op("neg", x))),)},
            "pattern 'p' of backend 'toy' may end in something that is no op: (neg($1=any) | $1); "
            "expected an op at its root",
        ),
        (
            {"patterns": (named("p", op("add", any_(), commutative=True)),)},
            "pattern 'p' of backend 'toy': expected 2 operands of a commutative op, found 1 in "
            "add(any, commutative)",
        ),
        (
            {"patterns": (named("p", op("neg")), named("p", op("abs")))},
            "pattern 'p' of backend 'toy' is there twice; give each a name of its own",
        ),
        (
            {"requires": ("fold-bach-norm",)},
            "backend 'toy' requires: no pass 'fold-bach-norm'; did you mean 'fold-batch-norm'?",
        ),
    ],
)
def test_a_backend_that_can_never_match_is_an_error(fields: dict[str, Any], expected: str) -> None:
    register(**fields)
    with pytest.raises(UsageError) as raised:
        run(CONV)
    assert str(raised.value).startswith(expected)


def _boom(_: object) -> str | None:
    raise ZeroDivisionError("division by zero")


def _yes(_: object) -> Any:
    return True


Answer = Callable[[object], str | None]


def _with_accepts(answer: Answer) -> dict[str, Any]:
    return {"ops": ("conv",), "accepts": answer}


def _with_where_of_the_match(answer: Answer) -> dict[str, Any]:
    return {"patterns": (named("p", op("conv"), where=answer),)}


def _with_where_of_the_op(answer: Answer) -> dict[str, Any]:
    return {"patterns": (named("p", op("conv", where=answer)),)}


@pytest.mark.parametrize(
    ("function_", "expected"),
    [
        (_boom, "failed on 'graph.conv': ZeroDivisionError: division by zero"),
        (_yes, "expected None or a reason (a string) for 'graph.conv', found True"),
    ],
)
@pytest.mark.parametrize(
    ("make", "what"),
    [
        (_with_accepts, "backend 'toy': accepts"),
        (_with_where_of_the_match, "backend 'toy', pattern p: where"),
        (_with_where_of_the_op, "backend 'toy', pattern p: where"),
    ],
)
def test_a_backends_function_that_fails_is_a_located_error(
    make: Callable[[Answer], dict[str, Any]], what: str, function_: Answer, expected: str
) -> None:
    register(**make(function_))
    with pytest.raises(InarchError) as raised:
        run(CONV)
    assert str(raised.value) == f"conv0: {what} {expected}"


# ------------------------------------------------------------------------------------ several roots


def test_several_roots_that_share_a_part_are_one_match() -> None:
    x = op("abs", any_())
    register(patterns=(named("pair", op("neg", x), others=(op("relu", x),)),))
    lines = [unary("%a", "abs", "%x"), unary("%e", "exp", "%y"), unary("%r", "relu", "%a")]
    report = run(function(*lines, unary("%n", "neg", "%a"), returned="%n, %r, %e"))
    assert owners(report) == "abs:pair exp:- relu:pair neg:pair"
    report = run(function(*lines[:2], unary("%n", "neg", "%a"), returned="%n, %e"))
    assert owners(report) == "abs:- exp:- neg:-"
    assert reason(report, "%n") == "pattern pair: graph.relu, a further root, is not there"
    lines = [unary("%a", "abs", "%x"), unary("%r", "relu", "%a"), unary("%t", "tanh", "%a")]
    report = run(function(*lines, unary("%n", "neg", "%a"), returned="%n, %r, %t"))
    assert reason(report, "%a") == (
        "pattern pair: interior value %a (a) has a user outside of the match: graph.tanh (t)"
    )


def test_an_interior_value_may_leave_that_is_a_root_itself() -> None:
    x = op("abs", any_())
    register(patterns=(named("kept", op("neg", x), others=(x,)),))
    lines = [unary("%a", "abs", "%x"), unary("%t", "tanh", "%a"), unary("%n", "neg", "%a")]
    assert owners(run(function(*lines, returned="%n, %t"))) == "abs:kept tanh:- neg:kept"


def test_no_path_leaves_a_match_of_several_roots_and_enters_it_again() -> None:
    x = op("abs", any_())
    register(patterns=(named("kept", op("add", x, any_()), others=(x,)),))
    lines = [unary("%a", "abs", "%x"), unary("%t", "tanh", "%a"), binary("%s", "add", "%a", "%t")]
    report = run(function(*lines, returned="%s"))
    assert owners(report) == "abs:- tanh:- add:-"
    assert reason(report, "%s") == (
        "pattern kept: a path through graph.tanh (t) leaves the match and enters it again"
    )


def test_a_path_through_another_match_counts_as_well() -> None:
    """Two matches, each of two ops that are not connected, that would need each other first."""
    x = any_()
    crossed = named("crossed", op("sub", x, any_()), others=(op("mul", x, any_()),))
    register(patterns=(crossed,))
    lines = [
        binary("%a", "sub", "%x", "%y"),
        binary("%b", "mul", "%y", "%x"),
        binary("%c", "mul", "%x", "%b"),
        binary("%d", "sub", "%y", "%a"),
    ]
    assert owners(run(function(*lines, returned="%c, %d"))) == "sub:- mul:crossed mul:- sub:crossed"


def test_a_further_root_that_shares_nothing_is_refused() -> None:
    register(patterns=(named("apart", op("neg", any_()), others=(op("relu", any_()),)),))
    with pytest.raises(UsageError) as caught:
        run(function(unary("%a", "neg", "%x"), returned="%a"))
    assert caught.value.message == (
        "pattern 'apart' of backend 'toy': expected a further root that shares a part (one Python "
        "object) with those before, found relu(any)"
    )


# ------------------------------------------------------------------------------------ wildcards


def test_a_name_may_be_a_glob() -> None:
    register(ops=("reduce_*",), patterns=(named("last", op("neg", op("*"))),))
    reduced = f"%r = graph.reduce_sum %x axes = [0] keepdims = true : {VECTOR} -> tensor<1xf32>"
    lines = [unary("%e", "exp", "%x"), unary("%n", "neg", "%e"), unary("%m", "neg", "%y")]
    report = run(function(*lines, reduced, binary("%q", "add", "%r", "%n").replace(
        f"{VECTOR}, {VECTOR}", f"tensor<1xf32>, {VECTOR}"), returned="%q, %m"))  # fmt: skip
    assert owners(report) == "exp:last neg:last neg:- reduce_sum:+ add:-"
    assert reason(report, "%m") == (
        "pattern last: operand 0 of graph.neg is not graph.*, but an argument of the function"
    )


def test_no_glob_is_a_constant() -> None:
    register(patterns=(named("last", op("neg", op("*"))),))
    report = run(function(CONSTANT, unary("%n", "neg", "%k"), returned="%n"))
    assert owners(report) == "neg:-"
    assert reason(report, "%n") == (
        "pattern last: operand 0 of graph.neg is not graph.*, but a constant"
    )


def test_a_glob_that_no_op_has_is_refused() -> None:
    register(ops=("redoce_*",))
    with pytest.raises(UsageError) as caught:
        run(function(unary("%a", "neg", "%x"), returned="%a"))
    assert caught.value.message == (
        "the ops of backend 'toy': expected a glob that ops have, found 'graph.redoce_*'"
    )


def test_a_property_may_be_one_of_several() -> None:
    register(patterns=(named("soft", op("softmax", any_(), axis={0, -1})),))
    kind = "tensor<2x3x4xf32>"
    text = f"""func.func @main(%x: {kind}) -> {kind} {{
  %a = graph.softmax %x axis = 0 : {kind} -> {kind}
  %b = graph.softmax %a axis = 1 : {kind} -> {kind}
  func.return %b : {kind}
}}"""
    report = run(text)
    assert owners(report) == "softmax:soft softmax:-"
    assert reason(report, "%b") == "pattern soft: graph.softmax axis = 1, expected -1 or 0"
