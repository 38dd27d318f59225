"""Drawing the same again: what is run a second time, to save memory, must meet the numbers that it met first."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

_OPEN: ContextVar[tuple[Rewind, ...]] = ContextVar("rewinds", default=())


def is_generator(value: Any) -> bool:
    """Whether numbers are drawn from an object, and its state can be read."""
    return isinstance(value, (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random))


def global_generators() -> tuple[Any, ...]:
    """What the functions of :mod:`numpy.random` and :mod:`random` draw from."""
    return np.random.get_state.__self__, random.getstate.__self__  # type: ignore[attr-defined]


def _state(rng: Any) -> Any:
    if isinstance(rng, random.Random):
        return rng.getstate()
    if isinstance(rng, np.random.RandomState):
        return rng.get_state()
    return rng.state if isinstance(rng, np.random.BitGenerator) else rng.bit_generator.state


def _go_back(rng: Any, state: Any) -> None:
    if isinstance(rng, random.Random):
        rng.setstate(state)
    elif isinstance(rng, np.random.RandomState):
        rng.set_state(state)
    elif isinstance(rng, np.random.BitGenerator):
        rng.state = state
    else:
        rng.bit_generator.state = state


class Rewind:
    """The states that generators had when a function first drew from them.

    Parameters
    ----------
    within_reach : iterable of generators
        From which the function may draw unseen.
    """

    def __init__(self, within_reach: Iterable[Any] = ()) -> None:
        # by identity, with the generator so that it stays alive
        self.states: dict[int, tuple[Any, Any]] = {id(rng): (rng, _state(rng)) for rng in within_reach}
        self.first = True

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """A run of the function: the first notes the states, later ones go back to them and leave no trace."""
        first, self.first = self.first, False
        later = [] if first else [(rng, _state(rng)) for rng, _ in self.states.values()]
        for rng, _ in later:
            _go_back(rng, self.states[id(rng)][1])
        token = _OPEN.set((*_OPEN.get(), self))
        try:
            yield
        finally:
            _OPEN.reset(token)
            for rng, state in later:
                _go_back(rng, state)
            if first:  # what was not drawn from is left alone
                self.states = {k: (rng, s) for k, (rng, s) in self.states.items() if not _same(_state(rng), s)}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict):
        return all(_same(v, other[k]) for k, v in one.items())
    if isinstance(one, tuple) and any(isinstance(v, np.ndarray) for v in one):
        return all(map(_same, one, other))
    return bool(one == other)


def about_to_draw(rng: Any) -> None:
    """Note the state of a generator, for those who run the function again.

    Raises
    ------
    TypeError
        If the generator cannot be set back.
    """
    for rewind in _OPEN.get():
        if id(rng) not in rewind.states:
            try:
                rewind.states[id(rng)] = rng, _state(rng)
            except AttributeError:
                raise TypeError(
                    f"a {type(rng).__module__}.{type(rng).__qualname__} cannot draw the same again inside "
                    "a checkpoint; give an int seed, or draw before and pass the draws"
                ) from None
