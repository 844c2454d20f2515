"""What watches a pipeline run: seconds of every step, the program around passes, and its meaning."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from inarch.core.errors import UsageError, unknown
from inarch.ir.text import print_module
from inarch.tools.opt.arguments import Options

if TYPE_CHECKING:
    from inarch.driver.watch import Watch


@dataclass
class Timer:
    """Seconds by step, in order of first use; steps of one name add up."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def measure(self, step: str) -> Generator[None]:
        """Adds the block's duration to `step`, also when it raises."""
        start = time.perf_counter()
        try:
            yield
        finally:
            passed = time.perf_counter() - start
            self.seconds[step] = self.seconds.get(step, 0.0) + passed

    def table(self) -> str:
        """One line a step: seconds, share, name; then the total."""
        total = sum(self.seconds.values())
        rows = [*self.seconds.items(), ("total", total)]
        lines = [f"{'seconds':>10}  {'share':>6}  step"]
        for step, seconds in rows:
            share = seconds / total if total else 0.0
            lines.append(f"{seconds:10.4f}  {share:6.1%}  {step}")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Dumps:
    """Prints the program to `stream` around the passes that were asked for."""

    options: Options
    stream: TextIO

    def before(self, one: ModulePass, module: ModuleOp) -> None:
        """To be called before each pass."""
        if self.options.print_ir_before_all or one.name in self.options.print_ir_before:
            self._print("Before", one, module)

    def after(self, one: ModulePass, module: ModuleOp) -> None:
        """To be called after each pass."""
        if self.options.print_ir_after_all or one.name in self.options.print_ir_after:
            self._print("After", one, module)

    def _print(self, when: str, one: ModulePass, module: ModuleOp) -> None:
        self.stream.write(f"// -----// IR Dump {when} {one.name} //----- //\n")
        self.stream.write(
            print_module(
                module,
                generic=self.options.print_op_generic,
                locations=self.options.print_debuginfo,
            )
        )
        self.stream.flush()


def semantics_watch(seed: int | None, context: Context, stream: TextIO) -> Watch | None:
    """What checks that passes keep the meaning, for `--verify-semantics=SEED`; None without."""
    if seed is None:
        return None
    from inarch.driver.watch import Watch

    return Watch(context, seed, lambda line: print(f"note: {line}", file=stream, flush=True))


def check_dumps(options: Options, passes: tuple[ModulePass, ...]) -> None:
    """Raises UsageError when `--print-ir-before` or `-after` names a pass that does not run."""
    known = {one.name for one in passes}
    for name in (*options.print_ir_before, *options.print_ir_after):
        if not passes:
            raise UsageError(f"expected '{name}' among the passes of -p, found none")
        if name not in known:
            raise unknown("pass", name, known, within="-p")
