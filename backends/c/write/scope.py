"""Where C is being written: the translation unit's needs, the function's names, the values so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import arith
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from inarch.backends.c.plan.linear import Guard, LoopNest, Pick, PointerAccess
from inarch.backends.c.text import Names, Writer, is_atom, unwrapped
from inarch.backends.c.types import element, literal
from inarch.backends.c.write.value.expressions import (
    constant_text,
    expression,
    stays_wide,
    wide_expression,
)
from inarch.core.dtypes import DTYPES, DType
from inarch.dialects.loop.rounding import fused_product, is_fused
from inarch.dialects.loop.scalar import PointOp

Values = Sequence[str | int]
"""For each loop of a nest its variable, or the number it has in unrolled text."""

_LONG = 96
"""Characters after which an expression gets a name."""


@dataclass(frozen=True, order=True)
class VectorType:
    """`lanes` elements of a dtype (by name); the C typedef is `v16f32`, its form in memory `v16f32_mem`."""

    dtype: str
    lanes: int

    @property
    def c(self) -> str:
        """The typedef of a value in a register."""
        return f"v{self.lanes}{self.dtype}"

    @property
    def memory(self) -> str:
        """The typedef through which any element address may be read and written."""
        return f"{self.c}_mem"

    @property
    def typedefs(self) -> dict[str, str]:
        """The name of each -> what declares it."""
        dtype = DTYPES[self.dtype]
        size = f"vector_size({dtype.nbytes * self.lanes})"
        kinds = {self.c: size, self.memory: f"{size}, aligned({dtype.nbytes}), may_alias"}
        return {
            name: f"typedef {dtype.c} {name} __attribute__(({kind}));"
            for name, kind in kinds.items()
        }


@dataclass
class Unit:
    """What one translation unit needs besides its functions."""

    vector_bytes: int
    helpers: set[str] = field(default_factory=set[str])
    vectors: set[VectorType] = field(default_factory=set[VectorType])
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """C of microkernels, by name."""
    gap_sources: set[str] = field(default_factory=set[str])
    """Those of `sources` whose loops gcc must not vectorise: see `plan/gaps.py`."""
    contracts: bool = False
    """Whether it has the code of a kernel that the compiler may contract."""
    reads_gaps: bool = False
    """Whether gcc must not vectorise its loops: see `plan/gaps.py`."""

    def need(self, name: str) -> str:
        """Notes that the helper function `name` is called; returns the name."""
        self.helpers.add(name)
        return name

    def vector(self, dtype: DType, lanes: int) -> VectorType:
        """The vector type, which the unit then declares."""
        kind = VectorType(dtype.name, lanes)
        self.vectors.add(kind)
        return kind


@dataclass
class Scope:
    """One place in a function: where lines go, which names are taken, what values are called."""

    writer: Writer
    names: Names
    unit: Unit
    values: dict[SSAValue, str]

    iterations: tuple[str, str] | None = None
    """Of the parallel loop that a function of C does a part of: from which on, and up to which."""
    _shared: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """Declarations that can be used again: type and text -> name, and the brace in which it is known."""

    def child(self) -> Scope:
        """The same place, with names and values of its own from here on."""
        return replace(
            self, names=self.names.child(), values=dict(self.values), _shared=dict(self._shared)
        )

    def share(self, c_type: str, hint: str, text: str) -> str:
        """`declare`, unless `share` has declared the same here or around; only for what does not change."""
        known = self.shared(c_type, text)
        if known is None:
            known = self.declare(c_type, hint, text)
            self._shared[f"{c_type} {text}"] = known, self.writer.brace
        return known

    def shared(self, c_type: str, text: str) -> str | None:
        """What `share` has called it, where that can be seen."""
        name, brace = self._shared.get(f"{c_type} {text}", ("", -1))
        return name if self.writer.is_open(brace) else None

    def declare(self, c_type: str, hint: str, text: str) -> str:
        """Writes `const c_type name = text;` and returns the new name."""
        name = self.names.fresh(hint)
        self.writer.line(f"const {c_type} {name} = {text};")
        return name


# ---------------------------------------------------------------------------------- scalar ops


def emit_scalar_op(op: Operation, scope: Scope) -> None:
    """Binds the result of one scalar op: to an expression if it is used once and short, else to a name."""
    result = op.results[0]
    if isinstance(op, arith.ConstantOp):
        scope.values[result] = constant_text(op)
        return
    if is_fused(op):
        return  # it is written where it is added
    product = fused_product(op)
    if product is None:
        texts = [scope.values[value] for value in op.operands]
        if isinstance(op, arith.SelectOp):
            texts[1:] = [_loaded(value, scope) for value in op.operands[1:]]
        text = wide_expression(op, texts, scope.unit.need)
        text = text or expression(op, texts, scope.unit.need)
    else:
        name = scope.unit.need(f"inarch_fma_{element(result.type).name}")
        (term,) = [value for value in op.operands if value is not product.result]
        parts = [scope.values[value] for value in (*product.operands, term)]
        text = f"{name}({', '.join(map(unwrapped, parts))})"
    kind = "int32_t" if stays_wide(op) else element(result.type).c
    scope.values[result] = bind(result, text, scope, kind)


def _loaded(value: SSAValue, scope: Scope) -> str:
    """A side of a choice; named where it loads, which C would do for that side alone: by a jump."""
    text = scope.values[value]
    return (
        scope.declare(element(value.type).c, value.name_hint or "t", text) if "[" in text else text
    )


def bind(value: SSAValue, text: str, scope: Scope, kind: str | None = None) -> str:
    """`text` itself where `value` is used at most once and `text` is short; else a new name for it.

    `kind`: the C type of the name, where it is not that of the value's type.
    """
    if is_atom(text) and "(" not in text and "[" not in text:
        return text
    if not value.has_more_than_one_use() and len(text) <= _LONG:
        return text
    return scope.declare(kind or element(value.type).c, value.name_hint or "t", text)


def evaluate(block: Block, arguments: Mapping[SSAValue, str], scope: Scope) -> list[str]:
    """The expressions that `block` of scalar ops yields, given those of its arguments and `loop.point`s."""
    scope.values.update(arguments)
    for op in block.ops:
        if not op.has_trait(IsTerminator) and not isinstance(op, PointOp):
            emit_scalar_op(op, scope)
    last = block.last_op
    assert last is not None, "the verifier has seen to it"
    return [scope.values[value] for value in last.operands]


# ---------------------------------------------------------------------------------- elements


_PICK = "inarch_pick"
"""The helper that makes an index of what was read, at which something is read."""
_PLACE = "inarch_place"
"""The same where something is written: -1 where there is no such place."""


def pick_call(pick: Pick, values: Values, scope: Scope) -> str:
    """C that makes an index of what is read."""
    helper = _PLACE if pick.drops else _PICK
    return f"{scope.unit.need(helper)}({load_text(pick.index, values, scope)}, {pick.size})"


def place_text(access: PointerAccess, values: Values, scope: Scope) -> str:
    """C for the number of an element, from the pointer on."""
    place = access.offset.text(values)
    terms: list[str] = []
    for pick in access.picks:
        call = pick_call(pick, values, scope)
        row = scope.shared("int64_t", call) or call  # what a loop around has named
        terms.append(row if pick.stride == 1 else f"{row} * {pick.stride}")
    return " + ".join([*terms, *([place] if place != "0" or not terms else [])])


def load_text(access: PointerAccess, values: Values, scope: Scope) -> str:
    """C that reads an element, or the pad outside its guards."""
    text = f"{access.pointer}[{place_text(access, values, scope)}]"
    conditions = [c for guard in access.guards for c in guard.conditions(values)]
    if not conditions:
        return text
    outside = literal(access.pad if access.pad is not None else 0, access.dtype)
    return f"{' && '.join(conditions)} ? {text} : {outside}"


def element_values(
    arguments: Sequence[BlockArgument],
    nest: LoopNest,
    values: Values,
    scope: Scope,
    known: Sequence[Guard] = (),
) -> dict[SSAValue, str]:
    """What a region's elements are called at a point; those that it does not use are not read.

    `known` are guards that the loops around have tested.
    """
    return {
        argument: bind(argument, load_text(access.within(known), values, scope), scope)
        for argument, access in zip(arguments, nest.reads, strict=True)
        if argument.first_use is not None
    }


def point_values(block: Block, nest: LoopNest, values: Values, scope: Scope) -> dict[SSAValue, str]:
    """What the `loop.point`s of a region are called at a point."""
    return {
        value: bind(value, index.text(values), scope)
        for value, index in nest.points
        if value.owner.parent is block and value.first_use is not None
    }


def initial_text(access: PointerAccess, values: Values, scope: Scope) -> str:
    """C for where an accumulator starts: its init, or what its element holds."""
    if access.init is None:
        return load_text(access, values, scope)
    return literal(access.init, access.dtype)
