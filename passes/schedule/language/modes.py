"""Giving an iterator of a nest its mode, and whether all of them can be obeyed at the end."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, ModuleOp

from inarch.core.errors import UnsupportedError
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.dependence.check import carried_by
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.linear import linear_map
from inarch.ir.location import location_text
from inarch.ir.names import symbols_of
from inarch.passes.loop.nests.modes import check_accumulators, check_modes
from inarch.passes.schedule.language.keeping import keep
from inarch.passes.schedule.language.places import Loops, error_of, loop_name, loops_around


def set_mode(nest: NestOp, position: int, mode: str) -> None:
    """Gives a serial iterator a mode. Raises InarchError where it has another one."""
    old = nest.iterators.data[position]
    name = old.label.data
    if old.mode.data not in ("serial", mode):
        raise error_of(
            nest, f"expected a serial iterator, found '{name}' with the mode {old.mode.data}"
        )
    iterators = list(nest.iterators)
    iterators[position] = IteratorAttr.get(name, old.size.data, old.kind.data, mode)
    nest.iterators = ArrayAttr(iterators)
    keep(nest)


def check_done(module: ModuleOp, op: Loops) -> None:
    """Raises InarchError where a mode of what was scheduled, or of a loop around it, cannot be obeyed."""
    if op.parent is None:  # something else stands in its place
        return
    for loop in loops_around(op):
        if loop.mode.data == "parallel" and (found := carried_by(loop, symbols_of(module))):
            name = loop_name(loop)
            raise error_of(
                op, f"expected independent iterations of {name} around it, found {found}"
            )
    if not isinstance(op, NestOp):
        return
    check_modes(op)
    check_accumulators(op)
    modes = {each.mode.data for each in op.iterators if each.size.data != 1}
    if modes & {"unroll", "vector"} and not op.has_scan:
        _check_pads(op)


def _check_pads(nest: NestOp) -> None:
    """No point of a tile may be outside of an operand of the body."""
    sizes = [max(n, 1) for n in nest.sizes]
    for at, argument in enumerate(nest.element_arguments(nest.body)):
        if not nest.reads.data[at].is_padded or argument.first_use is None:
            continue
        bounds = [form.bounds(sizes) for form in linear_map(nest.read_map(at))]
        for axis, (low, high) in enumerate(bounds):
            size = buffer_shape(nest.ins[at])[axis]
            if low < 0 or high >= size:
                raise UnsupportedError(
                    "expected reads inside of their operands, where iterators are unrolled or vectors, found "
                    f"operand {at} read at {low} to {high} in dimension {axis} of {size} elements; cache it "
                    "first, or split by a factor that divides",
                    where=location_text(nest),
                )


def sum_of(nest: NestOp, position: int) -> str:
    """What two iterations of a reduction or a scan have to do with each other."""
    iterator = nest.iterators.data[position]
    name = iterator.label.data
    if iterator.is_scan:
        return f"iteration {name} = 1 goes on from what {name} = 0 has accumulated"
    return f"iterations {name} = 0 and {name} = 1 change one accumulator"
