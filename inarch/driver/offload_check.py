"""What a backend emitted, and the checks of it: each is one error with backend, functions and nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute

from inarch.backends.emitted import Emitted, Site
from inarch.core.blame import raised
from inarch.core.errors import InarchError, unknown
from inarch.dialects.graph.constant import ConstantOp
from inarch.ir.location import location_text
from inarch.ir.types import dtype_of
from inarch.passes.backend import Emission


def site_of(function: FuncOp) -> Site:
    """A function that a backend is asked for, before it is replaced by its declaration."""
    return Site(function.sym_name.data, tuple(dict.fromkeys(_nodes(function))))


def _nodes(function: FuncOp) -> Iterator[str]:
    for op in function.body.block.ops:
        if not isinstance(op, ConstantOp | ReturnOp) and (text := location_text(op)) is not None:
            yield text


# ---------------------------------------------------------------------------------- checks


def check_emission(emitted: Emitted) -> None:
    """The emission is one, and provides exactly the functions that were asked for, or InarchError."""
    emission = emitted.emission
    if not isinstance(emission, Emission):  # pyright: ignore[reportUnnecessaryIsInstance] - a plugin's
        raise emitted.error(f"expected emit to return an Emission, found {type(emission).__name__}")
    wanted = [site.symbol for site in emitted.sites]
    missing = [site for site in emitted.sites if site.symbol not in emission.symbols]
    if missing:
        raise emitted.error(
            f"expected the symbols {', '.join(wanted)}, found "
            f"{', '.join(emission.symbols) or 'none'}; name every function in Emission.symbols",
            missing,
        )
    extra = [symbol for symbol in emission.symbols if symbol not in wanted]
    if extra:
        raise emitted.error(
            f"expected the symbols {', '.join(wanted)}, found {', '.join(extra)} as well, "
            "which nothing asked for"
        )
    if not emitted.is_linked and (emission.cflags or emission.include_dirs or emission.libraries):
        raise emitted.error(
            f"expected cflags, include_dirs and libraries with format c only, found {emission.format}"
        )
    if emitted.is_linked and not emission.text:
        raise emitted.error("expected C source in Emission.text, found none")
    if emission.data and emission.text:
        beside = (
            "C source: write them into it as an array" if emitted.is_linked else "text: give one"
        )
        raise emitted.error(f"found {len(emission.data)} bytes in Emission.data beside {beside}")
    for symbol in wanted if emitted.is_linked else ():
        if not (symbol.isidentifier() and symbol.isascii()):
            raise emitted.error(f"expected a C identifier as function name, found '{symbol}'")
    for path in (*emission.libraries, *emission.include_dirs):
        if not Path(path).exists():
            raise emitted.error(f"expected the library or include folder '{path}', found none")


def check_submodule(emitted: Emitted, functions: Sequence[FuncOp]) -> None:
    """The loader of the format reads what was emitted, and finds the functions in it, or InarchError."""
    from inarch.runtime.function import Function
    from inarch.runtime.loaders import LOADERS
    from inarch.runtime.module import Module

    emission = emitted.emission
    if emission.format not in LOADERS:
        raise emitted.error(unknown("loader", emission.format, LOADERS).message)
    origin = LOADERS.origin(emission.format)
    loader = f"loader '{emission.format}' [{origin.source}]"
    try:
        module = LOADERS[emission.format].from_bytes(emission.content, emitted.backend)
    except InarchError as error:
        raise emitted.error(
            f"loader '{emission.format}' refuses what was emitted: {error}"
        ) from error
    except Exception as error:
        raise emitted.error(f"{loader} {raised(error, origin)}") from error
    if not isinstance(module, Module):  # pyright: ignore[reportUnnecessaryIsInstance] - a plugin's
        raise emitted.error(f"expected {loader} to make a Module, found {type(module).__name__}")
    for function, site in zip(functions, emitted.sites, strict=True):
        made = module.functions.get(site.symbol)
        if made is None:
            known = ", ".join(module.functions) or "none"
            raise emitted.error(
                f"expected a function '{site.symbol}' in the {emission.format} module, found {known}",
                [site],
            )
        if not isinstance(made, Function):  # pyright: ignore[reportUnnecessaryIsInstance] - a plugin's
            raise emitted.error(
                f"expected {loader} to make a Function of '{site.symbol}', which has a signature, "
                f"found {type(made).__name__}; wrap it in one",
                [site],
            )
        found = [
            [(port.dtype.name, port.shape) for port in ports]
            for ports in (made.signature.inputs, made.signature.outputs)
        ]
        wanted = [
            _types(function.function_type.inputs.data),
            _types(function.function_type.outputs.data),
        ]
        if found != wanted:
            raise emitted.error(
                f"expected '{site.symbol}' to take and give {_shown(wanted)}, found {_shown(found)}",
                [site],
            )


def _types(kinds: Sequence[Attribute]) -> list[tuple[str, tuple[int, ...]]]:
    tensors = [cast("TensorType[Attribute]", kind) for kind in kinds]
    return [(dtype_of(kind.element_type).name, tuple(kind.get_shape())) for kind in tensors]


def _shown(signature: Sequence[Sequence[tuple[str, tuple[int, ...]]]]) -> str:
    sides = [", ".join(f"{dtype}{list(shape)}" for dtype, shape in ports) for ports in signature]
    return " -> ".join(f"({side})" for side in sides)
