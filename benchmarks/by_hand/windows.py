"""Windows of images, and products, of about a million cells by hand in NumPy; see the package."""

from typing import Any

import numpy as np
import scipy.linalg
import scipy.spatial.distance

import namedgrad as ng

RNG = np.random.default_rng(13)
N = 1000
SIDE, CHANNELS, PARTS = 128, 64, 50
slide = np.lib.stride_tricks.sliding_window_view


# ------------------------------------------------------------------------------------------------ pooling


def _unpooled(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    out = np.zeros((CHANNELS, SIDE * SIDE))
    np.put_along_axis(out, places.reshape(CHANNELS, -1), x.reshape(CHANNELS, -1), 1)
    return out.reshape(CHANNELS, SIDE, SIDE)


def _blocks(x: np.ndarray) -> np.ndarray:
    return x.reshape(CHANNELS, SIDE // 2, 2, SIDE // 2, 2)


def _length(x: np.ndarray) -> np.ndarray:
    b = _blocks(x * x)
    return np.sqrt(b[:, :, 0, :, 0] + b[:, :, 0, :, 1] + b[:, :, 1, :, 0] + b[:, :, 1, :, 1])


class Pool:
    """Windows of cells ``low`` up to ``high``, the same along both sides: rows are combined first, then columns."""

    def __init__(self, low: np.ndarray, high: np.ndarray) -> None:
        self.low, self.sizes = low, high - low
        self.steps: list[tuple[Any, np.ndarray]] = []
        for k in range(max(self.sizes)):
            on = k < self.sizes
            self.steps.append((slice(None) if on.all() else on, (low + k)[on]))
        self.within = [np.minimum(low + k, high - 1) for k in range(max(self.sizes))]
        self.means = np.zeros((PARTS, SIDE))
        for on, cells in self.steps:
            self.means[np.arange(PARTS)[on], cells] = 1 / self.sizes[on]
        self.rows: Any = None

    def mean(self, x: np.ndarray) -> np.ndarray:
        """The columns by a matrix product."""
        out = np.zeros((CHANNELS, PARTS, SIDE))
        for on, cells in self.steps:
            out[:, on] += x[:, cells]
        out /= self.sizes[:, None]
        return np.matmul(out, self.means.T)

    def mean_pull(self, g: np.ndarray, *_: Any) -> Any:
        """The transpose; a row lies in one window, or in two that follow each other."""
        h, rows = np.matmul(g / self.sizes[:, None], self.means), np.arange(SIDE)
        first = np.searchsorted(self.low + self.sizes, rows, "right")
        second = np.searchsorted(self.low, rows, "right") - 1
        both = np.flatnonzero(second > first)
        out = np.take(h, first, 1)
        out[:, both] += np.take(h, second[both], 1)
        return (out,)

    def largest(self, x: np.ndarray) -> np.ndarray:
        """The largest of the rows is kept."""
        self.rows = np.take(x, self.low, 1)
        for cells in self.within[1:]:
            np.maximum(self.rows, np.take(x, cells, 1), out=self.rows)
        out = np.take(self.rows, self.low, 2)
        for cells in self.within[1:]:
            np.maximum(out, np.take(self.rows, cells, 2), out=out)
        return out

    def largest_pull(self, g: np.ndarray, y: np.ndarray, x: np.ndarray) -> Any:
        """To the one cell that is equal to the largest: its column first, then its row there."""
        column, row = (np.broadcast_to(at, y.shape).copy() for at in (self.low, self.low[:, None]))
        for k, cells in enumerate(self.within[1:], 1):
            column += (np.take(self.rows, cells, 2) == y) * (k * (k < self.sizes))
        first = np.arange(CHANNELS)[:, None, None] * SIDE
        for k, cells in enumerate(self.within[1:], 1):
            row += (np.take(x, (first + cells[:, None]) * SIDE + column) == y) * (k * (k < self.sizes))[:, None]
        return (np.bincount(((first + row) * SIDE + column).ravel(), g.ravel(), x.size).reshape(x.shape),)


def _adaptive() -> Pool:
    i = np.arange(PARTS)
    return Pool(i * SIDE // PARTS, -(-(i + 1) * SIDE // PARTS))


def _fractional(u: float, size: int) -> Pool:
    """Graham (2014)."""
    step = (SIDE - size) / (PARTS - 1)
    low = np.floor((np.arange(PARTS) + u) * step).astype(int) - int(u * step)
    low[-1] = SIDE - size
    return Pool(low, low + size)


# ------------------------------------------------------------------------------------------------ channels


def _beside(x: np.ndarray) -> np.ndarray:
    """Sums of five neighbours along the first axis."""
    out = x.copy()
    for k in (1, 2):
        out[k:] += x[:-k]
        out[:-k] += x[k:]
    return out


class Response:
    """Normalisation by neighbouring channels, which keeps its sums."""

    kept: tuple[Any, ...] = ()

    def value(self, x: np.ndarray) -> np.ndarray:
        """With the exponent 3/4."""
        s = _beside(x * x)
        s *= 1e-4 / 5
        s += 1
        p = s**-0.75
        self.kept = s, p
        return x * p

    def gradients(self, g: np.ndarray, y: np.ndarray, x: np.ndarray) -> Any:
        """Through the cell and through its neighbours."""
        s, p = self.kept
        around = _beside(g * y / s)
        around *= x
        around *= 1.5e-4 / 5
        return (g * p - around,)


# ------------------------------------------------------------------------------------------------ sliding windows


def _unslid(g: np.ndarray) -> np.ndarray:
    out = np.zeros((len(g), g.shape[1] + g.shape[2] - 1))
    for k in range(g.shape[2]):
        out[:, k : k + g.shape[1]] += g[:, :, k]
    return out


class Convolution:
    """Kernels of 3 x 3 by one matrix product for each image, with its windows' cells in the rows of a table."""

    def __init__(self, channels: int, side: int) -> None:
        self.side = side - 2
        self.table = np.empty((channels, 3, 3, self.side, self.side))
        self.rows = self.table.reshape(channels * 9, -1)
        self.shifts = [(i, j, (..., slice(i, i + self.side), slice(j, j + self.side))) for i, j in np.ndindex(3, 3)]

    def _fill(self, image: np.ndarray) -> None:
        for i, j, cells in self.shifts:
            self.table[:, i, j] = image[cells]

    def value(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Channels last."""
        out, flat = np.empty((len(x), len(w), self.side**2)), w.reshape(len(w), -1)
        for image, to in zip(x, out, strict=True):
            self._fill(image)
            np.matmul(flat, self.rows, out=to)
        return out.reshape(*out.shape[:2], self.side, self.side).transpose(0, 2, 3, 1)

    def gradients(self, g: np.ndarray, _: np.ndarray, x: np.ndarray, w: np.ndarray) -> Any:
        """The table's gradient is added back to the image shift by shift."""
        out, own, flat = np.zeros_like(x), np.zeros((len(w), w[0].size)), w.reshape(len(w), -1)
        for image, to, h in zip(x, out, g.reshape(len(x), -1, len(w)), strict=True):
            turned = np.ascontiguousarray(h.T)
            self._fill(image)
            own += turned @ self.rows.T
            np.matmul(flat.T, turned, out=self.rows)
            for i, j, cells in self.shifts:
                to[cells] += self.table[:, i, j]
        return out, own.reshape(w.shape)


def _enlarged(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Each cell a block of 2 x 2, channels last."""
    n, c, rows, columns = x.shape
    flat = np.matmul(x.reshape(n, c, -1).swapaxes(1, 2), w.transpose(1, 2, 3, 0).reshape(c, -1))
    out = flat.reshape(n, rows, columns, 2, -1).swapaxes(2, 3)
    return out.reshape(n, 2 * rows, 2 * columns, -1)


def _enlarged_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray, w: np.ndarray) -> Any:
    n, c, rows, columns = x.shape
    flat = g.reshape(n, rows, 2, columns, -1).swapaxes(2, 3).reshape(n, rows * columns, -1)
    own = np.matmul(x.reshape(n, c, -1), flat).sum(0)
    back = np.matmul(w.transpose(1, 2, 3, 0).reshape(c, -1), flat.swapaxes(1, 2))
    return back.reshape(x.shape), own.reshape(c, 2, 2, -1).transpose(3, 0, 1, 2)


# ------------------------------------------------------------------------------------------------ products


class Forms:
    """Bilinear forms, which keep the products with the first vector."""

    kept: Any = None
    flat: Any = None

    def value(self, x: np.ndarray, w: np.ndarray, y: np.ndarray) -> np.ndarray:
        """One form for each matrix."""
        self.flat = w.transpose(1, 0, 2).reshape(x.shape[1], -1)
        self.kept = (x @ self.flat).reshape(len(x), len(w), -1)
        return np.matmul(self.kept, y[..., None])[..., 0]

    def gradients(self, g: np.ndarray, _: np.ndarray, x: np.ndarray, w: np.ndarray, y: np.ndarray) -> Any:
        """Of all operands."""
        outer = (g[:, :, None] * y[:, None]).reshape(len(x), -1)
        own = (x.T @ outer).reshape(x.shape[1], len(w), -1).swapaxes(0, 1)
        return outer @ self.flat.T, own, np.matmul(g[:, None], self.kept)[:, 0]


def _combined(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty((len(x), len(y), 2))
    out[..., 0], out[..., 1] = x[:, None], y
    return out.reshape(-1, 2)


def _combined_pull(g: np.ndarray, *_: Any) -> Any:
    g = g.reshape(N, N, 2)
    return g[..., 0].sum(1), g[..., 1].sum(0)


def _pairs(x: np.ndarray) -> np.ndarray:
    """Distances whose squares leave the range are found from smaller or larger numbers."""
    z = scipy.spatial.distance.pdist(x)
    if z.min() > 1e-145 and z.max() < 1e145:
        return z
    size = np.abs(x).max()
    return scipy.spatial.distance.pdist(x / size) * size


def _pairs_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray) -> Any:
    """From differences: those of weighted sums lose the digits of points that are close to each other."""
    w, out = scipy.spatial.distance.squareform(g / z), np.empty_like(x)
    for k, along in enumerate(x.T):
        out[:, k] = np.einsum("ij,ij->i", w, along[:, None] - along)
    return (out,)


def _matmul_pull(g: np.ndarray, _: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    return np.matmul(g, y.swapaxes(1, 2)), np.matmul(x.swapaxes(1, 2), g)


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    d = ng.DimArray
    whole = d(RNG.normal(size=(CHANNELS, SIDE, SIDE)), ("c", "y", "x"))
    image, square, response, forms = (whole,), {"y": 2, "x": 2}, Response(), Forms()
    pooled, at = ng.max_pool(whole, square, return_indices=True)
    places, adaptive, fractional = at.data.reshape(CHANNELS, -1), _adaptive(), _fractional(0.6, 3)
    parts = {"y": PARTS, "x": PARTS}
    x, y = (d(RNG.normal(size=(N, N)), ("a", "b")) for _ in range(2))
    short, slid = d(RNG.normal(size=(N // 4, N)), x.dims), d(RNG.normal(size=(N // 4, N - 3, 4)), ("a", "b", "k"))
    kernels = {"y": "ky", "x": "kx"}
    images = d(RNG.normal(size=(4, 16, SIDE, SIDE)), ("n", "c", "y", "x"))
    small, convolution = d(RNG.normal(size=(4, 16, 64, 64)), images.dims), Convolution(16, SIDE)
    w, v = (d(RNG.normal(size=(16, 16, n, n)), ("o", "c", "ky", "kx")) for n in (3, 2))
    stacks = d(RNG.normal(size=(16, 250, 250)), ("n", "i", "k")), d(RNG.normal(size=(16, 250, 250)), ("n", "k", "j"))
    lines = d(RNG.normal(size=N), "a"), d(RNG.normal(size=N), "b")
    squares = tuple(d(RNG.normal(size=(250, 250)), ("a", "b")) for _ in range(4))
    points = d(RNG.normal(size=(N, 3)), ("a", "k"))
    form = d(RNG.normal(size=(64, 64, 64)), ("o", "i", "j"))
    sides = d(RNG.normal(size=(250, 64)), ("n", "i")), form, d(RNG.normal(size=(250, 64)), ("n", "j"))
    return [
        ("max_unpool", lambda x: ng.max_unpool(x, at, {"y": SIDE, "x": SIDE}), (pooled,),
         lambda x: _unpooled(x, at.data),
         lambda g, y, x: (np.take_along_axis(g.reshape(CHANNELS, -1), places, 1).reshape(x.shape),)),
        ("lp_pool", lambda x: ng.lp_pool(x, square), image, _length,
         lambda g, y, x: ((_blocks(x) * (g / y)[:, :, None, :, None]).reshape(x.shape),)),
        ("adaptive_avg_pool", lambda x: ng.adaptive_avg_pool(x, parts), image, adaptive.mean, adaptive.mean_pull),
        ("adaptive_max_pool", lambda x: ng.adaptive_max_pool(x, parts), image, adaptive.largest,
         adaptive.largest_pull),
        ("fractional_max_pool", lambda x: ng.fractional_max_pool(x, 0.6, {"y": 3, "x": 3}, parts), image,
         fractional.largest, fractional.largest_pull),
        ("pixel_unshuffle", lambda x: ng.pixel_unshuffle(x, square, "c"), image,
         lambda x: _blocks(x).transpose(0, 2, 4, 1, 3).reshape(-1, SIDE // 2, SIDE // 2),
         lambda g, y, x: (g.reshape(CHANNELS, 2, 2, SIDE // 2, SIDE // 2).transpose(0, 3, 1, 4, 2).reshape(x.shape),)),
        ("channel_shuffle", lambda x: ng.channel_shuffle(x, 4, "c"), image,
         lambda x: x.reshape(4, 16, SIDE, SIDE).swapaxes(0, 1).reshape(x.shape),
         lambda g, y, x: (g.reshape(16, 4, SIDE, SIDE).swapaxes(0, 1).reshape(x.shape),)),
        ("local_response_norm", lambda x: ng.local_response_norm(x, "c", 5), image, response.value,
         response.gradients),
        ("unfold", lambda x: ng.unfold(x, {"b": 4}, new_dim="k").copy(), (short,),
         lambda x: slide(x, 4, 1).copy(), lambda g, y, x: (_unslid(g),)),
        ("fold", lambda z: ng.fold(z, {"b": "k"}, {"b": N}), (slid,), _unslid,
         lambda g, y, z: (slide(g, 4, 1).copy(),)),
        ("conv", lambda x, w: ng.conv(x, w, kernels, "c"), (images, w), convolution.value, convolution.gradients),
        ("conv_transpose", lambda x, w: ng.conv_transpose(x, w, kernels, "c", stride=2), (small, v), _enlarged,
         _enlarged_pull),
        ("matmul", lambda x, y: ng.matmul(x, y, "k"), stacks, np.matmul, _matmul_pull),
        ("outer", ng.outer, lines, np.outer, lambda g, z, x, y: (g @ y, x @ g)),
        ("inner", lambda x, y: ng.inner(x, y, "b"), (x, y), lambda x, y: np.einsum("ab,ab->a", x, y),
         lambda g, z, x, y: (g[:, None] * y, g[:, None] * x)),
        ("bilinear", ng.bilinear, sides, forms.value, forms.gradients),
        ("block_diag", lambda *m: ng.block_diag(*m, dims=("a", "b")), squares, scipy.linalg.block_diag,
         lambda g, z, *m: tuple(g[k : k + 250, k : k + 250].copy() for k in range(0, N, 250))),
        ("cartesian_prod", ng.cartesian_prod, lines, _combined, _combined_pull),
        ("pdist", lambda x: ng.pdist(x, ("a", "k")), (points,), _pairs, _pairs_pull),
    ]  # fmt: skip
