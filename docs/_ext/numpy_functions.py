"""The list of NumPy functions that positional arrays know, made from their declarations."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sphinx.application import Sphinx

from namedgrad.positional.protocol import FUNCTIONS, declare_all
from namedgrad.positional.ufuncs import rule_of

FAMILIES = {
    "elementwise": "Cell by cell",
    "reductions": "Reductions and scans",
    "sorting": "Order",
    "shapes": "Shape and position",
    "joining": "Joined, repeated, padded",
    "gathering": "Picked and written",
    "calculus": "Differences, integrals, interpolation, signals",
    "products": "Products",
    "linalg": "Linear algebra, on the last two axes",
    "fourier": "Fourier transforms",
    "creation": "New arrays, also with ``like=``",
    "spacing": "Points between two ends",
    "polynomials": "Polynomials",
    "counting": "Positions, counts, masks",
    "histograms": "Histograms",
    "sets": "Sets",
    "statistics": "Statistics",
    "decompositions": "Decompositions",
    "applying": "Functions of lines",
    "plain": "Without a derivative",
}


def names() -> dict[object, str]:
    """Functions and ufuncs by the name under which NumPy's pages have them."""
    found: dict[object, str] = {}
    for home in (np.lib.stride_tricks, np.fft, np.linalg, np):
        for name, f in vars(home).items():
            if callable(f) and f.__hash__ is not None:
                own = getattr(f, "__name__", name)  # np.arcsin, which np.asin is as well
                found[f] = f"{home.__name__}.{own if getattr(home, own, None) is f else name}"
    return found


def lines() -> Iterator[str]:
    declare_all()
    known = names()
    ufuncs = sorted(n for f, n in known.items() if isinstance(f, np.ufunc) and rule_of(f) is not None)
    yield f"**Ufuncs**: {_links(ufuncs)}"
    for family, title in FAMILIES.items():
        found = [known[f] for f, d in FUNCTIONS.items() if d.call.__module__.endswith(f".{family}") and f in known]
        yield f"**{title}**: {_links(sorted(found))}"


def _links(found: list[str]) -> str:
    return ", ".join(f":obj:`{n.removeprefix('numpy.')} <{n}>`" for n in found) + "."


def generate(app: Sphinx) -> None:
    path = Path(app.srcdir) / "reference" / "generated" / "numpy.inc"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n\n".join(lines()) + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", generate, priority=100)
    return {"parallel_read_safe": True}
