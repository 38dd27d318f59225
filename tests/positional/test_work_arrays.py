"""Plain arrays that a program fills, reads and fills again; forms of NumPy that depend on what is a number."""

import numpy as np
import pytest

import namedgrad as ng

X = np.array([0.3, 0.8, 1.7])
MATRIX = np.arange(12.0).reshape(4, 3)


def in_a_loop(x):
    t, s = np.zeros(3), 0.0
    for _ in range(3):
        s = s + np.sum(x * t)
        t += 1
    return s


def in_a_product(x):
    m = np.eye(3)
    y = m @ x
    m *= 2.0
    return np.sum(y * (m @ y))


def as_an_index(x):
    i = np.array([0, 1, 2])
    y = x[i] ** 2
    i[:] = 0
    return np.sum(y * x[i])


def as_a_mask(x):
    mask = np.array([True, False, True])
    y = np.where(mask, x**2, 0.0)
    mask[:] = ~mask
    return np.sum(y) + np.sum(np.where(mask, x**3, 0.0))


def in_functions(x):
    w, b = np.array([1.0, 2.0, 3.0]), np.eye(3) * 2.0
    y = np.dot(w, x) + np.einsum("i,i->", w, x * x) + np.sum(np.convolve(x, w)) + np.sum(np.linalg.solve(b, x))
    y = y * np.average(x, weights=w)
    w[:], b[:] = 0.0, np.eye(3)
    return y + np.sum(w * x)


def random_numbers_in_one_array(x):
    rng, z, s = np.random.default_rng(0), np.empty(3), 0.0
    for _ in range(3):
        rng.standard_normal(out=z)
        s = s + np.sum(np.sin(x * z))
    return s


def a_larger_one(x):
    t = np.ones(20_000)
    y = np.sum(x[0] * t)
    u = t + 1.0
    return y + np.sum(x[1] * u)


def squeezed_numbers(x):
    for number in (np.squeeze(x @ x), (x @ x).T, np.reshape(x @ x, ()), np.transpose(x @ x)):
        shown = kept = number
        shown += x[0]
        x = x * (shown + kept * 10.0)
    return np.sum(x)


def arrays_without_axes(x):
    out = 0.0
    for array in (np.tensordot(x, x, 1), np.select([x[0] > 0], [x[1]]), np.cov(x), np.i0(x[0])):
        made = kept = array
        made += x[0]
        out = out + made * 10.0 + kept
    return out


def parts_of_complex_numbers(x):
    z = np.fft.fft(x)
    e = np.vdot(z, z).real
    e += 1.0
    f = np.real(z.sum())
    f *= 2.0
    return e + f + (z[1] * 1j).imag


def views_of_views(x):
    y = x * 1.0
    line = np.ravel(y.view())
    line[0] = y[1] * 2.0
    return np.sum(y * y.view().reshape(-1))


def into_a_larger_array(x):
    y = x * 1.0
    np.multiply(2.0, x[0], out=y)
    np.add(x[:1], x[1], out=y[1:])
    return np.sum(y * X)


def memory_orders(x):
    m = np.reshape(x[0] * MATRIX.ravel(), (4, 3)) + x[1]
    parts = [m.T.ravel("K"), m.T.ravel("A"), m.T.flatten("K"), np.reshape(m.T, (2, 6), order="A").ravel(), m.ravel("K")]
    return sum(np.sum(p * np.arange(12.0) * (k + 1)) for k, p in enumerate(parts))


def pieces(x):
    three = np.piecewise(x, [x < 0.5, x > 1.0], [lambda v: v**2, 3.0, lambda v: -v])
    cell = np.piecewise(x[1], [x[1] < 0.5, x[1] >= 0.5], [lambda v: -v, lambda v: v**3])
    return np.sum(three) + cell + np.piecewise(x[0], [x[0] < 0], [1.0, lambda v: v**2])


PROGRAMS = [
    in_a_loop, in_a_product, as_an_index, as_a_mask, in_functions, random_numbers_in_one_array, a_larger_one,
    squeezed_numbers, arrays_without_axes, parts_of_complex_numbers, views_of_views, into_a_larger_array, memory_orders,
    pieces,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(f):
    want = [(f(X + s) - f(X - s)) / 2e-5 for s in 1e-5 * np.eye(3)]
    value, gradient = ng.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
    np.testing.assert_allclose(gradient, want, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ng.pullback(f, X)[1](1.0), want, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ng.pushforward(f, (X,), (np.ones(3),))[1], np.sum(want), rtol=1e-6)


@pytest.mark.parametrize("f", [in_a_loop, in_a_product, as_a_mask, in_functions, pieces], ids=lambda f: f.__name__)
def test_programs_that_are_recorded(f):
    compiled = ng.compile(ng.value_and_grad(f))
    for x in (X, X * 2.0):
        value, gradient = compiled(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-14)
        np.testing.assert_allclose(gradient, ng.grad(f)(x), rtol=1e-12)


def test_a_large_array_that_is_written_between_two_uses():
    def f(x):
        t = np.ones(20_000)
        s = np.sum(x[0] * t)
        t *= 3.0
        return s + np.sum(x[1] * t)

    _, pull = ng.pullback(f, X)
    np.testing.assert_allclose(pull(1.0), [20_000, 60_000, 0])


def test_integers_that_differ_per_slice():
    p = ng.positional(np.array([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]]), vectorized="row")
    for back in (np.zeros(2, dtype=int, like=p), np.zeros_like(p[:2], dtype=int), np.empty_like(p[:2], dtype=int)):
        back[0] = np.argmax(p, axis=0)
        np.testing.assert_array_equal(back[0].data, [1, 0])


PLACES = np.array([[4, 0], [1, 4], [-1, 7]])
WAYS = {
    "put": lambda z, i, v: np.put(z, i, v),
    "clip": lambda z, i, v: np.put(z, 2 * i, v, mode="clip"),
    "wrap": lambda z, i, v: z.put(3 * i, v, mode="wrap"),
    "along": lambda z, i, v: np.put_along_axis(z, i % 6, v, 1),
    "flat": lambda z, i, v: np.put_along_axis(z, i, v, None),
}


@pytest.mark.parametrize("write", WAYS.values(), ids=WAYS)
def test_places_that_differ_per_slice(write):
    """Beside a work array with slices of its own, the places of all slices were written in each."""
    z, v = np.arange(12.0).reshape(2, 6), np.array([-1.0, -2.0])
    rows = np.stack([PLACES, PLACES], 1) if write is WAYS["along"] else PLACES
    i = ng.positional(rows, "b")
    into = ng.positional(np.stack([z, z + 0.5]), "a") + 0.0 * np.sum(i)
    write(into, i, v)
    out = into.devectorize("a", "b").data
    for a, b in np.ndindex(2, 3):
        alone = z + 0.5 * a
        write(alone, rows[b], v)
        np.testing.assert_array_equal(out[a, b], alone)


@pytest.mark.parametrize("write", WAYS.values(), ids=WAYS)
def test_places_that_compile_is_given(write):
    i, v = np.stack([PLACES[0], PLACES[1]]) if write is WAYS["along"] else PLACES[0], np.array([-1.0, -2.0])

    def squares(v, i):
        z = np.zeros((2, 6), like=v)
        write(z, i, v)
        return np.sum(z**2)

    slopes = [(squares(v + e, i) - squares(v - e, i)) / 2 for e in np.eye(2)]  # exact for a parabola
    np.testing.assert_array_equal(ng.compile(ng.grad(squares))(v, i), slopes)


def test_a_complex_number_does_not_fit_into_a_real_array():
    def f(x):
        y = x.copy()
        y[0] = 1j * x[1]
        return y

    for g in (f, ng.value_and_grad(lambda x: np.sum(f(x)))):
        with pytest.raises(TypeError):
            g(X)


def shown_as_a_plain_array(x):
    t = np.zeros_like(x)
    a = np.asarray(t)
    t[0] = 3.0
    return np.sum(a * x)


def shown_in_parts(x):
    t = np.full_like(x, 0.7)
    backwards, rest = t[::-1], np.ascontiguousarray(t[1:])
    whole = np.asarray(backwards)
    backwards[0], rest[0], whole[2] = 2.0, 3.0, 4.0
    t *= 1.5
    return np.sum(t * x) + np.sum(rest * x[1:] ** 2) + np.sum(whole * x**3)


def written_as_a_plain_array(x):
    t = np.zeros_like(x)
    kept = t.copy()
    a = np.asarray(t)
    a += 3.0
    return np.sum(kept * x) + np.sum(t * x**2)


def a_plain_array_and_a_diagonal(x):
    t = np.zeros_like(x, shape=(3, 3))
    diagonal, a = np.diagonal(t), np.asarray(t)
    a[1, 1], t[2, 2] = 5.0, 6.0
    return np.sum(diagonal * x)


def a_plain_array_between_products(x):
    t = np.ones_like(x)
    a, rest = np.asarray(t), t[1:]
    y = np.sum(t * x) + np.sum(rest * x[:-1])
    t[0] = 5.0
    y = y + np.sum(t * x**2)
    a[1] = 7.0
    same = np.real(t)
    same[2] = 8.0
    return y + np.sum(t * x**3) + np.sum(rest * x[1:])


def a_plain_array_that_is_gone(x):
    t = np.zeros_like(x)
    largest = np.asarray(t).max()
    t[:] = x**2
    return np.sum(t) + largest


PLAIN = [
    shown_as_a_plain_array, shown_in_parts, written_as_a_plain_array, a_plain_array_and_a_diagonal,
    a_plain_array_between_products, a_plain_array_that_is_gone,
]  # fmt: skip


@pytest.mark.parametrize("f", PLAIN, ids=lambda f: f.__name__)
def test_plain_arrays_of_work_arrays_share_their_cells(f):
    value, gradient = ng.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
    steps = 1e-6 * np.eye(3)
    np.testing.assert_allclose(gradient, [(f(X + h) - f(X - h)) / 2e-6 for h in steps], rtol=1e-7)


def test_a_plain_array_cannot_show_what_is_differentiated():
    def f(x):
        t = np.zeros_like(x)
        part = np.asarray(t)[1:]
        t[0] = x[0]
        return np.sum(part * x[1:])

    with pytest.raises(TypeError, match=r"np\.asarray\(\).*\.copy\(\)"):
        ng.grad(f)(X)


def written_after_it_is_shown(x):
    t = np.ones_like(x)
    a = np.asarray(t)
    t[0] = 3.0
    return np.sum(t * x) + np.sum(a)


@pytest.mark.parametrize("f", [written_as_a_plain_array, written_after_it_is_shown], ids=lambda f: f.__name__)
def test_a_plain_array_is_not_written_while_compile_records(f):
    with pytest.raises((TypeError, ValueError), match=r"read-only|np\.asarray"):
        ng.compile(ng.grad(f))(X)


def test_constants_outside_of_transforms():
    np.testing.assert_array_equal(ng.stop_gradient(X), X)
    assert isinstance(ng.stop_gradient(X), np.ndarray)
