"""NIST's reference problems of nonlinear regression: the certified digits, from both starts in one call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import namedgrad as ng


class Problem(NamedTuple):
    """Certified values by parameter, starts (parameter, 2), and data."""

    squares: float
    starts: np.ndarray
    values: np.ndarray
    deviations: np.ndarray
    y: np.ndarray
    x: list[np.ndarray]


def read() -> dict[str, Problem]:
    """The problems of nist.txt by name."""
    lines = [line.split() for line in Path(__file__).with_name("nist.txt").read_text().splitlines() if line[0] != "#"]
    found, at = {}, 0
    while at < len(lines):
        name, squares = lines[at]
        stop = next(i for i in range(at, len(lines)) if lines[i][0] == "data")
        count = int(lines[stop][1])
        first, second, values, deviations = np.array(lines[at + 1 : stop], float).T
        y, *x = np.array(lines[stop + 1 : stop + 1 + count], float).T
        found[name] = Problem(float(squares), np.stack([first, second], axis=1), values, deviations, y, x)
        at = stop + 1 + count
    return found


PROBLEMS = read()


def wave(a: Any, b: Any, period: Any, x: Any) -> Any:
    return a * np.cos(2 * np.pi * x / period) + b * np.sin(2 * np.pi * x / period)


def peaks(x: Any, *b: Any) -> Any:
    return (
        b[0] * np.exp(-b[1] * x)
        + b[2] * np.exp(-((x - b[3]) ** 2) / b[4] ** 2)
        + b[5] * np.exp(-((x - b[6]) ** 2) / b[7] ** 2)
    )


def decays(x: Any, *b: Any) -> Any:
    return b[0] * np.exp(-b[1] * x) + b[2] * np.exp(-b[3] * x) + b[4] * np.exp(-b[5] * x)


def chwirut(x: Any, a: Any, b: Any, c: Any) -> Any:
    return np.exp(-a * x) / (b + c * x)


def cubics(x: Any, *b: Any) -> Any:
    return (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)


def saturation(x: Any, a: Any, b: Any) -> Any:
    return a * (1 - np.exp(-b * x))


MODELS: dict[str, Callable[..., Any]] = {
    "Bennett5": lambda x, a, b, c: a * (b + x) ** (-1 / c),
    "BoxBOD": saturation,
    "Chwirut1": chwirut,
    "Chwirut2": chwirut,
    "DanWood": lambda x, a, b: a * x**b,
    "ENSO": lambda x, *b: b[0] + wave(b[1], b[2], 12, x) + wave(b[4], b[5], b[3], x) + wave(b[7], b[8], b[6], x),
    "Eckerle4": lambda x, a, b, c: a / b * np.exp(-0.5 * ((x - c) / b) ** 2),
    "Gauss1": peaks,
    "Gauss2": peaks,
    "Gauss3": peaks,
    "Hahn1": cubics,
    "Kirby2": lambda x, a, b, c, d, e: (a + b * x + c * x**2) / (1 + d * x + e * x**2),
    "Lanczos1": decays,
    "Lanczos2": decays,
    "Lanczos3": decays,
    "MGH09": lambda x, a, b, c, d: a * (x**2 + x * b) / (x**2 + x * c + d),
    "MGH10": lambda x, a, b, c: a * np.exp(b / (x + c)),
    "MGH17": lambda x, a, b, c, d, e: a + b * np.exp(-x * d) + c * np.exp(-x * e),
    "Misra1a": saturation,
    "Misra1b": lambda x, a, b: a * (1 - (1 + b * x / 2) ** -2),
    "Misra1c": lambda x, a, b: a * (1 - (1 + 2 * b * x) ** -0.5),
    "Misra1d": lambda x, a, b: a * b * x / (1 + b * x),
    "Nelson": lambda x, t, a, b, c: a - b * x * np.exp(-c * t),
    "Rat42": lambda x, a, b, c: a / (1 + np.exp(b - c * x)),
    "Rat43": lambda x, a, b, c, d: a / (1 + np.exp(b - c * x)) ** (1 / d),
    "Roszman1": lambda x, a, b, c, d: a - b * x - np.arctan(c / (x - d)) / np.pi,
    "Thurber": cubics,
}


def fit(name: str, **options: Any) -> Any:
    """Both starts of a problem as two cells."""
    problem, model = PROBLEMS[name], MODELS[name]
    names = [f"b{i}" for i in range(len(problem.values))]
    start = {n: ng.DimArray(s, ("start",)) for n, s in zip(names, problem.starts, strict=True)}
    y = np.log(problem.y) if name == "Nelson" else problem.y
    data = [ng.DimArray(v, ("i",)) for v in (*problem.x, y)]
    return ng.least_squares(lambda p, *d: model(*d[:-1], *p.values()) - d[-1], start, *data, over="start", **options)


def digits(got: Any, certified: Any) -> np.ndarray:
    """Correct significant digits, at most 11."""
    off = np.abs(np.asarray(got) - certified) / np.abs(certified)
    return -np.log10(np.maximum(off, 1e-11))


@pytest.mark.parametrize("name", PROBLEMS)
def test_certified_digits_from_both_starts(name):
    problem, found = PROBLEMS[name], fit(name, max_iterations=2000, tol=1e-10)
    values = np.stack([found.params[n].values for n in found.params], axis=1)
    deviations = np.stack([found.stderr[n].values for n in found.params], axis=1)
    squares = 2 * found.cost.values
    assert (found.status == 0).all()
    assert digits(values, problem.values).min() > 6
    if name == "Lanczos1":  # the data are met to their last digit, the 14th, of which 25 are certified
        assert (squares < 1e-20).all()
    else:
        assert digits(squares, problem.squares).min() > 7
        assert digits(deviations, problem.deviations).min() > 5


def test_a_long_way_is_done_by_default():
    """Steps that are too long after each one that was right took MGH10 to 565 iterations, of which 100 were allowed."""
    found = fit("MGH10")
    assert (found.status == 0).all()
    assert digits(2 * found.cost.values, PROBLEMS["MGH10"].squares).min() > 7
    assert found.iterations.max() < 200
