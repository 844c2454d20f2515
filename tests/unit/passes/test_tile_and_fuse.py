"""Nests that run block by block mean what they meant, whatever they share; what is no block is left alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import inarch
from effort import seeds
from inarch.dialects import new_context
from inarch.dialects.loop.control import ForOp
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.passes.loop.tile_and_fuse import TileAndFusePass
from inarch.passes.memory.update_in_place import UpdateInPlacePass
from inarch.passes.tensorize.report import KernelReport
from inarch.pipeline.default import default_pipeline
from inarch.testing import check_semantics

STEPS = ("map", "row", "row", "product", "outside", "outside", "shifted", "other", "other", "place")


@dataclass
class _Chain:
    """A function that grows, of nests that hand matrices on: `[heads, rows, columns]`, or without columns."""

    random: random.Random
    heads: int
    rows: int
    lines: list[str] = field(default_factory=list[str])
    arguments: list[str] = field(default_factory=list[str])
    made: list[tuple[str, tuple[str, ...], int]] = field(
        default_factory=list[tuple[str, tuple[str, ...], int]]
    )
    """What has been written: its name, the order of its dimensions, its columns."""
    count: int = 0
    outside: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Vectors that nests have read, and their sizes: others write them later."""

    def name(self, hint: str) -> str:
        self.count += 1
        return f"%{hint}{self.count}"

    def shape(self, order: tuple[str, ...], columns: int) -> str:
        sizes = {"h": self.heads, "m": self.rows, "n": columns}
        return f"memref<{'x'.join(str(sizes[axis]) for axis in order)}xf32>"

    def argument(self, kind: str) -> str:
        name = self.name("x")
        self.arguments.append(f"{name}: {kind}")
        return name

    def nest(
        self,
        loops: str,
        ins: list[str],
        out: str,
        body: str,
        kinds: tuple[str, ...] = (),
    ) -> None:
        """`body` of its elements `%a`, `%b`, ... and of what is there, `%o`, gives `%r`."""
        names = [f"%{chr(ord('a') + at)}" for at in range(len(ins))]
        of = (*(kinds or ("f32",) * len(ins)), "f32")
        heads = ", ".join(f"{name}: {kind}" for name, kind in zip((*names, "%o"), of, strict=True))
        taken = f" ins({', '.join(ins)})" if ins else ""
        self.lines += [
            f"loop.nest ({loops}){taken} outs({out}) {{",
            f"^bb0({heads}):",
            *(f"  {line}" for line in body.split("; ")),
            "  loop.yield %r : f32",
            "}",
        ]

    def scratch(self, order: tuple[str, ...], columns: int) -> str:
        name = self.name("t")
        self.lines.append(f"{name} = loop.alloc : {self.shape(order, columns)}")
        self.made.append((name, order, columns))
        return name

    def loops(self, columns: int, kind: str = "") -> str:
        """In any order: that of a reduction is the last."""
        own = [f"h = {self.heads}", f"m = {self.rows}"]
        self.random.shuffle(own)
        return ", ".join((*own, f"n = {columns}{kind}"))

    def order(self) -> tuple[str, ...]:
        found = ["h", "m", "n"]
        if self.random.random() < 0.3:
            self.random.shuffle(found)
        return tuple(found)

    def step(self) -> None:
        """A nest that reads the last matrix, or any other one, and something else."""
        name, order, columns = self.made[-1]
        if self.random.random() < 0.2:
            name, order, columns = self.random.choice(self.made)
        kind = self.shape(order, columns)
        whole = f"{name}[{', '.join(order)}] : {kind}"
        what = self.random.choice(
            (
                "map",
                "row",
                "row",
                "product",
                "outside",
                "outside",
                "shifted",
                "other",
                "other",
                "place",
            )
        )
        if "n" not in order or what == "map":
            self._map(whole, order, columns)
        elif what == "row":
            out = self.scratch(("h", "m"), columns)
            of = f"{out}[h, m] init 0.0 : {self.shape(('h', 'm'), 0)}"
            self.nest(
                self.loops(columns, " reduction"), [whole], of, "%r = arith.addf %o, %a : f32"
            )
            self._map(whole, order, columns, f"{out}[h, m] : {self.shape(('h', 'm'), 0)}")
        elif what == "product":
            wide = self.random.choice((3, 5))
            weights = self.argument(f"memref<{columns}x{wide}xf32>")
            out_order = self.order()
            out = self.scratch(out_order, wide)
            at = ", ".join("k" if axis == "n" else axis for axis in order)
            loops = f"{self.loops(wide)}, k = {columns} reduction"
            self.nest(
                loops,
                [f"{name}[{at}] : {kind}", f"{weights}[k, n] : memref<{columns}x{wide}xf32>"],
                f"{out}[{', '.join(out_order)}] init 0.0 : {self.shape(out_order, wide)}",
                "%p = arith.mulf %a, %b : f32; %r = arith.addf %o, %p : f32",
            )
        elif what == "outside":
            form, size = self.random.choice(
                (
                    ("2 * m + n", 2 * self.rows + columns),
                    (f"-m + {self.rows - 1}", self.rows),
                    ("m - 1 PAD", self.rows - 1),
                    ("m + 1 PAD", self.rows),
                    ("h + m", self.heads + self.rows),
                )
            )
            other = self.name("x")
            self.arguments.append(f"{other}: memref<{size}xf32> {{inarch.result}}")
            self.outside.append((other, size))
            pad = " pad 1.0" if "PAD" in form else ""
            at = form.replace(" PAD", "").replace("2 * m", "m * 2")
            self._map(whole, order, columns, f"{other}[{at}]{pad} : memref<{size}xf32>")
        elif what == "shifted":  # of another row, that another iteration would write
            at = ", ".join("m - 1" if axis == "m" else axis for axis in order)
            self._map(f"{name}[{at}] pad 0.5 : {kind}", order, columns)
        elif what == "place":
            self._placed(whole, order, columns)
        elif self.outside and self.random.random() < 0.6:  # what others have read
            out, size = self.random.choice(self.outside)
            kind = f"memref<{size}xf32>"
            self.nest(
                f"i = {size}",
                [f"{out}[i] : {kind}"],
                f"{out}[i] : {kind}",
                "%r = math.absf %a : f32",
            )
        else:  # between the others, and none of them
            source = self.argument("memref<7xf32>")
            out = self.name("y")
            self.arguments.append(f"{out}: memref<7xf32> {{inarch.result}}")
            self.nest(
                "i = 7",
                [f"{source}[i] : memref<7xf32>"],
                f"{out}[i] : memref<7xf32>",
                "%r = arith.negf %a : f32",
            )

    def _placed(self, whole: str, order: tuple[str, ...], columns: int) -> None:
        """A nest that asks where it is, or reads where another one says."""
        out = self.scratch(("h", "m"), columns)
        row = f"{out}[h, m] : {self.shape(('h', 'm'), 0)}"
        loops = f"h = {self.heads}, m = {self.rows}"
        if self.random.random() < 0.5:
            place = "%p = loop.point m * 2 + 1 : index; %q = arith.index_cast %p : index to i64; "
            self.nest(loops, [], row, place + "%r = arith.sitofp %q : i64 to f32")
        else:
            ids = self.argument(f"memref<{self.rows}xi64>")
            table = self.argument(f"memref<{self.heads}x6xf32>")
            picked = f"{table}[h, at(0)] : memref<{self.heads}x6xf32>"
            of = f"{ids}[m] : memref<{self.rows}xi64>"
            self.nest(loops, [of, picked], row, "%r = arith.negf %b : f32", kinds=("i64", "f32"))
        self._map(whole, order, columns, row)

    def _map(
        self, whole: str, order: tuple[str, ...], columns: int, other: str | None = None
    ) -> None:
        has_columns = "n" in order
        out_order = self.order() if has_columns else ("h", "m")
        out = self.scratch(out_order, columns)
        loops = self.loops(columns) if has_columns else f"h = {self.heads}, m = {self.rows}"
        ins = [whole, *([other] if other is not None else [])]
        body = "%r = arith.subf %a, %b : f32" if other is not None else "%r = arith.negf %a : f32"
        self.nest(
            loops, ins, f"{out}[{', '.join(out_order)}] : {self.shape(out_order, columns)}", body
        )

    def text(self) -> str:
        name, order, columns = self.made[-1]
        kind = self.shape(order, columns)
        self.arguments.append(f"%result: {kind} {{inarch.result}}")
        loops = self.loops(columns) if "n" in order else f"h = {self.heads}, m = {self.rows}"
        at = ", ".join(order)
        self.nest(
            loops, [f"{name}[{at}] : {kind}"], f"%result[{at}] : {kind}", "%r = arith.negf %a : f32"
        )
        inner = "\n".join(f"  {line}" for line in (*self.lines, "func.return"))
        return f"func.func @main({', '.join(self.arguments)}) {{\n{inner}\n}}"


def chain(seed: int) -> str:
    """A program of two to eight steps."""
    choose = random.Random(seed)
    made = _Chain(choose, choose.choice((1, 2, 3)), choose.choice((4, 5, 7)))
    first = made.argument(made.shape(("h", "m", "n"), 4))
    made.made.append((first, ("h", "m", "n"), 4))
    for _ in range(choose.randint(2, 8)):
        made.step()
    return made.text()


def test_random_chains_mean_what_they_meant() -> None:
    tiled, chosen = 0, seeds(10, 40)
    for seed in chosen:
        context = new_context()
        module = parse_module(context, chain(seed))
        verify_module(module)
        rows = random.Random(seed).choice((0, 1, 2, 3))
        one = TileAndFusePass(rows=rows, always=True)
        after = module.clone()
        one.apply(context, after)
        verify_module(after)
        tiled += any(isinstance(op, ForOp) for op in after.walk())
        check_semantics(module, pipeline=[one, UpdateInPlacePass()], ctx=context)
    assert tiled > len(chosen) // 2


ATTENTION = (2, 701, 40)
"""Heads, rows, depth."""


def attention() -> tuple[Context, ModuleOp]:
    """Of rows that are not whole blocks, and more than any cache holds."""
    heads, rows, depth = ATTENTION
    kind = f"tensor<{heads}x{rows}x{depth}xf32>"
    scores = f"tensor<{heads}x{rows}x{rows}xf32>"
    turned = f"tensor<{heads}x{depth}x{rows}xf32>"
    text = f"""func.func @main(%q: {kind}, %k: {kind}, %v: {kind}) -> {kind} {{
  %0 = graph.transpose %k perm = [0, 2, 1] : {kind} -> {turned}
  %1 = graph.matmul %q, %0 : {kind}, {turned} -> {scores}
  %2 = graph.softmax %1 axis = -1 : {scores} -> {scores}
  %3 = graph.matmul %2, %v : {scores}, {kind} -> {kind}
  func.return %3 : {kind}
}}"""
    context = new_context()
    return context, parse_module(context, text)


def rows() -> tuple[Context, ModuleOp]:
    """Rows that three nests read, each of which writes one number a row or the result."""
    kind = "tensor<700x1000xf32>"
    context = new_context()
    text = f"""func.func @main(%x: {kind}) -> {kind} {{
  %0 = graph.log_softmax %x axis = 1 : {kind} -> {kind}
  func.return %0 : {kind}
}}"""
    return context, parse_module(context, text)


@pytest.mark.parametrize("program", [attention, rows])
def test_what_no_cache_holds_runs_by_blocks(
    program: Callable[[], tuple[Context, ModuleOp]],
) -> None:
    """By the default pipeline."""
    context, module = program()
    tiled = import_model(module, context, Options(target="x86-64-v4", machine="zen4"))
    for one in default_pipeline():
        one.apply(context, tiled)
        if one.name == "tile-and-fuse":
            break
    assert any(isinstance(op, ForOp) for op in tiled.walk())


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
def test_attention_that_no_cache_holds_is_right(threads: int) -> None:
    """The whole, and NumPy in double precision."""
    _, module = attention()
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(ATTENTION).astype(np.float32) for _ in range(3))
    found = np.asarray(inarch.compile(module, machine="zen4")(q, k, v, threads=threads))
    weights = np.exp(q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1))
    expected = weights @ v / weights.sum(-1, keepdims=True)
    assert np.abs(found - expected).max() < 2e-5 * np.abs(expected).max()


def test_channels_that_lie_side_by_side_are_not_taken_apart() -> None:
    """A depthwise layer of MobileNetV2: four of a vector's sixteen channels at a time have no kernel."""
    shapes = [
        "1x16x112x112",
        "1x96x112x112",
        "1x96x112x112",
        "1x96x56x56",
        "1x96x56x56",
        "1x24x56x56",
    ]
    kinds = [f"tensor<{shape}xf32>" for shape in shapes]
    lines: list[str] = []
    layers = [("96x16x1x1", 1, 0, 1), None, ("96x1x3x3", 2, 1, 96), None, ("24x96x1x1", 1, 0, 1)]
    value = "%x"
    for at, layer in enumerate(layers):
        types = f"{kinds[at]} -> {kinds[at + 1]}"
        if layer is None:
            lines.append(f"%{at} = graph.relu {value} : {types}")
        else:
            weights, stride, pad, groups = layer
            lines.append(f"%w{at} = graph.constant dense<0.5> : tensor<{weights}xf32>")
            lines.append(
                f"%{at} = graph.conv {value}, %w{at} strides = [{stride}, {stride}] "
                f"pads = [{pad}, {pad}, {pad}, {pad}] dilations = [1, 1] groups = {groups} : "
                f"{kinds[at]}, tensor<{weights}xf32> -> {kinds[at + 1]}"
            )
        value = f"%{at}"
    body = "\n".join([*lines, f"func.return {value} : {kinds[-1]}"])
    text = f"func.func @main(%x: {kinds[0]}) -> {kinds[-1]} {{\n{body}\n}}"
    context = new_context()
    module = parse_module(context, text)
    module = import_model(module, context, Options(target="x86-64-v4", machine="zen4"))
    for one in default_pipeline():
        one.apply(context, module)
        if one.name == "tensorize":
            break
    report = facts_of(context).take(KernelReport)
    assert report is not None
    assert report.taken_by("depthwise-f32")
