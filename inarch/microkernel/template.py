"""Microkernels made to measure: a template makes a family for what one nest computes.

    TEMPLATE = Template(make=make, doc="...")

    def make(workload: Workload, target: Target) -> Microkernel | None: ...

Kernels of the table say what they compute and are looked for in nests; a template is shown the nest, of any
dtype and body, and says which kernel would do it. `tensorize` asks templates where no kernel of the table
does a nest, weighs what they make as it weighs others, and a wrong one is found by the same checks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from inarch.machine.target import Target
from inarch.meaning import (
    OPERATORS,
    Apply,
    Element,
    Expression,
    Meaning,
    Number,
    Statement,
    Term,
    elements,
    meaning_text,
)
from inarch.meaning import Iterator as Loop
from inarch.microkernel._data import Microkernel


@dataclass(frozen=True)
class Operand:
    """How an operand of a workload moves: its stride along each axis, in elements."""

    dtype: str
    strides: tuple[int, ...]
    is_constant: bool
    """It can be packed at compile time."""


@dataclass(frozen=True)
class Axis:
    """An axis of a nest: its points, and whether it reduces."""

    size: int
    is_reduction: bool


@dataclass(frozen=True)
class Workload:
    """`[output = init;] output operator= update [; output = finish]` at every point of `axes`.

    Expressions are of elements without indices: an operand's name stands for what it holds at the point.
    """

    axes: tuple[Axis, ...]
    operands: Mapping[str, Operand]
    """Those that are read, in the order of the nest, then the output."""
    output: str
    operator: str
    """`add`, `mul`, `max` or `min`."""
    update: Expression
    init: float | None
    """None: it combines with what the output holds."""
    finish: Expression | None

    def read_by(self, expression: Expression) -> tuple[str, ...]:
        """The operands in an expression, but for the output, each once."""
        found = dict.fromkeys(element.operand for element in elements(expression))
        return tuple(name for name in found if name != self.output)

    def dtypes(self, operands: Iterable[str]) -> dict[str, str]:
        """Operand -> its dtype."""
        return {name: self.operands[name].dtype for name in operands}

    def layout(
        self, iterators: Mapping[str, int], unit: int, operands: Iterable[str]
    ) -> dict[str, tuple[int | str, ...]]:
        """For `Microkernel.layout`: operands that move along the axis `unit` are contiguous along it."""
        return {
            name: tuple(1 if axis == unit else "*" for axis in self._dimensions(name, iterators))
            for name in operands
            if self.operands[name].strides[unit]
        }

    def kernel(
        self, iterators: Mapping[str, int], sizes: Mapping[str, str], draft: Microkernel
    ) -> Microkernel:
        """`draft` with the meaning of this workload, and its dtypes.

        `iterators` (name -> axis) are those of the kernel, outermost first; the axes of others run around
        it. An operand has a dimension for each iterator along which it moves. A size is called as `sizes`
        say, or like its iterator in capitals.
        """
        names = {axis: name for name, axis in iterators.items()}
        indexed = {
            operand: Element(
                operand,
                tuple((Term((), names[axis]),) for axis in self._dimensions(operand, iterators)),
            )
            for operand in self.operands
        }
        target = indexed[self.output]
        loops = {
            axis: Loop(name, sizes.get(name, name.upper())) for name, axis in iterators.items()
        }
        inside = tuple(loop for axis, loop in loops.items() if self.axes[axis].is_reduction)
        outside = tuple(loop for axis, loop in loops.items() if not self.axes[axis].is_reduction)
        sign = next(sign for sign, function in OPERATORS.items() if function == self.operator)
        statements = [Statement(inside, target, sign, _indexed(self.update, indexed))]
        used = dict.fromkeys(self.read_by(self.update))
        if self.init is not None:
            statements.insert(0, Statement((), target, "=", Number(self.init)))
        if self.finish is not None:
            statements.append(Statement((), target, "=", _indexed(self.finish, indexed)))
            used |= dict.fromkeys(self.read_by(self.finish))
        computes = meaning_text(Meaning(outside, tuple(statements)))
        return replace(draft, computes=computes, dtypes=self.dtypes([*used, self.output]))

    def _dimensions(self, operand: str, iterators: Mapping[str, int]) -> list[int]:
        """The axes of an operand's dimensions."""
        return [axis for axis in iterators.values() if self.operands[operand].strides[axis]]


def _indexed(expression: Expression, indexed: Mapping[str, Element]) -> Expression:
    match expression:
        case Element(operand):
            return indexed[operand]
        case Apply(function, arguments):
            return Apply(function, tuple(_indexed(each, indexed) for each in arguments))
        case Number():
            return expression


Make = Callable[[Workload, Target], Microkernel | None]


@dataclass(frozen=True)
class Template:
    """Makes microkernels for workloads."""

    make: Make
    """A workload and the target -> a family that does it, or None where this template does not."""
    doc: str = ""
    api: int = 1


def made_name(template: str, kernel: Microkernel) -> str:
    """The name of a kernel that a template has made: equal kernels of equal templates share it."""
    said = repr(
        (kernel.computes, dict(kernel.dtypes), dict(kernel.layout), dict(kernel.params), kernel.doc)
    )
    return f"{template}-{hashlib.sha256(said.encode()).hexdigest()[:8]}"


def template_of(name: str) -> str:
    """The template that has made a kernel of this name, if one has."""
    return name.rpartition("-")[0]
