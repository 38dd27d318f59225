"""Units of fitted parameters: they are told by what becomes of them when observations and coordinates change theirs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from namedgrad.axes import Name
from namedgrad.fit.residuals import Residuals
from namedgrad.fit.surface import Surface
from namedgrad.fit.symmetry import Exponents, exponents
from namedgrad.transforms.tape import quiet


def parameter_units(problem: Residuals, observed: str, coordinates: Sequence[str | None]) -> dict[Name, str]:
    """The units of the parameters whose units follow from those of observations and coordinates.

    They do where the model holds in any units: a rate in ``a * exp(-b * t)`` is one per unit of ``t``; nothing is known
    of a model in which a number, like the 12 in ``cos(2 * pi * t / 12)``, has hidden units.

    Parameters
    ----------
    problem : Residuals
        A fit of at least one cell, one number per parameter.
    observed, coordinates : str
        Units; of dates as in ``"days since 2000-01-01"``; None for coordinates of which they are unknown.
    """
    try:
        with quiet():
            found = exponents(Surface(problem), np.ones(problem.parameters.count))
    except Exception:  # noqa: BLE001 - the function may do with coordinates what it likes
        return {}
    out = {}
    for k, name in enumerate(problem.parameters.names):
        units = _units(found, k, observed, coordinates)
        if units is not None:
            out[name] = units
    return out


def _units(found: Exponents, k: int, observed: str, coordinates: Sequence[str | None]) -> str | None:
    factors = []
    for units, power, place in zip((observed, *coordinates), found.powers[:, k], found.places[:, k], strict=True):
        if np.isnan(power) or (power and units is None) or power != round(power):
            return None
        if power and units is not None:
            base = units if place and power == 1 else units.split(" since ")[0]
            factors.append((base.strip() or "1", int(power)))
    parts = [_power(u, p) for u, p in factors if u != "1"]
    return " ".join(parts) or "1"


def _power(units: str, power: int) -> str:
    """A power of units.

    >>> _power("K", 1), _power("years", -1), _power("W m-2", 2)
    ('K', 'years-1', '(W m-2)2')
    """
    if power == 1:
        return units
    return f"{units}{power}" if units.isalpha() else f"({units}){power}"
