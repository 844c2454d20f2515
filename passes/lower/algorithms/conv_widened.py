"""Of weights that are stored narrow a copy in f32 is made first."""

from inarch.dialects.graph.windows.conv import ConvOp
from inarch.passes.lower._widened import widened

ALGORITHM = widened(ConvOp)
