"""Options of `inarch compile` and `inarch-opt` alike: which passes run, and who watches them."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from inarch.core.errors import UsageError, unknown
from inarch.core.once import cached_property
from inarch.tools.options import many

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.passes import ModulePass

    from inarch.ir.report.remarks import Remark
    from inarch.pipeline.instruments import Statistics, Timer
    from inarch.pipeline.manager import Instrument

Add = Callable[..., Any]


def add_pipeline_options(add: Add) -> None:
    """`-p`, `--pass-pipeline`, `--dump-pass-pipeline`; `add` is `ArgumentParser.add_argument`."""
    add(
        "-p",
        "--passes",
        dest="pipeline",
        **many("PIPELINE"),
        help="passes: 'a{opt=1 list=1,2},b'; phases 'graph(a,b)', or by name: 'prepare,graph'; 'compile' is "
        "all that a compilation runs (repeatable: one after the other)",
    )
    add(
        "--pass-pipeline",
        dest="pipeline",
        action="append",
        metavar="PIPELINE",
        help="the same, as for mlir-opt: 'builtin.module(a,b)'",
    )
    add(
        "--dump-pass-pipeline",
        action="store_true",
        help="print the pipeline to stderr, as -p takes it",
    )


def add_instruments(add: Add) -> None:
    """Remarks, dumps, timing, statistics, bisection; `add` is `ArgumentParser.add_argument`."""
    add(
        "--remarks",
        type=_regex,
        metavar="[=REGEX]",
        help="say what passes did where, and what they left alone and why; --remarks=REGEX: only passes "
        "whose names it is found in",
    )
    for when in ("before", "after"):
        add(
            f"--print-ir-{when}",
            **many("PASS"),
            help=f"print the program to stderr {when} this pass (repeatable)",
        )
        add(f"--print-ir-{when}-all", action="store_true", help=f"... {when} every pass")
    add("--print-ir-after-change", action="store_true", help="... after every pass that changed it")
    add("--print-ir-after-failure", action="store_true", help="... as a pass left it that failed")
    add(
        "--print-ir-module-scope",
        action="store_true",
        help="of the whole module, not of the function alone that changed (it always is)",
    )
    add(
        "--print-ir-tree-dir",
        type=Path,
        metavar="FOLDER",
        help="write the program after every pass, with its constants and the command that goes on from there",
    )
    add(
        "--timing",
        "--mlir-timing",
        action="store_true",
        help="print the seconds that everything took to stderr",
    )
    add("--pass-statistics", action="store_true", help="print how many ops each pass left")
    add(
        "--opt-bisect-limit",
        type=int,
        metavar="N",
        help="run the first N of the passes that a program can do without, and say which",
    )


def _regex(text: str) -> str:
    """For argparse: a regular expression."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(
            f"expected a regular expression, found '{text}': {error}"
        ) from error
    return text


class Watchers:
    """The instruments that a command line asks for; `report` prints their tables at the end."""

    def __init__(
        self,
        arguments: argparse.Namespace | Any,
        stream: TextIO | None = None,
        remarks: list[Remark] | None = None,
    ) -> None:
        """`remarks`: where they go instead of to `stream`; of all passes, unless `--remarks` says which."""
        self._arguments = arguments
        self._stream = stream if stream is not None else sys.stderr
        self._remarks = remarks

    @cached_property
    def timer(self) -> Timer:
        """What everything took."""
        from inarch.pipeline.instruments import Timer

        return Timer()

    @cached_property
    def _statistics(self) -> Statistics:
        from inarch.pipeline.instruments import Statistics

        return Statistics()

    @property
    def are_asked(self) -> bool:
        """Whether somebody wants to see what passes do."""
        usual = argparse.ArgumentParser()
        add_instruments(usual.add_argument)
        wanted = vars(usual.parse_args([]))
        return self._arguments.dump_pass_pipeline or any(
            getattr(self._arguments, name) != value for name, value in wanted.items()
        )

    def check(self, passes: Iterable[ModulePass]) -> None:
        """Raises UsageError when an option names a pass that does not run."""
        known = {one.name for one in passes}
        wanted = self._arguments.remarks
        if wanted and not any(re.search(wanted, name) for name in known):
            found = ", ".join(sorted(known)) or "none"
            raise UsageError(
                f"--remarks: expected a pass that '{wanted}' is found in, found {found}"
            )
        for name in (*self._arguments.print_ir_before, *self._arguments.print_ir_after):
            if not known:
                raise UsageError(f"expected '{name}' among the passes of -p, found none")
            if name not in known:
                raise unknown("pass", name, known, within="-p")

    def instruments(self, context: Context, passes: Iterable[ModulePass]) -> list[Instrument]:
        """For one program."""
        from inarch.pipeline.instruments import Bisect, Dumps, Tree

        asked = self._arguments
        found: list[Instrument] = []
        if asked.opt_bisect_limit is not None:
            found.append(Bisect(asked.opt_bisect_limit, self._stream))
        if asked.remarks is not None or self._remarks is not None:
            from inarch.pipeline.remarks import RemarkListener

            found.append(RemarkListener(context, self._tell, asked.remarks or ""))
        if asked.print_ir_tree_dir is not None:
            files = (*getattr(asked, "load_first", ()), *asked.load)
            found.append(Tree(asked.print_ir_tree_dir, context, tuple(passes), files))
        dumps = Dumps(
            self._stream,
            tuple(asked.print_ir_before),
            tuple(asked.print_ir_after),
            asked.print_ir_before_all,
            asked.print_ir_after_all,
            asked.print_ir_after_change,
            asked.print_ir_after_failure,
            getattr(asked, "print_op_generic", False),
            getattr(asked, "print_debuginfo", False),
        )
        found.append(dumps)
        if asked.pass_statistics:
            found.append(self._statistics)
        if asked.timing:
            found.append(self.timer)  # the last: nearest to the pass
        return found

    def _tell(self, remark: Remark) -> None:
        if self._remarks is not None:
            self._remarks.append(remark)
        else:
            self._stream.write(f"{remark.line()}\n")

    def dump(self, pipeline: object) -> None:
        """Prints the pipeline, where that was asked for."""
        if self._arguments.dump_pass_pipeline:
            self._stream.write(f"{pipeline}\n")

    def report(self) -> None:
        """Prints what was measured."""
        if self._arguments.pass_statistics:
            self._stream.write(self._statistics.table())
        if self._arguments.timing:
            self._stream.write(self.timer.table())
