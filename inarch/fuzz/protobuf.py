"""Mutations of ONNX models as messages: numbers, names, types, parts; the wire format stays sound."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

INTEGERS = (
    0,
    1,
    -1,
    2,
    3,
    4,
    5,
    7,
    8,
    12,
    16,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    255,
    256,
    1000,
    4096,
    65536,
    1 << 20,
    1 << 24,
    (1 << 24) + 1,
    1 << 28,
    (1 << 31) - 1,
    1 << 31,
    1 << 32,
    10**9,
    10**10,
    1 << 40,
    1 << 62,
    (1 << 63) - 1,
    -(1 << 63),
    -2,
    -3,
    -5,
    -1000,
    -(1 << 31),
    -(1 << 40),
)
FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    1e-30,
    1e9,
    1e10,
    3e38,
    float("inf"),
    float("-inf"),
    float("nan"),
    1e-45,
)


def mutated_model(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    """The model `data` after one to four changes; bytes that are no model come back as they are."""
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    model = ModelProto()
    try:
        model.ParseFromString(data)
        for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
            rng.choice(_MUTATIONS)(model, seeds, rng)
        return bytes(model.SerializeToString())
    except (DecodeError, ValueError):  # text that is not UTF-8, numbers that a field does not hold
        return data


def _leaf(model: Any, _seeds: Sequence[bytes], rng: Random) -> None:
    """A scalar of a random message; or of one that is nearer to the nodes."""
    messages = _messages(model)
    message = rng.choice(messages)
    fields = [field for field, _ in message.ListFields() if field.message_type is None]
    if rng.random() < 0.1:
        fields = [field for field in message.DESCRIPTOR.fields if field.message_type is None]
    if not fields:
        return
    field = rng.choice(fields)
    if not _is_repeated(field):
        setattr(message, field.name, _value(field, getattr(message, field.name), model, rng))
        return
    values = getattr(message, field.name)
    match rng.randrange(4):
        case 0 if len(values):
            del values[rng.randrange(len(values))]
        case 1:
            values.append(_value(field, values[0] if len(values) else None, model, rng))
        case 2 if len(values):
            values.extend(list(values) * rng.choice((1, 2, 20)))
        case _ if len(values):
            at = rng.randrange(len(values))
            values[at] = _value(field, values[at], model, rng)
        case _:
            pass


def _number(model: Any, _seeds: Sequence[bytes], rng: Random) -> None:
    """A number of an attribute, of a constant, or a size: what decides how large things become."""
    places: list[Callable[[], None]] = []
    for message in _messages(model):
        kind = type(message).__name__
        if kind == "AttributeProto":
            if message.ints:
                places.append(lambda m=message: _set(m.ints, rng))
            if message.HasField("i"):
                places.append(lambda m=message: setattr(m, "i", rng.choice(INTEGERS)))
            if message.HasField("f"):
                places.append(lambda m=message: setattr(m, "f", rng.choice(FLOATS)))
            if message.floats:
                places.append(lambda m=message: _set(m.floats, rng, FLOATS))
        elif kind == "TensorProto":
            places.append(lambda m=message: _tensor(m, rng))
            if message.dims:
                places.append(lambda m=message: _set(m.dims, rng))
        elif kind == "Dimension":
            places.append(lambda m=message: setattr(m, "dim_value", rng.choice(INTEGERS)))
    if places:
        rng.choice(places)()


def _set(values: Any, rng: Random, choices: Sequence[float] = INTEGERS) -> None:
    values[rng.randrange(len(values))] = rng.choice(choices)


def _tensor(tensor: Any, rng: Random) -> None:
    """An element of a tensor's data."""
    codes = {1: ("<f", FLOATS), 11: ("<d", FLOATS), 6: ("<i", INTEGERS), 7: ("<q", INTEGERS)}
    code, choices = codes.get(tensor.data_type, ("<B", range(256)))
    width = struct.calcsize(code)
    if len(tensor.raw_data) >= width:
        at = rng.randrange(len(tensor.raw_data) // width) * width
        try:
            new = struct.pack(code, rng.choice(choices))
        except (struct.error, OverflowError):
            return
        tensor.raw_data = tensor.raw_data[:at] + new + tensor.raw_data[at + width :]
        return
    for name in ("int64_data", "float_data", "int32_data"):
        if len(values := getattr(tensor, name)):
            _set(
                values,
                rng,
                FLOATS if name == "float_data" else [i for i in INTEGERS if abs(i) < 1 << 31],
            )
            return


def _structure(model: Any, seeds: Sequence[bytes], rng: Random) -> None:
    """A part left out, doubled, moved, or taken from another model."""
    from onnx import ModelProto

    message = rng.choice(_messages(model))
    fields = [f for f, _ in message.ListFields() if f.message_type is not None and _is_repeated(f)]
    if not fields:
        return
    parts = getattr(message, rng.choice(fields).name)
    at = rng.randrange(len(parts))
    match rng.randrange(4):
        case 0:
            del parts[at]
        case 1:
            copy = type(parts[at])()
            copy.CopyFrom(parts[at])
            parts.append(copy)
        case 2:
            parts.insert(rng.randrange(len(parts) + 1), parts.pop(at))
        case _:
            other = ModelProto()
            other.ParseFromString(rng.choice(seeds))
            same = [one for one in _messages(other) if type(one) is type(parts[at])]
            if same:
                parts[at].CopyFrom(rng.choice(same))


def _operator(model: Any, seeds: Sequence[bytes], rng: Random) -> None:
    """Another operator, in its place; or another version of all of them."""
    from onnx import ModelProto

    if rng.random() < 0.3 and model.opset_import:
        rng.choice(model.opset_import).version = rng.choice((*range(1, 30), *INTEGERS))
        return
    nodes = [m for m in _messages(model) if type(m).__name__ == "NodeProto"]
    other = ModelProto()
    other.ParseFromString(rng.choice(seeds))
    others = [m for m in _messages(other) if type(m).__name__ == "NodeProto"]
    if nodes and others:
        node = rng.choice(nodes)
        node.op_type = rng.choice(others).op_type
        if rng.random() < 0.5:
            del node.attribute[:]


def _element_type(model: Any, _seeds: Sequence[bytes], rng: Random) -> None:
    """Another dtype of an input, a tensor or a cast."""
    kinds = (1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13, 8, 10, 16, 0, 99)
    found = [m for m in _messages(model) if type(m).__name__ == "Tensor"]
    if found:
        rng.choice(found).elem_type = rng.choice(kinds)


def _value(field: Any, old: Any, model: Any, rng: Random) -> Any:
    """A value that the field holds."""
    if field.type == field.TYPE_STRING:
        return _text(old or "", model, rng)
    if field.type == field.TYPE_BYTES:
        data = bytearray(old or b"x")
        data[rng.randrange(len(data)) : rng.randrange(len(data) + 1)] = bytes([rng.randrange(256)])
        return bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.3 else data)
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return rng.choice(FLOATS)
    if field.type == field.TYPE_ENUM:
        return rng.randrange(16)
    number = rng.choice(INTEGERS) if rng.random() < 0.8 else (old or 0) + rng.choice((-1, 1))
    return number if field.type == field.TYPE_INT64 else number & 0x7FFFFFFF


def _text(old: str, model: Any, rng: Random) -> str:
    texts = [
        value
        for message in _messages(model)
        for field, value in message.ListFields()
        if field.type == field.TYPE_STRING and not _is_repeated(field)
    ]
    strange = ["", "x", "\0", "a/b", "\n", "é", "?", "-1", "x" * 300, "x" * 5000, "%s", "../../w"]
    return rng.choice([*texts, *strange, old[:-1], old + "x"])


def _messages(message: Any) -> list[Any]:
    """The message and all in it."""
    found: list[Any] = []
    pending = [message]
    while pending:
        one = pending.pop()
        found.append(one)
        for field, value in one.ListFields():
            if field.message_type is not None:
                pending.extend(value if _is_repeated(field) else [value])
    return found


def _is_repeated(field: Any) -> bool:
    return bool(
        getattr(field, "is_repeated", None) if hasattr(field, "is_repeated") else field.label == 3
    )


_MUTATIONS = [_leaf, _number, _number, _number, _structure, _operator, _element_type]
