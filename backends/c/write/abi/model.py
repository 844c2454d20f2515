"""`model.c`: the table of what a library is, its public functions, the import table.

What is the same for all models of a target, `library_text.py`, is a unit of its own, which is compiled once
and then found in the cache. The codes that functions return are those of `inarch.h`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inarch.artifact.index import dtype_number
from inarch.artifact.manifest import Import, Port
from inarch.artifact.status import Effect
from inarch.backends.c.plan.program import aligned
from inarch.backends.c.plan.weights import Weights
from inarch.backends.c.text import INDENT, string
from inarch.backends.c.write.abi.fallback import fallback_text
from inarch.backends.c.write.abi.library_text import abi_text, internal_text, types_text
from inarch.backends.c.write.abi.linked import (
    explained_text,
    has_states,
    hooks_text,
    linked_bind_text,
    linked_text,
)
from inarch.backends.entries import Entry

_CPU = 1
"""DLPack's number."""


@dataclass(frozen=True)
class Described:
    """What a library says of itself."""

    prefix: str
    target: str
    features: Iterable[str]
    """That the CPU must have."""
    functions: Sequence[Entry]
    stems: Sequence[str]
    """The C names of the checked entries."""
    imports: Sequence[Import]
    weights: Weights
    has_pool: bool
    """Whether it shares iterations of loops among threads."""


def public_text(prefix: str, stems: Iterable[str]) -> str:
    """The prototypes of the public functions."""
    text = abi_text("model.c", "PUBLIC", prefix=prefix)
    return text + "".join(abi_text("model.c", "PUBLIC_FUNCTION", stem=stem) for stem in stems)


def declarations_text(library: Described, *, shared: bool) -> str:
    """The types of the ABI, the prototypes of the public functions, and what is within."""
    return (
        types_text()
        + internal_text(shared=shared)
        + public_text(library.prefix, library.stems)
        + ("" if library.functions else "/* no public functions */\n")
    )


def imports_text(library: Described, *, checked: bool) -> str:
    """The import table; `checked` adds the calls that find outputs which an import does not write."""
    imports = library.imports
    if not imports:
        return ""
    text = "".join(
        abi_text("model.c", "LINKED", backend=slot.linked, symbol=slot.name)
        for slot in imports
        if slot.linked is not None
    )
    names = ", ".join(string(slot.name) for slot in imports)
    owners = ", ".join(string(f" ({slot.owner})" if slot.owner else "") for slot in imports)
    rows = [f"{{{slot.name if slot.linked else 'NULL'}, NULL}}" for slot in imports]
    values = f" = {{{', '.join(rows)}}}" if any(slot.linked for slot in imports) else ""
    text += hooks_text(imports)
    text += abi_text(
        "model.c",
        "IMPORTS",
        count=len(imports),
        names=names,
        owners=owners,
        prefix=library.prefix,
        values=values,
        explained=explained_text(imports),
    )
    text += linked_text(library.prefix, imports) + fallback_text(library.prefix, imports)
    return text + (abi_text("model.c", "CALL_CHECKED") if checked else "")


def entries_text(library: Described, embedded: str | None, *, shared: bool) -> str:
    """The table and the public functions; `embedded` names an array of the weights.

    `shared`: the library finds its own weights where nobody binds it.
    """
    functions, weights = library.functions, library.weights
    has_own = has_states(library.imports)
    slots = sum(slot.linked is None for slot in library.imports)
    finds = shared and slots == 0  # nobody but who opens it knows what fills a slot
    bound = (embedded is not None or weights.nbytes == 0) and not has_own and not finds
    values = {
        "prefix": library.prefix,
        "target": string(library.target),
        "features": string(" ".join(sorted(library.features))),
        "digest": weights.sha256,
        "bytes": weights.nbytes,
        "functions": len(functions),
        "count": slots,
        "function_table": "inarch_functions" if functions else "NULL",
        "entry_table": "inarch_entries" if functions else "NULL",
        "import_names": "inarch_import_names" if library.imports else "NULL",
        "pool": "&inarch_own_pool" if library.has_pool else "NULL",
        "imports": "inarch_imports" if library.imports else "NULL",
        "slots": len(library.imports),
        "workspace": aligned(max((f.workspace_bytes for f in functions), default=0)),
        "embedded": embedded or "NULL",
        "threads": "inarch_pool_threads" if library.has_pool else "NULL",
        "bound": int(bound),
        "ports": _tables(library) + _indices(functions),
        "indices": "inarch_bounds" if any(f.indices for f in functions) else "NULL",
        "indices_count": sum(len(f.indices) for f in functions),
        "state_new": "inarch_linked_state_new" if has_own else "inarch_state_new",
        "state_free": "inarch_linked_state_free" if has_own else "inarch_state_free",
        "bind_begin": "inarch_linked_bind(" if has_own else "",
        "bind_end": ")" if has_own else "",
    }
    text = abi_text("model.c", "TABLES", **values)
    text += abi_text("model.c", "OWN") if finds and functions else ""
    for index, stem in enumerate(library.stems):
        text += abi_text("model.c", "OWN_ENTRY" if finds else "ENTRY", stem=stem, index=index)
    text += linked_bind_text(library.prefix, library.imports)
    text += abi_text("model.c", "BIND", **values)
    return text + abi_text(
        "model.c", "POOL" if library.has_pool else "NO_POOL", prefix=library.prefix
    )


def _tables(library: Described) -> str:
    """The functions, their ports and unchecked entries."""
    if not library.functions:
        return ""
    text = ""
    rows: list[str] = []
    for function, stem in zip(library.functions, library.stems, strict=True):
        ports = "NULL"
        if function.ports:
            ports = f"{stem}_ports"
            text += _ports(function, stem)
        counts = f"{len(function.inputs)}, {len(function.outputs)}"
        rows.append(
            f"{INDENT}{{{string(function.name)}, {counts}, {ports}, {function.workspace_bytes}}},\n"
        )
    entries = ", ".join(f"{stem}_run" for stem in library.stems)
    return (
        f"{text}static const inarch_function inarch_functions[] = {{\n{''.join(rows)}}};\n"
        f"static const inarch_entry inarch_entries[] = {{{entries}}};\n\n"
    )


def _indices(functions: Sequence[Entry]) -> str:
    """What inputs of indices may have."""
    rows = [
        f"{INDENT}{{{number}, {one.input}, {one.start}, {one.stride}, {one.least}, {one.most}}},\n"
        for number, function in enumerate(functions)
        for one in function.indices
    ]
    return (
        f"static const inarch_indices inarch_bounds[] = {{\n{''.join(rows)}}};\n\n" if rows else ""
    )


def _ports(function: Entry, stem: str) -> str:
    text = ""
    rows: list[str] = []
    for index, port in enumerate(function.ports):
        shape = "NULL"
        if port.shape:
            shape = f"{stem}_shape{index}"
            sizes = ", ".join(map(str, port.shape))
            text += f"static const int64_t {shape}[] = {{{sizes}}};\n"
        effect = Effect.READS if index < len(function.inputs) else Effect.WRITES
        rows.append(f"{INDENT}{{{_row(port, shape)}, {int(effect)}, {_CPU}}},\n")
    return f"{text}static const inarch_port {stem}_ports[] = {{\n{''.join(rows)}}};\n"


def _row(port: Port, shape: str) -> str:
    number = f"0x{dtype_number(port.dtype):x}"
    return f"{string(port.name)}, {number}, {len(port.shape)}, {shape}, {port.nbytes}"
