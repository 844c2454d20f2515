"""Files of arrays and kernels from strangers: sizes and nesting are checked before they are read."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from inarch.core.errors import InarchError, UsageError
from inarch.core.npz import comment_of, read_arrays, write_npz
from inarch.ir.context import ConstantStore
from inarch.ir.payload.files import read_resources


def npy(shape: object, descr: str = "<f4", version: bytes = b"\1\0") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header


WHERE = "expected arrays in a .npy or .npz file: "
FILES = {
    "a header that says 4 TB": (
        npy((10**12,)),
        "expected data of shape (1000000000000,), found a file of 78 bytes",
    ),
    "a header with a negative size": (
        npy((-1,)),
        "expected data of shape (-1,), found a file of 67 bytes",
    ),
    "elements of no size": (npy((4,), "|V0"), "expected numbers, found elements of type |V0"),
    "another version": (
        npy((4,), version=b"\3\0"),
        "expected version 1.0 or 2.0 of the format, found (3, 0)",
    ),
}


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("what", FILES)
def test_arrays_are_believed_no_further_than_their_file_goes(what: str, tmp_path: Path) -> None:
    data, reason = FILES[what]
    path = tmp_path / "w.npz"
    path.write_bytes(data)
    with pytest.raises(InarchError) as caught:
        read_arrays(path)
    assert caught.value.line() == f"{path}: error: {WHERE}{reason}"
    with pytest.raises(UsageError) as usage:
        read_resources(path, ConstantStore())
    assert usage.value.line() == f"{path}: error: --resources: {WHERE}{reason}"


def test_a_file_that_unpacks_to_more_than_memory_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros are a thousandth of their size in a zip archive."""
    monkeypatch.setenv("INARCH_MAX_CONSTANT_BYTES", "1000000")
    content = BytesIO()
    with (
        zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("w.npy", "w") as member,
    ):
        member.write(npy((500_000,)))
        for _ in range(2):
            member.write(bytes(1_000_000))
    path = tmp_path / "w.npz"
    path.write_bytes(content.getvalue())
    with pytest.raises(InarchError) as caught:
        read_arrays(path)
    assert caught.value.line() == (
        f"{path}: error: expected at most 1000000 bytes of computed constants, found "
        f"{2_000_000 + len(npy((500_000,)))}; where you trust the model, "
        "$INARCH_MAX_CONSTANT_BYTES raises the limit"
    )


def test_files_of_arrays_hold_arrays_and_no_objects(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", "text")
    with pytest.raises(InarchError, match=r"'x' is no array$"):
        read_arrays(path)
    with pytest.raises(ValueError, match="allow_pickle"):
        write_npz(tmp_path / "b.npz", {"x": np.array([None])})
    assert not (tmp_path / "b.npz").exists()


def test_a_zip_of_another_age_has_no_comment(tmp_path: Path) -> None:
    """`zipfile` raises NotImplementedError for archives that need a newer version."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("w.npy", b"x")
    data = bytearray(stream.getvalue())
    data[data.index(b"PK\x01\x02") + 6] = 178
    (tmp_path / "w.npz").write_bytes(data)
    assert comment_of(tmp_path / "w.npz") == b""


def test_brackets_and_digits_of_a_kernel_file(tmp_path: Path) -> None:
    from inarch.microkernel.file import read_kernel_file

    path = tmp_path / "k.c"
    for toml, reason in (("[" * 3000, "less nesting"), ("9" * 5000, "shorter numbers")):
        path.write_text(f"/* inarch\nparams = {toml}\n*/\n")
        with pytest.raises(InarchError) as caught:
            read_kernel_file(path)
        assert caught.value.line() == f"{path}:1:10: error: expected TOML with {reason}"
