"""The pipeline of every compilation, as data: from a model to a planned module, from which C is emitted."""

from __future__ import annotations

from inarch.pipeline.pipeline import Phase, Pipeline
from inarch.pipeline.registry import find_pass

PHASES = {
    # What backends see: composites are whole.
    "prepare": (
        "inline-calls",
        "unroll-scans",
        "fold-constants",
        "simplify-graph",
        "fold-batch-norm",
    ),
    # Backends take their parts, and emit them.
    "offload": ("annotate", "merge-composites", "merge-regions", "partition", "emit-offloaded"),
    "graph": (
        "try-kernels",
        "decompose-quantized",
        "outline-bodies",
        "decompose-composites",
        "scale-last",
        "share-batches",
        "fold-constants",
        "gather-first",
        "simplify-graph",
        "choose-layout",
        "choose-algorithm",
        "outline-layers",
    ),
    "loop": (
        "graph-to-loop",
        "drop-unit-iterators",
        "fold-scalars",
        "rematerialize",
        "fuse-nests",
        "normalize-last",
        "apply-schedule",
        "tile-and-fuse",
    ),
    "padding": (
        "narrow-factors",
        "materialize-padding",
        "unfold-windows",
        "split-padding",
        "drop-padding-taps",
        "split-dilation",
        "join-rows",
        "pad-planes",
    ),
    "kernel": ("tensorize",),
    "schedule": (
        "schedule-nests",
        "drop-unit-iterators",
        "inline-layers",
        "fold-copies",
        "fold-packs",
        "block-calls",
        "sink-packs",
        "parallelize",
    ),
    "memory": (
        "update-in-place",
        "inline-bodies",
        "hoist-invariants",
        "outline-nests",
        "plan-memory",
    ),
}
"""Phase -> the names of its passes, in order."""


def default_pipeline() -> Pipeline:
    """Every phase with our passes, without options; those of others are not in it (`placed`)."""
    return Pipeline(
        tuple(
            Phase(phase, tuple(find_pass(name)() for name in names))
            for phase, names in PHASES.items()
        )
    )
