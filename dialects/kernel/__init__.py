"""`kernel`: microkernels, their calls, and copies into the layouts that they want.

Ops are on buffers, like those of `loop`. To add an op, write its class into a file here and its
cases into `tests/lit/dialects/kernel/<file>.mlir` and `<file>-invalid.mlir`. Example: `kernel.call
@gemm_4x16(%a, %b, %c) [64] : memref<4x64xf32>, memref<64x16xf32>, memref<4x16xf32>`.
"""

from __future__ import annotations

from inarch.dialects._collect import dialect

DIALECT = dialect(__name__)
