"""The CuPy backend: NumPy's functions on a GPU, with nothing that waits for the device or copies to it unasked.

Integer positions that are CuPy arrays themselves cannot be checked without waiting for them: as everywhere in CuPy,
those out of range wrap around.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad.axes import MatmulPlan
from namedgrad.backends.base import Backend, Raw, Shape
from namedgrad.backends.cupy_linalg import CupyLinalg
from namedgrad.backends.cupy_special import CupySpecial, NoFunctions

# What ``add.at`` does not take is accumulated in one of the dtypes that it does.
_WIDER = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}
_SUMMED = {"float32", "float64", "complex64", "complex128"}
MANY_SUMS = 1 << 10  # from here on each may be left to a few threads
_EXTREME = {"maximum": 1.0, "minimum": -1.0}  # the sign of the NaN that is beyond all numbers
_BITS = {"float32": np.dtype("int32"), "float64": np.dtype("int64")}


def _ordered(x: Raw, dtype: Any) -> Raw:
    """Floats as integers in the same order, or these as floats: those below 0 count from the other end."""
    bits = x.view(_BITS.get(x.dtype.name, x.dtype))
    return (bits ^ ((bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max)).view(dtype)


@functools.cache
def _guarded_product(xp: Any) -> Callable[[Raw, Raw, Raw], Raw] | None:
    """A product that is 0 where a factor is, as one kernel; None where no kernels can be made."""
    make = getattr(xp, "ElementwiseKernel", None)
    body = "out = x == X(0) || y == Y(0) ? T(0) : T(T(x) * T(y))"
    return None if make is None else make("X x, Y y", "T out", body, "namedgrad_guarded_product")


@functools.cache
def _sum_of_products(xp: Any) -> Callable[..., Raw]:
    """The sum over axes of a product, as one kernel where kernels can be made."""
    make = getattr(xp, "ReductionKernel", None)
    if make is None:
        return lambda x, y, axis: xp.sum(xp.multiply(x, y), axis=axis)
    kernel: Callable[..., Raw] = make("T x, T y", "T out", "x * y", "a + b", "out = a", "0", "namedgrad_products")
    return kernel


def _plain(x: Raw) -> Raw:
    """What a 0-d NumPy array holds, and an integer of a class of its own as an ``int``."""
    if type(x) is np.ndarray:
        return x[()]
    return int(x) if isinstance(x, int) and type(x) is not bool else x


@functools.cache
def _of_plain(kernel: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function that gives scalars as the plain ones; the same one each time, by which recordings are compared."""

    def function(*raw: Raw, **kwargs: Any) -> Raw:
        return kernel(*map(_plain, raw), **kwargs)

    function.__name__ = name  # by which a recording knows it
    return function


class CupyBackend(CupySpecial, CupyLinalg, Backend):
    """Positional functions on ``cupy.ndarray``."""

    name = "cupy"
    meets_host = defers = False

    @property
    def xp(self) -> Any:
        """The module, imported when its arrays are met or asked for."""
        try:
            import cupy
        except ImportError as error:
            raise ImportError("the backend 'cupy' needs CuPy: pip install 'namedgrad[cupy]'") from error
        return cupy

    @property
    def special(self) -> Any:
        """``cupyx.scipy.special``, or nothing."""
        try:
            import cupyx.scipy.special
        except ImportError:
            return NoFunctions()
        return cupyx.scipy.special

    def function(self, name: str) -> Callable[..., Any]:
        """The function called ``name``; scalars are given as the plain ones, since CuPy refuses all others."""
        return _of_plain(super().function(name), name)

    # ---------------------------------------------------------------- creation and transfer

    def indices(self, index: Raw) -> Raw:
        """Host positions copied to the device, once, when they are given."""
        return index if isinstance(index, self.xp.ndarray) else self.asarray(index)

    def to_numpy(self, x: Raw) -> np.ndarray[Any, Any]:
        """A host copy."""
        return x.get()

    def all_to_numpy(self, xs: Sequence[Raw]) -> list[np.ndarray[Any, Any]]:
        """Host copies of several arrays; those of one dtype by one transfer, for which the host waits once."""
        if len(xs) < 2 or len({x.dtype for x in xs}) > 1:
            return super().all_to_numpy(xs)
        flat = self.to_numpy(self.xp.concatenate([self.xp.ravel(x) for x in xs]))
        ends = np.cumsum([x.size for x in xs])
        return [part.reshape(x.shape) for part, x in zip(np.split(flat, ends[:-1]), xs, strict=True)]

    def broadcast_to(self, x: Raw, shape: Shape) -> Raw:
        """Zero-stride broadcast; a scalar gets to the device as the argument of a kernel."""
        xp = self.xp
        return xp.broadcast_to(x if isinstance(x, xp.ndarray) else xp.full((), x, dtype=np.asarray(x).dtype), shape)

    # ---------------------------------------------------------------- where CuPy differs from NumPy

    def where(self, mask: Raw, x: Raw, y: Raw) -> Raw:
        """``x`` where the mask is true, else ``y``; the mask may be a scalar."""
        return self.xp.where(self._mask(mask), x, y)

    def select(self, mask: Raw, x: Raw) -> Raw:
        """``x`` where the mask is true, exactly 0 elsewhere; the mask may be a scalar."""
        return super().select(self._mask(mask), x)

    def _mask(self, mask: Raw) -> Raw:
        return mask if isinstance(mask, self.xp.ndarray) else self.full((), bool(mask), bool)

    def scale(self, g: Raw, factor: Raw) -> Raw:
        """``g * factor``, guarded; of arrays by one kernel instead of five."""
        xp, product = self.xp, _guarded_product(self.xp)
        if product is None or not (isinstance(g, xp.ndarray) and isinstance(factor, xp.ndarray)):
            return super().scale(g, factor)
        shape, dtype = np.broadcast_shapes(g.shape, factor.shape), np.result_type(g.dtype, factor.dtype)
        return product(g, factor, xp.empty(shape, dtype))

    def contract(self, x: Raw, y: Raw, plan: MatmulPlan, *, guard: bool = False) -> Raw:
        """Many inner products by one kernel: CuPy multiplies as many pairs of matrices of one row."""
        (xs, ys, out), dtype = plan.numbers, np.result_type(x, y)
        batch, *more = plan.counts
        sums = math.prod(n for n, i in zip(x.shape, xs, strict=True) if i in out)
        if guard or not batch or more[0] or more[2] or sums < MANY_SUMS or dtype.name not in _SUMMED:
            return super().contract(x, y, plan, guard=guard)
        x, y = (v if v.dtype == dtype else v.astype(dtype) for v in (x, self.transpose(y, tuple(map(ys.index, xs)))))
        found = _sum_of_products(self.xp)(x, y, axis=tuple(k for k, i in enumerate(xs) if i not in out))
        return self.transpose(found, tuple(map([i for i in xs if i in out].index, out)))

    def take(self, x: Raw, index: Raw, axis: int) -> Raw:
        """Positions of one axis; a single one may be of the host."""
        return super().take(x, _plain(index), axis)

    def combine_at(self, how: str, out: Raw, at: Raw, g: Raw) -> None:
        """Accumulate in place; complex numbers part by part, small integers in wider ones, extremes as integers."""
        if out.dtype.kind == "c":
            self.combine_at(how, out.real, at, g.real)
            self.combine_at(how, out.imag, at, g.imag)
        elif out.dtype.name in _WIDER:
            wide = out.astype(_WIDER[out.dtype.name])
            getattr(self.xp, how).at(wide, at, g.astype(wide.dtype))
            out[...] = wide.astype(out.dtype)
        elif how in _EXTREME and out.dtype.kind == "f":
            self._extreme_at(how, out, at, g)
        else:
            getattr(self.xp, how).at(out, at, g)

    def _extreme_at(self, how: str, out: Raw, at: Raw, g: Raw) -> None:
        """Extremes of floats as those of integers: CuPy takes these of float64 in float32, and passes over NaN."""
        kind = np.promote_types(out.dtype, np.float32)  # there are no half integers
        nan = kind.type(np.copysign(np.nan, _EXTREME[how]))
        whole = [self.xp.where(self.xp.isnan(x), nan, x.astype(kind)) for x in (out, g)]
        keys, others = (_ordered(x, _BITS[kind.name]) for x in whole)
        getattr(self.xp, how).at(keys, at, others)
        out[...] = _ordered(keys, kind)

    def accumulate(self, how: str, out: Raw, g: Raw, index: Sequence[Raw], *, shared: int, tail: int) -> Raw:
        """CuPy has no product at positions: running products of sorted runs, whose last cells are put in place."""
        if how != "multiply":
            return super().accumulate(how, out, g, index, shared=shared, tail=tail)
        xp = self.xp
        at = self.places(index, out.shape, out.ndim - len(index) - tail, shared, tail)
        _, key, value = self._sorted(self.reshape(xp.broadcast_to(at, g.shape), (-1,)), self.reshape(g, (-1,)))
        running = self._running(key, value, self.longest_run(index, shared))
        last = xp.concatenate([key[1:] != key[:-1], xp.ones(min(1, key.shape[0]), bool)])
        found = xp.zeros(out.size, out.dtype)
        self.combine_at("add", found, key, self.select(last, running))
        hit = xp.zeros(out.size, "int32")
        self.combine_at("add", hit, key, last.astype("int32"))
        return out * self.reshape(xp.where(hit > 0, found, xp.ones(1, out.dtype)), out.shape)
