"""InferenceSession: a model that is compiled when the session is made, or when sizes come first."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from inarch.compat.onnxruntime.binding import IOBinding
from inarch.compat.onnxruntime.described import (
    Described,
    ModelMetadata,
    NodeArg,
    describe,
    digest_of_model,
)
from inarch.compat.onnxruntime.errors import (
    Fail,
    InvalidArgument,
    NoSuchFile,
    error,
    translated,
    unsupported,
)
from inarch.compat.onnxruntime.feeds import check_names, checked
from inarch.compat.onnxruntime.options import RunOptions, SessionOptions
from inarch.compat.onnxruntime.program import Model, Program
from inarch.compat.onnxruntime.subset import with_outputs
from inarch.compat.onnxruntime.values import OrtValue
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np

PROVIDERS = ("CPUExecutionProvider",)
"""Who runs a session: Inarch, under the name of that library's provider for the CPU."""

MOST_OVERRIDES = 8
"""Sets of values of overridable initializers whose code stays loaded."""

MOST_SUBSETS = 4
"""Sets of outputs that have a program of their own; others are taken from all outputs."""

_Providers = Sequence["str | tuple[str, Mapping[str, object]]"]

_REFUSED = {
    "run_async": "run it in a thread of yours: run() lets others run meanwhile",
    "run_with_ortvaluevector": "use run_with_ort_values",
    "end_profiling": "inarch bench MODEL measures it",
    "get_profiling_start_time_ns": "inarch bench MODEL measures it",
    "set_ep_dynamic_options": "",
    "get_tuning_results": "inarch tune MODEL",
    "set_tuning_results": "inarch tune MODEL",
    "get_input_memory_infos": "all memory is the host's",
    "get_output_memory_infos": "all memory is the host's",
    "get_input_epdevices": "",
    "get_provider_graph_assignment_info": "inarch explain MODEL",
    "create_ortvalue_from_shape_and_type": "use OrtValue.ortvalue_from_shape_and_type",
    "release_captured_graph": "",
}
"""Methods of that library's sessions that this one does not have."""


class _Way:
    """How the outputs that were asked for are found: by a program, and which of its outputs they are."""

    def __init__(self, program: Program, places: tuple[int, ...] | None) -> None:
        self._program = program
        self._places = places
        """None: all, in order."""

    def __call__(self, arrays: Sequence[Array]) -> list[Any]:
        found = self._program(arrays)
        every = cast("tuple[Any, ...]", found) if type(found) is tuple else (found,)
        return list(every) if self._places is None else [every[at] for at in self._places]


class InferenceSession:
    """A model that runs. Threads may share it."""

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: _Providers | None = None,
        provider_options: Sequence[Mapping[str, object]] | None = None,
        **kwargs: object,
    ) -> None:
        """Reads and compiles the model, or takes from the cache what was compiled of it before.

        A model that leaves sizes open is compiled for those that it is run with.
        Raises the exceptions of onnxruntime (`inarch.compat.onnxruntime.errors`).
        """
        check_providers(providers, provider_options)
        options = sess_options if sess_options is not None else SessionOptions()
        if not isinstance(options, SessionOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"sess_options: expected SessionOptions, found {type(cast('object', options)).__name__}"
            )
        self._options = options
        source = _source(path_or_bytes)
        digest = digest_of_model(source)
        self._where = source if isinstance(source, Path) else None
        with translated(self._where):
            found = describe(source, digest).with_dims(options.free_dimensions)
        self._described: Described = found
        if isinstance(source, Path) and not self._described.external:
            # The file may go, or become another one, as long as the session lives.
            source = source.read_bytes()
        self._model = Model(
            source,
            digest,
            self._described,
            max(options.intra_op_num_threads, 0),
            dict(options.free_dimensions),
        )
        with translated(self._where):
            self._program = Program(self._model, {})
        self._names = tuple(arg.name for arg in self._described.inputs)
        self._outputs = [arg.name for arg in self._described.outputs]
        self._kinds = (np.ndarray,) * len(self._names)
        self._ways: dict[tuple[str, ...], _Way] = {(): _Way(self._program, None)}
        self._subsets: dict[frozenset[str], Program] = {}
        self._overrides: dict[object, Program] = {}

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """The outputs of these names, or all, for inputs by name: arrays of NumPy.

        Raises ValueError for inputs that are missing, InvalidArgument for what does not fit, Fail for a run
        that fails, NotImplemented for what Inarch does not do.
        """
        if run_options is None and len(input_feed) == len(self._names):
            way = self._ways.get(tuple(output_names) if output_names else ())
            try:
                arrays = [input_feed[name] for name in self._names]
                if way is not None and tuple(map(type, arrays)) == self._kinds:
                    return way(arrays)
            except (KeyError, InarchError):
                pass  # what is wrong is found below, where all is looked at
        return self._run(output_names, input_feed, run_options)

    def _run(
        self,
        output_names: Sequence[str] | None,
        feed: Mapping[str, Any],
        run_options: RunOptions | None,
    ) -> list[Any]:
        check_names(feed.keys(), self._described.inputs, self._described.defaults)
        if run_options is not None:
            _check_run_options(run_options)
        arrays = [checked(feed[arg.name], arg) for arg in self._described.inputs]
        names = self._checked_outputs(output_names)
        with translated(self._where):
            overrides = self._overrides_in(feed)
            if overrides:
                return _Way(self._overridden(overrides), self._places(names))(arrays)
            way = self._ways.get(names)
            if way is None:
                way = self._ways[names] = self._way(names)
            return way(arrays)

    def _checked_outputs(self, names: Sequence[str] | None) -> tuple[str, ...]:
        """The outputs that are asked for; () where all are, in order."""
        if isinstance(names, str):
            raise TypeError(
                f"run(): expected a sequence of names of outputs, found the str {names!r}"
            )
        for name in names or ():
            if name not in self._outputs:
                raise error(InvalidArgument, f"Invalid output name:{name}")
        return tuple(names or ())

    def _way(self, names: tuple[str, ...]) -> _Way:
        """By a program of these outputs alone, where that saves work."""
        wanted = frozenset(names)
        program = self._subsets.get(wanted)
        if program is None and names and len(self._subsets) < MOST_SUBSETS:
            model = with_outputs(self._model, wanted)
            if model is not None:
                program = self._subsets[wanted] = Program(model, {})
        if program is None:
            return _Way(self._program, self._places(names))
        order = [name for name in self._outputs if name in wanted]
        return _Way(program, tuple(map(order.index, names)))

    def _places(self, names: Sequence[str]) -> tuple[int, ...] | None:
        return tuple(map(self._outputs.index, names)) or None

    def _overrides_in(self, feed: Mapping[str, Any]) -> dict[str, Array]:
        """The values of overridable initializers that are given."""
        return {
            arg.name: checked(feed[arg.name], arg)
            for arg in self._described.defaults
            if arg.name in feed
        }

    def _overridden(self, values: Mapping[str, Array]) -> Program:
        """The program with these values."""
        key = tuple(
            (name, each.shape, sha256(each.tobytes()).digest()) for name, each in values.items()
        )
        program = self._overrides.get(key)
        if program is None:
            program = Program(self._model, values)
            while len(self._overrides) >= MOST_OVERRIDES:
                del self._overrides[next(iter(self._overrides))]
            self._overrides[key] = program
        return program

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """As `run`, of OrtValues."""
        feed = {name: value.numpy() for name, value in input_dict_ort_values.items()}
        return [OrtValue(array) for array in self.run(output_names, feed, run_options)]

    def io_binding(self) -> IOBinding:
        """Inputs and outputs that are bound to memory, for `run_with_iobinding`."""
        return IOBinding(self, self._program, self._described)

    def run_with_iobinding(
        self, iobinding: IOBinding, run_options: RunOptions | None = None
    ) -> None:
        """Runs what is bound. Raises RuntimeError for what is not, and for what does not fit."""
        if iobinding.session is not self:
            raise ValueError("IOBinding must be used with the session that created it.")
        if run_options is not None:
            _check_run_options(run_options)
        iobinding.run()

    def get_inputs(self) -> list[NodeArg]:
        """What `run` needs."""
        return list(self._described.inputs)

    def get_outputs(self) -> list[NodeArg]:
        """What `run` gives."""
        return list(self._described.outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs with a value of their own. Each set of values that is given is compiled for."""
        return list(self._described.defaults)

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says of itself."""
        return self._described.metadata

    def get_session_options(self) -> SessionOptions:
        """The options that it was made with."""
        return self._options

    def get_providers(self) -> list[str]:
        """`CPUExecutionProvider`."""
        return list(PROVIDERS)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """None of the one provider."""
        return {name: {} for name in PROVIDERS}

    def set_providers(
        self,
        providers: _Providers | None = None,
        provider_options: Sequence[Mapping[str, object]] | None = None,
    ) -> None:
        """Warns of providers that there are not; the one there is stays."""
        check_providers(providers, provider_options)

    def enable_fallback(self) -> None:
        """Nothing: there is one provider."""

    def disable_fallback(self) -> None:
        """Nothing: there is one provider."""

    def __getattr__(self, name: str) -> Any:
        if name not in _REFUSED:
            raise AttributeError(f"'InferenceSession' object has no attribute '{name}'")

        def refuse(*args: object, **kwargs: object) -> None:  # noqa: ARG001
            raise unsupported(f"InferenceSession.{name}", _REFUSED[name])

        return refuse


def check_providers(
    providers: _Providers | None, options: Sequence[Mapping[str, object]] | None
) -> None:
    """Warns of each provider that there is not, as that library does, whose CPU takes over."""
    if options is not None and len(options) != len(providers or ()):
        raise ValueError(
            "'providers' and 'provider_options' should be the same length if both are given."
        )
    for given in [providers] if isinstance(providers, str) else providers or ():
        if not isinstance(cast("object", given), str | tuple) or not given:
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
        name = given if isinstance(given, str) else given[0]
        if name not in PROVIDERS:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names.Available providers: "
                f"'{', '.join(PROVIDERS)}'",
                stacklevel=3,
            )


def _check_run_options(options: object) -> None:
    if not isinstance(options, RunOptions):
        raise TypeError(f"run_options: expected RunOptions, found {type(options).__name__}")
    if options.terminate:
        raise error(Fail, "Exiting due to terminate flag being set to true.")


def _source(given: object) -> Path | bytes:
    """The model's file or bytes. Raises as that library for anything else, and where there is none."""
    if isinstance(given, bytes):
        if not given:
            raise error(InvalidArgument, "No graph was found in the protobuf.")
        return given
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"Unable to load from type '{type(given)}'")
    path = Path(cast("str", given))
    if not path.exists():
        raise error(
            NoSuchFile,
            f"Load model from {path} failed:Load model {path} failed. File doesn't exist",
        )
    if path.suffix == ".ort":
        raise unsupported(f"{path}: the format of .ort files", "save the model as ONNX")
    if path.is_file() and path.stat().st_size == 0:
        raise error(
            InvalidArgument, f"Load model from {path} failed:No graph was found in the protobuf."
        )
    return path.absolute()
