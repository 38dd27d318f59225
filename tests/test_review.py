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
