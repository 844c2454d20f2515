"""Of weights that are stored narrow a copy in f32 is made first."""

from inarch.dialects.graph.matmul import MatmulOp
from inarch.passes.lower._widened import widened

ALGORITHM = widened(MatmulOp)
