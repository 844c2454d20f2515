"""Running functions on buffers as a host compiles them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import UnsupportedError
from inarch.definitions.execute import as_module, checked_inputs
from inarch.definitions.functions import Array, signature, the_function
from inarch.definitions.run import arguments_of
from inarch.driver.host import find_host
from inarch.driver.options import DEFAULT_HOST
from inarch.ir.target import set_target


def execute_compiled(
    program: ModuleOp | str,
    inputs: Sequence[Array],
    ctx: Context | None = None,
    *,
    function: str | None = None,
    target: str | None = None,
    host: str = DEFAULT_HOST,
) -> list[Array]:
    """The outputs of a function on buffers as `host` compiles it: the thing to be tested.

    Takes what `execute` takes.

    `target` is what it is compiled for (`x86-64-v3`); without, the module's `inarch.target` where
    this machine runs it, else this machine. Raises InarchError, EnvironmentFault without a C
    compiler.
    """
    context, module = as_module(program, ctx)
    chosen = the_function(module, function)
    takes = signature(chosen, module)
    if not takes.is_loop_level:
        raise UnsupportedError(
            f"expected a function on buffers, found @{takes.name} on tensors; lower it to loops first"
        )
    arrays = checked_inputs(takes, inputs)
    copy = module.clone()
    if target is not None:
        set_target(copy, target)
    ordered = arguments_of(takes, arrays)
    find_host(host).run(context, copy, takes.name, ordered)
    return [ordered[position] for position in takes.outputs]
