"""Checks for users' own functions and rules."""

from namedgrad.testing.check import GradientError, check_gradients

__all__ = ["GradientError", "check_gradients"]
