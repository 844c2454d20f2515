"""What callers get of the results that a definition computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from inarch.backends.entries import computed_of
from inarch.core.lazy import Array
from inarch.runtime.computed import counted, shown


def results_by_name(module: ModuleOp, results: Sequence[Array]) -> dict[str, Array]:
    """The results of @main by the model's names; of those of computed size what counts."""
    names = result_names(module, len(results))
    sizes = [computed_of(one) for one in _outputs(module)] or [()] * len(results)
    return {
        names[at]: array for at, array in zip(shown(sizes), counted(sizes, results), strict=True)
    }


def result_names(module: ModuleOp, count: int) -> list[str]:
    """The model's names of the `count` results of @main, as they are computed."""
    names = [f"out{index}" for index in range(count)]
    for index, one in enumerate(_outputs(module)):
        if isinstance(name := one.get("inarch.name"), StringAttr):
            names[index] = name.data
    return names


def _outputs(module: ModuleOp) -> list[Mapping[str, Attribute]]:
    """Attributes of results, or of trailing arguments."""
    main = next(
        op for op in module.body.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"
    )
    outputs = [one.data for one in main.res_attrs or ()]
    return [*outputs, *(one.data for one in main.arg_attrs or () if "inarch.result" in one.data)]
