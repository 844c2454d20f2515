"""Loaded programs: named functions on arrays, and what can be asked about them.

    module = load("model.inarch")
    probabilities = module(image)

Loading runs the file's native code: load only what you trust as you would a program.

A module's library and weights stay in memory as long as the module, a function of it, or an array that
views them is referred to; then they are unmapped. Loading a file again while it is in memory shares them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from inarch.artifact import Artifact
from inarch.artifact.manifest import Port, Signature
from inarch.artifact.provenance import Default
from inarch.core.arguments import checked_path, checked_threads
from inarch.core.cache import replacing
from inarch.core.errors import ArgumentError, UsageError, unknown
from inarch.core.scratch import scratch
from inarch.runtime.calls.bound import BoundCall
from inarch.runtime.calls.called import Called
from inarch.runtime.calls.pickled import Content, Origin, made, recipe
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS, has_native
from inarch.runtime.tensor import Array
from inarch.runtime.variants import best

__all__ = ["Function", "Imports", "Module", "load"]

Imports: TypeAlias = Mapping[str, "Callable[..., object] | Module"]
"""What fills a program's import slots: callables on arrays (inputs, then outputs written in place),
functions of other modules, or modules, which stand for their `main`."""


class Module(Called):
    """A program that can run: functions by name, and the modules that it uses."""

    def __init__(
        self,
        type_key: str,
        name: str,
        functions: Mapping[str, Function],
        *,
        imports: Sequence[Module] = (),
        sources: Mapping[str, Callable[[], str]] | None = None,
        content: Content = b"",
        target: str = "",
        defaults: Sequence[Default] = (),
    ) -> None:
        """For loaders. `sources` gives text by format; `content` is what `save` writes."""
        self.type_key = type_key
        """The name of the loader that made this: `shared-library`, ..."""
        self.name = name
        self.functions: Mapping[str, Function] = MappingProxyType(dict(functions))
        self.target = target
        """What its code was compiled for: of a file with several variants, the one that was taken."""
        self._defaults = tuple(defaults)
        self.imports = tuple(imports)
        """The submodules that the program brought along."""
        self._sources = dict(sources or {})
        self._content = content
        self._threads: int | None = None
        self.origin = Origin(name, content, None, "", loader=type_key)
        """What it is pickled as; of what has a file, `load` says so."""

    @property
    def origin(self) -> Origin:
        """What the module, and its functions, are pickled as (`inarch.runtime.calls.pickled`)."""
        return self._origin

    @origin.setter
    def origin(self, origin: Origin) -> None:
        self._origin = origin
        for function in self.functions.values():
            # A loader of others may have made anything.
            if isinstance(function, Function):  # pyright: ignore[reportUnnecessaryIsInstance]
                function.origin = origin
                function.defaults = [each.name for each in self._defaults]

    def __reduce__(self) -> tuple[Any, ...]:
        return recipe(self._origin, self._threads)

    def __repr__(self) -> str:
        return f"<inarch module '{self.name}': {', '.join(map(str, self.functions.values()))}>"

    def __getitem__(self, name: str) -> Function:
        return self.get_function(name)

    def _general(
        self, /, *args: object, out: object = None, threads: object = None, **by_name: object
    ) -> Any:
        """Calls `main`; `Function` has the details. From the next call on, its quick way is the module's."""
        main = self.get_function("main")
        try:
            return main(*args, out=out, threads=threads, **by_name)
        finally:
            self._plan, self._quick = main.quick_ways

    def bind(
        self,
        /,
        *args: object,
        out: object = None,
        threads: object = None,
        **by_name: object,
    ) -> BoundCall:
        """Binds the arguments of `main`; `Function.bind` has the details."""
        return self.get_function("main").bind(*args, out=out, threads=threads, **by_name)

    @property
    def signature(self) -> Signature:
        """The signature of `main`."""
        return self.get_function("main").signature

    @property
    def inputs(self) -> tuple[Port, ...]:
        """What `main` takes: name, dtype and shape of each, in order."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """What `main` gives: name, dtype and shape of each, in order."""
        return self.get_function("main").outputs

    @property
    def defaults(self) -> tuple[Default, ...]:
        """Inputs of the model whose own values are compiled in: name, dtype and shape of each.

        `inarch.compile(model, values={"w": array})` takes others. ONNX Runtime's overridable initializers.
        """
        return self._defaults

    @property
    def sizes(self) -> tuple[Mapping[str, int], ...]:
        """The sizes of the model's open dimensions that there is code for; empty where none were open."""
        return self.get_function("main").sizes

    def at(self, /, *args: object, **by_name: object) -> Module:
        """The module for arguments of these shapes, or for sizes by name: `at(batch=1, seq=16)`.

        Its `main` is the code of one of `sizes`; what is saved or pickled of it has them all. Raises
        ArgumentError where there is no code for them, or no size was open.
        """
        main = self.get_function("main").at(*args, **by_name)
        return self._with({**self.functions, "main": main}, self._threads)

    def get_function(self, name: str) -> Function:
        """The function `name`. Raises UsageError for an unknown one, with those there are."""
        if name not in self.functions:
            raise unknown("function", name, self.functions, within=f"module '{self.name}'")
        return self.functions[name]

    def run(
        self, inputs: Mapping[str, object], *others: object, threads: int | None = None
    ) -> dict[str, Array]:
        """Calls `main` with the inputs by name; the outputs by name."""
        check_run(inputs, others)
        return self.get_function("main").run(inputs, threads=threads)

    def with_threads(self, threads: int) -> Module:
        """The same program, run by at most so many threads where a call does not say how many."""
        functions = {name: each.with_threads(threads) for name, each in self.functions.items()}
        return self._with(functions, checked_threads(threads))

    def _with(self, functions: Mapping[str, Function], threads: int | None) -> Module:
        """The same program with these functions."""
        module = Module(
            self.type_key,
            self.name,
            functions,
            imports=self.imports,
            sources=self._sources,
            content=self._content,
            target=self.target,
            defaults=self.defaults,
        )
        module.origin, module._threads = self._origin, threads
        return module

    def get_source(self, fmt: str = "") -> str:
        """The program's text in the format `fmt` (`c`), by default in the first that there is.

        Raises UsageError when the module carries no such text.
        """
        if fmt and fmt not in self._sources:
            raise unknown("source format", fmt, self._sources, within=f"module '{self.name}'")
        if not self._sources:
            raise UsageError(f"module '{self.name}' carries no source")
        return self._sources[fmt or next(iter(self._sources))]()

    def save(self, path: Path | str) -> None:
        """Writes the file that `load` takes. Raises EnvironmentFault when it cannot be written."""
        with replacing(Path(path)) as file:
            file.write(self.content)

    def save_to_bytes(self) -> bytes:
        """What `save` writes."""
        return bytes(self.content)

    @property
    def content(self) -> bytes | memoryview:
        """What `save` writes; of a mapped file a view."""
        return made(self._content)

    def saved_as(self, alone: Callable[[], Module], identity: str) -> Module:
        """The same program; what is saved, pickled or shown of it is of the module that `alone` gives."""

        def content() -> bytes | memoryview:
            return alone().content

        def source(fmt: str) -> Callable[[], str]:
            return lambda: alone().get_source(fmt)

        module = Module(
            self.type_key,
            self.name,
            self.functions,
            imports=self.imports,
            sources={fmt: source(fmt) for fmt in self._sources},
            content=content,
            target=self.target,
            defaults=self.defaults,
        )
        module.origin = Origin(self.name, content, None, identity)
        return module

    @staticmethod
    def load_from_bytes(
        data: bytes,
        *,
        verify: bool = False,
        check: bool = True,
        imports: Imports | None = None,
        format: str | None = None,  # noqa: A002 - the word of the interface
        loaders: Sequence[Path | str] = (),
    ) -> Module:
        """As `load`, of a file's bytes."""
        if format is not None:
            return LOADERS[format].from_bytes(data, format)
        with scratch("inarch-load-") as folder:
            path = folder / "module.inarch"
            path.write_bytes(data)
            with Artifact.open(path, where="<bytes>", check=check) as artifact:
                artifact.loaders = tuple(checked_path(each).absolute() for each in loaders)
                return _run_loader(artifact, verify, imports, None)


def load_lent(path: Path, weights: memoryview, alone: Callable[[], Module]) -> Module:
    """As `load`, of an artifact whose weights are not in the file (`Manifest.shared`): these are they.

    What is saved, pickled or shown of it is of the module that `alone` gives then, the same each time.
    """
    with Artifact.open(path) as artifact:
        artifact.lent = weights
        module = _run_loader(artifact, verify=False, imports=None, path=None)
    return module.saved_as(alone, artifact.identity)


def check_run(inputs: object, others: Sequence[object]) -> None:
    """Raises ArgumentError for ONNX Runtime's way to call `run`: outputs, then inputs."""
    if others:
        outputs = (
            "run(inputs)" if inputs is None else "run(inputs), of which you take those you want"
        )
        raise ArgumentError(
            f"run: expected one dict of inputs by name, found {1 + len(others)} arguments; onnxruntime's "
            f"run(outputs, inputs) is {outputs}: it gives all outputs, by name"
        )


def load(
    path: Path | str,
    *,
    verify: bool = False,
    check: bool = True,
    imports: Imports | None = None,
    format: str | None = None,  # noqa: A002 - the word of the interface
    threads: int | None = None,
    loaders: Sequence[Path | str] = (),
    verify_key: Path | str | bytes | None = None,
) -> Module:
    """The program in the file at `path`.

    `check` compares the file's CRC-32, which finds a byte that is not as it was written, wherever it is:
    against accidents, once for each file and state of it, 25 ms for 98 MiB in the page cache (`python
    benchmarks/loads.py` measures it). `verify` compares the SHA-256 of all parts with the manifest: each
    time, 60 ms; with a manifest from somebody you trust, it is against malice. `imports` fills the
    program's import slots by name; what it lacks is looked up among the program's submodules, then
    in `inarch.runtime.registry`. `verify_key`, a public Ed25519 key (a file, or its bytes), refuses what it
    did not sign, and verifies, before anything of the file runs. A file that is no artifact is read by the
    loader of `format`. `threads`: at most so many run a call that does not say how many
    (`inarch.runtime.threads`). `loaders` are libraries that run parts in a backend's own format
    (`inarch_loader.h`), asked before those that are found by name.

    Raises InarchError for a file that is damaged or no artifact, or has an unfilled slot, and
    EnvironmentFault when this machine cannot run it.
    """
    file = checked_path(path)
    most = None if threads is None else checked_threads(threads)
    if format is not None:
        if verify_key is not None:
            raise UsageError(
                f"verify_key: expected an artifact, found a file of the loader '{format}'"
            )
        module = LOADERS[format].from_file(file)
    else:
        with Artifact.open(file, check=check) as artifact:
            artifact.loaders = tuple(checked_path(each).absolute() for each in loaders)
            module = _run_loader(artifact, verify, imports, file.absolute(), verify_key)
    return module if most is None else module.with_threads(most)


def _run_loader(
    artifact: Artifact,
    verify: bool,
    imports: Imports | None,
    path: Path | None,
    verify_key: Path | str | bytes | None = None,
) -> Module:
    from inarch.runtime.loaders.fallback import can_do_without

    if verify_key is not None:
        from inarch.artifact.signature import check_signature

        check_signature(artifact, verify_key)
    elif verify:
        artifact.verify()
    artifact = best(artifact)
    for number, name in enumerate(artifact.manifest.loaders):
        if name in LOADERS or (number and can_do_without(artifact.manifest, number)):
            continue
        if number == 0 or not has_native(name, artifact):
            known = ", ".join(sorted(LOADERS))
            part = artifact.manifest.part(number)
            package = part.package if part is not None else ""
            remedy = f"; install {package}" if package else ""
            raise artifact.error(f"expected formats of the loaders {known}, found '{name}'{remedy}")
    module = LOADERS[artifact.manifest.loaders[0]].from_artifact(artifact, imports or {})
    given = dict(imports or {})
    module.origin = Origin(
        module.name,
        artifact.content,
        path,
        artifact.identity,
        imports=given,
        loaders=tuple(map(str, artifact.loaders)),
    )
    return module
