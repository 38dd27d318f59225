"""``x[mask]`` whose number of cells is left open: it differs from slice to slice, or depends on a value of another run.

Uncounted cells are held as all cells and the mask.  What is done to them is done to all, and where it ends, in a
reduction or in a write under the same mask, those count for which the mask is true.  So ``y[y < 0] = -y[y < 0]`` and
``x[m].mean()`` are what they are for one slice, and what would need the number of cells is refused.

They are not called chosen or selected, as those are that an index picks: their number is what sets them apart.
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
from namedgrad.positional.protocol import declare_all
from namedgrad.primitive import Operation
from namedgrad.rules.reductions import all as all_of
from namedgrad.rules.structure import equal, reorder

INSTEAD = "use np.where(mask, x, fill) or x * mask, which keep the shape"
_ELEMENTWISE = {
    np.clip, np.where, np.imag, np.angle, np.round, np.around, np.sinc, np.isclose, np.copy,
    np.zeros_like, np.ones_like, np.full_like, np.empty_like,
}  # fmt: skip
_OUT_AT = {np.clip: 3, np.round: 2, np.around: 2}  # where they take out= by place
_REDUCE: dict[Any, Any] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
    np.logical_and: np.all, np.logical_or: np.any,
}  # fmt: skip
FUNCTIONS: dict[Any, Callable[..., Any]] = {}  # those declared in namedgrad.positional.functions.uncounted
_CELL_BY_CELL = {"elementwise", "special", "complex"}  # families of our own


class UncountedCells(np.lib.mixins.NDArrayOperatorsMixin):
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
        return np.size(self)

    def copy(self) -> UncountedCells:
        """The same cells; what is written into one is not seen in the other."""
        return UncountedCells(self.cells, self.mask)

    def astype(self, dtype: Any, **options: Any) -> UncountedCells:
        """The cells in another dtype."""
        if options.pop("copy", True) is False and self.dtype == np.dtype(dtype):
            return self
        return UncountedCells(self.cells.astype(dtype, **options), self.mask)

    def __getitem__(self, key: Any) -> UncountedCells:
        if isinstance(key, UncountedCells) and key.dtype.kind == "b" and key.ndim == 1:
            if same_mask(self.mask._x, key.mask._x):
                return UncountedCells(self.cells, np.logical_and(self.mask, key.cells))
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

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> UncountedCells:
        """As :func:`numpy.clip`, of which either bound may be left away."""
        return np.clip(self, min, max, out)

    @property
    def real(self) -> UncountedCells:
        """The real parts."""
        return np.real(self)

    @property
    def imag(self) -> UncountedCells:
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
        if isinstance(args[0], UncountedCells) and (known := _known(func)):
            return known(*args, **kwargs)
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
            return tuple(UncountedCells(f, self.mask) for f in found)
        if out is None:
            return UncountedCells(found, self.mask)
        if not isinstance(out, UncountedCells):
            raise self.refused("out=")
        out.beside(self)
        if not np.can_cast(found.dtype, out.dtype, "same_kind"):
            raise TypeError(f"the result of {func.__name__} is {found.dtype}, which cells of {out.dtype} cannot hold")
        return out.hold(found)

    def hold(self, cells: Any) -> UncountedCells:
        """Other cells in place of these, as they are written into them."""
        if cells.shape != self.cells.shape:
            raise ValueError(f"cells of shape {cells.shape} do not fit into those of shape {self.cells.shape}")
        self.cells = cells.astype(self.dtype)
        return self

    def beside(self, value: Any) -> Any:
        """An operand as it stands beside all cells: cells of the same choice, or what is one for all of them."""
        if isinstance(value, UncountedCells):
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


def uncounted(p: PositionalArray, key: Any) -> UncountedCells | None:
    """``p[key]`` for an array of truth values over the leading axes that are left, behind positions."""
    p, mask = _leading(p, key)  # both may be written into later
    return None if mask is None else UncountedCells(wrap(p._x, p.kin), wrap(mask._x))


def write_uncounted(p: PositionalArray, key: Any, value: UncountedCells) -> None:
    """``p[key] = value`` where the key is the mask of the cells."""
    if isinstance(key, PositionalArray) and not key.ndim:  # one truth value, which adds an axis
        spread = p[None].copy()
        write_uncounted(spread, key[None], value)
        p[...] = spread[0]
        return
    p, mask = _leading(p, key)
    if mask is None or not same_mask(mask._x, value.mask._x):
        raise value.refused("a write elsewhere")
    if value.ndim != p.ndim - mask.ndim + 1 or np.broadcast_shapes(value.cells.shape, p.shape) != p.shape:
        raise ValueError(f"cells of shape {value.cells.shape} do not fit into those of shape {p.shape}")
    p[...] = np.where(UncountedCells(p, mask).counted(), value.cells, p)


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


def _known(func: Any) -> Callable[..., Any] | None:
    declare_all()
    return FUNCTIONS.get(func)


def on_uncounted(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Functions of namedgrad: what they do to each cell, or as NumPy's of the same name."""
    v = next(a for a in (*args, *kwargs.values()) if isinstance(a, UncountedCells))
    if op.family in _CELL_BY_CELL:
        return v.done(lambda *a, **k: dispatch(op, a, k), *args, **kwargs)
    if args[0] is v and not kwargs and (known := _known(getattr(np, op.name, None))):
        return known(*args)
    raise v.refused(op.name)


add_face(lambda x: isinstance(x, UncountedCells), on_uncounted, first=True)


def _method(func: Any) -> Callable[..., Any]:
    def method(self: UncountedCells, *args: Any, **kwargs: Any) -> Any:
        return func(self, *args, **kwargs)

    return method


for _name in ("sum", "prod", "mean", "var", "std", "any", "all", "max", "min", "round", "dot", "conj", "conjugate"):
    setattr(UncountedCells, _name, _method(getattr(np, _name)))
