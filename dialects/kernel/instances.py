"""An instance of a microkernel as a `kernel.def`."""

from __future__ import annotations

from inarch.core.dtypes import DTYPES
from inarch.dialects.kernel.definition import DefOp, OperandAttr
from inarch.meaning import accesses, ranks, text
from inarch.microkernel import (
    Instance,
    filled_call,
    function_name,
    instance_source,
    is_foreign,
)


def definition_of(instance: Instance) -> DefOp:
    """The definition called `instance.symbol`; its source is written out, unless it is from elsewhere."""
    kernel = instance.kernel
    dtypes = {**kernel.dtypes, **instance.extras}
    rank, access = ranks(instance.meaning), accesses(instance.meaning)
    arguments = [
        OperandAttr.get(
            name, dtype, access[name], rank[name], kernel.align.get(name, DTYPES[dtype].nbytes)
        )
        for name, dtype in dtypes.items()
    ]
    is_library = is_foreign(kernel) and kernel.registered is None
    return DefOp(
        instance.symbol,
        text(instance.meaning),
        arguments,
        sorted(kernel.needs),
        source=None if is_foreign(kernel) else instance_source(instance),
        symbol=function_name(kernel, instance.name) if is_library else None,
        call=filled_call(instance) if is_library and kernel.call is not None else None,
        declare=kernel.declare if is_library else None,
        library=kernel.library if is_library else None,
        link=kernel.link if is_library and kernel.library is not None else None,
        libraries=kernel.libraries,
        include_dirs=kernel.include_dirs,
        cflags=kernel.cflags,
        registered=kernel.registered,
        license=kernel.license or None,
        ahead=kernel.ahead,
        contract=kernel.contract and not is_foreign(kernel) and kernel.asm is None,
    )
