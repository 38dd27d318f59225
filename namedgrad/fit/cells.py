"""Independent problems: the arguments of a fit, cut into cells that are taken out in any number and any order.

The dims of ``over`` (and axes that are vectorized already) are flattened into one hidden axis, :data:`CELL`.  A batch
of cells is a gather along it, so cells that are done can leave the batch and others take their place.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from namedgrad import axes, backends
from namedgrad.array import DimArray, TraceError, make
from namedgrad.axes import AxisError, Name, Names
from namedgrad.fit.places import follow
from namedgrad.fit.threads import worker
from namedgrad.fit.times import nodes
from namedgrad.positional import positional
from namedgrad.positional.array import PositionalArray, wrap
from namedgrad.rules.structure import reorder
from namedgrad.transforms.leaves import adapter_of, flatten, over_names, unflatten, vectorize_tree
from namedgrad.xarray.convert import coordinates
from namedgrad.xarray.hiding import Opened
from namedgrad.xarray.leaves import XarrayAdapter


class _Constant(axes.Fresh):
    """The name of an axis that is the same in every fit, also in one that was pickled or copied."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self.base)

    def __reduce__(self) -> str:
        return str(self.base).upper()


class _Joined(axes.Fresh):
    """The name of an axis that joins dims; copies of a fit keep it, as their arrays do."""

    __slots__ = ()

    def __deepcopy__(self, memo: Any) -> _Joined:
        return self


CELL: Name = _Constant("cell")
NUMBER: Name = _Constant("number")  # the axis of all numbers of one cell
ONLY = "_only_cell"  # the dim of the cell that a single problem is
HIDDEN = frozenset({CELL})
# Lines of the cache that have places of their own, their bytes, and how many rows are turned at once where the numbers
# of a row have few of these places: 240 numbers of each of 16,384 cells in 7 ms instead of 20.
PLACES, LINE, BLOCK = 64, 64, 128
PADDING = 8  # numbers between columns, so that these have places of their own
Index = np.ndarray[Any, np.dtype[np.intp]]


class Cells:
    """Named arguments, with one cell for every combination of positions along ``over``.

    Attributes
    ----------
    names, sizes : the flattened dims and their sizes
    hidden : those of them that were vectorized before
    count : the number of cells
    """

    def __init__(self, args: Mapping[str, Any], over: Any) -> None:
        dims = over_names(over, dict(args))
        self.labels: dict[Name, Any] = getattr(dims, "labels", {})
        trees = {key: flatten(vectorize_tree(tree, dims) if dims else tree) for key, tree in args.items()}
        leaves = [leaf for several, _ in trees.values() for leaf in several]
        every = [leaf for tree in args.values() for leaf in flatten(tree)[0]]
        self.hidden = tuple(dict.fromkeys(n for leaf in every for n in adapter_of(leaf).vectorized(leaf)))
        self.names: Names = tuple(dict.fromkeys((*dims, *(n for x in leaves for n in adapter_of(x).vectorized(x)))))
        found: dict[Name, int] = {}
        for leaf in leaves:
            for x in arrays(leaf):
                self._measure(x, found)
        self.sizes = {n: found[n] for n in self.names}
        self.count = math.prod(self.sizes.values())
        self.groups: dict[Name, Names] = {}  # the axis of a flattened array -> the dims that it joins
        self.rows: dict[str, list[tuple[Name, Rows]]] = {key: [] for key in trees}
        self.trees = {
            key: ([map_arrays(x, functools.partial(self._flatten, self.rows[key])) for x in tree], how)
            for key, (tree, how) in trees.items()
        }

    def _measure(self, x: DimArray, found: dict[Name, int]) -> None:
        if x.level is not None:
            raise TraceError(
                "a coordinate of the data is being differentiated; pass that as an argument of its own"
            )
        if x.backend == "dask":
            raise TypeError("a fit would compute dask arrays anew in every iteration; call .compute() on them first")
        for n, s in zip(x.names, x.full_shape, strict=True):
            if n in x.hidden and found.setdefault(n, s) != s:
                raise AxisError(f"over={self.names}: the arguments have {found[n]} and {s} positions along {n!r}")

    def _flatten(self, rows: list[tuple[Name, Rows]], x: DimArray) -> DimArray:
        """An array that looks as if it had been flattened; its numbers are found in ``rows``."""
        own = tuple(n for n in self.names if n in x.hidden)
        if not own:
            return x
        name = next((k for k, v in self.groups.items() if v == own), _Joined(own))
        self.groups[name] = own
        rest = tuple(n for n in x.names if n not in own)
        kept = Rows.of(reorder(x, (*own, *rest)), len(own))
        rows.append((name, kept))
        return make(kept.mark(), (name, *rest), frozenset({name}))

    @property
    def width(self) -> int:
        """How many numbers the largest array has in a cell."""
        return max((math.prod(rows.shape[1:]) for several in self.rows.values() for _, rows in several), default=1) or 1

    @property
    def coords(self) -> xr.Coordinates:
        """Coordinates along the flattened dims."""
        return coords_of(self.labels, self.names)

    def arrays(self) -> Iterator[DimArray]:
        """Every array, flattened."""
        return (x for leaves, _ in self.trees.values() for leaf in leaves for x in arrays(leaf))

    def parts(self, *keys: str) -> Iterator[DimArray]:
        """Those of some arguments, without coordinates."""
        return (x for key in keys for leaf in self.trees[key][0] for x in _own(leaf))

    def take(self, index: Index, *keys: str) -> dict[str, Any]:
        """Some arguments of some cells, under one hidden axis ordered as ``index``."""
        raws, filled = self.gathered(index, *keys)
        return filled(raws)

    def gathered(self, index: Index, *keys: str) -> tuple[list[Any], Callable[[Sequence[Any]], dict[str, Any]]]:
        """The plain arrays of some cells, ``(cell, ...)``, and what makes arguments of these or others like them."""
        owners = [pair for key in keys for pair in self.rows[key]]
        at = {name: self._positions(index, own) for name, own in self.groups.items()}
        raws = [rows.taken(at[name]) for name, rows in owners]

        def filled(raws: Sequence[Any]) -> dict[str, Any]:
            rest = iter(raws)

            def hold(x: DimArray) -> DimArray:
                return make(next(rest), (CELL, *x.names[1:]), HIDDEN) if self._is_flat(x) else x

            return {
                key: unflatten(how, [map_arrays(leaf, hold) for leaf in leaves])
                for key, (leaves, how) in ((key, self.trees[key]) for key in keys)
            }

        return raws, filled

    def _is_flat(self, x: DimArray) -> bool:
        return bool(x.names) and x.names[0] in self.groups

    def fetch(self, index: Index) -> None:
        """Lay the data of cells that this thread will ask for often side by side."""
        for rows in self._whole():
            rows.fetch(index)

    def leave(self, index: Index) -> None:
        """These cells are done."""
        for rows in self._whole():
            rows.leave(index)

    def forget(self) -> None:
        """All are."""
        for rows in self._whole():
            rows.forget()

    def _whole(self) -> Iterator[Rows]:
        """The arrays that have all dims of the cells."""
        return (rows for several in self.rows.values() for name, rows in several if self.groups[name] == self.names)

    def _positions(self, index: Index, own: Names) -> Index:
        """Where the cells are along the axis that joins some of the dims."""
        if own == self.names:
            return index
        at = dict(zip(self.names, np.unravel_index(index, tuple(self.sizes.values())), strict=True))
        return np.ravel_multi_index(tuple(at[n] for n in own), tuple(self.sizes[n] for n in own))


class Rows:
    """An array as rows, one for each position along its first axes, which are counted as one.

    An array on the host stays where it is: rows are copied when they are asked for.  On a device all are put together
    once.

    Attributes
    ----------
    raw : the array, its first axes joined if that takes no copy
    sizes : of those that are not joined; empty otherwise
    """

    def __init__(self, raw: Any, sizes: tuple[int, ...]) -> None:
        self.raw, self.sizes = raw, sizes
        self._backend = backends.backend_of(raw)
        self._shelves: dict[int, Shelf] = {}  # of the threads that work with them, and those that help these

    @classmethod
    def of(cls, x: DimArray, count: int) -> Rows:
        """Rows of an array whose first ``count`` axes are joined."""
        shape = (math.prod(x.raw.shape[:count]), *x.raw.shape[count:])
        if not isinstance(x.raw, np.ndarray):
            backend = backends.backend_of(x.raw)
            return cls(backends.call(backend.xp.ascontiguousarray, backends.call(backend.reshape, x.raw, shape)), ())
        joined = x.raw if count == 1 else _joined(x.raw, count)
        return cls(x.raw, x.raw.shape[:count]) if joined is None else cls(joined, ())

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, then what is in one."""
        lead = max(len(self.sizes), 1)
        return (math.prod(self.raw.shape[:lead]), *self.raw.shape[lead:])

    def mark(self) -> Any:
        """An array of the same shape, dtype and backend that holds no data."""
        return np.broadcast_to(np.zeros((), self.raw.dtype), self.shape) if type(self.raw) is np.ndarray else self.raw

    def fetch(self, index: Index) -> None:
        """Lay rows that this thread will ask for often side by side, if they are strewn over memory."""
        if type(self.raw) is not np.ndarray or not len(index) or self.raw.flags.c_contiguous:
            return
        thread = worker()
        if thread not in self._shelves:
            self._shelves[thread] = Shelf(self.shape, len(index), self.raw.dtype)
        shelf = self._shelves[thread]
        index = index[shelf.place[index] < 0][: len(shelf.free)]
        if len(index):
            shelf.put(index, self._gathered(index))

    def leave(self, index: Index) -> None:
        """Make room for other rows."""
        shelf = self._shelves.get(worker())
        if shelf is not None:
            shelf.clear(index)

    def forget(self) -> None:
        """Clear all shelves."""
        self._shelves.clear()

    def taken(self, index: Index) -> Any:
        """Some rows in the order of memory; a view if they lie there and follow each other."""
        shelf = self._shelves.get(worker())
        if shelf is not None and len(index):
            places = shelf.place[index]
            if places.min() >= 0:
                return shelf.rows[_span(places)]
        if type(self.raw) is np.ndarray:
            return _side_by_side(self._gathered(index))
        if span := follow(index):
            return self.raw[span]
        return backends.call(self._backend.take, self.raw, backends.call(self._backend.asarray, index), 0)

    def _gathered(self, index: Index) -> Any:
        """Some rows of an array on the host, in whatever order memory has."""
        return self.raw[np.unravel_index(index, self.sizes) if self.sizes else _span(index)]


class Shelf:
    """Room for some rows.

    Attributes
    ----------
    rows : the room
    place : where in it each row is; -1 for those that are not
    free : places without a row
    """

    def __init__(self, shape: tuple[int, ...], count: int, dtype: Any) -> None:
        self.rows = np.empty((count, *shape[1:]), dtype)
        self.place, self.free = np.full(shape[0], -1), np.arange(count)

    def put(self, index: Index, rows: Any) -> None:
        """Take in some rows."""
        places, self.free = self.free[: len(index)], self.free[len(index) :]
        self.rows[_span(places)] = _side_by_side(rows) if _collide(rows) else rows
        self.place[index] = places

    def clear(self, index: Index) -> None:
        """Make room."""
        places = self.place[index]
        self.place[index] = -1
        self.free = np.concatenate([places[places >= 0], self.free])


def _collide(rows: Any) -> bool:
    """Whether numbers of a row share places in the cache, so that each line is fetched for many rows anew."""
    return len(rows) > 1 and any(
        2 * len({k * step // LINE % PLACES for k in range(min(n, PLACES))}) <= min(n, PLACES)
        for n, step in zip(rows.shape[1:], rows.strides[1:], strict=True)
        if step >= LINE
    )


def _side_by_side(rows: Any) -> Any:
    """Rows in the order of memory; where their numbers collide, some at a time by way of columns that do not."""
    if not _collide(rows):
        return np.ascontiguousarray(rows)
    out = np.empty(rows.shape, rows.dtype)
    columns = np.empty((BLOCK + PADDING, *rows.shape[1:]), rows.dtype, order="F")
    for start in range(0, len(rows), BLOCK):
        some = rows[start : start + BLOCK]
        part = columns[: len(some)]
        part[:] = some
        out[start : start + BLOCK] = part
    return out


def _span(index: Index) -> Index | slice:
    """Places as a slice, if they follow each other."""
    return follow(index) or index


def _joined(raw: Any, count: int) -> Any:
    """The first axes of an array as one, without a copy; None if they cannot be."""
    shape, strides = raw.shape[:count], raw.strides[:count]
    long = [(n, step) for n, step in zip(shape, strides, strict=True) if n != 1]
    if raw.size and any(step != n * last for (_, step), (n, last) in itertools.pairwise(long)):
        return None
    step = long[-1][1] if long else raw.itemsize
    whole = (math.prod(shape), *raw.shape[count:])
    return np.lib.stride_tricks.as_strided(raw, whole, (step, *raw.strides[count:]), writeable=False)


def coords_of(labels: Mapping[Name, Any], names: Names) -> xr.Coordinates:
    """Of labels, as :func:`~namedgrad.transforms.leaves.over_names` has learnt them, those along some dims."""
    known = {n: k for n, k in labels.items() if set(k.variable.dims) <= set(names)}
    indexes = {n: k.index for n, k in known.items() if k.index is not None}
    return coordinates({n: k.variable for n, k in known.items()}, indexes)


def map_arrays(leaf: Any, function: Callable[[DimArray], DimArray]) -> Any:
    """A leaf with every array in it that has names, coordinates included, replaced by what ``function`` makes of it."""
    if isinstance(leaf, DimArray):
        return function(leaf)
    if isinstance(leaf, PositionalArray):
        return wrap(function(leaf._x), type(leaf))
    if isinstance(leaf, xr.DataTree):
        return xr.DataTree.from_dict({p: map_arrays(ds, function) for p, ds in nodes(leaf).items()}, name=leaf.name)
    adapter = adapter_of(leaf)
    if not isinstance(adapter, XarrayAdapter):
        return leaf
    opened = adapter.open(leaf)
    data, coords = ({n: _map_variable(v, function) for n, v in several.items()} for several in opened[:2])
    return adapter.close(leaf, Opened(data, coords, opened.indexes))


def _map_variable(variable: xr.Variable, function: Callable[[DimArray], DimArray]) -> xr.Variable:
    data = variable._data
    if not isinstance(data, PositionalArray):
        return variable
    return xr.Variable(variable.dims, wrap(function(data._x), type(data)), variable.attrs, variable.encoding)


def _own(leaf: Any) -> tuple[DimArray, ...]:
    adapter = adapter_of(leaf)
    return adapter.parts(leaf) or adapter.arrays(leaf)


def arrays(leaf: Any) -> list[DimArray]:
    """Every array that :func:`map_arrays` would replace."""
    if isinstance(leaf, DimArray):
        return [leaf]
    if isinstance(leaf, PositionalArray):
        return [leaf._x]
    if isinstance(leaf, xr.DataTree):
        return [x for ds in nodes(leaf).values() for x in arrays(ds)]
    adapter = adapter_of(leaf)
    if not isinstance(adapter, XarrayAdapter):
        return []
    opened = adapter.open(leaf)
    data = [v._data for several in opened[:2] for v in several.values()]
    return [d._x for d in data if isinstance(d, PositionalArray)]


def in_a_cell(data: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
    """The arguments of a single problem as those of one cell, and the dim to put into ``over``."""
    *others, last = data
    if isinstance(last, (xr.DataArray, xr.Dataset)):
        return (*others, last.expand_dims(ONLY)), ONLY
    if isinstance(last, xr.Variable):
        return (*others, last.set_dims((ONLY, *last.dims))), ONLY
    if isinstance(last, DimArray):
        return (*others, DimArray(last.data[None], (ONLY, *last.dims))), ONLY
    return (*others, positional(np.asarray(last)[None], vectorized=(ONLY,))), ()
