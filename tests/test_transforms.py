"""jacobian, hessian, hvp, linearize, vmap, checkpoint, scan, custom rules, check_gradients, nested structures."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse.linalg
import scipy.special

import namedgrad as ng
from namedgrad.transforms.tape import Tape
from tests.support.arrays import all_names, cut, indices, values
from tests.support.drawn import RNG, array, f
from tests.support.memory import taken
from tests.support.oracles import moved, richardson
from tests.support.tolerances import EXACT, FIRST, ROUNDING, SECOND, assert_close


def fd_jacobian(f: Callable[[ng.DimArray], ng.DimArray], x: ng.DimArray, out: tuple[Any, ...]) -> np.ndarray:
    """Axes ``out``, then those of ``x.data``."""
    columns = []
    for at in np.ndindex(*x.to_numpy().shape):
        unit = np.zeros(x.to_numpy().shape)
        unit[at] = 1
        columns.append(richardson(lambda h, unit=unit: values(f(moved(x, h * unit)), out)))
    full = np.array(columns).reshape((*x.to_numpy().shape, *np.shape(columns[0])))
    return np.moveaxis(full, range(x.to_numpy().ndim), range(-x.to_numpy().ndim, 0))


# ------------------------------------------------------------------------------------------------ jacobian


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("chunk", [None, 1, 3, 100])
@pytest.mark.parametrize("order", ["xz", "zx"])
def test_jacobian(mode: str, chunk: int | None, order: str) -> None:
    x = array(order)
    j = ng.jacobian(f, mode=mode, chunk=chunk)(x)
    assert j.dims == (*f(x).dims, *(f"{n}_wrt" for n in order))
    assert_close(j.to_numpy(), fd_jacobian(f, x, f(x).dims), FIRST)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobian_under_vectorized_axes(mode: str) -> None:
    x, w = array("bxz", "b"), array("z")
    for of in (lambda x: f(x) * w, lambda x: f(x) * array("cz", "c") ** 0):
        j = ng.jacobian(of, mode=mode)(x)
        for at in indices(j.vectorized_sizes):
            one = ng.jacobian(of, mode=mode)(cut(x, at))
            one = cut(one, at)
            assert_close(values(cut(j, at), all_names(one)), one.to_numpy(), ROUNDING)
    plain = ng.jacobian(lambda w: f(x) * w * w, mode=mode)(w)
    assert (set(plain.vectorized), plain.dims) == ({"b"}, (*f(x).dims, "z_wrt"))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobian_over_is_block_diagonal(mode: str) -> None:
    x = array("bxz")
    j = ng.jacobian(f, mode=mode, over="b")(x)
    assert "b" in j.dims
    assert "b_wrt" not in j.dims
    for at in indices({"b": 5}):
        one = ng.jacobian(f, mode=mode)(cut(x, at))
        assert_close(values(cut(j, at), one.dims), one.to_numpy(), ROUNDING)


def test_jacobian_of_several_inputs_and_outputs() -> None:
    x, y = array("xz"), array("z")

    def g(x: ng.DimArray, y: ng.DimArray) -> dict[str, Any]:
        return {"a": f(x) * y, "b": (x.sum("z"), y * y)}

    j = ng.jacobian(g, wrt=(0, 1))(x, y)
    assert set(j) == {"a", "b"}
    for k, (arg, other) in enumerate(((x, y), (y, x))):
        for pick, out in ((lambda r: r["a"], j["a"]), (lambda r: r["b"][0], j["b"][0]), (lambda r: r["b"][1], j["b"][1])):
            one = (lambda x, pick=pick: pick(g(x, y))) if k == 0 else (lambda y, pick=pick: pick(g(x, y)))
            assert_close(out[k].to_numpy(), fd_jacobian(one, arg, one(arg).dims), FIRST)
            assert out[k].dims == (*one(arg).dims, *(f"{n}_wrt" for n in arg.dims))
        assert other is not arg


def test_jacobian_names() -> None:
    x = ng.DimArray(RNG.normal(size=(2, 3)), (("t", 1), "x_wrt"))
    j = ng.jacobian(lambda x: x * x)(x)
    assert j.dims == (("t", 1), "x_wrt", (("t", 1), "_wrt"), "x_wrt_wrt")
    clash = ng.DimArray(RNG.normal(size=(2, 2)), ("x", "x_wrt"))
    with pytest.raises(ng.AxisError, match="suffix"):
        ng.jacobian(lambda x: x * x)(clash)
    assert ng.jacobian(lambda x: x * x, suffix="2")(clash).dims == ("x", "x_wrt", "x2", "x_wrt2")
    assert ng.jacobian(lambda x: x * 2)(ng.DimArray(3.0, ())).dims == ()


def test_jacobian_of_jacobian_needs_another_suffix() -> None:
    with pytest.raises(ng.AxisError, match="suffix"):
        ng.jacobian(ng.jacobian(lambda x: x * x))(array("z"))


@pytest.mark.parametrize("modes", list(itertools.product(["forward", "reverse"], repeat=2)))
def test_second_derivatives_by_nested_jacobians(modes: tuple[str, str]) -> None:
    x = array("z")

    def inner(x: ng.DimArray) -> ng.DimArray:
        return np.sin(x) * x.sum()

    jj = ng.jacobian(ng.jacobian(inner, mode=modes[0]), mode=modes[1], suffix="_2")(x)
    assert jj.dims == ("z", "z_wrt", "z_2")
    expected = fd_jacobian(lambda x: ng.jacobian(inner)(x), x, ("z", "z_wrt"))
    assert_close(jj.to_numpy(), expected, FIRST)


def test_jacobian_refusals() -> None:
    with pytest.raises(ValueError, match="sideways"):
        ng.jacobian(f, mode="sideways")
    with pytest.raises(TypeError, match="complex"):
        ng.jacobian(lambda z: z * z)(ng.DimArray([1j], "x"))
    with pytest.raises(TypeError, match="complex"):
        ng.hessian(lambda z: abs(z).sum())(ng.DimArray([1j], "x"))
    with pytest.raises(TypeError, match="int64"):
        ng.jacobian(lambda n: n * 1.0)(ng.DimArray([1], "x"))


# ------------------------------------------------------------------------------------------------ hessian and hvp


def loss(x: ng.DimArray) -> ng.DimArray:
    return (np.exp(np.sin(x)) * x.isel(z=0)).sum() * x.sum()


@pytest.mark.parametrize("chunk", [None, 1, 3])
def test_hessian(chunk: int | None) -> None:
    x = array("zx")
    h = ng.hessian(loss, chunk=chunk)(x)
    assert h.dims == ("z", "x", "z_wrt", "x_wrt")
    expected = fd_jacobian(ng.grad(loss), x, ("z", "x"))
    assert_close(h.to_numpy(), expected, FIRST)
    diagonal = ng.hessian(loss, part="diagonal", chunk=chunk)(x)
    assert diagonal.dims == x.dims
    assert_close(diagonal.to_numpy(), np.einsum("abab->ab", h.to_numpy()), ROUNDING)
    assert_close(ng.hessian(loss, part="trace", chunk=chunk)(x).to_numpy(), np.einsum("abab->", h.to_numpy()), ROUNDING)
    v = array("xz")
    assert_close(ng.hvp(loss, x, v).to_numpy(), np.einsum("abcd,dc->ab", h.to_numpy(), v.to_numpy()), ROUNDING)


@pytest.mark.parametrize("part", ["full", "diagonal", "trace"])
def test_hessian_under_vectorized_axes_and_over(part: str) -> None:
    x = array("zbx")
    vectorized = ng.hessian(loss, part=part)(x.vectorize("b"))
    over = ng.hessian(loss, part=part, over="b")(x)
    assert vectorized.vectorized == ("b",)
    assert not over.vectorized
    for b in range(5):
        one = ng.hessian(loss, part=part)(cut(x, {"b": b}))
        for many in (vectorized, over):
            assert_close(values(cut(many, {"b": b}), one.dims), one.to_numpy(), ROUNDING)
    if part == "full":
        assert set(over.dims) == {"z", "b", "x", "z_wrt", "x_wrt"}


def test_hessian_of_several_inputs() -> None:
    x, y = array("xz"), array("z")
    h = ng.hessian(lambda x, y: (np.sin(x * y) * y).sum() ** 2, wrt=(0, 1))(x, y)
    g = ng.grad(lambda x, y: (np.sin(x * y) * y).sum() ** 2, wrt=(0, 1))
    for i, j in itertools.product(range(2), repeat=2):
        one = lambda a, i=i, j=j: g(*((a, y) if j == 0 else (x, a)))[i]
        at = (x, y)[j]
        assert h[i][j].dims == (*(x, y)[i].dims, *(f"{n}_wrt" for n in at.dims))
        assert_close(h[i][j].to_numpy(), fd_jacobian(one, at, (x, y)[i].dims), SECOND)


def test_parts_of_a_hessian_never_form_it() -> None:
    x = ng.DimArray(RNG.normal(size=1000), "x")
    mixing = lambda x: (x**3).sum() + x.sum() ** 2
    trace, diagonal = (ng.hessian(mixing, part=p, chunk=10) for p in ("trace", "diagonal"))
    of_trace, of_diagonal = taken(lambda: trace(x).item()), taken(lambda: diagonal(x))
    assert math.isclose(of_trace.result, (6 * x.to_numpy() + 2).sum(), rel_tol=1e-10)
    assert_close(of_diagonal.result.to_numpy(), 6 * x.to_numpy() + 2, ROUNDING)
    assert max(of_trace.most, of_diagonal.most) < 1000 * 1000 * 8 / 4
    with pytest.raises(ValueError, match="corner"):
        ng.hessian(loss, part="corner")


def of_a_pair(x):
    out = np.full(x.shape, 2.0)
    out[3, 4], out[30, 41] = 2 + 2 * x[30, 41] ** 2, 2 + 2 * x[3, 4] ** 2
    return out


@pytest.mark.parametrize(
    ("f", "diagonal", "passes"),
    [
        (lambda x: np.exp(x).sum(), np.exp, 1),
        (lambda x: (x**4).sum() + (x.sum("x") ** 3).sum(), lambda x: 12 * x**2 + 6 * x.sum(0), 40),
        (lambda x: (x**4).sum() + (x.sum("y") ** 3).sum(), lambda x: 12 * x**2 + 6 * x.sum(1, keepdims=True), 50),
        (lambda x: (x**2).sum() + (x * x.roll(x=1)).sum(), lambda x: np.full(x.shape, 2.0), 40),
        (lambda x: (x**2).sum() + (x.isel(x=3, y=4) * x.isel(x=30, y=41)) ** 2, of_a_pair, 2000),
        (lambda x: ng.logsumexp(x), lambda x: scipy.special.softmax(x) * (1 - scipy.special.softmax(x)), 2000),
    ],
)
def test_cells_that_do_not_meet_take_one_pass(f, diagonal, passes, monkeypatch) -> None:
    x = RNG.normal(size=(40, 50))
    counts, push = [], Tape.push
    monkeypatch.setattr(Tape, "push", lambda tape, ts: (counts.append(ts[0].full_shape[0]), push(tape, ts))[1])
    found = ng.hessian(f, part="diagonal")(ng.DimArray(x, ("x", "y")))
    assert_close(found.to_numpy(), diagonal(x), ROUNDING)
    assert sum(counts[2:]) == passes  # after a look along either dim


# ------------------------------------------------------------------------------------------------ linearize


def test_linearize() -> None:
    x = array("xz")
    y, linear = ng.linearize(f, x)
    assert_close(y.to_numpy(), f(x).to_numpy(), EXACT)
    dense = linear.dense()
    j = fd_jacobian(f, x, y.dims)
    assert_close(dense.to_numpy(), j, FIRST)
    t, c = array("zx"), array("zy")
    assert_close(linear(t).to_numpy(), np.einsum("abcd,dc->ab", dense.to_numpy(), t.to_numpy()), ROUNDING)
    assert linear(t).dims == y.dims
    assert linear.T(c).dims == x.dims
    assert_close(linear.T(c).to_numpy(), np.einsum("abcd,ab->cd", dense.to_numpy(), values(c, y.dims)), ROUNDING)
    assert_close(linear.T.T(t).to_numpy(), linear(t).to_numpy(), EXACT)
    for _ in range(2):  # as often as asked
        assert_close(linear(t * 2).to_numpy(), 2 * linear(t).to_numpy(), ROUNDING)


def test_composition_of_linear_maps() -> None:
    x = array("xz")
    y, inner = ng.linearize(f, x)
    _, outer = ng.linearize(lambda y: np.sin(y) * y.sum(), y)
    both = outer @ inner
    _, direct = ng.linearize(lambda x: np.sin(f(x)) * f(x).sum(), x)
    t = array("xz")
    assert_close(both(t).to_numpy(), direct(t).to_numpy(), ROUNDING)
    c = direct(t)
    assert_close(both.T(c).to_numpy(), direct.T(c).to_numpy(), ROUNDING)
    assert_close((inner @ t).to_numpy(), inner(t).to_numpy(), EXACT)
    _, two = ng.linearize(lambda x, y: x * y, x, t)
    assert_close((two @ (t, x)).to_numpy(), (t * t + x * x).to_numpy(), ROUNDING)


def test_linear_maps_in_scipy() -> None:
    x = array("z")
    a = ng.DimArray(RNG.normal(size=(4, 4)) + 5 * np.eye(4), ("z", "q"))
    y, linear = ng.linearize(lambda x: ng.dot(a, x * x, dim="z").rename(q="z"), x)
    operator = linear.to_scipy()
    assert operator.shape == (4, 4)
    dense = linear.dense().to_numpy()
    v = RNG.normal(size=4)
    np.testing.assert_allclose(operator @ v, dense @ v, rtol=1e-12)
    np.testing.assert_allclose(operator.T @ v, dense.T @ v, rtol=1e-12)
    np.testing.assert_allclose(operator.H @ v, dense.T @ v, rtol=1e-12)
    found, status = scipy.sparse.linalg.gmres(operator, y.to_numpy(), rtol=1e-12)
    assert status == 0
    np.testing.assert_allclose(dense @ found, y.to_numpy(), rtol=1e-8)
    _, batched = ng.linearize(lambda x: x * array("bz", "b"), x)
    with pytest.raises(ng.AxisError, match="'b'"):
        batched.to_scipy()


def test_complex_linear_maps() -> None:
    z = ng.DimArray(RNG.normal(size=3) + 1j * RNG.normal(size=3), "x")
    _, linear = ng.linearize(lambda z: z * z.conj() * z + abs(z), z)
    t = ng.DimArray(RNG.normal(size=3) + 1j * RNG.normal(size=3), "x")
    c = ng.DimArray(RNG.normal(size=3) + 1j * RNG.normal(size=3), "x")
    here = np.real(np.vdot(c.to_numpy(), linear(t).to_numpy()))
    there = np.real(np.vdot(linear.T(c).to_numpy(), t.to_numpy()))
    assert math.isclose(here, there, rel_tol=1e-12)
    fd = richardson(lambda h: (lambda z: z * z.conj() * z + abs(z))(z + h * t).to_numpy())
    assert_close(linear(t).to_numpy(), fd, FIRST)


# ------------------------------------------------------------------------------------------------ structures


@dataclasses.dataclass
class Model:
    weights: list[ng.DimArray]
    bias: dict[str, Any]
    name: str = "model"


@dataclasses.dataclass(frozen=True)
class Plain:
    weights: list[ng.DimArray]
    bias: dict[str, Any]


class Pair(NamedTuple):
    first: Any
    second: Any


def test_nested_structures() -> None:
    model = Model([array("xz"), array("z")], {"b": 0.5, "n": 3, "none": None})

    def cost(m: Model, data: Pair) -> ng.DimArray:
        assert m.name == "model"
        assert isinstance(data, Pair)
        return (ng.dot(m.weights[0], m.weights[1], dim="z") * data.first).sum() + m.bias["b"] * data.second[0].sum() * 2.0

    data = Pair(array("x"), (array("z"),))
    g = ng.grad(cost, wrt=1)(model, data)
    assert isinstance(g, Pair)
    assert g.first.dims == ("x",)
    assert_close(g.second[0].to_numpy(), np.full(4, 1.0), ROUNDING)
    whole = ng.grad(lambda m: cost(Model(m.weights, m.bias), data))(Plain(model.weights, {"b": 0.5}))
    assert isinstance(whole, Plain)
    assert isinstance(whole.bias["b"], float)
    assert math.isclose(whole.bias["b"], 2 * data.second[0].sum().item(), rel_tol=1e-12)
    assert whole.weights[1].dims == ("z",)
    with pytest.raises(TypeError, match="int"):
        ng.grad(lambda m: cost(m, data))(model)


def test_floats_and_plain_arrays() -> None:
    assert ng.grad(lambda x: x**3)(2.0) == 12.0
    assert isinstance(ng.grad(lambda x: x**3)(2.0), float)
    assert ng.value_and_grad(lambda x: x * x)(3.0) == (9.0, 6.0)
    x = RNG.normal(size=(2, 3))
    g = ng.grad(lambda x: np.sum(np.sin(x) * x))(x)
    assert type(g) is np.ndarray
    np.testing.assert_allclose(g, np.cos(x) * x + np.sin(x), rtol=1e-14)
    assert ng.hessian(lambda x: x**3)(2.0) == 12.0
    np.testing.assert_allclose(ng.jacobian(lambda x: x * x)(x).reshape(6, 6), np.diag(2 * x.ravel()), rtol=1e-14)


def test_wrt() -> None:
    x, y = array("x"), array("x")

    def g(a: Any, b: Any, *, c: Any = 1.0) -> Any:
        return (a * b * b * c).sum()

    np.testing.assert_allclose(ng.grad(g, 1)(x, y).data, (2 * x * y).data)
    np.testing.assert_allclose(ng.grad(g, -1)(x, y).data, (2 * x * y).data)
    np.testing.assert_allclose(ng.grad(g, "b")(x, y).data, (2 * x * y).data)
    np.testing.assert_allclose(ng.grad(g, "c")(x, y, c=y).data, (x * y * y).data)
    np.testing.assert_allclose(ng.grad(g, "b")(x, b=y).data, (2 * x * y).data)
    both = ng.grad(g, ("b", 0))(x, y)
    assert isinstance(both, tuple)
    np.testing.assert_allclose(both[1].data, (y * y).data)
    for wrt in (2, -3, "nowhere"):
        with pytest.raises((TypeError, ValueError, IndexError), match=str(wrt)):
            ng.grad(g, wrt)(x, y)
    assert ng.grad(g).__name__ == "g"


def test_has_aux() -> None:
    x = array("x")
    g, aux = ng.grad(lambda x: ((x * x).sum(), {"twice": x * 2, "text": "hello"}), has_aux=True)(x)
    np.testing.assert_array_equal(g.data, 2 * x.data)
    np.testing.assert_array_equal(aux["twice"].data, 2 * x.data)
    (value, aux), g = ng.value_and_grad(lambda x: ((x * x).sum(), [x]), has_aux=True)(x)
    assert value.item() == pytest.approx((x.data**2).sum())
    np.testing.assert_array_equal(aux[0].data, x.data)


def test_outputs_of_any_structure() -> None:
    x = array("xz")
    out, pull = ng.pullback(lambda x: {"a": [f(x), 3, "text"], "b": (x.sum(),)}, x)
    assert out["a"][1:] == [3, "text"]
    c = {"a": [array("zy"), None, None], "b": (ng.DimArray(2.0, ()),)}
    _, one = ng.pullback(f, x)
    np.testing.assert_allclose(pull(c).data, one(c["a"][0]).data + 2.0, rtol=1e-12)
    out, tangent = ng.pushforward(lambda x: {"a": f(x), "n": 3}, (x,), (x,))
    assert tangent["a"].dims == out["a"].dims


# ------------------------------------------------------------------------------------------------ vectorize, devectorize, vmap


def test_vectorize_trees() -> None:
    tree = {"a": array("bx"), "n": 3, "l": [array("xb"), array("x")]}
    hidden = ng.vectorize(tree, "b")
    assert hidden["a"].vectorized == hidden["l"][0].vectorized == ("b",)
    assert hidden["l"][1].vectorized == ()
    assert hidden["n"] == 3
    back = ng.devectorize(hidden, "b")
    assert back["l"][0].dims == ("b", "x")
    with pytest.raises(ng.AxisError, match="'nowhere'"):
        ng.vectorize(tree, "nowhere")


def test_vmap() -> None:
    x, y = array("bxz"), array("z")
    out = ng.vmap(lambda x, y: f(x * y), "b")(x, y)
    assert "b" in out.dims
    assert not out.vectorized
    for b in range(5):
        one = f(cut(x, {"b": b}) * y)
        assert_close(values(cut(out, {"b": b}), one.dims), one.to_numpy(), ROUNDING)
    slices = ng.vmap(ng.grad(loss), over="b")(x)
    for b in range(5):
        one = ng.grad(loss)(cut(x, {"b": b}))
        assert_close(values(cut(slices, {"b": b}), one.dims), one.to_numpy(), ROUNDING)
    g = ng.grad(lambda x: ng.vmap(loss, "b")(x).sum())(x)
    assert g.dims == x.dims
    assert_close(values(g, slices.dims), slices.to_numpy(), ROUNDING)
    nested = ng.vmap(ng.vmap(lambda a, b: (a * b).sum(), "b"), "c")(array("bx"), array("cx"))
    assert set(nested.dims) == {"b", "c"}


# ------------------------------------------------------------------------------------------------ check_gradients


def test_check_gradients_passes_and_fails() -> None:
    x = array("xz")
    ng.check_gradients(f, x)
    ng.check_gradients(lambda x, y: (f(x) * y).sum(), x, array("z"))
    ng.check_gradients(f, array("bxz", "b"))
    wrong = ng.custom_pullback(lambda x: np.sin(x))
    wrong.pullback(lambda c, out, x: c * np.cos(x) * ng.where(x > x.max() - 1e-9, 1.01, 1.0))
    at = ng.DimArray([0.1, 0.2, 0.9], "x")
    with pytest.raises(AssertionError, match=r"(?s)x.*2"):
        ng.check_gradients(wrong, at)
    second = ng.custom_pullback(lambda x: np.sin(x))
    second.pullback(lambda c, out, x: c * np.cos(ng.stop_gradient(x)))
    ng.check_gradients(second, at, order=1)
    with pytest.raises(AssertionError):
        ng.check_gradients(second, at, order=2)


# ------------------------------------------------------------------------------------------------ wrong calls


def test_wrong_cotangents_and_tangents_are_named() -> None:
    x = array("x")
    _, pull = ng.pullback(lambda x: (x, x), x)
    with pytest.raises(TypeError, match="cotangent is a DimArray"):
        pull(x)
    np.testing.assert_array_equal(pull((x, None)).data, x.data)
    _, pull = ng.pullback(lambda x: x * 2, x)
    with pytest.raises(ng.AxisError, match=r"cotangent.*ng\.DimArray\(array, dims\)"):
        pull(np.ones(2))
    with pytest.raises(ng.AxisError, match=r"tangent.*ng\.DimArray\(array, dims\)"):
        ng.pushforward(lambda x: x * 2, (x,), (np.ones(2),))
    np.testing.assert_array_equal(pull(1.5).data, [3.0, 3.0])
    for call in (lambda: ng.pushforward(lambda x: x, (x,), (x, x)), lambda: ng.pushforward(lambda x: x, x, x)):
        with pytest.raises(TypeError, match="argument"):
            call()
    with pytest.raises(TypeError, match="complex"):
        ng.pushforward(lambda x: x * 2, (x,), (x * 1j,))
    for result in (None, "text", 3, [x.sum(), x.sum()]):
        with pytest.raises(TypeError, match="single"):
            ng.grad(lambda x, result=result: result)(x)
    assert not ng.grad(lambda x: 3.0)(x).data.any()


# ------------------------------------------------------------------------------------------------ draws in checkpoints


def test_derivatives_in_numbers_are_numbers() -> None:
    def f(v):
        return np.exp(2 * v) * v

    first, second = (1 + 2 * 0.3) * np.exp(0.6), (4 + 4 * 0.3) * np.exp(0.6)
    found = {
        "grad": (ng.grad(f)(0.3), first),
        "compiled": (ng.compile(ng.grad(f))(0.3), first),
        "compiled again": (ng.compile(ng.value_and_grad(f))(0.3)[1], first),
        "jacobian": (ng.jacobian(f)(0.3), first),
        "nested": (ng.jacobian(lambda p: f(p["v"]))({"v": 0.3})["v"], first),
        "pullback": (ng.pullback(f, 0.3)[1](1.0), first),
        "hvp": (ng.hvp(f, 0.3, 1.0), second),
        "hessian": (ng.hessian(f)(0.3), second),
        "diagonal": (ng.hessian(f, part="diagonal")(0.3), second),
        "twice": (ng.grad(ng.grad(f))(0.3), second),
    }
    for name, (value, want) in found.items():
        assert type(value) is float, name
        assert value == pytest.approx(want, rel=1e-14), name
    assert type(ng.hvp(lambda z: abs(z) ** 2, 1 + 2j, 1j)) is complex
    per_slice = ng.grad(lambda v: ng.DimArray([1.0, 2.0], "w").vectorize("w") * v)(0.3)
    np.testing.assert_array_equal(per_slice.data, [1, 2])
    assert type(ng.jacobian(f)(np.float64(0.3))) is np.float64


@pytest.mark.parametrize("compiled", [False, True])
def test_axes_that_gradients_keep_are_in_the_order_of_the_output(compiled):
    rng = np.random.default_rng(0)
    x = ng.DimArray(rng.normal(size=(3, 4, 2, 5)), ("b", "a", "B2", "B1"), vectorized=("B1", "B2"))
    share, weight, unused = (ng.DimArray(rng.random(size), "b") for size in (3, 3, 3))

    def loss(share, weight, unused, x):
        return ng.cross_entropy(x * weight, share, dim="b", label_smoothing=0.1, reduction=None).sum("a")

    out = loss(share, weight, unused, x)
    assert out.vectorized == ("B2", "B1")
    grad = ng.grad(loss, (0, 1, 2))
    for g in (ng.compile(grad) if compiled else grad)(share, weight, unused, x):
        assert g.names == ("B2", "B1", "b")
