"""What a session says of its model: inputs, outputs, metadata; and models that no session takes.

Reading an ONNX file takes as long as loading its code, so that what it says is kept in the cache.
"""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inarch.compat.onnxruntime.checks import check_model, tensors_of
from inarch.compat.onnxruntime.errors import InvalidProtobuf, error
from inarch.core.cache import default_cache, key_of
from inarch.core.dtypes import ARITHMETIC, DTYPES, from_numpy
from inarch.core.errors import InarchError, UnsupportedError
from inarch.core.outside.value import Value
from inarch.core.states import digest_of
from inarch.driver.keep.sources import running

if TYPE_CHECKING:
    from onnx import ModelProto, TypeProto, ValueInfoProto

    from inarch.frontends.open import Interface

Shape = Sequence[int | str | None]

ELEMENTS: Mapping[int, str] = {
    **{DTYPES[name].onnx: DTYPES[name].numpy for name in ARITHMETIC},
    8: "object",
    10: "float16",
}
"""NumPy's names by ONNX's number of an element type (`TensorProto.DataType`)."""

_CALLED = {"float32": "float", "float64": "double", "object": "string"}
TYPES: Mapping[str, str] = {
    f"tensor({_CALLED.get(name, name)})": name for name in ELEMENTS.values()
}
"""That library's names of types -> NumPy's of the elements."""

NAMES: Mapping[str, str] = {name: kind for kind, name in TYPES.items()}
"""The way back."""


@dataclass(frozen=True)
class NodeArg:
    """An input or an output: its name, its type as `tensor(float)`, and its shape.

    A dimension is a number, a name, or None where the model says nothing. Of an unknown rank the shape is
    empty.
    """

    name: str
    type: str
    shape: Shape
    has_rank: bool = True

    def __repr__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


@dataclass(frozen=True)
class ModelMetadata:
    """What the writer of a model says of it."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = 0
    custom_metadata_map: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Described:
    """What is known of a model without its weights."""

    inputs: Sequence[NodeArg]
    outputs: Sequence[NodeArg]
    defaults: Sequence[NodeArg]
    """Inputs with a value of their own: overridable initializers."""
    metadata: ModelMetadata
    external: Sequence[str]
    """Files of its weights, relative to its folder."""

    def with_dims(self, dims: Mapping[str, int]) -> Described:
        """The same, of a model whose symbolic dimensions have these sizes."""

        def sized(args: Sequence[NodeArg]) -> list[NodeArg]:
            return [
                replace(arg, shape=[dims.get(str(dim), dim) for dim in arg.shape]) for arg in args
            ]

        return replace(self, inputs=sized(self.inputs), outputs=sized(self.outputs))

    def interface(self, digest: str) -> Interface:
        """The same as the compiler has it."""
        from inarch.frontends.open import Interface, OpenPort

        def port(arg: NodeArg) -> OpenPort:
            dims = tuple(
                f"{arg.name}.{axis}" if dim is None or dim == 0 else dim
                for axis, dim in enumerate(arg.shape)
            )
            return OpenPort(arg.name, _dtype(arg), dims if arg.has_rank else None)

        inputs, outputs, defaults = (
            [port(arg) for arg in part] for part in (self.inputs, self.outputs, self.defaults)
        )
        return Interface(inputs, outputs, defaults, digest)

    @property
    def is_open(self) -> bool:
        """Whether sizes of inputs are not known."""
        return any(
            not arg.has_rank or not all(isinstance(dim, int) and dim > 0 for dim in arg.shape)
            for arg in self.inputs
        )


def _dtype(arg: NodeArg) -> Any:
    try:
        return from_numpy(TYPES[arg.type])
    except (KeyError, UnsupportedError):
        return None


def digest_of_model(source: Path | bytes) -> str:
    """Of its bytes; of a file as the cache knows it."""
    if isinstance(source, bytes):
        return sha256(source).hexdigest()
    return digest_of(source, default_cache()) or ""


def describe(source: Path | bytes, digest: str) -> Described:
    """Reads the model, or what was kept of it. Raises the exceptions of onnxruntime for what is none."""
    sources, key = running(), ""
    if sources is not None and digest:
        key = key_of("compat.onnxruntime", digest, sources, version("onnx"))
        kept = default_cache().get(key)
        if kept is not None:
            return Value(json.loads(kept)).read(Described)
    found = _read(source)
    if found.is_open:  # what there is not, whatever the sizes are, is told now
        from inarch.frontends import interface_of

        interface_of(source)
    if key:
        default_cache().put(key, json.dumps(asdict(found)).encode())
    return found


def _read(source: Path | bytes) -> Described:
    from inarch.frontends.onnx import load_model

    try:
        model = load_model(source).model
    except InarchError as found:
        where = f"Load model from {source} failed:" if isinstance(source, Path) else ""
        raise error(InvalidProtobuf, f"{where}Protobuf parsing failed. {found}") from found
    check_model(model)
    graph = model.graph
    own = {proto.name for proto in graph.initializer}
    defaults = [info for info in graph.input if info.name in own]
    return Described(
        inputs=_args(info for info in graph.input if info.name not in own),
        outputs=_args(_inferred(model)),
        defaults=_args(defaults if model.ir_version >= _CONSTANTS_FROM else ()),
        metadata=ModelMetadata(
            model.producer_name,
            graph.name,
            model.domain,
            model.doc_string,
            graph.doc_string,
            model.model_version if model.HasField("model_version") else _NO_VERSION,
            {entry.key: entry.value for entry in model.metadata_props},
        ),
        external=sorted(
            {
                entry.value
                for tensor in tensors_of(graph)
                for entry in tensor.external_data
                if entry.key == "location"
            }
        ),
    )


_NO_VERSION = 2**63 - 1
_CONSTANTS_FROM = 4
"""The version of the IR before which each initializer had to be an input."""


def _inferred(model: ModelProto) -> Sequence[ValueInfoProto]:
    """The outputs, with what ONNX finds out of their shapes where the model does not say it."""
    from onnx.shape_inference import InferenceError, infer_shapes

    try:
        found = list(infer_shapes(model).graph.output)
    except (InferenceError, ValueError, RuntimeError):  # what is wrong, the compiler tells
        return list(model.graph.output)
    graph = model.graph
    given = {
        dim.dim_param
        for info in (*graph.input, *graph.output, *graph.value_info)
        for dim in _dims(info)
    }
    for dim in (dim for info in found for dim in _dims(info)):
        if dim.dim_param and dim.dim_param not in given:
            dim.Clear()  # a name of `infer_shapes`, as for the rows of a NonZero
    return found


def _dims(info: ValueInfoProto) -> Sequence[Any]:
    tensor = _tensor_of(info.type)
    return list(tensor.shape.dim) if tensor is not None else []


def _args(infos: Iterable[ValueInfoProto]) -> list[NodeArg]:
    return [_arg(info) for info in infos]


def _arg(info: ValueInfoProto) -> NodeArg:
    tensor = _tensor_of(info.type)
    shape: list[int | str | None] = [
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else dim.dim_param or None
        for dim in _dims(info)
    ]
    has_rank = tensor is not None and tensor.HasField("shape")
    return NodeArg(info.name, _type(info.type), shape, has_rank)


def _tensor_of(kind: TypeProto) -> Any:
    """The tensor that a type is, or may be; None of other types."""
    match kind.WhichOneof("value"):
        case "tensor_type":
            return kind.tensor_type
        case "optional_type":
            return _tensor_of(kind.optional_type.elem_type)
        case _:
            return None


def _type(kind: TypeProto) -> str:
    """As onnxruntime writes it: `tensor(float)`, `seq(tensor(int64))`."""
    from onnx import TensorProto

    match kind.WhichOneof("value"):
        case "tensor_type":
            return f"tensor({TensorProto.DataType.Name(kind.tensor_type.elem_type).lower()})"
        case "sequence_type":
            return f"seq({_type(kind.sequence_type.elem_type)})"
        case "optional_type":
            return f"optional({_type(kind.optional_type.elem_type)})"
        case "map_type":
            key = TensorProto.DataType.Name(kind.map_type.key_type).lower()
            return f"map({key},{_type(kind.map_type.value_type)})"
        case other:
            return str(other or "")
