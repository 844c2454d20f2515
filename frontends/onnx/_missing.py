"""What to say of an operator that is not there: whether, and since when, ONNX has it, and what is near."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache

from inarch.frontends.onnx.ops import converters


def instead(name: str, domain: str, opset: int) -> str:
    """What helps who uses operator `name` of a domain (ONNX's own is `""`) in a version that lacks it.

    Empty where ONNX has the operator and only we lack it.
    """
    home = domain or "ai.onnx"
    versions = _versions(domain).get(name)
    if versions is None:
        near = get_close_matches(name, _known(domain), n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        return f"no operator of {home} that is known{hint}"
    before = [is_dropped for version, is_dropped in versions if version <= opset]
    if before and not before[-1]:
        return ""
    later = [version for version, is_dropped in versions if version > opset and not is_dropped]
    if later:
        return f"{home} has it from version {later[0]} on, and the model imports {opset}"
    dropped = next(version for version, is_dropped in versions if is_dropped)
    return f"{home} has dropped it in version {dropped}, and the model imports {opset}"


def _known(domain: str) -> list[str]:
    ours = [
        title.rpartition(".")[2] for title in converters() if title.rpartition(".")[0] == domain
    ]
    return sorted({*ours, *_versions(domain)})


@lru_cache(maxsize=8)
def _versions(domain: str) -> Mapping[str, list[tuple[int, bool]]]:
    """Of each operator that ONNX defines in a domain: its versions, ascending; True: dropped there."""
    from onnx.defs import get_all_schemas_with_history

    found: dict[str, list[tuple[int, bool]]] = {}
    for schema in get_all_schemas_with_history():
        if schema.domain == domain:
            found.setdefault(schema.name, []).append((schema.since_version, schema.deprecated))
    return {name: sorted(versions) for name, versions in found.items()}
