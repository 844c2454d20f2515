"""Modules of C source: compiled when they are loaded, and kept in the cache by content.

    module = load_module("part.c", "c")     # what `inarch compile --emit=ccompiler -o part.c` writes
    result = module["ccompiler_0"](x)

A comment says what the functions take: `inarch.artifact.description`. What `inarch compile --emit=c` writes
is a whole program; weights that are not in its text are in FILE.bin beside it.
"""

from __future__ import annotations

from pathlib import Path

from inarch.artifact.description import description_of_c
from inarch.core.errors import InarchError
from inarch.core.scratch import scratch
from inarch.machine.target import parse
from inarch.machine.toolchain import CompilerError, compile_library
from inarch.runtime.c import INCLUDE
from inarch.runtime.loaders import Loader
from inarch.runtime.loaders.described import opened
from inarch.runtime.module import Module


def create(text: str, name: str) -> Module:
    """The module of C source; `name` starts the locations of messages, and is the file that it is of.

    Raises InarchError for text without a comment of its functions, or that does not compile, and
    EnvironmentFault when there is no compiler.
    """
    said = description_of_c(text, name)
    target = parse(str(said.data.get("target", "native")))
    unit = f"{Path(name).stem or 'module'}.c"
    with scratch("inarch-c-") as folder:
        library = folder / "module.so"
        flags = (f"-I{INCLUDE}", "-fvisibility=default")  # functions are found by their names
        try:
            compile_library({unit: text}, library, target=target, flags=flags)
        except CompilerError as error:
            raise InarchError(
                f"does not compile: {error.reason}; source, command and output are in {error.folder}",
                where=name,
            ) from error
        return opened(
            LOADER.type_key, name, library, said, sources={"c": lambda: text}, content=text.encode()
        )


LOADER = Loader("c", create=create)
"""What C backends and the host emit, and files written by hand."""
