"""Batches by name: ``vectorize``, ``devectorize``, ``vmap``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from namedgrad.axes import AxisError, Name
from namedgrad.rules.movement.names import names_and_sizes
from namedgrad.transforms.calls import run
from namedgrad.transforms.captured import refuse_captured
from namedgrad.transforms.grad import restore_tree
from namedgrad.transforms.leaves import adapter_of, flatten, map_leaves, over_names, vectorize_tree


def vectorize(tree: Any, /, *names: Name | Mapping[Any, int], **sizes: int) -> Any:
    """Hide dims of every array in a nested structure that has them: they become batch axes.

    Parameters
    ----------
    tree : nested structure of arrays
    *names : names
        Dims to hide. Or a mapping of dims to the sizes that they must have.
    **sizes
        The mapping in keyword form: ``ng.vectorize(tree, b=2)``.

    Returns
    -------
    nested structure
        The same, with views of the same data.

    Raises
    ------
    AxisError
        If no array has one of the names, or its size is another.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.vectorize({"a": ng.zeros({"b": 2, "x": 3})}, "b")["a"].dims
    ('x',)
    """
    given, expected = names_and_sizes(names, sizes)
    for leaf in flatten(tree)[0] if expected else ():
        for n in adapter_of(leaf).dims(leaf):
            if leaf.sizes[n] != expected.get(n, leaf.sizes[n]):
                raise AxisError(f"vectorize: {n!r} has size {leaf.sizes[n]} in one of the arrays, not {expected[n]}")
    return vectorize_tree(tree, over_names(given, tree))


def devectorize(tree: Any, *names: Name) -> Any:
    """Make vectorized axes of every array in a nested structure visible again, in front.

    Parameters
    ----------
    tree : nested structure of arrays
    *names : names, optional
        All vectorized axes if none is named.

    Returns
    -------
    nested structure
        The same, with views of the same data.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.devectorize([ng.ones({"x": 3, "b": 2}, vectorized="b")])[0].dims
    ('b', 'x')
    """
    return map_leaves(lambda x: _devectorize(x, names), tree)


def _devectorize(leaf: Any, names: tuple[Name, ...]) -> Any:
    adapter = adapter_of(leaf)
    hidden = adapter.vectorized(leaf)
    return adapter.restore(None, leaf, names or hidden) if hidden else leaf


def vmap(f: Callable[..., Any], over: Any) -> Callable[..., Any]:
    """Function that applies ``f`` to every slice along ``over``: vectorize the inputs that have it, call, devectorize.

    Parameters
    ----------
    f : callable
        Written for one slice.
    over : name or names
        Dims of one or more of the arguments.

    Returns
    -------
    callable
        Results have the ``over`` dims in front.

    Raises
    ------
    AxisError
        If no argument has one of the names.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[1.0, 2.0], [3.0, 4.0]], ("b", "x"))
    >>> ng.vmap(lambda x: x.sum(), "b")(x).data
    array([3., 7.])
    """

    @functools.wraps(f, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        names = over_names(over, (args, kwargs))
        refuse_captured(f, names)
        args, kwargs = vectorize_tree((args, kwargs), names)
        return restore_tree(None, run(f, *args, **kwargs), names)

    return wrapped
