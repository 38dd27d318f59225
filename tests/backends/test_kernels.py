"""What backends compute themselves, against loops over single cells: on NumPy, on the stand-in for CuPy, on dask."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from namedgrad import axes, backends
from tests.support import fake_cupy
from tests.support.tolerances import EXACT, ROUNDING, assert_close

DTYPES = ["float64", "float32", "complex128", "int64"]
SPECIAL = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan]


class On(NamedTuple):
    """A backend, and how to get arrays there and back."""

    name: str

    @property
    def kernels(self) -> Any:
        return backends.get_backend(self.name)

    def put(self, x: Any) -> Any:
        x = np.asarray(x)
        if self.name == "dask":
            return da.from_array(x, chunks=tuple(max(1, (n + 1) // 2) for n in x.shape))
        return fake_cupy.array(x) if self.name == "cupy" else x

    def get(self, x: Any) -> np.ndarray:
        return np.asarray(self.kernels.to_numpy(x)) if self.name != "numpy" else np.asarray(x)


@pytest.fixture(params=["numpy", "cupy", "dask"])
def on(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[On]:
    fake_cupy.installed(monkeypatch)
    with dask.config.set(scheduler="sync"), np.errstate(all="ignore"):
        yield On(request.param)


examples = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # the fixture says which backend, and holds no state
)
sizes = st.lists(st.integers(1, 4), min_size=0, max_size=2).map(tuple)


class Indexing(NamedTuple):
    """An array of axes ``(shared, own, core)`` and positions over ``(shared, new)`` for each core axis."""

    shared: tuple[int, ...]
    own: tuple[int, ...]
    core: tuple[int, ...]
    new: tuple[int, ...]
    dtype: str
    seed: int

    def index(self) -> list[np.ndarray]:
        rng = np.random.default_rng(self.seed)
        found = [rng.integers(0, n, (*self.shared, *self.new)) for n in self.core]
        # axes of size 1 stand for those that an index lacks
        return [i[(slice(0, 1),) * len(self.shared)] if k and self.shared else i for k, i in enumerate(found)]

    def data(self, shape: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng(self.seed + 1)
        x = rng.integers(-9, 9, shape).astype(self.dtype)
        return x * (1 + 2j) if self.dtype == "complex128" else x

    def pairs(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Cells of the indexed array and the cells that they are seen at."""
        full = [np.broadcast_to(i, (*self.shared, *self.new)) for i in self.index()]
        for s in np.ndindex(*self.shared):
            for o, n in itertools.product(np.ndindex(*self.own), np.ndindex(*self.new)):
                yield (*s, *o, *(int(i[(*s, *n)]) for i in full)), (*s, *o, *n)


indexings = st.builds(
    Indexing,
    sizes,
    sizes,
    st.lists(st.integers(1, 4), min_size=1, max_size=2).map(tuple),
    st.lists(st.integers(0, 5), min_size=0, max_size=2).map(tuple),
    st.sampled_from(DTYPES),
    st.integers(0, 1000),
)


@given(case=indexings)
@examples
def test_gather(on: On, case: Indexing) -> None:
    x = case.data((*case.shared, *case.own, *case.core))
    expected = np.zeros((*case.shared, *case.own, *case.new), case.dtype)
    for here, there in case.pairs():
        expected[there] = x[here]
    got = on.kernels.gather(on.put(x), *map(on.put, case.index()), shared=len(case.shared))
    assert got.dtype == case.dtype
    assert_close(on.get(got), expected, EXACT)


@given(case=indexings)
@examples
def test_scatter_add(on: On, case: Indexing) -> None:
    g = case.data((*case.shared, *case.own, *case.new))
    expected = np.zeros((*case.shared, *case.own, *case.core), case.dtype)
    for here, there in case.pairs():
        expected[here] += g[there]
    got = on.kernels.scatter_add(on.put(g), *map(on.put, case.index()), shared=len(case.shared), sizes=case.core)
    assert got.dtype == case.dtype
    assert_close(on.get(got), expected, EXACT)


WRITE = {"multiply": (1, lambda a, b: a * b), "maximum": (-np.inf, max), "minimum": (np.inf, min)}


@given(case=indexings, how=st.sampled_from(sorted(WRITE)), tail=st.booleans())
@examples
def test_scatter_of_other_kinds(on: On, case: Indexing, how: str, tail: bool) -> None:
    first, combine = WRITE[how]
    new = len(case.new)
    g = Indexing(*case[:4], "float64", case.seed).data((*case.shared, *case.own, *case.new))
    expected = np.full((*case.shared, *case.own, *case.core), float(first))
    for here, there in case.pairs():
        expected[here] = combine(expected[here], g[there])
    count = len(case.own) if tail else 0
    options = {"shared": len(case.shared), "sizes": case.core, "tail": count}
    if count:  # own axes last
        g = np.moveaxis(g, range(len(case.shared), len(case.shared) + count), range(-count, 0))
        expected = np.moveaxis(expected, range(len(case.shared), len(case.shared) + count), range(-count, 0))
    got = on.kernels.scatter(how, on.put(g), *map(on.put, case.index()), **options)
    assert_close(on.get(got), expected, EXACT)
    if how == "multiply" and new:
        others = on.kernels.exclusive_product(on.put(g), got, *map(on.put, case.index()), **options)
        assert others.shape == g.shape
        assert_close(on.get(others), _others(case, g, count), EXACT)


def _others(case: Indexing, g: np.ndarray, tail: int) -> np.ndarray:
    ahead = np.moveaxis(g, range(g.ndim - tail, g.ndim), range(len(case.shared), len(case.shared) + tail))
    pairs = list(case.pairs())
    out = np.ones(ahead.shape)
    for here, there in pairs:
        for other, where in pairs:
            if here == other and where != there:
                out[there] *= ahead[where]
    return np.moveaxis(out, range(len(case.shared), len(case.shared) + tail), range(g.ndim - tail, g.ndim))


def test_scatter_refuses_positions_out_of_range() -> None:
    with pytest.raises(IndexError, match="from 0 to 3 is out of range for size 3"):
        backends.NUMPY.scatter_add(np.ones((2, 2)), np.array([0, 3]), shared=0, sizes=(3,))


# ------------------------------------------------------------------------------------------------ cut and put back

slices = st.builds(
    slice,
    st.none() | st.integers(-6, 6),
    st.none() | st.integers(-6, 6),
    st.none() | st.sampled_from([1, 2, 3, -1, -2]),
)


@given(size=st.integers(1, 5), axis=st.integers(0, 2), index=slices | st.integers(-1, 0), dtype=st.sampled_from(DTYPES))
@examples
def test_uncut_puts_back_what_cut_took(on: On, size: int, axis: int, index: slice | int, dtype: str) -> None:
    shape = (*(2, 3)[:axis], size, *(2, 3)[axis:])
    x = np.arange(1, math.prod(shape) + 1).reshape(shape).astype(dtype)
    taken = on.kernels.cut(on.put(x), axis, index)
    chosen = range(size)[index]
    chosen = [chosen] if isinstance(chosen, int) else list(chosen)
    expected = np.zeros_like(x)
    for i in chosen:
        expected[(slice(None),) * axis + (i,)] = x[(slice(None),) * axis + (i,)]
    back = on.kernels.uncut(taken, axis, index, size)
    assert back.dtype == dtype
    assert_close(on.get(back), expected, EXACT)


# ------------------------------------------------------------------------------------------------ guards

values = st.lists(st.sampled_from(SPECIAL), min_size=6, max_size=6)


def guarded(g: Any, f: Any) -> Any:
    """The product that is 0 where either number is exactly 0, even if the other is not finite."""
    return 0 * (f if np.isfinite(f) else 1) * (g if np.isfinite(g) else 1) if g == 0 or f == 0 else g * f


@given(g=values, f=values, dtype=st.sampled_from(["float64", "float32", "complex128"]))
@examples
def test_scale_and_shield(on: On, g: list[float], f: list[float], dtype: str) -> None:
    left, right = np.array(g, dtype), np.array(f, dtype)
    expected = np.array([guarded(a, b) for a, b in zip(left, right, strict=True)])
    got = on.kernels.scale(on.put(left), on.put(right))
    assert got.dtype == dtype
    assert_close(on.get(got), expected, EXACT)
    shielded = on.kernels.shield(on.put(right), on.put(left))
    assert_close(on.get(shielded), np.where((left == 0) & ~np.isfinite(right), 0, right), EXACT)
    assert on.kernels.shield(2.0, on.put(left)).dtype == dtype
    for factor in (0.0, 2.0, math.inf):
        expected = np.array([guarded(a, factor) for a in left], dtype)
        assert_close(on.get(on.kernels.scale(on.put(left), factor)), expected, EXACT)


@pytest.mark.parametrize("first", ["bool", "int32", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("second", ["bool", "int64", "float32", "complex128"])
def test_a_guarded_product_has_the_dtype_of_a_product_and_broadcasts(on: On, first: str, second: str) -> None:
    left, right = np.array([[0, 1, 3]], first), np.array([[0], [1], [2]], second)
    got = on.get(on.kernels.scale(on.put(left), on.put(right)))
    assert got.dtype == np.multiply(left, right).dtype
    np.testing.assert_array_equal(got, np.multiply(left, right))


class Product(NamedTuple):
    """The shape of a batch of matrix products, and its values."""

    batch: int
    rows: int
    inner: int
    columns: int
    seed: int
    dtype: str

    def operands(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(self.seed)
        left = rng.choice([0.0, 0.0, -0.0, 1.0, -2.5, math.inf], (self.batch, self.rows, self.inner))
        right = rng.choice([1.0, 0.0, -3.0, 2.0, math.inf, -math.inf, math.nan], (self.batch, self.inner, self.columns))
        return left.astype(self.dtype), right.astype(self.dtype)


count = st.integers(1, 3)
products = st.builds(Product, count, count, st.integers(0, 4), count, st.integers(0, 9999), st.sampled_from(DTYPES[:2]))


@given(case=products)
@settings(examples, max_examples=200)
def test_guarded_contraction_is_a_sum_of_guarded_products(on: On, case: Product) -> None:
    left, right = case.operands()
    if on.name == "cupy" and min(case.rows, case.columns) > 1:  # it may not look at cotangents, and takes them for finite
        left = np.where(np.isinf(left), 3, left).astype(case.dtype)
    expected = np.zeros((case.batch, case.rows, case.columns), case.dtype)
    for b, i, j in np.ndindex(*expected.shape):
        for k in range(case.inner):
            expected[b, i, j] += guarded(left[b, i, k], right[b, k, j])
    *_, plan = axes.contraction_plan(("b", "m", "k"), ("b", "k", "n"), (axes.NONE, axes.NONE), ("k",), ("b", "m", "n"))
    got = on.kernels.contract(on.put(left), on.put(right), plan, guard=True)
    assert got.dtype == case.dtype
    assert_close(on.get(got), expected, ROUNDING)


def test_guarded_contraction_of_complex_numbers(on: On) -> None:
    x = np.array([[0, 1 + 1j], [1, 0]])
    y = np.array([[math.nan, 2], [3j, complex(0, math.inf)]])
    *_, plan = axes.contraction_plan(("m", "k"), ("k", "n"), (axes.NONE, axes.NONE), ("k",), ("m", "n"))
    got = on.get(on.kernels.contract(on.put(x), on.put(y), plan, guard=True))
    assert_close(got[[0, 1], [0, 1]], np.array([(1 + 1j) * 3j, 2]), EXACT)
    assert not np.isfinite(got[[0, 1], [1, 0]]).any()


@given(
    x=st.lists(st.sampled_from([*SPECIAL, 1e200, -1e308, 5e-324]), max_size=12),
    order=st.sampled_from("CF"),
    step=st.sampled_from([1, 2, -1]),
    dtype=st.sampled_from(["float64", "complex128"]),
)
@examples
def test_isfinite_all(x: list[float], order: Any, step: int, dtype: str) -> None:
    data = np.array(x[: len(x) // 2 * 2], dtype).reshape(2, -1, order=order)[:, ::step]
    with np.errstate(all="ignore"):
        assert backends.NUMPY.isfinite_all(data) == all(np.isfinite(v) for v in data.ravel())


@given(shape=sizes, lead=sizes, value=st.floats(-2, 2), dtype=st.sampled_from(DTYPES))
@examples
def test_full_and_broadcast(on: On, shape: tuple[int, ...], lead: tuple[int, ...], value: float, dtype: str) -> None:
    full = on.kernels.full((*lead, *shape), value, np.dtype(dtype))
    assert full.dtype == dtype
    assert_close(on.get(full), np.full((*lead, *shape), value).astype(dtype), EXACT)
    x = np.arange(math.prod(shape)).reshape(shape)
    assert_close(
        on.get(on.kernels.broadcast_to(on.put(x), (*lead, *shape))), np.broadcast_to(x, (*lead, *shape)), EXACT
    )


def test_second_derivatives_of_cofactors(on):
    """Those of 3 x 3 matrices are quadratic, so in two directions they are what the cofactors of these have in common."""
    rng = np.random.default_rng(3)
    a, t, u = rng.normal(size=(3, 4, 3, 3))
    a[1], a[2] = 0, np.outer(a[2, 0], a[2, 1])

    def cofactors(m):
        return np.linalg.det(m)[:, None, None] * np.linalg.inv(m).swapaxes(1, 2)

    got = on.get(on.kernels.cofactor_twice(*map(on.put, (a, t, u))))
    assert_close(got, cofactors(t + u) - cofactors(t) - cofactors(u), 1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64"])
def test_selection_where_mask_and_values_are_broadcast(dtype):
    rng = np.random.default_rng(5)
    x = np.asarray(100 * rng.normal(size=(60, 20, 20))).astype(dtype)
    if dtype != "int64":
        x[3, 4, 5] = np.nan
    masks = rng.random((60, 20, 20)) < 0.5, rng.random((1, 20, 20)) < 0.5, rng.random((20, 1)) < 0.5, np.True_
    masks += (rng.random((20, 60, 20)) < 0.5).transpose(1, 2, 0), (rng.random((120, 20, 20)) < 0.5)[::2, :, ::-1]
    turned = [np.asarray(x.transpose(p), order="C").transpose(np.argsort(p)) for p in ((1, 0, 2), (2, 0, 1))]
    for mask in masks:
        for values in (x, x[:, :1], x[:, :, 3:4], x.transpose(0, 2, 1), x[::2].repeat(2, 0)[::-1], x[..., ::-1], *turned):
            got = backends.NUMPY.select(mask, values)
            np.testing.assert_array_equal(got, np.where(mask, values, values.dtype.type(0)))
            assert got.dtype == values.dtype


def test_a_selection_is_laid_out_as_its_values():
    """A mask of other axes comes first, and with it the order of axes: a batch must not become innermost in memory."""
    rng = np.random.default_rng(5)
    x = np.moveaxis(rng.normal(size=(60, 20, 20)), 0, -1)
    got = backends.NUMPY.select(rng.random((20, 20, 1)) < 0.5, x)
    assert got.strides == x.strides


@pytest.mark.parametrize("shape", [(1,), (2,), (5,), (1, 3), (4, 3), (2, 3, 4)])
@pytest.mark.parametrize("ends", [(0, 1), (2, 0), (1, 3)])
def test_steps_joined_to_cells(on: On, shape: tuple[int, ...], ends: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    for axis, order in itertools.product(range(len(shape)), "CF"):
        x = np.asarray(rng.normal(size=shape), order=order)
        sides = [rng.normal(size=(*shape[:axis], n, *shape[axis + 1 :])).astype("float32") for n in ends]
        got = on.kernels.concat_steps(*map(on.put, (sides[0], x, sides[1])), axis=axis, at=1)
        np.testing.assert_array_equal(on.get(got), np.concatenate([sides[0], np.diff(x, axis=axis), sides[1]], axis))
        for g in (x, np.broadcast_to(x[:1], shape), x[::-1]):
            want = -np.diff(g, axis=axis, prepend=0, append=0)
            np.testing.assert_array_equal(on.get(on.kernels.unstep(on.put(g), axis)), want)


def test_steps_of_nothing(on: On) -> None:
    np.testing.assert_array_equal(on.get(on.kernels.unstep(on.put(np.zeros((2, 0))), 1)), np.zeros((2, 1)))


@pytest.mark.parametrize("x", [0.0, -0.0, 2.5, math.nan])
@pytest.mark.parametrize("shape", [(5,), (2, 5)])
def test_cells_put_into_one_value_broadcast(on: On, x: float, shape: tuple[int, ...]) -> None:
    at, target = np.array([3, 0, 3]), np.broadcast_to(x, shape)
    g = np.arange(3.0) * np.ones((*shape[:-1], 1))
    want = target.copy()
    want[..., at] = g
    got = on.get(on.kernels.scatter_into(on.put(target), on.put(g), on.put(at), how="put", shared=0))
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("shapes", [[(3, 1), (3, 4)] * 3, [(4,), (4,), (1,), (4,)], [(1,), (4,), (1,), (1,)], [(), ()] * 2])
@pytest.mark.parametrize("dtypes", [["float64"], ["float32"], ["float32", "float64", "float32", "complex128"]])
def test_sum_of_products(on: On, shapes: list[tuple[int, ...]], dtypes: list[str]) -> None:
    rng = np.random.default_rng(6)
    factors = [rng.normal(size=s).astype(d) for s, d in zip(shapes, itertools.cycle(dtypes), strict=False)]
    want = sum(a * b for a, b in zip(factors[::2], factors[1::2], strict=True))
    got = on.get(on.kernels.sum_of_products(*map(on.put, factors)))
    assert got.dtype == want.dtype
    assert_close(got, want, ROUNDING)


@pytest.mark.parametrize("shape", [(0,), (1,), (40,), (3, 40), (40, 3), (2, 20, 3), (3, 0)])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
def test_last_true(on: On, shape: tuple[int, ...], share: float) -> None:
    mask = np.random.default_rng(7).random(shape) < share
    for axis, none in itertools.product(range(len(shape)), (-1, 0)):
        at = np.arange(shape[axis]).reshape(-1, *(1,) * (len(shape) - axis - 1))
        seen = np.where(mask, at, -1)
        want = np.maximum.accumulate(seen, axis=axis) if mask.size else seen
        want = np.where(want < 0, none, want)
        for x in (mask, np.asfortranarray(mask)):
            got = on.get(on.kernels.last_true(on.put(x), axis, none))
            np.testing.assert_array_equal(got, want)
            assert got.dtype == want.dtype


@pytest.mark.parametrize("shape", [(0,), (1,), (40,), (3, 40), (40, 3), (2, 20, 3), (3, 0)])
def test_run_starts(on: On, shape: tuple[int, ...]) -> None:
    numbers = np.random.default_rng(8).integers(0, 3, shape).astype(float)
    for axis in range(len(shape)):
        before = np.roll(numbers, 1, axis)
        first = np.arange(shape[axis]).reshape(-1, *(1,) * (len(shape) - axis - 1)) == 0
        for x in (numbers, np.asfortranarray(numbers)):
            got = on.get(on.kernels.run_starts(on.put(x), axis))
            np.testing.assert_array_equal(got, (numbers != before) | first)
            assert got.dtype == bool


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("dtype", "exact"), [(np.float32, 1e-5), (np.float64, 1e-12), (np.complex128, 1e-12)])
def test_polynomials_of_many_cells_are_those_of_few(order: Any, dtype: Any, exact: float) -> None:
    z = np.random.default_rng(5).uniform(-2, 2, (40, 1000)).astype(dtype, order=order)
    coefficients = [0.5, -3.0, 1e-3, 2.0]
    for some in (z, z[::2, ::-1]):
        found = backends.NUMPY.polynomial(coefficients, some)
        np.testing.assert_allclose(found, np.polyval(np.array(coefficients, dtype), some), rtol=exact, atol=exact)
        few = backends.NUMPY.polynomial(coefficients, some[3:5, :7])
        np.testing.assert_allclose(found[3:5, :7], few, rtol=exact, atol=exact)
        assert found.dtype == few.dtype == dtype


@pytest.mark.parametrize("shapes", [((200, 300), (200, 300)), ((200, 1), (300,)), ((), (40000,)), ((0,), (0,)), ((3,), ())])
def test_slopes_of_elliptic_integrals_are_symmetric_integrals(shapes: Any, on: On) -> None:
    rng, (one, other) = np.random.default_rng(6), shapes
    phi, m = np.asarray(rng.uniform(-1.57, 1.57, one)), np.asarray(1 - 10 ** rng.uniform(-15, 100, other))
    sine, left = np.sin(phi), np.cos(phi) ** 2
    below = left + (1 - m) * sine**2
    for name, sign, at in (("ellipkinc", 1, (1.0, below)), ("ellipeinc", -1, (below, 1.0))):
        found = on.get(on.kernels.function(f"{name}_order")(1, on.put(phi), on.put(m)))
        np.testing.assert_allclose(found, sign / 6 * sine**3 * scipy.special.elliprd(left, *at), rtol=1e-14)


def test_slopes_of_complete_elliptic_integrals_are_symmetric_integrals(on: On) -> None:
    p = np.concatenate([10 ** np.random.default_rng(6).uniform(-200, 150, 40000), [0.05, 1.0, 20.0, 0.0, np.inf]])
    for name, sign, at in (("ellipk", 1, (1.0, p)), ("ellipe", -1, (p, 1.0))):
        found = on.get(on.kernels.function(f"{name}_order")(1, on.put(p)))
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(found, sign / 6 * scipy.special.elliprd(0.0, *at), rtol=1e-14)


def test_slopes_of_incomplete_elliptic_integrals_far_out(on: On) -> None:
    """Numbers by mpmath with 40 digits."""
    phi, m = on.put([1.5707963267948963, 1.5707963267948961, 1.5]), on.put([-1e190, -84347.0, -1e100])
    for name, expected in (
        ("ellipkinc", [1.095659390977771e-283, 1.2364184320968074e-7, 5.772234673493442e-149]),
        ("ellipeinc", [-4.9999999999999984e-96, -0.0017215446914174338, -4.6463139916614854e-51]),
    ):
        np.testing.assert_allclose(on.get(on.kernels.function(f"{name}_order")(1, phi, m)), expected, rtol=1e-14)


_ENDS = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 1e-310, -1e-310, 1e-200, 1e200, 1e308, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p", "kl_div"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_functions_of_scipy_on_many_cells(name: str, dtype: Any) -> None:
    kernel, known = backends.NUMPY.function("kl_entr" if name == "kl_div" else name), getattr(scipy.special, name)
    rng = np.random.default_rng(7)
    x, y = (rng.uniform(0.1, 3, (200, 300)).astype(dtype) for _ in range(2))
    exact = 1e-12 if dtype is np.float64 else 1e-5
    views = (x, y), (x.T, y.T), (x[:, ::2], y[:, ::2]), (x, y[:1]), (x, y[:, :1]), (x[0], y[:, :1]), (x, 0.5)
    pairs = [[np.array(v) for v in pair] for pair in views]
    if dtype is np.float64:  # what raises a flag changes nothing beside it
        ended = [v.copy() for v in (x, y)]
        for v, ends in zip(ended, np.meshgrid(_ENDS, _ENDS), strict=True):
            v[5, : ends.size] = ends.ravel()
        pairs.append(ended)
    with np.errstate(all="raise", under="ignore", over="ignore"):  # no flag of ours is seen
        for pair in pairs:
            found, expected = kernel(*pair), known(*pair)
            if name == "kl_div":  # SciPy's quotient overflows, and of another function it takes the operand for the result
                expected = np.where(np.isinf(expected) & np.isfinite(found), found, expected)
            elif name == "inv_boxcox1p":
                expected = np.where((np.absolute(pair[1]) < 1e-100) & (expected == pair[0]), np.expm1(expected), expected)
            np.testing.assert_allclose(found, expected, rtol=exact, atol=exact * (name == "kl_div"))
            assert found.dtype == expected.dtype


def test_products_with_logarithms_have_no_zero_below_zero() -> None:
    x, y = np.zeros(5000), np.full(5000, 0.5)
    for name in ("xlogy", "xlog1py"):
        assert not np.signbit(backends.NUMPY.function(name)(x, y - 0.9 * (name == "xlog1py"))).any()


@pytest.mark.parametrize("weight", [1, 3.0, 0.0])
def test_losses_of_two_classes_on_many_cells_are_those_of_few(weight: Any, on: On) -> None:
    rng = np.random.default_rng(8)
    x, t, share = 30 * rng.normal(size=(200, 300)), rng.uniform(size=(200, 300)), rng.uniform(size=(200, 300))
    t[::2] = np.round(t[::2])
    x[150, :7], share[150, :4] = [math.inf, -math.inf, 0.0, -0.0, 800.0, -800.0, math.nan], [0.0, 1.0, 1e-50, math.nan]
    cells = [*np.ndindex(150, 2), *np.ndindex(x.shape)][:: x.size // 300] + [(150, k) for k in range(7)]
    for name, operands in (
        ("bce_logits", (x, t, weight)), ("bce_logits_slope", (x, t, weight)), ("bce_logits_odds", (x, weight)),
        ("bce", (share, t)), ("bce_slope", (share, t)), ("kl_div", (x, t)),
    ):  # fmt: skip
        put = [on.put(v) if np.ndim(v) else v for v in operands]
        found = on.get(on.kernels.function(name)(*put))
        for cell in cells:
            expected = backends.NUMPY.function(name)(*(v[cell] if np.ndim(v) else v for v in operands))
            np.testing.assert_allclose(found[cell], expected, rtol=1e-12, err_msg=f"{name} {cell}")


def test_slopes_of_losses_of_two_classes_by_scipy() -> None:
    x, t = np.meshgrid([-800.0, -40.0, -1.0, -0.0, 0.0, 2.0, 40.0, 800.0], [0.0, 0.3, 1.0])
    for weight in (1.0, 3.0):
        slope = (1 - t) * scipy.special.expit(x) - weight * t * scipy.special.expit(-x)
        odds = scipy.special.log_expit(-x) - weight * scipy.special.log_expit(x)
        np.testing.assert_allclose(backends.NUMPY.bce_logits_slope(x, t, weight), slope, rtol=1e-13, atol=1e-16)
        np.testing.assert_allclose(backends.NUMPY.bce_logits_odds(x, weight), odds, rtol=1e-13)


def test_densities_on_both_sides_of_where_they_are_large(on: On) -> None:
    a = np.random.default_rng(9).uniform(0.1, 30, (200, 300))
    a[:100] = np.minimum(a[:100], 9.0)
    x = 1.1 * a
    found = on.get(on.kernels.function("gamma_density")(on.put(a), on.put(x)))
    np.testing.assert_allclose(found, scipy.stats.gamma.pdf(x, a), rtol=1e-12)
