"""Branches and loops steered by values: ``cond``, ``while_loop``, ``fori_loop``.

A single value steers Python itself. Values along vectorized axes, or such as cannot be looked at (lazy, or left open by
a program being recorded), select: everything is computed for all slices, and each takes what is its own, so that no
derivative passes to what it does not take.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad import backends, ops
from namedgrad.array import DimArray, TraceError
from namedgrad.trace import innermost
from namedgrad.transforms.checkpoint import checkpoint
from namedgrad.transforms.leaves import adapter_of, flatten, is_leaf, unflatten
from namedgrad.transforms.tape import quiet


def cond(pred: Any, f: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``f(*args)`` where ``pred`` holds, ``g(*args)`` elsewhere: ``cond(pred, f, g, *args)``.

    With a matrix and its dims in place of functions it is the condition number, :func:`namedgrad.linalg.cond`.

    Parameters
    ----------
    pred : bool or array
        Without dims. A vectorized one decides for every slice.
    f, g : callable
        Return nested structures of the same form.
    *args, **kwargs
        Handed to both.

    Returns
    -------
    nested structure
        As ``f`` and ``g`` give it.

    Raises
    ------
    ValueError
        If ``pred`` has dims, or the structures differ.

    Notes
    -----
    A single predicate calls one of the two. A vectorized, lazy or recorded one calls both and selects; no derivative
    passes to a slice of what is not taken, NaN or infinite as it may be. ``lax.cond`` in JAX.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([-1.0, 4.0], "b", vectorized="b")
    >>> ng.cond(x > 0, ng.sqrt, lambda x: -x, x).data
    array([1., 2.])
    """
    if not callable(f):
        return ops.FUNCTIONS["cond"](pred, *(() if f is None else (f,)), *args, **kwargs)
    g, *operands = args
    if (known := _known(pred, "cond")) is not None:
        return (f if known else g)(*operands, **kwargs)
    with quiet():  # what a slice does not take may be anything
        return _select(pred, f(*operands, **kwargs), g(*operands, **kwargs), "cond")


def while_loop(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, max_steps: int | None = None
) -> Any:
    """``body`` again and again, as long as ``cond`` holds.

    Parameters
    ----------
    cond : callable
        Of the state; a bool or array without dims. A vectorized one lets every slice stop by itself.
    body : callable
        From state to state.
    init : nested structure
        The first state.
    max_steps : int, optional
        Stop after so many. Lazy arrays, and programs being recorded, need it: they take that many steps, of which those
        after the end change nothing.

    Returns
    -------
    nested structure
        The last state.

    Raises
    ------
    TraceError
        If the predicate cannot be looked at and there is no ``max_steps``.

    Notes
    -----
    Reverse mode keeps the state of every segment of steps, each longer by one than the one before, and runs the others
    again: memory grows as the square root of the number of steps (Griewank 1992). ``lax.while_loop`` in JAX, which has
    no reverse mode.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 100.0], "b", vectorized="b")
    >>> ng.while_loop(lambda x: x < 50.0, lambda x: 3.0 * x, x).data
    array([ 81., 100.])
    """
    state, steps, length = init, 0, 1
    while max_steps is None or steps < max_steps:
        count = length if max_steps is None else min(length, max_steps - steps)
        going: list[bool] = []

        @checkpoint
        def segment(state: Any, count: int = count, going: list[bool] = going) -> Any:
            going.clear()
            for _ in range(count):
                state, again = _step(cond, body, state, max_steps)
                if not again:
                    going.append(False)
                    break
            return state

        state = segment(state)
        if going:
            break
        steps, length = steps + count, length + 1
    return state


def _step(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], state: Any, max_steps: int | None
) -> tuple[Any, bool]:
    """The next state, and whether there is more to do."""
    pred = cond(state)
    known = _known(pred, "while_loop")
    if known is not None:
        return (body(state), True) if known else (state, False)
    arrays = _arrays(pred)
    if all(map(_visible, arrays)):
        if not any(bool(x.raw.any()) for x in arrays):
            return state, False
    elif max_steps is None:
        raise TraceError(
            "while_loop: the condition is a value that cannot be looked at here (lazy, or left open by a program that "
            "is being recorded); give max_steps=n, which takes n steps of which those after the end change nothing"
        )
    with quiet():
        return _select(pred, body(state), state, "while_loop"), True


def fori_loop(lo: Any, hi: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """``body(i, state)`` for ``i`` from ``lo`` up to ``hi``, exclusive.

    Parameters
    ----------
    lo, hi : int, or vectorized array of integers
        Bounds along vectorized axes count every slice by itself.
    body : callable
        From index and state to state.
    init : nested structure
        The first state.

    Returns
    -------
    nested structure
        The last state.

    Raises
    ------
    TypeError
        If a bound is no integer.
    TraceError
        If the bounds cannot be looked at.

    Notes
    -----
    Reverse mode keeps the state of one step in as many as the square root of their number, and runs the others again.
    ``lax.fori_loop`` in JAX.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.fori_loop(1, 5, lambda i, x: x * i, 1.0)
    24.0
    """
    _require_integers(lo, hi)
    per_slice = _known(lo < hi, "fori_loop") is None
    if per_slice:
        _require_visible(lo, hi)
    count = _largest(hi - lo) if per_slice else int(hi) - int(lo)
    first = lo if per_slice and _arrays(lo) else int(lo)  # a number has no precision that would spread
    every = max(1, math.isqrt(max(0, count)))

    def step(i: Any, state: Any) -> Any:
        if not per_slice:
            return body(i, state)
        with quiet():
            return _select(i < hi, body(i, state), state, "fori_loop")

    @checkpoint
    def segment(state: Any, start: int, stop: int) -> Any:
        for k in range(start, stop):
            state = step(first + k, state)
        return state

    state = init
    for start in range(0, count, every):
        state = segment(state, start, min(start + every, count))
    return state


def _require_integers(*bounds: Any) -> None:
    for bound in bounds:
        dtype, *_ = [x.dtype for x in _arrays(bound)] or [np.min_scalar_type(bound)]
        if dtype.kind not in "iu":
            raise TypeError(f"fori_loop: the bounds must be integers, got {dtype}")


def _require_visible(*bounds: Any) -> None:
    if not all(_visible(x) for bound in bounds for x in _arrays(bound)):
        raise TraceError(
            "fori_loop: the bounds are values that cannot be looked at here (lazy, or left open by a program that is "
            "being recorded); use while_loop with a counter in its state, and max_steps=n"
        )


def _largest(count: Any) -> int:
    """The largest of some numbers of steps."""
    (x,) = _arrays(count)
    return int(x.raw.max()) if x.raw.size else 0


# ------------------------------------------------------------------------------------------------ predicates


def _arrays(pred: Any) -> tuple[DimArray, ...]:
    return adapter_of(pred).arrays(pred) if is_leaf(pred) else ()


def _visible(x: DimArray) -> bool:
    """Whether a value may steer the loop itself."""
    return backends.may_look(x.raw) or (backends.backend_of(x.raw).name == "cupy" and backends.is_fixed(x.raw))


def _known(pred: Any, what: str) -> bool | None:
    """The value of a predicate that is single and may be looked at."""
    arrays = _arrays(pred)
    for x in arrays:
        if x.dims:
            raise ValueError(
                f"{what}: the predicate has the dims {x.dims}; reduce it with .any() or .all(), or vectorize them to "
                "decide for every slice"
            )
    if any(x.hidden or not _visible(x) for x in arrays):
        return None
    return bool(arrays[0].raw) if arrays else bool(pred)


def _select(pred: Any, taken: Any, other: Any, what: str) -> Any:
    """Leaf by leaf what the predicate says; two numbers that meet have the precision of the arrays beside them."""
    xs, treedef = flatten(taken)
    ys, second = flatten(other)
    if treedef != second:
        raise ValueError(f"{what}: both ways must give nested structures of one form, got {treedef} and {second}")
    where = ops.FUNCTIONS["where"]
    single = _is_single((*xs, *ys))
    pairs = ((_typed(x, y, single), _typed(y, x, single)) for x, y in zip(xs, ys, strict=True))
    return unflatten(treedef, [x if x is y else where(pred, x, y) for x, y in pairs])


def _is_weak(x: Any) -> bool:
    """Whether it is a Python number, or a 0-d array that holds one: such take the precision of what they meet."""
    if is_leaf(x):
        arrays = _arrays(x)
        return len(arrays) == 1 and type(innermost(arrays[0]).raw) in {float, complex}
    return type(x) in {float, complex}


def _is_single(leaves: Sequence[Any]) -> bool:
    """Whether there are arrays of floating point numbers, all in single precision."""
    found = [x.dtype for leaf in leaves if not _is_weak(leaf) for x in _arrays(leaf) if x.dtype.kind in "fc"]
    return bool(found) and all(np.finfo(d).bits <= np.finfo(np.float32).bits for d in found)


def _typed(x: Any, other: Any, single: bool) -> Any:
    """Where two numbers of no precision meet, they have that of the arrays beside them."""
    if not (single and x is not other and _is_weak(x) and _is_weak(other)):
        return x
    number = type(innermost(_arrays(x)[0]).raw) if is_leaf(x) else type(x)
    dtype = np.dtype(np.complex64 if number is complex else np.float32)
    return x.astype(dtype) if hasattr(x, "astype") else dtype.type(x)
