"""Loops of computed bounds: split, interchanged and shared among threads, against NumPy (T20)."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

import inarch
from effort import effort
from inarch.core.errors import InarchError
from inarch.definitions.execute import execute
from inarch.dialects import new_context
from inarch.dialects.loop.control import ForOp
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.passes.loop.parallelize import ParallelizePass
from inarch.passes.schedule.language.script import parse_schedule, run_schedule

PIPELINE = "schedule-nests,parallelize{threads=3 least=LEAST},memory"
ROW = "memref<1x{n}xf32, strided<[{n}, 1], offset: ?>>"


@dataclass(frozen=True)
class Case:
    """y = x, and -x in some rows and columns: rows by a computed loop, columns by another one, or a nest."""

    shape: tuple[int, int]
    rows: tuple[int, int]
    """The first one, and the step."""
    columns: tuple[int, int] | None
    """None: all, by a nest."""
    is_step_computed: bool

    @classmethod
    def draw(cls, choose: random.Random) -> Case:
        shape = choose.randint(1, 70), choose.randint(1, 20)
        rows = choose.choice((0, 0, 0, 3)), choose.choice((1, 1, 2, 5))
        columns = None if choose.random() < 0.4 else (choose.randint(0, 2), choose.randint(1, 3))
        return cls(shape, rows, columns, choose.random() < 0.2)

    def text(self, k: int) -> str:
        """The lines of loop number `k`, on %x and %y of its number."""
        m, n = self.shape
        kind, part = f"memref<{m}x{n}xf32>", ROW.format(n=n)
        first, step = self.rows
        by = f"%s{k}" if self.is_step_computed else str(step)
        if self.columns is None:
            inside = f"""
    %a = memref.subview %x{k}[%i, 0] [1, {n}] [1, 1] : {kind} to {part}
    %b = memref.subview %y{k}[%i, 0] [1, {n}] [1, 1] : {kind} to {part}
    loop.nest (r = 1, c = {n}) ins(%a[r, c] : {part}) outs(%b[r, c] : {part}) {{
    ^bb0(%u: f32, %o: f32):
      %v = arith.negf %u : f32
      loop.yield %v : f32
    }}"""
        else:
            low, wide = self.columns
            inside = f"""
    loop.for %j = {low} to %w{k} step {wide} {{
      %u = memref.load %x{k}[%i, %j] : {kind}
      %v = arith.negf %u : f32
      memref.store %v, %y{k}[%i, %j] : {kind}
      loop.yield
    }}"""
        return f"""
  loop.nest (r = {m}, c = {n}) ins(%x{k}[r, c] : {kind}) outs(%y{k}[r, c] : {kind}) {{
  ^bb0(%u: f32, %o: f32):
    loop.yield %u : f32
  }}
  %m{k} = arith.constant {m} : index
  %n{k} = arith.constant {n} : index
  %s{k} = arith.minsi %by, %m{k} : index
  %e{k} = arith.minsi %rows, %m{k} : index
  %w{k} = arith.minsi %columns, %n{k} : index
  loop.for %i = {first} to %e{k} step {by} {{{inside}
    loop.yield
  }} loc("k{k}")"""

    def expected(self, x: Any, rows: int, columns: int, by: int) -> Any:
        m, n = self.shape
        step = min(by, m) if self.is_step_computed else self.rows[1]
        low, wide = self.columns or (0, 1)
        y = x.copy()
        for i in range(self.rows[0], min(rows, m), step) if step > 0 else ():
            for j in range(low, n if self.columns is None else min(columns, n), wide):
                y[i, j] = -x[i, j]
        return y


def text_of(cases: list[Case]) -> str:
    kinds = ["memref<{}x{}xf32>".format(*case.shape) for case in cases]
    xs = ", ".join(f"%x{k}: {kind}" for k, kind in enumerate(kinds))
    ys = ", ".join(f"%y{k}: {kind} {{inarch.result}}" for k, kind in enumerate(kinds))
    lines = [f"func.func @main(%g: memref<3xi64>, {xs}, {ys}) {{"]
    for k, name in enumerate(("rows", "columns", "by")):
        lines += [
            f"  %g{k} = arith.constant {k} : index",
            f"  %h{k} = memref.load %g[%g{k}] : memref<3xi64>",
            f"  %{name} = arith.index_cast %h{k} : i64 to index",
        ]
    lines += [case.text(k) for k, case in enumerate(cases)]
    return "\n".join([*lines, "  func.return", "}"])


def schedule_of(case: Case, k: int, choose: random.Random) -> list[str]:
    """Steps at a loop, some of which may be refused."""
    if case.columns is None or choose.random() < 0.3:
        return []
    steps = [f"split i {choose.choice((1, 3, 8, 100))}"]
    if choose.random() < 0.6:
        steps += [f"split j {choose.choice((2, 4, 30))}", "interchange io jo ii ji"]
        steps += choose.choice(([], ["interchange jo io"], ["interchange io ii"]))
    else:
        steps += choose.choice(([], ["interchange j io"], ["interchange ii j"]))
    steps += choose.choice(([], ["parallelize io"], ["parallelize io"]))
    return [f'at "k{k}": {"; ".join(steps[:count])}' for count in range(len(steps), 0, -1)]


def scheduled(module: ModuleOp, cases: list[Case], choose: random.Random) -> set[str]:
    """Does the steps that are legal; returns their words."""
    done: set[str] = set()
    for k, case in enumerate(cases):
        for block in schedule_of(case, k, choose):
            trial = module.clone()
            try:
                run_schedule(trial, parse_schedule(block, "s"))
            except InarchError:
                continue
            run_schedule(module, parse_schedule(block, "s"))
            done |= set(block.replace(";", " ").split())
            break
    verify_module(module)
    return done


BOUNDS = ((-7, 2, 1), (0, 0, 0), (1, 20, 2), (9, 5, -3), (64, 9, 100), (1000, 1000, 3))


def check(seed: int, count: int) -> set[str]:
    """The words of the steps that were done, and whether threads shared a loop."""
    choose = random.Random(seed)
    rng = np.random.default_rng(seed)
    cases = [Case.draw(choose) for _ in range(count)]
    context = new_context()
    module = parse_module(context, text_of(cases))
    done = scheduled(module, cases, choose)
    xs = [rng.standard_normal(case.shape).astype(np.float32) for case in cases]
    least = str(choose.choice((0, 40, 300)))
    lowered = module.clone()
    ParallelizePass(threads=3, least=int(least)).apply(context, lowered)
    verify_module(lowered)
    call = inarch.compile(module, pipeline=PIPELINE.replace("LEAST", least))
    for rows, columns, by in BOUNDS:
        given = np.array([rows, columns, by])
        wanted = [case.expected(x, rows, columns, by) for case, x in zip(cases, xs, strict=True)]
        results = [execute(one, [given, *xs], context) for one in (module, lowered)]
        results += [call(given, *xs, threads=threads) for threads in (1, 2, 3)]
        for found in results:
            for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
                assert np.array_equal(one, other), f"loop {k}: {cases[k]}, {given}"
    names = {op.induction.name_hint or "" for op in lowered.walk() if isinstance(op, ForOp)}
    return done | (names & {"part"})


def test_computed_loops_mean_what_they_meant() -> None:
    """Random loops, schedules and costs; by definition, and compiled for 1, 2 and 3 threads, bit for bit."""
    done = check(0, 4)
    for seed in range(effort(0, 2)):
        done |= check(seed, 8)
    assert {"split", "interchange", "parallelize", "part"} <= done


@pytest.mark.fuzz
def test_many_computed_loops_mean_what_they_meant() -> None:
    for seed in range(100, 110):
        check(seed, 8)


ENDS = """
func.func @main(%g: memref<3xi64>, %y: memref<9xi64> {inarch.result}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i64
  loop.for %z = 0 to 9 {
    memref.store %zero, %y[%z] : memref<9xi64>
    loop.yield
  }
  %a = memref.load %g[%c0] : memref<3xi64>
  %b = memref.load %g[%c1] : memref<3xi64>
  %s = memref.load %g[%c2] : memref<3xi64>
  %lower = arith.index_cast %a : i64 to index
  %upper = arith.index_cast %b : i64 to index
  %step = arith.index_cast %s : i64 to index
  loop.for %i = %lower to %upper step %step {
    %n = memref.load %y[%c8] : memref<9xi64>
    %at = arith.index_cast %n : i64 to index
    %number = arith.index_cast %i : index to i64
    memref.store %number, %y[%at] : memref<9xi64>
    %one = arith.constant 1 : i64
    %more = arith.addi %n, %one : i64
    memref.store %more, %y[%c8] : memref<9xi64>
    loop.yield
  }
  func.return
}"""
LOW, HIGH = -(1 << 63), (1 << 63) - 1


def test_numbers_at_the_ends_of_64_bits_are_split() -> None:
    """Distances that no number with a sign holds; a step of 0 or less makes no iteration."""
    context = new_context()
    module = parse_module(context, ENDS)
    run_schedule(module, parse_schedule("at @main[2]: split i 3", "s"))
    call = inarch.compile(module, pipeline="memory")
    ranges = [(LOW, HIGH, 1 << 62), (LOW, HIGH, HIGH), (HIGH - 5, HIGH, 2), (LOW, LOW + 3, 1)]
    ranges += [(HIGH, LOW, 1), (0, 5, 0), (0, 5, -1), (0, 5, LOW), (-2, 5, 1), (7, 7, 1)]
    for lower, upper, step in ranges:
        numbers = list(range(lower, upper, step)) if step > 0 else []
        wanted = [*numbers, *[0] * (8 - len(numbers)), len(numbers)]
        given = np.array([lower, upper, step])
        assert np.asarray(call(given)).tolist() == wanted
        (found,) = execute(module, [given], context)
        assert found.tolist() == wanted


def test_what_threads_share_is_decided_by_what_is_known() -> None:
    """Always, at run time, or never: by how many iterations there are at least and at most."""
    text = """func.func @main(%g: memref<1xi64>, %y: memref<4096x64xf32> {inarch.result}) {
  %c0 = arith.constant 0 : index
  %n = memref.load %g[%c0] : memref<1xi64>
  %m = arith.index_cast %n : i64 to index
  %most = arith.constant 4096 : index
  %least = arith.constant LEAST : index
  %p = arith.minsi %m, %most : index
  %e = arith.maxsi %p, %least : index
  %f = arith.constant 1.0 : f32
  loop.for %i = 0 to %e {
    loop.for %j = 0 to 64 {
      memref.store %f, %y[%i, %j] : memref<4096x64xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}"""
    for known, least, shared, chosen in (
        (0, 100_000, 1, 1),
        (4000, 100_000, 1, 0),
        (0, 10_000_000, 0, 0),
    ):
        context = new_context()
        module = parse_module(context, text.replace("LEAST", str(known)))
        ParallelizePass(threads=2, least=least).apply(context, module)
        verify_module(module)
        loops = [op for op in module.walk() if isinstance(op, ForOp)]
        assert sum(op.mode.data == "parallel" for op in loops) == shared
        assert sum(isinstance(op, scf.IfOp) for op in module.walk()) == chosen


def test_a_dependence_keeps_a_computed_loop_with_one_thread() -> None:
    text = """func.func @main(%g: memref<1xi64>, %y: memref<4096xf32> {inarch.result}) {
  %c0 = arith.constant 0 : index
  %n = memref.load %g[%c0] : memref<1xi64>
  %m = arith.index_cast %n : i64 to index
  %most = arith.constant 4095 : index
  %e = arith.minsi %m, %most : index
  loop.for %i = 0 to %e {
    %v = memref.load %y[%i] : memref<4096xf32>
    %c1 = arith.constant 1 : index
    %k = arith.addi %i, %c1 : index
    memref.store %v, %y[%k] : memref<4096xf32>
    loop.yield
  }
  func.return
}"""
    context = new_context()
    module = parse_module(context, text)
    ParallelizePass(threads=2, least=0).apply(context, module)
    assert [op.mode.data for op in module.walk() if isinstance(op, ForOp)] == ["serial"]


@pytest.mark.parametrize(
    "iteration",
    [
        # each iteration reads what the one before has written, of any number of them
        """loop.for %i = 1 to %e {
    %t = arith.subi %i, %c1 : index
    %f = memref.load %y[%t] : memref<4096xf32>
    memref.store %f, %y[%i] : memref<4096xf32>""",
        # each iteration may read what another one has written, whichever number is in memory
        """loop.for %i = 0 to 4096 {
    %t = arith.subi %i, %e : index
    %f = memref.load %y[%t] : memref<4096xf32>
    memref.store %f, %y[%i] : memref<4096xf32>""",
    ],
)
def test_what_cannot_be_shared_leaves_nothing_behind(iteration: str) -> None:
    """No arithmetic and no buffer of an attempt."""
    text = f"""func.func @main(%g: memref<1xi64>, %y: memref<4096xf32> {{inarch.result}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.load %g[%c0] : memref<1xi64>
  %m = arith.index_cast %n : i64 to index
  %most = arith.constant 4096 : index
  %e = arith.minsi %m, %most : index
  {iteration}
    loop.yield
  }}
  func.return
}}"""
    context = new_context()
    module = parse_module(context, text)
    wanted = str(module)
    ParallelizePass(threads=2, least=1).apply(context, module)
    assert str(module) == wanted
