"""Plans are as good where calls that results depend on are found first as where all calls are simplified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from namedgrad.compile import optimise
from namedgrad.compile.record import Step, Var

RNG = np.random.default_rng(0)
X, W = RNG.uniform(0.5, 2.0, 6), RNG.normal(size=6)
GAPS = np.where(np.arange(6) == 2, np.nan, X)
ZERO = np.where(np.arange(6) == 3, 0.0, X)


def chain(x: Any) -> Any:
    for _ in range(2):
        x = np.sqrt(x * x + 1.0) / (x + np.sqrt(x))
    return (x * W).sum()


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "roots": lambda x: (np.sqrt(x) * np.cos(np.sqrt(x)) * W).sum(),
    "chain of roots": chain,
    "norm": lambda x: (x / np.linalg.norm(x) * W).std(),
    "gaps": lambda x: np.nansum(x * np.log(x * x)) + np.nanstd(x),
    "powers": lambda x: (x**1.5 * W / (1 + x**-0.5)).sum(),
    "numbers": lambda x: np.sqrt(x[0] * x[1]) / (x[2] - x[3] / x[4]),
    "products": lambda x: np.prod(x) * np.hypot(x, 1.0).sum(),
    "chosen": lambda x: np.where(x > 1.0, np.sqrt(x), x / (x + 1.0)).max(),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "gradient": ng.grad,
    "curvature": lambda f: lambda x: ng.hvp(f, x, W),
    "forward": lambda f: lambda x: ng.jvp(f, (x,), (W,)),
}


def every(steps: Sequence[Step], *_: Any, **__: Any) -> set[Var]:
    return {v for step in steps for v in step.outs}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_plan_is_as_good_as_that_of_all_calls(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f = WAYS[way](PROGRAMS[name])
    few, all_calls = ng.compile(f), ng.compile(f)
    for x in (X, X[::-1].copy(), GAPS, ZERO):  # bets are lost on the way
        got = few(x)
        with monkeypatch.context() as patch:
            patch.setattr(optimise, "reached", every)
            want = all_calls(x)
        np.testing.assert_array_equal(got, want)
        assert few.source.count("\n") <= all_calls.source.count("\n")


def test_few_calls_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []

    def counted(steps: Sequence[Step], *args: Any, **kwargs: Any) -> set[Var]:
        found = reached(steps, *args, **kwargs)
        counts.append((sum(not found.isdisjoint(s.outs) for s in steps), len(steps)))
        return found

    reached = optimise.reached
    monkeypatch.setattr(optimise, "reached", counted)
    ng.compile(ng.grad(chain))(X)
    ((few, all_calls),) = counts
    assert few < all_calls / 2
