"""Pipelines as `-p` takes them."""

from __future__ import annotations

from inarch.fuzz import Parser
from inarch.pipeline.text import parse_pipeline

_SEEDS = [
    b"canonicalize,cse,dce",
    b"builtin.module(func.func(cse),any(dce)),prepare,mine(dce{},cse)",
    b"compile",
    b"fold-constants,simplify-graph,choose-layout,graph-to-loop",
    b"schedule-nests{target=generic},outline-nests,plan-memory",
    b"tensorize{target=x86-64-v4 microkernels=gemm-f32},outline-nests",
    b'apply-pdl{pdl_file="rules.mlir"},scf-for-loop-unroll',
    b'annotate{backends=cblas,ccompiler keep=a give="b=c"},merge-composites,partition',
    b"test-lower-linalg-to-snitch{a=1 b=2.5 c=true},linalg-generalize-named-ops",
    (
        b"convert-stencil-to-ll-mlir,stencil-tensorize-z-dimension,"
        b"distribute-stencil{strategy=2d-grid slices=1,2}"
    ),
]


def check(data: bytes) -> None:
    """Reads `data`; what is read is written as what is read again."""
    passes = parse_pipeline(data.decode("utf-8", "replace"))
    assert parse_pipeline(str(passes)) == passes, "its text means something else"


PARSER = Parser(lambda: _SEEDS, check, located=False, words=[b"{}", b"true", b"a-b", b"=,", b'""'])
