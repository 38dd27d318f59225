"""Derivative rules by hand: ``custom_pullback`` and ``custom_pushforward``.

The rule sees the visible dims of the function's arguments and result, never a batch axis: everything else that a
cotangent or tangent carries is vectorized.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from namedgrad.array import DimArray, TraceError, constant, describe, extent
from namedgrad.axes import AxisError, Name, by_name
from namedgrad.linear import Leaf, Like, Map, fold, like
from namedgrad.primitive import zeros_of
from namedgrad.rules.complex import conj_if_complex
from namedgrad.rules.structure import multiply, reorder, spread, stamp
from namedgrad.trace import Level, Traced, backward, named_alike
from namedgrad.transforms.grad import Output
from namedgrad.transforms.leaves import Tree, adapter_of
from namedgrad.transforms.levels import as_taken, demoting, one_down, top_level
from namedgrad.transforms.tape import fresh_copy


class _Custom:
    """A function with a derivative rule of its own."""

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self.f = f
        self.rule: Callable[..., Any] | None = None

    def _decorate(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        self.rule = rule
        return rule

    def __call__(self, *args: Any) -> Any:
        if self.rule is None:
            raise TypeError(f"{self!r} has no rule yet: decorate one with @g.{self.decorator}")
        tree = Tree(args)
        structure: list[Output] = []

        def run(parts: Sequence[DimArray]) -> tuple[DimArray, ...]:
            structure.append(Output(self.f(*tree.rebuild(parts))))
            return tuple(structure[-1].parts)

        outs = self._record(run, tree, tree.parts, structure)
        return structure[0].value(outs)

    decorator = ""
    map_kind: type[_CustomMap]

    def _record(self, run: Any, tree: Tree, parts: Sequence[DimArray], structure: list[Output]) -> tuple[DimArray, ...]:
        parts = as_taken(parts)
        level = top_level(parts)
        if level is None:
            outs = run(parts)
            for o in as_taken(outs):  # nothing that was given is differentiated
                if o.level is not None:
                    _refuse_captured(o)
            return outs
        ins = one_down(parts, level)

        def below(parts: Sequence[DimArray]) -> tuple[DimArray, ...]:
            with demoting(level, _refuse_captured):
                return run(parts)

        outs = self._record(below, tree, ins, structure)
        for o in outs:  # a rule may return an array that it captures
            level.lend(o, watch=True)
        outs = level.own(tuple(outs))
        at = [i for i, p in enumerate(parts) if p.level is level]
        map_ = self.map_kind(self.rule, tree, structure[0].tree, ins, outs, at)  # type: ignore[arg-type]
        return level.record(map_, [parts[i].node for i in at], outs)


def _refuse_captured(x: DimArray) -> DimArray:
    raise TraceError(
        f"a function with a custom rule captures an array that is being differentiated, as {x!r} shows; "
        "pass it as an argument, or wrap it in ng.stop_gradient"
    )


class _CustomMap(Map):
    """What both kinds of rule share: structures and values of inputs and outputs."""

    __slots__ = ("at", "ins", "outs", "rule", "tree", "tree_out")
    repeats = False

    def __init__(
        self,
        rule: Callable[..., Any],
        tree: Tree,
        tree_out: Tree,
        ins: list[DimArray],
        outs: Sequence[DimArray],
        at: list[int],
    ) -> None:
        self.rule, self.tree, self.tree_out, self.ins, self.outs, self.at = rule, tree, tree_out, ins, outs, at

    @property
    def primals(self) -> tuple[Any, ...]:
        """Arguments as the rule sees them."""
        return self.tree.rebuild(self.ins)

    def result(self) -> Any:
        """The output as the rule sees it."""
        return self.tree_out.rebuild(self.outs)

    def cotangents_of(self, returned: Any) -> list[DimArray | None]:
        """What a pullback rule returned, one part per part of the arguments."""
        count = len(self.tree.treedef.children())
        if count == 1 and not (isinstance(returned, tuple) and len(returned) == 1):
            returned = (returned,)
        if not isinstance(returned, tuple) or len(returned) != count:
            raise TypeError(f"a custom pullback must return one cotangent per argument ({count}), as a tuple")
        return _parts_along(self.tree, returned, self.ins, "pullback")

    def fold_inputs(self, parts: Sequence[DimArray | None], how: Any) -> list[DimArray | None]:
        """Cotangents of the traced inputs, with the axes that they lack summed."""
        out: list[DimArray | None] = []
        for i in self.at:
            c, x = parts[i], self.ins[i]
            if c is None:
                out.append(None)
                continue
            own = fresh_copy(c)  # a rule may return an array that it captures
            full = stamp(spread(own, Like(x.names, x.full_shape, x.dtype)), how)
            out.append(fold(conj_if_complex(full), 1, x.names, None if full.dtype == x.dtype else x.dtype))
        return out


def _parts_along(tree: Tree, value: Any, likes: Sequence[DimArray], what: str) -> list[DimArray | None]:
    parts: list[DimArray | None] = []
    for leaf, n in zip(tree.treedef.flatten_up_to(value), tree.counts, strict=True):
        own = [] if leaf is None else list(adapter_of(leaf).parts(leaf))
        if own and len(own) != n:
            raise TypeError(f"a custom {what} returned {type(leaf).__name__} where {n} arrays are expected")
        parts.extend(own or [None] * n)
    for p, x in zip(parts, likes, strict=True):
        if p is not None and (extra := [d for d in p.dims if d not in x.names]):
            raise AxisError(
                f"a custom {what} returned the dims {p.dims} for an array with {x.dims}: {extra} must be summed"
            )
        differ = [] if p is None else [d for d in p.names if d in x.names and extent(p, d) != extent(x, d)]
        if p is not None and differ:
            raise AxisError(f"a custom {what} returned {describe(p)} for {describe(x)}: {differ} differ in size")
    return parts


def _agreed(g: dict[int, DimArray], outs: Sequence[DimArray]) -> dict[int, DimArray]:
    """Cotangents whose kept axes have the same names, though outputs may have come to have other ones later."""
    g = dict(g)
    for i, j in itertools.permutations(g, 2):
        g[i] = named_alike(g[i], g[j], outs[i].names)
    return g


def _show(g: DimArray, o: DimArray) -> DimArray:
    """A cotangent or tangent as a rule sees it: the dims of its array in their order, all else vectorized."""
    laid = reorder(g, (*(n for n in g.names if n not in o.names), *(n for n in o.names if n in g.names)))
    return stamp(laid, frozenset(n for n in g.names if n not in o.dims))


def _lacking(a: DimArray, sizes: Mapping[Name, int]) -> int:
    """The number of slices that share ``a``."""
    return math.prod(s for n, s in sizes.items() if n not in a.names)


def _times(a: DimArray, factor: float) -> DimArray:
    return a if factor == 1 else multiply(a, constant(factor))


def _transposed(
    rule: Callable[[list[DimArray]], list[DimArray | None]], space: Sequence[DimArray], g: Mapping[int, DimArray]
) -> list[DimArray | None]:
    """What the transpose of a rule, which is linear in arrays like those of ``space``, makes of some of its results."""
    leaves = [Leaf() for _ in space]
    with contextlib.closing(Level()) as level:
        outs = rule([Traced(zeros_of(x), level, n) for x, n in zip(space, leaves, strict=True)])
        met = [(out, c) for i, c in g.items() if (out := outs[i]) is not None and out.level is level]
        seeds = [(out.node, stamp(spread(c, like(out)), c.hidden)) for out, c in met]
        return backward(level.tape or (), seeds, leaves)


class _PullbackMap(_CustomMap):
    """The rule pulls; pushing is its transpose."""

    __slots__ = ()

    def _apply(self, cts: Sequence[DimArray], keep: frozenset[Name]) -> list[DimArray | None]:
        """Cotangents of the inputs, one slice at a time.

        An output that lacks a batch axis of the others is one value for all its slices: each slice gets its part of the
        cotangent, and what a slice gives to an input without the axis counts once per slice.
        """
        sizes = {n: extent(a, n) for a in (*self.ins, *self.outs) for n in a.hidden if n not in keep}
        shares = [_times(c, 1 / _lacking(c, sizes)) for c in cts]
        parts = self.cotangents_of(self.rule(self.tree_out.rebuild(shares), self.result(), *self.primals))
        lost = [{n: s for n, s in sizes.items() if n not in x.names} for x in self.ins]
        return [None if c is None else _times(c, _lacking(c, own)) for c, own in zip(parts, lost, strict=True)]

    def pull(self, g: Any) -> list[DimArray | None]:
        g = _agreed(g, self.outs)
        how = next(iter(g.values())).hidden
        cts = [_show(conj_if_complex(g[i]), o) if i in g else zeros_of(o) for i, o in enumerate(self.outs)]
        return self.fold_inputs(self._apply(cts, how.keep), how)

    def push(self, ts: Sequence[DimArray | None]) -> Any:
        given = [(i, t) for i, t in zip(self.at, ts, strict=True) if t is not None]
        added = frozenset((n, n) for i, t in given for n in t.names if n not in self.ins[i].names)
        mark = by_name(added, True)  # of them all: what a tangent is marked with may know only its own
        conjugates = {i: stamp(conj_if_complex(t), mark) for i, t in given}
        out = _transposed(lambda cts: self._apply(cts, mark.keep), self.outs, conjugates)
        return tuple(None if c is None else conj_if_complex(c) for c in out)


class _PushforwardMap(_CustomMap):
    """The rule pushes; pulling is its transpose."""

    __slots__ = ()

    def _apply(self, ts: Sequence[DimArray]) -> list[DimArray | None]:
        returned = self.rule(tuple(self.tree.rebuild(ts)), self.result(), *self.primals)
        parts = _parts_along(self.tree_out, returned, self.outs, "pushforward")
        added = {n for t, x in zip(ts, self.ins, strict=True) for n in t.names if n not in x.names}
        for t, o in zip(parts, self.outs, strict=True):
            if t is not None and (extra := [n for n in t.names if n not in o.names and n not in added]):
                raise AxisError(
                    f"a custom pushforward returned {describe(t)} for an output {describe(o)}: "
                    f"no tangent brought {extra}; sum them in the rule, or let the output have them"
                )
        return parts

    def push(self, ts: Sequence[DimArray | None]) -> Any:
        given = {i: t for i, t in zip(self.at, ts, strict=True) if t is not None}
        how = next(iter(given.values())).hidden
        full = [_show(given[i], x) if i in given else zeros_of(x) for i, x in enumerate(self.ins)]
        return tuple(
            None if t is None else stamp(spread(t, like(o)), how)
            for t, o in zip(self._apply(full), self.outs, strict=True)
        )

    def pull(self, g: Any) -> list[DimArray | None]:
        found = _transposed(self._apply, self.ins, g)
        return [found[i] for i in self.at]


class custom_pullback(_Custom):  # noqa: N801 - used as a decorator
    """Give a function a reverse-mode rule of your own.

    Parameters
    ----------
    f : callable
        Captures nothing that is differentiated: pass it as an argument.

    Notes
    -----
    ``@g.pullback def _(cotangent, out, *args)`` returns one cotangent per argument (None for none). Dims that the
    function knows are visible; every batch axis is vectorized, and so out of sight. Forward mode is the transpose of
    the rule, a second derivative differentiates its body.

    Examples
    --------
    >>> import namedgrad as ng
    >>> g = ng.custom_pullback(lambda x: ng.exp(x))
    >>> @g.pullback
    ... def _(cotangent, out, x):
    ...     return cotangent * out
    >>> ng.grad(lambda x: g(x).sum())(ng.DimArray([0.0, 0.0], ("x",))).data
    array([1., 1.])
    """

    decorator = "pullback"
    map_kind = _PullbackMap

    def pullback(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator for the rule."""
        return self._decorate(rule)


class custom_pushforward(_Custom):  # noqa: N801 - used as a decorator
    """Give a function a forward-mode rule of your own; reverse mode is its transpose.

    Parameters
    ----------
    f : callable
        Captures nothing that is differentiated: pass it as an argument.

    Notes
    -----
    ``@g.pushforward def _(tangents, out, *args)`` gets one tangent per argument and returns the tangent of the output;
    it must be linear in the tangents. Batch axes are out of sight, as for :class:`custom_pullback`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> g = ng.custom_pushforward(lambda x: ng.exp(x))
    >>> @g.pushforward
    ... def _(tangents, out, x):
    ...     return tangents[0] * out
    >>> ng.grad(lambda x: g(x).sum())(ng.DimArray([0.0, 0.0], ("x",))).data
    array([1., 1.])
    """

    decorator = "pushforward"
    map_kind = _PushforwardMap

    def pushforward(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator for the rule."""
        return self._decorate(rule)
