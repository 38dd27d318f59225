"""Weights of attention: a softmax along the last axis that gives nothing where everything is masked."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels

Raw = Any


class AttentionKernels(Kernels):
    """For every backend."""

    def attention_weights(self, x: Raw) -> Raw:
        """``exp(x)`` divided by its sum; 0 where every cell is -inf."""
        xp = self.xp
        top = xp.max(x, axis=-1, keepdims=True)
        weights = xp.exp(xp.subtract(x, xp.where(xp.isinf(top) & (top < 0), xp.zeros_like(top), top)))
        whole = xp.sum(weights, axis=-1, keepdims=True)
        return xp.divide(weights, xp.where(whole == 0, xp.ones_like(whole), whole))


class NumpyAttentionKernels(AttentionKernels):
    """With one array of the size of the operand."""

    def attention_weights(self, x: Raw) -> Raw:
        """The softmax, computed in place."""
        top = np.max(x, axis=-1, keepdims=True)
        np.copyto(top, 0, where=np.isneginf(top))
        weights = np.subtract(x, top)
        np.exp(weights, out=weights)
        whole = np.sum(weights, axis=-1, keepdims=True)
        np.copyto(whole, 1, where=whole == 0)
        return np.divide(weights, whole, out=weights)
