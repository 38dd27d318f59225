"""Convolution and pooling of a batch of images, against torch and against NumPy's sliding windows, on one core.

A batch of 32 x 3 x 64 x 64, convolved with 16 kernels of 3 x 3 and of 5 x 5 cells, and pooled. Every library does it by
its own means: namedgrad with names and in torch's positional layout, torch with its kernels, NumPy with windows as a
view contracted by `tensordot`, or reduced. `pullback` is the forward pass and the gradients for one cotangent, of image
and kernel; nobody would write those by hand, so NumPy has a forward pass only. All results are compared first.
"""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import namedgrad as ng
from benchmarks.report import arguments, medians, sampler, save, verdict

ROUNDS = 21
TARGET = 3.0
DTYPES = ("float64", "float32")
BATCH, CHANNELS, CELLS, OUT = 32, 3, 64, 16
POOLS = {"2 x 2": (2, 2, 0), "3 x 3, overlapping": (3, 1, 1)}


class Case(NamedTuple):
    """One library's way of doing one thing; `run` takes nothing and gives arrays that `read` makes NumPy's."""

    what: str
    group: str
    name: str
    run: Callable[[], Any]
    read: Callable[[Any], Any]


def windows(x: np.ndarray, size: int, stride: int = 1, pad: int = 0, fill: float = 0.0) -> np.ndarray:
    """Two-dimensional windows of NumPy's, as a view of a padded copy."""
    padded = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))
    return view[:, :, ::stride, ::stride]


def convolutions(dtype: str, torch: Any) -> Iterator[Case]:
    """Yield the convolutions, of two sizes of kernels, that keep the size of the images."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(BATCH, CHANNELS, CELLS, CELLS)).astype(dtype)
    g = rng.normal(size=(BATCH, OUT, CELLS, CELLS)).astype(dtype)
    for size in (3, 5):
        what, pad = f"{dtype} convolution {size} x {size}", size // 2
        w = rng.normal(size=(OUT, CHANNELS, size, size)).astype(dtype)
        operands = ng.DimArray(x, ("n", "c", "y", "x")), ng.DimArray(w, ("out", "c", "ky", "kx"))

        def named(x: Any, w: Any, pad: int = pad) -> Any:
            return ng.conv(x, w, {"y": "ky", "x": "kx"}, "c", padding=pad)

        def placed(x: Any, w: Any, pad: int = pad) -> Any:
            return ng.conv2d(x, w, padding=pad)

        def numpy(x: np.ndarray = x, w: np.ndarray = w, size: int = size, pad: int = pad) -> np.ndarray:
            return np.moveaxis(np.tensordot(windows(x, size, pad=pad), w, ((1, 4, 5), (1, 2, 3))), -1, 1)

        yield Case(what, "forward", "numpy", numpy, np.asarray)
        yield from _pair(what, ("namedgrad", _images), named, operands, ng.DimArray(g, ("n", "out", "y", "x")))
        yield from _pair(what, ("namedgrad conv2d", np.asarray), placed, (x, w), g)
        if torch:
            conv = torch.nn.functional.conv2d
            yield from _torch(torch, what, lambda x, w, pad=pad, conv=conv: conv(x, w, padding=pad), (x, w), g)


def pools(dtype: str, torch: Any) -> Iterator[Case]:
    """Yield means and maxima of windows, side by side and overlapping."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(BATCH, CHANNELS, CELLS, CELLS)).astype(dtype)
    image = ng.DimArray(x, ("n", "c", "y", "x"))
    for kind, reduce, fill in (("max", np.max, -np.inf), ("avg", np.mean, 0.0)):
        for label, (size, stride, pad) in POOLS.items():
            what = f"{dtype} {kind}_pool {label}"
            g = rng.normal(size=reduce(windows(x, size, stride, pad, fill), (-2, -1)).shape).astype(dtype)

            def named(x: Any, kind: str = kind, size: int = size, stride: int = stride, pad: int = pad) -> Any:
                return getattr(ng, f"{kind}_pool")(x, {"y": size, "x": size}, stride=stride, padding=pad)

            def numpy(reduce: Any = reduce, of: tuple[Any, ...] = (size, stride, pad, fill)) -> np.ndarray:
                return reduce(windows(x, *of), (-2, -1))

            yield Case(what, "forward", "numpy", numpy, np.asarray)
            yield from _pair(what, ("namedgrad", _images), named, (image,), ng.DimArray(g, image.dims))
            if torch:
                pool = getattr(torch.nn.functional, f"{kind}_pool2d")
                yield from _torch(torch, what, lambda x, of=(size, stride, pad), pool=pool: pool(x, *of), (x,), g)


def _images(a: Any) -> np.ndarray:
    return a.transpose("n", "out", "y", "x").data if "out" in a.dims and "n" in a.dims else a.data


def _pair(
    what: str, name: tuple[str, Callable[[Any], Any]], f: Callable[..., Any], operands: Any, g: Any
) -> Iterator[Case]:
    def pullback() -> Any:
        _, pull = ng.pullback(f, *operands)
        out = pull(g)
        return out if isinstance(out, tuple) else (out,)

    label, read = name
    yield Case(what, "forward", label, lambda: f(*operands), read)
    yield Case(what, "pullback", label, pullback, lambda out: tuple(map(read, out)))


def _torch(torch: Any, what: str, f: Callable[..., Any], operands: Any, g: np.ndarray) -> Iterator[Case]:
    given, leaves = ([torch.from_numpy(a).clone() for a in operands] for _ in range(2))
    for leaf in leaves:
        leaf.requires_grad_()
    cotangent = torch.from_numpy(g)
    yield Case(what, "forward", "torch", lambda: f(*given), np.asarray)

    def pullback() -> Any:
        return torch.autograd.grad(f(*leaves), leaves, cotangent)

    yield Case(what, "pullback", "torch", pullback, lambda out: tuple(map(np.asarray, out)))


def agree(cases: list[Case]) -> None:
    """Refuse to time results that differ."""
    expected: dict[Any, Any] = {}
    for case in cases:
        got = case.read(case.run())
        got = got if isinstance(got, tuple) else (got,)
        scale = 1e-9 if "float64" in case.what else 1e-3
        for mine, reference in zip(got, expected.setdefault((case.what, case.group), got), strict=True):
            atol = scale * np.abs(reference).max()
            np.testing.assert_allclose(mine, reference, rtol=scale, atol=atol, err_msg=str(case[:3]))


def main() -> None:
    """Measure, print, save."""
    options = arguments(__doc__, ROUNDS).parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # read when NumPy is imported: once more, with one thread
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        again = [sys.executable, "-m", "benchmarks.convolution", *sys.argv[1:]]
        sys.exit(subprocess.run(again, env={**os.environ, **one}, check=False).returncode)
    try:
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
    except ImportError:
        torch = None
        print("torch is not installed: left out")
    times: dict[tuple[str, str, str], float] = {}
    for dtype in DTYPES:
        cases = [*convolutions(dtype, torch), *pools(dtype, torch)]
        agree(cases)
        times |= medians({case[:3]: sampler(case.run) for case in cases}, options.rounds)
    print(f"medians of {options.rounds} interleaved rounds, one thread, Python {sys.version.split()[0]}: ms")
    for what, group in dict.fromkeys(key[:2] for key in times):
        row = {name: time for (w, g, name), time in times.items() if (w, g) == (what, group)}
        print(f"  {what:36}{group:10}" + "  ".join(f"{name} {time:.2f}" for name, time in row.items()))
    print()
    lines = []
    for what, group, name in times:
        if name.startswith("namedgrad"):
            peer = times.get((what, group, "torch"))
            ratio = times[what, group, name] / peer if peer else None
            lines.append(verdict(f"{what}, {group}, {name} / torch", ratio, TARGET))
    if options.json:
        rows = [{"what": w, "group": g, "name": n, "ms": time} for (w, g, n), time in times.items()]
        save(options.json, {"rounds": options.rounds, "medians": rows, "verdicts": lines})


if __name__ == "__main__":
    main()
