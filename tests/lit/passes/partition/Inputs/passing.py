"""A backend for tests: takes add and neg, wants constants passed, and regions of two ops or more."""

from inarch.offload.backend import Backend, Emission, EmitRequest
from inarch.offload.pattern import any_, constant, named, op


def emit(request: EmitRequest) -> Emission:
    return Emission("c", request.names())


BACKEND = Backend(
    name="passing",
    description="For tests.",
    emit=emit,
    ops=("add", "neg"),
    patterns=(named("scale", op("mul", any_(), constant())),),
    bind_constants=False,
    min_ops=2,
)
