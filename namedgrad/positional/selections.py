"""``x[mask]`` whose number of cells is left open: it differs from slice to slice, or depends on a value of another run.

A selection holds all cells and the mask.  What is done to it is done to all cells, and where it ends, in a reduction or
in a write under the same mask, those count for which the mask is true.  So ``y[y < 0] = -y[y < 0]`` and ``x[m].mean()``
are what they are for one slice, and what would need the number of cells is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, TraceError
from namedgrad.ops import add_face, dispatch
from namedgrad.positional.array import PositionalArray, wrap
from namedgrad.positional.operands import unwrap
from namedgrad.primitive import Operation
from namedgrad.rules.reductions import all as all_of
from namedgrad.rules.reductions import any as any_of
from namedgrad.rules.structure import equal, reorder

INSTEAD = "use np.where(mask, x, fill) or x * mask, which keep the shape"


class Selection(np.lib.mixins.NDArrayOperatorsMixin):
    """The cells of an array for which a mask is true, in an unknown number, along one axis in front."""

    __slots__ = ("cells", "mask")
    __namedgrad_operand__ = True  # DimArray's operators leave the answer to this class
    __hash__ = None  # type: ignore[assignment]  # == is elementwise

    cells: Any  #: all of them, the axes of the mask in front
    mask: PositionalArray

    def __init__(self, cells: Any, mask: PositionalArray) -> None:
        self.cells, self.mask = cells if isinstance(cells, PositionalArray) else wrap(unwrap(cells)), mask

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the cells."""
        return self.cells.dtype

    @property
    def ndim(self) -> int:
        """Number of axes: one for those of the mask."""
        return self.cells.ndim - self.mask.ndim + 1

    @property
    def size(self) -> Any:
        """How many cells each slice has."""
        return _size(self)

    def copy(self) -> Selection:
        """The same cells; what is written into one is not seen in the other."""
        return Selection(self.cells, self.mask)

    def astype(self, dtype: Any, **options: Any) -> Selection:
        """The cells in another dtype."""
        if options.pop("copy", True) is False and self.dtype == np.dtype(dtype):
            return self
        return Selection(self.cells.astype(dtype, **options), self.mask)

    def __getitem__(self, key: Any) -> Selection:
        if isinstance(key, Selection) and key.dtype.kind == "b" and key.ndim == 1:
            if same_mask(self.mask._x, key.mask._x):
                return Selection(self.cells, np.logical_and(self.mask, key.cells))
            raise self.refused("a mask of other cells")
        if key is Ellipsis or (isinstance(key, slice) and key == slice(None)):
            return self
        raise self.refused("an index")

    def __setitem__(self, key: Any, value: Any) -> None:
        if value is not self:  # which v[...] += 1 has written already
            if self.dtype.kind != "c" and not np.ndim(value) and np.iscomplexobj(value):
                raise TypeError("a complex number cannot be written into real cells; use np.real(value)")
            chosen = self[key]
            self.hold(np.where(chosen.counted(), chosen.beside(value), self.cells))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise self.refused("a plain array")

    def __len__(self) -> int:
        raise self.refused("its length")

    def __iter__(self) -> Any:
        raise self.refused("a loop over it")

    def __bool__(self) -> bool:
        raise self.refused("its truth value")

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def __float__(self) -> float:
        raise self.refused("a number")

    __int__ = __index__ = __complex__ = __float__

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Selection:
        """As :func:`numpy.clip`, of which either bound may be left away."""
        return np.clip(self, min, max, out)

    @property
    def real(self) -> Selection:
        """The real parts."""
        return np.real(self)

    @property
    def imag(self) -> Selection:
        """The imaginary parts."""
        return np.imag(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"cells that a mask chooses have no attribute {name!r}")
        raise self.refused(f".{name}")

    def __repr__(self) -> str:
        return f"<cells chosen by a mask of shape {self.mask.shape} from {self.cells!r}>"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if method == "reduce" and ufunc in _REDUCE:
            return self.__array_function__(_REDUCE[ufunc], (), inputs, {"axis": 0, **kwargs})
        if ufunc is np.matmul and not kwargs and out is None:
            return self.__array_function__(np.matmul, (), inputs, {})
        if method == "at" and isinstance(inputs[0], PositionalArray):  # a mask names no cell twice
            inputs[0][inputs[1]] = ufunc(inputs[0][inputs[1]], inputs[2])
            return None
        if method != "__call__" or ufunc.signature is not None or kwargs or (out is not None and len(out) > 1):
            raise self.refused(f"np.{ufunc.__name__}")
        return self.done(ufunc, *inputs, out=None if out is None else out[0])

    def __array_function__(self, func: Any, _: Any, args: Any, kwargs: Any) -> Any:
        if func in _ELEMENTWISE:
            at = _OUT_AT.get(func, len(args))
            return self.done(func, *args[:at], **kwargs, **({"out": args[at]} if at < len(args) else {}))
        if func in _FUNCTIONS and isinstance(args[0], Selection):
            return _FUNCTIONS[func](*args, **kwargs)
        raise self.refused(f"np.{func.__name__}")

    # ---------------------------------------------------------------- what operations are made of

    def done(self, func: Callable[..., Any], *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """What a function makes of each cell; of those that are not chosen it warns of nothing."""
        if kwargs.get("shape") is not None:
            raise self.refused("shape=")
        met = [self.beside(a) for a in args]
        options = {k: self.beside(a) for k, a in kwargs.items()}
        with np.errstate(all="ignore"):
            found = func(*met, **options)
        if isinstance(found, tuple):
            return tuple(Selection(f, self.mask) for f in found)
        if out is None:
            return Selection(found, self.mask)
        if not isinstance(out, Selection):
            raise self.refused("out=")
        out.beside(self)
        if not np.can_cast(found.dtype, out.dtype, "same_kind"):
            raise TypeError(f"the result of {func.__name__} is {found.dtype}, which cells of {out.dtype} cannot hold")
        return out.hold(found)

    def hold(self, cells: Any) -> Selection:
        """Other cells in place of these, as they are written into them."""
        if cells.shape != self.cells.shape:
            raise ValueError(f"cells of shape {cells.shape} do not fit into those of shape {self.cells.shape}")
        self.cells = cells.astype(self.dtype)
        return self

    def beside(self, value: Any) -> Any:
        """An operand as it stands beside all cells: cells of the same choice, or what is one for all of them."""
        if isinstance(value, Selection):
            if value.ndim != self.ndim or not same_mask(self.mask._x, value.mask._x):
                raise self.refused("what meets cells of another choice")
            return value.cells
        if np.ndim(value) == self.ndim and np.shape(value)[0] == 1:
            return value[0]
        if np.ndim(value) >= self.ndim:
            raise self.refused("what meets an array")
        return value

    def counted(self) -> Any:
        """The mask, as it stands beside all cells."""
        after = self.cells.ndim - self.mask.ndim
        return np.broadcast_to(self.mask[(..., *(None,) * after)], self.cells.shape) if after else self.mask

    def filled(self, value: Any) -> Any:
        """All cells, those that are not chosen with a value."""
        return np.where(self.counted(), self.cells, value)

    def axes_of(self, axis: Any, what: str) -> Any:
        """The axes of all cells over which a reduction goes that takes those that the mask chooses."""
        if axis is None or (self.ndim == 1 and axis == -1):
            return None
        if axis in (0, -self.ndim, (0,)):
            return tuple(range(self.mask.ndim))
        raise self.refused(f"{what} along another axis")

    def refused(self, what: str) -> TraceError:
        """The error of what needs more than the cells."""
        return TraceError(
            f"how many cells a mask of shape {self.mask.shape} chooses depends on values, one per slice, and {what} "
            f"needs their number or places; {INSTEAD}"
        )


def same_mask(a: DimArray, b: DimArray) -> bool:
    """Whether two masks are true in the same places, also in other runs of a program that is being recorded."""
    if a.sizes != b.sizes or set(a.names) != set(b.names):
        return False
    b = reorder(b, a.names)
    if backends.alike(a.raw, b.raw):
        return True
    waits = backends.backend_of(a.raw).name == "cupy" and not backends.is_recording()
    return waits and bool(all_of(equal(a.devectorize(), b.devectorize())))


# ------------------------------------------------------------------------------------------------ p[mask]


def selection(p: PositionalArray, key: Any) -> Selection | None:
    """``p[key]`` for an array of truth values over the leading axes that are left, behind positions."""
    p, mask = _leading(p, key)  # both may be written into later
    return None if mask is None else Selection(wrap(p._x, p.kin), wrap(mask._x))


def write_selection(p: PositionalArray, key: Any, value: Selection) -> None:
    """``p[key] = value`` where the key is the mask of the selection."""
    if isinstance(key, PositionalArray) and not key.ndim:  # one truth value, which adds an axis
        spread = p[None].copy()
        write_selection(spread, key[None], value)
        p[...] = spread[0]
        return
    p, mask = _leading(p, key)
    if mask is None or not same_mask(mask._x, value.mask._x):
        raise value.refused("a write elsewhere")
    if value.ndim != p.ndim - mask.ndim + 1 or np.broadcast_shapes(value.cells.shape, p.shape) != p.shape:
        raise ValueError(f"cells of shape {value.cells.shape} do not fit into those of shape {p.shape}")
    p[...] = np.where(Selection(p, mask).counted(), value.cells, p)


def _leading(p: PositionalArray, key: Any) -> tuple[PositionalArray, PositionalArray | None]:
    """The array in which a mask chooses, and the mask; None if the key is another."""
    before = list(key) if isinstance(key, tuple) else [key]
    axes = sum(k is not Ellipsis for k in before)
    while len(before) > 1 and (before[-1] is Ellipsis or (isinstance(before[-1], slice) and before[-1] == slice(None))):
        before.pop()
    mask = before.pop()
    if not isinstance(mask, PositionalArray) or mask.dtype.kind != "b" or not mask.ndim:
        return p, None
    if not all(isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in before):
        return p, None
    if axes - 1 + mask.ndim > p.ndim:
        raise IndexError(f"too many indices for an array of shape {p.shape}")
    p = p[tuple(before)] if before else p
    return p, mask if p.shape[: mask.ndim] == mask.shape else None


# ------------------------------------------------------------------------------------------------ functions


def _over(func: Any) -> Callable[..., Any]:
    """A reduction that takes the mask as ``where=``."""

    def function(v: Selection, axis: Any = None, *args: Any, where: Any = True, **options: Any) -> Any:
        if options.get("keepdims") and v.mask.ndim > 1:
            raise v.refused("keepdims=")
        of = v.counted() if where is True else np.logical_and(v.counted(), v.beside(where))
        return func(v.cells, v.axes_of(axis, f"np.{func.__name__}"), *args, where=of, **options)

    return function


def _extreme(func: Any, end: str) -> Callable[..., Any]:
    """An extreme, which of no cells is an error where that may be seen, else NaN."""
    over = _over(func)

    def function(v: Selection, axis: Any = None, **options: Any) -> Any:
        if "initial" in options or "where" in options:
            return over(v, axis, **options)
        some = all_of(any_of(v.mask._x).devectorize())
        looked = backends.may_look(some.raw)
        if looked and not some:
            raise ValueError(f"np.{func.__name__}: in one of the slices the mask chooses no cells; give initial=")
        if v.dtype.kind not in ("biuf" if looked else "f"):
            raise v.refused(f"np.{func.__name__} of {v.dtype} without initial=")
        found = over(v, axis, initial=_outermost(v.dtype, end), **options)
        return found if looked else np.where(np.any(v.mask), found, np.nan)

    return function


def _outermost(dtype: np.dtype[Any], end: str) -> Any:
    """The number of a dtype that no cell lies beyond, at the end ``"min"`` or ``"max"``."""
    if dtype.kind == "f":
        return np.inf if end == "max" else -np.inf
    return end == "max" if dtype.kind == "b" else getattr(np.iinfo(dtype), end)


def _quantile(func: Any, of_others: Any) -> Callable[..., Any]:
    """A quantile by its like that leaves NaN out, which those cells get that are not chosen."""

    def function(v: Selection, q: Any, axis: Any = None, **options: Any) -> Any:
        return _others(v, f"np.{func.__name__}", axis, lambda a, axis: of_others(a, q, axis=axis, **options))

    return function


def _median(v: Selection, axis: Any = None, **options: Any) -> Any:
    return _others(v, "np.median", axis, lambda a, axis: np.nanmedian(a, axis, **options))


def _others(v: Selection, what: str, axis: Any, of_others: Callable[[Any, Any], Any]) -> Any:
    axis = v.axes_of(axis, what)
    missing = np.any(np.isnan(v.cells), axis=axis, where=v.counted())
    return np.where(missing, np.nan, of_others(v.filled(np.nan), axis))


def _product(func: Any) -> Callable[..., Any]:
    """A product that sums over the cells of two selections, or over what each cell of one has."""

    def function(v: Selection, w: Any) -> Any:
        if isinstance(w, Selection):
            if v.ndim == w.ndim == 1:
                return np.sum(v * w)
        elif not np.ndim(w):
            return v.done(func, v, w)
        elif v.ndim > 1 and np.ndim(w) < 3:
            return Selection(func(v.filled(0), w), v.mask)
        raise v.refused(f"np.{func.__name__}")

    return function


def _vdot(v: Selection, w: Any) -> Any:
    if not isinstance(w, Selection):
        raise v.refused("np.vdot")
    return np.sum(np.conj(v) * w)


def _average(v: Any, axis: Any = None, weights: Any = None, returned: bool = False, **options: Any) -> Any:
    weights = (1.0 if weights is None else weights) * np.ones_like(v)
    total = np.sum(weights, axis, **options)
    found = np.sum(v * weights, axis, **options) / total
    return (found, total) if returned else found


def _size(v: Selection, axis: Any = None) -> Any:
    return np.sum(v.counted() if v.axes_of(axis, "np.size") is None else v.mask)


def _nan_to_num(v: Selection, copy: bool = True, **options: Any) -> Any:
    return v.done(np.nan_to_num, v, **options, out=None if copy else v)


_ELEMENTWISE = {
    np.clip, np.where, np.imag, np.angle, np.round, np.around, np.sinc, np.isclose, np.copy,
    np.zeros_like, np.ones_like, np.full_like, np.empty_like,
}  # fmt: skip
_OUT_AT = {np.clip: 3, np.round: 2, np.around: 2}  # where they take out= by place
_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _over(np.sum), np.prod: _over(np.prod), np.mean: _over(np.mean), np.var: _over(np.var),
    np.std: _over(np.std), np.any: _over(np.any), np.all: _over(np.all), np.nansum: _over(np.nansum),
    np.nanmean: _over(np.nanmean),
    np.max: _extreme(np.max, "min"), np.min: _extreme(np.min, "max"),
    np.amax: _extreme(np.max, "min"), np.amin: _extreme(np.min, "max"),
    np.ptp: lambda v, axis=None: np.max(v, axis) - np.min(v, axis),
    np.median: _median, np.quantile: _quantile(np.quantile, np.nanquantile),
    np.percentile: _quantile(np.percentile, np.nanpercentile),
    np.count_nonzero: lambda v, axis=None, **options: np.sum(v != 0, axis, **options),
    np.average: _average, np.dot: _product(np.dot), np.inner: _product(np.inner), np.matmul: _product(np.matmul),
    np.vdot: _vdot, np.nan_to_num: _nan_to_num,
    np.real: lambda v: v.done(np.real, v) if v.dtype.kind == "c" else v,  # a view, as NumPy's
    np.size: _size, np.ndim: lambda v: v.ndim,
}  # fmt: skip
_REDUCE: dict[Any, Any] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
    np.logical_and: np.all, np.logical_or: np.any,
}  # fmt: skip


_CELL_BY_CELL = {"elementwise", "special", "complex"}


def on_selection(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Functions of namedgrad: what they do to each cell, or as NumPy's of the same name."""
    v = next(a for a in (*args, *kwargs.values()) if isinstance(a, Selection))
    if op.family in _CELL_BY_CELL:
        return v.done(lambda *a, **k: dispatch(op, a, k), *args, **kwargs)
    known = _FUNCTIONS.get(getattr(np, op.name, None))
    if known is not None and args[0] is v and not kwargs:
        return known(*args)
    raise v.refused(op.name)


add_face(lambda x: isinstance(x, Selection), on_selection, first=True)


def _method(func: Any) -> Callable[..., Any]:
    def method(self: Selection, *args: Any, **kwargs: Any) -> Any:
        return func(self, *args, **kwargs)

    return method


for _name in ("sum", "prod", "mean", "var", "std", "any", "all", "max", "min", "round", "dot", "conj", "conjugate"):
    setattr(Selection, _name, _method(getattr(np, _name)))
