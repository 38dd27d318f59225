"""Losses and activations beyond the table: numbered axes, refusals, derivatives at kinks, targets of every kind."""

import math

import numpy as np
import pytest
import scipy.special
import xarray as xr

import namedgrad as ng

X = ng.DimArray
RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(3, 5, 2))
NAMED = X(TABLE, ("n", "k", "d"))
OTHER = RNG.normal(size=(3, 5))
CLASSES = RNG.integers(0, 5, (3, 2))
WEIGHTS = RNG.uniform(0.5, 2, 5)
SIGNS = np.array([1, -1, 1])
LISTS = np.array([[0, 1, -1, 2, 0], [4, -1, 0, 0, 0], [-1, 1, 2, 3, 4]])
FLAT, OTHER_NAMED = NAMED.isel(d=0), X(OTHER, ("n", "k"))
K = {"dim": "k", "reduction": None}


# ------------------------------------------------------------------------------------------------ numbered axes

PLACES = {
    "cross_entropy": (lambda f, x: f(x, CLASSES, WEIGHTS, reduction=None), TABLE, lambda f: f(NAMED, X(CLASSES, ("n", "d")), X(WEIGHTS, "k"), **K)),
    "nll_loss": (lambda f, x: f(x, CLASSES, reduction=None), TABLE, lambda f: f(NAMED, X(CLASSES, ("n", "d")), **K)),
    "multi_margin_loss": (lambda f, x: f(x, CLASSES[:, 0], WEIGHTS, reduction=None), TABLE[:, :, 0], lambda f: f(FLAT, X(CLASSES[:, 0], "n"), X(WEIGHTS, "k"), **K)),
    "multilabel_margin_loss": (lambda f, x: f(x, LISTS, reduction=None), TABLE[:, :, 0], lambda f: f(FLAT, X(LISTS, ("n", "k")), **K)),
    "multilabel_soft_margin_loss": (lambda f, x: f(x, 1.0 * (LISTS > 0), WEIGHTS, reduction=None), TABLE[:, :, 0], lambda f: f(FLAT, X(1.0 * (LISTS > 0), ("n", "k")), X(WEIGHTS, "k"), **K)),
    "cosine_embedding_loss": (lambda f, x: f(x, OTHER, SIGNS, reduction=None), TABLE[:, :, 0], lambda f: f(FLAT, OTHER_NAMED, X(SIGNS, "n"), **K)),
    "triplet_margin_loss": (lambda f, x: f(x, OTHER, -OTHER, reduction=None), TABLE[:, :, 0], lambda f: f(FLAT, OTHER_NAMED, -OTHER_NAMED, **K)),
    "cosine_similarity": (lambda f, x: f(x, OTHER), TABLE[:, :, 0], lambda f: f(FLAT, OTHER_NAMED, dim="k")),
    "pairwise_distance": (lambda f, x: f(x, OTHER[0]), TABLE[:, :, 0], lambda f: f(FLAT, OTHER_NAMED.isel(n=0), dim="k")),
    "gaussian_nll_loss": (lambda f, x: f(x, OTHER, np.ones(3), reduction=None), TABLE[:, :, 0], lambda f: f(FLAT, OTHER_NAMED, ng.ones({"n": 3}), reduction=None)),
    "kl_div": (lambda f, x: f(x, OTHER**2, reduction="batchmean"), TABLE[:, :, 0], lambda f: f(FLAT, OTHER_NAMED**2, reduction="batchmean", batch_dim="n")),
    "glu": (lambda f, x: f(x), TABLE, lambda f: f(NAMED, "d")),
    "prelu": (lambda f, x: f(x, WEIGHTS), TABLE, lambda f: f(NAMED, X(WEIGHTS, "k"))),
    "ctc_loss": (lambda f, x: f(x, LISTS[:2] % 3 + 1, np.array([3, 2]), np.array([1, 0]), reduction=None), TABLE.transpose(0, 2, 1),
                 lambda f: f(NAMED, X(LISTS[:2] % 3 + 1, ("d", "label")), X([3, 2], "d"), X([1, 0], "d"), dims=("n", "k", "label"), reduction=None)),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_numbered_axes_have_their_usual_places(name):
    by_number, data, by_name = PLACES[name]
    f = getattr(ng, name)
    expected = by_name(f)
    assert np.allclose(by_number(f, ng.positional(data)).data, expected.to_numpy(), rtol=1e-13, atol=1e-13)
    gradient = ng.grad(lambda x: by_number(f, x).sum())(data)
    assert np.allclose(gradient, _finite(lambda x: float(by_number(f, ng.positional(x)).data.sum()), data), atol=1e-6)


def _finite(f, x, step=1e-5):
    out = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        hop = np.zeros_like(x)
        hop[at] = step
        out[at] = (f(x + hop) - f(x - hop)) / (2 * step)
    return out


def test_a_distance_of_ones_own_sees_numbered_axes():
    def loss(x):
        return ng.triplet_margin_with_distance_loss(x, OTHER, -OTHER, distance_function=lambda a, b: np.abs(a - b).max(axis=1), margin=9.0)

    x = TABLE[:, :, 0]
    expected = np.mean(9 + np.abs(x - OTHER).max(1) - np.abs(x + OTHER).max(1))
    assert np.isclose(float(loss(ng.positional(x)).data), expected)


def test_labels_stay_on_xarray_objects():
    x = xr.DataArray(TABLE, dims=("n", "k", "d"), coords={"n": [1, 2, 3], "k": list("abcde")})
    y = xr.DataArray(CLASSES, dims=("n", "d"), coords={"n": [1, 2, 3]})
    out = ng.cross_entropy(x, y, dim="k", reduction=None)
    assert out.dims == ("n", "d")
    assert list(out.coords) == ["n"]
    assert ng.gelu(x).coords.equals(x.coords)


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: ng.mse_loss(FLAT, OTHER_NAMED, reduction="average"), ValueError, "average"),
        (lambda: ng.mse_loss(FLAT, OTHER_NAMED, dim="time"), ng.AxisError, "time"),
        (lambda: ng.mse_loss(FLAT.vectorize("n"), OTHER_NAMED), ng.AxisError, "vectorize"),
        (lambda: ng.smooth_l1_loss(FLAT, 0.0, beta=-1.0), ValueError, "beta"),
        (lambda: ng.huber_loss(FLAT, 0.0, delta=0.0), ValueError, "delta"),
        (lambda: ng.gaussian_nll_loss(FLAT, 0.0, OTHER_NAMED), ValueError, "negative"),
        (lambda: ng.kl_div(FLAT, OTHER_NAMED**2, reduction="batchmean"), TypeError, "batch_dim"),
        (lambda: ng.nll_loss(FLAT, X([0, 5, 1], "n"), dim="k"), IndexError, "5"),
        (lambda: ng.nll_loss(FLAT, X([0, -1, 1], "n"), dim="k"), IndexError, "-1"),
        (lambda: ng.cross_entropy(FLAT, X([0.0, 1.0, 1.0], "n"), dim="k"), TypeError, "integer"),
        (lambda: ng.cross_entropy(FLAT, X([0, 1, 1], "n"), dim="k", label_smoothing=1.5), ValueError, "label_smoothing"),
        (lambda: ng.cross_entropy(FLAT, X([0, 1, 1], "n"), X(WEIGHTS, "w"), dim="k"), ng.AxisError, "'k'"),
        (lambda: ng.multi_margin_loss(FLAT, X([0, 1, 1], "n"), dim="k", p=3), ValueError, "p=3"),
        (lambda: ng.multilabel_margin_loss(FLAT, X(1.0 * LISTS, ("n", "k")), dim="k"), TypeError, "integer"),
        (lambda: ng.ctc_loss(NAMED, X([[7]], ("n", "l")).isel(n=0), dims=("n", "k", "l")), IndexError, "7"),
        (lambda: ng.ctc_loss(NAMED, X([1], "l"), 4, dims=("n", "k", "l")), IndexError, "input_lengths"),
        (lambda: ng.ctc_loss(NAMED, X([[1]] * 3, ("n", "l")), dims=("n", "k", "l")), ng.AxisError, "'n'"),
        *((lambda f=f: f(FLAT + 1j), TypeError, "complex") for f in (ng.relu, ng.elu, ng.softshrink, ng.hardtanh, ng.hardsigmoid)),
        *((lambda f=f: f(FLAT + 1j, OTHER_NAMED), TypeError, "complex") for f in (ng.smooth_l1_loss, ng.huber_loss, ng.hinge_embedding_loss)),
        (lambda: ng.huber_loss(FLAT, 0.0, delta=X([1.0, -1.0], "d")), ValueError, "delta"),
        (lambda: ng.smooth_l1_loss(FLAT, 0.0, beta=np.float32(-1)), ValueError, "beta"),
        (lambda: ng.multi_margin_loss(FLAT * 1j, X([0, 1, 1], "n"), dim="k"), TypeError, "complex"),
        (lambda: ng.gelu(FLAT, "exact"), ValueError, "exact"),
        (lambda: ng.glu(FLAT, "k"), ng.AxisError, "odd"),
    ],
)
def test_what_is_refused(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


# ------------------------------------------------------------------------------------------------ special cases

SECOND = {  # the second derivative at kinks is that of PyTorch
    "elu": (lambda x: ng.elu(x, 1.5), [0.0, -1e-300], [0.0, 1.5]),
    "celu": (lambda x: ng.celu(x, 2.0), [0.0, -1e-300], [0.0, 0.5]),
    "softplus": (lambda x: ng.softplus(x, 2.0, 3.0), [1.5, 1.75, 0.0], [0.0, 0.0, 0.5]),
    "hardswish": (ng.hardswish, [-3.0, 3.0, 0.0], [0.0, 0.0, 1 / 3]),
    "hardsigmoid": (ng.hardsigmoid, [-3.0, 3.0, 0.0], [0.0, 0.0, 0.0]),
    "softsign": (ng.softsign, [0.0, 1.0, np.inf], [0.0, -0.25, 0.0]),
    "smooth_l1": (lambda x: ng.smooth_l1_loss(x, 0.0, beta=0.5, reduction="sum"), [0.5, -0.5, 0.0, 0.25], [0.0, 0.0, 2.0, 2.0]),
    "huber": (lambda x: ng.huber_loss(x, 0.0, delta=0.5, reduction="sum"), [0.5, -0.5, 0.0, 0.25], [0.0, 0.0, 1.0, 1.0]),
    "silu": (ng.silu, [0.0, np.inf, -np.inf], [0.5, 0.0, 0.0]),
    "gelu": (ng.gelu, [0.0, np.inf, -np.inf, 1e200], [np.sqrt(2 / np.pi), 0.0, 0.0, 0.0]),
    "gelu tanh": (lambda x: ng.gelu(x, "tanh"), [0.0, np.inf, -np.inf, 1e200], [np.sqrt(2 / np.pi), 0.0, 0.0, 0.0]),
    "mish": (ng.mish, [0.0, np.inf, -np.inf, 1e3], [0.64, 0.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("name", SECOND)
def test_second_derivative_at_kinks(name):
    f, at, expected = SECOND[name]
    x = X(at, "p")
    cotangent = X(np.linspace(1.0, 2.0, len(at)), "p")
    slope = ng.grad(lambda x: f(x).sum())
    assert np.allclose(ng.grad(lambda x: (slope(x) * cotangent).sum())(x).data, expected * cotangent.data, rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("alpha", [0.5, 1e200, 1e-200])
def test_celu_is_x_above_0_whatever_alpha(alpha):
    """By ``x / alpha``, of which the slope in ``alpha`` was not 0, or infinite."""
    x, a = X([0.5, 2.0, 1e10], "p"), X([alpha] * 3, "p")
    np.testing.assert_array_equal(ng.celu(x, a).data, x.data)
    of_x, of_alpha = ng.grad(lambda x, a: ng.celu(x, a).sum(), wrt=(0, 1))(x, a)
    np.testing.assert_array_equal(of_x.data, np.ones(3))
    np.testing.assert_array_equal(of_alpha.data, np.zeros(3))


@pytest.mark.parametrize("alpha", [-1.5, 2.0])
@pytest.mark.parametrize("as_array", [False, True])
def test_celu_below_0_follows_its_formula_whatever_the_sign_of_alpha(alpha, as_array):
    """With a negative alpha it was x."""
    x, a = np.array([-1.5, -1e-3, 0.0, 0.7]), ng.DimArray(alpha, ()) if as_array else alpha
    below, own = x < 0, ng.DimArray(x, ("x",))
    np.testing.assert_allclose(ng.celu(own, a).data, np.where(below, alpha * np.expm1(x / alpha), x), rtol=1e-15)
    np.testing.assert_allclose(ng.grad(lambda x: ng.celu(x, a).sum())(own).data, np.where(below, np.exp(x / alpha), 1), rtol=1e-15)
    np.testing.assert_allclose(np.diag(ng.hessian(lambda x: ng.celu(x, a).sum())(own).data), np.where(below, np.exp(x / alpha) / alpha, 0), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cross_entropies_of_logits_that_are_right_and_targets_near_1_keep_their_digits(dtype):
    """They were what a product of large numbers lacks of another."""
    x, t = np.array([30, 700, -30, -700], dtype), np.array([1, 1, 0, 0], dtype)
    t += np.finfo(dtype).eps * np.array([-4, -4, 4, 4], dtype)
    want = [float(abs(a)) * abs(round(b) - b) + math.log1p(math.exp(-abs(float(a)))) for a, b in zip(x, t.astype(float), strict=True)]
    found = ng.binary_cross_entropy_with_logits(ng.DimArray(x, ("x",)), ng.DimArray(t, ("x",)), reduction=None)
    np.testing.assert_allclose(found.data, want, rtol=4 * np.finfo(dtype).eps)


def test_integers_as_targets_and_weights_keep_single_precision():
    x = X(OTHER.astype(np.float32), ("n", "k"))
    whole = X(LISTS, ("n", "k"))
    losses = [
        ng.mse_loss(x, whole), ng.mse_loss(x, 1.0), ng.mse_loss(x, whole, X(np.arange(1, 6), "k")), ng.huber_loss(x, 2),
        ng.poisson_nll_loss(x, whole + 1, full=True), ng.gaussian_nll_loss(x, whole, 0.5), ng.hinge_embedding_loss(x, X(SIGNS, "n")),
        ng.binary_cross_entropy_with_logits(x, X(SIGNS > 0, "n"), pos_weight=3), ng.cross_entropy(x, X([0, 1, 2], "n"), X(np.arange(1, 6), "k"), dim="k"),
        ng.cross_entropy(x, X(np.eye(5, dtype=int)[:3], ("n", "k")), dim="k"), ng.soft_margin_loss(x, X(SIGNS, "n")),
    ]  # fmt: skip
    assert {loss.dtype.name for loss in losses} == {"float32"}


def test_every_slice_has_its_own_targets_weights_and_lengths():
    x = X(RNG.normal(size=(4, 3, 5)), ("b", "n", "k"), vectorized="b")
    y = X(RNG.integers(0, 5, (4, 3)), ("b", "n"), vectorized="b")
    w = X(RNG.uniform(1, 2, (2, 5)), ("v", "k"), vectorized="v")
    g = ng.grad(lambda x: ng.cross_entropy(x, y, w, dim="k", ignore_index=2, label_smoothing=0.1))(x)
    assert set(g.vectorized) == {"b", "v"}
    parts = {"b": range(4), "v": range(2)}
    for b in parts["b"]:
        for v in parts["v"]:
            one = [a.devectorize().isel({d: i for d, i in (("b", b), ("v", v)) if d in a.names}) for a in (x, y, w, g)]
            alone = ng.grad(lambda x, y=one[1], w=one[2]: ng.cross_entropy(x, y, w, dim="k", ignore_index=2, label_smoothing=0.1))(one[0])
            assert np.allclose(one[3].data, alone.data, rtol=1e-12, atol=1e-15)


def test_ctc_of_no_times_and_of_no_labels():
    x = ng.zeros({"t": 0, "k": 3})
    none = X(np.empty(0, int), "l")
    assert ng.ctc_loss(x, none, dims=("t", "k", "l")).item() == 0
    assert ng.ctc_loss(x, X([1], "l"), dims=("t", "k", "l")).item() == np.inf
    assert ng.ctc_loss(ng.ones({"t": 2, "k": 3}), none, dims=("t", "k", "l")).item() == -2


def test_ctc_sums_all_alignments():
    """Against all ways to write one class per time that collapse to the target."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(5, 3))
    target = [1, 1, 2]

    def collapsed(path):
        return [c for i, c in enumerate(path) if c and (i == 0 or path[i - 1] != c)]

    paths = [p for p in np.ndindex(*(3,) * 5) if collapsed(p) == target]
    weights = np.array([np.exp(sum(x[t, c] for t, c in enumerate(p))) for p in paths])
    found, gradient = ng.value_and_grad(lambda x: ng.ctc_loss(x, X(target, "l"), dims=("t", "k", "l"), reduction="sum"))(X(x, ("t", "k")))
    posterior = np.zeros((5, 3))
    for p, w in zip(paths, weights / weights.sum(), strict=True):
        posterior[range(5), p] += w
    assert np.isclose(found.item(), -np.log(weights.sum()), rtol=1e-13)
    assert np.allclose(gradient.data, -posterior, atol=1e-13)


@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_scores_of_ignored_targets_may_be_anything(name, reduction):
    table = np.array([[1.0, 2.0, 3.0], [np.nan, np.inf, 0.0], [-np.inf, -np.inf, -np.inf]])
    x, v = X(table, ("n", "k")), X(np.arange(9.0).reshape(3, 3), ("n", "k"))

    def loss(x, y=(0, -100, -100)):
        return getattr(ng, name)(x, X(np.array(y), "n"), dim="k", reduction=reduction)

    def hvp(f, x, v):
        return ng.grad(lambda x: (ng.grad(f)(x) * v).sum())(x)

    alone, row = x.isel(n=[0]), v.isel(n=[0])
    for found, expected in (
        (ng.grad(loss)(x), ng.grad(lambda x: loss(x, (0,)))(alone)),
        (hvp(loss, x, v), hvp(lambda x: loss(x, (0,)), alone, row)),
    ):
        assert np.allclose(found.data[:1], expected.data, rtol=1e-14)
        assert not found.data[1:].any()


def test_what_follows_the_end_of_a_sequence_may_be_anything():
    x = RNG.normal(size=(5, 2, 4))
    target, steps = X([[1, 2], [3, 3]], ("b", "l")), X([5, 3], "b")

    def loss(x):
        return ng.ctc_loss(x, target, steps, X([2, 1], "b"), dims=("t", "k", "l"), reduction="sum")

    plain = ng.grad(loss)(X(x, ("t", "b", "k")))
    x[3:, 1] = np.nan
    found = ng.grad(loss)(X(x, ("t", "b", "k")))
    assert np.array_equal(found.data, plain.data)
    assert not found.data[3:, 1].any()


# ------------------------------------------------------------------------------------------------ far tails

TAIL = 37.42994775023705
SMALL = np.exp(-TAIL)  # expit(-TAIL) to the last digit; 1 - expit(TAIL) computes to 0


@pytest.mark.parametrize("lead", [TAIL, 100.0, 5.0])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_where_the_target_leads(lead, soft, smoothing):
    x, others = np.array([[lead, 0.0, 1.0], [0.0, 1.0, 0.5]]), 1 + np.e
    target = X(np.eye(3)[[0, 2]], ("n", "k")) if soft else X([0, 2], "n")
    f = lambda x: ng.cross_entropy(x, target, label_smoothing=smoothing, **K)
    less = others * np.exp(-lead) / (1 + others * np.exp(-lead))
    g = ng.jacobian(f)(X(x, ("n", "k"))).data[0, 0]
    part = 2 * smoothing / 3
    np.testing.assert_allclose(g[0], part - less, rtol=1e-11)
    np.testing.assert_allclose(g[1], less / others - part / 2, rtol=1e-11)
    if not smoothing:
        np.testing.assert_allclose(f(X(x, ("n", "k"))).data[0], np.log1p(others * np.exp(-lead)), rtol=1e-11)
    second = ng.hessian(lambda x: f(x).isel(n=0))(X(x, ("n", "k"))).data[0, 0, 0, 0]
    np.testing.assert_allclose(second, less * (1 - less), rtol=1e-11)


@pytest.mark.parametrize("vectorized", [(), ("n",)])
@pytest.mark.parametrize("weight", [None, 3.0])
def test_tails_of_binary_cross_entropy_of_logits(weight, vectorized):
    x, t = (X(v, "n", vectorized=vectorized) for v in ([TAIL, -TAIL, 0.0, -0.0], [1.0, 0.0, 1.0, 1.0]))
    w = 1.0 if weight is None else weight
    f = lambda x: ng.binary_cross_entropy_with_logits(x, t, pos_weight=weight and X(weight, ()), reduction="sum")
    np.testing.assert_allclose(ng.grad(f)(x).data, [-w * SMALL, SMALL, -w / 2, -w / 2], rtol=1e-12)
    one = X(np.ones(4), "n", vectorized=vectorized)
    np.testing.assert_allclose(ng.hvp(f, x, one).data, [w * SMALL, SMALL, w / 4, w / 4], rtol=1e-12)


@pytest.mark.parametrize("weight", [1e10, 1e-10])
@pytest.mark.parametrize("end", [np.inf, -800.0])
def test_heavy_answers_beside_an_end_keep_their_slopes(end, weight):
    """``(1 - t) expit(x) - weight t expit(-x)``, each side by itself."""
    scores, shares = np.array([end, 3.0, -3.0, 20.0, 0.0, -0.0]), np.array([0.5, 0.5, 0.9, 0.999, 0.25, 0.25])
    f = lambda x: ng.binary_cross_entropy_with_logits(x, X(shares, "n"), pos_weight=X(weight, ()), reduction="sum")
    expected = (1 - shares) * scipy.special.expit(scores) - weight * shares * scipy.special.expit(-scores)
    np.testing.assert_allclose(ng.grad(f)(X(scores, "n")).data, expected, rtol=1e-14)


@pytest.mark.parametrize(("name", "x", "target", "value"), [
    ("binary_cross_entropy_with_logits", np.inf, 1.0, 0.0), ("binary_cross_entropy_with_logits", -np.inf, 0.0, 0.0),
    ("binary_cross_entropy_with_logits", -np.inf, 0.5, np.inf), ("kl_div", -np.inf, 0.0, 0.0), ("poisson_nll_loss", -np.inf, 0.0, 0.0)])  # fmt: skip
def test_infinite_scores_that_have_a_loss_do_not_warn(name, x, target, value):
    loss, g = ng.value_and_grad(lambda x: getattr(ng, name)(x, X([target, 1.0], "n"), reduction="sum"))(X([x, 0.0], "n"))
    rest = getattr(ng, name)(X([0.0], "n"), X([1.0], "n")).item()
    assert loss.item() == value + rest
    assert np.isfinite(g.data).all()


@pytest.mark.parametrize("x", [[0.1, 0.2], [0.0, 0.0], [3.0, 4.0]])
def test_cosine_of_vectors_shorter_than_eps(x):
    x, y, eps = np.array(x), np.array([0.3, -0.2]), 0.5
    f = lambda x: x @ y / (max(np.sqrt(x @ x), eps) * eps)
    unit = np.eye(2) * 1e-6
    want = [(f(x + u) - f(x - u)) / 2e-6 for u in unit]
    g = ng.grad(lambda x: ng.cosine_similarity(x, X(y, "k"), dim="k", eps=eps))(X(x, "k")).data
    np.testing.assert_allclose(g, want, rtol=1e-8)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("size", [1e200, 1e-180])
def test_cosine_of_vectors_whose_squares_leave_the_range(size):
    x, y = size * np.array([1.0, 2.0]), np.array([3.0, -1.0])
    f = lambda x: ng.cosine_similarity(x, X(y, "k"), dim="k", eps=0.0)
    value, g = ng.value_and_grad(f)(X(x, "k"))
    np.testing.assert_allclose(value.item(), 1 / np.sqrt(50), rtol=1e-12)
    np.testing.assert_allclose(g.data * size, np.array([14.0, -7.0]) / (5 * np.sqrt(50)), rtol=1e-12)
    both = lambda x: ng.cosine_similarity(x, X(size * y, "k"), dim="k", eps=0.0)
    np.testing.assert_allclose(both(X(x, "k")).item(), 1 / np.sqrt(50), rtol=1e-12)
    np.testing.assert_allclose(ng.grad(both)(X(x, "k")).data * size, np.array([14.0, -7.0]) / (5 * np.sqrt(50)), rtol=1e-12)


@pytest.mark.parametrize("x", [-50.0, -95.0, -5.0, 0.3])
def test_binary_cross_entropy_of_small_probabilities(x):
    f = lambda x: ng.binary_cross_entropy(ng.sigmoid(x), X(1.0, ()))
    np.testing.assert_allclose(ng.grad(f)(X(x, ())).item(), -1 / (1 + np.exp(x)), rtol=1e-12)
    if x < 0:
        np.testing.assert_allclose(ng.grad(ng.grad(f))(X(x, ())).item(), np.exp(x) / (1 + np.exp(x)) ** 2, rtol=1e-12, atol=1e-15)


def test_divergence_from_a_target_without_a_class_does_not_warn():
    f = lambda x, t: ng.kl_div(x, t, log_target=True, reduction="sum")
    x, t = X([-2.0, -1.0], "n"), X([-np.inf, -0.1], "n")
    loss, g = ng.value_and_grad(f, (0, 1))(x, t)
    assert f(x, t).item() == loss.item()
    np.testing.assert_allclose(loss.item(), np.exp(-0.1) * 0.9)
    np.testing.assert_allclose(g[0].data, [0, -np.exp(-0.1)])
    assert np.isfinite(g[1].data).all()


def test_targets_of_margins_are_checked_in_compiled_programs_too():
    f = ng.compile(lambda x, t: ng.multi_margin_loss(x, t, dim="k"))
    f(FLAT, X([0, 1, 1], "n"))
    for bad in (-1, FLAT.sizes["k"]):
        with pytest.raises(IndexError, match="none of"):
            f(FLAT, X([0, bad, 1], "n"))


def test_margins_of_lazy_scores_in_other_chunks_than_the_targets():
    da = pytest.importorskip("dask.array")
    x, t = FLAT.data, np.array([0, 1, 1])
    whole = ng.multi_margin_loss(FLAT, X(t, "n"), dim="k").item()
    lazy = ng.DimArray(da.from_array(x, chunks=2), FLAT.dims)
    for target in (t, da.from_array(t, chunks=1)):
        assert float(ng.multi_margin_loss(lazy, ng.DimArray(target, "n"), dim="k").data) == pytest.approx(whole)


@pytest.mark.parametrize("listed", [0, 3, 40])
def test_pairs_of_many_classes_are_counted_as_by_their_definition(listed: int) -> None:
    rng = np.random.default_rng(listed)
    x, lists = rng.normal(size=(4, 50)), np.full((4, 50), -1)
    lists[:, :listed] = rng.integers(0, 50, (4, listed))
    lists[0, listed // 2 :] = -1
    x[1, 7], x[2, 9] = math.nan, -math.inf

    def loss(scores: np.ndarray, row: np.ndarray) -> float:
        own = row[: (row < 0).argmax()]
        others = np.setdiff1d(np.arange(50), own)
        with np.errstate(invalid="ignore"):
            return np.fmax(0, 1 - scores[own][:, None] + scores[others]).sum() / 50

    found = ng.multilabel_margin_loss(X(x, ("n", "k")), X(lists, ("n", "k")), dim="k", reduction=None)
    np.testing.assert_allclose(found.data, [loss(s, row) for s, row in zip(x, lists, strict=True)], rtol=1e-12)


@pytest.mark.parametrize("beta", [0, np.float32(0), np.array(0.0), X(0.0, ()), X(np.zeros(5), "k")], ids=lambda b: type(b).__name__)
def test_a_bend_of_no_width_is_a_corner(beta):
    d = FLAT.data - OTHER
    loss = lambda x: ng.smooth_l1_loss(x, OTHER_NAMED, beta=beta, reduction="sum")
    np.testing.assert_allclose(loss(FLAT).data, np.abs(d).sum(), rtol=1e-14)
    np.testing.assert_array_equal(ng.grad(loss)(FLAT).data, np.sign(d))
    mixed = ng.smooth_l1_loss(X([3.0, 0.25], "k"), 0.0, beta=X([0.0, 0.5], "k"), reduction=None)
    np.testing.assert_array_equal(mixed.data, [3.0, 0.0625])


def test_logistic_losses_of_complex_scores():
    z = np.array([1 + 2j, 0.3 - 1j, -2 + 0.5j])
    np.testing.assert_allclose(ng.log_sigmoid(X(z, "n")).data, -np.log(1 + np.exp(-z)), rtol=1e-13)
    found = ng.soft_margin_loss(X(z, "n"), X(SIGNS, "n"), reduction=None)
    np.testing.assert_allclose(found.data, np.log(1 + np.exp(-SIGNS * z)), rtol=1e-13)


@pytest.mark.parametrize("beta", [0.0, 1e-300, 0.5, 1.0, 1e300])
def test_the_bend_of_smooth_l1_may_be_differentiated_however_sharp(beta):
    d = np.array([-3.0, -0.5, -1e-300, 0.0, 0.3, 0.5, 2.0])
    flat = np.array([0.0 if v == 0 else v / abs(v) if abs(v) >= beta else v / beta for v in d])
    f = lambda x, b: ng.smooth_l1_loss(x, 0.0, beta=b, reduction=None)
    x, b = X(d, "x"), X(beta, ())
    np.testing.assert_allclose(f(x, b).data, flat * (d - beta * flat / 2), rtol=1e-14)
    by_x, by_b = ng.jacobian(f, (0, 1))(x, b)
    np.testing.assert_allclose(by_x.data, np.diag(flat), rtol=1e-14)
    np.testing.assert_allclose(by_b.data, -(flat**2) / 2, rtol=1e-14)


def test_what_a_loss_of_positional_arrays_lacks_is_named():
    p = ng.positional(np.ones((3, 4)))
    with pytest.raises(TypeError, match=r"kl_div\(\) is missing the argument 'target'"):
        ng.kl_div(p)
    with pytest.raises(ng.AxisError, match="times first"):
        ng.ctc_loss(p[0], np.array([1]))


@pytest.mark.parametrize("dtype", ["u8", "u1", "i1"])
def test_classes_in_other_whole_numbers(dtype: str) -> None:
    x, t = np.random.default_rng(3).normal(size=(2, 3, 4)), np.array([[0, 3, 1], [2, 2, 0]])
    scores = ng.DimArray(x, ("image", "cell", "class"))
    found = ng.cross_entropy(scores, ng.DimArray(t.astype(dtype), ("image", "cell")), dim="class", reduction=None).data
    np.testing.assert_allclose(found, scipy.special.logsumexp(x, -1) - np.take_along_axis(x, t[..., None], -1)[..., 0], rtol=1e-13)


@pytest.mark.parametrize("weight", [None, np.array([1.0, 2.0, 3.0])])
def test_means_over_classes_keep_the_order_of_dims_in_compiled_programs(weight):
    rng = np.random.default_rng(0)
    x, t = ng.DimArray(rng.normal(size=(2, 3, 4, 3)), tuple("pcan"), vectorized="p"), ng.DimArray(rng.integers(0, 3, (5, 4, 3)), tuple("qan"), vectorized="q")
    w = None if weight is None else ng.DimArray(weight, "c")
    f = lambda x, t: ng.nll_loss(x, t, w, dim="c", reduce_dim="n")
    for g in (f, ng.compile(f)):
        assert (g(x, t).vectorized, g(x, t).dims) == (("p", "q"), ("a",))
    np.testing.assert_allclose(ng.compile(f)(x, t).data, f(x, t).data, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_ctc_of_small_integers_does_not_wrap(dtype):
    """A blank, twice a length and a time by its labels are larger than the integers that are given."""
    rng = np.random.default_rng(0)
    x = np.log(rng.dirichlet(np.ones(300), size=(120, 2)))
    whole = rng.integers(0, 100, (2, 70)), np.array([120, 110]), np.array([70, 65])
    loss = lambda *of: ng.ctc_loss(ng.positional(x), *of, reduction=None, blank=299).data
    expected = loss(*whole)
    for i, v in enumerate(whole):
        np.testing.assert_allclose(loss(*whole[:i], v.astype(dtype), *whole[i + 1 :]), expected, rtol=1e-13)
    p = np.exp(x[:2, 0])  # two labels in two times: one way
    found = ng.ctc_loss(ng.positional(np.log(p)), np.array([3, 5], dtype), np.array(2, dtype), np.array(2, dtype), reduction=None, blank=299)
    np.testing.assert_allclose(found.data, -np.log(p[0, 3] * p[1, 5]), rtol=1e-13)
