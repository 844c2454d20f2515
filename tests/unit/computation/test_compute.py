"""`inarch.compute`: what a text computes, in which memory, for which arguments (B12)."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np
import pytest
from xdsl.ir import Operation

import inarch
from effort import seeds
from inarch.computation import Computation
from inarch.core.dtypes import DTYPES
from inarch.core.errors import ArgumentError, InarchError
from inarch.core.lazy import Array
from inarch.core.scalars.functions import OF_MEANINGS
from inarch.dialects.kernel.body import body_of
from inarch.dialects.loop.rounding import ROUNDED
from inarch.driver.keep.sources import running
from inarch.meaning import Apply, Element, Expression, Number, iterators, parse, written
from inarch.meaning.program import parse_program
from meanings import evaluate

SCALE = "for i in N: C[i] = s * (A[i] + B[i])"


# Random texts, arguments for them, and what NumPy makes of both

UNARY = ("neg", "abs", "relu")
OF_FLOATS = (
    "exp(-abs({}))", "log(1 + abs({}))", "sqrt(abs({}) + 0.5)", "tanh({})", "erf({})", "expm1(-abs({}))",
    "log1p(abs({}))",
)  # fmt: skip
DTYPES_OF_PROGRAMS = ("f32", "f64", "i32", "i8", "i64", "ui8", "ui32", "i16")


@dataclass
class Drawn:
    """One text with its arguments: arrays, and numbers for scalars."""

    random: Random
    dtype: str
    lines: list[str] = field(default_factory=list[str])
    values: dict[str, Array | float] = field(default_factory=dict[str, "Array | float"])
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    written: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Output -> the names of the sizes of its dimensions."""
    target: str = ""
    """What the line that is drawn writes."""

    @property
    def is_float(self) -> bool:
        return DTYPES[self.dtype].is_float

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    # -- operands

    def array(self, shape: tuple[int, ...], dtype: str | None = None) -> Array:
        kind = np.dtype(DTYPES[dtype or self.dtype].numpy)
        generator = np.random.default_rng(self.random.getrandbits(32))
        if kind.kind == "f":
            return np.asarray(generator.uniform(-2, 2, shape), kind)
        limits = np.iinfo(kind)
        low, high = max(limits.min, -(1 << 40)), min(limits.max, 1 << 40)
        return generator.integers(low, high, shape, endpoint=True).astype(kind)

    def operand(self, loops: Mapping[str, str]) -> str:
        """An element of a new operand, or of one that an earlier line has written."""
        pick = self.random.random()
        if pick < 0.2:
            name = f"s{len(self.values)}"
            self.values[name] = (
                self.random.choice((0.5, -1.25, 2))
                if self.is_float
                else self.random.randint(0, 100)
            )
            return name
        for name, sizes in self.written.items():
            at = [next((i for i, size in loops.items() if size == each), None) for each in sizes]
            if pick < 0.4 and None not in at and name not in self.target:
                return f"{name}[{', '.join(map(str, at))}]"
        used = self.random.sample(list(loops), self.random.randint(1, min(2, len(loops))))
        name = f"A{len(self.values)}"
        steps = [self.random.choice((1, 1, 1, 2)) for _ in used]
        shifts = [self.random.choice((0, 0, 0, 1, 3)) for _ in used]
        backwards = [self.random.random() < 0.2 for _ in used]
        shape: list[int] = []
        index: list[str] = []
        for i, step, shift, back in zip(used, steps, shifts, backwards, strict=True):
            last = (self.sizes[loops[i]] - 1) * step
            shape.append(last + shift + 1)
            index.append(f"{last + shift} - {i} * {step}" if back else f"{i} * {step} + {shift}")
        cast = self.random.random() < 0.15
        kind = self.random.choice(("i8", "ui8", "i32", "f32")) if cast else self.dtype
        if cast and not self.is_float and DTYPES[kind].is_float:
            kind = "i8"
        self.values[name] = self.array(tuple(shape), kind)
        element = f"{name}[{', '.join(index)}]"
        return f"{self.dtype}({element})" if kind != self.dtype else element

    # -- expressions

    def expression(self, loops: Mapping[str, str], depth: int, own: str | None = None) -> str:
        if depth == 0 or self.random.random() < 0.15:
            if own is not None and self.random.random() < 0.5:
                return own
            if self.random.random() < 0.15:
                return self.random.choice(("1", "2", "0.25" if self.is_float else "3"))
            return self.operand(loops)
        inner = [self.expression(loops, depth - 1, own) for _ in range(2)]
        pick = self.random.random()
        if pick < 0.5:
            return f"({inner[0]} {self.random.choice('+-*')} {inner[1]})"
        if pick < 0.6:
            return (
                f"({inner[0]} / (1 + abs({inner[1]})))"
                if self.is_float
                else f"({inner[0]} / {inner[1]})"
            )
        if pick < 0.75:
            return f"{self.random.choice(('max', 'min'))}({inner[0]}, {inner[1]})"
        if pick < 0.85 or not self.is_float:
            return f"{self.random.choice(UNARY)}({inner[0]})"
        return self.random.choice(OF_FLOATS).format(inner[0])

    # -- lines

    def line(self) -> None:
        """A new line, which reads some array: of numbers alone nothing says the dtype."""
        name, sizes, body = self._drawn_line()
        while "A" not in body:
            name, sizes, body = self._drawn_line()
        self.lines.append(body)
        self.written[name] = sizes

    def _drawn_line(self) -> tuple[str, tuple[str, ...], str]:
        rank = self.random.choice((0, 1, 1, 2, 2, 3))
        loops: dict[str, str] = dict(
            zip("ijl", self.random.sample(list(self.sizes), rank), strict=False)
        )
        updated = [name for name, sizes in self.written.items() if len(sizes) == rank]
        again = updated and self.random.random() < 0.3
        name = self.random.choice(updated) if again else f"C{len(self.written)}"
        if again:
            loops = dict(zip("ijl", self.written[name], strict=False))
        self.target = name
        element = f"{name}[{', '.join(loops)}]"
        head = ", ".join(f"{i} in {size}" for i, size in loops.items())
        head = f"for {head}: " if head else "for: "
        k = self.random.choice(list(self.sizes))
        pick = self.random.random()
        inside = {**loops, "k": k}
        operator = self.random.choice(("+=", "max=", "min=", "+=", "*="))
        if pick < 0.35 and loops:
            own = element if self.random.random() < 0.4 else None
            body = f"{head}{element} = {self.expression(loops, 3, own)}"
        elif pick < 0.55:
            head = f"{head[:-2]}, k in {k}: " if loops else f"for k in {k}: "
            body = f"{head}{element} {operator} {self.expression(inside, 2)}"
        else:
            start = (
                self.random.choice(("0", "1"))
                if pick < 0.8 or not loops
                else self.expression(loops, 1)
            )
            value = self.expression(inside, 2)
            body = f"{head}{element} = {start}; for k in {k}: {element} {operator} {value}"
            if loops:
                body += f"; {element} = {self.expression(loops, 1, element)}"
                if self.random.random() < 0.3:
                    body += (
                        f"; for l in {k}: {element} += {self.expression({**loops, 'l': k}, 1)}"
                        * ("l" not in loops)
                    )
        return name, tuple(loops.values()), body


def draw(seed: int) -> Drawn:
    """A program of one to three lines."""
    random = Random(seed)
    drawn = Drawn(random, random.choice(DTYPES_OF_PROGRAMS))
    drawn.sizes = {name: random.choice((1, 2, 3, 5, 8, 17)) for name in ("M", "N", "K")}
    for _ in range(random.randint(1, 3)):
        drawn.line()
    accesses = parse_program(drawn.text).accesses
    drawn.values = {name: value for name, value in drawn.values.items() if name in accesses}
    for name, access in accesses.items():
        if access == "update":
            drawn.values[name] = drawn.array(tuple(drawn.sizes[s] for s in drawn.written[name]))
    return drawn


def expected(drawn: Drawn) -> dict[str, tuple[Array, float]]:
    """Each output in the widest arithmetic, and how far rounding may take another order from it."""
    program = parse_program(drawn.text)
    kind = np.dtype(DTYPES[drawn.dtype].numpy)
    shapes = {name: tuple(drawn.sizes[s] for s in drawn.written[name]) for name in program.outputs}
    arrays: dict[str, Array] = {name: np.zeros(shape, kind) for name, shape in shapes.items()}
    for name, value in drawn.values.items():
        arrays[name] = np.array(value) if isinstance(value, np.ndarray) else np.asarray(value, kind)
    sizes = {
        name: max(1, float(np.abs(each.astype(np.float64)).max(initial=0)))
        for name, each in arrays.items()
    }
    for meaning in program.meanings:
        name = written(meaning)
        arrays[name] = evaluate(meaning, arrays, drawn.sizes, exact=True)
        extents = {i.name: drawn.sizes.get(str(i.size), 1) for i in iterators(meaning)}
        for statement in meaning.statements:
            value = _size(statement.value, sizes)
            used = {index[0].iterator for index in statement.target.indices}
            count = int(np.prod([n for i, n in extents.items() if i not in used], dtype=np.int64))
            match statement.operator:
                case "=":
                    sizes[name] = value
                case "+=":
                    sizes[name] += value * count
                case "*=":
                    sizes[name] *= value**count
                case _:
                    sizes[name] = max(sizes[name], value)
    eps = float(np.finfo(kind).eps) if kind.kind == "f" else 0.0
    return {name: (arrays[name], 64 * eps * sizes[name]) for name in program.outputs}


def _size(expression: Expression, sizes: Mapping[str, float]) -> float:
    """A bound of the absolute values that occur; every function here has a slope of at most about 1."""
    match expression:
        case Number(value=value):
            return max(1.0, abs(value))
        case Element(operand=operand):
            return max(1.0, sizes[operand])
        case Apply(function=function, arguments=arguments):
            parts = [_size(part, sizes) for part in arguments]
            match function:
                case "add" | "sub":
                    return sum(parts)
                case "mul" | "div":
                    return parts[0] * parts[-1]
                case "max" | "min":
                    return max(parts)
                case _:
                    return 1.2 * parts[0]


def run(seed: int, seen: Counter[str]) -> None:
    """A random program against NumPy: outputs given where they are updated, and some of the others."""
    drawn = draw(seed)
    wanted = expected(drawn)
    named = {name for name in drawn.sizes if f" {name}" in drawn.text}
    function = inarch.compute(drawn.text, sizes={name: drawn.sizes[name] for name in named})
    values = dict(drawn.values)
    for name, (exact, _) in wanted.items():
        if name not in values and drawn.random.random() < 0.75:
            values[name] = np.full(
                exact.shape, 77, exact.dtype.char if not drawn.is_float else drawn.array(()).dtype
            )
    results = function(**values)
    found: tuple[Array, ...] = (results,) if len(function.outputs) == 1 else results
    for name, result in zip(function.outputs, found, strict=True):
        exact, most = wanted[name]
        assert result is values.get(name, result), drawn.text
        assert result.shape == exact.shape, drawn.text
        np.testing.assert_allclose(
            result.astype(exact.dtype),
            exact,
            rtol=0,
            atol=most,
            err_msg=f"{name} of {seed}: {drawn.text}",
        )
    seen[drawn.dtype] += 1
    for word in (
        "max=",
        "min=",
        "*=",
        "+=",
        "; ",
        "/",
        "f32(",
        "exp",
        "erf",
        "expm1",
        "log1p",
        "tanh",
        "log",
        "sqrt",
        "relu",
    ):
        seen[word] += word in drawn.text
    seen["lines"] += "\n" in drawn.text
    seen["updates"] += any(name in drawn.values for name in wanted)


def test_random_programs_compute_what_numpy_does() -> None:
    """B12: expressions of the grammar, shapes, dtypes."""
    seen: Counter[str] = Counter()
    for seed in seeds(3, 6):
        run(seed, seen)


@pytest.mark.slow
def test_many_random_programs_compute_what_numpy_does() -> None:
    """B12: enough to see every operator, function, dtype and form."""
    seen: Counter[str] = Counter()
    for seed in range(900, 936):
        run(seed, seen)
    assert min(seen.values()) > 0, seen


def test_a_scaled_sum_takes_its_outputs_last_or_in_out_or_allocates_them() -> None:
    """B12, B2: the founding example; shapes and dtypes of the first call, and of the next."""
    scale = inarch.compute(SCALE)
    assert str(scale) == f"(s, A, B, C) -> (C): {SCALE}"
    for dtype, n in (
        (np.float32, 5),
        (np.float64, 5),
        (np.float32, 3),
        (np.int32, 4),
        (np.float32, 0),
    ):
        a, b = np.arange(n).astype(dtype), np.ones(n, dtype)
        c, d = np.empty(n, dtype), np.empty(n, dtype)
        made = scale(3, a, b)
        assert made.dtype == dtype
        assert scale(3, a, b, c) is c
        assert scale(A=a, B=b, s=np.float64(3) if dtype != np.int32 else np.int64(3), out=d) is d
        for each in (made, c, d, scale(np.asarray(3, dtype), a, b)):
            np.testing.assert_array_equal(each, 3 * (a + b))


def test_the_order_of_arguments_is_the_callers() -> None:
    """B2: scalars mix with tensors, the output before the scale."""
    scale = inarch.compute("for i in N: z[i] = scale * (x[i] + y[i])", arguments="x, y, z, scale")
    x, z = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    assert scale(x, x, z, 10.0) is z
    np.testing.assert_array_equal(z, 20 * x)
    np.testing.assert_array_equal(scale(x, x, 0.5), x)
    assert (scale.constants, scale.outputs) == (("x", "y", "scale"), ("z",))


@pytest.mark.parametrize(
    ("order", "wrong", "message"),
    [
        (
            "C, B, A, s",
            "A, C",
            "argument 'A': expected 4 in dimension 0 (N, as of B), found shape (5,)",
        ),
        (
            "C, B, A, s",
            "B",
            "argument 'A': expected 5 in dimension 0 (N, as of B), found shape (4,)",
        ),
        (
            "s, A, B, C",
            "A",
            "argument 'B': expected 5 in dimension 0 (N, as of A), found shape (4,)",
        ),
        ("C, B, A, s", "/B, C", "output 'C': expected f32[4] in row-major order, found strides"),
        (
            "B, C, A, s",
            "/A, B, C",
            "argument 'B': expected f32[4] in row-major order, found strides",
        ),
        ("s, C, B, A", "/s, C, A", "argument 's': expected f32[], found 1e+39, which is too large"),
        ("C, A, s, B", "/s, C, A", "output 'C': expected f32[4] in row-major order, found strides"),
    ],
)
def test_of_several_that_do_not_fit_the_first_of_the_call_is_named(
    order: str, wrong: str, message: str
) -> None:
    """By position and by name; sizes are those of inputs, which outputs have to fit. `/`: of a layout."""
    scale = inarch.compute("for i in N: C[i] = s * (A[i] + B[i])", arguments=order)
    names, faults = order.split(", "), wrong.strip("/").split(", ")
    size, step = (8, 2) if wrong[0] == "/" else (5, 1)
    given: dict[str, object] = {name: np.ones(4, np.float32) for name in names}
    given["s"] = 2.0
    given.update({name: np.ones(size, np.float32)[::step] for name in faults})
    if "s" in faults:
        given["s"] = 1e39
    for call in (lambda: scale(*given.values()), lambda: scale(**given)):
        with pytest.raises(ArgumentError) as raised:
            call()
        assert str(raised.value).startswith(f"compute: {message}")


def test_an_update_rule_of_an_optimiser_is_in_place() -> None:
    """B12: momentum and weight decay; three steps, against NumPy."""
    step = inarch.compute("""
        for i in N: m[i] = mu * m[i] + g[i]
        for i in N: w[i] = w[i] -
                    lr * (m[i]
                          + wd * w[i])
    """, arguments="w, m, g, lr, mu, wd")  # fmt: skip
    generator = np.random.default_rng(0)
    w, m = generator.normal(size=100), np.zeros(100)
    wanted, momentum, weights = w.copy(), m.copy(), w
    for _ in range(3):
        g = generator.normal(size=100)
        assert step(w, m, g, 0.1, 0.9, 0.01)[1] is w
        momentum = 0.9 * momentum + g
        wanted = wanted - 0.1 * (momentum + 0.01 * wanted)
    np.testing.assert_allclose(weights, wanted, rtol=1e-12)
    np.testing.assert_allclose(m, momentum, rtol=1e-12)


def test_an_input_may_be_the_memory_of_an_output_where_it_is_read_first() -> None:
    a, b = np.arange(6.0), np.ones(6)
    scale = inarch.compute(SCALE)
    assert scale(2, a, b, a) is a
    np.testing.assert_array_equal(a, 2 * (np.arange(6.0) + 1))
    assert scale(1, a, a, out=a) is a
    np.testing.assert_array_equal(a, 4 * (np.arange(6.0) + 1))
    added = inarch.compute("for i in N: C[i] += A[i]")
    np.testing.assert_array_equal(added(a, a), 8 * (np.arange(6.0) + 1))
    # Read again after it was written, elsewhere, or in a sum: not in place.
    for text, why in (
        ("for i in 6: C[i] = 0; for k in 6: C[i] += A[k]", "is read elsewhere than where C is written"),
        ("for i in 6: C[i] = A[5 - i]", "is read elsewhere than where C is written"),
        ("for i in 6: C[i] = A[i]\nfor i in 6: D[i] = A[i]", "is read elsewhere than where C is written"),
    ):  # fmt: skip
        function = inarch.compute(text)
        with pytest.raises(ArgumentError) as raised:
            function(A=a, C=a)
        assert raised.value.line() == (
            "error: compute: output 'C': expected memory of its own, found that of argument 'A', "
            f"which {why}"
        )
    with pytest.raises(ArgumentError, match="'A', which overlaps it"):
        scale(1, a[:5], b[:5], a[1:])
    with pytest.raises(
        ArgumentError, match="output 'C': expected memory of its own, found that of 'D'"
    ):
        inarch.compute("for i in 6: C[i] = A[i]\nfor i in 6: D[i] = A[i]")(b, a, a)


def test_an_output_that_begins_anew_forgets_what_it_held() -> None:
    product = inarch.compute(
        "for m in M, n in N: C[m, n] = 0; for k in K: C[m, n] += A[m, k] * B[k, n]"
    )
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    dirty = np.full((2, 4), 7.0)
    np.testing.assert_array_equal(product(a, b, dirty), a @ b)
    added = inarch.compute("for m in M, n in N, k in K: C[m, n] += A[m, k] * B[k, n]")
    np.testing.assert_array_equal(added(a, b, dirty), 2 * (a @ b))


def test_casts_of_floats_to_integers_and_numbers_that_are_only_cast() -> None:
    function = inarch.compute("for i in N: C[i] = i32(A[i]) + i32(s)")
    a = np.array([1.9, -1.9, 1e20, np.nan], np.float32)
    np.testing.assert_array_equal(function(a, 2.7), [3, 1, -(2**31) + 1, 2])


def test_a_rounded_product_is_marked_in_the_program() -> None:
    (statement,) = parse("for i in N, k in K: C[i] += rounded(A[i, k] * B[k])").statements
    body = body_of(statement.value, {"A": "f32", "B": "f32"}, "f32")
    product = body.result.owner
    assert isinstance(product, Operation)
    assert (product.name, ROUNDED in product.attributes) == ("arith.mulf", True)


def test_compiled_before_any_call_for_sizes_and_dtypes() -> None:
    function = inarch.compute(SCALE, sizes={"N": 4}, dtypes="f32")
    main = function.module().get_function("main")
    assert str(main) == "main(s: f32[], A: f32[4], B: f32[4]) -> (C: f32[4])"
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(main(np.float32(2), x, x), 4 * x)
    again: Computation = pickle.loads(pickle.dumps(function))
    np.testing.assert_array_equal(again(2, x, x), 4 * x)


COLD = """
import sys
import numpy as np
import inarch
a = np.arange(4, dtype=np.float32)
print(inarch.compute(sys.argv[1])(2.0, a, a).tolist(), "xdsl" in sys.modules)
"""


@pytest.mark.slow
def test_what_was_compiled_is_kept_for_the_next_process(tmp_path: Path) -> None:
    """Which needs no compiler then; another text is compiled."""
    shown: list[str] = []
    for text in (SCALE, SCALE, SCALE.replace("+", "-")):
        done = subprocess.run(
            [sys.executable, "-c", COLD, text],
            env={**os.environ, "INARCH_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        shown.append(done.stdout.strip())
    expected_of_sum = "[0.0, 4.0, 8.0, 12.0]"
    assert shown[0] == f"{expected_of_sum} True"
    changing = running() is None  # files of Inarch, as while it is worked on
    assert shown[1] == f"{expected_of_sum} {changing}"
    assert shown[2] == "[0.0, 0.0, 0.0, 0.0] True"


def test_a_first_call_by_several_threads_compiles_once() -> None:
    function = inarch.compute("for i in N: C[i] = A[i] * A[i] + 1")
    a = np.arange(50, dtype=np.float32)
    with ThreadPoolExecutor(4) as pool:
        results: list[Array] = list(pool.map(function, [a] * 16))
    for result in results:
        np.testing.assert_array_equal(result, a * a + 1)
    assert len({id(function.module(a)) for _ in range(3)}) == 1


A, B = np.zeros(4, np.float32), np.zeros(5, np.float32)
READ_ONLY = np.zeros(4, np.float32)
READ_ONLY.flags.writeable = False
ROWS = "for m in M, n in N: C[m, n] = A[m] + s"


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (SCALE, {},
         "compute: argument 's' is missing; expected 3 arguments (s, A, B), or 4 with the outputs (s, A, "
         "B, C)"),
        (SCALE, {"s": 1, "A": A, "B": A, "X": A}, "compute: no argument 'X'. Arguments: s, A, B, C"),
        (SCALE, {"s": 1, "A": A, "B": B},
         "compute: argument 'B': expected 4 in dimension 0 (N, as of A), found shape (5,)"),
        (SCALE, {"s": 1, "A": A, "B": 2.0},
         "compute: argument 'B': expected an array of rank 1, found a float"),
        (SCALE, {"s": "1", "A": A, "B": A},
         "compute: argument 's': expected an array of rank 0, found a str"),
        (SCALE, {"s": A, "A": A, "B": A}, "compute: argument 's': expected rank 0 (s[]), found shape (4,)"),
        (SCALE, {"s": 1, "A": A, "B": A.astype(np.complex64)},
         "compute: argument 'B': dtype 'complex64' is not supported; supported: "
         f"{', '.join(dtype.numpy for dtype in DTYPES.values())}"),
        (SCALE, {"s": 1, "A": A, "B": A, "out": (A, A)}, "compute: expected 1 in out (C), found 2"),
        (SCALE, {"s": 1, "A": A, "B": A, "C": A, "out": A}, "compute: argument 'C' is given twice"),
        (SCALE, {"s": 1, "A": A, "B": A, "C": READ_ONLY},
         "compute: output 'C': expected an array that can be written, found a read-only one"),
        (SCALE, {"s": 1, "A": A, "B": A, "C": 1.5},
         "compute: argument 'C': expected an array of rank 1, found a float"),
        (SCALE, {"s": 300, "A": A.astype(np.int8), "B": A.astype(np.int8)},
         "compute: argument 's': expected an integer from -128 to 127 (i8), found 300"),
        (SCALE, {"s": 0.5, "A": A.astype(np.int8), "B": A.astype(np.int8)},
         "compute: argument 's': expected an integer from -128 to 127 (i8), found 0.5"),
        (SCALE, {"s": 1, "A": A, "B": A.astype(np.float64)},
         "compute:1:13: expected one dtype in A[i] + B[i], found f32 and f64; cast one: f64(...)"),
        (SCALE, {"s": 1, "A": A, "B": A, "C": A.astype(np.float64)},
         "compute:1:13: expected a value of f64 for C, found s[] * (A[i] + B[i]) of f32; cast it: "
         "f64(...)"),
        ("for i in N: C[i] = exp(A[i])", {"A": A.astype(np.int32)},
         "compute:1:13: expected a float in exp(A[i]), found i32; cast it: f32(...)"),
        ("for i in N: C[i] = and(A[i], 3)", {"A": A.astype(np.float32)},
         "compute:1:13: expected an integer in and(A[i], 3), found f32; cast it: i32(...)"),
        ("for i in N: C[i] = A[i] + A[i]", {"A": A.astype(bool)},
         "compute:1:13: expected numbers in A[i] + A[i], found i1; cast it: f32(...)"),
        ("for i in N: C[i] = A[i] * 0.5", {"A": A.astype(np.int32)},
         "compute:1:13: expected a number of i32, found 0.5; cast what it meets: f32(...)"),
        ("for i in N: C[i] = A[i] + A[i + 1]", {"A": A},
         "compute: A[i + 1] reaches 4 in dimension 0 of A, whose shape is (4,)"),
        ("for i in N: C[i] += A[i]", {"A": A},
         "compute: argument 'C', which is updated, is missing; expected 2 arguments (A, C)"),
        ("for i in N, k in K: C[i] += A[i + k] * 2", {"A": A, "C": A[:2].copy()},
         "compute: expected a value of size K, which no shape says; give sizes={'K': ...}"),
        (ROWS, {"A": A, "s": 1},
         "compute: expected a value of size N, which no shape says; give sizes={'N': ...}, or the output "
         "C"),
        ("for i in 4: C[i] = s", {"s": 1.5},
         "compute: expected a dtype of C, which nothing says; give it as an array, or dtypes={'C': 'f32'}"),
        ("for i in N: C[i] = A[i] + s; C[i] = f32(f64(C[i]) * s)", {"A": A, "s": 1.5},
         "compute:1:30: expected one dtype of the number s, found f32 and f64; give an array of no "
         "dimensions"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_one_line(text: str, arguments: dict[str, object], message: str) -> None:
    """B12: what was expected, and what was found."""
    with pytest.raises(InarchError) as raised:
        inarch.compute(text)(**arguments)
    assert str(raised.value) == message


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "compute:1:1: error: expected a meaning, found an empty one"),
        ("for i in N: C[i] = A[i] +", "compute:1:26: error: expected an expression, found the end"),
        ("for i in N: C[i] = A[i]\nfor i in N: D[i] = ? A[i]",
         "compute:2:20: error: expected a meaning, found '?'"),
        ("for i in N: C[i] = i",
         "compute:1:21: error: expected '[' or '(' after i (an iterator is no value), found the end"),
        ("for i in N: C[i] = N * A[i]",
         "compute:1:20: error: N is a size already; expected another name for an operand"),
        ("for i in N: C[i] = A[i]\n\nfor i in N:\n  C[i] = sine(A[i])",
         f"compute:4:10: error: no function 'sine'. Known: {', '.join(sorted({*OF_MEANINGS, *DTYPES}))}"),
        ("for i in N: C[i] = A[i]\nfor i in N, j in N: D[i, j] = A[i, j]",
         "compute:2:31: error: expected operand A of rank 1 as before, found 2 indices"),
        ("for i in N: w[i] = w[i + 1]", "compute:1:13: error: expected w to be read where it is written"),
        ("for i in N: s[i] = s",
         "compute:1:20: error: expected operand s of rank 1 as before, found 0 indices"),
        ("for i in N: C[i] = A[j]",
         "compute:1:22: error: expected an iterator, a number or a size that is known, found 'j', which no "
         "'for' has and no shape says; give sizes={'j': ...} where it is a size"),
        ("for i in N: C[i] = A[i]; for i in N: D[i] = C[i + ]",
         "compute:1:51: error: expected an index (an iterator, a number or a name), found ']'"),
    ],
)  # fmt: skip
def test_an_error_of_the_text_is_located(text: str, message: str) -> None:
    """In one line; a note has the line of the text, with a mark under the column."""
    with pytest.raises(InarchError) as raised:
        inarch.compute(text)
    assert raised.value.line() == message
    if text:
        line, column = map(int, message.split(":")[1:3])
        shown = text.splitlines()[line - 1]
        assert raised.value.__notes__ == [f"  {shown}\n  {' ' * (column - 1)}^"]


def test_dtypes_that_do_not_fit_are_marked_in_the_text() -> None:
    function = inarch.compute("\tfor i in N: C[i] = A[i] + B[i]")
    with pytest.raises(InarchError) as raised:
        function(A=np.ones(3, np.float32), B=np.ones(3))
    assert raised.value.__notes__ == [f"  \tfor i in N: C[i] = A[i] + B[i]\n  \t{' ' * 12}^"]


def test_meanings_stand_on_one_line() -> None:
    """Behind `;` a `for` begins another meaning where it is no loop of a statement."""
    a, b = np.arange(3, dtype=np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)
    both = inarch.compute("for i in N: C[i] = A[i] * 2; for i in N: D[i] = C[i] + 1")
    np.testing.assert_array_equal(both(a)[1], 2 * a + 1)
    others = inarch.compute(
        "for i in N: C[i] = A[i] * 2; for j in M: D[j] = 0; for i in N: D[j] += B[i, j]"
    )
    found = others(a, b)
    np.testing.assert_array_equal(found[0], 2 * a)
    np.testing.assert_array_equal(found[1], b.sum(0))
    twice = inarch.compute("for i in N: w[i] = 2 * w[i]; for i in N: w[i] = w[i] + 1")
    np.testing.assert_array_equal(twice(a.copy()), 2 * a + 1)
    inner = inarch.compute("for i in N: C[i] = 0; for j in M: C[i] += B[i, j]; C[i] = -C[i]")
    np.testing.assert_array_equal(inner(b), -b.sum(1))


def test_a_size_in_an_index_alone_is_given() -> None:
    shifted = inarch.compute("for i in N: C[i] = A[i + S]", sizes={"S": 2, "N": 3})
    np.testing.assert_array_equal(shifted(np.arange(5, dtype=np.float32)), [2, 3, 4])


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"arguments": "A, B, C"},
         "compute: expected arguments that name each of s, A, B, C once, found A, B, C"),
        ({"arguments": "A, B, C, S"}, "no operand 'S' in the text of compute. Known: A, B, C, s"),
        ({"sizes": {"M": 4}}, "no size 'M' in the text of compute. Known: N"),
        ({"sizes": {"N": -4}}, "compute: expected an integer of 0 or more for size N, found -4"),
        ({"dtypes": "float"},
         f"no dtype 'float' in dtypes of operand s. Known: {', '.join(sorted(DTYPES))}"),
        ({"targets": "native"}, "no option 'targets'; did you mean 'target'?"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_one_line(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InarchError) as raised:
        inarch.compute(SCALE, **settings)  # pyright: ignore[reportArgumentType] - a caller's
    assert str(raised.value).startswith(message)


class OfAnotherFramework:
    """What has `__dlpack__` and nothing else of NumPy."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)  # pyright: ignore[reportArgumentType, reportCallIssue]

    def __dlpack_device__(self) -> object:
        return self.array.__dlpack_device__()


def test_arrays_of_other_frameworks_share_their_memory() -> None:
    """B12, B3: read, and written, through DLPack."""
    a, c = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    out = OfAnotherFramework(c)
    assert inarch.compute(SCALE)(2.0, OfAnotherFramework(a), a, out) is out
    np.testing.assert_array_equal(c, 4 * a)
