"""Losses on numbered axes: PyTorch's places for batches, classes and times, where no axis is named."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import AxisError, Name, Names
from namedgrad.positional.array import box, ordered
from namedgrad.positional.axis import at_least, expand, name_of, named, names_of, squeeze
from namedgrad.positional.broadcasting import in_full, joint_sizes, squeezed
from namedgrad.positional.operands import numbered, unwrap
from namedgrad.positional.protocol import kind_of, positional_in
from namedgrad.primitive import OPERATIONS


class Call:
    """One call: its arguments by name, those that are arrays with numbered axes."""

    def __init__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.name, self.function = name, OPERATIONS[name].function
        signature = inspect.signature(self.function)
        self.given = dict(signature.bind_partial(*args, **kwargs).arguments)
        self.kind = kind_of(positional_in(tuple(self.given.values())))
        self.first = next(iter(signature.parameters))
        self.x = self.array(self.first)

    def array(self, parameter: str) -> DimArray:
        """An argument with numbered axes."""
        if parameter not in self.given:
            raise TypeError(f"{self.name}() is missing the argument {parameter!r}")
        return unwrap(self.given[parameter], parameter)

    def run(self, arrays: dict[str, DimArray], whole: Names = (), **dims: Any) -> Any:
        """The result, its axes in the order of their numbers; arrays that have the axes ``whole`` have them in full."""
        if self.given.get("reduce_dim") is not None:
            self.given["reduce_dim"] = names_of(self.x, self.given["reduce_dim"])
        arrays = {self.first: self.x, **arrays}
        sizes = joint_sizes(tuple(arrays.values()))
        met = {p: in_full(squeezed(a, sizes), [n for n in whole if n in a.names], sizes) for p, a in arrays.items()}
        out = self.function(**{**self.given, **met, **dims})
        return box(ordered(out, axes.in_order(out.dims)), self.kind)


def _along(name: str, default: int, *others: str, vectors: tuple[str, ...] = ()) -> Callable[..., Any]:
    """A loss of vectors along one axis, of classes say, which targets of one axis less than the first array lack."""

    def call(*args: Any, **kwargs: Any) -> Any:
        call = Call(name, args, kwargs)
        arrays = {p: call.array(p) for p in others if call.given.get(p) is not None}
        width = max(call.x.ndim, *(a.ndim for p, a in arrays.items() if p not in OF_CLASSES), 0)
        number = call.given.pop("dim", default if width > 1 else 0)
        if not width:  # as in PyTorch, a number is a vector of one cell
            arrays = {p: expand(a, (0,)) if p in vectors and not a.ndim else a for p, a in arrays.items()}
        width = max(width, 1)
        x = call.x = at_least(call.x, width)  # vectors broadcast before one of their axes is counted
        dim = name_of(x, number)
        if name in OF_A_CLASS and x.ndim == 1 and _is_alone(arrays.get("target")):
            if name == "multi_margin_loss":  # which keeps the axis
                x = call.x = expand(x, (0,))
            else:
                arrays["target"] = squeeze(arrays["target"], arrays["target"].dims)
        rest = tuple(n for n in x.dims if n is not dim)
        fitted = {p: _fitted(a, dim, rest, p) if p in OF_CLASSES else at_least(a, width) for p, a in arrays.items()}
        return call.run(fitted, (dim,), dim=dim)

    return call


OF_CLASSES = ("target", "weight")
OF_A_CLASS = ("nll_loss", "cross_entropy", "multi_margin_loss")


def _is_alone(target: DimArray | None) -> bool:
    """Whether it is an axis of one class, which PyTorch takes for that of one vector."""
    return target is not None and target.shape == (1,) and target.dtype.kind in "iub"


def _fitted(a: DimArray, dim: Name, rest: Names, parameter: str) -> DimArray:
    if parameter == "weight" and a.ndim == 1:
        return named(a, (dim,))
    lacks = parameter == "target" and a.ndim == len(rest)
    return named(a, rest) if lacks else a


def _prelu(*args: Any, **kwargs: Any) -> Any:
    call = Call("prelu", args, kwargs)
    weight = call.array("weight")
    if weight.ndim == 1 and weight.size == 1:
        weight = squeeze(weight, weight.dims)
    if weight.ndim == 1 and call.x.ndim > 1:
        weight = named(weight, call.x.dims[1:2])
    return call.run({"weight": weight})


def _kl_div(*args: Any, **kwargs: Any) -> Any:
    call = Call("kl_div", args, kwargs)
    more: dict[str, Any] = {p: names_of(call.x, call.given[p]) for p in ("dim",) if call.given.get(p) is not None}
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
    if call.x.ndim < 2:
        raise AxisError(f"ctc_loss: log-probabilities of {call.x.ndim} axes need two, times first and classes last")
    time, *batch, kind = call.x.dims
    targets = call.array("targets")
    label = axes.local("label")
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
    **{name: _along(name, 1, "target", "weight") for name in OF_A_CLASS},
    "multilabel_soft_margin_loss": _along("multilabel_soft_margin_loss", -1, "target", "weight", vectors=("target",)),
    "multilabel_margin_loss": _along("multilabel_margin_loss", -1, "target", vectors=("target",)),
    "cosine_embedding_loss": _along("cosine_embedding_loss", -1, "input2", "target"),
    "cosine_similarity": _along("cosine_similarity", 1, "x2", vectors=("x2",)),
    "pairwise_distance": _along("pairwise_distance", -1, "x2"),
    "triplet_margin_loss": _along("triplet_margin_loss", -1, "positive", "negative"),
    "triplet_margin_with_distance_loss": _triplet,
    "glu": _along("glu", -1),
    "prelu": _prelu, "kl_div": _kl_div, "gaussian_nll_loss": _gaussian, "ctc_loss": _ctc,
}  # fmt: skip
