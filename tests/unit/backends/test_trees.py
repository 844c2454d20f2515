"""Loops around nests: scratch of each iteration, and of each thread; views that move; in place."""

from __future__ import annotations

from effort import effort, seeds
from inarch.dialects import new_context
from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.control import ForOp
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.machine.target import native
from inarch.passes.tensorize.tensorize import tensorize
from inarch.testing.generate.check.check import check_programs
from inarch.testing.generate.choices import Seeded
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.programs import finished, function_text, steps
from inarch.testing.generate.loop.trees import tree
from inarch.testing.generate.program import GeneratedProgram


def trees(seed: int) -> GeneratedProgram:
    """Some loops, one after the other."""
    choices, context = Seeded(f"trees {seed}"), new_context()
    choices.enter("head")
    b = LoopText(choices, context, "main_")
    b.kind = choices.pick(("f32", "f32", "f64", "i32"))
    steps(b, [(1, tree)], effort(2, 4))
    return finished("loop", context, function_text(b, "main"), choices)


def test_trees_keep_their_meaning() -> None:
    """By one thread and by three, which is the same bit for bit; for two targets."""
    found = check_programs([trees(seed) for seed in seeds(2, 12)], ["generic", str(native())])
    assert not found, "\n".join(f"{one.index}, {one.target}: {one.message}" for one in found)


_ROW, _OUT = (f"memref<28x{n}xf32, strided<[{n}, 1], offset: ?>>" for n in (64, 96))
PRODUCT = f"""
func.func @main(%a: memref<112x64xf32>, %b: memref<96x64xf32>, %c: memref<112x96xf32> {{inarch.result}}) {{
  loop.for %i = 0 to 112 step 28 parallel {{
    %row = memref.subview %a[%i, 0] [28, 64] [1, 1] : memref<112x64xf32> to {_ROW}
    %out = memref.subview %c[%i, 0] [28, 96] [1, 1] : memref<112x96xf32> to {_OUT}
    loop.nest (m = 28, n = 96, k = 64 reduction)
        ins(%row[m, k] : {_ROW}, %b[n, k] : memref<96x64xf32>)
        outs(%out[m, n] init 0.0 : {_OUT}) {{
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %p : f32
      loop.yield %s : f32
    }}
    REST
    loop.yield
  }}
  func.return
}}"""


def _tensorized(rest: str = "", *, mode: str = " parallel") -> tuple[list[PackOp], ForOp]:
    """The copies, and the loop."""
    context = new_context()
    text = PRODUCT.replace("REST", rest).replace(" parallel", mode)
    module = parse_module(context, f'module attributes {{inarch.target = "x86-64-v4"}} {{{text}}}')
    tensorize(module, ["gemm-f32"])
    verify_module(module)
    packs = [op for op in module.walk() if isinstance(op, PackOp)]
    (loop,) = [op for op in module.walk() if isinstance(op, ForOp)]
    assert any(isinstance(op, CallOp) for op in loop.walk())
    return packs, loop


def test_a_copy_that_serves_all_iterations_is_made_once() -> None:
    """B is packed before the loop, whose calls all read it."""
    (pack,), loop = _tensorized()
    assert pack.parent is loop.parent


STORED = f"""%z = arith.constant 0 : index
    %e = memref.load %row[%z, %z] : {_ROW}
    memref.store %e, %b[%z, %z] : memref<96x64xf32>"""


def test_a_copy_of_what_the_loop_writes_is_made_in_each_iteration() -> None:
    packs, loop = _tensorized(STORED, mode="")
    assert [pack.parent_op() for pack in packs] == [loop] * len(packs)
