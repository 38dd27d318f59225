"""Propagation of errors: against ``J cov J.T`` written out, without the Jacobian ever being there."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.support.memory import peak
from tests.xarray.programs import LON, field

RNG = np.random.default_rng(0)


def spd(n: int) -> np.ndarray:
    root = RNG.normal(size=(n, n))
    return root @ root.T


def vector() -> xr.DataArray:
    return xr.DataArray([0.3, -1.2, 0.7], dims="x", coords={"x": [1, 2, 3]}, name="t", attrs={"units": "K"})


def g(x):
    return xr.concat([x.sum(), (x**2).sum(), x[0] * x[2], x[1] ** 3], "y").assign_coords(y=list("abcd"))


def jacobian_of_g(x):
    a, b, c = x.values
    return np.array([[1, 1, 1], [2 * a, 2 * b, 2 * c], [c, 0, a], [0, 3 * b**2, 0]])


def test_diagonal_dense_and_plain_numbers():
    x = vector()
    jac, dense = jacobian_of_g(x), spd(3)
    cov = xr.DataArray(dense, dims=("x", "x_wrt"), coords={"x": [1, 2, 3], "x_wrt": [1, 2, 3]})
    variances = xr.DataArray([1.0, 2.0, 0.5], dims="x")
    for given, matrix in (
        (0.5, 0.5 * np.eye(3)),
        (variances, np.diag(variances)),
        (variances.values, np.diag(variances)),
        (cov, dense),
        (cov.transpose(), dense.T),
        (cov.drop_vars(["x", "x_wrt"]), dense),
    ):
        out = x.grad.propagate(g, cov=given)
        assert out.dims == ("y", "y_wrt")
        np.testing.assert_allclose(out, jac @ matrix @ jac.T, rtol=1e-12)
        np.testing.assert_array_equal(out.y_wrt, list("abcd"))
        for chunk in (1, 3):
            np.testing.assert_allclose(x.grad.propagate(g, cov=given, chunk=chunk), out, rtol=1e-12)
    one = x.grad.propagate(lambda x: x.sum(), cov=cov)
    assert one.item() == pytest.approx(dense.sum())
    assert one.attrs["units"] in ("K2", "K**2")
    assert one.name == "t"


def test_per_cell():
    x = field()[:, 0]
    weights = np.array([1, 2, 3, 4]) / 10
    mean = lambda x: x.weighted(xr.DataArray([1.0, 2, 3, 4], dims="lon", coords={"lon": LON})).mean("lon")
    variance = x.grad.propagate(mean, cov=0.5, over="time")
    np.testing.assert_allclose(variance, np.full(24, 0.5 * (weights**2).sum()))
    assert variance.time.identical(x.time)
    per_cell = xr.DataArray([1.0, 2, 3, 4], dims="lon", coords={"lon": LON})
    np.testing.assert_allclose(x.grad.propagate(mean, cov=per_cell, over="time"), (weights**2 * per_cell.values).sum())
    each = xr.DataArray(np.stack([spd(4) for _ in range(24)]), dims=("time", "lon", "lon_wrt"))
    expected = np.einsum("i,tij,j->t", weights, each, weights)
    np.testing.assert_allclose(x.grad.propagate(mean, cov=each, over="time"), expected)
    np.testing.assert_allclose(np.diag(x.grad.propagate(mean, cov=each)), expected)
    several = x.grad.propagate(lambda x: x**2, cov=each, over="time")
    assert several.dims == ("time", "lon", "lon_wrt")
    np.testing.assert_allclose(several, 4 * x.values[:, :, None] * each * x.values[:, None])


def test_correlated_along_two_dims():
    x = field()[:2, 0, :2].drop_vars("time")
    cov = xr.DataArray(spd(4).reshape(2, 2, 2, 2), dims=("time", "lon", "time_wrt", "lon_wrt"))
    jac = x.grad.jacobian(lambda x: (x**2).sum("lon") * x.sum())
    flat = jac.values.reshape(2, 4)
    out = x.grad.propagate(lambda x: (x**2).sum("lon") * x.sum(), cov=cov)
    np.testing.assert_allclose(out, flat @ cov.values.reshape(4, 4) @ flat.T)


def test_datasets_and_trees():
    ds = xr.Dataset({"a": vector(), "b": 2.0})
    f = lambda d: g(d["a"]) * d["b"]
    jac, slope = 2.0 * jacobian_of_g(ds.a), g(ds.a).values
    dense = xr.DataArray(spd(3), dims=("x", "x_wrt"))
    expected = jac @ dense.values @ jac.T + 0.3 * np.outer(slope, slope)
    np.testing.assert_allclose(ds.grad.propagate(f, cov=xr.Dataset({"a": dense, "b": 0.3})), expected)
    np.testing.assert_allclose(ds.grad.propagate(f, cov=0.3), 0.3 * (jac @ jac.T + np.outer(slope, slope)))
    tree = xr.DataTree.from_dict({"/": ds[["a"]], "/sub": ds[["b"]]})
    cov = xr.DataTree.from_dict({"/": xr.Dataset({"a": dense}), "/sub": xr.Dataset({"b": 0.3})})
    np.testing.assert_allclose(tree.grad.propagate(lambda t: g(t["a"]) * t["sub/b"], cov=cov), expected)
    out = ds.grad.propagate(lambda d: xr.Dataset({"u": d.a.sum() * d.b, "v": d.b**2}), cov=0.3)
    rows = np.array([[2.0, 2.0, 2.0, ds.a.sum().item()], [0, 0, 0, 4.0]])
    np.testing.assert_allclose(out.transpose("param", "param_wrt"), 0.3 * rows @ rows.T)


def test_the_covariance_of_a_fit():
    params = xr.Dataset({"a": 2.0, "b": 3.0, "flag": 1})
    names = {"param": ["b", "a"], "param_wrt": ["b", "a"]}
    cov = xr.DataArray([[2.0, 0.5], [0.5, 1.0]], dims=("param", "param_wrt"), coords=names)
    t = xr.DataArray([0.0, 1.0, 2.0], dims="t")
    curve = lambda p, t: p.a * t + p.b * t**2
    rows = np.stack([t.values, t.values**2], axis=1)
    expected = rows @ cov.sel(param=["a", "b"], param_wrt=["a", "b"]).values @ rows.T
    np.testing.assert_allclose(params.grad.propagate(curve, t, cov=cov), expected)
    np.testing.assert_allclose(params.grad.propagate(curve, cov=cov, t=t), expected)
    variances = xr.DataArray([2.0, 1.0], dims="param", coords={"param": ["b", "a"]})
    np.testing.assert_allclose(params.grad.propagate(curve, t, cov=variances), rows @ np.diag([1.0, 2.0]) @ rows.T)
    many = xr.Dataset({"a": ("cell", [2.0, 1.0]), "b": ("cell", [3.0, 5.0])}, coords={"cell": [10, 20]})
    each = xr.concat([cov, 2 * cov], "cell").assign_coords(cell=[10, 20])
    out = many.grad.propagate(lambda p: p.a * p.b, cov=each, over="cell")
    slope = np.array([[2.0, 3.0], [1.0, 5.0]])  # with respect to b, then a
    np.testing.assert_allclose(out, np.einsum("ci,cij,cj->c", slope, each.values, slope))


def test_memory_without_the_jacobian():
    x = xr.DataArray(np.linspace(0.0, 1.0, 40_000), dims="x")
    f = lambda x: np.sin(x).coarsen(x=400).mean()
    for chunk, share in ((5, 0.5), (64, 3.0)):  # of the Jacobian by itself
        most = peak(lambda chunk=chunk: x.grad.propagate(f, cov=0.1, chunk=chunk))
        assert most < share * 100 * x.nbytes
    out = x.grad.propagate(f, cov=0.1, chunk=64)
    np.testing.assert_allclose(out, np.diag((0.1 * (np.cos(x) / 400) ** 2).coarsen(x=400).sum()), atol=1e-18)


@pytest.mark.parametrize(
    ("cov", "message"),
    [
        (xr.DataArray([1.0], dims="level"), "level"),
        (xr.DataArray([1.0, 2.0], dims="x"), "2 cells along 'x'"),
        (xr.DataArray([1.0, 2.0, 3.0], dims="x", coords={"x": [3, 2, 1]}), "labels"),
        (xr.DataArray(np.eye(3), dims=("x", "x_wrt"), coords={"x_wrt": [3, 2, 1]}), "labels"),
        (np.eye(3), "shape"),
    ],
)
def test_refusals(cov, message):
    with pytest.raises(ng.AxisError, match=message):
        vector().grad.propagate(g, cov=cov)
    with pytest.raises(ng.AxisError, match="no variable 'b'"):
        xr.Dataset({"a": vector(), "b": 1.0}).grad.propagate(lambda d: d.b * d.a.sum(), cov=xr.Dataset({"a": 1.0}))
