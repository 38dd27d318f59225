"""What a program must not freeze: numbers that are cast, what Python takes from captured arrays, shared objects, labels."""

import types

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng

X = ng.DimArray([1.0, 2.0, -3.0], ("x",))
LABELS = xr.DataArray([1.0, 5.0, 2.0], dims="t", coords={"t": [0, 10, 20]})


@pytest.mark.parametrize("exponents", [(2, 3, 1), (2.0, 3.0, 1.0)])
def test_exponents(exponents):
    slope = ng.compile(ng.grad(lambda x, n: (x**n).sum()))
    on_numbers = ng.compile(ng.grad(lambda p, n: np.sum(p**n)))
    for n in exponents:
        np.testing.assert_allclose(slope(X, n).data, n * X.data ** (n - 1))
        np.testing.assert_allclose(on_numbers(X.data, n), n * X.data ** (n - 1))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_targets_and_casts(dtype):
    x = ng.DimArray(X.data.astype(dtype), ("x",))
    loss, scaled = ng.compile(ng.mse_loss), ng.compile(lambda s, x: ng.astype(s, "float32") * x)
    for target in (2, 3, 5):
        np.testing.assert_allclose(loss(x, target).data, np.mean((x.data - target) ** 2), rtol=1e-6)
        np.testing.assert_allclose(loss(x, float(target)).data, np.mean((x.data - target) ** 2), rtol=1e-6)
        np.testing.assert_allclose(scaled(float(target), x).data, target * x.data, rtol=1e-6)


READERS = {
    "sum": lambda w: lambda x: x * w.sum(),
    "float": lambda w: lambda x: x * float(w.sum()),
    "cell": lambda w: lambda x: x * w[1],
    "item": lambda w: lambda x: x * w[1].item(),
    "branch": lambda w: lambda x: x * 2 if w[0] > 0 else x,
    "position": lambda w: lambda x: x * x[{"x": int(np.argmax(w))}],
    "count": lambda w: lambda x: x.roll({"x": int(abs(w[0]))}),
    "limit": lambda w: lambda x: ng.clip(x, float(w[0]), None),
}


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("name", READERS)
def test_numbers_taken_from_a_captured_array(name, size):
    w = np.zeros(size)
    f = READERS[name](w)
    compiled = ng.compile(f)
    for values in ([0.0, 1.0, 2.0], [5.0, 3.0, 1.0], [-1.0, 7.0, 2.0]):
        w[:] = np.resize(values, size)
        np.testing.assert_array_equal(compiled(X).data, f(X).data)
    holder = types.SimpleNamespace(w=w)
    compiled = ng.compile(lambda x, h: READERS[name](h.w)(x))
    for values in ([0.0, 1.0, 2.0], [5.0, 3.0, 1.0]):
        holder.w = np.array(values)
        np.testing.assert_array_equal(compiled(X, holder).data, READERS[name](holder.w)(X).data)


def test_objects_that_share_an_array_for_a_while():
    a, b = ng.DimArray(np.arange(3.0), ("x",)), ng.DimArray(np.ones(3) * 5, ("x",))
    p, q = types.SimpleNamespace(w=a), types.SimpleNamespace(w=a)
    compiled = ng.compile(lambda p, q: (p.w + 2 * q.w).sum())
    assert compiled(p, q).item() == 9
    q.w = b
    assert compiled(p, q).item() == 33
    table = {"w": b}
    captured = ng.compile(lambda p: (p.w + 2 * table["w"]).sum())
    assert captured(types.SimpleNamespace(w=b)).item() == 45
    assert captured(p).item() == 33


def test_labels_that_values_decide_are_refused():
    with pytest.raises(ng.TraceError, match="isel"):
        ng.compile(lambda d, label: d.sel(t=label))(LABELS, 0)
    with pytest.raises(ng.TraceError, match="isel"):
        ng.compile(ng.value_and_grad(lambda d: d.sel(t=d.idxmax("t"))))(LABELS)
    assert ng.compile(lambda d: d.sel(t=10))(LABELS).item() == 5
    table = xr.DataArray(np.arange(6.0).reshape(3, 2), dims=("t", "x"), coords={"t": [0, 10, 20]})
    with pytest.raises(ng.TraceError, match="where or fillna"):
        ng.compile(ng.grad(lambda d: d.dropna("t").sum(), over="x"))(table)


def test_positions_of_nan_as_numpy_has_them():
    def f(p):
        return p[np.argmax(p)] * 1.0

    p = np.array([3.0, np.nan, 4.0])
    value, gradient = ng.value_and_grad(f)(p)
    assert np.isnan(value)
    np.testing.assert_array_equal(gradient, [0, 1, 0])
    for x in (p, np.full(3, np.nan), np.array([np.nan, 1.0])):
        for g in (np.argmax, np.argmin):
            assert g(ng.positional(x)) == g(x)


def test_an_array_that_gives_numbers_and_serves_as_one():
    w = np.array([1.0, 2.0, 3.0])

    def f(x):
        return ng.DimArray(w, ("x",)) * x / w.sum()

    compiled = ng.compile(f)
    for values in ([1.0, 2.0, 3.0], [5.0, 3.0, 1.0]):
        w[:] = values
        np.testing.assert_array_equal(compiled(X).data, f(X).data)


def test_operands_that_are_filled_again_are_not_recorded_again():
    w, scale = np.arange(5000.0), np.float64(3.0)
    x = ng.DimArray(np.ones(5000), ("x",))
    compiled = ng.compile(lambda x: (ng.DimArray(w, ("x",)) * x).sum() * scale)
    for k in range(3):
        w[:] = k
        assert compiled(x).item() == 15000 * k
    assert compiled.cache_info().recordings == 1
