"""RNN, GRU and LSTM: a scan over the steps; the products with the inputs are one for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.regions.scan import scan
from inarch.frontends.report import NotSupportedError
from inarch.ir.types import i64

_FUNCTIONS: Mapping[str, str] = {"relu": "relu", "sigmoid": "sigmoid", "tanh": "tanh"}
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_DEFAULTS = {
    "RNN": ["Tanh"],
    "GRU": ["Sigmoid", "Tanh"],
    "LSTM": ["Sigmoid", "Tanh", "Tanh"],
}

State = tuple[SSAValue, ...]
"""The hidden state, [batch, hidden]; and the cell of an LSTM."""

Functions = Sequence[str]


@dataclass(frozen=True)
class Cell:
    """One direction: what its steps share."""

    node: Node
    functions: Functions
    hidden: int
    recurrence: SSAValue
    """[hidden, gates * hidden]"""
    bias: SSAValue | None
    """Of the recurrence, [gates * hidden], where it is not one of the products with the inputs"""
    peepholes: SSAValue | None
    """[3 * hidden]"""

    def function(self, index: int, x: SSAValue) -> SSAValue:
        """The activation of a gate; `clip` bounds what it is of."""
        limit = self.node.float("clip", 0.0)
        bounded = self.node.graph.clip(x, low=-limit, high=limit) if limit > 0 else x
        return self.node.emit(self.functions[index], bounded)

    def add(self, *values: SSAValue) -> SSAValue:
        return reduce(self.node.graph.add, values)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.node.graph.mul(a, b)

    def gate(self, x: SSAValue, index: int) -> SSAValue:
        """Gate `index` of what has all of them in its last dimension."""
        return self.node.part(x, len(shape_of(x)) - 1, index * self.hidden, self.hidden)

    def recur(self, state: SSAValue, first: int = 0, count: int | None = None) -> SSAValue:
        """The product with the columns of `count` gates (None: of all), and their bias."""
        gates = shape_of(self.recurrence)[1] if count is None else count * self.hidden
        columns = self.node.part(self.recurrence, 1, first * self.hidden, gates)
        product = self.node.graph.matmul(state, columns)
        return product if self.bias is None else self.add(product, self.bias)

    def living(self, state: State, lives: SSAValue) -> State:
        """The state that a step takes; what it makes of sequences that have ended is dropped."""
        del lives
        return state

    def one_minus(self, x: SSAValue) -> SSAValue:
        return self.node.graph.sub(1, x)


Step = Callable[[Cell, SSAValue, State], State]
"""From the products of one step and the states before, to the states after."""

MakeCell = Callable[[Node, int, SSAValue, Functions, int], tuple[Cell, SSAValue]]
"""From a direction, the inputs, the functions and the hidden size."""


def _rnn_step(cell: Cell, x: SSAValue, state: State) -> State:
    return (cell.function(0, cell.add(x, cell.recur(state[0]))),)


def _gru_step(cell: Cell, x: SSAValue, state: State) -> State:
    """Gates z, r, h: `H' = (1 - z) * h + z * H`."""
    (before,) = state
    resets_last = cell.node.flag("linear_before_reset", default=False)
    recurrent = cell.recur(before, 0, 3 if resets_last else 2)
    z, r = (
        cell.function(0, cell.add(cell.gate(x, index), cell.gate(recurrent, index)))
        for index in (0, 1)
    )
    if resets_last:
        inner = cell.mul(r, cell.gate(recurrent, 2))
    else:
        inner = cell.recur(cell.mul(r, before), 2, 1)
    h = cell.function(1, cell.add(cell.gate(x, 2), inner))
    return (cell.add(cell.mul(cell.one_minus(z), h), cell.mul(z, before)),)


def lstm_step(cell: Cell, x: SSAValue, state: State) -> State:
    """Gates i, o, f, c: `C' = f * C + i * c` and `H' = o * h(C')`; peepholes of i, o, f see C.

    `clip` is of gates: h sees all of C', as in onnxruntime.
    """
    before, memory = state
    total = cell.add(x, cell.recur(before))

    def gate(index: int, seen: SSAValue) -> SSAValue:
        value = cell.gate(total, index)
        if cell.peepholes is not None:
            value = cell.add(value, cell.mul(cell.gate(cell.peepholes, index), seen))
        return cell.function(0, value)

    i = gate(0, memory)
    coupled = cell.node.flag("input_forget", default=False)
    f = cell.one_minus(i) if coupled else gate(2, memory)
    c = cell.function(1, cell.gate(total, 3))
    memory = cell.add(cell.mul(f, memory), cell.mul(i, c))
    return cell.mul(gate(1, memory), cell.node.emit(cell.functions[2], memory)), memory


def _recurrent(step: Step) -> Converter:
    def convert(node: Node) -> list[SSAValue]:
        return run(node, step, _cell, node.op)

    return convert


def run(node: Node, step: Step, make: MakeCell, kind: str) -> list[SSAValue]:
    """Outputs Y [steps, directions, batch, hidden] and the last states [directions, batch, hidden].

    `make` makes the cell of a direction, and the products of all inputs with W, with biases.
    """
    batch_first = node.flag("layout", default=False)
    x = node.x(0)
    if len(node.shape(0)) != 3:
        raise InarchError(f"expected an input of rank 3, found shape {node.shape(0)}")
    if batch_first:
        x = node.graph.transpose(x, perm=[1, 0, 2])
    steps, batch, _ = shape_of(x)
    if steps < 1:
        raise NotSupportedError(f"a sequence of {steps} steps")
    hidden, directions = _sizes(node, shape_of(x)[2], kind)
    functions = _functions(node, directions, kind)
    states = _initial(node, directions, batch, hidden, kind)
    lives = _lives(node, steps)
    backward = node.text("direction", "forward") == "reverse"
    outputs: list[SSAValue] = []
    last: list[State] = []
    for d in range(directions):
        cell, products = make(node, d, x, functions[d], hidden)
        *state, y = _iterations(cell, products, lives, states[d], step, backward=backward or d == 1)
        outputs.append(node.reshape(y, (steps, 1, batch, hidden)))
        last.append(tuple(state))
    whole = outputs[0] if len(outputs) == 1 else node.graph.concat(*outputs, axis=1)
    finals = [_stack(node, list(parts)) for parts in zip(*last, strict=True)]
    if not batch_first:
        return [whole, *finals]
    whole = node.graph.transpose(whole, perm=[2, 0, 1, 3])
    return [whole, *(node.graph.transpose(final, perm=[1, 0, 2]) for final in finals)]


def _cell(
    node: Node, d: int, x: SSAValue, functions: Functions, hidden: int
) -> tuple[Cell, SSAValue]:
    """Direction `d`, and its products with the inputs of all steps, with the biases that it may add."""
    w, r = (node.graph.transpose(drop(node, node.x(index), d), perm=[1, 0]) for index in (1, 2))
    products = node.graph.matmul(x, w)
    bias = None
    if node.has(3):
        apart = node.op == "GRU" and node.flag("linear_before_reset", default=False)
        own, bias = biases(node, d, _GATES[node.op] * hidden, apart=apart)
        products = node.graph.add(products, own)
    return Cell(node, functions, hidden, r, bias, peepholes(node, d)), products


def biases(node: Node, d: int, gates: int, *, apart: bool) -> tuple[SSAValue, SSAValue | None]:
    """The bias of the inputs and, `apart`, that of the recurrence; else their sum."""
    both = drop(node, node.x(3), d)
    own, recurrent = (node.part(both, 0, start, gates) for start in (0, gates))
    return (own, recurrent) if apart else (node.graph.add(own, recurrent), None)


def peepholes(node: Node, d: int) -> SSAValue | None:
    """Those of direction `d`, [3 * hidden], if there are any."""
    return drop(node, node.x(7), d) if node.has(7) else None


def _iterations(
    cell: Cell,
    products: SSAValue,
    lives: SSAValue | None,
    state: State,
    step: Step,
    *,
    backward: bool,
) -> list[SSAValue]:
    """The last states of one direction, and the hidden ones of all steps, [steps, batch, hidden]."""

    def iteration(states: Sequence[SSAValue], slices: Sequence[SSAValue]) -> list[SSAValue]:
        before = tuple(states)
        if lives is None:
            after = step(cell, slices[0], before)
            return [*after, after[0]]
        after = step(cell, slices[0], cell.living(before, slices[1]))
        return _masked(cell.node, slices[1], after, before)

    each = [products] if lives is None else [products, lives]
    taken = [int(backward)] * len(each)
    found = scan(cell.node, shape_of(products)[0], state, each, iteration, (taken, [int(backward)]))
    assert found is not None, "an iteration is not converted but built"
    return found


def _sizes(node: Node, width: int, kind: str) -> tuple[int, int]:
    """The hidden size and the number of directions, with which all operands agree.

    W and R of quantized operators have their gates last.
    """
    direction = node.choice("direction", ("forward", "reverse", "bidirectional"), "forward")
    directions, gates = 1 + (direction == "bidirectional"), _GATES[kind]
    shape, last = node.shape(2), node.op != kind
    hidden = shape[1 if last else 2] if len(shape) == 3 else 0
    given = node.int("hidden_size", hidden)
    if given != hidden:
        raise InarchError(f"expected hidden_size = {hidden} as in R, found {given}")
    expected = {
        1: ("W", _matrix(directions, gates * hidden, width, last=last)),
        2: ("R", _matrix(directions, gates * hidden, hidden, last=last)),
        3: ("B", (directions, 2 * gates * hidden)),
        7: ("P", (directions, 3 * hidden)),
    }
    for index, (name, wanted) in expected.items():
        if node.has(index) and node.shape(index) != wanted:
            raise InarchError(f"expected {name} of shape {wanted}, found {node.shape(index)}")
    return hidden, directions


def _matrix(directions: int, gates: int, width: int, *, last: bool) -> tuple[int, int, int]:
    return (directions, width, gates) if last else (directions, gates, width)


def _functions(node: Node, directions: int, kind: str) -> list[list[str]]:
    defaults = _DEFAULTS[kind]
    attribute = node.attribute("activations")
    names = [text.decode("utf-8", "replace") for text in attribute.strings] if attribute else []
    names = names or defaults * directions
    if len(names) != len(defaults) * directions:
        raise InarchError(f"expected {len(defaults) * directions} activations, found {names}")
    if unknown := [name for name in names if name.lower() not in _FUNCTIONS]:
        raise NotSupportedError(f"activation {unknown[0]}")
    kinds = [_FUNCTIONS[name.lower()] for name in names]
    count = len(defaults)
    return [kinds[d * count : (d + 1) * count] for d in range(directions)]


def _initial(node: Node, directions: int, batch: int, hidden: int, kind: str) -> list[State]:
    """The states of each direction before the first step: inputs 5 and 6, else zeros."""
    wanted = (directions, batch, hidden)
    states: list[SSAValue] = []
    for index in range(5, 7 if kind == "LSTM" else 6):
        if not node.has(index):
            states.append(node.broadcast(node.like(0, node.x(0)), wanted))
            continue
        value = node.x(index)
        if node.flag("layout", default=False):
            value = node.graph.transpose(value, perm=[1, 0, 2])
        if shape_of(value) != wanted:
            raise InarchError(f"expected states of shape {wanted}, found {shape_of(value)}")
        states.append(value)
    return [tuple(drop(node, value, d) for value in states) for d in range(directions)]


def _lives(node: Node, steps: int) -> SSAValue | None:
    """Whether each step is within each sequence, [steps, batch, 1]; None where lengths are not given."""
    if not node.has(4):
        return None
    known = node.builder.arrays.get(node.x(4))
    if known is not None and known.size and not 0 <= known.min() <= known.max() <= steps:
        raise InarchError(f"expected sequence_lens from 0 to {steps}, found {known.tolist()}")
    node.indexes(node.x(4), steps + 1, wraps=False)
    lengths = node.graph.cast(node.x(4), to=i64)
    iterations = node.constant(np.arange(steps, dtype=np.int64).reshape(steps, 1, 1))
    return node.graph.less(iterations, node.reshape(lengths, (1, *node.shape(4), 1)))


def _masked(node: Node, lives: SSAValue, after: State, before: State) -> list[SSAValue]:
    """The states after a step, and its output; beyond a sequence's length they stay, and 0 comes out."""
    states = [node.graph.select(lives, new, old) for new, old in zip(after, before, strict=True)]
    return [*states, node.graph.select(lives, after[0], 0)]


def drop(node: Node, x: SSAValue, index: int) -> SSAValue:
    """`x[index]`: one element of the first dimension."""
    return node.reshape(node.part(x, 0, index, 1), shape_of(x)[1:])


def _stack(node: Node, values: Sequence[SSAValue]) -> SSAValue:
    """The values along a new first axis."""
    parts = [node.reshape(value, (1, *shape_of(value))) for value in values]
    return parts[0] if len(parts) == 1 else node.graph.concat(*parts, axis=0)


CONVERTERS: dict[str, Converter] = {
    "GRU": _recurrent(_gru_step),
    "LSTM": _recurrent(lstm_step),
    "RNN": _recurrent(_rnn_step),
}
