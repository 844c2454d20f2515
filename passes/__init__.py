"""What happens to programs: the passes, one module each, in the folder of their level.

`passes/<level>/<verb>_<noun>.py` that defines `PASS` is the pass `<verb>-<noun>` of `inarch-opt -p`;
its lit test is `tests/lit/passes/<level>/<verb>-<noun>.mlir`. Nothing else is edited. Imports only the
core and dialects: a pass looks backends and kernels up by name. `inarch-opt --list-passes` shows them.
"""

from __future__ import annotations

from xdsl.passes import ModulePass

from inarch.core.plugins import Extensions

PASSES: Extensions[type[ModulePass]] = Extensions(
    "inarch.passes", "PASS", in_rooms=True, more=("inarch.driver.passes",)
)
