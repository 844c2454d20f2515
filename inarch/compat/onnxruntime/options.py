"""SessionOptions, RunOptions and their enumerations.

What tells that library how to run (arenas, patterns, levels of optimization, logging) is kept and has no
effect here. What would have an effect that a program can see, and has none here, is refused when it is set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, ClassVar

from inarch.compat.onnxruntime.errors import InvalidArgument, error, refuse, unsupported
from inarch.compat.onnxruntime.providers import PROVIDERS, check_known
from inarch.compat.onnxruntime.values import OrtValue
from inarch.core.lazy import Array

FOLDER = "session.model_external_initializers_file_folder_path"
"""The entry that says in which folder the external data of a model is that is given as bytes."""


def _value(value: object, kind: type[Exception]) -> OrtValue:
    if not isinstance(value, OrtValue):
        raise kind(f"expected an OrtValue, found {type(value).__name__}")
    return value


class Enumeration(IntEnum):
    """Whose text is its name, as there."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class GraphOptimizationLevel(Enumeration):
    """How much that library changes a graph. Inarch compiles each model the same way."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(Enumeration):
    """Whether nodes run beside each other. Inarch's do not: threads share loops."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(Enumeration):
    """The order of nodes."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


def _converted(value: Any, kind: type) -> object:
    """What that library takes for a bool or a whole number of 32 bits; else what was given."""
    if kind is bool and (value is None or hasattr(value, "__bool__")):
        return bool(value)
    if kind is int and hasattr(value, "__index__") and abs(int(value)) < 1 << 31:
        return int(value)
    return value.decode() if kind is str and isinstance(value, bytes) else value


class _Entries:
    """Attributes of known kinds, and entries of text."""

    _KINDS: ClassVar[dict[str, Any]] = {}
    """Name -> the value at first, whose type a value has."""
    _REFUSED: ClassVar[dict[str, str]] = {}
    """Name -> what to do instead of setting it."""

    def __init__(self) -> None:
        self.__dict__.update(self._KINDS)
        self.__dict__["_entries"] = {}

    def __setattr__(self, name: str, value: object) -> None:
        kind = type(self).__name__
        if name not in self._KINDS:
            raise AttributeError(
                f"'{kind}' object has no attribute '{name}'; known: {', '.join(self._KINDS)}"
            )
        usual: object = self._KINDS[name]
        value = _converted(value, type(usual))
        if not isinstance(value, type(usual)):
            raise TypeError(
                f"{kind}.{name}: expected {type(usual).__name__}, found {type(value).__name__} {value!r}"
            )
        if name in self._REFUSED and value != usual:
            raise unsupported(f"{kind}.{name}", self._REFUSED[name])
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _add(self, key: str, value: str) -> None:
        if not isinstance(key, str) or not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"expected an entry of text, found {key!r}: {value!r}")
        for what, text, most in (("key", key, 1024), ("value", value, 4096)):
            if not (text or what == "value") or len(text) > most:
                raise RuntimeError(f"Config {what} is empty or longer than maximum length {most}")
        self._entries[key] = value

    def _get(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"{type(self).__name__} does not have configuration with key: {key}")
        return self._entries[key]


class SessionOptions(_Entries):
    """Options of a new session. `intra_op_num_threads` has an effect; 0: Inarch's default."""

    _KINDS: ClassVar[dict[str, Any]] = {
        "enable_cpu_mem_arena": True,
        "enable_mem_pattern": True,
        "enable_mem_reuse": True,
        "enable_profiling": False,
        "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
        "execution_order": ExecutionOrder.DEFAULT,
        "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
        "inter_op_num_threads": 0,
        "intra_op_num_threads": 0,
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "logid": "",
        "optimized_model_filepath": "",
        "profile_file_prefix": "onnxruntime_profile_",
        "use_deterministic_compute": False,
        "use_per_session_threads": True,
    }
    _REFUSED: ClassVar[dict[str, str]] = {
        "enable_profiling": "inarch bench MODEL measures it",
        "optimized_model_filepath": "inarch compile MODEL --emit=graph shows the graph",
    }

    def __init__(self) -> None:
        super().__init__()
        for name in ("free_dimensions", "given", "external", "files"):
            self.__dict__[name] = {}
        self.__dict__["providers"] = []

    free_dimensions: dict[str, int]
    """Sizes of symbolic dimensions, by name."""
    given: dict[str, Array]
    """Values for initializers, by name."""
    external: dict[str, Array]
    """Values for initializers with external data, by name."""
    files: dict[str, memoryview]
    """Bytes of files of external data, by place."""
    providers: list[str]

    def add_session_config_entry(self, key: str, value: str, /) -> None:
        """Keeps an entry; that of the folder of external data (`FOLDER`) has an effect."""
        if key == "session.load_model_format" and value != "ONNX":
            raise unsupported(f"model format '{value}'", "save the model as ONNX")
        self._add(key, value)

    def get_session_config_entry(self, key: str, /) -> str:
        """The entry. Raises RuntimeError where there is none."""
        return self._get(key)

    @property
    def folder(self) -> str | None:
        """Where the external data is of a model that is given as bytes."""
        return self._entries.get(FOLDER)

    def add_free_dimension_override_by_name(self, name: str, size: int, /) -> None:
        """Gives a symbolic dimension of the model a size: it is compiled for it at once."""
        if not isinstance(name, str) or type(size) is not int:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"expected a name and a size, found {name!r} and {size!r}")
        self.free_dimensions[name] = size

    def add_provider(self, name: str, options: Mapping[str, str], /) -> None:
        """Takes that for the CPU. Raises RuntimeError for unknown names, InvalidArgument for others."""
        given: Any = {"": name, **options}
        if not all(isinstance(one, str) for one in given.values()):
            raise TypeError(f"expected a name and options of text, found {name!r} and {options!r}")
        check_known(name)
        if name not in PROVIDERS:
            raise error(
                InvalidArgument,
                f"Failed to add provider of type '{name}' to SessionOptions: expected '{PROVIDERS[0]}'",
            )
        self.__dict__["providers"] = [*self.providers, name]

    def has_providers(self) -> bool:
        """Whether providers were added to the options."""
        return bool(self.providers)

    def add_initializer(self, name: str, value: OrtValue, /) -> None:
        """Gives the initializer of that name another value, where the model has one."""
        if not name or name in self.given:
            raise RuntimeError(f"An OrtValue for '{name}' was given before, or it is no name")
        self.given[name] = _value(value, RuntimeError).numpy()

    def add_external_initializers(self, names: list[str], values: list[OrtValue], /) -> None:
        """Gives initializers whose data is external their values. The session raises Fail for other names."""
        if not isinstance(names, list) or not isinstance(values, list):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("add_external_initializers: expected two lists")
        if len(names) != len(values):
            raise RuntimeError(
                f"expected as many values as names, found {len(values)} and {len(names)}"
            )
        for name, value in zip(names, values, strict=True):
            if name in self.external:
                raise RuntimeError(f"An OrtValue for '{name}' was given before")
            self.external[name] = _value(value, AttributeError).numpy()

    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], buffers: Sequence[Any], lengths: Sequence[int], /
    ) -> None:
        """Gives the files of external data as bytes, by the places that the model calls them."""
        if len({len(names), len(buffers), len(lengths)}) != 1 or len({*names}) != len(names):
            raise RuntimeError("expected as many different names as buffers and lengths")
        for name, buffer, length in zip(names, buffers, lengths, strict=True):
            if length < 0:
                raise TypeError(f"expected lengths from 0 on, found {length}")
            self.files[name] = memoryview(buffer).cast("B")[:length]


refuse(
    SessionOptions,
    "register_custom_ops_library", "add_free_dimension_override_by_denotation", "add_provider_for_devices",
    "set_provider_selection_policy", "set_provider_selection_policy_delegate", "set_load_cancellation_flag",
    "set_ep_context_data_read_func", "clear_ep_context_data_read_func",
)  # fmt: skip


class RunOptions(_Entries):
    """How a session runs once."""

    _KINDS: ClassVar[dict[str, Any]] = {
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "logid": "",
        "only_execute_path_to_fetches": False,
        "terminate": False,
    }

    def add_run_config_entry(self, key: str, value: str, /) -> None:
        """Keeps an entry; none has an effect."""
        self._add(key, value)

    def get_run_config_entry(self, key: str, /) -> str:
        """The entry. Raises RuntimeError where there is none."""
        return self._get(key)


refuse(RunOptions, "add_active_adapter")
