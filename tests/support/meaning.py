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
from tests.support.oracles import moved, richardson


class Meaning(NamedTuple):
    """A gradient by definition: its names (V, then the others of the input) and values, and whether slices were mixed."""

    names: tuple[Name, ...]
    data: np.ndarray
    mixed: bool


def gradient_by_definition(f: Callable[[ng.DimArray], ng.DimArray], x: ng.DimArray) -> Meaning:
    """The gradient of ``f`` at ``x``."""
    v = f(x).vectorized
    own = all_names(x)
    shape = x.to_numpy().shape
    cells = []
    for at in np.ndindex(*shape):
        unit = np.zeros(shape, x.dtype)
        unit[at] = 1.0
        cells.append(richardson(lambda h, unit=unit: values(f(moved(x, h * unit)), v)))
    size = np.shape(cells[0])
    full = np.array(cells).reshape((*shape, *size))
    letters = {n: chr(97 + i) for i, n in enumerate(dict.fromkeys((*own, *v)))}
    twins = {n: letters[n].upper() for n in v if n in own}
    mixed = False
    for n in twins:
        one = full.shape[own.index(n)]
        off = 1 - np.eye(one).reshape([one if i in (own.index(n), len(own) + v.index(n)) else 1 for i in range(full.ndim)])
        mixed |= bool(np.abs(full * off).max(initial=0) > 1e-8 * max(1.0, np.abs(full).max(initial=0)))
    spec = "".join(letters[n] for n in own) + "".join(letters[n] for n in v)
    names = (*v, *(n for n in own if n not in v))
    return Meaning(names, np.einsum(f"{spec}->{''.join(letters[n] for n in names)}", full), mixed)
