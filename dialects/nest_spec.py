"""What a structured op computes, as a nest: iterators, index maps, a scalar body.

    out[parallel] = finish(reduce over reduction iterators of body(ins, acc), starting at init)

`graph` ops state one of these (`StructuredOp.nest`); `loop.nest` is the same thing over buffers, so
lowering copies it. Shapes are static; all sizes are in elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir.affine import AffineExpr, AffineMap

from inarch.dialects.scalar import Number, Scalar
from inarch.ir.index.affine import indirect_map

Body = Callable[..., Scalar]
"""Scalars of the operands, then the accumulator when there is an init; returns the new value."""


def multiply_add(x: Scalar, w: Scalar, acc: Scalar) -> Scalar:
    """The body of a sum of products, in the dtype of the sum."""
    return acc + x.cast(acc.dtype) * w.cast(acc.dtype)


def multiply_add_biased(x: Scalar, w: Scalar, _: Scalar, acc: Scalar) -> Scalar:
    """The same where the third operand is a bias, which `add_bias` adds at the end."""
    return multiply_add(x, w, acc)


def add_bias(_x: Scalar, _w: Scalar, bias: Scalar, acc: Scalar) -> Scalar:
    """The end of a sum of products with a bias."""
    return acc + bias


def same(x: Scalar) -> Scalar:
    """The body of a copy."""
    return x


@dataclass(frozen=True)
class Iterator:
    """One loop of a nest: its name in the printed form, its trip count, what it does."""

    name: str
    size: int
    reduction: bool = False
    scan: bool = False

    @property
    def kind(self) -> str:
        """What `loop.nest` calls it."""
        return "reduction" if self.reduction else "scan" if self.scan else "parallel"


@dataclass(frozen=True)
class Read:
    """How a nest reads one operand: an affine map, and what a read outside the operand yields.

    Without `pad`, every access must be in bounds.
    """

    map: AffineMap
    pad: Number | None = None


@dataclass(frozen=True)
class NestSpec:
    """One nest with one output. `init` is the accumulator's start (None: there is none)."""

    iterators: tuple[Iterator, ...]
    reads: tuple[Read, ...]
    write: AffineMap
    body: Body
    init: Number | None = None
    finish: Body | None = None
    """Applied once per output element: the operands that do not vary with a reduction iterator are
    passed too, so its parameters are those of `body`."""
    clip: bool = False
    """Whether writes outside the output are dropped."""


@dataclass
class NestBuilder:
    """Collects iterators, then makes the NestSpec.

    >>> nest = NestBuilder()
    >>> m, n, k = nest.parallel("m", 2), nest.parallel("n", 3), nest.reduction("k", 4)
    >>> spec = nest.spec([(m, k), (k, n)], (m, n), lambda a, b, acc: acc + a * b, init=0)
    >>> [i.name for i in spec.iterators], str(spec.write)
    (['m', 'n', 'k'], '(d0, d1, d2) -> (d0, d1)')
    """

    iterators: list[Iterator] = field(default_factory=list[Iterator])

    def parallel(self, name: str, size: int) -> AffineExpr:
        """A new parallel iterator; its points are independent."""
        return self._add(Iterator(name, size))

    def reduction(self, name: str, size: int) -> AffineExpr:
        """A new reduction iterator; the order of its points may be changed at compile time."""
        return self._add(Iterator(name, size, reduction=True))

    def scan(self, name: str, size: int) -> AffineExpr:
        """A new iterator whose points come in order; the accumulator is written at each."""
        return self._add(Iterator(name, size, scan=True))

    def at(self, operand: int) -> AffineExpr:
        """An index that is the element of that operand, in a dimension of a read (alone)."""
        return AffineExpr.symbol(operand)

    def shape(self, sizes: Sequence[int], prefix: str = "i") -> tuple[AffineExpr, ...]:
        """One parallel iterator a dimension, called `i0`, `i1`, ..."""
        return tuple(self.parallel(f"{prefix}{n}", size) for n, size in enumerate(sizes))

    def spec(
        self,
        reads: Sequence[Sequence[AffineExpr | int]],
        write: Sequence[AffineExpr | int],
        body: Body,
        *,
        init: Number | None = None,
        pads: Sequence[Number | None] | None = None,
        finish: Body | None = None,
    ) -> NestSpec:
        """The nest that reads operand `j` at `reads[j]` and writes the output at `write`."""
        values = pads or [None] * len(reads)
        return NestSpec(
            tuple(self.iterators),
            tuple(Read(self._map(e), pad) for e, pad in zip(reads, values, strict=True)),
            self._map(write),
            body,
            init,
            finish,
        )

    def _add(self, iterator: Iterator) -> AffineExpr:
        self.iterators.append(iterator)
        return AffineExpr.dimension(len(self.iterators) - 1)

    def _map(self, exprs: Sequence[AffineExpr | int]) -> AffineMap:
        results = [AffineExpr.constant(e) if isinstance(e, int) else e for e in exprs]
        return indirect_map(len(self.iterators), results)
