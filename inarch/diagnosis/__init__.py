"""Why a compiled model is wrong: which op, which pass, which kernel, which compiled function.

`verify_model` compares every intermediate value of a model with the definitions of its ops
(`inarch.testing`), each region of a backend alone, and its outputs as it is really compiled. Where
something differs, `locate` cuts the program down to the fewest ops that still differ, and looks for the
first pass whose output means something else, or else for the function of which the host made something
else. What is found is written as a folder that fails by itself (`reproducer`).
"""

from __future__ import annotations

from inarch.diagnosis.compare import Crash, Difference
from inarch.diagnosis.locate import FaultPlace
from inarch.diagnosis.regions.tried import RegionVerdict
from inarch.diagnosis.verify import (
    ModelVerdict,
    VerifyOptions,
    verify_model,
    verify_region,
    write_regions,
)

__all__ = [
    "Crash",
    "Difference",
    "FaultPlace",
    "ModelVerdict",
    "RegionVerdict",
    "VerifyOptions",
    "verify_model",
    "verify_region",
    "write_regions",
]
