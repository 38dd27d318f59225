"""What all losses share: how they are reduced, and how targets that are classes select."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import Name
from namedgrad.primitive import check_sizes, elementwise
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import check, comparable, pick
from namedgrad.rules.dtypes import real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.indexing import beside, gather
from namedgrad.rules.reductions import count_of
from namedgrad.rules.structure import (
    cast,
    likely,
    multiply,
    not_equal,
    reorder,
    select,
    total,
    where,
)

REDUCTIONS = {"mean", "sum", "none", None}

# `max(x, low)` whose derivative is 1 everywhere, as if nothing had been cut off: PyTorch's way to keep clear of 0.
at_least = elementwise("at_least", 1, None, kernel="maximum")


def measured(value: Any, x: DimArray, what: str) -> DimArray:
    """A target or weight as an operand; integers and numbers of Python's take the precision of the prediction."""
    t = constant(value, what)
    number = t.level is None and backends.is_number(t.raw)
    return cast(t, real_dtype(x)) if t.dtype.kind in "biu" or (number and t.dtype.kind == "f") else t


def read(what: str, x: Any, **others: Any) -> tuple[DimArray, ...]:
    """The prediction, integers in double precision, and what it is compared with, as operands."""
    first = constant(x)
    first = cast(first, real_dtype(first)) if first.dtype.kind in "biu" else first
    return first, *(measured(value, first, f"{what}: the {name}") for name, value in others.items())


def read_real(what: str, x: Any, **others: Any) -> tuple[DimArray, ...]:
    """As :func:`read`, for losses that compare."""
    return tuple(comparable(v, what) for v in read(what, x, **others))


def check_reduction(reduction: str | None, what: str, more: tuple[str, ...] = ()) -> None:
    """Refuse a reduction that there is not."""
    if reduction not in REDUCTIONS and reduction not in more:
        shown = ", ".join(map(repr, ("mean", "sum", *more)))
        raise ValueError(f"{what}: reduction={reduction!r} is none of {shown} and None")


@in_single
def reduced(loss: DimArray, operands: tuple[DimArray, ...], dim: Any, reduction: str | None, what: str,
            weight: DimArray | None = None) -> DimArray:  # fmt: skip
    """A loss reduced over dims; the mean is divided by the sum of the weights, if they are given.

    A mean whose weights add to 0 is NaN, with gradient 0.
    """
    check_reduction(reduction, what)
    seen = (*(n for a in operands for n in a.names if n in loss.names), *loss.names)
    loss = reorder(loss, axes.in_order(seen))
    if reduction in {None, "none"}:
        return loss
    dims = pick(loss, dim, what)
    out = total(loss, dims)
    if reduction == "sum":
        return out
    if weight is None:
        return e.divide(out, c(count_of(loss, dims)))
    own = tuple(n for n in dims if n in weight.names)
    missing = math.prod(extent(loss, n) for n in dims if n not in own)
    whole = multiply(total(weight, own), c(missing))
    some = not_equal(whole, c(0))
    mean = where(some, e.divide(out, where(some, whole, c(1))), c(math.nan))
    return reorder(mean, axes.in_order((*out.names, *mean.names)))


# ------------------------------------------------------------------------------------------------ classes


def classes(
    target: Any, x: DimArray, dim: Name, what: str, ignore: int | None = None
) -> tuple[DimArray, DimArray | None]:
    """Positions along ``dim`` of ``x``, and which of them count (None: all); those ignored are 0."""
    t = constant(target, f"{what}: the target")
    size = extent(x, check(x, dim, what))
    if t.dtype.kind not in "iu":
        raise TypeError(
            f"{what}: a target without the dim {dim!r} holds classes, so its dtype is an integer, not {t.dtype}"
        )
    inside = check_range(t, size, dim, what, ignore)
    t = signed(t, x)
    if ignore is None or (inside and not 0 <= ignore < size):
        return t, None
    if backends.may_look(t.raw) and not np.any(np.asarray(t.raw) == ignore):
        return t, None
    keep = likely(not_equal(t, c(ignore)))
    return where(keep, t, c(0)), keep


def signed(t: DimArray, x: DimArray) -> DimArray:
    """Positions where the backend of ``x`` can index with them, signed: beside unsigned ones offsets become floats."""
    return beside(cast(t, np.intp) if t.dtype.kind == "u" else t, x)


def check_range(t: DimArray, size: int, dim: Name, what: str, ignore: int | None = None, low: int = 0) -> bool:
    """Refuse positions that ``dim`` does not have, where looking is free; whether it shows that it has all of them."""
    if not backends.may_look(t.raw):
        return False
    raw = np.asarray(t.raw)
    if not raw.size or (raw.min() >= low and raw.max() < size):  # in a quarter of the time of what follows
        return True
    bad = (raw >= size) | (raw < low)
    if ignore is not None:
        bad &= raw != ignore
    if bad.any():
        raise IndexError(
            f"{what}: the target {int(raw[bad].flat[0])} is none of the {size} classes of {dim!r} in {describe(t)}"
        )
    return False


def of_class(x: DimArray, dim: Name, t: DimArray, keep: DimArray | None) -> DimArray:
    """The cells of ``x`` at the classes; 0 where they do not count."""
    out = gather(x, {dim: t})
    return out if keep is None else select(keep, out)


def counted(x: DimArray, keep: DimArray | None) -> DimArray:
    """1 where a target counts, else 0."""
    return c(1) if keep is None else cast(keep, real_dtype(x))


def class_weights(weight: Any, x: DimArray, dim: Name, what: str) -> DimArray:
    """Weights per class."""
    w = measured(weight, x, f"{what}: the weight")
    check(w, dim, f"{what}: the weight")
    check_sizes(f"{what}: the weight", (x, w))
    return w
