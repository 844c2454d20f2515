"""How graph ops that are not structured become loops: one file a family, found by its file.

A file defines `LOWERING = {FooOp: rule}`; a rule appends to a LoopBuilder and enters the op's results
into `builder.buffers`. A new op that has no single nest gets its rule here; its test is a case of
`tests/lit/passes/lower/graph-to-loop.mlir`.
"""
