"""A rewrite driver with a limit, which keeps locations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    UnknownLoc,
)
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from inarch.core.errors import InternalError


def apply_patterns(module: Operation, patterns: Sequence[RewritePattern]) -> int:
    """Applies `patterns` (first match wins) to every op until none matches; returns how many did.

    New ops without a location get the one of the op that was matched. Nothing is folded or erased
    besides what the patterns do. Raises InternalError after 100 rewrites per op, at least 1,000, since
    two patterns that undo each other would run for ever.
    """
    todo = list(module.walk())
    limit = max(1_000, 100 * len(todo))
    done = 0
    changed = True
    while changed:
        changed = False
        for op in todo:
            if op.parent is None:  # the module; or erased, alone or with what it was in
                continue
            name = _rewrite_once(op, patterns)
            if name is None:
                continue
            changed = True
            done += 1
            if done > limit:
                raise InternalError(f"{name} still rewrites '{op.name}' after {limit} rewrites")
        if changed:
            todo = list(module.walk())
    return done


def _rewrite_once(op: Operation, patterns: Sequence[RewritePattern]) -> str | None:
    """The name of the pattern that rewrote `op`, if one did."""
    location = op.location
    rewriter = PatternRewriter(op)

    def stamp(new: Operation) -> None:
        if isinstance(new.location, UnknownLoc):
            new.location = location

    rewriter.operation_insertion_handler.append(stamp)
    for pattern in patterns:
        pattern.match_and_rewrite(op, rewriter)
        if rewriter.has_done_action:
            return type(pattern).__name__
    return None
