"""`kernel`: microkernels, their calls, and copies into the layouts that they want.

Ops are on buffers, like those of `loop`. To add an op, write its class into a file here and its
cases into `tests/lit/dialects/kernel/<file>.mlir` and `<file>-invalid.mlir`. Example: `kernel.call
@gemm_4x16(%a[0] strides [64, 1], %b[0] strides [16, 1], %c[0] strides [16, 1]) sizes [64] : ...`.
"""

from __future__ import annotations

from inarch.ir.dialect import dialect

DIALECT = dialect(__name__)
