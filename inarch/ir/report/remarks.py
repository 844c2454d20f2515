"""Remarks: what a pass did to a place in the program, or what it left alone and why, for who asks.

    remarks = remarks_of(context)                       # in a pass
    remarks.done(op, "folded into the convolution")
    remarks.missed(op, "its result has other uses")

Nobody listens unless `--remarks` or an instrument (`inarch.pipeline.remarks`) does; then both do nothing.
A remark names things by where the model has them, and says why in the words of the user's program.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.ir import Operation

from inarch.ir.location import location_text
from inarch.ir.report.facts import facts_of


@dataclass(frozen=True)
class Remark:
    """What a pass says of one place."""

    by: str
    """The name of the pass."""
    message: str
    where: str | None
    """`file:line:col`, a model's node name, or None."""
    is_missed: bool = False
    """The pass left something alone; the message says why."""

    @property
    def text(self) -> str:
        """`[pass] message`, or `[pass] missed: message`."""
        return f"[{self.by}] {'missed: ' * self.is_missed}{self.message}"

    def line(self) -> str:
        """The remark as the commands print it: `where: remark: [pass] message`."""
        return f"{self.where}: remark: {self.text}" if self.where else f"remark: {self.text}"

    def to_json(self) -> dict[str, Any]:
        """The remark as `json.dumps` takes it."""
        kind = "missed" if self.is_missed else "done"
        return {"pass": self.by, "kind": kind, "where": self.where, "message": self.message}


@dataclass
class Remarks:
    """A fact: the remarks of the pass that runs."""

    by: str = ""
    is_wanted: bool = True
    """Whether anybody listens: a pass need not make what costs time otherwise."""
    found: list[Remark] = field(default_factory=list[Remark])

    def done(self, at: Operation | str | None, message: str) -> None:
        """The pass did something; `at` is an op of the program, or a location kept from one."""
        self._add(at, message, is_missed=False)

    def missed(self, at: Operation | str | None, message: str) -> None:
        """The pass left something alone that it is made for."""
        self._add(at, message, is_missed=True)

    def _add(self, at: Operation | str | None, message: str, *, is_missed: bool) -> None:
        if self.is_wanted:
            where = location_text(at) if isinstance(at, Operation) else at
            self.found.append(Remark(self.by, message, where, is_missed))


def remarks_of(context: Context) -> Remarks:
    """Where the pass that runs puts its remarks."""
    return facts_of(context).get(Remarks) or Remarks(is_wanted=False)
