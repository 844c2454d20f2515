"""What a backend emitted, and the checks of it: each is one error with backend, functions and nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute

from inarch.backends.emitted import Emitted, Site
from inarch.core.blame import raised
from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError, unknown
from inarch.dialects.graph.constant import ConstantOp
from inarch.ir.location import location_text
from inarch.ir.types import dtype_of
from inarch.offload.backend import Emission

if TYPE_CHECKING:
    from inarch.runtime.loaders.shipped import Shipped


def site_of(function: FuncOp) -> Site:
    """A function that a backend is asked for, before it is replaced by its declaration."""
    return Site(function.sym_name.data, tuple(dict.fromkeys(_nodes(function))))


def owner_text(function: FuncOp, backend: str) -> str:
    """Whose a function is and where it is from, for messages at run time; without folders of this machine."""
    site = Site("", tuple(dict.fromkeys(_nodes(function, folders=False))))
    return (
        f"backend '{backend}'{str(site).removeprefix('@').replace(' (', ', ', 1).removesuffix(')')}"
    )


def _nodes(function: FuncOp, *, folders: bool = True) -> Iterator[str]:
    for op in function.body.block.ops:
        if isinstance(op, ConstantOp | ReturnOp):
            continue
        if (text := location_text(op, folders=folders)) is not None:
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
    if emission.data and emitted.is_linked:
        raise emitted.error(
            f"found {len(emission.data)} bytes in Emission.data beside C source; give them in "
            "Emission.weights"
        )
    state = emission.state
    if state and not (emitted.is_linked and state.isidentifier() and state.isascii()):
        raise emitted.error(
            f"expected a C identifier in Emission.state, with format c, found '{state}' with "
            f"{emission.format}"
        )
    _check_weights(emitted, wanted)
    for symbol in wanted if emitted.is_linked else ():
        if not (symbol.isidentifier() and symbol.isascii()):
            raise emitted.error(f"expected a C identifier as function name, found '{symbol}'")
    for path in (*emission.libraries, *emission.include_dirs):
        if not Path(path).exists():
            raise emitted.error(f"expected the library or include folder '{path}', found none")


def _check_weights(emitted: Emitted, wanted: Sequence[str]) -> None:
    """What is shipped beside the program has dtypes, and names what there is."""
    emission = emitted.emission
    numpy_names = {each.numpy for each in DTYPES.values()}
    for name, array in emission.arrays.items():
        if array.dtype.name not in numpy_names or not array.size:
            raise emitted.error(
                f"expected numbers of {', '.join(DTYPES)} in weight '{name}', found "
                f"{array.dtype.name}{list(array.shape)}"
            )
    for field, symbols in (("uses", emission.uses), ("metadata", emission.metadata)):
        for symbol in symbols:
            if symbol not in wanted:
                raise emitted.error(
                    unknown("symbol", symbol, wanted, within=f"Emission.{field}").message
                )
    for symbol, names in emission.uses.items():
        for name in names:
            if name not in emission.arrays:
                raise emitted.error(
                    unknown("weight", name, emission.arrays, within="Emission.weights").message,
                    [site for site in emitted.sites if site.symbol == symbol],
                )


def check_submodule(emitted: Emitted, functions: Sequence[FuncOp], *, is_ready: bool) -> None:
    """The loader of the format reads what was emitted, and finds the functions in it, or InarchError.

    What only a device could say is left to loading, where there is none (not `is_ready`).
    """
    from inarch.runtime.function import Function
    from inarch.runtime.loaders import LOADERS
    from inarch.runtime.module import Module

    emission = emitted.emission
    if emission.format not in LOADERS:
        raise emitted.error(unknown("loader", emission.format, LOADERS).message)
    origin = LOADERS.origin(emission.format)
    loader = f"loader '{emission.format}' [{origin.source}]"
    one, part = LOADERS[emission.format], _shipped(emitted)
    try:
        if one.validate is not None:
            one.validate(part)
            return
        if not is_ready or one.status() != "ready":
            return
        module = one.from_part(part)
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


def _shipped(emitted: Emitted) -> Shipped:
    """As a loader will be handed it, of the artifact."""
    from inarch.runtime.loaders.shipped import said_of

    emission = emitted.emission
    return said_of(
        emission.format,
        emitted.backend,
        memoryview(emission.content),
        emitted.part("modules/1"),
        emission.arrays,
    )


def _types(kinds: Sequence[Attribute]) -> list[tuple[str, tuple[int, ...]]]:
    tensors = [cast("TensorType[Attribute]", kind) for kind in kinds]
    return [(dtype_of(kind.element_type).name, tuple(kind.get_shape())) for kind in tensors]


def _shown(signature: Sequence[Sequence[tuple[str, tuple[int, ...]]]]) -> str:
    sides = [", ".join(f"{dtype}{list(shape)}" for dtype, shape in ports) for ports in signature]
    return " -> ".join(f"({side})" for side in sides)
