"""The `kernel.def`s of a module: one for each instance of a microkernel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.instances import definition_of
from inarch.ir.names import symbols_of
from inarch.microkernel import Instance


@dataclass
class Definitions:
    """The `kernel.def`s of a module; equal instances share one."""

    module: ModuleOp
    _symbols: dict[str, Operation] = field(default_factory=dict[str, Operation])
    _made: list[tuple[Instance, str]] = field(default_factory=list[tuple[Instance, str]])

    def __post_init__(self) -> None:
        self._symbols.update(symbols_of(self.module))

    def of(self, instance: Instance) -> str:
        """The symbol of the instance's definition, which is made at its first use.

        A symbol that something else has in the module gets a number.
        """
        for known, symbol in self._made:
            if known == instance:
                return symbol  # its source need not be generated again
        symbol = self._defined(instance)
        self._made.append((instance, symbol))
        return symbol

    def _defined(self, instance: Instance) -> str:
        made = definition_of(instance)
        name, count = instance.symbol, 0
        while name in self._symbols:
            if _is_same(self._symbols[name], made):
                return name
            count += 1
            name = f"{instance.symbol}_{count}"
            made = definition_of(replace(instance, symbol=name))
        first = self.module.body.block.first_op
        if first is None:
            self.module.body.block.add_op(made)
        else:
            self.module.body.block.insert_op_before(made, first)
        self._symbols[name] = made
        return name


def _is_same(left: Operation, right: Operation) -> bool:
    return isinstance(left, DefOp) and left.properties == right.properties
