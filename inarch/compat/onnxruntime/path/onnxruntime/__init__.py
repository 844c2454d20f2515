"""The name `onnxruntime` for Inarch's, where the folder above stands first on the path of modules."""

from importlib import import_module
from sys import modules

from inarch.compat.onnxruntime import *  # noqa: F403
from inarch.compat.onnxruntime import __getattr__, __version__  # noqa: F401
from inarch.compat.onnxruntime import capi as capi

for _name in ("", ".onnxruntime_pybind11_state", ".onnxruntime_inference_collection"):
    modules[f"onnxruntime.capi{_name}"] = import_module(f"inarch.compat.onnxruntime.capi{_name}")
modules["onnxruntime.capi._pybind_state"] = modules["onnxruntime.capi.onnxruntime_pybind11_state"]
