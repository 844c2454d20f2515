"""The arguments of a call of a computation: by position, by name, in `out`; arrays, and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol, cast

from inarch.artifact.manifest import Port
from inarch.computation._types import Given
from inarch.core.dtypes import DTYPES, from_numpy
from inarch.core.errors import ArgumentError, UnsupportedError
from inarch.core.lazy import Array, np
from inarch.core.once import cached_property
from inarch.meaning import element_text, elements, written
from inarch.meaning.program import Program
from inarch.runtime.tensor import as_array, as_output, check, check_bools

Value = object
"""What a caller gives: an array of NumPy or of another framework, or a number."""


class Typed(Protocol):
    """An array, or what is known of one."""

    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...


@dataclass(frozen=True)
class Interface:
    """What a computation is called with: its operands in the order of its arguments."""

    program: Program
    arguments: tuple[str, ...]
    where: str = "compute"

    @cached_property
    def required(self) -> tuple[str, ...]:
        """All but what is only written, which is allocated where it is not given."""
        accesses = self.program.accesses
        return tuple(name for name in self.arguments if accesses[name] != "write")

    def bind(
        self, args: Sequence[Value], by_name: Mapping[str, Value], out: Value
    ) -> dict[str, Value]:
        """The operands that are given. Raises ArgumentError for what does not fit."""
        order = self.required if len(args) <= len(self.required) else self.arguments
        if len(args) > len(self.arguments):
            raise ArgumentError(f"{self.where}: expected {self._usage()}, found {len(args)}")
        found = dict(zip(order, args, strict=False))
        outputs: dict[str, Value] = {}
        if out is not None:
            values = cast("Sequence[Value]", out) if isinstance(out, tuple | list) else (out,)
            names = self.program.outputs
            if len(values) != len(names):
                raise ArgumentError(
                    f"{self.where}: expected {len(names)} in out ({', '.join(names)}), found {len(values)}"
                )
            outputs = dict(zip(names, values, strict=True))
        for name, value in (*by_name.items(), *outputs.items()):
            if name not in self.arguments:
                near = get_close_matches(name, self.arguments, n=1)
                hint = f"; did you mean '{near[0]}'?" if near else "."
                raise ArgumentError(
                    f"{self.where}: no argument '{name}'{hint} Arguments: {', '.join(self.arguments)}"
                )
            if name in found:
                raise ArgumentError(f"{self.where}: argument '{name}' is given twice")
            found[name] = value
        for name in self.required:
            if name not in found:
                why = ", which is updated," if name in self.program.outputs else ""
                raise ArgumentError(
                    f"{self.where}: argument '{name}'{why} is missing; expected {self._usage()}"
                )
        return found

    def _usage(self) -> str:
        fewer = self.required
        text = f"{_count(fewer)} ({', '.join(fewer)})"
        if len(fewer) == len(self.arguments):
            return text
        return f"{text}, or {len(self.arguments)} with the outputs ({', '.join(self.arguments)})"

    def array(self, name: str, value: Value) -> Array:
        """`value` as an array that shares its memory; what is no array is refused."""
        if type(value) is np.ndarray:
            return value
        rank = self.program.ranks[name]
        role = f"{self.where}: argument '{name}'"
        try:
            return as_array(value, Port(name, DTYPES["f32"], (1,) * rank), role)
        except ArgumentError as error:
            if hasattr(value, "__dlpack__"):
                raise
            raise ArgumentError(
                f"{role}: expected an array of rank {rank}, found a {type(value).__name__}"
            ) from error

    def given(self, name: str, array: Typed) -> Given:
        """What an array says. Raises ArgumentError for another rank, UnsupportedError for its dtype."""
        rank = self.program.ranks[name]
        if array.ndim != rank:
            raise ArgumentError(
                f"{self.where}: argument '{name}': expected rank {rank} ({self._shown(name)}), "
                f"found shape {array.shape}"
            )
        try:
            return Given(from_numpy(array.dtype.name).name, array.shape)
        except UnsupportedError as error:
            raise UnsupportedError(f"{self.where}: argument '{name}': {error.message}") from error

    def _shown(self, name: str) -> str:
        """An element of it, as the text has it."""
        for meaning in self.program.meanings:
            for statement in meaning.statements:
                for element in (statement.target, *elements(statement.value)):
                    if element.operand == name:
                        return element_text(element)
        raise AssertionError("every operand is in the text")

    def number(self, name: str, value: Value, port: Port) -> Array:
        """A number as an array of no dimensions. Raises ArgumentError where its dtype does not hold it."""
        number = cast("float", value)
        role = f"{self.where}: argument '{name}'"
        if port.dtype.is_float:
            return as_array(float(number) if type(number) is not int else number, port, role)
        low, high = port.dtype.least, port.dtype.greatest
        if not low <= number <= high or number != int(number):
            raise ArgumentError(
                f"{role}: expected an integer from {low} to {high} ({port.dtype.name}), found {number}"
            )
        return np.asarray(number).astype(port.dtype.numpy)

    def check(self, name: str, array: Array, port: Port) -> None:
        """Raises ArgumentError for what is not of the port's type, row-major, aligned; for bad bools."""
        role = f"{self.where}: argument '{name}'"
        check(array, port, role)
        check_bools(array, port, role)

    def output(self, name: str, value: Value, port: Port, is_read: bool) -> Array:
        """`value`, which can be written, and whose bools can be read. Raises ArgumentError."""
        role = f"{self.where}: output '{name}'"
        array = as_output(value, port, role)
        if is_read:
            check_bools(array, port, role)
        return array

    def merged(self, arrays: Mapping[str, Array]) -> dict[str, str]:
        """Inputs that are the very memory of an output -> that output, where that is in place.

        An input may be the memory of an output where no statement reads it after the first that writes the
        output, and that one reads it only at the point that it writes. Raises ArgumentError for any other
        overlap.
        """
        found: dict[str, str] = {}
        for output in self.program.outputs:
            if output not in arrays:
                continue
            for name, array in arrays.items():
                if name == output or not np.may_share_memory(array, arrays[output]):
                    continue
                if array.nbytes == 0:
                    continue
                if name in self.program.outputs or name in found:
                    raise ArgumentError(
                        f"{self.where}: output '{output}': expected memory of its own, found that of '{name}'"
                    )
                if not _is_same(array, arrays[output]) or not self._is_in_place(name, output):
                    raise ArgumentError(
                        f"{self.where}: output '{output}': expected memory of its own, found that of "
                        f"argument '{name}', which {self._why(name, output, array, arrays[output])}"
                    )
                found[name] = output
        return found

    def _why(self, name: str, output: str, array: Array, other: Array) -> str:
        if not _is_same(array, other):
            return "overlaps it"
        return f"is read elsewhere than where {output} is written"

    def _is_in_place(self, name: str, output: str) -> bool:
        """Whether every read of `name` comes before its element is written as one of `output`."""
        is_written = False
        for meaning in self.program.meanings:
            shared = {iterator.name for iterator in meaning.iterators}
            for statement in meaning.statements:
                reads = [each for each in elements(statement.value) if each.operand == name]
                if reads and is_written:
                    return False
                if written(meaning) != output:
                    continue
                is_written = True
                used = {index[0].iterator for index in statement.target.indices}
                if reads and (shared - used or statement.iterators):
                    return False
                if any(each.indices != statement.target.indices for each in reads):
                    return False
        return True


def number_kind(value: Value) -> str | None:
    """`float`, `int` or `bool` of a number of Python or NumPy; None for anything else."""
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating):
        return "float"
    return None


def _is_same(a: Array, b: Array) -> bool:
    return (
        a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
        and a.shape == b.shape
        and a.dtype == b.dtype
        and a.strides == b.strides
    )


def _count(names: Sequence[str]) -> str:
    return f"{len(names)} argument{'' if len(names) == 1 else 's'}"
