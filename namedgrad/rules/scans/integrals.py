"""Integrals by the trapezoidal rule, and running ones."""

from __future__ import annotations

from typing import Any

from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import AxisError, Name
from namedgrad.linear import Like
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import check, pick
from namedgrad.rules.dtypes import floating
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.movement.differences import diff
from namedgrad.rules.movement.joining import join
from namedgrad.rules.movement.padding import pad
from namedgrad.rules.scans.sums import cumsum_axis
from namedgrad.rules.structure import add, cast, contract, equal, multiply, positions, where, zeros_spread


def _line(y: DimArray, x: Any, dim: Any, what: str) -> Name:
    """The dim to integrate along: that of the points, if they have but one, or of the values."""
    if dim is not None:
        return pick(y, dim, what)[0]
    for a in (x, y):
        if a is not None and constant(a).ndim == 1:
            return check(y, a.dims[0], what)
    raise AxisError(f"{what}: dim= must name one of {y.dims}")


@operation(sample("real(a,b)", dim="b"), sample("real(a,b)", "real(b)"), sample("real(a,b)", "real(a,b)", dim="b"),
           sample("real(a,b)", dim="a", dx=0.3))
def trapezoid(y: DimArray, x: Any = None, dim: Any = None, *, dx: Any = 1.0) -> DimArray:
    """Integral along a dim by the trapezoidal rule.

    Parameters
    ----------
    y : DimArray
        The values.
    x : DimArray, optional
        The points, met with ``y`` by name; evenly spaced ones by default.
    dim : name, optional
        Needed unless ``x`` or ``y`` has one dim only.
    dx : DimArray or float
        The distance of evenly spaced points.

    Returns
    -------
    DimArray
        Without the dim; 0 if it has fewer than two cells.

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or none is named.

    Notes
    -----
    ``sum((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2)``, differentiable in values and points. As :func:`numpy.trapezoid`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> y = ng.DimArray([1.0, 2.0, 4.0], ("x",))
    >>> ng.trapezoid(y, dx=0.5).item()
    2.25
    """
    name = _line(y, x, dim, "trapezoid")
    y, n = floating(y), extent(y, name)
    if x is None:
        at = positions(n, name, y)
        ends = e.logical_or(equal(at, c(0)), equal(at, c(n - 1)))
        half = cast(where(ends, c(0.5 if n > 1 else 0.0), c(1.0)), y.dtype.type(0).real.dtype)
        return multiply(contract(y, half, (name,)), constant(dx))
    step = diff(floating(x), name)
    zero = zeros_spread(step, Like((name,), (min(n, 1),), step.dtype))
    width = add(join([zero, step], name), join([step, zero], name))
    return multiply(contract(y, width, (name,)), c(0.5))


@operation(sample("real(a,b)", dim="b"), sample("real(a,b)", "real(b)"), sample("real(a,b)", dim="a", dx=0.3, initial=0.0))
@in_single
def cumulative_trapezoid(y: DimArray, x: Any = None, dim: Any = None, *, dx: Any = 1.0, initial: Any = None) -> DimArray:
    """Running integral along a dim by the trapezoidal rule.

    Parameters
    ----------
    y : DimArray
        The values.
    x : DimArray, optional
        The points, met with ``y`` by name; evenly spaced ones by default.
    dim : name, optional
        Needed unless ``x`` or ``y`` has one dim only.
    dx : DimArray or float
        The distance of evenly spaced points.
    initial : float, optional
        What the first cell of the result holds; without it the dim is one cell shorter.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or none is named.

    Notes
    -----
    As :func:`scipy.integrate.cumulative_trapezoid` and ``torch.cumulative_trapezoid``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.cumulative_trapezoid(ng.DimArray([1.0, 2.0, 4.0], ("x",)), initial=0).data
    array([0. , 1.5, 4.5])
    """
    name = _line(y, x, dim, "cumulative_trapezoid")
    y, n = floating(y), extent(y, name)
    sides = add(slice_of(y, name, slice(1, n)), slice_of(y, name, slice(0, max(n - 1, 0))))
    step = constant(dx) if x is None else diff(floating(x), name)
    out = cumsum_axis(multiply(multiply(sides, step), c(0.5)), name)
    if initial is None:
        return out
    return pad(out, {name: (1, 0)}, constant_values=initial)
