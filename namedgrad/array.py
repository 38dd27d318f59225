"""DimArray: raw data with a name per axis, some of the names *vectorized* (hidden from every operation).

>>> import numpy as np, namedgrad as ng
>>> a = ng.DimArray(np.ones((2, 3)), ("time", "lat"))
>>> (a * a).sum("lat")
<DimArray (time: 2) float64>
array([3., 3.])
>>> a.vectorize("time").sum()
<DimArray () vectorized (time: 2) float64>
array([3., 3.])
"""

from __future__ import annotations

import datetime as dt
import html
import math
import sys
import threading
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.axes import NONE, AxisError, Name, Names

if TYPE_CHECKING:
    from typing import Self

    import xarray as xr


class TraceError(TypeError):
    """A traced value was asked to leave the trace; the message names the operation and its replacement.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.grad(lambda x: float(x) ** 2)(3.0)
    Traceback (most recent call last):
        ...
    namedgrad.array.TraceError: float() ... would take a value that is being differentiated out of the trace; ...
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        REFUSAL.last = (message, *_line_outside())


def _line_outside() -> tuple[types.CodeType, int]:
    """The code and line, the innermost one outside of this package, that asked."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame.f_code, frame.f_lineno


class _Refusal(threading.local):
    """The last TraceError's message, and where it arose: compiled code may drop it and raise an error of its own."""

    last: tuple[str, types.CodeType, int] | None = None


REFUSAL = _Refusal()
_PACKAGE = str(Path(__file__).parent)


class DimArray:
    """An immutable array with named dims.

    Parameters
    ----------
    data : array or scalar
        A NumPy, CuPy or dask array is kept as it is, never copied or moved; lists and scalars become NumPy arrays.
    dims : iterable of hashable
        A name for every axis of ``data``, in its order. Any hashable but an int, ``None`` or ``Ellipsis``.
    vectorized : iterable of hashable, optional
        Those of ``dims`` that are batch axes: no operation sees them, every gradient keeps them.

    Raises
    ------
    AxisError
        If the number of names is not the number of axes, or a name is repeated or reserved.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([[1.0, 2.0], [3.0, 4.0]], ("x", "y")).sum("x")
    <DimArray (y: 2) float64>
    array([4., 6.])
    """

    __slots__ = ("__weakref__", "hidden", "names", "raw")

    raw: Any  #: the stored array, one axis per entry of ``names``
    names: Names  #: every axis, visible or hidden, in stored order
    hidden: frozenset[Name]  #: the vectorized names
    level: Any = None  # a traced array has one
    __hash__ = None  # type: ignore[assignment]  # == is elementwise

    def __init__(self, data: Any, dims: Iterable[Name] | str, *, vectorized: Iterable[Name] | str = ()) -> None:
        if isinstance(data, DimArray):
            raise TypeError("data is a DimArray already; use .rename, .vectorize or .devectorize on it")
        if not backends.is_array(data):
            data = _host_array(data)
        self.raw = data = backends.as_plain(backends.without_mask(data), "data")
        self.names = axes.check_names(dims, data.ndim)
        self.hidden = frozenset(axes.check_names(vectorized)) or axes.NONE
        if missing := self.hidden.difference(self.names):
            raise AxisError(f"vectorized={tuple(missing)} are not among dims={self.names}")

    # ---------------------------------------------------------------- what a user sees

    @property
    def dims(self) -> Names:
        """Names of the visible dims."""
        return tuple(n for n in self.names if n not in self.hidden) if self.hidden else self.names

    @property
    def vectorized(self) -> Names:
        """Names of the vectorized axes."""
        return tuple(n for n in self.names if n in self.hidden)

    @property
    def full_shape(self) -> tuple[int, ...]:
        """Sizes of all axes in stored order."""
        raw = self.raw
        if type(raw) is np.ndarray:
            return raw.shape
        return backends.backend_of(raw).shape(raw) if self.names else ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the data."""
        try:
            return self.raw.dtype
        except AttributeError:  # a Python scalar
            return np.dtype(type(self.raw))

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the visible dims."""
        return tuple(self.sizes.values()) if self.hidden else self.full_shape

    @property
    def sizes(self) -> dict[Name, int]:
        """Mapping of visible dims to sizes."""
        return {n: s for n, s in zip(self.names, self.full_shape, strict=True) if n not in self.hidden}

    @property
    def vectorized_sizes(self) -> dict[Name, int]:
        """Mapping of vectorized names to sizes."""
        return {n: s for n, s in zip(self.names, self.full_shape, strict=True) if n in self.hidden}

    @property
    def ndim(self) -> int:
        """Number of visible dims."""
        return len(self.dims)

    @property
    def size(self) -> int:
        """Number of elements that one slice has."""
        return math.prod(map(int, self.shape))

    @property
    def data(self) -> Any:
        """The raw array, vectorized axes first, then ``dims``: a view, on the backend where it is."""
        refuse_while_recording(".data", "the array itself", self.raw)
        return self._ordered()

    def _ordered(self) -> Any:
        raw = self.raw if backends.is_array(self.raw) else np.asarray(self.raw)
        perm = axes.order_plan(self.names, (*self.vectorized, *self.dims))
        return raw if perm is None else backends.call(backends.backend_of(raw).transpose, raw, perm)

    @property
    def backend(self) -> str:
        """``"numpy"``, ``"cupy"`` or ``"dask"``."""
        return backends.backend_of(self.raw).name

    # ---------------------------------------------------------------- leaving

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A host copy, vectorized axes first, then ``dims``.

        Returns
        -------
        numpy.ndarray

        Raises
        ------
        TraceError
            Under differentiation.

        Examples
        --------
        >>> import namedgrad as ng
        >>> ng.ones({"x": 2, "b": 3}, vectorized="b").to_numpy().shape
        (3, 2)
        """
        raw = self.data
        return backends.backend_of(raw).to_numpy(raw)

    def to(self, backend: str) -> DimArray:
        """The same values on another backend; nothing else ever moves data between devices.

        Parameters
        ----------
        backend : {"numpy", "cupy", "dask"}

        Returns
        -------
        DimArray
            This array itself if it is there already. Gradients move back on their way.

        Examples
        --------
        >>> import namedgrad as ng
        >>> ng.ones({"x": 2}).to("numpy").backend
        'numpy'
        """
        if backend == self.backend:
            return self
        host = backends.call(backends.backend_of(self.raw).to_numpy, self.raw)
        return make(backends.call(backends.get_backend(backend).asarray, host), self.names, self.hidden)

    def compute(self) -> DimArray:
        """The same array with a dask array computed; other arrays stay as they are."""
        return self.to("numpy") if self.backend == "dask" else self

    def item(self) -> Any:
        """The Python scalar of a single element, also ``float(a)``.

        Returns
        -------
        scalar

        Raises
        ------
        TraceError
            Under differentiation.
        TypeError
            If there are vectorized axes: each slice has its own answer.
        ValueError
            If there is more than one element.

        Examples
        --------
        >>> import namedgrad as ng
        >>> ng.ones({"x": 3}).sum().item()
        3.0
        """
        return self._scalar("item()")

    def to_xarray(self, coords: Mapping[Any, Any] | None = None, name: Any = None) -> xr.DataArray:
        """As a DataArray; vectorized axes become dims, in front.

        Parameters
        ----------
        coords : mapping, optional
            Coordinates, as for :class:`xarray.DataArray`.
        name : hashable, optional

        Returns
        -------
        xarray.DataArray

        Raises
        ------
        TraceError
            Under differentiation: differentiate xarray objects from the start.

        Examples
        --------
        >>> import namedgrad as ng
        >>> ng.ones({"x": 2}).to_xarray({"x": [10, 20]}, name="ones").sel(x=20).item()
        1.0
        """
        import xarray as xr

        return xr.DataArray(self.data, coords=coords, dims=(*self.vectorized, *self.dims), name=name)

    def _scalar(self, what: str) -> Any:
        """The single element as a Python scalar; ``what`` asks for it."""
        if self.hidden:
            raise TraceError(
                f"{what} of a vectorized array {describe(self)} has one answer per slice; "
                "use where(...) or .devectorize() first"
            )
        if self.size != 1:
            raise ValueError(f"{what} needs a single element, got {describe(self)}; reduce or index the dims first")
        refuse_while_recording(what, "the array itself, where(...) or cond(...)", self.raw)
        return self.to_numpy().item()

    def __float__(self) -> float:
        return float(self._scalar("float()"))

    def __int__(self) -> int:
        return int(self._scalar("int()"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iub":
            raise TypeError(f"an index must be an integer, got dtype {self.dtype}")
        return int(self._scalar("__index__"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex()"))

    def __bool__(self) -> bool:
        return bool(self._scalar("bool()"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self.backend != "numpy":
            raise TypeError(f"no implicit copy from {self.backend} to the host; use .to_numpy()")
        refuse_while_recording("np.asarray()", "the namedgrad function of the same name", self.raw)
        return np.array(self.data, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without visible dims")
        return self.shape[0]

    def __iter__(self) -> Iterator[DimArray]:
        if not self.shape:  # Python would find nothing in it
            raise TypeError(f"iteration over {describe(self)}, an array without visible dims")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> DimArray:
        return make(backends.call(backends.backend_of(self.raw).copy, self.raw), self.names, self.hidden)

    def __reduce__(self) -> tuple[Any, ...]:
        refuse_while_recording("pickling", "the value that ng.compile returns", self.raw)
        return _unpickle, (self.raw, self.names, tuple(self.hidden))

    # ---------------------------------------------------------------- repr

    def _summary(self) -> str:
        hidden = f" vectorized {_sizes_text(self.vectorized_sizes)}" if self.hidden else ""
        where = "" if self.backend == "numpy" else f" {self.backend}"
        return f"DimArray {_sizes_text(self.sizes)}{hidden} {self.dtype}{where}"

    def __repr__(self) -> str:
        return f"<{self._summary()}>\n{self._ordered()!r}"

    def _repr_html_(self) -> str:
        body = html.escape(repr(self._ordered()))
        return (
            "<div><style>.ng-hidden{color:#888;font-style:italic}</style>"
            f"<b>DimArray</b> {_html_sizes(self.sizes, '')}"
            f"{_html_sizes(self.vectorized_sizes, 'ng-hidden')} <code>{self.dtype}</code> {self.backend}"
            f"<details><summary>data</summary><pre>{body}</pre></details></div>"
        )

    if TYPE_CHECKING:  # installed by the declarations in namedgrad.rules

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> DimArray: ...
        def __radd__(self, other: Any) -> DimArray: ...
        def __sub__(self, other: Any) -> DimArray: ...
        def __rsub__(self, other: Any) -> DimArray: ...
        def __mul__(self, other: Any) -> DimArray: ...
        def __rmul__(self, other: Any) -> DimArray: ...
        def __truediv__(self, other: Any) -> DimArray: ...
        def __rtruediv__(self, other: Any) -> DimArray: ...
        def __floordiv__(self, other: Any) -> DimArray: ...
        def __rfloordiv__(self, other: Any) -> DimArray: ...
        def __mod__(self, other: Any) -> DimArray: ...
        def __rmod__(self, other: Any) -> DimArray: ...
        def __pow__(self, other: Any) -> DimArray: ...
        def __rpow__(self, other: Any) -> DimArray: ...
        def __neg__(self) -> DimArray: ...
        def __pos__(self) -> DimArray: ...
        def __abs__(self) -> DimArray: ...
        def __invert__(self) -> DimArray: ...
        def __and__(self, other: Any) -> DimArray: ...
        def __or__(self, other: Any) -> DimArray: ...
        def __xor__(self, other: Any) -> DimArray: ...
        def __lshift__(self, other: Any) -> DimArray: ...
        def __rshift__(self, other: Any) -> DimArray: ...
        def __lt__(self, other: Any) -> DimArray: ...
        def __le__(self, other: Any) -> DimArray: ...
        def __gt__(self, other: Any) -> DimArray: ...
        def __ge__(self, other: Any) -> DimArray: ...
        def __eq__(self, other: object) -> DimArray: ...  # type: ignore[override]
        def __ne__(self, other: object) -> DimArray: ...  # type: ignore[override]
        def __getitem__(self, key: Any) -> DimArray: ...


_new = object.__new__


def make(raw: Any, names: Names, hidden: frozenset[Name]) -> DimArray:
    """A DimArray of parts that are known to fit: no checks."""
    a: DimArray = _new(DimArray)
    a.raw, a.names, a.hidden = raw, names, hidden
    return a


class Unseen(DimArray):
    """A value of NumPy's that a map holds, too, until somebody asks for its cells and gets copies of them.

    Who only pulls back is spared a copy: value and first pull of a million exponentials take 1.25
    of NumPy by hand instead of 1.55.
    """

    __slots__ = ()

    @property
    def raw(self) -> Any:
        """The cells, an array that nobody else has; from now on this is an array like all others."""
        with _SEEING:
            if type(self) is Unseen:
                _cells.__set__(self, backends.NUMPY.copy(_cells.__get__(self)))
                self.__class__ = DimArray  # type: ignore[assignment]
        return _cells.__get__(self)


_cells: Any = DimArray.__dict__["raw"]
_SEEING = threading.Lock()


def unseen(x: DimArray) -> DimArray:
    """The same values, copied where somebody sees them; nobody may write into ``x`` before that."""
    a: DimArray = _new(Unseen)
    _cells.__set__(a, x.raw)
    a.names, a.hidden = x.names, x.hidden
    return a


def _unpickle(raw: Any, names: Names, hidden: Names) -> DimArray:
    return make(raw, names, frozenset(hidden))


def _host_array(data: Any) -> np.ndarray[Any, Any]:
    out = np.asarray(data)
    if out.dtype.kind in "OUSV":
        raise TypeError(f"cannot make an array of numbers from {type(data).__name__}; lists must be rectangular")
    return out


_SCALARS = (bool, int, float, complex, np.generic)


def constant(value: Any, what: str = "operand") -> DimArray:
    """An operand: a DimArray as it is, a scalar or 0-d array as a DimArray without dims; all else is refused."""
    if isinstance(value, DimArray):
        return value
    if isinstance(value, _SCALARS):
        return make(value, (), NONE)
    if isinstance(value, dt.timedelta):
        return make(duration(value), (), NONE)
    if backends.is_array(value):
        if value.ndim == 0:
            return make(backends.as_plain(value, what), (), NONE)
        raise AxisError(
            f"{what} is a plain array of shape {value.shape}: its axes have no names; "
            f"name them with ng.DimArray(array, dims), one of dims per axis"
        )
    if getattr(value, "nameless", None) is not None:
        return value.nameless  # a positional array without axes: it has no names to miss
    kind = type(value)
    if kind.__module__ == "builtins":
        raise TypeError(f"{what} is a {kind.__name__}, not an array; give numbers dims with ng.DimArray(data, dims)")
    raise TypeError(
        f"{what} is a {kind.__module__}.{kind.__qualname__}, which does not combine with a DimArray; "
        "use ng.asdimarray(x) for xarray objects, .to_xarray() on the DimArray, or .name(...) on a positional array"
    )


def duration(value: dt.timedelta) -> np.timedelta64:
    """Python's or pandas' duration as NumPy's; pandas' tells its own unit."""
    found: np.timedelta64 = getattr(value, "to_timedelta64", lambda: np.timedelta64(value))()
    return found


def named(value: Any) -> Any:
    """An option: a positional array without axes, as numbers are while they are differentiated, as a DimArray."""
    found = getattr(value, "nameless", None)
    return value if found is None else found


def describe(a: Any) -> str:
    """``(time: 3, lat: 4 | batch: 2)``: visible dims with sizes, vectorized ones behind the bar."""
    pairs = list(zip(a.names, a.full_shape, strict=True))
    seen = ", ".join(f"{n}: {s}" for n, s in pairs if n not in a.hidden)
    hid = ", ".join(f"{n}: {s}" for n, s in pairs if n in a.hidden)
    return f"({seen}{' | ' if hid else ''}{hid})"


def extent(a: DimArray, name: Name) -> int:
    """Size of one axis, visible or hidden."""
    return a.full_shape[a.names.index(name)]


def refuse_while_recording(what: str, instead: str, *raws: Any) -> None:
    """Raise where a value would steer a program that is being recorded, unless the program fixes it."""
    if backends.is_recording() and not (raws and all(map(backends.is_fixed, raws))):
        raise TraceError(
            f"{what} of a value inside ng.compile would fix this run's answer; use {instead} instead, or bind a number "
            "that has to steer Python beforehand: ng.compile(functools.partial(f, n=3))"
        )


def _sizes_text(sizes: Mapping[Name, int]) -> str:
    return "(" + ", ".join(f"{n}: {s}" for n, s in sizes.items()) + ")"


def _html_sizes(sizes: Mapping[Name, int], css: str) -> str:
    return " ".join(f'<span class="{css}">{html.escape(str(n))}: {s}</span>' for n, s in sizes.items())
