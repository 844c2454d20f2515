"""Small faults of a Python function, each made by one operator at one node of its syntax tree.

A fault replaces the node's text and nothing else, so that all other lines stay as they are written. Left
alone is what tests should not pin: annotations, decorators, docstrings, and the words of errors.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import pairwise

Function = ast.FunctionDef | ast.AsyncFunctionDef
Edit = tuple[ast.AST, str, str]
"""A node, its new text, the name of the operator."""


@dataclass(frozen=True)
class Fault:
    """One change of one file, from byte `start` to byte `end`."""

    path: str
    function: str
    """Its qualified name, empty for a file that is no Python."""
    operator: str
    start: int
    end: int
    new: str
    line: int
    old: str
    breaks: str = ""
    """What it breaks, where a row of the table says it."""
    tests: tuple[str, ...] = ()
    """The tests that a row names."""
    nth: int = 1
    """Of those that are equal in a function, the first, the second, ..."""

    @property
    def key(self) -> str:
        """Tells it from other faults, wherever its function stands; one line."""
        place, nth = f"{self.path}::{self.function}", f" ({self.nth})" * (self.nth > 1)
        return _one_line(f"{place} {self.breaks or self.operator}{nth}: {self.old} -> {self.new}")

    @property
    def id(self) -> str:
        """Its key in ten digits."""
        return sha256(self.key.encode()).hexdigest()[:10]

    def put(self, text: str) -> str:
        """The file's text with the fault in it."""
        data = text.encode()
        return (data[: self.start] + self.new.encode() + data[self.end :]).decode()

    def lines(self, text: str) -> tuple[str, str]:
        """What its lines say before and after, without breaks."""
        data = text.encode()
        first = data.rfind(b"\n", 0, self.start) + 1
        last = data.find(b"\n", self.end)
        last = len(data) if last < 0 else last
        new = data[first : self.start] + self.new.encode() + data[self.end : last]
        return _one_line(data[first:last].decode()), _one_line(new.decode())


def _one_line(text: str) -> str:
    return " ".join(text.split())


@cache
def functions(text: str) -> dict[str, Function]:
    """The functions of a file by qualified name, `Class.method` or `outer.inner`."""
    return dict(_functions(ast.parse(text), ""))


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            if isinstance(child, Function):
                yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.stmt):
            yield from _functions(child, prefix)


def span(function: Function) -> tuple[int, int]:
    """Its first and last line, with decorators."""
    first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
    return first, function.end_lineno or first


def faults_of(path: str, text: str, name: str, function: Function) -> list[Fault]:
    """The faults of one function, in the order of the text; those of functions in it are theirs."""
    place = Places(text)
    found: dict[tuple[int, int, str], Fault] = {}
    for node, new, operator in _edits(function.body, place):
        start, end = place.of(node)
        old = place.text(node)
        fault = Fault(path, name, operator, start, end, new, place.line(start), old)
        if new != old and is_python(fault, place, function):
            found.setdefault((start, end, new), fault)
    counts = Counter[str]()
    faults: list[Fault] = []
    for fault in sorted(found.values(), key=lambda fault: (fault.start, fault.end, fault.new)):
        counts[fault.key] += 1
        faults.append(replace(fault, nth=counts[fault.key]))
    return faults


def is_python(fault: Fault, place: Places, function: Function) -> bool:
    """Whether its function is one with the fault in it."""
    first, last = (place.starts[line] for line in (span(function)[0] - 1, span(function)[1]))
    data = place.data[first : fault.start] + fault.new.encode() + place.data[fault.end : last]
    try:
        ast.parse((b"if 1:\n" if function.col_offset else b"") + data)
    except SyntaxError:
        return False
    return True


class Places:
    """Where nodes stand in a text, in bytes, as `ast` counts columns."""

    def __init__(self, text: str) -> None:
        self.data = text.encode()
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def of(self, node: ast.AST) -> tuple[int, int]:
        """Its first byte, and the one behind its last."""
        if isinstance(node, Piece):
            return node.start, node.end
        assert isinstance(node, ast.expr | ast.stmt | ast.keyword)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.AST) -> str:
        start, end = self.of(node)
        return self.data[start:end].decode()

    def line(self, at: int) -> int:
        return self.data.count(b"\n", 0, at) + 1


class Piece(ast.AST):
    """A piece of text that is no node: an operator, an element with its comma."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__()
        self.start, self.end = start, end


# ------------------------------------------------------------------------------------ what is looked at


def _edits(body: list[ast.stmt], place: Places) -> Iterator[Edit]:
    for statement in body:
        if isinstance(
            statement, Function | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Assert
        ):
            continue
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # a docstring
        if not isinstance(statement, ast.Raise):  # a guard's test, not the words of its error
            yield from _of_statement(statement, place)
            for child in ast.iter_child_nodes(statement):
                is_note = isinstance(statement, ast.AnnAssign) and child is statement.annotation
                if isinstance(child, ast.expr | ast.withitem) and not is_note:
                    yield from _of_expressions(child, place)
        for name in ("body", "orelse", "finalbody"):
            yield from _edits(getattr(statement, name, []), place)
        for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            yield from _edits(part.body, place)


def _of_expressions(root: ast.AST, place: Places) -> Iterator[Edit]:
    for rule in _RULES:
        yield from rule(root, place)
    if isinstance(root, ast.JoinedStr):  # Python 3.11 does not say where its parts are
        return
    for child in ast.iter_child_nodes(root):
        if not (isinstance(child, ast.keyword) and child.arg in _CHECKS):
            yield from _of_expressions(child, place)


def _of_statement(node: ast.stmt, place: Places) -> Iterator[Edit]:
    match node:
        case ast.If(test=test, orelse=orelse):
            leaves = isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)
            if leaves and not orelse:
                yield test, "False", "drop guard"
            else:
                yield test, f"not ({place.text(test)})", "negate"
        case ast.While(test=test) if not isinstance(test, ast.Constant):
            yield test, "False", "drop loop"
        case ast.For(iter=over):
            whole = f"list({place.text(over)})"
            yield over, f"{whole}[1:]", "drop first"
            yield over, f"{whole}[:-1]", "drop last"
        case ast.Continue() | ast.Break() | ast.Delete() | ast.AugAssign():
            yield node, "pass", "drop statement"
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name("super"))))):
            pass  # of errors: they have their words without it
        case ast.Expr(value=ast.Call() | ast.Await() | ast.Yield() | ast.YieldFrom()):
            yield node, "pass", "drop statement"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "pass", "drop statement"
        case ast.Return(value=ast.Call(args=[first, *_])) if not isinstance(first, ast.Starred):
            yield node, f"return {place.text(first)}", "return argument"
        case ast.Return(value=ast.BinOp(left=left)):
            yield node, f"return {place.text(left)}", "return left"
        case _:
            pass


# ------------------------------------------------------------------------------------ operators


def _comparisons(node: ast.AST, place: Places) -> Iterator[Edit]:
    if not isinstance(node, ast.Compare):
        return
    operands = [node.left, *node.comparators]
    for operator, (left, right) in zip(node.ops, pairwise(operands), strict=True):
        for old, new, kind in _COMPARED.get(type(operator), ()):
            start, end = place.of(left)[1], place.of(right)[0]
            between = place.data[start:end].decode()
            at = start + len(between[: between.index(old)].encode())
            name = "off by one" if kind else "negate"
            yield Piece(at, at + len(old)), new, name


_COMPARED: dict[type[ast.cmpop], tuple[tuple[str, str, bool], ...]] = {
    ast.Lt: (("<", "<=", True),),
    ast.LtE: (("<=", "<", True),),
    ast.Gt: ((">", ">=", True),),
    ast.GtE: ((">=", ">", True),),
    ast.Eq: (("==", "!=", False),),
    ast.NotEq: (("!=", "==", False),),
    ast.Is: (("is", "is not", False),),
    ast.In: (("in", "not in", False),),
}


def _conditions(node: ast.AST, place: Places) -> Iterator[Edit]:
    match node:
        case ast.BoolOp(op=operator, values=values):
            old, new = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
            texts = [f"({place.text(value)})" for value in values]
            yield node, "({})".format(f" {new} ".join(texts)), f"{old} -> {new}"
            for at in range(len(texts)):
                rest = f" {old} ".join(texts[:at] + texts[at + 1 :])
                yield node, f"({rest})", "drop part"
        case ast.IfExp(test=test):
            yield test, f"(not ({place.text(test)}))", "negate"
        case ast.comprehension(ifs=tests):
            for test in tests:
                yield test, "True", "drop filter"
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, f"({place.text(operand)})", "drop sign"
        case _:
            pass


def _constants(node: ast.AST, _: Places) -> Iterator[Edit]:
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield node, str(not node.value), "negate"
    elif isinstance(node.value, int):
        yield node, str(node.value + 1), "off by one"
    elif isinstance(node.value, float):
        yield node, repr(node.value * 2 or 1.0), "other number"


def _arithmetic(node: ast.AST, place: Places) -> Iterator[Edit]:
    if not isinstance(node, ast.BinOp):
        return
    left, right = place.text(node.left), place.text(node.right)
    for kind, new in _OTHER.items():
        if isinstance(node.op, kind):
            yield node, f"(({left}) {new} ({right}))", "other operator"
    if old := next((text for kind, text in _ORDERED.items() if isinstance(node.op, kind)), None):
        yield node, f"(({right}) {old} ({left}))", "swap operands"


_OTHER: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.BitOr: "&",
    ast.BitAnd: "|",
    ast.LShift: ">>",
    ast.RShift: "<<",
}
_ORDERED: dict[type[ast.operator], str] = {
    ast.Sub: "-",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.Pow: "**",
}


def _calls(node: ast.AST, place: Places) -> Iterator[Edit]:
    if not isinstance(node, ast.Call):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else place.text(node.func)
    if name in _TWINS and not isinstance(node.func, ast.Attribute):
        yield node.func, _TWINS[name], "other function"
    arguments = node.args
    if name == "range" and arguments:
        last = arguments[min(len(arguments), 2) - 1]
        yield last, f"({place.text(last)}) - 1", "off by one"
        if len(arguments) > 1:
            yield arguments[0], f"({place.text(arguments[0])}) + 1", "off by one"
    is_keyed = name == "isinstance" or name.startswith(_KEYS)  # a key in another order is a key
    for first, second in pairwise(() if is_keyed else arguments):
        if isinstance(first, _SIMPLE) and isinstance(second, _SIMPLE):
            between = place.data[place.of(first)[1] : place.of(second)[0]].decode()
            swapped = place.text(second) + between + place.text(first)
            yield Piece(place.of(first)[0], place.of(second)[1]), swapped, "swap arguments"


_KEYS = ("key", "hash", "digest")
_CHECKS = {"strict", "location", "stacklevel"}
"""Arguments that only check invariants, or that errors and warnings alone read."""
_SIMPLE = (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp)
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}


def _parts(node: ast.AST, place: Places) -> Iterator[Edit]:
    """A part dropped: of a tuple, list, set, dictionary or call; of an f-string."""
    match node:
        case ast.JoinedStr():
            yield from _values_of_text(node, place)
        case ast.Tuple(elts=parts, ctx=ast.Load()) | ast.List(elts=parts, ctx=ast.Load()):
            yield from _each_dropped(node, list(parts), place)
        case ast.Set(elts=parts):
            yield from _each_dropped(node, list(parts), place)
        case ast.Dict(keys=keys, values=values):
            pairs = [
                Piece(place.of(key)[0], place.of(value)[1])
                for key, value in zip(keys, values, strict=True)
                if key is not None
            ]
            yield from _each_dropped(node, list(pairs), place)
        case ast.Call(args=args, keywords=keywords):
            of_meaning = [each for each in keywords if each.arg not in _CHECKS]
            for part in [*of_meaning, *(each for each in args if isinstance(each, ast.Starred))]:
                yield from _each_dropped(node, [part], place, least=0)
            if isinstance(node.func, ast.Name) and node.func.id.startswith(_KEYS):
                yield from _each_dropped(node, list(args), place)
        case _:
            pass


def _each_dropped(
    node: ast.AST, parts: list[ast.AST], place: Places, least: int = 1
) -> Iterator[Edit]:
    if len(parts) <= least:
        return
    for part in parts:
        start, end = place.of(part)
        if isinstance(node, ast.Tuple) and len(parts) == 2:
            rest = parts[1] if part is parts[0] else parts[0]
            yield node, f"({place.text(rest)},)", "drop part"
            continue
        if comma := re.match(rb"\s*,\s*", place.data[end : place.of(node)[1]]):
            end += comma.end()
        elif comma := re.search(rb",\s*$", place.data[place.of(node)[0] : start]):
            start -= len(comma[0])
        yield Piece(start, end), "", "drop part"


def _values_of_text(node: ast.JoinedStr, place: Places) -> Iterator[Edit]:
    start, _ = place.of(node)
    for value in re.finditer(r"(?<!\{)\{[^{}]+\}(?!\})", place.text(node)):
        before = start + len(place.text(node)[: value.start()].encode())
        yield Piece(before, before + len(value[0].encode())), "", "drop part"


_RULES: tuple[Callable[[ast.AST, Places], Iterator[Edit]], ...] = (
    _comparisons,
    _conditions,
    _constants,
    _arithmetic,
    _calls,
    _parts,
)
