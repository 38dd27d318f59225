"""Losses of a million cells by hand in NumPy, which keep what their gradients need; see the package."""

from typing import Any

import numpy as np

import namedgrad as ng

RNG = np.random.default_rng(12)
N = 1000
TARGETS = np.argsort(RNG.random((N, N)), 1)[:, :5]
SAMPLES, CLASSES = np.arange(100_000), RNG.integers(0, 10, 100_000)


def _at(x: np.ndarray, value: Any) -> np.ndarray:
    out = np.zeros_like(x)
    out[SAMPLES, CLASSES] = value
    return out


def _distance(x: ng.DimArray, y: ng.DimArray) -> ng.DimArray:
    return abs(x - y).sum("b", skipna=False)


class Triplet:
    """Sums of absolute differences, which keeps the differences and which rows count."""

    kept: tuple[Any, ...] = ()

    def value(self, x: np.ndarray, p: np.ndarray, n: np.ndarray) -> Any:
        """By how much the negative is not further away, on the average."""
        d, e = x - p, x - n
        behind = 1 + np.abs(d).sum(1) - np.abs(e).sum(1)
        self.kept = d, e, behind > 0
        return np.maximum(0, behind).mean()

    def gradients(self, g: Any, *_: Any) -> Any:
        """Of all operands."""
        d, e, on = self.kept
        scale = (on * (g / N))[:, None]
        d, e = np.sign(d), np.sign(e)
        d *= scale
        e *= scale
        return d - e, -d, e


class Odds:
    """Binary cross entropy whose positive answers count three times, which keeps the softplus."""

    kept: Any = None

    def value(self, x: np.ndarray, t: np.ndarray) -> Any:
        """The mean."""
        self.kept = np.log1p(np.exp(-np.abs(x)))
        self.kept -= np.minimum(x, 0)
        return ((1 + 2 * t) * self.kept + (1 - t) * x).mean()

    def gradients(self, g: Any, _: Any, x: np.ndarray, t: np.ndarray) -> Any:
        """Of both operands; the sigmoid is exp(-softplus)."""
        first, second = np.exp(-self.kept), 2 * self.kept
        first -= 1
        first *= 1 + 2 * t
        first += 1 - t
        first *= g / x.size
        second -= x
        second *= g / x.size
        return first, second


def _margins(x: np.ndarray) -> Any:
    own = np.take_along_axis(x, TARGETS, 1)
    others = x.copy()
    np.put_along_axis(others, TARGETS, -np.inf, 1)
    return sum(np.maximum(0, others + (1 - own[:, k, None])).sum() for k in range(5)) / N**2


def _margins_pull(g: Any, _: Any, x: np.ndarray) -> Any:
    own, counts = np.take_along_axis(x, TARGETS, 1), np.empty((N, 5))
    others, targets = x.copy(), np.zeros(x.shape, np.uint8)
    np.put_along_axis(others, TARGETS, -np.inf, 1)
    for k in range(5):
        behind = (others > own[:, k, None] - 1).view(np.uint8)
        targets += behind
        counts[:, k] = behind.sum(1, dtype=np.uint16)
    out = targets * (g / N**2)
    np.put_along_axis(out, TARGETS, counts * (-g / N**2), 1)
    return (out,)


class Alignments:
    """Connectionist temporal classification in logarithms, since probabilities below 1e-308 of the largest are 0."""

    times, batch, classes, labels = 100, 100, 100, 20
    kept: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.target = RNG.integers(1, self.classes, (self.batch, self.labels))
        self.states = np.zeros((self.batch, 2 * self.labels + 1), int)
        self.states[:, 1::2] = self.target
        self.skips = np.full(self.states.shape, -np.inf)
        self.skips[:, 3::2][self.target[:, 1:] != self.target[:, :-1]] = 0

    def _ways(self, last: np.ndarray) -> np.ndarray:
        """Into each state, from itself and from the two before it; two columns stand for none."""
        return np.stack([last[:, 2:], last[:, 1:-1], last[:, :-2] + self.skips])

    def value(self, x: np.ndarray) -> Any:
        """The mean over sequences, each divided by its number of labels."""
        said = np.take_along_axis(x, self.states[None], 2)
        at = np.full((self.times + 1, self.batch, self.states.shape[1] + 2), -np.inf)
        at[0, :, 2] = 0
        for t in range(self.times):
            ways = self._ways(at[t])
            top = np.maximum(ways.max(0), np.finfo(float).min)  # minus infinity less itself is NaN
            ways -= top
            with np.errstate(divide="ignore"):
                np.log(np.exp(ways, out=ways).sum(0), out=at[t + 1, :, 2:])
            top += said[t]
            at[t + 1, :, 2:] += top
        end = np.logaddexp(at[-1, :, -1], at[-1, :, -2])
        self.kept = at, end
        return -end.mean() / self.labels

    def gradients(self, g: Any, _: Any, x: np.ndarray) -> Any:
        """The probabilities of the states given the labels, passed back by the shares of the ways; added by class."""
        at, end = self.kept
        found = np.zeros((self.times + 1, *at.shape[1:]))
        found[-1, :, -2:] = np.exp(at[-1, :, -2:] - end[:, None])
        for t in range(self.times - 1, -1, -1):
            ways = self._ways(at[t])
            ways -= np.maximum(ways.max(0), np.finfo(float).min)
            np.exp(ways, out=ways)
            total = ways.sum(0)
            ways *= found[t + 1, :, 2:] / (total + (total == 0))
            found[t, :, 2:] = ways[0]
            found[t, :, 1:-1] += ways[1]
            found[t, :, :-2] += ways[2]
        places = np.arange(self.times * self.batch).reshape(self.times, -1, 1) * self.classes + self.states
        out = np.bincount(places.ravel(), found[1:, :, 2:].ravel(), x.size).reshape(x.shape)
        out *= -g / (self.batch * self.labels)
        return (out,)


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    d = ng.DimArray
    x, y, z = (d(RNG.normal(size=(N, N)), ("a", "b")) for _ in range(3))
    classes, few = d(CLASSES, "a"), d(RNG.normal(size=(SAMPLES.size, 10)), x.dims)
    shares = d(RNG.uniform(0.1, 0.9, (N, N)), x.dims)
    targets = d(np.concatenate([TARGETS, np.full((N, N - 5), -1)], 1), x.dims)
    triplet, odds, alignments = Triplet(), Odds(), Alignments()
    labels = d(alignments.target, ("n", "label"))
    said = d(np.log(RNG.dirichlet(np.ones(alignments.classes), (100, 100))), ("t", "n", "k"))
    return [
        ("nll_loss", lambda x: ng.nll_loss(x, classes, dim="b"), (few,), lambda x: -x[SAMPLES, CLASSES].mean(),
         lambda g, y, x: (_at(x, -g / len(x)),)),
        ("ctc_loss", lambda x: ng.ctc_loss(x, labels, dims=("t", "k", "label")), (said,), alignments.value,
         alignments.gradients),
        ("triplet_margin_with_distance_loss",
         lambda x, p, n: ng.triplet_margin_with_distance_loss(x, p, n, distance_function=_distance), (x, y, z),
         triplet.value, triplet.gradients),
        ("binary_cross_entropy_with_logits", lambda x, t: ng.binary_cross_entropy_with_logits(x, t, pos_weight=3.0),
         (x, shares), odds.value, odds.gradients),
        ("multilabel_margin_loss", lambda x: ng.multilabel_margin_loss(x, targets, dim="b"), (x,), _margins,
         _margins_pull),
    ]  # fmt: skip
