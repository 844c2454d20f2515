"""ExampleJSON, the graph format of TVM's tutorial: subgraphs as text that `runtime` runs with NumPy.

The smallest backend that offloads to an engine: each function becomes a subgraph of one text, which
the loader `examplejson` opens (`inarch.runtime.loaders.examplejson`, with the grammar). It has no options.
"""

from __future__ import annotations

from inarch.backends.examplejson._emit import accepts, emit
from inarch.backends.examplejson.ops import OPS
from inarch.offload.backend import Backend

BACKEND = Backend(
    name="examplejson",
    description="A text of graphs, as in TVM's tutorial, that a NumPy engine runs.",
    emit=emit,
    ops=tuple(f"graph.{name}" for name in OPS),
    accepts=accepts,
)
