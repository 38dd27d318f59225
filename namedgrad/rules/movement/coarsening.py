"""Blocks of cells: ``coarsen``, reduced or as dims of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import AxisError, Name
from namedgrad.rules.dims import mapping, new_name
from namedgrad.rules.methods import keep_attrs_by_name, keep_attrs_first
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.movement.padding import pad_axis
from namedgrad.rules.movement.stacking import split
from namedgrad.rules.structure import cast, relabel, reorder


class Coarsen:
    """Blocks of cells of a DimArray: what :func:`coarsen` gives, to be reduced or taken apart.

    Methods ``sum mean prod max min std var median count any all argmax argmin`` reduce every block, with the arguments
    of the functions of that name; :meth:`construct` makes the blocks dims.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.arange("x", 6).coarsen(x=2).sum().data
    array([1, 5, 9])
    """

    __slots__ = ("blocks", "x")

    def __init__(self, x: DimArray, blocks: dict[Name, Name]) -> None:
        self.x, self.blocks = x, blocks

    def construct(self, window_dim: Mapping[Any, Any] | None = None, **keywords: Any) -> DimArray:
        """The blocks and the cells in them as dims: ``construct(x=("block", "cell"))``.

        Parameters
        ----------
        window_dim : mapping of dim to (name of the blocks, name of the cells in one), optional
            Or as keywords.
        **keywords
            The mapping in keyword form.

        Returns
        -------
        DimArray
            The two dims in place of the one.

        Raises
        ------
        AxisError
            If a coarsened dim is not mentioned, or a name is taken.

        Examples
        --------
        >>> import namedgrad as ng
        >>> ng.arange("x", 6).coarsen(x=2).construct(x=("block", "cell")).data
        array([[0, 1],
               [2, 3],
               [4, 5]])
        """
        table = dict(window_dim or keywords)
        if set(table) != set(self.blocks):
            raise AxisError(f"construct: give two names for each of {tuple(self.blocks)}, got {tuple(table)}")
        x = self.x
        names: dict[Name, Name] = {}
        for dim, (block, cell) in table.items():
            for new in axes.check_names((block, cell)):
                if new != dim:
                    new_name(x, new, "construct")
            names |= {dim: block, self.blocks[dim]: cell}
        axes.refuse_repeats(tuple(names.values()), "construct: ")
        order = [m for n in x.names for m in ((n, self.blocks[n]) if n in self.blocks else (n,)) if m not in self.blocks.values() or n in self.blocks]
        return relabel(reorder(x, tuple(order)), names)


def coarsen(
    x: DimArray,
    /,
    dim: Mapping[Any, int] | None = None,
    boundary: Any = "exact",
    side: Any = "left",
    coord_func: Any = "mean",
    **keywords: int,
) -> Coarsen:
    """Blocks of neighbouring cells, to be reduced: ``a.coarsen(x=2).mean()``.

    Parameters
    ----------
    x : DimArray
    dim : mapping of dim to int, optional
        Size of the blocks; or as keywords.
    boundary : {"exact", "trim", "pad"} or mapping of dim to them
        What is done if the blocks do not fit: an error, cells left out, or NaN added.
    side : {"left", "right"} or mapping of dim to them
        From which end blocks are counted.
    coord_func : str
        xarray's argument for coordinates, of which a DimArray has none.
    **keywords : int
        The mapping in keyword form.

    Returns
    -------
    Coarsen
        With xarray's reductions, and ``construct``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If blocks do not fit, or an option is unknown.

    Notes
    -----
    As :meth:`xarray.DataArray.coarsen`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.arange("x", 7).coarsen(x=2, boundary="trim").mean().data
    array([0.5, 2.5, 4.5])
    """
    blocks: dict[Name, Name] = {}
    for name, size in mapping(x, dim, keywords, "coarsen").items():
        how, end = (v[name] if isinstance(v, Mapping) else v for v in (boundary, side))
        x = _fitting(x, name, int(size), how, end)
        blocks[name] = axes.local(("cells of blocks", name))
        order = x.names
        x = split(x, name, {name: extent(x, name) // int(size), blocks[name]: int(size)})
        x = reorder(x, (*order, blocks[name]))
    return Coarsen(x, blocks)


def _fitting(x: DimArray, name: Name, size: int, how: str, end: str) -> DimArray:
    """The array with a multiple of ``size`` cells along an axis."""
    if size < 1 or how not in ("exact", "trim", "pad") or end not in ("left", "right"):
        raise ValueError(f"coarsen: size {size}, boundary {how!r} and side {end!r} of {name!r}: see its parameters")
    n = extent(x, name)
    rest = n % size
    if not rest:
        return x
    if how == "exact":
        raise ValueError(f"coarsen: {n} cells along {name!r} do not fit into blocks of {size}; use boundary='trim' or 'pad'")
    if how == "trim":
        return slice_of(x, name, slice(0, n - rest) if end == "left" else slice(rest, n))
    width = (0, size - rest) if end == "left" else (size - rest, 0)
    x = x if x.dtype.kind in "fcmM" else cast(x, "float64")
    return pad_axis(x, name, width, "constant", (np.nan, np.nan), odd=False)


def _method(name: str) -> Callable[..., DimArray]:
    def reduce(self: Coarsen, **kwargs: Any) -> DimArray:
        from namedgrad.rules import reductions, sorting

        function = getattr(reductions, name, None) or getattr(sorting, name)
        return function(self.x, tuple(self.blocks.values()), **kwargs)

    reduce.__name__ = name
    reduce.__doc__ = f"Every block reduced by :func:`{name}`."
    return reduce


_REDUCTIONS = ("sum", "mean", "prod", "max", "min", "std", "var", "median", "count", "any", "all", "argmax", "argmin")
for _name in _REDUCTIONS:
    setattr(Coarsen, _name, _method(_name))
keep_attrs_first(Coarsen, _REDUCTIONS)
keep_attrs_by_name(Coarsen, ("construct",))
