"""C text: an indenting writer, and names that are legal and new in C and in C++."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from inarch.core.scalars.functions import FUNCTIONS

_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
class co_await co_return co_yield compl concept const consteval constexpr constinit const_cast
continue decltype default delete do double dynamic_cast else enum explicit export extern false float
for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or
or_eq private protected public register reinterpret_cast requires restrict return short signed
sizeof static static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq
main NULL EOF errno linux unix i386 size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t
uint64_t uintptr_t intptr_t ptrdiff_t alloca offsetof stderr stdin stdout strdupa strndupa va_arg va_copy
va_end va_list va_start be16toh be32toh be64toh htobe16 htobe32 htobe64 htole16 htole32 htole64 le16toh
le32toh le64toh
L_ctermid L_cuserid L_tmpnam P_tmpdir
"""

LIBRARY_FUNCTIONS = frozenset(
    f"{name}{suffix}" for row in FUNCTIONS.values() if (name := row.library) for suffix in ("", "f")
)
"""Functions of <math.h> that generated code may call."""
CALLS_LIBRARY = re.compile(rf"\b({'|'.join(sorted(LIBRARY_FUNCTIONS))})\(")

RESERVED = frozenset(_KEYWORDS.split()) | LIBRARY_FUNCTIONS
"""Identifiers that generated code never declares: keywords, and library functions that it calls."""

INDENT = "    "


def identifier(name: str, default: str = "v") -> str:
    """`name` with everything else than letters, digits and `_` replaced; never a reserved word.

    >>> identifier("conv.0/out"), identifier("3x"), identifier("for"), identifier("")
    ('conv_0_out', '_3x', 'for_', 'v')
    """
    text = re.sub(r"[^A-Za-z0-9_]", "_", name) or default
    if text[0].isdigit():
        text = f"_{text}"
    if re.match(r"__|_[A-Z]|inarch(_|$)", text):
        text = f"v{text}"  # such names belong to the C implementation, or to our helpers
    return f"{text}_" if text in RESERVED else text


def variable(name: str) -> str:
    """`name` as an identifier that is no macro: those of headers, and ours, have two capitals, or are listed.

    Of symbols that begin with a model's name there is none.

    >>> variable("INT_MAX"), variable("x2APIC"), variable("Conv")
    ('INT_MAX_', 'x2APIC_', 'Conv')
    """
    text = identifier(name)
    return f"{text}_" if re.search(r"[A-Z][0-9]*[A-Z]", text) else text


class Names:
    """The identifiers of one C scope; a child sees those of its parents."""

    def __init__(self, taken: Iterable[str] = (), parents: Sequence[Collection[str]] = ()) -> None:
        """`parents`, from the innermost on, are looked into where they are: children are many."""
        self._taken = set(taken)
        self._every = (self._taken, *parents)
        self._counts: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """A new identifier that looks like `hint`, and is no macro."""
        stem = variable(hint)
        name, count = stem, self._counts.get(stem, 1)
        while any(name in taken for taken in self._every):
            name = f"{stem}_{count}"
            count += 1
        self._counts[stem] = count
        self._taken.add(name)
        return name

    def reserve(self, name: str) -> None:
        """Takes an identifier that a scope within this one has found to be free."""
        self._taken.add(name)

    def child(self, taken: Iterable[str] = ()) -> Names:
        """A scope within this one, where some names are taken besides."""
        return Names(taken, self._every)


class Writer:
    """Lines of C, indented by the braces that are open: `depth` of them around all."""

    def __init__(self, depth: int = 0) -> None:
        self.lines: list[str] = []
        self._braces = list(range(depth + 1))
        self._opened = depth

    @property
    def depth(self) -> int:
        """How many braces are open."""
        return len(self._braces) - 1

    @property
    def brace(self) -> int:
        """The number of the innermost brace: one that is closed never comes again."""
        return self._braces[-1]

    def is_open(self, brace: int) -> bool:
        """Whether what was declared in a brace of this number can be seen here."""
        return brace in self._braces

    def line(self, text: str) -> None:
        """One line."""
        self.lines.append(f"{INDENT * self.depth}{text}" if text else "")

    def open(self, header: str = "") -> None:
        """`header {`, and indents what follows."""
        self.line(f"{header} {{" if header else "{")
        self._opened += 1
        self._braces.append(self._opened)

    def close(self, depth: int | None = None) -> None:
        """Closes the innermost brace, or all of them down to `depth`."""
        target = self.depth - 1 if depth is None else depth
        while self.depth > target:
            self._braces.pop()
            self.line("}")

    def text(self) -> str:
        """Everything written, ending in a newline."""
        return "\n".join(self.lines) + "\n"


def comment(text: str) -> str:
    """`text` as a C comment on one line, whatever is in it."""
    flat = " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *")
    return f"/* {flat.encode('ascii', 'replace').decode()} */"


def string(text: str) -> str:
    """`text` as a C string literal."""
    escaped = "".join(_escape(byte) for byte in text.encode())
    return f'"{escaped}"'


def _escape(byte: int) -> str:
    char = chr(byte)
    if char in '"\\':
        return f"\\{char}"
    # Octal escapes end after three digits; hexadecimal ones would swallow what follows. `?` may
    # start a trigraph.
    return char if 32 <= byte < 127 and char != "?" else f"\\{byte:03o}"


def is_atom(text: str) -> bool:
    """Whether `text` needs no parentheses as an operand: a name, a literal, a call, `a[i]`, `(...)`.

    >>> is_atom("a[i + 1]"), is_atom("f(x) + 1"), is_atom("1.0e-05f"), is_atom("(a) + (b)")
    (True, False, True, False)
    """
    if re.fullmatch(r"[\w.]+([eE][-+]\d+f?)?", text):
        return True
    head = re.match(r"\w*", text)
    position = head.end() if head else 0
    while position < len(text):
        if text[position] not in "([":
            return False
        position = _closing(text, position) + 1
    return bool(text)


def _closing(text: str, start: int) -> int:
    depth = 0
    for position in range(start, len(text)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return len(text)


def atom(text: str) -> str:
    """`text`, in parentheses unless it is an atom."""
    return text if is_atom(text) else f"({text})"


def unwrapped(text: str) -> str:
    """`text` without the one pair of parentheses around all of it."""
    around = text.startswith("(") and _closing(text, 0) == len(text) - 1
    return text[1:-1] if around else text
