"""Vectors of a given length."""

from __future__ import annotations

from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, constant
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import pick
from namedgrad.rules.elementwise import c
from namedgrad.rules.layers.normalisation import floating
from namedgrad.rules.reductions.norms import vector_norm
from namedgrad.rules.structure import multiply, reorder


@operation(sample("real(a,b)", dim="b"), sample("real(a,b)", dim=("a", "b"), p=1), sample("real(a,b)", dim="a", p=float("inf")), sample("real(a,b)", dim="b", p=3),
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
    size = e.clip_low(vector_norm(x, pick(x, dim, "normalize"), ord=float(p)), c(float(eps)))
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
    out = multiply(e.divide(direction, vector_norm(direction, dims)), length)
    return reorder(out, axes.in_order((*direction.names, *out.names)))
