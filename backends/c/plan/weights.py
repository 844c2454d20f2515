"""The bytes of the weights, as every `loop.constant` has its place in them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.backends.c.plan.program import offset_of, planned_weights_bytes
from inarch.core.lazy import np
from inarch.core.shared import Shared
from inarch.dialects.loop.buffer import ConstantOp
from inarch.dialects.loop.memory import memref_of
from inarch.ir.context import store_of
from inarch.ir.payload.constants import ConstantAttr, constant_array
from inarch.ir.payload.mapped import MappedFiles
from inarch.ir.payload.shared import SharedWeights
from inarch.ir.report.facts import facts_of

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Weights:
    """What a library knows of its weights, to refuse others."""

    nbytes: int
    sha256: str


def weights_pieces(ctx: Context, module: ModuleOp) -> Iterator[tuple[int, memoryview]]:
    """`(offset, bytes)` of every constant of a planned module, each offset once, in order.

    Constants without elements have offsets, too: those of others. Raises EnvironmentFault after the last
    where a file that they are of was changed.
    """
    store = store_of(ctx)
    constants: dict[int, ConstantAttr] = {}
    for op in module.walk():
        if isinstance(op, ConstantOp) and 0 not in memref_of(op.buffer).get_shape():
            constants[offset_of(op)] = op.value
    for offset in sorted(constants):
        array = np.ascontiguousarray(constant_array(constants[offset], store))
        yield offset, array.reshape(-1).view(np.uint8).data
    _check_files(ctx)


def _check_files(ctx: Context) -> None:
    if (files := facts_of(ctx).get(MappedFiles)) is not None:
        files.check()


def shared_weights(ctx: Context) -> Shared | None:
    """What is said of the weights where they are in a pool; None where the program has its own.

    Raises EnvironmentFault where a file that they are of was changed.
    """
    shared = facts_of(ctx).get(SharedWeights)
    if shared is None or shared.places is None:
        return None
    _check_files(ctx)
    return shared.places.said


def weights_image(ctx: Context, module: ModuleOp) -> bytearray:
    """The weights of a planned module: every constant at its offset, zeros between."""
    image = bytearray(planned_weights_bytes(module))
    for offset, piece in weights_pieces(ctx, module):
        image[offset : offset + len(piece)] = piece
    return image


def write_weights(ctx: Context, module: ModuleOp, file: BinaryIO) -> None:
    """Writes what `weights_image` gives into an empty file, without making it in memory."""
    for offset, piece in weights_pieces(ctx, module):
        file.seek(offset)
        file.write(piece)
    file.truncate(planned_weights_bytes(module))


def describe_weights(ctx: Context, module: ModuleOp) -> Weights:
    """Size and SHA-256 of what `weights_image` gives, without making it; of a pool, what names its bytes."""
    if (shared := shared_weights(ctx)) is not None:
        return Weights(shared.nbytes, shared.sha256)
    digest, done = hashlib.sha256(), 0
    nbytes = planned_weights_bytes(module)
    for offset, piece in weights_pieces(ctx, module):
        _zeros(digest.update, offset - done)
        # Planned once by address: a constant that begins within another one is part of it.
        digest.update(piece[max(0, done - offset) :])
        done = max(done, offset + len(piece))
    _zeros(digest.update, nbytes - done)
    return Weights(nbytes, digest.hexdigest())


def _zeros(update: Callable[[memoryview], None], count: int) -> None:
    zeros = bytes(min(max(count, 0), _CHUNK))
    for start in range(0, count, _CHUNK):
        update(memoryview(zeros)[: count - start])
