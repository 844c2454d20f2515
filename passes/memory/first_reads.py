"""Reads of scratch buffers that nothing has written: their contents would be whatever memory held."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from inarch.dialects.kernel.call import CallOp as KernelCallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.buffer import AllocOp, ReshapeOp
from inarch.dialects.loop.control import CallOp, ForOp
from inarch.dialects.loop.footprint import (
    Form,
    Place,
    Places,
    are_disjoint,
    place_of,
    written_by_import,
)
from inarch.dialects.loop.indirect import used_operands
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.overlap import Access, reads_of, writes_of
from inarch.dialects.loop.repeat import WhileOp
from inarch.ir.functions import entry_blocks, error_at
from inarch.ir.location import location_text
from inarch.ir.names import symbols_of


def check_first_reads(module: ModuleOp) -> None:
    """Raises InarchError at the first op of a public function that reads what nothing has written.

    Ops are looked at in program order, through calls and views. Found are reads of an element that no
    write before, taken as a whole, can have reached: of a buffer that nothing writes, or only later;
    of a part that nothing writes; of an output without `init` to begin with. Not found is a hole in the
    middle of what is read. A branch, and a loop of no iteration, may write and reads nothing; padded
    reads, loads and imports count as reads of some element only.
    """
    symbols = symbols_of(module)
    for _, block in entry_blocks(module):
        _Walk(symbols).run(block, {}, certain=True)


@dataclass(frozen=True)
class _Use:
    """What an op reads, or writes, of one buffer."""

    what: str
    """For messages: `operand 0`."""
    place: Place
    forms: Sequence[Form]
    is_exact: bool
    """Whether every one of these elements is touched."""
    hint: str = "write it first"


@dataclass
class _Written:
    """Elements of one buffer that may have been written."""

    known: set[Form] = field(default_factory=set[Form])
    lows: list[int] = field(default_factory=list[int])
    """The least element of each of `forms`, in order."""
    forms: list[Form] = field(default_factory=list[Form])
    widest: int = 0
    """From the least to the largest element of a form."""

    def add(self, form: Form) -> None:
        if form in self.known or form.is_empty:
            return
        self.known.add(form)
        low, high = form.span
        place = bisect_right(self.lows, low)
        self.lows.insert(place, low)
        self.forms.insert(place, form)
        self.widest = max(self.widest, high - low)

    def meets(self, form: Form) -> bool:
        """Whether one of the elements may have been written."""
        low, high = form.span
        for place in reversed(range(bisect_right(self.lows, high))):
            if self.lows[place] + self.widest < low:
                return False  # and so are those before
            if not are_disjoint(form, self.forms[place]):
                return True
        return False


@dataclass
class _Walk:
    symbols: Mapping[str, Operation]
    written: defaultdict[SSAValue, _Written] = field(default_factory=lambda: defaultdict(_Written))
    """What may have been written so far, by buffer."""

    def run(
        self, block: Block, places: Places, *, certain: bool, active: tuple[str, ...] = ()
    ) -> None:
        """`certain`: the block runs at least once; `active`: the functions that are being walked."""
        for op in block.ops:
            if isinstance(op, ForOp):
                self.run(op.body.block, places, certain=certain and _runs(op), active=active)
                continue
            callee = self._callee(op)
            if callee is not None and callee.sym_name.data not in active:
                found = [place_of(value, places) for value in op.operands]
                inner: dict[SSAValue, Place] = dict(
                    zip(callee.body.block.args, found, strict=False)
                )
                name = callee.sym_name.data
                self.run(callee.body.block, inner, certain=certain, active=(*active, name))
                continue
            reads, writes = self._uses(op, places)
            for use in reads if certain else ():
                self._check(op, use)
            for region in op.regions if not isinstance(op, NestOp) else ():
                for each in region.blocks:
                    self.run(each, places, certain=False, active=active)
            for use in writes:
                for form in use.forms:
                    self.written[use.place.buffer].add(form)

    def _callee(self, op: Operation) -> FuncOp | None:
        """The function that a call runs, where it has a body."""
        if not isinstance(op, CallOp):
            return None
        function = self.symbols.get(op.callee.root_reference.data)
        if not isinstance(function, FuncOp) or function.is_declaration:
            return None
        return function

    def _uses(self, op: Operation, places: Places) -> tuple[Iterable[_Use], Iterable[_Use]]:
        """What an op reads, and what it then writes."""
        match op:
            case NestOp():
                return _nest_reads(op, places), _nest_writes(op, places)
            case KernelCallOp():
                return self._kernel(op, places)
            case PackOp():
                return [_some("what it copies", op.src, places)], [_some("", op.dst, places)]
            case memref.LoadOp():
                return [_some("an element", op.memref, places)], []
            case WhileOp():
                condition = op.condition
                return [_some("its condition", condition, places)] if condition else [], []
            case memref.StoreOp():
                return [], [_some("", op.memref, places)]
            case CallOp():
                function = self.symbols[op.callee.root_reference.data]
                assert isinstance(function, FuncOp), "the verifier has seen to it"
                results = written_by_import(function)
                uses = [
                    _some(f"argument {n}", value, places) for n, value in enumerate(op.arguments)
                ]
                return [u for n, u in enumerate(uses) if n not in results], uses
            case AllocOp() | ReshapeOp() | memref.SubviewOp():
                return [], []
            case _:  # whatever it does, it may write
                buffers = [v for v in op.operands if isinstance(v.type, MemRefType)]
                return [], [_some("", value, places) for value in buffers]

    def _kernel(self, op: KernelCallOp, places: Places) -> tuple[list[_Use], list[_Use]]:
        definition = self.symbols[op.callee.root_reference.data]
        assert isinstance(definition, DefOp), "the verifier has seen to it"
        reads: list[_Use] = []
        writes: list[_Use] = []
        touched = op.elements(definition)
        for operand, value, own in zip(definition.arguments, op.arguments, touched, strict=True):
            place = place_of(value, places)
            forms = [form.moved(place.offset) for form in own]
            use = _at(f"operand {operand.label.data}", place, forms)
            if operand.access.data != "write":
                reads.append(use)
            if operand.access.data != "read":
                writes.append(use)
        return reads, writes

    def _check(self, op: Operation, use: _Use) -> None:
        alloc = use.place.buffer.owner
        forms = [form for form in use.forms if not form.is_empty]
        if not isinstance(alloc, AllocOp) or not forms:
            return
        which = _unwritten(forms, self.written[use.place.buffer], is_exact=use.is_exact)
        if which is None:
            return
        raise error_at(
            op,
            f"expected {use.what} of '{op.name}' to be written before it is read, found {which} of "
            f"{_named(alloc)}, which nothing has written; {use.hint}",
        )


def _unwritten(forms: Sequence[Form], before: _Written, *, is_exact: bool) -> str | None:
    """What of `forms`, none of which is empty, nothing in `before` can have written, in words, or None."""
    if before.known.issuperset(forms):
        return None
    for form in forms:
        for end in form.span if is_exact else ():
            if not before.meets(Form((), (), end)):
                return f"element {end}"
    return None if any(map(before.meets, forms)) else "elements"


def _named(alloc: AllocOp) -> str:
    name, where = alloc.buffer.name_hint, location_text(alloc)
    return f"loop.alloc{f' %{name}' if name else ''}{f' ({where})' if where else ''}"


def _runs(loop: ForOp) -> bool:
    return bool(loop.counted())


def _some(what: str, value: SSAValue, places: Places) -> _Use:
    """Elements of a buffer, which ones is not known."""
    place = place_of(value, places)
    return replace(_at(what, place, [place.elements]), is_exact=False)


# ---------------------------------------------------------------------------------- nests


def _nest_reads(nest: NestOp, places: Places) -> Iterator[_Use]:
    """The operands whose elements are used, and the outputs that the accumulators start from."""
    if any(not it.is_reduction and it.size.data == 0 for it in nest.iterators):
        return
    runs = not any(it.is_reduction and it.size.data == 0 for it in nest.iterators)
    used = used_operands(nest, finish_only=not runs)
    for position, access in enumerate(reads_of(nest, places)):
        if position in used:
            yield _use(f"operand {position}", access)
    for position, access in enumerate(writes_of(nest, places)):
        starts = number_of(nest.writes.data[position].init) is None
        if starts and (not runs or nest.accumulators(nest.body)[position].first_use):
            hint = "give it an init, or write it first"
            yield _use(f"output {position}, which has no init,", access, hint)


def _nest_writes(nest: NestOp, places: Places) -> Iterator[_Use]:
    if not any(not it.is_reduction and it.size.data == 0 for it in nest.iterators):
        for access in writes_of(nest, places):
            yield _use("", access)


def _use(what: str, access: Access, hint: str = "write it first") -> _Use:
    found = _at(what, access.place, [access.elements_outside], hint)
    return replace(found, is_exact=found.is_exact and access.is_exact)


def _at(what: str, place: Place, forms: Sequence[Form], hint: str = "write it first") -> _Use:
    """All of `forms` of a buffer; some elements of it, where its place is known at run time only."""
    return _Use(what, place, forms if place.is_known else [place.somewhere], place.is_known, hint)
