"""The roofline of a set of layers as SVG: speed by arithmetic intensity, under the peak and the bandwidths.

Williams, Waterman, Patterson: Roofline (CACM 52:4, 2009). Both axes are logarithmic. A filled point is our
kernel, by operations executed; a hollow one the fastest kernel of a peer. Points carry numbers, which the
list on the right explains. Colours follow the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from inarch.benchmark.results import LayerResult, Results

_LEFT, _TOP, _WIDTH, _HEIGHT = 64.0, 56.0, 640.0, 480.0
_LIST_LEFT, _ROW, _LIST_WIDTH = _LEFT + _WIDTH + 36, 18.0, 424.0
_RADIUS, _LABEL = 4.0, 11.0

_STYLE = """
  svg { background: #ffffff; font: 12px system-ui, sans-serif; }
  text { fill: #1f2328; } .quiet { fill: #59636e; } .number { font-size: 10px; }
  .number, .halo { paint-order: stroke; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round; }
  .title { font-size: 16px; font-weight: 600; }
  .grid { stroke: #e3e6ea; } .axis { stroke: #59636e; } .leader { stroke: #9aa4ae; stroke-width: .7; }
  .roof { stroke: #59636e; stroke-width: 1.6; fill: none; } .slope { stroke-dasharray: 5 3; }
  .ours { fill: #0969da; stroke: #ffffff; stroke-width: .8; }
  .theirs { fill: none; stroke: #bc4c00; stroke-width: 1.4; }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117; } text { fill: #e6edf3; } .quiet { fill: #9198a1; }
    .number, .halo { stroke: #0d1117; }
    .grid { stroke: #262c34; } .axis, .roof { stroke: #9198a1; } .leader { stroke: #5b646e; }
    .ours { fill: #58a6ff; stroke: #0d1117; } .theirs { stroke: #f0883e; }
  }
"""


@dataclass(frozen=True)
class _Axes:
    """From values to places; decades are equally wide."""

    low_x: float
    high_x: float
    low_y: float
    high_y: float

    def x(self, value: float) -> float:
        share = math.log(value / self.low_x) / math.log(self.high_x / self.low_x)
        return _LEFT + _WIDTH * share

    def y(self, value: float) -> float:
        share = math.log(value / self.low_y) / math.log(self.high_y / self.low_y)
        return _TOP + _HEIGHT * (1 - share)


@dataclass(frozen=True)
class _Label:
    """A text whose first character stands at (x, y)."""

    x: float
    y: float
    text: str

    def covers(self, x: float, y: float) -> bool:
        """Whether a number at (x, y) would touch it."""
        beside = x < self.x - 10 or x > self.x + 7 * len(self.text) + 10
        return not beside and self.y - 16 < y < self.y + 10


def svg(results: Results, name: str) -> str:
    """The picture of one set of a run."""
    layers = results.of_set(name)
    axes = _axes(results, layers)
    roofs, labels = _roofs(results, axes)
    rows = len(layers) + 4
    width = _LIST_LEFT + _LIST_WIDTH
    height = max(_TOP + _HEIGHT + 60, _TOP + rows * _ROW + 24)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    label = f"Roofline of {escape(name)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}">',
        f"<style>{_STYLE}</style>",
        _text(_LEFT, 24, f"Roofline: {name}", "title"),
        _text(_LEFT, 42, f"{results.machine['cpu']}, 1 thread, {results.target}, f32", "quiet"),
        *_grid(axes),
        *roofs,
        *(_text(label.x, label.y, label.text, "quiet halo") for label in labels),
        *_points(layers, axes, labels),
        *_list(layers),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def html(results: Results, table: str) -> str:
    """A page with the pictures of all sets and the table, which is text."""
    pictures = "".join(svg(results, name) for name in results.sets)
    title = escape(f"inarch bench: {', '.join(results.sets)}")
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n'
        "<style>body { margin: 24px; font: 14px system-ui, sans-serif; color-scheme: light dark; }\n"
        "svg { max-width: 100%; height: auto; } pre { overflow-x: auto; }</style>\n"
        f"{pictures}<pre>{escape(table)}</pre>\n</html>\n"
    )


# ---------------------------------------------------------------------------------- the frame


def _axes(results: Results, layers: Sequence[LayerResult]) -> _Axes:
    intensities = [_intensity(result) for result in layers]
    speeds = [speed for result in layers for speed in _speeds(result)]
    ridge = results.peak_gflops / min(results.bandwidths.values(), default=results.peak_gflops)
    low_x, high_x = min([*intensities, ridge / 1.6]), max([*intensities, 2 * ridge])
    low_y = min([*speeds, results.peak_gflops / 3])
    high_y = max([*speeds, results.peak_gflops])
    return _Axes(low_x / 1.3, high_x * 1.3, low_y / 1.2, high_y * 1.25)


def _intensity(result: LayerResult) -> float:
    """Executed operations by the bytes that must move at least."""
    return max(1, result.executed_flops) / result.layer.bytes


def _theirs(result: LayerResult) -> float | None:
    """The speed of the fastest kernel of a peer, in nominal GFLOP/s."""
    times = [peer.kernel.min for peer in result.peers.values() if peer.kernel.values]
    return result.layer.flops / min(times) if times else None


def _speeds(result: LayerResult) -> list[float]:
    theirs = _theirs(result)
    return [result.executed_gflops, *([] if theirs is None else [theirs])]


def _grid(axes: _Axes) -> Iterator[str]:
    bottom, right = _TOP + _HEIGHT, _LEFT + _WIDTH
    for value in _ticks(axes.low_x, axes.high_x):
        x = axes.x(value)
        yield _line(x, _TOP, x, bottom, "grid")
        yield _text(x, bottom + 16, f"{value:g}", "quiet", "middle")
    for value in _ticks(axes.low_y, axes.high_y):
        y = axes.y(value)
        yield _line(_LEFT, y, right, y, "grid")
        yield _text(_LEFT - 8, y + 4, f"{value:g}", "quiet", "end")
    yield _line(_LEFT, bottom, right, bottom, "axis")
    yield _line(_LEFT, _TOP, _LEFT, bottom, "axis")
    middle = _LEFT + _WIDTH / 2
    label = "arithmetic intensity: operations a byte (input, weights and output once)"
    yield _text(middle, bottom + 38, label, "", "middle")
    x, y = 16.0, _TOP + _HEIGHT / 2
    yield f'<text x="{x}" y="{y}" text-anchor="middle" transform="rotate(-90 {x} {y})">GFLOP/s</text>'


def _ticks(low: float, high: float) -> Iterator[float]:
    """1, 2 and 5 times powers of ten; more of them over less than a decade, fewer over three."""
    steps = (1, 1.5, 2, 3, 4, 5, 6, 8) if high / low < 10 else (1, 2, 5)
    steps = steps if high / low < 1000 else (1,)
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for step in steps:
            if low <= (value := step * 10.0**power) <= high:
                yield value


def _roofs(results: Results, axes: _Axes) -> tuple[list[str], list[_Label]]:
    """The peak, and for each bandwidth the slope that meets it, as far as it is in the picture."""
    peak = results.peak_gflops
    speeds = sorted(results.bandwidths.items(), key=lambda item: -item[1])
    first = max([axes.low_x, *(peak / speed for _, speed in speeds[:1])])
    lines = [_line(axes.x(first), axes.y(peak), _LEFT + _WIDTH, axes.y(peak), "roof")]
    labels = [_Label(axes.x(first) + 6, axes.y(peak) - 8, f"peak {peak:.0f} GFLOP/s")]
    shown = [(name, speed) for name, speed in speeds if peak / speed > axes.low_x]
    for number, (name, speed) in enumerate(shown):
        low, ridge = max(axes.low_y, axes.low_x * speed), peak / speed
        start = (axes.x(low / speed), axes.y(low))
        lines.append(_line(*start, axes.x(ridge), axes.y(peak), "roof slope"))
        # Slopes are parallel: each label has a height of its own, to the right of its slope.
        at = low * (peak / low) ** (0.15 + 0.15 * number)
        place = (axes.x(at / speed) + 8, axes.y(at) + 4)
        labels.append(_Label(*place, f"{name} {speed:.0f} GB/s"))
    return lines, labels


# ---------------------------------------------------------------------------------- points


def _points(layers: Sequence[LayerResult], axes: _Axes, texts: Sequence[_Label]) -> Iterator[str]:
    ours = [(axes.x(_intensity(result)), axes.y(result.executed_gflops)) for result in layers]
    places: list[tuple[float, float]] = []
    for (x, y), result in zip(ours, layers, strict=True):
        theirs = _theirs(result)
        if theirs is not None:
            places.append((x, axes.y(theirs)))
            yield _line(x, y, x, axes.y(theirs), "leader")
            yield f'<circle class="theirs" cx="{x:.1f}" cy="{axes.y(theirs):.1f}" r="{_RADIUS}"/>'
    for (x, y), result in zip(ours, layers, strict=True):
        title = escape(
            f"{result.layer.name} {result.layer.shape}: {result.executed_gflops:.1f} GF/s"
        )
        yield (
            f'<circle class="ours" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}"><title>{title}</title></circle>'
        )
    taken = [*places, *ours]
    labels: list[tuple[float, float]] = []
    for number, (x, y) in sorted(enumerate(ours, 1), key=lambda item: item[1]):
        at = _free_place(x, y, taken, labels, texts)
        labels.append(at)
        if math.dist(at, (x, y)) > 2 * _LABEL:
            yield _line(x, y, at[0], at[1] + (-4 if at[1] > y else 4), "leader")
        yield _text(at[0], at[1] + 3.5, str(number), "number", "middle")


def _free_place(
    x: float,
    y: float,
    points: Sequence[tuple[float, float]],
    labels: Sequence[tuple[float, float]],
    texts: Sequence[_Label],
) -> tuple[float, float]:
    """The nearest place around a point, below first, that no point and no other text needs."""
    for ring in range(1, 30):
        for angle in (90, 60, 120, 30, 150, 0, 180, -30, -150, -60, -120, -90):
            radius = _LABEL * (0.6 + 0.7 * ring)
            px = x + radius * math.cos(math.radians(angle))
            py = y + radius * math.sin(math.radians(angle))
            inside = _LEFT + 8 < px < _LEFT + _WIDTH - 8 and _TOP + 8 < py < _TOP + _HEIGHT - 8
            free = all(math.dist((px, py), point) > _LABEL for point in points)
            apart = all(abs(px - lx) > 15 or abs(py - ly) > 11 for lx, ly in labels)
            clear = not any(text.covers(px, py) for text in texts)
            if inside and free and apart and clear:
                return px, py
    return x, y + _LABEL


def _list(layers: Sequence[LayerResult]) -> Iterator[str]:
    """What the numbers and the signs stand for."""
    top = _TOP + 4
    yield f'<circle class="ours" cx="{_LIST_LEFT + 4}" cy="{top}" r="{_RADIUS}"/>'
    yield _text(_LIST_LEFT + 16, top + 4, "Inarch, kernel alone")
    if any(_theirs(result) is not None for result in layers):
        yield f'<circle class="theirs" cx="{_LIST_LEFT + 164}" cy="{top}" r="{_RADIUS}"/>'
        yield _text(_LIST_LEFT + 176, top + 4, "fastest kernel of a peer (nominal)")
    columns = [_LIST_LEFT + offset for offset in (18, 26, 148, 356, 412)]
    y = top + 1.8 * _ROW
    heads = (
        ("", "end"),
        ("layer", "start"),
        ("shape", "start"),
        ("GF/s", "end"),
        ("% peak", "end"),
    )
    for x, (head, anchor) in zip(columns, heads, strict=True):
        yield _text(x, y, head, "quiet", anchor)
    for number, result in enumerate(layers, 1):
        y += _ROW
        yield _text(columns[0], y, str(number), "quiet", "end")
        yield _text(columns[1], y, result.layer.name)
        if result.layer.shape != result.layer.name:
            yield _text(columns[2], y, result.layer.shape, "quiet")
        yield _text(columns[3], y, f"{result.executed_gflops:.1f}", "", "end")
        yield _text(columns[4], y, f"{result.percent_of_peak:.0f}", "", "end")


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    name = f' class="{kind}"' if kind else ""
    where = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{name}{where}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
