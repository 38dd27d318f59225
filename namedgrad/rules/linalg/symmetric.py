"""Matrices put together of vectors and functions of eigenvalues or singular values, also where these coincide.

The gradient of a function of the eigenvalues of ``A = V diag(w) V^H`` is ``V diag(g) V^H`` with its derivatives ``g``.
Lewis and Sendov (2001), *Twice differentiable spectral functions*, SIAM Journal on Matrix Analysis and Applications 23,
theorem 3.3: along ``H`` that moves by ``V (diag(g') + D o V^H H V) V^H``, where ``D`` holds ``(g_i - g_j) / (w_i - w_j)``,
which of equal values is the derivative of ``g_i`` in ``w_i`` less that in ``w_j``.  Singular values are eigenvalues of the
matrix that has ``A`` and ``A^H`` beside its diagonal, and so are their negatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.backends import backend_of, is_recording, may_look
from namedgrad.linear import like
from namedgrad.rules.complex import absolute, conj_if_complex, real
from namedgrad.rules.elementwise import c, divide, greater, less_equal, logical_and, logical_or
from namedgrad.rules.linalg.coinciding import close_to, coincide, neighbours
from namedgrad.rules.linalg.matrices import (
    COLUMN,
    ROW,
    MatrixOp,
    diagonal,
    down,
    hermitian_part,
    mH,
    mm,
    skew,
    typed,
    without_diagonal,
)
from namedgrad.rules.linalg.parting import Parting, nearly
from namedgrad.rules.linalg.spectra import Spectrum, alone, apart_from, curvatures, mean_of_both
from namedgrad.rules.movement import slice_of
from namedgrad.rules.reductions.norms import vector_norm
from namedgrad.rules.structure import (
    add,
    equal,
    multiply,
    not_equal,
    positions,
    scale,
    select,
    stamp,
    subtract,
    total,
    where,
    zeros_spread,
)
from namedgrad.trace import innermost

NOISE = 64  # roundings by which what ought to be equal may differ


class Values(MatrixOp):
    """Values and vectors, of which it is known to which ``spectrum`` they belong; the values are a row among these.

    Those of any matrix are in no order, and ``independent`` tells of which matrices the vectors are a basis.
    """

    def __init__(self, *args: Any, signed: bool, independent: Callable[[DimArray], DimArray] | None = None) -> None:
        self.signed, self.independent = signed, independent
        super().__init__(*args)

    def lower(self, args: Sequence[DimArray], *, spectrum: Spectrum, **params: Any) -> DimArray:
        y = super().lower(args, **params)
        above, row = spectrum.parts_below, extent(args[0], ROW)
        if above is None:
            return y
        w = slice_of(y, ROW, row)
        spectrum.apart = not self._may_coincide(w)
        if spectrum.apart:
            return y
        parting: Any = above.parting or Parting(above)
        return y if above.tape is None else self._parted(y, row, w, parting)  # forward mode starts again

    def _may_coincide(self, w: DimArray) -> bool:
        """Whether some values nearly do; a program that is recorded is told how they part in case that they do."""
        if not may_look(w.raw):
            return is_recording() and backend_of(w.raw).may_branch
        if self.independent:
            return bool(_shared(w).raw.any())
        gaps = [neighbours(w), *(() if self.signed else (add(w, w),))]
        return any(nearly(gap, w).raw.any() for gap in gaps)

    def _parted(self, y: DimArray, row: int, w: DimArray, parting: Parting) -> DimArray:
        """With values, one of the rows, moving apart where they coincide: in proportion to all of them."""
        size = vector_norm(w, COLUMN)
        numbers = self._numbers(y, w)
        parting.met = add(parting.met, total(multiply(not_equal(numbers, c(0.0)), c(1.0)), numbers.names))
        is_value = equal(positions(extent(y, ROW), ROW, y), c(row))
        return parting.moving(y, select(is_value, multiply(where(equal(size, c(0.0)), c(1.0), size), numbers)))

    def _numbers(self, y: DimArray, w: DimArray) -> DimArray:
        """A number for each value that coincides with others: around 0, and above it where sums of two are divisors."""
        ranks, same = positions(extent(w, COLUMN), COLUMN, w), multiply(nearly(subtract(w, down(w)), w), c(1.0))
        count = total(same, (ROW,))
        centred = subtract(multiply(ranks, c(1.0)), divide(total(multiply(same, down(ranks)), (ROW,)), count))
        if not self.signed:
            return where(nearly(add(w, w), w), add(ranks, c(1.0)), centred)
        return select(self.independent(y), centred) if self.independent else centred


def _shared(w: DimArray) -> DimArray:
    """Which values nearly coincide with others."""
    return greater(total(multiply(nearly(subtract(w, down(w)), w), c(1.0)), (ROW,)), c(1.0))


class _PutTogether(MatrixOp):
    """Of a matrix, the derivatives of a function of its values, the packed vectors and values, and how the first bend.

    ``change(x, y, g, bends)`` is how it moves along ``x``: a map that is its own transpose.
    """

    def __init__(self, signature: str, name: str, split: Callable[..., Any], change: Callable[..., DimArray], *, signed: bool) -> None:
        self.split, self.change, self.signed = split, change, signed
        super().__init__(signature, name, self._pull, self._push)

    def lower(self, args: Sequence[DimArray], **_: Any) -> DimArray:
        a, g, y, _bends = args
        left, _, right = self.split(y, extent(a, ROW))
        return put_together(left, g, right)

    def _pull(
        self, c_: DimArray, out: DimArray, a: DimArray, g: DimArray, y: DimArray, bends: DimArray, **_: Any
    ) -> Sequence[Any]:
        left, w, right = parts = self.split(y, extent(a, ROW))
        x = conj_if_complex(c_)
        along = where(self._known(w, bends), real(diagonal(mm(mm(mH(left), x), right))), c(np.nan))
        return conj_if_complex(self.change(x, parts, g, bends)), along, None, None

    def _push(
        self, ts: list[Any], out: DimArray, a: DimArray, g: DimArray, y: DimArray, bends: DimArray, **_: Any
    ) -> DimArray:
        left, w, right = parts = self.split(y, extent(a, ROW))
        moved = self.change(zeros_spread(y, like(out)) if ts[0] is None else ts[0], parts, g, bends)
        if ts[1] is None:
            return moved
        own = scale(ts[1], where(self._known(w, bends), c(1.0), c(np.nan)))
        return add(moved, put_together(left, own, right))

    def _known(self, w: DimArray, bends: DimArray) -> DimArray:
        """Where cells follow others as values do that are treated alike; those that are alone do not matter."""
        own = diagonal(bends)
        return logical_or(equal(own, own), alone(w, self.signed))

    def of(self, a: DimArray, g: DimArray, y: DimArray, spectrum: Spectrum) -> DimArray:
        """The gradient of a function of the values whose derivatives are ``g``."""
        w = self.split(innermost(y), extent(a, ROW))[1]
        bends = curvatures(g, w, y.level, spectrum, signed=self.signed)
        return self(a, g, y, stamp(typed(bends, g), g.hidden))


def put_together(left: DimArray, g: DimArray, right: DimArray) -> DimArray:
    """``left diag(g) right^H``."""
    return mm(multiply(left, typed(g, left)), mH(right))


def _quotients(rise: DimArray, gap: DimArray, g: DimArray, w: DimArray, slope: DimArray) -> DimArray:
    """``rise / gap``; of gaps that are nearly 0 the slope, in error by the order of the square of the gap.

    Where a gap is 0 and the rise is not, there is none.
    """
    eps, size = float(np.finfo(w.dtype).eps), vector_norm(innermost(w), COLUMN)
    straight = multiply(slope, gap)
    noise = add(add(absolute(g), absolute(down(g))), multiply(absolute(slope), size))
    allowed = add(multiply(c(NOISE * eps), noise), multiply(c(eps ** (1 / 3)), absolute(straight)))
    alike = less_equal(absolute(innermost(subtract(rise, straight))), innermost(allowed))
    close = logical_and(close_to(gap, w), alike)
    same = coincide(gap, w)
    apart = where(same, c(np.nan), divide(rise, where(same, c(1.0), gap)))
    return where(close, slope, apart)


def _differences(g: DimArray, w: DimArray, bends: DimArray) -> DimArray:
    return without_diagonal(_quotients(subtract(g, down(g)), subtract(w, down(w)), g, w, apart_from(bends)))


def _times(x: DimArray, quotients: DimArray) -> DimArray:
    return scale(x, typed(quotients, x))


def _hermitian(y: DimArray, m: int) -> tuple[DimArray, DimArray, DimArray]:
    v = slice_of(y, ROW, slice(0, m))
    return v, real(slice_of(y, ROW, m)), v


def _change(x: DimArray, parts: tuple[DimArray, ...], g: DimArray, bends: DimArray) -> DimArray:
    v, w, _ = parts
    return mm(mm(v, _times(mm(mm(mH(v), hermitian_part(x)), v), _differences(g, w, bends))), mH(v))


of_eigenvalues = _PutTogether("(m,m),(m),(p,m),(m,m)->(m,m)", "of_eigenvalues", _hermitian, _change, signed=True)


def _packed(y: DimArray, m: int) -> tuple[DimArray, DimArray, DimArray]:
    return slice_of(y, ROW, slice(0, m)), real(slice_of(y, ROW, m)), slice_of(y, ROW, slice(m + 1, extent(y, ROW)))


def _change_of_singular(x: DimArray, parts: tuple[DimArray, ...], g: DimArray, bends: DimArray) -> DimArray:
    u, s, v = parts
    d = mm(mm(mH(u), x), v)
    sums = _quotients(add(g, down(g)), add(s, down(s)), g, s, mean_of_both(bends))
    turned = multiply(c(0.5), add(_times(add(d, mH(d)), _differences(g, s, bends)), _times(skew(d), sums)))
    out, ratio = mm(mm(u, turned), mH(v)), diagonal(sums)
    if extent(u, ROW) > extent(u, COLUMN):
        out = add(out, mm(_times(subtract(mm(x, v), mm(u, d)), ratio), mH(v)))
    if extent(v, ROW) > extent(v, COLUMN):
        out = add(out, mm(u, mH(_times(subtract(mm(mH(x), u), mm(v, mH(d))), ratio))))
    return out


of_singular_values = _PutTogether(
    "(m,n),(k),(p,k),(k,k)->(m,n)", "of_singular_values", _packed, _change_of_singular, signed=False
)
