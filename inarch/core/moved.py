"""Names that modules and groups of entry points once had: using one fails, and says the new one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path


@cache
def moved() -> Mapping[str, str]:
    """Old name -> new name, of modules and packages; read only when a name was not found."""
    import json

    found: dict[str, str] = json.loads(Path(__file__).with_suffix(".json").read_text())
    return found


class MovedFinder:
    """The last of `sys.meta_path`: what nothing else found may have another name now."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """None; raises ModuleNotFoundError for an old name."""
        del path, target
        if name.startswith("inarch.") and (new := moved().get(name)) is not None:
            # Not `name`: of a `from inarch import errors` Python forgets the error of that name.
            raise ModuleNotFoundError(f"{name} is now {new}", name=new)
        return None
