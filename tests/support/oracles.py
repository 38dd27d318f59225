"""Oracles that know nothing of the rules: finite differences and loops of slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import namedgrad as ng
from tests.support.arrays import Name, all_names, cut, indices, sum_of_products
from tests.support.tolerances import BENDS, NOTHING, SECOND_STEP, STEP

Arrays = list[ng.DimArray]


def richardson(f: Callable[[float], Any], step: float = STEP) -> Any:
    """The derivative of ``f`` at 0 by central differences with steps h and h / 2, extrapolated.

    Where the two differ much, ``f`` bends or jumps within a step, which is then made smaller.
    """
    for smaller in (1, 30, 1000):
        out, doubt = differences(f, step / smaller)
        if _largest(doubt) <= max(BENDS * _largest(out), NOTHING):
            break
    return out


def _largest(several: Any) -> float:
    each = several if isinstance(several, np.ndarray) and several.dtype == object else [several]
    return max((float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a))) for a in map(np.asarray, each)), default=0.0)


def differences(f: Callable[[float], Any], step: float = STEP) -> tuple[Any, Any]:
    """The derivative as :func:`richardson` has it, and how much the two differences differ before they are extrapolated.

    That is little unless the function bends much within a step: then differences say little about its derivative.
    """

    def central(h: float) -> Any:
        return (f(h) - f(-h)) / (2 * h)

    coarse, fine = central(step), central(step / 2)
    return (4 * fine - coarse) / 3, abs(fine - coarse)


def moved(x: ng.DimArray, by: np.ndarray) -> ng.DimArray:
    """``x`` with ``by``, of the layout of ``x.data``, added."""
    return ng.DimArray(x.to_numpy() + by, all_names(x), vectorized=x.vectorized)


def fd_gradients(f: Callable[..., Any], xs: Arrays, cotangents: Arrays, symmetric: Sequence[tuple[int, int] | None] = ()) -> list[np.ndarray]:
    """dL/dx + i dL/dy of L = Re sum(conj(cotangent) f(x)), cell by cell, in the layout of ``x.data``.

    ``symmetric`` tells the row and column axes of symmetric operands: their cells are perturbed together with their
    mirror images, half each.
    """
    out = []
    for k, x in enumerate(xs):

        def loss(by: np.ndarray, k: int = k, x: ng.DimArray = x) -> float:
            y = f(*xs[:k], moved(x, by), *xs[k + 1 :])
            return sum_of_products(cotangents, list(y) if isinstance(y, (tuple, list)) else [y])

        grad = np.zeros(x.to_numpy().shape, x.dtype)
        for at in np.ndindex(*grad.shape):
            unit = np.zeros(grad.shape, x.dtype)
            for part in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
                unit[at] = part
                by = (unit + np.swapaxes(unit, *mirror).conj()) / 2 if (mirror := dict(enumerate(symmetric)).get(k)) else unit
                grad[at] += part * richardson(lambda h, by=by: loss(h * by))
        out.append(grad)
    return out


def fd_push(f: Callable[..., Any], xs: Arrays, tangents: Arrays, step: float = STEP) -> list[np.ndarray]:
    """The derivative of all outputs along ``tangents`` (which have the axes of ``xs``), in the layout of their data."""

    def along(h: float) -> np.ndarray:
        ys = f(*(moved(x, h * _data(t, x)) for x, t in zip(xs, tangents, strict=True)))
        return np.array([y.to_numpy() for y in (ys if isinstance(ys, (tuple, list)) else [ys])] + [None], dtype=object)[:-1]

    return list(richardson(along, step))


def fd_second(pull: Callable[[Arrays], Arrays], xs: Arrays, tangents: Arrays) -> list[np.ndarray]:
    """The derivative of gradients along ``tangents``."""
    return fd_push(lambda *at: pull(list(at)), xs, tangents, SECOND_STEP)


def _data(t: ng.DimArray, x: ng.DimArray) -> np.ndarray:
    own = all_names(t)
    return np.transpose(t.to_numpy(), [own.index(n) for n in all_names(x)])


def stacked(f: Callable[..., Arrays], sizes: dict[Name, int], *groups: Arrays) -> list[tuple[tuple[Name, ...], np.ndarray]]:
    """``f`` of the slices of every group, one call per position along ``sizes``, put together again.

    Each result comes as its names (those of ``sizes`` first) and an array.
    """
    rows = in_slices(f, list(indices(sizes)), *groups)
    return [((*sizes, *own), data.reshape((*sizes.values(), *data.shape[1:]))) for own, data in rows]


def in_slices(f: Callable[..., Arrays], places: list[dict[Name, int]], *groups: Arrays) -> list[tuple[tuple[Name, ...], np.ndarray]]:
    """``f`` of the slices of every group at some places: each result as its names and an array, with one row per place."""
    rows: list[Arrays] = [f(*([cut(a, at) for a in group] for group in groups)) for at in places]
    return [(all_names(several[0]), np.array([a.to_numpy() for a in several])) for several in zip(*rows, strict=True)]
