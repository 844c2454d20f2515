"""Modules of ExampleJSON text: each subgraph is a function that NumPy runs.

    module = load_module("mysubgraph.examplejson", "examplejson")
    result = module["subgraph_0"](a, b, c, d)

`subgraph_<n>` is also called by its symbol: what `name:` in the header says, else `examplejson_<n>`. A
function of any other name takes the least number that is free. ExampleJSON is the graph format of TVM's
tutorial *Bring Your Own Codegen*: not JSON, one node a line, no control flow. The tutorial's files are
valid byte for byte; theirs are `header` without `name:`, `input` without `dtype`, and `add`, `sub` and
`mul` without `dtype` and `attrs`.

    file      = subgraph , { subgraph } ;
    subgraph  = header , node , { node } , [ outputs ] ;
    header    = "subgraph_" , number , [ "name:" , symbol ] ;
    node      = input | constant | op ;
    input     = "input" , id , { dim } , [ dtype ] ;
    constant  = "constant" , id , "shape:" , { dim } , [ dtype ] , ( "data:" , { value } | "base64:" ,
                base64 ) ;
    op        = name , id , "inputs:" , { id } , "shape:" , { dim } , [ dtype ] , [ "attrs:" , attr ,
                { attr } ] ;
    outputs   = "outputs:" , id , { id } ;
    dtype     = "dtype:" ,
                ( "f32" | "f64" | "i8" | "i16" | "i32" | "i64" | "ui8" | "ui16" | "ui32" | "ui64" | "i1" ) ;
    attr      = key , "=" , ( integer | [ integer , { "," , integer } ] | "true" | "false" | value ) ;
    symbol    = ( letter | "_" ) , { letter | digit | "_" | "$" | "." | "-" } ;
    number, id, dim = digit , { digit } ;
    value     = decimal, hexadecimal (0x1.8p+1), inf or nan, with an optional sign ;

- Each header, node and `outputs` is one line of printable ASCII that ends in LF or CR LF. Words are separated
  by spaces or tabs; indentation is free, blank lines mean nothing, and an attribute has no blanks in it.
- Ids are dense and in order: a node's id is the number of nodes before it. `inputs:` and `outputs:` name
  earlier nodes. A subgraph gives what `outputs:` lists, else its last node, which then is not an `input`.
- Without `dtype:` a node is `f32`. No dimension means a scalar. A tensor has at most 32 dimensions and less
  than 2**62 bytes (sizes of 0 count as 1). The names of all functions of a file differ.
- `shape:` and `dtype:` of an op are what the op gives; for `reshape`, `broadcast_to` and `slice` the shape is
  the target, or the sizes.
- `data:` has one value for each element; `base64:` has the elements in memory: little-endian, row-major, a
  bool as the byte 0 or 1. Floats are rounded to the dtype; out of its range is an error.

The ops compute what the `graph` ops of the same names compute:

    | ops | inputs | attributes |
    |---|---|---|
    | `add sub mul div maximum minimum pow` | 2, broadcast as in NumPy | |
    | `neg abs relu exp log sqrt tanh sigmoid` | 1 | |
    | `clip` | 1 | `low`, `high` (both optional) |
    | `matmul` | 2, rank >= 2, leading dimensions broadcast | |
    | `softmax` | 1 | `axis` (negative: from the end) |
    | `reduce_sum reduce_mean reduce_max reduce_min` | 1 | `axes` ascending, `keepdims` (default `false`) |
    | `reshape broadcast_to` | 1 | |
    | `transpose` | 1 | `perm` |
    | `concat` | 1 or more | `axis` |
    | `slice` | 1 | `starts`, `steps` (negative: backwards) |

`get_source("canonical")` is the one canonical spelling, which the backend writes: nodes indented by two
spaces, one space between words, defaults left out, constants of up to 16 elements (without NaN) as
numbers. Reading is linear in the text, and checks all of it before anything runs. Other than in the
tutorial's runtime, a function is bound to its own subgraph, all state belongs to one call, and outputs
are written and not read.
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
