"""What shares cells with what: numbers never change, some results are the argument itself, others are views of it."""

import itertools

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng

X = np.array([2.0, 3.0, 5.0, 7.0])
SHARES = np.array([1.0, 10.0, 100.0, 1000.0])


def swapped(y):
    y = y * 1.0
    y[0], y[1] = y[1], y[0]
    return np.sum(y * SHARES)


def swapped_by_hand(y):
    y = y * 1.0
    t = y[0]
    y[0] = y[1]
    y[1] = t
    return np.sum(y * SHARES)


def bubbled(y):
    y = y[::-1] * 1.0
    for _ in range(3):
        for i in range(3):
            if y[i] > y[i + 1]:
                y[i], y[i + 1] = y[i + 1], y[i]
    return np.sum(y * SHARES)


def swept(y):
    c = y * 1.0
    before = c[0]
    for i in range(1, 4):
        here = c[i]
        c[i] -= 0.5 * before
        before = here
    return np.sum(c * SHARES)


def read_then_scaled(y):
    y = y * 1.0
    t = y[2]
    y *= 3
    return t * y[1]


def kept_while_written(y):
    y = y * 1.0
    cells = [y[i] for i in range(4)]
    first, *_ = y
    *_, last = np.unstack(y) if hasattr(np, "unstack") else list(y)
    y[...] = 0.0
    return sum(k * v for k, v in enumerate(cells)) * first * last


def number_rebound(y):
    t = y[0]
    t += 5.0
    return t * y[0] + y[1]


def sum_rebound(y):
    total = np.sum(y)
    kept = total
    total += y[0]
    total *= total
    return total * kept


def cell_of_an_array(y):
    y = y * 1.0
    t = y[..., 0]
    t += 5.0
    u = np.squeeze(y[1:2])
    u *= 2.0
    return np.sum(y * SHARES)


def array_without_axes(y):
    a = np.zeros((), like=y)
    b = a
    a += y[0]
    w = np.where(y[0] > 0, y[1], y[2])
    v = w
    w *= 3.0
    return b * y[1] + v


def copied_from_a_number(y):
    t = np.sum(y)
    row = np.reshape(t, 1)
    row[0] = 1.0
    return t * y[0] + row[0]


def read_under_a_view(y):
    y = y * 1.0
    matrix = np.reshape(y, (2, 2))
    line = np.diag(matrix)
    turned, shown = np.einsum("ij->ji", matrix), np.einsum("ii->i", matrix)
    same, early = np.real(y), y.conj()
    real, none = y.astype(float, copy=False), np.diff(y, n=0)
    y[0] = y[1] * 4.0
    parts = [line, turned[0], shown, same[:2], early[:2], real[:2], none[:2], np.real_if_close(y)[:2]]
    return sum(np.sum(p * (k + 1.0)) for k, p in enumerate(parts))


def written_through(y):
    y = y * 1.0
    np.real(y)[0] = y[1]
    y.conj()[1] *= 2.0
    y.astype(float, copy=False)[2] = y[0] * y[3]
    shown = np.einsum("i->i", y)
    shown[3] = 1.0
    y.view()[1] += 1.0
    return np.sum(y * SHARES)


def filled_in_place(y):
    y = np.where(y > 2.5, y, np.nan)
    np.nan_to_num(y, copy=False, nan=3.0)
    return np.sum(y**2)


def parts_of_complex_numbers(y):
    z = y + 1j * y[::-1]
    low, high = z.real, np.imag(z)
    z[0] = 5.0 + y[1] * 1j
    z.real = np.multiply(z.real, 2.0)
    z.imag = z.imag + low
    return np.sum(np.abs(z) ** 2 * SHARES) + np.sum(low * high)


def written_into_one_part(y):
    low = np.fft.ifft(np.fft.fft(y) * SHARES).real
    low *= 2.0
    low[low > 5.0] = 1.5
    z = y + 1j * y[::-1]
    high, first = z.imag, z[:3].real[::2]
    z.real[1:] += y[:-1]
    high[0] = y[1] * y[2]
    first -= high[0]
    z[1:].imag[...] *= y[0]
    np.add.at(z.real, [1, 1], y[:2])
    z *= 1 + 0.5j
    return np.sum(np.abs(z) ** 2 * SHARES) + np.sum(low * SHARES) + np.sum(high * first[1])


def in_order_in_place(y):
    y = y[::-1] * 1.0
    y.partition(1)
    return np.sum(y[:2] * SHARES[:2])


def nothing_inserted(y):
    return np.sum(np.insert(y, 1, []) * SHARES)


PROGRAMS = [
    swapped, swapped_by_hand, bubbled, swept, read_then_scaled, kept_while_written, number_rebound, sum_rebound,
    cell_of_an_array, array_without_axes, copied_from_a_number, read_under_a_view, written_through, filled_in_place,
    parts_of_complex_numbers, written_into_one_part, in_order_in_place, nothing_inserted,
]  # fmt: skip


def differences(f, x):
    steps = 1e-5 * np.eye(x.size)
    return np.array([(f(x + s) - f(x - s)) / 2e-5 for s in steps])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_that_write(f):
    value, gradient = ng.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-6, atol=1e-5)
    slope = ng.pushforward(f, (X,), (np.ones(4),))[1]
    np.testing.assert_allclose(slope, gradient.sum(), rtol=1e-9)
    rows = np.stack([X, X[::-1], X + 0.5])
    if f is not bubbled:  # which asks for the order of numbers
        batch = ng.positional(rows, vectorized="row")
        np.testing.assert_allclose(ng.grad(f)(batch).data, [ng.grad(f)(row) for row in rows], rtol=1e-12)


@pytest.mark.parametrize("x", [3.0, np.float64(3.0), np.array(3.0)])
def test_a_number_is_rebound_and_an_array_is_not(x):
    def f(x):
        before = x
        x += 1
        return x * before

    want = 16.0 if isinstance(x, np.ndarray) else 12.0
    value, slope = ng.value_and_grad(f)(x)
    assert value == want
    assert slope == (8.0 if isinstance(x, np.ndarray) else 7.0)
    assert x == 3.0


def test_an_untraced_number():
    p = ng.positional(np.array([2.0, 3.0]))
    t = p[0]
    p[0] = 9.0
    assert t.item() == 2.0
    assert p[0].item() == 9.0


def test_extremes_of_nothing_begin_where_they_are_told():
    for f in (np.max, np.min, np.maximum.reduce):
        value, gradient = ng.value_and_grad(lambda m, f=f: f(m, initial=2.0))(np.zeros(0))
        assert value == 2.0
        assert gradient.shape == (0,)
    wide = ng.value_and_grad(lambda m: np.sum(np.max(m, axis=0, initial=1.0)))(np.zeros((0, 3)))
    assert wide[0] == 3.0


@pytest.mark.parametrize(
    "f",
    [
        lambda y: np.nanmax(y, initial=0.2),
        lambda y: np.nanmax(y, initial=99.0),
        lambda y: np.nanmin(y, initial=9.0, where=y > 2.5),
        lambda y: np.nanprod(y, initial=2.0),
        lambda y: np.nansum(y, initial=2.0, where=y > 2.5),
    ],
)
def test_reductions_without_nan_that_begin_somewhere(f):
    x = np.where(X == 5.0, np.nan, X)
    value, gradient = ng.value_and_grad(f)(x)
    np.testing.assert_equal(np.asarray(value), f(x))
    want = differences(lambda y: f(np.where(X == 5.0, np.nan, y)), X)
    np.testing.assert_allclose(gradient, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("f", [np.nansum, np.nanprod])
def test_reductions_without_nan_over_no_axes(f):
    x = np.array([np.nan, 3.0])
    for inner, axis in ((x, ()), (x[0], None), (x[1], None)):
        value, gradient = ng.value_and_grad(lambda y, axis=axis: np.sum(f(y, axis=axis) * 2.0))(inner)
        assert value == np.sum(f(inner, axis=axis) * 2.0)
        np.testing.assert_array_equal(gradient, np.where(np.isnan(inner), 0.0, 2.0))
    per_slice = getattr(ng.DimArray(x, ("b",), vectorized=("b",)), f.__name__[3:])()
    np.testing.assert_array_equal(per_slice.data, f(x, axis=()))


@pytest.mark.parametrize("dtype", [int, np.int8])
@pytest.mark.parametrize(("f", "axis"), [
    *itertools.product((np.nansum, np.nanprod), (None, 0, ())), *itertools.product((np.nancumsum, np.nancumprod), (None, 0)),
])  # fmt: skip
def test_whole_numbers_without_nan(f, axis, dtype):
    x = np.array([[1.0, np.nan], [2.0, 3.0]])
    found, want = f(ng.positional(x), axis=axis, dtype=dtype), f(x, axis=axis, dtype=dtype)
    np.testing.assert_array_equal(np.asarray(found), want)
    assert found.dtype == want.dtype


@pytest.mark.skipif(not hasattr(np, "cumulative_sum"), reason="NumPy 2.1")
@pytest.mark.parametrize(("x", "dtype"), [([200, 100], None), ([200, 100], np.uint8), ([1, 0], bool), ([1, 2], np.float32)])
def test_running_sums_that_begin_with_nothing_keep_their_dtype(x, dtype):
    x = np.array(x, np.uint8)
    for f in (np.cumulative_sum, np.cumulative_prod):
        found, want = (f(a, dtype=dtype, include_initial=True) for a in (ng.positional(x), x))
        np.testing.assert_array_equal(np.asarray(found), want)
        assert found.dtype == want.dtype


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64])
@pytest.mark.parametrize("f", [np.nansum, np.nanprod])
def test_some_of_whole_numbers_stay_whole(f, dtype):
    x, some = np.array([2**53 + 1, 5, 0]).astype(dtype), np.array([True, False, dtype is not np.int64])
    found, want = np.asarray(f(ng.positional(x), where=some)), f(x, where=some)
    np.testing.assert_array_equal(found, want)
    assert found.dtype == want.dtype


def test_dates_that_are_missing():
    x = np.array([["2000-01-01", "NaT"], ["NaT", "2001-01-01"]], "M8[ns]")
    np.testing.assert_array_equal(np.isnat(ng.positional(x)), np.isnat(x))
    with pytest.raises(TypeError, match=r"use np\.isnan"):
        np.isnat(ng.positional(np.ones(2)))


def test_missing_durations_stay_where_nothing_is_summed():
    x = np.array([1, "NaT"], "m8[s]")
    np.testing.assert_array_equal(np.nansum(ng.positional(x), axis=()).data, np.nansum(x, axis=()))


@pytest.mark.parametrize("dtype", [None, float, "f4", int])
@pytest.mark.parametrize("f", [np.sum, np.nansum, np.mean, np.nanmean, np.cumsum, np.nancumsum])
def test_sums_of_durations_are_durations(f, dtype):
    for x in (np.array([1, "NaT", 3], "m8[s]"), np.array([1, 2, 3], "m8[s]")):
        found, want = np.asarray(f(ng.positional(x), dtype=dtype)), np.asarray(f(x, dtype=dtype))
        np.testing.assert_array_equal(found, want)
        assert found.dtype == want.dtype


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32, np.complex64, complex])
@pytest.mark.parametrize(("f", "x"), [
    *itertools.product((np.var, np.std, np.nanvar, np.nanstd, np.nanmean), (np.array([1, 2, 5], np.int8), np.array([1, 2, 5.5]))),
    *itertools.product((np.var, np.std), (np.array([1 + 1j, 2, 3j]),)),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*discards the imaginary part")
def test_dtypes_of_spreads(f, x, dtype):
    try:
        want = f(x, dtype=dtype)
    except TypeError:
        with pytest.raises(TypeError, match="NaN is no"):
            f(ng.positional(x), dtype=dtype)
        return
    found = np.asarray(f(ng.positional(x), dtype=dtype))
    np.testing.assert_allclose(found, want, rtol=1e-6)
    assert found.dtype == want.dtype


def test_gradients_of_spreads_in_a_dtype():
    want = 2 / 3 * np.array([1.0 - 17 / 6, 2.0 - 17 / 6, 5.5 - 17 / 6])
    for dtype in (np.float32, float, complex):
        found = ng.grad(lambda x, dtype=dtype: np.real(np.var(x, dtype=dtype)))(np.array([1.0, 2.0, 5.5]))
        np.testing.assert_allclose(found, want, rtol=1e-6)


def test_transforms_along_no_axes():
    for f in (np.fft.fftn, np.fft.ifftn):
        assert ng.value_and_grad(lambda x, f=f: np.real(f(x)) ** 2)(np.array(3.0)) == (9.0, 6.0)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.float16, np.float32])
@pytest.mark.parametrize("f", [np.logaddexp, np.hypot, np.fmax, np.fmin])
def test_dtypes_of_folds(f, dtype):
    x = np.array([[1, 0, 1], [1, 1, 0]], dtype)
    for kwargs in ({}, {"axis": None}, {"axis": 1, "keepdims": True}):
        found, want = np.asarray(f.reduce(ng.positional(x), **kwargs)), np.asarray(f.reduce(x, **kwargs))
        np.testing.assert_allclose(found, want, rtol=2e-3 if want.dtype == np.float16 else 1e-6)
        assert found.dtype == want.dtype


@pytest.mark.parametrize(("dx", "axis"), [([1.0, 2.0], 1), ([[2.0], [3.0]], 1), ([1.0, 2.0, 3.0], 0), (2.0, 0)])
def test_integrals_over_steps_that_are_an_array(dx, axis):
    y = np.array([[3.0, 1.0, 2.0], [2.0, -5.0, 4.0]])
    found = np.trapezoid(ng.positional(y), dx=np.array(dx), axis=axis)
    np.testing.assert_allclose(found.data, np.trapezoid(y, dx=np.array(dx), axis=axis))
    each = [np.trapezoid(unit.reshape(y.shape), dx=np.array(dx), axis=axis).sum() for unit in np.eye(y.size)]
    gradient = ng.grad(lambda y: np.sum(np.trapezoid(y, dx=np.array(dx), axis=axis)))(y)
    np.testing.assert_allclose(gradient.ravel(), each)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.float32, float])
@pytest.mark.parametrize("right", [False, True])
def test_bins_that_fall(dtype, right):
    x, bins = np.array([3, 1, 2, 0, 5]).astype(dtype), np.array([3, 1, 0])
    for edges in (bins, bins[::-1], bins.astype(np.uint8)):
        found = np.digitize(ng.positional(x), edges, right=right)
        np.testing.assert_array_equal(found, np.digitize(x, edges, right=right))
    missing = np.array([np.nan, 1.0])
    np.testing.assert_array_equal(np.digitize(ng.positional(missing), bins), np.digitize(missing, bins))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float32])
def test_dtypes_of_what_is_padded(dtype):
    x = np.array([3, 0, 1]).astype(dtype)
    for f in (
        lambda x: np.pad(x, (2, 1)), lambda x: np.pad(x, 1, constant_values=1),
        lambda x: np.diagflat(x, -1), lambda x: np.diag(x, 2),
        lambda x: x if x.dtype == bool else np.pad(x, 3, mode="linear_ramp", end_values=(9, 2)),
    ):  # fmt: skip
        found, want = np.asarray(f(ng.positional(x))), f(x)
        np.testing.assert_allclose(found, want, rtol=1e-6)
        assert found.dtype == want.dtype
    if dtype is not bool:
        padded = xr.DataArray(x, dims="a").pad(a=1, constant_values=2)
        found = ng.pad(ng.DimArray(x, ("a",)), {"a": 1}, constant_values=2)
        np.testing.assert_array_equal(found.data, padded)
        assert found.dtype == padded.dtype


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.float32, float, np.complex64])
def test_dtypes_of_what_is_sorted_unwrapped_and_folded_on_the_way(dtype):
    x = np.array([3, 1, 2]).astype(dtype)
    real = [] if dtype is np.complex64 else [np.logaddexp.accumulate, np.fmax.accumulate]
    signed = [] if dtype in (np.complex64, np.uint16) else [lambda x: np.unwrap(x, period=4)]
    for f in (np.sort_complex, *real, *signed):
        found, want = np.asarray(f(ng.positional(x))), f(x)
        np.testing.assert_allclose(found, want, rtol=2e-3 if want.dtype == np.float16 else 1e-6)
        assert found.dtype == want.dtype


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, 1])
def test_differences_of_complex_numbers_are_their_own(n, axis):
    """Not a part of the numbers; with more of them at an end."""
    rng = np.random.default_rng(0)
    z, ends = rng.normal(size=(2, 4, 4)) + 1j * rng.normal(size=(2, 4, 4))

    def program(z, ends):
        made = np.diff(z * 1.0, n, axis=axis, append=ends)
        made[0] = 2.0
        return made * np.diff(z, n, axis=axis)[0, 0]

    want = program(z, ends)
    np.testing.assert_allclose(np.asarray(program(ng.positional(z), ng.positional(ends))), want, rtol=1e-14)
    along = rng.normal(size=z.shape) + 1j * rng.normal(size=z.shape)
    slope = ng.grad(lambda z: np.sum(np.abs(program(z, ends)) ** 2))(z)
    cost = [np.sum(np.abs(program(z + h * along, ends)) ** 2) for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(np.sum((np.conj(slope) * along).real), (cost[0] - cost[1]) / 2e-5, rtol=1e-7)
