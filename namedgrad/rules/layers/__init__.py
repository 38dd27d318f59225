"""Layers of networks, by name: normalisation, dropout, attention, recurrence."""

from namedgrad.rules.layers import attention, dropout, normalisation, unit_length

__all__ = ["attention", "dropout", "normalisation", "unit_length"]
