"""Extremes: the largest and smallest value over dims, and their distance; ties share the gradient equally."""

from __future__ import annotations

from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import Name, Names
from namedgrad.linear import Map, like
from namedgrad.primitive import LinearCore, Reduction, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import pick
from namedgrad.rules.dtypes import real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import HALF, SINGLE
from namedgrad.rules.reductions.common import counts, may_have_nan, over_all, refuse_empty, restore
from namedgrad.rules.structure import (
    cast,
    equal,
    if_likely,
    known_true,
    not_nan,
    relabel,
    select,
    spread,
    stamp,
    subtract,
    total,
)
from namedgrad.squares import Length, near
from namedgrad.trace import innermost


def _wide(x: DimArray, dtype: Any) -> Any:
    """``dtype``, in which ties are counted or added: in half precision more than 65,504 of them would be infinitely many."""
    return SINGLE if x.dtype == HALF else dtype


def _ties(y: DimArray, x: DimArray, nan: bool) -> DimArray:
    """Which cells hold ``y``, in the layout of ``x``, whatever axes ``y`` has beside; of ``nan``, also those of a NaN."""
    wide = spread(y, x)
    tie = equal(wide, x)
    if not (nan and x.dtype.kind == "f" and may_have_nan(y)):
        return tie
    return if_likely(not_nan(innermost(y)), lambda: tie, lambda: e.logical_or(tie, e.logical_and(e.isnan(x), e.isnan(wide))))


def shared_ties(y: DimArray, x: DimArray, *, nan: bool = True) -> tuple[DimArray, DimArray]:
    """Which cells of ``x`` share the derivative of a value ``y`` that ``x`` has somewhere, and how many."""
    tie = _ties(y, x, nan)
    n = counts(tie, tuple(n for n in x.names if n not in y.names), _wide(x, real_dtype(x)))
    return tie, e.maximum(n, c(1))


def pulled_ties(g: DimArray, tie: DimArray, n: DimArray) -> list[DimArray]:
    """The cotangent of such a value, shared."""
    return [select(tie, cast(e.divide(g, n), g.dtype))]


def pushed_ties(t: DimArray, tie: DimArray, n: DimArray) -> DimArray:
    """The tangent of such a value: the mean of those of the cells that share."""
    gone = tuple(m for m in tie.names if m not in n.names)
    if gone == tie.names[-1:] and known_true(equal(n, c(1))):  # of others it would have to be reordered
        return _of_one(t, tie, *gone)
    return cast(e.divide(total(cast(select(tie, t), _wide(t, t.dtype)), gone), n), t.dtype)


def _of_one(t: DimArray, tie: DimArray, dim: Name) -> DimArray:
    """That of the only cell that shares, or 0 if there is none: looked up, not summed with all others."""
    from namedgrad.rules.indexing.maps import gather
    from namedgrad.rules.reductions.places import argmax

    place = {dim: argmax(tie, dim, skipna=False)}
    return stamp(select(gather(tie, place), gather(t, place)), t.hidden)


class _Extreme(Reduction):
    """Its map holds which cells tie, in an eighth of the memory of the operand."""

    keeps = "constants"

    def __init__(self, name: str, *, nan: bool) -> None:
        super().__init__(name, None, None)
        self.nan = nan

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names) -> Map:
        frame = dict(zip(dims, axes.cores(len(dims)), strict=True))
        ties = shared_ties(out, relabel(ins[0], frame), nan=self.nan)
        return LinearCore(
            lambda ts: pushed_ties(ts[0], *ties), lambda g: pulled_ties(g, *ties), [like(ins[0])], [frame], {}
        )


largest, smallest = _Extreme("max", nan=True), _Extreme("min", nan=True)
_max_present, _min_present = _Extreme("max_present", nan=False), _Extreme("min_present", nan=False)  # of NaN alone nothing


def _extreme(of_all: Any, of_present: Any, x: DimArray, dim: Any, skipna: bool | None, keepdims: bool) -> DimArray:
    dims = pick(x, dim, of_all.name)
    if not dims:
        return x
    refuse_empty(x, dims, of_all.name)
    out = over_all(x, skipna, lambda: of_all(x, dims))
    out = of_present(x, dims) if out is None else out
    return restore(_of_lengths(out, x, dims) if type(x) is Length else out, x, dims, keepdims)


def _of_lengths(out: DimArray, x: Length, dims: Names) -> DimArray:
    """An extreme, of which is known what is known of a cell that has it."""
    from namedgrad.rules.indexing.maps import gather
    from namedgrad.rules.movement.stacking import merge
    from namedgrad.rules.reductions.places import argmax

    line = axes.core(-1)
    tie = merge(_ties(innermost(out), innermost(x), nan=False), dims, line)
    cell = gather(merge(x, dims, line), {line: argmax(tie, line, skipna=False)})
    return near(out, cell.known) if type(cell) is Length else out


@operation(sample("real(a,b,c)", dim="b"), sample("missing(a,b)", dim="a"), sample("real(a,b)"), method=True)
def max(x: DimArray, dim: Any = None, *, skipna: bool | None = None, keepdims: bool = False) -> DimArray:
    """Largest value over dims; ties share the gradient equally.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    keepdims : bool
        Keep the reduced dims with size 1.

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If the dims have no cell.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 4.0, 4.0], ("x",))
    >>> a.max("x").item()
    4.0
    >>> ng.grad(lambda a: a.max())(a).data
    array([0. , 0.5, 0.5])
    """
    return _extreme(largest, _max_present, x, dim, skipna, keepdims)


@operation(sample("real(a,b,c)", dim="b"), sample("missing(a,b)", dim="a"), sample("real(a,b)"), method=True)
def min(x: DimArray, dim: Any = None, *, skipna: bool | None = None, keepdims: bool = False) -> DimArray:
    """Smallest value over dims; ties share the gradient equally.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    keepdims : bool
        Keep the reduced dims with size 1.

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If the dims have no cell.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([[1.0, 4.0], [2.0, 0.0]], ("x", "y")).min("y").data
    array([1., 0.])
    """
    return _extreme(smallest, _min_present, x, dim, skipna, keepdims)


@operation(sample("real(a,b,c)", dim="b"), sample("missing(a,b)", dim="a"), sample("real(a,b)"))
def ptp(x: DimArray, dim: Any = None, *, skipna: bool | None = None, keepdims: bool = False) -> DimArray:
    """Peak to peak: the largest value less the smallest one.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    keepdims : bool
        Keep the reduced dims with size 1.

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If the dims have no cell.

    Notes
    -----
    The derivative is that of ``max - min``: ties share, of equal cells all have 0. As :func:`numpy.ptp`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ptp(ng.DimArray([3.0, -1.0, 2.0], ("x",))).item()
    4.0
    """
    high = max(x, dim, skipna=skipna, keepdims=keepdims)
    return subtract(high, min(x, dim, skipna=skipna, keepdims=keepdims))
