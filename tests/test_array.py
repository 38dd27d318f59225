"""DimArray from outside: attributes, reprs, copies, pickles, NumPy's protocols, immutability, updates, constructors."""

from __future__ import annotations

import copy
import operator
import pickle
import weakref
from typing import Any

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.support.arrays import values

RNG = np.random.default_rng(0)


@pytest.fixture
def a() -> ng.DimArray:
    return ng.DimArray(RNG.normal(size=(2, 3, 4)), ("x", "b", "y"), vectorized="b")


# ------------------------------------------------------------------------------------------------ making one


def test_data_is_kept_as_it_is() -> None:
    raw = np.arange(6.0).reshape(2, 3)[:, ::-1]
    a = ng.DimArray(raw, ("x", "y"))
    assert a.data is raw
    assert np.shares_memory(a.transpose("y", "x").data, raw)
    assert np.shares_memory(a.isel(x=0).data, raw)


@pytest.mark.parametrize(
    ("data", "dtype"), [([1, 2], np.int64), ([1.0, 2], np.float64), ([True], np.bool_), ((1j,), np.complex128), (range(3), np.int64)]
)
def test_lists_become_arrays(data: Any, dtype: Any) -> None:
    a = ng.DimArray(data, "x")
    assert a.dtype == dtype
    np.testing.assert_array_equal(a.data, np.asarray(data))


@pytest.mark.parametrize("scalar", [1, 2.5, True, 1j, np.float32(3), np.array(4.0)])
def test_scalars_have_no_dims(scalar: Any) -> None:
    a = ng.DimArray(scalar, ())
    assert (a.dims, a.shape, a.ndim, a.size) == ((), (), 0, 1)
    assert a.dtype == np.asarray(scalar).dtype
    assert a.item() == scalar


def test_bad_data_is_refused() -> None:
    a = ng.DimArray([1.0], "x")
    with pytest.raises(TypeError, match="DimArray already"):
        ng.DimArray(a, ("x",))
    for data in ([[1.0], [1.0, 2.0]], ["text"], [object()]):
        with pytest.raises((TypeError, ValueError)):
            ng.DimArray(data, ("x",))


# ------------------------------------------------------------------------------------------------ attributes


def test_attributes_show_the_visible_dims(a: ng.DimArray) -> None:
    assert a.dims == ("x", "y")
    assert a.shape == (2, 4)
    assert a.sizes == {"x": 2, "y": 4}
    assert a.ndim == 2
    assert a.size == 8
    assert a.vectorized == ("b",)
    assert a.vectorized_sizes == {"b": 3}
    assert a.dtype == np.float64
    assert a.backend == "numpy"
    assert a.data.shape == (3, 2, 4)
    assert len(a) == 2
    assert a.T.dims == ("y", "x")


def test_host_copies() -> None:
    raw = np.arange(3.0)
    a = ng.DimArray(raw, "x")
    copy_ = a.to_numpy()
    assert not np.shares_memory(copy_, raw)
    assert ng.DimArray(2.5, ()).item() == 2.5
    assert float(ng.DimArray([[2.5]], ("x", "y"))) == 2.5
    assert int(ng.DimArray(3, ())) == 3
    assert complex(ng.DimArray(1j, ())) == 1j
    assert operator.index(ng.DimArray(2, ())) == 2
    assert bool(ng.DimArray([True], "x")) is True
    assert a.to("numpy") is a


def test_single_elements_only(a: ng.DimArray) -> None:
    for f in (float, int, complex, bool, lambda x: x.item()):
        with pytest.raises(ValueError, match=r"single element.*x: 2"):
            f(a.devectorize().isel(b=0))
        with pytest.raises(TypeError, match=r"per slice"):
            f(a.sum())
    with pytest.raises(TypeError, match="float64"):
        operator.index(ng.DimArray(2.0, ()))
    with pytest.raises(TypeError, match="visible"):
        len(a.sum())


def test_to_xarray_and_back(a: ng.DimArray) -> None:
    da = a.to_xarray(coords={"x": [10, 20]}, name="t")
    assert da.dims == ("b", "x", "y")
    assert da.name == "t"
    np.testing.assert_array_equal(da["x"], [10, 20])
    np.testing.assert_array_equal(da.to_numpy(), a.data)
    for given in (da, da.variable):
        back = ng.asdimarray(given)
        assert back.dims == ("b", "x", "y")
        np.testing.assert_array_equal(back.data, da.to_numpy())
    assert ng.asdimarray(a) is a
    assert ng.asdimarray(2.5).item() == 2.5
    for other in (np.ones(3), [1.0, 2.0], "text"):
        with pytest.raises((TypeError, ValueError)):
            ng.asdimarray(other)


# ------------------------------------------------------------------------------------------------ reprs


def test_repr_shows_dims_sizes_and_hidden_axes(a: ng.DimArray) -> None:
    text = repr(a)
    assert text.startswith("<DimArray (x: 2, y: 4) vectorized (b: 3) float64>\n")
    assert repr(a.data) in text
    assert str(a) == text
    assert repr(ng.DimArray(np.float32(1.5), ())) == "<DimArray () float32>\narray(1.5, dtype=float32)"
    assert repr(ng.DimArray([], "x")) == "<DimArray (x: 0) float64>\narray([], dtype=float64)"


def test_html_is_escaped() -> None:
    page = ng.DimArray(np.ones((2, 3)), ("<script>", "b&c"), vectorized="b&c")._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;: 2" in page
    assert "b&amp;c: 3" in page
    assert "float64" in page
    opened, closed = page.count("<div") + page.count("<b>"), page.count("</div>") + page.count("</b>")
    assert opened == closed


# ------------------------------------------------------------------------------------------------ copies and pickles


def test_copies_and_pickles(a: ng.DimArray) -> None:
    for other in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert type(other) is ng.DimArray
        assert (other.dims, other.vectorized) == (a.dims, a.vectorized)
        np.testing.assert_array_equal(other.data, a.data)
    assert not np.shares_memory(copy.deepcopy(a).data, a.data)
    assert weakref.ref(a)() is a
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        b = pickle.loads(pickle.dumps(ng.DimArray([1.0], (("t", 1),)), protocol))
        assert b.dims == (("t", 1),)


def test_errors_pickle() -> None:
    for kind in (ng.AxisError, ng.TraceError):
        error = pickle.loads(pickle.dumps(kind("message")))
        assert type(error) is kind
        assert str(error) == "message"
    assert issubclass(ng.AxisError, ValueError)
    assert issubclass(ng.TraceError, TypeError)


# ------------------------------------------------------------------------------------------------ immutability


def test_in_place_operators_rebind() -> None:
    raw = np.ones(3)
    a = ng.DimArray(raw, "x")
    first = a
    for op in ("iadd", "isub", "imul", "itruediv", "ipow", "ifloordiv", "imod"):
        a = getattr(operator, op)(a, 2.0)
    assert first.data is raw
    np.testing.assert_array_equal(raw, np.ones(3))
    assert a is not first


def test_nothing_can_be_written(a: ng.DimArray) -> None:
    with pytest.raises(TypeError):
        a[{"x": 0}] = 1.0
    with pytest.raises(AttributeError):
        a.new_attribute = 1
    for name in ("dims", "shape", "data", "dtype", "vectorized"):
        with pytest.raises(AttributeError):
            setattr(a, name, None)
    with pytest.raises(TypeError):
        np.add(a, 1.0, out=np.zeros((3, 2, 4)))
    with pytest.raises(TypeError):
        hash(a)
    with pytest.raises(TypeError):
        np.add.at(a, 0, 1.0)


# ------------------------------------------------------------------------------------------------ operators


BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne"]


@pytest.mark.parametrize("name", BINARY)
def test_operators_are_numpys(name: str) -> None:
    op = getattr(operator, name)
    x, y = RNG.uniform(0.5, 2, (2, 3)), RNG.uniform(0.5, 2, 3)
    a, b = ng.DimArray(x, ("x", "y")), ng.DimArray(y, "y")
    for out, expected in ((op(a, b), op(x, y)), (op(a, 1.5), op(x, 1.5)), (op(1.5, a), op(1.5, x)), (op(a, np.float64(1.5)), op(x, 1.5))):
        assert out.dims == ("x", "y")
        np.testing.assert_array_equal(out.data, expected)


@pytest.mark.parametrize("name", ["and_", "or_", "xor"])
def test_logic_operators(name: str) -> None:
    op = getattr(operator, name)
    for x, y in (([True, True, False], [True, False, False]), ([6, 5, 1], [3, 9, 1])):
        a, b = ng.DimArray(x, "x"), ng.DimArray(y, "x")
        np.testing.assert_array_equal(op(a, b).data, op(np.array(x), np.array(y)))
        np.testing.assert_array_equal(op(x[0], a).data, op(x[0], np.array(x)))
    np.testing.assert_array_equal((~ng.DimArray([True, False], "x")).data, [False, True])


def test_unary_operators_and_builtins() -> None:
    x = np.array([-1.5, 0.25, 2.5])
    a = ng.DimArray(x, "x")
    np.testing.assert_array_equal((-a).data, -x)
    np.testing.assert_array_equal((+a).data, x)
    np.testing.assert_array_equal(abs(a).data, abs(x))
    np.testing.assert_array_equal(round(a, 1).data, np.round(x, 1))
    np.testing.assert_array_equal(round(a).data, np.round(x))
    for out, expected in zip(divmod(a, 0.5), np.divmod(x, 0.5), strict=True):
        np.testing.assert_array_equal(out.data, expected)
    for out, expected in zip(divmod(7.0, ng.DimArray([2.0, 3.0], "x")), np.divmod(7.0, [2.0, 3.0]), strict=True):
        np.testing.assert_array_equal(out.data, expected)
    np.testing.assert_array_equal(a.astype(np.float32).data, x.astype(np.float32))
    z = ng.DimArray(x + 1j, "x")
    np.testing.assert_array_equal(z.real.data, x)
    np.testing.assert_array_equal(z.imag.data, np.ones(3))
    np.testing.assert_array_equal(z.conj().data, x - 1j)


def test_matmul_operator_is_pointed_to_named_products() -> None:
    a = ng.DimArray(np.ones((2, 2)), ("x", "y"))
    for call in (lambda: a @ a, lambda: np.matmul(a, a)):
        with pytest.raises(TypeError, match=r"dot"):
            call()


def test_conditions_need_one_element(a: ng.DimArray) -> None:
    with pytest.raises(ValueError, match="single element"):
        bool(a.devectorize() > 0)
    with pytest.raises(TypeError, match="per slice"):
        bool(a.sum() > 0)
    assert bool(ng.DimArray(2.0, ()) > 1)


# ------------------------------------------------------------------------------------------------ indexing


def test_positions_by_order_and_by_name() -> None:
    x = RNG.normal(size=(2, 3, 4))
    a = ng.DimArray(x, ("x", "y", "z"))
    cases = [
        (a[0], x[0]), (a[-1, :, 2], x[-1, :, 2]), (a[..., 1], x[..., 1]), (a[:, ::2], x[:, ::2]), (a[1:, ..., ::-1], x[1:, ..., ::-1]),
        (a[{"y": 1}], x[:, 1]), (a[{"z": slice(None, None, -2), "x": 0}], x[0, :, ::-2]), (a[...], x), (a[[1, 0, 1]], x[[1, 0, 1]]),
        (a[:, [True, False, True]], x[:, [True, False, True]]), (a[:, np.array([2, -1])], x[:, [2, -1]]),
        (a.isel(y=[0, 2], z=[1, 1, 0]), x[:, [0, 2]][..., [1, 1, 0]]), (a.isel(x=np.int64(1)), x[1]), (a[np.array(1)], x[1]),
    ]  # fmt: skip
    for out, expected in cases:
        np.testing.assert_array_equal(out.data, expected)
    mask = ng.DimArray([True, False, True], "y")
    np.testing.assert_array_equal(a.isel(y=mask).data, x[:, [0, 2]])
    line = ng.DimArray(x[0, 0], "z")
    np.testing.assert_array_equal(line[line > 0].data, x[0, 0][x[0, 0] > 0])


def test_bad_indices_say_what_is_wrong(a: ng.DimArray) -> None:
    for call, kind, text in (
        (lambda: a.isel(x=2), IndexError, r"2.*'x'.*size 2"),
        (lambda: a.isel(x=[0, -3]), IndexError, r"-3.*'x'"),
        (lambda: a[0, 0, 0], IndexError, "too many"),
        (lambda: a[..., 0, ...], IndexError, "ellipsis"),
        (lambda: a[None], ng.AxisError, "expand_dims"),
        (lambda: a.isel(x=[0.5]), TypeError, "float64"),
        (lambda: a.isel(x="0"), TypeError, r"'x'|index"),
        (lambda: a.isel(x=True), TypeError, "True"),
        (lambda: a.isel(x=[True]), ng.AxisError, r"size 1.*size 2"),
        (lambda: a.isel(x=[[0, 1]]), ng.AxisError, "without names"),
        (lambda: a.isel({"x": 0}, y=0), TypeError, "not both"),
        (lambda: a.roll(x=1.5), TypeError, "integer"),
        (lambda: a.shift(x=1.5), TypeError, "integer"),
        (lambda: a.pad(x=1.5), TypeError, "float"),
    ):
        with pytest.raises(kind, match=text):
            call()


# ------------------------------------------------------------------------------------------------ updates


def _numpy_update(x: np.ndarray, key: Any, value: Any, kind: str) -> np.ndarray:
    out = x.copy()
    ufunc = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}.get(kind)
    if ufunc is None:
        out[key] = value
    else:
        ufunc.at(out, key, value)
    return out


@pytest.mark.parametrize("kind", ["set", "add", "multiply", "min", "max"])
@pytest.mark.parametrize(
    "key", [{"x": 1}, {"x": slice(0, 2)}, {"x": slice(None, None, -2)}, {"x": [2, 0]}, {"x": [1, 1, 0]}, {"y": -1, "x": [0, 2]}, {"x": [True, False, True]}, {}], ids=repr
)
def test_updates_are_numpys(kind: str, key: Any) -> None:
    rng = np.random.default_rng(0)  # of its own: the last bit of a sum that nearly cancels depends on the draw
    x = rng.normal(size=(3, 4))
    a = ng.DimArray(x, ("x", "y"))
    full = tuple(key.get(d, slice(None)) for d in ("x", "y"))
    for value in (0.5, -2):
        out = getattr(a.at[key], kind)(value)
        assert out.dims == ("x", "y")
        np.testing.assert_allclose(out.data, _numpy_update(x, full, value, kind), rtol=1e-15)
    part = rng.normal(size=np.shape(x[full]))
    names = [d for d, k in zip(("x", "y"), full, strict=True) if not isinstance(k, int)]
    out = getattr(a.at[key], kind)(ng.DimArray(part, names))
    np.testing.assert_allclose(values(out, ("x", "y")), _numpy_update(x, full, part, kind), rtol=1e-15)
    np.testing.assert_array_equal(a.data, x)


def test_updates_by_order_and_pointwise() -> None:
    x = RNG.normal(size=(3, 4))
    a = ng.DimArray(x, ("x", "y"))
    np.testing.assert_array_equal(a.at[0, 1:3].set(0.0).data, _numpy_update(x, (0, slice(1, 3)), 0.0, "set"))
    i, j = ng.DimArray([0, 2, 0], "p"), ng.DimArray([1, 1, 1], "p")
    out = a.at[{"x": i, "y": j}].add(ng.DimArray([1.0, 10.0, 100.0], "p"))
    np.testing.assert_allclose(out.data, _numpy_update(x, ([0, 2, 0], [1, 1, 1]), [1.0, 10.0, 100.0], "add"))
    out = a.at[{"x": i, "y": j}].set(ng.DimArray([1.0, 10.0, 100.0], "p"))
    np.testing.assert_allclose(out.data, _numpy_update(x, ([0, 2, 0], [1, 1, 1]), [1.0, 10.0, 100.0], "set"))


@pytest.mark.parametrize("kind", ["set", "add", "multiply", "min", "max"])
def test_the_target_gains_the_names_of_the_value(kind: str) -> None:
    x, v = RNG.normal(size=(3, 4)), RNG.normal(size=(5, 4))
    a = ng.DimArray(x, ("x", "y"))
    visible = getattr(a.at[{"x": 1}], kind)(ng.DimArray(v, ("s", "y")))
    assert set(visible.dims) == {"s", "x", "y"}
    hidden = getattr(a.at[{"x": 1}], kind)(ng.DimArray(v, ("b", "y"), vectorized="b"))
    assert (set(hidden.dims), hidden.vectorized) == ({"x", "y"}, ("b",))
    by_slice = getattr(a.at[{"x": ng.DimArray([0, 2, 1, 1, 0], "b", vectorized="b")}], kind)(ng.DimArray(v, ("b", "y"), vectorized="b"))
    assert by_slice.vectorized == ("b",)
    for s in range(5):
        np.testing.assert_allclose(values(visible.isel(s=s), ("x", "y")), _numpy_update(x, 1, v[s], kind))
        np.testing.assert_allclose(values(hidden.devectorize().isel(b=s), ("x", "y")), _numpy_update(x, 1, v[s], kind))
        expected = _numpy_update(x, [0, 2, 1, 1, 0][s], v[s], kind)
        np.testing.assert_allclose(values(by_slice.devectorize().isel(b=s), ("x", "y")), expected)


@pytest.mark.parametrize("kind", ["set", "add", "multiply", "min", "max"])
def test_gradients_of_updates(kind: str) -> None:
    x, v = ng.DimArray(RNG.normal(size=(3, 2)), ("x", "y")), ng.DimArray(RNG.normal(size=(4, 2)), ("p", "y"))
    index = ng.DimArray([1, 1, 0, 1], "p")
    ng.check_gradients(lambda x, v: getattr(x.at[{"x": index}], kind)(v), x, v)
    batched = ng.DimArray(RNG.normal(size=(3, 4, 2)), ("b", "p", "y"), vectorized="b")
    ng.check_gradients(lambda x, v: getattr(x.at[{"x": index}], kind)(v), x, batched)


def test_updates_need_an_index() -> None:
    a = ng.DimArray([1.0, 2.0], "x")
    with pytest.raises(TypeError, match="say where"):
        a.at.set(1.0)
    with pytest.raises(IndexError, match="'x'"):
        a.at[{"x": 5}].set(1.0)


# ------------------------------------------------------------------------------------------------ NumPy's protocols


def test_ufuncs_and_functions(a: ng.DimArray) -> None:
    np.testing.assert_array_equal(np.exp(a).data, np.exp(a.data))
    np.testing.assert_array_equal(np.add(a, 1).data, a.data + 1)
    np.testing.assert_array_equal(np.arctan2(1.0, a).data, np.arctan2(1.0, a.data))
    np.testing.assert_array_equal(np.sum(a).data, a.data.sum((1, 2)))
    np.testing.assert_array_equal(np.sum(a, axis="x").data, a.data.sum(1))
    np.testing.assert_array_equal(np.mean(a, axis=("x", "y")).data, a.data.mean((1, 2)))
    np.testing.assert_array_equal(np.nanmax(a, axis="y").data, a.data.max(2))
    np.testing.assert_array_equal(np.clip(a, -0.5, 0.5).data, a.data.clip(-0.5, 0.5))
    np.testing.assert_array_equal(np.where(a > 0, a, 0.0).data, a.data.clip(0))
    np.testing.assert_array_equal(np.real(a).data, a.data)
    np.testing.assert_array_equal(np.asarray(a), a.data)
    np.testing.assert_array_equal(np.round(a, 1).data, np.round(a.data, 1))
    assert np.shape(a) == (2, 4)
    assert np.ndim(a) == 2
    assert np.size(a) == 8
    np.testing.assert_array_equal(np.clip(a, a_min=0.0, a_max=None).data, a.data.clip(0))
    np.testing.assert_array_equal(np.cumsum(a, axis="y").data, a.data.cumsum(2))


def test_numpys_reductions_do_not_skip_nan() -> None:
    a = ng.DimArray([1.0, np.nan], "x")
    assert np.isnan(np.sum(a).item())
    assert np.nansum(a).item() == 1.0
    assert a.sum().item() == 1.0
    assert np.isnan(np.max(a).item())
    assert np.nanmean(a).item() == 1.0


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda a: np.reshape(a, (-1,)), "stack"), (lambda a: np.concatenate([a, a]), "concat"), (lambda a: np.stack([a, a]), "concat"),
        (lambda a: np.linalg.inv(a), "dims"), (lambda a: np.linalg.cholesky(a), "cholesky"), (lambda a: np.fft.fft(a), "fft"),
        (lambda a: np.tensordot(a, a), "dot"), (lambda a: np.einsum("ij->i", a), r"ng\."), (lambda a: np.moveaxis(a, 0, 1), "transpose"),
        (lambda a: np.ravel(a), "stack"), (lambda a: np.vstack([a, a]), "concat"), (lambda a: np.unwrap(a), "unwrap"),
        (lambda a: np.add.reduce(a), "dim"), (lambda a: np.add.outer(a, a), "outer|names"), (lambda a: np.exp(a, where=[True]), "where"),
        (lambda a: np.exp(a, dtype=np.float32), "astype"), (lambda a: np.sum(a, axis=0), "0"), (lambda a: a.sum(0), "0"),
        (lambda a: np.polyfit(a, a, 1), "polyfit"), (lambda a: np.cumsum(a), "cumsum"), (lambda a: np.nancumsum(a), "cumsum"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)  # fmt: skip
def test_positional_functions_name_the_named_one(call: Any, instead: str) -> None:
    with pytest.raises((TypeError, ng.AxisError), match=instead):
        call(ng.DimArray(np.eye(2), ("x", "y")))


# ------------------------------------------------------------------------------------------------ constructors


def test_constructors() -> None:
    for f, value in ((ng.zeros, 0.0), (ng.ones, 1.0)):
        a = f({"x": 2, "b": 3}, vectorized="b")
        assert (a.dims, a.vectorized, a.dtype) == (("x",), ("b",), np.float64)
        np.testing.assert_array_equal(a.data, np.full((3, 2), value))
        assert f({"x": 2}, dtype=np.float32).dtype == np.float32
        assert f({}).shape == ()
    np.testing.assert_array_equal(ng.full({"x": 2}, 7).data, [7, 7])
    assert ng.full({"x": 2}, 7).dtype == np.int64
    np.testing.assert_array_equal(ng.arange("x", 3).data, np.arange(3))
    np.testing.assert_array_equal(ng.arange("x", 1, 7, 2).data, np.arange(1, 7, 2))
    np.testing.assert_array_equal(ng.linspace("x", 0, 1, 5).data, np.linspace(0, 1, 5))
    for start, stop, n in ((0.1, 2.3, 7), (2, -1, 4), (0.5, 3.0, 1), (0.5, 3.0, 0)):
        np.testing.assert_array_equal(ng.linspace("x", ng.DimArray(start, ()), stop, n).data, np.linspace(start, stop, n))
    np.testing.assert_array_equal(ng.linspace("x", ng.DimArray(1, ()), 9.5, 4, dtype=int).data, [1, 3, 6, 9])
    np.testing.assert_array_equal(ng.eye("i", "j", 3).data, np.eye(3))
    assert ng.eye("i", "j", 3).dims == ("i", "j")
    assert ng.arange(("t", 0), 2).dims == (("t", 0),)


def test_bounds_of_points_are_differentiated() -> None:
    loss = lambda a, b: (ng.linspace("x", a, b, 5) ** 3).sum()
    at = np.linspace(0, 1, 5)
    slopes = 3 * (0.3 + 0.9 * at) ** 2
    np.testing.assert_allclose(ng.grad(loss, (0, 1))(0.3, 1.2), [slopes @ (1 - at), slopes @ at], rtol=1e-14)
    several = ng.grad(loss)(ng.DimArray([0.3, 0.5], "n").vectorize("n"), 1.2)
    np.testing.assert_allclose(several.data, [slopes @ (1 - at), 3 * (0.5 + 0.7 * at) ** 2 @ (1 - at)], rtol=1e-14)
    with pytest.raises(ValueError, match="must be a scalar"):
        ng.linspace("x", ng.DimArray([0.3, 0.5], "n"), 1.0)


def test_like_constructors(a: ng.DimArray) -> None:
    small = ng.DimArray(np.ones((2, 3), np.float32), ("x", "b"), vectorized="b")
    for out, value in ((ng.zeros_like(small), 0), (ng.ones_like(small), 1), (ng.full_like(small, 2.5), 2.5)):
        assert (out.dims, out.vectorized, out.dtype) == (("x",), ("b",), np.float32)
        np.testing.assert_array_equal(out.data, np.full((3, 2), value))
        assert not np.shares_memory(out.data, small.data)
    assert ng.zeros_like(small, dtype=int).dtype == np.int64
    assert ng.zeros_like(small, vectorized=()).dims == ("x", "b")
    assert ng.ones_like(a).vectorized == a.vectorized
    traced = []

    def f(x: ng.DimArray) -> ng.DimArray:
        traced.append(ng.zeros_like(x))
        return (x * ng.ones_like(x)).sum()

    np.testing.assert_array_equal(ng.grad(f)(small.devectorize().isel(b=0)).data, np.ones(2, np.float32))
    assert traced[0].data.shape == (2,)


def test_constructors_own_their_memory() -> None:
    for a in (ng.zeros({"x": 2}), ng.ones({"x": 2}), ng.full({"x": 2}, 3.0), ng.zeros_like(ng.ones({"x": 2}))):
        assert a.data.flags.writeable
        assert a.data.base is None


def test_to_xarray_is_an_ordinary_data_array(a: ng.DimArray) -> None:
    assert isinstance(a.to_xarray(), xr.DataArray)
    xr.testing.assert_identical(a.to_xarray().sum("x"), a.devectorize().sum("x").to_xarray().transpose("b", "y"))


def test_what_is_in_an_array() -> None:
    x = ng.DimArray([[1.0, 3.0], [2.0, 5.0]], ("a", "b"))
    assert 3.0 in x
    assert 7.0 not in x
    assert 3.0 in x.isel(a=0, b=1)
    assert ng.grad(lambda v: v.sum() * (2.0 if 3.0 in v else 5.0))(x).data.tolist() == [[2, 2], [2, 2]]


MISTAKES = {  # calls as NumPy and xarray have them
    "roll": (lambda x: ng.roll(x, 1, "x"), r"roll: .*\{'x': value\}, or keywords, x=value; not a int"),
    "isel": (lambda x: x.isel("x", 0), r"isel: give a mapping by name"),
    "rename": (lambda x: x.rename("a"), r"rename: give a mapping by name"),
    "tile": (lambda x: ng.tile(x, (2, 2)), r"tile: give a mapping by name"),
    "a dim": (lambda x: ng.sum(x, x), r"sum: a dim is a name of \(x: 3, y: 2\), not a DimArray"),
    "order": (lambda x: ng.index_add(x, "x", ng.DimArray([0], "x"), x), "index_add: a dim is a name"),
    "rows": (lambda x: ng.tril(x, 1), "tril: dims=1 must be two different dims"),
    "degree": (lambda x: ng.polyfit(x, "x"), "the degree is missing; give deg="),
    "sizes": (lambda x: ng.zeros(3), r"sizes are given by name, such as \{'x': 3\}, not as 3"),
    "number": (lambda x: ng.DimArray(x.data, 3), "3 cannot name a dim"),
}


@pytest.mark.parametrize(("call", "said"), MISTAKES.values(), ids=MISTAKES)
def test_arguments_of_other_libraries_are_refused_by_name(call, said):
    """They were the bare errors of dict(), of tuple() and of hashes."""
    with pytest.raises((TypeError, ng.AxisError), match=said):
        call(ng.ones({"x": 3, "y": 2}))
