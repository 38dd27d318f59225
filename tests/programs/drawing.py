"""How random programs are drawn, and what they are."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st

import namedgrad as ng
from tests.programs.steps import AXES, GROUPS, STEPS
from tests.support.arrays import all_names, all_sizes, permuted

EXAMPLES = int(os.environ.get("NAMEDGRAD_FUZZ", "100"))
SIZES = [{"x": 2, "y": 3, "z": 4, "b": 2, "c": 3}, dict.fromkeys("xyzbc", 3), {"x": 1, "y": 3, "z": 2, "b": 1, "c": 2}]
MAX_CELLS, MAX_VALUE = 100, 50
LEAST, MOST = 3, 12

fuzz = settings(
    max_examples=EXAMPLES, derandomize="NAMEDGRAD_FUZZ" not in os.environ, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


class Step(NamedTuple):
    """A step by name, the places of its operands in the list, and the dim it goes along."""

    name: str
    places: tuple[int, ...]
    dim: tuple[Hashable, ...] = ()

    def __call__(self, o: Any, pool: list[Any]) -> Any:
        return STEPS[self.name].function(o, *(pool[i] for i in self.places), *self.dim)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, (*self.places, *self.dim)))})"


class Program:
    """Steps, each adding one array to a list that begins with the inputs; the output is the last, weighted and summed."""

    def __init__(self, inputs: list[ng.DimArray], steps: list[Step], sizes: dict[Hashable, int]) -> None:
        self.inputs, self.steps = inputs, steps
        cells = int(np.prod(list(sizes.values()), dtype=int))
        self.weights = ng.DimArray(np.cos(1.0 + 0.7 * np.arange(cells)).reshape(tuple(sizes.values())), tuple(sizes))

    def __call__(self, *inputs: ng.DimArray) -> ng.DimArray:
        return (self.last(*inputs) * self.weights).sum()

    def last(self, *inputs: Any, o: Any = ng) -> Any:
        """What the last step gives."""
        pool = list(inputs)
        for step in self.steps:
            pool.append(step(o, pool))
        return pool[-1]

    @property
    def crossed(self) -> bool:
        """Whether an axis may be a slice here and a dim there."""
        return any(step.name in AXES and step.name != "turn" for step in self.steps)

    def __repr__(self) -> str:
        shown = ", ".join(f"{a.dims} | {a.vectorized} {all_sizes(a)}" for a in self.inputs)
        return f"inputs {shown}: {'; '.join(map(repr, self.steps))}"


@st.composite
def programs(draw: Any, *, only_batched: bool = False, names: Collection[str] = tuple(STEPS)) -> Program:
    """Inputs with random dims, some vectorized, stored in any order, and steps of ``names`` that go through."""
    sizes = draw(st.sampled_from(SIZES))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    inputs = []
    for _ in range(draw(st.integers(1, 3))):
        dims = draw(st.lists(st.sampled_from("xyz"), unique=True, max_size=2))
        batch = draw(st.lists(st.sampled_from("bc"), unique=True, max_size=1 if not only_batched else 2))
        a = ng.DimArray(rng.normal(size=[sizes[n] for n in (*batch, *dims)]), (*batch, *dims), vectorized=batch)
        inputs.append(permuted(a, rng))
    pool, steps = list(inputs), []
    count = rng.integers(LEAST, MOST + 1)  # hypothesis itself would draw the least in every other program
    for _ in range(2 * count):
        used = {i for step in steps for i in step.places}
        unused = [i for i in range(len(pool)) if i not in used]
        step = draw(_steps(pool, unused, [n for n in names if not (only_batched and n in AXES)]))
        result = _attempt(step, pool, sizes)
        if result is not None:
            pool.append(result)
            steps.append(step)
        if len(steps) == count:
            break
    assume(len(steps) >= LEAST)
    return Program(inputs, steps, dict(pool[-1].sizes))


def _attempt(step: Step, pool: list[ng.DimArray], sizes: dict[str, int]) -> ng.DimArray | None:
    """The result, unless the step does not fit its operands, meets a kink, or gives many or large values."""
    guard = STEPS[step.name].guard
    try:
        if guard and not guard(*(pool[i] for i in step.places), *step.dim):
            return None
        with np.errstate(all="ignore"):
            result = step(ng, pool)
    except (ng.AxisError, TypeError, ValueError, IndexError):
        return None  # the program itself is wrong: another step
    small = result.size and np.abs(result.to_numpy()).max(initial=0) < MAX_VALUE  # a NaN is not small either
    if np.prod(list(all_sizes(result).values())) > MAX_CELLS or not small:
        return None
    # one name, one size, also across the program
    return result if all(sizes.get(str(n), s) == s for n, s in all_sizes(result).items()) else None


@st.composite
def _steps(draw: Any, pool: list[ng.DimArray], unused: list[int], names: Collection[str]) -> Step:
    weights = {"elementwise": 2, "two": 4, "three": 2, "along": 6, "along two": 2, "matrices": 1, "axes": 3}
    # mostly the latest array with one that nothing depends on yet: programs are deep, and few steps in vain
    latest = len(pool) - 1
    anywhere = st.integers(0, latest)
    place = draw(st.sampled_from([latest, latest, latest, draw(anywhere)]))
    others = st.sampled_from([*unused, draw(anywhere)])
    tables = {group: sorted(n for n in set(GROUPS[group][0]) & set(names) if not STEPS[n].along or _dims(n, pool[place])) for group in weights}
    name = draw(st.sampled_from(tables[draw(st.sampled_from([g for g, w in weights.items() if tables[g] for _ in range(w)]))]))
    places = (place, *(draw(others) for _ in range(STEPS[name].operands - 1)))
    if not STEPS[name].along:
        return Step(name, places)
    dims = [n for n in _dims(name, pool[place]) if all(n in _dims(name, pool[i]) for i in places)]
    return Step(name, places, (draw(st.sampled_from(dims)),)) if dims else Step("sin", places[:1])


def _dims(name: str, a: ng.DimArray) -> tuple[Hashable, ...]:
    """What a step may go along."""
    return a.vectorized if name == "devectorize" else all_names(a) if name == "rename" else a.dims
