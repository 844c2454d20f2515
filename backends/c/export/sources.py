"""An exported program with the ABI of inarch.h: the amalgamation, its header, the weights as data."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import BinaryIO

from inarch.backends.c.assemble import model_flags
from inarch.backends.c.cprogram import CProgram
from inarch.backends.c.export.building import Building, filled
from inarch.backends.c.export.program import main_text
from inarch.backends.c.offloaded import INCLUDE, linked_units
from inarch.backends.c.text import INDENT, comment, identifier
from inarch.backends.c.write.abi.model import public_text
from inarch.backends.entries import Entry
from inarch.backends.host import Export, ExportRequest, Writer
from inarch.ir.target import target_of
from inarch.microkernel.code import link_libraries

_ATTRIBUTES = re.compile(r"\b(INARCH_C|INARCH_PUBLIC|INARCH_BASELINE) ")

_KINDS = {0: "INARCH_INT", 1: "INARCH_UINT", 2: "INARCH_FLOAT", 6: "INARCH_BOOL"}


def hosted(program: CProgram, request: ExportRequest) -> Export:
    """The files. Raises InarchError where a library that microkernels call is not as they say."""
    target = target_of(request.module)
    prefix = program.prefix
    foreign = linked_units(request.emitted)
    linked = link_libraries(program.kernels, target)
    files: dict[str, str | Writer] = {f"{prefix}.c": _named(program.text, prefix), **foreign.units}
    own = program.single().unit_flags
    sources = {
        f"{prefix}.c": [flag for flags in own.values() for flag in flags],
        **{name: _beside(foreign.flags[name]) for name in foreign.units},
    }
    if program.weights is not None:
        files[f"{prefix}.bin"] = program.weights
        files["weights.S"] = filled("weights.S.tmpl", prefix=prefix)
        sources["weights.S"] = []
    libraries = ["-lm", "-lpthread"]
    for path in reversed(dict.fromkeys([*linked.libraries, *foreign.libraries])):
        if path.endswith((".a", ".o")):
            files[Path(path).name] = partial(_copied, Path(path))
            libraries.insert(0, Path(path).name)
        else:
            libraries.insert(0, path if "/" in path or path.startswith("-") else f"-l{path}")
    guard = re.sub(r"\W", "_", prefix).upper()
    weights = "NULL, 0"
    if program.weights is not None:
        weights = f"{prefix}_weights, {guard}_WEIGHTS_BYTES"
    files |= {
        f"{prefix}.h": _header(program, str(target), guard, weights),
        "inarch.h": (INCLUDE / "inarch.h").read_text(),
        "main.c": main_text(
            prefix,
            program.functions,
            partial(_invoke, program),
            filled("hosted.c.tmpl", "BIND", prefix=prefix, weights=weights),
        ),
    }
    building = Building(
        prefix,
        target,
        sources,
        model_flags(target),
        [f"{prefix}.h", "inarch.h"],
        program.functions,
        libraries,
        f"{prefix}.bin",
    )
    facts = {"weights_bytes": program.weights_bytes, "workspace_bytes": program.workspace_bytes}
    return Export({**files, **building.files}, facts)


def _named(text: str, prefix: str) -> str:
    """The amalgamation, whose first lines say FILE for what it is called."""
    head, newline, rest = text.partition("#include")
    return head.replace("FILE.", f"{prefix}.") + newline + rest


def _beside(flags: tuple[str, ...]) -> list[str]:
    """The flags of a backend's C, with the folder of inarch.h as the one that has it now."""
    return [flag if flag != f"-I{INCLUDE}" else "-I." for flag in flags]


def _copied(source: Path, file: BinaryIO) -> None:
    file.write(source.read_bytes())


def _stem(program: CProgram, entry: Entry) -> str:
    """The C name of a public function."""
    return identifier(f"{program.prefix}_{entry.name}")


def _header(program: CProgram, target: str, guard: str, weights: str) -> str:
    lines = ""
    for entry in program.functions:
        lines += f" *\n * {_stem(program, entry)}: arguments\n"
        for number, port in enumerate(entry.ports):
            kind = "in" if number < len(entry.inputs) else "out"
            lines += f" *   {number} {kind} {comment(str(port))[3:-3]}\n"
    stems = [_stem(program, entry) for entry in program.functions]
    text = public_text(program.prefix, stems)
    data = ""
    if program.weights is not None:
        data = filled(
            "hosted.c.tmpl",
            "DATA",
            prefix=program.prefix,
            guard=guard,
            bytes=program.weights_bytes,
        )
    return filled(
        "hosted.c.tmpl",
        "HEADER",
        prefix=program.prefix,
        target=target,
        guard=guard,
        weights=weights,
        functions=lines,
        data=data,
        prototypes=_ATTRIBUTES.sub("", text).replace("(\n    ", "("),
    )


def _invoke(program: CProgram, number: int, entry: Entry) -> str:
    shapes = ""
    arguments = "" if entry.ports else f"{INDENT}(void)args, (void)buffers;\n"
    for i, port in enumerate(entry.ports):
        shape, dtype = "NULL", port.dtype
        if port.shape:
            shape = f"shape{i}"
            shapes += f"{INDENT}static int64_t {shape}[] = {{{', '.join(map(str, port.shape))}}};\n"
        kind = f"{_KINDS[dtype.dlpack]}, {dtype.bits}, {len(port.shape)}"
        arguments += f"{INDENT}args[{i}] = tensor(buffers[{i}], {kind}, {shape});\n"
    has_first = number == next((n for n, f in enumerate(program.functions) if f.ports), None)
    return (filled("hosted.c.tmpl", "TENSOR") if has_first else "") + filled(
        "hosted.c.tmpl",
        "INVOKE",
        number=number,
        shapes=shapes,
        slots=max(1, len(entry.ports)),
        arguments=arguments,
        stem=_stem(program, entry),
        prefix=program.prefix,
        count=len(entry.ports),
    )
