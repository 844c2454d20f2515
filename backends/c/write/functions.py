"""Whole functions in C: kernels, and the unchecked entries of public functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument

from inarch.artifact.manifest import Import, Port
from inarch.backends.c.plan.gaps import ATTRIBUTE
from inarch.backends.c.plan.linear import element_strides
from inarch.backends.c.plan.program import (
    ProgramPlan,
    aligned,
    c_function,
    import_slot,
    is_private,
    results_of,
)
from inarch.backends.c.text import INDENT, Writer, comment
from inarch.backends.c.types import element
from inarch.backends.c.write.function import FunctionEmitter
from inarch.backends.c.write.scope import Scope, Unit
from inarch.core.errors import InarchError, UnsupportedError
from inarch.dialects.loop.control import CallOp
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.ir.location import location_text
from inarch.passes.loop.outline_nests import KERNEL
from inarch.passes.loop.threads.iterations import shared_iterations
from inarch.passes.memory.workspaces import workspace_bytes

_ITERATIONS = ("begin", "end")

CONTRACT = "INARCH_CONTRACT"
"""What stands before a function whose kernel may be contracted: its code is inlined there."""
CONTRACT_DEFINITION = f"""
/* The kernel's author lets the compiler round a product and a sum once, as clang's pragma before it says. */
#if defined(__GNUC__) && !defined(__clang__)
#define {CONTRACT} __attribute__((optimize("fp-contract=fast")))
#else
#define {CONTRACT}
#endif
"""


@dataclass(frozen=True)
class FunctionText:
    """A function in C: its head without linkage, and its body with the braces."""

    symbol: str
    c_name: str
    head: str
    body: str
    part: str
    """The head of a static function before it, with `part_body`: some iterations of a loop; or empty."""
    part_body: str
    unit: Unit
    notes: str
    """What stands before its definition: comment lines, and an attribute."""
    callees: frozenset[str]

    def definition(self, linkage: str) -> str:
        """The C that defines it."""
        own = f"{linkage}{self.head}\n{self.body}"
        # Not inlined: gcc forgets then that the parameters are different memory.
        return self.notes + (
            f"static __attribute__((noinline)) {self.part}\n{self.part_body}\n{own}"
            if self.part
            else own
        )

    @property
    def text(self) -> str:
        """Its code."""
        return self.part_body + self.body


def _emitter(
    program: ProgramPlan,
    function: FuncOp,
    unit: Unit,
    taken: Iterable[str],
    iterations: tuple[str, str] | None = None,
) -> tuple[FunctionEmitter, dict[BlockArgument, str]]:
    """The emitter of a function, and the names of its parameters."""
    names = program.names.child(taken)
    results = results_of(program, function)
    parameters: dict[BlockArgument, str] = {}
    shared = KERNEL in function.attributes  # by models that call their values otherwise
    for argument in function.body.block.args:
        default = "out" if argument.index in results else "in"
        hint = None if shared else argument.name_hint
        parameters[argument] = names.fresh(hint or default)
    scope = Scope(Writer(depth=1), names, unit, {}, iterations)

    def call_import(op: CallOp, pointers: Sequence[str], inner: Scope) -> None:
        _call_import(program, op, pointers, inner)

    def refuse_import(op: CallOp, pointers: Sequence[str], inner: Scope) -> None:
        del pointers, inner
        raise InarchError(
            f"expected calls of imports in public functions only, found one of "
            f"@{op.callee.root_reference.data} in @{function.sym_name.data}",
            where=location_text(op),
        )

    is_public = not is_private(function)
    emitter = FunctionEmitter(
        program, scope, is_public, call_import if is_public else refuse_import, {**parameters}
    )
    emitter.block(function.body.block, scope)
    return emitter, parameters


def kernel_text(
    program: ProgramPlan, function: FuncOp, vector_bytes: int, aliased: frozenset[str]
) -> FunctionText:
    """A private function; its parameters are `__restrict` unless it is in `aliased`.

    Nothing in it is of the model: no name of it, and no place in it. Where threads share the iterations of
    its loop, it is a task of the pool (`inarch_task`), which takes the pointers as an array.
    """
    symbol = function.sym_name.data
    unit = Unit(vector_bytes)
    iterations = _ITERATIONS if shared_iterations(function) else None
    own = workspace_bytes(function)
    taken = (*(iterations or ()), *(("workspace",) if own else ()))
    emitter, parameters = _emitter(program, function, unit, taken, iterations)
    lines = emitter.scope.writer.lines
    mentioned = _words(lines)
    heads = [f"{INDENT}{text}" for name, text in emitter.heads if name in mentioned]
    written = program.written[symbol]
    restrict = "" if symbol in aliased else "__restrict "
    texts: list[str] = []
    for argument in function.body.block.args:
        const = "" if argument.index in written else "const "
        c_type = element(memref_of(argument).element_type).c
        texts.append(f"{const}{c_type} *{restrict}{parameters[argument]}")
    if own:
        texts.append("void *__restrict workspace")
    lines = [*heads, *lines]
    body = _unused([*parameters.values(), *taken], lines) + lines
    c_name = program.c_names[symbol]
    head, text = f"void {c_name}({', '.join(texts) or 'void'})", _braced(body)
    part = ""
    if iterations is not None:
        # Another beginning than any kernel's: `@k` and `@k_part` may both be there.
        part_name = c_name.replace("inarch_kernel_", "inarch_part_", 1)
        part = f"void {part_name}({', '.join([*texts, *(f'int64_t {one}' for one in iterations)])})"
        kinds = [text.rpartition("*")[0] for text in texts]
        pointers = [f"({kind}*)buffers[{at}]" for at, kind in enumerate(kinds)]
        if own:  # each thread has its own
            pointers[-1] = f"(char *)buffers[{len(texts) - 1}] + part * INT64_C({own})"
        call = f"{INDENT}{part_name}({', '.join([*pointers, *iterations])});"
        head = f"void {c_name}(void *context, int64_t begin, int64_t end, int32_t part)"
        buffers = f"{INDENT}void *const *buffers = (void *const *)context;"
        text = _braced([*([] if own else [f"{INDENT}(void)part;"]), buffers, call])
    return FunctionText(
        symbol,
        c_name,
        head,
        text,
        part,
        _braced(body) if part else "",
        unit,
        _notes(function, None, unit),
        _callees(function),
    )


def entry_text(program: ProgramPlan, function: FuncOp, vector_bytes: int) -> FunctionText:
    """The unchecked entry of a public function: buffers in the manifest's order."""
    symbol = function.sym_name.data
    unit = Unit(vector_bytes)
    taken = ("buffers", "weights", "workspace", "args", "status")
    emitter, parameters = _emitter(program, function, unit, taken)
    lines = emitter.scope.writer.lines
    positions = {p: n for n, p in enumerate(c_function(program, function).positions)}
    heads: list[tuple[str, str]] = []
    for argument, name in parameters.items():
        index = argument.index
        const = "" if index in program.written[symbol] else "const "
        c_type = element(memref_of(argument).element_type).c
        place = f"buffers[{positions[index]}]"
        heads.append((name, f"{const}{c_type} *{name} = ({const}{c_type} *){place};"))
    heads += emitter.heads
    mentioned = _words(lines)
    head = [f"{INDENT}{text}" for name, text in heads if name in mentioned]
    unused = _unused(("buffers", "weights", "workspace"), [*head, *lines])
    body = [f"{INDENT}INARCH_ENVIRONMENT;", *unused, *head, *lines, f"{INDENT}return 0;"]
    c_name = program.c_names[symbol]
    return FunctionText(
        symbol,
        c_name,
        f"int32_t {c_name}(void *const *buffers, const void *weights, void *workspace)",
        _braced(body),
        "",
        "",
        unit,
        _notes(function, location_text(function, folders=False), unit),
        _callees(function),
    )


def _call_import(program: ProgramPlan, op: CallOp, pointers: Sequence[str], scope: Scope) -> None:
    """Fills tensors on the stack and calls the slot; a failure ends the function with its code."""
    symbol = op.callee.root_reference.data
    function = program.functions[symbol]
    slot = import_slot(program, function)
    assert slot.signature is not None, "import_slot gives one"
    results = results_of(program, function)
    order = [i for i in range(len(pointers)) if i not in results] + sorted(results)
    ports: list[Port] = [*slot.signature.inputs, *slot.signature.outputs]
    writer = scope.writer
    writer.open()
    rows: list[str] = []
    for number, (position, port) in enumerate(zip(order, ports, strict=True)):
        value = op.arguments[position]
        strides, offset = element_strides(value)
        shape = buffer_shape(value)
        arrays = "NULL, NULL"
        if shape:
            sizes, steps = ", ".join(map(str, shape)), ", ".join(map(str, strides))
            writer.line(f"int64_t shape{number}[] = {{{sizes}}};")
            writer.line(f"int64_t strides{number}[] = {{{steps}}};")
            arrays = f"shape{number}, strides{number}"
        kind = port.dtype
        rows.append(
            f"{{(void *){pointers[position]}, {{1, 0}}, {len(shape)}, "
            f"{{{kind.dlpack}, {kind.bits}, 1}}, {arrays}, {offset * kind.nbytes}}},"
        )
    writer.line(f"DLTensor args[{len(rows)}] = {{")
    for row in rows:
        writer.line(f"{INDENT}{row}")
    writer.line("};")
    place = program.slots[symbol]
    if slot.fallback:
        _check_row_major(op)
    call = f"inarch_call_import({place}, args, {len(rows)})"
    if program.checked:
        count = len(slot.signature.inputs)
        call = f"inarch_call_checked({place}, args, {len(rows)}, {count})"
    if slot.fallback:
        _fall_back(program, slot, call, len(rows), scope)
    else:
        writer.line(f"const int32_t status = {call};")
    writer.open("if (status != 0)")
    writer.line("return status;")
    writer.close()
    writer.close()


def _check_row_major(op: CallOp) -> None:
    """Raises UnsupportedError: a function of the host takes buffers without strides."""
    for value in op.arguments:
        steps, size = element_strides(value)[0], 1
        for extent, step in zip(reversed(buffer_shape(value)), reversed(steps), strict=True):
            if extent > 1 and step != size:
                raise UnsupportedError(
                    f"fallback: expected row-major buffers in a call of @{op.callee.root_reference.data}, "
                    f"found strides {list(steps)}",
                    where=location_text(op),
                )
            size *= extent


def _fall_back(program: ProgramPlan, slot: Import, call: str, count: int, scope: Scope) -> None:
    """The call, and where it fails the host's version on the same buffers, which are row-major."""
    host = program.functions[slot.fallback]
    size = aligned(c_function(program, host).workspace_bytes)
    places = [f"(char *)args[{n}].data + args[{n}].byte_offset" for n in range(count)]
    entry, number = program.c_names[slot.fallback], program.slots[slot.name]
    writer = scope.writer
    writer.line(f"int32_t status = {call};")
    writer.open("if (status != 0)")
    writer.line(f"void *const own[] = {{{', '.join(places)}}};")
    writer.line(f"status = inarch_fall_back({number}, {entry}, own, weights, INT64_C({size}));")
    writer.close()


def _callees(function: FuncOp) -> frozenset[str]:
    return frozenset(
        op.callee.root_reference.data for op in function.body.walk() if isinstance(op, CallOp)
    )


def _notes(function: FuncOp, place: str | None, unit: Unit) -> str:
    text = comment(f"@{function.sym_name.data}" + (f", from {place}" if place else ""))
    attributes = [ATTRIBUTE] if unit.reads_gaps else []
    attributes += [CONTRACT] if unit.contracts else []
    return "".join(f"{line}\n" for line in [text, *attributes])


def _braced(lines: Iterable[str]) -> str:
    return "{\n" + "".join(f"{line}\n" for line in lines) + "}\n"


def _words(lines: Iterable[str]) -> set[str]:
    return {word for line in lines for word in re.findall(r"\w+", without_comments(line))}


def without_comments(line: str) -> str:
    """A line of C, or several, without what comments say."""
    return re.sub(r"/\*.*?\*/", "", line)


def _unused(names: Iterable[str], lines: Sequence[str]) -> list[str]:
    mentioned = _words(lines)
    return [f"{INDENT}(void){name};" for name in names if name not in mentioned]
