"""The statements of a meaning on buffers: what a microkernel does, whoever calls it.

An expression is evaluated as the block of IR that it stands for (`inarch.dialects.kernel.body`), by the
definitions of that block's ops. All parallel points are evaluated at once, those of a reduction are folded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.ir import Operation

from inarch.core.dtypes import from_numpy
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.definitions.access import Access, with_garbage
from inarch.definitions.buffers import Buffer, Domain, broadcast, buffer_of, contents, span
from inarch.definitions.elements import Element, fold, without
from inarch.definitions.frame import Frame, RunState, outside
from inarch.definitions.ops.points import Points
from inarch.dialects.kernel.body import Body, body_of
from inarch.ir.context import ConstantStore
from inarch.meaning import OPERATORS, Apply, Expression, Meaning, Statement, written
from inarch.meaning import Element as Named


def evaluate(meaning: Meaning, arrays: Mapping[str, Array], domain: Domain) -> Element:
    """The written operand after the statements. No size is free, no array is changed.

    Buffers are signless: unsigned integers are the signed ones of their bits, which the meaning casts.
    """
    buffers = {name: buffer_of(domain, _signless(array)) for name, array in arrays.items()}
    operands = {
        name: Operand(buffer, from_numpy(buffer.dtype.name).name, buffer.strides)
        for name, buffer in buffers.items()
    }
    frame = Frame(RunState({}, {}, ConstantStore(), domain))
    with np.errstate(all="ignore"):
        Statements(frame, meaning, operands).run()
    return contents(domain, buffers[written(meaning)])


def _signless(array: Array) -> Array:
    return array.view(array.dtype.name.removeprefix("u")) if array.dtype.kind == "u" else array


@dataclass(frozen=True)
class Operand:
    """Where an operand is: element `offset + sum of strides[d] * i[d]` of its buffer has index `i`."""

    buffer: Buffer
    dtype: str
    strides: tuple[int, ...]
    around: tuple[int, ...] = ()
    """The strides of the loops around the kernel."""
    offset: int = 0


@dataclass(frozen=True)
class Statements:
    """What runs a meaning without free sizes on the operands that it names."""

    frame: Frame
    meaning: Meaning
    operands: Mapping[str, Operand]
    around: tuple[int, ...] = ()
    """The sizes of the loops around the kernel, all of whose points are run at once."""
    op: Operation | None = None
    """The call; none: what it reads was all written."""

    def run(self) -> None:
        """Each statement at all its points, one after the other."""
        for statement in self.meaning.statements:
            self._run(statement)

    def _run(self, statement: Statement) -> None:
        """`target operator value`; iterators that the target does not use are reductions."""
        used = [str(index[0].iterator) for index in statement.target.indices]
        iterators = (*self.meaning.iterators, *statement.iterators)
        extents = {each.name: int(each.size) for each in iterators}
        rest = [name for name in extents if name not in used]
        reduced = tuple(extents[name] for name in rest)
        parallel = (*self.around, *(extents[name] for name in used))
        if 0 in (*reduced, *parallel):
            return
        grid = _Grid(self, (*rest, *used), len(rest), (*reduced, *parallel))
        dtypes = tuple((name, operand.dtype) for name, operand in self.operands.items())
        output = self.operands[statement.target.operand]
        body = _body(statement.value, dtypes, output.dtype)
        reads = [grid.access(each, is_read=True) for each in body.elements]
        combine = OPERATORS[statement.operator]
        target = grid.access(statement.target, is_read=combine is not None)
        origin = [0] * len(parallel)
        result: Element = None
        if combine is not None:
            ones = [1] * len(rest)
            result = target.at(self.frame, [0] * len(grid.shape), [*ones, *parallel])
        for starts, sizes in Points((), reduced, parallel).chunks():
            box = (*sizes, *parallel)
            found = [access.at(self.frame, [*starts, *origin], box) for access in reads]
            value = self._evaluate(body, found)
            if combine is None:
                result = value
                continue
            terms = broadcast(self.frame.domain, value, box)
            result = self._fold(combine, output.dtype, terms, len(rest), result)
        self._write(target, output.buffer, result, len(rest), parallel)

    def _evaluate(self, body: Body, arguments: Sequence[Element]) -> Element:
        (value,) = Frame(self.frame.state).run(body.block, arguments)
        return value

    def _fold(
        self, function: str, dtype: str, terms: Element, count: int, start: Element
    ) -> Element:
        """`start` and the terms along their first `count` axes."""
        body = _combination(function, dtype)

        def combine(a: Element, b: Element) -> Element:
            return self._evaluate(body, (a, b))

        op = body.block.first_op
        assert op is not None, "it combines"
        return (
            fold(op.name, terms, range(count), combine, start) if count else combine(start, terms)
        )

    def _write(
        self, target: Access, buffer: Buffer, value: Element, skip: int, shape: tuple[int, ...]
    ) -> None:
        strides = target.strides[skip:]
        views = buffer.views(target.offset, shape, strides)
        for view, part in zip(views, self.frame.domain.parts(value), strict=True):
            view[...] = without(part, len(shape))
        buffer.mark(target.offset, shape, strides)


@dataclass(frozen=True)
class _Grid:
    """The points of a statement: the axes of its reductions, of the loops around, of its target."""

    run: Statements
    names: tuple[str, ...]
    skip: int
    shape: tuple[int, ...]

    def access(self, element: Named, *, is_read: bool) -> Access:
        """Where an element is in its operand's buffer. Raises outside of it."""
        operand = self.run.operands[element.operand]
        buffer, offset = operand.buffer, operand.offset
        own = dict.fromkeys(self.names, 0)
        for index, stride in zip(element.indices, operand.strides, strict=True):
            for term in index:
                factor = stride * math.prod(int(each) for each in term.factors)
                if term.iterator is None:
                    offset += factor
                else:
                    own[term.iterator] += factor
        lines = [own[name] for name in self.names]
        strides = (*lines[: self.skip], *operand.around, *lines[self.skip :])
        low, high = span(offset, self.shape, strides)
        last = _last(buffer)
        if low < 0 or high > last:
            message = (
                f"operand {element.operand} touches elements {low} to {high}, outside of a buffer that "
                f"has 0 to {last}"
            )
            op = self.run.op
            raise InarchError(message) if op is None else outside(op, message)
        start = buffer.offset + offset
        if is_read and self.run.op is not None and buffer.has_unwritten(start, self.shape, strides):
            box = [(0, size - 1) for size in buffer.shape]
            buffer = with_garbage(self.run.op, self.run.frame, buffer, box)
        return Access(buffer, start, strides)


@lru_cache(maxsize=256)
def _body(value: Expression, dtypes: tuple[tuple[str, str], ...], dtype: str) -> Body:
    """The block of a statement's value: a kernel is called at many points."""
    return body_of(value, dict(dtypes), dtype)


@lru_cache(maxsize=64)
def _combination(function: str, dtype: str) -> Body:
    """The block of a function of two numbers."""
    pair = (Named("A", ()), Named("B", ()))
    return body_of(Apply(function, pair), {"A": dtype, "B": dtype}, dtype)


def _last(buffer: Buffer) -> int:
    """The last element that a buffer has, counted in memory from its first."""
    if 0 in buffer.shape:
        return -1
    return sum(s * (n - 1) for s, n in zip(buffer.strides, buffer.shape, strict=True))
