"""Losses with core axes on lazy arrays: the kernels of the NumPy backend, on chunks that are whole along these axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from namedgrad.backends.dask_along import of_last

Raw = Any


class LossesOnChunks:
    """What the dask backend computes chunk by chunk."""

    def less_target(self, g: Raw, p: Raw, target: Raw) -> Raw:
        """A cotangent times probabilities, less itself at the target."""
        return _on_chunks("less_target", "(),(n),()->(n)", g, p, target)

    def beyond_target(self, x: Raw, target: Raw, margin: float) -> Raw:
        """A margin and by how much each cell exceeds the one at the target."""
        return _on_chunks("beyond_target", "(n),()->(n)", x, target, options={"margin": margin})

    def from_target(self, g: Raw, target: Raw) -> Raw:
        """The transpose of :meth:`beyond_target`."""
        return _on_chunks("from_target", "(n),()->(n)", g, target)

    def pair_slopes(self, x: Raw, target: Raw) -> Raw:
        """The slopes of the pairs of a listed class and another."""
        return _on_chunks("pair_slopes", "(n),(m)->(n)", x, target)

    def ctc_forward(self, emitted: Raw, skips: Raw) -> Raw:
        """Log-probabilities of the states."""
        return _on_chunks("ctc_forward", "(t,s),(s)->(u,s)", emitted, skips, u=emitted.shape[-2] + 1)

    def ctc_shares(self, y: Raw, skips: Raw) -> Raw:
        """The share of each way."""
        return _on_chunks("ctc_shares", "(u,s),(s)->(w,t,s)", y, skips, w=3, t=y.shape[-2] - 1)

    def ctc_origins(self, y: Raw) -> Raw:
        """Where each way comes from."""
        return _on_chunks("ctc_origins", "(u,s)->(w,t,s)", y, w=3, t=y.shape[-2] - 1)

    def ctc_collect(self, ways: Raw) -> Raw:
        """The transpose of :meth:`ctc_origins`."""
        return _on_chunks("ctc_collect", "(w,t,s)->(u,s)", ways, u=ways.shape[-2] + 1)

    def ctc_scan(self, x: Raw, shares: Raw) -> Raw:
        """The recursion forwards."""
        return _on_chunks("ctc_scan", "(u,s),(w,t,s)->(u,s)", x, shares)

    def ctc_scan_back(self, g: Raw, shares: Raw) -> Raw:
        """The recursion backwards."""
        return _on_chunks("ctc_scan_back", "(u,s),(w,t,s)->(u,s)", g, shares)


def _on_chunks(kernel: str, signature: str, *raw: Raw, options: Mapping[str, Any] | None = None, **sizes: int) -> Raw:
    """Of the dtype of the first operand."""
    new = {letter: int(size) for letter, size in sizes.items()}
    return of_last(kernel, signature, *raw, sizes=new, dtype=raw[0].dtype, **(options or {}))
