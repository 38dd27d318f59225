"""Fits: many independent problems solved at once, in names.

``least_squares`` and ``minimize`` cut their arguments into cells (:mod:`~namedgrad.fit.cells`), lay the parameters out
as a matrix (:mod:`~namedgrad.fit.parameters`), call the user's function on a batch of cells at a time
(:mod:`~namedgrad.fit.problem`), and move every cell by the rules of a method (:mod:`~namedgrad.fit.marquardt`,
:mod:`~namedgrad.fit.descent`) until it is done (:mod:`~namedgrad.fit.batch`).  What is as large as the data stays where
the data are; the few numbers that a method needs per cell are NumPy arrays.
"""

from __future__ import annotations

from namedgrad.fit.curvefit import curvefit
from namedgrad.fit.least_squares import least_squares
from namedgrad.fit.minimize import minimize
from namedgrad.fit.result import FitResult, LeastSquaresResult

__all__ = ["FitResult", "LeastSquaresResult", "curvefit", "least_squares", "minimize"]
