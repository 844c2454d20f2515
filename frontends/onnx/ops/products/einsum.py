"""Einsum: pairs of operands at a time, each a product of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Converter, Node

Term = tuple[SSAValue, str]
"""A value and the label of each of its dimensions, all different."""


def _einsum(node: Node) -> SSAValue:
    equation = node.text("equation", "").replace(" ", "")
    left, arrow, result = equation.partition("->")
    subscripts = left.split(",")
    if len(subscripts) != len(node.inputs):
        raise InarchError(
            f"expected an equation of {len(node.inputs)} operands, found '{equation}'"
        )
    ranks = [len(node.shape(index)) for index in range(len(subscripts))]
    dots = max(
        rank - _letters(text, equation) for text, rank in zip(subscripts, ranks, strict=True)
    )
    # Dimensions under an ellipsis get labels that no letter is: digits, aligned at the last.
    hidden = "".join(chr(ord("0") + d) for d in range(max(0, dots)))
    names = [_spell(text, rank, hidden) for text, rank in zip(subscripts, ranks, strict=True)]
    if not arrow:
        joined = "".join(subscripts).replace(".", "")
        result = "..." * ("..." in left) + "".join(
            c for c in sorted(set(joined)) if joined.count(c) == 1
        )
    _letters(result, equation)
    wanted = result.replace("...", hidden)
    if not set(wanted) <= set("".join(names)) or len(set(wanted)) != len(wanted):
        raise InarchError(f"expected a result of labels of the operands, found '{equation}'")
    sizes = _sizes(node, names, equation)
    terms = [_diagonal(node, node.x(index), name) for index, name in enumerate(names)]
    first, *rest = terms
    for index, term in enumerate(rest):
        needed = wanted + "".join(name for _, name in rest[index + 1 :])
        first = _contract(node, first, term, needed, sizes)
    value, labels = _sum_out(node, first, wanted)
    return _arrange(node, (value, labels), wanted)


def _letters(text: str, equation: str) -> int:
    """The number of labels in a subscript."""
    plain = text.replace("...", "", 1)
    if plain and not (plain.isascii() and plain.isalpha()):
        raise InarchError(f"expected letters and at most one '...' a term, found '{equation}'")
    return len(plain)


def _spell(text: str, rank: int, hidden: str) -> str:
    """The subscript with a label for each dimension under its ellipsis."""
    count = rank - len(text.replace("...", ""))
    if count < 0 or (count and "..." not in text):
        raise InarchError(f"expected as many labels as dimensions, found '{text}' for rank {rank}")
    return text.replace("...", hidden[len(hidden) - count :])


def _sizes(node: Node, names: Sequence[str], equation: str) -> dict[str, int]:
    """The size of each label; 1 fits any."""
    found: dict[str, int] = {}
    for index, name in enumerate(names):
        for label, size in zip(name, node.shape(index), strict=True):
            if found.setdefault(label, size) == 1:
                found[label] = size
            if size not in (1, found[label]):
                raise InarchError(
                    f"expected one size for '{label}' of '{equation}', "
                    f"found {found[label]} and {size}"
                )
    return found


def _diagonal(node: Node, value: SSAValue, name: str) -> Term:
    """What remains of an operand where labels that come twice are equal."""
    labels = "".join(dict.fromkeys(name))
    shape = shape_of(value)
    if labels == name:
        return value, name
    sizes = dict(zip(name, shape, strict=True))
    kept = [sizes[label] for label in labels]
    if any(size != sizes[label] for label, size in zip(name, shape, strict=True)):
        raise InarchError(f"expected equal sizes on a diagonal '{name}', found {shape}")
    node.room(*kept, len(kept) + 1)
    points = np.indices(kept)
    flat = np.zeros(kept, np.int64)
    for d, label in enumerate(name):
        flat += points[labels.index(label)] * math.prod(shape[d + 1 :])
    whole = node.reshape(value, (math.prod(shape),))
    return node.graph.gather(whole, node.constant(flat), axis=0), labels


def _sum_out(node: Node, term: Term, needed: str) -> Term:
    """The term summed over the labels that are not needed."""
    value, labels = term
    axes = [d for d, label in enumerate(labels) if label not in needed]
    if axes:
        value = node.graph.reduce_sum(value, axes=axes, keepdims=False)
    return value, "".join(label for label in labels if label in needed)


def _arrange(node: Node, term: Term, order: str) -> SSAValue:
    """The term with its dimensions in this order."""
    value, labels = term
    if labels == order:
        return value
    return node.graph.transpose(value, perm=[labels.index(label) for label in order])


def _contract(node: Node, a: Term, b: Term, needed: str, sizes: dict[str, int]) -> Term:
    """The product of two terms, summed over what is not needed: `[batch, m, k] @ [batch, k, n]`."""
    a = _widen(node, _sum_out(node, a, needed + b[1]), b[1], sizes)
    b = _widen(node, _sum_out(node, b, needed + a[1]), a[1], sizes)
    batch = "".join(label for label in a[1] if label in b[1] and label in needed)
    inner = "".join(label for label in a[1] if label in b[1] and label not in needed)
    rows = "".join(label for label in a[1] if label not in b[1])
    columns = "".join(label for label in b[1] if label not in a[1])
    shape = {**_shape(a), **_shape(b)}

    def size(labels: str) -> int:
        return math.prod(shape[label] for label in labels)

    batches = [shape[label] for label in batch]
    left = node.reshape(
        _arrange(node, a, batch + rows + inner), (*batches, size(rows), size(inner))
    )
    right = _arrange(node, b, batch + inner + columns)
    right = node.reshape(right, (*batches, size(inner), size(columns)))
    product = node.graph.matmul(left, right)
    labels = batch + rows + columns
    return node.reshape(product, [shape[label] for label in labels]), labels


def _shape(term: Term) -> dict[str, int]:
    return dict(zip(term[1], shape_of(term[0]), strict=True))


def _widen(node: Node, term: Term, shared: str, sizes: dict[str, int]) -> Term:
    """The term with sizes of 1 repeated, where the other one has the label too."""
    value, labels = term
    found = zip(labels, shape_of(value), strict=True)
    shape = [sizes[label] if label in shared else size for label, size in found]
    return node.broadcast(value, shape), labels


CONVERTERS: dict[str, Converter] = {"Einsum": _einsum}
