"""What decompositions share: constants of one element, and the axis of a property."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute

from inarch.core.lazy import np
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import Array
from inarch.ir.types import tensor


def number(value: float, element_type: Attribute) -> ConstantOp:
    """A constant of shape [] that holds `value`, rounded to the float `element_type`."""
    kind: Any = tensor(element_type, ())  # a float: untyped for the overloads of from_list
    return ConstantOp.make(value=DenseIntOrFPElementsAttr.from_list(kind, [value]))


def rounded(value: float, like: Array) -> float:
    """What `number` holds, for a reference that computes in float64 on elements such as those of `like`.

    An epsilon of 1e-3 that is added to a variance of -1e-3 in f32 gives 0, and not 4.7e-11.

    >>> rounded(0.1, np.zeros(1, np.float32))
    0.10000000149011612
    """
    return float(np.asarray(value, like.dtype))


def normal_axis(axis: int, rank: int) -> int | None:
    """`axis` counted from the front (a negative one counts from the end); None when there is none.

    A scalar has the axes 0 and -1, as if it were one element in a row.

    >>> normal_axis(-1, 3), normal_axis(3, 3), normal_axis(-1, 0)
    (2, None, 0)
    """
    size = max(rank, 1)
    return axis % size if -size <= axis < size else None


def axes_from(axis: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The axes from the normal `axis` to the last; none of a scalar."""
    return tuple(range(axis, len(shape)))
