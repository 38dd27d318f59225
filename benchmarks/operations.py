"""Single operations on a million elements, value and gradient, against NumPy written by hand for the same computation.

Per operation, on 1000 x 1000 numbers of float64 (100 x 100 where these take milliseconds), the time here / by hand of
the value, of the gradient (the value and the first pull of :func:`namedgrad.pullback`; by hand the value and the
gradients), and of another pull from what the first one has kept (by hand the gradients, with the value at hand). Before
anything is timed, all results are compared.
One thread.
"""

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import time  # noqa: E402 - threads are counted when NumPy is imported
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import namedgrad as ng  # noqa: E402
from benchmarks.by_hand import Row, rows  # noqa: E402
from benchmarks.report import arguments, medians, save, verdict  # noqa: E402

ROUNDS = 15
WARM = 0.01  # seconds
TARGET = 1.5


def cases(row: Row) -> dict[tuple[str, str, str], Callable[[], Any]]:
    """The calls that are timed: six, or two of an operation without derivatives."""
    arrays = [x.data for x in row.operands]
    calls: dict[tuple[str, str, str], Callable[[], Any]] = {
        (row.name, "value", "here"): lambda: row.call(*row.operands),
        (row.name, "value", "by hand"): lambda: row.value(*arrays),
    }
    if (gradients := row.gradients) is None:
        return calls
    out, pull = ng.pullback(row.call, *row.operands)
    value = row.value(*arrays)
    c = np.random.default_rng(2).normal(size=value.shape)
    seed = ng.DimArray(c, out.dims)
    return calls | {
        (row.name, "pull", "here"): lambda: pull(seed),
        (row.name, "pull", "by hand"): lambda: gradients(c, value, *arrays),
        (row.name, "gradient", "here"): lambda: ng.pullback(row.call, *row.operands)[1](seed),
        (row.name, "gradient", "by hand"): lambda: gradients(c, row.value(*arrays), *arrays),
    }


def agree(row: Row, calls: dict[tuple[str, str, str], Callable[[], Any]]) -> None:
    """Refuse to time results that differ."""
    run = list(calls.values())
    np.testing.assert_allclose(run[0]().data, run[1](), rtol=1e-9, err_msg=row.name)
    if row.gradients is None:
        return
    got = run[2]()
    for mine, theirs in zip(got if isinstance(got, tuple) else (got,), run[3](), strict=True):
        np.testing.assert_allclose(mine.data, theirs, rtol=1e-7, atol=1e-9, err_msg=row.name)


def timed(call: Callable[[], Any]) -> Callable[[], float]:
    """Milliseconds of one call; those before it leave the processor's cache as such calls do.

    One is not enough: after something else has run a copy of a million numbers takes 2.1, 2.0, 1.7, 1.2, then 0.9 ms,
    here and by hand, though all go to the same memory.
    """

    def sample() -> float:
        start = time.perf_counter()
        while time.perf_counter() - start < WARM:
            call()
        start = time.perf_counter()
        call()
        return 1e3 * (time.perf_counter() - start)

    return sample


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__, ROUNDS)
    parser.add_argument("names", nargs="*", help="operations (default: all)")
    options = parser.parse_args()
    found: dict[tuple[str, str, str], float] = {}
    for row in rows():
        if options.names and row.name.split(",")[0] not in options.names:
            continue
        calls = cases(row)
        agree(row, calls)
        found |= medians({key: timed(call) for key, call in calls.items()}, options.rounds)
    pairs = list(dict.fromkeys(key[:2] for key in found))
    verdicts = [
        verdict(f"{name}: {what} ({found[name, what, 'by hand']:.2f} ms by hand)",
                found[name, what, "here"] / found[name, what, "by hand"], TARGET)
        for name, what in pairs
    ]  # fmt: skip
    if options.json:
        save(options.json, {"rounds": options.rounds, "verdicts": verdicts})


if __name__ == "__main__":
    main()
