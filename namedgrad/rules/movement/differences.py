"""Differences between neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import Name, Names
from namedgrad.linear import Like
from namedgrad.primitive import LinearCore, linear, operation, sample
from namedgrad.primitive.linear import Linear
from namedgrad.rules.dims import pick_one
from namedgrad.rules.movement.cuts import slice_of
from namedgrad.rules.movement.joining import Join, join
from namedgrad.rules.structure import alongside, not_equal, reorder, spread
from namedgrad.trace import innermost

_step = linear("(n)->(n)", "step", transpose=lambda g, x: _unstep(g))
_unstep = linear("(n)->(n)", "unstep", transpose=lambda g, x: _step(g))


class _JoinSteps(Join):
    """Arrays joined along one axis, one of them after its steps were taken, which are then not copied."""

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, names: Names, at: int) -> LinearCore:
        (name,) = dims
        late = slice_of(innermost(ins[at]), name, slice(1, None))  # shaped as the steps
        joined = super().linear(out, [late if k == at else x for k, x in enumerate(ins)], need, dims, names)
        slot = sum(need[:at])

        def through(one: Linear, parts: Sequence[Any]) -> list[Any]:
            return [one(p) if k == slot and need[at] and p is not None else p for k, p in enumerate(parts)]

        def pull(g: DimArray) -> list[Any]:
            return through(_unstep, joined._pull(g))

        def push(ts: list[Any]) -> DimArray:
            return joined._push(through(_step, ts))

        return LinearCore(push, pull, joined.operands, joined.frames, joined.out_frame)


_JOIN_STEPS = _JoinSteps("join_steps", "concat_steps")


def difference(x: DimArray, name: Name) -> DimArray:
    """Every cell of an axis but the first, less the one before it."""
    n = extent(x, name)
    if n == 0:
        return x
    if x.dtype.kind == "b":
        return not_equal(slice_of(x, name, slice(1, n)), slice_of(x, name, slice(0, n - 1)))
    return _step(x, (name,))


@operation(sample("real(a,b)", dim="a"), sample("real(a,b)", dim="a", n=2), method=True)
def diff(x: DimArray, dim: Any = None, n: int = 1, *, label: str = "upper", prepend: Any = None, append: Any = None) -> DimArray:
    """Differences between neighbours along a dim.

    Parameters
    ----------
    x : DimArray
    dim : name, optional
        Needed unless there is one dim only.
    n : int
        How many times.
    label : {"upper", "lower"}
        xarray's argument: which coordinate a difference has. An array without coordinates is the same either way.
    prepend, append : DimArray or scalar, optional
        Joined to ``x`` in front and behind before the differences are taken.

    Returns
    -------
    DimArray
        Shorter by ``n`` along the dim.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If ``n`` is negative.

    Notes
    -----
    As :meth:`xarray.DataArray.diff` and :func:`numpy.diff`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 4.0, 9.0], ("x",)).diff("x").data
    array([3., 5.])
    """
    name = pick_one(x, dim, "diff")
    if n < 0:
        raise ValueError(f"diff: n={n} is negative")
    x = attached(x, name, prepend, append) if n else x  # as in NumPy
    for _ in range(n):
        x = difference(x, name)
    return x


def attached(x: DimArray, name: Name, before: Any, after: Any, **how: Any) -> DimArray:
    """``x`` with cells joined to both ends of a dim; a scalar is one cell."""
    ends = [None if v is None else _cell(v, name, x) for v in (before, after)]
    parts = [p for p in (ends[0], x, ends[1]) if p is not None]
    if len(parts) == 1:
        return x
    return reorder(join(parts, name, **how), axes.in_order((*x.names, *(n for p in parts for n in p.names))))


def _cell(value: Any, name: Name, x: DimArray) -> DimArray:
    if isinstance(value, (list, tuple)):
        return join([_cell(v, name, x) for v in value], name)
    v = alongside(constant(value), x)
    return v if name in v.names else spread(v, Like((name, *v.names), (1, *v.full_shape), v.dtype))


@operation(sample("real(a,b)", dim="b"), sample("real(a,b)", dim="b", to_begin=0.5), sample("real(a)", to_end=[1.5, 2.5], to_begin=-1.0))
def ediff1d(x: DimArray, dim: Any = None, *, to_end: Any = None, to_begin: Any = None) -> DimArray:
    """Differences between neighbours along a dim, with cells put around them.

    Parameters
    ----------
    x : DimArray
    dim : name, optional
        Needed unless there is one dim only.
    to_end, to_begin : DimArray, scalar or sequence, optional
        Cells behind and in front of the differences.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.

    Notes
    -----
    As :func:`numpy.ediff1d`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ediff1d(ng.DimArray([1.0, 4.0, 9.0], ("x",)), to_begin=0).data
    array([0., 3., 5.])
    """
    name = pick_one(x, dim, "ediff1d")
    if (to_begin is None and to_end is None) or x.dtype.kind not in "iufc" or not extent(x, name):
        return attached(difference(x, name), name, to_begin, to_end)
    return attached(x, name, to_begin, to_end, by=_JOIN_STEPS, at=int(to_begin is not None))

