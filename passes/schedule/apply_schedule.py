"""`apply-schedule`: does what a schedule file says, before the automatic passes choose.

    inarch compile model.onnx --schedule model.schedule
    inarch-opt model.mlir -p 'apply-schedule{file=model.schedule}'

The nests that it finds are those behind `fuse-nests`: what `--emit=loop` shows. docs/schedules.md has the
steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from inarch.core.errors import EnvironmentFault, InarchError, UsageError, reason
from inarch.ir.location import location_text
from inarch.ir.passes import OptionalPass
from inarch.ir.report.facts import facts_of
from inarch.passes.lower.algorithm import ASKED, DIRECT, selections_of
from inarch.passes.lower.weighed import Algorithms
from inarch.passes.schedule.language.script import Asked, asked_of, parse_schedule, run_schedule
from inarch.passes.schedule.language.words import MOST_BYTES

SCHEDULE = "inarch.schedule"
"""The attribute of a module that holds its schedule: `[file, text]`. Once it is done it is gone."""


def read_schedule(path: str | Path) -> tuple[str, str]:
    """The name and the text of a schedule file, which is parsed. Raises UsageError for a wrong one."""
    file = str(path)
    try:
        with Path(path).open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
        text = data.decode()
    except OSError as error:
        message = f"the schedule cannot be read: {error.strerror or reason(error)}"
        raise EnvironmentFault(message, where=file) from error
    except UnicodeDecodeError as error:
        raise UsageError("expected a schedule in UTF-8", where=file) from error
    except ValueError as error:  # a null character in its name
        raise UsageError(f"expected the path of a schedule, found {file!r}: {error}") from error
    parse_schedule(text, file)
    return file, text


def set_schedule(module: ModuleOp, path: str | Path) -> None:
    """Puts a schedule file on a module, for the passes. Raises UsageError for a wrong one.

    Algorithms that it gives to ops come before others that are asked for: of two, the later one counts.
    """
    file, text = read_schedule(path)
    module.attributes[SCHEDULE] = ArrayAttr([StringAttr(file), StringAttr(text)])
    asked = asked_of(text, file)
    if asked:
        every = [*(one.selection for one in asked), *selections_of(module)]
        module.attributes[ASKED] = ArrayAttr([StringAttr(one) for one in every])


@dataclass(frozen=True)
class ApplySchedulePass(OptionalPass):
    """Transforms the nests that a schedule names, and marks them as their author's.

    `file`: the schedule; without, the module's own (`inarch.schedule`), if it has one.
    """

    file: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        file, text = read_schedule(self.file) if self.file else _own(op)
        op.attributes.pop(SCHEDULE, None)
        known = selections_of(op)
        late = [one for one in asked_of(text, file) if one.selection not in known]
        if late:
            raise UsageError(
                f"expected algorithms to be chosen before there are loops, found '{late[0].written}'; give "
                f'the schedule to the compilation (--schedule), or say {ASKED} = ["{late[0].selection}"] in '
                "the program",
                where=late[0].selector_at,
            )
        if text:
            report = facts_of(ctx).get(Algorithms)
            made_by = {
                where: weighed[0].name
                for where, weighed in (report.found if report is not None else ())
                if weighed[0].name != DIRECT
            }
            run_schedule(op, parse_schedule(text, file), made_by)


def places_asked(module: ModuleOp) -> dict[str, Asked]:
    """By selection, where the module's schedule gives algorithms to ops."""
    file, text = _own(module)
    return {one.selection: one for one in reversed(asked_of(text, file))}


def _own(module: ModuleOp) -> tuple[str, str]:
    found = module.attributes.get(SCHEDULE)
    if found is None:
        return "", ""
    parts = [*cast("ArrayAttr", found).data] if isinstance(found, ArrayAttr) else []
    texts = [each.data for each in parts if isinstance(each, StringAttr)]
    if len(parts) != 2 or len(texts) != 2:
        message = f"expected {SCHEDULE} to be an array of a file's name and its text, found {found}"
        raise InarchError(message, where=location_text(module))
    return texts[0], texts[1]
