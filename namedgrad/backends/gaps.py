"""Missing cells of lines from weights of the present ones, found once per pattern of gaps."""

from __future__ import annotations

from typing import Any

import numpy as np

Raw = Any
Weights = Any  #: ``of(present)`` gives, for a line of truth values, weights ``(missing, present)``, and what is added


class GapKernels:
    """On :class:`numpy.ndarray`: where cells are missing decides what is computed."""

    def fill_gaps(self, y: Raw, present: Raw, weights: Weights) -> Raw:
        """Weighted sums in the missing cells along the last axis, 0 in the present ones."""
        return self._gaps(y, present, weights, back=False)

    def fill_gaps_back(self, g: Raw, present: Raw, weights: Weights) -> Raw:
        """The transpose of :meth:`fill_gaps`."""
        return self._gaps(g, present, weights, back=True)

    def gap_offsets(self, present: Raw, weights: Weights) -> Raw:
        """What is added in the missing cells."""
        out = np.zeros(present.shape)
        for rows, mask in _patterns(present):
            out.reshape(-1, mask.size)[np.ix_(rows, ~mask)] = weights.of(mask)[1]
        return out

    def _gaps(self, x: Raw, present: Raw, weights: Weights, *, back: bool) -> Raw:
        x, present = np.broadcast_arrays(x, present)
        n = x.shape[-1]
        lines, out = x.reshape(-1, n), np.zeros((x.size // max(n, 1), n), np.result_type(x, np.float64))
        for rows, mask in _patterns(present):
            w = weights.of(mask)[0]
            source, target = (~mask, mask) if back else (mask, ~mask)
            out[np.ix_(rows, target)] = lines[np.ix_(rows, source)] @ (w if back else w.T)
        return out.reshape(x.shape).astype(x.dtype, copy=False)


def _patterns(present: Raw) -> list[tuple[Raw, Raw]]:
    """The lines with each pattern of gaps."""
    lines = np.asarray(present).reshape(-1, present.shape[-1]) != 0
    _, first, which = np.unique(np.packbits(lines, axis=-1), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    starts = np.searchsorted(which.ravel()[order], np.arange(1, len(first)))
    return [(rows, lines[k]) for rows, k in zip(np.split(order, starts), first, strict=True) if rows.size]
