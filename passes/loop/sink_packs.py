"""What is packed for calls of kernels is made panel by panel, in a loop around the calls that read it.

    P[n, k, l] = B[k, 16 n + l]   (all n)       for n = 0 to 256:
    for n, m: kernel(A[m], P[n], C[m, n])  -->      P[k, l] = B[k, 16 n + l]
                                                    for m: kernel(A[m], P, C[m, n])

A panel is still in the caches when it is read, and no memory as large as B is needed. The calls do the same
in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.ir.functions import entry_blocks
from inarch.ir.names import symbols_of
from inarch.ir.passes import OptionalPass
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.ir.target import machine_of
from inarch.machine.machine import Machine
from inarch.passes.loop.nests.unmoved import same_calls
from inarch.passes.loop.panels.find import Panels, panels_of
from inarch.passes.loop.panels.write import run_by_panels


@dataclass(frozen=True)
class SinkPacksPass(OptionalPass):
    """Packs by panels, inside the outermost loop of the kernel's calls, what the caches do not hold.

    `always`: whatever the caches hold, for tests.
    """

    always: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = symbols_of(op)
        machine, remarks = machine_of(op), remarks_of(ctx)
        for _, block in entry_blocks(op):
            for pack in [inner for inner in block.walk() if isinstance(inner, PackOp)]:
                self._sink(pack, symbols, machine, remarks)

    def _sink(
        self, pack: PackOp, symbols: Mapping[str, Operation], machine: Machine, remarks: Remarks
    ) -> None:
        size = nbytes(memref_of(pack.dst))
        if is_kept(pack) or same_calls(pack.src) > 1:
            return  # what is the same for many calls of a body is packed once
        if not self.always and 2 * size <= machine.l2.bytes:
            return  # it is near
        panels = panels_of(pack, symbols)
        if panels is None or not (self.always or _is_near(panels, machine)):
            return
        remarks.done(
            pack,
            f"packed in {panels.count} panels: {size} bytes of scratch are {size // panels.count}",
        )
        run_by_panels(panels)


def _is_near(panels: Panels, machine: Machine) -> bool:
    """Whether a panel stays in the second-level cache from when it is written until it is read."""
    return nbytes(memref_of(panels.pack.dst)) // panels.count <= machine.l2.bytes
