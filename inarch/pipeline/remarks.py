"""The instrument that listens to the remarks of passes."""

from __future__ import annotations

import re
from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.ir.report.facts import facts_of
from inarch.ir.report.remarks import Remark, Remarks
from inarch.pipeline.manager import Instrument, Step


class RemarkListener(Instrument):
    """Tells the remarks of each pass whose name the regular expression `pattern` finds something in."""

    def __init__(self, context: Context, tell: Callable[[Remark], None], pattern: str = "") -> None:
        self._facts, self._tell, self._pattern = facts_of(context), tell, re.compile(pattern)

    def before(self, step: Step, module: ModuleOp) -> None:
        if self._pattern.search(step.name):
            self._facts.put(Remarks(step.name))

    def after(self, step: Step, module: ModuleOp) -> None:
        remarks = self._facts.take(Remarks)
        for one in remarks.found if remarks is not None else ():
            self._tell(one)

    def failed(self, step: Step, module: ModuleOp, error: Exception) -> None:
        self.after(step, module)
