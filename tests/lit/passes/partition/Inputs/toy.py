"""A backend for tests: a convolution with bias and relu as one unit, and mul."""

from inarch.offload.backend import Backend, Emission, EmitRequest
from inarch.offload.pattern import any_, constant, named, op, optional


def emit(request: EmitRequest) -> Emission:
    return Emission("c", request.names())


CONV = op("conv", any_(), constant(), strides=(1, 1))
BIASED = optional(CONV, lambda x: op("add", x, constant(), commutative=True))
PATTERN = optional(BIASED, lambda x: op("relu", x))

BACKEND = Backend(
    name="toy",
    description="For tests.",
    emit=emit,
    ops=("mul",),
    patterns=(named("conv_bias_relu", PATTERN),),
)
