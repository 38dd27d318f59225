"""Windows and samples of a million cells by hand in NumPy; see the package."""

from typing import Any

import numpy as np

import namedgrad as ng

RNG = np.random.default_rng(15)
N = 1000
CHANNELS, SIDE = 16, 64
GRID = 256
EXTENT = np.linspace(-1, 1, GRID, endpoint=False) + 1 / GRID
WINDOW = 7
EXCHANGES = ((0, 5), (0, 3), (1, 6), (2, 4), (0, 1), (3, 5), (2, 6), (2, 3), (3, 6), (4, 5), (1, 4), (1, 3), (3, 4))


# ------------------------------------------------------------------------------------------------ samples


def _weighed(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lower neighbour and the share of the upper one, of positions that are moved to the ends."""
    at = np.clip(at, 0, N - 1)
    low = np.minimum(at.astype(int), N - 2)
    return low, at - low


def _corners(x: np.ndarray, at: np.ndarray) -> Any:
    """Four neighbours in a plane, as rows of cells where they are many."""
    low, share = _weighed(at)
    first = low[0] * x.shape[1] + low[1]
    cells = x.reshape(-1, *x.shape[2:])
    return [cells[first + k] for k in (0, 1, x.shape[1], x.shape[1] + 1)], first, share


def _sampled(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    (a, b, c, d), _, (v, u) = _corners(x, at)
    upper = a + u * (b - a)
    return upper + v * (c + u * (d - c) - upper)


def _sampled_pull(g: np.ndarray, _: Any, x: np.ndarray, at: np.ndarray) -> Any:
    (a, b, c, d), first, (v, u) = _corners(x, at)
    right, lower = g * u, g * v
    both = right * v
    out = np.bincount(first, g - right - lower + both, x.size)
    for step, part in ((1, right - both), (N, lower - both), (N + 1, both)):
        out += np.bincount(first + step, part, x.size)
    twist = a - b - c + d
    slopes = np.stack([g * (c - a + u * twist), g * (b - a + v * twist)])
    return out.reshape(x.shape), np.where((at > 0) & (at < N - 1), slopes, 0)


def _spans(grid: np.ndarray) -> np.ndarray:
    """Normalised positions (x, y) as positions (y, x) in cells."""
    return (grid[::-1].reshape(2, -1) + 1) * (SIDE / 2) - 0.5


def _mixing(grid: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    at = _spans(grid)
    low = at.astype(int)
    v, u = at - low
    return low[0] * SIDE + low[1], np.array([(1 - v) * (1 - u), (1 - v) * u, v * (1 - u), v * u]), (v, u)


def _grid(x: np.ndarray, grid: np.ndarray) -> np.ndarray:
    first, weights, _ = _mixing(grid)
    cells, out = x.reshape(CHANNELS, -1), 0
    for step, weight in zip((0, 1, SIDE, SIDE + 1), weights):
        out += cells.take(first + step, 1) * weight
    return out.reshape(CHANNELS, GRID, GRID)


def _grid_pull(g: np.ndarray, _: Any, x: np.ndarray, grid: np.ndarray) -> Any:
    first, weights, (v, u) = _mixing(grid)
    g, cells, out = g.reshape(CHANNELS, -1), x.reshape(CHANNELS, -1), np.zeros((CHANNELS, SIDE * SIDE))
    sums = []
    for step, weight in zip((0, 1, SIDE, SIDE + 1), weights):
        out += [np.bincount(first + step, new, SIDE * SIDE) for new in g * weight]
        sums.append(np.einsum("cp,cp->p", g, cells.take(first + step, 1)))
    a, b, c, d = sums
    both = np.array([(1 - v) * (b - a) + v * (d - c), (1 - u) * (c - a) + u * (d - b)]) * (SIDE / 2)
    return out.reshape(x.shape), both.reshape(grid.shape)


def _affine(t: np.ndarray) -> np.ndarray:
    lines = t[:, :, 1, None] * EXTENT + t[:, :, 2, None]
    return (t[:, :, None, None, 0] * EXTENT + lines[..., None]).transpose(0, 2, 3, 1)


def _affine_pull(g: np.ndarray, *_: Any) -> Any:
    lines = np.stack([EXTENT, np.ones(GRID)]) @ g
    across, plain = lines[:, :, 0].sum(1), lines[:, :, 1]
    return (np.stack([across, np.einsum("nyr,y->nr", plain, EXTENT), plain.sum(1)], 2),)


def _doubled(x: np.ndarray) -> np.ndarray:
    out = np.empty((*x.shape[:2], 2, x.shape[2], 2))
    out[...] = x[:, :, None, :, None]
    return out.reshape(len(x), 2 * x.shape[1], 2 * x.shape[2])


def _doubled_pull(g: np.ndarray, _: Any, x: np.ndarray) -> Any:
    b = g.reshape(*x.shape[:2], 2, x.shape[2], 2)
    return (b[:, :, 0, :, 0] + b[:, :, 0, :, 1] + b[:, :, 1, :, 0] + b[:, :, 1, :, 1],)


# ------------------------------------------------------------------------------------------------ windows


def _cells(x: np.ndarray) -> list[np.ndarray]:
    """The cells of all windows, as shifted slices."""
    return [x[:, k : N - WINDOW + 1 + k] for k in range(WINDOW)]


def _whole(inner: np.ndarray) -> np.ndarray:
    """NaN where a window is not full."""
    out = np.full((N, N), np.nan)
    out[:, WINDOW - 1 :] = inner
    return out


def _folded(f: np.ufunc, x: np.ndarray) -> np.ndarray:
    first, *rest = _cells(x)
    out = np.full((N, N), np.nan)
    inner = out[:, WINDOW - 1 :]
    inner[...] = first
    for cell in rest:
        f(inner, cell, out=inner)
    return out


def _spread(g: np.ndarray) -> np.ndarray:
    out = np.zeros((N, N))
    for cell in _cells(out):
        np.add(cell, g, out=cell)
    return out


def _hits_pull(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> Any:
    """Cells that are equal share a gradient."""
    g, y, out = g[:, WINDOW - 1 :], y[:, WINDOW - 1 :], np.zeros_like(x)
    hits = [cell == y for cell in _cells(x)]
    g = g / sum(hits[1:], hits[0].view(np.int8))
    for to, hit in zip(_cells(out), hits):
        np.add(to, g * hit, out=to)
    return (out,)


def _variance(x: np.ndarray) -> np.ndarray:
    cells, out = _cells(x), np.zeros((N, N - WINDOW + 1))
    mean = sum(cells[1:], cells[0]) / WINDOW
    for cell in cells:
        d = cell - mean
        d *= d
        out += d
    return _whole(out / WINDOW)


def _variance_pull(g: np.ndarray, x: np.ndarray) -> Any:
    """By the distances from each mean: a difference of two sums loses the digits that mean and cell share."""
    cells, g, out = _cells(x), g[:, WINDOW - 1 :] * (2 / WINDOW), np.zeros_like(x)
    mean = sum(cells[1:], cells[0]) / WINDOW
    for to, cell in zip(_cells(out), cells):
        d = cell - mean
        d *= g
        np.add(to, d, out=to)
    return (out,)


def _median(x: np.ndarray) -> np.ndarray:
    """By exchanges that leave the median of seven in the middle: quicker than a partition of every window."""
    cells = [cell.copy() for cell in _cells(x)]
    spare = np.empty_like(cells[0])
    for i, j in EXCHANGES:
        np.minimum(cells[i], cells[j], out=spare)
        np.maximum(cells[i], cells[j], out=cells[j])
        cells[i], spare = spare, cells[i]
    return _whole(cells[WINDOW // 2])


def _present(x: np.ndarray) -> np.ndarray:
    there = (~np.isnan(x)).view(np.int8)
    out = there.copy()
    for k in range(1, WINDOW):
        out[:, k:] += there[:, :-k]
    return np.where(out > 0, out, np.nan)


def _first(better: np.ufunc, best: np.ufunc, x: np.ndarray) -> np.ndarray:
    """Where in every window its extreme is: in small integers, which are quick to keep."""
    first, *rest = _cells(x)
    top, at = first.copy(), np.zeros(first.shape, np.int8)
    for k, cell in enumerate(rest, 1):
        np.maximum(at, better(cell, top).view(np.int8) * np.int8(k), out=at)
        best(top, cell, out=top)
    return _whole(at)


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    return [*_resampled(), *_windows()]


def _resampled() -> list[tuple[Any, ...]]:
    d = ng.DimArray
    plane, at = d(RNG.normal(size=(N, N)), ("a", "b")), d(RNG.uniform(1, N - 2, (2, N * N)), ("coord", "p"))
    image, more = (d(RNG.normal(size=(c, SIDE, SIDE)), ("c", "y", "x")) for c in (CHANNELS, 4 * CHANNELS))
    grid = d(RNG.uniform(-0.9, 0.9, (2, GRID, GRID)), ("coord", "v", "u"))
    theta = d(RNG.normal(size=(8, 2, 3)), ("n", "row", "column"))
    return [
        ("upsample", lambda x: ng.upsample(x, scale_factor={"y": 2, "x": 2}), (more,), _doubled, _doubled_pull),
        ("grid_sample", lambda x, at: ng.grid_sample(x, at, dims=("y", "x")), (image, grid), _grid, _grid_pull),
        ("affine_grid", lambda t: ng.affine_grid(t, {"y": GRID, "x": GRID}), (theta,), _affine, _affine_pull),
        ("map_coordinates", lambda x, at: ng.map_coordinates(x, at, mode="nearest", dims=("a", "b")), (plane, at),
         _sampled, _sampled_pull),
    ]  # fmt: skip


def _windows() -> list[tuple[Any, ...]]:
    d, w = ng.DimArray, {"b": WINDOW}
    x = d(RNG.normal(size=(N, N)), ("a", "b"))
    holes = d(np.where(RNG.random((N, N)) < 0.3, np.nan, x.data), x.dims)
    return [
        ("rolling_min", lambda x: ng.rolling_min(x, w), (x,), lambda x: _folded(np.minimum, x), _hits_pull),
        ("rolling_prod", lambda x: ng.rolling_prod(x, w), (x,), lambda x: _folded(np.multiply, x),
         lambda g, y, x: (_spread((g * y)[:, WINDOW - 1 :]) / x,)),
        ("rolling_var", lambda x: ng.rolling_var(x, w), (x,), _variance, lambda g, y, x: _variance_pull(g, x)),
        ("rolling_std", lambda x: ng.rolling_std(x, w), (x,), lambda x: np.sqrt(_variance(x)),
         lambda g, y, x: _variance_pull(g / (2 * y), x)),
        ("rolling_median", lambda x: ng.rolling_median(x, w), (x,), _median, _hits_pull),
        ("rolling_count", lambda x: ng.rolling_count(x, w, min_periods=1), (holes,), _present, None),
        ("rolling_argmax", lambda x: ng.rolling_argmax(x, w), (x,), lambda x: _first(np.greater, np.maximum, x), None),
        ("rolling_argmin", lambda x: ng.rolling_argmin(x, w), (x,), lambda x: _first(np.less, np.minimum, x), None),
    ]  # fmt: skip
