"""Whether a family of microkernels is sound as data; what is wrong is one located message."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import cast

from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError, unknown
from inarch.core.limits import number_text
from inarch.core.scalars.functions import OF_MEANINGS
from inarch.machine.architecture import all_features
from inarch.meaning import (
    Apply,
    Element,
    Expression,
    Meaning,
    Number,
    applied,
    elements,
    expression_text,
    free_sizes,
    normal,
    operands,
    parse,
    ranks,
    with_casts,
    written,
)
from inarch.microkernel._data import Microkernel
from inarch.microkernel.formula import formula, names

MACHINE = ("VECTOR_BYTES", "VECTOR_REGISTERS")
"""What formulas may name besides parameters."""

MOST_MEMBERS = 100_000
"""Choices of parameters, each of which is tried on `where`: more would take seconds a model."""

LEAST = ">="
"""Begins a stride of a layout that is a least one."""

_C_WORDS = re.compile(
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|"
    "int|long|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|"
    "unsigned|void|volatile|while|int8_t|int16_t|int32_t|int64_t|ZERO_INIT"
)
"""Keywords of C11, and names that stand in every kernel."""


def check(kernel: Microkernel, name: str) -> Meaning:
    """The parsed meaning of a sound family. Raises InarchError for the first thing that is wrong.

    Buffers are signless: an element of an operand of `ui8` is `ui8(A[i])` in what is returned.
    """
    where = f"microkernel '{name}'"
    meaning = parse(kernel.computes, f"{where}: computes")
    try:
        _check_names(kernel, meaning)
        _check_written(kernel, meaning)
        _check_params(kernel, meaning)
        _check_demands(kernel, meaning)
        _check_variants(kernel, meaning)
        _check_code(kernel)
        _check_cost(kernel)
        check_dtypes(meaning, kernel.dtypes)
    except InarchError as error:
        if error.where is not None:
            raise
        raise type(error)(error.message, where=where) from error
    unsigned = {name: dtype for name, dtype in kernel.dtypes.items() if DTYPES[dtype].is_unsigned}
    return with_casts(meaning, unsigned) if unsigned else meaning


def _check_cost(kernel: Microkernel) -> None:
    cost = kernel.cost
    if isinstance(cost, int | float) and not 0 <= cost < math.inf:
        raise InarchError(f"expected a cost of 0 or more cycles, found {cost}")


def check_dtypes(meaning: Meaning, dtypes: Mapping[str, str]) -> None:
    """No implicit conversions: the operands of a function, and a value and its target, have one dtype."""
    for statement in meaning.statements:
        found = dtype_of(statement.value, dtypes)
        wanted = dtypes[statement.target.operand]
        if found not in (None, wanted):
            raise InarchError(
                f"expected a value of {wanted} for {statement.target.operand}, found "
                f"{expression_text(statement.value)} of {found}; cast it: {wanted}(...)"
            )


def dtype_of(expression: Expression, dtypes: Mapping[str, str]) -> str | None:
    """The dtype of an expression; None where it is of numbers only, which take any."""
    match expression:
        case Number():
            return None
        case Element():
            return dtypes[expression.operand]
        case Apply(function=function) if function in DTYPES:
            dtype_of(expression.arguments[0], dtypes)
            return function
        case Apply():
            kinds = [dtype_of(part, dtypes) for part in expression.arguments]
            found = list(dict.fromkeys(kind for kind in kinds if kind is not None))
            if len(found) > 1:
                raise InarchError(
                    f"expected one dtype in {expression_text(expression)}, found "
                    f"{' and '.join(found)}; cast one: {found[-1]}(...)"
                )
            return found[0] if found else None


def functions_of(expression: Expression) -> tuple[str, ...]:
    """The functions and casts of an expression, each once."""
    return tuple(dict.fromkeys(applied(expression)))


def check_finish(
    kernel: Microkernel, meaning: Meaning, finish: Expression | None, extras: Mapping[str, str]
) -> None:
    """A finish is of the written element and of `extras` at parallel points, within the epilogue."""
    if finish is None:
        if extras:
            raise InarchError(f"expected a finish that reads {', '.join(extras)}, found none")
        return
    if rest := [name for name in functions_of(finish) if name not in kernel.epilogue]:
        allowed = ", ".join(kernel.epilogue) or "nothing"
        raise InarchError(f"expected an epilogue of {allowed}, found {rest[0]}")
    if taken := set(extras) & set(kernel.dtypes):
        raise InarchError(f"operand {min(taken)} is of the kernel already; expected another name")
    shape = normal(meaning)
    parallel = {iterator.name for iterator in shape.parallel} | {None}
    for element in elements(finish):
        inside = all(term.iterator in parallel for index in element.indices for term in index)
        if element != shape.target and not (element.operand in extras and inside):
            raise InarchError(
                f"expected a finish of {expression_text(shape.target)} and of extra operands at "
                f"parallel iterators, found {expression_text(element)}"
            )
    dtypes = {**kernel.dtypes, **extras}
    _check_known_dtypes(dtypes)
    wanted = kernel.dtypes[shape.target.operand]
    if (found := dtype_of(finish, dtypes)) not in (None, wanted):
        raise InarchError(
            f"expected a finish of {wanted}, found {expression_text(finish)} of {found}"
        )


def _check_names(kernel: Microkernel, meaning: Meaning) -> None:
    wanted = operands(meaning)
    if set(kernel.dtypes) != set(wanted):
        found = ", ".join(kernel.dtypes) or "none"
        raise InarchError(f"expected dtypes of operands {', '.join(wanted)}, found {found}")
    _check_known_dtypes(kernel.dtypes)
    derived = {
        f"{operand}_{axis}" for operand, rank in ranks(meaning).items() for axis in range(rank)
    }
    for name in (*wanted, *free_sizes(meaning)):
        if _C_WORDS.fullmatch(name):
            raise InarchError(f"expected names that C does not use, found {name}")
        if name in derived:
            raise InarchError(f"{name} is the name of a stride in C; expected another")


def _check_known_dtypes(dtypes: Mapping[str, str]) -> None:
    for operand, dtype in dtypes.items():
        if dtype not in DTYPES:
            raise InarchError(unknown("dtype", dtype, DTYPES, within=f"operand {operand}").message)
        if dtype == "i1":
            raise InarchError(f"expected numbers for operand {operand}, found {dtype}")


def _check_written(kernel: Microkernel, meaning: Meaning) -> None:
    """What is written may be what the next call reads and adds to: its dtype is that of all of it."""
    operand = written(meaning)
    if DTYPES[dtype := kernel.dtypes[operand]].is_unsigned:
        raise InarchError(
            f"expected a float or a signed integer for operand {operand}, which is written, found {dtype}"
        )


def _check_params(kernel: Microkernel, meaning: Meaning) -> None:
    free = free_sizes(meaning)
    count = 1
    for name, values in kernel.params.items():
        if name not in free:
            raise InarchError(
                f"expected parameters among {', '.join(free) or 'none'}, found {name}"
            )
        if not _is_sizes(values):
            raise InarchError(f"expected integers of 1 or more for {name}, found {values!r}")
        count *= len(values)
    if count > MOST_MEMBERS:
        raise InarchError(
            f"expected at most {MOST_MEMBERS} choices of params, found {count}; list fewer values"
        )
    for constraint in kernel.where:
        _check_formula("where", constraint, (*kernel.params, *MACHINE))


def _is_sizes(values: object) -> bool:
    """Whether a file's author gave a sequence of sizes, whatever the annotation says."""
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        return False
    if isinstance(values, range):  # which may be long
        return min(values[0], values[-1]) >= 1
    return all(type(item) is int and item >= 1 for item in cast("Sequence[object]", values))


def _check_demands(kernel: Microkernel, meaning: Meaning) -> None:
    found = ranks(meaning)
    for operand, strides in kernel.layout.items():
        if operand not in found:
            raise InarchError(f"layout: {unknown('operand', operand, found).message}")
        if len(strides) != found[operand]:
            raise InarchError(
                f"expected {found[operand]} strides of operand {operand} in layout, "
                f"found {len(strides)}"
            )
        for stride in strides:
            _check_stride(operand, stride, free_sizes(meaning))
    for operand, align in kernel.align.items():
        if operand not in found:
            raise InarchError(f"align: {unknown('operand', operand, found).message}")
        if align < 1 or align & (align - 1):
            raise InarchError(f"expected an alignment of a power of two, found {align}")
    for feature in kernel.needs:
        if feature not in (known := all_features()):
            raise InarchError(f"needs: {unknown('feature', feature, known).message}")


def _check_stride(operand: str, stride: int | str, known: Sequence[str]) -> None:
    if stride == "*":
        return
    text = str(stride).removeprefix(LEAST)
    if not text.strip() or re.search("[<>=!]", text):
        raise InarchError(
            f"expected a stride of operand {operand} in layout: a number, '*', an expression of "
            f"parameters and sizes, or '>=' and one, found '{stride}'"
        )
    _check_formula("layout", text.strip(), known)
    if not names(text.strip()) and (least := formula(text, {})) < 0:
        raise InarchError(
            f"expected strides of 0 or more of operand {operand} in layout, found "
            f"{number_text(least)}; what runs backwards is packed"
        )


def _check_formula(field: str, text: str, known: Sequence[str]) -> None:
    for name in names(text):
        if name not in known:
            raise InarchError(f"{field} '{text}': {unknown('name', name, known).message}")
    try:
        formula(text, dict.fromkeys(known, 1))
    except InarchError as error:
        if "divides by 0" not in error.message:  # which other values may not
            raise InarchError(f"{field} {error.message}") from error


def _check_variants(kernel: Microkernel, meaning: Meaning) -> None:
    if not kernel.inits or set(kernel.inits) - {"accumulate", "zero"}:
        raise InarchError(f"expected inits of 'accumulate' and 'zero', found {kernel.inits!r}")
    if "zero" in kernel.inits:
        shape = normal(meaning)
        if shape.operator != "add" or shape.init is not None or shape.finish is not None:
            raise InarchError("expected init 'zero' of a meaning that is one '+=' only")
    for function in kernel.epilogue:
        if function not in OF_MEANINGS and function not in DTYPES:
            raise InarchError(f"epilogue: {unknown('function', function, OF_MEANINGS).message}")
    if kernel.epilogue and kernel.generate is None:
        raise InarchError("expected an epilogue with generate only, which writes it")


def _check_code(kernel: Microkernel) -> None:
    given = [way for way in ("c", "asm", "generate") if getattr(kernel, way) is not None]
    if len(given) > 1:
        raise InarchError(f"expected one implementation, found {' and '.join(given)}")
    foreign = [way for way in ("call", "library") if getattr(kernel, way) is not None]
    if given and foreign:
        raise InarchError(f"expected {foreign[0]} without {given[0]}: for a library's symbol")
    if kernel.registered is not None:
        if given or foreign or kernel.symbol is not None:
            raise InarchError("expected registered without c, asm, generate, symbol or library")
        return
    if not given and kernel.symbol is None:
        raise InarchError("expected an implementation: c, asm, generate, symbol, or registered")
    if kernel.link not in ("reference", "embed"):
        raise InarchError(f"expected link 'reference' or 'embed', found '{kernel.link}'")
    if kernel.symbol is not None and not re.fullmatch(r"[A-Za-z_]\w*", kernel.symbol, re.ASCII):
        raise InarchError(f"expected a C name as symbol, found '{kernel.symbol}'")
