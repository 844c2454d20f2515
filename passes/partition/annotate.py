"""Asks backends for ops: what matches a pattern or a list of ops gets its owner as attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from inarch.core.errors import UsageError
from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.ir.passes import Pass
from inarch.ir.report.facts import facts_of
from inarch.offload.instance import Asked, Instances, instance_from
from inarch.passes.partition.by_hand import (
    Selection,
    mark_by_hand,
    parse_selection,
    read_by_hand,
)
from inarch.passes.partition.common import (
    BACKEND,
    GIVE,
    check_registered,
    tensor_blocks,
    text_of,
)
from inarch.passes.partition.match.claims import claim_ops
from inarch.passes.partition.match.names import Names
from inarch.passes.partition.match.own import own_passes
from inarch.passes.partition.match.patterns import check_patterns
from inarch.passes.partition.match.required import run_required
from inarch.passes.partition.match.write import write_claims
from inarch.passes.partition.merge_composites import merge_composites
from inarch.passes.partition.merge_regions import merge_regions
from inarch.passes.partition.report import Recorder
from inarch.passes.partition.verify import check_partition


@dataclass(frozen=True)
class AnnotatePass(Pass):
    """Gives ops their owners: `partition.backend`, and of a pattern also `.pattern` and `.match`.

    `backends`: the first is preferred; each a name, or an instance (`"big=npu:array=32"`). `instances`: those
    that are not asked by themselves and have options, for ops that are given to them. `give` and `keep`: by
    hand, `give="conv=a","layer1/*=a"`; also as attributes of ops, `partition.give = "a"`
    and `partition.keep = ["a"]` (`"*"`: from every one). A backend's required passes run first, and change
    what it then takes (`match/required.py`). TVM's name: AnnotateTarget.
    """

    backends: tuple[str, ...] = ()
    give: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        give = [parse_selection(text) for text in self.give]
        keep = [parse_selection(text) for text in self.keep]
        if not (
            self.backends or give or keep or any(GIVE in each.attributes for each in op.walk())
        ):
            return  # nobody was asked
        recorder = Recorder()
        declared = Instances(ctx, op)
        for text in self.instances:
            declared.declare(instance_from(text, "annotate"))
        annotate(ctx, op, self.backends, give, keep, recorder)
        facts_of(ctx).put(recorder)


def annotate(
    ctx: Context,
    module: ModuleOp,
    backends: Sequence[str],
    give: Sequence[Selection] = (),
    keep: Sequence[Selection] = (),
    recorder: Recorder | None = None,
) -> None:
    """The pass, with selections as pairs; `recorder` gets the reasons."""
    instances = Instances(ctx, module)
    wanted = dict.fromkeys(_declared(text, instances) for text in backends)
    asked = [instances.asked(name) for name in wanted]
    check_registered(module)
    for _, name in (*give, *keep):
        _check_selected(name, asked)
    mark_by_hand(instances, module, give, keep)
    given = dict.fromkeys(read_by_hand(module).given.values())
    given_to = [instances.asked(name) for name in given]
    every = {each.name: each for each in (*asked, *given_to)}.values()
    for one in every:
        check_patterns(ctx, one.backend)
        own_passes(one, one.backend.passes, "has the pass")  # refused before anything runs
    for one in every:
        run_required(
            ctx, module, one, lambda copy, b=one: _taken(ctx, copy, b.name, asked, given_to)
        )
    names = Names()
    if recorder is not None:
        recorder.start(module, [one.name for one in asked], names)
    by_hand = read_by_hand(module)  # again: the required passes may have made other ops
    write_claims(module, claim_ops(module, asked, by_hand, given_to, names, recorder))
    check_partition(module)


def _declared(text: str, instances: Instances) -> str:
    """The name of the instance that `text` says, which the program has from here on."""
    if ":" not in text and "=" not in text:
        return instances.named(text).name
    return instances.declare(instance_from(text, "annotate")).name


def _check_selected(name: str, asked: Sequence[Asked]) -> None:
    """Raises UsageError for the name of a backend of which only instances with other names are asked."""
    others = [one.name for one in asked if one.instance.backend.name == name]
    if others and name not in others:
        raise UsageError(
            f"'{name}' is asked for as {' and '.join(others)}: write {' or '.join(others)} for it"
        )


def _taken(
    ctx: Context,
    module: ModuleOp,
    name: str,
    asked: Sequence[Asked],
    given_to: Sequence[Asked],
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
    claims = claim_ops(trial, asked, read_by_hand(trial), given_to, Names(), None)
    ops = dict(pairs)
    pairs += [(copy, ops[original]) for copy, original in claims.copies.items()]
    write_claims(trial, claims)
    merge_composites(ctx, trial)
    merge_regions(ctx, trial, asked=[one.name for one in asked])
    return {op for copy, op in pairs if name in (text_of(copy, BACKEND), _around(copy))}


def _around(op: Operation) -> str | None:
    """The owner of the composite that an op is in."""
    around = op.parent_op()
    return text_of(around, BACKEND) if isinstance(around, CompositeRegionOp) else None
