"""The parser of ExampleJSON: text to graphs that are consistent, or one located InarchError.

It reads each character a bounded number of times, computes nothing that grows with the sizes of tensors, and
checks all that the engine relies on: ids, arities, attributes, shapes and dtypes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod

from inarch.core.dtypes import ARITHMETIC, DTYPES, DType
from inarch.core.errors import InarchError, unknown
from inarch.runtime.loaders.examplejson.graph import F32, Graph, Node, Tensor, Value, symbol_of
from inarch.runtime.loaders.examplejson.line import LIMIT, Line, Word
from inarch.runtime.loaders.examplejson.ops import OPS, Misfit, Op
from inarch.runtime.loaders.examplejson.values import read_attribute, read_base64, read_numbers

MAX_RANK = 32
"""NumPy before 2.0 has arrays of at most 32 dimensions."""

_HEADER = re.compile(r"subgraph_(0|[1-9][0-9]{0,8})")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_$.-]{0,254}")
_SHOWN_TYPES = 4
_NODE_KINDS = ("input", "constant", *OPS)


@dataclass
class _Subgraph:
    """A subgraph while its lines are read."""

    number: int
    symbol: str
    line: Line
    header: Word
    nodes: list[Node] = field(default_factory=list[Node])
    outputs: tuple[int, ...] = ()

    def close(self) -> Graph:
        """The graph, at its end."""
        name = self.header.text
        if not self.nodes:
            raise self.line.error(f"expected nodes in {name}, found an empty graph", self.header)
        last = len(self.nodes) - 1
        if not self.outputs and self.nodes[last].op == "input":
            raise self.line.error(
                f"expected an op at the end of {name}, found input {last}: nothing is computed; "
                "an 'outputs:' line can name an input",
                self.header,
            )
        return Graph(self.number, self.symbol, tuple(self.nodes), self.outputs or (last,))


def parse(text: str, name: str) -> tuple[Graph, ...]:
    """The subgraphs of a file that messages call `name`, in order; at least one.

    Lines end in LF or CR LF; blank ones mean nothing. Raises InarchError at `name:line:column`.
    """
    graphs: list[Graph] = []
    taken: dict[str, int] = {}
    current: _Subgraph | None = None
    for number, content in enumerate(text.split("\n"), 1):
        line = Line(content.removesuffix("\r"), number, name)
        if not line:
            continue
        word = line.take("a word")
        if word.text.startswith("subgraph_"):
            if current is not None:
                graphs.append(current.close())
            current = _header(line, word, taken)
        elif current is None:
            raise line.error(
                f"expected a header 'subgraph_<n>' before the first node, found {word}", word
            )
        else:
            _node_line(line, word, current)
    if current is None:
        raise InarchError("expected 'subgraph_<n>', found an empty file", where=f"{name}:1:1")
    return (*graphs, current.close())


def _header(line: Line, word: Word, taken: dict[str, int]) -> _Subgraph:
    """`subgraph_<n> [name: <symbol>]`; `taken` are the names of the subgraphs before, with lines."""
    match = _HEADER.fullmatch(word.text)
    if match is None:
        raise line.error(f"expected 'subgraph_<n>' with a number below 10**9, found {word}", word)
    number = int(match[1])
    named = word
    symbol = symbol_of(number)
    if line.accept("name:"):
        named = line.take("a name")
        symbol = named.text
        if not _SYMBOL.fullmatch(symbol):
            raise line.error(f"expected a name of letters, digits and '_$.-', found {named}", named)
        line.finish("the end of the line")
    line.finish("'name:' or the end of the line")
    for text, place in ((word.text, word), (symbol, named)):
        if text in taken:
            raise line.error(f"'{text}' is defined already, at line {taken[text]}", place)
    taken[word.text] = taken[symbol] = line.number
    return _Subgraph(number, symbol, line, word)


def _node_line(line: Line, word: Word, graph: _Subgraph) -> None:
    if graph.outputs:
        message = f"expected the next 'subgraph_<n>' after the line 'outputs:', found {word}"
        raise line.error(message, word)
    match word.text:
        case "outputs:":
            graph.outputs = _outputs(line, word, graph)
        case "input":
            graph.nodes.append(_input(line, graph))
        case "constant":
            graph.nodes.append(_constant(line, graph))
        case name if name in OPS:
            graph.nodes.append(_op(line, word, graph))
        case name:
            raise line.error(unknown("op", name[:40], _NODE_KINDS).message, word)


def _outputs(line: Line, word: Word, graph: _Subgraph) -> tuple[int, ...]:
    """`outputs: <id>...`."""
    if not line:
        line.take("an id")
    if not graph.nodes:
        raise line.error("expected nodes before the line 'outputs:', found none", word)
    return tuple(_known_id(line, found, graph) for found in line.until())


def _input(line: Line, graph: _Subgraph) -> Node:
    """`input <id> <dim>... [dtype: <dtype>]`."""
    _id(line, graph)
    kind = _type(line, line.until("dtype:"), "a dimension, 'dtype:' or the end of the line")
    line.finish("the end of the line")
    return Node("input", kind)


def _constant(line: Line, graph: _Subgraph) -> Node:
    """`constant <id> shape: <dim>... [dtype: <dtype>] (data: <number>... | base64: <text>)`."""
    _id(line, graph)
    line.expect("shape:")
    sizes = line.until("dtype:", "data:", "base64:")
    kind = _type(line, sizes, "a dimension, 'dtype:', 'data:' or 'base64:'")
    form = line.take("'data:' or 'base64:'")
    if form.text == "data:":
        data = read_numbers(line, form, kind)
    elif form.text == "base64:":
        data = read_base64(line, form, kind)
    else:
        raise line.error(f"expected 'data:' or 'base64:', found {form}", form)
    return Node("constant", kind, data=data)


def _op(line: Line, word: Word, graph: _Subgraph) -> Node:
    """`<op> <id> inputs: <id>... shape: <dim>... [dtype: <dtype>] [attrs: <name>=<value>...]`."""
    op = OPS[word.text]
    _id(line, graph)
    line.expect("inputs:")
    sources = line.until("shape:")
    line.expect("shape:")
    inputs = tuple(_known_id(line, found, graph) for found in sources)
    sizes = line.until("dtype:", "attrs:")
    declared = _type(line, sizes, "a dimension, 'dtype:', 'attrs:' or the end of the line")
    attrs = _attributes(line, word, op)
    wanted = "1 or more inputs" if op.arity is None else _count(op.arity, "input")
    if len(inputs) != op.arity if op.arity is not None else not inputs:
        raise line.error(f"expected {wanted} of '{word.text}', found {len(inputs)}", word)
    types = [graph.nodes[number].type for number in inputs]
    try:
        result = op.infer(types, declared, op.filled(attrs))
    except Misfit as error:
        raise line.error(f"{_call(word, types)}: {error}", word) from error
    if result != declared:
        given = _call(word, types)
        place = sizes[0] if sizes else word
        raise line.error(f"expected {result}, which {given} gives, found {declared}", place)
    return Node(word.text, declared, inputs, attrs)


def _id(line: Line, graph: _Subgraph) -> None:
    """Takes the id of a new node, which is the number of nodes before it."""
    word = line.take("an id")
    number, expected = line.number_of(word, "an id"), len(graph.nodes)
    if number < expected:
        raise line.error(f"expected the next id, {expected}, found the duplicate {number}", word)
    if number > expected:
        message = f"expected the next id, {expected}, found {number}: ids are dense"
        raise line.error(message, word)


def _known_id(line: Line, word: Word, graph: _Subgraph) -> int:
    """The id of an earlier node."""
    number, count = line.number_of(word, "an id"), len(graph.nodes)
    if number >= count:
        known = f"0 to {count - 1}" if count else "none"
        message = f"expected the id of an earlier node ({known}), found the undefined id {number}"
        raise line.error(message, word)
    return number


def _type(line: Line, sizes: list[Word], expected: str) -> Tensor:
    """The type of these sizes, and of the `dtype:` that may follow them."""
    shape = tuple(line.number_of(word, _dimension(word, expected)) for word in sizes)
    if len(shape) > MAX_RANK:
        message = f"expected at most {MAX_RANK} dimensions, found {len(shape)}"
        raise line.error(message, sizes[MAX_RANK])
    dtype = _dtype(line) if line.accept("dtype:") else F32
    # Sizes of 0 count as 1: NumPy multiplies the others even of an empty array.
    if dtype.nbytes * prod(max(size, 1) for size in shape) >= LIMIT:
        found = Tensor(dtype, shape)
        raise line.error(f"expected a tensor of less than 2**62 bytes, found {found}", sizes[0])
    return Tensor(dtype, shape)


def _dimension(word: Word, expected: str) -> str:
    """What could be where `word` is: a number that does not fit is wrong as a dimension."""
    return "a dimension" if word.text.lstrip("-").isdigit() else expected


def _dtype(line: Line) -> DType:
    word = line.take("a dtype")
    if word.text not in ARITHMETIC:
        raise line.error(unknown("dtype", word.text[:40], ARITHMETIC).message, word)
    return DTYPES[word.text]


def _attributes(line: Line, word: Word, op: Op) -> dict[str, Value]:
    """The attributes that are not defaults, in the op's order; the line ends after them."""
    given: dict[str, Value] = {}
    if line.accept("attrs:"):
        if not line:
            line.take("<name>=<value>")
        for pair in line.until():
            read_attribute(line, pair, word.text, op, given)
    line.finish("'attrs:' or the end of the line")
    for name, attr in op.attrs.items():
        if attr.required and name not in given:
            raise line.error(f"expected the attribute '{name}' of '{word.text}', found none", word)
    return {
        name: given[name]
        for name, attr in op.attrs.items()
        if name in given and given[name] != attr.default
    }


def _call(word: Word, types: list[Tensor]) -> str:
    """An op and its inputs in a message."""
    more = ", ..." if len(types) > _SHOWN_TYPES else ""
    return f"{word} of {', '.join(map(str, types[:_SHOWN_TYPES]))}{more}"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
