"""Vectors of a given length."""

from __future__ import annotations

import math
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, constant
from namedgrad.axes import Names
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute
from namedgrad.rules.contraction.distances import euclidean, length_of
from namedgrad.rules.dims import pick
from namedgrad.rules.elementwise import c
from namedgrad.rules.layers.normalisation import floating
from namedgrad.rules.movement import merge
from namedgrad.rules.reductions import max as largest
from namedgrad.rules.reductions import real_dtype
from namedgrad.rules.structure import cast, multiply, not_equal, reorder, total


def _length(x: DimArray, dims: Names, p: float) -> DimArray:
    """The p-norm over dims, with a derivative of 0 where it is 0."""
    if p == 2 and dims:
        return euclidean(absolute(x) if x.dtype.kind == "c" else x, dims)
    if p == 0:
        return total(cast(not_equal(x, c(0)), real_dtype(x)), dims)
    size = absolute(x)
    if p == math.inf:
        return largest(size, dims, skipna=False)
    if p == 1 or not dims:
        return total(size, dims)
    name = axes.fresh("cell")
    return length_of(merge(size, dims, name), name, p)


@operation(sample("real(a,b)", dim="b"), sample("real(a,b)", dim=("a", "b"), p=1), sample("real(a,b)", dim="a", p=math.inf), sample("real(a,b)", dim="b", p=3),
           sample("real(a,b)", dim="b", eps=100.0), sample("complex(a,b)", dim="b"))
def normalize(x: DimArray, dim: Any, p: float = 2.0, *, eps: float = 1e-12) -> DimArray:
    """Vectors divided by their length: ``x / max(norm, eps)``.

    Parameters
    ----------
    x : DimArray
    dim : name or names
        Dims of a vector.
    p : float
        The norm: 2 (Euclidean), 1, ``inf``, 0 (how many are not 0), or any other positive number.
    eps : float
        The smallest length that is divided by.

    Returns
    -------
    DimArray
        With the dims of ``x``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    Below ``eps`` the derivative is ``1 / eps``, also at 0. ``torch.nn.functional.normalize``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.normalize(ng.DimArray([3.0, 4.0], ("x",)), "x").data
    array([0.6, 0.8])
    """
    x = floating(x)
    size = e.clip_low(_length(x, pick(x, dim, "normalize"), float(p)), c(float(eps)))
    return reorder(e.divide(x, size), x.names)


@operation(sample("nonzero(a,b)", "real(a)"), sample("nonzero(a,b)", "real()"), sample("nonzero(a,b,c)", "real(b)", dim=("a", "c")))
def weight_norm(direction: DimArray, length: DimArray, *, dim: Any = None) -> DimArray:
    """Weights given by their direction and their length: ``length * direction / norm(direction, dim)``.

    Parameters
    ----------
    direction, length : DimArray
    dim : name or names, optional
        Dims of a vector; by default those that ``length`` lacks.

    Returns
    -------
    DimArray
        With the dims of ``direction``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    The gradient in the direction is orthogonal to it (Salimans and Kingma, 2016); a direction of length 0 gives NaN.
    ``torch.nn.utils.parametrizations.weight_norm``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.weight_norm(ng.DimArray([[3.0, 4.0]], ("out", "in")), ng.DimArray([10.0], ("out",))).data
    array([[6., 8.]])
    """
    direction, length = floating(direction), constant(length)
    dims = tuple(n for n in direction.dims if n not in length.names) if dim is None else pick(direction, dim, "weight_norm")
    out = multiply(e.divide(direction, _length(direction, dims, 2.0)), length)
    return reorder(out, axes.in_order((*direction.names, *out.names)))
