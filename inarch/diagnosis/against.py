"""What onnxruntime computes for every value of a model: each node of the import is compared on those."""

# onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation, SSAValue

from inarch.core.errors import InarchError, UsageError, needing
from inarch.core.lazy import Array, np
from inarch.core.rounding import whole
from inarch.definitions.compare import Expected
from inarch.diagnosis.allowed import expected_values
from inarch.diagnosis.compare import Difference, difference
from inarch.diagnosis.fewest import producers
from inarch.diagnosis.locate import FaultPlace
from inarch.diagnosis.program import Program
from inarch.diagnosis.slices import cut
from inarch.frontends import ValueNames
from inarch.frontends.onnx.whole import whole_model
from inarch.ir.report.facts import facts_of
from inarch.testing import execute
from inarch.testing.reference import evaluator

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

MOST_KNOWN = 64
"""Elements of integers that nodes take which may be sizes: a reproducer has them as initializers."""


@dataclass(frozen=True)
class WrongImport:
    """A value that another program has differently, of the same values that enter its node."""

    difference: Difference
    place: FaultPlace
    model: bytes
    """The node alone, as an ONNX file."""
    inputs: Mapping[str, Array]
    expected: Mapping[str, Expected]


class Peer:
    """What onnxruntime computes for every tensor of a model, its optimizations off.

    Raises UsageError for what is no ONNX file, EnvironmentFault without onnxruntime.
    """

    def __init__(self, model: Path, program: Program, inputs: Mapping[str, Array]) -> None:
        if model.suffix != ".onnx":
            raise UsageError(f"--against onnxruntime: expected a model in .onnx, found '{model}'")
        self.program = program
        self.proto, self.arrays = _computed(model, inputs)
        names = facts_of(program.context).get(ValueNames)
        assert names is not None, "the frontend of ONNX gives them"
        self.names = {
            value: name
            for value, name in names.of.items()
            if value in program.names and name in self.arrays and _fits(value, self.arrays[name])
        }
        """What values are called in the model, of those that it computes."""
        self.odd: set[str] = set()
        """Those of which ONNX's own definition says what we do: they say nothing of the import."""
        self.inputs = inputs
        self.values = {
            program.names[value]: self.arrays[name] for value, name in self.names.items()
        }

    def wrong_import(self) -> WrongImport | None:
        """The first node that gives something else than here on what enters it there.

        What enters is the peer's own: of what rounding, or a step of quantization, has changed before, no
        node is blamed. Allowed: what rounding explains of its ops, and what it does of a network's values.
        """
        for number, step in enumerate(self.program.steps):
            self.program.progress(f"compare {step.name}", number, len(self.program.steps))
            for value in step.results:
                if value not in self.names:
                    continue
                if (found := self._compared(value, self._node(step))) is not None:
                    return found
        return None

    def _node(self, step: Operation) -> list[Operation]:
        """The steps that a value is made of, from values that the peer has, in order."""
        found, edge = {step}, [step]
        while edge:
            op = edge.pop()
            for before in producers(op):
                if before not in found and not all(r in self.names for r in before.results):
                    found.add(before)
                    edge.append(before)
        return [op for op in self.program.steps if op in found]

    def _compared(self, value: SSAValue, chosen: Sequence[Operation]) -> WrongImport | None:
        program, ours = self.program, self.program.names[value]
        name, part = self.names[value], cut(self.program.module, chosen, every_value=True)
        theirs = self.arrays[name]
        known = {**self.values, **self.inputs}
        given = [known[one] for one in part.takes]
        values = dict(zip(part.gives, execute(part.module, given, program.context), strict=True))
        allowed = whole(theirs)
        if difference(name, theirs, values[ours], allowed) is None:
            return None
        one = expected_values(part, program.context, dict(zip(part.takes, given, strict=True)))[
            ours
        ]
        bound = one.bound + allowed
        found = difference(name, theirs, one.center, bound)
        if found is None:
            return None
        model, inputs = _alone(self.proto, name, {**self.arrays, **self.inputs})
        defined = _defined(model, inputs)
        if defined is not None and difference(name, defined, one.center, bound) is None:
            self.odd.add(name)
            return None
        place = FaultPlace("import", (program.place_of(chosen[-1]),))
        return WrongImport(found, place, model, inputs, {name: Expected(theirs, theirs, bound)})


def _fits(value: SSAValue, array: Array) -> bool:
    """Whether a value of ours is a tensor like the peer's: of a computed size it is one of the most."""
    from inarch.dialects.graph.op import shape_of

    return tuple(shape_of(value)) == array.shape


def run_onnxruntime(
    model: str | bytes,
    inputs: Mapping[str, Array],
    option: str,
    *,
    where: str | None = None,
    plain: bool = False,
) -> dict[str, Any]:
    """The outputs of a model, a file or its bytes, by name; `plain`: without optimizations of its graph.

    Raises EnvironmentFault without onnxruntime, InarchError (of `option`) where it cannot run the model.
    """
    with needing(f"{option}: the package onnxruntime is not installed; pip install onnxruntime"):
        import onnxruntime
    options = onnxruntime.SessionOptions()
    if plain:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
    try:
        session: Any = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, dict(inputs)), strict=True))
    except Exception as error:
        # Its exceptions have no common base; their first line says what it cannot do.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InarchError(f"{option}: it cannot run the model: {reason}", where=where) from error


def _computed(model: Path, inputs: Mapping[str, Array]) -> tuple[ModelProto, dict[str, Array]]:
    """A model, its data read, and what each node of its graph gives."""
    import onnx

    proto = whole_model(model)
    every = onnx.ModelProto()
    every.CopyFrom(proto)
    known = {output.name for output in every.graph.output}
    for name in (output for node in every.graph.node for output in node.output if output):
        if name not in known:
            every.graph.output.add().name = name
    values = run_onnxruntime(
        every.SerializeToString(), inputs, "--against onnxruntime", where=str(model), plain=True
    )
    return proto, {name: each for name, each in values.items() if isinstance(each, np.ndarray)}


def _alone(
    proto: ModelProto, name: str, arrays: Mapping[str, Array]
) -> tuple[bytes, dict[str, Array]]:
    """The node that computes `name`, as a model that computes nothing else, and its inputs."""
    import onnx
    from onnx import helper, numpy_helper

    (node,) = (one for one in proto.graph.node if name in one.output)
    used = [one for one in dict.fromkeys(_read(node)) if one]
    data = {one.name: one for one in proto.graph.initializer if one.name in used}
    inputs: dict[str, Array] = {}
    for one in used:
        array = arrays.get(one)
        if one in data or array is None:
            continue
        if array.dtype.kind != "f" and array.size <= MOST_KNOWN:
            data[one] = numpy_helper.from_array(array, one)
        else:
            inputs[one] = array

    def port(one: str) -> onnx.ValueInfoProto:
        kind = helper.np_dtype_to_tensor_dtype(arrays[one].dtype)
        return helper.make_tensor_value_info(one, kind, arrays[one].shape)

    graph = helper.make_graph(
        [node], "node", [port(one) for one in inputs], [port(name)], list(data.values())
    )
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    model.graph.CopyFrom(graph)
    return model.SerializeToString(), inputs


def _defined(model: bytes, inputs: Mapping[str, Array]) -> Array | None:
    """What ONNX's own evaluator says of the one output of a model; None where it cannot say it.

    onnxruntime is not always right: its products of uint8 by int8 saturate on x86 without VNNI.
    """
    import onnx

    try:
        found: Any = evaluator(onnx.load_model_from_string(model)).run(None, dict(inputs))
    except Exception:  # noqa: BLE001 - it has no common base of what it cannot do
        return None
    return np.asarray(found[0])


def _read(node: NodeProto) -> Iterator[str]:
    """The names that a node reads, in its bodies too."""
    yield from node.input
    for attribute in node.attribute:
        bodies: list[GraphProto] = [attribute.g, *attribute.graphs]
        for body in bodies:
            for inner in body.node:
                yield from _read(inner)
