"""Vectorized axes merged, split and made the same: ``revectorize``, ``reshape_vectors``, ``broadcast_vectors``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, describe, extent
from namedgrad.axes import AxisError, Name
from namedgrad.linear import Like
from namedgrad.rules.movement import devectorize, merge, split, vectorize
from namedgrad.rules.singleton import drop
from namedgrad.rules.structure import reorder, spread
from namedgrad.transforms.leaves import adapter_of, flatten, map_leaves


def revectorize(tree: Any, vectors: Mapping[Name, int | None], dims: Mapping[Name, int | None] | None = None) -> Any:
    """Other vectorized axes for the same cells: merged, split, renamed, or made of dims.

    Parameters
    ----------
    tree : array, or nested structure of arrays
    vectors : mapping of name to size
        The new vectorized axes. All old ones, in their order, are merged and split into these. One size may be None or
        -1, and is worked out. An empty mapping leaves none.
    dims : mapping of name to size, optional
        The new dims. If given, the dims are merged with the vectorized axes before all is split.

    Returns
    -------
    nested structure
        The same, of arrays with the new axes.

    Raises
    ------
    AxisError
        If the sizes do not fit, or a name would occur twice.

    See Also
    --------
    vectorize, devectorize

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.ones({"x": 2, "y": 3, "t": 5}, vectorized=("x", "y"))
    >>> ng.revectorize(a, {"xy": 6}).vectorized_sizes
    {'xy': 6}
    >>> ng.revectorize(a, {"x": 2}, dims={"u": 5, "v": None}).sizes
    {'u': 5, 'v': 3}
    """
    return _mapped(tree, lambda x: _revectorized(x, dict(vectors), None if dims is None else dict(dims)))


def _revectorized(x: DimArray, vectors: dict[Name, Any], dims: dict[Name, Any] | None) -> DimArray:
    old, own = x.vectorized, x.dims
    wide = reorder(devectorize(x), (*old, *own)) if old else x
    merged = (*old, *own) if dims is not None else old
    target = {**vectors, **(dims or {})}
    if len(target) < len(vectors) + len(dims or {}) or (dims is None and set(vectors) & set(own)):
        raise AxisError(f"revectorize: a name of {tuple(vectors)} is that of a dim of {describe(x)} too; rename one")
    sizes = _resolved(target, [extent(wide, n) for n in merged], x)
    line: Name = axes.local("vectors")
    rest = () if dims is not None else own
    if merged:
        wide = merge(wide, merged, line)
    else:
        wide = spread(wide, Like((line, *wide.names), (1, *wide.full_shape), wide.dtype))
    if not sizes:
        return reorder(drop(wide, (line,)), rest)
    parts: dict[Name, Name] = {n: axes.local(("vector", n)) for n in sizes}  # the old names may be among the new ones
    wide = split(wide, line, {parts[n]: s for n, s in sizes.items()})
    wide = reorder(wide, (*parts.values(), *rest)).rename({new: n for n, new in parts.items()})
    return vectorize(wide, *vectors) if vectors else wide


def _resolved(target: Mapping[Name, Any], old: Sequence[int], x: DimArray) -> dict[Name, int]:
    """The sizes with the open one worked out."""
    sizes = {n: -1 if s is None else int(s) for n, s in target.items()}
    total, known = math.prod(old), math.prod(s for s in sizes.values() if s != -1)
    open_ones = [n for n, s in sizes.items() if s == -1]
    if len(open_ones) == 1 and known and total % known == 0:
        sizes[open_ones[0]] = total // known
    if math.prod(sizes.values()) != total or any(s < 0 for s in sizes.values()):
        raise AxisError(
            f"revectorize: {total} cells of {describe(x)} cannot be split into {dict(target)}; "
            "the product of the sizes must be the same, and one of them may be left open with None"
        )
    return sizes


def reshape_vectors(*trees: Any) -> Any:
    """Give several arrays the same vectorized axes in the same order; those that one lacks have size 1 there.

    Parameters
    ----------
    *trees : arrays, or nested structures of arrays

    Returns
    -------
    tuple of nested structures, or the only one
        The axes in order of first appearance.

    Raises
    ------
    AxisError
        If a vectorized axis has two sizes other than 1, or is a dim elsewhere.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a, b = ng.ones({"x": 2}, vectorized="x"), ng.ones({"y": 3, "t": 4}, vectorized="y")
    >>> [v.vectorized_sizes for v in ng.reshape_vectors(a, b)]
    [{'x': 2, 'y': 1}, {'x': 1, 'y': 3}]
    """
    return _together("reshape_vectors", trees, lambda size, own: own)


def broadcast_vectors(*trees: Any) -> Any:
    """Give several arrays the same vectorized axes, of the same sizes, in the same order.

    Parameters
    ----------
    *trees : arrays, or nested structures of arrays

    Returns
    -------
    tuple of nested structures, or the only one
        The axes in order of first appearance; an axis that an array lacks, or has with size 1, is repeated.

    Raises
    ------
    AxisError
        If a vectorized axis has two sizes other than 1, or is a dim elsewhere.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a, b = ng.ones({"x": 2}, vectorized="x"), ng.ones({"y": 3, "t": 4}, vectorized="y")
    >>> [v.vectorized_sizes for v in ng.broadcast_vectors(a, b)]
    [{'x': 2, 'y': 3}, {'x': 2, 'y': 3}]
    """
    return _together("broadcast_vectors", trees, lambda size, own: size)


def _together(what: str, trees: Sequence[Any], choose: Callable[[int, int], int]) -> Any:
    sizes: dict[Name, int] = {}
    arrays = [x for tree in trees for leaf in flatten(tree)[0] for x in adapter_of(leaf).arrays(leaf)]
    for x in arrays:
        for n, s in x.vectorized_sizes.items():
            if sizes.setdefault(n, s) != s and 1 not in (sizes[n], s):
                raise AxisError(f"{what}: the vectorized axis {n!r} has the sizes {sizes[n]} and {s}; rename one")
            sizes[n] = max(sizes[n], s)
    for x in arrays:
        if clash := [n for n in x.dims if n in sizes]:
            raise AxisError(
                f"{what}: {clash[0]!r} is a dim of {describe(x)} and a vectorized axis elsewhere; "
                f"call .vectorize({clash[0]!r}) on that, or rename one of them"
            )
    out = tuple(_mapped(tree, lambda x: _widened(x, sizes, choose)) for tree in trees)
    return out[0] if len(out) == 1 else out


def _widened(x: DimArray, sizes: Mapping[Name, int], choose: Callable[[int, int], int]) -> DimArray:
    wide = devectorize(x) if x.vectorized else x
    wanted = {n: choose(s, x.vectorized_sizes.get(n, 1)) for n, s in sizes.items()}
    single = tuple(n for n, s in wanted.items() if n in wide.names and extent(wide, n) != s)
    wide = drop(wide, single)
    missing = {n: s for n, s in wanted.items() if n not in wide.names}
    if missing:
        wide = spread(wide, Like((*missing, *wide.names), (*missing.values(), *wide.full_shape), wide.dtype))
    wide = reorder(wide, (*sizes, *x.dims))
    return vectorize(wide, *sizes) if sizes else wide


def _mapped(tree: Any, f: Callable[[DimArray], DimArray]) -> Any:
    def mapped(leaf: Any) -> Any:
        adapter = adapter_of(leaf)
        return adapter.seen(leaf, [f(x) for x in adapter.arrays(leaf)])

    return map_leaves(mapped, tree)
