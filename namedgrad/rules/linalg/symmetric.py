"""Matrices put together of eigenvectors and functions of eigenvalues, also where eigenvalues coincide.

The gradient of a function of the eigenvalues of ``A = V diag(w) V^H`` is ``V diag(g) V^H`` with its derivatives ``g``.
Lewis and Sendov (2001), *Twice differentiable spectral functions*, SIAM Journal on Matrix Analysis and Applications 23,
theorem 3.3: along ``H`` that moves by ``V (diag(g') + D o V^H H V) V^H``, where ``D`` holds ``(g_i - g_j) / (w_i - w_j)``,
which of equal values is the derivative of ``g_i`` in ``w_i`` less that in ``w_j``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.linear import like
from namedgrad.rules.complex import absolute, conj_if_complex, real
from namedgrad.rules.elementwise import c, divide, less_equal, logical_and
from namedgrad.rules.linalg.coinciding import coincide
from namedgrad.rules.linalg.matrices import (
    COLUMN,
    ROW,
    MatrixOp,
    diagonal,
    down,
    hermitian_part,
    mH,
    mm,
    typed,
    with_diagonal,
    without_diagonal,
)
from namedgrad.rules.movement import slice_of
from namedgrad.rules.reductions.norms import vector_norm
from namedgrad.rules.structure import add, multiply, scale, subtract, where, zeros_spread
from namedgrad.squares import Spectrum, slope_in
from namedgrad.trace import innermost

NOISE = 64  # roundings by which what ought to be equal may differ


def _vectors(y: DimArray) -> tuple[DimArray, DimArray]:
    m = extent(y, COLUMN)
    return slice_of(y, ROW, slice(0, m)), real(slice_of(y, ROW, m))


def _put_together(v: DimArray, g: DimArray) -> DimArray:
    return mm(multiply(v, typed(g, v)), mH(v))


def _quotients(g: DimArray, w: DimArray, slope: DimArray) -> DimArray:
    """Differences of ``g`` by those of ``w``; of values that are nearly equal the mean of the slopes there.

    Its error is of the order of the square of the gap. Where values coincide and their ``g`` do not, there is none.
    """
    gap, rise = subtract(w, down(w)), subtract(g, down(g))
    eps, size = float(np.finfo(w.dtype).eps), vector_norm(innermost(w), COLUMN)
    mean = multiply(c(0.5), add(slope, down(slope)))
    straight = multiply(mean, gap)
    noise = add(add(absolute(g), absolute(down(g))), multiply(absolute(mean), size))
    allowed = add(multiply(c(NOISE * eps), noise), multiply(c(eps ** (1 / 3)), absolute(straight)))
    alike = less_equal(absolute(innermost(subtract(rise, straight))), innermost(allowed))
    close = logical_and(less_equal(absolute(innermost(gap)), multiply(size, c(eps ** (1 / 3)))), alike)
    same = coincide(gap, w)
    apart = where(same, c(np.nan), divide(rise, where(same, c(1.0), gap)))
    return without_diagonal(where(close, mean, apart))


def _turned(x: DimArray, v: DimArray, d: DimArray) -> tuple[DimArray, DimArray]:
    """A matrix by the basis of the vectors, and what the quotients make of it."""
    s = mm(mm(mH(v), x), v)
    return s, scale(s, typed(d, s))


def _pullback(
    g: DimArray, out: DimArray, a: DimArray, values: DimArray, y: DimArray, slope: DimArray, **_: Any
) -> Sequence[Any]:
    v, w = _vectors(y)
    s, inner = _turned(conj_if_complex(g), v, _quotients(values, w, slope))
    return conj_if_complex(hermitian_part(mm(mm(v, inner), mH(v)))), real(diagonal(s)), None, None


def _pushforward(
    ts: list[Any], out: DimArray, a: DimArray, values: DimArray, y: DimArray, slope: DimArray, **_: Any
) -> DimArray:
    ta, tvalues, *_rest = ts
    v, w = _vectors(y)
    moved = zeros_spread(y, like(out)) if ta is None else hermitian_part(ta)
    inner = _turned(moved, v, _quotients(values, w, slope))[1]
    return mm(mm(v, inner if tvalues is None else with_diagonal(inner, tvalues)), mH(v))


class _Recomposed(MatrixOp):
    """Computed by named operations, of the vectors and what takes the place of the values."""

    def lower(self, args: Sequence[DimArray], **_: Any) -> DimArray:
        return _put_together(_vectors(args[2])[0], args[1])


_recomposed = _Recomposed("(m,m),(m),(p,m),(m)->(m,m)", "recomposed", _pullback, _pushforward)


class Values(MatrixOp):
    """Eigenvalues of Hermitian matrices, packed with vectors that are of no use to others."""

    def __init__(self, pushforward: Callable[..., DimArray]) -> None:
        super().__init__("(m,m)->(p,m)", "eigh_packed", _gradient, pushforward)

    def lower(self, args: Sequence[DimArray], **params: Any) -> DimArray:
        return super().lower(args, **{k: v for k, v in params.items() if k != "spectrum"})


def _gradient(g: DimArray, y: DimArray, a: DimArray, *, spectrum: Spectrum, **_: Any) -> Sequence[Any]:
    values = real(slice_of(g, ROW, extent(g, COLUMN)))
    if y.level is None:
        return (conj_if_complex(_put_together(_vectors(y)[0], values)),)
    slope = slope_in(spectrum, values, y.level)
    unknown = typed(zeros_spread(values, like(values), np.nan), values) if slope is None else slope
    return (conj_if_complex(_recomposed(a, values, y, unknown)),)
