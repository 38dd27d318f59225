"""Operations that are registered when one of them is first asked for: none of them is a method of a DimArray."""

from __future__ import annotations

from namedgrad.rules import activations, fourier, layers, linalg, losses, special
from namedgrad.rules.contraction import blocks, distances
from namedgrad.rules.indexing import embeddings, masks, runs, scatter, segments, sparse, update
from namedgrad.rules.resampling import cells, sampling
from namedgrad.rules.scans import logarithms
from namedgrad.rules.signal import convolution as convolutions
from namedgrad.rules.signal import spectra
from namedgrad.rules.windows import convolution

__all__ = [
    "activations", "blocks", "cells", "convolution", "convolutions", "distances", "embeddings", "fourier", "layers", "linalg",
    "logarithms", "losses", "masks", "runs", "sampling", "scatter", "segments", "sparse", "special", "spectra", "update",
]  # fmt: skip
