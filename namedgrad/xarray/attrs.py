"""What a derivative is called and in which units it comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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
    of, by = _label(getattr(out, "name", None), own), _label(name, attrs)
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
    """``"K / (W m-2)"``; None unless both are known.

    >>> quotient("K", "W m-2"), quotient("K", "K"), quotient("K", "1")
    ('K / (W m-2)', '1', 'K')
    """
    if not (isinstance(out, str) and isinstance(by, str)):
        return None
    out, by = out.strip() or "1", by.strip() or "1"
    if out == by:
        return "1"
    if by == "1":
        return out
    return f"{out} / {by}" if by.isalnum() else f"{out} / ({by})"
