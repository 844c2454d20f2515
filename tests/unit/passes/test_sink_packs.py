"""Panels of packs, and blocks of the calls that read them, mean what they meant: random packs and calls."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import inarch
from effort import seeds
from inarch.dialects import new_context
from inarch.dialects.kernel.call import CallOp
from inarch.dialects.loop.control import ForOp
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.machine import machines
from inarch.passes.loop.block_calls import BlockCallsPass
from inarch.passes.loop.sink_packs import SinkPacksPass
from inarch.pipeline.default import default_pipeline
from inarch.testing import check_semantics

KERNELS = "".join(
    f'kernel.def @{name} computes "{meaning}" arguments [#kernel.operand<A : f32 read rank 2 align 4>, '
    f"#kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 {access} rank 2 align 4>] "
    'needs [] source "x"\n'
    for name, access, meaning in (
        ("tile", "update", "for m in 2, l in 3, k in K: C[m, l] += A[m, k] * B[k, l]"),
        ("row", "update", "for m in 1, l in 3, k in K: C[m, l] += A[m, k] * B[k, l]"),
        (
            "fresh",
            "write",
            "for m in 2, l in 3: C[m, l] = 0; for k in K: C[m, l] += A[m, k] * B[k, l]",
        ),
    )
)
"""Two rows at a time, and one; and two that begin anew."""
L = 3
"""Columns of a panel."""


@dataclass
class _Product:
    """c += a * b by panels of b; now and then something stands in the way of packing one by one."""

    choose: random.Random
    lines: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.panels = self.choose.choice((2, 3, 4, 5))
        self.pairs = self.choose.choice((1, 2, 3))
        self.rest = self.choose.choice((0, 1))
        self.depth = self.choose.choice((2, 5))
        self.start = self.choose.choice((0, 0, 1))
        self.rows = 2 * self.pairs + self.rest
        # What is behind the last panel; a column too few: the last panel is padded.
        more = self.choose.choice((0, 0, 2, -1))
        self.width = self.start + L * self.panels + more
        self.columns = L * self.panels + self.choose.choice((0, 2))
        self.types = {
            "a": f"memref<{self.rows}x{self.depth}xf32>",
            "b": f"memref<{self.depth}x{self.width}xf32>",
            "c": f"memref<{self.rows}x{self.columns}xf32>",
            "p": f"memref<{self.panels}x{self.depth}x{L}xf32>",
        }

    def pack(self) -> None:
        index = f"d0 * {L} + d2 + {self.start}"
        if self.choose.random() < 0.1:  # panels that overlap
            index = f"d0 * 2 + d2 + {self.start}"
        self.lines += [
            f"%p = loop.alloc : {self.types['p']}",
            f"kernel.pack %b[d1, {index}] to %p[d0, d1, d2] : {self.types['b']}, {self.types['p']}",
        ]

    def call(self, kernel: str, first: int, count: int, tall: int) -> None:
        size, step = self.depth * L, L
        loops = [f"n in {self.panels}", f"m in {count}"]
        if self.choose.random() < 0.15:
            loops.reverse()
        if self.choose.random() < 0.1:  # not all of the panels
            loops = [one.replace(f"n in {self.panels}", "n in 1") for one in loops]
        a = f"%a[m * {tall * self.depth} + {first * self.depth}] strides [{self.depth}, 1]"
        panel = f"n * {size}" if self.choose.random() < 0.9 else "0"
        b = f"%p[{panel}] strides [{L}, 1]"
        start = first * self.columns
        if kernel == "fresh" and self.columns > L * self.panels:
            start += self.choose.choice((1, 2))  # over what another iteration writes
        c = f"%c[n * {step} + m * {tall * self.columns} + {start}] strides [{self.columns}, 1]"
        kinds = ", ".join(self.types[name] for name in "apc")
        self.lines.append(
            f"kernel.call @{kernel} for ({', '.join(loops)}) ({a}, {b}, {c}) sizes [{self.depth}] "
            f": {kinds}"
        )

    def other(self) -> None:
        """Something that is between, and may be in the way."""
        name = self.choose.choice(("a", "b", "c", "c", "d"))
        shape = {"a": self.types["a"], "b": self.types["b"], "c": self.types["c"]}.get(
            name, "memref<4x4xf32>"
        )
        rows, columns = shape.removeprefix("memref<").removesuffix("xf32>").split("x")
        body = [
            f"loop.nest (i = {rows}, j = {columns}) outs(%{name}[i, j] : {shape}) {{",
            "^bb0(%o: f32):",
            "  %r = arith.negf %o : f32",
            "  loop.yield %r : f32",
            "}",
        ]
        self.lines += body

    def text(self) -> str:
        steps = [lambda: self.call("tile", 0, self.pairs, 2)]
        if self.rest:
            steps.append(lambda: self.call("row", self.rows - 1, 1, 1))
        if self.choose.random() < 0.4:  # to the same elements once more
            kernel = self.choose.choice(("tile", "fresh"))
            steps.append(lambda: self.call(kernel, 0, self.pairs, 2))
        self.pack()
        for step in steps:
            if self.choose.random() < 0.2:
                self.other()
            step()
        if self.choose.random() < 0.2:
            self.other()
        if self.choose.random() < 0.1:  # somebody else reads all panels
            reader = (
                f"kernel.pack %p[0, d0, d1] to %e[d0, d1] : {self.types['p']}, "
                f"memref<{self.depth}x{L}xf32>"
            )
            loop = ["loop.for %i = 0 to 2 {", reader, "loop.yield", "}"]
            self.lines += self.choose.choice(([reader], loop))
        kinds = {**self.types, "d": "memref<4x4xf32>", "e": f"memref<{self.depth}x{L}xf32>"}
        arguments = ", ".join(
            f"%{name}: {kinds[name]}{' {inarch.result}' if name in 'bcde' else ''}"
            for name in "abcde"
        )
        inner = "\n".join(f"  {line}" for line in (*self.lines, "func.return"))
        return f"{KERNELS}func.func @main({arguments}) {{\n{inner}\n}}"


def test_random_packs_mean_what_they_meant() -> None:
    sunk, blocked, looped, chosen = 0, 0, 0, seeds(25, 200)
    for seed in chosen:
        context, choose = new_context(), random.Random(seed)
        module = parse_module(context, _Product(choose).text())
        verify_module(module)
        before = _calls(module)
        blocks = BlockCallsPass(
            iterations=choose.choice((1, 2)), panels=choose.choice((0, 2, 2, 3))
        )
        for one in (SinkPacksPass(always=True), blocks):
            after = module.clone()
            one.apply(context, after)
            verify_module(after)
            loops = any(isinstance(op, ForOp) for op in after.walk())
            sunk += loops and one is not blocks
            looped += loops and one is blocks
            blocked += _calls(after) != before and one.name == "block-calls"
            check_semantics(module, pipeline=[one], ctx=context)
    assert 0.3 < sunk / len(chosen) < 0.8
    assert 0.3 < blocked / len(chosen) < 0.8
    assert looped / len(chosen) > 0.05


def _calls(module: ModuleOp) -> list[tuple[int, ...]]:
    return [op.trip_counts for op in module.walk() if isinstance(op, CallOp)]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("way", ["panels", "blocks"])
def test_a_product_that_no_cache_holds_is_packed_and_is_right(
    way: str, threads: int, tmp_path: Path
) -> None:
    """The whole, by the default pipeline: rows, columns and depth that are not whole tiles, and NumPy."""
    m, n, k = (203, 1203, 301) if way == "panels" else (803, 603, 2001)
    text = (
        f"func.func @main(%a: tensor<{m}x{k}xf32>, %c: tensor<{n}x{k}xf32>) -> tensor<{m}x{n}xf32> {{\n"
        f"  %b = graph.transpose %c perm = [1, 0] : tensor<{n}x{k}xf32> -> tensor<{k}x{n}xf32>\n"
        f"  %0 = graph.matmul %a, %b : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32> -> tensor<{m}x{n}xf32>\n"
        f"  func.return %0 : tensor<{m}x{n}xf32>\n}}\n"
    )
    machine = "zen4"
    if way == "blocks":
        zen4 = (Path(machines.__file__).parent / "zen4.toml").read_text()
        path = tmp_path / "small.toml"
        small = re.sub(r"\[l3\]\nbytes = \d+", "[l3]\nbytes = 3145728", zen4)
        path.write_text(re.sub(r"\ncores = \d+", "\ncores = 1", small))
        machine = str(path)
    context = new_context()
    module = parse_module(context, text)
    done = import_model(module.clone(), context, Options(target="x86-64-v4", machine=machine))
    for one in default_pipeline():
        one.apply(context, done)
        if one.name == "sink-packs":
            break
    assert any(isinstance(op, ForOp) for op in done.walk())
    assert any(len(counts) == 3 for counts in _calls(done)) == (way == "blocks")
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (m, k)).astype(np.float32)
    b = rng.integers(-4, 5, (n, k)).astype(np.float32)
    product = inarch.compile(module, machine=machine)
    # Small whole numbers: sums are exact in any order.
    assert np.array_equal(np.asarray(product(a, b, threads=threads)), a @ b.T)
