"""Where the boxes of a graph go: layers from top to bottom, few crossings, straight chains.

The method of Sugiyama, Tagawa and Toda (1981): ranks by the longest path, invisible points where an
edge passes a rank, an order within each rank by barycentres, and places that are nearest to the
neighbours' in the least-squares sense while the order is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

SWEEPS = 6
"""Passes over all ranks, down and up, for the order and for the places."""
MOST_BENDS = 20_000
"""With so many points, further edges over several ranks are drawn straight, to stay quick."""
POINT_WIDTH = 10.0
"""The room that an edge takes in a rank that it passes."""
ROW = 64.0
"""The distance of ranks."""
GAP = 18.0
"""The least distance of the boxes of a rank."""


@dataclass(frozen=True)
class Layout:
    """The centres of the boxes, the points that each edge passes, and the size of the whole."""

    centres: tuple[tuple[float, float], ...]
    edges: tuple[tuple[tuple[float, float], ...], ...]
    """One polyline an edge, from the source's centre to the target's, in the order given."""
    width: float
    height: float


@dataclass
class _Points:
    """Boxes (the first of them) and the bends of edges, in ranks."""

    widths: list[float]
    ranks: list[int]
    up: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    down: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def connect(self, source: int, target: int) -> None:
        self.down[source].append(target)
        self.up[target].append(source)


def lay_out(widths: Sequence[float], edges: Sequence[tuple[int, int]]) -> Layout:
    """Places boxes of the given widths; an edge goes from a lower number to a higher one.

    >>> lay_out([40, 40, 40], [(0, 1), (1, 2)]).centres
    ((29.0, 32.0), (29.0, 96.0), (29.0, 160.0))
    """
    points = _Points(list(widths), _ranks(len(widths), edges))
    paths = _add_bends(points, edges)
    layers = _layers(points)
    for sweep in range(SWEEPS):
        _order(points, layers, upwards=bool(sweep % 2))
    places = _places(points, layers)
    left = min((x - w / 2 for x, w in zip(places, points.widths, strict=True)), default=0.0)
    right = max((x + w / 2 for x, w in zip(places, points.widths, strict=True)), default=0.0)
    centres = [
        (round(x - left + GAP / 2, 1), (rank + 0.5) * ROW)
        for x, rank in zip(places, points.ranks, strict=True)
    ]
    return Layout(
        tuple(centres[: len(widths)]),
        tuple(tuple(centres[point] for point in path) for path in paths),
        right - left + GAP,
        len(layers) * ROW,
    )


def _ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest path from a source; a source stands just above its first user."""
    ranks = [0] * count
    users: defaultdict[int, list[int]] = defaultdict(list)
    has_input = [False] * count
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        ranks[target] = max(ranks[target], ranks[source] + 1)
        users[source].append(target)
        has_input[target] = True
    for number in range(count):
        if not has_input[number] and users[number]:
            ranks[number] = min(ranks[user] for user in users[number]) - 1
    return ranks


def _add_bends(points: _Points, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The points of each edge. Edges that leave one box share their bends while they can."""
    bends: dict[tuple[int, int], int] = {}
    paths: list[list[int]] = []
    for source, target in edges:
        path = [source]
        first, last = points.ranks[source] + 1, points.ranks[target]
        for rank in range(first, last if len(bends) < MOST_BENDS else first):
            if (source, rank) not in bends:
                bends[source, rank] = len(points.ranks)
                points.ranks.append(rank)
                points.widths.append(POINT_WIDTH)
                points.connect(path[-1], bends[source, rank])
            path.append(bends[source, rank])
        points.connect(path[-1], target)
        paths.append([*path, target])
    return paths


def _layers(points: _Points) -> list[list[int]]:
    layers: list[list[int]] = [[] for _ in range(max(points.ranks, default=-1) + 1)]
    for number, rank in enumerate(points.ranks):
        layers[rank].append(number)
    return layers


def _order(points: _Points, layers: list[list[int]], *, upwards: bool) -> None:
    """Sorts each rank by the mean position of the neighbours in the ranks seen before."""
    neighbours = points.down if upwards else points.up
    position: dict[int, float] = {}
    for layer in reversed(layers) if upwards else layers:
        current = {number: float(index) for index, number in enumerate(layer)}
        layer.sort(key=lambda n, now=current: _mean([position[m] for m in neighbours[n]], now[n]))
        position.update((number, float(index)) for index, number in enumerate(layer))


def _places(points: _Points, layers: list[list[int]]) -> list[float]:
    """The x of every point: near its neighbours, in order, without overlap."""
    places = [0.0] * len(points.ranks)
    for layer in layers:
        x = 0.0
        for number in layer:
            places[number] = x + points.widths[number] / 2
            x += points.widths[number] + GAP
    for sweep in range(2 * SWEEPS):
        upwards = bool(sweep % 2)
        neighbours = points.down if upwards else points.up
        for layer in reversed(layers) if upwards else layers:
            wanted = [_mean([places[m] for m in neighbours[n]], places[n]) for n in layer]
            _spread(points, layer, wanted, places)
    return places


def _spread(points: _Points, layer: list[int], wanted: list[float], places: list[float]) -> None:
    """The places nearest to `wanted` that keep the order and the gaps: pooled adjacent violators."""
    offset = 0.0
    offsets: list[float] = []
    for index, number in enumerate(layer):
        if index:
            before = points.widths[layer[index - 1]]
            offset += (before + points.widths[number]) / 2 + GAP
        offsets.append(offset)
    blocks: list[tuple[float, int]] = []  # mean, and how many points share it
    for want, shift in zip(wanted, offsets, strict=True):
        mean, size = want - shift, 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean = (mean * size + other * count) / (size + count)
            size += count
        blocks.append((mean, size))
    solved = [mean for mean, size in blocks for _ in range(size)]
    for number, base, shift in zip(layer, solved, offsets, strict=True):
        places[number] = base + shift


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default
