"""Runs a program in which `onnxruntime` is Inarch's: `python -m inarch.compat.onnxruntime script.py`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from inarch.compat.onnxruntime.installed import FOLDER, install

_HELP = """\
usage: python -m inarch.compat.onnxruntime (SCRIPT | -m MODULE | -c CODE | -) [ARGUMENTS ...]
       python -m inarch.compat.onnxruntime (--help | --path)

Runs a Python program that imports onnxruntime, unchanged, with Inarch in its place: also in the Python
processes that the program starts. All else is as with the same words after python.

  python -m inarch.compat.onnxruntime detect.py photo.jpg
  python -m inarch.compat.onnxruntime -m rapidocr_onnxruntime.main --img_path photo.jpg
  python -m inarch.compat.onnxruntime "$(command -v magika)" photo.jpg
  python -m pdb -m inarch.compat.onnxruntime detect.py photo.jpg

Where the command cannot be changed:

  export PYTHONPATH="$(python -m inarch.compat.onnxruntime --path)"    # a folder with a package onnxruntime
  inarch.compat.onnxruntime.install()                                  # in Python, before the first import
"""


def main(words: Sequence[str]) -> int:
    """Becomes the program that `words` name; 2 where they name nothing."""
    first = words[0] if words else ""
    if first in ("--help", "-h"):
        sys.stdout.write(_HELP)
        return 0
    if first == "--path":
        sys.stdout.write(f"{FOLDER}\n")
        return 0
    fault = ""
    if not words or (first.startswith("-") and first != "-" and first[:2] not in ("-m", "-c")):
        found = f"'{first}'" if words else "nothing"
        fault = f"expected a script, -m MODULE, -c CODE or -, found {found}; --help has examples"
    elif sys.flags.ignore_environment:
        fault = "expected Python to read PYTHONPATH, found one of its options -E and -I"
    if fault:
        sys.stderr.write(f"error: {fault}\n")
        return 2
    install()
    sys.stdout.flush()
    # Another interpreter, as no other way has the same `__main__`, path, messages and exit codes.
    return os.execv(
        sys.executable, [sys.executable, *_options(sys.orig_argv[1:], len(words)), *words]
    )


def _options(before: Sequence[str], count: int) -> list[str]:
    """What stands before this module and its `count` words: Python's options; a debugger with its own.

    >>> _options(["-u", "-m", "inarch.compat.onnxruntime", "a.py"], 1)
    ['-u']
    >>> _options(["-m", "pdb", "-um", "inarch.compat.onnxruntime", "a.py"], 1)
    ['-m', 'pdb', '-u']
    """
    found = [*before[: len(before) - count]]
    if found and not found[-1].startswith("-"):
        found.pop()  # the module's name, which may be one word with its option
    option = found.pop().partition("m")[0] if found else "-"
    return found if option == "-" else [*found, option]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
