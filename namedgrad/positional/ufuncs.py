"""NumPy's and SciPy's ufuncs on positional arrays: the protocol ``__array_ufunc__``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad import backends, ops
from namedgrad.array import DimArray, TraceError
from namedgrad.positional.array import PositionalArray, box, wrap
from namedgrad.positional.broadcasting import meet
from namedgrad.positional.folds import FOLDS, at
from namedgrad.positional.memory import is_plain, laid, lie_as
from namedgrad.positional.missing import Missing
from namedgrad.positional.operands import SCALARS, arrayed, unwrap
from namedgrad.positional.protocol import (
    as_numpys,
    bare,
    boxed,
    declare_all,
    kind_of,
    offered,
    positional_in,
    rewrapped,
    write_out,
)
from namedgrad.primitive import OPERATIONS
from namedgrad.rules import structure

UFUNCS: dict[Any, Callable[..., Any]] = {}  #: ufuncs, of SciPy by name, that are made of several operations
GUFUNCS: dict[str, Callable[..., Any]] = {}  #: generalised ufuncs of other packages, by name
REDUCERS: dict[Any, Any] = {}  #: ufunc -> the function that its ``reduce`` is
SCANNERS: dict[Any, Any] = {}  #: ufunc -> the function that its ``accumulate`` is
WRITERS: dict[Any, str] = {}  #: ufunc -> the update of ``.at[...]`` that its ``at`` is
RUNNERS: dict[Any, Any] = {}  #: ufunc -> the function that its ``reduceat`` is


@functools.cache
def rule_of(ufunc: Any) -> Callable[..., Any] | None:
    """The operation that a ufunc of NumPy or SciPy is, on arrays with numbered axes."""
    name = ufunc.__name__
    homes = (np, sys.modules.get("scipy.special"), sys.modules.get("scipy.special._ufuncs"))
    op = OPERATIONS.get(ops.UFUNCS.get(name, name))
    is_theirs = any(getattr(home, name, None) is ufunc for home in homes)
    if op is None or ufunc.signature is not None or not is_theirs:
        declare_all()
        return UFUNCS.get(ufunc, UFUNCS.get(name) if is_theirs else None)
    return op.function if ufunc.nin == 1 else lambda *xs: op.function(*meet(*xs))


_ONE: dict[Any, Callable[[DimArray], DimArray]] = {}  #: the shortest way for np.exp(x) and its like


def array_ufunc(self: PositionalArray, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
    """NumPy's and SciPy's ufuncs, and those methods of them that have a counterpart."""
    one = _ONE.get(ufunc)
    if one is not None and out is None and not kwargs and method == "__call__":
        found = box(one(self._x), self.kin)
        return found if self._memory is None else lie_as(found, self)
    if any(defers(self, x) for x in inputs):
        return NotImplemented
    if method != "__call__":
        return _method(ufunc, method, inputs, out, kwargs)
    kind = Missing if ufunc is np.isnan else kind_of(inputs)
    rule = rule_of(ufunc)
    if rule is None:
        return _outside(ufunc, kind, inputs, out, kwargs)
    if ufunc.nin == ufunc.nout == 1 and ufunc is not np.isnan:
        _ONE[ufunc] = getattr(getattr(rule, "__self__", None), "one", rule)
    if ufunc is np.vecdot and "axis" in kwargs:  # of the ufuncs with core axes that have rules the only one that may
        axis = kwargs.pop("axis")
        inputs = tuple(np.moveaxis(x, axis, -1) for x in inputs)
    mask = _mask(ufunc, out, kwargs) if kwargs else None
    if type(inputs[0]) is np.ndarray:
        inputs = (of_polynomial(inputs[0]), *inputs[1:])
    xs = [unwrap(x) for x in inputs]
    result = rule(*in_loop(ufunc, xs, **kwargs) if kwargs else xs)
    if mask is not None:
        (target,) = out
        result = structure.where(*meet(mask, result, unwrap(target)))
    result = boxed(result, kind)
    if out is not None:
        return _write_all(ufunc, out, result)
    return result if all(map(is_plain, inputs)) else lie_as(result, *inputs, signature=ufunc.signature)


def _mask(ufunc: Any, out: Any, kwargs: dict[str, Any]) -> DimArray | None:
    """The mask of ``where=``."""
    unknown = set(kwargs) - {"dtype", "where", "casting", "order", "subok"}
    if unknown:
        raise TypeError(f"np.{ufunc.__name__}: {', '.join(sorted(unknown))} is not for positional arrays")
    where = kwargs.get("where", True)
    if where is True:
        return None
    if out is None:
        raise TypeError(
            f"np.{ufunc.__name__}: where= without out= leaves cells undefined; use out=np.zeros_like(x), or np.where"
        )
    return unwrap(where)


def in_loop(ufunc: Any, xs: list[DimArray], dtype: Any = None, casting: str = "same_kind", **_: Any) -> list[DimArray]:
    """Operands in the dtypes in which NumPy computes, so that the results have ``dtype=``; its error if it does not."""
    if dtype is None and casting == "same_kind":
        return xs
    asked = {} if dtype is None else {"signature": (*(None,) * ufunc.nin, *(np.dtype(dtype),) * ufunc.nout)}
    kinds = ufunc.resolve_dtypes((*map(_kind, xs), *(None,) * ufunc.nout), **asked, casting=casting)
    return [x if _fits(x, kind) else structure.cast(x, kind) for x, kind in zip(xs, kinds)]


def _kind(x: DimArray) -> Any:
    """A dtype, or the class of a number of Python's, which takes that of others."""
    own = type(x.raw) if x.level is None else None
    return own if own in (int, float, complex) else x.dtype


def _fits(x: DimArray, kind: np.dtype[Any]) -> bool:
    """Whether NumPy takes a number of Python's as it is, and refuses one that is out of range."""
    return kind.kind in "iu" and _kind(x) is int


def _write_all(ufunc: Any, out: Sequence[Any], result: Any) -> Any:
    results = result if isinstance(result, tuple) else (result,)
    written = tuple(r if o is None else write_out(ufunc, o, r) for o, r in zip(out, results, strict=True))
    return written if len(written) > 1 else written[0]


def _outside(ufunc: Any, kind: Any, inputs: Any, out: Any, kwargs: Any) -> Any:
    if ufunc.signature is not None and ufunc.__name__ in GUFUNCS and out is None:
        return GUFUNCS[ufunc.__name__](*inputs, **kwargs)
    arrays = positional_in((*inputs, *(out or ())))
    if out is None and not any(a._x.level is not None or a._x.hidden for a in arrays) and not backends.is_recording():
        offered(ufunc, arrays, f"the ufunc {ufunc.__name__!r}")
        return rewrapped(ufunc(*bare(inputs), **bare(kwargs)), kind)
    raise TraceError(
        f"the ufunc {ufunc.__name__!r} has no rule for arrays that are being differentiated or vectorized; write it "
        "with functions that have one, give it one with ng.custom_pullback, or use ng.stop_gradient(x)"
    )


def _method(ufunc: Any, method: str, inputs: Any, out: Any, kwargs: dict[str, Any]) -> Any:
    """``np.add.reduce`` and its kin."""
    declare_all()
    name = f"np.{ufunc.__name__}.{method}"
    if method == "outer" and rule_of(ufunc) is not None:
        return _outer(ufunc, inputs, kwargs if out is None else {**kwargs, "out": out})
    table = {"reduce": REDUCERS, "accumulate": SCANNERS}.get(method, {})
    if ufunc in table:
        kwargs = {"axis": 0, **kwargs}
        if out is not None:
            kwargs["out"] = out[0]
        if not isinstance(inputs[0], PositionalArray):  # where= is one
            inputs = (wrap(unwrap(inputs[0]), kind_of(tuple(kwargs.values()))), *inputs[1:])
        return table[ufunc](*inputs, **kwargs)
    if method == "reduceat" and ufunc in RUNNERS:
        found = boxed(RUNNERS[ufunc](*inputs, **kwargs), kind_of(inputs))
        if out is not None:
            return _write_all(ufunc, out, found)
        return found if all(map(is_plain, inputs)) else laid(found, as_numpys(ufunc.reduceat, *inputs, **kwargs))
    if method == "at" and rule_of(ufunc) is not None:
        return _write_at(ufunc, *inputs)
    if method in FOLDS and ufunc.nin == 2 and rule_of(ufunc) is not None:
        return FOLDS[method](ufunc, *inputs, **kwargs, out=None if out is None else out[0])
    raise TypeError(f"{name} is not for positional arrays; use the NumPy function of that meaning with axis=")


def _outer(ufunc: Any, inputs: Any, options: dict[str, Any]) -> Any:
    a, b = (x if isinstance(x, PositionalArray) else box(arrayed(x), kind_of(inputs)) for x in inputs)
    return ufunc(np.expand_dims(a, tuple(range(np.ndim(a), np.ndim(a) + np.ndim(b)))), b, **options)


def _write_at(ufunc: Any, target: Any, key: Any, *values: Any) -> None:
    if not isinstance(target, PositionalArray):
        raise TraceError(
            f"np.{ufunc.__name__}.at would write values that are being differentiated or vectorized into a plain "
            "array; make the array with np.zeros(shape, like=x)"
        )
    if ufunc in WRITERS:
        target._update(key, *values, WRITERS[ufunc])
    else:
        at(ufunc, target, key, *values)


def of_polynomial(coefficients: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Coefficients of several polynomials, in a function of np.polynomial that was given places of ours.

    Of plain places the function gives them an axis for each of theirs.
    """
    frame = sys._getframe(2)
    if frame.f_globals.get("__package__") != "numpy.polynomial" or not coefficients.ndim:
        return coefficients
    places = frame.f_locals.get("x") if frame.f_locals.get("tensor") else None
    added = places.ndim if isinstance(places, PositionalArray) else 0
    return coefficients.reshape(coefficients.shape + (1,) * added)


def defers(self: PositionalArray, other: Any) -> bool:
    """Whether another class should answer; one with names, to which an array without axes is a number, should."""
    return self.nameless is not None if isinstance(other, DimArray) else stranger(other)


def stranger(other: Any) -> bool:
    """Whether another class should answer: it obeys NumPy's protocols and is none of ours."""
    if isinstance(other, (PositionalArray, DimArray, *SCALARS)) or backends.is_array(other):
        return False
    if backends.is_table(other):
        raise TypeError(
            f"operand is a pandas {type(other).__name__}, whose labels, and what they do, would be lost "
            "(alignment, sums without missing values); use its .to_numpy()"
        )
    return hasattr(other, "__array_ufunc__")


PositionalArray.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
