"""A model in 8 bits by the installed quantizer, and what it costs and gains: `inarch quantize`."""

from __future__ import annotations

from inarch.quantization.measure import Gains, quantize_model
from inarch.quantization.samples import Samples, drawn_sample, read_samples
from inarch.quantization.settings import Settings

__all__ = ["Gains", "Samples", "Settings", "drawn_sample", "quantize_model", "read_samples"]
