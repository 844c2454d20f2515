"""`#graph.layout`: how a tensor lies in memory, as the encoding of its type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from inarch.ir.types import i64


@irdl_attr_definition
class LayoutAttr(ParametrizedAttribute):
    """`tensor<1x64x56x56xf32, #graph.layout<block = [0, 16, 0, 0], halo = [1, 1, 1, 1]>>`.

    The type's shape stays the logical one. `block[d]`, where it is not 0, splits dimension `d`: its
    blocks stay in place and the elements of a block become the innermost dimension (several: in
    order). A size that the block does not divide is rounded up in memory, and what is behind it is
    0. `halo` is the room around the trailing dimensions, begins then ends, as in the `pads` of a
    conv; it is 0, too. No encoding means row-major.

    C1: blocks and halo are >= 0. C2: halo has two numbers for each of at most `len(block)`
    dimensions.
    """

    name = "graph.layout"
    block: DenseArrayBase[IntegerType]
    halo: DenseArrayBase[IntegerType]

    @classmethod
    def get(cls, block: Sequence[int], halo: Sequence[int] = ()) -> Self:
        """The layout with these blocks, one number a dimension, and this halo."""
        return cls(DenseArrayBase.from_list(i64, block), DenseArrayBase.from_list(i64, halo))

    @property
    def blocks(self) -> tuple[int, ...]:
        """The block of each dimension; 0 where it is not split."""
        return _ints(self.block)

    @property
    def margins(self) -> tuple[tuple[int, int], ...]:
        """The halo before and after each dimension."""
        halo, rank = _ints(self.halo), len(self.blocks)
        count = len(halo) // 2
        pairs = zip(halo[:count], halo[count:], strict=True)
        return (*((0, 0) for _ in range(rank - count)), *pairs)

    def physical_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The buffer of a tensor of `shape`, its halo included.

        >>> LayoutAttr.get([0, 16, 0, 0], [1, 1, 1, 1]).physical_shape((1, 24, 7, 7))
        (1, 2, 9, 9, 16)
        """
        outer = [
            (-(-size // block) if block else size) + begin + end
            for size, block, (begin, end) in zip(shape, self.blocks, self.margins, strict=True)
        ]
        return (*outer, *(block for block in self.blocks if block))

    def verify(self) -> None:
        block, halo = _ints(self.block), _ints(self.halo)
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
        with printer.in_angle_brackets():
            printer.print_string(f"block = {list(self.blocks)}, halo = {list(_ints(self.halo))}")


def layout_of(value: SSAValue) -> LayoutAttr | None:
    """The layout of a tensor value; None: row-major (or no tensor)."""
    if not isinstance(value.type, TensorType):
        return None
    encoding = cast("TensorType[Attribute]", value.type).encoding
    return encoding if isinstance(encoding, LayoutAttr) else None


def channel_blocks(value: SSAValue) -> int:
    """The block of channels, dimension 1, of a tensor value that is split along these alone; else 0."""
    layout = layout_of(value)
    rest = [] if layout is None else [*layout.blocks]
    channels = rest.pop(1) if len(rest) > 1 else 0
    return 0 if any(rest) else channels


def with_layout(kind: TensorType[Attribute], layout: LayoutAttr | None) -> TensorType[Attribute]:
    """The same tensor in another layout; None: row-major."""
    if layout is None:
        return TensorType(kind.element_type, kind.get_shape())
    return TensorType(kind.element_type, kind.get_shape(), layout)


def _ints(array: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    return tuple(int(value) for value in array.get_values())


def _parse(parser: AttrParser, name: str) -> DenseArrayBase[IntegerType]:
    parser.parse_keyword(name)
    parser.parse_punctuation("=")
    numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return DenseArrayBase.from_list(i64, numbers)
