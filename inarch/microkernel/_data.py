"""The data of microkernels: a family, and a member of it. `inarch.microkernel` is the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from inarch.core.once import cached_property
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.meaning import Expression, Meaning, Size

Link = Literal["reference", "embed"]
Init = Literal["accumulate", "zero"]

_Size_co = TypeVar("_Size_co", int, Size, covariant=True)


@dataclass(frozen=True)
class AtLeast(Generic[_Size_co]):
    """A demand on a stride: `least` elements or more. Written `">= K"` in a layout."""

    least: _Size_co

    def __str__(self) -> str:
        return f"{self.least} or more"


Demand = Size | AtLeast[Size] | None
"""What a member relies on of a stride: a number or a formula of free sizes, a least one, or None: any."""
KnownDemand = int | AtLeast[int] | None
"""The same where the sizes are known."""


@dataclass(frozen=True)
class Microkernel:
    """A family of kernels of one meaning, one member for each choice of `params`.

    Pure data: passes look kernels up by name and never import them.
    """

    computes: str
    """The meaning; `inarch.meaning` has the grammar. Sizes that the call gives are 1 or more: nests
    without a point are not given to kernels."""
    dtypes: Mapping[str, str]
    """Operand -> dtype, in the order of the C function's pointers."""
    params: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Name -> the values that there is code for. Other names in sizes are given at the call."""
    where: Sequence[str] = ()
    """Constraints on parameters, as Python expressions of them, `VECTOR_BYTES` and `VECTOR_REGISTERS`."""
    layout: Mapping[str, Sequence[Size]] = field(default_factory=dict[str, Sequence[Size]])
    """Operand -> the strides in elements that the code relies on, by dimension: a number, an
    expression of parameters and sizes, `">= K"` for at least an expression's value, or `"*"` for any.
    No entry means any. A call whose operand has others packs a copy (at compile time, of weights).

    Any is 0 or more, never negative: rows may be one row, or overlap as those of a window do. BLAS
    takes neither: its leading dimension is at least the length of a row, also where there is one row
    only: `{"A": (">= K", 1), "B": (">= N", 1), "C": (">= N", 1)}`."""
    align: Mapping[str, int] = field(default_factory=dict[str, int])
    """Operand -> alignment in bytes of every pointer; without an entry that of the element."""
    needs: Sequence[str] = ()
    """CPU features, by GCC's names."""
    c: str | None = None
    """C source of the function; parameters stand in it by name (whole words are replaced), and so
    does the function's name; `ZERO_INIT` is 1 in instances that begin on zero, else 0."""
    asm: str | None = None
    """The same as assembly of GNU as, with `#`, `//` or `/* */` comments, not preprocessed."""
    generate: Callable[[Instance], str] | None = None
    """The same as Python: the C source for an instance."""
    symbol: str | None = None
    """The name of the function in `c`, `asm` or `library`; without one, the kernel's name."""
    call: str | None = None
    """C statement that calls `symbol` where its prototype is not ours. `{A}` is the pointer of an
    operand, `{A.strides[0]}` a stride of it, `{K}` a size or a parameter."""
    declare: str | None = None
    """C that declares `symbol` for `call`: an #include or a prototype."""
    library: str | None = None
    """The shared library (a path, or `python:package/relative/path*`), or a static one or object to embed."""
    link: Link = "reference"
    """`reference`: found at load time, a new build is picked up. `embed`: becomes part of the artifact."""
    registered: str | None = None
    """Instead of code: a name of the function registry (`inarch.runtime.registry`). Each call goes
    through an import slot of that name, on views of the operands: those that are read, then the
    written one."""
    include_dirs: Sequence[str] = ()
    libraries: Sequence[str] = ()
    cflags: Sequence[str] = ()
    contract: bool = True
    """Whether the C compiler may make one rounding of a product and a sum in the code, as it may in a kernel
    that sums products. Ours say where they mean that, as their epilogues are operators of the model."""
    adds_in_blocks: bool = False
    """Whether one call adds up any number of floats without losing digits: in blocks, and not in a chain."""
    flushes: bool = False
    """Whether denormals are 0 to the code: as operands, and as products and sums of floats. It is used only
    where a lower precision is asked for (`--precision`)."""
    epilogue: Sequence[str] = ()
    """Functions of `inarch.meaning` that `generate` accepts in `Instance.finish`; none: no epilogue."""
    inits: Sequence[Init] = ("accumulate",)
    """Variants of how an accumulating kernel begins: on what C holds, or on zero."""
    cost: Callable[[Instance], float] | float | None = None
    """Cycles of one call, by `params`, `sizes`, `init`, `target` and `machine` (`meaning` and `symbol` may
    be those of another member: many are weighed). None: calls are measured where that is possible,
    once on each machine, and else estimated by the meaning."""
    doc: str = ""
    ahead: str | None = None
    """An operand of which `generate` can prefetch what later calls read: it then also writes a function
    `<symbol>_ahead` with two parameters more, `const T *later` and `int64_t iterations`: so many calls
    together bring as many elements from `later` on as one of them reads of the operand, one behind the
    other."""
    license: str = ""
    """Of the code, and of what is embedded with it: an SPDX expression (`Apache-2.0`). Artifacts name it."""
    api: int = 1

    @cached_property
    def derived(self) -> dict[tuple[str, Target, Machine | None], Any]:
        """What follows from kernel, target and machine and takes long: kept as long as the kernel is."""
        return {}


@dataclass(frozen=True)
class Instance:
    """One member of a family: parameters, variants and target chosen."""

    kernel: Microkernel
    name: str
    """The kernel's name (its file's, with dashes)."""
    params: Mapping[str, int]
    sizes: Mapping[str, int]
    """Sizes known at compile time of the iterators that the call gives, where all calls agree."""
    init: Init
    finish: Expression | None
    """Of the accumulator (as the element `C[...]` of the written operand) and of `extras`."""
    extras: Mapping[str, str]
    """Operands that only `finish` reads (`E0`, `E1` ...) -> dtype; they follow the kernel's own pointers."""
    target: Target
    meaning: Meaning
    """Parameters bound, init and finish written out: what the C function computes, and is checked by."""
    symbol: str
    """The name of the C function."""
    machine: Machine
    """Who will run it: what `cost` asks, and how far ahead a generator prefetches."""
