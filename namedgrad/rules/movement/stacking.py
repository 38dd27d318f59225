"""Several dims as one, and one as several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import AxisError, Name, Names
from namedgrad.backends import call
from namedgrad.linear import Map, like
from namedgrad.primitive import LinearCore, Primitive, operation, sample
from namedgrad.rules.dims import as_names, mapping, new_name, pick, rename_mapping
from namedgrad.rules.structure import reorder
from namedgrad.trace import apply


class _Merge(Primitive):
    """Several axes as one, in the call's order.

    Where cells have to be copied, ``front`` lets the axis vary slowest in memory: joining the channels and the inner cells
    of 16 x 2 x 2 x 128 x 128 takes 0.8 ms instead of 2.8.
    """

    form, signature, keeps = "linear", "(a,b...)->(n)", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], dims: Names, name: Name, front: bool) -> DimArray:
        (x,) = args
        rest = tuple(n for n in x.names if n not in dims)
        sizes = {n: extent(x, n) for n in x.names}
        joined, others = math.prod(sizes[d] for d in dims), tuple(sizes[n] for n in rest)
        front = backends.backend_of(x.raw).may_branch and (front or x.names[: len(dims)] == dims)
        raw = _ordered(x.raw, x.names, (*dims, *rest) if front else (*rest, *dims))
        raw = call(backends.backend_of(raw).reshape, raw, (joined, *others) if front else (*others, joined))
        out = (name, *rest) if front else (*rest, name)
        return make(_ordered(raw, out, (*rest, name)), (*rest, name), x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, name: Name, front: bool) -> Map:
        (x,) = ins
        inner, one = tuple(axes.core(i) for i in range(-len(dims), 0)), axes.core(-1)
        sizes: dict[Name, int] = dict(zip(inner, (extent(x, d) for d in dims), strict=True))
        return LinearCore(
            lambda ts: merge(ts[0], inner, one, front=front),
            lambda g: [split(g, one, sizes, front=front)],
            [like(x)],
            [dict(zip(dims, inner, strict=True))],
            {name: one},
        )


def _ordered(raw: Any, names: Names, order: Names) -> Any:
    perm = axes.order_plan(names, order)
    return raw if perm is None else call(backends.backend_of(raw).transpose, raw, perm)


class _Split(Primitive):
    """One axis as several."""

    form, signature, keeps = "linear", "(n)->(a,b...)", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], name: Name, sizes: dict[Name, int], front: bool) -> DimArray:
        (x,) = args
        rest = tuple(n for n in x.names if n != name)
        raw = _ordered(x.raw, x.names, (*rest, name))
        raw = call(backends.backend_of(raw).reshape, raw, (*raw.shape[:-1], *sizes.values()))
        names = (*rest, *sizes)
        axes.refuse_repeats(names, "the result would repeat a dim: ")
        return make(raw, names, x.hidden)

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], name: Name, sizes: dict[Name, int], front: bool
    ) -> Map:
        inner, one = tuple(axes.core(i) for i in range(-len(sizes), 0)), axes.core(-1)
        table: dict[Name, int] = dict(zip(inner, sizes.values(), strict=True))
        own = tuple(m for n in ins[0].names for m in (inner if n == name else (n,)))

        def pull(g: DimArray) -> list[DimArray]:
            """Where cells are copied, to where the operand has them: cells of 2 x 2 into an image in 2 ms instead of 6."""
            order = (*(n for n in g.names if n not in own), *(n for n in own if n in g.names))
            return [merge(reorder(g, order), inner, one, front=front)]

        return LinearCore(
            lambda ts: split(ts[0], one, table, front=front),
            pull,
            [like(ins[0])],
            [{name: one}],
            dict(zip(sizes, inner, strict=True)),
        )


_MERGE, _SPLIT = _Merge("merge"), _Split("split")


def merge(x: DimArray, dims: Names, name: Name, *, front: bool = False) -> DimArray:
    """Several axes, visible or hidden, as one."""
    return apply(_MERGE, (x,), dims=dims, name=name, front=front)


def split(x: DimArray, name: Name, sizes: Mapping[Name, int], *, front: bool = False) -> DimArray:
    """One axis as several; ``front`` is how they are joined again."""
    return apply(_SPLIT, (x,), name=name, sizes=dict(sizes), front=front)


@operation(sample("real(a,b,c)", dim={"z": ("c", "a")}), method=True)
def stack(
    x: DimArray, /, dim: Mapping[Any, Any] | None = None, create_index: bool | None = True, index_cls: Any = None, **keywords: Any
) -> DimArray:
    """Join dims into one.

    Parameters
    ----------
    x : DimArray
    dim : mapping of new name to dims, optional
        Or as keywords: ``a.stack(z=("x", "y"))``. The first dim varies slowest; ``...`` stands for all that are not named.
    create_index, index_cls
        Change nothing, as there are no indexes; here so that programs written for xarray run.
    **keywords
        The mapping in keyword form.

    Returns
    -------
    DimArray
        The new dim comes last.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, or the new name is taken.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[1, 2], [3, 4]], ("x", "y"))
    >>> a.stack(z=("x", "y")).data, a.stack(z=("y", "x")).data
    (array([1, 2, 3, 4]), array([1, 3, 2, 4]))
    """
    for name, dims in rename_mapping(dim, keywords, "stack").items():
        rest = tuple(n for n in x.dims if n not in as_names(x, dims))
        joined = pick(x, [n for d in as_names(x, dims) for n in (rest if d is Ellipsis else (d,))], "stack")
        if name not in joined:
            new_name(x, name, "stack")
        x = merge(x, joined, axes.check_names((name,))[0])
    return x


@operation(sample("real(a,six)", dim={"six": {"p": 2, "q": 3}}), method=True)
def unstack(
    x: DimArray, /, dim: Mapping[Any, Mapping[Any, int]] | None = None, *, fill_value: Any = np.nan, sparse: bool = False, **keywords: Any
) -> DimArray:
    """Split a dim into several; the inverse of :func:`stack`.

    Parameters
    ----------
    x : DimArray
    dim : mapping of dim to {name: size}, optional
        Or as keywords: ``a.unstack(z={"x": 2, "y": 3})``.
    fill_value : scalar
        Changes nothing, as no cell can be missing; here so that programs written for xarray run.
    sparse : bool
        Only False; see :func:`dense_to_coo`.
    **keywords
        The mapping in keyword form.

    Returns
    -------
    DimArray
        The new dims come last.

    Raises
    ------
    AxisError
        If the sizes do not multiply to that of the dim, or a new name is taken.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.arange("z", 4).unstack(z={"x": 2, "y": 2})
    <DimArray (x: 2, y: 2) int64>
    array([[0, 1],
           [2, 3]])
    """
    if sparse:
        raise TypeError("unstack: an array with names is dense; ng.dense_to_coo(x.unstack(...)) gives values and their places")
    for name, sizes in mapping(x, dim, keywords, "unstack").items():
        total = int(np.prod(list(sizes.values()), dtype=int))
        if total != extent(x, name):
            raise AxisError(f"unstack: {name!r} has size {extent(x, name)}, not {total} = the product of {dict(sizes)}")
        for new in axes.check_names(sizes):
            if new != name:
                new_name(x, new, "unstack")
        x = split(x, name, sizes)
    return x
