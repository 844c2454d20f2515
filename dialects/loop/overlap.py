"""C8 of `loop.nest`: what a nest writes, no other point of it reads, and no other output writes.

Points run in any order, in vectors and in tiles, so that an element which one point writes and another
one reads has no value that the program could mean. Values are followed through `loop.reshape` and
`memref.subview`; two arguments of a function are different memory, unless a call of the function, whose
`places` are given, says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from inarch.core.once import cached_property
from inarch.dialects.loop.footprint import Form, Place, Places, Touch, may_meet, place_of
from inarch.dialects.loop.indirect import base_of, over_all, picks_of
from inarch.dialects.loop.memory import buffer_shape
from inarch.ir.index.affine import linear_form, print_affine_expr
from inarch.ir.index.linear import Linear

if TYPE_CHECKING:  # it imports us
    from inarch.dialects.loop.nest import NestOp


@dataclass(frozen=True)
class Access:
    """How a nest reads an operand, or writes an output."""

    nest: NestOp
    value: SSAValue
    index: AffineMap
    guarded: bool
    """Whether indices outside of the buffer touch nothing: `pad` and `clip`."""
    place: Place

    @cached_property
    def picked(self) -> tuple[int, ...]:
        """The dimensions whose index is read: any of their elements may be touched at any point."""
        return tuple(picks_of(self.index))

    @property
    def is_exact(self) -> bool:
        """Whether it touches all of its `elements`; else, some of them."""
        return not self.guarded and not self.picked

    @cached_property
    def _linear(self) -> list[tuple[list[int], int]]:
        """By dimension, the coefficient of each iterator (0 for one of a single point), and the constant."""
        forms = [linear_form(expr, len(self.nest.sizes)) for expr in base_of(self.index).results]
        moves = [size > 1 for size in self.nest.sizes]
        return [([c * m for c, m in zip(cs, moves, strict=True)], k) for cs, k in forms]

    @property
    def _address(self) -> Form:
        return self._address_over(self.nest.sizes)

    def _address_over(self, sizes: tuple[int, ...]) -> Form:
        """The element of the buffer, over the iterators (and the dimensions that are picked).

        It is outside of the view where the access is guarded.
        """
        coefficients = [0] * len(self.nest.sizes)
        constant = self.place.offset
        for stride, (own, start) in zip(self.place.strides, self._linear, strict=True):
            coefficients = [c + stride * more for c, more in zip(coefficients, own, strict=True)]
            constant += stride * start
        coefficients += [self.place.strides[axis] for axis in self.picked]
        return Form(
            tuple(coefficients),
            (*sizes, *(self.place.shape[axis] for axis in self.picked)),
            constant,
        )

    @cached_property
    def elements(self) -> Form:
        """What it touches; of a guarded one, all that lies between its bounds."""
        return self._elements(self.nest.sizes)

    @cached_property
    def elements_outside(self) -> Form:
        """What init and finish touch, which run where the body has no point of a reduction."""
        return self._elements(
            tuple(
                max(size, 1) if each.is_reduction else size
                for size, each in zip(self.nest.sizes, self.nest.iterators, strict=True)
            )
        )

    def _elements(self, points: tuple[int, ...]) -> Form:
        if not self.guarded or 0 in points:
            return self._address_over(points)
        sizes: list[int] = []
        constant = self.place.offset
        pairs = zip(self.place.shape, self.place.strides, self._linear, strict=True)
        for size, stride, (coefficients, start) in pairs:
            low, high = Form(tuple(coefficients), points, start).span
            first, last = max(low, 0), min(high, size - 1)
            if step := math.gcd(*coefficients):  # indices are a multiple of it from the start
                first, last = first + (start - first) % step, last - (last - start) % step
            sizes.append(max(last - first + 1, 0))
            constant += stride * first
        return Form(self.place.strides, tuple(sizes), constant)

    def is_at_point_of(self, other: Access) -> bool:
        """Whether both are at one element at each point."""
        if self.place.buffer is not other.place.buffer or self.picked or other.picked:
            return False
        same_place = self.place.moves is not None and self.place.moves == other.place.moves
        same_view = self.value is other.value or (same_place and self.place == other.place)
        if same_view and self._linear == other._linear:
            return True
        if self.guarded or other.guarded or not same_place:
            return False
        return self._address == other._address

    def meets(self, other: Access) -> bool:
        """Whether the two may touch one element, at whatever points."""
        return may_meet(self.place, [self.elements], other.place, [other.elements])

    @property
    def text(self) -> str:
        """`[i, j + 1]`."""
        exprs = [print_affine_expr(expr, self.nest.names) for expr in self.index.results]
        return f"[{', '.join(exprs)}]"


def reads_of(nest: NestOp, places: Places | None = None) -> list[Access]:
    """The accesses of `ins`."""
    return [
        Access(nest, value, r.map.data, r.is_padded, place_of(value, places))
        for value, r in zip(nest.ins, nest.reads, strict=True)
    ]


def writes_of(nest: NestOp, places: Places | None = None) -> list[Access]:
    """The accesses of `outs`."""
    return [
        Access(nest, value, write.map.data, write.clips, place_of(value, places))
        for value, write in zip(nest.outs, nest.writes, strict=True)
    ]


def touches_of(nest: NestOp) -> list[Touch]:
    """What a nest reads and writes, over its iterators."""
    # A reduction without points still has the init and the finish of its outputs.
    sizes = tuple(each.size.data or int(each.is_reduction) for each in nest.iterators)
    both = [(False, read) for read in reads_of(nest)] + [(True, w) for w in writes_of(nest)]
    found: list[Touch] = []
    for writes, x in both:
        index, picked = over_all(x.index, buffer_shape(x.value))
        where = (*sizes, *picked)
        if x.guarded and 0 not in where:
            index, where = _inside(index, where, buffer_shape(x.value))
        found.append(Touch(x.value, writes, where, index, x.text, is_exact=x.is_exact))
    return found


def _inside(
    index: Sequence[Linear], sizes: Sequence[int], shape: Sequence[int]
) -> tuple[tuple[Linear, ...], tuple[int, ...]]:
    """Indices of a guarded access, over more variables: what leaves its dimension is any index within.

    Those are all that it may touch, and more of them; a view's elements are never left.
    """
    leaves = [
        not (low >= 0 and high < size)
        for (low, high), size in zip((form.bounds(sizes) for form in index), shape, strict=True)
    ]
    count, new = len(sizes) + sum(leaves), list(sizes)
    found: list[Linear] = []
    for form, size, is_guarded in zip(index, shape, leaves, strict=True):
        if not is_guarded:
            coefficients = (*form.coefficients, *(0,) * (count - len(sizes)))
            found.append(Linear(coefficients, form.constant))
            continue
        low, high = form.bounds(sizes)
        step = math.gcd(*form.coefficients) or 1
        first = low if low >= 0 else low % step
        own = Linear.iterator(len(new), count).times(step)
        found.append(Linear(own.coefficients, first))
        new.append(max((min(high, size - 1) - first) // step + 1, 0))
    return tuple(found), tuple(new)


def check_overlaps(nest: NestOp, places: Places | None = None) -> None:
    """C8. Raises VerifyException."""
    reads, writes = reads_of(nest, places), writes_of(nest, places)
    for position, write in enumerate(writes):
        for operand, read in enumerate(reads):
            if read.is_at_point_of(write) or not read.meets(write):
                continue
            raise VerifyException(
                f"C8: expected operand {operand} to read what output {position} writes at the same point "
                f"only, found a read at {read.text} and a write at {write.text} of one buffer; "
                "write to another buffer"
            )
        for other, second in enumerate(writes[:position]):
            if not second.meets(write):
                continue
            raise VerifyException(
                f"C8: expected outputs {other} and {position} to write different elements, found "
                f"{second.text} and {write.text} of one buffer; write to two buffers"
            )
