"""A dialect is a folder; its ops and attributes are what the folder's files define."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

from xdsl.ir import Attribute, Dialect, Operation


def dialect(package: str) -> Dialect:
    """The dialect of every op and attribute class in the modules of `package`, and in its rooms.

    A class is one when it has a `name` that starts with the dialect's; abstract bases have none.
    """
    short = package.rpartition(".")[2]
    names = [m.name for m in walk_packages(import_module(package).__path__, f"{package}.")]
    modules = [import_module(name) for name in sorted(names, key=lambda n: n.rpartition(".")[2])]
    classes = [
        thing
        for module in modules
        for thing in vars(module).values()
        if isinstance(thing, type)
        and thing.__module__ == module.__name__
        and str(getattr(thing, "name", "")).startswith(f"{short}.")
    ]
    return Dialect(
        short,
        [c for c in classes if Operation in c.mro()],
        [c for c in classes if Attribute in c.mro()],  # issubclass asks every known class
    )
