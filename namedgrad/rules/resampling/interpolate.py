"""Interpolation to other sizes: one small matrix per dim."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

from namedgrad.array import DimArray, extent
from namedgrad.axes import AxisError, Name
from namedgrad.backends.resampling import Grid
from namedgrad.primitive import linear, operation, sample
from namedgrad.rules.dims import mapping
from namedgrad.rules.structure import cast

# fmt: off
resample      = linear("(n)->(n)", "resample", transpose=lambda g, x, grid: resample_back(g, grid=grid))
resample_back = linear("(n)->(n)", "resample_back", transpose=lambda g, x, grid: resample(g, grid=grid))
# fmt: on

_KINDS = {
    "nearest": "nearest", "nearest-exact": "nearest-exact", "linear": "linear", "bilinear": "linear",
    "trilinear": "linear", "cubic": "cubic", "bicubic": "cubic", "area": "area",
}  # fmt: skip
_ALIGNED = {"linear", "cubic"}


@operation(
    sample("real(a,b)", size={"a": 5}),
    sample("real(a,b)", size={"a": 5, "b": 3}, mode="linear"),
    sample("real(a,b)", size={"b": 7}, mode="bicubic", align_corners=True),
    sample("real(a,b)", size={"b": 3}, mode="area"),
    sample("real(a,six)", size={"six": 4}, mode="bilinear", antialias=True),
    method=True,
)
def interpolate(
    x: DimArray, size: Mapping[Any, int] | None = None, *, scale_factor: Mapping[Any, float] | None = None,
    mode: str = "nearest", align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> DimArray:  # fmt: skip
    """Other sizes along dims, cells being of equal width.

    Parameters
    ----------
    x : DimArray
    size : mapping of dim to int, optional
        The new sizes.
    scale_factor : mapping of dim to float, optional
        In place of ``size``: a dim of size n becomes ``floor(n * factor)``, and positions are computed with the factor.
    mode : {"nearest", "nearest-exact", "linear", "cubic", "area"}
        ``"bilinear"``, ``"trilinear"`` and ``"bicubic"`` mean the same as ``"linear"`` and ``"cubic"``: each dim is
        interpolated on its own.
    align_corners : bool, optional
        The centers of the first and last cells stay where they are; by default the outer edges do. For linear and cubic.
    recompute_scale_factor : bool, optional
        Compute positions with the ratio of the sizes, also where ``scale_factor`` is given.
    antialias : bool
        Widen the kernel where a dim shrinks. For linear and cubic.

    Returns
    -------
    DimArray
        With the dims of ``x``, in its dtype; integers become floats unless the mode is nearest.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        If both ``size`` and ``scale_factor`` are given, or neither, or a size is not positive, or an option does not go
        with the mode.

    Notes
    -----
    As ``torch.nn.functional.interpolate``, whose spatial axes are the dims named here. The cubic is that of Keys
    (1981), *Cubic convolution interpolation for digital image processing*, with a = -0.75, and -0.5 with ``antialias``.
    Linear in ``x``: the gradient is the transposed map. A cell whose weight is 0 takes no part, whatever it holds.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([1.0, 2.0], ("x",))
    >>> ng.interpolate(a, {"x": 4}).data, ng.interpolate(a, {"x": 4}, mode="linear").data
    (array([1., 1., 2., 2.]), array([1.  , 1.25, 1.75, 2.  ]))
    >>> ng.interpolate(a, scale_factor={"x": 1.5}, mode="linear", align_corners=True).data
    array([1. , 1.5, 2. ])
    """
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor, a mapping of dims")
    kind = _kind(mode, align_corners, antialias)
    given = mapping(x, size if scale_factor is None else scale_factor, {}, "interpolate")
    scaled = scale_factor is not None and not recompute_scale_factor and kind != "area"
    sizes = {d: v if scale_factor is None else math.floor(float(extent(x, d)) * v) for d, v in given.items()}
    grids = {d: _grid(kind, x, d, operator.index(n), bool(align_corners)) for d, n in sizes.items()}
    if scaled:
        grids = {d: _scaled(grid, given[d], len(grids)) for d, grid in grids.items()}
    if x.dtype.kind not in "fc" and not kind.startswith("nearest"):
        x = cast(x, "float64")
    for d, grid in sorted(grids.items(), key=lambda item: item[1].step, reverse=True):  # those that shrink come first
        x = x if _stays(grid, list(grids.values())) else resample(x, (d,), grid=grid)
    return x


def _kind(mode: str, align_corners: bool | None, antialias: bool) -> str:
    if mode not in _KINDS:
        raise ValueError(f"interpolate: mode {mode!r} is not one of {', '.join(map(repr, _KINDS))}")
    kind = _KINDS[mode]
    if kind not in _ALIGNED and (align_corners is not None or antialias):
        raise ValueError(f"interpolate: align_corners and antialias are for linear and cubic, not for {mode!r}")
    return f"smooth-{kind}" if antialias else kind


def _grid(kind: str, x: DimArray, dim: Name, size: int, align: bool) -> Grid:
    n = extent(x, dim)
    if n < 1 or size < 1:
        raise ValueError(f"interpolate: cannot resample dim {dim!r} of size {n} to size {size}")
    if align:
        return Grid(kind, n, size, (n - 1) / (size - 1) if size > 1 else 0.0, align)
    return Grid(kind, n, size, n / size)


def _scaled(grid: Grid, factor: float, count: int) -> Grid:
    """Positions computed with the factor; PyTorch takes nearest cells of two dims that double for just that."""
    if grid.align or (grid.kind == "nearest" and count == 2 and grid.size == 2 * grid.n):
        return grid
    return grid._replace(step=1 / factor)


def _stays(grid: Grid, grids: list[Grid]) -> bool:
    """Whether nothing changes: PyTorch copies where the size is kept, whatever the factor; not so for some modes."""
    if grid.kind in {"nearest-exact", "cubic"} or (grid.kind == "nearest" and len(grids) != 2):
        return grid.n == grid.size and grid.step == 1
    return grid.n == grid.size


@operation(
    sample("real(a,b)", size={"a": 5}, mode="linear"), sample("real(a,b)", scale_factor={"a": 2, "b": 1.5}), method=True
)
def upsample(
    x: DimArray, size: Mapping[Any, int] | None = None, *, scale_factor: Mapping[Any, float] | None = None,
    mode: str = "nearest", align_corners: bool | None = None,
) -> DimArray:  # fmt: skip
    """Larger sizes along dims: :func:`interpolate` under PyTorch's other name.

    Parameters
    ----------
    x : DimArray
    size : mapping of dim to int, optional
    scale_factor : mapping of dim to float, optional
    mode : str
    align_corners : bool, optional
        All as for :func:`interpolate`.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.
    ValueError
        As :func:`interpolate`.

    Notes
    -----
    As ``torch.nn.functional.upsample``. Linear in ``x``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.upsample(ng.DimArray([1.0, 2.0], ("x",)), scale_factor={"x": 2}).data
    array([1., 1., 2., 2.])
    """
    return interpolate(x, size, scale_factor=scale_factor, mode=mode, align_corners=align_corners)


__all__ = ["AxisError", "interpolate", "resample", "resample_back", "upsample"]
