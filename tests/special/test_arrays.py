"""Special functions of arrays of every kind, and of plain NumPy and xarray.

Numbers of many digits are from mpmath 1.3 with 50 digits, by differences of its own functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.special
import xarray as xr

import namedgrad as ng
from namedgrad.ops import FUNCTIONS, UFUNCS
from tests.special.slopes import slopes

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def _ufuncs() -> list[tuple[str, Any]]:
    names = "erf erfc erfcx erfinv expit logit gammaln psi digamma i0 i0e i1 j0 j1 y0 k0 ndtr log_ndtr ndtri entr loggamma gamma"
    return [(n, getattr(scipy.special, n)) for n in names.split()]


def _same_names() -> list[Any]:
    every = {f.__name__: f for home in (np, scipy.special) for f in vars(home).values() if isinstance(f, np.ufunc)}
    known = [f for n, f in every.items() if f.signature is None and f.nout == 1 and n in FUNCTIONS]
    return [*known, *(every[n] for n in UFUNCS if n in every)]


@pytest.mark.filterwarnings("ignore:non-integer")  # counts that are rounded down
@pytest.mark.parametrize("f", _same_names(), ids=lambda f: f.__name__)
def test_a_ufunc_of_an_array_with_names_is_the_one_of_its_data(f: Any) -> None:
    whole = np.arange(1, 3 * f.nin + 1).reshape(f.nin, 3)
    for values in np.random.default_rng(5).uniform(0.2, 0.8, whole.shape), whole:
        try:
            want = f(*values)
        except TypeError:  # of numbers of another kind
            continue
        got = f(*(ng.DimArray(v, ("x",)) for v in values))
        np.testing.assert_allclose(got.data, want, rtol=1e-12, equal_nan=True)


@pytest.mark.parametrize(("name", "f"), _ufuncs(), ids=[n for n, _ in _ufuncs()])
def test_ufuncs_of_scipy_on_plain_arrays_and_on_xarray(name: str, f: Any) -> None:
    x = np.array([0.2, 0.4, 0.7])
    h = 1e-6
    want = (f(x + h) - f(x - h)) / (2 * h)
    np.testing.assert_allclose(ng.grad(lambda x: np.sum(f(x)))(x), want, rtol=1e-7)
    da = xr.DataArray(x, dims="t", coords={"t": [1, 2, 3]})
    slope = ng.grad(lambda da: f(da).sum())(da)
    xr.testing.assert_allclose(slope, da.copy(data=want), rtol=1e-7)
    ours = getattr(ng, {"psi": "digamma"}.get(name, name))
    xr.testing.assert_allclose(ours(da), f(da))


def test_hurwitz_zeta_of_scipy() -> None:
    s, h = np.array([1.5, 3.0]), 1e-6
    want = (scipy.special.zeta(s + h, 0.7) - scipy.special.zeta(s - h, 0.7)) / (2 * h)
    np.testing.assert_allclose(ng.grad(lambda s: np.sum(scipy.special.zeta(s, 0.7)))(s), want, rtol=1e-8)
    named = ng.DimArray(s, ("x",))
    np.testing.assert_allclose(ng.grad(lambda s: scipy.special.zeta(s, 0.7).sum())(named).data, want, rtol=1e-8)


def test_two_operand_ufuncs_of_scipy_on_plain_arrays() -> None:
    a, x = np.array([0.5, 2.0]), np.array([[0.3], [1.5]])
    h = 1e-5
    for f in (scipy.special.gammainc, scipy.special.xlogy, scipy.special.kl_div, scipy.special.betaln, scipy.special.kv):
        got = ng.grad(lambda a, f=f: np.sum(f(a, x)))(a)
        np.testing.assert_allclose(got, ((f(a + h, x) - f(a - h, x)) / (2 * h)).sum(0), rtol=1e-6)


@pytest.mark.parametrize("name", ["modf", "frexp", "divmod"])
def test_functions_of_several_results_on_plain_arrays(name: str) -> None:
    f = getattr(np, name)
    more = (np.array([2.0, -3.0, 0.7]),) if name == "divmod" else ()
    x = np.array([5.3, -1.2, 0.4])
    k = 1 if name == "divmod" else 0
    h = 1e-6
    np.testing.assert_allclose(
        ng.grad(lambda x: np.sum(f(x, *more)[k]))(x), (f(x + h, *more)[k] - f(x - h, *more)[k]) / (2 * h), rtol=1e-6
    )


def test_softmax_over_several_dims_by_number_and_by_name() -> None:
    data = np.random.default_rng(1).normal(size=(2, 3, 4))
    e = np.exp(data)
    want = e / e.sum((0, 2), keepdims=True)
    np.testing.assert_allclose(ng.softmax(ng.DimArray(data, ("a", "b", "c")), ("c", "a")).data, want)
    np.testing.assert_allclose(ng.softmax(ng.positional(data), (0, -1)).data, want)
    np.testing.assert_allclose(ng.log_softmax(ng.positional(data), (0, -1)).data, np.log(want))
    da = xr.DataArray(data, dims=("a", "b", "c"), coords={"c": [1, 2, 3, 4]})
    xr.testing.assert_allclose(ng.softmax(da, ("a", "c")), da.copy(data=want))


def test_shift_operators_and_updates_in_place() -> None:
    n = ng.DimArray([1, 2, 3], "x")
    assert (n << 2).data.tolist() == [4, 8, 12]
    assert (n >> 1).data.tolist() == [0, 1, 1]
    m = n
    m <<= 1
    assert (m.data.tolist(), n.data.tolist()) == ([2, 4, 6], [1, 2, 3])
    x = ng.DimArray([1.0, 2.0], "x")

    def f(x: ng.DimArray) -> ng.DimArray:
        y = x
        y += 1.0
        y *= x
        y **= 2
        y /= x
        y -= x
        y //= 1e9
        return (y + x).sum()

    assert ng.grad(f)(x).data.tolist() == [1.0, 1.0]


def test_missing_values_are_filled_with_arrays_of_other_dims() -> None:
    x = ng.DimArray([1.0, np.nan], "x")
    value = ng.DimArray([5.0, 6.0, 7.0], "y")
    filled = x.fillna(value)
    assert filled.dims == ("x", "y")
    np.testing.assert_array_equal(filled.data, [[1, 1, 1], [5, 6, 7]])
    np.testing.assert_array_equal(ng.grad(lambda v: x.fillna(v).sum())(value).data, [1, 1, 1])
    assert x.isnull().data.tolist() == [False, True]
    assert x.notnull().data.tolist() == [True, False]


@pytest.mark.parametrize(("dividend", "mode"), [(7, "floor"), (7, "trunc"), (-7, "floor"), (-7, "trunc")])
def test_rounded_division_of_integers_stays_integer(dividend: int, mode: Any) -> None:
    out = ng.div(ng.DimArray([dividend], "x"), ng.DimArray([2], "x"), mode)
    assert out.dtype == "int64"
    assert out.data.tolist() == [{"floor": dividend // 2, "trunc": int(dividend / 2)}[mode]]


def test_an_unknown_rounding_mode_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rounding_mode='up'.*'trunc', 'floor'"):
        ng.div(ng.ones({"x": 2}), 2.0, "up")  # type: ignore[arg-type]


def test_exponents_of_ldexp_may_be_numbers_of_any_kind() -> None:
    x, n = ng.DimArray([1.5, 3.0], "x"), ng.DimArray([0.5, -1.0], "x")
    np.testing.assert_allclose(ng.ldexp(x, n).data, x.data * 2.0**n.data)
    gx, gn = ng.grad(lambda x, n: ng.ldexp(x, n).sum(), (0, 1))(x, n)
    np.testing.assert_allclose(gx.data, 2.0**n.data)
    np.testing.assert_allclose(gn.data, np.log(2) * x.data * 2.0**n.data)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("dims", [("k",), ("k", "m")])
@pytest.mark.parametrize("lead", [8.0, 37.4, 80.0])
def test_softmax_and_its_logarithm_where_one_cell_leads(lead: float, dims: tuple[str, ...], dtype: Any) -> None:
    scores = np.zeros((2, 2, 2), dtype)  # n, k, m
    scores[0, 1, 1] = lead
    x = ng.DimArray(scores, ("n", "k", "m"))
    each = math.exp(-np.float64(dtype(lead)))
    rest = each * (2 ** len(dims) - 1)
    close = {"rtol": 1e-11 if dtype == np.float64 else 2e-5}
    at = {"n": 0, "k": 1, "m": 1}
    np.testing.assert_allclose(ng.log_softmax(x, dims).isel(at).item(), -math.log1p(rest), **close)
    less = rest / (1 + rest)
    for f, first in ((ng.softmax, less * (1 - less)), (ng.log_softmax, less)):
        g = ng.grad(lambda x, f=f: f(x, dims).isel(at))(x)
        np.testing.assert_allclose(g.isel(at).item(), first, **close)
        np.testing.assert_allclose(g.isel(n=0, k=0, m=1).item(), -first * each / rest, **close)
        unit = ng.DimArray(np.eye(8, dtype=dtype)[3].reshape(2, 2, 2), ("n", "k", "m"))
        _, t = ng.pushforward(lambda x, f=f: f(x, dims), (x,), (unit,))
        np.testing.assert_allclose(t.isel(at).item(), first, **close)
        second = {ng.softmax: -less * (1 - less) * (1 - 2 * less), ng.log_softmax: -less * (1 - less)}[f]
        h = ng.hvp(lambda x, f=f: f(x, dims).isel(at), x, unit)
        np.testing.assert_allclose(h.isel(at).item(), second, **close)


@pytest.mark.parametrize(("name", "x", "bend"), [
    ("silu", 30.0, -2.620134431274233e-12),
    ("silu", 100.0, -3.645674634313279e-42),
    ("silu", -50.0, -9.257999270226805e-21),
    ("mish", 15.0, -1.048052295451325e-11),
    ("mish", 30.0, -2.031510496944727e-24),
    ("mish", -50.0, -9.257999270226805e-21),
    ("gelu", 9.0, -4.683928577814238e-26),
    ("gelu", -9.0, -4.683928577814238e-26),
])  # fmt: skip
def test_bends_of_gated_activations_in_the_tails(name: str, x: float, bend: float) -> None:
    f = (lambda x: ng.gelu(x, "tanh")) if name == "gelu" else getattr(ng, name)
    assert slopes(f, (x,), 0, 2)[1] == pytest.approx(bend, rel=1e-9)
