"""How converters build ops: by their names in `graph`, of tensors and numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdsl.dialects.builtin import TensorType, f64
from xdsl.ir import Block

import inarch.frontends
from inarch.dialects.graph import operations
from inarch.dialects.graph.op import element_of
from inarch.frontends.builder import Builder
from inarch.frontends.building import Building
from inarch.ir.context import ConstantStore

_NAMES = re.compile(r"""(?:node|self|sampler)\.graph\.(\w+)|\.emit(?:_all)?\(\s*"(\w+)\"""")


def test_each_op_that_a_converter_names_is_there() -> None:
    folder = Path(inarch.frontends.__path__[0])
    named = {
        name
        for path in folder.rglob("*.py")
        if path.parent.name == "ops" or path.parent.parent.name == "ops"
        for found in _NAMES.findall(path.read_text())
        for name in found
        if name
    }
    assert len(named) > 40
    assert named - {*operations()} == set()


def test_a_number_has_the_dtype_of_the_last_tensor() -> None:
    block = Block(arg_types=[TensorType(f64, [3])])
    node = Building("n", Builder(block, ConstantStore()))
    found = node.graph.select(node.graph.less(0, block.args[0]), 1, block.args[0])
    assert element_of(found) == f64


def test_no_op_of_that_name() -> None:
    node = Building("n", Builder(Block(), ConstantStore()))
    with pytest.raises(AttributeError, match=r"^graph has no op 'plus'$"):
        _ = node.graph.plus
