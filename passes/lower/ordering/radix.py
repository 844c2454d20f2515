"""All elements of a row in order, of which the first k are wanted: a radix sort from the lowest digit up.

    key[j] = an unsigned number that is the smaller the earlier x[j] comes
    for each digit d of 8 bits, the lowest first: what is in order by the digits below is put, in that order,
        behind all whose digit d is less

Its time is that of the row, whatever is in it and however many are wanted. Elements that are equal stay in
the order of the row, as each step keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import SSAValue

from inarch.core.dtypes import DTYPES, DType
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.nest_spec import NestBuilder, NestSpec, same
from inarch.dialects.scalar import Scalar
from inarch.ir.types import i64
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.ordering.code import Code
from inarch.passes.lower.ordering.keys import Keys

DIGIT = 8
"""Bits; the counters of all digits of f32 are 4 kB."""
_VALUES = 1 << DIGIT
_SMALL = 1 << 31
"""Rows of fewer elements count in i32."""


def sort(
    builder: LoopBuilder,
    x: SSAValue,
    values: SSAValue,
    indices: SSAValue,
    dtype: DType,
    largest: bool,
) -> None:
    """The first k elements of each row of `x` (rows, n), in order, to `values` and `indices` (rows, k)."""
    rows, count = buffer_shape(x)
    row = Code(builder, builder.block).loop(rows, "row")
    x, values, indices = row.row(x), row.row(values), row.row(indices)
    radix = _Radix.made(row, count, dtype, largest)
    radix.read(row, x)
    for digit in range(radix.digits):
        radix.move(row, digit)
    radix.write(row, x, values, indices)
    row.end()


@dataclass(frozen=True)
class _Radix:
    """The scratch memory of a row: keys and places by turns, and of each digit's values where they end."""

    of: Keys
    keys: tuple[SSAValue, SSAValue]
    places: tuple[SSAValue, SSAValue]
    counts: SSAValue
    ends: SSAValue
    count: int

    @classmethod
    def made(cls, row: Code, count: int, dtype: DType, largest: bool) -> _Radix:
        """A new one, of which nothing is written."""
        keys = Keys(dtype, largest)
        key, place = keys.type, IntegerType(32 if count < _SMALL else 64)
        pair = row.scratch(key, (count,), "keys"), row.scratch(key, (count,), "keys")
        places = row.scratch(place, (count,), "places"), row.scratch(place, (count,), "places")
        table = (dtype.bits // DIGIT, _VALUES)
        counts, ends = row.scratch(place, table, "counts"), row.scratch(place, table, "ends")
        return cls(keys, pair, places, counts, ends, count)

    @property
    def digits(self) -> int:
        """How many a key has."""
        return self.of.dtype.bits // DIGIT

    @property
    def place(self) -> IntegerType:
        """What places and numbers of elements are stored as."""
        return IntegerType(32 if self.count < _SMALL else 64)

    def read(self, row: Code, x: SSAValue) -> None:
        """The keys of a row, and where the elements of each value of each digit end."""
        nests, counter = row.nests(), DTYPES[f"i{self.place.width.data}"]
        nests.nest(_zeros(self.digits), [], [], self.counts, counter)
        iteration = row.loop(self.count, "j")
        key = self.of.key(iteration, iteration.load(x, iteration.index))
        iteration.store(key, self.keys[0], iteration.index)
        one = iteration.add(arith.ConstantOp.from_int_and_width(1, self.place))
        for digit in range(self.digits):
            at = iteration.number(digit), self.digit(iteration, key, digit)
            iteration.store(iteration.plus(iteration.load(self.counts, *at), one), self.counts, *at)
        iteration.end()
        nests.nest(_sums(self.digits), [self.counts], [counter], self.ends, counter)

    def move(self, row: Code, digit: int) -> None:
        """Puts the elements in order by a digit; from the last one on, as it is the ends that are known."""
        iteration = row.loop(self.count, "j")
        at = iteration.minus(iteration.number(self.count - 1), iteration.index)
        key = iteration.load(self.keys[digit % 2], at)
        place = (
            iteration.load(self.places[digit % 2], at)
            if digit
            else iteration.add(arith.IndexCastOp(at, self.place))
        )
        value = iteration.number(digit), self.digit(iteration, key, digit)
        one = iteration.add(arith.ConstantOp.from_int_and_width(1, self.place))
        end = iteration.add(arith.SubiOp(iteration.load(self.ends, *value), one))
        iteration.store(end, self.ends, *value)
        to = iteration.add(arith.IndexCastOp(end, IndexType()))
        if digit + 1 < self.digits:
            iteration.store(key, self.keys[1 - digit % 2], to)
        iteration.store(place, self.places[1 - digit % 2], to)
        iteration.end()

    def write(self, row: Code, x: SSAValue, values: SSAValue, indices: SSAValue) -> None:
        """The first elements, and where they are, to the results."""
        iteration = row.loop(buffer_shape(values)[0], "j")
        at = iteration.load(self.places[self.digits % 2], iteration.index)
        place = iteration.add(arith.IndexCastOp(at, IndexType()))
        iteration.store(iteration.load(x, place), values, iteration.index)
        iteration.store(iteration.place(place), indices, iteration.index)
        iteration.end()

    def digit(self, code: Code, key: SSAValue, digit: int) -> SSAValue:
        """A digit of a key, as an index."""
        kind = self.of.type
        if self.of.dtype.bits > DIGIT:
            shift = code.add(arith.ConstantOp.from_int_and_width(digit * DIGIT, kind))
            mask = code.add(arith.ConstantOp.from_int_and_width(_VALUES - 1, kind))
            key = code.add(arith.AndIOp(code.add(arith.ShRUIOp(key, shift)), mask))
        wide = key if self.of.dtype.bits == 64 else code.add(arith.ExtUIOp(key, i64))
        return code.add(arith.IndexCastOp(wide, IndexType()))


def _plus(x: Scalar, acc: Scalar) -> Scalar:
    return acc + x


def _zeros(digits: int) -> NestSpec:
    nest = NestBuilder()
    return nest.spec([], nest.shape((digits, _VALUES)), same, init=0)


def _sums(digits: int) -> NestSpec:
    """Running sums: of each value, the number of elements that are not above it."""
    nest = NestBuilder()
    at = nest.parallel("digit", digits), nest.scan("value", _VALUES)
    return nest.spec([at], at, _plus, init=0)
