"""libinarch by its functions: what it lists and computes, what it refuses, what it keeps."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.artifact import Artifact, write_artifact
from inarch.artifact.index import TAIL, dtype_number, index_of
from inarch.artifact.manifest import ABI, FORMAT
from inarch.artifact.status import Status
from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError
from inarch.runtime.c import INCLUDE

UNCHECKED, VERIFY, PRIVATE = 1, 2, 4
SHAPE_X, SHAPE_Y = (96, 64), (96, 256)


def mended(data: bytes) -> bytes:
    """A changed artifact with the checksum that it ought to have."""
    return data[:-8] + b"%08x" % zlib.crc32(data[:-8])


def _count(folder: str) -> int:
    return sum(1 for _ in Path(folder).iterdir())


def arrays() -> tuple[Any, Any]:
    x = (np.random.default_rng(3).standard_normal(SHAPE_X) / 16).astype(np.float32)
    return x, np.zeros(SHAPE_Y, np.float32)


def bound(runtime: Any, instance: Any, x: Any, y: Any) -> None:
    assert runtime.functions.inarch_bind_input(instance, b"x", x.ctypes.data, x.nbytes) == 0
    assert runtime.functions.inarch_bind_output(instance, b"y", y.ctypes.data, y.nbytes) == 0


def defined(header: str) -> dict[str, int]:
    text = (INCLUDE / header).read_text()
    return {name: int(value, 0) for name, value in re.findall(r"#define INARCH_(\w+) (\w+)", text)}


def test_c_and_python_have_the_same_numbers(runtime: Any) -> None:
    """B7: those of libinarch; test_abi.py has those of inarch.h."""
    codes, numbers = defined("inarch.h"), defined("inarch_runtime.h")
    assert {status.name: codes[status.name] for status in Status} == {s.name: s for s in Status}
    assert (numbers["FORMAT_VERSION"], codes["ABI_VERSION"]) == (FORMAT, ABI)
    assert [numbers[name] for name in ("UNCHECKED", "VERIFY", "PRIVATE")] == [
        UNCHECKED,
        VERIFY,
        PRIVATE,
    ]
    for name, dtype in DTYPES.items():
        assert runtime.functions.inarch_dtype_name(dtype_number(dtype)).decode() == name
    assert runtime.functions.inarch_dtype_name(0x221) is None


def test_functions_and_ports(runtime: Any, model: Path) -> None:
    module = runtime.opened(model)
    assert runtime.functions.inarch_module_name(module) == b"cmodel"
    assert runtime.functions.inarch_function_count(module) == 1
    function = runtime.functions.inarch_function_at(module, 0).contents
    assert (function.name, function.inputs, function.outputs) == (b"main", 1, 1)
    with Artifact.open(model) as artifact:
        assert function.workspace_bytes == artifact.manifest.functions["main"].workspace_bytes
    found = [(p.name, p.dtype, tuple(p.shape[: p.rank]), p.bytes) for p in function.ports[:2]]
    assert found == [(b"x", 0x220, SHAPE_X, 24576), (b"y", 0x220, SHAPE_Y, 98304)]
    assert not runtime.functions.inarch_function_at(module, 1)
    assert runtime.message() == f"{model}: error: expected a function from 0 to 0, found 1"
    assert not runtime.functions.inarch_function_named(module, b"other")
    assert runtime.message() == f"{model}: error: no function 'other'; the first is 'main'"
    runtime.close(module)


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_the_bits_are_those_of_python(runtime: Any, model: Path, threads: int) -> None:
    """Also where Python has the library open: C then opens a copy of it."""
    module = runtime.opened(model, VERIFY)
    instance = runtime.instance(module)
    x, y = arrays()
    bound(runtime, instance, x, y)
    assert runtime.functions.inarch_set_threads(instance, threads) == 0
    runtime.close(module)  # the instance is enough
    expected = inarch.load(model)(x)
    assert runtime.functions.inarch_run(instance) == 0
    assert y.tobytes() == np.asarray(expected).tobytes()
    again = runtime.opened(model)
    second = runtime.instance(again)
    other = np.zeros_like(y)
    bound(runtime, second, x, other)
    assert runtime.functions.inarch_run(second) == 0
    assert other.tobytes() == y.tobytes()
    for one in (instance, second):
        runtime.functions.inarch_instance_free(one)
    runtime.close(again)


def test_a_workspace_of_the_caller(runtime: Any, model: Path) -> None:
    """It is large enough: bytes behind it stay."""
    module = runtime.opened(model)
    wanted = runtime.functions.inarch_function_at(module, 0).contents.workspace_bytes
    space = np.full(wanted + 128, 0xAB, np.uint8)
    start = -space.ctypes.data % 64
    instance = ctypes.c_void_p()
    new, size = runtime.functions.inarch_instance_new, ctypes.c_size_t
    place = ctypes.c_void_p(space.ctypes.data + start)
    assert new(module, b"main", place, size(wanted), ctypes.byref(instance)) == 0
    x, y = arrays()
    bound(runtime, instance, x, y)
    assert runtime.functions.inarch_run(instance) == 0
    assert (space[start + wanted :] == 0xAB).all()
    assert y.tobytes() == np.asarray(inarch.load(model)(x)).tobytes()
    runtime.functions.inarch_instance_free(instance)
    odd = ctypes.c_void_p(space.ctypes.data + start + 4)
    assert new(module, b"main", odd, size(wanted), ctypes.byref(instance)) == Status.ARGUMENT
    assert runtime.message() == (
        f"{model}: error: main: workspace: expected an address that is a multiple of 64, "
        "found one that is not"
    )
    if wanted:
        assert (
            new(module, b"main", place, size(wanted - 1), ctypes.byref(instance)) == Status.ARGUMENT
        )
        assert runtime.message() == (
            f"{model}: error: main: workspace: expected at least {wanted} bytes, found {wanted - 1}"
        )
    runtime.close(module)


def test_what_cannot_be_bound_or_run(runtime: Any, model: Path) -> None:
    module = runtime.opened(model)
    instance = runtime.instance(module)
    x, y = arrays()
    functions, where = runtime.functions, f"{model}: error: main: "
    refused: list[tuple[Callable[[], int], Status, str]] = [
        (
            lambda: functions.inarch_run(instance),
            Status.UNBOUND,
            "input 'x' is not bound; bind every input and output before a run",
        ),
        (
            lambda: functions.inarch_bind_input(instance, b"z", x.ctypes.data, x.nbytes),
            Status.NAME,
            "no input 'z'; the first is 'x'",
        ),
        (
            lambda: functions.inarch_bind_output(instance, b"x", x.ctypes.data, x.nbytes),
            Status.NAME,
            "no output 'x'; the first is 'y'",
        ),
        (
            lambda: functions.inarch_bind_input(instance, b"x", None, x.nbytes),
            Status.ARGUMENT,
            "input 'x': expected memory for f32[96, 64], found a null pointer",
        ),
        (
            lambda: functions.inarch_bind_input(instance, b"x", x.ctypes.data, x.nbytes - 1),
            Status.ARGUMENT,
            "input 'x': expected 24576 bytes for f32[96, 64], found 24575",
        ),
        (
            lambda: functions.inarch_bind_output(instance, b"y", y.ctypes.data + 2, y.nbytes),
            Status.ARGUMENT,
            "output 'y': expected an address that is a multiple of 4, found one that is not",
        ),
    ]
    for call, status, message in refused:
        assert call() == status
        assert runtime.message() == where + message
    assert functions.inarch_set_threads(instance, -1) == Status.THREADS
    assert runtime.message() == f"{model}: error: expected a number of threads from 0 on, found -1"
    bound(runtime, instance, x, y)
    assert functions.inarch_bind_input(instance, b"x", y.ctypes.data + y.nbytes - 4, x.nbytes) == 0
    assert functions.inarch_run(instance) == Status.ARGUMENT
    assert (
        runtime.message()
        == where + "output 'y': expected memory of its own, found that of input 'x'"
    )
    assert (
        functions.inarch_bind_input(instance, b"x", y.ctypes.data + y.nbytes, 0) == Status.ARGUMENT
    )
    functions.inarch_instance_free(instance)
    runtime.close(module)


def test_bools_are_zeros_and_ones(runtime: Any, tmp_path: Path) -> None:
    source = tmp_path / "not.mlir"
    source.write_text(
        'func.func @main(%x: tensor<9xi1> {inarch.name = "x"}) -> (tensor<9xi1> {inarch.name = "y"}) {\n'
        "  %0 = graph.logical_not %x : tensor<9xi1> -> tensor<9xi1>\n"
        "  func.return %0 : tensor<9xi1>\n}\n"
    )
    path = tmp_path / "not.inarch"
    inarch.compile(source, name="negate").save(path)
    module = runtime.opened(path)
    instance = runtime.instance(module)
    x, y = np.array([0, 1, 0, 0, 1, 1, 0, 1, 0], np.uint8), np.full(9, 7, np.uint8)
    bound(runtime, instance, x, y)
    assert runtime.functions.inarch_run(instance) == 0
    assert y.tolist() == (1 - x).tolist()
    x[8] = 6
    assert runtime.functions.inarch_run(instance) == Status.ARGUMENT
    assert runtime.message() == (
        f"{path}: error: main: input 'x': expected bools of 0 or 1, found a byte of 6"
    )
    runtime.functions.inarch_instance_free(instance)
    runtime.close(module)


# ------------------------------------------------------------------------------------ files

Damage = Callable[[bytes], bytes]


def flipped(place: int) -> Damage:
    def change(data: bytes) -> bytes:
        at = place % len(data)
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

    return change


def of_index(old: bytes, new: bytes) -> Damage:
    """A text of the index replaced by one of the same length, with a good checksum."""

    def change(data: bytes) -> bytes:
        tail = TAIL.search(data[-65:])
        assert tail is not None
        start = int(tail[1], 16)
        at = data.index(old, start)
        return mended(data[:at] + new + data[at + len(old) :])

    return change


def to_the_end(data: bytes) -> bytes:
    """The index said to reach to the last byte of the file, with a good checksum."""
    tail = data[-65:]
    count = len(data) - int(tail[13:29], 16)
    return mended(data[:-65] + tail[:30] + f"{count:08x}".encode() + tail[38:])


def without_checksum_of(count: int, new: bytes) -> Damage:
    return lambda data: data[:-count] + new + data[len(data) - count + len(new) :]


DAMAGED = (
    "expected the bytes that were written, found others: a damaged file; copy it again, "
    "or compile the model again"
)
TRUNCATED = (
    "expected an Inarch artifact, "
    "found an ELF file without the archive at its end: truncated or stripped"
)
BAD_FILES: list[tuple[Damage, Status, str]] = [
    (flipped(5000), Status.FILE, DAMAGED),
    (flipped(-200), Status.FILE, DAMAGED),
    (lambda data: data[:-1] + (b"1" if data[-1:] == b"0" else b"0"), Status.FILE, DAMAGED),
    (lambda data: data[:-1], Status.FILE, TRUNCATED),
    (lambda data: data[:5000], Status.FILE, TRUNCATED),
    (lambda _: b"", Status.FILE, "expected an Inarch artifact, found an empty file"),
    (lambda _: b"hello", Status.FILE, "expected an Inarch artifact, found a file of another kind"),
    (
        without_checksum_of(19, b"0004"),
        Status.FILE,
        "expected artifact format 3, found 4; compile the model again, or use the libinarch of the "
        "Inarch that wrote it",
    ),
    (
        lambda data: data[:-65] + b"inarch crc32 00000000",
        Status.FILE,
        "expected artifact format 3, found 1; compile the model again",
    ),
    (
        lambda data: mended(data[:18] + struct.pack("<H", 8) + data[20:]),
        Status.CPU_LACKS,
        "expected code for {machine}, found code for the target '{target}' (ELF machine 8); "
        "compile the model for this machine",
    ),
    (
        of_index(b"shared-library\0", b"shared-lobrary\0"),
        Status.UNSUPPORTED,
        "expected a program of the loader 'shared-library', found 'shared-lobrary', which is not in C; "
        "run it from Python",
    ),
    (
        of_index(b"INARCHIX", b"INARCHOX"),
        Status.FILE,
        "expected an index of {bytes} bytes at {place}, found none; compile the model again",
    ),
    (
        to_the_end,
        Status.FILE,
        "expected an index of {rest} bytes at {place}, found none; compile the model again",
    ),
    (
        of_index(b"\x06\0\0\0cmodel", b"\x07\0\0\0cmodel"),
        Status.FILE,
        "index.bin: expected a text that ends with the only 0 in it, found another; compile the model again",
    ),
    (
        of_index(b"\x01\0\0\0\x04\0\0\0main", b"\xff\xff\0\0\x04\0\0\0main"),
        Status.FILE,
        "index.bin: expected a list, found one that is longer than the index; compile the model again",
    ),
    (
        of_index(b"main", b"ma n"),
        Status.FILE,
        "index.bin: expected a C identifier, found another text; compile the model again",
    ),
    (
        of_index(b"\x20\x02\0\0", b"\x21\x02\0\0"),
        Status.FILE,
        "index.bin: expected an element type, found another number; compile the model again",
    ),
    (
        of_index(b"\x60" + bytes(7), b"\x60" + bytes(6) + b"\x40"),
        Status.FILE,
        "index.bin: expected an array that fits in memory, found a larger one; compile the model again",
    ),
    (
        of_index(b"main", b"mean"),
        Status.FILE,
        "expected the function 'mean' in the library, found none",
    ),
]


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(("damage", "status", "message"), BAD_FILES)
def test_a_file_that_is_refused(
    runtime: Any, model: Path, damage: Damage, status: Status, message: str
) -> None:
    with Artifact.open(model) as artifact:
        tail = TAIL.search(bytes(artifact.content[-65:]))
        assert tail is not None
        target = artifact.manifest.target
    machine = {"x86_64": "x86-64"}.get(os.uname().machine, os.uname().machine)
    place, count = int(tail[1], 16), int(tail[2], 16)
    model.write_bytes(damage(model.read_bytes()))
    before = _count("/proc/self/fd")
    found, module = runtime.open(model)
    rest = model.stat().st_size - place
    said = message.format(machine=machine, target=target, place=place, bytes=count, rest=rest)
    assert runtime.message() == f"{model}: error: {said}"
    assert (found, module.value) == (status, None)
    assert _count("/proc/self/fd") == before
    with pytest.raises(InarchError):  # so does Python, whose index is that of the manifest
        inarch.load(model)


def test_paths_that_are_refused(runtime: Any, tmp_path: Path) -> None:
    missing = tmp_path / "no.inarch"
    os.mkfifo(tmp_path / "pipe")
    for path, message in (
        (missing, "expected an Inarch artifact, found no such file"),
        (tmp_path, "expected an Inarch artifact, found a folder"),
        (tmp_path / "pipe", "expected an Inarch artifact, found no regular file"),
    ):
        assert runtime.open(path)[0] == Status.FILE
        assert runtime.message() == f"{path}: error: {message}"
    assert runtime.open(tmp_path / ("n" * 300))[0] == Status.UNREADABLE
    assert runtime.message().endswith(": error: cannot be read: File name too long")
    assert runtime.open(None)[0] == Status.ARGUMENT
    assert runtime.message() == "error: inarch_open: expected a path, found a null pointer"


def test_hashes_are_compared_when_asked_for(runtime: Any, model: Path) -> None:
    """A changed file with a good checksum is one that somebody has made."""
    with Artifact.open(model) as artifact:
        manifest = artifact.manifest
    data = model.read_bytes()
    for at, part, digest in (
        (manifest.weights_offset, "weights", manifest.weights.sha256),
        (manifest.library.nbytes - 1, "a library", manifest.library.sha256),
    ):
        model.unlink()
        model.write_bytes(mended(flipped(at)(data)))
        status, _ = runtime.open(model, VERIFY)
        assert status == Status.FILE
        assert runtime.message().startswith(
            f"{model}: error: expected {part} of SHA-256 {digest[:16]}..., found "
        )
    runtime.close(runtime.opened(model))


def test_a_module_that_is_open_is_checked_when_asked_for(runtime: Any, model: Path) -> None:
    data = flipped(-200)(model.read_bytes())  # in the manifest, which C does not read
    model.write_bytes(data)
    first = runtime.opened(model, UNCHECKED)
    assert runtime.open(model)[0] == Status.FILE
    assert runtime.message() == f"{model}: error: {DAMAGED}"
    runtime.close(first)


def test_imports_libraries_and_submodules_are_named(runtime: Any, model: Path) -> None:
    with Artifact.open(model) as artifact:
        library, manifest = bytes(artifact.library), dict(artifact.manifest.data)
        weights = bytes(artifact.weights)
    cases = [
        (
            {"imports": ["twice"]},
            Status.UNBOUND,
            "import 'twice' is not filled; give a function of that name in the options' imports",
        ),
        (
            {"loaders": ["shared-library", "examplejson"]},
            Status.UNSUPPORTED,
            "expected a loader in C of the format 'examplejson', found no 'inarch-loader-examplejson.so' "
            "beside the artifact or in INARCH_LIBRARY_PATH, and none that is given; run it from Python, or "
            "compile the model without that backend",
        ),
        (
            {"libraries": [{"path": "/no/libx.so", "backend": "cblas", "package": "blas"}]},
            Status.UNREADABLE,
            "backend 'cblas' calls '/no/libx.so', which does not exist, nor does 'libx.so' beside the "
            "artifact or in INARCH_LIBRARY_PATH; install blas, or recompile where it is",
        ),
    ]
    for change, status, message in cases:
        write_artifact(model, library, {**manifest, **change}, [(0, weights)], len(weights))
        assert runtime.open(model)[0] == status
        assert runtime.message() == f"{model}: error: {message}"
    # What the library has, nobody fills.
    linked = {**manifest, "imports": [{"name": "f", "linked": "cblas"}]}
    write_artifact(model, library, linked, [(0, weights)], len(weights))
    runtime.close(runtime.opened(model))


def test_places_are_inside_the_file(runtime: Any, model: Path) -> None:
    with Artifact.open(model) as artifact:
        manifest = artifact.manifest
    data = model.read_bytes()
    start, count = manifest.weights_offset, manifest.weights.nbytes
    for number, place, message in (
        (
            len(data),
            start,
            f"expected {len(data)} bytes of weights at a multiple of 4096 in the file, found ",
        ),
        (
            count,
            start + 64,
            f"expected {count} bytes of weights at a multiple of 4096 in the file, found ",
        ),
    ):
        change = of_index(struct.pack("<QQ", start, count), struct.pack("<QQ", place, number))
        model.write_bytes(change(data))
        assert runtime.open(model)[0] == Status.FILE
        assert runtime.message() == f"{model}: error: {message}them at {place}"
    size = struct.pack("<Q", manifest.library.nbytes)
    model.write_bytes(of_index(size, struct.pack("<Q", len(data) + 1))(data))
    assert runtime.open(model)[0] == Status.FILE
    assert runtime.message() == (
        f"{model}: error: expected a library of {len(data) + 1} bytes, found a file that is shorter"
    )


def test_checksums_are_those_of_python(runtime: Any) -> None:
    """Of all lengths and alignments, by tables and by products."""
    crc32, sha256 = runtime.functions.inarch_rt_crc32, runtime.functions.inarch_rt_sha256
    data = np.random.default_rng(9).bytes(70_000)
    memory = ctypes.create_string_buffer(data, len(data))
    for count in (*range(200), 1000, 65537):
        for start in (0, 3):
            place = ctypes.c_void_p(ctypes.addressof(memory) + start)
            piece = data[start : start + count]
            digits = ctypes.create_string_buffer(65)
            assert crc32(place, ctypes.c_size_t(count)) & 0xFFFFFFFF == zlib.crc32(piece)
            sha256(place, ctypes.c_size_t(count), digits)
            assert digits.value.decode() == hashlib.sha256(piece).hexdigest()


def test_the_index_is_the_manifests(model: Path) -> None:
    with Artifact.open(model) as artifact:
        assert index_of(artifact.manifest) in bytes(artifact.content)
    model.write_bytes(of_index(b"main", b"mean")(model.read_bytes()))
    with pytest.raises(InarchError) as caught:
        Artifact.open(model)
    assert (
        caught.value.line()
        == f"{model}: error: expected the 'index.bin' of the manifest, found another"
    )


# ------------------------------------------------------------------------------------ lifetimes


def test_a_file_is_shared_and_another_is_not(runtime: Any, model: Path, tmp_path: Path) -> None:
    first, second = runtime.opened(model), runtime.opened(model)
    assert first.value == second.value
    copy = Path(shutil.copy(model, tmp_path / "copy.inarch"))
    other = runtime.opened(copy)
    assert other.value != first.value
    os.utime(model, ns=(1, 1))  # another state of the file, for all that is known
    changed = runtime.opened(model)
    assert changed.value not in (first.value, other.value)
    for module in (first, second, other, changed):
        runtime.close(module)


def _held(path: Path) -> tuple[int, int]:
    """Descriptors of this process, and its mappings of libraries and artifacts of the test."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return _count("/proc/self/fd"), sum(str(path.parent) in line for line in lines)


def test_a_thousand_times_leaves_nothing(runtime: Any, model: Path) -> None:
    x, y = arrays()
    before, threads = _held(model), _count("/proc/self/task")
    for iteration in range(1000):
        module = runtime.opened(model, UNCHECKED)
        if iteration % 50 == 0:
            instance = runtime.instance(module)
            bound(runtime, instance, x, y)
            assert runtime.functions.inarch_set_threads(instance, 2) == 0
            assert runtime.functions.inarch_run(instance) == 0
            runtime.functions.inarch_instance_free(instance)
        runtime.close(module)
    assert _held(model) == before
    end = time.monotonic() + 5  # a thread that has ended is listed until the system has seen to it
    while _count("/proc/self/task") > threads and time.monotonic() < end:
        time.sleep(0.01)
    assert _count("/proc/self/task") <= threads


def test_the_pool_stays_while_another_uses_it(runtime: Any, model: Path, tmp_path: Path) -> None:
    """The threads of the first library run the second one's loops; it goes when both are closed."""
    x, y = arrays()
    copy = Path(shutil.copy(model, tmp_path / "copy.inarch"))
    before = _held(model)
    first = runtime.opened(model)
    second = runtime.opened(copy)
    runtime.close(first)
    instance = runtime.instance(second)
    bound(runtime, instance, x, y)
    assert runtime.functions.inarch_set_threads(instance, 2) == 0
    assert runtime.functions.inarch_run(instance) == 0
    assert _held(model)[1] > before[1]
    runtime.functions.inarch_instance_free(instance)
    runtime.close(second)
    assert _held(model) == before


class Weights(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_int64),
        ("released", ctypes.c_void_p),
        ("self", ctypes.c_void_p),
    ]


def test_weights_of_a_module_and_of_an_instance(runtime: Any, model: Path) -> None:
    """B6, B11: those of a private module only; an instance's own are nobody else's."""
    status, module = runtime.open(model, PRIVATE)
    assert status == 0
    shared = runtime.opened(model)
    nbytes = ctypes.c_int64()
    data = runtime.functions.inarch_module_weights
    data.restype = ctypes.c_void_p
    image = ctypes.string_at(data(module, ctypes.byref(nbytes)), nbytes.value)
    space = np.zeros(nbytes.value // 4 + 16, np.float32)
    at = -space.ctypes.data % 64 // 4
    space[at:][: nbytes.value // 4] = np.frombuffer(image, np.float32) * 2
    weights = Weights(space.ctypes.data + at * 4, nbytes.value)
    instances = [runtime.instance(one) for one in (module, module, shared)]
    x, y = arrays()

    def results() -> list[float]:
        found: list[float] = []
        for instance in instances:
            bound(runtime, instance, x, y)
            assert runtime.functions.inarch_run(instance) == 0, runtime.message()
            found.append(float(np.log(y[5, 7])) / float(x[5].sum()))
        return [round(one, 3) for one in found]

    set_weights = runtime.functions.inarch_set_weights
    set_own = runtime.functions.inarch_instance_set_weights
    assert results() == [0.125, 0.125, 0.125]
    assert set_own(instances[1], ctypes.byref(weights)) == 0
    assert results() == [0.125, 0.25, 0.125]
    assert set_own(instances[1], None) == 0
    assert set_weights(module, ctypes.byref(weights)) == 0
    assert results() == [0.25, 0.25, 0.125]
    assert set_weights(module, None) == 0
    assert results() == [0.125, 0.125, 0.125]
    assert set_weights(shared, ctypes.byref(weights)) == Status.ARGUMENT
    assert runtime.message() == (
        f"{model}: error: expected a private module, whose weights nobody else uses, found one that is "
        "shared; open it with INARCH_PRIVATE"
    )
    shorter = Weights(weights.data, 64)
    assert set_weights(module, ctypes.byref(shorter)) == Status.UNBOUND
    assert runtime.message() == (
        f"{model}: error: cmodel: set_weights: expected {nbytes.value} bytes of weights, found 64"
    )
    set_stream = runtime.functions.inarch_set_stream
    assert set_stream(instances[0], 1, 0, None) == 0
    assert set_stream(instances[0], 2, 1, None) == Status.ARGUMENT
    assert runtime.message() == (
        f"{model}: error: main: cmodel: set_stream: expected device type 1 (host memory), device 0 and no "
        "stream, found device type 2, device 1 and no stream"
    )
    for instance in instances:
        runtime.functions.inarch_instance_free(instance)
    for one in (module, shared):
        runtime.close(one)


class Request(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("use", ctypes.c_int32),
        ("bytes", ctypes.c_int64),
        ("alignment", ctypes.c_int64),
        ("device", ctypes.c_int32 * 2),
    ]


def test_memory_of_an_allocator(runtime: Any, model: Path) -> None:
    """All that a module and its instances have comes from it, and is given back."""
    place = ctypes.POINTER(Request)
    allocate_type = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, place)
    release_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, place)

    class Allocator(ctypes.Structure):
        _fields_ = [
            ("allocate", allocate_type),
            ("release", release_type),
            ("self", ctypes.c_void_p),
        ]

    live: dict[int, tuple[int, int, Any]] = {}

    def allocate(_: int | None, request: Any) -> int:
        wanted = request.contents
        memory = np.zeros(wanted.bytes + 64, np.uint8)
        address = memory.ctypes.data + -memory.ctypes.data % wanted.alignment
        live[address] = (wanted.use, wanted.bytes, memory)
        return address

    def release(_: int | None, address: int, request: Any) -> None:
        assert live.pop(address)[:2] == (request.contents.use, request.contents.bytes)

    allocator = Allocator(allocate_type(allocate), release_type(release), None)
    status, module = runtime.open(model, 0, ctypes.addressof(allocator))
    assert status == 0, runtime.message()
    workspace = runtime.functions.inarch_function_at(module, 0).contents.workspace_bytes
    instance = runtime.instance(module)
    uses = sorted(use for use, _, _ in live.values())
    assert uses == ([0, 1] if workspace else [0])
    x, y = arrays()
    bound(runtime, instance, x, y)
    assert runtime.functions.inarch_run(instance) == 0
    assert y.tobytes() == np.asarray(inarch.load(model)(x)).tobytes()
    runtime.functions.inarch_instance_free(instance)
    runtime.close(module)
    assert not live
