"""The array of the stand-in: a NumPy array that only functions of the stand-in can reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.support.fake_cupy.counts import stats

NAMESPACE: dict[str, Any] = {}  # the functions of the stand-in, filled in by the package
NUMBERS = frozenset({bool, int, float, complex})  # what most functions are given besides arrays
_SHUFFLE = np.random.default_rng(0)


class ndarray:  # noqa: N801 - the name that it stands for
    """An array on the device."""

    __slots__ = ("host",)
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, host: np.ndarray) -> None:
        self.host = host

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` explicitly.")

    shape = property(lambda self: self.host.shape)
    dtype = property(lambda self: self.host.dtype)
    ndim = property(lambda self: self.host.ndim)
    size = property(lambda self: self.host.size)
    nbytes = property(lambda self: self.host.nbytes)
    itemsize = property(lambda self: self.host.itemsize)
    strides = property(lambda self: self.host.strides)
    flags = property(lambda self: self.host.flags)
    T = property(lambda self: ndarray(self.host.T))
    real = property(lambda self: ndarray(self.host.real))
    imag = property(lambda self: ndarray(self.host.imag))

    # ---------------------------------------------------------------- to the host: each of these waits

    def get(self) -> np.ndarray:
        stats.syncs += 1
        return self.host.copy()

    def item(self) -> Any:
        return self.get().item()

    def tolist(self) -> Any:
        return self.get().tolist()

    def __bool__(self) -> bool:
        return bool(self.get())

    def __float__(self) -> float:
        return float(self.get())

    def __int__(self) -> int:
        return int(self.get())

    __index__ = __int__

    def __complex__(self) -> complex:
        return complex(self.get())

    # ---------------------------------------------------------------- on the device

    def __len__(self) -> int:
        return len(self.host)

    def __iter__(self) -> Iterator[ndarray]:
        return (ndarray(np.asarray(row)) for row in self.host)

    def __repr__(self) -> str:
        return f"fake_cupy.{self.host!r}"

    def astype(self, dtype: Any, copy: bool = True) -> ndarray:
        stats.launches += 1
        return ndarray(self.host.astype(dtype, copy=copy))

    def copy(self, order: Any = "C") -> ndarray:
        stats.launches += 1
        return ndarray(self.host.copy(order))

    def view(self, dtype: Any = None) -> ndarray:
        return ndarray(self.host.view(self.dtype if dtype is None else dtype))

    def __getitem__(self, key: Any) -> ndarray:
        index = _on_host(key, self.host)
        stats.launches += _is_advanced(key)
        return ndarray(np.asarray(self.host[index]))

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, np.ndarray):
            raise ValueError("a NumPy array cannot be assigned; use cupy.asarray")  # noqa: TRY004 - what CuPy raises
        index, new = _on_host(key, self.host), host(value)
        stats.launches += 1
        if not _is_advanced(key):
            self.host[index] = new
            return
        cells = np.arange(self.size).reshape(self.shape)[index]
        order = _SHUFFLE.permutation(cells.size)  # of several writers to one cell any may be the last
        places = np.unravel_index(cells.reshape(-1)[order], self.shape)  # in memory, axes may be in any order
        self.host[places] = np.broadcast_to(new, cells.shape).reshape(-1)[order]

    # ---------------------------------------------------------------- NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        found = NAMESPACE.get(ufunc.__name__)
        if found is None or any(map(_is_foreign, args)):
            return NotImplemented
        return found(*args, **kwargs) if method == "__call__" else getattr(found, method)(*args, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any(t is not ndarray and t is not np.ndarray for t in types):
            return NotImplemented
        place = func.__module__.rpartition(".")[2]
        functions = vars(NAMESPACE[place]) if place in {"linalg", "fft"} else NAMESPACE
        found = functions.get(func.__name__)
        foreign = any(not issubclass(t, (ndarray, np.ndarray)) for t in types)
        return NotImplemented if found is None or foreign else found(*args, **kwargs)


# ------------------------------------------------------------------------------------------------ operators and methods

_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "matmul": "matmul",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "rshift": "right_shift",
}  # fmt: skip
_COMPARE = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}
_UNARY = {"neg": "negative", "abs": "absolute", "invert": "invert"}
_METHODS = {
    "sum", "prod", "mean", "max", "min", "argmax", "argmin", "cumsum", "cumprod", "reshape", "transpose", "ravel",
    "squeeze", "swapaxes", "dot", "any", "all", "clip", "take", "repeat", "trace", "diagonal", "std", "var", "argsort",
}  # fmt: skip


def _operator(name: str, *, swapped: bool = False) -> Callable[..., Any]:
    def operator(self: ndarray, other: Any) -> Any:
        if type(other) is ndarray:
            other = other.host
        elif type(other) not in NUMBERS and not isinstance(other, (bool, int, float, complex, np.generic)):
            return NotImplemented
        stats.launches += 1
        f = NAMESPACE[name].f
        return device(f(other, self.host) if swapped else f(self.host, other))

    return operator


def _unary(name: str) -> Callable[..., Any]:
    def operator(self: ndarray) -> Any:
        return NAMESPACE[name](self)

    return operator


def _method(name: str) -> Callable[..., Any]:
    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        if name in {"reshape", "transpose"} and len(args) > 1:
            args = (args,)
        return NAMESPACE[name](self, *args, **kwargs)

    return method


for _python, _name in (_BINARY | _COMPARE).items():
    setattr(ndarray, f"__{_python}__", _operator(_name))
for _python, _name in _BINARY.items():
    setattr(ndarray, f"__r{_python}__", _operator(_name, swapped=True))
for _python, _name in _UNARY.items():
    setattr(ndarray, f"__{_python}__", _unary(_name))
for _name in _METHODS:
    setattr(ndarray, _name, _method(_name))


# ---------------------------------------------------------------------------------------------- between host and device


def host(x: Any) -> Any:
    """What a function of NumPy may see: the host side of arrays, scalars, nests of them; host arrays are refused."""
    if type(x) is ndarray:
        return x.host
    if x is None or type(x) in NUMBERS:
        return x
    if isinstance(x, (tuple, list)):
        return type(x)(host(v) for v in x)
    if isinstance(x, np.ndarray) or _is_foreign(x):
        raise TypeError(f"Unsupported type {type(x)}")
    return x


def _is_foreign(x: Any) -> bool:
    """Whether another library than NumPy speaks for an array."""
    return hasattr(x, "__array_ufunc__") and not isinstance(x, (ndarray, np.ndarray, np.generic))


def device(x: Any) -> Any:
    """What a function of NumPy gave, on the device; a scalar becomes a 0-d array."""
    if type(x) is np.ndarray:
        return ndarray(x)
    if isinstance(x, (np.ndarray, np.generic)):
        return ndarray(np.asarray(x))
    if hasattr(x, "_fields"):  # what functions of numpy.linalg give
        return type(x)(*map(device, x))
    return type(x)(device(v) for v in x) if type(x) in {tuple, list} else x


def _parts(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _is_advanced(key: Any) -> bool:
    return any(isinstance(k, (ndarray, list, np.ndarray)) for k in _parts(key))


def _is_mask(k: Any) -> bool:
    return isinstance(k, ndarray) and k.dtype.kind == "b"


def _axes_of(k: Any) -> int:
    """How many axes of an array an item of its index takes."""
    return k.ndim if _is_mask(k) else int(k is not None and k is not Ellipsis)


def _on_host(key: Any, target: np.ndarray) -> tuple[Any, ...]:
    """An index for the host array; positions out of range wrap, boolean masks wait, host arrays are copied."""
    used = sum(_axes_of(k) for k in _parts(key))
    out: list[Any] = []
    axis = 0
    for k in _parts(key):
        if isinstance(k, (list, np.ndarray)):
            k = ndarray(stats.copy(np.asarray(k)))  # noqa: PLW2901 - accepted at the price of a copy
        if k is Ellipsis:
            axis += target.ndim - used
        stats.syncs += _is_mask(k)
        axis += _axes_of(k)
        if isinstance(k, ndarray):
            k = k.host if _is_mask(k) else k.host % max(target.shape[axis - 1], 1)  # noqa: PLW2901
        out.append(k)
    return tuple(out)
