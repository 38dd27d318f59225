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

DISTINCT = {"f": 4, "g": 2, "a": 5, "b": 3, "c": 6, "k": 3}
EQUAL = dict.fromkeys(DISTINCT, 3)
Arrays = dict[str, ng.DimArray]


def inputs(sizes: dict[str, int] = DISTINCT) -> Arrays:
    """Parameters and data with all kinds of vectorized axes; small letters in the names are their axes."""
    rng = np.random.default_rng(5)
    plain = {"w": "f", "v": "g", "s": "", "m": "fg", "xv": "bf"}
    batched = {"xb": "bf", "xa": "af", "xbc": "bcf", "zb": "b", "zk": "k", "xk": "kf", "zc": "c", "mb": "fbg", "xbk": "bkf"}
    out = {}
    for name, dims in {**plain, **batched}.items():
        data = rng.normal(size=tuple(sizes[d] for d in dims))
        out[name] = ng.DimArray(data, tuple(dims), vectorized=[d for d in dims if d in "abck" and name in batched])
    return out


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


def of_one(f: Callable[..., Any], given: Arrays, name: str) -> Callable[[ng.DimArray], Any]:
    """``f`` as a function of one of its arguments."""
    return lambda x: f(**{**given, name: x})


def refused_everywhere(f: Callable[[ng.DimArray], ng.DimArray], x: ng.DimArray) -> None:
    """Every transform must refuse, and say which name to change."""
    ones = ng.ones_like(x)
    squared = lambda x: (f(x) * f(x)).sum()
    attempts: list[Callable[[], Any]] = [
        lambda: ng.grad(f)(x),
        lambda: ng.value_and_grad(f)(x),
        lambda: ng.grad(squared)(x),
        lambda: ng.pullback(f, x)[1](ng.ones_like(f(x))),
        lambda: ng.pushforward(f, (x,), (ones,)),
        lambda: ng.linearize(f, x)[1](ones),
        lambda: ng.linearize(f, x)[1].T(ng.ones_like(f(x))),
        lambda: ng.jacobian(f, mode="forward")(x),
        lambda: ng.jacobian(f, mode="reverse")(x),
        lambda: ng.hessian(squared)(x),
        lambda: ng.hessian(squared, part="diagonal")(x),
        lambda: ng.hessian(squared, part="trace")(x),
        lambda: ng.hvp(squared, x, ones),
        lambda: ng.grad(lambda x: ng.grad(squared)(x).sum())(x),
        lambda: ng.grad(lambda x: ng.pushforward(f, (x,), (ones,))[1])(x),
    ]
    for attempt in attempts:
        with pytest.raises(ng.AxisError, match="another name"):
            attempt()


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


# ------------------------------------------------------------------------------------------------ ambiguity refused


def _back(a: ng.DimArray) -> ng.DimArray:
    return a.vectorize("b")


# What may happen to the devectorized axis "b" of (w * xb).sum() before it is met again as a vectorized axis.
MIXERS: dict[str, Callable[[ng.DimArray], ng.DimArray]] = {
    "sum": lambda a: a.sum("b"),
    "mean": lambda a: a.mean("b"),
    "var": lambda a: a.var("b"),
    "max": lambda a: a.max("b"),
    "prod": lambda a: a.prod("b"),
    "logsumexp": lambda a: ng.logsumexp(a, "b"),
    "median": lambda a: a.median("b"),
    "cumsum": lambda a: _back(a.cumsum("b")),
    "roll": lambda a: _back(a.roll(b=1)),
    "shift": lambda a: _back(a.shift(b=1, fill_value=0.0)),
    "flip": lambda a: _back(a.flip("b")),
    "sort": lambda a: _back(ng.sort(a, "b")),
    "isel": lambda a: a.isel(b=0),
    "isel by a list": lambda a: _back(a.isel(b=[2, 0, 1])),
    "isel pointwise": lambda a: _back(a.isel(b=ng.DimArray([1, 1, 0], "b"))),
    "slice": lambda a: _back(ng.concat([a.isel(b=slice(1, None)), a.isel(b=slice(0, 1))], "b")),
    "concat": lambda a: _back(ng.concat([a.isel(b=[1]), a.isel(b=[0, 2])], "b")),
    "pad": lambda a: _back(a.isel(b=slice(0, 2)).pad(b=(0, 1), mode="wrap")),
    "diff": lambda a: _back(a.diff("b").pad(b=(1, 0), constant_values=0.0)),
    "at": lambda a: _back(a.at[{"b": 0}].set(a.isel(b=1))),
    "dot": lambda a: ng.dot(a, ng.DimArray([1.0, -2.0, 0.5], "b"), dim="b"),
    "matmul": lambda a: ng.dot(a, ng.DimArray(np.arange(9.0).reshape(3, 3), ("b", "b2")), dim="b").rename(b2="b").vectorize("b"),
    "stack": lambda a: a.stack(z=("b",)).isel(z=0),
    "einsum over both": lambda a: ng.dot(a, a, dim="b"),
    "cholesky": lambda a: ng.cholesky(_matrix(a), ("b", "b2")).isel(b2=0).vectorize("b"),
    "solve": lambda a: ng.solve(ng.DimArray(np.eye(3) + 1.0, ("b", "b2")), a, ("b", "b2")).rename(b2="b").vectorize("b"),
}


def _matrix(a: ng.DimArray) -> ng.DimArray:
    return a * a.rename(b="b2") + ng.eye("b", "b2", a.sizes["b"])


RENAMED_BACK = {"matmul", "solve"}  # the axis that comes back was born under another name: by definition there is an answer
INHERENT = pytest.mark.parametrize("mixer", [m for m in MIXERS if m not in RENAMED_BACK])


@INHERENT
@pytest.mark.parametrize("name", ["w", "xb"])
def test_mixed_and_met_again_is_refused(mixer: str, name: str) -> None:
    given = inputs()
    w, xb, zb = given["w"], given["xb"], given["zb"]

    def f(w: ng.DimArray, xb: ng.DimArray) -> ng.DimArray:
        return MIXERS[mixer](ng.sin((w * xb).sum()).devectorize("b")) * zb

    one = (lambda w: f(w, xb)) if name == "w" else (lambda xb: f(w, xb))
    assert one(given[name]).vectorized == ("b",)  # the value itself is well defined
    if name == "w":
        refused_by_gradients(one, w)
    else:
        refused_everywhere(one, xb)


@pytest.mark.parametrize("mixer", MIXERS)
def test_mixed_and_reduced_is_answered(mixer: str) -> None:
    given = inputs()

    def f(w: ng.DimArray, xb: ng.DimArray, zb: ng.DimArray) -> ng.DimArray:
        return (MIXERS[mixer](ng.sin((w * xb).sum()).devectorize("b")) * zb).devectorize("b").sum()

    arguments = {n: given[n] for n in ("w", "xb", "zb")}
    for n, a in arguments.items():
        one = of_one(f, arguments, n)
        expected = gradient_by_definition(one, a)
        g = ng.grad(one)(a)
        assert not expected.mixed
        assert g.vectorized == a.vectorized
        assert_close(values(g, expected.names), expected.data, FIRST)


def refused_by_gradients(f: Callable[[ng.DimArray], ng.DimArray], x: ng.DimArray) -> None:
    """Refused by every transform, for a parameter that does not have the axis itself."""
    ones = ng.ones_like(x)
    squared = lambda x: f(x) * f(x)
    attempts: list[Callable[[], Any]] = [
        lambda: ng.grad(f)(x),
        lambda: ng.value_and_grad(f)(x),
        lambda: ng.pullback(f, x)[1](ng.ones_like(f(x))),
        lambda: ng.pushforward(f, (x,), (ones,)),
        lambda: ng.linearize(f, x)[1](ones),
        lambda: ng.linearize(f, x)[1].T(ng.ones_like(f(x))),
        lambda: ng.jacobian(f, mode="forward")(x),
        lambda: ng.jacobian(f, mode="reverse")(x),
        lambda: ng.hessian(squared)(x),
        lambda: ng.hessian(squared, part="diagonal")(x),
        lambda: ng.hvp(squared, x, ones),
        lambda: ng.grad(lambda x: ng.grad(squared)(x).sum())(x),
        lambda: ng.grad(lambda x: ng.pushforward(f, (x,), (ones,))[1])(x),
        lambda: ng.grad(ng.checkpoint(f))(x),
        lambda: ng.pushforward(ng.checkpoint(f), (x,), (ones,)),
        lambda: ng.linearize(ng.checkpoint(f), x)[1](ones),
    ]
    for k, attempt in enumerate(attempts):
        try:
            answer = attempt()
        except ng.AxisError as error:
            assert "another name" in str(error), error
            assert "'b'" in str(error), error
        else:
            pytest.fail(f"attempt {k} answered {answer}")


def test_second_derivative_is_refused_where_slices_of_the_gradient_meet() -> None:
    xb = inputs()["xb"]

    def f(x: ng.DimArray) -> ng.DimArray:  # its gradient has "b", and each slice of it depends on all slices of x
        return ng.sin(x.devectorize("b").sum())

    expected = gradient_by_definition(f, xb)
    assert_close(values(ng.grad(f)(xb), expected.names), expected.data, FIRST)
    for attempt in (
        lambda: ng.hessian(f)(xb),
        lambda: ng.hessian(f, part="diagonal")(xb),
        lambda: ng.hvp(f, xb, xb),
        lambda: ng.grad(lambda x: ng.grad(f)(x).sum())(xb),
        lambda: ng.jacobian(ng.grad(f), mode="reverse")(xb),
    ):
        with pytest.raises(ng.AxisError, match="another name"):
            attempt()


def test_the_way_out_that_the_message_shows() -> None:
    given = inputs()
    w, xb, zb = given["w"], given["xb"], given["zb"]

    def f(w: ng.DimArray) -> ng.DimArray:
        total = ng.sin((w * xb).sum()).devectorize("b").sum("b")
        return total * zb.devectorize("b").rename({"b": "out"}).vectorize("out")

    expected = gradient_by_definition(f, w)
    assert_close(values(ng.grad(f)(w), expected.names), expected.data, FIRST)


# ------------------------------------------------------------------------------------------------ cotangents and tangents


def test_cotangent_that_adds_names_joins_v() -> None:
    given = inputs()
    w, xb = given["w"], given["xb"]
    _, pull = ng.pullback(lambda w: ng.sin(w * xb), w)
    rng = np.random.default_rng(0)
    c = ng.DimArray(rng.normal(size=(5, 3, 4)), ("e", "b", "f"), vectorized=("e", "b"))
    g = pull(c)
    assert set(g.vectorized) == {"e", "b"}
    assert g.dims == ("f",)
    for e in range(5):
        one = pull(cut(c, {"e": e}))
        assert set(one.vectorized) == {"b"}
        assert_close(values(cut(g, {"e": e}), all_names(one)), one.to_numpy(), ROUNDING)


def test_cotangent_that_lacks_vectorized_axes_is_broadcast() -> None:
    given = inputs()
    w, xb = given["w"], given["xb"]
    _, pull = ng.pullback(lambda w: ng.sin(w * xb), w)
    c = ng.DimArray(np.arange(4.0) - 1, "f")
    full = ng.DimArray(np.broadcast_to(c.to_numpy(), (3, 4)).copy(), ("b", "f"), vectorized="b")
    assert_close(pull(c).to_numpy(), pull(full).to_numpy(), EXACT)
    assert_close(pull(c).to_numpy(), np.cos(w.to_numpy() * xb.to_numpy()) * xb.to_numpy() * c.to_numpy(), ROUNDING)


def test_cotangent_of_one_output_adds_names_for_every_input() -> None:
    w = inputs()["w"]
    _, pull = ng.pullback(lambda x, y: (x * 2, y * 3), w, w)
    c = ng.DimArray(np.ones((2, 4)), ("e", "f"), vectorized="e")
    gx, gy = pull((c, ng.ones_like(w)))
    assert gx.vectorized == gy.vectorized == ("e",)
    assert_close(gy.to_numpy(), np.full((2, 4), 3.0), EXACT)


def test_stored_order_of_a_cotangent_is_harmless() -> None:
    given = inputs()
    m, xb = given["m"], given["xb"]
    _, pull = ng.pullback(lambda m: m * xb, m)
    rng = np.random.default_rng(0)
    c = ng.DimArray(rng.normal(size=(3, 4, 2)), ("b", "f", "g"), vectorized="b")
    expected = pull(c)
    for order in itertools.permutations(("b", "f", "g")):
        other = ng.DimArray(values(c, order), order, vectorized="b")
        g = pull(other)
        assert g.dims == m.dims
        assert_close(g.to_numpy(), expected.to_numpy(), EXACT)


def test_tangent_that_adds_names() -> None:
    given = inputs()
    w, xb = given["w"], given["xb"]
    t = ng.DimArray(np.random.default_rng(0).normal(size=(4, 5)), ("f", "e"), vectorized="e")
    _, dy = ng.pushforward(lambda w: ng.sin(w * xb), (w,), (t,))
    assert set(dy.vectorized) == {"b", "e"}
    expected = np.einsum("bf,bf,ef->bef", np.cos(w.to_numpy() * xb.to_numpy()), xb.to_numpy(), t.to_numpy())
    assert_close(values(dy, ("b", "e", "f")), expected, ROUNDING)


def test_tangent_that_adds_a_name_whose_slices_are_mixed_is_refused() -> None:
    x, t = ng.DimArray(2.0, ()), ng.DimArray([1.0, 10.0, 100.0], "b", vectorized="b")
    data = ng.DimArray([1.0, 2.0, 3.0], "b")
    for f in (lambda x: (x * data).sum(), lambda x: (x * data).cumsum("b"), lambda x: ng.dot(x * data, data, dim="b"),
              lambda x: (x * data.vectorize("b")).devectorize("b").sum()):  # fmt: skip
        with pytest.raises(ng.AxisError, match="slices of 'b' are mixed"):
            ng.pushforward(f, (x,), (t,))
        with pytest.raises(ng.AxisError, match="slices of 'b' are mixed"):
            ng.linearize(f, x)[1](t)
        named = t.rename({"b": "e"})
        pushed = ng.pushforward(f, (x,), (named,))[1].devectorize()
        assert_close(pushed.isel(e=2).to_numpy(), 100 * f(ng.DimArray(1.0, ())).to_numpy(), ROUNDING)
    elsewhere = ng.pushforward(lambda x: x * data.sum(), (x,), (t,))[1]
    assert_close(elsewhere.to_numpy(), 6 * t.to_numpy(), ROUNDING)


def test_tangent_that_lacks_vectorized_axes_is_broadcast() -> None:
    xb = inputs()["xb"]
    t = ng.DimArray(np.arange(4.0), "f")
    _, dy = ng.pushforward(lambda x: x * x, (xb,), (t,))
    assert dy.vectorized == ("b",)
    assert_close(dy.to_numpy(), 2 * xb.to_numpy() * np.arange(4.0), ROUNDING)


def test_visible_extras_are_refused() -> None:
    w = inputs()["w"]
    extra = ng.DimArray(np.ones((2, 4)), ("e", "f"))
    _, pull = ng.pullback(lambda w: w * w, w)
    with pytest.raises(ng.AxisError, match=r"'e'.*vectorize"):
        pull(extra)
    with pytest.raises(ng.AxisError, match=r"'e'.*vectorize"):
        ng.pushforward(lambda w: w * w, (w,), (extra,))
    _, linear = ng.linearize(lambda w: w * w, w)
    with pytest.raises(ng.AxisError, match=r"'e'.*vectorize"):
        linear(extra)
    with pytest.raises(ng.AxisError, match=r"'e'.*vectorize"):
        linear.T(extra)


def test_wrong_sizes_and_missing_dims_of_cotangents_are_refused() -> None:
    m = inputs()["m"]
    _, pull = ng.pullback(lambda m: m * m, m)
    with pytest.raises(ng.AxisError, match="'f'"):
        pull(ng.DimArray(np.ones((5, 2)), ("f", "g")))
    with pytest.raises(ng.AxisError, match="'g'"):
        pull(ng.DimArray(np.ones(4), "f"))


def test_adjoint_identity_per_slice() -> None:
    given = inputs()
    w, xb = given["w"], given["xb"]
    _, linear = ng.linearize(lambda w: ng.sin(w * xb) * w.sum(), w)
    rng = np.random.default_rng(3)
    t = ng.DimArray(rng.normal(size=4), "f")
    c = ng.DimArray(rng.normal(size=(3, 4)), ("b", "f"), vectorized="b")
    here, there = (c * linear(t)).sum(), (linear.T(c) * t).sum()
    assert here.vectorized == there.vectorized == ("b",)
    assert_close(here.to_numpy(), there.to_numpy(), ROUNDING)


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
