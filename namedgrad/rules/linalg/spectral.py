"""Eigenvalues and singular values.

A kernel packs all that it finds into one matrix, whose parts are cut out; so each may be used alone, and a rule sees the
cotangents of all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.backends.failures import said_by
from namedgrad.primitive import operation, sample
from namedgrad.rules.complex import absolute, conj_if_complex, real
from namedgrad.rules.elementwise import c, less_equal
from namedgrad.rules.linalg.coinciding import asked, neighbours, over
from namedgrad.rules.linalg.matrices import (
    COLUMN,
    ROW,
    Plain,
    as_row,
    diagonal,
    down,
    gradients,
    hermitian_part,
    in_order_of,
    in_place_of,
    inexact,
    inner_name,
    matrix_dims,
    mH,
    mm,
    skew,
    typed,
    with_diagonal,
    without_diagonal,
)
from namedgrad.rules.linalg.parting import Gaps
from namedgrad.rules.linalg.solving import inverted
from namedgrad.rules.linalg.spectra import Spectrum, known_values, where_apart
from namedgrad.rules.linalg.symmetric import Values, of_eigenvalues
from namedgrad.rules.movement import join, slice_of
from namedgrad.rules.movement.parts import parts_of
from namedgrad.rules.structure import add, equal, multiply, relabel, subtract, total

Parts = tuple[DimArray, ...]


# ------------------------------------------------------------------------------------------------ Hermitian matrices


def _eigh_split(y: DimArray, m: int) -> tuple[DimArray, DimArray]:
    """Vectors, and values along the columns."""
    v, w = _eig_split(y, m)
    return v, real(w)


def _eigh_gradient(g: DimArray, y: DimArray, a: DimArray, *, spectrum: Spectrum, **_: Any) -> Parts:
    """Giles (2008), section 3.1: A' = V (diag(w') + E o (V^H V')) V^H, E_ij = 1 / (w_j - w_i)."""
    m = extent(a, ROW)
    (v, w), (gv, gw) = _eigh_split(y, m), _eigh_split(g, m)
    f = mm(mH(v), gv)
    twice = add(w, w)
    gaps = Gaps(subtract(twice, down(twice)), twice, spectrum.apart, differences=True, least=neighbours)
    inner = over(skew(f), gaps, lambda: equal(asked(f), c(0)), f)
    plain = mm(mm(v, with_diagonal(inner, gw)), mH(v))  # Hermitian, as all factors are

    def known() -> DimArray:
        return add(mm(mm(v, without_diagonal(inner)), mH(v)), of_eigenvalues.of(a, gw, y, spectrum))

    return (where_apart(w, plain, known),)


def _eigh_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, *, spectrum: Spectrum, **_: Any) -> DimArray:
    """Giles (2008), section 3.1: dw = diag(V^H dA V), dV = V (E o (V^H dA V))."""
    v, w = _eigh_split(y, extent(a, ROW))
    d = mm(mm(mH(v), hermitian_part(ts[0])), v)
    spectrum.pushed(w, d)
    gaps = Gaps(subtract(w, down(w)), w, spectrum.apart, a, differences=True, least=neighbours)
    e = over(d, gaps, lambda: equal(d, c(0)), d)
    return join([mm(v, without_diagonal(e)), as_row(typed(diagonal(d), y))], ROW)


_eigvalsh = Plain("(m,m)->(m)", "eigvalsh")
_eigh = Values("(m,m)->(p,m)", "eigh_packed", gradients(_eigh_gradient), _eigh_pushforward, signed=True)


@operation(sample("levels(i,j)", dims=("i", "j")), sample("levels(i,a,j)", dims=("j", "i")))
def eigh(
    a: DimArray, dims: tuple[Name, Name], *, lower: bool = True, new_dim: Name | None = None, errors: str = "raise"
) -> tuple[DimArray, DimArray]:
    """Eigenvalues, ascending, and orthonormal eigenvectors of symmetric (Hermitian) matrices.

    Parameters
    ----------
    a : DimArray
        Matrices over ``dims``, of which one triangle is read; the derivative is that of the symmetrised matrix.
    dims : (row, column)
        Every other dim is a batch.
    lower : bool
        Which triangle is read.
    new_dim : name, optional
        Of the dim that counts the eigenvalues; the column's with "2" appended by default.
    errors : {"raise", "nan"}
        What to do with a matrix whose eigenvalues cannot be found.

    Returns
    -------
    w, v : DimArray
        Real values along ``new_dim``, and vectors with the dims (row, new_dim).

    Raises
    ------
    AxisError
        If the matrices are not square, a dim is unknown or vectorized, or ``new_dim`` exists.

    Notes
    -----
    The derivative is that of Giles, M. (2008), *An extended collection of matrix derivative results for forward and
    reverse mode algorithmic differentiation*, section 3.1. Vectors are determined up to a factor of absolute value 1;
    it does not turn. Those of equal values are any basis of their space: what is the same in each has its derivative, the
    limit of those of matrices beside this one, and what is not NaN.
    ``numpy.linalg.eigh``, ``torch.linalg.eigh``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> w, v = ng.eigh(ng.DimArray([[2.0, 1.0], [1.0, 2.0]], ("i", "j")), ("i", "j"))
    >>> w.data.round(12), v.dims
    (array([1., 3.]), ('i', 'j2'))
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "eigh")
    x, new = relabel(a, {row: ROW, col: COLUMN}), inner_name(a, col, new_dim, "eigh")
    v, w = _known_split(x, lower=lower, errors=errors)
    vectors = relabel(v, {ROW: row, COLUMN: new})
    return in_order_of(relabel(w, {COLUMN: new}), a), in_place_of(a, vectors, {col: new})


@operation(sample("spd(i,j)", dims=("i", "j")), sample("hermitian(i,j)", dims=("i", "j")))
def eigvalsh(
    a: DimArray, dims: tuple[Name, Name], *, lower: bool = True, new_dim: Name | None = None, errors: str = "raise"
) -> DimArray:
    """Eigenvalues of symmetric (Hermitian) matrices, ascending; see :func:`eigh`.

    Parameters
    ----------
    a : DimArray
        Matrices over ``dims``, of which one triangle is read.
    dims : (row, column)
        Every other dim is a batch.
    lower : bool
        Which triangle is read.
    new_dim : name, optional
        Of the dim that counts them; the column's with "2" appended by default.
    errors : {"raise", "nan"}
        What to do with a matrix whose eigenvalues cannot be found.

    Returns
    -------
    DimArray
        Real, along ``new_dim``.

    Raises
    ------
    AxisError
        If the matrices are not square, a dim is unknown or vectorized, or ``new_dim`` exists.

    Notes
    -----
    The derivative is the diagonal of V^H dA V. ``numpy.linalg.eigvalsh``, ``torch.linalg.eigvalsh``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.eigvalsh(ng.DimArray([[2.0, 1.0], [1.0, 2.0]], ("i", "j")), ("i", "j")).data.round(12)
    array([1., 3.])
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "eigvalsh")
    below, beside = (row, col) if lower else (col, row)  # values are those of the transpose, too
    x, new = relabel(a, {below: ROW, beside: COLUMN}), inner_name(a, col, new_dim, "eigvalsh")
    alone = x.level is None
    with said_by("eigvalsh", option=True):
        w = _eigvalsh(x, errors=errors) if alone else _known_split(x, vectors=False, errors=errors)[1]
    return in_order_of(relabel(w, {COLUMN: new}), a)


def _known_split(x: DimArray, *, vectors: bool = True, **options: Any) -> tuple[DimArray, DimArray]:
    """Vectors and values, which know that they are eigenvalues."""
    spectrum = Spectrum(x, vectors=vectors)
    v, w = _eigh_split(_eigh(x, spectrum=spectrum, **options), extent(x, ROW))
    return v, known_values(w, spectrum)


# ------------------------------------------------------------------------------------------------ any square matrix


def _eig_split(y: DimArray, m: int) -> tuple[DimArray, DimArray]:
    v, w = parts_of(y, ROW, (0, m, m + 1))  # whose cotangents are joined once
    return v, slice_of(w, ROW, 0)


def _eig_gradient(g: DimArray, y: DimArray, a: DimArray, *, spectrum: Spectrum, **_: Any) -> Parts:
    """Boeddeker et al. (2017), eqs. 4.60 and 4.77, for vectors of length 1."""
    m = extent(a, ROW)
    (v, w), (gv, gw) = _eig_split(y, m), _eig_split(g, m)
    f = mm(mH(v), gv)
    along = real(diagonal(f))
    f = subtract(f, multiply(mm(mH(v), v), typed(along, f)))
    gaps = Gaps(conj_if_complex(subtract(w, down(w))), w, spectrum.apart, differences=True)
    inner = over(f, gaps, lambda: equal(mm(mH(v), gv), c(0)), gv)
    inner = with_diagonal(inner, gw)
    out = mm(mm(mH(inverted(v, errors="nan")), inner), mH(v))
    return (out if a.dtype.kind == "c" else typed(real(out), a),)


def _eig_pushforward(ts: list[DimArray], y: DimArray, a: DimArray, *, spectrum: Spectrum, **_: Any) -> DimArray:
    """Giles (2008), section 3.1, and the length of the vectors kept."""
    v, w = _eig_split(y, extent(a, ROW))
    d = mm(mm(inverted(v, errors="nan"), typed(ts[0], y)), v)
    gaps = Gaps(subtract(w, down(w)), w, spectrum.apart, a, differences=True)
    dv = mm(v, without_diagonal(over(d, gaps, lambda: equal(d, c(0)), d)))
    dv = subtract(dv, multiply(v, typed(real(diagonal(mm(mH(v), dv))), v)))
    return join([dv, as_row(diagonal(d))], ROW)


def _independent(y: DimArray) -> DimArray:
    """Where the vectors are a basis, if not a good one: those of a defective matrix are none."""
    v, _ = _eig_split(y, extent(y, COLUMN))
    size = total(absolute(inverted(v, errors="nan")), (ROW, COLUMN))
    return less_equal(size, c(float(np.finfo(y.dtype).eps) ** -0.5))


_eigvals = Plain("(m,m)->(m)", "eigvals")
_eig = Values("(m,m)->(p,m)", "eig_packed", gradients(_eig_gradient), _eig_pushforward, signed=True, independent=_independent)


@operation(sample("apart(i,j)", dims=("i", "j")), sample("apart(i,a,j)", dims=("j", "i")))
def eig(a: DimArray, dims: tuple[Name, Name], *, new_dim: Name | None = None, errors: str = "raise") -> tuple[DimArray, DimArray]:
    """Eigenvalues and eigenvectors of square matrices, complex.

    Parameters
    ----------
    a : DimArray
        Matrices over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    new_dim : name, optional
        Of the dim that counts the eigenvalues; the column's with "2" appended by default.
    errors : {"raise", "nan"}
        What to do with a matrix whose eigenvalues cannot be found.

    Returns
    -------
    w, v : DimArray
        Complex values along ``new_dim``, and vectors of length 1 with the dims (row, new_dim).

    Raises
    ------
    AxisError
        If the matrices are not square, a dim is unknown or vectorized, or ``new_dim`` exists.

    Notes
    -----
    The derivative is that of Boeddeker, C. et al. (2017), *On the computation of complex-valued gradients with
    application to statistically optimum beamforming*, arXiv:1701.00392. Vectors are determined up to a factor of
    absolute value 1, which does not turn here. Those of equal values are any basis of their space: what is the same in
    each has its derivative, and what is not NaN. ``numpy.linalg.eig``, ``torch.linalg.eig``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> w, v = ng.eig(ng.DimArray([[0.0, -1.0], [1.0, 0.0]], ("i", "j")), ("i", "j"))
    >>> w.data
    array([0.+1.j, 0.-1.j])
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "eig")
    new = inner_name(a, col, new_dim, "eig")
    v, w = _any_split(relabel(a, {row: ROW, col: COLUMN}), errors=errors)
    vectors = relabel(v, {ROW: row, COLUMN: new})
    return in_order_of(relabel(w, {COLUMN: new}), a), in_place_of(a, vectors, {col: new})


def _any_split(x: DimArray, *, vectors: bool = True, **options: Any) -> tuple[DimArray, DimArray]:
    """Vectors and values of any matrix."""
    return _eig_split(_eig(x, spectrum=Spectrum(x, vectors=vectors), **options), extent(x, ROW))


@operation(sample("apart(i,j)", dims=("i", "j")), sample("capart(i,j)", dims=("i", "j")))
def eigvals(a: DimArray, dims: tuple[Name, Name], *, new_dim: Name | None = None, errors: str = "raise") -> DimArray:
    """Eigenvalues of square matrices, complex; see :func:`eig`.

    Parameters
    ----------
    a : DimArray
        Matrices over ``dims``.
    dims : (row, column)
        Every other dim is a batch.
    new_dim : name, optional
        Of the dim that counts them; the column's with "2" appended by default.
    errors : {"raise", "nan"}
        What to do with a matrix whose eigenvalues cannot be found.

    Returns
    -------
    DimArray
        Complex, along ``new_dim``.

    Raises
    ------
    AxisError
        If the matrices are not square, a dim is unknown or vectorized, or ``new_dim`` exists.

    Notes
    -----
    The derivative is the diagonal of V^-1 dA V. ``numpy.linalg.eigvals``, ``torch.linalg.eigvals``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.eigvals(ng.DimArray([[0.0, -1.0], [1.0, 0.0]], ("i", "j")), ("i", "j")).data
    array([0.+1.j, 0.-1.j])
    """
    a = inexact(a)
    row, col = matrix_dims(a, dims, "eigvals")
    x, new = relabel(a, {row: ROW, col: COLUMN}), inner_name(a, col, new_dim, "eigvals")
    with said_by("eigvals", option=True):
        w = _eigvals(x, errors=errors) if x.level is None else _any_split(x, vectors=False, errors=errors)[1]
    return in_order_of(relabel(w, {COLUMN: new}), a)
