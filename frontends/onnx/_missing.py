"""What to say of an operator that is not there: whether, and since when, ONNX has it, and what is near."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

from inarch.frontends.onnx._check import schema_of
from inarch.frontends.onnx._functions import Key, has_body, key_of
from inarch.frontends.onnx.control import CONTROL
from inarch.frontends.onnx.ops import converters
from inarch.frontends.report import Unsupported

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto


LISTED = (
    "; 'inarch list onnx-operators' has those that are there, docs/extending.md how one is added"
)


def missing(
    graph: GraphProto, opsets: Mapping[str, int], functions: Mapping[Key, FunctionProto]
) -> Unsupported:
    """The operators of a graph that are not there, whatever its sizes are; those of its subgraphs, too."""
    report, pending = Unsupported(), [graph]
    while pending:
        for node in pending.pop().node:
            pending.extend(each for a in node.attribute for each in (a.g, *a.graphs))
            domain, name, _ = key = key_of(node, node.op_type)
            title = f"{domain}.{name}" if domain else name
            known = title in converters() or (not domain and name in CONTROL)
            if known or key in functions or domain not in opsets:
                continue
            schema = schema_of(node, opsets[domain])
            if schema is None or schema.deprecated or not has_body(schema):
                label = node.name or next((out for out in node.output if out), name)
                report.add(title, label, advice=instead(name, domain, opsets[domain]))
    return report


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
