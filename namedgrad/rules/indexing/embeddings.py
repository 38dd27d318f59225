"""Rows of a table looked up by number: embedding, embedding_bag."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError, Name, Names
from namedgrad.linear import Like
from namedgrad.primitive import elementwise, mask, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import check, pick
from namedgrad.rules.dtypes import real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing.maps import gather
from namedgrad.rules.indexing.positions import beside, named_index, wrapped
from namedgrad.rules.indexing.reduce import Spot, counts, reduced
from namedgrad.rules.indexing.search import searchsorted
from namedgrad.rules.structure import (
    add,
    cast,
    equal,
    multiply,
    not_equal,
    positions,
    relabel,
    select,
    total,
    where,
    zeros_spread,
)
from namedgrad.trace import innermost

# The first operand's values, with its derivative where the second is true, or times the second.
_let = elementwise("let_through", lambda y, x, m: mask(m), None, kernel="first_of")
_graded = elementwise("graded", lambda y, x, f: f, None, kernel="first_of")


class _Lookup:
    """A table, the rows that are looked up, and how."""

    def __init__(self, index: Any, weight: Any, dim: Name, padding_idx: int | None, what: str) -> None:
        weight = constant(weight, f"{what}: the table")
        check(weight, dim, what)
        self.weight, self.dim, self.size = weight, dim, extent(weight, dim)
        found = named_index(index if not isinstance(index, int) else np.asarray(index), dim)
        if found.dtype.kind not in "iu":
            raise TypeError(f"{what}: the index has dtype {found.dtype}; use integers")
        self.index = beside(wrapped(found, dim, self.size, weight), weight)
        self.padding = None
        if padding_idx is not None:
            if not -self.size <= padding_idx < self.size:
                raise IndexError(f"{what}: padding_idx={padding_idx} is out of range for {dim!r} of size {self.size}")
            self.padding = padding_idx % self.size

    def normed(self, max_norm: float | None, norm_type: float, over: Names) -> DimArray:
        """The table with rows that are longer than ``max_norm`` scaled down to it."""
        if max_norm is None:
            return self.weight
        length = _norm(self.weight, norm_type, over)
        factor = e.divide(c(max_norm), add(length, c(1e-7)))
        return multiply(self.weight, where(e.greater(length, c(max_norm)), factor, c(1.0)))

    def frequency(self) -> DimArray:
        """How often the row of each position is looked up, in its slice."""
        at = Spot([self.index], (self.dim,), self.index.dims)
        line = zeros_spread(innermost(self.weight), Like((self.dim,), (self.size,), self.weight.dtype))
        return gather(counts(line, at, real_dtype(self.weight)), {self.dim: self.index})

    def rows(self, weight: DimArray, *, by_frequency: bool) -> DimArray:
        """The rows; that of the padding has no derivative."""
        out = gather(weight, {self.dim: self.index})
        if self.padding is not None:
            out = _let.two(out, not_equal(self.index, c(self.padding)))
        if by_frequency:
            out = _graded.two(out, e.divide(c(1), self.frequency()))
        return out


def _norm(x: DimArray, norm_type: float, over: Names) -> DimArray:
    size = e.absolute_real(x)
    if math.isinf(norm_type):
        return size.max(over, skipna=False)
    if norm_type == 2:
        return e.length(total(e.square(x), over))
    whole = total(e.power(size, c(norm_type)), over)
    zero = equal(whole, c(0))
    return where(zero, c(0.0), e.power(where(zero, c(1.0), whole), c(1 / norm_type)))


def _features(weight: DimArray, dim: Name, features: Any, what: str) -> Names:
    return tuple(n for n in weight.dims if n != dim) if features is None else pick(weight, features, what)


@operation(sample("index_b(a)", "real(b,c)", dim="b"), sample("index_b(a,c)", "real(b,nine)", dim="b"),
           sample("index_six(a,c)", "real(six,b)", dim="six", max_norm=1.0))
def embedding(
    index: Any, weight: DimArray, dim: Name, *, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, features: Any = None
) -> DimArray:  # fmt: skip
    """Rows of a table looked up by number.

    Parameters
    ----------
    index : DimArray
        Integers; vectorized or not, as the table is.
    weight : DimArray
        The table.
    dim : name
        The dim of the table that counts its rows.
    padding_idx : int, optional
        A row that has no gradient.
    max_norm : float, optional
        Rows that are longer are scaled down to this length. The table itself stays as it is.
    norm_type : float
        The p of the length.
    scale_grad_by_freq : bool
        Divide the gradient of every row by the number of times that it is looked up, in its slice.
    features : name or names, optional
        The dims of the table over which lengths are taken; all but ``dim`` by default.

    Returns
    -------
    DimArray
        The dims of the table, ``dim`` replaced by those of the index.

    Raises
    ------
    AxisError
        If the dim is unknown or vectorized, or sizes differ.
    IndexError
        If a number is out of range.

    Notes
    -----
    ``torch.nn.functional.embedding``. Rows that are looked up repeatedly accumulate. Scaling to ``max_norm`` is part of
    the function and of its derivative; PyTorch changes the table in place instead, and differentiates what is left.

    Examples
    --------
    >>> import namedgrad as ng
    >>> table = ng.DimArray([[1.0, 2.0], [3.0, 4.0]], ("word", "feature"))
    >>> ng.embedding(ng.DimArray([1, 1, 0], ("text",)), table, "word").data.tolist()
    [[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]
    """
    look = _Lookup(index, weight, dim, padding_idx, "embedding")
    table = look.normed(max_norm, norm_type, _features(look.weight, dim, features, "embedding"))
    return look.rows(table, by_frequency=scale_grad_by_freq)


@operation(sample("index_b(a,c)", "real(b,nine)", dim="b", over="c"), sample("index_b(a,six)", "real(b,c)", dim="b", over="six", mode="max", padding_idx=0),
           sample("index_six(a,c)", "real(six,b)", "real(a,c)", dim="six", over="c", mode="sum", padding_idx=0))
def embedding_bag(
    index: Any, weight: DimArray, per_sample_weights: Any = None, *, dim: Name, over: Name, offsets: Any = None,
    mode: str = "mean", padding_idx: int | None = None, include_last_offset: bool = False, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, features: Any = None, new_dim: Name | None = None
) -> DimArray:  # fmt: skip
    """Rows of a table looked up by number and reduced in bags.

    Parameters
    ----------
    index : DimArray
        Integers; vectorized or not, as the table is.
    weight : DimArray
        The table.
    per_sample_weights : DimArray, optional
        A factor for every number, with ``mode="sum"`` only.
    dim : name
        The dim of the table that counts its rows.
    over : name
        The dim of the index that is reduced.
    offsets : integer array or DimArray, optional
        Where along ``over`` each bag starts, in ascending order; by default all of ``over`` is one bag.
    mode : {"mean", "sum", "max"}
    padding_idx : int, optional
        A row that takes no part.
    include_last_offset : bool
        Whether the offsets end with the end of the last bag.
    max_norm, norm_type, scale_grad_by_freq, features
        As for :func:`embedding`.
    new_dim : name, optional
        The dim of the bags, if the offsets have no name; ``over`` by default.

    Returns
    -------
    DimArray
        The dims of the table, ``dim`` replaced by the other dims of the index, and by that of the offsets. A bag without
        rows is 0.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or sizes differ.
    IndexError
        If a number is out of range.
    ValueError
        If the mode is unknown, or weights are given with another mode than ``"sum"``.

    Notes
    -----
    ``torch.nn.functional.embedding_bag``. Rows that tie in ``"max"`` share the gradient equally.

    Examples
    --------
    >>> import namedgrad as ng
    >>> table = ng.DimArray([1.0, 2.0, 4.0], ("word",))
    >>> text = ng.DimArray([0, 1, 2], ("text",))
    >>> ng.embedding_bag(text, table, dim="word", over="text", offsets=[0, 1], mode="sum").data
    array([1., 6.])
    """
    if mode not in ("mean", "sum", "max"):
        raise ValueError(f"embedding_bag: mode={mode!r} is not one of mean, sum, max")
    if per_sample_weights is not None and mode != "sum":
        raise ValueError(f"embedding_bag: per_sample_weights need mode='sum', not {mode!r}")
    look = _Lookup(index, weight, dim, padding_idx, "embedding_bag")
    over = check(look.index, over, "embedding_bag")
    if over in look.weight.names and over != dim:
        raise AxisError(f"embedding_bag: {over!r} is a dim of the table {describe(look.weight)} too; rename it in the index")
    table = look.normed(max_norm, norm_type, _features(look.weight, dim, features, "embedding_bag"))
    rows = look.rows(table, by_frequency=scale_grad_by_freq)
    taking = None if look.padding is None else not_equal(look.index, c(look.padding))
    if per_sample_weights is not None:
        rows = multiply(rows, constant(per_sample_weights))
    if offsets is None:
        return _one_bag(rows, taking, over, mode)
    bags, name, count = _bags(look.index, offsets, over, new_dim, include_last=include_last_offset)
    return _bags_reduced(rows, taking, Spot([bags], (name,), (over,)), count, mode)


def _one_bag(rows: DimArray, taking: DimArray | None, over: Name, mode: str) -> DimArray:
    if mode == "max":
        if not extent(rows, over):
            return total(rows, (over,))
        filled = rows if taking is None else where(taking, rows, c(-math.inf))
        out = filled.max(over, skipna=False)
        return out if taking is None else where(taking.any(over), out, c(0.0))
    whole = total(rows if taking is None else select(taking, rows), (over,))
    if mode == "sum":
        return whole
    n = c(extent(rows, over) or 1) if taking is None else e.maximum(total(cast(taking, real_dtype(rows)), (over,)), c(1))
    return e.divide(whole, n)


def _bags(index: DimArray, offsets: Any, over: Name, new_dim: Name | None, *, include_last: bool) -> tuple[DimArray, Name, int]:
    """The number of the bag of every position, the dim of the bags, and how many there are."""
    starts = named_index(offsets, over if new_dim is None else new_dim)
    if starts.ndim != 1 or starts.dtype.kind not in "iu":
        raise AxisError(f"embedding_bag: offsets {describe(starts)} need integers along one dim")
    (name,) = starts.dims
    count = extent(starts, name) - include_last
    if include_last:
        starts = starts.isel({name: slice(0, count)})
    aside = axes.local(("bag", name))
    along = positions(extent(index, over), over, index)
    starts = beside(starts, index)
    bags = searchsorted(relabel(starts, {name: aside}), along, aside, side="right")
    return add(bags, c(-1)), name, count


def _bags_reduced(rows: DimArray, taking: DimArray | None, at: Spot, count: int, mode: str) -> DimArray:
    (name,) = at.dims
    line = zeros_spread(rows, Like((name,), (count,), rows.dtype))
    if mode == "max":
        filled = rows if taking is None else where(taking, rows, c(-math.inf))
        some = counts(line, at, np.dtype(np.intp), taking)
        return where(e.greater(some, c(0)), reduced(line, filled, at, "amax"), c(0.0))
    whole = reduced(line, rows if taking is None else select(taking, rows), at, "sum")
    if mode == "sum":
        return whole
    return e.divide(whole, e.maximum(counts(line, at, real_dtype(rows), taking), c(1)))
