"""One scalar op of `arith`, `math` or `loop` as a C expression.

Values of the IR are signless; in C an `iN` is `intN_t`, `i1` is a `uint8_t` of 0 or 1, `index` is
`int64_t`. Signed arithmetic wraps (it is done unsigned), division by zero gives 0, conversions from
floats saturate: no input makes the C undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from inarch.backends.c.text import atom, unwrapped
from inarch.backends.c.types import element, is_bool, literal, unsigned
from inarch.core.dtypes import DTYPES, DType
from inarch.core.errors import UnsupportedError
from inarch.core.scalars.functions import of_op
from inarch.dialects.loop.scalar import RemfOp
from inarch.ir.location import location_text
from inarch.passes.loop.nests.lanes import amount_of

Need = Callable[[str], str]
"""Notes that the unit needs a helper function, and returns its name."""

_BOUNDS: dict[type[Operation], str] = {arith.MaximumfOp: "raised", arith.MinimumfOp: "lowered"}
"""The same where one side is a constant number, which takes one comparison."""
_DIVISION: dict[type[Operation], tuple[str, str | None, bool]] = {
    arith.DivSIOp: ("div", "/", False),
    arith.DivUIOp: ("div", "/", True),
    arith.RemSIOp: ("rem", "%", False),
    arith.RemUIOp: ("rem", "%", True),
    arith.FloorDivSIOp: ("floordiv", None, False),
    arith.CeilDivSIOp: ("ceildiv", None, False),
    arith.CeilDivUIOp: ("ceildiv", None, True),
}
_EXTENDS: dict[type[Operation], tuple[type[Operation], ...]] = {
    arith.FPToSIOp: (arith.ExtSIOp, arith.SIToFPOp),
    arith.FPToUIOp: (arith.ExtUIOp, arith.UIToFPOp),
}
SHIFTS: dict[type[Operation], tuple[str, bool]] = {
    arith.ShLIOp: ("<<", True),
    arith.ShRUIOp: (">>", True),
    arith.ShRSIOp: (">>", False),
}
_COUNTS = {"math.ctlz": "ctlz", "math.cttz": "cttz", "math.ctpop": "ctpop"}
"""Functions on the bits of integers, our own."""

_COMPARE_FLOATS = {
    "oeq": "{a} == {b}",
    "ogt": "{a} > {b}",
    "oge": "{a} >= {b}",
    "olt": "{a} < {b}",
    "ole": "{a} <= {b}",
    "one": "{a} < {b} || {a} > {b}",
    "ord": "{a} == {a} && {b} == {b}",
    "ueq": "!({a} < {b} || {a} > {b})",
    "ugt": "!({a} <= {b})",
    "uge": "!({a} < {b})",
    "ult": "!({a} >= {b})",
    "ule": "!({a} > {b})",
    "une": "{a} != {b}",
    "uno": "{a} != {a} || {b} != {b}",
}
_COMPARE_INTEGERS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def our_function(op: Operation) -> str | None:
    """The function of `OURS` that `op` is; None for others."""
    row, _ = of_op(op.name)
    is_ours = row.is_ours and element(op.results[0].type) == DTYPES["f32"]
    return row.name if is_ours else None


def is_scalar_op(op: Operation) -> bool:
    """Whether `expression` knows ops of this kind."""
    return op.name.partition(".")[0] in ("arith", "math") or isinstance(op, RemfOp)


def constant_text(op: arith.ConstantOp) -> str:
    """The literal of `arith.constant`."""
    value = op.value
    if not isinstance(value, FloatAttr | IntegerAttr):
        raise _unsupported(op)
    return literal(value.value.data, element(op.result.type))


def stays_wide(op: Operation) -> bool:
    """Whether a narrow integer that a float becomes is extended wherever it is used, in one block.

    C compilers take so many points at once as the narrowest type of a loop has lanes: a byte between two
    floats asks for 32, which rows of 8 do not have. It then is an `int32_t` in C.
    """
    extends = _EXTENDS.get(type(op))
    if extends is None or is_bool(op.results[0].type) or element(op.results[0].type).bits >= 32:
        return False
    users = [use.operation for use in op.results[0].uses]
    return all(isinstance(user, extends) and user.parent is op.parent for user in users)


def wide_expression(op: Operation, operands: Sequence[str], need: Need) -> str | None:
    """An op that `stays_wide`, or that extends the number of one; None for others."""
    if stays_wide(op):
        source, target = element(op.operands[0].type), element(op.results[0].type)
        return _saturated(op, source, target, operands[0], need)
    owner = op.operands[0].owner if op.operands else None
    if isinstance(owner, Operation) and stays_wide(owner):
        return f"({element(op.results[0].type).c}){atom(operands[0])}"
    return None


def expression(op: Operation, operands: Sequence[str], need: Need) -> str:
    """`op` on operands that are C expressions. Raises UnsupportedError at the op for others."""
    if isinstance(op, arith.ConstantOp):
        return constant_text(op)
    values = [atom(text) for text in operands]
    text = (
        _arithmetic(op, values, need)
        or _comparison(op, values)
        or _conversion(op, values, need)
        or _function(op, values, need)
    )
    if text is None:
        raise _unsupported(op)
    return text


def _is_number(value: SSAValue) -> bool:
    """Whether it is a constant float, and no NaN."""
    found = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return isinstance(found, FloatAttr) and not isnan(found.value.data)


def bounded_by_number(op: Operation) -> tuple[int, int] | None:
    """Of a maximum or minimum of floats: which operand is a number, and the other one; None without one."""
    for at, operand in enumerate(op.operands):
        if _is_number(operand):
            return at, 1 - at
    return None


def _is_half(value: SSAValue) -> bool:
    found = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return isinstance(found, FloatAttr) and found.value.data == 0.5


def _call(name: str, arguments: Sequence[str]) -> str:
    return f"{name}({', '.join(map(unwrapped, arguments))})"


def _unsupported(op: Operation) -> UnsupportedError:
    return UnsupportedError(f"'{op.name}' has no C; rewrite it first", where=location_text(op))


# ---------------------------------------------------------------------------------- arithmetic


def _arithmetic(op: Operation, values: Sequence[str], need: Need) -> str | None:
    kind = type(op)
    row, is_signed = of_op(op.name)
    is_float = op.name == row.floats
    if row.sign and is_float:
        return f"{values[0]} {row.sign} {values[1]}"
    if row.sign and is_signed is None:
        return _bitwise(op, values, row.sign) if not row.floats else _wrapping(op, values, row.sign)
    if row.order and is_float:
        return _ordered(op, values, row.name, need)
    if row.order:
        a, b = _signedness(op, values, is_signed is False)
        return f"{a} {row.order} {b} ? {values[0]} : {values[1]}"
    if kind in _DIVISION:
        return _division(op, values, need)
    if kind in SHIFTS:
        return _shift(op, values)
    if isinstance(op, arith.NegfOp):
        return f"-{values[0]}"
    if isinstance(op, arith.SelectOp):
        return f"{values[0]} ? {values[1]} : {values[2]}"
    return None


def _bitwise(op: Operation, values: Sequence[str], sign: str) -> str:
    dtype = element(op.results[0].type)
    text = f"{values[0]} {sign} {values[1]}"
    return text if dtype.bits >= 32 else f"({dtype.c})({text})"


def _ordered(op: Operation, values: Sequence[str], name: str, need: Need) -> str:
    dtype = element(op.results[0].type).name
    if (sides := bounded_by_number(op)) is not None:
        number, other = sides
        return _call(need(f"inarch_{_BOUNDS[type(op)]}_{dtype}"), (values[other], values[number]))
    return _call(need(f"inarch_{name}_{dtype}"), values)


def _wrapping(op: Operation, values: Sequence[str], sign: str) -> str:
    kind = op.results[0].type
    plain = f"{values[0]} {sign} {values[1]}"
    if isinstance(kind, IndexType):
        return plain  # indices address memory: they do not overflow
    if is_bool(kind):
        return f"(uint8_t)(({plain}) & 1)"
    dtype = element(kind)
    # Narrower operands are promoted to int, where 16 x 16 bits fit when they are unsigned factors.
    wide = unsigned(dtype).c if dtype.bits >= 32 else "uint32_t"
    return f"({dtype.c})(({wide}){values[0]} {sign} ({wide}){values[1]})"


def _signedness(op: Operation, values: Sequence[str], is_unsigned: bool) -> tuple[str, str]:
    """Both integer operands as C values that compare as the op means."""
    kind = op.operands[0].type
    a, b = values
    if is_bool(kind):
        return (a, b) if is_unsigned else (f"-{a}", f"-{b}")  # a set bit is the sign
    if not is_unsigned:
        return a, b
    name = unsigned(element(kind)).c
    return f"({name}){a}", f"({name}){b}"


def _division(op: Operation, values: Sequence[str], need: Need) -> str:
    name, operator, is_unsigned = _DIVISION[type(op)]
    dtype = element(op.results[0].type)
    if is_bool(op.results[0].type):
        raise _unsupported(op)
    kind = unsigned(dtype) if is_unsigned else dtype
    a, b = _signedness(op, values, is_unsigned)
    divisor = op.operands[1].owner
    safe = isinstance(divisor, arith.ConstantOp) and (
        isinstance(divisor.value, IntegerAttr) and divisor.value.value.data not in (0, -1)
    )
    if operator is not None and safe:
        return f"({dtype.c})({a} {operator} {b})"
    call = _call(need(f"inarch_{name}_{kind.name}"), (a, b))
    return f"({dtype.c}){call}" if is_unsigned else call


def _shift(op: Operation, values: Sequence[str]) -> str:
    sign, is_unsigned = SHIFTS[type(op)]
    dtype = element(op.results[0].type)
    if is_bool(op.results[0].type):  # by 0, or by its width
        return f"(uint8_t)({values[0]} & !{values[1]})" if is_unsigned else values[0]
    source = f"({unsigned(dtype).c}){values[0]}" if is_unsigned else values[0]
    if amount_of(op) is not None:
        return f"({dtype.c})({source} {sign} {values[1]})"
    amount = f"({unsigned(dtype).c}){values[1]}"
    # As wide as the type or wider: nothing is left (the sign, of a signed one).
    rest = "0" if is_unsigned else f"{values[0]} < 0 ? -1 : 0"
    return f"({dtype.c})({amount} < {dtype.bits} ? {source} {sign} {values[1]} : {rest})"


# ---------------------------------------------------------------------------------- comparison


def _comparison(op: Operation, values: Sequence[str]) -> str | None:
    if isinstance(op, arith.CmpfOp):
        name = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
        if name in ("true", "false"):
            return "1" if name == "true" else "0"
        return _COMPARE_FLOATS[name].format(a=values[0], b=values[1])
    if isinstance(op, arith.CmpiOp):
        name = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
        is_unsigned = name.startswith("u")
        sign = _COMPARE_INTEGERS[name[-2:]]
        a, b = values if name in ("eq", "ne") else _signedness(op, values, is_unsigned)
        return f"{a} {sign} {b}"
    return None


# ---------------------------------------------------------------------------------- conversion


def _conversion(op: Operation, values: Sequence[str], need: Need) -> str | None:
    if not op.results or not op.operands:
        return None
    target = element(op.results[0].type)
    source_type = op.operands[0].type
    source = element(source_type)
    value = values[0]
    match op:
        case arith.ExtFOp() | arith.TruncFOp():
            if source.is_stored or target.is_stored:
                return _call(need(f"inarch_{source.name}_to_{target.name}"), values)
            return f"({target.c}){value}"
        case arith.SIToFPOp() | arith.ExtSIOp() | arith.TruncIOp() | arith.IndexCastOp():
            if is_bool(op.results[0].type):
                return f"(uint8_t)({value} & 1)"
            return f"({target.c}){f'(-{value})' if is_bool(source_type) else value}"
        case arith.UIToFPOp() | arith.ExtUIOp():
            return f"({target.c})({unsigned(source).c}){value}"
        case arith.FPToSIOp() | arith.FPToUIOp():
            return _float_to_integer(op, source, target, value, need)
        case arith.BitcastOp():
            if source == target:
                return value
            return _call(need(f"inarch_bits_{source.name}_to_{target.name}"), values)
        case _:
            return None


def _float_to_integer(op: Operation, source: DType, target: DType, value: str, need: Need) -> str:
    if target.name == "i1":
        return f"(uint8_t)({need(f'inarch_{source.name}_to_ui8')}({value}) != 0)"
    call = _saturated(op, source, target, value, need)
    is_exact = target.bits >= 32 and isinstance(op, arith.FPToSIOp)
    return call if is_exact else f"({target.c}){call}"  # what becomes a narrow one is an int32_t


def _saturated(op: Operation, source: DType, target: DType, value: str, need: Need) -> str:
    kind = unsigned(target) if isinstance(op, arith.FPToUIOp) else target
    return _call(need(f"inarch_{source.name}_to_{kind.name}"), [value])


# ---------------------------------------------------------------------------------- functions


def _function(op: Operation, values: Sequence[str], need: Need) -> str | None:
    if not op.results:
        return None
    dtype = element(op.results[0].type)
    if (ours := our_function(op)) is not None:
        return _call(need(f"inarch_{ours}_f32"), values)
    suffix = "f" if dtype.bits == 32 else ""
    if isinstance(op, math.PowFOp) and _is_half(op.operands[1]):
        return _call(need(f"inarch_pow_half_{dtype.name}"), values[:1])
    row, _ = of_op(op.name)
    if row.c and dtype.is_float:
        return _call(f"{row.c}{suffix}", values)
    match op:
        case math.RsqrtOp():
            return f"{literal(1, dtype)} / sqrt{suffix}({values[0]})"
        case math.AbsIOp():
            wide = unsigned(dtype).c if dtype.bits >= 32 else "uint32_t"
            return f"{values[0]} < 0 ? ({dtype.c})(0 - ({wide}){values[0]}) : {values[0]}"
        case math.FPowIOp():
            exponent = f"-{values[1]}" if is_bool(op.operands[1].type) else values[1]
            return f"({dtype.c})pow((double){values[0]}, (double)({exponent}))"
        case math.IPowIOp() if dtype.name != "i1":
            return _call(need(f"inarch_ipow_{dtype.name}"), values)
        case _ if op.name in _COUNTS and dtype.name != "i1":
            return _call(need(f"inarch_{_COUNTS[op.name]}_{dtype.name}"), values)
        case _:
            return None
