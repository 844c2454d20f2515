"""Functions: those of the model, and the definitions that ONNX gives of its own operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.frontends.onnx._check import DEFAULT_DOMAINS

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, NodeProto, OperatorSetIdProto
    from onnx.defs import OpSchema


@dataclass(frozen=True)
class Body:
    """What a call is replaced by."""

    name: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    nodes: Sequence[NodeProto]
    opsets: Mapping[str, int]
    attributes: Mapping[str, AttributeProto]

    @classmethod
    def of(
        cls,
        function: FunctionProto,
        given: Mapping[str, AttributeProto],
        opsets: Mapping[str, int],
    ) -> Body:
        """The body of `function` called with attributes; those not given have their default.

        Where it imports no version of a domain, the caller's in `opsets` holds.
        """
        defaults = {attribute.name: attribute for attribute in function.attribute_proto}
        return cls(
            function.name,
            function.input,
            function.output,
            function.node,
            {**opsets, **imports(function.opset_import)},
            {**defaults, **given},
        )


Key = tuple[str, str, str]
"""Domain (ONNX's own is `""`), name and overload: what tells functions apart (IR 10)."""


def key_of(called: FunctionProto | NodeProto, name: str) -> Key:
    """The key of a function, or of the one that a node calls `name`."""
    domain = "" if called.domain in DEFAULT_DOMAINS else called.domain
    return domain, name, getattr(called, "overload", "")  # onnx before 1.16 has none


def functions_by_key(functions: Iterable[FunctionProto]) -> dict[Key, FunctionProto]:
    """The functions of a model. Raises InarchError where two have one key."""
    found: dict[Key, FunctionProto] = {}
    for function in functions:
        key = key_of(function, function.name)
        if key in found:
            raise InarchError(f"expected functions of different names, found {named(key)} twice")
        found[key] = function
    return found


def named(key: Key) -> str:
    """`domain.name`, and its overload."""
    domain, name, overload = key
    title = f"{domain}.{name}" if domain else name
    return f"'{title}', overload '{overload}'" if overload else f"'{title}'"


def no_overload(key: Key, known: Iterable[Key]) -> str | None:
    """What to say of a call of a function that has only other overloads; None where it has none."""
    domain, name, overload = key
    others = sorted(each[2] for each in known if each[:2] == key[:2])
    if not others and not overload:
        return None
    has = ", ".join(f"'{each}'" if each else "one without a name" for each in others) or "none"
    found = f"overload '{overload}'" if overload else "no overload"
    title = named((domain, name, ""))
    return f"expected an overload of {title} that the model defines ({has}), found {found}"


def imports(entries: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Versions of operator sets by domain; ONNX's own is the domain without a name.

    Raises InarchError for a number that no version can have.
    """
    found: dict[str, int] = {}
    for entry in entries:
        if not 1 <= entry.version < 1 << 31:
            raise InarchError(
                f"expected a version of operator set '{entry.domain or 'ai.onnx'}', "
                f"found {entry.version}"
            )
        found["" if entry.domain in DEFAULT_DOMAINS else entry.domain] = entry.version
    return found


def resolve_attributes(
    node: NodeProto, outer: Mapping[str, AttributeProto]
) -> dict[str, AttributeProto]:
    """The attributes of `node` by name; those that refer to one of the call are replaced by that."""
    found: dict[str, AttributeProto] = {}
    for attribute in node.attribute:
        if attribute.name in found:
            raise InarchError(f"attribute '{attribute.name}' is given twice")
        if not attribute.ref_attr_name:
            found[attribute.name] = attribute
        elif attribute.ref_attr_name in outer:
            found[attribute.name] = outer[attribute.ref_attr_name]
    return found


def has_body(schema: OpSchema) -> bool:
    """Whether ONNX defines the operator by others, in some version."""
    found: Any = schema  # the stubs of onnx lack what concerns functions
    return bool(found.has_function or found.has_context_dependent_function)


def schema_body(
    schema: OpSchema,
    node: NodeProto,
    opset: int,
    inputs: Sequence[SSAValue | None],
    attributes: Mapping[str, AttributeProto],
    opsets: Mapping[str, int],
) -> Body | None:
    """How ONNX defines an operator by others in that version; None when it does not."""
    from onnx import FunctionProto, NodeProto
    from onnx.defs import onnx_opset_version

    call = NodeProto()
    call.CopyFrom(node)
    del call.attribute[:]
    call.attribute.extend(attributes.values())
    data = _body_bytes(schema, call, opset, inputs)
    if not data:
        return None
    defaults = {
        name: entry.default_value
        for name, entry in schema.attributes.items()
        if entry.default_value.name
    }
    # A definition without an import is of the newest version that there is.
    known = {"": onnx_opset_version(), **opsets}
    return Body.of(FunctionProto.FromString(data), {**defaults, **attributes}, known)


def _body_bytes(
    schema: Any, call: NodeProto, opset: int, inputs: Sequence[SSAValue | None]
) -> bytes:
    """The FunctionProto that `schema` has for this call; empty when it has none."""
    plain = [v for v in schema.function_opset_versions if v <= opset]
    if plain:
        return schema.get_function_with_opset_version(max(plain))
    dependent = [v for v in schema.context_dependent_function_opset_versions if v <= opset]
    if not dependent:
        return b""
    types = [_type(value) for value in inputs]
    return schema.get_context_dependent_function_with_opset_version(
        max(dependent), call.SerializeToString(), types
    )


def _type(value: SSAValue | None) -> bytes:
    from onnx.helper import make_tensor_type_proto

    if value is None:
        return b""
    kind = make_tensor_type_proto(tensor_dtype(value).onnx, shape_of(value))
    return kind.SerializeToString()
