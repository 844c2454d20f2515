"""Nests and loops of public functions become kernels: private functions, equal ones shared."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from inarch.dialects.kernel.call import CallOp as KernelCallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.buffer import ReshapeOp
from inarch.dialects.loop.control import CallOp, ForOp
from inarch.dialects.loop.indirect import is_indirect, scatters
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.repeat import WhileOp
from inarch.ir.edit import erase, replace_op
from inarch.ir.functions import entry_blocks
from inarch.ir.names import free_name, symbols_of
from inarch.ir.passes import Pass
from inarch.ir.report.structure import Structure, structure_of, structure_text
from inarch.ir.target import machine_of

KERNEL = "inarch.kernel"
_HASH_DIGITS = 8
_CALLS = 16
"""Calls in whose time a nest in a loop does as many points: a call of its own is then nothing beside it."""
_RUNS = (NestOp, PackOp, KernelCallOp, CallOp)
"""What takes time in a loop."""


@dataclass(frozen=True)
class OutlineNestsPass(Pass):
    """Moves each nest, `kernel` op and `loop.for` of a public function into a kernel of its own.

    So do nests within a loop that are not its only work, before the loop does. A loop whose length is
    computed, or in an iteration of which threads share work, stays, and what is in it moves.
    A kernel is a private function with the unit attribute `inarch.kernel`; a `loop.call` takes the
    op's place and keeps its location. Arguments are the buffers it reads, then those it writes (of
    a nest: its operands, in order). Ops of one structure (`structure_of`: all but names of values and
    locations) share one kernel, called by kind (of a `kernel.call` its microkernel), sizes and a hash of
    that: `contract_64x10x128_1f0c6a2b`.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = _Kernels(op)
        least = _CALLS * machine_of(op).call
        for _, block in entry_blocks(op):
            _outline(block, kernels, least)


def _outline(block: Block, kernels: _Kernels, least: float) -> None:
    """What stands in a block, and in what has to stay there."""
    for inner in list(block.ops):
        if _stays(inner):
            for region in inner.regions:
                for part in region.blocks:
                    _outline(part, kernels, least)
            continue
        if not kernels.takes(inner):
            continue
        for nest in _parts(inner, least):
            kernels.outline(nest)
        kernels.outline(inner)


def _stays(op: Operation) -> bool:
    """Branches, loops of computed length, those that use a number from outside, or in which threads share.

    Within a kernel nothing is shared: it may be a part of what is.
    """
    if isinstance(op, scf.IfOp | WhileOp):
        return True
    if not isinstance(op, ForOp):
        return False
    if _numbers(op):
        return True
    return op.mode.data != "parallel" and any(_is_shared(inner) for inner in op.walk())


def _is_shared(op: Operation) -> bool:
    if isinstance(op, ForOp):
        return op.mode.data == "parallel" and op.counted() is not None and not _numbers(op)
    return isinstance(op, NestOp | KernelCallOp) and any(each.is_shared for each in op.iterators)


def _is_whole(op: Operation) -> bool:
    """Whether a kernel of it would have all that it uses: of a nest, its own values and its operands."""
    return not isinstance(op, NestOp) or {*_captured(op)} <= {*op.operands}


def _numbers(op: Operation) -> list[SSAValue]:
    """What it captures that is neither a buffer nor a constant."""
    every = _captured(op)
    return [v for v in every if not isinstance(v.type, MemRefType) and not _is_constant(v)]


def _parts(op: Operation, least: float) -> list[Operation]:
    """The nests in a loop that are kernels of their own: not a loop's only one, nor one of a few points.

    C compilers know that the parameters of a function are different memory, and of nothing else.
    """
    if not isinstance(op, ForOp):
        return []
    inside = [inner for inner in op.walk() if isinstance(inner, _RUNS)]
    if len(inside) < 2:
        return []
    nests = [inner for inner in inside if isinstance(inner, NestOp | PackOp) and _is_whole(inner)]
    return [nest for nest in nests if _points(nest) >= least]


def _points(op: NestOp | PackOp) -> int:
    return math.prod(op.sizes if isinstance(op, NestOp) else buffer_shape(op.dst))


@dataclass
class _Kernels:
    """The kernels of one module, by what makes their text but names of values and locations."""

    module: ModuleOp
    definitions: dict[str, DefOp] = field(default_factory=dict[str, DefOp])
    by_structure: dict[Structure, str] = field(default_factory=dict[Structure, str])
    taken: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        for op in self.module.body.ops:
            if isinstance(op, DefOp):
                self.definitions[op.sym_name.data] = op
        self.taken = {*symbols_of(self.module)}

    def takes(self, op: Operation) -> bool:
        """Whether `op` is to be a kernel; a call of a registered function can fail, and stays."""
        if isinstance(op, KernelCallOp):
            return self.definitions[op.callee.root_reference.data].registered is None
        return isinstance(op, NestOp | ForOp | PackOp) and _is_whole(op)

    def outline(self, op: Operation) -> None:
        """Replaces `op` by a call of a kernel that is there, or of a new one made from it."""
        operands = _operands(op, self.definitions)
        constants = _outer_constants(op)
        structure = structure_of(op, operands, constants)
        if structure not in self.by_structure:
            self.by_structure[structure] = self._kernel_of(op, operands, structure)
        call = CallOp(self.by_structure[structure], operands)
        call.location = op.location
        replace_op(op, call)
        for constant in constants:
            if not constant.results[0].uses:
                erase(constant)

    def _kernel_of(self, op: Operation, operands: Sequence[SSAValue], structure: Structure) -> str:
        """Makes a kernel of `op`; its name."""
        stem = f"{_kind(op)}_{_sizes(op)}_{_digest(structure_text(structure))}"
        name = free_name(stem, self.taken)
        self.module.body.block.add_op(_kernel(name, op, operands))
        return name


def _kernel(name: str, op: Operation, operands: Sequence[SSAValue]) -> FuncOp:
    """A private function of `operands` whose body is a copy of `op`."""
    kernel = FuncOp(name, ([value.type for value in operands], []), visibility="private")
    kernel.location = op.location
    kernel.attributes[KERNEL] = UnitAttr()
    arguments = kernel.body.block.args
    builder = Builder(InsertPoint.at_end(kernel.body.block))
    if isinstance(op, NestOp):  # one argument a use: the same buffer may be passed twice
        copy = op.clone()
        copy.operands = arguments
    else:
        mapper: dict[SSAValue, SSAValue] = dict(zip(operands, arguments, strict=True))
        for constant in _outer_constants(op):
            builder.insert(constant.clone(mapper))
        copy = op.clone(mapper)
    for argument, value in zip(arguments, operands, strict=True):
        argument.name_hint = value.name_hint
    builder.insert(copy)
    end = ReturnOp()
    end.location = op.location
    builder.insert(end)
    return kernel


# ------------------------------------------------------------------------------------ operands


def _operands(op: Operation, definitions: Mapping[str, DefOp]) -> list[SSAValue]:
    """What a kernel made from `op` takes: of a nest its operands, else what it captures."""
    if isinstance(op, NestOp):
        return list(op.operands)
    buffers = [value for value in _captured(op) if isinstance(value.type, MemRefType)]
    written = _written(op, definitions)
    return [*(b for b in buffers if b not in written), *(b for b in buffers if b in written)]


def _captured(op: Operation) -> list[SSAValue]:
    """The values from outside that `op` or an op in it uses, each once, in order of first use."""
    inside: set[SSAValue] = set()
    found: dict[SSAValue, None] = {}
    for inner in op.walk():
        found.update((operand, None) for operand in inner.operands if operand not in inside)
        inside.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.args)
    return list(found)


def _written(op: Operation, definitions: Mapping[str, DefOp]) -> set[SSAValue]:
    """The buffers that `op` or an op in it stores to, as far as a subview's source."""
    views: dict[SSAValue, SSAValue] = {}
    found: set[SSAValue] = set()
    for inner in op.walk():
        match inner:
            case memref.StoreOp():
                found.add(views.get(inner.memref, inner.memref))
            case NestOp():
                found.update(views.get(out, out) for out in inner.outs)
            case PackOp():
                found.add(views.get(inner.dst, inner.dst))
            case CallOp():  # of a nest's kernel, whose output is the last
                found.add(views.get(inner.arguments[-1], inner.arguments[-1]))
            case KernelCallOp():
                arguments = definitions[inner.callee.root_reference.data].arguments
                pairs = zip(arguments, inner.arguments, strict=True)
                outs = [value for operand, value in pairs if operand.access.data != "read"]
                found.update(views.get(out, out) for out in outs)
            case ReshapeOp() | memref.SubviewOp():
                source = inner.source
                views[inner.results[0]] = views.get(source, source)
            case _:
                pass
    return found


def _is_constant(value: SSAValue) -> bool:
    return not isinstance(value, BlockArgument) and isinstance(value.owner, arith.ConstantOp)


def _outer_constants(op: Operation) -> list[Operation]:
    """The constants from outside that a kernel needs a copy of."""
    found: list[Operation] = []
    for value in _captured(op):
        owner = value.owner
        if isinstance(owner, arith.ConstantOp):
            found.append(owner)
    return found


# ------------------------------------------------------------------------------------ names


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]


def _kind(op: Operation) -> str:
    """What a reader wants to know first: `contract`, `scatter`, `loop`, a microkernel's name."""
    if isinstance(op, ForOp):
        return "loop"
    if isinstance(op, KernelCallOp):
        return re.sub(r"\W", "_", op.callee.root_reference.data)
    if not isinstance(op, NestOp):
        return op.name.removeprefix("kernel.").replace(".", "_")
    if scatters(op):
        return "scatter"
    if op.has_scan:
        return "scan"
    if op.has_reduction:
        return "contract" if _is_contraction(op) else "reduce"
    yielded = op.yielded(op.body)
    copies = all(isinstance(value, BlockArgument) for value in yielded) and op.finish is None
    if copies and is_indirect(op):
        return "gather"
    return "copy" if copies else "map"


def _is_contraction(nest: NestOp) -> bool:
    """Whether the body adds a product to its accumulator."""
    total = nest.yielded(nest.body)[0].owner
    if not isinstance(total, arith.AddfOp | arith.AddiOp):
        return False
    accumulator = nest.accumulators(nest.body)[0]
    terms = [value for value in total.operands if value is not accumulator]
    return len(terms) == 1 and isinstance(terms[0].owner, arith.MulfOp | arith.MuliOp)


def _sizes(op: Operation) -> str:
    """Trip counts, outermost first, or the shape of the last buffer: `64x10`; `scalar` for none."""
    if isinstance(op, NestOp):
        sizes = op.sizes
    elif isinstance(op, KernelCallOp):
        return "x".join(map(str, op.trip_counts)) or "once"
    elif isinstance(op, ForOp):
        sizes = _trip_counts(op)
    else:
        buffers = [value for value in op.operands if isinstance(value.type, MemRefType)]
        sizes = buffer_shape(buffers[-1]) if buffers else ()
    return "x".join(map(str, sizes)) or "scalar"


def _trip_counts(loop: ForOp) -> tuple[int, ...]:
    """Of a loop and of those in it, as long as each has one loop directly in it, and they are numbers."""
    counts: list[int] = []
    current: ForOp | None = loop
    while current is not None:
        numbers = current.counted()
        if numbers is None:
            break
        counts.append(len(numbers))
        inner = [op for op in current.body.block.ops if isinstance(op, ForOp)]
        current = inner[0] if len(inner) == 1 else None
    return tuple(counts)
