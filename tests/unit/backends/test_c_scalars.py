"""Every scalar op in C, as a loop over elements and as lanes of a register tile, against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.backends.c import run_function
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.machine.target import parse
from inarch.testing import execute, execute_compiled

Array = np.ndarray[Any, Any]

FLOATS = np.array(
    [
        0.0,
        -0.0,
        1.5,
        -2.5,
        0.5,
        -0.5,
        3.25,
        100.0,
        -7.0,
        np.inf,
        -np.inf,
        np.nan,
        1e30,
        -1e30,
        255.0,
        2.5,
    ]
)
INTEGERS = np.array([0, 1, -1, 2, -2, 7, -7, 100, 127, -128, 3, -3, 64, -64, 5, 31])
DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
}


def _pairs(kind: str) -> tuple[Array, Array]:
    """All pairs of the special values of a dtype."""
    if kind.startswith("f"):
        values = FLOATS.astype(DTYPES[kind])
    elif kind == "i1":
        values = np.array([False, True])
    else:
        limits = np.iinfo(DTYPES[kind])
        values = np.concatenate([INTEGERS[:-2], [limits.min, limits.max]]).astype(DTYPES[kind])
    a, b = np.meshgrid(values, values)
    return np.ascontiguousarray(a.ravel()), np.ascontiguousarray(b.ravel())


def run(ops: str, source: str, target: str, *, lanes: bool) -> Array:
    """The values that `ops` gives as %r, elementwise or in a register tile."""
    return run_all([ops], source, target, lanes=lanes)[0]


def run_all(
    every: Sequence[str],
    source: str,
    target: str,
    *,
    lanes: bool,
    by: Callable[[Context, ModuleOp, str, list[Array]], None] = run_function,
) -> list[Array]:
    """`run`, several at once: one nest with an output each."""
    a, b = _pairs(source)
    size = a.size
    reduction = ", k = 2 reduction, v = 4 vector" if lanes else ""
    index = "i * 4 + v" if lanes else "i"
    points = size // 4 if lanes else size
    count = range(len(every))
    kind, out = f"memref<{size}x{source}>", f"memref<{size}x{target}>"
    parameters = ", ".join(f"%o{i}: {out} {{inarch.result}}" for i in count)
    outs = ", ".join(f"%o{i}[{index}] : {out}" for i in count)
    accumulators = ", ".join(f"%acc{i}: {target}" for i in count)
    body = "\n".join(
        text.replace("%r", f"%r{i}").replace("%c", f"%c{i}") for i, text in enumerate(every)
    )
    results, types = ", ".join(f"%r{i}" for i in count), ", ".join(target for _ in count)
    text = f"""module attributes {{inarch.target = "x86-64"}} {{
func.func @main(%a: {kind}, %b: {kind}, {parameters}) {{
  loop.nest (i = {points}{reduction}) ins(%a[{index}] : {kind}, %b[{index}] : {kind}) outs({outs}) {{
  ^bb0(%x: {source}, %y: {source}, {accumulators}):
    {body}
    loop.yield {results} : {types}
  }}
  func.return
}}
}}"""
    context = new_context()
    module = parse_module(context, text)
    verify_module(module)
    arrays = [np.zeros(size, DTYPES[target]) for _ in count]
    by(context, module, "main", [a, b, *arrays])
    return arrays


def _c_divide(a: Array, b: Array) -> Array:
    safe = np.where(b == 0, 1, b)
    wide = (np.abs(a.astype(object)) // np.abs(safe.astype(object))) * np.sign(a) * np.sign(safe)
    return np.where(b == 0, 0, wide.astype(object))


def _saturate(x: Array, kind: str) -> Array:
    limits = np.iinfo(kind)
    values = [0 if math.isnan(v) else max(limits.min, min(limits.max, v)) for v in x.tolist()]
    return np.array([int(v) for v in values], dtype=kind)


def _wrap(values: Array, kind: str) -> Array:
    bits = np.dtype(DTYPES[kind]).itemsize * 8
    wrapped = [int(v) & ((1 << bits) - 1) for v in values.tolist()]
    return np.array([v - (1 << bits) if v >> (bits - 1) else v for v in wrapped], DTYPES[kind])


def _object(function: Callable[[Any, Any], Any]) -> Callable[[Array, Array], Array]:
    return lambda a, b: function(a.astype(object), b.astype(object))


def _each(divide: Callable[[int, int], int], a: Array, b: Array) -> Array:
    return np.array(
        [0 if q == 0 else divide(p, q) for p, q in zip(a, b, strict=True)], dtype=object
    )


def _binary(name: str, kind: str) -> str:
    return f"%r = arith.{name} %x, %y : {kind}"


INTEGER_OPS: dict[str, Callable[[Array, Array], Array]] = {
    "addi": _object(lambda a, b: a + b),
    "subi": _object(lambda a, b: a - b),
    "muli": _object(lambda a, b: a * b),
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "divsi": _c_divide,
    "remsi": lambda a, b: np.where(
        b == 0, 0, a.astype(object) - _c_divide(a, b) * b.astype(object)
    ),
    "floordivsi": _object(lambda a, b: _each(lambda p, q: p // q, a, b)),
    "ceildivsi": _object(lambda a, b: _each(lambda p, q: -(-p // q), a, b)),
}


@pytest.mark.parametrize("lanes", [False, True], ids=["loop", "lanes"])
@pytest.mark.parametrize("kind", ["i8", "i32", "i64"])
def test_integer_arithmetic_wraps_and_never_traps(kind: str, *, lanes: bool) -> None:
    a, b = _pairs(kind)
    every = run_all([_binary(name, kind) for name in INTEGER_OPS], kind, kind, lanes=lanes)
    for found, (name, reference) in zip(every, INTEGER_OPS.items(), strict=True):
        np.testing.assert_array_equal(found, _wrap(reference(a, b), kind), err_msg=name)


UNSIGNED_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "divui": lambda a, b: 0 if b == 0 else a // b,
    "remui": lambda a, b: 0 if b == 0 else a % b,
    "maxui": max,
    "minui": min,
    "shrui": lambda a, b: 0 if b >= 32 else a >> b,
    "shli": lambda a, b: 0 if b >= 32 else a << b,
    "ceildivui": lambda a, b: 0 if b == 0 else -(-a // b),
}


def test_unsigned_arithmetic() -> None:
    a, b = (x.view(np.uint32).tolist() for x in _pairs("i32"))
    every = run_all([_binary(name, "i32") for name in UNSIGNED_OPS], "i32", "i32", lanes=False)
    for found, (name, reference) in zip(every, UNSIGNED_OPS.items(), strict=True):
        wanted = np.array([reference(p, q) for p, q in zip(a, b, strict=True)], dtype=object)
        np.testing.assert_array_equal(found, _wrap(wanted, "i32"), err_msg=name)


def _shifted(name: str, x: int, amount: int, bits: int) -> int:
    """Nothing is left of what is shifted by the width or more, but for a sign; a negative amount is one."""
    if not 0 <= amount < bits:
        return -1 if name == "shrsi" and x < 0 else 0
    if name == "shli":
        return x << amount
    return x >> amount if name == "shrsi" else (x & ((1 << bits) - 1)) >> amount


@pytest.mark.parametrize(("kind", "lanes"), [("i8", False), ("i64", False), ("i64", True)])
def test_shifts_by_any_amount(kind: str, *, lanes: bool) -> None:
    a, b = (x.tolist() for x in _pairs(kind))
    bits = 8 * np.dtype(DTYPES[kind]).itemsize
    names = ("shli", "shrui", "shrsi")
    every = run_all([_binary(name, kind) for name in names], kind, kind, lanes=lanes)
    for found, name in zip(every, names, strict=True):
        wanted = [_shifted(name, x, n, bits) for x, n in zip(a, b, strict=True)]
        np.testing.assert_array_equal(found, _wrap(np.array(wanted, object), kind), err_msg=name)


FLOAT_OPS: dict[str, Callable[[Array, Array], Array]] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
}


@pytest.mark.parametrize("lanes", [False, True], ids=["loop", "lanes"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_float_arithmetic_keeps_nan_and_infinity(kind: str, *, lanes: bool) -> None:
    a, b = _pairs(kind)
    with np.errstate(all="ignore"):
        every = run_all([_binary(name, kind) for name in FLOAT_OPS], kind, kind, lanes=lanes)
        for found, (name, reference) in zip(every, FLOAT_OPS.items(), strict=True):
            np.testing.assert_array_equal(found, reference(a, b), err_msg=name)
        found = run(f"%r = loop.remf %x, %y : {kind}", kind, kind, lanes=lanes)
        np.testing.assert_array_equal(found, np.fmod(a, b))


@pytest.mark.parametrize("lanes", [False, True], ids=["loop", "lanes"])
def test_comparisons_of_floats(*, lanes: bool) -> None:
    a, b = _pairs("f32")
    nan = np.isnan(a) | np.isnan(b)
    ordered = {"eq": a == b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b}
    ordered["ne"] = (a != b) & ~nan
    wanted = {f"o{name}": value & ~nan for name, value in ordered.items()}
    wanted |= {f"u{name}": value | nan for name, value in ordered.items()}
    wanted |= {"ord": ~nan, "uno": nan}
    every = run_all(
        [f"%r = arith.cmpf {n}, %x, %y : f32" for n in wanted], "f32", "i1", lanes=lanes
    )
    for found, (name, value) in zip(every, wanted.items(), strict=True):
        np.testing.assert_array_equal(found, value, err_msg=name)


def test_comparisons_of_integers_and_select() -> None:
    a, b = _pairs("i8")
    c, d = a.view(np.uint8), b.view(np.uint8)
    wanted = {"eq": a == b, "ne": a != b, "slt": a < b, "sge": a >= b, "ult": c < d, "uge": c >= d}
    for name, value in wanted.items():
        ops = f"%c = arith.cmpi {name}, %x, %y : i8\n%r = arith.select %c, %x, %y : i8"
        found = run(ops, "i8", "i8", lanes=name == "slt")
        np.testing.assert_array_equal(found, np.where(value, a, b), err_msg=name)


@pytest.mark.parametrize("lanes", [False, True], ids=["loop", "lanes"])
def test_conversions(*, lanes: bool) -> None:
    x, _ = _pairs("f32")
    for kind in ("i8", "i32", "i64"):
        both = [f"%r = arith.{name} %x : f32 to {kind}" for name in ("fptosi", "fptoui")]
        found, other = run_all(both, "f32", kind, lanes=lanes)
        np.testing.assert_array_equal(found, _saturate(x, DTYPES[kind].__name__), err_msg=kind)
        unsigned = f"u{DTYPES[kind].__name__}"
        np.testing.assert_array_equal(other.view(unsigned), _saturate(x, unsigned), err_msg=kind)
    i, _ = _pairs("i8")
    cases = {
        ("sitofp", "f32"): i.astype(np.float32),
        ("uitofp", "f64"): i.view(np.uint8).astype(np.float64),
        ("extsi", "i32"): i.astype(np.int32),
        ("extui", "i32"): i.view(np.uint8).astype(np.int32),
        ("trunci", "i1"): (i & 1).astype(np.bool_),
    }
    for (name, kind), wanted in cases.items():
        found = run(f"%r = arith.{name} %x : i8 to {kind}", "i8", kind, lanes=lanes)
        np.testing.assert_array_equal(found, wanted, err_msg=name)


@pytest.mark.parametrize("lanes", [False, True], ids=["loop", "lanes"])
def test_a_number_between_floats_is_as_narrow_as_it_says(*, lanes: bool) -> None:
    """In C it may be wider where all that uses it extends it; what wraps or is extended otherwise is not."""
    x, _ = _pairs("f32")
    signed = _saturate(x, "int8")
    unsigned = _saturate(x, "uint8")
    cases = {
        "%n = arith.fptosi %x : f32 to i8\n%r = arith.sitofp %n : i8 to f32": signed,
        "%n = arith.fptoui %x : f32 to i8\n%r = arith.uitofp %n : i8 to f32": unsigned,
        "%n = arith.fptosi %x : f32 to i8\n%r = arith.uitofp %n : i8 to f32": signed.view(np.uint8),
        """%n = arith.fptoui %x : f32 to i8
            %wide = arith.extui %n : i8 to i32
            %m = arith.addi %n, %n : i8
            %more = arith.extsi %m : i8 to i32
            %sum = arith.addi %wide, %more : i32
            %r = arith.sitofp %sum : i32 to f32""": unsigned.astype(np.int32)
        + (unsigned + unsigned).view(np.int8),
    }
    for ops, wanted in cases.items():
        found = run(ops, "f32", "f32", lanes=lanes)
        np.testing.assert_array_equal(found, wanted.astype(np.float32), err_msg=ops)


def test_a_zero_from_an_integer_is_never_negative() -> None:
    """gcc takes (float)(int)x for trunc(x) where a CPU has such an instruction."""
    x = np.linspace(-3, 3, 64).astype(np.float32)
    kinds = [("f32", "i8"), ("f32", "i32"), ("f64", "i64")]
    outs = ", ".join(f"%o{i}: memref<64xf32> {{inarch.result}}" for i in range(len(kinds)))
    nests = "\n".join(
        f"""  loop.nest (i = 64) ins(%x[i] : memref<64xf32>) outs(%o{i}[i] : memref<64xf32>) {{
  ^bb0(%e: f32, %o: f32):
    {f"%f = arith.extf %e : f32 to {kind}" if kind == "f64" else ""}
    %whole = arith.fptosi {"%f" if kind == "f64" else "%e"} : {kind} to {whole}
    %back = arith.sitofp %whole : {whole} to f32
    %two = arith.constant 2.0 : f32
    %less = arith.cmpf olt, %back, %two : f32
    %least = arith.select %less, %back, %two : f32
    loop.yield %least : f32
  }}"""
        for i, (kind, whole) in enumerate(kinds)
    )
    program = f"func.func @main(%x: memref<64xf32>, {outs}) {{\n{nests}\n  func.return\n}}"
    for target in ("x86-64-v3", "native"):
        if parse(target).missing_here():
            continue
        for found, kind in zip(execute_compiled(program, [x], target=target), kinds, strict=True):
            wanted = np.minimum(np.trunc(x), 2)
            np.testing.assert_array_equal(found, wanted, err_msg=f"{kind} {target}")
            assert not np.signbit(found[found == 0]).any(), (kind, target)


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "absf": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "roundeven": np.rint,
    "trunc": np.trunc,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
}


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_functions(kind: str) -> None:
    x, _ = _pairs(kind)
    tolerance = 5e-7 if kind == "f32" else 1e-15
    with np.errstate(all="ignore"):
        every = run_all(
            [f"%r = math.{name} %x : {kind}" for name in FUNCTIONS], kind, kind, lanes=False
        )
        for found, (name, reference) in zip(every, FUNCTIONS.items(), strict=True):
            wanted = reference(x.astype(np.float64)).astype(DTYPES[kind])
            np.testing.assert_allclose(found, wanted, rtol=tolerance, err_msg=name)
        found = run(f"%r = math.powf %x, %y : {kind}", kind, kind, lanes=True)
        np.testing.assert_allclose(found, np.power(*_pairs(kind)), rtol=tolerance)


BOOLS = {
    "arith.andi": "0001",
    "arith.ori": "0111",
    "arith.xori": "0110",
    "arith.addi": "0110",
    "arith.subi": "0110",
    "arith.muli": "0001",
    "arith.maxsi": "0001",
    "arith.minsi": "0111",
    "arith.maxui": "0111",
    "arith.minui": "0001",
    "arith.shli": "0100",
    "arith.shrui": "0100",
    "arith.shrsi": "0101",
    "arith.cmpi eq,": "1001",
    "arith.cmpi slt,": "0100",
    "arith.cmpi sge,": "1011",
    "arith.cmpi ult,": "0010",
    "arith.cmpi uge,": "1101",
}
"""Of x, y = 0 0, 1 0, 0 1, 1 1. With a sign, a set bit is -1; a shift by 1 is one by all of the width."""


@pytest.mark.parametrize("lanes", [False, True], ids=["loop", "lanes"])
def test_bools(*, lanes: bool) -> None:
    """The bytes are 0 and 1, as others rely on; and the definition says the same."""
    wanted = [[int(bit) for bit in bits] for bits in BOOLS.values()]
    every = [f"%r = {name} %x, %y : i1" for name in BOOLS]
    found = run_all(every, "i1", "i1", lanes=lanes)
    defined = run_all(every, "i1", "i1", lanes=lanes, by=_define)
    for name, bits, ours, theirs in zip(BOOLS, wanted, found, defined, strict=True):
        np.testing.assert_array_equal(ours.view(np.uint8), bits, err_msg=name)
        np.testing.assert_array_equal(theirs.view(np.uint8), bits, err_msg=name)


def _define(context: Context, module: ModuleOp, _: str, arguments: Sequence[Array]) -> None:
    """As `run_function`, by the definitions."""
    outs = arguments[2:]
    for out, value in zip(outs, execute(module, arguments[:2], context), strict=True):
        out[:] = value


def test_bools_become_other_numbers_with_and_without_a_sign() -> None:
    a, _ = _pairs("i1")
    cases = {"arith.extsi": ("i32", -1), "arith.sitofp": ("f32", -1), "arith.uitofp": ("f32", 1)}
    for name, (kind, one) in cases.items():
        found = run(f"%r = {name} %x : i1 to {kind}", "i1", kind, lanes=False)
        np.testing.assert_array_equal(found, one * a.astype(DTYPES[kind]), err_msg=name)
    power = "%n = arith.constant 2.0 : f32\n%r = math.fpowi %n, %x : f32, i1"
    np.testing.assert_array_equal(run(power, "i1", "f32", lanes=False), np.where(a, 0.5, 1))
    there = "%c = arith.index_cast %x : i1 to index\n%r = arith.index_cast %c : index to i32"
    np.testing.assert_array_equal(run(there, "i1", "i32", lanes=False), -a.astype(np.int32))
    x, _ = _pairs("f32")
    whole = run("%r = arith.fptosi %x : f32 to i1", "f32", "i1", lanes=False)
    np.testing.assert_array_equal(whole, x >= 1)
    # What is extended at once stays an int32_t in C where it is a narrow integer; a bool is none.
    for sign, one in (("s", -1), ("u", 1)):
        at_once = f"%c = arith.fpto{sign}i %x : f32 to i1\n%r = arith.{sign}itofp %c : i1 to f32"
        found = run(at_once, "f32", "f32", lanes=False)
        np.testing.assert_array_equal(found, one * (x >= 1).astype(np.float32))
    i, _ = _pairs("i32")
    back = "%c = arith.index_cast %x : i32 to index\n%r = arith.index_cast %c : index to i1"
    np.testing.assert_array_equal(
        run(back, "i32", "i1", lanes=False).view(np.uint8), (i & 1).astype(np.uint8)
    )


def test_bits() -> None:
    a, _ = _pairs("i32")
    words = a.view(np.uint32).tolist()
    wanted = {
        "ctpop": [w.bit_count() for w in words],
        "ctlz": [32 - w.bit_length() for w in words],
        "cttz": [32 if w == 0 else (w & -w).bit_length() - 1 for w in words],
    }
    for name, values in wanted.items():
        np.testing.assert_array_equal(
            run(f"%r = math.{name} %x : i32", "i32", "i32", lanes=False), values
        )
    found = run("%r = arith.bitcast %x : i32 to f32", "i32", "f32", lanes=False)
    np.testing.assert_array_equal(found.view(np.int32), a)
    found = run("%r = math.absi %x : i32", "i32", "i32", lanes=False)
    np.testing.assert_array_equal(found, _wrap(np.abs(a.astype(object)), "i32"))
