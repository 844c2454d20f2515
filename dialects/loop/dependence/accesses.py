"""What an iteration of a loop reads and writes: every access of its body, also in what it calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp
from inarch.dialects.loop.dependence.views import Affine, Frame, Variable, View, part, whole
from inarch.dialects.loop.footprint import Touch, Touching, written_by_import
from inarch.ir.index.follow import linear_index
from inarch.ir.index.span import Counts

_LARGEST = 1 << 62
"""Of an index: beyond, the sum of 64 bits may have come round."""


@dataclass(frozen=True)
class Access:
    """A read or a write, by its indices in a frame, or by its elements from the buffer's first."""

    frame: Frame
    writes: bool
    indices: tuple[Affine | None, ...] | None
    """None: only the address is known."""
    address: Affine | None
    sizes: tuple[int, ...]
    """Of the op's own iterators, the variables 0, 1, ..."""
    is_exact: bool
    """Whether it touches all of these elements."""
    is_certain: bool
    """Whether it happens in every iteration; else, under a condition."""
    text: str = field(compare=False)
    """`%y[%i + 1]`."""


@dataclass(frozen=True)
class _Around:
    """What is around an op, within its function."""

    views: dict[SSAValue, View]
    """Where its buffers lie, as far as it is known."""
    active: frozenset[str]
    """The functions that are being walked."""
    callee: str = ""
    is_certain: bool = True


class Accesses:
    """The accesses of a loop's body, each once. `symbols` are those of the module."""

    def __init__(self, loop: Operation, symbols: Mapping[str, Operation]) -> None:
        self._loop = loop
        self._symbols = symbols
        self.outer = _outer(loop)
        """What the loops around it count: an iteration of them is the same for all of its own."""
        self.inner: dict[SSAValue, range] = {}
        """What the loops in it count."""
        self.computed: set[SSAValue] = set()
        """Of it, and of those around it and in it, whose numbers are among what is said, but computed."""
        around: Operation | None = loop
        while around is not None:
            self._note(around)
            around = around.parent_op()
        self._induction = loop.regions[0].blocks[0].args[0]
        self._counted = {self._induction, *self.outer}
        self._called: set[object] = set()
        self._found: dict[Access, None] = {}
        self._function = _function_of(loop)
        own = self._function.sym_name.data if self._function is not None else ""
        self._run(loop.regions[0].blocks[0], _Around({}, frozenset({own})))

    @property
    def found(self) -> list[Access]:
        """In program order."""
        return [*self._found]

    # ------------------------------------------------------------------------------ the walk

    def _run(self, block: Block, around: _Around) -> None:
        for op in block.ops:
            match op:
                case memref.LoadOp():
                    self._element(op.memref, op.indices, around, writes=False)
                case memref.StoreOp():
                    self._element(op.memref, op.indices, around, writes=True)
                case _ if isinstance(op, Touching):
                    for touch in op.touches(self._symbols):
                        self._touch(touch, around)
                case _ if isinstance(op, Counts):
                    self._counts(op, around)
                case AllocOp() | ConstantOp() | ReshapeOp() | memref.SubviewOp():
                    pass
                case _:
                    self._other(op, around)

    def _counts(self, op: Operation, around: _Around) -> None:
        assert isinstance(op, Counts)
        body, numbers = op.regions[0].blocks[0], op.spanned()
        if op.counted() is None:
            self._note(op)
            around = replace(around, is_certain=False)
        if numbers:
            self.inner[body.args[0]] = numbers
            self._counted.add(body.args[0])
            self._run(body, around)

    def _note(self, op: Operation) -> None:
        if isinstance(op, Counts) and op.counted() is None:
            self.computed.add(op.regions[0].blocks[0].args[0])

    def _other(self, op: Operation, around: _Around) -> None:
        """A call of a function that has a body; else, whatever it does, it may read and write."""
        function = self._callee(op)
        if function is not None:
            self._call(op, function, around)
            return
        maybe = replace(around, is_certain=False)
        for region in op.regions:
            for block in region.blocks:
                self._run(block, maybe)
        self._anything(op, around)

    def _anything(self, op: Operation, around: _Around) -> None:
        for value in _buffers(op):
            self._touch(Touch.of_all(value, writes=True), around)

    # ------------------------------------------------------------------------------ calls

    def _callee(self, op: Operation) -> FuncOp | None:
        callee = op.properties.get("callee")
        if not isinstance(callee, SymbolRefAttr):
            return None
        function = self._symbols.get(callee.root_reference.data)
        return function if isinstance(function, FuncOp) else None

    def _call(self, op: Operation, function: FuncOp, around: _Around) -> None:
        name = function.sym_name.data
        wanted = list(function.function_type.inputs)
        if function.is_declaration:
            written = written_by_import(function)
            for position, value in enumerate(_buffers(op)):
                writes = position in written
                self._touch(Touch.of_all(value, writes=writes, is_exact=True), around)
            return
        fits = wanted == [value.type for value in op.operands] and len(function.body.blocks) == 1
        if not fits or name in around.active:
            self._anything(op, around)
            return
        given: dict[SSAValue, View] = {
            argument: self._view(value, around.views)
            for argument, value in zip(function.body.block.args, op.operands, strict=True)
            if isinstance(value.type, MemRefType)
        }
        call = name, tuple(given.values()), around.is_certain
        if call not in self._called:
            self._called.add(call)
            inside = _Around(given, around.active | {name}, name, around.is_certain)
            self._run(function.body.block, inside)

    # ------------------------------------------------------------------------------ accesses

    def _touch(self, touch: Touch, around: _Around) -> None:
        view = self._view(touch.value, around.views)
        if 0 in touch.sizes:
            return
        index: list[Affine | None] = [
            Affine.of(enumerate(form.coefficients), form.constant) for form in touch.index
        ]
        if min(touch.sizes, default=0) < 0:  # of a dynamic shape
            index = [None] * len(index)
        indices = None if touch.is_flat else view.at(index)
        address = view.frame.address(indices)
        if touch.is_flat and view.base is not None and index[0] is not None:
            address = view.base.plus(index[0])
        text = f"{_name(touch.value)}{touch.text}"
        self._add(view.frame, indices, address, text, around, touch)

    def _element(
        self,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        around: _Around,
        *,
        writes: bool,
    ) -> None:
        view = self._view(buffer, around.views)
        forms = [self._follow(index) for index in indices]
        places = view.at(forms)
        texts = [_text(form, index) for form, index in zip(forms, indices, strict=True)]
        text = f"{_name(buffer)}[{', '.join(texts)}]"
        touch = Touch(buffer, writes, (), ())
        self._add(view.frame, places, view.frame.address(places), text, around, touch)

    def _add(
        self,
        frame: Frame,
        indices: tuple[Affine | None, ...] | None,
        address: Affine | None,
        text: str,
        around: _Around,
        touch: Touch,
    ) -> None:
        if isinstance(frame.buffer.owner, AllocOp) and not self._is_outside(frame.buffer):
            return  # each iteration has one of its own
        text = f"{text} in @{around.callee}" if around.callee else text
        access = Access(
            frame,
            touch.writes,
            indices,
            address,
            touch.sizes,
            touch.is_exact,
            around.is_certain,
            text,
        )
        self._found.setdefault(access)

    # ------------------------------------------------------------------------------ values

    def _view(self, value: SSAValue, views: dict[SSAValue, View]) -> View:
        """Where a buffer lies; `views` are those that are known in this function."""
        if value not in views:
            views[value] = self._found_view(value, views)
        return views[value]

    def _found_view(self, value: SSAValue, views: dict[SSAValue, View]) -> View:
        match value.owner:
            case memref.SubviewOp() as op:
                offsets = [self._follow(offset) for offset in op.offsets]
                return part(op, self._view(op.source, views), offsets)
            case ReshapeOp() as op:
                source = self._view(op.source, views)
                return whole(value, source.frame.buffer, source.base)
            case _:
                return whole(value)

    def _follow(self, value: SSAValue) -> Affine | None:
        found = linear_index(value, self._counted, self._is_fixed)
        if found is None:
            return None
        form = Affine.of(((v, c) for v, c in found.items() if v is not None), found.get(None, 0))
        ends = [
            factor * end
            for variable, factor in form.terms
            for end in (self.range_of(variable)[0], self.range_of(variable)[-1])
        ]
        return form if sum(map(abs, ends)) + abs(form.constant) < _LARGEST else None

    def range_of(self, variable: Variable) -> range:
        """The values of what a loop counts; of what is fixed, 0."""
        if variable is self._induction:
            assert isinstance(self._loop, Counts)
            return self._loop.spanned()
        if isinstance(variable, int):
            return range(1)
        return self.inner.get(variable) or self.outer.get(variable) or range(1)

    def _is_fixed(self, value: SSAValue) -> bool:
        """Whether it is the same in every iteration: computed of values from outside of the loop alone.

        So is a load, as of the numbers that `hand_on` stores: a write to that element in one iteration would
        be a dependence of the load in another one, which is found by itself.
        """
        pending, seen = [value], set[SSAValue]()
        while pending:
            one = pending.pop()
            if one in seen or self._is_outside(one):
                continue
            seen.add(one)
            match one.owner:
                case memref.LoadOp() as load if self._is_outside(load.memref):
                    pending.extend(load.indices)
                case Operation() as op if op.name.startswith("arith."):
                    pending.extend(op.operands)
                case _:
                    return False
        return True

    def _is_outside(self, value: SSAValue) -> bool:
        """Whether it is defined outside of the loop, in the loop's function."""
        op = value.owner.parent_op()
        while op is not None and op is not self._function:
            if op is self._loop:
                return False
            op = op.parent_op()
        return op is not None


def is_memory_of_its_own(buffer: SSAValue) -> bool:
    """Whether no other value names it: an argument of a function, what is allocated, a constant."""
    owner = buffer.owner
    if isinstance(owner, Block):
        return isinstance(owner.parent_op(), FuncOp)
    return isinstance(owner, AllocOp | ConstantOp)


def _outer(loop: Operation) -> dict[SSAValue, range]:
    found: dict[SSAValue, range] = {}
    op = loop.parent_op()
    while op is not None:
        if isinstance(op, Counts):
            found[op.regions[0].blocks[0].args[0]] = op.spanned()
        op = op.parent_op()
    return found


def _function_of(op: Operation) -> FuncOp | None:
    around = op.parent_op()
    while around is not None and not isinstance(around, FuncOp):
        around = around.parent_op()
    return around


def _buffers(op: Operation) -> list[SSAValue]:
    return [value for value in op.operands if isinstance(value.type, MemRefType)]


def _name(value: SSAValue) -> str:
    return f"%{value.name_hint}" if value.name_hint else "a buffer"


def _text(form: Affine | None, index: SSAValue) -> str:
    """`%i * 8 + %j + 1`."""
    if form is None:
        return f"%{index.name_hint or '?'}"
    named = [
        (-abs(factor), variable.name_hint or "?", factor)
        for variable, factor in form.terms
        if isinstance(variable, SSAValue)
    ]
    text = ""
    for _, name, factor in sorted(named):
        term = f"%{name}" if abs(factor) == 1 else f"%{name} * {abs(factor)}"
        sign = "-" if factor < 0 else "+"
        text += f" {sign} {term}" if text else (f"-{term}" if factor < 0 else term)
    if form.constant or not text:
        more = f" {'-' if form.constant < 0 else '+'} {abs(form.constant)}"
        text += more if text else str(form.constant)
    return text
