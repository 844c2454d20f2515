"""Instruments of `inarch compile` and `inarch-opt`: dumps, seconds, counts of ops, bisection."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from inarch.ir.context import store_of
from inarch.ir.payload.files import resources_of, write_atomically
from inarch.ir.text import print_module
from inarch.pipeline.manager import Instrument, Step
from inarch.pipeline.pipeline import Phase, Pipeline


@dataclass
class Timer(Instrument):
    """Seconds of wall and of this process's CPU by step, in order of first use; equal names add up."""

    seconds: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    _start: tuple[float, float] = (0.0, 0.0)

    @contextmanager
    def measure(self, step: str) -> Generator[None]:
        """Adds the block's duration to `step`, also when it raises."""
        start = _now()
        try:
            yield
        finally:
            self._add(step, start)

    def before(self, step: Step, module: ModuleOp) -> None:
        self._start = _now()

    def after(self, step: Step, module: ModuleOp) -> None:
        self._add(f"pass {step.name}", self._start)

    def failed(self, step: Step, module: ModuleOp, error: Exception) -> None:
        self._add(f"pass {step.name}", self._start)

    def _add(self, step: str, start: tuple[float, float]) -> None:
        wall, cpu = _now()
        known = self.seconds.get(step, (0.0, 0.0))
        self.seconds[step] = (known[0] + wall - start[0], known[1] + cpu - start[1])

    def table(self) -> str:
        """One line a step: seconds, share, CPU seconds, name; then the total."""
        total = sum(wall for wall, _ in self.seconds.values())
        rows = [*self.seconds.items(), ("total", (total, sum(c for _, c in self.seconds.values())))]
        lines = [f"{'seconds':>10}  {'share':>6}  {'CPU':>8}  step"]
        for step, (wall, cpu) in rows:
            share = wall / total if total else 0.0
            lines.append(f"{wall:10.4f}  {share:6.1%}  {cpu:8.4f}  {step}")
        return "\n".join(lines) + "\n"


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


@dataclass
class Dumps(Instrument):
    """Prints the program to `stream` around the passes that were asked for."""

    stream: TextIO
    before_passes: tuple[str, ...] = ()
    after_passes: tuple[str, ...] = ()
    before_all: bool = False
    after_all: bool = False
    after_change: bool = False
    """Of the passes that are printed after, only those that changed the program."""
    after_failure: bool = False
    generic: bool = False
    locations: bool = False
    _known: str = ""

    def before(self, step: Step, module: ModuleOp) -> None:
        if self.before_all or step.name in self.before_passes:
            self._print("Before", step, self._text(module))
        if self.after_change:
            self._known = self._text(module)

    def after(self, step: Step, module: ModuleOp) -> None:
        if self.after_all or self.after_change or step.name in self.after_passes:
            text = self._text(module)
            if not self.after_change or text != self._known:
                self._print("After", step, text)

    def failed(self, step: Step, module: ModuleOp, error: Exception) -> None:
        if self.after_failure:
            self._print("After failed", step, self._text(module))

    def _text(self, module: ModuleOp) -> str:
        return print_module(module, generic=self.generic, locations=self.locations)

    def _print(self, when: str, step: Step, text: str) -> None:
        self.stream.write(f"// -----// IR Dump {when} {step.name} //----- //\n{text}")
        self.stream.flush()


@dataclass
class Tree(Instrument):
    """Writes the program before the first pass and after each into a folder, with its constants.

    `07-fuse-nests.mlir` has the constants in `07-fuse-nests.npz`, and in its first line the command that
    runs the passes that are left: any stage resumes from its file.
    """

    folder: Path
    context: Context
    passes: tuple[ModulePass, ...]
    """All of the pipeline."""
    loaded: tuple[Path, ...] = ()
    """The files of `--load`, without which there are neither their passes nor their ops."""
    _last: bytes | None = None
    _last_path: Path | None = None

    def before(self, step: Step, module: ModuleOp) -> None:
        if step.index == 0:
            self._write(0, "input", module)

    def after(self, step: Step, module: ModuleOp) -> None:
        self._write(step.index + 1, step.name, module)

    def _write(self, number: int, name: str, module: ModuleOp) -> None:
        from shlex import quote

        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{number:02d}-{name}.mlir"
        rest = str(Pipeline((Phase("", self.passes[number:]),)))
        command = f"inarch-opt {path.name}" + (f" -p '{rest}'" if rest else "")
        constants = resources_of(module, store_of(self.context))
        if constants is not None:
            self._write_constants(path.with_suffix(".npz"), constants)
            command += f" --resources {path.stem}.npz"
        command += "".join(f" --load {quote(str(file.resolve()))}" for file in self.loaded)
        text = print_module(module, locations=True)
        write_atomically(path, f"// resume: {command}\n{text}".encode())

    def _write_constants(self, path: Path, data: bytes) -> None:
        """The same bytes as before are the same file: a network's weights are there once."""
        path.unlink(missing_ok=True)
        if data == self._last and self._last_path is not None:
            os.link(self._last_path, path)
        else:
            write_atomically(path, data)
        self._last, self._last_path = data, path


@dataclass
class Statistics(Instrument):
    """How many ops each pass found, and how many it left."""

    rows: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    _count: int = 0

    def before(self, step: Step, module: ModuleOp) -> None:
        self._count = _ops(module)

    def after(self, step: Step, module: ModuleOp) -> None:
        self.rows.append((step.name, self._count, _ops(module)))

    def table(self) -> str:
        """One line a pass."""
        lines = [f"{'ops':>8}  {'after':>8}  {'change':>7}  pass"]
        lines += [f"{b:8}  {a:8}  {a - b:+7}  {name}" for name, b, a in self.rows]
        return "\n".join(lines) + "\n"


def _ops(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk())


@dataclass
class Bisect(Instrument):
    """Runs only the first `limit` of the passes that a program can do without, and says which.

    A pass is such a one when its class says `is_optional = True`.
    """

    limit: int
    stream: TextIO
    _number: int = 0

    def wants(self, step: Step) -> bool:
        if not getattr(type(step.one), "is_optional", False):
            return True
        self._number += 1
        runs = self._number <= self.limit
        self.stream.write(
            f"BISECT: {'' if runs else 'NOT '}running pass ({self._number}) {step.name}\n"
        )
        return runs


@dataclass
class Timed(Instrument):
    """Another instrument, whose own time is a step of the timer."""

    inner: Instrument
    step: str
    timer: Timer

    def wants(self, step: Step) -> bool:
        return self.inner.wants(step)

    def before(self, step: Step, module: ModuleOp) -> None:
        with self.timer.measure(self.step):
            self.inner.before(step, module)

    def after(self, step: Step, module: ModuleOp) -> None:
        with self.timer.measure(self.step):
            self.inner.after(step, module)

    def failed(self, step: Step, module: ModuleOp, error: Exception) -> None:
        self.inner.failed(step, module, error)
