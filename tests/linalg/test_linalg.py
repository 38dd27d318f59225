"""Linear algebra where the table of operations does not reach: phases, singular and degenerate matrices, errors."""

import itertools
import pickle

import dask.array
import numpy as np
import pytest
import scipy.linalg
import xarray as xr

import namedgrad as ng
from tests.linalg.matrices import named
from tests.support.tolerances import FIRST, MATRIX, assert_close

rng = np.random.default_rng(3)
DIMS = ("i", "j")


def slope(f, a, t, h=1e-4):
    """The derivative of a real function of an array along ``t``."""
    at = [float(f(named(a + k * h * t)).item()) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)


def agree(f, a, t, tolerance=FIRST):
    g = ng.grad(f)(named(a)).to_numpy()
    expected = slope(f, a, t)
    assert_close(np.sum(np.real(np.conj(g) * t)), expected, tolerance)
    assert_close(ng.pushforward(f, (named(a),), (named(t),))[1].to_numpy(), expected, tolerance)


def some(*shape, kind="real"):
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if kind == "complex" else x


def squared(x):
    return (x * np.conj(x)).real


INVARIANT = {
    "svd": lambda a: _projection(*_thin(a)),
    "eigh": lambda a: _spectral(a),
    "eig": lambda a: squared(ng.eig(a, DIMS)[1]).isel(i=0, j2=1) + squared(ng.eig(a, DIMS)[1]).isel(i=2, j2=0),
    "full svd": lambda a: _completed(a),
}


def _thin(a):
    u, s, vh = ng.svd(a, DIMS)
    return u.isel(j2=[0, 1]), s.isel(j2=[0, 1]), vh.isel(j2=[0, 1])


def _projection(u, s, vh):
    """Of the sum of some dyads: no phase changes it."""
    part = ng.dot(u * ng.sqrt(s), vh, dim="j2")
    return squared(part).isel(i=0, j=1) + part.real.isel(i=2, j=0)


def _spectral(a):
    w, v = ng.eigh(a, DIMS)
    v = v.isel(j2=[0, 2])
    part = ng.dot(v * ng.exp(w.isel(j2=[0, 2]) / 4), np.conj(v).rename(i="j"), dim="j2")
    return squared(part).isel(i=0, j=1) + part.real.isel(i=2, j=0)


def _completed(a):
    """The projection onto what the columns do not span."""
    rest = ng.svd(a, DIMS, full_matrices=True)[0]
    rest = rest.isel(j2=slice(min(a.shape), None))
    part = ng.dot(rest, np.conj(rest).rename(i="k"), dim="j2")
    return squared(part).isel(i=0, k=1) + part.real.isel(i=2, k=0)


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("name", ["svd", "eigh", "eig"])
def test_what_no_phase_changes(name, kind):
    a, t = some(4, 4, kind=kind) + 2 * np.diag([0.0, 3, 6, 9]), some(4, 4, kind=kind)
    if name == "eigh":
        a, t = (x + x.conj().T for x in (a, t))
    agree(INVARIANT[name], a, t)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_completed_bases(kind):
    agree(INVARIANT["full svd"], some(4, 2, kind=kind), some(4, 2, kind=kind))


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_factors_of_any_shape_give_the_matrix_back(shape, kind):
    a = named(some(*shape, kind=kind))
    u, s, vh = ng.svd(a, DIMS)
    q, r = ng.qr(a, DIMS)
    p, low, up = ng.lu(a, DIMS)
    assert_close(ng.dot(u * s, vh, dim="j2").to_numpy(), a.to_numpy(), MATRIX)
    assert_close(ng.dot(q, r, dim="j2").to_numpy(), a.to_numpy(), MATRIX)
    assert_close(ng.dot(low, up, dim="j2").to_numpy(), a.isel(i=p).to_numpy(), MATRIX)
    complete = ng.qr(a, DIMS, mode="complete", new_dim="k")[0]
    assert complete.sizes == {"i": shape[0], "k": shape[0]}
    assert_close(complete.to_numpy().conj().T @ complete.to_numpy(), np.eye(shape[0]), MATRIX)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_slopes_of_triangular_factors(shape, kind):
    a = some(*shape, kind=kind) + 3 * np.eye(*shape)

    def f(a):
        _, low, up = ng.lu(a, DIMS)
        return squared(low * ng.DimArray(np.arange(1.0, 1 + low.shape[0]), "i")).sum() + squared(up + 1.0).sum() + up.real.isel(j2=0, j=1)

    agree(f, a, some(*shape, kind=kind))


# ------------------------------------------------------------------------------------------------ singular, degenerate


@pytest.mark.parametrize("rank", [4, 3, 2, 1, 0])
def test_determinant_of_singular_matrices_to_second_order(rank):
    a = some(4, rank) @ some(rank, 4) if rank else np.zeros((4, 4))
    t, u = some(4, 4), some(4, 4)

    def exact(x):  # by permutations: a polynomial, differentiated by differences without error
        total = 0.0
        for p in itertools.permutations(range(4)):
            total += np.linalg.det(np.eye(4)[list(p)]) * np.prod([x[i, p[i]] for i in range(4)])
        return total

    gradient = ng.grad(lambda x: ng.det(x, DIMS))
    h = 1e-2
    first = [(exact(a + k * h * t)) for k in (-2, -1, 1, 2)]
    expected = (first[0] - 8 * first[1] + 8 * first[2] - first[3]) / (12 * h)
    assert_close((gradient(named(a)).to_numpy() * t).sum(), expected, 1e-9)
    second = ng.hvp(lambda x: ng.det(x, DIMS), named(a), named(t)).to_numpy()
    mixed = sum(s * v * exact(a + h * (s * t + v * u)) for s in (1, -1) for v in (1, -1)) / (4 * h * h)
    half = sum(s * v * exact(a + h / 2 * (s * t + v * u)) for s in (1, -1) for v in (1, -1)) / (h * h)
    assert_close((second * u).sum(), (4 * half - mixed) / 3, 1e-7)


def test_equal_eigenvalues_give_what_is_unique_and_nothing_else():
    a = named(np.diag([1.0, 1.0, 3.0]))
    values = ng.grad(lambda x: (ng.eigh(x, DIMS)[0] ** 2).sum())(a)
    assert_close(values.to_numpy(), 2 * a.to_numpy(), MATRIX)
    single = ng.grad(lambda x: ng.eigh(x, DIMS)[1].isel(j2=2, i=0))(a)
    assert np.isfinite(single.to_numpy()).all(), "the vector of the single eigenvalue is determined"
    free = ng.grad(lambda x: ng.eigh(x, DIMS)[1].isel(j2=0, i=1))(a)
    assert np.isnan(free.to_numpy()).any(), "those of equal ones are not"


def test_an_upper_factor_reads_the_upper_triangle():
    a = np.triu(some(3, 3, kind="complex")) + 6.0 * np.eye(3)
    for upper in (False, True):
        m = a if upper else a.T
        found = np.linalg.cholesky(ng.positional(m), upper=upper).data
        assert_close(found, np.linalg.cholesky(m, upper=upper), MATRIX)


def test_norms_of_deficient_matrices():
    a = named(np.outer([1.0, 2.0], [2.0, 1.0]))
    for order in ("nuc", 2, "fro"):
        g = ng.grad(lambda x, o=order: ng.matrix_norm(x, DIMS, o))(a).to_numpy()
        assert_close(g, np.outer([1.0, 2.0], [2.0, 1.0]) / 5, MATRIX)


def test_pseudoinverse_where_the_rank_stays():
    x, y = some(5, 2), some(2, 4)
    t = some(5, 2) @ y + x @ some(2, 4)  # to first order along the matrices of rank 2

    def f(h):
        return np.linalg.pinv((x + h * (t @ np.linalg.pinv(y))) @ y, rcond=1e-6)

    moved = t @ np.linalg.pinv(y) @ y
    expected = (f(1e-5) - f(-1e-5)) / 2e-5
    got = ng.pushforward(lambda a: ng.pinv(a, DIMS, rtol=1e-6), (named(x @ y),), (named(moved),))[1]
    assert_close(got.to_numpy().T if got.shape != expected.shape else got.to_numpy(), expected, 1e-6)


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize(("m", "n", "values"), [(3, 3, [1, 0.5, 0.05]), (3, 3, [1, 1, 0.05]), (4, 2, [1, 0.08]), (3, 5, [1, 0.3, 0.02]), (2, 2, [1, 0.5])])
def test_pseudoinverse_that_cuts_off_what_is_not_0(m, n, values, kind):
    """A regularisation by truncation, against differences of NumPy's, of the first and second order and per slice."""
    left, right = (np.linalg.qr(some(k, k, kind=kind))[0] for k in (m, n))
    a, w = (left[:, : len(values)] * np.array(values)) @ right[: len(values)], some(n, m, kind=kind)
    t, u = some(m, n, kind=kind), some(m, n, kind=kind)
    value = lambda a: np.sum(np.real(np.conj(w) * np.linalg.pinv(a, rcond=0.1)))
    by_steps = lambda f, t, h: (8 * (f(a + h * t) - f(a - h * t)) - f(a + 2 * h * t) + f(a - 2 * h * t)) / (12 * h)
    g = ng.grad(value)(a)
    assert_close(np.sum(np.real(np.conj(g) * t)), by_steps(value, t, 1e-4), FIRST)
    assert_close(ng.pushforward(value, (a,), (t,))[1], by_steps(value, t, 1e-4), FIRST)
    along = lambda a: np.sum(np.real(np.conj(ng.grad(value)(a)) * t))
    assert_close(np.sum(np.real(np.conj(ng.grad(along)(a)) * u)), by_steps(along, u, 1e-4), 1e-7)
    stack = named(np.stack([a, 2 * a, a[::-1]]), "bij").vectorize("b")
    size = lambda a: squared(ng.pinv(a, DIMS, rtol=0.1)).sum()
    slices = ng.grad(size)(stack).devectorize()
    for k, x in enumerate(stack.devectorize().to_numpy()):
        assert_close(slices.isel(b=k).to_numpy(), ng.grad(size)(named(x)).to_numpy(), MATRIX)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_pseudoinverse_that_cuts_off_everything(kind):
    """Its value is 0 all around, so all derivatives are, too; also in one slice beside others."""
    a, t = some(2, 4, 4, kind=kind), some(2, 4, 4, kind=kind)
    value = lambda a: np.sum(np.real(np.linalg.pinv(a, rcond=np.array([1.0, 1e-10]))[0] * t[0]))
    for f in (lambda a: np.sum(np.real(np.linalg.pinv(a, rcond=1.0) * t)), value):
        assert_close(ng.grad(f)(a), np.zeros_like(a), 0)
        assert_close(ng.grad(lambda a, f=f: np.sum(np.real(ng.grad(f)(a) * t)))(a), np.zeros_like(a), 0)
    assert_close(ng.pushforward(lambda a: np.linalg.pinv(a, rcond=2.0), (a,), (t,))[1], np.zeros_like(a), 0)


def test_masked_slices_do_not_reach_the_others():
    good = some(3, 3) + 4 * np.eye(3)
    a = named(np.stack([good, np.full((3, 3), np.nan)]), "bij")
    keep = named([True, False], "b")
    for f in (
        lambda x: ng.inv(x, DIMS, errors="nan"), lambda x: ng.solve(x, named(np.ones(3), "i"), DIMS, errors="nan"),
        lambda x: ng.expm(x.where(keep, 0.0), DIMS), lambda x: ng.slogdet(x, DIMS)[1],
    ):  # fmt: skip
        g = ng.grad(lambda x, f=f: f(x).where(keep, 0.0).sum())(a).to_numpy()
        assert np.isfinite(g[0]).all()
        assert (g[1] == 0).all()


# ------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize("call", [lambda a, **kw: ng.cholesky(a, DIMS, **kw), lambda a, **kw: ng.inv(a, DIMS, **kw), lambda a, **kw: ng.solve(a, named(np.ones(2), "i"), DIMS, **kw)], ids=["cholesky", "inv", "solve"])
def test_an_error_says_which_matrix(call):
    a = np.broadcast_to(np.eye(2), (3, 4, 2, 2)).copy()
    a[1, 2] = a[2, 0] = 0
    batch = named(a, ("lat", "lon", "i", "j"))
    for x in (batch, batch.vectorize("lat"), batch.transpose("i", "lon", "j", "lat")):
        with pytest.raises(np.linalg.LinAlgError, match=r"lat=1.*lon=2|lon=2.*lat=1"):
            call(x)
        out = call(x, errors="nan")
        out = ng.devectorize(out).transpose("lat", "lon", ...).to_numpy()
        bad = np.isnan(out).reshape(3, 4, -1).any(-1)
        assert bad.tolist() == [[False] * 4, [False, False, True, False], [True, False, False, False]]


SINGULAR = np.broadcast_to(np.eye(4), (3, 4, 4, 4)).copy()
SINGULAR[1, 2] = SINGULAR[2, 0] = 0
UNKNOWN = np.where(SINGULAR.any((-1, -2), keepdims=True), SINGULAR, np.nan)
RIGHT = named(np.ones((3, 4, 4)), ("lat", "lon", "i"))
FAILS = {
    "cholesky": (lambda a: ng.cholesky(a, DIMS), SINGULAR), "inv": (lambda a: ng.inv(a, DIMS), SINGULAR),
    "solve": (lambda a: ng.solve(a, RIGHT, DIMS), SINGULAR), "matrix_power": (lambda a: ng.matrix_power(a, DIMS, -2), SINGULAR),
    "solve_triangular": (lambda a: ng.solve_triangular(a, RIGHT, DIMS), SINGULAR), "eigh": (lambda a: ng.eigh(a, DIMS), UNKNOWN),
    "eigvalsh": (lambda a: ng.eigvalsh(a, DIMS), UNKNOWN), "eig": (lambda a: ng.eig(a, DIMS), UNKNOWN),
    "eigvals": (lambda a: ng.eigvals(a, DIMS), UNKNOWN), "svd": (lambda a: ng.svd(a, DIMS, compute_uv=False), UNKNOWN),
    "pinv": (lambda a: ng.pinv(a, DIMS), UNKNOWN), "lstsq": (lambda a: ng.lstsq(a, RIGHT, DIMS), UNKNOWN),
    "cond": (lambda a: ng.cond(a, DIMS), UNKNOWN), "matrix_rank": (lambda a: ng.matrix_rank(a, DIMS), UNKNOWN),
    "norm": (lambda a: ng.matrix_norm(a, DIMS, 2), UNKNOWN),
}  # fmt: skip


def parts(x):
    return x if isinstance(x, tuple) else (x,)


@pytest.mark.parametrize("name", FAILS)
def test_every_error_names_the_operation_and_the_matrices(name):
    f, data = FAILS[name]
    a = named(data, ("lat", "lon", "i", "j"))
    said = rf"^{name}: .*, at lat=1, lon=2; lat=2, lon=0 of \(lat: 3, lon: 4\)"
    gradient = ng.grad(lambda a: parts(f(a))[0].real.sum())
    compiled = ng.compile(f)
    compiled(named(np.broadcast_to(np.eye(4) + 0.1, (3, 4, 4, 4)) * [1.0, 2.0, 3.0, 4.0], ("lat", "lon", "i", "j")))
    for call in (f, gradient, compiled):
        with pytest.raises(np.linalg.LinAlgError, match=said):
            call(a)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        f(a)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert ("errors='nan'" in str(again)) == (name not in {"matrix_power", "cond", "matrix_rank", "norm"})


def test_an_error_about_a_data_array_has_its_coordinates():
    lat = np.array(["2000-01-01", "2000-02-01", "2000-03-01"], "M8[D]").astype("M8[ns]")
    a = xr.DataArray(SINGULAR, dims=("lat", "lon", "i", "j"), coords={"lat": lat, "lon": [0.5, 1.5, 2.5, 3.5]})
    said = r"lat=2000-02-01T00:00:00.000000000 \(1\), lon=2.5 \(2\); lat=2000-03"
    for call in (lambda: ng.cholesky(a, DIMS), lambda: a.grad(lambda x: ng.inv(x, DIMS).sum()), lambda: a.grad(lambda x: ng.inv(x, DIMS).sum(), over=("lat", "lon"))):
        with pytest.raises(np.linalg.LinAlgError, match=said):
            call()


@pytest.mark.parametrize("name", ["cholesky", "inv", "solve", "solve_triangular"])
def test_an_error_of_a_lazy_array_names_the_matrices_too(name):
    f, data = FAILS[name]
    for dims in (("lat", "lon", "i", "j"), ("i", "lon", "j", "lat")):
        stored = named(data, ("lat", "lon", "i", "j")).transpose(*dims).to_numpy()
        chunks = tuple({"lat": 2, "lon": 3, "i": 1, "j": 2}[n] for n in dims)
        lazy = f(ng.DimArray(dask.array.from_array(stored, chunks=chunks), dims))
        with pytest.raises(np.linalg.LinAlgError, match=rf"^{name}: .*(lat=1, lon=2|lat=2, lon=0|lon=2, lat=1|lon=0, lat=2) of"):
            lazy.data.compute()


@pytest.mark.parametrize("call", [
    lambda a, _: ng.cholesky(a, DIMS, errors="nan"), lambda a, _: ng.inv(a, DIMS, errors="nan"),
    lambda a, b: ng.solve(a, b, DIMS, errors="nan"), lambda a, b: ng.solve_triangular(a, b, DIMS, errors="nan"),
])
def test_other_slices_have_the_derivatives_that_they_have_alone(call):
    """Of first and second order; of a slice that is masked out they are 0."""
    data = SINGULAR + 0.1 * np.where(SINGULAR.any((-1, -2), keepdims=True), some(3, 4, 4, 4), 0)
    a = named(data + np.swapaxes(data, -1, -2), ("lat", "lon", "i", "j"))
    fine = named(data[..., 0, 0] != 0, ("lat", "lon"))
    given = a, RIGHT, fine, named(some(3, 4, 4, 4), ("lat", "lon", "i", "j"))

    def loss(a, b, fine, _):
        out = ng.sin(call(a, b))
        return ng.where(fine, out.sum([d for d in out.dims if d in DIMS], skipna=False), 0.0).sum()

    def slope(a, b, fine, weight):
        return (ng.grad(loss)(a, b, fine, weight) * weight).sum()

    for f in (loss, slope):
        got = ng.grad(f)(*given).to_numpy()
        assert np.isfinite(got).all()
        assert not got[1, 2].any()
        alone = ng.grad(f)(*(x.isel(lat=[0], lon=[3]) for x in given)).to_numpy()
        assert_close(got[0, 3], alone[0, 0], MATRIX)


@pytest.mark.parametrize("call", [
    lambda a: ng.lu(a, DIMS)[2], lambda a: ng.expm(a, DIMS), lambda a: ng.inv(a, DIMS), lambda a: ng.solve_triangular(a, a.rename(j="k"), DIMS),
    lambda a: ng.sqrtm(a, DIMS), lambda a: ng.svd(a, DIMS)[1],
])
def test_numbers_stored_with_the_other_byte_first(call):
    """As netCDF's classic format has them."""
    data = some(3, 4, 4)
    data = data @ np.swapaxes(data, -1, -2) + np.eye(4)
    native, swapped = (named(data.astype(d), "bij") for d in ("<f8", ">f8"))
    assert_close(call(swapped).to_numpy(), call(native).to_numpy(), MATRIX)
    f = ng.grad(lambda a: ng.sin(call(a)).sum())
    assert_close(f(swapped).to_numpy(), f(native).to_numpy(), MATRIX)


def test_dims_are_checked():
    a = named(np.ones((2, 3)))
    with pytest.raises(ng.AxisError, match="square"):
        ng.det(a, DIMS)
    with pytest.raises(ng.AxisError, match="two different names"):
        ng.inv(a, ("i", "i"))
    with pytest.raises(ng.AxisError, match="exists already"):
        ng.svd(a, DIMS, new_dim="i")
    with pytest.raises(ng.AxisError, match="vectorized"):
        ng.qr(named(np.ones((2, 3)), vectorized=["i"]), DIMS)
    with pytest.raises(ng.AxisError, match="size 3"):
        ng.cross(a, a, "i")


def test_functions_of_matrices_with_complex_values():
    a = np.array([[0.0, -1.0], [1.0, 0.0]]) - 2 * np.eye(2)
    for name in ("sqrtm", "logm"):
        expected = getattr(scipy.linalg, name)(a)
        got = getattr(ng, name)(named(a), DIMS)
        assert_close(got.to_numpy(), expected, MATRIX)
        agree(lambda x, name=name: squared(getattr(ng, name)(x, DIMS)).sum(), a, some(2, 2))


def test_determinants_of_what_is_not_finite_have_no_derivative_and_leave_other_slices_alone():
    a, t = rng.normal(size=(2, 4, 3, 3))
    a[1, 0, 0], a[2, 1, 2] = np.nan, np.inf
    a[3] = np.ones((3, 3))  # singular
    gradient = ng.grad(lambda a: ng.det(a, DIMS))
    x, along = (named(v, "bij", vectorized="b") for v in (a, t))
    g, h = gradient(x).to_numpy(), ng.pushforward(gradient, (x,), (along,))[1].to_numpy()
    for i in (0, 3):
        assert_close(g[i], gradient(named(a[i])).to_numpy(), MATRIX)
        assert_close(h[i], ng.pushforward(gradient, (named(a[i]),), (named(t[i]),))[1].to_numpy(), MATRIX)
    assert np.isnan(g[1:3]).all()
    assert np.isnan(h[1:3]).all()


def test_matrices_in_datasets_and_data_arrays():
    rng = np.random.default_rng(8)
    m = rng.normal(size=(4, 3, 3)) + 3 * np.eye(3)
    ds = xr.Dataset({"m": (("b", "i", "j"), m), "s": (("i", "b", "j"), m.transpose(1, 0, 2) * 2), "n": ("b", np.arange(4.0))}, coords={"b": [10, 20, 30, 40]})
    found = ng.inv(ds, DIMS)
    assert_close(found.m.data, np.linalg.inv(m), MATRIX)
    assert_close(found.s.transpose("b", "i", "j").data, np.linalg.inv(m) / 2, MATRIX)
    assert found.n.equals(ds.n), "a variable without the dims stays as it is"
    w, v = ng.eigh(ds, DIMS)
    assert set(w.data_vars) == set(v.data_vars) == {"m", "s"}
    assert w.m.dims == ("b", "j2")
    assert w.b.equals(ds.b)
    u, s, vh = ng.svd(ds.m, DIMS)
    assert_close(xr.dot(u * s, vh, dim="j2").transpose("b", "i", "j").data, m, MATRIX)
    sign, size = ng.slogdet(ds[["m"]], DIMS)
    assert_close((sign * np.exp(size)).m.data, np.linalg.det(m), MATRIX)
    g = ng.grad(lambda ds: ng.logdet(ds.m, DIMS).sum())(ds[["m"]])
    assert_close(g.m.data, np.linalg.inv(m).transpose(0, 2, 1), MATRIX)
    with pytest.raises(ng.AxisError, match="no dim"):
        ng.inv(ds, ("i", "q"))


def test_arguments_that_make_no_sense_are_refused_by_name():
    a = named(np.eye(3) + 1.0)
    for call in (lambda: ng.cholesky(a, DIMS, errors="ignore"), lambda: ng.solve(a, a.isel(j=0), DIMS, errors=None)):
        with pytest.raises(ValueError, match=r"errors=.*'raise' or 'nan'"):
            call()
    for n in (0.5, 2.0, "2"):
        with pytest.raises(TypeError, match="integer"):
            ng.matrix_power(a, DIMS, n)
    with pytest.raises(ValueError, match="'fro' is no norm of vectors"):
        ng.norm(a, "i", "fro")
    with pytest.raises(np.linalg.LinAlgError, match="without cells"):
        ng.cond(named(np.zeros((0, 0))), DIMS)


@pytest.mark.parametrize("size", [1e-120, 1e-3, 1e120])
def test_cofactors_where_the_determinant_is_out_of_range(size):
    g = ng.grad(lambda a: ng.det(a, DIMS))(named(np.diag([size, size, 3.0]))).to_numpy()
    assert np.allclose(np.diag(g) / size, [3.0, 3.0, size], rtol=1e-12)
    assert np.isfinite(g).all()


@pytest.mark.parametrize("cell", [(0, 1), (1, 0), (1, 1)])
def test_a_missing_cell_is_missing_in_the_determinant(cell: tuple[int, int]) -> None:
    """Also in the half of a triangular matrix that no product on the diagonal takes in; other matrices keep theirs."""
    a = np.array([[[1.0, 0.0], [0.0, 1.0]], [[2.0, 1.0], [0.0, -3.0]]])
    a[0][cell] = np.nan
    with np.errstate(invalid="ignore"):  # NumPy says so, too
        sign, size = ng.slogdet(ng.DimArray(a, ("b", "i", "j")), ("i", "j"))
        expected = np.linalg.slogdet(a)
    np.testing.assert_array_equal(sign.data, expected.sign)
    np.testing.assert_allclose(size.data, expected.logabsdet, rtol=1e-15)


@pytest.mark.parametrize("f", [lambda a: ng.svd(a, DIMS, compute_uv=False).sum("j2", skipna=False), lambda a: ng.matrix_norm(a, DIMS, 2), lambda a: ng.matrix_norm(a, DIMS, "nuc")])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_singular_values_of_infinite_matrices_disturb_no_other(f):
    """NumPy finds NaN there, and refuses the vectors, which the derivative needs."""
    cells = np.array([[[1.0, 2.0], [0.5, 3.0]], [[np.inf, 1.0], [2.0, 1.0]], [[2.0, -1.0], [0.3, 1.0]]])
    assert np.isnan(np.linalg.svd(cells, compute_uv=False)[1]).all()
    a = ng.DimArray(cells, ("b", *DIMS), vectorized="b")
    value, g = ng.value_and_grad(f)(a)
    np.testing.assert_allclose(value.data, f(a).data, rtol=1e-14)
    assert np.isnan(value.data[1])
    for k in (0, 2):
        alone = ng.DimArray(cells[k], DIMS)
        step = lambda m, alone=alone: f(alone + m).item() - f(alone - m).item()
        units = [ng.DimArray(1e-6 * np.eye(4)[i].reshape(2, 2), DIMS) for i in range(4)]
        np.testing.assert_allclose(g.data[k].ravel(), [step(m) / 2e-6 for m in units], rtol=1e-6)
