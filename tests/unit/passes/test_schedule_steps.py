"""Schedules mean what the program meant: random steps on random programs, by definition and compiled."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.memref import SubviewOp

from effort import SEED, SOAK
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.nest import NestOp
from inarch.ir.functions import is_public
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.passes.schedule.language.places import Loops, loops_within, scheduled_ops
from inarch.passes.schedule.language.script import parse_schedule, run_schedule
from inarch.testing import check_semantics
from inarch.testing.generate import programs

WORDS = (
    "split",
    "tile",
    "interchange",
    "unroll",
    "vectorize",
    "parallelize",
    "cache",
    "pack",
    "fuse",
)


def _names(op: Loops) -> list[str]:
    if isinstance(op, NestOp):
        return list(op.names)
    return [loop.induction.name_hint or "i" for loop in loops_within(op)]


def random_schedule(module: ModuleOp, choose: random.Random) -> str:
    """One to three steps at some of the nests and loops; many of them are not legal."""
    blocks: list[str] = []
    for function, ops in scheduled_ops(module).items():
        if not is_public(function):  # its memory is planned, and a copy would have none
            continue
        for number, op in reversed(list(enumerate(ops, 1))):
            names = _names(op)
            if not names or choose.random() < 0.4:
                continue
            steps = [_step(names, choose) for _ in range(choose.randint(1, 3))]
            if isinstance(op, NestOp) and choose.random() < 0.2:
                steps.append(f"fuse over {choose.choice(names)} {choose.randint(1, 4)}")
            blocks.append(f"at @{function.sym_name.data}[{number}]: {'; '.join(steps)}")
    return "\n".join(blocks)


def _step(names: list[str], choose: random.Random) -> str:
    """A step; the names that it makes are there for those behind."""
    name = choose.choice(names)
    what = choose.choice(("split", *WORDS[:-1]))
    if what == "split":
        names[names.index(name) : names.index(name) + 1] = [f"{name}o", f"{name}i"]
        return f"split {name} {choose.choice((1, 2, 3, 4, 8, 100))}"
    if what == "tile":
        chosen = choose.sample(names, min(len(names), choose.randint(1, 2)))
        reassociate = choose.choice(("", "reassociate "))
        return f"tile {reassociate}{' '.join(f'{one} {choose.randint(1, 5)}' for one in chosen)}"
    if what == "interchange":
        order = choose.sample(names, choose.randint(1, len(names)))
        return f"interchange {choose.choice(('', 'reassociate '))}{' '.join(order)}"
    if what == "cache":
        return f"cache {choose.randint(0, 2)}"
    if what == "pack":
        order = choose.sample(names, choose.randint(1, len(names)))
        return f"pack {choose.randint(0, 1)} {' '.join(order)}"
    return f"{what} {name}"


def check(seed: int, count: int, *, compiled: bool) -> dict[str, int]:
    """How often each word was done, and how often steps were refused."""
    done: dict[str, int] = {"refused": 0}
    for program in programs("loop", seed=seed, count=count):
        choose = random.Random(1000 * seed + program.index)
        context, module = program.parse()
        after = module.clone()
        for block in parse_schedule(random_schedule(module, choose), "s"):
            trial = after.clone()
            try:
                run_schedule(trial, [block])
            except InarchError:
                done["refused"] += 1
                continue
            verify_module(trial)
            after = trial
            for step in block.steps:
                done[step.name] = done.get(step.name, 0) + 1
        check_semantics(module, after, ctx=context, compiled=compiled)
    return done


def test_random_schedules_mean_what_the_program_meant() -> None:
    """Programs are drawn until each step was done, of a few rounds."""
    done: Counter[str] = Counter()
    for seed in (4 + SEED,) if SOAK else range(5, 25):
        done.update(check(seed, 60 if SOAK else 10, compiled=False))
        if all(done[word] for word in WORDS):
            return
    raise AssertionError(done)


@pytest.mark.fuzz
def test_many_random_schedules_mean_what_the_program_meant() -> None:
    check(17, 100, compiled=True)


@pytest.mark.slow
def test_random_schedules_compile_to_what_the_program_meant() -> None:
    check(5, 8, compiled=True)


def test_a_copy_in_a_loop_has_a_name_of_its_own() -> None:
    """What is allocated is declared at the head of a function, where a view in the loop hid it."""
    text = """func.func @main(%x: memref<4x6xf32>, %y: memref<4x6xf32> {inarch.result}) {
  loop.nest (i = 4, j = 6) ins(%x[i, j] : memref<4x6xf32>) outs(%y[i, j] : memref<4x6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  } loc("neg")
  func.return
}"""
    context = new_context()
    module = parse_module(context, text)
    after = module.clone()
    run_schedule(after, parse_schedule('at "neg": fuse over i 1; cache 0', "s"))
    (loop,) = (op for op in after.walk() if isinstance(op, ForOp))
    for op in loop.walk():
        for result in op.results:
            if isinstance(op, AllocOp | SubviewOp):
                result.name_hint = "s"
    check_semantics(module, after, ctx=context, compiled=True)
