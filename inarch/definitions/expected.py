"""What a function must give: its value by definition, and how far a correct program may be from it.

The bound is computed, with the arithmetic of `bounded.py`: a function on buffers runs with it as
it is, one on tensors as `graph-to-loop` lowers it. Its value is what the ops' references say, and
both must agree.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from inarch.core.dtypes import is_float_array
from inarch.core.lazy import np
from inarch.definitions.bounded import largest
from inarch.definitions.compare import Expected
from inarch.definitions.functions import Array, functions_of, signature, the_function
from inarch.definitions.run import run_bounded, run_definitions
from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.op import element_of, shape_of
from inarch.dialects.graph.relayout import RelayoutOp
from inarch.ir.context import store_of
from inarch.ir.edit import erase
from inarch.ir.types import tensor
from inarch.passes.lower.algorithm import ATTRIBUTE
from inarch.pipeline.manager import apply_pipeline
from inarch.pipeline.text import parse_pipeline

_LOWERING = "outline-bodies,decompose-composites,graph-to-loop,inline-bodies"


_LONGEST = 2.0**20
"""How much larger than a result the numbers on the way to it may be: a mean's sum of so many."""


def expected_of(
    context: Context,
    module: ModuleOp,
    inputs: Sequence[Array],
    function: str | None = None,
    *,
    errors: Sequence[Array | None] = (),
) -> list[Expected]:
    """The outputs of a function on `inputs`, each of which may be off by its one of `errors`.

    Raises AssertionError where the references of `graph` ops and their lowering disagree, InarchError for a
    program without a meaning.
    """
    takes = signature(the_function(module, function), module)
    values = run_definitions(context, module, takes, inputs)
    lowered = module
    if not takes.is_loop_level:
        lowered = _lowered(context, module)
    below = signature(functions_of(lowered)[takes.name], lowered)
    found = run_bounded(context, lowered, below, inputs, errors=errors)
    results: list[Expected] = []
    for number, (value, bounded) in enumerate(zip(values, found, strict=True)):
        center = bounded.value if bounded.is_float else bounded.value.view(value.dtype)
        made = Expected(value, center, _unsettled(value, center, np.asarray(bounded.total)))
        right = made.accepts(value)
        if not np.all(right):
            index = tuple(int(i) for i in np.argwhere(~right)[0])
            raise AssertionError(
                f"function @{takes.name}, output {number}, index {index}: by their references the ops "
                f"give {value[index]}, lowered to loops {center[index]}, allowed {made.bound[index]:.3g}"
            )
        results.append(made)
    return results


def _unsettled(value: Array, center: Array, bound: Array) -> Array:
    """Nothing is said of what one way to compute it finds too large on the way, and another one does not.

    Such as a mean: its sum may be beyond the dtype's range where it is not.
    """
    if not is_float_array(value.dtype):
        return bound
    near = np.abs(value.astype(np.float64)) > largest(value.dtype) / _LONGEST
    return np.where(np.isinf(center) & np.isfinite(value) & near, np.inf, bound)


def _lowered(context: Context, module: ModuleOp) -> ModuleOp:
    """A copy on buffers, undecorated by any other pass; the constants of `module` stay."""
    copy = module.clone()
    for op in list(copy.walk()):
        if isinstance(op, CompositeRegionOp):
            _inline(op)
    for op in list(copy.walk()):
        op.attributes.pop(ATTRIBUTE, None)  # what an op means is the nest that it states
        _forget_layouts(op)
    with kept_constants(context):
        apply_pipeline(context, copy, parse_pipeline(_LOWERING))
    return copy


def _forget_layouts(op: Operation) -> None:
    """A layout says how a tensor lies in memory, never what it holds."""
    if isinstance(op, RelayoutOp):
        op.results[0].replace_all_uses_with(op.operands[0])
        erase(op)
        return
    for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
        if layout_of(value) is not None:
            plain = tensor(element_of(value), shape_of(value))
            Rewriter.replace_value_with_new_type(value, plain)


class kept_constants:  # noqa: N801 - used like a function
    """What the store holds is there again after the block: a pass drops what its own module does not use."""

    def __init__(self, context: Context) -> None:
        self.store = store_of(context)
        self.before: dict[str, bytes | memoryview] = {}

    def __enter__(self) -> None:
        self.before = {key: self.store.get(key) for key in self.store.keys()}  # noqa: SIM118 - no mapping

    def __exit__(self, *_: object) -> None:
        for key, data in self.before.items():
            self.store.set(key, data)


def _inline(op: CompositeRegionOp) -> None:
    """Puts the body in the place of the op."""
    block = op.body.block
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, op.inputs, strict=True))
    parent = op.parent
    last = block.last_op
    assert parent is not None, "the op is in a function"
    assert last is not None, "the verifier has seen to it"
    for inner in block.ops:
        if inner is not last:
            parent.insert_ops_before([inner.clone(value_mapper=values)], op)
    for result, value in zip(op.results, last.operands, strict=True):
        result.replace_all_uses_with(values[value])
    erase(op)
