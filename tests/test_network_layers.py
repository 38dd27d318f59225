"""Layers of networks beyond the grid: running statistics, random masks, ensembles, lengths, refusals."""

import math

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.support.arrays import draw


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# ------------------------------------------------------------------------------------------------ normalisation


def test_running_statistics_are_returned(rng):
    x, mean, var = draw(rng, n=5, c=3, t=4), draw(rng, c=3), draw(rng, c=3) ** 2
    y, new_mean, new_var = ng.batch_norm(x, None, None, mean, var, dim=("n", "t"), momentum=0.25)
    np.testing.assert_allclose(new_mean.data, 0.75 * mean.data + 0.25 * x.data.mean((0, 2)), rtol=1e-13)
    np.testing.assert_allclose(new_var.data, 0.75 * var.data + 0.25 * x.data.var((0, 2), ddof=1), rtol=1e-13)
    np.testing.assert_array_equal(y.data, ng.batch_norm(x, dim=("n", "t")).data)
    _, new_mean, new_var = ng.instance_norm(x, None, None, mean, var, dim="t", momentum=0.25)
    np.testing.assert_allclose(new_mean.data, 0.75 * mean.data + 0.25 * x.data.mean((0, 2)), rtol=1e-13)
    np.testing.assert_allclose(new_var.data, 0.75 * var.data + 0.25 * x.data.var(2, ddof=1).mean(0), rtol=1e-13)


def test_running_statistics_are_constants(rng):
    x, mean = draw(rng, n=5, c=3), draw(rng, c=3)

    def loss(x):
        y, new_mean, new_var = ng.batch_norm(x, None, None, mean, mean**2, dim="n")
        return (y**3).sum() + new_mean.sum() + new_var.sum()

    expected = ng.grad(lambda x: (ng.batch_norm(x, dim="n") ** 3).sum())(x)
    np.testing.assert_array_equal(ng.grad(loss)(x).data, expected.data)


def test_running_statistics_per_slice(rng):
    x, mean = draw(rng, B=2, n=5, c=3), draw(rng, c=3)
    _, new, _ = ng.batch_norm(x.vectorize("B"), None, None, mean, mean**2, dim="n", momentum=1.0)
    assert new.vectorized == ("B",)
    np.testing.assert_allclose(new.data, x.data.mean(1), rtol=1e-13)


def test_normalisation_refuses(rng):
    x, mean = draw(rng, n=1, c=3), draw(rng, c=3)
    with pytest.raises(ValueError, match="no variance to keep"):
        ng.batch_norm(x, None, None, mean, mean**2, dim="n")
    with pytest.raises(TypeError, match="together, or neither"):
        ng.batch_norm(x, None, None, mean, dim="n")
    with pytest.raises(TypeError, match="without training"):
        ng.instance_norm(x, dim="n", training=False)
    with pytest.raises(ValueError, match="2 groups do not divide the 3 channels"):
        ng.group_norm(x, channel="c", groups=2)
    with pytest.raises(ng.AxisError, match="vectorized"):
        ng.layer_norm(x.vectorize("c"), dim="c")
    with pytest.raises(ng.AxisError, match="no dim 'q'"):
        ng.rms_norm(x, dim="q")


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "batch_norm", "instance_norm"])
def test_constant_cells_are_normalised_to_the_bias(name):
    x = ng.full({"n": 2, "c": 4}, 1.5)
    f = getattr(ng, name)
    y = f(x, dim="c", eps=1e-5)
    assert np.abs(y.data - (name == "rms_norm")).max() < 1e-5
    assert np.isfinite(ng.hessian(lambda x: (f(x, dim="c", eps=1e-5) ** 3).sum())(x).data).all()


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_lengths_neither_overflow_nor_vanish(rng, scale):
    x, length, g = draw(rng, n=2, c=3), draw(rng, n=2), draw(rng, n=2, c=3)
    for f in (lambda x: ng.normalize(x, "c", eps=0.0), lambda x: ng.weight_norm(x, length, dim="c")):
        np.testing.assert_allclose(f(x * scale).data, f(x).data, rtol=1e-13)  # without a warning
        (y, pull), (e, expected) = ng.pullback(f, x * scale), ng.pullback(f, x)
        np.testing.assert_allclose(y.data, e.data, rtol=1e-13)
        np.testing.assert_allclose(pull(g).data * scale, expected(g).data, rtol=1e-11)


@pytest.mark.parametrize("order", [2, 3, 0.5, -2])
@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_norms_that_are_rescued_warn_of_nothing(rng, scale, order):
    x = draw(rng, n=2, c=3)
    want = [np.linalg.norm(row, order) for row in x.data]
    np.testing.assert_allclose(ng.vector_norm(x * scale, "c", ord=order).data / scale, want, rtol=1e-12)


@pytest.mark.parametrize("lengths", [[0.0, -2.0], [1e140, 1e-140], [3.0, -0.0], [1e-70, 5.0], [2.0, 3.0]])
def test_weights_get_any_length(rng, lengths):
    x, g, scale = draw(rng, n=2, c=3), draw(rng, n=2, c=3), np.array([[1e-150], [1e150]])
    unit, length = x.data / np.linalg.norm(x.data, axis=1, keepdims=True), np.array(lengths)[:, None]
    for times in (1.0, scale):
        y, pull = ng.pullback(lambda v, s: ng.weight_norm(v, s, dim="c"), x * ng.DimArray(times * np.ones((2, 3)), x.dims), ng.DimArray(length[:, 0], "n"))
        np.testing.assert_allclose(y.data, unit * length, rtol=1e-14)
        along = (g.data * unit).sum(1, keepdims=True)
        slope = length / np.linalg.norm(x.data, axis=1, keepdims=True) * (g.data - along * unit)
        own, gained = pull(g)
        np.testing.assert_allclose(own.data * times, slope, rtol=1e-11, atol=1e-13 * np.abs(slope).max())
        np.testing.assert_allclose(gained.data, along[:, 0], rtol=1e-13)


def test_layers_keep_coordinates(rng):
    x = xr.DataArray(rng.normal(size=(3, 4)), dims=("time", "band"), coords={"time": [1, 2, 3], "band": list("abcd")}, name="x")
    y = ng.layer_norm(x, dim="band")
    xr.testing.assert_identical(y.coords.to_dataset(), x.coords.to_dataset())
    g = x.grad(lambda x: (ng.normalize(x, "band") ** 3).sum())
    assert g.dims == x.dims
    np.testing.assert_array_equal(g.band, x.band)


# ------------------------------------------------------------------------------------------------ dropout


def test_masks_are_drawn(rng):
    x = ng.ones({"n": 400, "c": 50})
    y = ng.dropout(x, p=0.25, rng=rng).data
    assert set(np.unique(y)) == {0.0, 1 / 0.75}
    assert abs(y.mean() - 1) < 0.02
    whole = ng.dropout(x, p=0.25, dim="c", rng=rng).data
    np.testing.assert_array_equal(whole, np.repeat(whole[:, :1], 50, 1))
    assert 0 < (whole[:, 0] == 0).mean() < 0.5
    z = ng.alpha_dropout(draw(rng, n=400, c=50), p=0.25, rng=rng).data
    assert abs(z.mean()) < 0.03
    assert abs(z.std() - 1) < 0.03


def test_every_slice_draws_for_itself(rng):
    y = ng.dropout(ng.ones({"B": 2, "n": 100}, vectorized="B"), p=0.5, rng=rng)
    assert y.vectorized == ("B",)
    assert (y.data[0] != y.data[1]).any()


def test_the_same_generator_draws_the_same_mask_under_differentiation():
    x = ng.ones({"n": 100})
    y = ng.dropout(x, p=0.5, rng=np.random.default_rng(1))
    g = ng.grad(lambda x: ng.dropout(x, p=0.5, rng=np.random.default_rng(1)).sum())(x)
    np.testing.assert_array_equal(g.data, y.data)


def test_a_compiled_function_draws_no_mask_once_for_all():
    with pytest.raises(ng.TraceError, match="mask="):
        ng.compile(lambda x: ng.dropout(x, rng=np.random.default_rng(0)))(ng.ones({"n": 3}))


def test_without_training_nothing_drops(rng):
    x = draw(rng, n=3)
    assert ng.dropout(x, p=0.5, training=False) is x
    assert ng.alpha_dropout(x, p=0.5, training=False) is x


def test_dropout_refuses(rng):
    x = draw(rng, n=3)
    with pytest.raises(TypeError, match=r"either mask=.*or rng="):
        ng.dropout(x)
    with pytest.raises(TypeError, match=r"either mask=.*or rng="):
        ng.alpha_dropout(x, x > 0, rng=rng)
    with pytest.raises(ValueError, match="no probability"):
        ng.dropout(x, x > 0, p=1.5)


# ------------------------------------------------------------------------------------------------ attention


def parts(rng, **more):
    return draw(rng, query=3, feature=2, **more), draw(rng, key=4, feature=2, **more), draw(rng, key=4, value=3, **more)


def test_what_is_masked_may_be_nan(rng):
    q, k, v = parts(rng)
    mask = ng.DimArray([True, False, True, True], "key")
    gone = [ng.where(mask, x, math.nan) for x in (k, v)]

    def loss(q, k, v):
        return (ng.scaled_dot_product_attention(q, k, v, mask) ** 2).sum()

    for f in (loss, ng.grad(loss, (0, 1, 2)), lambda *x: ng.hvp(lambda q: loss(q, *x[1:]), q, q)):
        for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (f(q, k, v), f(q, *gone))), strict=True):
            np.testing.assert_array_equal(a.data, b.data)


@pytest.mark.parametrize("additive", [False, True])
def test_a_query_that_sees_nothing_gets_nothing(rng, additive):
    q, k, v = parts(rng)
    mask = ng.DimArray([[True] * 4, [False] * 4, [True] * 4], ("query", "key"))
    mask = ng.where(mask, 0.0, -math.inf) if additive else mask

    def loss(q, k, v):
        return (ng.scaled_dot_product_attention(q, k, v, mask) ** 2).sum()

    assert (ng.scaled_dot_product_attention(q, k, v, mask).data[1] == 0).all()
    for g in ng.grad(loss, (0, 1, 2))(q, k, v):
        assert np.isfinite(g.data).all()
    assert (ng.grad(loss)(q, k, v).data[1] == 0).all()
    assert np.isfinite(ng.hessian(loss)(q, k, v).data).all()


def test_groups_of_heads_share_keys(rng):
    q, (_, k, v) = draw(rng, head=6, query=3, feature=2), parts(rng, head=2)
    y = ng.scaled_dot_product_attention(q, k, v, head="head")
    for i in range(6):
        alone = ng.scaled_dot_product_attention(q.isel(head=i), k.isel(head=i // 3), v.isel(head=i // 3))
        np.testing.assert_allclose(y.isel(head=i).data, alone.data, rtol=1e-13)


@pytest.mark.parametrize("heads", [1, 2, 6])
def test_grouped_queries_are_those_of_keys_repeated(rng, heads):
    """PyTorch's definition: keys and values are repeated, each as often as there are queries in its group."""
    q, (_, k, v) = draw(rng, head=6, query=3, feature=2, b=2), parts(rng, head=heads, b=2)
    mask = draw(rng, head=6, query=3, key=4)

    def repeated(q, k, v):
        k, v = (x.isel(head=np.repeat(np.arange(heads), 6 // heads)) for x in (k, v))
        return ng.scaled_dot_product_attention(q, k, v, mask)

    def grouped(q, k, v):
        return ng.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)

    def by_place(q, k, v):
        arrays = (ng.positional(x.transpose("b", "head", ...).data) for x in (q, k, v))
        return ng.scaled_dot_product_attention(*arrays, ng.positional(mask.data), enable_gqa=True)

    for f in (lambda f: f(q, k, v), lambda f: ng.grad(lambda *x: (f(*x) ** 2).sum(), (0, 1, 2))(q, k, v)):
        for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (f(grouped), f(repeated))), strict=True):
            np.testing.assert_allclose(a.data, b.transpose(*a.dims).data, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_place(q, k, v).data, repeated(q, k, v).transpose("b", "head", "query", "value").data, rtol=1e-12)
    with pytest.raises(ng.AxisError, match=r"sizes of \['head', 'b'\] differ .* head="):
        ng.scaled_dot_product_attention(q, *(x.isel(b=[0, 0, 1], head=[0, 0, 0]) for x in (k, v)), enable_gqa=True)


def test_dropped_weights(rng):
    q, k, v = parts(rng)
    keep = ng.DimArray(rng.random((3, 4)) > 0.5, ("query", "key"))
    y = ng.scaled_dot_product_attention(q, k, v, dropout_mask=keep, p=0.5)
    scores = q.data @ k.data.T / math.sqrt(2)
    w = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    np.testing.assert_allclose(y.data, (2 * w * keep.data) @ v.data, rtol=1e-13)
    drawn = ng.scaled_dot_product_attention(q, k, v, p=0.5, rng=np.random.default_rng(0))
    assert drawn.sizes == y.sizes


def test_large_scores_do_not_overflow(rng):
    q, k, v = parts(rng)
    y, pull = ng.pullback(lambda q: ng.scaled_dot_product_attention(q * 1e5, k, v), q)
    assert np.isfinite(y.data).all()
    assert np.isfinite(pull(y).data).all()


def test_attention_refuses(rng):
    q, k, v = parts(rng)
    with pytest.raises(ng.AxisError, match="3 names"):
        ng.scaled_dot_product_attention(q, k, v, dims=("query", "key"))
    with pytest.raises(ng.AxisError, match="rename one"):
        ng.scaled_dot_product_attention(q.expand_dims("key"), k, v)
    with pytest.raises(ng.AxisError, match="no dim 'key'"):
        ng.scaled_dot_product_attention(q, q, q)
    with pytest.raises(ValueError, match="do not fall into groups"):
        ng.scaled_dot_product_attention(draw(rng, head=3, query=3, feature=2), *parts(rng, head=2)[1:], head="head")
    w = [draw(rng, inner=4, embed=2)] * 3
    with pytest.raises(ValueError, match="3 heads do not divide"):
        ng.multi_head_attention(q.rename(feature="embed"), *(k.rename(feature="embed"),) * 2, *w, draw(rng, embed=2, inner=4), num_heads=3)


def test_weights_of_heads_and_extra_keys(rng):
    q, k = draw(rng, query=3, embed=4), draw(rng, key=5, embed=4)
    w = [draw(rng, inner=4, embed=4) for _ in range(3)]
    back, extra = draw(rng, embed=4, inner=4), draw(rng, inner=4)
    out, weights = ng.multi_head_attention(q, k, k, *w, back, num_heads=2, extra_key=extra, extra_value=extra, add_zero=True,
                                           mask=ng.DimArray([True] * 4 + [False], "key"), need_weights=True, average_weights=False)  # fmt: skip
    assert (out.sizes, weights.sizes) == ({"query": 3, "embed": 4}, {"query": 3, "head": 2, "key": 7})
    np.testing.assert_allclose(weights.sum("key").data, 1, rtol=1e-13)
    assert (weights.isel(key=4).data == 0).all()
    heads = [np.split(x.data @ m.data.T, 2, 1) for x, m in zip((q, k, k), w, strict=True)]
    for h, (a, b) in enumerate(zip(*heads[:2], strict=True)):
        keys = np.concatenate([b[:4], extra.data[None, 2 * h : 2 * h + 2], np.zeros((1, 2))])
        e = np.exp(a @ keys.T / math.sqrt(2))
        np.testing.assert_allclose(weights.transpose("head", "query", "key").data[h][:, [0, 1, 2, 3, 5, 6]], e / e.sum(1, keepdims=True), rtol=1e-12)


def test_masks_of_one_head_are_those_of_all_heads(rng):
    x, w = rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 4, 4))
    seen = np.array([[True, False, True], [True, True, False]])[:, None, None, :]
    expected = ng.multi_head_attention(ng.positional(x), x, x, *w, mask=np.broadcast_to(seen, (2, 2, 3, 3)), num_heads=2)
    for mask in (seen, np.where(seen, 0.0, -np.inf), np.broadcast_to(seen, (2, 1, 3, 3))):
        found = ng.multi_head_attention(ng.positional(x), x, x, *w, mask=mask, num_heads=2)
        np.testing.assert_allclose(found.data, expected.data, rtol=1e-14)


def test_normalisation_over_the_only_axis(rng):
    x = rng.normal(size=5)
    for layer in (ng.batch_norm, ng.instance_norm):
        np.testing.assert_allclose(layer(ng.positional(x), dim=0).data, (x - x.mean()) / np.sqrt(x.var() + 1e-5), rtol=1e-13)


# ------------------------------------------------------------------------------------------------ recurrence

GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def network(rng, kind, *, feature=2, hidden=3, layers=1, directions=1, **more):
    w = []
    for i in range(layers):
        name, size = ("hidden", hidden * directions) if i else ("feature", feature)
        for _ in range(directions):
            g = GATES[kind] * hidden
            w += [draw(rng, gate=g, **{name: size}, **more), draw(rng, gate=g, hidden=hidden, **more), draw(rng, gate=g, **more), draw(rng, gate=g)]
    return w


def states(kind):
    return [None] * (1 + (kind == "lstm"))


@pytest.mark.parametrize("kind", GATES)
def test_a_short_sequence_is_that_sequence_alone(rng, kind):
    x, lengths = draw(rng, time=5, batch=3, feature=2), np.array([5, 1, 3])
    w = network(rng, kind, layers=2, directions=2)
    f = getattr(ng, kind)
    out, *ends = f(x, *states(kind), *w, bidirectional=True, lengths=ng.DimArray(lengths, "batch"))
    g = draw(rng, time=5, batch=3, hidden=6)
    pulled = ng.pullback(lambda x: f(x, *states(kind), *w, bidirectional=True, lengths=ng.DimArray(lengths, "batch"))[0], x)[1](g)
    for b, n in enumerate(lengths):
        part = x.isel(batch=b, time=slice(0, int(n)))
        alone, *there = f(part, *states(kind), *w, bidirectional=True)
        np.testing.assert_allclose(out.isel(batch=b).data[:n], alone.data, rtol=1e-12)
        assert (out.isel(batch=b).data[n:] == 0).all()
        for a, e in zip(ends, there, strict=True):
            np.testing.assert_allclose(a.isel(batch=b).data, e.data, rtol=1e-12)
        own = ng.pullback(lambda x: f(x, *states(kind), *w, bidirectional=True)[0], part)[1](g.isel(batch=b, time=slice(0, int(n))))
        np.testing.assert_allclose(pulled.isel(batch=b).data[:n], own.data, rtol=1e-11, atol=1e-13)
        assert (pulled.isel(batch=b).data[n:] == 0).all()


@pytest.mark.parametrize("kind", GATES)
def test_an_ensemble_of_weights_is_the_loop_over_models(rng, kind):
    x, w = draw(rng, time=3, batch=2, feature=2), network(rng, kind, model=4)
    f = getattr(ng, kind)

    def loss(*w):
        return (f(x, *states(kind), *w)[0] ** 2).sum()

    together = ng.grad(loss, tuple(range(4)))(*(v.vectorize("model") if "model" in v.dims else v for v in w))
    for m in range(4):
        alone = ng.grad(loss, tuple(range(4)))(*(v.isel(model=m) if "model" in v.dims else v for v in w))
        for a, e in zip(together, alone, strict=True):
            assert a.vectorized == ("model",)
            np.testing.assert_allclose(a.data[m], e.data, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("kind", GATES)
def test_a_layer_is_its_cell_under_scan(rng, kind):
    x, w = draw(rng, time=4, batch=2, feature=2), network(rng, kind)
    zero = ng.zeros({"batch": 2, "hidden": 3})
    cell = getattr(ng, f"{kind}_cell")

    def step(state, x):
        new = cell(x, *state, *w)
        new = new if isinstance(new, tuple) else (new,)
        return new, new[0]

    _, ys = ng.scan(step, tuple(zero for _ in states(kind)), x, "time")
    np.testing.assert_allclose(getattr(ng, kind)(x, *states(kind), *w)[0].data, ys.data, rtol=1e-13)


def test_cells_dropped_between_layers(rng):
    x, w = draw(rng, time=3, feature=2), network(rng, "rnn", layers=2)
    keep = ng.DimArray(rng.random((3, 3)) > 0.5, ("time", "hidden"))
    first, _ = ng.rnn(x, None, *w[:4])
    second, _ = ng.rnn(ng.dropout(first, keep, p=0.25).rename(hidden="feature"), None, *(v.rename(hidden="feature") if i == 0 else v for i, v in enumerate(w[4:])))
    both, _ = ng.rnn(x, None, *w, dropout_masks=[keep], p=0.25)
    np.testing.assert_allclose(both.data, second.data, rtol=1e-13)
    drawn, _ = ng.rnn(x, None, *w, p=0.25, rng=rng)
    assert drawn.sizes == both.sizes


def test_the_gradient_of_a_long_sequence_is_not_summed_step_by_step(rng):
    """One join of all slices, not one addition of arrays of all times per step."""
    from namedgrad import backends

    class Adds(backends.Recorder):
        cells = 0

        def record(self, function, raw, kwargs, out):
            self.cells += np.size(out)
            return out

        def fixes(self, raw):
            return True

    def cells(size):
        x, w = draw(rng, time=size, feature=2), network(rng, "rnn", hidden=2)
        counter = Adds()
        token = backends.start_recording(counter)
        try:
            ng.grad(lambda x: ng.rnn(x, None, *w)[0].sum())(x)
        finally:
            backends.stop_recording(token)
        return counter.cells

    assert cells(64) < 4.6 * cells(16)


def test_recurrence_refuses(rng):
    x, w = draw(rng, time=3, feature=2), network(rng, "rnn")
    with pytest.raises(TypeError, match="3 weights are no whole layers of 1 x 4"):
        ng.rnn(x, None, *w[:3])
    with pytest.raises(ValueError, match="no step along 'time'"):
        ng.rnn(x.isel(time=slice(0, 0)), None, *w)
    with pytest.raises(ValueError, match="neither 'tanh' nor 'relu'"):
        ng.rnn(x, None, *w, nonlinearity="sine")
    with pytest.raises(ng.AxisError, match="3 gates of 3 cells are 9 along 'gate'"):
        ng.gru(x, None, *w)
    with pytest.raises(ng.AxisError, match="no dim 'time'"):
        ng.rnn(x.isel(time=0), None, *w)
    with pytest.raises(ng.AxisError, match="no dim 'gate'"):
        ng.rnn_cell(x.isel(time=0), ng.zeros({"hidden": 3}), *(v.rename(gate="g") for v in w))


def test_layers_compile(rng):
    x, w = draw(rng, time=3, batch=2, feature=2), network(rng, "lstm")
    q, k, v = parts(rng)
    mask = ng.DimArray([True, False, True, True], "key")

    def loss(x, q):
        y, _, _ = ng.lstm(x, None, None, *w)
        z = ng.scaled_dot_product_attention(q, k, v, mask)
        return (ng.layer_norm(y, dim="hidden") ** 3).sum() + (z**2).sum() + ng.pdist(q, ("query", "feature")).sum()

    f = ng.grad(loss, (0, 1))
    for scale in (1.0, 2.0):
        for a, e in zip(ng.compile(f)(x * scale, q * scale), f(x * scale, q * scale), strict=True):
            np.testing.assert_allclose(a.data, e.data, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("vectorized", [(), ("b",)])
def test_attention_to_a_leading_key_keeps_what_the_others_have(vectorized):
    q = ng.DimArray([[[40.0]], [[100.0]]], ("b", "query", "feature")).vectorize(*vectorized)
    k, v = ng.DimArray([[1.0], [0.0]], ("key", "feature")), ng.DimArray([[1.0], [0.0]], ("key", "value"))
    attend = lambda q: ng.scaled_dot_product_attention(q, k, v, scale=1.0).sum()
    expected = np.exp([-40.0, -100.0])
    np.testing.assert_allclose(ng.grad(attend)(q).data.ravel(), expected, rtol=1e-12)
    np.testing.assert_allclose(ng.hvp(attend, q, ng.ones_like(q)).data.ravel(), -expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e30), (np.float64, 1e200)])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "batch_norm", "instance_norm"])
def test_cells_whose_squares_leave_the_range_are_normalised(name, dtype, size, compiled):
    small = np.array([[1.0, -2.0, 3.0, 0.5], [1.0, 2.0, -1.0, 4.0]])
    f = lambda x: getattr(ng, name)(x, dim="x", eps=0.0)
    x = ng.DimArray((small * [[size], [1]]).astype(dtype), ("n", "x"))
    weights = ng.DimArray(np.array([0.3, -1.0, 2.0, 0.7], dtype), "x")
    g = lambda x: ng.grad(lambda x: (f(x) * weights).sum())(x)
    run = ng.compile if compiled else lambda f: f
    close = {"rtol": 1e-4 if dtype == np.float32 else 1e-11}
    usual = ng.DimArray(small, ("n", "x"))
    np.testing.assert_allclose(run(f)(x).data, f(usual).data, **close)
    np.testing.assert_allclose(run(g)(x).data * [[size], [1]], g(usual).data, **close)


def test_rms_norm_of_complex_numbers_is_by_their_squares() -> None:
    """As PyTorch has it: the mean is that of ``x ** 2``, a complex number, not of ``abs(x) ** 2``."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 5)) + 1j * rng.normal(size=(3, 5))
    expected = x / np.sqrt(np.mean(x**2, axis=1, keepdims=True) + 0.5)
    np.testing.assert_allclose(ng.rms_norm(ng.DimArray(x, ("a", "x")), dim="x", eps=0.5).data, expected, rtol=1e-12)


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_query_that_does_not_count_may_be_anything_on_a_device(cupy, odd):
    """Nobody may look at cotangents there: one of 0 met weights that are no numbers."""
    rng = np.random.default_rng(0)
    q, k, v, w = (rng.normal(size=s) for s in ((3, 4), (3, 4), (3, 2), (3, 2)))
    w[2] = 0

    def pulled(last):
        query = np.concatenate([q[:2], np.full((1, 4), last)])
        dims = ("query", "feature"), ("key", "feature"), ("key", "f")
        several = [ng.DimArray(cupy.asarray(a), d) for a, d in zip((query, k, v), dims, strict=True)]
        _, pull = ng.pullback(lambda *a: ng.scaled_dot_product_attention(*a, is_causal=True), *several)
        return [g.to_numpy() for g in pull(ng.DimArray(cupy.asarray(w), ("query", "f")))]

    for found, want in zip(pulled(odd), pulled(1.0), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-13, atol=1e-16)
