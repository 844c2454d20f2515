"""Unrolls a `graph.scan` of one iteration, or of the few that a reader asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from inarch.core.errors import UsageError
from inarch.dialects.graph.op import GraphOp, Property, shape_of
from inarch.dialects.graph.regions.scan import ScanOp
from inarch.dialects.graph.shape import ConcatOp, ReshapeOp, SliceOp
from inarch.ir.edit import erase, insert_before
from inarch.ir.location import copy_locations
from inarch.ir.passes import OptionalPass


@dataclass(frozen=True)
class UnrollScansPass(OptionalPass):
    """Replaces each `graph.scan` of at most `iterations` iterations by copies of its body, one an iteration.

    One iteration needs no loop, and what is around it then fuses with it. An iteration of a loop takes as
    long as a copy: all that copies gain is the first product with states that are known to be zero (LSTM of
    256 units: 11 us, at 2 iterations as at 20), and each is code to compile.
    """

    iterations: int = 1

    def __post_init__(self) -> None:
        if self.iterations < 0:
            raise UsageError(
                f"{self.name}: iterations: expected a whole number from 0 on, found {self.iterations}"
            )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        scans = [each for each in op.walk() if isinstance(each, ScanOp)]
        for scan in reversed(scans):  # inner ones first
            if scan.count <= self.iterations:
                _unroll(scan)


def _unroll(scan: ScanOp) -> None:
    taken, put = scan.is_backward
    states: list[SSAValue] = list(scan.states)
    columns: list[list[SSAValue]] = [[] for _ in put]
    for iteration in range(scan.count):
        places = [scan.count - 1 - iteration if back else iteration for back in taken]
        slices = [_slice(scan, x, at) for x, at in zip(scan.each, places, strict=True)]
        found = _iteration(scan, [*states, *slices, *scan.all])
        states = found[: len(states)]
        for column, row in zip(columns, found[len(states) :], strict=True):
            column.append(row)
    stacked = [
        _stack(scan, column[::-1] if back else column)
        for column, back in zip(columns, put, strict=True)
    ]
    for result, value in zip(scan.outs, [*states, *stacked], strict=True):
        result.replace_all_uses_with(value)
    erase(scan)


def _iteration(scan: ScanOp, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """What a copy of the body, before the scan, yields on `arguments`."""
    values: dict[SSAValue, SSAValue] = dict(zip(scan.body.block.args, arguments, strict=True))
    for op in list(scan.body.block.ops)[:-1]:
        copy = op.clone(values)
        copy_locations(op, copy)
        insert_before(scan, copy)
    return [values.get(value, value) for value in scan.yielded]


def _slice(scan: ScanOp, x: SSAValue, at: int) -> SSAValue:
    """`x[at]`."""
    shape = shape_of(x)
    part = _emit(
        scan,
        SliceOp,
        x,
        starts=[at, *(0 for _ in shape[1:])],
        sizes=[1, *shape[1:]],
        steps=[1 for _ in shape],
    )
    return _emit(scan, ReshapeOp, part, shape=list(shape[1:]))


def _stack(scan: ScanOp, rows: Sequence[SSAValue]) -> SSAValue:
    """The rows along a new first dimension."""
    parts = [_emit(scan, ReshapeOp, row, shape=[1, *shape_of(row)]) for row in rows]
    return parts[0] if len(parts) == 1 else _emit(scan, ConcatOp, *parts, axis=0)


def _emit(
    scan: ScanOp, kind: type[GraphOp], *operands: SSAValue, **properties: Property
) -> SSAValue:
    made = kind.make(*operands, location=scan.location, **properties)
    insert_before(scan, made)
    return made.results[0]
