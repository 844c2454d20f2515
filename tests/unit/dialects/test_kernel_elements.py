"""What a call of a microkernel touches is found once, and again where the call or the kernel has changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseArrayBase, StringAttr, i64
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from inarch.dialects import new_context
from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.ir.text import parse_module

TEXT = """kernel.def @copy computes "for m in M: C[m] = A[m]" arguments [
  #kernel.operand<A : f32 read rank 1 align 4>, #kernel.operand<C : f32 write rank 1 align 4>
] needs [] source "x"
func.func @f(%a: memref<16xf32>, %c: memref<16xf32>) {
  kernel.call @copy for (i in 2) (%a[i * 4] strides [1], %c[i * 4] strides [1]) sizes [4]
    : memref<16xf32>, memref<16xf32>
  func.return
}
"""


def _read() -> tuple[CallOp, DefOp]:
    module = parse_module(new_context(), TEXT)
    (call,) = [op for op in module.walk() if isinstance(op, CallOp)]
    (definition,) = [op for op in module.walk() if isinstance(op, DefOp)]
    return call, definition


def _starts_elsewhere(call: CallOp, _: DefOp) -> None:
    moved = AffineMapAttr(AffineMap.from_callable(lambda i: (i * 4 + 13,)))
    call.offsets = ArrayAttr([call.offsets.data[0], moved])


def _takes_more(call: CallOp, _: DefOp) -> None:
    call.sizes = DenseArrayBase.from_list(i64, [13])


def _means_another(_: CallOp, definition: DefOp) -> None:
    definition.computes = StringAttr("for m in M: C[m] = A[m + 9]")


def test_it_is_found_once() -> None:
    call, definition = _read()
    first = call.elements(definition)
    assert [form.span for forms in first for form in forms] == [(0, 7), (0, 7)]
    assert call.elements(definition) is first
    assert call.clone().elements(definition) == first


@pytest.mark.parametrize("change", [_starts_elsewhere, _takes_more, _means_another])
def test_what_has_changed_is_found_anew(change: Callable[[CallOp, DefOp], None]) -> None:
    call, definition = _read()
    symbols = {"copy": definition}
    before = call.elements(definition)
    call.verify_symbols(symbols)
    change(call, definition)
    assert call.elements(definition) != before
    assert call.elements(definition) == call.clone().elements(definition)
    with pytest.raises(VerifyException, match="C6"):
        call.verify_symbols(symbols)
