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
        return ops.FUNCTIONS[name](x, _axes(x, s, axes), s, norm)

    return function


def _axes(x: Any, s: Any, axes: Any) -> Any:
    """All axes where none are named, or the last ones, one for each size."""
    return tuple(range(-(x.ndim if s is None else len(s)), 0)) if axes is None else axes


def _cosine(name: str) -> Callable[..., Any]:
    def function(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, *_: Any, **options: Any
    ) -> Any:
        other = options.get("orthogonalize") not in (None, norm == "ortho")
        return NotImplemented if other else ops.FUNCTIONS[name](x, axis, type, n, norm)

    return function


FUNCTIONS = {
    **{name: _one(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"{kind}{n}": _many(f"{kind}{n}") for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for n in "2n"},
    **{name: _cosine(name) for name in ("dct", "idct")},
}
_offered: list[Any] = []


def offer() -> None:
    """Tell SciPy, once it is there: programs that do not import its transforms do not wait for them."""
    transforms: Any = None if _offered else sys.modules.get("scipy.fft")
    if hasattr(transforms, "register_backend"):
        _offered.append(transforms)
        transforms.register_backend(Transforms)
