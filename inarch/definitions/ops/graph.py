"""`graph`: every op states its own definition, `reference`; here is how it is called."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from inarch.core.errors import InternalError
from inarch.core.lazy import np
from inarch.definitions.frame import Definition, Frame
from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import GraphOp, shape_of, tensor_dtype
from inarch.dialects.graph.regions.branch import IfOp
from inarch.dialects.graph.regions.repeat import WhileOp
from inarch.dialects.graph.regions.scan import ScanOp
from inarch.ir.location import location_text
from inarch.ir.payload.constants import constant_array


def _reference(op: Operation, frame: Frame) -> None:
    """What the op says itself, which must have the type that it infers."""
    assert isinstance(op, GraphOp)
    found = op.reference(*frame.operands(op))
    results = [np.asarray(result) for result in (found if isinstance(found, tuple) else (found,))]
    for value, result in zip(op.results, results, strict=True):
        wanted = (shape_of(value), tensor_dtype(value).numpy)
        if (result.shape, result.dtype.name) != wanted:
            raise InternalError(
                f"the reference of '{op.name}' gives shape {result.shape} and dtype "
                f"{result.dtype.name}, its type is {wanted[0]} and {wanted[1]}",
                where=location_text(op),
            )
    frame.set(op, *results)


def _constant(op: Operation, frame: Frame) -> None:
    """The numbers of the attribute."""
    assert isinstance(op, ConstantOp)
    frame.set(op, constant_array(op.value, frame.state.store))


def _composite(op: Operation, frame: Frame) -> None:
    """The body, on the inputs."""
    assert isinstance(op, CompositeRegionOp)
    frame.set(op, *Frame(frame.state).run(op.body.block, frame.operands(op)))


def _iterations(op: Operation, frame: Frame) -> None:
    """The body, iteration by iteration."""
    assert isinstance(op, ScanOp | WhileOp)
    body = op.body.block
    frame.set(op, *op.run(frame.operands(op), lambda given: Frame(frame.state).run(body, given)))


def _if(op: Operation, frame: Frame) -> None:
    """One of the bodies."""
    assert isinstance(op, IfOp)
    run = op.run(frame.operands(op), lambda body, given: Frame(frame.state).run(body, given))
    frame.set(op, *run)


DEFINITIONS: Mapping[type[Operation], Definition] = {
    GraphOp: _reference,
    ConstantOp: _constant,
    CompositeRegionOp: _composite,
    ScanOp: _iterations,
    WhileOp: _iterations,
    IfOp: _if,
}
