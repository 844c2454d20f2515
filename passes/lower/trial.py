"""What the pipeline does to an op before `tensorize`: passes on graphs ask what kernels make of it."""

from __future__ import annotations

from xdsl.passes import ModulePass

from inarch.passes.loop.drop_unit_iterators import DropUnitIteratorsPass
from inarch.passes.loop.fuse_nests import FuseNestsPass
from inarch.passes.lower.graph_to_loop import GraphToLoopPass
from inarch.passes.padding.drop_padding_taps import DropPaddingTapsPass
from inarch.passes.padding.join_rows import JoinRowsPass
from inarch.passes.padding.materialize_padding import MaterializePaddingPass
from inarch.passes.padding.unfold_windows import UnfoldWindowsPass

LOWERING: tuple[ModulePass, ...] = (
    GraphToLoopPass(),
    DropUnitIteratorsPass(),
    FuseNestsPass(),
    MaterializePaddingPass(),
    UnfoldWindowsPass(),
    DropPaddingTapsPass(),
    JoinRowsPass(),
)
