"""An arg-reduction in C: many candidates side by side, each of which sees its own elements in their order.

Along the reduction, where its mode is `vector`: each lane of some vectors has a value and where it was. They
are put together at the end, by the whole rule, and so is what the last whole vector left over:

    for (k = 0; k < 1024; k += 64) {                 best_0 .. best_3 of 16 lanes, and at_0 .. at_3
        mask = x[k .. k + 15] comes before best_0;  best_0 = mask ? x : best_0;  at_0 = mask ? k : at_0; ...
    }

Across it, where one loop is inside of the reduction: a strip of columns, whose values and places are in
arrays that the first-level cache holds, loaded and stored once for ROWS rows.

An element that comes behind is taken only where it is better, or as good where the last of equals is looked
for: places need no comparison, and are in integers as wide as the elements. No result depends on how many
lanes there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.backends.c.plan.linear import Index, LoopNest, PointerAccess
from inarch.backends.c.write.loops import open_loops
from inarch.backends.c.write.scope import Scope, Values, VectorType, initial_text
from inarch.backends.c.write.value.candidates import (
    comes_before,
    comes_later,
    compared_as,
    first_value,
)
from inarch.backends.c.write.value.points import accumulate, finish_point
from inarch.backends.c.write.value.vectors import (
    Value,
    evaluate_values,
    lanes_of,
    load,
    splat,
    store,
)
from inarch.core.dtypes import DTYPES, DType
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.scalar import PointOp
from inarch.ir.types import dtype_of
from inarch.passes.loop.nests.arg_reduce import (
    ArgReduction,
    match_arg_reduction,
    sources_of,
)

CHAINS = 4
"""Vectors of candidates: a step of one does not wait for that of another."""
ROWS = 4
"""Rows for which the candidates of a strip are loaded and stored once."""
_SMALLEST = 16
"""Bytes of the vectors that every machine with vectors has."""


@dataclass(frozen=True)
class ArgForm:
    """An arg-reduction that is written in vectors, and along which loop."""

    found: ArgReduction
    place: Index
    reduction: int
    vector: int
    """The loop along the lanes: the reduction, or the one inside of it."""


def arg_form(op: NestOp, nest: LoopNest) -> ArgForm | None:
    """How a nest is written in vectors, if it is an arg-reduction, and scheduled as one."""
    reductions = [i for i, loop in enumerate(nest.loops) if loop.is_reduction]
    found = match_arg_reduction(op) if len(reductions) == 1 else None
    if found is None:
        return None
    (reduction,) = reductions
    place = dict(nest.points)[found.place.out]
    used = [access for _, access in _elements(op, nest, found)]
    if any(access.guards for access in (*used, *nest.writes)) or not _is_rising(
        op, nest, place, reduction
    ):
        return None
    if any(isinstance(each.owner, PointOp) for each in sources_of(found.x)):
        return None
    size = max(loop.size for loop in nest.loops[reduction:])
    if size >> (compared_as(found.order.dtype).bits - 2):
        return None
    inside = list(range(reduction + 1, len(nest.loops)))
    along = reduction if not inside else inside[0]
    wanted = "vector" if not inside else "serial"
    if len(inside) > 1 or nest.loops[along].mode != wanted:
        return None
    return ArgForm(found, place, reduction, along)


def _elements(
    op: NestOp, nest: LoopNest, found: ArgReduction
) -> list[tuple[SSAValue, PointerAccess]]:
    """The elements that are compared, as arguments of the body, and where they are."""
    sources = sources_of(found.x)
    pairs = zip(op.element_arguments(op.body), nest.reads, strict=True)
    return [(argument, access) for argument, access in pairs if argument in sources]


def _is_rising(op: NestOp, nest: LoopNest, place: Index, reduction: int) -> bool:
    """Whether a later point of the reduction has a place behind; none wraps in the position's dtype."""
    low, high = place.bounds([loop.size for loop in nest.loops]) if not nest.empty else (0, 0)
    limit = 1 << (dtype_of(memref_of(op.outs[1]).element_type).bits - 1)
    return place.coefficients[reduction] > 0 and -limit <= low and high < limit


def emit_arg_reduction(op: NestOp, nest: LoopNest, form: ArgForm, scope: Scope) -> None:
    """Writes `op` in its form."""
    values: list[str | int] = [loop.name for loop in nest.loops]
    open_loops(nest, range(form.reduction), values, (), scope)
    writer = _Writer(op, nest, form, values, scope)
    size = nest.loops[form.vector].size
    writer.lanes = max(1, scope.unit.vector_bytes // writer.dtype.nbytes)
    while writer.lanes > size:
        writer.lanes //= 2
    if form.vector == form.reduction:
        writer.rows()
    else:
        writer.strip()


@dataclass
class _Writer:
    op: NestOp
    nest: LoopNest
    form: ArgForm
    values: list[str | int]
    scope: Scope
    lanes: int = 1

    def __post_init__(self) -> None:
        order = self.form.found.order
        self.dtype: DType = compared_as(order.dtype)
        self.places: DType = DTYPES[f"i{self.dtype.bits}"]
        self.start: str = first_value(order)

    # -- types

    def _kind(self, lanes: int) -> VectorType:
        return self.scope.unit.vector(self.dtype, lanes)

    def _places(self, lanes: int) -> VectorType:
        return self.scope.unit.vector(self.places, lanes)

    # -- along the reduction

    def rows(self) -> None:
        """Candidates along the reduction; then what is left over, one by one."""
        nest, scope, lanes = self.nest, self.scope, self.lanes
        loop = nest.loops[self.form.reduction]
        names = [scope.names.fresh("acc") for _ in nest.writes]
        for name, write in zip(names, nest.writes, strict=True):
            scope.writer.line(
                f"{write.dtype.c} {name} = {initial_text(write, self.values, scope)};"
            )
        whole = 0
        if lanes > 1:
            chains = min(CHAINS, loop.size // lanes)
            whole = loop.size - loop.size % lanes
            depth = scope.writer.depth
            scope.writer.open()
            found = self._along(chains, whole)
            self._merge(names, *self._top(found))
            scope.writer.close(depth)
        if whole < loop.size:
            depth, inside = scope.writer.depth, scope.child()
            self._open(loop.name, whole, loop.size, 1)
            accumulate(self.op, nest, self.values, names, inside)
            scope.writer.close(depth)
        finish_point(self.op, nest, self.values, names, scope)

    def _along(self, chains: int, whole: int) -> list[tuple[str, str]]:
        """The loops over whole vectors: of all chains, then of the first. Values and where they were."""
        writer, lanes, names = self.scope.writer, self.lanes, self.scope.names
        kind, places = self._kind(lanes), self._places(lanes)
        found = [(names.fresh("best"), names.fresh("at")) for _ in range(chains)]
        for best, at in found:
            writer.line(f"{kind.c} {best} = {splat(self.start, kind)};")
            writer.line(f"{places.c} {at} = {{0}};")
        now = names.fresh("now")
        writer.line(f"{places.c} {now} = {{0}};")
        name = self.nest.loops[self.form.reduction].name
        many = whole - whole % (chains * lanes)
        for count, begin, end in ((chains, 0, many), (1, many, whole)):
            if begin == end:
                continue
            self._open(name, begin, end, count * lanes)
            for chain in range(count):
                place = f"({name} + {chain * lanes})" if chain else name
                x = self._x(self._at(self.form.reduction, place), lanes)
                self._step(x, now, *found[chain], lanes)
            writer.line(f"{now} += ({places.c}){splat(str(count * lanes), places)};")
            writer.close()
        return found

    def _top(self, found: list[tuple[str, str]]) -> tuple[str, str]:
        """The best of all lanes: its value, and the number of its point of the reduction."""
        writer, lanes = self.scope.writer, self.lanes
        places = self._places(lanes)
        for chain, (_, at) in enumerate(found):
            texts = lanes_of(str(chain * lanes + lane) for lane in range(lanes))
            writer.line(f"{at} += ({places.c}){texts};")
        left = list(found)
        while len(left) > 1:
            half = (len(left) + 1) // 2
            for one, other in zip(left, left[half:], strict=False):
                self._combine(one, other, lanes)
            left = left[:half]
        ((best, at),) = left
        while lanes * self.dtype.nbytes > _SMALLEST:
            lanes //= 2
            kind, places = self._kind(lanes), self._places(lanes)
            first, second = (
                (self._half(best, kind, part), self._half(at, places, part)) for part in (0, 1)
            )
            self._combine(first, second, lanes)
            best, at = first
        top, top_at = (self.scope.names.fresh(name) for name in ("top", "top_at"))
        writer.line(f"{self.dtype.c} {top} = {best}[0];")
        writer.line(f"int64_t {top_at} = {at}[0];")
        for lane in range(1, lanes):
            order = self.form.found.order
            one = (f"{best}[{lane}]", f"{at}[{lane}]")
            test = comes_before(order, *one, top, top_at, lanes=False)
            writer.open(f"if ({test})")
            writer.line(f"{top} = {one[0]};")
            writer.line(f"{top_at} = {one[1]};")
            writer.close()
        return top, top_at

    def _half(self, vector: str, kind: VectorType, part: int) -> str:
        name = self.scope.names.fresh("half")
        self.scope.writer.line(f"{kind.c} {name} = ((const {kind.memory} *)&{vector})[{part}];")
        return name

    # -- across it

    def strip(self) -> None:
        """Candidates of a strip of columns, in arrays."""
        nest, scope, lanes = self.nest, self.scope, self.lanes
        k, j = nest.loops[self.form.reduction], nest.loops[self.form.vector]
        best, at = (scope.names.fresh(name) for name in ("best", "at"))
        writer = scope.writer
        writer.line(f"{self.dtype.c} {best}[{j.size}];")
        writer.line(f"{self.places.c} {at}[{j.size}];")
        self._open(j.name, 0, j.size, 1)
        writer.line(f"{best}[{j.name}] = {self.start};")
        writer.line(f"{at}[{j.name}] = 0;")
        writer.close()
        many = k.size - k.size % ROWS
        for rows, begin, end in ((ROWS, 0, many), (1, many, k.size)):
            if begin == end:
                continue
            self._open(k.name, begin, end, rows)
            whole = j.size - j.size % lanes
            for width, first, last in ((lanes, 0, whole), (1, whole, j.size)):
                if first < last:
                    self._open(j.name, first, last, width)
                    self._columns(rows, width, best, at)
                    writer.close()
            writer.close()
        depth = writer.depth
        inside = scope.child()
        open_loops(nest, [self.form.vector], self.values, (), inside)
        names = [inside.names.fresh("acc") for _ in nest.writes]
        for name, write in zip(names, nest.writes, strict=True):
            writer.line(f"{write.dtype.c} {name} = {initial_text(write, self.values, inside)};")
        self._merge(names, f"{best}[{j.name}]", f"{at}[{j.name}]")
        finish_point(self.op, nest, self.values, names, inside)
        writer.close(depth)

    def _columns(self, rows: int, lanes: int, best: str, at: str) -> None:
        """Some rows of neighbouring columns."""
        k, j = (self.nest.loops[each].name for each in (self.form.reduction, self.form.vector))
        scope, writer = self.scope, self.scope.writer
        kind, places = self._kind(lanes), self._places(lanes)
        if lanes > 1:
            one, other = (scope.names.fresh(name) for name in ("b", "a"))
            writer.line(f"{kind.c} {one} = {load(best, j, kind)};")
            writer.line(f"{places.c} {other} = {load(at, j, places)};")
        else:
            one, other = f"{best}[{j}]", f"{at}[{j}]"
        for row in range(rows):
            place = f"({k} + {row})" if row else k
            x = self._x(self._at(self.form.reduction, place), lanes)
            number = f"({self.places.c}){place}"
            if lanes > 1:
                now = scope.names.fresh("now")
                writer.line(f"const {places.c} {now} = {splat(number, places)};")
                self._step(x, now, one, other, lanes)
            else:
                self._step(x, number, one, other, lanes)
        if lanes > 1:
            writer.line(store(best, j, kind, one))
            writer.line(store(at, j, places, other))

    # -- one element, or one of each lane

    def _open(self, name: str, begin: int, end: int, step: int) -> None:
        advance = f"{name}++" if step == 1 else f"{name} += {step}"
        self.scope.writer.open(f"for (int64_t {name} = {begin}; {name} < {end}; {advance})")

    def _at(self, loop: int, place: str) -> Values:
        return [place if each == loop else value for each, value in enumerate(self.values)]

    def _x(self, values: Values, lanes: int) -> str:
        """The name of what is compared, in the dtype in which it is."""
        scope, found = self.scope, self.form.found
        arguments: dict[SSAValue, Value] = {}
        for argument, access in _elements(self.op, self.nest, found):
            along = access.offset.coefficients[self.form.vector] if lanes > 1 else 0
            offset = access.offset.text(values)
            kind = scope.unit.vector(access.dtype, lanes)
            if along == 1:
                text = load(access.pointer, offset, kind)
            elif along:
                text = lanes_of(
                    f"{access.pointer}[{offset} + {lane * along}]" for lane in range(lanes)
                )
            else:
                text = f"{access.pointer}[{offset}]"
            c_type = kind.c if along else access.dtype.c
            arguments[argument] = Value(scope.declare(c_type, "x", text), along != 0)
        (value,) = evaluate_values([found.x], arguments, lanes, scope)
        return self._widened(value, lanes)

    def _widened(self, value: Value, lanes: int) -> str:
        scope, order = self.scope, self.form.found.order
        if lanes == 1:
            through = f"({order.dtype.c})" if self.dtype != order.dtype else ""
            return scope.declare(self.dtype.c, "x", f"({self.dtype.c}){through}({value.text})")
        kind = self._kind(lanes)
        if not value.is_vector:
            return scope.declare(
                kind.c, "x", splat(f"({self.dtype.c})({order.dtype.c})({value.text})", kind)
            )
        if self.dtype == order.dtype:
            same = value.text.isidentifier() and dtype_of(self.form.found.x.type) == order.dtype
            return value.text if same else scope.declare(kind.c, "x", f"({kind.c})({value.text})")
        own = scope.unit.vector(order.dtype, lanes)
        return scope.declare(
            kind.c, "x", f"__builtin_convertvector(({own.c})({value.text}), {kind.c})"
        )

    def _step(self, x: str, now: str, best: str, at: str, lanes: int) -> None:
        """Takes `x`, which is behind what has been seen, or leaves it."""
        order, writer = self.form.found.order, self.scope.writer
        test = comes_later(order, x, best, lanes=lanes > 1)
        if lanes == 1:
            writer.open(f"if ({test})")
            writer.line(f"{best} = {x};")
            writer.line(f"{at} = {now};")
            writer.close()
            return
        self._take(test, (x, now), (best, at), lanes)

    def _combine(self, one: tuple[str, str], other: tuple[str, str], lanes: int) -> None:
        """The better candidate of each lane, in `one`."""
        test = comes_before(self.form.found.order, *other, *one, lanes=True)
        self._take(test, other, one, lanes)

    def _take(self, test: str, new: tuple[str, str], old: tuple[str, str], lanes: int) -> None:
        writer, scope = self.scope.writer, self.scope
        kind, places = self._kind(lanes), self._places(lanes)
        mask = scope.declare(places.c, "mask", f"({places.c})({test})")
        (x, now), (best, at) = new, old
        p = places.c
        writer.line(f"{best} = ({kind.c})(({mask} & ({p}){x}) | (~{mask} & ({p}){best}));")
        writer.line(f"{at} = ({mask} & {now}) | (~{mask} & {at});")

    def _merge(self, names: Sequence[str], top: str, top_at: str) -> None:
        """Puts the best candidate and its place into the accumulators, if it comes before what they hold."""
        scope, order = self.scope, self.form.found.order
        value, position = self.nest.writes
        place = self.form.place.text(self._at(self.form.reduction, f"(int64_t){top_at}"))
        where = scope.declare("int64_t", "place", place)
        signed = f"({order.dtype.c})" if not order.dtype.is_float else ""
        held = f"({self.dtype.c}){signed}{names[0]}" if signed else names[0]
        test = comes_before(order, top, where, held, names[1], lanes=False)
        scope.writer.open(f"if ({test})")
        scope.writer.line(f"{names[0]} = ({value.dtype.c}){top};")
        scope.writer.line(f"{names[1]} = ({position.dtype.c}){where};")
        scope.writer.close()
