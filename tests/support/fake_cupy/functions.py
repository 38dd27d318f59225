"""The functions of the stand-in: those of NumPy behind CuPy's signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.fake_cupy.array import NUMBERS, device, host, ndarray
from tests.support.fake_cupy.counts import stats

_MAKERS = {"array", "asarray", "asanyarray", "ascontiguousarray"}
_VIEWS = {
    "broadcast_to", "transpose", "moveaxis", "swapaxes", "expand_dims", "squeeze", "reshape", "ravel", "rollaxis",
    "flip", "diagonal", "broadcast_arrays", "atleast_1d", "atleast_2d", "atleast_3d", "split", "array_split",
    "result_type", "can_cast", "ndim", "shape", "size", "empty", "empty_like",
}  # fmt: skip
_WAITING = {
    "nonzero", "flatnonzero", "argwhere", "unique", "median", "array_equal", "allclose", "bincount", "histogram",
    "interp", "compress", "extract", "isin", "setdiff1d", "union1d", "intersect1d", "trim_zeros", "delete",
}  # fmt: skip
_ATOMIC = {"int32", "int64", "uint32", "uint64", "float32", "float64"}

_IN_SINGLE = {"maximum": np.fmax, "minimum": np.fmin}  # by fmaxf and fminf, for float64 as well


class Ufunc:
    """A universal function: no ``where=``, and few methods."""

    def __init__(self, f: np.ufunc, with_at: list[str]) -> None:
        self.f, self.__name__, self.with_at = f, f.__name__, with_at

    def __call__(self, *args: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind", **more: Any) -> Any:
        if more:
            raise TypeError(f"Wrong arguments {more}")
        given = [x.host if type(x) is ndarray else x if type(x) in NUMBERS else self._scalar(x) for x in args]
        stats.launches += 1
        target = out[0] if isinstance(out, tuple) else out
        if target is None:
            return device(self.f(*given) if dtype is None else self.f(*given, dtype=dtype))
        self.f(*given, out=target.host, casting=casting, **({} if dtype is None else {"dtype": dtype}))
        return target

    @staticmethod
    def _scalar(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            raise TypeError("Unsupported type list")
        return host(x)

    def at(self, a: ndarray, index: Any, b: Any) -> None:
        allowed = _ATOMIC | ({"float16"} if self.__name__ == "add" else set())
        if self.__name__ not in self.with_at:
            raise NotImplementedError(f"`{self.__name__}.at` is not supported yet")
        if a.dtype.name not in allowed:
            raise TypeError(f"{self.__name__}.at: unsupported dtype {a.dtype}")
        stats.launches += 1
        at, given = host(index), host(b)
        if self.__name__ in _IN_SINGLE and a.dtype.kind == "f":
            given = np.asarray(given, np.float32)
            a.host[at] = a.host[at].astype(np.float32)
        _IN_SINGLE.get(self.__name__, self.f).at(a.host, at, given)

    def reduce(self, a: ndarray, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        self._only_sums("reduce")
        return device(self.f.reduce(a.host, axis=axis, dtype=dtype, keepdims=keepdims))

    def accumulate(self, a: ndarray, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        self._only_sums("accumulate")
        return device(self.f.accumulate(a.host, axis=axis, dtype=dtype))

    def outer(self, a: ndarray, b: ndarray) -> Any:
        stats.launches += 1
        return device(self.f.outer(a.host, b.host))

    def _only_sums(self, method: str) -> None:
        if self.__name__ not in {"add", "multiply"}:
            raise NotImplementedError(f"`{self.__name__}.{method}` is not supported yet")
        stats.launches += 1


def function(f: Callable[..., Any], name: str, parameters: Any) -> Callable[..., Any]:
    """``f`` with CuPy's parameters."""
    makes, waits, launches, is_where = name in _MAKERS, name in _WAITING, name not in _VIEWS, name == "where"

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and isinstance(parameters, list) and (unknown := set(kwargs) - set(parameters)):
            raise TypeError(f"{name}() got an unexpected keyword argument {min(unknown)!r}")
        if makes and not isinstance(args[0], ndarray):
            return ndarray(stats.copy(np.array(args[0], *args[1:], **kwargs)))
        if makes and name != "array" and len(args) == 1 and not kwargs:
            return args[0]
        if is_where and not isinstance(args[0], ndarray):
            raise AttributeError(f"{type(args[0]).__name__!r} object has no attribute 'astype'")
        stats.syncs += waits or (is_where and len(args) == 1)
        stats.launches += launches
        return device(f(*map(host, args), **{k: host(v) for k, v in kwargs.items()}))

    call.__name__ = name
    return call


def _each(f: Callable[..., Any], *stacks: np.ndarray) -> np.ndarray:
    """``f`` of stacks of matrices; one that fails gives arbitrary numbers, the others what they should."""
    try:
        return f(*stacks)
    except np.linalg.LinAlgError as error:
        if "square" in str(error) or "dimension" in str(error):
            raise
        if stacks[0].ndim > 2:
            return np.array([_each(f, *several) for several in zip(*stacks, strict=True)])
        if f is np.linalg.cholesky:
            return _as_far_as_it_goes(*stacks)
        return np.full(stacks[-1].shape, 12345.0, np.result_type(*stacks, np.float32))


def _as_far_as_it_goes(a: np.ndarray) -> np.ndarray:
    """Columns of the Cholesky factor up to the first pivot that is not positive, and what is left of the others."""
    a = np.tril(a)
    for k in range(len(a)):
        if not np.real(a[k, k]) > 0:
            break
        a[k, k] = np.sqrt(a[k, k])
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.tril(np.outer(a[k + 1 :, k], a[k + 1 :, k].conj()))
    return a


def checked(name: str) -> Callable[..., Any]:
    """A function of ``numpy.linalg`` that gives arbitrary numbers where NumPy raises for the values of its matrices."""
    f = getattr(np.linalg, name)

    def call(a: ndarray, *more: ndarray) -> Any:
        stats.launches += 1
        if name == "solve" and more[0].ndim > 1 and a.shape[:-1] != more[0].shape[:-1]:
            raise ValueError("a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b")
        if name == "solve" and a.ndim > 2 and a.size and not more[0].size:
            raise ZeroDivisionError("division by zero")
        return device(_each(f, a.host, *map(host, more)))

    call.__name__ = name
    return call


def freely(name: str) -> Callable[..., Any]:
    """A function of ``numpy.linalg`` whose vectors have other directions."""
    f = getattr(np.linalg, name)

    def call(a: ndarray, *more: Any, **options: Any) -> Any:
        stats.launches += 1
        found = f(a.host, *more, **options)
        if not isinstance(found, tuple):
            return device(found)
        first, *_, last = found
        k = min(a.shape[-2:])
        signs = np.where(np.arange(k) % 2, 1, -1)
        if name == "eigh":
            return device((first, last * signs))
        first[..., :k] *= signs
        last[..., :k, :] *= signs[:, None]
        return device(found)

    call.__name__ = name
    return call


def of_less(name: str) -> Ufunc:
    """A function as CuPy writes it, which has less digits than NumPy's, or loses NaN."""

    def remainder(x: Any, y: Any) -> Any:
        out = x - np.floor_divide(x, y) * y
        return out if np.asarray(out).dtype.kind == "f" else np.remainder(x, y)

    def logaddexp2(x: Any, y: Any) -> Any:
        return np.where(np.equal(x, y), x + 1.0, np.maximum(x, y) + np.log2(1 + np.exp2(-np.absolute(x - y))))

    def sinc(x: Any) -> Any:
        return np.where(np.absolute(x) > 1e-9, np.sinc(x), 1).astype(np.sinc(x).dtype)

    f = {"remainder": remainder, "logaddexp2": logaddexp2, "sinc": sinc}[name]
    f.__name__ = name
    return Ufunc(f, [])  # type: ignore[arg-type]
