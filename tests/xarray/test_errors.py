"""What users read: errors that point at their line, what left the trace, arrays printed inside a function."""

from __future__ import annotations

import importlib
import sys
import traceback

import numpy as np
import pytest
import scipy.signal
import xarray as xr

import namedgrad as ng
from tests.xarray.programs import field


def last_line(error: BaseException) -> str:
    return traceback.extract_tb(error.__traceback__)[-1].line


@pytest.mark.parametrize(
    ("leave", "what"),
    [
        (lambda x: x.values.sum(), ".values"),
        (lambda x: x.to_numpy().sum(), ".to_numpy()"),
        (lambda x: x.mean().item(), ".item()"),
        (lambda x: float(x.mean()), "float()"),
        (lambda x: int(x.mean()), "int()"),
        (lambda x: x if x.mean() else -x, "bool()"),
        (lambda x: np.asarray(x).sum(), "np.asarray()"),
        (lambda x: np.array(x.data).sum(), "converting to a plain NumPy array"),
        (lambda x: x[:, 0].to_pandas(), ".to_pandas()"),
        (lambda x: x.to_series(), ".to_series()"),
        (lambda x: x.to_dataframe(), ".to_dataframe()"),
        (lambda x: x.to_dataset(name="a").to_dataframe(), ".to_dataframe()"),
        (lambda x: x.to_dict(), ".to_dict()"),
        (lambda x: x.data.data, ".data"),
        (lambda x: x.data.tolist(), ".tolist()"),
    ],
)
def test_what_left_is_named_where_it_left(leave, what):
    x = field()[0]
    with pytest.raises(ng.TraceError) as caught:
        ng.grad(leave)(x)
    message = str(caught.value)
    assert message.startswith(what)
    assert "use " in message
    assert "lambda" in last_line(caught.value)


def test_files_and_plots(tmp_path):
    pytest.importorskip("netCDF4")
    with pytest.raises(ng.TraceError, match=r"^\.to_netcdf\(\)"):
        field().grad(lambda x: x.to_netcdf(tmp_path / "x.nc"))
    pyplot = pytest.importorskip("matplotlib.pyplot")
    try:
        for plot, what in (
            (lambda x: x.plot(), r"^\.plot\(\)"),
            (lambda x: x.plot.pcolormesh(), r"^\.plot\.pcolormesh\(\)"),
            (lambda x: pyplot.plot(x[0]), r"^matplotlib.pyplot.plot\(\)"),
        ):
            with pytest.raises(ng.TraceError, match=what):
                field()[0].grad(plot)
    finally:
        pyplot.close("all")


def test_an_error_below_names_the_users_line():
    def loss(x):
        y = x * 2
        z = y.isel(level=0)
        return z.sum()

    with pytest.raises(ValueError, match="level") as caught:
        field().grad(loss)
    (note,) = caught.value.__notes__
    assert "z = y.isel(level=0)" in note
    assert "in loss, by DataArray.isel" in note
    assert __file__ in note
    for transform in (ng.hessian, ng.jacobian, lambda f: ng.vmap(f, "lat"), lambda f: ng.grad(ng.grad(f))):
        with pytest.raises(ValueError, match="level") as caught:
            transform(loss)(field())
        assert len(caught.value.__notes__) == 1


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package with programs that use arrays."""
    place = tmp_path / "site-packages"
    place.mkdir()
    (place / "scores_of_somebody.py").write_text(
        "import numpy as np\n"
        "def ranked(x):\n    return _ranks(x.data)\n\n"
        "def _ranks(x):\n    return np.asarray(x)  # here\n\n"
        "made = {'ranked': ranked}\n"
        "exec('def decorated(x): return ranked(x)', made)\n\n"
        "decorated = made['decorated']\n"
        "def kept(x):\n"
        "    try:\n        return np.asarray(x)\n"
        "    except TypeError as error:\n        raise KeyError('nothing to keep') from error\n\n"
        "def explained(x):\n"
        "    try:\n        return np.asarray(x)\n"
        "    except TypeError as error:\n        raise type(error)('give an array of numbers') from error\n"
    )
    monkeypatch.syspath_prepend(place)
    yield importlib.import_module("scores_of_somebody")
    del sys.modules["scores_of_somebody"]


def test_what_left_in_a_package_names_its_line_too(package):
    with pytest.raises(ng.TraceError, match=r"^scores_of_somebody\.ranked\(\)") as caught:
        field().grad(lambda x: package.ranked(x).sum())
    (note,) = caught.value.__notes__
    users, theirs = note.split("\nthere, ")
    assert __file__ in users
    assert "in <lambda>, by ranked" in users
    assert f'{package.__file__}", line 6, in _ranks' in theirs
    assert theirs.endswith("return np.asarray(x)  # here")


def test_code_that_a_package_generates_is_not_the_users(package):
    with pytest.raises(ng.TraceError, match=r"^decorated\(\)") as caught:
        field().grad(lambda x: package.decorated(x).sum())
    assert __file__ in caught.value.__notes__[0]
    assert "in <lambda>, by decorated" in caught.value.__notes__[0]


def test_what_left_is_told_where_a_package_made_something_else_of_it(package):
    with pytest.raises(ng.TraceError, match=r"^scores_of_somebody\.kept\(\)"):
        field().grad(lambda x: package.kept(x.data).sum())


def test_a_refusal_that_a_package_explains_is_its_own(package):
    with pytest.raises(ng.TraceError, match=r"^give an array of numbers"):
        field().grad(lambda x: package.explained(x.data).sum())


def test_an_error_that_the_user_makes_of_a_refusal_is_theirs():
    def loss(x):
        try:
            return float(x.sum())
        except TypeError as error:
            raise KeyError("mine") from error

    with pytest.raises(KeyError, match="mine"):
        field().grad(loss)


def test_the_users_own_error_stays_as_it_is():
    def loss(x):
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        field().grad(loss)
    assert not hasattr(caught.value, "__notes__")
    assert last_line(caught.value) == 'raise KeyError("mine")'


def test_arrays_print_their_values():
    x, seen = field()[:2, 0], []

    def loss(x):
        seen.extend([repr(x), repr(x.to_dataset(name="a")), x._repr_html_(), f"{x.sum():.3f}", str(x.sum()), repr(x.data)])
        return x.sum()

    x.grad(loss)
    array, ds, html, number, total, raw = seen
    first = f"{x.values[0, 0]:.6f}"
    assert first in array
    assert "Traced" in array
    assert "traced positional 2.038" in ds
    assert first in html
    assert number == f"{x.sum().item():.3f}"
    assert f"{x.sum().item():.6f}" in total
    assert first in raw
    named = []
    ng.grad(lambda a: named.extend([repr(a), a._repr_html_()]) or a.sum())(ng.asdimarray(x))
    assert named[0].startswith("<Traced DimArray (time: 2, lon: 4) float64>")
    assert first in named[0]
    assert named[1].startswith("<em>Traced</em> <")
    assert first in named[1]


def test_arrays_of_slices_print_too():
    seen = []
    field().grad(lambda x: seen.extend([repr(x), repr(x.to_dataset(name="a"))]) or x.sum(), over="lat")
    for text in seen:
        assert "vectorized (lat: 3)" in text
    with pytest.raises(TypeError):
        field().grad(lambda x: f"{x.sum():.2f}" and x.sum(), over="lat")


def test_a_data_array_made_of_inner_data_has_no_name():
    x, names = field(), []

    def loss(x):
        y = xr.DataArray(x.data * 2, dims=x.dims)
        names.append(y.name)
        return y.sum(), y

    g, y = x.grad(loss, has_aux=True)
    assert names == [None]
    assert y.name is None
    np.testing.assert_array_equal(g, 2.0)
    assert ng.positional(np.ones(2)).name("x").dims == ("x",)


def test_chunks_inside_change_nothing():
    pytest.importorskip("dask")
    x = field()
    for f in (
        lambda x: (x.chunk(time=6) ** 2).sum(),
        lambda x: (x.to_dataset(name="a").chunk(time=6).a ** 2).sum(),
        lambda x: (x.variable.chunk({"time": 6}) ** 2).sum(),
        lambda x: (x.chunk() ** 2).sum().compute(),
    ):
        np.testing.assert_allclose(ng.grad(f)(x), 2 * x)
        np.testing.assert_allclose(ng.grad(f)(x.chunk(time=12)).compute(), 2 * x)
    import dask.array as da

    with pytest.raises(ng.TraceError, match="dask"):
        x.grad(lambda x: xr.DataArray(da.from_array(x.data, chunks=3)).sum())
    with pytest.raises(ng.TraceError, match="dask"):
        ng.vmap(lambda x: xr.DataArray(da.from_array(x.data, chunks=3)).sum(), "lat")(x)
    da.from_array(ng.positional(np.ones(3)), chunks=3).sum().compute()


def test_the_function_that_xarray_applies_is_named():
    with pytest.raises(ng.TraceError, match=r"^scipy\.signal\.detrend\(\), .* use ng\.detrend"):
        field().grad(lambda x: xr.apply_ufunc(scipy.signal.detrend, x).sum())


def _filled(x):
    out = xr.DataArray(np.zeros(2), dims="t")
    out[0] = x[0, 0]
    return out.sum()


def _shortened(x):
    out = xr.DataArray(np.zeros(x.shape), dims=x.dims)
    out -= x
    return out.sum()


@pytest.mark.parametrize(
    ("f", "out"),
    [
        (_filled, r"xr\.zeros_like\(x\).*np\.zeros\(n, like=x\.data\)"),
        (_shortened, r"a = a \+ b for a \+= b"),
        (lambda x: np.full(3, x[0, 0].data).sum(), r"^np\.full\(\).*np\.full\(shape, x, like=x\)"),
        (lambda x: np.poly1d([x[0, 0].data, 1.0])(2.0), r"^np\.poly1d\(\).*np\.polyval\("),
        (lambda x: np.fft.rfft([x[0], x[1]]).sum(), r"^np\.fft\.rfft\(\).*np\.fft\.rfft\(np\.stack\(\[a, b\]\)\)"),
    ],
)
def test_the_way_out_is_shown(f, out):
    with pytest.raises(ng.TraceError, match=out):
        ng.grad(f)(field()[0])
