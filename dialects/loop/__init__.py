"""`loop`: nests over buffers, in destination style.

`loop.nest` is the structured form on which fusion, tiling and tensorize work; `loop.for` is the explicit
loop. Buffers are builtin `memref`s of the physical shape with explicit strides. To add an op, write its
class into a file here and its cases into `tests/lit/dialects/loop/<file>.mlir` and `<file>-invalid.mlir`.
Example: `loop.nest (i = 8) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>) { ... }`.
"""

from __future__ import annotations

from inarch.ir.dialect import dialect

DIALECT = dialect(__name__)
