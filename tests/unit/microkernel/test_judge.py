"""The judge of a kernel's numbers: what rounding explains is accepted, and twice that is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inarch.core.lazy import Array, np
from inarch.dialects.kernel.body import body_of
from inarch.machine.target import native
from inarch.meaning import Number, parse
from inarch.microkernel import Microkernel, instantiate
from inarch.passes.tensorize.unify.body import unify
from inarch.verification.cases.cases import Case, cases, offsets
from inarch.verification.judge import compare

GEMM = Microkernel(
    "for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]",
    {"A": "f32", "B": "f32", "C": "f32"},
    {"MR": (2,), "NR": (4,)},
    c="void gemm(void) {}",
)
INSTANCE = instantiate(GEMM, "gemm", {"MR": 2, "NR": 4}, target=native())


def made(kind: str) -> Case:
    """A call of three rows or more of terms, on numbers of a kind."""
    return next(c for c in cases(INSTANCE, quick=True) if c.kind == kind and c.sizes["K"] > 2)


def image_off_by(case: Case, factor: float) -> Array:
    """What a kernel leaves that is off by so many bounds, everywhere."""
    operand = case.operands[case.written]
    places = offsets(case.footprint, operand.strides)
    want = case.expected
    image = operand.image.copy()
    value = np.asarray(want.value, np.float64)[case.footprint.touched]
    image[places] = value + factor * want.bound[case.footprint.touched]
    return image


@pytest.mark.parametrize("sign", [1, -1])
def test_a_result_within_its_bound_is_accepted_and_one_outside_is_not(sign: int) -> None:
    case = made("reals")
    assert compare(case, image_off_by(case, sign * 0.8), 0) is None
    finding = compare(case, image_off_by(case, sign * 1.5), 0)
    assert finding is not None
    assert finding.fault == "inaccurate"
    assert "where rounding explains" in finding.message


def test_whole_numbers_must_be_exact() -> None:
    case = made("integers")
    operand = case.operands[case.written]
    assert compare(case, image_off_by(case, 0.0), 0) is None
    image = image_off_by(case, 0.0)
    place = int(offsets(case.footprint, operand.strides)[0])
    image[place] = np.nextafter(image[place], np.float32(np.inf))
    finding = compare(case, image, 0)
    assert finding is not None
    assert finding.fault == "wrong-value"


def test_where_nan_must_come_out_a_number_is_wrong() -> None:
    case = made("reals")
    image = image_off_by(case, 0.0)
    wanted = np.array(case.expected.value)
    wanted[tuple(axis[0] for axis in case.footprint.indices)] = np.nan
    other = replace(case, expected=replace(case.expected, value=wanted, center=wanted))
    finding = compare(other, image, 0)
    assert finding is not None
    assert finding.element is not None
    assert finding.message.startswith("C[0, 0]: expected nan")


def test_a_gap_between_elements_must_stay_as_it_was() -> None:
    case = next(c for c in cases(INSTANCE, quick=True) if not c.operands[c.written].touched.all())
    operand = case.operands[case.written]
    image = image_off_by(case, 0.0)
    gap = int(np.flatnonzero(~operand.touched)[-1])
    image[gap : gap + 1].view(np.uint32)[...] ^= 1
    finding = compare(case, image, 0)
    assert finding is not None
    assert finding.fault == "write-outside"
    assert finding.byte == 4 * gap


@pytest.mark.parametrize(
    ("meant", "found", "is_one"),
    [
        (0.0, 0.0, True),
        (0.0, -0.0, False),
        (-0.0, 0.0, False),
        (-0.0, -0.0, True),
        (1.0, 2.0, False),
    ],
)
def test_the_sign_of_zero_is_part_of_a_number(meant: float, found: float, *, is_one: bool) -> None:
    """A kernel that adds 0 is not one that adds -0: of -0 they make 0 and -0."""
    one, other = (body_of(Number(value), {}, "f32") for value in (meant, found))
    assert bool(list(unify(one, other.result, 0))) == is_one


@pytest.mark.parametrize(
    ("meant", "found"), [("A * B", "rounded(A * B)"), ("rounded(A * B)", "A * B")]
)
def test_a_product_that_rounds_by_itself_is_no_other(meant: str, found: str) -> None:
    """A kernel that adds a product with one rounding is not one that rounds it before."""
    one, other, same = (
        body_of(parse(f"for i in N: C[i] = {text.replace('A', 'A[i]').replace('B', 'B[i]')}")
                .statements[0].value, {"A": "f32", "B": "f32"}, "f32")
        for text in (meant, found, meant)
    )  # fmt: skip
    assert list(unify(one, same.result, 2))
    assert not list(unify(one, other.result, 2))
