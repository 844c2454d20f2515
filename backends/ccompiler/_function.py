"""One function in C: its ops as macro uses, the subgraph, the wrapper on DLTensor, the exported symbol."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from inarch.backends.ccompiler._constants import constant_text
from inarch.backends.ccompiler._types import DTYPE_NAMES, c_type, is_supported
from inarch.core.errors import UnsupportedError
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.ir.context import ConstantStore
from inarch.ir.location import location_text

OPERATORS: Mapping[str, str] = {"add": "+", "sub": "-", "mul": "*"}
"""The C operator of each graph op."""

FAILED_MALLOC = 1
"""What the functions return when there is no memory for the buffers."""


def refusal(op: Operation) -> str | None:
    """Why the backend has no C for `op`, with values; None when it has."""
    if op.name.removeprefix("graph.") not in OPERATORS:
        return f"takes {', '.join(OPERATORS)}"
    (result,) = op.results
    dtype = tensor_dtype(result)
    if not is_supported(dtype):
        return f"dtype {dtype.name}; takes {DTYPE_NAMES}"
    first, second = (list(shape_of(operand)) for operand in op.operands)
    if first != second:
        return f"shapes {first} and {second}; takes equal ones (no broadcasting)"
    return None


def function_text(function: FuncOp, symbol: str, store: ConstantStore) -> str:
    """The C of a function on tensors, called `symbol`.

    Raises UnsupportedError at the first op that it has no C for.
    """
    _check(function, symbol)
    part = _Function(function, symbol)
    return (
        _comment(function)
        + part.constants(store)
        + part.operations()
        + part.subgraph()
        + part.wrapper()
        + part.exported()
    )


def _check(function: FuncOp, symbol: str) -> None:
    if not (symbol.isidentifier() and symbol.isascii()):
        raise UnsupportedError(
            f"backend 'ccompiler': expected a symbol that is a C identifier, found '{symbol}'",
            where=location_text(function),
        )
    types = (*function.function_type.inputs, *function.function_type.outputs)
    if not all(isinstance(kind, TensorType) for kind in types):
        raise UnsupportedError(
            f"backend 'ccompiler': expected @{function.sym_name.data} on tensors, "
            f"found {function.function_type}",
            where=location_text(function),
        )
    for op in function.body.block.ops:
        if isinstance(op, ConstantOp):
            _check_dtype(op.out, op)
        elif not isinstance(op, ReturnOp) and (reason := refusal(op)) is not None:
            raise UnsupportedError(
                f"backend 'ccompiler' has no C for '{op.name}': {reason}", where=location_text(op)
            )
    for argument in function.body.block.args:
        _check_dtype(argument, function)


def _check_dtype(value: SSAValue, op: Operation) -> None:
    dtype = tensor_dtype(value)
    if not is_supported(dtype):
        raise UnsupportedError(
            f"backend 'ccompiler' has no C for dtype {dtype.name}; takes {DTYPE_NAMES}",
            where=location_text(op),
        )


def _comment(function: FuncOp) -> str:
    place = location_text(function)
    text = f"@{function.sym_name.data}" + (f", from {place}" if place else "")
    return "\n/* " + text.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ") + " */\n"


def _kind(value: SSAValue) -> str:
    return c_type(tensor_dtype(value))


def _bytes(value: SSAValue) -> str:
    return f"sizeof({_kind(value)}) * {math.prod(shape_of(value))}"


@dataclass
class _Function:
    """A function, and what its values are called in C."""

    function: FuncOp
    symbol: str
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    buffers: list[SSAValue] = field(default_factory=list[SSAValue])
    """The values in memory of their own, in the order of their ops."""

    def __post_init__(self) -> None:
        for argument in self.inputs:
            self.names[argument] = f"in{argument.index}"
        for number, op in enumerate(self._constant_ops):
            self.names[op.out] = f"{self.symbol}_const_{number}"
        for number, value in enumerate(self.returned):
            # The first output that a computed value goes to is where it is computed.
            if value not in self.names:
                self.names[value] = f"out{number}"
        for op in self._binary_ops:
            (result,) = op.results
            if result not in self.names:
                self.names[result] = f"buf_{len(self.buffers)}"
                self.buffers.append(result)

    @property
    def inputs(self) -> Sequence[BlockArgument]:
        return self.function.body.block.args

    @property
    def returned(self) -> Sequence[SSAValue]:
        last = self.function.body.block.last_op
        return tuple(last.operands) if last is not None else ()

    @property
    def _constant_ops(self) -> list[ConstantOp]:
        return [op for op in self.function.body.block.ops if isinstance(op, ConstantOp)]

    @property
    def _binary_ops(self) -> list[Operation]:
        """In the order of the program, which is a topological one."""
        ops = self.function.body.block.ops
        return [op for op in ops if not isinstance(op, ConstantOp | ReturnOp)]

    # -- the parts, in the order of the text

    def constants(self, store: ConstantStore) -> str:
        """The constants, in the order of the program."""
        return "".join(
            constant_text(op, self.names[op.out], number, store)
            for number, op in enumerate(self._constant_ops)
            if op.out.first_use is not None  # C warns of an array that nothing reads
        )

    def operations(self) -> str:
        """One macro use for each op; the macro is chosen by the rank of its result."""
        return "".join(
            _macro_use(f"{self.symbol}_{number}", op) for number, op in enumerate(self._binary_ops)
        )

    def subgraph(self) -> str:
        """`<symbol>_`: the buffers, the calls, and the buffers freed, whatever happened."""
        heads = [
            f"    {_kind(value)} *{self.names[value]} = "
            f"({_kind(value)} *)malloc({_allocation(value)});\n"
            for value in self.buffers
        ]
        body = self._calls() + self._copies()
        if self.buffers:
            checks = " && ".join(f"{self.names[value]} != NULL" for value in self.buffers)
            inner = "".join(f"    {line}" for line in body)
            frees = "".join(f"    free({self.names[value]});\n" for value in self.buffers)
            text = f"    int32_t status = {FAILED_MALLOC};\n{''.join(heads)}"
            text += f"    if ({checks}) {{\n{inner}        status = 0;\n    }}\n{frees}"
            text += "    return status;\n"
        else:
            text = "".join([*body, "    return 0;\n"])
        parameters = [f"const {_kind(value)} *{self.names[value]}" for value in self.inputs]
        parameters += [f"{_kind(v)} *out{number}" for number, v in enumerate(self.returned)]
        unused = "".join(f"    (void){name};\n" for name in self._unused())
        return f"\nstatic int32_t {self.symbol}_({_list(parameters)})\n{{\n{unused}{text}}}\n"

    def wrapper(self) -> str:
        """`<symbol>_wrapper_`: the subgraph on tensors."""
        tensors = [*(f"in{i}" for i in range(len(self.inputs)))]
        tensors += [f"out{i}" for i in range(len(self.returned))]
        values = [*self.inputs, *self.returned]
        arguments = [
            f"CSOURCE_DATA({_kind(value)}, {name})"
            for name, value in zip(tensors, values, strict=True)
        ]
        parameters = _list([f"DLTensor *{name}" for name in tensors])
        call = f"{self.symbol}_({_joined(arguments)})"
        return (
            f"\nstatic int32_t {self.symbol}_wrapper_({parameters})\n{{\n    return {call};\n}}\n"
        )

    def exported(self) -> str:
        """`<symbol>`: an import slot of the model."""
        count = len(self.inputs) + len(self.returned)
        arguments = _joined([f"&args[{i}]" for i in range(count)])
        head = f"int32_t {self.symbol}(void *self, DLTensor *args, int32_t n)"
        unused = "    (void)self;\n" + ("" if count else "    (void)args;\n")
        return (
            f"\nCSOURCE_EXPORT {head};\n{head}\n{{\n{unused}"
            f"    if (n != {count}) {{\n        return 2;\n    }}\n"
            f"    return {self.symbol}_wrapper_({arguments});\n}}\n"
        )

    # -- pieces

    def _calls(self) -> list[str]:
        return [
            f"    {self.symbol}_{number}({_joined(self._operands(op))});\n"
            for number, op in enumerate(self._binary_ops)
        ]

    def _operands(self, op: Operation) -> list[str]:
        return [self.names[value] for value in (*op.operands, *op.results)]

    def _copies(self) -> list[str]:
        """Outputs that are inputs, constants, or what another output is."""
        return [
            f"    memcpy(out{number}, {self.names[value]}, {_bytes(value)});\n"
            for number, value in enumerate(self.returned)
            if self.names[value] != f"out{number}" and math.prod(shape_of(value))
        ]

    def _unused(self) -> list[str]:
        used = {value for op in self.function.body.block.ops for value in op.operands}
        return [self.names[value] for value in self.inputs if value not in used]


def _macro_use(name: str, op: Operation) -> str:
    (result,) = op.results
    shape = shape_of(result)
    operator = OPERATORS[op.name.removeprefix("graph.")]
    sizes = shape if len(shape) == 2 else (math.prod(shape),)
    dims = ", ".join(map(str, sizes))
    kind = _kind(result)
    return f"CSOURCE_BINARY_OP_{len(sizes)}D({name}, {operator}, {dims}, {kind});\n"


def _allocation(value: SSAValue) -> str:
    """Bytes of a buffer; `malloc(0)` may give a null pointer, which would look like a failure."""
    return _bytes(value) if math.prod(shape_of(value)) else "1"


def _list(parameters: Iterable[str]) -> str:
    return ", ".join(parameters) or "void"


def _joined(arguments: Iterable[str]) -> str:
    return ", ".join(arguments)
