"""Connectionist temporal classification: the probability of a sequence, summed over all ways to align it in time.

Graves et al. (2006), in logarithms.  The target with blanks around every label is a chain of states; each time stays in
a state, goes to the next, or skips a blank between two different labels.  One recursion gives the log-probability to be
in each state after each time.  Its derivative is a linear recursion along the same transitions, weighted with their
shares of what arrives; that recursion and its transpose are closed under differentiation, so every order is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError, Name, Names
from namedgrad.linear import Pair
from namedgrad.primitive import core, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import check, named_dims
from namedgrad.rules.dtypes import floating
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.indexing import gather
from namedgrad.rules.linalg.matrices import live, of_live_slices
from namedgrad.rules.losses.reducing import check_range, check_reduction, reduced, signed
from namedgrad.rules.movement import pad, slice_of
from namedgrad.rules.structure import (
    add,
    cast,
    contract,
    equal,
    known_finite,
    multiply,
    negative,
    not_equal,
    positions,
    relabel,
    select,
    subtract,
    total,
    where,
)

TIME, STEP, STATE, WAY = (axes.fresh(name) for name in ("time", "step", "state", "way"))
STATES: Names = (STEP, STATE)  # a step is before the first time, or after one
SHARES: Names = (WAY, TIME, STATE)


# ------------------------------------------------------------------------------------------------ the recursions


def _named(x: DimArray, names: Names) -> DimArray:
    """An operand of a rule under names on which dims can be cut."""
    return relabel(x, dict(zip(axes.cores(len(names)), names, strict=True)))


def _cores(x: DimArray, names: Names) -> DimArray:
    return relabel(x, dict(zip(names, axes.cores(len(names)), strict=True)))


def _later(x: DimArray) -> DimArray:
    """From the second step on, by the times before."""
    return relabel(slice_of(x, STEP, slice(1, None)), {STEP: TIME})


def _forward_pull(g: DimArray, y: DimArray, emitted: DimArray, skips: DimArray) -> list[Any]:
    shares = _shares(_named(y, STATES), _named(skips, (STATE,)), dims=(STATES, (STATE,)), out=SHARES)
    back = _scan_back(_named(g, STATES), shares, dims=(STATES, SHARES), out=STATES)
    return [_cores(_later(back), (TIME, STATE)), None]


def _forward_push(ts: Sequence[Any], y: DimArray, emitted: DimArray, skips: DimArray) -> DimArray:
    shares = _shares(_named(y, STATES), _named(skips, (STATE,)), dims=(STATES, (STATE,)), out=SHARES)
    late = pad(_named(ts[0], STATES), {STEP: (1, 0)}, constant_values=0.0)
    out = _cores(_scan(late, shares, dims=(STATES, SHARES), out=STATES), STATES)
    return out if known_finite(shares) else select(live(ts[0]), out)


def _centered(x: DimArray, shares: DimArray) -> DimArray:
    """The derivative of shares: ``shares * (x - sum(shares * x))``, a sum over the ways."""
    return multiply(shares, subtract(x, contract(shares, x, (axes.core(-3),))))


def _origins_of(y: DimArray) -> DimArray:
    return _cores(_origins(y, dims=(STATES,), out=SHARES), SHARES)


def _scan_pull(g: DimArray, y: DimArray, x: DimArray, shares: DimArray) -> list[Any]:
    back = _scan_back(_named(g, STATES), _named(shares, SHARES), dims=(STATES, SHARES), out=STATES)
    return [_cores(back, STATES), Pair(_cores(_later(back), (TIME, STATE)), _origins_of(_named(y, STATES)))]


def _scan_back_pull(g: DimArray, y: DimArray, x: DimArray, shares: DimArray) -> list[Any]:
    forth = _scan(_named(g, STATES), _named(shares, SHARES), dims=(STATES, SHARES), out=STATES)
    return [_cores(forth, STATES), Pair(_cores(_later(_named(y, STATES)), (TIME, STATE)), _origins_of(forth))]


# fmt: off
_forward   = core("(t,s),(s)->(u,s)",     "ctc_forward",   pullback=of_live_slices(_forward_pull), pushforward=_forward_push)
_shares    = core("(u,s),(s)->(w,t,s)",   "ctc_shares",    pullback=lambda g, out, y, skips: [_collect(_centered(g, out)), None],
                                                           pushforward=lambda ts, out, y, skips: _centered(_origins(ts[0]), out))
_origins   = core("(u,s)->(w,t,s)",       "ctc_origins",   pullback=lambda g, out, y: [_collect(g)], pushforward=lambda ts, out, y: _origins(ts[0]))
_collect   = core("(w,t,s)->(u,s)",       "ctc_collect",   pullback=lambda g, out, x: [_origins(g)], pushforward=lambda ts, out, x: _collect(ts[0]))
_scan      = core("(u,s),(w,t,s)->(u,s)", "ctc_scan",      pullback=_scan_pull)
_scan_back = core("(u,s),(w,t,s)->(u,s)", "ctc_scan_back", pullback=_scan_back_pull)
# fmt: on


# ------------------------------------------------------------------------------------------------ the loss


@operation(
    sample("real(six,a,eight)", "label(a,one)", dims=("six", "eight", "one")),
    sample(
        "real(nine,eight,a)", "label(a,six)", "time_nine(a)", "short(a)", dims=("nine", "eight", "six"), reduction="sum"
    ),
    sample(
        "real(a,nine,eight)",
        "label(c,six)",
        "time_nine(a)",
        target_lengths=3,
        dims=("nine", "eight", "six"),
        reduction=None,
    ),
    sample(
        "real(six,a,eight)",
        "label(a,nine)",
        "time_six(a)",
        "long(a)",
        dims=("six", "eight", "nine"),
        zero_infinity=True,
        blank=7,
    ),
)
@in_single
def ctc_loss(
    log_probs: DimArray,
    targets: DimArray,
    input_lengths: DimArray | int | None = None,
    target_lengths: DimArray | int | None = None,
    *,
    dims: tuple[Name, Name, Name],
    blank: int = 0,
    zero_infinity: bool = False,
    reduce_dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """Connectionist temporal classification: minus the log-probability of a sequence of labels, however it is timed.

    Parameters
    ----------
    log_probs : DimArray
        Logarithms of the probabilities of the classes at each time.
    targets : DimArray of integers
        The labels of each sequence, padded with anything.
    input_lengths, target_lengths : DimArray or int, optional
        How many times and how many labels count; all by default.
    dims : (time, class, target)
        The dims of times and classes in ``log_probs``, and of labels in ``targets``. All others are batch dims.
    blank : int
        The class of no label.
    zero_infinity : bool
        A sequence that cannot be aligned has loss 0 instead of infinity; its gradient is 0 in any case.
    reduce_dim : name or names, optional
        Dims to reduce; by default all that are left.
    reduction : {"mean", "sum", None}
        Of the mean each loss is divided by the number of its labels first, if there are any.
        None: the loss of each sequence.

    Returns
    -------
    DimArray
        Without ``dims``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.
    IndexError
        If a label is no class, or a length is too large; on NumPy only, where looking is free.
    TypeError
        If the targets do not hold integers.

    Notes
    -----
    The derivative is minus the probability to be in a class at a time, given the target. That of PyTorch
    (``torch.nn.functional.ctc_loss``) has the class's own probability added, which ``log_softmax`` takes out again: of
    scores before a ``log_softmax`` both are equal. Derivatives of every order exist.

    Examples
    --------
    >>> import numpy as np, namedgrad as ng
    >>> x = ng.DimArray(np.log([[0.5, 0.5], [0.25, 0.75]]), ("time", "class"))
    >>> loss = ng.ctc_loss(x, ng.DimArray([1], ("label",)), dims=("time", "class", "label"))
    >>> print(f"{float(ng.exp(-loss)):.6g}")  # blank then label, label then blank, label twice: all but two blanks
    0.875
    """
    check_reduction(reduction, "ctc_loss")
    time, kind, label = named_dims(dims, "ctc_loss", "of the times", "of the classes", "of the labels in the targets")
    x, t = floating(log_probs), constant(targets, "ctc_loss: the targets")
    n = int(extent(t, check(t, label, "ctc_loss: the targets")))
    for name in (time, kind):
        check(x, name, "ctc_loss")
        if name in t.names:
            raise AxisError(f"ctc_loss: {name!r} is also a dim of the targets {describe(t)}; rename it in these")
    if t.dtype.kind not in "iu":
        raise TypeError(f"ctc_loss: the targets hold classes, so their dtype is an integer, not {t.dtype}")
    steps = _length(input_lengths, extent(x, time), x, "input_lengths")
    size = _length(target_lengths, n, x, "target_lengths")
    states, skips = _chain(cast(signed(t, x), np.int64), size, label, n, blank)
    check_range(states, extent(x, kind), kind, "ctc_loss")
    emitted = relabel(gather(x, {kind: states}), {time: TIME})
    if input_lengths is not None:  # what is said after the end does not count, not even NaN
        emitted = where(e.less(positions(extent(emitted, TIME), TIME, x), steps), emitted, c(0.0))
    reached = _forward(emitted, skips, dims=((TIME, STATE), (STATE,)), out=STATES)
    loss = negative(_arrived(reached, steps, size))
    if zero_infinity:
        loss = where(equal(loss, c(math.inf)), c(0.0), loss)
    if reduction == "mean":
        loss = e.divide(loss, cast(e.maximum(size, c(1)), loss.dtype))
    return reduced(loss, (x, t, steps, size), reduce_dim, reduction, "ctc_loss")


def _length(given: Any, most: int, x: DimArray, what: str) -> DimArray:
    """How many cells of each sequence count."""
    n = c(int(most)) if given is None else constant(given, f"ctc_loss: {what}")
    if n.dtype.kind not in "iu":
        raise TypeError(f"ctc_loss: {what} are integers, not {n.dtype}")
    if backends.may_look(n.raw) and np.any((np.asarray(n.raw) < 0) | (np.asarray(n.raw) > most)):
        raise IndexError(f"ctc_loss: {what} are between 0 and {most}, the size of the dim")
    return cast(signed(n, x), np.int64) if n.names else n  # of which positions are computed


def _arrived(reached: DimArray, steps: DimArray, size: DimArray) -> DimArray:
    """The log-probability to end in the last label or in the blank after it; without labels there is only the blank."""
    if backends.is_number(size.raw):
        last = 2 * int(size.raw)
        out = gather(reached, {STEP: steps, STATE: c(last)})
        return e.logaddexp(out, gather(reached, {STEP: steps, STATE: c(last - 1)})) if last else out
    end = multiply(c(2), size)
    at_label = gather(reached, {STEP: steps, STATE: e.maximum(subtract(end, c(1)), c(0))})
    at_label = where(e.greater(size, c(0)), at_label, c(-math.inf))
    return e.logaddexp(gather(reached, {STEP: steps, STATE: end}), at_label)


def _chain(t: DimArray, size: DimArray, label: Name, n: int, blank: int) -> tuple[DimArray, DimArray]:
    """The classes of the states, a blank before and after every label, and the states before which one may be skipped."""
    k = positions(2 * n + 1, STATE, t)
    if not n:
        return add(total(t, (label,)), add(multiply(k, c(0)), c(blank))), equal(k, c(-1))
    t = where(e.less(positions(n, label, t), size), t, c(blank))
    odd = equal(e.remainder(k, c(2)), c(1))
    at = e.minimum(e.floor_divide(k, c(2)), c(n - 1))
    own, last = gather(t, {label: at}), gather(t, {label: e.maximum(subtract(at, c(1)), c(0))})
    skips = e.logical_and(e.logical_and(odd, e.greater(k, c(2))), not_equal(own, last))
    return where(odd, own, c(blank)), skips
