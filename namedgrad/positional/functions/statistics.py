"""Covariances of the rows of a matrix, running extremes, and phases unwrapped."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.positional.array import ordered
from namedgrad.positional.axis import along, expand, named, names_of, squeeze
from namedgrad.positional.functions.joining import concatenate
from namedgrad.positional.functions.reductions import prod, put_out, sum
from namedgrad.positional.functions.shapes import diagonal
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import boxed, implements, kind_of
from namedgrad.positional.ufuncs import REDUCERS, SCANNERS
from namedgrad.rules import elementwise as e
from namedgrad.rules import scans
from namedgrad.rules.complex import conj_if_complex, real
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c
from namedgrad.rules.movement import diff, pad
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.movement.joining import join
from namedgrad.rules.reductions.ranges import rescaled, size_of
from namedgrad.rules.scans.logarithms import logcumsumexp
from namedgrad.rules.structure import add, cast, contract, equal, multiply, negative, subtract, total, where
from namedgrad.trace import innermost

ROW, COLUMN, CELL = (axes.fresh(n) for n in ("row", "column", "cell"))


def _rows(m: Any, rowvar: bool) -> DimArray:
    """One variable per row."""
    x = numbered(m)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if x.ndim < 2:
        return expand(x, [0] if x.ndim else [0, 1])
    return x if rowvar else ordered(x, x.dims[::-1])


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any) -> DimArray:
    x = _rows(m, rowvar)
    if y is not None:
        x = concatenate([x, _rows(y, rowvar or numbered(y).shape[:1] == (1,))])  # of one row: as it is, as in NumPy
    return cast(x, np.dtype(dtype) if dtype is not None else np.result_type(x.dtype, np.float64))


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    x = _variables(m, y, rowvar, dtype)
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    lost = (0 if bias else 1) if ddof is None else ddof
    loss = c(lost)
    own = [_weights(w, x, what) for w, what in ((fweights, "fweights"), (aweights, "aweights"))]
    given = [w for w in own if w is not None]
    weights = multiply(*given) if len(given) > 1 else given[0] if given else None
    scale: DimArray = c(float(x.shape[1])) if weights is None else total(weights, (CELL,))
    if own[1] is not None and weights is not None:
        loss = multiply(loss, e.divide(contract(weights, own[1], (CELL,)), scale))
    names = (axes.local("row"), axes.local("column"))
    first, second = (_off(named(x, (n, CELL)), weights, scale) for n in names)
    second = conj_if_complex(second)
    out = contract(first, second if weights is None else multiply(second, weights), (CELL,))
    free = e.maximum(subtract(scale, loss), c(0.0)) if given else c(max(x.shape[1] - lost, 0.0))  # as in NumPy
    out = ordered(e.divide(out, free), names)
    return squeeze(out, tuple(n for n, s in out.sizes.items() if s == 1))


def _weights(given: Any, x: DimArray, what: str) -> DimArray | None:
    """One for each column, as far as they are known none below 0, and those that count whole."""
    if given is None:
        return None
    w = numbered(given)
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {what}")
    if w.shape != x.shape[1:]:
        raise RuntimeError(f"incompatible numbers of samples and {what}")
    known = innermost(w).raw
    if backends.may_look(known):
        if what == "fweights" and (known != np.around(known)).any():
            raise TypeError("fweights must be integer")
        if (known < 0).any():
            raise ValueError(f"{what} cannot be negative")
    return named(w, (CELL,))


def _off(x: DimArray, weights: DimArray | None, scale: DimArray) -> DimArray:
    """Distances from the weighted mean."""
    whole = total(x, (CELL,)) if weights is None else contract(x, weights, (CELL,))
    return subtract(x, e.divide(whole, scale))


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """As NumPy's; rows whose squares would leave the range are scaled first."""
    rows = _variables(x, y, rowvar, dtype)
    table = cov(rows, dtype=rows.dtype)
    if not table.ndim:
        return e.divide(table, table)

    def scaled() -> DimArray:
        lines = named(rows, (ROW, CELL))
        lines = e.divide(lines, size_of(lines, (CELL,), skipna=False))
        return _correlations(cov(ordered(lines, (ROW, CELL)), dtype=rows.dtype))[0]

    out, sizes = _correlations(table)
    out = rescaled(out, [(size, None) for size in sizes], 2, scaled)
    return ordered(out if out.dtype.kind == "c" else e.clip(out, -1.0, 1.0), (ROW, COLUMN))


def _correlations(table: DimArray) -> tuple[DimArray, list[DimArray]]:
    """Covariances divided by deviations, and these along either axis."""
    size = e.sqrt(real(diagonal(table)))
    sizes = [named(size, (n,)) for n in (ROW, COLUMN)]
    return e.divide(e.divide(named(table, (ROW, COLUMN)), sizes[0]), sizes[1]), sizes


@implements(np.unwrap)
def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi) -> DimArray:
    x, name = along(numbered(p), axis)
    whole = x.dtype.kind in "iu" and isinstance(period, int)
    if not extent(x, name):
        return x if whole else add(x, c(0.0))
    step, width = diff(stop_gradient(x), name), numbered(period)
    high = c(period // 2) if whole else e.divide(width, c(2))
    low = negative(high)
    moved = add(e.remainder(subtract(step, low), width), low)
    if not whole or period % 2 == 0:
        edge = e.logical_and(equal(moved, low), e.greater(step, c(0)))
        moved = where(edge, high, moved)
    jump = subtract(moved, step)
    jump = where(e.less(e.absolute_real(step), high if discont is None else numbered(discont)), c(0), jump)
    jump = pad(scans.cumsum(jump, (name,), skipna=False), {name: (1, 0)}, constant_values=0)
    return cast(add(x, jump), x.dtype) if whole else add(x, jump)


# ------------------------------------------------------------------------------------------------ ufunc.accumulate


def _running(ufunc: Any, rule: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    def function(a: Any, axis: int | None = 0, dtype: Any = None, out: Any = None) -> Any:
        x, name = along(numbered(a), axis)
        x = cast(x, ufunc.resolve_dtypes((x.dtype, x.dtype, None))[0] if dtype is None else np.dtype(dtype))
        return put_out(ufunc, out, boxed(rule(x, name, **options), kind_of((a,))))

    return function


for _ufunc, _rule, _options in (
    (np.maximum, scans.cummax, {"skipna": False}), (np.minimum, scans.cummin, {"skipna": False}),
    (np.fmax, scans.cummax, {}), (np.fmin, scans.cummin, {}), (np.logaddexp, logcumsumexp, {}),
):  # fmt: skip
    SCANNERS[_ufunc] = _running(_ufunc, _rule, **_options)


# ------------------------------------------------------------------------------------------------ differences


def _less(ufunc: Any, turn: Callable[[DimArray], DimArray], plain: Any, scan: Callable[..., DimArray]) -> None:
    """``reduce`` and ``accumulate`` of an operation that is ``plain`` of one cell and all later ones, turned."""
    operation = f"reduction operation '{ufunc.__name__}'"

    def cells(a: Any, axis: int, dtype: Any, whole: bool) -> tuple[DimArray, Name, Any]:
        x, name = along(numbered(a), axis)
        kind = np.dtype(dtype) if dtype is not None else ufunc(*np.ones((2, 1), x.dtype)).dtype
        x = cast(x, kind)
        first = slice_of(x, name, slice(0, 0 if whole else 1))
        rest = turn(slice_of(x, name, slice(extent(first, name), None)))
        return join([first, rest], name) if extent(first, name) else rest, name, kind

    def reduce(
        a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        v = numbered(a)
        names = names_of(v, axis) if v.ndim else ()
        if not names:
            return a if initial is None else ufunc(initial, a)
        if len(names) > 1:
            raise ValueError(f"{operation} is not reorderable, so at most one axis may be specified")
        if initial is None and not extent(v, names[0]):
            raise ValueError(f"zero-size array to {operation}, which has no identity")
        if initial is None and where is not True:
            raise ValueError(f"{operation} has no identity; where= needs initial=")
        at = v.dims.index(names[0])
        x, _, kind = cells(a, at, dtype, whole=initial is not None)
        return put_out(ufunc, out, boxed(plain(x, at, kind, None, keepdims, initial, where), kind_of((a,))))

    def accumulate(a: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        x, name, kind = cells(a, axis, dtype, whole=False)
        return put_out(ufunc, out, boxed(cast(scan(x, (name,), skipna=False), kind), kind_of((a,))))

    REDUCERS[ufunc], SCANNERS[ufunc] = reduce, accumulate


_less(np.subtract, negative, sum, scans.cumsum)
_less(np.divide, e.reciprocal, prod, scans.cumprod)
