"""Fixtures of several directories."""

from __future__ import annotations

import functools
import gc
import sys
import types
import zlib
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest

from tests.support import fake_cupy
from tests.support.fake_cupy.counts import stats


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the tests themselves, a million and a half objects, from the collector: a pass would take most of a second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What a test draws is decided by its name, not by the tests that ran before it in its process."""
    name = zlib.crc32(item.nodeid.encode())
    for k, generator in enumerate(_generators(getattr(item, "module", None))):
        generator.bit_generator.state = np.random.default_rng([name, k]).bit_generator.state


@functools.cache
def _generators(module: types.ModuleType | None) -> list[np.random.Generator]:
    shared = [m for name, m in sys.modules.items() if name.startswith("tests.support")]
    modules = shared if module is None else [module, *shared]
    found = [x for m in modules for x in vars(m).values() if isinstance(x, np.random.Generator)]
    return list({id(x): x for x in found}.values())


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
