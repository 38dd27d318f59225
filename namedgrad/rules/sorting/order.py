"""Order along a dim: sort, argsort, partition, and the largest cells.

The order is taken at the point and stays fixed under differentiation: equal cells keep the order in which they are
stored (stable).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import Name
from namedgrad.backends import call
from namedgrad.linear import Map, like
from namedgrad.primitive import Primitive, operation, sample
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import pick_one
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing.maps import IndexMap, gather
from namedgrad.rules.movement.cuts import flip_axes, slice_of
from namedgrad.rules.structure import stamp, subtract
from namedgrad.squares import Length, near
from namedgrad.trace import apply, innermost


class _Along(Primitive):
    """One call of a kernel along one axis."""

    form, signature, keeps = "linear", "(n)->(m)", "constants"

    def lower(self, args: Sequence[DimArray], dim: Name, **params: Any) -> DimArray:
        x, raw = args[0], [a.raw for a in args]
        return make(call(self.kernel_for(*raw), *raw, x.names.index(dim), **params), x.names, x.hidden)


class _ArgSort(_Along):
    """Positions that sort along one axis, all or those of some ranks; no derivative."""

    def linear(self, *args: Any, **params: Any) -> Map | None:
        return None


_ARGSORT, _INVERSE, _RANKED, _PLACES = map(_ArgSort, ("argsort", "inverse_order", "ranked", "places_of"))


def argsort_of(x: DimArray, name: Name) -> DimArray:
    """Positions that sort an axis, whatever its name."""
    return apply(_ARGSORT, (x,), dim=name)


def inverse_order(order: DimArray, name: Name) -> DimArray:
    """Where in an order of an axis every position stands."""
    return apply(_INVERSE, (order,), dim=name)


def _ranked(x: DimArray, name: Name, start: int, stop: int) -> DimArray:
    """Some of these positions."""
    return apply(_RANKED, (x,), dim=name, start=start, stop=stop)


class _Arranged(_Along):
    """The cells of one axis in an order that their values decide."""

    signature = "(n)->(n)"

    def __call__(self, x: DimArray, dim: Name, **params: Any) -> DimArray:
        out: DimArray = apply(self, (x,), dim=dim, **params)
        cells = gather(x, {dim: self.order(innermost(out), innermost(x), dim, **params)}) if type(x) is Length else out
        return near(out, cells.known) if type(cells) is Length else out  # the same, of which more is known

    def order(self, out: DimArray, x: DimArray, dim: Name, **params: Any) -> DimArray:
        """Where the cells come from."""
        order = argsort_of(x, dim)
        if params:  # not the sorted order: the cell of every rank goes where the arrangement has that rank
            order = gather(order, {dim: inverse_order(argsort_of(out, dim), dim)})
        return order

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dim: Name, **params: Any) -> Map:
        order = self.order(innermost(out), innermost(ins[0]), dim, **params)
        return IndexMap(like(ins[0]), [stamp(order, axes.by_name())], (dim,))


class _OfRanks(_Arranged):
    """The cells of some ranks along one axis, in order."""

    signature = "(n)->(m)"

    def order(self, out: DimArray, x: DimArray, dim: Name, **params: Any) -> DimArray:
        return apply(_PLACES, (x, out), dim=dim, **params)


_SORT, _PARTITION, _OF_RANKS = _Arranged("sort"), _Arranged("partition"), _OfRanks("of_ranks")


@operation(sample("real(a,b)", dim="a"), sample("missing(a,b)", dim="b"), sample("real(a,b)", dim="b", descending=True), method=True,
           differentiable=False)
def argsort(x: DimArray, dim: Any = None, *, descending: bool = False) -> DimArray:
    """Positions along a dim that would sort it.

    Parameters
    ----------
    x : DimArray
    dim : name, optional
        Needed unless there is one dim only.
    descending : bool
        From the largest value to the smallest; NaN comes first then.

    Returns
    -------
    DimArray
        Integers with the dims of ``x``; no gradient passes. Equal cells keep their order, NaN comes last.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.

    Notes
    -----
    As :func:`numpy.argsort` with ``kind="stable"``, and ``torch.argsort`` with ``stable=True``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.argsort(ng.DimArray([3.0, 1.0, 2.0], ("x",)), "x").data
    array([1, 2, 0])
    """
    name = pick_one(x, dim, "argsort")
    return _order(stop_gradient(x), name, descending)


def _first(x: DimArray, name: Name, descending: bool, count: int) -> DimArray:
    """The first cells in order."""
    if not descending:
        return _OF_RANKS(x, name, start=0, stop=count)
    n = extent(x, name)
    turned = flip_axes(x, (name,))  # so that of equal cells the first gets the gradient
    return flip_axes(_OF_RANKS(turned, name, start=n - count, stop=n), (name,))


def _order(x: DimArray, name: Name, descending: bool, count: int | None = None) -> DimArray:
    """Positions in order, all or the first ones."""
    n = extent(x, name)
    k = n if count is None else count
    if not descending:
        return _ranked(x, name, 0, k) if k < n else argsort_of(x, name)
    turned = flip_axes(x, (name,))  # so that equal cells keep their order
    at = _ranked(turned, name, n - k, n) if k < n else argsort_of(turned, name)
    return flip_axes(subtract(c(n - 1), at), (name,))


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)", dim="b", descending=True), sample("missing(a,b)", dim="b"), method=True)
def sort(x: DimArray, dim: Any = None, *, descending: bool = False) -> DimArray:
    """Values in order along a dim.

    Parameters
    ----------
    x : DimArray
    dim : name, optional
        Needed unless there is one dim only.
    descending : bool
        From the largest value to the smallest; NaN comes first then.

    Returns
    -------
    DimArray
        With the dims of ``x``; NaN comes last.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.

    Notes
    -----
    The order is fixed at the point: the derivative moves with the cells, equal ones keep their order. As
    :func:`numpy.sort`, ``torch.sort`` (whose positions are :func:`argsort`) and ``torch.msort``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([3.0, 1.0, 2.0], ("x",))
    >>> ng.sort(x, "x").data
    array([1., 2., 3.])
    >>> weights = ng.DimArray([1.0, 10.0, 100.0], ("x",))
    >>> ng.grad(lambda x: (ng.sort(x, "x") * weights).sum())(x).data
    array([100.,   1.,  10.])
    """
    name = pick_one(x, dim, "sort")
    if descending:
        return flip_axes(_SORT(flip_axes(x, (name,)), name), (name,))
    return _SORT(x, name)


@operation(sample("real(a,b,c)", dim="b", kth=0), sample("real(nine,b)", dim="nine", kth=(2, -3)))
def partition(x: DimArray, dim: Any = None, *, kth: int | Sequence[int]) -> DimArray:
    """Values along a dim, those at ``kth`` in their sorted place, smaller ones before and larger ones behind.

    Parameters
    ----------
    x : DimArray
    dim : name, optional
        Needed unless there is one dim only.
    kth : int or sequence of int
        Places that are to be right.

    Returns
    -------
    DimArray
        With the dims of ``x``.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    IndexError
        If a place is out of range.

    Notes
    -----
    The derivative moves with the cells. As :func:`numpy.partition`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.partition(ng.DimArray([3.0, 1.0, 2.0], ("x",)), kth=0).data[0]
    np.float64(1.0)
    """
    name = pick_one(x, dim, "partition")
    return _PARTITION(x, name, kth=places(kth, extent(x, name), "partition"))


def places(kth: int | Sequence[int], size: int, what: str) -> tuple[int, ...]:
    """Places counted from the front, in order."""
    given = (kth,) if isinstance(kth, int) else tuple(kth)
    for k in given:
        if not -size <= k < size:
            raise IndexError(f"{what}: place {k} is out of range for {size} cells")
    return tuple(sorted({k % size for k in given}))


@operation(sample("real(a,b)", k=2, dim="b"), sample("real(nine,b)", k=3, dim="nine", largest=False))
def topk(
    x: DimArray, k: int, dim: Any = None, *, largest: bool = True, return_indices: bool = False
) -> DimArray | tuple[DimArray, DimArray]:
    """The ``k`` largest cells along a dim.

    Parameters
    ----------
    x : DimArray
    k : int
        How many.
    dim : name, optional
        Needed unless there is one dim only.
    largest : bool
        Else the smallest ones.
    return_indices : bool
        Give the positions as well.

    Returns
    -------
    DimArray
        In order, the largest (smallest) first, of equal cells the first first; with ``return_indices`` a tuple of it
        and of the positions.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If there are fewer cells than ``k``.

    Notes
    -----
    The derivative goes to the cells chosen. As ``torch.topk``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> values, at = ng.topk(ng.DimArray([3.0, 1.0, 4.0], ("x",)), 2, return_indices=True)
    >>> values.data, at.data
    (array([4., 3.]), array([2, 0]))
    """
    name = pick_one(x, dim, "topk")
    if not 0 <= k <= extent(x, name):
        raise ValueError(f"topk: k={k} of the {extent(x, name)} cells along {name!r}")
    if not return_indices:
        return _first(x, name, largest, k)
    at = _order(stop_gradient(x), name, largest, k)
    return gather(x, {name: at}), at


@operation(sample("real(a,b)", k=2, dim="b"), sample("real(nine)", k=9))
def kthvalue(
    x: DimArray, k: int, dim: Any = None, *, return_indices: bool = False
) -> DimArray | tuple[DimArray, DimArray]:
    """The ``k``-th smallest cell along a dim, counted from 1.

    Parameters
    ----------
    x : DimArray
    k : int
        From 1 to the size of the dim.
    dim : name, optional
        Needed unless there is one dim only.
    return_indices : bool
        Give the position as well.

    Returns
    -------
    DimArray
        Without the dim; with ``return_indices`` a tuple of it and of the position.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If there is no such cell.

    Notes
    -----
    The derivative goes to the cell at that position; equal cells count in their order. As ``torch.kthvalue``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> value, at = ng.kthvalue(ng.DimArray([3.0, 1.0, 4.0], ("x",)), 2, return_indices=True)
    >>> value.item(), at.item()
    (3.0, 0)
    """
    name = pick_one(x, dim, "kthvalue")
    if not 1 <= k <= extent(x, name):
        raise ValueError(f"kthvalue: k={k} is not between 1 and {extent(x, name)}, the size of {name!r}")
    if not return_indices:
        return slice_of(_OF_RANKS(x, name, start=k - 1, stop=k), name, 0)
    at = slice_of(_ranked(stop_gradient(x), name, k - 1, k), name, 0)
    return gather(x, {name: at}), at


def sort_axis(x: DimArray, name: Name) -> DimArray:
    """Values in ascending order along an axis, whatever its name."""
    return _SORT(x, name)
