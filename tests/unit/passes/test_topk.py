"""TopK by heaps and by sorts is NumPy's, of rows of any order, with equals, zeros of both signs and NaN."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from effort import SOAK, effort
from inarch.core.dtypes import DTYPES
from inarch.machine.find import find_machine
from inarch.passes.lower.ordering.heap import BLOCK
from inarch.passes.lower.rules.topk import sorts

Array = np.ndarray[Any, Any]
SHAPES = (
    ((7, 30), 1, 3),  # a heap of too few for blocks
    ((5, 7 * BLOCK + 9), 1, 6),  # blocks, and what is before and behind them
    ((6 * BLOCK + 9, 6 * BLOCK + 9), 1, 2),  # a row for each place of the first ones
    ((1, 40 * BLOCK), 1, BLOCK + 3),  # one row; blocks begin behind the second one
    ((3, 2 * BLOCK + 5), 1, 90),  # a sort
    ((3, 21), 1, 21),
    ((2, 6 * BLOCK, 3), 1, 4),  # an axis that is not the last one, by both
    ((2, 33, 5), 1, 30),
)
"""Shape, axis, k."""
KINDS = ("random", "few", "rising", "falling", "same", "special", "only")


def rows_of(kind: str, shape: tuple[int, ...], axis: int, dtype: str, seed: int) -> Array:
    """Elements in an order along the axis that is good or bad for a heap."""
    rng, element = np.random.default_rng(seed), np.dtype(DTYPES[dtype].numpy)
    if element.kind == "f":
        x = rng.standard_normal(shape).astype(element)
    else:
        limits = np.iinfo(element)
        x = rng.integers(limits.min, limits.max, shape, element, endpoint=True)
    if kind == "few":
        x = rng.integers(0, 4, shape).astype(element)
    if kind in ("rising", "falling"):
        x = np.sort(x, axis)
    if kind == "falling":
        x = np.flip(x, axis)
    if kind == "same":
        x = np.full(shape, x.flat[0])
    if kind == "only":  # at each place in turn the largest, and behind it the smallest one
        ends = (99, -99) if element.kind == "f" else (np.iinfo(element).max, np.iinfo(element).min)
        rows = np.moveaxis(x, axis, -1)
        number, size = np.arange(len(rows)), rows.shape[-1]
        rows[number, ..., number % size], rows[number, ..., (number + 1) % size] = ends
    if kind == "special" and element.kind == "f":
        x = rng.choice(
            np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-42, 1], element), shape
        )
    return np.ascontiguousarray(x)


def first(x: Array, k: int, axis: int, largest: bool) -> tuple[Array, Array]:
    """The definition, by one stable sort of pairs: NaN is larger than every number."""
    rows = np.moveaxis(x, axis, -1)
    ranks = np.unique(rows, return_inverse=True)[1].reshape(rows.shape)  # NaN are one, the last
    order = np.argsort(-ranks if largest else ranks, axis=-1, kind="stable")[..., :k]
    values = np.take_along_axis(rows, order, -1)
    return np.moveaxis(values, -1, axis), np.moveaxis(order, -1, axis)


@pytest.mark.sampled(effort(2, 4), reason="each is a program of a dozen nests; floats, integers")
@pytest.mark.parametrize(
    ("dtype", "shapes"),
    [
        ("f32", SHAPES if SOAK else SHAPES[:3] + SHAPES[4:7:2]),
        ("f64", SHAPES[1:5:3]),
        ("i64", SHAPES[3:5]),
        ("ui16", SHAPES[1:3]),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_first_elements_are_those_of_numpy(
    dtype: str, shapes: tuple[tuple[tuple[int, ...], int, int], ...], tmp_path: Path
) -> None:
    """Bit for bit, by any number of threads. The gate asks a shape for its largest, the next its smallest."""
    machine = find_machine("generic")
    ways = {sorts(shape[axis], k, DTYPES[dtype], machine) for shape, axis, k in shapes}
    assert ways == ({True, False} if len(shapes) > 1 else {False})
    arguments: list[str] = []
    lines: list[str] = []
    results: list[str] = []
    kinds: list[str] = []
    asked = [(True, False) if SOAK else (number % 2 == 0,) for number in range(len(shapes))]
    for number, (shape, axis, k) in enumerate(shapes):
        given = f"tensor<{'x'.join(map(str, shape))}x{dtype}>"
        found = "x".join(str(k if at == axis else size) for at, size in enumerate(shape))
        arguments.append(f'%x{number}: {given} {{inarch.name = "x{number}"}}')
        for largest in asked[number]:
            name = f"{number}{'l' if largest else 's'}"
            pair = f"tensor<{found}x{dtype}>, tensor<{found}xi64>"
            less = "" if largest else " largest = false"
            lines.append(
                f"  %v{name}, %i{name} = graph.topk %x{number} k = {k} axis = {axis}{less} : "
                f"{given} -> {pair}"
            )
            results += [f"%v{name}", f"%i{name}"]
            kinds += pair.split(", ")
    named = [
        f'{kind} {{inarch.name = "{name[1:]}"}}' for kind, name in zip(kinds, results, strict=True)
    ]
    text = "\n".join(
        [
            f"func.func @main({', '.join(arguments)}) -> ({', '.join(named)}) {{",
            *lines,
            f"  func.return {', '.join(results)} : {', '.join(kinds)}",
            "}",
        ]
    )
    path = tmp_path / "topk.mlir"
    path.write_text(text)
    module = inarch.compile(path)
    for seed, kind in enumerate(KINDS):
        feeds = [rows_of(kind, shape, axis, dtype, seed) for shape, axis, _ in shapes]
        alone, shared = module(*feeds, threads=1), module(*feeds, threads=3)
        wanted = [
            array
            for x, (_, axis, k), sides in zip(feeds, shapes, asked, strict=True)
            for largest in sides
            for array in first(x, k, axis, largest)
        ]
        for name, a, b, array in zip(results, alone, shared, wanted, strict=True):
            assert a.tobytes() == np.ascontiguousarray(array).tobytes(), (kind, name)
            assert b.tobytes() == a.tobytes(), (kind, name)
