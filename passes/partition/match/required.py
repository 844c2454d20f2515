"""The passes that a backend requires, on a copy: the program keeps what they did to what it takes.

    convolutions a, b  --quantize-convs-->  quantized a', b'  --the backend takes a'-->  a' and b

A required pass may change what ops compute (a quantization does): the host must not run what the pass made
for somebody else. So the passes run on a copy in which every op may change; the changes of which the
backend takes nothing are undone by hiding those ops behind calls and running the passes again, until what
has changed is what it takes a part of. The rest of such a part (a transposition in front of what it takes)
is the host's, as the pass wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.passes import ModulePass

from inarch.core.errors import InarchError
from inarch.dialects.graph.call import CallOp
from inarch.ir.edit import erase, exchange
from inarch.ir.location import location_text
from inarch.offload.instance import Asked
from inarch.passes.partition.common import tensor_blocks
from inarch.passes.partition.cut.changes import Change, changes
from inarch.passes.partition.match.own import own_passes, run_own, store_kept

Taken = Callable[[ModuleOp], set[Operation]]
"""The ops of a program that the backend would get."""

_HIDDEN = "inarch_hidden"
"""The functions behind which ops are while the passes run."""


def run_required(ctx: Context, module: ModuleOp, asked: Asked, taken: Taken) -> None:
    """Runs the passes that `asked` requires on what it takes of `module`, in place; `taken` asks it.

    Raises UsageError for a pass that does not exist; InarchError, naming pass and backend, for one that
    raises, leaves an invalid program, or changes a function's signature.
    """
    passes = own_passes(asked, asked.backend.requires, "requires")
    if not passes:
        return
    hidden: set[Operation] = set()
    with store_kept(ctx, module) as restore:
        while True:
            restore()
            trial = _Trial(module, hidden)
            trial.run(ctx, passes, asked)
            found = trial.changes()
            if not found:
                return
            mine = taken(trial.copy)
            others = [each for each in found if not each.made & mine]
            _check_undone(asked, hidden, others)
            more = {op for each in others for op in each.originals} - hidden
            if not more:
                _replace(module, trial.copy)
                return
            hidden |= more


def _check_undone(backend: Asked, hidden: set[Operation], others: Sequence[Change]) -> None:
    """Raises for a change that hiding did not, or cannot, undo; hidden ops without users may go."""
    for change in others:
        stays = change.made and change.originals <= hidden
        for op in sorted(change.originals, key=lambda op: location_text(op) or ""):
            if stays or isinstance(op, ReturnOp):
                names = ", ".join(f"'{name}'" for name in backend.backend.requires)
                raise InarchError(
                    f"'{op.name}' is changed by what backend '{backend.name}' requires ({names}), though "
                    "nothing of it is the backend's; a required pass must change the ops that it knows only",
                    where=location_text(op),
                )


@dataclass
class _Trial:
    """A copy of the program in which some ops are hidden while passes run."""

    module: ModuleOp
    hidden: set[Operation]
    copy: ModuleOp = field(init=False)
    pairs: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    """The ops of the program, with their copies."""
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _behind: dict[str, Operation] = field(default_factory=dict[str, Operation])

    def __post_init__(self) -> None:
        self.copy = self.module.clone()
        blocks = zip(tensor_blocks(self.module), tensor_blocks(self.copy), strict=True)
        for (_, block), (_, copied) in blocks:
            self.pairs.update(zip(block.ops, copied.ops, strict=True))
            self.values.update(zip(block.args, copied.args, strict=True))

    def run(self, ctx: Context, passes: Sequence[ModulePass], backend: Asked) -> None:
        """The passes, each verified, with the hidden ops out of their sight."""
        self._hide()
        run_own(ctx, self.copy, passes, backend, set(self.pairs.values()), "requires")
        self._show()

    def changes(self) -> list[Change]:
        """What the passes changed together."""
        return changes(list(self.pairs.items()), self.values)

    def _hide(self) -> None:
        for number, op in enumerate(op for op in self.pairs if op in self.hidden):
            copy = self.pairs[op]
            symbol = f"{_HIDDEN}_{number}"
            call = CallOp(symbol, copy.operands, [result.type for result in copy.results])
            call.location = copy.location
            exchange(copy, call)
            types = [value.type for value in copy.operands], [value.type for value in copy.results]
            self.copy.body.block.add_op(FuncOp(symbol, types, Region(), StringAttr("private")))
            self._behind[symbol] = op
            copy.erase()

    def _show(self) -> None:
        for call in [op for op in self.copy.walk() if isinstance(op, CallOp)]:
            original = self._behind.get(call.callee.string_value())
            if original is None:
                continue
            mapper: dict[SSAValue, SSAValue] = dict(
                zip(original.operands, call.operands, strict=True)
            )
            shown = original.clone(mapper)
            exchange(call, shown)
            call.erase()
            self.pairs[original] = shown
        for op in list(self.copy.body.block.ops):
            if isinstance(op, FuncOp) and op.sym_name.data in self._behind:
                erase(op)


def _replace(module: ModuleOp, copy: ModuleOp) -> None:
    """Gives `module` the contents of `copy`."""
    old, new = module.body, copy.body
    module.detach_region(old)
    copy.detach_region(new)
    module.add_region(new)
    old.erase()
