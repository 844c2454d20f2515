"""`to_torch_func`: a compiled function as an operator of PyTorch, with a fake kernel.

`torch.ops.inarch.<name>` has two overloads: `default` allocates its outputs, `out` writes into those that
it is given. Both are seen by `torch.compile` and `torch.export` as one operator each. The memory of
tensors is used as it is; what does not fit is a RuntimeError of one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from inarch.artifact.manifest import Port
from inarch.bridges.framework import check_place, check_sizes, framework
from inarch.bridges.torch.kernels import kernels
from inarch.core.dtypes import from_numpy
from inarch.core.errors import EnvironmentFault, InarchError, UnsupportedError, UsageError
from inarch.machine.compilers import find_compiler
from inarch.runtime.function import Function

if TYPE_CHECKING:
    from inarch.runtime.module import Module

_NAMESPACE = "inarch"

Backward = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]
"""`(inputs, outputs, gradients of outputs)` -> the gradients of inputs, each a tensor or None."""


def to_torch_func(
    function: Function | Module,
    name: str | None = None,
    *,
    backward: Backward | None = None,
    device: object = "cpu",
    stream: object = None,
) -> Any:
    """A function on tensors that calls the operator `torch.ops.inarch.<name>`; `name`: by default its own.

    `f(x, y)` gives the output, or a tuple of several; `f(x, y, out=z)` writes it. `f.op` and `f.out_op` are
    the operators. Without `backward`, a tensor that requires a gradient is refused while gradients are
    recorded: it would be lost without a word. With it, both are recorded as of other operators.

    Of an artifact of several sizes it calls the operator whose shapes the tensors have: the first is called
    `name`, the others `<name>__2`, `<name>__3` ...; `f.ops` has them all.

    Raises UsageError for a name that is no identifier or is there already, EnvironmentFault without PyTorch.
    """
    check_place("to_torch_func", device, stream)
    torch = framework("torch")
    called = function if isinstance(function, Function) else function.get_function("main")
    every = called.fits.functions if called.fits is not None else (called,)
    own = called.name if name is None else name
    if not (own.isidentifier() and own.isascii()):
        raise UsageError(f"expected a name that is an identifier, found '{own}'")
    names = [own if number == 1 else f"{own}__{number}" for number in range(1, len(every) + 1)]
    for each, taken in zip(every, names, strict=True):
        check_sizes(each, "torch")
        if hasattr(getattr(torch.ops, _NAMESPACE), taken):
            raise UsageError(
                f"operator 'torch.ops.{_NAMESPACE}.{taken}' is there already; choose another name="
            )
    made: list[Any] = []
    for each, taken in zip(every, names, strict=True):
        operator = _Operator(torch, each, taken, _argument_names(each.signature.inputs))
        operator.register(backward)
        made.append(operator.function())
    return made[0] if len(made) == 1 else _of_sizes(called, every, made)


def _of_sizes(called: Function, every: Sequence[Function], made: Sequence[Any]) -> Any:
    """Calls the one of `made` that is of the shapes of a call's tensors."""
    shapes = [tuple(port.shape for port in each.signature.inputs) for each in every]

    def call(*tensors: Any, out: Any = None) -> Any:
        given = tuple(tuple(each.shape) for each in tensors)
        for own, function in zip(shapes, made, strict=True):  # compilers follow this
            if own == given:
                return function(*tensors, out=out)
        return refuse(*tensors, out=out)

    def refuse(*tensors: Any, out: Any) -> Any:
        assert called.fits is not None
        try:
            called.fits.find(called.name, tensors)
        except InarchError as error:
            raise RuntimeError(str(error)) from None
        return made[0](*tensors, out=out)  # which says what is wrong

    call.__name__ = call.__qualname__ = made[0].__name__
    call.__doc__ = "\n".join(each.__doc__ for each in made)
    named: Any = call
    named.op, named.out_op = made[0].op, made[0].out_op
    named.ops = tuple(each.op for each in made)
    return named


@dataclass(frozen=True)
class _Operator:
    """The two overloads of one function."""

    torch: Any
    called: Function
    name: str
    inputs: Sequence[str]
    """What the arguments are called in the schema."""

    @property
    def outputs(self) -> Sequence[str]:
        """What the arguments of the overload `out` are called."""
        count = len(self.called.signature.outputs)
        return ["out"] if count == 1 else [f"out{n}" for n in range(count)]

    def schemas(self) -> tuple[str, str]:
        """Of `default` and `out`."""
        count = len(self.outputs)
        given = ", ".join(f"Tensor {each}" for each in self.inputs)
        result = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
        written = ", ".join(
            f"Tensor({chr(ord('a') + n)}!) {each}" for n, each in enumerate(self.outputs)
        )
        every = ", ".join(filter(None, (given, f"*, {written}" if written else "")))
        return f"{self.name}({given}) -> {result}", f"{self.name}.out({every}) -> ()"

    def register(self, backward: Backward | None) -> None:
        """Defines the operator. Its library lives as long as the process, as operators do."""
        torch = self.torch
        library = torch.library.Library(_NAMESPACE, "FRAGMENT")
        _LIBRARIES.append(library)
        # Compilers keep the strides of arguments: they are checked against row-major ones.
        tags = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides)
        for schema in self.schemas():
            library.define(schema, tags=tags)
        self._register_kernels(library)
        qualified = f"{_NAMESPACE}::{self.name}"
        torch.library.register_fake(qualified, self.fake, lib=library)
        torch.library.register_fake(f"{qualified}.out", self.fake_out, lib=library)
        if backward is not None:
            self._register_backward(backward, library)

    def _register_kernels(self, library: Any) -> None:
        """In C; in Python where a call needs it, or no C compiler is there."""
        entry = self.called.c_entry
        if entry is not None and _has_compiler():
            signature = self.called.signature
            names = (*self.inputs, *self.outputs)
            ports = list(zip(names, (*signature.inputs, *signature.outputs), strict=True))
            kernels().register(
                _NAMESPACE,
                self.name,
                entry,
                ports,
                len(self.outputs),
                threads=self.called.threads or 0,
            )
            return
        library.impl(self.name, self.run, "CPU")
        library.impl(f"{self.name}.out", self.run_out, "CPU")

    def _register_backward(self, backward: Backward, library: Any) -> None:
        count, single = len(self.inputs), len(self.outputs) == 1

        def setup_context(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
            outputs = (output,) if single else output
            ctx.save_for_backward(*inputs, *outputs)

        def gradients(ctx: Any, *grads: Any) -> Any:
            saved = ctx.saved_tensors
            found = tuple(backward(saved[:count], saved[count:], grads))
            if len(found) != count:
                raise RuntimeError(
                    f"{self.name}: expected backward to give {count} gradients, one for each input, "
                    f"found {len(found)}"
                )
            return found

        self.torch.library.register_autograd(
            f"{_NAMESPACE}::{self.name}", gradients, setup_context=setup_context, lib=library
        )

    def function(self) -> Any:
        """What the user calls: a plain function, which compilers look into."""
        packet = getattr(getattr(self.torch.ops, _NAMESPACE), self.name)
        op, out_op, names = packet.default, packet.out, tuple(self.outputs)
        # What an overload calls, itself: a third of the time of a call. Dynamo knows overloads alone.
        into, into_out = op._op, out_op._op  # noqa: SLF001 - no public name; it has been there since 1.13
        is_traced, is_single = self.torch.compiler.is_dynamo_compiling, names == ("out",)

        def call(*tensors: Any, out: Any = None) -> Any:
            traced = is_traced()
            if out is None:
                return op(*tensors) if traced else into(*tensors)
            write = out_op if traced else into_out
            kind = cast("Any", type(out))  # quicker than isinstance
            if is_single and kind is not tuple and kind is not list:
                write(*tensors, out=out)
                return out
            given = tuple(cast("Sequence[Any]", out))
            if len(given) != len(names):
                raise RuntimeError(f"expected {len(names)} tensors in out=, found {len(given)}")
            write(*tensors, **dict(zip(names, given, strict=True)))
            return out

        call.__name__ = call.__qualname__ = self.name
        call.__doc__ = f"{self.called}: {'; '.join(self.schemas())}"
        named: Any = call
        named.op, named.out_op, named.ops = op, out_op, (op,)
        return named

    # ------------------------------------------------------------------ kernels

    def run(self, *tensors: Any) -> Any:
        """The kernel of `default`."""
        self._refuse_gradients(tensors)
        outputs = [self._empty(port, "cpu") for port in self.called.signature.outputs]
        self._call(tensors, outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def run_out(self, *tensors: Any, **outputs: Any) -> None:
        """The kernel of `out`."""
        given = [outputs[name] for name in self.outputs]
        self._refuse_gradients((*tensors, *given))
        self._call(tensors, given)

    def fake(self, *tensors: Any) -> Any:
        """What `default` gives, without data."""
        self._refuse_gradients(tensors)
        self._check_fakes(tensors)
        device = tensors[0].device if tensors else "cpu"
        outputs = [self._empty(port, device) for port in self.called.signature.outputs]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def fake_out(self, *tensors: Any, **outputs: Any) -> None:
        """What `out` checks, without data."""
        given = [*tensors, *(outputs[name] for name in self.outputs)]
        self._refuse_gradients(given)
        self._check_fakes(given)

    def _empty(self, port: Port, device: Any) -> Any:
        return self.torch.empty(port.shape, dtype=self._dtype(port), device=device)

    def _dtype(self, port: Port) -> Any:
        return getattr(self.torch, port.dtype.numpy)

    def _call(self, tensors: Sequence[Any], outputs: Sequence[Any]) -> None:
        self._check((*tensors, *outputs))
        for number, each in enumerate((*tensors, *outputs)):
            if not each.is_contiguous():
                raise RuntimeError(
                    f"{self._argument(number)}: expected a row-major array, found other strides"
                )
        try:
            self.called(
                *(each.detach() for each in tensors), out=[each.detach() for each in outputs]
            )
        except InarchError as error:
            raise RuntimeError(str(error)) from None

    def _refuse_gradients(self, tensors: Sequence[Any]) -> None:
        """With `backward=`, autograd calls the kernel while it does not record."""
        if not self.torch.is_grad_enabled():
            return
        for name, each in zip((*self.inputs, *self.outputs), tensors, strict=False):
            if each.requires_grad:
                raise RuntimeError(
                    f"{self.name}: expected no tensor that requires a gradient, found '{name}', whose "
                    "gradient would be lost; use torch.no_grad(), a detached tensor, or "
                    "to_torch_func(..., backward=)"
                )

    @property
    def _ports(self) -> tuple[Port, ...]:
        return (*self.called.signature.inputs, *self.called.signature.outputs)

    def _argument(self, number: int) -> str:
        return f"{self.called.name}: argument {number} ({self._ports[number].name})"

    def _check_fakes(self, tensors: Sequence[Any]) -> None:
        """All on one device: a tensor of data beside one without would be left as it is."""
        self._check(tensors)
        for number, each in enumerate(tensors):
            if each.device != tensors[0].device:
                raise RuntimeError(
                    f"{self._argument(number)}: expected a tensor on {tensors[0].device}, as argument 0, "
                    f"found one on {each.device}"
                )

    def _check(self, tensors: Sequence[Any]) -> None:
        """Shapes and dtypes, in the words of the C."""
        for number, (each, port) in enumerate(zip(tensors, self._ports, strict=False)):
            if tuple(each.shape) != port.shape or each.dtype != self._dtype(port):
                found = f"{_dtype_name(each.dtype)}{list(each.shape)}"
                raise RuntimeError(f"{self._argument(number)}: expected {port.type}, found {found}")


def _dtype_name(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    try:
        return from_numpy(name).name
    except UnsupportedError:
        return {"float16": "f16", "bfloat16": "bf16"}.get(name, name)


def _has_compiler() -> bool:
    try:
        find_compiler()
    except EnvironmentFault:
        return False
    return True


_LIBRARIES: list[Any] = []
"""A `torch.library.Library` takes its operators with it when it is collected; these stay."""


def _argument_names(ports: Sequence[Port]) -> list[str]:
    """The names of ports as identifiers of a schema, each once and none that is an output's."""
    found: list[str] = []
    for number, port in enumerate(ports):
        text = re.sub(r"\W", "_", port.name, flags=re.ASCII)
        usable = re.fullmatch(r"[A-Za-z]\w*", text, re.ASCII) and not text.startswith("out")
        found.append(text if usable and text not in (*found, "self") else f"in{number}")
    return found
