"""Programs on a device: xarray keeps labels on the host, and moves what its methods need of them; so do ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.harness import quiet
from tests.xarray.programs import field, with_gaps

BY_LABELS: dict[str, Callable[[Any], Any]] = {
    "integrate": lambda x: x.integrate("lon"),
    "integrate over dates": lambda x: x.integrate("time", datetime_unit="D"),
    "cumulative_integrate": lambda x: x.cumulative_integrate("lat"),
    "differentiate": lambda x: x.differentiate("lon", edge_order=2),
    "differentiate by dates": lambda x: x.differentiate("time", datetime_unit="D"),
    "reindex": lambda x: x.reindex(lon=[0.0, 95.0]),
    "reindex to the nearest": lambda x: x.reindex(lon=[0.0, 95.0], method="nearest"),
    "an outer join": lambda x: xr.align(x, x.isel(lon=slice(1, None)), join="outer")[1],
    "a full table": lambda x: x.stack(z=("lat", "lon")).isel(z=slice(2, None)).unstack(),
    "bins": lambda x: x.groupby_bins("lon", [-1, 100, 200, 300]).mean(),
    "anomalies": lambda x: x.groupby("time.season") - x.groupby("time.season").mean(),
    "idxmax": lambda x: x * x.idxmax("lon"),
    "polyval": lambda x: xr.polyval(x, xr.DataArray([1.0, 2.0], dims="degree", coords={"degree": [0, 1]})),
    "polyfit": lambda x: x.polyfit("lon", 1).polyfit_coefficients,
    "interp": lambda x: x.interp(lon=[10.0, 120.0]),
    "interp to dates": lambda x: ng.xr.interp(x, time=x.time[1:].values - np.timedelta64(5, "D")),
    "interp by splines": lambda x: ng.xr.interp(x.fillna(0.0), lon=[10.0, 120.0], method="cubic"),
    "interp of two dims": lambda x: x.interp(lon=[10.0, 120.0], lat=[5.0]),
    "interpolate_na": lambda x: ng.xr.interpolate_na(x, "lon"),
    "rolling_exp": lambda x: ng.xr.rolling_exp(x, time=3).mean(),
}


@pytest.mark.parametrize("make", [field, with_gaps])
@pytest.mark.parametrize("name", BY_LABELS)
def test_labels_on_the_host(cupy, name, make):
    loss = lambda x: (BY_LABELS[name](x) ** 2).sum()
    host = make().isel(time=slice(0, 12))
    there = host.copy(data=cupy.asarray(host.values))
    gradient = ng.grad(loss)
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = gradient(host)
        for g in (gradient(there), ng.compile(gradient)(there)):
            assert isinstance(g.data, cupy.ndarray)
            np.testing.assert_allclose(g.data.get(), expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


SLICES_AGREE = {
    "dropna": lambda x: x.fillna(1.0).shift(time=1).dropna("time"),
    "equals": lambda x: x * (2.0 if x.equals(x.copy()) else 0.0),
    "a reindexed slice": lambda x: x.reindex(lon=[0.0, 95.0]),
    "a slope": lambda x: x.differentiate("lon") + x.integrate("lon"),
}


@pytest.mark.parametrize("name", SLICES_AGREE)
def test_slices_on_the_device(cupy, name):
    loss = lambda x: (SLICES_AGREE[name](x) ** 2).sum()
    host = with_gaps().isel(time=slice(0, 6))
    g = ng.grad(loss, over="lat")(host.copy(data=cupy.asarray(host.values)))
    for i in range(host.sizes["lat"]):
        np.testing.assert_allclose(g.isel(lat=i).data.get(), ng.grad(loss)(host.isel(lat=i)), rtol=1e-12)


def test_two_devices_of_the_users_do_not_mix(cupy):
    """What the user multiplies stays where it is, labels too."""
    x = xr.DataArray(cupy.asarray([1.0, 2.0]), dims="lat", coords={"lat": [0.0, 30.0]})
    with pytest.raises(TypeError, match="cupy and numpy"):
        ng.grad(lambda x: (x * x.lat).sum())(x)
