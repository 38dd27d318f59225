"""Derivatives and integrals along named dims."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import AxisError, Name
from namedgrad.linear import Like
from namedgrad.primitive import linear, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import check, pick, pick_one
from namedgrad.rules.dtypes import floating
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.movement import diff, join, pad, part_of
from namedgrad.rules.scans import cumsum
from namedgrad.rules.structure import (
    add,
    cast,
    contract,
    known_finite,
    make_like,
    multiply,
    reorder,
    subtract,
    total,
    where,
    zeros_spread,
)


def _read(coord: Any, dim: Any) -> tuple[Any, Any]:
    """Coordinate and dim; a name may come first, as in xarray's methods."""
    return (coord, dim) if is_place(coord) or not is_place(dim) else (dim, coord)


def is_place(coord: Any) -> bool:
    """Whether it is positions or a distance, or nothing, and not the name of a dim."""
    return coord is None or isinstance(coord, (DimArray, numbers.Number))


def _steps(coord: Any, x: DimArray, name: Name, what: str, unit: str | None = None) -> DimArray:
    """Distances between neighbours: an array along the dim, or a number; of dates in a unit of time, or in their own."""
    h = constant(1.0 if coord is None else coord, f"{what}: coord")
    if name not in h.names:
        return h
    if extent(h, name) != extent(x, name):
        raise AxisError(f"{what}: coord has {extent(h, name)} cells along {name!r}, the array {extent(x, name)}")
    if h.dtype.kind in "mM":
        ticks = cast(diff(cast(h, "int64"), check(h, name, what)), "float64")
        tick = np.array(1, h.dtype.str.replace("M", "m"))
        return ticks if unit is None else multiply(ticks, c(float(tick / np.array(1, f"m8[{unit}]"))))
    return diff(floating(h), check(h, name, what))


# ------------------------------------------------------------------------------------------------ derivatives


@operation(
    sample("real(a,six)", dim="six"), sample("real(a,six)", "real(six)", dim="six"),
    sample("real(a,nine)", "real(nine,a)", dim="nine", edge_order=2), sample("complex(a,six)", "positive()", dim="six", edge_order=2),
    method=True,
)  # fmt: skip
def differentiate(
    x: DimArray, coord: Any = None, dim: Name = None, edge_order: int = 1, *, datetime_unit: str | None = None
) -> DimArray:
    """Derivative along a dim by central differences, of second order also where the distances are uneven.

    Parameters
    ----------
    x : DimArray
    coord : DimArray or scalar, optional
        Positions along ``dim``, or the distance between neighbours; 1 by default. The name may also come first.
    dim : name
    edge_order : {1, 2}
        Order of the one-sided differences at the ends.
    datetime_unit : str, optional
        The unit of time, such as ``"s"``, in which distances count where ``coord`` holds dates; that of its dtype by default.

    Returns
    -------
    DimArray
        With the dims of ``x``, and those that ``coord`` adds, in the dtype of ``x``.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized, or ``coord`` has another size along it.
    ValueError
        If the dim has fewer than ``edge_order + 1`` cells.

    Notes
    -----
    As :func:`numpy.gradient` and xarray's ``differentiate``, whose coordinate is ``coord`` here. Linear in ``x``, and
    differentiable in ``coord``. Where distances are equal, a cell itself takes no part in its derivative.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.differentiate(ng.DimArray([0.0, 1.0, 4.0, 9.0], ("x",)), dim="x").data
    array([1., 2., 4., 5.])
    """
    coord, dim = _read(coord, dim)
    name = pick_one(x, dim, "differentiate")
    h = constant(1.0 if coord is None else coord, "differentiate: coord")
    x = floating(x)
    if name not in h.names:
        _enough(x, name, edge_order)
        out = _central(x, (name,), edge_order=edge_order)
        return out if coord is None else cast(_as(x, e.divide(out, h)), x.dtype)
    steps = _steps(coord, x, name, "differentiate", datetime_unit)
    return cast(slope(x, name, steps, edge_order, even=_is_even(h, name)), x.dtype)


_central = linear(
    "(n)->(n)", "central", transpose=lambda g, x, edge_order: _central_back(g, edge_order=edge_order)
)
_central_back = linear(
    "(n)->(n)", "central_back", transpose=lambda g, x, edge_order: _central(g, edge_order=edge_order)
)


def _enough(x: DimArray, name: Name, edge_order: int) -> None:
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    if extent(x, name) < edge_order + 1:
        raise ValueError(
            f"a derivative with edge_order={edge_order} needs {edge_order + 1} cells along {name!r}, got {extent(x, name)}"
        )


def _is_even(h: DimArray, name: Name) -> bool:
    """Whether positions are known to be equally spaced."""
    return h.level is None and h.names == (name,) and backends.may_look(h.raw) and even_step(h.raw) is not None


def even_step(positions: Any) -> Any:
    """The distance between positions on the host where it is the same everywhere, as NumPy tells it; else None."""
    steps = np.diff(positions)
    return steps[0] if steps.size and (steps == steps[0]).all() else None


def slope(x: DimArray, name: Name, d: DimArray, edge_order: int, *, even: bool) -> DimArray:
    """Second-order differences inside, of ``edge_order`` at the ends, as :func:`numpy.gradient`; ``d`` are distances."""
    _enough(x, name, edge_order)
    size = extent(x, name)
    slopes = e.divide(diff(x, name), d)
    a, b = part_of(d, name, None, -1), part_of(d, name, 1, None)
    if even:  # the cell itself takes no part, so a NaN in it does not matter
        inner = e.divide(subtract(part_of(x, name, 2, None), part_of(x, name, None, -2)), add(a, b))
    else:
        inner = e.divide(add(multiply(b, part_of(slopes, name, None, -1)), multiply(a, part_of(slopes, name, 1, None))), add(a, b))
    if not even and not known_finite(x):
        inner = where(e.isinf(part_of(x, name, 1, -1)), _summed(x, name, a, b), inner)
    first, last = part_of(slopes, name, 0, 1), part_of(slopes, name, size - 2, size - 1)
    if edge_order == 2:
        first = _extrapolated(first, part_of(slopes, name, 1, 2), part_of(d, name, 0, 1), part_of(d, name, 1, 2))
        before = part_of(d, name, size - 3, size - 2)
        last = _extrapolated(last, part_of(slopes, name, size - 3, size - 2), part_of(d, name, size - 2, None), before)
    out = join([first, inner, last] if size > 2 else [first, last], name)
    return _as(x, out)


def _summed(x: DimArray, name: Name, a: DimArray, b: DimArray) -> DimArray:
    """The slope from three cells, each with its weight: an infinite one is in both secants, with opposite signs."""
    both = add(a, b)
    low, middle, high = (part_of(x, name, *ends) for ends in ((None, -2), (1, -1), (2, None)))
    sides = subtract(multiply(e.divide(a, multiply(b, both)), high), multiply(e.divide(b, multiply(a, both)), low))
    return add(multiply(e.divide(subtract(b, a), multiply(a, b)), middle), sides)


def _extrapolated(edge: DimArray, next_: DimArray, h: DimArray, k: DimArray) -> DimArray:
    """The slope at the end of a parabola through three points, from its two secants."""
    return add(edge, multiply(e.divide(h, add(h, k)), subtract(edge, next_)))


@operation(
    sample("real(a,six)", dim="six"), sample("real(eight,six)", dim=("six", "eight"), spacing={"six": 0.5, "eight": 2.0}),
    sample("complex(a,six)", dim="six", spacing=0.25, edge_order=2),
)  # fmt: skip
def gradient(x: DimArray, dim: Any = None, spacing: Any = 1.0, edge_order: int = 1) -> Any:
    """Derivatives along several dims by central differences: :func:`differentiate` along each.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        All dims by default.
    spacing : scalar, DimArray or mapping of dim to either
        Distances between neighbours, or positions.
    edge_order : {1, 2}
        Order of the one-sided differences at the ends.

    Returns
    -------
    DimArray or tuple of DimArray
        One per dim, in the order of ``dim``; not in a tuple if there is but one.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If a dim has fewer than ``edge_order + 1`` cells.

    Notes
    -----
    As :func:`numpy.gradient` and ``torch.gradient``; for derivatives of functions see :func:`namedgrad.grad`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[0.0, 1.0], [10.0, 13.0]], ("x", "y"))
    >>> d_dx, d_dy = ng.gradient(a)
    >>> d_dx.data[0], d_dy.data[:, 0]
    (array([10., 12.]), array([1., 3.]))
    """
    names = pick(x, dim, "gradient")
    steps = spacing if isinstance(spacing, Mapping) else dict.fromkeys(names, spacing)
    out = tuple(differentiate(x, steps.get(n, 1.0), n, edge_order) for n in names)
    return out[0] if len(out) == 1 else out


# ------------------------------------------------------------------------------------------------ integrals


@operation(
    sample("real(a,b)", dim="b"), sample("real(a,b)", "real(b)", dim="b"), sample("real(a,six)", "real(a,six)", dim="six"),
    sample("complex(a,six)", "positive()", dim="six"), method=True,
)  # fmt: skip
def integrate(x: DimArray, coord: Any = None, dim: Any = None, *, datetime_unit: str | None = None) -> DimArray:
    """Integral along dims by the trapezoidal rule.

    Parameters
    ----------
    x : DimArray
    coord : DimArray or scalar, optional
        Positions along ``dim``, or the distance between neighbours; 1 by default. The names may also come first.
    dim : name or names
        Along several dims, one after the other, distances are 1.
    datetime_unit : str, optional
        The unit of time, such as ``"s"``, in which distances count where ``coord`` holds dates; that of its dtype by default.

    Returns
    -------
    DimArray
        Without the dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or ``coord`` has another size along it.

    Notes
    -----
    As xarray's ``integrate`` and :func:`numpy.trapezoid`. Linear in ``x``, and differentiable in ``coord``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.integrate(ng.DimArray([0.0, 1.0, 4.0], ("x",)), ng.DimArray([0.0, 1.0, 3.0], ("x",)), "x").item()
    5.5
    """
    coord, dim = _read(coord, dim)
    for name in pick(x, dim, "integrate"):
        x = _integral(x, coord, name, datetime_unit)
    return x


def _integral(x: DimArray, coord: Any, name: Name, unit: str | None) -> DimArray:
    """Where all lines have the same positions one contraction with their weights; else the sum of trapezoids.

    The gradients of a million cells in 1000 rows: 3 ms instead of 11 ms.
    """
    steps = _steps(coord, x, name, "integrate", unit)
    if extent(x, name) < 2 or steps.names != (name,) or x.dtype.kind not in "fc" or x.dtype.itemsize < 4:
        return total(_areas(floating(x), steps, name), (name,))
    half = multiply(c(0.5), steps)
    weights = add(*(pad(half, {name: ends}, constant_values=0) for ends in ((0, 1), (1, 0))))
    return contract(x, weights, (name,))


def _areas(x: DimArray, steps: DimArray, name: Name) -> DimArray:
    """The trapezoids between neighbours."""
    sides = add(part_of(x, name, 1, None), part_of(x, name, None, -1))
    return multiply(sides, multiply(c(0.5), steps))


@operation(
    sample("real(a,b)", dim="b"), sample("real(a,b)", "real(b)", dim="b"), sample("real(a,six)", "real(a,six)", dim="six"),
    sample("complex(a,six)", "positive()", dim="six"), method=True,
)  # fmt: skip
@in_single
def cumulative_integrate(x: DimArray, coord: Any = None, dim: Name = None, *, datetime_unit: str | None = None) -> DimArray:
    """Integral from the first cell of a dim to each, by the trapezoidal rule.

    Parameters
    ----------
    x : DimArray
    coord : DimArray or scalar, optional
        Positions along ``dim``, or the distance between neighbours; 1 by default. The name may also come first.
    dim : name
    datetime_unit : str, optional
        The unit of time, such as ``"s"``, in which distances count where ``coord`` holds dates; that of its dtype by default.

    Returns
    -------
    DimArray
        With the dims of ``x``; the first value is 0.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized, or ``coord`` has another size along it.

    Notes
    -----
    As xarray's ``cumulative_integrate``. Linear in ``x``, and differentiable in ``coord``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.cumulative_integrate(ng.DimArray([0.0, 1.0, 4.0], ("x",)), dim="x").data
    array([0. , 0.5, 3. ])
    """
    coord, dim = _read(coord, dim)
    name = pick_one(x, dim, "cumulative_integrate")
    steps = _steps(coord, x, name, "cumulative_integrate", datetime_unit)
    areas = cumsum(_areas(floating(x), steps, name), name, skipna=False)
    start = tuple(1 if n == name else s for n, s in zip(areas.names, areas.full_shape, strict=True))
    zeros = make_like(zeros_spread(areas, Like(areas.names, start, areas.dtype)), areas)
    out = join([zeros, areas], name) if extent(x, name) else areas
    return _as(x, out)



def _as(x: DimArray, out: DimArray) -> DimArray:
    """``out`` with the axes of ``x`` in front, in their order."""
    return reorder(out, (*x.names, *(n for n in out.names if n not in x.names)))
