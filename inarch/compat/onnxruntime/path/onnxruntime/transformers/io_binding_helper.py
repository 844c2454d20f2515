"""TypeHelper: the names of types by which packages bind tensors of PyTorch."""

# Torch is imported where it is, and has no types here:
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

from typing import Any

import numpy as np

from inarch.compat.onnxruntime import InferenceSession
from inarch.compat.onnxruntime.described import TYPES


class TypeHelper:
    """Types of NumPy and PyTorch by that library's names. ValueError for a name that is none."""

    @staticmethod
    def get_input_type(ort_session: InferenceSession, name: str) -> str:
        """As `tensor(float)`."""
        return _found({arg.name: arg.type for arg in ort_session.get_inputs()}, name)

    @staticmethod
    def get_output_type(ort_session: InferenceSession, name: str) -> str:
        """As `tensor(float)`."""
        return _found({arg.name: arg.type for arg in ort_session.get_outputs()}, name)

    @staticmethod
    def ort_type_to_numpy_type(ort_type: str) -> Any:
        """NumPy's type of the elements; Python's `bool`."""
        name = _found(TYPES, ort_type)
        return bool if name == "bool" else getattr(np, name)

    @staticmethod
    def ort_type_to_torch_type(ort_type: str) -> Any:
        """PyTorch's type of the elements."""
        import torch

        return getattr(torch, _found(TYPES, ort_type))

    @staticmethod
    def numpy_type_to_torch_type(numpy_type: Any) -> Any:
        """PyTorch's type of the same name."""
        import torch

        return getattr(torch, np.dtype(numpy_type).name)

    @staticmethod
    def torch_type_to_numpy_type(torch_type: Any) -> Any:
        """NumPy's type of the same name; Python's `bool`."""
        name = str(torch_type).removeprefix("torch.")
        return bool if name == "bool" else getattr(np, name)

    @staticmethod
    def get_io_numpy_type_map(ort_session: InferenceSession) -> dict[str, Any]:
        """NumPy's types of all inputs and outputs, by name."""
        args = [*ort_session.get_inputs(), *ort_session.get_outputs()]
        return {arg.name: TypeHelper.ort_type_to_numpy_type(arg.type) for arg in args}


def _found(names: Any, name: str) -> str:
    if name not in names:
        raise ValueError(f"{name} not found in {', '.join(names)}")
    return names[name]
