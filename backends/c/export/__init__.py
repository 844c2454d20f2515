"""A program as a folder of sources that builds with nothing but a C compiler: `inarch export`.

The amalgamation of `assemble.py` with a header (`sources.py`), or one freestanding file (`freestanding.py`);
a program that runs it on files (`program.py`); a Makefile and CMake's (`building.py`).
"""

from __future__ import annotations

from dataclasses import replace

from inarch.artifact.manifest import listing
from inarch.backends.c.cprogram import CProgram
from inarch.backends.c.export.freestanding import freestanding
from inarch.backends.c.export.sources import hosted
from inarch.backends.host import Export, ExportRequest
from inarch.core.errors import InarchError, UnsupportedError


def export(program: CProgram, request: ExportRequest) -> Export:
    """The sources. Raises UnsupportedError for a program that calls what is not in C."""
    if not program.functions:
        raise InarchError(
            f"'{program.name}': expected a public function to export, found none; a func.func such as "
            "@main that is not private is one"
        )
    for one in request.emitted:
        if not one.is_linked:
            raise UnsupportedError(
                f"'{program.name}' cannot be exported: backend '{one.backend}' emits the format "
                f"'{one.emission.format}', which has no C; leave the backend out, or use `inarch compile`"
            )
    if slots := [slot.name for slot in program.imports if slot.linked is None]:
        raise UnsupportedError(
            f"'{program.name}' cannot be exported: it calls {', '.join(slots)}, which a process registers; "
            "use `inarch compile`"
        )
    made = freestanding(program, request) if request.freestanding else hosted(program, request)
    functions = {entry.name: listing(entry.signature) for entry in program.functions}
    return replace(made, facts={**made.facts, "functions": functions})
