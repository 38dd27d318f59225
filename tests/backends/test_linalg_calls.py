"""Calls of NumPy's and SciPy's linear algebra, which do not grow with the batch."""

import contextlib
import functools
from unittest import mock

import numpy as np
import pytest
import scipy.linalg

import namedgrad as ng

DIMS = ("i", "j")
rng = np.random.default_rng(8)
CALLS = {
    "cholesky": lambda a, b: ng.cholesky(a, DIMS), "solve": lambda a, b: ng.solve(a, b, DIMS), "inv": lambda a, b: ng.inv(a, DIMS),
    "solve_triangular": lambda a, b: ng.solve_triangular(a, b, DIMS), "pinv": lambda a, b: ng.pinv(a, DIMS),
    "lstsq": lambda a, b: ng.lstsq(a, b, DIMS), "qr": lambda a, b: ng.qr(a, DIMS)[1], "lu": lambda a, b: ng.lu(a, DIMS)[2],
    "svd": lambda a, b: ng.svd(a, DIMS)[0], "svdvals": lambda a, b: ng.svd(a, DIMS, compute_uv=False), "eigh": lambda a, b: ng.eigh(a, DIMS)[1],
    "eigvalsh": lambda a, b: ng.eigvalsh(a, DIMS), "eig": lambda a, b: ng.eig(a, DIMS)[1].real, "det": lambda a, b: ng.det(a, DIMS),
    "logdet": lambda a, b: ng.logdet(a, DIMS), "expm": lambda a, b: ng.expm(a, DIMS), "norm": lambda a, b: ng.matrix_norm(a, DIMS, "nuc"),
    "cond": lambda a, b: ng.cond(a, DIMS, 1), "matrix_power": lambda a, b: ng.matrix_power(a, DIMS, -3),
    "sqrtm": pytest.param(lambda a, b: ng.sqrtm(a, DIMS), marks=pytest.mark.skipif(
        np.lib.NumpyVersion(scipy.__version__) < "1.16.0", reason="SciPy takes stacks since 1.16")),
}  # fmt: skip


@contextlib.contextmanager
def counted():
    """How often anything of both is called, or a product is."""
    calls = []
    with contextlib.ExitStack() as stack:
        for module, names in ((np.linalg, np.linalg.__all__), (scipy.linalg, scipy.linalg.__all__), (np, ["matmul", "einsum"])):
            for name in names:
                f = getattr(module, name)
                if callable(f) and not isinstance(f, type):

                    @functools.wraps(f)
                    def call(*args, f=f, name=name, **kwargs):
                        calls.append(name)
                        return f(*args, **kwargs)

                    stack.enter_context(mock.patch.object(module, name, call))
        yield calls


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_do_not_grow_with_the_batch(call):
    def calls(count):
        a = rng.normal(size=(count, 4, 4))
        a = ng.DimArray(a @ np.swapaxes(a, -1, -2) + np.diag([1.0, 2, 3, 4]), ("b", *DIMS))
        b = ng.DimArray(rng.normal(size=(count, 4)), ("b", "i"))
        with counted() as found:
            ng.grad(lambda a, b: ng.sin(call(a, b)).sum())(a, b)
        return found

    assert calls(2) == calls(30)
    assert calls(2)
