"""Scalar ops on vector registers (GCC's vector extensions, which Clang and g++ have too).

All C on lanes is written here: of nests, templates and epilogues, on 1 lane (numbers) or more. What has no
vector form in C is done lane by lane with the scalar expression, so that every op works and gives the same
result at every width.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from inarch.backends.c.plan.linear import LoopNest
from inarch.backends.c.text import atom, unwrapped
from inarch.backends.c.types import element, literal, unsigned
from inarch.backends.c.write.scope import Scope, Values, VectorType
from inarch.backends.c.write.value.elementary import TOGETHER, vector_name
from inarch.backends.c.write.value.expressions import (
    SHIFTS,
    bounded_by_number,
    constant_text,
    expression,
    our_function,
)
from inarch.backends.c.write.value.fused import fused_name
from inarch.backends.c.write.value.ordered import BOUNDS, ordered_name
from inarch.backends.c.write.value.several import several_name
from inarch.core.dtypes import DTYPES, DType
from inarch.core.scalars.functions import of_op
from inarch.dialects.loop.rounding import fused_product, is_fused
from inarch.dialects.loop.scalar import PointOp
from inarch.dialects.scalar import converted
from inarch.passes.loop.nests.arg_reduce import sources_of
from inarch.passes.loop.nests.lanes import amount_of, is_native

_UNSIGNED_CASTS = (arith.UIToFPOp, arith.ExtUIOp)

INSTRUCTIONS = {"f16": ("vcvtph2ps", "vcvtps2ph $0,")}
"""What widens a vector, and what narrows one to the nearest, where there is F16C (`narrow.py`)."""


@dataclass(frozen=True)
class Value:
    """C that is a value: the same in all lanes (a scalar), or a vector."""

    text: str
    is_vector: bool = False


def evaluate_lanes(
    block: Block, arguments: Mapping[SSAValue, Value], lanes: int, scope: Scope
) -> list[Value]:
    """What `block` yields on `lanes` lanes at once, given its arguments and its `loop.point`s.

    A constant that is given is read from there.
    """
    last = block.last_op
    assert last is not None, "the verifier has seen to it"
    ops = [op for op in block.ops if not op.has_trait(IsTerminator)]
    return _evaluate_ops(ops, last.operands, arguments, lanes, scope)


def evaluate_values(
    wanted: Sequence[SSAValue], arguments: Mapping[SSAValue, Value], lanes: int, scope: Scope
) -> list[Value]:
    """Values of a block on `lanes` lanes at once, and nothing that they do not need."""
    needed = set[SSAValue]().union(*map(sources_of, wanted))
    blocks = {value.owner.parent for value in needed if isinstance(value.owner, Operation)}
    ops = [op for block in blocks if block for op in block.ops if set(op.results) & needed]
    return _evaluate_ops(ops, wanted, arguments, lanes, scope)


def evaluate_several(
    block: Block, arguments: Sequence[Mapping[SSAValue, Value]], lanes: int, scope: Scope
) -> list[Value]:
    """The one value that `block` yields on `TOGETHER` vectors, given the arguments of each of them.

    Our own functions of f32 are of all the vectors at once.
    """
    assert len(arguments) == TOGETHER, "a strip has so many vectors"
    values = [dict(each) for each in arguments]
    last = block.last_op
    assert last is not None, "verified"
    for op in block.ops:
        if op.has_trait(IsTerminator) or is_fused(op):
            continue
        operands = [[_value_of(operand, each, scope) for operand in op.operands] for each in values]
        function = our_function(op)
        if function is not None and operands[0][0].is_vector:
            found = on_several(function, [each[0].text for each in operands], lanes, scope)
            for each, value in zip(values, found, strict=True):
                each[op.results[0]] = value
            continue
        for each in values:
            _evaluate_op(op, each, lanes, scope)
    return [_value_of(last.operands[0], each, scope) for each in values]


def on_several(function: str, texts: Sequence[str], lanes: int, scope: Scope) -> list[Value]:
    """A function of our own of `TOGETHER` vectors of f32."""
    kind = f"inarch_v{lanes}f32"
    names = [scope.names.fresh("y") for _ in texts]
    scope.writer.line(f"{kind} {', '.join(names)};")
    call = scope.unit.need(several_name(function, lanes))
    pairs = (f"{unwrapped(text)}, &{name}" for text, name in zip(texts, names, strict=True))
    scope.writer.line(f"{call}({', '.join(pairs)});")
    return [Value(name, is_vector=True) for name in names]


def _evaluate_ops(
    ops: Sequence[Operation],
    wanted: Sequence[SSAValue],
    arguments: Mapping[SSAValue, Value],
    lanes: int,
    scope: Scope,
) -> list[Value]:
    values = dict(arguments)
    for op in ops:
        _evaluate_op(op, values, lanes, scope)
    return [_value_of(operand, values, scope) for operand in wanted]


def _value_of(operand: SSAValue, values: Mapping[SSAValue, Value], scope: Scope) -> Value:
    return values[operand] if operand in values else Value(scope.values[operand], False)


def _evaluate_op(op: Operation, values: dict[SSAValue, Value], lanes: int, scope: Scope) -> None:
    """Adds the result of `op` to `values`."""
    if isinstance(op, PointOp) or is_fused(op):
        return  # a product that is fused is written where it is added
    result = op.results[0]
    if isinstance(op, arith.ConstantOp):
        values.setdefault(result, Value(constant_text(op), is_vector=False))
        return
    product = fused_product(op)
    if product is not None:
        (term,) = [value for value in op.operands if value is not product.result]
        parts = [_value_of(operand, values, scope) for operand in (*product.operands, term)]
        values[result] = fused(parts, element(result.type), lanes, scope)
        return
    operands = [_value_of(operand, values, scope) for operand in op.operands]
    values[result] = _evaluate(op, operands, lanes, scope)


def _evaluate(op: Operation, operands: Sequence[Value], lanes: int, scope: Scope) -> Value:
    dtype = element(op.results[0].type)
    single = op.results[0].has_one_use()
    if not any(operand.is_vector for operand in operands):
        text = expression(op, [operand.text for operand in operands], scope.unit.need)
        return Value(text if single else scope.declare(dtype.c, "s", text), is_vector=False)
    kind = scope.unit.vector(dtype, lanes)
    if (block := converted(op)) is not None:
        return Value(_named(_converted(op, block, operands[0], kind, scope), kind, scope), True)
    if not is_native(op):
        return Value(_lane_by_lane(op, operands, kind, scope), is_vector=True)
    text = _native(op, operands, lanes, scope)
    return Value(text if single else _named(text, kind, scope), is_vector=True)


def widened_name(lanes: int, dtype: DType) -> str:
    """What widens so many numbers that are only stored: `INARCH_WIDEN_V8F16(bits)`."""
    return f"INARCH_WIDEN_V{lanes}{dtype.name.upper()}"


def narrowed_name(lanes: int, dtype: DType) -> str:
    """What gives the bits of the nearest ones: `INARCH_NARROW_V8F16(numbers)`."""
    return f"INARCH_NARROW_V{lanes}{dtype.name.upper()}"


def _converted(op: Operation, block: Block, operand: Value, kind: VectorType, scope: Scope) -> str:
    """A vector whose dtype, or the operand's, is only stored, by the block of the conversion."""
    (argument,) = block.args
    for widens, dtype in ((True, op.operands[0].type), (False, op.results[0].type)):
        if (stored := element(dtype)).name in INSTRUCTIONS:
            name = (widened_name if widens else narrowed_name)(kind.lanes, stored)
            return f"{scope.unit.need(name)}({unwrapped(operand.text)})"
    given = scope.unit.vector(element(argument.type), kind.lanes)
    bits = scope.declare(given.c, "t", f"({given.c}){atom(operand.text)}")
    known: dict[SSAValue, Value] = {argument: Value(bits, is_vector=True)}
    (found,) = evaluate_lanes(block, known, kind.lanes, scope)
    return f"({kind.c}){atom(found.text)}"


def fused(parts: Sequence[Value], dtype: DType, lanes: int, scope: Scope) -> Value:
    """A product and a sum with one rounding."""
    if not any(part.is_vector for part in parts):
        name = scope.unit.need(f"inarch_fma_{dtype.name}")
        return Value(f"{name}({', '.join(part.text for part in parts)})", is_vector=False)
    kind = scope.unit.vector(dtype, lanes)
    name = scope.unit.need(fused_name(lanes, dtype))
    texts = [
        part.text if part.is_vector else f"({kind.c}){splat(_scalar(part, dtype, scope), kind)}"
        for part in parts
    ]
    return Value(f"{name}({', '.join(texts)})", is_vector=True)


def _scalar(part: Value, dtype: DType, scope: Scope) -> str:
    """A name for a number that stands in each lane."""
    return part.text if part.text.isidentifier() else scope.declare(dtype.c, "s", part.text)


def _native(op: Operation, operands: Sequence[Value], lanes: int, scope: Scope) -> str:
    dtype = element(op.results[0].type)
    kind = scope.unit.vector(dtype, lanes)
    texts = [atom(operand.text) for operand in operands]
    row, _ = of_op(op.name)
    if row.sign and op.name == row.floats:
        return f"{texts[0]} {row.sign} {texts[1]}"
    if row.name == "neg":
        return f"-{texts[0]}"
    if row.name == "abs":
        bits = DTYPES[f"i{dtype.bits}"]
        mask = literal((1 << (dtype.bits - 1)) - 1, bits)
        return f"({kind.c})(({scope.unit.vector(bits, lanes).c}){texts[0]} & {mask})"
    if row.has_vectors:
        return f"{scope.unit.need(vector_name(row.name, lanes))}({unwrapped(texts[0])})"
    if row.sign:  # unsigned, so that they wrap
        wide = scope.unit.vector(unsigned(dtype), lanes)
        parts = [
            f"({wide.c if operand.is_vector else unsigned(dtype).c}){text}"
            for operand, text in zip(operands, texts, strict=True)
        ]
        return f"({kind.c})({parts[0]} {row.sign} {parts[1]})"
    if row.order:
        return _ordered(op, operands, kind, scope)
    if isinstance(op, arith.BitcastOp):
        return f"({kind.c}){texts[0]}"
    if (amount := amount_of(op)) is not None:
        sign, is_unsigned = SHIFTS[type(op)]
        bits = scope.unit.vector(unsigned(dtype), lanes) if is_unsigned else kind
        return f"({kind.c})(({bits.c}){texts[0]} {sign} {amount})"
    source = element(op.operands[0].type)
    if isinstance(op, _UNSIGNED_CASTS):
        bits = scope.unit.vector(unsigned(source), lanes)
        return f"__builtin_convertvector(({bits.c}){texts[0]}, {kind.c})"
    return f"__builtin_convertvector({texts[0]}, {kind.c})"


def _named(text: str, kind: VectorType, scope: Scope) -> str:
    """A name for a vector; `text` itself if it is one. Accumulators change only after their uses."""
    return text if text.isidentifier() else scope.declare(kind.c, "t", text)


def _ordered(op: Operation, operands: Sequence[Value], kind: VectorType, scope: Scope) -> str:
    """The larger or smaller, NaN when either is; with a number it is one instruction."""
    row, is_signed = of_op(op.name)
    dtype, lanes = DTYPES[kind.dtype], kind.lanes
    if dtype.is_float and (sides := bounded_by_number(op)) is not None:
        # Of two zeros the one that is not the number: as without lanes.
        operands = [operands[at] for at in sides]
        if dtype == DTYPES["f32"]:
            name = scope.unit.need(vector_name(BOUNDS[row.name], lanes))
            return f"{name}({', '.join(unwrapped(each.text) for each in operands)})"
    a, b = (
        _named(operand.text, kind, scope)
        if operand.is_vector
        else scope.share(kind.c, "all", splat(operand.text, kind))
        for operand in operands
    )
    bits = scope.unit.vector(DTYPES[f"i{dtype.bits}"], lanes)
    if dtype.is_float:
        name = scope.unit.need(ordered_name(row.name, lanes, dtype))
        return f"{name}({a}, {b}, {kind.c}, {bits.c})"
    # C has no `?:` on vectors: by a mask of all ones. Its type is another one than theirs, as gcc 12 else
    # makes two exclusive ors of it with AVX-512 instead of a blend.
    sign, of = "" if is_signed else f"({scope.unit.vector(unsigned(dtype), lanes).c})", bits.memory
    mask = scope.declare(of, "mask", f"({of})({sign}{a} {row.order} {sign}{b})")
    picked = f"({kind.c})(({mask} & ({of}){a}) | (~{mask} & ({of}){b}))"
    return scope.declare(kind.c, "t", picked)


def _lane_by_lane(op: Operation, operands: Sequence[Value], kind: VectorType, scope: Scope) -> str:
    """A new vector each lane of which is the scalar expression on the operands' lanes."""
    named: list[str] = []
    for operand, value in zip(operands, op.operands, strict=True):
        if operand.is_vector:
            vector = scope.unit.vector(element(value.type), kind.lanes)
            named.append(f"{_named(operand.text, vector, scope)}[lane]")
        else:
            named.append(operand.text)
    result = scope.names.fresh("t")
    scope.writer.line(f"{kind.c} {result} = {{0}};")
    scope.writer.open(f"for (int lane = 0; lane < {kind.lanes}; lane++)")
    scope.writer.line(f"{result}[lane] = {expression(op, named, scope.unit.need)};")
    scope.writer.close()
    return result


def point_lanes(
    block: Block, nest: LoopNest, values: Values, vector: int | None, lanes: int, scope: Scope
) -> dict[SSAValue, Value]:
    """What the `loop.point`s of a region are in lanes along a loop, whose first one is in `values`."""
    found: dict[SSAValue, Value] = {}
    for value, index in nest.points:
        if value.owner.parent is not block or value.first_use is None:
            continue
        if vector is None or not index.uses(vector):
            found[value] = Value(scope.declare("int64_t", "point", index.text(values)), False)
            continue
        places = [list(values) for _ in range(lanes)]
        for lane, place in enumerate(places):
            place[vector] = int(values[vector]) + lane
        kind = scope.unit.vector(DTYPES["i64"], lanes)
        texts = lanes_of(index.text(place) for place in places)
        found[value] = Value(scope.declare(kind.c, "point", texts), True)
    return found


def splat(text: str, kind: VectorType) -> str:
    """An initialiser of a vector with `text` in every lane."""
    return lanes_of([text] * kind.lanes)


def lanes_of(texts: Iterable[str]) -> str:
    """An initialiser of a vector, lane by lane."""
    return f"{{{', '.join(texts)}}}"


def load(pointer: str, offset: str, kind: VectorType) -> str:
    """The vector of consecutive elements from `pointer[offset]` on."""
    return f"*(const {kind.memory} *){_address(pointer, offset)}"


def load_strided(place: str, stride: str, kind: VectorType, scope: Scope) -> Value:
    """The vector of elements that are `stride` apart, the first one at `place`."""
    name = scope.names.fresh("t")
    scope.writer.line(f"{kind.c} {name} = {{0}};")
    # Strides are constants where a kernel's function is inlined: one branch is left.
    scope.writer.open(f"if ({stride} == 1)")
    scope.writer.line(f"{name} = *(const {kind.memory} *)({place});")
    scope.writer.close()
    scope.writer.open("else")
    scope.writer.open(f"for (int64_t lane = 0; lane < {kind.lanes}; lane++)")
    scope.writer.line(f"{name}[lane] = ({place})[lane * ({stride})];")
    scope.writer.close()
    scope.writer.close()
    return Value(name, is_vector=True)


def store(pointer: str, offset: str, kind: VectorType, text: str) -> str:
    """The statement that writes a vector to consecutive elements."""
    return f"*({kind.memory} *){_address(pointer, offset)} = {text};"


def _address(pointer: str, offset: str) -> str:
    return pointer if offset == "0" else f"({pointer} + {offset})"
