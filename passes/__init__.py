"""What happens to programs: the passes, one module each, in the folder of their level.

`passes/<level>/<verb>_<noun>.py` with the class `<Verb><Noun>Pass`, or a `PASS`, is `-p <verb>-<noun>`;
its lit test is `tests/lit/passes/<level>/<verb>-<noun>.mlir`. Nothing else is edited. Imports only the
core and dialects: a pass looks backends and kernels up by name. `inarch-opt --list-passes` shows them.
"""

from __future__ import annotations

from xdsl.passes import ModulePass

from inarch.core.plugins import Extensions

PASSES: Extensions[type[ModulePass]] = Extensions(
    "inarch.passes",
    "PASS",
    in_rooms=True,
    more=("inarch.driver.passes",),
    class_suffix="Pass",
)
