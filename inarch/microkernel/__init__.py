"""A microkernel as data: what it computes, where it may be used, and the code that does it.

MICROKERNEL = Microkernel(
    computes="for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"MR": range(1, 9), "NR": (8, 16)},
    layout={"A": ("*", 1), "B": ("NR", 1), "C": ("*", 1)},
    c=r'''void gemm(const float *A, ...) {...}''',
)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from inarch.core.errors import InarchError, unknown
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.meaning import (
    OPERATORS,
    Expression,
    Meaning,
    Number,
    Size,
    Statement,
    bind,
    expression_text,
    normal,
    ranks,
    substitute,
)
from inarch.microkernel._check import LEAST, check, check_finish, dtype_of, functions_of
from inarch.microkernel._data import (
    AtLeast,
    Demand,
    Init,
    Instance,
    KnownDemand,
    Link,
    Microkernel,
)
from inarch.microkernel._source import (
    call_holes,
    filled_call,
    function_name,
    instance_source,
    prototype,
    wrapper_source,
)
from inarch.microkernel.formula import formula, names

__all__ = [
    "AtLeast",
    "Demand",
    "Init",
    "Instance",
    "KnownDemand",
    "Link",
    "Microkernel",
    "call_holes",
    "check",
    "demands",
    "dtype_of",
    "filled_call",
    "function_name",
    "functions_of",
    "instance_source",
    "instantiate",
    "is_foreign",
    "known_demand",
    "members",
    "prototype",
    "wrapper_source",
]


def instantiate(
    kernel: Microkernel,
    name: str,
    params: Mapping[str, int],
    *,
    target: Target,
    init: Init = "accumulate",
    finish: Expression | None = None,
    extras: Mapping[str, str] | None = None,
    sizes: Mapping[str, int] | None = None,
    machine: Machine | None = None,
) -> Instance:
    """The member with `params`, for `target` (on `machine`; without one, on the target's own).

    Raises InarchError where there is none.

    `finish` is of the written operand's element as the meaning indexes it (`C[m, n]`) and of `extras`
    (operand -> dtype), indexed by the parallel iterators. `sizes` are known values of free sizes, which a
    generator may use; they stay arguments.
    """
    meaning = check(kernel, name)
    try:
        _check_params(kernel, params)
        _check_target(kernel, params, target)
        if init not in kernel.inits:
            raise InarchError(f"expected init {' or '.join(kernel.inits)}, found {init}")
        check_finish(kernel, meaning, finish, extras or {})
    except InarchError as error:
        raise type(error)(error.message, where=f"microkernel '{name}'") from error
    return Instance(
        kernel,
        name,
        dict(params),
        dict(sizes or {}),
        init,
        finish,
        dict(extras or {}),
        target,
        _written_out(bind(meaning, params), init, finish),
        _symbol(kernel, name, params, init, finish, extras or {}),
        machine or target.machine,
    )


def members(kernel: Microkernel, target: Target) -> list[dict[str, int]]:
    """The parameters of every member that runs on `target`, the last parameter fastest."""
    key = ("members", target, None)
    if key not in kernel.derived:
        kernel.derived[key] = _members(kernel, target)
    return list(kernel.derived[key])


def _members(kernel: Microkernel, target: Target) -> list[dict[str, int]]:
    if set(kernel.needs) - target.features:
        return []
    machine = _machine(target)
    found: list[dict[str, int]] = [{}]
    for parameter, values in kernel.params.items():
        found = [{**one, parameter: value} for one in found for value in values]
        # What a constraint refuses already need not be multiplied with the parameters to come.
        known = {*machine, *(found[0] if found else ())}
        decided = [w for w in kernel.where if known.issuperset(names(w)) and parameter in names(w)]
        found = [one for one in found if all(formula(w, {**one, **machine}) for w in decided)]
    return [one for one in found if all(formula(w, {**one, **machine}) for w in kernel.where)]


def demands(instance: Instance) -> dict[str, tuple[Demand, ...]]:
    """Operand -> what it relies on of each of its strides, in elements."""
    kernel = instance.kernel
    found = ranks(instance.meaning)
    return {
        operand: tuple(
            _stride(stride, instance) for stride in kernel.layout.get(operand, ("*",) * rank)
        )
        for operand, rank in ((name, found[name]) for name in (*kernel.dtypes, *instance.extras))
    }


def known_demand(demand: Demand, sizes: Mapping[str, int]) -> KnownDemand:
    """The demand with the values of the free sizes in it. Raises InarchError for one without a value."""
    if isinstance(demand, AtLeast):
        return AtLeast(_value(demand.least, sizes))
    return None if demand is None else _value(demand, sizes)


def _value(size: Size, sizes: Mapping[str, int]) -> int:
    return formula(size, sizes) if isinstance(size, str) else size


def _machine(target: Target) -> dict[str, int]:
    return {"VECTOR_BYTES": target.vector_bytes, "VECTOR_REGISTERS": target.vector_registers}


def _check_params(kernel: Microkernel, params: Mapping[str, int]) -> None:
    for name in params:
        if name not in kernel.params:
            raise InarchError(unknown("parameter", name, kernel.params).message)
    for name, values in kernel.params.items():
        if params.get(name) not in values:
            found = params.get(name, "none")
            raise InarchError(f"expected {name} in {_shown(values)}, found {found}")


def _check_target(kernel: Microkernel, params: Mapping[str, int], target: Target) -> None:
    if missing := sorted(set(kernel.needs) - target.features):
        raise InarchError(f"expected a target with {', '.join(missing)}, found '{target}'")
    machine = _machine(target)
    for constraint in kernel.where:
        if not formula(constraint, {**params, **machine}):
            used = {
                key: value
                for key, value in {**params, **machine}.items()
                if key in names(constraint)
            }
            chosen = ", ".join(f"{key} = {value}" for key, value in used.items())
            raise InarchError(f"expected {constraint}, found {chosen}")


def _shown(values: Sequence[int]) -> str:
    if isinstance(values, range) and values.step == 1:
        return f"{values.start}..{values.stop - 1}"
    return ", ".join(map(str, values))


def _written_out(meaning: Meaning, init: Init, finish: Expression | None) -> Meaning:
    """The meaning with init and finish as statements; reductions then belong to the accumulation."""
    if init == "accumulate" and finish is None:
        return meaning
    shape = normal(meaning)
    names = {iterator.name for iterator in shape.parallel}
    parallel = tuple(iterator for iterator in meaning.iterators if iterator.name in names)
    last = finish
    if shape.finish is not None and finish is not None:
        last = substitute(finish, shape.target, shape.finish)
    elif finish is None:
        last = shape.finish
    first = Number(0.0) if init == "zero" else shape.init
    operator = next(sign for sign, name in OPERATORS.items() if name == shape.operator)
    statements = [Statement(shape.reductions, shape.target, operator, shape.update)]
    if first is not None:
        statements.insert(0, Statement((), shape.target, "=", first))
    if last is not None:
        statements.append(Statement((), shape.target, "=", last))
    return Meaning(parallel, tuple(statements))


def _symbol(
    kernel: Microkernel,
    name: str,
    params: Mapping[str, int],
    init: Init,
    finish: Expression | None,
    extras: Mapping[str, str],
) -> str:
    parts = [re.sub(r"\W", "_", name), *(f"{key}{params[key]}" for key in kernel.params)]
    parts += ["zero"] if init == "zero" else []
    if finish is not None:
        said = f"{expression_text(finish)} {list(extras.items())}"
        parts.append(hashlib.sha256(said.encode()).hexdigest()[:8])
    symbol = "_".join(parts)
    # A library's function of this name is called by ours.
    return f"{symbol}_call" if symbol == kernel.symbol and is_foreign(kernel) else symbol


def is_foreign(kernel: Microkernel) -> bool:
    """Whether the function is a library's, and not written by the kernel."""
    return kernel.c is None and kernel.asm is None and kernel.generate is None


def _stride(stride: Size, instance: Instance) -> Demand:
    if stride == "*":
        return None
    if isinstance(stride, str) and stride.startswith(LEAST):
        return AtLeast(_of_sizes(stride.removeprefix(LEAST).strip(), instance.params))
    return _of_sizes(stride, instance.params)


def _of_sizes(stride: Size, params: Mapping[str, int]) -> Size:
    """The stride with the values of parameters in it: a number, or a formula of free sizes."""
    if isinstance(stride, int):
        return stride
    if all(name in params for name in names(stride)):
        return formula(stride, params)
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda word: str(params.get(word[0], word[0])), stride)
