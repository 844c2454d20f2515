"""What a module says about itself: functions, their arguments, the workspace, the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnknownLoc,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from inarch.artifact.manifest import Import
from inarch.backends.c.plan.alignment import Alignments
from inarch.backends.c.text import Names, identifier
from inarch.backends.entries import Entry, entry_of
from inarch.core.errors import InarchError, UnsupportedError
from inarch.core.once import cached_property
from inarch.dialects.kernel.call import CallOp as KernelCallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.buffer import (
    WORKSPACE_ALIGNMENT_BYTES,
    AllocOp,
    ConstantOp,
    root,
)
from inarch.dialects.loop.control import CallOp
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.dialects.loop.nest import NestOp
from inarch.ir.functions import argument_attributes, is_private
from inarch.ir.location import location_text
from inarch.ir.target import threads_of
from inarch.ir.verify import verify_symbol_user
from inarch.microkernel.code import KernelCode

_OWN = (
    "bind",
    "abi_version",
    "last_error",
    "weights_sha256",
    "set_threads",
    "pool",
    "library",
    "explain",
    "on_fallback",
    "absent",
)
"""What a public function cannot be called: the library has functions of these names."""


@dataclass(frozen=True)
class ProgramPlan:
    """A module, read once: its functions by role, and what the functions of C are called."""

    prefix: str
    public: tuple[FuncOp, ...]
    private: tuple[FuncOp, ...]
    """Private functions with a body: kernels."""
    imports: tuple[FuncOp, ...]
    """Private functions without one; those that are linked last."""
    c_names: Mapping[str, str]
    """C function of each public function's unchecked entry and each kernel, by symbol."""
    written: Mapping[str, frozenset[int]] = field(repr=False)
    """By symbol, the positions of the arguments that are written to."""
    definitions: Mapping[str, DefOp]
    """Microkernels by symbol."""
    registered: Mapping[str, int]
    """Slots through which microkernels are called that are registered functions -> the operands they read."""
    weights_bytes: int
    checked: bool
    """Whether every call of an import checks that each output is written (`inarch.checked`)."""
    threads: int
    """How many share a loop, at most; 0: as many as whoever calls says."""

    def kernels_of(self, functions: Iterable[FuncOp]) -> tuple[KernelCode, ...]:
        """The microkernels that `functions` call, in the order of their first call."""
        found: dict[str, DefOp] = {}
        for function in functions:
            for op in function.body.walk():
                if isinstance(op, KernelCallOp):
                    symbol = op.callee.root_reference.data
                    found.setdefault(symbol, self.definitions[symbol])
        return tuple(_kernel_code(definition) for definition in found.values())

    @cached_property
    def names(self) -> Names:
        """What no function calls anything of its own: the functions of C, its own and of microkernels."""
        return Names({*self.c_names.values(), *map(c_name, self.definitions.values())})

    @cached_property
    def import_table(self) -> tuple[Import, ...]:
        """The slots: imports and registered microkernels, filled at load; then what is linked."""
        slots = [import_slot(self, function) for function in self.imports]
        bound = [slot for slot in slots if slot.linked is None]
        names = {slot.name for slot in slots}
        kernels = [
            Import(name, reads=reads)
            for name, reads in self.registered.items()
            if name not in names
        ]
        return (*bound, *kernels, *(slot for slot in slots if slot.linked is not None))

    @cached_property
    def slots(self) -> Mapping[str, int]:
        """Where each import is in the table, by its name there."""
        return {slot.name: position for position, slot in enumerate(self.import_table)}

    @cached_property  # asked for each op
    def functions(self) -> Mapping[str, FuncOp]:
        """Every function, by symbol."""
        return {f.sym_name.data: f for f in (*self.public, *self.private, *self.imports)}


def read_program(module: ModuleOp) -> ProgramPlan:
    """The program of a lowered module. Raises InarchError at the function that C cannot have."""
    functions = [op for op in module.body.ops if isinstance(op, FuncOp)]
    name = module.attributes.get("inarch.name")
    prefix = identifier(name.data if isinstance(name, StringAttr) and name.data else "model")
    public = tuple(f for f in functions if not is_private(f))
    for function in public:
        if function.is_declaration or function.sym_name.data in _OWN:
            raise InarchError(
                f"public function @{function.sym_name.data}: expected a body, and a name that is none of "
                f"{', '.join(_OWN)}",
                where=location_text(function),
            )
    private = tuple(f for f in functions if is_private(f) and not f.is_declaration)
    imports = [f for f in functions if is_private(f) and f.is_declaration]
    imports.sort(key=lambda f: linked_to(f) is not None)
    _check_arguments(functions)
    definitions = {op.sym_name.data: op for op in module.body.ops if isinstance(op, DefOp)}
    alignments = Alignments(functions, public)
    for op in module.walk():
        if isinstance(op, KernelCallOp):
            verify_symbol_user(op, definitions)
            alignments.check(op, definitions)
    return ProgramPlan(
        prefix,
        public,
        private,
        tuple(imports),
        _c_names(prefix, public, private),
        _written(module, functions),
        definitions,
        _registered(module, definitions),
        planned_weights_bytes(module),
        "inarch.checked" in module.attributes,
        threads_of(module),
    )


def _check_arguments(functions: Sequence[FuncOp]) -> None:
    for function in functions:
        for kind in (*function.function_type.inputs, *function.function_type.outputs):
            if not isinstance(kind, MemRefType) or function.function_type.outputs.data:
                raise UnsupportedError(
                    f"@{function.sym_name.data}: expected memref arguments and no results, found "
                    f"{function.function_type}; run graph-to-loop first",
                    where=location_text(function),
                )


def _c_names(prefix: str, public: Sequence[FuncOp], private: Sequence[FuncOp]) -> dict[str, str]:
    taken = {f"{prefix}_{own}" for own in _OWN}
    result: dict[str, str] = {}
    for function in public:
        symbol = function.sym_name.data
        stem = identifier(f"{prefix}_{symbol}")
        if stem in taken or f"{stem}_run" in taken:
            raise InarchError(
                f"public function @{symbol}: another symbol is called {stem} in C; rename one",
                where=location_text(function),
            )
        taken |= {stem, f"{stem}_run"}
        result[symbol] = f"{stem}_run"
    # Nothing of the model, so that equal kernels are equal text. `identifier` begins no name so.
    kernels = Names()
    for function in private:
        symbol = function.sym_name.data
        result[symbol] = f"inarch_{kernels.fresh(f'kernel_{symbol}')}"
    return result


def c_name(definition: DefOp) -> str:
    """The C function that calls call: a library's only where it is called like the definition."""
    if definition.source is not None:
        return definition.function
    return definition.sym_name.data


# ---------------------------------------------------------------------------------- arguments


def results_of(program: ProgramPlan, function: FuncOp) -> frozenset[int]:
    """Positions of a function's outputs: marked `inarch.result`, or else those written to."""
    count = len(function.function_type.inputs)
    marked = frozenset(
        i for i in range(count) if "inarch.result" in argument_attributes(function, i)
    )
    return marked or program.written[function.sym_name.data]


def c_function(program: ProgramPlan, function: FuncOp) -> Entry:
    """A public function's signature. Raises InarchError when it writes to an input."""
    results = results_of(program, function)
    extra = program.written[function.sym_name.data] - results
    if extra:
        raise InarchError(
            f"@{function.sym_name.data} writes argument {min(extra)}, which has no inarch.result; "
            "mark it as one",
            where=location_text(function),
        )
    return entry_of(function, results, _workspace_bytes(function))


def import_slot(program: ProgramPlan, function: FuncOp) -> Import:
    """An import as the manifest has it."""
    entry = entry_of(function, results_of(program, function))
    return Import(
        entry.name,
        entry.signature,
        linked_to(function),
        fallback=_text_of(function, "inarch.fallback"),
        owner=_text_of(function, "inarch.owner"),
        state=_text_of(function, "inarch.state"),
    )


def linked_to(function: FuncOp) -> str | None:
    """The backend whose C defines an import (`inarch.linked`); None for one that is filled at load."""
    backend = function.attributes.get("inarch.linked")
    return backend.data if isinstance(backend, StringAttr) else None


def _text_of(function: FuncOp, attribute: str) -> str:
    """What an attribute of a function says; empty where it has none."""
    text = function.attributes.get(attribute)
    return text.data if isinstance(text, StringAttr) else ""


def _kernel_code(definition: DefOp) -> KernelCode:
    """The needs of a `kernel.def`, by what stands in it: the machine is not looked at."""
    is_library = definition.source is None and definition.registered is None
    # The module's location would be the model's.
    own = None if isinstance(definition.location, UnknownLoc) else location_text(definition)
    return KernelCode(
        definition.sym_name.data,
        own,
        definition.function if is_library else None,
        None if definition.library is None else definition.library.data,
        "reference" if definition.link is None else definition.link.data,
        _texts(definition.libraries),
        _texts(definition.include_dirs),
        _texts(definition.cflags),
        tuple(need.data for need in definition.needs),
        "" if definition.license is None else definition.license.data,
    )


def _texts(texts: ArrayAttr[StringAttr] | None) -> tuple[str, ...]:
    return () if texts is None else tuple(text.data for text in texts)


def _registered(module: ModuleOp, definitions: Mapping[str, DefOp]) -> dict[str, int]:
    """By slot, how many operands come first that no microkernel of that name writes."""
    found: dict[str, int] = {}
    for op in module.walk():
        if not isinstance(op, KernelCallOp):
            continue
        called = definitions[op.callee.root_reference.data]
        if called.registered is not None:
            reads = sum(operand.access.data == "read" for operand in called.arguments)
            name = called.registered.data
            found[name] = min(reads, found.get(name, reads))
    return found


def _written(module: ModuleOp, functions: Sequence[FuncOp]) -> dict[str, frozenset[int]]:
    """By symbol, the arguments that a function or a microkernel writes, also through calls."""
    by_name = {function.sym_name.data: function for function in functions}
    found: dict[str, frozenset[int]] = {
        op.sym_name.data: frozenset(
            i for i, operand in enumerate(op.arguments) if operand.access.data != "read"
        )
        for op in module.body.ops
        if isinstance(op, DefOp)
    }

    def visit(symbol: str) -> frozenset[int]:
        if symbol in found or symbol not in by_name:
            return found.get(symbol, frozenset())
        function = by_name[symbol]
        found[symbol] = frozenset()  # ends the search in a cycle, which no program that ends has
        count = len(function.function_type.inputs)
        if function.is_declaration:
            marked = {
                i for i in range(count) if "inarch.result" in argument_attributes(function, i)
            }
            found[symbol] = frozenset(marked or ({count - 1} if count else set()))
            return found[symbol]
        roots = [
            root(value) for op in function.body.walk() for value in written_operands(op, visit)
        ]
        found[symbol] = frozenset(
            root.index
            for root in roots
            if isinstance(root, BlockArgument) and root.block is function.body.block
        )
        return found[symbol]

    for symbol in by_name:
        visit(symbol)
    return found


def written_operands(
    op: Operation, callee_writes: Callable[[str], frozenset[int]]
) -> Iterator[SSAValue]:
    """The buffers that an op writes to. `callee_writes` maps a symbol to the arguments it writes."""
    match op:
        case NestOp():
            yield from op.outs
        case memref.StoreOp():
            yield op.memref
        case PackOp():
            yield op.dst
        case CallOp() | KernelCallOp():
            positions = callee_writes(op.callee.root_reference.data)
            yield from (op.arguments[i] for i in sorted(positions) if i < len(op.arguments))
        case _:
            return


# ---------------------------------------------------------------------------------- sizes


def offset_of(op: AllocOp | ConstantOp) -> int:
    """The byte offset that the planner gave. Raises InarchError at the op when it did not."""
    if op.offset is None:
        raise InarchError(
            f"{op.name} has no offset; run plan-memory first", where=location_text(op)
        )
    return op.offset.value.data


def aligned(count: int) -> int:
    """`count` bytes, rounded up to a multiple of 64."""
    return -(-count // WORKSPACE_ALIGNMENT_BYTES) * WORKSPACE_ALIGNMENT_BYTES


def _workspace_bytes(function: FuncOp) -> int:
    stated = function.attributes.get("inarch.workspace_bytes")
    if isinstance(stated, IntegerAttr):
        return stated.value.data
    allocs = [op for op in function.body.walk() if isinstance(op, AllocOp)]
    return max((aligned(offset_of(op) + nbytes(memref_of(op.buffer))) for op in allocs), default=0)


def planned_weights_bytes(module: ModuleOp) -> int:
    """Bytes of all weights, as planned."""
    stated = module.attributes.get("inarch.weights_bytes")
    if isinstance(stated, IntegerAttr):
        return stated.value.data
    constants = [op for op in module.walk() if isinstance(op, ConstantOp)]
    ends = (aligned(offset_of(op) + nbytes(memref_of(op.buffer))) for op in constants)
    return max(ends, default=0)
