"""Loops and branches under vectorized axes, in every transform: what they give is what each slice gives alone."""

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.support.slices import agrees, cut, drawn, generator
from tests.support.tolerances import ROUNDING, assert_close

T = ng.DimArray(np.array([0.9, -0.4, 1.3, 0.2, 0.7], np.float32), "t")


def until(limit, body, x):
    return ng.while_loop(lambda s: s.sum() < limit if s.dims else s < limit, body, x)


def newton(x):
    """The cube root, by iteration to the end of precision."""

    def better(s):
        y, _ = s
        new = y - (y**3 - x) / (3 * y * y)
        return new, abs(new - y)

    return ng.while_loop(lambda s: s[1] > 1e-12, better, (x * 0 + 1.0, x * 0 + 1.0), max_steps=12)[0]


def collatz(x):
    """As many steps as the slice needs, by branches inside the loop."""

    def body(s):
        x, n = s
        return ng.cond(x > 1.0, lambda: (x / 2 + 0.1, n + 1.0), lambda: (3 * x - 0.3, n + 1.0))

    y, n = ng.while_loop(lambda s: s[1] < 4, body, (x, 0.0))
    return y * n


# Of one number per slice.
NUMBERS = {
    "growing": lambda x: until(20.0, lambda s: s * 1.7 + ng.sin(s), x),
    "bounded": lambda x: ng.while_loop(lambda s: s < 20.0, lambda s: s * 1.7 + 0.1, x, max_steps=4),
    "not at all": lambda x: ng.while_loop(lambda s: s < 0.0, lambda s: s * 2, x) ** 2,
    "no step allowed": lambda x: ng.while_loop(lambda s: s < 20.0, lambda s: s * 2, x, max_steps=0) ** 2,
    "nested structure": lambda x: (lambda s: s["y"] * s["z"][0] + s["z"][1])(
        ng.while_loop(lambda s: s["y"] < 5.0, lambda s: {"y": s["y"] * (1 + x), "z": (s["z"][0] + s["y"], s["z"][1] * 0.9)}, {"y": x, "z": (x * x, x + 1.0)})
    ),
    "loop in a loop": lambda x: until(9.0, lambda s: s + ng.while_loop(lambda v: v < s, lambda v: v * 1.5 + 0.2, x), x),
    "loop in a branch": lambda x: ng.cond(x > 1.0, lambda: until(9.0, lambda s: s * s + 0.5, x), lambda: ng.fori_loop(0, 3, lambda i, s: s * x + i, x)),
    "branch in a loop": collatz,
    "root by iteration": newton,
    "captured in the body": lambda x: until(20.0, lambda s: s * (1 + x) + 0.1, x * x),
    "captured in the condition": lambda x: ng.while_loop(lambda s: s < 5.0 + x, lambda s: s * 1.5 + x, x),
    "counted": lambda x: ng.fori_loop(2, 6, lambda i, s: s * x + i, x),
    "counted to nothing": lambda x: ng.fori_loop(6, 2, lambda i, s: s * x, x * x),
    "counted per slice": lambda x: ng.fori_loop(0, ng.floor(x * 4).astype(int), lambda i, s: s * x + i, x),
    "from a start per slice": lambda x: ng.fori_loop(ng.floor(x * 2).astype(np.int16), 5, lambda i, s: s * x + i * x, x),
    "scan": lambda x: (lambda c, ys: (c * ys).sum())(*ng.scan(lambda c, v: (ng.tanh(c * x + v), c * v), x, T, "t")),
    "scan of nothing": lambda x: ng.scan(lambda c, v: (c * v, c), x * x, T.isel(t=slice(0)), "t")[0],
    "scan with every carry kept": lambda x: ng.scan(lambda c, v: (c * v + x, None), x, T, "t", checkpoint_every=1)[0],
    "scan without a carry": lambda x: (ng.scan(lambda c, v: (None, v * x * x), None, T, "t")[1] * T).sum(),
    "scan backwards": lambda x: (lambda c, ys: (c * ys).sum())(*ng.scan(lambda c, v: (c * v + x, c * x), 1.0, ng.flip(T, "t"), "t")),
    "scan with branches": lambda x: ng.scan(lambda c, v: (ng.cond(c * v > 0.3, lambda: c * v, lambda: c + x), None), x, T, "t")[0],
    "condition": lambda x: ng.cond(x > 1.0, lambda x: ng.log(x), lambda x: ng.sqrt(2.0 - x), x),
    "constant branch": lambda x: ng.cond(x > 1.0, lambda: x * x, lambda: 3.0) + x,
    "the same on both sides": lambda x: ng.cond(x > 1.0, lambda v: v, lambda v: v, x) * x,
    "NaN that is not taken": lambda x: ng.cond(x > 1.0, lambda x: ng.sqrt(x - 1.0) * ng.log(x - 1.0), lambda x: x * 2, x),
    "infinity that is not taken": lambda x: ng.cond(x < 50.0, lambda x: x * x, lambda x: ng.exp(x * 1e4), x),
    "checkpointed": lambda x: ng.checkpoint(lambda x: until(9.0, lambda s: s * s + 0.5, x))(x),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("layout", ["b", "bc"])
def test_loops_of_numbers(name, layout):
    x = drawn(generator(name, layout), {n: {"b": 5, "c": 3}[n] for n in layout}, low=0.35)
    agrees(NUMBERS[name], x.vectorize(*layout), key=name, tolerance=1e-11, first=2e-7, twice=name != "root by iteration")


@pytest.mark.parametrize("name", ["growing", "nested structure", "captured in the body", "counted per slice", "scan", "condition", "loop in a branch"])
def test_over_is_the_loop(name):
    x = drawn(generator(name, "over"), {"b": 4})
    f = NUMBERS[name]
    for transform in (ng.grad, ng.hessian, ng.jacobian, lambda f, **how: ng.jacobian(f, mode="forward", **how)):
        whole = transform(f, over="b")(x)
        for k in range(4):
            assert_close(whole.data[k], transform(f)(x.isel(b=k)).data, 1e-10)


@pytest.mark.parametrize("name", [n for n in NUMBERS if n != "root by iteration"])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_loops_keep_the_precision(name, dtype):
    x = drawn(generator(name, "single"), {"b": 5}, low=0.35).vectorize("b")
    single = x.astype(np.float32)
    if dtype is np.complex64:
        turned = lambda x, f=NUMBERS[name]: (f(x) * (1.0 + 0.5j)).real
        single_out, out = ng.value_and_grad(turned)(single), ng.value_and_grad(turned)(x)
    else:
        single_out, out = ng.value_and_grad(NUMBERS[name])(single), ng.value_and_grad(NUMBERS[name])(x)
    for y, e in zip(single_out, out, strict=True):
        assert y.dtype == np.float32
        assert_close(y.data, e.data.astype(np.float32), 2e-4)


COMPLEX = {
    "escaping": lambda z: ng.while_loop(lambda s: abs(s) < 8.0, lambda s: s * s + z, z, max_steps=12),
    "scan": lambda z: ng.scan(lambda c, v: (c * v + z, c * ng.conjugate(z)), z, T, "t")[1].sum(),
    "counted": lambda z: ng.fori_loop(0, 4, lambda i, s: s * z + i, z),
    "condition": lambda z: ng.cond(z.real > 1.0, lambda: z * z, lambda: ng.conjugate(z) * 1j),
    "real and complex branches": lambda z: ng.cond(z.real > 1.0, lambda: z.real + 0j, lambda: z * z),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_states(name):
    rng = generator(name, "complex")
    z = drawn(rng, {"b": 6}) + drawn(rng, {"b": 6}) * 1j
    agrees(COMPLEX[name], z.vectorize("b"), key=name, tolerance=1e-10, first=1e-6)


# ------------------------------------------------------------------------------------------------ two names


TWO = {
    "state and limit": lambda x, y: ng.while_loop(lambda s: s < 6 * y, lambda s: s * 1.6 + x, x),
    "state and factor": lambda x, y: ng.while_loop(lambda s: s < 9.0, lambda s: s * (1 + y), x),
    "two states": lambda x, y: ng.while_loop(lambda s: s[0] < 9.0, lambda s: (s[0] * 2, s[1] * s[0]), (x, y))[1],
    "two counts": lambda x, y: ng.fori_loop(ng.floor(x).astype(int), ng.floor(3 * y).astype(int), lambda i, s: s * x + y, x * y),
    "predicate and branches": lambda x, y: ng.cond(x > 1.0, lambda: y * y, lambda: y + 2 * x),
    "scan": lambda x, y: ng.scan(lambda c, v: (c * y + v, c), x, T, "t")[1].sum(),
}


@pytest.mark.parametrize("names", ["bc", "bb", "b", "c"])
@pytest.mark.parametrize("name", TWO)
def test_loops_over_different_names(name, names):
    rng = generator(name, names)
    left, right = {"bc": ("b", "c"), "bb": ("b", "b"), "b": ("b", ""), "c": ("", "c")}[names]
    x, y = (drawn(rng, {n: 4 if n == "b" else 3 for n in own}, low=0.5) for own in (left, right))
    x, y = (a.vectorize(*own) if own else a for a, own in ((x, left), (y, right)))
    if names == "c" and name == "two states":
        return  # the first state alone decides, and has no names
    agrees(TWO[name], x, y, key=name, tolerance=1e-11, first=2e-7, twice=True)


# ------------------------------------------------------------------------------------------------ arrays in the state


ARRAYS = {
    "vectors": lambda x: ng.while_loop(lambda s: s.sum() < 20.0, lambda s: s * 1.3 + ng.roll(s, {"x": 1}), x),
    "a matrix applied until it is large": lambda x: ng.while_loop(lambda s: ng.norm(s, "x") < 20.0, lambda s: ng.dot(M, s.rename(x="z"), dim="z"), x),
    "power iteration": lambda x: ng.fori_loop(0, 4, lambda i, s: (lambda v: v / ng.norm(v, "x"))(ng.dot(M, s.rename(x="z"), dim="z")), x),
    "integration": lambda x: ng.scan(lambda y, dt: (y + dt * 0.1 * ng.sin(y), y), x, T, "t")[1],
    "sum of a series": lambda x: ng.while_loop(lambda s: abs(s[0]).max() > 1e-3, lambda s: (s[0] * x * 0.3, s[1] + s[0]), (x, x * 0))[1],
    "condition on the sum": lambda x: ng.cond(x.sum() > 3.0, lambda: x.sort("x") * W, lambda: ng.cumsum(x, "x") * W),
}
M = ng.DimArray([[1.1, 0.4, 0.1], [0.2, 1.3, 0.3], [0.1, 0.2, 0.9]], ("x", "z"))
W = ng.DimArray([1.0, -2.0, 0.5], "x")


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("size", [3, 4])
def test_loops_of_arrays(name, size):
    x = drawn(generator(name, size), {"x": 3, "b": size})
    agrees(ARRAYS[name], x.vectorize("b"), key=name, tolerance=1e-11, first=2e-7, twice=True)
    jac = ng.jacobian(lambda x: ARRAYS[name](x))
    whole, modes = jac(x.vectorize("b")), ng.jacobian(ARRAYS[name], mode="forward")(x.vectorize("b"))
    assert_close(whole.data, modes.data, 1e-11)
    for k in range(size):
        assert_close(whole.data[k], jac(x.isel(b=k)).data, 1e-11)


# ------------------------------------------------------------------------------------------------ captured, compiled


@pytest.mark.parametrize("name", ["while", "cond", "fori", "scan"])
def test_a_shared_parameter_has_a_gradient_per_slice_or_their_sum(name):
    x = drawn(generator(name, "shared"), {"b": 4})

    def f(w, x):
        return {
            "while": lambda: ng.while_loop(lambda s: s < 20.0, lambda s: s * w + x, x), "cond": lambda: ng.cond(x > 1.0, lambda: w * x, lambda: w * w),
            "fori": lambda: ng.fori_loop(0, 4, lambda i, s: s * w + x, x), "scan": lambda: ng.scan(lambda c, v: (c * w + v * x, None), x, T, "t")[0],
        }[name]()  # fmt: skip

    w, hidden = ng.DimArray(1.5, ()), x.vectorize("b")
    rows = np.array([ng.grad(f)(w, x.isel(b=k)).item() for k in range(4)])
    assert_close(ng.grad(f)(w, hidden).data, rows, ROUNDING)
    assert_close(ng.grad(lambda w: f(w, hidden))(w).data, rows, ROUNDING)
    assert_close(ng.grad(lambda w: f(w, hidden).devectorize("b").sum())(w).data, rows.sum(), ROUNDING)
    twice = ng.hessian(lambda w: f(w, hidden))(w).data
    assert_close(twice, [ng.hessian(lambda w, k=k: f(w, x.isel(b=k)))(w).item() for k in range(4)], ROUNDING)


BOUNDED = ["bounded", "no step allowed", "root by iteration", "counted", "counted to nothing", "counted per slice", "scan", "scan with branches",
           "scan backwards", "condition", "constant branch", "NaN that is not taken"]  # fmt: skip


@pytest.mark.parametrize("name", [n for n in BOUNDED if n != "counted per slice"])
def test_compiled_programs_follow_the_values(name):
    f = NUMBERS[name]
    for transform in (lambda f: f, ng.grad, ng.hessian):
        compiled = ng.compile(transform(f))
        for seed in (1, 2):
            x = drawn(generator(name, seed), {"b": 5}, low=0.35).vectorize("b")
            assert_close(compiled(x).data, transform(f)(x).data, 1e-9)


def test_what_a_compiled_program_cannot_look_at_is_refused_with_the_way_out():
    x = drawn(generator("open"), {"b": 3}).vectorize("b")
    for f in (NUMBERS["growing"], NUMBERS["counted per slice"]):
        with pytest.raises(ng.TraceError, match="max_steps"):
            ng.compile(f)(x)


def test_a_loop_says_what_it_cannot_do():
    x = ng.ones({"b": 2, "x": 2}, vectorized="b")
    with pytest.raises(ValueError, match=r"dims \('x',\).*\.any\(\) or \.all\(\)"):
        ng.while_loop(lambda s: s < 3.0, lambda s: s * 2, x)
    with pytest.raises(ValueError, match="one form"):
        ng.while_loop(lambda s: s[0].sum() < 3.0, lambda s: (s[0], s[1], s[0]), (x, x))
    for bound in (2.5, x.isel(x=0), None):
        with pytest.raises(TypeError, match="bounds must be integers"):
            ng.fori_loop(0, bound, lambda i, s: s, x)
    with pytest.raises(ng.AxisError, match="'t'"):
        ng.scan(lambda c, v: (c, v), x, x, "t")
    with pytest.raises(TypeError, match=r"\(carry, y\)"):
        ng.scan(lambda c, v: c, x, T, "t")


def test_a_slice_that_has_ended_computes_nothing_that_counts():
    x = ng.DimArray([0.5, 40.0], "b", vectorized="b")

    def body(s):
        return s + ng.log(45.0 - s)  # not a number for what has ended far beyond

    g = ng.grad(lambda x: ng.while_loop(lambda s: s < 42.0, body, x))(x)
    for k in range(2):
        assert_close(g.data[k], ng.grad(lambda x: ng.while_loop(lambda s: s < 42.0, body, x))(cut(x, {"b": k})).item(), ROUNDING)


# ------------------------------------------------------------------------------------------------ run again within run again


def squared_by_rule(x):
    square = ng.custom_pullback(lambda v: v * v)

    @square.pullback
    def _(cotangent, out, v):
        return cotangent * 2 * v

    return square(x)


def squared_by_tangents(x):
    square = ng.custom_pushforward(lambda v: v * v)

    @square.pushforward
    def _(tangents, out, v):
        return tangents[0] * 2 * v

    return square(x)


again, D = ng.checkpoint, T.astype(float)
# ``x`` is captured from outside of what is run again, and handed to what is run again within that.
WITHIN = {
    "another": lambda x: again(lambda s: s + again(lambda v: v * v)(x))(x),
    "one that captures it too": lambda x: again(lambda s: s + again(lambda v: v * x * s)(x))(x),
    "three of them": lambda x: again(lambda s: again(lambda t: t + again(lambda v: v * x * s)(x))(x) * s)(x),
    "one without arguments": lambda x: again(lambda s: s + again(lambda: x * x)())(x),
    "a rule": lambda x: again(lambda s: s + squared_by_rule(x))(x),
    "a rule for tangents": lambda x: again(lambda s: s + squared_by_tangents(x))(x),
    "a gradient": lambda x: again(lambda s: s + ng.grad(lambda v: v * v * x)(x))(x),
    "a gradient that returns it": lambda x: again(lambda s: s + ng.value_and_grad(lambda v: x)(s)[0])(x),
    "a tangent": lambda x: again(lambda s: s + ng.pushforward(lambda v: v * v * x, (x,), (s,))[1])(x),
    "a Hessian": lambda x: again(lambda s: s + ng.hessian(lambda v: v * v * v * x)(x))(x),
    "a linear map": lambda x: again(lambda s: s + ng.linearize(lambda v: v * v * x, x)[1](s))(x),
    "a scan": lambda x: again(lambda s: s + ng.scan(lambda c, v: (c * x + v, None), x, D, "t")[0])(x),
    "a counted loop in a loop": lambda x: ng.while_loop(lambda s: s < 9.0, lambda s: s + ng.fori_loop(0, 3, lambda i, v: v * x, x), x),
    "a scan in a scan": lambda x: ng.scan(lambda c, v: (c + ng.scan(lambda d, w: (d * x + w * v, None), x, D, "t")[0], None), x, D, "t")[0],
}


@pytest.mark.parametrize("name", WITHIN)
def test_what_is_run_again_within_what_is_run_again(name):
    f = WITHIN[name]
    agrees(f, ng.DimArray([0.7, 1.3], "b", vectorized="b"), key=name, tolerance=1e-11, twice=True)
    third = ng.grad(ng.grad(ng.grad(f)))(0.7)
    h = 1e-4
    assert_close(third, (ng.grad(ng.grad(f))(0.7 + h) - ng.grad(ng.grad(f))(0.7 - h)) / (2 * h), 1e-6)


def test_a_complex_cotangent_of_a_real_output_counts_by_its_real_part():
    z, c = ng.DimArray([1 + 1j, 2.0 - 1j], "x"), ng.DimArray([1 + 2j, 3 - 1j], "x")
    for f in (lambda z: z.real, abs, lambda z: ng.angle(z) * z.imag):
        (_, whole), (_, part) = ng.pullback(f, z), ng.pullback(f, z)
        assert_close(whole(c).data, part(c.real).data, ROUNDING)
    linear = ng.linearize(lambda z: z.real, z)[1]
    assert linear.T(c).data.tolist() == [1, 3]


# ------------------------------------------------------------------------------------------------ other kinds of arrays


def test_positional_arrays_and_numbers_are_the_same_loops():
    data = np.array([1.0, 2.0, 30.0])

    def f(x):
        return ng.while_loop(lambda s: s < 20.0, lambda s: s * x + 1, x * 1.5)

    value, slopes = ng.value_and_grad(f)(ng.positional(data, vectorized=("b",)))
    one = [ng.value_and_grad(f)(float(v)) for v in data]
    assert_close(value.data, [v for v, _ in one], ROUNDING)
    assert_close(slopes.data, [g for _, g in one], ROUNDING)
    plain = ng.hessian(lambda p: np.sum(ng.fori_loop(0, 3, lambda i, s: s * s + p, p)))(np.array([0.1, 0.2]))
    x = ng.DimArray([0.1, 0.2], "x")
    named = ng.hessian(lambda p: ng.fori_loop(0, 3, lambda i, s: s * s + p, p).sum())(x)
    assert_close(plain, named.data, ROUNDING)


def test_xarray_objects_keep_their_labels():
    x = xr.DataArray([1.0, 2.0, 30.0], dims="b", coords={"b": [10, 20, 30]}, name="q")
    g = ng.grad(lambda x: ng.cond(x > 1.5, lambda: x * x, lambda: ng.while_loop(lambda s: s < 9.0, lambda s: s * (1 + x), x)), over="b")(x)
    assert g.b.equals(x.b)
    assert_close(g.data, [2.0**4 + 4 * 2.0**3, 4.0, 60.0], ROUNDING)
    carry, ys = ng.scan(lambda c, v: (c + v, {"y": c * v, "n": None}), 0.0, x, "b")
    assert float(carry) == 33.0
    assert ys["y"].data.tolist() == [0.0, 2.0, 90.0]
    assert ys["y"].b.equals(x.b)
    wide = xr.DataArray(np.arange(6.0).reshape(2, 3) + 1, dims=("t", "b"), coords={"t": [1, 2], "b": [10, 20, 30]})
    g = ng.grad(lambda d: ng.scan(lambda c, v: (c * v + v, c * v), 1.0, d, "t")[0], over="b")(wide)
    rows = [ng.grad(lambda d: ng.scan(lambda c, v: (c * v + v, c * v), 1.0, d, "t")[0])(wide.isel(b=k)).data for k in range(3)]
    assert_close(g.transpose("b", "t").data, rows, ROUNDING)
    assert g.t.equals(wide.t)


def test_counted_loops_of_lazy_bounds_name_the_loop_that_can_do_it():
    import dask.array as da

    n = ng.DimArray(da.from_array(np.array([1, 3])), "b", vectorized="b")
    x = ng.DimArray([2.0, 3.0], "b", vectorized="b")
    with pytest.raises(ng.TraceError, match=r"while_loop with a counter.*max_steps"):
        ng.fori_loop(0, n, lambda i, s: s * 2, x)
    lazy = ng.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, x), max_steps=4)[1]
    assert lazy.to_numpy().tolist() == [4.0, 24.0]


@pytest.mark.parametrize("hidden", [(), ("b",)])
def test_a_scan_over_nothing_has_outputs_without_cells(hidden: tuple[str, ...]) -> None:
    """As ``jax.lax.scan`` has; all that is pulled is the carry's."""
    w, xs = ng.DimArray([1.0, 2.0], "u"), ng.DimArray(np.zeros((3, 0, 2)), ("b", "t", "u"), vectorized=hidden)
    run = lambda w, xs: ng.scan(lambda c, x: (c * x, {"y": c / x, "n": None, "whole": x > 0}), w, xs, "t")
    carry, ys = run(w, xs)
    np.testing.assert_array_equal(carry.data, w.data)
    for y, dtype in ((ys["y"], float), (ys["whole"], bool)):
        assert y.dtype == dtype
        assert ({**y.vectorized_sizes, **y.sizes}, y.dims[0], y.vectorized) == ({"b": 3, "t": 0, "u": 2}, "t", hidden)
    assert ys["n"] is None
    g, h = ng.grad(lambda w, xs: run(w, xs)[0].sum() + run(w, xs)[1]["y"].devectorize().sum(), (0, 1))(w, xs)
    np.testing.assert_array_equal(g.data, [1, 1])
    assert h.data.shape == xs.data.shape
    plain = ng.scan(lambda c, x: (c, c / x), np.ones(2, "f4"), np.zeros((2, 0), "f4"), -1)[1]
    assert (plain.shape, plain.dtype) == ((0, 2), np.float32)
