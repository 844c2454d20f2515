"""A model that was drawn as one file, with its inputs: what was found with it is found again."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from pathlib import Path

from inarch.core.errors import UsageError
from inarch.ir.payload.files import write_atomically
from inarch.testing.onnx_graphs.drawing import Array, Case, has_one_answer, results_of, taken_by

_INPUT, _SURE, _UNSURE = "inarch.input ", "inarch.sure ", "inarch.unsure "
"""Of the model's metadata: a name follows, and its tensor (zlib, base64) is the value."""


def write(case: Case, path: Path) -> None:
    """The model with its inputs."""
    from onnx import ModelProto, numpy_helper

    made = ModelProto()
    made.CopyFrom(case.model)
    kept = [(_INPUT, name, value) for name, value in case.inputs.items()]
    if case.is_stated:
        kept += [
            (_SURE if name in case.sure else _UNSURE, name, value)
            for name, value in case.expected.items()
        ]
    for kind, name, value in kept:
        data = numpy_helper.from_array(value, name).SerializeToString()
        made.metadata_props.add(key=kind + name, value=b64encode(zlib.compress(data)).decode())
    write_atomically(path, made.SerializeToString())


def read(path: Path) -> Case:
    """What `write` wrote. Raises UsageError where it is something else."""
    import onnx

    model = onnx.load(path)
    kept: dict[str, dict[str, Array]] = {_INPUT: {}, _SURE: {}, _UNSURE: {}}
    for one in model.metadata_props:
        for kind, arrays in kept.items():
            if one.key.startswith(kind):
                tensor = onnx.TensorProto.FromString(zlib.decompress(b64decode(one.value)))
                arrays[tensor.name] = onnx.numpy_helper.to_array(tensor)
    inputs = kept[_INPUT]
    given = {one.name for one in model.graph.input} - {one.name for one in model.graph.initializer}
    if {*inputs} != given:
        wanted, found = (", ".join(sorted(names)) or "none" for names in (given, inputs))
        raise UsageError(f"{path}: expected the inputs {wanted} in the metadata, found {found}")
    del model.metadata_props[:]
    if stated := kept[_SURE] | kept[_UNSURE]:
        return Case(0, model, inputs, stated, frozenset(kept[_SURE]), is_stated=True)
    values = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    values |= inputs
    expected: dict[str, Array] = {}
    unsure: set[str] = set()
    left = list(model.graph.node)
    while left:
        node = next(each for each in left if {*taken_by(each)} <= {*values})
        left.remove(node)
        used = {name: values[name] for name in taken_by(node)}
        found = results_of(node, used, model.opset_import[0].version)
        made = dict(zip(node.output, found, strict=True))
        expected |= made
        values |= made
        if not has_one_answer(node.op_type, [*used.values(), *found]) or {*used} & unsure:
            unsure.update(made)
    outputs = [output.name for output in model.graph.output]
    return Case(
        0, model, inputs, {name: expected[name] for name in outputs}, frozenset(outputs) - unsure
    )
