"""`#graph.layout`: how a tensor lies in memory, as the encoding of its type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from inarch.dialects._types import i64
from inarch.dialects.graph._base import ints


@irdl_attr_definition
class LayoutAttr(ParametrizedAttribute):
    """`tensor<1x64x56x56xf32, #graph.layout<block = [0, 16, 0, 0], halo = [1, 1, 1, 1]>>`.

    The type's shape stays the logical one. `block[d]`, where it is not 0, splits dimension `d`: its
    blocks stay in place and the elements of a block become the innermost dimension (several: in
    order). `halo` is the room around the trailing dimensions, begins then ends, as in the `pads` of
    a conv. No encoding means row-major.

    C1: blocks and halo are >= 0. C2: halo has two numbers for each of at most `len(block)`
    dimensions.
    """

    name = "graph.layout"
    block: DenseArrayBase[IntegerType] = param_def()
    halo: DenseArrayBase[IntegerType] = param_def()

    @classmethod
    def get(cls, block: Sequence[int], halo: Sequence[int] = ()) -> Self:
        """The layout with these blocks, one number a dimension, and this halo."""
        return cls(DenseArrayBase.from_list(i64, block), DenseArrayBase.from_list(i64, halo))

    def verify(self) -> None:
        block, halo = ints(self.block), ints(self.halo)
        found = f"found block = {list(block)}, halo = {list(halo)}"
        if min((*block, *halo), default=0) < 0:
            raise VerifyException(f"C1: expected numbers >= 0, {found}")
        if len(halo) % 2 or len(halo) > 2 * len(block):
            raise VerifyException(f"C2: expected two halos for each trailing dimension, {found}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            block = _parse(parser, "block")
            parser.parse_punctuation(",")
            halo = _parse(parser, "halo")
        return [block, halo]

    def print_parameters(self, printer: Printer) -> None:
        block, halo = list(ints(self.block)), list(ints(self.halo))
        with printer.in_angle_brackets():
            printer.print_string(f"block = {block}, halo = {halo}")


def _parse(parser: AttrParser, name: str) -> DenseArrayBase[IntegerType]:
    parser.parse_keyword(name)
    parser.parse_punctuation("=")
    numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return DenseArrayBase.from_list(i64, numbers)
