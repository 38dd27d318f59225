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

from namedgrad import backends, ops
from namedgrad.array import TraceError, make, refuse_while_recording
from namedgrad.positional.array import PositionalArray, wrap
from namedgrad.positional.operands import positional
from namedgrad.trace import innermost
from namedgrad.xarray.convert import beside, meets_host
from namedgrad.xarray.moving import Moving, by_labels, has_moving, indexes_given, isel, of_one_kind, onto_labels

Call = Callable[..., Any]
Question = Callable[..., bool]

# ------------------------------------------------------------------------------------------------ whose arrays


def holds(obj: Any) -> bool:
    """Whether an object is, or contains, an array of ours."""
    if isinstance(obj, PositionalArray):
        return True
    if isinstance(obj, xr.Variable):
        return isinstance(obj._data, PositionalArray)
    if isinstance(obj, xr.DataArray):
        return isinstance(obj._variable._data, PositionalArray)
    if isinstance(obj, xr.Dataset):
        return any(isinstance(v._data, PositionalArray) for v in obj._variables.values())
    if isinstance(obj, Mapping):
        return any(map(holds, obj.values()))
    return isinstance(obj, (list, tuple)) and any(map(holds, obj))


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


def is_single(k: Any) -> bool:
    """Whether an indexer is one position per slice."""
    k = k._data if isinstance(k, xr.Variable) else k.variable._data if isinstance(k, xr.DataArray) else k
    return isinstance(k, PositionalArray) and k.ndim == 0


def _by_ours(self: Any, variables: Any, *_: Any, **__: Any) -> bool:
    keys = variables(self) if callable(variables) else variables
    keys = keys if isinstance(keys, list) else [keys]
    return any(holds(k if isinstance(k, xr.DataArray) else self._variables.get(k)) for k in keys)


def _cut(_: Any, var: Any, *__: Any, **___: Any) -> bool:
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


def _is_moving_date(array: Any) -> bool:
    return _dates(array) and array._x.level is not None


def _interpolated(self: Any, *args: Any, **kwargs: Any) -> bool:
    return _arguments_but_self(self, *args, **kwargs) or any(_is_moving_date(v._data) for v in self._variables.values())


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


# ------------------------------------------------------------------------------------------------ our ways


def _later(module: str, name: str) -> Call:
    """A function that is imported when it is first called."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    return call


def _compatible(original: Call, data: Any, *args: Any, **options: Any) -> Any:
    """A list with numbers of ours is one array: it is looked into only where NumPy has failed to."""
    try:
        return original(data, *args, **options)
    except TraceError:
        return _joined(data)


def _joined(items: list[Any]) -> Any:
    """Nested lists as one array of ours."""
    return np.stack([_joined(i) if isinstance(i, list) else _numbers(i) for i in items])


def _whole(obj: Any, pairs: Any) -> Any:
    """Targets that are differentiated may lie anywhere: nothing is cut away."""
    return obj, pairs


def _interp(original: Call, self: Any, coords: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Targets that would be the labels of a dim, and differ per slice, cannot be an index: a coordinate only."""
    options = {n: kwargs.pop(n) for n in list(kwargs) if n in _INTERP_OPTIONS}
    given = {n: _target(self, n, t) for n, t in {**(coords or {}), **kwargs}.items()}
    for n, v in self._variables.items():
        if _is_moving_date(v._data) and not given.keys().isdisjoint(v.dims):
            raise TraceError(
                f"interp: {n!r} is of {v.dtype} and being differentiated, and xarray rounds these to whole ticks; "
                "interpolate numbers, x / np.timedelta64(1, 's')"
            )
    held = {n: getattr(t, "variable", t) for n, t in given.items() if holds(t)}
    own = {n: v for n, v in held.items() if v.dims == (n,) and v._data.vectorized}
    if not own:
        return original(self, given, *args, **options)
    aside = {f"_new_{n}": n for n in own}
    words = [n for n, v in self._variables.items() if v.dtype.kind in "ObUST" and not own.keys().isdisjoint(v.dims)]
    out = original(self.drop_vars(words), {n: _beside(t, aside) for n, t in given.items()}, *args, **options)
    variables = {
        n: v if set(aside).isdisjoint(v.dims) else xr.Variable([aside.get(d, d) for d in v.dims], v._data, v.attrs)
        for n, v in out._variables.items()
    }
    variables |= _nearest(self, words, own, options.get("method_non_numeric", "nearest"))
    names = out._coord_names | self._coord_names.intersection(words)
    places = xr.Coordinates({n: v for n, v in variables.items() if n in names}, indexes=dict(out._indexes))
    return xr.Dataset({n: v for n, v in variables.items() if n not in names}, coords=places, attrs=out.attrs)


def _nearest(ds: xr.Dataset, words: list[Any], targets: dict[Any, xr.Variable], method: str) -> dict[Any, xr.Variable]:
    """What is not interpolated, at the labels that are nearest to targets."""
    ds = ds[words]
    at = {n: v for n, v in targets.items() if n in ds.dims}
    found = ds.sortby(list(at)).sel(at, method=method).variables
    return {n: found[n] for n in words}


def _beside(target: Any, aside: dict[str, Any]) -> Any:
    """Targets along a dim that is set aside go with it, all of them: they are points, not a grid."""
    back = {n: new for new, n in aside.items() if n in getattr(target, "dims", ())}
    if isinstance(target, xr.Variable):
        return xr.Variable([back.get(d, d) for d in target.dims], target._data, target.attrs)
    return target.drop_vars(back, errors="ignore").rename(back) if back else target


_INTERP_OPTIONS = frozenset(("method", "assume_sorted", "kwargs", "method_non_numeric"))


def _target(self: xr.Dataset, name: Any, target: Any) -> Any:
    """Targets with the names of their dims."""
    if isinstance(target, list) and holds(target):
        target = _joined(target)
    if not isinstance(target, PositionalArray):
        return target
    return xr.Variable((name,) if np.ndim(target) else (), target, self.coords[name].attrs)


def _vectorize(original: Call, func: Call, signature: Any, output_dtypes: Any, exclude_dims: Any) -> Call:
    plain = original(func, signature, output_dtypes, exclude_dims)

    def call(*args: Any) -> Any:
        if not holds(args):
            try:
                return plain(*args)
            except TraceError:  # the function captures an array of ours
                pass
        from namedgrad.xarray.slices import of_slices

        core = [len(dims) for dims in signature.input_core_dims]
        return of_slices(func, core, len(signature.output_core_dims), output_dtypes)(*args)

    return call


def _polyfit(  # noqa: PLR0917 - the signature of xarray
    original: Call, obj: Any, dim: Any, deg: int, skipna: Any = None, rcond: Any = None, w: Any = None, *more: Any,
    **options: Any,
) -> Any:  # fmt: skip
    """Whether cells are missing may differ per slice; where none is, leaving them out changes nothing."""
    ours = holds(obj.coords[w] if isinstance(w, str) else w) or holds(obj.coords[dim])
    if ours or any(holds(v) and not meets_host(v.data) for v in obj.data_vars.values()):
        from namedgrad.xarray.fitting import polyfit

        return polyfit(obj, dim, deg, skipna, rcond, w, *more, **options)
    return original(obj, dim, deg, True if skipna is None else skipna, rcond, w, *more, **options)


def _weighted_std(self: Any, da: Any, dim: Any = None, skipna: Any = None) -> Any:
    """The root, whose derivative is 0 where there is no spread, as that of ``std``."""
    variance = self._weighted_var(da, dim, skipna)
    flat = variance == 0
    return np.sqrt(variance.where(~flat, 1.0)).where(~flat, 0.0)


def _unlooked(self: Any, obj: Any, weights: Any) -> None:
    """Weights that are recorded, or lazy, are not looked at; those that are missing make the results missing."""
    self.obj, self.weights = obj, weights


def _equals(original: Call, self: Any, other: Any, equiv: Any = None) -> Any:
    """Arrays are equal that are so in every slice; asked for one answer, they would refuse, and count as unequal."""
    kernels = importlib.import_module("xarray.core.duck_array_ops")
    if equiv is kernels.lazy_array_equiv:  # looks at no values
        return original(self, other, equiv)
    lenient = equiv is kernels.array_notnull_equiv

    def equal(a: Any, b: Any) -> bool:
        if np.shape(a) != np.shape(b):
            return False
        a, b = (ops.FUNCTIONS["stop_gradient"](v) if isinstance(v, PositionalArray) else v for v in (a, b))
        null = [np.isnan(v) if v.dtype.kind in "fc" else np.False_ for v in (a, b)]
        same = (a == b) | (null[0] | null[1] if lenient else null[0] & null[1])
        return _decided(np.all(same.devectorize()))

    return original(self, other, equal)


def _decided(truth: Any) -> bool:
    """What steers a program must be known.  xarray takes a TypeError for unequal, so the TraceError is only the cause.

    Scalar coordinates of operands, which arithmetic leaves out if they are merged in vain, are not worth an error.
    """
    try:
        raws = [innermost(truth._x).raw] if isinstance(truth, PositionalArray) else [truth]
        instead = "xr.where(a == b, ...), compat='override', or data_vars='all' of concat"
        refuse_while_recording("comparing arrays (equals, compat=)", instead, *raws)
    except TraceError as error:
        raise xr.MergeError(*error.args) from error
    return bool(truth)


def _agreed(original: Call, self: Any) -> bool:
    """Where all slices answer alike a program goes on with that, as each of them would on its own."""
    answers = getattr(self, "variable", self)._data
    if answers.size == 1 and answers._x.level is None and answers._x.backend == "numpy":
        every = answers.devectorize()
        if (truth := bool(np.all(every))) == bool(np.any(every)):
            return truth
    return bool(original(self))


def _lazy_extremes(original: Call, *, array: Any, **options: Any) -> Any:
    """Where extremes lie is fixed, and xarray picks the labels of arrays that it knows to be lazy."""
    return original(array=array.copy(data=ops.FUNCTIONS["stop_gradient"](array.data).data), **options)


def _at_once(func: Call, obj: Any, args: Any = (), kwargs: Any = None, template: Any = None) -> Any:  # noqa: ARG001
    """Arrays that are differentiated are whole, whatever chunks they have, as plain ones are."""
    return func(obj, *args, **(kwargs or {}))


def _rolling_reduce(original: Call, self: Any, *args: Any, **kwargs: Any) -> Any:
    """The kernels of bottleneck and numbagg left out: what remains is made of NumPy functions."""
    names = ("array_agg_func", "bottleneck_move_func", "numbagg_move_func", "rolling_agg_func")
    given = {**dict(zip(names, args)), **kwargs}
    return original(self, **{**given, "bottleneck_move_func": None, "numbagg_move_func": None})


def _of_dates(original: Call, values: Any, *args: Any, **kwargs: Any) -> Any:
    """What pandas or cftime say of each date, where dates differ per slice, and seconds that are differentiated."""
    x = values._x
    if x.level is not None:
        return values / np.timedelta64(1, "s") if args[:1] == ("total_seconds",) else original(values, *args, **kwargs)
    found = original(x.raw, *args, **kwargs)
    if np.ndim(found) > len(x.names):  # several numbers of each, in front
        return np.stack([wrap(make(part, x.names, x.hidden)) for part in found])
    return wrap(make(found, x.names, x.hidden)) if np.ndim(found) else found


def _mean_of_dates(array: Any, axis: Any = None, skipna: Any = None, **options: Any) -> Any:
    """As the original, whose offset is one number: the middle of the years of each slice."""
    kernels = importlib.import_module("xarray.core.duck_array_ops")
    ends = (kernels._datetime_nanreduce(array, f) for f in (kernels.min, kernels.max))
    first, last = (end.astype("datetime64[Y]").astype(int) for end in ends)
    offset = (first + (last - first) // 2).astype("datetime64[Y]").astype(array.dtype)
    numbers = kernels._mean(kernels.datetime_to_numeric(array, offset), axis=axis, skipna=skipna, **options)
    return numbers.astype(array.dtype.str.replace("M", "m")) + offset


def _data_of(data: Any, xp: Any = np, dtype: Any = None) -> Any:  # noqa: ARG001 - xarray's signature
    """A DataArray among arrays is its data."""
    return data.data if dtype is None or data.dtype == dtype else data.data.astype(dtype)


def _unstacked(original: Call, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Copies, as plain arrays are."""
    out = original(self, *args, **kwargs)
    return out._replace({n: v.copy(data=v._data.copy()) if holds(v) else v for n, v in out._variables.items()})


def _unstacked_as_ours(self: Any, *args: Any, **kwargs: Any) -> Any:
    """What a value of ours fills up is ours."""
    return self._unstack_full_reindex(*args, **kwargs)


def _same(self: Any) -> Any:
    """What is being differentiated stays where it is."""
    return self.copy(deep=False)


def _uncut(_: Any, var: Any, *__: Any, **___: Any) -> Any:
    """How an array is cut is nothing that a derivative sees, and no tape records the blocks of a dask graph."""
    return var


def _clip(original: Call, self: Any, *args: Any, **kwargs: Any) -> Any:
    """``np.clip(x, ...)`` asks for the method with NumPy's arguments, and keeps no attributes."""
    if kwargs.get("out") is not None:
        raise TypeError("clip of an xarray object has no out=")
    if "out" not in kwargs:
        return original(self, *args, **kwargs)
    del kwargs["out"]
    clipped = original(self, *args, **kwargs)
    clipped.attrs = {}
    return clipped


def _filled(original: Call, array: Any, *args: Any, **options: Any) -> Any:
    """A plain array takes numbers of ours as one of ours does; those in a DataArray are its data."""
    bare = {n: _numbers(v) for n, v in options.items()}
    return original(array if isinstance(array, PositionalArray) else positional(array), *map(_numbers, args), **bare)


def _along_labels(original: Call, data: Any, labels: Any, **options: Any) -> Any:
    """On a device nobody looks whether distances are equal, in which case NumPy takes the first of them."""
    if not meets_host(data) and isinstance(labels, np.ndarray):
        steps = np.diff(labels)
        labels = steps[0] if steps.size and (steps == steps[0]).all() else beside(labels, data)
    return original(data, labels, **options)


def _likened(labels: Any, like: PositionalArray) -> Any:
    """As one of ours: beside one of a device's own xarray would ask the device for its functions."""
    there = beside(labels, like)
    return there if there is labels else positional(there)


def _numbers(value: Any) -> Any:
    return value.data if isinstance(value, xr.DataArray) else value


# ------------------------------------------------------------------------------------------------ exponential windows


def _exponential_init(self: Any, obj: Any, windows: Any, window_type: str = "span", min_weight: float = 0.0) -> None:
    """As the original, which refuses to be without numbagg."""
    module = importlib.import_module(type(self).__module__)
    self.obj, self.min_weight = obj, min_weight
    self.dim, window = next(iter(windows.items()))
    self.alpha = module._get_alpha(**{window_type: window})
    self.kwargs = {"alpha": self.alpha, "axis": -1, "min_weight": min_weight}


def _exponential(name: str) -> Call:
    def statistic(self: Any, *other: Any, keep_attrs: Any = None) -> Any:
        from namedgrad.xarray.numbagg import exponential

        dims = [self.dim]
        out = xr.apply_ufunc(
            exponential(name), self.obj, *other, input_core_dims=[dims] * (1 + len(other)), output_core_dims=[dims],
            kwargs={"alpha": self.alpha, "min_weight": self.min_weight}, on_missing_core_dim="copy",
            keep_attrs=True if keep_attrs is None else keep_attrs,
        )  # fmt: skip
        return out.transpose(*self.obj.dims)

    return statistic


# ------------------------------------------------------------------------------------------------ the table


class Seam(NamedTuple):
    """One place in xarray: ``module:attribute``, where ``{}`` is a package that has changed its name."""

    place: str
    ours: Call
    when: Question = _any_argument
    around: bool = False  #: whether ours is given the original as its first argument


_ROLLING, _EXPONENTIAL = "xarray.{}.rolling:DataArrayRolling", "xarray.{}.rolling_exp:RollingExp"
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
    Seam("xarray.core.dataset:Dataset.interp", _interp, _interpolated, around=True),
    Seam("xarray.core.missing:_localize", _whole, _targets),
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
    Seam("xarray.{}.weighted:Weighted._weighted_std", _weighted_std, _weighted),
    Seam("xarray.{}.weighted:Weighted.__init__", _unlooked, _unseen),
    Seam("xarray.{}.fit:polyfit", _polyfit, around=True),
    Seam("xarray.core.nputils:least_squares", _later(_HERE + "fitting", "least_squares")),
    Seam("xarray.{}.fit:curvefit", _later("namedgrad.fit", "curvefit")),
    Seam("xarray.{}.apply_ufunc:_vectorize", _vectorize, _always, around=True),
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
    Seam(f"{_ROLLING}._array_reduce", _rolling_reduce, _windowed, around=True),
    Seam(f"{_EXPONENTIAL}.__init__", _exponential_init),
    *(Seam(f"{_EXPONENTIAL}.{n}", _exponential(n), _windowed) for n in ("mean", "sum", "std", "var", "cov", "corr")),
    Seam("xarray.core.indexing:apply_indexer", _later(_HERE + "selecting", "pick"), _picked_by_ours),
    Seam("xarray.core.variable:Variable.__getitem__", _later(_HERE + "selecting", "getitem"), _single, around=True),
    Seam("xarray.core.variable:IndexVariable._finalize_indexing_result", _later(_HERE + "selecting", "finalize")),
    Seam("xarray.core.dataset:Dataset.sortby", _later(_HERE + "selecting", "sortby"), _by_ours),
    Seam("xarray.core.dataset:Dataset._unstack_once", _unstacked_as_ours, _arguments_but_self),
    Seam("xarray.core.dataset:Dataset._unstack_full_reindex", _unstacked, lambda self, *_: holds(self), around=True),
    Seam("xarray.core.dataset:Dataset.dropna", _later(_HERE + "selecting", "dropna"), _differs),
    Seam("xarray.core.indexes:PandasIndex.isel", isel, _arguments_but_self, around=True),
    Seam("xarray.core.indexes:PandasIndex.sel", _later(_HERE + "selecting", "positions_of")),
    Seam("xarray.core.indexes:_sanitize_slice_element", _later(_HERE + "selecting", "bound_of")),
    Seam("xarray.core.duck_array_ops:einsum", np.einsum),
    *(Seam(f"xarray.core.duck_array_ops:{n}", _filled, around=True) for n in ("pad", "full_like")),
    Seam("xarray.core.duck_array_ops:gradient", _along_labels, around=True),
    *(Seam(f"xarray.{m}:to_like_array", _likened, lambda _, like: isinstance(like, PositionalArray)) for m in _BESIDE),
    Seam("xarray.core.common:AbstractArray.__bool__", _agreed, _asked_per_slice, around=True),
    Seam("xarray.core.variable:Variable.equals", _equals, _per_slice, around=True),
    Seam("xarray.{}.computation:_calc_idxminmax", _lazy_extremes, _is_lazy, around=True),
    *(Seam(f"xarray.core.{n}", _of_dates, _dates_of_ours, around=True) for n in _OF_DATES),
    Seam("xarray.core.parallel:map_blocks", _at_once),
    Seam("xarray:map_blocks", _at_once),
    Seam("xarray.core.duck_array_ops:pandas_isnull", np.isnat, _dates),
    Seam("xarray.core.duck_array_ops:mean", _mean_of_dates, _dates),
    Seam("xarray.core.duck_array_ops:asarray", _data_of, _wrapped_first),
    *(Seam(f"xarray.core.{m}:as_compatible_data", _compatible, _listed, around=True) for m in _HOLDERS),
    Seam("xarray.core.variable:Variable.as_numpy", _same),
    Seam("xarray.core.dataset:_maybe_chunk", _uncut, _cut),
    Seam("xarray.core.variable:Variable.chunk", lambda self, *_, **__: self, lambda self, *_, **__: holds(self)),
    Seam("xarray.core.common:DataWithCoords.clip", _clip, around=True),
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
