"""The C of a member: its prototype, and the function from a template, a generator, assembly or a library."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError, UnsupportedError, unknown
from inarch.meaning import accesses, free_sizes, ranks
from inarch.microkernel._data import Instance, Microkernel

_PREPROCESSOR = re.compile(
    r"^\s*#\s*(include|define|undef|if|ifdef|ifndef|elif|else|endif)\b", re.MULTILINE
)


def prototype(instance: Instance) -> str:
    """`void gemm_MR4(const float *A, ..., int64_t A_0, ..., int64_t K)`, without a semicolon.

    Pointers in the order of `dtypes`, then of extra operands; their strides in elements, operand by
    operand, outermost first; the sizes that are free in the meaning, in the order first named.
    """
    declared = ", ".join(f"{kind}{name}" for kind, name in _parameters(instance))
    return f"void {instance.symbol}({declared})"


def instance_source(instance: Instance) -> str:
    """C that defines `instance.symbol` with its prototype. <stdint.h> is included before it.

    In `c` and `asm`, parameters are replaced by their numbers, `ZERO_INIT` by 1 or 0, and the
    function's name by the instance's, also where it begins a longer name: so helpers called
    `gemm_...` of several members stand side by side. Raises InarchError where there is no such function.
    """
    kernel = instance.kernel
    if kernel.generate is not None:
        return _generated(kernel.generate, instance)
    if kernel.c is not None:
        return _filled(kernel.c, "c", instance)
    if kernel.asm is not None:
        return _assembly(kernel.asm, instance)
    if kernel.registered is not None:
        message = f"is registered as '{kernel.registered}': it has no C of its own"
        raise UnsupportedError(message, where=f"microkernel '{instance.name}'")
    own = prototype(instance)
    names = [name for _, name in _parameters(instance)]
    call = None if kernel.call is None else filled_call(instance)
    symbol = function_name(kernel, instance.name)
    return wrapper_source(own, names, symbol, call=call, declare=kernel.declare)


def function_name(kernel: Microkernel, name: str) -> str:
    """What the function is called in `c`, `asm` or the library."""
    return kernel.symbol or name.replace("-", "_")


def filled_call(instance: Instance) -> str:
    """`call` with numbers for parameters; `{A}`, `{A.strides[0]}` and `{K}` are left for the C names.

    Raises InarchError for a hole that names nothing.
    """
    numbers = _numbers(instance)
    holes = {f"{{{name}}}": value for name, value in numbers.items()}
    text = instance.kernel.call or ""
    for hole in re.findall(r"\{[^{}]*\}", text):
        if hole in holes:
            text = text.replace(hole, holes[hole])
    known = call_holes(ranks(instance.meaning), free_sizes(instance.meaning))
    for hole in re.findall(r"\{([^{}]*)\}", text):
        if hole not in known:
            message = unknown("argument", hole, [*known, *numbers]).message
            raise InarchError(message, where=f"microkernel '{instance.name}': call")
    return text


def call_holes(operand_ranks: Mapping[str, int], sizes: Sequence[str]) -> dict[str, str]:
    """What may stand in the braces of `call` -> what the C function's parameter is called."""
    holes = {name: name for name in (*operand_ranks, *sizes)}
    for operand, rank in operand_ranks.items():
        holes |= {f"{operand}.strides[{axis}]": f"{operand}_{axis}" for axis in range(rank)}
    return holes


def wrapper_source(
    own: str, names: Sequence[str], symbol: str, *, call: str | None, declare: str | None
) -> str:
    """A C function of the prototype `own`, whose parameters are `names`, that calls a library's `symbol`.

    Without `call`, the library's function has our prototype.
    """
    if call is None:
        declare = declare or f"{_renamed(own, symbol)};"
        statement = f"{symbol}({', '.join(names)})"
    else:
        # A_0 is the stride that a call knows as A.strides[0].
        holes = re.sub(r"(\w+)\.strides\[(\d+)\]", r"\1_\2", call)
        statement = re.sub(r"\{(\w+)\}", r"\1", holes).rstrip().rstrip(";")
    head = f"{declare.rstrip()}\n" if declare else ""
    unused = "".join(
        f"    (void){name};\n" for name in names if not re.search(rf"\b{name}\b", statement)
    )
    return f"{head}{own} {{\n{unused}    {statement};\n}}\n"


def _parameters(instance: Instance) -> list[tuple[str, str]]:
    """`(C type, name)` of each parameter; a pointer's type ends with `*`."""
    meaning = instance.meaning
    access, rank = accesses(meaning), ranks(meaning)
    dtypes = {**instance.kernel.dtypes, **instance.extras}
    found = [
        (f"{'const ' * (access[name] == 'read')}{DTYPES[dtype].c} *", name)
        for name, dtype in dtypes.items()
    ]
    found += [("int64_t ", f"{name}_{axis}") for name in dtypes for axis in range(rank[name])]
    return found + [("int64_t ", size) for size in free_sizes(meaning)]


def _numbers(instance: Instance) -> dict[str, str]:
    numbers = {key: str(value) for key, value in instance.params.items()}
    return {**numbers, "ZERO_INIT": str(int(instance.init == "zero"))}


def _filled(source: str, field: str, instance: Instance) -> str:
    name = function_name(instance.kernel, instance.name)
    if not re.search(rf"\b{name}\b", source):
        raise InarchError(
            f"expected the function {name} in {field}; give its name as symbol",
            where=f"microkernel '{instance.name}'",
        )
    numbers = _numbers(instance)
    replaced = re.sub(r"\b[A-Za-z_]\w*\b", lambda word: numbers.get(word[0], word[0]), source)
    return re.sub(rf"\b{name}(?=_|\b)", instance.symbol, replaced)


def _generated(generate: Callable[[Instance], object], instance: Instance) -> str:
    where = f"microkernel '{instance.name}'"
    try:
        source = generate(instance)
    except (InarchError, KeyboardInterrupt):
        raise
    except (Exception, SystemExit) as error:  # a kernel's author writes anything
        reason = f"generate fails: {type(error).__name__}: {error}"
        raise InarchError(reason, where=where) from error
    if not isinstance(source, str) or not re.search(rf"\b{instance.symbol}\b", source):
        reason = f"expected generate to return C that defines {instance.symbol}"
        raise InarchError(reason, where=where)
    return source


def _assembly(source: str, instance: Instance) -> str:
    """Assembly within C, so that a translation unit with it is complete.

    Its symbol and labels are local to the unit and carry the instance's name. A C function of that
    name calls it; the assembler's name is given, so that C++ finds it too.
    """
    if match := _PREPROCESSOR.search(source):
        raise InarchError(
            f"asm is not preprocessed: expected .macro, .set or .if, found '{match[0].strip()}'",
            where=f"microkernel '{instance.name}'",
        )
    text = re.sub(r"/\*.*?\*/", " ", source, flags=re.DOTALL)
    text = _filled(re.sub(r"//.*", "", text), "asm", instance)
    name = f"{instance.symbol}_asm"
    text = re.sub(rf"\b{instance.symbol}\b", name, text)
    # Two units may hold the same member.
    text = re.sub(rf"^\s*\.(globl|global|hidden|weak)\s+{name}\s*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"(?<![\w.])\.L(\w+)", rf".L{name}_\1", text)
    restore = [".att_syntax prefix"] if ".intel_syntax" in text else []
    lines = [".pushsection .text", *text.splitlines(), *restore, ".popsection"]
    quoted = "\n".join(f"    {_c_string(line)}" for line in lines if line.strip())
    own = prototype(instance)
    inner = _renamed(own, name)
    declare = f'{inner} __asm__("{name}") __attribute__((visibility("hidden")));'
    wrapper = wrapper_source(
        own, [p for _, p in _parameters(instance)], name, call=None, declare=declare
    )
    return f"__asm__(\n{quoted}\n);\n{wrapper}"


def _renamed(declared: str, name: str) -> str:
    """A prototype with another function's name."""
    return re.sub(r"^void \w+", f"void {name}", declared)


def _c_string(line: str) -> str:
    escaped = line.rstrip().replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'"{escaped}\\n"'
