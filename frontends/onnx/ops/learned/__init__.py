"""Operators of ai.onnx.ml: trees, linear and support vector models, and what is done to their features."""
