"""Coordinates as numbers: dates become the time since an origin, and say so."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import xarray as xr

from namedgrad.array import TraceError
from namedgrad.axes import AxisError
from namedgrad.transforms.captured import captured
from namedgrad.transforms.leaves import flatten, unflatten

Origins = dict[Any, Any]
Dates = Callable[[Any], Mapping[Any, xr.DataArray]]
T = TypeVar("T")
SECONDS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0, "years": 365.2425 * 86400.0}


def numeric(x: xr.DataArray, units: str = "seconds", origin: Any = None) -> xr.DataArray:
    """A coordinate as floating-point numbers.

    Parameters
    ----------
    x : DataArray
        Numbers, dates (datetime64 or cftime) or durations.
    units : {"seconds", "minutes", "hours", "days", "years"}
        Of what becomes of dates and durations. A year has 365.2425 days, or as many as those of the calendar have.
    origin : date, optional
        The date that becomes 0; by default the earliest of them.

    Returns
    -------
    DataArray
        With ``attrs["units"]``, for dates as in the CF conventions: ``"seconds since 1860-06-01 00:00:00"``.
    """
    if units not in SECONDS:
        raise ValueError(f"time_units={units!r} is not one of {', '.join(map(repr, SECONDS))}")
    _require_numbers_or_dates(x)
    values, attrs = np.asarray(x.data) if x.dtype == object else x.data, dict(x.attrs)
    if x.dtype.kind == "M":
        values, attrs = _since(values, units, origin)
    elif x.dtype.kind == "m":
        values, attrs = _as_seconds(values) / SECONDS[units], {"units": units}
    elif x.dtype == object:
        values, attrs = _since_cftime(values, units, origin, x.name)
    own = x.xindexes.get_all_coords(x.name) if x.name in x.xindexes else {x.name}  # with the other levels of its index
    coords = {n: c for n, c in x.coords.items() if n not in own}
    return xr.DataArray(xr.Variable(x.dims, values, attrs).astype("float64"), coords, name=x.name)


def _require_numbers_or_dates(x: xr.DataArray) -> None:
    """Raise for text, complex numbers, and what only pandas knows, such as periods."""
    if not isinstance(x.dtype, np.dtype) or x.dtype.kind in "cSTU":
        raise TypeError(
            f"the coordinate {x.name!r} holds neither numbers nor dates, but {x.dtype}; .assign_coords gives it such, "
            "as are .mid of an index of intervals, .to_timestamp() of periods, .tz_convert(None) of dates in time zones"
        )


def _as_seconds(durations: Any) -> Any:
    """Durations in seconds; NaN for missing ones."""
    return np.where(np.isnat(durations), np.nan, durations / np.timedelta64(1, "s"))


def _since(dates: Any, units: str, origin: Any) -> tuple[Any, dict[str, Any]]:
    if hasattr(origin, "calendar"):
        raise _another("datetime64", origin)
    first = _earliest(dates) if origin is None else np.datetime64(origin)
    text = str(first.astype("datetime64[us]")).replace("T", " ").removesuffix(".000000")
    return _as_seconds(dates - first) / SECONDS[units], {"units": f"{units} since {text}"}


def _another(what: str, origin: Any) -> TypeError:
    kind = f"of the calendar {origin.calendar!r}" if hasattr(origin, "calendar") else "not a date of a calendar"
    return TypeError(f"dates of {what} cannot be counted from {origin}, {kind}; .convert_calendar makes them alike")


def _earliest(dates: Any) -> Any:
    known = np.asarray(dates[~np.isnat(dates)])
    return known.min() if known.size else np.datetime64(0, "s")


_DAYS = {"360_day": 360.0, "noleap": 365.0, "365_day": 365.0, "all_leap": 366.0, "366_day": 366.0, "julian": 365.25}


def _since_cftime(dates: Any, units: str, origin: Any, name: Any) -> tuple[Any, dict[str, Any]]:
    """The same for dates of cftime, in their own calendar."""
    calendar = getattr(next(iter(dates.flat), None), "calendar", None)
    if calendar is None:
        raise TypeError(f"the coordinate {name!r} holds neither numbers nor dates, but objects")
    first = min(dates.flat) if origin is None else origin
    if getattr(first, "calendar", None) != calendar:
        raise _another(f"the calendar {calendar!r}", first)
    off = np.asarray(dates - first)  # of a single date it is a number
    seconds = np.array([86400.0 * d.days + d.seconds + 1e-6 * d.microseconds for d in off.flat]).reshape(dates.shape)
    per = SECONDS[units] if units != "years" else 86400.0 * _DAYS.get(calendar, 365.2425)
    return seconds / per, {"units": f"{units} since {str(first).split('.')[0]}", "calendar": calendar}


def origins(data: tuple[Any, ...], others: Any, over: Any) -> Origins:
    """What the dates in all arguments are counted from, by their kind: differences between them mean something.

    Coordinates along other dims than ``over`` count from where arrays do, if there are such; those of the other
    arguments from where those of the data do.
    """
    return _origins(others, over) | _origins(data, over)


def _origins(tree: Any, over: Any) -> Origins:
    known: Origins = {}
    leaves = _nodes(tree)
    for found in (_dates, functools.partial(_labels, over=as_names(over))):
        firsts: Origins = {}
        for v in (v for x in leaves for v in found(x).values() if v.size and v.dtype.kind != "m"):
            first = _first(v)
            firsts[_kind(v)] = np.fmin(firsts.get(_kind(v), first), first)  # all dates of an array may be missing
        known = firsts | known
    return known


def as_names(over: Any) -> tuple[Any, ...]:
    """The dims of cells: several, one or none."""
    return () if over is None else tuple(over) if isinstance(over, (tuple, list)) else (over,)


def nodes(leaf: Any) -> dict[str, Any]:
    """What holds arrays in a leaf; coordinates that a node of a tree inherits are those of another."""
    if isinstance(leaf, xr.DataTree):
        return {path: node.to_dataset(inherit=path == ".") for path, node in leaf.subtree_with_keys}
    return {".": leaf}


def _nodes(tree: Any) -> list[Any]:
    return [x for leaf in flatten(tree)[0] for x in nodes(leaf).values()]


def _dates(x: Any) -> dict[Any, xr.DataArray]:
    """The arrays of dates and durations in a leaf."""
    several = x.data_vars if isinstance(x, xr.Dataset) else {x.name or "time": x} if isinstance(x, xr.DataArray) else {}
    return {n: v for n, v in several.items() if _is_date(v)}


def _labels(x: Any, over: Sequence[Any]) -> dict[Any, xr.DataArray]:
    """Coordinates of a leaf that are dates or durations, but for those of the cells and levels of a MultiIndex.

    Whether objects are dates would have to be computed if they are lazy.
    """
    if not isinstance(x, (xr.Dataset, xr.DataArray)):
        return {}
    own = {n: v for n, v in x.coords.items() if set(over).isdisjoint(v.dims) and (n in v.dims or n not in x.xindexes)}
    return {n: v for n, v in own.items() if (v.dtype != object or v.chunks is None) and _is_date(v)}


def _is_date(x: xr.DataArray) -> bool:
    return x.dtype.kind in "Mm" or hasattr(_some(x), "calendar")


def _some(x: xr.DataArray) -> Any:
    """One of the objects in an array."""
    return x[dict.fromkeys(x.dims, 0)].values.item() if x.dtype == object and x.size else None


def _kind(x: xr.DataArray) -> str:
    """Dates of one kind can be compared."""
    return "datetime64" if x.dtype.kind == "M" else str(getattr(_some(x), "calendar", "duration"))


def _first(x: xr.DataArray) -> Any:
    """The earliest date; of dask arrays: when they are computed."""
    return x.variable.min(skipna=True) if x.dtype.kind == "M" else min(np.ravel(x.values))


def _numbers(
    x: Any, since: Origins, over: Sequence[Any] | None = None, *, dates: Dates = _dates
) -> tuple[Any, dict[str, Any]]:
    """An argument with seconds in place of dates, and attributes that say since when; unchanged if there are none.

    Those in coordinates stay, but for those along other dims than ``over``, if it is given.
    """
    (leaves, treedef), attrs, out = flatten(x), dict[str, Any](), []
    for leaf in leaves:
        count = _node_by_node if isinstance(leaf, xr.DataTree) else _seconds
        seconds, more = count(leaf, since, over, dates)
        out.append(seconds)
        attrs |= more
    return unflatten(treedef, out), attrs


def _node_by_node(
    tree: xr.DataTree, since: Origins, over: Sequence[Any] | None, dates: Dates
) -> tuple[Any, dict[str, Any]]:
    made = {path: _seconds(ds, since, over, dates) for path, ds in nodes(tree).items()}
    attrs = {key: value for _, more in made.values() for key, value in more.items()}
    return xr.DataTree.from_dict({path: ds for path, (ds, _) in made.items()}, name=tree.name), attrs


def _seconds(x: Any, since: Origins, over: Sequence[Any] | None, dates: Dates) -> tuple[Any, dict[str, Any]]:
    origin = {kind: getattr(v, "values", v) for kind, v in since.items()}
    other = next(iter(origin.values()), None)  # from which dates of another kind cannot be counted, as is said then

    def counted(found: Mapping[Any, xr.DataArray]) -> dict[Any, xr.DataArray]:
        return {n: numeric(v, origin=origin.get(_kind(v), other)) for n, v in found.items()}

    found = counted(dates(x))
    out = x.assign(found) if isinstance(x, xr.Dataset) else next(iter(found.values()), x)
    labels = {} if over is None else counted(_labels(out, over))
    out = out.assign_coords({n: v.variable for n, v in labels.items()}) if labels else out
    several = {**labels, **found}.items()
    return out, {f"{n}_{key}": v.attrs[key] for n, v in several for key in ("units", "calendar") if key in v.attrs}


class Dated(NamedTuple, Generic[T]):
    """What a fit of data made, maybe with seconds in place of dates.

    Attributes
    ----------
    made : what was wanted
    attrs : say since when dates count
    readers : make of data what they were made of for the fit; none if it computes with dates
    read_others : does so with the other arguments
    """

    made: T
    attrs: dict[str, Any]
    readers: Sequence[Callable[[Any], Any]]
    read_others: Callable[[Any], Any]


def as_given(x: Any) -> Any:
    """Other arguments as they are."""
    return x


def with_dates(
    start: Callable[[tuple[Any, ...], Any], T], function: Callable[..., Any], data: tuple[Any, ...], others: Any,
    over: Any, since: Origins | None,
) -> Dated[T]:  # fmt: skip
    """``start(data, others)``; if ``function`` cannot compute with the dates among the data, with seconds for them.

    They are counted from the earliest, or from ``since``. If that is not enough, those in coordinates are, too, also in
    those of the other arguments, which meet the data by label.
    """
    try:
        return Dated(start(data, others), {}, [], as_given)
    except (TypeError, ValueError, AttributeError) as error:
        failed: Exception = error
    since = origins(data, others, over) if since is None else since
    try:
        for dims in (None, as_names(over)):
            read_others = functools.partial(_read, since=since, over=dims, dates=_none)
            numbers = [_numbers(x, since, dims) for x in data]
            attrs = {key: value for _, several in numbers for key, value in several.items()}
            attrs = _numbers(others, since, dims, dates=_none)[1] | attrs
            if not attrs:
                continue
            _require_one_kind((data, others), dims, failed)
            labels = set() if dims is None else {n for x in _nodes((data, others)) for n in _labels(x, dims)}
            dated = _captures(function, labels)
            try:
                # of dates of cftime and seconds no label is the same, which is an error in an exact join only
                with xr.set_options(**({"arithmetic_join": "exact"} if dated else {})):
                    made = start(tuple(x for x, _ in numbers), read_others(others))
                readers = [functools.partial(_read, since=since, over=dims)] * len(data)
                return Dated(made, attrs, readers, read_others)
            except (TypeError, ValueError, AttributeError) as error:
                if dims is not None:
                    _refuse_both(failed, error, sorted(map(repr, labels)), dated)
                failed = error if dims is None else failed
        _require_no_dates_of_cells(data, over, failed)
        raise failed
    finally:
        del failed  # by its traceback it holds on to what is here, and so would the data


def _require_one_kind(args: Any, dims: Sequence[Any] | None, failed: Exception) -> None:
    kinds = _kinds(args, dims)
    if len(kinds) > 1 and (dims is None or isinstance(failed, TypeError)):
        raise TypeError(
            f"the data have dates of several calendars, {sorted(kinds)}, which cannot be counted from one origin; "
            ".convert_calendar makes them alike"
        ) from failed


def _require_no_dates_of_cells(data: Any, over: Any, failed: Exception) -> None:
    of_cells = {repr(n) for x in _nodes(data) for n in _labels(x, ()).keys() - _labels(x, as_names(over)).keys()}
    if _is_about_dates(failed) and of_cells:
        raise TypeError(
            f"{failed}; dates of cells stay dates, {', '.join(sorted(of_cells))}: pass them as an argument of "
            f"their own, as y[{min(of_cells)}], to get seconds"
        ) from failed


def _captures(function: Callable[..., Any], labels: set[Any]) -> list[str]:
    """Names of the arrays that a function captures and that have dates in coordinates with one of these names."""
    if not labels:
        return []
    arrays = [(name, x) for name, x in captured(function) if isinstance(x, (xr.DataArray, xr.Dataset))]
    return sorted({name for name, x in arrays if not labels.isdisjoint(_labels(x, ()))})


def _is_about_dates(error: Exception) -> bool:
    return isinstance(error, (TypeError, AttributeError)) and any(word in str(error) for word in ("M8", "m8", "cftime"))


def _refuse_both(failed: Exception, then: Exception, names: Sequence[str], dated: Sequence[str]) -> None:
    """Raise if a function that cannot compute with dates in coordinates cannot do so with seconds either."""
    if isinstance(failed, TraceError) or not isinstance(failed, (TypeError, AttributeError)):
        return
    if str(then) == str(failed) and not (dated and _is_about_dates(failed)):
        return  # it is not about dates
    if isinstance(then, AxisError):  # with seconds the function did its part
        raise then from failed
    out = (
        f"what it captures and has dates there, {', '.join(dated)}, is to be passed as an argument after params, and "
        "gets the same seconds"
        if dated
        else f"what it makes of dates, as y[{names[0]}].dt.month, is to be computed before the fit and passed as an "
        "argument after params"
    )
    raise TypeError(
        f"the function computes neither with dates in coordinates, {', '.join(names)} ({type(failed).__name__}: "
        f"{failed}), nor with seconds in place of them ({type(then).__name__}: {then}); {out}"
    ) from failed


def _none(x: Any) -> dict[Any, xr.DataArray]:  # noqa: ARG001 - numbers are asked for, and dates in place of them refused
    return {}


def _kinds(data: Any, over: Sequence[Any] | None) -> set[str]:
    """Of what kinds the dates are."""
    several = [{**({} if over is None else _labels(x, over)), **_dates(x)} for x in _nodes(data)]
    return {_kind(v) for dates in several for v in dates.values()} - {"duration"}


def _read(x: Any, since: Origins, over: Sequence[Any] | None, dates: Dates = _dates) -> Any:
    return _numbers(x, since, over, dates=dates)[0]


def labels_among(data: Any) -> dict[Any, xr.Variable]:
    """Coordinates of arguments that are dates."""
    return {n: v.variable for x in _nodes(data) for n, v in _labels(x, ()).items()}


def relabelled(x: xr.DataArray, labels: Mapping[Any, xr.Variable]) -> xr.DataArray:
    """With dates in place of the seconds that were made of them."""
    own = x.coords.variables
    known = {n: v for n, v in labels.items() if n in own and own[n].sizes == v.sizes and own[n].dtype.kind == "f"}
    return x.assign_coords(known) if known else x


def read_all(readers: Sequence[Callable[[Any], Any]], data: Sequence[Any]) -> tuple[Any, ...]:
    """Arguments, each by its reader if it has one."""
    return (*(read(x) for read, x in zip(readers, data, strict=False)), *data[len(readers) :])
