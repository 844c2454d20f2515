"""InferenceSession: a model that is compiled when the session is made, or when sizes come first."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import NoneType
from typing import Any, cast

from inarch.compat.onnxruntime.binding import IOBinding
from inarch.compat.onnxruntime.described import (
    Described,
    ModelMetadata,
    NodeArg,
    describe,
    digest_of_model,
)
from inarch.compat.onnxruntime.devices import HOST, OrtMemoryInfo
from inarch.compat.onnxruntime.errors import (
    Fail,
    InvalidArgument,
    NoSuchFile,
    error,
    refuse,
    translated,
    unsupported,
)
from inarch.compat.onnxruntime.feeds import check_missing, checked_feed, checked_types
from inarch.compat.onnxruntime.given import with_given
from inarch.compat.onnxruntime.kinds import kind_of_run
from inarch.compat.onnxruntime.options import RunOptions, SessionOptions
from inarch.compat.onnxruntime.program import Model, Program
from inarch.compat.onnxruntime.providers import PROVIDERS, Providers, check_providers
from inarch.compat.onnxruntime.subset import with_open_scalars, with_outputs
from inarch.compat.onnxruntime.values import OrtValue
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np

MOST_SPECIALS = 8
"""Sets of values of overridable initializers, and of scalars with a shape, whose code stays loaded."""

MOST_SUBSETS = 4
"""Sets of outputs that have a program of their own; others are taken from all outputs."""

_PLAIN = (NoneType, list, tuple)
"""Of names of outputs."""


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
        providers: Providers | None = None,
        provider_options: Sequence[Mapping[str, object]] | None = None,
        **kwargs: object,
    ) -> None:
        """Reads and compiles the model, or takes from the cache what was compiled of it before.

        A model that leaves sizes open is compiled for those that it is run with.
        Raises the exceptions of onnxruntime (`inarch.compat.onnxruntime.errors`).
        """
        _check_source(path_or_bytes)
        check_providers(
            providers, provider_options, falls_back=bool(kwargs.get("enable_fallback", 1))
        )
        options = sess_options if sess_options is not None else SessionOptions()
        if not isinstance(options, SessionOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"sess_options: expected SessionOptions, found {type(cast('object', options)).__name__}"
            )
        source = _source(path_or_bytes)
        self._where = source if isinstance(source, Path) else None
        with translated(self._where):
            source = with_given(source, options)
            digest = digest_of_model(source)
            found = describe(source, digest)
        known = {dim for arg in found.inputs for dim in arg.shape}
        dims = {name: size for name, size in options.free_dimensions.items() if name in known}
        found = found.with_dims(dims)
        self._described: Described = found
        if isinstance(source, Path) and not self._described.external:
            # The file may go, or become another one, as long as the session lives.
            source = source.read_bytes()
        self._model = Model(
            source,
            digest,
            self._described,
            max(options.intra_op_num_threads, 0),
            dims,
        )
        with translated(self._where):
            self._program = Program(self._model, {})
        self._names = tuple(arg.name for arg in self._described.inputs)
        self._outputs = [arg.name for arg in self._described.outputs]
        self._args = {arg.name: arg for arg in (*found.inputs, *found.defaults)}
        self._kinds = (np.ndarray,) * len(self._names)
        self._ways: dict[tuple[str, ...], _Way] = {(): _Way(self._program, None)}
        self._subsets: dict[frozenset[str], Program] = {}
        self._specials: dict[object, Program] = {}
        self._scalars = [arg.name for arg in found.inputs if arg.has_rank and not arg.shape]
        # Names that no page of that library has, and that programs read all the same.
        self._model_path = None if isinstance(path_or_bytes, bytes) else os.fspath(path_or_bytes)
        self._sess_options = options
        self._inputs_meta = list(found.inputs)
        self._outputs_meta = list(found.outputs)
        self._overridable_initializers = list(found.defaults)
        self._model_meta = found.metadata
        self._providers: list[str] = list(PROVIDERS)
        self._provider_options: dict[str, dict[str, str]] = {name: {} for name in PROVIDERS}

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
        is_plain = run_options is None and type(output_names) in _PLAIN
        if is_plain and len(input_feed) == len(self._names):
            way = self._ways.get(tuple(output_names) if output_names else ())
            try:
                arrays = [input_feed[name] for name in self._names]
                if way is not None and tuple(map(type, arrays)) == self._kinds:
                    return way(arrays)
            except (KeyError, TypeError, InarchError):
                pass  # what is wrong is found below, where all is looked at
        return self._run(output_names, input_feed, run_options)

    def _run(
        self,
        output_names: Sequence[str] | None,
        feed: Mapping[str, Any],
        run_options: RunOptions | None,
    ) -> list[Any]:
        check_missing(feed, self._described.inputs)
        names = checked_types(output_names, feed, run_options)
        given = checked_feed(feed, self._args, self._overridable_initializers)
        self._check_outputs(names)
        for name in feed:
            if name not in given:
                raise error(Fail, f"Missing Input: {name}")
        if run_options is not None and run_options.terminate:
            raise error(Fail, "Exiting due to terminate flag being set to true.")
        arrays = [given[name] for name in self._names]
        with translated(self._where, kind_of_run):
            overrides = {
                arg.name: given[arg.name] for arg in self._described.defaults if arg.name in given
            }
            shaped = frozenset(name for name in self._scalars if given[name].ndim)
            if overrides or shaped:
                program = self._special(overrides, shaped)
                return _Way(program, self._places(names))(arrays)
            way = self._ways.get(names)
            if way is None:
                way = self._ways[names] = self._way(names)
            return way(arrays)

    def _check_outputs(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._outputs:
                raise error(InvalidArgument, f"Invalid output name:{name}")

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

    def _special(self, values: Mapping[str, Array], shaped: frozenset[str]) -> Program:
        """The program with these values, for scalars `shaped` that have a shape."""
        key = (
            shaped,
            *((name, each.shape, sha256(each.tobytes()).digest()) for name, each in values.items()),
        )
        program = self._specials.get(key)
        if program is None:
            model = with_open_scalars(self._model, shaped) if shaped else self._model
            if model is None:
                raise unsupported(
                    f"scalars {sorted(shaped)} with a shape, of a model with external data",
                    "give them as arrays of no dimension",
                )
            program = Program(model, values)
            while len(self._specials) >= MOST_SPECIALS:
                del self._specials[next(iter(self._specials))]
            self._specials[key] = program
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
        checked_types(None, {}, run_options)
        if run_options is not None and run_options.terminate:
            raise error(Fail, "Exiting due to terminate flag being set to true.")
        iobinding.run()

    def get_inputs(self) -> list[NodeArg]:
        """What `run` needs."""
        return self._inputs_meta

    def get_outputs(self) -> list[NodeArg]:
        """What `run` gives."""
        return self._outputs_meta

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs with a value of their own. Each set of values that is given is compiled for."""
        return self._overridable_initializers

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says of itself."""
        return self._model_meta

    def get_session_options(self) -> SessionOptions:
        """The options that it was made with."""
        return self._sess_options

    def get_providers(self) -> list[str]:
        """`CPUExecutionProvider`."""
        return self._providers

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """None of the one provider."""
        return self._provider_options

    def set_providers(
        self,
        providers: Providers | None = None,
        provider_options: Sequence[Mapping[str, object]] | None = None,
    ) -> None:
        """Warns of providers that there are not; the one there is stays. Raises as there for other names."""
        check_providers(providers, provider_options, falls_back=False)

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        """Of each input: the host's."""
        return [HOST] * len(self._described.inputs)

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        """Of each output: the host's."""
        return [HOST] * len(self._described.outputs)

    def create_ortvalue_from_shape_and_type(
        self,
        shape: Sequence[int],
        element_type: object,
        device_type: str,
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """New memory, as `OrtValue.ortvalue_from_shape_and_type` makes it."""
        return OrtValue.ortvalue_from_shape_and_type(
            shape, element_type, device_type, device_id, vendor_id
        )

    def end_profiling(self) -> str:
        """No file: `SessionOptions.enable_profiling` is refused."""
        return ""

    def get_profiling_start_time_ns(self) -> int:
        """0, as there without profiling."""
        return 0

    def get_tuning_results(self) -> list[Any]:
        """None, as of the CPU there: `inarch tune MODEL` keeps its own."""
        return []

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        """Nothing: the CPU has none."""
        dict(options)

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Nothing: there are none."""

    def enable_fallback(self) -> None:
        """Nothing: there is one provider."""

    def disable_fallback(self) -> None:
        """Nothing: there is one provider."""


refuse(
    InferenceSession,
    "get_input_epdevices",
    run_async="run it in a thread of yours: run() lets others run meanwhile",
    run_with_ortvaluevector="use run_with_ort_values",
    set_tuning_results="inarch tune MODEL",
    get_provider_graph_assignment_info="inarch explain MODEL",
)


def _check_source(given: object) -> None:
    if not isinstance(given, bytes | str | os.PathLike):
        raise TypeError(f"Unable to load from type '{type(given)}'")
    if given == "":
        raise TypeError("expected the path of a model, found an empty one")


def _source(given: object) -> Path | bytes:
    """The model's file or bytes. Raises as that library for anything else, and where there is none."""
    if isinstance(given, bytes):
        if not given:
            raise error(InvalidArgument, "No graph was found in the protobuf.")
        return given
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
