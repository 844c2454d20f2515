"""A model compiled as `inarch.compile` does, with its artifact kept: for who opens a model often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.core.errors import UnsupportedError
from inarch.core.scratch import scratch
from inarch.driver.keep.kept import Entry
from inarch.driver.keep.program import kept_program
from inarch.runtime.module import Module, load

if TYPE_CHECKING:
    from inarch.driver.built import Built
    from inarch.driver.options import Options
    from inarch.frontends.open import Interface


def kept_model(
    source: Path | bytes,
    options: Options,
    digest: str,
    interface: Callable[[], Interface],
    *,
    is_open: bool,
    deciding: Sequence[str] = (),
) -> Module:
    """The module of the model `source`, of which `digest` says all, and `interface` what it takes and gives.

    Where sizes are open, or `deciding` inputs decide them, an `OpenModule`. Raises as `inarch.compile`.
    Nothing of the compiler is imported where the artifact of a model without open sizes is there.
    """
    if not is_open and not deciding:
        try:
            return _static(source, options, digest)
        except UnsupportedError as error:
            if not error.deciding:
                raise
            deciding = error.deciding
    from inarch.driver.open_model import open_model

    found = open_model(source, options, deciding, interface())
    assert found is not None, "its interface is known"
    return found


def _static(source: Path | bytes, options: Options, digest: str) -> Module:
    if isinstance(source, bytes):
        said = f"model {digest} {options.name}"
        return kept_program(said, options, lambda: _made(source, options, None))
    return _made(source, options, Entry.of(source, options, "model"))


def _made(source: Path | bytes, options: Options, entry: Entry | None) -> Module:
    with scratch("inarch-model-") as folder:
        path = folder / "model.inarch"
        if entry is None or entry.restore(path) is None:
            from inarch.dialects import new_context

            context = new_context()

            def make(output: Path) -> Built:
                from inarch.driver.compiler import build

                return build(source, output, options, context=context)

            if entry is None:
                make(path)
            else:
                entry.made(path, make, context, "")
        return load(path)
