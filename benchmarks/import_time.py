"""What `import namedgrad` costs beyond `import xarray`: medians over fresh, interleaved interpreters.

The clock starts inside each interpreter, after its own start-up, so that start-up does not dilute the ratio.
"""

import os
import subprocess
import sys
from collections.abc import Callable

from benchmarks.report import arguments, medians, save, verdict

MODULES = ("xarray", "namedgrad")
ROUNDS = 21
TARGET = 1.2


def importer(module: str) -> Callable[[], float]:
    """Seconds that one fresh interpreter takes to import the module; the first, which fills the caches, is lost.

    Installed packages come compiled, so a checkout may be compiled too, whatever the environment says.
    """
    code = f"from time import perf_counter as t; s = t(); import {module}; print(t() - s)"
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}

    def sample() -> float:
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=env)
        return float(done.stdout)

    sample()
    return sample


def main() -> None:
    """Measure, print, save."""
    options = arguments(__doc__, ROUNDS).parse_args()
    seconds = medians({module: importer(module) for module in MODULES}, options.rounds)
    print(f"medians of {options.rounds} interleaved rounds, fresh interpreters")
    for module, time in seconds.items():
        print(f"  import {module:10} {time * 1e3:7.0f} ms")
    ratio = seconds["namedgrad"] / seconds["xarray"]
    target = verdict("import namedgrad / import xarray", ratio, TARGET)
    if options.json:
        save(options.json, {"rounds": options.rounds, "seconds": seconds, "verdicts": [target]})


if __name__ == "__main__":
    main()
