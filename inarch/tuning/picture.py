"""A run of the tuner as a picture: the best time known over the trials, and the ops by what they gained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from inarch.driver.keep.records import Record
from inarch.tuning.outcome import Outcome

_WIDTH, _HEIGHT, _LEFT, _TOP = 560.0, 200.0, 64.0, 40.0
_ROW, _NAME, _BARS = 18.0, 300.0, 200.0
_MOST_ROWS = 40
_STYLE = """
svg { font: 12px system-ui, sans-serif; background: #fff; color: #1c2230; }
text { fill: currentColor; } .faint { stroke: #d5d9e2; }
.best { fill: none; stroke: #2f7d3b; stroke-width: 2; }
.bar { fill: #bfe3c4; stroke: #2f7d3b; } .title { font-weight: 600; }
@media (prefers-color-scheme: dark) {
  svg { background: #15171b; color: #e4e7ec; } .faint { stroke: #3a3f4a; }
}
"""


def svg(title: str, outcome: Outcome) -> str:
    """Both panels, one below the other."""
    rows = gains(outcome.records)[:_MOST_ROWS]
    height = _TOP + _HEIGHT + 80 + _ROW * max(1, len(rows)) + 20
    width = _LEFT + _WIDTH + 40
    parts = [*_curve(title, outcome), *_bars(rows, _TOP + _HEIGHT + 70)]
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{_STYLE}</style>{"".join(parts)}</svg>\n'


def html(title: str, outcome: Outcome) -> str:
    """The picture as a page."""
    head = f'<!doctype html><meta charset="utf-8"><title>{escape(title)}</title>'
    return f'{head}<body style="margin:2em">{svg(title, outcome)}</body>\n'


def gains(records: Sequence[Record]) -> list[tuple[str, float, float]]:
    """Op of the model, its seconds without records, and with them; what gained most seconds first.

    What a pass chose has its name, too: `conv1: choose-layout`.
    """
    found: dict[str, tuple[str, float, float]] = {}
    for one in records:
        name = f"{one.where}: {one.kernel}" if "choice" in one.way else one.where
        found.setdefault(name, (name, one.untuned, one.seconds))
    return sorted(found.values(), key=lambda row: row[2] - row[1])


def _curve(title: str, outcome: Outcome) -> Iterator[str]:
    trials = [(0.0, 1.0), *outcome.trials]
    end = max(trials[-1][0], 1.0)
    low = min(part for _, part in trials)
    low = min(0.9, low - 0.02)

    def at(seconds: float, part: float) -> tuple[float, float]:
        return _LEFT + _WIDTH * seconds / end, _TOP + _HEIGHT * (1 - part) / (1 - low)

    yield f'<text class="title" x="{_LEFT:g}" y="22">{escape(title)}</text>'
    for step in range(5):
        part = low + (1 - low) * step / 4
        _, y = at(0, part)
        yield f'<line class="faint" x1="{_LEFT:g}" x2="{_LEFT + _WIDTH:g}" y1="{y:g}" y2="{y:g}"/>'
        yield f'<text x="{_LEFT - 8:g}" y="{y + 4:g}" text-anchor="end">{100 * part:.0f} %</text>'
    path: list[str] = []
    for number, (seconds, part) in enumerate(trials):
        x, y = at(seconds, part)
        path.append(f"H{x:g}V{y:g}" if number else f"M{x:g} {y:g}")
    yield f'<path class="best" d="{"".join(path)}"/>'
    below = _TOP + _HEIGHT + 20
    yield f'<text x="{_LEFT:g}" y="{below:g}">0 s</text>'
    yield f'<text x="{_LEFT + _WIDTH:g}" y="{below:g}" text-anchor="end">{end:.0f} s of trials</text>'


def _bars(rows: Sequence[tuple[str, float, float]], top: float) -> Iterator[str]:
    yield f'<text class="title" x="{_LEFT:g}" y="{top - 14:g}">ops of the model, by what they gained</text>'
    largest = max((before / after - 1 for _, before, after in rows), default=0.0) or 1.0
    for number, (where, before, after) in enumerate(rows):
        y = top + _ROW * number
        gain = before / after - 1
        name = where if len(where) <= 40 else f"\u2026{where[-39:]}"
        width = max(0.0, _BARS * gain / largest)
        yield f'<text x="{_LEFT:g}" y="{y + 12:g}">{escape(name)}</text>'
        place = f'x="{_LEFT + _NAME:g}" y="{y + 2:g}" width="{width:g}" height="{_ROW - 5:g}"'
        yield f'<rect class="bar" {place}/>'
        said = f"{1 + gain:.2f}x, {before * 1e6:.0f} us"
        yield f'<text x="{_LEFT + _NAME + width + 6:g}" y="{y + 12:g}">{said}</text>'
