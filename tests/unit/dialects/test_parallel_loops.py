"""C4 of `loop.for`: of random parallel loops, those are accepted that are independent, by enumeration."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from xdsl.context import Context

from effort import effort
from inarch.core.errors import InarchError
from inarch.dialects.loop.dependence import equations
from inarch.dialects.loop.dependence.equations import Equation, Found, solve
from inarch.driver.compiler import new_context
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module

# ------------------------------------------------------------------------------ equations


@st.composite
def systems(draw: st.DrawFn) -> tuple[list[Equation], list[tuple[int, int]]]:
    count = draw(st.integers(1, 5))
    starts = [draw(st.integers(-4, 4)) for _ in range(count)]
    ranges = [(start, start + draw(st.integers(0, 4))) for start in starts]
    factors = st.sampled_from([-12, -8, -6, -4, -3, -2, -1, 0, 0, 1, 2, 3, 4, 6, 8, 12])
    made: list[Equation] = []
    for _ in range(draw(st.integers(1, 3))):
        row = [(position, draw(factors)) for position in range(count)]
        terms = tuple((position, factor) for position, factor in row if factor)
        made.append(Equation(terms, draw(st.integers(-20, 20))))
    return made, ranges


@given(systems(), st.integers(0, 2))
@settings(max_examples=effort(120, 400), deadline=None)
def test_a_system_is_solved_as_by_trying_all(
    system: tuple[list[Equation], list[tuple[int, int]]], keep: int
) -> None:
    rows, ranges = system
    keep = min(keep, len(ranges))
    points = itertools.product(*(range(low, high + 1) for low, high in ranges))
    solutions = {
        point[:keep]
        for point in points
        if all(sum(f * point[p] for p, f in row.terms) + row.constant == 0 for row in rows)
    }
    found = solve(rows, ranges, keep)
    if found is None:
        assert not solutions
    else:
        assert found.values in solutions


def test_a_search_that_is_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is not to say that there is a solution, or that there is none."""
    rows = [Equation(((0, 30), (1, 42), (2, 70), (3, 105)), -383)]
    ranges = [(0, 20)] * 4
    assert solve(rows, ranges) is None  # 383 is the largest number that is no such sum
    for halvings in range(4):
        monkeypatch.setattr(equations, "MOST_HALVINGS", halvings)
        assert solve(rows, ranges) == Found(None)


# ------------------------------------------------------------------------------ programs


@dataclass(frozen=True)
class Form:
    """`constant + sum of factor * the index of a loop`."""

    factors: Mapping[str, int]
    constant: int

    def at(self, point: Mapping[str, int]) -> int:
        return self.constant + sum(factor * point[name] for name, factor in self.factors.items())


@dataclass(frozen=True)
class Use:
    """A load or a store of the matrix: of an element, of its flat form, or of a tile that moves."""

    way: str
    writes: bool
    guarded: bool
    corner: tuple[Form, ...]
    """Of what is accessed, or of the tile."""
    inside: tuple[Form, ...]
    """In the tile."""
    steps: tuple[int, int]

    def element(self, point: Mapping[str, int]) -> tuple[int, ...]:
        corner = tuple(form.at(point) for form in self.corner)
        if not self.inside:
            return corner
        own = tuple(form.at(point) + (self.way == "part") for form in self.inside)
        return tuple(c + s * x for c, s, x in zip(corner, self.steps, own, strict=True))


@dataclass
class Program:
    """Loops `o` around a parallel one `i`, around `j` and `k`, and what is done in the middle."""

    loops: dict[str, range]
    uses: list[Use]
    shape: tuple[int, int] = (1, 1)
    lines: list[str] = field(default_factory=list[str])

    def points(self) -> Iterator[dict[str, int]]:
        for numbers in itertools.product(*self.loops.values()):
            yield dict(zip(self.loops, numbers, strict=True))

    def address(self, use: Use, point: Mapping[str, int]) -> int:
        index = use.element(point)
        return index[0] if use.way == "flat" else index[0] * self.shape[1] + index[1]

    def conflicts(self) -> set[tuple[int, int]]:
        """Pairs of iterations that touch one element, of which the first writes it."""
        touched: dict[tuple[int, int], list[tuple[int, bool]]] = {}
        for point in self.points():
            for use in self.uses:
                place = point.get("o", 0), self.address(use, point)
                touched.setdefault(place, []).append((point["i"], use.writes))
        return {
            (one, other)
            for each in touched.values()
            for (one, writes), (other, _) in itertools.product(each, each)
            if writes and one != other
        }

    # -- text

    def text(self) -> str:
        rows, columns = self.shape
        kind, flat = f"memref<{rows}x{columns}xf32>", f"memref<{rows * columns}xf32>"
        self.lines = []
        for use in self.uses:
            self._use(use, kind, flat)
        heads = [
            f"loop.for %{name} = {r.start} to {r.stop} step {r.step} {'parallel' if name == 'i' else ''} {{"
            for name, r in self.loops.items()
        ]
        body = "\n".join([*heads, *self.lines, *["loop.yield\n}"] * len(heads)])
        return (
            f"func.func @f(%a: {kind}, %n: index) {{\n%c = arith.constant 1.0 : f32\n"
            f"%t = arith.constant true\n%flat = loop.reshape %a : {kind} to {flat}\n"
            f"{body}\nfunc.return\n}}\n"
        )

    def _use(self, use: Use, kind: str, flat: str) -> None:
        if use.guarded:
            self.lines.append("scf.if %t {")
        at = [self._index(form) for form in use.corner]
        name, view = "%a", kind
        if use.way == "flat":
            name, view = "%flat", flat
        if use.inside:
            name, view = self._tile(use, at, kind)
            at = [self._index(form) for form in use.inside]
        if use.way == "row":
            at = at[1:]
        place = f"{name}[{', '.join(at)}] : {view}"
        self.lines.append(
            f"memref.store %c, {place}" if use.writes else f"%{self._new()} = memref.load {place}"
        )
        if use.guarded:
            self.lines.append("}")

    def _tile(self, use: Use, at: list[str], kind: str) -> tuple[str, str]:
        """A row without its first dimension; a tile, or a part without its first row and column."""
        sizes = [max(form.at(p) for p in self.points()) + 1 for form in use.inside]
        columns = self.shape[1]
        steps = [*use.steps]
        strides = [columns * steps[0], steps[1]]
        name = f"%{self._new()}"
        if use.way == "row":
            view = f"memref<{sizes[1]}xf32, strided<[{strides[1]}], offset: ?>>"
            sizes = [1, sizes[1]]
        else:
            more = int(use.way == "part")
            sizes = [size + more for size in sizes]
            view = f"memref<{sizes[0]}x{sizes[1]}xf32, strided<{strides}, offset: ?>>"
        self.lines.append(
            f"{name} = memref.subview %a[{', '.join(at)}] {sizes} {steps} : {kind} to {view}"
        )
        if use.way != "part":
            return name, view
        second = f"%{self._new()}"
        sizes = [size - 1 for size in sizes]
        inner = f"memref<{sizes[0]}x{sizes[1]}xf32, strided<{strides}, offset: ?>>"
        self.lines.append(
            f"{second} = memref.subview {name}[1, 1] {sizes} [1, 1] : {view} to {inner}"
        )
        return second, inner

    def _index(self, form: Form) -> str:
        total = self._emit(f"arith.constant {form.constant} : index")
        for name, factor in form.factors.items():
            by = self._emit(f"arith.constant {abs(factor)} : index")
            term = self._emit(f"arith.muli %{name}, {by} : index")
            sign = "addi" if factor >= 0 else "subi"
            total = self._emit(f"arith.{sign} {total}, {term} : index")
        return total

    def _emit(self, text: str) -> str:
        name = f"%{self._new()}"
        self.lines.append(f"{name} = {text}")
        return name

    def _new(self) -> str:
        return f"v{len(self.lines)}"


WAYS = ("element", "element", "flat", "flat", "row", "tile", "part")


@st.composite
def programs(draw: st.DrawFn) -> Program:
    names = [name for name in "oijk" if name == "i" or draw(st.booleans())]
    loops: dict[str, range] = {}
    for name in names:
        start, step = draw(st.integers(-1, 2)), draw(st.integers(1, 3))
        count = draw(st.integers(2 if name == "i" else 1, 4))
        loops[name] = range(start, start + step * (count - 1) + 1, step)
    program = Program(loops, [])
    factors, moves = st.sampled_from([0, 0, 1, 1, 2, -1, 3, 4, -4, 8]), st.integers(0, 3)

    def form() -> Form:
        own = {name: factor for name in names if (factor := draw(factors))}
        bare = Form(own, 0)
        lowest = min(bare.at(point) for point in program.points())
        return Form(own, draw(st.integers(0, 2)) - lowest)

    for _ in range(draw(st.integers(1, 3))):
        if program.uses and draw(st.booleans()):  # near another one
            near = draw(st.sampled_from(program.uses))
            moved = tuple(replace(f, constant=f.constant + draw(moves)) for f in near.corner)
            program.uses.append(replace(near, corner=moved, writes=draw(st.booleans())))
            continue
        way = draw(st.sampled_from(WAYS))
        corner = (form(),) if way == "flat" else (form(), form())
        inside: tuple[Form, ...] = ()
        steps = 1, 1
        if way in ("row", "tile", "part"):
            inside = (Form({}, 0) if way == "row" else form(), form())
            steps = draw(st.integers(1, 2)), draw(st.integers(1, 2))
        writes = draw(st.integers(0, 2)) > 0
        program.uses.append(Use(way, writes, draw(st.integers(0, 4)) == 0, corner, inside, steps))
    _size(program)
    return program


def _size(program: Program) -> None:
    """The smallest matrix that has all that is accessed, and the tiles."""
    rows, columns, flat = 1, 1, 1
    for use in program.uses:
        found = [use.element(point) for point in program.points()]
        if use.way == "flat":
            flat = max(flat, *(at[0] + 1 for at in found))
            continue
        corners = [tuple(form.at(point) for form in use.corner) for point in program.points()]
        sizes = [max(form.at(p) for p in program.points()) for form in use.inside] or [0, 0]
        more = int(use.way == "part")
        rows = max(rows, max(c[0] for c in corners) + use.steps[0] * (sizes[0] + more) + 1)
        columns = max(columns, max(c[1] for c in corners) + use.steps[1] * (sizes[1] + more) + 1)
    program.shape = max(rows, -(-flat // columns)), columns


CERTAIN = re.compile(
    r"<text>:\d+:\d+: 'loop.for' C4: expected independent iterations of a parallel loop, found a "
    r"(write|read) of .*? where %i = (?P<first>-?\d+) and a (write|read) of .*? where %i = "
    r"(?P<second>-?\d+), of one element( if both happen)?; make the loop serial"
)


@cache
def _context() -> Context:
    return new_context()


def refusal(text: str) -> str | None:
    module = parse_module(_context(), text, "<text>")
    try:
        verify_module(module)
    except InarchError as error:
        return str(error)
    return None


def test_what_is_refused_has_a_dependence_and_nothing_else_has() -> None:
    """Exact, also through views: where it is refused, the two iterations that are named do meet."""
    seen: Counter[str] = Counter()
    count = effort(120, 400)

    @given(programs())
    @settings(max_examples=count, deadline=None)
    def check(program: Program) -> None:
        conflicts = program.conflicts()
        message = refusal(program.text())
        seen["dependent" if conflicts else "independent"] += 1
        if message is None:
            assert not conflicts
            return
        if "cannot be shown" in message:
            seen["not seen"] += 1
            return
        found = CERTAIN.fullmatch(message)
        assert found is not None, message
        pair = int(found["first"]), int(found["second"])
        assert pair[0] < pair[1]
        assert pair in conflicts or pair[::-1] in conflicts

    check()
    assert seen["dependent"] > count / 20
    assert seen["independent"] > count / 5
    assert seen["not seen"] <= 2, "of small programs, all are decided"


# ------------------------------------------------------------------------------ what is not seen

UNSEEN = (
    "<text>:{}: 'loop.for' C4: expected independent iterations of a parallel loop, found a write of {} "
    "and a write of {}, which cannot be shown to be of different elements in different iterations; make the "
    "loop serial"
)


def test_an_index_that_comes_round_is_not_followed() -> None:
    """`i * 2**64` is 0 in 64 bits, for all i; under a condition nothing else looks at it."""
    text = """func.func @f(%y: memref<8xf32>, %flag: i1) {
%c = arith.constant 1.0 : f32
%half = arith.constant 4294967296 : index
loop.for %i = 0 to 8 parallel {
  %0 = arith.muli %i, %half : index
  %far = arith.muli %0, %half : index
  scf.if %flag {
    memref.store %c, %y[%far] : memref<8xf32>
  }
  loop.yield
}
func.return
}
"""
    assert refusal(text) == UNSEEN.format("4:1", "%y[%far]", "%y[%far]")


def test_a_function_that_is_called_in_its_own_loop_is_not_followed() -> None:
    text = """func.func private @f(%y: memref<8xf32>) {
%c = arith.constant 1.0 : f32
loop.for %i = 0 to 8 parallel {
  memref.store %c, %y[%i] : memref<8xf32>
  loop.call @f(%y) : memref<8xf32>
  loop.yield
}
func.return
}
"""
    assert refusal(text) == UNSEEN.format("3:1", "%y[%i]", "%y")


def test_functions_that_call_one_another_are_walked_once() -> None:
    """Each of 40 calls the next one twice: 2**40 walks."""
    kind = "memref<8xf32>"
    functions = "".join(
        f"func.func private @f{n}(%a: {kind}) {{\n"
        f"loop.call @f{n + 1}(%a) : {kind}\nloop.call @f{n + 1}(%a) : {kind}\nfunc.return\n}}\n"
        for n in range(40)
    )
    text = f"""func.func @main(%y: {kind}, %z: {kind}) {{
loop.for %i = 0 to 8 parallel {{
  loop.call @f0(%y) : {kind}
  loop.yield
}}
func.return
}}
{functions}func.func private @f40(%a: {kind}) {{
%z = arith.constant 0 : index
BODY
func.return
}}
"""
    assert refusal(text.replace("BODY", f"%x = memref.load %a[%z] : {kind}")) is None
    stored = text.replace(
        "BODY", f"%c = arith.constant 1.0 : f32\nmemref.store %c, %a[%z] : {kind}"
    )
    assert refusal(stored) == (
        "<text>:2:1: 'loop.for' C4: expected independent iterations of a parallel loop, found a write of "
        "%a[0] in @f40 where %i = 0 and a write of %a[0] in @f40 where %i = 1, of one element; make "
        "the loop serial"
    )
