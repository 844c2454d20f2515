"""Each region of a backend alone, on what enters it in the model: compared, cut down, written as a folder."""

from __future__ import annotations

from inarch.diagnosis.regions.folder import dump_regions, read_region
from inarch.diagnosis.regions.found import (
    Region,
    partitioned,
    regions_of,
    tolerances_of_network,
)
from inarch.diagnosis.regions.tried import RegionVerdict, check_region

__all__ = [
    "Region",
    "RegionVerdict",
    "check_region",
    "dump_regions",
    "partitioned",
    "read_region",
    "regions_of",
    "tolerances_of_network",
]
