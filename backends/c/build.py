"""From emitted C to an artifact: compiled, linked, described by a manifest, written whole."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inarch.artifact import write_artifact
from inarch.backends.c.cprogram import CProgram
from inarch.backends.c.offloaded import explained, linked_units
from inarch.backends.c.plan.weights import weights_pieces
from inarch.backends.host import BuildRequest
from inarch.ir.target import target_of
from inarch.machine.target import Target
from inarch.machine.toolchain import CompilerError, compile_library
from inarch.microkernel.code import link_libraries
from inarch.microkernel.errors import kernel_error


def build(program: CProgram, request: BuildRequest) -> None:
    """Compiles `program` with the C of backends, and writes the artifact.

    Raises InarchError for C that does not compile, naming the backend or the kernel that it is of.
    """
    program = program.single() if request.is_single else program
    target, output, progress = target_of(request.module), request.output, request.progress

    def report(done: int, total: int, unit: str) -> None:
        if progress is not None:
            progress(f"compile {unit}", done, total)

    with tempfile.TemporaryDirectory(prefix="inarch-build-") as folder:
        library = Path(folder) / "library.so"  # whose name a prefix would make too long
        foreign = linked_units(request.emitted)
        linked = link_libraries(program.kernels, target)
        try:
            compile_library(
                {**program.units, **foreign.units},
                library,
                target=target,
                flags=request.flags,
                unit_flags={**program.unit_flags, **foreign.flags},
                libraries=tuple(dict.fromkeys([*linked.libraries, *foreign.libraries])),
                exports=f"{program.prefix}_*" if linked.embeds else None,
                progress=report,
                jobs=request.jobs,
                timeout=request.timeout,
            )
        except CompilerError as error:
            of_kernel = kernel_error(error, program.unit_kernels)
            raise (
                explained(error, request.emitted) if of_kernel is error else of_kernel
            ) from error
        if progress is not None:
            progress(f"write {output.name}", 0, 1)
        write_artifact(
            output,
            library,
            _manifest(program, target, request, linked.externals),
            weights_pieces(request.context, request.module),
            program.weights_bytes,
            request.members(),
        )


def _manifest(
    program: CProgram,
    target: Target,
    request: BuildRequest,
    externals: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The artifact's manifest, with what the CPU must have and the libraries that the code calls."""
    libraries: list[Mapping[str, Any]] = [
        {
            "path": str(Path(path).absolute()),
            "backend": one.backend,
            "package": one.emission.package,
        }
        for one in request.emitted
        if one.is_linked
        for path in one.emission.libraries
    ]
    libraries += externals
    return {
        **request.manifest("shared-library", program.name, program.functions, program.imports),
        "features": sorted({*target.features, *program.needs}),
        **({"libraries": libraries} if libraries else {}),
    }
