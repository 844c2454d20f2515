"""What is known of a softmax's scores: terms of constants and products, and between which numbers they are.

A term is what a nest computes of constants and of products that nobody knows, without the nests: equal ones
of many layers are worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from inarch.core.lazy import Array, np
from inarch.ir.context import ConstantStore
from inarch.ir.payload.constants import ConstantAttr, constant_array


@dataclass(frozen=True)
class Term:
    """A computation: its name, and of what."""

    name: str
    of: tuple[Term, ...] = ()
    number: float = 0.0


@dataclass(frozen=True)
class ConstantTerm(Term):
    """A constant by rows and keys; of what else moves in it, between the least and the largest."""

    value: ConstantAttr | None = None
    shape: tuple[int, ...] = ()
    """In which the nest reads it."""
    index: tuple[tuple[int | None, int], ...] = ()
    """Of each dimension the iterator that is alone there, or None and the number."""
    own: tuple[int, int] = (0, 0)
    """The iterators of rows and of keys."""
    sizes: tuple[int, int] = (0, 0)


ANYTHING = Term("anything")
PRODUCT = Term("product")


@dataclass(frozen=True)
class Values:
    """`x + c`, `low <= c <= high` at each row and key: arrays that broadcast to both."""

    low: Array
    high: Array
    moves: bool = False
    """Whether x is a product, or a sum of some; else it is 0."""
    is_any: bool = False
    """Whether x is anything."""

    @property
    def is_fixed(self) -> bool:
        """Whether there is nothing but c."""
        return not self.moves and not self.is_any


@dataclass
class Evaluator:
    """The values of terms; a constant is read once for all that have it."""

    store: ConstantStore
    largest: float
    """The largest number of the scores' type."""
    known: dict[Term, Values] = field(default_factory=dict[Term, Values])

    def __call__(self, term: Term) -> Values:
        """Between which numbers a term is."""
        if term not in self.known:
            with np.errstate(all="ignore"):
                self.known[term] = self._values(term)
        return self.known[term]

    def _values(self, term: Term) -> Values:
        if isinstance(term, ConstantTerm):
            return self._of_constant(term)
        if term.name in _FUNCTIONS:
            return _FUNCTIONS[term.name](*map(self, term.of))
        if term.name == "number":
            number = np.full((1, 1), term.number)
            return Values(number, number)
        if term.name == "larger":
            return self._larger(*map(self, term.of))
        zero = np.zeros((1, 1))
        return Values(zero, zero, moves=term == PRODUCT, is_any=term != PRODUCT)

    def _of_constant(self, term: ConstantTerm) -> Values:
        assert term.value is not None, "it is of a constant"
        array = constant_array(term.value, self.store).reshape(term.shape)
        for axis, (lone, number) in enumerate(term.index):
            if lone is None:
                array = array.take([number], axis=axis)
        places = [lone for lone, _ in term.index]
        kept = [lone for lone in places if lone in term.own]
        others = tuple(axis for axis, lone in enumerate(places) if lone not in term.own)
        numbers = array if array.dtype.kind == "f" else array.astype(np.float32)
        ends = [function(axis=others) for function in (numbers.min, numbers.max)]
        if kept == [term.own[1], term.own[0]]:
            ends = [end.T for end in ends]
        pairs = zip(term.own, term.sizes, strict=True)
        shape = [size if lone in kept else 1 for lone, size in pairs]
        low, high = (end.reshape(shape) for end in ends)
        return Values(low, high)

    def _larger(self, a: Values, b: Values) -> Values:
        """Scores that are cut off at the lowest number stay where they are."""
        x, by = (a, b) if b.is_fixed else (b, a)
        if not by.is_fixed or by.high.size != 1 or by.high > -self.largest / 4:
            return self(ANYTHING)
        return Values(np.maximum(x.low, by.low), np.maximum(x.high, by.high), x.moves, x.is_any)

    def hidden(self, terms: Sequence[Term]) -> Array:
        """Which rows do not see which keys, by all of `terms`."""
        low = -self.largest / 4
        found = [self(term) for term in terms]
        hard = np.logical_and.reduce([one.high == -np.inf for one in found])
        if any(one.is_any for one in found):
            return hard
        near = [np.maximum(abs(one.low), abs(one.high)) <= self.largest / 16 for one in found]
        shows = np.logical_and.reduce(near).any(axis=1, keepdims=True)
        return hard | (np.logical_and.reduce([one.high <= low for one in found]) & shows)


def _anything() -> Values:
    zero = np.zeros((1, 1))
    return Values(zero, zero, is_any=True)


def _sum(a: Values, b: Values) -> Values:
    moves, is_any = a.moves or b.moves, a.is_any or b.is_any
    return Values(a.low + b.low, a.high + b.high, moves, is_any)


def _difference(a: Values, b: Values) -> Values:
    return _sum(a, _scaled(b, -1.0))


def _scaled(x: Values, by: float) -> Values:
    low, high = (x.low * by, x.high * by)
    return Values(low, high, x.moves, x.is_any) if by > 0 else Values(high, low, x.moves, x.is_any)


def _quotient(a: Values, by: Values) -> Values:
    if not by.is_fixed or by.low.size != 1 or by.low != by.high or by.low == 0:
        return _anything()
    return _product(a, Values(1 / by.low, 1 / by.low))


def _product(a: Values, b: Values) -> Values:
    """Of something and one number, that is not 0: -inf times 0 is no number."""
    x, by = (a, b) if b.is_fixed and b.low.size == 1 else (b, a)
    if not by.is_fixed or by.low.size != 1 or by.low != by.high or by.low == 0:
        return _anything()
    return _scaled(x, float(by.low.reshape(())))


def _picked(condition: Values, a: Values, b: Values) -> Values:
    """What a constant condition picks; what is not the same everywhere, between both."""
    if not condition.is_fixed:
        return _anything()
    yes, no = condition.low > 0, condition.high <= 0
    low = np.where(yes, a.low, np.where(no, b.low, np.minimum(a.low, b.low)))
    high = np.where(yes, a.high, np.where(no, b.high, np.maximum(a.high, b.high)))
    return Values(low, high, a.moves or b.moves, a.is_any or b.is_any)


_FUNCTIONS: dict[str, Callable[..., Values]] = {
    "sum": _sum,
    "difference": _difference,
    "product of": _product,
    "quotient": _quotient,
    "picked": _picked,
}
