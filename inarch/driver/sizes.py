"""Several sizes of one model in one program: a function each, with weights and kernels shared by content.

`main` is for the first set of sizes, `main__2`, `main__3` ... for the others; who calls `main` with arrays
gets the one that fits (`inarch.runtime.calls.fits`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from inarch.core.arguments import checked_dims
from inarch.core.errors import UsageError
from inarch.ir.functions import functions
from inarch.ir.sizes import set_sizes, sizes_of

Sets: TypeAlias = "Mapping[str, Sequence[int]] | Sequence[Mapping[str, int]]"
"""Dimension -> sizes, of which all combinations are meant; or the sets themselves."""

MOST_SETS = 256
"""Each is compiled."""


def sets_of(given: Sets) -> list[dict[str, int]]:
    """The sets of sizes, different ones. Raises UsageError for what is none, and for too many.

    >>> sets_of({"batch": [1, 8], "seq": [128]})
    [{'batch': 1, 'seq': 128}, {'batch': 8, 'seq': 128}]
    """
    if isinstance(given, Mapping):
        columns: list[list[tuple[str, Any]]] = []  # `checked_dims` looks at the sizes
        for name, sizes in given.items():
            listed = sizes if isinstance(sizes, list | tuple | range) else [sizes]
            columns.append([(name, size) for size in listed])
        found = [dict(each) for each in product(*columns)] if columns else []
    elif not isinstance(given, Sequence) or not all(isinstance(each, Mapping) for each in given):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(
            f"specialize: expected {{'batch': [1, 8]}} or [{{'batch': 1}}, {{'batch': 8}}], found {given!r}"
        )
    else:
        found = [dict(each) for each in given]
    if len(found) > MOST_SETS:
        raise UsageError(
            f"specialize: expected at most {MOST_SETS} sets of sizes, found {len(found)}"
        )
    unlike: list[dict[str, int]] = []
    for each in found:
        sizes = checked_dims(each)
        if sizes not in unlike:
            unlike.append(sizes)
    return unlike


def joined(
    sets: Sequence[Mapping[str, int]], read: Callable[[Mapping[str, int]], ModuleOp]
) -> ModuleOp:
    """The program that has a function for each of `sets`; `read` gives the model of one.

    Raises UsageError for a program without `main`, or with a name that is needed.
    """
    whole: ModuleOp | None = None
    sizes: dict[str, Mapping[str, int]] = {}
    for number, dims in enumerate(sets, 1):
        module = read(dims)
        main = next((each for each in functions(module) if each.sym_name.data == "main"), None)
        if main is None:
            raise UsageError("specialize: expected a model with a function 'main', found none")
        name = main.sym_name.data if number == 1 else f"main__{number}"
        sizes[name] = sizes_of(module).get("main", dict(dims))
        if whole is None:
            whole = module
            continue
        main.detach()
        main.sym_name = StringAttr(name)
        _check_free(whole, name)
        whole.body.block.add_op(main)
        for op in list(module.body.block.ops):  # what frontends put beside it
            op.detach()
            if isinstance(op, FuncOp):
                _check_free(whole, op.sym_name.data)
            whole.body.block.add_op(op)
    assert whole is not None, "there is a set at least"
    set_sizes(whole, sizes)
    return whole


def _check_free(module: ModuleOp, name: str) -> None:
    if any(each.sym_name.data == name for each in functions(module)):
        raise UsageError(f"specialize: expected one function '{name}', found two")
