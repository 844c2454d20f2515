"""Takes products by dequantized weights, transposed or not, with three ops or more in a region."""

from inarch.offload.backend import Backend, Emission
from inarch.offload.pattern import any_, constant, named, op

WEIGHTS = op("dequantize", constant(), constant())
PRODUCT = op("matmul", any_(), op("transpose", WEIGHTS) | WEIGHTS)

BACKEND = Backend(
    name="copies",
    description="products by weights",
    emit=lambda request: Emission("c", request.names()),
    patterns=(named("product", PRODUCT),),
    min_ops=3,
)
