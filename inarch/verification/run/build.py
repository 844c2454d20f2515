"""What a check runs: the harness, and the kernel's own code as a shared library for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from inarch.core.cache import default_cache, key_of
from inarch.core.errors import EnvironmentFault
from inarch.core.scratch import scratch
from inarch.machine.compilers import Compiler, run_compiler
from inarch.machine.flags import CONTRACTING
from inarch.machine.toolchain import compile_library
from inarch.meaning import free_sizes, ranks
from inarch.microkernel import Instance, Microkernel, instance_source
from inarch.microkernel.gaps import instance_reads_gaps, without_loop_vectors
from inarch.microkernel.usable import line_directive
from inarch.verification.subject import Subject, program

ENTRY = "inarch_verified"
"""The symbol that the harness calls: `void (void *const *pointers, const int64_t *numbers)`."""

CALL = "the call of it"
"""The file of `entry_source` in the compiler's messages."""

SANITIZER = "-fsanitize=address,undefined"
_SANITIZER_FLAGS = (
    "-O1",
    "-g1",
    SANITIZER,
    "-fno-sanitize-recover=all",
    # Locals begin as bytes 0xFE: about -1.7e38 as f32, so that the use of one shows.
    "-ftrivial-auto-var-init=pattern",
)
_SANITIZER_LINK = (SANITIZER, "-Wl,-z,undefs")
"""clang puts the run-time into executables only; libraries find it there."""
_SECONDS = 120.0
_SOURCES = ("harness.c", "leak.h", "together.h")
"""The program, and what it includes."""
_TIMER = ("timing.c",)


@dataclass(frozen=True)
class Tools:
    """The compiled harness: of run A, and of run B where the compiler can sanitize."""

    guarded: Path
    sanitized: Path | None


def tools(compiler: Compiler, folder: Path) -> Tools:
    """The harnesses as files in `folder`, compiled once for each compiler."""
    guarded = _needed(compiler, _SOURCES, folder / "guarded")
    flags = ("-O1", "-g1", "-fsanitize=address", "-rdynamic")
    path = folder / "sanitized"
    sanitized = _program(compiler, _SOURCES, flags, path) if compiler.kind != "zig" else None
    return Tools(guarded, sanitized)


def timer(compiler: Compiler, folder: Path) -> Path:
    """The program that says what a call takes (`timing.c`), in `folder`, compiled once for each compiler."""
    return _needed(compiler, _TIMER, folder / "timing")


def _needed(compiler: Compiler, sources: tuple[str, ...], path: Path) -> Path:
    found = _program(compiler, sources, ("-O1",), path)
    if found is None:
        command = " ".join(compiler.command)
        raise EnvironmentFault(
            f"the compiler '{command}' cannot build the program that calls kernels; "
            "put another one in $CC"
        )
    return found


def _program(
    compiler: Compiler, sources: tuple[str, ...], flags: Sequence[str], path: Path
) -> Path | None:
    """The program of `sources` compiled with `flags`, at `path`; None where the compiler cannot."""
    texts = tuple(Path(__file__).with_name(name).read_text() for name in sources)
    content = _program_bytes(compiler, tuple(flags), sources, texts)
    if content is None:
        return None
    path.write_bytes(content)
    path.chmod(0o700)
    return path


@cache
def _program_bytes(
    compiler: Compiler, flags: tuple[str, ...], sources: tuple[str, ...], texts: tuple[str, ...]
) -> bytes | None:
    kept = default_cache()
    own = (*compiler.command, compiler.version, compiler.program)
    key = key_of("harness", *own, *flags, *texts)
    content = kept.get(key)
    if content is not None:
        return content
    with scratch("inarch-harness-") as made:
        for name, text in zip(sources, texts, strict=True):
            Path(made, name).write_text(text)
        command = [*compiler.command, *flags, sources[0], "-o", "harness", "-ldl", "-pthread"]
        status, _ = run_compiler(command, made, _SECONDS)
        if status != 0:
            return None
        content = Path(made, "harness").read_bytes()
    kept.put(key, content)
    return content


def entry_source(instance: Instance) -> str:
    """C that unpacks the harness's arguments for the instance's function."""
    dtypes = {**instance.kernel.dtypes, **instance.extras}
    rank = ranks(instance.meaning)
    count = sum(rank[name] for name in dtypes) + len(free_sizes(instance.meaning))
    arguments = [f"pointers[{i}]" for i in range(len(dtypes))]
    arguments += [f"numbers[{i}]" for i in range(count)]
    return (
        "#include <stdint.h>\n"
        f'__attribute__((visibility("default"))) void {ENTRY}'
        "(void *const *pointers, const int64_t *numbers) {\n"
        f"    {instance.symbol}({', '.join(arguments)});\n"
        "}\n"
    )


def library_source(instance: Instance) -> str:
    """The kernel's translation unit. Messages of the compiler are about the kernel's file, or its text."""
    own = instance_source(instance)
    line = line_directive(instance) or f'#line 1 "{instance.name}.c"\n'
    text = f"{line}{own}\n"
    if has_own_code(instance.kernel) and instance_reads_gaps(instance):
        text = without_loop_vectors(text)
    return f'#include <stdint.h>\n{text}#line 1 "{CALL}"\n{entry_source(instance)}'


def guarded_library(
    instance: Instance, compiler: Compiler, out: Path, libraries: Sequence[str] = ()
) -> None:
    """The kernel as models get it: with the flags of the target, optimised."""
    _compile(instance, compiler, out, (), libraries)


def timed_library(
    subject: Subject, compiler: Compiler, out: Path, libraries: Sequence[str]
) -> None:
    """The kernel as models get it, with a loop that calls it."""
    _compile(subject.instance, compiler, out, (), libraries, program([subject], 0))


def has_own_code(kernel: Microkernel) -> bool:
    """Whether there is C that can be compiled with sanitizers; a library's code is as it is."""
    return kernel.c is not None or kernel.asm is not None or kernel.generate is not None


def sanitized_library(
    instance: Instance, compiler: Compiler, out: Path, libraries: Sequence[str] = ()
) -> None:
    """The kernel with checks of every access to memory, and of what C leaves undefined."""
    _compile(instance, compiler, out, _SANITIZER_FLAGS, [*libraries, *_SANITIZER_LINK])


def _compile(
    instance: Instance,
    compiler: Compiler,
    out: Path,
    flags: Sequence[str],
    libraries: Sequence[str],
    source: str | None = None,
) -> None:
    kernel = instance.kernel
    own = [*(f"-I{Path(path).absolute()}" for path in kernel.include_dirs), *kernel.cflags]
    own += [CONTRACTING] if kernel.contract else []
    compile_library(
        {f"{instance.name}.c": source or library_source(instance)},
        out,
        target=instance.target,
        compiler=compiler,
        flags=[*own, *flags],
        libraries=[*kernel.libraries, *libraries],
        jobs=1,
    )
