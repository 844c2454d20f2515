"""Which elements of its operands a meaning touches, at given sizes and strides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import is_

from xdsl.ir import Attribute

from inarch.dialects.loop.footprint import Form
from inarch.meaning import Element, Meaning, Size, elements


@dataclass(frozen=True)
class Elements:
    """What each operand of a call touches, and the attributes that say so."""

    said: tuple[Attribute, ...]
    found: tuple[tuple[Form, ...], ...]

    def are_of(self, said: tuple[Attribute, ...]) -> bool:
        """Whether it is still said so: by the same attributes, which do not change."""
        return len(said) == len(self.said) and all(map(is_, self.said, said))


def around(
    forms: Sequence[Form], counts: Sequence[int], coefficients: Sequence[int], start: int
) -> tuple[Form, ...]:
    """Forms from a pointer at `start + sum of coefficients[i] * i`, in loops of `counts` iterations."""
    found = [
        Form((*coefficients, *form.coefficients), (*counts, *form.sizes), start + form.constant)
        for form in forms
    ]
    return tuple(form for form in found if not form.is_empty)


def touched(
    meaning: Meaning, values: Mapping[str, int], strides: Mapping[str, Sequence[int]]
) -> dict[str, list[Form]]:
    """Operand -> the offsets from its pointer that `meaning` reads or writes; none: no entry.

    `values` are the sizes that are free in the meaning, `strides` those of each operand.
    """
    found: dict[str, list[Form]] = {}
    for element, sizes in _elements(meaning, values):
        coefficients = dict.fromkeys(sizes, 0)
        constant = 0
        for index, stride in zip(element.indices, strides[element.operand], strict=True):
            for term in index:
                factor = stride
                for each in term.factors:
                    factor *= _number(each, values)
                if term.iterator is None:
                    constant += factor
                else:
                    coefficients[term.iterator] += factor
        form = Form(tuple(coefficients.values()), tuple(sizes.values()), constant)
        if not form.is_empty:
            found.setdefault(element.operand, []).append(form)
    return found


def shapes(meaning: Meaning, values: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Operand -> for each dimension, one more than the largest index that `meaning` uses there."""
    found: dict[str, tuple[int, ...]] = {}
    for element, sizes in _elements(meaning, values):
        own: list[int] = []
        for index in element.indices:
            high = sum(
                prod(_number(factor, values) for factor in term.factors)
                * (1 if term.iterator is None else max(sizes[term.iterator] - 1, 0))
                for term in index
            )
            own.append(0 if 0 in sizes.values() else high + 1)
        before = found.get(element.operand, (0,) * len(own))
        found[element.operand] = tuple(map(max, own, before))
    return found


def _elements(
    meaning: Meaning, values: Mapping[str, int]
) -> Iterator[tuple[Element, dict[str, int]]]:
    """Every element of every statement, and the sizes of the iterators around it."""
    for statement in meaning.statements:
        around = (*meaning.iterators, *statement.iterators)
        sizes = {each.name: _number(each.size, values) for each in around}
        for element in (statement.target, *elements(statement.value)):
            yield element, sizes


def _number(size: Size, values: Mapping[str, int]) -> int:
    return values[size] if isinstance(size, str) else size
