"""Functions of vectors that are the same in every basis, where values coincide: differences of NumPy's own values.

Each also where values are apart, in the same compiled program, and beside matrices that are not differentiated there.
"""

import numpy as np
import pytest

import namedgrad as ng
from tests.linalg.matrices import IJ, hermitian, named, slopes, some
from tests.support.oracles import richardson
from tests.support.tolerances import FIRST, ROUNDING, SINGLE, assert_close

WEIGHTS = some(4, 4, seed=5)
NEARLY = 1e-5  # tangents turn vectors by the inverse of the gap, and meet again: roundings over the gap


# Real functions of V diag(g) V^T, in the ways in which programs write it; x holds weights.
WAYS = {
    "columns": lambda v, g, x: ((v * g) @ v.T * x).sum(),
    "diag": lambda v, g, x: (v @ np.diag(g) @ v.T * x).sum(),
    "rows": lambda v, g, x: (v @ (g[:, None] * v.T) * x).sum(),
    "einsum": lambda v, g, x: np.einsum("ij,j,kj,ik", v, g, v, x),
    "of a vector": lambda v, g, x: np.sin(v @ (g * (v.T @ x[0]))).sum(),
    "quadratic form": lambda v, g, x: ((v.T @ x[0]) ** 2 * g).sum(),
    "lengths": lambda v, g, x: np.linalg.norm(v @ (g[:, None] * (v.T @ x)), axis=0).sum(),
    "one by one": lambda v, g, x: sum(g[k] * (np.outer(v[:, k], v[:, k]) * x).sum() for k in range(len(g))),
}


def put_together(g, way):
    def f(a):
        w, v = np.linalg.eigh(a)
        return WAYS[way](v, g(w), WEIGHTS[: len(w), : len(w)])

    return f


def turned(values, seed=1):
    q = np.linalg.qr(some(len(values), len(values), seed=seed))[0]
    return hermitian(q @ np.diag(np.array(values, float)) @ q.T)


def check(f, x, *, symmetric=False, tangent=FIRST):
    """Gradient, compiled, and tangent at ``x``, against differences of the function of plain arrays."""
    t = some(*x.shape, seed=9, kind="complex" if x.dtype.kind == "c" else "real")
    t = hermitian(t) if symmetric else t
    expected = richardson(lambda s: f(x + s * t))
    apart = x + hermitian(np.diag(np.arange(len(x)) / 7)) if x.shape[0] == x.shape[1] else x + some(*x.shape) / 5
    program = ng.compile(ng.grad(f))
    program(apart)
    value, g = ng.value_and_grad(f)(x)
    assert_close(value, f(x), ROUNDING)
    for what, got in (("gradient", g), ("compiled", program(x)), ("afresh", ng.compile(ng.grad(f))(x))):
        assert_close(np.sum(np.real(np.conj(got) * t)), expected, FIRST, what)
    _, along = ng.linearize(f, x)
    move = ng.compile(lambda x, t: ng.pushforward(f, (x,), (t,))[1])
    move(apart, t)
    for what, got in (("tangent", ng.pushforward(f, (x,), (t,))[1]), ("linear", along(t)), ("compiled", move(x, t))):
        assert_close(got, expected, tangent, what)


MATRICES = {
    "identity": np.eye(3),
    "turned": turned([2, 2, 2, 5]),
    "two pairs": turned([1, 1, 3, 3]),
    "large": turned([1, 1, 3]) * 1e6,
    "nearly": turned([1, 1 + 3e-10, 2]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["identity", "turned"])
def test_every_way_to_put_a_function_of_a_matrix_together(way, name):
    check(put_together(np.sqrt, way), MATRICES[name], symmetric=True)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("g", [np.log, np.exp, np.abs, np.reciprocal, lambda w: w, lambda w: np.maximum(w, 0.5)], ids=["log", "exp", "abs", "reciprocal", "same", "maximum"])
def test_functions_of_matrices(g, name):
    if name == "large" and g is np.exp:
        g = lambda w: np.exp(w / 1e6)
    check(put_together(g, "columns"), MATRICES[name], symmetric=True, tangent=NEARLY if name == "nearly" else FIRST)


@pytest.mark.parametrize("cut", [slice(0, 3), slice(3, 4)], ids=["equal", "other"])
def test_projectors(cut):
    def f(a):
        v = np.linalg.eigh(a)[1][:, cut]
        return (v @ v.T * WEIGHTS).sum()

    check(f, turned([2, 2, 2, 5]), symmetric=True)


def test_hermitian_matrices():
    q = np.linalg.qr(some(4, 4, kind="complex"))[0]

    def f(a):
        w, v = np.linalg.eigh(a)
        return ((v * np.exp(w / 3)) @ v.conj().T * (WEIGHTS + 1j * WEIGHTS.T)).sum().real

    check(f, hermitian(q @ np.diag([2, 2, 2, 5.0]) @ q.conj().T), symmetric=True)


SHAPES = {
    "turned": turned([2, 2, 2, 5]) @ np.linalg.qr(some(4, 4))[0],
    "low rank": turned([2, 2, 0, 0]) @ np.linalg.qr(some(4, 4))[0],
    "nothing": np.zeros((3, 2)),
    "tall": np.eye(4)[:, [1, 0, 3]],
    "wide": np.eye(4)[:3],
    "complex": np.linalg.qr(some(4, 4, kind="complex"))[0] * 2,
}


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("name", SHAPES)
def test_singular_values(name, full):
    x = SHAPES[name]
    k, weights = min(x.shape), WEIGHTS[: x.shape[0], : x.shape[1]]

    def again(of):
        def f(a):
            u, s, vh = np.linalg.svd(a, full_matrices=full)
            return ((u[:, :k] * of(s)) @ vh[:k] * weights).sum().real

        return f

    def squares(a):
        u, s, _ = np.linalg.svd(a, full_matrices=full)
        return ((u[:, :k] * s**2) @ u[:, :k].conj().T * WEIGHTS[: len(u), : len(u)]).sum().real

    check(again(lambda s: s), x)
    check(squares, x)
    if name not in ("low rank", "nothing"):  # of which there is no nearest rotation
        check(again(np.ones_like), x)
        check(again(lambda s: s**3), x)


@pytest.mark.parametrize("x", [np.diag([2.0, 2.0, 0.0]), np.ones((3, 3)), np.ones((4, 2))], ids=str)
def test_pseudo_inverses_made_of_singular_values(x):
    weights = WEIGHTS[: x.shape[1], : x.shape[0]]

    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        inverse = np.where(s > 1e-9, 1 / np.where(s > 1e-9, s, 1.0), 0.0)
        return ((vh.T * inverse) @ u.T * weights).sum()

    p = np.linalg.pinv(x)  # Golub and Pereyra (1973), eq. 4.12
    g = weights.T
    expected = -p.T @ g.T @ p.T + (np.eye(len(x)) - x @ p) @ g @ p @ p.T + p.T @ p @ g @ (np.eye(x.shape[1]) - p @ x)
    assert_close(ng.grad(f)(x), expected, FIRST)


@pytest.mark.parametrize("name", ["identity", "turned", "askew"])
def test_any_square_matrix(name):
    p = some(4, 4, seed=2) + 2 * np.eye(4)
    x = p @ np.diag([2, 2, 2, 5.0]) @ np.linalg.inv(p) if name == "askew" else MATRICES[name]

    def f(a):
        w, v = np.linalg.eig(a)
        return ((v * np.exp(w / 3)) @ np.linalg.inv(v) * WEIGHTS[: len(a), : len(a)]).sum().real

    t = some(*x.shape, seed=3)
    expected = richardson(lambda s: f(x + s * t))
    for got in ((ng.grad(f)(x) * t).sum(), (ng.compile(ng.grad(f))(x) * t).sum(), ng.pushforward(f, (x,), (t,))[1]):
        assert_close(got, expected, 1e-6)


# ------------------------------------------------------------------------------------------------ batches, and what is around


def named_root(a):
    w, v = ng.eigh(a, IJ)
    return ng.dot(v * ng.sqrt(w), v.rename(i="k"), dim="j2")


def plain_root(a):
    w, v = np.linalg.eigh(a)
    return (v * np.sqrt(w)) @ v.T


STACK = np.stack([np.eye(3), turned([1, 2, 2]), turned([1, 2, 3]), turned([4, 4, 4]), turned([1, 1, 1 + 1e-9])])
THREE = WEIGHTS[:3, :3]
EXPECTED = np.stack([slopes(lambda a: (plain_root(a) * THREE).sum(), m, symmetric=True, h=1e-2) for m in STACK])


def named_loss(a):
    return ng.dot(named_root(a), named(THREE, ("i", "k")), dim=("i", "k"))


def test_every_slice_of_a_batch_has_its_own_limit():
    stack = named(STACK, "bij")
    assert_close(ng.grad(lambda a: named_loss(a).sum())(stack).data, EXPECTED, FIRST)
    assert_close(ng.grad(named_loss)(stack.vectorize("b")).data, EXPECTED, FIRST)
    assert_close(ng.grad(named_loss, over="b")(stack).transpose("b", "i", "j").data, EXPECTED, FIRST)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobians(mode):
    jac = ng.jacobian(named_root, mode=mode, over="b")(named(STACK, "bij")).transpose("b", "i", "k", "i_wrt", "j_wrt").data
    assert_close(np.einsum("ik,bikmn->bmn", THREE, jac), EXPECTED, NEARLY if mode == "forward" else FIRST)


def test_maps_and_what_else_is_given():
    roots, along = ng.linearize(lambda a: (plain_root(a), a.sum(), np.linalg.eigh(a)[0].sum()), STACK[1])
    t = hermitian(some(3, 3, seed=4))
    moved = along(t)
    assert_close((moved[0] * THREE).sum(), (EXPECTED[1] * t).sum(), FIRST)
    assert_close(moved[1:], (t.sum(), np.trace(t)), FIRST)
    assert_close(along.T((THREE, 0.0, 0.0)), EXPECTED[1], FIRST)
    assert_close(roots[0] @ roots[0], STACK[1], FIRST)
    (value, aux), g = ng.value_and_grad(lambda a: ((plain_root(a) * THREE).sum(), np.linalg.eigh(a)[0]), has_aux=True)(STACK[1])
    assert type(aux) is np.ndarray
    assert_close(g, EXPECTED[1], FIRST)
    assert value == (plain_root(STACK[1]) * THREE).sum()


def test_values_may_be_looked_at():
    def f(a):
        w, v = np.linalg.eigh(a)
        scale = float(ng.stop_gradient(w).max()) if w[0] > 0 else 0.0
        return ((v * np.sqrt(w)) @ v.T * THREE).sum() * scale

    assert_close(ng.grad(f)(STACK[1]), 2 * EXPECTED[1], FIRST)


def test_within_checkpoints_and_other_transforms():
    loss = lambda a: (plain_root(a) * THREE).sum()
    assert_close(ng.grad(ng.checkpoint(loss))(STACK[1]), EXPECTED[1], FIRST)
    outer = ng.grad(lambda x: (ng.grad(loss)(STACK[1]) * x).sum())(some(3, 3))
    assert_close(outer, EXPECTED[1], FIRST)
    assert_close(ng.grad(lambda x: (ng.grad(lambda a: loss(a) * x)(STACK[1]) * THREE).sum())(2.0), (EXPECTED[1] * THREE).sum(), FIRST)
    both = ng.grad(lambda a: loss(a) * np.trace(a) + loss(a @ a) + loss(a))(np.eye(3))
    assert_close(both, 6 * EXPECTED[0] + np.trace(THREE) * np.eye(3), FIRST)


def test_single_precision():
    g = ng.grad(lambda a: named_loss(a).sum())(named(STACK.astype(np.float32), "bij"))
    assert g.dtype == np.float32
    assert_close(g.data, EXPECTED, SINGLE)


# ------------------------------------------------------------------------------------------------ close, and far from it


def slope_of(g, x):
    """That of the weights of one pair in a function of a diagonal matrix."""
    n = len(x)
    found = []
    for grad in (ng.grad(put_together(g, "columns")), ng.compile(ng.grad(put_together(g, "columns")))):
        slopes = grad(np.diag(x))
        found.append((slopes + slopes.T) / (WEIGHTS[:n, :n] + WEIGHTS[:n, :n].T))
    assert_close(found[1], found[0], ROUNDING)
    t = np.zeros((n, n), x.dtype)
    t[0, 1] = t[1, 0] = 0.7
    moved = ng.pushforward(put_together(g, "columns"), (np.diag(x),), (t,))[1] / 0.7
    return found[0][0, 1], moved / (WEIGHTS[0, 1] + WEIGHTS[1, 0])


@pytest.mark.parametrize("x", [[1e-10, 2e-10, 1.0], [1e-12, 1e-9, 1.0], [1e-14, 3e-14, 2e-13, 1.0]], ids=str)
def test_small_values_beside_large_ones_are_far_from_each_other(x):
    w0, w1 = x[:2]
    for found in slope_of(np.sqrt, np.array(x)):
        assert_close(found * (np.sqrt(w0) + np.sqrt(w1)), 1.0, FIRST)
    for found in slope_of(np.log, np.array(x)):
        assert_close(found * (w1 - w0) / np.log(w1 / w0), 1.0, FIRST)
    for found in slope_of(np.reciprocal, np.array(x)):
        assert_close(-found * w0 * w1, 1.0, FIRST)


def test_small_values_in_single_precision():
    for found in slope_of(np.sqrt, np.array([1e-4, 2e-4, 1.0], np.float32)):
        assert_close(found * (1e-2 + np.sqrt(2e-4)), 1.0, SINGLE)


@pytest.mark.parametrize("d", [1e-6, 1e-8, 3e-9, 1e-9, 1e-10, 1e-12, 1e-14])
def test_gradients_are_as_exact_whatever_the_gap(d):
    x = np.array([1e-4, 1e-4 + d, 1.0])
    d = x[1] - x[0]
    assert_close(slope_of(np.log, x)[0] * d / np.log1p(d / x[0]), 1.0, 1e-8)


def test_small_singular_values():
    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return ((u * np.sqrt(s)) @ vh * THREE).sum()

    s = np.array([1.0, 3e-9, 1e-9])
    g, r = ng.grad(f)(np.diag(s))[1:, 1:], np.sqrt(s[1:])
    even, odd = (r[0] - r[1]) / (s[1] - s[2]), (r[0] + r[1]) / (s[1] + s[2])  # Townsend (2016), eqs. 13 to 15
    w, v = THREE[1, 2], THREE[2, 1]
    assert_close(g[0, 1] / 1e4, ((w + v) * even + (w - v) * odd) / 2e4, FIRST)

    def inverse(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return ((vh.T / s) @ u.T * THREE[:2]).sum()

    x = np.array([[1.0, 0.0], [0.0, 1e-9], [0.0, 0.0]])
    p, g = np.linalg.pinv(x), THREE[:2]  # Golub and Pereyra (1973), eq. 4.12
    expected = -p.T @ g @ p.T + (np.eye(3) - x @ p) @ g.T @ p @ p.T
    assert_close(ng.grad(inverse)(x) / 1e18, expected / 1e18, FIRST)


def test_shares_of_vectors_that_are_determined_count():
    root = put_together(np.sqrt, "columns")

    def f(a):
        v = np.linalg.eigh(a)[1]
        return root(a) + 1e-9 * v[0, 1] * v[1, 1]

    x = np.diag([1.0, 1.0 + 1e-9, 2.0])
    g = ng.grad(f)(x)
    expected = (WEIGHTS[0, 1] + WEIGHTS[1, 0]) / 2 + 1e-9 / (x[1, 1] - x[0, 0])
    assert_close(g[0, 1] + g[1, 0], expected, 1e-6)
    assert np.isnan(ng.grad(lambda a: root(a) + 1e-9 * (np.linalg.eigh(a)[1] * THREE).sum())(np.eye(3))).any()


def test_vectors_of_a_defective_matrix_are_no_basis():
    def f(a):
        w, v = np.linalg.eig(a)
        return ((v * np.exp(w)) @ np.linalg.inv(v)).real.sum()

    assert np.isnan(ng.grad(f)(np.array([[1.0, 1.0], [0.0, 1.0]]))).any()


# ------------------------------------------------------------------------------------------------ what is not determined


@pytest.mark.parametrize("scale", [1.0, 1e-10, 1e10])
def test_what_depends_on_the_basis_has_no_derivative(scale):
    vectors = lambda a: (np.linalg.eigh(a)[1] * THREE).sum()
    assert np.isnan(ng.grad(vectors)(scale * np.eye(3))).any()
    t = scale * 1e-4 * hermitian(some(3, 3))
    assert np.isnan(ng.pushforward(vectors, (scale * np.eye(3),), (t,))[1])
    root, (v, w) = ng.pushforward(lambda a: (plain_root(a), np.linalg.eigh(a)[::-1]), (scale * np.eye(3),), (t,))[1]
    assert_close(root / 1e-4, np.sqrt(scale) * hermitian(some(3, 3)) / 2, FIRST)
    assert np.isnan(v).any()
    assert_close(w, np.diag(t), FIRST)


def test_vectors_of_values_that_are_close_but_not_equal():
    x = np.diag([1.0, 1.0 + 1e-9, 2.0])
    g = ng.grad(lambda a: np.linalg.eigh(a)[1][0, 1] * np.linalg.eigh(a)[1][1, 1])(x)
    assert_close(g[0, 1] + g[1, 0], 1 / (x[1, 1] - x[0, 0]), FIRST)
    t = np.zeros((3, 3))
    t[0, 1] = t[1, 0] = -0.3
    moved = ng.pushforward(lambda a: np.linalg.eigh(a)[1][0, 1] * np.linalg.eigh(a)[1][1, 1], (x,), (t,))[1]
    assert_close(moved, -0.3 / (x[1, 1] - x[0, 0]), FIRST)


def test_second_derivatives_are_never_a_wrong_number():
    loss = put_together(np.log, "columns")
    t = hermitian(some(3, 3))
    assert np.isnan(ng.hvp(loss, np.eye(3), t)).any()
    assert np.isnan(ng.grad(lambda a: (ng.grad(loss)(a) * t).sum())(np.eye(3))).any()

    def twice(a):
        w, v = np.linalg.eigh((lambda w, v: (v * np.sqrt(w)) @ v.T)(*np.linalg.eigh(a)))
        return ((v * w**2) @ v.T * THREE).sum()

    assert np.isnan(ng.grad(twice)(STACK[1])).any()
