"""`kernel.def`, a microkernel: its meaning, its operands, its implementation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr, SymbolNameConstraint, UnitAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    opt_prop_def,
    prop_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from inarch.core.dtypes import DType
from inarch.core.errors import InarchError
from inarch.dialects.loop.memory import BufferOp
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import is_supported, mlir_type, storage_type
from inarch.meaning import Meaning, accesses, free_sizes, operands, parse, ranks
from inarch.microkernel import call_holes

ACCESSES = ("read", "write", "update")
"""What a microkernel does with an operand: reads it, overwrites it, or reads and writes it."""


@irdl_attr_definition
class OperandAttr(ParametrizedAttribute):
    """`#kernel.operand<A : f32 read rank 2 align 64>`: an operand of a microkernel.

    `align` is the alignment in bytes that the code relies on, for the pointer of every call. What
    an operand may be is checked by `kernel.def`.
    """

    name = "kernel.operand"
    label: StringAttr
    dtype: Attribute
    access: StringAttr
    rank: IntAttr
    align: IntAttr

    @classmethod
    def get(cls, label: str, dtype: DType | str, access: str, rank: int, align: int) -> Self:
        """The operand called `label` in the meaning."""
        element = mlir_type(dtype)
        return cls(StringAttr(label), element, StringAttr(access), IntAttr(rank), IntAttr(align))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            label = parser.parse_identifier()
            parser.parse_punctuation(":")
            dtype = parser.parse_type()
            access = parser.parse_identifier()
            parser.parse_keyword("rank")
            rank = parser.parse_integer()
            parser.parse_keyword("align")
            align = parser.parse_integer()
        return [StringAttr(label), dtype, StringAttr(access), IntAttr(rank), IntAttr(align)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.label.data} : ")
            printer.print_attribute(self.dtype)
            numbers = f"rank {self.rank.data} align {self.align.data}"
            printer.print_string(f" {self.access.data} {numbers}")


@op_definition
class DefOp(BufferOp):
    """A microkernel: what it computes, on which operands, and the C function that does it.

        kernel.def @gemm_4x16 computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]"
            arguments [#kernel.operand<A : f32 read rank 2 align 4>, ...] needs ["avx512f"] source
            "..."

    `needs` are the CPU features that the code uses. `source` is C text that defines the function;
    `symbol` is the function's name where that is not the op's, or where a library defines it. `call` is
    the C statement that calls `symbol` where its prototype is another than that below, with `{A}`,
    `{A.strides[0]}` and `{K}` for what it takes, and `declare` the C that declares it. `library` (a
    file), `link` ("reference" or "embed"), `libraries` (names), `include_dirs`, `cflags`, `license` and
    `registered` (which stands instead of a function) and `ahead` are as in `inarch.microkernel.Microkernel`.
    `contract` stands where the C compiler may round a product and a sum of the source once.

    The C function returns nothing. It takes a pointer to the first element of every operand, in the
    order of `arguments` (`const` where it is only read); then, as `int64_t`, the strides of every
    operand in elements, operand by operand, outermost first; then, as `int64_t`, the sizes that are
    free in `computes` (names, not numbers), in the order in which it names them. The kernel above
    has the prototype

        void gemm_4x16(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1,
                       int64_t B_0, int64_t B_1, int64_t C_0, int64_t C_1, int64_t K);

    C1: `computes` is a meaning (`inarch.meaning`), of the operands of `arguments`. C2: operands have
    distinct names. C3: an operand has a supported dtype, which is signless where it is written, a known
    access, a rank >= 0, and an alignment that is a power of two. C4: the rank and the access of an operand
    are those in the meaning. C5: there is a source or a symbol, or else a registered name; none is empty.
    C6: features are not empty.
    C7: `call` and `library` are those of a symbol without a source; `call` names what the function takes;
    `link` is "reference" or "embed". C8: `ahead` is an operand that is read, of a source.
    """

    sym_name = prop_def(SymbolNameConstraint())
    computes = prop_def(StringAttr)
    arguments = prop_def(ArrayAttr[OperandAttr])
    needs = prop_def(ArrayAttr[StringAttr])
    source = opt_prop_def(StringAttr)
    symbol = opt_prop_def(StringAttr)
    call = opt_prop_def(StringAttr)
    declare = opt_prop_def(StringAttr)
    library = opt_prop_def(StringAttr)
    link = opt_prop_def(StringAttr)
    libraries = opt_prop_def(ArrayAttr[StringAttr])
    include_dirs = opt_prop_def(ArrayAttr[StringAttr])
    cflags = opt_prop_def(ArrayAttr[StringAttr])
    registered = opt_prop_def(StringAttr)
    license = opt_prop_def(StringAttr)
    ahead = opt_prop_def(StringAttr)
    contract = opt_prop_def(UnitAttr)
    traits = traits_def(SymbolOpInterface())
    assembly_format = (
        "$sym_name `computes` $computes `arguments` $arguments `needs` $needs "
        "(`source` $source^)? (`symbol` $symbol^)? (`call` $call^)? (`declare` $declare^)? "
        "(`library` $library^)? (`link` $link^)? (`libraries` $libraries^)? "
        "(`include_dirs` $include_dirs^)? (`cflags` $cflags^)? "
        "(`registered` $registered^)? (`license` $license^)? (`ahead` $ahead^)? "
        "(`contract` $contract^)? attr-dict"
    )

    def __init__(
        self,
        name: str,
        computes: str,
        arguments: Sequence[OperandAttr],
        needs: Sequence[str] = (),
        *,
        source: str | None = None,
        symbol: str | None = None,
        call: str | None = None,
        declare: str | None = None,
        library: str | None = None,
        link: str | None = None,
        libraries: Sequence[str] = (),
        include_dirs: Sequence[str] = (),
        cflags: Sequence[str] = (),
        registered: str | None = None,
        license: str | None = None,  # noqa: A002 - the field's word
        ahead: str | None = None,
        contract: bool = False,
    ) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "computes": StringAttr(computes),
                "arguments": ArrayAttr(arguments),
                "needs": ArrayAttr(StringAttr(feature) for feature in needs),
                "source": _string(source),
                "symbol": _string(symbol),
                "call": _string(call),
                "declare": _string(declare),
                "library": _string(library),
                "link": _string(link),
                "libraries": _strings(libraries),
                "include_dirs": _strings(include_dirs),
                "cflags": _strings(cflags),
                "registered": _string(registered),
                "license": _string(license),
                "ahead": _string(ahead),
                "contract": UnitAttr() if contract else None,
            }
        )

    @property
    def function(self) -> str:
        """The name of the C function."""
        return self.sym_name.data if self.symbol is None else self.symbol.data

    def verify_(self) -> None:
        names = [argument.label.data for argument in self.arguments]
        meaning = self._meaning(names)
        distinct = len(set(names)) == len(names)
        require(distinct, "C2", f"expected distinct operand names, found {', '.join(names)}")
        for argument in self.arguments:
            _check_operand(argument)
            _check_use(argument, meaning)
        texts = [t.data for t in (self.source, self.symbol, self.registered) if t is not None]
        given = bool(texts) and all(text.strip() for text in texts)
        require(given, "C5", "expected a source or a symbol that is not empty")
        require(all(need.data for need in self.needs), "C6", "expected features that are not empty")
        self._check_foreign(meaning)
        if self.ahead is not None:
            read = {each.label.data for each in self.arguments if each.access.data == "read"}
            fits = self.ahead.data in read and self.source is not None
            require(fits, "C8", f"expected an operand that a source reads, found {self.ahead.data}")

    def _meaning(self, names: Sequence[str]) -> Meaning:
        """C1."""
        try:
            meaning = parse(self.computes.data)
        except InarchError as error:
            raise VerifyException(f"C1: {error}") from error
        found = operands(meaning)
        missing = [name for name in names if name not in found]
        require(not missing, "C1", f"the meaning does not name operand {', '.join(missing)}")
        missing = [name for name in found if name not in names]
        require(
            not missing, "C1", f"expected operand {', '.join(missing)} of the meaning, found none"
        )
        return meaning

    def _check_foreign(self, meaning: Meaning) -> None:
        """C7."""
        foreign = self.call is None and self.library is None
        foreign = foreign or (self.symbol is not None and self.source is None)
        require(foreign, "C7", "expected a call or a library with a symbol and without a source")
        if self.call is not None:
            known = call_holes(ranks(meaning), free_sizes(meaning))
            for hole in re.findall(r"\{([^{}]*)\}", self.call.data):
                message = f"expected one of {', '.join(known)} in the call's braces, found '{hole}'"
                require(hole in known, "C7", message)
        link = "reference" if self.link is None else self.link.data
        known_link = link in ("reference", "embed")
        require(known_link, "C7", f'expected link "reference" or "embed", found "{link}"')


def _string(text: str | None) -> StringAttr | None:
    return None if text is None else StringAttr(text)


def _strings(texts: Sequence[str]) -> ArrayAttr[StringAttr] | None:
    return ArrayAttr(StringAttr(text) for text in texts) if texts else None


def _check_use(operand: OperandAttr, meaning: Meaning) -> None:
    """C4 of `kernel.def`."""
    name = operand.label.data
    rank, found = ranks(meaning)[name], operand.rank.data
    require(rank == found, "C4", f"expected operand {name} of rank {rank}, found {found}")
    access, given = accesses(meaning)[name], operand.access.data
    require(access == given, "C4", f"expected access {access} of operand {name}, found {given}")


def _check_operand(operand: OperandAttr) -> None:
    """C3 of `kernel.def`."""
    name, element = operand.label.data, operand.dtype
    access = operand.access.data
    supported = is_supported(element)
    require(supported, "C3", f"expected operand {name} of a supported dtype, found {element}")
    signless = access == "read" or storage_type(element) == element
    message = f"expected operand {name}, which is written, of a signless dtype, found {element}"
    require(signless, "C3", message)
    known = access in ACCESSES
    require(known, "C3", f"expected an access of {ACCESSES} of operand {name}, found '{access}'")
    rank, align = operand.rank.data, operand.align.data
    require(rank >= 0, "C3", f"expected operand {name} of rank >= 0, found {rank}")
    power = align > 0 and align & (align - 1) == 0
    message = f"expected operand {name} aligned to a power of two, found {align}"
    require(power, "C3", message)
