"""Dropout: cells that a mask leaves out, the others scaled up; the mask is given, or drawn by a given generator."""

from __future__ import annotations

import math
from typing import Any

from namedgrad import backends
from namedgrad.array import DimArray, constant, make, refuse_while_recording
from namedgrad.backends import call
from namedgrad.backends.rewind import about_to_draw
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import pick
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import add, multiply, not_equal, reorder, select
from namedgrad.trace import innermost


def _check_rate(what: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"{what}: p={p} is no probability")


def _kept(what: str, x: DimArray, p: float, dim: Any, mask: Any, rng: Any) -> DimArray:
    """Which cells stay: the mask, or cells drawn with probability ``1 - p``, alike along ``dim``."""
    if (mask is None) == (rng is None):
        raise TypeError(f"{what}: give either mask=, which cells stay, or rng=, a generator that draws them")
    if mask is not None:
        found = constant(mask)
        return found if found.dtype.kind == "b" else not_equal(found, c(0))
    refuse_while_recording("drawing a mask", "mask=, a mask that was drawn before")
    shared = pick(x, dim, what) if dim not in ((), None) else ()
    own = [(n, int(s)) for n, s in zip(x.names, x.full_shape, strict=True) if n not in shared]
    about_to_draw(rng)
    drawn = rng.random(size=tuple(s for _, s in own))
    raw = drawn if backends.is_array(drawn) else call(backends.backend_of(innermost(x).raw).asarray, drawn)
    uniform = make(raw, tuple(n for n, _ in own), x.hidden.intersection(n for n, _ in own))
    return e.greater_equal(uniform, c(float(p)))


@operation(sample("real(a,b)", "bool(a,b)", p=0.25), sample("real(a,b)", "bool(b)"), sample("complex(a,b)", "bool(a)", p=0.75))
def dropout(x: DimArray, mask: Any = None, *, p: float = 0.5, dim: Any = (), rng: Any = None, training: bool = True) -> DimArray:
    """Cells left out at random, the others divided by the probability ``1 - p`` to stay.

    Parameters
    ----------
    x : DimArray
    mask : DimArray of bool, optional
        Which cells stay, aligned by name.
    p : float
        The probability that a cell is left out.
    dim : name or names, optional
        Dims along which all cells are left out together, as whole features are.
    rng : numpy.random.Generator, optional
        Draws the mask where none is given, every slice of vectorized axes by itself; a CuPy or dask generator for their
        arrays.
    training : bool
        False returns ``x``.

    Returns
    -------
    DimArray

    Raises
    ------
    TypeError
        If both a mask and a generator are given, or neither.
    ValueError
        If ``p`` is no probability.

    Notes
    -----
    The derivative is ``mask / (1 - p)``: exactly 0 for a cell that is left out, whatever its value.
    ``torch.nn.functional.dropout``, and with ``dim`` ``dropout1d`` to ``dropout3d`` (Srivastava et al., 2014).

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0, 3.0], ("x",))
    >>> ng.dropout(x, ng.DimArray([True, False, True], ("x",)), p=0.5).data
    array([2., 0., 6.])
    """
    x = constant(x)
    _check_rate("dropout", p)
    if not training:
        return x
    kept = select(_kept("dropout", x, p, dim, mask, rng), x)
    out = multiply(c(0.0 if p == 1 else 1 / (1 - p)), kept)
    return reorder(out, (*x.names, *(n for n in out.names if n not in x.names)))


@operation(sample("real(a,b)", "bool(a,b)", p=0.25), sample("real(a,b)", "bool(b)"))
def alpha_dropout(x: DimArray, mask: Any = None, *, p: float = 0.5, dim: Any = (), rng: Any = None, training: bool = True) -> DimArray:
    """Dropout that keeps mean and variance of standardised cells: those left out become the least value of ``selu``.

    Parameters
    ----------
    x : DimArray
    mask : DimArray of bool, optional
        Which cells stay, aligned by name.
    p : float
        The probability that a cell is left out.
    dim : name or names, optional
        Dims along which all cells are left out together, as whole features are.
    rng : numpy.random.Generator, optional
        As for :func:`dropout`.
    training : bool
        False returns ``x``.

    Returns
    -------
    DimArray

    Raises
    ------
    TypeError
        If both a mask and a generator are given, or neither.
    ValueError
        If ``p`` is no probability.

    Notes
    -----
    ``a (x mask - s (1 - mask)) + b`` with ``s = 1.758``, ``a = 1 / sqrt((1 - p)(1 + p s**2))`` and ``b = a p s``
    (Klambauer et al., 2017); the derivative is ``a mask``. ``torch.nn.functional.alpha_dropout``, and with ``dim``
    ``feature_alpha_dropout``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 1.0], ("x",))
    >>> ng.alpha_dropout(x, ng.DimArray([True, False], ("x",)), p=0.5).data.round(3)
    array([ 1.666, -0.779])
    """
    x = constant(x)
    _check_rate("alpha_dropout", p)
    if not training:
        return x
    least = 1.0507009873554804934193349852946 * 1.6732632423543772848170429916717
    a = 0.0 if p == 1 else 1 / math.sqrt((1 - p) * (1 + p * least**2))
    kept = _kept("alpha_dropout", x, p, dim, mask, rng)
    shifted = select(kept, add(x, c(least)))  # 0 where a cell is left out, and quicker than a choice of two numbers
    out = add(multiply(c(a), shifted), c(a * (p - 1) * least))
    return reorder(out, (*(n for n in x.names), *(n for n in out.names if n not in x.names)))
