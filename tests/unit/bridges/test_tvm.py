"""TVM FFI: artifacts that its programs open themselves, wrong arguments, weights that are found or not."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.artifact import Artifact
from inarch.backends.c.write.abi.tvm_ffi import tvm_ffi_unit
from inarch.bridges.tvm import load_module, register, to_tvm_func
from inarch.core.errors import InarchError
from inarch.machine.compilers import find_compiler

tvm_ffi: Any = pytest.importorskip(
    "tvm_ffi", reason="apache-tvm-ffi is not installed: make bridges"
)

COMPUTED = """
func.func @main(%x: tensor<4xf32> {inarch.name = "x"})
    -> (tensor<4xf32> {inarch.name = "y", inarch.computed = array<i64: 0, 1>},
        tensor<i64> {inarch.name = "n"}) {
  %n = graph.constant dense<2> : tensor<i64>
  func.return %x, %n : tensor<4xf32>, tensor<i64>
}
"""
MODEL = """
func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}, %s: tensor<f32> {inarch.name = "s"})
    -> (tensor<2x3xf32> {inarch.name = "y"}) {
  %w = graph.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %0 = graph.add %x, %w : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.mul %0, %s : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
func.func @numbers(%i: tensor<i32> {inarch.name = "i"}, %u: tensor<ui8> {inarch.name = "u"},
                   %b: tensor<i1> {inarch.name = "b"}, %d: tensor<f64> {inarch.name = "d"})
    -> (tensor<i32> {inarch.name = "i2"}, tensor<ui8> {inarch.name = "u2"},
        tensor<i1> {inarch.name = "b2"}, tensor<f64> {inarch.name = "d2"}) {
  %0 = graph.add %i, %i : tensor<i32>, tensor<i32> -> tensor<i32>
  %1 = graph.add %u, %u : tensor<ui8>, tensor<ui8> -> tensor<ui8>
  %2 = graph.logical_not %b : tensor<i1> -> tensor<i1>
  %3 = graph.add %d, %d : tensor<f64>, tensor<f64> -> tensor<f64>
  func.return %0, %1, %2, %3 : tensor<i32>, tensor<ui8>, tensor<i1>, tensor<f64>
}
"""
W = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


@pytest.fixture(scope="module", name="path")
def fixture_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tvm")
    (folder / "model.mlir").write_text(MODEL)
    path = folder / "model.so"
    inarch.compile(folder / "model.mlir").save(path)
    return path


@pytest.fixture(scope="module", name="module")
def fixture_module(path: Path) -> Any:
    return load_module(path)


def outside(script: str, *arguments: object, folder: Path) -> str:
    """What a program prints that knows nothing of Inarch."""
    head = "import sys\nimport numpy as np\nimport tvm_ffi\n"
    tail = "\nassert not any(name.startswith('inarch') for name in sys.modules)\n"
    command = [sys.executable, "-W", "error", "-c", head + textwrap.dedent(script) + tail]
    command += [str(each) for each in arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def arrays() -> tuple[Any, Any, Any]:
    return np.ones((2, 3), np.float32), np.full((), 2, np.float32), np.zeros((2, 3), np.float32)


def test_a_program_of_tvm_ffi_opens_an_artifact(path: Path) -> None:
    """B4: neither side imports or links the other; eight threads at once find the weights."""
    script = """
    from threading import Barrier, Thread
    module = tvm_ffi.load_module(sys.argv[1])
    begin, results = Barrier(8), []
    def call(n):
        x, y = np.full((2, 3), n, np.float32), np.zeros((2, 3), np.float32)
        begin.wait()
        module.main(x, 2.0, y)
        results.append((n, y.tolist()))
    threads = [Thread(target=call, args=(n,)) for n in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    for n, y in sorted(results): print(n, *np.ravel(y))
    """
    want = "".join(f"{n} {' '.join(map(str, np.ravel((W + n) * 2)))}\n" for n in range(8))
    assert outside(script, path, folder=path.parent) == want
    needed = subprocess.run(
        ["readelf", "-d", str(path)], capture_output=True, text=True, check=False
    ).stdout
    assert "tvm" not in needed


def test_outputs_are_written_where_they_are(module: Any) -> None:
    """B2, B3: of NumPy and of TVM, into the very memory that was given."""
    x, s, y = arrays()
    assert module.main(x, s, y) is None
    np.testing.assert_array_equal(y, (x + W) * 2)
    tensors = [tvm_ffi.from_dlpack(each) for each in (x, s, np.zeros_like(y))]
    assert tensors[0].data_ptr() == x.ctypes.data
    module.main(*tensors)
    np.testing.assert_array_equal(np.from_dlpack(tensors[2]), (x + W) * 2)


def test_numbers_where_a_tensor_has_no_dimensions(module: Any) -> None:
    """B2: a number of Python, in the element type that the function takes."""
    outs = [np.zeros((), dtype) for dtype in (np.int32, np.uint8, np.bool_, np.float64)]
    module.numbers(-(2**30), 127, True, 0.1, *outs)
    assert [each.item() for each in outs] == [-(2**31), 254, False, 0.2]
    module.numbers(7, 0, False, 3, *outs)
    assert [each.item() for each in outs] == [14, 0, True, 6.0]


X_ITSELF = object()

WRONG: list[tuple[dict[int, object], type[Exception], str]] = [
    ({0: None}, TypeError, "argument 0 (x): expected f32[2, 3], found None"),
    ({0: "x"}, TypeError, "argument 0 (x): expected f32[2, 3], found what is no tensor"),
    ({0: 1.0}, TypeError, "argument 0 (x): expected f32[2, 3], found a float"),
    ({1: True}, TypeError, "argument 1 (s): expected f32[], found a bool"),
    ({2: 1}, TypeError, "argument 2 (y): expected f32[2, 3], found an int"),
    ({0: np.ones((2, 3))}, ValueError, "argument 0 (x): expected f32[2, 3], found f64[2, 3]"),
    (
        {0: np.ones((3, 2), np.float32)},
        ValueError,
        "argument 0 (x): expected f32[2, 3], found f32[3, 2]",
    ),
    (
        {0: np.ones((3, 2), np.float32).T},
        ValueError,
        "argument 0 (x): expected a row-major array, found other strides",
    ),
    (
        {2: X_ITSELF},
        ValueError,
        "argument 2 (y) overlaps argument 0 (x); an output needs memory of its own",
    ),
]


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(("change", "kind", "message"), WRONG, ids=[one[2] for one in WRONG])
def test_a_wrong_argument(
    module: Any, change: dict[int, object], kind: type[Exception], message: str
) -> None:
    values: list[object] = [*arrays()]
    for place, value in change.items():
        values[place] = values[0] if value is X_ITSELF else value
    with pytest.raises(kind) as raised:
        module.main(*values)
    assert str(raised.value) == f"main: {message}"


def test_a_wrong_number_of_arguments(module: Any) -> None:
    with pytest.raises(TypeError) as raised:
        module.main(*arrays()[:2])
    message = "main: expected 3 arguments, inputs and then outputs, found 2"
    assert str(raised.value) == message


@pytest.mark.every_case(reason="each is a limit of its own")
@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, 2**31, "argument 0 (i): expected i32[], found an int"),
        (0, -(2**31) - 1, "argument 0 (i): expected i32[], found an int"),
        (0, 1.0, "argument 0 (i): expected i32[], found a float"),
        (0, 5e-324, "argument 0 (i): expected i32[], found a float"),  # its bits are those of 1
        (1, 256, "argument 1 (u): expected ui8[], found an int"),
        (1, -1, "argument 1 (u): expected ui8[], found an int"),
        (2, 1, "argument 2 (b): expected i1[], found an int"),
        (3, None, "argument 3 (d): expected f64[], found None"),
        (4, 1, "argument 4 (i2): expected i32[], found an int"),
    ],
)
def test_a_number_that_the_type_does_not_have(
    module: Any, place: int, value: object, message: str
) -> None:
    outs = [np.zeros((), dtype) for dtype in (np.int32, np.uint8, np.bool_, np.float64)]
    values: list[object] = [2**31 - 1, 255, True, 1.0, *outs]
    module.numbers(*values)  # the limits themselves are fine
    values[place] = value
    with pytest.raises(TypeError) as raised:
        module.numbers(*values)
    assert str(raised.value) == f"numbers: {message}"


def test_a_library_that_was_opened_before_tvm_ffi(path: Path) -> None:
    """Its errors arrive all the same; a weak symbol would stay empty, and end the process."""
    script = """
    import ctypes, sys
    ctypes.CDLL(sys.argv[1])
    import tvm_ffi
    try:
        tvm_ffi.load_module(sys.argv[1]).main()
    except TypeError as error:
        print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "main: expected 3 arguments, inputs and then outputs, found 0\n"


def test_the_working_folder_may_change(path: Path, tmp_path: Path) -> None:
    script = """
    import os
    module = tvm_ffi.load_module("./model.so")
    os.chdir(sys.argv[1])
    y = np.zeros((2, 3), np.float32)
    module.main(y.copy(), 1.0, y)
    print(*y.ravel())
    """
    assert outside(script, tmp_path, folder=path.parent) == "1.0 2.0 3.0 4.0 5.0 6.0\n"


def test_weights_that_are_not_there(path: Path, tmp_path: Path) -> None:
    """One line says why not, and the next call, with the file restored, finds them."""
    library = tmp_path / "model.so"
    whole = path.read_bytes()
    with Artifact.open(path) as artifact:
        digest = artifact.manifest.weights.sha256.encode()
    at = whole.index(digest, whole.rindex(b"INARCHIX"))
    other = whole[:at] + b"0" * 64 + whole[at + 64 :]
    format_at = whole.rindex(b"format ") + 7
    newer = whole[:format_at] + b"0999" + whole[format_at + 4 :]
    script = """
    from pathlib import Path
    module = tvm_ffi.load_module("./model.so")
    x, y = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)
    whole = Path("model.so").read_bytes()
    path = Path(sys.argv[2])
    for content in sys.argv[3:]:
        # In place: the system knows the file by where its code is. The code comes first, and stays.
        with path.open("r+b") as file:
            data = Path(content).read_bytes()
            file.write(data)
            file.truncate(len(data))
        try:
            module.main(x, 1.0, y)
        except RuntimeError as error:
            print(error)
    with path.open("r+b") as file:
        file.write(whole)
    module.main(x, 1.0, y)
    print(*y.ravel())
    """
    shutil.copy(path, library)
    contents = {"cut": whole[:-1], "other": other, "newer": newer}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    found = outside(script, library, library, *contents, folder=tmp_path)
    start = "main: expected its weights in the artifact that it was loaded from, found"
    assert found.splitlines() == [
        f"{start} a file that is no artifact: '{library}'; call model_bind first",
        f"{start} an artifact with other weights: '{library}'; call model_bind first",
        f"{start} an artifact of another format: '{library}'; call model_bind first",
        "1.0 2.0 3.0 4.0 5.0 6.0",
    ]


def test_weights_outlive_the_module_that_bound_them(path: Path, tmp_path: Path) -> None:
    """A library that Inarch has open is the same one for the dynamic loader."""
    script = """
    import gc, sys
    import numpy as np, tvm_ffi, inarch
    own = inarch.load(sys.argv[1])
    module = tvm_ffi.load_module(sys.argv[1])
    x = np.zeros((2, 3), np.float32)
    print(*own(x, np.ones((), np.float32)).ravel())
    for _ in range(2):
        y = np.zeros((2, 3), np.float32)
        module.main(x, 1.0, y)
        print(*y.ravel())
        own = None
        gc.collect()
    """
    copy = tmp_path / "model.so"
    shutil.copy(path, copy)
    command = [sys.executable, "-c", textwrap.dedent(script), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "1.0 2.0 3.0 4.0 5.0 6.0\n" * 3


def test_a_suffix_of_ours_after_asking(path: Path, tmp_path: Path) -> None:
    artifact = tmp_path / "model.inarch"
    shutil.copy(path, artifact)
    register()
    x, s, y = arrays()
    tvm_ffi.load_module(str(artifact)).main(x, s, y)
    np.testing.assert_array_equal(y, (x + W) * 2)


def test_a_program_with_imports(make_program: Callable[..., Path], tmp_path: Path) -> None:
    """To C nobody gives them; through Python it works."""
    path = make_program(tmp_path / "importer.inarch", imports=["twice"])
    with pytest.raises(InarchError) as raised:
        load_module(path)
    assert str(raised.value) == (
        f"{path}: expected a program that is whole, found the imports twice; "
        "fill them with inarch.load, and use to_tvm_func"
    )

    def twice(x: Any, y: Any) -> None:
        y[:] = x * 2

    function = to_tvm_func(inarch.load(path, imports={"twice": twice})["through"])
    y = np.zeros(4, np.float32)
    function(np.arange(4, dtype=np.float32), y)
    assert y.tolist() == [0, 2, 4, 6]
    with pytest.raises(
        ValueError, match=r"through: argument 'x': expected f32\[4\], found f32\[3\]"
    ):
        function(y[:3].copy(), y)
    with pytest.raises(TypeError, match="through: expected 2 arguments, inputs and then outputs"):
        function(y)


def test_an_artifact_without_the_export(make_program: Callable[..., Path], tmp_path: Path) -> None:
    """B5: of an older Inarch, or of others: with path and version."""
    path = make_program(tmp_path / "old.inarch")
    with pytest.raises(InarchError) as raised:
        load_module(path)
    assert str(raised.value) == (
        f"bridge to tvm_ffi: expected the symbol '__tvm_ffi_main' in {path} (for apache-tvm-ffi "
        f"{tvm_ffi.__version__}), found none; compile the model again"
    )


def test_our_numbers_are_those_of_its_header() -> None:
    """B7: the C that we emit repeats what it needs of c_api.h."""
    header = Path(tvm_ffi.__file__).parent / "include" / "tvm" / "ffi" / "c_api.h"
    theirs = dict(re.findall(r"kTVMFFI(\w+) = (\d+)", header.read_text()))
    ours = dict(re.findall(r"INARCH_FFI_(\w+) = (\d+)", tvm_ffi_unit()))
    names = {
        "NONE": "None",
        "INT": "Int",
        "BOOL": "Bool",
        "FLOAT": "Float",
        "DLTENSOR": "DLTensorPtr",
        "TENSOR": "Tensor",
    }
    assert ours.pop("OBJECT_BYTES") == "24"
    assert ours == {name: theirs[other] for name, other in names.items()}


HARNESS = r"""
__thread inarch_thread inarch_here;
int32_t inarch_fail(int32_t code, const char *format, ...) { (void)format; return code; }
const char *inarch_last_message(void) { return ""; }
void inarch_describe(DLDataType dtype, int32_t rank, const int64_t *shape, char *text, size_t size)
{
    (void)dtype, (void)rank, (void)shape, (void)size;
    *text = 0;
}
int main(int count, char **files)
{
    (void)count;
    FILE *file = fopen(files[1], "rb");
    static unsigned char whole[1 << 20];
    const size_t size = fread(whole, 1, sizeof(whole), file);
    inarch_library library;
    memset(&library, 0, sizeof(library));
    library.weights_sha256 = DIGEST;
    library.weights_bytes = BYTES;
    /* The place of the weights is before their number of bytes and their hash; it may be anything. */
    unsigned char *at = whole; /* the last one: the code has such bytes, too */
    for (unsigned char *next; (next = memmem(at, size - (size_t)(at - whole), "INARCHIX", 8)) != NULL;) {
        at = next + 1;
    }
    at = (unsigned char *)memmem(at, size - (size_t)(at - whole), DIGEST, 64) - 20;
    for (int delta = -70; delta <= 70; delta++) {
        unsigned char *copy = malloc(size);
        memcpy(copy, whole, size);
        for (int round = 0; round < 2; round++) {
            const uint64_t place = (round ? 0 : size - BYTES) + (uint64_t)(int64_t)delta;
            memcpy(copy + (at - whole), &place, 8);
            const char *why = "";
            const void *weights = inarch_own_weights(&library, copy, size, &why);
            if ((weights != NULL) != (place <= size - BYTES)) return 2;
        }
        free(copy);
    }
    uint64_t random = 88172645463325252u;
    int found = 0, refused = 0;
    for (int iteration = 0; iteration < 30000; iteration++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        /* The last bytes say where things are: cut there, or changed. */
        const size_t rest = iteration % 3 == 1 ? size - random % 900 : size;
        unsigned char *copy = malloc(rest);
        memcpy(copy, whole, rest);
        for (int i = 0; i < iteration % 3; i++) {
            copy[rest - 1 - (random >> (8 + 16 * i)) % 5000] = (unsigned char)(random >> (40 + 8 * i));
        }
        const char *why = "";
        const char *weights = inarch_own_weights(&library, copy, rest, &why);
        if (weights == NULL) {
            refused++;
        } else {
            found++;
            for (int i = 0; i < BYTES; i++) random += (unsigned char)weights[i];
        }
        free(copy);
    }
    return found > 1000 && refused > 1000 ? 0 : 1;
}
"""


def test_a_damaged_file_is_read_within_its_bytes(path: Path, tmp_path: Path) -> None:
    """30,000 files that are cut or changed, under AddressSanitizer and UndefinedBehaviorSanitizer."""
    with Artifact.open(path) as artifact:
        weights = artifact.manifest.weights
    source = tmp_path / "harness.c"
    source.write_text(tvm_ffi_unit() + HARNESS)
    command = [*find_compiler().command, "-O1", "-g", "-fsanitize=address,undefined"]
    command += ["-fno-sanitize-recover=all", f'-DDIGEST="{weights.sha256}"', str(source)]
    command += [f"-DBYTES={weights.nbytes}", "-o", str(tmp_path / "harness"), "-ldl"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode != 0 and "asan" in built.stderr:
        pytest.skip("the compiler has no sanitizers")
    assert built.returncode == 0, built.stderr
    done = subprocess.run(
        [str(tmp_path / "harness"), str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_missing_file_and_no_artifact(tmp_path: Path) -> None:
    (tmp_path / "no.so").write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(InarchError, match=r"no\.so: "):
        load_module(tmp_path / "no.so")


def test_outputs_of_computed_size_are_refused(tmp_path: Path) -> None:
    """Only Python cuts them: a framework would get what is behind."""
    (tmp_path / "computed.mlir").write_text(COMPUTED)
    module = inarch.compile(tmp_path / "computed.mlir")
    np.testing.assert_array_equal(module(np.arange(4, dtype=np.float32)), [0, 1])
    with pytest.raises(InarchError) as caught:
        to_tvm_func(module)
    assert caught.value.line() == (
        "bridge to tvm_ffi: error: main: expected outputs of known sizes, found y: f32[<=4]; "
        "call it from Python"
    )
