"""No NumPy name answers silently: every function gives a traced array, a value without a derivative, or a typed error."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special

import namedgrad as ng

X = np.array([[0.3, 0.9, 0.5], [0.2, 0.4, 0.8], [0.6, 0.1, 0.7]])
ATTEMPTS: list[Callable[[Callable[..., Any], Any], Any]] = [
    lambda f, x: f(x),
    lambda f, x: f(x, x),
    lambda f, x: f(x, x, x),
    lambda f, x: f(x, 1),
    lambda f, x: f(x, 0, 1),
    lambda f, x: f([x, x]),
    lambda f, x: f(x[0]),
    lambda f, x: f(x[0], x[0]),
    lambda f, x: f(x[0], x[0], x[0]),
    lambda f, x: f("ij,jk", x, x),
    lambda f, x: f(x[0], 2, x[0]),
    lambda f, x: f(X, x) if isinstance(f, np.ufunc) else None,
    lambda f, x: f(1, x) if isinstance(f, np.ufunc) else None,
    lambda f, x: f(x, (3, 3)),
    lambda f, x: f(lambda v: v, 0, x) if f is np.apply_along_axis else None,
    lambda f, x: f(x, [x > 0], [lambda v: v]) if f is np.piecewise else None,
]
PRINTED = {
    "savetxt",
    "save",
    "savez",
    "savez_compressed",
    "array2string",
    "array_repr",
    "array_str",
    "format_float_positional",
}


def functions() -> Iterator[tuple[str, Any]]:
    """Every function of NumPy that takes part in its protocol, and every ufunc of NumPy and SciPy."""
    for home in (np, np.linalg, np.fft, np.lib.stride_tricks):
        for name, f in sorted(vars(home).items()):
            known = not name.startswith("_") and name not in PRINTED and not inspect.isclass(f)
            if known and (hasattr(f, "_implementation") or isinstance(f, np.ufunc)):
                yield f"{home.__name__}.{name}", f
    for name, f in sorted(vars(scipy.special).items()):
        if isinstance(f, np.ufunc):
            yield f"scipy.special.{name}", f


def leaves(y: Any) -> Iterator[Any]:
    if isinstance(y, (tuple, list)):
        for v in y:
            yield from leaves(v)
    elif isinstance(y, dict):
        yield from leaves(list(y.values()))
    else:
        yield y


def silent(y: Any) -> bool:
    """A plain array of floats made from a traced one has lost its derivative."""
    return (
        isinstance(y, (float, complex, np.ndarray, np.generic)) and np.asarray(y).dtype.kind in "fcO" and np.size(y) > 0
    )


CONSTANT = {  # floating-point answers that do not depend on the values of their argument, and counts
    "numpy.finfo", "numpy.common_type", "numpy.fft.fftfreq", "numpy.fft.rfftfreq", "numpy.histogram2d", "numpy.histogramdd",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "f"), list(functions()), ids=lambda v: v if isinstance(v, str) else "")
def test_no_name_is_silent(name: str, f: Any) -> None:
    def attempt(x: Any) -> Any:
        for call in ATTEMPTS:
            try:
                y = call(f, x * 1.0)
            except (TypeError, ValueError, IndexError, np.linalg.LinAlgError, AttributeError, ZeroDivisionError):
                continue
            assert name in CONSTANT or not any(map(silent, leaves(y))), f"{name} gives a plain {y!r}"
        return np.sum(x)

    ng.grad(attempt)(X.copy())


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.packbits(x > 0, x),
        lambda x: np.save("x", x),
        lambda x: scipy.special.mathieu_a(1.0, x),
        lambda x: np.vectorize(lambda v: v)(x),
        lambda x: np.asarray(x),
        lambda x: float(x[0, 0]),
        lambda x: x[0, 0].item(),
        lambda x: x.tolist(),
    ],
)
def test_the_error_names_the_way_out(call: Any) -> None:
    with pytest.raises(TypeError, match=r"ng\.|np\.|NumPy function"):
        ng.grad(lambda x: np.sum(x) + 0 * np.sum(call(x)))(X.copy())


def test_what_is_not_differentiated_is_computed_by_numpy() -> None:
    p = ng.positional(X)
    for got, expected in zip(np.linalg.svd(p), np.linalg.svd(X), strict=True):
        assert isinstance(got, ng.PositionalArray)
        np.testing.assert_array_equal(got.data, expected)
    assert type(np.linalg.eigh(p)).__name__ == "EighResult"
    np.testing.assert_array_equal(scipy.special.mathieu_a(1.0, p).data, scipy.special.mathieu_a(1.0, X))


def test_scipy_ufuncs_of_the_same_meaning() -> None:
    np.testing.assert_allclose(ng.grad(lambda x: np.sum(scipy.special.log1p(x)))(X), 1 / (1 + X))


@pytest.mark.parametrize("k", [0, -1, [[0], [-1], [2]]])
def test_branches_of_lambertw(k: Any) -> None:
    x = np.array([-0.3, -0.1])
    w = scipy.special.lambertw(x, k)
    p = ng.positional(x)
    np.testing.assert_allclose(scipy.special.lambertw(p, k).data, w, rtol=1e-14)
    c = np.random.default_rng(0).normal(size=w.shape)
    found = ng.grad(lambda x: np.sum(c * np.real(scipy.special.lambertw(x, k))))(x)
    np.testing.assert_allclose(found, (c * (w / (x * (1 + w))).real).reshape(-1, 2).sum(0))


def test_ufuncs_of_the_same_name_are_not_mistaken() -> None:
    impostor = np.frompyfunc(lambda v: v, 1, 1)
    with pytest.raises(ng.TraceError, match="no rule"):
        ng.grad(lambda x: np.sum(impostor(x)))(X)
