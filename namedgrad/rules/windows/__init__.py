"""Windows along dims, and what stands on them: rolling reductions, convolution, pooling."""

from __future__ import annotations

from namedgrad.rules.windows import adaptive, channels, folding, pooling, rolling

__all__ = ["adaptive", "channels", "folding", "pooling", "rolling"]
