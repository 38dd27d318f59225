"""What the benchmarks share: medians of interleaved rounds, and a file that says when and where they were measured."""

import argparse
import datetime as dt
import importlib.metadata
import json
import os
import pathlib
import platform
import random
import statistics
import timeit
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
PACKAGES = ("namedgrad", "numpy", "scipy", "xarray", "autograd", "torch", "jax", "jaxlib", "cupy-cuda13x")


def medians(run: Mapping[K, Callable[[], float]], rounds: int) -> dict[K, float]:
    """Median of each over `rounds`; every round takes each once, in a new order, so that drifts hit all alike."""
    shuffle = random.Random(0).shuffle
    samples: dict[K, list[float]] = {key: [] for key in run}
    for _ in range(rounds):
        order = list(run)
        shuffle(order)
        for key in order:
            samples[key].append(run[key]())
    return {key: statistics.median(values) for key, values in samples.items()}


def sampler(call: Callable[[], Any]) -> Callable[[], float]:
    """Milliseconds of one call."""
    timer = timeit.Timer(call, setup="import gc; gc.enable()")
    timer.timeit(2)
    return lambda: timer.timeit(1) * 1e3


def verdict(what: str, ratio: float | None, target: float) -> dict[str, Any]:
    """One line against its target, printed; a ratio of None means that one side is not installed."""
    if ratio is None:
        print(f"  {'not measured':>12}  {what}")
    else:
        print(f"  {'ok' if ratio <= target else 'MISSED':>12}  {what}: {ratio:.2f} (target: at most {target:g})")
    return {"what": what, "ratio": ratio, "target": target}


def machine() -> dict[str, Any]:
    """The processor, its cores, the system, and the versions of whatever takes part."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": versions,
    }


def _processor() -> str:
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def save(file: pathlib.Path, results: Mapping[str, Any]) -> None:
    """Write the results with the date and the machine."""
    date = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"date": date, "machine": machine(), **results}, indent=1) + "\n")


def arguments(doc: str, rounds: int) -> argparse.ArgumentParser:
    """The options that both benchmarks have."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="save the results, with date and machine")
    parser.add_argument("--rounds", type=int, default=rounds, help="interleaved rounds (default: %(default)s)")
    return parser
