"""``np.fft``: the transforms along named dims, with axis numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.array import DimArray
from namedgrad.positional.axis import name_of, names_of
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import implements
from namedgrad.rules.fourier import named, several


def _one(step: Callable[..., DimArray]) -> Callable[..., DimArray]:
    def function(a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> DimArray:
        x = numbered(a)
        return step(x, name_of(x, axis), n, norm)

    return function


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    implements(getattr(np.fft, _name))(_one(getattr(named, _name)))


def _many(step: Callable[..., DimArray], default: Any) -> Callable[..., DimArray]:
    def function(a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> DimArray:
        x = numbered(a)
        if axes is None:
            axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
        names = [name_of(x, i) for i in axes]
        if s is not None and len(s) != len(names):
            raise ValueError("Shape and axes have different lengths.")
        return step(x, names, s, norm)

    return function


for _name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
    _default = (-2, -1) if _name.endswith("2") else None
    implements(getattr(np.fft, _name))(_many(getattr(several, f"{_name[:-1]}n"), _default))


def _shift(step: Callable[..., DimArray]) -> Callable[..., DimArray]:
    def function(x: Any, axes: Any = None) -> DimArray:
        v = numbered(x)
        return step(v, names_of(v, axes))

    return function


implements(np.fft.fftshift)(_shift(several.fftshift))
implements(np.fft.ifftshift)(_shift(several.ifftshift))
