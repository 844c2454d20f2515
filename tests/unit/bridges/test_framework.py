"""The other side of a bridge: a package that is missing or broken, a symbol that a library lacks."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from inarch.bridges.framework import bridge_symbol, framework
from inarch.core.errors import EnvironmentFault, UnsupportedError
from inarch.runtime.abi import ffi, libc

ROOT = Path(__file__).parents[3]


def test_a_framework_that_is_not_installed() -> None:
    with pytest.raises(EnvironmentFault) as raised:
        framework("no_such_framework", distribution="no-such-framework")
    assert str(raised.value) == (
        "bridge to no_such_framework: expected the package 'no_such_framework', found none; "
        "pip install no-such-framework"
    )


def test_a_framework_that_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_a_framework.py").write_text("import its_other_half\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(EnvironmentFault) as raised:
        framework("half_a_framework")
    assert str(raised.value) == (
        "bridge to half_a_framework: expected the package 'half_a_framework' to be imported, "
        "found ModuleNotFoundError: No module named 'its_other_half'"
    )


def test_a_missing_symbol_is_reported_with_path_and_version() -> None:
    """B5: of a library that is in this process, that of cffi."""
    import _cffi_backend

    path = Path(_cffi_backend.__file__)
    found = bridge_symbol(path, "PyInit__cffi_backend", "cffi")
    handle = libc().dlopen(bytes(path), 1)
    assert found == int(ffi().cast("uintptr_t", libc().dlsym(handle, b"PyInit__cffi_backend")))
    with pytest.raises(EnvironmentFault) as raised:
        bridge_symbol(path, "cffi_from_the_future", "cffi")
    pattern = (
        r"bridge to cffi: expected the symbol 'cffi_from_the_future' in (.+) \(cffi ([\d.]+)\), "
        "found none; this version has another interface"
    )
    match = re.fullmatch(pattern, str(raised.value))
    assert match is not None
    assert match[1] == str(path)


def test_a_library_that_is_not_in_this_process(tmp_path: Path) -> None:
    """B5: it is not opened either."""
    with pytest.raises(EnvironmentFault) as raised:
        bridge_symbol(tmp_path / "lib.so", "f", "no-such-package")
    assert str(raised.value) == (
        f"bridge to no-such-package: expected the library {tmp_path / 'lib.so'} "
        "(no-such-package unknown) in this process"
    )


BRIDGES = sorted(file.stem for file in Path(__file__).parent.glob("*.txt"))
FRAMEWORKS = ("torch", "tvm", "tvm_ffi", "jax", "mxnet")


def test_no_bridge_imports_its_framework() -> None:
    """B4: all of them are importable where no framework is."""
    folder = ROOT / "inarch" / "bridges"
    names = [
        ".".join(("inarch", *path.relative_to(folder.parent).with_suffix("").parts))
        for path in folder.rglob("*.py")
        if path.name != "__init__.py"
    ]
    assert len(names) > 3
    script = (
        f"import sys, importlib\nfor name in {names}: importlib.import_module(name)\n"
        f"print(*({{*{FRAMEWORKS}}} & {{name.partition('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout == "\n"


def test_a_bridge_without_its_framework_skips_and_says_so(tmp_path: Path) -> None:
    """B8: as if none was installed; `make bridges` has an environment for each, where they run."""
    (tmp_path / "hides_frameworks.py").write_text(
        "import sys\n" + "".join(f"sys.modules[{name!r}] = None\n" for name in FRAMEWORKS)
    )
    files = [str(Path(__file__).parent / f"test_{name}.py") for name in BRIDGES]
    options = ["-p", "no:cacheprovider", "--import-mode=importlib", "-q", "-rs", "--rootdir=."]
    command = [sys.executable, "-m", "pytest", *options, "-p", "hides_frameworks", *files]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    for name in BRIDGES:
        reason = rf"SKIPPED \[1\] \S*test_{name}\.py:\d+: .+ not installed: make bridges"
        assert re.search(reason, done.stdout), done.stdout


def test_make_bridges_runs_the_tests_of_each() -> None:
    """B8: with all of its files."""
    every = [f"bridges/{name}" for name in BRIDGES]
    made = subprocess.run(
        ["make", "-n", "bridges", *every], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("make is not installed, or this is no clone")
    (command,) = re.findall(r"tests/bridges\.py (.*)", made.stdout)
    assert command.split() == sorted(BRIDGES)
    for name in BRIDGES:
        assert f"tests/unit/bridges/test_{name}.py" in made.stdout
    assert made.stdout.count("tests/unit/bridges/test_doors_memory.py") == len(BRIDGES)


def test_make_bridges_goes_on_and_prints_a_table(tmp_path: Path) -> None:
    """B8: whatever one says; with another `make`, which fails for JAX and cannot begin with MXNet."""
    make = tmp_path / "make"
    make.write_text(
        "#!/bin/sh\n"
        'case "$2" in\n'
        "  bridge-jax) echo '3 failed, 1 error, 20 passed, 2 skipped in 8.50s'; exit 1;;\n"
        "  bridge-mxnet) exit 2;;\n"
        "  *) echo '7 passed in 94.66s (0:01:34)';;\n"
        "esac\n"
    )
    make.chmod(0o755)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "bridges.py"), "jax", "mxnet", "tvm"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    rows = [
        re.split(r"  +", line.strip()) for line in done.stdout.partition("\n\n")[2].splitlines()
    ]
    assert done.returncode == 1
    assert [[row[0].partition(" ")[0], *row[1:]] for row in rows] == [
        ["framework", "passed", "failed", "skipped", "seconds"],
        ["jax", "20", "4", "2", "8.50"],
        ["mxnet", "0", "no tests", "0"],
        ["apache-tvm-ffi", "7", "0", "0", "94.66"],
    ]


DOORS = {
    "to_torch_func": "inarch.bridges.torch",
    "to_jax_func": "inarch.bridges.jax",
    "to_mxnet_func": "inarch.bridges.mxnet",
    "to_tvm_func": "inarch.bridges.tvm",
}


@pytest.mark.parametrize("door", DOORS)
def test_devices_and_streams_that_the_host_has_not(door: str) -> None:
    """B11: refused by one rule, before the framework is looked for."""
    make = getattr(importlib.import_module(DOORS[door]), door)
    start = f"{door}: expected device 'cpu' and no stream, found"
    end = "; the function runs in host memory"
    with pytest.raises(UnsupportedError) as error:
        make(None, device="cuda:0")
    assert str(error.value) == f"{start} device 'cuda:0'{end}"
    for host in ("cpu", "cpu:0", "cpu(0)"):
        with pytest.raises(
            (AttributeError, EnvironmentFault)
        ):  # the framework is looked for, or None taken
            make(None, device=host)
    with pytest.raises(UnsupportedError) as error:
        make(None, stream=7)
    assert str(error.value) == f"{start} device 'cpu' and stream 7{end}"
