"""What each op does, one small executable definition an op, one file a family.

A file here states `DEFINITIONS`: op class -> `definition(op, frame)`, which reads the op's operands from the
frame, and sets its results. It is found by being here. Entry points in the group `inarch.definitions.ops`
add those of other dialects. Definitions compute with `inarch.definitions.elements`, so that each of them
gives numbers, and bounds of numbers.
"""

from __future__ import annotations
