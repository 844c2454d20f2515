"""The 30 distinct convolutions of MobileNetV2 1.0 on a 224x224 image.

`expand16.112` is the pointwise convolution of 16 channels at 112x112 that widens a block, `dw96.112.s2` the
depthwise one (of stride 2) in it, `project96-24.56` the one that narrows it to 24 channels.
"""

from __future__ import annotations

from inarch.benchmark.layers import Conv, LayerSet

LAYER_SET = LayerSet(
    "the 30 distinct convolutions of MobileNetV2 1.0, 224x224: pointwise, depthwise and the first",
    (
        Conv("conv1", 3, 224, 224, 32, 3, 2, activation="relu6"),
        Conv("dw32.112", 32, 112, 112, 32, 3, 1, 32, activation="relu6"),
        Conv("project32-16.112", 32, 112, 112, 16, 1, activation="none"),
        Conv("expand16.112", 16, 112, 112, 96, 1, activation="relu6"),
        Conv("dw96.112.s2", 96, 112, 112, 96, 3, 2, 96, activation="relu6"),
        Conv("project96-24.56", 96, 56, 56, 24, 1, activation="none"),
        Conv("expand24.56", 24, 56, 56, 144, 1, count=2, activation="relu6"),
        Conv("dw144.56", 144, 56, 56, 144, 3, 1, 144, activation="relu6"),
        Conv("project144-24.56", 144, 56, 56, 24, 1, activation="none"),
        Conv("dw144.56.s2", 144, 56, 56, 144, 3, 2, 144, activation="relu6"),
        Conv("project144-32.28", 144, 28, 28, 32, 1, activation="none"),
        Conv("expand32.28", 32, 28, 28, 192, 1, count=3, activation="relu6"),
        Conv("dw192.28", 192, 28, 28, 192, 3, 1, 192, count=2, activation="relu6"),
        Conv("project192-32.28", 192, 28, 28, 32, 1, count=2, activation="none"),
        Conv("dw192.28.s2", 192, 28, 28, 192, 3, 2, 192, activation="relu6"),
        Conv("project192-64.14", 192, 14, 14, 64, 1, activation="none"),
        Conv("expand64.14", 64, 14, 14, 384, 1, count=4, activation="relu6"),
        Conv("dw384.14", 384, 14, 14, 384, 3, 1, 384, count=4, activation="relu6"),
        Conv("project384-64.14", 384, 14, 14, 64, 1, count=3, activation="none"),
        Conv("project384-96.14", 384, 14, 14, 96, 1, activation="none"),
        Conv("expand96.14", 96, 14, 14, 576, 1, count=3, activation="relu6"),
        Conv("dw576.14", 576, 14, 14, 576, 3, 1, 576, count=2, activation="relu6"),
        Conv("project576-96.14", 576, 14, 14, 96, 1, count=2, activation="none"),
        Conv("dw576.14.s2", 576, 14, 14, 576, 3, 2, 576, activation="relu6"),
        Conv("project576-160.7", 576, 7, 7, 160, 1, activation="none"),
        Conv("expand160.7", 160, 7, 7, 960, 1, count=3, activation="relu6"),
        Conv("dw960.7", 960, 7, 7, 960, 3, 1, 960, count=3, activation="relu6"),
        Conv("project960-160.7", 960, 7, 7, 160, 1, count=2, activation="none"),
        Conv("project960-320.7", 960, 7, 7, 320, 1, activation="none"),
        Conv("last", 320, 7, 7, 1280, 1, activation="relu6"),
    ),
)
