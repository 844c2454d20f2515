"""Alternative algorithms of a graph op: a lowering to other nests than the op states, with an error bound.

    ALGORITHM = Algorithm(ConvOp, refuses, lower, bound)      in passes/lower/algorithms/conv_mine.py

The op's own nest is the algorithm `direct`. `choose-algorithm` writes the chosen name into the attribute
`inarch.algorithm` of the op; a user may write it too. `graph-to-loop` lowers by that attribute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from xdsl.dialects.builtin import ArrayAttr, DenseResourceAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from inarch.core.blame import raised
from inarch.core.code import digest_of_module
from inarch.core.errors import InarchError, PluginError, UnsupportedError, UsageError, unknown
from inarch.core.lazy import Array, np
from inarch.core.plugins import API_VERSION, Extensions
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.ir.context import ConstantStore
from inarch.ir.location import location_text
from inarch.ir.payload.constants import constant_array
from inarch.ir.types import mlir_type
from inarch.passes.lower._written import unwritten, written_among
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.refusals import unless_blocked

ATTRIBUTE = "inarch.algorithm"
"""Attribute of an op: the name of its algorithm."""
NUMERICS = "inarch.numerics"
"""Attribute of a module: its numerics policy."""
ASKED = "inarch.algorithms"
"""Attribute of a module: the user's selections, `SELECTOR=algorithm`."""
DIRECT = "direct"
"""The op's own nest."""

Layout = Literal["any", "blocks", "rows"]
"""What an algorithm asks of the layouts of an op's first operand and result: channels in blocks of one size,
row-major, or nothing."""

Policy = Literal["strict", "bounded", "fast"]
POLICIES: tuple[Policy, ...] = ("strict", "bounded", "fast")
"""Which algorithms the cost model may choose. `strict`: direct alone. `bounded`: also algorithms whose proved
error bound is at most direct's. `fast`: also algorithms with a larger or a statistical bound."""


@dataclass(frozen=True)
class Bound:
    """The greatest error of a result, of the greatest that direct may have: `ratio`, over inputs of one size.

    Proved for all inputs |x| <= X that neither overflow nor are denormal, or `is_statistical`: of drawn
    inputs. Bounds of single elements are those of `Algorithm.error`: an element that is small beside its
    neighbours may have the error of those.
    """

    ratio: float
    """Infinity: nothing is known; then only a user who names the algorithm gets it."""
    is_statistical: bool = False
    by_element: bool = False
    """Whether the ratio is that of the bounds of each element, as of the same products in another order."""
    about: str = ""
    """The domain of the bound, and the results for infinities, NaN and large numbers."""

    @property
    def policy(self) -> Policy | None:
        """The strictest policy that allows the algorithm, `bounded` at most; None: no policy does.

        `strict` is direct alone: other algorithms have other bits, however small their error is.
        """
        if self.ratio == math.inf:
            return None
        return "fast" if self.is_statistical or self.ratio > 1 else "bounded"

    def __str__(self) -> str:
        kind = "of drawn inputs" if self.is_statistical else "proved"
        return f"greatest error at most {self.ratio:.2f} of direct's ({kind})"


Known = Callable[[SSAValue], "Array | None"]
"""The numbers of an operand that is a constant; None where they are not at hand."""


def known_numbers(value: SSAValue, store: ConstantStore) -> Array | None:
    """Of a constant whose numbers are in the store."""
    if not isinstance(value.owner, ConstantOp):
        return None
    held = value.owner.value
    if isinstance(held, DenseResourceAttr) and held.resource_handle.data not in store:
        return None
    return constant_array(held, store)


@dataclass(frozen=True)
class Algorithm:
    """Another way to compute `op`, a class of graph ops.

    `refuses(op)` returns the reason why the algorithm does not apply to an op, or None. `bound(op, known)`
    returns the greatest error of its result. `lower(op, builder)` appends nests that write the op's results
    (`builder.result`). `builder.buffers` maps operands to buffers, and `builder.place` gives their layouts.
    """

    op: type[Operation]
    refuses: Callable[[Operation], str | None]
    lower: Callable[[Operation, LoopBuilder], None]
    bound: Callable[[Operation, Known], Bound]
    description: str = ""
    error: Callable[[Operation, Sequence[Array]], Array] | None = None
    """`error(op, operands)`: how far rounding may take each element of the result, for these operands.

    An array of float64 of the result's shape; infinite where any number is right. None: `ratio` times the
    greatest of direct's, anywhere, and any number where an operand is not finite; or `ratio` times direct's,
    where the bound is `by_element`. `inarch verify` judges by it.
    """
    layout: Layout = "any"
    """Where a user names the algorithm, `choose-layout` gives the op this layout. `refuses` is asked before
    and after that."""
    api: int = API_VERSION


def _check(thing: object, name: str) -> None:
    """Raises UsageError for an object that is no Algorithm, and for a name that belongs to another op."""
    if not isinstance(thing, Algorithm):
        raise UsageError(f"algorithm '{name}': expected an Algorithm, found {type(thing).__name__}")
    op = cast("object", thing.op)
    if not isinstance(op, type) or not issubclass(op, Operation):
        raise UsageError(f"algorithm '{name}': expected a class of ops, found {op!r}")
    if thing.layout not in get_args(Layout):
        raise UsageError(
            unknown(
                "layout", str(thing.layout), get_args(Layout), within=f"algorithm '{name}'"
            ).message
        )
    prefix = f"{short_name(op)}-"
    if not name.startswith(prefix) or name == f"{prefix}{DIRECT}":
        raise UsageError(
            f"algorithm '{name}' is of '{op.name}': expected a name that begins with '{prefix}' and is not "
            f"'{prefix}{DIRECT}'; rename the file"
        )


ALGORITHMS: Extensions[Algorithm] = Extensions(
    "inarch.passes.lower.algorithms", "ALGORITHM", check=_check
)
"""By op and name: `conv-winograd-2x2` is `winograd-2x2` of `graph.conv`."""


def short_name(op: Operation | type[Operation]) -> str:
    """The prefix of the op's algorithms: `conv-transpose` of `graph.conv_transpose`."""
    return op.name.rpartition(".")[2].replace("_", "-")


def algorithms_of(op: Operation) -> Iterator[tuple[str, Algorithm]]:
    """Names and algorithms of an op, without direct."""
    prefix = f"{short_name(op)}-"
    for name in ALGORITHMS:
        if name.startswith(prefix) and isinstance(op, (one := ALGORITHMS[name]).op):
            yield name.removeprefix(prefix), one


def several() -> str:
    """The ops that have several, for messages."""
    return ", ".join(sorted({short_name(ALGORITHMS[name].op) for name in ALGORITHMS}))


def algorithm_of(op: Operation, name: str) -> Algorithm | None:
    """The algorithm of that name; None for direct. Raises UsageError for an unknown name."""
    if name == DIRECT:
        return None
    found = dict(algorithms_of(op))
    if name not in found:
        error = unknown("algorithm", name, [DIRECT, *found], within=f"'{op.name}'")
        raise UsageError(error.message, where=location_text(op))
    return found[name]


def asked_for(op: Operation) -> str | None:
    """The algorithm that the op's attribute states, or None. Raises UsageError unless it is a string."""
    said = op.attributes.get(ATTRIBUTE)
    if said is None:
        return None
    if not isinstance(said, StringAttr):
        raise UsageError(
            f"expected a string for {ATTRIBUTE}, found {said}", where=location_text(op)
        )
    return own_name(op, said.data)


def own_name(op: Operation, name: str) -> str:
    """`conv-winograd-2x2`, as it is listed, is `winograd-2x2` of a convolution; other names stay."""
    is_listed = name in ALGORITHMS and name_of(op, name) not in ALGORITHMS
    return name.removeprefix(f"{short_name(op)}-") if is_listed else name


def refusal(op: Operation, name: str, algorithm: Algorithm) -> str | None:
    """Why the algorithm does not apply, or None. Raises PluginError where its code fails."""
    return refusal_in_any_layout(op, name, algorithm) or _misfit(op, algorithm.layout)


def refusal_in_any_layout(op: Operation, name: str, algorithm: Algorithm) -> str | None:
    """The same of an op whose layouts may still change."""
    found: object = _asked(op, name, algorithm.refuses)
    if found is None or (isinstance(found, str) and found):
        return found
    raise _fault(op, name, f"refuses by {found!r}; expected a reason, or None")


def _misfit(op: Operation, layout: Layout) -> str | None:
    """Why the op's layouts are not what an algorithm asks for, or None."""
    if layout == "blocks":
        return unless_blocked(op)
    values = (op.operands[0], op.results[0])
    if layout == "rows" and any(layout_of(value) is not None for value in values):
        return "expected x and the result row-major"
    return None


def bound_of(op: Operation, name: str, algorithm: Algorithm, known: Known) -> Bound:
    """The algorithm's error bound on an op that it applies to. Raises PluginError where its code fails."""
    found: object = _asked(op, name, lambda op: algorithm.bound(op, known))
    if isinstance(found, Bound):
        ratio = cast("object", found.ratio)
        if isinstance(ratio, int | float) and ratio >= 0:
            return found
    raise _fault(op, name, f"has the bound {found!r}; expected a Bound of a ratio >= 0")


def error_of(op: Operation, name: str, operands: Sequence[Array], direct: Array) -> Array:
    """How far rounding by an algorithm may take each element, where it may take direct's `direct`."""
    algorithm = algorithm_of(op, name)
    if algorithm is None:
        return direct
    if algorithm.error is None:
        known = dict(zip(op.operands, operands, strict=True)).get
        bound = bound_of(op, name, algorithm, known)
        if bound.by_element:
            return bound.ratio * direct
        most = np.max(direct, initial=0.0, where=np.isfinite(direct))
        is_finite = all(np.isfinite(one).all() for one in operands)
        return np.where(np.isinf(direct), direct, bound.ratio * most if is_finite else np.inf)
    error = algorithm.error
    made = cast("Array", _asked(op, name, lambda op: np.asarray(error(op, operands), np.float64)))
    if made.shape == direct.shape:
        return np.where(np.isnan(made), np.inf, made)
    raise _fault(op, name, f"has an error of shape {made.shape}; expected {direct.shape}")


def _asked(op: Operation, name: str, ask: Callable[[Operation], object]) -> object:
    try:
        return ask(op)
    except InarchError:
        raise
    except (Exception, SystemExit) as error:
        raise _fault(op, name, raised(error, ALGORITHMS.origin(name_of(op, name)))) from error


def name_of(op: Operation, name: str) -> str:
    """The key in `ALGORITHMS`."""
    return f"{short_name(op)}-{name}"


def lower_by(op: Operation, name: str, algorithm: Algorithm, builder: LoopBuilder) -> None:
    """Appends the nests. Raises UsageError where the algorithm does not apply, PluginError where it fails."""
    why = refusal(op, name, algorithm)
    if why is not None:
        raise UsageError(
            f"algorithm '{name}' does not apply to '{op.name}': {why}", where=location_text(op)
        )
    if (op, name) in builder.active:
        raise _fault(op, name, "lowers to itself; expected nests")
    before = builder.block.last_op
    builder.active.add((op, name))
    try:
        algorithm.lower(op, builder)
    except PluginError:
        raise
    except InarchError as error:
        text = (
            f"algorithm {described(op, name)} of '{op.name}' does not refuse what it cannot lower"
        )
        where = error.where or location_text(op)
        raise UnsupportedError(f"{text}: {error.message}", where=where) from error
    except (Exception, SystemExit) as error:
        raise _fault(op, name, raised(error, ALGORITHMS.origin(name_of(op, name)))) from error
    finally:
        builder.active.discard((op, name))
    wrong = _wrong(op, builder, list(_after(before, builder.block)))
    if wrong is not None:
        raise _fault(op, name, wrong)


def _after(op: Operation | None, block: Block) -> Iterator[Operation]:
    """The ops of a block behind one, or all."""
    following = block.first_op if op is None else op.next_op
    while following is not None:
        yield following
        following = following.next_op


def _wrong(op: Operation, builder: LoopBuilder, ops: Sequence[Operation]) -> str | None:
    """What is wrong with the ops that an algorithm appended."""
    for each in ops:
        try:
            each.verify_()
        except VerifyException as error:
            return f"makes a wrong op: {error}"
    for result in op.results:
        buffer = builder.buffers.get(result)
        if buffer is None:
            return "leaves a result unwritten; expected a nest that writes it"
        place = builder.place(buffer)
        if place.shape != shape_of(result) or buffer_shape(buffer) != place.physical_shape:
            return f"gives shape {place.shape}; expected {shape_of(result)}"
        found, expected = memref_of(buffer).element_type, mlir_type(tensor_dtype(result))
        if found != expected:
            return f"gives elements of {found}; expected {expected}"
    operand = written_among([builder.buffers[value] for value in op.operands], ops)
    if operand is not None:
        return f"writes to operand {operand}; expected to write its result, and buffers of its own"
    for result in op.results:
        left = unwritten(builder.buffers[result], ops)
        if left is not None:
            (count, at), whole = left, math.prod(buffer_shape(builder.buffers[result]))
            return (
                f"leaves {count} of {whole} elements of the result unwritten, the first one at {list(at)}; "
                "expected nests that write all of it"
            )
    return None


def origin_of(op: Operation, name: str) -> str:
    """The source of an algorithm's code."""
    return ALGORITHMS.origin(name_of(op, name)).source


def described(op: Operation, name: str) -> str:
    """`'winograd-2x2' [its source]`."""
    return f"'{name}' [{origin_of(op, name)}]"


def identity_of(op: Operation, name: str) -> str:
    """A name for the state of the algorithm's code: measurements of one are none of the other."""
    if name == DIRECT:
        return ""
    return digest_of_module(ALGORITHMS.origin(name_of(op, name)).module)


def _fault(op: Operation, name: str, what: str) -> PluginError:
    text = f"algorithm {described(op, name)} of '{op.name}' {what}"
    return PluginError(text, where=location_text(op))


class IdleAlgorithmError(UsageError):
    """A selection by the user that applies to no op."""

    def __init__(self, selection: str, message: str, where: str | None = None) -> None:
        super().__init__(message, where=where)
        self.selection = selection


def drop_selection(module: ModuleOp, selection: str) -> None:
    """Deletes a selection that applies only to other parts of the program."""
    rest = [StringAttr(one) for one in selections_of(module) if one != selection]
    module.attributes[ASKED] = ArrayAttr(rest)


def selections_of(module: ModuleOp) -> list[str]:
    """The user's selections, in order. Raises UsageError for anything but a list of strings."""
    said = module.attributes.get(ASKED)
    each = list(cast("ArrayAttr[Attribute]", said)) if isinstance(said, ArrayAttr) else []
    texts = [one.data for one in each if isinstance(one, StringAttr)]
    if said is not None and (not isinstance(said, ArrayAttr) or len(texts) < len(each)):
        raise UsageError(f"expected a list of strings for {ASKED}, found {said}")
    return texts


def policy_of(module: ModuleOp) -> Policy:
    """The module's numerics policy; without one, `bounded`. Raises UsageError for an unknown policy."""
    said = module.attributes.get(NUMERICS)
    name = said.data if isinstance(said, StringAttr) else "bounded" if said is None else str(said)
    return checked_policy(name)


def checked_policy(name: str) -> Policy:
    """The policy of that name. Raises UsageError for an unknown one."""
    for policy in POLICIES:
        if policy == name:
            return policy
    raise unknown("numerics", str(name), POLICIES)
