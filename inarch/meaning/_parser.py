"""Reads meanings: recursive descent over the grammar of `inarch.meaning`, with located messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError, unknown
from inarch.core.scalars.functions import OF_MEANINGS
from inarch.meaning._tree import (
    OPERATORS,
    Apply,
    Element,
    Expression,
    Index,
    Iterator,
    Meaning,
    Number,
    Size,
    Statement,
    Term,
    index_of,
)

MAX_OPERATIONS = 128
"""Operations and parentheses of one statement; the tree is walked recursively everywhere."""

MAX_NUMBER = 2**31 - 1
"""Of sizes and of the factors of indices."""

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<operator>(?:max|min|\+|\*)=|=)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>[-+*/()\[\],:;])""",
    re.VERBOSE | re.ASCII,
)

_RESERVED = frozenset({"for", "in", "inf"})

_INFIX = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


@dataclass(frozen=True)
class _Token:
    kind: str
    """`number`, `operator`, `name`, `sign` or `end`."""
    text: str
    start: int


@dataclass
class Parser:
    """One pass over one text; what it has seen of names is kept to check the rest against."""

    text: str
    source: str
    """What messages call the text: `computes`, or a file."""
    has_scalars: bool = False
    """Whether a name alone is an operand without dimensions: `s` is `s[]`."""
    tokens: list[_Token] = field(default_factory=list[_Token])
    position: int = 0
    scope: dict[str, None] = field(default_factory=dict[str, None])
    """The iterators that are known here."""
    iterators: set[str] = field(default_factory=set[str])
    """All that were ever known."""
    sizes: set[str] = field(default_factory=set[str])
    extents: set[str] = field(default_factory=set[str])
    """The sizes of iterators."""
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    """The sizes in indices, and where each first is."""
    ranks: dict[str, int] = field(default_factory=dict[str, int])
    target: Element | None = None
    operations: int = 0

    # -- the grammar

    def meaning(self) -> Meaning:
        """Rule: meaning = [ "for" [ iterators ] ":" ] statement { ";" statement }."""
        self.tokens = self._scan()
        found, _ = self._meaning()
        self._expect_end()
        return found

    def meanings(self) -> list[tuple[Meaning, tuple[str, ...]]]:
        """Meanings with `;` between them, and where the statements of each are: of a program."""
        self.tokens = self._scan()
        found = [self._meaning()]
        while self._accept(";"):
            found.append(self._meaning())
        self._expect_end()
        return found

    def _meaning(self) -> tuple[Meaning, tuple[str, ...]]:
        if self._next.kind == "end":
            self._fail(self._next, "expected a meaning, found an empty one")
        self.scope, self.target = {}, None
        shared: tuple[Iterator, ...] = ()
        if self._accept("for"):
            shared = () if self._next.text == ":" else self._iterators()
            self._expect(":")
        heads: list[_Token] = []
        statements: list[Statement] = []
        while not statements or (not self._begins_another(shared) and self._accept(";")):
            heads.append(self._next)
            statements.append(self._statement(shared))
        meaning = Meaning(shared, tuple(self._checked(shared, heads, statements)))
        return meaning, tuple(self._where(head) for head in heads)

    def _begins_another(self, shared: Sequence[Iterator]) -> bool:
        """Whether `; for` is of another meaning: with an iterator of this one, or another operand written."""
        ahead = self.tokens[self.position :]
        if not self.has_scalars or [each.text for each in ahead[:2]] != [";", "for"]:
            return False
        texts = [each.text for each in ahead]
        colon = texts.index(":") if ":" in texts else 0
        other = self.target is not None and texts[colon + 1] != self.target.operand
        return bool(colon) and (other or texts[2] in {iterator.name for iterator in shared})

    def _expect_end(self) -> None:
        if self._next.kind != "end":
            self._fail(self._next, f"expected ';' or the end, found {_shown(self._next)}")

    def _statement(self, shared: Sequence[Iterator]) -> Statement:
        """Rule: statement = [ "for" iterators ":" ] element operator expression."""
        self.scope = {iterator.name: None for iterator in shared}
        self.operations = 0
        own: tuple[Iterator, ...] = ()
        if self._accept("for"):
            own = self._iterators()
            self._expect(":")
        start = self._next
        target = self._element(self._name("an operand"))
        self._check_target(start, target, own)
        operator = self._next
        if operator.kind != "operator":
            wanted = ", ".join(f"'{name}'" for name in OPERATORS)
            self._fail(operator, f"expected one of {wanted}, found {_shown(operator)}")
        self.position += 1
        reads = self.position
        value = self._expression()
        if operator.text != "=":
            self._check_no_read(reads, target.operand, operator.text)
        return Statement(own, target, operator.text, value)

    def _iterators(self) -> tuple[Iterator, ...]:
        """Rule: iterators = NAME "in" size { "," NAME "in" size }."""
        found: list[Iterator] = []
        while not found or self._accept(","):
            token = self._name("an iterator")
            if token.text in self.scope:
                self._fail(token, f"iterator {token.text} is defined twice")
            self._claim(token, self.iterators, "an iterator")
            self._expect("in")
            found.append(Iterator(token.text, self._size()))
            self.scope[token.text] = None
        return tuple(found)

    def _size(self) -> Size:
        token = self._next
        if token.kind == "number":
            number = self._integer()
            if number == 0:
                self._fail(token, "expected a size of 1 or more, found 0")
            return number
        token = self._name("a size (a number or a name)")
        self._claim(token, self.sizes, "a size")
        self.extents.add(token.text)
        return token.text

    def _element(self, name: _Token) -> Element:
        """Rule: element = NAME "[" [ index { "," index } ] "]"."""
        self._expect("[")
        indices: list[Index] = []
        if not self._accept("]"):
            while not indices or self._accept(","):
                indices.append(self._index())
            self._expect("]")
        return self._operand(name, indices)

    def _operand(self, name: _Token, indices: Sequence[Index]) -> Element:
        """An element of the operand `name`, which has the same rank everywhere."""
        self._claim(name, self.ranks, "an operand")
        rank = self.ranks.setdefault(name.text, len(indices))
        if rank != len(indices):
            self._fail(
                name,
                f"expected operand {name.text} of rank {rank} as before, found {len(indices)} "
                f"{'index' if len(indices) == 1 else 'indices'}",
            )
        return Element(name.text, tuple(indices))

    def _index(self) -> Index:
        """Rule: index = [ "-" ] term { ("+" | "-") term }."""
        terms = [self._term(negative=self._accept("-"))]
        while self._next.text in ("+", "-"):
            terms.append(self._term(negative=self._take().text == "-"))
        return index_of(terms)

    def _term(self, *, negative: bool) -> Term:
        """Rule: term = factor { "*" factor }, at most one iterator among them."""
        factors: list[Size] = [-1] if negative else []
        iterator: str | None = None
        first = True
        while first or self._accept("*"):
            first = False
            if self._next.kind == "number":
                factors.append(self._integer())
                continue
            token = self._name("an index (an iterator, a number or a name)")
            if token.text in self.scope:
                if iterator is not None:
                    self._fail(token, f"expected one iterator in a product, found {token.text} too")
                iterator = token.text
            elif token.text in self.iterators:
                self._fail(token, f"{token.text} is the iterator of another statement")
            else:
                self._claim(token, self.sizes, "a size")
                self.parameters.setdefault(token.text, self._where(token))
                factors.append(token.text)
        return Term(tuple(factors), iterator)

    def _expression(self) -> Expression:
        left = self._product()
        while self._next.text in ("+", "-"):
            function = _INFIX[self._operation().text]
            left = Apply(function, (left, self._product()))
        return left

    def _product(self) -> Expression:
        left = self._unary()
        while self._next.text in ("*", "/"):
            function = _INFIX[self._operation().text]
            left = Apply(function, (left, self._unary()))
        return left

    def _unary(self) -> Expression:
        if self._next.text != "-":
            return self._primary()
        self._operation()
        operand = self._next
        if operand.kind == "number" or operand.text == "inf":
            return Number(-self._number())
        return Apply("neg", (self._unary(),))

    def _primary(self) -> Expression:
        token = self._next
        if token.kind == "number" or token.text == "inf":
            return Number(self._number())
        if token.text == "(":
            self._operation()
            inside = self._expression()
            self._expect(")")
            return inside
        if token.kind != "name" or token.text in _RESERVED:
            self._fail(token, f"expected an expression, found {_shown(token)}")
        self.position += 1
        if self._next.text == "(":
            return self._call(token)
        if self.has_scalars and self._next.text != "[" and token.text not in self.iterators:
            return self._operand(token, ())
        if self._next.text != "[":
            hint = " (an iterator is no value)" if token.text in self.scope else ""
            self._fail(self._next, f"expected '[' or '(' after {token.text}{hint}, found "
                       f"{_shown(self._next)}")  # fmt: skip
        return self._element(token)

    def _call(self, name: _Token) -> Expression:
        if name.text not in OF_MEANINGS and name.text not in DTYPES:
            error = unknown("function", name.text, [*OF_MEANINGS, *DTYPES])
            self._fail(name, error.message)
        self._operation()
        arguments: list[Expression] = []
        while not arguments or self._accept(","):
            arguments.append(self._expression())
        self._expect(")")
        arity = OF_MEANINGS[name.text].arity if name.text in OF_MEANINGS else 1
        if len(arguments) != arity:
            noun = "argument" if arity == 1 else "arguments"
            self._fail(name, f"expected {arity} {noun} of {name.text}, found {len(arguments)}")
        return Apply(name.text, tuple(arguments))

    # -- what a text must mean

    def _check_target(self, token: _Token, target: Element, own: Sequence[Iterator]) -> None:
        """The written elements of all points are distinct, and those of all statements the same."""
        used: list[str] = []
        for index in target.indices:
            if len(index) != 1 or index[0].factors or index[0].iterator is None:
                self._fail(token, f"expected iterators alone as the indices of {target.operand}, "
                           "which is written")  # fmt: skip
            used.append(index[0].iterator)
        if len(set(used)) != len(used):
            self._fail(token, f"expected distinct iterators as the indices of {target.operand}, "
                       f"which is written, found {', '.join(used)}")  # fmt: skip
        outer = [iterator.name for iterator in own if iterator.name in used]
        if outer:
            self._fail(token, f"iterator {outer[0]} indexes {target.operand}, which is written; "
                       "expected it after the first 'for'")  # fmt: skip
        if self.target is None:
            self.target = target
        elif target.operand != self.target.operand:
            self._fail(token, f"expected statements that write {self.target.operand}, "
                       f"found {target.operand}")  # fmt: skip
        elif target != self.target:
            self._fail(token, f"expected {target.operand} with the same indices as in the first "
                       "statement")  # fmt: skip

    def _check_no_read(self, first: int, operand: str, operator: str) -> None:
        for token in self.tokens[first : self.position]:
            if token.kind == "name" and token.text == operand:
                self._fail(token, f"'{operator}' reads {operand} by itself; expected other "
                           "operands in its value")  # fmt: skip

    def _checked(
        self, shared: Sequence[Iterator], heads: list[_Token], statements: list[Statement]
    ) -> list[Statement]:
        """Guards on whole statements: reductions, and reads of the written element."""
        for head, statement in zip(heads, statements, strict=True):
            used = {term.iterator for index in statement.target.indices for term in index}
            reductions = [i.name for i in (*shared, *statement.iterators) if i.name not in used]
            if statement.operator == "=" and reductions:
                self._fail(head, f"'=' overwrites {statement.target.operand} for each "
                           f"{reductions[0]}; expected '+=', '*=', 'max=' or 'min='")  # fmt: skip
            outer = [i.name for i in shared if i.name not in used]
            if len(statements) > 1 and outer:
                self._fail(head, f"iterator {outer[0]} does not index {statement.target.operand}; "
                           f"expected it in a statement: 'for {outer[0]} in ...: ...'")  # fmt: skip
            for element in elements(statement.value):
                if element.operand == statement.target.operand and element != statement.target:
                    self._fail(head, f"expected {element.operand} to be read where it is "
                               "written")  # fmt: skip
        return statements

    # -- tokens

    @property
    def _next(self) -> _Token:
        return self.tokens[self.position]

    def _take(self) -> _Token:
        self.position += 1
        return self.tokens[self.position - 1]

    def _accept(self, text: str) -> bool:
        if self._next.text != text or self._next.kind == "end":
            return False
        self.position += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            self._fail(self._next, f"expected '{text}', found {_shown(self._next)}")

    def _operation(self) -> _Token:
        """Takes a token that makes the tree deeper."""
        self.operations += 1
        if self.operations > MAX_OPERATIONS:
            self._fail(self._next, f"expected at most {MAX_OPERATIONS} operations a statement")
        return self._take()

    def _name(self, wanted: str) -> _Token:
        token = self._next
        if token.kind != "name" or token.text in _RESERVED:
            self._fail(token, f"expected {wanted}, found {_shown(token)}")
        return self._take()

    def _integer(self) -> int:
        token = self._take()
        if not token.text.isdigit():
            self._fail(token, f"expected an integer, found {token.text}")
        # By length first: Python refuses to convert thousands of digits.
        if len(token.text) > 10 or int(token.text) > MAX_NUMBER:
            self._fail(token, f"expected an integer up to {MAX_NUMBER}")
        return int(token.text)

    def _number(self) -> float:
        token = self._take()
        value = float(token.text)
        if token.text != "inf" and value == float("inf"):
            self._fail(token, "expected a number that a double holds (infinity is 'inf')")
        return value

    def _claim(self, token: _Token, among: set[str] | dict[str, int], kind: str) -> None:
        """Holds that a name means one kind of thing throughout."""
        tables = {"an iterator": self.iterators, "a size": self.sizes, "an operand": self.ranks}
        for other, names in tables.items():
            if other != kind and token.text in names:
                self._fail(token, f"{token.text} is {other} already; expected another name "
                           f"for {kind}")  # fmt: skip
        if isinstance(among, set):
            among.add(token.text)

    def _scan(self) -> list[_Token]:
        tokens: list[_Token] = []
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                self._fail(_Token("", "", at), f"expected a meaning, found {self.text[at]!a}")
            if match.lastgroup != "space":
                tokens.append(_Token(str(match.lastgroup), match.group(), at))
            at = match.end()
        return [*tokens, _Token("end", "", len(self.text.rstrip()))]

    def _fail(self, token: _Token, message: str) -> NoReturn:
        raise InarchError(message, where=self._where(token))

    def _where(self, token: _Token) -> str:
        line = self.text.count("\n", 0, token.start) + 1
        column = token.start - (self.text.rfind("\n", 0, token.start) + 1) + 1
        return f"{self.source}:{line}:{column}"


def elements(expression: Expression) -> list[Element]:
    """The elements that an expression reads, from left to right."""
    match expression:
        case Element():
            return [expression]
        case Apply():
            return [element for part in expression.arguments for element in elements(part)]
        case Number():
            return []


def _shown(token: _Token) -> str:
    return "the end" if token.kind == "end" else f"'{token.text}'"
