"""Nests that look the same are decided once: a network repeats its layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Operation

from inarch.dialects.loop.buffer import WORKSPACE_ALIGNMENT_BYTES, root
from inarch.ir.target import excluded_at
from inarch.passes.tensorize.report import Choice
from inarch.passes.tensorize.unify.body import expression_of
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


def key_of_nest(nest: StridedNest) -> object:
    """All of a nest that a decision depends on: two with equal keys get the same kernel.

    Its `repr` says as much, in another process too.
    """
    op = nest.nest
    buffers = [root(access.buffer) for access in nest.accesses]
    starts = [nest.accesses[buffers.index(buffer)].offset for buffer in buffers]
    accesses = tuple(
        (
            access.buffer.type,
            access.offset - start,  # between accesses of one buffer
            access.offset * access.nbytes % WORKSPACE_ALIGNMENT_BYTES,
            access.strides,
            tuple(form.coefficients for form in access.indices),
            access.is_inside,
            access.is_constant,
            access.turns,
            buffer.owner.name if isinstance(buffer.owner, Operation) else None,
            buffers.index(buffer),  # which accesses are of the same memory
        )
        for access, buffer, start in zip(nest.accesses, buffers, starts, strict=True)
    )
    finish = expression_of(op, op.finish) if op.finish is not None else None
    body = expression_of(op, op.body)
    return (
        nest.axes,
        nest.is_in_loop,
        accesses,
        str(body),
        op.finish is not None,
        str(finish),
        op.writes.data[0].init,  # equal when its bits are
        op.sizes,
        names_of(op),
        excluded_of(nest),
    )
