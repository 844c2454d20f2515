"""Gives the inputs of a model static shapes: symbolic dimensions by name, or whole shapes by input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inarch.core.errors import InarchError, UsageError, unknown

if TYPE_CHECKING:
    from onnx import TensorShapeProto, ValueInfoProto

Dim = int | str
"""A size, or the name of one."""


@dataclass(frozen=True)
class Signature:
    """The declared shape of one input; None when the model does not even tell its rank."""

    name: str
    shape: tuple[Dim, ...] | None


@dataclass(frozen=True)
class Bound:
    """The shapes of all inputs, and the sizes of the symbolic dimensions that they have."""

    shapes: Mapping[str, tuple[int, ...]]
    dims: Mapping[str, int]


def signature(info: ValueInfoProto) -> Signature:
    """What the model declares of an input that is a tensor.

    A dimension without a name or a size, or of a size below 1, is called `<input>.<axis>`.
    """
    kind = info.type.tensor_type
    if not kind.HasField("shape"):
        return Signature(info.name, None)
    dims = [_dim(dim, f"{info.name}.{axis}") for axis, dim in enumerate(kind.shape.dim)]
    return Signature(info.name, tuple(dims))


def _dim(dim: TensorShapeProto.Dimension, anonymous: str) -> Dim:
    if dim.HasField("dim_value") and dim.dim_value > 0:
        return dim.dim_value
    return dim.dim_param or anonymous


def bind(
    signatures: Sequence[Signature],
    dims: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
    where: str,
) -> Bound:
    """Static shapes for `signatures` from sizes of dimensions and shapes of inputs, both by name.

    Raises UsageError for names that the model has not, and for sizes that contradict it or each
    other; InarchError, with all their names, when dimensions stay unbound.
    """
    inputs = {one.name: one for one in signatures}
    for name in shapes:
        if name not in inputs:
            raise unknown("input", name, inputs, within=where)
    names = [d for one in signatures for d in one.shape or () if isinstance(d, str)]
    sizes: dict[str, int] = {}
    for name, size in dims.items():
        if name not in names:
            raise unknown("dimension", name, set(names), within=where)
        _give(sizes, name, size, f"dimension '{name}'")
    for name, shape in shapes.items():
        _match(inputs[name], shape, sizes)
    _require_bound(signatures, shapes, sizes, where)
    bound = {one.name: _static(one, shapes.get(one.name, ()), sizes) for one in signatures}
    return Bound(bound, {name: sizes[name] for name in dict.fromkeys(names)})


def _give(sizes: dict[str, int], name: str, size: int, what: str) -> None:
    if size < 0:
        raise UsageError(f"expected a size >= 0 for {what}, found {size}")
    if sizes.setdefault(name, size) != size:
        raise UsageError(f"{what}: expected '{name}' = {sizes[name]}, found {size}")


def _match(one: Signature, shape: Sequence[int], sizes: dict[str, int]) -> None:
    what = f"input '{one.name}'"
    if any(size < 0 for size in shape):
        raise UsageError(f"expected sizes >= 0 for {what}, found {list(shape)}")
    if one.shape is None:
        return
    declared = "x".join(str(dim) for dim in one.shape)
    if len(one.shape) != len(shape):
        raise UsageError(
            f"{what}: expected {len(one.shape)} dimensions ({declared}), found {list(shape)}"
        )
    for dim, size in zip(one.shape, shape, strict=True):
        if isinstance(dim, str):
            _give(sizes, dim, size, what)
        elif dim != size:
            raise UsageError(f"{what}: expected shape {declared}, found {list(shape)}")


def _require_bound(
    signatures: Sequence[Signature],
    shapes: Mapping[str, Sequence[int]],
    sizes: Mapping[str, int],
    where: str,
) -> None:
    for one in signatures:
        if one.shape is None and one.name not in shapes:
            raise InarchError(
                f"input '{one.name}' has no shape; give it one with --shape {one.name}=1x3x224x224",
                where=where,
            )
    unbound = [
        (dim, one.name)
        for one in signatures
        for dim in one.shape or ()
        if isinstance(dim, str) and dim not in sizes
    ]
    if not unbound:
        return
    dim, name = unbound[0]
    others = ", ".join(dict.fromkeys(dim for dim, _ in unbound))
    raise InarchError(
        f"dimension '{dim}' of input '{name}' is not bound; bind it with --dim {dim}=1 "
        f"(unbound: {others})",
        where=where,
    )


def _static(one: Signature, shape: Sequence[int], sizes: Mapping[str, int]) -> tuple[int, ...]:
    if one.shape is None:
        return tuple(shape)
    return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in one.shape)
