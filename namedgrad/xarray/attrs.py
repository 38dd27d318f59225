"""What a derivative is called and in which units it comes."""

from __future__ import annotations

import functools
import re
import tokenize
from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr

Attrs = Mapping[str, Any]


def derivative_attrs(out: Any, name: Any, attrs: Attrs, f: Callable[..., Any]) -> dict[str, Any]:
    """Attributes of the derivative of ``out`` with respect to an input with this name and these attributes.

    ``units`` are those of the output per those of the input; where one of them is unknown the derivative has none, for
    those of the input would be wrong.
    """
    made = dict(attrs)
    own = getattr(out, "attrs", {})
    made.pop("units", None)
    if (units := quotient(own.get("units"), attrs.get("units"))) is not None:
        made["units"] = units
    of, by = _label(out.name if isinstance(out, xr.DataArray) else None, own), _label(name, attrs)
    if of or by:
        made["long_name"] = f"d({of or _function_name(f)})/d({by or 'input'})"
    return made


def _label(name: Any, attrs: Attrs) -> str | None:
    found = attrs.get("long_name") if name is None else name
    return None if found is None else str(found)


def _function_name(f: Callable[..., Any]) -> str:
    name = getattr(f, "__name__", "f")
    return "f" if name == "<lambda>" else name


def quotient(out: Any, by: Any) -> str | None:
    """``"K / (W m-2)"``; None unless both are known.  Where pint is installed and knows them: ``"K*m**2/W"``.

    >>> quotient("psu", "g kg-1"), quotient("psu", "psu"), quotient("psu", "1")
    ('psu / (g kg-1)', '1', 'psu')
    """
    if not (isinstance(out, str) and isinstance(by, str)):
        return None
    out, by = out.strip() or "1", by.strip() or "1"
    if out == by:
        return "1"
    if by == "1":
        return out
    found = _units(out), _units(by)
    if None not in found:
        return _text(found[0] / found[1])
    return f"{out} / {by}" if by.isalnum() else f"{out} / ({by})"


def squared(units: str) -> str:
    """The units of a variance.

    >>> squared("psu"), squared("1")
    ('psu2', '1')
    """
    units = units.strip() or "1"
    if (known := _units(units)) is not None:
        return _text(known**2)
    return units if units == "1" else f"{units}2" if units.isalpha() else f"({units})2"


_POWER = re.compile(r"\b([^\W\d_]+)([-+]?\d+)\b")
_PRODUCT = re.compile(r"(?<=[A-Za-z0-9)]) +(?=[A-Za-z(])")


def _units(text: str) -> Any:
    """Units as pint understands them, powers written ``m-2`` or ``m**-2``; None if it is not installed or does not."""
    try:
        import pint
    except ImportError:
        return None
    return _parsed(text, pint.get_application_registry().get())  # which packages replace when they are imported


@functools.cache
def _parsed(text: str, registry: Any) -> Any:
    import pint

    try:
        return registry.parse_units(_PRODUCT.sub("*", _POWER.sub(r"\1**\2", text)))
    except (pint.errors.PintError, ValueError, TypeError, AttributeError, AssertionError, tokenize.TokenError):
        return None


def _text(units: Any) -> str:
    return f"{units:~C}" or "1"
