"""Operands that do not broadcast from the right, and what counts as an operand: the places that NumPy gives them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import Names
from namedgrad.positional.axis import named, without
from namedgrad.positional.broadcasting import squeezed
from namedgrad.positional.operands import whole
from namedgrad.primitive import Operation

Place = Callable[[DimArray, Names, DimArray], DimArray | None]

# Beside the parameters that say that they are arrays.
OPERANDS = {"append", "dx", "initial", "mask", "prepend", "q", "to_begin", "to_end", "weights", "x"}
# To these a number is a vector of one cell, as in PyTorch and in much of NumPy and SciPy.
OF_CELLS = ("reductions", "scans", "sorting")
OF_ONE_CELL = {"flip", "log_softmax", "normalize", "softmax", "softmin"}
OF_STEPS = {"trapezoid", "cumulative_trapezoid"}

CELL = axes.axis(-1)


def along(v: DimArray, dims: Names, x: DimArray) -> DimArray | None:
    """One axis for each of those asked for: it lies there."""
    return named(v, dims) if 0 < v.ndim == len(dims) < x.ndim else None


def beside(v: DimArray, dims: Names, x: DimArray) -> DimArray | None:
    """One axis for each of those that are left: it lies there."""
    rest = tuple([n for n in x.dims if n not in dims])
    return squeezed(named(v, rest), x.sizes) if 0 < v.ndim == len(rest) < x.ndim else None


def apart(v: DimArray, dims: Names, x: DimArray) -> DimArray:  # noqa: ARG001 - they have axes of their own
    """Axes that are those of nothing else."""
    return named(v, tuple([axes.local(("own", i)) for i in range(v.ndim)]))


def joined(v: DimArray, dims: Names, x: DimArray) -> DimArray:  # noqa: ARG001 - one size differs
    """What it is."""
    return v


# What is not broadcast against the array: weights and points of the axes worked on, which lie along them as in NumPy
# and SciPy, lengths of what these hold, cells to be joined, levels and edges.
PLACED: dict[str, Mapping[str, Place]] = {
    **{name: {"weights": along} for name in ("average", "bincount", "cov", "corr")},
    **{name: {"x": along} for name in OF_STEPS},
    **{name: {"q": apart} for name in ("quantile", "nanquantile")},
    "histogram": {"weights": along, "bins": apart},
    "weight_norm": {"length": beside},
    "diff": {"prepend": joined, "append": joined},
    "ediff1d": {"to_end": joined, "to_begin": joined},
}


def read_lists(function: Callable[..., Any], given: dict[str, Any]) -> None:
    """Lists and tuples in the place of an operand are arrays."""
    single, several = _operands(function)
    for p, value in given.items():
        if not isinstance(value, (list, tuple)):
            continue
        if p in single:
            given[p] = _array(value)
        elif p == several:
            given[p] = tuple([_array(v) if isinstance(v, (list, tuple)) else v for v in value])


def _array(value: Any) -> Any:
    found = whole(value)
    return np.asarray(found) if found is value else found


@functools.cache
def _operands(function: Callable[..., Any]) -> tuple[frozenset[str], str | None]:
    """The parameters of one operand each, and that of any number of them."""
    parameters = inspect.signature(function).parameters.values()
    single = [p.name for p in parameters if p.name in OPERANDS or "DimArray" in str(p.annotation)]
    several = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
    return frozenset(single) - frozenset(several), several[0] if several else None


def is_cell(op: Operation, dim: Any) -> bool:
    """Whether the first or last axis of a number is asked for where that is a vector of one cell."""
    granted = op.name in OF_ONE_CELL or (op.family in OF_CELLS and op.name not in OF_STEPS)
    asked = dim if isinstance(dim, (list, tuple)) else [dim]
    return granted and len(asked) == 1 and type(asked[0]) is int and asked[0] in (0, -1)


def without_cell(out: Any) -> Any:
    """Results without that axis."""
    if isinstance(out, tuple):
        return tuple(map(without_cell, out))
    if isinstance(out, dict):
        return {n: without_cell(v) for n, v in out.items()}
    return without(out, tuple([n for n in out.dims if n is CELL]))
