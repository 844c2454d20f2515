"""What a backend made of a region is kept: one that did not change is not made again.

An entry is named by all that `make` may look at: the region's ops, types and constants, whatever they are
called; the instance's options, target and machine; the backend, its version, and the files of its package.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from inarch import __version__
from inarch.core.cache import default_cache, key_of
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.text import print_module
from inarch.machine.machine_file import machine_text

if TYPE_CHECKING:
    from inarch.offload.backend import EmitRequest

_SHARE = 4
"""An entry of more than this part of the cache's bound is not kept: it would drive out all others."""
_HANDLE = re.compile(r"dense_resource<([^>]*)>")


def cached(request: EmitRequest, function: FuncOp, make: Callable[[], bytes], *more: str) -> bytes:
    """What `make()` gave for this region in an earlier compilation, else what it gives now."""
    if not request.version:
        return make()
    key, cache = region_key(request, function, *more), default_cache()
    found = cache.get(key)
    if found is not None:
        request.reused.append(function.sym_name.data)
        return found
    made = bytes(make())
    if len(made) <= cache.max_bytes // _SHARE:
        cache.put(key, made)
    return made


def region_key(request: EmitRequest, function: FuncOp, *more: str) -> str:
    """The entry's name; `more` is what else `make` looks at."""
    options = [f"{name}={value!r}" for name, value in sorted(request.options.items())]
    return key_of(
        "region",
        __version__,
        request.backend,
        request.version,
        request.source,
        request.target,
        machine_text(request.machine) if request.machine is not None else "",
        key_of(*options),
        key_of(*more),
        _text(function, store_of(request.context)),
    )


def _text(function: FuncOp, store: ConstantStore) -> str:
    """The region without names of anything in it: constants are their bytes, values are numbered."""
    copy = function.clone()
    copy.sym_name = StringAttr("region")
    copy.attributes.pop("compiler", None)
    for op in copy.walk():
        arguments = [
            each for region in op.regions for block in region.blocks for each in block.args
        ]
        for value in (*op.results, *arguments):
            value.name_hint = None

    def digest(handle: re.Match[str]) -> str:
        return f"sha256<{sha256(store.get(handle[1])).hexdigest()}>"

    return _HANDLE.sub(digest, print_module(copy))
