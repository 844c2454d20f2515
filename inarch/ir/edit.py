"""Taking ops out of a block and putting others in, next to an op that stands there."""

from __future__ import annotations

from xdsl.ir import Operation


def erase(*ops: Operation) -> None:
    """Takes each op out of its block, and erases it; nothing may use its results any more."""
    for op in ops:
        op.detach()
        op.erase()


def insert_before(place: Operation, *ops: Operation) -> None:
    """Puts ops, which are in no block, before `place`, in this order."""
    assert place.parent is not None, "it stands in a block"
    place.parent.insert_ops_before(ops, place)


def replace_op(old: Operation, *ops: Operation) -> None:
    """Puts ops, which are in no block, in the place of `old`, whose results nothing uses any more."""
    insert_before(old, *ops)
    erase(old)


def exchange(old: Operation, new: Operation) -> None:
    """Puts `new`, which is in no block, in the place of `old`, whose results it gives, by their names."""
    insert_before(old, new)
    for before, now in zip(old.results, new.results, strict=True):
        now.name_hint = before.name_hint
        before.replace_all_uses_with(now)
    old.detach()
