"""Whether two values are one and the same function of what is differentiated."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, make
from namedgrad.linear import Map, Scale, ops
from namedgrad.squares.lengths import Root
from namedgrad.trace import Pick, Tangent, Traced

FAR = 60  # how far back two operands are compared


def remember(y: DimArray, prim: Any, args: Sequence[DimArray], params: Mapping[str, Any]) -> None:
    """How the maps of this result came about, at all levels, if there are several."""
    if not (isinstance(y, Traced) and isinstance(y.value, Traced)):
        return
    while isinstance(y, Traced):
        if isinstance(y.node, Map):  # and no tangent
            node = y.node.parents[0] if type(y.node) is Pick else y.node
            node.made = prim, [a for a in args if a.level is not y.level], params
        args = [a.value if isinstance(a, Traced) and a.level is y.level else a for a in args]
        y = y.value


def alike_if(x: Any, y: Any) -> DimArray | None:
    """Whether two that are not known to be :func:`alike` are, by values that a program leaves open; None: they are not.

    Of those it sees then whether they are the same.
    """
    pairs: list[tuple[Any, Any]] = []
    if not (backends.is_recording() and alike(x, y, left=pairs)):
        return None
    masks = [make(backends.call(backends.backend_of(a).same, a, b), (), axes.NONE) for a, b in pairs]
    return functools.reduce(lambda p, q: ops.either(p, q, p), masks)


def alike(
    x: Any, y: Any, found: dict[Any, Any] | None = None, far: int = FAR, left: list[tuple[Any, Any]] | None = None
) -> bool:
    """Whether two are known to be one function of what is differentiated: made by the same operations.

    What is ``found`` to be is not compared again: operands may be used many times.  If there is a list of what is
    ``left`` open, values that a program leaves open are noted there instead of being compared.
    """
    found = {} if found is None else found
    if x is y or type(x) is not type(y) or not far:
        return x is y
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all(alike(a, b, found, far, left) for a, b in zip(x, y, strict=True))
    if isinstance(x, axes.Fresh):  # names that nobody gave differ from one call to the next
        return found.setdefault(x, y) is y and found.setdefault(y, x) is x
    parts = _parts(x)
    if parts is None:
        return backends.alike(x, y) or _is_left(x, y, left)
    pair = (id(x), id(y))
    if pair not in found and not alike(parts, _parts(y), found, far - 1, left):
        return False
    found[pair] = True
    return True


def _is_left(x: Any, y: Any, left: list[tuple[Any, Any]] | None) -> bool:
    """Whether it is left open if two values are the same."""
    if left is None or np.shape(x) != np.shape(y) or (backends.is_fixed(x) and backends.is_fixed(y)):
        return False
    left.append((x, y))
    return True


def _held(x: Map, parents: Any) -> Any:
    """What a map of a kind holds, by which it is told from others of the same parents; an input is like no other."""
    kinds = [getattr(kind, "__slots__", ()) for kind in type(x).__mro__ if kind is not Map]
    held = [getattr(x, slot, None) for slots in kinds for slot in slots]
    own = [_closed_over(v) for v in held if getattr(v, "__self__", None) is not x]  # and no method of its own
    return object() if parents == () else own


def _closed_over(f: Any) -> Any:
    """What tells a function that a rule made from the others that it makes."""
    if not isinstance(f, FunctionType):
        return f
    return f.__code__, f.__defaults__, [cell.cell_contents for cell in f.__closure__ or ()]


def _parts(x: Any) -> Any:
    """What tells it apart from others of its kind."""
    if isinstance(x, Map):
        parents = getattr(x, "parents", None)  # a map that another is made of has none
        return x.terms if isinstance(x, Scale) else getattr(x, "made", _held(x, parents)), parents
    if isinstance(x, DimArray):
        return (x.level, x.node, x.value) if isinstance(x, Traced) else (x.names, x.raw)
    if isinstance(x, dict):
        return [*x.items()]
    return x.made if isinstance(x, Root) else x.value if isinstance(x, Tangent) else None
