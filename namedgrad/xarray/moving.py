"""Coordinates that are differentiated: their values move, their labels stay.

Inside the function a dimension coordinate among ``wrt`` keeps an index, so that ``sel`` and alignment find cells by the
labels that the coordinate has.  The index takes the traced values along wherever it is cut, joined or renamed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from xarray.core.indexes import Indexes
from xarray.indexes import PandasIndex

from namedgrad import backends
from namedgrad.array import TraceError, refuse_while_recording
from namedgrad.positional.array import PositionalArray
from namedgrad.trace import innermost, leaving

_BY_LABELS: ContextVar[bool] = ContextVar("by_labels", default=False)  #: whether only labels are asked for


class Moving(PandasIndex):
    """A pandas index with a variable of the same size, which is what the coordinate holds."""

    values: xr.Variable
    __slots__ = ("values",)

    def __init__(self, *args: Any, **options: Any) -> None:
        if not hasattr(self, "values"):  # else it is what PandasIndex(...) has made of traced values
            super().__init__(*args, **options)

    @classmethod
    def along(cls, labels: PandasIndex, values: xr.Variable) -> Moving:
        """An index of those labels for a coordinate with those values."""
        out = cls(labels.index, labels.dim, labels.coord_dtype)
        out.values = values.to_base_variable()
        return out

    def standing(self) -> PandasIndex:
        """The labels alone, for other objects."""
        return self._labels()

    def _labels(self) -> PandasIndex:
        return PandasIndex(self.index, self.dim, self.coord_dtype)

    def _at(self, labels: Any, positions: Any) -> Moving:
        values = self.values.isel({self.dim: positions})
        return self.along(PandasIndex(labels, self.dim, self.coord_dtype), values)

    def create_variables(self, variables: Mapping[Any, xr.Variable] | None = None) -> dict[Any, xr.Variable]:
        old = (variables or {}).get(self.index.name, xr.Variable((), 0))
        return {self.index.name: xr.Variable((self.dim,), self.values._data, old.attrs, old.encoding)}

    def to_pandas_index(self) -> pd.Index:
        if _BY_LABELS.get():
            return self.index
        raise _left("the pandas index")

    def isel(self, indexers: Mapping[Any, Any]) -> Moving | None:
        labels, at = self._labels().isel(indexers), indexers[self.dim]
        if isinstance(labels, Unknown):
            return Unknown.made(self.index.name, self.values.isel({self.dim: at}))
        return None if labels is None else self._at(labels.index, at)

    def roll(self, shifts: Mapping[Any, int]) -> Moving:
        positions = np.roll(np.arange(self.index.size), shifts[self.dim])
        return self._at(self.index[positions], positions)

    def rename(self, name_dict: Mapping[Any, Hashable], dims_dict: Mapping[Any, Hashable]) -> Any:
        labels = self._labels().rename(name_dict, dims_dict)
        return self.along(labels, xr.Variable((labels.dim,), self.values._data, self.values.attrs))

    def join(self, other: Moving, how: str = "inner") -> Moving:
        labels = self.index.union(other.index) if how == "outer" else self.index.intersection(other.index)
        mine, theirs = self.index.get_indexer(labels), other.index.get_indexer(labels)
        both = xr.Variable.concat([self.values, other.values], self.dim)
        positions = np.where(mine >= 0, mine, self.index.size + theirs)
        return self.along(PandasIndex(labels, self.dim, self.coord_dtype), both.isel({self.dim: positions}))

    @classmethod
    def concat(
        cls, indexes: Sequence[Moving], dim: Hashable, positions: Iterable[Iterable[int]] | None = None
    ) -> Moving:
        plain = [i._labels() for i in indexes]
        values = xr.Variable.concat([i.values for i in indexes], dim, positions)
        return cls.along(PandasIndex.concat(plain, dim, positions), values)

    def _copy(self, deep: bool = True, memo: Any = None) -> Moving:
        return self.along(self, self.values)

    def of(self, labels: PandasIndex) -> Moving:
        """An index of other labels, of which those that it knows move."""
        if self.index.equals(labels.index):
            return self.along(labels, self.values)
        own = self.along(labels, xr.Variable((labels.dim,), labels.index.to_numpy()))
        if not (self.index.is_unique and labels.index.is_unique):
            return own
        found = self.index.get_indexer(labels.index)
        both = xr.Variable.concat([own.values, self.values], self.dim)
        positions = np.where(found < 0, np.arange(found.size), found.size + found)
        return self.along(labels, both.isel({self.dim: positions}))


class Unknown(Moving):
    """The index of a coordinate that a compiled program is given: its cells are found by position only."""

    __slots__ = ()

    @classmethod
    def made(cls, name: Any, values: xr.Variable) -> Moving:
        """Of values that are not known yet; each label equals nothing but itself."""
        marks = np.array([object() for _ in range(values.size)], dtype=object)
        return cls.along(PandasIndex(pd.Index(marks, name=name), values.dims[0], values.dtype), values)

    def equals(self, other: Any, *, exclude: Any = None) -> bool:
        raws = [_raw(i.values) for i in (self, other) if isinstance(i, Unknown)]
        return super().equals(other, exclude=exclude) or (raws[0] is raws[-1] and len(raws) == 2) or self._refuse()

    def _refuse(self, *_: Any, **__: Any) -> Any:
        refuse_while_recording(
            f"looking up labels of {self.index.name!r} (sel, reindex, alignment with other objects)",
            "isel with positions, where with a mask, or operands without this coordinate, .drop_vars(name)",
        )

    sel = join = reindex_like = of = standing = to_pandas_index = _refuse


def has_moving(obj: Any) -> bool:
    """Whether a dimension coordinate of an object is being differentiated."""
    indexes = obj.xindexes if isinstance(obj, xr.Coordinates) else obj._indexes
    return any(isinstance(i, Moving) for i in indexes.values())


def of_one_kind(original: Callable[..., Any], self: Any) -> None:
    """Objects meet by their labels: where the coordinate of one moves, it is that of all, unless another is given."""
    given = {n: i for (names, _), i in self.indexes.items() for n, _ in names}
    found = [*((n, i) for o in reversed(self.objects) for n, i in o.xindexes.items()), *given.items()]
    wanted = {n: i for n, i in found if isinstance(i, Moving)}
    wanted |= {n: i for n, i in given.items() if n in wanted}
    self.objects = tuple(_meeting(o, wanted) for o in self.objects)
    original(self)


def _meeting(obj: Any, wanted: Mapping[Any, PandasIndex]) -> Any:
    """The object with its labels in indexes of the kind that is wanted."""
    new: dict[Any, PandasIndex] = {}
    for n, index in obj.xindexes.items():
        if isinstance(index, Moving) and type(wanted[n]) is PandasIndex:
            new[n] = index.standing()
        elif type(index) is PandasIndex and isinstance(moving := wanted.get(n), Moving):
            new[n] = moving.of(index)
    coords = obj if isinstance(obj, xr.Coordinates) else obj.coords
    variables = {n: i.create_variables({n: coords[n].variable})[n] for n, i in new.items()}
    return obj._overwrite_indexes(new, variables) if new else obj


def by_labels(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A method that chooses cells by their labels, or names what it makes after them."""
    token = _BY_LABELS.set(True)
    try:
        return original(*args, **kwargs)
    finally:
        _BY_LABELS.reset(token)


def onto_labels(original: Callable[..., Any], obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Cells chosen by their labels for new ones, which stay where they are: the coordinate is that of the new ones."""
    given = args[0] if args else kwargs["indexers" if "indexers" in kwargs else "other"]
    new = given.xindexes if isinstance(given, (xr.DataArray, xr.Dataset)) else given
    for dim, index in obj._indexes.items():
        if isinstance(index, Moving) and dim in new and not isinstance(new[dim], Moving):
            labels = index.standing()
            variables = labels.create_variables({dim: obj.coords[dim].variable})
            obj = obj.assign_coords(xr.Coordinates(variables, {dim: labels}))
    return original(obj, *args, **kwargs)


def isel(original: Callable[..., Any], self: PandasIndex, indexers: Mapping[Any, Any]) -> Any:
    """Labels at positions that differ per slice are no index, and those of a compiled program are not known."""
    at = indexers[self.dim]
    if np.ndim(at) != 1:
        return None
    at = at if isinstance(at, xr.Variable) else xr.Variable((self.dim,), at)
    data: Any = at._data
    if at.dims != (self.dim,) or data._x.hidden:
        return None
    if not _is_open(at):
        return original(self, indexers)
    return Unknown.made(self.index.name, xr.Variable((self.dim,), self.index.to_numpy()).isel({self.dim: at}))


def indexes_given(original: Callable[..., Any], indexes: Mapping[Any, Any]) -> Indexes[Any]:
    """Labels for objects to have, by name, some of which are arrays of ours."""
    ours = {n: v for n, v in indexes.items() if _cells(v) is not None and getattr(v, "dims", (n,)) == (n,)}
    new = {n: PandasIndex(v, n) for n, v in ours.items()}
    rest = original({n: v for n, v in indexes.items() if n not in new})
    variables = {n: i.create_variables()[n] for n, i in new.items()}
    return Indexes({**rest, **new}, {**rest.variables, **variables})


def _moves(v: xr.Variable) -> bool:
    """Whether this is a coordinate along a dim whose values are traced, or not known yet."""
    data: Any = v._data
    if not isinstance(data, PositionalArray):
        return False
    return (data._x.level is not None or _is_open(v)) and not data._x.hidden and v.ndim == 1


def _is_open(v: xr.Variable) -> bool:
    """Whether a compiled program is recorded that leaves the values open."""
    return backends.is_recording() and not backends.is_fixed(_raw(v))


def _raw(v: Any) -> Any:
    return innermost(v._data._x).raw


def _from_variables(cls: Any, variables: Mapping[Any, xr.Variable], *, options: Mapping[str, Any]) -> PandasIndex:
    """The index of a coordinate that was made of traced values: labels are the values that it has now."""
    name, v = next(iter(variables.items()))
    _refuse_hidden(v)
    if len(variables) > 1 or not _moves(v):
        return _plain_index(cls, variables, options=options)
    if _is_open(v):
        return Unknown.made(name, v)
    data: Any = v._data
    return Moving.along(PandasIndex(pd.Index(innermost(data._x).to_numpy(), name=name), v.dims[0]), v)


def _new_index(cls: Any, array: Any = None, dim: Any = None, *_: Any, **__: Any) -> PandasIndex:
    """The index of labels: of those that are traced, one that takes them along."""
    cells: Any = _cells(array) if cls is PandasIndex else None
    if np.ndim(cells) != 1 or not (cells._x.hidden or _moves(xr.Variable((dim,), cells))):
        return object.__new__(cls)
    return _from_variables(cls, {dim: xr.Variable((dim,), cells)}, options={})


def _cells(labels: Any) -> Any:
    """The array in what is given as labels, which may be several numbers, if it is ours."""
    if isinstance(labels, (list, tuple)):
        if not any(isinstance(v, _HOLDERS) for v in labels):
            return None
        cells = [_cells(v) for v in labels]
        pairs = zip(labels, cells, strict=True)
        return None if all(c is None for c in cells) else np.stack([v if c is None else c for v, c in pairs])
    held = labels.variable if isinstance(labels, xr.DataArray) else labels
    data = held._data if isinstance(held, xr.Variable) else held
    return data if isinstance(data, PositionalArray) else None


_HOLDERS = (PositionalArray, xr.DataArray, xr.Variable)


def _refuse_hidden(v: xr.Variable) -> None:
    if isinstance(v._data, PositionalArray) and v._data._x.hidden:
        raise TraceError(
            f"a coordinate along its own dim has an index, which cannot differ per slice of {v._data.vectorized}; "
            "give it none, x.assign_coords(xr.Coordinates({name: values.variable}, indexes={})), or another name"
        )


def _to_index_variable(self: xr.Variable) -> xr.Variable:
    """A variable of traced values stays one; its index knows the labels."""
    _refuse_hidden(self)
    return self if _moves(self) else _plain_variable(self)


def _refusing(plain: Callable[[xr.Variable], pd.Index]) -> Callable[[xr.Variable], pd.Index]:
    """A pandas index holds no traced values."""

    @functools.wraps(plain)
    def index(self: xr.Variable) -> pd.Index:
        if _moves(self):
            refuse_while_recording("a pandas index", "the coordinate itself, x[name],", _raw(self))
            raise _left("a pandas index")
        return plain(self)

    return index


def _left(what: str) -> TraceError:
    return leaving(
        f"{what} of a coordinate",
        "the coordinate itself, x[name]; stack(..., create_index=False) needs no index",
    )


_INDEX: Any = PandasIndex
_VARIABLE: Any = xr.Variable
_plain_index = _INDEX.from_variables.__func__
_plain_variable = _VARIABLE.to_index_variable
_INDEX.__new__ = _new_index
_INDEX.from_variables = classmethod(_from_variables)
_VARIABLE.to_index, _VARIABLE._to_index = map(_refusing, (_VARIABLE.to_index, _VARIABLE._to_index))
_VARIABLE.to_index_variable = _to_index_variable
