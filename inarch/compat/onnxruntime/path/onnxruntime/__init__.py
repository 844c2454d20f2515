"""The name `onnxruntime` for Inarch's, where the folder above stands first on the path of modules."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

if find_spec("inarch") is None:  # it is not installed, and this is another folder than its own
    sys.path.append(str(Path(__file__).parents[5]))

from inarch.compat.onnxruntime import *  # noqa: F403
from inarch.compat.onnxruntime import __getattr__, __version__  # noqa: F401
from inarch.compat.onnxruntime import capi as capi

for _name in ("", ".onnxruntime_pybind11_state", ".onnxruntime_inference_collection"):
    sys.modules[f"onnxruntime.capi{_name}"] = import_module(
        f"inarch.compat.onnxruntime.capi{_name}"
    )
sys.modules["onnxruntime.capi._pybind_state"] = sys.modules[
    "onnxruntime.capi.onnxruntime_pybind11_state"
]
