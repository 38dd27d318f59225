"""Matrices of blocks, and every combination of given cells."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError, Names
from namedgrad.linear import Like
from namedgrad.primitive import operation, sample
from namedgrad.rules.dims import as_names, check, named_dims
from namedgrad.rules.movement import join, merge
from namedgrad.rules.movement.joining import met
from namedgrad.rules.structure import cast, relabel, reorder, spread


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
    row, column = named_dims(dims, "block_diag", "of the rows", "of the columns")
    for b in blocks:
        for n in (row, column):
            if n in b.names:
                check(b, n, "block_diag")
    out = join(met(blocks), row, column)
    return reorder(out, (*(n for n in out.names if n not in (row, column)), row, column))


@operation(sample("real(a)", "real(b)", dim=("a", "b")), sample("real(a)", "real(b)", "real(c,i)", dim=("a", "b", "c"), new_dims=("p", "q")),
           sample("complex(a)", "real(b)", dim=("a", "b")), sample("real(a,b)", dim="b"))
def cartesian_prod(*arrays: DimArray, dim: Any = None, new_dims: Names = ("combination", "variable")) -> DimArray:
    """Every combination of one cell of each array, the last array varying fastest.

    Parameters
    ----------
    *arrays : DimArray
    dim : name or names, optional
        The dim of each array whose cells are combined, all different; by default the only dim that it has. Other dims
        are aligned by name.
    new_dims : pair of names
        The dim that counts the combinations, and the one that counts the arrays.

    Returns
    -------
    DimArray
        With the new dims last.

    Raises
    ------
    AxisError
        If a dim is unknown or vectorized, is named twice, or has to be named and is not.

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
    own = _own_dims(xs, dim)
    combination, variable = axes.check_names(new_dims)
    dtype = functools.reduce(np.promote_types, [x.dtype for x in xs])
    table = dict(zip(own, (extent(x, n) for x, n in zip(xs, own, strict=True)), strict=True))
    cells = axes.local("combination"), axes.local("variable")
    target = Like((*own, cells[1]), (*table.values(), 1), dtype)  # which the variable ends: so all lie in the order of the result
    wide = [spread(cast(x, dtype), target) for x in xs]
    out = merge(join(wide, cells[1]), own, cells[0])
    rest = tuple(n for n in out.names if n not in cells)
    return relabel(reorder(out, (*rest, *cells)), {cells[0]: combination, cells[1]: variable})


def _own_dims(xs: list[DimArray], dim: Any) -> Names:
    if dim is None:
        for x in xs:
            if x.ndim != 1:
                raise AxisError(f"cartesian_prod: say by dim= which dim of {describe(x)} is combined with the others")
        own = tuple(x.dims[0] for x in xs)
    else:
        own = as_names(xs[0], dim)
    if len(own) != len(xs):
        raise AxisError(f"cartesian_prod: dim={dim!r} must name one dim for each of {len(xs)} arrays")
    axes.refuse_repeats(own, "cartesian_prod: ")
    return tuple(check(x, n, "cartesian_prod") for x, n in zip(xs, own, strict=True))
