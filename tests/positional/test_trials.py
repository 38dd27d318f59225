"""What few cells tell of how results lie in memory is what NumPy makes of all of them."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from namedgrad.positional.trials import FEW, MANY, made_of_few

NAMES = [
    "append", "argsort", "average", "clip", "copy", "cumprod", "cumsum", "delete", "diff", "fft.fft", "fft.irfft", "fft.rfft2",
    "full_like", "gradient", "insert", "kron", "max", "mean", "median", "nan_to_num", "nancumsum", "nanmax", "nanmean",
    "nanmedian", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "pad", "partition", "percentile", "prod", "ptp",
    "quantile", "repeat", "roll", "round", "sort", "std", "sum", "take", "tile", "trapezoid", "unwrap", "var", "where", "zeros_like",
]  # fmt: skip
MORE: dict[str, tuple[Any, ...]] = {
    "average": (1,), "clip": (0.2, 0.8), "where": (1.0, 2.0), "full_like": (3.0,), "partition": (2,), "percentile": ([10, 90], 1),
    "nanpercentile": ([10, 90], 0), "quantile": (0.3, (0, 2)), "nanquantile": (0.3, 1), "repeat": (2, 0), "tile": (2,), "pad": (1,),
    "take": ([0, 2, 1], 1), "delete": (1, 0), "insert": (0, 7.0, 1), "kron": (np.eye(2),),
    "roll": (1, 0), "append": (1.0,), "median": (1,), "nanmedian": (0,), "sum": (0,), "cumsum": (1,), "diff": (1, 0),
}  # fmt: skip
SHAPES = [(9, 10, 70), (70, 12, 8), (3, 4, 900), (80, 90, 4), (6, 90, 80)]


def lies(a: Any) -> tuple[int, ...]:
    """The order of the axes that are longer than 1."""
    return tuple(n for n in sorted(range(a.ndim), key=lambda n: -abs(a.strides[n])) if a.shape[n] > 1)


@pytest.mark.parametrize("name", NAMES)
def test_few_cells_tell_how_all_lie(name: str) -> None:
    one = operator.attrgetter(name)(np)
    func = (lambda *args: one(*args)[0]) if name == "gradient" else one
    more, told = MORE.get(name, ()), 0
    for shape in SHAPES:
        for order in itertools.permutations(range(len(shape))):
            x = np.zeros([shape[n] for n in order]).transpose(np.argsort(order))
            expected = func(x, *more)
            found = made_of_few(func, (x, *more), {}, expected)
            if found is not None:
                told += 1
                assert np.shape(found) == np.shape(expected)
                assert lies(found) == lies(expected), (shape, order)
    assert told >= len(SHAPES)


def test_it_takes_as_long_as_few_cells_take() -> None:
    cells = []

    def counted(x: Any) -> Any:
        cells.append(x.size)
        return np.nanmedian(x, 0)

    x = np.zeros((30, 40, 50)).transpose(2, 0, 1)
    assert made_of_few(counted, (x,), {}, np.zeros((30, 40))) is not None
    assert cells == [FEW**3]
    assert made_of_few(counted, (x[:2, :2, :2],), {}, np.zeros((2, 2))) is None
    assert x.size > MANY


def test_positions_that_few_cells_lack_are_looked_up_among_all() -> None:
    x = np.arange(6000.0).reshape(60, 100).T
    assert made_of_few(np.take, (x, [70, 90], 0), {}, np.zeros((2, 60))) is None
    value, slope = ng.value_and_grad(lambda x: (np.take(x, [70, 90], 0) ** 2).sum())(x)
    assert value == (x[[70, 90]] ** 2).sum()
    np.testing.assert_array_equal(slope, np.where(np.isin(np.arange(100), [70, 90])[:, None], 2 * x, 0))


def test_arrays_of_which_one_leads_are_asked_as_they_are() -> None:
    x = np.zeros((60, 100))
    assert made_of_few(np.concatenate, ([x, x.T.copy().T],), {}, np.zeros((120, 100))) is None
