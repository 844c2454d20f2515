"""Results as tables: aligned text for a terminal, Markdown for a document."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inarch.benchmark.layers import LAYER_SETS
from inarch.benchmark.results import LayerResult, Results, Series, summary

BEGIN = "<!-- made by inarch bench: begin -->"
END = "<!-- made by inarch bench: end -->"
"""What stands around the part of a document that `--markdown` writes."""

LEGEND = (
    "kernel: the operator alone, its operands in the layout that it wants (of a peer: by its own profiler, "
    "without reorders); call: row-major in, row-major out, from C (of a peer: its fastest call); python: "
    "our call from Python. GF/s and the ratios are of nominal operations (2 a tap, those on padding too), "
    "% of peak is of operations that are executed. Times are milliseconds of CPU time, the least of the "
    "rounds. x: how many times as fast ours is."
)


_WIDTH = 110


@dataclass(frozen=True)
class _Table:
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def text(results: Results) -> str:
    """The whole run for a terminal."""
    parts = [*_head(results), ""]
    for name in results.sets:
        table = _table(results, name)
        parts += [_title(name), "", _aligned(table), "", *_summary(results, name), ""]
    return "\n".join([*parts, *textwrap.wrap(LEGEND, _WIDTH)])


def markdown(results: Results, command: str, pictures: Mapping[str, str]) -> str:
    """The whole run for a document: the `command` that made it, the link of each set's picture."""
    parts = [BEGIN, "", f"Made by `{command}`:", "", *(f"- {line}" for line in _head(results)), ""]
    for name in results.sets:
        parts += [f"### {_title(name)}", ""]
        if name in pictures:
            parts += [f"![Roofline of {name}]({pictures[name]})", ""]
        parts += [_piped(_table(results, name)), ""]
        parts += [*(f"- {line}" for line in _summary(results, name)), ""]
    return "\n".join([*parts, END])


def _title(name: str) -> str:
    described = f": {LAYER_SETS[name].description}" if name in LAYER_SETS else ""
    return f"{name}{described}"


def _head(results: Results) -> list[str]:
    machine = results.machine
    speeds = ", ".join(f"{name} {value:.0f}" for name, value in results.bandwidths.items())
    lines = [
        f"{machine['cpu']} ({machine['caches']}), {machine['compiler']}",
        f"target {results.target}, f32, 1 thread, {results.rounds} rounds, interleaved",
        f"peak of multiply-adds in the same run: {results.peak_gflops:.1f} GF/s; triad, GB/s: {speeds}",
    ]
    for name, info in results.peers.items():
        if info.missing:
            packages = " ".join(info.missing)
            lines.append(f"{name}: not installed (pip install {packages})")
        else:
            lines.append(f"{name} {info.version}: {info.settings}")
    return lines


def _table(results: Results, name: str) -> _Table:
    header = ["layer", "shape", "n", "kernel", "GF/s", "% peak", "call", "python"]
    for peer in results.present:
        header += [f"{peer} kernel", "x", "call", "x"]
    rows = [_row(result, results.present) for result in results.of_set(name)]
    return _Table(tuple(header), tuple(rows))


def _row(result: LayerResult, peers: Sequence[str]) -> tuple[str, ...]:
    layer = result.layer
    cells = [
        layer.name,
        layer.shape,
        str(layer.count),
        _ms(result.kernel),
        f"{result.gflops:.1f}",
        f"{result.percent_of_peak:.1f}",
        _ms(result.call),
        _ms(result.python),
    ]
    for peer in peers:
        found = result.peers[peer]
        if found.error:
            cells += ["failed", "", "", ""]
            continue
        for what, series in (("kernel", found.kernel), ("call", found.call)):
            cells += [_ms(series), _number(result.ratio(peer, what))]
    return tuple(cells)


def _ms(series: Series) -> str:
    if not series.values:
        return "-"
    value = series.min * 1e-6
    return f"{value:.3f}" if value >= 0.1 else f"{value:.4f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _summary(results: Results, name: str) -> list[str]:
    """Means and sums of a set, one line each."""
    layers = results.of_set(name)
    found = summary(layers, results.present)
    peak: dict[str, float | None] = found["percent_of_peak"]
    lowest = min(layers, key=lambda result: result.percent_of_peak)
    means = f"geometric mean {_percent(peak['geomean'])}, by count {_percent(peak['weighted'])}"
    least = f"lowest {lowest.percent_of_peak:.1f} ({lowest.layer.name})"
    lines = [f"% of peak: {means}, {least}"]
    what_of = {"kernel_by_call": "kernel against calls"}
    for what in ("kernel", "call", "kernel_by_call"):
        ratios: dict[str, dict[str, float | None]] = found["ratios"][what]
        texts = [
            f"{'the best peer' if peer == 'best' else peer} {_number(mean['geomean'])}"
            f" (by count {_number(mean['weighted'])})"
            for peer, mean in ratios.items()
            if mean["geomean"] is not None
        ]
        if texts:
            lines.append(f"{what_of.get(what, what)}, times as fast as: {', '.join(texts)}")
    lines.append(f"sum of all layers by count, ms: {_sums(found['sum_ms'])}")
    lines += [
        f"{peer}: {result.layer.name}: {result.peers[peer].error}"
        for result in layers
        for peer in results.present
        if result.peers[peer].error
    ]
    return lines


def _sums(sums: dict[str, dict[str, Any]]) -> str:
    return ", ".join(
        f"{name} kernel {_number(found['kernel'])} call {_number(found['call'])}"
        for name, found in sums.items()
    )


def _aligned(table: _Table) -> str:
    """Columns as wide as their widest cell; text to the left, numbers to the right."""
    every = [table.header, *table.rows]
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index < 2 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in every
    )


def _piped(table: _Table) -> str:
    rules = tuple("---" if index < 2 else "---:" for index in range(len(table.header)))
    rows = (table.header, rules, *table.rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
