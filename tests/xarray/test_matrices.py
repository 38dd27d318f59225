"""Linear algebra on xarray objects: coordinates of what it gives, Datasets, alignment by labels."""

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng

rng = np.random.default_rng(2)
DIMS = ("i", "j")


@pytest.fixture
def a():
    data = rng.normal(size=(2, 3, 3))
    data = data @ np.swapaxes(data, -1, -2) + np.eye(3)
    coords = {"t": [0.5, 1.5], "i": list("abc"), "j": list("xyz"), "height": ("i", [1, 2, 3])}
    return xr.DataArray(data, dims=("t", *DIMS), coords=coords, name="a")


def labels(x):
    return {n: "".join(map(str, x[n].values)) for n in x.dims if n in x.coords and n != "t"}


@pytest.mark.parametrize(("call", "expected"), [
    (lambda a: ng.cholesky(a, DIMS), ({"i": "abc", "j": "xyz"},)), (lambda a: ng.expm(a, DIMS), ({"i": "abc", "j": "xyz"},)),
    (lambda a: ng.inv(a, DIMS), ({"i": "xyz", "j": "abc"},)), (lambda a: ng.pinv(a, dims=DIMS), ({"i": "xyz", "j": "abc"},)),
    (lambda a: ng.pinv(a.isel(j=[0, 2]), DIMS), ({"i": "xz", "j": "abc"},)), (lambda a: ng.qr(a, DIMS), ({"i": "abc"}, {"j": "xyz"})),
    (lambda a: ng.svd(a, DIMS), ({"i": "abc"}, {}, {"j": "xyz"})), (lambda a: ng.eigh(a, DIMS), ({}, {"i": "abc"})),
    (lambda a: ng.solve(a, a.isel(j=0, drop=True), DIMS), ({"j": "xyz"},)), (lambda a: ng.det(a, DIMS), ({},)),
])  # fmt: skip
def test_coordinates(a, call, expected):
    out = call(a)
    for x, wanted in zip(out if isinstance(out, tuple) else (out,), expected, strict=True):
        assert labels(x) == wanted
        assert x.t.values.tolist() == [0.5, 1.5]


def test_an_inverse_is_labelled_so_that_products_align(a):
    product = xr.dot(a, ng.inv(a, DIMS).rename(i="j", j="k"), dim="j")
    assert product.sizes == {"t": 2, "i": 3, "k": 3}
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(3), (2, 3, 3)), atol=1e-12)
    assert ng.inv(a, DIMS).height.dims == ("j",)


def test_datasets(a):
    ds = xr.Dataset({"one": a, "two": 2 * a})
    values, vectors = ng.eigh(ds, DIMS)
    np.testing.assert_allclose(values.two, 2 * np.linalg.eigvalsh(a.values))
    assert vectors.one.dims == ("t", "i", "j2")
    assert ng.linalg.solve(ds, a.isel(j=0, drop=True), DIMS).two.dims == ("t", "j")


def test_right_hand_sides_meet_by_label(a):
    b = xr.DataArray(rng.normal(size=3), dims="i", coords={"i": list("abc")})
    xr.testing.assert_allclose(ng.solve(a, b.isel(i=[2, 0, 1]), DIMS), ng.solve(a, b, DIMS).transpose("t", "j"))


def test_gradients_per_slice_equal_those_of_single_matrices(a):
    def f(a):
        return ng.logdet(a, DIMS) + (ng.cholesky(a, DIMS) ** 2).sum()

    together = a.grad(f, over="t")
    for k in range(2):
        xr.testing.assert_allclose(together.isel(t=k), a.isel(t=k).grad(f))
