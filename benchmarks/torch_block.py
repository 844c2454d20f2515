"""A transformer block by PyTorch, inductor and Inarch, interleaved in one process: the least CPU time.

.venv-bridges/torch/bin/python benchmarks/torch_block.py [WIDTH HEADS TOKENS [ROUNDS]]
"""

# PyTorch is untyped where it is not installed:
# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false, reportUnknownVariableType=false
from __future__ import annotations

import importlib
import sys
import time
from typing import Any

torch: Any = importlib.import_module("torch")
nn: Any = torch.nn


class Block(nn.Module):
    """Attention and two layers, each after a norm and added to what it was made of."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        batch, tokens, width = x.shape
        split = self.qkv(self.norms[0](x)).view(batch, tokens, 3, self.heads, width // self.heads)
        found = nn.functional.scaled_dot_product_attention(*split.permute(2, 0, 3, 1, 4))
        x = x + self.out(found.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


def main() -> None:
    """Prints a line for each compiler."""
    width, heads, tokens, rounds = [
        *map(int, sys.argv[1:]),
        *(768, 12, 128, 40)[len(sys.argv) - 1 :],
    ]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, x = Block(width, heads).eval(), torch.randn(1, tokens, width)
    options = {"threads": 1}
    compiled = {
        "eager": model,
        "inductor": torch.compile(model, dynamic=False),
        "inarch": torch.compile(model, backend="inarch", options=options, dynamic=False),
        "frozen": torch.compile(
            model, backend="inarch", options={**options, "freeze": True}, dynamic=False
        ),
    }
    least = dict.fromkeys(compiled, float("inf"))
    with torch.no_grad():
        for call in compiled.values():
            torch.testing.assert_close(call(x), model(x), rtol=1e-4, atol=1e-5)
        for _ in range(rounds):
            for name, call in compiled.items():
                begun = time.thread_time()
                call(x)
                least[name] = min(least[name], time.thread_time() - begun)
    for name, seconds in least.items():
        print(f"{name:10}{seconds * 1e6:10.0f} us {least['inductor'] / seconds:6.2f} of inductor")


if __name__ == "__main__":
    main()
