"""Models that leave sizes open: what one takes and gives, for whoever knows the sizes later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from inarch.core.dtypes import DType
from inarch.core.errors import InarchError

Dim: TypeAlias = "int | str"
"""A size, or the name of one."""


@dataclass(frozen=True, repr=False)
class OpenPort:
    """An input or an output as the model declares it: of names in place of sizes that it leaves open."""

    name: str
    dtype: DType | None
    """None where it is no tensor, or of a dtype that there is not."""
    shape: tuple[Dim, ...] | None
    """None where not even the rank is known."""

    def __str__(self) -> str:
        dtype = self.dtype.name if self.dtype is not None else "?"
        shape = "*" if self.shape is None else ", ".join(map(str, self.shape))
        return f"{self.name}: {dtype}[{shape}]"

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True)
class Interface:
    """What a model takes and gives, in order."""

    inputs: Sequence[OpenPort]
    outputs: Sequence[OpenPort]
    defaults: Sequence[OpenPort] = ()
    """Inputs that have a value of their own, which is taken where none is given; not among `inputs`."""
    digest: str = ""
    """Of all that a model in memory is; empty where some of it is in files."""


class OpenSizesError(InarchError):
    """A model leaves sizes open that were not given."""
