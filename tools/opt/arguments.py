"""The command line of `inarch-opt`: its options, read into one frozen dataclass."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from inarch.core.errors import UsageError, unknown
from inarch.pipeline.registry import is_pass
from inarch.tools.alone import with_defaults
from inarch.tools.options import many
from inarch.tools.passes import add_instruments, add_pipeline_options
from inarch.tools.semantics import SEMANTICS, SEMANTICS_HELP, seed

VERIFY_MODES = ("none", "end", "each")

_DESCRIPTION = "Reads MLIR text, runs passes on it, prints it."
_EXAMPLE = """\
example:
  inarch-opt model.mlir -p 'fold-constants,canonicalize' --print-ir-after-all -o out.mlir
  inarch-opt model.mlir --fold-constants --canonicalize    (a pass's name is an option, too)
  inarch-opt model.mlir -p compile --dump-pass-pipeline    (what `inarch compile` runs)

mlir-opt's spellings do, too: --mlir-timing, --mlir-print-ir-after-all, --pass-pipeline='builtin.module(cse)'.

exit codes: 0 success, 1 wrong program, 2 wrong usage, 3 wrong environment, 70 internal error
"""


@dataclass(frozen=True)
class OptArguments:
    """What one run of `inarch-opt` was asked to do; each field is documented by `--help`."""

    input: str
    output: Path | None
    pipeline: tuple[str, ...]
    dump_pass_pipeline: bool
    target: str
    machine: str | None
    split_input_file: bool
    verify_diagnostics: bool
    verify_each: str
    verify_semantics: int | None
    remarks: str | None
    print_ir_before: tuple[str, ...]
    print_ir_after: tuple[str, ...]
    print_ir_before_all: bool
    print_ir_after_all: bool
    print_ir_after_change: bool
    print_ir_after_failure: bool
    print_ir_module_scope: bool
    print_ir_tree_dir: Path | None
    timing: bool
    pass_statistics: bool
    opt_bisect_limit: int | None
    print_op_generic: bool
    print_debuginfo: bool
    allow_unregistered_dialect: bool
    resources: Path | None
    write_resources: Path | None
    load: tuple[Path, ...]
    reproducer: Path
    list_passes: bool
    list_dialects: bool
    pass_help: str | None
    debug: bool
    version: bool
    help: bool


def parse_arguments(argv: Sequence[str]) -> OptArguments:
    """The options in `argv` (without the program's name). Raises UsageError."""
    parser = _Parser()
    words = [_as_passes(word, parser.names) for word in with_defaults(argv)]
    found, rest = parser.parse_known_args(words)
    for word in rest:
        if word.startswith("--emit-bytecode"):
            raise UsageError(
                f"{word}: MLIR's bytecode is neither written nor read, as xDSL has text only; "
                "--print-op-generic -o FILE writes text of which mlir-opt makes bytecode"
            )
        if word.startswith("-"):
            raise unknown("option", word.partition("=")[0], parser.names)
        raise UsageError(f"expected one input file, found '{found.input}' and '{word}'")
    values: dict[str, Any] = vars(found)
    for repeated in ("load", "pipeline", "print_ir_before", "print_ir_after"):
        values[repeated] = tuple(values[repeated])
    options = OptArguments(**values)
    if options.write_resources and (options.split_input_file or options.target != "mlir"):
        raise UsageError(
            "--write-resources writes the constants of one printed program: "
            "it goes with neither --split-input-file nor --target"
        )
    return options


def _as_passes(word: str, options: Sequence[str]) -> str:
    """A pass's name is an option: `--cse` is `--passes=cse`, `--tile=size=4` is `--passes=tile{size=4}`.

    And so is `--mlir-print-ir-after-all`, as mlir-opt spells it.
    """
    name, equals, value = word.partition("=")
    if name.startswith("--mlir-") and (own := f"--{name[len('--mlir-') :]}") in options:
        return own + equals + value
    if not name.startswith("--") or name in options or not is_pass(name[2:]):
        return word
    return f"--passes={name[2:]}" + (f"{{{value}}}" if equals else "")


def new_parser(mark: Callable[[argparse.Action], None] | None = None) -> argparse.ArgumentParser:
    """The command line, for what prints or completes it: `mark` is called with each argument."""
    return _Parser(mark)


class _Parser(argparse.ArgumentParser):
    """Raises where argparse's own would print and leave the process."""

    def __init__(self, mark: Callable[[argparse.Action], None] | None = None) -> None:
        self._mark = mark
        super().__init__(
            prog="inarch-opt",
            description=_DESCRIPTION,
            epilog=_EXAMPLE,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            add_help=False,
        )
        self.names: list[str] = []
        _add_input_and_output(self)
        _add_passes(self)
        _add_instruments(self)
        _add_information(self)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see inarch-opt --help")

    def option(self, *names: str, **settings: Any) -> None:
        """An option, remembered by name for suggestions."""
        self.names += names
        action = self.add_argument(*names, **settings)
        if self._mark is not None:
            self._mark(action)

    def flag(self, *names: str, text: str) -> None:
        """An option without a value."""
        self.option(*names, action="store_true", help=text)


def _add_input_and_output(parser: _Parser) -> None:
    parser.add_argument("input", nargs="?", default="-", help="MLIR text; - or none: stdin")
    parser.option("-o", "--output", type=Path, metavar="FILE", help="write here, not to stdout")
    parser.option(
        "-t", "--target", default="mlir", help="what to print: mlir (default), or a backend: c"
    )
    parser.option(
        "--machine",
        metavar="NAME|FILE",
        help="whose caches and ports passes choose for: a name, or a file of `inarch machine`",
    )
    parser.flag("--split-input-file", text="each piece between `// -----` lines is a program")
    parser.flag("--allow-unregistered-dialect", text="take ops that no dialect defines")
    parser.flag("--print-op-generic", text="print ops in the generic form")
    parser.option(
        "--print-debuginfo",
        action="store_true",
        help="print locations",
    )
    parser.option(
        "--resources", type=Path, metavar="FILE.npz", help="arrays of the `dense_resource` handles"
    )
    parser.option(
        "--write-resources", type=Path, metavar="FILE.npz", help="write those of the result"
    )


def _add_passes(parser: _Parser) -> None:
    add_pipeline_options(parser.option)
    parser.option(
        "--load",
        **many("FILE.py", type=Path),
        help="take the pass or dialect that a Python file defines (repeatable)",
    )
    parser.option(
        "--verify-each",
        choices=VERIFY_MODES,
        default="each",
        help="check the program: never, at the end, or at the start and after each pass (default)",
    )
    parser.option(SEMANTICS, type=seed, metavar="SEED", help=SEMANTICS_HELP)


def _add_instruments(parser: _Parser) -> None:
    parser.flag(
        "--verify-diagnostics",
        text="errors and warnings must be those of the comments `// expected-error @below {{substring}}`, "
        "`expected-warning`; `expected-remark` must be said, and with --remarks no other remark",
    )
    add_instruments(parser.option)
    parser.option(
        "--reproducer",
        type=Path,
        default=Path("inarch-reproducer.mlir"),
        metavar="FILE",
        help="where the input of a crashing pass goes (default: inarch-reproducer.mlir)",
    )
    parser.flag("--debug", text="print the traceback of an internal error")


def _add_information(parser: _Parser) -> None:
    parser.flag("--list-passes", text="list the passes that run on these dialects, then leave")
    parser.flag("--list-dialects", text="list the dialects, then leave")
    parser.option("--pass-help", metavar="PASS", help="describe a pass and its options, then leave")
    parser.flag("--version", text="print the version, then leave")
    parser.flag("-h", "--help", text="print this, then leave")
