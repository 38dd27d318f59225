"""Windows along dims, and what stands on them: rolling reductions, convolution, pooling."""

from __future__ import annotations

from namedgrad.rules.windows import adaptive, channels, convolution, folding, pooling, rolling

__all__ = ["adaptive", "channels", "convolution", "folding", "pooling", "rolling"]
