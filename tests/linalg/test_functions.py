"""What users of other systems reported about functions and norms of matrices, and NumPy's names, on our operations.

Answers are closed forms, or finite differences of the value alone; for second derivatives, of the gradient.
"""

import numpy as np
import pytest
import scipy.linalg

import namedgrad as ng
from tests.linalg.matrices import IJ, KINDS, definite, hermitian, named, regular, right, slopes, some, squared, weighed
from tests.support.tolerances import FIRST, MATRIX, ROUNDING, assert_close

# ------------------------------------------------------------------------------------------------ functions of matrices


@KINDS
@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 7, 10])
def test_powers(n, kind):
    x = regular(3, kind=kind) / 2
    right(lambda a: weighed(ng.matrix_power(a, IJ, n)), x, twice=5e-6)
    assert_close(ng.matrix_power(named(x), IJ, n).data, np.linalg.matrix_power(x, n), MATRIX)


def test_powers_of_zeros_and_of_singular_matrices():
    zero = named(np.zeros((2, 2)))
    for n, slope in ((0, 0.0), (1, 1.0), (2, 0.0), (3, 0.0)):
        jac = ng.jacobian(lambda a, n=n: ng.matrix_power(a, IJ, n))(zero).data
        assert_close(jac, slope * np.einsum("ik,jl->ijkl", np.eye(2), np.eye(2)), ROUNDING)
    second = ng.jacobian(ng.jacobian(lambda a: ng.matrix_power(a, IJ, 2)), suffix="_2")(zero).data
    assert second.any(), "the square bends at zero"
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        ng.matrix_power(zero, IJ, -1)


def test_the_second_derivative_of_an_exponential_by_nested_tangents():
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])

    def f(t):
        return ng.expm(t * ng.eye("i", "j", 2) + named(turn), IJ).sum()

    one, t = named(1.0, ()), named(0.7, ())
    first = lambda t: ng.pushforward(f, (t,), (one,))[1]
    second = lambda t: ng.pushforward(first, (t,), (one,))[1]
    third = ng.pushforward(second, (t,), (one,))[1]
    for found in (f(t), first(t), second(t), third):
        assert_close(found.item(), 2 * np.exp(0.7) * np.cos(1), 1e-11)


@KINDS
@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 5.0])
def test_exponentials(size, kind):
    x = size * some(3, 3, kind=kind)
    right(lambda a: weighed(ng.expm(a, IJ)), x, first=2e-7, twice=5e-6)
    trace = ng.grad(lambda a: ng.trace(ng.expm(a, IJ), IJ).real)(named(x)).data
    assert_close(trace, scipy.linalg.expm(x).conj().T, MATRIX)


@pytest.mark.parametrize("x", [np.zeros((3, 3)), np.eye(3, k=1), np.diag([1.0, 1.0, 2.0]), np.diag([-800.0, 0.0, 1.0]), np.full((3, 3), 1e-200)], ids=str)
def test_exponentials_of_special_matrices(x):
    t = some(3, 3)
    block = scipy.linalg.expm(np.block([[x, t], [np.zeros((3, 3)), x]]))[:3, 3:]
    assert_close(ng.pushforward(lambda a: ng.expm(a, IJ), (named(x),), (named(t),))[1].data, block, MATRIX)
    g = ng.grad(lambda a: weighed(ng.expm(a, IJ)))(named(x)).data
    w = some(3, 3, seed=3)
    assert_close(g, scipy.linalg.expm(np.block([[x.T, w], [np.zeros((3, 3)), x.T]]))[:3, 3:], MATRIX)


def test_a_logarithm_behind_an_exponential_with_zeros():
    def f(q):
        rates = ng.concat([ng.concat([-q, q], "j"), ng.concat([0 * q, 0 * q], "j")], "i")
        p = ng.log(ng.expm(rates, IJ))
        return p.isel(i=0).sum(skipna=False)

    q = named([0.7], "j").expand_dims("i")
    g = ng.grad(f)(q).data
    assert_close(g, [[-1 + np.exp(-0.7) / (1 - np.exp(-0.7))]], MATRIX)


@KINDS
def test_roots_and_logarithms(kind):
    x = definite(3, kind=kind) + np.triu(some(3, 3, kind=kind), 1) / 4
    for f in (ng.sqrtm, ng.logm):
        right(lambda a, f=f: weighed(f(a, IJ)), x)
    for f in (lambda a: ng.dot(ng.sqrtm(a, IJ), ng.sqrtm(a, IJ).rename(i="j", j="k"), dim="j"), lambda a: ng.expm(ng.logm(a, IJ), IJ)):
        jac = ng.jacobian(lambda a, f=f: f(a).real)(named(x.real)).data
        assert_close(jac, np.einsum("ik,jl->ijkl", np.eye(3), np.eye(3)), MATRIX)


def test_entropy():
    x = definite(4)

    def entropy(a):
        return ng.trace(ng.dot(a, ng.logm(a, IJ).rename(i="j", j="k"), dim="j"), ("i", "k"))

    g = ng.grad(entropy)(named(x)).data
    assert_close(g, (scipy.linalg.logm(x) + np.eye(4)).T, MATRIX)
    w, v = np.linalg.eigh(x)
    with np.errstate(all="ignore"):
        divided = np.where(np.eye(4) == 1, 1 / w, (np.log(w)[:, None] - np.log(w)) / (w[:, None] - w))
    t = hermitian(some(4, 4))
    assert_close(ng.hvp(entropy, named(x), named(t)).data, v @ (divided * (v.T @ t @ v)) @ v.T, MATRIX)


@pytest.mark.parametrize("gap", [0.0, 1e-14, 1e-9, 1e-5])
def test_roots_and_logarithms_where_eigenvalues_nearly_coincide(gap):
    q = np.linalg.qr(some(3, 3))[0]
    x, t = q @ np.diag([2.0, 2.0 + gap, 5.0]) @ q.T, hermitian(some(3, 3, seed=1))
    root = scipy.linalg.sqrtm(x)
    got = ng.pushforward(lambda a: ng.sqrtm(a, IJ), (named(x),), (named(t),))[1].data
    assert_close(got, scipy.linalg.solve_sylvester(root, root, t), 1e-9)
    moved = ng.pushforward(lambda a: ng.logm(a, IJ), (named(x),), (named(t),))[1].data
    w = np.array([2.0, 2.0 + gap, 5.0])
    with np.errstate(all="ignore"):
        divided = np.where(np.abs(w[:, None] - w) < 1e-4, 1 / w, np.log(w[:, None] / w) / (w[:, None] - w))
    assert_close(moved, q @ (divided * (q.T @ t @ q)) @ q.T, max(1e-9, gap))


def test_functions_of_a_batch_at_once():
    x = np.stack([definite(3, seed=k) for k in range(5)])
    for name in ("sqrtm", "logm", "expm"):
        f = getattr(ng, name)
        g = ng.grad(lambda a, f=f: weighed(f(a, IJ)))(named(x.transpose(1, 2, 0), "ijb", vectorized="b")).data
        for k in range(5):
            assert_close(g[k], ng.grad(lambda a, f=f: weighed(f(a, IJ)))(named(x[k])).data, MATRIX)


# ------------------------------------------------------------------------------------------------ norms, condition


ORDERS = [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@pytest.mark.parametrize("order", ORDERS)
def test_norms_of_zeros(order):
    for shape in ((3, 3), (2, 4)):
        g = ng.grad(lambda a: ng.norm(a, IJ, order))(named(np.zeros(shape))).data
        assert np.array_equal(g, np.zeros(shape))
    both = ng.grad(lambda a: ng.norm(a, IJ, order).sum())(named(np.stack([np.zeros((2, 2)), np.diag([1.0, 2.0])]), "bij")).data
    assert not both[0].any()
    assert both[1].any()


@KINDS
@pytest.mark.parametrize("order", ORDERS)
def test_norms_of_matrices(order, kind):
    right(lambda a: ng.norm(a, IJ, order), regular(3, 4, kind=kind))


@KINDS
@pytest.mark.parametrize("order", [None, 1, 2, 3, 0.5, np.inf, -np.inf, -1, -2, 2.5])
def test_norms_of_vectors(order, kind):
    right(lambda a: ng.norm(a, "i", order), some(4, kind=kind) + 2, dims="i")
    right(lambda a: weighed(ng.norm(a, "j", order)), regular(3, 4, kind=kind))


@pytest.mark.parametrize("order", [None, 2, 1, np.inf, 3])
def test_norms_of_zero_vectors(order):
    assert not ng.grad(lambda a: ng.norm(a, "i", order))(named(np.zeros(3), "i")).data.any()
    assert not ng.grad(lambda a: ng.norm(a, "i", order) ** 2)(named(np.zeros(3), "i")).data.any()
    assert not ng.grad(lambda x: np.linalg.norm(x, order) ** 2)(np.zeros(3)).any()
    assert ng.grad(lambda x: np.exp(-(np.linalg.norm(x) ** 2)))(np.zeros(2)).tolist() == [0, 0]
    rows = ng.grad(lambda a: ng.norm(a, "j", order).sum())(named([[0.0, 0.0], [3.0, 0.0]])).data
    assert rows.tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("order", [o for o in ORDERS if o != "nuc"])
@KINDS
def test_condition(order, kind):
    right(lambda a: ng.cond(a, IJ, order), regular(3, kind=kind) + np.diag([0.0, 1, 2]), first=3e-7, twice=5e-6)


def test_condition_of_rectangles_of_equal_values_and_of_singular_matrices():
    right(lambda a: ng.cond(a, IJ), regular(4, 3) + np.eye(4, 3) * [0, 1, 2])
    assert ng.cond(named(np.ones((2, 2))), IJ, 1).item() == np.inf
    for order in (None, 2, -2, 1, "fro", np.inf):  # those of NumPy, which do not move
        x = np.stack([np.zeros((2, 2)), np.diag([4.0, 2.0])])
        value, g = ng.value_and_grad(lambda a, o=order: ng.cond(a, ("i", "j"), o), over="b")(ng.DimArray(x, ("b", "i", "j")))
        np.testing.assert_allclose(value.data, np.linalg.cond(x, order))
        alone = ng.grad(lambda a, o=order: ng.cond(a, IJ, o))(named(x[1])).data
        np.testing.assert_allclose(g.data, [np.zeros((2, 2)), alone], atol=1e-15)
    x = np.stack([np.eye(2), np.diag([4.0, 2.0]), regular(2)])
    got = ng.cond(named(x.transpose(1, 2, 0), "ijb"), IJ).data
    assert_close(got, np.linalg.cond(x), MATRIX)
    g = ng.grad(lambda a: ng.cond(a, IJ).sum())(named(x.transpose(1, 2, 0), "ijb")).data
    assert_close(g[..., 1], [[0.5, 0], [0, -1]], MATRIX)
    assert_close(g[..., 2], ng.grad(lambda a: ng.cond(a, IJ))(named(x[2])).data, MATRIX)


def test_a_count_of_singular_values_steers_nothing():
    x = named(np.stack([np.eye(3), np.ones((3, 3))]), "bij", vectorized="b")
    g = ng.grad(lambda a: (ng.matrix_rank(a, IJ) * a).sum())(x).data
    assert g[:, 0, 0].tolist() == [3.0, 1.0]


# ------------------------------------------------------------------------------------------------ sizes, dtypes, NumPy's names


@pytest.mark.parametrize("name", ["det", "inv", "pinv", "cholesky", "expm", "sqrtm", "logm", "eigvalsh", "trace", "logdet"])
def test_one_cell_and_none(name):
    f = getattr(ng, name)
    one = ng.grad(lambda a: weighed(f(a, IJ)) if f(a, IJ).dims else f(a, IJ))(named([[2.0]])).data
    assert one.shape == (1, 1)
    assert np.isfinite(one).all()
    none = ng.grad(lambda a: f(a, IJ).sum())(named(np.zeros((0, 0)))).data
    assert none.shape == (0, 0)
    empty = ng.grad(lambda a: f(a, IJ).sum())(named(np.zeros((0, 2, 2)), "bij")).data
    assert empty.shape == (0, 2, 2)


@pytest.mark.parametrize("name", ["det", "inv", "pinv", "cholesky", "expm", "sqrtm", "logm", "eigvalsh", "qr", "svd", "eigh", "lu", "slogdet", "norm", "cond", "solve", "lstsq", "solve_triangular"])
def test_single_precision_stays_single_to_second_order(name):
    x = definite(3).astype(np.float32)
    b = named(some(3).astype(np.float32), "i")
    call = getattr(ng, name)

    def f(a):
        out = call(a, b, IJ) if name in {"solve", "lstsq", "solve_triangular"} else call(a, IJ)
        parts = [y for y in (out if isinstance(out, tuple) else (out,)) if y.dtype.kind == "f"]
        assert {y.dtype for y in parts} == {np.dtype(np.float32)}
        return sum(squared(y) for y in parts)

    assert ng.grad(f)(named(x)).dtype == np.float32
    assert ng.hvp(f, named(x), named(x)).dtype == np.float32
    assert ng.hessian(f)(named(x)).dtype == np.float32


A3, B3 = regular(3), some(3)
NUMPY = {
    "solve": lambda x: np.linalg.solve(x, B3), "inv": np.linalg.inv, "det": np.linalg.det, "slogdet": lambda x: np.linalg.slogdet(x)[1],
    "slogdet by name": lambda x: np.linalg.slogdet(x).logabsdet, "norm": np.linalg.norm, "norm 2": lambda x: np.linalg.norm(x, 2),
    "norm of rows": lambda x: np.linalg.norm(x, axis=1), "matrix_norm": lambda x: np.linalg.matrix_norm(x, ord="nuc"), "vector_norm": lambda x: np.linalg.vector_norm(x, axis=0, ord=3),
    "cond": np.linalg.cond, "pinv": np.linalg.pinv, "matrix_power": lambda x: np.linalg.matrix_power(x, -2), "svd": lambda x: np.linalg.svd(x)[1],
    "svd by name": lambda x: np.linalg.svd(x, full_matrices=False).S, "svdvals": np.linalg.svdvals, "eigvals": lambda x: np.linalg.eigvals(x).real, "eigvalsh": lambda x: np.linalg.eigvalsh(x + x.T),
    "eigh by name": lambda x: np.linalg.eigh(x + x.T).eigenvalues, "qr": lambda x: np.linalg.qr(x)[1], "qr r": lambda x: np.linalg.qr(x, mode="r"), "cholesky": lambda x: np.linalg.cholesky(x @ x.T + np.eye(3)),
    "upper cholesky": lambda x: np.linalg.cholesky(x @ x.T + np.eye(3), upper=True), "lstsq": lambda x: np.linalg.lstsq(x[:, :2], B3, rcond=None)[0], "multi_dot": lambda x: np.linalg.multi_dot([x, x, B3]),
    "tensorsolve": lambda x: np.linalg.tensorsolve(x, B3), "tensorinv": lambda x: np.linalg.tensorinv(x, ind=1), "matmul": lambda x: np.linalg.matmul(x, x), "outer": lambda x: np.linalg.outer(x[0], x[1]),
    "cross": lambda x: np.linalg.cross(x, x[::-1]), "trace": lambda x: np.linalg.trace(x, offset=1), "diagonal": lambda x: np.linalg.diagonal(x), "matrix_transpose": lambda x: np.linalg.matrix_transpose(x) @ B3,
    "vecdot": lambda x: np.linalg.vecdot(x, B3), "tensordot": lambda x: np.linalg.tensordot(x, x, axes=1), "kron": lambda x: np.kron(x, x[:1]),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMPY)
def test_numpys_names(name):
    f = NUMPY[name]
    out = np.asarray(f(A3))
    w = some(*out.shape, seed=8)

    def loss(x):
        return np.sum(f(x) * w)

    assert_close(ng.grad(loss)(A3), slopes(loss, A3), FIRST)
    stack = np.stack([A3, A3 + 0.1, A3.T])
    g = ng.grad(loss)(ng.positional(stack, vectorized=("b",)))
    assert_close(g.data, np.stack([ng.grad(loss)(m) for m in stack]), MATRIX)
    h = ng.hessian(loss)(ng.positional(stack, vectorized=("b",)))
    assert_close(h.data, np.stack([ng.hessian(loss)(m) for m in stack]), 1e-9)
