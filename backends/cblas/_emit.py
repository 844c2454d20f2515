"""The C of the functions that were given to OpenBLAS: one `cblas_?gemm` (or `gemv`) each product and batch.

Tensors arrive dense and row-major. What lies between two products of one function is in one block of
memory for each call, so that calls at the same time do not meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from inarch.backends.cblas._calls import call, prototypes
from inarch.backends.cblas._gemm import Gemm, gemm_of
from inarch.backends.cblas.library import PACKAGE, library
from inarch.core.errors import UnsupportedError
from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.ir.location import location_text
from inarch.offload.backend import Emission, EmitRequest

_ALIGNMENT = 64

_HEAD = """\
/* Matrix products by OpenBLAS (the package scipy-openblas32: names scipy_cblas_*, sizes of 32 bits). */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inarch.h"
"""

_DATA = """
static void *data_of(const DLTensor *tensor)
{
    return (char *)tensor->data + tensor->byte_offset;
}
"""


def emit(request: EmitRequest) -> Emission:
    """C for all functions. Raises EnvironmentFault when OpenBLAS is not installed."""
    path = library()
    return Emission(
        format="c",
        symbols=request.names(),
        text=emit_text(request.functions),
        libraries=(path,),
        package=PACKAGE,
    )


def emit_text(functions: Sequence[FuncOp]) -> str:
    """The C source of `functions`; needs no library.

    Raises UnsupportedError, located, for an op that no pattern of this backend describes.
    """
    plans = [_plan(function) for function in functions]
    gemms = [gemm for plan in plans for gemm in plan.gemms]
    return (
        _HEAD
        + prototypes(gemms)
        + _DATA
        + "".join("\n" + "\n".join(_function(plan)) + "\n" for plan in plans)
    )


@dataclass(frozen=True)
class _Plan:
    """A function: what it computes in order, and where each value is."""

    function: FuncOp
    gemms: tuple[Gemm, ...]
    results: tuple[SSAValue, ...]
    names: dict[SSAValue, str]
    offsets: dict[SSAValue, int]
    """Of the values that are in the scratch block, in bytes."""
    scratch: int
    """Bytes of the block."""


def _plan(function: FuncOp) -> _Plan:
    block = function.body.block
    gemms: list[Gemm] = []
    results: tuple[SSAValue, ...] = ()
    for op in block.ops:
        if isinstance(op, ReturnOp):
            results = tuple(op.operands)
        else:
            gemms.append(_gemm(op))
    names: dict[SSAValue, str] = {value: f"in{index}" for index, value in enumerate(block.args)}
    for index, value in enumerate(results):
        names.setdefault(value, f"out{index}")
    offsets: dict[SSAValue, int] = {}
    scratch = 0
    for gemm in gemms:
        if gemm.out not in names:
            names[gemm.out] = f"t{len(offsets)}"
            offsets[gemm.out] = scratch
            size = math.prod(shape_of(gemm.out)) * gemm.dtype.nbytes
            scratch += -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT
    return _Plan(function, tuple(gemms), results, names, offsets, scratch)


def _gemm(op: Operation) -> Gemm:
    if not isinstance(op, CompositeRegionOp):
        if len(op.results) != 1:
            raise UnsupportedError(
                f"backend 'cblas' expected products with one result, found '{op.name}'",
                where=location_text(op),
            )
        return gemm_of([op], op.results[0], lambda value: value)
    block: Block = op.body.block
    outside: dict[SSAValue, SSAValue] = dict(zip(block.args, op.inputs, strict=True))
    *ops, _ = block.ops
    return gemm_of(ops, op.outs[0], lambda value: outside[value])


def _function(plan: _Plan) -> Iterator[str]:
    """The lines of one function."""
    block, names = plan.function.body.block, plan.names
    arguments: list[SSAValue] = list(block.args)
    count = len(block.args) + len(plan.results)
    yield f"int32_t {plan.function.sym_name.data}(void *self, DLTensor *args, int32_t n)"
    yield "{"
    yield "    (void)self;"
    yield f"    if (n != {count}) {{"
    yield "        return 1;"
    yield "    }"
    used = {*plan.results, *(v for gemm in plan.gemms for v in _inputs(gemm))}
    for index, value in enumerate(arguments):
        if value in used:
            yield _pointer(value, names[value], f"data_of(&args[{index}])", constant=True)
    for index, value in enumerate(plan.results):
        if names[value] == f"out{index}":
            place = f"data_of(&args[{len(block.args) + index}])"
            yield _pointer(value, names[value], place, constant=False)
    if plan.scratch:
        yield f"    char *scratch = aligned_alloc({_ALIGNMENT}, {plan.scratch});"
        yield "    if (!scratch) {"
        yield "        return 2;"
        yield "    }"
    for value, offset in plan.offsets.items():
        place = f"(void *)(scratch + {offset})"
        yield _pointer(value, names[value], place, constant=False)
    for gemm in plan.gemms:
        yield ""
        yield from _product(gemm, names)
    if plan.scratch:
        yield "    free(scratch);"
    yield from _copies(plan)
    yield "    return 0;"
    yield "}"


def _pointer(value: SSAValue, name: str, place: str, *, constant: bool) -> str:
    dtype = tensor_dtype(value)
    shape = ", ".join(map(str, shape_of(value)))
    note = f" /* [{shape}] */"
    return f"    {'const ' if constant else ''}{dtype.c} *{name} = {place};{note}"


def _copies(plan: _Plan) -> Iterator[str]:
    """Results that are arguments of the function, or other results as well."""
    first = len(plan.function.args)
    for index, value in enumerate(plan.results):
        if plan.names[value] != f"out{index}":
            size = math.prod(shape_of(value)) * tensor_dtype(value).nbytes
            yield f"    memcpy(data_of(&args[{first + index}]), {plan.names[value]}, {size});"


def _inputs(gemm: Gemm) -> list[SSAValue]:
    return [gemm.a, gemm.b, *(addend.value for addend in gemm.addends)]


def _product(gemm: Gemm, names: dict[SSAValue, str]) -> Iterator[str]:
    """The loops over the batch, C's start, the product, and relu."""
    yield f"    /* {_comment(gemm)} */"
    pad = "    "
    for depth, loop in enumerate(gemm.loops):
        index = f"i{depth}"
        yield f"{pad}for (int64_t {index} = 0; {index} < {loop.size}; {index}++) {{"
        pad += "    "
    values = [gemm.a, gemm.b, gemm.out, *(addend.value for addend in gemm.addends)]
    where = [_place(gemm, names[value], position) for position, value in enumerate(values)]
    c = names[gemm.out]
    if gemm.loops and (gemm.addends or gemm.relu):
        yield f"{pad}{gemm.dtype.c} *c = {where[2]};"
        c = where[2] = "c"
    if gemm.addends:
        terms = [
            _element(name, a.row, a.column) for name, a in zip(where[3:], gemm.addends, strict=True)
        ]
        yield from _matrix_loops(gemm, f"{c}[i * {gemm.n} + j] = {' + '.join(terms)};", pad)
    yield from call(gemm, where, pad)
    if gemm.relu:
        yield from _relu(gemm, c, pad)
    for _ in gemm.loops:
        pad = pad[4:]
        yield f"{pad}}}"


def _comment(gemm: Gemm) -> str:
    """Where the product came from; nothing in it can end a comment."""
    count = math.prod(loop.size for loop in gemm.loops)
    times = f", {count} times" if count != 1 else ""
    origin = gemm.origin.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ")
    return f"{origin}: [{gemm.m}, {gemm.k}] by [{gemm.k}, {gemm.n}]{times}"


def _place(gemm: Gemm, name: str, position: int) -> str:
    """Where tensor `position` of the loops' steps is in this iteration."""
    steps = [
        f"i{depth} * {loop.steps[position]}" if loop.steps[position] != 1 else f"i{depth}"
        for depth, loop in enumerate(gemm.loops)
        if loop.steps[position]
    ]
    return " + ".join([name, *steps])


def _element(place: str, row: int, column: int) -> str:
    """Element (i, j) of what starts at `place`."""
    base = f"({place})" if " " in place else place
    terms = [
        name if stride == 1 else f"{name} * {stride}"
        for name, stride in (("i", row), ("j", column))
        if stride
    ]
    return f"{base}[{' + '.join(terms) or '0'}]"


def _matrix_loops(gemm: Gemm, statement: str, pad: str) -> Iterator[str]:
    yield f"{pad}for (int64_t i = 0; i < {gemm.m}; i++) {{"
    yield f"{pad}    for (int64_t j = 0; j < {gemm.n}; j++) {{"
    yield f"{pad}        {statement}"
    yield f"{pad}    }}"
    yield f"{pad}}}"


def _relu(gemm: Gemm, c: str, pad: str) -> Iterator[str]:
    """A NaN stays: it is not less than 0."""
    zero = "0.0f" if gemm.dtype.name == "f32" else "0.0"
    yield f"{pad}for (int64_t i = 0; i < {gemm.m * gemm.n}; i++) {{"
    yield f"{pad}    {c}[i] = {c}[i] < {zero} ? {zero} : {c}[i];"
    yield f"{pad}}}"
