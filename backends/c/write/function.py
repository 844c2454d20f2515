"""The body of a function in C: nests, explicit loops, loads and stores, calls, buffers.

`FunctionEmitter` walks one `func.func`. A buffer is a pointer; the offset of its layout is added where an
element is addressed. Pointers into the workspace and the weights are declared at the head, when used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseResourceAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from inarch.backends.c.plan.linear import element_strides
from inarch.backends.c.plan.program import ProgramPlan, offset_of
from inarch.backends.c.text import atom, comment
from inarch.backends.c.types import element
from inarch.backends.c.write.call import emit_kernel_call
from inarch.backends.c.write.nest import emit_nest
from inarch.backends.c.write.scope import Scope, emit_scalar_op
from inarch.backends.c.write.value.expressions import is_scalar_op
from inarch.core.errors import InarchError, UnsupportedError
from inarch.dialects.kernel.call import CallOp as KernelCallOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp
from inarch.dialects.loop.control import Bound, CallOp, ForOp
from inarch.dialects.loop.memory import buffer_shape, memref_of, nbytes
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.dialects.loop.repeat import WhileOp
from inarch.ir.functions import is_private
from inarch.ir.index.span import FAR, number_of_index
from inarch.ir.location import location_text
from inarch.ir.types import layout_of
from inarch.passes.loop.threads.iterations import shared_iterations
from inarch.passes.memory.workspaces import WORKSPACE_BYTES, workspace_bytes

ImportCall = Callable[[CallOp, Sequence[str], Scope], None]
"""Writes the call of an import on pointers, or raises where imports cannot be called."""


@dataclass
class FunctionEmitter:
    """Writes one function's body; `scope.writer` receives it."""

    program: ProgramPlan
    scope: Scope
    is_public: bool
    call_import: ImportCall
    pointers: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    heads: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """`(name, declaration)` of the pointers into workspace and weights."""

    def block(self, block: Block, scope: Scope) -> None:
        """Writes every op of `block`."""
        ops = [op for op in block.ops if not isinstance(op, YieldOp | ReturnOp | scf.YieldOp)]
        for op in ops:
            self._op(op, scope, alone=len(ops) == 1)

    def pointer(self, value: SSAValue) -> str:
        """What a buffer is called."""
        return self.pointers[value]

    # -- one op

    def _op(self, op: Operation, scope: Scope, *, alone: bool) -> None:
        try:
            self._dispatch(op, scope, alone=alone)
        except VerifyException as error:
            raise InarchError(f"'{op.name}' {error}", where=location_text(op)) from error

    def _dispatch(self, op: Operation, scope: Scope, *, alone: bool) -> None:  # noqa: C901, PLR0912
        match op:
            case NestOp():
                self._nest(op, [*op.ins, *op.outs], scope, alone=alone)
            case ForOp():
                self._for(op, scope)
            case WhileOp():
                self._while(op, scope)
            case AllocOp() | ConstantOp():
                self._planned(op, scope)
            case ReshapeOp():
                self.pointers[op.result] = self.pointer(op.source)
            case memref.SubviewOp():
                self._subview(op, scope)
            case memref.LoadOp():
                if op.res.first_use is not None:
                    text = self._element(op.memref, op.indices, scope)
                    hint = op.res.name_hint or "x"
                    scope.values[op.res] = scope.declare(element(op.res.type).c, hint, text)
            case memref.StoreOp():
                target = self._element(op.memref, op.indices, scope)
                scope.writer.line(f"{target} = {scope.values[op.value]};")
            case scf.IfOp():
                self._if(op, scope)
            case CallOp():
                self._call(op, scope)
            case KernelCallOp():
                pointers = [self.pointer(value) for value in op.arguments]
                emit_kernel_call(op, self.program, pointers, scope, is_public=self.is_public)
            case PackOp():
                self._pack(op, scope, alone=alone)
            case _ if is_scalar_op(op):
                emit_scalar_op(op, scope)
            case _:
                raise UnsupportedError(
                    f"'{op.name}' has no C; lower it first", where=location_text(op)
                )

    def _for(self, op: ForOp, scope: Scope) -> None:
        if op.mode.data == "unroll":
            for number in op.counted() or ():
                self._copy(op, number, scope.child())
            return
        numbers = op.counted()
        if numbers is None:
            self._repeated(op, op.bounds, None, scope)
            return
        inside = scope.child()
        inside.iterations = None
        name = inside.names.fresh(op.induction.name_hint or "i")
        inside.values[op.induction] = name
        lower, upper, step = str(numbers.start), str(numbers.stop), numbers.step
        if scope.iterations is not None and op.mode.data == "parallel":
            lower, upper = (_iteration(numbers, iteration) for iteration in scope.iterations)
        advance = f"{name}++" if step == 1 else f"{name} += {step}"
        scope.writer.open(f"for (int64_t {name} = {lower}; {name} < {upper}; {advance})")
        self.block(op.body.block, inside)
        scope.writer.close()

    def _while(self, op: WhileOp, scope: Scope) -> None:
        self._repeated(op, (op.lower, op.upper, op.step), op.condition, scope)

    def _repeated(
        self,
        op: ForOp | WhileOp,
        bounds: tuple[Bound, Bound, Bound],
        condition: SSAValue | None,
        scope: Scope,
    ) -> None:
        """The index goes to the upper bound at last, not beyond, where a sum might not fit."""
        inside = scope.child()
        inside.iterations = None
        name = inside.names.fresh(op.induction.name_hint or "i")
        inside.values[op.induction] = name
        lower, upper, step = (
            str(each) if isinstance(each, int) else atom(scope.values[each]) for each in bounds
        )
        known = number_of_index(bounds[2])
        tests = [f"{name} < {upper}"]
        advance = f"{name}++"
        if known is not None and isinstance(op, ForOp) and op.spanned().stop < FAR:
            advance = f"{name}++" if known == 1 else f"{name} += {known}"
        elif known != 1:
            left = f"(uint64_t){upper} - (uint64_t){name}"
            advance = f"{name} = {left} > (uint64_t){step} ? {name} + {step} : {upper}"
        if known is None:
            tests.insert(0, f"{step} > 0")
        if condition is not None:
            tests.append(self._element(condition, [], scope))
        scope.writer.open(f"for (int64_t {name} = {lower}; {' && '.join(tests)}; {advance})")
        self.block(op.body.block, inside)
        scope.writer.close()

    def _copy(self, op: ForOp, number: int, scope: Scope) -> None:
        """One iteration of a loop that is unrolled; a named constant, as sums of literals would be of int."""
        scope.writer.open()
        if op.induction.first_use is not None:
            name = scope.names.fresh(op.induction.name_hint or "i")
            scope.values[op.induction] = name
            scope.writer.line(f"const int64_t {name} = {number};")
        self.block(op.body.block, scope)
        scope.writer.close()

    def _if(self, op: scf.IfOp, scope: Scope) -> None:
        names: list[str] = []
        for result in op.results:
            name = scope.names.fresh(result.name_hint or "picked")
            scope.writer.line(f"{element(result.type).c} {name};")
            scope.values[result] = name
            names.append(name)
        scope.writer.open(f"if ({scope.values[op.cond]})")
        self._branch(op.true_region.block, names, scope.child())
        scope.writer.close()
        if op.false_region.blocks and (names or len(list(op.false_region.block.ops)) > 1):
            scope.writer.open("else")
            self._branch(op.false_region.block, names, scope.child())
            scope.writer.close()

    def _branch(self, block: Block, names: Sequence[str], scope: Scope) -> None:
        self.block(block, scope)
        last = block.last_op
        yielded = last.operands if last is not None else ()
        for name, value in zip(names, yielded, strict=True):
            scope.writer.line(f"{name} = {scope.values[value]};")

    # -- buffers

    def _planned(self, op: AllocOp | ConstantOp, scope: Scope) -> None:
        """A pointer into the workspace or the weights, declared at the function's head."""
        is_alloc = isinstance(op, AllocOp)
        if not self.is_public and not is_alloc:
            raise InarchError(
                f"expected {op.name} in a public function only; pass the buffer as an argument",
                where=location_text(op),
            )
        hint = op.buffer.name_hint or _constant_hint(op)
        name = scope.names.fresh(hint)  # which nothing around the op is called
        self.scope.names.reserve(name)
        offset = offset_of(op)
        if is_alloc:
            _check_room(op, offset + nbytes(memref_of(op.buffer)))
        c_type = element(memref_of(op.buffer).element_type).c
        const, base = ("", "workspace") if is_alloc else ("const ", "weights")
        place = f"({const}char *){base} + {offset}"
        source = f"({const}void *)({place})" if offset else base
        declaration = f"{const}{c_type} *{name} = ({const}{c_type} *){source};"
        self.heads.append((name, declaration))
        self.pointers[op.buffer] = name

    def _subview(self, op: memref.SubviewOp, scope: Scope) -> None:
        """Offsets are in the result's layout where that says them; else they move the pointer."""
        source = self.pointer(op.source)
        layout = layout_of(memref_of(op.result))
        if layout is not None and layout[1] is not None:
            self.pointers[op.result] = source
            return
        if op.sizes or op.strides:
            raise UnsupportedError(
                "'memref.subview' expects static sizes and strides", where=location_text(op)
            )
        if op.result.first_use is None:
            return
        strides, start = element_strides(op.source)
        static = op.static_offsets.get_values()
        dynamic = iter(op.offsets)
        terms: list[str] = [str(start)] if start else []
        for offset, stride in zip(static, strides, strict=True):
            if offset == DYNAMIC_INDEX:
                terms.append(_times(scope.values[next(dynamic)], stride))
            elif offset:
                terms.append(str(int(offset) * stride))
        if not terms:
            self.pointers[op.result] = source
            return
        name = scope.names.fresh(op.result.name_hint or f"{source}_view")
        c_type = element(memref_of(op.result).element_type).c
        const = "" if self._is_written(op.source) else "const "
        scope.writer.line(f"{const}{c_type} *{name} = {source} + {' + '.join(terms)};")
        self.pointers[op.result] = name

    def _is_written(self, value: SSAValue) -> bool:
        """Whether C may write through the pointer that `value` is part of."""
        while isinstance(owner := value.owner, ReshapeOp | memref.SubviewOp):
            value = owner.source
        if isinstance(value, BlockArgument):
            function = value.block.parent_op()
            assert isinstance(function, FuncOp), "buffers are arguments of functions only"
            return value.index in self.program.written[function.sym_name.data]
        return isinstance(value.owner, AllocOp)

    def _element(self, buffer: SSAValue, indices: Sequence[SSAValue], scope: Scope) -> str:
        strides, offset = element_strides(buffer)
        terms = [
            _times(scope.values[index], stride)
            for index, stride, size in zip(indices, strides, buffer_shape(buffer), strict=True)
            if size != 1 or scope.values[index] != "0"
        ]
        terms = [term for term in terms if term != "0"]
        if offset or not terms:
            terms.append(str(offset))
        return f"{self.pointer(buffer)}[{' + '.join(terms)}]"

    # -- calls

    def _call(self, op: CallOp, scope: Scope) -> None:
        symbol = op.callee.root_reference.data
        callee = self.program.functions[symbol]
        wanted = list(callee.function_type.inputs)
        found = [value.type for value in op.arguments]
        if wanted != found:
            raise InarchError(
                f"'loop.call' of @{symbol} expects ({', '.join(map(str, wanted))}), "
                f"found ({', '.join(map(str, found))})",
                where=location_text(op),
            )
        arguments = [self.pointer(value) for value in op.arguments]
        if callee.is_declaration:
            self.call_import(op, arguments, scope)
            return
        if not is_private(callee):
            raise InarchError(
                f"'loop.call' expects a private function, found public @{symbol}",
                where=location_text(op),
            )
        name, iterations = self.program.c_names[symbol], shared_iterations(callee)
        if workspace_bytes(callee):
            arguments.append(self._workspace(op))
        if iterations:
            self._share(op, iterations, arguments, scope)
            return
        call = f"{name}({', '.join(arguments)});"
        scope.writer.line(" ".join([call, *self._place(op)]))

    def _workspace(self, op: CallOp) -> str:
        """C for the workspace of what is called."""
        if op.workspace is None:
            raise InarchError(
                "'loop.call' has no place for the workspace of what it calls; run plan-memory",
                where=location_text(op),
            )
        offset = op.workspace.value.data
        threads = 1 if op.threads is None else op.threads.value.data
        needed = workspace_bytes(self.program.functions[op.callee.root_reference.data])
        _check_room(op, offset + threads * needed)
        return f"(char *)workspace + {offset}" if offset else "workspace"

    def _share(self, op: CallOp, iterations: int, arguments: Sequence[str], scope: Scope) -> None:
        """A loop whose iterations threads share; within a kernel, which may be a part of one, in order."""
        name = self.program.c_names[op.callee.root_reference.data]
        place = " ".join(["", *self._place(op)])
        most = 0  # as many as there are
        if op.workspace is not None:
            most = 1 if op.threads is None else op.threads.value.data
        buffers = scope.child().names.fresh("shared")
        writer = scope.writer
        writer.open()
        pointers = ", ".join(f"(void *){atom(argument)}" for argument in arguments)
        writer.line(f"void *const {buffers}[] = {{{pointers}}};")
        context = f"(void *){buffers}"
        if self.is_public:
            writer.line(f"inarch_share({iterations}, {most}, {name}, {context});{place}")
        else:
            writer.line(f"{name}({context}, 0, {iterations}, 0);{place}")
        writer.close()

    # -- nests

    def _nest(self, op: NestOp, buffers: Sequence[SSAValue], scope: Scope, *, alone: bool) -> None:
        for place in self._place(op):
            scope.writer.line(place)
        emit_nest(op, [self.pointer(buffer) for buffer in buffers], scope, alone=alone)

    def _pack(self, op: PackOp, scope: Scope, *, alone: bool) -> None:
        nest = op.as_nest()
        self._nest(nest, [op.src, op.dst], scope, alone=alone)
        nest.drop_all_references()

    def _place(self, op: Operation) -> list[str]:
        """A comment on where in the model `op` is from; none in kernels, which models share."""
        place = location_text(op, folders=False) if self.is_public else None
        return [] if place is None else [comment(f"from {place}")]


def _check_room(op: Operation, end: int) -> None:
    """What lies in a workspace ends within it: a function of its own has only what it says that it needs."""
    function: Operation | None = op
    while function is not None and not isinstance(function, FuncOp):
        function = function.parent_op()
    assert isinstance(function, FuncOp), "it is in one"
    stated = WORKSPACE_BYTES in function.attributes
    room = workspace_bytes(function)
    if end > room and (stated or is_private(function) or isinstance(op, CallOp)):
        raise InarchError(
            f"'{op.name}' expects {end} bytes of workspace in @{function.sym_name.data}, found {room} "
            f"({WORKSPACE_BYTES}); run plan-memory",
            where=location_text(op),
        )


def _constant_hint(op: AllocOp | ConstantOp) -> str:
    if isinstance(op, ConstantOp) and isinstance(op.value, DenseResourceAttr):
        return op.value.resource_handle.data
    return "scratch" if isinstance(op, AllocOp) else "weight"


def _iteration(numbers: range, number: str) -> str:
    """C for the index of an iteration; of the one behind the last, it is behind the last one's."""
    scaled = number if numbers.step == 1 else f"{number} * {numbers.step}"
    return scaled if numbers.start == 0 else f"{numbers.start} + {scaled}"


def _times(text: str, stride: int) -> str:
    """`text * stride`, folded where either is a number."""
    if text.isdigit():
        return str(int(text) * stride)
    if stride == 0:
        return "0"
    return atom(text) if stride == 1 else f"{atom(text)} * {stride}"
