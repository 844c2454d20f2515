"""What a host is: it compiles whole programs, but for the parts that backends have taken.

A host states data and functions. It is found by name (`HOSTS`): a folder or file `backends/<name>` that
defines `HOST`, an entry point of the group `inarch.hosts`, or a file given by `--load`. Nobody imports one;
`inarch.driver.host.find_host` gives the one that `--host NAME` (`Options.host`) names.

    HOST = Host(name="toy", description="Interprets loops.", emit=emit, build=build, run=run, lower=lower)

A compilation runs the passes that `lower` leaves of the pipeline, then `emit`, then `build`, which writes an
artifact; a loader (`inarch.runtime.loaders`) runs that. `run` calls one function in this process: what tests
and `inarch verify` compare with its definition. `docs/extending.md` has an example.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch import __version__
from inarch.artifact.manifest import Import, listing
from inarch.artifact.provenance import part_listing
from inarch.backends.emitted import Emitted
from inarch.backends.entries import Entry
from inarch.core.lazy import Array
from inarch.core.plugins import API_VERSION, Extensions
from inarch.ir.sizes import sizes_of
from inarch.ir.target import GENERIC, machine_of, target_name
from inarch.machine.estimate import Estimate, least_seconds
from inarch.machine.target import Target
from inarch.machine.target import parse as parse_target
from inarch.pipeline.pipeline import Pipeline

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, steps done, steps in all)."""


Writer = Callable[[BinaryIO], None]
"""Fills an empty file."""


@dataclass(frozen=True)
class Program:
    """A program as a host emitted it; hosts derive from it what their `build` needs besides."""

    name: str
    """The module's `inarch.name`."""
    text: str
    """What `inarch-opt -t HOST` prints."""
    kernel_count: int = 0
    """How many functions it was cut into, for the report."""
    weights_bytes: int = 0
    workspace_bytes: int = 0
    """The most that one function needs."""
    notes: tuple[str, ...] = ()
    """What whoever compiles should know, a line each; they become warnings."""
    weights: Writer | None = None
    """Writes `FILE.bin`, the weights that `text` has not in it; None where it has them all."""

    def joined(self, emitted: Sequence[Emitted]) -> str:
        """`text` with what backends emitted and the host links: what `inarch compile --emit=HOST` writes."""
        del emitted
        return self.text


P = TypeVar("P", bound=Program)


@dataclass(frozen=True)
class BuildRequest:
    """What a host is asked to build: a program that it emitted, into an artifact."""

    host: str
    context: Context
    """Whose constant store (`inarch.ir.context.store_of`) has the bytes of constants."""
    module: ModuleOp
    """What the program was emitted of."""
    emitted: tuple[Emitted, ...]
    """What backends made of their parts, which the program calls by `Emission.symbols`."""
    output: Path
    progress: Progress | None = None
    flags: tuple[str, ...] = ()
    """For the host's compiler, behind its own: tests build with `-O1`."""
    is_single: bool = False
    """As one translation unit: one run of the compiler, whose result is not wanted again in parts."""
    jobs: int | None = None
    """How many compilers may run at once; None: as many as there are CPUs for this process."""
    timeout: float = 600.0
    """The seconds that each of them may take."""
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the manifest says of where the program is from: `source`, `metadata`."""
    is_relocatable: bool = False
    """Whether no path of this machine may be in the artifact, that of a library neither."""
    is_embedding: bool = False
    """Whether libraries of others that the program calls are to be in the artifact."""

    def manifest(
        self, loader: str, name: str, functions: Iterable[Entry], imports: Iterable[Import] = ()
    ) -> dict[str, Any]:
        """The artifact's manifest, for `inarch.artifact.write_artifact`; `loader` runs the program.

        The submodules of backends are in it, behind the program's own loader.
        """
        formats = [one.emission.format for one in self.emitted if not one.is_linked]
        return {
            "inarch": __version__,
            "host": self.host,
            "name": name,
            "prefix": re.sub(r"\W|^(?=\d)", "_", name, flags=re.ASCII),
            "target": target_name(self.module) or GENERIC,
            "machine": machine_of(self.module).name,
            "features": [],
            "functions": {one.name: listing(one.signature) for one in functions},
            **({"sizes": sizes} if (sizes := sizes_of(self.module)) else {}),
            "imports": [
                {
                    "name": slot.name,
                    **({"linked": slot.linked} if slot.linked else {}),
                    **({"reads": slot.reads} if slot.reads else {}),
                    **({"fallback": slot.fallback} if slot.fallback else {}),
                    **(listing(slot.signature) if slot.signature else {}),
                }
                for slot in imports
            ],
            "loaders": [loader, *formats],
            **({"backends": self._backends()} if self.emitted else {}),
            **self.provenance,
        }

    def _backends(self) -> list[dict[str, Any]]:
        """Who emitted what is linked, and each submodule, with the options of the instance as text."""
        members = (f"modules/{number}" for number in count(1))
        return [
            part_listing(one.part("library" if one.is_linked else next(members)))
            for one in self.emitted
        ]

    def members(self) -> dict[str, bytes | memoryview]:
        """The members that are of backends: submodules by index, their weights, sources for people."""
        sources = {
            f"source.{one.backend}": one.emission.text.encode()
            for one in self.emitted
            if one.is_linked or (one.emission.text and one.emission.data)
        }
        return {**shipped_parts(self.emitted), **sources}


def shipped_parts(emitted: Iterable[Emitted]) -> dict[str, bytes | memoryview]:
    """The members that loaders are handed: submodules by index, and weights, equal ones once."""
    parts = [one for one in emitted if not one.is_linked]
    return {
        **{f"modules/{n}": one.emission.content for n, one in enumerate(parts, 1)},
        **{name: data for one in parts for name, data in one.blobs.items()},
    }


@dataclass(frozen=True)
class NativeRequest:
    """What a host is asked to compile for those who call machine code themselves: measure, sanitize."""

    context: Context
    module: ModuleOp
    """Lowered as for `emit`."""
    output: Path
    """The shared library to write."""
    target: Target | None = None
    """The machine; None: the module's."""
    flags: tuple[str, ...] = ()
    """For the host's compiler, behind its own."""
    libraries: tuple[str, ...] = ()
    """To link with, besides those that the program needs."""
    is_single: bool = False
    """As one translation unit."""


@dataclass(frozen=True)
class Native:
    """A program as a shared library with an unchecked entry for each public function.

    `int32_t symbol(void *const *buffers, const void *weights, void *workspace)`: the buffers are those of
    `Entry.ports`, aligned as their dtypes; weights and workspace at multiples of 64 bytes; 0 is success.
    """

    program: Program
    entries: Mapping[str, Entry]
    """By the function's name."""
    symbols: Mapping[str, str]
    weights: bytearray


@dataclass(frozen=True)
class ExportRequest:
    """What a host is asked to write as sources, for `inarch export`."""

    context: Context
    module: ModuleOp
    """What the program was emitted of."""
    emitted: tuple[Emitted, ...]
    """What backends made of their parts, which the program calls."""
    freestanding: bool = False
    """One file of functions on arrays, without allocation, threads or anything of libc but mathematics."""
    timeout: float = 600.0
    """The seconds that a compiler may take which is asked for the use of the stack."""


@dataclass(frozen=True)
class Export:
    """A program as a folder of sources."""

    files: Mapping[str, str | Writer]
    """By name; text in UTF-8."""
    facts: Mapping[str, object]
    """What is said of it, by field, as JSON: bytes of weights, of the arena, of the stack ..."""
    says: tuple[str, ...] = ()
    """Of that, what a person is told, a line each."""


def _every_phase(pipeline: Pipeline) -> Pipeline:
    return pipeline


def _no_parts(_: Emitted) -> str | None:
    return "compiles whole programs, without parts of backends"


@dataclass(frozen=True)
class Host(Generic[P]):
    """What compiles a program: which passes take it there, how it is emitted, built and run."""

    name: str
    description: str
    """One line, for `inarch list hosts`."""
    emit: Callable[[Context, ModuleOp], P]
    """A lowered module as the host writes it. Raises InarchError, located, for what it cannot have."""
    build: Callable[[P, BuildRequest], None]
    """Writes the artifact `request.output`, whole or not at all (`inarch.artifact.write_artifact`)."""
    run: Callable[[Context, ModuleOp, str, Sequence[Array]], None]
    """Runs a function of a lowered module on arrays, one a memref argument; outputs are written in place."""
    lower: Callable[[Pipeline], Pipeline] = _every_phase
    """Of the pipeline of every compilation, with the passes of others, what takes a program to `emit`."""
    machine: Callable[[str], Target] = parse_target
    """The machine that `--target` names, `native` too. Raises UsageError for one that it has no code for."""
    estimate: Estimate = least_seconds
    """Seconds that it takes for some work on a machine, against which regions of backends are weighed.

    By default the least that the machine's ports and memory allow."""
    accepts: Callable[[Emitted], str | None] = _no_parts
    """Asked of each backend's part: None, or why the host cannot call it ("takes no C")."""
    native: Callable[[NativeRequest], Native] | None = None
    """None where it makes no machine code. Raises UnsupportedError for a program that calls imports."""
    export: Callable[[P, ExportRequest], Export] | None = None
    """A program as sources that build without Inarch; None where it has none.

    Raises UnsupportedError for a program that needs what sources cannot bring along."""
    api: int = API_VERSION


HOSTS: Extensions[Host[Any]] = Extensions(
    "inarch.backends", "HOST", one_name=True, entry_group="inarch.hosts"
)
"""Every host by name; asking for one that does not exist raises with the nearest name."""
