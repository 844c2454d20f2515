"""`kernel`: a call does what its microkernel's meaning says; the C of it is never looked at."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from inarch.core.dtypes import DTYPES
from inarch.core.lazy import np
from inarch.core.scalars.functions import FUNCTIONS, OF_MEANINGS
from inarch.definitions import elements as e
from inarch.definitions.access import Access, read_access, with_garbage
from inarch.definitions.buffers import Buffer, span
from inarch.definitions.frame import Definition, Frame, outside, storage_dtype
from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.pack import PackOp
from inarch.ir.types import mlir_type
from inarch.meaning import (
    OPERATORS,
    Apply,
    Element,
    Expression,
    Meaning,
    Number,
    Statement,
    bind,
    elements,
    free_sizes,
    parse,
)

_CHUNK = 1 << 18
"""Points that are computed at once, at least where the parallel ones are fewer."""


def _define(op: Operation, frame: Frame) -> None:
    """Does nothing: it is called."""
    del op, frame


def _pack(op: Operation, frame: Frame) -> None:
    """`dst[i] = src[map(i)]`, 0 outside."""
    assert isinstance(op, PackOp)
    source, target = frame.buffer(op.src), frame.buffer(op.dst)
    if 0 in target.shape:
        return
    access = read_access(op, frame, source, op.map.data, target.shape, 0)
    found = access.at(frame, [0] * len(target.shape), target.shape)
    views = target.views(target.offset, target.shape, target.strides)
    for view, part in zip(views, frame.domain.parts(found), strict=True):
        view[...] = np.array(part)
    target.mark(target.offset, target.shape, target.strides)


def _call(op: Operation, frame: Frame) -> None:
    """The statements at each point: in order along reductions, all parallel points at once."""
    assert isinstance(op, CallOp)
    definition = frame.state.symbols[op.callee.root_reference.data]
    assert isinstance(definition, DefOp), "the verifier has seen to it"
    meaning = parse(definition.computes.data)
    meaning = bind(meaning, dict(zip(free_sizes(meaning), op.size_values, strict=True)))
    if 0 in op.trip_counts:
        return
    run = _Run(op, frame, definition, meaning)
    reductions = [i for i, each in enumerate(op.iterators) if each.is_reduction]
    for point in itertools.product(*(range(op.trip_counts[i]) for i in reductions)):
        fixed = dict(zip(reductions, point, strict=True))
        for statement in meaning.statements:
            run.statement(statement, fixed)


@dataclass
class _Run:
    """One call: its operands' buffers, and the loops around it as the first axes."""

    op: CallOp
    frame: Frame
    definition: DefOp
    meaning: Meaning

    def __post_init__(self) -> None:
        labels = [operand.label.data for operand in self.definition.arguments]
        self.position = {label: number for number, label in enumerate(labels)}
        self.dtypes = {
            operand.label.data: storage_dtype(operand.dtype)
            for operand in self.definition.arguments
        }
        self.around = [i for i, each in enumerate(self.op.iterators) if not each.is_reduction]

    def statement(self, statement: Statement, fixed: Mapping[int, int]) -> None:
        """`target operator value` for every parallel point; the other iterators are folded."""
        used = [str(index[0].iterator) for index in statement.target.indices]
        extents = {
            each.name: int(each.size) for each in (*self.meaning.iterators, *statement.iterators)
        }
        rest = [name for name in extents if name not in used]
        names = [*rest, *used]
        counts = [self.op.trip_counts[i] for i in self.around]
        shape = [*(extents[name] for name in rest), *counts, *(extents[name] for name in used)]
        if 0 in shape:
            return
        grid = _Grid(self, fixed, names, len(rest), tuple(shape))
        reads = {each: grid.access(each) for each in elements(statement.value)}
        target = grid.access(statement.target)
        updates = OPERATORS[statement.operator]
        parallel = tuple(shape[len(rest) :])
        old = None
        if updates is not None:
            old = target.at(self.frame, [0] * len(shape), [1] * len(rest) + list(parallel))
        for starts, sizes in _chunks(shape[: len(rest)], math.prod(parallel)):
            at = [*starts, *([0] * len(parallel))]
            box = [*sizes, *parallel]
            found = {each: access.at(self.frame, at, box) for each, access in reads.items()}
            value = self.evaluate(statement.value, found, self.dtypes[statement.target.operand])
            if updates is None:
                old = value
                continue
            name, combine = _FOLDS[updates]
            full = self._full(value, box)
            old = e.fold(name, full, range(len(rest)), combine, old) if rest else combine(old, full)
        self._write(target, old, len(rest), parallel)

    def _full(self, value: e.Element, shape: Sequence[int]) -> e.Element:
        parts = [np.broadcast_to(part, tuple(shape)) for part in self.frame.domain.parts(value)]
        return self.frame.domain.element(parts, value.dtype)

    def _write(
        self, target: Access, value: e.Element, skip: int, parallel: tuple[int, ...]
    ) -> None:
        parts = [np.array(part) for part in self.frame.domain.parts(value)]
        operand = self.frame.buffer(self.op.arguments[self.position[self._written()]])
        strides = target.strides[skip:]
        for view, part in zip(operand.views(target.offset, parallel, strides), parts, strict=True):
            trimmed = part.reshape(part.shape[part.ndim - len(parallel) :]) if part.ndim else part
            view[...] = trimmed
        operand.mark(target.offset, parallel, strides)

    def _written(self) -> str:
        return self.meaning.statements[0].target.operand

    # -- expressions

    def evaluate(
        self, expression: Expression, found: Mapping[Element, e.Element], dtype: np.dtype
    ) -> e.Element:
        """An expression; a number has the dtype of what it meets."""
        match expression:
            case Number():
                return self.frame.domain.exact(np.asarray(expression.value).astype(dtype))
            case Element():
                return found[expression]
            case Apply(function=function) if function in DTYPES:
                inner = self._dtype(expression.arguments[0]) or dtype
                part = self.evaluate(expression.arguments[0], found, inner)
                return _cast(part, function)
            case Apply():
                kind = self._dtype(expression) or dtype
                parts = [self.evaluate(part, found, kind) for part in expression.arguments]
                if len(parts) == 1:
                    return _UNARY[expression.function](parts[0])
                return _BINARY[expression.function](*parts)

    def _dtype(self, expression: Expression) -> np.dtype | None:
        match expression:
            case Number():
                return None
            case Element():
                return self.dtypes[expression.operand]
            case Apply(function=function) if function in DTYPES:
                return storage_dtype(mlir_type(function))
            case Apply():
                kinds = [self._dtype(part) for part in expression.arguments]
                return next((kind for kind in kinds if kind is not None), None)


@dataclass
class _Grid:
    """The points of a statement: the axes of its reductions, of the call's loops, of its target."""

    run: _Run
    fixed: Mapping[int, int]
    names: Sequence[str]
    skip: int
    shape: tuple[int, ...]

    def access(self, element: Element) -> Access:
        """Where an element of the meaning is, in the operand's buffer. Raises outside of it."""
        run = self.run
        number = run.position[element.operand]
        buffer = run.frame.buffer(run.op.arguments[number])
        coefficients, offset = run.op.offset_of(number)
        offset += sum(coefficients[i] * value for i, value in self.fixed.items())
        own = dict.fromkeys(self.names, 0)
        for index, stride in zip(element.indices, run.op.strides_of(number), strict=True):
            for term in index:
                factor = stride * math.prod(int(each) for each in term.factors)
                if term.iterator is None:
                    offset += factor
                else:
                    own[term.iterator] += factor
        strides = [own[name] for name in self.names[: self.skip]]
        strides += [coefficients[i] for i in run.around]
        strides += [own[name] for name in self.names[self.skip :]]
        low, high = span(offset, self.shape, strides)
        if low < 0 or high > _last(buffer):
            raise outside(
                run.op,
                f"operand {element.operand} touches elements {low} to {high}, outside of a "
                f"buffer that has 0 to {_last(buffer)}",
            )
        checked = buffer
        if buffer.tags is not None:
            start = buffer.offset + offset
            if self._is_read(element) and buffer.has_unwritten(start, self.shape, strides):
                box = [(0, size - 1) for size in buffer.shape]
                checked = with_garbage(run.op, run.frame, buffer, box)
        return Access(checked, buffer.offset + offset, tuple(strides))

    def _is_read(self, element: Element) -> bool:
        """A target that is only overwritten is not."""
        run = self.run
        return any(
            element in (*elements(s.value), *([s.target] if OPERATORS[s.operator] else []))
            for s in run.meaning.statements
        )


def _last(buffer: Buffer) -> int:
    """The last element that a buffer has, counted in memory from its first."""
    if 0 in buffer.shape:
        return -1
    return sum(s * (n - 1) for s, n in zip(buffer.strides, buffer.shape, strict=True))


def _chunks(sizes: Sequence[int], parallel: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """`(starts, sizes)` of boxes of reduction points, in order."""
    room = max(_CHUNK // max(parallel, 1), 1)
    steps = [1] * len(sizes)
    for axis in reversed(range(len(sizes))):
        steps[axis] = min(sizes[axis], room)
        room //= max(sizes[axis], 1)
        if room <= 1:
            break
    ranges = [range(0, n, step) for n, step in zip(sizes, steps, strict=True)]
    return [
        (starts, tuple(min(step, n - s) for s, step, n in zip(starts, steps, sizes, strict=True)))
        for starts in itertools.product(*ranges)
    ]


def _cast(value: e.Element, name: str) -> e.Element:
    """A float saturates as an integer, NaN is 0."""
    dtype = np.dtype(DTYPES[name].numpy)
    storage = storage_dtype(mlir_type(name))
    if dtype.kind == "f":
        return e.to_float(value, dtype)
    if e.is_float(value):
        return e.exactly(lambda x: x.astype(storage), e.to_integer(value, dtype))
    return e.reinterpret(value, storage)


def _divide(a: e.Element, b: e.Element) -> e.Element:
    """Integers divide towards zero, by 0 to 0."""
    if e.is_float(a):
        return e.divide(a, b)
    return e.exactly(FUNCTIONS["div"].compute, a, b)


def _negative(a: e.Element) -> e.Element:
    return e.negative(a) if e.is_float(a) else e.exactly(np.negative, a)


def _absolute(a: e.Element) -> e.Element:
    return e.apply(FUNCTIONS["abs"], a) if e.is_float(a) else e.exactly(np.abs, a)


def _zero_like(a: e.Element) -> e.Element:
    zero = np.zeros((), a.dtype)
    return e.Bounded.exact(zero) if isinstance(a, e.Bounded) else zero


_BINARY: Mapping[str, Callable[[e.Element, e.Element], e.Element]] = {
    "add": e.add,
    "sub": e.subtract,
    "mul": e.multiply,
    "div": _divide,
    "max": lambda a, b: e.extreme(np.maximum, a, b),
    "min": lambda a, b: e.extreme(np.minimum, a, b),
}
_UNARY: Mapping[str, Callable[[e.Element], e.Element]] = {
    "neg": _negative,
    "abs": _absolute,
    "rounded": lambda a: a,
    "relu": lambda a: e.extreme(np.maximum, a, _zero_like(a)),
    **{
        name: (lambda a, row=row: e.apply(row, a))
        for name, row in OF_MEANINGS.items()
        if row.is_float_only
    },
}
"""What the functions of a meaning do."""

_FOLDS: Mapping[str, tuple[str, Callable[[e.Element, e.Element], e.Element]]] = {
    "add": ("arith.addf", _BINARY["add"]),
    "mul": ("arith.mulf", _BINARY["mul"]),
    "max": ("arith.maximumf", _BINARY["max"]),
    "min": ("arith.minimumf", _BINARY["min"]),
}


DEFINITIONS: Mapping[type[Operation], Definition] = {
    DefOp: _define,
    PackOp: _pack,
    CallOp: _call,
}
