"""Modules of ExampleJSON text: each subgraph is a function that NumPy runs.

    module = load_module("mysubgraph.examplejson", "examplejson")
    result = module["subgraph_0"](a, b, c, d)

`subgraph_<n>` is also called by its symbol: what `name:` in the header says, else `examplejson_<n>`. The
grammar is in docs/examplejson.md.
"""

from __future__ import annotations

from inarch.core.errors import InarchError
from inarch.runtime.loaders import Loader
from inarch.runtime.loaders.examplejson.engine import bind
from inarch.runtime.loaders.examplejson.graph import unparse
from inarch.runtime.loaders.examplejson.parser import parse
from inarch.runtime.module import Module


def create(text: str, name: str) -> Module:
    """The module of ExampleJSON source; `name` starts the locations of messages.

    Its sources are `examplejson`, the text as given, and `canonical`, in the one canonical spelling.
    Raises InarchError at `name:line:column` for text that is not valid.
    """
    graphs = parse(text, name)
    functions = {function.name: function for graph in graphs for function in bind(graph)}
    return Module(
        LOADER.type_key,
        name,
        functions,
        sources={"examplejson": lambda: text, "canonical": lambda: unparse(graphs)},
        content=text.encode(),
    )


def load_from_bytes(data: bytes, name: str) -> Module:
    """As `create`, of what `Module.save_to_bytes` gave or a file holds."""
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise InarchError(
            f"expected printable ASCII, found the byte 0x{data[error.start]:02X}",
            where=f"{name}:{line}:{column}",
        ) from error
    return create(text, name)


LOADER = Loader("examplejson", load_from_bytes=load_from_bytes, create=create)
"""The engine of the backend `examplejson`, and of files written by hand."""
