"""Transforms of functions: derivatives, vectorization, control of memory."""
