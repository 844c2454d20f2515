"""A computation that was stated as text: compiled for each shape and dtype that it is called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from inarch.artifact.manifest import Port
from inarch.computation._arguments import Interface, Value, number_kind
from inarch.computation._types import Given, resolve
from inarch.core.dtypes import DTYPES
from inarch.core.errors import ArgumentError, unknown
from inarch.core.forks import long_lock
from inarch.core.lazy import Array, np
from inarch.meaning import Access, Apply, Element, Expression, Meaning, Number
from inarch.meaning import text as meaning_text
from inarch.meaning.program import Program, parse_program, pointing
from inarch.runtime.calls.bound import ARRAYS, BOOLS, FLOATS, INTS, READ, Places
from inarch.runtime.calls.called import Called
from inarch.runtime.calls.frameworks import as_framework, framework_of
from inarch.runtime.function import Function
from inarch.runtime.tensor import empty

if TYPE_CHECKING:
    from inarch.driver.options import Options
    from inarch.runtime.module import Module

_Key = tuple[Any, ...]


@dataclass(frozen=True)
class Specialized:
    """A computation compiled for one set of types."""

    module: Module
    function: Function
    ports: Mapping[str, Port]
    """The types of all operands."""
    inputs: tuple[str, ...]
    """What `function` takes, in order."""
    outputs: tuple[str, ...]
    """What it writes, in order; some are read, too."""


@dataclass(frozen=True)
class Described:
    """All of an array that a computation is compiled for; of arrays that are none yet."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


class Computation(Called):
    """What `inarch.compute` returns: call it with arrays. Safe from several threads; pickles as its text.

    It has a compiled function for each combination of shapes, dtypes and shared memory that it has met.
    """

    def __init__(
        self,
        text: str,
        arguments: tuple[str, ...],
        sizes: Mapping[str, int],
        dtypes: Mapping[str, str],
        options: Options,
    ) -> None:
        """For `inarch.compute`, which checks what it is given."""
        self.text = text
        self._program: Program = parse_program(text)
        self._interface = Interface(self._program, arguments)
        self.arguments = arguments
        """The operands in the order in which they are given by position."""
        self.outputs = self._program.outputs
        """The operands that are written, in the order in which they are returned."""
        self._sizes = dict(sizes)
        self._dtypes = dict(dtypes)
        self._options = options
        self._made: dict[_Key, Specialized] = {}
        self._planned: set[_Key] = set()
        """What compiled calls know: `_plan` is the last one, which leads to those before."""
        self._lock = long_lock()

    def __repr__(self) -> str:
        return f"<inarch computation {self}>"

    def __str__(self) -> str:
        return f"({', '.join(self.arguments)}) -> ({', '.join(self.outputs)}): {self.text.strip()}"

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.text, self.arguments, self._sizes, self._dtypes, self._options)
        return Computation, parts

    @property
    def constants(self) -> tuple[str, ...]:
        """The operands that are only read."""
        return tuple(name for name in self.arguments if name not in self.outputs)

    def _general(
        self,
        /,
        *args: Value,
        out: Value = None,
        threads: object = None,
        **by_name: Value,
    ) -> Any:
        """Writes the outputs, and returns them: one, or a tuple of several.

        All operands are given in the order of `arguments`, or all but those that are only written, which
        are then allocated, as the framework of the arrays has them; or by name; outputs also in `out`.
        Scalars that are read may be numbers, which take the dtype of what they meet. An input may be the
        memory of an output where each element is read before it is written.

        Raises ArgumentError for what does not fit, and InarchError for dtypes that the text does not allow.
        """
        values = self._interface.bind(args, by_name, out)
        numbers, arrays = self._sorted(values)
        merged = self._interface.merged(arrays)
        key = _key(numbers, arrays, merged)
        made = self._get(numbers, arrays, merged)
        ports = made.ports
        for name, value in values.items():  # the first that does not fit is named
            if name in numbers:
                arrays[name] = self._interface.number(name, value, ports[name])
            elif name in made.outputs:
                is_read = self.accesses[name] != "write"
                arrays[name] = self._interface.output(name, value, ports[name], is_read)
            if name in made.inputs:
                self._interface.check(name, arrays[name], ports[name])
        new = [name for name in made.outputs if name not in values]
        arrays |= {name: empty(ports[name]) for name in new}
        given = [arrays[name] for name in (*made.inputs, *made.outputs)]
        made.function(*given, threads=threads)
        self._plan_for(key, made, numbers, merged)
        results = {name: values.get(name, arrays[name]) for name in self.outputs}
        like = framework_of(tuple(values.values())) if new else None
        if like is not None:
            results |= {name: as_framework(like, (arrays[name],)) for name in new}
        every = tuple(results.values())
        return every[0] if len(every) == 1 else every

    def _plan_for(
        self, key: _Key, made: Specialized, numbers: Mapping[str, str], merged: Mapping[str, str]
    ) -> None:
        """Has compiled calls take arguments of these types from now on."""
        if key in self._planned:
            return
        order = (*made.inputs, *made.outputs)
        at = {name: order.index(merged.get(name, name)) for name in self.arguments}
        reads = {name: READ if self.accesses[name] != "write" else 0 for name in made.outputs}
        takes = [
            _NUMBERS[numbers[name]] if name in numbers else ARRAYS | reads.get(name, 0)
            for name in order
        ]
        fewest = None if merged else [at[name] for name in self._interface.required]
        with self._lock:
            places = Places([at[name] for name in self.arguments], fewest, takes, self._plan)
            plan = made.function.plan_of(places)
            if plan is not None and key not in self._planned:
                self._plan = plan or self._plan
                self._planned.add(key)

    def module(self, /, *args: Value, out: Value = None, **by_name: Value) -> Module:
        """The compiled module for such arguments; its `main` takes the inputs, then the outputs.

        Without arguments, for the sizes and dtypes that `compute` was given. An output that is updated
        is read, too. Raises as a call.
        """
        if not args and out is None and not by_name:
            return self._get({}, {}, {}).module
        numbers, arrays = self._sorted(self._interface.bind(args, by_name, out))
        return self._get(numbers, arrays, {}).module

    @property
    def accesses(self) -> Mapping[str, Access]:
        """Whether each operand is read, overwritten, or read and written."""
        return self._program.accesses

    def bind(self, args: Sequence[Value], by_name: Mapping[str, Value]) -> dict[str, Value]:
        """For bridges: the operands that are given. Raises ArgumentError."""
        return self._interface.bind(args, by_name, None)

    def specialized(
        self, numbers: Mapping[str, str], arrays: Mapping[str, Array | Described]
    ) -> Specialized:
        """For bridges: what is compiled for numbers (`float`, `int` or `bool`) and arrays."""
        return self._get(numbers, arrays, {})

    def _sorted(self, values: Mapping[str, Value]) -> tuple[dict[str, str], dict[str, Array]]:
        """Which operands are numbers, and of what kind; the arrays of the others."""
        numbers: dict[str, str] = {}
        arrays: dict[str, Array] = {}
        for name, value in values.items():
            kind = number_kind(value)
            if kind is None or self._program.ranks[name] or name in self.outputs:
                arrays[name] = self._interface.array(name, value)
            else:
                numbers[name] = kind
        return numbers, arrays

    def _get(
        self,
        numbers: Mapping[str, str],
        arrays: Mapping[str, Array | Described],
        merged: Mapping[str, str],
    ) -> Specialized:
        """What is compiled for these types, which it is now if it was not before."""
        key = _key(numbers, arrays, merged)
        made = self._made.get(key)
        if made is None:
            with self._lock:
                made = self._made.get(key)
                if made is None:
                    made = self._made[key] = self._make(numbers, arrays, merged)
        return made

    def _make(
        self,
        numbers: Mapping[str, str],
        arrays: Mapping[str, Array | Described],
        merged: Mapping[str, str],
    ) -> Specialized:
        from inarch.driver.keep.program import kept_program

        given = {name: Given(self._dtypes.get(name)) for name in (*arrays, *self.arguments)}
        for name, kind in numbers.items():
            given[name] = Given(self._dtypes.get(name), (), kind)
        for name, array in arrays.items():
            given[name] = self._interface.given(name, array)
            if (wanted := self._dtypes.get(name, given[name].dtype)) != given[name].dtype:
                raise ArgumentError(
                    f"compute: argument '{name}': expected {wanted}, as dtypes says, "
                    f"found {given[name].dtype}"
                )
        with pointing(self.text, "compute"):
            typed = resolve(self._program, given, self._sizes, "compute")
        typed = replace(typed, meanings=tuple(_renamed(each, merged) for each in typed.meanings))
        inputs = tuple(
            name for name in self.arguments if name not in self.outputs and name not in merged
        )
        ports = typed.ports
        takes = [ports[name] for name in inputs]
        gives = [ports[name] for name in self.outputs]

        def make() -> Module:
            from inarch.computation._build import build

            return build(typed, takes, gives, self._options)

        said = "\n".join(
            [*map(meaning_text, typed.meanings), *map(str, takes), "->", *map(str, gives)]
        )
        module = kept_program(said, self._options, make)
        return Specialized(module, module.get_function("main"), ports, inputs, self.outputs)


_NUMBERS = {"float": FLOATS, "int": INTS, "bool": BOOLS}
"""What compiled calls take where a number of a kind was given: another kind may mean another dtype."""


def _key(
    numbers: Mapping[str, str],
    arrays: Mapping[str, Array | Described],
    merged: Mapping[str, str],
) -> _Key:
    return (
        tuple(numbers.items()),
        tuple((name, array.dtype, array.shape) for name, array in arrays.items()),
        tuple(merged.items()),
    )


def _renamed(meaning: Meaning, names: Mapping[str, str]) -> Meaning:
    """With other operands in place of some that are read."""
    if not names:
        return meaning
    statements = tuple(
        replace(each, value=_renamed_in(each.value, names)) for each in meaning.statements
    )
    return replace(meaning, statements=statements)


def _renamed_in(expression: Expression, names: Mapping[str, str]) -> Expression:
    match expression:
        case Element(operand=operand):
            return replace(expression, operand=names.get(operand, operand))
        case Apply(arguments=arguments):
            return replace(
                expression, arguments=tuple(_renamed_in(part, names) for part in arguments)
            )
        case Number():
            return expression


def check_order(program: Program, order: tuple[str, ...]) -> tuple[str, ...]:
    """`order`, which names every operand once. Raises UsageError."""
    for name in order:
        if name not in program.operands:
            raise unknown("operand", name, program.operands, within="the text of compute")
    if sorted(order) != sorted(program.operands):
        wanted = ", ".join(program.operands)
        raise ArgumentError(
            f"compute: expected arguments that name each of {wanted} once, found {', '.join(order)}"
        )
    return order


def check_dtypes(program: Program, dtypes: Mapping[str, str] | str | None) -> dict[str, str]:
    """Operand -> dtype; one dtype is that of all. Raises UsageError for what does not exist."""
    if dtypes is None:
        return {}
    given = dict.fromkeys(program.operands, dtypes) if isinstance(dtypes, str) else dict(dtypes)
    for name, dtype in given.items():
        if name not in program.operands:
            raise unknown("operand", name, program.operands, within="the text of compute")
        if dtype not in DTYPES:
            raise unknown("dtype", dtype, DTYPES, within=f"dtypes of operand {name}")
    return given
