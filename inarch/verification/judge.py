"""The first fault in what a run left: a value that differs, a byte that was touched, or how it ended."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from inarch.core.lazy import Array, np
from inarch.verification.cases.cases import Case, Operand, offsets
from inarch.verification.cases.values import INFINITE
from inarch.verification.run.script import CALL_MILLISECONDS, Call, Outcome, Result
from inarch.verification.verdict import Fault

_REGISTERS = ("rsp", "rbx", "rbp", "r12", "r13", "r14", "r15", "the direction flag")
_KERNEL_SIGNAL = 128
"""Linux's SI_KERNEL: a general protection fault, which has no address."""
_NEAR = 1 << 20
"""An address this near to an operand belongs to it: what lies there cannot be touched."""


@dataclass(frozen=True)
class Finding:
    """What is wrong, and at which call; the rest as in `Verdict`."""

    fault: Fault
    message: str
    call: int
    operand: str | None = None
    element: tuple[int, ...] | None = None
    byte: int | None = None
    expected: float | None = None
    found: float | None = None


def judge(calls: Sequence[Call], outcome: Outcome) -> Finding | None:
    """The first fault, None without one. Calls that were finished are judged before the end."""
    finished = len(calls) if outcome.result is Result.FINISHED else outcome.call
    for number in range(max(finished, 0)):
        found = compare(calls[number].case, outcome.images[number], number)
        if found is not None:
            return found
    if outcome.result is Result.FINISHED:
        return None
    return _ended(calls, outcome)


def compare(case: Case, image: Array, number: int) -> Finding | None:
    """The written operand after a call against what it must be."""
    operand = case.operands[case.written]
    size = operand.image.itemsize
    gaps = ~operand.touched
    if gaps.any():
        before = operand.image[gaps].view(np.uint8)
        changed = before != image[gaps].view(np.uint8)
        if changed.any():
            place = int(np.flatnonzero(gaps)[int(np.flatnonzero(changed)[0]) // size])
            message = (
                f"wrote to the gap between elements of {operand.name}, "
                f"{place * size} bytes after its element 0"
            )
            return Finding("write-outside", message, number, operand.name, byte=place * size)
    return _compare_values(case, operand, image, number)


def _compare_values(case: Case, operand: Operand, image: Array, number: int) -> Finding | None:
    box, want = case.footprint, case.expected.at(case.footprint.touched)
    places = offsets(box, operand.strides)
    found, value, bound = image[places], want.value, want.bound
    right = want.accepts(found)
    if right.all():
        return None
    first = int(np.flatnonzero(~right)[0])
    element = tuple(int(axis[first]) for axis in box.indices)
    name = f"{operand.name}[{', '.join(map(str, element))}]"
    was = image[places[first]].tobytes() == operand.image[places[first]].tobytes()
    fault: Fault = "wrong-value" if bound[first] == 0 or case.kind in INFINITE else "inaccurate"
    message = f"{name}: expected {value[first]:.9g}, found {found[first]:.9g}"
    if fault == "inaccurate":
        off = abs(float(found[first]) - float(value[first]))
        message += f", off by {off:.3g} where rounding explains {bound[first]:.3g}"
        if not np.isfinite(off) or off > 1e3 * bound[first]:
            fault = "wrong-value"
    if was and operand.access == "write":
        fault = "unwritten"
        message = f"{name} was not written; expected {value[first]:.9g}"
    count = int((~right).sum())
    message += f" ({count} of {right.size} elements differ)" if right.size > 1 else ""
    return Finding(
        fault,
        message,
        number,
        operand.name,
        element,
        expected=float(value[first]),
        found=float(found[first]),
    )


def _ended(calls: Sequence[Call], outcome: Outcome) -> Finding:
    """Why the process ended before the last call did."""
    number = max(outcome.call, 0)
    case = calls[number].case
    operand = case.operands[min(outcome.operand, len(case.operands) - 1)]
    text = _runtime_error(outcome.output)
    if text is not None:
        return Finding("undefined-behaviour", text, number)
    if outcome.timed_out:
        return Finding("timeout", "the call did not return", number)
    if outcome.result is Result.WROTE_OUTSIDE:
        message = f"wrote {_distance(operand, outcome.offset)}"
        return Finding("write-outside", message, number, operand.name, byte=outcome.offset)
    if outcome.result is Result.WROTE_INPUT:
        return _input_written(operand, outcome.offset, number)
    if outcome.result is Result.LEAK:
        return Finding("leak", f"leaks {outcome.bytes} bytes a call", number)
    if outcome.result in _STATES:
        fault, message = _state(outcome)
        return Finding(fault, message, number)
    if outcome.result is Result.SANITIZER:
        return _sanitizer(case, outcome, number)
    if outcome.result is Result.SIGNALLED:
        return _signal(case, outcome, number)
    if outcome.result is Result.CANNOT_LOAD:
        return Finding("missing-symbol", outcome.text or "the library cannot be loaded", number)
    return _left(outcome, number)


_STATES = (Result.REGISTERS, Result.MXCSR, Result.X87, Result.ROUNDING)


def _state(outcome: Outcome) -> tuple[Fault, str]:
    """What a call left in registers that are not its own."""
    if outcome.result is Result.REGISTERS:
        names = [name for i, name in enumerate(_REGISTERS) if outcome.after >> i & 1]
        return "registers", f"did not restore {', '.join(names)}"
    if outcome.result is Result.MXCSR:
        return "float-mode", _mxcsr(outcome.before, outcome.after)
    if outcome.result is Result.ROUNDING:
        return "float-mode", "left another rounding mode"
    if outcome.after == outcome.before:
        return "float-mode", "left the x87 stack not empty (no emms after MMX?)"
    return "float-mode", f"left the x87 control word as {outcome.after:#x}, not {outcome.before:#x}"


def _left(outcome: Outcome, number: int) -> Finding:
    if outcome.status < 0:
        name = signal.Signals(-outcome.status).name
        return Finding("crash", f"the process was killed by {name}", number)
    if not outcome.in_kernel and outcome.result is Result.RUNNING:
        return Finding("exit", f"the process left with status {outcome.status}", number)
    return Finding("exit", f"called exit: the process left with status {outcome.status}", number)


def _signal(case: Case, outcome: Outcome, number: int) -> Finding:
    name = signal.Signals(outcome.signal).name
    if not outcome.in_kernel:
        message = f"damaged the memory of the process: {name} after a call"
        return Finding("memory-error", message, number)
    if outcome.signal == signal.SIGPROF:
        return Finding(
            "timeout",
            f"the call did not end within {CALL_MILLISECONDS / 1000:g} s of CPU time",
            number,
        )
    if outcome.signal == signal.SIGILL:
        return Finding(
            "illegal-instruction", f"{name}: an instruction that this CPU lacks, or a trap", number
        )
    if outcome.signal == signal.SIGABRT:
        reason = outcome.output.strip().splitlines()
        said = f": {reason[0][:200]}" if reason else ""
        return Finding("abort", f"called abort{said}", number)
    if outcome.signal in (signal.SIGSEGV, signal.SIGBUS):
        near = _operand_at(case, outcome)
        if near is not None:
            return _touched(case, near, outcome, number)
        if outcome.code == _KERNEL_SIGNAL:
            message = (
                "used an instruction that needs more alignment than its operand has; "
                "state it in `align`, or load unaligned"
            )
            return Finding("misaligned", message, number)
        if outcome.in_stack:
            return Finding("stack-overflow", "used more than 8 MiB of stack", number)
    return Finding("crash", f"{name} at address {outcome.address:#x}", number)


def _touched(case: Case, near: int, outcome: Outcome, number: int) -> Finding:
    operand = case.operands[near]
    offset = outcome.address - outcome.starts[near]
    inside = 0 <= offset < operand.image.nbytes
    if outcome.is_write and operand.access == "read" and inside:
        return _input_written(operand, offset, number)
    fault: Fault = "write-outside" if outcome.is_write else "read-outside"
    verb = "wrote" if outcome.is_write else "read"
    return Finding(fault, f"{verb} {_distance(operand, offset)}", number, operand.name, byte=offset)


def _input_written(operand: Operand, offset: int, number: int) -> Finding:
    message = f"wrote to {operand.name}, which is only read, {offset} bytes after its element 0"
    return Finding("writes-input", message, number, operand.name, byte=offset)


def _operand_at(case: Case, outcome: Outcome) -> int | None:
    """The operand that the address is nearest to."""
    distances = [
        max(start - outcome.address, outcome.address - start - operand.image.nbytes, 0)
        for start, operand in zip(outcome.starts, case.operands, strict=False)
    ]
    nearest = min(range(len(distances)), key=distances.__getitem__)
    return nearest if distances[nearest] < _NEAR else None


def _distance(operand: Operand, offset: int) -> str:
    """Where a byte lies, in words."""
    if offset < 0:
        return f"{-offset} bytes before the first byte of {operand.name}"
    return f"byte {offset} of {operand.name}, which has {operand.image.nbytes}"


def _sanitizer(case: Case, outcome: Outcome, number: int) -> Finding:
    near = _operand_at(case, outcome)
    if near is not None and outcome.text in ("heap-buffer-overflow", "use-after-poison"):
        return _touched(case, near, outcome, number)
    place = re.search(r"^\s*#0 .* in .*$", outcome.output, re.MULTILINE)
    # The folder is one that is gone.
    frame = re.sub(r"/\S*/", "", place[0].split(" in ", 1)[1].strip()) if place else ""
    where = f" in {frame}" if frame else ""
    verb = "write" if outcome.is_write else "read"
    sort = f", a {verb} of {outcome.bytes} bytes" if outcome.bytes > 0 else ""
    return Finding("memory-error", f"{outcome.text or 'memory error'}{sort}{where}", number)


def _runtime_error(output: str) -> str | None:
    """What UndefinedBehaviorSanitizer said: `gemm.c:7: signed integer overflow ...`."""
    match = re.search(r"^(.*?):(\d+):\d+: runtime error: (.*)$", output, re.MULTILINE)
    return None if match is None else f"{match[1]}:{match[2]}: {match[3]}"


def _mxcsr(before: int, after: int) -> str:
    """The control bits that differ (Intel SDM volume 1, 10.2.3)."""
    changed = before ^ after
    words: list[str] = []
    if changed & 0x8000:
        words.append("results that are denormal are flushed to 0 (FTZ)")
    if changed & 0x0040:
        words.append("denormal operands are taken as 0 (DAZ)")
    if changed & 0x6000:
        words.append("another rounding mode")
    if changed & 0x1F80:
        words.append("exceptions are unmasked")
    return f"left MXCSR as {after:#x}, not {before:#x}: {', '.join(words)}"
