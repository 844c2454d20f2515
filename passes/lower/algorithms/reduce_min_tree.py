"""Minima of short rows, and along axes around kept ones, by partial results: whole vectors, in order."""

from __future__ import annotations

from inarch.dialects.graph.reduce import ReduceMinOp
from inarch.passes.lower._tree import tree

ALGORITHM = tree(ReduceMinOp, "Minima by partial results, which are read in whole vectors")
