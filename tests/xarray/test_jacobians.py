"""Named Jacobians and Hessians: dims, coordinates and values against finite differences, passes, memory."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from namedgrad.transforms.tape import Tape
from tests.support.memory import peak
from tests.xarray.programs import field

STEP = 1e-6


def mixed() -> xr.Dataset:
    data = {"a": ("x", [1.0, 2.0]), "b": 3.0, "n": ("x", [1, 2]), "m": ("x", [True, False]), "s": ("x", ["u", "v"])}
    return xr.Dataset(data, coords={"x": [10, 20]})


def columns(f, x: xr.DataArray) -> np.ndarray:
    """Finite differences, one input cell after the other: axes of the output, then one of cells."""
    out = []
    for i in range(x.size):
        unit = np.zeros(x.size)
        unit[i] = STEP
        ends = [f(x.copy(data=x.values + s * unit.reshape(x.shape))).values for s in (1, -1)]
        out.append((ends[0] - ends[1]) / (2 * STEP))
    return np.stack(out, axis=-1)


def compare(jac, f, x):
    out = f(x)
    assert jac.dims == (*out.dims, *(f"{d}_wrt" for d in x.dims))
    np.testing.assert_allclose(jac.values.reshape(*out.shape, -1), columns(f, x), rtol=1e-6, atol=1e-7)
    for d in x.dims:
        if d in x.indexes:
            assert np.array_equal(jac[f"{d}_wrt"].values, x[d].values)
    for n, c in out.coords.items():
        assert jac.coords[n].variable.equals(c.variable)


STACKED = {"time and stations": field()[:2].stack(z=("time", "lat")).isel(lon=0)}
ARRAYS = {
    "dates": field()[:3, 0],
    "two labels alike": xr.DataArray([1.0, 2.0, 0.5], dims="x", coords={"x": [1, 1, 2]}, name="t"),
    "no coordinates": xr.DataArray([[1.0, 2.0]], dims=("x", "y")),
    "no name": xr.DataArray([1.0, 2.0], dims="x", coords={"x": [1.0, 2.0], "letter": ("x", ["a", "b"])}),
    "no dims": xr.DataArray(2.0, coords={"height": 3.0}, name="t"),
    "one cell": xr.DataArray([2.0], dims="x"),
    "single precision": xr.DataArray(np.float64([1.0, 2.0]), dims="x"),
    **STACKED,
}
PROGRAMS = {
    "square": lambda x: x**2,
    "cumulated": lambda x: (x * 2).cumsum() if x.ndim else x * 2,
    "total": lambda x: (x**3).sum(),
    "new dim": lambda x: xr.concat([x, x**2, 1 / x], "k").assign_coords(k=["a", "b", "c"]),
    "coordinates of data": lambda x: (x**2).assign_coords(double=2 * x),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_values_dims_and_coordinates(program, array, mode):
    f, x = PROGRAMS[program], ARRAYS[array]
    jac = x.grad.jacobian(f, mode=mode)
    compare(jac, f, x)
    for chunk in (1, 2, 100):
        assert x.grad.jacobian(f, mode=mode, chunk=chunk).identical(jac)


def test_a_multiindex_on_both_sides():
    x = STACKED["time and stations"]
    jac = x.grad.jacobian(lambda x: x**2)
    assert set(jac.xindexes) == {"z", "time", "lat", "z_wrt", "time_wrt", "lat_wrt"}
    assert jac.sel(z_wrt=x.indexes["z"][3], z=x.indexes["z"][3]).item() == pytest.approx(2 * x[3].item())
    assert jac.unstack("z").sizes["time"] == 2
    over = x.grad.jacobian(lambda x: x**2, over="z")
    assert over.dims == ("z",)
    assert over.coords.identical(x.coords)


def test_over_comes_first_whatever_the_order_of_the_input():
    x = field()[:3]
    f = lambda x: (x**2).sum("time") * x
    full = x.grad.jacobian(f)
    for over in ("lon", "lat", ("lon", "lat"), ("time",)):
        names = (over,) if isinstance(over, str) else over
        if "time" in names:
            f, full = (lambda x: x**2), x.grad.jacobian(lambda x: x**2)
        jac = x.grad.jacobian(f, over=over)
        rest = [d for d in x.dims if d not in names]
        assert jac.dims[: len(names)] == names
        assert set(jac.dims[len(names) :]) == {*rest, *(f"{d}_wrt" for d in rest)}
        assert [d for d in jac.dims if d.endswith("_wrt")] == [f"{d}_wrt" for d in rest]
        same = full
        for d in names:
            same = xr.concat([same.isel({d: [i], f"{d}_wrt": i}) for i in range(x.sizes[d])], d, coords="minimal", compat="override")
        np.testing.assert_allclose(jac.transpose(*same.dims).values, same.values, atol=1e-12)
        for d in names:
            assert jac[d].variable.identical(x[d].variable)


def test_datasets_take_their_floats():
    ds = mixed()
    f = lambda d: d.a * d.b * d.n
    jac = ds.grad.jacobian(f)
    assert list(jac.data_vars) == ["a", "b"]
    compare(jac.a, lambda a: f(ds.assign(a=a)).transpose(*a.dims), ds.a)
    assert jac.b.dims == ("x",)
    np.testing.assert_allclose(jac.b, ds.a * ds.n)
    assert ds.grad.jacobian(f, wrt="a").equals(jac.a)
    both = ds.grad.jacobian(lambda d: d[["a", "b", "n"]] * d.b)
    assert list(both) == ["a", "b", "n"]
    np.testing.assert_allclose(both["a"].a, 3 * np.eye(2))
    np.testing.assert_allclose(both["a"].b, ds.a)
    assert both["b"].b == 6.0
    np.testing.assert_array_equal(both["b"].a, [0.0, 0.0])
    over = ds.grad.jacobian(lambda d: d[["a", "b"]] * d.b, over="x")
    assert over.dims == ("x", "param", "param_wrt")
    np.testing.assert_array_equal(over.sel(x=20), [[3.0, 2.0], [0.0, 6.0]])


def test_several_outputs_over_a_dim():
    ds = xr.Dataset({"a": (("x", "t"), [[1.0, 2.0], [3.0, 4.0]]), "b": ("x", [3.0, 4.0])}, coords={"x": [10, 20]})
    jac = ds.grad.jacobian(lambda d: xr.Dataset({"u": d.a * d.b, "v": d.a.sum("t")}), over="x")
    assert jac["u"].a.dims == ("x", "t", "t_wrt")
    assert jac["v"].a.dims == ("x", "t_wrt")
    np.testing.assert_allclose(jac["u"].a.sel(x=20), 4.0 * np.eye(2))
    np.testing.assert_array_equal(jac["u"].x, ds.x)


def test_parameters():
    p = xr.Dataset({"a": 2.0, "b": 3.0, "times": 4})
    t = xr.DataArray([0.0, 1.0, 2.0], dims="t", coords={"t": [0, 1, 2]})
    jac = p.grad.jacobian(lambda p, t: p.a * np.exp(-p.b * t) * p.times, t)
    assert jac.dims == ("t", "param_wrt")
    assert list(jac.param_wrt.values) == ["a", "b"]
    np.testing.assert_allclose(jac.sel(param_wrt="b"), -8 * t * np.exp(-3 * t))
    square = p.grad.jacobian(lambda p: xr.Dataset({"u": p.a * p.b, "v": p.a}))
    np.testing.assert_array_equal(square.sel(param="u"), [3.0, 2.0])
    hess = p.grad.hessian(lambda p: p.a**2 * p.b)
    np.testing.assert_array_equal(hess.sel(param="a", param_wrt=["a", "b"]), [6.0, 4.0])
    assert p.grad.jacobian(lambda p: p.a * p.b, wrt="a") == 3.0


def test_trees():
    tree = xr.DataTree.from_dict({"/": xr.Dataset({"p": ("x", [1.0, 2.0])}, {"x": [5, 6]}), "/k": xr.Dataset({"q": 3.0})})
    jac = tree.grad.jacobian(lambda t: t["p"] * t["k/q"])
    assert isinstance(jac, xr.DataTree)
    np.testing.assert_array_equal(jac["p"], 3 * np.eye(2))
    np.testing.assert_array_equal(jac["p"].x_wrt, [5, 6])
    np.testing.assert_array_equal(jac["k/q"], [1.0, 2.0])
    out = xr.DataArray([1.0, 2.0], dims="x", name="t").grad.jacobian(lambda x: xr.DataTree(xr.Dataset({"y": x**2})))
    np.testing.assert_array_equal(out["y"], np.diag([2.0, 4.0]))
    hess = tree.grad.hessian(lambda t: (t["p"] ** 2 * t["k/q"] ** 2).sum())
    np.testing.assert_array_equal(hess["p"]["p"], 18 * np.eye(2))
    np.testing.assert_array_equal(hess["p"]["k/q"], [12.0, 24.0])
    np.testing.assert_array_equal(hess["k/q"]["p"], [12.0, 24.0])
    assert tree.grad.hessian(lambda t: (t["p"] ** 2 * t["k/q"] ** 2).sum(), part="trace").item() == 46.0
    over = tree.grad.jacobian(lambda t: t["p"] * t["k/q"], over="x")
    np.testing.assert_array_equal(over["p"], [3.0, 3.0])
    assert over["k/q"].dims == ("x",)


def test_vectorized_axes_and_nested_structures():
    x = field()[:2, :, 0]
    jac = ng.jacobian(lambda d: {"u": d["p"] * d["k"], "v": [d["p"].sum()]})({"p": ng.vectorize(x, "lat"), "k": 2.0})
    np.testing.assert_allclose(ng.devectorize(jac["u"]["p"]), np.broadcast_to(2 * np.eye(2), (3, 2, 2)))
    np.testing.assert_allclose(ng.devectorize(jac["u"]["k"]).transpose(*x.dims), x)
    assert jac["v"][0]["p"].dims == ("time_wrt",)


def test_parts_of_hessians():
    x = field()[:2]
    f = lambda x: (x**3 * x.lat).sum() * x.mean()
    full = x.grad.hessian(f)
    diagonal, trace = x.grad.hessian(f, part="diagonal"), x.grad.hessian(f, part="trace")
    np.testing.assert_allclose(diagonal.values.ravel(), np.diag(full.values.reshape(x.size, -1)), rtol=1e-10)
    assert diagonal.dims == x.dims
    assert diagonal.coords.identical(x.coords)
    assert trace.item() == pytest.approx(diagonal.sum().item())
    assert trace.name is None
    np.testing.assert_allclose(full.values.reshape(x.size, -1), full.values.reshape(x.size, -1).T)
    f = lambda x: (x**3 * x.lat).sum()
    over = x.grad.hessian(f, part="trace", over="lat")
    assert over.dims == ("lat",)
    np.testing.assert_allclose(over, (6 * x * x.lat).sum(("time", "lon")))
    with pytest.raises(ValueError, match="diagonal"):
        x.grad.hessian(f, part="corner")


def count_passes(monkeypatch):
    counts = {"pull": 0, "push": 0}
    for name in counts:
        plain = getattr(Tape, name)

        def counted(self, *args, _name=name, _plain=plain, **kwargs):
            counts[_name] += 1
            return _plain(self, *args, **kwargs)

        monkeypatch.setattr(Tape, name, counted)
    return counts


def test_auto_takes_the_mode_with_fewer_passes(monkeypatch):
    x = field()[:, 0]
    counts = count_passes(monkeypatch)
    x.grad.jacobian(lambda x: (x**2).mean("time"), chunk=1)
    assert counts == {"pull": 4, "push": 0}
    counts.update(pull=0, push=0)
    x[:2].grad.jacobian(lambda x: xr.concat([x, x**2], "k"), chunk=1)
    assert counts == {"pull": 0, "push": 8}
    counts.update(pull=0, push=0)
    x.grad.jacobian(lambda x: (x**2).mean("time"), over="lon", chunk=1)
    assert counts == {"pull": 1, "push": 0}
    counts.update(pull=0, push=0)
    x.grad.jacobian(lambda x: (x**2).mean("time"))
    assert counts == {"pull": 1, "push": 0}


def test_chunks_bound_memory():
    x = xr.DataArray(np.linspace(0.1, 1.0, 60_000), dims="x")
    f = lambda x: (np.exp(np.sin(x)) * x).coarsen(x=1000).sum()
    answer = 60 * x.nbytes
    whole = peak(lambda: x.grad.jacobian(f, mode="reverse"))
    cut = peak(lambda: x.grad.jacobian(f, mode="reverse", chunk=2))
    assert cut < 2.5 * answer
    assert cut < 0.7 * whole
    g = lambda x: (np.exp(np.sin(x)) * x.cumsum("x")).sum()
    y = x.isel(x=slice(None, None, 30))
    matrix = y.size * y.nbytes
    assert peak(lambda: y.grad.hessian(g, part="diagonal", chunk=10)) < matrix / 10
    assert peak(lambda: y.grad.hessian(g, part="trace", chunk=10)) < matrix / 10


def test_a_bar_counts_passes(capsys):
    x = field()[:2, 0]
    plain = x.grad.jacobian(lambda x: x**2)
    assert capsys.readouterr().err == ""
    assert x.grad.jacobian(lambda x: x**2, chunk=3, progress=True).identical(plain)
    assert "8/8" in capsys.readouterr().err
    ng.hessian(lambda x: (x**3).sum(), part="diagonal", progress=True, chunk=5)(x)
    assert "8/8" in capsys.readouterr().err
    sys.stderr.flush()


def test_a_coordinate_that_has_the_name_already():
    x = field()[0, 0].assign_coords(lon_wrt=3.0)
    with pytest.raises(ng.AxisError, match="'lon_wrt' for a coordinate of the input is taken; choose another suffix="):
        x.grad.jacobian(lambda x: x**2)
    jac = x.grad.jacobian(lambda x: x**2, suffix="_in")
    assert jac.dims == ("lon", "lon_in")
    assert jac.lon_wrt == 3.0
