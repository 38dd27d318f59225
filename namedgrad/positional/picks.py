"""Gather and scatter, and spectra of pieces, on numbered axes, in the places that PyTorch gives them.

The index of ``gather`` and its like has the axes of the array; that of ``index_select`` and its like runs
along the axis that it indexes; tables of embeddings have rows first; sorted values ascend along the last axis.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import Name, Names
from namedgrad.positional.array import box, ordered, renumber
from namedgrad.positional.axis import apart, name_of, named, names_of
from namedgrad.positional.broadcasting import joint_sizes, squeezed
from namedgrad.positional.operands import numbered
from namedgrad.positional.protocol import kind_of, positional_in
from namedgrad.primitive import OPERATIONS
from namedgrad.rules.structure import relabel

Given = dict[str, Any]


def _call(name: str, prepare: Callable[[Given], Names | None]) -> Callable[..., Any]:
    """An operation after its arguments got names; ``prepare`` may give the order of the result."""
    signature = inspect.signature(OPERATIONS[name].function)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        kind = kind_of(positional_in((args, kwargs)))
        order = prepare(bound.arguments)
        out = OPERATIONS[name].function(*bound.args, **bound.kwargs)
        if isinstance(out, tuple):
            return tuple(box(renumber(o), kind) for o in out)
        if order is None and all(isinstance(n, axes.Axis) for n in out.dims):
            order = axes.in_order(out.dims)
        return box(renumber(out if order is None else ordered(out, order)), kind)

    return call


def _axis_of(given: Given) -> tuple[DimArray, Name]:
    """The array and its axis that a number means, put in the places of what was given."""
    x = given["x"] = numbered(given["x"])
    given["dim"] = name_of(x, given["dim"])
    return x, given["dim"]


def _on(value: Any, dims: Names) -> DimArray:
    """The axes of a value as the last ones of ``dims``."""
    v = numbered(value)
    return named(v, dims[len(dims) - v.ndim :])


def _same(*others: str) -> Callable[[Given], Names | None]:
    """Index and what is written have the axes of the array."""

    def prepare(given: Given) -> Names | None:
        x, _ = _axis_of(given)
        for p in others:
            given[p] = numbered(given[p])
        return x.dims

    return prepare


def _met(*others: str) -> Callable[[Given], Names | None]:
    """Index and array have one axis each to themselves, and broadcast along all others, as in NumPy."""
    same, own = _same(*others), axes.local("own")

    def prepare(given: Given) -> Names | None:
        same(given)
        dim = given["dim"]
        x = relabel(given["x"], {dim: own})
        sizes = joint_sizes((x, given["index"]))
        for p in others:
            given[p] = squeezed(given[p], sizes)
        given["x"] = relabel(squeezed(x, sizes), {own: dim})
        return axes.in_order((*given["x"].dims, *given["index"].dims))

    return prepare


def _along(*others: str) -> Callable[[Given], Names | None]:
    """The index runs along the axis that it indexes."""

    def prepare(given: Given) -> Names | None:
        x, dim = _axis_of(given)
        index = numbered(given["index"])
        given["index"] = named(index, (dim,) * index.ndim)
        for p in others:
            given[p] = numbered(given[p])
        return x.dims if index.ndim else None

    return prepare


def _segments(given: Given) -> Names | None:
    x, dim = _axis_of(given)
    segments = numbered(given["segments"])
    given["segments"] = named(segments, (dim,)) if segments.ndim == 1 else segments
    return x.dims


def _runs(given: Given) -> Names | None:
    """The runs have the axes of the array up to the one that they divide."""
    x = given["x"] = numbered(given["x"])
    dim = given["dim"] = name_of(x, given.get("dim", 0))
    kind = "offsets" if given.get("lengths") is None else "lengths"
    runs = numbered(given[kind])
    lead = x.dims[: x.dims.index(dim)] if runs.ndim > 1 else ()
    given[kind] = named(runs, (*lead, dim))
    return x.dims


def _put(given: Given) -> Names | None:
    x = given["x"] = numbered(given["x"])
    index = given["index"] = apart(numbered(given["index"]), "index")
    given["source"] = _on(given["source"], index.dims)
    given["dim"] = names_of(x, given.get("dim"))
    return x.dims


def _masked_select(given: Given) -> Names | None:
    x, mask = np.broadcast_arrays(given["x"], given["mask"])
    given["x"], given["mask"] = numbered(x), numbered(mask)
    if given.get("dim") is not None:
        given["dim"] = names_of(given["x"], given["dim"])
    given["new_dim"] = axes.local("selected")
    return None


def _masked_scatter(given: Given) -> Names | None:
    wide, mask = np.broadcast_arrays(given["x"], given["mask"])
    x = given["x"] = numbered(wide)
    given["mask"] = numbered(mask)
    source = given["source"] = apart(numbered(given["source"]), "source")
    given["dim"], given["source_dim"] = names_of(x, given.get("dim")), source.dims
    return x.dims


def _select(given: Given) -> Names | None:
    x, dim = _axis_of(given)
    given["src"] = _on(given["src"], tuple(n for n in x.dims if n != dim))
    return x.dims


def _diagonal(given: Given) -> Names | None:
    x = given["x"] = numbered(given["x"])
    dims = given["dims"] = names_of(x, tuple(given.get("dims", (-2, -1))))
    line: Name = axes.local("picked diagonal")
    given["src"] = _on(given["src"], (*(n for n in x.dims if n not in dims), line))
    given["dim"] = line
    return x.dims


def _table(given: Given) -> Names | None:
    weight = apart(numbered(given["weight"]), "table")
    index = given["index"] = apart(numbered(given["index"]), "index")
    given["weight"], given["dim"] = weight, weight.dims[0]
    return (*index.dims, *weight.dims[1:])


def _bags(given: Given) -> Names | None:
    _table(given)
    index, weight = given["index"], given["weight"]
    if given.get("per_sample_weights") is not None:
        given["per_sample_weights"] = _on(given["per_sample_weights"], index.dims)
    over = given["over"] = index.dims[-1]
    if given.get("offsets") is None:
        return (*index.dims[:-1], *weight.dims[1:])
    offsets = given["offsets"] = apart(numbered(given["offsets"]), "bag")
    return (*(n for n in index.dims if n != over), *offsets.dims, *weight.dims[1:])


def _edges(edges: str) -> Callable[[Given], Names | None]:
    """Sorted values ascend along the last axis; the axes before it are met."""

    def prepare(given: Given) -> Names | None:
        table, x = numbered(given[edges]), numbered(given["x"])
        dim = given["dim"] = axes.local("edge")
        lead = x.dims[: table.ndim - 1]
        given[edges], given["x"] = named(table, (*lead, dim)), x
        return x.dims

    return prepare


def _windowed(given: Given) -> Name:
    """The axis of the samples or pieces; the window's only one gets a name of its own."""
    _, dim = _axis_of(given)
    if given.get("window") is not None:
        given["window"] = apart(numbered(given["window"]), "window")
    return dim


def _pieces(given: Given) -> Names | None:
    """Frequencies stand in front of the pieces, in which the samples were."""
    dim, bins = _windowed(given), axes.local("frequency")
    dims = given["x"].dims
    given["frequency"] = bins
    return (*dims[: dims.index(dim)], bins, *dims[dims.index(dim) :])


def _samples(given: Given) -> Names | None:
    dim, x = _windowed(given), given["x"]
    bins = given["frequency"] = name_of(x, given.get("frequency", x.dims.index(dim) - 1))
    return tuple(n for n in x.dims if n != bins)


_PREPARE: dict[str, Callable[[Given], Names | None]] = {
    "take_along_axis": _met("index"), "take_along_dim": _met("index"), "gather": _same("index"),
    "scatter": _same("index", "src"), "scatter_add": _same("index", "src"), "scatter_reduce": _same("index", "src"),
    "put_along_axis": _met("index", "values"),
    "index_select": _along(), "index_add": _along("source"), "index_copy": _along("source"),
    "index_fill": _along("value"), "index_reduce": _along("source"),
    **{name: _segments for name in OPERATIONS if name.startswith("segment_")}, "segment_reduce": _runs,
    "put": _put, "masked_select": _masked_select, "masked_scatter": _masked_scatter, "select_scatter": _select,
    "slice_scatter": _same("src"), "diagonal_scatter": _diagonal, "embedding": _table, "embedding_bag": _bags,
    "searchsorted": _edges("edges"), "bucketize": _edges("boundaries"), "digitize": _edges("bins"),
    "stft": _pieces, "istft": _samples,
}  # fmt: skip


def _index_put(x: Any, indices: Any, values: Any, *, accumulate: bool = False) -> Any:
    """At what ``x[indices]`` reads; a mapping gives the indexers by the numbers of their axes."""
    x = box(numbered(x), kind_of(positional_in((x, indices, values))))
    if isinstance(indices, Mapping):
        by_axis = {normalize_axis_index(axis, x.ndim): index for axis, index in indices.items()}
        indices = tuple(by_axis.get(i, slice(None)) for i in range(x.ndim))
    at = x.at[indices]
    return at.add(values) if accumulate else at.set(values)


PICKS: dict[str, Callable[..., Any]] = {
    **{name: _call(name, prepare) for name, prepare in _PREPARE.items()},
    "index_put": _index_put,
}
