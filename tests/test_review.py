"""What an outside review found: each case failed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import namedgrad as ng

RNG = np.random.default_rng(11)
X = ng.DimArray([1.0, 2.0, 3.0], ("x",))


# ------------------------------------------------------------------------------------------------ arguments


def test_an_argument_is_differentiated_once() -> None:
    for wrt in ((0, 0), (0, "a"), (0, -2), [("a", ["p"]), "a"]):
        with pytest.raises(TypeError, match="more than once"):
            ng.grad(lambda a, b: (a * b).sum(), wrt=wrt)(X, X)
    p = {"u": X, "v": 2 * X}
    one, two = ng.grad(lambda p: (p["u"] * p["v"]).sum(), wrt=[(0, ["u"]), (0, ["v"])])(p)
    np.testing.assert_array_equal(one["u"].data, 2 * X.data)
    np.testing.assert_array_equal(two["v"].data, X.data)


def test_positions_are_any_integers() -> None:
    f = lambda a, b: (a * b * b).sum()  # noqa: E731
    np.testing.assert_array_equal(ng.grad(f, wrt=np.int64(1))(X, X).data, 2 * X.data**2)
    assert len(ng.grad(f, wrt=range(2))(X, X)) == 2
    for wrt in (1.5, None, object()):
        with pytest.raises(TypeError, match="neither the position nor the name"):
            ng.grad(f, wrt=wrt)(X, X)


def test_aux_that_is_missing_is_said() -> None:
    with pytest.raises(TypeError, match=r"returns \(output, aux\), got"):
        ng.grad(lambda x: x.sum(), has_aux=True)(X)


def test_one_tangent_per_argument_in_a_tuple() -> None:
    with pytest.raises(TypeError, match="give a tuple"):
        ng.pushforward(lambda x: x * 2, X, X)  # type: ignore[arg-type]
    _, linear = ng.linearize(lambda a, b: a * b, X, X)
    with pytest.raises(TypeError, match="2 arguments but 1 tangents"):
        linear(X)


# ------------------------------------------------------------------------------------------------ cotangents and tangents


def test_cotangents_may_be_integers() -> None:
    _, pull = ng.pullback(lambda a: a * 2, np.ones(3))
    np.testing.assert_array_equal(pull(np.array([1, 2, 3])), [2.0, 4.0, 6.0])
    _, pull = ng.pullback(lambda a: a * a, 3.0)
    assert pull(2) == 12.0
    _, tangent = ng.pushforward(lambda a: a * a, (3.0,), (1,))
    assert tangent == 6.0


def test_cotangents_that_are_no_arrays_are_refused() -> None:
    _, pull = ng.pullback(lambda a: a * 2, np.ones(3))
    with pytest.raises(TypeError, match="cotangent is a list"):
        pull([1.0, 2.0, 3.0])


@pytest.mark.parametrize("f", [lambda a: a, lambda a: a.rename(x="y"), lambda a: a + 0 * a, lambda a: (a, a)])
@pytest.mark.parametrize("how", ["pushforward", "linearize"])
def test_tangents_of_outputs_have_memory_of_their_own(f: Any, how: str) -> None:
    t = ng.DimArray([1.0, 2.0, 3.0], ("x",))
    out = ng.pushforward(f, (X,), (t,))[1] if how == "pushforward" else ng.linearize(f, X)[1](t)
    found = out if isinstance(out, tuple) else (out,)
    for a in found:
        a.data[...] = -1.0
    np.testing.assert_array_equal(t.data, [1.0, 2.0, 3.0])
    assert not any(np.shares_memory(a.data, b.data) for a in found for b in found if a is not b)


def test_a_broadcast_tangent_may_be_written() -> None:
    like = ng.zeros({"y": 2, "x": 3})
    _, out = ng.pushforward(lambda a: ng.broadcast_like(a, like), (X,), (X,))
    before = out.data.copy()
    out.data[0, 0] += 7.0
    assert (out.data != before).sum() == 1


def test_a_traced_positional_array_becomes_integer_untraced() -> None:
    g = ng.grad(lambda x: (x * x.astype(int)).sum())(np.array([1.5, 2.5]))
    np.testing.assert_array_equal(g, [1.0, 2.0])
