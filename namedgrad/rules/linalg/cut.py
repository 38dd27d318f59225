"""Derivatives of pseudoinverses that cut off singular values other than 0.

Let ``y`` be the pseudoinverse of ``a`` and ``e = a - a y a`` what was cut off.  As ``a`` changes, its kept and cut spaces
turn into each other, by an ``x`` that solves the Sylvester equation ``x - y y^H x e e^H = y y^H r``.  With ``e = 0`` that
is the term ``y y^H r`` of Golub and Pereyra.  The series of the solution doubles its terms with every step (Smith, R. A.
(1968), *Matrix equation XA + BX = C*, SIAM Journal on Applied Mathematics 16); it is made of products alone, so equal
singular values need no care, and derivatives of any order are right.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.backends import may_look
from namedgrad.rules.complex import conj_if_complex
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c, divide, greater, reciprocal, square
from namedgrad.rules.linalg.matrices import COLUMN, ROW, MatrixOp, mH, mm, typed
from namedgrad.rules.linalg.singular import svd, values_of
from namedgrad.rules.reductions import max as max_
from namedgrad.rules.reductions.ranges import size_of
from namedgrad.rules.structure import add, contract, multiply, negative, reorder, subtract, where
from namedgrad.trace import innermost

STEPS = 24  # each doubles the terms
_VALUE = axes.fresh("value")


def is_cut(rtol: float | None, a: DimArray) -> bool:
    """Whether more is cut off than rounding leaves."""
    rows, columns = extent(a, ROW), extent(a, COLUMN)
    return rtol is not None and rows * columns > 0 and rtol > 2 * max(rows, columns) * float(np.finfo(a.dtype).eps)


def _rest(y: DimArray, a: DimArray) -> DimArray:
    return subtract(a, mm(mm(a, y), a))


def _solved(r: DimArray, y: DimArray, e: DimArray) -> DimArray:
    """The ``x`` of the equation."""
    p, q = mm(y, mH(y)), mm(e, mH(e))
    top = square(max_(values_of(innermost(y), errors="nan"), COLUMN, skipna=False))
    scale = typed(where(greater(top, c(0.0)), top, c(1.0)), innermost(y))
    x, left, right = mm(p, r), divide(p, scale), multiply(q, typed(top, innermost(y)))  # their powers stay in range
    for _ in range(STEPS):
        raw = innermost(right).raw
        if may_look(raw) and not raw.any():  # what has underflowed
            break
        x = add(x, mm(mm(left, x), right))
        left, right = mm(left, left), mm(right, right)
    return x


def cut_pinv(a: DimArray, dims: tuple[Name, Name], least: DimArray) -> DimArray:
    """The pseudoinverse with a tolerance for every matrix: its value, and the derivative at that value."""
    row, column = dims
    u, s, vh = svd(stop_gradient(a), dims, new_dim=_VALUE)
    large = greater(s, multiply(max_(s, _VALUE, skipna=False), least))
    inverse = where(large, reciprocal(where(large, s, c(1.0))), c(0.0))
    y = contract(multiply(conj_if_complex(vh), typed(inverse, vh)), conj_if_complex(u), (_VALUE,))
    y = reorder(y, (*(n for n in y.names if n not in (column, row)), column, row))
    return _at_value(a, y, dims=(dims, (column, row)), out=(column, row))


def _near_1(way: Callable[..., DimArray]) -> Callable[..., DimArray]:
    """A rule for matrices whose largest cell is 1: the squares of others may be out of range."""

    @functools.wraps(way)
    def scaled(x: DimArray, y: DimArray, a: DimArray) -> DimArray:
        long = size_of(a, (ROW, COLUMN), skipna=False)
        return divide(way(divide(x, long), multiply(y, long), divide(a, long)), long)

    return scaled


@_near_1
def cut_gradient(g: DimArray, y: DimArray, a: DimArray) -> DimArray:
    """The transpose of :func:`cut_tangent`, in which the solutions stand for what is solved for."""
    e, gh = _rest(y, a), mH(g)
    yh, eh = mH(y), mH(e)
    x = _solved(g, y, e)
    z = mH(_solved(gh, yh, eh))
    kept, xh, zh = mm(y, a), mH(x), mH(z)
    first = mm(subtract(xh, mm(a, mm(y, xh))), kept)
    second = mm(mm(a, y), subtract(zh, mm(zh, kept)))
    inner = subtract(add(mm(mm(yh, x), e), mm(mm(e, z), yh)), mm(mm(yh, g), yh))
    return add(add(first, second), inner)


@_near_1
def cut_tangent(t: DimArray, y: DimArray, a: DimArray) -> DimArray:
    """``-y t y``, and the turn of the kept spaces on both sides."""
    e, th = _rest(y, a), mH(t)
    yh, eh = mH(y), mH(e)
    kept = mm(mm(y, a), th)
    other = mm(mm(th, a), y)
    r = add(subtract(kept, mm(mm(kept, a), y)), mm(mm(y, t), eh))
    s = add(subtract(other, mm(y, mm(a, other))), mm(mm(eh, t), y))
    turned = add(_solved(r, y, e), mH(_solved(mH(s), yh, eh)))
    return add(negative(mm(mm(y, t), y)), turned)


_at_value = MatrixOp(
    "(m,n),(n,m)->(n,m)",
    "known",
    lambda g, y, a, _: (conj_if_complex(cut_gradient(conj_if_complex(g), y, a)), g),
    lambda ts, y, a, _: cut_tangent(ts[0], y, a),
)
