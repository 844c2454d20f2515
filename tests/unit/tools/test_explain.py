"""`inarch explain` (N7): every reason is given, the JSON is stable, the page is looked at in a browser."""

from __future__ import annotations

import json
import random
import re
import shutil
import struct
import subprocess
import zlib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from inarch.tools.cli import run
from inarch.tools.explain.html import HOST_COLOURS, PALETTE, Box, page
from inarch.tools.explain.layout import lay_out

MODEL = """
func.func @main(%x: tensor<4x8xf32> {inarch.name = "image"}) -> (tensor<4x8xf32> {inarch.name = "scores"}) {
  %0 = graph.add %x, %x : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = graph.gelu %0 : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = graph.mul %1, %0 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}
"""

PICKY = '''"""A backend of one pattern, with a condition."""
from inarch.offload.backend import Backend, Emission
from inarch.offload.pattern import any_, named, op


def rows(match):
    rows, _ = match.root.results[0].type.get_shape()
    return None if rows == 5 else f"rows are {rows}; takes 5"


BACKEND = Backend(
    name="picky",
    description="Adds five rows.",
    emit=lambda request: Emission("c", request.names()),
    patterns=(named("five", op("add", any_(), any_()), where=rows),),
)
'''


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(MODEL)
    (tmp_path / "picky.py").write_text(PICKY)
    return path


def _explain(model: Path, *options: str) -> str:
    load = str(model.with_name("picky.py"))
    code, out, err = run(["explain", str(model), "--load", load, *options])
    assert (code, err) == (0, "")
    return out


# ------------------------------------------------------------------------------------ text


def test_every_backend_that_did_not_get_an_op_says_why_with_values(model: Path) -> None:
    """N7: the nearest pattern, and the condition that failed, with what was found."""
    report = json.loads(_explain(model, "--backend", "picky,ccompiler", "--json"))
    add, gelu, mul = report["ops"]
    assert "rows are 4; takes 5" in add["reasons"]["picky"]
    assert "five" in add["reasons"]["picky"]
    assert set(gelu["reasons"]) == {"picky", "ccompiler"}
    assert [op["owner"] for op in (add, gelu, mul)] == ["ccompiler", "host", "ccompiler"]
    for op in report["ops"]:
        assert set(op["reasons"]) == {"picky", "ccompiler"} - {op["owner"]}
        assert all(op["reasons"].values())


def test_the_json_has_what_its_docstring_says(model: Path) -> None:
    report = json.loads(_explain(model, "--backend", "ccompiler", "--json"))
    partition = {"backends", "ops", "owners", "instances", "traffic", "decided", "bytes_across"}
    assert set(report) == {"schema", "model", *partition}
    assert (report["schema"], report["model"]) == (1, "model.mlir")
    fields = {"op", "value", "location", "function", "owner", "pattern", "region", "reasons"}
    assert [set(op) for op in report["ops"]] == [fields] * 3
    assert report["owners"]["ccompiler"]["ops"] == 2
    regions = {op["region"] for op in report["ops"] if op["owner"] == "ccompiler"}
    assert set(report["owners"]["ccompiler"]["regions"]) == regions


def test_what_is_explained_is_what_compile_does(model: Path) -> None:
    """The regions of the report are the functions of the partitioned program."""
    report = json.loads(_explain(model, "--backend", "ccompiler", "--json"))
    code, out, _ = run(["compile", str(model), "--backend", "ccompiler", "--emit", "graph"])
    assert code == 0
    functions = re.findall(r'@(\w+)\(.*compiler = "ccompiler"', out)
    assert sorted(functions) == sorted(report["owners"]["ccompiler"]["regions"])


def test_the_table_has_the_first_reason_and_with_all_every_one(model: Path) -> None:
    short = _explain(model, "--backend", "picky,ccompiler")
    assert "picky: " in short
    assert "ccompiler: no pattern or op list has graph.gelu" not in short
    full = _explain(model, "--backend", "picky", "--backend", "ccompiler", "--all")
    assert "ccompiler: no pattern or op list has graph.gelu" in full
    assert full.endswith(
        "\npicky: 0 of 3 ops, 0 regions\nccompiler: 2 of 3 ops, 2 regions\nhost: 1 of 3 ops\n"
    )


def test_a_by_hand_choice_is_explained(model: Path) -> None:
    out = _explain(model, "--backend", "ccompiler", "--keep", "mul=ccompiler")
    assert "ccompiler: kept from backend ccompiler by hand" in out


# ------------------------------------------------------------------------------------ the layout


def _random_graph(count: int, seed: int) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return [
        (rng.randrange(max(0, n - 9), n), n)
        for n in range(1, count)
        for _ in range(rng.randrange(1, 4))
    ]


@pytest.mark.parametrize("seed", range(5))
def test_boxes_do_not_overlap_and_edges_go_down(seed: int) -> None:
    edges = _random_graph(60, seed)
    widths = [random.Random(seed + n).uniform(30, 150) for n in range(60)]
    layout = lay_out(widths, edges)
    rows: dict[float, list[tuple[float, float]]] = {}
    for (x, y), width in zip(layout.centres, widths, strict=True):
        rows.setdefault(y, []).append((x - width / 2, x + width / 2))
        assert 0 <= x - width / 2 <= x + width / 2 <= layout.width
        assert 0 < y < layout.height
    for row in rows.values():
        assert all(left[1] < right[0] for left, right in pairwise(sorted(row)))
    for (source, target), points in zip(edges, layout.edges, strict=True):
        assert (points[0], points[-1]) == (layout.centres[source], layout.centres[target])
        assert all(upper[1] < lower[1] for upper, lower in pairwise(points))


def test_a_chain_is_a_straight_line_and_nothing_has_a_layout_too() -> None:
    assert len({x for x, _ in lay_out([30, 90, 50], [(0, 1), (1, 2)]).centres}) == 1
    assert lay_out([], []).centres == ()


# ------------------------------------------------------------------------------------ the page


def _large(count: int) -> list[Box]:
    edges: dict[int, set[int]] = {}
    for source, target in _random_graph(count, 7):
        edges.setdefault(target, set()).add(source)
    owners = ["one", "two", "host"]
    return [
        Box(
            "conv",
            f"stage{n}/conv",
            "f32[1]",
            owners[n % 3],
            "",
            (("one", f"reason {n}"),),
            tuple(sorted(edges.get(n, ()))),
        )
        for n in range(count)
    ]


def test_a_thousand_ops_make_a_page_of_a_size_that_opens() -> None:
    text = page("large", _large(1000), ["one", "two", "host"], ["summary"])
    assert text.count("<g class=") == 1000
    assert len(text) < 2_000_000


def test_the_page_needs_nothing_else_and_no_name_breaks_it() -> None:
    nasty = '</script><script>alert("1")</script><!-- @DATA@ & é'
    boxes = [Box(nasty, nasty, "f32[]", "one", "", (("two", nasty),), ())]
    text = page(nasty, boxes, ["one", "two", "host"], [nasty])
    assert 'alert("1")</script>' not in text
    assert text.count("<script") == 2
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["0"]["reasons"] == [["two", nasty]]
    assert not re.search(
        r"(src|href)=|url\(|@import", re.sub(r"&[a-z]+;", "", text.replace(nasty, ""))
    )


def test_the_page_begins_with_what_was_left_to_the_host_and_why(tmp_path: Path) -> None:
    """Reasons that differ in the place of an op only are counted together."""
    model = tmp_path / "model.mlir"
    body = [
        f"%{n + 1} = graph.add %{n}, %{n} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>"
        for n in range(3)
    ]
    head = "func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {"
    model.write_text("\n".join([head, *body, "func.return %3 : tensor<4xf32>", "}"]))
    (tmp_path / "picky.py").write_text(PICKY.replace("rows, _ =", "(rows,) ="))
    made = tmp_path / "model.html"
    _explain(model, "--backend", "picky", "--html", str(made))
    (line,) = re.findall(r"<p>(\d ops on the host.*?)</p>", made.read_text())
    assert line.startswith("3 ops on the host, not picky: pattern five")
    assert line.endswith("rows are 4; takes 5")


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: apt-get install chromium"
)


def _browse(page: str, folder: Path, *options: str) -> str:
    assert CHROMIUM is not None
    quiet = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--window-size=900,700",
    ]
    done = subprocess.run(
        [CHROMIUM, *quiet, f"--user-data-dir={folder / 'profile'}", *options, page],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def _pixels(path: Path) -> Counter[tuple[int, ...]]:
    """How often each colour occurs in a PNG of 8 bits a channel, without interlacing."""
    data = path.read_bytes()
    width, height, depth, kind, _, _, interlace = struct.unpack(">IIBBBBB", data[16:29])
    assert (depth, interlace) == (8, 0)
    size = {2: 3, 6: 4}[kind]
    packed, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += length + 12
    raw = zlib.decompress(packed)
    line = bytearray(width * size)
    found: Counter[tuple[int, ...]] = Counter()
    for row in range(height):
        start = row * (width * size + 1)
        line = _unfilter(raw[start], raw[start + 1 : start + 1 + width * size], line, size)
        found.update(zip(*(line[channel::size] for channel in range(3)), strict=True))
    return found


def _unfilter(kind: int, data: bytes, above: bytearray, size: int) -> bytearray:
    """The bytes of a row: section 9 of the PNG specification."""
    line = bytearray(data)
    for i in range(len(line)):
        a, b = line[i - size] if i >= size else 0, above[i]
        c = above[i - size] if i >= size else 0
        nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
        line[i] = (line[i] + (0, a, b, (a + b) // 2, nearest)[kind]) % 256
    return line


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


@pytest.mark.slow
@needs_browser
def test_a_browser_shows_the_graph_in_the_colours_of_the_owners(
    model: Path, tmp_path: Path
) -> None:
    """N7: a screenshot has the colours."""
    made = tmp_path / "model.html"
    _explain(model, "--backend", "ccompiler,picky", "--html", str(made))
    shot = tmp_path / "shot.png"
    _browse(made.as_uri(), tmp_path, f"--screenshot={shot}")
    seen = _pixels(shot)
    box = 30 * 20  # pixels: less than the area of the smallest box
    assert seen[_rgb(PALETTE[0][0])] > 2 * box
    assert seen[_rgb(HOST_COLOURS[0])] > box
    assert seen[_rgb(PALETTE[1][0])] < box, "picky has nothing but its key in the legend"


@pytest.mark.slow
@needs_browser
def test_an_op_that_is_chosen_shows_its_reasons(model: Path, tmp_path: Path) -> None:
    made = tmp_path / "model.html"
    _explain(model, "--backend", "picky,ccompiler", "--html", str(made))
    shown = _browse(made.as_uri() + "#1", tmp_path, "--dump-dom")
    panel = shown.partition('<aside id="panel">')[2].partition("</aside>")[0]
    assert "<h2>add</h2>" in panel
    assert "rows are 4; takes 5" in panel
