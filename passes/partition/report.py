"""Who got which op, and why the others did not: data for `inarch explain`, warnings and JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.ir.location import location_text
from inarch.passes.partition.common import (
    BACKEND,
    COMPILER,
    PATTERN,
    is_claimable,
    tensor_blocks,
    text_of,
)
from inarch.passes.partition.decide.ask import Decided
from inarch.passes.partition.decide.cost import Price
from inarch.passes.partition.match.names import Names
from inarch.passes.partition.traffic import RegionBytes, bytes_of

if TYPE_CHECKING:
    from inarch.passes.partition.decide.settle import Settled

_SHOWN_REASONS = 3

HOST = "host"
"""The owner of what no backend took."""


@dataclass(frozen=True)
class OpReport:
    """One op of the program, as it was when backends were asked."""

    op: str
    """`graph.conv`."""
    value: str
    """Its (first) result, `%3`."""
    location: str | None
    """Where it came from: the node's name in a model, `file:line:column` in text."""
    function: str
    """The symbol of the function it was in."""
    owner: str
    """The backend that has it; `host`: none has."""
    pattern: str | None
    """The backend's pattern that took it, if one did."""
    region: str | None
    """The symbol of the function that it is in now, if a backend has it."""
    reasons: Mapping[str, str]
    """For each backend that was asked and does not have it: why not."""


@dataclass(frozen=True)
class PartitionReport:
    """What partitioning did: every op that a backend could own, in program order."""

    backends: tuple[str, ...]
    """Those that were asked, the first preferred."""
    ops: tuple[OpReport, ...]
    traffic: tuple[RegionBytes, ...] = ()
    """What goes into each function of a backend and out of it, in program order."""
    decided: tuple[Decided, ...] = ()
    """What became of regions that are as they were formed no more, and of what went back."""

    @property
    def bytes_across(self) -> int:
        """What crosses the boundaries of regions in one call of all functions, in either direction."""
        return sum(one.bytes_in + one.bytes_out for one in self.traffic)

    def owned_by(self, backend: str) -> tuple[OpReport, ...]:
        """The ops that `backend` has."""
        return tuple(op for op in self.ops if op.owner == backend)

    def regions(self, backend: str) -> tuple[str, ...]:
        """The symbols of the functions of `backend`, in program order."""
        found = dict.fromkeys(op.region for op in self.owned_by(backend))
        return tuple(region for region in found if region is not None)

    def idle(self) -> tuple[str, ...]:
        """The backends that were asked and have nothing."""
        return tuple(name for name in self.backends if not self.owned_by(name))

    def why_idle(self, backend: str) -> str:
        """Why `backend` got no op: the most frequent reasons, with the ops that have them."""
        refused = Counter(
            (op.op.removeprefix("graph."), op.reasons[backend])
            for op in self.ops
            if backend in op.reasons
        )
        shown = [
            f"{op}{f' ({count} times)' if count > 1 else ''}: {reason}"
            for (op, reason), count in refused.most_common(_SHOWN_REASONS)
        ]
        more = [f"and {len(refused) - len(shown)} more"] if len(refused) > len(shown) else []
        return "; ".join([*shown, *more]) or "the model has no ops"

    def to_json(self) -> dict[str, Any]:
        """The report as `json.dumps` takes it."""
        found = asdict(self)
        for one in found["traffic"]:  # JSON has no infinity
            one["seconds"] = one["seconds"] if one["seconds"] != math.inf else None
        return found

    def __str__(self) -> str:
        """One line an op and one a reason."""
        lines: list[str] = []
        for op in self.ops:
            pattern = f" ({op.pattern})" if op.pattern else ""
            region = f" @{op.region}" if op.region else ""
            place = f" at {op.location}" if op.location else ""
            lines.append(f"{op.value} = {op.op}{place}: {op.owner}{pattern}{region}")
            lines += [f"    not {backend}: {reason}" for backend, reason in op.reasons.items()]
        return "\n".join(lines)


@dataclass
class _Entry:
    op: Operation
    value: str
    location: str | None
    function: str
    reasons: dict[str, str] = field(default_factory=dict[str, str])


def _region_of(op: Operation) -> FuncOp | None:
    """The function of a backend that an op is in."""
    around = op.parent_op()
    around = around.parent_op() if isinstance(around, CompositeRegionOp) else around
    return around if isinstance(around, FuncOp) and COMPILER in around.attributes else None


class Recorder:
    """Collects reasons while the passes run; the passes move ops, so that they stay the same objects."""

    def __init__(self, *, counts: bool = False) -> None:
        """With `counts` the report has work and estimates of every region, asked for or not."""
        self.counts = counts
        self._entries: dict[Operation, _Entry] = {}
        self._backends: tuple[str, ...] = ()
        self._decided: tuple[Decided, ...] = ()
        self._priced: dict[Operation, tuple[Price | None, str]] = {}

    @property
    def backends(self) -> tuple[str, ...]:
        """Who was asked, the first preferred."""
        return self._backends

    def start(self, module: ModuleOp, backends: Sequence[str], names: Names) -> None:
        """Enters every op that a backend could own."""
        self._backends = tuple(backends)
        for function, block in tensor_blocks(module):
            for op in block.ops:
                if is_claimable(op):
                    value = names.short(op.results[0])
                    symbol = function.sym_name.data
                    self._entries[op] = _Entry(op, value, location_text(op), symbol)

    def refuse(self, op: Operation, backend: str, reason: str) -> None:
        """Enters why `backend` does not have `op`, in place of an earlier reason."""
        if op in self._entries:
            self._entries[op].reasons[backend] = reason

    def settle(self, settled: Settled) -> None:
        """Enters what regions cost, and what was decided of them."""
        self._decided = tuple(settled.decided)
        for region in settled.regions:
            known = settled.prices.get(region), settled.why.get(region, "")
            self._priced.update(dict.fromkeys(region.ops, known))

    def finish(self) -> PartitionReport:
        """The report; owners are those that the program has now."""
        ops = tuple(self._report(e) for e in self._entries.values())
        found = {region for region in map(_region_of, self._entries) if region is not None}
        around = next((region.parent_block() for region in found), None)
        functions = [each for each in (around.ops if around else ()) if each in found]
        counts = Counter(op.region for op in ops)
        owners = {op.region: op.owner for op in ops}
        traffic = [
            bytes_of(
                each,
                owners[each.sym_name.data],
                counts[each.sym_name.data],
                self.counts,
                *next(
                    (self._priced[op] for op in each.body.block.ops if op in self._priced),
                    (None, ""),
                ),
            )
            for each in functions
            if isinstance(each, FuncOp)
        ]
        return PartitionReport(self._backends, ops, tuple(traffic), self._decided)

    def _report(self, entry: _Entry) -> OpReport:
        op = entry.op
        around = op.parent_op()
        composite = around if isinstance(around, CompositeRegionOp) else None
        function = composite.parent_op() if composite is not None else around
        symbol = compiler = None
        if isinstance(function, FuncOp):
            compiler = text_of(function, COMPILER)
            symbol = function.sym_name.data if compiler is not None else None
        owner = compiler or text_of(composite or op, BACKEND) or HOST
        pattern = composite.pattern if composite is not None else text_of(op, PATTERN)
        order = [name for name in self._backends if name in entry.reasons]
        reasons = {name: entry.reasons[name] for name in order if name != owner}
        return OpReport(
            op.name, entry.value, entry.location, entry.function, owner, pattern, symbol, reasons
        )
