"""Overhead per operation: a chain of 60 small operations, against hand-written NumPy, autograd, torch and JAX.

The chain is 20 times `x = x * a; x = x + b; x = exp(x)`: 20 multiplications, 20 additions, 20 exponentials of float64,
the same in every library. `b` is such that x stays between 0.7 and 1.1. A gradient is that of the sum of the result
with respect to x, forward pass included; the sum that makes a scalar is not counted as an operation (for anyone), so
"per op" is the time of a call divided by 60. Before anything is timed, all results are compared with NumPy's.

The garbage collector stays on, as it does for users. JAX is waited for (`block_until_ready`).
"""

import importlib
import sys
import timeit
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

import namedgrad as ng
from benchmarks.report import arguments, medians, save, verdict

LAYERS, OPS = 20, 60
SIZES = (1, 100, 10_000)
ROUNDS = 41
SAMPLE_SECONDS = 0.003  # a sample repeats a fast call until it takes about this long


class Case(NamedTuple):
    """One library's way of doing one thing; `run` takes nothing and `read` turns its result into NumPy arrays."""

    group: str
    name: str
    run: Callable[[], Any]
    read: Callable[[Any], Any]


def data(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`x`, `a` and `b` of the chain: near the fixed point x = 1 of exp(x a + b), which attracts."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.9, 1.1, size)
    a = rng.uniform(0.6, 0.9, size)
    return x, a, rng.uniform(-0.05, 0.0, size) - a


def chain(x: Any, a: Any, b: Any, exp: Callable[[Any], Any]) -> Any:
    """Do the 60 operations, in whatever library x, a, b and exp come from."""
    for _ in range(LAYERS):
        x = x * a
        x = x + b
        x = exp(x)
    return x


def by_hand(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.float64, np.ndarray]:
    """Value and gradient as one would write them: save each exp, reuse it on the way back."""
    exp, saved = np.exp, []
    for _ in range(LAYERS):
        x = exp(x * a + b)
        saved.append(x)
    value = np.add.reduce(x)
    g = saved.pop() * a  # the cotangent of a sum is 1
    while saved:
        g = g * saved.pop() * a
    return value, g


def in_place(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.float64, np.ndarray]:
    """Do the same in as few buffers as possible: faster for large arrays, slower for single elements."""
    exp, saved = np.exp, []
    for _ in range(LAYERS):
        x = x * a
        x += b
        exp(x, x)
        saved.append(x)
    value = np.add.reduce(x)
    g = saved.pop() * a
    while saved:
        g *= saved.pop()
        g *= a
    return value, g


def numpy_cases(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> Iterator[Case]:
    """Return the references; nobody would write a gradient that computes no value, so by hand both groups are one."""
    yield Case("forward", "NumPy", lambda: chain(x, a, b, np.exp), np.asarray)
    for name, derive in BY_HAND.items():
        yield Case("gradient", name, lambda derive=derive: derive(x, a, b)[1], np.asarray)
        yield Case("compiled", name, lambda derive=derive: derive(x, a, b), tuple)


BY_HAND = {"by hand": by_hand, "by hand, in place": in_place}


def namedgrad_cases(*arrays: np.ndarray) -> Iterator[Case]:
    """One named dim; `a` and `b` are captured."""
    x, a, b = (ng.DimArray(array, ("x",)) for array in arrays)

    def loss(x: Any) -> Any:
        return chain(x, a, b, ng.exp).sum()

    gradient, compiled = ng.grad(loss), ng.compile(ng.value_and_grad(loss))
    yield Case("forward", "namedgrad", lambda: chain(x, a, b, ng.exp), _named)
    yield Case("gradient", "namedgrad", lambda: gradient(x), _named)
    yield Case("compiled", "namedgrad", lambda: compiled(x), lambda out: tuple(map(_named, out)))


def _named(x: Any) -> np.ndarray:
    return x.to_numpy()


def autograd_cases(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> Iterator[Case]:
    """HIPS autograd, the original."""
    anp = importlib.import_module("autograd.numpy")
    gradient = importlib.import_module("autograd").grad(lambda x: anp.sum(chain(x, a, b, anp.exp)))
    yield Case("forward", "autograd", lambda: chain(x, a, b, anp.exp), np.asarray)
    yield Case("gradient", "autograd", lambda: gradient(x), np.asarray)


def torch_cases(*arrays: np.ndarray) -> Iterator[Case]:
    """Torch on the CPU; the forward pass without gradients, as the others'."""
    torch = importlib.import_module("torch")
    x, a, b = map(torch.from_numpy, arrays)
    leaf = x.clone().requires_grad_()
    derive, exp = torch.autograd.grad, torch.exp
    yield Case("forward", "torch", lambda: chain(x, a, b, exp), np.asarray)
    yield Case("gradient", "torch", lambda: derive(chain(leaf, a, b, exp).sum(), leaf)[0], np.asarray)


def jax_cases(*arrays: np.ndarray) -> Iterator[Case]:
    """JAX on the CPU, operation by operation and compiled."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)  # noqa: FBT003 (a setting's value)
    x, a, b = map(jax.numpy.asarray, arrays)
    exp, wait = jax.numpy.exp, jax.block_until_ready

    def loss(x: Any) -> Any:
        return chain(x, a, b, exp).sum()

    gradient, compiled = jax.grad(loss), jax.jit(jax.value_and_grad(loss))
    yield Case("forward", "JAX", lambda: wait(chain(x, a, b, exp)), np.asarray)
    yield Case("gradient", "JAX", lambda: wait(gradient(x)), np.asarray)
    yield Case("compiled", "JAX jit", lambda: wait(compiled(x)), lambda out: tuple(map(np.asarray, out)))


LIBRARIES = {
    "numpy": numpy_cases,
    "namedgrad": namedgrad_cases,
    "autograd": autograd_cases,
    "torch": torch_cases,
    "jax": jax_cases,
}


def installed() -> list[str]:
    """Return the libraries that can be imported; a line for each that cannot."""
    found = []
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except ImportError:
            print(f"{name} is not installed: left out")
        else:
            found.append(name)
    return found


def agree(cases: list[Case]) -> None:
    """Refuse to time results that differ from NumPy's."""
    expected: dict[str, Any] = {}
    for case in cases:
        got = case.read(case.run())
        for mine, reference in zip(_flat(got), _flat(expected.setdefault(case.group, got)), strict=True):
            np.testing.assert_allclose(mine, reference, rtol=1e-9, err_msg=f"{case.group}: {case.name}")
            if np.asarray(mine).dtype != np.float64:
                raise TypeError(f"{case.group}: {case.name} computes in {np.asarray(mine).dtype}")


def _flat(out: Any) -> tuple[Any, ...]:
    return out if isinstance(out, tuple) else (out,)


def sampler(call: Callable[[], Any]) -> Callable[[], float]:
    """Microseconds per operation of one sample; a warm-up decides how many calls a sample is."""
    timer = timeit.Timer(call, setup="import gc; gc.enable()")
    timer.timeit(3)
    number = max(1, round(SAMPLE_SECONDS / (timer.timeit(3) / 3)))
    return lambda: timer.timeit(number) / number / OPS * 1e6


Key = tuple[str, str, int]  # group, name, size


def measure(libraries: list[str], rounds: int) -> dict[Key, float]:
    """Median microseconds per operation, everything interleaved with everything."""
    samplers: dict[Key, Callable[[], float]] = {}
    for size in SIZES:
        cases = [case for name in libraries for case in LIBRARIES[name](*data(size))]
        agree(cases)
        samplers |= {(case.group, case.name, size): sampler(case.run) for case in cases}
    return medians(samplers, rounds)


def table(times: dict[Key, float]) -> None:
    """Print microseconds per operation, and the ratio to the first row of each group."""
    sizes = "".join(f"{f'{size:,}':>18}" for size in SIZES)
    for group in dict.fromkeys(group for group, _, _ in times):
        print(f"\n{group:20}{sizes}   elements: µs per op (ratio)")
        names = list(dict.fromkeys(name for g, name, _ in times if g == group))
        for name in names:
            cells = ((times[group, name, size], times[group, names[0], size]) for size in SIZES)
            print(f"  {name:18}" + "".join(f"{time:9.2f} ({time / first:6.2f})" for time, first in cells))


def verdicts(times: dict[Key, float]) -> list[dict[str, Any]]:
    """Print the ratios that have a target; of several peers, to the fastest."""

    def line(group: str, peer: str, size: int, target: float, names: Iterable[str] = ()) -> dict[str, Any]:
        peers = [times[group, name, size] for name in names or [peer] if (group, name, size) in times]
        ratio = times[group, "namedgrad", size] / min(peers) if peers else None
        return verdict(f"{group}, {size:,} element{'s'[: size > 1]}, namedgrad / {peer}", ratio, target)

    print()
    return [
        line("forward", "NumPy", 100, 5),
        *(line("gradient", "torch", size, target) for size, target in zip(SIZES, (1.25, 1.25, 1), strict=True)),
        *(line("compiled", "NumPy by hand", size, 1.2, BY_HAND) for size in SIZES),
    ]


def main() -> None:
    """Measure, print, save."""
    options = arguments(__doc__, ROUNDS).parse_args()
    libraries = installed()
    times = measure(libraries, options.rounds)
    print(f"{OPS} operations, float64, medians of {options.rounds} interleaved rounds, Python {sys.version.split()[0]}")
    table(times)
    targets = verdicts(times)
    if options.json:
        rows = [{"group": g, "name": n, "size": s, "us_per_op": time} for (g, n, s), time in times.items()]
        save(options.json, {"ops": OPS, "rounds": options.rounds, "medians": rows, "verdicts": targets})


if __name__ == "__main__":
    main()
