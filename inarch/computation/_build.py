"""From a typed program to a module: lowered, compiled by the ordinary pipeline, loaded."""

from __future__ import annotations

from collections.abc import Sequence

from inarch.artifact.manifest import Port
from inarch.computation._lower import lower
from inarch.computation._types import Typed
from inarch.dialects import new_context
from inarch.driver.compile import compile as compile_module
from inarch.driver.options import Options
from inarch.runtime.module import Module


def build(
    typed: Typed, inputs: Sequence[Port], outputs: Sequence[Port], options: Options
) -> Module:
    """The module whose `main` takes `inputs`, then `outputs`. Raises as `inarch.compile`."""
    context = new_context()
    return compile_module(lower(typed, inputs, outputs), options, context=context)
