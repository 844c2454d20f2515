"""From a model to a running module: `module = compile("model.onnx")`."""

from __future__ import annotations

from typing import Unpack

from xdsl.context import Context

from inarch.backends.host import Progress
from inarch.core.errors import UnsupportedError
from inarch.core.scratch import scratch
from inarch.driver.compiler import Source, build
from inarch.driver.open_model import open_model
from inarch.driver.options import Options, Settings
from inarch.frontends.open import OpenSizesError
from inarch.runtime.module import Module, load


def compile(  # noqa: A001 - the verb of a compiler; users write inarch.compile
    source: Source,
    options: Options | None = None,
    *,
    context: Context | None = None,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> Module:
    """Compiles a model and loads it.

    `settings` are fields of `Options`, which says what each is for: `compile(model, target="x86-64-v3")`.
    `context` is that of a ModuleOp `source`; the module is consumed.

    A model that leaves sizes open is compiled for those that it is called with, and keeps each; so are small
    inputs that decide shapes, such as the shape of a Reshape (`inarch.driver.open_model`).

    Raises InarchError for a bad model or backend, EnvironmentFault when there is no C compiler.
    """
    chosen = Options.of(options, settings)
    with scratch("inarch-compiler-") as folder:
        path = folder / "model.inarch"
        try:
            build(source, path, chosen, context=context, progress=progress)
        except (OpenSizesError, UnsupportedError) as error:
            deciding = error.deciding if isinstance(error, UnsupportedError) else ()
            is_open = isinstance(error, OpenSizesError) or deciding
            if not is_open or chosen.specialize or context is not None:
                raise
            found = open_model(source, chosen, deciding)
            if found is None:
                raise
            return found
        return load(path)  # which maps the file: its name is not needed any more
