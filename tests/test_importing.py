"""What an import brings, and that the rest comes when it is asked for."""

import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import namedgrad as ng
from namedgrad.array import DimArray
from namedgrad.primitive import OPERATIONS

# An interpreter that has imported what namedgrad imports from elsewhere, and has a copy of itself run each program.
STARTED = """
import os, sys
import numpy, scipy.special, xarray
sys.pycache_prefix, sys.dont_write_bytecode = sys.argv[1], False  # the first program compiles for all of them
for line in sys.stdin:
    if not (child := os.fork()):
        exec(eval(line), {"__name__": "__main__"})
        sys.stdout.flush()
        os._exit(0)
    print("ended with", os.waitpid(child, 0)[1], flush=True)
"""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """What a program prints in an interpreter that has not imported namedgrad."""
    command = [sys.executable, "-c", STARTED, str(tmp_path_factory.mktemp("compiled"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:  # noqa: S603 - ours

        def run(code: str) -> str:
            print(repr(code), file=started.stdin, flush=True)
            *printed, end = _until_it_ended(started.stdout)
            assert end == "ended with 0", printed
            return "\n".join(printed)

        yield run


def _until_it_ended(lines: Iterator[str]) -> Iterator[str]:
    """The lines that one program prints, and how it ended."""
    for line in lines:
        yield line.rstrip()
        if line.startswith("ended with"):
            return


def test_what_not_every_program_needs_comes_later():
    late = ("optree", "namedgrad.rules.later", "namedgrad.compile.compiled", "namedgrad.fit", "namedgrad.positional.layers")
    command = [sys.executable, "-c", f"import sys, namedgrad; print([m for m in {late} if m in sys.modules])"]
    assert subprocess.check_output(command, text=True).strip() == "[]"  # noqa: S603 - ours


@pytest.mark.parametrize("asks", [
    "ng.softmax", "ng.linalg.solve", "from namedgrad.linalg import *; solve", "ng.conv2d", "ng.trace", "ng.cond", "ng.scan",
    "ng.segment_sum", "ng.random.normal", "ng.xr.interp", "ng.check_gradients", "ng.least_squares", "np.linalg.inv(ng.positional(np.eye(2)))",
    "sc.gammaln(ng.positional(np.ones(2)))", "ng.conv2d.__doc__", "OPERATIONS['erf']", "OPERATIONS.get('erf').name", "next(iter(OPERATIONS))",
    "'erf' in OPERATIONS or 1/0", "len(OPERATIONS) > 400 or 1/0", "'softmax' in dir(ng) or 1/0", "'conv2d' in dir(ng) or 1/0",
])  # fmt: skip
def test_it_is_there_when_it_is_the_first_thing_asked_for(fresh, asks):
    head = "import numpy as np, scipy.special as sc, namedgrad as ng\nfrom namedgrad.primitive import OPERATIONS\n"
    fresh(head + asks.replace("; ", "\n"))


@pytest.mark.parametrize("program", [
    "(x.where(x.k != 2) * t).interpolate_na('k').sum()", "x.interp(k=t + 0.5)", "x.weighted(x * t).quantile(0.4)",
    "(x * t).polyfit('k', 1).polyfit_coefficients.sum()", "(x * t).rolling(k=2).mean().sum()",
])  # fmt: skip
def test_a_number_may_be_the_first_that_xarray_sees(fresh, program):
    """What xarray imports only when it is used, is ready for it."""
    head = "import numpy as np, xarray as xr, namedgrad as ng\nx = xr.DataArray([1.0, 3.0, 4.0, 9.0], {'k': np.arange(4.0)}, 'k')\n"
    tail = f"f = lambda t: {program}\nprint(float(ng.grad(f)(1.0)) - float(f(1.001) - f(0.999)) / 0.002)"
    assert abs(float(fresh(head + tail))) < 1e-5


def test_all_methods_are_there():
    assert not [name for name, op in OPERATIONS.items() if op.method and not hasattr(DimArray, name)]


def test_what_is_not_there_is_said():
    with pytest.raises(AttributeError, match="module 'namedgrad' has no attribute 'sotfmax'"):
        ng.sotfmax
    with pytest.raises(AttributeError, match=r"has no attribute 'sum'; it has cholesky, cond"):
        ng.linalg.sum
    with pytest.raises(KeyError):
        OPERATIONS["sotfmax"]


@pytest.mark.parametrize(("module", "asks", "extra"), [
    ("dask.array", "ng.ones({'x': 2}).to('dask')", "dask"), ("cupy", "ng.ones({'x': 2}).to('cupy')", "cupy"),
    ("matplotlib.pyplot", "ng.least_squares(lambda p, y: p['a'] - y, {'a': 1.0}, np.ones(3)).plot()", "plot"),
])  # fmt: skip
def test_what_is_not_installed_is_named_with_the_extra_that_installs_it(fresh, module, asks, extra):
    code = f"""
        import sys
        sys.modules[{module!r}] = None
        import numpy as np, namedgrad as ng
        try:
            {asks}
        except ImportError as error:
            print(error)
    """
    assert f"pip install 'namedgrad[{extra}]'" in fresh(textwrap.dedent(code))


def test_the_version_is_that_of_the_package():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert ng.__version__ == project["version"]
