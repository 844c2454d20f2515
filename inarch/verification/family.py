"""The instances of a family that a check makes: parameters, inits and epilogues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from inarch.core.errors import InarchError, UsageError, unknown
from inarch.machine.target import Target, check_features
from inarch.meaning import Apply, Element, Expression, Number, normal
from inarch.microkernel import Instance, Microkernel, check, instantiate, members
from inarch.verification.check import describe, lacks, verify
from inarch.verification.verdict import Verdict

FEW = 12
"""So many members are checked when not all are asked for: the first, the last, and some between."""


def verify_family(
    kernel: Microkernel,
    name: str,
    target: Target,
    *,
    params: Mapping[str, int] | None = None,
    every: bool = False,
    quick: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Verdict]:
    """The verdict of each of `instances(kernel, name, target, params=params, every=every)`.

    A declaration that is wrong, or a CPU that lacks something, is one verdict.
    `progress(what, done, total)` is called before each instance. Raises UsageError for parameters
    that the family does not have.
    """
    for parameter in params or {}:
        if parameter not in kernel.params:
            raise unknown("parameter", parameter, kernel.params, within=f"microkernel '{name}'")
    if missing := check_features({*target.features, *kernel.needs}):
        message = lacks(missing)
        return [Verdict(name, "", ok=False, fault="lacks-feature", message=message)]
    try:
        chosen = instances(kernel, name, target, params=params, every=every)
    except UsageError:
        raise
    except InarchError as error:
        message = str(error).removeprefix(f"microkernel '{name}': ")
        return [Verdict(name, "", ok=False, fault="bad-declaration", message=message)]
    found: list[Verdict] = []
    for number, instance in enumerate(chosen):
        if progress is not None:
            progress(f"{name} {describe(instance)}", number, len(chosen))
        found.append(verify(instance, quick=quick))
    return found


def instances(
    kernel: Microkernel,
    name: str,
    target: Target,
    *,
    params: Mapping[str, int] | None = None,
    every: bool = False,
) -> list[Instance]:
    """The instances of `kernel` for `target` whose parameters are `params` where those say.

    `every`: all members with all inits and epilogues; else at most `FEW` members with all inits, and
    an epilogue each. Raises InarchError where the declaration is wrong, UsageError where no member has
    such parameters.
    """
    meaning = check(kernel, name)
    wanted = dict(params or {})
    family = members(kernel, target)
    if not family:
        raise InarchError(
            f"no member meets its constraints for target '{target}'", where=f"microkernel '{name}'"
        )
    found = [one for one in family if wanted.items() <= one.items()]
    if not found:
        raise _no_member(name, target, wanted, family)
    if not every:
        found = _few(found)
    finishes = list(_finishes(kernel, normal(meaning).target)) if kernel.epilogue else []
    made: list[Instance] = []
    for number, one in enumerate(found):
        chosen = finishes if every else finishes[number % max(len(finishes), 1) :][:1]
        for finish, extras in [(None, {}), *chosen]:
            made += [
                instantiate(
                    kernel, name, one, target=target, init=init, finish=finish, extras=extras
                )
                for init in kernel.inits
            ]
    return made


def _no_member(
    name: str, target: Target, wanted: Mapping[str, int], family: Sequence[Mapping[str, int]]
) -> UsageError:
    said = " ".join(f"{key}={value}" for key, value in wanted.items())
    there = {key: sorted({one[key] for one in family}) for key in wanted}
    known = "; ".join(f"{key}: {', '.join(map(str, values))}" for key, values in there.items())
    return UsageError(
        f"microkernel '{name}' has no member with {said} for target '{target}'. Known: {known}"
    )


def _few(found: Sequence[dict[str, int]]) -> list[dict[str, int]]:
    """The first, the last, and evenly from between."""
    if len(found) <= FEW:
        return list(found)
    return [found[i * (len(found) - 1) // (FEW - 1)] for i in range(FEW)]


def _finishes(kernel: Microkernel, target: Element) -> Iterator[tuple[Expression, dict[str, str]]]:
    """Epilogues of the functions that the kernel accepts, and what operands they add."""
    dtype = kernel.dtypes[target.operand]
    bias = Element("E0", target.indices[-1:])
    residual = Element("E0", target.indices)
    accepted = set(kernel.epilogue)
    activation: Apply | None = None
    for function in kernel.epilogue:
        if function in ("add", "sub", "mul", "div"):
            yield Apply(function, (target, bias)), {"E0": dtype}
        elif function in ("max", "min"):
            yield Apply(function, (target, Number(0.0 if function == "max" else 6.0))), {}
        else:
            yield Apply(function, (target,)), {}
    if "relu" in accepted:
        activation = Apply("relu", (target,))
    elif "max" in accepted:
        activation = Apply("max", (target, Number(0.0)))
    if "add" in accepted and activation is not None:
        for other in (bias, residual):
            total = Apply("add", (target, other))
            yield Apply(activation.function, (total, *activation.arguments[1:])), {"E0": dtype}
