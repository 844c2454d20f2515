"""Sessions and bindings, where onnxruntime has them."""

from __future__ import annotations

from inarch.compat.onnxruntime import (
    InferenceSession,
    IOBinding,
    OrtDevice,
    OrtDeviceVendorId,
    OrtValue,
)

Session = InferenceSession

__all__ = ["IOBinding", "InferenceSession", "OrtDevice", "OrtDeviceVendorId", "OrtValue", "Session"]
