"""Which passes every compilation runs, by phase and in order: as names, of which a pipeline is made."""

from __future__ import annotations

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
        "keep-integers",
        "keep-packed",
        "decompose-quantized",
        "outline-bodies",
        "decompose-composites",
        "scale-last",
        "share-batches",
        "lower-precision",
        "keep-weights",
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
        "read-sources",
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
