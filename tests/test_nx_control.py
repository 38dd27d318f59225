"""Conditions, loops and indices of programs on vectorized arrays."""

import numpy as np
import pytest

import namedgrad as ng
from tests.support.slices import agrees_with_constants, drawn, generator
from tests.support.tolerances import ROUNDING, assert_close


def chain(*parts):
    """The value behind the first predicate that holds, or the last."""
    if len(parts) == 1:
        return parts[0]
    return ng.cond(parts[0], lambda: parts[1], lambda: chain(*parts[2:]))


def bits(text, name):
    return ng.DimArray(np.array([c == "1" for c in text]), name, vectorized=name)


@pytest.mark.parametrize(
    ("predicates", "expected"),
    [
        (("01", 0, 0), [40, 10]), (("00", 1, 0), [20, 20]), (("00", 0, 1), [30, 30]), (("00", 0, 0), [40, 40]), ((0, "01", 0), [40, 20]),
        ((1, "01", 0), 10), ((0, "00", 1), [30, 30]), ((0, 0, "01"), [40, 30]), ((0, 1, "01"), 20), (("10", "11", 0), [10, 20]),
    ],
)  # fmt: skip
def test_chains_of_conditions(predicates, expected):
    p = [bits(v, "p") if isinstance(v, str) else v for v in predicates]
    out = chain(p[0], 10.0, p[1], 20.0, p[2], 30.0, 40.0)
    assert (out.data.tolist() if isinstance(out, ng.DimArray) else out) == expected


def test_predicates_and_branches_of_different_names():
    p, q = bits("010", "p"), bits("10", "q")
    c1 = ng.DimArray([10.0, 100.0], "q", vectorized="q")
    c2 = ng.DimArray([20.0, 200.0, 2000.0], "p", vectorized="p")
    out = chain(p, c1, q, c2, 0, 30.0, 40.0)
    assert out.devectorize().transpose("p", "q").data.tolist() == [[20, 40], [10, 100], [2000, 40]]
    a, b = ng.grad(lambda a, b: chain(p, a * a, q, b * 3, 0, 30.0, 40.0), wrt=(0, 1))(c1, c2)
    assert a.devectorize().transpose("p", "q").data.tolist() == [[0, 0], [20, 200], [0, 0]]
    assert b.devectorize().transpose("p", "q").data.tolist() == [[3, 0], [0, 0], [3, 0]]


def test_branches_give_containers_of_arrays_with_other_names():
    p, x = bits("100", "p"), ng.DimArray([9.0, 10.0, 11.0], "x", vectorized="x")
    out = ng.cond(p, lambda x: (1.0, {"a": 2.0}, 3.0), lambda x: (7.0, {"a": 8.0}, x), x)
    assert out[0].data.tolist() == [1, 7, 7]
    assert out[1]["a"].data.tolist() == [2, 8, 8]
    assert out[2].devectorize().transpose("p", "x").data.tolist() == [[3, 3, 3], [9, 10, 11], [9, 10, 11]]


def test_predicates_of_integers_count_as_true_where_they_are_not_zero():
    p = ng.DimArray([2, 0, -1], "p", vectorized="p")
    assert ng.cond(p, lambda: 1.0, lambda: 2.0).data.tolist() == [1, 2, 1]


def test_where_with_a_vectorized_mask_and_ordinary_arrays():
    m = bits("10", "m")
    x, y = ng.DimArray([1.0, 2.0], "x"), ng.DimArray([np.nan, 5.0], "x")
    g = ng.grad(lambda x: ng.where(m, x * x, ng.sqrt(y) * x).sum(skipna=False))(x)
    assert_close(g.data, [[2.0, 4.0], [np.nan, np.sqrt(5)]], ROUNDING)
    assert ng.where(m, x, 0.0).data.tolist() == [[1, 2], [0, 0]]


# ------------------------------------------------------------------------------------------------ loops


def doubled(x, n):
    return ng.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] * 2), (n, x))[1]


def counts(data, *names):
    return ng.DimArray(np.array(data), names, vectorized=names)


@pytest.mark.parametrize(
    ("x", "n", "names", "expected"),
    [
        (counts([1, 2, 3], "x"), counts([5, 6, 3], "x"), ("x",), [32, 128, 24]),
        (counts([1, 2, 3], "init"), counts([4, 5], "pred"), ("pred", "init"), [[16, 32, 48], [32, 64, 96]]),
        (counts([1, 2, 3], "x"), counts([[0, 1, 2], [5, 6, 3]], "y", "x"), ("y", "x"), [[1, 4, 12], [32, 128, 24]]),
        (counts([1, 2, 3], "x"), 2, ("x",), [4, 8, 12]),
        (3, counts([0, 5], "x"), ("x",), [3, 96]),
        (counts([1, 2, 3], "x"), 0, ("x",), [1, 2, 3]),
    ],
)
def test_loops_with_vectorized_conditions(x, n, names, expected):
    assert doubled(x, n).devectorize().transpose(*names).data.tolist() == expected
    a = x * 1.0
    a = ng.DimArray(a, ()) if isinstance(a, float) else a
    g = ng.grad(lambda x: doubled(x, n))(a)
    slopes = np.array(expected) / np.broadcast_to(a.data, np.shape(expected))
    assert_close(g.devectorize().transpose(*names).data, slopes, ROUNDING)


def test_one_of_several_states_has_a_name_that_others_lack():
    x, y, n = counts([[1, 2], [3, 4], [5, 6]], "other", "pred"), counts([1, 2], "pred"), counts([3, 4], "pred")
    _, v, z = ng.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] * 2, s[2] * 3), (n, x, y))
    assert v.devectorize().transpose("pred", "other").data.tolist() == [[8, 24, 40], [32, 64, 96]]
    assert z.data.tolist() == [27, 162]


# ------------------------------------------------------------------------------------------------ indices


def test_indices_and_arrays_may_be_vectorized_or_not():
    t, i = ng.DimArray(np.arange(18.0).reshape(3, 6), ("i", "x"), vectorized="i"), counts([0, 2, 4], "i")
    assert t.isel(x=2).data.tolist() == [2, 8, 14]
    assert t.isel(x=i).data.tolist() == [0, 8, 16]
    assert ng.arange("x", 6).isel(x=i).data.tolist() == [0, 2, 4]
    both = ng.DimArray(np.arange(24.0).reshape(2, 6, 2), ("j", "x", "y"), vectorized="j").isel(x=i, y=slice(0, 2))
    assert both.devectorize().transpose("j", "i", "y").data.tolist() == [[[0, 1], [4, 5], [8, 9]], [[12, 13], [16, 17], [20, 21]]]


INDEXED = {
    "isel": lambda x, i: x.isel(x=i),
    "take": lambda x, i: ng.take(x, i + ng.arange("p", 2), "x"),
    "gather": lambda x, i: ng.gather(x, i + ng.arange("p", 2), "x"),
    "take along": lambda x, i: ng.take_along_axis(x, i + ng.arange("x", 2), "x"),
    "start of a slice": lambda x, i: x.isel(x=slice(i, i + 2)),
    "start and step of a slice": lambda x, i: x.isel(x=slice(i, i + 3, 2)),
    "end of a slice from the end": lambda x, i: x.isel(x=slice(i - 5, i - 3)),
    "put": lambda x, i: x.at[{"x": i}].set(9.0),
    "put a slice": lambda x, i: x.at[{"x": slice(i, i + 2)}].set(ng.DimArray([7.0, 8.0], "x")),
    "put a slice of its own": lambda x, i: x.at[{"x": slice(i, i + 2)}].set(x.isel(x=slice(0, 2)) ** 2),
    "add to a slice": lambda x, i: x.at[{"x": slice(i, i + 2)}].add(x.mean()),
    "index twice": lambda x, i: x.isel(x=i) * x.isel(x=i + 1),
    "one hot": lambda x, i: ng.dot(ng.one_hot(i, {"x": 5}) * 1.0, x, dim="x"),
    "scatter": lambda x, i: ng.scatter_add(x, i + ng.arange("p", 2), ng.DimArray([1.0, 2.0], "p") * x.sum(), "x"),
}


@pytest.mark.parametrize("layout", ["b,b", "b,", ",b", "b,c", "bc,c", ","])
@pytest.mark.parametrize("name", INDEXED)
def test_vectorized_indices(name, layout):
    left, right = layout.split(",")
    rng, sizes = generator(name, layout), {"b": 5 if len(name) % 2 else 2, "c": 3}
    x = drawn(rng, {"x": 5, **{n: sizes[n] for n in left}})
    x = x.vectorize(*left) if left else x
    i = ng.DimArray(rng.integers(0, 3, [sizes[n] for n in right]), tuple(right), vectorized=tuple(right))
    names = {**x.vectorized_sizes, **i.vectorized_sizes}
    f = INDEXED[name]
    agrees_with_constants(lambda x, i: f(x, i), [x], [i], names, name)


def test_slices_of_different_lengths_are_refused_with_the_way_out():
    x, i = ng.arange("x", 6) * 1.0, counts([0, 2], "b")
    for call in (lambda: x.isel(x=slice(i, 5)), lambda: x.isel(x=slice(i)), lambda: x.isel(x=slice(i, i + 5)), lambda: x.at[{"x": slice(i, None)}].set(0.0)):
        with pytest.raises(ng.AxisError, match=r"lengths.*arange"):
            call()
