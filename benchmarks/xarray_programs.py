"""Unmodified xarray programs on (24, 37, 49): the gradient beside the plain forward run, and what the import costs one.

Eleven programs of one DataArray, monthly for two years. The forward run has nothing of namedgrad in it but the import;
a gradient includes its own forward run. A last line compares the forward runs of two interpreters, one that has
imported namedgrad and one that has not, since importing it wraps a few functions of xarray.
"""

import importlib
import subprocess
import sys
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.report import arguments, medians, save, verdict

ROUNDS = 41
SAMPLE_SECONDS = 0.02
TARGET, IMPORT_TARGET = 4.0, 1.05

Program = Callable[[xr.DataArray], xr.DataArray]


def field() -> xr.DataArray:
    """Temperatures with coordinates."""
    time = pd.date_range("2001-01-01", periods=24, freq="MS")
    coords = {"time": time, "lat": np.linspace(-90, 90, 37), "lon": np.linspace(0, 352.5, 49)}
    data = 280 + np.random.default_rng(0).normal(size=(24, 37, 49))
    return xr.DataArray(data, coords, ("time", "lat", "lon"), name="t", attrs={"units": "K"})


def monthly_anomaly(t: xr.DataArray) -> xr.DataArray:
    """Mean square of what the seasonal cycle leaves."""
    months = t.groupby("time.month")
    return ((months - months.mean("time")) ** 2).mean()


def area_mean(t: xr.DataArray) -> xr.DataArray:
    """Mean square of the weighted global mean."""
    return (t.weighted(np.cos(np.deg2rad(t.lat))).mean(("lat", "lon")) ** 2).mean()


def trend(t: xr.DataArray) -> xr.DataArray:
    """Mean square of the slope in every cell."""
    years = (t.time.dt.year - 2001) + (t.time.dt.month - 1) / 12
    centred = years - years.mean()
    return ((xr.dot(t - t.mean("time"), centred, dim="time") / (centred**2).sum()) ** 2).mean()


def tropical_spread(t: xr.DataArray) -> xr.DataArray:
    """Deviation of the mean of a region."""
    return t.sel(lat=slice(-10, 10), lon=slice(190, 240)).mean(("lat", "lon")).std()


PROGRAMS: dict[str, Program] = {
    "monthly anomaly": monthly_anomaly,
    "area-weighted mean": area_mean,
    "trend": trend,
    "index of a region": tropical_spread,
    "rolling mean": lambda t: (t.rolling(time=3).mean() ** 2).mean(),
    "seasonal resample": lambda t: (t.resample(time="QS").mean() ** 2).mean(),
    "standard deviation": lambda t: t.std("time").mean(),
    "lagged correlation": lambda t: xr.corr(t, t.shift(time=1), "time").mean(),
    "gradients in space": lambda t: (t.diff("lon") ** 2).sum() + (t.diff("lat") ** 2).sum(),
    "where and exp": lambda t: np.exp(-((t - 280) ** 2) / 10).where(t > 279.5).mean(),
    "coarsen and stack": lambda t: (t.coarsen(time=6).mean().stack(z=("lat", "lon")).mean("z") ** 2).sum(),
}


def sampler(call: Callable[[], Any]) -> Callable[[], float]:
    """Seconds of one call; a warm-up decides how many calls a sample is."""
    timer = timeit.Timer(call, setup="import gc; gc.enable()")
    timer.timeit(2)
    number = max(1, round(SAMPLE_SECONDS / timer.timeit(1)))
    return lambda: timer.timeit(number) / number


def gradients(rounds: int) -> dict[str, tuple[float, float]]:
    """Seconds of the forward run and of the gradient of every program."""
    ng = importlib.import_module("namedgrad")
    x = field()
    samplers = {(name, "forward"): sampler(lambda f=f: f(x)) for name, f in PROGRAMS.items()}
    derived = {name: ng.grad(f) for name, f in PROGRAMS.items()}
    samplers |= {(name, "gradient"): sampler(lambda g=g: g(x)) for name, g in derived.items()}
    times = medians(samplers, rounds)
    return {name: (times[name, "forward"], times[name, "gradient"]) for name in PROGRAMS}


def forward_runs() -> None:
    """Print seconds for all programs together, once for every line read: one of two interpreters that take turns."""
    x = field()
    samplers = [sampler(lambda f=f: f(x)) for f in PROGRAMS.values()]
    print("ready", flush=True)
    for _ in sys.stdin:
        print(sum(sample() for sample in samplers), flush=True)


def interpreters(rounds: int) -> dict[str, float]:
    """Seconds for all forward runs, in an interpreter without and in one with namedgrad."""
    code = "import sys; sys.path.insert(0, ''); {}from benchmarks.xarray_programs import forward_runs; forward_runs()"
    both = {"xarray": code.format(""), "with namedgrad": code.format("import namedgrad; ")}
    running = {
        name: subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name, text in both.items()
    }

    def ask(process: Any) -> float:
        process.stdin.write("\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    try:
        for process in running.values():
            process.stdout.readline()  # type: ignore[union-attr]
        return medians({name: lambda p=p: ask(p) for name, p in running.items()}, rounds)
    finally:
        for process in running.values():
            process.stdin.close()  # type: ignore[union-attr]
            process.wait()


def main() -> None:
    """Measure, print, save."""
    options = arguments(__doc__, ROUNDS).parse_args()
    times = gradients(options.rounds)
    print(f"(24, 37, 49), float64, medians of {options.rounds} interleaved rounds: ms forward, ms gradient, ratio")
    for name, (forward, gradient) in times.items():
        print(f"  {name:20}{forward * 1e3:9.2f}{gradient * 1e3:9.2f}{gradient / forward:7.2f}")
    print()
    lines = [verdict(f"{name}, gradient / forward", g / f, TARGET) for name, (f, g) in times.items()]
    seconds = interpreters(options.rounds)
    ratio = seconds["with namedgrad"] / seconds["xarray"]
    lines.append(verdict("forward runs after / without import namedgrad", ratio, IMPORT_TARGET))
    if options.json:
        save(options.json, {"rounds": options.rounds, "seconds": times, "imports": seconds, "verdicts": lines})


if __name__ == "__main__":
    main()
