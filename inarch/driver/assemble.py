"""From emitted C to an artifact: compiled, linked, described by a manifest, written whole."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch import __version__
from inarch.ir.target import target_of
from inarch.machine.target import Target

if TYPE_CHECKING:
    from inarch.backends.c import CProgram
    from inarch.driver.offload_check import Emitted


def assemble(
    context: Context,
    module: ModuleOp,
    program: CProgram,
    emitted: Sequence[Emitted],
    output: Path,
    progress: Callable[[str, int, int], None] | None,
    flags: Sequence[str] = (),
) -> None:
    """Compiles `program`, which was emitted of the planned `module`, and writes `output`.

    `flags` are for the C compiler, behind its own.

    Raises InarchError for C that does not compile, naming the backend or the kernel that it is of.
    """
    from inarch.artifact import write_artifact
    from inarch.backends.c import kernel_error, link_libraries, weights_pieces
    from inarch.driver.offload_c import explained, linked_units
    from inarch.machine.toolchain import CompilerError, compile_library

    target = target_of(module)

    def report(done: int, total: int, unit: str) -> None:
        if progress is not None:
            progress(f"compile {unit}", done, total)

    with tempfile.TemporaryDirectory(prefix="inarch-build-") as folder:
        library = Path(folder) / "library.so"  # whose name a prefix would make too long
        foreign = linked_units(emitted)
        linked = link_libraries(program.kernels, target)
        try:
            compile_library(
                {**program.units, **foreign.units},
                library,
                target=target,
                flags=flags,
                unit_flags={**program.unit_flags, **foreign.flags},
                libraries=tuple(dict.fromkeys([*linked.libraries, *foreign.libraries])),
                exports=f"{program.prefix}_*" if linked.embeds else None,
                progress=report,
            )
        except CompilerError as error:
            of_kernel = kernel_error(error, program.unit_kernels)
            raise (explained(error, emitted) if of_kernel is error else of_kernel) from error
        if progress is not None:
            progress(f"write {output.name}", 0, 1)
        write_artifact(
            output,
            library,
            _manifest(program, target, emitted, linked.externals),
            weights_pieces(context, module),
            program.weights_bytes,
            _members(emitted),
        )


def _manifest(
    program: CProgram,
    target: Target,
    emitted: Sequence[Emitted],
    externals: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The artifact's manifest; each submodule adds its loader, C the libraries that it calls."""
    manifest = program.manifest(str(target), sorted(target.features))
    formats = [one.emission.format for one in emitted if not one.is_linked]
    libraries: list[Mapping[str, Any]] = [
        {
            "path": str(Path(path).absolute()),
            "backend": one.backend,
            "package": one.emission.package,
        }
        for one in emitted
        if one.is_linked
        for path in one.emission.libraries
    ]
    libraries += externals
    return {
        "inarch": __version__,
        **manifest,
        "loaders": [*manifest["loaders"], *formats],
        **({"libraries": libraries} if libraries else {}),
    }


def _members(emitted: Sequence[Emitted]) -> dict[str, bytes]:
    """The submodules by index, and the source of what was linked."""
    modules = [one.emission.content for one in emitted if not one.is_linked]
    sources = {f"source.{one.backend}": one.emission.content for one in emitted if one.is_linked}
    return {**{f"modules/{n}": content for n, content in enumerate(modules, 1)}, **sources}
