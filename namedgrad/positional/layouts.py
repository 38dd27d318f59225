"""Operations whose operands have familiar places for their axes: points in rows, channels second, time first.

A layout gives the last axes of every operand a letter, which is its name while the operation runs; axes in front of
them are batch, and broadcast from the right as NumPy's do.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import AxisError, Name, Names
from namedgrad.positional.array import box, ordered
from namedgrad.positional.axis import framed, names_of, numbered_of
from namedgrad.positional.broadcasting import meet, squeezed
from namedgrad.positional.operands import numbered, unwrap
from namedgrad.positional.protocol import kind_of, positional_in
from namedgrad.primitive import OPERATIONS
from namedgrad.rules.structure import relabel

MASKS = ("mask", "dropout_mask")  # parameters whose lettered axes broadcast too


@functools.cache
def letter(text: str) -> Name:
    """The name that a letter of a layout stands for."""
    return axes.fresh(text)


def letters(text: str) -> Names:
    """The names of several letters."""
    return tuple(map(letter, text))


def lettered(value: Any, text: str) -> DimArray:
    """The last axes of an array named by letters, the others numbered from the right."""
    x = numbered(value)
    return framed(x, (), letters(text[max(0, len(text) - x.ndim) :]))


def _joint(xs: Sequence[DimArray]) -> dict[Name, int]:
    """The size of every name after broadcasting."""
    sizes: dict[Name, int] = {}
    for x in xs:
        for n, s in x.sizes.items():
            if sizes.setdefault(n, s) == 1:
                sizes[n] = s
    return sizes


def placed(out: DimArray, last: Names, kind: Any) -> Any:
    """A result with its batch axes in front, and those behind them that it has of a layout."""
    return box(ordered(out, (*numbered_of(out.dims), *(n for n in last if n in out.dims))), kind)


def _arguments(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return inspect.signature(OPERATIONS[name].function).bind_partial(*args, **kwargs).arguments


def layout(name: str, operands: Mapping[str, str], out: str, **dims: Any) -> Callable[..., Any]:
    """The operation on numbered axes: letters per parameter, those of the result, and what the dims are called."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = _arguments(name, args, kwargs)
        kind = kind_of(positional_in(tuple(given.values())))
        if given.keys() & dims.keys():
            places = _spelled(operands)
            raise AxisError(f"{name} of positional arrays has fixed places for its axes, {places}; name them to choose")
        arrays = {p: lettered(given[p], text) for p, text in operands.items() if given.get(p) is not None}
        sizes = _joint([x for p, x in arrays.items() if p not in MASKS])
        if given.pop("enable_gqa", False):
            given.setdefault("head", -3)  # where PyTorch has it
        if isinstance(given.get("head"), int):
            given["head"] = _head(given["head"], arrays["query"])
        head = given.get("head")  # grouped where sizes differ, not repeated
        numbers: dict[Name, int] = {n: s for n, s in sizes.items() if isinstance(n, axes.Axis) and n != head}
        shared = sizes | {letter("h"): given["num_heads"]} if "num_heads" in given else sizes
        arrays = {p: squeezed(x, shared if p in MASKS else numbers) for p, x in arrays.items()}
        result = OPERATIONS[name].function(**{**given, **arrays, **dims})
        if isinstance(result, tuple):
            return tuple(placed(r, letters(out), kind) for r in result)
        return placed(result, letters(out), kind)

    return call


def _head(head: int, x: DimArray) -> Name:
    """An axis number of the queries as the number that it has among batch axes."""
    return axes.axis(head + 2 if head < 0 else head - x.ndim + 2)


def _spelled(operands: Mapping[str, str]) -> str:
    return ", ".join(f"{p} (..., {', '.join(text)})" for p, text in operands.items())


# ------------------------------------------------------------------------------------------------ normalisation


def _normalised(name: str, find: Callable[[DimArray, dict[str, Any]], tuple[Names, Names]]) -> Callable[..., Any]:
    """Weights and statistics along the axes that ``find`` gives, behind those to normalise over."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = _arguments(name, args, kwargs)
        kind = kind_of(positional_in(tuple(given.values())))
        x = numbered(given.pop("x"))
        dim, along = find(x, given)
        for p in ("weight", "bias", "running_mean", "running_var"):
            if given.get(p) is not None:
                v = numbered(given[p])
                own = along[max(0, len(along) - v.ndim) :]
                given[p] = relabel(v, {o: n for o, n in zip(v.dims, own) if o is not n})
        out = OPERATIONS[name].function(x, **given, dim=dim)
        if not isinstance(out, tuple):
            return box(ordered(out, x.dims), kind)
        return box(ordered(out[0], x.dims), kind), *(box(ordered(s, s.dims), kind) for s in out[1:])

    return call


def _over_dims(x: DimArray, given: dict[str, Any]) -> tuple[Names, Names]:
    dims = names_of(x, given.pop("dim"))
    return dims, dims


def _by_channel(first: int) -> Callable[[DimArray, dict[str, Any]], tuple[Names, Names]]:
    """Weights along axis 1; statistics over all others, or from axis ``first`` on."""

    def find(x: DimArray, given: dict[str, Any]) -> tuple[Names, Names]:
        rest = tuple(n for i, n in enumerate(x.dims) if i != 1 and i >= first) if x.ndim > 1 else ()  # channels alone
        dims = names_of(x, given.pop("dim")) if "dim" in given else rest
        lone = tuple(n for n in x.dims if n not in dims)
        return dims, lone if len(lone) == 1 else x.dims[1:2]

    return find


def _by_group(x: DimArray, given: dict[str, Any]) -> tuple[Names, Names]:
    (channel,) = names_of(x, given.pop("channel", 1))
    given["channel"] = channel
    dims = names_of(x, given.pop("dim")) if "dim" in given else tuple(n for n in x.dims[x.dims.index(channel) + 1 :])
    return dims, (channel,)


# ------------------------------------------------------------------------------------------------ recurrence

_NAMES = {"feature": letter("feature"), "hidden": letter("hidden"), "gate": letter("gate")}
_TIME, _LAYER, _CELL = letter("time"), letter("layer"), letter("cell")


def _weights(given: Sequence[Any], each: int, per_layer: int, *, projection: bool) -> list[DimArray]:
    gate, feature, hidden = _NAMES["gate"], _NAMES["feature"], _NAMES["hidden"]
    out = []
    for i, w in enumerate(given):
        at = i % each
        dims = [(gate, hidden if i >= per_layer else feature), (gate, hidden)][at] if at < 2 else (gate,)
        out.append(framed(numbered(w), (hidden, _CELL) if projection and at == each - 1 else dims, ()))
    return out


def _recurrent(name: str, states: int) -> Callable[..., Any]:
    """Time first (or at ``dim``), features last, layers first in states; weights as PyTorch has them."""

    def call(x: Any, *more: Any, dim: int = 0, **options: Any) -> Any:
        kind = kind_of(positional_in((x, more, options)))
        first = numbered(x)
        (time,) = names_of(first, dim)
        rest = [n for n in first.dims[:-1] if n is not time]
        table = {
            time: _TIME,
            first.dims[-1]: _NAMES["feature"],
            **{n: axes.axis(i - len(rest)) for i, n in enumerate(rest)},
        }
        first = relabel(first, table)
        projection = bool(options.get("projection"))
        each = 2 + 2 * bool(options.get("bias", True)) + projection
        ends = (_NAMES["hidden"], _CELL if projection else _NAMES["hidden"])
        starts = [None if s is None else framed(numbered(s), (_LAYER,), (n,)) for s, n in zip(more[:states], ends)]
        weights = _weights(more[states:], each, each * (1 + bool(options.get("bidirectional"))), projection=projection)
        if options.get("lengths") is not None:
            options["lengths"] = numbered(options["lengths"])
        if options.get("dropout_masks") is not None:
            options["dropout_masks"] = [
                framed(numbered(m), (_TIME,), (_NAMES["hidden"],)) for m in options["dropout_masks"]
            ]
        cell = {"cell": _CELL} if states == 2 else {}
        out, *last = OPERATIONS[name].function(
            first, *starts, *weights, dim=_TIME, layer=_LAYER, **_NAMES, **cell, **options
        )
        order = [table[n] for n in numbered(x).dims[:-1]]
        batch = [n for n in order if n is not _TIME]
        after = (box(ordered(s, (_LAYER, *batch, n)), kind) for s, n in zip(last, ends))
        return box(ordered(out, (*order, _NAMES["hidden"])), kind), *after

    return call


def _one_step(name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        given = _arguments(name, args, kwargs)
        projected = given.get("weight_hr") is not None
        operands = {"x": "f", "h": "h", "c": "c" if projected else "h", "weight_ih": "gf", "weight_hh": "gh",
                    "bias_ih": "g", "bias_hh": "g", "weight_hr": "hc"}  # fmt: skip
        cell = {"cell": letter("c")} if name == "lstm_cell" else {}
        return layout(name, operands, "hc", feature=letter("f"), hidden=letter("h"), gate=letter("g"), **cell)(**given)

    return call


# ------------------------------------------------------------------------------------------------ products and blocks


def _block_diag(*arrays: Any) -> Any:
    kind = kind_of(positional_in(arrays))
    blocks = [lettered(a, "rc") for a in arrays]
    return placed(OPERATIONS["block_diag"].function(*blocks, dims=letters("rc")), letters("rc"), kind)


def _cartesian_prod(*arrays: Any) -> Any:
    kind = kind_of(positional_in(arrays))
    own = [framed(numbered(a), (axes.local(("combined", i)),), ()) for i, a in enumerate(arrays)]
    if len(own) == 1:  # as in PyTorch
        return arrays[0]
    return placed(OPERATIONS["cartesian_prod"].function(*own, new_dims=letters("cv")), letters("cv"), kind)


def _dot(*arrays: Any, dim: Any = None) -> Any:
    """NumPy's sum of products, or that over the given axes; other axes broadcast."""
    for a in arrays:
        unwrap(a)
    if isinstance(dim, Mapping):
        pair: Any = (list(dim), list(dim.values()))
        return np.tensordot(arrays[0], arrays[1], pair)
    if dim is None:
        return functools.reduce(np.dot, arrays)
    kind = kind_of(positional_in(arrays))
    xs = meet(*map(numbered, arrays))
    widest = max((numbered(a) for a in arrays), key=lambda x: x.ndim)
    dims = widest.dims if dim is Ellipsis else names_of(widest, dim)
    return placed(OPERATIONS["dot"].function(*xs, dim=dims), (), kind)


def _by_numpy(name: str, function: Any, argument: str | None = None) -> Callable[..., Any]:
    """NumPy's function of the same name, which has its own places for axes."""

    def call(x: Any, y: Any, dim: Any = None) -> Any:
        if dim is None:
            return function(x, y)
        if argument is None:
            raise AxisError(f"{name} of positional arrays is NumPy's, without dim=; use np.tensordot or np.einsum")
        return function(x, y, **{argument: dim})

    return call


_ATTENTION = {"query": "lf", "key": "sf", "value": "sv", "mask": "ls", "dropout_mask": "ls"}
_HEADS = {
    "query": "lf", "key": "sf", "value": "sf", "extra_key": "i", "extra_value": "i", "mask": "hls",
    "dropout_mask": "hls",
    "query_weight": "if", "key_weight": "if", "value_weight": "if", "out_weight": "oi",
    "query_bias": "i", "key_bias": "i", "value_bias": "i", "out_bias": "o",
}  # fmt: skip

LAYOUTS: dict[str, Callable[..., Any]] = {
    "dot": _dot,
    "cdist": layout("cdist", {"x": "pk", "y": "rk"}, "pr", dim=letter("k")),
    "pdist": layout("pdist", {"x": "pk"}, "q", dims=letters("pk"), new_dim=letter("q")),
    "bilinear": layout("bilinear", {"x1": "i", "weight": "oij", "x2": "j", "bias": "o"}, "o", dim=letters("ij")),
    "block_diag": _block_diag,
    "cartesian_prod": _cartesian_prod,
    "kron": _by_numpy("kron", np.kron),
    "inner": _by_numpy("inner", np.inner),
    "vdot": _by_numpy("vdot", np.vdot),
    "vecdot": _by_numpy("vecdot", np.linalg.vecdot, "axis"),
    "layer_norm": _normalised("layer_norm", _over_dims),
    "rms_norm": _normalised("rms_norm", _over_dims),
    "batch_norm": _normalised("batch_norm", _by_channel(0)),
    "instance_norm": _normalised("instance_norm", _by_channel(2)),
    "group_norm": _normalised("group_norm", _by_group),
    "scaled_dot_product_attention": layout("scaled_dot_product_attention", _ATTENTION, "lv", dims=letters("lsf")),
    "multi_head_attention": layout(
        "multi_head_attention", _HEADS, "hlos", dims=letters("lsf"), inner=letter("i"), head=letter("h")
    ),
    **{name: _recurrent(name, states) for name, states in (("rnn", 1), ("gru", 1), ("lstm", 2))},
    **{name: _one_step(name) for name in ("rnn_cell", "gru_cell", "lstm_cell")},
}
