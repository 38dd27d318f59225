"""Draws on a device, by the methods that CuPy's generator has; on the stand-in."""

import types

import numpy as np
import pytest
import scipy.special

import namedgrad as ng
from namedgrad import backends
from tests.support import fake_cupy
from tests.support.fake_cupy.array import device, host

METHODS = (
    "beta", "binomial", "chisquare", "dirichlet", "exponential", "f", "gamma", "geometric", "hypergeometric", "integers",
    "logseries", "poisson", "power", "random", "standard_exponential", "standard_gamma", "standard_normal", "uniform",
)  # fmt: skip


class Generator:
    """CuPy's: the methods that it has, on arrays of the device."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __getattr__(self, name):
        if name not in METHODS:
            raise AttributeError(name)
        return lambda *args, size: device(np.asarray(getattr(self.rng, name)(*map(host, args), size=size)))


Generator.__module__ = "cupy.random._generator_api"


def _special(name):
    return lambda *args: device(getattr(scipy.special, name)(*map(host, args)))


@pytest.fixture
def stand_in(monkeypatch):
    fake_cupy.installed(monkeypatch)
    monkeypatch.setattr(fake_cupy, "random", types.SimpleNamespace(default_rng=Generator), raising=False)
    special = types.SimpleNamespace(**{n: _special(n) for n in ("digamma", "polygamma", "i0e", "i1e", "erfcx")})
    monkeypatch.setattr(type(backends.get_backend("cupy")), "special", special)
    return fake_cupy


CALLS = [
    lambda r, x: r.normal(x, 2.0, sizes={"n": 2}, rng=3),
    lambda r, x: r.gamma(x, 2.0, sizes={"n": 2}, rng=3),
    lambda r, x: r.beta(x, x, sizes={"n": 2}, rng=3),
    lambda r, x: r.wald(x, 2.0, sizes={"n": 2}, rng=3),
    lambda r, x: r.t(x, rng=3),
    lambda r, x: r.laplace(x, rng=3),
    lambda r, x: r.triangular(0.0, x, 9.0, rng=3),
    lambda r, x: r.dirichlet(x, "x", rng=3),
    lambda r, x: r.weibull(x, rng=3),
]


@pytest.mark.parametrize("call", CALLS)
def test_draws_and_gradients_stay_on_the_device(stand_in, call):
    values = np.array([0.5, 1.5, 4.0])
    x, there = ng.DimArray(values, "x"), ng.DimArray(fake_cupy.asarray(values), "x")
    drawn = call(ng.random, there)
    assert drawn.backend == "cupy"
    np.testing.assert_allclose(drawn.to_numpy(), call(ng.random, x).data, rtol=1e-13)
    expected = ng.grad(lambda x: ng.sin(call(ng.random, x)).sum())(x)
    gradient = ng.grad(lambda x: ng.sin(call(ng.random, x)).sum())(there)
    assert gradient.backend == "cupy"
    np.testing.assert_allclose(gradient.to_numpy(), expected.data, rtol=1e-10)


def test_generators_and_arrays_of_two_devices_are_refused(stand_in):
    there = ng.DimArray(fake_cupy.asarray(np.ones(2)), "x")
    assert ng.random.normal(there, rng=Generator(0)).backend == "cupy"
    assert ng.random.normal(sizes={"x": 2}, rng=Generator(0)).backend == "cupy"
    with pytest.raises(TypeError, match="of numpy, the parameters are cupy"):
        ng.random.normal(there, rng=np.random.default_rng(0))
    with pytest.raises(TypeError, match="of cupy, the parameters are numpy"):
        ng.random.normal(ng.ones({"x": 2}), rng=Generator(0))
    with pytest.raises(TypeError, match="no draws 'vonmises'"):
        ng.random.vonmises(there, rng=0)
    with pytest.raises(TypeError, match="inside a checkpoint"):
        ng.grad(ng.checkpoint(lambda s: ng.random.normal(s, rng=Generator(0)).sum()))(there)


@pytest.mark.gpu
@pytest.mark.parametrize("call", CALLS)
def test_draws_of_a_seed_and_their_gradients_on_a_gpu(call):
    cupy = pytest.importorskip("cupy", exc_type=ImportError)
    x = ng.DimArray(cupy.asarray(np.array([0.5, 1.5, 4.0])), "x")
    drawn, again = call(ng.random, x), call(ng.random, x)
    assert drawn.backend == "cupy"
    np.testing.assert_array_equal(drawn.to_numpy(), again.to_numpy())
    gradient = ng.grad(lambda x: ng.sin(call(ng.random, x)).sum())(x)
    assert gradient.backend == "cupy"
    assert np.isfinite(gradient.to_numpy()).all()
