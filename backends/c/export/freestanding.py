"""A program as one C file with a static arena: no allocation, no threads, nothing of libc but mathematics.

What a compiler calls by itself it calls here, too: GCC and Clang demand memcpy, memmove, memset and memcmp of
every freestanding environment (GCC's manual, "Language Standards Supported by GCC").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from inarch.backends.c.assemble import level_check, model_flags, weights_text
from inarch.backends.c.cprogram import CProgram
from inarch.backends.c.export.building import Building, filled
from inarch.backends.c.export.program import main_text
from inarch.backends.c.export.stack import Stack, stack_of
from inarch.backends.c.parts import Parts, library_functions, parts_of, preamble
from inarch.backends.c.plan.weights import Weights, weights_image
from inarch.backends.c.text import INDENT, Names, comment, identifier
from inarch.backends.c.write.abi.library_text import environment_text
from inarch.backends.c.write.scope import Unit
from inarch.backends.entries import Entry
from inarch.backends.host import Export, ExportRequest, Writer
from inarch.core.errors import UnsupportedError

_FLAGS = ("-ffreestanding",)
_ARENA = "inarch_arena"
_WEIGHTS = "inarch_weights"
_ALIGNMENT = 64


def freestanding(program: CProgram, request: ExportRequest) -> Export:
    """The files, and how much memory they take. Raises UnsupportedError for a program that calls others."""
    prefix = program.prefix
    image = bytes(weights_image(request.context, request.module))
    parts = parts_of(request.module, Weights(len(image), ""))
    _check(program, parts, request)
    text = _text(parts, image)
    flags = [*model_flags(parts.target), *_FLAGS]
    functions = library_functions(_units(parts), _all_text(parts))
    stack = stack_of(text, parts.stems, parts.target, flags, request.timeout)
    head = _head(parts, flags, functions, stack)
    sizes = {
        "weights_bytes": len(image),
        "arena_bytes": _arena_bytes(parts),
        "stack_bytes": None if stack is None else stack.nbytes,
        "stack": _said(stack),
        "library_functions": functions,
    }
    files: dict[str, str | Writer] = {
        f"{prefix}.c": head + text,
        f"{prefix}.h": _header(parts),
        "main.c": main_text(prefix, parts.functions, partial(_invoke, parts)),
    }
    building = Building(
        prefix,
        parts.target,
        {f"{prefix}.c": [flag for own in program.single().unit_flags.values() for flag in own]},
        flags,
        [f"{prefix}.h"],
        parts.functions,
        ["-lm"],
    )
    says = (
        f"weights {len(image)} bytes, constant; arena {_arena_bytes(parts)} bytes",
        f"stack {_said(stack)}",
    )
    return Export({**files, **building.files}, sizes, says)


def _check(program: CProgram, parts: Parts, request: ExportRequest) -> None:
    """Raises UnsupportedError where code of others would come in."""
    for one in request.emitted:
        raise UnsupportedError(
            f"'{program.name}' cannot be freestanding: backend '{one.backend}' emits C of its own, which may "
            "call anything; leave the backend out, or export without --freestanding"
        )
    assert not parts.imports, "open slots are refused before, and others are of backends"
    for kernel in program.kernels:
        if kernel.library is not None or kernel.libraries:
            raise UnsupportedError(
                f"'{program.name}' cannot be freestanding: {kernel.label} calls a library; use another "
                "microkernel, or export without --freestanding"
            )


def _units(parts: Parts) -> list[Unit]:
    return [function.unit for function in (*parts.reachable(), *parts.entries)]


def _all_text(parts: Parts) -> str:
    return "".join(function.text for function in (*parts.reachable(), *parts.entries))


def _arena_bytes(parts: Parts) -> int:
    return max((entry.workspace_bytes for entry in parts.functions), default=0)


def _text(parts: Parts, image: bytes) -> str:
    """What stands behind the head."""
    kernels, units = parts.reachable(), _units(parts)
    used = library_functions(units, _all_text(parts))
    # As builtins: no header is needed, and what is one instruction stays one.
    library = "".join(f"#define {name} __builtin_{name}\n" for name in used)
    prototypes = "".join(f"static {kernel.head};\n" for kernel in kernels)
    bodies = "".join(f"\n{kernel.definition('static ')}" for kernel in kernels)
    entries = "".join(f"\n{entry.definition('static ')}" for entry in parts.entries)
    arena = _arena_bytes(parts)
    return (
        level_check(parts.target)
        + filled("freestanding.c.tmpl", "LINKAGE")
        + (f"\n{library}" if library else "")
        + preamble(units)
        + "\n"
        + _prototypes(parts, "INARCH_C ")
        + (f"\n{prototypes}" if prototypes else "")
        + bodies
        + (filled("freestanding.c.tmpl", "SHARE") if parts.shares else "")
        + (weights_text(_WEIGHTS, image) if image else "")
        + (f"\nstatic {_aligned(_ARENA, arena)};\n" if arena else "")
        + environment_text()
        + entries
        + "".join(_function(parts, number) for number in range(len(parts.functions)))
    )


def _aligned(name: str, nbytes: int) -> str:
    return f"unsigned char {name}[{nbytes}] __attribute__((aligned({_ALIGNMENT})))"


def _function(parts: Parts, number: int) -> str:
    """The public function: the arrays, the weights and the arena for the unchecked entry."""
    entry, names = parts.functions[number], _parameters(parts.functions[number])
    inputs = len(entry.inputs)
    pointers = [f"(void *){name}" if n < inputs else name for n, name in enumerate(names)]
    weights = _WEIGHTS if parts.weights.nbytes else "NULL"
    arena = _ARENA if entry.workspace_bytes else "NULL"
    return (
        f"\n{_prototype(parts, number)}\n{{\n"
        f"{INDENT}void *const inarch_buffers[] = {{{', '.join(pointers) or 'NULL'}}};\n"
        f"{INDENT}{parts.entries[number].c_name}(inarch_buffers, {weights}, {arena});\n}}\n"
    )


def _prototypes(parts: Parts, linkage: str) -> str:
    return "".join(f"{linkage}{_prototype(parts, n)};\n" for n in range(len(parts.functions)))


def _prototype(parts: Parts, number: int) -> str:
    entry = parts.functions[number]
    inputs = len(entry.inputs)
    parameters = ", ".join(
        f"{'const ' if n < inputs else ''}{port.dtype.c} *{name}"
        for n, (port, name) in enumerate(zip(entry.ports, _parameters(entry), strict=True))
    )
    return f"void {parts.stems[number]}({parameters or 'void'})"


def _parameters(entry: Entry) -> list[str]:
    names = Names()
    return [names.fresh(port.name) for port in entry.ports]


def _head(parts: Parts, flags: Sequence[str], functions: Sequence[str], stack: Stack | None) -> str:
    prefix = parts.program.prefix
    said = comment(
        f"{prefix}: generated by Inarch for {parts.target}. Compiles alone: "
        f"cc -O3 {' '.join(flags)} -c {prefix}.c"
    )
    head = filled(
        "freestanding.c.tmpl",
        "HEAD",
        needs=f"{', '.join(functions)} of libm" if functions else "nothing",
        weights=parts.weights.nbytes,
        arena=_arena_bytes(parts),
        stack=_said(stack),
    )
    return f"{said}\n{head}"


def _said(stack: Stack | None) -> str:
    return "not known: there is no compiler here that says it" if stack is None else str(stack)


def _header(parts: Parts) -> str:
    lines = ""
    for number, entry in enumerate(parts.functions):
        lines += f" *\n * {parts.stems[number]}:\n"
        for name, port in zip(_parameters(entry), entry.ports, strict=True):
            also = "" if name == port.name else f", '{comment(port.name)[3:-3]}'"
            lines += f" *   {name}: {port.type}{also}\n"
    prefix = parts.program.prefix
    return filled(
        "freestanding.c.tmpl",
        "HEADER",
        prefix=prefix,
        target=parts.target,
        functions=lines,
        guard=identifier(prefix).upper(),
        prototypes=_prototypes(parts, ""),
    )


def _invoke(parts: Parts, number: int, entry: Entry) -> str:
    arguments = ", ".join(f"({port.dtype.c} *)buffers[{n}]" for n, port in enumerate(entry.ports))
    unused = "" if entry.ports else f"{INDENT}(void)buffers;\n"
    return (
        f"static int invoke{number}(void **buffers)\n{{\n{unused}"
        f"{INDENT}{parts.stems[number]}({arguments});\n{INDENT}return 0;\n}}\n"
    )
