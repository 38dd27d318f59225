"""The packages that xarray takes shortcuts through, where they are installed: the same gradients with and without them.

``nox -s xarray`` installs them all and runs the tests of this folder; elsewhere most are absent.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import namedgrad as ng
from tests.xarray.harness import quiet
from tests.xarray.programs import WEIGHTS, with_gaps

PACKAGES = ("numbagg", "bottleneck", "flox")

PROGRAMS = {
    "rolling": lambda x: x.rolling(time=3).mean() + x.rolling(time=3, min_periods=1).sum() + x.rolling(time=4).max(),
    "rolling std": lambda x: x.rolling(time=5, min_periods=3).std(ddof=1) + x.rolling(time=4).median(),
    "rolling_exp": lambda x: x.rolling_exp(time=3).mean() + x.rolling_exp(time=3).std(),
    "fills": lambda x: x.ffill("time", limit=2) * x.bfill("time"),
    "rank": lambda x: x * x.rank("time", pct=True),
    "groupby": lambda x: x.groupby("time.month") - x.groupby("time.month").mean(),
    "groupby others": lambda x: x.groupby("time.year").std() + x.groupby("time.year").max() + x.groupby("time.year").sum(),
    "groupby by order": lambda x: x.groupby("time.year").median() + x.groupby("time.year").quantile(0.3),
    "groupby first": lambda x: x.groupby("time.year").first() + x.groupby("time.year").last(),
    "groupby cumsum": lambda x: x.groupby("time.year").cumsum("time"),
    "resample": lambda x: x.resample(time="QS").mean() + x.resample(time="QS").var(),
    "reductions": lambda x: x.mean("time") + x.std("time") + x.median("time") + x.max("time") + x.sum("time", min_count=3),
    "quantile": lambda x: x.quantile([0.2, 0.7], "time"),
    "cumulative": lambda x: x.cumsum("time") + x.cumulative("time").mean(),
    "dot": lambda x: (x.fillna(0) ** 2).dot(WEIGHTS),
    "interpolate_na": lambda x: x.interpolate_na("time", max_gap="100D", limit=2),
    "coarsen": lambda x: x.coarsen(time=4).mean() + x.coarsen(time=4).median(),
}  # fmt: skip


def gradients(over: str | tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    x = with_gaps()
    with quiet():
        return {n: ng.grad(lambda x, f=f: (f(x) ** 2).sum(), over=over)(x).values for n, f in PROGRAMS.items()}


CHILD = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in {packages} else find(name, path, target)
PathFinder.find_spec = find_spec
import numpy as np
from tests.xarray.test_packages import gradients
np.savez(sys.argv[1], **gradients())
"""


@pytest.mark.slow
@pytest.mark.skipif(not any(map(importlib.util.find_spec, PACKAGES)), reason="none of the packages is installed")
def test_gradients_do_not_depend_on_what_is_installed(tmp_path):
    file = tmp_path / "without.npz"
    code = CHILD.replace("{packages}", repr(set(PACKAGES)))
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code, str(file)], check=True, cwd=root)  # noqa: S603 - ourselves
    without = np.load(file)
    for name, g in gradients().items():
        np.testing.assert_allclose(g, without[name], rtol=1e-10, atol=1e-10 * np.abs(g).max(), err_msg=name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_finite_differences(name):
    x = with_gaps()
    f = lambda x: float((PROGRAMS[name](x) ** 2).sum())
    along = x.copy(data=np.where(x.isnull(), 0.0, np.random.default_rng(2).normal(size=x.shape)))
    with quiet():
        try:
            expected = (f(x + 1e-5 * along) - f(x - 1e-5 * along)) / 2e-5
        except ImportError as error:  # xarray needs one of the packages
            pytest.skip(str(error))
        g = ng.grad(lambda x: (PROGRAMS[name](x) ** 2).sum())(x)
    assert np.vdot(g.values, along.values) == pytest.approx(expected, rel=2e-6)
    np.testing.assert_array_equal(g.values[x.isnull()], 0.0)
