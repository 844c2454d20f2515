"""Texts with holes that `inarch explain` and `inarch new` fill in."""

from __future__ import annotations

from importlib.resources import files


def template(name: str) -> str:
    """The text of the template `name`."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
