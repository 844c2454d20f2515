"""The microkernels in `inarch explain`: which nest has which, at what cost, and why not another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from inarch.core.errors import unknown
from inarch.ir.location import parts_of

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from inarch.passes.partitioning import Selection
    from inarch.passes.tensorize.report import Choice, KernelReport, NestReport

NONE = "-"
LONGEST_LOCATION = 40
TEXT_COLUMNS = 4
AROUND = 0.01
"""The share of a nest's cycles around its calls that is worth a word."""


def kernels_of(
    context: Context,
    module: ModuleOp,
    host: str,
    backends: Sequence[str],
    give: Sequence[Selection],
    keep: Sequence[Selection],
) -> KernelReport:
    """What `compile` chooses for the host's part of an imported module, which is lowered by this.

    Raises InarchError where `compile` does: for a demanded kernel that does nothing.
    """
    from inarch.driver.compiler import kernel_report
    from inarch.driver.offload import declare_offloaded
    from inarch.passes.partitioning import partition_for

    if backends:
        partition_for(context, module, *backends, give=give, keep=keep)
        declare_offloaded(module)
    return kernel_report(context, module, host)


# ------------------------------------------------------------------------------------ words


def choice_text(choice: Choice) -> str:
    """`conv-f32 P2 Q7 NV2`."""
    return " ".join([choice.kernel, *_params(choice)])


def cycles_text(cycles: float) -> str:
    """`1.97M`, `15.0k`, `640`."""
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if cycles >= 0.9995 * unit:  # what rounds to 1000 of the smaller unit is 1 of this one
            value = cycles / unit
            return (f"{value:.0f}" if value >= 100 else f"{value:#.3g}") + suffix
    return f"{cycles:.0f}"


def why(nest: NestReport, report: KernelReport) -> str:
    """Why the choice of `nest` won, or what keeps the nearest kernel from it."""
    first, second = nest.taken, nest.runner_up
    if first is None:
        kernel = nest.nearest
        return "no kernels were tried" if kernel is None else f"{kernel}: {nest.misses[kernel]}"
    if nest.by_hand:
        return "by hand (use-kernel)"
    basis = "" if first.basis == "stated" else f"{first.basis}; "
    basis = "tuned; " if nest.is_tuned else basis
    if second is None:
        return f"{basis}the only candidate"
    return f"{basis}next {choice_text(second)}: {_basis_text(nest, second)}, {_won(nest, report)}"


def _basis_text(nest: NestReport, choice: Choice) -> str:
    """`1.97M`, `1.97M measured`: a cost, and how it is known where the kernel does not say."""
    basis = "" if choice.basis == "stated" else f" {choice.basis}"
    return f"{cycles_text(nest.in_all(choice).cost)}{basis}"


def _won(nest: NestReport, report: KernelReport) -> str:
    """What decided between the choice and the next best."""
    first, second = nest.taken, nest.runner_up
    assert first is not None
    assert second is not None
    first, second = nest.in_all(first), nest.in_all(second)
    if first.kernel != second.kernel and first.kernel in report.demanded:
        return f"{first.kernel} is demanded"
    if second.cost < first.cost and second.basis == "estimated":
        return f"{cycles_text(first.cost - second.cost)} less, which was not measured"
    if first.cost < second.cost:
        return _against(first.cost, second.cost)
    if first.scattered < second.scattered:
        return "as cheap, but more of its operands lie out of order"
    if (first.scattered, first.idle) < (second.scattered, second.idle):
        return "as cheap, but its iterators fit less well"
    return "as cheap, and found later"


def _against(first: float, second: float) -> str:
    """How much more the second takes."""
    if first == second:
        return "as cheap, and found later"
    if second < first:  # preferred for another reason
        return f"{cycles_text(first - second)} less"
    if not first or second >= 10 * first:
        return f"{cycles_text(second - first)} more"
    percent = 100 * (second / first - 1)
    return f"{percent:.1f} % more" if percent < 10 else f"{percent:.0f} % more"


def _params(choice: Choice) -> list[str]:
    return [f"{name}{value}" for name, value in choice.params.items()]


def _place(nest: NestReport) -> str:
    place = nest.location or f"@{nest.function}"
    return place if len(place) <= LONGEST_LOCATION else f"...{place[3 - LONGEST_LOCATION :]}"


def _iterations(nest: NestReport) -> str:
    return f" x {nest.iterations}" if nest.iterations > 1 else ""


def _share(cycles: float, total: float) -> str:
    return f"{100 * cycles / total:.1f} %" if total else NONE


# ------------------------------------------------------------------------------------ table


def table(report: KernelReport, *, every: bool) -> str:
    """One line a nest: where from, its kernel, parameters, cycles, share of all, and the next best.

    Cycles are those of a call: of all iterations of the loops around a nest (`x 12`).

    Nests of one place with one kernel share a line, which speaks of the dearest. Those that no kernel came
    near to are only counted. With `every`, each has its line, and below it the best of each other kernel,
    or why it does not fit.
    """
    total = report.cycles
    shown = [nest for nest in report.nests if every or _is_interesting(nest)]
    groups = [[nest] for nest in shown] if every else _groups(shown)
    rows = [("location", "kernel", "parameters", "copies", "cycles", "share")]
    rows += [_row(group, total) for group in groups]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    reasons = ["why", *(why(_dearest(group), report) for group in groups)]
    lines: list[str] = []
    for index, (row, reason) in enumerate(zip(rows, reasons, strict=True)):
        cells = [
            cell.ljust(width) if column < TEXT_COLUMNS else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"{'  '.join(cells)}  {reason}".rstrip())
        if every and index:
            lines += [f"    {line}" for line in _others(shown[index - 1])]
    return "\n".join([*lines, "", *summary(report, hidden=len(report.nests) - len(shown)), ""])


def summary(report: KernelReport, *, hidden: int = 0) -> list[str]:
    """`conv-f32: 52 of 140 nests, 91.2 % of the cycles`, a line a kernel; then what has none."""
    total, count = report.cycles, len(report.nests)
    lines: list[str] = []
    for name in report.kernels:
        own = report.taken_by(name)
        if own:
            cost = sum(nest.cycles for nest in own)
            share = f", {100 * cost / total:.1f} % of the cycles" if cost else ""
            lines.append(f"{name}: {len(own)} of {count} nests{share}")
        elif name in report.unusable:
            lines.append(f"{name}: unusable: {report.unusable[name]}")
        else:
            where, reason = report.idle_reason(name)
            between = f"; {report.between[name]}" if name in report.between else ""
            place = f"{where}: " if where else ""
            lines.append(f"{name}: 0 of {count} nests; {place}{reason}{between}")
    left = [nest for nest in report.nests if nest.taken is None]
    rest, cost = len(left), sum(nest.cycles for nest in left)
    share = f", {100 * cost / total:.1f} % of the cycles" if cost else ""
    more = f", {hidden} of them not shown (--all)" if hidden else ""
    return [*lines, f"no kernel: {rest} of {count} nests{share}{more}"]


def _is_interesting(nest: NestReport) -> bool:
    near = max(nest.progress.values(), default=0) > 1
    return nest.taken is not None or bool(nest.candidates) or nest.reduces or near


def _groups(nests: Sequence[NestReport]) -> list[list[NestReport]]:
    """Neighbours of one place whose kernel is the same: parts of what was one nest."""

    def key(nest: NestReport) -> tuple[str | None, str, str | None]:
        return nest.location, nest.function, nest.taken.kernel if nest.taken is not None else None

    return [list(group) for _, group in groupby(nests, key)]


def _dearest(group: Sequence[NestReport]) -> NestReport:
    return max(group, key=lambda nest: nest.cycles)


def _row(group: Sequence[NestReport], total: float) -> tuple[str, ...]:
    nest = _dearest(group)
    place = _place(nest) if len(group) == 1 else f"{_place(nest)} ({len(group)} nests)"
    place += _iterations(nest)
    first = nest.taken
    cycles = sum(each.cycles for each in group)
    share = _share(cycles, total)
    if first is None:
        return (place, NONE, "", "", cycles_text(cycles), share)
    choices = [each.taken for each in group if each.taken is not None]
    copied = ", ".join(
        dict.fromkeys(
            name for each in choices for name, _ in _copies(each) if name not in each.packed
        )
    )
    params = " ".join(_params(first))
    return (place, first.kernel, params, copied or NONE, cycles_text(cycles), share)


def _others(nest: NestReport) -> Iterator[str]:
    """For each other kernel its best candidate, or why it has none."""
    best: dict[str, Choice] = {}
    for choice in nest.candidates:
        best.setdefault(choice.kernel, choice)
    own = nest.taken.kernel if nest.taken is not None else None
    for choice in best.values():
        if choice.kernel != own:
            yield f"{choice_text(choice)}: {_basis_text(nest, choice)}"
    yield from (f"not {kernel}: {reason}" for kernel, reason in nest.misses.items())


# ------------------------------------------------------------------------------------ one nest


def at(report: KernelReport, location: str) -> list[NestReport]:
    """The nests that come from `location`, alone or fused with others.

    Raises UsageError when there is none.
    """
    found = [nest for nest in report.nests if location in places(nest)]
    if not found:
        raise unknown(
            "nest", location, {one for n in report.nests for one in places(n)}, within="--why"
        )
    return found


def places(nest: NestReport) -> tuple[str, ...]:
    """The location, and its parts when it is of several ops."""
    if nest.location is None:
        return ()
    return tuple(dict.fromkeys([nest.location, *parts_of(nest.location)]))


def everything(nest: NestReport, report: KernelReport) -> str:
    """All that is known of one nest, as text."""
    where = f"{nest.location} in " if nest.location else ""
    lines = [f"{where}@{nest.function}: {nest.iterators}"]
    if nest.taken is not None:
        share = _share(nest.cycles, report.cycles)
        said = f"{_cost(nest, nest.taken)}, {share} of all"
        lines.append(f"  kernel {choice_text(nest.taken)}: {said}")
        lines += [f"    {line}" for line in _details(nest.taken)]
        lines.append(f"    why: {why(nest, report)}")
    else:
        lines.append("  no kernel")
    if nest.computes:
        lines.append(f"  computes {nest.computes}")
    for choice in nest.candidates:
        if choice is not nest.taken:
            lines.append(f"  candidate {choice_text(choice)}: {_cost(nest, choice)}")
            lines += [f"    {line}" for line in _details(choice)]
    lines += [f"  not {kernel}: {reason}" for kernel, reason in nest.misses.items()]
    return "\n".join([*lines, ""])


def _cost(nest: NestReport, choice: Choice) -> str:
    """Of a call of the model, as all that is said of cycles."""
    own, around = nest.in_all(choice), ""
    if own.around > AROUND * own.cost:
        around = f", {cycles_text(own.around)} of them around the calls"
    iterations = f" ({nest.iterations} iterations)" if nest.iterations > 1 else ""
    return f"{cycles_text(own.cost)} cycles in {own.calls} calls{iterations}{around}"


def _details(choice: Choice) -> Iterator[str]:
    if choice.iterators:
        yield f"iterators: {choice.iterators}"
    if choice.basis != "stated":
        known = (f"{cycles_text(cycles)} {basis}" for basis, cycles in choice.call.items())
        yield f"a call: {', '.join(known)}; the kernel states no cost"
    for name, reason in _copies(choice):
        yield f"{'packs' if name in choice.packed else 'copies'} {name}: {reason}"


def _copies(choice: Choice) -> Iterator[tuple[str, str]]:
    """The operands that are copied, and why."""
    for copy in choice.copies:
        name, _, reason = copy.partition(": ")
        yield name, reason


# ------------------------------------------------------------------------------------ JSON and page


def facts(report: KernelReport) -> dict[str, Any]:
    """The field `kernels` of the JSON: the report, with `cycles` of all, and `why` of each nest."""
    found = report.to_json()
    for nest, entry in zip(report.nests, found["nests"], strict=True):
        entry["why"] = why(nest, report)
        entry["cycles"] = nest.cycles
    return {**found, "cycles": report.cycles}


def box_facts(report: KernelReport, location: str) -> tuple[str, tuple[str, ...]]:
    """What the box of an op at `location` says: its first kernel's name, and what and why, by nest."""
    total = report.cycles
    nests = [n for n in report.nests if location in places(n) and _is_interesting(n)]
    lines: list[str] = []
    for nest in nests:
        if nest.taken is not None:
            said = f"{_cost(nest, nest.taken)}, {_share(nest.cycles, total)} of all"
            lines.append(f"{choice_text(nest.taken)}: {said}")
            lines.append(why(nest, report))
        else:
            lines.append(f"no kernel for {nest.iterators}")
        lines += _others(nest)
    names = [nest.taken.kernel for nest in nests if nest.taken is not None]
    return next(iter(names), ""), tuple(dict.fromkeys(lines))
