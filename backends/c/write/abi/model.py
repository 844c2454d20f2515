"""`model.c`: the checked entry of every public function, the import table, the workspaces; `checks.c`.

What is the same for all models of a target, the checks of arguments and of the CPU, is a unit of its own,
which is compiled once and then found in the cache.

Error codes: 1 an argument does not fit, 2 weights or imports are not bound, 3 out of memory, 4 an import left
an output unwritten (`inarch.checked`), 5 the CPU lacks what the code was compiled for; an import's own code
is passed on. The text of the last error of a thread is `<prefix>_last_error()`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import Template

from inarch.artifact.manifest import ABI, Import, Port
from inarch.backends.c.plan.program import aligned
from inarch.backends.c.plan.weights import Weights
from inarch.backends.c.text import INDENT, string
from inarch.backends.c.write.abi.bind_text import (
    BIND,
    BIND_CPU,
    BIND_IMPORTS,
    BIND_NO_WEIGHTS,
    BIND_WEIGHTS,
)
from inarch.backends.c.write.abi.cpu import BASELINE, cpu_check
from inarch.backends.c.write.abi.model_text import (
    ARGUMENT,
    CALL_CHECKED,
    CHECKS,
    ENTRY,
    ENTRY_FILL,
    ENTRY_THREADS,
    ENTRY_WEIGHTS,
    ENTRY_WITH_WORKSPACE,
    IMPORTS,
    LINKED,
    POOL_TYPES,
    PUBLIC,
    PUBLIC_FUNCTION,
    SHARED,
    STATE,
    TYPES,
    WEIGHTS,
)
from inarch.backends.c.write.abi.threads import NO_THREADS, THREADS
from inarch.backends.c.write.abi.workspaces_text import WORKSPACES
from inarch.backends.entries import Entry


def _fill(template: str, values: Mapping[str, object]) -> str:
    return Template(template).substitute({key: str(value) for key, value in values.items()})


def declarations_text(prefix: str, functions: Sequence[Entry], stems: Sequence[str]) -> str:
    """The types of the ABI and the prototypes of the public functions."""
    return (
        TYPES
        + POOL_TYPES
        + BASELINE
        + _fill(PUBLIC, {"prefix": prefix})
        + "".join(_fill(PUBLIC_FUNCTION, {"stem": stem}) for stem in stems)
        + ("" if functions else "/* no public functions */\n")
    )


def checks_text(features: Iterable[str], linkage: str) -> str:
    """What `checks.c` defines: the error message, the checks of arguments and of the CPU."""
    return (
        TYPES
        + BASELINE
        + ARGUMENT
        + SHARED
        + _fill(STATE + CHECKS, {"linkage": linkage})
        + cpu_check(features, linkage)
    )


def state_text(
    prefix: str,
    imports: Sequence[Import],
    *,
    shared: bool,
    embedded: str | None,
    weights: bool,
    checked: bool,
) -> str:
    """Error message, weights (if used) and import table; `embedded` names an array of the weights.

    `shared`: the message is that of `checks.c`. `checked` adds the calls that find outputs which an import
    does not write.
    """
    text = ARGUMENT + SHARED if shared else _fill(STATE, {"linkage": "static "})
    text += _fill(WEIGHTS, {"weights": embedded or "NULL"}) if weights else ""
    for slot in imports:
        if slot.linked is not None:
            text += _fill(LINKED, {"backend": slot.linked, "symbol": slot.name})
    if imports:
        names = ", ".join(string(slot.name) for slot in imports)
        rows = [f"{{{slot.name if slot.linked else 'NULL'}, NULL}}" for slot in imports]
        values = f" = {{{', '.join(rows)}}}" if any(slot.linked for slot in imports) else ""
        text += _fill(
            IMPORTS, {"count": len(imports), "names": names, "prefix": prefix, "values": values}
        )
        text += CALL_CHECKED if checked else ""
    return text


def entries_text(
    prefix: str,
    functions: Sequence[Entry],
    stems: Sequence[str],
    imports: Sequence[Import],
    weights: Weights,
    features: Iterable[str],
    *,
    shared: bool,
    pool: bool,
) -> str:
    """The checked entries, bind, and what they need but what is `shared`; bind asks for `features`.

    `pool`: they share turns of loops among threads, of which it then is asked how many there are.
    """
    bytes_needed = aligned(max((f.workspace_bytes for f in functions), default=0))
    text = "" if shared or not functions else ARGUMENT + _fill(CHECKS, {"linkage": "static "})
    if bytes_needed:
        text += _fill(WORKSPACES, {"bytes": bytes_needed})
    for function, stem in zip(functions, stems, strict=True):
        text += _arguments(function, stem)
        text += _entry(prefix, function, stem, weights.nbytes, pool=pool)
    check = cpu_check(features, "static ")
    bind = _bind(prefix, imports, weights, checks_cpu=bool(check))
    threads = _fill(THREADS if pool else NO_THREADS, {"prefix": prefix})
    return text + ("" if shared else check) + bind + threads


def _bind(prefix: str, imports: Sequence[Import], weights: Weights, *, checks_cpu: bool) -> str:
    template = BIND_WEIGHTS if weights.nbytes else BIND_NO_WEIGHTS
    body = _fill(template, {"prefix": prefix, "bytes": weights.nbytes})
    count = sum(slot.linked is None for slot in imports)
    body += _fill(BIND_IMPORTS, {"prefix": prefix}) if count else f"{INDENT}(void)imports;\n"
    values = {
        "prefix": prefix,
        "abi": ABI,
        "digest": weights.sha256,
        "count": count,
        "cpu": BIND_CPU if checks_cpu else "",
        "body": body,
    }
    return _fill(BIND, values)


def _arguments(function: Entry, stem: str) -> str:
    """The table of a function's arguments, and their shapes."""
    if not function.ports:
        return ""
    text = "\n"
    rows: list[str] = []
    for index, port in enumerate(function.ports):
        shape = "NULL"
        if port.shape:
            shape = f"{stem}_shape{index}"
            sizes = ", ".join(map(str, port.shape))
            text += f"static const int64_t {shape}[] = {{{sizes}}};\n"
        rows.append(f"{INDENT}{{{_row(port)}, {shape}}},\n")
    return f"{text}static const inarch_argument {stem}_arguments[] = {{\n{''.join(rows)}}};\n"


def _row(port: Port) -> str:
    dtype = port.dtype
    numbers = f"{dtype.dlpack}, {dtype.bits}, {len(port.shape)}, {port.nbytes}"
    return f"{string(port.name)}, {string(port.type)}, {numbers}"


def _entry(prefix: str, function: Entry, stem: str, weights_bytes: int, *, pool: bool) -> str:
    count = len(function.ports)
    values = {
        "prefix": prefix,
        "stem": stem,
        "name": string(function.name),
        "count": count,
        "slots": max(1, count),
        "inputs": len(function.inputs),
        "bytes": function.workspace_bytes,
        "arguments": f"{stem}_arguments" if count else "NULL",
    }
    call = f"{INDENT}return {stem}_run(buffers, inarch_weights, NULL);\n"
    if function.workspace_bytes:
        call = _fill(ENTRY_WITH_WORKSPACE, values)
    return _fill(
        ENTRY,
        {
            **values,
            "weights": _fill(ENTRY_WEIGHTS, values) if weights_bytes else "",
            "threads": _fill(ENTRY_THREADS, values) if pool else "",
            "fill": _fill(ENTRY_FILL, values) if count else f"{INDENT}buffers[0] = NULL;\n",
            "call": call,
        },
    )
