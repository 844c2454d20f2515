"""PyTorch's graphs of core ATen: what `torch.compile` captures, and programs of `torch.export`.

`graph.py` imports an FX graph, `ops/` has the operators. PyTorch itself is imported by who makes graphs.
"""
