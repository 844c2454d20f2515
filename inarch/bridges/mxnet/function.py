"""`to_mxnet_func`: a call queues a job of MXNet's engine, which `engine.c` runs in the engine's threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from inarch.artifact.manifest import Port
from inarch.bridges.framework import bridge_symbol, check_place, framework
from inarch.bridges.shim import called, entry_of, shim
from inarch.computation import Computation, Described, Specialized
from inarch.core.dtypes import from_numpy
from inarch.core.errors import ArgumentError, UnsupportedError, UsageError, unknown
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
    "MXNDArrayGetShapeEx64",
    "MXNDArrayGetDType",
    "MXNDArrayGetStorageType",
    "MXNDArrayGetContext",
    "MXAutogradIsRecording",
)
"""What is called of MXNet, in the order of `inarch_mx_init`."""

_CDEF = """
typedef struct { const int64_t *shape; int32_t ndim, dtype; uint8_t code, bits; } inarch_mx_port;
typedef struct { const void *f; const inarch_mx_port *ports; int32_t n; } inarch_mx_target;
typedef struct {
  uintptr_t array;
  union { float f32; double f64; int8_t i8; int16_t i16; int32_t i32; int64_t i64;
          uint8_t ui8; uint16_t ui16; uint32_t ui32; uint64_t ui64; _Bool i1; };
  uint8_t writes;
} inarch_mx_argument;
"""
"""As `engine.c` has them; a number is written as the field of its dtype."""
_CALL = "int32_t(*)(const inarch_mx_target *, const inarch_mx_argument *)"
_FITTING = (
    "int32_t(*)(const inarch_mx_target *const *, int32_t, const inarch_mx_argument *, int32_t)"
)
_RECORDS = -2
"""What `inarch_mx_fitting` gives while gradients are recorded; less than 0 where nothing fits."""


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
    the rest of the process. A wrong count, kind, shape, dtype or storage of an argument is an ArgumentError
    at the call, and so is a call while gradients are recorded, of which it has none.

    Raises EnvironmentFault without MXNet, its symbols, or a C compiler; UsageError for wrong positions.
    """
    check_place("to_mxnet_func", device, stream)
    mx = framework("mxnet")
    _engine(mx)
    if isinstance(function, Computation):
        names, outputs = function.arguments, function.outputs
        calls: _One | _Many = _Many(mx, function)
    else:
        called = function if isinstance(function, Function) else function.get_function("main")
        takes = called.signature
        names = tuple(port.name for port in (*takes.inputs, *takes.outputs))
        outputs = tuple(port.name for port in takes.outputs)
        calls = _One(mx, called)
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


@dataclass(frozen=True)
class _Engine:
    """The functions of the shim."""

    call: Any
    fitting: Any


@cache
def _engine(mx: Any) -> _Engine:
    """Raises EnvironmentFault for what MXNet lacks."""
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
    return _Engine(made.symbol("inarch_mx_call", _CALL), made.symbol("inarch_mx_fitting", _FITTING))


@dataclass(frozen=True)
class _Target:
    """One compiled function as the shim takes it: its ports in the order of its C arguments."""

    handle: Any
    ports: tuple[Port, ...]
    kept: tuple[Any, ...]
    """What `handle` refers to."""


def _target(mx: Any, function: Function) -> _Target:
    ports = (*function.signature.inputs, *function.signature.outputs)
    numbers: dict[type, int] = mx.ndarray.ndarray._DTYPE_NP_TO_MX  # noqa: SLF001 - it has no public name
    said = ffi().new("inarch_mx_port[]", len(ports))
    shapes = [ffi().new("int64_t[]", list(port.shape) or [0]) for port in ports]
    for each, port, shape in zip(said, ports, shapes, strict=True):
        each.shape, each.ndim = shape, len(port.shape)
        each.dtype = numbers.get(np.dtype(port.dtype.numpy).type, -1)  # one that MXNet lacks: never
        each.code, each.bits = port.dtype.dlpack, port.dtype.bits
    of_c = called(entry_of(function, "mxnet"), function.name, function.threads)
    handle = ffi().new("inarch_mx_target *", [of_c, said, len(ports)])
    made = _Target(handle, ports, (said, *shapes))
    _KEPT.append(made)
    return made


_KEPT: list[_Target] = []
"""What jobs of the engine refer to, for the rest of the process, as the code."""


class _One:
    """A function with its types: of an artifact of several sizes, one for each."""

    def __init__(self, mx: Any, called: Function) -> None:
        self.name = called.name
        self._fits = called.fits
        every = called.fits.functions if called.fits is not None else (called,)
        self.known = tuple(_target(mx, each) for each in every)
        self.names = tuple(port.name for port in self.known[0].ports)
        """The arguments in the order of the C function."""

    def target(self, given: Mapping[str, Any]) -> _Target:
        """Raises ArgumentError for the first array that does not fit: one does not."""
        ports = self.known[0].ports
        if self._fits is not None:
            inputs = self._fits.functions[0].signature.inputs
            found = self._fits.find(self.name, [given[port.name] for port in inputs])
            ports = ports if found is None else (*found.signature.inputs, *found.signature.outputs)
        for port in ports:
            value = given[port.name]
            if _number_kind(value) is not None:  # looked at where it is written
                continue
            found = f"{_dtype_name(value.dtype)}{list(value.shape)}"
            if found != str(port.type):
                raise ArgumentError(
                    f"{self.name}: argument '{port.name}': expected {port.type}, found {found}"
                )
        raise AssertionError(f"{self.name}: the shim and this file differ in what fits")


class _Many:
    """A computation, which is compiled for the types that it meets."""

    def __init__(self, mx: Any, computation: Computation) -> None:
        self.name = "compute"
        self.known: tuple[_Target, ...] = ()
        self.names = (*computation.constants, *computation.outputs)
        self._mx = mx
        self._computation = computation
        self._targets: dict[int, tuple[Specialized, _Target]] = {}

    def target(self, given: Mapping[str, Any]) -> _Target:
        """What is compiled for these arguments, now if it was not before."""
        numbers: dict[str, str] = {}
        arrays: dict[str, Described] = {}
        for name, value in given.items():
            kind = _number_kind(value)
            if kind is None:
                arrays[name] = Described(np.dtype(value.dtype), tuple(value.shape))
            else:
                numbers[name] = kind
        made = self._computation.specialized(numbers, arrays)
        known = self._targets.get(id(made))
        if known is None:
            known = self._targets[id(made)] = (made, _target(self._mx, made.function))
        return known[1]


def _number_kind(value: object) -> str | None:
    """`bool`, `int` or `float` of a number; None for anything else."""
    return next((each.__name__ for each in (bool, int, float) if isinstance(value, each)), None)


def _dtype_name(dtype: Any) -> str:
    name = np.dtype(dtype).name
    try:
        return from_numpy(name).name
    except UnsupportedError:
        return name


_Slots = tuple[Any, tuple[tuple[Any, int], ...], tuple[tuple[Any, int, int], ...]]
"""The shim's arguments; each that is an array, with the user's place; each number, the same, and its port."""


class _Form:
    """Calls with arrays and numbers at the same places, and what takes them."""

    def __init__(self, known: tuple[_Target, ...]) -> None:
        self.free: list[_Slots] = []
        """Arguments that no call uses now."""
        self.table: tuple[Any, int, tuple[_Target, ...]] = _table(known)

    def add(self, target: _Target) -> None:
        """The newest comes first. A call has read the old table, or reads the new one."""
        self.table = _table((target, *self.table[2]))


def _table(targets: tuple[_Target, ...]) -> tuple[Any, int, tuple[_Target, ...]]:
    """As the shim takes them, and how many."""
    handles = ffi().new("inarch_mx_target *[]", [each.handle for each in targets])
    return handles, len(targets), targets


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
        self._outputs = outputs
        self._writes = writes
        self._engine = _engine(mx)
        self._forms: dict[tuple[type, ...], _Form] = {}

    def __repr__(self) -> str:
        return f"<inarch function of MXNet {self.__name__}({', '.join(self._order)})>"

    def __call__(self, *args: Any) -> None:
        """Queues the call. Raises ArgumentError for what does not fit, MXNetError of the engine."""
        kinds = tuple(map(type, args))
        form = self._forms.get(kinds)
        if form is None:
            form = self._forms[kinds] = self._form(args)
        free = form.free
        # What is taken out of the list is this thread's; the shim copies it.
        slots = free.pop() if free else self._slots(args)
        given, arrays, numbers = slots
        for slot, at in arrays:
            slot.array = args[at].handle.value
        handles, count, known = form.table
        found: int = self._engine.fitting(handles, count, given, len(args))
        target = known[found] if found >= 0 else self._other(form, args, found)
        for slot, at, port in numbers:
            self._put_number(slot, target.ports[port], args[at])
        status = self._engine.call(target.handle, given)
        free.append(slots)
        if status:
            self._check(status)

    def _form(self, args: Sequence[Any]) -> _Form:
        """Of these kinds. Raises ArgumentError for a wrong count, or what is no array and no number."""
        if len(args) != len(self._order):
            raise ArgumentError(
                f"{self.__name__}: expected {len(self._order)} arguments ({', '.join(self._order)}), "
                f"found {len(args)}"
            )
        for name, value in zip(self._order, args, strict=True):
            if not isinstance(value, self._array) and _number_kind(value) is None:
                raise ArgumentError(
                    f"{self._role(name)}: expected an NDArray or a number, found a "
                    f"{type(value).__name__}"
                )
        return _Form(self._calls.known)

    def _slots(self, args: Sequence[Any]) -> _Slots:
        """The arguments of a call as the shim takes them, with all that is the same at each."""
        given = ffi().new("inarch_mx_argument[]", len(args))
        arrays: list[tuple[Any, int]] = []
        numbers: list[tuple[Any, int, int]] = []
        for port, name in enumerate(self._calls.names):
            at = self._order.index(name)
            given[port].writes = self._writes[at]
            if isinstance(args[at], self._array):
                arrays.append((given[port], at))
            else:
                numbers.append((given[port], at, port))
        return given, tuple(arrays), tuple(numbers)

    def _other(self, form: _Form, args: Sequence[Any], found: int) -> _Target:
        """What takes arguments that nothing known does. Raises ArgumentError."""
        if found == _RECORDS:
            raise ArgumentError(
                f"{self.__name__}: expected no call while gradients are recorded, found one, whose gradient "
                "would be lost; call it outside of autograd.record(), or within autograd.pause()"
            )
        given = dict(zip(self._order, args, strict=True))
        for name, value in given.items():
            if isinstance(value, self._array):
                self._check_place(name, value)
        target = self._calls.target(given)
        form.add(target)
        return target

    def _check_place(self, name: str, array: Any) -> None:
        if array.stype != "default":
            raise ArgumentError(
                f"{self._role(name)}: expected a dense array, found one of storage '{array.stype}'; "
                "use x.tostype('default')"
            )
        if array.context.device_type == "gpu":
            raise ArgumentError(
                f"{self._role(name)}: expected an array in host memory, found one on {array.context}; "
                "use x.as_in_context(mx.cpu())"
            )

    def _put_number(self, slot: Any, port: Port, value: object) -> None:
        """Raises ArgumentError where it is no number of the port's dtype, or where an array is wanted."""
        if port.shape or port.name in self._outputs:
            raise ArgumentError(
                f"{self._role(port.name)}: expected an NDArray of {port.type}, found {value}"
            )
        slot.array = 0
        try:
            setattr(slot, port.dtype.name, value)
        except (OverflowError, TypeError):
            raise ArgumentError(
                f"{self._role(port.name)}: expected a number of {port.dtype.name}, found {value}"
            ) from None

    def _role(self, name: str) -> str:
        return f"{self.__name__}: argument '{name}'"
