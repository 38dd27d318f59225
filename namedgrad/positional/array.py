"""The positional array: a :class:`~namedgrad.DimArray` whose visible axes carry numbers instead of names.

Numbers count from the right, as the names ``axis(-ndim), ..., axis(-1)``, so NumPy's right-aligned broadcasting is
alignment by name; an axis of size 1 that meets a larger one is squeezed first, which is recorded like any operation.
Vectorized axes keep their names and stay hidden.

>>> import numpy as np, namedgrad as ng
>>> p = ng.positional(np.ones((2, 3)), vectorized=("batch",))
>>> p.shape, np.sum(p, axis=0).data
((3,), array([3., 3.]))
>>> p.name("x").dims
('x',)
"""

from __future__ import annotations

import ctypes
import functools
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from importlib import import_module
from types import FrameType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, TraceError, refuse_while_recording
from namedgrad.axes import AxisError, Name, Names
from namedgrad.positional.memory import copied, lying, order_of_copy, shown
from namedgrad.rules.structure import relabel, reorder
from namedgrad.trace import innermost, leaving

_new = object.__new__


@functools.cache
def numbers(count: int) -> Names:
    """``axis(-count), ..., axis(-1)``: the names of the visible axes."""
    return tuple(axes.axis(i) for i in range(-count, 0))


_INSTEAD_OF_FLOAT = (
    "out = np.zeros(n, like=x) for an array that it can be written into, and NumPy functions instead of math"
)


_ASKED: set[str] = {"name"}  # attributes that are not there even when all are declared
_WAY = "; functions that ask for the memory of an array take np.asarray(x)"
_MEMORY = {
    "ctypes": _WAY,
    "flags": _WAY,
    "strides": "; windows of as_strided(x, ...) are slices of np.lib.stride_tricks.sliding_window_view(x, width)",
}


def asked_by_xarray() -> bool:
    """Whether a function of xarray has called the one that asks this, maybe by an array around ours, as pint's."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name == "__getattr__":
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "xarray"


def _asked_by_sparse_product() -> bool:
    """Whether the product of a matrix of SciPy's wants to know what it is multiplied with."""
    code = sys._getframe(2).f_code
    return code.co_name == "_matmul_dispatch" and "sparse" in code.co_filename


def _repay_splines() -> None:
    """SciPy's splines, where an argument is refused, give back a reference to the dtype that they do not own.

    After some sixty such errors the dtype would be freed, which ends Python.
    """
    if str(sys._getframe(2).f_globals.get("__name__", "")).startswith("scipy.interpolate."):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(np.dtype(float)))


class _hidden_from_xarray:  # noqa: N801 - a decorator
    """A method called ``name``, which xarray takes for the name that an array has."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method

    def __get__(self, obj: Any, kind: type) -> Any:
        if obj is None:
            return self.method
        if asked_by_xarray():
            raise AttributeError("arrays with numbered axes have no name")
        return MethodType(self.method, obj)


class View(NamedTuple):
    """Whose cells an array shows: ``array == show(base)``, now and after every write."""

    base: PositionalArray
    show: Callable[[Any], Any]
    key: Any
    locked: str  #: why it cannot be written, "" if it can
    part: str  #: "real" or "imag" where it shows that part of complex cells, which has no cells in the base


class Loan:
    """Cells of an array that are shown by a plain one, which keeps this object alive, and so do all views of it."""

    __slots__ = ("__array_interface__", "__weakref__", "cells")

    def __init__(self, cells: np.ndarray[Any, Any]) -> None:
        self.cells, self.__array_interface__ = cells, cells.__array_interface__


class Lent(NamedTuple):
    """Cells that plain arrays show, which may be written at any time."""

    cells: DimArray
    loans: list[weakref.ref[Loan]]


class _Part:
    """A part of complex cells, until the functions declare it: when it is first read or written."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, p: PositionalArray, owner: type) -> Any:
        import_module("namedgrad.positional.functions")
        return getattr(owner if p is None else p, self.name)

    def __set__(self, p: PositionalArray, value: Any) -> None:
        import_module("namedgrad.positional.functions")
        setattr(p, self.name, value)


class PositionalArray:
    """An array with numbered axes that obeys NumPy's protocols and can be differentiated.

    Made by :func:`namedgrad.positional`, and by the transforms for the NumPy arrays that a function is given.
    Operators, ``np.*`` functions and ``namedgrad`` functions (with axis numbers as ``dim=``) work on it.  Writing
    ``p[index] = value`` gives this object, its base and all views of it new values; the array that it was made from is
    never touched.
    """

    __slots__ = ("__weakref__", "_array", "_lent", "_memory", "_view", "_views", "_x")
    __namedgrad_operand__ = True  # DimArray's operators leave the answer to this class
    __hash__ = None  # type: ignore[assignment]  # == is elementwise; xarray asks whether an argument is a name

    real, imag = _Part(), _Part()
    kin: type[PositionalArray]  #: the class that results have
    _x: DimArray  #: the values; visible names are ``numbers(ndim)`` in this order
    _view: View | None  #: set on views
    _views: list[weakref.ref[PositionalArray]] | None  #: the views of this array that are alive
    _lent: Lent | None  #: set instead of values while plain arrays show these cells
    _array: bool | None  #: set without axes, on what NumPy would have as an array, not as a number
    _memory: Any  #: what lies in memory as NumPy's array does; None where axes are in the order of C

    def __getattr__(self, name: str) -> Any:  # reached for slots that are not set
        if name in ("_view", "_views", "_array", "_lent"):
            return None
        if name == "_x":
            return self._reread()
        if not name.startswith("_") and name not in _ASKED:
            import_module("namedgrad.positional.functions")  # declares methods, when the first of them is asked for
            _ASKED.add(name)
            return getattr(self, name)
        raise AttributeError(f"a positional array has no attribute {name!r}{_MEMORY.get(name, '')}")

    def _reread(self) -> DimArray:
        """The values of a view that forgot them, and of those that it is taken from; a copy of cells that are lent."""
        stale, p = [], self
        while not p._known() and p._view is not None:
            stale.append(p)
            p = p._view.base
        lent = is_lent(p)
        shown = wrap(deepcopy(p._lent.cells), p.kin) if lent else p  # type: ignore[union-attr]
        for q in reversed(stale):
            shown = q._view.show(shown)  # type: ignore[union-attr]
            if not lent:
                q._x, shown = shown._x, q
        return shown._x

    def _known(self) -> bool:
        try:
            object.__getattribute__(self, "_x")
        except AttributeError:
            return False
        return True

    def _forget(self) -> None:
        """Read the values from the base again when they are next asked for."""
        if self._known():
            del self._x

    # ---------------------------------------------------------------- what a user sees

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the numbered axes: plain ints, whatever else those of a lazy array remember."""
        shape = self._x.shape
        return shape if not shape or type(shape[0]) is int else tuple(map(int, shape))

    @property
    def ndim(self) -> int:
        """Number of numbered axes."""
        return self._x.ndim

    @property
    def size(self) -> int:
        """Number of elements that one slice has."""
        return self._x.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the data."""
        return self._x.dtype

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of one slice."""
        return self.size * self.itemsize

    @property
    def device(self) -> Any:
        """Where the data are, as the array API standard has it."""
        return getattr(innermost(self._x).raw, "device", "cpu")

    @property
    def _is_number(self) -> bool:
        """Whether NumPy would have a number here, which never changes, and no array without axes."""
        return not self._x.ndim and self._array is None and self._view is None

    @property
    def data(self) -> Any:
        """The raw array, vectorized axes first."""
        if self._x.level is not None:
            self._refuse_leaving(".data", "NumPy functions on the array itself")
        return self._x.data

    @property
    def vectorized(self) -> Names:
        """Names of the vectorized axes."""
        return self._x.vectorized

    @property
    def vectorized_sizes(self) -> dict[Name, int]:
        """Mapping of vectorized names to sizes."""
        return self._x.vectorized_sizes

    @property
    def backend(self) -> str:
        """``"numpy"``, ``"cupy"`` or ``"dask"``."""
        return self._x.backend

    # ---------------------------------------------------------------- names

    @property
    def nameless(self) -> DimArray | None:
        """Without numbered axes there are no names to miss: the DimArray that meets others by name; else None."""
        return None if self._x.dims else self._x

    @_hidden_from_xarray
    def name(self, *dims: Name) -> DimArray:
        """As a DimArray, with a name for every numbered axis.

        Examples
        --------
        >>> import numpy as np, namedgrad as ng
        >>> ng.positional(np.ones((2, 3))).name("x", "y")
        <DimArray (x: 2, y: 3) float64>
        array([[1., 1., 1.],
               [1., 1., 1.]])
        """
        names = axes.check_names(dims, self.ndim)
        return relabel(self._x, dict(zip(numbers(len(names)), names, strict=True)))

    def vectorize(self, *names: Name) -> PositionalArray:
        """Hide the leading axes under these names: they become batch axes.

        Raises
        ------
        AxisError
            If there are fewer axes than names, or a name is taken.
        """
        names = axes.check_names(names)
        if len(names) > self.ndim:
            raise AxisError(f"vectorize: {len(names)} names {names} for the {self.ndim} axes of shape {self.shape}")
        if taken := [n for n in names if n in self._x.hidden]:
            raise AxisError(f"vectorize: {taken[0]!r} is vectorized already in {self!r}; choose another name")
        mapping = dict(zip(numbers(self.ndim), names))
        return wrap(renumber(relabel(self._x, mapping, hide=names)), self.kin)

    def devectorize(self, *names: Name) -> PositionalArray:
        """Make vectorized axes numbered axes in front; all of them if none is named."""
        x = self._x
        for n in names:
            if n not in x.hidden:
                raise AxisError(f"devectorize: {n!r} is not vectorized in {self!r}; vectorized are {x.vectorized}")
        chosen = names or x.vectorized
        rest = tuple(n for n in x.names if n not in chosen)
        return wrap(renumber(reorder(relabel(x, {}, show=chosen), (*chosen, *rest))), self.kin)

    # ---------------------------------------------------------------- leaving

    def _refuse_leaving(self, what: str, instead: str) -> None:
        if self._x.level is not None or self._x.hidden:
            from namedgrad.positional.leaving import explained

            what, instead = explained(what, instead)
        if self._x.level is not None:
            raise leaving(what, instead)
        if self._x.hidden:
            raise TraceError(
                f"{what} of an array with vectorized axes {self._x.vectorized} has one answer per slice; "
                f"use {instead}, or .devectorize() first"
            )
        refuse_while_recording(what, instead, self._x.raw)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if _asked_by_sparse_product():
            return np.array(None)  # not an array to it, so that it leaves the product to this class
        try:
            self._refuse_leaving(
                "converting to a plain NumPy array (np.asarray, .values of xarray, array[...] = x, array[x])",
                "NumPy functions on the array itself: np.take(ng.positional(array), x) to index with it, "
                "out = np.zeros(n, like=x) for an array that it can be written into, np.where for a branch, "
                "np.stack([a, b]) for np.array([a, b]), array @ x for array.dot(x)",
            )
        except TraceError:
            _repay_splines()
            raise
        plain = self._x.__array__(dtype, copy)
        return plain if copy or plain.dtype != self.dtype or self._is_number else lend(self)

    def __bool__(self) -> bool:
        self._refuse_leaving("bool()", "np.where(condition, a, b)")
        return bool(self._x)

    def __index__(self) -> int:
        self._refuse_leaving("an index", "np.take(ng.positional(array), x)")
        return self._x.__index__()

    def __int__(self) -> int:
        self._refuse_leaving("int()", "np.trunc(x)")
        return int(self._x)

    def __float__(self) -> float:
        self._refuse_leaving("float() (as in array[i] = x, math.f(x))", _INSTEAD_OF_FLOAT)
        return float(self._x)

    def __complex__(self) -> complex:
        self._refuse_leaving("complex() (as in array[i] = x, cmath.f(x))", _INSTEAD_OF_FLOAT)
        return complex(self._x)

    def as_integer_ratio(self) -> tuple[int, int]:
        """Refused: the functions of statistics, which ask for it, make their results by calling this class."""
        instead = "np.mean(x), np.var(x, ddof=1) and their like"
        self._refuse_leaving(".as_integer_ratio() (as in statistics.mean)", instead)
        raise TypeError(f"the functions of statistics take x.tolist() of a positional array x; use {instead}")

    @property
    def matvec(self) -> Any:
        """None: SciPy's iterative solvers, which ask for it, would say that they do not know the type."""
        self._refuse_leaving("an iterative solver of scipy.sparse.linalg", "np.linalg.eigh, svd, solve and their like")
        raise AttributeError("a positional array has no attribute 'matvec'")

    def item(self, *index: Any) -> Any:
        """The Python scalar of one element."""
        self._refuse_leaving(".item()", "x[index], which stays an array, and NumPy functions on it")
        return self._x.to_numpy().item(*index)

    def tolist(self) -> Any:
        """Nested lists of Python scalars."""
        self._refuse_leaving(".tolist()", "NumPy functions on the array itself")
        return self._x.to_numpy().tolist()

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A host copy; vectorized axes have no place in it, see :attr:`data`."""
        self._refuse_leaving(".to_numpy()", "NumPy functions on the array itself")
        return self._x.to_numpy()

    def __reduce__(self) -> tuple[Any, ...]:
        return wrap, (self._x, PositionalArray)

    def __dask_tokenize__(self) -> Any:
        if self._x.level is None and not self._x.hidden:
            return ("namedgrad", type(self).__name__, self._x.raw)
        raise TraceError(
            "a dask graph would take a value that is being differentiated or vectorized out of the trace; give the "
            "transform an array that is lazy already, such as x.chunk(...), and leave dask's own functions away inside"
        )

    def __copy__(self) -> PositionalArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> PositionalArray:
        return self.copy()

    def copy(self, order: str = "C") -> PositionalArray:
        """The same values; writing to the copy leaves this array as it is."""
        p = wrap(self._x, self.kin)
        if not self._is_number:
            as_array(p)._memory = None if order == "C" else order_of_copy(self, order)
        return p

    # ---------------------------------------------------------------- container

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object: the array has no numbered axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    # ---------------------------------------------------------------- repr

    def __repr__(self) -> str:
        x = self._x
        if x.level is not None:
            return f"<Traced positional {self._summary()}>\n{innermost(x)._ordered()!r}"
        return f"<positional {self._summary()}>\n{x._ordered()!r}"

    def _repr_inline_(self, max_width: int) -> str:
        """One line, as xarray asks for it: what this is, and the values."""
        from xarray.core.formatting import format_array_flat

        x = innermost(self._x)
        what = f"{'traced ' * (self._x.level is not None)}{'positional ' * (not x.hidden)}"
        if x.hidden or self.backend != "numpy":
            return f"<{what}{self._summary()}>"
        return what + format_array_flat(x.to_numpy(), max_width - len(what))

    def __format__(self, spec: str) -> str:
        """A single number can be printed, however it came about: text does not lead anywhere."""
        if self.ndim or self._x.hidden or not spec:
            return format(repr(self) if not spec else self._x.data, spec)
        x = innermost(self._x)
        refuse_while_recording("the text", "no text", x.raw)
        return format(x.to_numpy().item(), spec)

    def _summary(self) -> str:
        hidden = ", ".join(f"{n}: {s}" for n, s in self.vectorized_sizes.items())
        where = "" if self.backend == "numpy" else f" {self.backend}"
        return f"{self.shape}{f' vectorized ({hidden})' if hidden else ''} {self.dtype}{where}"

    if TYPE_CHECKING:  # installed by the modules of this package

        def __getitem__(self, key: Any) -> PositionalArray: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...


class Lifted(PositionalArray):
    """A plain array or number while a function of it runs: results of such arrays alone leave as plain arrays."""

    __slots__ = ("python",)

    python: bool  #: set where it leaves as a number of Python's, as derivatives in those do


PositionalArray.kin, Lifted.kin = PositionalArray, Lifted


def kin_of(kinds: Iterable[type[PositionalArray]]) -> type[PositionalArray]:
    """The class of a result of arrays of these classes."""
    return Lifted if all(k.kin is Lifted for k in kinds) else PositionalArray


# ------------------------------------------------------------------------------------------------ plain arrays


def lend(p: PositionalArray) -> np.ndarray[Any, Any]:
    """``np.asarray(p)``: a plain array of the same cells, so that a write to either is seen in both."""
    shows, owner = [], p
    while owner._view is not None:
        shows.append(owner._view.show)
        owner = owner._view.base
    memory = lying(owner)
    if not is_lent(owner):
        owner._lent = Lent(copied(owner._x, memory), [])  # what else has these values, such as a copy, keeps them
        renew(owner, owner._x)
        owner._forget()
    shown = wrap(owner._lent.cells, owner.kin)  # type: ignore[union-attr]
    for show in reversed(shows):
        shown = show(shown)
    loan = Loan(shown._x.__array__())
    owner._lent.loans.append(weakref.ref(loan))  # type: ignore[union-attr]
    plain = np.asarray(loan)
    if backends.is_recording() or memory is None:  # what is written would not be repeated, or
        plain.flags.writeable = False  # NumPy's own reshape could be a view of one where that of the other is a copy
    return plain


def is_lent(p: PositionalArray) -> bool:
    """Whether a plain array that shows cells of this one is alive; if none is any more, they are its own again."""
    if p._lent is None:
        return False
    if any(r() is not None for r in p._lent.loans):
        return True
    p._x, p._lent = p._lent.cells, None
    return False


def renew(p: PositionalArray, x: DimArray) -> None:
    """New values for an array that owns its cells, and for its views."""
    p._x = x
    stale = [r() for r in p._views or ()]
    while stale:
        view = stale.pop()
        if view is not None:
            view._forget()
            stale += [r() for r in view._views or ()]


# ------------------------------------------------------------------------------------------------ in and out


def wrap(x: DimArray, kind: type[PositionalArray] = PositionalArray) -> PositionalArray:
    """A positional array of a DimArray whose visible names are ``numbers(ndim)``; see :func:`renumber`."""
    p = _new(kind)
    p._x, p._memory = x, None
    return p


def as_array(p: PositionalArray) -> PositionalArray:
    """The same, as an array even without axes."""
    if not p._x.ndim:
        p._array = True
    return p


def renumber(x: DimArray) -> DimArray:
    """The visible names, whatever they are, as axis numbers in their stored order."""
    names = x.dims
    target = numbers(len(names))
    return x if names == target else relabel(x, {n: t for n, t in zip(names, target) if n is not t})


def ordered(x: DimArray, names: Sequence[Name]) -> DimArray:
    """Visible axes stored in this order and numbered."""
    return renumber(reorder(x, (*(n for n in x.names if n in x.hidden), *names)))


def box(x: DimArray, kind: type[PositionalArray] = PositionalArray) -> Any:
    """A result: bool and int values leave as plain arrays unless they differ per slice or are being recorded."""
    leaves = x.level is None and not x.hidden and x.dtype.kind in "biu" and not backends.is_recording()
    if leaves and backends.backend_of(x.raw).defers:
        return _plain(x.raw)
    p = _new(kind)
    p._x, p._memory = x, None
    return p


def _plain(raw: Any) -> Any:
    """A raw array for the user; what others refer to, as a part of theirs, must not be written."""
    if isinstance(raw, np.ndarray) and raw.base is not None and not _is_alone(raw):
        raw = raw.view()
        raw.flags.writeable = False
    return raw


def _is_alone(raw: np.ndarray[Any, Any]) -> bool:
    """Whether a view shows cells that it alone refers to, each once, as a result in another shape does."""
    if not isinstance(raw.base, np.ndarray) or not raw.base.flags.owndata:
        return False
    if any(size > 1 and not step for size, step in zip(raw.shape, raw.strides, strict=True)):
        return False
    return sys.getrefcount(raw.base) == 2  # by raw and by this call


def view_of(
    base: PositionalArray, x: DimArray, show: Callable[[Any], Any], key: Any = None, *, locked: str = "", part: str = ""
) -> PositionalArray:
    """An array that shows cells of ``base``, as NumPy's views do; what is made of a number has cells of its own."""
    p = wrap(x, base.kin)
    if base._is_number and (not locked or not x.ndim):
        return p
    p._view = View(base, show, key, locked, part)
    if not base._known():
        p._forget()  # it is lent
    alive = [r for r in base._views or () if r() is not None]
    base._views = [*alive, weakref.ref(p)]
    return p if x.ndim < 2 or (key is not None and base._memory is None) else shown(p)
