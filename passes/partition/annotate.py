"""Asks backends for ops: what matches a pattern or a list of ops gets its owner as attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.ir.report.facts import facts_of
from inarch.passes.backend import Backend
from inarch.passes.partition.by_hand import (
    Selection,
    mark_by_hand,
    parse_selection,
    read_by_hand,
)
from inarch.passes.partition.common import (
    BACKEND,
    GIVE,
    MATCH,
    PATTERN,
    backend_named,
    check_registered,
    number_of,
    tensor_blocks,
    text_of,
)
from inarch.passes.partition.match.claims import Claims, claim_ops
from inarch.passes.partition.match.names import Names
from inarch.passes.partition.match.patterns import check_patterns
from inarch.passes.partition.match.required import run_required
from inarch.passes.partition.merge_composites import merge_composites
from inarch.passes.partition.merge_regions import merge_regions
from inarch.passes.partition.report import Recorder
from inarch.passes.partition.verify import check_partition


@dataclass(frozen=True)
class AnnotatePass(ModulePass):
    """Gives ops their owners: `partition.backend`, and of a pattern also `.pattern` and `.match`.

    `backends`: the first is preferred. `give` and `keep`: by hand, `give="conv=a","layer1/*=a"`; also as
    attributes of ops, `partition.give = "a"` and `partition.keep = ["a"]` (`"*"`: from every one).
    A backend's required passes run first, and change what it then takes (`match/required.py`). TVM's name:
    AnnotateTarget.
    """

    name = "annotate"
    backends: tuple[str, ...] = ()
    give: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        give = [parse_selection(text) for text in self.give]
        keep = [parse_selection(text) for text in self.keep]
        if not (
            self.backends or give or keep or any(GIVE in each.attributes for each in op.walk())
        ):
            return  # nobody was asked
        recorder = Recorder()
        annotate(ctx, op, self.backends, give, keep, recorder)
        facts_of(ctx).put(recorder)


PASS = AnnotatePass


def annotate(
    ctx: Context,
    module: ModuleOp,
    backends: Sequence[str],
    give: Sequence[Selection] = (),
    keep: Sequence[Selection] = (),
    recorder: Recorder | None = None,
) -> None:
    """The pass, with selections as pairs; `recorder` gets the reasons."""
    asked = [backend_named(name) for name in dict.fromkeys(backends)]
    check_registered(module)
    mark_by_hand(module, give, keep)
    given = dict.fromkeys(read_by_hand(module).given.values())
    given_to = [backend_named(name) for name in given]
    for backend in dict.fromkeys(backend.name for backend in (*asked, *given_to)):
        check_patterns(ctx, backend_named(backend))
    for backend in {each.name: each for each in (*asked, *given_to)}.values():
        run_required(
            ctx, module, backend, lambda copy, b=backend: _taken(copy, b.name, asked, given_to)
        )
    names = Names()
    if recorder is not None:
        recorder.start(module, [backend.name for backend in asked], names)
    by_hand = read_by_hand(module)  # again: the required passes may have made other ops
    _write(module, claim_ops(module, asked, by_hand, given_to, names, recorder))
    check_partition(module)


def _taken(
    module: ModuleOp, name: str, asked: Sequence[Backend], given_to: Sequence[Backend]
) -> set[Operation]:
    """The ops of `module`, which stays as it is, that backend `name` would get in the end.

    Not those that it would claim and that then go back to the host, in a region that is too small.
    """
    trial = module.clone()
    pairs = [
        (copy, op)
        for (_, block), (_, copied) in zip(tensor_blocks(module), tensor_blocks(trial), strict=True)
        for op, copy in zip(block.ops, copied.ops, strict=True)
    ]
    _write(trial, claim_ops(trial, asked, read_by_hand(trial), given_to, Names(), None))
    merge_composites(trial)
    merge_regions(trial)
    return {op for copy, op in pairs if name in (text_of(copy, BACKEND), _around(copy))}


def _around(op: Operation) -> str | None:
    """The owner of the composite that an op is in."""
    around = op.parent_op()
    return text_of(around, BACKEND) if isinstance(around, CompositeRegionOp) else None


def _write(module: ModuleOp, claims: Claims) -> None:
    """The owners as attributes; matches are numbered in the order of their last ops."""
    used = [number_of(op, MATCH) for op in module.walk()]
    count = max((number for number in used if number is not None), default=-1) + 1
    numbers: dict[Operation, IntegerAttr] = {}
    for op in claims.ops:
        claim = claims.owners.get(op)
        if claim is not None and claim.match is not None and claim.match.root is op:
            numbers[op] = IntegerAttr(count, 64)
            count += 1
    for op, claim in claims.owners.items():
        op.attributes[BACKEND] = StringAttr(claim.backend)
        if claim.match is not None and claim.pattern is not None:
            op.attributes[PATTERN] = StringAttr(claim.pattern)
            op.attributes[MATCH] = numbers[claim.match.root]
