"""What the steps of random programs are.

Each is a function of operations and arrays.  ``o`` is namedgrad itself, or what has the same functions for other arrays.
Where a step has kinks, a guard says whether given operands keep away from them: finite differences must not cross one.
Steps leave sizes as they are, so that one name has one size in the whole program; matrices are made of their operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import namedgrad as ng
from tests.support.arrays import all_names

MARGIN = 0.1
Guard = Callable[..., bool]


class Kind(NamedTuple):
    """A function of operations, operands and, if ``along``, one dim of all operands."""

    function: Callable[..., Any]
    operands: int
    along: bool
    guard: Guard | None


def _away(*kinks: float) -> Guard:
    return lambda a, *_: all(bool(np.abs(a.to_numpy() - k).min(initial=1) > MARGIN) for k in kinks)


def _apart(a: ng.DimArray, d: Any) -> bool:
    """No ties along ``d``."""
    axis = all_names(a).index(d)
    return bool(np.diff(np.sort(a.to_numpy(), axis=axis), axis=axis).min(initial=1) > MARGIN)


def _spread(a: ng.DimArray, d: Any) -> bool:
    """Not the same value along ``d``."""
    return bool(a.to_numpy().std(axis=all_names(a).index(d)).min(initial=1) > MARGIN)


def _long(a: ng.DimArray, d: Any) -> bool:
    """No zero vectors along ``d``."""
    return bool(np.linalg.norm(a.to_numpy(), axis=all_names(a).index(d)).min(initial=1) > 2 * MARGIN)


def _differ(a: ng.DimArray, b: ng.DimArray) -> bool:
    return _away(0)(a - b)


def _some(o: Any, a: Any, d: Any, index: list[int], **keywords: int) -> Any:
    """Positions along ``d``, as many as ``a`` has and cyclic if it has fewer."""
    n = a.sizes[d]
    return o.DimArray(np.array([index[i % len(index)] % keywords.get("below", n) for i in range(n)]), (d,))


def _inner(a: Any, d: Any, before: int) -> Any:
    """``a`` without the first cells along ``d``, as many as before: what padding has added stays at one end."""
    return slice(before, before + a.sizes[d])


def _symmetric(o: Any, a: Any, d: Any, other: str = "row") -> tuple[Any, Any]:
    """Positive definite matrices over ``d`` and ``other`` with eigenvalues at least 1 apart, and a vector over ``other``."""
    t = o.tanh(a)
    u = o.rename(t, {d: other})
    n = a.sizes[d]
    scale = 0.2 * n / max(1, int(np.prod(list(a.sizes.values()))))
    return o.dot(t, u) * scale + o.DimArray(np.diag(1 + 2.0 * np.arange(n)), (d, other)), u


def _general(o: Any, a: Any, d: Any, other: str = "row") -> tuple[Any, Any]:
    """The same, not symmetric."""
    t = o.tanh(a)
    u = o.rename(o.roll(o.sin(a), {d: 1}), {d: other})
    n = a.sizes[d]
    scale = 0.2 * n / max(1, int(np.prod(list(a.sizes.values()))))
    return o.dot(t, u) * scale + o.DimArray(np.diag(1 + 2.0 * np.arange(n)), (d, other)), u


def _eigh(o: Any, a: Any, d: Any) -> Any:
    matrix, u = _symmetric(o, a, d)
    w, v = o.eigh(matrix, (d, "row"), new_dim="value")
    return o.dot(v, o.sin(w), o.rename(v, {d: "row"}), u, dim=("value", "row"))


def _qr(o: Any, a: Any, d: Any) -> Any:
    matrix, u = _general(o, a, d)
    q, r = o.qr(matrix, (d, "row"), new_dim="value")
    return o.dot(q, r * r, u, dim=("value", "row"))


def _svd(o: Any, a: Any, d: Any) -> Any:
    matrix, u = _general(o, a, d)
    left, s, right = o.svd(matrix, (d, "row"), new_dim="value")
    return o.dot(left, o.sqrt(s), right, u, dim=("value", "row"))


def _scan(o: Any, a: Any, d: Any) -> Any:
    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        after = o.tanh(carry * 0.5 + x)
        return after, after * x

    return o.scan(step, o.isel(a, {d: 0}) * 0.0, a, d)[1]


def _normal(o: Any, a: Any, d: Any) -> Any:
    weight = o.DimArray(np.cos(np.arange(1.0, 1 + a.sizes[d])), (d,))
    return o.layer_norm(a, weight, weight * 0.5, dim=d)


def _convolution(o: Any, a: Any, d: Any) -> Any:
    return o.conv(a, o.DimArray(np.array([0.5, 1.0, -0.7]), ("kernel",)), {d: "kernel"}, padding={d: 1})


def _padded(mode: str) -> Callable[..., Any]:
    def step(o: Any, a: Any, d: Any) -> Any:
        n = a.sizes[d]
        padded = o.pad(a, {d: (2, 1)}, mode=mode)
        return o.isel(padded, {d: slice(n)}) - o.isel(padded, {d: slice(3, None)}) * 0.5

    return step


def _rows(function: str) -> Callable[..., Any]:
    """A matrix function of general matrices, times a vector."""

    def step(o: Any, a: Any, d: Any) -> Any:
        matrix, u = _general(o, a, d)
        return o.dot(getattr(o, function)(matrix * 0.5, (d, "row")), u, dim="row")

    return step


# fmt: off
ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "sin":            lambda o, a: o.sin(a),
    "tanh":           lambda o, a: o.tanh(a),
    "exp":            lambda o, a: o.exp(a * 0.3),
    "square":         lambda o, a: o.square(a),
    "cube":           lambda o, a: a**3,
    "negative":       lambda o, a: -a,
    "sqrt":           lambda o, a: o.sqrt(a * a + 0.5),
    "log1p":          lambda o, a: o.log1p(a * a),
    "reciprocal":     lambda o, a: o.reciprocal(a * a + 1.0),
    "arctan":         lambda o, a: o.arctan(a),
    "erf":            lambda o, a: o.erf(a * 0.5),
    "expit":          lambda o, a: o.expit(a),
    "gammaln":        lambda o, a: o.gammaln(a * a + 0.5),
    "softplus":       lambda o, a: o.softplus(a),
    "gelu":           lambda o, a: o.gelu(a),
    "silu":           lambda o, a: o.silu(a),
    "absolute":       lambda o, a: o.absolute(a),
    "relu":           lambda o, a: o.relu(a),
    "elu":            lambda o, a: o.elu(a),
    "clip":           lambda o, a: o.clip(a, -0.7, 0.9),
    "guarded log":    lambda o, a: o.where(a > 0, o.log(o.where(a > 0, a, 1.0)), a * a),
    "total":          lambda o, a: o.sum(a),
    "mean of all":    lambda o, a: o.mean(a),
    "less its mean":  lambda o, a: a - o.mean(a),
    "gradient of":    lambda o, a: o.grad(lambda u: o.sum(o.tanh(u) * u * u))(a),
}
TWO: dict[str, Callable[..., Any]] = {
    "add":            lambda o, a, b: a + b,
    "subtract":       lambda o, a, b: a - b,
    "multiply":       lambda o, a, b: a * b,
    "divide":         lambda o, a, b: a / (b * b + 1.0),
    "power":          lambda o, a, b: o.power(a * a + 0.5, o.tanh(b)),
    "hypot":          lambda o, a, b: o.hypot(a, b + 3.0),
    "arctan2":        lambda o, a, b: o.arctan2(a, b * b + 1.0),
    "logaddexp":      lambda o, a, b: o.logaddexp(a, b),
    "maximum":        lambda o, a, b: o.maximum(a, b),
    "minimum":        lambda o, a, b: o.minimum(a, b),
    "where":          lambda o, a, b: o.where(a > 0.1, a, b),
    "dot":            lambda o, a, b: o.dot(a, b),
    "outer part":     lambda o, a, b: o.dot(a, b, dim=()),
    "mse":            lambda o, a, b: o.mse_loss(a, b),
    "huber":          lambda o, a, b: o.huber_loss(a, b, reduction=None),
    "cross entropy":  lambda o, a, b: o.binary_cross_entropy_with_logits(a, o.expit(b), reduction="sum"),
    "normal":         lambda o, a, b: o.gaussian_nll_loss(a, b, o.exp(a * 0.3), eps=1e-9, reduction=None),
    "average":        lambda o, a, b: o.average(a, o.exp(b * 0.2)),
}
THREE: dict[str, Callable[..., Any]] = {
    "dot of three":   lambda o, a, b, c: o.dot(o.tanh(a), b, o.tanh(c)),
    "mixed product":  lambda o, a, b, c: o.dot(o.tanh(a), o.sin(b), c, dim=()),
    "where of three": lambda o, a, b, c: o.where(a > 0.1, b, c),
    "fused":          lambda o, a, b, c: a * b + c,
}
ALONG: dict[str, Callable[..., Any]] = {
    "sum":            lambda o, a, d: o.sum(a, d),
    "mean":           lambda o, a, d: o.mean(a, d),
    "max":            lambda o, a, d: o.max(a, d),
    "min":            lambda o, a, d: o.min(a, d, keepdims=True) + a,
    "var":            lambda o, a, d: o.var(a, d),
    "std":            lambda o, a, d: o.std(a, d),
    "prod":           lambda o, a, d: o.prod(a, d),
    "median":         lambda o, a, d: o.median(a, d),
    "quantile":       lambda o, a, d: o.quantile(a, 0.3, d),
    "norm":           lambda o, a, d: o.norm(a, d),
    "logsumexp":      lambda o, a, d: o.logsumexp(a, d),
    "trapezoid":      lambda o, a, d: o.trapezoid(a, dim=d),
    "cumsum":         lambda o, a, d: o.cumsum(a, d),
    "cumprod":        lambda o, a, d: o.cumprod(a, d),
    "cummax":         lambda o, a, d: o.cummax(a, d),
    "logcumsumexp":   lambda o, a, d: o.logcumsumexp(a, d),
    "softmax":        lambda o, a, d: o.softmax(a, d),
    "log_softmax":    lambda o, a, d: o.log_softmax(a, d),
    "layer_norm":     _normal,
    "normalize":      lambda o, a, d: o.normalize(a, d),
    "standardize":    lambda o, a, d: (a - o.mean(a, d)) / o.sqrt(o.var(a, d) + 0.1),
    "flip":           lambda o, a, d: o.flip(a, d),
    "roll":           lambda o, a, d: o.roll(a, {d: 1}),
    "sort":           lambda o, a, d: o.sort(a, d),
    "largest":        lambda o, a, d: o.sum(o.square(o.topk(a, min(2, a.sizes[d]), d)), d),
    "in order of":    lambda o, a, d: o.take_along_axis(o.sin(a), o.argsort(a, d), d),
    "first":          lambda o, a, d: o.isel(a, {d: 0}),
    "again":          lambda o, a, d: o.isel(a, {d: [1, 0, 1]}),
    "take":           lambda o, a, d: o.take(a, _some(o, a, d, [1, 0, 1, 3]), d),
    "gather":         lambda o, a, d: o.gather(a, _some(o, a, d, [2, 0, 0, 1]), d),
    "scatter_add":    lambda o, a, d: o.scatter_add(a * a, _some(o, a, d, [1, 1, 0, 2]), a, d),
    "segments":       lambda o, a, d: o.take(o.segment_sum(a, _some(o, a, d, [0, 1], below=2), d, 2), _some(o, a, d, [1, 0, 0], below=2), d),
    "mirrored":       lambda o, a, d: o.isel(o.concat([a, o.isel(a, {d: slice(None, None, -1)})], d), {d: _inner(a, d, 1)}),
    "set":            lambda o, a, d: a.at[{d: 0}].set(o.isel(a, {d: 1})),
    "add at":         lambda o, a, d: a.at[{d: [0, 0]}].add(o.isel(a, {d: [1, 0]})),
    "padded":         lambda o, a, d: o.pad(o.isel(a, {d: slice(1, None)}), {d: (1, 0)}, mode="constant", constant_values=0.25),
    "pad reflect":    _padded("reflect"),
    "pad symmetric":  _padded("symmetric"),
    "pad edge":       _padded("edge"),
    "pad wrap":       _padded("wrap"),
    "pad ramp":       _padded("linear_ramp"),
    "pad mean":       _padded("mean"),
    "stack":          lambda o, a, d: o.stack(a, {"flat": (*(n for n in a.dims if n != d), d)}),
    "diff":           lambda o, a, d: o.sum(o.diff(a, d) ** 2, d),
    "slope":          lambda o, a, d: o.gradient(a, d),
    "running":        lambda o, a, d: o.rolling_mean(a, {d: 2}, min_periods=1),
    "running max":    lambda o, a, d: o.rolling_max(a, {d: 2}, min_periods=1, center=True),
    "blocks":         lambda o, a, d: o.isel(a.coarsen({d: 2}, boundary="pad").mean(), {d: [i // 2 for i in range(a.sizes[d])]}),
    "convolved":      _convolution,
    "spectrum":       lambda o, a, d: o.square(o.real(o.fft(a, d))) + o.square(o.imag(o.fft(a, d))),
    "there and back": lambda o, a, d: o.irfft(o.rfft(a, d) * (0.5 + 0.25j), d, n=a.sizes[d]),
    "dct":            lambda o, a, d: o.dct(a, d, norm="ortho"),
    "resized":        lambda o, a, d: o.isel(o.interpolate(a, {d: a.sizes[d] + 2}, mode="linear"), {d: _inner(a, d, 1)}),
    "interp":         lambda o, a, d: o.interp(a, {d: np.linspace(0.2, a.sizes[d] - 1.2, a.sizes[d])}),
    "detrend":        lambda o, a, d: o.detrend(a, d),
    "scan":           _scan,
}
ALONG_TWO: dict[str, Callable[..., Any]] = {
    "convolve":       lambda o, a, b, d: o.convolve(a, b, d, "same"),
    "cdist":          lambda o, a, b, d: o.cdist(a, b, d),
    "cosine":         lambda o, a, b, d: o.cosine_similarity(a, b, dim=d),
    "classes":        lambda o, a, b, d: o.cross_entropy(a, o.softmax(b, d), dim=d),
    "divergence":     lambda o, a, b, d: o.kl_div(o.log_softmax(a, d), o.softmax(b, d), reduction="sum"),
    "covariance":     lambda o, a, b, d: o.cov(a, b, d, ddof=0),
    "trapezoid at":   lambda o, a, b, d: o.trapezoid(a, o.cumsum(o.exp(b * 0.2), d), d),
    "weighted":       lambda o, a, b, d: o.average(a, o.exp(b * 0.2), d),
    "attention":      lambda o, a, b, d: o.dot(o.softmax(a * b, d), b, dim=d),
    "joined":         lambda o, a, b, d: o.isel(o.concat([a, b], d), {d: _inner(a, d, 1)}),
    "scattered":      lambda o, a, b, d: o.scatter_add(a, _some(o, b, d, [1, 1, 0, 2]), b, d),
}
MATRICES: dict[str, Callable[..., Any]] = {
    "det":            lambda o, a, d: o.det(_general(o, a, d)[0] * 0.5, (d, "row")),
    "logdet":         lambda o, a, d: o.logdet(_symmetric(o, a, d)[0], (d, "row")),
    "inv":            _rows("inv"),
    "expm":           _rows("expm"),
    "solve":          lambda o, a, d: o.rename(o.solve(_general(o, a, d)[0], a, (d, "row")), {"row": d}),
    "cholesky":       lambda o, a, d: (lambda m, u: o.dot(o.cholesky(m, (d, "row")), u, dim="row"))(*_symmetric(o, a, d)),
    "eigvalsh":       lambda o, a, d: o.rename(o.eigvalsh(_symmetric(o, a, d)[0], (d, "row"), new_dim="value"), {"value": d}),
    "svdvals":        lambda o, a, d: o.rename(o.svd(_general(o, a, d)[0], (d, "row"), compute_uv=False, new_dim="value"), {"value": d}),
    "eigh":           _eigh,
    "qr":             _qr,
    "svd":            _svd,
}
AXES: dict[str, Callable[..., Any]] = {
    "vectorize":      lambda o, a, d: a.vectorize(d),
    "devectorize":    lambda o, a, d: a.devectorize(d),
    "rename":         lambda o, a, d: a.rename({d: {"b": "k", "c": "m", "x": "n"}.get(d, "o")}),
    "rename to a known name": lambda o, a, d: a.rename({d: {"b": "c", "c": "k", "x": "k", "y": "x", "z": "y"}.get(d, "z")}),
    "turn":           lambda o, a, d: a.transpose(d, ...),
}
GUARDS: dict[str, Guard] = {
    **dict.fromkeys(("absolute", "relu", "elu", "guarded log"), _away(0.0)),
    "clip": _away(-0.7, 0.9),
    **dict.fromkeys(("where", "where of three"), _away(0.1)),
    **dict.fromkeys(("maximum", "minimum"), _differ),
    "huber": lambda a, b: _away(-1.0, 1.0)(a - b),
    **dict.fromkeys(("max", "min", "median", "quantile", "cummax", "sort", "largest", "in order of", "running max"), _apart),
    **dict.fromkeys(("std", "layer_norm"), _spread),
    **dict.fromkeys(("norm", "normalize"), _long),
    "cdist": lambda a, b, d: bool(ng.cdist(a, b, d).to_numpy().min(initial=1) > 2 * MARGIN),
    "cosine": lambda a, b, d: _long(a, d) and _long(b, d),
}
# fmt: on
GROUPS = {
    "elementwise": (ELEMENTWISE, 1, False), "two": (TWO, 2, False), "three": (THREE, 3, False), "along": (ALONG, 1, True),
    "along two": (ALONG_TWO, 2, True), "matrices": (MATRICES, 1, True), "axes": (AXES, 1, True),
}  # fmt: skip
STEPS: dict[str, Kind] = {
    name: Kind(function, operands, along, GUARDS.get(name))
    for table, operands, along in GROUPS.values()
    for name, function in table.items()
}
assert len(STEPS) == sum(len(table) for table, *_ in GROUPS.values()), "two steps have one name"
assert set(GUARDS) <= set(STEPS)
