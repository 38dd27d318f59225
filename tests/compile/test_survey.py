"""Inputs that lose many bets of a program."""

import importlib
from typing import Any

import numpy as np
import pytest

import namedgrad as ng

PROGRAM = importlib.import_module("namedgrad.compile.program")
X = np.array([0.5, -2.0, 0.3])


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[int]]:
    """The lost bets of every plan that is made from now on."""
    found: list[frozenset[int]] = []
    made = PROGRAM.plan

    def plan(steps: Any, results: Any, lost: frozenset[int]) -> Any:
        found.append(lost)
        return made(steps, results, lost)

    monkeypatch.setattr(PROGRAM, "plan", plan)
    return found


def quotients(x: ng.DimArray, *divisors: ng.DimArray) -> ng.DimArray:
    total = x * 0
    for y in divisors:
        total = total + ng.where(y == 0, 0.0, x / y)
    return total.sum()


def twelve_divisors() -> list[np.ndarray]:
    return [np.array([1.0, 2.0, 3.0]) * k for k in range(1, 13)]


def test_divisors_that_are_0_do_not_take_a_plan_each(plans: list[frozenset[int]]) -> None:
    """Each lost a bet of its own, one in every run."""
    divisors = twelve_divisors()
    slopes = ng.compile(ng.grad(quotients, wrt=tuple(range(13))))
    slopes(*(ng.DimArray(y, ("a",)) for y in (X, *divisors)))
    assert plans == [frozenset()]
    for k, y in enumerate(divisors):
        y[k % 3] = 0
    found = slopes(*(ng.DimArray(y, ("a",)) for y in (X, *divisors)))
    assert 2 <= len(plans) <= 4
    assert len(plans[-1]) >= 12
    with np.errstate(divide="ignore"):
        inverse = [np.where(y == 0, 0, 1 / y) for y in divisors]
    np.testing.assert_allclose(found[0].data, np.sum(inverse, axis=0), rtol=1e-14)
    for slope, once in zip(found[1:], inverse, strict=True):
        np.testing.assert_allclose(slope.data, -X * once**2, rtol=1e-14)


def test_what_holds_stays_a_bet(plans: list[frozenset[int]]) -> None:
    """Only the bets that inputs lose are given up."""
    divisors = twelve_divisors()
    divisors[2][1] = divisors[5][0] = divisors[7][2] = 0
    slopes = ng.compile(ng.grad(quotients, wrt=tuple(range(13))))
    slopes(*(ng.DimArray(y, ("a",)) for y in (X, *divisors)))
    assert 3 <= len(plans[-1]) <= 7  # two of each quotient, and the guard


def test_inputs_of_every_kind_are_surveyed(plans: list[frozenset[int]]) -> None:
    """Numbers, arrays from elsewhere, complex and discarded results, parts of a split."""
    elsewhere = ng.DimArray(np.array([0.0, 4.0, 0.0, 2.0]), ("a",))

    def f(x: ng.DimArray, k: float, w: ng.DimArray) -> ng.DimArray:
        low, high = ng.split(x, 2, "a")
        safe = lambda n, d: ng.where(d == 0, 0.0, n / d)
        both = ng.concat([safe(low, ng.real(w)), safe(high, ng.imag(w))], "a")
        return (safe(both * k, elsewhere) + safe(x, elsewhere * k)).sum()

    w = np.array([0j, 2 + 0j])
    x = np.array([1.0, 2.0, 3.0, 4.0])
    arguments = ng.DimArray(x, ("a",)), 3.0, ng.DimArray(w, ("a",))
    in_x, in_k, in_w = ng.compile(ng.grad(f, wrt=(0, 1, 2)))(*arguments)
    assert len(plans[-1]) > 2  # what two runs had found by themselves
    np.testing.assert_allclose(in_x.data, [0, 3 / 2 / 4 + 1 / 12, 0, 1 / 6], rtol=1e-14)
    np.testing.assert_allclose(in_k, 1 / 4 - (2 / 4 + 4 / 2) / 9, rtol=1e-13)
    np.testing.assert_allclose(in_w.data, [0, -2 / 2**2 * 3 / 4], rtol=1e-14)


def test_a_call_that_serves_nothing_does_not_fail() -> None:
    """A program leaves it out, but it was made again to learn of the lost bets."""

    def f(matrix: ng.DimArray, x: ng.DimArray, *divisors: ng.DimArray) -> ng.DimArray:
        ng.linalg.inv(matrix, dims=("r", "c"))
        return quotients(x, *divisors)

    divisors = twelve_divisors()
    slopes = ng.compile(ng.grad(f, wrt=tuple(range(1, 14))))
    named = lambda: [ng.DimArray(y, ("a",)) for y in (X, *divisors)]
    slopes(ng.DimArray(np.eye(2), ("r", "c")), *named())
    for k, y in enumerate(divisors):
        y[k % 3] = 0
    found = slopes(ng.DimArray(np.zeros((2, 2)), ("r", "c")), *named())
    with np.errstate(divide="ignore"):
        inverse = [np.where(y == 0, 0, 1 / y) for y in divisors]
    np.testing.assert_allclose(found[0].data, np.sum(inverse, axis=0), rtol=1e-14)


def test_a_call_is_surveyed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many runs it takes."""
    count = [0]
    survey = PROGRAM.lost_by

    def counting(*args: Any) -> frozenset[int]:
        count[0] += 1
        return frozenset(sorted(survey(*args))[:1])  # as if it found no more than the runs do

    monkeypatch.setattr(PROGRAM, "lost_by", counting)
    divisors = twelve_divisors()
    slopes = ng.compile(ng.grad(quotients, wrt=tuple(range(13))))
    slopes(*(ng.DimArray(y, ("a",)) for y in (X, *divisors)))
    for k, y in enumerate(divisors):
        y[k % 3] = 0
    slopes(*(ng.DimArray(y, ("a",)) for y in (X, *divisors)))
    assert count == [1]
