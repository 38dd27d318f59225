"""How operations read their ``dim`` argument."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from namedgrad.array import DimArray, constant, describe, named
from namedgrad.axes import NONE, AxisError, Name, Names, check_names

#: Parameters that name dims, or map dims to something: on positional arrays they take axis numbers.
DIM_PARAMETERS = {"batch_dim", "channel", "contract", "dim", "dims", "pad_width", "reduce_dim", "shifts"}
#: Parameters that are one value for all dims or a mapping of dims: only the mapping has axis numbers.
DIM_OPTIONS = {
    "center", "constant_values", "dilation", "end_values", "factor", "indexers", "new_dim", "output", "output_padding", "padding", "repeats", "reps",
    "scale_factor", "size", "sizes", "stat_length", "stride", "window",
}  # fmt: skip


def pick(x: DimArray, dim: Any, what: str) -> Names:
    """The visible dims that ``dim`` names: one, several, or all (None or Ellipsis)."""
    if dim is None or dim is Ellipsis:
        return x.dims
    names = as_names(x, dim)
    for name in names:
        check(x, name, what)
    if len(set(names)) < len(names):
        raise AxisError(f"{what}: dim={names} names a dim twice")
    return names


def as_names(x: DimArray, dim: Any) -> Names:
    """One name or several as a tuple; a tuple that is itself a dim counts as one."""
    if isinstance(dim, (list, set, frozenset, tuple)) and not (isinstance(dim, Hashable) and dim in x.names):
        return tuple(dim)
    return (dim,)


def named_dims(dims: Any, what: str, *each: str) -> Names:
    """As many names as ``each`` tells of."""
    names = tuple(dims) if isinstance(dims, (list, tuple)) else (dims,)
    if len(names) != len(each):
        raise AxisError(f"{what}: dims={dims!r} must be {len(each)} names: {', '.join(each)}")
    return check_names(names)


def row_and_column(x: DimArray, dims: Sequence[Name], what: str) -> Names:
    """Two dims of ``x``."""
    names = tuple(dims) if isinstance(dims, (tuple, list)) else ()
    if len(names) != 2 or names[0] == names[1]:
        raise AxisError(f"{what}: dims={dims!r} must be two different dims, of the rows and of the columns")
    return tuple(check(x, n, what) for n in names)


def twin(name: Name) -> Name:
    """The name of a second dim beside ``name``: with a 2 appended, a pair where it is no text."""
    return f"{name}2" if isinstance(name, str) else (name, "2")


def check(x: DimArray, name: Name, what: str) -> Name:
    """``name`` if it is a visible dim of ``x``."""
    try:
        hidden = name in x.hidden
    except TypeError:
        raise TypeError(f"{what}: a dim is a name of {describe(x)}, not a {type(name).__name__}") from None
    if hidden:
        raise AxisError(
            f"{what}: {name!r} is a vectorized axis of {describe(x)}, hidden from every operation; "
            f"call .devectorize({name!r}) first"
        )
    if name not in x.names:
        raise AxisError(f"{what}: no dim {name!r} in {describe(x)}; its dims are {x.dims}")
    return name


def at_axis(x: DimArray, axis: Any, what: str) -> Name | Names:
    """The visible dims at one place or several, as NumPy counts them."""
    if isinstance(axis, (list, tuple)):
        return tuple(_dim_at(x, k, what) for k in axis)
    return _dim_at(x, axis, what)


def _dim_at(x: DimArray, place: Any, what: str) -> Name:
    if not hasattr(place, "__index__"):
        raise TypeError(f"{what}: axis={place!r} is a place among the dims {x.dims}; a name is given as dim=")
    try:
        return x.dims[place]
    except IndexError:
        raise AxisError(f"{what}: no axis {place} among the dims {x.dims}") from None


def existing(x: DimArray, names: Iterable[Any], missing_dims: str, what: str) -> tuple[Any, ...]:
    """Those of the names, and an ellipsis, that are visible dims: of others it is said, or not, as ``missing_dims`` asks."""
    if missing_dims not in {"raise", "warn", "ignore"}:
        raise ValueError(f"{what}: missing_dims={missing_dims!r}; choose 'raise', 'warn' or 'ignore'")
    names = tuple(names)
    if missing_dims != "raise":
        missing = [n for n in names if n is not Ellipsis and n not in x.names]
        if missing and missing_dims == "warn":
            warnings.warn(f"{what}: no dims {missing} in {describe(x)}", UserWarning, stacklevel=2)
        names = tuple(n for n in names if n not in missing)
    for name in names:
        if name is not Ellipsis:
            check(x, name, what)
    return names


class Axes(NamedTuple):
    """Axes without an array, whose sizes are checked."""

    names: Names
    full_shape: tuple[int, ...]
    hidden: frozenset[Name] = NONE


def without(x: DimArray, names: Names) -> Axes:
    """The axes of ``x`` but for some."""
    kept = [(n, s) for n, s in zip(x.names, x.full_shape, strict=True) if n not in names]
    return Axes(tuple(n for n, _ in kept), tuple(s for _, s in kept), x.hidden)


def mapping(x: DimArray, given: Mapping[Any, Any] | None, keywords: Mapping[Any, Any], what: str) -> dict[Name, Any]:
    """``{dim: value}`` from a mapping or keywords, every dim checked."""
    found = rename_mapping(given, keywords, what)
    for name in found:
        check(x, name, what)
    return found


def rename_mapping(given: Mapping[Any, Any] | None, keywords: Mapping[Any, Any], what: str) -> dict[Name, Any]:
    """``{old: new}`` from a mapping or keywords."""
    if given is not None and keywords:
        raise TypeError(f"{what}: give a mapping or keywords, not both")
    try:
        return dict(keywords if given is None else given)
    except (TypeError, ValueError):
        kind = type(given).__name__
        raise TypeError(f"{what}: give a mapping by name, {{'x': value}}, or keywords, x=value; not a {kind}") from None


def new_name(x: DimArray, name: Name, what: str) -> Name:
    """``name`` if it can name a dim, and no axis of ``x`` has it."""
    check_names((name,))
    if name in x.names:
        raise AxisError(f"{what}: the dim {name!r} exists already in {describe(x)}; choose another name")
    return name


def number(value: Any, what: str) -> Any:
    """An option that is a plain number, the same for all cells."""
    if isinstance(named(value), (DimArray, list, tuple)) or getattr(value, "ndim", 0) > 0:
        kind = type(value)
        raise TypeError(
            f"{what} is a {kind.__module__}.{kind.__qualname__}, but must be a plain number: it is an option, which is not "
            "differentiated and cannot differ between cells; use float(x), or before ng.compile functools.partial(f, option)"
        )
    return value


def comparable(x: Any, what: str) -> DimArray:
    """An operand whose cells are compared, as complex numbers cannot be."""
    x = constant(x)
    if x.dtype.kind == "c":
        raise TypeError(f"{what} compares numbers, and complex ones have no order; take .real, .imag or abs(x)")
    return x


def pick_one(x: DimArray, dim: Any, what: str) -> Name:
    """The one visible dim that ``dim`` names; the only one there is by default."""
    if dim is None and len(x.dims) != 1:
        raise AxisError(f"{what}: dim= must name one of {x.dims}")
    names = pick(x, dim, what)
    if len(names) != 1:
        raise AxisError(f"{what}: works along one dim, not {names}")
    return names[0]
