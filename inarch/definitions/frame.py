"""Running a program by its definitions: the values of one call, and what all calls share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from xdsl.dialects.builtin import IndexType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from inarch.core.dtypes import is_float_array
from inarch.core.errors import EnvironmentFault, InarchError, UnsupportedError
from inarch.core.lazy import Array, np
from inarch.core.plugins import Extensions
from inarch.definitions.buffers import Buffer, Domain
from inarch.definitions.elements import Element
from inarch.ir.context import ConstantStore
from inarch.ir.location import location_text
from inarch.ir.types import dtype_of

Definition: TypeAlias = "Callable[[Operation, Frame], None]"
"""Computes an op's results from its operands in a frame."""

ElementFunction: TypeAlias = (
    Callable[[Element], Element]
    | Callable[[Element, Element], Element]
    | Callable[[Element, Element, Element], Element]
)
"""A function of the elements of one to three operands."""

FAMILIES: Extensions[Mapping[type[Operation], Definition]] = Extensions(
    "inarch.definitions.ops", "DEFINITIONS"
)
"""The files of definitions, by name."""

Import: TypeAlias = Callable[..., Any]
"""Stands for a function without a body: called on arrays, inputs then outputs, which it fills."""


def definitions() -> Mapping[type[Operation], Definition]:
    """Op class -> its definition, from every family."""
    return _definitions(FAMILIES.revision)


@lru_cache(maxsize=1)
def _definitions(revision: int) -> Mapping[type[Operation], Definition]:
    del revision  # by which it is kept
    families = FAMILIES.working("its ops have no definition")
    return {kind: definition for _, family in families for kind, definition in family.items()}


def definition_of(kind: type[Operation]) -> Definition | None:
    """The definition of an op class, or of the nearest class that it is derived from."""
    table = definitions()
    return next((table[each] for each in kind.__mro__ if each in table), None)


def storage_dtype(kind: Attribute) -> np.dtype[Any]:
    """What holds an element of that type; integers are signless, so those of NumPy with a sign."""
    if isinstance(kind, IndexType):
        return np.dtype(np.int64)
    name = dtype_of(kind).numpy
    return np.dtype(name.removeprefix("u"))


@dataclass
class RunState:
    """What all calls of one run share."""

    functions: Mapping[str, FuncOp]
    symbols: Mapping[str, Operation]
    store: ConstantStore
    domain: Domain
    garbage: int = 0
    """Seeds what elements hold that nothing has written."""
    garbage_at: int | None = None
    """The only reading op (by its number in `readers`) that sees garbage other than 0's."""
    workspace: Array | None = None
    workspace_tags: Array | None = None
    readers: list[Operation] = field(default_factory=list[Operation])
    """The ops that have read elements that nothing had written, in order."""
    tags: int = 0
    imports: Mapping[str, Import] = field(default_factory=dict[str, Import])
    observe: Callable[[Operation, Frame], None] | None = None
    """Called after each op of a function's body."""

    def new_tag(self) -> int:
        """One that no buffer has."""
        self.tags += 1
        return self.tags

    def unwritten_values(self, op: Operation, dtype: np.dtype[Any], count: int) -> Array:
        """What `op` finds in elements that nothing has written."""
        number = self._number(op)
        seed = self.garbage if self.garbage_at in (None, number) else 0
        generator = np.random.default_rng([seed, number])
        if is_float_array(dtype):
            return (
                np.full(count, np.nan, dtype)
                if seed
                else generator.normal(0, 1e3, count).astype(dtype)
            )
        if dtype.kind == "b":
            return generator.integers(0, 2, count).astype(bool)
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)

    def _number(self, op: Operation) -> int:
        for number, known in enumerate(self.readers):
            if known is op:
                return number
        self.readers.append(op)
        return len(self.readers) - 1


@dataclass
class Frame:
    """The values of one call of a function."""

    state: RunState
    values: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])
    workspace: int = 0
    """Where its part of the workspace begins, in bytes."""

    @property
    def domain(self) -> Domain:
        """What elements are."""
        return self.state.domain

    def get(self, value: SSAValue) -> Element:
        """The element that `value` stands for."""
        return self.values[value]

    def buffer(self, value: SSAValue) -> Buffer:
        """The buffer that `value` stands for."""
        return self.values[value]

    def operands(self, op: Operation) -> list[Element]:
        """The elements of all operands."""
        return [self.values[operand] for operand in op.operands]

    def set(self, op: Operation, *results: Any) -> None:
        """What the op's results are."""
        self.values.update(zip(op.results, results, strict=True))

    def run(self, block: Block, arguments: Sequence[Any] = ()) -> list[Any]:
        """Every op of a block in order; the operands of its terminator."""
        self.values.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if op.has_trait(IsTerminator):
                return [self.values[operand] for operand in op.operands]
            self.step(op)
        return []

    def step(self, op: Operation) -> None:
        """One op. Raises UnsupportedError for one that has no definition."""
        definition = definition_of(type(op))
        if definition is None:
            raise UnsupportedError(
                f"expected an op with a definition, found '{op.name}'; add one to "
                "inarch/definitions/ops, or --load a file with DEFINITIONS",
                where=location_text(op),
            )
        try:
            definition(op, self)
        except VerifyException as error:
            raise InarchError(f"'{op.name}' {error}", where=location_text(op)) from error
        except InarchError as error:
            error.where = error.where or location_text(op)
            raise
        except MemoryError as error:
            message = f"expected memory for the definition of '{op.name}': {error}"
            raise EnvironmentFault(message, where=location_text(op)) from error
        if self.state.observe is not None and isinstance(op.parent_op(), FuncOp):
            self.state.observe(op, self)


def elementwise(function: ElementFunction) -> Definition:
    """The definition of an op with one result that is a function of its operands' elements."""
    compute: Callable[..., Element] = function

    def definition(op: Operation, frame: Frame) -> None:
        frame.set(op, compute(*frame.operands(op)))

    return definition


def outside(op: Operation, message: str) -> InarchError:
    """The error for an access that leaves its buffer."""
    return InarchError(f"'{op.name}' {message}", where=location_text(op))
