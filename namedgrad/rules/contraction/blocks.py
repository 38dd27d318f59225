"""Matrices of blocks, and every combination of given cells."""

from __future__ import annotations

import functools

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import AxisError, Name, Names
from namedgrad.linear import Like
from namedgrad.primitive import operation, sample
from namedgrad.rules.dims import as_names, check
from namedgrad.rules.movement import join, merge
from namedgrad.rules.structure import cast, relabel, reorder, spread, zeros_spread


@operation(sample("real(a,b)", "real(a,b)", dims=("a", "b")), sample("real(b,a,c)", "real(a)", "real(b,c)", dims=("a", "b")),
           sample("real(a,b)", dims=("b", "a")), sample("complex(a,b)", "real(b,a)", dims=("a", "b")))
def block_diag(*arrays: DimArray, dims: Names) -> DimArray:
    """Matrices along the diagonal of a larger one, zeros elsewhere.

    Parameters
    ----------
    *arrays : DimArray
        Of any sizes along ``dims``; one that lacks a dim has size 1 there. All else is aligned by name.
    dims : pair of names
        Rows and columns.

    Returns
    -------
    DimArray
        Rows and columns last.

    Raises
    ------
    AxisError
        If a row or column is vectorized, or another dim has two sizes.

    Notes
    -----
    Linear. :func:`scipy.linalg.block_diag`, ``torch.block_diag``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.block_diag(ng.ones({"i": 1, "j": 2}), ng.full({"i": 1}, 3.0), dims=("i", "j")).data
    array([[1., 1., 0.],
           [0., 0., 3.]])
    """
    blocks = [constant(a) for a in arrays]
    if not blocks:
        raise TypeError("block_diag needs at least one array")
    if len(as_names(blocks[0], dims)) != 2:
        raise AxisError(f"block_diag: dims={dims!r} must be two names, rows and columns")
    row, column = axes.check_names(dims)
    for b in blocks:
        for n in (row, column):
            if n in b.names:
                check(b, n, "block_diag")
    blocks = [_wide(b, (row, column)) for b in blocks]
    widths = [extent(b, column) for b in blocks]
    rows = [_padded(b, column, sum(widths[:i]), sum(widths[i + 1 :])) for i, b in enumerate(blocks)]
    out = rows[0] if len(rows) == 1 else join(rows, row)
    return reorder(out, (*(n for n in out.names if n not in (row, column)), row, column))


def _wide(x: DimArray, dims: Names) -> DimArray:
    """``x`` with those of ``dims`` that it lacks, of size 1."""
    missing = tuple(n for n in dims if n not in x.names)
    return spread(x, Like((*missing, *x.names), (*(1,) * len(missing), *x.full_shape), x.dtype)) if missing else x


def _padded(x: DimArray, dim: Name, before: int, after: int) -> DimArray:
    """Zeros in front of and behind the cells of a dim."""
    parts = [x]
    for i, size in ((0, before), (2, after)):
        if size:
            shape = tuple(size if n == dim else s for n, s in zip(x.names, x.full_shape, strict=True))
            zero = zeros_spread(x, Like(x.names, shape, x.dtype))
            parts.insert(min(i, len(parts)), zero)
    return x if len(parts) == 1 else join(parts, dim)


@operation(sample("real(a)", "real(b)"), sample("real(a)", "real(b)", "real(c)", dim="p", new_dim="q"), sample("complex(a)", "real(b)"), sample("real(a)"))
def cartesian_prod(*arrays: DimArray, dim: Name = "combination", new_dim: Name = "variable") -> DimArray:
    """Every combination of one cell of each array, the last array varying fastest.

    Parameters
    ----------
    *arrays : DimArray
        One dim each, all different.
    dim : name
        The dim that counts the combinations.
    new_dim : name
        The dim that counts the arrays.

    Returns
    -------
    DimArray
        With the dims ``(dim, new_dim)``.

    Raises
    ------
    AxisError
        If an array has no dim, or several, or two of them share one.

    Notes
    -----
    Linear. ``torch.cartesian_prod``; a single array keeps its size and gets ``new_dim`` of size 1.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.cartesian_prod(ng.arange("x", 2), ng.DimArray([7, 8], ("y",))).data
    array([[0, 7],
           [0, 8],
           [1, 7],
           [1, 8]])
    """
    xs = [constant(a) for a in arrays]
    if not xs:
        raise TypeError("cartesian_prod needs at least one array")
    for x in xs:
        if x.ndim != 1:
            raise AxisError(f"cartesian_prod: every array must have one dim, one has {x.dims}")
    own = tuple(x.dims[0] for x in xs)
    axes.refuse_repeats(own, "cartesian_prod: ")
    names = axes.check_names((dim, new_dim))
    dtype = functools.reduce(np.promote_types, [x.dtype for x in xs])
    sizes = tuple(extent(x, n) for x, n in zip(xs, own, strict=True))
    inside = axes.fresh("variable")
    wide = [spread(cast(x, dtype), Like(own, sizes, dtype)) for x in xs]
    out = merge(join(wide, inside), own, joined := axes.fresh("combination"))
    hidden = tuple(n for n in out.names if n not in (inside, joined))
    return relabel(reorder(out, (*hidden, joined, inside)), {joined: names[0], inside: names[1]})
