"""A microkernel as what nests are unified with: its meaning in normal form, and who uses what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inarch.core.errors import InarchError
from inarch.core.once import cached_property
from inarch.dialects.kernel.body import Body, body_of
from inarch.meaning import (
    Element,
    Expression,
    Index,
    Iterator,
    Normal,
    elements,
    free_sizes,
    normal,
    ranks,
)
from inarch.microkernel import Microkernel, check


@dataclass(frozen=True)
class KernelPattern:
    """The kernel `name`; the meaning has parameters in it, as members have not been chosen yet."""

    name: str
    kernel: Microkernel
    normal: Normal
    free: tuple[str, ...]
    """The sizes that a call gives, in the order of the C function."""

    @cached_property
    def update(self) -> Body:
        """What a step of the kernel combines with the element that it writes."""
        return self._body(self.normal.update)

    @cached_property
    def finish(self) -> Body | None:
        """What the kernel makes of the element at last."""
        return None if self.normal.finish is None else self._body(self.normal.finish)

    def _body(self, expression: Expression) -> Body:
        return body_of(expression, self.kernel.dtypes, self.kernel.dtypes[self.output])

    @cached_property
    def iterators(self) -> tuple[Iterator, ...]:
        """Those of the written element in the order of its indices, then the reductions."""
        return (*self.normal.parallel, *self.normal.reductions)

    @cached_property
    def reductions(self) -> frozenset[str]:
        """The names of the iterators that reduce."""
        return frozenset(iterator.name for iterator in self.normal.reductions)

    @cached_property
    def assignments(self) -> dict[str, tuple[tuple[tuple[str, ...], ...], ...]]:
        """Those found already (`unify/iterators.py`), which do not depend on sizes."""
        return {}

    @cached_property
    def given(self) -> tuple[tuple[str, str], ...]:
        """The sizes that the call gives, each with the iterator that has it."""
        sizes = ((each.size, each.name) for each in self.iterators)
        return tuple(
            (size, name) for size, name in sizes if isinstance(size, str) and self.is_free(size)
        )

    @property
    def output(self) -> str:
        """The operand that is written."""
        return self.normal.target.operand

    @cached_property
    def elements(self) -> Mapping[str, tuple[Element, ...]]:
        """Operand -> its distinct elements in the update (of the output: the target)."""
        found: dict[str, dict[Element, None]] = {self.output: {self.normal.target: None}}
        shape = self.normal
        for expression in (shape.update, *((shape.finish,) if shape.finish is not None else ())):
            for element in elements(expression):
                found.setdefault(element.operand, {})[element] = None
        return {operand: tuple(each) for operand, each in found.items()}

    @cached_property
    def users(self) -> Mapping[str, frozenset[str]]:
        """Iterator -> the operands whose elements it moves."""
        return {
            iterator.name: frozenset(
                operand
                for operand, each in self.elements.items()
                if any(iterator.name in iterators_of(e.indices) for e in each)
            )
            for iterator in self.iterators
        }

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """Operand -> its number of dimensions."""
        return {operand: len(each[0].indices) for operand, each in self.elements.items()}

    def is_free(self, size: int | str) -> bool:
        """Whether a size is given by the call."""
        return isinstance(size, str) and size not in self.kernel.params

    def values(self, size: int | str) -> tuple[int, ...]:
        """The values that a size that is not free can have."""
        if isinstance(size, int):
            return (size,)
        return tuple(self.kernel.params[size])


def iterators_of(indices: tuple[Index, ...]) -> frozenset[str]:
    """The iterators that stand in indices."""
    return frozenset(
        term.iterator for index in indices for term in index if term.iterator is not None
    )


def pattern_of(name: str, kernel: Microkernel) -> KernelPattern:
    """The kernel as a pattern. Raises InarchError for one that is unsound or of no known form."""
    meaning = check(kernel, name)
    try:
        shape = normal(meaning)
    except InarchError as error:
        raise InarchError(error.message, where=f"microkernel '{name}'") from error
    free = tuple(size for size in free_sizes(meaning) if size not in kernel.params)
    assert set(ranks(meaning)) == set(kernel.dtypes)
    return KernelPattern(name, kernel, shape, free)
