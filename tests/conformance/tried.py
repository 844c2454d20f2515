"""Which versions and dtypes of an operator compile, by trying each pair: docs/tables/operators.md.

The models are the cases of ONNX's suite that have one node, made over for the version and the dtype: its
opset is imported, the inputs of the type of the first one get the dtype, and what is an attribute in that
version is one. A pair is there where a model of it is read and lowered to loops; of which none can be made
is not there.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnx
from suite import FIRST_OPSET, Case, cases

from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.driver.compiler import lower
from inarch.frontends import Sizes
from inarch.frontends.onnx import import_onnx

MOST_TRIES = 6
"""Models that are tried for a pair."""

NAMES = {
    "tensor(float)": "f32",
    "tensor(double)": "f64",
    **{f"tensor(int{bits})": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"tensor(uint{bits})": f"ui{bits}" for bits in (8, 16, 32, 64)},
    "tensor(bool)": "i1",
}
"""ONNX's dtypes that Inarch has, in the order in which the page lists them."""

_KINDS = {
    name: onnx.TensorProto.DataType.Value(name[len("tensor(") : -1].upper()) for name in NAMES
}

Schema = onnx.defs.OpSchema


def examples() -> dict[str, list[Case]]:
    """By `domain.Name`, the cases that are that operator alone."""
    found: dict[str, list[Case]] = {}
    for case in cases():
        if case.category != "node":
            continue
        nodes = case.model().graph.node
        if len(nodes) == 1:
            domain = _domain(nodes[0].domain)
            title = f"{domain}.{nodes[0].op_type}" if domain else nodes[0].op_type
            found.setdefault(title, []).append(case)
    return found


def opsets(versions: Sequence[Schema]) -> dict[int, int]:
    """Of each version that any opset from the first on has, that opset."""
    found: dict[int, int] = {}
    for one, later in zip(versions, [*versions[1:], None], strict=True):
        opset = max(one.since_version, FIRST_OPSET if not one.domain else 1)
        if later is None or opset < later.since_version:
            found[one.since_version] = opset
    return found


def compiled(versions: Sequence[Schema], given: Iterable[Case]) -> dict[int, list[str]]:
    """By version, the dtypes of the first input with which a model compiles; none of those without any."""
    tried = list(given)
    by_version = {one.since_version: one for one in versions}
    found: dict[int, list[str]] = {}
    for version, opset in opsets(versions).items():
        schema = by_version[version]
        kinds: set[str] = set(map(str, schema.inputs[0].types)) if schema.inputs else set()
        names = [
            name
            for kind, name in NAMES.items()
            if kind in kinds
            and any(_compiles(model) for model in _models(schema, opset, tried, kind))
        ]
        if names:
            found[version] = names
    return found


def _models(
    schema: Schema, opset: int, given: Sequence[Case], kind: str
) -> Iterator[tuple[onnx.ModelProto, Mapping[str, Any]]]:
    """Models of one version and dtype, with the values of the inputs that are not of it."""
    made = 0
    for case in given:
        found = _made_over(case, schema, opset, kind)
        if found is not None:
            yield found
            made += 1
        if made == MOST_TRIES:
            return


def _made_over(
    case: Case, schema: Schema, opset: int, kind: str
) -> tuple[onnx.ModelProto, Mapping[str, Any]] | None:
    model = onnx.ModelProto()
    model.CopyFrom(case.model())
    (node,) = model.graph.node
    newest = onnx.defs.get_schema(node.op_type, _opset(model, node.domain), node.domain)
    formals = _formals(newest, len(node.input))
    infos = {info.name: info for info in model.graph.input}
    sets = [inputs for inputs, _ in case.data()]
    arrays: dict[str, Any] = dict(zip(infos, sets[0], strict=False)) if sets else {}
    values: dict[str, Any] = {}
    inputs = list(node.input)
    for at, (formal, name) in enumerate(zip(formals, inputs, strict=True)):
        if at >= schema.max_input and name:
            attribute = _attribute(schema, formal.name, arrays.get(name))
            if attribute is None:
                return None
            node.attribute.append(attribute)
            model.graph.input.remove(infos[name])
        elif name in infos and formal.type_str == formals[0].type_str:
            infos[name].type.tensor_type.elem_type = _KINDS[kind]
        elif isinstance(arrays.get(name), np.ndarray):
            values[name] = arrays[name]
    del node.input[:]
    node.input.extend(inputs[: schema.max_input])
    known = [one for one in node.attribute if one.name in schema.attributes]
    del node.attribute[:]
    node.attribute.extend(known)
    for output in model.graph.output:
        output.ClearField("type")
    for imported in model.opset_import:
        if _domain(imported.domain) == _domain(node.domain):
            imported.version = opset
    return model, values


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _opset(model: onnx.ModelProto, domain: str) -> int:
    same = (one.version for one in model.opset_import if _domain(one.domain) == _domain(domain))
    return next(same)


def _formals(schema: Schema, count: int) -> list[Any]:
    """The formal parameter of each input; the last one is of all that follow, where it is variadic."""
    formals: list[Any] = list(schema.inputs)
    return [*formals, *formals[-1:] * max(0, count - len(formals))][:count]


def _attribute(schema: Schema, name: str, value: Any) -> onnx.AttributeProto | None:
    """The attribute that an input of later versions was; None where there was none."""
    known = next((each for each in schema.attributes if each.lower() == name.lower()), None)
    if known is None or not isinstance(value, np.ndarray) or not value.size:
        return None
    kind: Any = schema.attributes[known].type  # an enum, untyped
    single = kind.name in ("INT", "FLOAT")
    found = cast("list[Any]", value.reshape(-1).tolist())
    return onnx.helper.make_attribute(known, found[0] if single else found)


def _compiles(given: tuple[onnx.ModelProto, Mapping[str, Any]]) -> bool:
    model, values = given
    context = new_context()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = import_onnx(model, context, Sizes(values=values))
            lower(context, module, "loop")
    except InarchError:
        return False
    return True
