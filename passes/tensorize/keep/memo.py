"""Nests that look the same are decided once: a network repeats its layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Operation

from inarch.dialects.loop.access import KINDS
from inarch.dialects.loop.buffer import WORKSPACE_ALIGNMENT_BYTES, root
from inarch.ir.report.structure import printed, structure_of, structure_text
from inarch.ir.target import excluded_at
from inarch.passes.tensorize.report import Choice
from inarch.passes.tensorize.unify.match import Miss, names_of
from inarch.passes.tensorize.unify.strided import StridedNest
from inarch.passes.tensorize.weigh.candidates import Candidate, again


@dataclass(frozen=True)
class Decision:
    """What was found for a nest, and so for all that are like it."""

    taken: Candidate | None
    choices: tuple[Choice, ...]
    misses: Mapping[str, Miss]
    is_tuned: bool = False
    """Whether somebody has measured it (`Tuned`)."""

    def of(self, nest: StridedNest) -> Candidate | None:
        """The candidate taken, for a nest like the one that it was made for; None: it cannot be had there."""
        return again(self.taken, nest) if self.taken is not None else None


def excluded_of(nest: StridedNest) -> tuple[str, ...]:
    """The kernels and templates that a schedule keeps from the nest."""
    return excluded_at(nest.nest)


def key_of_nest(nest: StridedNest) -> str:
    """All that a decision depends on, and the names in it: two nests with equal keys get the same kernel."""
    names = (*nest.nest.names, *names_of(nest.nest))
    return f"{nest_text(nest)}\nnames {' '.join(names)}"


def nest_text(nest: StridedNest) -> str:
    """The nest without names, as text, by which files address it: nothing in it is of a Python class.

    iterators 8, 32, 64 reduction
    memref<8x64xf32> [1 0 0][0 0 1], argument 0 at 0, 0 bytes from a line
    body (f32 f32 f32) arith.mulf 0 1 ...
    """
    op = nest.nest
    iterators = [
        str(size) + f" {each.kind.data}" * (each.kind.data != KINDS[0])
        for size, each in zip(op.sizes, op.iterators.data, strict=True)
    ]
    lines = [f"iterators {', '.join(iterators)}"]
    buffers = [root(access.buffer) for access in nest.accesses]
    starts = [nest.accesses[buffers.index(buffer)].offset for buffer in buffers]
    for access, buffer, start in zip(nest.accesses, buffers, starts, strict=True):
        origin = buffer.owner.name if isinstance(buffer.owner, Operation) else "argument"
        aligned = access.offset * access.nbytes % WORKSPACE_ALIGNMENT_BYTES
        indices = "".join(f"[{' '.join(map(str, one.coefficients))}]" for one in access.indices)
        lines.append(
            f"{printed(access.buffer.type)} {indices}, {origin} {buffers.index(buffer)}"
            f" at {access.offset - start}, {aligned} bytes from a line"
            + ("" if access.is_inside else ", beyond its edges")
            + (", constant" if access.is_constant else "")
            + (f", the same {access.iterations} times" if access.iterations != 1 else "")
        )
    lines.append(f"init {printed(op.writes.data[0].init)}")
    regions = {"body": op.body, "finish": op.finish}
    for name, region in regions.items():
        if region is not None:
            *before, end = region.block.ops
            lines.append(f"{name} {structure_text(structure_of(end, region.block.args, before))}")
    lines += ["within a loop"] if nest.is_in_loop else []
    lines += [f"without {name}" for name in excluded_of(nest)]
    return "\n".join(lines)
