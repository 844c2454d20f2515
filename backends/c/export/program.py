"""main.c of an exported program: it runs the functions on files of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inarch.artifact.manifest import Port
from inarch.backends.c.export.building import filled, program_words
from inarch.backends.c.text import INDENT, comment, string
from inarch.backends.entries import Entry


def main_text(
    prefix: str, functions: Sequence[Entry], call: Callable[[int, Entry], str], bind: str = ""
) -> str:
    """`call` gives the C of `static int invoke<n>(void **buffers)`, for function n; `bind` is done first."""
    several = len(functions) > 1
    text = ""
    rows: list[str] = []
    for number, entry in enumerate(functions):
        ports = "NULL"
        if entry.ports:
            ports = f"ports{number}"
            listed = "".join(f"{INDENT}{{{_row(port)}}},\n" for port in entry.ports)
            text += f"\nstatic const port {ports}[] = {{\n{listed}}};\n"
        text += f"\n{call(number, entry)}"
        sizes = f"{len(entry.inputs)}, {len(entry.outputs)}"
        rows.append(f"{INDENT}{{{string(entry.name)}, {sizes}, {ports}, invoke{number}}},\n")
    text += f"\nstatic const function functions[] = {{\n{''.join(rows)}}};\n"
    return filled(
        "main.c.tmpl",
        prefix=prefix,
        usage=comment(f"{prefix} {' '.join(program_words(functions))}")[3:-3],
        functions=text,
        option=" %s" if several else "",
        name=", f->name" if several else "",
        choose=filled("hosted.c.tmpl", "CHOOSE") if several else "",
        bind=bind,
        most=max(1, *(len(entry.ports) for entry in functions)),
    )


def _row(port: Port) -> str:
    return f"{string(port.name)}, {string(port.type)}, {port.nbytes}"
