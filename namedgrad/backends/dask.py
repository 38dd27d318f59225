"""The dask backend: NumPy's kernels on the chunks of lazy arrays; nothing computes before ``.compute()``.

Elementwise kernels run chunk by chunk, sums by tree, contractions as products of chunks added by tree, linear algebra
through ``apply_gufunc`` on chunks that are whole along the core dims only.  The chunks are NumPy arrays, so the kernels
are those of the NumPy backend, which may look at values: a guard costs nothing where everything is finite.

A result follows the chunks of its operands.  Where nothing with chunks is left, as in the cotangent of a sum, the sizes
themselves remember them, see :class:`Size`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import dask.array as da
import numpy as np
from dask.array.core import normalize_chunks, unify_chunks

from namedgrad.axes import MatmulPlan
from namedgrad.backends.activations import ActivationKernels
from namedgrad.backends.base import Backend, Raw, Shape
from namedgrad.backends.bessel import BesselKernels
from namedgrad.backends.bessel_slopes import BesselSlopes
from namedgrad.backends.confluent import ConfluentKernels
from namedgrad.backends.dask_along import AlongAxis
from namedgrad.backends.dask_chunks import Kernel, Namespace, blockwise, by_tree, elementwise, permuted
from namedgrad.backends.dask_linalg import DaskLinalg
from namedgrad.backends.dask_lines import DaskLines
from namedgrad.backends.dask_losses import LossesOnChunks
from namedgrad.backends.dask_windows import DaskWindowKernels
from namedgrad.backends.distributions import DistributionKernels
from namedgrad.backends.draws import WHOLE, SlopeKernels
from namedgrad.backends.families import FamilyKernels
from namedgrad.backends.hypergeometric import HypergeometricKernels
from namedgrad.backends.losses import LossKernels
from namedgrad.backends.normal import NormalKernels
from namedgrad.backends.numpy import NumpyBackend
from namedgrad.backends.parameters import ParameterKernels
from namedgrad.backends.scatter import neutral
from namedgrad.backends.special import SpecialKernels, alike
from namedgrad.backends.symmetric import SymmetricKernels

LARGER = 1.25  # chunks that take up the crumbs beside them, than they were
_HOST = NumpyBackend()
_BY_CELL = (
    ActivationKernels, BesselKernels, BesselSlopes, ConfluentKernels, DistributionKernels, FamilyKernels,
    HypergeometricKernels, LossKernels, NormalKernels, ParameterKernels, SlopeKernels, SpecialKernels, SymmetricKernels,
)  # fmt: skip
_CELL_BY_CELL = frozenset(name for kernels in _BY_CELL for name in vars(kernels))


class Size(int):
    """The size of an axis that remembers how it was cut into chunks."""

    chunks: tuple[int, ...]

    def __new__(cls, size: int, chunks: tuple[int, ...]) -> Self:
        """An int like any other, which every calculation gives back as a plain one."""
        self = super().__new__(cls, size)
        self.chunks = chunks
        return self

    def __getnewargs__(self) -> tuple[int, tuple[int, ...]]:  # type: ignore[override]
        return int(self), self.chunks


class DaskBackend(
    AlongAxis,
    LossesOnChunks,
    DaskLinalg,
    DaskWindowKernels,
    DaskLines,
    Backend,
):
    """Positional functions on :class:`dask.array.Array`."""

    name = "dask"
    xp = Namespace()

    def function(self, name: str) -> Callable[..., Any]:
        """The function called ``name``: a method here, else the NumPy kernel on every chunk."""
        own = None if name in _CELL_BY_CELL else getattr(self, name, None)
        return own or functools.partial(elementwise, _HOST.function(name))

    def offers(self, func: Any) -> bool:
        """Ufuncs are done chunk by chunk; other functions that dask lacks would compute their arguments at once."""
        return isinstance(func, np.ufunc) or super().offers(func)

    def together(self, *xs: Raw, of: str) -> Raw:
        """The same of every chunk."""
        xs = tuple(da.broadcast_arrays(*map(self.asarray, alike(*xs)))) if len(xs) > 1 else xs
        _, xs = unify_chunks(*(part for x in xs for part in (x, range(x.ndim)[::-1])), warn=False)
        some = _HOST.together(*(np.ones(1, x.dtype) for x in xs), of=of)
        kernel, chunks = Kernel(_HOST.together, of=of), (*xs[0].chunks, some.shape[-1:])
        return da.map_blocks(kernel, *xs, chunks=chunks, new_axis=xs[0].ndim, dtype=some.dtype)

    # ---------------------------------------------------------------- creation and transfer

    def full(self, shape: Shape, value: Any, dtype: Any) -> Raw:
        """Chunks of one value that occupy one element each."""
        return self.broadcast_to(np.array(value, dtype), shape)

    def zeros(self, shape: Shape, dtype: Any) -> Raw:
        """Zeros to write into."""
        return da.zeros(_plain(shape), dtype=dtype, chunks=_chunks(shape, dtype))

    def arange(self, start: int, stop: int, step: int = 1) -> Raw:
        """The integers of a range: a NumPy array, since positions that are known make better graphs."""
        return np.arange(start, stop, step)

    def eye(self, n: int, m: int, k: int, dtype: Any) -> Raw:
        """Ones on the k-th diagonal; :func:`dask.array.eye` leaves blocks out where n and m differ."""
        return (da.arange(int(n))[:, None] + k == da.arange(int(m))).astype(dtype)

    def to_numpy(self, x: Raw) -> np.ndarray[Any, Any]:
        """The computed values."""
        return np.array(x.compute())

    def copy(self, x: Raw, order: str = "K") -> Raw:
        """Lazy arrays are values: nobody can write into them."""
        return x

    def owns(self, x: Raw) -> bool:
        """Lazy arrays are values."""
        return True

    # ---------------------------------------------------------------- shape

    def shape(self, x: Raw) -> Shape:
        """Sizes that remember the chunks."""
        if any(math.isnan(n) for n in x.shape):
            raise TypeError(f"a dask array of unknown sizes, {x.shape}: call .compute_chunk_sizes() on it first")
        return tuple(map(Size, x.shape, x.chunks))

    def settle(self, x: Raw, shape: Shape) -> Raw:
        """``x`` with the chunks that its sizes remember."""
        x = self.asarray(x)
        chunks = tuple(getattr(n, "chunks", own) for n, own in zip(shape, x.chunks, strict=True))
        return x if chunks == x.chunks else x.rechunk(chunks)

    def transpose(self, x: Raw, perm: tuple[int, ...]) -> Raw:
        """Permuted axes."""
        return permuted(self.asarray(x), perm)

    def reshape(self, x: Raw, shape: Shape) -> Raw:
        """Another shape, same elements in C order."""
        x, shape = self.asarray(x), _plain(shape)
        if not all(x.shape):  # dask cannot split an axis of size 0
            return da.zeros(shape, x.dtype)
        try:
            return da.reshape(x, shape)
        except NotImplementedError:  # axes that are neither merged nor split become one in between
            same = sum(1 for _ in itertools.takewhile(lambda p: p[0] == p[1], zip(x.shape, shape, strict=False)))
            return da.reshape(da.reshape(x, (*shape[:same], math.prod(shape[same:]))), shape)

    def getitem(self, x: Raw, index: tuple[Any, ...]) -> Raw:
        """Basic indexing."""
        return _without_empty_chunks(super().getitem(x, index))

    def cut(self, x: Raw, axis: int, index: slice | int) -> Raw:
        """A slice, or one position, of one axis."""
        index = _from_within(index, x.shape[axis]) if isinstance(index, slice) else index
        return _without_empty_chunks(super().cut(x, axis, index))

    def concat(self, *parts: Raw, axis: int) -> Raw:
        """Joined along an axis; a few cells at an end, as of differences there, are no chunk of their own."""
        out = da.concatenate(parts, axis=axis)
        return out.rechunk({axis: _without_crumbs(out.chunks[axis])})

    def uncut(self, g: Raw, axis: int, index: slice | int, size: int) -> Raw:
        """Zeros put to both ends, since an assignment holds a copy of all that its value is made of."""
        g, part = self.asarray(g), index if isinstance(index, slice) else slice(index, index + 1 or None)
        first, stop, step = part.indices(size)
        if step != 1 or not all(g.shape):
            return super().uncut(g, axis, index, size)
        g = g if part is index else da.expand_dims(g, axis)
        ends = [(*g.shape[:axis], n, *g.shape[axis + 1 :]) for n in (first, size - stop)]
        ahead, behind = (_zeros(shape, axis, g) for shape in ends)
        whole = da.concatenate([*ahead, g, *behind], axis=axis)
        return whole.rechunk({axis: size.chunks if isinstance(size, Size) else _without_crumbs(whole.chunks[axis])})

    def broadcast_to(self, x: Raw, shape: Shape) -> Raw:
        """Zero-stride broadcast, in the chunks that the sizes remember."""
        x = self.asarray(x)
        lead = len(shape) - x.ndim
        own = [x.chunks[i - lead] if i >= lead and x.shape[i - lead] == n else None for i, n in enumerate(shape)]
        return da.broadcast_to(x, _plain(shape), chunks=_chunks(shape, x.dtype, own))

    # ---------------------------------------------------------------- elementwise, with the NumPy backend's kernels

    def select(self, mask: Raw, x: Raw) -> Raw:
        """``x`` where the mask is true, exactly 0 elsewhere."""
        return elementwise(_HOST.select, mask, x)

    def shield(self, factor: Raw, g: Raw) -> Raw:
        """The factor with 0 in place of what is not finite where the cotangent is exactly 0."""
        return elementwise(_HOST.shield, factor, g)

    def scale(self, g: Raw, factor: Raw) -> Raw:
        """``g * factor``, repaired only in chunks that need it."""
        return elementwise(_HOST.scale, g, factor)

    def present(self, x: Raw) -> Raw:
        """Where ``x`` is not NaN."""
        return elementwise(_HOST.present, x)

    def cast(self, x: Raw, dtype: Any) -> Raw:
        """As the NumPy backend casts."""
        return x if x.dtype == dtype else elementwise(_HOST.cast, x, dtype=np.dtype(dtype))

    def wrap_index(self, index: Raw, size: int) -> Raw:
        """Negative positions counted from the end; one out of range is refused when it is computed."""
        return index.map_blocks(_wrapped, size=int(size), dtype=index.dtype)

    # ---------------------------------------------------------------- contraction and reductions

    def contract(self, x: Raw, y: Raw, plan: MatmulPlan, *, guard: bool = False) -> Raw:
        """Products of chunks, added by tree along the contracted axes."""
        xs, ys, out = plan.numbers
        over = [i for i in xs if i not in out]
        kernel = Kernel(_contract_chunks, plan=plan, guard=guard, over=len(over))
        parts = blockwise(kernel, out, over, np.result_type(x, y), (self.asarray(x), xs), (self.asarray(y), ys))
        return self._added(parts, len(over))

    def total(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Sum over axes by tree."""
        return by_tree(x, axis, np.sum(np.empty((0,), x.dtype)).dtype, Kernel(np.sum))

    def count_true(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Number of true cells."""
        return by_tree(x, axis, np.dtype(np.int64), Kernel(np.sum, dtype=np.int64))

    def any(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Whether any is true over axes."""
        return by_tree(x, axis, np.dtype(bool), Kernel(np.any))

    def all(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Whether all are true over axes."""
        return by_tree(x, axis, np.dtype(bool), Kernel(np.all))

    def max(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Largest value over axes."""
        return by_tree(x, axis, x.dtype, Kernel(np.max), Kernel(_of_cells, reduce=np.max))

    def min(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Smallest value over axes."""
        return by_tree(x, axis, x.dtype, Kernel(np.min), Kernel(_of_cells, reduce=np.min))

    def _added(self, parts: Raw, last: int) -> Raw:
        """Partial results, one per chunk along each of the ``last`` axes, added in their own dtype."""
        axis = tuple(range(parts.ndim - last, parts.ndim))
        if all(parts.shape[i] == 1 for i in axis):
            return parts[(..., *(0,) * last)]
        return by_tree(parts, axis, parts.dtype, Kernel(np.sum, dtype=parts.dtype))

    # ---------------------------------------------------------------- movement

    def roll(self, x: Raw, axis: tuple[int, ...], shift: tuple[int, ...]) -> Raw:
        """Cyclic shift, in the chunks of ``x``: else every shift would cut them further."""
        return da.roll(x, shift, axis=axis).rechunk(x.chunks)

    # ---------------------------------------------------------------- draws

    def generator(self, seed: Any) -> Any:
        """A generator that seeds those of the chunks."""
        return np.random.default_rng(seed)

    def draw(self, *parameters: Raw, rng: Any, method: str, shape: Shape) -> Raw:
        """Draws chunk by chunk when computed, from generators that the given one seeds now."""
        dtype = np.dtype(int if method in WHOLE else float)
        chunks = _chunks(shape, dtype)
        seed = tuple(int(n) for n in rng.integers(2**63, size=2))
        wide = [self.broadcast_to(p, shape).rechunk(chunks) for p in parameters]
        kernel = functools.partial(_draw_chunk, method=method, seed=seed)
        return da.map_blocks(kernel, *wide, chunks=chunks, dtype=dtype, meta=np.empty((0,) * len(shape), dtype))

    # ---------------------------------------------------------------- gather and scatter

    def take(self, x: Raw, index: Raw, axis: int) -> Raw:
        """Positions of one axis; lazy ones may be taken as well."""
        if isinstance(index, da.Array):
            out = self.gather(da.moveaxis(self.asarray(x), axis, -1), index, shared=0)
            return da.moveaxis(out, -1, axis) if index.ndim else out
        if np.ndim(index) == 0:
            return self.cut(x, axis, int(index))
        return da.take(x, np.asarray(index), axis=axis)

    def gather(self, x: Raw, *index: Raw, shared: int, tail: int = 0) -> Raw:
        """Every chunk of ``x`` gives the cells that it has and zeros elsewhere; these are added by tree."""
        x, at = self.asarray(x), self._lazy(index)
        if tail:
            core = x.ndim - len(at) - tail
            out = self.gather(_swapped(x, core, len(at)), *at, shared=shared)
            return _swapped(out, core, tail)
        lead = list(range(x.ndim - len(at)))
        new = [len(lead) + i for i in range(at[0].ndim - shared)]
        kernel = Kernel(_gather_chunks, count=len(at), shared=shared)
        return self._added(_by_place(kernel, x, at, lead, new, chunks=x.chunks[len(lead) :], into=False), len(at))

    def scatter(self, how: str, g: Raw, *index: Raw, shared: int, sizes: Shape, tail: int = 0) -> Raw:
        """Every chunk of ``g`` is combined into every chunk of the result; these are combined by tree."""
        g, at = self.asarray(g), self._lazy(index)
        count = at[0].ndim - shared
        if tail:
            core = g.ndim - count - tail
            out = self.scatter(how, _swapped(g, core, count), *at, shared=shared, sizes=sizes)
            return _swapped(out, core, tail)
        lead = list(range(g.ndim - count))
        new = [len(lead) + i for i in range(count)]
        kernel = Kernel(_scatter_chunks, how=how, count=len(at), shared=shared)
        parts = _by_place(kernel, g, at, lead, new, chunks=_chunks(sizes, g.dtype), into=True)
        return self._combined(how, parts, count)

    def _combined(self, how: str, parts: Raw, last: int) -> Raw:
        """Partial results, one per chunk along each of the ``last`` axes, combined by tree in their own dtype."""
        if how == "add":
            return self._added(parts, last)
        reduce = {"multiply": da.prod, "maximum": da.max, "minimum": da.min}[how]
        options = {"dtype": parts.dtype} if how == "multiply" else {}
        return reduce(parts, axis=tuple(range(parts.ndim - last, parts.ndim)), **options) if last else parts

    def scatter_into(self, x: Raw, g: Raw, *index: Raw, how: str, shared: int, tail: int = 0) -> Raw:
        """``x`` combined with what is written, chunk by chunk of both."""
        x, g = self.asarray(x), self.asarray(g)
        core = x.ndim - tail - len(index)
        sizes = tuple(Size(n, c) for n, c in zip(x.shape[core:], x.chunks[core:], strict=True))[: len(index)]
        if how == "put":
            return self.put(x, g, self._lazy(index), shared=shared, sizes=sizes, tail=tail)
        return self.function(how)(x, self.scatter(how, g, *index, shared=shared, sizes=sizes, tail=tail))

    def write_block(self, x: Raw, v: Raw, index: tuple[Any, ...], how: str) -> Raw:
        """A copy with ``v`` put, or added, at a basic index; dask refuses to write nothing."""
        out = self.asarray(x).copy()
        if 0 not in v.shape:
            out[index] = out[index] + v if how == "add" else _without_empty_chunks(self.asarray(v))
        return out

    def exclusive_product(self, g: Raw, whole: Raw, *index: Raw, shared: int, sizes: Shape, tail: int = 0) -> Raw:
        """For each writer the product of the others to the same cell; the axes of index and cells are joined."""
        g, whole, at = self.asarray(g), self.asarray(whole), self._lazy(index)
        count = at[0].ndim - shared
        core = g.ndim - count - tail
        if tail:
            moved = _swapped(g, core, count), _swapped(whole, core, len(at))
            return _swapped(self.exclusive_product(*moved, *at, shared=shared, sizes=sizes), core, tail)
        lead, new = list(range(core)), list(range(core, g.ndim))
        cells = list(range(g.ndim, g.ndim + len(at)))
        g, whole = g.rechunk(dict.fromkeys(new, -1)), whole.rechunk(dict.fromkeys(range(core, whole.ndim), -1))
        at = [i.rechunk(dict.fromkeys(range(shared, i.ndim), -1)) for i in at]
        places = ((i, [*lead[:shared], *new]) for i in at)
        kernel = Kernel(_exclusive_chunks, shared=shared, sizes=_plain(sizes))
        return blockwise(kernel, [*lead, *new], [], g.dtype, (g, [*lead, *new]), (whole, [*lead, *cells]), *places)

    def searchsorted(self, edges: Raw, x: Raw, *, right: bool) -> Raw:
        """How many edges lie below each value; the edges of a row are joined."""
        edges, x = self.asarray(edges), self.asarray(x)
        batch = list(range(edges.ndim - 1))
        kernel = Kernel(_search_chunks, right=right)
        whole = edges.rechunk({edges.ndim - 1: -1})
        own = (x, [*batch, x.ndim - 1]) if batch else (x, [0])
        return blockwise(kernel, own[1], [], np.dtype(np.intp), (whole, [*batch, -1]), own)

    def _lazy(self, index: Sequence[Raw]) -> list[Raw]:
        return list(da.broadcast_arrays(*map(self.asarray, index)))


# ------------------------------------------------------------------------------------------------ chunks


def _draw_chunk(
    *parameters: Raw, method: str, seed: tuple[int, ...], block_info: Any = None
) -> np.ndarray[Any, Any]:
    where = block_info[None]
    rng = np.random.default_rng((*seed, *where["chunk-location"]))
    return np.asarray(_HOST.draw(*parameters, rng=rng, method=method, shape=where["chunk-shape"]))


def _plain(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(map(int, shape))


def _zeros(shape: Shape, axis: int, like: Raw) -> list[Raw]:
    """Zeros that occupy one element each chunk, in the chunks of another array but for one axis; none of size 0."""
    if not shape[axis]:
        return []
    chunks = normalize_chunks((*like.chunks[:axis], "auto", *like.chunks[axis + 1 :]), shape, dtype=like.dtype)
    return [da.broadcast_to(np.zeros((), like.dtype), shape, chunks=chunks)]


def _without_crumbs(chunks: tuple[int, ...]) -> tuple[int, ...] | int:
    """Chunks as they are or, where one but the last is smaller than half of the largest, equal ones about as large."""
    widest, size = max(chunks), sum(chunks)
    has_crumbs = 2 * min(chunks[:-1], default=widest) < widest  # unknown sizes are not smaller than any
    return -(-size // math.ceil(size / (LARGER * widest))) if has_crumbs else chunks


def _from_within(index: slice, size: int) -> slice:
    """A slice that starts within an axis: dask takes one that goes back from ahead of it for one from its end."""
    there = range(*index.indices(size))
    if there.step > 0 or not there:
        return index if there else slice(0)
    return slice(there[0], there[-1] - 1 if there[-1] else None, there.step)


def _without_empty_chunks(x: Raw) -> Raw:
    """As it is read with a stride; dask loses empty chunks where it writes."""
    if not any(0 in chunks for chunks in getattr(x, "chunks", ())):
        return x
    return x.rechunk(tuple(tuple(filter(None, chunks)) or chunks for chunks in x.chunks))


def _chunks(shape: Shape, dtype: Any, own: Sequence[tuple[int, ...] | None] | None = None) -> Any:
    """Chunks for a shape: those given, those that the sizes remember, else of a convenient size."""
    given, rest = own or (None,) * len(shape), "auto" if all(shape) else -1  # what is empty has no convenient size
    wanted = tuple(c or getattr(n, "chunks", rest) for n, c in zip(shape, given, strict=True))
    return normalize_chunks(wanted, _plain(shape), dtype=dtype)


def _by_place(
    kernel: Kernel, x: Raw, at: Sequence[Raw], lead: list[int], new: list[int], *, chunks: Sequence[Any], into: bool
) -> Raw:
    """A call for all chunks of the axes of an index, which are ``new``, with all those of the axes that it picks from.

    The kernel learns which cells of the latter a chunk has; with ``into`` the result has these axes, else ``x``.
    """
    cells = [-1 - i for i in range(len(at))]
    shared = at[0].ndim - len(new)
    places = ((i, [*lead[:shared], *new]) for i in at)
    spans = ((da.arange(sum(c), chunks=(c,)), [n]) for n, c in zip(cells, chunks, strict=True))
    own, out = (new, cells) if into else (cells, new)
    return blockwise(kernel, [*lead, *out], own, x.dtype, (x, [*lead, *own]), *places, *spans)


def _swapped(x: Raw, at: int, count: int) -> Raw:
    """``count`` axes from ``at`` moved behind all others."""
    rest = [i for i in range(x.ndim) if not at <= i < at + count]
    return da.transpose(x, (*rest, *range(at, at + count)))


# ------------------------------------------------------------------------------------------------ functions of chunks


def _wrapped(index: Raw, size: int) -> Raw:
    if index.size and (index.min() < -size or index.max() >= size):
        bad = index.min() if index.min() < -size else index.max()
        raise IndexError(f"index {bad} is out of range for a dim of size {size}")
    return _HOST.wrap_index(index, size)


def _of_cells(x: Raw, reduce: Callable[..., Raw], **kwargs: Any) -> Raw:
    return reduce(x, **kwargs) if x.size else x


def _contract_chunks(x: Raw, y: Raw, plan: MatmulPlan, guard: bool, over: int) -> Raw:
    return np.asarray(_HOST.contract(x, y, plan, guard=guard))[(..., *(None,) * over)]


def _inside(index: Sequence[Raw], spans: Sequence[Raw]) -> tuple[Raw, list[Raw]]:
    """Which positions fall into the chunks that start and end as the spans do, and where in them."""
    local = [i - (s[0] if s.size else 0) for i, s in zip(index, spans, strict=True)]
    hits = [(i >= 0) & (i < s.size) for i, s in zip(local, spans, strict=True)]
    inside = functools.reduce(np.logical_and, hits)
    return inside, [np.where(inside, i, 0) for i in local]


def _beside(inside: Raw, shared: int, own: int) -> Raw:
    """A mask over the axes of an index, with room for those that cells have of their own."""
    return inside.reshape((*inside.shape[:shared], *(1,) * own, *inside.shape[shared:]))


def _gather_chunks(x: Raw, *more: Raw, count: int, shared: int) -> Raw:
    inside, index = _inside(more[:count], more[count:])
    own = x.ndim - count - shared
    out = _HOST.gather(x, *index, shared=shared)
    return np.where(_beside(inside, shared, own), out, out.dtype.type(0))[(..., *(None,) * count)]


def _exclusive_chunks(g: Raw, whole: Raw, *index: Raw, shared: int, sizes: Shape) -> Raw:
    while isinstance(whole, list):  # an axis that is joined comes as a list of its one chunk
        (whole,) = whole
    return _HOST.exclusive_product(g, whole, *index, shared=shared, sizes=sizes)


def _search_chunks(edges: Raw, x: Raw, right: bool) -> Raw:
    while isinstance(edges, list):
        (edges,) = edges
    return _HOST.searchsorted(edges, x, right=right)


def _scatter_chunks(g: Raw, *more: Raw, how: str, count: int, shared: int) -> Raw:
    spans = more[count:]
    inside, index = _inside(more[:count], spans)
    written = np.where(_beside(inside, shared, g.ndim - inside.ndim), g, neutral(how, g.dtype))
    out = _HOST.scatter(how, written, *index, shared=shared, sizes=tuple(s.size for s in spans))
    return out[(..., *(None,) * (inside.ndim - shared))]
