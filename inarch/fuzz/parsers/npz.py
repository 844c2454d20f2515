"""Side files of arrays, as `inarch` and `inarch-opt` read them."""

from __future__ import annotations

from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from inarch.core.lazy import np
from inarch.core.npz import comment_of, read_arrays
from inarch.fuzz import Parser
from inarch.fuzz.files import written
from inarch.ir.context import ConstantStore
from inarch.ir.payload.files import read_resources


def _seeds() -> list[bytes]:
    arrays: dict[str, Any] = {
        "w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.array(True),
        "e": np.zeros((0, 4)),
    }
    plain, packed, single = BytesIO(), BytesIO(), BytesIO()
    np.savez(plain, **arrays)
    np.savez_compressed(packed, **arrays)
    np.save(single, np.arange(4))
    bomb = BytesIO()
    with ZipFile(bomb, "w", ZIP_DEFLATED) as archive:
        header = BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f4", "fortran_order": False, "shape": (1 << 20,)}
        )
        archive.writestr("w.npy", header.getvalue() + bytes(4 << 20))
    return [plain.getvalue(), packed.getvalue(), single.getvalue(), bomb.getvalue()]


def check(data: bytes) -> None:
    """Reads the file both ways."""
    path = written("fuzz.npz", data)
    comment_of(path)
    try:
        read_arrays(path)
    finally:
        read_resources(path, ConstantStore())


PARSER = Parser(
    _seeds,
    check,
    ".npz",
    located=False,
    words=[b"'descr': '|O'", b"'<f8'", b"(99999999999,)", b"True"],
)
