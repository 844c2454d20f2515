"""Which convolutions kernels of others do better on row-major tensors: asked before channels are blocked.

A convolution is lowered with the elementwise ops behind it, once for each layout, as far as `tensorize`; what
kernels make of either is weighed (`Prices`). An external product of matrices gets whole ones of a row-major
image, and slivers of a blocked one; a kernel of 3x3 windows that is written for rows of an image finds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from inarch.dialects import new_context
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise import ElementwiseOp
from inarch.dialects.graph.op import tensor_dtype
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.loop.nest import NestOp
from inarch.ir.context import store_of
from inarch.ir.report.facts import facts_of
from inarch.ir.target import DEMANDED, ESTIMATED, PRECISION, WITHOUT
from inarch.passes.graph.layout.roles import elements
from inarch.passes.lower.trial import lower_trial
from inarch.passes.partition.cut.alone import alone
from inarch.passes.tensorize.choose import KernelTrial, Prices
from inarch.passes.tensorize.weigh.cost import Costs


@dataclass
class Guests:
    """Asks for each convolution of a program, for those that are alike once."""

    context: Context
    module: ModuleOp
    blocking: ModulePass
    """Gives a convolution that is alone blocked channels, whatever that costs."""
    _known: dict[object, bool] = field(default_factory=dict[object, bool])

    @property
    def are_there(self) -> bool:
        """Whether there are kernels that are demanded, or of others."""
        return bool(Prices.of(self.context, self.module).chooser.guests)

    def leaves(self, op: Operation) -> bool:
        """Whether no guest does an op on row-major tensors, better than it is done on blocked ones."""
        if not isinstance(op, ConvOp):
            return True
        key = tuple(
            (
                each.name,
                str(each.properties),
                tuple(str(value.type) for value in (*each.operands, *each.results)),
                tuple(isinstance(value.owner, ConstantOp) for value in each.operands),
            )
            for each in _with_followers(op)
        )
        if key not in self._known:
            self._known[key] = not self._wants_rows(op)
        return self._known[key]

    def _wants_rows(self, op: ConvOp) -> bool:
        ops = list(_with_followers(op))
        rows, nests = self._lowered(ops, ())
        if not rows.is_by_guests(nests):
            return False
        prices, blocked = self._lowered(ops, (self.blocking,))
        # The copies between layouts are of others, too.
        blocked = [nest for nest in blocked if nest.has_reduction]
        own = rows.price(nests)
        if not rows.chooser.demanded:
            # Its neighbours may be blocked: then its image and its result are copied.
            costs = Costs(rows.chooser.maker.machine)
            moved = elements(op.x) + elements(op.out)
            own = replace(
                own, cycles=own.cycles + costs.copy(2 * tensor_dtype(op.x).nbytes * moved)
            )
        return own < prices.price(blocked)

    def _lowered(
        self, ops: Sequence[Operation], first: Iterable[ModulePass]
    ) -> tuple[Prices, list[NestOp]]:
        module, context = alone(self.module, ops), new_context()
        for name in (DEMANDED, WITHOUT, ESTIMATED, PRECISION):
            if name in self.module.attributes:
                module.attributes[name] = self.module.attributes[name]
        store, own = store_of(self.context), store_of(context)
        for each in module.walk():
            if isinstance(each, ConstantOp) and isinstance(each.value, DenseResourceAttr):
                key = each.value.resource_handle.data
                own.set(key, store.get(key))
        trial = facts_of(self.context).get(KernelTrial)
        if trial is not None:
            facts_of(context).put(trial)
        for one in first:
            one.apply(context, module)
        lower_trial(self.context, context, module)
        return Prices.of(context, module), [
            each for each in module.walk() if isinstance(each, NestOp)
        ]


def _with_followers(op: ConvOp) -> Iterator[Operation]:
    """The convolution, and what is computed of its result element by element: kernels may do that, too."""
    yield op
    last: Operation = op
    while len(uses := list(last.results[0].uses)) == 1:
        (use,) = uses
        if not isinstance(use.operation, ElementwiseOp):
            return
        last = use.operation
        yield last
