"""The formulas for SciPy's distributions in the documentation: their values and slopes are those of SciPy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

import namedgrad as ng
from tests.support.oracles import richardson

PAGE = Path(__file__).parents[2] / "docs" / "coming_from.rst"
ROWS = re.findall(r"^   ``(\w+\.\w+\(.*\))``; ``(.*)``$", PAGE.read_text(), re.MULTILINE)
DISTRIBUTIONS = {theirs.partition(".")[0] for theirs, _ in ROWS}
KNOWN = {"np": np, "sc": scipy.special, **{n: getattr(scipy.stats, n) for n in DISTRIBUTIONS}}
VALUES = {
    "x": [0.3, 1.7, 2.9], "m": [0.2, -0.4, 1.1], "s": [0.7, 1.3, 2.2], "a": [1.6, 2.5, 4.7], "b": [0.8, 3.1, 1.9],
    "q": [0.2, 0.55, 0.9], "k": [0, 2, 3], "n": [3, 5, 4],
}  # fmt: skip


def test_the_page_has_its_table() -> None:
    """Every row is found."""
    assert len(ROWS) == 26


@pytest.mark.parametrize(("theirs", "ours"), ROWS, ids=[r[0].partition("(")[0] for r in ROWS])
def test_a_formula_is_the_distribution(theirs: str, ours: str) -> None:
    """Of NumPy arrays, and its slopes in everything that is no count."""
    used = [n for n in VALUES if re.search(rf"\b{n}\b", theirs.partition("(")[2])]
    at = {n: np.array(VALUES[n]) for n in used}

    def evaluate(text: str, **new: Any) -> Any:
        return eval(text, KNOWN | at | new)  # noqa: S307 - a row of the page

    np.testing.assert_allclose(evaluate(ours), evaluate(theirs), rtol=1e-12, atol=1e-14)
    for name in [n for n in used if n not in "kn"]:
        found = ng.grad(lambda v, name=name: np.sum(evaluate(ours, **{name: v})))(at[name])
        slope = [
            richardson(lambda v, name=name, i=i: evaluate(theirs, **{name: at[name] + v * (np.arange(3) == i)})[i])
            for i in range(3)
        ]
        np.testing.assert_allclose(found, slope, rtol=1e-7, atol=1e-9)


def test_the_error_of_a_distribution_says_where_its_formula_stands() -> None:
    """SciPy's own functions would take the value out of the trace."""
    with pytest.raises(ng.TraceError, match=r"\.logpdf\(\), which .* its formula in .* the ufuncs of scipy\.special"):
        ng.grad(lambda m: np.sum(scipy.stats.norm.logpdf(np.ones(3), m, 1.0)))(0.5)
