"""Operators of windows, and of pixels that move: convolution, pooling, resizing, sampling."""
