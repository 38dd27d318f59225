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
from tests.support.arrays import all_names, cut, hidden, permuted, values
from tests.support.meaning import gradient_by_definition
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
    squared = lambda x: (f(x) * f(x)).sum()  # noqa: E731 - one derivative more does not change the question
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
    assert len(PROGRAMS) >= 40
    assert len(CASES) >= 90


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
