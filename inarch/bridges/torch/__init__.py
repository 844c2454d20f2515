"""PyTorch: compiled functions as its operators, and Inarch as a backend of its compiler.

from inarch.bridges.torch import to_torch_func

relu = to_torch_func(inarch.compile("relu.mlir"), name="my_relu")
y = relu(x)                                      # torch.ops.inarch.my_relu, also in what is compiled
fast = torch.compile(model, backend="inarch")    # what Inarch takes of it is compiled by Inarch
"""

from __future__ import annotations

from inarch.bridges.torch.backend import explain
from inarch.bridges.torch.operator import to_torch_func

__all__ = ["explain", "to_torch_func"]
