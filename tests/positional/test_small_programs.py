"""What an operation of a plain NumPy program costs beside its own work: records on the tape, and plans made anew."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from namedgrad.positional.memory import lying
from namedgrad.trace import Level

RNG = np.random.default_rng(0)
MATRIX, VECTOR, OTHER = RNG.normal(size=(4, 4)), RNG.normal(size=4), RNG.normal(size=(4, 4)) * 0.3
CHOSEN = np.array([2, 0, 3, 3])

RECORDS: dict[str, tuple[Callable[[Any], Any], Any, int]] = {
    "dot of matrices":      (lambda x: np.dot(OTHER, x),               MATRIX, 1),
    "dot with a vector":    (lambda x: np.dot(OTHER, x),               VECTOR, 1),
    "matmul":               (lambda x: x @ OTHER,                      MATRIX, 1),
    "einsum":               (lambda x: np.einsum("ij,kj->ik", x, OTHER), MATRIX, 1),
    "tensordot":            (lambda x: np.tensordot(x, OTHER, 1),      MATRIX, 1),
    "inner":                (lambda x: np.inner(x, VECTOR),            VECTOR, 1),
    "reshape":              (lambda x: np.reshape(x, (2, 8)),          MATRIX, 1),
    "ravel":                (lambda x: x.ravel(),                      MATRIX, 1),
    "transpose":            (lambda x: x.T,                            MATRIX, 1),
    "new axis":             (lambda x: x[:, None],                     VECTOR, 1),
    "expand_dims":          (lambda x: np.expand_dims(x, 1),           MATRIX, 1),
    "squeeze":              (lambda x: np.squeeze(x),                  MATRIX[None], 1),
    "one position":         (lambda x: x[2],                           VECTOR, 1),
    "slice":                (lambda x: x[1:],                          MATRIX, 1),
    "roll":                 (lambda x: np.roll(x, 1, 0),               MATRIX, 1),
    "sum along an axis":    (lambda x: np.sum(x, axis=1),              MATRIX, 2),
    "row added":            (lambda x: x + VECTOR,                     MATRIX, 1),
    "concatenate":          (lambda x: np.concatenate([x, x]),         MATRIX, 1),
    "stack":                (lambda x: np.stack([x, x]),               VECTOR, 1),
    "chosen rows":          (lambda x: x[CHOSEN],                      MATRIX, 1),
    "chosen columns":       (lambda x: x[:, CHOSEN],                   MATRIX, 1),
    "chosen cells":         (lambda x: x[CHOSEN, CHOSEN[::-1]],        MATRIX, 1),
    "chosen grid":          (lambda x: x[np.ix_(CHOSEN, CHOSEN)],      MATRIX, 1),
    "chosen by a mask":     (lambda x: x[CHOSEN > 0],                  MATRIX, 1),
    "chosen in a column":   (lambda x: x[CHOSEN, 1],                   MATRIX, 2),
    "take":                 (lambda x: np.take(x, CHOSEN, 1),          MATRIX, 1),
    "take_along_axis":      (lambda x: np.take_along_axis(x, CHOSEN[:, None], 1), MATRIX, 1),
    "sort":                 (lambda x: np.sort(x, 0),                  MATRIX, 1),
    "partition":            (lambda x: np.partition(x, 1),             VECTOR, 1),
    "clip":                 (lambda x: np.clip(x, -1, 1),              MATRIX, 1),
    "where":                (lambda x: np.where(OTHER > 0, x, 0.0),    MATRIX, 1),
    "cumsum":               (lambda x: np.cumsum(x, 0),                MATRIX, 1),
    "diff":                 (lambda x: np.diff(x),                     MATRIX, 1),
    "sum that keeps an axis": (lambda x: np.sum(x, 0, keepdims=True),  MATRIX, 2),
    "repeat":               (lambda x: np.repeat(x, 2),                VECTOR, 1),
    "tile":                 (lambda x: np.tile(x, 2),                  VECTOR, 2),
    "solve":                (lambda x: np.linalg.solve(OTHER, x),      MATRIX, 1),
    "solve for a vector":   (lambda x: np.linalg.solve(OTHER, x),      VECTOR, 1),
    "inv":                  (lambda x: np.linalg.inv(x),               MATRIX, 1),
    "cholesky":             (lambda x: np.linalg.cholesky(x),          OTHER @ OTHER.T + np.eye(4), 1),
    "diagonal":             (lambda x: np.diagonal(x),                 MATRIX, 1),
    "trace":                (lambda x: np.trace(x),                    MATRIX, 2),
    "two slices":           (lambda x: x[1:-1, ::2],                   MATRIX, 1),
    "one cell":             (lambda x: x[1, 2],                        MATRIX, 1),
    "one cell written":     (lambda x: _written(x, 1, 2.0),            VECTOR, 1),
    "a block written":      (lambda x: _written(x, (slice(1, 3), 0), x[0, :2]), MATRIX, 3),
    "cells written":        (lambda x: _written(x, CHOSEN, x[0]),      MATRIX, 2),
    "a mask written":       (lambda x: _written(x, CHOSEN > 0, x[0]),  MATRIX, 2),
    "added to a block":     (lambda x: _added(x, slice(1, None), x[0]), MATRIX, 4),
}  # fmt: skip


def _written(x: Any, key: Any, value: Any) -> Any:
    out = x.copy()
    out[key] = value
    return out


def _added(x: Any, key: Any, value: Any) -> Any:
    out = x.copy()
    out[key] += value
    return out


DIM = ng.DimArray(MATRIX, ("x", "y"))
AT = ng.DimArray([0.5, 1.5, 2.2], ("at",))
NAMED: dict[str, Callable[[Any], Any]] = {
    "isel by arrays": lambda a: a.isel(x=ng.DimArray(CHOSEN, ("p",)), y=ng.DimArray(CHOSEN, ("p",))),
    "isel by a list": lambda a: a.isel(x=[0, 2]),
    "take":           lambda a: ng.take(a, [3, 5]),
    "put":            lambda a: ng.put(a, [3, 5], 1.0),
    "at":             lambda a: a.at[{"x": [0, 2]}].set(1.0),
    "where":          lambda a: a.where(a > 0, 0.0),
    "coarsen":        lambda a: a.coarsen(x=2).mean(),
    "rolling":        lambda a: a.rolling(x=2).sum(),
    "interp":         lambda a: ng.interp(a, {"x": AT}),
    "repeat":         lambda a: ng.repeat(a, x=2),
    "tile":           lambda a: ng.tile(a, x=2),
    "masked_select":  lambda a: ng.masked_select(a, a > 0, size=3).values,
    "concat":         lambda a: ng.concat([a, a], "x"),
    "trace":          lambda a: ng.trace(a, ("x", "y")),
    "prod":           lambda a: a.prod(("x", "y")),
    "histogram":      lambda a: a * ng.histogram(a, bins=2)[0].sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_plans_of_named_arrays_are_found_again(name: str) -> None:
    differentiate = ng.grad(lambda a: (NAMED[name](a) ** 2).fillna(0).sum())
    _refuse_new_plans(lambda: differentiate(DIM))


def _refuse_new_plans(run: Callable[[], Any]) -> None:
    """A second run finds what the first one planned."""
    plans = [f for m in list(sys.modules.values()) if m.__name__.startswith("namedgrad") for f in vars(m).values() if hasattr(f, "cache_parameters")]
    run()
    before = [f.cache_info().misses for f in plans]
    run()
    assert [f.cache_info().misses for f in plans] == before


@pytest.mark.parametrize("name", RECORDS)
def test_an_operation_by_position_takes_few_records(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, at, expected = RECORDS[name]
    made, record = [], Level.record

    def counted(self: Level, map_: Any, *rest: Any) -> Any:
        made.append(type(map_).__name__)
        return record(self, map_, *rest)

    monkeypatch.setattr(Level, "record", counted)
    ng.pullback(function, at)
    assert len(made) <= expected, made


@pytest.mark.parametrize("name", RECORDS)
def test_plans_are_found_again(name: str) -> None:
    function, at, _ = RECORDS[name]
    weights = RNG.normal(size=np.shape(function(at)))
    differentiate = ng.grad(lambda x: np.sum(weights * function(x)))
    _refuse_new_plans(lambda: differentiate(at))


def test_axes_of_size_1_mix_no_slices() -> None:
    """Where one axis is vectorized again behind them there is one gradient for each of its slices."""
    x = ng.positional(RNG.normal(size=(3, 4)), vectorized=("s",))

    def loss(p: Any) -> Any:
        wide = np.squeeze(np.reshape(np.expand_dims(p.devectorize("s"), 1)[:, None], (3, 1, 4)), 1)
        return np.sum(wide.name("s", "t").vectorize("s") ** 2)

    np.testing.assert_allclose(ng.grad(loss)(x).devectorize("s").data, 2 * x.devectorize("s").data)


def test_lengths_are_known_in_another_shape() -> None:
    """The Hessian of a sum of squared lengths is twice the identity, also where these are 0 and were reshaped."""
    x = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [1.0, 0.0]])
    for shape in ((2, 2), (4, 1), (1, 4)):
        hessian = ng.hessian(lambda a, shape=shape: np.sum(np.reshape(np.linalg.norm(a, axis=1), shape) ** 2))(x)
        np.testing.assert_allclose(hessian.reshape(8, 8), 2 * np.eye(8), atol=1e-12)


@pytest.mark.parametrize("product", [np.dot, np.matmul, lambda a, x: np.einsum("ij,j->i", a, x)], ids=["dot", "matmul", "einsum"])
def test_lengths_of_a_product_that_is_computed_twice_are_one(product: Callable[..., Any]) -> None:
    """(1 + n) exp(-n) is 1 - n**2 / 2 near 0, of which the Hessian in x is -a.T a."""
    a = np.array([[2.0, 1.0], [0.0, 3.0]])
    hessian = ng.hessian(lambda x: (1 + np.linalg.norm(product(a, x))) * np.exp(-np.linalg.norm(product(a, x))))
    np.testing.assert_allclose(hessian(np.zeros(2)), -a.T @ a)


def test_sizes_that_do_not_meet_are_named_with_their_operands() -> None:
    a, b = ng.ones({"x": 2, "y": 3}), ng.ones({"y": 4})
    with pytest.raises(ng.AxisError, match=r"add: sizes of 'y' differ among the operands \(x: 2, y: 3\), \(y: 4\)"):
        a + b
    with pytest.raises(ng.AxisError, match=r"sizes of 'y' differ"):
        b + a


@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "ij,jk->ki", "ij,ij->ij", "ij,ij->", "ij,kj->ik", "ij,j->", "ij,kl->ilkj", "ii,ij->j", "ij,jk->i"])
def test_einsum_of_two_arrays(subscripts: str) -> None:
    """A product is linear in each operand: its values for unit arrays are the gradient, here per pair of slices."""
    left, right = (RNG.normal(size=(3, *[4] * len(term))) for term in subscripts.partition("->")[0].split(","))
    x, y = ng.positional(left, vectorized=("b",)), ng.positional(right, vectorized=("c",))
    weights = RNG.normal(size=np.einsum(subscripts, left[0], right[0]).shape)
    of_x, of_y = ng.grad(lambda a, b: np.sum(weights * np.einsum(subscripts, a, b)), wrt=(0, 1))(x, y)
    one, two = subscripts.partition("->")[0].split(",")
    of_x, of_y = (g.name(*"pq"[: len(term)]).to_xarray() for g, term in ((of_x, one), (of_y, two)))
    for b in range(3):
        for c in range(3):
            for found, data, linear in (
                (of_x, left[b], lambda a, c=c: np.einsum(subscripts, a, right[c])),
                (of_y, right[c], lambda a, b=b: np.einsum(subscripts, left[b], a)),
            ):
                units = np.eye(data.size).reshape(-1, *data.shape)
                expected = [np.sum(weights * linear(unit)) for unit in units]
                np.testing.assert_allclose(found.isel(b=b, c=c).values.ravel(), expected, atol=1e-12)


@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "ij,jk->ki", "ij,kl->ilkj", "ij,ij->ji", "ij,j->ij", "...j,jk->k..."])
def test_an_einsum_lies_as_numpys_which_is_not_computed(subscripts: str, orders: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the result lies is seen from a few cells: NumPy's own loops over all would take longer than the product."""
    ends = subscripts.partition("->")[0].split(",")
    one, two = (np.asarray(RNG.normal(size=[30] * len(e.replace("...", "x"))), order=o) for e, o in zip(ends, orders))  # type: ignore[call-overload]
    strides, numpys, sizes = np.einsum(subscripts, one, two).strides, np.einsum, []
    inner = sys.modules["numpy._core.einsumfunc"]
    sums = inner.c_einsum  # type: ignore[attr-defined]
    monkeypatch.setattr(inner, "c_einsum", lambda text, *arrays, **kw: sizes.extend(a.size for a in arrays) or sums(text, *arrays, **kw))
    lies = []

    def loss(x: Any, y: Any) -> Any:
        out = numpys(subscripts, x, y)
        lies.append(lying(out))
        return np.sum(out)

    ng.grad(loss)(one, two)
    assert lies[0].strides == strides
    assert max(sizes, default=0) <= 4
