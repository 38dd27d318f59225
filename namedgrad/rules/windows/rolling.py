"""Rolling reductions, with xarray's arguments: windows that end at each cell, or have it at their centre."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import AxisError, Name, Names
from namedgrad.backends.windows import Span
from namedgrad.linear import Map, like
from namedgrad.primitive import LinearCore, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules import reductions, sorting
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import mapping
from namedgrad.rules.dtypes import real_dtype, widened
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import HALF, narrow, wide
from namedgrad.rules.methods import keep_attrs_by_name, keep_attrs_first
from namedgrad.rules.movement import broadcast_like, pad
from namedgrad.rules.reductions.places import place
from namedgrad.rules.structure import (
    cast,
    equal,
    multiply,
    negative,
    relabel,
    reorder,
    select,
    stamp,
    total,
    where,
)
from namedgrad.rules.windows.along import PerWindow, window_sums
from namedgrad.rules.windows.geometry import members, per_dim, private_name, whole, window_sizes
from namedgrad.rules.windows.products import window_products
from namedgrad.rules.windows.views import add_windows, strided_windows
from namedgrad.trace import apply, innermost


class Rolling:
    """Windows of a DimArray, one per cell: what :meth:`DimArray.rolling` gives.

    Parameters
    ----------
    x : DimArray
    window : mapping of dim to size
    min_periods : int, optional
        Fewer present cells than this give NaN; as many as a window has by default.
    center : bool or mapping of dim to bool
        Whether a cell is at the centre of its window, or the last of it.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 2.0, 4.0, 8.0], ("time",))
    >>> a.rolling(time=2).mean().data
    array([nan, 1.5, 3. , 6. ])
    >>> a.rolling(time=3, center=True, min_periods=1).sum().data
    array([ 3.,  7., 14., 12.])
    """

    __slots__ = ("half", "min_periods", "spans", "x")

    def __init__(self, x: DimArray, window: Any, min_periods: int | None = None, center: Any = False) -> None:
        size = window_sizes(x, window, "rolling")
        if isinstance(center, Mapping):
            center = {d: center.get(d, False) for d in size} | {d: v for d, v in center.items() if d not in size}
        middle = per_dim(center, size, "rolling: center")
        self.x, self.half = wide(x), x.dtype == HALF
        self.spans = {d: Span(n, extent(x, d), before=n // 2 if middle[d] else n - 1) for d, n in size.items()}
        if min_periods is not None and operator.index(min_periods) <= 0:
            raise ValueError("rolling: min_periods must be greater than 0, or None for a full window")
        self.min_periods = math.prod(size.values()) if min_periods is None else min_periods

    def __repr__(self) -> str:
        shown = ", ".join(f"{d}: {s.size}" for d, s in self.spans.items())
        return f"<Rolling ({shown}) of {self.x._summary()}>"

    # ---------------------------------------------------------------- windows

    def construct(
        self, window_dim: Any = None, *, stride: Any = 1, fill_value: Any = math.nan,
        sliding_window_view_kwargs: Any = None, **window_dim_kwargs: Hashable,
    ) -> DimArray:  # fmt: skip
        """The windows along new dims, which come last.

        Parameters
        ----------
        window_dim : name or mapping of dim to name
            Names of the dims of offsets.
        stride : int or mapping of dim to int
            Keep every so manieth window.
        fill_value : scalar
            What cells outside of the array hold; NaN makes integers floats.
        sliding_window_view_kwargs
            xarray's argument: changes nothing, as the windows are an array of their own.
        **window_dim_kwargs
            ``window_dim`` in keyword form.

        Returns
        -------
        DimArray

        Raises
        ------
        AxisError
            If a new name is missing, or taken.
        """
        given = window_dim_kwargs if window_dim is None else window_dim
        if not isinstance(given, Mapping):
            if len(self.spans) > 1:
                raise AxisError("construct: give the names of several new dims as a mapping of dim to new name")
            given = dict.fromkeys(self.spans, given)
        names = per_dim(given, self.spans, "construct: window_dim")
        if taken := [n for n in axes.check_names(names.values()) if n in self.x.names]:
            raise AxisError(f"construct: the dim {taken[0]!r} exists already; choose another name")
        return self._rounded(self._constructed(self.x, names, whole(stride, self.spans, "construct: stride"), fill_value))

    def _constructed(self, x: DimArray, names: Mapping[Name, Name], stride: Mapping[Name, int], fill: Any) -> DimArray:
        pads = {d: (s.before, s.size - 1 - s.before) for d, s in self.spans.items()}
        if fill is not False and x.dtype.kind in "biu":
            x = cast(x, np.result_type(x.dtype, type(fill))) if x.dtype.kind == "b" or isinstance(fill, float) else x
        x = pad(x, pads, constant_values=fill)
        whole_spans = {d: Span(s.size, -(-s.number // stride[d]), stride[d]) for d, s in self.spans.items()}
        return strided_windows(x, whole_spans, names)

    def _cells(self, x: DimArray, fill: Any) -> tuple[DimArray, Names]:
        """The windows along private dims, and these."""
        names = {d: private_name(d) for d in self.spans}
        return _offsets_first(self._constructed(x, names, dict.fromkeys(self.spans, 1), fill), (*names.values(),))

    # ---------------------------------------------------------------- counts

    def _counts(self, mask: DimArray | None) -> DimArray:
        """How many present cells each window has."""
        if mask is not None:
            most = math.prod(s.size for s in self.spans.values())  # bytes: 1 ms for seven of a million cells, not 9
            return window_sums(cast(mask, np.min_scalar_type(most)), self.spans)
        return functools.reduce(multiply.two, (members(self.x, d, s) for d, s in self.spans.items()), c(1))

    def _enough(self, out: DimArray, counts: DimArray) -> DimArray:
        """NaN where a window has too few present cells."""
        return self._rounded(reorder(where(e.greater_equal(counts, c(self.min_periods)), out, c(math.nan)), self.x.names))

    def _rounded(self, out: DimArray) -> DimArray:
        return narrow(out) if self.half else out

    # ---------------------------------------------------------------- reductions

    def count(self) -> DimArray:
        """Number of present cells."""
        mask = reductions.present(self.x, None)
        counts = self._counts(mask)
        return self._enough(counts if mask is not None else broadcast_like(counts, self.x), counts)

    def _summed(self, *, exact: bool = True) -> tuple[DimArray, DimArray]:
        """Sums of the present cells, of integers as such if ``exact``, and how many there are."""
        mask = reductions.present(self.x, None)
        x = self.x if mask is None else select(mask, self.x)
        if x.dtype.kind not in "fc":
            x = widened(x) if exact else cast(_numbers(x), "float64")
        return window_sums(x, self.spans), self._counts(mask)

    def sum(self) -> DimArray:
        """Sum of the present cells."""
        return self._enough(*self._summed())

    def mean(self) -> DimArray:
        """Mean of the present cells."""
        out, counts = self._summed(exact=False)
        dtype = real_dtype(out)
        return self._enough(e.divide(out, cast(e.maximum(counts, c(1)), dtype)), counts)

    def max(self) -> DimArray:
        """Largest present cell; ties share the gradient."""
        x = self._real("max")
        return self._enough(_peaks(x, self.spans), self._counts(reductions.present(x, None)))

    def min(self) -> DimArray:
        """Smallest present cell; ties share the gradient."""
        x = self._real("min")
        return self._enough(negative(_peaks(negative(x), self.spans)), self._counts(reductions.present(x, None)))

    def argmax(self) -> DimArray:
        """Position of the largest present cell, counted from the start of the window; no gradient passes."""
        return self._position("argmax", -math.inf)

    def argmin(self) -> DimArray:
        """Position of the smallest present cell, counted from the start of the window; no gradient passes."""
        return self._position("argmin", math.inf)

    def _position(self, what: str, fill: float) -> DimArray:
        x = stop_gradient(self._real(what))
        mask = reductions.present(x, None)
        runs, dims = self._cells(x if mask is None else where(mask, x, c(fill)), fill)
        return self._enough(cast(place(runs, dims, what, skipna=False), "float64"), self._counts(mask))

    def _real(self, what: str) -> DimArray:
        if self.x.dtype.kind == "c":
            raise TypeError(f"rolling {what}: complex numbers have no order")
        return self.x if self.x.dtype.kind == "f" else cast(self.x, np.result_type(self.x.dtype, "float64"))

    def prod(self) -> DimArray:
        """Product of the present cells."""
        mask = reductions.present(self.x, None)
        x = self.x if mask is None else where(mask, self.x, c(1))
        x = cast(x, np.prod(np.empty(0, x.dtype)).dtype) if x.dtype.kind in "biu" else x
        return self._enough(window_products(x, self.spans), self._counts(mask))

    def _by_cells(self, reduce: Callable[..., DimArray], **options: Any) -> DimArray:
        mask = reductions.present(self.x, None)
        sizes = [s.size for s in self.spans.values()]
        if mask is None and self.min_periods == math.prod(sizes) and all(s.size <= s.number for s in self.spans.values()):
            return self._by_full_windows(reduce, **options)
        runs, dims = self._cells(self.x, math.nan)
        return self._enough(reduce(runs, dims, **options), self._counts(mask))

    def _by_full_windows(self, reduce: Callable[..., DimArray], **options: Any) -> DimArray:
        """Where nothing is missing, and windows that are not full give NaN."""
        names = {d: private_name(d) for d in self.spans}
        full = {d: Span(s.size, s.number - s.size + 1) for d, s in self.spans.items()}
        runs, dims = _offsets_first(strided_windows(self.x, full, names), (*names.values(),))
        out = reduce(runs, dims, skipna=False, **options)
        ends = {d: (s.before, s.size - 1 - s.before) for d, s in self.spans.items()}
        return self._rounded(pad(out, ends, constant_values=math.nan))

    def var(self, *, ddof: int = 0) -> DimArray:
        """Variance of the present cells."""
        return self._by_cells(reductions.var, ddof=ddof)

    def std(self, *, ddof: int = 0) -> DimArray:
        """Standard deviation of the present cells."""
        return self._by_cells(reductions.std, ddof=ddof)

    def median(self) -> DimArray:
        """Median of the present cells."""
        return self._by_cells(sorting.median)


def _numbers(x: DimArray) -> DimArray:
    if x.dtype.kind in "mM":
        raise TypeError(
            f"rolling mean of {x.dtype}: windows of dates have no sum; take numbers, (x - origin) / np.timedelta64(1, 's'), "
            "and give dates back afterwards"
        )
    return x


def _offsets_first(runs: DimArray, offsets: Names) -> tuple[DimArray, Names]:
    """Windows laid out such that what is made of them has long runs of neighbours, not the few cells of a window.

    Gradients of a million windows of seven: 120 ms instead of 320.
    """
    return reorder(runs, (*offsets, *(n for n in runs.names if n not in offsets))), offsets


# ------------------------------------------------------------------------------------------------ extremes


class _Peaks(PerWindow):
    """The largest present cells of windows along dims, -inf without any; ties share the gradient."""

    keeps = "constants"

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], spans: dict[Name, Span]) -> Map:
        (x,) = ins
        frame = dict(zip(spans, axes.cores(len(spans)), strict=True))
        offsets = axes.cores(2 * len(spans))[: len(spans)]
        ties, count = (stamp(relabel(a, frame), axes.by_name()) for a in _ties(innermost(x), innermost(out), spans, offsets))
        lie = {frame[d]: s for d, s in spans.items()}
        new = dict(zip(lie, offsets, strict=True))
        sizes = {frame[d]: extent(x, d) for d in spans}
        return LinearCore(
            lambda ts: e.divide(total(select(ties, strided_windows(ts[0], lie, new)), offsets), count),
            lambda g: [add_windows(select(ties, e.divide(g, count)), lie, new, sizes)],
            [like(x)],
            [frame],
            frame,
        )


def _ties(x: DimArray, y: DimArray, spans: Mapping[Name, Span], offsets: Names) -> tuple[DimArray, DimArray]:
    """Which cells of each window share the gradient, and how many."""
    pads = {d: (s.before, s.size - 1 - s.before) for d, s in spans.items()}
    full = {d: Span(s.size, s.number) for d, s in spans.items()}
    runs = strided_windows(pad(x, pads, constant_values=math.nan), full, dict(zip(spans, offsets, strict=True)))
    ties = equal(_offsets_first(runs, offsets)[0], y)
    return ties, e.maximum(total(cast(ties, x.dtype), offsets), c(1))


_PEAKS = _Peaks("window_fmax")


def _peaks(x: DimArray, spans: Mapping[Name, Span]) -> DimArray:
    return apply(_PEAKS, (x,), spans=dict(spans))


# ------------------------------------------------------------------------------------------------ as functions and as a method


def rolling(x: DimArray, /, dim: Any = None, min_periods: int | None = None, center: Any = False, **window: int) -> Rolling:
    """Windows that end at each cell, or have it at their centre, to be reduced: xarray's method.

    Parameters
    ----------
    x : DimArray
    dim : mapping of dim to size of the window
        Or as keywords: ``a.rolling(time=3)``.
    min_periods : int, optional
        Fewer present cells than this give NaN; as many as a window has by default.
    center : bool or mapping of dim to bool
        Whether a cell is at the centre of its window, or the last of it.
    **window
        The mapping in keyword form.

    Returns
    -------
    Rolling
        With ``construct`` and the reductions ``sum mean max min prod var std median count argmax argmin``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 2.0, 4.0], ("time",))
    >>> ng.grad(lambda a: a.rolling(time=2).sum().sum())(a).data
    array([1., 2., 1.])
    """
    return Rolling(x, mapping(x, dim, window, "rolling"), min_periods, center)


_DOC = """{summary}

    Parameters
    ----------
    x : DimArray
    window : mapping of dim to size
    min_periods : int, optional
        Fewer present cells than this give NaN; as many as a window has by default.
    center : bool or mapping of dim to bool
        Whether a cell is at the centre of its window, or the last of it.
    {option}
    Returns
    -------
    DimArray
        With the dims of ``x``: a window per cell, smaller at the ends.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    {notes} Counterpart: the reductions of :meth:`xarray.DataArray.rolling`, also as ``a.rolling(x=3).{name}()``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 2.0, 4.0, 8.0], ("x",))
    >>> ng.rolling_{name}(a, {{"x": 2}}, min_periods=1).data.round(3)
    {example}
    """
_DDOF = "ddof : int\n        Delta degrees of freedom.\n"


def _declare(name: str, summary: str, notes: str, example: str, *, option: str = "", differentiable: bool = True) -> None:
    reduce = getattr(Rolling, name)

    if option:

        def function(x: DimArray, window: Any, *, min_periods: int | None = None, center: Any = False, ddof: int = 0) -> Any:
            return reduce(Rolling(x, window, min_periods, center), ddof=ddof)
    else:

        def function(x: DimArray, window: Any, *, min_periods: int | None = None, center: Any = False) -> Any:  # type: ignore[misc]
            return reduce(Rolling(x, window, min_periods, center))

    function.__name__ = function.__qualname__ = f"rolling_{name}"
    function.__doc__ = _DOC.format(summary=summary, notes=notes, example=example, name=name, option=option)
    operation(
        sample("real(a,eight)", window={"eight": 3}), sample("missing(a,nine)", window={"nine": 4}, min_periods=2, center=True),
        sample("real(six,nine)", window={"six": 2, "nine": 3}, min_periods=1, center={"nine": True}),
        differentiable=differentiable,
    )(function)  # fmt: skip


_PLACES = "Counted from the start of the window, of several dims in their order; the first of several. No gradient passes."

# fmt: off
_declare("sum", "Sum of windows.", "Missing cells have gradient 0.", "array([ 1.,  3.,  6., 12.])")
_declare("mean", "Mean of windows.", "Missing cells have gradient 0.", "array([1. , 1.5, 3. , 6. ])")
_declare("max", "Largest cell of windows.", "Ties share the gradient; missing cells have gradient 0.", "array([1., 2., 4., 8.])")
_declare("min", "Smallest cell of windows.", "Ties share the gradient; missing cells have gradient 0.", "array([1., 1., 2., 4.])")
_declare("prod", "Product of windows.", "The derivative never divides.", "array([ 1.,  2.,  8., 32.])")
_declare("var", "Variance of windows.", "Missing cells have gradient 0.", "array([0.  , 0.25, 1.  , 4.  ])", option=_DDOF)
_declare("std", "Standard deviation of windows.", "Where it is 0 its derivative is 0.", "array([0. , 0.5, 1. , 2. ])", option=_DDOF)
_declare("median", "Median of windows.", "Missing cells have gradient 0.", "array([1. , 1.5, 3. , 6. ])")
_declare("count", "Number of present cells of windows.", "No derivative.", "array([1., 2., 2., 2.])", differentiable=False)
_declare("argmax", "Position of the largest cell in windows.", _PLACES, "array([1., 1., 1., 1.])", differentiable=False)
_declare("argmin", "Position of the smallest cell in windows.", _PLACES, "array([1., 0., 0., 0.])", differentiable=False)
# fmt: on

keep_attrs_first(Rolling, ("sum", "mean", "max", "min", "prod", "var", "std", "median", "count", "argmax", "argmin"))
keep_attrs_by_name(Rolling, ("construct",))
