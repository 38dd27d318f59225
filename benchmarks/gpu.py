"""On a GPU: fits of many pixels, gradients of a program, single operations, beside CuPy by hand, torch and JAX.

The fits are blobs, 2-D Gaussian functions with 5 parameters in float32, one for each cell, and exponentials with a
line, 4 parameters, one for each pixel of a cube; what counts is how many points are fitted in a second, all iterations
together. The program is the mean square of an exponential less a cube, with respect to its three maps of parameters.
Every time includes what waits for the device. Before anything is timed, all results are compared. ``--stand-in`` runs
everything in small on NumPy's arrays behind CuPy's names, for machines without a GPU: its times mean nothing.
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX takes three quarters of the device otherwise

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import namedgrad as ng
from benchmarks.report import arguments, medians, save, verdict

ROUNDS, FIT_ROUNDS = 11, 3  # a fit takes seconds
POINT_FITS = 67e6  # of a second: what Gpufit's authors publish
TARGET = 1.5
Call = Callable[[], Any]


class Sizes(NamedTuple):
    """How much there is to do."""

    blobs: int  #: cells, each of 5 x 5 points
    fitted: tuple[int, int, int]  #: time, latitude, longitude of the cube that is fitted
    cube: tuple[int, int, int]  #: of the program
    elements: int  #: of an operation


LARGE = Sizes(1_000_000, (240, 128, 128), (240, 512, 512), 10_000_000)
SMALL = Sizes(50, (30, 3, 4), (6, 5, 4), 400)


class Device(NamedTuple):
    """CuPy, or what stands for it."""

    cupy: Any
    name: str
    wait: Callable[[], None]

    def array(self, x: np.ndarray, dims: Any) -> ng.DimArray:
        """Named data on the device."""
        return ng.DimArray(self.cupy.asarray(x), dims)


def device(stand_in: bool) -> Device | None:
    """What there is."""
    if stand_in:
        from tests.support import fake_cupy

        sys.modules.update({"cupy": sys.modules[fake_cupy.__name__], **fake_cupy.PACKAGES})
        return Device(fake_cupy, "stand-in", lambda: None)
    try:
        import cupy
    except ImportError:
        return None
    if not cupy.is_available():
        return None
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return Device(cupy, name, cupy.cuda.runtime.deviceSynchronize)


def stopwatch(run: Call, wait: Callable[[], None]) -> Callable[[], float]:
    """Seconds of one run, from an idle device to an idle device."""

    def timed() -> float:
        wait()
        start = time.perf_counter()
        run()
        wait()
        return time.perf_counter() - start

    return timed


def compared(calls: dict[str, Call], rtol: float) -> None:
    """Run all, which compiles them, and raise unless they agree to some part of the largest number."""
    first, *others = calls
    want = [np.asarray(x, np.float64) for x in calls[first]()]
    for name in others:
        for x, y in zip(calls[name](), want, strict=True):
            off = np.max(np.abs(np.asarray(x, np.float64) - y)) / max(np.max(np.abs(y)), 1e-300)
            if not off <= rtol:
                raise AssertionError(f"{name} differs from {first} by {off:.2g} of the largest number")


# ------------------------------------------------------------------------------------------------ fits


def blob(p: Any, x: Any, y: Any, z: Any) -> Any:
    """A round Gaussian function and a level, less what was observed."""
    square = (x - p["x0"]) ** 2 + (y - p["y0"]) ** 2
    return p["size"] * ng.exp(-0.5 * square / p["width"] ** 2) + p["level"] - z


def decay(p: Any, t: Any, z: Any) -> Any:
    """An exponential and a line, less what was observed."""
    return p["a"] * ng.exp(-p["b"] * t) + p["c"] + p["d"] * t - z


class Fit(NamedTuple):
    """Observations with noise on the host, and where to start."""

    name: str
    residual: Callable[..., Any]
    start: dict[str, float]
    data: tuple[ng.DimArray, ...]
    over: tuple[str, ...]

    def run(self, *data: ng.DimArray) -> Any:
        """The fit of these data."""
        return ng.least_squares(self.residual, self.start, *data, over=self.over)


def blobs(sizes: Sizes) -> Fit:
    """Five by five points around blobs whose centres, sizes and widths differ."""
    rng, at = np.random.default_rng(0), np.arange(5.0)
    spread = {"size": (8, 12), "x0": (1.5, 2.5), "y0": (1.5, 2.5), "width": (0.8, 1.2), "level": (0.5, 1.5)}
    p = {n: ng.DimArray(rng.uniform(*ends, sizes.blobs), "cell") for n, ends in spread.items()}
    x, y = ng.DimArray(at, "x"), ng.DimArray(at, "y")
    z = blob(p, x, y, 0.0) + ng.DimArray(0.2 * rng.normal(size=(sizes.blobs, 5, 5)), ("cell", "x", "y"))
    start = {"size": 10.0, "x0": 2.0, "y0": 2.0, "width": 1.0, "level": 1.0}
    return Fit("blobs", blob, start, tuple(a.astype(np.float32) for a in (x, y, z)), ("cell",))


def cube(sizes: Sizes, dtype: Any) -> Fit:
    """Pixels with a decay and a trend."""
    rng, (n, *shape) = np.random.default_rng(1), sizes.fitted
    spread = {"a": (1, 3), "b": (2, 5), "c": (-1, 1), "d": (-1, 1)}
    p = {k: ng.DimArray(rng.uniform(*ends, shape), ("lat", "lon")) for k, ends in spread.items()}
    t = ng.DimArray(np.linspace(0, 1, n), "time")
    z = decay(p, t, 0.0) + ng.DimArray(0.05 * rng.normal(size=sizes.fitted), ("time", "lat", "lon"))
    start = {"a": 2.0, "b": 3.0, "c": 0.0, "d": 0.0}
    y = z.transpose("time", "lat", "lon").astype(dtype)
    return Fit(f"cube, {np.dtype(dtype)}", decay, start, (t.astype(dtype), y), ("lat", "lon"))


def fits(there: Device, sizes: Sizes, rounds: int) -> Iterator[dict[str, Any]]:
    """Points per second, each iteration's included."""
    for fit in (blobs(sizes), cube(sizes, np.float32), cube(sizes, np.float64)):
        data = [there.array(x.data, x.dims) for x in fit.data]
        same(fit, fit.run(*data))
        run = {fit.name: stopwatch(lambda fit=fit, data=data: fit.run(*data), there.wait)}
        seconds = medians(run, min(rounds, FIT_ROUNDS))[fit.name]
        points = math.prod(fit.data[-1].shape)
        shape = " x ".join(map(str, fit.data[-1].shape))
        print(f"{fit.name}, {shape}, {len(fit.start)} parameters: {seconds:.3f} s, {points / seconds:.3g} point-fits/s")
        yield verdict(f"{fit.name}: 67 million point-fits per second / here", POINT_FITS * seconds / points, 1.0)


def same(fit: Fit, found: Any) -> None:
    """Raise unless the cells of one corner have the parameters that they have on the host, in float64."""
    *rest, z = fit.data
    corner = dict.fromkeys(fit.over, slice(0, 20))
    host = fit.run(*(x.astype(np.float64) for x in (*rest, z.isel(corner))))
    for name in fit.start:
        ours = found.params[name].to_numpy()[(slice(0, 20),) * len(fit.over)]
        off = np.abs(ours - host.params[name].to_numpy()) / host.stderr[name].to_numpy()
        if not np.quantile(off, 0.95) < 0.05:
            raise AssertionError(f"{fit.name}: {name} is {np.max(off):.2g} standard errors from that of the host")


# ------------------------------------------------------------------------------------------------ a program


def loss(a: Any, b: Any, c: Any, t: Any, y: Any) -> Any:
    """The mean square of an exponential less a cube."""
    return ((a * ng.exp(-b * t) + c - y) ** 2).mean()


def maps(sizes: Sizes, dtype: Any) -> list[np.ndarray]:
    """What the program is given: three maps, times, a cube."""
    rng, (n, *shape) = np.random.default_rng(2), sizes.cube
    several = [rng.uniform(1, 2, shape) for _ in range(3)]
    return [x.astype(dtype) for x in (*several, np.linspace(0, 1, n), rng.normal(size=sizes.cube))]


def programs(there: Device, host: list[np.ndarray]) -> tuple[dict[str, Call], dict[str, Call]]:
    """By name: calls that are timed, and what the same give as arrays of the host."""
    dims = (("lat", "lon"),) * 3 + (("time",), ("time", "lat", "lon"))
    named = [there.array(x, d) for x, d in zip(host, dims, strict=True)]
    eager = ng.value_and_grad(loss, (0, 1, 2))
    compiled, raw = ng.compile(eager), [x.data for x in named]
    calls: dict[str, tuple[Call, Callable[[Any], list[Any]]]] = {
        "CuPy by hand": (lambda: _by_hand(there.cupy, *raw), lambda out: [x.get() for x in out]),
        "eager": (lambda: eager(*named), lambda out: [x.to_numpy() for x in (out[0], *out[1])]),
        "compiled": (lambda: compiled(*named), lambda out: [x.to_numpy() for x in (out[0], *out[1])]),
        **_torch(host),
        **_jax(host),
    }
    return {n: run for n, (run, _) in calls.items()}, {n: lambda r=run, t=to: t(r()) for n, (run, to) in calls.items()}


def _by_hand(xp: Any, *arrays: Any) -> tuple[Any, ...]:
    a, b, c, t, y = arrays
    t = t[:, None, None]
    wave = xp.exp(-b * t)
    off = a * wave + c - y
    twice = 2 / y.size * off
    wave *= twice
    return xp.mean(off * off), xp.sum(wave, axis=0), -a * xp.sum(wave * t, axis=0), xp.sum(twice, axis=0)


def _torch(host: list[np.ndarray]) -> dict[str, Any]:
    try:
        import torch
    except ImportError:
        return _left_out("torch")
    if not torch.cuda.is_available():
        return _left_out("torch on a GPU")
    *several, t, y = (torch.as_tensor(x, device="cuda") for x in host)
    for x in several:
        x.requires_grad_()

    def run() -> tuple[Any, ...]:
        a, b, c = several
        value = ((a * torch.exp(-b * t[:, None, None]) + c - y) ** 2).mean()
        return (value.detach(), *torch.autograd.grad(value, several))

    return {"torch eager": (run, lambda out: [x.cpu().numpy() for x in out])}


def _jax(host: list[np.ndarray]) -> dict[str, Any]:
    try:
        import jax
    except ImportError:
        return _left_out("JAX")
    if jax.default_backend() != "gpu":
        return _left_out("JAX on a GPU")
    jax.config.update("jax_enable_x64", True)  # noqa: FBT003 - JAX's own signature
    arrays = [jax.device_put(x) for x in host]

    def value(a: Any, b: Any, c: Any, t: Any, y: Any) -> Any:
        return ((a * jax.numpy.exp(-b * t[:, None, None]) + c - y) ** 2).mean()

    f = jax.jit(jax.value_and_grad(value, (0, 1, 2)))
    fetch = lambda out: [np.asarray(x) for x in (out[0], *out[1])]
    return {"JAX jit": (lambda: jax.block_until_ready(f(*arrays)), fetch)}


def _left_out(peer: str) -> dict[str, Any]:
    print(f"  left out: {peer}, which is not here")
    return {}


def gradients(there: Device, sizes: Sizes, rounds: int) -> Iterator[dict[str, Any]]:
    """The program in both precisions."""
    for dtype, rtol in ((np.float32, 1e-3), (np.float64, 1e-9)):
        run, results = programs(there, maps(sizes, dtype))
        compared(results, rtol)
        found = medians({name: stopwatch(call, there.wait) for name, call in run.items()}, rounds)
        what = f"value and gradient, {np.dtype(dtype)}, " + " x ".join(map(str, sizes.cube))
        print(f"{what}: " + ", ".join(f"{name} {1e3 * s:.3f} ms" for name, s in found.items()))
        for ours, peer in (("eager", "torch eager"), ("compiled", "CuPy by hand"), ("compiled", "JAX jit")):
            ratio = found[ours] / found[peer] if peer in found else None
            yield verdict(f"{what}: {ours} / {peer}", ratio, TARGET)


# ------------------------------------------------------------------------------------------------ operations


class Operation(NamedTuple):
    """One operation on numbers along ``x`` and ``y``: here, by hand, and its gradients by hand."""

    call: Callable[..., ng.DimArray]
    value: Callable[..., Any]
    pull: Callable[..., tuple[Any, ...]]  #: of the module, the cotangent, the value, the operands
    operands: int = 1


def _softmax(xp: Any, x: Any) -> Any:
    wave = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return wave / xp.sum(wave, axis=1, keepdims=True)


OPERATIONS = {
    "exp": Operation(ng.exp, lambda xp, x: xp.exp(x), lambda xp, c, v, x: (c * v,)),
    "tanh": Operation(ng.tanh, lambda xp, x: xp.tanh(x), lambda xp, c, v, x: (c * (1 - v * v),)),
    "multiply": Operation(lambda x, y: x * y, lambda xp, x, y: x * y, lambda xp, c, v, x, y: (c * y, c * x), 2),
    "maximum": Operation(ng.relu, lambda xp, x: xp.maximum(x, 0), lambda xp, c, v, x: (c * (x > 0),)),
    "sum": Operation(
        lambda x: x.sum("y"),
        lambda xp, x: x.sum(axis=1),
        lambda xp, c, v, x: (xp.array(xp.broadcast_to(c[:, None], x.shape), copy=True),),
    ),
    "softmax": Operation(
        lambda x: ng.softmax(x, "y"),
        _softmax,
        lambda xp, c, v, x: (v * (c - xp.sum(c * v, axis=1, keepdims=True)),),
    ),
    "cumsum": Operation(
        lambda x: ng.cumsum(x, "y"),
        lambda xp, x: xp.cumsum(x, axis=1),
        lambda xp, c, v, x: (xp.flip(xp.cumsum(xp.flip(c, axis=1), axis=1), axis=1),),
    ),
    "matmul": Operation(
        lambda x, y: ng.dot(x, ng.rename(y, {"y": "z"}), dim="x"),
        lambda xp, x, y: xp.matmul(x.T, y),
        lambda xp, c, v, x, y: (xp.matmul(y, c.T), xp.matmul(x, c)),
        2,
    ),
}


def calls_of(op: Operation, there: Device, side: int) -> dict[str, Call]:
    """Value and gradient, here and by hand, of matrices of float32."""
    rng, xp = np.random.default_rng(3), there.cupy
    named = [there.array(rng.normal(size=(side, side)).astype(np.float32), ("x", "y")) for _ in range(op.operands)]
    raw, out = [x.data for x in named], op.call(*named)
    seed = there.array(rng.normal(size=out.shape).astype(np.float32), out.dims)
    return {
        "value": lambda: op.call(*named),
        "value by hand": lambda: op.value(xp, *raw),
        "gradient": lambda: ng.pullback(op.call, *named)[1](seed),
        "gradient by hand": lambda: op.pull(xp, seed.data, op.value(xp, *raw), *raw),
    }


def fetched(out: Any) -> list[np.ndarray]:
    """One result, or several, on the host."""
    several = out if isinstance(out, tuple) else (out,)
    return [x.to_numpy() if isinstance(x, ng.DimArray) else x.get() for x in several]


def operations(there: Device, sizes: Sizes, rounds: int) -> Iterator[dict[str, Any]]:
    """Value, and value and gradient, of single operations in float32."""
    side = math.isqrt(sizes.elements)
    for name, op in OPERATIONS.items():
        run = calls_of(op, there, side)
        for key in ("value", "gradient"):
            compared({k: lambda call=run[k]: fetched(call()) for k in (f"{key} by hand", key)}, 1e-4)
        found = medians({key: stopwatch(call, there.wait) for key, call in run.items()}, rounds)
        print(f"{name}, {side} x {side}: " + ", ".join(f"{key} {1e3 * s:.3f} ms" for key, s in found.items()))
        for key in ("value", "gradient"):
            yield verdict(f"{name}: {key}, here / by hand", found[key] / found[f"{key} by hand"], TARGET)


def options() -> argparse.Namespace:
    """Of the command line."""
    parser = arguments(__doc__, ROUNDS)
    parser.add_argument("--stand-in", action="store_true", help="try everything in small without a GPU")
    return parser.parse_args()


def main() -> None:
    """Measure, print, save."""
    given = options()
    there = device(given.stand_in)
    if there is None:
        print("no GPU: nothing is measured; --stand-in tries the program without one")
        return
    sizes = SMALL if given.stand_in else LARGE
    print(f"medians of {given.rounds} rounds on {there.name}, Python {sys.version.split()[0]}")
    lines = [line for part in (gradients, operations, fits) for line in part(there, sizes, given.rounds)]
    if given.json:
        save(given.json, {"rounds": given.rounds, "gpu": there.name, "sizes": sizes._asdict(), "verdicts": lines})


if __name__ == "__main__":
    main()
