"""``check_gradients``: forward mode, reverse mode, the adjoint identity and finite differences must agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad.array import DimArray, make
from namedgrad.rules.structure import reorder, total
from namedgrad.trace import innermost
from namedgrad.transforms.grad import Call, Output, run_recorded
from namedgrad.transforms.leaves import flatten, unflatten
from namedgrad.transforms.tape import Tape, record

STEP = 1e-5
RELATIVE = 2e-6
ROUNDING = 1e-8  # of the values of a function, in its differences

Function = Callable[..., Sequence[DimArray]]


class Agreement(NamedTuple):
    """What was found to agree, for one function: a test by finite differences, and the adjoint identity."""

    name: str
    slope: float  #: the largest derivative along the direction that was tried
    error: float  #: the largest difference from finite differences
    left: float  #: <c, J t>
    right: float  #: <J^T c, t>

    def __str__(self) -> str:
        gap = abs(self.left - self.right)
        return (
            f"{self.name}:\n"
            f"  forward mode and finite differences agree: derivatives along a random direction are at most "
            f"{self.slope:.4g}, the largest difference is {self.error:.1e}\n"
            f"  adjoint (dot product) test: <c, J t> = {self.left:.16g} and <J^T c, t> = {self.right:.16g} differ by "
            f"{gap:.1e}"
        )


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
    compare(f, args, order, seed)


def compare(f: Callable[..., Any], args: Sequence[Any], order: int = 2, seed: int = 0) -> list[Agreement]:
    """What agrees; see :func:`check_gradients`."""
    rng = np.random.default_rng(seed)
    call = Call(f, tuple(range(len(args))), (), tuple(_double(a) for a in args), {})
    name = getattr(f, "__name__", repr(f))

    def function(parts: Sequence[DimArray]) -> Sequence[DimArray]:
        return Output(call.run(parts)).parts

    found = [_check(function, call.parts, name, rng)]
    if order > 1:
        out, _, _ = run_recorded(call)
        cts = [_cotangent(innermost(o), rng) for o in out.parts]

        def gradients(parts: Sequence[DimArray]) -> Sequence[DimArray]:
            return record(function, parts).pull(cts)

        found.append(_check(gradients, call.parts, f"the gradient of {name}", rng))
    return found


def _double(x: Any) -> Any:
    """Everything in it in double precision."""
    if hasattr(x, "map_over_datasets"):
        return x.map_over_datasets(_double)
    if hasattr(x, "data_vars"):
        return x.assign({n: _double(v) for n, v in x.data_vars.items()})
    leaves, treedef = flatten(x)
    return unflatten(treedef, [_double_leaf(leaf) if leaf is x else _double(leaf) for leaf in leaves])


def _double_leaf(x: Any) -> Any:
    kind = getattr(getattr(x, "dtype", None), "kind", "")
    return x.astype("complex128" if kind == "c" else "float64") if kind in "fc" and kind else x


def _check(
    f: Callable[..., Sequence[DimArray]], ins: Sequence[DimArray], name: str, rng: np.random.Generator
) -> Agreement:
    tape: Tape = record(f, ins)
    ts = [_tangent(x, rng) for x in ins]
    cts = [_cotangent(o, rng) for o in tape.outs]
    pushed, pulled = tape.push(ts), tape.pull(cts)
    slope = _differences(f, ins, ts)
    error = 0.0
    for i, (got, want, out) in enumerate(zip(pushed, slope, tape.outs, strict=True)):
        want = np.where(np.isnan(out.to_numpy()), got.to_numpy(), want)  # noqa: PLW2901 - a missing cell has none
        message = f"{name}: forward mode and finite differences disagree in output {i}"
        error = max(error, _compare(got, want, message, ROUNDING * _largest(out.to_numpy())))
    left = sum(_inner(c, t) for c, t in zip(cts, pushed, strict=True))
    right = sum(_inner(g, t) for g, t in zip(pulled, ts, strict=True))
    scale = max(abs(left), abs(right), 1e-12)
    if not abs(left - right) <= 1e-8 * scale + 1e-9 * max(map(_largest, slope), default=0.0):
        for i in range(len(ins)):
            _locate(f, ins, i, cts, pulled[i], name=name)
        raise GradientError(f"{name}: adjoint identity fails, <c, J t> = {left!r} but <J^T c, t> = {right!r}")
    return Agreement(name, max(map(_largest, slope), default=0.0), error, left, right)


def _random(x: Any, rng: np.random.Generator) -> DimArray:
    raw = rng.normal(size=x.full_shape)
    if x.dtype.kind == "c":
        raw = raw + 1j * rng.normal(size=x.full_shape)
    return make(np.asarray(raw, dtype=x.dtype), x.names, x.hidden)


def _tangent(x: DimArray, rng: np.random.Generator) -> DimArray:
    """A random direction, of the size of the values where these are small or large."""
    largest = _largest(x.to_numpy())
    scale = 1.0 if not largest else largest if largest < 1 else max(1.0, largest / 1000)
    t = _random(x, rng)
    return make(np.asarray(t.raw * scale, dtype=x.dtype), t.names, t.hidden)


def _cotangent(out: DimArray, rng: np.random.Generator) -> DimArray:
    """Random weights; a missing cell has none."""
    c = _random(out, rng)
    return make(np.where(np.isnan(reorder(out, c.names).raw), 0, c.raw), c.names, c.hidden)


def _differences(f: Function, ins: Sequence[DimArray], ts: Sequence[DimArray]) -> list[np.ndarray[Any, Any]]:
    """Central differences along the tangents, extrapolated once (Richardson)."""

    def at(h: float) -> list[np.ndarray[Any, Any]]:
        moved = [make(x.raw + h * t.raw, x.names, x.hidden) for x, t in zip(ins, ts, strict=True)]
        return [y.to_numpy() for y in f(moved)]

    def central(h: float) -> list[np.ndarray[Any, Any]]:
        return [(a - b) / (2 * h) for a, b in zip(at(h), at(-h), strict=True)]

    coarse, fine = central(2 * STEP * 10), central(STEP * 10)
    return [(4 * b - a) / 3 for a, b in zip(coarse, fine, strict=True)]


def _largest(values: np.ndarray[Any, Any]) -> float:
    """The largest finite magnitude, 0 if there is none."""
    size = np.abs(values)
    return float(np.max(size, initial=0.0, where=np.isfinite(size)))


def _compare(got: DimArray, want: np.ndarray[Any, Any], message: str, at_least: float = RELATIVE) -> float:
    """The largest difference; an error of ``at_least`` may be one of rounding."""
    values = got.to_numpy()
    error = np.where((values == want) | (np.isnan(values) & np.isnan(want)), 0.0, np.abs(values - want))
    if not error.size:
        return 0.0
    worst = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
    if not error[worst] <= max(RELATIVE * _largest(want), at_least):
        index = dict(zip((*got.vectorized, *got.dims), map(int, worst), strict=True))
        raise GradientError(f"{message} at {index}: {values[worst]!r} against {want[worst]!r}")
    return float(error[worst])


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
    x, y = a.to_numpy(), b.to_numpy()
    return float(np.real(np.sum(np.conj(x) * y, where=(x != 0) & (y != 0))))
