"""The table of calls on dask arrays, which stay lazy, and on CuPy's stand-in, which refuses what CuPy refuses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import namedgrad as ng
from tests.positional.cases import CASES, Case
from tests.positional.test_functions import close, outputs, random_like
from tests.support import fake_cupy

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
table = pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
DATA_DEPENDENT = {"a[a > 0]"}
# These calls bring NumPy arrays of their own, which never join arrays on a device.
HOST = {
    "array + a", "array - a", "array * a", "array / a", "array % a", "array // a", "np.divide where", "np.where",
    "np.where broadcast", "np.choose", "np.sum where", "np.prod where", "np.mean where", "np.var where",
    "np.max where", "np.nanmean where", "np.concatenate constant", "np.copyto", "np.putmask", "np.interp",
    "np.linalg.cholesky", "np.linalg.cholesky upper", "np.cov fweights", "np.cov both weights",
}  # fmt: skip


def check(case: Case, place: Callable[[np.ndarray], Any], fetch: Callable[[Any], np.ndarray], kind: type) -> None:
    """Values and gradients are those of NumPy, and arrays of this kind."""
    args = [np.array(a) for a in case.args]
    expected, expected_pull = ng.pullback(case.f, *args)
    got, pull = ng.pullback(case.f, *map(place, args))
    for y, e in zip(outputs(got), outputs(expected), strict=True):
        assert isinstance(y, kind)
        close(fetch(y), e, 1e-12)
    cotangents = random_like(outputs(expected), 1)
    wrapped = [place(c) for c in cotangents]
    several = isinstance(expected, (tuple, list))
    grads = pull(type(got)(wrapped) if several else wrapped[0])
    expected_grads = expected_pull(type(expected)(cotangents) if several else cotangents[0])
    one = len(args) == 1
    for g, e in zip((grads,) if one else grads, (expected_grads,) if one else expected_grads, strict=True):
        assert isinstance(g, kind)
        close(fetch(g), e, 1e-11)


@table
def test_on_the_stand_in_for_cupy(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    if case.label in HOST:
        with pytest.raises(TypeError, match="different devices"):
            check(case, fake_cupy.asarray, fake_cupy.asnumpy, fake_cupy.ndarray)
    elif case.label in DATA_DEPENDENT:
        with pytest.raises(ng.TraceError, match=r"np\.where"):
            check(case, fake_cupy.asarray, fake_cupy.asnumpy, fake_cupy.ndarray)
    else:
        check(case, fake_cupy.asarray, fake_cupy.asnumpy, fake_cupy.ndarray)


def refuse(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("computed before it was asked to")


@table
def test_on_dask(case: Case) -> None:
    def place(x: np.ndarray) -> Any:
        return da.from_array(x, chunks=tuple(max(1, n // 2) for n in x.shape))

    def fetch(x: Any) -> np.ndarray:
        return x.compute(scheduler="sync")

    with dask.config.set(scheduler=refuse):
        if case.label in DATA_DEPENDENT:
            with pytest.raises(ng.TraceError, match=r"np\.where"):
                check(case, place, fetch, da.Array)
        else:
            check(case, place, fetch, da.Array)
