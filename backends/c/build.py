"""From emitted C to an artifact: compiled, linked, described by a manifest, written whole."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from inarch.artifact import write_artifact
from inarch.artifact.needed import needed_name
from inarch.backends.c.cprogram import CProgram
from inarch.backends.c.joined import joined
from inarch.backends.c.offloaded import explained, linked_units
from inarch.backends.c.plan.weights import shared_weights, weights_pieces
from inarch.backends.c.write.abi.tvm_ffi import EXPORTS
from inarch.backends.host import BuildRequest
from inarch.core.errors import UnsupportedError
from inarch.core.scratch import scratch
from inarch.ir.target import target_of
from inarch.machine.compilers import Compiler, compiler_for
from inarch.machine.flags import common_flags
from inarch.machine.libraries import needed_by_place
from inarch.machine.licenses import license_of
from inarch.machine.target import Target
from inarch.machine.toolchain import CompilerError, compile_library
from inarch.microkernel.code import link_libraries
from inarch.microkernel.errors import kernel_error

_OUR_LICENSE = "Apache-2.0"
"""Of the code that is Inarch's: checks, threads, functions of mathematics, our microkernels."""


def build(program: CProgram, request: BuildRequest) -> None:
    """Compiles `program` with the C of backends, and writes the artifact.

    Raises InarchError for C that does not compile, naming the backend or the kernel that it is of.
    """
    program = program.single() if request.is_single else program
    target, output, progress = target_of(request.module), request.output, request.progress
    compiler = compiler_for(target)

    def report(done: int, total: int, unit: str) -> None:
        if progress is not None:
            progress(f"compile {unit}", done, total)

    with scratch("inarch-build-") as folder:
        library = folder / "library.so"  # whose name a prefix would make too long
        foreign = linked_units(request.emitted)
        linked = link_libraries(program.kernels, target)
        libraries = _libraries(request, linked.externals)
        embedded = {one["path"]: embed(one) for one in libraries} if request.is_embedding else {}
        try:
            compile_library(
                {**program.units, **foreign.units},
                library,
                target=target,
                compiler=compiler,
                flags=request.flags,
                unit_flags={**program.unit_flags, **foreign.flags},
                libraries=tuple(dict.fromkeys([*linked.libraries, *foreign.libraries])),
                exports=f"{program.prefix}_*; {EXPORTS}" if linked.copied else None,
                names={
                    one["path"]: needed_name(number)
                    for number, one in reversed([*enumerate(libraries)])
                },
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
        shared = shared_weights(request.context)
        write_artifact(
            output,
            library,
            {
                **_manifest(
                    program, target, request, [embedded.get(one["path"], one) for one in libraries]
                ),
                **_provenance(
                    program,
                    target,
                    request,
                    compiler,
                    [Path(path) for path in (*linked.copied, *embedded)],
                ),
                **({"shared_weights": shared.listing()} if shared else {}),
            },
            () if shared else weights_pieces(request.context, request.module),
            0 if shared else program.weights_bytes,
            {
                **request.members(),
                "source.c.z": zlib.compress(joined(program.source, request.emitted).encode(), 9),
                **{one["member"]: Path(path).read_bytes() for path, one in embedded.items()},
            },
        )


def _manifest(
    program: CProgram,
    target: Target,
    request: BuildRequest,
    libraries: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The artifact's manifest, with what the CPU must have and the libraries that the code calls."""
    has_no_path = request.is_relocatable or request.is_embedding
    said = [
        {key: value for key, value in one.items() if key != "path" or not has_no_path}
        for one in libraries
    ]
    return {
        **request.manifest("shared-library", program.name, program.functions, program.imports),
        "features": sorted({*target.features, *program.needs}),
        **({"libraries": said} if said else {}),
    }


def _libraries(
    request: BuildRequest, externals: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The shared libraries that the code calls, in the order of their numbers in it."""
    found: list[Mapping[str, Any]] = [
        {
            "name": Path(path).name,
            "path": str(Path(path).absolute()),
            "backend": one.backend,
            "package": one.emission.package,
        }
        for one in request.emitted
        if one.is_linked
        for path in one.emission.libraries
    ]
    return [*found, *externals]


def embed(library: Mapping[str, Any]) -> Mapping[str, Any]:
    """The manifest's entry of a library that goes into the artifact, as a member of its name and hash.

    Raises UnsupportedError for one that finds another by its own place: in memory it has none.
    """
    path = Path(library["path"])
    if needed := needed_by_place(path):
        raise UnsupportedError(
            f"--embed: '{path}' needs '{needed[0]}' by a path of its own, which it has not in an artifact; "
            "leave --embed out, and ship both beside it"
        )
    digest = sha256(path.read_bytes()).hexdigest()
    return {**library, "sha256": digest, "member": f"embedded/{digest[:16]}/{path.name}"}


def _provenance(
    program: CProgram,
    target: Target,
    request: BuildRequest,
    compiler: Compiler,
    carried: Sequence[Path],
) -> dict[str, Any]:
    """Who compiled it and how, and the licences of what is in it; without any path of this machine.

    `carried` are the libraries of others whose code is in it.
    """
    foreign = linked_units(request.emitted).flags
    own = [flag for flags in {**program.unit_flags, **foreign}.values() for flag in flags]
    licenses: dict[str, set[str]] = {_OUR_LICENSE: {"Inarch"}}
    for kernel in program.kernels:
        licenses.setdefault(kernel.license, set()).add(f"microkernel '{kernel.name}'")
    for one in request.emitted:
        licenses.setdefault(one.emission.license, set()).add(f"backend '{one.backend}'")
    for path in carried:
        licenses.setdefault(license_of(path), set()).add(f"library '{path.name}'")
    return {
        "compiler": {
            "family": compiler.kind,
            "version": compiler.version,
            "flags": [*common_flags(compiler, target), *_without_paths(request.flags)],
            "kernel_flags": sorted(set(_without_paths(own))),
        },
        "licenses": {name: sorted(licenses[name]) for name in sorted(licenses) if name},
    }


def _without_paths(flags: Iterable[str]) -> list[str]:
    return [flag for flag in flags if os.sep not in flag]
