"""Runs a program in which `onnxruntime` is Inarch's: `python -m inarch.compat.onnxruntime script.py`."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from inarch.compat.onnxruntime.installed import FOLDER, install

_HELP = """\
usage: python -m inarch.compat.onnxruntime [--help | --path] (SCRIPT | -m MODULE | -c CODE) [ARGUMENTS ...]

Runs a Python program that imports onnxruntime, unchanged, with Inarch in its place: also in the Python
processes that the program starts.

  python -m inarch.compat.onnxruntime detect.py photo.jpg
  python -m inarch.compat.onnxruntime -m rapidocr_onnxruntime.main --img_path photo.jpg
  python -m inarch.compat.onnxruntime "$(command -v magika)" photo.jpg

Where the command cannot be changed:

  export PYTHONPATH="$(python -m inarch.compat.onnxruntime --path)"    # a folder with a package onnxruntime
  inarch.compat.onnxruntime.install()                                  # in Python, before the first import
"""


def main(words: Sequence[str]) -> int:
    """Runs what `words` name; 2 where they name nothing."""
    match words:
        case ["--help" | "-h", *_]:
            sys.stdout.write(_HELP)
        case ["--path"]:
            sys.stdout.write(f"{FOLDER}\n")
        case ["-m", module, *arguments]:
            install()
            sys.argv = [module, *arguments]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *arguments]:
            install()
            sys.argv = ["-c", *arguments]
            exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
        case [script, *arguments] if not script.startswith("-"):
            if not Path(script).exists():
                sys.stderr.write(f"error: expected a script, found no file '{script}'\n")
                return 2
            install()
            sys.argv = [script, *arguments]
            sys.path[1] = str(Path(script).resolve().parent)  # it was the folder of `python -m`
            runpy.run_path(script, run_name="__main__")
        case _:
            what = f"'{words[0]}'" if words else "nothing"
            sys.stderr.write(
                f"error: expected a script, -m MODULE or -c CODE, found {what}; --help has examples\n"
            )
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
