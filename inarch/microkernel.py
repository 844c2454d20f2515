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
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from inarch._formula import formula, names
from inarch.dtypes import DTYPES
from inarch.errors import InarchError, UnsupportedError, unknown
from inarch.meaning import (
    OPERATORS,
    Apply,
    Expression,
    Meaning,
    Number,
    Size,
    Statement,
    accesses,
    bind,
    element_text,
    elements,
    expression_text,
    free_sizes,
    normal,
    operands,
    parse,
    ranks,
    substitute,
)
from inarch.target import Target

Link = Literal["reference", "embed"]
Init = Literal["accumulate", "zero"]


@dataclass(frozen=True)
class Microkernel:
    """A family of kernels of one meaning, one member for each choice of `params`.

    Pure data: passes look kernels up by name and never import them.
    """

    computes: str
    """The meaning; `inarch.meaning` has the grammar."""
    dtypes: Mapping[str, str]
    """Operand -> dtype, in the order of the C function's pointers."""
    params: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Name -> the values that there is code for. Other names in sizes are given at the call."""
    where: Sequence[str] = ()
    """Constraints on parameters, as Python expressions of them, `VECTOR_BYTES` and `VECTOR_REGISTERS`."""
    layout: Mapping[str, Sequence[Size]] = field(default_factory=dict[str, Sequence[Size]])
    """Operand -> the strides in elements that the code relies on, by dimension: a number, an
    expression of parameters and sizes, or `"*"` for any. No entry means any. A call whose operand
    has others packs a copy (at compile time, of weights)."""
    align: Mapping[str, int] = field(default_factory=dict[str, int])
    """Operand -> alignment in bytes of every pointer; without an entry that of the element."""
    needs: Sequence[str] = ()
    """CPU features, by GCC's names."""
    c: str | None = None
    """C source of the function; parameters stand in it by name (whole words are replaced), and so
    does the function's name."""
    asm: str | None = None
    """The same as assembly (GNU as, preprocessed)."""
    generate: Callable[[Instance], str] | None = None
    """The same as Python: the C source for an instance."""
    symbol: str | None = None
    """The name of the function in `c`, `asm` or `library`; without one, the kernel's name."""
    call: str | None = None
    """C statement that calls `symbol` where its prototype is not ours. `{A}` is the pointer of an
    operand, `{A.strides[0]}` a stride of it, `{K}` a size or a parameter."""
    declare: str | None = None
    """C that declares `symbol` for `call`: an #include or a prototype."""
    library: str | None = None
    """The shared library (a path, or `python:package/relative/path*`), or a static one or object to embed."""
    link: Link = "reference"
    """`reference`: found at load time, a new build is picked up. `embed`: becomes part of the artifact."""
    include_dirs: Sequence[str] = ()
    libraries: Sequence[str] = ()
    cflags: Sequence[str] = ()
    epilogue: Sequence[str] = ()
    """Functions of `inarch.meaning` that `generate` accepts in `Instance.finish`; none: no epilogue."""
    inits: Sequence[Init] = ("accumulate",)
    """Variants of how an accumulating kernel begins: on what C holds, or on zero."""
    cost: Callable[[Instance], float] | float | None = None
    """Cycles of one call. None: unknown; such a kernel is preferred to ours wherever it matches,
    because somebody who adds a kernel wants it used."""
    doc: str = ""
    api: int = 1


@dataclass(frozen=True)
class Instance:
    """One member of a family: parameters, variants and target chosen."""

    kernel: Microkernel
    name: str
    """The kernel's name (its file's, with dashes)."""
    params: Mapping[str, int]
    sizes: Mapping[str, int]
    """Sizes known at compile time of the iterators that the call gives, where all calls agree."""
    init: Init
    finish: Expression | None
    """Of the accumulator (as the element `C[...]` of the written operand) and of `extras`."""
    extras: Mapping[str, str]
    """Operands that only `finish` reads (`E0`, `E1` ...) -> dtype; they follow the kernel's own pointers."""
    target: Target
    meaning: Meaning
    """Parameters bound, init and finish written out: what the C function computes, and is checked by."""
    symbol: str
    """The name of the C function."""


def check(kernel: Microkernel, name: str) -> Meaning:
    """The parsed meaning of a family that is sound as data. Raises InarchError with what is wrong."""
    where = f"microkernel '{name}'"
    meaning = parse(kernel.computes, f"{where}: computes")
    found = ranks(meaning)
    if set(kernel.dtypes) != set(found):
        raise InarchError(
            f"expected dtypes of {', '.join(operands(meaning))}, "
            f"found {', '.join(kernel.dtypes) or 'none'}",
            where=where,
        )
    for operand, dtype in kernel.dtypes.items():
        if dtype not in DTYPES:
            message = unknown("dtype", dtype, DTYPES, within=f"operand {operand}").message
            raise InarchError(message, where=where)
    for parameter in kernel.params:
        if parameter not in free_sizes(meaning):
            raise InarchError(
                f"expected parameters that the meaning names, found {parameter}", where=where
            )
    for operand, strides in kernel.layout.items():
        if len(strides) != found.get(operand, -1):
            raise InarchError(
                f"expected a layout for operands, one stride a dimension, found {operand}: "
                f"{tuple(strides)}",
                where=where,
            )
    ways = [kernel.c, kernel.asm, kernel.generate, kernel.symbol if kernel.library else None]
    if not any(way is not None for way in (*ways, kernel.call)):
        raise InarchError("expected c, asm, generate, or symbol and library", where=where)
    if "zero" in kernel.inits:
        shape = normal(meaning)
        if shape.operator != "add" or shape.init is not None:
            raise InarchError("init 'zero' is of kernels that add to what C holds", where=where)
    return meaning


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
) -> Instance:
    """The member with `params`, for `target`. Raises InarchError where there is none.

    `finish` is of the written operand's element as the meaning indexes it (`C[m, n]`) and of `extras`
    (operand -> dtype), indexed by the parallel iterators.
    """
    where = f"microkernel '{name}'"
    meaning = check(kernel, name)
    for parameter in params:
        if parameter not in kernel.params:
            raise InarchError(unknown("parameter", parameter, kernel.params).message, where=where)
    for parameter, values in kernel.params.items():
        if params.get(parameter) not in values:
            raise InarchError(
                f"expected {parameter} in {_shown(values)}, found {params.get(parameter, 'none')}",
                where=where,
            )
    for constraint in kernel.where:
        if not formula(constraint, {**params, **_machine(target)}):
            chosen = ", ".join(f"{key} = {value}" for key, value in params.items())
            raise InarchError(f"expected {constraint}, found {chosen}", where=where)
    if missing := sorted(set(kernel.needs) - target.features):
        raise InarchError(f"needs {', '.join(missing)}; target '{target}' has not", where=where)
    if init not in kernel.inits and not (init == "accumulate" and finish is None):
        raise InarchError(f"expected init {' or '.join(kernel.inits)}, found {init}", where=where)
    _check_finish(kernel, meaning, finish, extras or {}, where)
    bound = _written_out(bind(meaning, params), init, finish)
    return Instance(
        kernel,
        name,
        dict(params),
        dict(sizes or {}),
        init,
        finish,
        dict(extras or {}),
        target,
        bound,
        _symbol(kernel, name, params, init, finish, extras or {}),
    )


def members(kernel: Microkernel, target: Target) -> list[dict[str, int]]:
    """The parameters of every member that runs on `target`, the last parameter fastest."""
    if set(kernel.needs) - target.features:
        return []
    machine = _machine(target)
    choices = itertools.product(*kernel.params.values())
    found = [dict(zip(kernel.params, choice, strict=True)) for choice in choices]
    return [one for one in found if all(formula(w, {**one, **machine}) for w in kernel.where)]


def demands(instance: Instance) -> dict[str, tuple[int | str | None, ...]]:
    """Operand -> its strides in elements: a number, a formula of free sizes, or None for any."""
    kernel = instance.kernel
    found = ranks(instance.meaning)
    return {
        operand: tuple(
            _stride(stride, instance) for stride in kernel.layout.get(operand, ("*",) * rank)
        )
        for operand, rank in ((name, found[name]) for name in (*kernel.dtypes, *instance.extras))
    }


def prototype(instance: Instance) -> str:
    """The C prototype: pointers, then strides and then free sizes as int64_t; without `;`."""
    meaning = instance.meaning
    access, rank = accesses(meaning), ranks(meaning)
    dtypes = {**instance.kernel.dtypes, **instance.extras}
    parameters = [
        f"{'const ' if access[name] == 'read' else ''}{DTYPES[dtype].c} *{name}"
        for name, dtype in dtypes.items()
    ]
    parameters += [f"int64_t {name}_{axis}" for name in dtypes for axis in range(rank[name])]
    parameters += [f"int64_t {size}" for size in free_sizes(meaning)]
    return f"void {instance.symbol}({', '.join(parameters)})"


def instance_source(instance: Instance) -> str:
    """C that defines the function `instance.symbol` with its prototype.

    From `c`: parameters are replaced by their numbers, and the function's name, also where it begins a
    longer name, by the instance's: so helpers called `gemm_...` of several members stand side by side.
    """
    kernel = instance.kernel
    where = f"microkernel '{instance.name}'"
    if kernel.generate is not None:
        return _generated(kernel.generate, instance, where)
    if kernel.c is not None:
        return _filled(kernel.c, instance, where)
    if kernel.call is None and kernel.symbol is None:
        raise UnsupportedError("expected c, generate, or symbol", where=where)
    return _wrapper(instance)


def function_name(kernel: Microkernel, name: str) -> str:
    """What the function is called in `c`, `asm` or the library."""
    return kernel.symbol or name.replace("-", "_")


def _machine(target: Target) -> dict[str, int]:
    return {"VECTOR_BYTES": target.vector_bytes, "VECTOR_REGISTERS": target.vector_registers}


def _shown(values: Sequence[int]) -> str:
    if isinstance(values, range) and values.step == 1:
        return f"{values.start}..{values.stop - 1}"
    return ", ".join(map(str, values))


def _check_finish(
    kernel: Microkernel,
    meaning: Meaning,
    finish: Expression | None,
    extras: Mapping[str, str],
    where: str,
) -> None:
    if finish is None:
        if extras:
            raise InarchError(f"operand {next(iter(extras))} is of no finish", where=where)
        return
    used = functions(finish)
    if rest := [name for name in used if name not in kernel.epilogue]:
        raise InarchError(
            f"expected an epilogue of {', '.join(kernel.epilogue) or 'nothing'}, found {rest[0]}",
            where=where,
        )
    target = normal(meaning).target
    known = {index[0].iterator for index in target.indices}
    for element in elements(finish):
        own = element == target or (
            element.operand in extras
            and all(term.iterator in known | {None} for i in element.indices for term in i)
        )
        if not own:
            raise InarchError(
                f"expected a finish of {element_text(target)} and extras, "
                f"found {element_text(element)}",
                where=where,
            )


def functions(expression: Expression) -> tuple[str, ...]:
    """The functions and casts of an expression, each once."""
    if not isinstance(expression, Apply):
        return ()
    inner = [name for part in expression.arguments for name in functions(part)]
    return tuple(dict.fromkeys([expression.function, *inner]))


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
    parts = [re.sub(r"\W", "_", name), *dict.fromkeys(kernel.dtypes.values())]
    parts += [f"{key}{params[key]}" for key in kernel.params]
    parts += ["zero"] if init == "zero" else []
    if finish is not None:
        said = f"{expression_text(finish)} {sorted(extras.items())}"
        parts.append(hashlib.sha256(said.encode()).hexdigest()[:8])
    return "_".join(parts)


def _stride(stride: Size, instance: Instance) -> int | str | None:
    if stride == "*":
        return None
    if isinstance(stride, int):
        return stride
    if all(name in instance.params for name in names(stride)):
        return formula(stride, instance.params)
    return _replaced(stride, {key: str(value) for key, value in instance.params.items()})


def _replaced(source: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda match: values.get(match[0], match[0]), source)


def _filled(source: str, instance: Instance, where: str) -> str:
    name = function_name(instance.kernel, instance.name)
    if not re.search(rf"\b{name}\b", source):
        raise InarchError(f"expected the function {name} in c", where=where)
    numbers = {key: str(value) for key, value in instance.params.items()}
    return re.sub(rf"\b{name}(?=_|\b)", instance.symbol, _replaced(source, numbers))


def _generated(generate: Callable[[Instance], object], instance: Instance, where: str) -> str:
    try:
        source = generate(instance)
    except (InarchError, KeyboardInterrupt):
        raise
    except Exception as error:  # a kernel's author writes anything
        reason = f"generate fails: {type(error).__name__}: {error}"
        raise InarchError(reason, where=where) from error
    if not isinstance(source, str) or not re.search(rf"\b{instance.symbol}\b", source):
        reason = f"expected generate to return C that defines {instance.symbol}"
        raise InarchError(reason, where=where)
    return source


def _wrapper(instance: Instance) -> str:
    """A function with our prototype that calls the library's."""
    kernel = instance.kernel
    name = function_name(kernel, instance.name)
    own = prototype(instance)
    if kernel.call is None:
        declared = kernel.declare or f"{own.replace(instance.symbol, name, 1)};"
        arguments = ", ".join(re.findall(r"(\w+)(?=[,)])", own))
        return f"{declared}\n{own} {{\n    {name}({arguments});\n}}\n"
    values = {key: str(value) for key, value in instance.params.items()}

    def filled(match: re.Match[str]) -> str:
        word = match[1]
        if stride := re.fullmatch(r"(\w+)\.strides\[(\d+)\]", word):
            return f"{stride[1]}_{stride[2]}"
        return values.get(word, word)

    known = set(re.findall(r"(\w+)(?=[,)])", own)) | set(values)
    body = re.sub(r"\{([^{}]*)\}", filled, kernel.call)
    for match in re.finditer(r"\{([^{}]*)\}", kernel.call):
        if filled(match) not in known and match[1] not in values:
            raise InarchError(
                unknown("argument", match[1], known).message,
                where=f"microkernel '{instance.name}': call",
            )
    return f"{kernel.declare or ''}\n{own} {{\n    {body.rstrip().rstrip(';')};\n}}\n"
