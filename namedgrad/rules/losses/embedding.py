"""Similarity and distance of vectors, and losses that bring related ones together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.array import DimArray, constant
from namedgrad.axes import Name
from namedgrad.backends import may_look
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import check, pick
from namedgrad.rules.dtypes import floating
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.layers.normalisation import square_sum
from namedgrad.rules.layers.unit_length import unit
from namedgrad.rules.losses.reducing import read, reduced
from namedgrad.rules.reductions import vector_norm
from namedgrad.rules.reductions.norms import apart
from namedgrad.rules.structure import add, contract, equal, multiply, select, subtract
from namedgrad.trace import innermost

EPSILON = 9.999999960041972e-13  # of squared lengths: PyTorch's 1e-12, as a float32


@operation(
    sample("real(a,six)", "real(a,six)", dim="six"),
    sample("real(a,six)", "real(c,six)", dim="six"),
    sample("real(a,six,c)", "real(c,six)", dim=("six", "c")),
)
@in_single
def cosine_similarity(x1: DimArray, x2: DimArray, *, dim: Any, eps: float = 1e-8) -> DimArray:
    """Cosine of the angle between vectors: their product divided by their lengths.

    Parameters
    ----------
    x1, x2 : DimArray
        Aligned by name.
    dim : name or names
        The dims of the vectors.
    eps : float
        Shorter lengths count as this, and have derivative 0.

    Returns
    -------
    DimArray
        Without ``dim``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    The length of a vector of zeros has derivative 0. In PyTorch ``torch.nn.functional.cosine_similarity``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.cosine_similarity(ng.DimArray([1.0, 0.0], ("x",)), ng.DimArray([3.0, 4.0], ("x",)), dim="x").item()
    0.6
    """
    x, y = floating(x1), floating(constant(x2, "cosine_similarity: the second vector"))
    dims = pick(x, dim, "cosine_similarity")
    sizes = [vector_norm(x, dims), vector_norm(y, pick(y, dim, "cosine_similarity"))]
    if not all(map(_multiplied_safely, sizes)):
        return contract(unit(x, dims, eps), unit(y, dims, eps), dims)
    lengths = [e.clip_low(s, c(eps)) for s in sizes]
    return e.divide(e.divide(contract(x, y, dims), lengths[0]), lengths[1])


def _multiplied_safely(length: DimArray) -> bool:
    """Whether the lengths of vectors are known to be such that no product of four overflows or vanishes."""
    raw, edge = innermost(length).raw, float(np.finfo(length.dtype).max) ** 0.2
    return may_look(raw) and bool(np.all((raw < edge) & ((raw > 1 / edge) | (raw == 0))))


@operation(sample("real(a,b)", "real(a,b)", dim="b"), sample("real(a,b)", "real(c,b)", dim="b", p=4.0), sample("real(a,b)", "real(b)", dim="b", p=3.0, eps=0.0),
           sample("real(a,b)", "real(b,a)", dim="b", p=float("inf"), keepdims=True))  # fmt: skip
@in_single
def pairwise_distance(
    x1: DimArray, x2: DimArray, *, dim: Name, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> DimArray:
    """Distance between vectors in the p-norm: ``norm(x1 - x2 + eps)``.

    Parameters
    ----------
    x1, x2 : DimArray
        Aligned by name: to measure all pairs, give the dims that count them two names.
    dim : name
        The dim of the vectors.
    p : float
        Of the norm, as for :func:`vector_norm`.
    eps : float
        Added to every difference, which keeps clear of 0.
    keepdims : bool
        Keep ``dim`` with size 1.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    At distance 0 the derivative is 0. In PyTorch ``torch.nn.functional.pairwise_distance``; see also :func:`cdist`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.pairwise_distance(ng.DimArray([3.0, 4.0], ("x",)), ng.zeros({"x": 2}), dim="x", eps=0.0).item()
    5.0
    """
    d = apart(constant(x1), constant(x2, "pairwise_distance: the second vector"))
    return vector_norm(add(d, c(eps)) if eps else d, check(d, dim, "pairwise_distance"), ord=p, keepdims=keepdims)


@operation(sample("real(a,six)", "real(a,six)", "sign(a)", dim="six"), sample("real(a,six)", "real(c,six)", "sign(a)", dim="six", margin=-0.5),
           sample("real(a,six)", "real(six)", "sign(c)", dim="six", reduction=None, margin=-0.25), sample("real(a,six,c)", "real(six,c)", "sign(a)", dim="six", reduce_dim="a", margin=-0.7))  # fmt: skip
@in_single
def cosine_embedding_loss(
    input1: DimArray,
    input2: DimArray,
    target: DimArray,
    *,
    dim: Name,
    margin: DimArray | float = 0.0,
    reduce_dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """``1 - cos`` of vectors that belong together (target 1); ``max(0, cos - margin)`` of those that do not (target -1).

    Parameters
    ----------
    input1, input2 : DimArray
        Vectors, aligned by name.
    target : DimArray
        Of 1 and -1, without ``dim``.
    dim : name
        The dim of the vectors.
    margin : float or DimArray
        Cosine up to which vectors are apart.
    reduce_dim : name or names, optional
        Dims to reduce; by default all that are left.
    reduction : {"mean", "sum", None}
        None: the loss of each pair.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    Squared lengths are increased by ``1e-12``, as in PyTorch: ``torch.nn.functional.cosine_embedding_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x, y = ng.DimArray([1.0, 0.0], ("x",)), ng.DimArray([3.0, 4.0], ("x",))
    >>> print(f"{ng.cosine_embedding_loss(x, y, 1, dim='x').item():.6g}")
    0.4
    """
    what = "cosine_embedding_loss"
    x, y, t = read(what, input1, input2=input2, target=target)
    dims = pick(x, dim, what)
    squares = [add(square_sum(v, pick(v, dim, what)), c(EPSILON)) for v in (x, y)]
    cos = e.divide(contract(x, y, dims), e.sqrt(multiply(*squares)))
    near = select(equal(t, c(1)), subtract(c(1), cos))
    apart = select(equal(t, c(-1)), e.clip_low(subtract(cos, constant(margin)), c(0)))
    return reduced(add(near, apart), (x, y, t), reduce_dim, reduction, what)


@operation(sample("real(a,b)", "real(a,b)", "real(a,b)", dim="b"), sample("real(a,b)", "real(b)", "real(c,b)", dim="b", swap=True, margin=2.0),
           sample("real(a,b)", "real(b,a)", "real(a,b)", dim="b", p=4.0, reduction=None, margin=4.0), sample("real(a,b,c)", "real(b,c)", "real(a,b)", dim="b", reduce_dim="a", p=3.0))  # fmt: skip
def triplet_margin_loss(
    anchor: DimArray,
    positive: DimArray,
    negative: DimArray,
    *,
    dim: Name,
    margin: DimArray | float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduce_dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """``max(0, margin + d(anchor, positive) - d(anchor, negative))`` with :func:`pairwise_distance`.

    Parameters
    ----------
    anchor, positive, negative : DimArray
        Vectors, aligned by name.
    dim : name
        The dim of the vectors.
    margin : float or DimArray
        By how much the negative should be further away.
    p, eps : float
        Of the distance.
    swap : bool
        Measure the negative from the positive, where that is nearer (Balntas et al., 2016).
    reduce_dim : name or names, optional
        Dims to reduce; by default all that are left.
    reduction : {"mean", "sum", None}
        None: the loss of each triplet.

    Returns
    -------
    DimArray
        Without ``dim``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    On the margin the derivative is that of the inner side. In PyTorch ``torch.nn.functional.triplet_margin_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.zeros({"x": 2})
    >>> print(f"{ng.triplet_margin_loss(x, x + 1.0, x + 2.0, dim='x', margin=2.0).item():.5g}")
    0.58579
    """

    def distance(x: DimArray, y: DimArray) -> DimArray:
        return pairwise_distance(x, y, dim=dim, p=p, eps=eps)

    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=distance,
        margin=margin,
        swap=swap,
        reduce_dim=reduce_dim,
        reduction=reduction,
    )


def _squared(x: DimArray, y: DimArray) -> DimArray:
    """The distance of the samples below."""
    return e.square(subtract(x, y))


@operation(sample("real(a,b)", "real(a,b)", "real(a,b)", distance_function=_squared), sample("real(a,b)", "real(b)", "real(c,b)", distance_function=_squared, swap=True),
           sample("real(a,b)", "real(b,a)", "real(a,b)", distance_function=_squared, reduction=None, margin=4.0))  # fmt: skip
def triplet_margin_with_distance_loss(
    anchor: DimArray,
    positive: DimArray,
    negative: DimArray,
    *,
    distance_function: Callable[[Any, Any], Any],
    margin: DimArray | float = 1.0,
    swap: bool = False,
    reduce_dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """``max(0, margin + d(anchor, positive) - d(anchor, negative))`` with a distance of one's own.

    Parameters
    ----------
    anchor, positive, negative : DimArray
        What the distance is between, aligned by name.
    distance_function : callable
        Of two DimArrays, a DimArray: ``lambda x, y: ng.pairwise_distance(x, y, dim="feature")``.
    margin : float or DimArray
        By how much the negative should be further away.
    swap : bool
        Measure the negative from the positive, where that is nearer (Balntas et al., 2016).
    reduce_dim : name or names, optional
        Dims to reduce; by default all that the distance leaves.
    reduction : {"mean", "sum", None}
        None: the loss of each triplet.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    On the margin the derivative is that of the inner side; equal distances that are swapped share it. In PyTorch
    ``torch.nn.functional.triplet_margin_with_distance_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([0.0, 1.0], ("x",))
    >>> ng.triplet_margin_with_distance_loss(x, x, x + 0.25, distance_function=lambda x, y: abs(x - y)).item()
    0.75
    """
    what = "triplet_margin_with_distance_loss"
    a, y, z = constant(anchor), constant(positive, f"{what}: the positive"), constant(negative, f"{what}: the negative")
    near, far = distance_function(a, y), distance_function(a, z)
    if swap:
        far = e.minimum(far, distance_function(y, z))
    loss = e.clip_low(add(subtract(near, far), constant(margin)), c(0))
    return reduced(loss, (a, y, z), reduce_dim, reduction, what)
