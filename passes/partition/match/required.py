"""The passes that a backend requires, on a copy: the program keeps what they did to what it takes.

    convolutions a, b  --quantize-convs-->  quantized a', b'  --the backend takes a'-->  a' and b

A required pass may change what ops compute (a quantization does): the host must not run what the pass made
for somebody else. So the passes run on a copy in which every op may change; the changes of which the
backend takes nothing are undone by hiding those ops behind calls and running the passes again, until what
has changed is what it takes a part of. The rest of such a part (a transposition in front of what it takes)
is the host's, as the pass wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, Region, SSAValue

from inarch.core.blame import raised
from inarch.core.errors import InarchError, UsageError, unknown
from inarch.dialects.graph.call import CallOp
from inarch.ir.context import store_of
from inarch.ir.location import location_text
from inarch.ir.verify import verify_module
from inarch.passes import PASSES
from inarch.passes.backend import BACKENDS, Backend
from inarch.passes.partition.common import tensor_blocks
from inarch.passes.partition.cut.changes import Change, changes

Taken = Callable[[ModuleOp], set[Operation]]
"""The ops of a program that the backend would get."""

_HIDDEN = "inarch_hidden"
"""The functions behind which ops are while the passes run."""


def run_required(ctx: Context, module: ModuleOp, backend: Backend, taken: Taken) -> None:
    """Runs `backend.requires` on what it takes of `module`, in place; `taken` asks it.

    Raises UsageError for a pass that does not exist; InarchError, naming pass and backend, for one that
    raises, leaves an invalid program, or changes a function's signature.
    """
    for name in backend.requires:
        if name not in PASSES:
            message = unknown("pass", name, PASSES).message
            raise UsageError(f"backend '{backend.name}' requires: {message}")
    if not backend.requires:
        return
    hidden: set[Operation] = set()
    with _store_kept(ctx, module) as restore:
        while True:
            restore()
            trial = _Trial(module, hidden)
            trial.run(ctx, backend)
            found = trial.changes()
            if not found:
                return
            mine = taken(trial.copy)
            others = [each for each in found if not each.made & mine]
            _check_undone(backend, hidden, others)
            more = {op for each in others for op in each.originals} - hidden
            if not more:
                _replace(module, trial.copy)
                return
            hidden |= more


def _check_undone(backend: Backend, hidden: set[Operation], others: Sequence[Change]) -> None:
    """Raises for a change that hiding did not, or cannot, undo; hidden ops without users may go."""
    for change in others:
        stays = change.made and change.originals <= hidden
        for op in sorted(change.originals, key=lambda op: location_text(op) or ""):
            if stays or isinstance(op, ReturnOp):
                names = ", ".join(f"'{name}'" for name in backend.requires)
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

    def run(self, ctx: Context, backend: Backend) -> None:
        """The passes, each verified, with the hidden ops out of their sight."""
        self._hide()
        functions = _signatures(self.copy)
        for name in backend.requires:
            constants = _constants(ctx)
            with _blamed(name, backend):
                PASSES[name]().apply(ctx, self.copy)
            self._check_constants(ctx, constants, name, backend)
            try:
                verify_module(self.copy)
            except InarchError as error:
                raise _error(name, backend, f"leaves an invalid program: {error}") from error
            for symbol, kind in functions.items():
                found = _signatures(self.copy).get(symbol)
                if found != kind:
                    what = "removes" if found is None else "changes the signature of"
                    raise _error(name, backend, f"{what} @{symbol}; it may change bodies only")
        self._show()

    def _check_constants(
        self, ctx: Context, before: Mapping[str, memoryview], name: str, backend: Backend
    ) -> None:
        """New bytes under the key of a constant that the pass dropped get a key of their own."""
        store, copies = store_of(ctx), set(self.pairs.values())
        for key, data in _constants(ctx).items():
            if key not in before or data is before[key]:
                continue
            users = [op for op in self.copy.walk() if key in _keys(op)]
            if not copies.isdisjoint(users):
                what = f"changes the bytes of constant '{key}'; it may put new ones in the store"
                raise _error(name, backend, what)
            store.set(key, before[key])
            handle = DenseResourceAttr.from_params
            fresh = store.put(key, data)
            for op in users:
                op.properties |= {
                    each: handle(fresh, value.type)
                    for each, value in op.properties.items()
                    if isinstance(value, DenseResourceAttr)
                }

    def changes(self) -> list[Change]:
        """What the passes changed together."""
        return changes(list(self.pairs.items()), self.values)

    def _hide(self) -> None:
        for number, op in enumerate(op for op in self.pairs if op in self.hidden):
            copy = self.pairs[op]
            symbol = f"{_HIDDEN}_{number}"
            call = CallOp(symbol, copy.operands, [result.type for result in copy.results])
            call.location = copy.location
            self._exchange(copy, call)
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
            self._exchange(call, shown)
            call.erase()
            self.pairs[original] = shown
        for op in list(self.copy.body.block.ops):
            if isinstance(op, FuncOp) and op.sym_name.data in self._behind:
                op.detach()
                op.erase()

    @staticmethod
    def _exchange(old: Operation, new: Operation) -> None:
        """Puts `new` in the place of `old`, which is detached."""
        block = old.parent
        assert block is not None, "it is in a function"
        block.insert_op_before(new, old)
        for before, now in zip(old.results, new.results, strict=True):
            now.name_hint = before.name_hint
            before.replace_all_uses_with(now)
        old.detach()


def _replace(module: ModuleOp, copy: ModuleOp) -> None:
    """Gives `module` the contents of `copy`."""
    old, new = module.body, copy.body
    module.detach_region(old)
    copy.detach_region(new)
    module.add_region(new)
    old.erase()


def _signatures(module: ModuleOp) -> Mapping[str, object]:
    return {f.sym_name.data: f.function_type for f in module.body.ops if isinstance(f, FuncOp)}


# ---------------------------------------------------------------------------------- errors


@contextmanager
def _blamed(name: str, backend: Backend) -> Generator[None]:
    """Whatever the pass raises is its own, in one line."""
    try:
        yield
    except InarchError as error:
        raise _error(name, backend, str(error)) from error
    except Exception as error:
        raise _error(name, backend, raised(error, PASSES.origin(name))) from error


def _error(name: str, backend: Backend, what: str) -> InarchError:
    return InarchError(
        f"pass '{name}' [{PASSES.origin(name).source}], which backend '{backend.name}' "
        f"[{BACKENDS.origin(backend.name).source}] requires: {what}"
    )


# ---------------------------------------------------------------------------------- constants


@contextmanager
def _store_kept(ctx: Context, module: ModuleOp) -> Generator[Callable[[], None]]:
    """Afterwards the store has what `module` uses, and nothing of what was tried; yields how to begin anew.

    Passes put new constants there, and drop what they replace: also where that comes to nothing.
    """
    store, before, used_before = store_of(ctx), _constants(ctx), _used(module)

    def restore() -> None:
        for key in set(before) - set(store.keys()):
            store.set(key, before[key])

    try:
        yield restore
    finally:
        used, now = _used(module), set(store.keys())
        for key in (now - set(before) | used_before) - used:
            store.drop(key)
        for key in (set(before) - now) & used:
            store.set(key, before[key])


def _constants(ctx: Context) -> dict[str, memoryview]:
    store = store_of(ctx)
    return {key: store.get(key) for key in store.keys()}  # noqa: SIM118 - not a mapping


def _used(module: ModuleOp) -> set[str]:
    return {key for op in module.walk() for key in _keys(op)}


def _keys(op: Operation) -> set[str]:
    """The constants of the store that an op has."""
    values = op.properties.values()
    return {v.resource_handle.data for v in values if isinstance(v, DenseResourceAttr)}
