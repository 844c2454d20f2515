"""Models that leave sizes open: compiled for the sizes that they are called with, and kept for each.

A size is what a dimension is, or the value of a small input that decides shapes (the shape of a Reshape):
both are read at the call. Code, decisions and artifacts are kept in the cache, so that a size that was seen
before is there at once, also in another process.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.context import Context

from inarch.artifact.manifest import Port
from inarch.core.arguments import checked_dims
from inarch.core.cache import default_cache
from inarch.core.errors import ArgumentError, InarchError, UnsupportedError, UsageError, unknown
from inarch.core.forks import long_lock
from inarch.core.lazy import Array, np
from inarch.core.scratch import scratch
from inarch.core.states import State, digest_of, state_of
from inarch.dialects import new_context
from inarch.driver.keep.kept import Entry
from inarch.driver.keep.program import kept_program
from inarch.driver.keep.sharing import SharingSizes
from inarch.driver.named_sizes import check_names, check_size, stand_in
from inarch.frontends import interface_of
from inarch.frontends.open import Interface, OpenPort, OpenSizesError
from inarch.runtime.calls.bound import BoundCall, in_order
from inarch.runtime.calls.fits import said
from inarch.runtime.function import Function, no_input
from inarch.runtime.module import Module, check_run, load
from inarch.runtime.tensor import as_array, check

if TYPE_CHECKING:
    from inarch.driver.built import Built
    from inarch.driver.options import Options

MOST_IN_MEMORY = 64
"""Sizes whose code stays loaded; those that were made first go first. The cache still has them."""

MOST_ROUNDS = 8
"""Each finds further inputs that decide shapes."""

LOG = logging.getLogger("inarch")

Key = tuple[Any, ...]


@dataclass(frozen=True)
class _Made:
    """What was compiled for one set of sizes."""

    module: Module
    takes: tuple[str, ...]
    """The inputs that are not decided by their values."""
    sizes: Mapping[str, int | list[Any]]


class OpenModule(Module):
    """What `inarch.compile` gives of a model with open sizes. Threads may share it."""

    def __init__(
        self,
        source: Any,
        options: Options,
        interface: Interface,
        deciding: Sequence[str],
    ) -> None:
        """For `inarch.compile`."""
        name = options.name or (Path(source).stem if isinstance(source, str | Path) else "model")
        super().__init__("open", name, {})
        self._source = source
        self._state = _state(source)
        self._options = options
        self._interface = interface
        self._deciding = list(deciding)
        self._made: dict[Key, _Made] = {}
        self._planned: set[Function] = set()
        """What compiled calls know: `_plan` is of the last one, which leads to those before."""
        self._lock = long_lock()
        self._has_said = False
        self._sharing: SharingSizes | None = None
        """The last one, which keeps the weights mapped and looked at."""

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, each)) for each in (self.inputs, self.outputs))
        return f"<inarch module '{self.name}': main({inputs}) -> ({outputs}), sizes open>"

    def __reduce__(self) -> tuple[Any, ...]:
        _check_source(self._source, self._state)
        said = (self._source, self._options, self._deciding, self._threads)
        return _again, (*said, _digest(self._source))

    @property
    def inputs(self) -> tuple[OpenPort, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What it takes: name, dtype and shape of each, in which open sizes have their names."""
        fixed = self._options.values or {}
        return tuple(port for port in self._interface.inputs if port.name not in fixed)

    @property
    def outputs(self) -> tuple[OpenPort, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What it gives, as the model declares it."""
        return tuple(self._interface.outputs)

    @property
    def defaults(self) -> tuple[OpenPort, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Inputs whose own values are compiled in; `inarch.compile(model, values=...)` takes others."""
        fixed = self._options.values or {}
        return tuple(port for port in self._interface.defaults if port.name not in fixed)

    @property
    def deciding(self) -> tuple[str, ...]:
        """Inputs whose values are known to be sizes."""
        return tuple(self._deciding)

    @property
    def sizes(self) -> tuple[Mapping[str, Any], ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The sizes that it was called with and that are in memory, the last one last."""
        return tuple(dict(made.sizes) for made in list(self._made.values()))

    @property
    def signature(self) -> Any:
        """Raises UsageError: each set of sizes has its own."""
        raise UsageError(
            f"module '{self.name}' has one signature for each set of sizes; inputs and outputs have what is "
            "the same in all, module.at(...) is the module of one"
        )

    def get_function(self, name: str) -> Function:
        """Raises UsageError for another than `main`, and for that, which is one for each set of sizes."""
        if name != "main":
            raise unknown("function", name, ["main"], within=f"module '{self.name}'")
        return self.signature

    def at(self, /, *args: object, **by_name: object) -> Module:
        """The module for arguments of these shapes, compiled now if it was not before.

        Or for sizes by name, `at(batch=1, sequence=8)`; beside them stand the inputs whose values decide.
        Raises ArgumentError for a name that there is not, and where sizes or values are missing.
        """
        inputs = {port.name: port for port in self.inputs}
        named = {name: size for name, size in by_name.items() if name not in inputs}
        if not named:
            return self._for(self._named(args, by_name)[1]).module
        check_names(named, self.inputs)
        sizes = {**(self._options.dims or {}), **checked_dims(named)}
        for name in named:
            check_size(name, sizes[name])
        given = {**dict(zip(inputs, args, strict=False)), **by_name}
        arrays = {
            name: _array(given[name], port) if name in given else stand_in(port, sizes)
            for name, port in inputs.items()
        }
        return self._for(arrays, frozenset(inputs) - frozenset(given)).module

    def _general(
        self, /, *args: object, out: object = None, threads: object = None, **by_name: object
    ) -> Any:
        """Calls what is compiled for the arguments' sizes, which it is now if it was not before."""
        count = len(self.inputs)
        if out is None and self.outputs and len(args) == count + len(self.outputs):
            args, out = args[:count], args[count:]
        values, arrays = self._named(args, by_name)
        made = self._for(arrays)
        main = made.module.get_function("main")
        given = [values[name] for name in made.takes]
        result = main(*given, out=out, threads=self._threads if threads is None else threads)
        if not self._deciding and self._threads is None and main not in self._planned:
            with self._lock:
                self._planned.add(main)
                self._plan = main.plan_of(in_order(main.signature, self._plan)) or self._plan
        return result

    def run(
        self, inputs: Mapping[str, object], *others: object, threads: int | None = None
    ) -> dict[str, Array]:
        """Calls it with the inputs by name; the outputs by name."""
        check_run(inputs, others)
        if not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"main: run expected a dict of inputs by name, found a {type(inputs).__name__}"
            )
        values, arrays = self._named((), inputs)
        made = self._for(arrays)
        main = made.module.get_function("main")
        most = self._threads if threads is None else threads
        return main.run({name: values[name] for name in made.takes}, threads=most)

    def bind(
        self, /, *args: object, out: object = None, threads: object = None, **by_name: object
    ) -> BoundCall:
        """Binds the arguments of what is compiled for their sizes; `Function.bind` has the details."""
        values, arrays = self._named(args, by_name)
        made = self._for(arrays)
        given = [values[name] for name in made.takes]
        return made.module.get_function("main").bind(*given, out=out, threads=threads)

    def with_threads(self, threads: int) -> Module:
        """The same model, run by at most so many threads where a call does not say how many."""
        from inarch.core.arguments import checked_threads

        module = OpenModule(self._source, self._options, self._interface, self._deciding)
        module._threads = checked_threads(threads)
        module._state = self._state
        module._made = dict(self._made)
        return module

    def get_source(self, fmt: str = "") -> str:
        """The text of what was called last. Raises UsageError where nothing was."""
        return self._last().get_source(fmt)

    def save(self, path: Path | str) -> None:
        """Writes an artifact of all sizes in memory. Raises UsageError where there is none yet."""
        self._last()
        sets: list[Any] = [made.sizes for made in self._made.values()]
        if len(sets) == 1:
            self._last().save(path)
            return
        by_values = f"values of inputs decide ({', '.join(self._deciding)})"
        if not self._deciding:
            _check_source(self._source, self._state)
            options = replace(self._options, specialize=sets)
            with suppress(OpenSizesError):
                _build(self._source, Path(path), options, new_context())
                return
            by_values = "the names of dimensions do not tell: one stands for several sizes"
        raise UsageError(
            f"module '{self.name}': expected one set of sizes to save, found {len(sets)}, which {by_values}; "
            "save module.at(...)"
        )

    def save_to_bytes(self) -> bytes:
        """What `save` writes."""
        with scratch("inarch-open-model-") as folder:
            path = folder / "model.inarch"
            self.save(path)
            return path.read_bytes()

    def _last(self) -> Module:
        for made in reversed(list(self._made.values())):
            return made.module
        raise UsageError(
            f"module '{self.name}' has no code yet: its sizes are open; call it, or compile it with dims"
        )

    # -------------------------------------------------------------------------------- sizes

    def _named(
        self, args: Sequence[object], by_name: Mapping[str, object]
    ) -> tuple[dict[str, object], dict[str, Array]]:
        """The arguments by name, as they are given and as arrays.

        Raises ArgumentError for too many, too few, unknown ones, and those of another dtype or layout.
        """
        names = [port.name for port in self.inputs]
        for name in by_name:
            if name not in names:
                raise no_input("main", name, names, [port.name for port in self.defaults])
        given = dict(zip(names, args, strict=False))
        if twice := [name for name in by_name if name in given]:
            raise ArgumentError(f"main: input '{twice[0]}' is given twice, by position and by name")
        given |= by_name
        lacking = [name for name in names if name not in given]
        if len(args) > len(names) or lacking:
            listed = ", ".join(map(str, self.inputs))
            which = f"; '{lacking[0]}' is missing" if lacking else ""
            raise ArgumentError(
                f"main: expected {len(names)} argument{'s' * (len(names) != 1)} ({listed}), found "
                f"{len(args) + len(by_name)}{which}"
            )
        values = {name: given[name] for name in names}
        return values, {port.name: _array(values[port.name], port) for port in self.inputs}

    def _for(self, arrays: Mapping[str, Array], unknown: Collection[str] = frozenset()) -> _Made:
        """What is compiled for arguments; of those that are `unknown`, only the shapes are right."""
        self._check_decided(self._deciding, unknown)
        made = self._made.get(self._key(arrays))
        if made is None:
            with self._lock:
                # Meanwhile another thread may have made it, or found that more inputs decide.
                made = self._made.get(self._key(arrays))
                if made is None:
                    made = self._make(arrays, unknown)
                    self._made[self._key(arrays)] = made
                    self._forget()
        return made

    def _key(self, arrays: Mapping[str, Array]) -> Key:
        decided = [arrays[name].tobytes() for name in self._deciding]
        return (*(array.shape for array in arrays.values()), *decided)

    def _check_decided(self, deciding: Sequence[str], unknown: Collection[str]) -> None:
        for name in deciding:
            if name in unknown:
                raise ArgumentError(
                    f"main: expected the value of input '{name}', which decides shapes, beside sizes"
                )

    def _make(self, arrays: Mapping[str, Array], unknown: Collection[str]) -> _Made:
        """Compiles for these sizes; what decides shapes besides is found on the way."""
        for _ in range(MOST_ROUNDS):
            decided = {name: np.array(arrays[name]) for name in self._deciding}
            shapes = {name: array.shape for name, array in arrays.items() if name not in decided}
            options = replace(
                self._options,
                shapes={**(self._options.shapes or {}), **shapes},
                values={**(self._options.values or {}), **decided},
            )
            start = time.perf_counter()
            try:
                module, is_new = self._compiled(options)
            except UnsupportedError as error:
                new = [name for name in error.deciding if name in shapes]
                if not new:
                    raise
                self._deciding += new
                self._check_decided(new, unknown)
                self._plan = None
                continue
            except UsageError as error:
                raise ArgumentError(f"main: {error.message}") from error
            sizes: dict[str, Any] = {k: v for each in module.sizes for k, v in each.items()}
            sizes |= {name: array.tolist() for name, array in decided.items()}
            self._say(sizes, time.perf_counter() - start, is_new=is_new)
            return _Made(module, tuple(shapes), sizes)
        raise InarchError(
            f"module '{self.name}': expected at most {MOST_ROUNDS} inputs that decide shapes, found more"
        )

    def _compiled(self, options: Options) -> tuple[Module, bool]:
        """The module, and whether it was compiled now."""
        source, context, is_new = self._source, new_context(), False
        _check_source(source, self._state)

        def build(path: Path) -> Built:
            nonlocal is_new
            is_new = True
            return _build(source, path, options, context)

        is_file = isinstance(source, str | Path)
        sizes = SharingSizes.of(source, self._interface.digest, self._options)
        self._sharing = sizes
        alone = cache(partial(_alone, source, self._state, options))

        def make() -> Module:
            with scratch("inarch-open-model-") as folder:
                path = folder / "model.inarch"
                entry = Entry.of(Path(source), options, "sizes") if is_file else None
                if entry is not None and entry.restore(path) is not None:
                    found = sizes.opened(path, alone)
                    if found is not None:
                        return found
                sizes.share_in(context)
                if entry is None:
                    build(path)
                else:
                    entry.made(path, build, context, "")
                return sizes.made(path, context, alone)

        if is_file or not self._interface.digest:
            return make(), is_new
        said = f"sizes {self._interface.digest} {options.name}"
        opened = partial(sizes.opened_bytes, alone=alone)
        return kept_program(said, options, make, opened, sizes.content_of), is_new

    def _say(self, sizes: Mapping[str, Any], seconds: float, *, is_new: bool) -> None:
        listed = said(sizes) or "sizes of no name"
        how = f"compiled in {seconds:.1f} s" if is_new else "from the cache"
        if self._has_said:
            LOG.info("%s: %s %s", self.name, listed, how)
            return
        self._has_said = True
        LOG.warning(
            "%s: its sizes are open, so that it is compiled for those of each call, and kept (%s %s); "
            "module.sizes lists them",
            self.name,
            listed,
            how,
        )

    def _forget(self) -> None:
        """Of too many sizes, those that were made first."""
        while len(self._made) > MOST_IN_MEMORY:
            del self._made[next(iter(self._made))]
            self._plan, self._planned = None, set()


def open_model(
    source: Any,
    options: Options,
    deciding: Sequence[str],
    interface: Interface | None = None,
) -> OpenModule | None:
    """The module of a model that leaves sizes open; None where its kind leaves none.

    Its interface may be known already. Raises InarchError for what is wrong or unsupported whatever the sizes
    are.
    """
    if interface is None:
        interface = interface_of(source)
    if interface is None:
        return None
    return OpenModule(_fixed(source), options, interface, deciding)


def _fixed(source: Any) -> Any:
    """A model as it is now: what the caller does with it later changes no size that comes later."""
    if isinstance(source, str | Path):
        return Path(source).absolute()
    if hasattr(source, "SerializeToString"):
        try:
            return source.SerializeToString(deterministic=True)
        except ValueError:  # more than protobuf writes in one message
            return copy.deepcopy(source)
    return bytes(source)


def _state(source: Any) -> State | None:
    return state_of(source) if isinstance(source, Path) else None


def _check_source(source: Any, state: State | None) -> None:
    """Raises InarchError where the model's file is another one than at first."""
    if state != _state(source):
        raise _another_model(source)


def _alone(source: Any, state: State | None, options: Options) -> Module:
    """The module of an artifact that needs nothing of the cache, for whoever saves it."""
    _check_source(source, state)
    with scratch("inarch-open-model-") as folder:
        path = folder / "model.inarch"
        _build(source, path, options, new_context())
        return load(path)


def _array(value: object, port: OpenPort) -> Array:
    role = f"main: argument '{port.name}'"
    if port.dtype is None:
        raise ArgumentError(f"{role}: expected a tensor of a dtype that Inarch has, found {port}")
    array = as_array(value, Port(port.name, port.dtype, ()), role)
    check(array, Port(port.name, port.dtype, array.shape), role)
    return array


def _digest(source: Any) -> str | None:
    """Of a model's file; None where it is none, or there is none."""
    return digest_of(source, default_cache()) if isinstance(source, Path) else None


def _another_model(source: Any) -> InarchError:
    return InarchError(
        "expected the model that was there at first, found another one, or none; compile it again",
        where=str(source),
    )


def _again(
    source: Any, options: Options, deciding: Sequence[str], threads: int | None, digest: str | None
) -> Module:
    """The module that was pickled. Raises InarchError where its model's file is another one by now."""
    if _digest(source) != digest:
        raise _another_model(source)
    module = open_model(source, options, deciding)
    assert module is not None, "its sizes are open"
    return module if threads is None else module.with_threads(threads)


def _build(source: Any, output: Path, options: Options, context: Context) -> Built:
    from inarch.driver.compiler import build  # not where the cache has the artifact

    return build(source, output, options, context=context)
