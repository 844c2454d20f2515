"""A clone called `inarch`, met from its parent folder: Python takes it for the package, which is inside.

Without this file it would be a namespace without anything in it: `module 'inarch' has no attribute 'load'`.
"""

if __name__ == "inarch":
    from pathlib import Path

    _inside = Path(__file__).parent / "inarch"
    __path__ = [str(_inside)]
    __file__ = str(_inside / "__init__.py")
    exec(compile(Path(__file__).read_text("utf-8"), __file__, "exec"))
