"""`graph`: whole tensors with value semantics, NumPy-style broadcasting, logical shapes.

Each file is one family of ops and each op is one class (see `op.py`). To add an op, write its class
into a file here and its cases into `tests/lit/dialects/graph/<file>.mlir` and `<file>-invalid.mlir`.
Example: `%c = graph.add %a, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>`.
"""

from __future__ import annotations

from functools import cache

from inarch.dialects.graph.op import GraphOp
from inarch.ir.dialect import dialect

DIALECT = dialect(__name__)


@cache
def operations() -> dict[str, type[GraphOp]]:
    """Name without the dialect's -> op: `operations()["exp"]`."""
    found = (op for op in DIALECT.operations if issubclass(op, GraphOp))
    return {op.name.partition(".")[2]: op for op in found}
