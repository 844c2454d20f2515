"""The instances of a backend whose options are at an end of their range, one option at a time."""

from __future__ import annotations

from inarch.core.errors import InarchError
from inarch.offload.backend import Instance
from inarch.offload.option import Option, Value


def at_their_ends(instance: Instance) -> list[str]:
    """As texts, as `--backend` takes them; what is the instance itself is not among them."""
    found: list[str] = []
    known = instance.backend.declared()
    for name, option in known.items():
        for end in ends_of(option):
            wish = {**dict(instance.given), name: end}
            try:
                one = Instance.of(instance.backend, instance.name, wish)
            except InarchError as error:
                message = f"option '{name}' does not take an end of its own range: {error}"
                raise InarchError(message) from error
            if one != instance and str(one) not in found:
                found.append(str(one))
    return found


def ends_of(option: Option) -> list[Value]:
    """Both ends of a range, all values of a list, true and false; without a range, its default."""
    if option.kind == "bool":
        return [True, False]
    if not isinstance(option.range, str):
        return list(option.range)
    ends = [end for end in option.range.partition("..")[::2] if end]
    return [*ends] if ends else [option.default]
