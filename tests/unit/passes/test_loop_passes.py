"""The passes on `loop`: what they keep of chains of nests and of random programs; that plans are right."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from effort import SEED, effort
from inarch import testing
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.dialects.loop.nest import NestOp
from inarch.ir.location import location_text
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.passes import PASSES
from inarch.passes.memory.arena import Lifetime, align, place
from inarch.testing import check_compiled, check_semantics
from inarch.testing.generate import inputs, programs


def compiled(text: str, pipeline: str) -> tuple[ModuleOp, Any]:
    context = new_context()
    module = parse_module(context, text)
    verify_module(module)
    for name in pipeline.split(","):
        PASSES[name]().apply(context, module)
        verify_module(module)
    # What is printed can be read again, and says the same.
    assert print_module(parse_module(context, print_module(module))) == print_module(module)
    return module, context


# ------------------------------------------------------------------------------------ chains

Read = tuple[str, str]
"""A buffer and the text of its index, with its pad: `i, j - 1] pad 0.5`, `i, j]`."""


@dataclass
class Program:
    """Text of a @main over matrices."""

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

    def concat(self, x: str, y: str) -> str:
        (r, c), (s, d) = self.shapes[x], self.shapes[y]
        out = self.alloc((min(r, s), c + d))
        for name, size, shift in ((x, c, 0), (y, d, c)):
            space = f"i = {min(r, s)}, j = {size}"
            self.nest(space, [(name, "i, j]")], (out, f"i, j + {shift}]"), [], "%e0")
        return out

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


def chain(*steps: Callable[[Program, str, str], str]) -> str:
    """A program of one chain on a 3 x 4 matrix; second operands are the argument."""
    program = Program()
    x = first = program.argument((3, 4))
    for step in steps:
        x = step(program, x, first)
    program.output(x)
    return program.text()


CHAINS = (
    chain(Program.window, Program.binary, Program.unary, Program.transpose),
    chain(Program.unary, Program.row_sums, Program.through_f64, Program.window),
    chain(Program.unary, Program.concat, Program.unary, Program.shift, Program.unary),
    chain(Program.window, Program.even_columns, Program.window, Program.shift),
    chain(Program.window, Program.left_columns, Program.unary),
)
PIPELINES = (
    "fuse-nests",
    "materialize-padding",
    "outline-nests",
    "plan-memory",
    "fuse-nests,materialize-padding,outline-nests,plan-memory",
)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_passes_keep_what_chains_compute(pipeline: str) -> None:
    for text in CHAINS:
        check_semantics(text, pipeline=pipeline)


@pytest.mark.fuzz
def test_passes_together_keep_what_random_programs_mean() -> None:
    """Alone: `test_passes_keep_meaning.py`."""
    for program in programs("loop", SEED, 12):
        context, module = program.parse()
        if len(program.functions()) == 1:
            arrays = inputs(program, program.index)
            check_semantics(module, pipeline=PIPELINES[-1], ctx=context, inputs=arrays)


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
    users = {
        alloc: [ops.index(outermost(user, function)) for user in users_of(alloc.buffer)]
        for alloc in allocs
    }
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
        is_view = isinstance(op, ReshapeOp | memref.SubviewOp)
        found += users_of(op.results[0]) if is_view else [op]
    return found


def outermost(op: Operation, function: FuncOp) -> Operation:
    """The op of the function's own block that `op` is, or is in."""
    while (parent := op.parent_op()) is not None and parent is not function:
        op = parent
    return op


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
    assert offsets == best_fits(lives)


def best_fits(lives: list[Lifetime]) -> list[int]:
    """By definition: the largest first, each where the smallest gap that is wide enough begins."""
    offsets: dict[int, int] = {}
    for i in sorted(range(len(lives)), key=lambda i: (-lives[i].size, lives[i].first, i)):
        size = align(lives[i].size, 64)
        others = [j for j in offsets if size and lives[j].size and lives[j].meets(lives[i])]
        ends = {offsets[j] + align(lives[j].size, 64) for j in others} | {0}
        gaps = [
            (min((offsets[j] for j in others if offsets[j] >= end), default=math.inf) - end, end)
            for end in ends
            if all(
                offsets[j] + align(lives[j].size, 64) <= end or end + size <= offsets[j]
                for j in others
            )
        ]
        offsets[i] = min(gaps)[1]
    return [offsets[i] for i in range(len(lives))]


def test_plans_of_random_programs_are_right() -> None:
    for program in programs("loop", SEED, effort(3, 60)):
        context, module = program.parse()
        PASSES["plan-memory"]().apply(context, module)
        check_plan(module)


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
    count = effort(140, 300)
    found = nests(compiled(chain(*[Program.unary] * count), "fuse-nests")[0])
    sizes = [sum(1 for _ in nest.body.block.ops) for nest in found]
    assert len(found) == -(-count // 128)
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
            (
                "func.func private @k() {\n%b = loop.alloc : memref<4xf32>\n"
                "loop.call @l() :\nfunc.return\n}\n"
                "func.func private @l() {\nloop.call @k() :\nfunc.return\n}"
            ),
            (
                "<text>:7:1: expected no function with scratch that calls itself, found "
                "@k -> @l -> @k; give it the buffers as arguments"
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


def test_a_loop_that_uses_a_number_from_outside_stays() -> None:
    """A kernel takes buffers; what is in the loop is one all the same, but where it uses the number, too."""
    text = """
func.func @main(%n: memref<i64>, %x: memref<4xf32>, %y: memref<4x4xf32> {inarch.result},
                %z: memref<4xi64> {inarch.result}) {
  %w = memref.load %n[] : memref<i64>
  %k = arith.index_cast %w : i64 to index
  loop.for %i = 0 to 4 {
    %s = arith.addi %i, %k : index
    %v = arith.index_cast %s : index to i64
    %row = memref.subview %y[%i, 0] [1, 4] [1, 1] : memref<4x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    loop.nest (j = 4) ins(%x[j] : memref<4xf32>) outs(%row[j] : memref<4xf32, strided<[1], offset: ?>>) {
    ^bb0(%e: f32, %o: f32):
      loop.yield %e : f32
    }
    loop.for %j = 0 to 4 parallel {
      memref.store %v, %z[%j] : memref<4xi64>
      loop.yield
    }
    loop.yield
  }
  func.return
}
"""
    check_semantics(text, pipeline="outline-nests,plan-memory")
    check_compiled(text)
    module, _ = compiled(text, "outline-nests")
    main, kernel = (op for op in module.ops if isinstance(op, FuncOp))
    (loop,) = (op for op in main.body.block.ops if isinstance(op, ForOp))
    assert [op.name for op in loop.body.block.ops][3:5] == ["loop.call", "loop.for"]
    assert "copy_4" in kernel.sym_name.data


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
    check_semantics(text, pipeline="outline-nests,plan-memory")
    module, _ = compiled(text, "outline-nests")
    main, _ = (op for op in module.ops if isinstance(op, FuncOp))
    assert [op.name for op in main.body.block.ops] == ["loop.call", "func.return"]


@pytest.mark.parametrize("doubled", [False, True])
def test_what_only_widens_integers_is_done_wherever_it_is_read(*, doubled: bool) -> None:
    """What else happens to them is not."""
    widened = (
        "%y = arith.addi %e, %e : i8\n    %w = arith.extsi %y" if doubled else "%w = arith.extsi %e"
    )
    text = f"""func.func @main(%x: memref<4xi8>, %a: memref<3xi32> {{inarch.result}}) {{
  %t = loop.alloc : memref<4xi32>
  loop.nest (i = 4) ins(%x[i] : memref<4xi8>) outs(%t[i] : memref<4xi32>) {{
  ^bb0(%e: i8, %o: i32):
    {widened} : i8 to i32
    loop.yield %w : i32
  }}
  loop.nest (i = 3, k = 4 reduction) ins(%t[k] : memref<4xi32>) outs(%a[i] init 0 : memref<3xi32>) {{
  ^bb0(%e: i32, %o: i32):
    %s = arith.addi %e, %o : i32
    loop.yield %s : i32
  }}
  func.return
}}"""
    testing.check_semantics(text, pipeline="fuse-nests")
    assert ("loop.alloc" in testing.run_pass(text, "fuse-nests")) == doubled
