"""What stands in the place of functions of xarray's that would hand arrays of ours to kernels of plain ones.

Each has the name of what it replaces, which is its first argument where it stands around that.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from namedgrad import ops
from namedgrad.array import TraceError, make, refuse_while_recording
from namedgrad.positional.array import PositionalArray, wrap
from namedgrad.positional.operands import positional
from namedgrad.rules.signal.calculus import even_step
from namedgrad.trace import innermost
from namedgrad.xarray.convert import beside, meets_host
from namedgrad.xarray.holding import holds, is_moving_date

Call = Callable[..., Any]


def as_compatible_data(original: Call, data: Any, *args: Any, **options: Any) -> Any:
    """A list with numbers of ours is one array: it is looked into only where NumPy has failed to."""
    try:
        return original(data, *args, **options)
    except TraceError:
        return _joined(data)


def _joined(items: list[Any]) -> Any:
    """Nested lists as one array of ours."""
    return np.stack([_joined(i) if isinstance(i, list) else _numbers(i) for i in items])


def localize(obj: Any, pairs: Any) -> Any:
    """Targets that are differentiated may lie anywhere: nothing is cut away."""
    return obj, pairs


def interp(original: Call, self: Any, coords: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Targets that would be the labels of a dim, and differ per slice, cannot be an index: a coordinate only."""
    options = {n: kwargs.pop(n) for n in list(kwargs) if n in _INTERP_OPTIONS}
    given = {n: _target(self, n, t) for n, t in {**(coords or {}), **kwargs}.items()}
    for n, v in self._variables.items():
        if is_moving_date(v._data) and not given.keys().isdisjoint(v.dims):
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
    out = original(self.drop_vars(words), {n: _set_aside(t, aside) for n, t in given.items()}, *args, **options)
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


def _set_aside(target: Any, aside: dict[str, Any]) -> Any:
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


def vectorize(original: Call, func: Call, signature: Any, output_dtypes: Any, exclude_dims: Any) -> Call:
    """A function of one slice runs once for all slices of ours, instead of in a loop."""
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


def polyfit(  # noqa: PLR0917 - the signature of xarray
    original: Call, obj: Any, dim: Any, deg: int, skipna: Any = None, rcond: Any = None, w: Any = None, *more: Any,
    **options: Any,
) -> Any:  # fmt: skip
    """Whether cells are missing may differ per slice; where none is, leaving them out changes nothing."""
    ours = holds(obj.coords[w] if isinstance(w, str) else w) or holds(obj.coords[dim])
    if ours or any(holds(v) and not meets_host(v.data) for v in obj.data_vars.values()):
        from namedgrad.xarray.fitting import polyfit

        return polyfit(obj, dim, deg, skipna, rcond, w, *more, **options)
    return original(obj, dim, deg, True if skipna is None else skipna, rcond, w, *more, **options)


def weighted_std(self: Any, da: Any, dim: Any = None, skipna: Any = None) -> Any:
    """The root, whose derivative is 0 where there is no spread, as that of ``std``."""
    variance = self._weighted_var(da, dim, skipna)
    flat = variance == 0
    return np.sqrt(variance.where(~flat, 1.0)).where(~flat, 0.0)


def weighted_init(self: Any, obj: Any, weights: Any) -> None:
    """Weights that are recorded, or lazy, are not looked at; those that are missing make the results missing."""
    self.obj, self.weights = obj, weights


def equals(original: Call, self: Any, other: Any, equiv: Any = None) -> Any:
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


def bool_of(original: Call, self: Any) -> bool:
    """Where all slices answer alike a program goes on with that, as each of them would on its own."""
    answers = getattr(self, "variable", self)._data
    if answers.size == 1 and answers._x.level is None and answers._x.backend == "numpy":
        every = answers.devectorize()
        if (truth := bool(np.all(every))) == bool(np.any(every)):
            return truth
    return bool(original(self))


def idxminmax(original: Call, *, array: Any, **options: Any) -> Any:
    """Where extremes lie is fixed, and xarray picks the labels of arrays that it knows to be lazy."""
    return original(array=array.copy(data=ops.FUNCTIONS["stop_gradient"](array.data).data), **options)


def map_blocks(func: Call, obj: Any, args: Any = (), kwargs: Any = None, template: Any = None) -> Any:  # noqa: ARG001
    """Arrays that are differentiated are whole, whatever chunks they have, as plain ones are."""
    return func(obj, *args, **(kwargs or {}))


def rolling_reduce(original: Call, self: Any, *args: Any, **kwargs: Any) -> Any:
    """The kernels of bottleneck and numbagg left out: what remains is made of NumPy functions."""
    names = ("array_agg_func", "bottleneck_move_func", "numbagg_move_func", "rolling_agg_func")
    given = {**dict(zip(names, args)), **kwargs}
    return original(self, **{**given, "bottleneck_move_func": None, "numbagg_move_func": None})


def of_dates(original: Call, values: Any, *args: Any, **kwargs: Any) -> Any:
    """What pandas or cftime say of each date, where dates differ per slice, and seconds that are differentiated."""
    x = values._x
    if x.level is not None:
        return values / np.timedelta64(1, "s") if args[:1] == ("total_seconds",) else original(values, *args, **kwargs)
    found = original(x.raw, *args, **kwargs)
    if np.ndim(found) > len(x.names):  # several numbers of each, in front
        return np.stack([wrap(make(part, x.names, x.hidden)) for part in found])
    return wrap(make(found, x.names, x.hidden)) if np.ndim(found) else found


def mean_of_dates(array: Any, axis: Any = None, skipna: Any = None, **options: Any) -> Any:
    """As the original, whose offset is one number: the middle of the years of each slice."""
    kernels = importlib.import_module("xarray.core.duck_array_ops")
    ends = (kernels._datetime_nanreduce(array, f) for f in (kernels.min, kernels.max))
    first, last = (end.astype("datetime64[Y]").astype(int) for end in ends)
    offset = (first + (last - first) // 2).astype("datetime64[Y]").astype(array.dtype)
    numbers = kernels._mean(kernels.datetime_to_numeric(array, offset), axis=axis, skipna=skipna, **options)
    return numbers.astype(array.dtype.str.replace("M", "m")) + offset


def asarray(data: Any, xp: Any = np, dtype: Any = None) -> Any:  # noqa: ARG001 - xarray's signature
    """A DataArray among arrays is its data."""
    return data.data if dtype is None or data.dtype == dtype else data.data.astype(dtype)


def unstack_full_reindex(original: Call, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Copies, as plain arrays are."""
    out = original(self, *args, **kwargs)
    return out._replace({n: v.copy(data=v._data.copy()) if holds(v) else v for n, v in out._variables.items()})


def unstack_once(self: Any, *args: Any, **kwargs: Any) -> Any:
    """What a value of ours fills up is ours."""
    return self._unstack_full_reindex(*args, **kwargs)


def as_numpy(self: Any) -> Any:
    """What is being differentiated stays where it is."""
    return self.copy(deep=False)


def chunk(self: Any, *_: Any, **__: Any) -> Any:
    """As :func:`maybe_chunk`."""
    return self


def maybe_chunk(_: Any, var: Any, *__: Any, **___: Any) -> Any:
    """How an array is cut is nothing that a derivative sees, and no tape records the blocks of a dask graph."""
    return var


def clip(original: Call, self: Any, *args: Any, **kwargs: Any) -> Any:
    """``np.clip(x, ...)`` asks for the method with NumPy's arguments, and keeps no attributes."""
    if kwargs.get("out") is not None:
        raise TypeError("clip of an xarray object has no out=")
    if "out" not in kwargs:
        return original(self, *args, **kwargs)
    del kwargs["out"]
    clipped = original(self, *args, **kwargs)
    clipped.attrs = {}
    return clipped


def filled(original: Call, array: Any, *args: Any, **options: Any) -> Any:
    """A plain array takes numbers of ours as one of ours does; those in a DataArray are its data."""
    bare = {n: _numbers(v) for n, v in options.items()}
    return original(array if isinstance(array, PositionalArray) else positional(array), *map(_numbers, args), **bare)


def gradient(original: Call, data: Any, labels: Any, **options: Any) -> Any:
    """On a device nobody looks whether distances are equal, in which case NumPy takes the first of them."""
    if not meets_host(data) and isinstance(labels, np.ndarray):
        step = even_step(labels)
        labels = beside(labels, data) if step is None else step
    return original(data, labels, **options)


def to_like_array(labels: Any, like: PositionalArray) -> Any:
    """As one of ours: beside one of a device's own xarray would ask the device for its functions."""
    there = beside(labels, like)
    return there if there is labels else positional(there)


def _numbers(value: Any) -> Any:
    return value.data if isinstance(value, xr.DataArray) else value


# ------------------------------------------------------------------------------------------------ exponential windows


def exponential_windows(self: Any, obj: Any, windows: Any, window_type: str = "span", min_weight: float = 0.0) -> None:
    """As the original, which refuses to be without numbagg."""
    module = importlib.import_module(type(self).__module__)
    self.obj, self.min_weight = obj, min_weight
    self.dim, window = next(iter(windows.items()))
    self.alpha = module._get_alpha(**{window_type: window})
    self.kwargs = {"alpha": self.alpha, "axis": -1, "min_weight": min_weight}


def exponential_window(name: str) -> Call:
    """A statistic of windows whose weights fall exponentially."""

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
