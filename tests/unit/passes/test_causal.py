"""Keys that a constant mask hides from all rows of a block are left out, and nothing else is.

NumPy in double precision says what attention is, and which masks hide keys of all forms that exporters write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import inarch
from effort import SOAK, effort
from inarch.definitions.execute import execute
from inarch.dialects import new_context
from inarch.dialects.loop.control import ForOp
from inarch.ir.index.span import number_of_index
from inarch.ir.payload.constants import constant_array
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.passes.loop.tiling import scores as scores_module
from inarch.pipeline.text import parse_pipeline

LOWEST = float(np.finfo(np.float32).min)
FORMS = ("added", "lowest", "picked", "turned", "cut", "padded", "padded-lowest", "nearly")
MASKS = (
    "causal",
    "later",
    "holes",
    "window",
    "empty-row",
    "full",
    "behind",
    "both-sides",
    "begins",
    "sinks",
)
LOOPS = (
    "prepare,graph,graph-to-loop,drop-unit-iterators,fold-scalars,rematerialize,fuse-nests,normalize-last,"
    "apply-schedule,tile-and-fuse{rows=ROWS keys=KEYS}"
)


@dataclass(frozen=True)
class Case:
    """Attention with a constant mask."""

    form: str
    hidden: Any
    """(rows, keys): what the mask hides."""
    heads: int = 2
    depth: int = 3
    columns: int = 2

    @property
    def number(self) -> float:
        """Of a hidden score."""
        numbers = {"lowest": LOWEST, "turned": LOWEST, "cut": LOWEST, "padded-lowest": LOWEST}
        return numbers.get(self.form, -1e30 if self.form == "nearly" else -np.inf)

    @property
    def window(self) -> tuple[int | None, int | None, int]:
        """Where rows begin and end to see keys, by their numbers, where keys may be left out; else None.

        And how many keys come before a gap in what the last row sees: they count for no row's begin.
        """
        rows, keys = self.hidden.shape
        shown = ~self.hidden
        if self.form in ("padded-lowest", "nearly"):
            return None, None, 0
        if self.number > -np.inf:
            shown = shown | ~shown.any(axis=1, keepdims=True)
        seen = [(m, np.flatnonzero(row)) for m, row in enumerate(shown) if row.any()]
        row = [*shown[seen[-1][0]], False]
        gap = row.index(False)
        always = gap if any(row[gap:]) else 0
        first = min(int(one) - m for m, own in seen for one in own if one >= always)
        last = max(int(own[-1]) + 1 - m for m, own in seen)
        if rows - 1 + first <= always:
            first, always = None, 0
        return first, (last if last < keys else None), always

    def text(self) -> str:
        m, n = self.hidden.shape
        h, d, e = self.heads, self.depth, self.columns
        shapes = {"q": (h, m, d), "k": (h, d, n), "v": (h, n, e), "pad": (m, n)}
        shapes |= {"s": (h, m, n), "y": (h, m, e), "mask": (m, n)}
        t = {name: f"tensor<{'x'.join(map(str, s))}xf32>" for name, s in shapes.items()}
        flags, kind = f"tensor<{m}x{n}xi1>", t["s"]
        added = np.where(self.hidden, self.number, 0).astype(np.float32).tolist()
        pick = self.hidden if self.form == "turned" else ~self.hidden
        numbers = _literal(added)
        lines = [f"%0 = graph.matmul %q, %k : {t['q']}, {t['k']} -> {kind}"]
        lines += [f"%c = graph.constant dense<{self.number_text}> : tensor<f32>"]
        last = "%0"
        if self.form.startswith("padded"):
            lines += [f"%p = graph.add %0, %pad : {kind}, {t['pad']} -> {kind}"]
            last = "%p"
        if self.form in ("picked", "turned"):
            lines += [f"%m = graph.constant dense<{_literal(pick.tolist())}> : {flags}"]
            sides = ("%c", last) if self.form == "turned" else (last, "%c")
            kinds = ("tensor<f32>", kind) if self.form == "turned" else (kind, "tensor<f32>")
            lines += [
                f"%1 = graph.select %m, {', '.join(sides)} : {flags}, {', '.join(kinds)} -> {kind}"
            ]
        else:
            lines += [f"%m = graph.constant dense<{numbers}> : {t['mask']}"]
            lines += [f"%1 = graph.add {last}, %m : {kind}, {t['mask']} -> {kind}"]
        last = "%1"
        if self.form == "cut":
            lines += [f"%2 = graph.maximum %1, %c : {kind}, tensor<f32> -> {kind}"]
            last = "%2"
        lines += [f"%w = graph.softmax {last} axis = -1 : {kind} -> {kind}"]
        lines += [f"%y = graph.matmul %w, %v : {kind}, {t['v']} -> {t['y']}"]
        body = "\n  ".join([*lines, f"func.return %y : {t['y']}"])
        inputs = ", ".join(f"%{name}: {t[name]}" for name in ("q", "k", "v", "pad"))
        return f"func.func @main({inputs}) -> {t['y']} {{\n  {body}\n}}"

    @property
    def number_text(self) -> str:
        return "0xFF800000" if self.number == -np.inf else f"{self.number:.9e}"

    def inputs(self, rng: Any) -> list[Any]:
        m, n = self.hidden.shape
        h, d, e = self.heads, self.depth, self.columns
        shapes = ((h, m, d), (h, d, n), (h, n, e))
        q, k, v = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
        low = LOWEST if self.form == "padded-lowest" else -np.inf
        pad = np.where(rng.random((m, n)) < 0.2, low, 0).astype(np.float32)
        return [q, k, v, pad]

    def expected(self, q: Any, k: Any, v: Any, pad: Any) -> Any:
        """In double precision."""
        with np.errstate(all="ignore"):
            product: Any = q.astype(np.float64) @ k.astype(np.float64)
            scores = self._masked(product + pad if self.form.startswith("padded") else product)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            return (weights / weights.sum(-1, keepdims=True)) @ v.astype(np.float64)

    def _masked(self, scores: Any) -> Any:
        """Scores with the mask, as f32 adds it: beside the lowest number, a score is nothing."""
        if self.form in ("picked", "turned"):
            return np.where(self.hidden, self.number, scores)
        lost: Any = scores.astype(np.float32)
        found = scores.copy()
        found[..., self.hidden] = (lost + np.float32(self.number))[..., self.hidden]
        return self._cut(found)

    def _cut(self, scores: Any) -> Any:
        return np.maximum(scores, self.number) if self.form == "cut" else scores


def _literal(array: Any) -> str:
    """A nested list of flags or of numbers, as text of MLIR."""
    if isinstance(array, list):
        return f"[{', '.join(_literal(each) for each in cast('list[Any]', array))}]"
    if isinstance(array, bool):
        return "true" if array else "false"
    return "0xFF800000" if array == -np.inf else f"{array:.9e}"


def mask_of(kind: str, rows: int, rng: Any) -> Any:
    """Of so many rows, and of as many keys or of some that were before."""
    keys = rows + (int(rng.integers(1, 9)) if kind == "later" else 0)
    place = np.arange(keys) - (keys - rows)
    distance = place[None, :] - np.arange(rows)[:, None]
    hidden = distance > 0
    if kind == "holes":
        hidden |= rng.random(hidden.shape) < 0.4
        np.fill_diagonal(hidden, 0)
    elif kind == "window":
        hidden |= distance < -4
    elif kind == "empty-row":
        hidden[int(rng.integers(rows))] = True
    elif kind == "behind":
        hidden = distance < -int(rng.integers(3))
    elif kind == "both-sides":
        hidden = abs(distance) > 2
    elif kind in ("begins", "sinks"):  # all see the first one, or some
        hidden |= distance < -3
        hidden[:, : 1 if kind == "begins" else int(rng.integers(2, 5))] = False
    elif kind == "full":
        hidden = rng.random(hidden.shape) < 0.3
        hidden[0, -1] = False
    return hidden


def tiled(case: Case, rows: int, keys: int) -> tuple[Any, ModuleOp]:
    context = new_context()
    module = parse_module(context, case.text())
    for one in parse_pipeline(LOOPS.replace("ROWS", str(rows)).replace("KEYS", str(keys))):
        one.apply(context, module)
    verify_module(module)
    return context, module


def check(case: Case, block: int, step: int, rng: Any) -> None:
    """By definition, in blocks of so many rows and keys; and a key that is left out is not looked at."""
    rows = case.hidden.shape[0]
    context, module = tiled(case, block, step)
    first, last, always = case.window
    every = [op for op in module.walk() if isinstance(op, ForOp)]
    loops = [op for op in every if any(number_of_index(bound) is None for bound in op.bounds)]
    starts = [op for op in loops if not isinstance(op.bounds[0], int)]
    keys = case.hidden.shape[1]
    lost_key = -(-always // step) * step  # the first one that no row sees whatever its window
    moves = first is not None and lost_key < keys // step * step
    assert bool(loops) == (moves or last is not None), f"{case}"
    assert bool(starts) == moves, f"{case}"
    values = case.inputs(rng)
    (found,) = execute(module, values, context)
    wanted = case.expected(*values)
    assert np.array_equal(np.isnan(found), np.isnan(wanted)), f"{case}"
    assert np.nanmax(np.abs(found - wanted), initial=0) < 1e-5
    if lost_key >= keys // step * step:
        return
    values[2][:, lost_key] = np.nan
    (found,) = execute(module, values, context)
    rows_of = [m // block * block for m in range(rows)]
    late = [first is not None and m + first >= lost_key + step for m in rows_of]
    until = keys + rows if last is None else last
    ends = [min(m + block, rows) - 1 + until <= lost_key for m in rows_of]
    sees = ~np.array(late) & ~np.array(ends)
    lost = np.isnan(found).all(axis=(0, 2)) & ~np.isnan(wanted).any(axis=(0, 2))
    assert np.array_equal(lost, sees & ~np.isnan(wanted).any(axis=(0, 2))), f"{case}"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", FORMS)
def test_what_is_left_out_has_no_weight(form: str, seed: int) -> None:
    """Loops by their definition; any blocks of rows and keys; who may leave keys out does."""
    rng = np.random.default_rng([seed, FORMS.index(form)])
    one = MASKS[(seed + FORMS.index(form)) % len(MASKS)]
    for kind in MASKS[seed::6] if SOAK else [one]:
        rows = int(rng.integers(7, effort(15, 21)))
        case = Case(form, mask_of(kind, rows, rng))
        check(case, int(rng.integers(2, rows)), int(rng.integers(2, rows)), rng)


def test_keys_that_all_see_stand_before_a_window() -> None:
    """Two first keys, and four up to a row's own: blocks between are left out."""
    rng = np.random.default_rng(2)
    rows = effort(16, 24)
    distance = np.arange(rows)[None, :] - np.arange(rows)[:, None]
    hidden = (distance > 0) | (distance < -3)
    hidden[:, :2] = distance[:, :2] > 0
    case = Case("added", hidden)
    assert case.window == (-3, 1, 2)
    for block, step in ((4, 4), (3, 2), (5, 3))[: effort(1, 3)]:
        check(case, block, step, rng)


def test_compiled_grouped_heads_do_not_look_at_what_is_hidden() -> None:
    """Values that are no numbers, which rows of no earlier block see, nor of one behind their window."""
    rng = np.random.default_rng(0)
    rows, heads, shared, depth = effort(80, 72), 6, 2, 16  # half the C where blocks are whole
    distance = np.arange(rows)[None, :] - np.arange(rows)[:, None]
    hidden = (distance > 0) | (distance < -14)
    t = f"tensor<{heads}x{rows}x{depth}xf32>"
    g, w = f"tensor<{shared}x1x{rows}x{depth}xf32>", f"tensor<{shared}x3x{rows}x{depth}xf32>"
    s, m = f"tensor<{heads}x{rows}x{rows}xf32>", f"tensor<{rows}x{rows}xf32>"
    r = f"tensor<{heads}x{depth}x{rows}xf32>"
    added = _literal(np.where(hidden, -np.inf, 0).tolist())
    text = f"""func.func @main(%q: {t}, %k: {g}, %v: {g}) -> {t} {{
  %0 = graph.broadcast_to %k shape = [{shared}, 3, {rows}, {depth}] : {g} -> {w}
  %1 = graph.reshape %0 shape = [{heads}, {rows}, {depth}] : {w} -> {t}
  %2 = graph.transpose %1 perm = [0, 2, 1] : {t} -> {r}
  %3 = graph.matmul %q, %2 : {t}, {r} -> {s}
  %4 = graph.constant dense<{added}> : {m}
  %5 = graph.add %3, %4 : {s}, {m} -> {s}
  %6 = graph.softmax %5 axis = -1 : {s} -> {s}
  %7 = graph.broadcast_to %v shape = [{shared}, 3, {rows}, {depth}] : {g} -> {w}
  %8 = graph.reshape %7 shape = [{heads}, {rows}, {depth}] : {w} -> {t}
  %9 = graph.matmul %6, %8 : {s}, {t} -> {t}
  func.return %9 : {t}
}}"""
    pipeline = LOOPS.replace("ROWS", "16").replace("KEYS", "16") + ",padding,kernel,schedule,memory"
    call = inarch.compile(parse_module(new_context(), text), pipeline=pipeline)
    q = rng.standard_normal((heads, rows, depth)).astype(np.float32)
    k, v = (rng.standard_normal((shared, 1, rows, depth)).astype(np.float32) for _ in range(2))
    k, v = (np.broadcast_to(x, (shared, 3, rows, depth)) for x in (k, v))
    scores = q @ k.reshape(q.shape).transpose(0, 2, 1).astype(np.float64)
    scores = np.where(hidden, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = weights / weights.sum(-1, keepdims=True) @ v.reshape(q.shape)
    k, v = (x[:, :1].copy() for x in (k, v))
    assert np.abs(np.asarray(call(q, k, v)) - wanted).max() < 1e-5
    k[:, :, 33], v[:, :, 34] = np.nan, np.inf
    found = np.asarray(call(q, k, v))
    assert np.abs(found - wanted)[:, :32].max() < 1e-5
    assert np.isnan(found[:, 33:64]).all()
    assert np.abs(found - wanted)[:, 64:].max() < 1e-5


def test_each_softmax_of_a_program_looks_as_far_as_its_own_mask() -> None:
    """A softmax is asked once for all groups that have it, and for no other one."""
    rng = np.random.default_rng(1)
    rows, depth = effort(12, 20), 3
    distance = np.arange(rows)[None, :] - np.arange(rows)[:, None]
    masks = [distance > further for further in (0, 9, rows)]  # the last one hides nothing
    t, s, r = (
        f"tensor<2x{rows}x{depth}xf32>",
        f"tensor<2x{rows}x{rows}xf32>",
        f"tensor<2x{depth}x{rows}xf32>",
    )
    lines = [f"  %t = graph.transpose %k perm = [0, 2, 1] : {t} -> {r}"]
    for n, hidden in enumerate(masks):
        added = _literal(np.where(hidden, -np.inf, 0).tolist())
        lines += [
            f"  %a{n} = graph.matmul %q, %t : {t}, {r} -> {s}",
            f"  %m{n} = graph.constant dense<{added}> : tensor<{rows}x{rows}xf32>",
            f"  %s{n} = graph.add %a{n}, %m{n} : {s}, tensor<{rows}x{rows}xf32> -> {s}",
            f"  %p{n} = graph.softmax %s{n} axis = -1 : {s} -> {s}",
            f"  %y{n} = graph.matmul %p{n}, %v : {s}, {t} -> {t}",
        ]
    results = ", ".join(f"%y{n}" for n in range(3))
    text = f"func.func @main(%q: {t}, %k: {t}, %v: {t}) -> ({t}, {t}, {t}) {{\n"
    text += "\n".join([*lines, f"  func.return {results} : {t}, {t}, {t}", "}"])
    context = new_context()
    module = parse_module(context, text)
    for one in parse_pipeline(LOOPS.replace("ROWS", "4").replace("KEYS", "4")):
        one.apply(context, module)
    assert any(isinstance(op, ForOp) and op.counted() is None for op in module.walk())
    q, k, v = (rng.standard_normal((2, rows, depth)).astype(np.float32) for _ in range(3))
    for hidden, found in zip(masks, execute(module, [q, k, v], context), strict=True):
        scores = np.where(hidden, -np.inf, q @ k.transpose(0, 2, 1).astype(np.float64))
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        assert np.abs(found - weights / weights.sum(-1, keepdims=True) @ v).max() < 1e-5


def test_a_constant_is_read_once_for_all_layers_that_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three softmaxes of one mask."""
    read: list[Any] = []

    def counted(value: Any, store: Any) -> Any:
        read.append(value)
        return constant_array(value, store)

    monkeypatch.setattr(scores_module, "constant_array", counted)
    hidden = mask_of("window", 20, np.random.default_rng(0))
    t, s = "tensor<2x20x20xf32>", "tensor<20x20xf32>"
    added = _literal(np.where(hidden, -np.inf, 0).tolist())
    lines = [f"%m = graph.constant dense<{added}> : {s}"]
    for n in range(3):
        lines += [
            f"%a{n} = graph.matmul %x{n}, %x{n} : {t}, {t} -> {t}",
            f"%s{n} = graph.add %a{n}, %m : {t}, {s} -> {t}",
            f"%p{n} = graph.softmax %s{n} axis = -1 : {t} -> {t}",
            f"%x{n + 1} = graph.matmul %p{n}, %x{n} : {t}, {t} -> {t}",
        ]
    text = f"func.func @main(%x0: {t}) -> {t} {{\n" + "\n".join(lines)
    context = new_context()
    module = parse_module(context, f"{text}\nfunc.return %x3 : {t}\n}}")
    for one in parse_pipeline(LOOPS.replace("ROWS", "4").replace("KEYS", "4")):
        if one.name != "outline-layers":  # which leaves one of the three
            one.apply(context, module)
    loops = [op for op in module.walk() if isinstance(op, ForOp) and op.counted() is None]
    assert len(loops) == 3
    assert len(read) == 1
