"""Where programs come from: one module or package a kind of file, each with a `FRONTEND`.

`frontends/<kind>` that defines `FRONTEND` reads the files that end in one of its suffixes; its tests
are `tests/unit/frontends/test_<kind>_*.py`. Nothing else is edited. Imports only the core and dialects.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from inarch.core.errors import InarchError, UsageError
from inarch.core.lazy import Array
from inarch.core.outside.regular import is_file
from inarch.core.plugins import API_VERSION, Extensions
from inarch.core.states import State
from inarch.frontends.open import Interface
from inarch.frontends.values import fix_arguments
from inarch.ir.report.facts import facts_of


@dataclass(frozen=True)
class Sizes:
    """The sizes that a model leaves open, and what else is known of its inputs when it is compiled."""

    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of symbolic dimensions, by name."""
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Of whole inputs, by name."""
    values: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """Of inputs that become constants, by name."""


@dataclass(frozen=True)
class Frontend:
    """A reader of one kind of model.

    `read(source, context, sizes)` gives a module in `graph`: a public `func.func @main`.
    """

    suffixes: tuple[str, ...]
    read: Callable[[Any, Context, Sizes], ModuleOp]
    takes: Callable[[object], bool] = lambda _: False
    """Whether an object that is not a path (bytes, a model in memory) is of this kind."""
    interface: Callable[[Any], Interface] | None = None
    """What a model takes and gives, without its sizes; None: all of its sizes are known.

    Raises as `read`, also for what is unsupported whatever the sizes are."""
    uses_values: bool = False
    """Whether `read` makes constants of `sizes.values`: shapes may depend on them. Where it does not, the
    arguments of what it gives become constants."""
    api: int = API_VERSION


@dataclass(frozen=True)
class FilesRead:
    """A fact (`inarch.ir.report.facts`): files that a frontend has read besides the model, as they were."""

    states: Mapping[Path, State | None]


@dataclass(frozen=True)
class Origin:
    """A fact: what kind of file a program is from, and what that says of itself (its version, its writer)."""

    format: str
    said: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """As the manifest of an artifact has it: JSON."""


@dataclass(frozen=True)
class ValueNames:
    """A fact: what the model calls the values of @main; MLIR text has not all of these names."""

    of: Mapping[SSAValue, str]


_LONGEST = 255
"""Bytes of a file's name, on all systems."""
_SHOWN = 40
"""Characters of a text that is no path."""

FRONTENDS: Extensions[Frontend] = Extensions("inarch.frontends", "FRONTEND")


def read_model(source: Any, context: Context, sizes: Sizes | None = None) -> ModuleOp:
    """The model `source` (a path, or an object that a frontend takes) as a module in `graph`.

    Raises UsageError when no frontend reads such a source, and what the frontend raises.
    """
    name, frontend = _frontend_of(source)
    known, facts = sizes or Sizes(), facts_of(context)
    facts.take(FilesRead)  # those of another model
    facts.take(Origin)
    module = frontend.read(source, context, known)
    if facts.get(Origin) is None:
        facts.put(Origin(name))
    if not frontend.uses_values:
        fix_arguments(module, known.values, context)
    return module


def interface_of(source: Any) -> Interface | None:
    """What the model `source` takes and gives; None where its kind leaves no sizes open.

    Raises as `read_model`.
    """
    _, frontend = _frontend_of(source)
    return frontend.interface(source) if frontend.interface is not None else None


_TENSORFLOW = "python -m tf2onnx.convert --{} {} --output model.onnx"

_EXPORTERS = {
    **dict.fromkeys((".pt", ".pth", ".safetensors"), "torch.onnx.export"),
    ".pt2": "torch.onnx.export(torch.export.load('{}'), f='model.onnx', dynamo=True)",
    **dict.fromkeys((".h5", ".keras"), _TENSORFLOW.format("keras", "{}")),
    ".tflite": _TENSORFLOW.format("tflite", "{}"),
    ".pb": _TENSORFLOW.format("graphdef", "{}"),
}
"""Of models of others by suffix: what writes them as ONNX."""


def _exporter(path: Path) -> str:
    """What to do with the model of another framework; empty for anything else."""
    if is_file(path / "saved_model.pb"):
        found = _TENSORFLOW.format("saved-model", path)
    elif path.name == "saved_model.pb":
        found = _TENSORFLOW.format("saved-model", path.parent)
    else:
        found = _EXPORTERS.get(path.suffix.lower(), "").format(path)
    return f"; export it to ONNX, with {found}" if found else ""


def _frontend_of(source: Any) -> tuple[str, Frontend]:
    working, broken = _frontends()
    if not isinstance(source, str | PathLike):
        for name, frontend in working.items():
            if frontend.takes(source):
                return name, frontend
        raise UsageError(
            "expected a model: a path, bytes, or an onnx.ModelProto; "
            f"found {type(source).__name__}{broken}"
        )
    _require_a_path(os.fspath(source))  # pyright: ignore[reportUnknownArgumentType] - PathLike of str
    suffix = Path(source).suffix.lower()  # pyright: ignore[reportUnknownArgumentType]
    by_suffix = {
        suffix: (name, frontend)
        for name, frontend in working.items()
        for suffix in frontend.suffixes
    }
    if suffix not in by_suffix:
        known = ", ".join(sorted(by_suffix))
        export = _exporter(Path(source))  # pyright: ignore[reportUnknownArgumentType]
        raise UsageError(
            f"expected a model that ends in one of {known}; found '{source}'{export}{broken}"
        )
    return by_suffix[suffix]


def _require_a_path(text: str) -> None:
    """Raises UsageError for what no file is called, such as a model's text."""
    is_plain = text.isprintable() and all(
        len(os.fsencode(part)) <= _LONGEST for part in Path(text).parts
    )
    if is_plain or is_file(Path(text)):
        return
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    raise UsageError(
        f"expected the path of a model, found text of {len(text)} characters, {shown!r}; write MLIR text to "
        "a file that ends in .mlir"
    )


def _frontends() -> tuple[dict[str, Frontend], str]:
    """Those that can be used; and of those that cannot, what to say when none of them helps."""
    working: dict[str, Frontend] = {}
    broken = ""
    for name in FRONTENDS:
        try:
            working[name] = FRONTENDS[name]
        except InarchError as error:  # a plugin's; it must not keep the others from working
            broken += f" ({error.message})"
    return working, broken
