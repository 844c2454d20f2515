"""The calls that a check makes: sizes, strides, placement and numbers, with what must come out."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inarch.core.dtypes import DTYPES, is_float_array
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.definitions.compare import Expected
from inarch.meaning import Access, Meaning, accesses, bind, elements, free_sizes, written
from inarch.microkernel import Instance, demands, known_demand
from inarch.verification.cases.expected import expected
from inarch.verification.cases.footprint import Footprint, footprints, points
from inarch.verification.cases.strides import ARRANGEMENTS, Arrangement, arrange
from inarch.verification.cases.values import EXTREMES, KINDS, Kind, poison, values
from inarch.verification.cases.wide import magnitudes

QUICK_SIZES = (1, 2, 3, 5, 8, 17, 33)
FULL_SIZES = (*range(1, 18), 31, 32, 33, 63, 64, 65, 127, 130)
"""Values of sizes that the call gives: small ones, primes, and just below and above usual blocks. Not 0:
tensorize leaves nests without points alone."""
QUICK_LONG = (257,)
FULL_LONG = (257, 4099)
"""Of one size at a time: more than a counter of a byte, or a buffer of fixed length, holds."""
LONGEST = 32771
"""The same for a counter of 16 bits, with the others as small as can be: only in full."""
FACTORS = (1, 2, 3)
"""The same of names that only multiply iterators: steps of windows."""

QUICK_POINTS = 1 << 16
FULL_POINTS = 1 << 20
"""Calls with more points than this are left out, but not the smallest one."""
MOST_POINTS = 1 << 24
"""A member of more points than this in its smallest call cannot be checked: its arrays do not fit."""
QUICK_CASES = 24
FULL_CASES = 160
MORE_SIZES = 12
"""How many shapes of random sizes, where there is more than one free size."""


@dataclass(frozen=True)
class Operand:
    """One operand of one call."""

    name: str
    access: Access
    shape: tuple[int, ...]
    """Of the box of its indices."""
    strides: tuple[int, ...]
    image: Array
    """The memory from element 0 on to the last one that is touched, one element each, with gaps."""
    touched: Array
    """For each element of `image`: whether the meaning touches it."""
    is_distinct: bool
    """Whether no two of the operand's elements share memory."""


@dataclass(frozen=True)
class Case:
    """One call: what it gets, and what must come out."""

    sizes: Mapping[str, int]
    kind: Kind
    arrangement: Arrangement
    operands: tuple[Operand, ...]
    numbers: tuple[int, ...]
    """The integer arguments: strides, then sizes."""
    expected: Expected
    """Of the written operand, as an array over its box of indices."""
    footprint: Footprint
    """Of the written operand."""

    def shape(self) -> str:
        """The call in words: `K=7, strides A (9, 1), C (16, 1)`."""
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        strides = ", ".join(f"{o.name} {o.strides}" for o in self.operands if o.strides)
        return ", ".join(filter(None, [sizes, f"strides {strides}" if strides else "", self.kind]))

    @property
    def overlapping(self) -> tuple[str, ...]:
        """The operands whose elements share memory."""
        if self.arrangement != "overlapping":
            return ()
        return tuple(
            o.name for o in self.operands if o.access == "read" and o.strides and not o.is_distinct
        )

    @property
    def written(self) -> int:
        """The position of the operand that is written."""
        return next(i for i, o in enumerate(self.operands) if o.access != "read")


def cases(instance: Instance, *, quick: bool, seed: int = 0) -> list[Case]:
    """The calls for `instance`, the smallest shapes first."""
    random = np.random.default_rng(seed)
    shapes = _shapes(instance, quick=quick)
    limit = QUICK_CASES if quick else FULL_CASES
    every = max(1, limit // len(shapes))
    operators = {statement.operator for statement in instance.meaning.statements}
    extremes: list[Kind] = [kind for operator, kind in EXTREMES.items() if operator in operators]
    # Six to eight kinds and five arrangements: after thirty or forty calls each kind has met each.
    tried: tuple[Kind, ...] = (*KINDS, *extremes)
    kinds = itertools.cycle(tried)
    arrangements = itertools.cycle(ARRANGEMENTS)
    is_integer = DTYPES[instance.kernel.dtypes[written(instance.meaning)]].numpy.startswith(
        ("i", "u")
    )
    found: list[Case] = []
    for sizes in shapes:
        bound = bind(instance.meaning, sizes)
        boxes = footprints(bound)
        if LONGEST in sizes.values():  # once, and exactly: few terms of many do not show otherwise
            chosen: list[Kind] = ["large" if is_integer else "integers"]
        else:
            chosen = [next(kinds) for _ in range(every)]
        found += [
            _case(instance, bound, boxes, sizes, kind, next(arrangements), random)
            for kind in chosen
        ]
    return found


def _shapes(instance: Instance, *, quick: bool) -> list[dict[str, int]]:
    """Choices of the free sizes: each by itself, then together; no more points than allowed."""
    free = free_sizes(instance.meaning)
    limit = QUICK_POINTS if quick else FULL_POINTS
    iterated = {
        iterator.size
        for iterator in (
            *instance.meaning.iterators,
            *(i for statement in instance.meaning.statements for i in statement.iterators),
        )
    }
    usual = QUICK_SIZES if quick else FULL_SIZES
    choices: dict[str, Sequence[int]] = {}
    for name in free:
        if name in instance.sizes:
            choices[name] = (instance.sizes[name],)
        else:
            choices[name] = usual if name in iterated else FACTORS
    smallest = {name: min(those) for name, those in choices.items()}
    found = [smallest]
    for name, those in choices.items():
        base = {other: values_[min(1, len(values_) - 1)] for other, values_ in choices.items()}
        long = (QUICK_LONG if quick else FULL_LONG) if those is usual else ()
        found += [{**base, name: value} for value in (*those, *long)]
    if len(free) > 1:
        random = np.random.default_rng(1)
        found += [
            {name: int(random.choice(those)) for name, those in choices.items()}
            for _ in range(MORE_SIZES // (3 if quick else 1))
        ]
    if not quick:
        found += [{**smallest, name: LONGEST} for name, those in choices.items() if those is usual]
    distinct = [dict(items) for items in dict.fromkeys(tuple(one.items()) for one in found)]
    distinct.sort(key=lambda one: points(bind(instance.meaning, one)))
    least = points(bind(instance.meaning, distinct[0]))
    if least > MOST_POINTS:
        raise InarchError(
            f"expected a call of at most {MOST_POINTS} points to check, found {least} in the smallest; "
            "give the member smaller sizes"
        )
    return [
        one
        for one in distinct
        if one == distinct[0]
        or points(bind(instance.meaning, one))
        <= (MOST_POINTS if LONGEST in one.values() else limit)
    ]


def _case(
    instance: Instance,
    bound: Meaning,
    boxes: Mapping[str, Footprint],
    sizes: Mapping[str, int],
    kind: Kind,
    arrangement: Arrangement,
    random: np.random.Generator,
) -> Case:
    access = accesses(bound)
    dtypes = {**instance.kernel.dtypes, **instance.extras}
    operands: list[Operand] = []
    arrays: dict[str, Array] = {}
    as_nan = bool(random.integers(2))
    # Products of tiny numbers are 0: one operand is not.
    reads = [name for name in access if access[name] == "read"]
    normal = random.choice([*reads, ""]) if kind == "tiny" else ""
    # The difference of two infinities is NaN: only one operand that is read is infinite.
    finite = _others_than_first(bound) if kind in EXTREMES.values() else frozenset[str]()
    wide = magnitudes(bound, dtypes)
    if max(sizes.values(), default=0) > max(FULL_SIZES) and set(dtypes.values()) & {"i16", "ui16"}:
        kind = "integers"  # so many products of 16 bits do not fit 32
    for name, demanded in demands(instance).items():
        box = boxes[name]
        wanted = [known_demand(stride, sizes) for stride in demanded]
        how: Arrangement = arrangement
        if arrangement == "overlapping" and access[name] != "read":
            how = "random"
        strides = arrange(box.shape, wanted, how, random)
        dtype = np.dtype(DTYPES[dtypes[name]].numpy)
        own: Kind = "reals" if name == normal else "integers" if name in finite else kind
        magnitude = wide.get(name, 0)
        operand = _operand(
            name, access[name], box, strides, dtype, own, random, magnitude, as_nan=as_nan
        )
        operands.append(operand)
        arrays[name] = _view(operand, box)
    box = boxes[written(bound)]
    numbers = (
        *(s for o in operands for s in o.strides),
        *(sizes[n] for n in free_sizes(instance.meaning)),
    )
    outcome = expected(bound, arrays, flushes=instance.kernel.flushes)
    return Case(dict(sizes), kind, arrangement, tuple(operands), numbers, outcome, box)


def _others_than_first(meaning: Meaning) -> frozenset[str]:
    """The operands that are read, but for the first one in what is reduced to a maximum or minimum."""
    target = written(meaning)
    reduced = next(s for s in meaning.statements if s.operator in EXTREMES)
    first = [e.operand for e in elements(reduced.value) if e.operand != target][:1]
    return frozenset(accesses(meaning)) - {target, *first}


def _operand(
    name: str,
    access: Access,
    box: Footprint,
    strides: tuple[int, ...],
    dtype: np.dtype,
    kind: Kind,
    random: np.random.Generator,
    magnitude: int,
    *,
    as_nan: bool,
) -> Operand:
    places = offsets(box, strides)
    length = int(places.max()) + 1 if places.size else 1
    touched = np.zeros(length, bool)
    touched[places] = True
    if access != "read" and int(touched.sum()) != places.size:
        raise InarchError(
            f"layout of {name}: with strides {strides} elements of shape {box.shape} share memory; "
            "an operand that is written needs a place for each"
        )
    is_written = access != "read"
    image = poison(length, dtype, random, is_written=is_written, as_nan=as_nan).copy()
    if access != "write":
        image[touched] = values(kind, int(touched.sum()), dtype, random, magnitude)
    elif is_float_array(dtype):
        image[touched] = np.nan
    is_distinct = int(touched.sum()) == places.size
    return Operand(name, access, box.shape, strides, image, touched, is_distinct)


def offsets(box: Footprint, strides: Sequence[int]) -> Array:
    """Where the touched elements of a box lie, in elements from element 0."""
    if not box.shape:
        return np.zeros(1, np.int64)
    pairs = zip(box.indices, strides, strict=True)
    return np.sum([index * stride for index, stride in pairs], axis=0)


def _view(operand: Operand, box: Footprint) -> Array:
    """The operand as an array over its box; what is not touched is 0 and is not read."""
    array = np.zeros(box.shape, operand.image.dtype)
    array[box.touched] = operand.image[offsets(box, operand.strides)]
    return array
