"""Layers of networks."""

import math

import numpy as np
import xarray as xr

import namedgrad as ng
from tests.support.grid import entry, point, sample


def standardised(x, dims, eps):
    off = x - x.mean(dims)
    return off / np.sqrt((off**2).mean(dims) + eps)


def affine(y, x, weight, bias):
    y = y if weight is None else y * weight
    y = y if bias is None else y + bias
    return y.transpose(*x.dims, ...)


def layer_norm(x, weight=None, bias=None, *, dim, eps=1e-5):
    return affine(standardised(x, dim, eps), x, weight, bias)


def rms_norm(x, weight=None, *, dim, eps=2.0**-52):
    return affine(x / np.sqrt((x**2).mean(dim) + eps), x, weight, None)


def group_norm(x, weight=None, bias=None, *, channel, groups, dim=(), eps=1e-5):
    parts = np.split(np.arange(x.sizes[channel]), groups)
    y = [standardised(x.isel({channel: at}), [channel, *([dim] if isinstance(dim, str) else dim)], eps) for at in parts]
    return affine(xr.concat(y, channel), x, weight, bias)


def batch_norm(x, weight=None, bias=None, mean=None, var=None, *, dim, training=True, eps=1e-5):
    y = standardised(x, dim, eps) if training else (x - mean) / np.sqrt(var + eps)
    return affine(y, x, weight, bias)


def length(x, dim, p):
    size = abs(x)
    return size.max(dim) if p == math.inf else (size**p).sum(dim) ** (1 / p)


def normalize(x, dim, p=2, *, eps=1e-12):
    return (x / np.maximum(length(x, dim, p), eps)).transpose(*x.dims)


def weight_norm(v, g, dim):
    return affine(v * g / length(v, dim, 2), v, None, None)


def dropout(x, mask, *, p=0.5, training=True):
    return (x * mask / (1 - p) if training else x).transpose(*x.dims, ...)


def alpha_dropout(x, mask, *, p=0.5, training=True):
    if not training:
        return x
    s = 1.0507009873554805 * 1.6732632423543772
    a = ((1 - p) * (1 + p * s**2)) ** -0.5
    return (a * xr.where(mask, x, -s) + a * p * s).transpose(*x.dims, ...)


def softmax(x, dim):
    w = np.exp(x - x.max(dim))
    return w / w.sum(dim)


def masked(scores, mask):
    return scores if mask is None else xr.where(mask, scores, -math.inf) if mask.dtype.kind == "b" else scores + mask


def attention(q, k, v, mask=None, *, dims, is_causal=False, scale=None, head=None):
    query, key, feature = dims
    if head is not None and q.sizes[head] != k.sizes[head]:
        again = np.repeat(np.arange(k.sizes[head]), q.sizes[head] // k.sizes[head])
        k, v = (x.isel({head: again}) for x in (k, v))
    scores = masked(xr.dot(q, k, dim=feature) * (q.sizes[feature] ** -0.5 if scale is None else scale), mask)
    if is_causal:
        allowed = np.tri(q.sizes[query], k.sizes[key], dtype=bool)
        scores = masked(scores, xr.DataArray(allowed, dims=(query, key)))
    out = xr.dot(softmax(scores, key), v, dim=key)
    return out.transpose(*(n for n in q.dims if n in out.dims), ...)


def multi_head(q, k, v, *more, dims, inner, num_heads):
    wq, wk, wv, wo, bq, bk, bv, bo, mask = (*more, *(0.0, 0.0, 0.0, 0.0, None)[len(more) - 4 :])

    def heads(x, w, b):
        y = xr.dot(x, w, dim=dims[2]) + b
        rest = [n for n in y.dims if n != inner]
        cells = y.transpose(*rest, inner).to_numpy()
        return xr.DataArray(cells.reshape(*cells.shape[:-1], num_heads, -1), dims=(*rest, "head", "cell"))

    out = attention(heads(q, wq, bq), heads(k, wk, bk), heads(v, wv, bv), mask, dims=(*dims[:2], "cell"))
    rest = [n for n in out.dims if n not in {"head", "cell"}]
    cells = out.transpose(*rest, "head", "cell").to_numpy()
    return xr.dot(xr.DataArray(cells.reshape(*cells.shape[:-2], -1), dims=(*rest, inner)), wo, dim=inner) + bo


D = ng.DimArray
ROW = D([[1.0, 3.0]], ("n", "c"))
FLAT = D([[2.0, 2.0]], ("n", "c"))

entry(
    "layer_norm",
    layer_norm,
    [sample("real(six,b,a)", "real(a)", "real(b)", dim="six")],
    points=[
        point(FLAT, dim="c", eps=0.25, value=[[0.0, 0.0]], gradients=[lambda c: (c - c.mean(keepdims=True)) * 2]),
        point(ROW, D([2.0, 2.0], "c"), D([1.0, 1.0], "c"), dim="c", eps=0.0, value=[[-1.0, 3.0]],
              gradients=[[[0.0, 0.0]], lambda c: [-c[0, 0], c[0, 1]], lambda c: c[0]]),
        point(D([[5.0]], ("n", "c")), dim="c", value=[[0.0]], gradients=[[[0.0]]]),
        point(ng.zeros({"n": 0, "c": 2}), dim="c", value=np.zeros((0, 2)), gradients=[np.zeros((0, 2))]),
    ],
)  # fmt: skip
entry(
    "rms_norm",
    rms_norm,
    [sample("real(six,b,a)", "real(a)", dim=("six", "a"))],
    points=[
        point(ng.zeros({"n": 1, "c": 2}), dim="c", eps=0.25, value=[[0.0, 0.0]], gradients=[lambda c: 2 * c]),
        point(D([3.0, 4.0, 0.0, 0.0], "c"), dim="c", eps=0.0, value=[1.2, 1.6, 0.0, 0.0],
              gradients=[lambda c: (c - np.array([0.6, 0.8, 0.0, 0.0]) * (0.6 * c[0] + 0.8 * c[1])) / 2.5]),
        point(ng.zeros({"n": 0, "c": 2}), dim="c", value=np.zeros((0, 2)), gradients=[np.zeros((0, 2))]),
    ],
)  # fmt: skip
entry(
    "group_norm",
    group_norm,
    [sample("real(eight,a)", "real(eight)", "real(a)", channel="eight", groups=4, dim=("a",), eps=0.25)],
    points=[
        point(D([1.0, 3.0, 10.0, 30.0], "c"), channel="c", groups=2, eps=0.0, value=[-1.0, 1.0, -1.0, 1.0], gradients=[np.zeros(4)]),
        point(D([2.0, 2.0, 5.0, 5.0], "c"), channel="c", groups=2, eps=0.25, value=np.zeros(4), gradients=[lambda c: 2 * (c - c.reshape(2, 2).mean(1).repeat(2))]),
        point(D([1.0, 3.0], "c"), channel="c", groups=2, value=[0.0, 0.0], gradients=[[0.0, 0.0]]),
    ],
)
for name in ("batch_norm", "instance_norm"):
    entry(
        name,
        batch_norm,
        [sample("real(six,b,a)", "real(a)", "real(b)", dim=("a", "six"))],
        points=[
            point(ROW, dim="c", eps=0.0, value=[[-1.0, 1.0]], gradients=[[[0.0, 0.0]]]),
            point(FLAT, dim="c", eps=0.25, value=[[0.0, 0.0]], gradients=[lambda c: (c - c.mean(keepdims=True)) * 2]),
            point(ROW, 2.0, 1.0, 1.0, 3.0, dim="c", eps=1.0, training=False, value=[[1.0, 3.0]],
                  gradients=[lambda c: c, lambda c: c[0, 1], lambda c: c.sum(), lambda c: -c.sum(), lambda c: -c[0, 1] / 4]),
            point(ng.zeros({"n": 0, "c": 2}), dim="c", value=np.zeros((0, 2)), gradients=[np.zeros((0, 2))]),
        ],
    )  # fmt: skip
entry(
    "normalize",
    normalize,
    [sample("nonzero(a,six)", dim="six", p=1.5), sample("nonzero(a,six)", dim="six", p=0.5, eps=1e-3)],
    points=[
        *(point([0.0, 0.0], dim="p", p=p, eps=0.5, value=[0.0, 0.0], gradients=[lambda c: 2 * c]) for p in (0, 1, 1.5, 2, 3, math.inf)),
        point([3.0, 4.0], dim="p", value=[0.6, 0.8], gradients=[lambda c: (c - np.array([0.6, 0.8]) * (0.6 * c[0] + 0.8 * c[1])) / 5]),
        point([3.0, 4.0], dim="p", p=0, value=[1.5, 2.0], gradients=[lambda c: c / 2]),
        point([], dim="p", value=[], gradients=[[]]),
    ],
)
entry(
    "weight_norm",
    weight_norm,
    [sample("nonzero(a,b)", "real(c)", dim="b")],
    points=[
        point([3.0, 4.0], 10.0, dim="p", value=[6.0, 8.0], gradients=[lambda c: 2 * (c - np.array([0.6, 0.8]) * (0.6 * c[0] + 0.8 * c[1])), lambda c: 0.6 * c[0] + 0.8 * c[1]]),
        point([-2.0], 3.0, dim="p", value=[-3.0], gradients=[[0.0], lambda c: -c[0]]),
        point([1.0, 0.0], 0.0, dim="p", value=[0.0, 0.0], gradients=[[0.0, 0.0], lambda c: c[0]]),
    ],
)
KEEP = D([True, False], "p")
entry(
    "dropout",
    dropout,
    [sample("real(a)", "bool(b)", p=0.0)],
    points=[
        point([2.0, 3.0], KEEP, value=[4.0, 0.0], gradients=[lambda c: [2 * c[0], 0.0]]),
        point([2.0, math.inf], KEEP, p=0.75, value=[8.0, 0.0], gradients=[lambda c: [4 * c[0], 0.0]]),
        point([2.0, math.nan], KEEP, p=0.5, value=[4.0, 0.0], gradients=[lambda c: [2 * c[0], 0.0]]),
        point([2.0, 3.0], KEEP, p=1.0, value=[0.0, 0.0], gradients=[[0.0, 0.0]]),
    ],
)
entry(
    "alpha_dropout",
    alpha_dropout,
    [sample("real(a)", "bool(b)", p=0.1)],
    points=[
        point([2.0, 3.0], KEEP, p=0.0, value=[2.0, -1.7580993408473766], gradients=[lambda c: [c[0], 0.0]]),
        point([2.0, 3.0], KEEP, p=1.0, value=[0.0, 0.0], gradients=[[0.0, 0.0]]),
        point([2.0, math.nan], KEEP, p=0.0, value=[2.0, -1.7580993408473766], gradients=[lambda c: [c[0], 0.0]]),
    ],
)
KEY, VALUE = D([[0.0], [0.0]], ("k", "f")), D([1.0, 3.0], "k")
SEEN = D([[True, True], [False, False], [False, True]], ("q", "k"))
QUERY = D([[1.0], [2.0], [3.0]], ("q", "f"))
entry(
    "scaled_dot_product_attention",
    attention,
    [
        sample("real(a,b)", "real(c,b)", "real(c,b)", "real(i,a,c)", dims=("a", "c", "b"), scale=2.0),
        sample("real(a,i,b)", "real(c,b)", "real(c)", dims=("a", "c", "b")),
    ],
    points=[
        point(QUERY, KEY, VALUE, SEEN, dims=("q", "k", "f"), value=[2.0, 0.0, 3.0],
              gradients=[np.zeros((3, 1)), lambda c: [[-0.5 * c[0]], [0.5 * c[0]]], lambda c: [0.5 * c[0], 0.5 * c[0] + c[2]]]),
        point(QUERY, KEY, VALUE, D([[0.0, -math.inf]], ("o", "k")).isel(o=0), dims=("q", "k", "f"), value=[1.0, 1.0, 1.0],
              gradients=[np.zeros((3, 1)), np.zeros((2, 1)), lambda c: [c.sum(), 0.0], [0.0, 0.0]]),
        point(QUERY, KEY, VALUE, dims=("q", "k", "f"), is_causal=True, value=[1.0, 2.0, 2.0],
              gradients=[np.zeros((3, 1)), lambda c: [[-c[1] - 1.5 * c[2]], [c[1] + 1.5 * c[2]]], lambda c: [c[0] + (c[1] + c[2]) / 2, (c[1] + c[2]) / 2]]),
        point(QUERY, ng.zeros({"k": 0, "f": 1}), ng.zeros({"k": 0}), dims=("q", "k", "f"), value=[0.0, 0.0, 0.0],
              gradients=[np.zeros((3, 1)), np.zeros((0, 1)), []]),
    ],
)  # fmt: skip
ONE = D([[1.0]], ("inner", "f"))
entry(
    "multi_head_attention",
    multi_head,
    points=[
        point(D([[2.0]], ("q", "f")), D([[5.0]], ("k", "f")), D([[3.0]], ("k", "f")), ONE, ONE, ONE, ONE, dims=("q", "k", "f"), num_heads=1, value=[[3.0]],
              gradients=[[[0.0]], [[0.0]], lambda c: c, [[0.0]], [[0.0]], lambda c: 3 * c, lambda c: 3 * c]),
        point(D([[2.0]], ("q", "f")), D([[5.0]], ("k", "f")), D([[3.0]], ("k", "f")), ONE, ONE, ONE, ONE, 1.0, 1.0, 1.0, 2.0, D([[False]], ("q", "k")),
              dims=("q", "k", "f"), num_heads=1, value=[[2.0]],
              gradients=[[[0.0]]] * 7 + [0.0, 0.0, 0.0, lambda c: c[0, 0]]),
        point(D([[2.0]], ("q", "f")), ng.zeros({"k": 0, "f": 1}), ng.zeros({"k": 0, "f": 1}), ONE, ONE, ONE, ONE, dims=("q", "k", "f"), num_heads=1, value=[[0.0]],
              gradients=[[[0.0]], np.zeros((0, 1)), np.zeros((0, 1)), [[0.0]], [[0.0]], [[0.0]], [[0.0]]]),
    ],
)  # fmt: skip


# ------------------------------------------------------------------------------------------------ recurrence


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gates(a, gate, hidden, count):
    size = a.sizes[gate] // count
    return [a.isel({gate: slice(i * size, (i + 1) * size)}).rename({gate: hidden}) for i in range(count)]


def project(x, w, b, dim):
    return xr.dot(x, w, dim=dim) + (0.0 if b is None else b)


def rnn_step(x, state, w, n):
    a = project(x, w[0], w[2], n["feature"]) + project(state[0], w[1], w[3], n["hidden"])
    h = a.rename({n["gate"]: n["hidden"]})
    return [np.tanh(h) if n["nonlinearity"] == "tanh" else np.maximum(h, 0)]


def gru_step(x, state, w, n):
    xr_, xz, xn = gates(project(x, w[0], w[2], n["feature"]), n["gate"], n["hidden"], 3)
    hr, hz, hn = gates(project(state[0], w[1], w[3], n["hidden"]), n["gate"], n["hidden"], 3)
    z = sigmoid(xz + hz)
    return [(1 - z) * np.tanh(xn + sigmoid(xr_ + hr) * hn) + z * state[0]]


def lstm_step(x, state, w, n):
    h, c = state
    cell = n["hidden"] if w[4] is None else n["cell"]
    i, f, g, o = gates(project(x, w[0], w[2], n["feature"]) + project(h, w[1], w[3], n["hidden"]), n["gate"], cell, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return [h if w[4] is None else xr.dot(h, w[4], dim=cell), c]


def cell(step, states):
    def run(x, *operands, nonlinearity="tanh", feature, hidden, gate, cell=None):
        names = {"feature": feature, "hidden": hidden, "gate": gate, "cell": cell, "nonlinearity": nonlinearity}
        ends = (hidden, hidden if cell is None else cell)
        w = [*operands[states:], *[None] * (5 - len(operands) + states)]
        out = [s.transpose(..., n) for s, n in zip(step(x, operands[:states], w, names), ends, strict=False)]
        return tuple(out) if states > 1 else out[0]

    return run


def layers(step, states):
    def run(x, *operands, dim, nonlinearity="tanh", bias=True, bidirectional=False, projection=False, feature, hidden, gate, cell=None, layer):
        starts, flat = operands[:states], operands[states:]
        each = 2 + 2 * bias + projection
        groups = [flat[i : i + each] for i in range(0, len(flat), each)]
        names = {"feature": feature, "hidden": hidden, "gate": gate, "cell": cell, "nonlinearity": nonlinearity}
        ends, below = [], x
        for i, own in enumerate(groups):
            w = [*own[:2], *(own[2:4] if bias else (None, None)), own[-1] if projection else None]
            backward = bidirectional and i % 2 == 1
            state = [s.isel({layer: i}) for s in starts]
            outs = []
            for t in range(x.sizes[dim])[:: -1 if backward else 1]:
                state = step(below.isel({dim: t}), state, w, names)
                outs.append(state[0])
            ends.append(state)
            column = xr.concat(outs[:: -1 if backward else 1], dim)
            if bidirectional and not backward:
                first = column
                continue
            below = xr.concat([first, column], hidden) if bidirectional else column
            names["feature"] = hidden
        order = [n for n in x.dims if n in below.dims]
        out = below.transpose(*order, *(n for n in below.dims if n not in order and n != hidden), hidden)
        return (out, *(xr.concat([e[k] for e in ends], layer).transpose(layer, ...) for k in range(states)))

    return run


RNN = {"feature": "f", "hidden": "h", "gate": "g"}
X1, H1, W1 = D([1.0], "f"), D([0.0], "h"), D([[0.0]], ("g", "f"))
U1 = D([[0.0]], ("g", "h"))
BIG = D([100.0], "g")
entry(
    "rnn_cell",
    cell(rnn_step, 1),
    points=[
        point(X1, H1, W1, U1, **RNN, value=[0.0], gradients=[[0.0], [0.0], lambda c: [c], lambda c: [0 * c]]),
        point(X1, H1, W1, U1, BIG, D([0.0], "g"), **RNN, value=[1.0], gradients=[[0.0], [0.0], [[0.0]], [[0.0]], [0.0], [0.0]]),
        point(X1, H1, W1, U1, **RNN, nonlinearity="relu", value=[0.0], gradients=[[0.0], [0.0], [[0.0]], [[0.0]]]),
    ],
)
W3, U3 = ng.zeros({"g": 3, "f": 1}), ng.zeros({"g": 3, "h": 1})
ZERO3 = [np.zeros((3, 1))] * 2
entry(
    "gru_cell",
    cell(gru_step, 1),
    points=[
        point(X1, D([3.0], "h"), W3, U3, **RNN, value=[1.5],
              gradients=[[0.0], lambda c: 0.5 * c, lambda c: [[0.0], [0.75 * c[0]], [0.5 * c[0]]], lambda c: [[0.0], [2.25 * c[0]], [0.75 * c[0]]]]),
        point(X1, D([3.0], "h"), W3, U3, D([0.0, 1e3, 0.0], "g"), ng.zeros({"g": 3}), **RNN, value=[3.0],
              gradients=[[0.0], lambda c: c, *ZERO3, np.zeros(3), np.zeros(3)]),
        point(X1, D([3.0], "h"), W3, U3, D([0.0, -1e3, 1e3], "g"), ng.zeros({"g": 3}), **RNN, value=[1.0],
              gradients=[[0.0], [0.0], *ZERO3, np.zeros(3), np.zeros(3)]),
    ],
)  # fmt: skip
W4, U4 = ng.zeros({"g": 4, "f": 1}), ng.zeros({"g": 4, "h": 1})
ZERO4 = [np.zeros((4, 1))] * 2
LSTM = {**RNN, "cell": "h"}
entry(
    "lstm_cell",
    cell(lstm_step, 2),
    points=[
        point(X1, H1, D([2.0], "h"), W4, U4, **LSTM, value=([0.5 * np.tanh(1.0)], [1.0])),
        point(X1, H1, D([2.0], "h"), W4, U4, D([-1e3, 1e3, 5.0, -1e3], "g"), ng.zeros({"g": 4}), **LSTM, value=([0.0], [2.0])),
        point(X1, H1, D([2.0], "h"), W4, U4, D([1e3, -1e3, 1e3, 1e3], "g"), ng.zeros({"g": 4}), **LSTM, value=([np.tanh(1.0)], [1.0])),
    ],
)
X2 = D([[1.0], [2.0]], ("t", "f"))
STEPS = {"dim": "t", "layer": "l", **RNN}
entry(
    "rnn",
    layers(rnn_step, 1),
    points=[
        point(X2, ng.zeros({"l": 1, "h": 1}), W1, U1, **STEPS, bias=False, value=([[0.0], [0.0]], [[0.0]])),
        point(X2, ng.zeros({"l": 1, "h": 1}), D([[1.0]], ("g", "f")), D([[1.0]], ("g", "h")), **STEPS, bias=False, nonlinearity="relu", value=([[1.0], [3.0]], [[3.0]])),
        point(X2, ng.zeros({"l": 2, "h": 1}), D([[1.0]], ("g", "f")), D([[1.0]], ("g", "h")), D([[1.0]], ("g", "f")), D([[1.0]], ("g", "h")), **STEPS, bias=False,
              nonlinearity="relu", bidirectional=True, value=([[1.0, 3.0], [3.0, 2.0]], [[3.0], [3.0]])),
    ],
)  # fmt: skip
entry(
    "gru",
    layers(gru_step, 1),
    points=[
        point(X2, D([[3.0]], ("l", "h")), W3, U3, **STEPS, bias=False, value=([[1.5], [0.75]], [[0.75]])),
        point(X2, D([[3.0]], ("l", "h")), W3, U3, D([0.0, 1e3, 0.0], "g"), ng.zeros({"g": 3}), **STEPS, value=([[3.0], [3.0]], [[3.0]])),
        point(X2, D([[3.0]], ("l", "h")), W3, U3, D([0.0, -1e3, 1e3], "g"), ng.zeros({"g": 3}), **STEPS, value=([[1.0], [1.0]], [[1.0]])),
    ],
)
ZERO = ng.zeros({"l": 1, "h": 1})
entry(
    "lstm",
    layers(lstm_step, 2),
    points=[
        point(X2, ZERO, D([[4.0]], ("l", "h")), W4, U4, **STEPS, bias=False, value=([[0.5 * np.tanh(2.0)], [0.5 * np.tanh(1.0)]], [[0.5 * np.tanh(1.0)]], [[1.0]])),
        point(X2, ZERO, D([[2.0]], ("l", "h")), W4, U4, D([-1e3, 1e3, 5.0, -1e3], "g"), ng.zeros({"g": 4}), **STEPS, value=([[0.0], [0.0]], [[0.0]], [[2.0]])),
        point(X2, ZERO, D([[2.0]], ("l", "h")), W4, U4, D([1e3, -1e3, 1e3, 1e3], "g"), ng.zeros({"g": 4}), **STEPS,
              value=([[np.tanh(1.0)], [np.tanh(1.0)]], [[np.tanh(1.0)]], [[1.0]])),
    ],
)  # fmt: skip
