"""Losses: what PyTorch computes, written with xarray's arithmetic by name."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
import xarray as xr

import namedgrad as ng
from tests.support.domains import domain, spaced
from tests.support.grid import entry, point, sample

domain("share")(lambda rng, shape: spaced(rng, shape, 0.1, 0.9))
domain("bit")(lambda rng, shape: rng.integers(0, 2, shape))
domain("sign")(lambda rng, shape: 2 * rng.integers(0, 2, shape) - 1)
domain("counts")(lambda rng, shape: rng.integers(0, 7, shape))
domain("label")(lambda rng, shape: rng.integers(1, 7, shape))
domain("time_six")(lambda rng, shape: rng.integers(4, 7, shape))
domain("time_nine")(lambda rng, shape: rng.integers(7, 10, shape))
domain("short")(lambda rng, shape: rng.integers(0, 4, shape))
domain("long")(lambda rng, shape: rng.integers(0, 10, shape))
domain("labels")(lambda rng, shape: rng.integers(-1, shape[-1], shape) if shape else rng.integers(0, 1, shape))

INF, NAN = np.inf, np.nan


def reduced(loss: xr.DataArray, dim: Any, reduction: Any, weight: Any = None) -> xr.DataArray:
    """The reductions of PyTorch over named dims."""
    if reduction is None:
        return loss
    dims = list(loss.dims) if dim is None else [dim] if isinstance(dim, str) else list(dim)
    out = loss.sum(dims, skipna=False)
    if reduction == "sum":
        return out
    n = xr.ones_like(loss) if weight is None else weight.broadcast_like(loss)
    return out / n.sum(dims)


def cells(f: Callable[..., Any], *, by_weight: bool = False) -> Callable[..., Any]:
    """A loss of cells from its formula; with a parameter ``weight`` the third operand is one."""
    names = list(inspect.signature(f).parameters)

    def reference(*xs: Any, dim: Any = None, reduction: Any = "mean", **kw: Any) -> xr.DataArray:
        plain, weight = (xs[:2], xs[2]) if len(xs) > 2 and "var" not in names and "y" not in names and "pos" not in names else (xs, None)
        loss = f(*plain, **kw)
        return reduced(loss if weight is None else loss * weight, dim, reduction, weight if by_weight else None)

    return reference


def smooth_l1(x, t, beta=1.0):
    d = abs(x - t)
    return d if beta == 0 else xr.where(d < beta, d**2 / (2 * beta), d - beta / 2)


def huber(x, t, delta=1.0):
    d = abs(x - t)
    return xr.where(d < delta, d**2 / 2, delta * (d - delta / 2))


def gaussian(x, t, var, *, full=False, eps=1e-6):
    v = np.maximum(var, eps)
    return (np.log(v) + (x - t) ** 2 / v) / 2 + full * np.log(2 * np.pi) / 2


def poisson(x, t, *, log_input=True, full=False, eps=1e-8):
    loss = np.exp(x) - t * x if log_input else x - t * np.log(x + eps)
    n = xr.where(t > 1, t, 1.0)
    return loss + full * xr.where(t > 1, n * np.log(n) - n + np.log(2 * np.pi * n) / 2, 0.0)


def bce(x, t):
    return -(t * np.maximum(np.log(x), -100) + (1 - t) * np.maximum(np.log(1 - x), -100))


def softplus(x):
    return np.logaddexp(0, x)


def logits(x, t, weight=1.0, pos=1.0, *, dim=None, reduction="mean"):
    return reduced(((1 - t) * softplus(x) + pos * t * softplus(-x)) * weight, dim, reduction)


def kl(x, t, *, log_target=False, dim=None, reduction="mean", batch_dim=None):
    loss = np.exp(t) * (t - x) if log_target else xr.apply_ufunc(scipy.special.xlogy, t, t) - t * x
    if reduction == "batchmean":
        return loss.sum(skipna=False) / loss.sizes[batch_dim]
    return reduced(loss, dim, reduction)


def hinge(x, t, margin=1.0):
    return xr.where(t == 1, x, np.maximum(0, margin - x))


def ranking(x, y, t, margin=0.0):
    return np.maximum(0, margin - t * (x - y))


def one_hot(x, t, dim):
    return xr.DataArray(np.arange(x.sizes[dim]), dims=dim) == t


def nll(x, t, w=None, *, dim=None, ignore_index=-100, label_smoothing=0.0, reduce_dim=None, reduction="mean"):
    hot, keep = one_hot(x, t, dim), t != ignore_index
    each = keep * xr.ones_like(x.isel({dim: 0}, drop=True)) if w is None else (hot * w).sum(dim) * keep
    loss = -(x * hot).sum(dim, skipna=False) * each * (1 - label_smoothing)
    if label_smoothing:
        loss = loss - label_smoothing / x.sizes[dim] * (x if w is None else x * w).sum(dim) * keep
    return reduced(loss, reduce_dim, reduction, each)


def log_softmax(x, dim):
    return x - x.reduce(scipy.special.logsumexp, dim)


def cross_entropy(x, t, w=None, *, dim=None, label_smoothing=0.0, reduce_dim=None, reduction="mean", **kw):
    log = log_softmax(x, dim)
    if dim not in t.dims:
        return nll(log, t, w, dim=dim, label_smoothing=label_smoothing, reduce_dim=reduce_dim, reduction=reduction, **kw)
    t = t * (1 - label_smoothing) + label_smoothing / x.sizes[dim]
    return reduced(-(log * t if w is None else log * t * w).sum(dim), reduce_dim, reduction)


def multi_margin(x, t, w=None, *, dim=None, p=1, margin=1.0, reduce_dim=None, reduction="mean"):
    hot = one_hot(x, t, dim)
    behind = np.maximum(0, margin - (x * hot).sum(dim) + x) ** p
    loss = (behind * ~hot).sum(dim) / x.sizes[dim]
    return reduced(loss if w is None else loss * (hot * w).sum(dim), reduce_dim, reduction)


def _multilabel(x, t):
    """One list of targets and one set of scores at a time."""
    ends = np.flatnonzero(t < 0)
    targets = t[: ends[0]] if ends.size else t
    others = [i for i in range(x.size) if i not in targets]
    return sum(max(0.0, 1 - x[j] + x[i]) for j in targets for i in others) / x.size


def multilabel_margin(x, t, *, dim=None, reduce_dim=None, reduction="mean"):
    loss = xr.apply_ufunc(_multilabel, x, t, input_core_dims=[[dim], [dim]], vectorize=True, output_dtypes=[float])
    return reduced(loss, reduce_dim, reduction)


def multilabel_soft(x, t, w=1.0, *, dim=None, reduce_dim=None, reduction="mean"):
    loss = ((1 - t) * softplus(x) + t * softplus(-x)) * w
    return reduced(loss.mean(dim), reduce_dim, reduction)


def cosine(x, y, *, dim=None, eps=1e-8):
    lengths = [np.maximum(np.sqrt((v**2).sum(dim)), eps) for v in (x, y)]
    return (x * y).sum(dim) / lengths[0] / lengths[1]


def cosine_embedding(x, y, t, *, dim=None, margin=0.0, reduce_dim=None, reduction="mean"):
    cos = (x * y).sum(dim) / np.sqrt(((x**2).sum(dim) + 1e-12) * ((y**2).sum(dim) + 1e-12))
    return reduced(xr.where(t == 1, 1 - cos, np.maximum(0, cos - margin)), reduce_dim, reduction)


def distance(x, y, *, dim=None, p=2.0, eps=1e-6, keepdims=False):
    d = abs(x - y + eps)
    out = d.max(dim) if p == INF else (d**p).sum(dim) ** (1 / p)
    return out.expand_dims(dim).transpose(*d.dims) if keepdims else out


def triplet(a, y, z, *, swap=False, margin=1.0, reduce_dim=None, reduction="mean", distance_function=None, **kw):
    measure = (lambda u, v: (u - v) ** 2) if distance_function else (lambda u, v: distance(u, v, **kw))
    near, far = measure(a, y), measure(a, z)
    far = np.minimum(far, measure(y, z)) if swap else far
    return reduced(np.maximum(0, margin + near - far), reduce_dim, reduction)


def _aligned(x, t, steps, size, blank):
    """Minus the log-probability of one sequence: the states of one time after the other."""
    chain = [blank, *(c for label in t[:size] for c in (label, blank))]
    now = np.array([0.0, *[-INF] * (len(chain) - 1)])
    for row in x[:steps]:
        last = now.copy()
        for s, kind in enumerate(chain):
            from_ = [last[s], last[s - 1] if s else -INF, last[s - 2] if s > 1 and kind not in (blank, chain[s - 2]) else -INF]
            now[s] = np.logaddexp.reduce(from_) + row[kind]
    return -np.logaddexp(now[-1], now[-2] if size else -INF)


def ctc(x, t, input_lengths=None, target_lengths=None, *, dims, blank=0, zero_infinity=False, reduce_dim=None, reduction="mean"):
    steps = x.sizes[dims[0]] if input_lengths is None else input_lengths
    size = t.sizes[dims[2]] if target_lengths is None else target_lengths
    loss = xr.apply_ufunc(_aligned, x, t, steps, size, blank, input_core_dims=[dims[:2], dims[2:], [], [], []], vectorize=True, output_dtypes=[float])
    loss = xr.where(np.isinf(loss), 0.0, loss) if zero_infinity else loss
    return reduced(loss / np.maximum(size, 1) if reduction == "mean" else loss, reduce_dim, reduction)


def in_order(f):
    """Dims in the order of the operands, which xarray's ``where`` and sums of several terms do not keep."""

    def reference(*xs, **kw):
        out = f(*xs, **kw)
        names = dict.fromkeys(d for x in (*xs, *kw.values()) if isinstance(x, xr.DataArray) for d in x.dims)
        return out.transpose(*(d for d in names if d in out.dims))

    return reference


def grid(name, reference, samples=(), points=()):
    entry(name, in_order(reference), samples, points)


X = ng.DimArray
grid("mse_loss", cells(lambda x, t: abs(x - t) ** 2, by_weight=True), [sample("real(a,b)", "positive(a,b)", "positive(a,b)", reduction=None)], [
    point([1.0, 3.0], [1.0, 1.0], value=2.0, gradients=[lambda g: g * [0, 2], lambda g: g * [0, -2]]),
    point([1.0, 3.0], [1.0, 1.0], [0.0, 0.0], value=NAN, cotangent=1.0, gradients=[[0, 0], [0, 0], [0, 0]]),
    point([1.0, 3.0], [1.0, 1.0], [3.0, 1.0], value=1.0, cotangent=2.0, gradients=[[0, 2], [0, -2], [-0.5, 1.5]]),
    point([INF, -INF], 0.0, reduction=None, value=[INF, INF], cotangent=[0.0, -1.0], gradients=[[0, INF], -INF]),
])  # fmt: skip
grid("l1_loss", cells(lambda x, t: abs(x - t), by_weight=True), [sample("real(a,b)", "positive(a,b)", "positive(a,b)", reduction=None)], [
    point([1.0, 3.0], [1.0, 1.0], value=1.0, gradients=[lambda g: g * [0, 0.5], lambda g: g * [0, -0.5]]),
    point([1.0, 3.0], [1.0, 1.0], [0.0, 0.0], value=NAN, cotangent=1.0, gradients=[[0, 0], [0, 0], [0, 0]]),
    point([INF, -INF], 0.0, reduction=None, value=[INF, INF], cotangent=[2.0, 3.0], gradients=[[2, -3], 1.0]),
    point([3 + 4j, 0j], 0.0, value=2.5, cotangent=1.0, gradients=[[0.3 + 0.4j, 0], -0.3]),
])  # fmt: skip
grid("smooth_l1_loss", cells(smooth_l1), [], [
    point([0.5, -0.5, 0.0], 0.0, beta=0.5, reduction=None, value=[0.25, 0.25, 0], cotangent=[2.0, 3.0, 5.0], gradients=[[2, -3, 0], 1.0]),
    point([INF, -INF], 0.0, reduction="sum", value=INF, cotangent=-2.0, gradients=[[-2, 2], 0.0]),
    point([0.0, 1.0], 0.0, beta=0.0, value=0.5, cotangent=2.0, gradients=[[0, 1], -1.0]),
])  # fmt: skip
grid("huber_loss", cells(huber), [], [
    point([0.5, -0.5, 0.0], 0.0, delta=0.5, reduction=None, value=[0.125, 0.125, 0], cotangent=[2.0, 3.0, 5.0], gradients=[[1, -1.5, 0], 0.5]),
    point([INF, -INF], 0.0, delta=0.5, reduction="sum", value=INF, cotangent=-2.0, gradients=[[-1, 1], 0.0]),
    point([0.25, 4.0], 0.0, [2.0, 0.0], value=0.03125, cotangent=4.0, gradients=[[1, 0], -1.0, [0.0625, 7.0]]),
])  # fmt: skip
grid("gaussian_nll_loss", cells(gaussian), [], [
    point([1.0, 3.0], 1.0, 0.0, eps=1.0, value=1.0, cotangent=2.0, gradients=[[0, 2], -2.0, 1 - 2.0]),
    point([1.0], 1.0, 4.0, full=True, reduction="sum", value=np.log(2) + np.log(2 * np.pi) / 2, cotangent=3.0, gradients=[[0], 0.0, 3 / 8]),
    point([1.0], 1.0, INF, reduction=None, value=[INF], cotangent=[3.0], gradients=[[0], 0.0, 0.0]),
])  # fmt: skip
grid("poisson_nll_loss", cells(poisson), [], [
    point([-INF, 0.0], [0.0, 1.0], reduction=None, value=[0, 1], cotangent=[2.0, 3.0], gradients=[[0, 0], [INF, 0]]),
    point([0.0, 0.0], [1.0, 0.0], full=True, reduction=None, value=[1, 1], cotangent=[2.0, 3.0], gradients=[[0, 3], [0, 0]]),
    point([0.0, 1.0], [0.0, 1.0], log_input=False, eps=1.0, reduction=None, value=[0, 1 - np.log(2)], cotangent=[2.0, 3.0], gradients=[[2, 1.5], [0, -3 * np.log(2)]]),
])  # fmt: skip
grid("binary_cross_entropy", cells(bce), [], [
    point([0.0, 1.0, 0.5], [0.0, 1.0, 1.0], reduction=None, value=[0, 0, np.log(2)], cotangent=[2.0, 3.0, 1.0], gradients=[[2, -3, -2], [200, -300, 0]]),
    point([0.0, 1.0], [1.0, 0.0], reduction="sum", value=200, cotangent=1e-12, gradients=[[-1.0000000039958029, 1.0000000039958029], [1e-10, -1e-10]]),
    point([0.5, 0.5], [0.5, 0.5], [2.0, 0.0], value=np.log(2), cotangent=1.0, gradients=[[0, 0], [0, 0], [np.log(2) / 2, np.log(2) / 2]]),
])  # fmt: skip
grid("binary_cross_entropy_with_logits", logits, [], [
    point([INF, -INF, INF], [1.0, 0.0, 0.0], reduction=None, value=[0, 0, INF], cotangent=[2.0, 3.0, -2.0], gradients=[[0, 0, -2], [-INF, INF, INF]]),
    point([0.0, 0.0], [1.0, 0.0], reduction="sum", value=2 * np.log(2), cotangent=4.0, gradients=[[-2, 2], [0, 0]]),
    point([0.0], [1.0], 1.0, [3.0], value=3 * np.log(2), cotangent=2.0, gradients=[[-3], [4 * np.log(2)], 6 * np.log(2), [2 * np.log(2)]]),
    point([800.0, -800.0], [0.0, 1.0], value=800, cotangent=2.0, gradients=[[1, -1], [-800, 800]]),
])  # fmt: skip
grid("kl_div", kl, [], [
    point([-INF, 0.0], [0.0, 1.0], reduction=None, value=[0, 0], cotangent=[2.0, 3.0], gradients=[[0, -3], [NAN, 3]]),
    point([0.0, -1.0], [0.0, 1.0], reduction="sum", value=1, cotangent=2.0, gradients=[[0, -2], [-INF, 4]]),
    point([-1.0, -1.0], [-INF, 0.0], log_target=True, reduction=None, value=[0, 1], cotangent=[2.0, 3.0], gradients=[[0, -3], [0, 6]]),
    point([[-1.0, -1.0]], [[1.0, 1.0]], reduction="batchmean", batch_dim="p", value=2, cotangent=3.0, gradients=[[[-3, -3]], [[6, 6]]]),
])  # fmt: skip
grid("nll_loss", nll, [], [
    point([[-1.0, -2.0], [-3.0, -4.0]], X([1, -100], "p"), dim="q", value=2, cotangent=3.0, gradients=[[[0, -3], [0, 0]]]),
    point([[-1.0, -2.0]], X([-100], "p"), dim="q", value=NAN, cotangent=3.0, gradients=[[[0, 0]]]),
    point([[-1.0, -INF]], X([1], "p"), dim="q", reduction=None, value=[INF], cotangent=[3.0], gradients=[[[0, -3]]]),
    point([[-1.0, -2.0], [-3.0, -4.0]], X([1, 0], "p"), X([3.0, 1.0], "q"), dim="q", value=2.75, cotangent=4.0, gradients=[[[0, -1], [-3, 0]], [0.25, -0.75]]),
])  # fmt: skip
grid("cross_entropy", cross_entropy, [], [
    point([[0.0, 0.0], [3.0, 4.0]], X([1, -100], "p"), dim="q", value=np.log(2), cotangent=2.0, gradients=[[[1, -1], [0, 0]]]),
    point([[0.0, 1.0]], X([-100], "p"), dim="q", label_smoothing=0.1, value=NAN, cotangent=3.0, gradients=[[[0, 0]]]),
    point([[0.0, -INF, 0.0]], X([0], "p"), dim="q", reduction=None, value=[np.log(2)], cotangent=[4.0], gradients=[[[-2, 0, 2]]]),
    point([[0.0, -INF, 0.0]], [[1.0, 0.0, 0.0]], dim="q", reduction=None, value=[np.log(2)], cotangent=[4.0], gradients=[[[-2, 0, 2]], [[4 * np.log(2), 0, 4 * np.log(2)]]]),
    point([[1000.0, 0.0]], X([1], "p"), dim="q", value=1000, cotangent=2.0, gradients=[[[2, -2]]]),
])  # fmt: skip
grid("soft_margin_loss", cells(lambda x, t: softplus(-t * x)), [], [
    point([0.0, -1000.0, INF], X([1, 1, 1], "p"), reduction=None, value=[np.log(2), 1000, 0], cotangent=[2.0, 3.0, 5.0], gradients=[[-1, -3, 0]]),
    point([0.0], X([-1], "p"), value=np.log(2), cotangent=2.0, gradients=[[1]]),
    point([-INF], X([1], "p"), value=INF, cotangent=2.0, gradients=[[-2]]),
])  # fmt: skip
grid("hinge_embedding_loss", cells(hinge), [], [
    point([1.0, 1.0, 2.0], X([1, -1, -1], "p"), reduction=None, value=[1, 0, 0], cotangent=[2.0, 3.0, 5.0], gradients=[[2, -3, 0]]),
    point([INF, -INF], X([-1, -1], "p"), reduction=None, value=[0, INF], cotangent=[2.0, 3.0], gradients=[[0, -3]]),
    point([0.25, 0.25], X([1, -1], "p"), value=0.5, cotangent=2.0, gradients=[[1, -1]]),
])  # fmt: skip
grid("margin_ranking_loss", cells(ranking), [], [
    point([1.0, 2.0], [1.0, 1.0], X([1, 1], "p"), reduction=None, value=[0, 0], cotangent=[2.0, 3.0], gradients=[[-2, 0], [2, 0]]),
    point([1.0, 2.0], [1.5, 1.5], X([1, -1], "p"), value=0.5, cotangent=2.0, gradients=[[-1, 1], [1, -1]]),
    point([INF], [0.0], X([1], "p"), value=0, cotangent=2.0, gradients=[[0], [0]]),
])  # fmt: skip
grid("multi_margin_loss", multi_margin, [], [
    point([[1.0, 0.0, 0.5]], X([0], "p"), dim="q", value=1 / 6, cotangent=3.0, gradients=[[[-1, 0, 1]]]),
    point([[1.0, 0.0, 0.5]], X([0], "p"), X([2.0, 5.0, 7.0], "q"), dim="q", p=2, value=1 / 6, cotangent=3.0, gradients=[[[-2, 0, 2]], [0.25, 0, 0]]),
    point([[INF, 0.0]], X([0], "p"), dim="q", value=0, cotangent=3.0, gradients=[[[0, 0]]]),
])  # fmt: skip
grid("multilabel_margin_loss", multilabel_margin, [], [
    point([0.1, 0.2, 0.4, 0.8], X([3, 0, -1, 1], "p"), dim="p", value=0.85, cotangent=4.0, gradients=[[-2, 2, 2, -2]]),
    point([1.0, 0.0, 0.5], X([0, 0, -1], "p"), dim="p", value=1 / 3, cotangent=3.0, gradients=[[-2, 0, 2]]),
    point([1.0, 0.0], X([-1, 0], "p"), dim="p", value=0, cotangent=3.0, gradients=[[0, 0]]),
])  # fmt: skip
grid("multilabel_soft_margin_loss", multilabel_soft, [], [
    point([0.0, 0.0], X([1, 0], "p"), dim="p", value=np.log(2), cotangent=4.0, gradients=[[-1, 1]]),
    point([INF, -INF], X([1, 0], "p"), dim="p", value=0, cotangent=4.0, gradients=[[0, 0]]),
    point([0.0, 0.0], X([1, 0], "p"), [4.0, 0.0], dim="p", value=2 * np.log(2), cotangent=2.0, gradients=[[-2, 0], [np.log(2), np.log(2)]]),
])  # fmt: skip
grid("cosine_similarity", cosine, [], [
    point([3.0, 0.0], [3.0, 4.0], dim="p", value=0.6, cotangent=5.0, gradients=[[0, 4 / 3], [0.64, -0.48]]),
    point([0.0, 0.0], [3.0, 4.0], dim="p", eps=0.5, value=0, cotangent=5.0, gradients=[[6, 8], [0, 0]]),
    point([1.0, 0.0], [1.0, 0.0], dim="p", eps=2.0, value=0.25, cotangent=8.0, gradients=[[2, 0], [2, 0]]),
])  # fmt: skip
grid("pairwise_distance", distance, [], [
    point([3.0, 4.0], [0.0, 0.0], dim="p", eps=0.0, value=5, cotangent=5.0, gradients=[[3, 4], [-3, -4]]),
    point([1.0, 2.0], [1.0, 2.0], dim="p", eps=0.0, value=0, cotangent=5.0, gradients=[[0, 0], [0, 0]]),
    point([3.0, -3.0], [0.0, 0.0], dim="p", p=INF, eps=0.0, value=3, cotangent=4.0, gradients=[[2, -2], [-2, 2]]),
    point([3.0, -2.0, 0.0], [0.0, 0.0, 0.0], dim="p", p=1.0, eps=0.0, value=5, cotangent=4.0, gradients=[[4, -4, 0], [-4, 4, 0]]),
    point([3.0, 0.0], [0.0, 0.0], dim="p", p=0.0, eps=0.0, value=1, cotangent=4.0, gradients=[[0, 0], [0, 0]]),
])  # fmt: skip
grid("cosine_embedding_loss", cosine_embedding, [], [
    point([3.0, 0.0], [3.0, 4.0], X(1, ()), dim="p", value=0.4, cotangent=-5.0, gradients=[[0, 4 / 3], [0.64, -0.48]]),
    point([3.0, 0.0], [3.0, 4.0], X(-1, ()), dim="p", margin=0.7, value=0, cotangent=-5.0, gradients=[[0, 0], [0, 0]]),
    point([0.0, 0.0], [3.0, 4.0], X(1, ()), dim="p", value=1, cotangent=0.0, gradients=[[0, 0], [0, 0]]),
])  # fmt: skip
grid("triplet_margin_loss", triplet, [], [
    point([0.0, 0.0], [3.0, 4.0], [0.0, 5.0], dim="p", eps=0.0, value=1, cotangent=5.0, gradients=[[-3, 1], [3, 4], [0, -5]]),
    point([0.0, 0.0], [0.0, 0.0], [0.0, 1.0], dim="p", eps=0.0, value=0, cotangent=5.0, gradients=[[0, 5], [0, 0], [0, -5]]),
    point([0.0, 0.0], [0.0, 0.0], [0.0, 2.0], dim="p", eps=0.0, value=0, cotangent=5.0, gradients=[[0, 0], [0, 0], [0, 0]]),
])  # fmt: skip


def apart(x, y):
    return abs(x - y)


grid("triplet_margin_with_distance_loss", triplet, [], [
    point([0.0], [1.0], [3.0], distance_function=apart, margin=2.0, value=0, cotangent=5.0, gradients=[[0], [5], [-5]]),
    point([0.0], [1.0], [3.0], distance_function=apart, margin=1.0, value=0, cotangent=5.0, gradients=[[0], [0], [0]]),
    point([0.0], [1.0], [2.0], distance_function=apart, margin=1.0, swap=True, value=1, cotangent=5.0, gradients=[[-5], [10], [-5]]),
])  # fmt: skip
HALVES = np.log([[0.5, 0.5], [0.25, 0.75]])
PQL = {"dims": ("p", "q", "label")}
grid("ctc_loss", ctc, [], [
    point(HALVES, X([1], "label"), **PQL, value=-np.log(0.875), cotangent=7.0, gradients=[[[-3.0, -4.0], [-1.0, -6.0]]]),
    point(HALVES, X([1], "label"), X(1, ()), X(0, ()), **PQL, value=np.log(2), cotangent=7.0, gradients=[[[-7, 0], [0, 0]]]),
    point(HALVES, X([1, 1], "label"), **PQL, value=INF, cotangent=7.0, gradients=[[[0, 0], [0, 0]]]),
    point(HALVES, X([1, 1], "label"), **PQL, zero_infinity=True, value=0, cotangent=7.0, gradients=[[[0, 0], [0, 0]]]),
    point([[-INF, 0.0], [-INF, 0.0]], X([1], "label"), **PQL, value=0, cotangent=7.0, gradients=[[[0, -7], [0, -7]]]),
    point(HALVES, X(np.empty(0, int), "label"), **PQL, value=3 * np.log(2), cotangent=7.0, gradients=[[[-7, 0], [-7, 0]]]),
])  # fmt: skip
