"""Translation units: one a kernel, `model.c`, `checks.c`, and the amalgamation of all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp

from inarch.artifact.manifest import Import
from inarch.backends.c.cprogram import CProgram, registry_notes
from inarch.backends.c.plan.alias import functions_with_aliases
from inarch.backends.c.plan.gaps import DEFINITION
from inarch.backends.c.plan.program import ProgramPlan, c_function, read_program
from inarch.backends.c.plan.weights import Weights
from inarch.backends.c.text import LIBRARY_FUNCTIONS, comment
from inarch.backends.c.write.abi.cpu import BASELINE
from inarch.backends.c.write.abi.model import (
    checks_text,
    declarations_text,
    entries_text,
    state_text,
)
from inarch.backends.c.write.abi.threads import (
    POOL_INCLUDES,
    POOL_TYPES,
    pool_text,
    threads_text,
)
from inarch.backends.c.write.functions import (
    FunctionText,
    entry_text,
    kernel_text,
    without_comments,
)
from inarch.backends.c.write.scope import Unit, VectorType
from inarch.backends.c.write.value.math import helpers_text
from inarch.backends.entries import Entry
from inarch.core.dtypes import DTYPES
from inarch.dialects.kernel.call import CallOp as KernelCallOp
from inarch.ir.target import target_of
from inarch.machine.target import Target
from inarch.machine.toolchain import NUMERIC_FLAGS
from inarch.microkernel.gaps import without_loop_vectors

EMBEDDED_BYTES = 1 << 20
"""Weights of at most this size are in the amalgamation."""

_CALLS_LIBRARY = re.compile(rf"\b({'|'.join(sorted(LIBRARY_FUNCTIONS))})\(")

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
    f"#include <{name}.h>\n" for name in ("stdarg", "stddef", "stdint", "stdio", "stdlib")
)


@dataclass(frozen=True)
class _Parts:
    """Everything that the units are put together from."""

    program: ProgramPlan
    weights: Weights
    target: Target
    functions: tuple[Entry, ...]
    imports: tuple[Import, ...]
    kernels: Mapping[str, FunctionText]
    entries: tuple[FunctionText, ...]

    @property
    def stems(self) -> list[str]:
        """The C names of the checked entries."""
        return [entry.c_name.removesuffix("_run") for entry in self.entries]

    @property
    def features(self) -> frozenset[str]:
        """What the CPU must have: the target's features, and those of the microkernels."""
        called = self.program.kernels_of([*self.program.public, *self.program.private])
        return self.target.features.union(*(kernel.needs for kernel in called))

    @property
    def shares(self) -> bool:
        """Whether a public function calls a kernel whose turns threads share."""
        return any(kernel.part for kernel in self.reachable())

    def reachable(self) -> list[FunctionText]:
        """The kernels that public functions call, directly or not, in the module's order."""
        found: set[str] = set()
        pending = [callee for entry in self.entries for callee in entry.callees]
        while pending:
            symbol = pending.pop()
            if symbol in self.kernels and symbol not in found:
                found.add(symbol)
                pending.extend(self.kernels[symbol].callees)
        return [kernel for symbol, kernel in self.kernels.items() if symbol in found]


def emit_program(module: ModuleOp, weights: Weights, embedded: bytes | None = None) -> CProgram:
    """A planned module in C. `embedded` are the weights for the amalgamation; None: they are too large."""
    program = read_program(module)
    target = target_of(module)
    vector_bytes = target.vector_bytes
    aliased = functions_with_aliases(program)
    parts = _Parts(
        program,
        weights,
        target,
        tuple(c_function(program, function) for function in program.public),
        program.import_table,
        {
            function.sym_name.data: kernel_text(program, function, vector_bytes, aliased)
            for function in program.private
        },
        tuple(entry_text(program, function, vector_bytes) for function in program.public),
    )
    units = {f"{kernel.c_name}.c": _kernel_unit(kernel, parts) for kernel in parts.kernels.values()}
    units["model.c"] = _model_unit(parts)
    units["checks.c"] = _checks_unit(parts)
    if parts.shares:
        units["pool.c"] = _pool_unit()
    unit_kernels = {
        f"{program.c_names[function.sym_name.data]}.c": program.kernels_of([function])
        for function in program.private
    }
    unit_kernels["model.c"] = program.kernels_of(program.public)
    return CProgram(
        name=program.prefix,
        text=_amalgamation(parts, embedded),
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


def _kernel_unit(kernel: FunctionText, parts: _Parts) -> str:
    callees = [parts.kernels[symbol] for symbol in sorted(kernel.callees)]
    prototypes = "".join(f"{_HIDDEN}{callee.head};\n" for callee in callees)
    return (
        f"{comment('Generated by Inarch: one kernel.')}\n"
        + _includes([kernel.unit], kernel.text, "#include <stdint.h>\n")
        + (_LINKAGE if kernel.unit.sources else "")
        + _preamble([kernel.unit])
        + (f"\n{prototypes}" if prototypes else "")
        + f"\n{kernel.definition(_HIDDEN)}"
    )


def _model_unit(parts: _Parts) -> str:
    reachable = parts.reachable()
    prototypes = "".join(f"{_HIDDEN}{kernel.head};\n" for kernel in reachable)
    units = [entry.unit for entry in parts.entries]
    return (
        f"{comment(f'{parts.program.prefix}: generated by Inarch.')}\n"
        + _includes(units, "".join(entry.text for entry in parts.entries), _INCLUDES)
        + _LINKAGE
        + _PUBLIC
        + _preamble(units)
        + declarations_text(parts.program.prefix, parts.functions, parts.stems)
        + (f"\n{prototypes}" if prototypes else "")
        + _entries(parts, embedded=None, shared=True)
    )


def _checks_unit(parts: _Parts) -> str:
    """Nothing in it is of the model: it is compiled once for a target."""
    return (
        f"{comment('Generated by Inarch: checks of arguments and of the CPU.')}\n"
        + _INCLUDES
        + checks_text(parts.features, "")
    )


def _pool_unit() -> str:
    """The same for all models: the threads."""
    return (
        f"{comment('Generated by Inarch: a pool of threads.')}\n"
        + POOL_INCLUDES
        + POOL_TYPES
        + BASELINE
        + pool_text("")
    )


def _amalgamation(parts: _Parts, weights: bytes | None) -> str:
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
    data = ""
    if count and weights is not None:
        embedded = "inarch_embedded"
        data = _weights_text(embedded, weights)
    elif count:
        data = (
            "\n"
            + comment(
                f"The weights, {count} bytes at a multiple of 64, are given to {prefix}_bind before the "
                "first call."
            )
            + "\n"
        )
    pool = parts.shares
    return (
        _head(prefix, parts.target)
        + (POOL_INCLUDES if pool else "")
        + _includes(units, all_text, _INCLUDES)
        + _LINKAGE
        + _PUBLIC
        + _preamble(units)
        + declarations_text(prefix, parts.functions, parts.stems)
        + (f"\n{prototypes}" if prototypes else "")
        + bodies
        + data
        + (pool_text("static ") if pool else "")
        + _entries(parts, embedded=embedded, shared=False)
    )


def _head(prefix: str, target: Target) -> str:
    """What it was made for, how to compile it, and an error where that is not done."""
    flags = " ".join(["-O3", *target.cflags(), *NUMERIC_FLAGS])
    said = comment(
        f"{prefix}: generated by Inarch for {target}. Compiles alone: "
        f"cc {flags} -shared -fPIC FILE.c -o FILE.so -lm"
    )
    macro = _LEVEL_MACROS.get(target.level)
    if macro is None:
        return f"{said}\n"
    advice = f"made for {target.level}: compile it with {target.cflags()[0]}"
    return f'{said}\n#ifndef {macro}\n#error "{advice}"\n#endif\n'


def _entries(parts: _Parts, *, embedded: str | None, shared: bool) -> str:
    """State, the unchecked entries, the checked ones."""
    program = parts.program
    bodies = "".join(f"\n{entry.definition('')}" for entry in parts.entries)
    needs_weights = bool(parts.functions) or program.weights_bytes > 0
    return (
        state_text(
            program.prefix,
            parts.imports,
            shared=shared,
            embedded=embedded,
            weights=needs_weights,
            checked=program.checked,
        )
        + threads_text(shared=shared, pool=parts.shares, most=program.threads)
        + bodies
        + entries_text(
            program.prefix,
            parts.functions,
            parts.stems,
            parts.imports,
            parts.weights,
            parts.features,
            shared=shared,
            pool=parts.shares,
        )
    )


def _weights_text(name: str, weights: bytes) -> str:
    """The weights as an aligned array of 64-bit words in this machine's byte order."""
    padded = weights + bytes(-len(weights) % 8)
    words = [
        f"0x{int.from_bytes(padded[i : i + 8], 'little'):x}u" for i in range(0, len(padded), 8)
    ]
    lines = [", ".join(words[i : i + 5]) for i in range(0, len(words), 5)]
    rows = ",\n    ".join(lines)
    return (
        f"\n{comment('The weights, little-endian.')}\n"
        f"static const uint64_t {name}[{len(words)}] __attribute__((aligned(64))) = {{\n    {rows}\n}};\n"
    )


# ---------------------------------------------------------------------------------- preambles


def _helpers(units: Sequence[Unit]) -> str:
    return helpers_text({name for unit in units for name in unit.helpers})


def _sources(units: Sequence[Unit]) -> str:
    sources = {name: source for unit in units for name, source in unit.sources.items()}
    gaps = {name for unit in units for name in unit.gap_sources}
    return "".join(
        f"\n{without_loop_vectors(source) if name in gaps else source}"
        for name, source in sources.items()
    )


def _includes(units: Sequence[Unit], text: str, base: str) -> str:
    """The headers that functions with the bodies `text` need."""
    everything = without_comments(_helpers(units) + _sources(units) + text)
    return base + ("#include <math.h>\n" if _CALLS_LIBRARY.search(everything) else "")


def _preamble(units: Sequence[Unit]) -> str:
    """An attribute, vector types, helper functions and microkernels, each once."""
    vectors = sorted({kind for unit in units for kind in unit.vectors})
    types = "".join(_vector_typedefs(kind) for kind in vectors)
    gaps = DEFINITION if any(unit.reads_gaps for unit in units) else ""
    return gaps + (f"\n{types}" if types else "") + _helpers(units) + _sources(units)


def _vector_typedefs(kind: VectorType) -> str:
    dtype = DTYPES[kind.dtype]
    size = dtype.nbytes * kind.lanes
    memory = f"vector_size({size}), aligned({dtype.nbytes}), may_alias"
    return (
        f"typedef {dtype.c} {kind.c} __attribute__((vector_size({size})));\n"
        f"typedef {dtype.c} {kind.memory} __attribute__(({memory}));\n"
    )
