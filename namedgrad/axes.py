"""The alignment layer: names in, positional axes out.

Every array carries one *name* per axis.  This module is the only place that turns names into axis positions:
which operand has to be permuted, where a missing axis is inserted, how a contraction becomes one batched matrix
product.  It works on tuples of names alone, so each answer is computed once and cached.

Three kinds of name exist:

* the user's names, any hashable but an int, ``None`` or ``Ellipsis``;
* :func:`axis` names, the numbered axes of a positional array, counted from the right (``axis(-1)`` is the last);
* :func:`core` names, the axes that a derivative rule is written on, numbered in the same way.

The last two are private sentinels.  They never equal an int nor each other, so a rule's ``core(-1)`` cannot be mistaken
for an axis of the user's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Name = Hashable
Names = tuple[Name, ...]


class AxisError(ValueError):
    """Names that cannot be reconciled: the message lists the dims, their sizes and the way out.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ones({"x": 2}) + ng.ones({"x": 3})
    Traceback (most recent call last):
        ...
    namedgrad.axes.AxisError: add: sizes of 'x' differ among the operands (x: 2), (x: 3); ...
    """


# ------------------------------------------------------------------------------------------------ names


class _Numbered:
    """A private name: one axis counted from the right; compared by identity, made only by its factory."""

    __slots__ = ("factory", "number")

    def __init__(self, factory: Callable[[int], _Numbered], number: int) -> None:
        self.factory, self.number = factory, number

    def __repr__(self) -> str:
        return f"{self.factory.__name__} {self.number}"

    def __reduce__(self) -> tuple[Any, ...]:
        return self.factory, (self.number,)


class Axis(_Numbered):
    """The name of a numbered axis of a positional array."""

    __slots__ = ()


class Core(_Numbered):
    """The name of an axis that a derivative rule is written on."""

    __slots__ = ()


@functools.cache
def axis(number: int) -> Axis:
    """Name of the axis ``number`` (negative: counted from the right) of a positional array."""
    return Axis(axis, number)


@functools.cache
def core(number: int) -> Core:
    """Name of the axis ``number`` (negative) in the signature of a derivative rule."""
    return Core(core, number)


@functools.cache
def cores(count: int) -> Names:
    """``core(-count), ..., core(-1)``."""
    return tuple(core(i) for i in range(-count, 0))


NONE: frozenset[Name] = frozenset()  #: nothing is hidden, in this one object: marks are compared by ``is`` first


class ByName(frozenset):  # type: ignore[type-arg]
    """The mark of arrays inside push and pull: nothing is hidden, nothing clashes, alignment is by name only.

    It says what :func:`namedgrad.linear.fold` must know of the cotangent that carries it: the names that are *kept*
    although an operand lacks them (the vectorized axes of the output, fresh Jacobian axes), each with the name that it
    has at the leaves (a renaming on the way down changes the current name only), and whether products are *guarded*.
    """

    keep: frozenset[Name]
    final: dict[Name, Name]
    ends: frozenset[Name]
    guard: bool
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def rename(self, mapping: Mapping[Name, Name]) -> ByName:
        """The mark after current names were changed."""
        if self.keep.isdisjoint(mapping):
            return self
        return by_name(frozenset((mapping.get(now, now), final) for now, final in self.final.items()), self.guard)


@functools.cache
def by_name(pairs: frozenset[tuple[Name, Name]] = NONE, guard: bool = False) -> ByName:  # type: ignore[assignment]
    """The mark that keeps ``{current: final}`` names; equal marks are one object."""
    mark = ByName()
    mark.final = dict(pairs)
    mark.keep = frozenset(mark.final)
    mark.ends = frozenset(mark.final.values())
    mark.guard = guard
    return mark


def check_names(dims: Iterable[Name] | str, ndim: int | None = None) -> Names:
    """The dims as a tuple, refused if a name is reserved or repeated or the count is not ``ndim``."""
    names = (dims,) if isinstance(dims, (str, int)) else tuple(dims)
    for name in names:
        if name is None or name is Ellipsis or isinstance(name, (int, np.integer)):
            raise AxisError(
                f"{name!r} cannot name a dim: ints are positions, None and Ellipsis are reserved; dims={names}"
            )
        hash(name)
    if ndim is not None and len(names) != ndim:
        raise AxisError(f"data has {ndim} axes but {len(names)} dims are given: {names}")
    refuse_repeats(names)
    return names


def refuse_repeats(names: Names, where: str = "") -> None:
    """Raise if a name occurs twice."""
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise AxisError(
            f"{where}the name {twice!r} occurs more than once in {names}; "
            f"give one of the two another name first, with .rename({{{twice!r}: 'other'}})"
        )


def in_order(names: Iterable[Name]) -> Names:
    """Unique names in order of first appearance; numbered axes come last, in their own order."""
    unique = tuple(dict.fromkeys(names))
    numbered = [n for n in unique if isinstance(n, Axis)]
    return (*(n for n in unique if not isinstance(n, Axis)), *sorted(numbered, key=lambda n: n.number))


# ------------------------------------------------------------------------------------------------ plans


class Move(NamedTuple):
    """How one operand is brought into position: a permutation, then an index that inserts missing axes."""

    perm: tuple[int, ...] | None
    insert: tuple[Any, ...] | None


def _permutation(source: Names, target: Sequence[Name]) -> tuple[int, ...] | None:
    perm = tuple(source.index(n) for n in target)
    return None if perm == tuple(range(len(source))) else perm


def _move(source: Names, batch: Names, core_names: Names) -> Move:
    present = [n for n in batch if n in source and n not in core_names]
    index: list[Any] = [slice(None) if n in present else None for n in batch]
    while index and index[0] is None:  # NumPy broadcasts missing leading axes by itself
        del index[0]
    return Move(_permutation(source, [*present, *core_names]), (*index, ...) if None in index else None)


def without(mark: frozenset[Name], gone: Iterable[Name]) -> frozenset[Name]:
    """The mark of an array that has lost axes."""
    return (mark.difference(gone) or NONE) if mark else mark


def merge_hidden(names: Sequence[Names], hidden: Sequence[frozenset[Name]]) -> frozenset[Name]:
    """The union of the vectorized names; a name hidden in one operand and visible in another is refused."""
    for mark in hidden:
        if type(mark) is ByName:
            return mark
    union = NONE.union(*hidden) or NONE
    for own, mine in zip(names, hidden, strict=True):
        clash = union.intersection(own) - mine
        if clash:
            name = next(iter(clash))
            raise AxisError(
                f"{name!r} is vectorized in one operand and a visible dim of another; "
                f"reconcile them with .vectorize({name!r}) on the second, or .devectorize({name!r}) on the first"
            )
    return union


@functools.lru_cache(4096)
def elementwise_plan(
    names: tuple[Names, ...], hidden: tuple[frozenset[Name], ...]
) -> tuple[Names, frozenset[Name], tuple[Move, ...]]:
    """Result names, result mark and one :class:`Move` per operand of an operation without core dims."""
    out = in_order(n for own in names for n in own)
    return out, merge_hidden(names, hidden), tuple(_move(own, out, ()) for own in names)


@functools.lru_cache(4096)
def trailing(x: Names, y: Names) -> Names | None:
    """The names of a result that NumPy's own broadcasting gives, as one operand has the last axes of the other."""
    out = in_order((*x, *y))
    return out if all(own == out[len(out) - len(own) :] for own in (x, y)) else None


class CorePlan(NamedTuple):
    """How operands reach ``[batch..., core...]`` and how results leave it."""

    moves: tuple[Move, ...]
    hidden: frozenset[Name]
    batch: Names
    outs: tuple[Names, ...]
    back: tuple[tuple[int, ...] | None, ...]


@functools.lru_cache(4096)
def core_plan(
    names: tuple[Names, ...], hidden: tuple[frozenset[Name], ...], ins: tuple[Names, ...], outs: tuple[Names, ...]
) -> CorePlan:
    """Plan of an operation with core dims; results come back in order of first appearance, new names last."""
    union = merge_hidden(names, hidden)
    batch = in_order(n for own, mine in zip(names, ins, strict=True) for n in own if n not in mine)
    seen = in_order(n for own in names for n in own)
    final, back = [], []
    for out in outs:
        raw = (*batch, *out)
        refuse_repeats(raw, "the result would repeat a dim: ")
        order = in_order([n for n in seen if n in raw] + [n for n in raw if n not in seen])
        final.append(order)
        back.append(_permutation(raw, order))
    moves = tuple(_move(own, batch, mine) for own, mine in zip(names, ins, strict=True))
    return CorePlan(moves, union, batch, tuple(final), tuple(back))


class MatmulPlan(NamedTuple):
    """A named contraction as one batched matrix product ``[b, m, k] @ [b, k, n]``, or as numbered axes."""

    perms: tuple[tuple[int, ...] | None, tuple[int, ...] | None]
    counts: tuple[int, int, int, int]
    back: tuple[int, ...] | None
    numbers: tuple[list[int], list[int], list[int]]


@functools.lru_cache(4096)
def contraction_plan(x: Names, y: Names, marks: Any, over: Names, last: Names) -> tuple[Names, Any, MatmulPlan]:
    """Names, ``last`` behind all others, and mark of the result of a contraction, and how that is computed.

    The plan has permutations of both operands, the numbers of b, m, k, n axes, and the permutation of the result.
    """
    out = (*[n for n in in_order((*x, *y)) if n not in over and n not in last], *last)
    k = [n for n in x if n in over]
    b = [n for n in x if n in y and n not in over]
    m, n_ = [n for n in x if n not in y], [n for n in y if n not in x]
    number = {name: i for i, name in enumerate(dict.fromkeys((*x, *y)))}
    return out, without(merge_hidden((x, y), marks), over), MatmulPlan(
        (_permutation(x, [*b, *m, *k]), _permutation(y, [*b, *k, *n_])),
        (len(b), len(m), len(k), len(n_)),
        _permutation((*b, *m, *n_), out),
        ([number[n] for n in x], [number[n] for n in y], [number[n] for n in out]),
    )


@functools.lru_cache(4096)
def spread_plan(x: Names, like: Names) -> tuple[Names, Move]:
    """Names of ``x`` broadcast to at least ``like``, laid out as ``like`` is, and the move that gets there."""
    target = (*(n for n in x if n not in like), *like)
    return target, _move(x, target, ())


@functools.lru_cache(4096)
def order_plan(source: Names, target: Names) -> tuple[int, ...] | None:
    """The permutation from one stored order to another, ``None`` if they agree."""
    refuse_repeats(target, "the result would repeat a dim: ")
    return _permutation(source, target)


@functools.lru_cache(4096)
def renamed(names: Names, mapping: tuple[tuple[Name, Name], ...]) -> Names:
    """The names under a renaming; a repeated result is refused."""
    table = dict(mapping)
    out = tuple(table.get(n, n) for n in names)
    refuse_repeats(out, "after renaming, ")
    return out


@functools.lru_cache(4096)
def frame(dims: Names, cores: Names) -> dict[Name, Name]:
    """How a rule calls dims: the same mapping at every call, which nobody changes."""
    return dict(zip(dims, cores, strict=True))


def positions(names: Names, dims: Names) -> tuple[int, ...]:
    """Positions of dims among names."""
    return tuple(map(names.index, dims))


def invert(mapping: Mapping[Name, Name]) -> dict[Name, Name]:
    """The renaming that undoes ``mapping``."""
    return {v: k for k, v in mapping.items()}


class Fresh:
    """A name that equals no other: an axis that exists only inside one pass."""

    __slots__ = ("base",)

    def __init__(self, base: Name) -> None:
        self.base = base

    def __repr__(self) -> str:
        return f"slice of {self.base!r}"


def fresh(base: Name) -> Name:
    """A new name, distinct from every other."""
    return Fresh(base)


@functools.cache
def local(base: Name) -> Name:
    """A name within one operation: the same at every call, so that plans are found again, and gone at the end."""
    return Fresh(base)


@functools.cache
def aside_name(base: Name) -> Name:
    """The name of a kept axis ``base`` while another axis, renamed in the function, has the name ``base`` back."""
    return Fresh(base)


@functools.cache
def slice_name(base: Name) -> Name:
    """The name under which slices of ``base`` are told apart while a rule sums over ``base`` itself."""
    return Fresh(base)
