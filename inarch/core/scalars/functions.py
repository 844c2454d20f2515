"""Scalar functions: one row each. What any layer knows of a function by its name is in its row.

A row has no C and no NumPy itself, but their names: nothing is imported for it. The C of our own functions,
which is numerics, is `backends/c/write/value/elementary.py`. Others add a row by a file that defines
`FUNCTION` (docs/extending.md): what it is by the functions here, and by NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inarch.core.dtypes import DTYPES
from inarch.core.errors import UsageError
from inarch.core.lazy import Array, np
from inarch.core.plugins import API_VERSION, Extensions
from inarch.core.rounding import LIBRARY_ULPS, OURS_ULPS

LIBRARY = 100
"""Operations of one vector of what is done one number after the other: sin, pow, the division of integers."""


@dataclass(frozen=True)
class Function:
    """A function of numbers of one dtype, whose result has that dtype."""

    name: str
    """As meanings write it."""
    arity: int
    floats: str = ""
    """The op of the IR that it is on floats; empty: there is none."""
    signed: str = ""
    """The same on signed integers."""
    unsigned: str = ""
    """The same on unsigned integers."""
    numpy: str | Callable[..., Array] = ""
    """NumPy's name of it, or its value by NumPy; empty for functions of several floats that no meaning has,
    which `inarch/definitions/ops` defines."""
    c: str = ""
    """The function of <math.h> on doubles, or the builtin; `f` is added for floats."""
    sign: str = ""
    """The operator of C."""
    order: str = ""
    """The comparison by which it takes the first of two numbers, else the second."""
    operations: int = 1
    """Operations of a vector unit that one vector takes, counted of our own C, in which a division or a root
    counts as many multiply-adds as could have begun meanwhile."""
    operations_of_integers: int | None = None
    """The same on integers; None: no other number."""
    ulps: float = 0.5
    """How far off an implementation may be on floats, in units in the last place of the result."""
    turning_points: tuple[float, ...] = ()
    """Where it stops rising or falling; between them a function of one float is monotone."""
    period: float = 0.0
    """Between its poles, half of it from 0 on; 0: it has none."""
    slope_below_one: bool = False
    """Whether its slope is at most 1, where it has too many turning points to be listed."""
    is_float_only: bool = False
    """Whether meanings have it of floats alone."""
    is_integer_only: bool = False
    """Whether there is none of floats."""
    is_ours: bool = False
    """Whether its C on f32 is our own; `ulps` is what that keeps to, and f64 has the C library's."""
    has_vectors: bool = False
    """Whether there is C for all lanes of a vector of f32 at once."""
    commutes: bool = False
    """Whether its two arguments may be exchanged."""
    keeps_whole: bool = False
    """Whether it makes whole numbers of whole numbers, exactly."""
    in_meanings: bool = False
    """Whether meanings of kernels may have it."""
    define: Callable[..., Any] | None = None
    """Of a function of others: its value by functions that there are, traced once on a `Scalar` an argument.

    Its C on numbers and on vectors, what it costs and how far off it may be follow from that.
    """
    onnx: str = ""
    """Of a function of others: the ONNX operator that it is, such as `com.example.Softsign`; empty: none."""
    api: int = API_VERSION

    @property
    def library(self) -> str:
        """The function of <math.h> on doubles, which may be a builtin; empty: there is none."""
        return self.c.removeprefix("__builtin_")

    def compute(self, *arrays: Array) -> Array:
        """Its value by NumPy."""
        function: Callable[..., Any] = (
            getattr(np, self.numpy) if isinstance(self.numpy, str) else self.numpy
        )
        return np.asarray(function(*arrays))


# ------------------------------------------------------------------------------------ by NumPy


def _divide(a: Array, b: Array) -> Array:
    """Truncates for integers; by 0 it is 0."""
    if a.dtype.kind == "f":
        return a / b
    if a.dtype.kind == "u":
        return np.where(b == 0, 0, a // np.where(b == 0, 1, b)).astype(a.dtype)
    by = np.where(b == 0, 1, b)
    with np.errstate(over="ignore"):  # the lowest by -1 wraps
        floor = a // by
        rest = a - floor * by
    differ = (a < 0) != (by < 0)
    truncated = floor + ((rest != 0) & differ)  # not by abs, which the lowest has not
    return np.where(b == 0, 0, truncated).astype(a.dtype)


def _erf(x: Array) -> Array:
    values = np.frompyfunc(math.erf, 1, 1)(np.asarray(x, np.float64))
    return np.asarray(values, np.float64)


def _relu(x: Array) -> Array:
    return np.maximum(x, x.dtype.type(0))


def _away(x: Array) -> Array:
    """Halves round away from zero, as in C."""
    return np.copysign(np.trunc(np.abs(x) + np.where(np.abs(x) < 0.5, 0.0, 0.5)), x)


def _same(x: Array) -> Array:
    return x


def _shift_left(x: Array, by: Array) -> Array:
    """Bits past the width are lost; an amount that is negative, or not below the width, leaves 0."""
    fits = (by >= 0) & (by < 8 * x.itemsize)
    return np.where(fits, np.left_shift(x, np.where(fits, by, 0)), x.dtype.type(0))


def _shift_right(x: Array, by: Array) -> Array:
    """Such an amount leaves the sign: 0, or -1 where x is below 0."""
    fits = (by >= 0) & (by < 8 * x.itemsize)
    return np.where(
        fits, np.right_shift(x, np.where(fits, by, 0)), np.where(x < 0, -1, 0).astype(x.dtype)
    )


def _rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)


# ------------------------------------------------------------------------------------ the rows


def _numbers(
    name: str, arity: int, floats: str = "", signed: str = "", unsigned: str = "", **more: Any
) -> Function:
    """Of floats and integers, exact and whole if `more` does not say otherwise."""
    known: dict[str, Any] = {"ulps": 0, "keeps_whole": True, "in_meanings": True, **more}
    return Function(name, arity, floats, signed, unsigned, **known)


def _arithmetic(
    name: str, sign: str, floats: str, signed: str, unsigned: str = "", **more: Any
) -> Function:
    """An operator of C, which rounds floats; `signed` is of all integers where there is no `unsigned`."""
    return _numbers(name, 2, floats, signed, unsigned or signed, sign=sign, ulps=0.5, **more)


def _order(name: str, order: str, floats: str, signed: str, unsigned: str, numpy: str) -> Function:
    """The larger or the smaller of two numbers; NaN when either is."""
    return _numbers(name, 2, floats, signed, unsigned, numpy=numpy, order=order, commutes=True)


def _bits(name: str, sign: str) -> Function:
    """Of integers and bools, bit by bit."""
    op = f"arith.{name}i"
    return _numbers(
        name, 2, "", op, op, numpy=f"bitwise_{name}", sign=sign, commutes=True, is_integer_only=True
    )


def _shift(name: str, signed: str, unsigned: str, numpy: Callable[..., Array]) -> Function:
    """Of integers, by an amount that is an integer, too."""
    return _numbers(name, 2, "", signed, unsigned, numpy=numpy, is_integer_only=True)


def _ours(name: str, operations: int, numpy: str | Callable[..., Array] = "") -> Function:
    """Of one float, by C of our own on f32 and on its vectors."""
    own: dict[str, Any] = {
        "is_ours": True,
        "has_vectors": True,
        "in_meanings": True,
        "ulps": OURS_ULPS,
    }
    return _floats(name, numpy, operations=operations, **own)


def _floats(
    name: str,
    numpy: str | Callable[..., Array] = "",
    arity: int = 1,
    *,
    c: str | None = None,
    op: str = "",
    **more: Any,
) -> Function:
    """Of floats alone; by the C library, if `more` does not say otherwise."""
    known: dict[str, Any] = {
        "operations": LIBRARY,
        "ulps": LIBRARY_ULPS,
        "is_float_only": True,
        **more,
    }
    numpy = numpy or (name if arity == 1 else "")
    return Function(
        name, arity, op or f"math.{name}", numpy=numpy, c=name if c is None else c, **known
    )


def _single(name: str, numpy: str | Callable[..., Array], arity: int = 1, **more: Any) -> Function:
    """Of floats alone; one instruction, and exact."""
    return _floats(name, numpy, arity, operations=1, ulps=0, **more)


FUNCTIONS: Mapping[str, Function] = {
    row.name: row
    for row in (
        _arithmetic("add", "+", "arith.addf", "arith.addi", numpy="add", commutes=True),
        _arithmetic("sub", "-", "arith.subf", "arith.subi", numpy="subtract"),
        _arithmetic("mul", "*", "arith.mulf", "arith.muli", numpy="multiply", commutes=True),
        _arithmetic(
            "div", "/", "arith.divf", "arith.divsi", "arith.divui",
            numpy=_divide, operations=10, operations_of_integers=LIBRARY, keeps_whole=False,
        ),
        _order("max", ">", "arith.maximumf", "arith.maxsi", "arith.maxui", "maximum"),
        _order("min", "<", "arith.minimumf", "arith.minsi", "arith.minui", "minimum"),
        _numbers("neg", 1, "arith.negf", numpy="negative"),
        _numbers(
            "abs", 1, "math.absf", "math.absi",
            numpy="absolute", c="__builtin_fabs", turning_points=(0.0,),
        ),
        _ours("exp", 22),
        _ours("log", 34),
        _floats("sqrt", operations=10, ulps=0.5, has_vectors=True, in_meanings=True),
        _ours("tanh", 44),
        _ours("erf", 48, _erf),
        _ours("expm1", 26),
        _ours("log1p", 40),
        _numbers("relu", 1, numpy=_relu),
        _numbers("rounded", 1, numpy=_same, operations=0),
        _bits("and", "&"),
        _bits("or", "|"),
        _bits("xor", "^"),
        _shift("shift_left", "arith.shli", "arith.shli", _shift_left),
        _shift("shift_right", "arith.shrsi", "arith.shrui", _shift_right),
        _floats("rsqrt", _rsqrt, c="", operations=20, ulps=1.5),
        _floats("exp2"),
        _floats("log10"),
        _floats("log2"),
        _floats("cbrt"),
        _floats("acos", "arccos"),
        _floats("acosh", "arccosh"),
        _floats("asin", "arcsin"),
        _floats("asinh", "arcsinh"),
        _floats("atan", "arctan"),
        _floats("atanh", "arctanh"),
        _floats("cosh", turning_points=(0.0,)),
        _floats("sinh"),
        _floats("sin", slope_below_one=True),
        _floats("cos", slope_below_one=True),
        _floats("tan", period=math.pi),
        _single("ceil", "ceil"),
        _single("floor", "floor"),
        _single("trunc", "trunc"),
        _single("roundeven", "rint", c="rint"),  # the rounding mode is never changed
        _floats("round", _away, ulps=0),
        _single("copysign", "", 2, c="__builtin_copysign"),
        _single("fma", "", 3),
        _single("maxnumf", "", 2, c="fmax", op="arith.maxnumf"),
        _single("minnumf", "", 2, c="fmin", op="arith.minnumf"),
        _single("remf", "", 2, c="fmod", op="loop.remf"),
        _floats("atan2", "", 2),
        _floats("powf", "", 2, c="pow"),
    )
}  # fmt: skip
"""By name; those of meanings first."""

BY_OP: Mapping[str, tuple[Function, bool | None]] = {
    **{row.signed: (row, True) for row in FUNCTIONS.values() if row.signed},
    **{row.unsigned: (row, False) for row in FUNCTIONS.values() if row.unsigned},
    **{
        op: (row, None)
        for row in FUNCTIONS.values()
        for op in (row.floats, *[row.signed][: row.signed == row.unsigned])
        if op
    },
}
"""The name of an op -> its function, and whether its integers are signed (None: it makes no difference)."""


class _OfMeanings(Mapping[str, Function]):
    """Ours, then those of others, which are looked for where a name is none of ours."""

    def __init__(self) -> None:
        self._ours = {name: row for name, row in FUNCTIONS.items() if row.in_meanings}

    def __getitem__(self, name: str) -> Function:
        if name in self._ours:
            return self._ours[name]
        if _file_name(name) not in OF_OTHERS:
            raise KeyError(name)
        return OF_OTHERS[_file_name(name)]

    def __contains__(self, name: object) -> bool:
        return name in self._ours or (isinstance(name, str) and _file_name(name) in OF_OTHERS)

    def __iter__(self) -> Iterator[str]:
        return iter([*self._ours, *(name.replace("-", "_") for name in OF_OTHERS)])

    def __len__(self) -> int:
        return len(self._ours) + len(OF_OTHERS)


def _file_name(name: str) -> str:
    """What a function of others is found by."""
    return name.replace("_", "-")


def _check(thing: object, name: str) -> None:
    """Raises UsageError for a row that is not sound."""
    begin = f"function '{name}'"
    if not isinstance(thing, Function):
        raise UsageError(
            f"{begin}: expected FUNCTION to be a Function, found {type(thing).__name__}"
        )
    if _file_name(thing.name) != name or not thing.name.isidentifier():
        raise UsageError(f"{begin}: expected the name of its file, found '{thing.name}'")
    if thing.name in FUNCTIONS or thing.name in DTYPES:
        raise UsageError(f"{begin}: Inarch has a function or a dtype of that name; rename the file")
    if thing.define is None:
        raise UsageError(
            f"{begin}: expected `define`, its value by other functions, of which its C is made; found none"
        )
    if not callable(thing.numpy):
        raise UsageError(f"{begin}: expected `numpy`, its value by NumPy, found {thing.numpy!r}")
    if thing.arity not in (1, 2):
        raise UsageError(f"{begin}: expected an arity of 1 or 2, found {thing.arity}")


OF_OTHERS: Extensions[Function] = Extensions(
    "inarch.core.scalars", "FUNCTION", entry_group="inarch.functions", check=_check
)
"""Functions that files of others define, by the name of the file."""

OF_MEANINGS: Mapping[str, Function] = _OfMeanings()
"""The functions of kernels; `max`, `min` and `relu` propagate NaN. `rounded` is its argument: a product that
is rounded before it is added to a sum."""

SIGNS: Mapping[str, str] = {
    name: row.sign
    for name, row in FUNCTIONS.items()
    if row.sign and row.in_meanings and not row.is_integer_only
}
"""The functions that meanings write as operators."""
ORDERS: Mapping[str, str] = {name: row.order for name, row in FUNCTIONS.items() if row.order}
"""Those that pick one of two numbers, by a comparison."""


_UNKNOWN = Function("", 0)


def of_op(name: str) -> tuple[Function, bool | None]:
    """As `BY_OP`; of an op that is no function, one without a name, of which nothing is said."""
    return BY_OP.get(name, (_UNKNOWN, None))


def operations(function: str) -> int:
    """Of a function of meanings, or of an op of the IR (`math.exp`, `arith.addf`), on one vector.

    >>> operations("add"), operations("math.exp"), operations("math.powf"), operations("math.ctpop")
    (1, 22, 100, 100)
    """
    row = of_op(function)[0] if "." in function else OF_MEANINGS.get(function, _UNKNOWN)
    if function in (row.signed, row.unsigned) and row.operations_of_integers is not None:
        return row.operations_of_integers
    return LIBRARY if row is _UNKNOWN and function.startswith("math.") else row.operations
