"""What a gradient means under vectorized axes, sentence by sentence.

The oracle is the definition: finite differences of the whole function, cell by cell (``support/meaning.py``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from tests.programs.steps import ALONG
from tests.support.arrays import all_names, cut, hidden, permuted, values
from tests.support.meaning import gradient_by_definition, jacobian_by_definition
from tests.support.oracles import moved, richardson
from tests.support.tolerances import EXACT, FIRST, ROUNDING, SECOND, assert_close
from tests.support.vectorized import DISTINCT, Arrays, inputs, of_one, refused_everywhere

EQUAL = dict.fromkeys(DISTINCT, 3)

# ------------------------------------------------------------------------------------------------ programs with an answer

# Every program returns an array without visible dims; its parameters are names of the inputs above.
PROGRAMS: dict[str, Callable[..., ng.DimArray]] = {
    # a plain parameter and vectorized data: one gradient per slice, or their sum if f devectorizes and sums
    "per slice": lambda w, xb: ng.tanh((w * xb).sum()),
    "summed": lambda w, xb: ng.tanh((w * xb).sum()).devectorize().sum(),
    "summed over one of two": lambda w, xbc: ng.tanh((w * xbc).sum()).devectorize("b").sum("b"),
    "summed with weights": lambda w, xb, zb: (ng.tanh((w * xb).sum()) * zb).devectorize("b").sum("b"),
    "mean over slices": lambda w, xb: ((w - xb) * (w - xb)).mean().devectorize("b").mean("b"),
    "contracted over slices": lambda w, xb, zb: ng.dot(ng.sin((w * xb).sum()).devectorize("b"), zb.devectorize("b"), dim="b"),
    # different names: the cross product
    "cross product": lambda xa, xb: ng.sin((xa * xb).sum()),
    "cross product with a parameter": lambda w, xa, xb: ng.sin((w * xa * xb).sum()),
    "cross of three": lambda zb, zc, zk: ng.sin(zb + zc) * ng.cos(zk - zb),
    # roles
    "two roles": lambda w, xb: ng.dot(w, xb) * (w * w).sum() + (ng.exp(w) * xb).sum(),
    "a path without the axis": lambda w, xb: (w * w * w).sum() + (w * xb).sum(),
    "only a path without the axis": lambda w, zb: (w * w * w).sum() + zb,
    "matrix and vector": lambda m, w, xb: (ng.dot(m, w + xb, dim="f") ** 2).sum(),
    "batched matrix": lambda mb, w: (ng.dot(mb, w, dim="f") ** 2).sum(),
    "scalar parameter": lambda s, xb: ng.exp(s * xb).sum(),
    "unused by V": lambda w, v, xb: (w * w).sum() * (v.sum() + 0 * (xb * 0).sum()),
    # devectorizing and vectorizing again is harmless
    "there and back": lambda w, xb: ng.sin((w * xb).sum()).devectorize("b").vectorize("b"),
    "there and back before the sum": lambda w, xb: ng.sin((w * xb).devectorize("b").vectorize("b")).sum(),
    "elementwise in between": lambda w, xb, zb: (ng.sin((w * xb).devectorize("b")) * zb.devectorize("b")).sum("f").vectorize("b"),
    "other dims moved in between": lambda w, xb: (w * xb).devectorize("b").roll(f=1).cumsum("f").sum("f").vectorize("b"),
    # an input's own visible dim that is in V
    "visible, then vectorized": lambda xv: ng.sin(xv.vectorize("b").sum()),
    "visible beside vectorized": lambda xv, xb: ng.sin((xv.vectorize("b") * xb).sum()),
    "visible and a parameter": lambda xv, w: ng.sin((xv.vectorize("b") * w).sum()) * w.sum(),
    # renamed on the way
    "renamed": lambda w, xb: ng.sin((w * xb).sum()).rename(b="k"),
    "renamed and met": lambda w, xb, xk: ng.sin((w * xb).sum()).rename(b="k") * (w * xk).sum(),
    "renamed by two steps": lambda w, xb: ng.sin((w * xb).rename(b="c").sum().rename(c="k")),
    "renamed to leave room": lambda w, xb, zb: ng.sin((w * xb).sum()).devectorize("b").rename(b="other").sum("other") * zb,
    "two renamings met": lambda w, xb: ng.sin((xb.rename(b="k") * w * xb.rename(b="o")).sum()),
    "renamed twice and met": lambda w, xb: ng.sin((w * xb.rename(b="k")).sum() * (w * xb.rename(b="k").rename(k="o")).sum()),
    "three renamings met": lambda xb: (xb.rename(b="k") * xb.rename(b="o") * xb.rename(b="p")).sum() + xb.rename(b="o").sum(),
    "mixed, then renamed": lambda w, xb: ng.sin((w * xb).sum()).devectorize("b").cumsum("b").rename(b="k").vectorize("k"),
    "mixed, renamed and met": lambda w, xb, zk: (w * xb).sum().devectorize("b").roll(b=1).rename(b="k").vectorize("k") * zk,
    "reduced, met, then renamed": lambda w, xb, zb: ((w * xb).sum().devectorize().sum() * zb).rename(b="k"),
    "renamed, mixed, renamed back": lambda w, xb: (w * xb.rename(b="k")).sum().devectorize().flip().rename(k="b").vectorize("b"),
    "renamed before": lambda w, xb, zb: (w * xb.rename(b="other")).sum().devectorize("other").sum() * zb,
    "names swapped": lambda w, xbk: ng.sin((w * xbk).sum().rename(b="k", k="b")),
    "names swapped and met": lambda w, xbk, zb: (w * xbk).sum() * ng.sin((w * xbk).sum().rename(b="k", k="b")) * zb,
    "renamed in one path": lambda xb, zk: ng.sin(xb.sum()).rename(b="k") * (zk * xb.devectorize("b").sum("b").sum()),
    # dims born inside an operation, vectorized afterwards
    "born by solve": lambda m4, w: ng.sin(ng.solve(m4, w, ("f", "p")).vectorize("p")),
    "born by solve and renamed": lambda m4, w: ng.sin(ng.solve(m4, w, ("f", "p")).rename(p="q").vectorize("q")),
    "born by stack": lambda m, s: ng.sin(s * m.stack(z=("g", "f")).vectorize("z")),
    "born by concat": lambda w, v: ng.sin(ng.concat([w.sum(), v.sum(), (w * w).sum()], "z").vectorize("z")),
    "born by isel": lambda w: ng.sin(w.isel(f=ng.DimArray([0, 2, 2], "p")).vectorize("p")),
    "born by expand_dims": lambda w, s: (w.expand_dims(z=3) * s).vectorize("z").sum(),
    "born by contraction": lambda m, w: ng.sin(ng.dot(m, w, dim="f").vectorize("g")),
    # indices, predicates and matrices may be vectorized
    "vectorized index": lambda w: ng.sin(w.isel(f=ng.DimArray([1, 1, 0], "b", vectorized="b"))),
    "vectorized predicate": lambda w, xb: ng.where(xb > 0, w * xb, w * w).sum(),
    "vectorized index of vectorized data": lambda xb, w: (xb * w).isel(f=ng.DimArray([1, 1, 0], "b", vectorized="b")),
    "sum over slices inside, other name kept": lambda xbc, w: (xbc * w).sum().devectorize("c").cumsum("c").sum("c"),
}


def _extra(arrays: Arrays) -> Arrays:
    size = arrays["w"].size
    rng = np.random.default_rng(6)
    return {**arrays, "m4": ng.DimArray(rng.normal(size=(size, size)) + 3 * np.eye(size), ("f", "p"))}


def _arguments(f: Callable[..., Any], arrays: Arrays) -> Arrays:
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    return {n: _extra(arrays)[n] for n in names}


CASES = [(label, n) for label, f in PROGRAMS.items() for n in _arguments(f, inputs())]
# Inputs of which the output still has an axis, whose slices meet: no gradient per slice exists.
MIXED = {
    ("renamed to leave room", "xb"),
    ("renamed before", "xb"),
    ("renamed, mixed, renamed back", "xb"),
    ("names swapped", "xbk"),
    ("names swapped and met", "xbk"),
    ("born by solve", "m4"),
}
ANSWERED = [c for c in CASES if c not in MIXED]
cases = pytest.mark.parametrize(("label", "name"), CASES, ids=str)
answered = pytest.mark.parametrize(("label", "name"), ANSWERED, ids=str)
programs = pytest.mark.parametrize("label", PROGRAMS)


def test_the_cases_are_many() -> None:
    assert len(PROGRAMS) >= 49
    assert len(CASES) >= 107


@cases
@pytest.mark.parametrize("sizes", [DISTINCT, EQUAL], ids=["distinct", "equal"])
@pytest.mark.parametrize("layout", ["stored", "permuted"])
def test_gradient_is_the_definition(label: str, name: str, sizes: dict[str, int], layout: str) -> None:
    f, given = PROGRAMS[label], _arguments(PROGRAMS[label], inputs(sizes))
    if layout == "permuted":
        rng = np.random.default_rng(7)
        given = {n: permuted(a, rng) for n, a in given.items()}
    x, one = given[name], of_one(f, given, name)
    expected = gradient_by_definition(one, x)
    assert expected.mixed == ((label, name) in MIXED)
    if expected.mixed:
        refused_everywhere(one, x)
        return
    y = one(x)
    g = ng.grad(one)(x)
    assert set(g.vectorized) == set(x.vectorized) | (set(y.vectorized) - set(x.dims))
    assert g.dims == x.dims
    assert_close(values(g, expected.names), expected.data, FIRST)


@programs
def test_other_inputs_change_nothing(label: str) -> None:
    f, given = PROGRAMS[label], _arguments(PROGRAMS[label], inputs())
    alone = {n: ng.grad(of_one(f, given, n))(a) for n, a in given.items() if (label, n) not in MIXED}
    for several in itertools.chain(itertools.combinations(alone, 2), [tuple(alone)]):

        def of_several(*xs: ng.DimArray, several: tuple[str, ...] = several) -> ng.DimArray:
            return f(**{**given, **dict(zip(several, xs, strict=True))})

        together = ng.grad(of_several, wrt=tuple(range(len(several))))(*(given[n] for n in several))
        for n, g in zip(several, together, strict=True):
            assert set(g.vectorized) == set(alone[n].vectorized)
            assert g.dims == alone[n].dims
            assert_close(values(g, all_names(alone[n])), alone[n].to_numpy(), ROUNDING)


@programs
def test_value_is_that_of_f(label: str) -> None:
    f, given = PROGRAMS[label], _arguments(PROGRAMS[label], inputs())
    wrt = next(k for k, n in enumerate(given) if (label, n) not in MIXED)
    value, _ = ng.value_and_grad(lambda *xs: f(*xs), wrt)(*given.values())
    assert value.vectorized == f(**given).vectorized
    assert_close(value.to_numpy(), f(**given).to_numpy(), EXACT)


@answered
def test_pullback_weights_every_slice(label: str, name: str) -> None:
    f, given = PROGRAMS[label], _arguments(PROGRAMS[label], inputs())
    x, one = given[name], of_one(f, given, name)
    expected = gradient_by_definition(one, x)
    y, pull = ng.pullback(one, x)
    rng = np.random.default_rng(8)
    c = ng.DimArray(rng.normal(size=y.to_numpy().shape), y.vectorized, vectorized=y.vectorized)
    weights = values(c, y.vectorized).reshape(c.to_numpy().shape + (1,) * (expected.data.ndim - len(y.vectorized)))
    g = pull(c)
    assert_close(values(g, expected.names), expected.data * weights, FIRST)
    assert_close(values(pull(c * 2), expected.names), values(g, expected.names) * 2, ROUNDING)


@programs
def test_pushforward_is_the_directional_derivative(label: str) -> None:
    f, given = PROGRAMS[label], _arguments(PROGRAMS[label], inputs())
    rng = np.random.default_rng(9)
    some = {n: a for n, a in given.items() if (label, n) not in MIXED}
    ts = {n: ng.DimArray(rng.normal(size=a.to_numpy().shape), all_names(a), vectorized=a.vectorized) for n, a in some.items()}

    def of_some(*xs: ng.DimArray) -> ng.DimArray:
        return f(**{**given, **dict(zip(some, xs, strict=True))})

    y, t = ng.pushforward(of_some, tuple(some.values()), tuple(ts.values()))
    expected = richardson(
        lambda h: values(of_some(*(moved(a, h * ts[n].to_numpy()) for n, a in some.items())), all_names(y))
    )
    assert t.vectorized == y.vectorized
    assert_close(values(t, all_names(y)), expected, FIRST)


@answered
def test_jacobian_of_an_output_without_dims_is_the_gradient(label: str, name: str) -> None:
    f, given = PROGRAMS[label], _arguments(PROGRAMS[label], inputs())
    x, one = given[name], of_one(f, given, name)
    y = one(x)
    if set(y.vectorized) & set(x.dims):
        return  # such a dim would be there twice: as a slice and as a dim of the input
    g = ng.grad(one)(x)
    names = {n: f"{n}_wrt" for n in x.dims}
    for mode in ("forward", "reverse", "auto"):
        j = ng.jacobian(one, mode=mode)(x)
        assert j.dims == tuple(names.values())
        assert set(j.vectorized) == set(g.vectorized)
        assert_close(values(j, [names.get(n, n) for n in all_names(g)]), g.to_numpy(), ROUNDING, mode)


@answered
def test_hessian_is_the_derivative_of_the_gradient(label: str, name: str) -> None:
    f, given = PROGRAMS[label], _arguments(PROGRAMS[label], inputs())
    x, one = given[name], of_one(f, given, name)
    y = one(x)
    t = ng.DimArray(np.random.default_rng(10).normal(size=x.to_numpy().shape), all_names(x), vectorized=x.vectorized)
    if set(y.vectorized) - set(all_names(x)) and set(all_names(x)) - set(x.dims) - set(y.vectorized):
        return  # a second derivative along an axis that V lacks, of a gradient that has it, mixes its slices

    def slope(x: ng.DimArray) -> ng.DimArray:
        return ng.grad(one)(x)

    g = slope(x)
    try:
        product = ng.hvp(one, x, t)
    except ng.AxisError:
        assert set(x.vectorized) - set(y.vectorized), "only slices that the gradient shows apart can be mixed"
        return
    expected = richardson(lambda h: values(slope(moved(x, h * t.to_numpy())), all_names(g)))
    assert product.dims == x.dims
    assert_close(values(product, all_names(g)), expected, SECOND)
    names = {n: f"{n}_wrt" for n in x.dims}
    if set(names) & set(y.vectorized):
        return  # such a dim would be a slice and a dim of the input at once
    full = ng.hessian(one)(x)
    assert full.dims == (*x.dims, *names.values())
    rest = tuple(n for n in all_names(full) if n not in names.values())
    if not set(x.vectorized) - set(y.vectorized):
        renamed = t.rename({n: names[n] for n in x.dims})
        applied = ng.dot(full, renamed, dim=tuple(names.values()))
        assert_close(values(applied, rest), values(product, rest), SECOND)
    backward = ng.jacobian(ng.grad(one), mode="reverse")(x)
    assert_close(values(backward, all_names(full)), full.to_numpy(), SECOND)


# ------------------------------------------------------------------------------------------------ inputs and outputs


def test_unused_input_gets_zeros_with_v() -> None:
    given = inputs()
    w, xb, m = given["w"], given["xb"], given["m"]
    _, gm = ng.grad(lambda w, m: (w * xb).sum(), wrt=(0, 1))(w, m)
    assert gm.vectorized == ("b",)
    assert gm.dims == m.dims
    assert gm.dtype == m.dtype
    assert not gm.to_numpy().any()
    assert gm.to_numpy().shape == (3, 4, 2)
    constant = ng.grad(lambda m: ng.DimArray(2.0, ()))(m)
    assert_close(constant.to_numpy(), np.zeros((4, 2)), EXACT)


def test_integer_and_bool_inputs_are_named() -> None:
    for data in ([1, 2], [True, False]):
        a = ng.DimArray(data, "x")
        with pytest.raises(TypeError, match=rf"(?s){a.dtype}.*astype"):
            ng.grad(lambda a: (a * 1.0).sum())(a)
        with pytest.raises(TypeError, match=str(a.dtype)):
            ng.jacobian(lambda a: a * 1.0)(a)
    with pytest.raises(TypeError, match="'n'"):
        ng.grad(lambda x, n: (x * n).sum(), wrt="n")(ng.DimArray([1.0], "x"), ng.DimArray([1], "x"))


def test_complex_output_is_refused() -> None:
    z = ng.DimArray([1.0 + 2.0j, 3.0], "x")
    with pytest.raises(TypeError, match="complex output"):
        ng.grad(lambda z: (z * z).sum())(z)
    with pytest.raises(TypeError, match="complex output"):
        ng.value_and_grad(lambda z: (z * z).sum())(z)
    assert_close(ng.grad(lambda z: (z * z).sum().real)(z).to_numpy(), 2 * np.conj(z.to_numpy()), ROUNDING)


def test_output_with_dims_names_them() -> None:
    m = inputs()["m"]
    with pytest.raises(ng.AxisError, match=r"(?s)f: 4, g: 2.*'f', 'g'.*vectorize"):
        ng.grad(lambda m: m * m)(m)
    with pytest.raises(TypeError, match="single"):
        ng.grad(lambda m: (m.sum(), m.sum()))(m)
    with pytest.raises(TypeError, match="pullback"):
        ng.grad(lambda m: (m > 0).sum())(m)


def test_dtype_stays() -> None:
    for dtype in (np.float16, np.float32, np.float64, np.complex64, np.complex128):
        x = ng.DimArray(np.array([1, 2, 3], dtype), "x")
        g = ng.grad(lambda x: (x * np.float64(2) * x.conj()).real.sum())(x)
        assert g.dtype == dtype


def test_gradients_have_the_inputs_order_and_v_in_front() -> None:
    given = inputs()
    for order in itertools.permutations(("f", "g")):
        m = ng.DimArray(values(given["m"], order), order)
        g = ng.grad(lambda m: (ng.dot(given["mb"], m, dim="g") ** 2).sum())(m)
        assert g.dims == order
        assert all_names(g)[0] == "b"
        assert g.data.shape == (3, *m.shape)


def test_second_order_across_names() -> None:
    given = inputs()
    w, xa, xb = given["w"], given["xa"], given["xb"]

    def f(w: ng.DimArray) -> ng.DimArray:
        return ng.sin((w * xa * xb).sum())

    full = ng.hessian(f)(w)
    assert set(full.vectorized) == {"a", "b"}
    assert full.dims == ("f", "f_wrt")
    s = np.einsum("f,af,bf->ab", w.to_numpy(), xa.to_numpy(), xb.to_numpy())
    p = np.einsum("af,bf->abf", xa.to_numpy(), xb.to_numpy())
    assert_close(values(full, ("a", "b", "f", "f_wrt")), -np.einsum("ab,abf,abg->abfg", np.sin(s), p, p), ROUNDING)


def test_over_is_vectorize_call_devectorize() -> None:
    given = inputs()
    xv, w = given["xv"], given["w"]
    g = ng.grad(lambda x, w: ng.sin((x * w).sum()), over="b")(xv, w)
    assert g.dims == xv.dims
    assert not g.vectorized
    for b in range(3):
        one = ng.grad(lambda x, w: ng.sin((x * w).sum()))(cut(xv, {"b": b}), w)
        assert_close(cut(g, {"b": b}).to_numpy(), one.to_numpy(), ROUNDING)
    gw = ng.grad(lambda x, w: ng.sin((x * w).sum()), wrt=1, over="b")(xv, w)
    assert set(gw.dims) == {"b", "f"}
    with pytest.raises(ng.AxisError, match="'nowhere'"):
        ng.grad(lambda x: x.sum(), over="nowhere")(xv)
    assert hidden(xv, "b").vectorized == ("b",)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("step", sorted(set(ALONG) - {"min"}))  # which is for a dim of one cell
def test_slices_that_were_mixed_and_renamed(step: str, mode: str) -> None:
    """Outputs of mixed slices that have another name: every one by every one, by an index as by any other operation."""
    x = ng.DimArray([1.0, 2.5, 3.2], ("c",), vectorized="c")

    def f(x: ng.DimArray) -> ng.DimArray:
        y = ALONG[step](ng, x.devectorize("c"), "c")
        return y.vectorize("c").rename({"c": "d"}) if "c" in y.dims else y

    expected = jacobian_by_definition(f, x)
    assert_close(values(ng.jacobian(f, mode=mode)(x), expected.names), expected.data, 10 * FIRST)
