"""Random programs of named operations, judged by the definition of a gradient and by loops of slices."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import namedgrad as ng
from tests.support.arrays import all_names, all_sizes, cut, indices, permuted, values
from tests.support.meaning import gradient_by_definition, jacobian_by_definition
from tests.support.oracles import moved, richardson, stacked
from tests.support.tolerances import FIRST, ROUNDING, SECOND, assert_close

EXAMPLES = int(os.environ.get("NAMEDGRAD_FUZZ", "100"))
SIZES = [{"x": 2, "y": 3, "z": 4, "b": 2, "c": 3}, dict.fromkeys("xyzbc", 3)]
MAX_CELLS, MAX_VALUE, MARGIN = 100, 50, 0.1

Step = Callable[[list[ng.DimArray]], ng.DimArray]


class Program:
    """Steps, each adding one array to a list that begins with the inputs; the sum of the last is the output."""

    def __init__(self, inputs: list[ng.DimArray], steps: list[Step], story: list[str]) -> None:
        self.inputs, self.steps, self.story = inputs, steps, story

    def __call__(self, *inputs: ng.DimArray) -> ng.DimArray:
        pool = list(inputs)
        for step in self.steps:
            pool.append(step(pool))
        return pool[-1].sum()

    def __repr__(self) -> str:
        shown = ", ".join(f"{a.dims} | {a.vectorized}" for a in self.inputs)
        return f"inputs {shown}: {'; '.join(self.story)}"


UNARY: dict[str, Callable[[ng.DimArray], ng.DimArray]] = {
    "sin": np.sin,
    "tanh": np.tanh,
    "exp": lambda a: ng.exp(a * 0.3),
    "square": np.square,
    "negative": lambda a: -a,
    "sqrt of square": lambda a: ng.sqrt(a * a + 0.5),
}
BINARY: dict[str, Callable[[Any, Any], ng.DimArray]] = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / (b * b + 1.0),
    "hypot": lambda a, b: ng.hypot(a, b + 3.0),
    "where": lambda a, b: ng.where(a > 0.1, a, b),
    "dot": lambda a, b: ng.dot(a, b),
    "outer part": lambda a, b: ng.dot(a, b, dim=()),
}
ALONG: dict[str, Callable[[ng.DimArray, Any], ng.DimArray]] = {
    "sum": lambda a, d: a.sum(d),
    "mean": lambda a, d: a.mean(d),
    "max": lambda a, d: a.max(d),
    "var": lambda a, d: a.var(d),
    "prod": lambda a, d: a.prod(d),
    "logsumexp": lambda a, d: ng.logsumexp(a, d),
    "cumsum": lambda a, d: a.cumsum(d),
    "flip": lambda a, d: a.flip(d),
    "roll": lambda a, d: a.roll({d: 1}),
    "sort": lambda a, d: ng.sort(a, d),
    "first": lambda a, d: a.isel({d: 0}),
    "again": lambda a, d: a.isel({d: [1, 0, 1]}),
    "mirrored": lambda a, d: ng.concat([a, a.isel({d: slice(None, None, -1)})], d).isel({d: slice(1, 1 + a.sizes[d])}),
    "set": lambda a, d: a.at[{d: 0}].set(a.isel({d: 1})),
    "add at": lambda a, d: a.at[{d: [0, 0]}].add(a.isel({d: [1, 0]})),
    "padded": lambda a, d: a.isel({d: slice(1, None)}).pad({d: (1, 0)}, mode="constant", constant_values=0.25),
    "stack": lambda a, d: a.stack({d: (*(n for n in a.dims if n != d), d)}),
}
AXES: dict[str, Callable[[ng.DimArray, Any], ng.DimArray]] = {
    "vectorize": lambda a, d: a.vectorize(d),
    "devectorize": lambda a, d: a.devectorize(d),
    "rename": lambda a, d: a.rename({d: {"b": "k", "c": "m", "x": "n"}.get(d, "o")}),
    "rename to a known name": lambda a, d: a.rename({d: {"b": "c", "c": "k", "x": "k", "y": "x", "z": "y"}.get(d, "z")}),
    "turn": lambda a, d: a.transpose(d, ...),
}


@st.composite
def programs(draw: Any, *, only_batched: bool = False) -> Program:
    """Inputs with random dims, some vectorized, stored in any order; 3 to 8 steps that go through."""
    sizes = draw(st.sampled_from(SIZES))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    inputs = []
    for _ in range(draw(st.integers(1, 3))):
        dims = draw(st.lists(st.sampled_from("xyz"), unique=True, max_size=2))
        batch = draw(st.lists(st.sampled_from("bc"), unique=True, max_size=1 if not only_batched else 2))
        a = ng.DimArray(rng.normal(size=[sizes[n] for n in (*batch, *dims)]), (*batch, *dims), vectorized=batch)
        inputs.append(permuted(a, rng))
    pool, steps, story = list(inputs), [], []
    for _ in range(draw(st.integers(3, 8))):
        step, text, smooth = draw(_steps(pool, only_batched=only_batched))
        if not smooth:
            continue
        try:
            with np.errstate(all="ignore"):
                result = step(pool)
        except (ng.AxisError, TypeError, ValueError, IndexError):
            continue  # the program itself is wrong: another step
        small = result.size and np.abs(result.to_numpy()).max(initial=0) < MAX_VALUE  # a NaN is not small either
        if np.prod(list(all_sizes(result).values())) > MAX_CELLS or not small:
            continue
        if any(sizes.get(n, s) != s for n, s in all_sizes(result).items()):
            continue  # one name, one size, also across the program
        pool.append(result)
        steps.append(step)
        story.append(text)
    return Program(inputs, steps, story)


@st.composite
def _steps(draw: Any, pool: list[ng.DimArray], *, only_batched: bool) -> tuple[Step, str, bool]:
    kinds = ["unary", "binary", "binary", "along", "along", "along"] + ([] if only_batched else ["axes", "axes"])
    kind = draw(st.sampled_from(kinds))
    # late arrays are likelier, so that programs are deep
    i = max(draw(st.integers(0, len(pool) - 1)), draw(st.integers(0, len(pool) - 1)))
    if kind == "unary":
        name = draw(st.sampled_from(sorted(UNARY)))
        return (lambda p: UNARY[name](p[i])), f"{name}({i})", True
    if kind == "binary":
        name, j = draw(st.sampled_from(sorted(BINARY))), draw(st.integers(0, len(pool) - 1))
        smooth = name != "where" or np.abs(pool[i].to_numpy() - 0.1).min(initial=1) > MARGIN
        return (lambda p: BINARY[name](p[i], p[j])), f"{name}({i}, {j})", bool(smooth)
    table = ALONG if kind == "along" else AXES
    name = draw(st.sampled_from(sorted(table)))
    names = pool[i].vectorized if name == "devectorize" else all_names(pool[i]) if name == "rename" else pool[i].dims
    if not names:
        return (lambda p: np.sin(p[i])), f"sin({i})", True
    dim = draw(st.sampled_from(names))
    smooth = True
    if name in {"max", "sort"}:  # finite differences must not cross a tie
        a = pool[i].to_numpy()
        gaps = np.diff(np.sort(a, axis=all_names(pool[i]).index(dim)), axis=all_names(pool[i]).index(dim))
        smooth = bool(gaps.min(initial=1) > MARGIN)
    return (lambda p: table[name](p[i], dim)), f"{name}({i}, {dim!r})", smooth


fuzz = settings(
    max_examples=EXAMPLES, derandomize="NAMEDGRAD_FUZZ" not in os.environ, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@fuzz
@given(programs())
def test_gradients_are_the_definition_or_refused(program: Program) -> None:
    y = program(*program.inputs)
    crossed = any(s.startswith(("devectorize", "vectorize", "rename")) for s in program.story)
    for k, x in enumerate(program.inputs):

        def one(x: ng.DimArray, k: int = k) -> ng.DimArray:
            return program(*program.inputs[:k], x, *program.inputs[k + 1 :])

        expected = gradient_by_definition(one, x)
        try:
            g = ng.grad(one)(x)
        except ng.AxisError as error:
            assert "another name" in str(error)
            assert expected.mixed or crossed
            continue
        assert not expected.mixed
        assert set(all_names(g)) == set(all_names(x)) | set(y.vectorized)
        assert g.dims == x.dims
        assert_close(values(g, expected.names), expected.data, 10 * FIRST)


@fuzz
@given(programs())
def test_modes_agree(program: Program) -> None:
    rng = np.random.default_rng(1)
    y = program(*program.inputs)
    tangents = [ng.DimArray(rng.normal(size=x.to_numpy().shape), all_names(x), vectorized=x.vectorized) for x in program.inputs]

    def along(h: float) -> np.ndarray:
        moved_inputs = [moved(x, h * t.to_numpy()) for x, t in zip(program.inputs, tangents, strict=True)]
        return values(program(*moved_inputs), all_names(y))

    try:
        out, pushed = ng.pushforward(program, tuple(program.inputs), tuple(tangents))
    except ng.AxisError as error:
        assert "another name" in str(error)
        assert any(s.startswith(("devectorize", "vectorize", "rename")) for s in program.story)
        return
    assert_close(out.to_numpy(), y.to_numpy(), ROUNDING)
    assert_close(values(pushed, all_names(y)), richardson(along), 10 * FIRST)


@fuzz
@given(programs())
def test_jacobians_are_the_definition_or_refused(program: Program) -> None:
    x = program.inputs[-1]

    def last(x: ng.DimArray) -> ng.DimArray:
        pool = [*program.inputs[:-1], x]
        for step in program.steps:
            pool.append(step(pool))
        return pool[-1]

    y = last(x)
    if set(y.dims) & set(x.vectorized) or y.size * x.size > 200:
        return  # refused: an axis would be a slice here and a dim there
    crossed = any(s.startswith(("devectorize", "vectorize", "rename")) for s in program.story)
    expected = jacobian_by_definition(last, x)
    for mode in ("forward", "reverse"):
        try:
            j = ng.jacobian(last, mode=mode)(x)
        except ng.AxisError as error:
            assert "another name" in str(error)
            assert expected.mixed or crossed
            continue
        assert not expected.mixed
        assert j.dims == (*y.dims, *(f"{n}_wrt" for n in x.dims))
        assert_close(values(j, expected.names), expected.data, 10 * FIRST, mode)


@fuzz
@given(programs())
def test_checkpoints_change_nothing(program: Program) -> None:
    wrt = tuple(range(len(program.inputs)))
    tangents = tuple(np.cos(x) for x in program.inputs)
    for transform in (
        lambda f: ng.grad(f, wrt)(*program.inputs),
        lambda f: ng.pushforward(f, tuple(program.inputs), tangents)[1:],
        lambda f: [ng.linearize(f, *program.inputs)[1](*tangents)],
    ):
        plain, checked = (_attempt(lambda f=f, transform=transform: transform(f)) for f in (program, ng.checkpoint(program)))
        assert (plain is None) == (checked is None)
        for a, b in zip(plain or (), checked or (), strict=True):
            assert_close(values(a, all_names(b)), b.to_numpy(), 10 * ROUNDING)


def _attempt(call: Callable[[], Any]) -> Any:
    """The answer, or None if it is refused."""
    try:
        return call()
    except ng.AxisError:
        return None


@fuzz
@given(programs(only_batched=True))
def test_vectorized_programs_are_loops_of_slices(program: Program) -> None:
    names = {n: s for x in program.inputs for n, s in x.vectorized_sizes.items()}
    wrt = tuple(range(len(program.inputs)))
    y = program(*program.inputs)
    v = {n: s for n, s in names.items() if n in y.vectorized}
    assert v == y.vectorized_sizes
    value, gradients = ng.value_and_grad(program, wrt)(*program.inputs)
    for at in indices(v):
        one = program(*(cut(x, at) for x in program.inputs))
        assert_close(values(cut(value, at), all_names(one)), one.to_numpy(), ROUNDING)
    if v != names:
        return  # an input that is not used has axes that the output lacks
    expected = stacked(lambda xs: list(ng.grad(program, wrt)(*xs)), names, program.inputs)
    for x, g, (own, e) in zip(program.inputs, gradients, expected, strict=True):
        assert g.dims == x.dims
        assert_close(values(g, own), e, 10 * ROUNDING)


@fuzz
@given(programs())
def test_second_derivatives_of_programs(program: Program) -> None:
    x = program.inputs[0]
    t = ng.DimArray(np.random.default_rng(2).normal(size=x.to_numpy().shape), all_names(x), vectorized=x.vectorized)

    def slope(x: ng.DimArray) -> ng.DimArray:
        return ng.grad(lambda x: program(x, *program.inputs[1:]))(x)

    g = _attempt(lambda: slope(x))
    if g is None:
        return
    expected = richardson(lambda h: values(slope(moved(x, h * t.to_numpy())), all_names(g)), 1e-4)
    crossed = any(s.startswith(("devectorize", "vectorize", "rename")) for s in program.story)
    forward = _attempt(lambda: ng.pushforward(slope, (x,), (t,))[1])
    assert forward is not None or crossed
    if forward is not None:
        assert_close(values(forward, all_names(g)), expected, 10 * SECOND)
    if set(g.vectorized) != set(x.vectorized):
        return  # the sum below would be per slice, and the product one more step away from a Hessian times t
    reverse = _attempt(lambda: ng.grad(lambda x: (slope(x) * t).sum())(x))
    assert reverse is not None or crossed
    if reverse is not None and forward is not None:
        assert_close(values(reverse, all_names(g)), forward.to_numpy(), 1e4 * ROUNDING)
