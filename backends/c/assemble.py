"""Translation units, and the amalgamation of all.

One a nest that a microkernel does, one of several other nests, `model.c`, and those that all models share.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp

from inarch.artifact.description import comment_of
from inarch.artifact.manifest import listing
from inarch.backends.c.cprogram import CProgram, registry_notes
from inarch.backends.c.parts import Parts, includes, parts_of, preamble
from inarch.backends.c.plan.program import ProgramPlan
from inarch.backends.c.plan.weights import Weights
from inarch.backends.c.text import comment
from inarch.backends.c.write.abi.cpu import cpu_check
from inarch.backends.c.write.abi.library_text import (
    abi_text,
    environment_text,
    internal_text,
    library_text,
    types_text,
)
from inarch.backends.c.write.abi.model import (
    declarations_text,
    entries_text,
    imports_text,
)
from inarch.backends.c.write.abi.threads import pool_includes, pool_text, threads_text
from inarch.backends.c.write.abi.tvm_ffi import stubs_text, tvm_ffi_unit
from inarch.backends.c.write.functions import (
    FunctionText,
)
from inarch.dialects.kernel.call import CallOp as KernelCallOp
from inarch.machine.flags import NUMERIC_FLAGS
from inarch.machine.target import Target
from inarch.microkernel.code import KernelCode

EMBEDDED_BYTES = 1 << 20
"""Weights of at most this size are in the amalgamation."""

UNIT_CHARACTERS = 8192
"""Nests without microkernels share a unit up to here: to start a compiler takes as long as most of them."""

_LINKAGE = """
#ifdef __cplusplus
#define INARCH_C extern "C"
#else
#define INARCH_C extern
#endif
"""
_LEVEL_MACROS = {
    "x86-64": "__x86_64__",
    "x86-64-v2": "__SSE4_2__",
    "x86-64-v3": "__AVX2__",
    "x86-64-v4": "__AVX512F__",
    "aarch64": "__aarch64__",
}
"""What compilers define for a level of `inarch.target`."""
_PUBLIC = '#define INARCH_PUBLIC __attribute__((visibility("default")))\n'
_HIDDEN = '__attribute__((visibility("hidden"))) '
_UNUSED = "static __attribute__((unused)) "
"""Of a kernel that nothing calls, of which C would warn."""
_INCLUDES = "".join(
    f"#include <{name}.h>\n" for name in ("stdarg", "stddef", "stdint", "stdio", "stdlib", "string")
)


def emit_program(module: ModuleOp, weights: Weights, embedded: bytes | None = None) -> CProgram:
    """A planned module in C. `embedded` are the weights for the amalgamation; None: they are too large."""
    parts = parts_of(module, weights)
    program = parts.program
    units, unit_kernels = _kernel_units(parts)
    units["model.c"] = _model_unit(parts)
    units["abi.c"] = _abi_unit(parts)
    if parts.functions:
        units["tvm_ffi.c"] = _tvm_ffi_unit()
    if parts.shares:
        units["pool.c"] = _pool_unit()
    unit_kernels["model.c"] = program.kernels_of(program.public)
    return CProgram(
        name=program.prefix,
        text=_amalgamation(parts, embedded),
        source=_amalgamation(parts, None),
        kernel_count=len(program.private),
        weights_bytes=program.weights_bytes,
        workspace_bytes=max((one.workspace_bytes for one in parts.functions), default=0),
        notes=registry_notes(_registry_calls(program)),
        units=units,
        functions=parts.functions,
        imports=parts.imports,
        kernels=program.kernels_of([*program.public, *program.private]),
        unit_kernels=unit_kernels,
    )


def _registry_calls(program: ProgramPlan) -> dict[str, int]:
    found: dict[str, int] = {}
    for function in program.public:
        for op in function.body.walk():
            if isinstance(op, KernelCallOp):
                symbol = op.callee.root_reference.data
                if program.definitions[symbol].registered is not None:
                    found[symbol] = found.get(symbol, 0) + prod(op.trip_counts)
    return found


# ---------------------------------------------------------------------------------- units


def _kernel_units(
    parts: Parts,
) -> tuple[dict[str, str], dict[str, tuple[KernelCode, ...]]]:
    """The units of kernels, and the microkernels that they have, both by file name."""
    units: dict[str, str] = {}
    unit_kernels: dict[str, tuple[KernelCode, ...]] = {}
    groups: list[list[FunctionText]] = []
    left = 0
    for function in parts.program.private:
        kernel = parts.kernels[function.sym_name.data]
        own = parts.program.kernels_of([function])
        # Whom it calls is not to be inlined: see `FunctionText.definition`.
        if own or kernel.callees:
            unit_kernels[f"{kernel.c_name}.c"] = own
            units[f"{kernel.c_name}.c"] = _kernel_unit([kernel], parts)
            continue
        if len(kernel.text) > left:
            groups.append([])
            left = UNIT_CHARACTERS
        groups[-1].append(kernel)
        left -= len(kernel.text)
    for number, group in enumerate(groups):
        units[f"nests{number}.c"] = _kernel_unit(group, parts)
    return units, unit_kernels


def _kernel_unit(kernels: Sequence[FunctionText], parts: Parts) -> str:
    called = sorted({symbol for kernel in kernels for symbol in kernel.callees})
    prototypes = "".join(f"{_HIDDEN}{parts.kernels[symbol].head};\n" for symbol in called)
    units = [kernel.unit for kernel in kernels]
    what = "one kernel" if len(kernels) == 1 else f"{len(kernels)} kernels"
    return (
        f"{comment(f'Generated by Inarch: {what}.')}\n"
        + includes(units, "".join(kernel.text for kernel in kernels), "#include <stdint.h>\n")
        + (_LINKAGE if any(unit.sources for unit in units) else "")
        + preamble(units)
        + (f"\n{prototypes}" if prototypes else "")
        + "".join(f"\n{kernel.definition(_HIDDEN)}" for kernel in kernels)
    )


def _model_unit(parts: Parts) -> str:
    reachable = parts.reachable()
    prototypes = "".join(f"{_HIDDEN}{kernel.head};\n" for kernel in reachable)
    units = [entry.unit for entry in parts.entries]
    return (
        f"{comment(f'{parts.program.prefix}: generated by Inarch.')}\n"
        + includes(units, "".join(entry.text for entry in parts.entries), _INCLUDES)
        + _LINKAGE
        + _PUBLIC
        + preamble(units)
        + declarations_text(parts.library, shared=True)
        + (f"\n{prototypes}" if prototypes else "")
        + _entries(parts, embedded=None, shared=True)
        + stubs_text(parts.program.prefix, parts.stems)
    )


def _abi_unit(parts: Parts) -> str:
    """Nothing in it is of the model: it is compiled once for a target."""
    return (
        f"{comment('Generated by Inarch: checks of arguments and of the CPU, states, calls.')}\n"
        + _INCLUDES
        + types_text()
        + internal_text(shared=True)
        + library_text(cpu_check(parts.features, ""), shared=True)
    )


def _tvm_ffi_unit() -> str:
    """The same for all models: a library that nobody has bound, and calls by TVM FFI."""
    what = "Generated by Inarch: a library that nobody has bound, and calls by TVM FFI."
    return f"{comment(what)}\n{tvm_ffi_unit()}"


def _pool_unit() -> str:
    """The same for all models: the threads."""
    return (
        f"{comment('Generated by Inarch: a pool of threads.')}\n"
        + pool_includes()
        + types_text()
        + abi_text("cpu.c", "BASELINE")
        + pool_text("")
    )


def _amalgamation(parts: Parts, weights: bytes | None) -> str:
    """All in one file. All kernels are static: another model's may be called the same in one program."""
    prefix, count = parts.program.prefix, parts.program.weights_bytes
    reachable = {kernel.symbol for kernel in parts.reachable()}
    every = list(parts.kernels.values())
    linkages = {k.symbol: "static " if k.symbol in reachable else _UNUSED for k in every}
    prototypes = "".join(f"{linkages[k.symbol]}{k.head};\n" for k in every)
    bodies = "".join(f"\n{k.definition(linkages[k.symbol])}" for k in every)
    units = [function.unit for function in (*every, *parts.entries)]
    all_text = "".join(function.text for function in (*every, *parts.entries))
    embedded = None
    data = beside = ""
    if count and weights is not None:
        embedded = "inarch_embedded"
        data = weights_text(embedded, weights)
    elif count:
        beside = comment(
            f"Its weights, {count} bytes, are FILE.bin beside it; {prefix}_bind takes them, at a multiple of "
            "64, before the first call. `inarch export` writes a program around it."
        )
        beside += "\n"
    pool = parts.shares
    if parts.functions and all(slot.linked is not None for slot in parts.imports):
        beside += _description(parts, embedded)
    return (
        _head(prefix, parts.target, beside)
        + (pool_includes() if pool else "")
        + includes(units, all_text, _INCLUDES)
        + _LINKAGE
        + _PUBLIC
        + preamble(units)
        + declarations_text(parts.library, shared=False)
        + (f"\n{prototypes}" if prototypes else "")
        + bodies
        + data
        + (pool_text("static ") if pool else "")
        + _entries(parts, embedded=embedded, shared=False)
    )


def _description(parts: Parts, embedded: str | None) -> str:
    """What the loader of C must know of it."""
    return comment_of(
        {
            "prefix": parts.program.prefix,
            "target": str(parts.target),
            "features": sorted(parts.features),
            "weights_bytes": 0 if embedded is not None else parts.program.weights_bytes,
            "functions": {one.name: listing(one.signature) for one in parts.functions},
        }
    )


def _head(prefix: str, target: Target, beside: str) -> str:
    """What it was made for, how to compile it, and an error where that is not done."""
    said = comment(
        f"{prefix}: generated by Inarch for {target}. Compiles alone: "
        f"cc -O3 {' '.join(model_flags(target))} -shared -fPIC FILE.c -o FILE.so -lm"
    )
    return f"{said}\n{beside}{level_check(target)}"


def model_flags(target: Target) -> list[str]:
    """What a compiler must be told, besides how much to optimize."""
    return [*target.cflags(), *NUMERIC_FLAGS]


def level_check(target: Target) -> str:
    """An error of the preprocessor where the compiler is not told of the target's level."""
    macro = _LEVEL_MACROS.get(target.level)
    if macro is None:
        return ""
    advice = f"made for {target.level}: compile it with {target.cflags()[0]}"
    return f'#ifndef {macro}\n#error "{advice}"\n#endif\n'


def _entries(parts: Parts, *, embedded: str | None, shared: bool) -> str:
    """State, the unchecked entries, the checked ones."""
    program, library = parts.program, parts.library
    bodies = "".join(f"\n{entry.definition('')}" for entry in parts.entries)
    own = "" if shared else library_text(cpu_check(parts.features, "static "), shared=False)
    return (
        environment_text()
        + imports_text(library, checked=program.checked)
        + threads_text(shared=shared, pool=parts.shares, most=program.threads)
        + bodies
        + entries_text(library, embedded, shared=shared)
        + own
    )


def weights_text(name: str, weights: bytes) -> str:
    """The weights as an aligned array of 64-bit words in this machine's byte order."""
    padded = weights + bytes(-len(weights) % 8)
    words = [f"0x{word:x}u" for (word,) in struct.iter_unpack("<Q", padded)]
    lines = [", ".join(words[i : i + 5]) for i in range(0, len(words), 5)]
    rows = ",\n    ".join(lines)
    return (
        f"\n{comment('The weights, little-endian.')}\n"
        f"static const uint64_t {name}[{len(words)}] __attribute__((aligned(64))) = {{\n    {rows}\n}};\n"
    )
