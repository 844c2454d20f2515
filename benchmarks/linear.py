"""Whether each pass takes time in proportion to the program: CPU seconds at two sizes, and the exponent.

    python benchmarks/linear.py [--ops 50000] [--seconds 300] [--programs layers,moves] [--passes cse]

Each pass runs on what those before it left, in one process for each program and size: parsing, passes of
no pipeline of ours, the default pipeline, verification, printing, emission of C. One that takes longer than
`--seconds` is stopped: its time is printed as `> 300`, and those behind it in the pipeline do not run. The
exponent is `log(t / s) / log(n / m)` for t seconds of n ops and s of m, a quarter as many: 1 is linear. It
is left out for what takes less than `LEAST_SECONDS`. The garbage collector, whose turns fall where they
fall, waits meanwhile. All of it takes about 45 minutes of one core.
"""

from __future__ import annotations

import argparse
import gc
import math
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from xdsl.passes import ModulePass

from inarch.backends.c import emit
from inarch.dialects import new_context
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import apply_pass
from inarch.pipeline.registry import find_pass

MORE = ("cse", "dce", "canonicalize")
"""Passes of xDSL: they run on copies of the graph."""
STEP = 4
"""The larger program has as many times the ops of the smaller one."""
LEAST_SECONDS = 0.05
"""What takes less cannot be measured, and is not what one waits for."""
_T = "tensor<4x4xf32>"
_ROW = "tensor<4xf32>"
_IMAGE = "tensor<1x8x6x6xf32>"
_WINDOW = "strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1"


# ------------------------------------------------------------------------------------ programs


def layers(ops: int) -> str:
    """A chain of products, sums, activations and softmaxes: what becomes kernels, is fused, is decomposed."""
    lines: list[str] = []
    for n in range(0, ops // 4 * 4, 4):
        lines += [
            f"%{n + 1} = graph.matmul %{n}, %w : {_T}, {_T} -> {_T}",
            f"%{n + 2} = graph.add %{n + 1}, %{n} : {_T}, {_T} -> {_T}",
            f"%{n + 3} = graph.relu %{n + 2} : {_T} -> {_T}",
            f"%{n + 4} = graph.softmax %{n + 3} axis = -1 : {_T} -> {_T}",
        ]
    return _main(f"%0: {_T}, %w: {_T}", lines, len(lines))


def elementwise(ops: int) -> str:
    """One chain of elementwise ops: nests as large as fusing makes them."""
    lines = [f"%{n + 1} = graph.tanh %{n} : {_T} -> {_T}" for n in range(ops)]
    return _main(f"%0: {_T}", lines, ops)


def fan_out(ops: int) -> str:
    """One value that many read, all of whose results are alive at once before they are summed."""
    half = ops // 2
    lines = [f"%{n + 1} = graph.matmul %0, %w : {_T}, {_T} -> {_T}" for n in range(half)]
    lines += [
        f"%{half + n} = graph.add %{half - n + 1}, %{1 if n == 1 else half + n - 1} "
        f": {_T}, {_T} -> {_T}"
        for n in range(1, half)
    ]
    return _main(f"%0: {_T}, %w: {_T}", lines, 2 * half - 1)


def fan_in(ops: int) -> str:
    """Parts of one large tensor: an op of many operands, a buffer that many nests write."""
    lines = [f"%{n + 1} = graph.tanh %0 : {_ROW} -> {_ROW}" for n in range(ops - 2)]
    types, kind = ", ".join([_ROW] * (ops - 2)), f"tensor<{4 * (ops - 2)}xf32>"
    parts = ", ".join(f"%{n + 1}" for n in range(ops - 2))
    lines += [
        f"%{ops - 1} = graph.concat {parts} axis = 0 : {types} -> {kind}",
        f"%{ops} = graph.softmax %{ops - 1} axis = 0 : {kind} -> {kind}",
    ]
    return _main(f"%0: {_ROW}", lines, ops, of=(_ROW, kind))


def residual(ops: int) -> str:
    """A U of layers: what the first half makes is read again by the second, in reverse."""
    half = ops // 2
    lines = [f"%{n + 1} = graph.matmul %{n}, %w : {_T}, {_T} -> {_T}" for n in range(half)]
    lines += [
        f"%{half + n + 1} = graph.maximum %{half + n}, %{half - n - 1} : {_T}, {_T} -> {_T}"
        for n in range(half)
    ]
    return _main(f"%0: {_T}, %w: {_T}", lines, 2 * half)


def constants(ops: int) -> str:
    """Products by many constants: each is packed, and stored under a name that is taken."""
    lines: list[str] = []
    rows = "tensor<5x5xf32>"
    for n in range(ops // 2):
        numbers = ", ".join(f"{(n * 25 + at) % 9973}.0" for at in range(25))
        lines += [
            f"%{ops + n} = graph.constant dense<[{numbers}]> : tensor<25xf32>",
            f"%{2 * ops + n} = graph.reshape %{ops + n} shape = [5, 5] : tensor<25xf32> -> {rows}",
            f"%{n + 1} = graph.matmul %{n}, %{2 * ops + n} : {rows}, {rows} -> {rows}",
        ]
    return _main(f"%0: {rows}", lines, ops // 2, of=(rows, rows))


def images(ops: int) -> str:
    """Padded convolutions of one image, and of each other: halos, copies, known zeros."""
    lines: list[str] = []
    half = ops // 4
    for n in range(2 * half):
        source = f"%{n}" if n < half else "%a"
        lines += [
            f"%c{n} = graph.conv {source}, %w {_WINDOW} : {_IMAGE}, tensor<8x8x3x3xf32> -> {_IMAGE}",
            f"%{n + 1} = graph.relu %c{n} : {_IMAGE} -> {_IMAGE}",
        ]
        if n == half - 1:
            lines.append(f"%a = graph.tanh %{n + 1} : {_IMAGE} -> {_IMAGE}")
    weights = "%w = graph.constant dense<0.5> : tensor<8x8x3x3xf32>"
    sums = [
        f"%s{n} = graph.add %s{n - 1}, %{n} : {_IMAGE}, {_IMAGE} -> {_IMAGE}"
        for n in range(half + 1, 2 * half + 1)
    ]
    sums[0] = sums[0].replace(f"%s{half}", f"%{half}")
    return _main(f"%0: {_IMAGE}", [weights, *lines, *sums], f"s{2 * half}", of=(_IMAGE, _IMAGE))


def moves(ops: int) -> str:
    """Transposes and reshapes, one behind the other, until nothing is left to merge."""
    lines: list[str] = []
    for n in range(0, ops // 3 * 3, 3):
        lines += [
            f"%{n + 1} = graph.transpose %{n} perm = [1, 0] : {_T} -> {_T}",
            f"%{n + 2} = graph.reshape %{n + 1} shape = [2, 8] : {_T} -> tensor<2x8xf32>",
            f"%{n + 3} = graph.reshape %{n + 2} shape = [4, 4] : tensor<2x8xf32> -> {_T}",
        ]
    return _main(f"%0: {_T}", lines, len(lines))


def functions(ops: int) -> str:
    """Functions that one calls, functions that others call, and functions that nobody does."""
    found: list[str] = []
    calls: list[str] = []
    for n in range(ops // 4):
        name, mark = f"f{n}", "private " if n % 2 else ""
        op = (
            f"%1 = graph.matmul %0, %0 : {_T}, {_T} -> {_T}"
            if n % 2
            else f"%1 = graph.tanh %0 : {_T} -> {_T}"
        )
        found.append(_function(f"{mark}@{name}", f"%0: {_T}", [op], 1, (_T, _T)))
        if n % 2:  # and what they compute does not become one nest
            at = len(calls)
            calls.append(f"%{at + 1} = graph.call @{name}(%{at}) : {_T} -> {_T}")
    return _module([*found, _function("@main", f"%0: {_T}", calls, len(calls), (_T, _T))])


def _main(arguments: str, lines: list[str], last: object, of: tuple[str, str] = (_T, _T)) -> str:
    return _module([_function("@main", arguments, lines, last, of)])


def _function(
    name: str, arguments: str, lines: list[str], last: object, of: tuple[str, str]
) -> str:
    _, result = of
    body = "\n".join(lines)
    return (
        f"func.func {name}({arguments}) -> {result} {{\n{body}\nfunc.return %{last} : {result}\n}}"
    )


def _module(found: list[str]) -> str:
    body = "\n".join(found)
    return f'module attributes {{inarch.target = "x86-64-v3"}} {{\n{body}\n}}'


PROGRAMS = {
    each.__name__.replace("_", "-"): each
    for each in (
        layers,
        elementwise,
        fan_out,
        fan_in,
        residual,
        constants,
        images,
        moves,
        functions,
    )
}
"""Name -> a program of about so many ops, as text."""


# ------------------------------------------------------------------------------------ measuring


class _TooLongError(Exception):
    """What was measured is stopped."""


@contextmanager
def _at_most(seconds: float) -> Generator[None]:
    """Raises `_TooLongError` in what takes longer, in CPU time."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Clock:
    """CPU seconds. What takes longer than `limit` is stopped."""

    def __init__(self, limit: float = math.inf) -> None:
        self.limit = min(limit, 1e6)
        self.found: dict[str, float] = {}
        """By what was done; infinite for what was stopped."""

    def measure(self, what: str, work: Callable[..., Any], *arguments: Any) -> Any:
        """What `work` returns; None where it was stopped."""
        gc.collect()
        gc.disable()
        start = time.process_time()
        result = None
        try:
            with _at_most(self.limit):
                result = work(*arguments)
            spent = time.process_time() - start
        except _TooLongError:
            spent = math.inf
        finally:
            gc.enable()
        self.found[what] = self.found.get(what, 0.0) + spent
        return result


class Counter(Clock):
    """Lines of Python, once for each turn of a loop, and calls of C: on any machine the same, however busy.

    A method of C that looks through all that it is of (`list.index`) counts for each element of that. What C
    does without a call counts nothing: `in` where elements have no `__eq__` in Python, slices, displays.
    """

    _LOOKS = frozenset({"copy", "count", "index", "insert", "join", "remove", "union"})

    def measure(self, what: str, work: Callable[..., Any], *arguments: Any) -> Any:
        steps = 0

        def line(_frame: FrameType, _event: str, _argument: Any) -> Any:
            nonlocal steps
            steps += 1
            return line

        def call(_frame: FrameType, event: str, function: Any) -> None:
            nonlocal steps
            if event == "c_call":
                looks = function.__name__ in self._LOOKS and hasattr(function.__self__, "__len__")
                steps += len(function.__self__) if looks else 1

        traced = sys.gettrace()
        sys.settrace(line)
        sys.setprofile(call)
        try:
            return work(*arguments)
        finally:
            sys.setprofile(None)
            sys.settrace(traced)
            self.found[what] = self.found.get(what, 0.0) + steps


def measured(
    text: str, clock: Clock, wanted: Collection[str] = (), more: Sequence[ModulePass] = ()
) -> dict[str, float]:
    """What `clock` says, by what is done with a program: a pass's name, `parse`, `verify`, `print`, `emit`.

    With `wanted`, no more is done than they need. `more` are passes that run on copies of the graph.
    """
    context = new_context()
    module = clock.measure("parse", parse_module, context, text, "program.mlir")
    if module is None:
        return clock.found
    for one in more:
        clock.measure(one.name, apply_pass, context, module.clone(), one)
    passes = list(default_pipeline())
    if wanted:
        last = max((at for at, one in enumerate(passes) if one.name in wanted), default=-1)
        passes = passes[: last + 1]
    for one in passes:
        clock.measure(one.name, apply_pass, context, module, one)
        if math.isinf(clock.found[one.name]):
            return clock.found
    if not wanted:
        clock.measure("verify", verify_module, module)
        clock.measure("print", print_module, module)
        clock.measure("emit", emit, context, module)
    return clock.found


def _run(program: str, ops: int, limit: float, wanted: tuple[str, ...], pipe: Any) -> None:
    more = [find_pass(name)() for name in MORE if not wanted or name in wanted]
    pipe.send(measured(PROGRAMS[program](ops), Clock(limit), wanted, more))


def _in_process(program: str, ops: int, limit: float, wanted: tuple[str, ...]) -> dict[str, float]:
    """The seconds in a process of its own: what one program leaves in memory costs another one nothing."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(
        target=_run, args=(program, ops, limit, wanted, theirs)
    )
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return {}
    finally:
        process.join()


def exponent(small: float, large: float) -> float | None:
    """Of the growth over `STEP` times the ops; None where there is nothing to tell it by."""
    if math.isinf(large) or large < LEAST_SECONDS or small <= 0:
        return None
    return math.log(large / small) / math.log(STEP)


def main() -> int:
    """Measures and prints; the exit code says whether something is not linear."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ops", type=int, default=50_000)
    parser.add_argument(
        "--seconds", type=float, default=300, help="CPU time of one pass at the most"
    )
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--passes", default="", help="none after the last of these; default: all")
    arguments = parser.parse_args()
    wanted: tuple[str, ...] = tuple(arguments.passes.split(",")) if arguments.passes else ()
    for program in arguments.programs.split(","):
        print(f"{program}: {arguments.ops // STEP} and {arguments.ops} ops", flush=True)
        small, large = (
            _in_process(program, ops, arguments.seconds, wanted)
            for ops in (arguments.ops // STEP, arguments.ops)
        )
        for what in small:
            times = [_text(each.get(what), arguments.seconds) for each in (small, large)]
            power = exponent(small[what], large.get(what, math.inf))
            told = f"{power:5.2f}" if power is not None else ""
            print(f"  {what:22} {times[0]:>9} {times[1]:>9}  {told}", flush=True)
        if not large:
            print("  (the larger one died)")
    return 0


def _text(spent: float | None, limit: float) -> str:
    if spent is None:
        return "-"
    return f"> {limit:g}" if math.isinf(spent) else f"{spent:.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
