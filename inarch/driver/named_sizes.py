"""Arguments of a model whose sizes are open, of which only the sizes are known: `module.at(batch=1)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from inarch.core.dims import ANONYMOUS, expression
from inarch.core.errors import ArgumentError, InarchError
from inarch.core.lazy import Array, np
from inarch.core.limits import check_shape
from inarch.frontends.open import Dim, OpenPort


def size_names(ports: Iterable[OpenPort]) -> list[str]:
    """The names of the sizes that the inputs leave open, without those that others determine."""
    every = dict.fromkeys(dim for port in ports for dim in port.shape or () if isinstance(dim, str))
    return [name for name in every if name not in ANONYMOUS and expression(name, every) is None]


def check_names(names: Iterable[str], ports: Sequence[OpenPort]) -> None:
    """Raises ArgumentError for a name that neither an input nor a size has, with the nearest one."""
    inputs, sizes = [port.name for port in ports], size_names(ports)
    for name in names:
        if name not in inputs and name not in sizes:
            near = get_close_matches(name, [*sizes, *inputs], n=1)
            hint = f"; did you mean '{near[0]}'?" if near else "."
            raise ArgumentError(
                f"main: no input or size '{name}'{hint} Inputs: {', '.join(inputs)}; "
                f"sizes: {', '.join(sizes) or 'none'}"
            )


def stand_in(port: OpenPort, sizes: Mapping[str, int]) -> Array:
    """An array of the shape that the input has with these sizes, which takes no memory.

    Raises ArgumentError where they do not say it, or no array has it.
    """
    if port.shape is None or port.dtype is None:
        raise ArgumentError(f"main: argument '{port.name}': expected an array, as it has no shape")
    shape = tuple(_size(dim, port, sizes) for dim in port.shape)
    try:
        check_shape(shape, port.dtype.bits // 8)
    except InarchError as error:
        raise ArgumentError(
            f"main: argument '{port.name}' ({port}): {error.message}; take smaller sizes"
        ) from error
    return np.broadcast_to(np.zeros((), port.dtype.numpy), shape)


def _size(dim: Dim, port: OpenPort, sizes: Mapping[str, int]) -> int:
    if isinstance(dim, int):
        return dim
    if dim in sizes:
        return sizes[dim]
    determined = expression(dim, sizes)
    size = determined.value(sizes) if determined is not None else None
    if size is None:
        found = ", ".join(f"{name} = {number}" for name, number in sizes.items())
        raise ArgumentError(
            f"main: argument '{port.name}' ({port}): expected a size '{dim}', or an array, found {found}"
        )
    check_size(dim, size)
    return size


def check_size(name: str, size: int) -> None:
    """Raises ArgumentError for a size that no array has."""
    if size < 0:
        raise ArgumentError(f"main: size '{name}': expected 0 or more, found {size}")
