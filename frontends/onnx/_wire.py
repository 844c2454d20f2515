"""Splits an ONNX file into a small message and its weights, which are not copied.

Protobuf's own parser holds the whole file, then every tensor, then a copy of each that is asked for:
three times the weights. This reads the wire format just far enough to find the raw bytes of
initializers (https://protobuf.dev/programming-guides/encoding): ModelProto.graph = 7,
GraphProto.initializer = 5, TensorProto.raw_data = 9.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LARGE_BYTES = 1024
"""Tensors from this size on are taken out of the message."""

_PATH = (7, 5, 9)
_BYTES = 2
"""Wire type of everything with a length."""


class MalformedError(ValueError):
    """The bytes are not a protobuf message."""


@dataclass
class Split:
    """A message without the raw bytes of its large initializers, and those, by initializer's index."""

    message: bytes = b""
    weights: dict[int, memoryview] = field(default_factory=dict[int, memoryview])


def split_weights(data: memoryview) -> Split:
    """Splits the bytes of a file. Raises MalformedError when they are no protobuf message."""
    reader = _Reader(data, Split())
    reader.split.message = bytes(reader.rewrite(len(data), 0))
    return reader.split


@dataclass
class _Reader:
    data: memoryview
    split: Split
    position: int = 0
    tensors: int = 0

    def rewrite(self, end: int, depth: int) -> bytearray:
        """The message from here to `end`, with what is taken out left out."""
        out = bytearray()
        while self.position < end:
            key = self.varint(end)
            number, kind = key >> 3, key & 7
            if kind == _BYTES:
                self.rewrite_field(out, key, number, end, depth)
            else:
                out += _varint(key) + self.scalar(kind, end)
        return out

    def rewrite_field(self, out: bytearray, key: int, number: int, end: int, depth: int) -> None:
        """Copies one field with a length, or descends into it, or takes it out."""
        length = self.varint(end)
        if length > end - self.position:
            raise MalformedError("a field is longer than the file")
        on_path = number == _PATH[depth]
        if on_path and depth == len(_PATH) - 1:
            data = self.take(length, end)
            self.split.weights.pop(self.tensors, None)  # the last of repeated fields counts
            if length >= LARGE_BYTES:
                self.split.weights[self.tensors] = data
                return
            payload: memoryview | bytearray = data
        elif on_path:
            payload = self.rewrite(self.position + length, depth + 1)
            self.tensors += depth == len(_PATH) - 2
        else:
            payload = self.take(length, end)
        out += _varint(key)
        out += _varint(len(payload))
        out += payload

    def scalar(self, kind: int, end: int) -> bytes | memoryview:
        """A field without a length."""
        if kind == 0:
            return _varint(self.varint(end))
        if kind not in (1, 5):
            raise MalformedError(f"wire type {kind}")
        return self.take(8 if kind == 1 else 4, end)

    def take(self, length: int, end: int) -> memoryview:
        """The next `length` bytes."""
        start = self.position
        if length > end - start:
            raise MalformedError("a field is longer than the file")
        self.position += length
        return self.data[start : self.position]

    def varint(self, end: int) -> int:
        """A number of at most 64 bits, low bits first."""
        value = 0
        for shift in range(0, 70, 7):
            (byte,) = self.take(1, end)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF
        raise MalformedError("a number is too long")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
