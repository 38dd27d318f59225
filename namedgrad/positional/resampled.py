"""Resampling and signals on numbered axes: images as (batch, channel, ...), coordinates along their axis."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import AxisError, Name, Names
from namedgrad.positional.array import box, ordered
from namedgrad.positional.axis import apart, framed, name_of, named, names_of
from namedgrad.positional.broadcasting import meet
from namedgrad.positional.layouts import letter, letters, placed
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import kind_of, positional_in
from namedgrad.primitive import OPERATIONS
from namedgrad.rules.structure import relabel

LINE = letter("line")


def _interpolate(name: str) -> Callable[..., Any]:
    """Sizes of the axes from the third on, or a mapping of axis numbers."""

    def call(x: Any, size: Any = None, scale_factor: Any = None, **options: Any) -> Any:
        a = numbered(x)
        given = {k: _by_axis(a, v) for k, v in (("size", size), ("scale_factor", scale_factor)) if v is not None}
        out = OPERATIONS[name].function(a, **given, **options)
        return box(ordered(out, a.dims), kind_of(positional_in((x,))))

    return call


def _by_axis(x: DimArray, given: Any) -> dict[Name, Any]:
    if isinstance(given, Mapping):
        return {name_of(x, k): v for k, v in given.items()}
    spatial = x.dims[2:]
    values = tuple(given) if isinstance(given, Sequence) else (given,) * len(spatial)
    if len(values) != len(spatial):
        raise AxisError(f"{len(values)} sizes for the {len(spatial)} axes behind batch and channel of shape {x.shape}")
    return dict(zip(spatial, values, strict=True))


def _image(x: Any, inner: Names) -> DimArray:
    """The last axes under these names; the channel in front of them, if there is one, and batch axes."""
    a = numbered(x)
    return framed(a, (), (letter("channel"), *inner)[-a.ndim :])


def _grid_sample(x: Any, grid: Any, *args: Any, **options: Any) -> Any:
    """(..., channel, sizes) at (..., new sizes, positions)."""
    g = numbered(grid)
    count = g.shape[-1]
    inner, outer = letters("uvwst"[:count]), letters("UVWST"[:count])
    a, at = meet(_image(x, inner), framed(g, (), (*outer, letter("position"))))
    out = OPERATIONS["grid_sample"].function(a, at, *args, **options, dims=inner, coord=letter("position"))
    return placed(out, (letter("channel"), *outer), kind_of(positional_in((x, grid))))


def _affine_grid(theta: Any, size: Sequence[int], *, align_corners: bool = False) -> Any:
    """Matrices (..., d, d + 1) for an image of the size (..., sizes): (..., sizes, d)."""
    t = numbered(theta)
    count = t.shape[-2]
    outer, dims = letters("UVWST"[:count]), letters("rc")
    sizes = dict(zip(outer, tuple(size)[-count:], strict=True))
    out = OPERATIONS["affine_grid"].function(framed(t, (), dims), sizes, dims, align_corners=align_corners)
    return placed(out, (*outer, dims[0]), kind_of(positional_in((theta,))))


def _map_coordinates(x: Any, coordinates: Any, *args: Any, **options: Any) -> Any:
    """An array at positions (axes, ...), as SciPy has them."""
    a, p = apart(numbered(x), "mapped"), apart(numbered(coordinates), "place")
    out = OPERATIONS["map_coordinates"].function(a, p, *args, **options, dims=a.dims, coord=p.dims[0])
    return box(ordered(out, p.dims[1:]), kind_of(positional_in((x, coordinates))))


# ------------------------------------------------------------------------------------------------ along one axis


def _interp(
    x: Any, targets: Any = None, coords: Any = None, method: str = "linear", *, dim: Any = None, **options: Any
) -> Any:
    """Targets of any shape in the place of an axis; coordinates of one axis belong to it."""
    wanted = targets if isinstance(targets, Mapping) else {-1 if dim is None else dim: targets}
    given = coords if isinstance(coords, Mapping) else {} if coords is None else {next(iter(wanted)): coords}
    a = numbered(x)
    kind = kind_of(positional_in((x, *wanted.values(), *given.values())))
    table = {name_of(a, k): numbered(np.asarray(v) if isinstance(v, (list, tuple)) else v) for k, v in wanted.items()}
    known = {name_of(a, k): _along_dim(v, name_of(a, k)) for k, v in given.items()}
    places: list[Name] = []
    for n in a.dims:
        new = [axes.local(("target", n, k)) for k in table[n].dims] if n in table else [n]
        places += new
        if n in table:
            table[n] = named(table[n], new)
    return box(ordered(OPERATIONS["interp"].function(a, table, known, method, **options), places), kind)


def _along_dim(v: Any, dim: Name) -> DimArray:
    """An array of one axis lies along ``dim``; others broadcast from the right."""
    a = numbered(v)
    return named(a, (dim,)) if a.ndim == 1 else a


def _along(name: str) -> Callable[..., Any]:
    """Arrays beside the first belong to the axis, whose number may also come first, as in xarray's methods."""
    signature = inspect.signature(OPERATIONS[name].function)

    def call(*args: Any, **kwargs: Any) -> Any:
        options = dict(signature.bind(*args, **kwargs).arguments)
        kind = kind_of(positional_in(tuple(options.values())))
        a, dim = numbered(options.pop("x")), options.pop("dim", None)
        if isinstance(options.get("coord"), int):
            dim = options.pop("coord")
        single = name not in {"gradient", "integrate"}
        chosen = names_of(a, dim if dim is not None or not single else -1)
        for key in ("coord", "weights", "w"):
            if options.get(key) is not None:
                options[key] = _along_dim(options[key], chosen[0])
        if options.get("spacing") is not None:
            options["spacing"] = _spacings(a, options["spacing"], chosen)
        out = OPERATIONS[name].function(a, dim=chosen if not single else chosen[0], **options)
        boxed = tuple(box(ordered(o, o.dims), kind) for o in (out if isinstance(out, tuple) else (out,)))
        return boxed if isinstance(out, tuple) else boxed[0]

    return call


def _spacings(x: DimArray, given: Any, chosen: Names) -> Any:
    """Distances or points of each axis, in the order of the axes or by their numbers, or one distance for all."""
    if isinstance(given, Mapping):
        table = {name_of(x, k): v for k, v in given.items()}
    elif isinstance(given, (list, tuple)) and len(given) == len(chosen):
        table = dict(zip(chosen, given, strict=True))
    elif len(chosen) == 1 and np.ndim(given):
        table = {chosen[0]: given}
    else:
        return given
    return {n: _along_dim(v, n) for n, v in table.items()}


def _pairwise(name: str, *, several: bool = False) -> Callable[..., Any]:
    """Along axes counted from the right in both, or all those of one; the others broadcast."""

    def call(x: Any, y: Any, dim: Any = -1, mode: str | None = None) -> Any:
        a, b = numbered(x), numbered(y)
        options = {} if mode is None else {"mode": mode}
        names = names_of(max(a, b, key=lambda v: v.ndim), dim)
        a, b = (named(v, names) if v.ndim == len(names) else v for v in (a, b))
        lines, others = ({n: axes.local((side, n)) for n in names} for side in ("line", "other line"))
        a, b = meet(_renamed(a, lines), _renamed(b, others))
        dims = tuple(lines.values())
        b = _renamed(b, {others[n]: lines[n] for n in names})
        out = OPERATIONS[name].function(a, b, dims if several else dims[0], **options)
        back = relabel(out, axes.invert(lines))
        return box(ordered(back, axes.in_order(back.dims)), kind_of(positional_in((x, y))))

    return call


def _renamed(x: DimArray, table: Mapping[Name, Name]) -> DimArray:
    """The axes that it has of these under their other names."""
    return relabel(x, {o: n for o, n in table.items() if o in x.dims})


def _polyval(x: Any, coefficients: Any, degree: int = 0) -> Any:
    """Coefficients along their first axis, unless another is given; their other axes come behind those of x."""
    a, p = apart(numbered(x), "place"), numbered(coefficients)
    at = p.dims.index(name_of(p, degree))
    more = tuple([LINE if i == at else axes.local(("polynomial", n)) for i, n in enumerate(p.dims)])
    out = OPERATIONS["polyval"].function(a, named(p, more), LINE)
    return box(ordered(out, (*a.dims, *(n for n in more if n is not LINE))), kind_of(positional_in((x, coefficients))))


RESAMPLED: dict[str, Callable[..., Any]] = {
    "interpolate": _interpolate("interpolate"), "upsample": _interpolate("upsample"), "grid_sample": _grid_sample,
    "affine_grid": _affine_grid, "map_coordinates": _map_coordinates, "interp": _interp, "polyval": _polyval,
    **{name: _along(name) for name in ("differentiate", "gradient", "integrate", "cumulative_integrate", "polyfit")},
    "convolve": _pairwise("convolve"), "correlate": _pairwise("correlate"),
    "fftconvolve": _pairwise("fftconvolve", several=True),
}  # fmt: skip
