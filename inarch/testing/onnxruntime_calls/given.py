"""Arguments of calls at random: models, providers, options, arrays, feeds, names of outputs."""

# Onnxruntime is untyped:
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
CPU = "CPUExecutionProvider"


@dataclass(frozen=True)
class Subject:
    """A model in its file, with arrays that it takes and what its outputs are called."""

    path: Path
    inputs: Mapping[str, Array]
    defaults: Mapping[str, Array]
    outputs: Mapping[str, Array]

    @property
    def data(self) -> bytes:
        """Of the file."""
        return self.path.read_bytes()


class Given:
    """Arguments at random, of calls with a model."""

    def __init__(self, rng: np.random.Generator, subject: Subject) -> None:
        self.rng = rng
        self.subject = subject

    def one(self, of: Sequence[Any]) -> Any:
        """One of them."""
        return of[int(self.rng.integers(len(of)))]

    def chance(self, part: float) -> bool:
        """Whether it happens."""
        return bool(self.rng.random() < part)

    def model(self) -> tuple[str, Any]:
        """A model as a program gives it, mostly a sound one."""
        path, data = self.subject.path, self.subject.data
        cut = int(self.rng.integers(1, len(data)))
        ways: dict[str, Any] = {"path": path, "text": str(path), "bytes": data}
        odd: dict[str, Any] = {
            "bytes of a path": bytes(path), "bytearray": bytearray(data), "view": memoryview(data),
            "stream": io.BytesIO(data), "None": None, "number": 3, "list": [data],
            "no file": str(path) + "x", "folder": str(path.parent), "no bytes": b"", "no name": "",
            "text, no model": b"hello, no model", "tail": data[-cut:], "nul": "a\0b", "head": data[:4],
        }  # fmt: skip
        name = self.one(list(ways if self.chance(0.5) else odd))
        return name, {**ways, **odd}[name]

    def providers(self) -> Any:
        """What a program gives as providers."""
        return self.one([
            None, [CPU], (CPU,), [], CPU, [(CPU, {})], [CPU, CPU], ["CUDAExecutionProvider", CPU],
            [("CUDAExecutionProvider", {"device_id": 0}), CPU], ["Nothing"], [3], [(CPU,)], [(CPU, 3)],
            [(CPU, {"use_arena": 1})], [None], {CPU: {}}, [[CPU, {}]], 3,
        ])  # fmt: skip

    def options(self) -> Sequence[tuple[str, Any]]:
        """Settings of session options; `call` has the arguments of a method."""
        every: list[tuple[str, Any]] = [
            ("intra_op_num_threads", 1), ("intra_op_num_threads", 2), ("intra_op_num_threads", 0),
            ("intra_op_num_threads", "1"), ("intra_op_num_threads", 1.0), ("intra_op_num_threads", True),
            ("intra_op_num_threads", np.int64(1)), ("inter_op_num_threads", 1),
            ("log_severity_level", 4), ("log_severity_level", "x"), ("log_verbosity_level", 0),
            ("logid", "me"), ("logid", 3),
            ("graph_optimization_level", "ORT_DISABLE_ALL"), ("graph_optimization_level", 1),
            ("execution_mode", "ORT_SEQUENTIAL"), ("execution_mode", 0), ("enable_mem_pattern", False),
            ("enable_mem_pattern", 1), ("enable_mem_pattern", None), ("enable_cpu_mem_arena", False),
            ("use_deterministic_compute", True), ("nothing", 1), ("enable_profiling", False),
            ("profile_file_prefix", "p"),
            ("add_session_config_entry", ("session.intra_op.allow_spinning", "0")),
            ("add_session_config_entry", ("a", 1)), ("add_session_config_entry", ("", "b")),
            ("get_session_config_entry", ("a",)), ("get_session_config_entry", ("nothing",)),
            ("add_free_dimension_override_by_name", ("nothing", 3)),
            ("add_free_dimension_override_by_name", ("nothing", "3")),
            ("add_free_dimension_override_by_denotation", ("nothing", 3)),
        ]  # fmt: skip
        return [self.one(every) for _ in range(int(self.rng.integers(3)))]

    def array(self, array: Array) -> tuple[str, Any]:
        """The same numbers as a program may have them; now and then something else."""
        good: dict[str, Callable[[], Any]] = {
            "as it is": lambda: array,
            "F": lambda: np.asfortranarray(array),
            "strided": lambda: np.repeat(array, 2, -1)[..., ::2] if array.ndim else array,
            "reversed": lambda: array[::-1][::-1].copy()[::1] if array.ndim else array,
            "negative strides": lambda: array[::-1].copy()[::-1] if array.ndim else array,
            "list": array.tolist,
            "read only": lambda: _frozen(array),
            "unaligned": lambda: _unaligned(array),
            "subclass": lambda: array.view(_Mine),
        }
        odd: dict[str, Callable[[], Any]] = {
            "float64": lambda: array.astype(np.float64), "float32": lambda: array.astype(np.float32),
            "float16": lambda: array.astype(np.float16), "int64": lambda: array.astype(np.int64),
            "int32": lambda: array.astype(np.int32), "bool": lambda: array.astype(bool),
            "text": lambda: array.astype(str), "objects": lambda: array.astype(object),
            "complex": lambda: array.astype(complex), "one more axis": lambda: array[None],
            "flat": lambda: array.reshape(-1), "twice": lambda: np.concatenate([array, array]),
            "none of it": lambda: array[:0], "one": lambda: array.flat[0], "number": lambda: 3.5,
            "None": lambda: None, "tuple": lambda: tuple(array.tolist()), "dict": dict,
            "text alone": lambda: "text",
            "bytes": lambda: b"bytes", "ragged": lambda: [[1.0, 2.0], [3.0]], "list of text": lambda: ["a"],
            "empty list": list, "list of arrays": lambda: list(array), "bytes of it": array.tobytes,
            "memory view": lambda: memoryview(array.tobytes()),
            "big endian": lambda: array[:0].astype(array.dtype.newbyteorder(">")),
        }  # fmt: skip
        name = self.one(list(good if self.chance(0.7) else odd))
        try:
            return name, {**good, **odd}[name]()
        except (ValueError, IndexError, TypeError):
            return "as it is", array

    def feed(self) -> tuple[str, dict[Any, Any]]:
        """Inputs by name; now and then with one too many or too few."""
        found, said = dict[Any, Any](), list[str]()
        for name, array in self.subject.inputs.items():
            how, found[name] = self.array(array) if self.chance(0.5) else ("", array)
            if how not in ("", "as it is"):
                said.append(f"{name}: {how}")
        for name, array in self.subject.defaults.items():
            if self.chance(0.2):
                how, found[name] = self.array(array)
                said.append(f"{name} too: {how}")
        if self.chance(0.05) and found:
            gone = self.one(list(found))
            said.append(f"no {gone}")
            del found[gone]
        if self.chance(0.05):
            found[self.one(["nothing", "", 3, next(iter(self.subject.outputs))])] = np.float32(1)
            said.append("one more")
        return ", ".join(said), found

    def wanted(self) -> Any:
        """Names of outputs, mostly of some that there are."""
        names = list(self.subject.outputs)
        some = [self.one(names) for _ in range(int(self.rng.integers(1, 4)))]
        good = [None, None, names, names[::-1], some, tuple(names), [], dict.fromkeys(names)]
        odd = [["nothing"], [*names, "nothing"], names[0], [3], [None], 3, [""], {*names[:1]}, b"y"]
        return self.one(good if self.chance(0.8) else odd)


class _Mine(np.ndarray[Any, Any]):
    """A subclass."""


def _frozen(array: Array) -> Array:
    found = array.copy()
    found.flags.writeable = False
    return found


def _unaligned(array: Array) -> Array:
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:]
    found = memory.view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def options_of(library: Any, settings: Sequence[tuple[str, Any]]) -> Any:
    """Session options with settings; names of enumerations are theirs."""
    options = library.SessionOptions()
    for name, value in settings:
        if isinstance(value, tuple):
            getattr(options, name)(*value)
            continue
        given: Any = value
        for kind in (library.GraphOptimizationLevel, library.ExecutionMode):
            given = getattr(kind, given, given) if isinstance(given, str) else given
        setattr(options, name, given)
    return options


def run_options(library: Any, settings: Mapping[str, Any]) -> Any:
    """Run options with settings; `is` gives something else."""
    if "is" in settings:
        return settings["is"]
    options = library.RunOptions()
    for name, value in settings.items():
        setattr(options, name, value)
    return options
