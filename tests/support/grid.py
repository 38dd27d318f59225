"""The grid: per operation a reference, samples beyond those of its declaration, and special points with a closed form.

The files of ``tests/grid`` fill it in, one per family, by :func:`entry`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import namedgrad as ng
from namedgrad.primitive import Sample, sample
from tests.support.arrays import all_names

__all__ = ["GRID", "Entry", "Point", "data_array", "entry", "point", "points", "sample", "ufunc"]


class Point(NamedTuple):
    """A call with a known answer.

    ``gradients`` are those of the sum of ``cotangent * out`` with respect to the float operands, arrays or functions of
    the cotangent; None if there is no derivative.
    """

    operands: tuple[ng.DimArray, ...]
    kwargs: dict[str, Any]
    value: Any
    gradients: Sequence[Any] | None
    cotangent: Any


class Entry(NamedTuple):
    """What the tests know of an operation that its declaration does not say."""

    reference: Callable[..., Any]
    samples: tuple[Sample, ...]
    points: tuple[Point, ...]
    single: bool  #: whether its samples make sense where all sizes are 1


GRID: dict[str, Entry] = {}


def entry(
    name: str,
    reference: Callable[..., Any],
    samples: Sequence[Sample] = (),
    points: Sequence[Point] = (),
    *,
    single: bool = True,
) -> None:
    """Put an operation into the grid; ``reference`` takes DataArrays without coordinates, and gives one or several."""
    assert name not in GRID, f"{name} is in the grid already"
    GRID[name] = Entry(reference, tuple(samples), tuple(points), single)


def point(*operands: Any, value: Any = None, gradients: Sequence[Any] | None = None, cotangent: Any = None, **kwargs: Any) -> Point:
    """A special point; arrays without names get the dims p, q, r."""
    return Point(tuple(map(_named, operands)), kwargs, value, gradients, cotangent)


def points(table: Mapping[Any, tuple[Any, Any]], **kwargs: Any) -> list[Point]:
    """Special points of an elementwise function of one operand: ``{x: (value, slope)}``."""

    def one(x: Any, value: Any, slope: Any) -> Point:
        gradients = None if slope is None else [lambda c: np.conj(np.conj(c) * slope) if slope != 0 else 0 * np.ones_like(c)]
        return point([x], value=[value], gradients=gradients, **kwargs)

    return [one(x, value, slope) for x, (value, slope) in table.items()]


def _named(x: Any) -> ng.DimArray:
    if isinstance(x, ng.DimArray):
        return x
    data = np.asarray(x)
    return ng.DimArray(data, ("p", "q", "r")[: data.ndim])


def data_array(a: Any) -> Any:
    """A DimArray as a DataArray without coordinates; anything else as it is."""
    return xr.DataArray(a.to_numpy(), dims=all_names(a)) if isinstance(a, ng.DimArray) else a


def ufunc(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy or SciPy as a reference that aligns by name."""
    return lambda *xs, **kw: xr.apply_ufunc(f, *xs, kwargs=kw)


def by_method(name: str) -> Callable[..., Any]:
    """A method of DataArrays."""
    return lambda x, *more, **kw: getattr(x, name)(*more, **kw)


def along(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an array and an axis as one of a DataArray and a dim."""
    return lambda x, dim=None, **kw: x.copy(data=f(x.to_numpy(), axis=0 if dim is None else x.dims.index(dim), **kw))
