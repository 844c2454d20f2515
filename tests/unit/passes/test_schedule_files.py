"""Schedule files: what is read, what is refused and how, and what a compilation makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import inarch
from inarch.core.errors import InarchError, UsageError
from inarch.dialects import new_context
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.keep import is_kept
from inarch.driver.compiler import import_model, lower
from inarch.ir.text import parse_module, print_module
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.schedule.apply_schedule import read_schedule
from inarch.passes.schedule.language.script import parse_schedule, run_schedule
from inarch.testing import check_semantics
from inarch.tools.cli import run as inarch_cli

PROGRAM = """func.func @main(%x: memref<8x24xf32>, %w: memref<24x32xf32>,
    %y: memref<8x32xf32> {inarch.result}) {
  %t = loop.alloc : memref<8x32xf32>
  loop.nest (m = 8, n = 32, k = 24 reduction) ins(%x[m, k] : memref<8x24xf32>, %w[k, n] : memref<24x32xf32>)
      outs(%t[m, n] init 0.0 : memref<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  } loc("dense")
  loop.nest (i = 8, j = 32) ins(%t[i, j] : memref<8x32xf32>) outs(%y[i, j] : memref<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  } loc("neg")
  loop.for %h = 1 to 8 {
    loop.for %v = 0 to 32 {
      %one = arith.constant 1 : index
      %up = arith.subi %h, %one : index
      %a = memref.load %y[%up, %v] : memref<8x32xf32>
      memref.store %a, %y[%h, %v] : memref<8x32xf32>
      loop.yield
    }
    loop.yield
  } loc("neg")
  loop.nest (i = 4, s = 9 scan) ins(%x[i, s] : memref<8x24xf32>) outs(%y[i, s] init 0.0 : memref<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    loop.yield %r : f32
  } loc("scan")
  func.return
}
"""

STEPS = (
    "cache, fuse, interchange, pack, parallelize, split, tile, unroll, use-kernel, vectorize, "
    "without-kernel"
)


def refused(schedule: str) -> str:
    """What is said of a schedule on `PROGRAM`."""
    module = parse_module(new_context(), PROGRAM)
    with pytest.raises(InarchError) as caught:
        run_schedule(module, parse_schedule(schedule, "s"))
    return caught.value.line()


@pytest.mark.every_case(reason="each message is its own")
@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("split m 4", "s:1:1: error: expected 'at PLACE:' before the first step, found 'split'"),
        (
            "at dense: split m 4",
            "s:1:9: error: expected a place, \"LOCATION\" or @FUNCTION[NUMBER], found 'dense'",
        ),
        ("at @main: unroll m", "s:1:9: error: expected '[' and a number behind a function"),
        ('at "dense"[0]: unroll m', "s:1:13: error: expected a number from 1 on, found 0"),
        ('at "dense" split m 4', "s:1:12: error: expected ':', found 'split'"),
        (
            'at "dense',
            "s:1:4: error: expected '\"' at the end of a name, found the end of the line",
        ),
        ('at "dense": split m = 4', "s:1:21: error: expected a step of a schedule, found '='"),
        (
            'at "dense":\n  spilt m 4',
            f"s:2:3: error: no step 'spilt'; did you mean 'split'? Known: {STEPS}",
        ),
        (
            'at "dense": split m',
            "s:1:19: error: expected a factor, found the end of the step; write split ITERATOR FACTOR "
            "[-> OUTER INNER]",
        ),
        (
            'at "dense": split m 4 8',
            "s:1:23: error: expected the end of the step, found '8'; write split ITERATOR FACTOR "
            "[-> OUTER INNER]",
        ),
        (
            'at "dense": split m 99999999999999',
            "s:1:21: error: expected a factor of at most 2147483647, found '99999999999999'; write split "
            "ITERATOR FACTOR [-> OUTER INNER]",
        ),
        (
            'at "dense": tile m 4 m 2',
            "s:1:22: error: expected an iterator once, found 'm' again; write tile [reassociate] "
            "ITERATOR SIZE "
            "[ITERATOR SIZE ...]",
        ),
    ],
)
def test_a_wrong_text_is_refused_where_it_is_wrong(schedule: str, message: str) -> None:
    assert refused(schedule) == message


@pytest.mark.every_case(reason="each message is its own")
@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (
            'at "dens": unroll m',
            "s:1:1: error: no nest or loop 'dens'; did you mean 'dense'? Known: dense, neg, scan",
        ),
        (
            "at @mian[1]: unroll m",
            "s:1:1: error: no function 'mian'; did you mean 'main'? Known: main",
        ),
        (
            'at "neg": unroll j',
            's:1:1: error: expected one nest or loop at "neg", found 2: [1] (i = 8, j = 32), [2] '
            "(h = 1 to 8)",
        ),
        (
            "at @main[7]: unroll m",
            "s:1:1: error: expected nest or loop 7 in @main, found 4: [1] (m = 8, n = 32, k = 24 reduction), "
            "[2] (i = 8, j = 32), [3] (h = 1 to 8), [4] (i = 4, s = 9 scan)",
        ),
        (
            'at "dense": split mo 4',
            "s:1:13: error: split at \"dense\": no iterator 'mo'; did you mean 'm'? Known: k, m, n",
        ),
        (
            'at "dense": split m 0',
            's:1:13: error: split at "dense": expected a factor from 1 on, found 0',
        ),
        (
            'at "dense": split m 4 -> n mi',
            "s:1:13: error: split at \"dense\": expected a name that no iterator has, found 'n'",
        ),
        (
            'at "dense": parallelize m; split m 4',
            "s:1:28: error: split at \"dense\": expected a serial iterator, found 'm' with the "
            "mode parallel; split "
            "it first",
        ),
        (
            'at "scan": split s 3',
            's:1:12: error: split at "scan": expected a loop in parts, found the scan s, which is one chain',
        ),
        (
            'at "dense": interchange m m',
            's:1:13: error: interchange at "dense": expected each iterator once, found m m',
        ),
        (
            'at "dense": parallelize k',
            's:1:13: error: parallelize at "dense": expected independent iterations of k, found '
            "the reduction k: "
            "iterations k = 0 and k = 1 change one accumulator",
        ),
        (
            'at "scan": parallelize s',
            's:1:12: error: parallelize at "scan": expected independent iterations of s, found the '
            "scan s: iteration "
            "s = 1 goes on from what s = 0 has accumulated",
        ),
        (
            'at "dense": interchange k n; parallelize n',
            's:1:30: error: parallelize at "dense": expected n outside of k, whose iterations one '
            "thread adds up, "
            "found it inside; interchange them first",
        ),
        (
            'at "dense": parallelize m; parallelize n',
            's:1:28: error: parallelize at "dense": expected one iterator whose iterations threads '
            "share, found also m",
        ),
        (
            'at "neg"[2]: parallelize h',
            's:1:14: error: parallelize at "neg"[2]: expected independent iterations of h, found a write of '
            "%y[%h, %v] where %h = 1 and a read of %y[%h - 1, %v] where %h = 2, of one element",
        ),
        (
            'at "neg"[2]: vectorize v',
            "s:1:14: error: vectorize at \"neg\"[2]: expected an iterator of a loop.nest, found the loop 'v'",
        ),
        (
            'at "neg"[2]: tile v 4',
            's:1:14: error: tile at "neg"[2]: expected a loop.nest, found a loop.for; split it, '
            "and interchange",
        ),
        (
            'at "neg"[2]: unroll v; split v 4',
            "s:1:24: error: split at \"neg\"[2]: expected a loop of iterations, found 'v' unrolled",
        ),
        (
            'at "dense": unroll m',
            "s:1:1: error: at \"dense\": 'loop.nest' cannot obey 'm = 8 unroll': it stands outside "
            "of k; order the "
            "iterators otherwise, or make it serial",
        ),
        (
            'at "dense": cache %q',
            "s:1:13: error: cache at \"dense\": no operand '%q'. Known: %w, %x",
        ),
        (
            'at "dense": cache 2',
            's:1:13: error: cache at "dense": expected an operand from 0 to 1, found 2',
        ),
        (
            'at "dense": pack %w k',
            's:1:13: error: pack at "dense": expected all iterators that %w varies with, also n, '
            "found k",
        ),
        (
            'at "dense": use-kernel gem-f32',
            "s:1:13: error: use-kernel at \"dense\": no microkernel 'gem-f32'; did you mean "
            f"'gemv-f32'? Known: {', '.join(sorted(MICROKERNELS))}",
        ),
        (
            'at "neg"[1]: use-kernel gemm-f32',
            "s:1:14: error: use-kernel at \"neg\"[1]: expected a nest that microkernel 'gemm-f32' "
            "does, found that the body is y = -t, the meaning C[m, v, l] += A[m, r, k] * "
            "B[r, k, v, l]",
        ),
        (
            'at "dense": split m 4; use-kernel gemm-f32',
            "s:1:24: error: use-kernel at \"dense\": expected a nest that microkernel 'gemm-f32' "
            "does, found that the nest's schedule is its author's (inarch.keep)",
        ),
        (
            'at "dense": use-kernel gemm-f32; unroll m',
            's:1:34: error: at "dense": expected no step behind one that replaces the nest, found '
            "unroll",
        ),
        (
            'at "dense": fuse "neg"[2] over m 4',
            's:1:13: error: fuse at "dense": expected a loop.nest, found a loop.for',
        ),
        (
            'at "dense": fuse over m 0',
            's:1:13: error: fuse at "dense": expected a block of m from 1 on, found 0',
        ),
        (
            'at "dense": fuse "neg"[1] over m 4',
            's:1:13: error: fuse at "dense": expected producers in the program\'s order, and before '
            "their consumer",
        ),
        (
            'at "dense": fuse "dense" over m 4',
            's:1:13: error: fuse at "dense": expected different nests of one block',
        ),
        (
            'at "neg"[2]: fuse "dense" over h 2',
            's:1:14: error: fuse at "neg"[2]: expected a loop.nest, found a loop.for',
        ),
        (
            'at "neg"[1]: split j 11; unroll ji',
            's:1:1: error: at "neg"[1]: expected reads inside of their operands, where iterators are '
            "unrolled or vectors, found operand 0 read at 0 to 32 in dimension 1 of 32 elements; cache "
            "it first, or split by a factor that divides",
        ),
        (
            'at "neg"[2]: without-kernel gemm-f32',
            's:1:14: error: without-kernel at "neg"[2]: expected a loop.nest, found a loop.for',
        ),
        (
            'at "dense": algorithm conv direct',
            "s:1:13: error: expected 'algorithm' before the first 'at': it is chosen before loops",
        ),
        (
            'at "scan": fuse over i 2',
            's:1:12: error: fuse at "scan": expected a nest in parts, found a scan, whose chain '
            "goes on from turn to "
            "iteration",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_forbids_it(schedule: str, message: str) -> None:
    assert refused(schedule) == message


def test_steps_go_on_from_what_is_there() -> None:
    """Also in the loops of a fusion, whose index has another name."""
    module = parse_module(new_context(), PROGRAM)
    schedule = 'at "neg"[1]: fuse "dense" over i 4; parallelize io; split j 8; unroll ji # lanes\n'
    run_schedule(module, parse_schedule(schedule, "s"))
    text = print_module(module)
    assert "loop.for %io = 0 to 8 step 4 parallel {" in text
    assert "loop.nest (i = 4, jo = 4, ji = 8 unroll)" in text
    loops = [op for op in module.walk() if isinstance(op, ForOp)]
    assert [(loop.induction.name_hint, is_kept(loop)) for loop in loops] == [
        ("io", True),
        ("h", False),
        ("v", False),
    ]


@pytest.mark.parametrize(
    ("schedule", "has"),
    [
        ('at "neg"[1]: split i 4', "ins(%t[io * 4 + ii, j] : memref"),
        ('at "neg"[1]: split i 3', "ins(%t[io * 3 + ii, j] pad 0.0 : memref"),
        ('at "neg"[1]: unroll j', "outs(%y[i, j] : memref<8x32xf32>) attributes {inarch.keep}"),
        ('at "dense": tile k 6 n 16', "m = 8, no = 2, ko = 4 reduction, ki = 6 reduction, ni = 16"),
        (
            'at "dense": split k 6; tile reassociate ko 2 ki 3',
            "koi = 2 reduction, kii = 3 reduction",
        ),
        ('at "dense": without-kernel rows', "rows"),
        ('at "neg"[2]: split h 3', "loop.for %ho = 0 to 3"),
        ('at "neg"[2]: split h 7 -> block lane; split v 5', "loop.for %lane = 0 to 7"),
        ('at "neg"[2]: interchange v h', None),
        ('at "neg"[2]: unroll v; split h 2', "loop.for %v = 0 to 32 unroll"),
    ],
)
@pytest.mark.every_case(reason="each is another loop")
def test_steps_mean_what_the_program_meant(schedule: str, has: str | None) -> None:
    context = new_context()
    module = parse_module(context, PROGRAM)
    after = module.clone()
    if has is None:
        with pytest.raises(InarchError, match="found a write of %y"):
            run_schedule(after, parse_schedule(schedule, "s"))
        return
    run_schedule(after, parse_schedule(schedule, "s"))
    assert has in print_module(after)
    check_semantics(module, after, ctx=context)


@pytest.mark.parametrize("place", ["m.mlir:3", "dir/m.mlir:3:5", "m.mlir:3:5", "dir/m.mlir:3"])
def test_a_place_in_a_file(place: str) -> None:
    text = """func.func @f(%y: memref<8xf32>) {

    loop.nest (i = 8) ins(%y[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      loop.yield %a : f32
    }
    func.return
}"""
    module = parse_module(new_context(), text, "dir/m.mlir")
    run_schedule(module, parse_schedule(f'at "{place}": unroll i', "s"))
    assert "(i = 8 unroll)" in print_module(module)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """`relu(x w) + x`, with names."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [16, 16]) for name in "xwy"]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], name="dense_1"),
        helper.make_node("Softmax", ["p"], ["q"], name="softmax"),
        helper.make_node("Add", ["q", "x"], ["y"], name="add"),
    ]
    graph = helper.make_graph(nodes, "g", values[:2], values[2:])
    path = tmp_path / "m.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    path.write_bytes(made.SerializeToString())
    return path


def test_a_model_is_compiled_as_its_schedule_says(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "m.schedule"
    file.write_text('at "dense_1": split n 8; interchange m no k ni; vectorize ni; parallelize m\n')
    context = new_context()
    module = import_model(model, context, schedule=file)
    lower(context, module, "kernel")
    text = print_module(module)
    assert "loop.nest (m = 16 parallel, no = 2, k = 16 reduction, ni = 8 vector)" in text
    assert "inarch.schedule" not in text
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal((16, 16)).astype(np.float32) for _ in range(2))
    found = inarch.compile(model, schedule=file)(x, w)
    np.testing.assert_allclose(found, inarch.compile(model)(x, w), rtol=1e-5)


def test_a_kernel_does_what_the_schedule_says(model: Path, tmp_path: Path) -> None:
    """Also in the loop of a fusion."""
    file = tmp_path / "m.schedule"
    file.write_text('at "dense_1": fuse over m 4; use-kernel "gemm-f32"')
    context = new_context()
    module = import_model(model, context, schedule=file, target="generic")
    lower(context, module, "kernel")
    assert "kernel.call @gemm_f32" in print_module(module)
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal((16, 16)).astype(np.float32) for _ in range(2))
    found = inarch.compile(model, schedule=file)(x, w)
    np.testing.assert_allclose(found, inarch.compile(model)(x, w), rtol=1e-5)


def test_a_schedule_that_fits_no_more_is_an_error_of_the_command(
    model: Path, tmp_path: Path
) -> None:
    """The model changed: one line, where the schedule says it, and what is there now."""
    file = tmp_path / "m.schedule"
    file.write_text('\nat "dense_2": split n 8')
    found = inarch_cli(["compile", str(model), "--schedule", str(file), "-o", str(tmp_path / "m")])
    assert found.code == 2
    assert found.err.startswith(
        f"{file}:2:1: error: no nest or loop 'dense_2'; did you mean 'dense_1'?"
    )
    assert found.err.count("\n") == 1
    file.write_bytes(b"\xff")
    found = inarch_cli(["compile", str(model), "--schedule", str(file), "-o", str(tmp_path / "m")])
    assert found.err == f"{file}: error: expected a schedule in UTF-8\n"


def test_a_schedule_that_is_no_longer_legal_says_so_and_nothing_is_lost(
    model: Path, tmp_path: Path
) -> None:
    """The node is there, and its sum over k has become one at each k."""
    file, out = tmp_path / "m.schedule", tmp_path / "m.inarch"
    file.write_text('at "dense_1": split k 4\n')
    changed = ModelProto.FromString(model.read_bytes())
    command = ["compile", str(model), "--schedule", str(file), "-o", str(out)]
    assert inarch_cli(command).code == 0
    before = out.read_bytes()
    node = helper.make_node("CumSum", ["x", "axis"], ["p"], name="dense_1")
    changed.graph.node[0].CopyFrom(node)
    changed.graph.initializer.append(helper.make_tensor("axis", TensorProto.INT64, [], [0]))
    model.write_bytes(changed.SerializeToString())
    found = inarch_cli(command)
    assert (found.code, found.out) == (1, "")
    assert found.err == (
        f'{file}:1:15: error: split at "dense_1": expected a loop in parts, found the scan k, which is '
        "one chain\n"
    )
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.inarch", "m.onnx", "m.schedule"]


def test_each_place_has_its_own_steps() -> None:
    blocks = parse_schedule('at "a": unroll i\nat "b"[2]: split j 2;; unroll k # ends\n', "s")
    assert [(str(block.place), [step.name for step in block.steps]) for block in blocks] == [
        ('"a"', ["unroll"]),
        ('"b"[2]', ["split", "unroll"]),
    ]
    assert [step.where for step in blocks[1].steps] == ["s:2:12", "s:2:24"]


def test_a_clip_that_an_iterator_leaves_stands_in_no_block() -> None:
    """The last block would begin behind the buffer."""
    text = """func.func @f(%x: memref<7xf32>, %y: memref<5xf32>) {
  loop.nest (i = 7) ins(%x[i] : memref<7xf32>) outs(%y[i] clip : memref<5xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  } loc("cut")
  func.return
}"""
    module = parse_module(new_context(), text)
    with pytest.raises(InarchError) as caught:
        run_schedule(module, parse_schedule('at "cut": fuse over i 2', "s"))
    assert caught.value.line() == (
        's:1:11: error: fuse at "cut": expected iterations of i that touch what they write themselves, '
        "found %y[i], whose pad or clip counts from a border that blocks of i move; cache it first"
    )


def test_a_null_character_in_a_name() -> None:
    with pytest.raises(UsageError, match=r"^expected the path of a schedule, found 'a\\x00b': "):
        read_schedule("a\0b")
