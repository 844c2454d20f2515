"""The page of `inarch explain --html`: the graph, coloured by owner, in one file that needs no other.

The drawing is SVG in the text, so it also shows without JavaScript; a small script adds the panel
with the reasons of the op that is clicked, the switches of the legend, and the zoom.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from inarch.core.outside.printable import printable
from inarch.tools.explain.layout import Layout, lay_out
from inarch.tools.templates import template

PALETTE = (
    ("#bfe3c4", "#2f7d3b"),
    ("#f7d7a8", "#a86400"),
    ("#d9c9f2", "#6b45b8"),
    ("#f6c3c8", "#b3303f"),
    ("#b9e4e6", "#16757b"),
    ("#f3ef9f", "#7d7700"),
    ("#e2cdbb", "#7a4a22"),
    ("#cfd8f7", "#3450b4"),
)
"""Fill and border of the backends, in the order asked for (then again from the start)."""
HOST_COLOURS = ("#e4e7ec", "#7b8494")
DARK_MIX = 0.42
"""On a dark page a fill is this much of its border's colour on the page's."""
DARK_PAGE = "#15171b"

BOX_HEIGHT = 38.0
CHARACTER = 7.4
"""The width of a character of the boxes' first line, in pixels."""
LONGEST_LABEL = 26


@dataclass(frozen=True)
class Box:
    """One op, or an input or output of the program (`owner` None)."""

    op: str
    location: str
    types: str
    owner: str | None
    pattern: str
    reasons: tuple[tuple[str, str], ...]
    """(backend, why it did not get the op)."""
    inputs: tuple[int, ...]
    """The numbers of the boxes whose values it uses; they come before it."""
    kernels: tuple[str, ...] = ()
    """The microkernels of the nests that do the op, and why they do, or none does."""
    algorithms: tuple[str, ...] = ()
    """Those of an op that has several: what it gets first."""
    kernel: str = ""
    """The name of the first of them; empty where there is none."""


def page(title: str, boxes: Sequence[Box], owners: Sequence[str], summary: Sequence[str]) -> str:
    """The page, as text. `owners` are the backends in the order asked for, then the host."""
    edges = [(source, number) for number, box in enumerate(boxes) for source in box.inputs]
    layout = lay_out([_width(box) for box in boxes], edges)
    shown = {str(n): _facts(box) for n, box in enumerate(boxes) if box.owner is not None}
    panel = "".join(f"<p>{escape(line)}</p>" for line in summary)
    holes = {
        "TITLE": escape(title),
        "COLOURS": _colours(owners),
        "LEGEND": _legend(boxes, owners),
        "WIDTH": f"{layout.width:g}",
        "HEIGHT": f"{layout.height:g}",
        "GRAPH": _drawing(boxes, owners, layout),
        "PANEL": f'{panel}<p class="soft">Click an op for the reasons.</p>',
        # `<` would end the script element, or open a comment in it
        "DATA": json.dumps(shown).replace("<", "\\u003c"),
    }
    # Names of strangers are in it, and a page is read in a terminal, too.
    return printable(re.sub(r"@([A-Z]+)@", lambda hole: holes[hole[1]], template("explain.html")))


def colours_of(owners: Sequence[str]) -> Mapping[str, tuple[str, str]]:
    """Fill and border by owner, on a light page; the last owner is the host."""
    *backends, host = owners
    found = {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(backends)}
    return {**found, host: HOST_COLOURS}


def _colours(owners: Sequence[str]) -> str:
    lines: list[str] = []
    for index, (fill, border) in enumerate(colours_of(owners).values()):
        dark = _mix(border, DARK_PAGE, DARK_MIX)
        lines += [
            f":root {{ --fill{index}: {fill}; --border{index}: {border}; }}",
            f"@media (prefers-color-scheme: dark) {{ :root {{ --fill{index}: {dark}; }} }}",
            f".owner{index} rect {{ fill: var(--fill{index}); stroke: var(--border{index}); }}",
            f".owner{index} i {{ background: var(--fill{index}); border-color: var(--border{index}); }}",
        ]
    return "\n".join(lines)


def _mix(one: str, other: str, share: float) -> str:
    parts = [(int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in parts)


def _legend(boxes: Sequence[Box], owners: Sequence[str]) -> str:
    counts = {name: sum(box.owner == name for box in boxes) for name in owners}
    return "\n".join(
        f'<button class="key owner{index}" data-owner="owner{index}" aria-pressed="true">'
        f"<i></i>{escape(name)} <small>{counts[name]}</small></button>"
        for index, name in enumerate(owners)
    )


def _drawing(boxes: Sequence[Box], owners: Sequence[str], layout: Layout) -> str:
    numbers = {name: index for index, name in enumerate(owners)}
    edges = dict.fromkeys(part for points in layout.edges for part in _edge(points))
    places = zip(boxes, layout.centres, strict=True)
    return "\n".join(
        [*edges, *(_box(n, box, numbers, *place) for n, (box, place) in enumerate(places))]
    )


def _edge(points: Sequence[tuple[float, float]]) -> Iterator[str]:
    """A smooth line from below the first box to above the last one, rank by rank.

    Edges from one box share their first parts, which are then drawn once.
    """
    last = len(points) - 1
    for index, ((x, y), (next_x, next_y)) in enumerate(pairwise(points)):
        start = y + BOX_HEIGHT / 2 if index == 0 else y
        end = next_y - BOX_HEIGHT / 2 if index + 1 == last else next_y
        middle = (start + end) / 2
        curve = f"C{x:g} {middle:g} {next_x:g} {middle:g} {next_x:g} {end:g}"
        yield f'<path d="M{x:g} {start:g}{curve}"/>'


def _box(number: int, box: Box, owners: Mapping[str, int], x: float, y: float) -> str:
    width = _width(box)
    name = "port" if box.owner is None else f"owner{owners[box.owner]}"
    focus = "" if box.owner is None else ' tabindex="0"'
    below = _below(box)
    reasons = (f"not {b}: {why}" for b, why in box.reasons)
    lines = (box.location, box.types, *reasons, *box.kernels, *box.algorithms)
    tip = "\n".join(line for line in lines if line)
    size = f'width="{width:g}" height="{BOX_HEIGHT:g}"'
    lines = [
        f'<g class="{name}" data-i="{number}"{focus}><title>{escape(tip)}</title>',
        f'<rect x="{x - width / 2:g}" y="{y - BOX_HEIGHT / 2:g}" {size} rx="5"/>',
        f'<text x="{x:g}" y="{y + (-2 if below else 4):g}">{escape(_short(box.op))}</text>',
    ]
    if below:
        lines.append(f'<text class="sub" x="{x:g}" y="{y + 12:g}">{escape(below)}</text>')
    return "".join([*lines, "</g>"])


def _facts(box: Box) -> dict[str, object]:
    return {
        "op": box.op,
        "location": box.location,
        "types": box.types,
        "owner": box.owner,
        "pattern": box.pattern,
        "reasons": box.reasons,
        "kernels": box.kernels,
        "algorithms": box.algorithms,
    }


def _width(box: Box) -> float:
    first, second = len(_short(box.op)), len(_below(box))
    return round(max(first * CHARACTER, second * CHARACTER * 5 / 6, 34) + 18, 1)


def _below(box: Box) -> str:
    """The second line: the pattern that took it, or where it is from and the microkernel that does it."""
    return " \u00b7 ".join(filter(None, [_short(box.pattern or box.location), box.kernel]))


def _short(text: str) -> str:
    """The end of a long text: names of a model differ at their end."""
    return text if len(text) <= LONGEST_LABEL else f"\u2026{text[1 - LONGEST_LABEL :]}"
