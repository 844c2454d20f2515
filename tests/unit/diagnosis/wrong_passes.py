"""Wrong passes, as files of `--load`: of graphs, loops, memory and schedules.

`python wrong_passes.py MODEL.onnx [NAME ...]` runs `inarch verify` with each, and prints who was blamed and
what the reproducer did.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

_PRELUDE = '''"""Wrong on purpose."""
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, FloatAttr, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir.affine import AffineConstantExpr, AffineMap
from xdsl.passes import ModulePass

from inarch.dialects.graph.composites.softmax import SoftmaxOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.arithmetic import AddOp, DivOp, MulOp, SubOp
from inarch.dialects.graph.elementwise.clip import ClipOp
from inarch.dialects.graph.elementwise.unary import ReluOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import as_attribute, ints, shape_of
from inarch.dialects.graph.reduce import ArgMaxOp, ReduceMeanOp, ReduceSumOp
from inarch.dialects.graph.shape import TransposeOp
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.nest import NestOp
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_array, constant_attribute


def every(op, *kinds):
    return [one for one in op.walk() if isinstance(one, kinds)]


def instead(old, value):
    old.results[0].replace_all_uses_with(value)
    old.detach()
    old.erase()


def before(op, made):
    op.parent.insert_op_before(made, op)
    return made.results[0]


@dataclass(frozen=True)
class WrongPass(ModulePass):
    name = "{name}"
    runs = "{runs}"

    def apply(self, ctx, op):
{body}


PASS = WrongPass
'''

_BODIES = {
    "fuses-what-others-use": (
        "after prepare",
        """
for one in every(op, ReluOp, DivOp, MulOp):
    if isinstance(add := one.operands[0].owner, AddOp):
        one.operands[0] = before(one, SubOp.make(*add.operands, location=one.location))
""",
    ),
    "drops-an-activation": (
        "after prepare",
        """
for one in every(op, ReluOp, SoftmaxOp)[-1:]:
    instead(one, one.operands[0])
""",
    ),
    "drops-a-bias": (
        "after prepare",
        """
for add in every(op, AddOp):
    for this, other in (add.operands, tuple(add.operands)[::-1]):
        if isinstance(this.owner, ConstantOp) and other.type == add.results[0].type:
            instead(add, other)
            return
""",
    ),
    "takes-another-axis": (
        "after prepare",
        """
for one in every(op, SoftmaxOp):
    one.properties["axis"] = IntegerAttr(0 if shape_of(one.x)[0] > 1 else len(shape_of(one.x)) - 2, 64)
""",
    ),
    "shifts-the-padding": (
        "after prepare",
        """
for conv in every(op, ConvOp):
    pads = list(ints(conv.pads))
    if pads[0] and pads[2]:
        pads[0], pads[2] = pads[0] - 1, pads[2] + 1
        conv.properties["pads"] = as_attribute(pads)
""",
    ),
    "folds-wrongly": (
        "after prepare",
        """
for product in every(op, ConvOp, MatmulOp):
    constant = product.operands[1].owner
    if isinstance(constant, ConstantOp):
        array = np.array(constant_array(constant.value, store_of(ctx)))
        array[-1] *= 1.5
        made = ConstantOp.make(value=constant_attribute(array, store_of(ctx), "w"))
        product.operands[1] = before(product, made)
        return
""",
    ),
    "sums-for-means": (
        "after graph/decompose-composites",
        """
for mean in every(op, ReduceMeanOp):
    made = ReduceSumOp.make(
        mean.x, axes=ints(mean.axes), keepdims=bool(mean.keepdims.value.data), location=mean.location
    )
    instead(mean, before(mean, made))
""",
    ),
    "swaps-operands": (
        "after graph/decompose-composites",
        """
for one in every(op, SubOp):
    one.operands = tuple(one.operands)[::-1]
""",
    ),
    "takes-two-for-one": (
        "after prepare",
        """
known = {}
for one in every(op, AddOp, MatmulOp):
    first = known.setdefault((one.name, one.results[0].type), one)
    if first is not one:
        instead(one, first.results[0])
        return
""",
    ),
    "reads-a-matrix-by-columns": (
        "after prepare",
        """
for product in every(op, MatmulOp):
    *_, rows, columns = shape_of(product.operands[1])
    if rows == columns and len(shape_of(product.operands[1])) == 2:
        made = TransposeOp.make(product.operands[1], perm=[1, 0], location=product.location)
        product.operands[1] = before(product, made)
""",
    ),
    "mixes-layouts": (
        "after graph/choose-layout",
        """
for one in every(op, ReluOp, SoftmaxOp):
    shape = shape_of(one.results[0])
    if len(shape) == 4 and shape[2] == shape[3] > 1:
        made = TransposeOp.make(one.operands[0], perm=[0, 1, 3, 2], location=one.location)
        one.operands[0] = before(one, made)
        return
""",
    ),
    "loses-a-term": (
        "after loop/fuse-nests",
        """
for nest in every(op, NestOp):
    changed = []
    for i in nest.iterators:
        is_long = i.is_reduction and i.size.data > 7
        changed.append(IteratorAttr.get(i.label.data, i.size.data - 1, "reduction") if is_long else i)
    nest.iterators = ArrayAttr(changed)
""",
    ),
    "takes-the-least": (
        "after loop/graph-to-loop",
        """
for one in every(op, arith.MaximumfOp):
    instead(one, before(one, arith.MinimumfOp(*one.operands)))
""",
    ),
    "subtracts-in-epilogues": (
        "after loop/fuse-nests",
        """
for nest in every(op, NestOp):
    if len(nest.regions) > 1 and nest.regions[1].blocks:
        for one in every(nest.regions[1].block.parent_op(), arith.AddfOp):
            if one.parent is nest.regions[1].block:
                instead(one, before(one, arith.SubfOp(*one.operands)))
""",
    ),
    "reads-the-first-only": (
        "after loop/fuse-nests",
        """
for nest in every(op, NestOp):
    if not nest.has_reduction and len(nest.ins) > 1:
        reads = list(nest.reads)
        index = reads[0].map.data
        if reads[0].is_padded or not index.results:
            continue
        results = (*index.results[:-1], AffineConstantExpr(0))
        reads[0] = ReadAttr.get(AffineMap(index.num_dims, index.num_symbols, results))
        nest.reads = ArrayAttr(reads)
""",
    ),
    "pads-with-ones": (
        "after loop/graph-to-loop",
        """
for nest in every(op, NestOp):
    changed = []
    for r in nest.reads:
        is_float = isinstance(r.pad, FloatAttr)
        changed.append(ReadAttr.get(r.map.data, FloatAttr(1.0, r.pad.type)) if is_float else r)
    nest.reads = ArrayAttr(changed)
""",
    ),
    "begins-sums-at-one": (
        "after loop/graph-to-loop",
        """
for nest in every(op, NestOp):
    nest.writes = ArrayAttr(
        WriteAttr(w.map, FloatAttr(1.0, w.init.type), w.clip)
        if isinstance(w.init, FloatAttr) and w.init.value.data == 0
        else w
        for w in nest.writes
    )
""",
    ),
    "rounds-constants": (
        "after loop/fuse-nests",
        """
for nest in every(op, NestOp):
    for one in every(nest, arith.ConstantOp):
        if isinstance(one.value, FloatAttr) and one.value.value.data:
            value = FloatAttr(one.value.value.data * 1.01, one.value.type)
            instead(one, before(one, arith.ConstantOp(value)))
""",
    ),
    "overlaps-buffers": (
        "after memory/plan-memory",
        """
for function in every(op, FuncOp):
    allocs = every(function, AllocOp)
    for one in allocs:
        one.properties["offset"] = min((each.offset for each in allocs), key=lambda offset: offset.value.data)
""",
    ),
    "schedules-another-order": (
        "after schedule/schedule-nests",
        """
for nest in every(op, NestOp):
    reads = []
    for read in nest.reads:
        index = read.map.data
        results = list(index.results)
        shape = nest.ins[len(reads)].type.get_shape()
        if not nest.has_reduction and len(shape) > 1 and shape[-1] == shape[-2] > 1:
            results[-1], results[-2] = results[-2], results[-1]
        made = AffineMap(index.num_dims, index.num_symbols, tuple(results))
        reads.append(ReadAttr(AffineMapAttr(made), read.pad))
    nest.reads = ArrayAttr(reads)
""",
    ),
}
"""Twenty that any values show."""

_DECISIONS = {
    "drops-an-upper-bound": (
        "after prepare",
        """
for one in every(op, ClipOp):
    del one.properties["high"]
""",
    ),
    "takes-the-last-of-equals": (
        "after prepare",
        """
for one in every(op, ArgMaxOp):
    one.properties["last"] = IntegerAttr(1, 1)
""",
    ),
    "takes-greater-or-equal": (
        "after loop/graph-to-loop",
        """
for one in every(op, arith.CmpfOp):
    if one.predicate.value.data == 2:
        instead(one, before(one, arith.CmpfOp(*one.operands, "oge")))
""",
    ),
    "begins-maxima-at-zero": (
        "after loop/graph-to-loop",
        """
for nest in every(op, NestOp):
    nest.reads = ArrayAttr([
        ReadAttr(read.map, FloatAttr(0.0, read.pad.type)) if isinstance(read.pad, FloatAttr) else read
        for read in nest.reads
    ])
    nest.writes = ArrayAttr([
        WriteAttr(write.map, FloatAttr(0.0, write.init.type), write.clip)
        if isinstance(write.init, FloatAttr) and write.init.value.data < 0 else write
        for write in nest.writes
    ])
""",
    ),
    "rounds-halves-away": (
        "after loop/graph-to-loop",
        """
for one in every(op, math.RoundEvenOp):
    instead(one, before(one, math.RoundOp(one.operands[0])))
""",
    ),
}
"""Where a step does something else for few values only: beyond a limit, of equal ones, of halves, of
negative ones alone."""

NAMES, DECISIONS = tuple(_BODIES), tuple(_DECISIONS)


def write_pass(name: str, folder: Path) -> Path:
    """The file of one of them."""
    runs, body = (_BODIES | _DECISIONS)[name]
    indented = "".join(f"        {line}\n" if line else "\n" for line in body.strip().splitlines())
    text = _PRELUDE.replace("{name}", name).replace("{runs}", runs)
    path = folder / f"{name.replace('-', '_')}.py"
    path.write_text(text.replace("{body}", indented.rstrip()))
    return path


def main(model: str, *names: str) -> None:
    """Prints a line for each."""
    for name in names or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            load = write_pass(name, Path(folder))
            found = Path(folder, "found")
            command = ["inarch", "verify", model, "--load", str(load), "-o", str(found), "-q"]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            said = (ran.stdout or ran.stderr).strip().splitlines()
            failed = ""
            if found.exists():
                script = [sys.executable, str(found / "reproduce.py")]
                failed = f"reproducer {subprocess.run(script, capture_output=True, check=False).returncode}"
            seconds = f"{time.monotonic() - begin:.0f} s"
            print(name, ran.returncode, seconds, failed, *said, sep=" | ", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
