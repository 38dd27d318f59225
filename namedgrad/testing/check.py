"""``check_gradients``: forward mode, reverse mode, the adjoint identity and finite differences must agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad.array import DimArray, make
from namedgrad.rules.structure import total
from namedgrad.transforms.grad import Call, Output, run_recorded
from namedgrad.transforms.tape import Tape, record

STEP = 1e-5
RELATIVE = 2e-6

Function = Callable[..., Sequence[DimArray]]


class GradientError(AssertionError):
    """Derivatives disagree; the message names the function, the argument, the dims and the index."""


def check_gradients(f: Callable[..., Any], *args: Any, order: int = 2, seed: int = 0) -> None:
    """Raise unless the derivatives of ``f`` at ``args`` are right.

    Parameters
    ----------
    f : callable
    *args
        All floating-point arguments are checked, in double precision.
    order : int
        1 checks first derivatives, 2 also those of the pullback.
    seed : int
        Of the random cotangents and tangents.

    Raises
    ------
    GradientError
        With what disagrees (reverse mode against finite differences, forward mode against finite differences, the
        adjoint identity), the argument, and the named index of the worst element.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.check_gradients(lambda x: ng.tanh(x).sum("x"), ng.DimArray([0.5, -1.0], ("x",)))
    """
    rng = np.random.default_rng(seed)
    call = Call(f, tuple(range(len(args))), (), tuple(_double(a) for a in args), {})
    name = getattr(f, "__name__", repr(f))

    def function(parts: Sequence[DimArray]) -> Sequence[DimArray]:
        return Output(call.run(parts)).parts

    _check(function, call.parts, name, rng)
    if order > 1:
        out, _, _ = run_recorded(call)
        cts = [_random(o, rng) for o in out.parts]

        def gradients(parts: Sequence[DimArray]) -> Sequence[DimArray]:
            return record(function, parts).pull(cts)

        _check(gradients, call.parts, f"the gradient of {name}", rng)


def _double(x: Any) -> Any:
    kind = getattr(getattr(x, "dtype", None), "kind", "")
    return x.astype("complex128" if kind == "c" else "float64") if kind in "fc" and kind else x


def _check(f: Callable[..., Sequence[DimArray]], ins: Sequence[DimArray], name: str, rng: np.random.Generator) -> None:
    tape: Tape = record(f, ins)
    ts = [_random(x, rng) for x in ins]
    cts = [_random(o, rng) for o in tape.outs]
    pushed, pulled = tape.push(ts), tape.pull(cts)
    slope = _differences(f, ins, ts)
    for i, (got, want) in enumerate(zip(pushed, slope, strict=True)):
        _compare(got, want, f"{name}: forward mode and finite differences disagree in output {i}")
    left = sum(_inner(c, t) for c, t in zip(cts, pushed, strict=True))
    right = sum(_inner(g, t) for g, t in zip(pulled, ts, strict=True))
    scale = max(abs(left), abs(right), 1e-12)
    if abs(left - right) > 1e-8 * scale + 1e-9:
        for i in range(len(ins)):
            _locate(f, ins, i, cts, pulled[i], name=name)
        raise GradientError(f"{name}: adjoint identity fails, <c, J t> = {left!r} but <J^T c, t> = {right!r}")


def _random(x: Any, rng: np.random.Generator) -> DimArray:
    raw = rng.normal(size=x.full_shape)
    if x.dtype.kind == "c":
        raw = raw + 1j * rng.normal(size=x.full_shape)
    return make(np.asarray(raw, dtype=x.dtype), x.names, x.hidden)


def _differences(f: Function, ins: Sequence[DimArray], ts: Sequence[DimArray]) -> list[np.ndarray[Any, Any]]:
    """Central differences along the tangents, extrapolated once (Richardson)."""

    def at(h: float) -> list[np.ndarray[Any, Any]]:
        moved = [make(x.raw + h * t.raw, x.names, x.hidden) for x, t in zip(ins, ts, strict=True)]
        return [y.to_numpy() for y in f(moved)]

    def central(h: float) -> list[np.ndarray[Any, Any]]:
        return [(a - b) / (2 * h) for a, b in zip(at(h), at(-h), strict=True)]

    coarse, fine = central(2 * STEP * 10), central(STEP * 10)
    return [(4 * b - a) / 3 for a, b in zip(coarse, fine, strict=True)]


def _compare(got: DimArray, want: np.ndarray[Any, Any], message: str) -> None:
    values = got.to_numpy()
    error = np.abs(values - want)
    worst = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape) if error.size else ()
    if error.size and not error[worst] <= RELATIVE * max(1.0, float(np.max(np.abs(want)))):
        index = dict(zip((*got.vectorized, *got.dims), map(int, worst), strict=True))
        raise GradientError(f"{message} at {index}: {values[worst]!r} against {want[worst]!r}")


def _locate(f: Function, ins: Sequence[DimArray], i: int, cts: Sequence[DimArray], got: DimArray, *, name: str) -> None:
    """Compare the reverse gradient of one input with finite differences, element by element."""
    x = ins[i]
    want = np.zeros(x.full_shape, dtype=x.dtype)
    for index in np.ndindex(*x.full_shape):
        unit = np.zeros(x.full_shape, dtype=x.dtype)
        unit[index] = 1.0
        ts = [make(np.zeros(y.full_shape, y.dtype), y.names, y.hidden) for y in ins]
        ts[i] = make(unit, x.names, x.hidden)
        slope = _differences(f, ins, ts)
        want[index] = sum(float(np.real(np.vdot(c.to_numpy(), s))) for c, s in zip(cts, slope, strict=True))
    ordered, summed = make(want, x.names, x.hidden), total(got, tuple(n for n in got.names if n not in x.names))
    _compare(summed, ordered.to_numpy(), f"{name}: reverse mode and finite differences disagree in argument {i}")


def _inner(a: DimArray, b: DimArray) -> float:
    """The inner product; vectorized axes that only ``a`` has are summed, they come first."""
    return float(np.real(np.sum(np.conj(a.to_numpy()) * b.to_numpy())))
