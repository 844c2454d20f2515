"""The passes on `loop`, against a brute-force interpreter of loop modules, on random programs."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith, func, math, memref
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from inarch._xdsl import location_text, parse_module, print_module, store_of, verify_module
from inarch.dialects import new_context
from inarch.dialects._constants import constant_array
from inarch.dialects._types import dtype_of
from inarch.dialects.loop._base import buffer_shape, memref_of, nbytes
from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp
from inarch.dialects.loop.control import CallOp, ForOp
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.errors import InarchError
from inarch.passes import PASSES
from inarch.passes.memory._arena import Lifetime, place

Array = np.ndarray[Any, Any]

# ------------------------------------------------------------------------------------ interpreter

SCALAR: Mapping[type[Operation], Callable[..., Any]] = {
    arith.AddfOp: operator.add,
    arith.AddiOp: operator.add,
    arith.SubfOp: operator.sub,
    arith.MulfOp: operator.mul,
    arith.MuliOp: operator.mul,
    arith.NegfOp: operator.neg,
    arith.MaximumfOp: np.maximum,
    arith.ExtFOp: np.float64,
    arith.TruncFOp: np.float32,
    math.TanhOp: np.tanh,
}


def element(type_: Any) -> np.dtype[Any]:
    return np.dtype(dtype_of(type_).numpy)


@dataclass
class Machine:
    """Runs a module's functions on arrays. A planned workspace is one array, full of garbage."""

    module: ModuleOp
    context: Any
    values: dict[SSAValue, Any] = field(default_factory=dict)

    def run(self, name: str, buffers: Sequence[Array]) -> None:
        functions = {op.sym_name.data: op for op in self.module.ops if isinstance(op, FuncOp)}
        function = functions[name]
        size = function.attributes.get("inarch.workspace_bytes")
        self.workspace = np.full(
            size.value.data if isinstance(size, IntegerAttr) else 0, 0xA5, "u1"
        )
        self.functions = functions
        self.block(function.body.block, buffers)

    def block(self, block: Block, arguments: Sequence[Any]) -> list[Any]:
        self.values.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if isinstance(op, YieldOp | func.ReturnOp):
                return [self.values[value] for value in op.operands]
            self.op(op)
        raise AssertionError("no terminator")

    def op(self, op: Operation) -> None:
        operands = [self.values[value] for value in op.operands]
        match op:
            case AllocOp():
                self.values[op.buffer] = self.allocate(op)
            case ConstantOp():
                self.values[op.buffer] = constant_array(op.value, store_of(self.context))
            case ReshapeOp():
                self.values[op.result] = operands[0].reshape(buffer_shape(op.result))
            case NestOp():
                self.nest(op, operands)
            case ForOp():
                for i in range(op.lower.data, op.upper.data, op.step.data):
                    self.block(op.body.block, [i])
            case CallOp():
                self.block(self.functions[op.callee.root_reference.data].body.block, operands)
            case memref.LoadOp():
                self.values[op.res] = operands[0][tuple(operands[1:])]
            case memref.StoreOp():
                operands[1][tuple(operands[2:])] = operands[0]
            case arith.ConstantOp(value=FloatAttr() as number):
                self.values[op.result] = element(op.result.type).type(number.value.data)
            case arith.ConstantOp(value=IntegerAttr() as number):
                self.values[op.result] = number.value.data
            case _:
                self.values[op.results[0]] = SCALAR[type(op)](*operands)

    def allocate(self, op: AllocOp) -> Array:
        shape, dtype = buffer_shape(op.buffer), element(memref_of(op.buffer).element_type)
        if op.offset is None:
            return np.full(shape, 77, dtype)
        begin = op.offset.value.data
        piece = self.workspace[begin : begin + nbytes(memref_of(op.buffer))]
        return piece.view(dtype).reshape(shape)

    def nest(self, op: NestOp, buffers: Sequence[Array]) -> None:
        ins, outs = buffers[: len(op.ins)], buffers[len(op.ins) :]
        spaces: list[list[range]] = [[], []]
        for kind in (False, True):
            for size, iterator in zip(op.sizes, op.iterators, strict=True):
                spaces[kind].append(range(size) if iterator.is_reduction is kind else range(1))
        written: list[tuple[Array, tuple[int, ...], Any]] = []
        for outer in itertools.product(*spaces[0]):
            places = [op.write_map(i).eval(outer, []) for i in range(len(outs))]
            acc = [
                element(memref_of(out).element_type).type(init)
                if (init := number_of(write.init)) is not None
                else array[place]
                for out, array, write, place in zip(op.outs, outs, op.writes, places, strict=True)
            ]
            for inner in itertools.product(*spaces[1]):
                point = [a + b for a, b in zip(outer, inner, strict=True)]
                acc = self.block(op.body.block, [*self.elements(op, ins, point), *acc])
            if op.finish is not None:
                acc = self.block(op.finish.block, [*self.elements(op, ins, outer), *acc])
            written += zip(outs, places, acc, strict=True)
        for array, index, value in written:
            array[index] = value

    @staticmethod
    def elements(op: NestOp, ins: Sequence[Array], point: Sequence[int]) -> list[Any]:
        found: list[Any] = []
        for array, read in zip(ins, op.reads, strict=True):
            index = read.map.data.eval(point, [])
            inside = all(0 <= i < n for i, n in zip(index, array.shape, strict=True))
            pad = number_of(read.pad)
            assert inside or pad is not None
            found.append(array[index] if inside else array.dtype.type(pad))
        return found


def compiled(text: str, pipeline: str) -> tuple[ModuleOp, Any]:
    context = new_context()
    module = parse_module(context, text)
    verify_module(module)
    for name in pipeline.split():
        PASSES[name]().apply(context, module)
        verify_module(module)
    # What is printed can be read again, and says the same.
    assert print_module(parse_module(context, print_module(module))) == print_module(module)
    return module, context


def results(text: str, pipeline: str, seed: int = 0) -> list[Array]:
    """The outputs of @main on random inputs."""
    module, context = compiled(text, pipeline)
    (main,) = (op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    rng = np.random.default_rng(seed)
    buffers: list[Array] = []
    outputs: list[Array] = []
    for argument, attributes in zip(main.body.block.args, main.arg_attrs or (), strict=True):
        shape, dtype = buffer_shape(argument), element(memref_of(argument).element_type)
        array = rng.standard_normal(shape).astype(dtype)
        buffers.append(array)
        if "inarch.result" in attributes.data:
            outputs.append(array)
    Machine(module, context).run("main", buffers)
    return outputs


# ------------------------------------------------------------------------------------ programs

Read = tuple[str, str]
"""A buffer and the text of its index, with its pad: `i, j - 1] pad 0.5`, `i, j]`."""


@dataclass
class Program:
    """Text of a random @main over matrices of 1 to 4 rows and columns."""

    lines: list[str] = field(default_factory=list)
    shapes: dict[str, tuple[int, int]] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    elements: dict[str, str] = field(default_factory=dict)

    def argument(self, shape: tuple[int, int], attribute: str = 'inarch.name = "x"') -> str:
        name = self.name(shape, "f32")
        self.arguments.append(f"{name}: {self.type(name)} {{{attribute}}}")
        return name

    def alloc(self, shape: tuple[int, int], element: str = "f32") -> str:
        name = self.name(shape, element)
        self.lines.append(f"{name} = loop.alloc : {self.type(name)}")
        return name

    def name(self, shape: tuple[int, int], element: str) -> str:
        name = f"%b{len(self.shapes)}"
        self.shapes[name], self.elements[name] = shape, element
        return name

    def type(self, name: str) -> str:
        rows, columns = self.shapes[name]
        return f"memref<{rows}x{columns}x{self.elements[name]}>"

    def nest(
        self, space: str, ins: Sequence[Read], out: Read, body: Sequence[str], last: str
    ) -> str:
        """Appends a nest that yields `last`; returns its output."""
        reads = ", ".join(f"{name}[{index} : {self.type(name)}" for name, index in ins)
        arguments = [f"%e{i}: {self.elements[name]}" for i, (name, _) in enumerate(ins)]
        arguments.append(f"%acc: {self.elements[out[0]]}")
        self.lines += [
            f"loop.nest ({space}) ins({reads}) outs({out[0]}[{out[1]} : {self.type(out[0])}) {{",
            f"^bb0({', '.join(arguments)}):",
            *body,
            f"loop.yield {last} : {self.elements[out[0]]}\n}}",
        ]
        return out[0]

    def text(self) -> str:
        body = "\n".join(self.lines)
        return f"func.func @main({', '.join(self.arguments)}) {{\n{body}\nfunc.return\n}}\n"

    # -- steps: each makes a new buffer from old ones

    def unary(self, x: str, _: str, op: str = "math.tanh") -> str:
        r, c = self.shapes[x]
        out = self.alloc((r, c))
        body = [f"%v = {op} %e0 : f32"]
        return self.nest(f"i = {r}, j = {c}", [(x, "i, j]")], (out, "i, j]"), body, "%v")

    def binary(self, x: str, y: str) -> str:
        """x + y, y broadcast where it has one row or column, else at a corner."""
        (r, c), (yr, yc) = self.shapes[x], self.shapes[y]
        index = f"{'i' if yr == r else '0'}, {'j' if yc == c else '0'}]"
        ins = [(x, "i, j]"), (y, index)]
        body = ["%v = arith.subf %e0, %e1 : f32"]
        return self.nest(f"i = {r}, j = {c}", ins, (self.alloc((r, c)), "i, j]"), body, "%v")

    def transpose(self, x: str, _: str) -> str:
        r, c = self.shapes[x]
        out = self.alloc((c, r))
        return self.nest(f"i = {c}, j = {r}", [(x, "j, i]")], (out, "i, j]"), [], "%e0")

    def even_columns(self, x: str, _: str) -> str:
        r, c = self.shapes[x]
        half = (c + 1) // 2
        out = self.alloc((r, half))
        return self.nest(f"i = {r}, j = {half}", [(x, "i, j * 2]")], (out, "i, j]"), [], "%e0")

    def left_columns(self, x: str, _: str) -> str:
        r, c = self.shapes[x]
        half = (c + 1) // 2
        out = self.alloc((r, half))
        return self.nest(f"i = {r}, j = {half}", [(x, "i, j]")], (out, "i, j]"), [], "%e0")

    def row_sums(self, x: str, _: str) -> str:
        r, c = self.shapes[x]
        body = ["%v = arith.addf %acc, %e0 : f32"]
        out = self.alloc((r, 1))
        space = f"i = {r}, k = {c} reduction"
        return self.nest(space, [(x, "i, k]")], (out, "i, 0] init 0.25"), body, "%v")

    def window(self, x: str, _: str) -> str:
        """A row-wise convolution with padding."""
        r, c = self.shapes[x]
        body = ["%p = arith.mulf %e0, %e0 : f32", "%v = arith.addf %acc, %p : f32"]
        space = f"i = {r}, j = {c}, d = 3 reduction"
        out = self.alloc((r, c))
        return self.nest(space, [(x, "i, j + d - 1] pad 0.5")], (out, "i, j] init 0.0"), body, "%v")

    def shift(self, x: str, _: str) -> str:
        """A copy one column to the right."""
        r, c = self.shapes[x]
        reads = [(x, "i, j - 1] pad 0.5")]
        return self.nest(f"i = {r}, j = {c}", reads, (self.alloc((r, c)), "i, j]"), [], "%e0")

    def matmul(self, x: str, y: str) -> str:
        """x @ y, over as many elements as both have."""
        (r, k), (other, c) = self.shapes[x], self.shapes[y]
        body = ["%p = arith.mulf %e0, %e1 : f32", "%v = arith.addf %acc, %p : f32"]
        space = f"i = {r}, j = {c}, k = {min(k, other)} reduction"
        out = self.alloc((r, c))
        return self.nest(space, [(x, "i, k]"), (y, "k, j]")], (out, "i, j] init 0.0"), body, "%v")

    def concat(self, x: str, y: str) -> str:
        (r, c), (s, d) = self.shapes[x], self.shapes[y]
        out = self.alloc((min(r, s), c + d))
        for name, size, shift in ((x, c, 0), (y, d, c)):
            space = f"i = {min(r, s)}, j = {size}"
            self.nest(space, [(name, "i, j]")], (out, f"i, j + {shift}]"), [], "%e0")
        return out

    def view(self, x: str, _: str) -> str:
        r, c = self.shapes[x]
        name = self.name((c, r), "f32")
        self.lines.append(f"{name} = loop.reshape {x} : {self.type(x)} to {self.type(name)}")
        return name

    def through_f64(self, x: str, _: str) -> str:
        r, c = self.shapes[x]
        space = f"i = {r}, j = {c}"
        wide, out = self.alloc((r, c), "f64"), self.alloc((r, c))
        body = ["%v = arith.extf %e0 : f32 to f64"]
        self.nest(space, [(x, "i, j]")], (wide, "i, j]"), body, "%v")
        body = ["%v = arith.truncf %e0 : f64 to f32"]
        return self.nest(space, [(wide, "i, j]")], (out, "i, j]"), body, "%v")

    def output(self, x: str) -> None:
        r, c = self.shapes[x]
        out = self.argument((r, c), "inarch.result")
        self.nest(f"i = {r}, j = {c}", [(x, "i, j]")], (out, "i, j]"), [], "%e0")


STEPS = (
    Program.unary,
    Program.binary,
    Program.transpose,
    Program.even_columns,
    Program.left_columns,
    Program.row_sums,
    Program.window,
    Program.shift,
    Program.matmul,
    Program.concat,
    Program.view,
    Program.through_f64,
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Chains with side branches: most steps read what the step before made."""
    program = Program()
    sizes = st.integers(1, 4)
    for _ in range(2):
        program.argument((draw(sizes), draw(sizes)))
    made = list(program.shapes)
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=8)):
        x = made[-1] if draw(st.integers(0, 3)) else draw(st.sampled_from(made))
        made.append(step(program, x, draw(st.sampled_from(made))))
        if program.shapes[made[-1]][1] > 8:
            break
    program.output(made[-1])
    if draw(st.booleans()):
        program.output(draw(st.sampled_from(made)))
    return program.text()


def chain(*steps: Callable[[Program, str, str], str]) -> str:
    """A program of one chain on a 3 x 4 matrix; second operands are the argument."""
    program = Program()
    x = first = program.argument((3, 4))
    for step in steps:
        x = step(program, x, first)
    program.output(x)
    return program.text()


PIPELINES = (
    "fuse-nests",
    "materialize-padding",
    "outline-nests",
    "plan-memory",
    "fuse-nests materialize-padding outline-nests plan-memory",
)


def check_semantics(text: str, pipeline: str) -> None:
    expected = results(text, "")
    for before, after in zip(expected, results(text, pipeline), strict=True):
        np.testing.assert_array_equal(after, before)
    if "plan-memory" in pipeline:
        check_plan(compiled(text, pipeline)[0])


@pytest.mark.slow
@pytest.mark.sampled(3, reason="pipelines share passes")
@pytest.mark.parametrize("pipeline", PIPELINES)
@settings(max_examples=12, deadline=None)
@given(text=programs())
@example(text=chain(Program.window, Program.binary, Program.unary, Program.transpose))
@example(text=chain(Program.unary, Program.row_sums, Program.through_f64, Program.window))
@example(text=chain(Program.unary, Program.concat, Program.unary, Program.shift, Program.unary))
@example(text=chain(Program.window, Program.even_columns, Program.window, Program.shift))
@example(text=chain(Program.window, Program.left_columns, Program.unary))
def test_a_pass_keeps_what_random_programs_compute(pipeline: str, text: str) -> None:
    check_semantics(text, pipeline)


@pytest.mark.fuzz
@settings(max_examples=150, deadline=None)
@given(text=programs())
def test_all_passes_keep_what_many_random_programs_compute(text: str) -> None:
    check_semantics(text, PIPELINES[-1])


# ------------------------------------------------------------------------------------ plan-memory


def check_plan(module: ModuleOp) -> None:
    """Every plan of `module` is right; quadratic, and independent of the pass."""
    for function in module.ops:
        if isinstance(function, FuncOp) and function.sym_visibility is None:
            check_workspace(function)
    total = module.attributes["inarch.weights_bytes"]
    assert isinstance(total, IntegerAttr)
    constants = [op for op in module.walk() if isinstance(op, ConstantOp)]
    for first, second in itertools.combinations(constants, 2):
        assert first.value == second.value or not overlap(first, second)
    for constant in constants:
        assert place_of(constant)[1] <= total.value.data


def check_workspace(function: FuncOp) -> None:
    total = function.attributes["inarch.workspace_bytes"]
    assert isinstance(total, IntegerAttr)
    ops = list(function.body.block.ops)
    allocs = [op for op in ops if isinstance(op, AllocOp)]
    users = {alloc: [ops.index(user) for user in users_of(alloc.buffer)] for alloc in allocs}
    for alloc in allocs:
        begin, end = place_of(alloc)
        assert begin % 64 == 0
        assert end <= total.value.data or not users[alloc]
    for first, second in itertools.combinations([a for a in allocs if users[a]], 2):
        apart = max(users[first]) < min(users[second]) or max(users[second]) < min(users[first])
        assert apart or not overlap(first, second)


def users_of(buffer: SSAValue) -> list[Operation]:
    """The ops that touch the buffer, also through views."""
    found: list[Operation] = []
    for use in buffer.uses:
        op = use.operation
        found += users_of(op.result) if isinstance(op, ReshapeOp) else [op]
    return found


def place_of(op: AllocOp | ConstantOp) -> tuple[int, int]:
    assert op.offset is not None
    return op.offset.value.data, op.offset.value.data + nbytes(memref_of(op.buffer))


def overlap(first: AllocOp | ConstantOp, second: AllocOp | ConstantOp) -> bool:
    (a, b), (c, d) = place_of(first), place_of(second)
    return a < d and c < b


@st.composite
def lifetimes(draw: st.DrawFn) -> Lifetime:
    first = draw(st.integers(0, 30))
    return Lifetime(draw(st.integers(0, 1000)), first, first + draw(st.integers(0, 10)))


@settings(deadline=None)
@given(st.lists(lifetimes(), max_size=40))
def test_buffers_that_meet_never_overlap(lives: list[Lifetime]) -> None:
    offsets, total = place(lives, 64)
    ranges = [(o, o + life.size) for o, life in zip(offsets, lives, strict=True)]
    assert all(offset % 64 == 0 for offset in offsets)
    assert all(end <= total for (_, end), life in zip(ranges, lives, strict=True) if life.size)
    for i, j in itertools.combinations(range(len(lives)), 2):
        (a, b), (c, d) = ranges[i], ranges[j]
        assert not lives[i].meets(lives[j]) or b <= c or d <= a


def test_the_checker_finds_an_overlap() -> None:
    module, _ = compiled(chain(Program.unary, Program.transpose), "plan-memory")
    for op in module.walk():
        if isinstance(op, AllocOp):
            op.offset = IntegerAttr(0, 64)
    with pytest.raises(AssertionError):
        check_plan(module)


def test_a_chain_needs_two_buffers() -> None:
    module, _ = compiled(chain(*[Program.unary] * 20), "plan-memory")
    (main,) = (op for op in module.ops if isinstance(op, FuncOp))
    assert main.attributes["inarch.workspace_bytes"] == IntegerAttr(128, 64)


# ------------------------------------------------------------------------------------ fuse-nests


def nests(module: ModuleOp) -> list[NestOp]:
    return [op for op in module.walk() if isinstance(op, NestOp)]


def test_a_residual_block_becomes_one_nest() -> None:
    text = chain(Program.window, Program.binary, Program.unary)
    (nest,) = nests(compiled(text, "fuse-nests")[0])
    assert nest.finish is not None
    assert [op.name for op in nest.finish.block.ops] == ["arith.subf", "math.tanh", "loop.yield"]


def test_fused_nests_name_every_origin_once_up_to_four() -> None:
    text = chain(*[Program.unary] * 6)
    (nest,) = nests(compiled(text, "fuse-nests")[0])
    names = (location_text(nest) or "").split(" + ")
    assert len(names) == len(set(names)) == 4


def test_long_chains_stop_at_128_scalar_ops() -> None:
    found = nests(compiled(chain(*[Program.unary] * 300), "fuse-nests")[0])
    sizes = [sum(1 for _ in nest.body.block.ops) for nest in found]
    assert len(found) == 3
    assert max(sizes) <= 128


# ------------------------------------------------------------------------------------ errors

CALL = """
func.func @main(%x: memref<4xf32>) {
  loop.call @f(%x) : memref<4xf32>
  func.return
}
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            CALL + "func.func private @f(memref<4xf32>, memref<4xf32>)",
            "<text>:3:3: loop.call of @f expects 2 arguments, found 1",
        ),
        (
            CALL + "func.func private @f(memref<4xi32>)",
            (
                "<text>:3:3: loop.call of @f expects argument 0 of type memref<4xi32>, "
                "found memref<4xf32>"
            ),
        ),
        (
            CALL + "func.func private @f(memref<4xf32>) -> memref<4xf32>",
            (
                "<text>:3:3: loop.call expects a function without results, found @f : "
                "(memref<4xf32>) -> memref<4xf32>"
            ),
        ),
        (
            "func.func private @k() {\n%b = loop.alloc : memref<4xf32>\nfunc.return\n}",
            (
                "<text>:2:1: expected loop.alloc in a public function only, found it in "
                "private @k; pass the buffer as an argument"
            ),
        ),
        (
            (
                "func.func @main() {\nloop.for %i = 0 to 4 parallel {\n"
                "%b = loop.alloc : memref<4xf32>\nloop.yield\n}\nfunc.return\n}"
            ),
            (
                "<text>:3:1: expected loop.alloc outside parallel loops, whose iterations would "
                "share it; allocate one slice an iteration before the loop"
            ),
        ),
        (
            "func.func @main(memref<4xf32>)",
            (
                "<text>:1:1: expected public function @main to have one block, found 0; "
                "make an import private"
            ),
        ),
    ],
)
def test_plan_memory_refuses(text: str, message: str) -> None:
    context = new_context()
    module = parse_module(context, text)
    with pytest.raises(InarchError) as raised:
        PASSES["plan-memory"]().apply(context, module)
    assert str(raised.value) == message


def test_a_loop_may_use_only_buffers_from_outside() -> None:
    text = """
func.func @main(%n: index) {
  loop.for %i = 0 to 4 {
    %s = arith.addi %i, %n : index
    loop.yield
  }
  func.return
}
"""
    context = new_context()
    module = parse_module(context, text)
    with pytest.raises(InarchError) as raised:
        PASSES["outline-nests"]().apply(context, module)
    assert str(raised.value) == (
        "<text>:3:3: 'loop.for' expects to use only buffers and constants from outside, "
        "found a value of type index"
    )


def test_outlining_a_loop_takes_its_constants_along() -> None:
    text = """
func.func @main(%x: memref<4xf32> {inarch.name = "x"}, %y: memref<4xf32> {inarch.result}) {
  %three = arith.constant 3 : index
  loop.for %i = 0 to 4 {
    %v = memref.load %x[%three] : memref<4xf32>
    memref.store %v, %y[%i] : memref<4xf32>
    loop.yield
  }
  func.return
}
"""
    (before,) = results(text, "")
    (after,) = results(text, "outline-nests plan-memory")
    np.testing.assert_array_equal(after, before)
    module, _ = compiled(text, "outline-nests")
    main, _ = (op for op in module.ops if isinstance(op, FuncOp))
    assert [op.name for op in main.body.block.ops] == ["loop.call", "func.return"]
