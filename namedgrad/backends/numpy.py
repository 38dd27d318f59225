"""The NumPy backend: the default, and the only one whose values may steer Python."""

from __future__ import annotations

import cmath
import contextlib
import ctypes
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from namedgrad.axes import MatmulPlan
from namedgrad.backends.attention import NumpyAttentionKernels
from namedgrad.backends.base import Backend, Raw, Shape, innermost
from namedgrad.backends.cosine import HostCosine
from namedgrad.backends.ctc import HostCtc
from namedgrad.backends.distances import NumpyDistanceKernels
from namedgrad.backends.fourier import HostFourier
from namedgrad.backends.gaps import GapKernels
from namedgrad.backends.numpy_index import NumpyIndex
from namedgrad.backends.numpy_linalg import NumpyLinalg
from namedgrad.backends.numpy_lines import NumpyLines
from namedgrad.backends.numpy_losses import NumpyLosses
from namedgrad.backends.numpy_search import NumpySearch
from namedgrad.backends.numpy_special import BITS, SWEEP, NumpySpecial, blocks
from namedgrad.backends.numpy_statistics import NumpyStatistics
from namedgrad.backends.overlapping import LEAST_CELLS, contract_windows, in_memory_order, is_strewn_matrix
from namedgrad.backends.resampling import HostResampling
from namedgrad.backends.rows import BLAS_THREADS_FROM, long_products, row_products, total
from namedgrad.backends.signals import HostSignals
from namedgrad.backends.special import BLOCK, FEW
from namedgrad.backends.windows import HostWindows, Span, without_windows

# glibc returns freed memory to the system at once if it lies at the end of the heap, or belongs to an array of more
# than 32 MB; so a program of large arrays, which are made and dropped with every operation, spends most of its time on
# page faults.  This lets a process keep some (mallopt(3)); elsewhere than with glibc it does nothing.  Measured: 60
# operations on 10,000 elements, 12.3 -> 4.6 us per operation by hand in NumPy, their gradient here 22.9 -> 10.5 us; a
# product of arrays of 34 MB, 5.6 -> 1.8 ms.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def _keep_freed_memory() -> None:
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # no glibc
        return
    if not mallopt(_M_MMAP_THRESHOLD, 256 << 20):
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)  # before 2.35 it took no more
    mallopt(_M_TRIM_THRESHOLD, 512 << 20)


_keep_freed_memory()

SHORT_WINDOW = 8
SHORT_POWERS = (2, 3, 4)
MANY = 10_000  # cells from which on a detour over their bits pays


@functools.cache
def _one(dtype: Any) -> Raw:
    out = np.array(1, dtype)
    out.flags.writeable = False
    return out


class NumpyBackend(
    NumpyAttentionKernels,
    NumpyDistanceKernels,
    HostResampling,
    HostCosine,
    HostCtc,
    HostFourier,
    HostSignals,
    HostWindows,
    NumpyIndex,
    NumpyLinalg,
    NumpyLines,
    NumpyLosses,
    NumpySearch,
    NumpySpecial,
    GapKernels,
    NumpyStatistics,
    Backend,
):
    """Positional functions on :class:`numpy.ndarray`."""

    name = "numpy"
    xp = np
    may_branch = True

    @functools.cached_property
    def special(self) -> Any:
        """:mod:`scipy.special`."""
        import scipy.special

        return scipy.special

    def offers(self, func: Any) -> bool:
        """Everything: also ufuncs of any other package."""
        return True

    def to_numpy(self, x: Raw) -> np.ndarray[Any, Any]:
        """A host copy."""
        return np.array(x)

    def full(self, shape: Shape, value: Any, dtype: Any) -> Raw:
        """A read-only array of one value that occupies one element."""
        return self.broadcast_to(np.array(value, dtype=dtype), shape)

    def one(self, dtype: Any) -> Raw:
        """The number 1, always the same array of a dtype: so :meth:`is_one` knows what is broadcast from it."""
        return _one(dtype)

    def read_only(self, x: Raw) -> Raw:
        """A view that cannot be written into."""
        out = x.view()
        out.flags.writeable = False
        return out

    def is_one(self, x: Raw) -> bool:
        """Whether an array is known to be 1 in every cell."""
        base = getattr(x, "base", None)
        return base is not None and base is _one(x.dtype)

    def broadcast_to(self, x: Raw, shape: Shape) -> Raw:
        """Zero-stride broadcast, several times as fast as :func:`numpy.broadcast_to`, whose cost is all Python."""
        x = np.asarray(x)
        if x.shape == shape:
            return x
        if x.size == math.prod(shape):  # axes of size 1
            return x.reshape(shape)
        if not x.flags.c_contiguous:  # the constructor below wants one block of memory
            return np.broadcast_to(x, shape)
        lead = len(shape) - x.ndim
        strides = tuple(s if n == m else 0 for s, n, m in zip(x.strides, x.shape, shape[lead:], strict=True))
        return np.ndarray(shape, x.dtype, x, 0, (0,) * lead + strides)

    def keepsake(self, x: Raw) -> Raw:
        """A copy in which cells that are repeated stay one: a million zeros, into which some write, cost nothing."""
        if 0 not in x.strides or not x.size:
            return self.copy(x)
        return np.broadcast_to(self.copy(x[tuple(slice(None if step else 1) for step in x.strides)]), x.shape)

    def conjugate_own(self, x: Raw) -> Raw:
        """The conjugate of an array that nobody else has, in place: of a million in 0.2 ms instead of 0.9."""
        return np.conjugate(x, out=x)

    def add_to(self, x: Raw, y: Raw) -> Raw:
        """The sum, in an array that nobody else has."""
        return np.add(x, y, out=x if x.flags.writeable else None)

    def exp10(self, x: Raw) -> Raw:
        """Ten to the power x, three times as fast as SciPy's."""
        return np.power(10.0, x)

    def power(self, x: Raw, y: Raw) -> Raw:
        """Squares, cubes and fourth powers by products, within 2 units of the last place: a million in 0.5 ms, not 2.8.

        Where one leaves the range by NumPy's power, which knows the last number that does not, with its warnings; other
        whole powers by those of positive numbers, as NumPy takes 59 ms for a million of both signs.
        """
        if not is_whole(y) or BITS.get(getattr(x, "dtype", None)) is None:
            return np.power(x, y)
        if y == SHORT_POWERS[0] or x.size < FEW:  # of which NumPy makes products itself, in twice the time
            return np.square(x) if y == SHORT_POWERS[0] else np.power(x, y)
        if y in SHORT_POWERS:
            with np.errstate(all="raise"), contextlib.suppress(FloatingPointError):
                out = np.square(x)
                return np.multiply(out, x if y < SHORT_POWERS[-1] else out, out=out)
        if not np.signbit(x).any():
            return np.power(x, y)
        out = np.power(np.absolute(x), y)
        return np.copysign(out, x, out=out) if y % 2 else out

    def power_slope(self, y: Raw, x: Raw, z: Raw) -> Raw:
        """The slope of such a power from the next lower one."""
        if type(z) not in (int, float) or z not in SHORT_POWERS or BITS.get(x.dtype) is None:
            return super().power_slope(y, x, z)
        out = self.power(x, z - 1)
        return np.multiply(out, z, out=out)

    def modf_whole(self, x: Raw) -> Raw:
        """The second result of ``modf``."""
        return np.trunc(x) if np.asarray(x).dtype.kind == "f" else np.modf(x)[1]

    def modf_fraction(self, x: Raw, whole: Raw) -> Raw:
        """The first result of ``modf``, whose second one is known; both of a million numbers take 2 ms instead of 6."""
        bits = BITS.get(getattr(x, "dtype", None))
        if bits is None or x.size < MANY:
            return np.modf(x)[0]
        with np.errstate(invalid="ignore"):
            out = np.subtract(x, whole, order="C")
        if not self.isfinite_all(out):
            out = np.where(np.isinf(x), x.dtype.type(0), out)
        signs = out.view(bits)
        signs |= np.ascontiguousarray(x).view(bits) & np.iinfo(bits).min  # that of x, also of a 0
        return out

    def frexp_unit(self, x: Raw, mantissa: Raw) -> Raw:
        """By a division, which is exact: a million in 1 ms instead of 5."""
        with np.errstate(all="ignore"):
            out = np.divide(mantissa, x)
        return out if self.isfinite_all(out) else super().frexp_unit(x, mantissa)

    def whole_quotient(self, x: Raw, y: Raw, rest: Raw) -> Raw:
        """From the remainder, where that tells every digit of it: a million in 4 ms instead of 20."""
        if BITS.get(getattr(rest, "dtype", None)) is None or rest.size < MANY or rest.dtype != np.result_type(x, y):
            return np.floor_divide(x, y)
        with np.errstate(all="ignore"):
            out = np.subtract(x, rest)
            np.rint(np.divide(out, y, out=out), out=out)
            if max(out.max(), -out.min()) < 0.25 / np.finfo(out.dtype).eps:
                return np.copysign(out, np.divide(x, y), out=out)  # zeros have a sign
        return np.floor_divide(x, y)  # something is not finite, or too large; with NumPy's warnings

    total: Any = staticmethod(total)  # not np.sum, which takes 1 us to find np.add.reduce

    def isfinite_all(self, x: Raw) -> bool:
        """Whether every element is finite, by one pass without a copy; where that overflows, by a second."""
        if isinstance(x, (float, complex)):
            return cmath.isfinite(x)
        if x.dtype.char in "emM":  # half precision, whose squares overflow in no time, and dates: BLAS knows neither
            return bool(np.isfinite(x).all())
        flags = x.flags
        if flags.c_contiguous or flags.f_contiguous:
            flat = x.T if flags.f_contiguous else x
            if x.size > BLAS_THREADS_FROM:
                return self._isfinite_long(flat.reshape(-1))
            total = np.vdot(flat, flat)  # BLAS: twice as fast as a sum
            if math.isnan(total.real):  # squares add to NaN only if one of them is
                return False
        else:
            if 0 in x.strides and x.size:  # one of the cells that are repeated, as in the gradient of a sum
                x = x[tuple(0 if step == 0 else slice(None) for step in x.strides)]
            with np.errstate(over="ignore", invalid="ignore"):
                total = np.add.reduce(x, axis=None)
        return math.isfinite(total.real) or bool(np.isfinite(x).all())

    def _isfinite_long(self, x: Raw) -> bool:
        """The same in rows that are short enough for one thread."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = long_products(x, x)
        if math.isnan(total.real):
            return False
        return math.isfinite(total.real) or bool(np.isfinite(x).all())

    def select(self, mask: Raw, x: Raw) -> Raw:
        """``x`` where the mask is true, exactly 0 elsewhere; of many cells bit by bit.

        On an irregular mask ``np.where`` waits for mispredicted branches: 3.5 ms for a million cells, this 0.45.  The
        result is laid out as ``x`` is: products of its matrices take 9 ms instead of 14, as no batch becomes innermost.
        """
        bits = BITS.get(getattr(x, "dtype", None))
        if bits is None or np.broadcast(mask, x).size < MANY:
            return super().select(mask, x)
        if x.shape == np.shape(mask) and not (x.flags.c_contiguous or 0 in x.strides):
            turn = np.argsort([-abs(step) for step in x.strides], kind="stable")
            if any(np.diff(turn) < 0):
                return self.select(mask.transpose(turn), x.transpose(turn)).transpose(np.argsort(turn))
        keep = np.negative(np.asarray(mask if 0 in x.strides else np.ascontiguousarray(mask)).view(np.int8))
        if keep.size < x.size:  # else it becomes as wide as x where they meet, in the cache: 0.6 ms less than here
            keep = keep.astype(bits)
        into = keep if keep.shape == x.shape and keep.dtype == bits else None
        return np.bitwise_and(keep, x.view(bits), out=into).view(x.dtype)

    def where(self, mask: Raw, x: Raw, y: Raw) -> Raw:
        """One or the other, as NumPy's; of many cells bit by bit where that waits for mispredicted branches.

        Numbers at a million cells in 0.45 ms instead of 3.5, arrays in 1.5, in single precision 0.25 and 0.55.  Where a
        mask is regular NumPy takes 0.6 ms of any kind, so that doubles are left to it.
        """
        if getattr(mask, "size", 0) < 2 * BLOCK or (bits := _joint_bits(x, y)) is None:
            return np.where(mask, x, y)
        many = [mask, *(v for v in (x, y) if np.size(v) > 1)]
        whole = mask.dtype == bool and all(v.shape == mask.shape and v.flags.c_contiguous for v in many)
        if not whole or (bits is np.int64 and not _is_irregular(mask)):
            return np.where(mask, x, y)
        kind = np.float64 if bits is np.int64 else np.float32
        one, other = (np.asarray(v, kind).view(bits) for v in (x, y))
        keep = np.negative(mask.view(np.int8)).astype(bits)
        np.bitwise_and(keep, np.bitwise_xor(one, other), out=keep)
        return np.bitwise_xor(keep, other, out=keep).view(kind)

    def scale(self, g: Raw, factor: Raw) -> Raw:
        """``g * factor``, repaired only if something in it is not finite."""
        out = np.multiply(g, factor)
        return out if self.isfinite_all(out) else super().scale(g, factor)

    def product_times(self, x: Raw, y: Raw, number: float) -> Raw:
        """In one pass over memory: of eight million in 7.6 ms instead of 8.5, of a million in as much as two take."""
        return _times(np.multiply, x, y, number)

    def quotient_times(self, x: Raw, y: Raw, number: float) -> Raw:
        """In one pass over memory."""
        return _times(np.divide, x, y, number)

    def minus_squares(self, g: Raw, y: Raw) -> Raw:
        """In one pass over memory."""

        def some(g: Raw, y: Raw, to: Raw) -> None:
            np.negative(np.multiply(np.multiply(g, y, out=to), y, out=to), out=to)

        out = _at_once(some, g, y)
        return super().minus_squares(g, y) if out is None else out

    def square_and_one_times(self, g: Raw, y: Raw) -> Raw:
        """``g (1 + y**2)`` in one array."""
        out = np.square(y)
        np.add(out, 1, out=out)
        alike = isinstance(g, np.ndarray) and (g.shape, g.dtype) == (out.shape, out.dtype)
        return np.multiply(out, g, out=out if alike else None)

    def minus_share(self, g: Raw, x: Raw, y: Raw) -> Raw:
        """In one pass over memory: of eight million in 10 ms instead of 17."""

        def some(g: Raw, x: Raw, y: Raw, to: Raw) -> None:
            np.negative(np.multiply(np.divide(g, y, out=to), x, out=to), out=to)

        out = _at_once(some, g, x, y)
        return super().minus_share(g, x, y) if out is None else out

    def quotient_tangent(self, t: Raw, u: Raw, x: Raw, y: Raw) -> Raw:
        """In one pass over memory: with the quotients of a million in 1.9 ms instead of 3.1."""
        out = _at_once(_quotient_tangent, t, u, x, y, spare=True)
        return super().quotient_tangent(t, u, x, y) if out is None else out

    def minus_quotient(self, x: Raw, y: Raw) -> Raw:
        """In one pass over memory: of a million in 0.6 ms instead of 0.8, of eight million in 7.4 instead of 10.5.

        The sign is that of the fewer cells: a matrix by a row takes as long as the quotient alone.
        """
        if np.size(x) <= BLOCK or np.size(y) < np.size(x):
            return np.divide(x, np.negative(y))
        out = _at_once(lambda x, y, to: np.negative(np.divide(x, y, out=to), out=to), x, y)
        return np.negative(np.divide(x, y)) if out is None else out

    def modulus_squared(self, z: Raw) -> Raw:
        """As many cells at a time as the cache holds."""
        if np.size(z) <= BLOCK or not z.flags.c_contiguous:
            return super().modulus_squared(z)
        out = np.empty(z.shape, z.real.dtype)
        for cells, to in blocks(z, out):
            np.add(np.square(cells.real, out=to), np.square(cells.imag), out=to)
        return out

    def twice_conjugate(self, z: Raw) -> Raw:
        """In one pass over memory."""
        out = _at_once(lambda z, to: np.conjugate(np.multiply(z, 2, out=to), out=to), z)
        return super().twice_conjugate(z) if out is None else out

    def from_imag(self, x: Raw) -> Raw:
        """Both parts of as many cells at a time as the cache holds: of a million in 2.8 ms instead of 4."""
        if np.size(x) <= BLOCK or not x.flags.c_contiguous:
            return super().from_imag(x)
        out = np.empty(x.shape, np.result_type(x, np.complex64))
        for cells, to in blocks(x, out):
            to.fill(0)
            np.negative(cells, out=to.imag)
        return out

    def sum_of_products(self, *factors: Raw) -> Raw:
        """In two arrays for all products: samples of 16 images at 65,536 positions take 15 ms instead of 19."""
        pairs = [*zip(factors[::2], factors[1::2], strict=True)]
        if len(pairs) == 2 and (once := _at_once(_two_products, *factors, spare=True)) is not None:
            return once
        ((shape, _), *others) = {(np.broadcast(*p).shape, np.result_type(*p)) for p in pairs}
        if others or not shape:
            return super().sum_of_products(*factors)
        out, spare = np.multiply(*pairs[0]), None
        for pair in pairs[1:]:
            spare = np.multiply(*pair, out=spare)
            np.add(out, spare, out=out)
        return out

    def guarded_matmul(self, x: Raw, y: Raw) -> Raw:
        """Where cotangents are not finite either, a product counts for nothing if one of its two numbers is 0."""
        if self.isfinite_all(x):
            return super().guarded_matmul(x, y)
        known = np.isfinite(x), np.isfinite(y)
        finite = [self.select(k, a) for k, a in zip(known, (x, y), strict=True)]
        signs = [self.select(~np.isnan(a), np.sign(a).real).astype(np.float32) for a in (x, y)]
        first = (~known[0]).astype(np.float32), np.not_equal(y, 0).astype(np.float32)
        second = np.not_equal(finite[0], 0).astype(np.float32), (~known[1]).astype(np.float32)
        hits = np.matmul(*first) + np.matmul(*second)
        balance = np.matmul(first[0] * signs[0], signs[1]) + np.matmul(second[0] * signs[0], second[1] * signs[1])
        out = np.matmul(*finite)
        whole = np.equal(np.absolute(balance), hits) & (out.dtype.kind != "c")
        added = np.where(whole, np.copysign(np.float32(math.inf), balance), np.float32(math.nan))
        return np.add(out, self.select(np.not_equal(hits, 0), added).astype(out.dtype))

    def divide_by_real(self, z: Raw, r: Raw) -> Raw:
        """Part by part, which is no division of complex numbers: a million in 5 ms instead of 20."""
        out = np.empty(np.broadcast_shapes(np.shape(z), np.shape(r)), np.result_type(z, r))
        np.divide(np.real(z), r, out=out.real)
        np.divide(np.imag(z), r, out=out.imag)
        return out

    def contract(self, x: Raw, y: Raw, plan: MatmulPlan, *, guard: bool = False) -> Raw:
        """A named contraction, guarded only if something in it is not finite."""
        b, m, k, n = plan.counts
        if (b, k, m + n) == (0, 1, 1):
            out = _matrix_times_vector(x, y, plan)
        elif (m or n) and x.size < LEAST_CELLS > y.size:  # no detour is worth it
            out = super().contract(x, y, plan)
        else:
            rows = k and not (m or n) and plan.perms == (None, None) and plan.back is None
            out = row_products(x, y, b) if rows else contract_windows(x, y, plan)
        if out is None and is_strewn_matrix(x, y, plan):
            out = self.einsum(x, plan.numbers[0], y, plan.numbers[1], plan.numbers[2])
        if out is None:
            plan = in_memory_order(x, y, plan)
            out = super().contract(x, y, plan)
        return super().contract(x, y, plan, guard=True) if guard and not self.isfinite_all(out) else out

    def windows(self, x: Raw, axis: tuple[int, ...], spans: tuple[Span, ...]) -> Raw:
        """The cells of every window: a view, of a padded copy where cells are missing."""
        return _windows(self._extended(x, axis, spans), axis, spans, writeable=False)

    def overlap_add(self, g: Raw, axis: tuple[int, ...], spans: tuple[Span, ...], sizes: Shape) -> Raw:
        """The transpose of :meth:`windows`; of windows that share no cell by one copy: 1.0 ms instead of 1.8.

        Where a run of ``g`` goes to cells in steps, all that are at one offset are copied together, as NumPy's copies
        would start anew for every window: a million cells to windows of 2 x 2 take 0.5 ms instead of 2.3. Of long
        windows that is another pass over memory for each offset; these are written in order.
        """
        inside = all(s.disjoint and not s.before and s.reach <= n for s, n in zip(spans, sizes, strict=True))
        if not inside or 0 in g.shape:
            return super().overlap_add(g, axis, spans, sizes)
        shape = without_windows(g, axis, sizes)
        run = innermost(g)
        along = len(shape) + axis.index(run) if run in axis else -1
        short = along >= 0 and g.shape[along] <= SHORT_WINDOW
        like = g[(..., *(0,) * len(axis))] if short or along < 0 else np.empty(0, g.dtype)
        out = self._empty_as(like, shape, zeros=math.prod(shape) > g.size)
        windows = _windows(out, axis, spans, writeable=True)
        for to, part in _by_offset(windows, g, along) if short else [(windows, g)]:
            to[...] = part
        return out

    # ---------------------------------------------------------------- movement along one axis

    def part(self, x: Raw, at: Any) -> Raw:
        """A part that shows no memory of the whole, in a program that writes over that."""
        return x[at].copy("K")

    def plus_part(self, whole: Raw, part: Raw, *, axis: int, index: slice | int, out: Raw | None = None) -> Raw:
        """An array and what :meth:`uncut` would make of a part, in a program."""
        out = whole.copy("K") if out is None else out
        out[(slice(None),) * axis + (index,)] += part
        return out

    def write_block(self, x: Raw, v: Raw, index: tuple[Any, ...], how: str, out: Raw | None = None) -> Raw:
        """In place where a program has no more use for ``x``."""
        if out is None:
            return super().write_block(x, v, index, how)
        if how == "add":
            out[index] += v
        else:
            out[index] = v
        return out

    def replace(self, x: Raw, v: Raw, index: tuple[Any, ...], how: str) -> Raw:
        """What was there, of an array that is written in place; an error, as of an overflow, leaves that there."""
        before = x[index].copy()
        try:
            self.write_block(x, v, index, how, out=x)
        except BaseException:
            x[index] = before
            raise
        return before

    def uncut(self, g: Raw, axis: int, index: slice | int, size: int) -> Raw:
        """The transpose of a cut; beside a run of cells zeros are written, not beneath it: 0.6 ms instead of 0.9."""
        if not isinstance(index, slice) or (run := index.indices(size))[2] != 1:
            return super().uncut(g, axis, index, size)
        start, stop = run[0], run[0] + g.shape[axis]
        out = np.empty((*g.shape[:axis], size, *g.shape[axis + 1 :]), g.dtype)
        for part, value in ((slice(start), 0), (slice(start, stop), g), (slice(stop, None), 0)):
            self.cut(out, axis, part)[...] = value
        return out


def _at_once(formula: Callable[..., Any], *arrays: Raw, spare: bool = False) -> Raw | None:
    """What a formula writes into its last operand, or that before a ``spare`` one, of the cells that the cache holds.

    None of few cells, and of arrays that are not alike.
    """
    if not all(isinstance(a, np.ndarray) and a.flags.c_contiguous for a in arrays):
        return None
    first = arrays[0]
    if first.size <= BLOCK or any((a.shape, a.dtype) != (first.shape, first.dtype) for a in arrays):
        return None
    out, more = np.empty_like(first, subok=False), np.empty(SWEEP if spare else 0, first.dtype)
    for some in blocks(*arrays, out):
        formula(*some, *([more[: some[0].size]] if spare else []))
    return out


def is_whole(y: Any) -> bool:
    """Whether an exponent is a whole number of Python's, of which powers are made otherwise than NumPy does."""
    return type(y) in (int, float) and not y % 1 and abs(y) >= SHORT_POWERS[0]


def _joint_bits(x: Raw, y: Raw) -> Any:
    """The integers of the size of two arrays of one kind of floats, or numbers of Python's in place of one or both."""
    kinds = {getattr(v, "dtype", None) for v in (x, y) if type(v) not in (int, float)}
    if not kinds and float in (type(x), type(y)):
        return BITS[np.dtype(np.float64)]
    return BITS.get(kinds.pop()) if len(kinds) == 1 else None


def _is_irregular(mask: Raw) -> bool:
    """Whether of some cells in its middle every fourth differs from the one before."""
    some = mask.reshape(-1)[mask.size // 2 :][: MANY // 2]
    return bool(4 * np.count_nonzero(some[1:] != some[:-1]) > some.size)


def _two_products(x: Raw, y: Raw, z: Raw, w: Raw, *into: Raw) -> None:
    to, spare = into
    np.add(np.multiply(x, y, out=to), np.multiply(z, w, out=spare), out=to)


def _quotient_tangent(t: Raw, u: Raw, x: Raw, y: Raw, *into: Raw) -> None:
    to, spare = into
    np.multiply(np.divide(u, y, out=spare), x, out=spare)
    np.subtract(np.divide(t, y, out=to), spare, out=to)


def _times(combine: np.ufunc, x: Raw, y: Raw, number: float) -> Raw:
    """Combined, times a number; of the gradient of a sum or mean, one number in every cell, that is done first."""
    if isinstance(x, np.ndarray) and x.shape and x.shape == np.shape(y) and not any(x.strides):
        return combine(x[(0,) * x.ndim] * number, y)
    out = _at_once(lambda x, y, to: np.multiply(combine(x, y, out=to), number, out=to), x, y)
    return np.multiply(combine(x, y), number) if out is None else out


def _matrix_times_vector(x: Raw, y: Raw, plan: MatmulPlan) -> Raw | None:
    """Without the detours of larger products, which took as long as that of a million cells; of one block of memory."""
    matrix, vector, numbers = (x, y, plan.numbers[0]) if x.ndim == 2 else (y, x, plan.numbers[1])
    if not (matrix.flags.c_contiguous or matrix.flags.f_contiguous):
        return contract_windows(x, y, plan)
    return np.dot(matrix if numbers[0] == plan.numbers[2][0] else matrix.T, vector)


def _by_offset(windows: Raw, g: Raw, along: int) -> Iterator[tuple[Raw, Raw]]:
    """The windows' cells at each offset, and what goes there."""
    return zip(*(np.moveaxis(a, along, 0) for a in (windows, g)), strict=True)


def _windows(x: Raw, axis: tuple[int, ...], spans: tuple[Span, ...], *, writeable: bool) -> Raw:
    """A view of windows that lie inside."""
    shape, strides = list(x.shape), list(x.strides)
    for a, s in zip(axis, spans, strict=True):
        shape[a] = s.number
        shape.append(s.size)
        strides.append(strides[a] * s.dilation)
        strides[a] *= s.stride
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=writeable)
