"""Programs as climate scientists write them, each of one DataArray ``x`` with dims (time, lat, lon): monthly, two years."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tests.xarray.programs import Program

RADIUS, OMEGA = 6.371e6, 7.292e-5


def weights(x):
    return np.cos(np.deg2rad(x.lat))


def global_mean(x):
    return x.weighted(weights(x)).mean(("lat", "lon"))


def anomalies(x):
    return x.groupby("time.month") - x.groupby("time.month").mean("time")


def detrend(x, dim="time", deg=1):
    fit = x.polyfit(dim=dim, deg=deg)
    return x - xr.polyval(x[dim], fit.polyfit_coefficients)


def leading_modes(x):
    """EOFs of area-weighted anomalies, by singular values of the stacked field; signs do not matter."""
    a = (x - x.mean("time")) * np.sqrt(weights(x))
    m = a.stack(space=("lat", "lon")).transpose("time", "space")
    u, s, vt = np.linalg.svd(m.data, full_matrices=False)
    variance = s**2 / (s**2).sum()
    pattern = xr.DataArray(vt[:2] ** 2, dims=("mode", "space"), coords={"space": m.space}).unstack("space")
    series = xr.DataArray((u * s)[:, :2] ** 2, dims=("time", "mode"), coords={"time": x.time})
    return xr.Dataset({"variance": ("mode", variance[:2]), "pattern": pattern, "series": series})


def eof_by_covariance(x):
    m = (x - x.mean("time")).isel(lat=0)
    cov = xr.dot(m, m.rename(lon="lon2"), dim="time") / (m.sizes["time"] - 1)
    values, vectors = np.linalg.eigh(cov.transpose("lon", "lon2").data)
    return xr.DataArray(values, dims="mode") + xr.DataArray(vectors**2, dims=("lon", "mode")).sum("lon")


def lag_correlation(x):
    index = global_mean(x)
    return xr.concat([xr.corr(index.shift(time=k), x, "time") for k in (0, 1, 3)], "lag")


def nino_index(x):
    box = x.sel(lat=slice(-10, 10), lon=slice(80, 200)).weighted(weights(x)).mean(("lat", "lon"))
    return anomalies(box).rolling(time=3, center=True).mean() / anomalies(box).std("time")


def standardised_precipitation(x):
    rain = x.clip(min=0).rolling(time=3).sum()
    monthly = rain.groupby("time.month")
    return (monthly - monthly.mean("time")).groupby("time.month") / (monthly.std("time") + 0.05)


def growing_degree_days(x):
    return (x - 2.2).where(x > 2.2, 0.0).resample(time="YS").sum()


def heat_waves(x):
    threshold = x.quantile(0.8, "time")
    excess = (x - threshold).where(x > threshold)
    return excess.sum("time") + excess.max("time").fillna(0)


def warm_spell_strength(x):
    hot = x > x.mean("time")
    run = hot.rolling(time=3).sum() == 3
    return x.where(run).sum("time")


def composite(x):
    index = x.sel(lat=5, lon=90, method="nearest", drop=True)
    high = index > index.quantile(0.7)
    low = index < index.quantile(0.3)
    return x.where(high).mean("time") - x.where(low).mean("time")


def seasonal_cycle(x):
    cycle = x.groupby("time.month").mean("time")
    return cycle.max("month") - cycle.min("month")


def seasonal_means_weighted(x):
    days = x.time.dt.days_in_month
    share = days.groupby("time.season") / days.groupby("time.season").sum()
    return (x * share).groupby("time.season").sum("time")


def yearly_mean_by_days(x):
    days = x.time.dt.days_in_month
    return (x * days).resample(time="YS").sum() / days.resample(time="YS").sum()


def mass_streamfunction(x):
    """Zonal mean, accumulated over latitude."""
    v = x.mean("lon")
    return (2 * np.pi * RADIUS * weights(x) / 9.81 * v).cumsum("lat") / 1e7


def ekman_transport(x):
    """Of a wind stress along latitudes, and its pumping."""
    tau = 1.2e-3 * x * abs(x)
    f = 2 * OMEGA * np.sin(np.deg2rad(x.lat))
    transport = -tau / (1025 * f)
    y = x.lat * np.pi / 180 * RADIUS
    return transport.assign_coords(y=y).swap_dims(lat="y").differentiate("y") * 1e7 + transport.mean("lat")


def geostrophic_wind(x):
    f = 2 * OMEGA * np.sin(np.deg2rad(x.lat))
    dx = weights(x) * RADIUS * np.deg2rad(90.0)
    v = 9.81 / f * (x.shift(lon=-1) - x.shift(lon=1)) / (2 * dx)
    return v.fillna(0) * 1e3


def gradient_magnitude(x):
    gy = x.differentiate("lat")
    gx = x.differentiate("lon") / weights(x)
    return np.sqrt(gx**2 + gy**2)


def laplacian_by_roll(x):
    return x.roll(lon=1, roll_coords=False) + x.roll(lon=-1, roll_coords=False) - 2 * x


def diffusion(x):
    field = x.isel(time=0)
    for _ in range(5):
        field = field + 0.1 * laplacian_by_roll(field)
    return field


def upwind_advection(x):
    c = x.isel(time=0, drop=True)
    u = x.isel(time=1, drop=True) / 10
    for _ in range(4):
        c = c - xr.where(u > 0, u * (c - c.roll(lon=1)), u * (c.roll(lon=-1) - c))
    return c


def red_noise(x):
    """A first-order process driven by the field, step by step in place."""
    out = xr.zeros_like(x)
    out[{"time": 0}] = x.isel(time=0)
    for t in range(1, x.sizes["time"]):
        out[{"time": t}] = 0.8 * out.isel(time=t - 1) + 0.2 * x.isel(time=t)
    return out


def bucket_model(x):
    """Soil water that fills and drains, a list of maps joined at the end."""
    water, levels = xr.full_like(x.isel(time=0, drop=True), 1.0), []
    for t in range(6):
        water = (water + 0.3 * x.isel(time=t, drop=True) - 0.2 * water**2).clip(0, 4)
        levels.append(water)
    return xr.concat(levels, "step")


def spectrum(x):
    def power(a):
        return np.abs(np.fft.rfft(a - a.mean(axis=-1, keepdims=True), axis=-1)) ** 2

    out = xr.apply_ufunc(power, x, input_core_dims=[["time"]], output_core_dims=[["frequency"]])
    return out.assign_coords(frequency=np.fft.rfftfreq(x.sizes["time"], d=1 / 12))


def band_pass(x):
    def keep(a):
        f = np.fft.fft(a, axis=-1)
        freq = np.abs(np.fft.fftfreq(a.shape[-1]))
        return np.fft.ifft(np.where((freq > 0.05) & (freq < 0.3), f, 0), axis=-1).real

    return xr.apply_ufunc(keep, x, input_core_dims=[["time"]], output_core_dims=[["time"]])


def lanczos(x):
    n, cutoff = 4, 1 / 6
    k = np.arange(-n, n + 1)
    w = 2 * cutoff * np.sinc(2 * cutoff * k) * np.sinc(k / n)
    kernel = xr.DataArray(w / w.sum(), dims="window")
    return x.rolling(time=2 * n + 1, center=True).construct("window").dot(kernel)


def running_detrend(x):
    smooth = x.rolling(time=7, center=True, min_periods=1).mean()
    return (x - smooth) / x.rolling(time=7, center=True, min_periods=3).std()


def hovmoeller(x):
    return anomalies(x.sel(lat=slice(-50, 50)).mean("lat")).coarsen(lon=2).mean()


def zonal_wave_number_one(x):
    a = (x * np.cos(np.deg2rad(x.lon))).mean("lon")
    b = (x * np.sin(np.deg2rad(x.lon))).mean("lon")
    return 2 * np.hypot(a, b)


def regrid(x):
    return x.interp(lat=np.linspace(-40, 60, 7), lon=np.arange(0, 271, 30.0)).mean("time")


def regrid_and_score(x):
    fine = x.interp(lon=np.arange(0, 271, 45.0), method="cubic")
    coarse = x.coarsen(lon=2).mean().interp(lon=fine.lon, kwargs={"fill_value": "extrapolate"})
    return np.sqrt(((fine - coarse) ** 2).mean(("lat", "lon")))


def stations(x):
    where = xr.Dataset({"lat": ("station", [-20.0, 30.0, 50.0]), "lon": ("station", [30.0, 120.0, 250.0])})
    return x.interp(lat=where.lat, lon=where.lon).std("time")


def skill_scores(x):
    truth = x.roll(time=1, roll_coords=False) * 0.9 + 0.1
    error = x - truth
    rmse = np.sqrt((error**2).mean("time"))
    clim = np.sqrt((anomalies(truth) ** 2).mean("time"))
    return xr.Dataset({"bias": error.mean("time"), "rmse": rmse, "skill": 1 - rmse / clim, "acc": xr.corr(x, truth, "time")})


def taylor_diagram(x):
    ref = x.mean("lon")
    return xr.Dataset({"sigma": x.std("time") / ref.std("time"), "corr": xr.corr(x, ref, "time")})


def quantile_mapping(x):
    """The first year mapped to the quantiles of the second."""
    q = np.linspace(0.1, 0.9, 5)
    old = x.sel(time="2001").quantile(q, "time")
    new = x.sel(time="2002").quantile(q, "time")
    return x.sel(time="2001") + (new - old).mean("quantile")


def extreme_value_moments(x):
    top = x.resample(time="QS").max()
    mean, std = top.mean("time"), top.std("time")
    scale = np.sqrt(6) / np.pi * std
    return mean - 0.5772 * scale - scale * np.log(-np.log(1 - 1 / 50))


def vapour_pressure(x):
    t = 10 * x
    es = 6.112 * np.exp(17.67 * t / (t + 243.5))
    return es * 0.7, 243.5 * np.log(es * 0.7 / 6.112) / (17.67 - np.log(es * 0.7 / 6.112))


def wind_chill(x):
    speed = (x**2 + (x.shift(lon=1) ** 2).fillna(0)) ** 0.5
    return 13.12 + 0.6215 * x - 11.37 * speed**0.16 + 0.3965 * x * speed**0.16


def ocean_heat_content(x):
    depth = xr.DataArray([5.0, 20.0, 60.0], dims="depth", coords={"depth": [5.0, 20.0, 60.0]})
    profile = x * np.exp(-depth / 50)
    return 4.1e-3 * profile.integrate("depth")


def mixed_layer(x):
    depth = xr.DataArray(np.arange(5) * 10.0, dims="depth", coords={"depth": np.arange(5) * 10.0})
    profile = x - 0.02 * depth * x.std("time")
    return profile.where(profile > x - 0.01).max("depth") + profile.differentiate("depth").min("depth")


def area_average_trend(x):
    series = global_mean(x).resample(time="QS").mean()
    years = (series.time - series.time[0]) / np.timedelta64(365, "D")
    return xr.cov(series, years, "time") / years.var("time")


def regression_map(x):
    index = (global_mean(x) - global_mean(x).mean("time")) / global_mean(x).std("time")
    return xr.dot(x - x.mean("time"), index, dim="time") / x.sizes["time"]


def partial_correlation(x):
    a, b, c = x.isel(lon=0, drop=True), x.isel(lon=1, drop=True), x.isel(lon=2, drop=True)
    ab, ac, bc = xr.corr(a, b, "time"), xr.corr(a, c, "time"), xr.corr(b, c, "time")
    return (ab - ac * bc) / np.sqrt((1 - ac**2) * (1 - bc**2))


def multiple_regression(x):
    t = xr.DataArray(np.arange(24.0), dims="time", coords={"time": x.time})
    design = xr.concat([xr.ones_like(t), t, np.cos(2 * np.pi * t / 12)], "term").transpose("time", "term")
    solve = lambda a, y: np.linalg.lstsq(a, y, rcond=None)[0]
    y = x.stack(cell=("lat", "lon")).transpose("time", "cell")
    beta = xr.DataArray(solve(design.data, y.data), dims=("term", "cell"), coords={"cell": y.cell})
    return beta.unstack("cell")


def harmonics(x):
    t = 2 * np.pi * (x.time.dt.month - 1) / 12
    a1, b1 = (x * np.cos(t)).mean("time") * 2, (x * np.sin(t)).mean("time") * 2
    return xr.Dataset({"amplitude": np.hypot(a1, b1), "phase": np.arctan2(b1, a1)})


def ensemble_spread(x):
    members = xr.concat([x + k * x.std("time") for k in range(3)], xr.DataArray(range(3), dims="member", name="member"))
    return members.std("member") / members.mean("member"), members.quantile(0.5, "member")


def signal_to_noise(x):
    yearly = x.groupby("time.year").mean("time")
    return (yearly.isel(year=-1) - yearly.isel(year=0)) / x.groupby("time.year").std("time").mean("year")


def bias_correction(x):
    model, obs = x, 0.8 * x.roll(lon=1, roll_coords=False) + 0.3
    factor = obs.groupby("time.month").mean("time") / model.groupby("time.month").mean("time")
    return model.groupby("time.month") * factor


def by_zone(x):
    return x.groupby("zone").mean(("time", "lat", "lon")) if "lat" in x.dims else x.mean()


def by_latitude_bands(x):
    return (x * weights(x)).groupby_bins("lat", [-90, 0, 90]).sum() / weights(x).groupby_bins("lat", [-90, 0, 90]).sum()


def dipole(x):
    west = x.sel(lon=slice(0, 100)).mean(("lon", "lat"))
    east = x.sel(lon=slice(170, 280)).mean(("lon", "lat"))
    return ((west - east) - (west - east).mean()) / (west - east).std()


def masked_by_threshold(x):
    mask = x.mean("time") > x.mean()
    y = x.where(mask)
    return y.sum(("lat", "lon")) / mask.sum()


def assignment(x):
    y = x.copy()
    y[{"time": slice(0, 3)}] = y[{"time": slice(3, 6)}].data * 2
    y.loc[{"lon": 90}] = 0.5 * (y.sel(lon=0) + y.sel(lon=180))
    y["scaled"] = y.lon / 360
    y = y.where(y < 5, 5 + np.log(y / 5))
    return y * y.scaled


def carbon_budget(x):
    ds = xr.Dataset({"gpp": x, "resp": 0.6 * x**1.2})
    ds["nee"] = ds.resp - ds.gpp
    ds["cum"] = ds.nee.cumsum("time")
    return ds.map(lambda v: v.mean("lon")).isel(time=slice(0, 12))


def energy_balance(x):
    albedo = 0.3 + 0.2 * (1 - np.tanh((x - 2.5) / 0.5)) / 2
    insolation = 340 * (1.2 - 0.6 * np.sin(np.deg2rad(x.lat)) ** 2)
    return insolation * (1 - albedo) - (203.3 + 2.09 * x)


def drying_index(x):
    rain = x.where(x > x.median("time"), 0.0)
    dry = (rain == 0).cumsum("time")
    return (rain * np.exp(-dry / 10)).sum("time")


def gap_filling(x):
    return x.where(x > 1.9).interpolate_na("time").ffill("time").bfill("time").mean("time") if False else x.where(
        x > 1.9
    ).interpolate_na("time").fillna(x.mean("time"))


def weekly(x):
    return x.resample(time="10D").interpolate("linear").rolling(time=5, center=True).mean().resample(time="MS").mean()


def normalised_by_range(x):
    low, high = x.min("time"), x.max("time")
    return ((x - low) / (high - low)).rename("n") ** 2


def cross_spectrum(x):
    f = xr.apply_ufunc(lambda a: np.fft.rfft(a, axis=-1), x, input_core_dims=[["time"]], output_core_dims=[["f"]])
    c = (f.isel(lon=0, drop=True) * f.isel(lon=1, drop=True).conj()).isel(f=slice(1, 6))
    return abs(c), xr.apply_ufunc(np.angle, c)


def structure_function(x):
    return xr.concat([((x - x.shift(time=k)) ** 2).mean("time") for k in range(1, 4)], "lag")


def autocorrelation_time(x):
    a = x - x.mean("time")
    r = (a * a.shift(time=1)).sum("time") / (a**2).sum("time")
    return (1 + r) / (1 - r)


def principal_projection(x):
    a = anomalies(x).stack(p=("lat", "lon"))
    pattern = a.std("time") / np.sqrt((a.std("time") ** 2).sum())
    return a.dot(pattern, dim="p")


def histogram_free_energy(x):
    grid = xr.DataArray(np.linspace(1.0, 6.0, 9), dims="bin")
    kernel = np.exp(-(((x - grid) / 0.4) ** 2)).mean(("time", "lon"))
    return -np.log(kernel + 1e-3)



CLIMATE = [
    Program(f.__name__.replace("_", " "), f, over)
    for f, over in (
        (anomalies, ("lat",)), (global_mean, ()), (detrend, ("lat",)), (leading_modes, ()), (eof_by_covariance, ()),
        (lag_correlation, ()), (nino_index, ()), (standardised_precipitation, ("lat",)), (growing_degree_days, ("lat", "lon")),
        (heat_waves, ("lat",)), (warm_spell_strength, ("lon",)), (composite, ()), (seasonal_cycle, ("lat",)),
        (seasonal_means_weighted, ("lat",)), (yearly_mean_by_days, ("lon",)), (mass_streamfunction, ("time",)),
        (ekman_transport, ("lon",)), (geostrophic_wind, ("time",)), (gradient_magnitude, ("time",)),
        (laplacian_by_roll, ("lat", "time")), (diffusion, ("lat",)), (upwind_advection, ("lat",)), (red_noise, ("lat", "lon")),
        (bucket_model, ("lat",)), (spectrum, ("lat",)), (band_pass, ("lat",)), (lanczos, ("lon",)), (running_detrend, ("lat",)),
        (hovmoeller, ()), (zonal_wave_number_one, ("lat",)), (regrid, ()), (regrid_and_score, ("time",)), (stations, ()),
        (skill_scores, ("lat",)), (taylor_diagram, ("lat",)), (quantile_mapping, ("lat",)), (extreme_value_moments, ("lat",)),
        (vapour_pressure, ("lat",)), (wind_chill, ("lat",)), (ocean_heat_content, ("lat",)), (mixed_layer, ("lat",)),
        (area_average_trend, ()), (regression_map, ()), (partial_correlation, ("lat",)), (multiple_regression, ()),
        (harmonics, ("lat",)), (ensemble_spread, ("lat",)), (signal_to_noise, ("lat",)), (bias_correction, ("lat",)),
        (by_zone, ()), (by_latitude_bands, ("lon",)), (dipole, ()), (masked_by_threshold, ()), (assignment, ("lat",)),
        (carbon_budget, ("lat",)), (energy_balance, ("time",)), (drying_index, ("lat",)), (gap_filling, ("lat",)),
        (weekly, ("lat",)), (normalised_by_range, ("lat",)), (cross_spectrum, ("lat",)), (structure_function, ("lat",)),
        (autocorrelation_time, ("lat",)), (principal_projection, ()), (histogram_free_energy, ("lat",)),
    )
]  # fmt: skip
