"""Operations whose operands have familiar places for their axes, against the same operation with names."""

import numpy as np
import pytest

import namedgrad as ng

rng = np.random.default_rng(0)


def draw(*shape):
    return rng.normal(size=shape)


def both(name, operands, of, out, positional=None, **named):
    """The operation on positional arrays and on DimArrays, values and gradients, plain and per slice."""
    f = getattr(ng, name)
    p_options, n_options = positional or {}, named
    kept = {k: v for k, v in n_options.items() if k in p_options or not isinstance(v, (str, tuple))}

    def first(result):
        return result[0] if isinstance(result, tuple) else result

    plain = f(*(ng.positional(x) for x in operands), **{**kept, **p_options})
    wanted = f(*(ng.DimArray(x, d) for x, d in zip(operands, of, strict=True)), **n_options)
    for y, e, names in zip(*((r if isinstance(r, tuple) else (r,)) for r in (plain, wanted)), out, strict=True):
        np.testing.assert_allclose(y.data, e.transpose(*names).data, rtol=1e-13, atol=1e-13)
    g = draw(*first(plain).shape)
    _, pull = ng.pullback(lambda *xs: first(f(*xs, **{**kept, **p_options})), *operands)
    _, pull_named = ng.pullback(lambda *xs: first(f(*xs, **n_options)), *(ng.DimArray(x, d) for x, d in zip(operands, of, strict=True)))
    for a, e in zip(_tuple(pull(g)), _tuple(pull_named(ng.DimArray(g, out[0]))), strict=True):
        np.testing.assert_allclose(a, e.data, rtol=1e-12, atol=1e-12)
    batched = f(*(ng.positional(np.stack([x, x + 0.5]), vectorized="B") for x in operands), **{**kept, **p_options})
    for i in range(2):
        alone = f(*(ng.positional(x + 0.5 * i) for x in operands), **{**kept, **p_options})
        np.testing.assert_allclose(first(batched).devectorize().data[i], first(alone).data, rtol=1e-12, atol=1e-12)


def _tuple(x):
    return x if isinstance(x, tuple) else (x,)


def test_distances():
    both("cdist", [draw(2, 4, 3), draw(5, 3)], [("n", "p", "k"), ("r", "k")], [("n", "p", "r")], dim="k", p=1.5)
    both("pdist", [draw(2, 4, 3)], [("n", "p", "k")], [("n", "pair")], dims=("p", "k"))
    with pytest.raises(ng.AxisError, match="fixed places"):
        ng.cdist(ng.positional(draw(2, 3)), ng.positional(draw(2, 3)), 0)


def test_products_and_blocks():
    both("bilinear", [draw(2, 3), draw(4, 3, 5), draw(2, 5), draw(4)], [("n", "i"), ("o", "i", "j"), ("n", "j"), "o"], [("n", "o")])
    both("block_diag", [draw(2, 3), draw(2, 3), draw(3)], [("r", "c"), ("r", "c"), "c"], [("r", "c")], dims=("r", "c"))
    both("cartesian_prod", [draw(2), draw(3)], ["x", "y"], [("combination", "variable")])
    a, b, c, d = draw(2, 3), draw(3, 2), draw(4, 3), draw(5, 4, 3)
    for name, operands in {"kron": (a, b), "inner": (a, c), "vdot": (a, a + 1), "vecdot": (c, d)}.items():
        numpy = getattr(np, name)
        np.testing.assert_allclose(getattr(ng, name)(*map(ng.positional, operands)).data, numpy(*operands), rtol=1e-13)
    np.testing.assert_allclose(ng.vecdot(ng.positional(a), ng.positional(a), 0).data, np.linalg.vecdot(a, a, axis=0), rtol=1e-13)
    with pytest.raises(ng.AxisError, match="tensordot"):
        ng.kron(ng.positional(a), ng.positional(b), 0)


IMAGE = ("n", "c", "y", "x")


def test_normalisation():
    x, w, b = draw(2, 4, 3, 5), draw(4), draw(4)
    both("layer_norm", [x, draw(3, 5), draw(3, 5)], [IMAGE, ("y", "x"), ("y", "x")], [IMAGE], positional={"dim": (-2, -1)}, dim=("y", "x"))
    both("layer_norm", [x, w], [IMAGE, "c"], [IMAGE], positional={"dim": 1}, dim="c")
    both("rms_norm", [x, draw(5)], [IMAGE, "x"], [IMAGE], positional={"dim": -1}, dim="x")
    both("batch_norm", [x, w, b], [IMAGE, "c", "c"], [IMAGE], dim=("n", "y", "x"))
    both("batch_norm", [x, w, b, w, b**2], [IMAGE, *["c"] * 4], [IMAGE], dim=("n", "y", "x"), training=False)
    both("instance_norm", [x, w, b], [IMAGE, "c", "c"], [IMAGE], dim=("y", "x"))
    both("group_norm", [x, w, b], [IMAGE, "c", "c"], [IMAGE], dim=("y", "x"), groups=2, channel="c")
    y, mean, var = ng.batch_norm(ng.positional(x), None, None, w, b**2)
    assert (y.shape, mean.shape, var.shape) == (x.shape, (4,), (4,))


def test_attention():
    q, k, v = draw(2, 4, 3, 5), draw(2, 2, 6, 5), draw(2, 2, 6, 7)
    dims = [("n", "h", "l", "e"), ("n", "h", "s", "e"), ("n", "h", "s", "v")]
    both("scaled_dot_product_attention", [q, k, v], dims, [("n", "h", "l", "v")], positional={"head": 1, "is_causal": True}, dims=("l", "s", "e"), head="h", is_causal=True)
    both("scaled_dot_product_attention", [q[:, :2], k, v, draw(3, 6)], [*dims, ("l", "s")], [("n", "h", "l", "v")], dims=("l", "s", "e"))
    masked = ng.scaled_dot_product_attention(*map(ng.positional, (q[:, :2], k, v, np.ones((2, 1, 1, 6), bool))))
    np.testing.assert_allclose(masked.data, ng.scaled_dot_product_attention(*map(ng.positional, (q[:, :2], k, v))).data)
    for one in ((q[:1], k, v), (q, k[:, :1], v[:, :1])):  # queries of one batch, keys of one head
        places = [np.broadcast_to(x, (2, *x.shape[1:])) for x in one]
        wanted = ng.scaled_dot_product_attention(*(ng.DimArray(x, d) for x, d in zip(places, dims, strict=True)), dims=("l", "s", "e"), head="h")
        np.testing.assert_allclose(ng.scaled_dot_product_attention(*map(ng.positional, one), head=1).data, wanted.data, rtol=1e-12)
    w = [draw(6, 5), draw(6, 5), draw(6, 7), draw(5, 6)]
    names = [("i", "e"), ("i", "e"), ("i", "e"), ("o", "i")]
    both("multi_head_attention", [q[:, 0], k[:, 0], v[:, 0], *w], [("n", "l", "e"), ("n", "s", "e"), ("n", "s", "e"), *names], [("n", "l", "o"), ("n", "head", "l", "s")],
         positional={"need_weights": True, "average_weights": False}, dims=("l", "s", "e"), inner="i", num_heads=3, need_weights=True, average_weights=False)  # fmt: skip


@pytest.mark.parametrize(("name", "count"), [("rnn", 1), ("gru", 3), ("lstm", 4)])
def test_recurrence(name, count):
    states = 1 + (name == "lstm")
    x, h = draw(3, 2, 4), [draw(4, 2, 5) for _ in range(states)]
    w = [v for size in (4, 4, 10, 10) for v in (draw(5 * count, size), draw(5 * count, 5), draw(5 * count), draw(5 * count))]
    names = [n for feature in ("feature", "feature", "hidden", "hidden") for n in (("gate", feature), ("gate", "hidden"), "gate", "gate")]
    out = [("time", "n", "hidden"), *[("layer", "n", "hidden")] * states]
    both(name, [x, *h, *w], [("time", "n", "feature"), *[("layer", "n", "hidden")] * states, *names], out, positional={"bidirectional": True}, bidirectional=True)
    last = getattr(ng, name)(ng.positional(np.swapaxes(x, 0, 1)), *[None] * states, *w[:4], dim=1)
    first = getattr(ng, name)(ng.positional(x), *[None] * states, *w[:4])
    np.testing.assert_allclose(np.swapaxes(last[0].data, 0, 1), first[0].data, rtol=1e-13)
    both(f"{name}_cell", [x[0], *(s[0] for s in h), *w[:4]], [("n", "feature"), *[("n", "hidden")] * states, *names[:4]], [("n", "hidden")] * states)


def test_projected_states():
    operands = [draw(3, 4), draw(1, 2), draw(1, 5), draw(20, 4), draw(20, 2), draw(20), draw(20), draw(2, 5)]
    dims = [("time", "feature"), ("layer", "hidden"), ("layer", "cell"), ("gate", "feature"), ("gate", "hidden"), "gate", "gate", ("hidden", "cell")]
    both("lstm", operands, dims, [("time", "hidden"), ("layer", "hidden"), ("layer", "cell")], positional={"projection": True}, projection=True)


def test_dot_is_that_of_numpy():
    a, b, c = draw(2, 3), draw(3, 4), draw(4, 5)
    np.testing.assert_allclose(ng.dot(ng.positional(a), b, c).data, a @ b @ c, rtol=1e-13)
    np.testing.assert_allclose(ng.dot(ng.positional(a), draw(3), dim={1: 0}).shape, (2,))
    np.testing.assert_allclose(ng.dot(ng.positional(c), draw(4, 4), dim={0: 1}).shape, (5, 4))
    w = draw(3)
    np.testing.assert_allclose(ng.dot(ng.positional(a), w, dim=-1).data, a @ w, rtol=1e-13)
    np.testing.assert_allclose(ng.dot(ng.positional(a), w, dim=...).data, (a @ w).sum(), rtol=1e-13)
    np.testing.assert_allclose(ng.dot(ng.positional(a), draw(2, 1), dim=0).shape, (3,))
    g = ng.grad(lambda a: ng.dot(a, b).sum())(a)
    np.testing.assert_allclose(g, np.broadcast_to(b.sum(1), a.shape), rtol=1e-13)


def test_spectra_of_pieces_with_a_window():
    x, window = draw(2, 9), 1.5 + draw(4)
    options = {"n_fft": 4, "hop_length": 2}
    named = ng.stft(ng.DimArray(x, ("n", "t")), ng.DimArray(window, "t"), dim="t", **options)
    assert named.dims == ("n", "frequency", "t")
    spectra = ng.stft(ng.positional(x), window, dim=-1, **options)
    np.testing.assert_array_equal(spectra.data, named.data)
    for kwargs in ({"dim": -1}, {"dim": 2, "frequency": 1}):
        np.testing.assert_allclose(ng.istft(spectra, ng.positional(window), length=9, **kwargs, **options).data, x, rtol=1e-12)
    swapped = np.swapaxes(spectra, 1, 2)
    np.testing.assert_allclose(ng.istft(swapped, window, dim=1, frequency=2, length=9, **options).data, x, rtol=1e-12)
    energy = lambda x, w: (np.abs(ng.stft(x, w, dim=-1, **options)) ** 2).sum()
    for k, v in enumerate((x, window)):
        g = ng.grad(energy, k)(x, window)
        step = 1e-6 * draw(*v.shape)
        moved = [(x + s * step, window) if k == 0 else (x, window + s * step) for s in (1, -1)]
        ends = [energy(*map(ng.positional, at)).data for at in moved]
        np.testing.assert_allclose((g * step).sum(), (ends[0] - ends[1]) / 2, rtol=1e-6)


def test_index_put_writes_where_numpy_does():
    x, values, rows, columns = draw(3, 4), draw(3), np.array([0, 2, 0]), np.array([1, 1, 1])
    replaced, added = x.copy(), x.copy()
    replaced[rows, columns] = values
    np.add.at(added, (rows, columns), values)
    for where in ((rows, columns), {0: rows, -1: columns}, (ng.positional(rows), columns)):
        np.testing.assert_array_equal(ng.index_put(ng.positional(x), where, values).data, replaced)
        np.testing.assert_allclose(ng.index_put(ng.positional(x), where, values, accumulate=True).data, added)
    along = ng.index_put(ng.positional(x), {1: columns[:1]}, 5.0).data
    assert (along[:, 1] == 5).all()
    cotangent = draw(3, 4)
    g = ng.grad(lambda v: (ng.index_put(x, (rows, columns), v) * cotangent).sum())(values)
    np.testing.assert_allclose(g, [0, cotangent[2, 1], cotangent[0, 1]])


def test_the_number_of_an_axis_follows_the_coordinate():
    x, t = draw(2, 9), np.arange(9.0) ** 1.5
    for slope in (ng.differentiate(ng.positional(x), t, 1), ng.differentiate(ng.positional(x), coord=t, dim=-1)):
        np.testing.assert_allclose(slope.data, np.gradient(x, t, axis=1), rtol=1e-12)
    np.testing.assert_allclose(ng.gradient(ng.positional(x), 0, edge_order=1).data, np.gradient(x, axis=0), rtol=1e-12)
    np.testing.assert_allclose(ng.integrate(ng.positional(x), t, 1).data, np.trapezoid(x, t, axis=1), rtol=1e-12)
