"""Writes and views: programs that alias their arrays in random ways do what NumPy does, or raise; never neither."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from namedgrad.positional.memory import lying
from namedgrad.trace import innermost

X = np.random.default_rng(3).uniform(0.5, 1.5, size=(3, 4))
Step = tuple[Any, ...]


# ------------------------------------------------------------------------------------------------ random programs


def random_key(rng: np.random.Generator, ndim: int) -> tuple[Any, ...]:
    choices = [slice(None), slice(1, None), slice(None, None, -1), slice(0, -1), 0, -1, None, ...]
    key = [choices[rng.integers(len(choices))] for _ in range(rng.integers(1, ndim + 2))]
    if sum(k is not None and k is not Ellipsis for k in key) > ndim or sum(k is Ellipsis for k in key) > 1:
        return (slice(None, None, 2),)
    return tuple(key)


def random_step(rng: np.random.Generator, count: int, shapes: list[tuple[int, ...]]) -> Step:
    target, other = rng.integers(count), rng.integers(count)
    ndim = len(shapes[target])
    kind = rng.choice(["view", "view", "function", "compute", "write", "write", "in place", "copy", "add at"])
    return kind, int(target), int(other), random_key(rng, ndim), int(rng.integers(6)), float(rng.normal())


def perform(step: Step, live: list[Any]) -> Any:
    """Do one step on NumPy or positional arrays; the array that it makes, if any."""
    kind, target, other, key, which, number = step
    a, b = live[target], live[other]
    if kind == "view":
        return a[key]
    if kind == "function":
        return [
            lambda: a.T, lambda: a.reshape(-1), lambda: np.flip(a), lambda: np.expand_dims(a, 0), lambda: a.squeeze(),
            lambda: np.moveaxis(a, 0, -1),
        ][which]()  # fmt: skip
    if kind == "compute":
        return np.sin(a) * number
    if kind == "copy":
        return a.copy()
    if kind == "write":
        a[key] = b if np.shape(b) == np.shape(a[key]) and which % 2 else number
    elif kind == "in place":
        if which % 2:
            a *= number
        else:
            np.add(a, number, out=a)
    elif kind == "add at":
        np.add.at(a, (np.array([0, 0, -1]),), number)
    return None


def programs(seed: int) -> tuple[list[Step], list[np.ndarray]]:
    """A program that NumPy can run, and the arrays that it has at its end."""
    rng = np.random.default_rng(seed)
    live: list[np.ndarray] = [X.copy()]
    steps = []
    while len(steps) < 14:
        step = random_step(rng, len(live), [a.shape for a in live])
        try:
            made = perform(step, live)
        except (ValueError, IndexError, np.exceptions.AxisError):
            continue
        if isinstance(made, np.ndarray) and made.size and made.ndim:
            live.append(made)
        elif made is not None:
            continue
        steps.append(step)
    return steps, live


def values(a: Any) -> np.ndarray:
    return innermost(a._x).data if isinstance(a, ng.PositionalArray) else np.asarray(a)


@pytest.mark.parametrize("seed", range(300))
def test_random_program(seed: int) -> None:
    steps, _ = programs(seed)

    def run(x: Any, *, check: bool) -> Any:
        live, mirror = [x], [X.copy()]
        for step in steps:
            made, expected = perform(step, live), perform(step, mirror)
            if expected is not None:
                live.append(made)
                mirror.append(expected)
            if check:
                for a, e in zip(live, mirror, strict=True):
                    np.testing.assert_allclose(values(a), e, rtol=1e-12, atol=1e-14)
        return sum(np.sum(np.cos(a)) * (i + 1) for i, a in enumerate(live))

    try:
        slope = ng.grad(lambda x: run(x, check=True))(X.copy())
    except TypeError as error:
        assert "layout" in str(error) or "lies in memory" in str(error)
        return
    t = np.random.default_rng(0).normal(size=X.shape)

    def at(h: float) -> float:
        return float(run(np.array(X + h * t), check=False))

    expected = (8 * (at(1e-4) - at(-1e-4)) - (at(2e-4) - at(-2e-4))) / 12e-4
    np.testing.assert_allclose(np.sum(slope * t), expected, rtol=1e-6, atol=1e-6)


def test_most_random_programs_are_not_refused() -> None:
    refused = 0
    for seed in range(300):
        steps, _ = programs(seed)
        live: list[Any] = [ng.positional(X)]
        try:
            for step in steps:
                made = perform(step, live)
                if made is not None:
                    live.append(made)
            [values(a) for a in live]
        except TypeError:
            refused += 1
    assert refused < 30


# ------------------------------------------------------------------------------------------------ order in memory

MADE: dict[str, Callable[[Any], Any]] = {
    "as they are": lambda x: x * 1.0,
    "computed in turned order": lambda x: (x.T * 2.0).T,
    "sum of turned": lambda x: (x.T + x.T).T,
    "zeros of turned": lambda x: np.zeros_like(x.T).T,
    "zeros in Fortran's order": lambda x: np.zeros_like(x, order="F") + 0 * x,
    "a copy in Fortran's order": lambda x: x.copy(order="F"),
    "a turned copy": lambda x: x.T.copy().T,
    "a copy of turned": lambda x: x.T.copy()[:3, :3],
    "columns chosen": lambda x: x[:, [0, 1, 2, 3]],
    "rows chosen": lambda x: x[[2, 0, 1]],
    "sorted in turned order": lambda x: np.sort(x.T, axis=0).T,
    "masked in turned order": lambda x: np.where(x.T > 1, x.T, 0.0).T,
    "joined in turned order": lambda x: np.concatenate([x[:1].T, x[1:].T], axis=1).T,
    "a product": lambda x: np.einsum("ij,jk->ki", x, np.eye(4)).T,
}
WRITTEN: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda a: None,
    "a row": lambda a: a.__setitem__(0, 1.0),
    "one value": lambda a: a.__setitem__(..., 1.0),
    "all": lambda a: a.__setitem__(..., np.arange(float(a.size)).reshape(a.shape)),
    "a cell": lambda a: a.__setitem__((1, 2), 3.0),
    "through a view": lambda a: a.T.__setitem__(0, 5.0),
    "a factor": lambda a: a.__imul__(2.0),
}
SHOWN: dict[str, Callable[[Any], Any]] = {
    "ravel": lambda a: a.ravel(),
    "ravel F": lambda a: a.ravel("F"),
    "ravel K": lambda a: a.ravel("K"),
    "turned": lambda a: a.T.reshape(-1),
    "halves": lambda a: a[1:].reshape(2, -1),
    "one axis more": lambda a: a.reshape(*a.shape, 1),
    "flatten": lambda a: a.flatten(),
    "flatten F": lambda a: a.flatten("F"),
    "ravel of a copy": lambda a: a.copy().ravel(),
}


def _agrees(f: Callable[[Any], Any], vectorized: bool, x: np.ndarray = X) -> None:
    """The value is that of plain arrays, in the first slice."""
    got = ng.value_and_grad(f)(ng.positional(np.stack([x, x + 1]), "b") if vectorized else x.copy(order="K"))[0]
    found = got.devectorize().data if vectorized and got.vectorized else got
    np.testing.assert_allclose(np.ravel(found)[0], f(x.copy(order="K")), rtol=1e-7)


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("made", MADE)
def test_whether_a_reshape_is_a_view_is_numpys_answer(made: str, vectorized: bool) -> None:
    """Also after writes, for arrays that do not lie in C order, and where axes are hidden."""
    for write in WRITTEN.values():
        for show in SHOWN.values():

            def f(x: Any, write: Any = write, show: Any = show) -> Any:
                a = MADE[made](x)
                write(a)
                b = show(a)
                b[...] = 2.0 * b + 1.0
                return np.sum(a * np.arange(1.0, 1 + a.size).reshape(a.shape)) + np.sum(b)

            _agrees(f, vectorized)


COMPUTED: dict[str, Callable[[Any], Any]] = {
    "a product": lambda a: a * 2.0,
    "a sum": lambda a: a + np.ones(a.shape),
    "a sine": np.sin,
    "a choice": lambda a: np.where(a > 1, a, 0.5),
    "sorted": lambda a: np.sort(a, axis=1),
    "of another dtype": lambda a: a.astype(np.float32),
    "zeros": lambda a: np.zeros_like(a) + 0 * a.sum(),
}


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("made", MADE)
def test_so_it_is_with_what_is_computed_from_such_arrays(made: str, vectorized: bool) -> None:
    for write in WRITTEN.values():
        for compute in COMPUTED.values():

            def f(x: Any, write: Any = write, compute: Any = compute) -> Any:
                a = MADE[made](x)
                write(a)
                b = compute(a)
                b.ravel()[...] = 5.0
                b.T.reshape(-1)[0] = 7.0
                return np.sum(b * np.arange(1.0, 1 + b.size).reshape(b.shape)) + 0 * np.sum(x)

            _agrees(f, vectorized)


WHERE: dict[str, Any] = {
    "in C order": X,
    "in Fortran's order": np.asfortranarray(X),
    "with gaps": np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "three axes in another order": np.stack([X, X + 1]).transpose(1, 2, 0),
    "one column shown often": np.broadcast_to(X[:, :1], X.shape),
}
OF: dict[str, Callable[[Any], Any]] = {
    "columns": lambda a: a[:, [0, 2]] * 2,
    "rows and columns": lambda a: a[[[0], [1]], [[1, 0]]] * 2,
    "chosen by a mask": lambda a: a[:, np.arange(a.shape[1]) > 0] + 0,
    "a column times F": lambda a: a[:, :1] * np.ones(a.shape[::-1]).T,
    "masked": lambda a: np.where(a.T > 1, a.T, 0.0),
    "differences": lambda a: np.diff(a.T, axis=0),
    "an outer product": lambda a: np.multiply.outer(a.T, np.arange(2.0)),
    "lengths": lambda a: np.linalg.norm(a.T, axis=0, keepdims=True),
    "joined": lambda a: np.stack([a.T, a.T], axis=-1),
    "quantiles": lambda a: np.quantile(a, [0.2, 0.5], axis=0),
    "spectra": lambda a: np.abs(np.fft.fft(a.T, axis=0)),
    "slopes": lambda a: np.gradient(a.T)[1],
    "columns of views": lambda a: np.moveaxis(a, 0, -1)[1:, ::-1] * 2,
    "a product": lambda a: np.einsum("i...,ij->j...", a, np.ones((3, 2))),
    "pieces": lambda a: np.add.reduceat(a.T, [0, 1], axis=0),
    "repeated": lambda a: np.repeat(a.T, 2, axis=1),
}


@pytest.mark.parametrize("of", OF)
@pytest.mark.parametrize("where", WHERE)
def test_results_lie_in_memory_as_numpys(where: str, of: str) -> None:
    strides = []

    def f(x: Any) -> Any:
        made = OF[of](x)
        strides.append(made.strides if isinstance(made, np.ndarray) else lying(made).strides)  # type: ignore[union-attr]
        made.ravel()[...] = 5.0
        made.T.reshape(-1)[::2] = 7.0
        return np.sum(made * np.arange(1.0, 1 + made.size).reshape(made.shape))

    _agrees(f, vectorized=False, x=WHERE[where])
    assert strides[0] == strides[1]


def test_a_compiled_program_is_of_arrays_that_lie_as_those_it_was_recorded_with() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y.ravel()[...] = 5.0
        return np.sum(y * np.arange(12.0).reshape(3, 4))

    compiled = ng.compile(f)
    for x in (X, np.asfortranarray(X), X[:, ::-1], X):
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-14)


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("made", [lambda x: x.copy(order="F"), lambda x: x.T.copy().T, lambda x: (x.T * 2.0).T])
def test_plain_arrays_lie_in_memory_as_numpys_do(made: Any, written: bool) -> None:
    def cells(x: Any) -> Any:
        a = made(x)
        if written:
            a[0] = 1.0
        np.asarray(a).ravel()[...] = 5.0
        np.asarray(a).T.ravel()[0] = 7.0
        return a

    np.testing.assert_array_equal(np.asarray(cells(ng.positional(X))), cells(X.copy()))


# ------------------------------------------------------------------------------------------------ single cases


def traced(f: Callable[..., Any], x: np.ndarray = X) -> np.ndarray:
    return ng.grad(lambda x: np.sum(f(x)))(x)


def test_the_users_array_is_never_written() -> None:
    mine = X.copy()

    def f(x: Any) -> Any:
        x[0] = 7.0
        x *= 2.0
        return x

    traced(f, mine)
    assert np.array_equal(mine, X)
    p = ng.positional(mine)
    p[...] = 0.0
    assert np.array_equal(mine, X)
    assert not p.data.any()


def test_a_write_is_seen_through_views_taken_before() -> None:
    p = ng.positional(X)
    row, column, turned = p[1], p[:, 2], p.T
    p[1, 2] = 50.0
    assert row.data[2] == column.data[1] == turned.data[2, 1] == 50.0
    column[0] = -1.0
    assert p.data[0, 2] == turned.data[2, 0] == -1.0
    row += 1.0
    assert column.data[1] == 51.0


def test_a_dead_view_is_forgotten() -> None:
    p = ng.positional(X)
    for _ in range(50):
        p[0]
    assert len(p._views) <= 2


def test_a_long_chain_of_views_is_read_without_recursion() -> None:
    p = ng.positional(np.zeros(5000))
    view = p
    while len(view) > 1:
        view = view[1:]
    p[-1] = 3.0
    assert view.data[0] == 3.0


def test_a_vectorized_value_makes_its_target_vectorized() -> None:
    out = np.zeros(3, like=ng.positional(0.0))
    row = out[1:]
    out[2] = ng.positional(np.arange(4.0), "b")
    assert row.vectorized == ("b",)
    np.testing.assert_array_equal(row.data, np.stack([np.zeros(4), np.arange(4.0)], axis=1))


def test_a_vectorized_index_writes_per_slice() -> None:
    where = ng.positional(np.array([0, 2, 2, 1]), "b")
    out = np.zeros(3, like=where)
    out[where] = 5.0
    np.testing.assert_array_equal(out.data, 5.0 * np.eye(3)[[0, 2, 2, 1]])
    got = ng.grad(lambda x: np.sum(x[where] ** 2))(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(got.data, np.array([[2.0, 0, 0], [0, 0, 6], [0, 0, 6], [0, 4, 0]]))


def test_a_vectorized_mask_writes_per_slice() -> None:
    data = np.random.default_rng(0).normal(size=(4, 3))

    def f(x: Any) -> Any:
        y = x * 2.0
        y[y > 0] = 1.0
        return y * x

    got = ng.grad(lambda x: np.sum(f(x)))(ng.positional(data, "b"))
    np.testing.assert_allclose(got.data, [ng.grad(lambda x: np.sum(f(x)))(row) for row in data])


_KEYS_WITH_A_MASK = {
    "after a number": lambda x: (1, x[1, :, 0] > 0),
    "after a slice": lambda x: (slice(None, None, 2), x[0] > 0),
    "before a number": lambda x: (x[:, 0, 0] > 0, 0),
    "of two axes, before a slice": lambda x: (x[:, :, 0] > 0, slice(1, 3)),
    "between": lambda x: (slice(0, 2), x[0, :, 0] > 0, -1),
    "alone": lambda x: (x[:, 0, 0] > 0,),
}


@pytest.mark.parametrize("name", _KEYS_WITH_A_MASK)
def test_a_vectorized_mask_among_other_keys(name: str) -> None:
    data = np.random.default_rng(0).normal(size=(2, 3, 4, 5))

    def f(x: Any) -> Any:
        y = x.copy()
        y[_KEYS_WITH_A_MASK[name](x)] = x.max()
        return y

    x = ng.positional(data, "b")
    np.testing.assert_array_equal(f(x).data, np.stack([f(row) for row in data]))
    w = np.cos(np.arange(60.0)).reshape(3, 4, 5)
    got = ng.grad(lambda x: np.sum(w * f(x)))(x)
    np.testing.assert_allclose(got.data, [ng.grad(lambda x: np.sum(w * f(x)))(row) for row in data], atol=1e-14)


def test_a_vectorized_mask_of_another_size_is_no_mask() -> None:
    x = ng.positional(np.ones((2, 3, 4)), "b")
    with pytest.raises(IndexError, match="1 truth values along an axis of 4 cells"):
        x.copy()[0, x[0, :1] > 0] = 0.0


def _squared_where_positive(x: Any) -> Any:
    out = np.zeros_like(x)
    out[x > 0] = x[x > 0] ** 2
    view = out[...]
    view[x < -1] = 7.0
    np.add.at(out, x > 0, 3.0 * x[x > 0])
    return out


@pytest.mark.parametrize("value", [2.0, -0.5, -2.0])
def test_programs_with_masks_take_a_single_number(value: float) -> None:
    x = np.array(value)
    got, slope = ng.value_and_grad(_squared_where_positive)(x)
    assert got == _squared_where_positive(x)
    assert slope == (2 * value + 3.0 if value > 0 else 0.0)
    rows = ng.grad(lambda x: np.sum(_squared_where_positive(x)))(np.array([value, 1.0]))
    assert rows[0] == slope


def test_a_vectorized_truth_value() -> None:
    x = ng.positional(np.array([2.0, -1.0, 0.5, -3.0]), "b")
    np.testing.assert_allclose(_squared_where_positive(x).data, [10.0, 0.0, 1.75, 7.0])
    np.testing.assert_allclose(ng.grad(_squared_where_positive)(x).data, [7.0, 0.0, 4.0, 0.0])


def test_read_only_views_say_so() -> None:
    def f(x: Any) -> Any:
        np.broadcast_to(x, (2, 3, 4))[0] = 1.0

    with pytest.raises(TypeError, match="read-only"):
        traced(f)


def test_a_reshape_of_unknown_kind_raises_instead_of_going_stale() -> None:
    def unknown(x: Any) -> Any:
        return np.apply_along_axis(lambda v: 2.0 * v, 0, x)

    def written(x: Any) -> Any:
        y = unknown(x).reshape(-1)
        y[0] = 1.0
        return y

    def stale(x: Any) -> Any:
        x = unknown(x)
        y = x.reshape(-1)
        x[0] = 1.0
        return y

    for f in (written, stale):
        with pytest.raises(TypeError, match="lies in memory"):
            traced(f)


def test_in_place_refuses_what_numpy_refuses() -> None:
    def wider(x: Any) -> Any:
        row = x[0]
        row += x
        return row

    with pytest.raises(ValueError, match="does not fit"):
        traced(wider)
    with pytest.raises(ValueError, match="could not broadcast"):
        traced(lambda x: x.__setitem__(0, np.ones(3)))
    whole = np.zeros(3, int, like=ng.positional(np.arange(3)))
    assert isinstance(whole, np.ndarray)


def test_at_returns_a_new_array() -> None:
    p = ng.positional(X)
    assert p.at[0].set(1.0).data[0].tolist() == [1.0] * 4
    assert p.at[:, [1, 1]].add(1.0).data[0, 1] == X[0, 1] + 2
    assert p.at[0, 0].multiply(3.0).data[0, 0] == 3 * X[0, 0]
    assert p.at[0].max(1.2).data[0].tolist() == np.maximum(X[0], 1.2).tolist()
    assert p.at[0].min(1.2).data[0].tolist() == np.minimum(X[0], 1.2).tolist()
    assert np.array_equal(p.data, X)
    slope = ng.grad(lambda x: np.sum(x.at[0].set(x[1] ** 2)))(X)
    np.testing.assert_allclose(slope, [[0.0] * 4, 1 + 2 * X[1], [1.0] * 4])


@pytest.mark.parametrize(
    "attempt",
    [
        lambda x: np.zeros(3).__setitem__(0, x[0, 0]),
        lambda x: np.zeros((3, 4)).__setitem__(0, x[0]),
        lambda x: np.zeros(4).__iadd__(x[0]),
        lambda x: np.copyto(np.zeros(4), x[0]),
        lambda x: np.add(x, 1.0, out=np.zeros((3, 4))),
        lambda x: np.sum(x, axis=0, out=np.zeros(4)),
        lambda x: np.add.at(np.zeros(4), [0], x[0, :1]),
        lambda x: np.put(np.zeros(4), [0], x[0, :1]),
    ],
)
def test_a_plain_array_cannot_hold_a_traced_value(attempt: Any) -> None:
    with pytest.raises(ng.TraceError, match=r"np\.zeros\(\w+, like=x\)"):
        traced(lambda x: (attempt(x), x)[1])


def test_a_plain_array_cannot_be_indexed_per_slice() -> None:
    index = ng.positional(np.array([0, 1]), "b")
    for attempt in (lambda: np.arange(3.0)[index], lambda: np.take(np.arange(3.0), index), lambda: [1, 2][index]):
        with pytest.raises(ng.TraceError, match=r"np\.take\(ng\.positional\(a"):
            attempt()
    np.testing.assert_array_equal(np.take(ng.positional(np.arange(3.0)), index).data, [0.0, 1.0])


IRREGULAR: dict[str, Callable[[Any], Any]] = {
    "turned": lambda a: a.transpose(1, 0, 2),
    "backwards": lambda a: a.transpose(2, 0, 1)[::-1],
    "with gaps": lambda a: a[:, ::2].transpose(0, 2, 1),
    "repeated outside": lambda a: np.broadcast_to(a, (2, 2, 3, 4)),
    "repeated inside": lambda a: np.broadcast_to(a[..., :1], (2, 3, 4)),
    "repeated and turned": lambda a: np.broadcast_to(a[:, :1].transpose(2, 0, 1), (4, 2, 3)),
    "of one cell": lambda a: a[0].T[:, None],
}


@pytest.mark.parametrize("lies", IRREGULAR)
@pytest.mark.parametrize("how", ["ravel", "flatten"])
def test_cells_in_the_order_in_which_numpy_keeps_them(lies: str, how: str) -> None:
    a = np.arange(24.0).reshape(2, 3, 4)

    def line(a: Any) -> Any:
        return getattr(IRREGULAR[lies](a), how)("K")

    expected = line(a)
    np.testing.assert_array_equal(ng.pushforward(line, (np.zeros_like(a),), (a,))[1], expected)

    def written(a: Any) -> Any:
        a = a * 1.0
        out = line(a)
        if lies == "turned":  # a view, where NumPy's is one
            out[1] = 100.0
        return a

    np.testing.assert_array_equal(ng.pushforward(written, (a,), (a,))[0], written(a))


def test_parts_may_be_the_first_that_is_written():
    """Before anything has asked for a method: these are declared late."""
    program = "z = x + 1j * x; z.imag = x * x; return np.sum(w * z.imag)".replace("; ", "\n    ")
    code = f"import numpy as np, namedgrad as ng\nw = np.array([1.0, -3.0, 0.5])\ndef f(x):\n    {program}\nprint(ng.grad(f)(np.arange(3.0)).tolist())"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603 - our own text
    assert done.stdout.strip() == "[0.0, -6.0, 2.0]"
