"""Exponentials normalized along dims: each has a derivative in which only its own value takes part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, make
from namedgrad.axes import Names
from namedgrad.backends import call, may_look
from namedgrad.backends.softmax import lost_beside_one
from namedgrad.linear import CoreMap, Map, like
from namedgrad.primitive import Primitive, operation, reduction, sample
from namedgrad.rules.dims import pick
from namedgrad.rules.elementwise import c, exp, greater
from namedgrad.rules.half import in_single
from namedgrad.rules.structure import (
    contract,
    guarded_contract,
    if_likely,
    logical_not,
    multiply,
    negative,
    relabel,
    scale,
    select,
    subtract,
    total,
    where,
)
from namedgrad.trace import apply, innermost


class _Along(Primitive):
    """Cells for cells along dims; a step of other operations, which have the derivative."""

    form, signature, keeps = "core", "(n...)->(n...)", "constants"

    def lower(self, args: Sequence[DimArray], dims: Names) -> DimArray:
        (x,) = args
        return make(call(self.kernel_for(x.raw), x.raw, axes.positions(x.names, dims)), x.names, x.hidden)


class _Softmax(_Along):
    """``exp(x)`` over its sum along dims."""

    keeps = "result"

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names) -> Map:
        inner = axes.cores(len(dims))
        frame = dict(zip(dims, inner, strict=True))
        y = relabel(out, frame)
        return CoreMap(
            lambda ts: self.push(ts[0], y, inner), lambda g: [self.pull(g, y, inner)], [like(ins[0])], [frame], frame
        )

    def push(self, t: DimArray, y: DimArray, dims: Names) -> DimArray:
        """The tangent: ``y (t - sum(y t))``, and 0 of zeros also where ``y`` is NaN."""
        t = less_leading(t, y, dims)
        return scale(subtract(t, guarded_contract(t, y, dims)), y)

    def pull(self, g: DimArray, y: DimArray, dims: Names) -> DimArray:
        """The same: the map is symmetric."""
        if g.hidden.guard:  # type: ignore[attr-defined]
            return self.push(g, y, dims)
        g = less_leading(g, y, dims)
        return multiply(y, subtract(g, contract(g, y, dims)))


class _LogSoftmax(_Softmax):
    """Its logarithm."""

    def push(self, t: DimArray, y: DimArray, dims: Names) -> DimArray:
        """The tangent: ``t - sum(exp(y) t)``."""
        p = exp(y)
        t = less_leading(t, p, dims)
        return subtract(t, guarded_contract(t, p, dims))

    def pull(self, g: DimArray, y: DimArray, dims: Names) -> DimArray:
        """The cotangent: ``g - exp(y) sum(g)``, whose sum is 0."""
        p, whole = exp(y), total(g, dims)
        guard: bool = g.hidden.guard  # type: ignore[attr-defined]
        g, leads = subtract(g, scale(whole, p) if guard else multiply(p, whole)), _leading(p)
        if leads is None:
            return g
        rest = logical_not(leads)
        return if_likely(rest, lambda: g, lambda: where(leads, negative(total(select(rest, g), dims)), g))


def _leading(y: DimArray) -> DimArray | None:
    """Where a cell holds nearly all; None if it is seen that none does.

    What such a cell lacks to 1 is what the others hold: summed, not subtracted, for the difference is lost long before
    they are 0.
    """
    if y.dtype.kind == "c":
        return None
    leads = greater(innermost(y), c(1 - lost_beside_one(y.dtype)))
    return leads if not may_look(leads.raw) or leads.raw.any() else None


def less_leading(t: DimArray, y: DimArray, dims: Names) -> DimArray:
    """Tangents of what has the softmax ``y``, less that of the leading cell: the same to all changes nothing."""
    leads = _leading(y)
    if leads is None:
        return t
    return if_likely(logical_not(_any(leads, dims)), lambda: t, lambda: subtract(t, total(select(leads, t), dims)))


_SOFTMAX, _LOG_SOFTMAX = _Softmax("softmax"), _LogSoftmax("log_softmax")
below_max, log_sum_below, _any = _Along("below_max"), reduction("log_sum_below"), reduction("any")
_SAMPLES = (
    sample("real(a,b)", dim="b"),
    sample("real(a,b,c)", dim=("c", "a")),
    sample("real(a,b)", dim=...),
    sample("complex(a,b)", dim="a"),
)


@operation(*_SAMPLES)
@in_single
def softmax(x: DimArray, dim: Any = None) -> DimArray:
    """``exp(x)`` over its sum along dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims along which the result sums to 1; all by default.

    Returns
    -------
    DimArray
        With the dims of ``x``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    Shifted by the maximum, so that nothing overflows. Derivative: a cotangent g gives ``y (g - sum(y g))``.
    SciPy: :obj:`scipy.special.softmax`; PyTorch: ``torch.nn.functional.softmax``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.softmax(ng.DimArray([1000.0, 1000.0], ("x",)), "x").data
    array([0.5, 0.5])
    """
    return apply(_SOFTMAX, (x,), dims=pick(x, dim, "softmax"))


@operation(*_SAMPLES)
@in_single
def log_softmax(x: DimArray, dim: Any = None) -> DimArray:
    """Logarithm of :func:`~namedgrad.softmax`: ``x - logsumexp(x)`` along dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims along which the exponential of the result sums to 1; all by default.

    Returns
    -------
    DimArray
        With the dims of ``x``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    Shifted by the maximum, so that nothing overflows. Derivative: a cotangent g gives ``g - exp(y) sum(g)``.
    SciPy: :obj:`scipy.special.log_softmax`; PyTorch: ``torch.nn.functional.log_softmax``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.log_softmax(ng.DimArray([0.0, 1000.0], ("x",)), "x").data
    array([-1000.,     0.])
    """
    return apply(_LOG_SOFTMAX, (x,), dims=pick(x, dim, "log_softmax"))
