"""Which dims a derivative does not mix, found by probing it: then one pass serves all cells along them."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE, Name, Names
from namedgrad.rules.movement import slice_of
from namedgrad.rules.structure import equal, isfinite, multiply, relabel
from namedgrad.transforms.tape import Tape

PROBES, FARTHEST = 5, 20


def unmixed(tape: Tape, i: int, sizes: dict[Name, int]) -> Names:
    """The dims along which each cell of output ``i`` depends on the same cell of input ``i`` alone.

    A tangent that is scaled by powers of two, drawn for each cell along such a dim, scales the output alike, without
    any rounding.  What shows in none of several draws is lost to rounding in all of them.
    """
    x, rng = tape.ins[i], np.random.default_rng(0)
    if not x.backend.may_branch or backends.is_recording() or tape.outs[i].level is not None:
        return ()

    def array(values: Any, names: Names) -> DimArray:
        return make(backends.call(x.backend.asarray, values.astype(x.dtype)), names, NONE)

    def is_unmixed(n: Name) -> bool:
        shape = (PROBES, sizes[n])
        scales = rng.choice([-1.0, 1.0], shape) * 2.0 ** rng.integers(-FARTHEST, FARTHEST + 1, shape)
        scales[0] = 1.0  # beside the others, so that sums along other dims round alike
        scale = array(scales, (tape.along, n))
        tangent = multiply(every, scale)
        out = relabel(tape.push_one(i, tangent)[i], {}, show=(tape.along,))
        same = equal(out, multiply(slice_of(out, tape.along, 0), scale))
        return all(bool(check.raw.all()) for check in (same, isfinite(out)))

    every = array(rng.uniform(1, 2, tuple(sizes.values())), tuple(sizes))
    return tuple(n for n in sizes if is_unmixed(n))
