"""The update rules of docs/compute.md, as the page has them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import inarch
from inarch.computation import Computation

PAGE = Path(__file__).parents[3] / "docs" / "compute.md"


def rule(name: str) -> Computation:
    """The computation that the page calls so."""
    pattern = rf"^{name} = inarch\.compute\(\n.*?^\)"
    (code,) = re.findall(pattern, PAGE.read_text(), re.MULTILINE | re.DOTALL)
    call = ast.parse(code).body[0]
    assert isinstance(call, ast.Assign)
    assert isinstance(call.value, ast.Call)
    (text,) = map(ast.literal_eval, call.value.args)
    (arguments,) = (ast.literal_eval(each.value) for each in call.value.keywords)
    return inarch.compute(text, arguments=arguments)
