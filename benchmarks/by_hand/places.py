"""Indices, order and the places of extremes, on a million cells by hand in NumPy; see the package."""

from typing import Any

import numpy as np

import namedgrad as ng

RNG = np.random.default_rng(11)
N = 1000
EVERY = np.arange(N)
PLACES, COLUMNS = RNG.integers(0, N, (N, N)), RNG.integers(0, N, N)
ONCE = RNG.permutation(N)[: N // 2]
SPREAD = RNG.permutation(N * N)[: N * N // 2]
ROW, COLUMN = RNG.integers(0, N, (2, N * N))
GROUPS = RNG.integers(0, N, N * N)
LENGTHS = np.diff(np.sort(RNG.choice(N * N - 1, N - 1, replace=False) + 1), prepend=0, append=N * N)
STARTS = np.cumsum(LENGTHS) - LENGTHS
MASK = RNG.random((N, N)) < 0.5
EDGES = np.sort(RNG.normal(size=N))
SEEN = RNG.normal(size=N * N)
LOW, HIGH, BINS = -3.0, 3.0, 100


def _flat(places: np.ndarray) -> np.ndarray:
    """Positions along the last axis as positions among all cells."""
    return EVERY[: len(places), None] * N + places


def _added(places: np.ndarray, g: np.ndarray) -> np.ndarray:
    return np.bincount(places.reshape(-1), g.reshape(-1), N * N).reshape(N, N)


def _put(x: np.ndarray, places: Any, y: Any) -> np.ndarray:
    out = x.copy()
    out[places] = y
    return out


def _put_flat(x: np.ndarray, places: np.ndarray, y: Any) -> np.ndarray:
    return _put(x.reshape(-1), places, y).reshape(x.shape)


def _blank(places: np.ndarray, g: np.ndarray) -> np.ndarray:
    out = np.zeros(N * N)
    out[places] = g
    return out.reshape(N, N)


# ------------------------------------------------------------------------------------------------ masks


def _filled(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    where = np.flatnonzero(MASK)
    return _put_flat(x, where, y[: where.size])


def _filled_pull(g: np.ndarray, _: Any, __: Any, y: np.ndarray) -> Any:
    where, out = np.flatnonzero(MASK), np.zeros_like(y)
    out[: where.size] = g.reshape(-1)[where]
    return np.where(MASK, 0, g), out


def _padded(x: np.ndarray) -> np.ndarray:
    """Columns of each row's cells that are not 0, with zeros behind."""
    row, column = np.divmod(np.flatnonzero(x != 0), N)
    out, count = np.zeros((N, N), int), np.bincount(row, minlength=N)
    out.reshape(-1)[np.arange(row.size) + np.repeat(EVERY * N - (np.cumsum(count) - count), count)] = column
    return out.T


def _present(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the cells that are not 0, and the sums of their coordinates."""
    where = np.flatnonzero(x != 0)
    return where, np.add(*np.divmod(where, N))


def _weighted(x: np.ndarray) -> np.ndarray:
    where, sums = _present(x)
    return x.reshape(-1)[where] * sums


def _weighted_pull(g: np.ndarray, _: Any, x: np.ndarray) -> Any:
    where, sums = _present(x)
    return (_blank(where, g * sums),)


# ------------------------------------------------------------------------------------------------ several writers


def _last_pull(g: np.ndarray, places: np.ndarray) -> Any:
    """Of writers to the same cell the last one has the gradient."""
    writer, out = np.full(g.size, -1), np.zeros(places.size + 1)  # the last of these: of cells without a writer
    writer[places.reshape(-1)] = np.arange(places.size)
    out[writer] = g.reshape(-1)
    return np.where(writer.reshape(g.shape) < 0, g, 0), out[:-1].reshape(places.shape)


def _combined(at: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = x.copy()
    at(out.reshape(-1), _flat(PLACES).reshape(-1), y.reshape(-1))
    return out


def _largest_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    at = _flat(PLACES)
    own, new = x == z, y == z.reshape(-1)[at]
    share = g / np.maximum(own + _added(at, new), 1)
    return np.where(own, share, 0), np.where(new, share.reshape(-1)[at], 0)


def _writers() -> np.ndarray:
    return 1 + np.bincount(_flat(PLACES).reshape(-1), minlength=N * N).reshape(N, N)


def _by_column(reduce: np.ufunc, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = x.copy()
    for row, new in zip(out, y):
        reduce.at(row, COLUMNS, new)
    return out


def _column_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    own, new = x == z, y == z.take(COLUMNS, 1)
    share = g / np.maximum(own + _added(_flat(np.broadcast_to(COLUMNS, new.shape)), new), 1)
    return np.where(own, share, 0), np.where(new, share.take(COLUMNS, 1), 0)


# ------------------------------------------------------------------------------------------------ groups


def _grouped(at: Any, start: float, x: np.ndarray) -> np.ndarray:
    out = np.full(N, start)
    at(out, GROUPS, x)
    return out


def _least_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray) -> Any:
    hits = x == z[GROUPS]
    return (np.where(hits, (g / np.bincount(GROUPS[hits], minlength=N))[GROUPS], 0),)


def _centred(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    count = np.bincount(GROUPS, minlength=N)
    return x - (np.bincount(GROUPS, x, N) / count)[GROUPS], count


def _group_var(x: np.ndarray) -> np.ndarray:
    d, count = _centred(x)
    return np.bincount(GROUPS, d * d, N) / count


def _group_var_pull(g: np.ndarray, x: np.ndarray) -> Any:
    d, count = _centred(x)
    return (d * (2 * g / count)[GROUPS],)


def _longest_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray) -> Any:
    hits = x == np.repeat(z, LENGTHS)
    return (hits * np.repeat(g / np.add.reduceat(hits, STARTS, dtype=float), LENGTHS),)


def _bins(x: np.ndarray) -> np.ndarray:
    """The bin of every cell; 0 and the last one count those beyond the ends, but for the highest end itself."""
    return np.clip((x - LOW) * (BINS / (HIGH - LOW)) + 1, 0, BINS + (x > HIGH)).astype(np.intp)


# ------------------------------------------------------------------------------------------------ order


def _highest(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), -np.inf, x).argmax(1)


def _lowest(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), np.inf, x).argmin(1)


def _partition_pull(g: np.ndarray, z: np.ndarray, x: np.ndarray) -> Any:
    out = np.empty_like(x)
    np.put_along_axis(out, np.argsort(x, 1), np.take_along_axis(g, np.argsort(z, 1), 1), 1)
    return (out,)


def _mode(x: np.ndarray) -> np.ndarray:
    s = np.sort(x, 1)
    first = np.ones(s.shape, bool)
    np.not_equal(s[:, 1:], s[:, :-1], out=first[:, 1:])
    starts, length = np.flatnonzero(first), np.zeros(s.shape, int)
    length.reshape(-1)[starts] = np.diff(starts, append=s.size)
    return s[EVERY, length.argmax(1)]


def _ranks(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cells around the quantile, and the share of the upper one."""
    s, at = np.sort(x, 1), 0.3 * (N - 1 - np.isnan(x).sum(1))
    below = at.astype(int)
    return s[EVERY, below], s[EVERY, below + 1], at - below


def _quantile(x: np.ndarray) -> np.ndarray:
    low, high, share = _ranks(x)
    return low * (1 - share) + high * share


def _quantile_pull(g: np.ndarray, _: Any, x: np.ndarray) -> Any:
    (low, high, share), out = _ranks(x), np.zeros_like(x)
    out[EVERY, (x == low[:, None]).argmax(1)] = g * (1 - share)
    out[EVERY, (x == high[:, None]).argmax(1)] = g * share
    return (out,)


def table() -> list[tuple[Any, ...]]:
    """Rows: name, call, operands, value by hand, gradients by hand."""
    return [*_picked(), *_written(), *_groups(), *_ordered()]


def _picked() -> list[tuple[Any, ...]]:
    d = ng.DimArray
    x, half = (d(RNG.normal(size=(n, N)), ("a", "b")) for n in (N, N // 2))
    line, sparse = d(RNG.normal(size=N * N), "a"), d(np.where(MASK, x.data, 0), x.dims)
    flat, places, mask = d(GROUPS * N + ROW, "i"), d(PLACES, x.dims), d(MASK, x.dims)
    fewer, edges = d(PLACES[: N // 2], x.dims), d(EDGES, "edge")
    return [
        ("take", lambda x: ng.take(x, flat), (x,), lambda x: x.reshape(-1)[flat.data],
         lambda g, z, x: (_added(flat.data, g),)),
        ("take_along_dim", lambda x: ng.take_along_dim(x, places, "a"), (x,),
         lambda x: np.take_along_axis(x, PLACES, 0), lambda g, z, x: (_added(PLACES * N + EVERY, g),)),
        ("gather", lambda x: ng.gather(x, fewer, "b"), (x,),
         lambda x: np.take_along_axis(x[: N // 2], fewer.data, 1), lambda g, z, x: (_added(_flat(fewer.data), g),)),
        ("masked_select", lambda x: ng.masked_select(x, mask), (x,), lambda x: x.reshape(-1)[np.flatnonzero(MASK)],
         lambda g, z, x: (_blank(np.flatnonzero(MASK), g),)),
        ("masked_scatter", lambda x, y: ng.masked_scatter(x, mask, y), (x, line), _filled, _filled_pull),
        ("nonzero_padded", lambda x: ng.nonzero_padded(x, "b", size=N)[0], (sparse,), _padded, None),
        ("dense_to_coo", lambda x: (c := ng.dense_to_coo(x))[0] * (c[1] + c[2]), (sparse,), _weighted,
         _weighted_pull),
        ("searchsorted", lambda x: ng.searchsorted(edges, x, "edge"), (half,), EDGES.searchsorted, None),
        ("bucketize", lambda x: ng.bucketize(x, edges), (half,), EDGES.searchsorted, None),
        ("digitize", lambda x: ng.digitize(x, edges), (half,), lambda x: np.digitize(x, EDGES), None),
        ("one_hot", lambda i: ng.one_hot(i, N), (d(COLUMNS, "a"),),
         lambda i: _put(np.zeros((N, N), int), (EVERY, i), 1), None),
    ]  # fmt: skip


def _written() -> list[tuple[Any, ...]]:
    d = ng.DimArray
    x, y = (d(RNG.normal(size=(N, N)), ("a", "b")) for _ in range(2))
    half, line = d(y.data[:, : N // 2].copy(), x.dims), d(y.data.reshape(-1), "p")
    places, columns, once, column = d(PLACES, x.dims), d(COLUMNS, "b"), d(ONCE, "b"), d(y.data[0], "a")
    pair, spread, short = {"a": d(ROW, "p"), "b": d(COLUMN, "p")}, d(SPREAD, "p"), d(line.data[: N * N // 2], "p")
    diagonal, chosen = d(y.data[0], "diagonal"), (slice(None), ONCE)
    return [
        ("scatter", lambda x, y: ng.scatter(x, places, y, "b"), (x, y), lambda x, y: _put_flat(x, _flat(PLACES), y),
         lambda g, z, x, y: _last_pull(g, _flat(PLACES))),
        ("scatter_reduce, prod", lambda x, y: ng.scatter_reduce(x, places, y, "b", "prod"), (x, y),
         lambda x, y: _combined(np.multiply.at, x, y),
         lambda g, z, x, y: ((t := g * z) / x, t.reshape(-1)[_flat(PLACES)] / y)),
        ("scatter_reduce, mean", lambda x, y: ng.scatter_reduce(x, places, y, "b", "mean"), (x, y),
         lambda x, y: (x + _added(_flat(PLACES), y)) / _writers(),
         lambda g, z, x, y: ((t := g / _writers()), t.reshape(-1)[_flat(PLACES)])),
        ("scatter_reduce, amax", lambda x, y: ng.scatter_reduce(x, places, y, "b", "amax"), (x, y),
         lambda x, y: _combined(np.maximum.at, x, y), _largest_pull),
        ("index_copy", lambda x, y: ng.index_copy(x, once, y, "b"), (x, half), lambda x, y: _put(x, chosen, y),
         lambda g, z, x, y: (_put(g, chosen, 0), g.take(ONCE, 1))),
        ("index_fill", lambda x, v: ng.index_fill(x, once, v, "b"), (x, d(np.array(3.0), ())),
         lambda x, v: _put(x, chosen, v), lambda g, z, x, v: (_put(g, chosen, 0), g.sum(0)[ONCE].sum())),
        ("index_reduce, prod", lambda x, y: ng.index_reduce(x, columns, y, "b", "prod"), (x, y),
         lambda x, y: _by_column(np.multiply, x, y),
         lambda g, z, x, y: ((t := g * z) / x, t.take(COLUMNS, 1) / y)),
        ("index_reduce, amax", lambda x, y: ng.index_reduce(x, columns, y, "b", "amax"), (x, y),
         lambda x, y: _by_column(np.maximum, x, y),
         _column_pull),
        ("index_put", lambda x, y: ng.index_put(x, pair, y), (x, line),
         lambda x, y: _put_flat(x, ROW * N + COLUMN, y), lambda g, z, x, y: _last_pull(g, ROW * N + COLUMN)),
        ("index_put, accumulate", lambda x, y: ng.index_put(x, pair, y, accumulate=True), (x, line),
         lambda x, y: x + _added(ROW * N + COLUMN, y),
         lambda g, z, x, y: (g.copy(), g.reshape(-1)[ROW * N + COLUMN])),
        ("put", lambda x, y: ng.put(x, spread, y), (x, short), lambda x, y: _put_flat(x, SPREAD, y),
         lambda g, z, x, y: _last_pull(g, SPREAD)),
        ("select_scatter", lambda x, y: ng.select_scatter(x, y, "b", 3), (x, column),
         lambda x, y: _put(x, (slice(None), 3), y),
         lambda g, z, x, y: (_put(g, (slice(None), 3), 0), g[:, 3].copy())),
        ("slice_scatter", lambda x, y: ng.slice_scatter(x, y, "b", step=2), (x, half),
         lambda x, y: _put(x, (slice(None), slice(None, None, 2)), y),
         lambda g, z, x, y: (_put(g, (slice(None), slice(None, None, 2)), 0), g[:, ::2].copy())),
        ("diagonal_scatter", lambda x, y: ng.diagonal_scatter(x, y, ("a", "b")), (x, diagonal),
         lambda x, y: _put(x, (EVERY, EVERY), y),
         lambda g, z, x, y: (_put(g, (EVERY, EVERY), 0), np.diagonal(g).copy())),
    ]  # fmt: skip


def _groups() -> list[tuple[Any, ...]]:
    d = ng.DimArray
    line, groups = d(RNG.normal(size=N * N), "a"), d(GROUPS, "a")
    near_one, holes = d(1 + line.data / 100, "a"), d(np.where(MASK.reshape(-1), line.data, np.nan), "a")
    places, seen, ends = {"x": d(ROW, "a"), "y": d(COLUMN, "a")}, d(SEEN, "a"), (LOW, HIGH)
    return [
        ("segment_prod", lambda x: ng.segment_prod(x, groups, "a", N), (near_one,),
         lambda x: _grouped(np.multiply.at, 1.0, x), lambda g, z, x: ((g * z)[GROUPS] / x,)),
        ("segment_min", lambda x: ng.segment_min(x, groups, "a", N), (line,),
         lambda x: _grouped(np.minimum.at, np.inf, x), _least_pull),
        ("segment_var", lambda x: ng.segment_var(x, groups, "a", N), (line,), _group_var,
         lambda g, z, x: _group_var_pull(g, x)),
        ("segment_std", lambda x: ng.segment_std(x, groups, "a", N), (line,), lambda x: np.sqrt(_group_var(x)),
         lambda g, z, x: _group_var_pull(g / (2 * z), x)),
        ("segment_count", lambda x: ng.segment_count(x, groups, "a", N), (holes,),
         lambda x: np.bincount(GROUPS[np.flatnonzero(~np.isnan(x))], minlength=N), None),
        ("segment_reduce, sum", lambda x: ng.segment_reduce(x, "sum", lengths=LENGTHS), (line,),
         lambda x: np.add.reduceat(x, STARTS), lambda g, z, x: (np.repeat(g, LENGTHS),)),
        ("segment_reduce, max", lambda x: ng.segment_reduce(x, "max", lengths=LENGTHS), (line,),
         lambda x: np.maximum.reduceat(x, STARTS), _longest_pull),
        ("coo_to_dense", lambda x: ng.coo_to_dense(x, places, {"x": N, "y": N}), (line,),
         lambda x: _added(ROW * N + COLUMN, x), lambda g, z, x: (g.reshape(-1)[ROW * N + COLUMN],)),
        ("bincount", lambda x: ng.bincount(groups, x, size=N), (line,), lambda x: np.bincount(GROUPS, x, N),
         lambda g, z, x: (g[GROUPS],)),
        ("histogram", lambda x: ng.histogram(x, BINS, range=ends)[0], (line,),
         lambda x: np.histogram(x, BINS, ends)[0], None),
        ("histogram, weights", lambda w: ng.histogram(seen, BINS, range=ends, weights=w)[0], (line,),
         lambda w: np.histogram(SEEN, BINS, ends, weights=w)[0],
         lambda g, z, w: (np.concatenate([[0], g, [0]])[_bins(SEEN)],)),
    ]  # fmt: skip


def _mean_ranks(x: np.ndarray) -> np.ndarray:
    """Places among the sorted cells of each row, from both sides."""
    rows = zip(np.sort(x, 1), x, strict=True)
    return np.stack([(np.searchsorted(s, r) + np.searchsorted(s, r, "right") + 1) * 0.5 for s, r in rows])


def _ordered() -> list[tuple[Any, ...]]:
    x = ng.DimArray(RNG.normal(size=(N, N)), ("a", "b"))
    holes = ng.DimArray(np.where(RNG.random((N, N)) < 0.01, np.nan, x.data), x.dims)
    often = ng.DimArray(RNG.integers(0, 50, (N, N)).astype(float), x.dims)
    return [
        ("argmax", lambda x: ng.argmax(x, "b", skipna=False), (x,), lambda x: x.argmax(1), None),
        ("argmin", lambda x: ng.argmin(x, "b", skipna=False), (x,), lambda x: x.argmin(1), None),
        ("idxmax", lambda x: ng.idxmax(x, "b"), (holes,), lambda x: _highest(x).astype(float), None),
        ("idxmin", lambda x: ng.idxmin(x, "b"), (holes,), lambda x: _lowest(x).astype(float), None),
        ("nanargmax", lambda x: ng.nanargmax(x, "b"), (holes,), _highest, None),
        ("nanargmin", lambda x: ng.nanargmin(x, "b"), (holes,), _lowest, None),
        ("argsort", lambda x: ng.argsort(x, "b"), (x,), lambda x: np.argsort(x, 1, kind="stable"), None),
        ("rank", lambda x: ng.rank(x, "b"), (x,), _mean_ranks, None),
        ("partition", lambda x: ng.partition(x, "b", kth=N // 2), (x,), lambda x: np.partition(x, N // 2, 1),
         _partition_pull),
        ("mode", lambda x: ng.mode(x, "b"), (often,), _mode,
         lambda g, z, x: (_put(np.zeros_like(x), (EVERY, N - 1 - (x == z[:, None])[:, ::-1].argmax(1)), g),)),
        ("nanquantile", lambda x: ng.nanquantile(x, 0.3, "b"), (holes,), _quantile, _quantile_pull),
    ]  # fmt: skip
