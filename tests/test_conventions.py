"""The choices at special points that docs/explanation/conventions.rst states, in both modes."""

import numpy as np
import pytest

import namedgrad as ng

NAN, INF = float("nan"), float("inf")

# what, function of one array over ("x",), where, gradient of its sum
CASES = [
    ("abs at 0", abs, [-2.0, 0.0, 3.0], [-1, 0, 1]),
    ("complex abs at 0", abs, [3 + 4j, 0j], [0.6 + 0.8j, 0]),
    ("std at 0", lambda x: x.std(), [2.0, 2.0, 2.0], [0, 0, 0]),
    ("weighted std at 0", lambda x: x.weighted(ng.DimArray([1.0, 2.0, 1.0], ("x",))).std(), [2.0, 2.0, 2.0], [0, 0, 0]),
    ("hypot at 0", lambda x: ng.hypot(x, 0 * x), [0.0, -2.0], [0, -1]),
    ("arctan2 at 0", lambda x: ng.arctan2(x, 0 * ng.stop_gradient(x)), [0.0], [0]),
    ("ties of max", lambda x: x.max(), [1.0, 5.0, 5.0], [0, 0.5, 0.5]),
    ("ties of min", lambda x: x.min(), [1.0, 1.0, 5.0], [0.5, 0.5, 0]),
    ("ties of maximum", lambda x: ng.maximum(x, 2.0), [1.0, 2.0, 3.0], [0, 0.5, 1]),
    ("ties of minimum", lambda x: ng.minimum(x, 2.0), [1.0, 2.0, 3.0], [1, 0.5, 0]),
    ("ties of median", lambda x: x.median(), [1.0, 4.0, 4.0, 4.0, 9.0], [0, 1 / 3, 1 / 3, 1 / 3, 0]),
    ("clip at its bounds", lambda x: ng.clip(x, 1.0, 2.0), [0.5, 1.0, 2.0, 2.5], [0, 1, 1, 0]),
    ("ties of sort", lambda x: x.sort("x") * ng.arange("x", 3.0), [2.0, 2.0, 1.0], [1, 2, 0]),
    ("floor, ceil, rint, sign", lambda x: ng.floor(x) + ng.ceil(x) + ng.rint(x) + ng.sign(x), [0.4, 1.0], [0, 0]),
    ("remainder in its divisor", lambda x: 7.0 % x, [2.0, -3.0], [-3, 3]),
    ("power 0", lambda x: x**0.0, [0.0, 2.0], [0, 0]),
    ("base 0 and power 0", lambda y: ng.zeros({"x": 2}) ** y, [0.0, 1.0], [0, 0]),
    ("the only NaN of fmax", lambda x: ng.fmax(x, 2.0), [NAN, 3.0], [0, 1]),
    ("hypot and arctan2 at infinity", lambda x: ng.hypot(x, 1.0) + ng.arctan2(x, 1.0), [-INF, INF], [-1, 1]),
    ("logaddexp at infinity", lambda x: ng.logaddexp(x, ng.stop_gradient(x)), [-INF, INF], [0, 0.5]),
    ("xlogy at 0", lambda x: ng.xlogy(0.0, x) + ng.xlogy(x, 0.0), [0.0], [0]),
    ("heaviside, nextafter and copysign", lambda x: ng.heaviside(x, 0.5) + ng.nextafter(1.0, x) + ng.copysign(1.0, x), [0.0, -2.0], [0, 0]),
    ("base 0", lambda y: ng.zeros({"x": 2}) ** y, [1.0, 2.5], [0, 0]),
    ("prod at one zero", lambda x: x.prod(), [0.0, 3.0, 4.0], [12, 0, 0]),
    ("prod at two zeros", lambda x: x.prod(), [0.0, 0.0, 4.0], [0, 0, 0]),
    ("repeated gather", lambda x: x.isel(x=[1, 1, 0]), [5.0, 6.0], [1, 2]),
    ("repeated add", ng.zeros({"x": 2}).at[{"x": [1, 1]}].add, [5.0, 6.0], [1, 1]),
    ("repeated set", ng.zeros({"x": 2}).at[{"x": [1, 1]}].set, [5.0, 6.0], [0, 1]),
    ("masked by where", lambda x: ng.where(x > 0, ng.log(x), 0.0), [4.0, 0.0, NAN], [0.25, 0, 0]),
    ("skipped NaN", lambda x: ng.sqrt(x).sum(), [4.0, NAN], [0.25, 0]),
    ("nothing but NaN", lambda x: x.mean(), [NAN, NAN], [0, 0]),
    ("an infinite slope after one of 0", lambda x: ng.sqrt(x**2) + ng.sqrt(0 * x), [0.0, -2.0], [0, -1]),
    ("an infinite slope before one of 0", lambda x: 0 * ng.sqrt(x) + ng.maximum(ng.sqrt(x), 1.0), [0.0, 4.0], [0, 0.25]),
    ("an infinite slope before weights of 0", lambda x: ng.dot(ng.eye("y", "x", 2), ng.sqrt(x), dim="x").isel(y=1), [0.0, 4.0], [0, 0.25]),
    ("infinite slopes before a product of 0", lambda x: ng.sqrt(x).prod(), [0.0, 0.0, 4.0], [0, 0, 0]),
    ("infinite slopes before a length", lambda x: ng.norm(ng.sqrt(x)), [0.0, 4.0], [0, 0.25]),
    ("an infinity that counts", ng.sqrt, [0.0, 4.0], [INF, 0.25]),
]


@pytest.mark.parametrize(("f", "at", "want"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_special_point(f, at, want):
    x = ng.DimArray(at, ("x",))
    gradient = ng.grad(lambda x: ng.real(f(x)).sum())(x)
    np.testing.assert_allclose(gradient.data, want, atol=1e-15)
    if x.dtype.kind == "f":
        rows = ng.eye("x", "row", len(at)).vectorize("row")
        _, pushed = ng.pushforward(lambda x: f(x).sum(), (x,), (rows,))
        np.testing.assert_allclose(pushed.data, want, atol=1e-15)


def test_second_order_of_prod_at_zeros():
    x = ng.DimArray([0.0, 0.0, 4.0], ("x",))
    np.testing.assert_array_equal(ng.hessian(lambda x: x.prod())(x).data, [[0, 4, 0], [4, 0, 0], [0, 0, 0]])


def test_cholesky_reads_the_lower_triangle_and_differentiates_the_symmetrised_matrix():
    a = np.array([[4.0, 9.0], [2.0, 5.0]])
    lower = ng.DimArray(a, ("i", "j"))
    np.testing.assert_allclose(ng.cholesky(lower, ("i", "j")).data, [[2, 0], [1, 2]])
    gradient = ng.grad(lambda a: ng.cholesky(a, ("i", "j")).sum())(lower).data
    np.testing.assert_allclose(gradient, gradient.T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_gradient_has_the_dtype_of_its_input(dtype):
    x = ng.ones({"x": 2}, dtype=dtype)
    assert ng.grad(lambda x: (2.0 * abs(x) ** 2).sum())(x).dtype == dtype


def test_a_real_input_of_a_complex_program_gets_a_real_gradient():
    x = ng.DimArray([1.0, 2.0], ("x",))
    gradient = ng.grad(lambda x: abs(x * (3 + 4j)).sum())(x)
    assert gradient.dtype == "float64"
    np.testing.assert_allclose(gradient.data, [5, 5])


def test_an_unused_input_gets_zeros_with_the_vectorized_axes_of_the_output():
    used = ng.ones({"b": 2, "x": 3}, vectorized="b")
    unused = ng.ones({"y": 4}, dtype="float32")
    gradient = ng.grad(lambda unused, used: used.sum())(unused, used)
    assert (gradient.dims, gradient.vectorized, gradient.dtype) == (("y",), ("b",), np.float32)
    assert not gradient.data.any()
