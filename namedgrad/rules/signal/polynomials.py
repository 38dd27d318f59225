"""Polynomials: their values, and least-squares fits along a named dim.  Coefficients count from the highest power."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import AxisError, Name, Names
from namedgrad.linear import Pair
from namedgrad.primitive import check_sizes, core, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import absolute, conj_if_complex
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import check, new_name, pick_one
from namedgrad.rules.dtypes import floating, real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.movement import slice_of
from namedgrad.rules.movement.padding import pad_axis
from namedgrad.rules.reductions import present
from namedgrad.rules.reductions.places import all
from namedgrad.rules.structure import (
    add,
    cast,
    contract,
    equal,
    if_likely,
    multiply,
    positions,
    relabel,
    reorder,
    select,
    spread,
    subtract,
    total,
    where,
)


@operation(
    sample("real(a)", "real(b)", degree="b"), sample("real(a,b)", "real(a,c)", degree="c"),
    sample("complex(a)", "real(six,b)", degree="six"),
)  # fmt: skip
def polyval(x: DimArray, coefficients: DimArray, degree: Name = "degree") -> DimArray:
    """Values of a polynomial.

    Parameters
    ----------
    x : DimArray or scalar
    coefficients : DimArray
        Along ``degree``, from the highest power to the constant, as :func:`polyfit` gives them.
    degree : name

    Returns
    -------
    DimArray
        With the dims of ``x``, then those of the coefficients but ``degree``.

    Raises
    ------
    AxisError
        If ``degree`` is no dim of the coefficients.

    Notes
    -----
    Horner's scheme, as :func:`numpy.polyval`; xarray objects go to :func:`xarray.polyval`, where labels tell the powers.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.polyval(2.0, ng.DimArray([1.0, 0.0, 3.0], ("degree",))).item()
    7.0
    """
    x, coefficients = constant(x), constant(coefficients)
    check(coefficients, degree, "polyval")
    if degree in x.names:
        raise AxisError(f"polyval: x has the dim {degree!r} of the coefficients; rename it in one of them")
    check_sizes("polyval", (x, coefficients))
    size = extent(coefficients, degree)
    if not size:
        return multiply(x, c(0))
    out = slice_of(coefficients, degree, 0)
    for i in range(1, size):
        out = add(multiply(out, x), slice_of(coefficients, degree, i))
    return _spread_over(x, out)


def _spread_over(x: DimArray, out: DimArray) -> DimArray:
    """With the axes of ``x`` in front, which a constant polynomial lacks."""
    wide = spread(out, x)
    hide = tuple(n for n in x.hidden if n not in out.names)
    names = (*x.names, *(n for n in wide.names if n not in x.names))
    return reorder(relabel(wide, {}, hide=hide) if hide else wide, names)


@operation(sample("real(a,b)", n=3), sample("real(a)", n=4, increasing=True), sample("complex(a)", n=2), sample("real()", n=4))
def vander(x: DimArray, n: int, *, increasing: bool = False, degree: Name = "degree") -> DimArray:
    """Powers of an array along a new dim.

    Parameters
    ----------
    x : DimArray
    n : int
        How many: the powers from n - 1 down to 0.
    increasing : bool
        From 0 up instead.
    degree : name
        The new dim, which comes last.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the new dim exists already.
    ValueError
        If ``n`` is negative.

    Notes
    -----
    Each power is the one before times ``x``, as in :func:`numpy.vander`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.vander(ng.DimArray([2.0, 3.0], ("x",)), 3).data
    array([[4., 2., 1.],
           [9., 3., 1.]])
    """
    new_name(x, degree, "vander")
    if n < 0:
        raise ValueError(f"vander: n must not be negative, got {n}")
    x = cast(x, np.result_type(x.dtype, int)) if x.dtype.kind in "biu" else x
    out = _powers(x, dims=((),), out=(degree,), n=n, increasing=increasing)
    return reorder(out, (*x.names, degree))


def _from_powers(g: DimArray, out: DimArray, n: int, *, increasing: bool) -> Pair:
    """Each power's cotangent, and its order times the power below it, which lies in memory as the powers do."""
    dim, low, high = axes.core(-1), slice(0, max(n - 1, 0)), slice(1, n)
    of, below = (high, low) if increasing else (low, high)
    g, orders = slice_of(g, dim, of), add(positions(max(n - 1, 0), dim, g), c(1))
    orders = orders if increasing else subtract(c(n), orders)
    return Pair(g, multiply(cast(orders, out.dtype), slice_of(out, dim, below)))


_powers = core("()->(n)", "powers", pullback=lambda g, out, x, n, increasing: (_from_powers(g, out, n, increasing=increasing),))


@operation(
    sample("real(a,nine)", dim="nine", deg=2), sample("real(a,eight)", "real(eight)", dim="eight", deg=1),
    sample("real(nine)", "real(nine,a)", "positive(nine)", dim="nine", deg=3), sample("complex(a,six)", dim="six", deg=0),
    sample("missing(nine,a)", dim="nine", deg=1),
    method=True,
)  # fmt: skip
def polyfit(
    x: DimArray, coord: Any = None, weights: Any = None, skipna: bool | None = None, rcond: float | None = None, w: Any = None,
    full: bool = False, cov: bool | str = False, *, dim: Name = None, deg: Any = None, degree: Name = "degree",
) -> Any:  # fmt: skip
    """Least-squares polynomial along a dim.

    Parameters
    ----------
    x : DimArray
    coord : DimArray, optional
        Positions along ``dim``; 0, 1, 2 ... by default.
    weights : DimArray, optional
        Of the residuals, not of their squares, along ``dim``. Also as ``w``.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0. Where all cells are left out, the
        coefficients are NaN, as they are where a position or weight is not finite.
    rcond : float, optional
        Singular values below this fraction of the largest are left out; the size of the dim times the precision of the
        dtype by default.
    w : DimArray, optional
    full : bool
        Give the residuals, the rank and the singular values too.
    cov : bool or "unscaled"
        Give the residuals and the covariance of the coefficients too; "unscaled" alone it is not multiplied by the
        variance of the residuals.
    dim : name
    deg : int
        The highest power. Dim and power may also come first, as in xarray's method: ``a.polyfit("x", 1)``.
    degree : name
        The new dim.

    Returns
    -------
    DimArray, or Polyfit if ``full`` or ``cov`` is asked for
        Coefficients, from the highest power to the constant; the dim ``degree`` comes first, as in xarray. A
        ``Polyfit`` has them as ``polyfit_coefficients``, beside ``polyfit_residuals`` (sums of squares, NaN where no
        cell is left over), ``matrix_rank``, ``singular_values`` and ``polyfit_covariance`` (``cov_i``, ``cov_j``), which
        is that of a line without gaps, as in xarray.

    Raises
    ------
    AxisError
        If ``dim`` is unknown or vectorized, or the new dim exists already.
    ValueError
        If ``deg`` is negative, the dim is empty, or too short for a covariance.

    Notes
    -----
    As :func:`numpy.polyfit`: the pseudo-inverse of the scaled Vandermonde matrix. Differentiable in all three arrays
    (Golub and Pereyra 1973, *The differentiation of pseudo-inverses*, eq. 4.12).

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.polyfit(ng.DimArray([1.0, 3.0, 5.0], ("x",)), dim="x", deg=1).data.round(12)
    array([2., 1.])
    """
    if dim is None and not isinstance(coord, DimArray):  # as in xarray's method
        dim, coord = coord, None
        deg, weights = (weights, None) if deg is None else (deg, weights)
    if deg is None:
        raise TypeError("polyfit: the degree is missing; give deg=")
    w = weights if w is None else w
    name = pick_one(x, dim, "polyfit")
    new_name(x, degree, "polyfit")
    if deg < 0 or not extent(x, name):
        raise ValueError(
            f"polyfit: deg={deg} along {name!r} of size {extent(x, name)}; deg must not be negative, nor the dim empty"
        )
    x = floating(x)
    powers = vander(_places(x, name, coord), deg + 1, degree=degree)
    mask, order = present(x, skipna), (degree, *(k for k in x.names if k != name))
    if w is not None:
        powers, x = multiply(powers, constant(w, "polyfit: w")), multiply(x, constant(w))

    def fitted(mask: DimArray | None) -> DimArray:
        return _solved(powers, x, mask, (name, degree), rcond)

    # one matrix serves all lines without gaps
    out = fitted(None) if mask is None else if_likely(all(mask, name), lambda: fitted(None), lambda: fitted(mask))
    out = _first(out, order)
    if not (full or cov):
        return out
    left = _first(_left_over(powers, x, mask, out, (name, degree), rcond), order)
    return _figures(powers, out, left, name, degree, full=full, cov=cov)


def _places(x: DimArray, name: Name, coord: Any) -> DimArray:
    kind = real_dtype(x)
    t = cast(positions(extent(x, name), name, x), kind) if coord is None else constant(coord, "polyfit: coord")
    check(t, name, "polyfit: coord")
    return t if t.dtype.kind in "fc" else cast(t, kind)


def _left_over(
    powers: DimArray, data: DimArray, mask: DimArray | None, out: DimArray, dims: tuple[Name, Name], rcond: float | None
) -> DimArray:
    """Sums of the squares that remain, NaN where there is no cell more than coefficients that are told apart."""
    from namedgrad.rules.linalg.numbers import matrix_rank

    (name, degree), count = dims, extent(powers, dims[1])
    powers = _present_powers(powers, mask, real_dtype(data))
    data = data if mask is None else select(mask, data)
    left = total(e.square(absolute(subtract(data, contract(powers, out, (degree,))))), (name,))
    cells = c(extent(data, name)) if mask is None else total(cast(mask, "int64"), (name,))
    rank = matrix_rank(_scaled(powers, name, rcond)[0], dims)  # of each line without its gaps
    return where(e.logical_and(e.greater(cells, c(count)), equal(rank, c(count))), left, c(np.nan))


class Polyfit(NamedTuple):
    """What :func:`polyfit` gives beside the coefficients, under the names that xarray has for it; None if not asked for."""

    polyfit_coefficients: DimArray
    polyfit_residuals: DimArray | None = None
    matrix_rank: DimArray | None = None
    singular_values: DimArray | None = None
    polyfit_covariance: DimArray | None = None


def _present_powers(powers: DimArray, mask: DimArray | None, kind: Any) -> DimArray:
    """The powers with 0 in every gap, where there may be some."""
    return powers if mask is None else multiply(powers, cast(mask, kind))


def _scaled(matrix: DimArray, name: Name, rcond: float | None) -> tuple[DimArray, DimArray]:
    """The columns in unit length, and what they were divided by, which cancels unless singular values are cut off."""
    norms = e.sqrt(total(e.square(absolute(matrix)), (name,)))
    norms = where(equal(norms, c(0)), c(1), norms)
    norms = norms if rcond is not None and rcond > _rounding(matrix, name) else stop_gradient(norms)
    return e.divide(matrix, norms), norms


def _rounding(matrix: DimArray, name: Name) -> float:
    return extent(matrix, name) * float(np.finfo(matrix.dtype).eps)


def _solved(
    powers: DimArray, data: DimArray, mask: DimArray | None, dims: tuple[Name, Name], rcond: float | None
) -> DimArray:
    """The coefficients, NaN where nothing is there."""
    from namedgrad.rules.linalg.solving import pseudoinverse

    name, _ = dims
    matrix, norms = _scaled(_present_powers(powers, mask, real_dtype(data)), name, rcond)
    data = data if mask is None else select(mask, data)
    inverse = pseudoinverse(matrix, dims, rtol=_rounding(matrix, name) if rcond is None else rcond, errors="nan")
    out = e.divide(contract(inverse, data, (name,)), norms)
    return out if mask is None else where(e.greater(total(cast(mask, "int64"), (name,)), c(0)), out, c(np.nan))


def _first(x: DimArray, order: Names) -> DimArray:
    """These axes, as far as there are any, before the others."""
    return reorder(x, tuple(k for k in (*order, *(n for n in x.names if n not in order)) if k in x.names))


def _figures(
    matrix: DimArray, out: DimArray, left: DimArray, name: Name, degree: Name, *, full: bool, cov: bool | str
) -> Polyfit:
    """The figures of the fit by a matrix of weighted powers that left so much."""
    from namedgrad.rules.linalg.numbers import matrix_rank
    from namedgrad.rules.linalg.singular import svd
    from namedgrad.rules.linalg.solving import inv

    norms = e.sqrt(total(e.square(absolute(matrix)), (name,)))
    matrix, n, columns = e.divide(matrix, norms), extent(matrix, name), extent(matrix, degree)
    found = Polyfit(out, left if full or cov is True else None)
    if full:
        line: Name = axes.local("singular values")
        values = pad_axis(svd(matrix, (name, degree), compute_uv=False, new_dim=line), line, (max(columns - n, 0), 0),
                          "constant", (np.nan, np.nan), odd=False)  # fmt: skip
        found = found._replace(matrix_rank=matrix_rank(matrix, (name, degree)), singular_values=relabel(values, {line: degree}))
    if cov:
        if cov != "unscaled" and n <= columns:
            raise ValueError(f"polyfit: a covariance needs more than {columns} cells along {name!r}, got {n}; or cov='unscaled'")
        row, col = (new_name(out, new, "polyfit: cov") for new in ("cov_i", "cov_j"))
        left_side, right = (relabel(matrix, {degree: new}) for new in (row, col))
        inverse = inv(contract(conj_if_complex(left_side), right, (name,)), (row, col))
        shared = e.divide(e.divide(inverse, relabel(norms, {degree: row})), relabel(norms, {degree: col}))
        scaled = shared if cov == "unscaled" else multiply(shared, e.divide(left, c(n - columns)))
        found = found._replace(polyfit_covariance=_first(scaled, (row, col, *left.names)))
    return found
