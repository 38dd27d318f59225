"""Fits of a cube by namedgrad, xarray's `curvefit`, and Levenberg-Marquardt written by hand for the model.

The cube is (time 240, latitude 37, longitude 49), as a climate projection of North America; its pixels are exponentials
with a trend, or oscillations, and noise. All start from the same values. Everything runs on one thread; after that
namedgrad runs on one and on two threads, beside two processes that fit half of the cube each.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

import namedgrad as ng
from benchmarks import fits_by_hand as by_hand
from benchmarks.report import arguments, medians, save, verdict

SHAPE = (240, 37, 49)
ROUNDS = 5
NAMES = ("a", "b", "c", "d")
LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def exponential(t: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """An exponential and a line."""
    return a * np.exp(-b * t) + c + d * t


def harmonic(t: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """An oscillation about a level."""
    return a * np.sin(b * t + c) + d


MODELS = {
    "exponential": (
        exponential,
        by_hand.exponential,
        ((1, 3), (2, 5), (-1, 1), (-1, 1)),
        (2.0, 3.0, 0.0, 0.0),
        (2.5, 4.5),
    ),
    "harmonic": (harmonic, by_hand.harmonic, ((1, 3), (6, 7), (-1, 1), (-1, 1)), (2.0, 6.5, 0.0, 0.0), (6.2, 6.8)),
}
TARGETS = {"exponential": 10.0, "harmonic": 4.0, "exponential, bounded": 25.0}


def cube(model: Callable[..., Any], ranges: Any) -> xr.DataArray:
    """Noisy pixels with parameters drawn from the ranges."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 1, SHAPE[0])
    p = [rng.uniform(low, high, SHAPE[1:]) for low, high in ranges]
    y = model(t[:, None, None], *p) + 0.05 * rng.normal(size=SHAPE)
    return xr.DataArray(y, {"time": t}, ("time", "lat", "lon"))


def fitted(model: Callable[..., Any], start: Any, y: xr.DataArray, **options: Any) -> Any:
    """The fit by namedgrad."""
    residual = lambda p, t, y: model(t, *(p[n] for n in NAMES)) - y
    return ng.least_squares(residual, dict(zip(NAMES, start, strict=True)), y.time, y, over=("lat", "lon"), **options)


def stopwatch(run: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> Callable[[], float]:
    """Seconds of one run."""

    def timed() -> float:
        start = clock()
        run()
        return clock() - start

    return timed


def one_thread(rounds: int) -> list[dict[str, Any]]:
    """Compare on one thread, in processor time."""
    out = []
    for name, (model, sums, ranges, start, limits) in MODELS.items():
        y = cube(model, ranges)
        p0 = dict(zip(NAMES, start, strict=True))
        plain = lambda y=y, sums=sums, start=start: by_hand.fit(
            sums, np.array(start), y.time.values, np.ascontiguousarray(y.values.reshape(SHAPE[0], -1).T)
        )
        agree(fitted(model, start, y), plain()[0], y.curvefit("time", model, p0=p0, errors="ignore"))
        for bounds in (None, {"b": limits}):
            case = f"{name}, bounded" if bounds else name
            ours = lambda y=y, model=model, start=start, bounds=bounds: fitted(model, start, y, bounds=bounds)
            theirs = lambda y=y, model=model, p0=p0, bounds=bounds: y.curvefit(
                "time", model, p0=p0, bounds=bounds, errors="ignore"
            )
            several = {"namedgrad": stopwatch(ours), "by hand": stopwatch(plain), "curvefit": stopwatch(theirs)}
            slow = {} if bounds is None else {"curvefit": several.pop("curvefit")()}  # once: it takes seconds
            found = medians(several, rounds) | slow
            xarray = found["curvefit"]
            print(f"{case}: " + ", ".join(f"{k} {v:.3f} s" for k, v in found.items()))
            if case in TARGETS:
                out.append(verdict(f"{case}: namedgrad / curvefit", found["namedgrad"] / xarray, 1 / TARGETS[case]))
            if not bounds:
                out.append(verdict(f"{case}: namedgrad / by hand", found["namedgrad"] / found["by hand"], 1.3))
                if name == "exponential":
                    out.append(verdict(f"{case}: by hand / curvefit", found["by hand"] / xarray, 0.1))
    return out


def agree(fit: Any, hand: np.ndarray, theirs: xr.Dataset) -> None:
    """Raise unless all three agree where all have converged."""
    good = (fit.status == 0).values & np.isfinite(theirs.curvefit_coefficients.values).all(axis=-1)
    ours = np.stack([fit.params[n].values for n in NAMES], axis=-1)
    error = fit.stderr.to_dataarray("param").transpose(..., "param").values
    for other, allowed in ((theirs.curvefit_coefficients.values, 1e-3), (hand.T.reshape(ours.shape), 0.05)):
        off = np.abs(other - ours)[good] / error[good]  # in standard errors: the peers stop earlier
        if np.quantile(off, 0.99) > allowed:
            raise AssertionError(f"fits disagree by {np.quantile(off, 0.99):.2g} standard errors")


def two_threads() -> list[dict[str, Any]]:
    """Compare one and two threads, and two processes with half of the work each, in wall-clock time."""
    return [_threads(model) for model in MODELS]


def _threads(model: str) -> dict[str, Any]:
    whole = SHAPE[2] * 16
    run = {str(n): lambda n=n: _wall(model, [whole], threads=n) for n in (1, 2)}
    run["processes"] = lambda: _wall(model, [whole // 2] * 2, threads=1)
    found = medians(run, 3)
    gain, possible = found["1"] / found["2"], found["1"] / found["processes"]
    times = f"one thread {found['1']:.3f} s, two {found['2']:.3f} s, two processes {found['processes']:.3f} s"
    print(f"{model}, sixteen cubes: {times}")
    what = f"{model}: two threads gain {gain:.2f}, two processes {possible:.2f}: expected / gained"
    return verdict(what, min(1.6, 0.9 * possible) / gain, 1.0)


def _wall(model: str, widths: list[int], threads: int) -> float:
    """Seconds that the slowest of some processes takes for its fits of cubes so wide."""
    env = {**os.environ, **dict.fromkeys(LIMITS, str(threads))}
    command = [sys.executable, "-m", "benchmarks.fits", "--worker", model]
    several = [subprocess.Popen([*command, str(w)], env=env, stdout=subprocess.PIPE, text=True) for w in widths]
    return max(float(p.communicate()[0].split()[-1]) for p in several)


def worker(name: str, width: int) -> None:
    """Fit a wide cube and print the seconds that it took."""
    model, _, ranges, start, _ = MODELS[name]
    y = cube(model, ranges)
    y = xr.concat([y] * (width // SHAPE[2]), "lon")
    fitted(model, start, y.isel(lon=slice(SHAPE[2])))
    print(min(stopwatch(lambda: fitted(model, start, y), time.perf_counter)() for _ in range(3)))


def main() -> None:
    """Measure, print, save."""
    if "--worker" in sys.argv:
        worker(sys.argv[-2], int(sys.argv[-1]))
        return
    options = arguments(__doc__, ROUNDS).parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":  # read when NumPy is imported: once more, with one thread
        again = [sys.executable, "-m", "benchmarks.fits", *sys.argv[1:]]
        sys.exit(subprocess.run(again, env={**os.environ, **dict.fromkeys(LIMITS, "1")}, check=False).returncode)
    print(f"medians of {options.rounds} interleaved rounds, cube {SHAPE}, Python {sys.version.split()[0]}")
    lines = one_thread(options.rounds) + two_threads()
    if options.json:
        save(options.json, {"rounds": options.rounds, "verdicts": lines})


if __name__ == "__main__":
    main()
