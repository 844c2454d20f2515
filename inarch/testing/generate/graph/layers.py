"""Layer shapes of real networks, with weights at run time: where tile plans meet ordinary sizes."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass


@dataclass(frozen=True)
class ConvLayer:
    """`channels` x `size` x `size` to `filters`, a `window` x `window` kernel; one image."""

    channels: int
    size: int
    filters: int
    window: int
    stride: int = 1
    groups: int = 1

    @property
    def pad(self) -> int:
        """What keeps the size at stride 1."""
        return self.window // 2

    def small(self) -> ConvLayer:
        """The same kind of layer with a fraction of the work: ragged sizes stay ragged."""
        if self.groups > 1:
            few = max(1, self.channels // 8)
            return ConvLayer(few, min(self.size, 15), few, self.window, self.stride, few)
        channels = self.channels if self.channels < 8 else max(8, self.channels // 8)
        return ConvLayer(
            channels, min(self.size, 14), max(8, self.filters // 8), self.window, self.stride
        )

    def narrow(self, most: int) -> ConvLayer:
        """All channels and filters, on an image so small that there are at most that many multiplications."""
        each = (self.channels // self.groups) * self.filters * self.window**2
        pixels = math.isqrt(max(1, most // each)) * self.stride
        return dataclasses.replace(self, size=max(1, min(self.size, pixels)))


@dataclass(frozen=True)
class MatmulLayer:
    """`rows` x `depth` times `depth` x `columns`; `batch` 0: two matrices."""

    rows: int
    depth: int
    columns: int
    batch: int = 0

    def small(self) -> MatmulLayer:
        """The same kind of product with a fraction of the work."""
        return MatmulLayer(
            min(self.rows, 33), max(1, self.depth // 12), max(1, self.columns // 12), self.batch
        )


RESNET50 = (
    ConvLayer(3, 224, 64, 7, 2),
    ConvLayer(64, 56, 64, 1),
    ConvLayer(64, 56, 64, 3),
    ConvLayer(64, 56, 256, 1),
    ConvLayer(256, 56, 128, 1),
    ConvLayer(128, 56, 128, 3, 2),
    ConvLayer(256, 56, 512, 1, 2),
    ConvLayer(128, 28, 128, 3),
    ConvLayer(512, 28, 256, 1),
    ConvLayer(256, 28, 256, 3, 2),
    ConvLayer(512, 28, 1024, 1, 2),
    ConvLayer(256, 14, 256, 3),
    ConvLayer(1024, 14, 512, 1),
    ConvLayer(512, 14, 512, 3, 2),
    ConvLayer(1024, 14, 2048, 1, 2),
    ConvLayer(512, 7, 512, 3),
    ConvLayer(512, 7, 2048, 1),
)
"""He et al., arXiv 1512.03385, table 1 (the stride in the 3x3, as in torchvision)."""

MOBILENETV2 = (
    ConvLayer(3, 224, 32, 3, 2),
    ConvLayer(32, 112, 32, 3, 1, 32),
    ConvLayer(16, 112, 96, 1),
    ConvLayer(96, 112, 96, 3, 2, 96),
    ConvLayer(24, 56, 144, 1),
    ConvLayer(144, 56, 144, 3, 2, 144),
    ConvLayer(144, 28, 32, 1),
    ConvLayer(192, 28, 192, 3, 2, 192),
    ConvLayer(384, 14, 384, 3, 1, 384),
    ConvLayer(576, 14, 576, 3, 2, 576),
    ConvLayer(960, 7, 960, 3, 1, 960),
    ConvLayer(320, 7, 1280, 1),
)
"""Sandler et al., arXiv 1801.04381, table 2."""

VGG = (
    ConvLayer(3, 224, 64, 3),
    ConvLayer(64, 112, 128, 3),
    ConvLayer(128, 56, 256, 3),
    ConvLayer(256, 28, 512, 3),
    ConvLayer(512, 14, 512, 3),
)
"""Simonyan and Zisserman, arXiv 1409.1556, table 1."""

BERT = (
    MatmulLayer(128, 768, 768),
    MatmulLayer(128, 768, 3072),
    MatmulLayer(128, 3072, 768),
    MatmulLayer(128, 64, 128, 12),
    MatmulLayer(128, 128, 64, 12),
    MatmulLayer(1, 768, 768),
)
"""Devlin et al., arXiv 1810.04805: BERT-base on 128 tokens."""

LSTM = (
    MatmulLayer(1, 128, 512),
    MatmulLayer(8, 256, 1024),
    MatmulLayer(1, 512, 2048),
    MatmulLayer(1, 4096, 1000),
)
"""The four gates of a cell of 128, 256 and 512 units; the last layer of VGG."""

CONVOLUTIONS = (*RESNET50, *MOBILENETV2, *VGG)
PRODUCTS = (*BERT, *LSTM)
