"""Arrays by name: ``zeros``, ``ones``, ``full``, ``arange``, ``linspace``, ``eye`` and their ``_like`` forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, describe, make
from namedgrad.axes import NONE, AxisError, Name
from namedgrad.trace import innermost


def _backend(like: Any) -> Any:
    """The backend of ``like``, a DimArray or raw array; NumPy by default."""
    if like is None:
        return backends.NUMPY
    return backends.backend_of(innermost(like).raw if isinstance(like, DimArray) else like)


def _dtype(dtype: Any, like: Any, default: Any = float) -> np.dtype[Any]:
    return np.dtype(dtype if dtype is not None else getattr(like, "dtype", default))


def _build(raw: Any, names: Iterable[Name], vectorized: Iterable[Name] | str) -> DimArray:
    return DimArray(raw, names, vectorized=vectorized)


def full(
    sizes: Mapping[Any, int], value: Any, *, dtype: Any = None, like: Any = None, vectorized: Iterable[Any] | str = ()
) -> DimArray:
    """Array of one value.

    Parameters
    ----------
    sizes : mapping of name to size
    value : scalar
        A DimArray without dims will do: gradients reach it.
    dtype : dtype, optional
        That of ``like`` by default, else that of the value.
    like : array, optional
        Its backend is used, and its dtype where none is given.
    vectorized : names, optional
        Those of the names that are batch axes.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a name is repeated or reserved.
    ValueError
        If the value has dims.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.full({"x": 2}, 3.0).data
    array([3., 3.])
    """
    if not isinstance(sizes, Mapping):
        raise TypeError(f"sizes are given by name, such as {{'x': 3}}, not as {sizes!r}")
    names = axes.check_names(sizes)
    value = _single(value, "full")
    if value.level is not None or value.names or backends.is_array(value.raw):
        kind = _dtype(dtype, like, value.dtype)
        return _times(full(sizes, 1, dtype=kind, like=value if like is None else like, vectorized=vectorized), value)
    backend = _backend(like)
    raw = backends.call(backend.full, tuple(sizes.values()), value.raw, _dtype(dtype, like, value.dtype))
    return _build(backends.call(backend.copy, raw), names, vectorized)


def _single(value: Any, what: str) -> DimArray:
    """One number, or one for each slice."""
    value = constant(value, f"{what}: the value")
    if value.dims:
        repeat = "use .broadcast_like(...) to repeat it"
        raise ValueError(f"{what}: the value must be a scalar, got {describe(value)}; {repeat}")
    return value


def _times(ones: DimArray, value: DimArray) -> DimArray:
    """A value that is being differentiated, or is an array, in every cell."""
    from namedgrad.rules.structure import cast, multiply

    return cast(multiply(ones, cast(value, ones.dtype)), ones.dtype)


def zeros(sizes: Mapping[Any, int], *, dtype: Any = None, like: Any = None, vectorized: Any = ()) -> DimArray:
    """Array of zeros.

    Parameters
    ----------
    sizes : mapping of name to size
    dtype : dtype, optional
        That of ``like`` by default, else float64.
    like : array, optional
        Its backend is used, and its dtype where none is given.
    vectorized : names, optional
        Those of the names that are batch axes.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a name is repeated or reserved.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.zeros({"b": 2, "x": 3}, vectorized="b")
    <DimArray (x: 3) vectorized (b: 2) float64>
    array([[0., 0., 0.],
           [0., 0., 0.]])
    """
    return full(sizes, 0, dtype=_dtype(dtype, like), like=like, vectorized=vectorized)


def ones(sizes: Mapping[Any, int], *, dtype: Any = None, like: Any = None, vectorized: Any = ()) -> DimArray:
    """Array of ones.

    Parameters
    ----------
    sizes : mapping of name to size
    dtype : dtype, optional
        That of ``like`` by default, else float64.
    like : array, optional
        Its backend is used, and its dtype where none is given.
    vectorized : names, optional
        Those of the names that are batch axes.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a name is repeated or reserved.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 2}, dtype="float32").data
    array([1., 1.], dtype=float32)
    """
    return full(sizes, 1, dtype=_dtype(dtype, like), like=like, vectorized=vectorized)


def arange(dim: Name, *bounds: Any, dtype: Any = None, like: Any = None, vectorized: Any = ()) -> DimArray:
    """Evenly spaced values along one dim.

    Parameters
    ----------
    dim : name
    *bounds : numbers
        ``stop``, or ``start, stop``, or ``start, stop, step``, as for :func:`numpy.arange`.
    dtype : dtype, optional
        That of the bounds by default.
    like : array, optional
        Its backend is used, and its dtype where none is given.
    vectorized : names, optional
        Those of the names that are batch axes.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the name is reserved.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.arange("x", 3).data, ng.arange("x", 1.0, 2.0, 0.5).data
    (array([0, 1, 2]), array([1. , 1.5]))
    """
    host = np.arange(*bounds, dtype=dtype)
    return _build(backends.call(_backend(like).asarray, host), axes.check_names((dim,)), vectorized)


def linspace(
    dim: Name, start: Any, stop: Any, num: int = 50, *, dtype: Any = None, like: Any = None, vectorized: Any = ()
) -> DimArray:
    """Evenly spaced values along one dim, both ends included.

    Parameters
    ----------
    dim : name
    start, stop : numbers
        DimArrays without dims will do: gradients reach them.
    num : int
        How many.
    dtype : dtype, optional
        That of ``like`` by default, else float64.
    like : array, optional
        Its backend is used, and its dtype where none is given.
    vectorized : names, optional
        Those of the names that are batch axes.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the name is reserved.
    ValueError
        If a bound has dims.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.linspace("x", 0, 1, 5).data
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    first, last = _single(start, "linspace"), _single(stop, "linspace")
    for b in (first, last):
        if b.level is not None or b.names or backends.is_array(b.raw):
            cells = arange(dim, num, like=b if like is None else like, vectorized=vectorized)
            return _between(cells, first, last, num - 1, _dtype(dtype, like))
    host = np.linspace(first.raw, last.raw, num, dtype=_dtype(dtype, like))
    return _build(backends.call(_backend(like).asarray, host), axes.check_names((dim,)), vectorized)


def _between(cells: DimArray, first: DimArray, last: DimArray, parts: int, dtype: np.dtype[Any]) -> DimArray:
    """Points in the places ``cells`` as NumPy computes them, between bounds that are differentiated, or arrays."""
    from namedgrad.rules.elementwise import divide, floor
    from namedgrad.rules.structure import add, cast, equal, multiply, subtract, where

    steps = cast(cells, np.dtype(float))
    points = add(multiply(steps, divide(subtract(last, first), constant(max(parts, 1)))), first)
    points = where(equal(cells, constant(parts)), last, points) if parts > 0 else points
    return cast(floor(points) if dtype.kind in "iu" else points, dtype)


def fftfreq(
    dim: Name, n: int, d: Any = 1.0, *, dtype: Any = None, like: Any = None, vectorized: Any = ()
) -> DimArray:
    """Frequencies of :func:`fft` along one dim, in cycles per unit of the spacing.

    Parameters
    ----------
    dim : name
    n : int
        Length of the transform.
    d : scalar
        Distance between neighbours.
    dtype : dtype, optional
        That of ``like`` by default, else float64.
    like : array, optional
        Its backend is used, and its dtype where none is given.
    vectorized : names, optional
        Those of the names that are batch axes.

    Returns
    -------
    DimArray
        From 0 up, then the negative ones, as :func:`numpy.fft.fftfreq`.

    Raises
    ------
    AxisError
        If the name is reserved.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.fftfreq("frequency", 4, 0.5).data
    array([ 0. ,  0.5, -1. , -0.5])
    """
    host = np.fft.fftfreq(n, d).astype(_dtype(dtype, like))
    return _build(backends.call(_backend(like).asarray, host), axes.check_names((dim,)), vectorized)


def rfftfreq(
    dim: Name, n: int, d: Any = 1.0, *, dtype: Any = None, like: Any = None, vectorized: Any = ()
) -> DimArray:
    """Frequencies of :func:`rfft` along one dim, in cycles per unit of the spacing.

    Parameters
    ----------
    dim : name
    n : int
        Length of the transform.
    d : scalar
        Distance between neighbours.
    dtype : dtype, optional
        That of ``like`` by default, else float64.
    like : array, optional
        Its backend is used, and its dtype where none is given.
    vectorized : names, optional
        Those of the names that are batch axes.

    Returns
    -------
    DimArray
        From 0 up, as :func:`numpy.fft.rfftfreq`.

    Raises
    ------
    AxisError
        If the name is reserved.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.rfftfreq("frequency", 4, 0.5).data
    array([0. , 0.5, 1. ])
    """
    host = np.fft.rfftfreq(n, d).astype(_dtype(dtype, like))
    return _build(backends.call(_backend(like).asarray, host), axes.check_names((dim,)), vectorized)


def eye(row: Name, column: Name, n: int, *, dtype: Any = None, like: Any = None, vectorized: Any = ()) -> DimArray:
    """Identity matrix over two names.

    Parameters
    ----------
    row, column : names
    n : int
        Size of both.
    dtype : dtype, optional
        That of ``like`` by default, else float64.
    like : array, optional
        Its backend is used, and its dtype where none is given.
    vectorized : names, optional
        Those of the names that are batch axes.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the two names are equal, or reserved.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.eye("i", "j", 2)
    <DimArray (i: 2, j: 2) float64>
    array([[1., 0.],
           [0., 1.]])
    """
    if row == column:
        raise AxisError(f"eye needs two different names, got {row!r} twice")
    raw = backends.call(_backend(like).eye, n, n, 0, _dtype(dtype, like))
    return _build(raw, axes.check_names((row, column)), vectorized)


def full_like(x: DimArray, value: Any, *, dtype: Any = None, like: Any = None, vectorized: Any = None) -> DimArray:
    """Array of one value that is otherwise like another array.

    Parameters
    ----------
    x : DimArray
        Gives dims, sizes, vectorized axes, dtype and backend.
    value : scalar
    dtype : dtype, optional
        Another dtype.
    like : array, optional
        Its backend is used instead.
    vectorized : names, optional
        Those of the names that are batch axes, instead of those of ``x``.

    Returns
    -------
    DimArray

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.full_like(ng.ones({"x": 2}), 7.0).data
    array([7., 7.])
    """
    if not isinstance(x, DimArray):
        return _without_names(x, value, dtype, given={"like": like, "vectorized": vectorized})
    value = _single(value, "full_like")
    if value.level is not None or value.names or backends.is_array(value.raw):
        return _times(full_like(x, 1, dtype=dtype, like=like, vectorized=vectorized), value)
    backend = _backend(x if like is None else like)
    raw = backends.call(backend.copy, backends.call(backend.full, x.full_shape, value.raw, _dtype(dtype, x)))
    out = make(raw, x.names, x.hidden if vectorized is None else NONE)
    return out if vectorized is None else DimArray(raw, x.names, vectorized=vectorized)


def _without_names(x: Any, value: Any, dtype: Any, given: Mapping[str, Any]) -> Any:
    """The same for xarray objects and arrays with numbered axes, by their own function."""
    if any(v is not None for v in given.values()):
        raise TypeError(
            f"full_like: {' and '.join(k for k, v in given.items() if v is not None)} is for DimArrays only"
        )
    if type(x).__module__.partition(".")[0] == "xarray":
        import xarray as xr

        return xr.full_like(x, value, dtype=dtype)
    return np.full_like(x, value, dtype=dtype)


def zeros_like(x: DimArray, *, dtype: Any = None, like: Any = None, vectorized: Any = None) -> DimArray:
    """Zeros that are otherwise like another array.

    Parameters
    ----------
    x : DimArray
        Gives dims, sizes, vectorized axes, dtype and backend.
    dtype : dtype, optional
        Another dtype.
    like : array, optional
        Its backend is used instead.
    vectorized : names, optional
        Those of the names that are batch axes, instead of those of ``x``.

    Returns
    -------
    DimArray

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.zeros_like(ng.ones({"x": 2})).data
    array([0., 0.])
    """
    return full_like(x, 0, dtype=dtype, like=like, vectorized=vectorized)


def ones_like(x: DimArray, *, dtype: Any = None, like: Any = None, vectorized: Any = None) -> DimArray:
    """Ones that are otherwise like another array.

    Parameters
    ----------
    x : DimArray
        Gives dims, sizes, vectorized axes, dtype and backend.
    dtype : dtype, optional
        Another dtype.
    like : array, optional
        Its backend is used instead.
    vectorized : names, optional
        Those of the names that are batch axes, instead of those of ``x``.

    Returns
    -------
    DimArray

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones_like(ng.zeros({"x": 2}), dtype=int).data
    array([1, 1])
    """
    return full_like(x, 1, dtype=dtype, like=like, vectorized=vectorized)
