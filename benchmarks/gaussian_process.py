"""Gradient of a Gaussian process's log marginal likelihood, against JAX jit and torch, on the same cores.

1024 processes of 64 points each, and one of 1000: a kernel from positions, scale, variance and noise, its Cholesky
factor, a triangular solve and a log determinant; gradients with respect to scale, variance and noise of every process,
and to its positions too. Every library is given NumPy's numbers as arrays of its own beforehand, and uses as
many threads as it likes on the cores that `--cores` leaves to all of them. Results are compared first.
"""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import namedgrad as ng
from benchmarks.report import arguments, medians, sampler, save, verdict

ROUNDS = 15
TARGET = 1.5
SIZES = {"1024 of 64 x 64": ((1024,), 64), "one of 1000 x 1000": ((), 1000)}
WRT = {"in 3 parameters": (0, 1, 2), "in positions too": (0, 1, 2, 3)}
MATRIX = ("point", "other")
Numbers = tuple[np.ndarray, ...]


class Case(NamedTuple):
    """One library's way of doing one thing; `run` takes nothing and gives arrays."""

    what: str
    name: str
    run: Callable[[], Any]


def numbers(shape: tuple[int, ...], points: int) -> Numbers:
    """Scale, variance and noise of every process, its positions, its observations."""
    rng = np.random.default_rng(0)
    positive = [rng.uniform(low, high, shape) for low, high in ((0.3, 0.5), (0.5, 2.0), (0.05, 0.2))]
    return *positive, rng.uniform(0, 10, (*shape, points)), rng.normal(size=(*shape, points))


# ------------------------------------------------------------------------------------------------ the same, three times


def named(scale: Any, variance: Any, noise: Any, x: Any, y: Any) -> Any:
    """Minus the log likelihood up to a constant, summed over processes, by name."""
    apart = (x - x.rename(point="other")) / scale
    covariance = variance * ng.exp(-0.5 * apart * apart) + noise * ng.eye(*MATRIX, x.sizes["point"])
    low = ng.cholesky(covariance, MATRIX)
    z = ng.solve_triangular(low, y, MATRIX)
    return 0.5 * (z * z).sum() + ng.log(ng.diagonal(low, MATRIX)).sum()


def in_jax(jax: Any) -> Callable[..., Any]:
    """The same in JAX, for one process."""
    jnp, linalg = jax.numpy, jax.scipy.linalg

    def loss(scale: Any, variance: Any, noise: Any, x: Any, y: Any) -> Any:
        apart = (x[:, None] - x[None, :]) / scale
        covariance = variance * jnp.exp(-0.5 * apart * apart) + noise * jnp.eye(x.size)
        low = jnp.linalg.cholesky(covariance)
        z = linalg.solve_triangular(low, y, lower=True)
        return 0.5 * (z * z).sum() + jnp.log(jnp.diagonal(low)).sum()

    return loss


def in_torch(torch: Any) -> Callable[..., Any]:
    """The same in torch, with the processes along the first axis if there are several."""

    def loss(scale: Any, variance: Any, noise: Any, x: Any, y: Any) -> Any:
        scale, variance, noise = (p[..., None, None] for p in (scale, variance, noise))
        apart = (x[..., :, None] - x[..., None, :]) / scale
        covariance = variance * torch.exp(-0.5 * apart * apart) + noise * torch.eye(x.shape[-1], dtype=x.dtype)
        low = torch.linalg.cholesky(covariance)
        z = torch.linalg.solve_triangular(low, y[..., None], upper=False)
        return 0.5 * (z * z).sum() + torch.log(torch.diagonal(low, dim1=-2, dim2=-1)).sum()

    return loss


# ------------------------------------------------------------------------------------------------ cases


def of_namedgrad(what: str, given: Numbers, wrt: tuple[int, ...]) -> list[Case]:
    """As it is, and compiled."""
    dims = [("process",) * (a.ndim - (k > 2)) + ("point",) * (k > 2) for k, a in enumerate(given)]
    operands = [ng.DimArray(a, d) for a, d in zip(given, dims, strict=True)]
    gradient = ng.grad(named, wrt)
    compiled = ng.compile(gradient)
    return [
        Case(what, "namedgrad", lambda: gradient(*operands)),
        Case(what, "namedgrad compiled", lambda: compiled(*operands)),
    ]


def of_jax(what: str, given: Numbers, wrt: tuple[int, ...]) -> list[Case]:
    """Compiled."""
    try:
        jax = importlib.import_module("jax")
    except ImportError:
        return []
    jax.config.update("jax_enable_x64", val=True)
    operands = [jax.device_put(a) for a in given]
    gradient = jax.grad(in_jax(jax), wrt)
    run = jax.jit(jax.vmap(gradient) if given[0].ndim else gradient)
    return [Case(what, "JAX jit", lambda: jax.block_until_ready(run(*operands)))]


def of_torch(what: str, given: Numbers, wrt: tuple[int, ...]) -> list[Case]:
    """As it is."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return []
    operands = [torch.as_tensor(a) for a in given]
    leaves = [operands[i].requires_grad_() for i in wrt]
    loss = in_torch(torch)
    return [Case(what, "torch", lambda: torch.autograd.grad(loss(*operands), leaves))]


def agree(cases: list[Case]) -> None:
    """Refuse to time results that differ."""
    expected = [np.asarray(part) for part in cases[0].run()]
    for case in cases[1:]:
        for got, reference in zip(case.run(), expected, strict=True):
            atol = 1e-9 * np.abs(reference).max()
            np.testing.assert_allclose(np.asarray(got), reference, rtol=1e-7, atol=atol, err_msg=str(case[:2]))


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__, ROUNDS)
    parser.add_argument("--cores", type=int, metavar="N", help="leave so many to all of them (default: all there are)")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if options.cores and options.cores < len(cores):  # threads are counted when a library is imported: once more
        os.sched_setaffinity(0, cores[: options.cores])
        again = [sys.executable, "-m", "benchmarks.gaussian_process", *sys.argv[1:]]
        sys.exit(subprocess.run(again, check=False).returncode)
    print(f"medians of {options.rounds} interleaved rounds, {len(cores)} cores for everybody: ms")
    times: dict[tuple[str, str], float] = {}
    for size, (shape, points) in SIZES.items():
        given = numbers(shape, points)
        for label, wrt in WRT.items():
            what = f"{size}, {label}"
            cases = [case for library in (of_namedgrad, of_jax, of_torch) for case in library(what, given, wrt)]
            agree(cases)
            times |= medians({case[:2]: sampler(case.run) for case in cases}, options.rounds)
            row = "  ".join(f"{name} {time:.2f}" for (w, name), time in times.items() if w == what)
            print(f"  {what:40}{row}")
    print()
    lines = []
    for what, name in times:
        if name.startswith("namedgrad"):
            peers = [times[what, peer] for peer in ("JAX jit", "torch") if (what, peer) in times]
            ratio = times[what, name] / min(peers) if peers else None
            lines.append(verdict(f"{what}: {name} / the faster of JAX jit and torch", ratio, TARGET))
    if options.json:
        rows = [{"what": w, "name": n, "ms": time} for (w, n), time in times.items()]
        save(options.json, {"rounds": options.rounds, "cores": len(cores), "medians": rows, "verdicts": lines})


if __name__ == "__main__":
    main()
