"""Drawing the same again: what is run a second time, to save memory, must meet the numbers that it met first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_OPEN: ContextVar[tuple[Rewind, ...]] = ContextVar("rewinds", default=())


class Rewind:
    """The states that generators had when a function first drew from them."""

    def __init__(self) -> None:
        self.states: dict[int, tuple[Any, Any]] = {}  # by identity, with the generator so that it stays alive

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """A run of the function: the first notes the states, later ones go back to them and leave no trace."""
        later = [(rng, rng.bit_generator.state) for rng, _ in self.states.values()]
        for rng, state in self.states.values():
            rng.bit_generator.state = state
        token = _OPEN.set((*_OPEN.get(), self))
        try:
            yield
        finally:
            _OPEN.reset(token)
            for rng, state in later:
                rng.bit_generator.state = state


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
                rewind.states[id(rng)] = rng, rng.bit_generator.state
            except AttributeError:
                raise TypeError(
                    f"a {type(rng).__module__}.{type(rng).__qualname__} cannot draw the same again inside "
                    "a checkpoint; give an int seed, or draw before and pass the draws"
                ) from None
