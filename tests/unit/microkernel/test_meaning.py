"""The grammar of meanings: what parses, as what, and what is said of the rest (K2, DESIGN 6)."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from effort import SOAK, effort
from inarch.core.dtypes import ARITHMETIC, DTYPES
from inarch.core.errors import InarchError, UnsupportedError
from inarch.core.lazy import Array
from inarch.definitions.buffers import Numbers
from inarch.definitions.statements import evaluate as run_statements
from inarch.meaning import (
    FUNCTIONS,
    OPERATORS,
    Apply,
    Element,
    Expression,
    Index,
    Iterator,
    Meaning,
    Normal,
    Number,
    Statement,
    Term,
    accesses,
    bind,
    free_sizes,
    index_of,
    normal,
    operands,
    parse,
    ranks,
    text,
    written,
)
from meanings import evaluate as by_numpy

GEMM = "for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]"
CONV = (
    "for p in P, q in Q, o in 16, c in C1, r in R, s in S: "
    "Y[p, q, o] += X[p * SH + r, q * SW + s, c] * W[r, s, c, o]"
)


def line(message: str) -> str:
    with pytest.raises(InarchError) as raised:
        parse(message)
    return raised.value.line()


# ------------------------------------------------------------------------------------ what parses


def test_a_gemm_is_its_tree() -> None:
    def at(*names: str) -> tuple[Index, ...]:
        return tuple((Term((), name),) for name in names)

    product = Apply("mul", (Element("A", at("m", "k")), Element("B", at("k", "n"))))
    iterators = (Iterator("m", "MR"), Iterator("n", 16), Iterator("k", "K"))
    statement = Statement((), Element("C", at("m", "n")), "+=", product)
    found = parse("for m in MR, n in 16, k in K:\n  C[m,n]+=A[ m,k ]*B[k,n]")
    assert found == Meaning(iterators, (statement,))


@pytest.mark.every_case(reason="each is a form of its own")
@pytest.mark.parametrize(
    ("written_as", "canonical"),
    [
        (GEMM, GEMM),
        (CONV, CONV),
        ("C[]=0", "C[] = 0"),
        ("for: C[] = 1.0", "C[] = 1"),
        ("for: for k in K: C[] += A[k]; C[] = sqrt(C[])",) * 2,
        ("for k in K: C[] max= -A[k]",) * 2,
        ("for i in 2: C[i] = A[2*i - 1*0 + i + 3 - 1]", "for i in 2: C[i] = A[i * 3 + 2]"),
        ("for i in 2: C[i] = A[S*2*T*i*3]", "for i in 2: C[i] = A[i * S * T * 6]"),
        ("for i in 2: C[i] = A[-i + 1 - S]", "for i in 2: C[i] = A[-i + 1 - S]"),
        ("for i in 2: C[i] = A[i - i]", "for i in 2: C[i] = A[0]"),
        ("for i in 2: C[i] = (A[i] + B[i]) + 1", "for i in 2: C[i] = A[i] + B[i] + 1"),
        ("for i in 2: C[i] = A[i] - (B[i] - 1)",) * 2,
        ("for i in 2: C[i] = A[i] / (B[i] * 2)",) * 2,
        ("for i in 2: C[i] = mul(add(A[i], 1), 2)", "for i in 2: C[i] = (A[i] + 1) * 2"),
        ("for i in 2: C[i] = --A[i]",) * 2,
        ("for i in 2: C[i] = -2 * neg(2) * -inf",) * 2,
        ("for i in 2: C[i] = neg(-2)",) * 2,
        ("for i in 2: C[i] = -(A[i] * 2)",) * 2,
        ("for i in 2: C[i] = 1e-3 + .5 + 2. + 1e20", "for i in 2: C[i] = 0.001 + 0.5 + 2 + 1e+20"),
        ("for i in 2: C[i] = f32(A[i])",) * 2,
    ],
)
def test_the_text_is_canonical(written_as: str, canonical: str) -> None:
    assert text(parse(written_as)) == canonical
    assert parse(canonical) == parse(written_as)


def test_what_a_meaning_names() -> None:
    conv = parse(CONV)
    assert written(conv) == "Y"
    assert operands(conv) == ("Y", "X", "W")
    assert ranks(conv) == {"Y": 3, "X": 3, "W": 4}
    assert free_sizes(conv) == ("P", "Q", "C1", "R", "S", "SH", "SW")
    bound = bind(conv, {"P": 4, "SH": 1, "SW": 2})
    assert text(bound) == (
        "for p in 4, q in Q, o in 16, c in C1, r in R, s in S: "
        "Y[p, q, o] += X[p + r, q * 2 + s, c] * W[r, s, c, o]"
    )
    assert free_sizes(bound) == ("Q", "C1", "R", "S")


@pytest.mark.parametrize(
    ("meaning", "access"),
    [
        (GEMM, "update"),
        ("for m in 2: C[m] = 0; for k in K: C[m] += A[k]", "write"),
        ("for m in 2: C[m] = C[m] + A[m]", "update"),
        ("for m in 2: C[m] = A[m]", "write"),
    ],
)
def test_the_written_operand_is_updated_where_its_old_value_counts(
    meaning: str, access: str
) -> None:
    found = accesses(parse(meaning))
    assert found.pop("C") == access
    assert set(found.values()) == {"read"}


# ------------------------------------------------------------------------------------ what does not


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(
    ("meaning", "expected"),
    [
        ("", "1:1: error: expected a meaning, found an empty one"),
        (" \n ", "1:1: error: expected a meaning, found an empty one"),
        ("for m in 4, n in", "1:17: error: expected a size (a number or a name), found the end"),
        ("for m in 0: C[m] = 0", "1:10: error: expected a size of 1 or more, found 0"),
        ("for m in 1.5: C[m] = 0", "1:10: error: expected an integer, found 1.5"),
        ("for m in 9999999999: C[m] = 0", "1:10: error: expected an integer up to 2147483647"),
        (f"for m in 4: C[m] = A[{'9' * 9999}]", "1:22: error: expected an integer up to 2147483647"),
        ("for m in 4, m in 4: C[m] = 0", "1:13: error: iterator m is defined twice"),
        ("for m in m: C[m] = 0", "1:10: error: m is an iterator already; expected another name for a size"),
        ("for m in K, K in 4: C[m] = 0",
         "1:13: error: K is a size already; expected another name for an iterator"),
        ("for m in K: K[m] = 0", "1:13: error: K is a size already; expected another name for an operand"),
        ("for in in 4: C[m] = 0", "1:5: error: expected an iterator, found 'in'"),
        ("for m in 4: C[m] == 0", "1:19: error: expected an expression, found '='"),
        ("for m in 4: C[m] -= 0", "1:18: error: expected one of '=', '+=', '*=', 'max=', 'min=', found '-'"),
        ("for m in 4: C[m] = ", "1:19: error: expected an expression, found the end"),
        ("for m in 4: C[m] = A", "1:21: error: expected '[' or '(' after A, found the end"),
        ("for m in 4: C[m] = m",
         "1:21: error: expected '[' or '(' after m (an iterator is no value), found the end"),
        ("for m in 4: C[m] = A[m] B[m]", "1:25: error: expected ';' or the end, found 'B'"),
        ("for m in 4: C[m] = A[m];", "1:25: error: expected an operand, found the end"),
        ("for m in 4, n in 4: C[m, n] = A[m * n]",
         "1:37: error: expected one iterator in a product, found n too"),
        ("for m in 4: C[m] = A[m] + A[m, 1]",
         "1:27: error: expected operand A of rank 1 as before, found 2 indices"),
        ("for m in 4: C[m] = A[m, 0] + A[m]",
         "1:30: error: expected operand A of rank 2 as before, found 1 index"),
        ("for m in 4: C[m] = foo(A[m])", "1:20: error: no function 'foo'. Known: "),
        ("for m in 4: C[m] = max(A[m])", "1:20: error: expected 2 arguments of max, found 1"),
        ("for m in 4: C[m] = exp(A[m], 1)", "1:20: error: expected 1 argument of exp, found 2"),
        ("for m in 4: C[m] = 1e999",
         "1:20: error: expected a number that a double holds (infinity is 'inf')"),
        ("for m in 4: C[m] = A[m] @ 1", "1:25: error: expected a meaning, found '@'"),
        ("for m in 4: C[m] = \0", "1:20: error: expected a meaning, found '\\x00'"),
        ("for m in 4:\n  C[m] = é", "2:10: error: expected a meaning, found '\\xe9'"),
        # What a text must mean.
        ("for m in 4: C[m + 1] = 0",
         "1:13: error: expected iterators alone as the indices of C, which is written"),
        ("for m in 4: C[m, m] = 0",
         "1:13: error: expected distinct iterators as the indices of C, which is written, found m, m"),
        ("for m in 4: for n in 4: C[m, n] = 0",
         "1:25: error: iterator n indexes C, which is written; expected it after the first 'for'"),
        ("for m in 4: C[m] = 0; D[m] = 0", "1:23: error: expected statements that write C, found D"),
        ("for m in 4, n in 4: C[m, n] = 0; C[n, m] = 1",
         "1:34: error: expected C with the same indices as in the first statement"),
        ("for m in 4, k in 4: C[m] = A[k]",
         "1:21: error: '=' overwrites C for each k; expected '+=', '*=', 'max=' or 'min='"),
        ("for m in 4, k in 4: C[m] += A[k]; C[m] = relu(C[m])",
         "1:21: error: iterator k does not index C; expected it in a statement: 'for k in ...: ...'"),
        ("for m in 4, k in 4: C[m] += A[k]; C[m] += 1",
         "1:21: error: iterator k does not index C; expected it in a statement: 'for k in ...: ...'"),
        ("for m in 4: C[m] += C[m] * 2",
         "1:21: error: '+=' reads C by itself; expected other operands in its value"),
        ("for m in 4: C[m] = C[0]", "1:13: error: expected C to be read where it is written"),
        ("for m in 4: C[m] = 0; for k in 4: C[m] += A[k]; C[m] = A[k]",
         "1:58: error: k is the iterator of another statement"),
    ],
)  # fmt: skip
def test_the_first_thing_that_is_wrong_is_named(meaning: str, expected: str) -> None:
    found = line(meaning)
    assert found.startswith(f"computes:{expected}")
    assert found == f"computes:{expected}" or expected.endswith("Known: ")


@pytest.mark.parametrize("opening", ["(", "-", "exp(", "1+(", "A[0]*("])
def test_deep_nesting_is_refused_before_it_is_deep(opening: str) -> None:
    found = line(f"C[] = {opening * 5000}1")
    assert found.endswith("error: expected at most 128 operations a statement")


def test_a_long_sum_is_refused_as_its_tree_is_deep() -> None:
    parse("C[] = 1" + " + 1" * 100)
    assert line("C[] = 1" + " + 1" * 129).endswith("at most 128 operations a statement")


WORDS = st.sampled_from(
    re.findall(r"\S+", "for in m k C A 4 1.5 : ; , [ ] ( ) = += max= + - / inf exp \0 é")
)


TEXTS = (
    st.text(max_size=60)
    if SOAK
    else st.text("aAkm4.:;,[]()=+-/ \n\0é\u2028\U0001d7d8", max_size=60)
)
"""Of any letters; a table of all of them takes a second to make."""


@settings(max_examples=effort(60, 300), deadline=None)
@given(st.one_of(TEXTS, st.lists(WORDS, max_size=40).map(" ".join)))
@example("for m in 4: C[m] max=max(A[m],1)")
def test_any_text_is_a_meaning_or_one_located_error(given_text: str) -> None:
    problem: InarchError | None = None
    try:
        found = parse(given_text)
    except InarchError as error:
        problem = error
    else:
        assert parse(text(found)) == found
    if problem is not None:
        assert re.fullmatch(r"computes:\d+:\d+: error: .*", problem.line())


# ------------------------------------------------------------------------------------ round trips

_TERMS = st.lists(
    st.tuples(st.lists(st.sampled_from([1, 2, 5, "S", "T"]), max_size=3), st.sampled_from([None, "m", "k"]))
    .map(lambda pair: Term(tuple(pair[0]), pair[1])), max_size=3)  # fmt: skip


def _expressions(names: tuple[str, ...]) -> st.SearchStrategy[Expression]:
    floats = st.floats(allow_nan=False, width=64)
    leaf: st.SearchStrategy[Expression] = st.one_of(
        floats.map(Number),
        st.tuples(st.sampled_from(names), _TERMS).map(lambda p: Element(p[0], (index_of(p[1]),))),
    )

    def grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        def apply(function: str) -> st.SearchStrategy[Expression]:
            arity = FUNCTIONS[function].arity if function in FUNCTIONS else 1
            parts = st.tuples(*[inner] * arity)
            return parts.map(lambda arguments: Apply(function, arguments))

        return st.sampled_from([*FUNCTIONS, "f32", "i8"]).flatmap(apply)

    return st.recursive(leaf, grow, max_leaves=8)


@settings(max_examples=effort(100, 300), deadline=None)
@given(_expressions(("A", "B")), st.sampled_from(["+=", "max=", "*="]), st.booleans())
def test_a_meaning_is_what_its_text_says(value: Expression, operator: str, own: bool) -> None:
    iterators = (Iterator("m", "M"), Iterator("k", 7))
    target = Element("C", ((Term((), "m"),),))
    shared, inner = (iterators[:1], iterators[1:]) if own else (iterators, ())
    meaning = Meaning(shared, (Statement(inner, target, operator, value),))
    assert parse(text(meaning)) == meaning


# ------------------------------------------------------------------------------------ normal form


def test_the_normal_form_has_init_accumulation_and_finish() -> None:
    head = "for n in 4, m in 2: C[m, n] = -inf; for k in K: C[m, n] max= A[k]"
    found = normal(parse(f"{head}; C[m, n] = exp(C[m, n])"))
    target = Element("C", ((Term((), "m"),), (Term((), "n"),)))
    assert found == Normal(
        parallel=(Iterator("m", 2), Iterator("n", 4)),
        reductions=(Iterator("k", "K"),),
        init=Number(float("-inf")),
        operator="max",
        update=Element("A", ((Term((), "k"),),)),
        finish=Apply("exp", (target,)),
        target=target,
    )


def test_where_a_reduction_is_written_does_not_matter() -> None:
    inner = parse("for m in MR, n in NR: for k in K: C[m, n] += A[m, k] * B[k, n]")
    assert inner != parse(GEMM)
    assert normal(inner) == normal(parse(GEMM))


@pytest.mark.parametrize(
    ("meaning", "number"),
    [
        ("for m in 4: C[m] = C[m] + A[m]", 1),
        ("for m in 4: C[m] += A[m]; C[m] *= B[m]", 2),
        ("for m in 4: C[m] = 0; C[m] = 1; C[m] += A[m]", 2),
    ],
)
def test_other_shapes_are_named(meaning: str, number: int) -> None:
    with pytest.raises(UnsupportedError) as raised:
        normal(parse(meaning))
    assert raised.value.line() == (
        f"error: statement {number} of the meaning, on C[m], is not part of 'init; accumulation; "
        "finish', so nests cannot be matched with it"
    )


# ------------------------------------------------------------------------------------ execution


def evaluate(
    meaning: Meaning, arrays: Mapping[str, Array], sizes: Mapping[str, int] | None = None
) -> Array:
    return run_statements(bind(meaning, sizes or {}), arrays, Numbers())


def test_a_gemm_is_evaluated() -> None:
    random = np.random.default_rng(1)
    a, b, c = (random.standard_normal(s).astype(np.float32) for s in ((5, 7), (7, 6), (5, 6)))
    found = evaluate(parse(GEMM), {"A": a, "B": b, "C": c}, {"MR": 5, "NR": 6, "K": 7})
    np.testing.assert_allclose(found, c + a @ b, rtol=1e-5, atol=1e-6)
    assert found.dtype == np.float32


@pytest.mark.parametrize("size", ["M", "N", "K"])
@pytest.mark.parametrize("operator", ["+=", "*=", "max=", "min="])
def test_what_has_no_points_changes_nothing(size: str, operator: str) -> None:
    """NumPy's maximum of nothing is an error; a sum of nothing is 0 and not -0."""
    meaning = parse(f"for m in M, n in N, k in K: C[m, n] {operator} A[m, k + 1] * B[k, n]")
    sizes = {"M": 2, "N": 3, "K": 4, size: 0}
    a, b = np.zeros((sizes["M"], sizes["K"])), np.zeros((sizes["K"], sizes["N"]))
    c = np.full((sizes["M"], sizes["N"]), -0.0)
    found = evaluate(meaning, {"A": a, "B": b, "C": c}, sizes)
    np.testing.assert_array_equal(found, c)
    assert np.signbit(found).all()


def test_a_sum_of_nothing_is_begun_and_finished() -> None:
    meaning = parse("for m in M: C[m] = -3; for k in K: C[m] += A[m, k]; C[m] = relu(C[m]) + B[m]")
    arrays = {"A": np.ones((2, 0)), "B": np.full(2, 7.0), "C": np.full(2, np.nan)}
    assert (evaluate(meaning, arrays, {"M": 2, "K": 0}) == 7).all()


def test_a_convolution_reads_through_overlapping_strides() -> None:
    random = np.random.default_rng(2)
    x, w = random.integers(-9, 9, (9, 9, 3)), random.integers(-9, 9, (3, 3, 3, 16))
    y = np.zeros((4, 4, 16), np.int64)
    sizes = {"P": 4, "Q": 4, "C1": 3, "R": 3, "S": 3, "SH": 2, "SW": 2}
    found = evaluate(parse(CONV), {"X": x, "W": w, "Y": y}, sizes)
    for p in range(4):
        for q in range(4):
            window = x[2 * p : 2 * p + 3, 2 * q : 2 * q + 3]
            assert (found[p, q] == np.einsum("rsc,rsco->o", window, w)).all()
    assert not y.any()


def test_large_meanings_are_computed_in_pieces() -> None:
    a = np.arange(300 * 200, dtype=np.int32).reshape(300, 200)
    meaning = parse("for m in 300, n in 200, k in 100: C[m, n] max= A[m, k] - A[n, k]")
    found = evaluate(meaning, {"A": a, "C": np.full((300, 200), -(2**31), np.int32)})
    assert (found == (a[:, 0, None] - a[None, :200, 0])).all()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("A[m] / B[m]", [0, -3, 3, 0]),
        ("i8(i32(A[m]) * 100)", [100, 68, -68, -56]),
        ("i8(f32(A[m]) * 100)", [100, -128, 127, 127]),
        ("relu(A[m]) - min(B[m], 1)", [1, -1, 6, 1]),
        ("A[m] * 127", [127, -121, 121, -2]),
    ],
)
def test_integers_wrap_truncate_and_saturate(expression: str, value: list[int]) -> None:
    arrays = {"A": np.array([1, -7, 7, 2], np.int8), "B": np.array([0, 2, 2, 9], np.int8)}
    arrays["C"] = np.zeros(4, np.int8)
    found = evaluate(parse(f"for m in 4: C[m] = {expression}"), arrays)
    assert (found.dtype, found.tolist()) == (np.int8, value)


def test_integers_divide_towards_zero_the_lowest_too() -> None:
    """Every pair of bytes: by 0 it is 0, the lowest by -1 wraps."""
    a, b = (part.ravel().astype(np.int8) for part in np.mgrid[-128:128, -128:128])
    found = evaluate(
        parse(f"for i in {a.size}: C[i] = A[i] / B[i]"), {"A": a, "B": b, "C": np.zeros_like(a)}
    )
    wanted = [math.trunc(x / y) if y else 0 for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    np.testing.assert_array_equal(found, np.array(wanted, np.int16).astype(np.int8))


def test_max_and_relu_propagate_nan() -> None:
    arrays = {"A": np.array([np.nan, -1, 2], np.float32), "C": np.zeros(3, np.float32)}
    found = evaluate(parse("for m in 3: C[m] = max(relu(A[m]), -5)"), arrays)
    np.testing.assert_array_equal(found, [np.nan, 0, 2])


@pytest.mark.parametrize("dtype", ["f32", "f64", "i8", "i32", "i64"])
def test_functions_casts_and_reductions_are_those_of_numpy(dtype: str) -> None:
    """An expression is run as the IR that it stands for; NumPy knows no IR."""
    random, kind = np.random.default_rng(3), np.dtype(DTYPES[dtype].numpy)
    wide = random.standard_normal((2, 64)) * [[1.0], [100.0]]
    wide[:, :5] = [[np.nan, np.inf, -np.inf, -0.0, 1.0], [2.0, 1.0, np.nan, 0.0, np.inf]]
    if kind.kind == "i":
        limits = np.iinfo(kind)
        wide = random.integers(limits.min, limits.max, (2, 64), kind, endpoint=True)
        wide[1, :3] = 0, -1, 1
    a, b = wide.astype(kind)
    arrays = {"A": a, "B": b, "C": np.full(64, 3, kind)}
    other = "is_integer_only" if kind.kind == "f" else "is_float_only"
    names = [name for name, row in FUNCTIONS.items() if not getattr(row, other)]
    values = [f"{name}({', '.join(['A[i]', 'B[i]'][: FUNCTIONS[name].arity])})" for name in names]
    values += [
        f"{dtype}(max({each}(A[i]) / {each}(B[i]), 3))" for each in ARITHMETIC if each != "i1"
    ]
    texts = [f"for i in 64: C[i] = {value}" for value in [*values, f"{dtype}(i1(A[i]))"]]
    operators = [name for name in OPERATORS if name != "="]
    texts += [f"for i in 9, k in 7: C[i] {name} A[i + k * 8]" for name in operators]
    for text_ in texts:
        found, wanted = (run(parse(text_), arrays) for run in (evaluate, by_numpy))
        rtol = {"f32": 1e-6, "f64": 1e-14}.get(dtype, 0)
        np.testing.assert_allclose(found, wanted, rtol=rtol, err_msg=text_)


@pytest.mark.parametrize(
    ("meaning", "low", "high"), [("4: C[m] = A[m + 1]", 1, 4), ("4: C[m] = A[m - 1]", -1, 2)]
)
def test_what_is_outside_is_named(meaning: str, low: int, high: int) -> None:
    with pytest.raises(InarchError) as raised:
        evaluate(parse(f"for m in {meaning}"), {"A": np.zeros(4), "C": np.zeros(4)})
    assert str(raised.value) == (
        f"operand A touches elements {low} to {high}, outside of a buffer that has 0 to 3"
    )


def _loops(meaning: Meaning, arrays: dict[str, Array]) -> Array:
    """The meaning by loops over points in Python, one element at a time, in integers."""
    found = {name: array.copy() for name, array in arrays.items()}
    wrap = found[written(meaning)].dtype.type

    def at(element: Element, point: dict[str, int]) -> tuple[int, ...]:
        def product(term: Term) -> int:
            names = () if term.iterator is None else (point[term.iterator],)
            return math.prod((*names, *(int(factor) for factor in term.factors)))

        return tuple(sum(product(term) for term in index) for index in element.indices)

    def value(expression: Expression, point: dict[str, int]) -> int:
        match expression:
            case Number():
                return int(expression.value)
            case Element():
                return int(found[expression.operand][at(expression, point)])
            case Apply():
                return _integer(
                    expression.function, *(value(part, point) for part in expression.arguments)
                )

    for outer in itertools.product(*(range(int(each.size)) for each in meaning.iterators)):
        shared = dict(zip((each.name for each in meaning.iterators), outer, strict=True))
        for statement in meaning.statements:
            for inner in itertools.product(*(range(int(i.size)) for i in statement.iterators)):
                own = dict(zip((each.name for each in statement.iterators), inner, strict=True))
                point = {**shared, **own}
                place = at(statement.target, point)
                new = value(statement.value, point)
                old = int(found[written(meaning)][place])
                combine = OPERATORS[statement.operator]
                total = new if combine is None else _integer(combine, old, new)
                found[written(meaning)][place] = wrap(np.int64(total))
    return found[written(meaning)]


def _integer(function: str, first: int, second: int = 0) -> int:
    values = {
        "add": first + second,
        "sub": first - second,
        "mul": first * second,
        "max": max(first, second),
        "min": min(first, second),
        "neg": -first,
        "abs": abs(first),
        "relu": max(first, 0),
    }
    return values[function]


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.sampled_from(["A[m, k]", "A[m + k, 1]", "B[k * 2 + 1]", "B[n]", "A[2, n]", "3", "-2"]),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda p: f"({' '.join(p)})"),
            st.tuples(st.sampled_from(["abs", "relu", "-"]), inner).map(
                lambda p: f"{p[0]}({p[1]})"
            ),
            st.tuples(st.sampled_from(["max", "min"]), inner, inner).map(
                lambda p: f"{p[0]}({p[1]}, {p[2]})"
            ),
        ),
        max_leaves=5,
    ),
    st.sampled_from(["+=", "max=", "min=", "*="]),
    st.sampled_from(["", "C[m, n] = 1; "]),
    st.sampled_from(["", "; C[m, n] = relu(C[m, n]) - B[m]"]),
    st.integers(0, 2**32 - 1),
)
def test_values_are_those_of_plain_loops(
    value: str, operator: str, first: str, last: str, seed: int
) -> None:
    """The evaluation that kernels are checked against, and an independent one, agree."""
    meaning = parse(f"for n in 3, m in 4: {first}for k in 3: C[m, n] {operator} {value}{last}")
    random = np.random.default_rng(seed)
    shapes = {"A": (7, 3), "B": (6,), "C": (4, 3)}
    arrays = {name: random.integers(-2, 3, shape) for name, shape in shapes.items()}
    np.testing.assert_array_equal(evaluate(meaning, arrays), _loops(meaning, arrays))
