"""Vectors of a given length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, constant
from namedgrad.axes import Name, Names
from namedgrad.linear import CoreMap, Like, Map, like
from namedgrad.primitive import Primitive, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute
from namedgrad.rules.dims import number, pick
from namedgrad.rules.dtypes import floating
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.reductions.norms import vector_norm
from namedgrad.rules.reductions.ranges import in_range
from namedgrad.rules.structure import (
    guarded_contract,
    logical_not,
    multiply,
    relabel,
    reorder,
    scale,
    select,
    subtract,
    where,
)
from namedgrad.trace import apply, innermost


class _Unit(Primitive):
    """``x / max(length, eps)`` where ``length`` is that of ``x``: the derivative in ``x`` counts both."""

    form, signature = "core", "(n...),()->(n...)"

    def lower(self, args: Sequence[DimArray], dims: Names, eps: float) -> DimArray:
        x, length = args
        return reorder(e.divide(x, e.clip_low(length, c(eps))), x.names)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, eps: float) -> Map:
        frame = dict(zip(dims, axes.cores(len(dims)), strict=True))
        return _UnitMap(relabel(out, frame), ins[1], like(ins[0]), frame, eps, sum(need))


class _UnitMap(CoreMap):
    """``g`` less its part along the direction, divided by the length; it is its own transpose."""

    __slots__ = ("count",)

    def __init__(self, y: DimArray, length: DimArray, x: Like, frame: dict[Name, Name], eps: float, count: int) -> None:
        def project(g: DimArray) -> DimArray:
            along = select(logical_not(e.less(length, c(eps))), guarded_contract(g, y, tuple(frame.values())))
            low = e.clip_low(length, c(eps))
            some = where(e.greater(low, c(0.0)), low, c(1.0))  # else the direction is NaN, which only zeros outweigh
            return e.divide(subtract(g, scale(along, y)), some)

        super().__init__(lambda ts: project(ts[0]), lambda g: [project(g)], [x], [frame], frame)
        self.count = count

    def pull(self, g: DimArray) -> list[DimArray | None]:
        return [*super().pull(g), *[None] * (self.count - 1)]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        return super().push(ts[:1])


_UNIT = _Unit("unit_length")


def unit(x: DimArray, dims: Names, eps: float) -> DimArray:
    """Vectors of Euclidean length 1, or shorter ones divided by ``eps``."""
    return apply(_UNIT, (x, vector_norm(x, dims)), dims=dims, eps=eps)


@operation(sample("real(a,b)", dim="b"), sample("real(a,b)", dim=("a", "b"), p=1), sample("real(a,b)", dim="a", p=float("inf")), sample("real(a,b)", dim="b", p=3),
           sample("real(a,b)", dim="b", eps=100.0), sample("complex(a,b)", dim="b"))
@in_single
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
    dims, p = pick(x, dim, "normalize"), float(number(p, "normalize: p"))
    if p == 2 and dims and x.dtype.kind == "f":
        return unit(x, dims, float(eps))
    return reorder(e.divide(x, e.clip_low(vector_norm(x, dims, ord=p), c(float(eps)))), x.names)


@operation(sample("nonzero(a,b)", "real(a)", dim="b"), sample("nonzero(a,b)", "real()", dim=("a", "b")), sample("nonzero(a,b,c)", "real(b)", dim=("a", "c")))
@in_single
def weight_norm(direction: DimArray, length: DimArray, *, dim: Any) -> DimArray:
    """Weights given by their direction and their length: ``length * direction / norm(direction, dim)``.

    Parameters
    ----------
    direction, length : DimArray
    dim : name or names
        Dims of a vector: those that ``length`` lacks.

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
    >>> ng.weight_norm(ng.DimArray([[3.0, 4.0]], ("out", "in")), ng.DimArray([10.0], ("out",)), dim="in").data
    array([[6., 8.]])
    """
    direction, length = floating(direction), constant(length)
    dims = pick(direction, dim, "weight_norm")
    out = _stretched(direction, length, vector_norm(direction, dims), dims)
    return reorder(out, axes.in_order((*direction.names, *out.names)))


def _stretched(x: DimArray, length: DimArray, norm: DimArray, dims: Names) -> DimArray:
    """``x * (length / norm)`` where that cannot leave the range, two passes less over all cells in the gradient too."""
    if in_range(norm, 2):
        share = e.divide(length, norm)
        if in_range(absolute(innermost(share)), 2):
            return multiply(x, share)
    plain = x.dtype.kind != "f" or not dims
    return multiply(e.divide(x, norm) if plain else apply(_UNIT, (x, norm), dims=dims, eps=0.0), length)
