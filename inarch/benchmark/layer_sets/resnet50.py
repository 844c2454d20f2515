"""The 23 distinct convolutions of ResNet-50 v1.5 on a 224x224 image.

Names are those of the stages: `l2.0.c1` is the first convolution of the first block of stage 2, `l2.c1`
that of its other blocks, `ds` the projection around a first block.
"""

from __future__ import annotations

from inarch.benchmark.layers import Conv, LayerSet

LAYER_SET = LayerSet(
    "the 23 distinct convolutions of ResNet-50 v1.5, 224x224, with bias and ReLU",
    (
        Conv("conv1", 3, 224, 224, 64, 7, 2),
        Conv("l1.0.c1", 64, 56, 56, 64, 1),
        Conv("l1.c2", 64, 56, 56, 64, 3, count=3),
        Conv("l1.c3", 64, 56, 56, 256, 1, count=4),  # the projection of stage 1 is one of them
        Conv("l1.c1", 256, 56, 56, 64, 1, count=2),
        Conv("l2.0.c1", 256, 56, 56, 128, 1),
        Conv("l2.0.c2", 128, 56, 56, 128, 3, 2),
        Conv("l2.c3", 128, 28, 28, 512, 1, count=4),
        Conv("l2.ds", 256, 56, 56, 512, 1, 2),
        Conv("l2.c1", 512, 28, 28, 128, 1, count=3),
        Conv("l2.c2", 128, 28, 28, 128, 3, count=3),
        Conv("l3.0.c1", 512, 28, 28, 256, 1),
        Conv("l3.0.c2", 256, 28, 28, 256, 3, 2),
        Conv("l3.c3", 256, 14, 14, 1024, 1, count=6),
        Conv("l3.ds", 512, 28, 28, 1024, 1, 2),
        Conv("l3.c1", 1024, 14, 14, 256, 1, count=5),
        Conv("l3.c2", 256, 14, 14, 256, 3, count=5),
        Conv("l4.0.c1", 1024, 14, 14, 512, 1),
        Conv("l4.0.c2", 512, 14, 14, 512, 3, 2),
        Conv("l4.c3", 512, 7, 7, 2048, 1, count=3),
        Conv("l4.ds", 1024, 14, 14, 2048, 1, 2),
        Conv("l4.c1", 2048, 7, 7, 512, 1, count=2),
        Conv("l4.c2", 512, 7, 7, 512, 3, count=2),
    ),
)
