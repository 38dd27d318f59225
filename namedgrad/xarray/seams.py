"""Where xarray calls kernels that take plain arrays only, our arrays take another way.

Each seam is one function or method inside xarray, the narrowest through which such a kernel is reached.  It is wrapped
once, when the package is imported: a number that is differentiated may be the first array of ours that xarray sees.
Calls without an array of ours go through to the original at the price of a look at their arguments, and no option of
xarray's, which are global to the process, is touched.  A seam that another version of xarray does not have is left out
(:data:`MISSING`): there, the kernel that is reached refuses our arrays.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from namedgrad import backends
from namedgrad.positional.array import PositionalArray
from namedgrad.xarray import substitutes as our
from namedgrad.xarray.holding import holds, is_moving_date, is_single
from namedgrad.xarray.moving import Moving, by_labels, has_moving, indexes_given, isel, of_one_kind, onto_labels

Call = Callable[..., Any]
Question = Callable[..., bool]

# ------------------------------------------------------------------------------------------------ when a seam is meant


def _any_argument(*args: Any, **kwargs: Any) -> bool:
    return holds(args) or holds(kwargs)


def _arguments_but_self(_: Any, *args: Any, **kwargs: Any) -> bool:
    return holds(args) or holds(kwargs)


def _targets(_: Any, pairs: Mapping[Any, Any]) -> bool:
    return any(holds(old) or holds(new) for old, new in pairs.values())


def _windowed(self: Any, *_: Any, **__: Any) -> bool:
    return holds(self.obj)


def _weighted(self: Any, da: Any, *_: Any, **__: Any) -> bool:
    return holds(da) or holds(self.weights)


def _unseen(_: Any, __: Any, weights: Any) -> bool:
    if not isinstance(weights, xr.DataArray) or not holds(weights):
        return False
    return backends.is_recording() or weights.data.backend == "dask"


def _wrapped_first(data: Any, *_: Any, **__: Any) -> bool:
    return isinstance(data, (xr.DataArray, xr.Variable)) and holds(data)


def _picked_by_ours(indexable: Any, indexer: Any) -> bool:
    ours = any(isinstance(k, PositionalArray) for k in indexer.tuple)
    return ours and not isinstance(getattr(indexable, "array", None), PositionalArray)


def _single(_: Any, key: Any) -> bool:
    return any(map(is_single, key if isinstance(key, tuple) else (key,)))


def _by_ours(self: Any, variables: Any, *_: Any, **__: Any) -> bool:
    keys = variables(self) if callable(variables) else variables
    keys = keys if isinstance(keys, list) else [keys]
    return any(holds(k if isinstance(k, xr.DataArray) else self._variables.get(k)) for k in keys)


def _self(self: Any, *_: Any, **__: Any) -> bool:
    return holds(self)


def _variable(_: Any, var: Any, *__: Any, **___: Any) -> bool:
    return holds(var)


def _differs(self: Any, *_: Any, **__: Any) -> bool:
    return any(_is_not_one(v._data) for v in self._variables.values())


def _per_slice(self: Any, other: Any, *_: Any, **__: Any) -> bool:
    return any(map(_is_not_one, (self._data, getattr(getattr(other, "variable", other), "_data", None))))


def _asked_per_slice(self: Any) -> bool:
    data = getattr(self, "variable", self)._data
    return isinstance(data, PositionalArray) and bool(data.vectorized) and not backends.is_recording()


def _is_not_one(data: Any) -> bool:
    """Whether an array has other values per slice, or may have in the next call of a compiled program."""
    return isinstance(data, PositionalArray) and (bool(data.vectorized) or backends.is_recording())


def _is_lazy(*, array: Any, **_: Any) -> bool:
    return isinstance(array.data, PositionalArray) and array.data.backend == "dask" and not array.data.vectorized


def _like_ours(_: Any, like: Any) -> bool:
    return isinstance(like, PositionalArray)


def _dates_of_ours(values: Any, *_: Any, **__: Any) -> bool:
    there = isinstance(values, PositionalArray) and values.dtype.kind not in "fc"
    return there and (bool(values.vectorized) or values._x.level is not None)


def _several_by_ours(self: Any, *_: Any) -> bool:
    return len(self.groupers) > 1 and any(holds(g.unique_coord) for g in self.groupers)


def _grouped_by_ours(_: Any, obj: Any, groupers: Any, **options: Any) -> bool:  # noqa: ARG001 - xarray's signature
    return len(groupers) == 1 and holds(groupers[0].unique_coord)


def _groups_of_ours(_: Call, *args: Any) -> bool:
    return any(_grouped_by_ours(None, None, getattr(a, "groupers", ())) for a in args)


def _dates(array: Any, *_: Any, **__: Any) -> bool:
    return isinstance(array, PositionalArray) and array.dtype.kind in "mM"


def _interpolated(self: Any, *args: Any, **kwargs: Any) -> bool:
    return _arguments_but_self(self, *args, **kwargs) or any(is_moving_date(v._data) for v in self._variables.values())


def _moving(obj: Any, *_: Any, **__: Any) -> bool:
    return has_moving(obj)


def _moving_places(arr: Any, dim: Any, use_coordinate: Any = True, strict: bool = True) -> bool:  # noqa: ARG001
    name = dim if use_coordinate is True else use_coordinate
    return name in arr.coords and holds(arr.coords[name]) and (name is not dim or name in arr._indexes)


def _aligns_moving(self: Any) -> bool:
    return any(map(has_moving, self.objects)) or any(isinstance(i, Moving) for i in self.indexes.values())


def _listed(data: Any, *_: Any, **__: Any) -> bool:
    return isinstance(data, list)


def _always(*_: Any, **__: Any) -> bool:
    return True


# ------------------------------------------------------------------------------------------------ the table


def _later(module: str, name: str) -> Call:
    """A function that is imported when it is first called."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    return call


class Seam(NamedTuple):
    """One place in xarray: ``module:attribute``, where ``{}`` is a package that has changed its name."""

    place: str
    ours: Call
    when: Question = _any_argument
    around: bool = False  #: whether ours is given the original as its first argument


_ROLLING, _EXPONENTIAL = "xarray.{}.rolling:DataArrayRolling", "xarray.{}.rolling_exp:RollingExp"
_STATISTICS = ("mean", "sum", "std", "var", "cov", "corr")
_GROUPED = "xarray.core.groupby:GroupBy"
_HERE = "namedgrad.xarray."
_gaps, _group = (functools.partial(_later, _HERE + module) for module in ("gaps", "grouping"))
_OF_DATES = (
    "common:_contains_cftime_datetimes", "accessor_dt:_get_date_field", "accessor_dt:_round_field",
    "accessor_dt:_strftime",
)  # fmt: skip
_OBJECTS = ("dataarray:DataArray", "dataset:Dataset")
_HOLDERS = ("variable", "dataarray")
_BESIDE = ("core.dataset", "core.variable", "{}.computation")
_BY_LABELS = ("drop_sel", "drop_isel", "drop_duplicates")

SEAMS = [
    Seam("xarray.core.dataset:Dataset.interp", our.interp, _interpolated, around=True),
    Seam("xarray.core.missing:_localize", our.localize, _targets),
    Seam("xarray.core.missing:interpolate_variable", _later(_HERE + "interpolation", "interpolate")),
    Seam("xarray.core.missing:func_interpolate_na", _gaps("interpolate_gaps")),
    Seam("xarray.core.missing:get_clean_interp_index", _gaps("places"), _moving_places, around=True),
    Seam("xarray.core.missing:interp_na", by_labels, _moving, around=True),
    Seam("xarray.core.duck_array_ops:_push", _later(_HERE + "numbagg", "forward_fill")),
    Seam("xarray.core.nputils:nanfirst", _later(_HERE + "ranks", "first_present")),
    Seam("xarray.core.nputils:nanlast", _later(_HERE + "ranks", "last_present")),
    Seam("xarray.core.variable:Variable.rank", _later(_HERE + "ranks", "rank")),
    *(Seam(f"xarray.core.{c}.quantile", _later(_HERE + "faces", "quantile"), _arguments_but_self) for c in _OBJECTS),
    Seam("xarray.core.dataset:Dataset.rank", _later(_HERE + "ranks", "rank_of_dataset")),
    Seam("xarray.{}.weighted:Weighted._weighted_quantile", _later(_HERE + "ranks", "quantile_of_weighted"), _weighted),
    Seam("xarray.{}.weighted:Weighted._weighted_std", our.weighted_std, _weighted),
    Seam("xarray.{}.weighted:Weighted.__init__", our.weighted_init, _unseen),
    Seam("xarray.{}.fit:polyfit", our.polyfit, around=True),
    Seam("xarray.core.nputils:least_squares", _later(_HERE + "fitting", "least_squares")),
    Seam("xarray.{}.fit:curvefit", _later("namedgrad.fit", "curvefit")),
    Seam("xarray.{}.apply_ufunc:_vectorize", our.vectorize, _always, around=True),
    Seam("xarray.groupers:BinGrouper.factorize", _group("by_values"), _arguments_but_self, around=True),
    Seam("xarray.groupers:UniqueGrouper.factorize", _group("by_label"), _arguments_but_self, around=True),
    Seam(f"{_GROUPED}._maybe_reindex", _group("labels_of_several"), _several_by_ours, around=True),
    Seam(f"{_GROUPED}.__iter__", _group("each_of_several"), _several_by_ours, around=True),
    Seam(f"{_GROUPED}.__init__", _group("with_groups"), _grouped_by_ours, around=True),
    Seam("xarray.{}.apply_ufunc:apply_groupby_func", _group("together"), _groups_of_ours, around=True),
    *(Seam(f"xarray.core.dataset:Dataset.{n}", by_labels, _moving, around=True) for n in _BY_LABELS),
    Seam("xarray.core.dataarray:DataArray._to_dataset_split", by_labels, _moving, around=True),
    Seam("xarray.{}.alignment:Aligner.find_matching_indexes", of_one_kind, _aligns_moving, around=True),
    Seam("xarray.{}.alignment:_normalize_indexes", indexes_given, around=True),
    Seam("xarray.{}.alignment:reindex", onto_labels, _moving, around=True),
    Seam("xarray.{}.alignment:reindex_like", onto_labels, _moving, around=True),
    Seam(f"{_ROLLING}._array_reduce", our.rolling_reduce, _windowed, around=True),
    Seam(f"{_EXPONENTIAL}.__init__", our.exponential_windows),
    *(Seam(f"{_EXPONENTIAL}.{n}", our.exponential_window(n), _windowed) for n in _STATISTICS),
    Seam("xarray.core.indexing:apply_indexer", _later(_HERE + "selecting", "pick"), _picked_by_ours),
    Seam("xarray.core.variable:Variable.__getitem__", _later(_HERE + "selecting", "getitem"), _single, around=True),
    Seam("xarray.core.variable:IndexVariable._finalize_indexing_result", _later(_HERE + "selecting", "finalize")),
    Seam("xarray.core.dataset:Dataset.sortby", _later(_HERE + "selecting", "sortby"), _by_ours),
    Seam("xarray.core.dataset:Dataset._unstack_once", our.unstack_once, _arguments_but_self),
    Seam("xarray.core.dataset:Dataset._unstack_full_reindex", our.unstack_full_reindex, _self, around=True),
    Seam("xarray.core.dataset:Dataset.dropna", _later(_HERE + "selecting", "dropna"), _differs),
    Seam("xarray.core.indexes:PandasIndex.isel", isel, _arguments_but_self, around=True),
    Seam("xarray.core.indexes:PandasIndex.sel", _later(_HERE + "selecting", "positions_of")),
    Seam("xarray.core.indexes:_sanitize_slice_element", _later(_HERE + "selecting", "bound_of")),
    Seam("xarray.core.duck_array_ops:einsum", np.einsum),
    *(Seam(f"xarray.core.duck_array_ops:{n}", our.filled, around=True) for n in ("pad", "full_like")),
    Seam("xarray.core.duck_array_ops:gradient", our.gradient, around=True),
    *(Seam(f"xarray.{m}:to_like_array", our.to_like_array, _like_ours) for m in _BESIDE),
    Seam("xarray.core.common:AbstractArray.__bool__", our.bool_of, _asked_per_slice, around=True),
    Seam("xarray.core.variable:Variable.equals", our.equals, _per_slice, around=True),
    Seam("xarray.{}.computation:_calc_idxminmax", our.idxminmax, _is_lazy, around=True),
    *(Seam(f"xarray.core.{n}", our.of_dates, _dates_of_ours, around=True) for n in _OF_DATES),
    Seam("xarray.core.parallel:map_blocks", our.map_blocks),
    Seam("xarray:map_blocks", our.map_blocks),
    Seam("xarray.core.duck_array_ops:pandas_isnull", np.isnat, _dates),
    Seam("xarray.core.duck_array_ops:mean", our.mean_of_dates, _dates),
    Seam("xarray.core.duck_array_ops:asarray", our.asarray, _wrapped_first),
    *(Seam(f"xarray.core.{m}:as_compatible_data", our.as_compatible_data, _listed, around=True) for m in _HOLDERS),
    Seam("xarray.core.variable:Variable.as_numpy", our.as_numpy),
    Seam("xarray.core.dataset:_maybe_chunk", our.maybe_chunk, _variable),
    Seam("xarray.core.variable:Variable.chunk", our.chunk, _self),
    Seam("xarray.core.common:DataWithCoords.clip", our.clip, around=True),
]
_PACKAGES = ("computation", "structure", "core")
_MOVED = {  #: where older versions have it
    "xarray.{}.apply_ufunc:_vectorize": "xarray.core.computation:_vectorize",
    "xarray.{}.apply_ufunc:apply_groupby_func": "xarray.core.computation:apply_groupby_func",
    "xarray.{}.fit:polyfit": "xarray.core.dataset:Dataset.polyfit",
}
MISSING: list[str] = []  #: places that this version of xarray does not have


def owner_of(place: str) -> tuple[Any, str]:
    """The module or class that holds a function, and its name there.

    Raises
    ------
    AttributeError
        If this version of xarray has no such place.
    """
    module, _, path = place.partition(":")
    *inner, name = path.split(".")
    for package in _PACKAGES:
        try:
            owner: Any = importlib.import_module(module.format(package))
        except ImportError:
            continue
        for part in inner:
            owner = getattr(owner, part, None)
        if hasattr(owner, name):
            return owner, name
    if place in _MOVED:
        return owner_of(_MOVED[place])
    raise AttributeError(place)


def _either(original: Call, seam: Seam) -> Call:
    ours = functools.partial(seam.ours, original) if seam.around else seam.ours
    when = seam.when

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        return ours(*args, **kwargs) if when(*args, **kwargs) else original(*args, **kwargs)

    return call


def _install() -> None:
    """Kernels come first: modules that are imported for other seams make methods of them."""
    for seam in sorted(SEAMS, key=lambda s: "duck_array_ops" not in s.place):
        try:
            owner, name = owner_of(seam.place)
        except AttributeError:
            MISSING.append(seam.place)
        else:
            setattr(owner, name, _either(getattr(owner, name), seam))


_install()
