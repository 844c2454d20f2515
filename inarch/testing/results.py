"""What callers get of the results that a definition computes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from inarch.backends.entries import computed_of
from inarch.core.lazy import Array
from inarch.runtime.computed import counted, shown


def results_by_name(module: ModuleOp, results: Sequence[Array]) -> dict[str, Array]:
    """The results of @main by the model's names; of those of computed size what counts."""
    main = next(
        op for op in module.body.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"
    )
    # Attributes of results, or of trailing arguments.
    outputs = [one.data for one in main.res_attrs or ()]
    outputs += [one.data for one in main.arg_attrs or () if "inarch.result" in one.data]
    names = [f"out{index}" for index in range(len(results))]
    for index, one in enumerate(outputs):
        if isinstance(name := one.get("inarch.name"), StringAttr):
            names[index] = name.data
    sizes = [computed_of(one) for one in outputs] or [()] * len(results)
    return {
        names[at]: array for at, array in zip(shown(sizes), counted(sizes, results), strict=True)
    }
