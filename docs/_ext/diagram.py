"""What the figures are drawn with: stacks of cells for arrays, pills for names, arrows."""

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

import namedgrad as ng

VISIBLE, HIDDEN, GONE, WRONG, INK = "#1f5f8b", "#c8641b", "#9aa3ab", "#b3261e", "#22303c"
PALE = {VISIBLE: "#dcebf5", HIDDEN: "#fbe6d6", GONE: "#f0f2f4", WRONG: "#f9dedc"}
CELL = 0.36
SHIFT = (0.16, 0.4)  # where the next slice of a vectorized axis stands


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty drawing, one inch per unit."""
    figure = plt.figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    axes.axis("off")
    return figure, axes


def text(axes: Axes, x: float, y: float, words: str, color: str = INK, **style: object) -> None:
    axes.text(x, y, words, **{"color": color, "ha": "center", "va": "center", **style})


def array(axes: Axes, x: float, y: float, a: ng.DimArray, color: str = VISIBLE) -> None:
    """The cells of an array, lower left corner at (x, y): visible dims along x, a row per hidden slice."""
    values = a.to_numpy().reshape(*a.vectorized_sizes.values(), -1)
    slices = values.reshape(-1, values.shape[-1])
    for s, row in enumerate(slices[::-1]):
        for c, value in enumerate(row):
            left, low = x + c * CELL + s * SHIFT[0], y + s * SHIFT[1]
            edge = HIDDEN if a.vectorized else color
            axes.add_patch(Rectangle((left, low), CELL, CELL, facecolor=PALE[color], edgecolor=edge, linewidth=1.3))
            text(axes, left + CELL / 2, low + CELL / 2 - 0.01, f"{value:g}", size=9)


def caption(axes: Axes, x: float, y: float, name: str, a: ng.DimArray) -> None:
    """``w (feature | batch)``, as messages write it."""
    hidden = f" | {', '.join(a.vectorized)}" if a.vectorized else ""
    text(axes, x, y, f"{name} ({', '.join(a.dims)}{hidden})", VISIBLE, ha="left")


def pill(axes: Axes, x: float, y: float, name: str, color: str, *, dashed: bool = False, width: float = 0.95) -> None:
    """A name; dashed if it is hidden."""
    box = FancyBboxPatch(
        (x - width / 2, y - 0.14), width, 0.28, boxstyle="round,pad=0,rounding_size=0.14", facecolor=PALE[color],
        edgecolor=color, linewidth=1.3, linestyle="--" if dashed else "-", zorder=11,
    )  # fmt: skip
    axes.add_patch(box)
    text(axes, x, y - 0.01, name, color, size=10, zorder=12)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], color: str = INK, bend: float = 0) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=13, color=color, linewidth=1.4, shrinkA=0, shrinkB=0,
            connectionstyle=f"arc3,rad={bend}", zorder=9,
        )
    )  # fmt: skip
