"""The ops of the ExampleJSON engine: for each its inputs, attributes, result type, and NumPy.

The engine owns this table, because the runtime works without the compiler; a test compares it with
the references of the `graph` ops of the same names. Computations may give views of their inputs:
the engine copies what leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from inarch.core.lazy import Array, np
from inarch.runtime.loaders.examplejson.graph import Tensor, Value

Attrs: TypeAlias = Mapping[str, Value | None]
"""All attributes of an op by name; None: not given, and without a default."""

Kind = Literal["int", "ints", "bool", "float"]


class Misfit(Exception):  # noqa: N818 - not an error of the program: the parser locates it and raises that
    """The inputs, the attributes or the declared type do not fit the op; the message says which."""


@dataclass(frozen=True)
class Attr:
    """How an attribute is read, and what it is where it is left out."""

    kind: Kind
    required: bool = True
    default: Value | None = None


@dataclass(frozen=True)
class Op:
    """One op: `infer` gives the result type, or raises Misfit; `compute` gives the array."""

    infer: Callable[[Sequence[Tensor], Tensor, Attrs], Tensor]
    """Of the types of the inputs, the declared type, and the attributes."""
    compute: Callable[[Sequence[Array], Tensor, Attrs], Any]
    """Of arrays that fit `infer`, and the type that it gave."""
    arity: int | None = 1
    """None: one or more."""
    attrs: Mapping[str, Attr] = field(default_factory=dict[str, Attr])

    def filled(self, attrs: Mapping[str, Value]) -> Attrs:
        """`attrs` with the defaults of those that are not there."""
        return {name: attrs.get(name, attr.default) for name, attr in self.attrs.items()}


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise Misfit(message)


def _broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """NumPy's broadcast; not by NumPy, which refuses large shapes and raises for what does not fit."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result: list[int] = []
    for sizes in zip(*padded, strict=True):
        others = {size for size in sizes if size != 1}
        _require(len(others) <= 1, "the shapes do not broadcast")
        result.append(others.pop() if others else 1)
    return tuple(result)


def _one_dtype(inputs: Sequence[Tensor]) -> None:
    _require(len({tensor.dtype for tensor in inputs}) == 1, "the dtypes differ")


# ------------------------------------------------------------------------------------ elementwise


def _elementwise(inputs: Sequence[Tensor], *, floats: bool) -> Tensor:
    _one_dtype(inputs)
    dtype = inputs[0].dtype
    if floats:
        _require(dtype.is_float, "the op is defined on floats")
    _require(dtype.name != "i1", "the op is not defined on bools")
    return Tensor(dtype, _broadcast(*(tensor.shape for tensor in inputs)))


def _maps(function: Callable[..., Any], arity: int, *, floats: bool) -> Op:
    """An op that applies `function` to the elements of its inputs."""

    def infer(inputs: Sequence[Tensor], _out: Tensor, _attrs: Attrs) -> Tensor:
        return _elementwise(inputs, floats=floats)

    def compute(arrays: Sequence[Array], _out: Tensor, _attrs: Attrs) -> Any:
        return function(*arrays)

    return Op(infer, compute, arity)


def _divide(a: Array, b: Array) -> Any:
    """IEEE division; integers towards zero, and 0 where they are divided by zero."""
    if a.dtype.kind == "f":
        return np.divide(a, b)
    floor = np.floor_divide(a, b)
    inexact = floor * b != a
    towards_zero = floor + (inexact & ((a < 0) != (b < 0))).astype(a.dtype)
    return np.where(b == 0, np.zeros((), a.dtype), towards_zero)


def _relu(x: Array) -> Array:
    return np.maximum(x, x.dtype.type(0))


def _sigmoid(x: Array) -> Array:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


def _infer_clip(inputs: Sequence[Tensor], _out: Tensor, attrs: Attrs) -> Tensor:
    result = _elementwise(inputs, floats=False)
    for name, limit in attrs.items():
        if limit is not None:
            _require(_is_value(cast("float", limit), result), f"{name} is no value of the dtype")
    return result


def _is_value(limit: float, tensor: Tensor) -> bool:
    """Whether an integer dtype has the value; floats are rounded to theirs."""
    dtype = tensor.dtype
    if dtype.is_float:
        return limit - limit == 0  # finite
    low = 0 if dtype.is_unsigned else -(1 << (dtype.bits - 1))
    return limit.is_integer() and low <= int(limit) < low + (1 << dtype.bits)


def _compute_clip(arrays: Sequence[Array], _out: Tensor, attrs: Attrs) -> Any:
    (x,) = arrays
    kind = float if x.dtype.kind == "f" else int
    low, high = (cast("float | None", attrs[name]) for name in ("low", "high"))
    if low is not None:
        x = np.maximum(x, np.array(kind(low), x.dtype))
    return x if high is None else np.minimum(x, np.array(kind(high), x.dtype))


# ------------------------------------------------------------------------------------ over axes


def _infer_matmul(inputs: Sequence[Tensor], _out: Tensor, _attrs: Attrs) -> Tensor:
    _one_dtype(inputs)
    a, b = (tensor.shape for tensor in inputs)
    _require(inputs[0].dtype.name != "i1", "the op is not defined on bools")
    _require(min(len(a), len(b)) >= 2, "both ranks have to be 2 or more")
    (*left, m, k), (*right, rows, n) = a, b
    _require(k == rows, f"the first has {k} columns, the second {rows} rows")
    return Tensor(inputs[0].dtype, (*_broadcast(tuple(left), tuple(right)), m, n))


def _compute_matmul(arrays: Sequence[Array], _out: Tensor, _attrs: Attrs) -> Any:
    return np.matmul(*arrays)


def _infer_softmax(inputs: Sequence[Tensor], _out: Tensor, attrs: Attrs) -> Tensor:
    (x,) = inputs
    _require(x.dtype.is_float, "the op is defined on floats")
    axis, rank = cast("int", attrs["axis"]), len(x.shape)
    _require(-rank <= axis < rank, f"axis {axis} is outside of rank {rank}")
    return x


def _compute_softmax(arrays: Sequence[Array], _out: Tensor, attrs: Attrs) -> Any:
    (x,) = arrays
    axis = cast("int", attrs["axis"])
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def _infer_reduce(inputs: Sequence[Tensor], _out: Tensor, attrs: Attrs) -> Tensor:
    (x,) = inputs
    axes, rank = cast("tuple[int, ...]", attrs["axes"]), len(x.shape)
    _require(x.dtype.name != "i1", "the op is not defined on bools")
    ascend = list(axes) == sorted(set(axes)) and all(0 <= axis < rank for axis in axes)
    _require(ascend, f"axes have to ascend within rank {rank}")
    if attrs["keepdims"]:
        return Tensor(x.dtype, tuple(1 if d in axes else size for d, size in enumerate(x.shape)))
    return Tensor(x.dtype, tuple(size for d, size in enumerate(x.shape) if d not in axes))


def _infer_float_reduce(inputs: Sequence[Tensor], out: Tensor, attrs: Attrs) -> Tensor:
    _require(inputs[0].dtype.is_float, "the op is defined on floats")
    return _infer_reduce(inputs, out, attrs)


def _reduce(function: Callable[..., Any], infer: Any = _infer_reduce) -> Op:
    """An op that applies `function(x, axes)` along the axes; with no axes it gives x."""

    def compute(arrays: Sequence[Array], out: Tensor, attrs: Attrs) -> Any:
        axes = cast("tuple[int, ...]", attrs["axes"])
        result = function(arrays[0], axes) if axes else arrays[0]
        return np.asarray(result, out.dtype.numpy).reshape(out.shape)

    return Op(infer, compute, attrs={"axes": Attr("ints"), "keepdims": Attr("bool", False, False)})


def _sum(x: Array, axes: tuple[int, ...]) -> Any:
    """Floats add up in double precision, integers wrap in their own."""
    return np.sum(x, axis=axes, dtype=np.float64 if x.dtype.kind == "f" else x.dtype)


def _mean(x: Array, axes: tuple[int, ...]) -> Any:
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    return np.divide(_sum(x, axes), count)


def _largest(x: Array, axes: tuple[int, ...]) -> Any:
    start = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return np.max(x, axis=axes, initial=start)


def _smallest(x: Array, axes: tuple[int, ...]) -> Any:
    start = np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max
    return np.min(x, axis=axes, initial=start)


# ------------------------------------------------------------------------------------ moving elements


def _infer_reshape(inputs: Sequence[Tensor], out: Tensor, _attrs: Attrs) -> Tensor:
    (x,) = inputs
    _require(x.size == out.size, f"{x.size} elements do not make {out.size}")
    return Tensor(x.dtype, out.shape)


def _compute_reshape(arrays: Sequence[Array], out: Tensor, _attrs: Attrs) -> Any:
    return arrays[0].reshape(out.shape)


def _infer_broadcast_to(inputs: Sequence[Tensor], out: Tensor, _attrs: Attrs) -> Tensor:
    (x,) = inputs
    fits = len(x.shape) <= len(out.shape) and _broadcast(x.shape, out.shape) == out.shape
    _require(fits, f"the shape does not broadcast to {list(out.shape)}")
    return Tensor(x.dtype, out.shape)


def _compute_broadcast_to(arrays: Sequence[Array], out: Tensor, _attrs: Attrs) -> Any:
    return np.broadcast_to(arrays[0], out.shape)


def _infer_transpose(inputs: Sequence[Tensor], _out: Tensor, attrs: Attrs) -> Tensor:
    (x,) = inputs
    perm, rank = cast("tuple[int, ...]", attrs["perm"]), len(x.shape)
    _require(sorted(perm) == list(range(rank)), f"perm has to be a permutation of {rank} axes")
    return Tensor(x.dtype, tuple(x.shape[axis] for axis in perm))


def _compute_transpose(arrays: Sequence[Array], _out: Tensor, attrs: Attrs) -> Any:
    return np.transpose(arrays[0], cast("tuple[int, ...]", attrs["perm"]))


def _infer_concat(inputs: Sequence[Tensor], _out: Tensor, attrs: Attrs) -> Tensor:
    _one_dtype(inputs)
    axis, shapes = cast("int", attrs["axis"]), [tensor.shape for tensor in inputs]
    rank = len(shapes[0])
    _require(0 <= axis < rank, f"axis {axis} is outside of rank {rank}")
    rest = {shape[:axis] + shape[axis + 1 :] for shape in shapes}
    same = len(rest) == 1 and all(len(shape) == rank for shape in shapes)
    _require(same, f"the shapes differ in more than axis {axis}")
    total = sum(shape[axis] for shape in shapes)
    return Tensor(inputs[0].dtype, (*shapes[0][:axis], total, *shapes[0][axis + 1 :]))


def _compute_concat(arrays: Sequence[Array], _out: Tensor, attrs: Attrs) -> Any:
    return np.concatenate(arrays, axis=cast("int", attrs["axis"]))


def _infer_slice(inputs: Sequence[Tensor], out: Tensor, attrs: Attrs) -> Tensor:
    """`out[i] = x[starts + i * steps]`; the sizes are the declared shape."""
    (x,) = inputs
    starts, steps = (cast("tuple[int, ...]", attrs[name]) for name in ("starts", "steps"))
    ranks = {len(starts), len(steps), len(out.shape)}
    _require(ranks == {len(x.shape)}, f"one start, step and size for each of {len(x.shape)} axes")
    _require(0 not in steps, "steps cannot be 0")
    if 0 not in out.shape:
        for axis, size in enumerate(x.shape):
            last = starts[axis] + (out.shape[axis] - 1) * steps[axis]
            inside = 0 <= starts[axis] < size and 0 <= last < size
            _require(inside, f"elements {starts[axis]} to {last} of axis {axis} are outside")
    return Tensor(x.dtype, out.shape)


def _compute_slice(arrays: Sequence[Array], out: Tensor, attrs: Attrs) -> Any:
    (x,) = arrays
    if 0 in out.shape:
        return np.empty(out.shape, x.dtype)
    starts, steps = (cast("tuple[int, ...]", attrs[name]) for name in ("starts", "steps"))
    parts: list[slice] = []
    for start, step, size in zip(starts, steps, out.shape, strict=True):
        end = start + size * step
        parts.append(slice(start, end if end >= 0 else None, step))
    return x[tuple(parts)]


# ------------------------------------------------------------------------------------ the table


def _ufunc(name: str) -> Callable[..., Any]:
    """NumPy's function of that name, found when it is called: NumPy is imported late."""

    def call(*arrays: Array) -> Any:
        return getattr(np, name)(*arrays)

    return call


OPS: Mapping[str, Op] = {
    "add": _maps(_ufunc("add"), 2, floats=False),
    "sub": _maps(_ufunc("subtract"), 2, floats=False),
    "mul": _maps(_ufunc("multiply"), 2, floats=False),
    "div": _maps(_divide, 2, floats=False),
    "maximum": _maps(_ufunc("maximum"), 2, floats=False),
    "minimum": _maps(_ufunc("minimum"), 2, floats=False),
    "pow": _maps(_ufunc("power"), 2, floats=True),
    "neg": _maps(_ufunc("negative"), 1, floats=False),
    "abs": _maps(_ufunc("absolute"), 1, floats=False),
    "relu": _maps(_relu, 1, floats=False),
    "exp": _maps(_ufunc("exp"), 1, floats=True),
    "log": _maps(_ufunc("log"), 1, floats=True),
    "sqrt": _maps(_ufunc("sqrt"), 1, floats=True),
    "tanh": _maps(_ufunc("tanh"), 1, floats=True),
    "sigmoid": _maps(_sigmoid, 1, floats=True),
    "clip": Op(
        _infer_clip,
        _compute_clip,
        attrs={"low": Attr("float", required=False), "high": Attr("float", required=False)},
    ),
    "matmul": Op(_infer_matmul, _compute_matmul, 2),
    "softmax": Op(_infer_softmax, _compute_softmax, attrs={"axis": Attr("int")}),
    "reduce_sum": _reduce(_sum),
    "reduce_mean": _reduce(_mean, _infer_float_reduce),
    "reduce_max": _reduce(_largest),
    "reduce_min": _reduce(_smallest),
    "reshape": Op(_infer_reshape, _compute_reshape),
    "broadcast_to": Op(_infer_broadcast_to, _compute_broadcast_to),
    "transpose": Op(_infer_transpose, _compute_transpose, attrs={"perm": Attr("ints")}),
    "concat": Op(_infer_concat, _compute_concat, None, {"axis": Attr("int")}),
    "slice": Op(
        _infer_slice, _compute_slice, attrs={"starts": Attr("ints"), "steps": Attr("ints")}
    ),
}
"""The ops by name. The first three are the tutorial's."""
