"""Oracles for programs on xarray objects: the plain program's value, finite differences of it, and loops of slices."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng

STEP = 2e-5
Program = Callable[[Any], Any]


def arrays(out: Any) -> list[xr.DataArray]:
    """The arrays of numbers with a fraction that a program gives."""
    if isinstance(out, (tuple, list)):
        return [a for o in out for a in arrays(o)]
    if isinstance(out, xr.DataTree):
        return [a for node in out.subtree for a in arrays(node.to_dataset(inherit=False))]
    if isinstance(out, xr.Dataset):
        return [a for v in out.data_vars.values() for a in arrays(v)]
    a = xr.DataArray(out) if isinstance(out, xr.Variable) else out
    return [a] if a.dtype.kind in "fc" else []


def cotangents(program: Program, x: Any) -> list[xr.DataArray]:
    """Random weights like the results, without coordinates, so that they align by dims alone."""
    rng = np.random.default_rng(7)
    return [xr.DataArray(rng.normal(size=a.shape), dims=a.dims) for a in arrays(program(x))]


def loss(program: Program, x: Any, weights: list[xr.DataArray]) -> xr.DataArray:
    """A random linear combination of the present cells of the results."""
    total = 0.0
    for a, w in zip(arrays(program(x)), weights, strict=True):
        bare = xr.DataArray(a.variable)
        total = total + ((bare.real if bare.dtype.kind == "c" else bare) * w).sum()
    return total


def floats(x: Any) -> dict[Any, np.ndarray]:
    """The values that are differentiated, by path and name."""
    if isinstance(x, xr.DataTree):
        nodes = {node.path: node.to_dataset(inherit=False) for node in x.subtree}
        return {(path, n): v for path, ds in nodes.items() for n, v in floats(ds).items()}
    if isinstance(x, xr.Dataset):
        return {n: v.values for n, v in x.data_vars.items() if v.dtype.kind == "f"}
    return {None: x.values}


def holding(x: Any, values: dict[Any, np.ndarray]) -> Any:
    """The object with other values."""
    if isinstance(x, xr.DataTree):
        sets = {node.path: node.to_dataset(inherit=False) for node in x.subtree}
        return xr.DataTree.from_dict(
            {p: holding(ds, {n: v for (q, n), v in values.items() if q == p}) for p, ds in sets.items()}
        )
    if isinstance(x, xr.Dataset):
        return x.assign({n: x[n].copy(data=v) for n, v in values.items()})
    return x.copy(data=values[None])


def moved(x: Any, along: dict[Any, np.ndarray], by: float) -> Any:
    """The object a step further."""
    return holding(x, {k: v + by * along[k] for k, v in floats(x).items()})


def slope(program: Program, x: Any, weights: list[xr.DataArray], along: dict[Any, np.ndarray]) -> float:
    """Directional derivative by central differences."""
    ends = [float(loss(program, moved(x, along, s * STEP), weights)) for s in (1, -1)]
    return (ends[0] - ends[1]) / (2 * STEP)


def check_gradient(
    program: Program, x: Any, *, directions: int = 1, tolerance: float = 2e-6, value_tolerance: float = 1e-12
) -> Any:
    """The value is the plain one, the gradient its difference, exactly 0 for missing cells; ``x`` stays as it is."""
    weights = cotangents(program, x)
    before = x.copy(deep=True)
    expected = float(loss(program, x, weights))
    value, g = ng.value_and_grad(lambda x: loss(program, x, weights))(x)
    assert x.identical(before)
    assert float(value) == pytest.approx(expected, rel=value_tolerance, abs=value_tolerance)
    gradient = floats(g)
    assert gradient.keys() == floats(x).keys()
    rng = np.random.default_rng(3)
    scale = sum(np.abs(v).sum() for v in gradient.values())
    assert np.isfinite(scale)
    for k, v in floats(x).items():
        assert gradient[k].shape == v.shape
        assert gradient[k].dtype == v.dtype
        np.testing.assert_array_equal(gradient[k][np.isnan(v)], 0.0)
    for _ in range(directions):
        along = {k: np.where(np.isnan(v), 0.0, rng.normal(size=v.shape)) for k, v in floats(x).items()}
        found = sum(np.vdot(gradient[k], v) for k, v in along.items())
        assert found == pytest.approx(slope(program, x, weights, along), rel=tolerance, abs=tolerance / 2 * scale)
    return g


def check_over(program: Program, x: Any, dim: str, *, slices: int | None = None) -> None:
    """Value and gradient over a dim are those of the slices: of all, or of so many."""
    weights = cotangents(program, x)

    def run(x: Any, weights: list[xr.DataArray]) -> Any:
        return loss(program, x, weights)

    value, g = ng.value_and_grad(run, over=dim)(x, weights)
    size = x.sizes[dim] if dim in x.sizes else next(n.sizes[dim] for n in x.subtree if dim in n.sizes)
    assert value.dims == (dim,)
    assert value.sizes[dim] == size
    found, scale = floats(g), float(np.abs(value).max())
    for i in range(size)[-(slices or size) :]:
        cut = x.isel({dim: i}, missing_dims="ignore")
        one, gradient = ng.value_and_grad(run)(cut, [w.isel({dim: i}, missing_dims="ignore") for w in weights])
        assert float(value[i]) == pytest.approx(float(one), rel=1e-11, abs=1e-11 * scale)
        for k, v in floats(gradient).items():
            axis = _axis(x, k, dim)
            if axis is not None:
                tiny = 1e-11 * max(np.abs(v).max(initial=0.0), 1e-3)
                np.testing.assert_allclose(np.take(found[k], i, axis), v, rtol=1e-11, atol=tiny)


def _axis(x: Any, key: Any, dim: str) -> int | None:
    held = x[key[0]].dataset[key[1]] if isinstance(x, xr.DataTree) else x if key is None else x[key]
    dims = held.dims
    return dims.index(dim) if dim in dims else None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What NumPy and SciPy say of missing values and of fits that are not well posed is not our subject."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # of two-dimensional vectors in np.cross
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        yield


def check_value(program: Program, x: Any, **tolerance: float) -> None:
    """What a transform returns is what the plain program returns: kind, names, dims, coordinates, attributes, dtypes."""
    found, expected = ng.pullback(program, x)[0], program(x)
    pairs = [(found, expected)] if not isinstance(expected, (tuple, list)) else list(zip(found, expected, strict=True))
    for f, e in pairs:
        assert type(f) is type(e)
        if isinstance(e, xr.DataTree):
            nodes = [(f[n.path].to_dataset(), n.to_dataset()) for n in e.subtree]
        else:
            nodes = [(f, e)]
        for a, b in nodes:
            _same(a, b, **tolerance)


def _same(a: Any, b: Any, **tolerance: float) -> None:
    levels = [] if isinstance(b, xr.Variable) else [n for n, v in b.coords.items() if v.dtype.kind == "O"]
    bare = (v.drop_vars(levels) if levels else v for v in (a, b))
    xr.testing.assert_allclose(*bare, **{"rtol": 1e-9, "atol": 1e-12, **tolerance})
    assert all(repr(a.coords[n]) == repr(b.coords[n]) for n in levels)  # labels may be missing, which nothing equals
    assert a.attrs == b.attrs
    if isinstance(b, xr.Variable):
        return
    assert list(a.coords) == list(b.coords)
    assert list(a.xindexes) == list(b.xindexes)
    parts = [(a[n], v) for n, v in b.data_vars.items()] if isinstance(b, xr.Dataset) else [(a, b)]
    for mine, theirs in (*parts, *((a[n], b[n]) for n in b.coords)):
        assert mine.dims == theirs.dims
        assert mine.name == theirs.name
        assert mine.dtype == theirs.dtype
        assert mine.attrs == theirs.attrs
