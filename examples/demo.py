"""What namedgrad does for climate data: how a result depends on every cell and year, and a fit of every cell at once.

Run by ``python -m nox -s demo``. It reads a climate projection for North America (surface air temperature, 1860 to
2099, Met Office Unified Model, scenario A1B) from the package iris-sample-data, prints what it finds and measures, and
writes figures to ``examples/output``.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import iris_sample_data
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import namedgrad as ng

HERE = Path(__file__).parent
OUTPUT, README = HERE / "output", HERE.parent / "docs" / "_static" / "demo.png"
CELLS = ("latitude", "longitude")
BOX = {"latitude": slice(22, 56), "longitude": slice(230, 308)}
LATE = slice("2070", "2099")


def read() -> tuple[xr.DataArray, xr.DataArray]:
    """Temperature, and the year as a number."""
    with xr.open_dataset(Path(iris_sample_data.path) / "A1B_north_america.nc") as ds:
        t = ds.air_temperature.astype("float64").load()
    t = t.drop_vars(["forecast_period", "forecast_reference_time", "height"])
    numbers = [d.year + (d.month - 1) / 12 for d in t.time.values]
    return t, xr.DataArray(numbers, dims="time", coords={"time": t.time}, name="year", attrs={"units": "year"})


# ------------------------------------------------------------------------------------------------ sensitivity


def warming(t: xr.DataArray) -> xr.DataArray:
    """Warming of a region: its hottest decade against 1861 to 1890, area-weighted. Plain xarray."""
    box = t.sel(BOX)
    series = box.weighted(np.cos(np.deg2rad(box.latitude))).mean(CELLS)
    out = series.rolling(time=10).mean().max() - series.sel(time=slice("1861", "1890")).mean()
    return out.assign_attrs(units="K").rename("warming")


def emergence(t: xr.DataArray) -> xr.DataArray:
    """The same with the warming of every cell measured by its own year-to-year variability. Plain xarray."""
    box = t.sel(BOX)
    early = box.sel(time=slice("1861", "1960"))
    ratio = (box.sel(time=LATE).mean("time") - early.mean("time")) / early.std("time")
    return ratio.weighted(np.cos(np.deg2rad(box.latitude))).mean(CELLS).assign_attrs(units="1").rename("emergence")


def differentiate(f: Callable[[xr.DataArray], xr.DataArray], t: xr.DataArray) -> xr.DataArray:
    """The gradient of ``f`` with respect to every cell and year, checked against finite differences."""
    value, gradient = t.grad.value_and_grad(f)
    units = value.attrs["units"].replace("1", "standard deviations")
    print(f"\n{f.__name__}: {value.item():.3f} {units}, differentiated with respect to {t.size:,} temperatures")
    h, rng = 1e-3, np.random.default_rng(0)
    for what, direction in (
        ("40.0 N 255.0 E in 2095", one_cell(t, 2095, latitude=40, longitude=255)),
        ("all cells and years, at random", t.copy(data=rng.normal(size=t.shape))),
    ):
        slope = ((f(t + h * direction) - f(t - h * direction)) / (2 * h)).item()
        along = (gradient * direction).sum().item()
        print(f"  {what}: gradient {along:+.8e}, finite difference {slope:+.8e}, apart {abs(along - slope):.1e}")
    once, both = seconds(lambda: f(t)), seconds(lambda: t.grad(f))
    print(f"  the program takes {1e3 * once:.0f} ms, its gradient {1e3 * both:.0f} ms ({both / once:.1f} times)")
    return gradient


def one_cell(t: xr.DataArray, year: int, **place: float) -> xr.DataArray:
    """Zeros like ``t`` with a 1 in one cell and year."""
    out = xr.zeros_like(t)
    at = {d: int(abs(t[d] - v).argmin(d)) for d, v in place.items()}
    out[{**at, "time": [d.year for d in t.time.values].index(year)}] = 1.0
    return out


def seconds(f: Callable[[], Any], rounds: int = 5) -> float:
    """Median time of a call."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        f()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


# ------------------------------------------------------------------------------------------------ fit

LIMITS = {"amount": (0.0, 20.0)}  # a warming that has only begun does not say how far it will go


def model(year: Any, before: Any, amount: Any, middle: Any, width: Any) -> Any:
    """Temperature that rises from one level by an amount, around a middle year, over some width of years."""
    return before + amount / (1 + np.exp(-(year - middle) / width))


def misfit(p: Any, year: Any, t: Any) -> Any:
    """Model minus temperature, in every year."""
    return model(year, p["before"], p["amount"], p["middle"], p["width"]) - t


def start_values(t: xr.DataArray) -> xr.Dataset:
    """The early mean of every cell, and numbers that suit no cell in particular."""
    before = t.sel(time=slice("1860", "1900")).mean("time")
    return xr.Dataset(
        {
            "before": before.assign_attrs(units="K", long_name="temperature before"),
            "amount": ((), 4.0, {"units": "K", "long_name": "warming"}),
            "middle": ((), 2030.0, {"units": "year", "long_name": "middle of the warming"}),
            "width": ((), 25.0, {"units": "years", "long_name": "width of the warming"}),
        }
    )


def fit_all(t: xr.DataArray, year: xr.DataArray) -> Any:
    """The model fitted to all cells at once, and to a sample of them by xarray's curvefit, one by one."""
    start = start_values(t)
    ng.least_squares(misfit, start.isel(latitude=[0]), year, t.isel(latitude=[0]), over=CELLS, bounds=LIMITS)  # warm up
    began = time.perf_counter()
    fit = ng.least_squares(misfit, start, year, t, over=CELLS, bounds=LIMITS, progress=True)
    rate = fit.status.size / (time.perf_counter() - began)
    print(f"\nfit of {fit.status.size:,} cells at once: {rate:,.0f} fits per second\n{fit}")

    few = {"latitude": slice(2, None, 5), "longitude": slice(2, None, 5)}
    sample, first = t.isel(few), dict(start.isel(few).data_vars)
    how = {"reduce_dims": "time", "p0": first, "bounds": LIMITS, "errors": "ignore"}
    with np.errstate(over="ignore"):
        began = time.perf_counter()
        sample.curvefit(year, model, **how)
        slow = sample[0].size / (time.perf_counter() - began)
        exact = sample.curvefit(year, model, **how, kwargs={"ftol": 1e-12, "xtol": 1e-12, "gtol": 1e-12})
    print(f"xarray.curvefit, {sample[0].size} of these cells one by one: {slow:,.0f} fits per second")
    print(f"all at once is {rate / slow:.0f} times as fast; against curvefit with tolerances of 1e-12:")
    compare(fit.params.isel(few), fit.stderr.isel(few), exact)
    return fit


def compare(params: xr.Dataset, stderr: xr.Dataset, one: xr.Dataset) -> None:
    """How far two fits are apart."""
    mine, error = (x.to_dataarray("param") for x in (params, stderr))
    off = abs(mine - one.curvefit_coefficients)
    variance = one.curvefit_covariance.where(one.cov_i == one.cov_j).sum("cov_j").rename(cov_i="param")
    lost = one.curvefit_coefficients.isnull().any("param")
    for what, x in (
        ("parameters, relative", off / abs(mine)),
        ("parameters, in standard errors", off / error),
        ("standard errors, relative", abs(np.sqrt(variance) / error - 1)),
    ):
        print(f"  {what}: median difference {x.median().item():.0e}, largest {x.max().item():.0e}")
    print(f"  cells that curvefit gave up: {int(lost.sum())}")


# ------------------------------------------------------------------------------------------------ figures


@contextlib.contextmanager
def figure(name: str, small: Path | None = None) -> Iterator[Any]:
    """Four axes, saved when they have been drawn on."""
    style = {"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False}
    with mpl.rc_context(style):
        fig, axes = plt.subplots(2, 2, figsize=(11, 7.4), layout="constrained")
        yield axes.ravel()
        fig.savefig(OUTPUT / f"{name}.png", dpi=150)
        if small is not None:
            fig.savefig(small, dpi=90)
        plt.close(fig)


def draw_map(ax: Any, x: xr.DataArray, title: str, bar: str, *, extend: str = "neither", **how: Any) -> None:
    """A map with its colour bar."""
    mesh = ax.pcolormesh(x.longitude, x.latitude, x, rasterized=True, **how)
    ax.set(title=title, xlabel="longitude (° east)", ylabel="latitude (° north)", aspect=1.25)
    ax.figure.colorbar(mesh, ax=ax, label=bar, shrink=0.85, pad=0.02, extend=extend)


def draw_cells(ax: Any, gradient: xr.DataArray, years: slice, title: str, bar: str) -> None:
    """Which cells matter in some years."""
    total = 1e3 * gradient.sel(time=years).sum("time")
    draw_map(ax, total.where(total > 0), title, bar, cmap="viridis")
    west, east = BOX["longitude"].start, BOX["longitude"].stop
    south, north = BOX["latitude"].start, BOX["latitude"].stop
    ax.plot([west, east, east, west, west], [south, south, north, north, south], color="0.2", lw=1)


def draw_years(ax: Any, gradient: xr.DataArray, year: xr.DataArray, title: str, unit: str) -> None:
    """Which years matter."""
    total = gradient.sum(CELLS)
    ax.bar(year, total, width=1.0, color=np.where(total > 0, "#c0392b", "#2c6fbb"))
    ax.axhline(0, color="0.3", lw=0.8)
    ax.set(title=title, xlabel="year", ylabel=unit)


def draw_amount(ax: Any, fit: Any) -> None:
    """The fitted warming, where it is known to a half."""
    known = fit.stderr["amount"] < fit.params["amount"] / 2
    ax.set_facecolor("0.85")
    x = fit.params["amount"].where(known)
    draw_map(ax, x, "Fitted warming (grey: not determined)", "K", cmap="inferno", vmin=2, vmax=12, extend="max")


def draw_one(ax: Any, fit: Any, t: xr.DataArray, year: xr.DataArray) -> None:
    """One cell: data, fit, and the error of the fit, propagated from the covariance of the parameters."""
    at = {"latitude": 45.0, "longitude": 270.0}
    cells = (fit.params, fit.stderr, fit.covariance, fit.predict(), t)
    p, error, cov, line, data = (x.sel(at, method="nearest").reset_coords(drop=True) for x in cells)
    variance = p.grad.propagate(lambda p: model(year, p.before, p.amount, p.middle, p.width), cov=cov)
    band = 2 * np.sqrt(np.diagonal(variance))
    ax.plot(year, data, ".", color="0.45", ms=3, label="projection A1B")
    ax.plot(year, line, color="#c0392b", lw=1.8, label="fit")
    ax.fill_between(year, line - band, line + band, color="#c0392b", alpha=0.25, lw=0, label="± 2 standard errors")
    found = f"{p.amount.item():.1f} ± {error.amount.item():.1f} K around {p.middle.item():.0f}"
    ax.set(title=f"45 °N 270 °E: {found}", xlabel="year", ylabel="air temperature (K)")
    ax.legend(frameon=False, loc="upper left")


def draw(t: xr.DataArray, year: xr.DataArray, kelvin: xr.DataArray, relative: xr.DataArray, fit: Any) -> None:
    """All figures."""
    OUTPUT.mkdir(exist_ok=True)
    README.parent.mkdir(exist_ok=True)
    hot = [str(d.year) for d, up in zip(t.time.values, kelvin.sum(CELLS).values > 0, strict=True) if up]
    unit = "per K in all cells"
    measured = "Warming of the box in units of its variability:\nsensitivity to"
    with figure("sensitivity") as axes:
        title = f"Warming of the box: sensitivity to cells,\nsummed over its hottest decade {hot[0]}–{hot[-1]}"
        draw_cells(axes[0], kelvin, slice(hot[0], hot[-1]), title, "10⁻³ K per K")
        draw_years(axes[1], kelvin, year, "Warming of the box: sensitivity to years", f"K {unit}")
        draw_cells(axes[2], relative, LATE, f"{measured} cells, summed over 2070–2099", "10⁻³ per K")
        draw_years(axes[3], relative, year, f"{measured} years", unit)
    with figure("fit") as axes:
        draw_amount(axes[0], fit)
        error, middle = fit.stderr["amount"], fit.params["middle"]
        draw_map(axes[1], error, "Its standard error", "K", cmap="cividis", vmin=0, vmax=2, extend="max")
        draw_map(axes[2], middle, "Middle of the warming", "year", cmap="RdYlBu", vmin=2020, vmax=2080, extend="both")
        draw_one(axes[3], fit, t, year)
    with figure("overview", README) as axes:
        draw_cells(axes[0], relative, LATE, f"{measured} cells, summed over 2070–2099", "10⁻³ per K")
        draw_years(axes[1], relative, year, "The same: sensitivity to years", unit)
        draw_amount(axes[2], fit)
        draw_one(axes[3], fit, t, year)


def main() -> None:
    """Read, differentiate, fit, draw."""
    began = time.perf_counter()
    t, year = read()
    kelvin, relative = differentiate(warming, t), differentiate(emergence, t)
    fit = fit_all(t, year)
    draw(t, year, kelvin, relative, fit)
    print(f"\nfigures in {OUTPUT}; everything took {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
