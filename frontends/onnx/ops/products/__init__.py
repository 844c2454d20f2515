"""Operators of sums of products: matrices, quantized ones, recurrences."""
