"""Det: of small matrices, by expansion along rows."""

from __future__ import annotations

from itertools import combinations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError

MAX_SIZE = 4
"""Rows. Larger matrices would need a factorisation with pivots, as products and losses of digits grow."""


def _det(node: Node) -> SSAValue:
    """[...] of [..., n, n]: minors of the first rows and each choice of as many columns, row by row."""
    shape = node.shape()
    if len(shape) < 2 or shape[-1] != shape[-2] or not shape[-1]:
        raise InarchError(f"expected square matrices, found shape {shape}")
    size = shape[-1]
    if size > MAX_SIZE:
        raise NotSupportedError(f"matrices of {size} rows, more than {MAX_SIZE}")
    minors: dict[tuple[int, ...], SSAValue] = {
        (column,): _element(node, 0, column) for column in range(size)
    }
    for row in range(1, size):
        elements = [_element(node, row, column) for column in range(size)]
        minors = {
            columns: _expand(node, columns, elements, minors)
            for columns in combinations(range(size), row + 1)
        }
    return minors[tuple(range(size))]


def _expand(
    node: Node,
    columns: tuple[int, ...],
    elements: list[SSAValue],
    minors: dict[tuple[int, ...], SSAValue],
) -> SSAValue:
    """The minor of some columns along its last row; signs alternate, and that of the last column is +."""
    total: SSAValue | None = None
    for place, column in reversed(list(enumerate(columns))):
        rest = columns[:place] + columns[place + 1 :]
        term = node.graph.mul(elements[column], minors[rest])
        if total is None:
            total = term
        else:
            plus = (len(columns) - 1 - place) % 2 == 0
            total = node.emit("add" if plus else "sub", total, term)
    assert total is not None
    return total


def _element(node: Node, row: int, column: int) -> SSAValue:
    """[...]: one element of each matrix."""
    shape = node.shape()
    found = node.graph.slice(
        node.x(),
        starts=[*(0 for _ in shape[:-2]), row, column],
        sizes=[*shape[:-2], 1, 1],
        steps=[1 for _ in shape],
    )
    return node.reshape(found, shape[:-2])


CONVERTERS: dict[str, Converter] = {"Det": _det}
