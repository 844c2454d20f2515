"""An instance of a microkernel as a `kernel.def`."""

from __future__ import annotations

from inarch.dialects.kernel.definition import DefOp, OperandAttr
from inarch.dtypes import DTYPES
from inarch.meaning import accesses, ranks, text
from inarch.microkernel import (
    Instance,
    filled_call,
    function_name,
    instance_source,
    is_foreign,
)


def definition_of(instance: Instance) -> DefOp:
    """The definition called `instance.symbol`; its source is written out, but for a library's symbol."""
    kernel = instance.kernel
    dtypes = {**kernel.dtypes, **instance.extras}
    rank, access = ranks(instance.meaning), accesses(instance.meaning)
    arguments = [
        OperandAttr.get(
            name, dtype, access[name], rank[name], kernel.align.get(name, DTYPES[dtype].nbytes)
        )
        for name, dtype in dtypes.items()
    ]
    foreign = is_foreign(kernel)
    return DefOp(
        instance.symbol,
        text(instance.meaning),
        arguments,
        sorted(kernel.needs),
        source=None if foreign else instance_source(instance),
        symbol=_library_symbol(instance) if foreign else None,
        call=filled_call(instance) if kernel.call is not None else None,
        declare=kernel.declare,
        library=kernel.library,
        link=kernel.link if kernel.library is not None else None,
        libraries=kernel.libraries,
        include_dirs=kernel.include_dirs,
        cflags=kernel.cflags,
        registered=kernel.registered,
    )


def _library_symbol(instance: Instance) -> str | None:
    """The function that a library has; none where calls go through the registry."""
    if instance.kernel.registered is not None:
        return None
    return function_name(instance.kernel, instance.name)
