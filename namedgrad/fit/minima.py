"""What ``minimize`` gives back: a fit that knows how the loss curves where it is least."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from namedgrad.fit.parameters import Matrix
from namedgrad.fit.problem import batches
from namedgrad.fit.result import FitResult, inverses, standard_errors
from namedgrad.transforms.tape import quiet

if TYPE_CHECKING:
    from namedgrad.fit.minimize import Loss


class MinimizeResult(FitResult):
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
        return self._matrices(self._inverse, "covariance", "covariance of the parameters")

    @functools.cached_property
    def stderr(self) -> xr.Dataset:
        """Standard errors, one variable per parameter."""
        return standard_errors(self._problem, self._matrix, self._inverse)

    def confint(self, level: float = 0.95) -> xr.Dataset:
        """Confidence intervals of the parameters, along a new dim ``bound`` with the labels ``lower`` and ``upper``.

        Quantiles of the normal distribution, times ``stderr``, for a probability ``level`` between 0 and 1; see
        :meth:`LeastSquaresResult.confint <namedgrad.fit.LeastSquaresResult.confint>`.

        Examples
        --------
        >>> import namedgrad as ng
        >>> counts = ng.DimArray([3, 5, 4, 8], ("day",))
        >>> fit = ng.minimize(lambda p, n: (p["rate"] - n * ng.log(p["rate"])).sum(), {"rate": 1.0}, counts)
        >>> fit.confint()["rate"].round(3).values
        array([2.809, 7.191])
        """
        from namedgrad.fit.derived import confint

        return confint(self.params, self.stderr, xr.full_like(self.cost, np.inf), level)

    def propagate(self, g: Callable[[xr.Dataset], xr.DataArray]) -> xr.Dataset:
        """A quantity that follows from the parameters, and its standard error.

        See :meth:`LeastSquaresResult.propagate <namedgrad.fit.LeastSquaresResult.propagate>`.
        """
        from namedgrad.fit.derived import propagate

        return propagate(g, self.params, self.covariance)

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
    def _inverse(self) -> Matrix:
        with quiet():
            return inverses(self._hessian, np.isfinite(self._matrix).all(axis=0))[0]
