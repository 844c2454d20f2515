"""The check of one instance: its calls, in run A (guard pages) and run B (sanitizers)."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from inarch.core.dtypes import DTYPES
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.core.scratch import scratch
from inarch.machine.compilers import Compiler, find_compiler
from inarch.machine.libraries import (
    check_architecture,
    check_symbol,
    library_path,
    written_variables,
)
from inarch.machine.target import check_features
from inarch.machine.toolchain import CompilerError
from inarch.meaning import expression_text
from inarch.microkernel import Instance, function_name, is_foreign, prototype
from inarch.microkernel.code import instance_code, link_libraries
from inarch.verification.cases.cases import Case, cases
from inarch.verification.judge import Finding, judge
from inarch.verification.registered import registered_function, run_registered
from inarch.verification.run.build import (
    CALL,
    Tools,
    guarded_library,
    has_own_code,
    sanitized_library,
    tools,
)
from inarch.verification.run.script import Call, Side, perform
from inarch.verification.verdict import Fault, Run, Verdict

_OF_VALUES: tuple[Fault, ...] = ("wrong-value", "inaccurate", "unwritten")

_PAIRS = 4
"""So many pairs of calls are made at once, each for 30 ms."""

_UNDECLARED = r"implicit declaration of function|call to undeclared function"
"""What gcc and clang say of a call without a prototype."""


def verify(instance: Instance, *, quick: bool = False, compiler: Compiler | None = None) -> Verdict:
    """Whether the code of `instance` does what its meaning says.

    The code runs in child processes, so that nothing it does (a crash, `exit`, an endless loop)
    reaches this one. `quick`: fewer and smaller shapes. `compiler`: None is the machine's own.

    Raises EnvironmentFault when there is no C compiler; whatever is wrong with the kernel, or lacks for
    it on this machine, is in the verdict.
    """
    start = time.monotonic()
    verdict = _verify(instance, quick=quick, compiler=compiler or find_compiler())
    return replace(verdict, seconds=time.monotonic() - start)


def describe(instance: Instance) -> str:
    """The parameters and variants of an instance: `MR=4 NR=16, init zero, finish relu(C[m, n])`."""
    words = [" ".join(f"{name}={value}" for name, value in instance.params.items())]
    words += [f"init {instance.init}"] if instance.init != "accumulate" else []
    words += [f"finish {expression_text(instance.finish)}"] if instance.finish is not None else []
    words += [" ".join(f"{name}={value}" for name, value in instance.sizes.items())]
    return ", ".join(word for word in words if word)


def lacks(features: Sequence[str]) -> str:
    """The message for a kernel that needs `features`."""
    return (
        f"this CPU lacks {', '.join(features)}, so the kernel cannot be checked here; "
        "run the check on a machine that has them"
    )


def _verify(instance: Instance, *, quick: bool, compiler: Compiler) -> Verdict:
    plain = Verdict(instance.name, describe(instance), ok=False)
    if missing := check_features({*instance.target.features, *instance.kernel.needs}):
        return replace(plain, fault="lacks-feature", message=lacks(missing))
    library = _library(instance, plain)
    if isinstance(library, Verdict):
        return library
    try:
        made = cases(instance, quick=quick)
        function = registered_function(instance)
    except InarchError as error:
        return replace(plain, fault="bad-declaration", message=error.message)
    if function is not None:
        return _of_registered(plain, function, _calls(made))
    with scratch("inarch-verify-") as folder:
        kit = tools(compiler, folder)
        try:
            calls = _calls(made)
            pairs = [] if quick else _pairs(made)
            return _execute(plain, instance, calls, pairs, kit, compiler, library, folder)
        except CompilerError as error:
            return _refused(plain, instance, error)
        except EnvironmentFault:
            raise
        except InarchError as error:
            return replace(plain, fault="bad-declaration", message=error.message)


def _of_registered(
    plain: Verdict, function: Callable[..., object], calls: Sequence[Call]
) -> Verdict:
    found = run_registered(function, calls)
    if found is not None:
        return _verdict(plain, "in this process", found, calls)
    return replace(plain, ok=True, run="in this process", calls=len(calls))


def _library(instance: Instance, plain: Verdict) -> list[str] | Verdict:
    """What to link with, or why that is not possible."""
    kernel = instance.kernel
    if kernel.library is None:
        return []
    where = f"microkernel '{instance.name}'"
    fault: Fault = "missing-library"
    try:
        path = library_path(kernel.library)
        fault = "wrong-architecture"
        check_architecture(path, instance.target)
        fault = "missing-symbol"
        if not has_own_code(kernel) and (kernel.symbol is not None or kernel.call is None):
            check_symbol(path, function_name(kernel, instance.name), where=where)
        fault = "bad-declaration"
        link_libraries([instance_code(instance, None)], instance.target)  # as a compilation does
    except InarchError as error:
        return replace(plain, fault=fault, message=error.message)
    return [str(path)]


def _refused(plain: Verdict, instance: Instance, error: CompilerError) -> Verdict:
    """The compiler's first line, which counts the lines of the kernel's own text."""
    reason = error.reason.split("; source, command")[0]
    if missing := re.search(r"undefined (?:reference to|symbol:) [`'\"]?(\w+)", reason):
        searched = [*([instance.kernel.library] if instance.kernel.library else [])]
        searched += [*instance.kernel.libraries, "libm"]
        message = (
            f"no symbol '{missing[1]}' in {', '.join(searched)}; "
            "correct the name, or add its library to `library` or `libraries`"
        )
        return replace(plain, fault="missing-symbol", message=message)
    if reason.startswith(CALL):
        _, _, said = reason.partition("error: ")
        reason = f"{said}; expected {prototype(instance)}"
    elif re.search(_UNDECLARED, reason) and is_foreign(instance.kernel):
        reason += "; give its prototype, or an #include, as `declare`"
    return replace(plain, fault="does-not-compile", message=reason)


def _execute(
    plain: Verdict,
    instance: Instance,
    calls: Sequence[Call],
    pairs: Sequence[Call],
    kit: Tools,
    compiler: Compiler,
    libraries: Sequence[str],
    folder: Path,
) -> Verdict:
    """Both runs; the sanitizer's word is taken where it says more than that a value differs.

    `pairs` of calls are made at the same time, after the others, without sanitizers.
    """
    aligns = _aligns(instance)
    every = [*calls, *pairs]
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="inarch-verify") as pool:

        def guarded() -> Finding | None:
            out = folder / "guarded.so"
            guarded_library(instance, compiler, out, libraries)
            return _run(kit.guarded, out, every, aligns, folder)

        def sanitized() -> Finding | None:
            if kit.sanitized is None or not has_own_code(instance.kernel):
                return None
            out = folder / "sanitized.so"
            sanitized_library(instance, compiler, out, libraries)
            return _run(kit.sanitized, out, calls, aligns, folder)

        runs = pool.submit(guarded), pool.submit(sanitized)
        a, b = (run.result() for run in runs)
    if b is not None and (a is None or (a.fault in _OF_VALUES and b.fault not in _OF_VALUES)):
        return _verdict(plain, "sanitizer", b, calls)
    if a is not None:
        return _verdict(plain, "guard pages", a, every)
    if (
        pairs
        and has_own_code(instance.kernel)
        and (kept := written_variables(folder / "guarded.so"))
    ):
        return replace(plain, fault="shared-state", message=_kept_text(kept), calls=len(every))
    if kit.sanitized is None or not has_own_code(instance.kernel):
        return replace(plain, ok=True, run="guard pages", calls=len(every))
    return replace(plain, ok=True, calls=len(every) + len(calls))


def _kept_text(kept: Mapping[str, int]) -> str:
    """What is wrong with variables between calls, where no two threads have met in them."""
    plain = {re.sub(r"[.]\d+$", "", name): nbytes for name, nbytes in kept.items()}
    names = ", ".join(f"'{name}' ({nbytes} bytes)" for name, nbytes in plain.items())
    return (
        f"it keeps {names} between calls, where threads that call it at once meet: expected variables "
        "of the call, or _Thread_local ones"
    )


def _run(
    harness: Path, library: Path, calls: Sequence[Call], aligns: Sequence[int], folder: Path
) -> Finding | None:
    outcome = perform(harness, library, calls, aligns, folder)
    found = judge(calls, outcome)
    if found is not None and calls[found.call].side is Side.TOGETHER:
        message = f"called from two threads at once: {found.message}"
        return replace(found, fault="shared-state", message=message)
    if found is None or found.call == 0 or found.fault not in _OF_VALUES:
        return found
    # The same call by itself: where that is right, calls depend on each other.
    alone = [calls[found.call]]
    if judge(alone, perform(harness, library, alone, aligns, folder)) is None:
        message = f"gives another result than when it is the first call: {found.message}"
        return replace(found, fault="hidden-state", message=message)
    return found


def _verdict(plain: Verdict, run: Run, found: Finding, calls: Sequence[Call]) -> Verdict:
    case = calls[found.call].case
    message = found.message
    if case.overlapping and found.fault in _OF_VALUES:
        message += (
            f"; elements of {', '.join(case.overlapping)} share memory in this call, as those of "
            "windows do: a kernel that cannot take that demands the strides in `layout`, say '>= K' of "
            "rows of K elements"
        )
    return replace(
        plain,
        fault=found.fault,
        message=message,
        run=run,
        shape=case.shape(),
        operand=found.operand,
        element=found.element,
        byte=found.byte,
        expected=found.expected,
        found=found.found,
        calls=found.call + 1,
    )


def _calls(made: Sequence[Case]) -> list[Call]:
    """Each case on each side, the smallest first; then some of them again, in any order."""
    sides = [Side.RIGHT, Side.LEFT, Side.ODD]
    calls = [Call(case, sides[i % len(sides)]) for i, case in enumerate(made)]
    calls += [Call(case, sides[(i + 1) % len(sides)]) for i, case in enumerate(made)]
    shuffled = random.Random(0)
    return calls + shuffled.choices(calls, k=len(made))


def _pairs(made: Sequence[Case]) -> list[Call]:
    """Calls that are made two at a time: of other numbers, from the largest on to smaller ones."""
    finite = [case for case in made if case.kind in ("integers", "reals")]
    chosen = finite[:: -max(1, len(finite) // (2 * _PAIRS))][: 2 * _PAIRS]
    return [Call(case, Side.TOGETHER) for case in chosen[: len(chosen) // 2 * 2]]


def _aligns(instance: Instance) -> list[int]:
    """The alignment in bytes that each operand has at least."""
    dtypes = {**instance.kernel.dtypes, **instance.extras}
    return [instance.kernel.align.get(n, DTYPES[dtype].nbytes) for n, dtype in dtypes.items()]
