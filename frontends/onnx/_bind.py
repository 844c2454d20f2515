"""Gives the inputs of a model static shapes: symbolic dimensions by name, or whole shapes by input."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inarch.core.dims import ANONYMOUS, Expression, expression
from inarch.core.errors import InarchWarning, UsageError, unknown
from inarch.frontends.open import Dim, OpenSizesError

if TYPE_CHECKING:
    from onnx import TensorShapeProto, ValueInfoProto


@dataclass(frozen=True)
class Signature:
    """The declared shape of one input; None when the model does not even tell its rank."""

    name: str
    shape: tuple[Dim, ...] | None


@dataclass(frozen=True)
class Bound:
    """The shapes of all inputs, and the sizes of the symbolic dimensions that have one size."""

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
    return anonymous if dim.dim_param.strip() in ANONYMOUS else dim.dim_param


def bind(
    signatures: Sequence[Signature],
    dims: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
    where: str,
) -> Bound:
    """Static shapes for `signatures` from sizes of dimensions and shapes of inputs, both by name.

    Sizes may be expressions of others (`2*s`), which are computed, checked, or solved for a name. Inputs
    whose shapes are given may have different sizes under one name, which exporters write and ONNX Runtime
    takes: that is a warning.

    Raises UsageError for names that the model has not, and for sizes that contradict it or `dims`;
    OpenSizesError, with all their names, when dimensions stay unbound.
    """
    inputs = {one.name: one for one in signatures}
    for name in shapes:
        if name not in inputs:
            raise unknown("input", name, inputs, within=where)
    every = dict.fromkeys(d for one in signatures for d in one.shape or () if isinstance(d, str))
    found = {name: expression(name, every.keys() - {name}) for name in every}
    expressions = {name: one for name, one in found.items() if one is not None}
    names = [name for name in every if name not in expressions]
    sizes: dict[str, int] = {}
    for name, size in dims.items():
        if name not in names:
            raise unknown("dimension", name, set(names), within=where)
        if size < 0:
            raise UsageError(f"expected a size >= 0 for dimension '{name}', found {size}")
        sizes[name] = size
    computed: list[tuple[str, Expression, int]] = []
    several: set[str] = set()
    for name, shape in shapes.items():
        _match(inputs[name], shape, dims, sizes, expressions, computed, several)
    _relate(computed, sizes)
    _require_bound(signatures, shapes, sizes, expressions, where)
    bound = {one.name: _static(one, shapes.get(one.name), sizes, expressions) for one in signatures}
    return Bound(bound, {name: sizes[name] for name in names if name in sizes.keys() - several})


def _match(
    one: Signature,
    shape: Sequence[int],
    dims: Mapping[str, int],
    sizes: dict[str, int],
    expressions: Mapping[str, Expression],
    computed: list[tuple[str, Expression, int]],
    several: set[str],
) -> None:
    """Takes from a given shape the sizes of names; those of expressions into `computed`.

    Names of more than one size go into `several`.
    """
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
        if isinstance(dim, int):
            if dim != size:
                raise UsageError(f"{what}: expected shape {declared}, found {list(shape)}")
        elif dim in expressions:
            computed.append((what, expressions[dim], size))
        elif sizes.setdefault(dim, size) != size:
            said = f"{what}: expected '{dim}' = {sizes[dim]}, found {size}"
            if dim in dims:
                raise UsageError(said)
            several.add(dim)
            warnings.warn(
                InarchWarning(f"{said}; both are taken, though the model gives them one name"),
                stacklevel=5,
            )


def _relate(computed: Sequence[tuple[str, Expression, int]], sizes: dict[str, int]) -> None:
    """Solves expressions for the one name in them that is not known, and checks all. Raises UsageError."""
    pending = list(computed)
    while pending:
        ready = [one for one in pending if sum(n not in sizes for n in one[1].names) <= 1]
        if not ready:
            return  # what is not bound is told
        for what, relation, size in ready:
            open_ones = [name for name in relation.names if name not in sizes]
            if open_ones:
                solved = relation.solved(open_ones[0], size, sizes)
                if solved is None:
                    raise UsageError(
                        f"{what}: expected a size that is '{relation.text}', found {size}"
                    )
                sizes[open_ones[0]] = solved
            wanted = relation.value(sizes)
            if wanted != size:
                known = ", ".join(f"{name} = {sizes[name]}" for name in relation.names)
                raise UsageError(
                    f"{what}: expected '{relation.text}' = {wanted}, as {known}, found {size}"
                )
        pending = [one for one in pending if one not in ready]


def _require_bound(
    signatures: Sequence[Signature],
    shapes: Mapping[str, Sequence[int]],
    sizes: Mapping[str, int],
    expressions: Mapping[str, Expression],
    where: str,
) -> None:
    unbound = [
        (dim, one.name)
        for one in signatures
        if one.name not in shapes
        for each in one.shape or ()
        if isinstance(each, str)
        for dim in (expressions[each].names if each in expressions else (each,))
        if dim not in sizes
    ]
    for one in signatures:
        if one.shape is None and one.name not in shapes:
            raise OpenSizesError(
                f"input '{one.name}' has no shape; give it one with --shape {one.name}=1x3x224x224",
                where=where,
            )
    if not unbound:
        return
    dim, name = unbound[0]
    others = ", ".join(dict.fromkeys(dim for dim, _ in unbound))
    raise OpenSizesError(
        f"dimension '{dim}' of input '{name}' is not bound; bind it with --dim {dim}=1, or make an artifact "
        f"of several sizes with `inarch compile --specialize {dim}=1,8` (unbound: {others})",
        where=where,
    )


def _static(
    one: Signature,
    shape: Sequence[int] | None,
    sizes: Mapping[str, int],
    expressions: Mapping[str, Expression],
) -> tuple[int, ...]:
    if shape is not None:
        return tuple(shape)
    return tuple(_size(one.name, dim, sizes, expressions) for dim in one.shape or ())


def _size(
    name: str, dim: Dim, sizes: Mapping[str, int], expressions: Mapping[str, Expression]
) -> int:
    if isinstance(dim, int):
        return dim
    if dim not in expressions:
        return sizes[dim]
    found = expressions[dim].value(sizes)
    if found is None:
        known = ", ".join(f"{each} = {sizes[each]}" for each in expressions[dim].names)
        raise UsageError(f"input '{name}': expected a size >= 0 for '{dim}', found {known}")
    return found
