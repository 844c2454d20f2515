"""`to_mxnet_func`: a call queues a job of MXNet's engine, which `engine.c` runs in the engine's threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from inarch.artifact.manifest import Port
from inarch.bridges.framework import bridge_symbol, check_place, framework
from inarch.bridges.shim import called, entry_of, shim
from inarch.computation import Computation, Described, Specialized
from inarch.core.errors import ArgumentError, UsageError, unknown
from inarch.core.lazy import np
from inarch.runtime.abi import ffi
from inarch.runtime.function import Function
from inarch.runtime.module import Module

_SYMBOLS = (
    "MXEnginePushSyncND",
    "MXShallowCopyNDArray",
    "MXNDArrayFree",
    "MXNDArrayToDLPack",
    "MXEngineSetBulkSize",
    "MXGetLastError",
)
"""What is called of MXNet, in the order of `inarch_mx_init`."""

_CDEF = """
typedef struct {
  uintptr_t array;
  union { float f32; double f64; int8_t i8; int16_t i16; int32_t i32; int64_t i64;
          uint8_t ui8; uint16_t ui16; uint32_t ui32; uint64_t ui64; _Bool i1; };
  uint8_t code, bits, writes;
} inarch_mx_argument;
"""
"""As `engine.c` has them; a number is written as the field of its dtype."""
_CALL = "int32_t(*)(const void *, const inarch_mx_argument *, int32_t)"


def to_mxnet_func(
    function: Function | Module | Computation,
    const_loc: Sequence[int] | None = None,
    *,
    arguments: Sequence[str] | None = None,
    device: object = "cpu",
    stream: object = None,
) -> Any:
    """A function on NDArrays that queues a call of `function` and returns; of a module its `main`.

    It takes the inputs and then the outputs, or what `arguments` names, in that order: arrays, which it
    writes where they are outputs, and numbers for inputs without dimensions. `const_loc` has the positions
    of arrays that are only read; all others are written, as far as the engine's order goes. None: the
    inputs. A call that fails raises MXNetError where an output is waited for. The code stays in memory for
    the rest of the process. A wrong count or kind of argument is an ArgumentError at the call.

    Raises EnvironmentFault without MXNet, its symbols, or a C compiler; UsageError for wrong positions.
    """
    check_place("to_mxnet_func", device, stream)
    mx = framework("mxnet")
    _engine(mx)
    if isinstance(function, Computation):
        names, outputs = function.arguments, function.outputs
        calls: _One | _Many = _Many(function, mx.nd.NDArray)
    else:
        called = function if isinstance(function, Function) else function.get_function("main")
        takes = called.signature
        names = tuple(port.name for port in (*takes.inputs, *takes.outputs))
        outputs = tuple(port.name for port in takes.outputs)
        calls = _One(called)
    order = tuple(arguments) if arguments is not None else names
    for name in order:
        if name not in names:
            raise unknown("argument", name, names, within="to_mxnet_func")
    if sorted(order) != sorted(names):
        raise UsageError(
            f"expected arguments that name each of {', '.join(names)} once, found {', '.join(order)}",
            where="to_mxnet_func",
        )
    return _Queued(mx, calls, order, frozenset(outputs), _writes(order, outputs, const_loc))


def _writes(
    order: Sequence[str], outputs: Sequence[str], const_loc: Sequence[int] | None
) -> tuple[bool, ...]:
    """For each argument, whether the engine takes it to be written. Raises UsageError."""
    if const_loc is None:
        return tuple(name in outputs for name in order)
    for at in const_loc:
        if not 0 <= at < len(order):
            raise UsageError(
                f"expected positions from 0 to {len(order) - 1} in const_loc, found {at}",
                where="to_mxnet_func",
            )
        if order[at] in outputs:
            raise UsageError(
                f"expected inputs in const_loc, found {at}, the output '{order[at]}'",
                where="to_mxnet_func",
            )
    return tuple(at not in const_loc for at in range(len(order)))


@cache
def _declare() -> None:
    """Once for a process, whose types stay, however often an engine is looked for."""
    ffi().cdef(_CDEF)


@cache
def _engine(mx: Any) -> Any:
    """The function of the shim that queues a call. Raises EnvironmentFault for what MXNet lacks."""
    library = Path(mx.libinfo.find_lib_path()[0])
    addresses = [bridge_symbol(library, name, "mxnet") for name in _SYMBOLS]
    addresses.append(
        bridge_symbol(Path("libstdc++.so.6"), "_ZSt21__throw_runtime_errorPKc", "libstdc++")
    )
    # Exceptions of C++ pass through the frames of the shim.
    made = shim("mxnet/engine.c", "-fexceptions")
    _declare()
    init = made.symbol("inarch_mx_init", f"void(*)({', '.join(['void *'] * len(addresses))})")
    init(*(ffi().cast("void *", each) for each in addresses))
    return made.symbol("inarch_mx_call", _CALL)


@dataclass(frozen=True)
class _Target:
    """One compiled function as the shim takes it: its ports in the order of its C arguments."""

    handle: Any
    ports: tuple[Port, ...]
    free: list[_Slots] = field(default_factory=list["_Slots"])
    """Arguments that no call uses now."""


_Slots = tuple[Any, tuple[tuple[Any, int, Port], ...]]
"""An array of the shim's arguments; each, where it is among the user's, and its type."""


def _target(function: Function) -> _Target:
    handle = called(entry_of(function, "mxnet"), function.name, function.threads)
    return _Target(handle, (*function.signature.inputs, *function.signature.outputs))


class _One:
    """A function with its types."""

    def __init__(self, called: Function) -> None:
        self.name = called.name
        self._made = _target(called)

    def target(self, order: Sequence[str], args: Sequence[Any]) -> _Target:
        """What is called for these arguments."""
        del order, args
        return self._made


class _Many:
    """A computation, which is compiled for the types that it meets."""

    def __init__(self, computation: Computation, array: type) -> None:
        self.name = "compute"
        self._computation = computation
        self._array = array
        self._targets: dict[int, tuple[Specialized, _Target]] = {}

    def target(self, order: Sequence[str], args: Sequence[Any]) -> _Target:
        """What is compiled for these arguments, now if it was not before."""
        numbers: dict[str, str] = {}
        arrays: dict[str, Described] = {}
        for name, value in zip(order, args, strict=True):
            if isinstance(value, self._array):
                given: Any = value
                arrays[name] = Described(np.dtype(given.dtype), tuple(given.shape))
            elif isinstance(value, bool | int | float):
                numbers[name] = type(value).__name__
            else:
                raise ArgumentError(
                    f"compute: argument '{name}': expected an NDArray or a number, found a "
                    f"{type(value).__name__}"
                )
        made = self._computation.specialized(numbers, arrays)
        known = self._targets.get(id(made))
        if known is None:
            known = self._targets[id(made)] = (made, _target(made.function))
        return known[1]


class _Queued:
    """What the user calls."""

    def __init__(
        self,
        mx: Any,
        calls: _One | _Many,
        order: tuple[str, ...],
        outputs: frozenset[str],
        writes: tuple[bool, ...],
    ) -> None:
        self.__name__ = calls.name
        self._array: type = mx.nd.NDArray
        self._check = mx.base.check_call
        self._calls = calls
        self._order = order
        self._at = {name: n for n, name in enumerate(order)}
        self._outputs = outputs
        self._writes = writes
        self._call = _engine(mx)

    def __repr__(self) -> str:
        return f"<inarch function of MXNet {self.__name__}({', '.join(self._order)})>"

    def __call__(self, *args: Any) -> None:
        """Queues the call. Raises ArgumentError for a wrong count or kind, MXNetError of the engine."""
        if len(args) != len(self._order):
            raise ArgumentError(
                f"{self.__name__}: expected {len(self._order)} arguments ({', '.join(self._order)}), "
                f"found {len(args)}"
            )
        target = self._calls.target(self._order, args)
        free = target.free
        # What is taken out of the list is this thread's; the shim copies it.
        given, slots = free.pop() if free else self._slots(target)
        for slot, at, port in slots:
            value = args[at]
            if isinstance(value, self._array):
                slot.array = value.handle.value
            else:
                self._put_number(slot, port, value)
        status = self._call(target.handle, given, len(slots))
        free.append((given, slots))
        if status:
            self._check(status)

    def _slots(self, target: _Target) -> _Slots:
        """The arguments of a call as the shim takes them, with all that is the same at each."""
        given = ffi().new("inarch_mx_argument[]", len(target.ports))
        slots: list[tuple[Any, int, Port]] = []
        for n, port in enumerate(target.ports):
            at = self._at[port.name]
            given[n].code, given[n].bits = port.dtype.dlpack, port.dtype.bits
            given[n].writes = self._writes[at]
            slots.append((given[n], at, port))
        return given, tuple(slots)

    def _put_number(self, slot: Any, port: Port, value: object) -> None:
        """Raises ArgumentError where it is no number of the port's dtype."""
        role = f"{self.__name__}: argument '{port.name}'"
        if not isinstance(value, bool | int | float):
            raise ArgumentError(
                f"{role}: expected an NDArray or a number, found a {type(value).__name__}"
            )
        if port.shape or port.name in self._outputs:
            raise ArgumentError(f"{role}: expected an NDArray of {port.type}, found {value}")
        slot.array = 0
        try:
            setattr(slot, port.dtype.name, value)
        except (OverflowError, TypeError):
            raise ArgumentError(
                f"{role}: expected a number of {port.dtype.name}, found {value}"
            ) from None
