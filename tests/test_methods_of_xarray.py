"""Methods of DimArrays have the parameters of xarray's methods of the same name, and what these give."""

from __future__ import annotations

import doctest
import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import namedgrad as ng
from namedgrad.rules.movement.coarsening import Coarsen
from namedgrad.rules.reductions.weighted import Weighted
from namedgrad.rules.windows.rolling import Rolling
from tests.support.tolerances import FIRST, ROUNDING, assert_close

X = xr.DataArray(np.ones((2, 3)), dims=("x", "y"))
#: Name of a kind: xarray's class, and ours.
KINDS: dict[str, tuple[type, type]] = {
    "DataArray": (xr.DataArray, ng.DimArray),
    "weighted": (type(X.weighted(X)), Weighted),
    "rolling": (type(X.rolling(x=1)), Rolling),
    "coarsen": (type(X.coarsen(x=1)), Coarsen),
}

# ------------------------------------------------------------------------------------------------ parameters

#: xarray's methods that DimArrays have not, with the reason.
ABSENT = {
    **dict.fromkeys((
        "assign_attrs", "assign_coords", "convert_calendar", "drop_attrs", "drop_duplicates", "drop_encoding", "drop_indexes",
        "drop_sel", "drop_vars", "get_index", "interp_calendar", "interp_like", "query", "reindex", "reindex_like",
        "reorder_levels", "resample", "reset_coords", "reset_encoding", "reset_index", "sel", "set_index", "set_xindex", "drop",
    ), "a DimArray has no coordinates, labels, attributes or encoding"),
    **dict.fromkeys((
        "close", "from_dict", "from_iris", "from_series", "load", "load_async", "persist", "set_close", "to_dask_dataframe",
        "to_dataframe", "to_dataset", "to_dict", "to_index", "to_iris", "to_masked_array", "to_netcdf", "to_pandas", "to_series",
        "to_unstacked_dataset", "to_zarr", "as_numpy",
    ), "files and other libraries: to_numpy, to_xarray, to"),
    **dict.fromkeys(("chunk", "map_blocks", "unify_chunks"), "dask's: on .data"),
    "curvefit": "ng.curvefit",
    "searchsorted": "ng.searchsorted, by name",
    "plot": "drawing",
}  # fmt: skip
_FIGURES = "options of the function of arrays that computes; axis, keepdims and what has a meaning are taken"
#: Parameters of xarray's that DimArrays take otherwise or not, with the reason.
DIFFERENT: dict[str, str] = {
    **{f"DataArray.{n}(**kwargs)": _FIGURES for n in (
        "all", "any", "count", "cumprod", "cumsum", "max", "mean", "median", "min", "prod", "std", "sum", "var")},
    **{f"DataArray.{n}(*args)": "NumPy's own arguments" for n in ("argsort", "conj", "conjugate", "item", "round")},
    **{f"DataArray.{n}(**kwargs)": "NumPy's own arguments" for n in ("argsort", "conj", "conjugate", "item", "round")},
    "DataArray.compute(**kwargs)": "dask's, for a scheduler: dask.config.set",
    "DataArray.astype(keep_attrs=)": "changes nothing, whatever it is by default",
    "DataArray.stack(index_cls=)": "changes nothing, whatever it is by default",
    "DataArray.pad(keep_attrs at 7)": "by its name: dims are the keywords",
    "DataArray.interp(assume_sorted at 3)": "by its name: where the cells are comes behind the targets",
    "DataArray.interp(kwargs at 4)": "by its name: where the cells are comes behind the targets",
    "DataArray.interp(coords at 1)": "targets come first; coords= alone are the targets, too",
    "DataArray.interp(method at 2)": "behind the targets, or behind the coordinates of the cells",
    "DataArray.polyfit(dim at 1)": "first too, by another name: see the next test",
    "DataArray.polyfit(deg at 2)": "second too, by another name: see the next test",
    **{f"rolling.{n}(**kwargs)": _FIGURES for n in (
        "argmax", "argmin", "max", "mean", "median", "min", "prod", "std", "sum", "var")},
    **{f"{kind}.{n}(keep_attrs at {k})": "by its name, behind other arguments" for kind, n, k in (
        ("rolling", "reduce", 2), ("coarsen", "reduce", 2), ("coarsen", "construct", 2))},
}  # fmt: skip
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_UNSET = inspect.signature(xr.DataArray.shift).parameters["fill_value"].default  # xarray's NA, which becomes NaN


def methods(kind: type) -> list[str]:
    return [n for n in dir(kind) if not n.startswith("_") and callable(getattr(kind, n)) and n not in {"dt", "str", "grad"}]


def parameters(method: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(method).parameters.values())[1:]


def differences(where: str, theirs: list[inspect.Parameter], ours: list[inspect.Parameter]) -> Iterator[str]:
    """Parameters of theirs that have another name, place or default here."""
    own = {p.name: p for p in ours}
    places = [p.name for p in ours if p.kind in _POSITIONAL]
    kinds = {p.kind for p in ours}
    for place, p in enumerate(theirs):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            if p.kind not in kinds:
                yield f"{where}({'*' if p.kind is p.VAR_POSITIONAL else '**'}{p.name})"
            continue
        mine = own.get(p.name)
        if mine is None:
            yield f"{where}({p.name})"
            continue
        if p.kind in _POSITIONAL and (mine.kind not in _POSITIONAL or places.index(p.name) != place):
            yield f"{where}({p.name} at {place + 1})"
        if p.default is not p.empty and not same_default(p.default, mine.default):
            yield f"{where}({p.name}=)"


def same_default(theirs: Any, ours: Any) -> bool:
    return ours is theirs or ours == theirs or (theirs is _UNSET and isinstance(ours, float) and math.isnan(ours))


def found_differences() -> list[str]:
    found: list[str] = []
    for kind, (theirs, ours) in KINDS.items():
        for name in methods(theirs):
            if hasattr(ours, name):
                found += differences(f"{kind}.{name}", parameters(getattr(theirs, name)), parameters(getattr(ours, name)))
    return found


def test_parameters_are_those_of_xarray() -> None:
    found = set(found_differences())
    assert sorted(found - DIFFERENT.keys()) == []
    assert sorted(DIFFERENT.keys() - found) == [], "these agree"


def test_no_other_method_is_missing() -> None:
    for kind, (theirs, ours) in KINDS.items():
        missing = {n for n in methods(theirs) if not hasattr(ours, n)}
        assert sorted(missing - ABSENT.keys()) == [], kind
    assert sorted(n for n in ABSENT if hasattr(ng.DimArray, n)) == []


def test_added_arguments_are_described() -> None:
    assert "\naxis : int or tuple of int, optional\n" in ng.DimArray.mean.__doc__
    for method in (ng.DimArray.mean, ng.DimArray.quantile, ng.DimArray.isnull, ng.DimArray.reduce):
        assert method.__doc__.count("\nkeep_attrs : bool, optional\n") == 1
    assert "keep_attrs" not in inspect.signature(ng.mean).parameters


# ------------------------------------------------------------------------------------------------ what calls give

NAMES = ("x", "y")
SIZES = {"b": 3, "x": 4, "y": 5}
Call = Callable[[Any], Any]


def data(rng: np.random.Generator, *, gaps: bool, ties: bool) -> np.ndarray:
    values = rng.normal(size=(3, 4, 5))
    values = np.round(values * 2) / 2 if ties else values
    return np.where(rng.random(values.shape) < 0.2, np.nan, values) if gaps else values


def of_xarray(values: np.ndarray) -> xr.DataArray:
    return xr.DataArray(values, dims=NAMES, coords={d: np.arange(float(SIZES[d])) for d in NAMES})


def pick(rng: np.random.Generator, choices: Any) -> Any:
    return choices[rng.integers(len(choices))]


def options(rng: np.random.Generator, **choices: Any) -> dict[str, Any]:
    """Some of the options."""
    return {k: pick(rng, v) for k, v in choices.items() if rng.random() < 0.5}


def dims(rng: np.random.Generator, *, several: bool = True) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The dims by place, by name, by number, or not at all."""
    one = ["x", "y"]
    forms = [*one, *([None, ..., ["x"], ["y", "x"], ("x", "y"), {"x", "y"}] if several else [])]
    how = rng.integers(4 if several else 2)
    if how == 0:
        return (pick(rng, forms),), {}
    if how == 1:
        return (), {"dim": pick(rng, forms)}
    return ((), {"axis": pick(rng, [0, 1, -1, (0, 1)])}) if how == 2 else ((), {})


def method(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], of: Call = lambda z: z) -> Call:
    return lambda z: getattr(of(z), name)(*args, **kwargs)


KEEP = (None, True, False)


def reducing(rng: np.random.Generator) -> Call:
    name = pick(rng, ["sum", "prod", "mean", "max", "min", "std", "var", "median", "count", "any", "all"])
    args, kwargs = dims(rng)
    kwargs |= options(rng, keep_attrs=KEEP, keepdims=(True, False))
    if name not in {"count", "any", "all"}:
        kwargs |= options(rng, skipna=(None, True, False))
    if name in {"sum", "prod"}:
        kwargs |= options(rng, min_count=(None, 1, 4))
    if name in {"std", "var"}:
        kwargs |= options(rng, ddof=(0, 1))
    return method(name, args, kwargs)


def scanning(rng: np.random.Generator) -> Call:
    args, kwargs = pick(rng, [(("x",), {}), ((), {"dim": "y"}), ((), {"axis": 1})])
    return method(pick(rng, ["cumsum", "cumprod"]), args, kwargs | options(rng, skipna=(None, True, False), keep_attrs=KEEP))


def finding(rng: np.random.Generator) -> Call:
    args, kwargs = pick(rng, [((d,), {}) for d in ("x", "y", ..., ["x"], ["y", "x"], ["x", "y"])] + [((), {"axis": k}) for k in (0, 1, -1)])
    return method(pick(rng, ["argmax", "argmin"]), args, kwargs | options(rng, keep_attrs=KEEP, skipna=(None, True)))


def labelling(rng: np.random.Generator) -> Call:
    args, kwargs = dims(rng, several=False)
    return method(pick(rng, ["idxmax", "idxmin"]), args, kwargs | options(rng, keep_attrs=KEEP, fill_value=(-1.0, np.nan)))


def ordering(rng: np.random.Generator) -> Call:
    args, kwargs = pick(rng, [((d,), {}) for d in ("x", ["y", "x"], None, ...)] + [((), {"dim": d}) for d in ("y", ("x", "y"))])
    kwargs = kwargs | options(rng, keep_attrs=KEEP, skipna=(None, True, False))
    how = pick(rng, [{}, {"method": "lower"}, {"interpolation": "higher"}, {"method": "midpoint"}, {"method": "hazen"}])
    return method("quantile", (pick(rng, [0.3, [0.2, 0.9]]), *args), kwargs | how)


def weighing(rng: np.random.Generator) -> Call:
    name = pick(rng, ["sum", "mean", "std", "var", "sum_of_squares", "sum_of_weights", "quantile", "quantile"])
    weights = rng.integers(0, 4, size=5) + (0.5 if rng.random() < 0.5 else 0)
    weights[rng.integers(5)] += 1
    kwargs = options(rng, keep_attrs=KEEP, dim=("x", "y", ["y", "x"], None))
    kwargs |= {} if name == "sum_of_weights" else options(rng, skipna=(True, False))
    args = (pick(rng, [0.4, [0.1, 0.5, 0.8]]),) if name == "quantile" else ()
    return method(name, args, kwargs, lambda z: z.weighted((xr.DataArray if isinstance(z, xr.DataArray) else ng.DimArray)(weights, dims="y")))


def windowing(rng: np.random.Generator) -> Call:
    spans = pick(rng, [{"x": 2}, {"y": 3}, {"y": 3, "x": 2}])
    least = pick(rng, [None, 1, 2])
    name = pick(rng, ["sum", "mean", "max", "min", "std", "var", "median", "count", "reduce", "construct"])
    first = [(k,) for k in KEEP]
    if name == "reduce":
        args, kwargs = (peak,), options(rng, keep_attrs=KEEP, power=(3.0,))
    elif name == "construct":
        args, kwargs = ({d: f"w{d}" for d in spans},), options(rng, keep_attrs=KEEP, stride=(2,), fill_value=(0.5,))
    else:
        args, kwargs = pick(rng, [(), *first]), options(rng, ddof=(0, 1)) if name in {"std", "var"} else {}
    return method(name, args, kwargs, lambda z: z.rolling(spans, least, pick(np.random.default_rng(least or 0), [True, False])))


def running(rng: np.random.Generator) -> Call:
    name = pick(rng, ["sum", "mean", "max", "min"])
    along = pick(rng, ["x", "y", ["x", "y"]])
    return method(name, pick(rng, [(), (True,)]), {}, lambda z: z.cumulative(along))


def coarsening(rng: np.random.Generator) -> Call:
    args, kwargs = pick(rng, [(), (True,), (False,)]), options(rng, keep_attrs=KEEP)
    name = pick(rng, ["sum", "mean", "max", "min", "std", "var", "median", "count", "prod", "reduce", "construct"])
    if name == "reduce":
        args = (peak,)
    elif name == "construct":
        args = ({"x": ("X", "w"), "y": ("Y", "v")},)
    elif args:
        kwargs = {}
    sides = options(rng, side=("left", "right"))
    return method(name, args, kwargs, lambda z: z.coarsen({"x": 2, "y": 2}, "trim", **sides))


def peak(values: Any, axis: Any = None, power: float = 2.0) -> Any:
    """A function of NumPy's that xarray reduces with."""
    return np.sum(np.abs(values) ** power, axis=axis) ** (1 / power)


def any_function(rng: np.random.Generator) -> Call:
    args, kwargs = dims(rng)
    if isinstance(args, tuple) and args and isinstance(args[0], set):
        args = (list(args[0]),)
    func = pick(rng, [peak, np.sum, np.max, np.mean])
    return method("reduce", (func, *args), kwargs | options(rng, keep_attrs=KEEP, keepdims=(True, False)))


def cell_by_cell(rng: np.random.Generator) -> Call:
    keep = options(rng, keep_attrs=KEEP)
    return pick(rng, [
        method("isnull", pick(rng, [(), (True,)]), {}), method("notnull", (), keep), method("clip", (-0.5,), keep),
        method("clip", (), {"max": 0.5} | keep), method("round", (1,), {}), method("round", (), {"decimals": 1} | keep), method("conj", (), keep),
        method("astype", ("float32",), {"order": "C", "casting": "unsafe", "subok": True, "copy": False} | keep),
        method("pad", ({"x": 1}, "edge"), keep), method("pad", (), {"x": (1, 2), "constant_values": 2.0} | keep),
    ])  # fmt: skip


def placing(rng: np.random.Generator) -> Call:
    """Along coordinates 0, 1, 2, ..., which a DimArray has."""
    name = pick(rng, ["differentiate", "integrate", "cumulative_integrate", "interp", "polyfit"])
    if name == "interp":
        at = {"x": [0.5, 2.25]}
        return pick(rng, [
            method(name, (at,), {}), method(name, (), at), method(name, (at, "nearest"), {}), method(name, (), {"coords": at, "method": "linear"}),
            method(name, (at,), {"kwargs": {"fill_value": 2.0}, "assume_sorted": True}), method(name, ({"x": [-1.0]},), {"kwargs": {"fill_value": 2.0}}),
        ])  # fmt: skip
    if name == "polyfit":
        call = pick(rng, [method(name, ("y", 1), {}), method(name, ("x",), {"deg": 2}), method(name, ("y", 1, True), {}), method(name, ("y", 2, None, 1e-9), {})])
        return lambda z: call(z).polyfit_coefficients if isinstance(z, xr.DataArray) else call(z)
    if name == "differentiate":
        return method(name, *pick(rng, [(("x",), {}), (("y", 2), {}), (("y",), {"edge_order": 2}), (("x", 1, "s"), {}), ((), {"coord": "x"})]))
    several = [((["x", "y"],), {})] if name == "integrate" else []
    return method(name, *pick(rng, [(("x",), {}), ((), {"coord": "y"}), (("x", "s"), {}), (("x",), {"datetime_unit": "D"}), *several]))


GROUPS = np.array([7, 3, 7, 3, 3])


def grouping(rng: np.random.Generator) -> Call:
    """Of a DimArray by numbers of one, which xarray wants to have a name."""

    def groups(z: Any) -> Any:
        by = xr.DataArray(GROUPS, dims="y", name="group") if isinstance(z, xr.DataArray) else ng.DimArray(GROUPS, "y")
        return z.groupby(by) if bins is None else z.groupby_bins(by, bins)

    bins = pick(rng, [None, None, [0, 5, 9]])
    name = pick(rng, ["sum", "mean", "max", "min", "std", "var", "median", "count", "first", "quantile", "reduce", "map", "cumsum"])
    if name == "map":
        return method(name, (lambda v: v - v.mean("y"),), {}, groups) if bins is None else method("mean", (), {}, groups)
    args = {"quantile": (0.3,), "reduce": (peak,)}.get(name, ())
    over = {} if name in {"first", "cumsum"} else {"dim": pick(rng, ["y", ["x", "y"]])}
    return method(name, args, over | options(rng, keep_attrs=(True, False)), groups)


def filling(rng: np.random.Generator) -> Call:
    args, kwargs = dims(rng, several=False)
    return method("interpolate_na", args, kwargs | options(rng, use_coordinate=(True, False), limit=(1, 2), method=("linear", "nearest"), keep_attrs=KEEP))


def moving(rng: np.random.Generator) -> Call:
    return pick(rng, [
        method("transpose", ("y", ...), {"transpose_coords": False}), method("stack", ({"z": ("y", "x")}, False), {}),
        method("expand_dims", ("n", 1, False), {}), method("pipe", ((lambda by, v: v * by, "v"), 2.0), {}), method("pipe", (), {"func": abs}),
        method("rename", (), {"new_name_or_name_dict": {"x": "z"}}), method("diff", ("x", 1), {"label": "lower"}),
    ])  # fmt: skip


DRAWN = [
    reducing, scanning, finding, labelling, ordering, weighing, windowing, running, coarsening, any_function, cell_by_cell, placing, grouping,
    filling, moving,
]  # fmt: skip


def same(got: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert list(got) == list(expected)
        for d in expected:
            same(got[d], expected[d])
        return
    assert got.dims == expected.dims
    assert_close(got.data, expected.values, 100 * ROUNDING)


@pytest.mark.filterwarnings("ignore")  # both warn of the same
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("draw", DRAWN, ids=lambda f: f.__name__)
def test_calls_give_what_they_give_in_xarray(draw: Callable[[np.random.Generator], Call], seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, call = data(rng, gaps=draw is not any_function and seed % 2 == 1, ties=seed % 3 == 2), draw(rng)
    slices = [call(of_xarray(v)) for v in values]
    for v, expected in zip(values, slices, strict=True):
        same(call(ng.DimArray(v, NAMES)), expected)
    together = call(ng.DimArray(values, ("b", *NAMES), vectorized="b"))
    for k, expected in enumerate(slices):
        alone = {d: v.devectorize("b").isel(b=k) for d, v in together.items()} if isinstance(together, dict) else together.devectorize("b").isel(b=k)
        same(alone, expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("draw", [f for f in DRAWN if f not in (finding, labelling)], ids=lambda f: f.__name__)
def test_gradients_of_calls_are_those_of_finite_differences(draw: Callable[[np.random.Generator], Call], seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    values, call = data(rng, gaps=draw is not any_function and seed % 2 == 1, ties=False), draw(rng)
    x = ng.DimArray(values, ("b", *NAMES), vectorized="b")
    out = call(x)
    if out.dtype != float:
        return
    weights = ng.DimArray(rng.normal(size=(3, *out.shape)), ("b", *out.dims), vectorized="b")

    def f(x: Any) -> Any:
        y = call(x)
        return ng.where(y.notnull(), y * weights, 0.0).sum().devectorize("b").sum()

    way = rng.normal(size=values.shape)
    steps = [f(ng.DimArray(values + h * way, ("b", *NAMES), vectorized="b")).item() for h in (-2e-5, -1e-5, 1e-5, 2e-5)]
    slope = (steps[0] - 8 * steps[1] + 8 * steps[2] - steps[3]) / 12e-5
    gradient = ng.grad(f)(x).data
    assert (gradient[np.isnan(values)] == 0).all()
    assert_close((gradient * way).sum(), slope, 10 * FIRST, least=1.0)


# ------------------------------------------------------------------------------------------------ what is not drawn


def test_ranks_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    values = data(rng, gaps=True, ties=True)
    expected = scipy.stats.rankdata(values, axis=2, nan_policy="omit")
    x = ng.DimArray(values, ("b", *NAMES))
    assert_close(x.rank("y").data, expected, ROUNDING)
    assert_close(x.rank("y", pct=True, keep_attrs=False).data, expected / np.isfinite(values).sum(2, keepdims=True), ROUNDING)
    assert_close(x.vectorize("b").rank(dim="y").data, expected, ROUNDING)
    assert x.rank("b").dims == x.dims
    assert ng.rank(xr.DataArray([3.0, 1.0], dims="t", coords={"t": [5, 6]}), "t").t.values.tolist() == [5, 6]
    assert ng.grad(lambda x: (x.rank("y") * x).fillna(0.0).sum())(x).dims == x.dims
    with pytest.raises(ng.AxisError, match="no dim 'z'"):
        x.rank("z")


@pytest.mark.parametrize("window", [{"span": 3.0}, {"com": 2.0}, {"alpha": 0.4}, {"halflife": 1.5}])
def test_exponential_windows_are_those_of_pandas(window: dict[str, float]) -> None:
    values = data(np.random.default_rng(0), gaps=True, ties=False)
    ((kind, size),) = window.items()
    rolled = ng.DimArray(values, ("b", *NAMES), vectorized="b").rolling_exp(y=size, window_type=kind).mean()
    for k, v in enumerate(values):
        expected = pd.DataFrame(v.T).ewm(**window).mean().to_numpy().T
        assert_close(rolled.devectorize().isel(b=k).data, expected, ROUNDING)


@pytest.mark.parametrize("name", ["equals", "identical", "broadcast_equals"])
def test_arrays_are_equal_as_in_xarray(name: str) -> None:
    a = np.array([[1.0, np.nan], [1.0, np.nan]])
    arrays = [(("x", "y"), a), (("x", "y"), a + 1), (("y", "x"), a), (("y", "x"), a.T), (("y",), a[0]), (("z", "y"), a), (("y",), a[0, :1]), ((), 1.0)]
    for one in arrays:
        for other in arrays:
            x, y = (xr.DataArray(v, dims=d) for d, v in (one, other))
            expected = getattr(x, name)(y)
            assert getattr(ng.DimArray(one[1], one[0]), name)(ng.DimArray(other[1], other[0])) == expected, (one, other)
    assert not getattr(ng.DimArray(a, ("x", "y")), name)(a)
    with pytest.raises(ng.TraceError, match="one answer per slice"):
        getattr(ng.ones({"x": 2, "b": 2}, vectorized="b"), name)(ng.ones({"x": 2}))


def test_functions_of_groups_are_given_dimarrays() -> None:
    def off(v: Any) -> Any:
        assert isinstance(v, ng.DimArray)
        return v - ng.mean(v, "y")

    x = ng.DimArray(np.arange(12.0).reshape(2, 3, 2), ("b", "y", "x"))
    by = np.array([4, 2, 4])
    expected = xr.DataArray(x.data, dims=x.dims).groupby(xr.DataArray(by, dims="y", name="group")).map(lambda v: v - v.mean("y"))
    same(x.groupby(ng.DimArray(by, "y")).map(off), expected)
    assert ng.grad(lambda x: (x.groupby(ng.DimArray(by, "y")).map(off) ** 2).sum())(x).dims == x.dims


def test_groups_of_dimarrays() -> None:
    x, by = ng.DimArray(np.arange(12.0).reshape(2, 3, 2), ("b", "y", "x")), ng.DimArray([4, 2, 4], "y")
    assert x.groupby(by).sum().dims == xr.DataArray(x.data, dims=x.dims).groupby(xr.DataArray(by.data, dims="y", name="group")).sum().dims
    assert len(x.groupby("y").groups) == 3
    assert "groupby" in dir(x)
    assert "mean" in dir(x.groupby(by))
    assert repr(x.groupby(by)).startswith("<Borrowed ")
    with pytest.raises((TypeError, ValueError), match="differs per slice"):
        x.vectorize("b").groupby(x.vectorize("b").isel(x=0)).sum()
    with pytest.raises(AttributeError, match="no attribute 'means'"):
        x.groupby(by).means()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cov", [False, True, "unscaled"])
@pytest.mark.parametrize("full", [False, True])
def test_figures_of_polynomials(full: bool, cov: bool | str, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 4, 5))
    w = rng.uniform(0.5, 1.0, size=5) if weighted else None
    weights = None if w is None else ng.DimArray(w, "y")
    if not (full or cov):
        assert ng.DimArray(values[0], NAMES).polyfit("y", 2, None, None, weights).dims == ("degree", "x")
        return
    together = ng.DimArray(values, ("b", *NAMES), vectorized="b").polyfit("y", 2, None, None, weights, full, cov)
    for k, v in enumerate(values):
        expected = of_xarray(v).polyfit("y", 2, None, None, w, full, cov)
        got = ng.DimArray(v, NAMES).polyfit(dim="y", deg=2, w=weights, full=full, cov=cov)
        for name, value in got._asdict().items():
            key = name if name.startswith("polyfit") else f"y_{name}"
            assert (value is not None) == (key in expected)
            if value is not None:
                same(value, expected[key])
                several = getattr(together, name)
                same(several.devectorize().isel(b=k) if several.vectorized else several, expected[key])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dim", ["x", "y"])
def test_residuals_of_polynomials_with_gaps(dim: str) -> None:
    """A line of which no cell is left over, or that cannot tell the powers apart, has none."""
    values = data(np.random.default_rng(3), gaps=True, ties=False)[0]
    values[:2, 0], values[0, :2] = np.nan, np.nan
    for w in (None, np.array([1.0, 0.0, 2.0, 1.0, 0.5])[: SIZES[dim]]):
        expected = of_xarray(values).polyfit(dim, 2, w=w, full=True)
        got = ng.DimArray(values, NAMES).polyfit(dim, 2, w=None if w is None else ng.DimArray(w, dim), full=True)
        same(got.polyfit_residuals, expected.polyfit_residuals)
        same(got.matrix_rank, expected[f"{dim}_matrix_rank"])


@pytest.mark.parametrize("kwargs", [{"constant_values": {"x": 2.0}}, {"mode": "linear_ramp", "end_values": {"x": (1.0, 2.0)}}, {"mode": "mean", "stat_length": {"y": 2}}], ids=str)
def test_padding_with_options_of_some_dims(kwargs: dict[str, Any]) -> None:
    values, widths = data(np.random.default_rng(5), gaps=False, ties=False)[0], {"x": (1, 2), "y": 1}
    same(ng.DimArray(values, NAMES).pad(widths, **kwargs), xr.DataArray(values, dims=NAMES).pad(widths, **kwargs))


def test_cubics_go_along_the_last_dim_first() -> None:
    values, at = data(np.random.default_rng(4), gaps=False, ties=False)[0], {"x": [0.3, 1.7], "y": [0.6, 2.2, 3.3]}
    for wanted in (at, dict(reversed(at.items()))):
        same(ng.DimArray(values, NAMES).interp(wanted, method="pchip"), of_xarray(values).interp(wanted, method="pchip"))


def test_weighted_quantiles_are_differentiated_in_all_operands() -> None:
    rng = np.random.default_rng(2)
    x, w = ng.DimArray(rng.normal(size=(3, 5)), NAMES), ng.DimArray(rng.uniform(1, 2, size=5), "y")
    q = ng.DimArray([0.15, 0.62], "q")
    assert x.weighted(w).quantile(q, dim="y").dims == ("q", "x")
    ng.check_gradients(lambda x, w, q: (x.weighted(w).quantile(q, dim="y") ** 2).sum(), x, w, q, order=1)
    np.testing.assert_allclose(x.weighted(w).quantile(0.3).item(), x.weighted(3 * w).quantile(0.3, dim=("y", "x")).item(), rtol=1e-12)


def test_figures_of_polynomials_are_differentiated() -> None:
    rng = np.random.default_rng(1)
    x, t, w = (ng.DimArray(rng.uniform(1, 2, size=6), "y") for _ in range(3))

    def figures(x: Any, t: Any, w: Any) -> Any:
        found = ng.polyfit(x, t, w, dim="y", deg=2, full=True, cov=True)
        return found.polyfit_residuals, found.polyfit_covariance, found.singular_values.isel(degree=-1)

    for k in range(3):
        ng.check_gradients(lambda *args, k=k: ng.log(abs(figures(*args)[k])).sum(), x, t, w, order=1)
    with pytest.raises(ValueError, match="more than 3 cells along 'y', got 3"):
        x.isel(y=slice(3)).polyfit("y", 2, cov=True)
    assert np.isnan(x.isel(y=slice(3)).polyfit("y", 2, full=True).polyfit_residuals.item())
    short = x.isel(y=slice(2)).polyfit("y", 2, full=True)
    assert short.matrix_rank.item() == 2
    assert np.isnan(short.singular_values.data).tolist() == [True, False, False]
    with pytest.raises(TypeError, match=r"x.polyfit\('t', 1, full=True, cov=True\)"):
        ng.polyfit(xr.DataArray([1.0, 2.0, 4.0], dims="t"), "t", 1, full=True)


@pytest.mark.parametrize("unit", [None, "s", "D"])
@pytest.mark.parametrize("name", ["differentiate", "integrate", "cumulative_integrate"])
def test_dates_count_in_a_unit_of_time(name: str, unit: str | None) -> None:
    t = np.array(["2000-01-01", "2000-01-02", "2000-01-04", "2000-01-07T12"], "M8[ns]")
    values = np.array([1.0, 3.0, 2.0, 7.0])
    expected = getattr(xr.DataArray(values, dims="t", coords={"t": t}), name)("t", datetime_unit=unit)
    x, at = ng.DimArray(values, "t"), ng.DimArray(t, "t")
    for got in (getattr(x, name)(at, dim="t", datetime_unit=unit), getattr(ng, name)(x, at, "t", datetime_unit=unit)):
        assert_close(got.data, expected.values, ROUNDING)


def test_positions_come_first_or_second() -> None:
    x, at = ng.DimArray([[1.0, 3.0, 2.0], [0.0, 1.0, 5.0]], ("x", "t")), ng.DimArray([1.0, 2.0, 4.0], "t")
    labelled = xr.DataArray(x.data, dims=("x", "t"), coords={"t": at.data})
    for name in ("differentiate", "integrate", "cumulative_integrate"):
        expected = getattr(labelled, name)("t")
        for got in (getattr(x, name)(at, "t"), getattr(x, name)("t", at), getattr(x, name)(at, dim="t"), getattr(x, name)(coord=at, dim="t")):
            same(got, expected)
    same(x.interp(t=[3.0], coords={"t": at}), labelled.interp(t=[3.0]))


def test_a_reducing_function_may_take_names() -> None:
    x = ng.DimArray(np.arange(24.0).reshape(2, 3, 4), ("b", "x", "y"))
    for z in (x, x.vectorize("b")):
        np.testing.assert_array_equal(z.reduce(ng.sum, ["x", "y"]).devectorize().data, x.data.sum((1, 2)))
        np.testing.assert_array_equal(z.coarsen(y=2).reduce(ng.max).devectorize().data, x.data[..., 1::2])
        np.testing.assert_array_equal(z.rolling(y=2).reduce(ng.min).devectorize().data[..., 1:], x.data[..., :-1])
    np.testing.assert_array_equal(x.reduce(np.cumsum, "y").data, x.data.cumsum(2))


def test_equal_places_are_the_first_in_the_order_of_the_list() -> None:
    tied = ng.DimArray([[0.0, 1.0, 5.0], [5.0, 0.0, 0.0]], ("x", "y"))
    assert {d: at.item() for d, at in tied.argmax(["x", "y"]).items()} == {"x": 0, "y": 2}
    assert {d: at.item() for d, at in tied.argmax(["y", "x"]).items()} == {"y": 0, "x": 1}
    assert tied.argmax(("y", "x")).item() == 1
    assert tied.argmax(["y"], keepdims=True)["y"].sizes == {"x": 2, "y": 1}
    found = ng.argmax(xr.DataArray(tied.data, dims=("x", "y"), coords={"x": [10, 20]}), ["y"])
    assert found["y"].dims == ("x",)
    assert {k: int(at) for k, at in ng.argmax(ng.positional(tied.data), ...).items()} == {-2: 0, -1: 2}


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda x: x.sum("a", axis=0), TypeError, "sum: give dim= or axis=, not both"),
        (lambda x: x.mean(axis=2), ng.AxisError, r"no axis 2 among the dims \('a', 'b'\)"),
        (lambda x: x.max(axis="a"), TypeError, "axis='a' is a place among the dims"),
        (lambda x: x.squeeze(axis=5), ng.AxisError, "squeeze: no axis 5"),
        (lambda x: x.vectorize("a").sum(axis=1), ng.AxisError, r"no axis 1 among the dims \('b',\)"),
        (lambda x: x.rolling(a=2).std(1), TypeError, "keep_attrs=1 must be True, False or None; give other arguments by their names"),
        (lambda x: x.sum(keep_attrs=3), TypeError, "keep_attrs=3"),
        (lambda x: x.sum(keep_attr=True), TypeError, "keep_attr"),
        (lambda x: x.unstack(a={"p": 2}, sparse=True), TypeError, "dense_to_coo"),
        (lambda x: x.pipe((abs, "v"), v=1), ValueError, "v is the array itself"),
        (lambda x: x.reduce(np.sum, "a", axis=0), TypeError, "reduce: give dim= or axis="),
        (lambda x: x.reduce(np.sum, "z"), ng.AxisError, "no dim 'z'"),
        (lambda x: x.reduce(lambda v, axis: v[:1, :1].sum(), "a"), ng.AxisError, "gave the shape"),
        (lambda x: x.weighted(x).quantile(1.5), ValueError, "between 0 and 1"),
        (lambda x: x.vectorize("a").weighted(x.vectorize("a")).quantile(0.5, dim="a"), ng.AxisError, "vectorized"),
    ],
)
def test_arguments_that_make_no_sense_are_named(call: Callable[[Any], Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        call(ng.ones({"a": 2, "b": 3}))


def test_the_name_that_method_had_before() -> None:
    x = ng.DimArray([1.0, 2.0, 4.0, 9.0], "a")
    with pytest.warns(FutureWarning, match="interpolation= is called method= now"):
        assert x.quantile(0.4, interpolation="lower").item() == 2.0
    with pytest.warns(FutureWarning), pytest.raises(TypeError, match="not both"):
        x.quantile(0.4, method="lower", interpolation="lower")


@pytest.mark.parametrize("name", ["groupby", "groupby_bins", "interpolate_na", "rolling_exp", "reduce", "mean"])
def test_examples_run_of_methods_that_are_made(name: str) -> None:
    (examples,) = doctest.DocTestFinder().find(getattr(ng.DimArray, name), name, globs={})
    found = doctest.DocTestRunner(verbose=False).run(examples)
    assert found.attempted >= 2
    assert not found.failed
