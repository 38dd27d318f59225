"""Complex observations as two real arrays each, which residuals are compared with one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad.array import DimArray
from namedgrad.rules.complex import imag, real
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import add, isfinite, multiply, where
from namedgrad.transforms.leaves import Tree
from namedgrad.transforms.tape import quiet

PARTS = {"real": real, "imag": imag}


class Half(NamedTuple):
    """One of several arrays, or a part of it if that is complex."""

    array: int
    part: str | None

    @property
    def other(self) -> Half | None:
        """The other part."""
        return None if self.part is None else Half(self.array, "imag" if self.part == "real" else "real")

    def of(self, arrays: Sequence[DimArray]) -> DimArray:
        """It, given all of them."""
        x = arrays[self.array]
        return x if self.part is None else PARTS[self.part](x)


def is_complex(x: Any) -> bool:
    """Whether an array, or a number, is complex."""
    return bool(np.dtype(getattr(x, "dtype", type(x))).kind == "c")


def missing_whole(data: Any) -> Any:
    """Data in which complex numbers that lack a part lack both: NaN among complex numbers is ``nan + 0j``."""
    tree = Tree(data)
    if not any(map(is_complex, tree.parts)):
        return data
    with quiet():
        return tree.value([where(isfinite(x), x, c(complex(math.nan, math.nan))) if is_complex(x) else x
                           for x in tree.parts])  # fmt: skip


def halves_of(arrays: Sequence[DimArray]) -> list[Half]:
    """All real arrays."""
    return [Half(i, part) for i, x in enumerate(arrays) for part in (PARTS if is_complex(x) else (None,))]


def wholes(halves: Sequence[Half], values: Sequence[DimArray]) -> list[DimArray]:
    """The arrays, given the real ones."""
    out: dict[int, DimArray] = {}
    for half, x in zip(halves, values, strict=True):
        out[half.array] = x if half.part != "imag" else whole(out[half.array], x)
    return list(out.values())


def whole(re: DimArray, im: DimArray) -> DimArray:
    """A complex array."""
    return add(re, multiply(c(1j), im))
