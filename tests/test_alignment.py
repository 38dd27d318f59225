"""The five rules of alignment, names of every kind, and what the refusals say."""

from __future__ import annotations

import enum
import itertools
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from tests.support.arrays import all_names, values
from tests.support.domains import MATRICES, parse
from tests.support.samples import CASES, VARIANTS, Case, table

RNG = np.random.default_rng(0)
SIZES = {"x": 2, "y": 3, "z": 4, "b": 5, "c": 6}


def array(dims: Any, vectorized: Any = (), sizes: dict[Any, int] = SIZES) -> ng.DimArray:
    return ng.DimArray(RNG.normal(size=[sizes[d] for d in dims]), tuple(dims), vectorized=vectorized)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


ODD = [("a", "tuple"), frozenset({"set"}), b"bytes", 1.5, Colour.RED, "", "a b", "sum", "dim", "data", str, object(), ("x", 1)]


# ------------------------------------------------------------------------------------------------ rule 1: by name, in order of first appearance


@pytest.mark.parametrize("left", ["xy", "yx", "x", "", "xyz"])
@pytest.mark.parametrize("right", ["xy", "yz", "zx", "", "zyx"])
def test_operands_meet_by_name(left: str, right: str) -> None:
    a, b = array(left), array(right)
    out = a * b
    assert out.dims == tuple(dict.fromkeys(left + right))
    expected = np.einsum(f"{left},{right}->{''.join(out.dims)}", a.data, b.data)
    np.testing.assert_array_equal(out.data, expected)


def test_stored_order_never_changes_a_value() -> None:
    a, b = array("xyz"), array("zx")
    expected = (a - 2 * b).transpose("x", "y", "z").data
    for left, right in itertools.product(itertools.permutations("xyz"), itertools.permutations("zx")):
        out = a.transpose(*left) - 2 * b.transpose(*right)
        assert out.dims == left
        np.testing.assert_array_equal(values(out, ("x", "y", "z")), expected)


def test_order_counts_where_it_defines_the_result() -> None:
    a = array("xy")
    np.testing.assert_array_equal(a.stack(s=("x", "y")).data, a.data.reshape(-1))
    np.testing.assert_array_equal(a.stack(s=("y", "x")).data, a.data.T.reshape(-1))
    tied = ng.DimArray([[0.0, 1.0], [1.0, 0.0]], ("x", "y"))
    assert int(tied.argmax(("x", "y"))) == 1
    assert int(tied.argmax(("y", "x"))) == 1
    np.testing.assert_array_equal(ng.DimArray([[0.0, 1.0, 5.0], [5.0, 0.0, 0.0]], ("x", "y")).argmax(("x", "y")).data, 2)
    np.testing.assert_array_equal(ng.DimArray([[0.0, 1.0, 5.0], [5.0, 0.0, 0.0]], ("x", "y")).argmax(("y", "x")).data, 1)
    duplicate = ng.DimArray([0.0, 0.0], "x").at[{"x": [1, 1]}].set(ng.DimArray([7.0, 8.0], "x"))
    np.testing.assert_array_equal(duplicate.data, [0.0, 8.0])


# ------------------------------------------------------------------------------------------------ rule 2: one name, one size


def test_a_mismatch_lists_every_operands_sizes() -> None:
    a, b, c = array("xy"), array("xy", sizes={"x": 2, "y": 7}), array("x")
    with pytest.raises(ng.AxisError) as info:
        a + b
    assert "(x: 2, y: 3)" in str(info.value)
    assert "(x: 2, y: 7)" in str(info.value)
    assert "'y'" in str(info.value)
    for call in (lambda: ng.where(c > 0, a, b), lambda: ng.dot(a, b), lambda: ng.concat([a, b], "x"), lambda: a.broadcast_like(b)):
        with pytest.raises(ng.AxisError, match=r"(?s)y: 3.*y: 7"):
            call()


def test_size_one_is_not_broadcast() -> None:
    with pytest.raises(ng.AxisError, match=r"squeeze"):
        array("xy") * array("y", sizes={"y": 1})
    with pytest.raises(ng.AxisError, match=r"y: 3"):
        array("y", sizes={"y": 1}) + array("y")
    assert isinstance(ng.AxisError("x"), ValueError)


@pytest.mark.parametrize("vectorized", [(), ("b",)])
def test_sizes_of_vectorized_axes_must_agree_too(vectorized: tuple[str, ...]) -> None:
    a, b = array("bx", vectorized), array("b", vectorized, sizes={"b": 7})
    with pytest.raises(ng.AxisError, match=r"(?s)b: 5.*b: 7"):
        a * b
    with pytest.raises(ng.AxisError, match=r"(?s)b: 7.*b: 5"):
        b * a


# ------------------------------------------------------------------------------------------------ rule 3: vectorized here, visible there


def test_vectorized_and_visible_is_refused_with_the_call_that_reconciles() -> None:
    a, b = array("bx", "b"), array("b")
    for call in (
        lambda: a * b, lambda: b * a, lambda: ng.dot(a, b, dim="x"), lambda: ng.where(a > 0, b, 0.0),
        lambda: ng.concat([a, b], "x"), lambda: ng.hypot(b, a), lambda: np.maximum(a, b),
        lambda: b.broadcast_like(a), lambda: ng.clip(a, b),
    ):  # fmt: skip
        with pytest.raises(ng.AxisError) as info:
            call()
        assert "'b'" in str(info.value)
        assert ".vectorize('b')" in str(info.value)
        assert "devectorize('b')" in str(info.value)
    with pytest.raises(ng.AxisError, match=r"devectorize\('b'\)"):
        a.isel(x=b.astype(int) * 0)


def _beside(case: Case) -> list[tuple[int, str, int]]:
    """The number of each operand, and a dim with its size that another operand has and it has not."""
    dims = [parse(operand)[1] for operand in case.sample.operands]
    every = dict.fromkeys(n for own in dims for n in own)
    return [(k, n, VARIANTS[case.variant][n]) for k, own in enumerate(dims) for n in every if n not in own]


COLLIDING = [c for c in CASES if c.variant == "distinct" and _beside(c)]


@table("collisions", COLLIDING)
def test_no_operation_meets_a_name_that_is_vectorized_in_one_operand_alone(case: Case) -> None:
    for k, name, size in _beside(case):
        operands = case.operands({k: (name,)}, {name: size})
        operands[k] = operands[k].vectorize(name)
        with pytest.raises(ng.AxisError, match=r"vectorized in one operand and a visible dim of another|is vectorized"):
            case(*operands)


def test_updates_and_values_meet_by_the_same_rule() -> None:
    a, index = ng.DimArray([1.0, 2.0, 3.0], "b"), ng.DimArray([1, 1, 0], "b", vectorized="b")
    cells = {"indices": {"x": [0, 1, 1]}, "sizes": {"x": 2}, "dim": "b"}
    for call in (lambda: a.at[{"b": index}].add(1.0), lambda: a[{"b": index}], lambda: a.isel(b=index),
                 lambda: ng.coo_to_dense(a.vectorize("b"), **cells)):  # fmt: skip
        with pytest.raises(ng.AxisError, match=r"'b' is (vectorized in one operand|a vectorized axis)"):
            call()


@table("collisions", COLLIDING)
def test_a_dim_that_is_in_the_way_is_named(case: Case) -> None:
    for k, name, size in _beside(case):
        try:
            case(*case.operands({k: (name,)}, {name: size}))
        except (ng.AxisError, ValueError) as e:
            assert repr(name) in str(e)


HAVE_OWN_SIZES = {  # along the same dim: of windows, indices, blocks, keys
    "block_diag", "concat", "conv", "convolve", "correlate", "diagonal_scatter", "fftconvolve", "gather", "index_add", "index_copy", "index_reduce",
    "index_select", "interp", "istft", "kron", "multi_head_attention", "put_along_axis", "scaled_dot_product_attention", "scatter", "scatter_add",
    "scatter_reduce", "stft", "take_along_axis", "take_along_dim",
}  # fmt: skip


@table("sizes", [c for c in CASES if c.variant == "distinct" and len(c.sample.operands) > 1])
def test_sizes_that_differ_are_told_with_their_dims(case: Case) -> None:
    operands = case.operands()
    dims = {n for x in operands for n in x.dims}
    for k, x in enumerate(operands):
        for name in (n for n in x.dims if any(n in y.dims for y in operands if y is not x)):
            if any(d in MATRICES and name in y.dims for d, y in zip(case.domains, operands, strict=True)):  # square
                continue
            other = case.operands(sizes={name: x.sizes[name] + 1})[k]
            try:
                case(*operands[:k], other, *operands[k + 1 :])
            except (ng.AxisError, ValueError, IndexError) as e:
                assert any(repr(d) in str(e) for d in dims)
            else:
                assert case.name in HAVE_OWN_SIZES


def test_reconciled() -> None:
    a, b = array("bx", "b"), array("b")
    np.testing.assert_array_equal((a * b.vectorize("b")).data, a.data * b.data[:, None])
    np.testing.assert_array_equal((a.devectorize("b") * b).data, a.data * b.data[:, None])


# ------------------------------------------------------------------------------------------------ rule 4: dims of operations, repeated names


def _dim_calls(dim: Any) -> dict[str, Any]:
    return {
        "sum": lambda a: a.sum(dim), "mean": lambda a: a.mean(dim=dim), "prod": lambda a: a.prod(dim), "max": lambda a: a.max(dim),
        "argmin": lambda a: a.argmin(dim), "var": lambda a: a.var(dim), "cumsum": lambda a: a.cumsum(dim), "flip": lambda a: a.flip(dim),
        "roll": lambda a: a.roll({dim: 1}), "shift": lambda a: a.shift({dim: 1}), "pad": lambda a: a.pad({dim: 1}),
        "diff": lambda a: a.diff(dim), "isel": lambda a: a.isel({dim: 0}), "take": lambda a: ng.take(a, [0], dim),
        "stack": lambda a: a.stack(s=(dim,)), "unstack": lambda a: a.unstack({dim: {"p": 1, "q": 5}}), "squeeze": lambda a: a.squeeze(dim),
        "dot": lambda a: ng.dot(a, a, dim=dim), "logsumexp": lambda a: ng.logsumexp(a, dim), "at": lambda a: a.at[{dim: 0}].set(0.0),
        "cholesky": lambda a: ng.cholesky(a, (dim, "x")), "solve": lambda a: ng.solve(a, a, (dim, "x")), "median": lambda a: a.median(dim),
        "transpose": lambda a: a.transpose(dim, "x"), "sort": lambda a: ng.sort(a, dim), "count": lambda a: a.count(dim),
        "concat": lambda a: ng.concat([a, a], dim), "std": lambda a: a.std((dim,)), "[]": lambda a: a[{dim: 0}],
    }  # fmt: skip


@pytest.mark.parametrize("name", _dim_calls("b"))
def test_a_vectorized_axis_is_no_dim(name: str) -> None:
    with pytest.raises(ng.AxisError) as info:
        _dim_calls("b")[name](array("bx", "b"))
    assert "'b'" in str(info.value)
    assert "vectorize" in str(info.value)


@pytest.mark.parametrize("name", [n for n in _dim_calls("nowhere") if n != "concat"])
def test_an_unknown_dim_is_named(name: str) -> None:
    with pytest.raises((ng.AxisError, KeyError)) as info:
        _dim_calls("nowhere")[name](array("bx"))
    assert isinstance(info.value, ng.AxisError)
    assert "'nowhere'" in str(info.value)
    assert "x" in str(info.value)


def test_repeated_names_are_refused_wherever_they_could_arise() -> None:
    a, m = array("xy"), array("xy", sizes={"x": 3, "y": 3})
    repeats: list[Any] = [
        lambda: ng.DimArray(np.ones((2, 2)), ("x", "x")),
        lambda: a.rename(x="y"),
        lambda: m.rename(x="y"),
        lambda: a.rename(x="q", y="q"),
        lambda: a.expand_dims("x"),
        lambda: a.stack(y=("x",)),
        lambda: a.unstack(x={"y": 1, "q": 2}),
        lambda: a.unstack(x={"q": 1, "Q": 2}).rename(q="Q"),
        lambda: a.isel(x=ng.DimArray([0, 1, 0], "y")).rename(y="x").rename(x="x").expand_dims("x"),
        lambda: a.vectorize("x").rename(y="x"),
        lambda: ng.eye("i", "i", 3),
        lambda: a.sum(("x", "x")),
        lambda: a.transpose("x", "x"),
        lambda: ng.solve(m, m, ("x", "y")),
        lambda: ng.cholesky(m, ("x", "x")),
        lambda: ng.outer(a, a),
    ]
    for call in repeats:
        with pytest.raises(ng.AxisError):
            call()
    with pytest.raises(ng.AxisError, match=r"(?s)'x'.*rename"):
        ng.DimArray(np.ones((2, 2)), ("x", "x"))


# ------------------------------------------------------------------------------------------------ rule 5: arrays without names


def test_plain_arrays_have_no_names() -> None:
    a = array("xy")
    for call in (
        lambda: a + np.ones((2, 3)), lambda: np.ones((2, 3)) + a, lambda: a * np.ones(3), lambda: np.ones(3) < a,
        lambda: np.maximum(a, np.ones(3)), lambda: ng.where(a > 0, a, np.ones(3)), lambda: ng.dot(a, np.ones(3)),
        lambda: a.at[{"x": 0}].set(np.ones(3)), lambda: a ** np.ones(1), lambda: np.ones(3) - a,
    ):  # fmt: skip
        with pytest.raises(ng.AxisError, match=r"ng\.DimArray\(array, dims\)"):
            call()


@pytest.mark.parametrize("one", [2, 2.0, True, np.float32(2), np.array(2.0), np.int64(2), 2 + 0j])
def test_scalars_are_welcome(one: Any) -> None:
    a = array("xy")
    for out, expected in ((a + one, a.data + one), (one - a, one - a.data), (a * one, a.data * one), (np.add(one, a), one + a.data)):
        assert out.dims == a.dims
        np.testing.assert_array_equal(out.data, expected)


def test_python_scalars_do_not_change_the_dtype() -> None:
    a = ng.DimArray(np.ones(2, np.float32), "x")
    assert (a * 2.5).dtype == np.float32
    assert (1 / a).dtype == np.float32
    assert (a + np.float64(1)).dtype == np.float64  # as in NumPy


def test_other_kinds_of_arrays_are_pointed_the_way() -> None:
    import xarray as xr

    a, da = array("xy"), xr.DataArray(np.ones((2, 3)), dims=("x", "y"))
    for call in (lambda: a + da, lambda: da + a, lambda: np.add(a, da), lambda: a < da):
        with pytest.raises(TypeError, match=r"asdimarray|to_xarray"):
            call()
    p = ng.positional(np.ones((2, 3)))
    for call in (lambda: a + p, lambda: p + a, lambda: np.multiply(p, a)):
        with pytest.raises(TypeError, match=r"name\("):
            call()
    for other in ("text", None, [1.0, 2.0], {}):
        with pytest.raises(TypeError):
            a + other


# ------------------------------------------------------------------------------------------------ vectorized axes


def test_no_operation_sees_a_vectorized_axis() -> None:
    a = array("bxy", "b")
    assert a.sum().vectorized == ("b",)
    np.testing.assert_array_equal(a.sum().data, a.data.sum((1, 2)))
    assert a.dims == ("x", "y")
    assert a.shape == (2, 3)
    assert a.size == 6
    assert len(a) == 2
    np.testing.assert_array_equal(a[0].data, a.data[:, 0])
    np.testing.assert_array_equal(a.argmax("x").data, a.data.argmax(1))


def test_vectorize_and_devectorize() -> None:
    a = array("xby")
    v = a.vectorize("b")
    assert (v.dims, v.vectorized, v.vectorized_sizes) == (("x", "y"), ("b",), {"b": 5})
    np.testing.assert_array_equal(v.data, np.moveaxis(a.data, 1, 0))
    back = v.devectorize("b")
    assert back.dims == ("b", "x", "y")
    np.testing.assert_array_equal(values(back, ("x", "b", "y")), a.data)
    both = a.vectorize("b", "y")
    assert set(both.vectorized) == {"b", "y"}
    assert both.devectorize("y").dims == ("y", "x")
    assert set(both.devectorize().dims) == {"b", "y", "x"}
    assert both.devectorize().dims[-1] == "x"
    assert a.devectorize().dims == a.dims
    for call in (lambda: a.vectorize("q"), lambda: a.devectorize("q")):
        with pytest.raises(ng.AxisError, match="'q'"):
            call()


def test_vectorized_indices_predicates_and_matrices() -> None:
    a = array("xy")
    index = ng.DimArray([0, 1, 1, 0, 1], "b", vectorized="b")
    out = a.isel(x=index)
    assert (out.dims, out.vectorized) == (("y",), ("b",))
    np.testing.assert_array_equal(out.data, a.data[[0, 1, 1, 0, 1]])
    batched = array("bx", "b")
    np.testing.assert_array_equal(batched.isel(x=index).data, batched.data[np.arange(5), [0, 1, 1, 0, 1]])
    chosen = ng.where(batched.sum() > 0, a, -a)
    assert (chosen.dims, chosen.vectorized) == (("x", "y"), ("b",))
    np.testing.assert_array_equal(chosen.data, np.where((batched.data.sum(1) > 0)[:, None, None], a.data, -a.data))


# ------------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize("name", ODD, ids=[type(n).__name__ + str(k) for k, n in enumerate(ODD)])
def test_any_hashable_is_a_name(name: Any) -> None:
    a = ng.DimArray(np.arange(6.0).reshape(2, 3), (name, "other"))
    assert a.sizes == {name: 2, "other": 3}
    np.testing.assert_array_equal(a.sum(name).data, [3.0, 5.0, 7.0])
    np.testing.assert_array_equal(a.sum([name]).data, [3.0, 5.0, 7.0])
    np.testing.assert_array_equal(a.isel({name: 1}).data, [3.0, 4.0, 5.0])
    assert a.rename({name: "new"}).dims == ("new", "other")
    assert a.rename({"other": (name,)}).dims == (name, (name,))
    v = a.vectorize(name)
    assert v.vectorized == (name,)
    assert v.sum().devectorize().dims == (name,)
    g = ng.grad(lambda x: (x * x).sum())(a)
    np.testing.assert_array_equal(g.data, 2 * a.data)
    j = ng.jacobian(lambda x: x.sum("other"))(a)
    assert j.dims == ((name, f"{name}_wrt", "other_wrt") if isinstance(name, str) else (name, (name, "_wrt"), "other_wrt"))
    assert repr(name) in repr(a) or str(name) in repr(a)


@pytest.mark.parametrize("name", [0, -1, True, None, Ellipsis, np.int64(3)], ids=repr)
def test_reserved_names(name: Any) -> None:
    with pytest.raises(ng.AxisError, match=r"positions|reserved"):
        ng.DimArray(np.ones(2), (name,))
    with pytest.raises(ng.AxisError, match=r"positions|reserved"):
        ng.DimArray(np.ones(2), ("x",)).rename({"x": name})
    with pytest.raises(ng.AxisError):
        ng.DimArray(np.ones(2), ("x",)).expand_dims([name])


def test_unhashable_and_miscounted_names() -> None:
    with pytest.raises(TypeError):
        ng.DimArray(np.ones(2), ([],))
    with pytest.raises(ng.AxisError, match=r"2 axes.*1 dims"):
        ng.DimArray(np.ones((2, 2)), ("x",))
    with pytest.raises(ng.AxisError, match=r"'q'"):
        ng.DimArray(np.ones(2), ("x",), vectorized=("q",))


def test_a_tuple_that_is_a_dim_is_one_dim() -> None:
    pair = ("x", "y")
    a = ng.DimArray(np.arange(4.0).reshape(2, 2), (pair, "z"))
    np.testing.assert_array_equal(a.sum(pair).data, [2.0, 4.0])
    b = ng.DimArray(np.arange(4.0).reshape(2, 2), ("x", "y"))
    np.testing.assert_array_equal(b.sum(pair).data, 6.0)
    np.testing.assert_array_equal(ng.dot(a, a, dim=pair).data, (a.data**2).sum(0))


def test_rename_swaps_and_keeps_vectorized_marks() -> None:
    a = array("bxy", "b")
    out = a.rename(x="y", y="x", b="c")
    assert (out.dims, out.vectorized) == (("y", "x"), ("c",))
    np.testing.assert_array_equal(out.data, a.data)
    with pytest.raises(ng.AxisError, match="'q'"):
        a.rename(q="r")
    with pytest.raises(TypeError, match="not both"):
        a.rename({"x": "q"}, y="r")


def test_all_names_helper_agrees_with_data() -> None:
    a = array("xby", "b")
    assert all_names(a) == ("b", "x", "y")
    assert a.data.shape == (5, 2, 3)
