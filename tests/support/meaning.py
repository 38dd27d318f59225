"""What a gradient means, cell by cell: the definition itself, by finite differences of the whole function.

Let ``y = f(x)`` have no visible dims and the vectorized axes V.  Perturbing each cell of ``x`` gives the full derivative,
one axis per name of ``x`` and per name of V.  A name that both have stands for the same slice in both: the answer is the
diagonal over it, and if anything lies off that diagonal, slices were mixed and there is no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import namedgrad as ng
from tests.support.arrays import Name, all_names, values
from tests.support.oracles import differences, moved


class Meaning(NamedTuple):
    """A gradient by definition: its names (V, then the others of the input) and values, whether slices were mixed, and
    by how much finite differences of two steps differ, relative to the largest."""

    names: tuple[Name, ...]
    data: np.ndarray
    mixed: bool
    doubt: float


def gradient_by_definition(f: Callable[[ng.DimArray], ng.DimArray], x: ng.DimArray) -> Meaning:
    """The gradient of ``f``, an array without visible dims, at ``x``."""
    return _derivative(f, x, {n: n for n in x.dims})


def jacobian_by_definition(f: Callable[[ng.DimArray], ng.DimArray], x: ng.DimArray) -> Meaning:
    """The Jacobian of ``f`` at ``x``: the dims of ``x`` have names of their own."""
    return _derivative(f, x, {n: f"{n}_wrt" for n in x.dims})


def _derivative(f: Callable[[ng.DimArray], ng.DimArray], x: ng.DimArray, names_of_dims: dict[Name, Name]) -> Meaning:
    v = all_names(f(x))
    own = tuple(names_of_dims.get(n, n) for n in all_names(x))
    shape = x.to_numpy().shape
    cells, doubts = [], [0.0]
    for at in np.ndindex(*shape):
        unit = np.zeros(shape, x.dtype)
        unit[at] = 1.0
        cell, doubt = differences(lambda h, unit=unit: values(f(moved(x, h * unit)), v))
        cells.append(cell)
        doubts.append(float(doubt.max(initial=0)))
    full = np.array(cells).reshape((*shape, *np.shape(cells[0])))
    letters = {n: chr(97 + i) for i, n in enumerate(dict.fromkeys((*own, *v)))}
    mixed = False
    for n in v:
        if n in own:
            at = (own.index(n), len(own) + v.index(n))
            off = 1 - np.eye(full.shape[at[0]]).reshape([full.shape[i] if i in at else 1 for i in range(full.ndim)])
            mixed |= bool(np.abs(full * off).max(initial=0) > 1e-8 * max(1.0, np.abs(full).max(initial=0)))
    spec = "".join(letters[n] for n in own) + "".join(letters[n] for n in v)
    names = (*v, *(n for n in own if n not in v))
    return Meaning(names, np.einsum(f"{spec}->{''.join(letters[n] for n in names)}", full), mixed, max(doubts) / max(np.abs(full).max(initial=0), 1e-3))
