"""libinarch as a shared library under ctypes, programs of C, and a model for both."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import inarch
from inarch.machine.compilers import find_compiler
from inarch.runtime.c import INCLUDE, LIBS, sources
from inarch.runtime.c.install import install
from tests.unit.runtime.c.crafted import Index, file_of
from tests.unit.runtime.c.steps import HERE, built, compiled

STRICT = ("-Wall", "-Wextra", "-Werror", "-Wpedantic")
MODEL = """
func.func @main(%x: tensor<96x64xf32> {inarch.name = "x"}) -> (tensor<96x256xf32> {inarch.name = "y"}) {
  %w = graph.constant dense<0.125> : tensor<64x256xf32>
  %0 = graph.matmul %x, %w : tensor<96x64xf32>, tensor<64x256xf32> -> tensor<96x256xf32>
  %1 = graph.exp %0 : tensor<96x256xf32> -> tensor<96x256xf32>
  func.return %1 : tensor<96x256xf32>
}
"""
"""With weights, and loops that threads share."""


class Port(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("bytes", ctypes.c_int64),
        ("effects", ctypes.c_int32),
        ("device_type", ctypes.c_int32),
    ]


class Function(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("inputs", ctypes.c_int32),
        ("outputs", ctypes.c_int32),
        ("ports", ctypes.POINTER(Port)),
        ("workspace_bytes", ctypes.c_int64),
    ]


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_int32),
        ("import_count", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("imports", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
        ("allocator", ctypes.c_void_p),
        ("loaders", ctypes.c_void_p),
    ]


@dataclass(frozen=True)
class CRuntime:
    """The functions of libinarch, and what most tests do with them."""

    functions: Any

    def open(
        self,
        path: Path | None,
        flags: int = 0,
        allocator: int | None = None,
        loaders: Sequence[Path] = (),
    ) -> tuple[int, Any]:
        module = ctypes.c_void_p()
        listed = (ctypes.c_char_p * (len(loaders) + 1))(*map(bytes, loaders), None)
        options = Options(ctypes.sizeof(Options), flags=flags, allocator=allocator)
        if loaders:
            options.loaders = ctypes.addressof(listed)
        name = None if path is None else bytes(path)
        status = self.functions.inarch_open(name, ctypes.byref(options), ctypes.byref(module))
        return status, module

    def opened(self, path: Path, flags: int = 0) -> Any:
        status, module = self.open(path, flags)
        assert status == 0, self.message()
        return module

    def instance(self, module: Any, function: str = "main") -> Any:
        instance = ctypes.c_void_p()
        status = self.functions.inarch_instance_new(
            module, function.encode(), None, ctypes.c_size_t(0), ctypes.byref(instance)
        )
        assert status == 0, self.message()
        return instance

    def message(self) -> str:
        return self.functions.inarch_last_error().decode()

    def close(self, module: Any) -> None:
        self.functions.inarch_close(module)


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> CRuntime:
    """libinarch in this process."""
    path = tmp_path_factory.mktemp("libinarch") / "libinarch.so"
    command = [*find_compiler().command, "-std=c11", "-O1", "-fPIC", "-shared", f"-I{INCLUDE}"]
    subprocess.run([*command, *map(str, sources()), *LIBS, "-o", str(path)], check=True)
    functions: Any = ctypes.CDLL(str(path))
    functions.inarch_last_error.restype = ctypes.c_char_p
    functions.inarch_module_name.restype = ctypes.c_char_p
    functions.inarch_module_target.restype = ctypes.c_char_p
    functions.inarch_dtype_name.restype = ctypes.c_char_p
    functions.inarch_function_named.restype = ctypes.POINTER(Function)
    functions.inarch_function_at.restype = ctypes.POINTER(Function)
    for name in ("inarch_bind_input", "inarch_bind_output"):
        getattr(functions, name).argtypes = [
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_void_p,
            ctypes.c_size_t,
        ]
    return CRuntime(functions)


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """inarch-run, installed."""
    folder = tmp_path_factory.mktemp("opt")
    made = install(folder)
    names = [
        f"include/{name}"
        for name in ("inarch.h", "inarch.hpp", "inarch_loader.h", "inarch_runtime.h")
    ]
    names += ["lib/libinarch.a", "bin/inarch-run"]
    assert [str(path.relative_to(folder)) for path in made] == names
    return folder / "bin" / "inarch-run"


@pytest.fixture(scope="session")
def shared_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`MODEL`, compiled for this machine; not to be changed."""
    source = tmp_path_factory.mktemp("c-model") / "model.mlir"
    source.write_text(MODEL)
    path = source.with_suffix(".inarch")
    inarch.compile(source, name="cmodel").save(path)
    return path


@pytest.fixture
def model(shared_model: Path, tmp_path: Path) -> Path:
    """A file of its own, which a test may change."""
    return Path(shutil.copy(shared_model, tmp_path / "m.inarch"))


Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles a program with libinarch; skips where the compiler cannot (sanitizers).

    libinarch is compiled once for each command and its flags: it takes most of the time.
    """
    known: dict[tuple[str, ...], list[str]] = {}

    def done(words: Sequence[str], folder: Path) -> None:
        made = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if "cannot find" in made.stderr and "san" in made.stderr:
            pytest.skip(f"{words[0]} has no sanitizer here")
        assert made.returncode == 0, made.stderr

    def library(words: tuple[str, ...]) -> list[str]:
        if words not in known:
            folder = tmp_path_factory.mktemp("objects")
            done([*words, "-c", *map(str, sources())], folder)
            known[words] = [str(path) for path in sorted(folder.glob("*.o"))]
            assert len(known[words]) == len(sources())
        return known[words]

    def make(program: Path, command: Sequence[str], *flags: str) -> Path:
        out = tmp_path_factory.mktemp("built") / program.stem
        words = (*command, *STRICT, *flags, f"-I{INCLUDE}", f"-I{sources()[0].parent}")
        # Behind `-x c++` objects would be read as C++.
        rest = ["-x", "none", *library(words), *LIBS, "-o", str(out)]
        done([*words, str(program), *rest], out.parent)
        return out

    return make


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An artifact with random regions of the format `steps`; no loader is beside it."""
    return compiled(tmp_path_factory.mktemp("steps"))


@pytest.fixture(scope="session")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their loader in C."""
    return built(tmp_path_factory.mktemp("loader") / "inarch-loader-steps.so")


@pytest.fixture(scope="session")
def crafted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library and the loader of crafted.c, found by the name of its format."""
    path = tmp_path_factory.mktemp("crafted") / "inarch-loader-raw.so"
    return built(path, "-O0", source=HERE / "crafted.c")


@pytest.fixture
def write(crafted: Path, tmp_path: Path) -> Callable[[Index], Path]:
    """Writes the file of an index around that library; another file each time."""

    def written(index: Index) -> Path:
        path = tmp_path / "m.inarch"
        path.unlink(missing_ok=True)  # an open one keeps its content
        path.write_bytes(file_of(crafted.read_bytes(), index))
        return path

    return written
