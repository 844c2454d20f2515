"""Quick checks that were made once are kept, by what the kernel's code is made of."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from inarch.artifact.mapping import Identity
from inarch.core.cache import Cache, default_cache, key_of
from inarch.core.errors import InarchError
from inarch.core.outside.value import Value
from inarch.core.scratch import scratch
from inarch.machine.compilers import Compiler, find_compiler
from inarch.machine.libraries import library_path
from inarch.machine.target import this_processor
from inarch.meaning import text
from inarch.microkernel import Instance, demands
from inarch.verification.check import verify
from inarch.verification.run.build import guarded_library
from inarch.verification.verdict import ENVIRONMENT, Verdict

_FORMAT = "4"
"""Part of every key: changes when checks find more."""
_NOT_KEPT = ENVIRONMENT | {"timeout"}
"""What may be another time, or on another day, different."""


def quick_check(
    instance: Instance, *, compiler: Compiler | None = None, cache: Cache | None = None
) -> Verdict:
    """`verify(instance, quick=True)`, from the cache where the same code was checked before.

    The same: the compiled code (so: source, included files, compiler and flags), the library's bytes,
    the meaning, the demands, target and CPU. A verdict from the cache has `calls` 0.
    """
    chosen = compiler or find_compiler()
    kept = cache or default_cache()
    key = _key(instance, chosen)
    if key is None:
        return verify(instance, quick=True, compiler=chosen)
    content = kept.get(key)
    if content is not None:
        return replace(Value(json.loads(content)).read(Verdict), calls=0, seconds=0.0)
    verdict = verify(instance, quick=True, compiler=chosen)
    if verdict.fault not in _NOT_KEPT:
        kept.put(key, json.dumps(asdict(verdict)).encode())
    return verdict


def _key(instance: Instance, compiler: Compiler) -> str | None:
    """None where there is no code to speak of: the check then says why."""
    library = instance.kernel.library
    try:
        path = None if library is None else library_path(library)
        with scratch("inarch-key-") as made:
            out = made / "code.so"
            guarded_library(instance, compiler, out, [] if path is None else [str(path)])
            code = out.read_bytes()
    except InarchError:
        return None
    aligns = sorted(instance.kernel.align.items())
    return key_of(
        "quick check",
        _FORMAT,
        code,
        "" if path is None else _digest(path, Identity.of(path.stat())),
        text(instance.meaning),
        repr((demands(instance), aligns, sorted(instance.sizes.items()))),
        repr((instance.kernel.dtypes, instance.extras)),
        *compiler.command,
        compiler.version,
        compiler.program,
        str(instance.target),
        *sorted(this_processor().features),
    )


@cache
def _digest(path: Path, identity: Identity) -> str:
    """Of a library's bytes; a large one is read once, as long as it is the same file."""
    del identity
    return sha256(path.read_bytes()).hexdigest()
