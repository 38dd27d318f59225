"""Nested structures of arrays: how each kind of leaf is taken apart, shown to the function, and put back.

An :class:`Adapter` speaks for one kind of leaf.  The transforms see named arrays only; positional arrays and xarray
objects register their adapters with :func:`add_adapter`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad.array import DimArray
from namedgrad.axes import AxisError, Name, Names, check_names
from namedgrad.rules.movement import devectorize, vectorize
from namedgrad.rules.structure import reorder


class Adapter:
    """One kind of leaf.  The defaults are those of a DimArray."""

    def parts(self, leaf: Any) -> tuple[DimArray, ...]:
        """The arrays in it that can be differentiated (floats and complex numbers)."""
        return (leaf,) if leaf.dtype.kind in "fc" else ()

    def rebuild(self, leaf: Any, parts: Sequence[DimArray]) -> Any:
        """What the function sees: like ``leaf``, holding ``parts``."""
        return parts[0] if parts else leaf

    def result(self, leaf: Any, parts: Sequence[DimArray]) -> Any:
        """What the user gets of a derivative: like ``leaf``, holding ``parts``, which may have more vectorized axes."""
        return parts[0] if parts else leaf

    def value(self, leaf: Any, parts: Sequence[DimArray]) -> Any:
        """What the user gets of a function: as :meth:`result`, with all else that is in ``leaf``."""
        return self.result(leaf, parts)

    def along(self, leaf: Any, given: Any, what: str) -> Any:
        """A tangent or cotangent of ``leaf``, its parts in the order of those of ``leaf``."""
        return given

    def arrays(self, leaf: Any) -> tuple[DimArray, ...]:
        """All arrays in it whose values a compiled program leaves open."""
        return (leaf,)

    def fixed(self, leaf: Any) -> Hashable:
        """All else that a function can see of it: equal for leaves that one compiled program serves."""
        return ()

    def seen(self, leaf: Any, parts: Sequence[DimArray]) -> Any:
        """What a function sees while it is compiled: like ``leaf``, holding all its arrays anew."""
        return parts[0] if parts else leaf

    def returned(self, leaf: Any, arrays: Sequence[DimArray]) -> Any:
        """What a compiled function returns: like ``leaf``, holding ``arrays``."""
        return arrays[0] if arrays else leaf

    def vectorize(self, leaf: Any, names: Names) -> Any:
        """The leaf with those of its dims that are among ``names`` hidden."""
        return vectorize(leaf, *(n for n in names if n in leaf.dims))

    def dims(self, leaf: Any) -> Names:
        """Visible dims by name."""
        return leaf.dims

    def restore(self, original: Any, result: Any, names: Names) -> Any:
        """``result`` with ``names`` visible again: a gradient in the order of ``original``, all else in front."""
        out = devectorize(result, *(n for n in names if n in result.hidden))
        if (
            isinstance(original, DimArray)
            and {*out.dims} <= {*original.names, *names}
            and {*original.names} <= {*out.names}
        ):
            out = reorder(out, (*(n for n in out.names if n not in original.names), *original.names))
        return out

    def jacobian(self, out_leaf: Any, in_leaf: Any, blocks: Sequence[Sequence[Block]]) -> Any:
        """Jacobian blocks, one row per part of the output and one column per part of the input, as one object."""
        return blocks[0][0].array

    def number(self, leaf: Any, x: DimArray) -> Any:
        """An array without dims that was computed from ``leaf``, as its user expects it."""
        return x

    def vectorized(self, leaf: Any) -> Names:
        """Hidden names."""
        return leaf.vectorized

    def learn(self, leaf: Any, over: Over) -> None:
        """Note in ``over.labels`` what the leaf says of those dims; contradictions are refused."""

    def pick(self, leaf: Any, names: Any) -> Any:
        """One entry of a leaf (or dict) that has several, or those of a list of names."""
        return leaf[names] if isinstance(names, str) else {n: leaf[n] for n in names}

    def merge(self, leaf: Any, picked: Any, names: Any) -> Any:
        """``leaf`` with the entries that :meth:`pick` took replaced."""
        return {**leaf, **({names: picked} if isinstance(names, str) else picked)}

    def overlap(self, leaf: Any, one: Any, other: Any) -> bool:
        """Whether two choices of entries (None: all) have something in common."""
        if one is None or other is None:
            return True
        return bool(entries(one) & entries(other))

    def annotate(self, gradient: Any, out_leaf: Any, in_leaf: Any, f: Callable[..., Any]) -> Any:
        """A gradient that says of what it is one."""
        return gradient

    def describe(self, leaf: Any) -> str:
        """For messages."""
        return f"{type(leaf).__name__} of dtype {leaf.dtype}"

    precedence = 0  # which of two adapters builds a Jacobian: the higher
    nameless_inside = False  # whether names are lost where the leaf meets others: a captured one must be refused


def entries(names: Any) -> set[Any]:
    """The names in a choice of entries."""
    return {names} if isinstance(names, str) else set(names)


class Block(NamedTuple):
    """One block of a Jacobian: vectorized axes in front, then output dims, then input dims under their new names."""

    array: DimArray
    out_names: Names
    in_names: Names
    wrt_names: dict[Name, Name]  # input dim -> its name in the block
    suffix: str


class Over(tuple[Name, ...]):  # noqa: SLOT001 - it carries labels
    """Dims that are independent slices, and what the arguments say of them, which results get back."""

    labels: dict[Name, Any]


class _Constant(Adapter):
    """Anything that is not an array: passed through."""

    def arrays(self, leaf: Any) -> tuple[DimArray, ...]:
        return ()

    def vectorized(self, leaf: Any) -> Names:
        return ()

    def parts(self, leaf: Any) -> tuple[DimArray, ...]:
        return ()

    def vectorize(self, leaf: Any, names: Names) -> Any:
        return leaf

    def dims(self, leaf: Any) -> Names:
        return ()

    def restore(self, original: Any, result: Any, names: Names) -> Any:
        return result

    def describe(self, leaf: Any) -> str:
        return type(leaf).__name__


_CONSTANT = _Constant()
_ADAPTERS: list[tuple[Callable[[Any], bool], Adapter]] = [(lambda x: isinstance(x, DimArray), Adapter())]


_BY_TYPE: dict[type, Adapter] = {}


def add_adapter(recognises: Callable[[Any], bool], adapter: Adapter) -> None:
    """Let transforms take another kind of leaf."""
    _ADAPTERS.append((recognises, adapter))
    _BY_TYPE.clear()


def adapter_of(leaf: Any) -> Adapter:
    """The adapter that speaks for a leaf; it depends on the leaf's type alone, and is remembered."""
    kind = type(leaf)
    found = _BY_TYPE.get(kind)
    if found is None:
        found = next((adapter for recognises, adapter in _ADAPTERS if recognises(leaf)), _CONSTANT)
        _BY_TYPE[kind] = found
    return found


NAMESPACE = "namedgrad"


@functools.cache
def _single() -> Any:
    """The structure of one leaf; optree is imported when the first structure is met."""
    import optree

    return optree.treespec_leaf(none_is_leaf=True, namespace=NAMESPACE)


def is_leaf(x: Any) -> bool:
    """Arrays and scalars are leaves even where a registry would open them."""
    return adapter_of(x) is not _CONSTANT


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Leaves and structure; dataclasses are opened."""
    if is_leaf(tree):
        return [tree], _single()
    import optree

    _register_dataclasses(tree)
    return optree.tree_flatten(tree, is_leaf=is_leaf, none_is_leaf=True, namespace=NAMESPACE)


def unflatten(treedef: Any, leaves: Sequence[Any]) -> Any:
    """The structure with other leaves."""
    if treedef is _single():
        return leaves[0]
    import optree

    return optree.tree_unflatten(treedef, leaves)


_KNOWN: set[type] = set()


def _register_dataclasses(tree: Any) -> None:
    """Register the dataclasses met in ``tree``, so that optree opens them."""
    import dataclasses

    stack = [tree]
    while stack:
        x = stack.pop()
        if isinstance(x, (list, tuple)):
            stack.extend(x)
        elif isinstance(x, dict):
            stack.extend(x.values())
        elif dataclasses.is_dataclass(x) and not isinstance(x, type) and not is_leaf(x):
            names = tuple(f.name for f in dataclasses.fields(x))
            if type(x) not in _KNOWN:
                _KNOWN.add(type(x))
                _register(type(x), names)
            stack.extend(getattr(x, n) for n in names)


def _register(kind: Any, names: tuple[str, ...]) -> None:
    import optree

    def take_apart(value: Any) -> Any:
        return [getattr(value, n) for n in names], None, names

    def put_together(_: Any, children: Any) -> Any:
        out = object.__new__(kind)  # __init__ may check or convert what a traced value cannot be
        for name, value in zip(names, children, strict=True):
            object.__setattr__(out, name, value)
        return out

    optree.register_pytree_node(kind, take_apart, put_together, namespace=NAMESPACE)


def map_leaves(f: Callable[[Any], Any], tree: Any) -> Any:
    """The structure with what a function makes of each leaf."""
    leaves, treedef = flatten(tree)
    return unflatten(treedef, [f(leaf) for leaf in leaves])


def runs(parts: Sequence[Any], counts: Sequence[int]) -> list[list[Any]]:
    """A sequence cut into runs of these lengths."""
    rest = iter(parts)
    return [list(itertools.islice(rest, n)) for n in counts]


class Tree:
    """A nested structure with its differentiable parts listed."""

    def __init__(self, tree: Any) -> None:
        self.parts: list[DimArray]
        adapter = adapter_of(tree)
        if adapter is not _CONSTANT:  # one leaf, as most are
            self.leaves, self.treedef, self.adapters = [tree], _single(), [adapter]
            self.parts = [*adapter.parts(tree)]
            self.counts = [len(self.parts)]
            return
        self.leaves, self.treedef = flatten(tree)
        self.adapters = [adapter_of(leaf) for leaf in self.leaves]
        split = [a.parts(leaf) for a, leaf in zip(self.adapters, self.leaves, strict=True)]
        self.counts = [len(p) for p in split]
        self.parts = [p for several in split for p in several]

    def rebuild(self, parts: Sequence[DimArray]) -> Any:
        """The structure that a function sees."""
        return self._map("rebuild", parts)

    def result(self, parts: Sequence[DimArray]) -> Any:
        """The structure that a user gets of a derivative."""
        return self._map("result", parts)

    def value(self, parts: Sequence[DimArray]) -> Any:
        """The structure that a user gets of a function."""
        return self._map("value", parts)

    def _map(self, method: str, parts: Sequence[DimArray]) -> Any:
        if self.treedef is _single():
            return getattr(self.adapters[0], method)(self.leaves[0], parts)
        triples = zip(self.adapters, self.leaves, runs(parts, self.counts), strict=True)
        return unflatten(self.treedef, [getattr(a, method)(leaf, p) for a, leaf, p in triples])

    def annotate(self, gradient: Any, out: Tree, f: Callable[..., Any]) -> Any:
        """A gradient with respect to this structure that says of what it is one."""
        if all(type(a).annotate is Adapter.annotate for a in self.adapters):
            return gradient
        only = out.leaves[0] if len(out.leaves) == 1 else None
        new, treedef = flatten(gradient)
        triples = zip(self.adapters, new, self.leaves, strict=True)
        return unflatten(treedef, [a.annotate(g, only, leaf, f) for a, g, leaf in triples])

    def require_parts(self, what: str) -> None:
        """Raise if a leaf cannot be differentiated."""
        for a, leaf, n in zip(self.adapters, self.leaves, self.counts, strict=True):
            if not n and leaf is not None:
                raise TypeError(
                    f"{what} is {a.describe(leaf)}: only floats and complex numbers can be differentiated; "
                    "convert it with .astype(float), or .to_numpy() if it is pandas', or leave it out of wrt"
                )


def vectorize_tree(tree: Any, names: Names) -> Any:
    """Every leaf with those of ``names`` that it has hidden."""
    return map_leaves(lambda x: adapter_of(x).vectorize(x, names), tree)


def dims_of_tree(tree: Any) -> set[Name]:
    """All visible dims of all leaves."""
    return {n for x in flatten(tree)[0] for n in adapter_of(x).dims(x)}


def over_names(over: Any, args: Any) -> Names:
    """``over`` as names, refused if no argument has one of them."""
    if over is None or over == ():
        return ()
    names = check_names(over if isinstance(over, (tuple, list, str)) else (over,))
    if not names:
        return ()
    known = dims_of_tree(args)
    for n in names:
        if n not in known:
            raise AxisError(f"over={names}: no argument has a dim {n!r}; the arguments' dims are {tuple(known)}")
    found = Over(names)
    found.labels = {}
    for leaf in flatten(args)[0]:
        adapter_of(leaf).learn(leaf, found)
    return found


def is_number(x: Any) -> bool:
    """Python and NumPy scalars that can be differentiated or computed with."""
    return isinstance(x, (float, complex, np.inexact)) and not isinstance(x, bool)
