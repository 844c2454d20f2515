"""`parallelize`: threads share the iterations of an iterator, or of an explicit loop.

As a pass, it is the one of that name with the options `nest` and `iterator`.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.dependence.check import carried_by
from inarch.dialects.loop.nest import NestOp
from inarch.ir.names import symbols_of
from inarch.passes.schedule.language.keeping import keep
from inarch.passes.schedule.language.modes import set_mode, sum_of
from inarch.passes.schedule.language.places import Loops, error_of, iterator_of, loop_name, loop_of
from inarch.passes.schedule.language.step import Action, Step
from inarch.passes.schedule.language.words import Words


def parallelize(op: Loops, iterator: str, symbols: Mapping[str, Operation]) -> Loops:
    """Lets threads share an iterator of a nest, or a loop in which or around which it stands.

    `symbols` are those of the module, for what a loop calls. Raises UsageError for a name; InarchError for a
    sum, and for iterations of a loop of which one touches what another one writes.
    """
    loop = loop_of(op, iterator)
    if loop is not None:
        _share_loop(loop, symbols)
        return op
    assert isinstance(op, NestOp)
    position = iterator_of(op, iterator)
    old = op.iterators.data[position]
    if old.is_scan or old.is_reduction:
        found = f"found the {old.kind.data} {iterator}: {sum_of(op, position)}"
        raise error_of(op, f"expected independent iterations of {iterator}, {found}")
    for at, each in enumerate(op.iterators):
        name = each.label.data
        if at != position and each.is_shared:
            raise error_of(
                op, f"expected one iterator whose iterations threads share, found also {name}"
            )
        if at < position and (each.is_scan or each.is_reduction):
            raise error_of(
                op,
                f"expected {iterator} outside of {name}, whose iterations one thread adds up, found it "
                "inside; "
                "interchange them first",
            )
    set_mode(op, position, "parallel")
    return op


def _share_loop(loop: ForOp, symbols: Mapping[str, Operation]) -> None:
    name = loop_name(loop)
    if loop.mode.data == "unroll":
        raise error_of(loop, f"expected a loop of iterations, found '{name}' unrolled")
    found = carried_by(loop, symbols)
    if found is not None:
        raise error_of(loop, f"expected independent iterations of {name}, found {found}")
    loop.mode = StringAttr("parallel")
    keep(loop)


def _read(words: Words) -> Action:
    iterator = words.name("an iterator")
    return lambda module, op: parallelize(op, iterator, symbols_of(module))


STEP = Step("parallelize ITERATOR", _read)
