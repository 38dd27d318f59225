"""Losses on numbered axes: PyTorch's places for batches, classes and times, where no axis is named."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import Name, Names
from namedgrad.positional.array import box, joint_sizes, numbered, ordered, squeezed, unwrap
from namedgrad.positional.axis import name_of, named, names_of
from namedgrad.positional.protocol import kind_of, positional_in
from namedgrad.primitive import OPERATIONS


class Call:
    """One call: its arguments by name, those that are arrays with numbered axes."""

    def __init__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function = OPERATIONS[name].function
        signature = inspect.signature(self.function)
        self.given = dict(signature.bind_partial(*args, **kwargs).arguments)
        self.kind = kind_of(positional_in(tuple(self.given.values())))
        self.first = next(iter(signature.parameters))
        self.x = self.array(self.first)

    def array(self, parameter: str) -> DimArray:
        """An argument with numbered axes."""
        return unwrap(self.given[parameter], parameter)

    def run(self, arrays: dict[str, DimArray], **dims: Any) -> Any:
        """The result, its axes in the order of their numbers."""
        if self.given.get("reduce_dim") is not None:
            self.given["reduce_dim"] = names_of(self.x, self.given["reduce_dim"])
        arrays = {self.first: self.x, **arrays}
        sizes = joint_sizes(tuple(arrays.values()))
        met = {p: squeezed(a, sizes) for p, a in arrays.items()}
        out = self.function(**{**self.given, **met, **dims})
        return box(ordered(out, axes.in_order(out.dims)), self.kind)


def _along(name: str, default: int, *others: str) -> Callable[..., Any]:
    """A loss of vectors along one axis, of classes say; arrays of one axis less than the first lack this one."""

    def call(*args: Any, **kwargs: Any) -> Any:
        call = Call(name, args, kwargs)
        x = call.x
        dim = name_of(x, call.given.pop("dim", default if x.ndim > 1 else 0))
        rest = tuple(n for n in x.dims if n is not dim)
        arrays = {p: _fitted(call.array(p), dim, rest, p) for p in others if call.given.get(p) is not None}
        return call.run(arrays, dim=dim)

    return call


def _fitted(a: DimArray, dim: Name, rest: Names, parameter: str) -> DimArray:
    if parameter == "weight" and a.ndim == 1:
        return named(a, (dim,))
    lacks = parameter == "target" and a.ndim == len(rest)
    return named(a, rest) if lacks else a


def _prelu(*args: Any, **kwargs: Any) -> Any:
    call = Call("prelu", args, kwargs)
    weight = call.array("weight")
    if weight.ndim == 1 and call.x.ndim > 1 and weight.size > 1:
        weight = named(weight, call.x.dims[1:2])
    return call.run({"weight": weight})


def _kl_div(*args: Any, **kwargs: Any) -> Any:
    call = Call("kl_div", args, kwargs)
    more = {p: names_of(call.x, call.given[p]) for p in ("dim",) if call.given.get(p) is not None}
    if call.given.get("reduction") == "batchmean":
        more["batch_dim"] = name_of(call.x, call.given.get("batch_dim", 0))
    return call.run({"target": call.array("target")}, **more)


def _gaussian(*args: Any, **kwargs: Any) -> Any:
    call = Call("gaussian_nll_loss", args, kwargs)
    var = call.array("var")
    if var.ndim == call.x.ndim - 1 and var.ndim:  # one variance for the last axis
        var = named(var, call.x.dims[:-1])
    more = {"dim": names_of(call.x, call.given["dim"])} if call.given.get("dim") is not None else {}
    return call.run({"target": call.array("target"), "var": var}, **more)


def _ctc(*args: Any, **kwargs: Any) -> Any:
    """Times first, classes last, in between the batch that the targets begin with."""
    call = Call("ctc_loss", args, kwargs)
    call.given.pop("dims", None)
    time, *batch, kind = call.x.dims
    targets = call.array("targets")
    label = axes.fresh("label")
    arrays = {"targets": named(targets, (*batch[len(batch) - targets.ndim + 1 :], label))}
    for p in ("input_lengths", "target_lengths"):
        if call.given.get(p) is not None and not isinstance(call.given[p], int):
            lengths = call.array(p)
            arrays[p] = named(lengths, batch[len(batch) - lengths.ndim :])
    return call.run(arrays, dims=(time, kind, label))


def _triplet(*args: Any, **kwargs: Any) -> Any:
    """The distance is measured on positional arrays, by default along their last axis."""
    call = Call("triplet_margin_with_distance_loss", args, kwargs)
    measure = call.given.get("distance_function") or FUNCTIONS["pairwise_distance"]

    def distance(x: DimArray, y: DimArray) -> DimArray:
        return numbered(measure(box(x, call.kind), box(y, call.kind)))

    return call.run({p: call.array(p) for p in ("positive", "negative")}, distance_function=distance)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _along(name, 1, "target", "weight") for name in ("nll_loss", "cross_entropy", "multi_margin_loss")},
    "multilabel_soft_margin_loss": _along("multilabel_soft_margin_loss", -1, "target", "weight"),
    "multilabel_margin_loss": _along("multilabel_margin_loss", -1, "target"),
    "cosine_embedding_loss": _along("cosine_embedding_loss", -1, "input2", "target"),
    "cosine_similarity": _along("cosine_similarity", 1, "x2"),
    "pairwise_distance": _along("pairwise_distance", -1, "x2"),
    "triplet_margin_loss": _along("triplet_margin_loss", -1, "positive", "negative"),
    "triplet_margin_with_distance_loss": _triplet,
    "glu": _along("glu", -1),
    "prelu": _prelu, "kl_div": _kl_div, "gaussian_nll_loss": _gaussian, "ctc_loss": _ctc,
}  # fmt: skip
