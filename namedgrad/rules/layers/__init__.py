"""Layers of networks, by name: normalisation, dropout, attention, recurrence."""

from namedgrad.rules.layers import attention, cells, dropout, normalisation, recurrent, unit_length

__all__ = ["attention", "cells", "dropout", "normalisation", "recurrent", "unit_length"]
