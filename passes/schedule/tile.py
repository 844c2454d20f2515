"""Choosing the register tile of a contraction by an analytic cost.

A tile of `rows` x `vectors` accumulators is updated once per reduction step by `vectors` loads of B,
`rows` broadcasts of A and `rows * vectors` multiply-adds. A core of the kind Inarch knows does two
multiply-adds and two loads a cycle, and a multiply-add takes four cycles, so a step costs

    cycles(rows, vectors) = max(rows * vectors / 2, (rows + vectors) / 2, 4) + 1 + vectors / 2

where the last terms are the loop itself and bringing B from the second-level cache, which only large
tiles spread over much work. (Agner Fog's tables and uops.info for Zen 4 and 5, Ice Lake and later:
two FMA and two loads a cycle, latency 4.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FMA_LATENCY_CYCLES = 4
STEP_CYCLES = 1.0
LOAD_CYCLES = 0.5
SPARE_REGISTERS = 2
"""Besides the accumulators and the row of B: the broadcast element of A, and one for the compiler."""

MAX_VECTORS = 8


@dataclass(frozen=True)
class Tile:
    """`outer x inner` rows (of the two innermost row iterators) by `vectors` vector registers."""

    outer: int
    inner: int
    vectors: int


def choose_tile(
    outer: int, inner: int, columns: int, *, lanes: int, registers: int, whole: bool = False
) -> Tile:
    """The cheapest tile for `outer x inner` rows by `columns` columns.

    `lanes` elements fit a vector register, of which the CPU has `registers`. Rows and columns that no
    tile divides are counted as they will run: remainder tiles of their own for rows, padded lanes for
    columns. With `whole` the columns are whole vectors, and the tile's vectors divide their number.
    Ties go to the wider tile.
    """
    best: tuple[float, int, Tile] | None = None
    for vectors in range(1, MAX_VECTORS + 1):
        limit = (registers - SPARE_REGISTERS - vectors) // vectors
        if vectors > max(1, math.ceil(columns / lanes)) or limit < 1:
            continue
        if whole and columns // lanes % vectors:
            continue
        panels = math.ceil(columns / (vectors * lanes))
        for tile in _shapes(outer, inner, limit, vectors):
            cost = panels * _rows_cost(outer, inner, tile)
            key = (cost, -vectors, tile)
            if best is None or key[:2] < best[:2]:
                best = key
    assert best is not None  # vectors = 1 always fits
    return best[2]


def _shapes(outer: int, inner: int, limit: int, vectors: int) -> list[Tile]:
    """Whole rows of the inner iterator when they fit, several if possible; else pieces of one."""
    pieces = [Tile(1, size, vectors) for size in range(1, min(inner, limit) + 1)]
    whole = [Tile(height, inner, vectors) for height in range(2, min(outer, limit // inner) + 1)]
    return pieces + whole


def _rows_cost(outer: int, inner: int, tile: Tile) -> float:
    """Cycles a reduction step for all rows, remainders included."""
    total = 0.0
    for height, times_outer in _cuts(outer, tile.outer):
        for width, times_inner in _cuts(inner, tile.inner):
            step = _cycles(height * width, tile.vectors)
            total += times_outer * times_inner * step
    return total


def _cuts(size: int, piece: int) -> list[tuple[int, int]]:
    """`(piece, how many)` of a size: the full pieces and the remainder."""
    full, rest = divmod(size, piece)
    return [(s, n) for s, n in ((piece, full), (rest, 1)) if s and n]


def _cycles(rows: int, vectors: int) -> float:
    busy = max(rows * vectors / 2, (rows + vectors) / 2, float(FMA_LATENCY_CYCLES))
    return busy + STEP_CYCLES + vectors * LOAD_CYCLES
