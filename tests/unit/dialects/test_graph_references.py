"""Every `graph` op tells its whole story, and what it tells is consistent.

The scalar body that a loop nest is made of is run here by a small interpreter of `arith` and
`math`, and compared with the op's NumPy reference. (`test_graph_composites.py` has the composites.)
"""

from __future__ import annotations

import inspect
import math as libm
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from inarch.core.dtypes import DTYPES, DType, from_numpy
from inarch.dialects.graph import DIALECT
from inarch.dialects.graph.composite import YieldOp
from inarch.dialects.graph.elementwise import ElementwiseOp
from inarch.dialects.graph.elementwise.arithmetic import power
from inarch.dialects.graph.op import GraphOp, shape_of, tensor_dtype
from inarch.dialects.loop.scalar import RemfOp
from inarch.dialects.scalar import Scalar
from inarch.ir.types import dtype_of, mlir_type, storage_type, tensor

Array = np.ndarray[Any, Any]
Properties = dict[str, Any]

OPS = list(DIALECT.operations)
ELEMENTWISE = [op for op in OPS if issubclass(op, ElementwiseOp)]


def op_name(op: type[Operation]) -> str:
    return op.name


# ------------------------------------------------------------------------------------ the story


def test_the_elementwise_families_are_found() -> None:
    assert len(ELEMENTWISE) >= 37


@pytest.mark.every_case(reason="a rule of the house holds for each")
@pytest.mark.parametrize("op", OPS, ids=op_name)
def test_op_is_a_graph_op_with_a_docstring_of_its_own(op: type[Operation]) -> None:
    assert issubclass(op, GraphOp | YieldOp)  # the terminator is no op on tensors
    assert op.__doc__
    assert op.__doc__ != op.__base__.__doc__


@pytest.mark.every_case(reason="a rule of the house holds for each")
@pytest.mark.parametrize("op", OPS, ids=op_name)
def test_every_constraint_that_an_op_checks_is_documented(op: type[GraphOp]) -> None:
    bases = [c for c in op.__mro__ if issubclass(c, GraphOp) and c is not GraphOp]
    checks = [vars(c)["check"] for c in bases if "check" in vars(c)]
    checked = {label for f in checks for label in re.findall(r'"(C\d)"', inspect.getsource(f))}
    documented = {label for c in bases for label in re.findall(r"\b(C\d)\b", c.__doc__ or "")}
    assert checked <= documented
    of_family = issubclass(op, ElementwiseOp) and "check" not in vars(op)
    text = (op.__base__ or op).__doc__ if of_family else op.__doc__
    own = re.search(r"\bC\d|[Cc]onstraints: see \w+|[Ss]ee \w+Op", text or "")
    assert own or not checks, "the docstring names no constraint"


# ------------------------------------------------------------------------------------ interpreter
# Integers are held as the IR holds them: signless, here in NumPy's signed types.


def _bits(a: Array) -> Array:
    return a if a.dtype.kind == "b" else a.view(f"u{a.itemsize}")


def _unsigned(function: Callable[..., Array]) -> Callable[..., Array]:
    """`function` on the bits of its operands read as unsigned integers."""

    def run(*operands: Any) -> Array:
        return function(*(a if isinstance(a, np.dtype) else _bits(a) for a in operands))

    return run


def _divide(a: int, b: int) -> int:
    sign = -1 if (a < 0) != (b < 0) else 1
    return 0 if b == 0 else sign * (abs(a) // abs(b))


def _remainder(a: int, b: int) -> int:
    return 0 if b == 0 else a - _divide(a, b) * b


def _shift_left(a: int, b: int) -> int:
    return a << b if 0 <= b < 64 else 0  # bits past the width are lost in wrapping


def _shift_right(a: int, b: int) -> int:
    return a >> b if b >= 0 else -int(a < 0)


def _on_integers(function: Callable[[int, int], int]) -> Callable[[Array, Array], Array]:
    """`function`, which takes Python integers, on the elements of two arrays; it wraps."""
    elementwise = np.frompyfunc(function, 2, 1)

    def run(a: Array, b: Array) -> Array:
        return _wrap(elementwise(a, b), a.dtype)

    return run


def _wrap(values: Any, dtype: np.dtype[Any]) -> Array:
    """Python integers modulo 2**bits, in an integer dtype."""
    modulus = 1 << (dtype.itemsize * 8)
    flat = [int(value) % modulus for value in np.asarray(values, object).ravel()]
    return np.array(flat, f"u{dtype.itemsize}").view(dtype).reshape(np.shape(values))


def _float_to_int(signed: bool) -> Callable[[Array, np.dtype[Any]], Array]:
    """One value at a time: towards zero, saturating, NaN to 0."""

    def convert(x: Array, target: np.dtype[Any]) -> Array:
        info = np.iinfo(target if signed else f"u{target.itemsize}")

        def one(value: float) -> int:
            if libm.isnan(value):
                return 0
            if libm.isinf(value):
                return info.max if value > 0 else info.min
            return max(info.min, min(info.max, libm.trunc(value)))

        return _wrap(np.frompyfunc(one, 1, 1)(x.astype(np.float64)), target)

    return convert


def _erf(x: Array) -> Array:
    return np.asarray(np.frompyfunc(libm.erf, 1, 1)(x.astype(np.float64)), x.dtype)


def _convert(x: Array, to: np.dtype[Any]) -> Array:
    return x.astype(to)


def _convert_unsigned(x: Array, to: np.dtype[Any]) -> Array:
    return _unsigned(_convert)(x, to)


def _wrapping_power(base: Array, exponent: Array) -> Array:
    bits = 8 * base.dtype.itemsize

    def one(b: int, n: int) -> int:
        inverse = {1: 1, -1: -1 if n & 1 else 1}.get(int(b), 0)
        found = inverse if n < 0 else int(b).__pow__(abs(int(n)), 1 << bits)
        return (found + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)

    return np.asarray(np.frompyfunc(one, 2, 1)(base, exponent)).astype(base.dtype)


FUNCTIONS: dict[type[Operation], Callable[..., Any]] = {
    arith.AddfOp: np.add,
    arith.AddiOp: np.add,
    arith.SubfOp: np.subtract,
    arith.SubiOp: np.subtract,
    arith.MulfOp: np.multiply,
    arith.MuliOp: np.multiply,
    arith.DivfOp: np.divide,
    arith.DivSIOp: _on_integers(_divide),
    arith.DivUIOp: _unsigned(_on_integers(_divide)),
    arith.RemSIOp: _on_integers(_remainder),
    arith.RemUIOp: _unsigned(_on_integers(_remainder)),
    RemfOp: np.fmod,
    arith.MaximumfOp: np.maximum,
    arith.MinimumfOp: np.minimum,
    arith.MaxSIOp: np.maximum,
    arith.MaxUIOp: _unsigned(np.maximum),
    arith.MinSIOp: np.minimum,
    arith.MinUIOp: _unsigned(np.minimum),
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.ShLIOp: _on_integers(_shift_left),
    arith.ShRSIOp: _on_integers(_shift_right),
    arith.ShRUIOp: _unsigned(_on_integers(_shift_right)),
    arith.SelectOp: np.where,
    arith.NegfOp: np.negative,
    math.PowFOp: np.power,
    math.IPowIOp: _wrapping_power,
    math.AbsFOp: np.abs,
    math.AbsIOp: np.abs,
    math.ExpOp: np.exp,
    math.LogOp: np.log,
    math.ExpM1Op: np.expm1,
    math.Log1pOp: np.log1p,
    math.SqrtOp: np.sqrt,
    math.ErfOp: _erf,
    math.TanhOp: np.tanh,
    math.SinOp: np.sin,
    math.CosOp: np.cos,
    math.TanOp: np.tan,
    math.AsinOp: np.arcsin,
    math.AcosOp: np.arccos,
    math.AtanOp: np.arctan,
    math.SinhOp: np.sinh,
    math.CoshOp: np.cosh,
    math.AsinhOp: np.arcsinh,
    math.AcoshOp: np.arccosh,
    math.AtanhOp: np.arctanh,
    math.FloorOp: np.floor,
    math.CeilOp: np.ceil,
    math.RoundEvenOp: np.rint,
}

CASTS: dict[type[Operation], Callable[[Array, np.dtype[Any]], Array]] = {
    arith.ExtFOp: _convert,
    arith.TruncFOp: _convert,
    arith.SIToFPOp: _convert,
    arith.UIToFPOp: _convert_unsigned,
    arith.ExtSIOp: _convert,
    arith.ExtUIOp: _convert_unsigned,
    arith.TruncIOp: _convert,
    arith.FPToSIOp: _float_to_int(signed=True),
    arith.FPToUIOp: _float_to_int(signed=False),
}

ORDER = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}


def _compare(op: arith.CmpiOp | arith.CmpfOp, a: Array, b: Array) -> Array:
    if isinstance(op, arith.CmpfOp):
        name = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
        assert name in {"oeq", "olt", "ole", "une"}  # NumPy's comparisons are these
        return ORDER[name[-2:]](a, b)
    name = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    relation = ORDER[name[-2:]]
    return _unsigned(relation)(a, b) if name.startswith("u") else relation(a, b)


def _numpy(element: Attribute) -> np.dtype[Any]:
    return np.dtype(dtype_of(element).numpy)


def _execute(op: Operation, operands: Sequence[Array]) -> Array:
    """One scalar op on arrays of its operands."""
    kind = op.results[0].type
    match op:
        case arith.ConstantOp():
            value: Any = op.value
            return np.asarray(value.value.data, _numpy(kind))
        case arith.CmpiOp() | arith.CmpfOp():
            return _compare(op, *operands)
        case _ if type(op) in CASTS:
            return CASTS[type(op)](operands[0], _numpy(kind))
        case _:
            return FUNCTIONS[type(op)](*operands)


def run_body(op: ElementwiseOp, operands: Sequence[Array]) -> Array:
    """`op` by its nest: the operands read through the index maps, the traced body on all points."""
    spec = op.nest()
    dtypes = [tensor_dtype(operand) for operand in op.operands]
    block = Block(arg_types=[storage_type(mlir_type(dtype)) for dtype in dtypes])
    scalars = [Scalar(a, d, block) for a, d in zip(block.args, dtypes, strict=True)]
    result = spec.body(*scalars)
    sizes = [iterator.size for iterator in spec.iterators]
    points = list(np.indices(sizes))
    values: dict[SSAValue, Array] = {}
    for argument, operand, read in zip(block.args, operands, spec.reads, strict=True):
        index = tuple(expr.eval(points, []) for expr in read.map.results)
        signless = operand.view(f"i{operand.itemsize}") if operand.dtype.kind == "u" else operand
        values[argument] = np.broadcast_to(signless[index], sizes)
    with np.errstate(all="ignore"):
        for inner in block.ops:
            inner.verify()
            out = np.asarray(_execute(inner, [values[v] for v in inner.operands]))
            element = _numpy(inner.results[0].type)
            values[inner.results[0]] = out.view(element) if out.dtype.kind == "u" else out
            assert values[inner.results[0]].dtype == element, inner.name
    assert result.dtype == tensor_dtype(op.results[0])
    found = np.broadcast_to(values[result.value], sizes)
    return found.copy().view(_numpy(mlir_type(result.dtype)))


# ------------------------------------------------------------------------------------ values


def values_of(dtype: DType) -> Array:
    """Numbers of `dtype` where ops go wrong, and random ones."""
    random = np.random.default_rng(7)
    kind = np.dtype(dtype.numpy)
    if kind.kind == "b":
        return np.array([False, True])
    if dtype.is_stored:
        with np.errstate(over="ignore"):  # an infinity
            return values_of(DTYPES[dtype.arithmetic]).astype(kind)
    if kind.kind == "f":
        info = np.finfo(kind)
        corners = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, -1.0, 7.0, 300.75]
        edges = [info.max, info.min, info.tiny, -info.tiny, info.eps, 2.0**31, -(2.0**31), 2.0**63]
        return np.array([*corners, *edges, *random.normal(0, 4, 8)], kind)
    info = np.iinfo(kind)
    corners = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 100]
    if kind.kind == "i":
        corners += [-1, -2, -3, -7, -100]
    return np.array([*corners, *random.integers(info.min, info.max, 6, kind)], kind)


def values(*arrays: Array) -> list[SSAValue]:
    """SSA values that have the types of `arrays`."""
    types = [
        tensor(next(mlir_type(d) for d in DTYPES.values() if d.numpy == a.dtype.name), a.shape)
        for a in arrays
    ]
    return list(Block(arg_types=types).args)


def all_combinations(arrays: Sequence[Array]) -> list[Array]:
    """Arrays of one axis each that broadcast to every combination of elements."""
    rank = len(arrays)
    return [
        a.reshape([a.size if axis == n else 1 for axis in range(rank)])
        for n, a in enumerate(arrays)
    ]


VARIANTS: dict[str, list[Properties]] = {
    "graph.mod": [{"fmod": True}, {"fmod": False}],
    "graph.cast": [{"to": mlir_type(name)} for name in DTYPES],
    "graph.clip": [
        {},
        {"low": 1.0},
        {"high": 6.0},
        {"low": 0.0, "high": 100.0},
        {"low": 3.0, "high": 2.0},
        {"low": -0.75, "high": 1e300},
    ],
}
"""The properties to try of ops that have some."""

EITHER_ZERO = {"graph.maximum", "graph.minimum", "graph.relu", "graph.clip"}
"""Ops whose docstring leaves the sign of a zero open."""


def _operand_dtypes(op: type[ElementwiseOp], dtype: DType) -> list[DType]:
    names = [name for name, _ in op.get_irdl_definition().operands]
    return [DTYPES["i1"] if name == "condition" else dtype for name in names]


def elementwise_cases() -> Iterator[Any]:
    """(op class, its properties, dtype) of all that the op's constraints accept."""
    for op, dtype in product(ELEMENTWISE, DTYPES.values()):
        for number, properties in enumerate(VARIANTS.get(op.name, [{}])):
            arrays = [np.zeros((), d.numpy) for d in _operand_dtypes(op, dtype)]
            try:
                op.make(*values(*arrays), **properties)
            except VerifyException:
                continue
            yield pytest.param(op, properties, dtype, id=f"{op.name}-{dtype.name}-{number}")


CASES = list(elementwise_cases())


def check_type(op: GraphOp, found: Array) -> None:
    """The reference has the shape and dtype that `infer` states."""
    assert isinstance(found, np.ndarray)
    assert found.shape == shape_of(op.results[0])
    assert found.dtype.name == tensor_dtype(op.results[0]).numpy


def check_equal(name: str, found: Array, expected: Array) -> None:
    if from_numpy(expected.dtype.name).is_stored:
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.astype("f4"), expected.astype("f4"))
        return
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(expected.dtype).eps, atol=0)
    if name not in EITHER_ZERO:
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


# ------------------------------------------------------------------------------------ elementwise


def test_every_elementwise_op_has_a_case() -> None:
    assert {case.values[0] for case in CASES} == set(ELEMENTWISE)


@pytest.mark.sampled(110, reason="each op and each dtype once")
@pytest.mark.parametrize(("op_class", "properties", "dtype"), CASES)
def test_body_computes_what_the_reference_does(
    op_class: type[ElementwiseOp], properties: Properties, dtype: DType
) -> None:
    arrays = all_combinations([values_of(d) for d in _operand_dtypes(op_class, dtype)])
    op = op_class.make(*values(*arrays), **properties)
    expected: Any = op.reference(*arrays)
    check_type(op, expected)
    check_equal(op.name, run_body(op, arrays), expected)


@pytest.mark.parametrize("shape", [(), (1,), (16,), (4, 4)])
def test_pow_is_that_of_c_however_the_exponent_is_broadcast(shape: tuple[int, ...]) -> None:
    """C11 F.10.4.4: no square root, which is NaN of -infinity and -0 of -0."""
    for base, expected in ((-np.inf, np.inf), (-0.0, 0.0), (4.0, 2.0)):
        for dtype in (np.float32, np.float64):
            found = power(np.full(shape, base, dtype), np.asarray(0.5, dtype))
            assert found.shape == shape
            assert found.dtype == dtype
            assert np.all(found == expected)
            assert not np.any(np.signbit(found))


@pytest.mark.sampled(110, reason="each op, dtype and shape once")
@pytest.mark.parametrize(("op_class", "properties", "dtype"), CASES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)], ids=str)
def test_scalars_and_empty_tensors_are_legal(
    op_class: type[ElementwiseOp], properties: Properties, dtype: DType, shape: tuple[int, ...]
) -> None:
    arrays = [np.ones(shape, d.numpy) for d in _operand_dtypes(op_class, dtype)]
    op = op_class.make(*values(*arrays), **properties)
    expected: Any = op.reference(*arrays)
    check_type(op, expected)
    check_equal(op.name, run_body(op, arrays), expected)
