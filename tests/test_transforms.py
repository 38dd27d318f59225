"""jacobian, hessian, hvp, linearize, vmap, checkpoint, scan, custom rules, check_gradients, nested structures."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse.linalg
import scipy.special

import namedgrad as ng
from namedgrad.transforms.tape import Tape
from tests.support.arrays import all_names, cut, indices, values
from tests.support.memory import taken
from tests.support.oracles import moved, richardson
from tests.support.tolerances import EXACT, FIRST, ROUNDING, SECOND, assert_close

RNG = np.random.default_rng(4)
SIZES = {"x": 2, "y": 3, "z": 4, "b": 5, "c": 2}


def array(dims: str, vectorized: Any = ()) -> ng.DimArray:
    return ng.DimArray(RNG.normal(size=[SIZES[d] for d in dims]), tuple(dims), vectorized=vectorized)


W = array("yx")


def f(x: ng.DimArray) -> ng.DimArray:
    """From (x, z) to (z, y), not symmetric in anything."""
    return ng.dot(np.sin(x * x.isel(z=0)), W, dim="x").cumsum("z") * x.sum("x")


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
    x = ng.DimArray(RNG.normal(size=3000), "x")
    mixing = lambda x: (x**3).sum() + x.sum() ** 2
    trace, diagonal = (ng.hessian(mixing, part=p, chunk=10) for p in ("trace", "diagonal"))
    of_trace, of_diagonal = taken(lambda: trace(x).item()), taken(lambda: diagonal(x))
    assert math.isclose(of_trace.result, (6 * x.to_numpy() + 2).sum(), rel_tol=1e-10)
    assert_close(of_diagonal.result.to_numpy(), 6 * x.to_numpy() + 2, ROUNDING)
    assert max(of_trace.most, of_diagonal.most) < 3000 * 3000 * 8 / 4
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


# ------------------------------------------------------------------------------------------------ checkpoint, scan, stop_gradient


def test_checkpoint_changes_nothing() -> None:
    x, captured = array("xz"), array("z")
    plain = lambda x: (np.sin(f(x)) * captured).sum() * x.sum()
    checked = ng.checkpoint(plain)
    v = array("xz")
    assert_close(checked(x).to_numpy(), plain(x).to_numpy(), EXACT)
    assert_close(ng.grad(checked)(x).to_numpy(), ng.grad(plain)(x).to_numpy(), ROUNDING)
    assert_close(ng.hvp(checked, x, v).to_numpy(), ng.hvp(plain, x, v).to_numpy(), ROUNDING)
    assert_close(ng.pushforward(checked, (x,), (v,))[1].to_numpy(), ng.pushforward(plain, (x,), (v,))[1].to_numpy(), ROUNDING)
    assert_close(ng.linearize(checked, x)[1](v).to_numpy(), ng.linearize(plain, x)[1](v).to_numpy(), ROUNDING)
    assert_close(ng.hessian(checked)(x).to_numpy(), ng.hessian(plain)(x).to_numpy(), ROUNDING)
    rr = lambda f: ng.grad(lambda x: (ng.grad(f)(x) * v).sum())(x)
    assert_close(rr(checked).to_numpy(), rr(plain).to_numpy(), ROUNDING)
    batched = array("bxz", "b")
    assert_close(ng.grad(checked)(batched).to_numpy(), ng.grad(plain)(batched).to_numpy(), ROUNDING)


def test_checkpoint_differentiates_what_it_captures() -> None:
    x, y = array("x"), array("x")

    def outer(y: ng.DimArray) -> ng.DimArray:
        return ng.checkpoint(lambda x: np.sin(x * y).sum())(x * y)

    expected = (np.cos(x * y * y) * 2 * x * y).data
    np.testing.assert_allclose(ng.grad(outer)(y).data, expected, rtol=1e-13)
    np.testing.assert_allclose(ng.jacobian(outer, mode="forward")(y).data, expected, rtol=1e-13)
    twice = ng.grad(lambda y: ng.checkpoint(lambda: ng.checkpoint(lambda: (y * y).sum())())())(y)
    np.testing.assert_allclose(twice.data, 2 * y.data)


RUN_AGAIN: dict[str, Callable[..., Any]] = {
    "checkpoint": lambda f, x: ng.checkpoint(f)(x),
    "checkpoint within another": lambda f, x: ng.checkpoint(lambda x: ng.checkpoint(f)(x))(x),
    "checkpoint that gives it back": lambda f, x: sum(ng.checkpoint(lambda x: (f(x) / 2, f(x) / 2))(x)),
    "scan": lambda f, x: ng.scan(lambda c, v: (f(v), None), x * 0, ng.concat([x, x], "t"), "t")[0],
    "while_loop": lambda f, x: ng.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, f(s[1])), (0, x))[1],
    "fori_loop": lambda f, x: ng.fori_loop(0, 1, lambda i, x: f(x), x),
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("inner", ["grad", "pushforward", "linearize"])
@pytest.mark.parametrize("name", RUN_AGAIN)
def test_what_is_captured_may_belong_to_a_later_transform_than_the_arguments(name: str, inner: str, mode: str) -> None:
    x, w, ones = array("x"), array("x") + 0.3, ng.ones({"x": array("x").size})

    def slope(f: Callable[..., Any], w: ng.DimArray) -> ng.DimArray:
        """The derivative of each cell of f in the same cell of w."""
        if inner == "grad":
            return ng.grad(lambda w: f(w).sum())(w)
        return ng.pushforward(f, (w,), (ones,))[1] if inner == "pushforward" else ng.linearize(f, w)[1](ones)

    through = lambda x: slope(lambda w: RUN_AGAIN[name](lambda x: ng.sin(w * x), x), w)
    found = ng.jacobian(through, mode=mode)(x).data
    expected = np.diag(np.cos((w * x).data) - (w * x * np.sin(w * x)).data)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    three = ng.grad(lambda y: (ng.grad(lambda x: (through(x) * y).sum())(x * y) * y).sum())
    plain = ng.grad(lambda y: (ng.grad(lambda x: (x * np.cos(w * x) * y).sum())(x * y) * y).sum())
    np.testing.assert_allclose(three(w).data, plain(w).data, rtol=1e-12)


@pytest.mark.parametrize("name", RUN_AGAIN)
def test_what_is_captured_of_a_later_transform_need_not_matter(name: str) -> None:
    x, w = array("x"), array("x")
    curvature = lambda x, w: ng.hvp(lambda u: (x * x * u * u).sum(), w, w * 0 + 1.0)  # 2 x^2, whatever w is
    through = lambda x: ng.grad(lambda w: (RUN_AGAIN[name](lambda x: curvature(x, w), x) * w).sum())(w * 1.0)
    np.testing.assert_allclose(ng.grad(lambda x: through(x).sum())(x).data, 4 * x.data, rtol=1e-12)


@pytest.mark.parametrize("outer", RUN_AGAIN)
@pytest.mark.parametrize("inner", RUN_AGAIN)
def test_what_is_captured_may_be_given_back_as_it_is(outer: str, inner: str) -> None:
    x, w = array("x"), array("x")
    for other in (lambda v: v, lambda v: w):
        found = ng.grad(lambda x: (RUN_AGAIN[outer](lambda v: RUN_AGAIN[inner](lambda s: x, other(v)), x) * w).sum())(x)  # noqa: B023
        np.testing.assert_allclose(found.data, w.data)


def test_checkpoint_runs_again_and_keeps_little() -> None:
    calls = []

    def deep(x: ng.DimArray) -> ng.DimArray:
        calls.append(1)
        for _ in range(50):
            x = np.sin(x) * 1.01
        return x

    x = ng.DimArray(RNG.normal(size=20_000), "x")

    def held(g: Any) -> int:
        kept, _, (out, pull) = taken(lambda: ng.pullback(lambda x: g(g(g(g(x)))).sum(), x))
        calls.clear()
        pull(out)
        return kept

    plain = held(deep)
    assert len(calls) == 0
    assert held(ng.checkpoint(deep)) < plain / 5
    assert len(calls) == 4


@pytest.mark.parametrize("every", [None, 1, 2, 100])
def test_scan(every: int | None) -> None:
    xs, w = ng.DimArray(RNG.normal(size=(7, 2)), ("t", "x")), array("x")

    def step(carry: Any, x: Any) -> Any:
        new = np.tanh(carry * w + x["u"])
        return new, {"out": new * 2, "sum": new.sum()}

    def run(w0: ng.DimArray, xs: ng.DimArray) -> ng.DimArray:
        carry, ys = ng.scan(step, w0, {"u": xs}, "t", checkpoint_every=every)
        return carry.sum() + (ys["out"] * ys["sum"]).sum()

    def loop(w0: ng.DimArray, xs: ng.DimArray) -> ng.DimArray:
        carry, total = w0, 0.0
        for t in range(7):
            carry, y = step(carry, {"u": xs.isel(t=t)})
            total = total + (y["out"] * y["sum"]).sum()
        return carry.sum() + total

    w0 = array("x")
    assert_close(run(w0, xs).to_numpy(), loop(w0, xs).to_numpy(), ROUNDING)
    for k in range(2):
        assert_close(ng.grad(run, k)(w0, xs).to_numpy(), ng.grad(loop, k)(w0, xs).to_numpy(), ROUNDING)
    v = ng.ones_like(xs)
    assert_close(ng.hvp(lambda xs: run(w0, xs), xs, v).to_numpy(), ng.hvp(lambda xs: loop(w0, xs), xs, v).to_numpy(), ROUNDING)
    batched = ng.DimArray(RNG.normal(size=(7, 3, 2)), ("t", "b", "x"), vectorized="b")
    g = ng.grad(run, 1)(w0, batched)
    for b in range(3):
        assert_close(cut(g, {"b": b}).to_numpy(), ng.grad(loop, 1)(w0, cut(batched, {"b": b})).to_numpy(), ROUNDING)


def test_scan_outputs_and_refusals() -> None:
    xs = ng.DimArray(np.arange(6.0).reshape(2, 3), ("x", "t"))
    carry, ys = ng.scan(lambda c, x: (c + x, c * x), ng.zeros({"x": 2}), xs, "t")
    np.testing.assert_array_equal(carry.data, xs.data.sum(1))
    assert ys.dims == ("t", "x")
    carry, nothing = ng.scan(lambda c, x: (c + x, None), 0.0, xs.isel(x=0), "t")
    assert nothing is None
    assert carry.item() == 3.0
    with pytest.raises(ng.AxisError, match="'q'"):
        ng.scan(lambda c, x: (c, c), 0.0, xs, "q")
    with pytest.raises(ng.AxisError, match=r"3.*4|4.*3"):
        ng.scan(lambda c, x: (c, c), 0.0, (xs, ng.ones({"t": 4})), "t")


def test_stop_gradient() -> None:
    x = array("x")
    np.testing.assert_array_equal(ng.grad(lambda x: (x * ng.stop_gradient(x)).sum())(x).data, x.data)
    assert not ng.grad(lambda x: ng.stop_gradient(x * x).sum())(x).data.any()
    pushed = ng.pushforward(lambda x: x * ng.stop_gradient(x), (x,), (ng.ones_like(x),))[1]
    np.testing.assert_array_equal(pushed.data, x.data)
    inner = ng.grad(lambda x: (x * ng.grad(lambda y: (y * y * ng.stop_gradient(x)).sum())(x)).sum())(x)
    np.testing.assert_allclose(inner.data, 4 * x.data * x.data, rtol=1e-13)


# ------------------------------------------------------------------------------------------------ custom rules


def cube_by_pullback() -> Any:
    @ng.custom_pullback
    def cube(x: ng.DimArray, y: ng.DimArray) -> ng.DimArray:
        return ng.dot(x**3, y, dim="z")

    @cube.pullback
    def _(c: ng.DimArray, out: ng.DimArray, x: ng.DimArray, y: ng.DimArray) -> Any:
        assert c.dims == out.dims  # core axes only
        return 3 * x * x * c * y, (x**3 * c).sum("x")

    return cube


def cube_by_pushforward() -> Any:
    @ng.custom_pushforward
    def cube(x: ng.DimArray, y: ng.DimArray) -> ng.DimArray:
        return ng.dot(x**3, y, dim="z")

    @cube.pushforward
    def _(t: Any, out: ng.DimArray, x: ng.DimArray, y: ng.DimArray) -> ng.DimArray:
        return ng.dot(3 * x * x * t[0], y, dim="z") + ng.dot(x**3, t[1], dim="z")

    return cube


@pytest.mark.parametrize("make", [cube_by_pullback, cube_by_pushforward])
@pytest.mark.parametrize("batch", [((), ()), (("b",), ()), ((), ("b",)), (("b",), ("b",)), (("b",), ("c",))], ids=str)
def test_custom_rules(make: Any, batch: Any) -> None:
    cube = make()
    plain = lambda x, y: ng.dot(x**3, y, dim="z")
    x = ng.DimArray(RNG.normal(size=[SIZES[n] for n in (*batch[0], "x", "z")]), (*batch[0], "x", "z"), vectorized=batch[0])
    y = ng.DimArray(RNG.normal(size=[SIZES[n] for n in ("z", *batch[1])]), ("z", *batch[1]), vectorized=batch[1])
    tx, ty = x * 0.3 + 1.0, y * y
    assert_close(cube(x, y).to_numpy(), plain(x, y).to_numpy(), EXACT)
    _, t1 = ng.pushforward(cube, (x, y), (tx, ty))
    _, t2 = ng.pushforward(plain, (x, y), (tx, ty))
    assert (t1.dims, set(t1.vectorized)) == (t2.dims, set(t2.vectorized))
    assert_close(values(t1, all_names(t2)), t2.to_numpy(), ROUNDING)
    for k in range(2):
        for of in (lambda f, k: ng.grad(lambda x, y: np.sin(f(x, y)).sum(), k)(x, y),
                   lambda f, k: ng.grad(lambda x, y: (ng.grad(lambda x, y: np.sin(f(x, y)).sum(), k)(x, y) ** 2).sum(), 1 - k)(x, y),
                   lambda f, k: ng.jacobian(f, k)(x, y), lambda f, k: ng.jacobian(f, k, mode="forward")(x, y)):  # fmt: skip
            g1, g2 = of(cube, k), of(plain, k)
            assert (g1.dims, set(g1.vectorized)) == (g2.dims, set(g2.vectorized))
            assert_close(values(g1, all_names(g2)), g2.to_numpy(), ROUNDING)


@pytest.mark.parametrize("make", [cube_by_pullback, cube_by_pushforward])
def test_tangents_of_custom_rules_of_which_one_adds_an_axis(make: Any) -> None:
    cube, x, y = make(), array("xz"), array("z")
    one, many = array("xz"), ng.DimArray(RNG.normal(size=(5, SIZES["z"])), ("e", "z"), vectorized="e")
    expected = np.einsum("xz,xz->x", 3 * x.data**2 * one.data, y.data + 0 * x.data) + many.data @ (x.data**3).T
    np.testing.assert_allclose(ng.pushforward(cube, (x, y), (one, many))[1].data, expected, rtol=1e-12)
    by_product = np.einsum("xz,xz->x", 3 * (x.data * y.data) ** 2 * one.data * y.data, 1 + 0 * x.data)
    by_product = by_product + np.einsum("ez,xz->ex", many.data, 3 * (x.data * y.data) ** 2 * x.data)
    ones = ng.ones_like(y)
    for f in (lambda x, y: cube(x * y, ones), lambda x, y: cube(y * x, ones)):  # whichever tangent comes first
        t = ng.pushforward(f, (x, y), (one, many))[1]
        assert t.vectorized == ("e",)
        np.testing.assert_allclose(t.data, by_product, rtol=1e-12)


@pytest.mark.parametrize("new", ["c", "d", "e", "f", "g", "h"])
def test_slices_that_one_of_two_outputs_has_under_another_name(new: str) -> None:
    """Whatever order the names have in a set."""
    x, y = (ng.DimArray(RNG.normal(size=(3, 2)), ("b", "z"), vectorized="b") for _ in range(2))

    def f(x: ng.DimArray, y: ng.DimArray) -> tuple[ng.DimArray, ng.DimArray]:
        return (x * x).sum().devectorize("b").rename({"b": new}).vectorize(new), ng.sin(y).sum()

    cotangents = tuple(ng.DimArray(RNG.normal(size=3), (n,), vectorized=n) for n in (new, "b"))
    first, second = ng.pullback(f, x, y)[1](cotangents)
    expected = np.einsum("d,db,bz->dbz", cotangents[0].data, np.eye(3), 2 * x.data)
    np.testing.assert_allclose(first.devectorize().transpose(new, "b", "z").data, expected, rtol=1e-12)
    cosines = np.broadcast_to(cotangents[1].data[:, None] * np.cos(y.data), (3, 3, 2))
    np.testing.assert_allclose(second.devectorize().transpose(new, "b", "z").data, cosines, rtol=1e-12)
    pull = ng.pullback(lambda x: f(x, x), x)[1]
    with pytest.raises(ng.AxisError, match="slices of 'b' are mixed"):
        pull(cotangents)


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_renamed_slices_does_not_depend_on_their_hashes(seed: int) -> None:
    x = ng.DimArray(RNG.normal(size=(2, 3, 2)), ("b", "t", "z"), vectorized=("b", "t"))
    c, d, e, f = (f"{n}{seed}" for n in "cdef")

    def renamed(y: ng.DimArray, b: str, t: str) -> ng.DimArray:
        return y.sum().devectorize("b", "t").rename(b=b, t=t).vectorize(b, t)

    g = ng.grad(lambda x: renamed(x * x, c, d) + renamed(ng.sin(x), e, f))(x)
    assert g.vectorized == (c, d, e, f, "b", "t")
    same = np.einsum("cb,dt->cdbt", np.eye(2), np.eye(3))
    first, second = 2 * x.data * same[..., None], np.cos(x.data) * same[..., None]
    np.testing.assert_allclose(g.data, first[:, :, None, None] + second, rtol=1e-12, atol=1e-14)
    assert ng.grad(lambda x: renamed(x, c, d))(x).vectorized == (c, d, "b", "t")


@pytest.mark.parametrize("k", [0, 1])
def test_slices_of_one_result_of_a_custom_rule_that_are_renamed(k: int) -> None:
    both = ng.custom_pullback(lambda x: (ng.sin(x).sum(), (x * x).sum()))
    both.pullback(lambda c, out, x: c[0] * ng.cos(x) + c[1] * 2 * x)
    x = ng.DimArray(RNG.normal(size=(3, 2)), ("b", "z"), vectorized="b")

    def met(x: ng.DimArray) -> ng.DimArray:
        out = both(x)
        return out[k].devectorize("b").rename(b="d").vectorize("d") * out[1 - k]

    for of in (ng.grad(met), ng.jacobian(met, mode="forward")):
        with pytest.raises(ng.AxisError, match="slices of 'b' are mixed"):
            of(x)

    def summed(x: ng.DimArray) -> ng.DimArray:
        out = both(x)
        return out[k].devectorize("b").rename(b="d").vectorize("d") * out[1 - k].devectorize("b").sum()

    a = x.data
    values, slopes = (np.sin(a).sum(1), (a * a).sum(1)), (np.cos(a), 2 * a)
    expected = np.einsum("db,bz->dbz", np.eye(3), slopes[k]) * values[1 - k].sum()
    expected += values[k][:, None, None] * slopes[1 - k]
    g = ng.grad(summed)(x).devectorize().transpose("d", "b", "z")
    np.testing.assert_allclose(g.data, expected, rtol=1e-12)


def test_tangents_have_all_added_axes_though_a_result_depends_on_few() -> None:
    x, y = array("x"), array("z")
    a, b = ng.ones({"a": 4, "x": x.size}, vectorized="a"), ng.ones({"b": 2, "z": y.size}, vectorized="b")
    pushed = ng.pushforward(lambda x, y: (2 * x, 3 * y, ng.ones({"z": 2})), (x, y), (a, b))[1]
    assert [(t.vectorized_sizes, float(t.sum().max().devectorize().max())) for t in pushed] == [
        ({"a": 4, "b": 2}, 2.0 * x.size), ({"a": 4, "b": 2}, 3.0 * y.size), ({"a": 4, "b": 2}, 0.0)
    ]  # fmt: skip
    constant = ng.custom_pushforward(lambda x: x.sum() * 0 + 3)
    constant.pushforward(lambda tangents, out, x: ng.zeros({}))
    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(ng.jacobian(constant, mode=mode)(x).data, np.zeros(x.size))


def test_custom_rules_override() -> None:
    @ng.custom_pullback
    def clipped(x: ng.DimArray) -> ng.DimArray:
        return ng.clip(x, -1.0, 1.0)

    @clipped.pullback
    def _(c: ng.DimArray, out: ng.DimArray, x: ng.DimArray) -> Any:
        return c * 7.0

    x = ng.DimArray([-3.0, 0.5], "x")
    np.testing.assert_array_equal(ng.grad(lambda x: clipped(x).sum())(x).data, [7.0, 7.0])
    np.testing.assert_array_equal(ng.pushforward(clipped, (x,), (x,))[1].data, 7 * x.data)
    np.testing.assert_array_equal(clipped(x).data, [-1.0, 0.5])


def test_custom_rules_refuse_what_would_be_lost() -> None:
    x, y = array("x"), array("x")
    no_rule = ng.custom_pullback(lambda x: x)
    with pytest.raises(TypeError, match="pullback"):
        ng.grad(lambda x: no_rule(x).sum())(x)

    captured = ng.custom_pullback(lambda x: x * captured_value[0])
    captured.pullback(lambda c, out, x: c)
    captured_value = [y]

    def f(y: ng.DimArray) -> ng.DimArray:
        captured_value[0] = y
        return captured(y * 2).sum()

    with pytest.raises(ng.TraceError, match="argument"):
        ng.grad(f)(y)
    later = lambda kind, x: ng.grad(lambda w: kind(lambda x: w * x)(x).sum())(x)
    for kind in (ng.custom_pullback, ng.custom_pushforward):
        ruled = lambda f, kind=kind: (g := kind(f), g._decorate(lambda *args: args[0]))[0]
        for run in (lambda x: later(ruled, x), ng.grad(lambda x: later(ruled, x).sum())):  # noqa: B023 - called here
            with pytest.raises(ng.TraceError, match=r"(?s)captures.*pass it as an argument"):
                run(array("x"))
    extra = ng.custom_pullback(lambda x: x * 2)
    extra.pullback(lambda c, out, x: c.expand_dims(q=2))
    with pytest.raises(ng.AxisError, match="'q'"):
        ng.grad(lambda x: extra(x).sum())(x)
    count = ng.custom_pullback(lambda x, y: x * y)
    count.pullback(lambda c, out, x, y: (c, c, c))
    with pytest.raises(TypeError, match="2"):
        ng.grad(lambda x: count(x, x).sum())(x)


def test_custom_rules_of_structures() -> None:
    @ng.custom_pullback
    def both(p: dict[str, Any], n: int) -> tuple[Any, Any]:
        return p["a"] * n, p["b"].sum()

    @both.pullback
    def _(c: Any, out: Any, p: Any, n: int) -> Any:
        return {"a": c[0] * n, "b": c[1] + 0 * p["b"]}, None

    p = {"a": array("x"), "b": array("z")}
    g = ng.grad(lambda p: (lambda r: (r[0] * r[0]).sum() * r[1])(both(p, 3)))(p)
    np.testing.assert_allclose(g["a"].data, 18 * p["a"].data * p["b"].data.sum(), rtol=1e-12)
    np.testing.assert_allclose(g["b"].data, np.full(4, 9 * (p["a"].data ** 2).sum()), rtol=1e-12)


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


class Noisy:
    """An object that draws from a generator of its own."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(5)

    def times_noise(self, x: ng.DimArray) -> ng.DimArray:
        return (x * ng.DimArray(self.rng.normal(size=5), ("x",))).sum()


NOISY = Noisy()
DRAWN = np.random.default_rng(7)
TABLE = {"rng": np.random.RandomState(9)}


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (ng.dropout(ng.sin(x), rng=DRAWN) ** 2).sum(),
        lambda x: (ng.alpha_dropout(ng.sin(x), rng=DRAWN) ** 2).sum(),
        lambda x: (x * DRAWN.random()).sum(),
        NOISY.times_noise,
        lambda x: NOISY.times_noise(x * x),
        lambda x: (x * TABLE["rng"].rand()).sum(),
        lambda x: (x * np.random.rand()).sum(),  # noqa: NPY002 - the global state
        lambda x: (x * random.random()).sum(),
    ],
    ids=["dropout", "alpha_dropout", "global", "method", "attribute", "table", "numpy", "python"],
)
def test_a_checkpoint_draws_the_same_again(f: Any) -> None:
    x = ng.DimArray(np.linspace(0.5, 2.0, 5), ("x",))

    def run(g: Any) -> tuple[Any, ...]:
        NOISY.rng, TABLE["rng"] = np.random.default_rng(5), np.random.RandomState(9)
        DRAWN.bit_generator.state = np.random.default_rng(7).bit_generator.state
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        found = [ng.grad(g)(x).data, ng.grad(g)(x).data, ng.pushforward(g, (x,), (x,))[1].data]
        return *found, DRAWN.random(), NOISY.rng.random(), TABLE["rng"].rand(), np.random.rand(), random.random()  # noqa: NPY002

    for got, expected in zip(run(ng.checkpoint(f)), run(f), strict=True):
        assert np.array_equal(got, expected)


def test_a_checkpoint_draws_the_same_again_from_a_generator_that_it_is_given() -> None:
    x = ng.DimArray(np.linspace(0.5, 2.0, 5), ("x",))

    def f(x: ng.DimArray, rngs: dict[str, Any]) -> ng.DimArray:
        return (ng.sin(x) * ng.DimArray(rngs["rng"].normal(size=5), ("x",))).sum()

    plain, again = (ng.grad(lambda x, g=g: g(x, {"rng": np.random.default_rng(2)}))(x) for g in (f, ng.checkpoint(f)))
    assert np.array_equal(plain.data, again.data)


def test_a_checkpoint_that_gives_other_values_is_an_error() -> None:
    count = iter(range(10))
    x = ng.DimArray([1.0, 2.0], ("x",))
    with pytest.raises(ValueError, match="gave other values when it ran again"):
        ng.grad(ng.checkpoint(lambda x: (x * next(count)).sum()))(x)
    captured = ng.DimArray(np.array([1.0, 2.0]), ("x",))
    pull = ng.pullback(ng.checkpoint(lambda x: (x * captured).sum()), x)[1]
    captured.data[:] = 5.0
    with pytest.raises(ValueError, match=r"a captured array that was written .*\.copy\(\)"):
        pull(1.0)


def test_rounding_of_what_cancels_is_no_other_value_of_a_checkpoint() -> None:
    x, k, noise = ng.DimArray([0.5, 2.0], ("x",)), ng.DimArray([1, 2], ("x",)), itertools.cycle([1e-17, 3e-17])
    f = ng.checkpoint(lambda x, k: (x * k * next(noise)).sum() + (k * (x - x)).sum())  # 0 but for rounding
    np.testing.assert_allclose(ng.grad(f)(x, k).data, [1e-17, 2e-17], atol=1e-16)
    with pytest.raises(ValueError, match="gave other values"):
        ng.grad(ng.checkpoint(lambda x, k: (k * x * next(noise)).sum() * 1e3))(x, k)


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
