"""Which dtypes, sizes and shapes the operands of a program have, from what a call gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from inarch.artifact.manifest import Port
from inarch.core.dtypes import DTYPES
from inarch.core.errors import ArgumentError, InarchError, UnsupportedError
from inarch.core.scalars.functions import OF_MEANINGS
from inarch.meaning import (
    Apply,
    Element,
    Expression,
    Index,
    Meaning,
    Number,
    Statement,
    bind,
    element_text,
    elements,
    expression_text,
    free_sizes,
    iterators,
)
from inarch.meaning.program import Program
from inarch.microkernel import dtype_of

_OF_NUMBER = {"float": "f64", "int": "i64", "bool": "i1"}
"""The dtype of a number that is only cast."""


@dataclass(frozen=True)
class Given:
    """What is known of one operand before the others are looked at."""

    dtype: str | None = None
    """None: a number, which takes the dtype of what it meets, or an operand that is not given."""
    shape: tuple[int, ...] | None = None
    number: str = ""
    """`float`, `int` or `bool` where it is a number."""


@dataclass(frozen=True)
class Typed:
    """A program whose sizes are numbers, and what its operands are."""

    program: Program
    meanings: tuple[Meaning, ...]
    ports: Mapping[str, Port]


def resolve(
    program: Program,
    given: Mapping[str, Given],
    sizes: Mapping[str, int],
    where: str,
) -> Typed:
    """The types of all operands of `program`, every one of which is in `given`, in the order of the call.

    Raises ArgumentError, which begins with `where`, for a shape that does not fit, and InarchError, with its
    place in the text, for dtypes that do not.
    """
    values = _sizes(program, given, sizes, where)
    meanings = tuple(bind(meaning, values) for meaning in program.meanings)
    shapes = {name: _shape(name, given[name], meanings) for name in program.operands}
    for meaning in meanings:
        for element in _all_elements(meaning):
            _check_bounds(element, meaning, shapes[element.operand], where)
    dtypes = _dtypes(program, given)
    ports = {name: Port(name, DTYPES[dtypes[name]], shapes[name]) for name in program.operands}
    return Typed(program, meanings, ports)


# -- sizes


def _sizes(
    program: Program, given: Mapping[str, Given], fixed: Mapping[str, int], where: str
) -> dict[str, int]:
    found = dict(fixed)
    said = dict.fromkeys(fixed, "sizes")
    # As they were given, but inputs first: of an output that does not fit them, it is said that it does not.
    order = {name: (name in program.outputs, n) for n, name in enumerate(given)}
    every = [
        (element, {iterator.name: iterator.size for iterator in iterators(meaning)})
        for meaning in program.meanings
        for element in _all_elements(meaning)
    ]
    for element, extents in sorted(every, key=lambda each: order[each[0].operand]):
        shape = given[element.operand].shape
        if shape is None:
            continue
        for axis, index in enumerate(element.indices):
            name = _alone(index)
            if name is None:
                continue
            size = extents[name]
            if isinstance(size, str) and size not in found:
                found[size], said[size] = shape[axis], element.operand
            wanted = found[size] if isinstance(size, str) else size
            if shape[axis] != wanted:
                why = f" ({size}, as of {said[size]})" if isinstance(size, str) else ""
                raise ArgumentError(
                    f"{where}: argument '{element.operand}': expected {wanted} in dimension {axis}"
                    f"{why}, found shape {shape}"
                )
    for meaning in program.meanings:
        for size in free_sizes(meaning):
            if size not in found:
                raise ArgumentError(
                    f"{where}: expected a value of size {size}, which no shape says; "
                    f"give sizes={{'{size}': ...}}{_or_output(program, given)}"
                )
    return found


def _or_output(program: Program, given: Mapping[str, Given]) -> str:
    left = [name for name in program.outputs if given[name].shape is None]
    return f", or the output {left[0]}" if left else ""


def _alone(index: Index) -> str | None:
    """The iterator that is the whole index, so that the dimension is of its size."""
    if len(index) == 1 and not index[0].factors:
        return index[0].iterator
    return None


def _all_elements(meaning: Meaning) -> Iterator[Element]:
    for statement in meaning.statements:
        yield statement.target
        yield from elements(statement.value)


def _shape(name: str, given: Given, meanings: tuple[Meaning, ...]) -> tuple[int, ...]:
    """That of the array; of an operand that is not given, what the program touches of it."""
    if given.shape is not None:
        return given.shape
    shape: list[int] = []
    for meaning in meanings:
        for element in _all_elements(meaning):
            if element.operand == name:
                spans = [_span(index, meaning)[1] + 1 for index in element.indices]
                shape = [max(a, b) for a, b in zip(shape or spans, spans, strict=True)]
    return tuple(shape)


def _span(index: Index, meaning: Meaning) -> tuple[int, int]:
    """The least and the greatest value of an index whose sizes are bound."""
    extents = {iterator.name: int(iterator.size) for iterator in iterators(meaning)}
    low = high = 0
    for term in index:
        factor = prod(int(each) for each in term.factors)
        reach = factor if term.iterator is None else factor * (extents[term.iterator] - 1)
        low += reach if term.iterator is None else min(reach, 0)
        high += reach if term.iterator is None else max(reach, 0)
        if term.iterator is not None and extents[term.iterator] == 0:
            return 0, -1
    return low, high


def _check_bounds(element: Element, meaning: Meaning, shape: tuple[int, ...], where: str) -> None:
    for axis, index in enumerate(element.indices):
        low, high = _span(index, meaning)
        if low < 0 or high >= shape[axis]:
            raise ArgumentError(
                f"{where}: {element_text(element)} reaches {low if low < 0 else high} in dimension {axis} "
                f"of {element.operand}, whose shape is {shape}"
            )


# -- dtypes


def _dtypes(program: Program, given: Mapping[str, Given]) -> dict[str, str]:
    known = {name: each.dtype for name, each in given.items() if each.dtype is not None}
    _infer(program, known)
    for place, statement in _statements(program):
        wanted = known.get(statement.target.operand)
        for name, dtype in _wants(statement.value, wanted, known):
            if name in program.outputs or given[name].dtype is not None:
                continue
            dtype = dtype or _OF_NUMBER.get(given[name].number)  # noqa: PLW2901 - one only cast
            if dtype is not None and known.setdefault(name, dtype) != dtype:
                raise InarchError(
                    f"expected one dtype of the number {name}, found {known[name]} and {dtype}; "
                    "give an array of no dimensions",
                    where=place,
                )
    for name in program.operands:
        if name not in known:
            raise ArgumentError(
                f"{program.places[0][0].partition(':')[0]}: expected a dtype of {name}, which nothing says; "
                f"give it as an array, or dtypes={{'{name}': 'f32'}}"
            )
    for place, statement in _statements(program):
        try:
            _check(statement, known)
        except InarchError as error:
            raise type(error)(error.message, where=place) from error
    return known


def _statements(program: Program) -> Iterator[tuple[str, Statement]]:
    for meaning, places in zip(program.meanings, program.places, strict=True):
        yield from zip(places, meaning.statements, strict=True)


def _infer(program: Program, known: dict[str, str]) -> None:
    """The dtypes of outputs that are not given: of what is first assigned to them."""
    before = -1
    while len(known) != before:
        before = len(known)
        for place, statement in _statements(program):
            if statement.target.operand in known:
                continue
            try:
                found = dtype_of(_without_numbers(statement.value, known), known)
            except InarchError as error:
                raise InarchError(error.message, where=place) from error
            if found is not None:
                known[statement.target.operand] = found


def _without_numbers(expression: Expression, known: Mapping[str, str]) -> Expression:
    """With a literal in place of each element whose dtype is not known: it takes any, too."""
    match expression:
        case Element():
            return expression if expression.operand in known else Number(1.0)
        case Apply():
            parts = tuple(_without_numbers(part, known) for part in expression.arguments)
            return Apply(expression.function, parts)
        case Number():
            return expression


def _wants(
    expression: Expression, wanted: str | None, known: Mapping[str, str]
) -> Iterator[tuple[str, str | None]]:
    """The elements, and the dtype that each is to have where it has none of its own."""
    match expression:
        case Element():
            yield expression.operand, wanted
        case Apply(function=function, arguments=(argument,)) if function in DTYPES:
            yield from _wants(argument, _kind(argument, known), known)
        case Apply():
            kind = _kind(expression, known) or wanted
            for part in expression.arguments:
                yield from _wants(part, kind, known)
        case Number():
            return


def _kind(expression: Expression, known: Mapping[str, str]) -> str | None:
    """`dtype_of`, or the first dtype where there are several, which is an error that is told later."""
    match expression:
        case Number():
            return None
        case Element():
            return known.get(expression.operand)
        case Apply(function=function) if function in DTYPES:
            return function
        case Apply():
            kinds = [_kind(part, known) for part in expression.arguments]
            return next((kind for kind in kinds if kind is not None), None)


def _check(statement: Statement, dtypes: Mapping[str, str]) -> None:
    target = statement.target.operand
    found = dtype_of(statement.value, dtypes)
    wanted = dtypes[target]
    if found not in (None, wanted):
        raise InarchError(
            f"expected a value of {wanted} for {target}, found {expression_text(statement.value)} of "
            f"{found}; cast it: {wanted}(...)"
        )
    if (wanted == "i1" or DTYPES[wanted].is_stored) and statement.operator != "=":
        raise UnsupportedError(
            f"expected numbers to combine by '{statement.operator}', found {wanted}"
        )
    _check_functions(statement.value, wanted, dtypes)


def _check_functions(expression: Expression, wanted: str, dtypes: Mapping[str, str]) -> None:
    """That each function is of a dtype which has it, and each literal is one of its dtype."""
    match expression:
        case Element():
            return
        case Number(value=value):
            if not DTYPES[wanted].is_float and not _fits(value, wanted):
                raise InarchError(
                    f"expected a number of {wanted}, found {expression_text(expression)}; "
                    "cast what it meets: f32(...)"
                )
        case Apply(function=function, arguments=(argument,)) if function in DTYPES:
            _check_functions(argument, dtype_of(argument, dtypes) or function, dtypes)
        case Apply(function=function):
            kind = dtype_of(expression, dtypes) or wanted
            own, row = OF_MEANINGS[function], DTYPES[kind]
            of_floats, of_integers = own.is_float_only, own.is_integer_only
            is_wrong = (of_floats and not row.is_float) or (of_integers and row.is_float)
            if is_wrong or kind == "i1" or row.is_stored:
                wanted = "a float" if of_floats else "an integer" if of_integers else "numbers"
                by = "i32" if of_integers else row.arithmetic or "f32"
                raise UnsupportedError(
                    f"expected {wanted} in {expression_text(expression)}, found {kind}; cast it: {by}(...)"
                )
            for part in expression.arguments:
                _check_functions(part, kind, dtypes)


def _fits(value: float, dtype: str) -> bool:
    kind = DTYPES[dtype]
    return kind.least <= value <= kind.greatest and value == int(value)
