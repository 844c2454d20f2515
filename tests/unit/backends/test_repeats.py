"""Loops of computed length, at the level of buffers: random programs, and what they must not do."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.memref import LoadOp

from effort import effort, seeds
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.repeat import WhileOp
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.machine.target import native
from inarch.testing import execute, execute_compiled
from inarch.testing.generate.check.check import check_programs
from inarch.testing.generate.choices import Seeded
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.programs import finished, function_text, steps
from inarch.testing.generate.loop.repeat import repeat
from inarch.testing.generate.program import GeneratedProgram


def repeats(seed: int) -> GeneratedProgram:
    """Some loops, one after the other."""
    choices, context = Seeded(f"repeats {seed}"), new_context()
    choices.enter("head")
    b = LoopText(choices, context, "main_")
    b.kind = choices.pick(("f32", "f64", "i32", "i8"))
    steps(b, [(1, repeat)], effort(2, 4))
    return finished("loop", context, function_text(b, "main"), choices)


def test_loops_of_computed_length_keep_their_meaning() -> None:
    found = check_programs([repeats(seed) for seed in seeds(4, 12)], ["generic", str(native())])
    assert not found, "\n".join(f"{one.index}, {one.target}: {one.message}" for one in found)


COUNTED = """
func.func @main(%n: memref<3xi64>, %out: memref<2xi64> {inarch.result}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %low = memref.load %n[%zero] : memref<3xi64>
  %high = memref.load %n[%one] : memref<3xi64>
  %by = memref.load %n[%two] : memref<3xi64>
  %lower = arith.index_cast %low : i64 to index
  %upper = arith.index_cast %high : i64 to index
  %step = arith.index_cast %by : i64 to index
  loop.nest (i = 2) outs(%out[i] : memref<2xi64>) {
  ^bb0(%o: i64):
    %k = arith.constant 0 : i64
    loop.yield %k : i64
  }
  loop.while %i = %lower to %upper step %step {
    %v = arith.index_cast %i : index to i64
    memref.store %v, %out[%one] : memref<2xi64>
    %t = memref.load %out[%zero] : memref<2xi64>
    %u = arith.constant 1 : i64
    %w = arith.addi %t, %u : i64
    memref.store %w, %out[%zero] : memref<2xi64>
    loop.yield
  }
  func.return
}"""
"""How many iterations there are, and the index of the last one."""

LARGEST = (1 << 63) - 1


@pytest.mark.every_case(reason="each is an end of a range")
@pytest.mark.parametrize(
    ("bounds", "iterations", "last"),
    [
        ((0, 5, 1), 5, 4),
        ((0, 6, 2), 3, 4),
        ((1, 8, 3), 3, 7),
        ((1, 7, 3), 2, 4),
        ((3, 3, 1), 0, 0),
        ((4, 3, 1), 0, 0),
        ((-2, 1, 2), 2, 0),
        ((0, 5, 0), 0, 0),
        ((0, 5, -1), 0, 0),
        ((LARGEST - 3, LARGEST, 2), 2, LARGEST - 1),
        ((LARGEST - 1, LARGEST, LARGEST), 1, LARGEST - 1),
        ((-LARGEST, LARGEST, LARGEST), 2, 0),
    ],
)
def test_bounds_and_steps(bounds: tuple[int, int, int], iterations: int, last: int) -> None:
    """By definition and compiled: none is begun for an index that 64 bits do not hold."""
    context = new_context()
    module = parse_module(context, COUNTED, "counted")
    given = np.array(bounds, np.int64)
    wanted = np.array([iterations, last], np.int64)
    (found,) = execute(module, [given], context)
    np.testing.assert_array_equal(found, wanted)
    (found,) = execute_compiled(module, [given], context)
    np.testing.assert_array_equal(found, wanted)


def test_what_a_body_allocates_is_its_own() -> None:
    """A buffer of a body that is read behind the loop is an error at the read: state lies outside."""
    context = new_context()
    module = parse_module(context, COUNTED, "counted")
    (loop,) = [op for op in module.walk() if isinstance(op, WhileOp)]
    (first, *_) = [op for op in module.walk() if isinstance(op, LoadOp)]
    inner = AllocOp(first.memref.type)
    inner.buffer.name_hint = "state"
    read = LoadOp.get(inner.buffer, [loop.lower])
    block = loop.parent
    assert block is not None
    loop.body.block.insert_ops_before([inner], next(iter(loop.body.block.ops)))
    block.insert_op_after(read, loop)
    with pytest.raises(InarchError) as error:
        verify_module(module)
    assert str(error.value) == (
        "counted:2:1: 'memref.load' expected operand %state to be defined around it, found it in a body of "
        "'loop.while'; carry it in what is from outside of that"
    )
