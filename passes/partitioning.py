"""Giving parts of a program to backends: one call, and the report of what it did.

    report = partition_for(context, module, "my_dsp", "my_gpu")     # rewrites the module
    report = explain(context, module, ("my_dsp",))                  # only says what it would do

The four passes are in `inarch/passes/partition/`; docs/backends-reference.md has what each
leaves in the program.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.ir.context import store_of
from inarch.passes.partition.annotate import annotate
from inarch.passes.partition.by_hand import Selection, parse_selection
from inarch.passes.partition.common import check_registered
from inarch.passes.partition.merge_composites import merge_composites
from inarch.passes.partition.merge_regions import merge_regions
from inarch.passes.partition.partition import partition
from inarch.passes.partition.report import HOST, OpReport, PartitionReport, Recorder
from inarch.passes.partition.verify import check_partition

__all__ = [
    "HOST",
    "OpReport",
    "PartitionReport",
    "Selection",
    "check_partition",
    "check_registered",
    "explain",
    "parse_selection",
    "partition_for",
]


def partition_for(
    context: Context,
    module: ModuleOp,
    *backends: str,
    give: Sequence[Selection] = (),
    keep: Sequence[Selection] = (),
    symbol_prefix: str = "",
) -> PartitionReport:
    """Moves what the backends take into functions of theirs; says who got what, and why not.

    The first backend is preferred; one may be an instance with options, `big=npu:array=32`. `give` and
    `keep` are `(selector, backend)` pairs: an op's name (`conv`) or a glob on where ops come
    from (`layer1/*`). Raises UsageError for a name that nothing has,
    InarchError at an op that was given to a backend that cannot take it.
    """
    recorder = Recorder(counts=True)
    annotate(context, module, backends, give, keep, recorder)
    merge_composites(context, module)
    merge_regions(context, module, recorder)
    partition(context, module, symbol_prefix)
    return recorder.finish()


def explain(
    context: Context,
    module: ModuleOp,
    backends: Sequence[str],
    *,
    give: Sequence[Selection] = (),
    keep: Sequence[Selection] = (),
) -> PartitionReport:
    """What `partition_for` would do and why; `module` and its constants stay as they are."""
    with _constants_kept(context):
        return partition_for(context, module.clone(), *backends, give=give, keep=keep)


@contextmanager
def _constants_kept(context: Context) -> Generator[None]:
    """The store has the same constants after the block as before: passes drop what they replace."""
    store = store_of(context)
    before = {key: store.get(key) for key in store.keys()}  # noqa: SIM118 - not a mapping
    try:
        yield
    finally:
        for key in set(store.keys()) - set(before):
            store.drop(key)
        for key, data in before.items():
            store.set(key, data)
