"""How sure fitted parameters are, and what follows from them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.fit import small
from namedgrad.fit.derived import confint, propagate
from namedgrad.fit.parameters import Matrix
from namedgrad.fit.problem import Problem


class Sure:
    """What results with a covariance have in common."""

    params: xr.Dataset
    covariance: Any
    _problem: Any
    _matrix: Matrix

    @property
    def _scaled(self) -> Matrix:
        """The covariance of the free rows, (row, row, cell)."""
        raise NotImplementedError

    @property
    def _freedom(self) -> xr.DataArray:
        """Degrees of Student's t distribution; infinite for the normal one."""
        raise NotImplementedError

    @functools.cached_property
    def stderr(self) -> xr.Dataset:
        """Standard errors, one variable per parameter."""
        return standard_errors(self._problem, self._matrix, self._scaled)

    def confint(self, level: float = 0.95) -> xr.Dataset:
        """Confidence intervals of the parameters, along a new dim ``bound`` with the labels ``lower`` and ``upper``.

        They are symmetric: quantiles of Student's t distribution with ``dof`` degrees of freedom, of the normal one
        after :func:`namedgrad.minimize`, times ``stderr``, as from linear regression (Seber and Wild 1989, *Nonlinear
        regression*, section 2.1.2).

        Parameters
        ----------
        level : float
            The probability that an interval holds the parameter, between 0 and 1.

        Examples
        --------
        >>> import numpy as np, namedgrad as ng
        >>> x, y = np.arange(5.0), np.array([0.1, 0.9, 2.2, 2.9, 4.1])
        >>> fit = ng.least_squares(lambda p, x, y: p["slope"] * x - y, {"slope": 1.0}, x, y)
        >>> fit.confint()["slope"].round(3).values
        array([0.944, 1.083])
        >>> counts = ng.DimArray([3, 5, 4, 8], ("day",))
        >>> fit = ng.minimize(lambda p, n: (p["rate"] - n * ng.log(p["rate"])).sum(), {"rate": 1.0}, counts)
        >>> fit.confint()["rate"].round(3).values
        array([2.809, 7.191])
        """
        return confint(self.params, self.stderr, self._freedom, level)

    def propagate(self, g: Callable[[xr.Dataset], xr.DataArray | xr.Dataset]) -> xr.Dataset:
        """A quantity that follows from the parameters, and its standard error, to first order (the delta method).

        Parameters
        ----------
        g : callable
            ``g(params)``, given ``params``. It may take means over cells, which count as independent, and add dims.

        Returns
        -------
        Dataset
            ``value`` and ``stderr``; of each variable, with its name in front, where ``g`` returns a Dataset.

        Notes
        -----
        The variance is ``J C J.T`` for the Jacobian ``J`` of ``g`` and the covariance ``C`` of the parameters (Rao
        1973, *Linear statistical inference*, section 6a.2). Neither ``J`` nor the result's covariance is formed.

        Examples
        --------
        >>> import numpy as np, namedgrad as ng
        >>> x, y = np.arange(5.0), np.array([0.1, 0.9, 2.2, 2.9, 4.1])
        >>> fit = ng.least_squares(lambda p, x, y: p["slope"] * x - y, {"slope": 1.0}, x, y)
        >>> fit.propagate(lambda p: 1 / p["slope"]).round(4).stderr.item()
        0.0243
        """
        return propagate(g, self.params, self.covariance)


def standard_errors(problem: Problem, matrix: Matrix, covariance: Matrix) -> xr.Dataset:
    """Roots of variances, given the covariance of the free rows; 0 for fixed parameters."""
    full = np.zeros_like(matrix)
    with np.errstate(invalid="ignore"):
        full[problem.free] = np.sqrt(small.diagonal(covariance))
    out = problem.parameters.dataset(full)
    for name, v in out.items():
        v.attrs["long_name"] = f"standard error of {v.attrs.get('long_name', name)}"
    return out
