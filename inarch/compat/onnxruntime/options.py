"""SessionOptions, RunOptions and their enumerations.

What tells that library how to run (arenas, patterns, levels of optimization, logging) is kept and has no
effect here. What would have an effect that a program can see, and has none here, is refused when it is set.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar

from inarch.compat.onnxruntime.errors import refuse, unsupported


class _Enumeration(IntEnum):
    """Whose text is its name, as there."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class GraphOptimizationLevel(_Enumeration):
    """How much that library changes a graph. Inarch compiles each model the same way."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(_Enumeration):
    """Whether nodes run beside each other. Inarch's do not: threads share loops."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(_Enumeration):
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
    """How a session is made. Threads count: `intra_op_num_threads`; 0: as many as there should be."""

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
        self.__dict__["free_dimensions"] = {}

    free_dimensions: dict[str, int]
    """Sizes of symbolic dimensions, by name."""

    def add_session_config_entry(self, key: str, value: str, /) -> None:
        """Keeps an entry; none has an effect."""
        if key == "session.load_model_format" and value != "ONNX":
            raise unsupported(f"model format '{value}'", "save the model as ONNX")
        self._add(key, value)

    def get_session_config_entry(self, key: str, /) -> str:
        """The entry. Raises RuntimeError where there is none."""
        return self._get(key)

    def add_free_dimension_override_by_name(self, name: str, size: int, /) -> None:
        """Gives a symbolic dimension of the model a size: it is compiled for it at once."""
        if not isinstance(name, str) or type(size) is not int:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"expected a name and a size, found {name!r} and {size!r}")
        self.free_dimensions[name] = size

    def has_providers(self) -> bool:
        """Whether providers were added to the options, which cannot be."""
        return False


refuse(
    SessionOptions,
    "register_custom_ops_library", "add_external_initializers", "add_initializer",
    "add_external_initializers_from_files_in_memory", "add_free_dimension_override_by_denotation",
    "add_provider", "add_provider_for_devices",
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
