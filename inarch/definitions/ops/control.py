"""`loop.for`, `loop.while`, `scf.if`, calls: what runs when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError, UnsupportedError
from inarch.core.lazy import Array, np
from inarch.definitions.buffers import Buffer
from inarch.definitions.elements import plain
from inarch.definitions.frame import Definition, Frame
from inarch.definitions.ops.memref import loaded
from inarch.dialects.graph.call import CallOp as GraphCallOp
from inarch.dialects.graph.composite import YieldOp as GraphYieldOp
from inarch.dialects.loop.control import CallOp, ForOp
from inarch.dialects.loop.nest import YieldOp
from inarch.dialects.loop.repeat import WhileOp
from inarch.ir.location import location_text

_MOST_ITERATIONS = 1 << 32
"""Of a loop: at a million a second, more than an hour."""


def _for(op: Operation, frame: Frame) -> None:
    """The body for `lower, lower + step, ...` below `upper`; all at once where nothing can tell."""
    assert isinstance(op, ForOp)
    band = _band(op)
    if band is not None and _independent(band, frame):
        _run_band(band, frame)
        return
    for index in _range(op, frame):
        frame.run(op.body.block, [frame.domain.exact(np.asarray(index, np.int64))])


def _range(op: ForOp, frame: Frame) -> range:
    """What it counts. Raises UnsupportedError for more than anybody waits for."""
    lower, upper, step = (
        each if isinstance(each, int) else int(plain(frame.get(each))) for each in op.bounds
    )
    numbers = range(lower, max(lower, upper), step) if step > 0 else range(0)
    iterations = -(-(numbers.stop - numbers.start) // numbers.step)
    if iterations > _MOST_ITERATIONS:
        raise UnsupportedError(
            f"cannot evaluate a loop of {iterations} iterations, expected at most {_MOST_ITERATIONS}",
            where=location_text(op),
        )
    return numbers


def _band(op: ForOp) -> list[ForOp] | None:
    """Loops in each other with nothing between them, and loads, stores and numbers in the last."""
    loops = [op]
    while True:
        ops = [each for each in loops[-1].body.block.ops if not each.has_trait(IsTerminator)]
        if len(ops) == 1 and isinstance(ops[0], ForOp) and ops[0].counted() is not None:
            loops.append(ops[0])
            continue
        plain_ops = all(
            isinstance(each, memref.LoadOp | memref.StoreOp)
            or (not each.regions and each.name.partition(".")[0] in ("arith", "math"))
            for each in ops
        )
        return loops if plain_ops else None


def _independent(band: Sequence[ForOp], frame: Frame) -> bool:
    """Whether no iteration reads what one writes, and each writes elements of its own.

    Each stores once, to indices among which is every loop's own, or a loop of one iteration.
    """
    ops = list(band[-1].body.block.ops)
    stores = [each for each in ops if isinstance(each, memref.StoreOp)]
    loads = [each for each in ops if isinstance(each, memref.LoadOp)]
    for store in stores:
        target = frame.buffer(store.memref)
        others = [frame.buffer(each.memref) for each in (*loads, *stores) if each is not store]
        if any(target.shares_memory(other) for other in others):
            return False
        if not all(
            loop.induction in store.indices or len(_range(loop, frame)) <= 1 for loop in band
        ):
            return False
    return True


def _run_band(band: Sequence[ForOp], frame: Frame) -> None:
    if any(not _range(loop, frame) for loop in band):
        return
    for axis, loop in enumerate(band):
        shape = [-1 if axis == each else 1 for each in range(len(band))]
        indices = np.array(_range(loop, frame), np.int64).reshape(shape)
        frame.values[loop.induction] = frame.domain.exact(indices)
    body = band[-1].body.block
    frame.run(body, [frame.get(argument) for argument in body.args])


def _while(op: Operation, frame: Frame) -> None:
    """The body for `lower, lower + step, ...` below `upper`, while the condition's element says so."""
    assert isinstance(op, WhileOp)
    lower, upper, step = (int(plain(frame.get(v))) for v in (op.lower, op.upper, op.step))
    index = lower
    while step > 0 and index < upper and _goes_on(op, frame):
        frame.run(op.body.block, [frame.domain.exact(np.asarray(index, np.int64))])
        index += step


def _goes_on(op: WhileOp, frame: Frame) -> bool:
    """What a load of the condition finds now."""
    if op.condition is None:
        return True
    return bool(plain(loaded(op, frame, op.condition, [])))


def _if(op: Operation, frame: Frame) -> None:
    """One of the two regions, or neither."""
    assert isinstance(op, scf.IfOp)
    region = op.true_region if bool(plain(frame.get(op.cond))) else op.false_region
    frame.set(op, *(frame.run(region.block) if region.blocks else []))


def _call(op: Operation, frame: Frame) -> None:
    """A function of the module on the same buffers; one without a body is asked of `imports`."""
    assert isinstance(op, CallOp)
    name = op.callee.root_reference.data
    function = frame.state.functions.get(name)
    arguments: list[Buffer] = [frame.buffer(argument) for argument in op.arguments]
    if function is None or not function.body.blocks:
        _import(op, frame, name, arguments)
        return
    wanted = list(function.function_type.inputs)
    if wanted != list(op.arguments.types):
        raise InarchError(
            f"'loop.call' of @{name} expects ({', '.join(map(str, wanted))}), found "
            f"({', '.join(str(kind) for kind in op.arguments.types)})",
            where=location_text(op),
        )
    own = 0 if op.workspace is None else op.workspace.value.data
    Frame(frame.state, workspace=frame.workspace + own).run(function.body.block, arguments)


def _import(op: CallOp, frame: Frame, name: str, arguments: Sequence[Buffer]) -> None:
    found = frame.state.imports.get(name)
    if found is None or not frame.domain.keeps_offsets:
        raise UnsupportedError(
            f"cannot evaluate a call of @{name}: it has no body", where=location_text(op)
        )
    function = frame.state.symbols.get(name)
    views = [each.views(each.offset, each.shape, each.strides)[0] for each in arguments]
    found(*(_declared(function, at, view) for at, view in enumerate(views)))
    for each in arguments:
        each.mark(each.offset, each.shape, each.strides)


def _declared(function: Operation | None, index: int, view: Array) -> Array:
    """An argument of an import as its function declares it: buffers are signless, `inarch.dtype` is not."""
    if not isinstance(function, func.FuncOp) or function.arg_attrs is None:
        return view
    declared = function.arg_attrs.data[index].data.get("inarch.dtype")
    return view.view(DTYPES[declared.data].numpy) if isinstance(declared, StringAttr) else view


def _graph_call(op: Operation, frame: Frame) -> None:
    """A function on tensors."""
    assert isinstance(op, GraphCallOp | func.CallOp)
    name = op.callee.string_value()
    function = frame.state.functions.get(name)
    if function is None or not function.body.blocks:
        found = frame.state.imports.get(name)
        if found is None:
            raise UnsupportedError(
                f"cannot evaluate a call of @{name}: it has no body", where=location_text(op)
            )
        returned = found(*frame.operands(op))
        results = cast(
            "Sequence[Any]", returned if isinstance(returned, tuple | list) else [returned]
        )
        frame.set(op, *(np.asarray(result) for result in results))
        return
    frame.set(op, *Frame(frame.state).run(function.body.block, frame.operands(op)))


def _end(op: Operation, frame: Frame) -> None:
    """Ends a block; whoever runs the block takes the operands."""
    del op, frame


DEFINITIONS: Mapping[type[Operation], Definition] = {
    ForOp: _for,
    WhileOp: _while,
    scf.IfOp: _if,
    CallOp: _call,
    GraphCallOp: _graph_call,
    func.CallOp: _graph_call,
    YieldOp: _end,
    GraphYieldOp: _end,
    scf.YieldOp: _end,
    func.ReturnOp: _end,
}
