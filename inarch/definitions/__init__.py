"""For authors of definitions: `DEFINITIONS = {MyOp: elementwise(elements.add)}`.

Or a function of `(op, frame)` for the op.
A frame has the values of the operands (`operands`, `get`, `buffer`) and takes those of the results (`set`);
`run` runs a block. `elements` are the functions to compute with, which give bounds as well as numbers.
"""

from __future__ import annotations

from inarch.definitions import elements
from inarch.definitions.frame import Definition, Frame, definition_of, elementwise, outside

__all__ = ["Definition", "Frame", "definition_of", "elements", "elementwise", "outside"]
