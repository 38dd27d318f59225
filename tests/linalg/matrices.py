"""Matrices, their derivatives by differences, and what is compared."""

import zlib

import numpy as np
import pytest

import namedgrad as ng
from tests.support.tolerances import FIRST, SECOND, assert_close

IJ = ("i", "j")


def named(data, dims="ij", **options):
    return ng.DimArray(np.asarray(data), tuple(dims), **options)


def some(*shape, seed=0, kind="real"):
    rng = np.random.default_rng([zlib.crc32(repr((shape, kind)).encode()), seed])
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if kind == "complex" else x


def regular(n, m=None, *, seed=0, kind="real"):
    return some(n, m or n, seed=seed, kind=kind) / 2 + 2 * np.eye(n, m or n)


def definite(n, *, seed=0, kind="real"):
    x = some(n, n, seed=seed, kind=kind)
    return x @ x.conj().T / n + np.eye(n)


def hermitian(x):
    return (x + x.conj().T) / 2


def richardson(f, h):
    coarse, fine = ((f(s) - f(-s)) / (2 * s) for s in (h, h / 2))
    return (4 * fine - coarse) / 3


def slopes(f, x, *, symmetric=False, h=1e-3):
    """dL/dx + i dL/dy of a real function of an array, cell by cell; symmetric cells move together, half each."""
    out = np.zeros(x.shape, x.dtype)
    for at in np.ndindex(*x.shape):
        for part in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
            unit = np.zeros(x.shape, x.dtype)
            unit[at] = part
            unit = hermitian(unit) if symmetric else unit
            out[at] += part * richardson(lambda s, unit=unit: float(f(x + s * unit)), h)
    return out


def right(f, x, *, dims="ij", symmetric=False, second=True, first=FIRST, twice=SECOND):
    """The gradient, the tangent and the second derivative along a direction of a real function of one array."""

    def value(data):
        return f(named(data, dims)).item()

    a, t = named(x, dims), some(*x.shape, seed=7, kind="complex" if x.dtype.kind == "c" else "real")
    t = hermitian(t) if symmetric else t
    g = ng.grad(f)(a)
    assert g.dtype == x.dtype
    assert_close(g.data, slopes(value, x, symmetric=symmetric), first, "gradient")
    pushed = ng.pushforward(f, (a,), (named(t, dims),))[1]
    assert_close(pushed.data, np.sum(np.real(np.conj(g.data) * t)), 1e-9, "tangent")
    if second:
        expected = richardson(lambda s: ng.grad(f)(named(x + s * t, dims)).data, 5e-4)
        assert_close(ng.hvp(f, a, named(t, dims)).data, expected, twice, "second derivative")
        backwards = ng.grad(lambda a: (ng.grad(f)(a) * named(np.conj(t), dims)).sum().real)(a)
        assert_close(backwards.data, expected, twice, "second derivative, in reverse")


def squared(x):
    return (x * ng.conjugate(x)).real.sum(skipna=False)


def weighed(x, seed=3):
    """A real number that depends on every cell."""
    w = some(*x.shape, seed=seed, kind="complex" if x.dtype.kind == "c" else "real")
    return (x * named(w, x.dims)).sum(skipna=False).real


KINDS = pytest.mark.parametrize("kind", ["real", "complex"])
