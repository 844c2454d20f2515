"""What a model's open dimensions are in the functions of a program: the module attribute `inarch.sizes`."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64

SIZES = "inarch.sizes"
"""Function -> dimension -> size."""


def set_sizes(module: ModuleOp, sizes: Mapping[str, Mapping[str, int]]) -> None:
    """Says of functions, by name, what sizes their dimensions have."""
    entries = {
        function: DictionaryAttr({dim: IntegerAttr(size, i64) for dim, size in dims.items()})
        for function, dims in sizes.items()
        if dims
    }
    if entries:
        module.attributes[SIZES] = DictionaryAttr(entries)


def sizes_of(module: ModuleOp) -> dict[str, dict[str, int]]:
    """What was said, of functions that had open dimensions."""
    found = module.attributes.get(SIZES)
    if not isinstance(found, DictionaryAttr):
        return {}
    return {
        function: {
            dim: size.value.data for dim, size in dims.data.items() if isinstance(size, IntegerAttr)
        }
        for function, dims in found.data.items()
        if isinstance(dims, DictionaryAttr)
    }
