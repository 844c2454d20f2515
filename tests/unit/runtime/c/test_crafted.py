"""What libinarch says of files, libraries and loaders that nobody compiled."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inarch.artifact.status import Status
from tests.unit.runtime.c.crafted import (
    EMPTY,
    F32,
    FLAGS,
    I32,
    MAIN,
    NO_WEIGHTS,
    PART,
    TWICE,
    Function,
    Index,
    Part,
    Variant,
    Weight,
    X,
    of_variant,
    sealed,
)

UNCHECKED, VERIFY = 1, 2
FAR = 1 << 47
"""More than fits in memory, and than any file has."""
AGAIN = "compile the model again"
Write = Callable[..., Path]


def main(*inputs: Any, **more: Any) -> Index:
    """`main` as the library does not have it."""
    return replace(Index(), functions=(replace(MAIN, inputs=inputs or MAIN.inputs, **more),))


def head(form: int, abi: int) -> Index:
    return replace(Index(), head=b"INARCHIX" + struct.pack("<II", form, abi))


def shipping(part: Part) -> Index:
    return of_variant(replace(PART, parts=(part,)))


def unread(expected: str) -> str:
    return f"index.bin: expected {expected}; {AGAIN}"


def weights(nbytes: int, offset: int, of: str = "weights", alignment: int = 4096) -> str:
    return f"expected {nbytes} bytes of {of} at a multiple of {alignment} in the file, found them at {offset}"


IDENTIFIER = unread("a C identifier, found another text")
SHORTER = "bytes, found a file that is shorter"
NO_LIBRARY = "expected a shared library at its start, found none"
OTHER_FUNCTION = "expected the function 'main' in the library, found one of other arguments"
OTHER_LIBRARY = "expected a library '{}' of ABI version 3, found another; " + AGAIN
LARGE = unread("a workspace that fits in memory, found a larger one")
LONG = "a format of a name that takes so many bytes that only some of them are told of all that there are"
UNFILLED = "is not filled; give a function of that name in the options' imports"
FILES: dict[str, tuple[Index, Status, str]] = {
    "no prefix": (replace(Index(), prefix=""), Status.FILE, IDENTIFIER),
    "a long prefix": (replace(Index(), prefix="g" * 501), Status.FILE, IDENTIFIER),
    "a number as prefix": (replace(Index(), prefix="4d"), Status.FILE, IDENTIFIER),
    "a prefix of other letters": (replace(Index(), prefix="\xe4"), Status.FILE, IDENTIFIER),
    "more bytes": (replace(Index(), rest=b"1"), Status.FILE, unread("the end, found more bytes")),
    "another format": (
        head(4, 3),
        Status.FILE,
        "expected artifact format 3 of ABI version 3, found format 4 of ABI version 3; " + AGAIN,
    ),
    "another ABI": (
        head(3, 4),
        Status.FILE,
        "expected artifact format 3 of ABI version 3, found format 3 of ABI version 4; " + AGAIN,
    ),
    "rank 33": (
        main(("x", F32, (1,) * 33)),
        Status.FILE,
        unread("at most 32 dimensions, found more"),
    ),
    "a size behind one of 0": (
        main(("x", F32, (0, FAR))),
        Status.FILE,
        unread("an array that fits in memory, found a larger one"),
    ),
    "a workspace": (main(workspace=FAR), Status.FILE, LARGE),
    "a workspace of a variant": (of_variant(Variant(workspaces=(FAR,))), Status.FILE, LARGE),
    "no workspace": (
        of_variant(Variant(workspaces=())),
        Status.FILE,
        unread("a workspace for each function, found another number of them"),
    ),
    "nothing shipped with a part": (
        of_variant(PART, shipped=()),
        Status.FILE,
        unread("what is shipped with each part, found another number of them"),
    ),
    "an option": (
        shipping(Part(options=("a", "1", "b"))),
        Status.FILE,
        unread("a value for each option, found one without"),
    ),
    "a library outside": (
        of_variant(Variant(library=(FAR, 64, ""))),
        Status.FILE,
        f"expected a library of 64 {SHORTER}",
    ),
    "weights outside": (
        of_variant(Variant(weights=(FAR, 0, NO_WEIGHTS))),
        Status.FILE,
        weights(0, FAR),
    ),
    "a part outside": (
        shipping(Part(offset=FAR, nbytes=9)),
        Status.FILE,
        f"expected a part of 9 {SHORTER}",
    ),
    "a large part": (
        shipping(Part(nbytes=FAR)),
        Status.FILE,
        f"expected a part of {FAR} {SHORTER}",
    ),
    "weights of a part at 1": (
        shipping(Part(weights=[Weight(offset=1)])),
        Status.FILE,
        weights(0, 1, "'w'", 64),
    ),
    "weights of a part outside": (
        shipping(Part(weights=[Weight(offset=FAR)])),
        Status.FILE,
        weights(0, FAR, "'w'", 64),
    ),
    "large weights of a part": (
        shipping(Part(weights=[Weight(nbytes=FAR)])),
        Status.FILE,
        weights(FAR, 0, "'w'", 64),
    ),
    "no loader": (
        of_variant(Variant(loaders=())),
        Status.FILE,
        "index.bin: expected at least one loader, found none",
    ),
    "a short library": (of_variant(Variant(library=(0, 63, ""))), Status.FILE, NO_LIBRARY),
    "a library of text": (of_variant(Variant(library=(8, 64, ""))), Status.FILE, NO_LIBRARY),
    "fewer inputs": (main(X, FLAGS), Status.FILE, OTHER_FUNCTION),
    "fewer outputs": (main(outputs=MAIN.outputs[:2]), Status.FILE, OTHER_FUNCTION),
    "another workspace": (main(workspace=128), Status.FILE, OTHER_FUNCTION),
    "another dtype": (main(("x", I32, (2, 3)), FLAGS, EMPTY), Status.FILE, OTHER_FUNCTION),
    "another rank": (main(("x", F32, (2,)), FLAGS, EMPTY), Status.FILE, OTHER_FUNCTION),
    "another size": (main(("x", F32, (2, 4)), FLAGS, EMPTY), Status.FILE, OTHER_FUNCTION),
    **{
        prefix: (replace(Index(), prefix=prefix), Status.FILE, OTHER_LIBRARY.format(prefix))
        for prefix in ("nameless", "versioned", "poolless", "older", "mixed")
    },
    "other weights": (
        of_variant(Variant(weights=(0, 0, "0" * 64))),
        Status.FILE,
        f"expected weights of SHA-256 {NO_WEIGHTS[:16]}..., with which the library was compiled, "
        f"found {'0' * 16}...; {AGAIN}",
    ),
    "a CPU that lacks it": (
        replace(Index(), prefix="lacking"),
        Status.CPU_LACKS,
        "this CPU has no wings; compile the model for a --target that this CPU is",
    ),
    "a state that does not begin": (
        replace(Index(), prefix="unbound"),
        Status.UNBOUND,
        "expected to bind the library, found: unbound: no device",
    ),
    "a name with control characters": (
        of_variant(Variant(imports=("a\nb\x7f",))),
        Status.UNBOUND,
        f"import 'a b ' {UNFILLED}",
    ),
    "a function of a part that is not there": (
        of_variant(replace(PART, imports=("thrice",))),
        Status.UNBOUND,
        f"import 'thrice' {UNFILLED}",
    ),
    "a part that is nowhere": (
        of_variant(replace(PART, parts=())),
        Status.FILE,
        f"expected where its parts are, found nothing of it; {AGAIN}",
    ),
    "two formats, of which nobody reads one": (
        of_variant(replace(PART, loaders=(*PART.loaders, "odd"), parts=(Part(), Part()))),
        Status.UNSUPPORTED,
        "expected a loader in C of the format 'odd', found no 'inarch-loader-odd.so' beside the artifact or "
        "in INARCH_LIBRARY_PATH, and none that is given; run it from Python, or compile the model without "
        "that backend",
    ),
}
"""With the loader of crafted.c."""


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_refused(runtime: Any, write: Write, crafted: Path, case: str) -> None:
    index, status, message = FILES[case]
    path = write(index)
    assert runtime.open(path, loaders=[crafted])[0] == status
    assert runtime.message() == f"{path}: error: {message}"


SHAPES = ("dtype", "rank", "shape", "inputs", "outputs")
FIELDS = (
    *("name", "formats", "load", "list", "bind", "execute", "destroy", "last_error"),
    *("function_size", "port_size"),
)
ONE_WEIGHT = replace(PART, parts=(Part(weights=[Weight()]),))
HEADER = "build it with the header of this Inarch"
MADE = replace(PART, parts=(Part(version="7", machine="bird"),))
LOADERS: dict[str, tuple[Variant, Status, str]] = {
    **dict.fromkeys(
        FIELDS,
        (
            PART,
            Status.UNSUPPORTED,
            ": error: loader 'LOADER': expected all fields of version 1 of inarch_loader.h, found one "
            f"missing; {HEADER}",
        ),
    ),
    "table": (
        PART,
        Status.UNSUPPORTED,
        f": error: loader 'LOADER': expected version 1 of inarch_loader.h, found version 0; {HEADER}",
    ),
    "nothing": (
        PART,
        Status.UNSUPPORTED,
        ": error: loader 'LOADER': expected one that reads 'raw', found one of nothing",
    ),
    "others": (
        PART,
        Status.UNSUPPORTED,
        ": error: loader 'LOADER': expected one that reads 'raw', found one of "
        + ", ".join([f"'{LONG}'"] * 4)[:299],
    ),
    **dict.fromkeys(
        ("silent", "wordless"),
        (PART, Status.FILE, "[1]: error: loader 'raw' does not load it: it does not say why"),
    ),
    "check": (
        PART,
        Status.UNSUPPORTED,
        "[1]: error: loader 'raw' does not run what version 'unknown' made for 'any': no driver",
    ),
    "check ": (
        MADE,
        Status.UNSUPPORTED,
        "[1]: error: loader 'raw' does not run what version '7' made for 'bird': no driver",
    ),
    **dict.fromkeys(
        ("weightless", "short"),
        (
            ONE_WEIGHT,
            Status.UNSUPPORTED,
            "[1]: error: loader 'raw' takes no weights (it has no 'bind_weights'), found 1",
        ),
    ),
    **dict.fromkeys(
        SHAPES,
        (
            PART,
            Status.FILE,
            "[1]: error: expected 'twice' to take and give what the program gives it, found other "
            f"arguments; {AGAIN}",
        ),
    ),
}
"""By what LOADER_FAULT says."""


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("fault", LOADERS)
def test_a_loader_that_is_refused(
    runtime: Any, write: Write, crafted: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Given, and found by its name."""
    variant, status, message = LOADERS[fault]
    path = write(of_variant(variant))
    monkeypatch.setenv("LOADER_FAULT", fault.strip())
    monkeypatch.setenv("INARCH_LIBRARY_PATH", str(crafted.parent))
    for given in ([crafted], []):
        assert runtime.open(path, loaders=given)[0] == status
        assert runtime.message() == f"{path}{message.replace('LOADER', str(crafted))}"


@pytest.mark.parametrize("fault", ["", "short", "unchecked", "weightless"])
def test_what_a_loader_may_leave_out(
    runtime: Any, write: Write, crafted: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setenv("LOADER_FAULT", fault)
    # A function whose arguments the file does not tell is not compared.
    scalar = Function("number", (("a", F32, ()),), (("b", F32, ()),))
    called = (scalar, TWICE) if fault else (replace(TWICE, name="other"),)
    variant = replace(PART, imports=("twice", "number"), called=called)
    status, module = runtime.open(write(of_variant(variant)), VERIFY, None, [crafted])
    assert (status, runtime.message() if status else "") == (0, "")
    runtime.close(module)


def test_a_program_that_can_do_without(
    runtime: Any, write: Write, capfd: pytest.CaptureFixture[str]
) -> None:
    """Parts whose loader is missing cost a warning, whether they are listed or not."""
    for variant in (PART, replace(PART, parts=())):
        path = write(of_variant(variant, prefix="whole"))
        runtime.close(runtime.opened(path))
        said = capfd.readouterr().err
        assert said.startswith(
            f"warning: {path}: error: expected a loader in C of the format 'raw', "
        )
        assert said.endswith("; the host runs its parts\n")
    runtime.close(runtime.opened(write(replace(Index(), prefix="whole"))))
    assert capfd.readouterr().err == ""


def tail(
    place: bytes, count: bytes, *, kind: bytes = b"inarch index", space: bytes = b" "
) -> bytes:
    return kind + b" " + place + space + count + b" format 0003 crc32 00000000"


ZEROS = b"0" * 16
KIND = "expected an Inarch artifact, found a file of another kind"
TAILS: list[tuple[bytes, str]] = [
    (tail(ZEROS, b"00000010", kind=b"inarch-index"), KIND),
    (tail(ZEROS[1:] + b"g", b"00000010"), KIND),
    (tail(ZEROS[1:] + b"A", b"00000010"), KIND),
    (tail(ZEROS, b"00000010", space=b"_"), KIND),
    (tail(ZEROS, b"0000001x"), KIND),
    (tail(ZEROS, b"00000010").replace(b"format ", b"format_"), KIND),
    (tail(ZEROS, b"00000010").replace(b" crc32", b"_crc32"), KIND),
    (tail(ZEROS, b"00000010").replace(b"0003", b"00x3"), KIND),
    (
        tail(b"f" * 16, b"00000010"),
        f"expected an index of 16 bytes at {2**64 - 1}, found none; {AGAIN}",
    ),
    (tail(ZEROS, b"f" * 8), f"expected an index of {2**32 - 1} bytes at 0, found none; {AGAIN}"),
    (tail(ZEROS, b"0000000f"), f"expected an index of 15 bytes at 0, found none; {AGAIN}"),
]


def test_ends_of_files(runtime: Any, tmp_path: Path) -> None:
    """Each that is not quite the end of an artifact; the checksum of all holds, where there is one."""
    path = tmp_path / "m.inarch"
    body = b"INARCHIX" * 16
    no_checksum = body + tail(ZEROS, b"00000010")[:-1] + b"G"
    whole = [(sealed(body + data), message) for data, message in TAILS]
    for data, message in (*whole, (no_checksum, KIND), (b"abc", KIND)):
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        assert runtime.open(path)[0] == Status.FILE
        assert runtime.message() == f"{path}: error: {message}"


def test_targets_that_are_asked_for(
    runtime: Any, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as fit are listed; the requested one is among them."""
    names = [letter * 800 for letter in "abc"]
    path = write(
        replace(Index(), prefix="lacking", variants=[Variant(target=name) for name in names])
    )
    known = "; ".join(f"{name} needs wings" for name in names)[:1499]
    assert runtime.open(path)[0] == Status.CPU_LACKS
    assert runtime.message() == (
        f"{path}: error: expected code for this CPU, found code for others ({known}); compile the model for "
        "a --target that this CPU is"
    )
    monkeypatch.setenv("INARCH_TARGET", names[1])
    assert runtime.open(path)[0] == Status.CPU_LACKS
    assert runtime.message() == (
        f"{path}: error: this CPU has no wings; compile the model for a --target that this CPU is"
    )
    status, module = runtime.open(write(replace(Index(), prefix="good", variants=[Variant()] * 2)))
    assert (status, module.value) == (Status.CPU_LACKS, None)


def test_hashes_of_every_part(runtime: Any, write: Write, crafted: Path) -> None:
    """Also of a variant that is not run, and of a module that is open."""
    wrong, found = "0" * 64, NO_WEIGHTS[:16]
    for index, message in (
        (
            replace(Index(), variants=(Variant(), Variant(weights=(0, 0, wrong)))),
            f": error: expected weights of SHA-256 {wrong[:16]}..., found {found}...",
        ),
        (
            replace(Index(), variants=(Variant(weights=(0, 0, wrong)), Variant())),
            f": error: expected weights of SHA-256 {wrong[:16]}..., found {found}...",
        ),
        (
            shipping(Part(sha256=wrong)),
            f"[1]: error: expected a part of SHA-256 {wrong[:16]}..., found {found}...",
        ),
        (
            shipping(Part(weights=[Weight(sha256=wrong)])),
            f"[1]: error: expected a weight 'w' of SHA-256 {wrong[:16]}..., found {found}...",
        ),
    ):
        path = write(index)
        assert runtime.open(path, VERIFY, None, [crafted])[0] == Status.FILE
        assert runtime.message() == f"{path}{message}"
    path = write(replace(Index(), variants=(Variant(), Variant(weights=(0, 0, wrong)))))
    module = runtime.opened(path)
    assert runtime.open(path, VERIFY)[0] == Status.FILE
    runtime.close(module)
    path = write(Index())
    modules = [runtime.opened(path, flags) for flags in (UNCHECKED, 0, VERIFY, VERIFY)]
    for module in modules:
        runtime.close(module)


def test_libraries_that_nobody_has(
    runtime: Any, write: Write, crafted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names that are paths, folders, and paths that are too long; a library that does not say where it is."""
    long = "/" + "p" * 4200
    (tmp_path / "folder.so").mkdir()
    monkeypatch.setenv("INARCH_LIBRARY_PATH", f"::/none{long}:")
    for name, path in (("", ""), ("a/b.so", ""), ("folder.so", ""), ("libnone.so", long)):
        file = write(of_variant(Variant(libraries=[(name, path, "")])))
        assert runtime.open(file)[0] == Status.UNREADABLE
        said = (
            f"{file}: error: the code calls '{path or name}', which does not exist, nor does '{name}' beside "
            "the artifact or in INARCH_LIBRARY_PATH; install it, or recompile where it is"
        )
        assert runtime.message() == said[:2047]
    monkeypatch.setenv("INARCH_LIBRARY_PATH", str(crafted.parent))
    file = write(of_variant(Variant(libraries=[(crafted.name, "", "")])))
    runtime.close(runtime.opened(file, VERIFY))
    # A loader whose format is longer than a path.
    file = write(of_variant(replace(PART, loaders=("shared-library", "r" * 4100))))
    assert runtime.open(file)[0] == Status.UNSUPPORTED


def test_folders_as_deep_as_the_system_has_them(
    runtime: Any, write: Write, crafted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library beside an artifact whose absolute path is too long is not found, and nothing else happens."""
    data = write(of_variant(Variant(libraries=[(crafted.name, "", "")]))).read_bytes()
    monkeypatch.delenv("INARCH_LIBRARY_PATH", raising=False)
    monkeypatch.chdir(tmp_path)
    length = 4090 - len(str(tmp_path)) - 1
    for names in (["d" * 250] * (length // 251) + ["d" * (length % 251)], ["d" * 250]):
        for name in names:
            Path(name).mkdir()
            monkeypatch.chdir(name)
        Path("m.inarch").write_bytes(data)
        Path(crafted.name).write_bytes(b"")
        assert runtime.open(Path("m.inarch"))[0] == Status.UNREADABLE
        assert runtime.message().startswith(
            f"m.inarch: error: the code calls '{crafted.name}', which "
        )
    monkeypatch.chdir(tmp_path)
    shutil.rmtree("d" * 250)  # tools that walk through folders by paths end there
