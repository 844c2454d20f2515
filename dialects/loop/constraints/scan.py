"""C9 of `loop.nest`: what may stand beside a scan iterator, and what an output needs over which it scans.

A scan is a reduction in its order whose accumulator is written at each of its points. There is one chain a
point of the parallel iterators: hence one scan iterator, and no reduction. The chain starts at a number,
since an element of the output, which is another one at each point, could not say where; and every point
counts for those that follow, also one that `clip` would drop. An output that is written at indices which
are read (C12) has no chain: its points meet in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from inarch.dialects.loop.access import IteratorAttr, WriteAttr, number_of
from inarch.ir.require import require


def check_scan(iterators: Sequence[IteratorAttr], writes: Sequence[WriteAttr]) -> None:
    """C9. Raises VerifyException."""
    scans = [iterator for iterator in iterators if iterator.is_scan]
    if not scans:
        return
    names = ", ".join(iterator.label.data for iterator in scans)
    require(len(scans) == 1, "C9", f"expected one scan iterator at most, found {names}")
    mode = scans[0].mode.data
    require(mode == "serial", "C9", f"expected a serial scan iterator, found {names} {mode}")
    reductions = ", ".join(iterator.label.data for iterator in iterators if iterator.is_reduction)
    message = f"expected no reduction beside the scan iterator {names}, found {reductions}"
    require(not reductions, "C9", message)
    for position, write in enumerate(writes):
        if write.is_indirect:
            continue
        message = f"expected an init of output {position}, over which {names} scans, found none"
        require(number_of(write.init) is not None, "C9", message)
        message = f"expected output {position}, over which {names} scans, not to clip"
        require(not write.clips, "C9", message)
