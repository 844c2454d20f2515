"""`kernel.call` in C: the loops in their written order, and one call of the microkernel's C function."""

from __future__ import annotations

from collections.abc import Sequence

from inarch.backends.c._linear import Linear, element_strides
from inarch.backends.c._program import Program
from inarch.backends.c._scope import Scope
from inarch.backends.c._text import comment
from inarch.backends.c._types import element
from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.meaning import free_sizes, parse


def emit_kernel_call(op: CallOp, program: Program, pointers: Sequence[str], scope: Scope) -> None:
    """Writes the loops and the call; `pointers` are the names of the operands' buffers.

    Strides and sizes are constants, and the function is static here: compilers specialise it.
    """
    definition = program.definitions[op.callee.root_reference.data]
    scope.unit.sources[definition.function] = kernel_source(definition)
    inside = scope.child()
    values: list[str | int] = []
    for iterator in op.iterators:
        if iterator.size.data == 1:
            values.append(0)
            continue
        name = inside.names.fresh(iterator.label.data)
        values.append(name)
        inside.writer.open(f"for (int64_t {name} = 0; {name} < {iterator.size.data}; {name}++)")
    addresses: list[str] = []
    for position, pointer in enumerate(pointers):
        coefficients, constant = op.offset_of(position)
        start = element_strides(op.arguments[position])[1]
        offset = Linear(tuple(coefficients), constant + start).text(values)
        addresses.append(pointer if offset == "0" else f"{pointer} + {offset}")
    strides = [stride for position in range(len(pointers)) for stride in op.strides_of(position)]
    numbers = [str(number) for number in (*strides, *op.size_values)]
    inside.writer.line(f"{definition.function}({', '.join([*addresses, *numbers])});")
    for value in values:
        if value != 0:
            inside.writer.close()


def kernel_source(definition: DefOp) -> str:
    """The C of a microkernel: its prototype, then its source, if it is not a library's.

    The prototype makes the definition static, however its author wrote it (C11 6.2.2, 5).
    """
    prototype = f"void {definition.function}({', '.join(_parameters(definition))});"
    title = comment(f"{definition.sym_name.data}: {definition.computes.data}")
    if definition.source is None:
        return f"{title}\nINARCH_C {prototype}\n"
    return f"{title}\nstatic {prototype}\n{definition.source.data.strip()}\n"


def _parameters(definition: DefOp) -> list[str]:
    """Pointers, then strides, then sizes."""
    parameters: list[str] = []
    for operand in definition.arguments:
        const = "const " if operand.access.data == "read" else ""
        parameters.append(f"{const}{element(operand.dtype).c} *{operand.label.data}")
    for operand in definition.arguments:
        parameters += [f"int64_t {operand.label.data}_{i}" for i in range(operand.rank.data)]
    sizes = free_sizes(parse(definition.computes.data))
    return parameters + [f"int64_t {name}" for name in sizes]
