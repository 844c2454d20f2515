"""Whether two iterations of a parallel loop may touch one element, of which one writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import sub
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from inarch.dialects.loop.dependence.accesses import Access, Accesses, is_memory_of_its_own
from inarch.dialects.loop.dependence.equations import Equation, Found, Range, solve
from inarch.dialects.loop.dependence.views import Affine, Frame, Variable
from inarch.ir.index.span import FAR, span_of

if TYPE_CHECKING:  # it imports us
    from inarch.dialects.loop.control import ForOp

_ANY = (-(1 << 63), (1 << 63) - 1)
"""The values of an index of which nothing is known."""

_UNKNOWN = Found(None)
_FIRST, _APART, _REST = 0, 1, 2
"""The unknowns of every pair: the first iteration, how far the second is behind it, the last behind that."""

_Forms: TypeAlias = Sequence[Affine | None]


def check_independent(loop: ForOp, symbols: Mapping[str, Operation]) -> None:
    """C4 of `loop.for`, for a parallel one. Raises VerifyException."""
    if (found := carried_by(loop, symbols)) is not None:
        raise VerifyException(
            f"C4: expected independent iterations of a parallel loop, found {found}; make the loop serial"
        )


def carried_by(loop: ForOp, symbols: Mapping[str, Operation]) -> str | None:
    """`a write of %y[%i + 1] where %i = 0 and a read of %y[%i] where %i = 1, of one element`, or None."""
    numbers = loop.spanned()
    if len(numbers) < 2:
        return None
    accesses = Accesses(loop, symbols)
    if not all(accesses.outer.values()):
        return None  # it never runs
    pairs = _Pairs(accesses, loop.induction, numbers)
    for a, b in _candidates(_kinds(accesses.found)):
        found = pairs.meeting(a, b)
        if found is not None:
            return _told(loop, a.access, b.access, found)
    return None


def _told(loop: ForOp, a: Access, b: Access, found: Found) -> str:
    one, other = (f"a {'write' if x.writes else 'read'} of {x.text}" for x in (a, b))
    if found.values is None:
        return f"{one} and {other}, which cannot be shown to be of different elements in different iterations"
    hint = loop.induction.name_hint
    index = f"%{hint}" if hint else "its index"
    first, apart = found.values
    numbers = loop.spanned()
    when = "" if a.is_certain and b.is_certain else " if both happen"
    return (
        f"{one} where {index} = {numbers[first]} and {other} where {index} = "
        f"{numbers[first + apart]}, of one element{when}"
    )


@dataclass(frozen=True, eq=False)
class _Kind:
    """An access; a number that it shares with those that differ in constants only; these."""

    access: Access
    pattern: int
    constants: tuple[int, ...]


def _kinds(accesses: Sequence[Access]) -> list[_Kind]:
    numbers: dict[object, int] = {}
    found: list[_Kind] = []
    for access in accesses:
        # The address first: it is what counts of two that have not as many indices.
        forms = [access.address, *(access.indices or ())]
        terms = tuple(None if form is None else form.terms for form in forms)
        pattern = access.frame, access.indices is None, terms, access.sizes, access.is_exact
        constants = tuple(0 if form is None else form.constant for form in forms)
        number = numbers.setdefault(pattern, len(numbers))
        found.append(_Kind(access, number, constants))
    return found


def _candidates(kinds: Sequence[_Kind]) -> Iterator[tuple[_Kind, _Kind]]:
    """Pairs of one buffer, or of what may be, of which one writes; the first is in the earlier iteration."""
    groups: dict[SSAValue, list[_Kind]] = {}
    for kind in kinds:
        groups.setdefault(kind.access.frame.buffer, []).append(kind)
    for buffer, own in groups.items():
        near = own
        if not is_memory_of_its_own(buffer):
            near = [*own, *(x for x in kinds if x.access.frame.buffer is not buffer)]
        if not any(kind.access.writes for kind in near):
            continue
        for position, a in enumerate(own):
            for b in near[position:]:
                if not a.access.writes and not b.access.writes:
                    continue
                yield a, b
                if a is not b:
                    yield b, a


class _Pairs:
    """Decides about pairs, each kind of which is solved once: constants count by their differences."""

    def __init__(self, accesses: Accesses, induction: SSAValue, numbers: range) -> None:
        self._accesses = accesses
        self._induction = induction
        self._numbers = numbers
        self._known: dict[object, Found | None] = {}

    def meeting(self, a: _Kind, b: _Kind) -> Found | None:
        """An iteration, and how far one behind it is, that meet; None: there are none."""
        key = a.pattern, b.pattern, *map(sub, b.constants, a.constants)
        if key not in self._known:
            self._known[key] = self._solved(a.access, b.access)
        return self._known[key]

    def _solved(self, a: Access, b: Access) -> Found | None:
        if a.frame.buffer is not b.frame.buffer:
            return _UNKNOWN
        forms: tuple[_Forms, _Forms] = (a.address,), (b.address,)
        if a.indices is not None and b.indices is not None and self._is_one_frame(a, b):
            forms = a.indices, b.indices
        pairs = [(x, y) for x, y in zip(*forms, strict=True) if x is not None and y is not None]
        equations = _Equations(self._accesses, self._induction, self._numbers, (a.sizes, b.sizes))
        for x, y in pairs:
            equations.add(x, y)
        found = solve(equations.equations, equations.ranges, keep=2)
        is_exact = len(pairs) == len(forms[0]) and a.is_exact and b.is_exact
        return found if found is None or (is_exact and not equations.is_open) else _UNKNOWN

    def _is_one_frame(self, a: Access, b: Access) -> bool:
        """Whether equal indices, and only they, are one element in both iterations."""
        frame: Frame = a.frame
        if frame != b.frame or frame.base is None or not frame.is_injective:
            return False
        return not frame.base.terms


class _Equations:
    """What the unknowns solve where two accesses, the second one in a later iteration, meet."""

    def __init__(
        self,
        accesses: Accesses,
        induction: SSAValue,
        numbers: range,
        sizes: tuple[Sequence[int], Sequence[int]],
    ) -> None:
        self._accesses = accesses
        self._induction = induction
        self._numbers = numbers
        self._sizes = sizes
        last = len(numbers) - 1
        self.ranges: list[Range] = [(0, last), (1, last), (0, last)]
        self.equations = [Equation(((_FIRST, 1), (_APART, 1), (_REST, 1)), -last)]
        self._positions: dict[object, int] = {}
        self._fixed: set[int] = set()
        """The unknowns that have one value, of which no more than a range is known."""
        self.is_open = induction in accesses.computed
        """Whether a value that is not known is in them, or one of a loop whose numbers are computed."""

    def add(self, first: Affine, second: Affine) -> None:
        """`first`, in the earlier iteration, equals `second`."""
        terms: dict[int, int] = {}
        constant = 0
        for side, form, sign in ((0, first, 1), (1, second, -1)):
            constant += sign * form.constant
            for variable, factor in form.terms:
                constant += self._term(terms, variable, sign * factor, side)
        known = tuple((position, factor) for position, factor in terms.items() if factor)
        self.equations.append(Equation(known, constant))
        self.is_open |= any(position in self._fixed for position, _ in known)

    def _term(self, terms: dict[int, int], variable: Variable, factor: int, side: int) -> int:
        """Adds a term; returns what it adds to the constant."""
        if variable is self._induction:
            step = factor * self._numbers.step
            for position in (_FIRST, _APART)[: side + 1]:
                terms[position] = terms.get(position, 0) + step
            return factor * self._numbers.start
        self.is_open |= variable in self._accesses.computed
        position, numbers = self._unknown(variable, side)
        step, start = (1, 0) if numbers is None else (numbers.step, numbers.start)
        terms[position] = terms.get(position, 0) + factor * step
        return factor * start

    def _unknown(self, variable: Variable, side: int) -> tuple[int, range | None]:
        """The unknown that counts what `variable` runs through; None: any number."""
        if isinstance(variable, int):
            key, numbers = (side, variable), range(self._sizes[side][variable])
        elif variable in self._accesses.inner:
            key, numbers = (side, variable), self._accesses.inner[variable]
        else:
            key, numbers = variable, self._accesses.outer.get(variable)
        if key not in self._positions:
            self._positions[key] = len(self.ranges)
            self.ranges.append((0, len(numbers) - 1) if numbers is not None else _between(variable))
            if numbers is None:
                self._fixed.add(self._positions[key])
        return self._positions[key], numbers


def _between(value: Variable) -> Range:
    """The least and the largest number that a fixed value may be."""
    span = span_of(value)
    return _ANY if span == (-FAR, FAR) else span
