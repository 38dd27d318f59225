"""Fixtures of several directories."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import fake_cupy
from tests.support.fake_cupy.counts import stats


@pytest.fixture(params=["stand-in", pytest.param("device", marks=pytest.mark.gpu)])
def cupy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """CuPy, or what stands for it on machines without a GPU."""
    if request.param == "stand-in":
        return fake_cupy.installed(monkeypatch)
    stats.reset()  # nothing is counted on a device
    real = pytest.importorskip("cupy", exc_type=ImportError)
    if not real.is_available():
        pytest.skip("CuPy is here, a GPU is not")
    return real
