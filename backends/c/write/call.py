"""`kernel.call` in C: the loops in their written order, and one call of the microkernel's C function."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from inarch.backends.c.plan.linear import Index, element_strides
from inarch.backends.c.plan.program import ProgramPlan, c_name
from inarch.backends.c.text import INDENT, comment
from inarch.backends.c.types import element
from inarch.backends.c.write.scope import Scope
from inarch.core.errors import InarchError
from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.definition import DefOp, OperandAttr
from inarch.dialects.kernel.extents import shapes
from inarch.ir.location import location_text
from inarch.ir.types import dtype_of
from inarch.meaning import free_sizes, parse
from inarch.microkernel import wrapper_source
from inarch.microkernel.gaps import call_reads_gaps, is_gap

_CONTRACTED = """\
#if defined(__clang__)
#pragma clang fp contract(fast)
#endif
{}
#if defined(__clang__)
#pragma clang fp contract(off)
#endif"""
"""For gcc, the function that the kernel is inlined into has an attribute."""


def emit_kernel_call(
    op: CallOp, program: ProgramPlan, pointers: Sequence[str], scope: Scope, *, is_public: bool
) -> None:
    """Writes the loops and the call; `pointers` are the names of the operands' buffers.

    Strides and sizes are constants, and the function is static here: compilers specialise it. A
    registered function is called through its slot, in public functions, which can fail.
    """
    definition = program.definitions[op.callee.root_reference.data]
    if definition.registered is None:
        _emit_direct(op, definition, pointers, scope)
    elif is_public:
        _emit_registered(op, definition, program, pointers, scope)
    else:
        raise InarchError(
            f"expected calls of registered @{definition.sym_name.data} in public functions only",
            where=location_text(op),
        )


def _emit_direct(op: CallOp, definition: DefOp, pointers: Sequence[str], scope: Scope) -> None:
    name = c_name(definition)
    scope.unit.sources[name] = kernel_source(definition)
    scope.unit.contracts |= definition.contract is not None
    if definition.source is not None and _reads_gaps(op, definition):
        scope.unit.gap_sources.add(name)
        scope.unit.reads_gaps = True  # for what becomes part of the caller
    inside, values, offsets = _open_loops(op, scope)
    addresses = [
        _as_declared(pointer if offset == "0" else f"{pointer} + {offset}", operand)
        for pointer, offset, operand in zip(pointers, offsets, definition.arguments, strict=True)
    ]
    strides = [stride for position in range(len(pointers)) for stride in op.strides_of(position)]
    numbers = [str(number) for number in (*strides, *op.size_values)]
    if ahead := _ahead(op, definition, pointers, values):
        name = f"{name}_ahead"
    inside.writer.line(f"{name}({', '.join([*addresses, *numbers, *ahead])});")
    _close_loops(op, inside)


def _reads_gaps(op: CallOp, definition: DefOp) -> bool:
    """Whether a read skips elements along a loop of the kernel, or around it where it is inlined."""
    operands = list(enumerate(definition.arguments))
    for position, operand in operands:
        steps = zip(op.offset_of(position)[0], op.trip_counts, strict=True)
        size = dtype_of(operand.dtype).nbytes
        if any(count > 1 and is_gap(step, size) for step, count in steps):
            return True
    strides = {operand.label.data: op.strides_of(position) for position, operand in operands}
    nbytes = {operand.label.data: dtype_of(operand.dtype).nbytes for _, operand in operands}
    return call_reads_gaps(parse(definition.computes.data), strides, nbytes)


def _emit_registered(
    op: CallOp, definition: DefOp, program: ProgramPlan, pointers: Sequence[str], scope: Scope
) -> None:
    """Tensors on the stack, of which the loops move the offsets; operands that are written come last."""
    assert definition.registered is not None, "the caller has seen to it"
    meaning = parse(definition.computes.data)
    values = dict(zip(free_sizes(meaning), op.size_values, strict=True))
    sizes = shapes(meaning, values)
    operands = list(enumerate(definition.arguments))
    order = [n for n, operand in operands if operand.access.data == "read"]
    order += [n for n, operand in operands if operand.access.data != "read"]
    writer = scope.writer
    writer.open()
    rows: list[str] = []
    for number, position in enumerate(order):
        operand = definition.arguments.data[position]
        shape, strides = sizes[operand.label.data], op.strides_of(position)
        arrays = "NULL, NULL"
        if shape:
            extents, steps = ", ".join(map(str, shape)), ", ".join(map(str, strides))
            writer.line(f"int64_t shape{number}[] = {{{extents}}};")
            writer.line(f"int64_t strides{number}[] = {{{steps}}};")
            arrays = f"shape{number}, strides{number}"
        kind = dtype_of(operand.dtype)
        rows.append(
            f"{{(void *){pointers[position]}, {{1, 0}}, {len(shape)}, "
            f"{{{kind.dlpack}, {kind.bits}, 1}}, {arrays}, 0}},"
        )
    writer.line(f"DLTensor args[{len(rows)}] = {{")
    for row in rows:
        writer.line(f"{INDENT}{row}")
    writer.line("};")
    inside, _, offsets = _open_loops(op, scope)
    for number, position in enumerate(order):
        nbytes = dtype_of(definition.arguments.data[position].dtype).nbytes
        inside.writer.line(
            f"args[{number}].byte_offset = (uint64_t)({offsets[position]}) * {nbytes};"
        )
    slot = program.slots[definition.registered.data]
    inside.writer.line(f"const int32_t status = inarch_call_import({slot}, args, {len(rows)});")
    inside.writer.open("if (status != 0)")
    inside.writer.line("return status;")
    inside.writer.close()
    _close_loops(op, inside)
    writer.close()


def _as_declared(address: str, operand: OperandAttr) -> str:
    """The address as the function takes it: buffers are of signed integers."""
    kind = dtype_of(operand.dtype)
    return f"(const {kind.c} *)({address})" if kind.is_unsigned else address


def _ahead(
    op: CallOp, definition: DefOp, pointers: Sequence[str], values: Sequence[str | int]
) -> list[str]:
    """What a call brings of the operand that is prefetched, of what the loop reads next of it; or nothing.

    The loop is the innermost one that moves the operand. Those inside it read the same again and again:
    the more often, the longer is the time in which memory can bring what comes after.
    """
    if definition.ahead is None:
        return []
    labels = [operand.label.data for operand in definition.arguments]
    position = labels.index(definition.ahead.data)
    (moves, constant), counts = op.offset_of(position), op.trip_counts
    moving = [
        at for at, (by, count) in enumerate(zip(moves, counts, strict=True)) if by * (count - 1)
    ]
    forms = op.elements(definition)[position]
    if not moving or len(forms) != 1:
        return []
    loop = moving[-1]
    iterations = prod(counts[loop + 1 :])
    own = zip(forms[0].coefficients[len(counts) :], forms[0].sizes[len(counts) :], strict=True)
    along = [(step, size) for step, size in own if step]
    piece, reach = prod(size for _, size in along), 1 + sum(by * (n - 1) for by, n in along)
    if iterations < 2 or not piece == reach == moves[loop]:
        return []
    after = list(values)
    after[loop] = f"({values[loop]} + 1 < {counts[loop]} ? {values[loop]} + 1 : 0)"
    strides = [prod(counts[at + 1 :]) if at > loop else 0 for at in range(len(counts))]
    share = -(-piece // iterations)
    part = Index(tuple(by * share for by in strides), 0).text(values)
    start = Index(tuple(moves), constant + element_strides(op.arguments[position])[1]).text(after)
    return [f"{pointers[position]} + {start} + {part}", str(iterations)]


def _open_loops(op: CallOp, scope: Scope) -> tuple[Scope, list[str | int], list[str]]:
    """The scope within the loops, their variables, and C for each operand's offset from its pointer."""
    inside = scope.child()
    values: list[str | int] = []
    for iterator in op.iterators:
        if iterator.size.data == 1:
            values.append(0)
            continue
        name = inside.names.fresh(iterator.label.data)
        values.append(name)
        begin, end = (
            scope.iterations if scope.iterations and iterator.is_shared else (0, iterator.size.data)
        )
        inside.writer.open(f"for (int64_t {name} = {begin}; {name} < {end}; {name}++)")
    offsets: list[str] = []
    for position, argument in enumerate(op.arguments):
        coefficients, constant = op.offset_of(position)
        start = element_strides(argument)[1]
        offsets.append(Index(tuple(coefficients), constant + start).text(values))
    return inside, values, offsets


def _close_loops(op: CallOp, inside: Scope) -> None:
    for count in op.trip_counts:
        if count != 1:
            inside.writer.close()


# ---------------------------------------------------------------------------------- functions


def kernel_source(definition: DefOp) -> str:
    """The C of a microkernel: its prototype, then its source, or a function that calls the library's.

    The prototype makes the definition static, however its author wrote it (C11 6.2.2, 5).
    """
    name = c_name(definition)
    parameters = _parameters(definition)
    own = f"void {name}({', '.join(kind + label for kind, label in parameters)})"
    title = comment(f"{definition.sym_name.data}: {definition.computes.data}")
    if definition.source is not None:
        source = definition.source.data.strip()
        if definition.contract is not None:
            source = _CONTRACTED.format(source)
        return f"{title}\nstatic {own};\n{source}\n"
    symbol = definition.function
    call = None if definition.call is None else definition.call.data
    declare = "" if definition.declare is None else definition.declare.data
    if not declare and call is None:
        declare = f"INARCH_C void {symbol}({own.partition('(')[2]};"
    if symbol == name and call is None:
        return f"{title}\n{declare}\n"
    names = [label for _, label in parameters]
    wrapper = wrapper_source(f"static {own}", names, symbol, call=call, declare=declare)
    return f"{title}\n{wrapper}"


def _parameters(definition: DefOp) -> list[tuple[str, str]]:
    """`(C type, name)` of pointers, then strides, then sizes."""
    parameters: list[tuple[str, str]] = []
    for operand in definition.arguments:
        const = "const " if operand.access.data == "read" else ""
        parameters.append((f"{const}{element(operand.dtype).c} *", operand.label.data))
    for operand in definition.arguments:
        rank = operand.rank.data
        parameters += [("int64_t ", f"{operand.label.data}_{axis}") for axis in range(rank)]
    sizes = free_sizes(parse(definition.computes.data))
    return parameters + [("int64_t ", name) for name in sizes]
