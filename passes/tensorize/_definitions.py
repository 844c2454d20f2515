"""The `kernel.def`s of a module: one for each instance of a microkernel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

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


@dataclass
class Definitions:
    """The `kernel.def`s of a module; equal instances share one."""

    module: ModuleOp
    _symbols: dict[str, Operation] = field(default_factory=dict[str, Operation])

    def __post_init__(self) -> None:
        for op in self.module.body.ops:
            name = op.properties.get("sym_name")
            if isinstance(name, StringAttr):
                self._symbols[name.data] = op

    def of(self, instance: Instance) -> str:
        """The symbol of the instance's definition, which is made at its first use.

        A symbol that something else has in the module gets a number.
        """
        made = definition(instance)
        name, count = instance.symbol, 0
        while name in self._symbols:
            if _is_same(self._symbols[name], made):
                return name
            count += 1
            name = f"{instance.symbol}_{count}"
            made = definition(replace(instance, symbol=name))
        first = self.module.body.block.first_op
        if first is None:
            self.module.body.block.add_op(made)
        else:
            self.module.body.block.insert_op_before(made, first)
        self._symbols[name] = made
        return name


def definition(instance: Instance) -> DefOp:
    """The `kernel.def` of an instance."""
    kernel, access = instance.kernel, accesses(instance.meaning)
    rank = ranks(instance.meaning)
    dtypes = {**kernel.dtypes, **instance.extras}
    operands = [
        OperandAttr.get(
            name, dtype, access[name], rank[name], kernel.align.get(name, DTYPES[dtype].nbytes)
        )
        for name, dtype in dtypes.items()
    ]
    is_library = is_foreign(kernel) and kernel.registered is None
    return DefOp(
        instance.symbol,
        text(instance.meaning),
        operands,
        kernel.needs,
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
    )


def _is_same(left: Operation, right: Operation) -> bool:
    return isinstance(left, DefOp) and left.properties == right.properties
