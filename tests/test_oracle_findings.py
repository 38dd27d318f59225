"""Differences that comparing with PyTorch has shown; each is checked here against differences or closed forms."""

import numpy as np
import pytest
import scipy.fft
import scipy.special

import namedgrad as ng


def test_softsign_of_complex_numbers():
    x, direction = np.array([0.3 + 0.4j, -1 + 2j]), np.array([1.1 - 0.7j, 0.2 + 0.5j])
    f = lambda x: x / (1 + np.abs(x))
    _, tangent = ng.pushforward(ng.softsign, (x,), (direction,))
    np.testing.assert_allclose(tangent, (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6, rtol=1e-8)


@pytest.mark.parametrize("order", [0.5, 1.5, 3.0])
def test_norms_of_vectors_with_zeros(order):
    x = np.array([0.0, 2.0, -3.0])
    inner = np.linalg.norm(x, order) ** (1 - order) * np.sign(x) * np.abs(x, where=x != 0, out=np.ones(3)) ** (order - 1)
    np.testing.assert_allclose(ng.grad(lambda x: np.linalg.norm(x, order))(x), inner, rtol=1e-13)
    assert (ng.grad(lambda x: np.linalg.norm(x, order))(np.zeros(3)) == 0).all()
    assert np.isfinite(ng.hessian(lambda x: np.linalg.norm(x, order))(x)).all()


@pytest.mark.parametrize("x", [ng.DimArray(3.0, ()), ng.DimArray([3.0, 1.0], "b", vectorized="b")], ids=["0-d", "per slice"])
def test_order_and_place_of_a_single_cell(x):
    assert (ng.argmax(x).data == 0).all()
    assert (ng.argmin(x).data == 0).all()
    assert ng.argmax(x).dtype.kind == "i"
    np.testing.assert_array_equal(ng.quantile(x, 0.3).data, x.data)
    assert ng.quantile(x, [0.3, 0.5]).sizes == {"quantile": 2}
    assert (ng.grad(lambda x: ng.quantile(x, [0.3, 0.5]).sum())(x).data == 2).all()
    assert np.argmax(ng.positional(np.array(3.0))) == 0
    assert np.quantile(ng.positional(np.array(3.0)), 0.2).data == 3


def test_fft2_along_the_axes_that_numpy_takes():
    x = np.arange(24.0).reshape(2, 3, 4)
    for axes in ((0,), (0, 1, 2), (-1, 0)):
        np.testing.assert_allclose(np.fft.fft2(ng.positional(x), axes=axes).data, np.fft.fft2(x, axes=axes))


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"])
@pytest.mark.parametrize("dim", [(0,), (2, 0, 1), (-1, 0)])
def test_transforms_of_two_dims_take_any_number_of_them(name, dim):
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    np.testing.assert_allclose(getattr(ng, name)(ng.positional(x), dim).data, getattr(scipy.fft, name)(x, axes=dim), atol=1e-12)


def test_masked_scatter_of_an_array_smaller_than_its_mask():
    x, mask, source = np.arange(3.0), np.array([[True, False, True], [False, True, True]]), np.arange(10.0, 16.0)
    expected = np.broadcast_to(x, mask.shape).copy()
    expected[mask] = source[: mask.sum()]
    np.testing.assert_array_equal(ng.masked_scatter(ng.positional(x), mask, source).data, expected)
    _, pull = ng.pullback(lambda x, source: ng.masked_scatter(x, mask, source), x, source)
    cotangent = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
    into_x, into_source = pull(cotangent)
    np.testing.assert_array_equal(into_x, np.where(mask, 0, cotangent).sum(0))
    np.testing.assert_array_equal(into_source, [1, 4, 16, 32, 0, 0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: ng.hardtanh(x, 0.5, -0.5), "above max_val"),
        (lambda x: ng.softshrink(x, -0.5), "negative"),
        (lambda x: ng.celu(x, 0.0), "alpha is 0"),
        (lambda x: ng.multigammaln(x, 0), "d=0"),
        (lambda x: ng.multigammaln(x, 1.5), "d=1.5"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call(ng.positional(np.array([0.5, -0.3])))


@pytest.mark.parametrize("shape", [(0, 3, 3), (0, 3, 5), (0, 5, 3), (2, 0, 3), (2, 3, 0)])
def test_lu_of_empty_batches_has_its_sizes(shape):
    b, m, n = shape
    p, low, up = ng.lu(ng.DimArray(np.zeros(shape), ("b", "r", "c")), ("r", "c"), new_dim="k")
    assert (p.shape, low.shape, up.shape) == ((b, m), (b, m, min(m, n)), (b, min(m, n), n))


NEAR_ZERO = [[0.0, -30.0], [-30.0, 0.0], [0.0, -35.0, -36.0], [1e-9, -25.0, -np.inf], [0.0, 0.0, -30.0], [-np.inf, 0.0]]


@pytest.mark.parametrize("x", NEAR_ZERO)
@pytest.mark.parametrize("how", ["as it is", "compiled", "per slice", "while differentiated"])
def test_logsumexp_of_one_cell_near_zero_is_what_the_others_add(x, how):
    x = np.array(x)

    def value(f):
        if how == "per slice":
            return f(ng.positional(np.stack([x, x + 3]), vectorized="b")).data[0]
        if how == "while differentiated":
            return ng.value_and_grad(lambda x: np.sum(f(x)))(x)[0]
        return (ng.compile(f) if how == "compiled" else f)(ng.positional(x)).data

    np.testing.assert_allclose(value(lambda x: ng.logsumexp(x, 0)), scipy.special.logsumexp(x), rtol=1e-13)
    np.testing.assert_allclose(value(np.logaddexp.reduce), scipy.special.logsumexp(x), rtol=1e-13)
    np.testing.assert_allclose(value(lambda x: ng.logcumsumexp(x, 0)[-1]), np.logaddexp.reduce(x), rtol=1e-13)
    b = np.arange(len(x)) + 1.0
    np.testing.assert_allclose(value(lambda x: ng.logsumexp(x, 0, weights=ng.positional(b))), scipy.special.logsumexp(x, b=b), rtol=1e-13)


@pytest.mark.parametrize("left_out", [800.0, 1e308, np.inf, np.nan, -np.inf, 1.0])
def test_a_score_of_weight_0_counts_for_nothing_in_logsumexp(left_out):
    """The others were lost beside it: -inf, with slope 0."""
    x, b = np.array([0.5, left_out, -1.0]), np.array([1.0, 0.0, 2.0])
    f = lambda x: ng.logsumexp(x, 0, weights=ng.positional(b))
    np.testing.assert_allclose(f(ng.positional(x)).item(), scipy.special.logsumexp(x, b=b), rtol=1e-14)
    p = scipy.special.softmax(x[[0, 2]] + np.log(b[[0, 2]]))
    for slope in (ng.grad(f), ng.compile(ng.grad(f)), ng.jacobian(f, mode="forward"), ng.grad(lambda x: ng.logsumexp(x, 0, weights=b))):
        np.testing.assert_allclose(slope(x), [p[0], 0, p[1]], rtol=1e-14)
    np.testing.assert_allclose(ng.hessian(f)(x)[::2, ::2], np.diag(p) - np.outer(p, p), rtol=1e-13)
    in_x, in_b = ng.grad(lambda x, b: ng.logsumexp(x, 0, weights=b), (0, 1))(x, b)
    np.testing.assert_allclose(in_x, [p[0], 0, p[1]], rtol=1e-14)
    np.testing.assert_allclose(in_b[::2], p / b[::2], rtol=1e-14)


def test_no_score_has_a_weight_in_logsumexp():
    rows = ng.DimArray([[0.0, 900.0, 3.0], [0.0, 0.0, 700.0]], ("a", "b"))
    weights = ng.DimArray([[0.0, 0.0], [0.0, 1.0]], ("c", "a"))
    found = ng.logsumexp(rows, "a", weights=weights)
    assert found.dims == ("b", "c")
    np.testing.assert_array_equal(found.data, [[-np.inf, 0], [-np.inf, 0], [-np.inf, 700]])
    np.testing.assert_array_equal(ng.grad(lambda x: ng.logsumexp(x, "a", weights=weights).isel(c=1).sum())(rows).data, [[0, 0, 0], [1, 1, 1]])


def test_slopes_of_logsumexp_near_zero_stay():
    x = np.array([0.0, -30.0, -31.0])
    p = scipy.special.softmax(x)
    np.testing.assert_allclose(ng.grad(ng.logsumexp)(x), p, rtol=1e-14)
    np.testing.assert_allclose(ng.hessian(ng.logsumexp)(x)[1:], (np.diag(p) - np.outer(p, p))[1:], rtol=1e-12)


@pytest.mark.parametrize("unit", [2.0**-530, 2.0**-570, 2.0**-900, 2.0**600])
@pytest.mark.parametrize("compiled", [False, True])
def test_normalisations_without_eps_do_not_ask_for_the_unit(unit, compiled):
    x = np.array([[1.0, 2.0, 4.0], [3.0, -1.0, 0.5]])
    through = ng.compile if compiled else lambda f: f

    def layer(x):
        return ng.layer_norm(x, dim=-1, eps=0.0)

    def rms(x):
        return ng.rms_norm(x, dim=-1, eps=0.0)

    off = x - x.mean(-1, keepdims=True)
    np.testing.assert_allclose(through(layer)(ng.positional(x * unit)).data, off / x.std(-1, keepdims=True), rtol=1e-13)
    size = np.sqrt((x**2).mean(-1, keepdims=True))
    np.testing.assert_allclose(through(rms)(ng.positional(x * unit)).data, x / size, rtol=1e-13)
    slope = through(ng.grad(lambda x: rms(x)[..., 0].sum()))(x * unit)
    np.testing.assert_allclose(slope * unit, np.eye(3)[0] / size - x[:, :1] * x / (3 * size**3), rtol=1e-12)
