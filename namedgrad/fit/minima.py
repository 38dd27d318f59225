"""What ``minimize`` gives back: a fit that knows how the loss curves where it is least."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from namedgrad.fit.determined import inverses
from namedgrad.fit.parameters import Matrix
from namedgrad.fit.problem import batches
from namedgrad.fit.result import FitResult
from namedgrad.fit.sure import Sure
from namedgrad.transforms.tape import quiet

if TYPE_CHECKING:
    from namedgrad.fit.minimize import Loss


class MinimizeResult(Sure, FitResult):
    """The outcome of :func:`namedgrad.minimize`: a :class:`~namedgrad.FitResult` that knows how the loss curves.

    Errors are right if the loss is minus the logarithm of a likelihood, summed over the observations (maximum
    likelihood, Rao 1973, *Linear statistical inference*, section 5f), or of a posterior density. They, and what follows
    from them, are computed when they are first asked for.
    """

    _problem: Loss

    def fisher(self) -> xr.DataArray:
        """The Hessian of the loss at the solution, with the dims ``param`` and ``param_wrt``.

        For minus a log-likelihood it is the observed Fisher information.
        """
        return self._matrices(self._hessian, "fisher", "Hessian of the loss")

    @functools.cached_property
    def covariance(self) -> xr.DataArray:
        """Covariance of the parameters, with the dims ``param`` and ``param_wrt``: the inverse of :meth:`fisher`.

        It is infinite where the Hessian is not positive definite, so that the loss does not determine all parameters.
        """
        return self._matrices(self._scaled, "covariance", "covariance of the parameters")

    @property
    def _freedom(self) -> xr.DataArray:
        return xr.full_like(self.cost, np.inf)

    @functools.cached_property
    def _hessian(self) -> Matrix:
        """Of the free entries, (row, row, cell)."""
        p, n = self._problem, int(self._problem.free.sum())
        out = np.full((n, n, p.cells.count), np.nan)
        fitted = p.everywhere[np.isfinite(self._matrix).all(axis=0)]
        with quiet():
            for index in batches(fitted, p.size):
                out[..., index] = p.hessian(self._matrix[:, index], index)
        return out

    @functools.cached_property
    def _scaled(self) -> Matrix:
        with quiet():
            return inverses(self._hessian, np.isfinite(self._matrix).all(axis=0))[0]
