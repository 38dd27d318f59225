"""Singular values and vectors.

The kernel packs U, the values and V, which share the dim between them, into one matrix: rows of U, a row of values, rows
of V.  The columns that complete U and V stand behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules.complex import conj_if_complex, real
from namedgrad.rules.elementwise import c, logical_or
from namedgrad.rules.fourier.transforms import resized
from namedgrad.rules.linalg.coinciding import asked, neighbours, over
from namedgrad.rules.linalg.matrices import (
    COLUMN,
    ROW,
    Plain,
    as_row,
    diagonal,
    down,
    gradients,
    in_order_of,
    in_place_of,
    inexact,
    inner_name,
    matrix_dims,
    mH,
    mm,
    on_diagonal,
    skew,
    typed,
    with_diagonal,
    without_diagonal,
)
from namedgrad.rules.linalg.parting import Gaps
from namedgrad.rules.linalg.spectra import Spectrum, known_values, where_apart
from namedgrad.rules.linalg.symmetric import Values, of_singular_values
from namedgrad.rules.movement import join, slice_of
from namedgrad.rules.movement.parts import parts_of
from namedgrad.rules.reductions import all as all_of
from namedgrad.rules.structure import (
    add,
    equal,
    isfinite,
    known_finite,
    logical_not,
    multiply,
    negative,
    relabel,
    select,
    subtract,
    where,
)
from namedgrad.trace import innermost

Parts = tuple[DimArray, DimArray, DimArray]


def _infinite(x: DimArray, errors: str) -> DimArray | None:
    """Which matrices have infinite cells, where that may be seen and some have.

    NumPy gives NaN for their values, and may look for their vectors forever.
    """
    bare = innermost(x)
    if known_finite(x) or not backends.may_look(bare.raw):
        return None
    values_of(bare, errors=errors)  # what it refuses is refused
    return logical_not(all_of(isfinite(bare), (ROW, COLUMN)))


def _split(y: DimArray, m: int) -> Parts:
    """U, the values along the columns, V."""
    u, s, v = parts_of(y, ROW, (0, m, m + 1, extent(y, ROW)))  # whose cotangents are joined once
    return u, real(slice_of(s, ROW, 0)), v


def _pack(u: DimArray, s: DimArray, v: DimArray) -> DimArray:
    return join([u, as_row(typed(s, u)), v], ROW)


def _over(x: DimArray, s: DimArray, all_asked: DimArray, of: DimArray | None = None) -> DimArray:
    """Columns divided by the values; where both are 0, 0, or the limit where these part."""
    return over(x, Gaps(s, s, of=of), lambda: equal(x, c(0)), all_asked)


def _gradient(g: DimArray, y: DimArray, a: DimArray, *, spectrum: Spectrum, **_: Any) -> tuple[DimArray]:
    """Townsend (2016), *Differentiating the singular value decomposition*, with sums and differences of the values apart.

    For complex matrices Wan and Zhang (2019), arXiv:1909.02659.
    """
    (u, s, v), (gu, gs, gv) = _split(y, extent(a, ROW)), _split(g, extent(a, ROW))
    x, z = mm(mH(u), gu), mm(mH(v), gv)

    def none() -> DimArray:
        return equal(add(asked(x), asked(z)), c(0))

    twice = add(s, s)
    minus = Gaps(subtract(twice, down(twice)), twice, spectrum.apart, differences=True, least=neighbours)
    plus = Gaps(add(twice, down(twice)), twice, spectrum.apart, least=_least_sum)
    fx, fz = skew(x), skew(z)
    turned = over(add(fx, fz), minus, none, gu, gv)
    rest = subtract(fx, fz)
    inner = over(rest, plus, lambda: _nothing(rest, none()), gu, gv)

    def around(inner: DimArray) -> DimArray:
        out = mm(mm(u, inner), mH(v))
        if extent(u, ROW) > extent(u, COLUMN):
            out = add(out, mm(_over(subtract(gu, mm(u, x)), s, gu), mH(v)))
        if extent(v, ROW) > extent(v, COLUMN):
            out = add(out, mm(u, mH(_over(subtract(gv, mm(v, z)), s, gv))))
        return out

    if x.dtype.kind == "c":  # there is a phase on the diagonal
        plain = around(add(add(without_diagonal(turned), inner), select(on_diagonal(x), typed(gs, x))))
    else:
        plain = around(with_diagonal(add(turned, inner), gs))

    def known() -> DimArray:
        return add(around(add(without_diagonal(turned), inner)), of_singular_values.of(a, gs, y, spectrum))

    return (where_apart(s, plain, known, signed=False),)


def _least_sum(s: DimArray) -> DimArray:
    """Sums of values with themselves."""
    return add(s, s)


def _nothing(rest: DimArray, none: DimArray) -> DimArray:
    """Where nothing is asked; on the diagonal only the phase counts."""
    return logical_or(none, select(on_diagonal(rest), equal(rest, c(0))))


def _pushforward(ts: list[DimArray], y: DimArray, a: DimArray, *, spectrum: Spectrum, **_: Any) -> DimArray:
    """Townsend (2016), eqs. 13 to 15."""
    (t,) = ts
    u, s, v = _split(y, extent(a, ROW))
    d = mm(mm(mH(u), t), v)
    both, rest = add(d, mH(d)), skew(d)
    spectrum.pushed(s, both, signed=False)
    minus = Gaps(subtract(s, down(s)), s, spectrum.apart, a, differences=True, least=neighbours)
    plus = Gaps(add(s, down(s)), s, spectrum.apart, a, least=_least_sum)
    e = over(both, minus, lambda: equal(both, c(0)), d)
    f = over(rest, plus, lambda: equal(rest, c(0)), d)
    e = without_diagonal(e)
    du = mm(u, multiply(c(0.5), add(e, f)))
    dv = mm(v, multiply(c(0.5), subtract(e, f)))
    if extent(u, ROW) > extent(u, COLUMN):
        tv = mm(t, v)
        du = add(du, _over(subtract(tv, mm(u, d)), s, tv, a))
    if extent(v, ROW) > extent(v, COLUMN):
        tu = mm(mH(t), u)
        dv = add(dv, _over(subtract(tu, mm(v, mH(d))), s, tu, a))
    return _pack(du, diagonal(real(d)), dv)


values_of = Plain("(m,n)->(k)", "svdvals")
_svd = Values("(m,n)->(p,k)", "svd_packed", gradients(_gradient), _pushforward, signed=False)


# ------------------------------------------------------------------------------------------------ completed bases
# Columns that complete a basis are any basis of the rest of the space.  They turn no more than they must to stay
# orthogonal: dU2 = -U1 (dU1^H U2).


def _full_split(y: DimArray, m: int, n: int) -> tuple[DimArray, DimArray, DimArray]:
    """U and V with what completes them behind, and the packed thin factors."""
    u, s, v = _split(y, m)
    cut = slice(0, min(m, n))
    thin = _pack(*(slice_of(x, COLUMN, cut) for x in (u, s, v)))
    return slice_of(u, COLUMN, slice(min(m, n), m)), slice_of(v, COLUMN, slice(min(m, n), n)), thin


def _full_gradient(g: DimArray, y: DimArray, a: DimArray, **known: Any) -> tuple[DimArray]:
    m, n = extent(a, ROW), extent(a, COLUMN)
    (u2, v2, thin), (g2, h2, gthin) = _full_split(y, m, n), _full_split(g, m, n)
    u1, s, v1 = _split(thin, m)
    (out,) = _gradient(gthin, thin, a, **known)
    if m > n:
        out = subtract(out, mm(mm(u2, _over(mm(mH(g2), u1), s, g2)), mH(v1)))
    if n > m:
        out = subtract(out, mm(u1, mm(mH(_over(mm(mH(h2), v1), s, h2)), mH(v2))))
    return (out,)


def _full_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, **known: Any) -> DimArray:
    m, n = extent(a, ROW), extent(a, COLUMN)
    u2, v2, thin = _full_split(y, m, n)
    u1, s, v1 = _split(thin, m)
    du, ds, dv = _split(_pushforward(ts, thin, a, **known), m)
    if m > n:
        du = join([du, negative(mm(u1, mH(_over(mm(mm(mH(u2), ts[0]), v1), s, ts[0], a))))], COLUMN)
    if n > m:
        dv = join([dv, negative(mm(v1, mH(_over(mm(mm(mH(v2), mH(ts[0])), u1), s, ts[0], a))))], COLUMN)
    return _pack(*(resized(x, max(m, n), COLUMN) for x in (du, ds, dv)))


_full_svd = Values("(m,n)->(p,k)", "full_svd_packed", gradients(_full_gradient), _full_pushforward, signed=False)


# ------------------------------------------------------------------------------------------------ public


@operation(
    sample("well(i,j)", dims=("i", "j")), sample("tall(six,b)", dims=("six", "b")), sample("tall(b,six)", dims=("b", "six")),
    sample("well(i,j)", dims=("i", "j"), compute_uv=False),
)
def svd(
    a: DimArray, dims: tuple[Name, Name], *, full_matrices: bool = False, compute_uv: bool = True,
    new_dim: Name | None = None, errors: str = "raise",
) -> Any:
    """Singular values and vectors, ``a = U diag(s) V^H``.

    Parameters
    ----------
    a : DimArray
        Matrices of any shape over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    full_matrices : bool
        Complete U and V to square matrices.
    compute_uv : bool
        Give all three; else the values alone.
    new_dim : name, optional
        Of the dim that counts the values; the column's with "2" appended by default.
    errors : {"raise", "nan"}
        What to do with a matrix whose singular values cannot be found.

    Returns
    -------
    u, s, vh : DimArray
        With the dims (row, new_dim), (new_dim), descending, and (new_dim, column).

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or ``new_dim`` exists.

    Notes
    -----
    The derivative is that of Townsend, J. (2016), *Differentiating the singular value decomposition*, and for complex
    matrices of Wan, Z.-Q. and Zhang, S.-X. (2019), arXiv:1909.02659. Pairs of vectors are determined up to a factor of
    absolute value 1; it does not turn. Those of equal values, and of those that are 0, are any basis of their space: what
    is the same in each has its derivative, the limit of those of matrices beside this one, and what is not NaN.
    ``numpy.linalg.svd``, ``torch.linalg.svd``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> u, s, vh = ng.svd(ng.DimArray([[0.0, 2.0], [1.0, 0.0]], ("i", "j")), ("i", "j"))
    >>> s.data, u.dims, vh.dims
    (array([2., 1.]), ('i', 'j2'), ('j2', 'j'))
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "svd", square=False)
    new = inner_name(a, col, new_dim, "svd")
    x = relabel(a, {row: ROW, col: COLUMN})
    if not compute_uv and a.level is None:
        return in_order_of(relabel(values_of(x, errors=errors), {COLUMN: new}), a)
    m, n = extent(x, ROW), extent(x, COLUMN)
    lost = None if compute_uv else _infinite(x, errors)
    x = x if lost is None else where(lost, c(0.0), x)
    spectrum = Spectrum(x, vectors=compute_uv)
    full_matrices = full_matrices and m != n
    u, s, v = _split((_full_svd if full_matrices else _svd)(x, errors=errors, spectrum=spectrum), m)
    s = known_values(slice_of(s, COLUMN, slice(0, min(m, n))), spectrum, signed=False)
    values = in_order_of(relabel(s if lost is None else where(lost, c(np.nan), s), {COLUMN: new}), a)
    if not compute_uv:
        return values
    if full_matrices:
        u, v = slice_of(u, COLUMN, slice(0, m)), slice_of(v, COLUMN, slice(0, n))
    left = in_place_of(a, relabel(u, {ROW: row, COLUMN: new}), {col: new})
    right = in_place_of(a, relabel(conj_if_complex(v), {ROW: col, COLUMN: new}), {row: new})
    return left, values, right
