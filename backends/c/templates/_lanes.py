"""Expressions of a meaning in C, of any dtype: on scalars, and on all lanes of vector registers at once.

Both do the same arithmetic in the same order, so that a lane of a vector and what remains beside it agree.
What has no vector form (a division of integers, functions of f64) is done by a loop over the lanes of an
array, which compilers vectorise where they can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from inarch.backends.c.types import literal
from inarch.backends.c.write.value.blocks import BLOCK, BLOCK_OF_PRODUCTS
from inarch.backends.c.write.value.elementary import (
    OURS,
    TOGETHER,
    VECTORS,
    vector_helpers,
    vector_name,
)
from inarch.backends.c.write.value.fused import fused_name, fused_text
from inarch.backends.c.write.value.math import helpers_text
from inarch.backends.c.write.value.ordered import ordered_name, ordered_texts
from inarch.backends.c.write.value.several import several_helper, several_name, several_needs
from inarch.core.dtypes import DTYPES, DType
from inarch.core.scalars.functions import FUNCTIONS, ORDERS, SIGNS
from inarch.meaning import Apply, Element, Expression, Number
from inarch.microkernel import Instance, dtype_of, prototype

At = Callable[[Element], "Text"]
"""What holds an element: a scalar, or a vector."""


@dataclass(frozen=True)
class Text:
    """C that is a value: the same in all lanes, or a vector."""

    text: str
    is_vector: bool = False


@dataclass
class Writer:
    """Lines of C, and the helpers and types that they need. `lanes` is 1 for scalars."""

    dtypes: Mapping[str, str]
    """Operand -> dtype."""
    lanes: int
    lines: list[str] = field(default_factory=list[str])
    pad: str = "    "
    _helpers: dict[str, None] = field(default_factory=dict[str, None])
    _macros: dict[str, None] = field(default_factory=dict[str, None])
    _functions: dict[int, set[str]] = field(default_factory=dict[int, set[str]])
    """Lanes -> those of `VECTORS` that are called on vectors of so many."""
    _several: dict[tuple[str, int], None] = field(default_factory=dict[tuple[str, int], None])
    """Functions and lanes of those that are called on several vectors at once."""
    _types: dict[str, str] = field(default_factory=dict[str, str])
    _count: int = 0

    # -- lines

    def line(self, text: str) -> None:
        """One line, indented."""
        self.lines.append(self.pad + text)

    def open(self, text: str) -> None:
        """A line, and what follows is inside of it."""
        self.line(text)
        self.pad += "    "

    def close(self) -> None:
        """The end of what `open` began."""
        self.pad = self.pad[:-4]
        self.line("}")

    def named(self, kind: str, value: str) -> str:
        """A new constant."""
        name = f"t{self._count}"
        self._count += 1
        self.line(f"const {kind} {name} = {value};")
        return name

    def array(self, dtype: DType, vector: str) -> str:
        """A new array that holds what is in a vector."""
        name = f"a{self._count}"
        self._count += 1
        align = self.lanes * dtype.nbytes
        self.line(f"{dtype.c} {name}[{self.lanes}] __attribute__((aligned({align})));")
        self.line(f"*({self.vector(dtype)} *){name} = {vector};")
        return name

    # -- types

    def vector(self, dtype: DType) -> str:
        """The vector type of `lanes` elements."""
        return self._type(f"v{self.lanes}_{dtype.name}", dtype, "may_alias")

    def memory(self, dtype: DType) -> str:
        """The same at any element's address."""
        return self._type(
            f"m{self.lanes}_{dtype.name}", dtype, f"aligned({dtype.nbytes}), may_alias"
        )

    def _type(self, name: str, dtype: DType, more: str) -> str:
        size = f"vector_size({self.lanes * dtype.nbytes})"
        self._types[name] = f"typedef {dtype.c} {name} __attribute__(({size}, {more}));"
        return name

    # -- whole functions

    def function(self, instance: Instance) -> str:
        """The C function of the instance, with the lines as its body.

        Always inlined, so that strides and sizes are the constants of the call.
        """
        head = prototype(instance).replace(" *", " *__restrict ")
        body = "\n".join(self.lines)
        named = set(re.findall(r"\w+", body))
        unused = [name for name in re.findall(r"(\w+)(?=[,)])", head) if name not in named]
        text = "\n".join(
            [
                f"static inline __attribute__((always_inline)) {head}",
                "{",
                *(f"    {line}" for line in self._types.values()),
                *(f"    (void){name};" for name in unused),
                body,
                "}",
                "",
            ]
        )
        # Each instance has helpers of its own: a unit may have several.
        vectors = "".join(vector_helpers(names, n) for n, names in self._functions.items())
        vectors += "".join(several_helper(name, n) for name, n in self._several)
        text = helpers_text(self._helpers) + vectors + "".join(self._macros) + text
        return text.replace("inarch_", f"{instance.symbol}_")

    # -- values

    def value(self, expression: Expression, dtype: DType, at: At) -> Text:
        """The expression, of `dtype`."""
        match expression:
            case Number(number):
                return Text(literal(number if dtype.is_float else int(number), dtype))
            case Element():
                return at(expression)
            case Apply(function, arguments):
                own = dtype
                if function in DTYPES:
                    inner = dtype_of(arguments[0], self.dtypes)
                    own = dtype if inner is None else DTYPES[inner]
                parts = [self.value(argument, own, at) for argument in arguments]
                return self._apply(function, parts, own, dtype)

    def combined(self, operator: str, left: Text, right: Text, dtype: DType) -> Text:
        """`left operator right`."""
        return self._apply(operator, [left, right], dtype, dtype)

    def together(self, function: str, values: Sequence[Text], dtype: DType) -> list[Text]:
        """A function of `OURS` of several vectors of f32, `TOGETHER` at a time."""
        self._functions.setdefault(self.lanes, set()).update(several_needs(function))
        self._several[function, self.lanes] = None
        kind = self.vector(dtype)
        found: list[Text] = []
        for first in range(0, len(values), TOGETHER):
            names = [f"y{self._count + at}" for at in range(TOGETHER)]
            self._count += TOGETHER
            self.line(f"{kind} {', '.join(names)};")
            pairs = zip(values[first : first + TOGETHER], names, strict=True)
            arguments = ", ".join(f"{self.splat(value, dtype)}, &{name}" for value, name in pairs)
            self.line(f"{several_name(function, self.lanes)}({arguments});")
            found += [Text(name, is_vector=True) for name in names]
        return found

    def updated(self, operator: str, old: Text, update: Expression, dtype: DType, at: At) -> Text:
        """`old operator update`; a product that is added to a sum of floats with one rounding."""
        if not is_fused(operator, update, dtype):
            return self.combined(operator, old, self.value(update, dtype, at), dtype)
        assert isinstance(update, Apply), "it is a product"
        factors = [self.value(part, dtype, at) for part in update.arguments]
        if not any(part.is_vector for part in (*factors, old)):
            call = self._need(f"inarch_fma_{dtype.name}")
            return Text(f"{call}({', '.join(part.text for part in (*factors, old))})")
        self._macros[fused_text(self.lanes, dtype)] = None
        parts = [self.splat(part, dtype) for part in (*factors, old)]
        return Text(f"{fused_name(self.lanes, dtype)}({', '.join(parts)})", is_vector=True)

    def splat(self, value: Text, dtype: DType) -> str:
        """A vector with the value in every lane."""
        if value.is_vector:
            return value.text
        return f"({self.vector(dtype)}){{{', '.join([value.text] * self.lanes)}}}"

    def _apply(self, function: str, parts: Sequence[Text], source: DType, dtype: DType) -> Text:
        if function == "rounded":
            return parts[0]
        if function == "relu":
            function, parts = "max", [*parts, Text(literal(0, dtype))]
        if not any(part.is_vector for part in parts):
            return Text(self.scalar(function, [part.text for part in parts], source, dtype))
        text = self._native(function, parts, source, dtype)
        return Text(
            text if text is not None else self._by_lane(function, parts, source, dtype), True
        )

    def _native(
        self, function: str, parts: Sequence[Text], source: DType, dtype: DType
    ) -> str | None:
        texts = [part.text for part in parts]
        if function in SIGNS and dtype.is_float:
            return f"({texts[0]} {SIGNS[function]} {texts[1]})"
        if function in SIGNS and function != "div":  # unsigned, so that it wraps
            wide = DTYPES[f"u{dtype.name}"]
            a, b = (f"({self.vector(wide)}){self.splat(part, dtype)}" for part in parts)
            return f"({self.vector(dtype)})({a} {SIGNS[function]} {b})"
        if function == "neg" and dtype.is_float:
            return f"(-{texts[0]})"
        if function in ORDERS:
            return self._ordered(function, parts, dtype)
        if function == "abs" and dtype.is_float:
            bits = DTYPES[f"i{dtype.bits}"]
            mask = literal((1 << (dtype.bits - 1)) - 1, bits)
            return f"({self.vector(dtype)})(({self.vector(bits)}){texts[0]} & {mask})"
        if function in VECTORS and dtype.name == "f32":
            self._functions.setdefault(self.lanes, set()).add(function)
            return f"{vector_name(function, self.lanes)}({texts[0]})"
        if function in DTYPES and (source.is_float <= dtype.is_float):
            return f"__builtin_convertvector({texts[0]}, {self.vector(dtype)})"
        return None

    def _ordered(self, function: str, parts: Sequence[Text], dtype: DType) -> str:
        """The larger or smaller, NaN when either is."""
        kind, bits = self.vector(dtype), self.vector(DTYPES[f"i{dtype.bits}"])
        a, b = (self.named(kind, self.splat(part, dtype)) for part in parts)
        if dtype.is_float:
            name = ordered_name(function, self.lanes, dtype)
            self._macros[ordered_texts(self.lanes)[name]] = None
            return f"{name}({a}, {b}, {kind}, {bits})"
        mask = self.named(bits, f"({bits})({a} {ORDERS[function]} {b})")
        return f"({kind})(({mask} & ({bits}){a}) | (~{mask} & ({bits}){b}))"

    def _by_lane(self, function: str, parts: Sequence[Text], source: DType, dtype: DType) -> str:
        """Through arrays, lane by lane."""
        texts = [
            f"{self.array(source, part.text)}[lane]" if part.is_vector else part.text
            for part in parts
        ]
        result = self.array(dtype, f"({self.vector(dtype)}){{0}}")
        self.open(f"for (int lane = 0; lane < {self.lanes}; lane++) {{")
        self.line(f"{result}[lane] = {self.scalar(function, texts, source, dtype)};")
        self.close()
        return f"(*({self.vector(dtype)} *){result})"

    def scalar(self, function: str, texts: Sequence[str], source: DType, dtype: DType) -> str:
        """A function of scalars."""
        if dtype.is_float and function in SIGNS:
            return f"({texts[0]} {SIGNS[function]} {texts[1]})"
        if function in DTYPES:
            if source.is_float and not dtype.is_float:
                return f"{self._need(f'inarch_{source.name}_to_{dtype.name}')}({texts[0]})"
            return f"(({dtype.c}){texts[0]})"
        if dtype.is_float:
            return self._of_floats(function, texts, dtype)
        return self._of_integers(function, texts, dtype)

    def _of_floats(self, function: str, texts: Sequence[str], dtype: DType) -> str:
        suffix = "f" if dtype.bits == 32 else ""
        if function == "neg":
            return f"(-{texts[0]})"
        if function in ORDERS or (function in OURS and dtype.bits == 32):
            return f"{self._need(f'inarch_{function}_{dtype.name}')}({', '.join(texts)})"
        return f"__builtin_{FUNCTIONS[function].library}{suffix}({', '.join(texts)})"

    def _of_integers(self, function: str, texts: Sequence[str], dtype: DType) -> str:
        if function == "div":
            return f"{self._need(f'inarch_div_{dtype.name}')}({', '.join(texts)})"
        if function in ORDERS:
            return f"({texts[0]} {ORDERS[function]} {texts[1]} ? {texts[0]} : {texts[1]})"
        # Narrower operands are promoted to int, where 16 x 16 bits fit when they are unsigned factors.
        wide = DTYPES[f"u{dtype.name}"].c if dtype.bits >= 32 else "uint32_t"
        if function == "neg":
            return f"(({dtype.c})(0 - ({wide}){texts[0]}))"
        if function == "abs":
            return f"({texts[0]} < 0 ? ({dtype.c})(0 - ({wide}){texts[0]}) : {texts[0]})"
        return f"(({dtype.c})(({wide}){texts[0]} {SIGNS[function]} ({wide}){texts[1]}))"

    def _need(self, helper: str) -> str:
        self._helpers[helper] = None
        return helper


def is_fused(operator: str, update: Expression, dtype: DType) -> bool:
    """Whether what is added is a product that is not rounded before."""
    is_product = isinstance(update, Apply) and update.function == "mul"
    return is_product and operator == "add" and dtype.is_float


def block_of(operator: str, update: Expression, dtype: DType) -> int | None:
    """How many terms of a sum of floats are added one after the other; None: any number, of others."""
    if operator != "add" or not dtype.is_float:
        return None
    return BLOCK_OF_PRODUCTS if is_fused(operator, update, dtype) else BLOCK


def identity(operator: str, dtype: DType) -> str:
    """The literal e for which `e operator x` is x."""
    if operator == "add":
        return literal(-0.0 if dtype.is_float else 0, dtype)
    if operator == "mul":
        return literal(1, dtype)
    return literal(dtype.least if operator == "max" else dtype.greatest, dtype)


def widest(dtypes: Mapping[str, str]) -> int:
    """Bytes of the widest element: what lanes are counted in."""
    return max(DTYPES[dtype].nbytes for dtype in dtypes.values())
