"""NumPy's broadcasting as alignment by name: axes of size 1 that meet larger ones are dropped first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from namedgrad.array import DimArray
from namedgrad.axes import Name
from namedgrad.linear import Like
from namedgrad.positional.array import numbers, ordered
from namedgrad.rules.singleton import drop
from namedgrad.rules.structure import spread


def joint_sizes(xs: Sequence[DimArray]) -> dict[Name, int]:
    """Sizes of the numbered axes after broadcasting."""
    sizes: dict[Name, int] = {}
    for x in xs:
        for n, s in x.sizes.items():
            old = sizes.setdefault(n, s)
            if s not in (old, 1):
                if old != 1:
                    shapes = " ".join(str(x.shape) for x in xs)
                    raise ValueError(f"operands could not be broadcast together with shapes {shapes}")
                sizes[n] = s
    return sizes


def squeezed(x: DimArray, sizes: Mapping[Name, int]) -> DimArray:
    """``x`` without its axes of size 1 that are larger in ``sizes``."""
    return drop(x, tuple(n for n, s in x.sizes.items() if s == 1 and sizes.get(n, 1) != 1))


def in_full(x: DimArray, names: Iterable[Name], sizes: Mapping[Name, int]) -> DimArray:
    """``x`` repeated along those of these axes that it lacks."""
    gone = [n for n in names if n not in x.names]
    return spread(x, Like((*gone, *x.names), (*(sizes[n] for n in gone), *x.full_shape), x.dtype)) if gone else x


def pair(x: DimArray, y: DimArray) -> Sequence[DimArray]:
    """Two operands ready for alignment by name: size-1 axes that meet larger ones are gone."""
    names, others = x.names, y.names
    if not others or not names or (names == others and x.full_shape == y.full_shape):
        return x, y
    last = -min(len(names), len(others))
    if names[last:] == others[last:] and x.full_shape[last:] == y.full_shape[last:]:  # which are all that both have
        return x, y
    sizes = joint_sizes((x, y))
    return squeezed(x, sizes), squeezed(y, sizes)


def meet(*xs: DimArray) -> Sequence[DimArray]:
    """Any number of operands ready for alignment by name."""
    if len(xs) == 2:
        return pair(*xs)
    if len(xs) == 1:
        return xs
    one = max(xs, key=lambda x: len(x.names))
    if all(not x.names or (x.names == one.names and x.full_shape == one.full_shape) for x in xs):
        return xs
    sizes = joint_sizes(xs)
    return [squeezed(x, sizes) for x in xs]


def stretch(x: DimArray, shape: Sequence[int]) -> DimArray:
    """Broadcast to a shape of the numbered axes."""
    names = numbers(len(shape))
    sizes = dict(zip(names, shape))
    own = x.sizes
    if any(n not in sizes or s not in (1, sizes[n]) for n, s in own.items()):
        raise ValueError(f"cannot broadcast an array of shape {x.shape} to {tuple(shape)}")
    x = squeezed(x, sizes)
    return ordered(spread(x, Like(names, tuple(shape), x.dtype)), names)
