"""ONNX models: opsets 6 to the newest that the installed `onnx` package knows.

Shapes come from Inarch's own inference: what a model says of intermediate and output shapes is not
relied on. Everything that is unsupported is reported at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from os import PathLike
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from inarch.core.dtypes import DType
from inarch.core.errors import InarchError, UnsupportedError, unknown
from inarch.core.lazy import Array, np
from inarch.core.limits import check_shape
from inarch.frontends import FilesRead, Frontend, Origin, Sizes, ValueNames
from inarch.frontends.builder import Builder
from inarch.frontends.ids import indices_of
from inarch.frontends.names import named, program_name
from inarch.frontends.onnx._bind import Bound, Signature, bind, signature
from inarch.frontends.onnx._functions import Key, functions_by_key, imports
from inarch.frontends.onnx._load import Loaded, load_model
from inarch.frontends.onnx._missing import LISTED, missing
from inarch.frontends.onnx.graph import FIRST_OPSET, Importer, Scope
from inarch.frontends.onnx.tensors import Folders, element_dtype
from inarch.frontends.open import Interface, OpenPort
from inarch.frontends.report import NotSupportedError, Unsupported
from inarch.frontends.values import fixed_value
from inarch.ir.context import store_of
from inarch.ir.names import free_name, hint
from inarch.ir.report.facts import facts_of
from inarch.ir.sizes import set_sizes
from inarch.ir.types import dtype_of, mlir_type, tensor

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, ModelProto, ValueInfoProto


def import_onnx(source: Any, context: Context, sizes: Sizes | None = None) -> ModuleOp:
    """The model `source` (a path, bytes, or an `onnx.ModelProto`) as `func.func @main` in `graph`.

    A dimension without a name is called `<input>.<axis>` in `sizes`. Weights go into the context's
    store, external data included. Raises InarchError for a bad model, UnsupportedError with everything
    that it needs and Inarch lacks, UsageError for names in `sizes` that it has not.
    """
    return _import(load_model(source), context, sizes or Sizes())


def _takes(source: object) -> bool:
    is_bytes = isinstance(source, bytes | bytearray | memoryview)
    return is_bytes or type(source).__name__ == "ModelProto"


def interface(source: Any) -> Interface:
    """What the model takes and gives. Raises as `import_onnx`, also for operators that are not there."""
    loaded = load_model(source)
    graph, where = loaded.model.graph, loaded.where
    opsets, functions = _opsets(loaded.model, where), _functions(loaded)
    report = missing(graph, opsets, functions)
    listed = LISTED if report.items else ""
    given = {proto.name for proto in graph.initializer}
    inputs = [info for info in graph.input if info.name not in given]
    for info in inputs:
        _element_of(info, report)
    report.raise_if_any(where, listed)
    return Interface(
        [_open_port(info) for info in inputs],
        [_open_port(info) for info in graph.output],
        _defaults(loaded.model),
        _digest(source, loaded),
    )


CONSTANTS_FROM = 4
"""The version of the IR before which each initializer had to be an input: it was none that a caller gave."""


def _defaults(model: ModelProto) -> list[OpenPort]:
    """The inputs for which the model has a value: ONNX Runtime's overridable initializers."""
    own = {proto.name: proto for proto in model.graph.initializer}
    found: list[OpenPort] = []
    for info in model.graph.input if model.ir_version >= CONSTANTS_FROM else ():
        if info.name in own:
            port = _open_port(info)
            found.append(OpenPort(port.name, port.dtype, tuple(own[info.name].dims)))
    return found


def _digest(source: Any, loaded: Loaded) -> str:
    """Of a model in memory; empty where its data are in files."""
    from onnx import ModelProto, TensorProto

    graph = loaded.model.graph
    if any(each.data_location == TensorProto.EXTERNAL for each in graph.initializer):
        return ""
    data = (
        source.SerializeToString(deterministic=True) if isinstance(source, ModelProto) else source
    )
    return "" if isinstance(data, str | PathLike) else sha256(data).hexdigest()


def _open_port(info: ValueInfoProto) -> OpenPort:
    return OpenPort(info.name, _element_of(info, Unsupported()), signature(info).shape)


def _element_of(info: ValueInfoProto, report: Unsupported) -> DType | None:
    """The dtype of an input; None, and reported, of one of an unsupported kind."""
    kind = info.type.WhichOneof("value")
    if kind != "tensor_type":
        what = (kind or "untyped").removesuffix("_type").replace("_", " ")
        report.add(f"{what} input", info.name)
        return None
    try:
        return element_dtype(info.type.tensor_type.elem_type)
    except NotSupportedError as unsupported:
        report.add(unsupported.reason, info.name)
        return None


FRONTEND = Frontend(
    suffixes=(".onnx",), read=import_onnx, takes=_takes, interface=interface, uses_values=True
)


def _import(loaded: Loaded, context: Context, sizes: Sizes) -> ModuleOp:
    graph, where = loaded.model.graph, loaded.where
    if not graph.output:
        raise InarchError("expected a graph with outputs, found none", where=where)
    scope = Scope(_opsets(loaded.model, where))
    builder = Builder(Block(), store_of(context), computed=-loaded.model.ByteSize())
    folders = Folders(loaded.folder, loaded.target, loaded.files)
    importer = Importer(
        where,
        builder,
        folders,
        _functions(loaded),
        initializers={},
    )
    _take_initializers(importer, loaded)
    defaults = [info.name for info in graph.input if info.name in importer.initializers]
    for name in defaults:
        if name in sizes.values:  # what the model gives is a default, which the caller overrides
            del importer.initializers[name]
    inputs = [info for info in graph.input if info.name not in importer.initializers]
    bound = _add_inputs(importer, scope, inputs, sizes, defaults)
    importer.run(graph.node, scope, [info.name for info in graph.output])
    results = _outputs(importer, scope, graph)
    importer.report.raise_if_any(where, _hint(importer))
    builder.finish()
    facts_of(context).put(FilesRead(folders.read))
    facts_of(context).put(folders.files)
    facts_of(context).put(Origin("onnx", _said(loaded.model, scope.opsets, sizes.values)))
    facts_of(context).put(
        ValueNames({v: name for name, v in scope.values.items() if v is not None})
    )
    open_ones = [info.name for info in inputs if info.name not in sizes.values]
    module = ModuleOp([_main(builder, open_ones, results, importer.sizes)])
    module.attributes["inarch.name"] = StringAttr(program_name(loaded.stem))
    set_sizes(module, {"main": bound.dims})
    return module


def _said(
    model: ModelProto, opsets: Mapping[str, int], given: Mapping[str, object]
) -> dict[str, Any]:
    """What a model says of itself, for whoever finds it compiled; no default of what the caller has given."""
    defaults = {
        port.name: {"dtype": port.dtype.name, "shape": list(port.shape or ())}
        for port in _defaults(model)
        if port.name not in given and port.dtype is not None
    }
    writer = f"{model.producer_name} {model.producer_version}".strip()
    return {
        "ir_version": model.ir_version,
        "opsets": {domain or "ai.onnx": version for domain, version in sorted(opsets.items())},
        **({"producer": writer} if writer else {}),
        **({"defaults": defaults} if defaults else {}),
        **({"metadata": _metadata(model)} if model.metadata_props else {}),
    }


MOST_METADATA = 100
"""Entries of a model that are kept, and for each as many characters times ten."""


def _metadata(model: ModelProto) -> dict[str, str]:
    """What its writer says in `metadata_props`."""
    entries, most = list(model.metadata_props)[:MOST_METADATA], 10 * MOST_METADATA
    return {entry.key[:most]: entry.value[:most] for entry in entries}


def _opsets(model: ModelProto, where: str) -> dict[str, int]:
    from onnx.defs import onnx_opset_version

    try:
        found = imports(model.opset_import)
    except InarchError as error:
        raise InarchError(error.message, where=where) from error
    version, newest = found.get("", FIRST_OPSET), onnx_opset_version()
    if not FIRST_OPSET <= version <= newest:
        raise UnsupportedError(
            f"expected version {FIRST_OPSET} to {newest} of ai.onnx (those of the installed package onnx), "
            f"found {version}",
            where=where,
        )
    return found


def _functions(loaded: Loaded) -> dict[Key, FunctionProto]:
    try:
        return functions_by_key(loaded.model.functions)
    except InarchError as error:
        raise InarchError(error.message, where=loaded.where) from error


def _take_initializers(importer: Importer, loaded: Loaded) -> None:
    for index, proto in enumerate(loaded.model.graph.initializer):
        if proto.name in importer.initializers:
            raise InarchError(f"initializer '{proto.name}' is given twice", where=loaded.where)
        importer.initializers[proto.name] = (proto, loaded.weights.get(index))
    for sparse in loaded.model.graph.sparse_initializer:
        importer.report.add("sparse initializer", sparse.values.name)


def _add_inputs(
    importer: Importer,
    scope: Scope,
    infos: Sequence[ValueInfoProto],
    sizes: Sizes,
    defaults: Sequence[str],
) -> Bound:
    """Makes the arguments of `@main`; one of an unsupported kind is reported, and unknown after.

    `defaults` are inputs for which the model has a value, which is taken where `sizes` has none.
    """
    signatures: list[Signature] = []
    skipped: set[str] = set()
    elements: dict[str, Attribute] = {}
    widths: dict[str, int] = {}
    fixed: dict[str, Array] = {}
    for info in infos:
        if info.name in scope.values:
            raise InarchError(f"input '{info.name}' is given twice", where=importer.where)
        scope.values[info.name] = None
        dtype = _element_of(info, importer.report)
        if info.type.WhichOneof("value") != "tensor_type":
            skipped.add(info.name)
            continue
        signatures.append(signature(info))
        if dtype is None:
            continue
        if info.name in sizes.values:
            shape = signatures[-1].shape
            rank = None if shape is None else len(shape)
            fixed[info.name] = fixed_value(info.name, sizes.values[info.name], dtype, rank)
            continue
        elements[info.name] = mlir_type(dtype)
        widths[info.name] = dtype.nbytes
    for name in sizes.values:
        if name not in fixed and name not in skipped:
            raise unknown(
                "input", name, [*(info.name for info in infos), *defaults], within="values"
            )
    given = {name: shape for name, shape in sizes.shapes.items() if name not in skipped}
    given = {name: array.shape for name, array in fixed.items()} | given
    bound = bind(signatures, sizes.dims, given, importer.where)
    for name, array in fixed.items():
        scope.values[name] = importer.builder.constant(array, name)
    for name, element in elements.items():
        check_shape(bound.shapes[name], widths[name], f"{importer.where}: input '{name}'")
        block = importer.builder.block
        argument = block.insert_arg(tensor(element, bound.shapes[name]), len(block.args))
        hint(argument, name)
        scope.values[name] = argument
        if _may_decide(bound.shapes[name], element):
            importer.deciders[argument] = name
    return bound


MOST_DECIDING = {"i": 64, "u": 64, "b": 64, "f": 8}
"""Elements of an input that may say sizes, axes, scales or whether to train, by kind of dtype."""


def _may_decide(shape: Sequence[int], element: Attribute) -> bool:
    """Whether an input is a number, or a short list of them: what is larger is data."""
    most = MOST_DECIDING.get(np.dtype(dtype_of(element).numpy).kind, 0)
    return len(shape) <= 1 and math.prod(shape) <= most


def _hint(importer: Importer) -> str:
    """What to do about operators that are missing as a whole."""
    if not any(
        what.isidentifier() or "." in what.partition(":")[0].partition(" ")[0]
        for what in importer.report.items
    ):
        return ""
    return LISTED


def _outputs(importer: Importer, scope: Scope, graph: GraphProto) -> list[tuple[str, SSAValue]]:
    """The results of `@main` with their names, which are made unique."""
    results: list[tuple[str, SSAValue]] = []
    taken: set[str] = set()
    for info in graph.output:
        try:
            value = importer.value(info.name, scope)
        except InarchError as error:
            raise InarchError(
                f"expected output '{info.name}' to be computed, "
                "found no input, initializer or node of that name",
                where=importer.where,
            ) from error
        if value is None:
            continue  # reported
        importer.builder.insert(value)
        results.append((free_name(info.name, taken, "."), value))
    return results


def _main(
    builder: Builder,
    inputs: Sequence[str],
    results: Sequence[tuple[str, SSAValue]],
    sizes: Mapping[SSAValue, Mapping[int, SSAValue]],
) -> FuncOp:
    """The function; how much of results of computed size counts are further results of it."""
    values = [value for _, value in results]
    names = {name: None for name, _ in results}
    numbers: dict[SSAValue, int] = {}
    computed: list[list[int]] = []
    for name, value in results:
        computed.append([])
        for axis, count in sizes.get(value, {}).items():
            if count not in numbers:
                numbers[count] = len(values)
                values.append(count)
                builder.insert(count)
                own = f"{name}.size{axis}"
                while own in names:
                    own += "_"
                names[own] = None
            computed[-1] += [axis, numbers[count]]
    builder.block.add_op(ReturnOp(*values))
    types = ([arg.type for arg in builder.block.args], [value.type for value in values])
    arguments = [("inarch.indices", indices_of(builder, arg)) for arg in builder.block.args]
    computed += [[]] * (len(values) - len(results))
    return FuncOp(
        "main",
        types,
        Region(builder.block),
        arg_attrs=named(inputs, arguments),
        res_attrs=named(list(names), [("inarch.computed", each) for each in computed]),
    )
