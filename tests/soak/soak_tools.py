"""What the search needs that the gate does not: what of it is here; `make soak-tools` installs the rest.

System packages come by apt-get, which needs root; without it, the one line to run is printed.
Exit codes: 0, all is here; 1, something is missing still.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from compilers import installed


@dataclass(frozen=True)
class Tool:
    """Something to install."""

    name: str
    use: str
    """What of the search needs it."""
    find: Callable[[], str | None]
    """Where it is; None: it is not here."""
    apt: str = ""
    """Its system package."""
    pip: str = ""
    """Its Python package, of which a wheel is taken."""


def _command(name: str) -> str | None:
    return shutil.which(name)


def _module(name: str) -> str | None:
    spec = importlib.util.find_spec(name)
    return spec.origin if spec else None


def _fuzzer() -> str | None:
    """The library of `clang -fsanitize=fuzzer`, which some packages of clang leave out."""
    clang = installed("clang")
    if clang is None:
        return None
    said = subprocess.run(
        [clang, "-print-resource-dir"], capture_output=True, text=True, check=False
    )
    return next(map(str, Path(said.stdout.strip()).glob("lib/**/libclang_rt.fuzzer*.a")), None)


TOOLS = (
    Tool("gcc", "compilers", partial(installed, "gcc"), "gcc"),
    Tool("clang", "compilers, guided", partial(installed, "clang"), "clang"),
    Tool("libFuzzer", "guided", _fuzzer, "libclang-rt-dev"),
    Tool("aarch64-linux-gnu-gcc", "aarch64", partial(_command, "aarch64-linux-gnu-gcc"),
         "gcc-aarch64-linux-gnu"),
    Tool("qemu-aarch64-static", "aarch64", partial(_command, "qemu-aarch64-static"), "qemu-user-static"),
    Tool("valgrind", "instruction counts", partial(_command, "valgrind"), "valgrind"),
    Tool("atheris", "guided", partial(_module, "atheris"), pip="atheris==3.0.0"),
)  # fmt: skip


def lacks(*names: str) -> str:
    """Which of these tools are missing, and what to do; nothing where all are here."""
    missing = [tool.name for tool in TOOLS if tool.name in names and tool.find() is None]
    return f"no {', '.join(missing)}: make soak-tools" if missing else ""


def main(tools: Sequence[Tool] = TOOLS, *, is_root: bool | None = None) -> int:
    """Installs missing tools, and lists where each is."""
    is_root = os.geteuid() == 0 if is_root is None else is_root
    missing = [tool for tool in tools if tool.find() is None]
    by_apt = [tool.apt for tool in missing if tool.apt]
    command = ["apt-get", "install", "-y", *by_apt]
    if by_apt and is_root:
        for words in (["apt-get", "update"], command):
            subprocess.run(words, check=False, stdin=subprocess.DEVNULL, stdout=2)
    for tool in missing:
        if tool.pip:
            pip = [sys.executable, "-m", "pip", "-q", "install", "--only-binary", ":all:", tool.pip]
            subprocess.run(pip, check=False, stdout=2)
    importlib.invalidate_caches()
    installed.cache_clear()
    places = {tool: tool.find() for tool in tools}
    for tool, place in places.items():
        print(f"{tool.name:22} {place or 'missing':40} {tool.use}")
    if by_apt and not is_root:
        print(f"run as root: apt-get update && {' '.join(command)}")
    return int(None in places.values())


if __name__ == "__main__":
    sys.exit(main())
