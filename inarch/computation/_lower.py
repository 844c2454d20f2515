"""A typed program at loop level: one nest a statement, or one for `init; accumulation; finish`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from inarch.artifact.manifest import Port
from inarch.computation._types import Typed
from inarch.core.dtypes import DType
from inarch.core.errors import UnsupportedError
from inarch.dialects.kernel.body import append, applied
from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr, typed
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.scalar import Scalar
from inarch.ir.location import named_location
from inarch.ir.types import memref, mlir_type
from inarch.meaning import (
    OPERATORS,
    Element,
    Expression,
    Index,
    Iterator,
    Meaning,
    Normal,
    Number,
    Statement,
    elements,
    normal,
)
from inarch.passes.lower.builder import trace


@dataclass(frozen=True)
class _Step:
    """One nest: `target = finish(acc operator value)`, where acc begins as `init` or the element."""

    iterators: tuple[Iterator, ...]
    target: Element
    operator: str | None
    value: Expression
    init: Number | None = None
    finish: Expression | None = None
    place: str = ""


def lower(typed_program: Typed, inputs: Sequence[Port], outputs: Sequence[Port]) -> ModuleOp:
    """`@main` of the buffers `inputs`, then `outputs`; an output that is updated is read, too."""
    ports = (*inputs, *outputs)
    types = [memref(mlir_type(port.dtype), port.shape) for port in ports]
    block = Block(arg_types=types)
    buffers: dict[str, SSAValue] = {}
    for port, argument in zip(ports, block.args, strict=True):
        argument.name_hint = port.name
        buffers[port.name] = argument
    dtypes = {port.name: port.dtype for port in ports}
    places = typed_program.program.places
    for meaning, where in zip(typed_program.meanings, places, strict=True):
        for step in _steps(meaning, where):
            block.add_op(_Nest(step, buffers, dtypes).op())
    block.add_op(ReturnOp())
    attributes = [_attributes(port, is_output=n >= len(inputs)) for n, port in enumerate(ports)]
    function = FuncOp("main", (types, []), Region(block), arg_attrs=ArrayAttr(attributes))
    return ModuleOp([function], {"inarch.name": StringAttr("compute")})


def _attributes(port: Port, *, is_output: bool) -> DictionaryAttr:
    found: dict[str, Attribute] = {"inarch.name": StringAttr(port.name)}
    if port.dtype.name.startswith("ui"):
        found["inarch.dtype"] = StringAttr(port.dtype.name)
    if is_output:
        found["inarch.result"] = UnitAttr()
    return DictionaryAttr(found)


def _steps(meaning: Meaning, places: Sequence[str]) -> list[_Step]:
    """The nests of a meaning: points of its iterators are independent, so each runs over all of them."""
    try:
        shape = normal(meaning)
    except UnsupportedError:
        return [
            _alone(meaning, each, at) for each, at in zip(meaning.statements, places, strict=True)
        ]
    return _fused(shape, places[0])


def _alone(meaning: Meaning, statement: Statement, place: str) -> _Step:
    used = [index[0].iterator for index in statement.target.indices]
    every = (*meaning.iterators, *statement.iterators)
    ordered = sorted(every, key=lambda each: each.name not in used)  # stable: reductions inside
    operator = OPERATORS[statement.operator]
    return _Step(tuple(ordered), statement.target, operator, statement.value, place=place)


def _fused(shape: Normal, place: str) -> list[_Step]:
    """One nest; where it begins with what is no number, that is one before it."""
    steps: list[_Step] = []
    init = shape.init
    if init is not None and not isinstance(init, Number):
        steps.append(_Step(shape.parallel, shape.target, None, init, place=place))
        init = None
    main = _Step(
        (*shape.parallel, *shape.reductions),
        shape.target,
        shape.operator,
        shape.update,
        init,
        shape.finish,
        place,
    )
    return [*steps, main]


class _Nest:
    """The `loop.nest` of a step: what it reads, each element once, and its bodies."""

    def __init__(
        self, step: _Step, buffers: Mapping[str, SSAValue], dtypes: Mapping[str, DType]
    ) -> None:
        self._step = step
        self._buffers = buffers
        self._dtypes = dtypes
        found = [*elements(step.value), *(elements(step.finish) if step.finish else [])]
        self._reads = [each for each in dict.fromkeys(found) if each != step.target]

    def op(self) -> NestOp:
        """The nest."""
        step = self._step
        ins = [self._buffers[each.operand] for each in self._reads]
        out = self._buffers[step.target.operand]
        kinds = [memref_of(value).element_type for value in (*ins, out)]
        dtypes = [self._dtypes[each.operand] for each in (*self._reads, step.target)]
        written = {index[0].iterator for index in step.target.indices}
        body = trace(self._body, kinds, dtypes, with_accumulator=True)
        finish = trace(self._finish, kinds, dtypes, with_accumulator=True) if step.finish else None
        init = None if step.init is None else typed(step.init.value, kinds[-1])
        op = NestOp(
            [
                IteratorAttr.get(
                    each.name, int(each.size), "parallel" if each.name in written else "reduction"
                )
                for each in step.iterators
            ],
            ins,
            [ReadAttr.get(self._map(each)) for each in self._reads],
            [out],
            [WriteAttr.get(self._map(step.target), init)],
            body,
            finish,
        )
        op.location = named_location(step.place)
        return op

    def _map(self, element: Element) -> AffineMap:
        names = [each.name for each in self._step.iterators]
        results = tuple(_affine(index, names) for index in element.indices)
        return AffineMap(len(names), 0, results)

    def _body(self, *scalars: Scalar) -> Scalar:
        value = self._traced(self._step.value, scalars)
        if self._step.operator is None:
            return value
        return applied(self._step.operator, [scalars[-1], value])

    def _finish(self, *scalars: Scalar) -> Scalar:
        assert self._step.finish is not None
        return self._traced(self._step.finish, scalars)

    def _traced(self, expression: Expression, scalars: Sequence[Scalar]) -> Scalar:
        known = dict(zip((*self._reads, self._step.target), scalars, strict=True))
        dtype = self._dtypes[self._step.target.operand]
        return append(expression, known, dtype, scalars[-1].block)


def _affine(index: Index, names: Sequence[str]) -> AffineExpr:
    found: AffineExpr | None = None
    for term in index:
        factor = prod(int(each) for each in term.factors)
        at = AffineExpr.constant(factor)
        if term.iterator is not None:
            at = AffineExpr.dimension(names.index(term.iterator)) * factor
        found = at if found is None else found + at
    return AffineExpr.constant(0) if found is None else found
