"""The Makefile, the CMakeLists.txt and the README.md of an exported program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from inarch.backends.entries import Entry
from inarch.core.errors import UnsupportedError
from inarch.core.pieces import filled as filled_of
from inarch.machine.target import Target

filled = partial(filled_of, "inarch.backends.c.export")
"""A file of this folder, or a piece of it, filled in."""


@dataclass(frozen=True)
class Building:
    """How the sources of a program are compiled."""

    prefix: str
    target: Target
    sources: Mapping[str, Sequence[str]]
    """File -> the flags that it needs, besides how much to optimize."""
    common: Sequence[str]
    """Flags that all C sources but main.c need."""
    headers: Sequence[str]
    functions: Sequence[Entry]
    libraries: Sequence[str]
    """`-lm`, paths of libraries and objects."""
    data: str | None = None
    """The file that weights.S includes."""

    @property
    def files(self) -> dict[str, str]:
        """The files by name."""
        flags = {flag for own in self.sources.values() for flag in own}
        for word in (*self.common, *flags, *self.libraries):
            if any(character.isspace() or character in "$#;\"'\\" for character in word):
                raise UnsupportedError(
                    f"'{self.prefix}' cannot be exported: expected flags and paths without blanks and "
                    f"quotes, which a Makefile can have, found '{word}'"
                )
        return {
            "Makefile": self._makefile(),
            "CMakeLists.txt": self._cmake(),
            "README.md": self._readme(),
        }

    def _readme(self) -> str:
        rows = [
            f"    {entry.name:<12}  {what} {port.name}: {port.type}, {port.nbytes} bytes\n"
            for entry in self.functions
            for what, ports in (("reads ", entry.inputs), ("writes", entry.outputs))
            for port in ports
        ]
        return _filled(
            "README.md",
            prefix=self.prefix,
            target=str(self.target),
            words=" ".join(program_words(self.functions)),
            ports="".join(rows),
        )

    def _makefile(self) -> str:
        return _filled(
            "Makefile",
            prefix=self.prefix,
            target=str(self.target),
            compiler=_compiler(self.target),
            flags=" ".join(self.common),
            libraries=" ".join(self.libraries),
            objects=" ".join(f"build/{name}.o" for name in self.sources),
            headers=" ".join(self.headers),
            rules="".join(self._rule(name, own) for name, own in self.sources.items()),
        )

    def _rule(self, name: str, own: Sequence[str]) -> str:
        needs = [name, *self.headers, "Makefile"]
        flags = ["$(CFLAGS)", "$(MODEL_FLAGS)", *own, "-c", "$<", "-o", "$@"]
        if name.endswith(".S"):
            needs = [name, *([self.data] if self.data else []), "Makefile"]
            flags = ["-I.", "-c", "$<", "-o", "$@"]
        return (
            f"\nbuild/{name}.o: {' '.join(needs)}\n\t@mkdir -p build\n\t$(CC) {' '.join(flags)}\n"
        )

    def _cmake(self) -> str:
        properties = ""
        for name, own in self.sources.items():
            if name.endswith(".S"):
                depends = f'"${{CMAKE_CURRENT_SOURCE_DIR}}/{self.data}"'
                properties += (
                    f"set_source_files_properties({name} PROPERTIES OBJECT_DEPENDS {depends})\n"
                )
            elif flags := (*self.common, *own):
                listed = ";".join(flags)
                properties += (
                    f'set_source_files_properties({name} PROPERTIES COMPILE_OPTIONS "{listed}")\n'
                )
        return _filled(
            "CMakeLists.txt",
            prefix=self.prefix,
            assembler=" ASM" if any(name.endswith(".S") for name in self.sources) else "",
            sources=" ".join(self.sources),
            libraries=" ".join(_of_cmake(name) for name in self.libraries),
            properties=properties,
        )


def program_words(functions: Sequence[Entry]) -> list[str]:
    """What the program is given."""
    return [*(["FUNCTION"] if len(functions) > 1 else []), "INPUT...", "OUTPUT..."]


def _compiler(target: Target) -> str:
    """What is taken where nobody says a compiler: of another machine, a cross compiler and its archiver."""
    names = [name for name in target.cross_compilers() if name.endswith("-gcc")]
    if not names:
        return ""
    archiver = f"{names[0].removesuffix('gcc')}ar"
    return (
        f"ifeq ($(origin CC),default)\nCC = {names[0]}\nendif\n"
        f"ifeq ($(origin AR),default)\nAR = {archiver}\nendif\n"
    )


def _of_cmake(library: str) -> str:
    """A file of this folder is not one of the folder that cmake builds in."""
    is_beside = not library.startswith("-") and "/" not in library
    return f'"${{CMAKE_CURRENT_SOURCE_DIR}}/{library}"' if is_beside else library


def _filled(name: str, **values: str) -> str:
    return filled(f"{name}.tmpl", **values)
