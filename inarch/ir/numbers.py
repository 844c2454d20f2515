"""Numbers in text that have no type: those of attributes, beside whose tensors the type is known."""

from __future__ import annotations

import math

from xdsl.parser import AttrParser


def parse_number(parser: AttrParser) -> int | float:
    """A number without its type: an integer, a decimal, `inf`, `-inf` or `nan`."""
    negative = parser.parse_optional_punctuation("-") is not None
    for word in ("inf", "nan"):
        if parser.parse_optional_keyword(word):
            return -float(word) if negative else float(word)
    value = parser.parse_number(allow_boolean=False)
    return -value if negative else value


def number_text(value: float) -> str:
    """What `parse_number` parses, exactly.

    >>> number_text(0.0), number_text(1e-05), number_text(-math.inf), number_text(3)
    ('0.0', '1.0e-05', '-inf', '3')
    """
    if isinstance(value, int) or math.isinf(value) or math.isnan(value):
        return str(value)
    mantissa, _, exponent = repr(value).partition("e")
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{mantissa}e{exponent}" if exponent else mantissa
