"""How transforms take xarray objects apart, show them to a function, and put them back.

The function sees the user's object with positional arrays inside: traced, and with the dims in ``over`` hidden.  A
coordinate along a hidden dim is what it is after ``isel``: a coordinate without that dim (see
:mod:`namedgrad.xarray.labels`).  Nothing of the user's is written to.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import xarray as xr
from xarray.indexes import PandasIndex, PandasMultiIndex

from namedgrad import backends
from namedgrad.array import DimArray
from namedgrad.axes import AxisError, Name, Names
from namedgrad.positional.array import PositionalArray, wrap
from namedgrad.transforms.leaves import Adapter, Block, Over, adapter_of, add_adapter, entries
from namedgrad.xarray.along import along
from namedgrad.xarray.attrs import derivative_attrs
from namedgrad.xarray.convert import coordinates, data_for, hidden_names, named, numbered, settled, whole
from namedgrad.xarray.fixed import about, content, contents, is_open, options, told
from namedgrad.xarray.hiding import Known, Opened, hidden_coords, hidden_label, hide, show, shown_coords
from namedgrad.xarray.jacobians import jacobian, join
from namedgrad.xarray.labels import Label
from namedgrad.xarray.moving import Moving, Unknown


def _is_float(variable: xr.Variable) -> bool:
    return variable.dtype.kind in "fc"


def _holding(variable: xr.Variable, data: Any) -> xr.Variable:
    """Like ``variable`` with other data; an index variable becomes an ordinary one."""
    return xr.Variable(variable.dims, data, variable.attrs, variable.encoding)


def _open(data: dict[Any, xr.Variable]) -> dict[Any, xr.Variable]:
    """The variables whose values a compiled program leaves open."""
    return {n: v for n, v in data.items() if is_open(v)}


def _computed(coords: dict[Name, xr.Variable]) -> dict[Name, xr.Variable]:
    """Coordinates that were made inside a function."""
    return {n: v for n, v in coords.items() if isinstance(v._data, PositionalArray) and not isinstance(v._data, Label)}


class XarrayAdapter(Adapter):
    """What all kinds have in common; a kind says how it is opened and closed."""

    precedence, nameless_inside = 2, True

    def open(self, leaf: Any) -> Opened:
        """The parts of an object."""
        raise NotImplementedError

    def close(self, leaf: Any, opened: Opened) -> Any:
        """An object like ``leaf`` made of those parts."""
        raise NotImplementedError

    def holding(self, leaf: Any, data: Mapping[Any, Any]) -> Any:
        """``leaf`` with other data for some variables."""
        raise NotImplementedError

    def parts(self, leaf: Any) -> tuple[DimArray, ...]:
        return tuple(map(named, self._floats(leaf).values()))

    def _floats(self, leaf: Any) -> dict[Any, xr.Variable]:
        return {n: v for n, v in self.open(leaf).data.items() if _is_float(v)}

    def rebuild(self, leaf: Any, parts: Sequence[DimArray]) -> Any:
        return self._with(leaf, parts, numbered)

    def result(self, leaf: Any, parts: Sequence[DimArray]) -> Any:
        return self.value(leaf, parts)

    def value(self, leaf: Any, parts: Sequence[DimArray]) -> Any:
        out = self._with(leaf, parts, data_for)
        return self.close(out, settled_coords(self.open(out))) if _computed(self.open(leaf).coords) else out

    def _with(self, leaf: Any, parts: Sequence[DimArray], hold: Callable[[DimArray, Names], Any]) -> Any:
        found = self._floats(leaf)
        return self.holding(leaf, {n: hold(p, v.dims) for (n, v), p in zip(found.items(), parts, strict=True)})

    def along(self, leaf: Any, given: Any, what: str) -> Any:
        return along(leaf, given, what)

    def arrays(self, leaf: Any) -> tuple[DimArray, ...]:
        opened = self.open(leaf)
        return tuple(named(v) for v in (*_open(opened.data).values(), *_computed(opened.coords).values()))

    def fixed(self, leaf: Any) -> Hashable:
        opened = self.open(leaf)
        data = tuple((n, about(v) if is_open(v) else content(v)) for n, v in opened.data.items())
        computed = _computed(opened.coords)
        coords = {n: v for n, v in opened.coords.items() if n not in computed}
        indexes = tuple((n, type(i)) for n, i in opened.indexes.items())
        return (getattr(leaf, "name", None), told(leaf.attrs), data, contents(coords), indexes, options())

    def seen(self, leaf: Any, arrays: Sequence[DimArray]) -> Any:
        return self._given(leaf, arrays, numbered)

    def returned(self, leaf: Any, arrays: Sequence[DimArray]) -> Any:
        return self._given(leaf, arrays, data_for)

    def _given(self, leaf: Any, arrays: Sequence[DimArray], hold: Callable[[DimArray, Names], Any]) -> Any:
        opened, rest = self.open(leaf), iter(arrays)
        out = self.holding(leaf, {n: hold(next(rest), v.dims) for n, v in _open(opened.data).items()})
        computed = _computed(opened.coords)
        for n, v in self.open(out).coords.items():  # copies that show the data of the original
            if n in computed:
                v.data = hold(next(rest), v.dims)
            elif backends.is_array(v._data):
                v.data = backends.backend_of(v._data).copy(v._data)
        return self.close(out, labelled(self.open(out))) if hold is data_for and computed else out

    def vectorize(self, leaf: Any, names: Names) -> Any:
        opened = self.open(leaf)
        if set(names).isdisjoint(self.dims(leaf)):
            return leaf
        data = {n: v if set(names).isdisjoint(v.dims) else hide(v, names) for n, v in opened.data.items()}
        return self.close(leaf, Opened(data, *hidden_coords(opened, names)))

    def vectorized(self, leaf: Any) -> Names:
        return tuple(dict.fromkeys(n for v in self.open(leaf).data.values() for n in hidden_names(v)))

    def dims(self, leaf: Any) -> Names:
        return tuple(leaf.dims)

    def restore(self, original: Any, result: Any, names: Names) -> Any:
        opened = self.open(result)
        if set(names).isdisjoint(n for v in (*opened.data.values(), *opened.coords.values()) for n in hidden_names(v)):
            return result
        old = self.open(original).data if isinstance(original, type(result)) else {}
        data = {n: show(v, names, _order(v, old.get(n), names)) for n, v in opened.data.items()}
        dims = (*result.dims, *(d for v in data.values() for d in v.dims))  # a Dataset has dims of coordinates alone
        return self.close(result, Opened(data, *shown_coords(opened, dims, names)))

    def number(self, leaf: Any, x: DimArray) -> xr.DataArray:
        return xr.DataArray(xr.Variable((), data_for(x, ())))

    def learn(self, leaf: Any, over: Over) -> None:
        opened = self.open(leaf)
        for n, v in opened.coords.items():
            if set(over).isdisjoint(v.dims):
                continue
            known = over.labels.get(n)
            if known is None:
                over.labels[n] = Known(v, opened.indexes.get(n), hidden_label(v, over))
            elif n in over and not known.variable.equals(v):
                raise AxisError(
                    f"over={tuple(over)}: the coordinates of {n!r} differ between the arguments ({known.variable.size} "
                    f"and {v.size} values), so slices would be paired by position; align them first with "
                    f"xr.align(...), or leave one out with .drop_vars({n!r})"
                )

    def jacobian(self, out_leaf: Any, in_leaf: Any, blocks: Sequence[Sequence[Block]]) -> Any:
        return jacobian(_settled(out_leaf), _settled(in_leaf), blocks)

    def pick(self, leaf: Any, names: Any) -> Any:
        known = self.variables(leaf)
        if missing := [n for n in entries(names) if n not in known]:
            raise TypeError(
                f"wrt names {missing[0]!r}, which the {type(leaf).__name__} does not have; it has {list(known)}"
            )
        if isinstance(names, str):
            return leaf[names]
        data = self.data_variables(leaf)
        return self.some(leaf, names) if data.issuperset(names) else {n: leaf[n] for n in names}

    def merge(self, leaf: Any, picked: Any, names: Any) -> Any:
        new = {names: picked} if isinstance(names, str) else {n: picked[n] for n in names}
        return self.replaced(leaf, {n: v.variable for n, v in new.items()})

    def overlap(self, leaf: Any, one: Any, other: Any) -> bool:
        data = self.data_variables(leaf)
        return not (data if one is None else entries(one)).isdisjoint(data if other is None else entries(other))

    def variables(self, leaf: Any) -> Sequence[Any]:
        """Names of everything in an object that can be chosen."""
        return [*(n for n in self.open(leaf).data if n is not None), *leaf.coords]

    def data_variables(self, leaf: Any) -> set[Any]:
        """Names of what is differentiated if nothing is chosen."""
        return set(self.open(leaf).data)

    def some(self, leaf: Any, names: Sequence[Name]) -> Any:
        """An object with only those data variables."""
        return leaf[list(names)]

    def replaced(self, leaf: Any, new: Mapping[Any, xr.Variable]) -> Any:
        """An object with other data in those variables and coordinates."""
        opened = self.open(leaf)
        data = {n: new.get(n, v) for n, v in opened.data.items()}
        moved = {n: v for n, v in new.items() if n not in data}
        if not moved:
            return self.close(leaf, opened._replace(data=data))
        gone = {id(i) for n, i in opened.indexes.items() if n in moved}
        indexes: dict[Any, Any] = {n: i for n, i in opened.indexes.items() if id(i) not in gone}
        for n, v in moved.items():
            if isinstance(index := opened.indexes.get(n), PandasIndex) and not isinstance(index, PandasMultiIndex):
                indexes[n] = Moving.along(index, v)
        left = {n: v for n, v in opened.coords.items() if not (isinstance(v, xr.IndexVariable) and n not in indexes)}
        return self.close(leaf, Opened(data, {**left, **moved}, indexes))

    def annotate(self, gradient: Any, out_leaf: Any, in_leaf: Any, f: Callable[..., Any]) -> Any:
        new, old = self._floats(gradient), self.open(in_leaf).data
        for n, v in new.items():
            name = in_leaf.name if n is None and isinstance(in_leaf, xr.DataArray) else n
            v.attrs = derivative_attrs(out_leaf, name, old[n].attrs, f)
        return gradient

    def describe(self, leaf: Any) -> str:
        kinds = {str(v.dtype) for v in self.open(leaf).data.values()}
        return f"{type(leaf).__name__} of dtype {', '.join(sorted(kinds))}"


def _settled(leaf: Any) -> Any:
    """An object whose coordinates hold values."""
    adapter = adapter_of(leaf)
    if not isinstance(adapter, XarrayAdapter) or isinstance(leaf, xr.DataTree):
        return leaf
    opened = adapter.open(leaf)
    return adapter.close(leaf, settled_coords(opened)) if _computed(opened.coords) else leaf


def settled_coords(opened: Opened) -> Opened:
    """With values in place of coordinates that a function made of traced data, and their labels as index."""
    coords, indexes = dict(opened.coords), dict(opened.indexes)
    for n, v in opened.coords.items():
        if not isinstance(v._data, PositionalArray) or v._data._x.level is None:
            continue
        coords[n] = _holding(v, data_for(named(_holding(v, wrap(settled(v._data._x)))), v.dims))
        index = indexes.get(n)
        if isinstance(index, Moving) and isinstance(coords[n]._data, PositionalArray):
            indexes[n] = index.along(index, coords[n])
        elif isinstance(index, Moving):
            indexes[n] = PandasIndex(index.index, index.dim, index.coord_dtype)
            coords[n] = indexes[n].create_variables({n: v})[n]
    return Opened(opened.data, coords, indexes)


def labelled(opened: Opened) -> Opened:
    """With the labels that a compiled program gives in indexes."""
    open_ = {n: opened.coords[n] for n, i in opened.indexes.items() if isinstance(i, Unknown)}
    new = {n: PandasIndex.from_variables({n: v}, options={}) for n, v in open_.items()}
    coords = {n: i.create_variables({n: open_[n]})[n] for n, i in new.items()}
    return Opened(opened.data, opened.coords | coords, opened.indexes | new)


def _order(variable: xr.Variable, old: xr.Variable | None, names: Names) -> Names | None:
    """Dims as the original has them, others in front."""
    back = tuple(n for n in names if n in hidden_names(variable))
    dims = (*back, *variable.dims)
    if old is None or not set(old.dims).issubset(dims):
        return None
    return (*(d for d in dims if d not in old.dims), *old.dims)


# ------------------------------------------------------------------------------------------------ kinds


class VariableAdapter(XarrayAdapter):
    """A Variable."""

    def open(self, leaf: xr.Variable) -> Opened:
        return Opened({None: leaf}, {}, {})

    def close(self, leaf: xr.Variable, opened: Opened) -> xr.Variable:
        return opened.data[None]

    def holding(self, leaf: xr.Variable, data: Mapping[Any, Any]) -> xr.Variable:
        return _holding(leaf, data[None]) if data else leaf


class DataArrayAdapter(XarrayAdapter):
    """A DataArray."""

    def open(self, leaf: xr.DataArray) -> Opened:
        return Opened({None: leaf.variable}, dict(leaf.coords.variables), dict(leaf.xindexes))

    def _floats(self, leaf: xr.DataArray) -> dict[Any, xr.Variable]:
        return {None: leaf.variable} if _is_float(leaf.variable) else {}

    def close(self, leaf: xr.DataArray, opened: Opened) -> xr.DataArray:
        held = opened.data[None]
        coords = {n: v.copy(deep=not isinstance(v, xr.IndexVariable)) for n, v in opened.coords.items()}
        # as xr.DataArray(held, coords=...), which checks and copies indexes, too, at five times the time
        variable = xr.Variable(held.dims, held._data, held.attrs, held.encoding, fastpath=True)
        return leaf._replace(variable, coords, indexes=whole(coords, opened.indexes))

    def holding(self, leaf: xr.DataArray, data: Mapping[Any, Any]) -> xr.DataArray:
        if not data:
            return leaf
        if isinstance(leaf.variable, xr.IndexVariable):
            return xr.DataArray(_holding(leaf.variable, data[None]), coords=leaf.coords, name=leaf.name)
        variable, coords = leaf.variable, {n: v.copy(deep=False) for n, v in leaf._coords.items()}
        held = xr.Variable(variable.dims, data[None], variable.attrs, variable.encoding)
        return leaf._replace(held, coords)  # as leaf.copy(data=...), which copies indexes too, at three times the time


class DatasetAdapter(XarrayAdapter):
    """A Dataset: its float variables are differentiated."""

    def open(self, leaf: xr.Dataset) -> Opened:
        data = {n: leaf.variables[n] for n in leaf.data_vars}
        return Opened(data, dict(leaf.coords.variables), dict(leaf.xindexes))

    def close(self, leaf: xr.Dataset, opened: Opened) -> xr.Dataset:
        return xr.Dataset(opened.data, coords=coordinates(opened.coords, opened.indexes), attrs=leaf.attrs)

    def holding(self, leaf: xr.Dataset, data: Mapping[Any, Any]) -> xr.Dataset:
        full = {n: data[n] if n in data else leaf.variables[n].data for n in leaf.data_vars}
        return leaf.copy(deep=False, data=full)

    def result(self, leaf: xr.Dataset, parts: Sequence[DimArray]) -> xr.Dataset:
        own = self._floats(leaf)  # all coordinates stay, also along dims that no variable of these has
        return self.value(leaf.drop_vars([n for n in leaf.data_vars if n not in own]), parts)


_DATASET = DatasetAdapter()


class DataTreeAdapter(XarrayAdapter):
    """A DataTree: the Datasets of its nodes."""

    def _nodes(self, leaf: xr.DataTree) -> dict[str, xr.Dataset]:
        return {path: node.to_dataset(inherit=path == ".") for path, node in leaf.subtree_with_keys}

    def _map(self, leaf: xr.DataTree, function: Callable[[str, xr.Dataset], xr.Dataset]) -> xr.DataTree:
        return xr.DataTree.from_dict({p: function(p, ds) for p, ds in self._nodes(leaf).items()}, name=leaf.name)

    def parts(self, leaf: xr.DataTree) -> tuple[DimArray, ...]:
        return tuple(x for ds in self._nodes(leaf).values() for x in _DATASET.parts(ds))

    def _fill(self, leaf: xr.DataTree, parts: Sequence[DimArray], fill: Callable[..., xr.Dataset]) -> xr.DataTree:
        rest = iter(parts)
        return self._map(leaf, lambda _, ds: fill(ds, [next(rest) for _ in _DATASET._floats(ds)]))

    def rebuild(self, leaf: xr.DataTree, parts: Sequence[DimArray]) -> xr.DataTree:
        return self._fill(leaf, parts, _DATASET.rebuild)

    def result(self, leaf: xr.DataTree, parts: Sequence[DimArray]) -> xr.DataTree:
        return self._fill(leaf, parts, _DATASET.result)

    def value(self, leaf: xr.DataTree, parts: Sequence[DimArray]) -> xr.DataTree:
        return self._fill(leaf, parts, _DATASET.value)

    def arrays(self, leaf: xr.DataTree) -> tuple[DimArray, ...]:
        return tuple(x for ds in self._nodes(leaf).values() for x in _DATASET.arrays(ds))

    def fixed(self, leaf: xr.DataTree) -> Hashable:
        return (leaf.name, *((path, _DATASET.fixed(ds)) for path, ds in self._nodes(leaf).items()))

    def _given(self, leaf: xr.DataTree, arrays: Sequence[DimArray], hold: Callable[..., Any]) -> xr.DataTree:
        rest = iter(arrays)
        return self._map(leaf, lambda _, ds: _DATASET._given(ds, [next(rest) for _ in _DATASET.arrays(ds)], hold))

    def vectorize(self, leaf: xr.DataTree, names: Names) -> xr.DataTree:
        return self._map(leaf, lambda _, ds: _DATASET.vectorize(ds, names))

    def vectorized(self, leaf: xr.DataTree) -> Names:
        return tuple(dict.fromkeys(n for ds in self._nodes(leaf).values() for n in _DATASET.vectorized(ds)))

    def dims(self, leaf: xr.DataTree) -> Names:
        return tuple(dict.fromkeys(d for ds in self._nodes(leaf).values() for d in ds.dims))

    def restore(self, original: Any, result: xr.DataTree, names: Names) -> xr.DataTree:
        old = self._nodes(original) if isinstance(original, xr.DataTree) else {}
        return self._map(result, lambda path, ds: _DATASET.restore(old.get(path), ds, names))

    def learn(self, leaf: xr.DataTree, over: Over) -> None:
        for ds in self._nodes(leaf).values():
            _DATASET.learn(ds, over)

    def annotate(self, gradient: xr.DataTree, out_leaf: Any, in_leaf: Any, f: Callable[..., Any]) -> xr.DataTree:
        old = self._nodes(in_leaf)
        return self._map(gradient, lambda path, ds: _DATASET.annotate(ds, out_leaf, old[path], f))

    def variables(self, leaf: xr.DataTree) -> Sequence[Any]:
        return [join(path, n) for path, ds in self._nodes(leaf).items() for n in _DATASET.variables(ds)]

    def data_variables(self, leaf: xr.DataTree) -> set[Any]:
        return {join(path, n) for path, ds in self._nodes(leaf).items() for n in ds.data_vars}

    def some(self, leaf: xr.DataTree, names: Sequence[Name]) -> xr.DataTree:
        return self._map(leaf, lambda path, ds: ds[[n for n in ds.data_vars if join(path, n) in names]])

    def replaced(self, leaf: xr.DataTree, new: Mapping[Any, xr.Variable]) -> xr.DataTree:
        def replace(path: str, ds: xr.Dataset) -> xr.Dataset:
            mine = {n: new[join(path, n)] for n in ds.variables if join(path, n) in new}
            return _DATASET.replaced(ds, mine) if mine else ds

        return self._map(leaf, replace)

    def describe(self, leaf: xr.DataTree) -> str:
        return "a DataTree without float variables"


for _kind, _adapter in (
    (xr.DataArray, DataArrayAdapter()),
    (xr.Dataset, _DATASET),
    (xr.Variable, VariableAdapter()),
    (xr.DataTree, DataTreeAdapter()),
):
    add_adapter(lambda x, kind=_kind: isinstance(x, kind), _adapter)  # type: ignore[misc]
