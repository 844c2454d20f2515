"""Bodies of nests: random expressions of `arith`, `math` and `loop` ops, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from inarch.testing.generate.choices import Choices

_FLOAT_BINARY = "add mul sub maximum minimum div maxnum minnum"
_FLOAT_UNARY = (
    "abs tanh exp sqrt erf log sin cos floor ceil roundeven trunc rsqrt cbrt exp2 expm1 log1p log2 log10 "
    "tan atan asin acos sinh cosh asinh acosh atanh round"
)
_INT_BINARY = (
    "addi muli subi maxsi minsi maxui minui andi ori xori divsi divui remsi remui shli shrsi shrui "
    "floordivsi ceildivsi ceildivui"
)


def _named(dialect: str, names: str, suffix: str = "") -> tuple[str, ...]:
    return tuple(f"{dialect}.{name}{suffix}" for name in names.split())


FLOAT_BINARY = (
    *_named("arith", _FLOAT_BINARY, "f"),
    *("loop.remf", "math.copysign", "math.atan2", "math.powf"),
)
FLOAT_UNARY = ("arith.negf", "math.absf", *_named("math", _FLOAT_UNARY.removeprefix("abs ")))
INT_BINARY = _named("arith", _INT_BINARY)
INT_UNARY = _named("math", "absi ctpop ctlz cttz")
BOOL_BINARY = _named("arith", "andi ori xori addi muli subi maxsi minui")
FLOAT_ORDERS = (
    "olt",
    "oeq",
    "une",
    "ole",
    "ogt",
    "oge",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "uno",
    "true",
    "false",
)
INT_ORDERS = ("slt", "eq", "ne", "ult", "sle", "sgt", "sge", "ule", "ugt", "uge")
SAFE = (*_named("arith", "add mul sub maximum neg", "f"), "math.absf", "math.tanh")
"""Ops that most bodies are of: their results are neither NaN nor huge."""

REDUCERS_FLOAT = _named("arith", "add maximum minimum mul", "f")
REDUCERS_INT = _named("arith", "addi maxsi minsi muli xori andi ori maxui minui")

FLOATS = ("f32", "f64")
_BITS = {
    "f32": ("0x7f800000", "0xff800000", "0x7fc00000"),
    "f64": ("0x7ff0000000000000", "0xfff0000000000000", "0x7ff8000000000000"),
}
"""Both infinities, and NaN."""
WIDTH = {"f32": 32, "f64": 64, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i1": 1}


def is_float(element: str) -> bool:
    """Whether the element type is of floats."""
    return element in FLOATS


@dataclass
class Body:
    """A block of scalar ops that grows, one line an op."""

    choices: Choices
    prefix: str
    lines: list[str] = field(default_factory=list[str])
    count: int = 0

    def name(self) -> str:
        """A new value's name."""
        self.count += 1
        return f"%{self.prefix}{self.count}"

    def emit(self, text: str) -> str:
        """`%name = text`; the name."""
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name

    def number(self, element: str) -> str:
        """A constant."""
        if is_float(element):
            values = ("2.0", "1.0", "0.0", "-1.0", "0.5", "-0.0", "1.0e-40", "3.0", *_BITS[element])
        elif element == "i1":
            return self.emit(f"arith.constant {self.choices.pick(('true', 'false'))}")
        else:
            least = -(1 << (WIDTH[element] - 1))
            values = ("2", "1", "0", "-1", "7", "3", str(least), str(-least - 1))
        return self.emit(f"arith.constant {self.choices.pick(values)} : {element}")

    def cast(self, value: str, source: str, target: str) -> str:
        """`value` in another element type."""
        if source == target:
            return value
        if target == "i1" and is_float(source) and self.choices.chance(30):
            return self.emit(f"arith.fptoui {value} : {source} to i1")
        if target == "i1" and not is_float(source) and self.choices.chance(30):
            return self.emit(f"arith.trunci {value} : {source} to i1")
        if target == "i1":
            zero = self.emit(f"arith.constant {'0.0' if is_float(source) else '0'} : {source}")
            compare = "cmpf une" if is_float(source) else "cmpi ne"
            return self.emit(f"arith.{compare}, {value}, {zero} : {source}")
        return self.emit(f"{self._caster(source, target)} {value} : {source} to {target}")

    def _caster(self, source: str, target: str) -> str:
        wider = WIDTH[target] > WIDTH[source]
        if is_float(source) and is_float(target):
            return "arith.extf" if wider else "arith.truncf"
        signs = ("s", "u") if source != "i1" else ("u", "s")
        sign = self.choices.pick(signs)
        if is_float(source):
            bits = WIDTH[source] == WIDTH[target] and self.choices.chance(30)
            return "arith.bitcast" if bits else f"arith.fpto{sign}i"
        if is_float(target):
            bits = WIDTH[source] == WIDTH[target] and self.choices.chance(30)
            return "arith.bitcast" if bits else f"arith.{sign}itofp"
        return f"arith.ext{sign}i" if wider else "arith.trunci"

    def grow(self, leaves: Sequence[tuple[str, str]], element: str, ops: int) -> str:
        """An expression of about `ops` ops, of type `element`, that uses the leaves (name, type)."""
        pool = [(self.cast(name, kind, element)) for name, kind in leaves]
        if not pool:
            pool.append(self.number(element))
        while len(pool) > 1 or ops > 0:
            ops -= 1
            if len(pool) > 1 and (ops < 0 or self.choices.chance(60)):
                right, left = pool.pop(), pool.pop()
                pool.append(self._binary(left, right, element))
            else:
                pool.append(self._one(pool.pop(), element))
        return pool[0]

    def _binary(self, left: str, right: str, element: str) -> str:
        if is_float(element):
            names = SAFE[:4] if self.choices.chance(70) else FLOAT_BINARY
        else:
            names = BOOL_BINARY if element == "i1" else INT_BINARY
        op = self.choices.pick(names)
        return self.emit(f"{op} {left}, {right} : {element}")

    def _one(self, value: str, element: str) -> str:
        kind = self.choices.pick(("unary", "number", "choice", "through"))
        if kind == "number":
            return self._binary(value, self.number(element), element)
        if kind == "choice":
            return self.choice(value, element)
        if kind == "through" and element != "i1":
            through = self.choices.pick(tuple(name for name in WIDTH if name != element))
            return self.cast(self.cast(value, element, through), through, element)
        if is_float(element):
            if self.choices.chance(8):
                exponent = self.number("i32")
                return self.emit(f"math.fpowi {value}, {exponent} : {element}, i32")
            names = SAFE[4:] if self.choices.chance(60) else FLOAT_UNARY
            return self.emit(f"{self.choices.pick(names)} {value} : {element}")
        if element == "i1":
            return self.emit(f"arith.xori {value}, {self.number(element)} : {element}")
        if self.choices.chance(15):
            return self.emit(f"math.ipowi {value}, {self.number(element)} : {element}")
        if self.choices.chance(10):
            return self.emit(f"arith.bitcast {value} : {element} to {element}")
        return self.emit(f"{self.choices.pick(INT_UNARY)} {value} : {element}")

    def choice(self, value: str, element: str) -> str:
        """`value`, or a number where it compares so with another one."""
        other, limit = self.number(element), self.number(element)
        test = self.test(value, limit, element)
        return self.emit(f"arith.select {test}, {value}, {other} : {element}")

    def test(self, left: str, right: str, element: str) -> str:
        """A comparison."""
        if is_float(element):
            order = self.choices.pick(FLOAT_ORDERS)
            return self.emit(f"arith.cmpf {order}, {left}, {right} : {element}")
        order = self.choices.pick(INT_ORDERS)
        return self.emit(f"arith.cmpi {order}, {left}, {right} : {element}")
