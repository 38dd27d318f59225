"""Complex numbers: the operations that are linear over the reals only, and what is built on them.

Maps are transposed, not conjugated (see :mod:`namedgrad.linear`), so the transpose of Re is the embedding of the real
numbers, and that of Im is multiplication by -i.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE
from namedgrad.linear import Map, Structural, like, product
from namedgrad.primitive import Elementwise, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.structure import MANY, add, cast, equal, multiply, stamp, where, zeros_spread
from namedgrad.squares import Length, as_length
from namedgrad.trace import apply


class RealLinear(Elementwise):
    """Elementwise and linear over the reals; the transpose is given.

    A real cotangent stays so until it meets a complex factor or an input: conjugated there, it took two passes more.
    """

    form, moves = "elementwise", -1

    def __init__(self, name: str, transpose: Any) -> None:
        super().__init__(name, (None,))
        self.transpose = transpose

    def one(self, x: DimArray) -> DimArray:
        return apply(self, (x,))

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool]) -> Map:
        return Structural(self.one, self.transpose)


class Conjugation(Structural):
    """The map of the conjugate, which is its own transpose."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(conj_if_complex, conj_if_complex)


class _Conjugate(RealLinear):
    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool]) -> Map:
        return Conjugation()


_real = RealLinear("real", lambda g: g)
_imag = RealLinear("imag", lambda g: _from_imag.one(g))
_from_imag = RealLinear("from_imag", lambda g: _imag.one(g))
_conj = _Conjugate("conjugate", None)


class _Modulus(Elementwise):
    """The length of a complex number: as such a million take 2 ms, those of two parts 50; their derivatives are alike.

    The conjugate over a length that is known to be neither 0 nor out of range has a third of the passes of two parts.
    """

    keeps = "result"

    def one(self, x: DimArray) -> DimArray:
        return apply(self, (x,))

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool]) -> Map:
        (z,) = ins
        if z.level is None and _is_moderate(out):
            back = _conj.one(z)
            return _Products(
                lambda t: e.divide(_real.one(product(t, back)), out), lambda g: product(e.divide(g, out), back)
            )
        home, x, y = z.dtype, _real.one(z), _imag.one(z)
        p, q = e.part_of_length(x, y, out), e.part_of_length(y, x, out)
        return _Products(
            lambda t: add(product(_real.one(t), p), product(_imag.one(t), q)),
            lambda g: add(cast(product(g, p), home), _from_imag.one(product(g, q))),
        )


def _is_moderate(y: DimArray) -> bool:
    """Whether many lengths may be looked at, none of which takes a cotangent of a usual size out of range."""
    if y.size < MANY or not backends.may_look(y.raw) or backends.is_recording():
        return False
    least = np.finfo(y.dtype).tiny ** 0.125
    return bool(least < y.raw.min() and y.raw.max() < 1 / least)


def _square_of_modulus(z: DimArray) -> DimArray:
    return add(e.square(_real.one(z)), e.square(_imag.one(z)))


class _Products(Structural):
    """With values that may not be finite."""

    __slots__ = ()
    multiplies = True


class _Square(Elementwise):
    """The square of the length, whose derivative has one factor; that of z times its conjugate has two."""

    def one(self, x: DimArray) -> DimArray:
        return apply(self, (x,))

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool]) -> Map:
        twice = _twice.one(*ins)
        return _Products(lambda t: _real.one(product(t, twice)), lambda g: product(g, twice))


class _Direction(Elementwise):
    """z / |z|: turned by an angle q dz / |z| with q = i z / |z|, at half the time of the derivatives of two numbers."""

    def one(self, x: DimArray) -> DimArray:
        return apply(self, (x,))

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool]) -> Map:
        length = _modulus.one(ins[0])
        short = e.reciprocal(where(equal(length, e.c(0)), e.c(math.inf), length))
        q = multiply(make(1j, (), NONE), out)
        back = _conj.one(q)
        return _Products(
            lambda t: product(product(_real.one(product(t, back)), short), q),
            lambda g: product(product(_real.one(product(g, q)), short), back),
        )


_modulus = _Modulus("modulus", (None,), "absolute")
_square, _twice = _Square("modulus_squared", (None,)), RealLinear("twice_conjugate", lambda g: _twice.one(g))
_direction = _Direction("direction", (None,))


def _is_complex(x: DimArray) -> bool:
    return x.dtype.kind == "c"


@operation(sample("complex(a,b)"), sample("real(a,b)"))
def real(x: DimArray) -> DimArray:
    """Real part.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray
        A real array is returned as it is.

    Notes
    -----
    Linear over the reals; its transpose embeds the real numbers.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.real(ng.DimArray([3 + 4j], ("x",))).data
    array([3.])
    """
    return _real.one(x) if _is_complex(x) else x


@operation(sample("complex(a,b)"), sample("real(a,b)"))
def imag(x: DimArray) -> DimArray:
    """Imaginary part.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray
        Zeros for a real array.

    Notes
    -----
    Linear over the reals; the gradient of ``imag(z)`` is i.

    Examples
    --------
    >>> import namedgrad as ng
    >>> z = ng.DimArray([3 + 4j], ("x",))
    >>> ng.imag(z).data, ng.grad(lambda z: ng.imag(z).sum())(z).data
    (array([4.]), array([0.+1.j]))
    """
    return _imag.one(x) if _is_complex(x) else stamp(zeros_spread(x, like(x), np.zeros((), x.dtype)[()]), x.hidden)


@operation(sample("complex(a,b)"), sample("real(a,b)"))
def conjugate(x: DimArray) -> DimArray:
    """Complex conjugate.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray
        A real array is returned as it is.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.conjugate(ng.DimArray([3 + 4j], ("x",))).data
    array([3.-4.j])
    """
    return _conj.one(x) if _is_complex(x) else x


def squared(x: DimArray) -> DimArray:
    """The square of the length of a number."""
    if type(x) is Length and _is_complex(x):  # products know what roots they are made of
        return real(multiply(x, conjugate(x)))
    return _square.one(x) if _is_complex(x) else e.square(x)


@operation(sample("nonzero(a,b)"), sample("complex(a,b)"))
def absolute(x: DimArray) -> DimArray:
    r"""Absolute value, also ``abs(x)``.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray
        Real.

    Notes
    -----
    The derivative is sign(x) for real x; for complex z the gradient is z / \|z\|. Both are 0 at 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.absolute(ng.DimArray([3 + 4j], ("x",))).data
    array([5.])
    >>> ng.grad(lambda x: abs(x).sum())(ng.DimArray([-2.0, 0.0], ("x",))).data
    array([-1.,  0.])
    """
    return as_length(_modulus.one(x), _square_of_modulus, x) if _is_complex(x) else e.absolute_real(x)


@operation(sample("complex(a,b)"))
def angle(x: DimArray) -> DimArray:
    """Argument of a complex number, in radians.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray
        Real, between -π and π.

    Notes
    -----
    The derivative is 0 at 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.angle(ng.DimArray([1j], ("x",))).data.round(4)
    array([1.5708])
    """
    if _is_complex(x):
        return e.arctan2(_imag.one(x), _real.one(x))
    return e.arctan2(e.c(0.0), x)


@operation(sample("complex(a,b)"), sample("nonzero(a,b)"))
def sign(x: DimArray) -> DimArray:
    r"""Sign of a real number, direction of a complex one, as :obj:`numpy.sign`.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray
        -1, 0 or 1; z / \|z\| if complex, and 0 at 0.

    Notes
    -----
    The derivative is 0 for real numbers, and at 0. PyTorch: ``torch.sign``, ``torch.sgn``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.sign(ng.DimArray([3 + 4j], ("x",))).data
    array([0.6+0.8j])
    """
    return _direction.one(x) if _is_complex(x) else e.sign.one(x)


def conj_if_complex(x: DimArray) -> DimArray:
    """The conjugate, without an operation if the array is real."""
    return _conj.one(x) if x.dtype.kind == "c" else x


