"""Every operation with vectorized axes, laid out in every way: each slice is what the operation gives of it alone.

The operation of one slice knows nothing of vectorized axes, and ``test_operations`` compares its derivatives with finite
differences.  Here they are compared with the loop of slices: values, gradients, tangents, second derivatives, Hessians.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest

import namedgrad as ng
from tests.backends.table import Settled, placed
from tests.support import fake_cupy
from tests.support.arrays import all_names, cut, hidden, indices, like, permuted, values
from tests.support.functions import Arrays, Function, cotangents_of, pull, push, rng_of, rounding
from tests.support.oracles import in_slices
from tests.support.samples import BATCH, CASES, FLOATING, FLOATS, FULL, Case, chosen, outputs, param
from tests.support.tolerances import assert_close

Batches = dict[int, tuple[str, ...]]


class Layout(NamedTuple):
    """Which of ``n`` operands have which vectorized axes, what the cotangent adds, and which operands are captured."""

    batches: Callable[[int], Batches]
    added: tuple[str, ...] = ()
    captures: bool = False

    def __call__(self, case: Case, order: str) -> Placed:
        """The operands of a case in this layout."""
        batches = self.batches(len(case.sample.operands))
        names = {n: case.batch_sizes[n] for own in batches.values() for n in own}
        more = {n: case.batch_sizes[n] for n in self.added}
        operands = [hidden(x, *BATCH) for x in case.operands(batches)]
        if order == "mixed":
            rng = rng_of(case, f"order {batches} {more}")
            operands = [permuted(x, rng) for x in operands]
        return Placed(operands, names, more, (-1,) if self.captures else None)


class Placed(NamedTuple):
    """Operands, sizes of their vectorized axes and of those that the cotangent adds, and what is differentiated."""

    operands: Arrays
    names: dict[str, int]
    more: dict[str, int]
    some: Iterable[int] | None

    @property
    def every(self) -> dict[str, int]:
        """Sizes of all vectorized axes."""
        return {**self.names, **self.more}


def _different(n: int) -> Batches:
    return {k: (f"B{k % 2 + 1}",) for k in range(n)}


LAYOUTS = {
    "all": Layout(lambda n: dict.fromkeys(range(n), ("B",))),
    "first": Layout(lambda n: {0: ("B",)}),
    "last": Layout(lambda n: {n - 1: ("B",)}),
    "different": Layout(_different),
    "two nested": Layout(lambda n: {0: ("B1", "B2"), n - 1: ("B2",)} if n > 1 else {0: ("B1", "B2")}),
    "two nested everywhere": Layout(lambda n: {k: ("B1", "B2")[:: 1 - 2 * (k % 2)] for k in range(n)}),
    "captured": Layout(_different, captures=True),
    "cotangent": Layout(lambda n: {}, ("B",)),
    "cotangent and first": Layout(lambda n: {0: ("B1",)}, ("B2",)),
}
ORDERS = ("stored", "mixed")


def in_layouts(check: str, cases: list[Case], layouts: Iterable[str] = LAYOUTS) -> Any:
    """A case of its own per operation and layout, in one of the stored orders; in the full grid every case in both."""
    triples = []
    for layout in layouts:
        for c in chosen(f"{check} {layout}", cases):
            one = ORDERS[zlib.crc32(f"{check} {layout} {c.label} order".encode()) % 2]
            triples += [(c, layout, order) for order in (ORDERS if FULL else [one])]
    return pytest.mark.parametrize(("case", "layout", "order"), [param(*t) for t in triples])


def test_layouts_are_met_with_all_sizes_equal_and_all_distinct_in_both_orders() -> None:
    for layout in LAYOUTS:
        met = {(c.variant, o) for c in chosen(f"loop {layout}", CASES) for o in ORDERS if zlib.crc32(f"loop {layout} {c.label} order".encode()) % 2 == ORDERS.index(o)}
        assert {(v, o) for v in ("distinct", "equal") for o in ORDERS} <= met


def places_of(sizes: dict[str, int], rng: np.random.Generator) -> list[dict[str, int]]:
    """The slices that are compared: four at most, both ends among them."""
    every = list(indices(sizes))
    if len(every) <= 4:
        return every
    return [every[k] for k in (0, *sorted(rng.choice(np.arange(1, len(every) - 1), 2, replace=False)), -1)]


def assert_is_the_loop(case: Case, got: Arrays, sizes: dict[str, int], f: Callable[..., Arrays], *groups: Arrays, least: float = 1e-3) -> None:
    """Each of ``got`` has the axes of ``sizes``, hidden, and is ``f`` of the slices of the groups."""
    places = places_of(sizes, rng_of(case, f"places {sizes}"))
    at = tuple(np.array([place[n] for place in places]) for n in sizes)
    for y, (own, e) in zip(got, in_slices(f, places, *groups), strict=True):
        assert set(y.vectorized) == set(sizes)
        assert y.dims == own
        assert_close(values(y, (*sizes, *own))[at or np.newaxis], e, rounding(case), least=least)


@in_layouts("loop", CASES)
def test_vectorized_is_the_loop_of_slices(case: Case, layout: str, order: str) -> None:
    operands, names, more, some = placed = LAYOUTS[layout](case, order)
    assert_is_the_loop(case, outputs(case(*operands)), names, lambda xs: outputs(case(*xs)), operands)
    if case.label not in FLOATS:
        return
    case = FLOATS[case.label]
    f = Function(case, operands, some)
    rng = rng_of(case, layout)
    cotangents = cotangents_of(f, rng, more)

    def pulled(ops: Arrays, cs: Arrays) -> Arrays:
        inner = Function(case, ops, some)
        return pull(inner, inner.xs, cs)

    got = pulled(operands, cotangents)
    assert [g.dims for g in got] == [x.dims for x in f.xs]
    assert_is_the_loop(case, got, placed.every, pulled, operands, cotangents)

    def pushed(ops: Arrays, ts: Arrays) -> Arrays:
        inner = Function(case, ops, some)
        return push(inner, inner.xs, ts)

    tangents = [like(x, rng, more) for x in f.xs]
    assert_is_the_loop(case, pushed(operands, tangents), placed.every, pushed, operands, tangents)


@in_layouts("second", FLOATING)
def test_second_order_under_vectorized_axes(case: Case, layout: str, order: str) -> None:
    operands, _, more, some = placed = LAYOUTS[layout](case, order)
    f = Function(case, operands, some)
    rng = rng_of(case, "second" + layout)
    cotangents, tangents = cotangents_of(f, rng, more), [like(x, rng, placed.every) for x in f.xs]

    def forward(ops: Arrays, cs: Arrays, ts: Arrays) -> Arrays:
        inner = Function(case, ops, some)
        return push(lambda *xs: tuple(pull(inner, xs, cs)), inner.xs, ts)

    def reverse(ops: Arrays, cs: Arrays, ts: Arrays) -> Arrays:
        inner = Function(case, ops, some)
        return pull(lambda *xs: tuple(pull(inner, xs, cs)), inner.xs, ts)

    ways = (forward, reverse)
    for how in ways if FULL else (ways[zlib.crc32(f"{case.label} {layout}".encode()) % 2],):
        got = how(operands, cotangents, tangents)
        assert [g.dims for g in got] == [x.dims for x in f.xs]
        # Terms of about 1 that cancel to 0.
        assert_is_the_loop(case, got, placed.every, how, operands, cotangents, tangents, least=1e-2)


def _hessian_blocks(f: Function, weights: Arrays) -> Arrays:
    """Every block of the Hessian of a weighted sum of the outputs."""

    def loss(*xs: ng.DimArray) -> ng.DimArray:
        parts = [(y * w).sum(skipna=False) for y, w in zip(outputs(f(*xs)), weights, strict=True) if y.dtype.kind in "fc"]
        return sum(parts[1:], parts[0]).real

    blocks = ng.hessian(loss, wrt=tuple(range(len(f.xs))))(*f.xs)
    return [b for row in blocks for b in row]


HESSIANS = LAYOUTS if FULL else ("all", "different", "two nested", "captured", "cotangent and first")


@in_layouts("hessian", [c for c in FLOATING if not c.is_complex], HESSIANS)
def test_hessians_under_vectorized_axes(case: Case, layout: str, order: str) -> None:
    operands, _, more, some = placed = LAYOUTS[layout](case, order)
    f = Function(case, operands, some)
    weights = cotangents_of(f, rng_of(case, "hessian" + layout), more)


    def blocks(ops: Arrays, ws: Arrays) -> Arrays:
        return _hessian_blocks(Function(case, ops, some), ws)

    assert_is_the_loop(case, blocks(operands, weights), placed.every, blocks, operands, weights)


@in_layouts("captured or passed", FLOATING, ["different", "two nested"])
def test_captured_or_passed_alike(case: Case, layout: str, order: str) -> None:
    operands, _, more, _ = LAYOUTS[layout](case, order)
    f = Function(case, operands)
    cotangents = cotangents_of(f, rng_of(case, "captured"), more)
    together = pull(f, f.xs, cotangents)
    for k, x in enumerate(f.xs):
        (alone,) = pull(lambda x, k=k: f(*f.xs[:k], x, *f.xs[k + 1 :]), [x], cotangents)
        assert set(alone.vectorized) == set(together[k].vectorized)
        assert alone.dims == together[k].dims
        assert_close(values(alone, all_names(together[k])), together[k].to_numpy(), rounding(case))


PLACES = ("numpy", "compiled", "stand-in")
COMING_BACK = [(c, p) for c in chosen("gone", FLOATING) for p in (PLACES if FULL else [PLACES[zlib.crc32(c.label.encode()) % 3]])]


@pytest.mark.parametrize(("case", "place"), [param(*t) for t in COMING_BACK])
def test_a_dim_that_is_gone_comes_back_as_slices_of_another_array(case: Case, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody may look at values. Each slice is the operation less a number, so that its gradient is that of the operation."""
    case = Settled(*case)
    operands = case.operands()
    f, rng = Function(case, operands), rng_of(case, "gone")
    left = {d for y in outputs(f(*f.xs)) for d in y.dims}
    gone = next((d for x in operands for d in x.dims if d not in left), None)
    if gone is None:
        return
    size = next(x.sizes[gone] for x in operands if gone in x.dims)
    other, cotangents = ng.DimArray(rng.normal(size=size), gone), cotangents_of(f, rng, {"n": size})

    def pulled(operands: Arrays, other: ng.DimArray, cotangents: Arrays) -> Arrays:
        inner = Function(case, operands)
        _, back = ng.pullback(lambda *xs: tuple((y - other).vectorize(gone).rename({gone: "n"}) for y in outputs(inner(*xs))), *inner.xs)
        return outputs(back(tuple(cotangents)))

    array = fake_cupy.installed(monkeypatch).asarray if place == "stand-in" else np.asarray
    given = [placed(x, array) for x in operands], placed(other, array), [placed(c, array) for c in cotangents]
    got = (ng.compile(pulled) if place == "compiled" else pulled)(*given)
    for n in range(size):
        for g, e in zip(got, pull(f, f.xs, [cut(c, {"n": n}) for c in cotangents]), strict=True):
            assert_close(cut(g, {"n": n}).to_numpy(), e.to_numpy(), rounding(case), least=1e-2)
