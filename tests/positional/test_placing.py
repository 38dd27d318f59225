"""Where the other operands of public functions lie on numbered axes: all sizes are equal, so a wrong place is no error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import namedgrad as ng

RNG = np.random.default_rng(11)
CUBE, OTHER, PLANE, LINE = RNG.normal(size=(3, 3, 3)), RNG.normal(size=(3, 3, 3)), RNG.random((3, 3)) + 0.5, RNG.random(3) + 0.5
EDGES = np.array([-9.0, -0.3, 0.4, 9.0])
COUNTED = RNG.integers(0, 3, size=(3, 3, 3))
AXES = (0, 1, 2, -1, -2, -3)


def others(axis: int) -> tuple[int, ...]:
    return tuple(i for i in range(3) if i != axis % 3)


def lines_counted(x: Any, w: Any, axis: int, one: Callable[..., Any]) -> Any:
    lines = np.moveaxis(x, axis, -1)
    return np.array([[one(cells, w) for cells in rows] for rows in lines])


def cosines(x: Any, y: Any, axis: int) -> Any:
    x, y = np.broadcast_arrays(x, y)
    return (x * y).sum(axis) / np.sqrt((x * x).sum(axis) * (y * y).sum(axis))


def convolved(x: Any, w: Any, axis: int) -> Any:
    return np.apply_along_axis(lambda cells: np.convolve(cells, w, "same"), axis, x)


def distances(x: Any, y: Any, axis: int) -> Any:
    return np.sqrt(((x - y + 1e-6) ** 2).sum(axis))


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, Any]]] = {
    "average":        (lambda x, w, k: ng.average(x, w, k), lambda x, w, k: np.average(x, k, w), (CUBE, LINE)),
    "average, two":   (lambda x, w, k: ng.average(x, w, (k, others(k)[0])), lambda x, w, k: np.average(x, (k, others(k)[0]), w), (CUBE, PLANE)),
    "average, many":  (lambda x, w, k: ng.average(x, w, k), lambda x, w, k: np.average(x, k, w), (CUBE, OTHER**2)),
    "bincount":       (lambda x, w, k: ng.bincount(ng.positional(COUNTED), w, k, size=3) * x[0, 0, 0], lambda x, w, k: lines_counted(COUNTED, w, k, lambda c, v: np.bincount(c, v, 3)) * x[0, 0, 0], (CUBE, LINE)),
    "histogram":      (lambda x, w, k: ng.histogram(x, EDGES, k, weights=w)[0], lambda x, w, k: lines_counted(x, w, k, lambda c, v: np.histogram(c, EDGES, weights=v)[0]), (CUBE, LINE)),
    "weight_norm":    (lambda x, w, k: ng.weight_norm(x, w, dim=k), lambda x, w, k: np.expand_dims(w, k) * x / np.linalg.norm(x, axis=k, keepdims=True), (CUBE, PLANE)),
    "weight_norm, two": (lambda x, w, k: ng.weight_norm(x, w, dim=others(k)), lambda x, w, k: np.expand_dims(w, others(k)) * x / np.sqrt((x * x).sum(others(k), keepdims=True)), (CUBE, LINE)),
    "cosine_similarity": (lambda x, y, k: ng.cosine_similarity(x, y, dim=k), cosines, (CUBE, LINE)),
    "cosine_similarity, from few": (lambda x, y, k: ng.cosine_similarity(x, y, dim=k), cosines, (PLANE, CUBE)),
    "pairwise_distance": (lambda x, y, k: ng.pairwise_distance(x, y, dim=k), distances, (LINE, CUBE)),
    "mse_loss":       (lambda x, y, k: ng.mse_loss(x, y, dim=k, reduction="sum"), lambda x, y, k: ((x - y) ** 2).sum(k), (LINE, CUBE)),
    "dist":           (lambda x, y, k: ng.dist(x, y, k), lambda x, y, k: np.linalg.norm(x - y, axis=k), (PLANE, CUBE)),
    "logsumexp":      (lambda x, w, k: ng.logsumexp(x, k, weights=w), lambda x, w, k: scipy.special.logsumexp(x, k, b=w), (LINE, OTHER**2)),
    "convolve":       (lambda x, w, k: ng.convolve(x, w, k, "same"), convolved, (CUBE, LINE)),
    "fftconvolve":    (lambda x, w, k: ng.fftconvolve(x, w, k, "same"), convolved, (CUBE, LINE)),
    "convolve, of a line": (lambda x, w, k: ng.convolve(x, w, k, "same"), lambda x, w, k: convolved(w, x, k), (LINE, CUBE)),
    "cross":          (lambda x, y, k: ng.cross(x, y, k), lambda x, y, k: np.cross(x, y, axis=k), (CUBE, OTHER)),
}  # fmt: skip


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("case", CASES)
def test_other_operands_lie_where_numpy_puts_them(case: str, axis: int) -> None:
    ours, theirs, (x, w) = CASES[case]
    expected = theirs(x, w, axis)
    lists = ((x.tolist(), ng.positional(w)),) if case != "bincount" else ()
    for a, b in ((ng.positional(x), w), (ng.positional(x), w.tolist()), tuple(map(ng.positional, (x, w))), *lists):
        np.testing.assert_allclose(ours(a, b, axis).data, expected, rtol=1e-10, atol=1e-12)
    slope = ng.grad(lambda w: np.sum(ours(ng.positional(x), w, axis) * expected))(w)
    h = 1e-6 * RNG.normal(size=w.shape)
    there, back = (np.sum(theirs(x, w + s * h, axis) * expected) for s in (1, -1))
    np.testing.assert_allclose(np.sum(slope * h), (there - back) / 2, rtol=1e-4, atol=1e-11)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("case", CASES)
def test_other_operands_of_every_slice(case: str, axis: int) -> None:
    ours, theirs, (x, w) = CASES[case]
    xs, ws = (np.stack([v, v[::-1] * 1.5, v * v]) for v in (x, w))
    for one, two in (("v", "v"), ("v", "u"), ("v", ""), ("", "v")):
        found = ours(ng.positional(xs if one else x, one or ()), ng.positional(ws if two else w, two or ()), axis)
        for n in reversed([n for n in "vu" if n in found.vectorized]):
            found = found.devectorize(n)
        if (one, two) == ("v", "u"):
            expected = np.array([[theirs(a, b, axis) for b in ws] for a in xs])
        else:
            expected = np.array([theirs(a, b, axis) for a, b in zip(xs if one else [x] * 3, ws if two else [w] * 3, strict=True)])
        np.testing.assert_allclose(found.data, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("axes", [(0, 0), (-1, -1)])
def test_cross_counts_the_axis_in_each_operand(axes: tuple[int, int]) -> None:
    for x, y in ((CUBE, LINE), (LINE, CUBE), (CUBE, PLANE)):
        np.testing.assert_allclose(ng.cross(ng.positional(x), y, axes[0]).data, np.cross(x, y, axis=axes[1]), rtol=1e-14)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_edges_and_levels_have_axes_of_their_own(axis: int) -> None:
    x = np.round(CUBE, 2)
    for bins in ([-2.0, -0.5, 0.0, 2.0], np.array([-2, 0, 1, 2])):
        expected = lines_counted(x, None, axis, lambda c, _, bins=bins: np.histogram(c, bins)[0])
        for given in (bins, np.asarray(bins), ng.positional(bins)):
            counts, edges = ng.histogram(ng.positional(x), given, axis)
            np.testing.assert_array_equal(counts, expected)
            np.testing.assert_array_equal(edges, np.broadcast_to(bins, (3, 3, 4)) if np.ndim(edges) > 1 else bins)
    levels = [[0.2, 0.6], [0.1, 0.9]]
    np.testing.assert_allclose(ng.quantile(ng.positional(x), levels, axis).data, np.quantile(x, levels, axis), rtol=1e-13)
    before = OTHER.tolist()
    np.testing.assert_array_equal(ng.diff(ng.positional(x), axis, prepend=before).data, np.diff(x, axis=axis, prepend=OTHER))


def test_lists_are_operands() -> None:
    x = ng.positional(PLANE)
    mask, line = [True, False, True], [0.6, 0.7, 2.0]
    np.testing.assert_array_equal(ng.add(x, line).data, PLANE + line)
    np.testing.assert_array_equal(ng.arctan2(tuple(line), x).data, np.arctan2(line, PLANE))
    np.testing.assert_array_equal(ng.where(mask, x, line).data, np.where(mask, PLANE, line))
    np.testing.assert_array_equal(ng.clip(x, line, None).data, np.clip(PLANE, line, None))
    np.testing.assert_array_equal(ng.masked_fill(x, mask, 0.0).data, np.where(mask, 0.0, PLANE))
    np.testing.assert_allclose(ng.l1_loss(x, line, dim=0, reduction="sum").data, np.abs(PLANE - line).sum(0), rtol=1e-15)
    slope = ng.grad(lambda a: np.sum(ng.average(ng.positional(PLANE), [a, 2 * a, a * a], 0)))(3.0)
    ends = [np.sum(np.average(PLANE, 0, [a, 2 * a, a * a])) for a in (3 + 1e-6, 3 - 1e-6)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-6)


def test_arrays_in_mappings_and_indices_beside_plain_arrays() -> None:
    ends, at = ng.positional(np.array([5.0, 7.0])), np.array([[2, 0], [1, 1]])
    expected = np.pad(PLANE, [(1, 1), (0, 0)], constant_values=((5, 7), (0, 0)))
    np.testing.assert_array_equal(ng.pad(PLANE, {0: (1, 1)}, constant_values={0: (ends[0], ends[1])}).data, expected)
    points = np.array([0.0, 1.0, 3.0])
    found = ng.gradient(PLANE, 0, {0: ng.positional(points)})
    np.testing.assert_allclose(found.data, np.gradient(PLANE, points, axis=0), rtol=1e-13)
    taken = ng.take(PLANE, ng.positional(at, "v"), 0).devectorize("v")
    np.testing.assert_array_equal(taken.data, PLANE[at])


# ------------------------------------------------------------------------------------------------ numbers

OF_A_NUMBER = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "ptp": np.ptp, "argmax": np.argmax, "any": np.any,
    "nansum": np.nansum, "count_nonzero": np.count_nonzero, "logsumexp": scipy.special.logsumexp,
    "softmax": scipy.special.softmax, "log_softmax": scipy.special.log_softmax,
}  # fmt: skip
KEPT = ("mean", "median", "cumsum", "cumprod", "cummax", "logcumsumexp", "sort", "flip", "mode")  # in PyTorch


@pytest.mark.parametrize("axis", [0, -1])
def test_a_number_is_a_vector_of_one_cell(axis: int) -> None:
    for name, theirs in OF_A_NUMBER.items():
        found = getattr(ng, name)(ng.positional(np.array(2.0)), axis)
        assert np.shape(found) == ()
        assert float(found) == float(theirs(np.array(2.0), axis=axis)), name
        of_slices = getattr(ng, name)(ng.positional(np.array([2.0, 0.0, 3.0]), "v"), axis)
        assert [float(v) for v in of_slices.devectorize("v").data] == [float(theirs(np.array(v), axis=axis)) for v in (2.0, 0.0, 3.0)]
    for name in KEPT:
        found = getattr(ng, name)(ng.positional(np.array(2.0)), axis)
        assert np.shape(found) == ()
        assert float(found) == 2.0
        assert ng.grad(lambda x, name=name: getattr(ng, name)(x, axis))(np.array(2.0)) == 1.0
    assert ng.grad(lambda x: ng.sum(x, (axis,)) * ng.mean(x, axis))(np.array(3.0)) == 6.0
    for wrong in (1, -2, (0, 0)):
        with pytest.raises(ng.AxisError):
            ng.sum(ng.positional(np.array(2.0)), wrong)
    with pytest.raises(ng.AxisError):
        ng.trapezoid(ng.positional(np.array(2.0)), dim=axis)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 3.0]])
def test_one_class_of_one_vector_may_have_an_axis(reduction: str, weight: Any) -> None:
    x = np.array([0.3, 0.1, 0.9])
    factor = 1.0 if weight is None else weight[1]
    sums = [factor * np.maximum(0, 1 - x[1] + x[[0, 2]]).sum() / 3, -x[1] * factor, (np.log(np.exp(x).sum()) - x[1]) * factor]
    for name, expected in zip(("multi_margin_loss", "nll_loss", "cross_entropy"), sums, strict=True):
        weighed = 1.0 if reduction != "mean" or name == "multi_margin_loss" else factor
        for target in (np.array([1]), np.array(1), [1]):
            found = getattr(ng, name)(ng.positional(x), target, weight, reduction=reduction)
            kept = name == "multi_margin_loss" and reduction == "none" and np.ndim(target)
            assert found.shape == ((1,) if kept else ())  # as in PyTorch
            np.testing.assert_allclose(found.data, np.broadcast_to(expected / weighed, found.shape), rtol=1e-14)
