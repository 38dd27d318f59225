"""Draws the figures of the pages: the ``draw()`` of every module in docs/figures makes generated/figures/NAME.svg."""

import runpy
from pathlib import Path

import matplotlib as mpl
from sphinx.application import Sphinx

STYLE = {"svg.hashsalt": "namedgrad", "font.family": "DejaVu Sans", "font.size": 11, "figure.facecolor": "white"}


def draw_all(app: Sphinx) -> None:
    source = Path(app.srcdir)
    target = source / "generated" / "figures"
    target.mkdir(parents=True, exist_ok=True)
    for script in sorted((source / "figures").glob("*.py")):
        draw = runpy.run_path(str(script))["draw"]
        with mpl.rc_context(STYLE):
            draw().savefig(target / f"{script.stem}.svg", bbox_inches="tight", pad_inches=0.15, metadata={"Date": None})


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", draw_all, priority=100)
    return {"parallel_read_safe": True}
