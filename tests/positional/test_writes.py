"""Programs that write in place, by ufuncs above all: what NumPy does with plain arrays, and its slopes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import namedgrad as ng
from tests.support import fake_cupy

X = np.random.default_rng(5).uniform(0.5, 1.5, size=(6, 6))
WEIGHTS = np.random.default_rng(6).uniform(0.5, 1.5, size=(6, 6))


def outer(x: Any) -> Any:
    w, v = np.zeros_like(x), np.zeros_like(x)
    np.multiply.outer(x[0], x[1], out=w)
    np.subtract.outer(x[2], x[3], out=v.T)
    return w + v


def pieces(x: Any) -> Any:
    w = np.zeros_like(x)
    np.add.reduceat(x, [0, 2, 4], axis=0, out=w[:3])
    np.multiply.reduceat(x, [0, 2, 4], axis=1, out=w.T[:3].T[::-1])
    return w * x


def at_cells_named_twice(x: Any) -> Any:
    w = x * 1
    np.hypot.at(w, ([0, 0, 1], [1, 1, 2]), x[2, :3])
    np.logaddexp.at(w, [0, 2, 2], x[3])
    np.arctan2.at(w.T, [1], x[:1])
    np.exp.at(w, [3, 3])
    np.sqrt.at(w[::2], ([1, 1, 1], [0, -6, 3]))
    np.copysign.at(w, [0], -1.0)
    np.fmax.at(w[::2], [0, 0], x[:2])
    np.hypot.at(w, [1, 1], w[:2])
    return w


def windows(x: Any) -> Any:
    w = np.concatenate([x, x[:, :2]], axis=1)
    v = sliding_window_view(w, 3, axis=1, writeable=True)
    v[:, 0] = x[:, 3:] ** 2
    v[:, 3] *= x[:, :3]
    v[0, ::3] += 1
    return v.sum(axis=-1)


def rows_swapped(x: Any) -> Any:
    w = x * 1
    w[[0, 3]] = w[[3, 0]]
    w[[0, 1, 2]], w[[3, 4, 5]] = w[[3, 4, 5]], w[[0, 1, 2]]
    w[[1, 2, 3]] = w[[0, 1, 2]]
    w[0], w[1] = w[1], w[0]
    return w


def overlapping(x: Any) -> Any:
    w = x * 1
    w[1:] = w[:-1]
    w[:-1] *= w[1:]
    np.add(w[1:], w[:-1], out=w[1:])
    np.multiply(w[:, ::-1], w, out=w)
    w += w.T
    w[:] = w[::-1]
    return w


def eliminated(x: Any) -> Any:
    a = np.hstack([x + 3 * np.eye(6), np.eye(6)])
    for k in range(6):
        a[k] /= a[k, k]
        for i in range(6):
            if i != k:
                a[i] -= a[i, k] * a[k]
    return a[:, 6:]


def swept(x: Any) -> Any:
    u = x.copy()
    for i in range(1, 5):
        for j in range(1, 5):
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def butterflies(x: Any) -> Any:
    a = x[:, :4] + 0j
    for half in (1, 2):
        v = a.reshape(6, -1, 2 * half)
        even, odd = v[..., :half], v[..., half:]
        turned = np.exp(-1j * np.pi * np.arange(half) / half) * odd
        odd[...] = even - turned
        even += turned
    return np.concatenate([np.abs(a), x[:, :2]], axis=1)


def split_and_moved(x: Any) -> Any:
    w = x * 1
    a, b, c = np.split(w, 3)
    a *= 2
    b[...] = c
    left, right = np.hsplit(w, 2)
    left[...] = right
    v = np.moveaxis(w.reshape(2, 3, 6), 0, -1)
    v[0, 0] = x[0, :2]
    v[..., 1] *= 3
    np.rot90(w)[0] = x[0]
    return w


PROGRAMS: list[Callable[[Any], Any]] = [
    outer, pieces, at_cells_named_twice, windows, rows_swapped, overlapping, eliminated, swept, butterflies, split_and_moved,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_that_write_in_place(f: Callable[[Any], Any]) -> None:
    def total(x: Any) -> Any:
        return np.sum(f(x) * WEIGHTS)

    out, pull = ng.pullback(f, X)
    np.testing.assert_allclose(out, f(X), rtol=1e-14)
    t = np.random.default_rng(7).normal(size=X.shape)
    near, far = (total(X + h * t) - total(X - h * t) for h in (1e-4, 2e-4))
    np.testing.assert_allclose(np.sum(pull(WEIGHTS) * t), (8 * near - far) / 12e-4, rtol=1e-7, atol=1e-7)
    compiled = ng.compile(ng.grad(total))
    rows = np.stack([X, X[::-1] + 0.1])
    slopes = [ng.grad(total)(x) for x in rows]
    np.testing.assert_allclose([compiled(x) for x in rows], slopes, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ng.grad(total)(ng.positional(rows, "b")).data, slopes, rtol=1e-12, atol=1e-12)


TABLE = np.random.default_rng(5).normal(size=(3, 4, 5))
SOME, OTHERS = np.array([2, 0, 2]), np.array([1, 1, 3])
KEYS_OF_SEVERAL_KINDS: list[Any] = [
    SOME, (slice(None), SOME), (..., SOME), (SOME, OTHERS), (SOME, slice(None), OTHERS), (slice(None), SOME, OTHERS),
    (SOME[:, None], OTHERS), (slice(None), SOME[:, None], OTHERS), (SOME[:2, None], slice(1, 3), OTHERS),
    (1, SOME), (SOME, 1), (1, slice(None), SOME), (SOME, slice(3, 0, -2)), (slice(1, None), SOME[None, :]), (None, SOME),
    (SOME, None, slice(1, 2)), (slice(None, None, 2), 1, slice(-2, None)), (None, 2, ..., None), (0, 1, 2), [2, 0],
    TABLE > 0, TABLE[:, :, 0] > 0, (slice(None), TABLE[0, :, 0] > 0), (TABLE[:, 0, 0] > 0, 1), (SOME > 5, slice(None)),
]  # fmt: skip


@pytest.mark.parametrize("how", ["set", "add"])
@pytest.mark.parametrize("key", KEYS_OF_SEVERAL_KINDS, ids=range(len(KEYS_OF_SEVERAL_KINDS)))
def test_keys_of_several_kinds_write_as_in_numpy(key: Any, how: str) -> None:
    """What is written is linear in the array and the value: gradients are the results for unit arrays."""

    def written(x: Any, v: Any) -> Any:
        out = x.copy()
        if how == "set":
            out[key] = v
        else:
            np.add.at(out, key, v)
        return out

    rng = np.random.default_rng(6)
    value, weights = rng.normal(size=TABLE[key].shape[-2:]), rng.normal(size=TABLE.shape)
    of_x, of_v = ng.grad(lambda x, v: np.sum(weights * written(x, v)), wrt=(0, 1))(TABLE, value)
    zeros, nothing = np.zeros_like(TABLE), np.zeros_like(value)
    for found, start, linear in ((of_x, zeros, lambda a: written(a, nothing)), (of_v, nothing, lambda a: written(zeros, a))):
        units = np.eye(start.size).reshape(-1, *start.shape)
        expected = [np.sum(weights * linear(unit)) for unit in units]
        np.testing.assert_allclose(np.ravel(found), expected, atol=1e-12)
    made = getattr(ng.positional(TABLE).at[key], how)(value)
    np.testing.assert_allclose(made.data, written(TABLE, value), rtol=1e-14)


def test_a_view_of_a_view_that_is_added_to() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[1:] += 2.0 * x[:-1]
        y[:, 1:][1] *= 3.0
        y[0, :2] = x[1, 1:]
        return y

    unit_results = [f(unit) for unit in np.eye(6).reshape(6, 2, 3)]
    weights = np.arange(6.0).reshape(2, 3)
    found = ng.grad(lambda x: np.sum(weights * f(x)))(np.zeros((2, 3)))
    np.testing.assert_allclose(found.ravel(), [np.sum(weights * r) for r in unit_results])


@pytest.mark.parametrize(
    "write",
    [
        lambda a: a.flat.__setitem__(slice(None), np.empty((0, 2))),
        lambda a: a.flat.__setitem__([0, 1], np.empty(0)),
        lambda a: np.putmask(a, [True, False, True], np.empty(0)),
        lambda a: np.put(a, [0, 1], np.empty(0)),
    ],
)
def test_where_nothing_is_given_nothing_is_written(write: Any) -> None:
    def f(a: Any) -> Any:
        a = a * 1.0
        write(a)
        return a

    x, direction = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    out, tangent = ng.pushforward(f, (x,), (direction,))
    np.testing.assert_array_equal(out, f(x))
    np.testing.assert_array_equal(tangent, direction)


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), [0, 1, 2], ..., 1),
        (slice(None), 1, ..., [0, 1]),
        (slice(None), [0, 1], ..., [0, 1]),
        (slice(None), [[0], [1]], ..., [0, 1]),
        (slice(None), [0, 1], None, [0, 1]),
        (slice(None), ..., [0, 1], [1, 2]),
        (..., [0, 1], [0, 1]),
        ([0, 1], ..., [0, 1], [1, 2]),
    ],
)
def test_an_ellipsis_of_no_axis_parts_index_arrays(key: Any) -> None:
    """NumPy puts the axes of index arrays in front if there is anything between these."""
    x = np.arange(24.0).reshape(2, 3, 4)
    cells = x[key]
    weights = np.random.default_rng(0).normal(size=cells.shape)
    out, pull = ng.pullback(lambda x: x[key], x)
    np.testing.assert_array_equal(out, cells)
    expected = np.zeros(x.shape)
    np.add.at(expected, key, weights)
    np.testing.assert_allclose(pull(weights), expected, rtol=1e-14)

    def written(x: Any, v: Any) -> Any:
        x = x * 1.0
        x[key] = v
        np.add.at(x, key, v)
        return x

    np.testing.assert_array_equal(ng.pushforward(written, (x, weights), (x, weights))[0], written(x, weights))


def test_the_line_of_one_cell_is_written() -> None:
    def f(x: Any) -> Any:
        x = x.copy()
        x.flat[...] = 6.0 * x
        x.flat[0] += 1.0
        return x

    out, slope = ng.pushforward(f, (np.array(5.0),), (np.array(-0.5),))
    assert (float(f(np.array(5.0))), float(out), float(slope)) == (31.0, 31.0, -3.0)
GRID, MASKS = np.random.default_rng(7).uniform(0.5, 1.5, size=(2, 3, 4)), np.random.default_rng(8).random(size=(2, 3, 4)) < 0.5
MASKED: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "rows":               (lambda m, y: m[:, 0], (4,)),
    "rows, size 1":       (lambda m, y: m[:, 0], (1, 4)),
    "columns":            (lambda m, y: (slice(None), m[0]), (3, 1)),
    "columns, with ...":  (lambda m, y: (..., m[0]), (3, 1)),
    "a part of rows":     (lambda m, y: (m[:, 0], slice(1, 3)), (2,)),
    "cells of a row":     (lambda m, y: (1, m[1]), (1,)),
    "first cells":        (lambda m, y: (m[:, 0], 0), ()),
    "any cells":          (lambda m, y: m, (1,)),
}  # fmt: skip


@pytest.mark.parametrize("how", ["set", "add", "multiply", "max"])
@pytest.mark.parametrize("case", MASKED)
@pytest.mark.parametrize("place", ["slices", "recorded", "stand-in"])
def test_masks_whose_cells_are_not_counted(place: str, case: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One value for all cells that a mask of slices, of a recorded program or of a device chooses, however many they are."""
    key, shape = MASKED[case]
    value = np.random.default_rng(9).uniform(0.5, 1.5, size=shape)

    def f(y: Any, m: Any, v: Any) -> Any:
        y = y * 1.0
        if how == "set":
            y[key(m, y)] = v
        else:
            y = getattr(y.at[key(m, y)], how)(v)
        return np.sum(y * y)

    def plain(y: Any, m: Any, v: Any) -> Any:
        y, k = y.copy(), key(m, y)
        steps = {"set": lambda a, b: b + 0 * a, "add": np.add, "multiply": np.multiply, "max": np.maximum}
        y[k] = steps[how](y[k], v)
        return np.sum(y * y)

    def slopes(y: Any, m: Any, v: Any) -> Any:
        return ng.grad(lambda y, v: f(y, m, v), (0, 1))(y, v)

    if place == "slices":
        found = [g.data for g in slopes(ng.positional(GRID, "b"), ng.positional(MASKS, "b"), value)]
    elif place == "recorded":
        again = ng.compile(slopes)
        found = [np.stack(g) for g in zip(*(again(y, m, value) for y, m in zip(GRID, MASKS, strict=True)), strict=True)]
    else:
        to = fake_cupy.installed(monkeypatch).asarray
        given = ((ng.positional(to(y)), ng.positional(to(m))) for y, m in zip(GRID, MASKS, strict=True))
        each = [slopes(y, m, ng.positional(to(value))) for y, m in given]
        found = [np.stack([fake_cupy.asnumpy(g.data) for g in gs]) for gs in zip(*each, strict=True)]
    for i, (y, m) in enumerate(zip(GRID, MASKS, strict=True)):
        for g, start, at in ((found[0][i], y, lambda a, m=m: plain(a, m, value)), (found[1][i], value, lambda a, y=y, m=m: plain(y, m, a))):
            units = np.eye(start.size).reshape(-1, *start.shape)
            expected = [(at(start + 1e-6 * u) - at(start - 1e-6 * u)) / 2e-6 for u in units]
            np.testing.assert_allclose(np.ravel(g), expected, rtol=1e-6, atol=1e-8)


THROUGH_VIEWS: dict[str, Callable[[Any], Any]] = {
    "one row":       lambda y: [y[1]],
    "every row":     lambda y: list(y),
    "the transpose": lambda y: [y.T],
    "a part":        lambda y: [y[:, 1:3]],
    "all cells":     lambda y: [np.reshape(y, -1)],
}  # fmt: skip


@pytest.mark.parametrize("views", THROUGH_VIEWS)
def test_masks_of_views_that_are_not_counted(views: str) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        for v in THROUGH_VIEWS[views](y):
            v[v > 1] = 0.0
        return np.sum(y * y)

    def expected(x: Any) -> Any:
        kept = np.ones_like(x)
        for v, one in zip(THROUGH_VIEWS[views](x), THROUGH_VIEWS[views](kept), strict=True):
            one[v > 1] = 0.0
        return 2 * x * kept

    np.testing.assert_array_equal(ng.grad(f)(ng.positional(GRID, "b")).data, [expected(x) for x in GRID])
    again = ng.compile(ng.grad(f))
    for x in GRID:
        np.testing.assert_array_equal(again(x), expected(x))


def test_imaginary_parts_are_lost_to_real_arrays_with_a_warning() -> None:
    value, start = np.array([1 + 2j, 3 + 4j]), np.zeros(3)

    def written(x: Any) -> Any:
        x[:2] = value
        return x

    for f in (lambda: written(start.copy()), lambda: written(ng.positional(start)), lambda: ng.positional(start).at[:2].add(value)):
        with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
            found = f()
        np.testing.assert_array_equal(found.data if isinstance(found, ng.PositionalArray) else found, [1.0, 3.0, 0.0])
    with pytest.raises(TypeError, match="into a real array"):
        ng.positional(start).at[0].set(1j)


@pytest.mark.parametrize(
    ("key", "cells"),
    [
        (lambda m: (0, 1, ..., m), 4),
        (lambda m: (0, slice(1, None), m), 4),
        (lambda m: (slice(1, None), m, ..., 0), 3),
        (lambda m: (slice(None), m, slice(None, None, -1)), 3),
        (lambda m: (slice(None), 0, ..., m), 4),
    ],
)
def test_rows_for_masks_apart_from_other_numbers(key: Any, cells: int) -> None:
    """NumPy puts the axis of the cells in front if there is anything between a mask and a number."""
    x = np.arange(48.0).reshape(2, 2, 3, 4)
    m = np.array([[True, False, True, True], [False, True, False, False]])[:, :cells]

    def f(x: Any, m: Any, v: Any) -> Any:
        x = x * 1.0
        x[key(m)] = v
        return x

    v = np.random.default_rng(0).normal(size=x[0][key(m[1])].shape)  # of one cell, as the second mask has one
    slices = np.stack([f(row, mask, v) for row, mask in zip(x, m, strict=True)])
    found = f(ng.positional(x, vectorized="b"), ng.positional(m, vectorized="b"), v)
    np.testing.assert_array_equal(found.data, slices)
    program = ng.compile(f)
    for row, mask in zip(x, m, strict=True):
        np.testing.assert_array_equal(program(row, mask, v), f(row, mask, v))
