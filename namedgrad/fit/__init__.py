"""Fits: many independent problems solved at once, in names.

``least_squares`` and ``minimize`` cut their arguments into cells (:mod:`~namedgrad.fit.cells`), lay the parameters out
as a matrix (:mod:`~namedgrad.fit.parameters`), call the user's function on a batch of cells at a time
(:mod:`~namedgrad.fit.problem`), and move every cell by the rules of a method (:mod:`~namedgrad.fit.marquardt`,
:mod:`~namedgrad.fit.descent`) until it is done (:mod:`~namedgrad.fit.batch`).  What is as large as the data stays where
the data are; the few numbers that a method needs per cell are NumPy arrays, or, of many cells of ``least_squares`` on a
GPU, arrays there (:mod:`~namedgrad.fit.places`).

Residuals are recorded for one tile of cells and replayed for the others (:mod:`~namedgrad.fit.evaluate`), and so are
losses after the first evaluations (:mod:`~namedgrad.fit.slopes`).  Cells that share parameters move together
(:mod:`~namedgrad.fit.coupled`), and go on one by one where that takes long (:mod:`~namedgrad.fit.nest`).  Lazy data are
fitted chunk by chunk (:mod:`~namedgrad.fit.lazy`), and a fit is a differentiable function of its data
(:mod:`~namedgrad.fit.implicit`).
"""

from __future__ import annotations

from namedgrad.fit.curvefit import curvefit
from namedgrad.fit.hidden import VectorizedResult
from namedgrad.fit.implicit import DifferentiableResult
from namedgrad.fit.lazy import LazyResult
from namedgrad.fit.least_squares import least_squares
from namedgrad.fit.minima import MinimizeResult
from namedgrad.fit.minimize import minimize
from namedgrad.fit.result import FitResult, LeastSquaresResult
from namedgrad.fit.shared import BlockResult, SharedResult

__all__ = [
    "BlockResult", "DifferentiableResult", "FitResult", "LazyResult", "LeastSquaresResult", "MinimizeResult",
    "SharedResult", "VectorizedResult", "curvefit", "least_squares", "minimize",
]  # fmt: skip
