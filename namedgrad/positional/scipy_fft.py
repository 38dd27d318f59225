"""``scipy.fft`` of arrays that are differentiated: a backend, which SciPy asks before it computes by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import ops
from namedgrad.positional.array import PositionalArray


class Transforms:
    """What SciPy asks, function by function; all that is not of ours it does itself.

    Where it computes, and on how many cores, makes no difference to the result: those arguments are left out.
    """

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        x = args[0] if args else kwargs.get("x")
        known = method.__name__ in FUNCTIONS and isinstance(x, PositionalArray)
        return FUNCTIONS[method.__name__](*args, **kwargs) if known else NotImplemented


def _one(name: str) -> Callable[..., Any]:
    def function(x: Any, n: Any = None, axis: int = -1, norm: Any = None, *_: Any, **__: Any) -> Any:
        return getattr(np.fft, name)(x, n, axis, norm)

    return function


def _many(name: str) -> Callable[..., Any]:
    default = (-2, -1) if name.endswith("2") else None

    def function(x: Any, s: Any = None, axes: Any = default, norm: Any = None, *_: Any, **__: Any) -> Any:
        axes, s = _axes_and_sizes(x, s, axes)
        return ops.FUNCTIONS[name](x, axes, s, norm)

    return function


def _axes_and_sizes(x: Any, s: Any, axes: Any) -> tuple[list[int], Any]:
    """All axes where none are named, or the last ones, one for each size, of which -1 is the one that there is."""
    sizes = None if s is None else np.atleast_1d(s).tolist()
    axes = range(-(x.ndim if sizes is None else len(sizes)), 0) if axes is None else np.atleast_1d(axes).tolist()
    return [*axes], None if sizes is None else [x.shape[a] if n == -1 else n for a, n in zip(axes, sizes, strict=True)]


def _cosine(name: str) -> Callable[..., Any]:
    def function(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, *_: Any, **options: Any
    ) -> Any:
        return NotImplemented if _is_other(norm, options) else ops.FUNCTIONS[name](x, axis, type, n, norm)

    return function


def _is_other(norm: Any, options: dict[str, Any]) -> bool:
    """Whether ends are weighted otherwise than for the norm."""
    return options.get("orthogonalize") not in (None, norm == "ortho")


def _sine(name: str) -> Callable[..., Any]:
    """Cosine transforms of what is mirrored (Britanak, Yip and Rao 2007, Discrete Cosine and Sine Transforms)."""
    mirrors = 2 if name == "dst" else 3

    def function(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, *_: Any, **options: Any
    ) -> Any:
        if _is_other(norm, options):
            return NotImplemented
        cosine = ops.FUNCTIONS[name.replace("s", "c")]  # when it is first asked for: it comes with others
        x = _resized(np.moveaxis(x, axis, -1), n)
        signs = np.where(np.arange(x.shape[-1]) % 2, -1, 1).astype(x.dtype)
        if type == 1:
            y = _odd(x, norm, back=name == "idst")
        elif type == mirrors:
            y = np.flip(cosine(x * signs, -1, type, None, norm), axis=-1)
        else:
            y = cosine(np.flip(x, axis=-1), -1, type, None, norm) * signs
        return np.moveaxis(y, -1, axis)

    return function


def _resized(x: Any, n: int | None) -> Any:
    """The last axis cut to a length, or padded with zeros."""
    more = 0 if n is None else n - x.shape[-1]
    return np.pad(x, [*[(0, 0)] * (x.ndim - 1), (0, more)]) if more > 0 else x[..., :n]


def _odd(x: Any, norm: str | None, *, back: bool) -> Any:
    """The sine transform of type 1: the Fourier transform of the odd continuation, whose period is ``2 (n + 1)``."""
    zero, period = np.zeros_like(x[..., :1]), 2 * (x.shape[-1] + 1)
    whole = np.fft.rfft(np.concatenate([zero, x, zero, -np.flip(x, axis=-1)], axis=-1))
    powers = {"ortho": -0.5, "backward": -1.0 * back, "forward": -1.0 * (not back)}
    return -np.imag(whole)[..., 1:-1] * float(period) ** powers[norm or "backward"]


def _each(name: str) -> Callable[..., Any]:
    def function(
        x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, *_: Any, **options: Any
    ) -> Any:
        if _is_other(norm, options):
            return NotImplemented
        axes, sizes = _axes_and_sizes(x, s, axes)
        for axis, n in zip(axes, sizes or [None] * len(axes), strict=True):
            x = FUNCTIONS[name](x, type, n, axis, norm)
        return x

    return function


FUNCTIONS = {
    **{name: _one(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"{kind}{n}": _many(f"{kind}{n}") for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for n in "2n"},
    **{name: _cosine(name) for name in ("dct", "idct")},
    **{name: _sine(name) for name in ("dst", "idst")},
    **{f"{name}n": _each(name) for name in ("dct", "idct", "dst", "idst")},
}
_offered: list[Any] = []


def offer() -> None:
    """Tell SciPy, once it is there: programs that do not import its transforms do not wait for them."""
    transforms: Any = None if _offered else sys.modules.get("scipy.fft")
    if hasattr(transforms, "register_backend"):
        _offered.append(transforms)
        transforms.register_backend(Transforms)
