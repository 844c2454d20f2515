"""Walks a model's nodes in order and builds `func.func @main` of graph ops from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.frontends.builder import Builder
from inarch.frontends.onnx._check import DEFAULT_DOMAINS, check_node, check_types, schema_of
from inarch.frontends.onnx._functions import (
    Body,
    Key,
    has_body,
    key_of,
    no_overload,
    resolve_attributes,
    schema_body,
)
from inarch.frontends.onnx._missing import instead
from inarch.frontends.onnx.computed import passed_on
from inarch.frontends.onnx.control import CONTROL
from inarch.frontends.onnx.node import Node, Values, as_values, label
from inarch.frontends.onnx.ops import converters
from inarch.frontends.onnx.regions.inline import Inline
from inarch.frontends.onnx.tensors import Folders, narrow_dtype, tensor_array
from inarch.frontends.report import NotSupportedError, UndefinedError, Unsupported
from inarch.ir.names import MAX_NAME, hint

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto

FIRST_OPSET = 6
"""Before, broadcasting and the shapes of reshapes were attributes."""


@dataclass
class Scope:
    """The values of one graph or function body, by name."""

    opsets: Mapping[str, int]
    values: dict[str, SSAValue | None] = field(default_factory=dict[str, "SSAValue | None"])
    """None for what something unsupported would have computed."""
    attributes: Mapping[str, AttributeProto] = field(default_factory=dict[str, "AttributeProto"])
    """What the attributes of a function's call are, by name."""
    lacking: dict[str, tuple[str, str]] = field(default_factory=dict[str, "tuple[str, str]"])
    """Outputs that no converter makes: what that is, and of which node."""
    prefix: str = ""
    """The names of the calling nodes, each with a `/` behind it."""
    is_inner: bool = False
    """Whether it is of a function or a subgraph."""
    active: frozenset[Key] = frozenset()
    """The functions that it is within."""
    outer: Scope | None = None
    """Of a subgraph: where the names come from that it does not define itself."""


@dataclass
class Importer:
    """Converts nodes into ops at the end of `builder.block`."""

    where: str
    builder: Builder
    folders: Folders
    functions: Mapping[Key, FunctionProto]
    report: Unsupported = field(default_factory=Unsupported)
    initializers: dict[str, tuple[TensorProto, memoryview | None]] = field(
        default_factory=dict[str, "tuple[TensorProto, memoryview | None]"]
    )
    """Of the main graph; each becomes a constant when it is first used."""
    deciders: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """Inputs that are small enough to be sizes, axes and the like, with their names."""
    sizes: dict[SSAValue, Mapping[int, SSAValue]] = field(
        default_factory=dict[SSAValue, Mapping[int, SSAValue]]
    )
    """`Node.sizes` of all nodes."""

    def run(self, nodes: Sequence[NodeProto], scope: Scope, outputs: Iterable[str]) -> None:
        """Converts those of `nodes` that `outputs` need. Raises InarchError at the first bad node.

        They may stand in any order.
        """
        wanted = set(outputs)
        takes = [[*filter(None, node.input), *sorted(_captured(node))] for node in nodes]
        order = _sorted(nodes, takes)
        needed = _needed(nodes, takes, order, wanted)
        later = {name for node in nodes for name in node.output}
        for at in order:
            if at in needed:
                outputs = nodes[at].output
                unused = frozenset(i for i, name in enumerate(outputs) if name not in wanted)
                self._node(nodes[at], scope, later, unused)

    def value(self, name: str, scope: Scope, later: set[str] | None = None) -> SSAValue | None:
        """The value called `name`. Raises InarchError when nothing (yet) has that name."""
        if name in scope.values:
            return scope.values[name]
        if name in scope.lacking:
            self.report.add(*scope.lacking[name])
            scope.values[name] = None
            return None
        if not scope.is_inner and name in self.initializers:
            scope.values[name] = self._initializer(name)
            return scope.values[name]
        if scope.outer is not None and name not in (later or ()):
            return self.value(name, scope.outer)
        is_cycle = name in (later or ())
        found = "a cycle" if is_cycle else "no input, initializer or node of that name"
        raise UndefinedError(f"expected '{name}' to be computed earlier, found {found}")

    def _initializer(self, name: str) -> SSAValue | None:
        return self._constant(*self.initializers[name])

    def _constant(
        self, proto: TensorProto, raw: memoryview | None, *, again: bool = False
    ) -> SSAValue | None:
        """The tensor as a constant; `again`: of a subgraph, which may be converted many times."""
        try:
            array = tensor_array(proto, raw, self.folders, self.where)
        except NotSupportedError as unsupported:
            self.report.add(unsupported.reason, proto.name)
            return None
        make = self.builder.computed_constant if again else self.builder.constant
        value = make(array, proto.name)
        if (narrow := narrow_dtype(proto.data_type)) is not None:
            self.builder.narrow[value] = narrow[1]
        return value

    def _node(
        self, proto: NodeProto, scope: Scope, later: set[str], unused: frozenset[int]
    ) -> None:
        name = scope.prefix + label(proto)[:MAX_NAME]
        where = f"{self.where}: node '{name}' ({proto.op_type})"
        try:
            values = self._convert(proto, name, scope, later, unused)
        except InarchError as error:
            # What comes from a function's body has its own place already.
            raise error if error.where else type(error)(error.message, where=where) from error
        except RecursionError as error:
            if scope.is_inner:
                raise
            raise InarchError(
                "expected functions and subgraphs within each other as deep as Python calls functions "
                "(sys.setrecursionlimit), found deeper ones",
                where=where,
            ) from error
        for index, output in enumerate(proto.output):
            if not output:
                continue
            if output in scope.values or (not scope.is_inner and output in self.initializers):
                raise InarchError(f"output '{output}' is computed twice", where=where)
            if values is not None and index >= len(values):
                title = self._output_title(proto, index, scope)
                scope.lacking[output] = (f"{proto.op_type}: output {title} '{output}'", name)
                continue
            value = scope.values[output] = values[index] if values is not None else None
            if value is not None and value.name_hint is None:
                hint(value, output)

    def _convert(
        self,
        proto: NodeProto,
        name: str,
        scope: Scope,
        later: set[str],
        unused: frozenset[int],
    ) -> Sequence[SSAValue | None] | None:
        """The outputs of one node; None when it cannot be converted, which is reported."""
        self.builder.count()
        inputs = tuple(self.value(n, scope, later) if n else None for n in proto.input)
        known = all(value is not None for n, value in zip(proto.input, inputs, strict=True) if n)
        domain = "" if proto.domain in DEFAULT_DOMAINS else proto.domain
        title = f"{domain}.{proto.op_type}" if domain else proto.op_type
        attributes = resolve_attributes(proto, scope.attributes)
        key = key_of(proto, proto.op_type)
        function = self.functions.get(key)
        if function is not None and not self._is_standard(proto, key, scope):
            if key in scope.active:
                raise InarchError(
                    f"expected functions that do not call themselves, found {function.name}"
                )
            body, active = Body.of(function, attributes, {}), scope.active | {key}
            return self._call(proto, body, inputs, name, scope, active) if known else None
        missing = no_overload(key, self.functions)
        # Without an overload, an operator of ONNX may be meant that has the function's name.
        if missing is not None and (key[2] or schema_of(proto, self._opset(domain, scope)) is None):
            raise InarchError(missing)
        opset = self._opset(domain, scope)
        schema = schema_of(proto, opset)
        if schema is not None:
            check_node(proto, schema, attributes)
            check_types(
                schema, [tensor_dtype(each) if each is not None else None for each in inputs]
            )
        converter = converters().get(title)
        control = None if domain else CONTROL.get(proto.op_type)
        if converter is not None or control is not None:
            node = Node(
                name,
                self.builder,
                proto.op_type,
                opset,
                inputs,
                len(proto.output),
                attributes,
                self.folders,
                unused,
                self.sizes,
            )
            if control is not None:
                converter = self._controlled(control, scope)
            return self._apply(converter, node, title) if known and converter is not None else None
        if schema is None or schema.deprecated:
            self.report.add(title, name, advice=instead(proto.op_type, domain, opset))
            return None
        body = (
            schema_body(schema, proto, opset, inputs, attributes, scope.opsets) if known else None
        )
        if body is None:
            if known or not has_body(schema):
                self.report.add(title, name, advice=instead(proto.op_type, domain, opset))
            return None
        return self._call_known(title, proto, body, inputs, name, scope)

    def _output_title(self, proto: NodeProto, index: int, scope: Scope) -> str:
        """What ONNX calls an output of a node; its number where ONNX has no such operator."""
        domain = "" if proto.domain in DEFAULT_DOMAINS else proto.domain
        schema = schema_of(proto, self._opset(domain, scope))
        return (
            str(index)
            if schema is None
            else schema.outputs[min(index, len(schema.outputs) - 1)].name
        )

    def _is_standard(self, proto: NodeProto, key: Key, scope: Scope) -> bool:
        """Whether ONNX has an operator of the name, which then is meant, as in onnxruntime."""
        domain, _, overload = key
        if overload or domain not in scope.opsets:
            return False
        schema = schema_of(proto, scope.opsets[domain])
        return schema is not None and not schema.deprecated

    def _opset(self, domain: str, scope: Scope) -> int:
        if domain not in scope.opsets:
            raise InarchError(
                f"expected an import of operator set '{domain or 'ai.onnx'}', found none"
            )
        return scope.opsets[domain]

    def _apply(
        self, converter: Callable[[Node], Values | None], node: Node, title: str
    ) -> Sequence[SSAValue | None] | None:
        try:
            sizes = passed_on(node, title)
            found = converter(node)
            if found is None:
                return None
            values = as_values(found)
            self.sizes |= dict.fromkeys(values, sizes) if sizes else {}
            return values
        except NotSupportedError as unsupported:
            what = f"{node.op}: {unsupported.reason}" if unsupported.reason else node.op
            self.report.add(what, node.name, deciding=self._deciding(unsupported))
            return None

    def _deciding(self, unsupported: NotSupportedError) -> Sequence[str]:
        """The inputs of the model that the value is computed from; none where one may be data."""
        value = unsupported.value
        found: dict[str, None] = {}
        seen: set[SSAValue] = set()
        pending = [value] if value is not None else []
        while pending:
            one = pending.pop()
            if one in seen:
                continue
            seen.add(one)
            if isinstance(one.owner, Operation):
                pending.extend(one.owner.operands)
            elif one in self.deciders and not (unsupported.flows and _is_data(one)):
                found[self.deciders[one]] = None
            else:
                return ()
        return tuple(found)

    def _controlled(
        self, control: Callable[[Node, Inline], list[SSAValue] | None], scope: Scope
    ) -> Callable[[Node], Values | None]:
        """A converter of an operator that has subgraphs, which see the names of `scope`."""

        def convert(node: Node) -> Values | None:
            return control(node, _Inliner(self, f"{node.name}/", scope))

        return convert

    def attempt(self, convert: Callable[[], list[SSAValue] | None]) -> list[SSAValue] | None:
        """What `convert` finds; None where it is wrong or reports something, which is forgotten."""
        outer, self.report = self.report, Unsupported()
        try:
            found = convert()
        except InarchError:
            found = None
        finally:
            inner, self.report = self.report, outer
        return None if inner.items else found

    def subgraph(
        self, graph: GraphProto, inputs: Sequence[SSAValue], prefix: str, scope: Scope
    ) -> list[SSAValue] | None:
        """The outputs of a subgraph on `inputs`; None when it needs something unsupported."""
        inner = Scope(
            scope.opsets,
            attributes=scope.attributes,
            prefix=prefix,
            is_inner=True,
            active=scope.active,
            outer=scope,
        )
        inner.values.update(
            {info.name: value for info, value in zip(graph.input, inputs, strict=False)}
        )
        for proto in graph.initializer:
            inner.values[proto.name] = self._constant(proto, None, again=True)
        outputs = [info.name for info in graph.output]
        self.run(graph.node, inner, outputs)
        found = [self.value(name, inner) for name in outputs]
        values = [value for value in found if value is not None]
        if any(value in self.sizes for value in values):
            raise NotSupportedError("a value of computed size from a body")
        return values if len(values) == len(found) else None

    def _call_known(
        self,
        title: str,
        proto: NodeProto,
        body: Body,
        inputs: Sequence[SSAValue | None],
        name: str,
        scope: Scope,
    ) -> Sequence[SSAValue | None] | None:
        """Converts an operator through its definition; what that needs is reported as the operator."""
        outer, self.report = self.report, Unsupported()
        values = self._call(proto, body, inputs, name, scope, scope.active)
        inner, self.report = self.report, outer
        if inner.items:
            what = f"{title}: its definition needs {', '.join(inner.items)}"
            self.report.add(what, name, deciding=tuple(inner.deciding))
            return None
        return values

    def _call(
        self,
        proto: NodeProto,
        body: Body,
        inputs: Sequence[SSAValue | None],
        name: str,
        scope: Scope,
        active: frozenset[Key],
    ) -> Sequence[SSAValue | None] | None:
        if len(proto.input) > len(body.inputs) or len(proto.output) > len(body.outputs):
            raise InarchError(
                f"expected at most {len(body.inputs)} inputs and {len(body.outputs)} outputs, "
                f"found {len(proto.input)} and {len(proto.output)}"
            )
        inner = Scope(
            body.opsets,
            attributes=body.attributes,
            prefix=f"{name}/",
            is_inner=True,
            active=active,
        )
        given = dict(zip(body.inputs, inputs, strict=False))
        # An optional input that is left out has no name inside.
        nodes = [
            _without(node, {n for n in body.inputs if given.get(n) is None}) for node in body.nodes
        ]
        inner.values.update({n: value for n, value in given.items() if value is not None})
        wanted = [out for out, used in zip(body.outputs, proto.output, strict=False) if used]
        self.run(nodes, inner, wanted)
        return [
            self.value(out, inner) if used else None
            for out, used in zip(body.outputs, proto.output, strict=False)
        ]


@dataclass(frozen=True)
class _Inliner:
    """Converts subgraphs of one node."""

    importer: Importer
    prefix: str
    scope: Scope

    def __call__(
        self, graph: GraphProto, inputs: Sequence[SSAValue], name: str
    ) -> list[SSAValue] | None:
        return self.importer.subgraph(graph, inputs, f"{self.prefix}{name}/", self.scope)

    def attempt(
        self, graph: GraphProto, inputs: Sequence[SSAValue], name: str
    ) -> list[SSAValue] | None:
        return self.importer.attempt(lambda: self(graph, inputs, name))


def _is_data(value: SSAValue) -> bool:
    """Whether a small input is more likely data than a size, where it only says which way computations go."""
    return tensor_dtype(value).is_float and shape_of(value) != ()


def _without(node: NodeProto, absent: set[str]) -> NodeProto:
    """`node` with the inputs in `absent` left out."""
    if not absent.intersection(node.input):
        return node
    copy = type(node)()
    copy.CopyFrom(node)
    for index, name in enumerate(copy.input):
        if name in absent:
            copy.input[index] = ""
    return copy


def _sorted(nodes: Sequence[NodeProto], takes: Sequence[Sequence[str]]) -> Sequence[int]:
    """The indices of the nodes in topological order; nodes of a cycle stay in place.

    The given order is kept where possible. ONNX requires sorted graphs, but some editors do not sort them.
    """
    maker = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    sources = [[maker[name] for name in taken if name in maker] for taken in takes]
    if all(source < at for at, ahead in enumerate(sources) for source in ahead):
        return range(len(nodes))
    order: dict[int, None] = {}
    begun: set[int] = set()
    pending = list(range(len(nodes)))[::-1]
    while pending:
        at = pending[-1]
        ahead = [source for source in sources[at] if source not in order and source not in begun]
        if at in order or (at in begun and not ahead):
            order.setdefault(pending.pop())
            continue
        begun.add(at)
        pending.extend(reversed(ahead))
    return list(order)


def _needed(
    nodes: Sequence[NodeProto],
    takes: Sequence[Sequence[str]],
    order: Sequence[int],
    wanted: set[str],
) -> set[int]:
    """Which nodes the names in `wanted` depend on; to it is added what these take."""
    found: set[int] = set()
    for at in reversed(order):
        if wanted.intersection(nodes[at].output):
            found.add(at)
            wanted.update(takes[at])
    return found


def _captured(node: NodeProto) -> set[str]:
    """The names that the subgraphs of a node use and do not define."""
    found: set[str] = set()
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            used = {name for inner in graph.node for name in (*inner.input, *_captured(inner))}
            own = {name for inner in graph.node for name in inner.output}
            own.update(info.name for info in (*graph.input, *graph.initializer))
            found |= (used | {out.name for out in graph.output}) - own
    return found - {""}
