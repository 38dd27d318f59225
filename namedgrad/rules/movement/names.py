"""Names of dims: rename, swap_dims, and which of them are vectorized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, describe, extent
from namedgrad.axes import AxisError, Name, Names
from namedgrad.primitive import operation, sample
from namedgrad.rules.dims import check, rename_mapping
from namedgrad.rules.structure import relabel, reorder


@operation(sample("real(a,b)", new_name_or_name_dict={"a": "d"}), sample("real(a,b)", new_name_or_name_dict={"a": "b", "b": "a"}), method=True)
def rename(x: DimArray, /, new_name_or_name_dict: Mapping[Any, Any] | None = None, **keywords: Any) -> DimArray:
    """New names for dims.

    Parameters
    ----------
    x : DimArray
    new_name_or_name_dict : mapping of old to new name, optional
        Or as keywords: ``a.rename(x="y")``; also called ``names``. Two names may be exchanged; vectorized axes may be renamed too.
    **keywords
        The mapping in keyword form.

    Returns
    -------
    DimArray
        The same data.

    Raises
    ------
    AxisError
        If an old name is unknown, or a new one is taken or reserved.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.zeros({"x": 2, "y": 3})
    >>> a.rename(x="z").dims, a.rename({"x": "y", "y": "x"}).dims
    (('z', 'y'), ('y', 'x'))
    """
    if isinstance(keywords.get("names"), Mapping):  # not a name that a dim of this name could get
        new_name_or_name_dict = keywords.pop("names")
    table = rename_mapping(new_name_or_name_dict, keywords, "rename")
    for old in table:
        if old not in x.names:
            check(x, old, "rename")
    axes.check_names(table.values())
    return relabel(x, {k: v for k, v in table.items() if k != v})


@operation(sample("real(a,b)", dims_dict={"a": "d"}), sample("complex(a,b)", dims_dict={"a": "d", "b": "e"}), method=True)
def swap_dims(x: DimArray, /, dims_dict: Mapping[Any, Any] | None = None, **keywords: Any) -> DimArray:
    """Other names for dims: xarray's spelling of :func:`rename`, for dims alone.

    Parameters
    ----------
    x : DimArray
    dims_dict : mapping of old to new name, optional
        Or as keywords: ``a.swap_dims(x="y")``.
    **keywords
        The mapping in keyword form.

    Returns
    -------
    DimArray
        The same data.

    Raises
    ------
    AxisError
        If an old name is unknown or vectorized, or a new one is taken or reserved.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.zeros({"x": 2, "y": 3}).swap_dims(x="z").dims
    ('z', 'y')
    """
    table = rename_mapping(dims_dict, keywords, "swap_dims")
    for old in table:
        check(x, old, "swap_dims")
    return rename(x, table)


def vectorize(x: DimArray, /, *dim: Name | Mapping[Any, int], **sizes: int) -> DimArray:
    """Hide dims from every operation: they become batch axes.

    Parameters
    ----------
    x : DimArray
    *dim : names
        Or a mapping of names to the sizes that they must have.
    **sizes
        The mapping in keyword form: ``a.vectorize(b=2)``.

    Returns
    -------
    DimArray
        The same data, with these names among ``vectorized``.

    Raises
    ------
    AxisError
        If there is no such dim, or its size is another.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.ones({"b": 2, "x": 3})
    >>> a.vectorize("b").sum()
    <DimArray () vectorized (b: 2) float64>
    array([3., 3.])
    """
    names, expected = names_and_sizes(dim, sizes)
    for name in names:
        if name not in x.hidden:
            check(x, name, "vectorize")
        if extent(x, name) != expected.get(name, extent(x, name)):
            raise AxisError(f"vectorize: {name!r} has size {extent(x, name)} in {describe(x)}, not {expected[name]}")
    return relabel(x, {}, hide=tuple(n for n in names if n not in x.hidden))


def names_and_sizes(given: Sequence[Any], keywords: Mapping[Any, int]) -> tuple[Names, dict[Name, int]]:
    """Names, and the sizes that some of them must have."""
    sizes = {n: s for g in given if isinstance(g, Mapping) for n, s in g.items()} | dict(keywords)
    return tuple(dict.fromkeys([*(g for g in given if not isinstance(g, Mapping)), *sizes])), sizes


def devectorize(x: DimArray, *dim: Name) -> DimArray:
    """Make vectorized axes visible again, in front.

    Parameters
    ----------
    x : DimArray
    *dim : names, optional
        All vectorized axes if none is named.

    Returns
    -------
    DimArray
        The same data.

    Raises
    ------
    AxisError
        If there is no such axis.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 3, "b": 2}, vectorized="b").devectorize().dims
    ('b', 'x')
    """
    for name in dim:
        if name not in x.names:
            raise AxisError(f"devectorize: no axis {name!r} in {describe(x)}; vectorized are {x.vectorized}")
    chosen = tuple(n for n in (dim or x.vectorized) if n in x.hidden)
    if not chosen:
        return x
    rest = tuple(n for n in x.names if n not in chosen)
    return reorder(relabel(x, {}, show=chosen), (*chosen, *rest))
