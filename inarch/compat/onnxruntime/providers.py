"""Providers: there is one, for the CPU; of others a session warns, as onnxruntime for the CPU does."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

PROVIDERS = ("CPUExecutionProvider",)
"""Who runs a session: Inarch, under the name of that library's provider for the CPU."""

_KNOWN = (
    "Tensorrt", "CUDA", "MIGraphX", "OpenVINO", "Dnnl", "VitisAI", "QNN", "Nnapi", "VSINPU", "Js", "CoreML",
    "Dml", "Rknpu", "WebNN", "WebGpu", "Xnnpack", "CANN", "Azure", "CPU",
)  # fmt: skip
"""How the names begin that onnxruntime knows, in its order: it warns of them, and raises for others."""

Providers = Sequence[str | tuple[str, Mapping[str, object]]]


def check_providers(
    providers: Providers | None,
    options: Sequence[Mapping[str, object]] | None,
    *,
    falls_back: bool,
) -> None:
    """Warns of providers that there are not, as that library does, whose CPU takes over.

    Where nothing takes over (`enable_fallback=False`), raises ValueError for what names none, and
    RuntimeError for a name that onnxruntime does not know.
    """
    fault: Exception | None = _fault_of(providers, options)
    if fault is None:
        fault = next(_unknown(providers or ()), None)
    if fault is None:
        return
    if not falls_back:
        raise fault
    warnings.warn(f"{fault} Falling back to {[*PROVIDERS]}", stacklevel=3)


def check_known(name: str) -> None:
    """Raises RuntimeError for a provider that onnxruntime does not know."""
    if name.removesuffix("ExecutionProvider") not in _KNOWN or name in _KNOWN:
        raise RuntimeError(f"Unknown Provider Type: {name}")


def _unknown(providers: Providers) -> Iterator[RuntimeError]:
    """Warns of names, then gives an error for each that is none."""
    names = [one if isinstance(one, str) else one[0] for one in providers]
    for at, name in enumerate(names):
        if name not in PROVIDERS:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names.Available providers: "
                f"'{', '.join(PROVIDERS)}'",
                stacklevel=4,
            )
        if name in names[:at]:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=4)
    for name in names:
        try:
            check_known(name)
        except RuntimeError as error:
            yield error


def _fault_of(providers: object, options: object) -> ValueError | None:
    """The error for their types, in the words of onnxruntime; None if they are right."""
    if providers is None:
        return None
    if not isinstance(providers, Iterable):
        raise TypeError(f"'{type(providers).__name__}' object is not iterable")
    if not isinstance(providers, Sequence):
        return ValueError("'providers' should be a sequence.")
    every = cast("Sequence[object]", providers)
    if options is None:
        wrong = [one for one in every if not isinstance(one, str) and not _is_pair(one)]
        said = "'providers' values must be either strings or (string, dict) tuples."
        return ValueError(said) if wrong else None
    if not isinstance(options, Sequence):
        return ValueError("'provider_options' should be a sequence.")
    if len(every) != len(cast("Sequence[object]", options)):
        return ValueError(
            "'providers' and 'provider_options' should be the same length if both are given."
        )
    if not all(isinstance(one, str) for one in every):
        return ValueError(
            "Only string values for 'providers' are supported if 'provider_options' is given."
        )
    if not all(isinstance(one, dict) for one in cast("Sequence[object]", options)):
        return ValueError("'provider_options' values must be dicts.")
    return None


def _is_pair(one: object) -> bool:
    """Whether it is a name with options."""
    return isinstance(one, tuple) and [*map(type, cast("tuple[object, ...]", one))] == [str, dict]
